#!/usr/bin/env python3
"""flink_restore.py - `run -s` of snapshots in Flink's form: a job is killed, its state goes out as a canonical savepoint of Flink's and
comes back in, by another backend at another parallelism, and the rest of the input gives the exact results; what does not fit, or
nobody takes over, is refused by name; and whatever happens on the way in, the snapshot stays as it is and the next start is right."""
import json
import os
import random
import shutil
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from varve import (BACKENDS, TESTS, Job, at_some_pace, check, files_below, files_table, job_directories, lines_of, main, preloaded, read, same,
                   settings, table, test, tree_digest, varve, write)

SNAPSHOTS = os.path.join(TESTS, "conformance/golden/flink-state/snapshots.tar.xz")
SEED = int(os.environ.get("VARVE_TEST_SEED") or 20261201)
ROWS, KEYS = 60000, 1007
COLUMNS = "k BIGINT, n BIGINT, s BIGINT, most STRING, d BIGINT"
CALLS = "COUNT(*), SUM(id), MAX(CAST(id AS STRING)), COUNT(DISTINCT MOD(id, 13))"


AT_ONCE = 1000000000


def said(job):
    return (job.out + job.err).replace('\\"', '"').replace("\\n", "\n")


def totals(where, backend, parallelism, rate=AT_ONCE, calls=CALLS, columns=COLUMNS, uid="totals", **more):
    source = table("seq", "id BIGINT", connector="datagen", **{"fields.id.kind": "sequence", "fields.id.start": 1, "fields.id.end": ROWS, "varve.uid": "src",
                                                              "rows-per-second": rate})
    hint = "/*+ OPTIONS('varve.uid'='%s') */ " % uid if uid else ""
    return (settings(where, backend, parallelism, "50 ms", **more) + source + files_table("o", columns, where + "/out") +
            "INSERT INTO o SELECT %sMOD(id, %d), %s FROM seq GROUP BY MOD(id, %d);\n" % (hint, KEYS, calls, KEYS))


def totals_are_right(where, what):
    want = {}
    for i in range(1, ROWS + 1):
        w = want.setdefault(i % KEYS, [0, 0, "", set()])
        w[0], w[1], w[2] = w[0] + 1, w[1] + i, max(w[2], str(i))
        w[3].add(i % 13)
    got = sorted(l.decode() for l in lines_of(where + "/out"))
    check(got == sorted("%d,%d,%d,%s,%d" % (k, w[0], w[1], w[2], len(w[3])) for k, w in want.items()), what + ": the table is wrong", len(got), got[:3])


def out_of_a_killed_job(where, sql):
    """A savepoint in Flink's form of a job that was killed in the middle: its path. sql(pace)"""
    def story(pace):
        for name in ("ck", "out", "flink"):
            shutil.rmtree("%s/%s" % (where, name), ignore_errors=True)
        job = Job(where, sql(pace))
        job.wait_checkpoints(3)
        job.kill()
    at_some_pace(story)
    code, out, err = varve("export", where + "/ck", where + "/flink", "--to", "flink-savepoint")
    same(code, 0, "exit code of the export; " + out + err)
    shutil.rmtree(where + "/ck")
    shutil.rmtree(where + "/out", ignore_errors=True)
    return where + "/flink"


def left_of_imports(where):
    return [n for n in os.listdir(where + "/ck") if n.startswith(".varve-import")] if os.path.isdir(where + "/ck") else []


def goes_on(where, sql, path, what):
    before = tree_digest(path)
    job = Job(where, sql, ["-s", path])
    same(job.wait(), 0, "%s: exit code; %s" % (what, job.said()))
    same(left_of_imports(where), [], what + ": what the way in leaves")
    check(tree_digest(path) == before, what + ": the snapshot is as it was")
    check("in Flink's form" in job.said(), what + ": what it says at the start", job.said())


