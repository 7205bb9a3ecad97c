#!/usr/bin/env python3
"""What it costs to send a savepoint to a slow server, to restore from it and to delete what the job left there, with one file at a time
and with four (state.backend.rocksdb.checkpoint.transfer.thread.num), in one run. The server is the simulated one of the tests; each
request for a file of state is answered LATENCY_MS later.

    VARVE_BIN=build/release/varve tests/bench/transfers.py [LATENCY_MS=100] [ROWS=2000000]
"""
import os
import shutil
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e", "lib"))
from s3_server import S3Server  # noqa: E402
from varve import Job, sequence, settings, table, wait_until  # noqa: E402

LATENCY_MS = int(sys.argv[1]) if len(sys.argv) > 1 else 100
ROWS = int(sys.argv[2]) if len(sys.argv) > 2 else 2000000


def job_sql(where, rows, rate):
    return (settings(where, "rocksdb", 1, "1 h", **{"execution.checkpointing.dir": "s3://varve/ck", "state.backend.rocksdb.localdir": where + "/local",
                                                    "execution.checkpointing.externalized-checkpoint-retention": "DELETE_ON_CANCELLATION"}) +
            sequence("seq", rows, rate) + table("o", "k BIGINT, n BIGINT, total BIGINT", connector="blackhole") +
            "INSERT INTO o SELECT id * 48271, COUNT(*), SUM(id * 7919) FROM seq GROUP BY id * 48271;\n")


def timed(what):
    began = time.monotonic()
    result = what()
    return time.monotonic() - began, result


def measure(where, s, threads):
    """Seconds, and the number of files and bytes."""
    options = {"state.backend.rocksdb.checkpoint.transfer.thread.num": threads}
    with s.lock:
        s.reset()
        s.faults = [{"action": "slow:%d" % LATENCY_MS, "match": "[.]sst", "count": 1 << 30}]
    job = Job(where, job_sql(where, ROWS + 100000, 500000), [], options)
    job.wait_rows(ROWS)
    sent, path = timed(lambda: job.savepoint("s3://varve/sp"))
    job.kill()
    keys = [k for k in s.keys(path[len("s3://varve/"):]) if k.endswith(".sst")]
    size = sum(len(s.buckets["varve"][k].data) for k in keys)
    fetched, job = timed(lambda: restored(where, path, options))
    job.checkpoint()
    deleted, _ = timed(job.cancel)
    return {"files": len(keys), "bytes": size, "savepoint": sent, "restore": fetched, "cancel": deleted}


def restored(where, path, options):
    job = Job(where, job_sql(where, 1 << 40, 1000), ["-s", path], options)
    wait_until(lambda: job.source_rows() > 0, "a row after the restore")
    return job


def main():
    s = S3Server().start()
    os.environ.update(s.environment(), AWS_ENDPOINT_URL=s.endpoint)
    where = tempfile.mkdtemp(prefix="varve-transfers.")
    try:
        one, four = measure(where + "/1", s, 1), measure(where + "/4", s, 4)
    finally:
        shutil.rmtree(where, ignore_errors=True)
    print("each request for a file of state takes %d ms more; %d and %d files, %.1f and %.1f MB" %
          (LATENCY_MS, one["files"], four["files"], one["bytes"] / 1e6, four["bytes"] / 1e6))
    for what in ("savepoint", "restore", "cancel"):
        print("%-10s one at a time %6.2f s   four %6.2f s   ratio %.2f" % (what, one[what], four[what], one[what] / four[what]))


if __name__ == "__main__":
    main()
