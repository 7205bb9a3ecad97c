#!/usr/bin/env python3
"""webhdfs.py - checkpoints and savepoints on hdfs://, against a simulated WebHDFS server (lib/sim_webhdfs.py): a job's whole life,
kill -9 at random times, each kind of trouble that a network and a server can make, and what is said when nothing can be done.

Whenever a _metadata gets its name, all files that it names are there with their lengths (C2, C3); at the end nothing is left that
no snapshot names (C4). The same on a real cluster: scripts/check-storage hdfs."""
import os
import random
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from sim_webhdfs import SimWebHdfs
from varve import (FORMULA, FORMULA_COLUMNS, Job, check, files_table, formula_table, inspect, lines_of, main, same, sequence, settings, test,
                   varve)

ROWS = 60000
TTL_S = 1  # of locks: what was killed is deserted after so long
QUICK = ["-D", "varve.remote.lock-ttl=%d s" % TTL_S, "-D", "varve.remote.backoff=5 ms"]


def job_sql(where, hdfs, backend="rocksdb", rate=None, retained=2, **more):
    more = {"execution.checkpointing.dir": hdfs.uri + "/ck" if hdfs else "", "state.backend.rocksdb.localdir": where + "/local",
            "execution.checkpointing.data-inline-threshold": "1kb", **more}
    return (settings(where, backend, 2, "50 ms", retained=retained, **more) + sequence("seq", ROWS, rate) +
            files_table("o", FORMULA_COLUMNS, where + "/out") + "INSERT INTO o %s;\n" % FORMULA)


def inner(path):
    """The path on the server of what a report names, without dots."""
    return os.path.normpath("/" + re.sub("^hdfs://[^/]*/", "", path))


def named_by(snapshot):
    """Each file's length."""
    found = {}
    for op in snapshot["operators"]:
        for subtask in op["subtasks"]:
            for k in subtask["keyed"]:
                found.update({inner(snapshot["path"] + "/" + f["path"]): f["size"] for f in k["files"] if f["path"]})
    return found


class Witness:
    """What was there when each _metadata got its name."""

    def __init__(self, hdfs):
        self.hdfs, self.there = hdfs, {}
        hdfs.hooks.append(self.see)

    def see(self, op, path, to):
        if op == "RENAME" and to.endswith("/_metadata"):
            self.there[to] = {p: len(n.data) for p, n in self.hdfs.tree.nodes.items() if not n.is_dir}

    def judge(self):
        """Of those that are still there; how many that are."""
        seen = 0
        for path in [p for p in self.hdfs.files() if p.endswith("/_metadata")]:
            snapshot = inspect(self.hdfs.uri + os.path.dirname(path), "--files")["snapshot"]
            missing = named_by(snapshot).items() - self.there[path].items()
            check(not missing, "%s: named, but not there with that length when it was published" % path, missing)
            seen += 1
        return seen


def verified(path):
    code, out, err = varve("verify", path)
    check(code == 0, "verify %s" % path, out, err)


def nothing_unnamed(hdfs):
    """Below each job's directory: what its snapshots name, notes, nothing else."""
    for directory in {"/".join(p.split("/")[:3]) for p in hdfs.files("/ck/")}:
        if not hdfs.dirs(directory + "/taskowned"):
            continue  # killed before it was a job's directory
        report = inspect(hdfs.uri + directory, "--files")
        complete = [c for c in report["checkpoints"] if c["status"] == "complete"]
        named = set().union(*[named_by(c) for c in complete], {inner(c["path"]) + "/_metadata" for c in complete})
        left = [f for f in hdfs.files(directory + "/") if f not in named and
                not re.fullmatch("LOCK|ORIGIN|ENDED|SAVEPOINT-[0-9]+", os.path.basename(f))]
        check(not left, "%s: files that no snapshot names" % directory, left)


def right_table(where, what):
    check(sorted(lines_of(where + "/out")) == formula_table(ROWS), "%s: the table is wrong" % what)


