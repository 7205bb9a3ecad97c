#!/usr/bin/env python3
"""flink_kept.py - `run -s` of state that Flink itself wrote last, in every form that it has: the totals of one job, kept by Flink, go on in either
backend at any parallelism, and are the same whatever form they came in (C10); what cannot be taken over is refused by name."""
import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from flink_totals import OURS, PART, THEIRS, totals_are_right, totals_sql
from varve import BACKENDS, BIN, TESTS, Job, check, files_below, job_directories, main, preloaded, read, same, test, tree_digest, varve, wait_until, write

SNAPSHOTS = os.path.join(TESTS, "conformance/golden/flink-totals/snapshots.tar.xz")
SST_ENDS = bytes.fromhex("f7cff485b741e288")
IDS = range(THEIRS, THEIRS + PART)


def theirs(where, *names):
    """(name, directory of its `_metadata`) of each snapshot, or of those."""
    with tarfile.open(SNAPSHOTS) as t:
        t.extractall(where + "/theirs")
    found = sorted((os.path.relpath(f, where + "/theirs").split("/")[0], os.path.dirname(f)) for f in files_below(where + "/theirs")
                   if os.path.basename(f) == "_metadata")
    return [f for f in found if not names or f[0] in names]


def goes_on(where, path, ttl, backend, parallelism, what):
    job = Job(where, totals_sql(where, backend, parallelism, OURS, ttl), ["-s", path])
    same(job.wait(), 0, "%s: exit code; %s" % (what, job.said()))
    totals_are_right(job, IDS, ttl, what)
    shutil.rmtree(where + "/ck")
    shutil.rmtree(where + "/out", ignore_errors=True)


@test(each=BACKENDS)
def totals_go_on_from_every_form(where, backend):
    snapshots = [s for s in theirs(where) if "changelog" not in s[0]]
    check(len(snapshots) == 16, "snapshots", snapshots)
    before = tree_digest(where + "/theirs")
    for i, (name, path) in enumerate(snapshots):
        # Of a checkpoint the job's directory is as good, and the root that it lies in.
        given = (path, path + "/_metadata", *([os.path.dirname(path), where + "/theirs/" + name] if "/chk-" in path else [path] * 2))[i % 4]
        goes_on(where, given, name.endswith("-ttl"), backend, 1 + (i + len(backend)) % 3, "%s, taken over by %s" % (name, backend))
    check(tree_digest(where + "/theirs") == before, "the snapshots are as they were")


@test
def a_dry_run_says_what_a_start_does(where):
    for name, path in theirs(where):
        code, out, err = varve("run", "-D", "rest.port=0", "--dry-run", "-s", path, "-e", totals_sql(where, "rocksdb", 2, OURS, name.endswith("-ttl")))
        same(code, 1 if "changelog" in name else 0, "%s: exit code of a dry run; %s%s" % (name, out, err))
        check("it has a changelog, whose changes would be left out" in out if code else "state accState: kept" in out, name, out)
        check("timer" not in out, "timers that there are none of are not spoken of", out)
    (name, path), = theirs(where, "rocksdb-2-changelog")
    job = Job(where, totals_sql(where, "rocksdb", 2, OURS, False), ["-s", path])
    check(job.wait() != 0 and "take a canonical savepoint of it" in job.said(), "a changelog is refused", job.said())
    check(not os.path.exists(where + "/out"), "something has begun", os.listdir(where))


@test
def a_time_to_live_on_one_side_only_is_refused(where):
    for name, path in theirs(where, "rocksdb-2-files", "rocksdb-1-files-ttl"):
        job = Job(where, totals_sql(where, "rocksdb", 2, OURS, not name.endswith("-ttl")), ["-s", path])
        check(job.wait() != 0 and "time-to-live: Flink wrote it with" in job.said(), name, job.said())


@test
def a_damaged_file_is_refused_by_its_path(where):
    """C13, of files with blocks: none of their bytes is used before all are proven."""
    for name, path in theirs(where, "rocksdb-2-files", "forst-2-files-ttl"):
        files = [f for f in files_below(os.path.dirname(path)) if "/shared/" in f and SST_ENDS in open(f, "rb").read()]
        check(len(files) >= 2, "files of tables", files)
        for file in sorted(files, key=os.path.getsize)[-2:]:
            whole = open(file, "rb").read()
            for damaged in (whole[:100] + bytes([whole[100] ^ 4]) + whole[101:], whole[:-50]):
                write(file, damaged)
                job = Job(where, totals_sql(where, "hashmap", 1, OURS, name.endswith("-ttl")), ["-s", path])
                check(job.wait() in (1, 2) and file in job.said(), "%s: %s" % (name, file), job.said())
                check(not os.path.exists(where + "/out"), "something has begun", os.listdir(where))
            write(file, whole)
        goes_on(where, path, name.endswith("-ttl"), "rocksdb", 2, name + ", whole again")



