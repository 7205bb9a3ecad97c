#!/usr/bin/env python3
"""skew.py - one key with nine of ten rows (B43): it is named, and checkpoints are not dearer for it."""
import os
import re
import subprocess
import sys
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from varve import (BACKENDS, BIN, CASES, Job, at_some_pace, check, files_table, lines_of, main, read, same, sequence, settings, table, test,
                   wait_until, write)

INPUT = read(os.path.join(CASES, "09-skew", "input.csv"))
KEYS = sorted({line.split(",")[0] for line in INPUT.splitlines()})
ROWS = 2000000


def even_input():
    lines = [line.split(",")[1] for line in INPUT.splitlines()]
    return "".join("%s,%s\n" % (KEYS[i % len(KEYS)], v) for i, v in enumerate(lines))


def counted(where, name, backend, text):
    """(report, the newest checkpoint's figures) of 2,000,000 rows by key."""
    def story(pace):
        there = "%s/%s-%d" % (where, name, pace)
        repeat = ROWS // 20000
        write(there + "/in/input.csv", text * (repeat * pace))
        job = Job(there, settings(there, backend, 2, "50 ms") + files_table("i", "k STRING, v BIGINT", there + "/in") +
                  files_table("o", "k STRING, n BIGINT, s BIGINT", there + "/out") +
                  "INSERT INTO o SELECT k, COUNT(*), SUM(v) FROM i GROUP BY k;\n")
        job.wait_checkpoints(3)
        latest = job.checkpoints()["latest"]["completed"]
        report = job.finish()
        same(len(lines_of(there + "/out")), len(KEYS), "rows of the result")
        return report, latest
    return at_some_pace(story, (1, 4))


@test(each=BACKENDS)
def b43_the_hottest_key_is_named_and_checkpoints_stay_as_they_are_without_it(where, backend):
    report, skewed = counted(where, "skewed", backend, INPUT)
    hot = report["hot"]
    same(len(hot), 1, "operators with state by key")
    top = hot[0]["keys"][0]
    same(top["key"], "(k = hot)", "the hottest key")
    check(0.85 < top["share"] < 0.95, "its share: 18028 of 20000 rows have it", hot)
    same(hot[0]["key-groups"][0]["key-group"], top["key-group"], "the hottest key group is its")
    report, even = counted(where, "even", backend, even_input())
    check(not any(k["share"] > 0.03 for k in report["hot"][0]["keys"]), "a key is called hot that is not", report["hot"])
    check(report["hot"][0]["samples"] > 1000, "too few samples", report["hot"])
    for figure in ("state_size", "checkpointed_size"):
        check(skewed[figure] < 3 * even[figure] + 65536, "%s: %d, without skew %d" % (figure, skewed[figure], even[figure]))


@test
def b43_rest_and_metrics_name_it_while_the_job_runs(where):
    job = Job(where, settings(where, "rocksdb", 2, "200 ms") + sequence("seq", 3000000, 300000) +
              files_table("o", "k BIGINT, n BIGINT", where + "/out") +
              "INSERT INTO o SELECT k, COUNT(*) FROM (SELECT IF(MOD(id, 5) = 0, 7, id) AS k FROM seq) GROUP BY k;\n")

    def named():
        job.must_run("a key was named")
        for v in job.get("/jobs/%s" % job.jid)["vertices"]:
            for o in job.get("/jobs/%s/vertices/%s" % (job.jid, v["id"]))["hot"]:
                if o["samples"] > 200:
                    return o
        return None

    hot = wait_until(named, "the hottest key in REST")
    check(hot["keys"][0]["key"].endswith(" = 7)"), "the hottest key", hot)
    check(0.1 < hot["keys"][0]["share"] < 0.3, "its share", hot)
    check("GroupAggregate" in hot["name"], "the operator's name", hot)
    with urllib.request.urlopen(job.url + "/metrics") as answer:
        values = re.findall(r"_hottestKeyPermille\{.*\} (\d+)", answer.read().decode())
    check(any(int(v) > 100 for v in values), "the metric", values)
    job.kill()


@test
def b43_the_report_for_people_has_a_line_for_it(where):
    script = write(where + "/job.sql", sequence("seq", 500000) + table("o", "k BIGINT, n BIGINT", connector="blackhole") +
                   "INSERT INTO o SELECT k, COUNT(*) FROM (SELECT IF(MOD(id, 5) = 0, 7, id) AS k FROM seq) GROUP BY k;\n")
    said = subprocess.run([BIN, "run", "-D", "rest.port=0", script], cwd=where, capture_output=True, text=True, check=True).stderr
    check(re.search(r"hottest key  \(.* = 7\) with [12]\d% of the rows: GroupAggregate", said), "the report", said)
    check("hot group" not in said, "the key group is as hot as its hottest key alone", said)


if __name__ == "__main__":
    main()