@test
def a_jobs_life_on_hdfs(where):
    with SimWebHdfs() as hdfs:
        witness = Witness(hdfs)
        job = Job(where, job_sql(where, hdfs, rate=30000), QUICK + ["-D", "varve.hdfs.user=anna"])
        job.wait_checkpoints(3)
        savepoint = job.savepoint(hdfs.uri + "/saves")
        job.kill()
        same(hdfs.users, {"anna"}, "users that asked")
        check(witness.judge() >= 3, "too few snapshots")
        code, out, err = varve("orphans", hdfs.uri + "/ck", "--delete", "--min-age", "0s")
        check(code == 0, "orphans", out, err)
        nothing_unnamed(hdfs)
        job = Job(where, job_sql(where, hdfs, rate=60000), QUICK + ["--resume"])
        job.wait_checkpoints(1)
        stopped = job.stop(hdfs.uri + "/saves")
        for path in (hdfs.uri + "/ck", savepoint, stopped):
            verified(path)
        for words in (["verify", "--deep", stopped], ["du", hdfs.uri + "/ck"], ["state", stopped, "--count"], ["diff", savepoint, stopped],
                      ["export", stopped, "--to", "varve", hdfs.uri + "/moved"], ["export", stopped, "--to", "varve", where + "/moved"],
                      ["run", "--dry-run", "-s", stopped, job.script]):
            code, out, err = varve(*words)
            check(code == 0, " ".join(words), out, err)
        verified(hdfs.uri + "/moved")
        Job(where, job_sql(where, hdfs), QUICK + ["-s", hdfs.uri + "/moved", "--claim-mode", "CLAIM"]).finish()
        right_table(where, "after all")
        witness.judge()
        nothing_unnamed(hdfs)
        check(not hdfs.files("/moved/"), "what was claimed is still there")
        same(os.listdir(where + "/local"), [], "scratch directories")


@test
def killed_at_any_time_and_resumed(where):
    rng = random.Random(7)
    with SimWebHdfs() as hdfs:
        witness = Witness(hdfs)
        started = False
        for kill in range(6):
            time.sleep(TTL_S + 1.1 if started else 0)
            started = any(f.endswith("/_metadata") for f in hdfs.files("/ck/"))
            job = Job(where, job_sql(where, hdfs, rng.choice(["rocksdb", "hashmap"]), rate=15000),
                      QUICK + (["--resume"] if started else []))
            time.sleep(0.3 + rng.random() * 0.7)
            job.kill()
            witness.judge()
        time.sleep(TTL_S + 1.1)
        Job(where, job_sql(where, hdfs), QUICK + ["--resume"]).finish()
        right_table(where, "after six kills")
        verified(hdfs.uri + "/ck")
        varve("orphans", hdfs.uri + "/ck", "--delete", "--min-age", "0s")
        nothing_unnamed(hdfs)


TROUBLE = [("any", "busy", 7), ("any", "closed", 7), ("RENAME", "lost", 2), ("MKDIRS", "lost", 2), ("DELETE", "lost", 2),
           ("GETFILESTATUS", "lost", 5), ("CREATE", "lost", 3), ("CREATE", "half", 3), ("CREATE-NN", "busy", 2), ("OPEN", "half", 3),
           ("OPEN-NN", "closed", 3), ("LISTSTATUS_BATCH", "half", 2), ("CREATE", "slow", 5),
           ("CREATE", "broken", 3), ("OPEN", "broken", 3)]


@test
def trouble_that_passes_is_not_seen(where):
    """Each kind in one run after the other, which resumes where the one before was stopped."""
    with SimWebHdfs() as hdfs:
        witness = Witness(hdfs)
        args = []
        for number, (op, kind, every) in enumerate(TROUBLE):
            hdfs.trouble(op, kind, every)
            job = Job(where, job_sql(where, hdfs, rate=5000, **{"execution.checkpointing.interval": "30 ms"}), QUICK + args)
            job.wait_checkpoints(2)
            args = ["-s", job.stop(hdfs.uri + "/saves/%d" % number)]
            hdfs.calm()
            check(op == "any" or hdfs.calls.get(op, 0) >= every, "%s was never called" % op, hdfs.calls)
            verified(args[1])
        Job(where, job_sql(where, hdfs), QUICK + args).finish()
        right_table(where, "in trouble")
        witness.judge()
        nothing_unnamed(hdfs)


@test
def what_is_kept_and_what_is_deleted(where):
    with SimWebHdfs() as hdfs:
        delete = {"execution.checkpointing.externalized-checkpoint-retention": "DELETE_ON_CANCELLATION"}
        job = Job(where, job_sql(where, hdfs, rate=20000, **delete), QUICK)
        job.wait_checkpoints(4)
        job.cancel()
        left = [f for f in hdfs.files("/ck/") if os.path.basename(f) not in ("LOCK", "ORIGIN", "ENDED")]
        same(left, [], "files after DELETE_ON_CANCELLATION")
        for i in range(250):  # more than two pages of a listing
            hdfs.write("/ck/%s/shared/%032x.sst" % (job.jid, i), b"x")
        code, out, err = varve("orphans", hdfs.uri + "/ck/" + job.jid, "--delete", "--min-age", "0s")
        check(code == 0 and "250 deleted" in err, "orphans", out, err)
        same(hdfs.files("/ck/%s/shared/" % job.jid), [], "shared files")


