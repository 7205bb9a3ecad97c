#!/usr/bin/env python3
"""verify.py - verify, du and diff on what a real job leaves: every file cut, flipped and deleted, one by one, is named with
its reason and the checkpoints that share it (B12, B15, B16, B17); flipped bits anywhere in the directory are reported, or change
nothing that a restore uses."""
import json
import os
import random
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from varve import (BACKENDS, Job, at_some_pace, check, files_below, files_table, inspect, main, same, sequence, settings,
                   snapshot_files, test, tree_digest, varve, verify)

FLIPS = int(os.environ.get("FLIPS", "150"))
SEED = int(os.environ.get("VARVE_TEST_SEED", "1"))


def counts(where, backend, pace=1, parallelism=2):
    return (settings(where, backend, parallelism, "50 ms", retained=5, **{"execution.checkpointing.data-inline-threshold": "300 b"}) +
            sequence("seq", 400000, int(40000 / pace)) + files_table("o", "k BIGINT, n BIGINT", where + "/out") +
            "INSERT INTO o SELECT MOD(id, 3000), COUNT(*) FROM seq GROUP BY MOD(id, 3000);\n")


def left_by_a_job(where, backend):
    """A killed job's directory with several checkpoints, and a savepoint beside it."""
    def story(pace):
        shutil.rmtree(where + "/ck", ignore_errors=True)
        job = Job(where, counts(where, backend, pace))
        job.wait_checkpoints(6)
        job.savepoint(where + "/ck")
        job.wait_checkpoints(8)
        job.kill()
        return job.jid

    return "%s/ck/%s" % (where, at_some_pace(story))


def users_of(directory):
    """file -> checkpoints that name it, by inspect."""
    users = {}
    for c in inspect(directory, "--files")["checkpoints"]:
        if c["status"] != "complete":
            continue
        for f in set(snapshot_files(c)) | {c["path"] + "/_metadata"}:
            users.setdefault(f, []).append(c["path"])
    return users


def flip(path, at, mask):
    with open(path, "r+b") as f:
        f.seek(at)
        byte = f.read(1)[0]
        f.seek(at)
        f.write(bytes([byte ^ mask]))


def expect_one_fault(directory, path, users, *words):
    report = verify(directory)
    same([f["path"] for f in report["faults"]], [path], "what is at fault")
    fault = report["faults"][0]
    same(sorted(fault["snapshots"]), sorted(users), "who shares " + path)
    check(any(w in fault["reason"] for w in words), "the reason does not say %r" % (words,), fault)
    damaged = sorted(s["path"] for s in report["snapshots"] if s["status"] == "damaged")
    same(damaged, sorted(users), "which are damaged")
    clean = [s["path"] for s in report["snapshots"] if s["status"] == "clean"]
    same(report["jobs"][0]["newest_clean"], clean[-1] if clean else None, "the newest clean one")


