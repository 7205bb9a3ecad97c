#!/usr/bin/env python3
"""disk_troubles.py - what the disk under a running job may do, by the numbers of the troubles that people reported (B01 ..): it is slow,
it is full, it is another file system, it may not be written to, and the process dies in the worst moment."""
import os
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from varve import (Job, check, files_table, inspect, lines_of, main, preloaded, read, same, sequence, settings, test, varve, wait_audit,
                   wait_until)

ROWS = 40000
KEYS = 5000


def sql(where, seconds, interval="50 ms", **more):
    """Counts of a sequence by key, rocksdb, its files apart from _metadata; the table at the end."""
    options = {"execution.checkpointing.data-inline-threshold": "0", "state.backend.rocksdb.localdir": where + "/local", **more}
    return (settings(where, "rocksdb", 2, interval, **options) + sequence("seq", ROWS, int(ROWS / seconds)) +
            files_table("o", "k BIGINT, n BIGINT, s BIGINT", where + "/out") +
            "INSERT INTO o SELECT MOD(id, %d), COUNT(*), SUM(id) FROM seq GROUP BY MOD(id, %d);\n" % (KEYS, KEYS))


def check_table(where):
    got = sorted(tuple(map(int, l.split(b","))) for l in lines_of(where + "/out"))
    want = [(k, ROWS // KEYS, sum(range(k or KEYS, ROWS + 1, KEYS))) for k in range(KEYS)]
    check(got == want, "the table is wrong: %d rows" % len(got), got[:3])


class Small:
    """A file system of its own at `path`; None where that is not allowed."""

    def __init__(self, path, size):
        os.makedirs(path)
        self.path = path
        self.there = shutil.which("mount") is not None and subprocess.call(["mount", "-t", "tmpfs", "-o", "size=%s,mode=777" % size, "varve", path], stderr=subprocess.DEVNULL) == 0

    def __enter__(self):
        return self.there

    def __exit__(self, *_):
        if self.there:
            subprocess.call(["umount", "-l", self.path])


def needs_mount(there):
    if not there:
        print("mounting is not allowed here: not tested", file=sys.stderr)
    return there


def failures(job):
    c = job.checkpoints()
    return c["counts"]["failed"], [h.get("failure_message", "") for h in c["history"] if h["status"] == "FAILED"]


@test
def b01_checkpoints_that_come_too_late_leave_nothing_in_shared(where):
    slow = preloaded(PRELOAD_ROOT=where, PRELOAD_SLOW="40:60")
    job = Job(where, sql(where, 60, **{"execution.checkpointing.timeout": "30 ms", "execution.checkpointing.tolerable-failed-checkpoints": 100000}),
              prefix=slow)
    wait_until(lambda: failures(job)[0] >= 5 and job.must_run("five were late") is None, "five checkpoints that were late")
    check("expired" in failures(job)[1][0], "the reason is not said", failures(job))
    late = failures(job)[0]
    job.wait_checkpoints(3)  # the disk is as quick as ever
    wait_audit(job, "%s/ck/%s" % (where, job.jid))
    check(failures(job)[0] >= late, "failures are forgotten")
    job.cancel()


def at_once(job):
    """The most checkpoints that were under way at one time, as the history says it."""
    times = [(h["trigger_timestamp"], h["trigger_timestamp"] + h["end_to_end_duration"]) for h in job.checkpoints()["history"]
             if h["status"] == "COMPLETED"]
    return max(sum(1 for begin, end in times if begin <= t < end) for t, _ in times)


@test(each=(1, 3))
def on_a_slow_disk_as_many_checkpoints_are_under_way_as_are_allowed(where, most):
    more = {"execution.checkpointing.max-concurrent-checkpoints": most}
    job = Job(where, sql(where, 4, interval="20 ms", **more), prefix=preloaded(PRELOAD_ROOT=where, PRELOAD_SLOW="30:400"))
    job.wait_checkpoints(5)
    seen = at_once(job)
    check(seen == 1 if most == 1 else 1 < seen <= most, "%d were under way at one time, %d allowed" % (seen, most), job.checkpoints()["history"])
    wait_until(lambda: job.source_rows() > ROWS // 3, "a third of the rows")
    job.kill()
    Job(where, sql(where, 0.5, **more), ["--resume"]).finish()
    check_table(where)


@test
def b02_a_checkpoint_that_never_completed_is_shown_and_never_offered(where):
    job = Job(where, sql(where, 6), prefix=preloaded(PRELOAD_ROOT=where, PRELOAD_KILL="_metadata:4"))
    same(job.wait(), -9, "it was killed before its fourth _metadata had its name")
    directory = "%s/ck/%s" % (where, job.jid)
    found = {c["status"]: c for c in inspect(directory)["checkpoints"]}
    check("incomplete" in found and "complete" in found, "not both are there", found)
    left = found["incomplete"]["path"]
    check(os.listdir(left), "nothing lies in it: the test proves nothing", left)
    code, out, _ = varve("orphans", directory, "--min-age", "0s")
    check(code == 0 and left in out, "orphans does not list it", out)
    refused = Job(where, sql(where, 0.001), ["-s", left])
    check(refused.wait() != 0 and "_metadata" in refused.err, "it was offered", refused.said())
    again = Job(where, sql(where, 6), ["--resume"])
    again.finish()
    check(left not in again.err, "it was resumed from", again.said())
    check_table(where)
    code, out, err = varve("orphans", directory, "--delete", "--min-age", "0s")
    same(code, 0, "exit code of orphans --delete; " + out + err)
    check(not os.path.exists(left), "it is still there")


@test
def b40_a_savepoint_without_room_fails_alone_and_leaves_nothing(where):
    with Small(where + "/small", "64k") as there:
        if not needs_mount(there):
            return
        job = Job(where, sql(where, 8))
        job.wait_rows(ROWS // 2)
        base = "/jobs/%s/savepoints" % job.jid
        _, why = job.snapshot_operation(base, base, {"target-directory": where + "/small", "cancel-job": False})
        check(why and "No space left on device" in why and where + "/small" in why, "not said", why)
        wait_until(lambda: os.listdir(where + "/small") == [], "what it wrote is gone")
        completed = job.checkpoints()["counts"]["completed"]
        job.wait_checkpoints(completed + 2)
        job.finish()
        check_table(where)


@test
def b40_checkpoints_without_room_are_counted_and_the_job_goes_on_when_there_is_some(where):
    with Small(where + "/ck", "160k") as there:
        if not needs_mount(there):
            return
        fill = where + "/ck/in the way"
        with open(fill, "wb") as f:
            f.write(bytes(120 << 10))
        job = Job(where, sql(where, 14, **{"execution.checkpointing.tolerable-failed-checkpoints": 100000}))
        wait_until(lambda: failures(job)[0] >= 3 and job.must_run("three failed") is None, "three checkpoints that failed")
        check(any("No space left on device" in m for m in failures(job)[1]), "the reason is not said", failures(job))
        before = job.checkpoints()["counts"]["completed"]
        subprocess.check_call(["mount", "-o", "remount,size=64m", where + "/ck"])
        job.wait_checkpoints(before + 2)
        wait_audit(job, "%s/ck/%s" % (where, job.jid))
        job.finish()
        check_table(where)


@test
def b41_another_file_system_is_copied_to_and_that_is_said_once(where):
    with Small(where + "/ck", "64m") as there:
        if not needs_mount(there):
            return
        job = Job(where, sql(where, 3), ["--log-level", "info"])
        job.finish()
        check_table(where)
        said = [l for l in job.err.splitlines() if "copied" in l or "copies" in l]
        same(len(said), 1, "lines that say it: %s" % said)


@test
def b42_a_directory_that_may_not_be_written_to_is_seen_and_counted(where):
    nobody = 65534 if os.getuid() == 0 else None
    os.chmod(where, 0o777)
    os.chmod(os.path.dirname(where), 0o755)
    os.makedirs(where + "/run")
    os.chmod(where + "/run", 0o777)
    job = Job(where, sql(where, 20, **{"execution.checkpointing.tolerable-failed-checkpoints": 12}), user=nobody)
    job.wait_checkpoints(2)
    directory = "%s/ck/%s" % (where, job.jid)
    completed = job.checkpoints()["counts"]["completed"]
    os.chmod(directory, 0o555)
    try:
        wait_until(lambda: failures(job)[0] >= 10 and job.must_run("ten failed") is None, "ten checkpoints that failed", step=0.001)
        check("Permission denied" in failures(job)[1][0] and directory in failures(job)[1][0], "the reason is not said", failures(job))
    finally:
        os.chmod(directory, 0o755)
    job.wait_checkpoints(completed + 3)
    same(job.state(), "RUNNING", "state")
    os.chmod(directory, 0o555)
    try:
        job.refused("Exceeded checkpoint tolerable failure threshold (12)", "Permission denied")
    finally:
        os.chmod(directory, 0o755)
    again = Job(where, sql(where, 20), ["--resume"], user=nobody)
    again.wait_checkpoints(1)
    again.finish()
    check_table(where)


if __name__ == "__main__":
    main()
