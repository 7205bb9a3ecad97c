#!/usr/bin/env python3
"""flink_export.py - varve export --to flink-native of every snapshot of Flink's whose keyed state is files of databases (tests/conformance/golden/flink-state):
one directory with the same states and entries; --drop and --rename, there and with --to flink-savepoint; what cannot be done is refused by name."""
import glob
import json
import os
import shutil
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from varve import TESTS, Job, check, main, same, sequence, settings, test, tree_digest, varve, write

sys.path.insert(0, os.path.join(TESTS, "conformance/oracle"))
import flinkmeta

ARCHIVE = os.path.join(TESTS, "conformance/golden/flink-state/snapshots.tar.xz")
DATABASES = ("forst-checkpoint", "native-savepoint-from-rocksdb", "rocksdb-full", "rocksdb-incremental", "rocksdb-incremental-file-merging",
             "rocksdb-incremental-file-merging-across", "rocksdb-incremental-flink-1.20", "rocksdb-incremental-heap-timers", "rocksdb-incremental-inline")
IN_FULL = ("forst-checkpoint", "rocksdb-incremental-file-merging", "rocksdb-incremental-flink-1.20", "rocksdb-incremental-heap-timers")
MAP_ID = "23ab3a59b17e9c45f95cff4c728611fc"  # Flink's hash of the uid "map": StreamGraphHasherV2


def unpack(where, only=None):
    with tarfile.open(ARCHIVE) as tar:
        for member in tar.getmembers():
            if only is None or member.name.lstrip("./").split("/")[0] in only:
                tar.extract(member, where)


def snapshot(where, name):
    """The newest one."""
    return os.path.dirname(sorted(glob.glob("%s/%s/**/_metadata" % (where, name), recursive=True))[-1])


def rows(path, *args):
    code, out, err = varve("state", "-q", path, "--format", "jsonl", *args)
    check(code == 0, "varve state: exit code %d" % code, out, err)
    return [json.loads(line) for line in out.splitlines()]


def verified(path):
    code, out, err = varve("verify", "-q", path)
    check(code == 0, "verify of %s: exit code %d" % (path, code), out, err)
    return path


def export(path, to, *args, form="flink-native"):
    code, out, err = varve("export", "--json", path, to, "--to", form, *args)
    check(code == 0, "export of %s: exit code %d" % (path, code), out, err)
    said = json.loads(out)
    same((said["path"], said["from"]), (to, path), "paths of --json")
    return said


def refused(where, path, code, words, *args, form="flink-native"):
    to = where + "/new"
    got, out, err = varve("export", path, to, "--to", form, *args)
    same((got, out), (code, ""), "varve export of %s\n%s" % (path, err))
    for word in words:
        check(word in err, "stderr does not say %r" % word, err)
    check(not os.path.exists(to), "%s is there" % to)


def entries(path, operator, state):
    return sorted(json.dumps(r, sort_keys=True) for r in rows(path, "--operator", operator, "--name", state))


def counted(path):
    return sorted((r["operator"], r["state"], r["entries"], r["key_bytes"]) for r in rows(path, "--count"))


def same_content(source, copy, what, moved=()):
    """Every state with its entries; moved: old id -> new id, or None where it was dropped."""
    moved = dict(moved)
    theirs = [r for r in rows(source) if moved.get(r["operator_id"], r["operator_id"]) is not None]
    ours = {(r["operator_id"], r["state"], r["kind"]): r for r in rows(copy)}
    count = 0
    for r in theirs:
        new = moved.get(r["operator_id"], r["operator_id"])
        mine = ours.pop((new, r["state"], r["kind"]))
        for column in ("key_type", "value_type", "namespace_type", "map_key_type", "parallelism", "max_parallelism"):
            same(mine[column], r[column], "%s: %s of %s" % (what, column, r["state"]))
        got, want = entries(copy, new, r["state"]), entries(source, r["operator_id"], r["state"])
        check(got == want, "%s: %s: %d entries instead of %d" % (what, r["state"], len(got), len(want)), got[:3], want[:3])
        count += len(got)
    same(ours, {}, what + ": states that the source has not")
    return count


def metadata(path):
    """As the oracle reads it."""
    with open(path + "/_metadata", "rb") as f:
        return flinkmeta.Meta(f.read(), path).parse()


def keyed(meta):
    return [s["managedKeyed"] for op in meta["operators"] for s in op["subtasks"] or [] if s.get("managedKeyed")]


