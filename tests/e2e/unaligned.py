#!/usr/bin/env python3
"""unaligned.py - a job whose windows are slower than its source: checkpoints overtake the rows that wait, are killed with -9, and go on at
another parallelism with every row once; and what the verbs say of such a checkpoint."""
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from varve import Job, at_some_pace, check, files_table, inspect, lines_of, main, newest, same, settings, table, test, varve, wait_until

ROWS = 400000
KEYS = 50
WINDOW = 10000  # ids, which are milliseconds


def script(where, backend="hashmap", parallelism=2, rows=ROWS, interval="50 ms", delay="1' DAY", **more):
    """The windows keep every id twice, so a row costs them many times what it costs the source."""
    more.setdefault("execution.checkpointing.unaligned.enabled", "true")
    more.setdefault("execution.checkpointing.data-inline-threshold", "0")
    return (settings(where, backend, parallelism, interval, "streaming", **more) +
            table("seq", "id BIGINT, k AS id %% %d, ts AS TO_TIMESTAMP_LTZ(id, 3), WATERMARK FOR ts AS ts - INTERVAL '%s" % (KEYS, delay),
                  connector="datagen", **{"fields.id.kind": "sequence", "fields.id.start": 1, "fields.id.end": rows,
                                          "rows-per-second": 1000000000}) +
            files_table("o", "w TIMESTAMP(3), k BIGINT, n BIGINT, s BIGINT, d BIGINT, e BIGINT", where + "/out") +
            "INSERT INTO o SELECT CAST(window_start AS TIMESTAMP(3)), k, COUNT(*), SUM(id), COUNT(DISTINCT id), COUNT(DISTINCT id + 1) FROM TABLE(TUMBLE(TABLE seq, "
            "DESCRIPTOR(ts), INTERVAL '10' SECONDS)) GROUP BY window_start, window_end, k;\n")


