#!/usr/bin/env python3
"""kill9.py - kill -9 at random moments of the formula job (case 21), each followed by a resume; both backends.

A chain is one job killed again and again: each run restores the newest checkpoint that verifies, at another parallelism, and is killed
somewhere else: while it starts, between two checkpoints, in one, while it commits, near its end. The last run finishes. Then the table
has the expected SHA-256, each row that the source gave is visible once, and no directory holds a file that nobody names.

    kill9.py [--points N] [--seed S]      VARVE_KILL9_POINTS, VARVE_KILL9_SEED (default: 40 points, a new seed, printed)
"""
import hashlib
import json
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e", "lib"))
from varve import (BACKENDS, CASES, FORMULA, FORMULA_COLUMNS, Job, TooFast, audit, check, files_table, hidden, job_directories, lines_of,
                   main, newest, read, same, sequence, settings, test)

ROWS = 100000
KILLS_A_CHAIN = 10


def argument(name, default):
    if "--" + name in sys.argv:
        at = sys.argv.index("--" + name)
        value = sys.argv[at + 1]
        del sys.argv[at:at + 2]
        return int(value)
    return int(os.environ.get("VARVE_KILL9_" + name.upper(), default))


POINTS = argument("points", 40)
SEED = argument("seed", random.SystemRandom().randrange(1 << 32))
print("kill9: %d points, seed %d" % (POINTS, SEED))
CHAINS = max(1, -(-POINTS // (KILLS_A_CHAIN * len(BACKENDS))))


def script(where, backend, parallelism, rate):
    return (settings(where, backend, parallelism, interval="40 ms", retained=2) + sequence("seq", ROWS, rate) +
            files_table("totals", FORMULA_COLUMNS, where + "/totals") + files_table("ids", "id BIGINT", where + "/ids") +
            "EXECUTE STATEMENT SET BEGIN\nINSERT INTO totals %s;\nINSERT INTO ids SELECT id FROM seq;\nEND;\n" % FORMULA)


def judge(where):
    answer = json.loads(read(os.path.join(CASES, "21-large-state-by-formula", "answer.json")))["answers"][str(ROWS)]
    rows = sorted((int(l.split(b",")[0]), l) for l in lines_of(where + "/totals"))
    text = b"".join(l + b"\n" for _, l in rows)
    same(len(rows), answer["keys"], "groups")
    same(hashlib.sha256(text).hexdigest(), answer["sha256_of_lines_k,count,sum,min,max_by_rising_k"], "SHA-256 of the table")
    ids = sorted(int(l) for l in lines_of(where + "/ids"))
    same(len(ids), len(set(ids)), "distinct rows of the visible ones")
    check(ids == list(range(1, ROWS + 1)), "visible rows: %d, %s..%s" % (len(ids), ids[:1], ids[-1:]))


def of_the_last_run(where, since):
    """Hidden files that the run that ended well made. A run that was killed before its first checkpoint may leave some: no checkpoint
    names them, so no later run can know that nobody writes to them any more (B30)."""
    return [p for p in hidden(where + "/ids") + hidden(where + "/totals") if os.stat(p).st_mtime > since]


@test(each=[(b, i) for b in BACKENDS for i in range(CHAINS)])
def a_chain_of_kills_ends_with_the_right_table(where, backend, number):
    rng = random.Random("%d %s %d" % (SEED, backend, number))
    started = time.time()
    for _ in range(KILLS_A_CHAIN):
        restore = ["-s", where + "/ck"] if newest(where) else []
        started = time.time()
        job = Job(where, script(where, backend, rng.randint(1, 3), 40000), restore)
        time.sleep(rng.choice((0.05, 0.3, 0.8)) * rng.uniform(0.3, 1.7))
        if not job.alive():
            check(job.report() is not None and job.report()["state"] == "FINISHED", "ended by itself", job.said())
            break
        try:
            job.kill()
        except TooFast:
            pass  # killed after its report
    else:
        started = time.time()
        restore = ["-s", where + "/ck"] if newest(where) else []
        Job(where, script(where, backend, 2, 1000000000), restore).finish()
    judge(where)
    same(of_the_last_run(where, started), [], "hidden files of the run that ended well")
    for directory in job_directories(where):
        if os.path.isdir(directory + "/shared"):  # else killed while it was made: there is nothing in it
            audit(directory)


if __name__ == "__main__":
    main(at_once=3)
