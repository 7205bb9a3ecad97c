#!/usr/bin/env python3
"""kill9.py - kill -9 at random points of the formula job (case 21), each followed by a resume; always the expected table.

A chain starts fresh; its process is killed after a random time and resumed from the newest checkpoint that is there (or started
anew, when the first kill came before the first checkpoint), and so on, until at last it may finish. Parallelism, the time to the
kill, the way of resuming (the path of the checkpoint, the job's directory, the root, --resume; CLAIM or not) come from a seed that is printed. After each kill:
every checkpoint that is offered has all its files with their digests, `varve orphans --delete` leaves exactly what the snapshots
name. At the end of a chain: the SHA-256 of the table, each row of the input visible once, no dot file, nothing but the last
job's empty directory and the snapshots that nobody claimed.

    kill9.py [--points N] [--seed S] [--backend hashmap|rocksdb]      default: $VARVE_KILL_POINTS or 60 points
"""
import argparse
import hashlib
import json
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e/lib"))
from varve import (BACKENDS, CASES, FORMULA, FORMULA_COLUMNS, Failed, Job, audit, audit_dead, check, files_table, hidden, inspect, job_directories,
                   lines_of, newest, read, same, sequence, settings, varve)

ROWS = 100000
KILLS_IN_CHAIN = 10
RUN_S = 2.0  # what a whole run is slowed down to
START_S = 0.05  # before a process has done anything


class Chain:
    def __init__(self, where, number, backend, kills, seed, tally):
        self.where, self.backend, self.kills = where, backend, kills
        self.rng = random.Random("%s/%d" % (seed, number))
        self.tally = tally
        self.nobodys = set()  # dot files of runs that died before their first checkpoint: no snapshot knows them

    def sql(self, parallelism, interval_ms):
        several = {"execution.checkpointing.max-concurrent-checkpoints": self.rng.choice([1, 1, 3])}
        return (settings(self.where, self.backend, parallelism, "%d ms" % interval_ms, retained=self.rng.choice([1, 2, 3]), **several) +
                sequence("seq", ROWS, int(ROWS / RUN_S)) + files_table("o", FORMULA_COLUMNS, self.where + "/out") +
                files_table("r", "id BIGINT", self.where + "/raw") +
                "EXECUTE STATEMENT SET BEGIN\nINSERT INTO o %s;\nINSERT INTO r SELECT id FROM seq;\nEND;\n" % FORMULA)

    def start(self):
        """A run that resumes, if there is anything to resume from."""
        chosen = newest(self.where)
        way = self.rng.choice(["checkpoint", "job", "root", "resume"])
        claim = self.rng.random() < 0.3
        args = []
        if way == "resume":
            args = ["--resume"]
        elif chosen:
            args = ["-s", {"checkpoint": chosen, "job": os.path.dirname(chosen), "root": self.where + "/ck"}[way]]
        if claim and chosen:
            args += ["--claim-mode", "CLAIM"]
        self.note("%s %s%s" % (way, "CLAIM " if claim else "", os.path.relpath(chosen, self.where) if chosen else "-"))
        parallelism = self.rng.choice([1, 2, 3])
        return Job(self.where, self.sql(parallelism, self.rng.choice([50, 70, 100])), args)

    def note(self, text):
        with open(self.where + "/chain.log", "a", encoding="utf-8") as f:
            f.write(text + "\n")

    def run(self):
        for kill in range(self.kills):
            before, jobs_before = set(self.dot_files()), job_directories(self.where)
            job = self.start()
            # Points anywhere: from before the first file to the last commit; a process needs some time to do anything at all.
            wait = START_S + self.rng.random() * (1.2 if kill + 1 < self.kills else RUN_S)
            try:
                job.process.wait(wait)
            except Exception:
                pass
            if not job.alive():
                same(job.process.returncode, 0, "exit code of a run that was not killed; " + job.said())
                self.note("finished before kill %d" % kill)
                self.finished()
                self.clear()
                continue  # the kill that came too late is made up for below
            job.process.kill()
            job.process.wait()
            self.tally.add()
            self.note("killed after %.3f s; said: %s" % (wait, job.err.strip()[-300:]))
            self.after_kill()
            reports = [inspect(d) for d in job_directories(self.where) if d not in jobs_before]
            if any(r.get("ended") for r in reports):  # it had finished, and only the exit code was lost
                same(reports[0]["ended"]["state"], "FINISHED", "the end that was noted")
                self.resume_the_finished()
                self.finished(ended=False)
                self.clear()
            elif not any(r["checkpoints"] for r in reports):
                self.nobodys |= set(self.dot_files()) - before
        self.start().finish()
        self.resume_the_finished()
        self.finished()

    def resume_the_finished(self):
        """Neither an older run's checkpoint nor a start from nothing: all its rows are out."""
        code, out, err = varve("run", "--resume", "-e", self.sql(1, 100))
        check(code == 0 and "has finished" in err, "a finished job was resumed", code, out, err)
        check("submitted" not in out, "a finished job was started again", out)

    def dot_files(self):
        return hidden(self.where + "/out") + hidden(self.where + "/raw")

    def clear(self):
        for name in ("ck", "out", "raw"):
            shutil.rmtree(os.path.join(self.where, name), ignore_errors=True)
        self.nobodys = set()

    def after_kill(self):
        for directory in job_directories(self.where):
            audit_dead(directory)

    def finished(self, ended=True):
        lines = sorted(lines_of(self.where + "/out"), key=lambda l: int(l.split(b",")[0]))
        want = json.loads(read(os.path.join(CASES, "21-large-state-by-formula/answer.json")))["answers"][str(ROWS)]
        same(len(lines), want["keys"], "keys")
        same(hashlib.sha256(b"".join(l + b"\n" for l in lines)).hexdigest(), want["sha256_of_lines_k,count,sum,min,max_by_rising_k"],
             "SHA-256 of the table")
        ids = sorted(map(int, lines_of(self.where + "/raw")))
        check(ids == list(range(1, ROWS + 1)), "rows are missing or twice: %d rows, %d distinct" % (len(ids), len(set(ids))))
        left = set(self.dot_files()) - self.nobodys
        check(not left, "dot files left that a snapshot knew or could know", sorted(left))
        for directory in job_directories(self.where):
            audit(directory, finished=True)
        scratch = [n for n in os.listdir(self.where + "/ck") if n.startswith(".varve-local")]
        same(scratch if self.backend == "rocksdb" and ended else [], [], "scratch directories of dead runs")


