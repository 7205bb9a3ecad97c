#!/usr/bin/env python3
"""flink_savepoint.py - varve export --to flink-savepoint: of 19 snapshots of Flink 1.20, 2.0 and 2.3, in every form that keeps state, a canonical
savepoint with the same states, serializers and entries (tests/conformance/golden/flink-state); what it cannot hold is refused by name."""
import glob
import json
import os
import shutil
import struct
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from varve import BACKENDS, TESTS, Job, check, main, same, sequence, settings, test, varve, write

ARCHIVE = os.path.join(TESTS, "conformance/golden/flink-state/snapshots.tar.xz")


def unpack(where, only=None):
    with tarfile.open(ARCHIVE) as tar:
        for member in tar.getmembers():
            if only is None or member.name.lstrip("./").split("/")[0].split(".")[0] in only:
                tar.extract(member, where)


def snapshots(where):
    """The newest of each form."""
    found = {}
    for path in sorted(glob.glob(where + "/*/**/_metadata", recursive=True)):
        found[path[len(where) + 1:].split("/")[0]] = os.path.dirname(path)
    return list(found.values())


def rows(path, *args):
    code, out, err = varve("state", "-q", path, "--format", "jsonl", *args)
    check(code == 0, "varve state: exit code %d" % code, out, err)
    return [json.loads(line) for line in out.splitlines()]


def export(path, to, *args):
    code, out, err = varve("export", "--json", path, to, "--to", "flink-savepoint", *args)
    check(code == 0, "export of %s: exit code %d" % (path, code), out, err)
    said = json.loads(out)
    same((said["path"], said["from"]), (to, path), "paths of --json")
    return said


def state(path, listed):
    return sorted(json.dumps(r, sort_keys=True) for r in rows(path, "--operator", listed["operator_id"], "--name", listed["state"]))


KINDS = {"TIMERS_IN_RAW_KEYED_STATE": "PRIORITY_QUEUE"}  # they come into the stream


def described(r):
    return tuple(r[c] for c in ("operator_id", "state", "key_type", "namespace_type", "map_key_type", "value_type",
                                "parallelism", "max_parallelism")) + (KINDS.get(r["kind"], r["kind"]),)


FORMS = ("canonical-savepoint-compressed", "canonical-savepoint-from-rocksdb-flink-1.20", "canonical-savepoint-null-map-value-from-rocksdb",
         "forst-checkpoint", "hashmap-checkpoint", "rocksdb-incremental-file-merging-across", "rocksdb-incremental-heap-timers")


def same_content(source, copy, what, every_entry):
    """Every state of either is in the other, with as many entries or the same ones; returns how many entries there were."""
    theirs, ours = rows(source), rows(copy)
    same(sorted(map(described, ours), key=repr), sorted(map(described, theirs), key=repr), what + ": states")
    counted = [sorted((r["operator"], r["state"], r["entries"], r["key_bytes"]) for r in rows(path, "--count")) for path in (copy, source)]
    same(counted[0], counted[1], what + ": entries")
    for listed in ours if every_entry else []:
        got, want = state(copy, listed), state(source, listed)
        check(got == want, "%s: %s of %s: %d entries instead of %d" % (what, listed["state"], listed["operator"], len(got), len(want)),
              [g for g in got if g not in want][:3], [w for w in want if w not in got][:3])
    return sum(entries for _, _, entries, _ in counted[0])


@test
def every_form_of_snapshot_becomes_a_savepoint_of_the_same_content(where):
    unpack(where)
    found = snapshots(where)
    done = 0
    for path in found:
        name = path[len(where) + 1:].split("/")[0]
        if name == "unaligned-with-channel-state":
            continue
        every_entry = "VARVE_SOAK" in os.environ or name in FORMS
        out = "%s/exported/%d" % (where, done)
        said = export(path, out)
        moved = "%s/moved-%d" % (where, done)
        os.rename(out, moved)  # it needs nothing else
        code, text, err = varve("verify", "-q", moved)
        check(code == 0, "%s: verify: exit code %d" % (name, code), text, err)
        check(same_content(path, moved, name, every_entry) > 1000, name + ": hardly any entries were compared")
        check(said["entries"] > 1000, name + ": entries of --json", said)
        done += 1
    same(done, 18, "snapshots")