@test
def what_lies_elsewhere_is_found_by_rebase(where):
    """shared/ was moved and the checkpoint was not: only the user knows where it is."""
    (_, path), = theirs(where, "rocksdb-2-files")
    named = "/tmp/flink-totals/rocksdb-2-files/%s/shared" % os.path.basename(os.path.dirname(path))
    os.rename(os.path.dirname(path) + "/shared", where + "/elsewhere")
    rule = "file:%s=%s/elsewhere" % (named, where)
    sql = totals_sql(where, "rocksdb", 2, OURS, False)
    for more, script in ((["--rebase", "/nowhere=/there", "--rebase", rule], sql), ([], "SET 'varve.restore.rebase' = '/nowhere=/there;%s';\n" % rule + sql)):
        job = Job(where, script, ["-s", path, *more])
        same(job.wait(), 0, "exit code; " + job.said())
        totals_are_right(job, IDS, False, "rebased")
        shutil.rmtree(where + "/ck")
        shutil.rmtree(where + "/out")
    for args, words in ((["-s", path], named), (["-s", path, "--rebase", "nonsense"], "two absolute paths are needed, FROM=TO"),
                        (["--rebase", rule], "give it with -s")):
        job = Job(where, sql, args)
        check(job.wait() != 0 and words in job.said(), "what it says", job.said())
    code, out, err = varve("export", path, where + "/exported", "--to", "flink-savepoint", "--rebase", rule)
    same(code, 0, "exit code of the export; " + out + err)
    goes_on(where, where + "/exported", False, "hashmap", 1, "exported from elsewhere")
    code, out, err = varve("export", path, where + "/more", "--to", "varve", "--rebase", rule)
    check(code == 2 and "--rebase: with --to flink-native or flink-savepoint" in err, "where it makes no sense", out, err)
    for args in (["inspect", where + "/nosuch", "--mapping"], ["export", where + "/nosuch", where + "/more", "--to", "flink-native"]):
        code, out, err = varve(*args)
        check(code == 2 and where + "/nosuch: No such file or directory" in err, "a path where nothing is", code, out, err)


# ---- the process that reads it ---------------------------------------------------------------------------------------------


def readers_of(pid):
    """Processes that read a snapshot for the process `pid`."""
    found = []
    for name in os.listdir("/proc"):
        try:
            words = name.isdigit() and open("/proc/%s/cmdline" % name, "rb").read().split(b"\0")
        except OSError:
            continue
        if words and words[1:3] == [b"import-flink", b"%d" % pid]:
            found.append(int(name))
    return found


def is_gone(pid):
    try:
        return open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def left_of_imports(where):
    return [n for n in os.listdir(where + "/ck") if n.startswith(".varve-import")]


def job_with_a_slow_reader(where, path, args=()):
    """A job whose reader is in the middle: it waits for a disk. (job, pid of the reader)"""
    job = Job(where, totals_sql(where, "rocksdb", 2, OURS, False), ["-s", path, *args], prefix=preloaded(PRELOAD_ROOT=where + "/ck", PRELOAD_VERB="import-flink", PRELOAD_SLOW="600000:1"))
    reader, = wait_until(lambda: readers_of(job.process.pid), "a process that reads")
    wait_until(lambda: len(left_of_imports(where)) > 0, "the directory of the import")
    return job, reader


def nothing_is_left(where, reader, left, what):
    wait_until(lambda: reader == 0 or is_gone(reader), what + ": the reader's end")
    same(len(left_of_imports(where)), left, what + ": what the way in leaves")
    check(not job_directories(where) and not os.path.exists(where + "/out"), what + ": something has begun", os.listdir(where))


@test
def a_reader_that_dies_is_an_error_and_leaves_nothing(where):
    """C13: RocksDB may fall over foreign bytes; the job's process does not."""
    (_, path), = theirs(where, "rocksdb-2-files")
    job, reader = job_with_a_slow_reader(where, path)
    os.kill(reader, signal.SIGKILL)
    same(job.wait(), 1, "exit code; " + job.said())
    check("restore %s, which Flink wrote: the process that read it was ended by signal 9 (Killed)" % path in job.said(), "what it says", job.said())
    nothing_is_left(where, reader, 0, "killed reader")
    job = Job(where, totals_sql(where, "rocksdb", 2, OURS, False), ["-s", path],
              prefix=preloaded(PRELOAD_ROOT=where + "/ck", PRELOAD_VERB="import-flink", PRELOAD_KILL="_metadata:1"))
    check(job.wait() == 1 and "ended by signal 9" in job.said(), "a reader that dies before the last name of all", job.said())
    nothing_is_left(where, 0, 0, "reader killed at its end")
    goes_on(where, path, False, "rocksdb", 2, "after killed readers")


@test
def who_ends_a_job_ends_its_reader(where):
    (_, path), = theirs(where, "rocksdb-2-files")
    for sig, code, left in ((signal.SIGTERM, 0, 0), (signal.SIGINT, 1, 0), (signal.SIGKILL, -9, 1)):
        job, reader = job_with_a_slow_reader(where, path)
        job.process.send_signal(sig)
        same(job.wait(), code, "%s: exit code; %s" % (sig, job.said()))
        nothing_is_left(where, reader, left, str(sig))
    goes_on(where, path, False, "rocksdb", 2, "after ended jobs")  # and sweeps what the kill left
    check(not os.path.exists(where + "/ck"), "left", os.listdir(where))


