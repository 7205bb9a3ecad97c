#!/usr/bin/env python3
"""flink_state.py - varve state on what Flink wrote: in 19 snapshots of Flink 1.20, 2.0 and 2.3 every state, every entry and every count is what
the formulas of their job say (tests/conformance/golden/flink-state); and what is damaged is named, never shown as a value."""
import collections
import datetime
import glob
import json
import os
import shutil
import struct
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from varve import TESTS, check, main, same, test
from varve import varve as run_varve

Said = collections.namedtuple("Said", "code out err")

ARCHIVE = os.path.join(TESTS, "conformance/golden/flink-state/snapshots.tar.xz")


def varve(*args):
    return Said(*run_varve(*args))


def unpack(where, only=None):
    with tarfile.open(ARCHIVE) as tar:
        for member in tar.getmembers():
            if only is None or member.name.lstrip("./").split("/")[0].split(".")[0] in only or member.name.endswith(".jsonl"):
                tar.extract(member, where)
    return where


def rows(path, *args):
    said = varve("state", "-q", path, "--format", "jsonl", *args)
    check(said.code == 0, "exit code %d" % said.code, said.out, said.err)
    return [json.loads(line) for line in said.out.splitlines()]


READ = {}  # what was read whole, by (path, operator, state): asking costs a process


def state(path, uid, name, *args):
    if args:
        return rows(path, "--operator", uid, "--name", name, *args)
    if (path, uid, name) not in READ:
        READ[(path, uid, name)] = rows(path, "--operator", uid, "--name", name)
    return READ[(path, uid, name)]


def ms(text):
    t = datetime.datetime.strptime(text.rstrip("Z"), "%Y-%m-%d %H:%M:%S.%f")
    return int((t - datetime.datetime(1970, 1, 1)) / datetime.timedelta(milliseconds=1))


def once(pairs):
    """A dictionary of pairs whose keys differ."""
    out = {}
    for key, value in pairs:
        check(key not in out, "key %r comes twice" % (key,))
        out[key] = value
    return out


def gathered(pairs):
    out = collections.defaultdict(dict)
    for key, inner, value in pairs:
        check(inner not in out[key], "map key %r of %r comes twice" % (inner, key))
        out[key][inner] = value
    return out


# ---- what a snapshot holds, in the shape of the contents files -------------------------------------------


def keyed_string(path, word):
    """Every key with the fields of its line."""
    values = {name: once((r["key"], r["value"]) for r in state(path, word, name)) for name in ("value-long", "value-string", "reducing-long", "ttl-long")}
    lists = once((r["key"], json.loads(r["value"])) for r in state(path, word, "list-long"))
    maps = gathered((r["key"], r["map_key"], r["value"]) for r in state(path, word, "map-string-long"))
    average = once((r["key"], r["value.f0"] / r["value.f1"]) for r in state(path, word, "aggregating-avg"))
    groups = once((r["key"], r["key_group"]) for r in state(path, word, "value-long"))
    timers = {}
    for kind in ("event", "processing"):
        timers[kind] = collections.defaultdict(list)
        for r in state(path, word, "_timer_state/%s_user-timers" % kind):
            timers[kind][r["key"]].append(ms(r["timer"]))
    for r in state(path, word, "ttl-long"):
        check("2026-01-01" < r["last_access"] < "2100", "a last access at %s" % r["last_access"])
    return [{"uid": "keyed-string", "key": k, "keyGroup": g, "value-long": values["value-long"].get(k), "value-string": values["value-string"].get(k),
             "reducing-long": values["reducing-long"].get(k), "ttl-long": values["ttl-long"].get(k), "list-long": lists.get(k),
             "map-string-long": maps.get(k), "aggregating-avg": average.get(k), "event-time-timers": sorted(timers["event"].get(k, [])),
             "processing-time-timers": sorted(timers["processing"].get(k, []))} for k, g in groups.items()]


def keyed_long(path, word):
    lists = once((r["key"], json.loads(r["value"])) for r in state(path, word, "list-string"))
    maps = gathered((r["key"], str(r["map_key"]), r["value"]) for r in state(path, word, "map-long-string"))
    return [{"uid": "keyed-long", "key": r["key"], "keyGroup": r["key_group"], "value-long": r["value"], "list-string": lists.get(r["key"]),
             "map-long-string": maps.get(r["key"])} for r in state(path, word, "value-long")]


def keyed_tuple2(path, word):
    return [{"uid": "keyed-tuple2", "key": [r["key.f0"], r["key.f1"]], "keyGroup": r["key_group"],
             "value-pojo": {f: r["value." + f] for f in ("flag", "id", "label", "score")}} for r in state(path, word, "value-pojo")]


