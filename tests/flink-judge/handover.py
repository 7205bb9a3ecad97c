#!/usr/bin/env python3
"""handover.py - what scripts/handover runs: a sequence of numbers is counted and summed by key, in stretches, each stretch by the other engine, and the
state goes with it. After every stretch the totals of every key are read from the snapshot and compared with what the numbers so far make; at the end
varve writes its table, and that is counted from disk.

    handover.py [--short] [--rows N] [--keys N] COMMAND...        COMMAND runs Handover.java; VARVE_BIN is the program
"""
import argparse
import os
import re
import shutil
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../e2e/lib"))
sys.path.insert(0, HERE)
from check_flink import Flink, export, rows
from varve import Failed, Job, check, files_below, files_table, lines_of, same, settings, table, varve

UID = "totals"
# Of Flink's legs: backend, parallelism, form of what it leaves. Of varve's: backend, parallelism. In turn; varve's the first and the last.
FLINK = [("hashmap", 2, "canonical"), ("rocksdb", 3, "files"), ("rocksdb", 1, "native")]
VARVE = [("rocksdb", 2), ("hashmap", 1), ("rocksdb", 3), ("rocksdb", 2)]
FORMS = {"canonical": "canonical savepoint", "files": "retained incremental", "native": "native savepoint"}
TABLE = "%-4s %-6s %-8s %1s  %-20s %-21s %11s %8s %11s %8s"


class Truth:
    """What the numbers 1 .. n make for each key: [how many, their sum, the sum of their squares]."""

    def __init__(self, keys):
        self.keys, self.last, self.totals = keys, 0, {}

    def add(self, last):
        for i in range(self.last + 1, last + 1):
            t = self.totals.setdefault(i % self.keys, [0, 0, 0])
            t[0] += 1
            t[1] += i
            t[2] += i * i
        self.last = last

    def compare(self, got, what):
        """got: {key: [n, sum, squares]}. Squares too: a number that is missing does not hide behind another one that is there twice."""
        wrong = sorted(k for k in got.keys() | self.totals.keys() if got.get(k) != self.totals.get(k))
        lines = ["key %s: %s instead of %s" % (k, got.get(k), self.totals.get(k)) for k in wrong[:5]]
        missing = sum(max(0, self.totals[k][0] - got.get(k, [0])[0]) for k in self.totals)
        more = sum(max(0, got[k][0] - self.totals.get(k, [0])[0]) for k in got)
        check(not wrong, "%s: %d keys of %d are wrong; %d numbers are missing, %d were counted too often" %
              (what, len(wrong), len(self.totals), missing, more), *lines)


