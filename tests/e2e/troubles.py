#!/usr/bin/env python3
"""troubles.py - troubles that people reported of checkpointed jobs, by their numbers (B04 ..), run against the real program:
each one's right behaviour, and the words that its user reads."""
import json
import os
import random
import re
import shutil
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from varve import (BACKENDS, CASES, Job, TooFast, at_some_pace, audit, check, files_table, hidden, inspect, job_directories, judge,
                   lines_of, main, read, same, sequence, settings, snapshot_files, table, test, tree_digest, varve, visible, wait_audit,
                   wait_until, write)

ROWS = 60000
COUNTS = "k BIGINT, n BIGINT, s BIGINT"
COUNT_QUERY = "SELECT MOD(id, 1000), COUNT(*), SUM(id) FROM seq GROUP BY MOD(id, 1000)"


def count_job(where, backend="hashmap", parallelism=2, seconds=6, out="out", query=COUNT_QUERY, columns=COUNTS, interval="60 ms", **more):
    """1000 groups over a sequence; the table at the end. `seconds`: the source's pace."""
    return (settings(where, backend, parallelism, interval, **more) + sequence("seq", ROWS, int(ROWS / seconds)) +
            files_table("o", columns, "%s/%s" % (where, out)) + "INSERT INTO o %s;\n" % query)


def check_counts(where, out="out"):
    got = sorted(tuple(map(int, l.split(b","))) for l in lines_of("%s/%s" % (where, out)))
    each = ROWS // 1000
    want = []
    for k in range(1000):
        ids = range(k or 1000, ROWS + 1, 1000)
        want.append((k, each, sum(ids)))
    check(got == want, "the table of %s is wrong: %d rows" % (out, len(got)), got[:3])


def killed(where, backend, checkpoints=4, **more):
    """A run that is killed with that many checkpoints completed; (its directory, paths of its checkpoints, newest first)."""
    def story(pace):
        shutil.rmtree(where + "/ck", ignore_errors=True)
        shutil.rmtree(where + "/out", ignore_errors=True)
        job = Job(where, count_job(where, backend, seconds=6 * pace, **more))
        job.wait_checkpoints(checkpoints)
        job.kill()
        return "%s/ck/%s" % (where, job.jid)

    directory = at_some_pace(story)
    complete = [c for c in inspect(directory)["checkpoints"] if c["status"] == "complete"]
    complete.sort(key=lambda c: -c["checkpoint_id"])
    check(len(complete) >= min(3, checkpoints - 1), "too few checkpoints", complete)
    return directory, [c["path"] for c in complete]


def fast(where, backend="hashmap", **more):
    return count_job(where, backend, seconds=0.001, **more)


def refused_quickly(where, sql, args, *words, code=None, seconds=2.0, **how):
    """A start that must end within `seconds` with one message; the job."""
    start = time.monotonic()
    job = Job(where, sql, args, **how)
    got = job.wait()
    took = time.monotonic() - start
    check(got != 0 and (code is None or got == code), "exit code %d" % got, job.said())
    check(took < seconds * 5, "took %.1f s" % took, job.said())  # five times: for a machine that does other things as well
    for w in words:
        check(w in job.err, "stderr does not say %r" % w, job.said())
    same(job.err.count("error:"), 1, "error messages; " + job.said())
    return job


# ---- B04, B10: the restored snapshot --------------------------------------------------------------------------


@test(each=BACKENDS)
def b04_two_restores_at_once_and_a_claim_leave_the_source_as_it_was_until_it_may_go(where, backend):
    directory, paths = killed(where, backend)
    before = tree_digest(directory)
    jobs = [Job(where, count_job(where, backend, parallelism=p, out="out%d" % p), ["-s", paths[0]]) for p in (1, 3)]
    for job in jobs:
        job.wait_checkpoints(3)
    for job in jobs:
        job.kill()
    same(tree_digest(directory) == before, True, "the source's directory is unchanged by two runs at once")
    Job(where, fast(where, backend, out="out2"), ["-s", paths[0]]).finish()
    check_counts(where, "out2")
    same(tree_digest(directory) == before, True, "the source's directory is unchanged by a run to the end")
    # With a claim it goes when its replacement is durable, with what nothing else needs; the others stay whole.
    job = Job(where, count_job(where, backend, out="out4"), ["-s", paths[0], "--claim-mode", "CLAIM"])
    job.wait_checkpoints(2)
    wait_until(lambda: not os.path.exists(paths[0] + "/_metadata"), "the claimed checkpoint has gone", 10)
    job.kill()
    wait_until(lambda: not os.path.exists(paths[0]) or not os.listdir(paths[0]), "its files have gone", 5)
    left = [c for c in inspect(directory, "--digests")["checkpoints"]]
    same([c["status"] for c in left if c["path"] in paths[1:]], ["complete"] * len(paths[1:]), "the checkpoints that were not claimed")
    audit(directory)
    Job(where, fast(where, backend, out="out5"), ["-s", paths[1]]).finish()
    check_counts(where, "out5")