def group_of(key, count):
    """Of a text, as KeyGroupRangeAssignment has it."""
    h = 0
    units = key.encode("utf-16-le")
    for unit in struct.unpack("<%dH" % (len(units) // 2), units):
        h = (31 * h + unit) & 0xFFFFFFFF
    c = h * 0xCC9E2D51 & 0xFFFFFFFF
    c = (c << 15 | c >> 17) & 0xFFFFFFFF
    c = c * 0x1B873593 & 0xFFFFFFFF
    c = (c << 13 | c >> 19) & 0xFFFFFFFF
    c = (c * 5 + 0xE6546B64 & 0xFFFFFFFF) ^ 4
    c = (c ^ c >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    c = (c ^ c >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    c ^= c >> 16
    c = c - (1 << 32) if c >= 1 << 31 else c
    return abs(c) % count


def without_group(path, listed):
    return sorted(json.dumps({c: v for c, v in r.items() if c != "key_group"}, sort_keys=True)
                  for r in rows(path, "--operator", listed["operator_id"], "--name", listed["state"]))


@test
def another_max_parallelism_moves_every_key_into_its_group(where):
    unpack(where, ["rocksdb-incremental-inline", "rocksdb-incremental-heap-timers", "canonical-savepoint-compressed"])
    for path, count in zip(snapshots(where), (60, 300, 32768)):
        out = "%s/%d" % (where, count)
        export(path, out, "--max-parallelism", str(count))
        code, text, err = varve("verify", "-q", out)
        check(code == 0, "verify: exit code %d" % code, text, err)
        seen = 0
        theirs = {(r["operator_id"], r["state"]): r for r in rows(path)}
        for listed in rows(out):
            same(listed["max_parallelism"], count, "max parallelism")
            got, want = without_group(out, listed), without_group(path, theirs.pop((listed["operator_id"], listed["state"])))
            check(got == want, "%s: %s: %d entries instead of %d" % (path, listed["state"], len(got), len(want)), got[:3], want[:3])
            for r in rows(out, "--operator", listed["operator_id"], "--name", listed["state"]):
                if isinstance(r.get("key"), str):
                    same(r["key_group"], group_of(r["key"], count), "key group of %s" % r["key"])
                    seen += 1
        same(theirs, {}, "states that are not there")
        check(seen > 3000, "only %d keys" % seen)


@test
def keys_whose_hash_only_their_class_knows_stay_where_they_are(where):
    unpack(where, ["rocksdb-full"])
    path = snapshots(where)[0]
    refused(where, path, 2, ["operator keyed-pojo", "known to their class alone"], "--max-parallelism", "64")
    refused(where, path, 2, ["max parallelism 1", "parallelism 2"], "--max-parallelism", "1")


def entries(path, at):
    """Of one key group of a stream: (state id, key) in the order in which they lie."""
    with open(path, "rb") as f:
        f.seek(at)
        data = f.read()
    pos, out = 2, []
    ident = struct.unpack(">H", data[:2])[0]
    while ident != 0xFFFF:
        n = struct.unpack_from(">i", data, pos)[0]
        key = bytearray(data[pos + 4:pos + 4 + n])
        pos += 4 + n
        pos += 4 + struct.unpack_from(">i", data, pos)[0]
        last, key[0] = key[0] & 0x80, key[0] & 0x7F
        out.append((ident, bytes(key)))
        if last:
            ident = struct.unpack_from(">H", data, pos)[0]
            pos += 2
    return out


@test
def entries_lie_in_the_order_of_states_and_keys_whatever_order_they_came_in(where):
    unpack(where, ["hashmap-checkpoint", "rocksdb-incremental-heap-timers"])
    for n, path in enumerate(snapshots(where)):
        out = "%s/%d" % (where, n)
        export(path, out)
        data = open(out + "/_metadata", "rb").read()
        checked = 0
        for name in os.listdir(out):
            at = data.find(name.encode())
            if name == "_metadata" or data[at - 3] != 6:
                continue
            offsets = struct.unpack(">64q", data[at - 3 - 512:at - 3])  # before the stream, of each key group
            if not all(0 <= o < os.path.getsize(out + "/" + name) for o in offsets):
                continue  # operator state
            for o in filter(None, offsets):
                lie = entries(out + "/" + name, o)
                check(lie == sorted(lie), "%s: a key group at %d is in no order" % (path, o), lie)
                checked += len(lie)
        check(checked > 1000, "%s: only %d entries were looked at" % (path, checked))


@test
def a_savepoint_of_a_savepoint_is_the_same_savepoint(where):
    unpack(where, ["rocksdb-incremental"])
    export(snapshots(where)[0], where + "/a")
    export(where + "/a", where + "/b")

    def streams(d):
        return sorted(open(os.path.join(d, n), "rb").read() for n in os.listdir(d) if n != "_metadata")

    same(streams(where + "/a") == streams(where + "/b"), True, "streams are the same bytes")


# ---- of a job of varve's -----------------------------------------------------------------------------------------------------------------


def savepoint_of_a_job(where, backend, query, columns, more=""):
    sql = settings(where, backend, 2, interval="1 h") + more + sequence("seq", 60000, 30000)
    sql += "CREATE TABLE gone (%s) WITH ('connector' = 'blackhole');\nINSERT INTO gone %s;\n" % (columns, query)
    job = Job(where, sql)
    job.wait_rows(5000)
    return job.stop(where + "/sp")


def content(path, listed):
    """Entries of a state without the names of columns, which Flink's serializers do not have, and the kinds of rows, which varve's do not."""
    out = []
    for r in rows(path, "--operator", listed["operator_id"], "--name", listed["state"]):
        out.append(tuple(repr(v) for c, v in r.items() if not c.endswith(".kind")))
    return sorted(out)


SUMS = "SELECT MOD(id, 400), CAST(MOD(id, 7) AS STRING), MOD(id, 3) = 1, COUNT(*), MAX(id), MIN(CAST(id + 100000 AS STRING)), COUNT(DISTINCT MOD(id, 1201))"
SUMS += " FROM seq GROUP BY MOD(id, 400), CAST(MOD(id, 7) AS STRING), MOD(id, 3) = 1"


@test
def state_of_a_varve_job_is_the_same_in_flinks_words(where):
    for backend in BACKENDS:
        at = "%s/%s" % (where, backend)
        os.makedirs(at)
        path = savepoint_of_a_job(at, backend, SUMS, "k BIGINT, s STRING, o BOOLEAN, n BIGINT, most BIGINT, least STRING, d BIGINT")
        said = export(path, at + "/out")
        code, text, err = varve("verify", "-q", at + "/out")
        check(code == 0, "verify: exit code %d" % code, text, err)
        theirs = {r["state"]: r for r in rows(path) if r["key_type"]}
        ours = {r["state"]: r for r in rows(at + "/out") if r["key_type"]}
        same(sorted(ours), sorted(theirs), backend + ": states")
        check(len(ours) == 3, "too few kinds of states", ours)
        count = 0
        for name, listed in ours.items():
            got, want = content(at + "/out", listed), content(path, theirs[name])
            check(got == want, "%s: %s: %d entries instead of %d" % (backend, name, len(got), len(want)), got[:3], want[:3])
            count += len(got)
        same(said["entries"], count, "entries of --json")
        check(count > 1000, "only %d entries" % count)


@test
def lists_of_a_varve_job_are_carried_along_and_said(where):
    path = savepoint_of_a_job(where, "hashmap", "SELECT MOD(id, 9), COUNT(*) FROM seq GROUP BY MOD(id, 9)", "k BIGINT, n BIGINT")
    code, out, err = varve("export", path, where + "/out", "--to", "flink-savepoint")
    same((code, out), (0, where + "/out\n"), "the export\n" + err)
    check("source-positions: carried as byte arrays, which no operator of Flink's reads" in err, "what nobody reads is not said", err)
    same([r["state"] for r in rows(where + "/out") if not r["key_type"]].count("source-positions"), 1, "lists of positions")
    uid = [r["operator"] for r in rows(where + "/out") if r["state"] == "accState"]
    same(uid, [r["operator_id"] for r in rows(path) if r["state"] == "accState"], "uid of an operator without one: its id")


def refused(where, path, code, words, *args):
    to = where + "/new"
    got, out, err = varve("export", path, to, "--to", "flink-savepoint", *args)
    same((got, out), (code, ""), "varve export of %s\n%s" % (path, err))
    for word in words:
        check(word in err, "stderr does not say %r" % word, err)
    check(not os.path.exists(to), "%s is there" % to)


@test
def rows_in_flight_are_refused_by_operator_and_subtask(where):
    unpack(where, ["unaligned-with-channel-state"])
    refused(where, snapshots(where)[0], 2, ["operator slow subtask 0", "rows in flight"])


@test
def damage_is_named_and_nothing_stays(where):
    unpack(where, ["rocksdb-full", "canonical-savepoint-compressed", "hashmap-checkpoint"])
    for path in snapshots(where):
        names = [n for n in os.listdir(path) if n != "_metadata" and os.path.getsize(path + "/" + n) > 30000]
        for name in names[:2]:
            shutil.copy(path + "/" + name, where + "/kept")
            os.truncate(path + "/" + name, os.path.getsize(path + "/" + name) - 100)
            refused(where, path, 1, [name])
            os.remove(path + "/" + name)
            refused(where, path, 2, [name])
            shutil.copy(where + "/kept", path + "/" + name)
    flipped = 0
    for path in snapshots(where):
        for name in os.listdir(path):
            with open(path + "/" + name, "rb") as f:
                data = f.read()
            sst = data.endswith(bytes.fromhex("f7cff485b741e288"))
            if not sst and ("compressed" not in path or name == "_metadata" or len(data) < 30000):
                continue  # a heap's stream has no checksum
            at = 40 if sst else len(data) // 2
            write(path + "/" + name, data[:at] + bytes([data[at] ^ 4]) + data[at + 1:])
            refused(where, path, 1, [name])
            flipped += 1
            break
    same(flipped, 2, "damaged files")


@test
def wrong_directories_and_arguments(where):
    unpack(where, ["hashmap-checkpoint"])
    path = snapshots(where)[0]
    os.makedirs(where + "/full/of")
    code, _, err = varve("export", path, where + "/full", "--to", "flink-savepoint")
    same(code, 2, "a directory that is not empty\n" + err)
    check("full is not empty: it has of" in err, "what is in the way is not named", err)
    same(os.listdir(where + "/full"), ["of"], "what was there")
    refused(where, where + "/full", 2, ["full"])


if __name__ == "__main__":
    main()
