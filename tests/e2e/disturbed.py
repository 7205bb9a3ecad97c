#!/usr/bin/env python3
"""disturbed.py - cases whose run is disturbed: a checkpoint after about a third, a savepoint after about two thirds, kill -9
after each; restored by path at another parallelism (1 -> 2 -> 3 -> 1), from a copy at another place while the original is gone.

The job writes the table and, beside it, every row it read: the table must be the expected one and each row visible once, with
no dot file left. In streaming mode the changelogs of all runs, one after the other, must leave the expected table.
"""
import hashlib
import json
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from varve import (BACKENDS, CASES, FORMULA, FORMULA_COLUMNS, Job, at_some_pace, audit, check, files_table, hidden, inspect, job_directories,
                   judge, lines_of, main, read, same, sequence, settings, table, test, tree_digest, wait_audit,
                   write)

KV = "k STRING, v BIGINT"
TOTALS = "k STRING, n BIGINT, c BIGINT, s BIGINT, lo BIGINT, hi BIGINT"
QUERY = "SELECT k, COUNT(*), COUNT(v), SUM(v), MIN(v), MAX(v) FROM t GROUP BY k"


class Case:
    def __init__(self, name, rows, columns=KV, totals=TOTALS, query=QUERY, keys=1, **options):
        self.name, self.rows = name, rows
        self.columns, self.totals, self.query, self.keys, self.options = columns, totals, query, keys, options

    def source(self, parallelism, seconds):
        """All rows take `seconds`. One subtask reads the one file, so the rate is its share."""
        rate = max(1, int(self.rows / seconds)) * parallelism
        return files_table("t", self.columns, os.path.join(CASES, self.name, "input.csv"),
                           **{"varve.rows-per-second": rate}, **self.options)

    def raw(self):
        return "SELECT * FROM t", self.columns

    def judge(self, *outputs):
        judge(os.path.join(CASES, self.name, "expected.jsonl"), *outputs)


class Formula(Case):
    def source(self, parallelism, seconds):
        return sequence("seq", self.rows, int(self.rows / seconds))

    def raw(self):
        return "SELECT id FROM seq", "id BIGINT"

    def judge(self, *outputs):
        if outputs[0] != "--last":
            rows = [list(json.loads(l).values()) for l in lines_of(outputs[0])]
        else:
            rows = list({json.loads(l)[0]: json.loads(l) for p in outputs[1:] for l in read(p).splitlines()}.values())
        rows.sort()
        a = json.loads(read(os.path.join(CASES, self.name, "answer.json")))["answers"][str(self.rows)]
        same(len(rows), a["keys"], "keys")
        text = "".join("%d,%d,%d,%d,%d\n" % tuple(r) for r in rows)
        same(hashlib.sha256(text.encode()).hexdigest(), a["sha256_of_lines_k,count,sum,min,max_by_rising_k"], "SHA-256 of the table")


NULLS = {"csv.null-literal": "NULL"}
ALL = {c.name[:2]: c for c in [
    Case("03-empty-and-null-keys", 18, **NULLS),
    Case("04-unicode-keys", 430),
    Case("05-huge-keys", 60, totals="length INT, sha STRING, n BIGINT, c BIGINT, s BIGINT, lo BIGINT, hi BIGINT", keys=2,
         query="SELECT CHAR_LENGTH(k), SUBSTRING(SHA256(k), 1, 16), n, c, s, lo, hi FROM (SELECT k, COUNT(*) AS n, COUNT(v) AS c, "
               "SUM(v) AS s, MIN(v) AS lo, MAX(v) AS hi FROM t GROUP BY k)"),
    Case("06-big-values", 9, columns="k STRING, s STRING",
         totals="k STRING, n BIGINT, total BIGINT, m INT, msha STRING, z INT, zsha STRING",
         query="SELECT k, n, total, CHAR_LENGTH(m), SUBSTRING(SHA256(m), 1, 16), CHAR_LENGTH(z), SUBSTRING(SHA256(z), 1, 16) FROM "
               "(SELECT k, COUNT(*) AS n, SUM(CHAR_LENGTH(s)) AS total, MAX(s) AS m, LAST_VALUE(s) AS z FROM t GROUP BY k)"),
    Case("09-skew", 20000),
    Case("11-null-fields", 126, **NULLS),
    Formula("21-large-state-by-formula", 100000, columns="id BIGINT", totals=FORMULA_COLUMNS, query=FORMULA),
]}


class Run:
    """One case through its disturbances, in one directory."""

    def __init__(self, where, case, backend, mode):
        self.where, self.case, self.backend, self.mode = where, case, backend, mode
        self.jobs, self.rows = [], 0

    def sql(self, parallelism, seconds):
        c = self.case
        raw, raw_columns = c.raw()
        sink = (files_table("o", c.totals, self.where + "/out", "json") if self.mode == "batch" else
                table("o", c.totals, connector="print"))
        return (settings(self.where, self.backend, parallelism, interval="1 h", mode=self.mode) + c.source(parallelism, seconds) + sink +
                files_table("r", raw_columns, self.where + "/raw", "json") +
                "EXECUTE STATEMENT SET BEGIN\nINSERT INTO o %s;\nINSERT INTO r %s;\nEND;\n" % (c.query, raw))

    def start(self, parallelism, seconds, path=None):
        job = Job(self.where, self.sql(parallelism, seconds), ["-s", path] if path else [])
        self.jobs.append(job)
        return job

    def wait_rows(self, job, fraction):
        """Until about this fraction of the input is read, by this run and those before it. Both inserts share one source."""
        job.wait_rows(max(1, int(self.case.rows * fraction) - self.rows))

    def lose(self, job, kept):
        """Some rows more, which are lost, then kill -9. kept: rows of this run that the snapshot holds, at most."""
        job.wait_rows(kept + 1)
        job.kill()
        self.rows += kept


