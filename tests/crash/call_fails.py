#!/usr/bin/env python3
"""call_fails.py - one call of a real run to the disk fails, RocksDB's calls as well as ours: an error, a full disk, half of what was
asked for.

A run counts its calls, changes, reads and looks at names each for themselves; then runs follow in which the k-th one fails
(tests/preload/preload_disk.c), or every one from the k-th on; likewise runs that go on from a killed one's checkpoint.
Whatever k is: the job ends well with the exact table, or it fails and says what the system said (B40), never anything else; no
row is visible twice. Then, with a disk that works, it resumes and ends with the exact table.

    call_fails.py [WORD...]     k from a seed that is printed on failure; VARVE_SOAK=1: every k of a whole run"""
import collections
import os
import random
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e/lib"))
from varve import (Job, at_some_pace, check, check_formula_and_rows, files_table, formula_and_rows, formula_table, lines_of, main, preloaded, read, same,
                   sequence, settings, test)

SOAK = os.environ.get("VARVE_SOAK") == "1"
SEED = int(os.environ.get("VARVE_TEST_SEED") or 20261130)
ROWS, RATE = 3000 if SOAK else 6000, 12000  # some five checkpoints
RUNS = 6  # of each kind
EIO, ENOSPC, SHORT = 5, 28, 0
UNSAID = "the system's reason was not kept"  # RocksDB drops it in two places (backend/rocks_options.c)
SAYS = {EIO: "Input/output error", ENOSPC: "No space left on device"}


def sql(where):
    return formula_and_rows(where, ROWS, RATE, retained=2)


EXPECTED = formula_table(ROWS)


# More keys than the row cache holds: most rows are looked up in the database, a thousand reads of its files and more.
MANY_ROWS, MANY_KEYS = 300000, 150011


def sql_of_many(where):
    more = {"state.backend.rocksdb.localdir": where + "/local", "taskmanager.memory.managed.size": "16mb",
            "state.backend.rocksdb.blind-updates": "off"}
    return (settings(where, "rocksdb", 2, "100 ms", retained=2, **more) + sequence("seq", MANY_ROWS) +
            files_table("o", "k BIGINT, n BIGINT, s BIGINT", where + "/out") +
            "INSERT INTO o SELECT MOD(id * 48271, %d) AS k, COUNT(*), SUM(id) FROM seq GROUP BY MOD(id * 48271, %d);\n" % (MANY_KEYS, MANY_KEYS))


def check_many(where, what):
    rows = {}
    for i in range(1, MANY_ROWS + 1):
        n, s = rows.get(i * 48271 % MANY_KEYS, (0, 0))
        rows[i * 48271 % MANY_KEYS] = (n + 1, s + i)
    got = sorted(tuple(map(int, l.split(b","))) for l in lines_of(where + "/out"))
    check(got == sorted((k, n, s) for k, (n, s) in rows.items()), "%s: the table is wrong" % what, len(got))


def run(where, what, sql=sql, args=(), **preload):
    """One run with the library: (exit code, {changes, reads, looks, hits}, what it said)."""
    os.makedirs(where + "/live", exist_ok=True)
    count = where + "/count"
    job = Job(where + "/live", sql(where + "/live"), args, prefix=preloaded(PRELOAD_ROOT=where + "/live", PRELOAD_COUNT=count,
                                                                PRELOAD_SKIP="/run/", **preload))
    code = job.wait()
    words = read(count).split() if os.path.exists(count) else []
    check(len(words) == 8, "%s: the process did not come to its end" % what, job.said())
    return code, dict(zip(words[::2], map(int, words[1::2]))), job


def check_failed(where, error, job, what):
    """It failed as it should: by words, and nothing wrong is visible."""
    check(job.process.returncode in (1, 3), "%s: exit code; %s" % (what, job.said()))  # 3: before the job was one
    if error in SAYS and UNSAID not in job.err:
        check(SAYS[error] in job.err + job.out, "%s: %r is not said" % (what, SAYS[error]), job.said())
    twice = [row for row, n in collections.Counter(lines_of(where + "/raw") + lines_of(where + "/out")).items() if n > 1]
    check(not twice, "%s: rows are there twice" % what, twice[:5])
    check(set(lines_of(where + "/out")) <= set(EXPECTED), "%s: wrong rows of the table" % what)


