"""Checkpoints and savepoints on S3, against the simulated server of lib/s3_server.py: kills, faults, resumes, retention, the inspector.
The server notes every change, and check_order proves C2 to C4 over all of them."""
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from s3_server import S3Server, Stored  # noqa: E402
from varve import (FORMULA, FORMULA_COLUMNS, Failed, Job, at_some_pace, check, check_formula_and_rows, files_table, inspect, main,  # noqa: E402
                   same, sequence, settings, table, test, varve, wait_until)

ROWS = 60000
QUICK = {"varve.remote.backoff": "20 ms", "varve.remote.backoff-max": "200 ms"}
FAULTS = ("status:503", "status:500", "before", "after", "slow:60", "short", "200")


def server():
    s = S3Server().start()
    os.environ.update(s.environment(), AWS_ENDPOINT_URL=s.endpoint)
    return s


def formula(where, rate, retained=2, parallelism=2, rows=ROWS, **more):
    pairs = {"state.backend.rocksdb.localdir": where + "/local", "execution.checkpointing.data-inline-threshold": "1kb",
             "taskmanager.memory.managed.size": "24mb", "execution.checkpointing.dir": "s3://varve/ck",
             "execution.checkpointing.tolerable-failed-checkpoints": "1000"}
    pairs.update(more)
    return (settings(where, "rocksdb", parallelism, "80 ms", retained=retained, **pairs) + sequence("seq", rows, rate) +
            files_table("o", FORMULA_COLUMNS, where + "/out") + files_table("r", "id BIGINT", where + "/raw") +
            "EXECUTE STATEMENT SET BEGIN\nINSERT INTO o %s;\nINSERT INTO r SELECT id FROM seq;\nEND;\n" % FORMULA)


def newest(s):
    found = [(s.buckets["varve"][k].changed, k) for k in s.keys("ck/") if k.endswith("/_metadata")]
    return "s3://varve/" + os.path.dirname(max(found)[1]) if found else None


def disturb(s, rng, lasting=False):
    """Faults that come and go while a job runs: some pass within the tries of a call, some do not."""
    with s.lock:
        s.faults = [{"action": rng.choice(FAULTS), "method": rng.choice(["PUT", "POST", "GET", "HEAD", "DELETE"]),
                     "skip": rng.randrange(12), "count": rng.choice([1, 2, 12] if lasting else [1, 2])} for _ in range(6)]
        for f in s.faults:  # a body is cut only where there is one, and an error in a 200 is one of two calls
            if f["action"] == "200":
                f.update(method="POST", match="uploadId")
            if f["action"] == "short":
                f["method"] = "GET"