@test
def other_servers(where):
    """That redirect whatever is asked, or have no pages."""
    with SimWebHdfs() as hdfs:
        hdfs.old_redirects = hdfs.no_batches = True
        job = Job(where, job_sql(where, hdfs, rate=100000), QUICK)
        job.finish()
        right_table(where, "with an older server")
        verified(hdfs.uri + "/ck")
        check(hdfs.calls["LISTSTATUS"] > 0, "no listing", hdfs.calls)


@test
def one_of_two_name_nodes_is_active(where):
    with SimWebHdfs() as standby, SimWebHdfs() as active:
        standby.standby = True
        both = standby.uri + "," + active.uri[len("hdfs://"):]
        job = Job(where, job_sql(where, active, rate=100000, **{"execution.checkpointing.dir": both + "/ck"}), QUICK)
        job.finish()
        right_table(where, "with two name nodes")
        verified(both + "/ck")
        code, _, err = varve("inspect", standby.uri + "/ck", "-D", "varve.remote.tries=2")
        check(code == 3 and "StandbyException" in err, "a standby alone", code, err)


@test
def a_server_that_goes_for_good_holds_nobody_up(where):
    """Each of the many requests of an end would wait for all its tries."""
    lib = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib")
    server = subprocess.Popen([sys.executable, os.path.join(lib, "sim_webhdfs.py")], stdout=subprocess.PIPE, text=True)
    uri = server.stdout.readline().strip()
    try:
        job = Job(where, job_sql(where, None, rate=5000, **{"execution.checkpointing.dir": uri + "/ck"}), ["-D", "varve.remote.tries=6"])
        job.wait_checkpoints(2)
    finally:
        server.kill()
        server.wait()
    begin = time.monotonic()
    same(job.wait(), 1, "exit code")
    check(time.monotonic() - begin < 20, "it took %.0f s" % (time.monotonic() - begin), job.said())
    check("6 tries" in job.err, "the tries are not told", job.said())


@test
def a_directory_that_somebody_else_took_is_left_to_him(where):
    with SimWebHdfs() as hdfs:
        job = Job(where, job_sql(where, hdfs, rate=3000, **{"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.attempts": "100"}),
                  QUICK + ["-D", "varve.remote.lock-ttl=1 s"])
        job.wait_checkpoints(2)
        lock = "/ck/%s/LOCK" % job.jid
        theirs = hdfs.read(lock).split(b"\n", 1)[1]
        theirs = b"pid 7, job b, since noon lease=0123456789abcdef ttl_ms=60000 by=elsewhere\n" + theirs
        hdfs.write(lock, theirs)
        job.refused("lock hdfs:", "was lost: somebody else took it (pid 7, job b, since noon)")
        same(hdfs.read(lock), theirs, "LOCK")
        check("restarts id" not in job.err, "it was restarted", job.said())
        check([p for p in hdfs.files() if p.endswith("/_metadata")], "its checkpoints are gone")


@test
def what_cannot_be_is_said(where):
    with SimWebHdfs() as hdfs:
        hdfs.kerberos = True
        code, _, err = varve("inspect", hdfs.uri + "/ck")
        check(code != 0 and "Kerberos" in err, "a server with Kerberos", code, err)
        hdfs.kerberos, hdfs.old_rename = False, True
        Job(where, job_sql(where, hdfs), QUICK).refused("does not replace a file by a rename", code=2)
        hdfs.old_rename = False
        quick = ["-D", "varve.remote.tries=2", "-D", "varve.remote.backoff=1 ms"]
        hdfs.trouble("any", "busy", 1)
        code, _, err = varve("verify", hdfs.uri + "/ck", *quick)
        check(code == 3 and "status 503: busy" in err, "a busy server", code, err)
    code, _, err = varve("verify", hdfs.uri + "/ck", *quick)
    check(code == 3 and hdfs.uri in err and "2 tries" in err, "no server", code, err)
    for path, word in (("hdfs:///ck", "host:port"), ("gs://b/ck", "gs://")):
        code, _, err = varve("inspect", path)
        check(code != 0 and word in err, path, code, err)
    code, _, err = varve("run", "-e", "CREATE TABLE t (a INT) WITH ('connector' = 'filesystem', 'path' = 'hdfs://h:1/a', 'format' = 'csv'); "
                         "SELECT * FROM t;")
    check(code == 2 and "files of a table are local" in err, "a table on hdfs", code, err)
    code, _, err = varve("run", "-D", "varve.remote.tries=2", "-e", "SET 'varve.remote.tries' = '3';")
    check(code == 2 and "whole process" in err, "a job's own drivers", code, err)


if __name__ == "__main__":
    main()