def keyed_pojo(path, word):
    return [{"uid": "keyed-pojo", "key": [r["key.name"], r["key.number"]], "keyGroup": r["key_group"], "count": r["value"]}
            for r in state(path, word, "count")]


def window(uid, field):
    def read(path, word):
        return [{"uid": uid, "key": r["key"], "keyGroup": r["key_group"], "window": [ms(r["window_start"]), ms(r["window_end"])],
                 field: json.loads(r["value"]) if field == "values" else r["value"]} for r in state(path, word, "window-contents")]
    return read


def operator_state(path, word):
    lists = {name: [(r["subtask"], r["value"]) for r in state(path, word, name)] for name in ("op-list", "op-union")}
    return [{"uid": "operator-state", "key": None, "op-list": sorted(v for _, v in lists["op-list"]), "op-union": sorted(v for _, v in lists["op-union"])}]


def broadcast(path, word):
    copies = gathered((r["subtask"], r["map_key"], r["value"]) for r in state(path, word, "broadcast-rules"))
    check(all(c == copies[0] for c in copies.values()), "the copies of a broadcast state differ", copies)
    return [{"uid": "broadcast", "key": None, "broadcast-rules": copies[0]}]


READERS = {"keyed-string": keyed_string, "keyed-long": keyed_long, "keyed-tuple2": keyed_tuple2, "keyed-pojo": keyed_pojo,
           "window-sum": window("window-sum", "sum"), "window-list": window("window-list", "values"),
           "window-session": window("window-session", "sum"), "operator-state": operator_state, "broadcast": broadcast}


def contents(where, name):
    lines = collections.defaultdict(list)
    with open(os.path.join(where, name), encoding="utf-8") as f:
        for line in f:
            row = json.loads(line)
            lines[row["uid"]].append(row)
    return lines


def canonical(row):
    return json.dumps(row, sort_keys=True, ensure_ascii=False)


def same_rows(got, want, what):
    got, want = sorted(map(canonical, got)), sorted(map(canonical, want))
    if got != want:
        check(False, "%s: %d rows instead of %d" % (what, len(got), len(want)), "only here: %s" % [g for g in got if g not in want][:3],
              "missing: %s" % [w for w in want if w not in got][:3])


# ---- what expected.json says -----------------------------------------------------------------------------


def check_states(path, expected, what):
    """Every state with its kind and serializers, and no other with an entry."""
    listed = {(r["operator_id"], r["state"]): r for r in rows(path)}
    counted = {(r["operator"], r["state"]): r["entries"] for r in rows(path, "--count")}
    for op in expected["operators"]:
        for s in op["states"]:
            r = listed.pop((op["operatorId"], s["name"]))
            where = "%s: %s of %s" % (what, s["name"], op["uid"])
            kind = " ".join([s["kind"]] + ([s["mode"]] if "mode" in s else []))
            same(r["kind"], kind, where + ": kind")
            same(r["value_type"], s["valueSerializer"], where + ": serializer of values")
            same(r["parallelism"], op["parallelism"], where + ": parallelism")
            if "keySerializer" in op:
                same(r["key_type"], op["keySerializer"], where + ": serializer of keys")
                same(r["namespace_type"], s["namespaceSerializer"], where + ": serializer of namespaces")
                same(counted[(r["operator"], s["name"])], s["entries"], where + ": entries")
                check(r["entries"] == s["entries"] or (r["estimated"] and r["entries"] >= s["entries"]), where + ": listed entries", r)
            if s["kind"] == "BROADCAST":
                same(r["map_key_type"], s["keySerializer"], where + ": serializer of map keys")
                same(r["entries"], s["entries"] * op["parallelism"], where + ": entries of all copies")
    for key, r in listed.items():  # Flink registers both timer services, used or not
        check(r["state"].startswith("_timer_state/") and counted[(r["operator"], r["state"])] == 0, "%s: nobody expects %s" % (what, r))


def check_lists(path, op, what):
    for s in op["states"]:
        for subtask in range(op["parallelism"]):
            want = s.get("subtask %d" % subtask)
            if want is not None:
                got = [r["value"] for r in state(path, op["operatorId"], s["name"]) if r["subtask"] == subtask]
                same(got, want, "%s: %s of subtask %d" % (what, s["name"], subtask))
        for said in s.get("splits", []):  # "subtask 0: version 1, 16 bytes: index=0 of=2 round=3 next=0"
            numbers = [int(w.split("=")[1]) for w in said.split() if "=" in w]
            subtask = int(said.split()[1].rstrip(":"))
            want = "0x" + (struct.pack(">ii", 1, 16) + struct.pack(">4i", *numbers)).hex()
            got = [r["value"] for r in state(path, op["operatorId"], s["name"]) if r["subtask"] == subtask]
            same(got, [want], "%s: %s of subtask %d" % (what, s["name"], subtask))


