#!/usr/bin/env python3
"""flink_deep.py - verify --deep of what real Flink wrote (tests/conformance/golden/flink-state): every entry of every snapshot is read
to its end and lies where Flink looks for it; a value that ends early is named; entries outside of the key groups of
their handle, as a rescale leaves them in a database, are counted and no fault. Databases made with faults: unit/test_flink_prove_deep.c."""
import json
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from flink_fixtures import FIXTURES, newest, replaced, unpack  # noqa: E402
from varve import check, files_below, inspect, main, same, test, tree_digest, varve, verify  # noqa: E402


@test(each=FIXTURES)
def every_entry_that_flink_wrote_is_where_flink_looks_for_it(where, fixture):
    unpack(where, fixture)
    before = tree_digest(where)
    report = verify(where + "/" + fixture, "--deep")
    same((report["faults"], report["left_over"]), ([], []), "faults, left over")
    same([u for u in report["unproven"] if "entry by entry" in u["reason"]], [], "what could not be judged")
    same(tree_digest(where), before, "the directory")


@test
def a_value_that_ends_early_is_named(where):
    """A text of 7 letters says that it has 8: streams of a savepoint have no checksum."""
    path = replaced(where, "canonical-savepoint-from-rocksdb", b"\x08v-212-0", b"\x09v-212-0")
    directory = where + "/canonical-savepoint-from-rocksdb"
    same(verify(directory)["faults"], [], "faults without --deep")
    faults = verify(directory, "--deep")["faults"]
    same([(f["path"], f["operator"], f["size"]) for f in faults], [(path, "keyed-string", os.path.getsize(path))], "what is at fault")
    check('state "value-string", key group ' in faults[0]["reason"] and 'key "key-212": ' in faults[0]["reason"], "no reason", faults)
    code, out, _ = varve("verify", "--deep", directory)
    check(code == 1 and "damaged: %s (" % path in out and 'key "key-212"' in out, "exit code %d" % code, out)


def groups_of(snapshot, state):
    """The key group of each entry."""
    code, out, err = varve("state", snapshot, "--operator", "keyed-string", "--name", state, "--json")
    same(code, 0, "exit code of state: " + err)
    return [json.loads(line)["key_group"] for line in out.splitlines()]


@test
def entries_that_a_rescale_left_are_counted_and_no_fault(where):
    """The handle of the first subtask loses its upper half, as if the subtask had been split and not yet compacted."""
    unpack(where, "rocksdb-incremental")
    snapshot = newest(where, "rocksdb-incremental")
    operator = [o for o in inspect(snapshot)["snapshot"]["flink"]["operators"] if o.get("name") == "keyed-string"][0]
    handle = operator["subtasks"][0]["managedKeyed"]
    first, last = handle["keyGroupRange"]
    count = last + 1 - first
    want = sum(first + count // 2 <= g <= last for g in groups_of(snapshot, "value-long"))
    old = handle["backendId"].encode() + struct.pack(">ii", first, count)
    whole = open(snapshot + "/_metadata", "rb").read()
    same(whole.count(old), 1, "places of the range")
    with open(snapshot + "/_metadata", "wb") as f:
        f.write(whole.replace(old, old[:-4] + struct.pack(">i", count // 2)))
    report = verify(snapshot, "--deep")
    same(report["faults"], [], "faults")
    found = {o["state"]: o for o in report["left_over"]}
    check(want > 100 and len(found) >= 8, "little is left over", found)
    same((found["value-long"]["entries"], found["value-long"]["operator"], found["value-long"]["subtask"]),
         (want, "keyed-string", 0), "left over of value-long")
    check(all(o["entries"] > 0 and o["size"] > o["entries"] and o["snapshot"] == snapshot for o in found.values()), "sizes", found)
    same(verify(snapshot)["left_over"], [], "without --deep")
    code, out, _ = varve("verify", "--deep", snapshot)
    check(code == 0 and 'left over from a rescale: %d entries' % want in out.replace(",", ""), "exit code %d" % code, out)


@test
def a_file_that_is_damaged_is_named_once(where):
    unpack(where, "rocksdb-incremental")
    for path in files_below(where + "/rocksdb-incremental"):
        data = open(path, "rb").read()
        if data.endswith(bytes.fromhex("f7cff485b741e288")):  # an SST's last word
            with open(path, "wb") as f:
                f.write(data[:100] + bytes([data[100] ^ 1]) + data[101:])
            faults = verify(where + "/rocksdb-incremental", "--deep")["faults"]
            same([f["path"] for f in faults], [path], "what is at fault")
            return
    check(False, "no file")


if __name__ == "__main__":
    main()