class Handover:
    def __init__(self, flink, where, rows_of_leg, keys):
        self.flink, self.where, self.rows, self.truth = flink, where, rows_of_leg, Truth(keys)
        self.legs = 0
        self.snapshot = None  # what the next leg begins from

    def path(self, *names):
        return os.path.join(self.where, *names)

    def stretch(self):
        """The next numbers in a file of their own, in a directory of its own."""
        self.legs += 1
        file = self.path("in-%d" % self.legs, "numbers.csv")
        os.makedirs(os.path.dirname(file))
        with open(file, "w") as f:
            f.writelines("%d\n" % i for i in range(self.truth.last + 1, self.truth.last + self.rows + 1))
        self.truth.add(self.truth.last + self.rows)
        return file

    def sql(self, backend, parallelism, file, last):
        """The same query in every leg. The last one's input ends, so that it writes its table."""
        where = self.path("varve-%d" % self.legs)
        more = {} if last else {"source.monitor-interval": "50 ms"}
        text = settings(where, backend, parallelism, "1 h", "batch" if last else "streaming")
        text += files_table("numbers", "id BIGINT", os.path.dirname(file), **more)
        columns = "k BIGINT, n BIGINT, total BIGINT, squares BIGINT"
        text += files_table("totals", columns, self.path("out")) if last else table("totals", columns, connector="blackhole")
        key = "MOD(id, %d)" % self.truth.keys
        return text + ("INSERT INTO totals SELECT /*+ OPTIONS('varve.uid'='%s') */ %s, COUNT(*), SUM(id), SUM(id * id) FROM numbers GROUP BY %s;\n" %
                       (UID, key, key))

    def say(self, engine, backend, parallelism, leaves, keys, size, seconds):
        ids = "%d..%d" % (self.truth.last - self.rows + 1, self.truth.last)
        print(TABLE % (self.legs, engine, backend, parallelism, ids, leaves, self.rows, keys, size, "%.1f" % seconds), flush=True)

    def totals_in(self, path):
        """Of each key, as `varve state` reads them from a snapshot in Flink's form."""
        code, out, err = varve("verify", "-q", path, timeout=600)
        check(code == 0, "verify of %s: exit code %d" % (path, code), out, err)
        found = {}
        for r in rows(path, "--operator", UID, "--name", "accState"):
            f = [r["value.f%d" % i] for i in range(7)]
            check(r["key.f0"] not in found, "key %d is there twice" % r["key.f0"])
            check(f[0] == f[3] == f[6], "key %d counts %s, %s and %s" % (r["key.f0"], f[0], f[3], f[6]))
            found[r["key.f0"]] = [f[0]] + [(f[at + 1] << 64) + f[at] % (1 << 64) for at in (1, 4)]
        return found

    def varve(self, backend, parallelism):
        """Goes on from Flink's snapshot as it lies, stops with a savepoint, which is exported for Flink."""
        file, start = self.stretch(), time.monotonic()
        sql = self.sql(backend, parallelism, file, last=False)
        job = Job(self.path("varve-%d" % self.legs), sql, ["-s", self.snapshot] if self.snapshot else [])
        job.wait_rows(self.rows)
        taken = job.stop(self.path("savepoint-%d" % self.legs))
        self.snapshot = export(taken, self.path("export-%d" % self.legs))
        seconds = time.monotonic() - start
        got = self.totals_in(self.snapshot)
        self.say("varve", backend, parallelism, "savepoint, exported", len(got), size_of(self.snapshot), seconds)
        self.truth.compare(got, "leg %d, varve" % self.legs)

    def in_flink(self, backend, parallelism, form):
        """Flink restores the export, goes on, and leaves a snapshot in one of its forms."""
        file, start = self.stretch(), time.monotonic()
        self.snapshot = self.flink.ask("leg", file, self.truth.keys, backend, parallelism, form, self.path("flink"), self.snapshot, UID)[-1].split(" ")[1]
        seconds = time.monotonic() - start
        got = self.totals_in(self.snapshot)
        self.say("Flink", backend, parallelism, FORMS[form], len(got), size_of(self.snapshot), seconds)
        self.truth.compare(got, "leg %d, Flink" % self.legs)

    def table(self, backend, parallelism):
        """The last stretch, to its end: each key's line once, counted from disk."""
        file, start = self.stretch(), time.monotonic()
        job = Job(self.path("varve-%d" % self.legs), self.sql(backend, parallelism, file, last=True), ["-s", self.snapshot])
        job.finish()
        seconds = time.monotonic() - start
        got = {}
        for line in lines_of(self.path("out")):
            k, *totals = map(int, line.split(b","))
            check(k not in got, "key %d is twice in the table" % k)
            got[k] = totals
        self.say("varve", backend, parallelism, "its table", len(got), size_of(self.path("out")), seconds)
        self.truth.compare(got, "leg %d, varve's table" % self.legs)

    def all(self):
        print(TABLE % ("leg", "engine", "backend", "p", "numbers", "leaves", "rows", "keys", "bytes", "seconds"))
        for varves, flinks in zip(VARVE, FLINK):
            self.varve(*varves)
            self.in_flink(*flinks)
        self.table(*VARVE[-1])
        n = sum(t[0] for t in self.truth.totals.values())
        same(n, self.truth.last, "rows in all")
        print("\nno gap, no duplicate: %d numbers in %d keys, handed over %d times" % (n, len(self.truth.totals), self.legs - 1))


def size_of(path):
    """Of a snapshot with the files that it shares."""
    job = os.path.dirname(path)
    return sum(os.path.getsize(f) for f in files_below(job if re.match("chk-", os.path.basename(path)) else path))


def number(text):
    n = int(text)
    if n < 1 or n > 100000000:
        raise argparse.ArgumentTypeError("%s is not 1 to 100000000" % text)
    return n


def main():
    p = argparse.ArgumentParser(prog="handover", usage="scripts/handover [--short] [--rows N] [--keys N]; --help says more", allow_abbrev=False)
    p.add_argument("--short", action="store_true")
    p.add_argument("--rows", type=number)
    p.add_argument("--keys", type=number)
    p.add_argument("command", nargs=argparse.REMAINDER)
    a = p.parse_args()
    where = tempfile.mkdtemp(prefix="varve-handover.")
    flink = None
    try:
        flink = Flink(a.command)
        Handover(flink, where, a.rows or (20000 if a.short else 1000000), a.keys or (2003 if a.short else 100003)).all()
        flink.close()
    except Failed as e:
        print("\nFAILED: %s" % e)
        sys.exit(1)
    finally:
        if flink is not None and flink.process.poll() is None:
            flink.process.kill()
        if "KEEP" in os.environ:
            print("files: %s" % where)
        else:
            shutil.rmtree(where, ignore_errors=True)


main()
