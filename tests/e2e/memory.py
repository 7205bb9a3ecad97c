#!/usr/bin/env python3
"""memory.py - the one number of memory is kept (B38): resident memory of a process that takes checkpoints and restores again and
again, sampled every 100 ms, with 1, 4 and 16 states.

Short form by default. VARVE_SOAK=1: 3,000,000 rows, 100 checkpoints and 20 restores with each number of states."""
import json
import os
import re
import subprocess
import sys
import threading
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from varve import (BIN, FORMULA, FORMULA_COLUMNS, PATIENCE_S, Failed, check, clean_environment, files_table, lines_of, main, path_of,
                   read, same, sequence, settings, test, varve, wait_until, write)

SOAK = os.environ.get("VARVE_SOAK") == "1"
ROWS, RESTORES, CHECKPOINTS_A_RUN, SECONDS = (3000000, 20, 5, 120) if SOAK else (200000, 3, 2, 10)
KEYS = 200003  # of case 21
LIMIT_MB, BASE_MB, SLACK = 64, 150, 1.15


class Server:
    """varve serve: one process, whose jobs come and go."""

    def __init__(self, where, *options):
        self.where, self.samples, self.stopped = where, [], False
        self.err_path = os.path.join(where, "serve.err")
        command = [BIN, "serve", "-D", "rest.port=0"]
        for o in options:
            command += ["-D", o]
        with open(self.err_path, "wb") as err:
            self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=err, stdin=subprocess.DEVNULL, cwd=where,
                                            env=clean_environment())
        self.url = wait_until(lambda: re.search(r"(http://\S+)", read(self.err_path)), "the server's address").group(1)
        self.sampler = threading.Thread(target=self.sample, daemon=True)
        self.sampler.start()

    def sample(self):
        while not self.stopped:
            text = read("/proc/%d/status" % self.process.pid)
            rss = re.search(r"VmRSS:\s+(\d+)", text)
            if rss:
                self.samples.append((time.monotonic(), int(rss.group(1)) // 1024))
            time.sleep(0.1)

    def high_mb(self):
        return int(re.search(r"VmHWM:\s+(\d+)", read("/proc/%d/status" % self.process.pid)).group(1)) // 1024

    def sql(self, text):
        path = write(os.path.join(self.where, "statements.sql"), text)
        code, out, err = varve("sql", "-m", self.url.split("//")[1].rstrip("/"), "-f", path)
        check(code == 0, "varve sql: exit code %d" % code, out, err)
        return out

    def submit(self, text):
        return re.search(r"Job ID: ([0-9a-f]{32})", self.sql(text)).group(1)

    def http(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url.rstrip("/") + path, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return json.loads(answer.read() or b"null")

    def state(self, jid):
        return self.http("GET", "/jobs/" + jid)["state"]

    def wait_checkpoints(self, jid, count):
        def reached():
            check(self.state(jid) in ("CREATED", "INITIALIZING", "RUNNING"), "job is " + self.state(jid), read(self.err_path))
            return self.http("GET", "/jobs/%s/checkpoints" % jid)["counts"]["completed"] >= count

        wait_until(reached, "%d checkpoints" % count, timeout=PATIENCE_S * 5)

    def stop(self, jid, directory):
        """Stops with a savepoint; its path."""
        trigger = self.http("POST", "/jobs/%s/stop" % jid, {"targetDirectory": directory, "drain": False})["request-id"]

        def completed():
            a = self.http("GET", "/jobs/%s/savepoints/%s" % (jid, trigger))
            return a if a["status"]["id"] == "COMPLETED" else None

        done = wait_until(completed, "the savepoint", timeout=PATIENCE_S * 5)["operation"]
        if "Not all required tasks" in str(done.get("failure-cause")):  # one is not that far yet: asked again, as a user would
            time.sleep(0.2)
            return self.stop(jid, directory)
        check("failure-cause" not in done, "no savepoint", done)
        wait_until(lambda: self.state(jid) == "FINISHED", "the stopped job's end", timeout=PATIENCE_S * 5)
        return path_of(done["location"])

    def end(self):
        self.stopped = True
        self.sampler.join()
        self.process.terminate()
        same(self.process.wait(PATIENCE_S), 0, "exit code of the server")


def query(states):
    """Case 21, with more calls: each MAX over text has a state of its own."""
    calls = "".join(", MAX(CONCAT('%d-', CAST(id AS STRING)))" % i for i in range(1, states))
    return FORMULA.replace("MAX(v)", "MAX(v)" + calls)


def job(where, states, start_from=None):
    columns = FORMULA_COLUMNS + "".join(", t%d STRING" % i for i in range(1, states))
    more = {"execution.state-recovery.path": start_from} if start_from else {}
    return (settings(where, "rocksdb", 2, "250 ms", **more) + sequence("seq", ROWS, int(ROWS / SECONDS)) +
            files_table("o", columns, where + "/out") + "INSERT INTO o %s;\n" % query(states))


@test(each=(1, 4, 16))
def b38_memory_stays_within_the_one_number_over_checkpoints_and_restores(where, states):
    server = Server(where, "taskmanager.memory.managed.size=%dmb" % LIMIT_MB)
    path, said = None, []
    for i in range(RESTORES + 1):
        jid = server.submit(job(where, states, path))
        if i < RESTORES:
            server.wait_checkpoints(jid, CHECKPOINTS_A_RUN)
            path = server.stop(jid, where + "/sp")
        else:
            wait_until(lambda: server.state(jid) == "FINISHED", "the end of the job", timeout=PATIENCE_S * 10)
        said.append("run %d: RSS %d MB, HWM %d MB" % (i, server.samples[-1][1], server.high_mb()))
    most = int(LIMIT_MB * SLACK + BASE_MB)
    high = server.high_mb()
    server.end()
    got = sorted(lines_of(where + "/out"))
    same(len(got), min(ROWS, KEYS), "rows of the result")
    check(high <= most, "%d MB of resident memory, %d MB allowed for a limit of %d MB" % (high, most, LIMIT_MB), "\n".join(said))


if __name__ == "__main__":
    main()
