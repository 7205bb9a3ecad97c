#!/usr/bin/env python3
"""flink_dirs.py - the looking verbs on directories that real Flink wrote (tests/conformance/golden/flink-state, 19 of
them, by 1.20, 2.0 and 2.3): all that inspect says equals what an independent reader finds; all are clean where they lie now,
which is not where Flink wrote them; then files go missing, are cut and flipped, and are named.
FLINK_EACH=1 damages every file in turn instead of some."""
import glob
import json
import os
import random
import shutil
import subprocess
import sys
import tarfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from varve import TESTS, check, files_below, inspect, main, same, test, varve, verify

ARCHIVE = os.path.join(TESTS, "conformance/golden/flink-state/snapshots.tar.xz")
ORACLE = os.path.join(TESTS, "conformance/oracle/flinkmeta.py")
EACH = os.environ.get("FLINK_EACH") == "1"
SEED = int(os.environ.get("VARVE_TEST_SEED", "1"))
FIXTURES = sorted({n.name.split("/")[1] for n in tarfile.open(ARCHIVE) if n.name.count("/") > 2})
_one_at_a_time = threading.Lock()


def unpack(where, fixture):
    """The fixture's directory of a job or savepoint, in `where`."""
    with _one_at_a_time, tarfile.open(ARCHIVE) as t:
        t.extractall(where, [m for m in t.getmembers() if m.name.startswith("./%s/" % fixture)])
    inside = os.listdir(os.path.join(where, fixture))
    same(len(inside), 1, "directories in " + fixture)
    return os.path.join(where, fixture, inside[0])


def snapshots(directory):
    return sorted(os.path.dirname(m) for m in glob.glob(directory + "/**/_metadata", recursive=True))


@test(each=FIXTURES)
def inspect_says_what_an_independent_reader_finds(where, fixture):
    directory = unpack(where, fixture)
    for s in snapshots(directory):
        want = json.loads(subprocess.check_output([sys.executable, ORACLE, "--nodata", s]))
        report = inspect(s)["snapshot"]
        same(report["status"], "complete", s)
        same(report["flink"], want, "flink in inspect " + s)
        for ours, theirs in zip(report["operators"], want["operators"]):
            same((ours["id"], ours["parallelism"], ours["max_parallelism"], ours["uid"]),
                 (theirs["id"], theirs["parallelism"], theirs["maxParallelism"], theirs.get("uid", "")), "operator")
        code, out, err = varve("inspect", s, "--files")
        same((code, err), (0, ""), "inspect --files")
        check("written by Flink: metadata of version %d" % want["version"] in out, "no version", out)
        check("000" in out or "(stream)" in out, "no file by name", out)
    page = os.path.join(where, "page.html")
    same(varve("inspect", directory, "--html", page)[0], 0, "inspect --html")
    check("chk-" in open(page).read() or "savepoint" in open(page).read(), "an empty page")


@test(each=FIXTURES)
def what_flink_wrote_is_clean_and_whole(where, fixture):
    directory = unpack(where, fixture)
    report = verify(directory)
    same(report["faults"], [], "faults")
    same((report["clean"], report["damaged"]), (len(snapshots(directory)), 0), "clean, damaged")
    named = {p for p in files_below(directory) if not p.endswith("/_metadata")}
    if "file-merging" not in fixture:
        same(report["files"], len(named), "files")
    check(all(u["path"] in named or u["path"].endswith("/_metadata") for u in report["unproven"]), "a stranger", report)
    for s in snapshots(directory):
        same(verify(s)["faults"], [], "faults of " + s)
    code, out, _ = varve("du", "--json", directory)
    du = json.loads(out)
    same((code, du["missing"]["files"], du["unnamed"]["files"], du["unreadable"]), (0, 0, 0, 0), "du")
    same(du["all"]["size"], sum(os.path.getsize(p) for p in files_below(directory)), "bytes")
    code, out, _ = varve("orphans", "--json", "--min-age", "0 ms", directory)
    same((code, json.loads(out)["count"]), (0, 0), "orphans")
    first, last = snapshots(directory)[0], snapshots(directory)[-1]
    code, out, _ = varve("diff", "--json", first, last)
    diff = json.loads(out)
    if first == last:
        same((diff["added"]["files"], diff["dropped"]["files"]), (0, 0), "difference from itself")
    else:
        check(diff["kept"]["files"] > 0 and diff["added"]["files"] > 0, "nothing kept, or nothing added", out)


def some(items, count):
    """A choice that is the same every time."""
    return items if EACH else random.Random(SEED).sample(items, min(count, len(items)))