@test(each=BACKENDS)
def b10_any_number_of_restores_from_one_path_give_the_same_table(where, backend):
    directory, paths = killed(where, backend)
    before = tree_digest(directory)
    for i in range(5):
        job = Job(where, count_job(where, backend, parallelism=1 + i % 3), ["-s", paths[1]])
        job.wait_checkpoints(1 + i % 2)
        job.kill()
    same(tree_digest(directory) == before, True, "the source's directory is unchanged")
    for i in range(2):
        Job(where, fast(where, backend, out="final%d" % i), ["-s", paths[1]]).finish()
        check_counts(where, "final%d" % i)


# ---- B07, B16: what is not there ------------------------------------------------------------------------------


@test(each=BACKENDS)
def b07_a_copied_directory_restores_and_a_copied_checkpoint_alone_says_what_it_lacks(where, backend):
    directory, paths = killed(where, backend)
    there = where + "/elsewhere/" + os.path.basename(directory)
    shutil.copytree(directory, there)
    files = snapshot_files(next(c for c in inspect(directory, "--files")["checkpoints"] if c["path"] == paths[0]))
    alone = where + "/alone/" + os.path.basename(paths[0])
    shutil.copytree(paths[0], alone)
    shutil.rmtree(directory)
    Job(where, fast(where, backend), ["-s", there + "/" + os.path.basename(paths[0])]).finish()
    check_counts(where)
    shared = [f for f in files if "/shared/" in f]
    if shared:
        shutil.rmtree(there)
        job = refused_quickly(where, fast(where, backend, out="none"), ["-s", alone], code=1)
        more = re.search(r"\.\.\. and (\d+) more", job.err)
        listed = sum(os.path.basename(f) in job.err for f in shared)
        same(listed + (int(more[1]) if more else 0), len(shared), "files listed; " + job.said())
        code, out, err = varve("inspect", alone)
        same((code, sum(os.path.basename(f) in out + err for f in shared)), (1, len(shared)), "exit code of inspect, files it lists")
        check(not os.path.exists(where + "/none"), "an output was begun")


@test
def b16_all_missing_files_are_listed_before_anything_starts(where):
    directory, paths = killed(where, "rocksdb", checkpoints=6)
    report = next(c for c in inspect(directory, "--files")["checkpoints"] if c["path"] == paths[0])
    gone = []
    for op in report["operators"]:
        for s in op["subtasks"]:
            for k in s["keyed"]:
                gone += [(op["name"], f) for f in k["files"] if f["scope"] == "shared"]
    gone = gone[:3]
    same(len(gone), 3, "shared files to delete")
    for _, f in gone:
        os.unlink(os.path.join(paths[0], f["path"]))
    code, out, err = varve("inspect", paths[0])
    job = refused_quickly(where, fast(where, "rocksdb", out="none"), ["-s", paths[0]], code=1)
    same(code, 1, "exit code of inspect")
    for operator, f in gone:
        name = os.path.basename(f["path"])
        for text in (job.err, out + err):
            line = next((l for l in text.split("\n") if name in l), None)
            check(line, "%s is not listed" % name, text)
            check(re.search(r"\b%d\b" % f["size"], line) or re.search(r"\d (B|kB|MB)", line), "its size is not said", line)
        check(operator in job.err, "the operator %s is not named" % operator, job.said())
    check(not os.path.exists(where + "/none"), "an output was begun")


# ---- B09: REST ------------------------------------------------------------------------------------------------