@test
def every_snapshot_of_databases_becomes_a_native_savepoint_of_the_same_content(where):
    unpack(where, DATABASES)
    for n, name in enumerate(DATABASES):
        path = snapshot(where, name)
        out = "%s/exported-%d" % (where, n)
        said = export(path, out)
        shutil.move(out, out + "-moved")  # it needs nothing else
        out += "-moved"
        os.rename(where + "/" + name, where + "/hidden")
        verified(out)
        os.rename(where + "/hidden", where + "/" + name)
        same(counted(out), counted(path), name + ": entries")
        if name in IN_FULL or "VARVE_SOAK" in os.environ:
            check(same_content(path, out, name) > 1000, name + ": hardly any entries were compared")
        meta = metadata(out)
        tags = {s["tag"] for s in flinkmeta.all_streams(meta)}
        check(tags <= {1, 6} and 6 in tags, "%s: streams of the forms %s" % (name, tags))
        for k in keyed(meta):
            same((k["tag"], k["shared"]), (11, []), name + ": files as a native savepoint has them")
        same(said["databases"], len(keyed(meta)), name + ": databases of --json")
        same(said["files"], len(os.listdir(out)) - 1, name + ": files of --json")
        with open(out + "/_metadata", "rb") as f:
            end = f.read()
        same((b"NATIVE" in end, b"CANONICAL" in end), (True, False), name + ": the format in its properties")


def inodes(path):
    return {p: (os.stat(p).st_ino, os.stat(p).st_nlink, os.stat(p).st_mtime_ns) for p in glob.glob(path + "/**", recursive=True)}


@test
def bytes_are_copied_and_the_source_is_only_read(where):
    unpack(where, ["rocksdb-incremental"])
    path = snapshot(where, "rocksdb-incremental")
    before = inodes(os.path.dirname(path))
    export(path, where + "/out")
    same(inodes(os.path.dirname(path)), before, "the source")
    for name in os.listdir(where + "/out"):
        same(os.stat("%s/out/%s" % (where, name)).st_nlink, 1, "links of " + name)


@test
def files_are_linked_where_that_is_asked_for_and_works(where):
    for name in ("rocksdb-incremental", "rocksdb-full", "rocksdb-incremental-file-merging"):
        unpack(where, [name])
        path = snapshot(where, name)
        os.makedirs(where + "/links")  # one file is reached by a symbolic link
        file = max(glob.glob("%s/%s/**/*" % (where, name), recursive=True), key=lambda f: os.path.isfile(f) and os.path.getsize(f))
        shutil.move(file, where + "/links/file")
        os.symlink(where + "/links/file", file)
        said = export(path, where + "/out", "--link")
        linked = [f for f in glob.glob(where + "/out/*") if os.stat(f).st_nlink > 1]
        same(sum(map(os.path.getsize, linked)), said["linked"], name + ": linked bytes")
        check("merging" in name or said["linked"] > 0, name + ": nothing was linked", said)
        check(not any(map(os.path.islink, linked)), name + ": a link to a link")
        content = sorted(json.dumps(r) for r in rows(path))
        shutil.rmtree(where + "/" + name)  # names, not files
        shutil.rmtree(where + "/links")
        verified(where + "/out")
        same(sorted(json.dumps(r) for r in rows(where + "/out")), content, name + ": content")
        shutil.rmtree(where + "/out")
    unpack(where, ["rocksdb-full"])
    path = snapshot(where, "rocksdb-full")
    ssts = [f["handle"] for k in keyed(metadata(path)) for f in k["private"] if f["localPath"].endswith(".sst") and f["handle"]["tag"] != 1]
    file = "%s/%s" % (path, os.path.basename(max(ssts, key=lambda h: h["size"])["path"]))
    with open(file, "rb") as f:
        data = f.read()
    before = tree_digest(where + "/rocksdb-full")
    for bad in (data[:40] + bytes([data[40] ^ 4]) + data[41:], data[:-100]):  # its links are proven, too
        write(file, bad)
        refused(where, path, 1, [os.path.basename(file)], "--link")
        check(os.path.getsize(file) == len(bad), "the source's file went")
    write(file, data)
    same(tree_digest(where + "/rocksdb-full"), before, "the source")
    refused(where, path, 2, ["--link: with --to flink-native"], "--link", form="flink-savepoint")


@test
def operators_are_dropped_and_renamed_in_either_form(where):
    unpack(where, ["rocksdb-incremental"])
    path = snapshot(where, "rocksdb-incremental")
    ids = {r["operator"]: r["operator_id"] for r in rows(path)}
    moved = {ids["keyed-long"]: None, ids["window-sum"]: None, ids["keyed-string"]: MAP_ID}
    edits = ["--drop", "keyed-long", "--drop", ids["window-sum"].upper(), "--rename", "keyed-string=map"]
    for form in ("flink-native", "flink-savepoint"):
        out = "%s/%s" % (where, form)
        export(path, out, *edits, form=form)
        verified(out)
        check(same_content(path, out, form, moved) > 500, form + ": hardly any entries were compared")
        before, after = metadata(path), metadata(out)
        same(sorted(op["uid"] for op in after["operators"]),
             sorted("map" if op["uid"] == "keyed-string" else op["uid"] for op in before["operators"] if op["uid"] not in ("keyed-long", "window-sum")),
             form + ": uids")
        same({op["uid"]: op["id"] for op in after["operators"]}["map"], MAP_ID, form + ": id of the new uid")