def check_sums(path, op, what):
    def total(values):
        return sum(values)

    for s in op["states"]:
        if "sum" not in s:
            continue
        got = state(path, op["operatorId"], s["name"])
        if isinstance(s["sum"], dict):
            items = [v for r in got for v in json.loads(r["value"])]
            same(len(items), s["sum"]["items"], "%s: items of %s" % (what, s["name"]))
            if "sumOfItems" in s["sum"]:
                same(total(items), s["sum"]["sumOfItems"], "%s: sum of %s" % (what, s["name"]))
        elif isinstance(s["sum"], list):
            same([total(r["value.f%d" % i] for r in got) for i in range(len(s["sum"]))], s["sum"], "%s: sums of %s" % (what, s["name"]))
        elif s["kind"] == "LIST":
            same(total(v for r in got for v in json.loads(r["value"])), s["sum"], "%s: sum of %s" % (what, s["name"]))
        else:
            same(total(r["value"] for r in got if r["value"] is not None), s["sum"], "%s: sum of %s" % (what, s["name"]))


def check_samples(path, op, what):
    """Keys of the samples, looked up one by one."""
    for sample in op.get("samples", [])[1:3]:
        for name in ("value-long", "count"):
            if name in sample and sample[name] is not None:
                key = sample["key"] if isinstance(sample["key"], str) else json.dumps(sample["key"])
                got = state(path, op["operatorId"], name, "--key", key)
                same([(r["key_group"], r["value"]) for r in got], [(sample["keyGroup"], sample[name])], "%s: %s of %s" % (what, name, key))


@test
def every_entry_of_every_snapshot_is_what_the_job_put_there(where):
    unpack(where)
    expected = sorted(glob.glob(where + "/*.expected.json"))
    same(len(expected), 19, "snapshots")
    for path in expected:
        name = os.path.basename(path)[:-len(".expected.json")]
        with open(path, encoding="utf-8") as f:
            e = json.load(f)
        if "snapshots" not in e:
            continue
        for snapshot in e["snapshots"]:
            at = os.path.join(where, name, snapshot["path"])
            what = name + "/" + os.path.basename(at)
            want = contents(where, snapshot["contents"])
            uids = [op["uid"] for op in e["operators"] if op["uid"] in READERS]
            if name.startswith("canonical-savepoint-null-map-value"):
                for row in want["keyed-string"]:
                    if row["key"] == "key-7":
                        row["map-string-long"]["null-value"] = None
            for op in e["operators"]:
                if op["uid"] in READERS:
                    same_rows(READERS[op["uid"]](at, op["operatorId"]), want[op["uid"]], "%s: %s" % (what, op["uid"]))
            check(uids, "%s: nothing was compared" % what)
            if snapshot["path"] == e["operatorsDescribe"]:
                check_states(at, e, what)
                for op in e["operators"]:
                    check_lists(at, op, what)
                    check_sums(at, op, what)
                    check_samples(at, op, what)


@test
def an_unaligned_checkpoint_has_state_and_channels(where):
    unpack(where, ["unaligned-with-channel-state"])
    with open(where + "/unaligned-with-channel-state.expected.json", encoding="utf-8") as f:
        e = json.load(f)
    at = os.path.join(where, "unaligned-with-channel-state", e["path"])
    slow = e["operatorIds"]["slow"]
    same(sum(r["value"] for r in state(at, slow, "count")), e["processed"]["count"], "count")
    same(sum(r["value"] for r in state(at, slow, "sum")), e["processed"]["sum"], "sum")
    emitted = [r["value"] for r in state(at, e["operatorIds"]["emitted"], "emitted")]
    same(sorted(emitted), sorted(v for k, pair in e["perSubtask"].items() if "'emitted'" in k for v in pair), "emitted")


# ---- damage and mistakes -----------------------------------------------------------------------------------


def refused(path, *args, code=1, words=()):
    said = varve("state", "-q", path, *args)
    check(said.code == code, "exit code %d instead of %d" % (said.code, code), said.out, said.err)
    for w in words:
        check(w in said.err, "stderr does not say %r" % w, said.err)
    return said


def chk(where, name):
    return glob.glob("%s/%s/*/chk-4" % (where, name))[0]


def flip(path, at):
    with open(path, "r+b") as f:
        f.seek(at)
        byte = f.read(1)[0]
        f.seek(at)
        f.write(bytes([byte ^ 0x10]))