@test(each=BACKENDS)
def b09_the_reported_path_is_there_when_it_is_reported(where, backend):
    job = Job(where, count_job(where, backend, seconds=60, retained=1, interval="20 ms"))
    job.wait_checkpoints(1)
    looked = set()
    for i in range(200):
        latest = job.checkpoints()["latest"]["completed"]
        path = re.sub("^file:", "", latest["external_path"])
        try:
            size = os.path.getsize(path + "/_metadata")
            check(size > 100, "%s is not whole: %d bytes" % (path, size))
        except FileNotFoundError:  # only because a newer one has taken its place meanwhile
            newer = job.checkpoints()["latest"]["completed"]
            check(newer["id"] > latest["id"], "%s is reported and not there" % path)
            continue
        if i % 10 == 0:
            code, out, err = varve("inspect", path)
            check(code == 0 or not os.path.exists(path + "/_metadata"), "inspect %s: exit code %d" % (path, code), out, err)
        looked.add(path)
        time.sleep(0.005)
    check(len(looked) >= 5, "only %d different checkpoints were seen" % len(looked))
    job.kill()


# ---- B12 to B15: damage ---------------------------------------------------------------------------------------


def only_file_of(directory, paths):
    """A file that the newest checkpoint alone uses, an SST or a stream."""
    files = {c["path"]: set(snapshot_files(c)) for c in inspect(directory, "--files")["checkpoints"] if c["status"] == "complete"}
    others = set().union(*[f for p, f in files.items() if p != paths[0]])
    own = sorted(files[paths[0]] - others)
    return [f for f in own if "/shared/" in f] or own