@test(each=BACKENDS)
def every_file_cut_flipped_and_deleted_is_named(where, backend):
    random_ = random.Random(SEED)
    directory = left_by_a_job(where, backend)
    before = tree_digest(directory)
    check(verify(directory)["ok"], "a killed job's directory is whole", varve("verify", directory))
    users = users_of(directory)
    check(len(users) >= 8, "too few files", users)
    for path, named_by in users.items():
        with open(path, "rb") as f:
            content = f.read()
        os.rename(path, path + ".kept")
        if not path.endswith("/_metadata"):  # without it a checkpoint is incomplete, and no fault
            expect_one_fault(directory, path, named_by, "missing")
        with open(path, "wb") as f:
            f.write(content[:len(content) // 2])
        expect_one_fault(directory, path, named_by, "cut at byte %d of" % (len(content) // 2), "bytes instead of")
        with open(path, "wb") as f:
            f.write(content)
        flip(path, random_.randrange(len(content)), 1 << random_.randrange(8))
        # of a _metadata the header may tell it first
        expect_one_fault(directory, path, named_by, "" if path.endswith("/_metadata") else "digest differs")
        os.rename(path + ".kept", path)
    same(tree_digest(directory) == before, True, "the directory is as it was")
    check(verify(directory)["ok"], "whole again", varve("verify", directory))


@test(each=BACKENDS)
def several_faults_are_all_named_and_a_restore_refuses_them_too(where, backend):
    directory = left_by_a_job(where, backend)
    users = users_of(directory)
    newest = max((c["checkpoint_id"], c["path"]) for c in inspect(directory)["checkpoints"] if c["status"] == "complete")[1]
    gone = [f for f in users if newest in users[f] and not f.endswith("/_metadata")][:3]
    for f in gone:
        os.unlink(f)
    report = verify(where + "/ck")
    same(sorted(f["path"] for f in report["faults"]), sorted(gone), "all that is missing is named")
    same(report["type"], "root", "what was looked at")
    code, out, _ = varve("verify", newest)
    same(code, 1, "exit code of verify")
    for f in gone:
        check(f in out and "missing" in out, "the text names %s" % f, out)
    Job(where, counts(where, backend), ["-s", newest]).refused(*gone)


def not_for_a_restore(path, directory, named, incomplete):
    """No restore reads it: who holds the directory, for people; the killed process' scratch; what belongs to no completed snapshot."""
    return (os.path.basename(path) == "LOCK" or "/.varve-local-" in path or os.path.dirname(path) in incomplete or
            (path.startswith(directory + "/shared/") and path not in named))


@test
def flipped_bits_are_reported_or_nobody_uses_them(where):
    random_ = random.Random(SEED)
    directory = left_by_a_job(where, "rocksdb")
    root = where + "/ck"
    files = [f for f in files_below(root) if os.path.getsize(f) > 0]
    named = set(users_of(directory))
    for _ in range(FLIPS):
        path = random_.choice(files)
        at, mask = random_.randrange(os.path.getsize(path)), 1 << random_.randrange(8)
        flip(path, at, mask)
        report = verify(root)
        flip(path, at, mask)
        if not report["ok"]:
            check(any(os.path.samefile(f["path"], path) for f in report["faults"]),
                  "a flip at byte %d of %s is said to be elsewhere" % (at, path), report["faults"])
            continue
        incomplete = [s["path"] for s in report["snapshots"] if s["status"] == "incomplete"]
        check(not_for_a_restore(path, directory, named, incomplete), "a flip at byte %d (mask %d) of %s is not reported; seed %d" % (at, mask, path, SEED))
    check(verify(root)["ok"], "whole again")


@test
def du_and_diff_agree_with_what_lies_there(where):
    directory = left_by_a_job(where, "rocksdb")
    code, out, err = varve("du", "--json", where + "/ck")
    same(code, 0, "exit code of du; " + err)
    report = json.loads(out)
    by_inode = {(s.st_dev, s.st_ino): s.st_size for s in map(os.stat, files_below(where + "/ck"))}
    same(report["all"]["size"], sum(by_inode.values()), "bytes in all")
    states = json.loads(varve("du", "--states", "--json", where + "/ck")[1])["states"]
    check({"accState"} <= {s["name"] for s in states}, "the state is told by its name", states)
    for kind in ("exclusive", "shared"):
        same(sum(s[kind]["size"] for s in states), sum(o[kind]["size"] for o in report["operators"]), kind + " bytes by state")
    complete = [s for s in report["snapshots"] if s["status"] == "complete"]
    first = complete[0]
    for f, users in users_of(directory).items():
        if users == [first["path"]]:
            os.unlink(f)
    after = json.loads(varve("du", "--json", where + "/ck")[1])
    same(after["all"]["size"], report["all"]["size"] - first["would_free"]["size"], "bytes after one was deleted")
    a, b = complete[1]["path"], complete[-2]["path"]
    code, out, err = varve("diff", "--json", "--files", a, b)
    same(code, 0, "exit code of diff; " + err)
    d = json.loads(out)
    files = {c["path"]: set(snapshot_files(c)) for c in inspect(directory, "--files")["checkpoints"] if c["status"] == "complete"}
    one, other = files[a], files[b]
    for change, paths in (("added", other - one), ("dropped", one - other), ("kept", one & other)):
        got = {f["path"] for op in d["operators"] for f in op["files"] if f["change"] == change and f["path"]}
        # a file of another name with the same content is kept
        check(got == paths if change != "kept" else got >= paths, "%s: %s instead of %s" % (change, got, paths))


@test(each=BACKENDS)
def deep_finds_nothing_in_what_is_whole_after_a_change_of_parallelism_too(where, backend):
    directory = left_by_a_job(where, backend)
    check(verify(where + "/ck", "--deep")["ok"], "a job's directory", varve("verify", "--deep", where + "/ck"))
    start = verify(directory)["jobs"][0]["newest_clean"]
    for parallelism in (3, 1):
        job = Job(where, counts(where, backend, parallelism=parallelism), ["-s", start])
        job.wait_checkpoints(3)
        job.kill()
        there = "%s/ck/%s" % (where, job.jid)
        report = verify(there, "--deep")
        check(report["ok"] and report["clean"] > 0, "after a start with parallelism %d" % parallelism, report["faults"])
        start = report["jobs"][0]["newest_clean"]


@test(each=BACKENDS)
def what_a_running_job_deletes_meanwhile_is_no_fault(where, backend):
    job = Job(where, counts(where, backend, 3).replace("'execution.checkpointing.num-retained' = '5'",
                                                       "'execution.checkpointing.num-retained' = '1'"))
    job.wait_checkpoints(2)
    for i in range(25):
        report = verify(where + "/ck", *(["--deep"] if i % 5 == 4 else []))
        check(report["ok"], "a running job's directory", report["faults"])
        code, out, err = varve("du", where + "/ck")
        same(code, 0, "exit code of du; " + out + err)
    job.must_run("it was looked at")
    job.kill()


@test
def read_only_media_will_do(where):
    directory = left_by_a_job(where, "rocksdb")
    before = {f: os.stat(f).st_mtime_ns for f in files_below(directory)}
    for at, _, names in os.walk(directory):
        os.chmod(at, 0o555)
    try:
        for words in (("verify",), ("verify", "--deep"), ("du",), ("inspect",)):
            code, out, err = varve(*words, directory)
            same(code, 0, "exit code of %s; %s%s" % (words, out, err))
    finally:
        for at, _, names in os.walk(directory):
            os.chmod(at, 0o755)
    same({f: os.stat(f).st_mtime_ns for f in files_below(directory)}, before, "what lies there")


main()
