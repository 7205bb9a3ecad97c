#!/usr/bin/env python3
"""flink_looks.py - what is inside the snapshots that real Flink wrote (tests/conformance/golden/flink-state): the states that
inspect lists are those that the job says it has (expected.json, written by Flink's own classes); what is damaged is said and stops
nothing; diff --state finds what the job did between two of them, and nothing between two forms of the same."""
import glob
import json
import os
import shutil
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import json_schema  # noqa: E402
from flink_fixtures import FIXTURES, newest, replaced, unpack  # noqa: E402
from varve import TESTS, Job, check, files_below, inspect, main, read, same, sequence, settings, test, varve, verify  # noqa: E402

SCHEMA = json.loads(read(os.path.join(TESTS, "../docs/inspect.schema.json")))


def states_of(snapshot):
    """States by operator and name; the report. Its "flink" is judged by flink_dirs.py."""
    report = inspect(snapshot)
    flink = report["snapshot"].pop("flink")
    found = json_schema.errors(report, SCHEMA)
    check(not found, "not what docs/inspect.schema.json says", "\n".join(found))
    report["snapshot"]["flink"] = flink
    return {(op["id"], s["name"]): s for op in report["snapshot"]["operators"] for s in op["states"]}, report["snapshot"]


def undescribed(report):
    return [u for op in report["operators"] for u in op["undescribed"]]


@test(each=FIXTURES)
def inspect_lists_the_states_that_the_job_has(where, fixture):
    unpack(where, fixture)
    expected = json.loads(read(where + "/%s.expected.json" % fixture))
    if "operatorsDescribe" not in expected:
        return
    snapshot = os.path.join(where, fixture, expected["operatorsDescribe"])
    found, report = states_of(snapshot)
    same(undescribed(report), [], "descriptions that could not be read")
    wanted = 0
    for op in expected["operators"]:
        for s in op["states"]:
            got = found.pop((op["operatorId"], s["name"]))
            what = "%s of %s" % (s["name"], op["uid"])
            wanted += 1
            same(got["kind"], " ".join([s["kind"]] + ([s["mode"]] if "mode" in s else [])), what + ": kind")
            same(got["value"], s["valueSerializer"], what + ": serializer of values")
            same(got["ttl"], "Ttl" in s["valueSerializer"], what + ": time-to-live")
            if "keySerializer" in op:
                same((got["key"], got["namespace"]), (op["keySerializer"], s["namespaceSerializer"]), what + ": key, namespace")
            if s["kind"] == "BROADCAST":
                same(got["map_key"], s["keySerializer"], what + ": serializer of map keys")
    check(wanted > 8, "only %d states" % wanted)
    check(all(name.startswith("_timer_state/") for _, name in found), "states that nobody expects", found)
    code, text, _ = varve("inspect", snapshot)
    page = where + "/page.html"
    same((code, varve("inspect", snapshot, "--html", page)[0]), (0, 0), "exit codes")
    for _, s in states_of(snapshot)[0].items():
        check("state %s: %s" % (s["name"], s["kind"]) in text, "not in the text: " + s["name"], text)
        check("<code>%s</code>: %s" % (s["name"], s["kind"]) in read(page), "not on the page: " + s["name"])