def elsewhere(where, path, what):
    """The directory that holds the snapshot, copied to another place, the original removed. The snapshot's new path."""
    root = os.path.dirname(path) if what == "checkpoint" else path
    there = os.path.join(where, "elsewhere", os.path.basename(root))
    shutil.copytree(root, there, symlinks=True)
    shutil.rmtree(root)
    return os.path.join(there, os.path.basename(path)) if what == "checkpoint" else there


def printed(job):
    """The changes of one run that print has written; the last line may be cut by the kill."""
    rows = []
    for line in job.out.split("\n")[:-1]:
        found = re.match(r"(?:[0-9]+> )?\+[IU]\[(.*)\]$", line)
        if found:
            rows.append(found[1])
    return rows


def undisturbed_rows(where, case, mode):
    raw, columns = case.raw()
    Job(where, "SET 'execution.runtime-mode' = '%s';\n" % mode + case.source(1, 1e-6) +
        files_table("r", columns, where + "/plain", "json") + "INSERT INTO r %s;\n" % raw).finish()
    lines = sorted(lines_of(where + "/plain"))
    same(len(lines), case.rows, "rows of the input")
    return lines


@test(each=[(n, b, m) for n in ALL for b in BACKENDS for m in ("batch", "streaming")])
def a_disturbed_run_gives_the_same_table(where, number, backend, mode):
    all_rows = undisturbed_rows(where, ALL[number], mode)
    at_some_pace(lambda pace: disturb("%s/%d" % (where, pace), ALL[number], backend, mode, pace, all_rows))


def disturb(where, case, backend, mode, pace, all_rows):
    run = Run(where, case, backend, mode)

    job = run.start(1, 4 * pace)
    run.wait_rows(job, 1 / 3)
    checkpoint = job.checkpoint()
    run.lose(job, job.source_rows())
    audit(os.path.dirname(checkpoint), finished=True)

    checkpoint = elsewhere(where, checkpoint, "checkpoint")
    before = tree_digest(os.path.dirname(checkpoint))
    job = run.start(2, 4 * pace, checkpoint)
    run.wait_rows(job, 2 / 3)
    savepoint = job.savepoint(where + "/sp")
    run.lose(job, job.source_rows())
    beside_savepoint = hidden(where + "/raw") + hidden(where + "/out")
    same(tree_digest(os.path.dirname(checkpoint)), before, "the restored checkpoint's directory")

    savepoint = elsewhere(where, savepoint, "savepoint")
    before = tree_digest(savepoint)
    job = run.start(3, 8 * pace, savepoint)
    run.wait_rows(job, 0.75)
    checkpoint = job.checkpoint()
    wait_audit(job, os.path.dirname(checkpoint))
    job.kill()
    same(tree_digest(savepoint), before, "the restored savepoint")

    job = run.start(1, 1e-6, os.path.dirname(checkpoint))
    job.finish()
    if mode == "batch":
        case.judge(where + "/out")
    else:
        judge_changes(where, run)
    same(len(lines_of(where + "/raw")), len(all_rows), "rows copied")
    same(sorted(lines_of(where + "/raw")) == all_rows, True, "each row once")
    # A savepoint does not say that its run is dead, so what that run began stays; a checkpoint's job directory does.
    left = set(hidden(where + "/raw") + hidden(where + "/out"))
    check(left <= set(beside_savepoint), "dot files left", left)
    for directory in job_directories(where):
        if directory.endswith(job.jid):
            audit(directory, finished=True)
            same(inspect(directory)["checkpoints"], [], "checkpoints of the finished job")


def judge_changes(where, run):
    """Changes as JSON: cells after the key(s) are numbers, text where the table has text, or null."""
    kinds = [c.split()[1] for c in run.case.totals.split(", ")]
    paths = []
    for i, job in enumerate(run.jobs):
        rows = []
        for cells in printed(job):
            cells = cells.rsplit(", ", len(kinds) - 1)
            rows.append(json.dumps([None if c == "null" else c if k == "STRING" else json.loads(c) for c, k in zip(cells, kinds)],
                                   ensure_ascii=False) + "\n")
        paths.append(write("%s/changes-%d.jsonl" % (where, i), "".join(rows)))
    if isinstance(run.case, Formula):
        run.case.judge("--last", *paths)
    elif run.case.name.startswith("03"):  # null and 'null' look alike in print: the table of texts
        last = {json.loads(l)[0]: json.loads(l) for p in paths for l in read(p).split("\n")[:-1]}
        want = [json.loads(l) for l in read(os.path.join(CASES, run.case.name, "expected.jsonl")).splitlines()[1:]]
        want = [w for w in want if w[0] not in (None, "null")]
        same(sorted(r for k, r in last.items() if k is not None), sorted(want), "rows whose key is told apart")
    else:
        run.case.judge(*paths, "--last-per-key", str(run.case.keys))


if __name__ == "__main__":
    main(at_once=4)