FAULTS = [("change", EIO, ""), ("change", ENOSPC, "on"), ("change", SHORT, ""), ("read", EIO, ""), ("read", EIO, "on"), ("read", SHORT, ""),
          ("look", EIO, ""), ("look", EIO, "on")]


def each_call_fails(where, name, begin, args, fault):
    """begin(): <where>/live as it is before a run."""
    kind, error, on = fault
    live = where + "/live"
    begin()
    code, calls, job = run(where, "without a fault", args=args)
    same(code, 0, "exit code without a fault; " + job.said())
    check_formula_and_rows(live, ROWS, "without a fault")
    rng = random.Random("%d %s %s %d %s" % (SEED, name, kind, error, on))
    last = calls[kind + "s"]
    check(last > 30, "too little happened", calls)
    places = list(range(1, last + 1)) if SOAK else sorted(rng.sample(range(1, last + 1), RUNS))
    hits = failed = 0
    for k in places:
        what = "seed %d, %s, %s %d of some %d, errno %d %s" % (SEED, name, kind, k, last, error, on)
        shutil.rmtree(live)
        begin()
        code, calls, job = run(where, what, args=args, PRELOAD_FAIL=":".join([kind, str(k), str(error)] + ([on] if on else [])))
        hits += calls["hits"] > 0
        if code == 0:
            check_formula_and_rows(live, ROWS, what)
            continue
        failed += 1
        check(calls["hits"] > 0, "%s: nothing failed, and the job did" % what, job.said())
        check_failed(live, error, job, what)
        again = Job(live, sql(live), ["--resume"])
        same(again.wait(), 0, "%s: exit code of the resume; %s\n%s" % (what, job.said(), again.said()))
        check_formula_and_rows(live, ROWS, what + ", resumed")
    check(hits * 4 >= len(places), "few calls failed", hits, len(places))  # how many there are differs from run to run
    print("%s, %s errno %d %s: %d of some %d, %d jobs failed" % (name, kind, error, on, len(places), last, failed), file=sys.stderr)


@test(each=FAULTS)
def b40_a_call_that_fails_gives_the_right_answer_or_a_failed_job_that_resumes(where, *fault):
    each_call_fails(where, "run", lambda: None, (), fault)


@test(each=FAULTS)
def b40_a_call_of_a_restore_that_fails_gives_the_right_answer_or_a_failed_job_that_resumes(where, *fault):
    def story(pace):
        shutil.rmtree(where + "/live", ignore_errors=True)
        job = Job(where + "/live", formula_and_rows(where + "/live", ROWS, RATE // pace, retained=2))
        job.wait_checkpoints(2)
        job.kill()

    at_some_pace(story)
    os.rename(where + "/live", where + "/left")
    each_call_fails(where, "restore", lambda: shutil.copytree(where + "/left", where + "/live"), ["--resume"], fault)


@test
def a_lookup_in_the_database_that_cannot_be_read_gives_the_right_answer_or_a_failed_job(where):
    live = where + "/live"
    code, calls, job = run(where, "without a fault", sql_of_many)
    same(code, 0, "exit code without a fault; " + job.said())
    check_many(live, "without a fault")
    rng, last, failed = random.Random("%d many" % SEED), calls["reads"], 0
    check(last > 500, "too few reads", calls)
    for k in sorted(rng.sample(range(100, last), 60 if SOAK else 4)):
        what = "seed %d, read %d of some %d" % (SEED, k, last)
        shutil.rmtree(live)
        code, calls, job = run(where, what, sql_of_many, PRELOAD_FAIL="read:%d:%d" % (k, EIO))
        if code == 0:
            check_many(live, what)
            continue
        failed += 1
        check(calls["hits"] > 0, "%s: nothing failed, and the job did" % what, job.said())
        check("Input/output error" in job.err, "%s: not said" % what, job.said())
        same(lines_of(live + "/out"), [], "%s: rows of a job that failed" % what)
        again = Job(live, sql_of_many(live), ["--resume"])
        same(again.wait(), 0, "%s: exit code of the resume; %s\n%s" % (what, job.said(), again.said()))
        check_many(live, what + ", resumed")
    check(failed > 0, "no job failed: the faults hit nothing")
    print("lookups: %d jobs failed" % failed, file=sys.stderr)


if __name__ == "__main__":
    main()