@test(each=BACKENDS)
def totals_go_out_and_come_back_at_any_parallelism(where, backend):
    path = out_of_a_killed_job(where, lambda pace: totals(where, backend, 2, 12000 // pace))
    for other in BACKENDS:
        for parallelism in (1, 2, 3):
            what = "%s at parallelism %d" % (other, parallelism)
            goes_on(where, totals(where, other, parallelism), path, what)
            totals_are_right(where, what)
            shutil.rmtree(where + "/out")
            shutil.rmtree(where + "/ck")


@test
def windows_and_what_expires_come_along(where):
    def sql(pace, parallelism=2, rate=12000):
        source = table("seq", "id BIGINT, k AS id %% 50, ts AS TO_TIMESTAMP_LTZ(id, 3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND",
                       connector="datagen", **{"fields.id.kind": "sequence", "fields.id.start": 1, "fields.id.end": ROWS, "varve.uid": "src",
                                               "rows-per-second": rate // pace})
        return (settings(where, "rocksdb", parallelism, "50 ms", "streaming", **{"table.exec.state.ttl": "1 d"}) + source.replace("%%", "%") +
                files_table("o", "w TIMESTAMP(3), k BIGINT, n BIGINT, s BIGINT", where + "/out") +
                "INSERT INTO o SELECT CAST(window_start AS TIMESTAMP(3)), k, COUNT(*), SUM(id) FROM TABLE(TUMBLE(TABLE seq, DESCRIPTOR(ts), INTERVAL '10' SECONDS)) "
                "GROUP BY window_start, window_end, k;\n")

    def story(pace):
        for name in ("ck", "out", "flink"):
            shutil.rmtree("%s/%s" % (where, name), ignore_errors=True)
        job = Job(where, sql(pace))
        job.wait_checkpoints(3)
        job.stop(where + "/sp")
    at_some_pace(story)
    code, out, err = varve("export", where + "/sp", where + "/flink", "--to", "flink-savepoint")
    same(code, 0, "exit code of the export; " + out + err)
    shutil.rmtree(where + "/ck")
    goes_on(where, sql(1, 3, AT_ONCE), where + "/flink", "windows")
    want = {}
    for i in range(1, ROWS + 1):
        w = want.setdefault((i // 10000, i % 50), [0, 0])
        w[0], w[1] = w[0] + 1, w[1] + i
    got = sorted(l.decode().split(",", 1)[1] for l in lines_of(where + "/out"))
    check(got == sorted("%d,%d,%d" % (k, n, s) for (_, k), (n, s) in want.items()), "the windows are wrong", len(got))


def refused(where, sql, path, *words, args=()):
    """By a dry run and by a start, with these words; nothing has begun."""
    before = tree_digest(path)
    for more in (["--dry-run"], []):
        job = Job(where, sql, more + ["-s", path, *args])
        check(job.wait() in (1, 2), "exit code", job.said())
        missing = [w for w in words if w not in said(job)]
        check(not missing, "not said: %s" % missing, job.said())
        same(left_of_imports(where), [], "what the way in leaves")
        check(not os.path.exists(where + "/out") and not job_directories(where), "something has begun", os.listdir(where))
    check(tree_digest(path) == before, "the snapshot is as it was")


@test
def what_does_not_fit_or_nobody_takes_over_is_refused_by_name(where):
    path = out_of_a_killed_job(where, lambda pace: totals(where, "rocksdb", 2, 12000 // pace))
    refused(where, totals(where, "rocksdb", 2, uid="others"), path, "state that the job does not take over", '"totals"', "no operator of the job has this uid")
    fewer = "COUNT(*), SUM(id), COUNT(DISTINCT MOD(id, 13))"
    refused(where, totals(where, "rocksdb", 2, calls=fewer, columns="k BIGINT, n BIGINT, s BIGINT, d BIGINT"), path,
            'VALUE state "acc_MAX(CAST(id AS STRING))"', "has none of that name", "--allow-non-restored-state")
    refused(where, totals(where, "rocksdb", 2, calls=CALLS.replace("SUM(id)", "COUNT(id)")), path, 'state "accState" does not fit', "value: Flink wrote RowDataSerializer(",
            "the job has ROW<")
    refused(where, totals(where, "rocksdb", 2), path, "cannot be claimed", args=("--claim-mode", "CLAIM"))
    same(varve("run", "-D", "rest.port=0", "--dry-run", "-s", path, "-e", totals(where, "rocksdb", 2))[0], 0, "exit code of a dry run of what fits")
    check(not os.path.exists(where + "/ck") or not os.listdir(where + "/ck"), "a dry run leaves nothing")
    code, out, err = varve("run", "--json", "-D", "rest.port=0", "--dry-run", "-n", "-s", path, "-e", totals(where, "rocksdb", 2, uid="others"))
    dropped = json.loads(out)["flink"]["dropped"]
    check(len(dropped) == 1 and "keyed state, operator state" in dropped[0], "what a dry run says is dropped", dropped)
    # Dropped on request, and said: a table that begins anew from where the source was.
    job = Job(where, totals(where, "rocksdb", 2, uid="others"), ["-n", "-s", path])
    same(job.wait(), 0, "exit code with -n; " + job.said())
    check('dropped:\n  operator "totals"' in said(job), "what is dropped", job.said())
    counted = sum(int(l.split(b",")[1]) for l in lines_of(where + "/out"))
    check(0 < counted < ROWS, "rows behind the snapshot", counted)


@test
def damage_is_refused_with_its_place(where):
    path = out_of_a_killed_job(where, lambda pace: totals(where, "hashmap", 1, 12000 // pace))
    data = max(files_below(path), key=os.path.getsize)
    whole = open(data, "rb").read()
    rng = random.Random(SEED)
    offsets = [rng.randrange(len(whole)) for _ in range(40)]
    wrong = 0
    for at in offsets:
        write(data, whole[:at] + bytes([whole[at] ^ 1 << rng.randrange(8)]) + whole[at + 1:])
        shutil.rmtree(where + "/ck", ignore_errors=True)
        shutil.rmtree(where + "/out", ignore_errors=True)
        job = Job(where, totals(where, "hashmap", 1), ["-s", path])
        job.wait()
        if "restore %s, which Flink wrote" % path in said(job):  # else the flip made another value of it, which nothing proves
            wrong += 1
            check(job.process.returncode in (1, 2), "exit code", job.said())
        same(left_of_imports(where), [], "what the way in leaves")
    check(wrong > len(offsets) // 4, "too few were noticed", wrong)
    write(data, whole[:-7])
    shutil.rmtree(where + "/out", ignore_errors=True)
    shutil.rmtree(where + "/ck", ignore_errors=True)
    refused(where, totals(where, "hashmap", 1), path, data, "bytes long, _metadata says")


@test
def whatever_ends_the_way_in_the_next_start_is_right(where):
    path = out_of_a_killed_job(where, lambda pace: totals(where, "rocksdb", 2, 12000 // pace))
    before = tree_digest(path)
    sql = totals(where, "rocksdb", 2)

    def again(what):
        check(tree_digest(path) == before, what + ": the snapshot is as it was")
        shutil.rmtree(where + "/out", ignore_errors=True)
        goes_on(where, sql, path, what)
        totals_are_right(where, what)
        shutil.rmtree(where + "/out")

    # Of the process that reads it tests/e2e/flink_kept.py tells.
    job = Job(where, sql, ["-s", path], prefix=preloaded(PRELOAD_ROOT=where + "/ck", PRELOAD_VERB="run", PRELOAD_KILL="_metadata:1"))
    check(job.wait() < 0, "it was killed", job.said())
    same(left_of_imports(where), [], "what the crash leaves of the way in")
    again("killed before its first checkpoint had its name")
    for verb in ("import-flink", "run"):
        count = where + "/count"
        job = Job(where, sql, ["-s", path], prefix=preloaded(PRELOAD_ROOT=where + "/ck", PRELOAD_VERB=verb, PRELOAD_COUNT=count))
        same(job.wait(), 0, "exit code; " + job.said())
        changes = int(read(count).split()[1])
        check(changes > 5, "changes of " + verb, changes)
        shutil.rmtree(where + "/out")
        for k in random.Random(SEED).sample(range(1, min(changes, 40)), 4):
            job = Job(where, sql, ["-s", path], prefix=preloaded(PRELOAD_ROOT=where + "/ck", PRELOAD_VERB=verb, PRELOAD_FAIL="change:%d:28:on" % k))
            check(job.wait() != 0 and "No space left on device" in job.said(), "change %d of %s fails" % (k, verb), job.said())
            again("change %d of %s" % (k, verb))


@test
def what_flink_itself_wrote_is_refused_or_dropped_by_name(where):
    with tarfile.open(SNAPSHOTS) as t:
        t.extractall(where + "/theirs")
    sql = totals(where, "rocksdb", 2, uid="keyed-long")
    seen = 0
    for metadata in [f for f in files_below(where + "/theirs") if os.path.basename(f) == "_metadata"]:
        job = Job(where, sql, ["--dry-run", "-s", os.path.dirname(metadata)])
        check(job.wait() == 1 and "which Flink wrote" in said(job), metadata, job.said())
        job = Job(where, sql, ["--dry-run", "-n", "-s", os.path.dirname(metadata)])
        if job.wait() == 0:  # else rows in flight
            check('"keyed-' in said(job), metadata, job.said())
            if "state accState: starts empty" in job.out:  # the operator of that uid is there, none of its states is
                check("parallelism 2, starts empty\n  uid keyed-long\n  nothing that the snapshot has of it can be taken over" in job.out, metadata, job.out)
            seen += 1
    check(seen >= 15, "too few were looked at", seen)


main()