class Tally:
    def __init__(self):
        self.count, self.lock = 0, threading.Lock()

    def add(self):
        with self.lock:
            self.count += 1


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--points", type=int, default=int(os.environ.get("VARVE_KILL_POINTS", "60")))
    p.add_argument("--seed", default=str(int(time.time())))
    p.add_argument("--backend", choices=BACKENDS)
    a = p.parse_args()
    root = tempfile.mkdtemp(prefix="varve-kill9.")
    tally, number, failed, start = Tally(), 0, 0, time.monotonic()
    print("kill9: %d points, seed %s, in %s" % (a.points, a.seed, root), flush=True)

    def one(number, kills):
        backend = a.backend or BACKENDS[number % 2]
        where = os.path.join(root, "%d-%s" % (number, backend))
        os.makedirs(where)
        chain = Chain(where, number, backend, kills, a.seed, tally)
        try:
            chain.run()
        except Failed as e:
            print("chain %d (%s) FAILED: %s\n  log:\n%s" % (number, backend, e, read(where + "/chain.log")), flush=True)
            return False
        shutil.rmtree(where, ignore_errors=True)
        return True

    with ThreadPoolExecutor(3) as pool:
        while tally.count < a.points and not failed:
            left = a.points - tally.count
            chains = [(number + i, min(KILLS_IN_CHAIN, left - i * KILLS_IN_CHAIN)) for i in range(min(6, -(-left // KILLS_IN_CHAIN)))]
            number += len(chains)
            failed = list(pool.map(lambda c: one(*c), chains)).count(False)
    print("kill9: %d points, %d chains, %d failed, %.0f s" % (tally.count, number, failed, time.monotonic() - start))
    if not failed:
        shutil.rmtree(root, ignore_errors=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
