#!/usr/bin/env python3
"""flink_kept.py - `run -s` of state that Flink itself wrote last, in every form that it has: the totals of one job, kept by Flink, go on in either
backend at any parallelism, and are the same whatever form they came in (C10); what cannot be taken over is refused by name."""
import os
import shutil
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from flink_totals import OURS, PART, THEIRS, totals_are_right, totals_sql
from varve import BACKENDS, TESTS, Job, check, files_below, main, same, test, tree_digest, varve, write

SNAPSHOTS = os.path.join(TESTS, "conformance/golden/flink-totals/snapshots.tar.xz")
SST_ENDS = bytes.fromhex("f7cff485b741e288")
IDS = range(THEIRS, THEIRS + PART)


def theirs(where, *names):
    """(name, directory of its `_metadata`) of each snapshot, or of those."""
    with tarfile.open(SNAPSHOTS) as t:
        t.extractall(where + "/theirs")
    found = sorted((os.path.relpath(f, where + "/theirs").split("/")[0], os.path.dirname(f)) for f in files_below(where + "/theirs")
                   if os.path.basename(f) == "_metadata")
    return [f for f in found if not names or f[0] in names]


def goes_on(where, path, ttl, backend, parallelism, what):
    job = Job(where, totals_sql(where, backend, parallelism, OURS, ttl), ["-s", path])
    same(job.wait(), 0, "%s: exit code; %s" % (what, job.said()))
    totals_are_right(job, IDS, ttl, what)
    shutil.rmtree(where + "/ck")
    shutil.rmtree(where + "/out", ignore_errors=True)


@test(each=BACKENDS)
def totals_go_on_from_every_form(where, backend):
    snapshots = [s for s in theirs(where) if "changelog" not in s[0]]
    check(len(snapshots) == 16, "snapshots", snapshots)
    before = tree_digest(where + "/theirs")
    for i, (name, path) in enumerate(snapshots):
        # A savepoint, and now and then a job's directory or a file, is as good as a chk-<n>.
        given = (path, path + "/_metadata", os.path.dirname(path) if "/chk-" in path else path)[i % 3]
        goes_on(where, given, name.endswith("-ttl"), backend, 1 + (i + len(backend)) % 3, "%s, taken over by %s" % (name, backend))
    check(tree_digest(where + "/theirs") == before, "the snapshots are as they were")


@test
def a_dry_run_says_what_a_start_does(where):
    for name, path in theirs(where):
        code, out, err = varve("run", "-D", "rest.port=0", "--dry-run", "-s", path, "-e", totals_sql(where, "rocksdb", 2, OURS, name.endswith("-ttl")))
        same(code, 1 if "changelog" in name else 0, "%s: exit code of a dry run; %s%s" % (name, out, err))
        check("it has a changelog, whose changes would be left out" in out if code else "state accState: kept" in out, name, out)
        check("timer" not in out, "timers that there are none of are not spoken of", out)
    (name, path), = theirs(where, "rocksdb-2-changelog")
    job = Job(where, totals_sql(where, "rocksdb", 2, OURS, False), ["-s", path])
    check(job.wait() != 0 and "take a canonical savepoint of it" in job.said(), "a changelog is refused", job.said())
    check(not os.path.exists(where + "/out"), "something has begun", os.listdir(where))


@test
def a_time_to_live_on_one_side_only_is_refused(where):
    for name, path in theirs(where, "rocksdb-2-files", "rocksdb-1-files-ttl"):
        job = Job(where, totals_sql(where, "rocksdb", 2, OURS, not name.endswith("-ttl")), ["-s", path])
        check(job.wait() != 0 and "time-to-live: Flink wrote it with" in job.said(), name, job.said())


@test
def a_damaged_file_is_refused_by_its_path(where):
    """C13, of files with blocks: none of their bytes is used before all are proven."""
    for name, path in theirs(where, "rocksdb-2-files", "forst-2-files-ttl"):
        files = [f for f in files_below(os.path.dirname(path)) if "/shared/" in f and SST_ENDS in open(f, "rb").read()]
        check(len(files) >= 2, "files of tables", files)
        for file in sorted(files, key=os.path.getsize)[-2:]:
            whole = open(file, "rb").read()
            for damaged in (whole[:100] + bytes([whole[100] ^ 4]) + whole[101:], whole[:-50]):
                write(file, damaged)
                job = Job(where, totals_sql(where, "hashmap", 1, OURS, name.endswith("-ttl")), ["-s", path])
                check(job.wait() in (1, 2) and file in job.said(), "%s: %s" % (name, file), job.said())
                check(not os.path.exists(where + "/out"), "something has begun", os.listdir(where))
            write(file, whole)
        goes_on(where, path, name.endswith("-ttl"), "rocksdb", 2, name + ", whole again")


main()