@test
def a_description_that_is_damaged_is_said_and_stops_nothing(where):
    unpack(where, "rocksdb-incremental")
    snapshot = sorted(glob.glob(where + "/rocksdb-incremental/*/chk-*"))[-1]
    whole, report = states_of(snapshot)
    damaged = 0
    for op in report["flink"]["operators"]:
        for subtask in op.get("subtasks", []):
            meta = (subtask.get("managedKeyed") or {}).get("meta")
            path = meta and os.path.join(snapshot, os.path.basename(meta.get("path", "")))
            if not path or not os.path.isfile(path):
                continue
            before = open(path, "rb").read()
            with open(path, "r+b") as f:
                f.truncate(len(before) // 2)
            found, after = states_of(snapshot)
            same([(u["subtask"], u["part"]) for u in undescribed(after)], [(subtask["index"], "keyed state")], "what is not told")
            check(os.path.basename(path) in undescribed(after)[0]["reason"], "no reason", undescribed(after))
            same(found, whole, "states: another subtask has the same ones")
            code, text, _ = varve("inspect", snapshot)
            check("keyed state of subtask %d is not told: " % subtask["index"] in text, "not said", text)
            with open(path, "wb") as f:
                f.write(before)
            damaged += 1
    check(damaged > 4, "%d descriptions were damaged" % damaged)


@test
def a_name_with_a_line_end_begins_no_line_of_the_report(where):
    unpack(where, "rocksdb-full")
    for path in files_below(where + "/rocksdb-full"):
        whole = open(path, "rb").read()
        if b"VALUE_SERIALIZER" in whole:
            with open(path, "wb") as f:
                f.write(whole.replace(b"\0\x0avalue-long", b"\0\x0ax\n  size 1"))
    snapshot = newest(where, "rocksdb-full")
    code, text, _ = varve("inspect", snapshot)
    check(code == 0 and "state x\\x0a  size 1: VALUE" in text, "exit code %d" % code, text)
    same(len([line for line in text.splitlines() if line.startswith("  size ")]), 1, "lines of the size")


@test(each=("canonical-savepoint-from-rocksdb", "hashmap-checkpoint"))
def a_key_in_a_group_that_is_not_its_own_is_named(where, fixture):
    """Its bytes make sense: nothing but the hash of the key tells."""
    path = replaced(where, fixture, b"key-1", b"key-Q")
    faults = verify(os.path.join(where, fixture))["faults"]
    same([f["path"] for f in faults], [path], "what is at fault")
    check("where Flink would never find it" in faults[0]["reason"] and "state " in faults[0]["reason"], "no reason", faults)


@test
def an_item_that_ends_before_the_next_begins_is_named(where):
    item = bytes.fromhex("00000018" "00000001" "00000010")  # bytes of a source's split: 24 of them
    path = replaced(where, "canonical-savepoint-from-rocksdb", item, bytes.fromhex("00000017") + item[4:])
    faults = verify(where + "/canonical-savepoint-from-rocksdb")["faults"]
    same([f["path"] for f in faults], [path], "what is at fault")
    check("SourceReaderState" in faults[0]["reason"], "no reason", faults)


@test
def a_description_is_read_to_its_end(where):
    path = replaced(where, "rocksdb-incremental", b"VALUE_SERIALIZER", b"VALUE_SERIALIZES")
    faults = [f for f in verify(where + "/rocksdb-incremental")["faults"] if f["path"] == path]
    check(len(faults) == 1 and "lacks a value's serializer" in faults[0]["reason"], "not named", faults)


@test
def an_unknown_class_is_not_provable_and_no_fault(where):
    path = replaced(where, "rocksdb-incremental", b"base.LongSerializer$LongS", b"base.LongSerializes$LongS")
    report = verify(where + "/rocksdb-incremental")
    same(report["faults"], [], "faults")
    reasons = [u["reason"] for u in report["unproven"] if u["path"] == path]
    check(len(reasons) == 1 and "LongSerializes" in reasons[0] and "is not known" in reasons[0], "not said", reasons)


def difference(*args):
    code, out, err = varve("diff", "--state", "--json", *args)
    check(code == 0, "exit code %d" % code, out, err)
    return {(r["operator"], r["state"]): r for r in map(json.loads, out.splitlines())}, err


FORMS = ("native-savepoint-from-rocksdb", "canonical-savepoint-from-hashmap", "rocksdb-full", "hashmap-checkpoint",
         "jobmanager-savepoint")


@test(each=FORMS)
def the_same_state_in_another_form_has_no_difference(where, fixture):
    """The job put the same into each of them; times of the last access are those of its run."""
    unpack(where, "canonical-savepoint-from-rocksdb", fixture)
    rows, _ = difference(newest(where, "canonical-savepoint-from-rocksdb"), newest(where, fixture))
    check(len(rows) >= 9, "only %d states" % len(rows))
    check(sum(r["same"] for r in rows.values()) > 3000, "nothing is the same", rows)
    for name, r in rows.items():
        if name == ("keyed-string", "ttl-long"):
            same((r["added"], r["removed"], r["changed"] + r["same"]), (0, 0, 1000), "of ttl-long")
        else:
            same((r["added"], r["changed"], r["removed"]), (0, 0, 0), "difference of %s %s" % name)


@test
def what_is_exported_has_no_difference_from_its_source(where):
    unpack(where, "rocksdb-incremental")
    source, copy = newest(where, "rocksdb-incremental"), where + "/copy"
    code, _, err = varve("export", source, copy, "--to", "flink-savepoint")
    same(code, 0, "exit code of export: " + err)
    rows, _ = difference(source, copy)
    same(sum(r["added"] + r["changed"] + r["removed"] for r in rows.values()), 0, "differences")
    check(len(rows) == 22 and sum(r["same"] for r in rows.values()) == 11210 + 39, "too few", rows)
    same(verify(copy)["faults"], [], "faults of the copy")


def put_there(where, round_, uid):
    rows = map(json.loads, read(where + "/contents-after-round-%d.jsonl" % round_).splitlines())
    return {str(r["key"]): r for r in rows if r["uid"] == uid}


@test
def the_difference_is_what_the_job_did_in_between(where):
    unpack(where, "rocksdb-incremental", *("contents-after-round-%d.jsonl" % i for i in range(3)))
    job = os.path.dirname(newest(where, "rocksdb-incremental"))
    for before, after in ((1, 2), (2, 1), (0, 2)):
        rows, _ = difference(*("%s/chk-%d" % (job, i + 2) for i in (before, after)))
        for uid, state in (("keyed-string", "value-long"), ("keyed-string", "value-string"), ("keyed-string", "list-long"),
                           ("keyed-long", "value-long")):
            a, b = ({k: r[state] for k, r in put_there(where, i, uid).items() if r.get(state) is not None} for i in (before, after))
            r = rows[(uid, state)]
            same((r["added"], r["changed"], r["removed"]),
                 (len(b.keys() - a.keys()), len([k for k in a.keys() & b.keys() if a[k] != b[k]]), len(a.keys() - b.keys())),
                 "%s of %s, %d to %d" % (state, uid, before, after))
        a, b = ({(k, m): v for k, r in put_there(where, i, "keyed-string").items() for m, v in r["map-string-long"].items()}
                for i in (before, after))
        r = rows[("keyed-string", "map-string-long")]
        same((r["added"], r["removed"]), (len(b.keys() - a.keys()), len(a.keys() - b.keys())), "entries of a map")


def change(snapshot, old, new, how_often):
    """The bytes in how_often files of a snapshot."""
    for path in files_below(snapshot):
        whole = open(path, "rb").read()
        if old in whole and how_often > 0:
            with open(path, "wb") as f:
                f.write(whole.replace(old, new, 1))
            how_often -= 1
    same(how_often, 0, "places left of %r" % old)


@test
def state_without_keys_is_compared(where):
    """Items of lists by their content, over all subtasks; a broadcast state, of which each has a copy, by its keys."""
    unpack(where, "rocksdb-incremental")
    a = newest(where, "rocksdb-incremental")
    b = os.path.dirname(a) + "/chk-5"
    shutil.copytree(a, b)
    rule = b"\x07rule-%d" + bytes(7) + b"%c"
    change(b, rule % (9, 99), rule % (9, 98), 2)
    change(b, rule % (0, 0), b"\x07rule-X" + bytes(8), 2)
    change(b, struct.pack(">qqq", 0, 1, 2), struct.pack(">qqq", 1, 1, 77), 1)
    change(b, struct.pack(">qqq", 0, -1, -2), struct.pack(">qqq", 0, -1, -9), 1)
    for pair in ((a, b), (b, a)):
        rows, err = difference(*pair)
        want = {("broadcast", "broadcast-rules"): (1, 1, 1, 8), ("operator-state", "op-list"): (2, 0, 2, 18),
                ("operator-state", "op-union"): (1, 0, 1, 5)}
        for name, counts in want.items():
            r = rows[name]
            same((r["added"], r["changed"], r["removed"], r["same"]), counts, "%s of %s" % name[::-1])
        same(rows[("operator-state", "op-list")]["added_bytes"], 16, "bytes of two BIGINT")
        check("copies" not in err, "copies differ", err)
        same(sum(r["added"] + r["changed"] + r["removed"] for k, r in rows.items() if k not in want), 0, "all else")
    change(b, rule % (9, 98), rule % (9, 97), 1)
    _, err = difference(a, b)
    check("B: operator broadcast: state broadcast-rules: the subtasks' copies are not the same" in err and "A: operator broad" not in err,
          "not said", err)
    code, out, _ = varve("diff", "--state", "--json", b, a)
    check(code == 0 and len(out.splitlines()) == 22, "rows", out)


@test
def what_cannot_be_compared_is_said(where):
    unpack(where, "rocksdb-incremental")
    flink = newest(where, "rocksdb-incremental")
    code, _, err = varve("diff", "--state", flink, where + "/rocksdb-incremental")
    check(code == 0 and "B  " in err, "the newest of a directory", err)
    code, _, err = varve("diff", "--state", flink, where + "/nothing")
    check(code == 2 and "nothing: No such file" in err and "written by Flink" not in err, "exit code %d" % code, err)
    job = Job(where, settings(where, "rocksdb", interval="50 ms", mode="streaming") + sequence("s", 1000000, rate=1000) +
              "CREATE TABLE o (k BIGINT, n BIGINT) WITH ('connector' = 'blackhole');\n"
              "INSERT INTO o SELECT MOD(id, 10), COUNT(*) FROM s GROUP BY MOD(id, 10);\n")
    job.wait_checkpoints(2)
    job.kill()
    own = "%s/ck/%s" % (where, job.jid)
    for pair in ((flink, own), (own, flink)):
        code, out, err = varve("diff", "--state", *pair)
        check(code == 2 and out == "" and "was written by Flink and the other was not" in err, "exit code %d" % code, out, err)


def orphans(path, *options):
    code, out, err = varve("orphans", "--json", "--min-age", "0 ms", *options, path)
    report = json.loads(out)
    same(len(report["places"]), 1, "places")
    return code, report["places"][0], err


@test
def what_no_metadata_names_is_deleted_when_the_job_is_said_to_be_stopped(where):
    """The oldest of three checkpoints loses its _metadata: what it alone named is left over."""
    unpack(where, "rocksdb-incremental")
    job = os.path.dirname(newest(where, "rocksdb-incremental"))
    os.unlink(job + "/chk-2/_metadata")
    before = set(files_below(job))
    for path in before:  # as Flink wrote them: every _metadata after what it names
        os.utime(path, (1.7e9, 1.7e9 + path.endswith("/_metadata")))
    code, place, _ = orphans(job, "--delete")
    check(code == 2 and "--job-is-stopped" in place["fault"], "exit code %d" % code, place)
    same((place["deleted"], set(files_below(job))), (0, before), "without the word")
    listed = {o["path"] for o in place["orphans"]}
    check(job + "/chk-2" in listed and len(listed) > 3, "orphans", listed)
    code, out, err = varve("orphans", "--job-is-stopped", job)
    check(code == 2 and "--delete" in err, "exit code %d" % code, err)
    code, place, _ = orphans(job, "--delete", "--job-is-stopped")
    same((code, place["fault"], place["deleted"], place["newer"], place["claimants"]), (0, None, len(listed), 0, 2), "with it")
    same({p for p in before - set(files_below(job)) if "/chk-2/" not in p}, listed - {job + "/chk-2"}, "what is gone")
    check(not os.path.exists(job + "/chk-2"), "chk-2 is left")
    report = verify(job, "--deep")
    same((report["faults"], report["clean"]), ([], 2), "faults of the others")
    same(orphans(job)[1]["orphans"], [], "orphans after it")


@test
def what_a_snapshot_elsewhere_names_is_spared(where):
    """A job that claimed this one's checkpoint lies in a directory of its own, beside or where the user says."""
    unpack(where, "rocksdb-incremental")
    job = os.path.dirname(newest(where, "rocksdb-incremental"))
    for elsewhere in (os.path.dirname(job) + "/" + "ab" * 16, where + "/x/y"):
        os.makedirs(elsewhere + "/chk-9")
        with open(elsewhere + "/chk-9/_metadata", "wb") as f:
            f.write(open(job + "/chk-2/_metadata", "rb").read())
    os.unlink(job + "/chk-2/_metadata")
    shutil.move(os.path.dirname(job) + "/" + "ab" * 16, where + "/aside")
    code, place, _ = orphans(job)
    everything = len(place["orphans"])
    check(place["claimed"] == 0 and everything > 3, "nobody claims", place)
    code, place, _ = orphans(job, "--claimed-by", where + "/x")
    same((code, place["claimed"], place["orphans"]), (0, everything, []), "claimed elsewhere")
    shutil.move(where + "/aside", os.path.dirname(job) + "/" + "ab" * 16)
    code, place, err = orphans(job, "--delete", "--job-is-stopped")
    same((code, place["claimed"], place["deleted"]), (0, everything, 0), "claimed beside it")
    code, _, err = varve("orphans", "--claimed-by", where + "/nowhere", job)
    check(code in (1, 2, 3) and "nowhere" in err, "exit code %d" % code, err)


if __name__ == "__main__":
    main()