def children_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as f:
        return [int(c) for c in f.read().split()]


@test
def who_kills_a_verb_ends_its_child(where):
    """It prints more than a pipe holds, and nobody reads: so it is still at it."""
    os.mkdir(where + "/tmp")
    (_, path), = theirs(where, "rocksdb-2-files")
    verb = subprocess.Popen([BIN, "state", path, "--operator", "totals", "--name", "distinctAcc_COUNT(DISTINCT CAST(id % 13 AS INT))", "--format", "jsonl"], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ, "TMPDIR": where + "/tmp"})
    child, = wait_until(lambda: verb.poll() is not None or children_of(verb.pid), "a child")
    check(verb.stdout.read(1), "rows")
    check(not is_gone(child), "it has ended by itself")
    verb.kill()
    same(verb.wait(60), -signal.SIGKILL, "exit code")
    wait_until(lambda: is_gone(child), "the child's end")
    verb.stdout.close()


@test
def a_server_that_is_ended_ends_its_readers(where):
    """The reader is a child of a thread of the REST server's then, and the signal comes to another."""
    (_, path), = theirs(where, "rocksdb-2-files")
    said = where + "/serve.log"
    slow = preloaded(PRELOAD_ROOT=where + "/ck", PRELOAD_VERB="import-flink", PRELOAD_SLOW="600000:1")
    with open(said, "wb") as log:
        server = subprocess.Popen([*slow, BIN, "serve", "-D", "rest.port=0"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        at = wait_until(lambda: re.search(r"^REST: http://(localhost:\d+)", read(said), re.M), "its address").group(1)
        sql = write(where + "/job.sql", "SET 'execution.state-recovery.path' = '%s';\n" % path + totals_sql(where, "rocksdb", 2, OURS, False))
        client = subprocess.Popen([BIN, "sql", "-m", at, "-f", sql], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        reader, = wait_until(lambda: readers_of(server.pid), "a process that reads")
        server.send_signal(signal.SIGTERM)
        same(server.wait(60), 0, "exit code of the server; " + read(said))
        check(client.wait(60) != 0, "the client has its job")
        nothing_is_left(where, reader, 0, "ended server")
    finally:
        server.kill()
        server.wait()


@test
def a_dry_run_reads_in_a_process_of_its_own_too(where):
    (_, path), = theirs(where, "rocksdb-2-files")
    command = ("run", "-D", "rest.port=0", "--dry-run", "-s", path, "-e", totals_sql(where, "rocksdb", 2, OURS, False))
    for number, want in ((1, 1), (1000, 0)):
        full = preloaded(PRELOAD_ROOT=where + "/ck", PRELOAD_VERB="import-flink", PRELOAD_FAIL="change:%d:28:on" % number)
        code, out, err = varve(*command, prefix=full)
        same((code, "No space left on device" in out), (want, want == 1), "change %d of its reader fails; %s%s" % (number, out, err))
    code, out, err = varve("import-flink", "1")
    check(code == 2 and "process 1, which started this one, has ended" in err, "nobody else starts it", out, err)


IN_A_PROGRAM = """
import ctypes, sys
class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("message", ctypes.c_char * 2048)]
lib, error = ctypes.CDLL(sys.argv[1]), Error()
for name in ("vv_session_new", "vv_job_newest"):
    getattr(lib, name).restype = ctypes.c_void_p
session = ctypes.c_void_p(lib.vv_session_new(None, 0, ctypes.byref(error)))
assert lib.vv_execute(session, sys.argv[2].encode(), None, None, ctypes.byref(error)) == 0, error.message
job = ctypes.c_void_p(lib.vv_job_newest(session))
assert lib.vv_job_wait(job, ctypes.c_int64(60000), ctypes.byref(error)) == 0, error.message
lib.vv_job_free(job)
lib.vv_session_free(session)
"""


@test
def a_program_over_the_c_api_reads_it_itself(where):
    """It is not varve's to start anew."""
    library = os.path.join(os.environ.get("VARVE_BUILD") or os.path.dirname(BIN), "libvarve.so")
    (_, path), = theirs(where, "rocksdb-2-files")
    if not os.path.exists(library):  # built with a sanitizer
        return
    sql = "SET 'execution.state-recovery.path' = '%s';\n" % path + totals_sql(where, "rocksdb", 2, OURS, False)
    done = subprocess.run([sys.executable, "-c", IN_A_PROGRAM, library, sql], capture_output=True, text=True, timeout=120)
    same(done.returncode, 0, "exit code; " + done.stdout + done.stderr)
    totals_are_right(argparse.Namespace(where=where, out="", said=lambda: done.stderr), IDS, False, "in a program")


main()