@test(each=FIXTURES)
def a_file_that_is_gone_or_cut_is_named(where, fixture):
    directory = unpack(where, fixture)
    for path in some(files_below(directory), 12):
        whole = open(path, "rb").read()
        os.unlink(path)
        if path.endswith("/_metadata"):
            report = verify(directory)
            same((report["incomplete"], report["faults"]), (1, []), "without " + path)
        else:
            faults = verify(directory)["faults"]
            check([f for f in faults if f["path"] == path and f["reason"] == "missing"], "not named: " + path, faults)
        with open(path, "wb") as f:
            # the end of a file of several checkpoints' segments may belong to one that is gone
            f.write(whole[:8] if "file-merging" in fixture and "/chk-" not in path else whole[:-1])
        faults = verify(directory)["faults"]
        check([f for f in faults if f["path"] == path], "cut and not named: " + path, faults)
        check(varve("inspect", directory)[0] == 1, "inspect finds nothing wrong without the end of " + path)
        with open(path, "wb") as f:
            f.write(whole)
    same(verify(directory)["faults"], [], "faults once all is back")


def flip(path, rng):
    with open(path, "r+b") as f:
        at = rng.randrange(os.path.getsize(path))
        f.seek(at)
        byte = f.read(1)[0]
        f.seek(at)
        f.write(bytes([byte ^ 1 << rng.randrange(8)]))
    return at


@test(each=FIXTURES)
def a_flipped_bit_is_named_or_lies_where_nothing_proves_anything(where, fixture):
    """No crash; a flip in a file of which every byte is covered is a fault of that file. RocksDB's checksums leave out the
    footer of an SST and its unused bytes: there a flip may also be harmless."""
    directory = unpack(where, fixture)
    unproven = {u["path"] for u in verify(directory)["unproven"]}
    rng = random.Random(SEED)
    files = [p for p in files_below(directory) if not p.endswith("/_metadata")] or files_below(directory)
    covered = found = 0
    for path in some(files, 16):
        whole = open(path, "rb").read()
        at = flip(path, rng)
        report = verify(directory)
        if path not in unproven and "file-merging" not in fixture:
            covered += 1
            found += bool([f for f in report["faults"] if f["path"] == path])
            check([f for f in report["faults"] if f["path"] == path] or at >= len(whole) - 53,
                  "a flip at %d of %d of %s is not named" % (at, len(whole), path), report["faults"])
        with open(path, "wb") as f:
            f.write(whole)
    check(covered == 0 or found > 0, "of %d flips none was found" % covered)


@test
def a_flip_in_a_block_is_named_with_its_place(where):
    directory = unpack(where, "rocksdb-incremental")
    magic = bytes.fromhex("f7cff485b741e288")
    sst = max((p for p in files_below(directory + "/shared") if open(p, "rb").read().endswith(magic)), key=os.path.getsize)
    with open(sst, "r+b") as f:
        f.seek(40)
        f.write(bytes([f.read(1)[0] ^ 4]))
    faults = verify(directory)["faults"]
    same([f["path"] for f in faults], [sst], "faulty files")
    check("checksum" in faults[0]["reason"] and "offset" in faults[0]["reason"], "no place", faults)
    check(faults[0]["snapshots"] and faults[0]["operator"], "nobody uses it", faults)


@test
def shared_files_elsewhere_are_found_by_rebase(where):
    directory = unpack(where, "rocksdb-incremental")
    elsewhere = os.path.join(where, "a=b", "kept")
    os.makedirs(elsewhere)
    os.rename(directory + "/shared", elsewhere + "/shared")
    job = os.path.basename(directory)
    old = "file:/tmp/flinkstate/rocksdb-incremental/" + job
    check(len(verify(directory)["faults"]) > 100, "found without being told")
    rule = ("--rebase", old + "=" + elsewhere)
    same(verify(directory, *rule)["faults"], [], "faults with --rebase")
    for verb in (["inspect", directory], ["du", directory], ["orphans", directory],
                 ["diff", directory + "/chk-3", directory + "/chk-4"]):
        code, out, err = varve(*verb, *rule)
        same(code, 0, "%s: %s" % (verb, err))
    code, _, err = varve("inspect", directory, "--rebase", "nonsense")
    same(code, 2, "exit code")
    check("FROM=TO" in err, "unhelpful", err)


@test
def a_segment_that_is_damaged_names_its_file(where):
    directory = unpack(where, "rocksdb-incremental-file-merging")
    largest = max(files_below(directory + "/shared"), key=os.path.getsize)
    os.truncate(largest, 1000)
    faults = verify(directory)["faults"]
    check(faults and {f["path"] for f in faults} == {largest}, "others named", faults)
    check("as it is to have at least" in faults[0]["reason"], "no reason", faults)