@test
def a_snapshot_without_uids_is_renamed_by_id_or_old_uid(where):
    unpack(where, ["rocksdb-incremental-flink-1.20"])
    path = snapshot(where, "rocksdb-incremental-flink-1.20")
    old = {r["operator_id"] for r in rows(path)}
    export(path, where + "/dropped", "--drop", "keyed-long")
    same(metadata(where + "/dropped")["version"], 4, "version without new uids")
    gone = old - {r["operator_id"] for r in rows(where + "/dropped")}
    same(len(gone), 1, "operators that are gone")
    code, _, err = varve("export", path, where + "/renamed", "--to", "flink-native", "--rename", gone.pop() + "=map")
    same(code, 0, "rename by id\n" + err)
    meta = metadata(verified(where + "/renamed"))
    same(meta["version"], 4, "version, which Flink 1.x reads")
    check(MAP_ID in [op["id"] for op in meta["operators"]], "no operator has the id of the new uid", meta["operators"])


@test
def wrong_edits_are_refused_before_anything_stays(where):
    unpack(where, ["rocksdb-incremental"])
    path = snapshot(where, "rocksdb-incremental")
    for form in ("flink-native", "flink-savepoint"):
        refused(where, path, 2, ["--drop: there is no operator \"keyed-sting\"; did you mean keyed-string?", "window-sum"], "--drop", "keyed-sting", form=form)
        refused(where, path, 2, ["there is no operator \"%s\"" % ("0" * 32)], "--rename", "0" * 32 + "=x", form=form)
        refused(where, path, 2, ["two operators", "uid keyed-long"], "--rename", "keyed-string=keyed-long", form=form)
        refused(where, path, 2, ["operator keyed-string has --drop already"], "--drop", "keyed-string", "--rename", "keyed-string=x", form=form)
        refused(where, path, 2, ["\"keyed-string\" is no OLD=NEW"], "--rename", "keyed-string", form=form)
        refused(where, path, 2, ["65535 bytes"], "--rename", "keyed-string=" + "x" * 66000, form=form)
    refused(where, path, 2, ["with --to flink-native or flink-savepoint"], "--drop", "keyed-string", form="varve")


@test
def forms_that_are_no_databases_are_refused_by_name(where):
    names = {"hashmap-checkpoint": "a stream (a heap's", "canonical-savepoint-compressed": "canonical savepoint's stream", "jobmanager-savepoint": "canonical"}
    unpack(where, list(names) + ["unaligned-with-channel-state", "rocksdb-full"])
    for name, reason in names.items():
        refused(where, snapshot(where, name), 2, ["operator ", " subtask ", reason, "--to flink-savepoint takes it"])
    refused(where, snapshot(where, "unaligned-with-channel-state"), 2, ["operator slow subtask 0", "rows in flight"])
    refused(where, snapshot(where, "rocksdb-full"), 2, ["--max-parallelism", "--to flink-savepoint"], "--max-parallelism", "256")


@test
def a_snapshot_of_varves_own_is_refused(where):
    sql = settings(where, "hashmap", 1, interval="1 h") + sequence("seq", 1000, 500)
    sql += "CREATE TABLE gone (k BIGINT, n BIGINT) WITH ('connector' = 'blackhole');\n"
    sql += "INSERT INTO gone SELECT MOD(id, 9), COUNT(*) FROM seq GROUP BY MOD(id, 9);\n"
    job = Job(where, sql)
    job.wait_rows(10)
    path = job.stop(where + "/sp")
    refused(where, path, 2, ["no snapshot of Flink's", "--to flink-savepoint"])
    refused(where, path, 2, ["--drop and --rename", "no snapshot of Flink's"], "--drop", "x", form="flink-savepoint")


@test
def damage_is_named_and_nothing_stays(where):
    for name in ("rocksdb-full", "rocksdb-incremental-file-merging"):
        unpack(where, [name])
        path = snapshot(where, name)
        ssts = [f["handle"] for k in keyed(metadata(path)) for f in k["shared"] + k["private"] if f["localPath"].endswith(".sst") and f["handle"]["tag"] != 1]
        handle = max(ssts, key=lambda h: h["size"])
        base = os.path.basename(handle["path"])
        file = glob.glob("%s/%s/**/%s" % (where, name, base), recursive=True)[0]
        os.chmod(file, 0o644)
        with open(file, "rb") as f:
            data = f.read()
        at = handle.get("start", 0) + 40
        write(file, data[:at] + bytes([data[at] ^ 4]) + data[at + 1:])
        refused(where, path, 1, ["operator ", base, "is damaged", "checksum"])
        write(file, data[:-100])
        refused(where, path, 1, [base])
        os.remove(file)
        refused(where, path, 2, [base])
        shutil.rmtree(where + "/" + name)


@test
def a_directory_that_is_not_empty_is_left_alone(where):
    unpack(where, ["rocksdb-full"])
    os.makedirs(where + "/full/of")
    code, _, err = varve("export", snapshot(where, "rocksdb-full"), where + "/full", "--to", "flink-native")
    same(code, 2, "a directory that is not empty\n" + err)
    check("full is not empty: it has of" in err, "what is in the way is not named", err)
    same(os.listdir(where + "/full"), ["of"], "what was there")


if __name__ == "__main__":
    main()