@test(each=BACKENDS)
def b12_a_directory_falls_back_and_names_its_reasons_and_a_named_checkpoint_never_does(where, backend):
    directory, paths = killed(where, backend, checkpoints=6, **{"execution.checkpointing.data-inline-threshold": "0"})
    same(len(paths), 3, "checkpoints")
    flipped = only_file_of(directory, paths)[0]
    with open(flipped, "r+b") as f:
        f.seek(os.path.getsize(flipped) // 2)
        byte = f.read(1)
        f.seek(-1, 1)
        f.write(bytes([byte[0] ^ 1]))
    metadata = paths[1] + "/_metadata"
    os.truncate(metadata, os.path.getsize(metadata) - 100)
    job = Job(where, fast(where, backend), ["-s", directory])
    job.finish()
    check_counts(where)
    said = job.err
    for path, reason in ((paths[0], os.path.basename(flipped)), (paths[1], "cut at byte")):
        check(os.path.basename(path) in said and reason in said, "what was passed over is not said: %s, %s" % (path, reason), said)
    refused_quickly(where, fast(where, backend, out="none"), ["-s", paths[1]], "cut at byte", code=1)
    check(not os.path.exists(where + "/none"), "an output was begun")
    # By its path it is taken, or not at all. An SST may be proven while the job runs already; nothing wrong becomes visible.
    job = Job(where, count_job(where, backend, seconds=4, out="none"), ["-s", paths[0]])
    job.refused("digest" if backend == "hashmap" else "", "GroupAggregate")
    same(lines_of(where + "/none"), [], "visible rows of the damaged state")
    code, out, err = varve("inspect", directory, "--digests")
    same(code, 1, "exit code of inspect on a damaged directory")


@test(each=BACKENDS)
def b13_what_cannot_be_loaded_is_final_at_once(where, backend):
    directory, paths = killed(where, backend, **{"execution.checkpointing.data-inline-threshold": "0"})
    os.makedirs(where + "/empty")
    again = {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.attempts": "1000", "restart-strategy.fixed-delay.delay": "100 ms"}
    os.unlink(only_file_of(directory, paths)[0])
    for path in (where + "/nowhere", where + "/empty", paths[0]):
        refused_quickly(where, fast(where, backend, out="none", **again), ["-s", path], path)
        check(not os.path.exists(where + "/none"), "an output was begun")


@test
def b14_a_refused_read_names_file_and_reason_and_loses_nothing(where):
    nobody = 65534 if os.getuid() == 0 else None
    for at in (where, os.path.dirname(where)):
        os.chmod(at, 0o777 if at == where else 0o755)

    def run(seconds, args=(), out="out"):
        os.makedirs(where + "/run", exist_ok=True)
        os.chmod(where + "/run", 0o777)
        return Job(where, count_job(where, "rocksdb", seconds=seconds, out=out), args, user=nobody)

    job = run(20)
    job.wait_checkpoints(3)
    job.kill()
    directory = "%s/ck/%s" % (where, job.jid)
    path = max((c for c in inspect(directory)["checkpoints"] if c["status"] == "complete"), key=lambda c: c["checkpoint_id"])["path"]
    before = tree_digest(directory)
    os.chmod(path + "/_metadata", 0)
    start = time.monotonic()
    job = run(0.001, ["-s", path], out="none")
    code = job.wait()
    check(code in (1, 3), "exit code %d" % code, job.said())
    check(time.monotonic() - start < 15, "it took too long")
    check(path + "/_metadata" in job.err and "Permission denied" in job.err, "file and reason are not said", job.said())
    os.chmod(path + "/_metadata", 0o644)
    same(tree_digest(directory) == before, True, "the directory is unchanged")
    run(0.001, ["-s", path]).finish()
    check_counts(where)


@test
def b15_a_cut_metadata_says_where_it_is_cut(where):
    directory, paths = killed(where, "rocksdb")
    metadata = paths[0] + "/_metadata"
    with open(metadata, "rb") as f:
        whole = f.read()
    for cut in sorted(set(list(range(17)) + list(range(0, len(whole), 64)) + [len(whole) - 1])):
        with open(metadata, "wb") as f:
            f.write(whole[:cut])
        code, out, err = varve("inspect", paths[0])
        same(code, 1, "exit code of inspect at %d" % cut)
        said = out + err
        check(metadata in said or paths[0] in said, "the file is not named", said)
        check("cut at byte %d of " % cut in said, "cut %d is not said" % cut, said)
    for cut in (0, 16, len(whole) // 2, len(whole) - 1):
        with open(metadata, "wb") as f:
            f.write(whole[:cut])
        refused_quickly(where, fast(where, "rocksdb", out="none"), ["-s", paths[0]], metadata,
                        "cut at byte %d of " % cut, code=1)
        check(not os.path.exists(where + "/none"), "an output was begun")


# ---- B20: durability, by the system calls -----------------------------------------------------------------------


CALL = re.compile(r"^\d+ +[\d.]+ (\w+)\((.*)\) += (-?\d+)(?: .*)?$")


def system_calls(path):
    """(name, arguments, result) of a strace -f -y log, split calls joined."""
    pending = {}
    for line in read(path).split("\n"):
        pid = line.split(" ", 1)[0]
        if line.endswith("<unfinished ...>"):
            pending[pid] = line[:-len("<unfinished ...>")].rstrip()
            continue
        m = re.match(r"^(\d+) +[\d.]+ <\.\.\. \w+ resumed>(.*)$", line)
        if m:
            line = pending.pop(pid, "") + m[2]
        m = CALL.match(line)
        if m:
            yield m[1], m[2], int(m[3])


def path_of_fd(argument):
    m = re.match(r"-?\d+<([^>]*)>", argument)
    return m and m[1]


@test(each=[(b, kind) for b in BACKENDS for kind in ("checkpoint", "savepoint")])
def b20_what_a_metadata_names_is_on_disk_before_it_is_and_it_is_before_anyone_is_told(where, backend, kind):
    """The order of system calls: content fsynced after its last write, names' directories synced, then _metadata: fsync, rename,
    directory; only then sink files get their names."""
    trace = where + "/trace"
    sql = (settings(where, backend, 2, "1 h" if kind == "savepoint" else "200 ms", **{"execution.checkpointing.data-inline-threshold": "0"}) +
           sequence("seq", 100000, 20000) + files_table("o", COUNTS, where + "/out") + files_table("r", "id BIGINT", where + "/raw") +
           "EXECUTE STATEMENT SET BEGIN\nINSERT INTO o %s;\nINSERT INTO r SELECT id FROM seq;\nEND;\n" % COUNT_QUERY)
    prefix = ["strace", "-f", "-y", "-ttt", "-s", "0", "-o", trace, "-e",
              "trace=openat,write,pwrite64,writev,fsync,fdatasync,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,ftruncate"]
    job = Job(where, sql, prefix=prefix)
    if kind == "savepoint":
        job.wait_rows(5000)
        job.savepoint(where + "/sp")
    else:
        job.wait_checkpoints(3)
    child = int(read("/proc/%d/task/%d/children" % (job.process.pid, job.process.pid)).split()[0])
    os.kill(child, 9)
    job.process.wait()

    synced, dirs = set(), {}  # files whose bytes, directories whose names are on disk
    renamed, finished_parts, snapshots = [], 0, {}
    snapshot_dirs = [c["path"] for d in job_directories(where) for c in inspect(d)["checkpoints"] if c["status"] == "complete"]
    snapshot_dirs += [os.path.join(where, "sp", n) for n in (os.listdir(where + "/sp") if os.path.isdir(where + "/sp") else [])]
    for d in snapshot_dirs:
        r = inspect(d, "--files")
        snapshots[d] = set(snapshot_files(r["snapshot"]))
    check(any(snapshots.values()), "no snapshot names a file", snapshots)
    proven = set()
    for name, args, result in system_calls(trace):
        if result < 0:
            continue
        paths = re.findall(r'"([^"]*)"', args)
        if name in ("write", "pwrite64", "writev", "ftruncate"):
            p = path_of_fd(args)
            if p and p.startswith(where):
                synced.discard(p)
        elif name in ("fsync", "fdatasync"):
            p = path_of_fd(args)
            synced.add(p)
            dirs[p] = "clean"
        elif name in ("link", "linkat"):
            source, target = paths[-2:]
            if source in synced:
                synced.add(target)
            dirs[os.path.dirname(target)] = "dirty"
        elif name.startswith("rename"):
            source, target = paths[-2:]
            if source in synced:
                synced.add(target)
            else:
                synced.discard(target)
            dirs[os.path.dirname(target)] = "dirty"
            if os.path.basename(target) == "_metadata":
                check(source in synced, "%s is renamed before it is on disk" % source)
                at = os.path.dirname(target)
                for f in snapshots.get(at, ()):
                    # A hard link of a synced file is synced by either of its names.
                    check(f in synced, "%s names %s, which was not on disk before" % (target, f))
                    check(dirs.get(os.path.dirname(f)) == "clean" or os.path.dirname(f) == at,
                          "the name of %s was not on disk before %s" % (f, target))
                if at in snapshots:
                    proven.add(at)
                renamed.append(at)
            elif os.path.basename(source).startswith(".part-"):
                finished_parts += 1
                check(renamed and dirs.get(renamed[-1]) == "clean", "%s became visible before a checkpoint was on disk" % target)
                check(source in synced or target in synced, "%s became visible before its bytes were on disk" % target)
        elif name == "openat" and "O_CREAT" in args and paths and paths[-1].startswith(where):
            synced.discard(paths[-1])
            dirs[os.path.dirname(paths[-1])] = "dirty"
    check(renamed, "no _metadata was renamed")
    check(proven, "no snapshot that is still there was checked", renamed, snapshot_dirs)
    for at in renamed[:-1] if kind == "checkpoint" else renamed:
        check(dirs.get(at) == "clean" or not os.path.exists(at), "the directory of %s was never synced" % at)
    if kind == "checkpoint":
        check(finished_parts > 0, "no part file was finished")
    else:
        same(finished_parts, 0, "part files that a savepoint made visible")


# ---- B22, B24, B27: a changed job -------------------------------------------------------------------------------


@test(each=[(b, n) for b in BACKENDS for n in (64, 256)])
def b22_another_max_parallelism_is_refused_with_the_cure(where, backend, number):
    directory, paths = killed(where, backend)
    job = refused_quickly(where, fast(where, backend, out="none", **{"pipeline.max-parallelism": number}), ["-s", paths[0]],
                          "GroupAggregate", "128", str(number), "'pipeline.max-parallelism' = '128'", code=2)
    check(not os.path.exists(where + "/none"), "an output was begun", job.said())
    for parallelism in (1, 3):
        Job(where, fast(where, backend, parallelism=parallelism, out="out%d" % parallelism), ["-s", paths[0]]).finish()
        check_counts(where, "out%d" % parallelism)


KEY_CHANGES = [
    ("to STRING", "SELECT CAST(k AS BIGINT), COUNT(*), SUM(id) FROM (SELECT CAST(id AS STRING) AS k, id FROM seq) GROUP BY k",
     ["was BIGINT, is STRING"]),
    ("to INT", "SELECT CAST(k AS BIGINT), COUNT(*), SUM(id) FROM (SELECT CAST(id AS INT) AS k, id FROM seq) GROUP BY k",
     ["was BIGINT, is INT"]),
    ("one column to two", "SELECT id, COUNT(*), SUM(id) FROM seq GROUP BY id, id * 2", ["was not there, is BIGINT"]),
]


@test(each=[(b, c[0]) for b in BACKENDS for c in KEY_CHANGES])
def b24_a_changed_key_is_shown_old_and_new(where, backend, change):
    _, query, words = next(c for c in KEY_CHANGES if c[0] == change)
    directory, paths = killed(where, backend, query="SELECT id, COUNT(*), SUM(id) FROM seq GROUP BY id")
    refused_quickly(where, fast(where, backend, out="none", query=query), ["-s", paths[0]], "key ", *words)
    check(not os.path.exists(where + "/none"), "an output was begun")


@test(each=BACKENDS)
def b24_two_swapped_key_columns_are_refused(where, backend):
    source = "(SELECT id, CAST(MOD(id, 10) AS STRING) AS word FROM seq)"
    query = "SELECT id, COUNT(*), SUM(id) FROM %s GROUP BY %s"
    directory, paths = killed(where, backend, query=query % (source, "id, word"))
    refused_quickly(where, fast(where, backend, out="none", query=query % (source, "word, id")), ["-s", paths[0]])
    check(not os.path.exists(where + "/none"), "an output was begun")


@test(each=BACKENDS)
def b27_dropped_state_is_named_and_dropped_only_with_the_flag_and_only_once(where, backend):
    head = settings(where, backend, 2, "60 ms")
    one = "INSERT INTO o %s;\n" % COUNT_QUERY
    two = "EXECUTE STATEMENT SET BEGIN\n%sINSERT INTO p SELECT MOD(id, 50), COUNT(*), MAX(id) FROM seq GROUP BY MOD(id, 50);\nEND;\n" % one

    def sql(seconds, what):
        return (head + sequence("seq", ROWS, int(ROWS / seconds)) + files_table("o", COUNTS, where + "/out") +
                files_table("p", COUNTS, where + "/other") + what)

    job = Job(where, sql(20, two))
    job.wait_rows(3000)
    job.checkpoint()
    path = job.stop(where + "/sp")
    refused = refused_quickly(where, sql(0.001, one), ["-s", path], "GroupAggregate", "--allow-non-restored-state")
    job = Job(where, sql(20, one), ["-s", path, "-n"])
    job.wait_checkpoints(2)
    said = job.err
    check(re.search(r"GroupAggregate.*\d+ bytes", said), "what is dropped is not listed with its size", said, refused.err)
    if backend == "hashmap":
        check("50 keys" in said, "how many keys are dropped is not said", said)
    job.kill()
    directory = "%s/ck/%s" % (where, job.jid)
    Job(where, sql(0.001, one), ["-s", directory]).finish()  # its own checkpoint holds no such state: no flag
    check_counts(where)


@test(each=BACKENDS)
def b27_one_insert_more_and_another_order_of_them_keep_the_state(where, backend):
    """Two queries that differ in a number only: one is added, then they change places; each goes on with its own state."""
    first = "INSERT INTO o SELECT MOD(id, 1000), COUNT(*), SUM(id) FROM seq GROUP BY MOD(id, 1000);\n"
    second = "INSERT INTO p SELECT MOD(id, 50), COUNT(*), SUM(id) FROM seq GROUP BY MOD(id, 50);\n"

    def run(seconds, inserts, *args):
        sql = (settings(where, backend, 2, "1 h") + sequence("seq", ROWS, int(ROWS / seconds)) + files_table("o", COUNTS, where + "/out") +
               files_table("p", COUNTS, where + "/other"))
        return Job(where, sql + ("EXECUTE STATEMENT SET BEGIN\n%sEND;\n" % inserts if inserts.count("INSERT") > 1 else inserts), args)

    job = run(20, first)
    job.wait_rows(3000)
    one = job.stop(where + "/sp")
    job = run(20, first + second, "-s", one)
    job.wait_rows(3000)
    two = job.stop(where + "/sp")
    run(0.001, second + first, "-s", two).finish()
    check_counts(where)
    totals = {}
    for k, n, s in (map(int, l.split(b",")) for l in lines_of(where + "/other")):
        totals[k] = n
    # The second began with the rows after the first savepoint: its groups share what is left (two subtasks: not quite evenly).
    same(sorted(totals), list(range(50)), "keys of the second")
    check(max(totals.values()) - min(totals.values()) <= 20 and min(totals.values()) > 500, "its counts are not its own", sorted(totals.items())[:5])


# ---- B30, B35, B37: the file sink ---------------------------------------------------------------------------------


@test(each=BACKENDS)
def b30_dot_files_of_a_cancelled_run_are_taken_over_or_removed(where, backend):
    sql = lambda seconds: (settings(where, backend, 2, "80 ms") + sequence("seq", ROWS, int(ROWS / seconds)) +
                           files_table("r", "id BIGINT", where + "/raw") + "INSERT INTO r SELECT id FROM seq;\n")
    job = Job(where, sql(20))
    job.wait_checkpoints(3)
    same(job.cancel(), 1, "exit code of a cancelled run")
    Job(where, sql(0.001), ["-s", "%s/ck/%s" % (where, job.jid)]).finish()
    same(sorted(map(int, lines_of(where + "/raw"))) == list(range(1, ROWS + 1)), True, "each number once")
    same(hidden(where + "/raw"), [], "dot files left")


@test(each=BACKENDS)
def b35_a_savepoint_makes_nothing_visible(where, backend):
    sql = (settings(where, backend, 2, "1 h") + sequence("seq", ROWS, 10000) + files_table("r", "id BIGINT", where + "/raw") +
           "INSERT INTO r SELECT id FROM seq;\n")
    job = Job(where, sql)
    job.wait_rows(2000)
    job.checkpoint()
    wait_until(lambda: visible(where + "/raw"), "the checkpoint's rows are visible", 10)
    time.sleep(0.3)
    before = {p: read(p) for p in visible(where + "/raw")}
    job.wait_rows(10000)
    path = job.savepoint(where + "/sp")
    time.sleep(0.3)
    same({p: read(p) for p in visible(where + "/raw")} == before, True, "visible files are those before the savepoint")
    check(os.path.exists(path + "/_metadata"), "no savepoint", path)
    job.checkpoint()
    wait_until(lambda: len(visible(where + "/raw")) > len(before), "the next checkpoint makes rows visible", 10)
    job.finish()
    same(sorted(map(int, lines_of(where + "/raw"))) == list(range(1, ROWS + 1)), True, "each number once")


@test(each=[(b, m) for b in BACKENDS for m in ("batch", "streaming")])
def b37_the_last_rows_of_bounded_input_become_visible(where, backend, mode):
    head = settings(where, backend, 2, "1 h", mode=mode)
    job = Job(where, head + sequence("seq", 1000) + files_table("r", "id BIGINT", where + "/raw") + "INSERT INTO r SELECT id FROM seq;\n")
    job.finish()
    same(sorted(map(int, lines_of(where + "/raw"))), list(range(1, 1001)), "rows")
    same(hidden(where + "/raw"), [], "dot files left")
    source = files_table("t", "k STRING, v BIGINT", os.path.join(CASES, "19-a-folder-of-files/in"))
    Job(where, head + source + files_table("c", "k STRING, v BIGINT", where + "/copy") + "INSERT INTO c SELECT * FROM t;\n").finish()
    total = sum(int(l.split(b",")[1]) for l in lines_of(where + "/copy"))
    same((len(lines_of(where + "/copy")), total, hidden(where + "/copy")), (8, 11 + 222 + 777, []), "rows, sum, dot files of case 19")
    for directory in job_directories(where):
        audit(directory, finished=True)


# ---- B45: a long sequence -------------------------------------------------------------------------------------------


@test(each=BACKENDS)
def b45_a_sequence_takes_constant_memory_and_a_position_of_few_bytes(where, backend):
    def look(rows, name):
        sql = (settings(where + "/" + name, backend, 2, "100 ms") + sequence("seq", rows, 200) + table("o", COUNTS, connector="blackhole") +
               "INSERT INTO o %s;\n" % COUNT_QUERY)
        job = Job(where, sql)
        job.wait_checkpoints(3)
        status = read("/proc/%d/status" % job.process.pid)
        peak = int(re.search(r"VmHWM:\s+(\d+)", status)[1]) * 1024
        job.kill()
        r = max((c for c in inspect("%s/%s/ck/%s" % (where, name, job.jid), "--files")["checkpoints"] if c["status"] == "complete"),
                key=lambda c: c["checkpoint_id"])
        source = next(o for o in r["operators"] if o["name"].startswith("Source"))
        position = sum(l["size"] for s in source["subtasks"] for l in s["lists"])
        return peak, position, r["metadata_size"]

    small, large = look(1000, "small"), look(10**10, "large")
    check(large[0] < small[0] * 1.15 + (4 << 20), "memory grows with the sequence", small, large)
    check(large[1] <= small[1] + 32 and large[1] <= 128, "the position grows with the sequence", small, large)
    check(large[2] <= small[2] + 512, "_metadata grows with the sequence", small, large)


# ---- B50: all at once -------------------------------------------------------------------------------------------------


ROUNDS = int(os.environ.get("VARVE_ROUNDS", "200"))


@test(each=range(8))
def b50_checkpoint_stop_and_cancel_of_one_moment_end_the_job_and_lose_nothing(where, part):
    """Rounds of the three in any order within 5 ms. Each is answered; the job ends; what is visible is the sequence from 1 on,
    each number once; a savepoint that was promised is there, and going on from it gives the rest."""
    rng = random.Random("b50/%d" % part)
    for i in range(ROUNDS // 8):
        at = "%s/%d" % (where, i)
        one_round(at, rng, BACKENDS[i % 2], go_on=i % 5 == 0)
        shutil.rmtree(at)


def one_round(where, rng, backend, go_on):
    def sql(seconds):
        return (settings(where, backend, 2, "30 ms") + sequence("seq", ROWS, int(ROWS / seconds)) + files_table("r", "id BIGINT", where + "/raw") +
                table("o", COUNTS, connector="blackhole") +
                "EXECUTE STATEMENT SET BEGIN\nINSERT INTO o %s;\nINSERT INTO r SELECT id FROM seq;\nEND;\n" % COUNT_QUERY)

    job = Job(where, sql(30))
    base = "/jobs/%s" % job.jid
    if rng.random() < 0.8:
        wait_until(lambda: job.state() == "RUNNING", "it runs")
        time.sleep(rng.random() * 0.1)
    answers, order = {}, ["checkpoint", "stop", "stop2", "cancel"]
    rng.shuffle(order)
    posts = {
        "checkpoint": ("POST", base + "/checkpoints", {"checkpointType": "CONFIGURED"}),
        "stop": ("POST", base + "/stop", {"targetDirectory": where + "/sp", "drain": False}),
        "stop2": ("POST", base + "/stop", {"targetDirectory": where + "/sp", "drain": False}),
        "cancel": ("PATCH", base + "?mode=cancel", None),
    }

    def fire(what, delay):
        time.sleep(delay)
        try:
            answers[what] = job.http(*posts[what])
        except Exception as e:
            answers[what] = (0, str(e))

    threads = [threading.Thread(target=fire, args=(w, rng.random() * 0.005)) for w in order]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    outcome = {}
    for what in ("checkpoint", "stop", "stop2"):  # asked, or the process waits for someone to ask
        status, answer = answers.get(what, (0, None))
        if status == 202:
            poll = base + ("/checkpoints/" if what == "checkpoint" else "/savepoints/") + answer["request-id"]

            def ended():
                try:
                    a = job.get(poll)
                except Exception:
                    return {"gone": True}
                return a["operation"] if a["status"]["id"] == "COMPLETED" else None

            outcome[what] = wait_until(ended, "%s is answered" % what, 30)
    code = job.wait(40)
    r = job.report()
    check(r is not None and r["state"] in ("FINISHED", "CANCELED"), "how it ended", job.said(), answers, outcome)
    same(code, 0 if r["state"] == "FINISHED" else 1, "exit code of %s" % r["state"])
    places = {o["location"] for w, o in outcome.items() if o and "location" in o}
    check(len(places) <= 1, "two stops gave two savepoints", places)
    saved = [os.path.join(where, "sp", n) for n in (os.listdir(where + "/sp") if os.path.isdir(where + "/sp") else [])]
    check(len(saved) <= 1, "savepoints on disk", saved, outcome)
    if r["state"] == "FINISHED":
        same(len(saved), 1, "savepoint of a stopped job; %s" % outcome)
    for p in places:
        check(os.path.exists(re.sub("^file:", "", p) + "/_metadata"), "the promised savepoint is not there", p)
    numbers = sorted(map(int, lines_of(where + "/raw")))
    check(numbers == list(range(1, len(numbers) + 1)) or len(set(numbers)) == len(numbers), "rows twice", len(numbers))
    for directory in job_directories(where):
        audit(directory, finished=True)
    start = saved[0] if r["state"] == "FINISHED" else None
    if start is None and any(inspect(d)["checkpoints"] for d in job_directories(where)):
        start = where + "/ck"
    if go_on and start:
        Job(where, sql(0.001), ["-s", start]).finish()
        numbers = sorted(map(int, lines_of(where + "/raw")))
        check(numbers == list(range(1, ROWS + 1)), "rows after going on: %d, distinct %d" % (len(numbers), len(set(numbers))), r, outcome)


if __name__ == "__main__":
    main(at_once=4)
