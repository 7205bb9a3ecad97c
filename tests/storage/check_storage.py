#!/usr/bin/env python3
"""check_storage.py - a job's life on a real storage server; scripts/check-storage starts it.

    check_storage.py SERVER COMMAND...      SERVER: hdfs or s3; the command starts it

The server says on its standard output "env NAME=value" (for every varve command), "server NAME VERSION" and "uri URI", and ends with its
standard input. What is checked: a job with checkpoints there that is killed and resumed gives the exact table; savepoints; every
verb that looks at snapshots; listings of more than a page; what is deleted is gone; and how fast it is.
"""
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e/lib"))
import varve as lib
from varve import (FORMULA, FORMULA_COLUMNS, Job, check, files_table, formula_table, inspect, lines_of, sequence, settings, table, varve)

ROWS = 400000
TTL_S = 3
QUICK = ["-D", "varve.remote.lock-ttl=%d s" % TTL_S, "-D", "varve.remote.tries=20"]


class Server:
    def __init__(self, command, log_path):
        with open(log_path, "w") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
        self.name = self.uri = None
        while self.name is None or self.uri is None:
            line = self.process.stdout.readline()
            check(line, "%s ended before it was up" % command[0], lib.read(log_path)[-3000:])
            word, _, rest = line.strip().partition(" ")
            if word == "env":
                name, _, value = rest.partition("=")
                os.environ[name] = value
            elif word == "server":
                self.name = rest
            elif word == "uri":
                self.uri = rest

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        check(self.process.stdout.readline().strip() == "done", "%s was not done" % line)

    def end(self):
        self.process.stdin.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()


