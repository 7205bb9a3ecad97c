#!/usr/bin/env python3
"""bench_unaligned.py - how long a checkpoint takes under backpressure, aligned and unaligned.

    bench_unaligned.py [--rows N] [--json FILE]       VARVE_BIN names the program

Windows that cost a row many times what it costs the source, with little state; two subtasks, 64 batches a channel, a checkpoint
every 100 ms. Reported: the median and the largest of the completed checkpoints' end-to-end milliseconds, the median of the rows in
flight in bytes, and the ratio of the medians."""
import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e", "lib"))
from varve import Job, files_table, settings, table


DISTINCT = (3, 5, 7, 11, 13, 17, 19, 23)  # each a lookup a row, in little state


def script(where, rows, unaligned):
    more = {"execution.checkpointing.unaligned.enabled": "true" if unaligned else "false", "web.checkpoints.history": "1000",
            "varve.exchange.capacity": "64"}
    return (settings(where, "hashmap", 2, "100 ms", "streaming", **more) +
            table("seq", "id BIGINT, k AS id % 50, ts AS TO_TIMESTAMP_LTZ(id, 3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND", connector="datagen",
                  **{"fields.id.kind": "sequence", "fields.id.start": 1, "fields.id.end": rows, "rows-per-second": 1000000000}) +
            files_table("o", "k BIGINT, n BIGINT, " + ", ".join("d%d BIGINT" % i for i in DISTINCT), where + "/out") +
            "INSERT INTO o SELECT k, COUNT(*), %s FROM TABLE(TUMBLE(TABLE seq, DESCRIPTOR(ts), "
            "INTERVAL '10' SECONDS)) GROUP BY window_start, window_end, k;\n" % ", ".join("COUNT(DISTINCT id %% %d)" % i for i in DISTINCT))


def measure(rows, unaligned):
    where = tempfile.mkdtemp(prefix="bench-unaligned-")
    job, seen = Job(where, script(where, rows, unaligned)), {}
    while job.alive():
        try:
            for c in job.checkpoints()["history"]:
                if c["status"] == "COMPLETED":
                    seen[c["id"]] = c
        except Exception:  # its end
            break
        time.sleep(0.05)
    job.finish()
    shutil.rmtree(where)
    return list(seen.values())[:-1]  # the last one waits for nothing


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--rows", type=int, default=2000000)
    a.add_argument("--json")
    o = a.parse_args()
    report = {"program": "bench_unaligned", "rows": o.rows}
    for name, unaligned in (("aligned", False), ("unaligned", True)):
        found = measure(o.rows, unaligned)
        took = [c["end_to_end_duration"] for c in found]
        report[name + "_ms"], report[name + "_max_ms"] = statistics.median(took), max(took)
        report[name + "_count"] = len(took)
        report[name + "_persisted_bytes"] = statistics.median(c["persisted_data"] for c in found)
    report["ratio"] = round(report["aligned_ms"] / max(1, report["unaligned_ms"]), 2)
    print(json.dumps(report, indent=1))
    if o.json:
        with open(o.json, "w") as f:
            json.dump(report, f)


main()