@test
def orphans_are_found_and_left(where):
    directory = unpack(where, "rocksdb-incremental-file-merging")
    merged = os.path.dirname(glob.glob(directory + "/shared/*/*")[0])
    lost = [directory + "/chk-4/0a1b2c3d-0000-4000-8000-000000000001", merged + "/0a1b2c3d-0000-4000-8000-000000000002",
            directory + "/shared/0a1b2c3d-0000-4000-8000-000000000003"]
    for p in lost + [directory + "/shared/notes.txt"]:
        with open(p, "w") as f:
            f.write("x")
    before = files_below(directory)
    code, out, _ = varve("orphans", "--json", "--min-age", "0 ms", directory)
    found = [o["path"] for p in json.loads(out)["places"] for o in p["orphans"]]
    same((code, sorted(found)), (0, sorted(lost)), "orphans")
    code, _, err = varve("orphans", "--delete", "--min-age", "0 ms", directory)
    check(code != 0 and "Flink holds no lock" in err, "deleted in a directory of Flink's", err)
    same(files_below(directory), before, "files")
    shutil.copyfile(directory + "/chk-3/_metadata", directory + "/chk-4/_metadata")
    with open(directory + "/chk-4/_metadata", "r+b") as f:
        f.truncate(1000)
    code, out, _ = varve("orphans", "--json", "--min-age", "0 ms", directory)
    same((code, json.loads(out)["count"]), (1, 0), "orphans with a _metadata that cannot be read")


@test
def a_directory_without_a_readable_metadata_is_still_flinks(where):
    """A job of Flink's that is making its first checkpoint has none yet: nothing of it may go."""
    directory = unpack(where, "rocksdb-incremental")
    for m in glob.glob(directory + "/chk-*/_metadata"):
        os.unlink(m)
    before = files_below(directory)
    savepoint = unpack(where, "native-savepoint-from-rocksdb")
    os.unlink(savepoint + "/_metadata")
    before_savepoint = files_below(savepoint)
    for d in (directory, os.path.dirname(savepoint)):
        code, _, err = varve("orphans", "--delete", "--min-age", "0 ms", d)
        check(code != 0 and "Flink holds no lock" in err and "is named as Flink names files" in err, "exit code %d" % code, err)
    same((files_below(directory), files_below(savepoint)), (before, before_savepoint), "files")
    check("is named as Flink names files" in inspect(directory)["flink"], "inspect --json says nothing")
    check("written by Flink: %s/shared/" % directory in varve("inspect", directory)[1], "inspect says nothing")
    check("by Flink: " in inspect(directory + "/chk-4")["snapshot"]["reason"], "of a checkpoint nothing")
    for m in glob.glob(directory + "/chk-*"):
        shutil.rmtree(m)
    check("/shared/" in inspect(directory)["flink"], "of shared/ alone nothing")
    os.mkdir(directory + "/chk-1")
    check("/shared/" in inspect(directory)["flink"], "of an empty checkpoint nothing")


@test
def a_metadata_whose_first_bytes_are_damaged_is_flinks(where):
    directory = unpack(where, "rocksdb-full")
    path = glob.glob(directory + "/chk-*/_metadata")[0]
    with open(path, "r+b") as f:
        f.write(b"XXXX")
    fault = [f for f in verify(directory)["faults"] if f["path"] == path]
    check(len(fault) == 1 and "a _metadata of Flink's that is damaged" in fault[0]["reason"], "not said", fault)
    code, _, err = varve("orphans", "--delete", "--min-age", "0 ms", directory)
    check(code != 0 and "Flink holds no lock" in err, "exit code %d" % code, err)
    for verb in (["state", directory], ["diff", "--state", directory, directory]):
        code, _, err = varve(*verb)
        check(code == 1 and path in err and "Flink's" in err, "%s: exit code %d" % (verb[0], code), err)


@test
def what_cannot_be_done_yet_is_said(where):
    directory = unpack(where, "rocksdb-full")
    snapshot = snapshots(directory)[0]
    sql = ("CREATE TABLE s (k BIGINT) WITH ('connector' = 'datagen', 'number-of-rows' = '10'); CREATE TABLE o (k BIGINT, n BIGINT) "
           "WITH ('connector' = 'blackhole'); INSERT INTO o SELECT k, COUNT(*) FROM s GROUP BY k")
    for verb, words in ((["run", "-s", snapshot, "-e", sql], "which Flink wrote: state that the job does not take over"),
                        (["export", snapshot, where + "/x", "--to", "varve"], "written by Flink")):
        code, out, err = varve(*verb)
        check(code != 0 and words in err, "%s: exit code %d" % (verb, code), out, err)


if __name__ == "__main__":
    main()