@test
def kills_and_faults_leave_checkpoints_that_resume(where):
    s, rng = server(), random.Random(5)

    def story(pace):
        for d in ("out", "raw"):
            shutil.rmtree(os.path.join(where, d), ignore_errors=True)
        with s.lock:
            s.reset()
        for round in range(4):
            way = ["-s", newest(s)] if newest(s) and round % 2 else ["--resume"]
            disturb(s, rng)
            job = Job(where, formula(where, ROWS // (3 * pace), parallelism=1 + round % 3), way, QUICK)
            job.wait_checkpoints(1)
            disturb(s, rng, lasting=True)
            job.wait_checkpoints(2)
            time.sleep(rng.random() * 0.15)
            job.kill()
            s.faults = []
            for d in {k.split("/")[1] for k in s.keys("ck/")}:
                report = inspect("s3://varve/ck/" + d, "--digests")
                bad = [c for c in report["checkpoints"] if c["status"] not in ("complete", "incomplete")]
                check(not bad, "damaged checkpoints", bad)
        Job(where, formula(where, None), ["--resume"], QUICK).finish()

    at_some_pace(story)
    check_formula_and_rows(where, ROWS, "at the end")
    check(s.check_order() >= 8, "few checkpoints: %d" % s.check_order())
    same(os.listdir(where + "/local"), [], "scratch")
    s.stop()


@test
def killed_at_any_request_that_changes_something(where):
    """From the first directory to the deletions of the third checkpoint: the process dies at the k-th PUT, POST or DELETE, before
    it is carried out or after; what is left is whole, and the job goes on from it."""
    s, rng = server(), random.Random(os.environ.get("VARVE_S3_SEED", "1"))
    points = int(os.environ.get("VARVE_S3_KILLS", "8"))
    for point in range(points):
        here = "%s/%d" % (where, point)
        with s.lock:
            s.reset()
            s.faults = [{"method": "PUT|POST|DELETE", "match": "^/varve/ck/", "skip": 1 + int(60 * (point + rng.random()) / points),
                         "action": rng.choice(["kill:before", "kill:after"])}]
            job = Job(here, formula(here, 8000, retained=1, rows=20000), [], QUICK)
            s.victim = job.process.pid
        same(job.process.wait(60), -9, "exit code of a process that was to be killed: %s" % job.said())
        s.check_order()
        complete = newest(s)
        if complete:
            code, out, err = varve("verify", complete)
            same(code, 0, "verify %s: %s%s" % (complete, out, err))
        shutil.rmtree(here + ("/local" if complete else "/out"), ignore_errors=True)
        if not complete:
            shutil.rmtree(here + "/raw", ignore_errors=True)  # rows of a run that no checkpoint knows
        Job(here, formula(here, None, rows=20000), ["-s", complete] if complete else [], QUICK).finish()
        check_formula_and_rows(here, 20000, "killed at request %d" % (point * 60 // points))
        s.check_order()
    s.stop()


@test
def killed_in_the_middle_of_a_multipart_upload(where):
    s = server()
    sql = (settings(where, "rocksdb", 1, "300 ms", **{"execution.checkpointing.dir": "s3://varve/ck", "state.backend.rocksdb.localdir": where + "/local"}) +
           sequence("seq", 3000000, 150000) + table("o", "k BIGINT, n BIGINT, s STRING", connector="blackhole") +
           "INSERT INTO o SELECT MOD(id, 100000), COUNT(*), MAX(SHA512(CAST(id AS STRING))) FROM seq GROUP BY MOD(id, 100000);\n")
    options = dict(QUICK, **{"varve.s3.part-size": "5mb"})
    with s.lock:
        s.faults = [{"method": "PUT", "match": "partNumber=2", "action": "kill:after"}]
        job = Job(where, sql, [], options)
        s.victim = job.process.pid
    same(job.process.wait(60), -9, "exit code of a process that was to be killed: %s" % job.said())
    check(s.uploads, "no upload was begun")
    s.check_order()
    code, out, err = varve("orphans", "s3://varve/ck", "--delete", "--min-age", "0s")
    same((code, s.uploads), (0, {}), "what the dead process had begun: %s" % err)
    job = Job(where, sql, ["--resume"], options)
    path = wait_until(lambda: large_checkpoint(s), "a checkpoint with a large file")
    job.kill()
    for words in (["verify", "--deep", path], ["state", path, "--count"]):
        code, out, err = varve(*words)
        same(code, 0, "%s: %s%s" % (words, out, err))
    s.check_order()
    s.stop()


def large_checkpoint(s):
    """The newest checkpoint, when it names an object that went up in parts."""
    path = newest(s)
    key = path and path[len("s3://varve/"):] + "/_metadata"
    with s.lock:
        objects = s.buckets["varve"]
        return path if key in objects and any(len(objects[k].data) > 5 << 20 for k in s.named_by(key, objects[key].data)) else None


@test
def what_is_no_longer_retained_is_deleted(where):
    s = server()
    job = Job(where, formula(where, 20000, retained=2), [], QUICK)
    job.wait_checkpoints(6)
    path = job.savepoint("s3://varve/sp")
    check(path.startswith("s3://varve/sp/savepoint-") and s.keys(path[len("s3://varve/"):]), "the savepoint", path)
    code, out, err = varve("savepoint", "-d", path, "-m", job.url[len("http://"):])
    same((code, s.keys(path[len("s3://varve/"):])), (0, []), "deleting the savepoint: %s" % err)
    job.cancel()
    keys = s.keys("ck/")
    same(len([k for k in keys if k.endswith("_metadata")]), 2, "checkpoints that are left")
    s.check_order()
    named = set()
    for k in keys:
        if k.endswith("_metadata"):
            named |= {k} | s.named_by(k, s.buckets["varve"][k].data)
    strangers = [k for k in keys if k not in named and not k.endswith("/") and
                 os.path.basename(k) not in ("LOCK", "ORIGIN", "ENDED") and "SAVEPOINT-" not in k]
    same(strangers, [], "files that no checkpoint names")
    s.stop()


@test
def stop_leaves_a_savepoint_that_stands_alone(where):
    s = server()
    job = Job(where, formula(where, 20000), [], QUICK)
    job.wait_checkpoints(2)
    path = job.stop("s3://varve/sp")
    s.check_order()
    same([k for k in s.keys("ck/") if k.endswith(("_metadata", ".sst"))], [], "checkpoints of a job that has finished")
    with s.lock:  # nothing of the old job is needed
        for k in s.keys("ck/"):
            del s.buckets["varve"][k]
        s.events = []
    Job(where, formula(where, None, parallelism=3), ["-s", path], QUICK).finish()
    check_formula_and_rows(where, ROWS, "after the savepoint")
    s.stop()


def download(s, where):
    for key in s.keys():
        path = os.path.join(where, "copy", key)
        os.makedirs(path if key.endswith("/") else os.path.dirname(path), exist_ok=True)
        if not key.endswith("/"):
            with open(path, "wb") as f:
                f.write(s.buckets["varve"][key].data)
    return os.path.join(where, "copy")


def left_by_a_kill(where, s):
    job = Job(where, formula(where, 30000, retained=3), [], QUICK)
    job.wait_checkpoints(4)
    job.savepoint("s3://varve/ck")
    job.kill()
    return "s3://varve/ck/" + job.jid


@test
def every_verb_says_of_s3_what_it_says_of_a_copy(where):
    s = server()
    directory = left_by_a_kill(where, s)
    root, copy = "s3://varve/ck", download(s, where) + "/ck"
    complete = [c for c in inspect(directory)["checkpoints"] if c["status"] == "complete"]
    chk = [os.path.basename(c["path"]) for c in complete]
    verbs = [("inspect", [directory]), ("inspect", [root]), ("inspect", [directory + "/" + chk[-1], "--files"]),
             ("verify", [root]), ("verify", ["--deep", directory + "/" + chk[-1]]), ("du", [directory]),
             ("diff", [directory + "/" + chk[0], directory + "/" + chk[-1]]), ("orphans", [root, "--min-age", "0s"]),
             ("state", [directory + "/" + chk[-1], "--limit", "5"])]
    for verb, words in verbs:
        there = varve(verb, "--json", *words, timeout=120)
        here = varve(verb, "--json", *[w.replace(root, copy) for w in words], timeout=120)
        check(there[0] == here[0], "%s %s: exit code" % (verb, words), there, here)
        check(plain(there[1]) == plain(here[1].replace(copy, root)), "%s %s: tells another thing" % (verb, words), there[1], here[1])
    for target in (where + "/export", "s3://varve/export"):
        code, out, err = varve("export", directory + "/" + chk[-1], target, "--to", "varve", timeout=120)
        check(code == 0, "export to %s" % target, out, err)
        made = "s3://varve/export" if target.startswith("s3") else target
        code, out, err = varve("verify", made)
        check(code == 0, "verify %s" % made, out, err)
    s.stop()


def plain(text):
    """Without times and what only a disk has: blocks, links."""
    def strip(v):
        if isinstance(v, dict):
            return {k: strip(x) for k, x in v.items() if not any(w in k for w in ("time", "age", "changed", "duration", "date", "link"))}
        return [strip(x) for x in v] if isinstance(v, list) else v

    try:
        return strip(json.loads(text))
    except ValueError:
        return sorted(text.split("\n"))


@test
def orphans_go_and_a_running_job_is_left_alone(where):
    s = server()
    job = Job(where, formula(where, 20000), [], QUICK)
    job.wait_checkpoints(2)
    directory = "s3://varve/ck/" + job.jid
    code, out, err = varve("orphans", directory, "--delete", "--min-age", "0s")
    check("in use" in out + err or "running" in out + err, "orphans of a running job", code, out, err)
    job.kill()
    stranger = "ck/%s/shared/%s.sst" % (job.jid, "0" * 32)
    with s.lock:
        s.buckets["varve"][stranger] = Stored(b"x" * 100, {})
        s.uploads["dead"] = ("varve", "ck/%s/chk-99/s-0.bin" % job.jid, {}, {}, time.time() - 10)
        s.uploads["other"] = ("varve", "ck/somebody/s-0.bin", {}, {}, time.time() - 10)
    code, out, err = varve("orphans", directory, "--delete", "--min-age", "30s")
    same(code, 0, "orphans --delete: %s" % err)
    check(stranger in s.keys() and "dead" in s.uploads, "a young orphan went", out)
    code, out, err = varve("orphans", directory, "--delete", "--min-age", "0s")
    same(code, 0, "orphans --delete: %s" % err)
    check(stranger not in s.keys(), "the orphan stays", out, err)
    same(sorted(s.uploads), ["other"], "uploads that a dead process left")
    Job(where, formula(where, None), ["--resume"], QUICK).finish()
    s.stop()


def at_once(s, method):
    """How many requests of that kind for files of state were under way at most; counted anew from here."""
    with s.lock:
        most, s.most = s.most.get(method, 0), {}
    return most


def savepoint_of_files(s, job, count):
    """A savepoint with so many files at least: how many there are depends on compactions."""
    for _ in range(20):
        job.wait_checkpoints(job.checkpoints()["counts"]["completed"] + 1)
        at_once(s, "PUT")
        path = job.savepoint("s3://varve/sp")
        if len([k for k in s.keys(path[len("s3://varve/"):]) if k.endswith(".sst")]) >= count:
            return path
    raise Failed("no savepoint of %d files" % count)


@test
def files_go_and_come_several_at_a_time(where):
    """One subtask's: up to the number that is set, and all of that when the server is slow; one at a time when that is one."""
    s = server()
    path = None
    for threads, parallel_mode in ((1, "true"), (3, "false"), (3, "true")):
        here = "%s/%d%s" % (where, threads, parallel_mode)
        options = dict(QUICK, **{"state.backend.rocksdb.checkpoint.transfer.thread.num": threads,
                                 "state.checkpoint.cleaner.parallel-mode": parallel_mode})
        job = Job(here, formula(here, 20000, parallelism=1, retained=3, rows=10**7,  # until it is cancelled
                                **{"execution.checkpointing.externalized-checkpoint-retention": "DELETE_ON_CANCELLATION"}),
                  ["-s", path] if path else [], options)
        if path:
            job.wait_checkpoints(1)
            same(at_once(s, "GET"), threads, "files fetched at a time")
        with s.lock:
            s.faults = [{"action": "slow:100", "match": "[.]sst", "count": 100000}]
        path = savepoint_of_files(s, job, 3)
        same(at_once(s, "PUT"), threads, "files sent at a time, with %d threads" % threads)
        job.cancel()
        same(at_once(s, "DELETE"), threads if parallel_mode == "true" else 1, "files deleted at a time")
        same([k for k in s.keys("ck/") if k.endswith((".sst", "_metadata"))], [], "checkpoints of a cancelled job")
        s.check_order()
    s.stop()


def copies_in(where):
    """The files of local copies, by checkpoint."""
    found = {}
    for at, _, names in os.walk(where + "/local"):
        if os.path.basename(os.path.dirname(at)) == "copies":
            found[int(os.path.basename(at))] = [os.path.join(at, n) for n in names]
    return found


def restart_by_a_failed_checkpoint(s, job):
    """The server refuses files of state until the job has failed; what was fetched since, and what was said."""
    before = job.err.count("job restarts id=")
    with s.lock:
        s.faults = [{"method": "PUT|POST", "match": "[.]sst", "action": "status:403", "count": 10000}]
    wait_until(lambda: job.err.count("job restarts id=") > before, "a restart")
    with s.lock:
        s.faults, s.requests = [], []
    done = job.checkpoints()["counts"]["completed"]
    job.wait_checkpoints(done + 2)
    with s.lock:
        return [r for r in s.requests if r[0] == "GET" and r[1].split("?")[0].endswith(".sst")]


@test
def a_restart_takes_what_is_still_on_this_machine(where):
    s = server()
    local = {"execution.checkpointing.local-backup.enabled": "true", "execution.state-recovery.from-local": "true",
             "execution.checkpointing.tolerable-failed-checkpoints": "0", "restart-strategy.type": "fixed-delay",
             "restart-strategy.fixed-delay.attempts": "100", "restart-strategy.fixed-delay.delay": "1 ms"}
    job = Job(where, formula(where, 8000, retained=2, **local), ["--log-level", "info"], QUICK)
    job.wait_checkpoints(3)
    same(restart_by_a_failed_checkpoint(s, job), [], "files that were fetched though they are here")
    check(re.search(r"restore from local copies .* local=[1-9][0-9]* fetched=0", job.err), "the copies are not told", job.said())
    check(len(copies_in(where)) <= 2, "copies of older checkpoints", copies_in(where))

    def damage():
        """All copies there are: bytes change, or they are gone. Their names are links of RocksDB's files: new files take their place."""
        for n, path in enumerate(p for paths in copies_in(where).values() for p in paths):
            data = bytearray(open(path, "rb").read())
            os.unlink(path)
            if n % 2:
                data[len(data) // 2] ^= 1
                with open(path, "wb") as f:
                    f.write(data)

    with s.lock:  # no further checkpoint can complete and bring good ones
        s.faults = [{"method": "PUT|POST", "match": "[.]sst", "action": "slow:1500", "count": 10000}]
    time.sleep(0.3)
    damage()
    check(restart_by_a_failed_checkpoint(s, job), "nothing was fetched for the damaged ones")
    check("local copy is not used, the file is fetched" in job.err, "the damaged ones are not told", job.said())
    job.terminate()
    same(os.listdir(where + "/local"), [], "scratch")
    Job(where, formula(where, None, **local), ["--resume"], QUICK).finish()
    check_formula_and_rows(where, ROWS, "after two restarts")
    s.check_order()
    s.stop()


def stop_between_requests(s, job):
    """The process stands still and has no request under way: what the server sees later was begun later."""
    def still():
        job.process.send_signal(signal.SIGSTOP)
        wait_until(lambda: open("/proc/%d/stat" % job.process.pid).read().rsplit(")", 1)[1].split()[0] == "T", "a stopped process")
        time.sleep(0.05)  # what was sent before has come
        with s.lock:
            if s.busy == 0:
                return True
        job.process.send_signal(signal.SIGCONT)
        return False

    wait_until(still, "a moment without a request")


def lose_the_directory(where, s):
    """A job stands still for longer than its lease; meanwhile somebody deletes there what nobody seems to need. The keys at that
    moment, and those when the job has ended."""
    quick = ["-D", "varve.remote.lock-ttl=3s"]
    job = Job(where, formula(where, 2000, **{"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.attempts": "100"}),
              quick, QUICK)
    job.wait_checkpoints(2)
    directory, lock = "s3://varve/ck/" + job.jid, "ck/%s/LOCK" % job.jid
    stop_between_requests(s, job)
    before = [k for k in s.keys("ck/") if k.endswith("/_metadata")]
    said = varve("orphans", directory, "--delete", "--min-age", "0s", *quick)
    check("in use" in said[1] + said[2] or "running" in said[1] + said[2], "the directory of a job that may still run", said)

    def taken():
        varve("orphans", directory, "--delete", "--min-age", "0s", *quick)
        return b"varve orphans --delete" in s.buckets["varve"][lock].data

    wait_until(taken, "a lease that has run out")
    there, text = s.keys("ck/"), s.buckets["varve"][lock].data
    same([k for k in there if k.endswith("/_metadata")], before, "the checkpoints")
    job.process.send_signal(signal.SIGCONT)
    job.refused("was lost: somebody else took it (pid", "varve orphans --delete, since 20")
    same(s.buckets["varve"][lock].data, text, "LOCK")
    check("restarts id" not in job.err, "it was restarted", job.said())
    same(os.listdir(where + "/local"), [], "scratch")
    return there, s.keys("ck/")


@test
def who_stood_still_and_lost_its_directory_fails(where):
    """It must see that before it publishes or deletes anything, and not restart. What it was about to send when it was stopped, after
    its last look, nobody can take back: a file in shared/, once in a thousand times a _metadata."""
    s = server()
    for round in range(3):
        here = "%s/%d" % (where, round)
        with s.lock:
            s.reset()
        there, after = lose_the_directory(here, s)
        same([k for k in there if k not in after], [], "what it deleted")
        new = [k for k in after if k not in there and "/shared/" not in k]
        if not new:
            break
        check(round < 2, "what it published", new)
    Job(here, formula(here, None), ["--resume"], QUICK).finish()
    check_formula_and_rows(here, ROWS, "resumed after the loss")
    s.check_order()
    s.stop()


@test
def secrets_stay_secret_and_trouble_is_told(where):
    s = server()
    secret = os.environ.pop("AWS_SECRET_ACCESS_KEY")
    access = os.environ.pop("AWS_ACCESS_KEY_ID")
    code, out, err = varve("inspect", "s3://varve/ck")
    check(code != 0 and "s3.access-key" in err, "no keys", code, out, err)
    job = Job(where, formula(where, 20000), [], dict(QUICK, **{"s3.access-key": access, "s3.secret-key": secret}))
    job.wait_checkpoints(2)
    config = json.dumps(job.get("/jobs/%s/config" % job.jid)) + json.dumps(job.get("/jobs/%s/checkpoints" % job.jid))
    job.kill()
    keys = ["-D", "s3.access-key=" + access, "-D", "s3.secret-key=" + secret]
    code, told, err = varve("inspect", "--json", newest(s), *keys)
    check(code == 0 and "execution.checkpointing.dir" in told, "the settings of the job", code, told, err)
    for text in (config, told, job.err, job.out):
        check(secret not in text, "the secret is told", text)
    for k in s.keys():
        check(secret.encode() not in s.buckets["varve"][k].data, "the secret lies in " + k)
    code, out, err = varve("run", "-e", "SET 's3.secret-key' = 'x';")
    check(code != 0 and "-D" in err, "SET of a secret", code, out, err)
    code, out, err = varve("inspect", "s3://varve/ck", "-D", "s3.access-key=" + access, "-D", "s3.secret-key=wrong")
    check(code != 0 and "SignatureDoesNotMatch" in err and "wrong" not in err, "a wrong key", code, out, err)
    code, out, err = varve("inspect", "s3://nobody/ck", *keys)
    check(code != 0 and "NoSuchBucket" in err, "a bucket that is not there", code, out, err)
    s.stop()


def certificate(where, name, san):
    paths = [os.path.join(where, name + end) for end in (".pem", ".key")]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=" + name, "-addext", "subjectAltName=" + san,
                    "-out", paths[0], "-keyout", paths[1]], check=True, capture_output=True)
    return paths


@test
def over_tls_only_a_trusted_server_is_spoken_to(where):
    right, other = certificate(where, "right", "IP:127.0.0.1"), certificate(where, "other", "DNS:elsewhere.example")
    s = S3Server(tls=right).start()
    os.environ.update(s.environment(), AWS_ENDPOINT_URL=s.endpoint)
    trust = {"varve.remote.ca-file": right[0]}
    for variable in ("SSL_CERT_FILE", "AWS_CA_BUNDLE"):
        os.environ.pop(variable, None)
    job = Job(where, formula(where, 20000), [], dict(QUICK, **trust))
    job.wait_checkpoints(2)
    job.kill()
    path = newest(s)
    for variable in ("SSL_CERT_FILE", "AWS_CA_BUNDLE"):
        os.environ[variable] = right[0]
        code, out, err = varve("verify", path)
        del os.environ[variable]
        check(code == 0, "verify, trusting " + variable, code, out, err)
    for words, told in (([], "the system's store"), (["-D", "varve.remote.ca-file=" + other[0]], other[0])):
        seen = len(s.requests)
        code, out, err = varve("verify", path, *words)
        check(code != 0 and "certificate" in err and told in err, "a server that is not trusted", code, out, err)
        same(len(s.requests), seen, "requests that it got all the same")
    code, out, err = varve("verify", path, "-D", "varve.remote.ca-file=" + where + "/none.pem")
    check(code != 0 and where + "/none.pem" in err, "a file that is not there", code, out, err)
    Job(where, formula(where, None), ["-s", path], dict(QUICK, **trust)).finish()
    check_formula_and_rows(where, ROWS, "restored over TLS")
    s.stop()
    s = S3Server(tls=other).start()
    os.environ["AWS_ENDPOINT_URL"] = s.endpoint
    code, out, err = varve("inspect", "s3://varve/ck", "-D", "varve.remote.ca-file=" + other[0])
    check(code != 0 and "127.0.0.1" in err and not s.requests, "a certificate for another host", code, out, err)
    s.stop()


if __name__ == "__main__":
    main(at_once=1)  # one server at a time is in the environment