class Story:
    def __init__(self, kind, server, where):
        self.kind, self.server, self.where, self.uri = kind, server, where, server.uri + "/check"
        self.began = time.monotonic()

    def say(self, text, *args):
        print("%6.1f s  %s" % (time.monotonic() - self.began, text % args), flush=True)

    def sql(self, rate=None, interval="200 ms", retained=3, rows=ROWS, **more):
        more = {"execution.checkpointing.dir": self.uri + "/ck", "state.backend.rocksdb.localdir": self.where + "/local",
                "execution.checkpointing.data-inline-threshold": "1kb", **more}
        return (settings(self.where, "rocksdb", 2, interval, retained=retained, **more) + sequence("seq", rows, rate) +
                files_table("o", FORMULA_COLUMNS, self.where + "/out") + "INSERT INTO o %s;\n" % FORMULA)

    def verb(self, *words):
        begin = time.monotonic()
        code, out, err = varve(*words, timeout=300)
        check(code == 0, "varve %s: exit code %d" % (" ".join(words), code), out, err)
        shown = " ".join(w if len(w) < 100 else "..." for w in words).replace(self.uri, "URI")
        self.say("varve %s: %.2f s", shown, time.monotonic() - begin)
        return out, err

    def run(self):
        self.killed_and_resumed()
        self.many_files()
        self.what_is_deleted()
        self.speed()
        if self.kind == "hdfs":
            self.nodes_that_go()

    def killed_and_resumed(self):
        rng = random.Random(3)
        for kill in range(4):
            if kill > 0:
                time.sleep(TTL_S + 1.5)
            job = Job(self.where, self.sql(rate=40000), QUICK + (["--resume"] if kill > 0 else []))
            job.wait_checkpoints(1)
            time.sleep(rng.random())
            job.kill()
            self.say("killed; %d checkpoints complete", len(self.checkpoints()))
        savepoint = self.resumed_and_stopped()
        for words in (["inspect"], ["verify", "--deep"], ["du"], ["orphans", "--delete", "--min-age", "0s"], ["verify"]):
            self.verb(words[0], self.uri + "/ck", *words[1:])
        self.verb("state", savepoint, "--count")
        self.verb("export", savepoint, "--to", "varve", self.uri + "/moved")
        self.verb("export", savepoint, "--to", "varve", self.where + "/moved")
        self.verb("diff", self.uri + "/moved", self.where + "/moved")
        self.verb("run", "--dry-run", "-s", savepoint, "-e", self.sql())
        Job(self.where, self.sql(), QUICK + ["-s", self.uri + "/moved", "--claim-mode", "CLAIM"]).finish()
        check(sorted(lines_of(self.where + "/out")) == formula_table(ROWS), "the table is wrong")
        self.say("finished from a claimed savepoint: the table is right")

    def checkpoints(self):
        report = inspect(self.uri + "/ck")
        jobs = report.get("jobs") or [report]
        return [c for j in jobs for c in j["checkpoints"] if c["status"] == "complete"]

    def resumed_and_stopped(self):
        time.sleep(TTL_S + 1.5)
        job = Job(self.where, self.sql(rate=40000), QUICK + ["--resume"])
        job.wait_checkpoints(1)
        path = job.stop(self.uri + "/saves")
        self.say("resumed, stopped with a savepoint")
        return path

    def many_files(self):
        job = Job(self.where, self.sql(rate=8000, rows=10**9, interval="50 ms", retained=60, **{"execution.checkpointing.dir": self.uri + "/many"}), QUICK)
        job.wait_checkpoints(35)
        job.terminate()
        report = inspect(self.uri + "/many/" + job.jid, "--files")
        check(len(report["checkpoints"]) >= 35, "checkpoints", len(report["checkpoints"]))
        self.say("%d checkpoints, %d shared files", len(report["checkpoints"]), report["shared"]["files"])
        self.verb("verify", self.uri + "/many")
        self.verb("orphans", self.uri + "/many", "--min-age", "0s")

    def what_is_deleted(self):
        more = {"execution.checkpointing.dir": self.uri + "/gone",
                "execution.checkpointing.externalized-checkpoint-retention": "DELETE_ON_CANCELLATION"}
        job = Job(self.where, self.sql(rate=40000, **more), QUICK)
        job.wait_checkpoints(3)
        job.cancel()
        report = inspect(self.uri + "/gone/" + job.jid)
        check(not report["checkpoints"] and report["shared"]["files"] == 0, "a cancelled job left something", report)
        self.say("a cancelled job left nothing")

    def speed(self):
        rows = 1500000
        sql = (settings(self.where, "rocksdb", 2, None, **{"execution.checkpointing.dir": self.uri + "/big",
                                                            "state.backend.rocksdb.localdir": self.where + "/local"}) +
               sequence("seq", 1000000000) + table("o", "k BIGINT, n BIGINT, s STRING", connector="blackhole") +
               "INSERT INTO o SELECT MOD(id * 48271, 2000003), COUNT(*), MAX(SHA256(CAST(id AS STRING))) FROM seq GROUP BY MOD(id * 48271, 2000003);\n")
        job = Job(self.where, sql, QUICK)
        job.wait_rows(rows)
        begin = time.monotonic()
        job.checkpoint()
        seconds = time.monotonic() - begin
        done = job.checkpoints()["latest"]["completed"]
        self.say("a checkpoint of %.0f MB in %.1f s beside a job at full speed", done["checkpointed_size"] / 1e6, seconds)
        job.terminate()
        path, megabytes = done["external_path"], done["state_size"] / 1e6
        for words, what in ((["verify", path], "read"), (["export", path, "--to", "varve", self.where + "/big"], "read twice, written here"),
                            (["export", self.where + "/big", "--to", "varve", self.uri + "/copy"], "written there and read back")):
            begin = time.monotonic()
            self.verb(*words)
            self.say("%.0f MB %s: %.0f MB/s", megabytes, what, megabytes / (time.monotonic() - begin))
        shutil.rmtree(self.where + "/big")

    def nodes_that_go(self):
        """The name node restarts and a data node ends, under a job that tolerates no failed checkpoint."""
        ck = {"execution.checkpointing.dir": self.uri + "/restarts"}
        shutil.rmtree(self.where + "/out")
        job = Job(self.where, self.sql(rate=3000, **ck), QUICK + ["-D", "varve.remote.stall-timeout=5 s"])
        job.wait_checkpoints(2)
        for order, what in (("restart", "the name node was restarted"), ("kill", "a data node was stopped")):
            self.server.tell(order)
            job.wait_checkpoints(job.checkpoints()["counts"]["completed"] + 2)
            self.say("%s: checkpoints go on", what)
        check(job.checkpoints()["counts"]["failed"] == 0, "failed checkpoints", job.said())
        Job(self.where, self.sql(**ck), QUICK + ["-s", job.stop(self.uri + "/saves")]).finish()
        check(sorted(lines_of(self.where + "/out")) == formula_table(ROWS), "the table is wrong")
        self.verb("verify", self.uri + "/restarts")
        self.say("no checkpoint failed, the table is right")


def main(kind, command):
    where = tempfile.mkdtemp(prefix="varve-storage.")
    server = Server(command, where + "/server.log")
    try:
        print("== %s at %s" % (server.name, server.uri), flush=True)
        Story(kind, server, where).run()
    except lib.Failed as e:
        print("FAILED: %s\n(files: %s)" % (e, where))
        return 1
    finally:
        for process in lib._started:
            if process.poll() is None:
                process.kill()
        server.end()
    shutil.rmtree(where)
    print("== %s: all as it should be" % server.name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