def expected(rows):
    groups = {}
    for i in range(1, rows + 1):
        g = groups.setdefault((i // WINDOW, i % KEYS), [0, 0])
        g[0] += 1
        g[1] += i
    return sorted("%d,%d,%d,%d" % (k, n, s, n) + ",%d" % n for (_, k), (n, s) in groups.items())


def windows_are(where, rows=ROWS):
    got, want = sorted(l.decode().split(",", 1)[1] for l in lines_of(where + "/out")), expected(rows)
    check(got == want, "the windows are wrong: %d lines" % len(got), sorted(set(got) - set(want))[:5], sorted(set(want) - set(got))[:5])


def in_flight(path):
    """(rows in flight, operators of the snapshot)."""
    ops = inspect(path, "--files")["snapshot"]["operators"]
    return sum(s["sizes"]["in_flight_rows"] for o in ops for s in o["subtasks"]), ops


def killed_with_rows_in_flight(where, sql, *args):
    """The newest checkpoint of a killed run has rows in flight: its path."""
    job = Job(where, sql, args)

    def found():
        job.must_run("a checkpoint had rows in flight")
        c = job.checkpoints()["latest"]["completed"]
        return c is not None and c["persisted_data"] > 0 and c
    c = wait_until(found, "a checkpoint with rows in flight")
    same(c["checkpoint_type"], "UNALIGNED_CHECKPOINT", "type")
    job.kill()
    path = newest(where)
    return path, in_flight(path)[0]


def from_nothing(where, story):
    def run(pace):
        for name in ("ck", "out", "sp", "ex"):
            shutil.rmtree("%s/%s" % (where, name), ignore_errors=True)
        return story(pace)
    return at_some_pace(run)


def kills_and_rescales(where, backend, parallelisms, **more):
    def story(pace):
        rows, most = ROWS * pace, 0
        for p in parallelisms[:-1]:
            _, n = killed_with_rows_in_flight(where, script(where, backend, p, rows, **more), "--resume")
            most = max(most, n)
        job = Job(where, script(where, backend, parallelisms[-1], rows, **more), ["--resume"])
        job.finish()
        check(most > 0, "no checkpoint that was gone on from had rows in flight")
        windows_are(where, rows)
    from_nothing(where, story)


@test()
def killed_and_rescaled_on_hashmap(where):
    kills_and_rescales(where, "hashmap", (2, 3, 1, 2))


@test()
def killed_and_rescaled_on_rocksdb(where):
    kills_and_rescales(where, "rocksdb", (3, 2, 2))


@test()
def at_the_same_parallelism_windows_fire_once(where):
    kills_and_rescales(where, "hashmap", (2, 2, 2), delay="1' SECOND")


@test()
def after_a_timeout(where):
    kills_and_rescales(where, "hashmap", (2, 3), **{"execution.checkpointing.aligned-checkpoint-timeout": "1 ms"})


@test()
def what_the_verbs_say(where):
    def story(pace):
        rows = ROWS * pace
        path, n = killed_with_rows_in_flight(where, script(where, rows=rows))
        while n == 0:  # the one after it had none
            path, n = killed_with_rows_in_flight(where, script(where, rows=rows))
        code, out, _ = varve("inspect", path)
        check(code == 0 and "in flight from" in out, "inspect", out)
        files = [s["in_flight"][0]["file"] for o in in_flight(path)[1] for s in o["subtasks"] if s["in_flight"]]
        code, out, err = varve("verify", path)
        check(code == 0, "verify", out, err)
        code, out, _ = varve("du", path)
        check(code == 0, "du", out)
        code, out, _ = varve("diff", path, path)
        check(code == 0, "diff", out)
        code, out, err = varve("orphans", where + "/ck")
        check(code == 0 and files[0]["path"] not in out, "orphans", out, err)
        code, out, err = varve("inspect", "--html", where + "/page.html", path)
        check(code == 0 and "rows in flight from" in open(where + "/page.html").read(), "html", out, err)
        code, out, err = varve("export", path, where + "/ex", "--to", "varve")
        check(code == 0, "export", out, err)
        same(in_flight(where + "/ex")[0], n, "rows in flight of the copy")
        code, out, err = varve("export", path, where + "/ex64", "--to", "varve", "--max-parallelism", "64")
        check(code == 0, "export to other key groups", out, err)
        code, out, err = varve("run", "--dry-run", "-s", path, "-e", script(where, parallelism=3, rows=rows))
        check(code == 0 and "in flight: %d rows, processed before new ones" % n in out, "dry run", out, err)
        # Without the windows the rows have nowhere to go.
        other = script(where, rows=rows).split("INSERT INTO")[0] + "INSERT INTO o SELECT CAST(ts AS TIMESTAMP(3)), k, id, id, id, id FROM seq;\n"
        code, out, err = varve("run", "--dry-run", "-s", path, "-e", other)
        check(code == 1 and "%d rows in flight to it" % n in out + err, "dry run without the windows", out, err)
        code, out, err = varve("run", "--dry-run", "-n", "-s", path, "-e", other)
        check(code == 0 and "%d rows in flight to it" % n in out + err, "dry run that drops them", out, err)
        # Which rows are late is kept by key group: where that differs, others can't take it over.
        shutil.copytree(where + "/out", where + "/before") if os.path.exists(where + "/out") else os.makedirs(where + "/before")
        code, out, err = varve("run", "-s", where + "/ex64", "-e",
                               script(where, parallelism=3, rows=rows).replace("'pipeline.max-parallelism' = '128'", "'pipeline.max-parallelism' = '64'"))
        if code == 0:
            windows_are(where, rows)
        else:
            check(code == 1 and "event times of 128 key groups" in err, "restore of other key groups", out, err)
        shutil.rmtree(where + "/out", ignore_errors=True)
        shutil.copytree(where + "/before", where + "/out")
        Job(where, script(where, parallelism=1, rows=rows), ["-s", where + "/ex"]).finish()
        windows_are(where, rows)
        # A damaged file, found by verify and by a restore that must not use it.
        file = os.path.join(path, files[0]["path"])
        with open(file, "r+b") as f:
            f.seek(files[0]["size"] // 2)
            b = f.read(1)
            f.seek(files[0]["size"] // 2)
            f.write(bytes([b[0] ^ 4]))
        code, out, err = varve("verify", path)
        check(code == 1 and files[0]["path"] in out + err, "verify of a damaged one", out, err)
        code, out, err = varve("run", "-s", path, "-e", script(where, rows=rows))
        check(code == 1 and files[0]["path"] in err, "restore of a damaged one", out, err)
    from_nothing(where, story)


@test()
def a_savepoint_and_a_stop_are_aligned(where):
    def story(pace):
        rows = ROWS * pace
        job = Job(where, script(where, rows=rows))
        job.wait_checkpoints(2)
        for path in (job.savepoint(where + "/sp"), job.stop(where + "/sp")):
            same(in_flight(path)[0], 0, "rows in flight of a savepoint")
        Job(where, script(where, parallelism=3, rows=rows), ["-s", path]).finish()
        windows_are(where, rows)
    from_nothing(where, story)


@test()
def too_much_in_flight_is_declined_and_says_the_number(where):
    def story(pace):
        job = Job(where, script(where, rows=ROWS * pace, interval="20 ms", **{"varve.checkpoint.in-flight.max-size": "1kb",
                                                                          "execution.checkpointing.tolerable-failed-checkpoints": "100000"}))

        def found():
            job.must_run("a checkpoint was declined")
            f = job.checkpoints()["latest"]["failed"]
            return f and f["failure_message"]
        why = wait_until(found, "a declined checkpoint")
        check("exceed 1024 bytes" in why and "varve.checkpoint.in-flight.max-size" in why, "why", why)
        job.cancel()
    from_nothing(where, story)


if __name__ == "__main__":
    main()
