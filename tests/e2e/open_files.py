#!/usr/bin/env python3
"""open_files.py - a process that may open few files (B39): a start that needs more is refused with the number, before anything is
made; with exactly that number, below 128, 500 SST files are written and restored, at another parallelism too."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from varve import (Job, at_some_pace, audit, check, files_table, inspect, job_directories, lines_of, main, same, sequence, settings,
                   snapshot_files, test, wait_until)

KEYS, ROWS, STATES = 2000, 12000, 180  # each MAX of a text is a state with files of its own


def job(where, rate, parallelism=1):
    columns = "k BIGINT, n BIGINT" + "".join(", t%d STRING" % i for i in range(STATES))
    calls = "".join(", MAX(CONCAT('%d-', CAST(id AS STRING)))" % i for i in range(STATES))
    return (settings(where, "rocksdb", parallelism, "500 ms") + sequence("seq", ROWS, rate) +
            files_table("o", columns, where + "/out") +
            "INSERT INTO o SELECT MOD(id, %d), COUNT(*)%s FROM seq GROUP BY MOD(id, %d);\n" % (KEYS, calls, KEYS))


def limited(files):
    return ["bash", "-c", "ulimit -n %d; exec \"$@\"" % files, "limited"]


def check_table(where):
    rows = [l.decode().split(",") for l in lines_of(where + "/out")]
    same(len(rows), KEYS, "rows")
    for r in rows:
        k = int(r[0])
        most = max(str(i) for i in range(k or KEYS, ROWS + 1, KEYS))
        same((r[1], r[2], r[-1]), (str(ROWS // KEYS), "0-" + most, "%d-%s" % (STATES - 1, most)), "row of key %d" % k)


def complete_ones(directory):
    """Newest first."""
    found = [c for c in inspect(directory, "--files")["checkpoints"] if c["status"] == "complete"]
    return sorted(found, key=lambda c: -c["checkpoint_id"])


def newest_files(directory):
    found = complete_ones(directory)
    return snapshot_files(found[0]) if found else []


def least_of(where, parallelism=1):
    """What a start under a limit of 80 says that it needs."""
    refused = Job(where, job(where, None, parallelism), prefix=limited(80)).refused("may have 80 open files (ulimit -n)", code=2)
    check(not os.path.exists(where + "/out") and not job_directories(where), "something was made", os.listdir(where))
    return int(re.search(r"need at least (\d+)", refused.err)[1])


@test
def b39_few_open_files_are_enough_for_five_hundred_or_are_refused_with_the_number_that_is(where):
    least = least_of(where)
    check(least <= 128, "needs %d" % least)

    def story(pace):
        first = Job(where, job(where, 200 // pace), prefix=limited(least))
        first.wait_checkpoints(1)
        wait_until(lambda: first.must_run("500 files") or len(newest_files(job_directories(where)[-1])) >= 500,
                   "500 files in a checkpoint", timeout=180)
        first.kill()

    at_some_pace(story)
    directory = job_directories(where)[-1]
    audit(directory)
    complete = complete_ones(directory)
    full = next(c for c in complete if len(snapshot_files(c)) >= 500)
    same({c["status"] for c in inspect(directory, "--digests")["checkpoints"]} - {"incomplete"}, {"complete"}, "checkpoints")
    Job(where, job(where, None), ["-s", full["path"]], prefix=limited(least)).finish()
    check_table(where)


@test(each=((1, 2), (2, 1)))
def b39_they_are_enough_at_another_parallelism(where, before, after):
    least = {p: least_of(where, p) for p in (before, after)}

    def story(pace):
        first = Job(where, job(where, 2000 // pace, before), prefix=limited(least[before]))
        first.wait_checkpoints(2)
        first.kill()

    at_some_pace(story)
    newest = complete_ones(job_directories(where)[-1])[0]
    Job(where, job(where, None, after), ["-s", newest["path"]], prefix=limited(least[after])).finish()
    check_table(where)


if __name__ == "__main__":
    main()