@test
def a_flipped_bit_in_a_database_file_is_named_before_anything_of_it_is_shown(where):
    unpack(where, ["rocksdb-full"])
    at = chk(where, "rocksdb-full")
    ssts = [f for f in glob.glob(at + "/*") if os.path.getsize(f) > 4096 and open(f, "rb").read()[-8:] == bytes.fromhex("f7cff485b741e288")]
    check(len(ssts) > 5, "no SST files found")
    found = 0
    for sst in ssts[:6]:
        shutil.copy(sst, where + "/kept")
        flip(sst, 40)
        said = varve("state", "-q", at, "--count")
        check(said.code == 1 and os.path.basename(sst) in said.err, "the damage of %s is not named" % sst, said.out, said.err)
        found += 1
        shutil.copy(where + "/kept", sst)
    same(found, 6, "damaged files")


@test
def missing_and_cut_files_are_named(where):
    unpack(where, ["rocksdb-incremental", "canonical-savepoint-compressed", "hashmap-checkpoint"])
    at = chk(where, "rocksdb-incremental")
    metadata = open(at + "/_metadata", "rb").read()  # names what it needs; the directory has files of older checkpoints too
    shared = sorted((f for f in glob.glob(os.path.dirname(at) + "/shared/*") if os.path.basename(f).encode() in metadata), key=os.path.getsize)[-1]
    kept = open(shared, "rb").read()
    os.truncate(shared, len(kept) // 2)
    words = []
    for op in ("keyed-string", "keyed-long", "window-sum"):
        words.append(varve("state", "-q", at, "--operator", op, "--count"))
    check(any(w.code == 1 and os.path.basename(shared) in w.err for w in words), "a cut file is not named", [w.err for w in words])
    os.remove(shared)
    words = [varve("state", "-q", at, "--operator", op, "--count") for op in ("keyed-string", "keyed-long", "window-sum")]
    check(any(w.code != 0 and os.path.basename(shared) in w.err for w in words), "a missing file is not named", [w.err for w in words])

    save = glob.glob(where + "/canonical-savepoint-compressed/savepoint-*")[0]
    stream = sorted((f for f in glob.glob(save + "/*") if not f.endswith("_metadata")), key=os.path.getsize)[-1]
    size = os.path.getsize(stream)
    flip(stream, size // 2)
    said = [varve("state", "-q", save, "--operator", op, "--count") for op in ("keyed-string", "keyed-long", "window-sum")]
    check(any(s.code == 1 and os.path.basename(stream) in s.err and "Snappy" in s.err for s in said),
          "a flipped bit of a compressed stream is not found", [s.err for s in said])


@test
def files_that_lie_elsewhere_are_found_by_a_rule(where):
    unpack(where, ["rocksdb-incremental"])
    at = chk(where, "rocksdb-incremental")
    job = os.path.dirname(at)
    os.rename(job + "/shared", where + "/elsewhere")
    refused(at, "--operator", "keyed-long", "--name", "value-long", code=2, words=["/shared/"])
    rule = "/tmp/flinkstate/rocksdb-incremental/%s/shared=%s/elsewhere" % (os.path.basename(job), where)
    same(len(rows(at, "--operator", "keyed-long", "--name", "value-long", "--rebase", rule)), 300, "entries")


@test
def wrong_questions_are_answered_with_what_would_be_right(where):
    unpack(where, ["hashmap-checkpoint"])
    at = chk(where, "hashmap-checkpoint")
    refused(at, "--name", "window-contents", code=2, words=["several states may be meant", "--operator"])
    refused(at, "--name", "nothing", code=2, words=["no such state"])
    refused(at, "--operator", "keyed-long", "--name", "value-long", "--key", "x", code=2, words=["--key"])
    refused(at, "--operator", "keyed-long", "--name", "value-long", "--key", "3.5", code=2, words=["no value of LongSerializer"])
    refused(at, "--operator", "keyed-string", "--name", "value-long", "--key-group", "128", code=2, words=["key groups 0..127"])
    refused(at, "--operator", "broadcast", "--name", "broadcast-rules", "--key", "a", code=2, words=["a list without keys"])
    same(state(at, "keyed-string", "value-long", "--key", "nobody"), [], "an absent key")
    same(len(rows(where + "/hashmap-checkpoint", "--operator", "keyed-long", "--name", "value-long")), 300, "entries of the one below a root")
    limited = state(at, "keyed-string", "value-long", "--limit", "3")
    same(len(limited), 3, "--limit 3")
    largest = state(at, "keyed-string", "map-string-long", "--largest", "2")
    same([r["entries"] for r in largest], [4, 4], "entries of the largest keys")


if __name__ == "__main__":
    main()
