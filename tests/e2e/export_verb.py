#!/usr/bin/env python3
"""export_verb.py - varve export: a snapshot's copy lives without the snapshot. Jobs go on from it as they would have, also with another max
parallelism, and their results are exact."""
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from varve import BACKENDS, Job, TooFast, at_some_pace, check, files_table, inspect, lines_of, main, newest, same, sequence, settings, test, varve

ROWS, GROUPS = 30000, 400
QUERY = ("SELECT MOD(id, %d), COUNT(*), SUM(id), MIN(CAST(id + 100000 AS STRING)), COUNT(DISTINCT MOD(id, 1201)) FROM seq GROUP BY MOD(id, %d)"
         % (GROUPS, GROUPS))
COLUMNS = "k BIGINT, n BIGINT, s BIGINT, least STRING, d BIGINT"


def script(where, backend, seconds=0.001, parallelism=2, query=QUERY, columns=COLUMNS, max_parallelism=None):
    text = settings(where, backend, parallelism, interval="80 ms")
    if max_parallelism != 128:
        text = text.replace("SET 'pipeline.max-parallelism' = '128';\n", "" if max_parallelism is None else
                            "SET 'pipeline.max-parallelism' = '%d';\n" % max_parallelism)
    return text + sequence("seq", ROWS, int(ROWS / seconds)) + files_table("o", columns, where + "/out") + "INSERT INTO o %s;\n" % query


def right():
    lines = []
    for k in range(GROUPS):
        ids = list(range(k or GROUPS, ROWS + 1, GROUPS))
        lines.append("%d,%d,%d,%d,%d" % (k, len(ids), sum(ids), min(ids) + 100000, len({i % 1201 for i in ids})))
    return sorted(lines)


def interrupted(where, backend, how, parallelism=2):
    """A run that was ended half-way: the path of its snapshot."""
    def story(pace):
        for name in ("ck", "out", "sp"):
            shutil.rmtree("%s/%s" % (where, name), ignore_errors=True)
        job = Job(where, script(where, backend, 3 * pace, parallelism, max_parallelism=128))
        job.wait_rows(ROWS // 4)
        if how == "savepoint":
            return job.stop(where + "/sp")
        job.wait_checkpoints(2)
        job.terminate()
        if "resume with" not in job.said():
            raise TooFast("it had ended")
        return newest(where)

    return at_some_pace(story)


def export(where, path, name, *options):
    code, out, err = varve("export", path, "%s/%s" % (where, name), "--to", "varve", *options)
    same(code, 0, "exit code of the export\n" + err)
    same(out, "%s/%s\n" % (where, name), "what it prints")
    return "%s/%s" % (where, name)


def move_away(where, copy):
    """The copy goes elsewhere, and all that the first run left goes away."""
    os.rename(copy, where + "/moved")
    for name in ("ck", "sp"):
        shutil.rmtree("%s/%s" % (where, name), ignore_errors=True)
    return where + "/moved"


def goes_on(where, backend, path, parallelism, **more):
    job = Job(where, script(where, backend, parallelism=parallelism, **more), args=("-s", path))
    same(job.wait(), 0, "exit code of the run from the copy\n" + job.said())
    got, want = sorted(line.decode() for line in lines_of(where + "/out")), right()
    check(got == want, "%d results instead of %d" % (len(got), len(want)), *[pair for pair in zip(got, want) if pair[0] != pair[1]][:3])


@test(each=[(b, h) for b in BACKENDS for h in ("checkpoint", "savepoint")])
def a_job_goes_on_from_a_copy_without_what_it_was_copied_from(where, backend, how):
    copy = export(where, interrupted(where, backend, how), "copy")
    same(inspect(copy)["snapshot"]["status"], "complete", "status of the copy")
    goes_on(where, backend, move_away(where, copy), 3, max_parallelism=128)


@test(each=[(b, n) for b in BACKENDS for n in (8, 128, 500)])
def a_job_goes_on_with_another_max_parallelism(where, backend, count):
    path = interrupted(where, backend, "checkpoint")
    code, _, err = varve("run", "-s", path, "-e", script(where, backend, parallelism=3, max_parallelism=64))
    check(code != 0 and "key groups" in err, "a run with another max parallelism was not refused", err)
    before = states(path)
    copy = export(where, path, "copy", "--max-parallelism", str(count))
    same({op["max_parallelism"] for op in inspect(copy)["snapshot"]["operators"]}, {count}, "max parallelism of the copy")
    same(states(copy), before, "what the states hold")
    code, _, err = varve("diff", path, copy, "--state")
    check(code == (0 if count == 128 else 2) and (count == 128 or "max parallelism" in err), "diff of other key groups: %d" % code, err)
    groups = [json.loads(line)["key_group"] for line in varve("state", "-q", copy, "--name", "accState", "--format", "jsonl")[1].splitlines()]
    check(groups == sorted(groups) and max(groups) < count, "key groups", groups)
    goes_on(where, backend, move_away(where, copy), min(count, 5), max_parallelism=count)


def states(path):
    """Every entry, without its key group, in an order of its own."""
    found = {}
    for line in varve("state", "-q", path, "--format", "jsonl")[1].splitlines():
        name, kind = (json.loads(line)[k] for k in ("state", "kind"))
        if kind not in ("value state", "map state"):
            continue
        rows = [json.loads(r) for r in varve("state", "-q", path, "--name", name, "--format", "jsonl")[1].splitlines()]
        for r in rows:
            del r["key_group"]
        found[name] = sorted(json.dumps(r) for r in rows)
    check(len(found) == 3 and all(found.values()), "states", found.keys())
    return found


@test
def what_can_not_be_done_is_said_and_leaves_nothing(where):
    path = interrupted(where, "rocksdb", "savepoint")
    os.mkdir(where + "/full")
    open(where + "/full/stranger", "w").close()
    for code, directory, options, words in [
            (2, "/full", ["--to", "varve"], "is not empty"),
            (2, "/new", [], "--to is missing"),
            (2, "/new", ["--to", "flink-native"], "no snapshot of Flink's"),
            (2, "/new", ["--to", "flink-savepoint", "--drop", "totals"], "is no snapshot of Flink's"),
            (2, "/new", ["--to", "tar"], "give varve"),
            (2, "/new", ["--to", "varve", "--max-parallelism", "1"], "parallelism 2"),
            (2, "/new", ["--to", "varve", "--max-parallelism", "0"], "--max-parallelism")]:
        got, out, err = varve("export", path, where + directory, *options)
        same((got, out), (code, ""), "varve export %s\n%s" % (options, err))
        check(words in err, "%r lacks %r" % (err, words))
        check(not os.path.exists(where + "/new"), "it left a directory")
    same(os.listdir(where + "/full"), ["stranger"], "the directory that was not empty")
    name = max((f for f in os.listdir(path) if f.endswith(".sst")), key=lambda f: os.path.getsize(os.path.join(path, f)))
    with open(os.path.join(path, name), "r+b") as f:
        f.seek(os.path.getsize(os.path.join(path, name)) // 2)
        byte = f.read(1)
        f.seek(-1, 1)
        f.write(bytes([byte[0] ^ 1]))
    for options in [], ["--max-parallelism", "300"]:
        got, out, err = varve("export", path, where + "/new", "--to", "varve", *options)
        same((got, out), (1, ""), "export of a damaged savepoint\n" + err)
        check(name in err, "the message lacks the file", err)
        check(not os.path.exists(where + "/new"), "it left a directory")


if __name__ == "__main__":
    main()
