"""execution.checkpointing.interval-during-backlog: files that a watched folder holds at first are a backlog; checkpoints wait for its end."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from varve import Job, check, main, settings, table, test, wait_until, write  # noqa: E402

ROWS = 200000  # of a file


def job_sql(where, files, **more):
    for n in range(files):
        write("%s/in/%02d.csv" % (where, n), "".join("%d\n" % (n * ROWS + i) for i in range(ROWS)))
    return (settings(where, "hashmap", 2, "50 ms", **{"execution.runtime-mode": "streaming", **more}) +
            table("seq", "id BIGINT", connector="filesystem", path=where + "/in", format="csv", **{"source.monitor-interval": "100 ms"}) +
            table("o", "k BIGINT, n BIGINT, s STRING", connector="blackhole") +
            "INSERT INTO o SELECT MOD(id, 1000), COUNT(*), MAX(SHA512(CAST(id AS STRING))) FROM seq GROUP BY MOD(id, 1000);\n")


def counts(job):
    return job.checkpoints()["counts"]


@test
def no_checkpoint_before_the_backlog_is_read(where):
    job = Job(where, job_sql(where, 8, **{"execution.checkpointing.interval-during-backlog": "0"}), ["--log-level", "info"])
    total, seen_before = 8 * ROWS, 0
    while True:
        begun = sum(counts(job)[k] for k in ("completed", "in_progress", "failed"))
        rows = job.source_rows()
        if begun > 0:
            check(rows == total, "a checkpoint after %d rows of %d" % (rows, total))
            break
        seen_before += rows < total
        time.sleep(0.02)
    check(seen_before > 0, "all was read at once")
    job.wait_checkpoints(3)
    check("works through a backlog" in job.err and "has worked through its backlog" in job.err, "the backlog is not told", job.said())
    # What comes later is none.
    done = counts(job)["completed"]
    write(where + "/in/later.csv", "1\n2\n")
    wait_until(lambda: job.source_rows() == total + 2, "the later file")
    job.wait_checkpoints(done + 2)
    job.terminate()


@test
def what_makes_no_sense_is_refused(where):
    key = "execution.checkpointing.interval-during-backlog"
    Job(where, job_sql(where, 1, **{key: "20 ms"})).refused(key, "is less than execution.checkpointing.interval = 50 ms", code=2)
    Job(where, job_sql(where, 1, **{key: "soon"})).refused("is not a duration", code=2)


if __name__ == "__main__":
    main()
