#!/usr/bin/env python3
"""state_verb.py - varve state: what it shows of a real job's checkpoint and savepoint, with both backends, is what the input says."""
import collections
import csv
import datetime
import decimal
import io
import json
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from varve import BACKENDS, Job, check, files_table, main, newest, same, settings, table, test, varve, write

ROWS = 4000
COLUMNS = "k STRING, n INT, p DECIMAL(10, 2), at TIMESTAMP(3), s STRING"
TEXTS = ["x", "zwölf", "a text that lies behind its row", ""]
MONITOR = {"source.monitor-interval": "100 ms"}


def rows_of_input(seed):
    rng = random.Random(seed)
    for i in range(ROWS):
        yield ("key %d" % rng.randrange(150), rng.choice([-1, 0, 7]), decimal.Decimal(rng.randrange(-99999, 99999)) / 100,
               datetime.datetime(2026, 1, 1) + datetime.timedelta(seconds=rng.randrange(86400)), rng.choice(TEXTS))


def write_input(where, rows):
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_MINIMAL)
    for k, n, p, at, s in rows:
        out.writerow([k, n, p, at.isoformat(sep=" ", timespec="milliseconds"), s])
    write(where + "/in/1.csv", text.getvalue())


def groups_of(rows, key):
    groups = collections.defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return groups


AGGREGATE = ("SELECT k, n, COUNT(*), SUM(p), AVG(n), MIN(at), MAX(s), COUNT(DISTINCT s), MIN(CAST(n AS DOUBLE)) FROM t GROUP BY k, n")
AGGREGATE_COLUMNS = "k STRING, n INT, c BIGINT, sp DECIMAL(38, 2), an INT, ma TIMESTAMP(3), ms STRING, ds BIGINT, md DOUBLE"


def totals(rows):
    """What accState holds of a group."""
    return {"COUNT(*)": len(rows), "SUM(p)$sum": sum(r[2] for r in rows), "SUM(p)$count": len(rows), "AVG(n)$sum": sum(r[1] for r in rows),
            "AVG(n)$count": len(rows), "MIN(at)": min(r[3] for r in rows), "COUNT(DISTINCT s)": len({r[4] for r in rows}),
            "MIN(CAST(n AS DOUBLE))": float(min(r[1] for r in rows))}


def script(where, backend, query=AGGREGATE, columns=AGGREGATE_COLUMNS, source=COLUMNS, parallelism=2, **more):
    return (settings(where, backend, parallelism, interval="1 h", mode="streaming", **more) +
            files_table("t", source, where + "/in", **MONITOR) + table("o", columns, connector="blackhole") + "INSERT INTO o %s;\n" % query)


def snapshots(where, text):
    """Runs the job over all of the input: its savepoint, and its last checkpoint."""
    job = Job(where, text)
    job.wait_rows(ROWS)
    job.checkpoint()
    savepoint = job.savepoint(where + "/sp")
    job.cancel()
    return savepoint, newest(where)


def state(path, *options, code=0):
    """Rows of varve state."""
    got, out, err = varve("state", "-q", path, "--format", "jsonl", *options)
    same(got, code, "exit code of varve state %s\n%s" % (" ".join(options), err))
    return [json.loads(line, parse_float=decimal.Decimal) for line in out.splitlines()]


def keyed(rows, columns):
    found = {}
    for r in rows:
        r.pop("key_group")
        key = tuple(r.pop(c) for c in columns)
        check(key not in found, "two entries of %r" % (key,))
        found[key] = r
    return found


def as_shown(value):
    if isinstance(value, datetime.datetime):
        text = value.isoformat(sep=" ", timespec="milliseconds")
        return text.rstrip("0").rstrip(".") if "." in text else text
    return value


def same_tables(got, want, what):
    same(sorted(got), sorted(want), "keys of " + what)
    for key in want:
        same(got[key], {c: as_shown(x) for c, x in want[key].items()}, "%s of %r" % (what, key))


@test(each=BACKENDS)
def every_entry_is_what_the_input_says(where, backend):
    rows = list(rows_of_input(1))
    write_input(where, rows)
    groups = groups_of(rows, lambda r: r[:2])
    shown = []
    for path in snapshots(where, script(where, backend)):
        listed = {r["state"]: r for r in state(path)}
        same(sorted(listed), ["accState", "acc_MAX(s)", "distinctAcc_COUNT(DISTINCT s)", "source-positions"], "states")
        same(listed["accState"]["kind"], "value state", "kind")
        same(listed["accState"]["key_type"], "ROW<`k` STRING, `n` INT>", "key type")
        check(len(groups) <= listed["accState"]["entries"] <= 4 * len(groups), "entries about: %r" % listed["accState"])
        acc = state(path, "--name", "accState")
        check([r["key_group"] for r in acc] == sorted(r["key_group"] for r in acc), "not in the order of key groups")
        shown.append(json.dumps(acc, default=str))
        by_group = collections.Counter(r["key_group"] for r in acc)
        same_tables(keyed(acc, "kn"), {g: totals(rs) for g, rs in groups.items()}, "accState")
        same_tables(keyed(state(path, "--name", "acc_MAX(s)"), "kn"), {g: {"value": max(r[4] for r in rs)} for g, rs in groups.items()},
                    "acc_MAX(s)")
        distinct = keyed(state(path, "--name", "distinctAcc_COUNT(DISTINCT s)"), ("k", "n", "map_key"))
        same_tables(distinct, {g + (s,): {"value": n} for g, rs in groups.items() for s, n in collections.Counter(r[4] for r in rs).items()},
                    "distinctAcc")
        counts = {r["state"]: r for r in state(path, "--count")}
        same((counts["accState"]["entries"], counts["distinctAcc_COUNT(DISTINCT s)"]["entries"]), (len(groups), len(distinct)), "counts")
        same({r["key_group"]: r["entries"] for r in state(path, "--count", "--per-key-group", "--name", "accState")}, dict(by_group),
             "counts by key group")
        group = min(by_group)
        same(len(state(path, "--name", "accState", "--key-group", str(group))), by_group[group], "entries of one key group")
        same(len(state(path, "--name", "accState", "--limit", "7")), 7, "entries with a limit")
    same(shown[0], shown[1], "the checkpoint beside the savepoint")


@test(each=BACKENDS)
def one_key_is_found_by_its_text(where, backend):
    rows = list(rows_of_input(2))
    write_input(where, rows)
    groups = groups_of(rows, lambda r: r[:2])
    savepoint, _ = snapshots(where, script(where, backend))
    for key in list(groups)[:20]:
        text = json.dumps(key)
        same_tables(keyed(state(savepoint, "--name", "accState", "--key", text), "kn"), {key: totals(groups[key])}, "accState")
        same(sorted((r["map_key"], r["value"]) for r in state(savepoint, "--name", "distinctAcc_COUNT(DISTINCT s)", "--key", text)),
             sorted(collections.Counter(r[4] for r in groups[key]).items()), "distinct values of %r" % (key,))
    same(state(savepoint, "--name", "accState", "--key", '["nobody", 7]'), [], "entries of a key that is not there")
    largest = state(savepoint, "--name", "distinctAcc_COUNT(DISTINCT s)", "--largest", "5")
    same(len(largest), 5, "largest keys")
    sizes = [r["bytes"] for r in largest]
    check(sizes == sorted(sizes, reverse=True), "not by size: %r" % sizes)
    for r in largest:
        same(r["entries"], len({row[4] for row in groups[(r["k"], r["n"])]}), "entries of %r" % r)


@test(each=BACKENDS)
def windows_have_their_end(where, backend):
    rows = list(rows_of_input(3))
    write_input(where, rows)
    savepoint, _ = snapshots(where, script(
        where, backend, source=COLUMNS + ", WATERMARK FOR at AS at - INTERVAL '2' DAY", columns="k STRING, e TIMESTAMP(3), c BIGINT",
        query="SELECT k, window_end, COUNT(*) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(at), INTERVAL '1' HOUR)) GROUP BY k, window_start, "
              "window_end"))

    def window(row):
        return (row[0], as_shown(row[3].replace(minute=0, second=0) + datetime.timedelta(hours=1)))

    groups = groups_of(rows, window)
    same_tables(keyed(state(savepoint, "--name", "window-aggs"), ("k", "window_end")), {g: {"COUNT(*)": len(rs)} for g, rs in groups.items()},
                "window-aggs")
    ends = {e for k, e in groups if k == "key 7"}
    same({r["window_end"] for r in state(savepoint, "--name", "window-aggs", "--key", "key 7")}, ends, "windows of one key")


@test(each=BACKENDS)
def a_time_to_live_shows_when_a_group_was_last_seen(where, backend):
    rows = list(rows_of_input(4))
    write_input(where, rows)
    before = datetime.datetime.now(datetime.timezone.utc)
    savepoint, _ = snapshots(where, script(where, backend, **{"table.exec.state.ttl": "1 h"}))
    after = datetime.datetime.now(datetime.timezone.utc)
    groups = groups_of(rows, lambda r: r[:2])
    for name in ("accState", "acc_MAX(s)", "distinctAcc_COUNT(DISTINCT s)"):
        for r in state(savepoint, "--name", name):
            seen = datetime.datetime.fromisoformat(r.pop("last_access").replace("Z", "+00:00"))
            check(before - datetime.timedelta(seconds=1) <= seen <= after, "%s: %s is not during the run" % (name, seen))
    acc = state(savepoint, "--name", "accState")
    for r in acc:
        del r["last_access"]
    same_tables(keyed(acc, "kn"), {g: totals(rs) for g, rs in groups.items()}, "accState")


@test
def csv_and_tables_say_the_same(where):
    write_input(where, rows_of_input(5))
    savepoint, _ = snapshots(where, script(where, "hashmap"))
    want = state(savepoint, "--name", "accState")
    _, out, _ = varve("state", "-q", savepoint, "--name", "accState", "--format", "csv")
    lines = list(csv.DictReader(io.StringIO(out)))
    same([(r["k"], int(r["n"]), decimal.Decimal(r["SUM(p)$sum"])) for r in lines], [(r["k"], r["n"], r["SUM(p)$sum"]) for r in want], "CSV")
    _, out, _ = varve("state", "-q", savepoint, "--name", "accState", "--format", "table", "--limit", "3")
    head, rule, *cells = out.splitlines()
    check(head.split()[:3] == ["key_group", "k", "n"] and set(rule) == {"-", " "} and len(cells) == 3, "table", out)


def image_of(directory):
    """Everything about the files that a reader could change."""
    found = {}
    for at, folders, names in os.walk(directory):
        for name in folders + names:
            st = os.lstat(os.path.join(at, name))
            found[os.path.join(at, name)] = (st.st_mode, st.st_nlink, st.st_size, st.st_mtime_ns, st.st_ctime_ns, st.st_ino)
    return found


@test(each=BACKENDS)
def nothing_of_the_snapshot_changes_and_nothing_is_left(where, backend):
    write_input(where, rows_of_input(6))
    savepoint, checkpoint = snapshots(where, script(where, backend))
    os.mkdir(where + "/tmp")
    before = image_of(where + "/ck"), image_of(savepoint)
    for path in savepoint, checkpoint:
        for options in [], ["--count"], ["--name", "accState"], ["--name", "accState", "--key", '["key 7", 7]']:
            code, _, err = varve("state", path, *options, prefix=("env", "TMPDIR=%s/tmp" % where))
            same(code, 0, "exit code\n" + err)
    same((image_of(where + "/ck"), image_of(savepoint)), before, "files")
    same(os.listdir(where + "/tmp"), [], "what is left in TMPDIR")


@test
def damage_ends_with_the_name_of_the_file(where):
    rows = list(rows_of_input(7))
    write_input(where, rows)
    groups = groups_of(rows, lambda r: r[:2])
    savepoint, _ = snapshots(where, script(where, "rocksdb", parallelism=1))
    whole = {name: state(savepoint, "--name", name) for name in ("accState", "acc_MAX(s)", "distinctAcc_COUNT(DISTINCT s)")}
    files = sorted(f for f in os.listdir(savepoint) if f.endswith(".sst"))
    same(len(files), 3, "one file a state")
    refused = 0
    for name in files:
        path = os.path.join(savepoint, name)
        data = bytearray(open(path, "rb").read())
        data[len(data) // 3] ^= 16
        os.chmod(path, 0o644)
        write(path, bytes(data))
        for s, right in whole.items():
            code, out, err = varve("state", savepoint, "--name", s, "--format", "jsonl")
            if code == 0:
                same([json.loads(line, parse_float=decimal.Decimal) for line in out.splitlines()], right, s)
            else:
                same((code, out), (1, ""), "a damaged %s" % s)
                check(name in err and "digest" in err, "the message lacks the file", err)
                refused += 1
        for key in list(groups)[:40]:
            code, out, err = varve("state", "-q", savepoint, "--name", "accState", "--key", json.dumps(key), "--format", "jsonl")
            if code == 0:
                same_tables(keyed([json.loads(out, parse_float=decimal.Decimal)], "kn"), {key: totals(groups[key])}, "accState")
            else:
                same((code, out), (1, ""), "a damaged block")
                check(name in err, "the message lacks the file", err)
        data[len(data) // 3] ^= 16
        write(path, bytes(data))
    same(refused, 3, "states that were refused, one for each file")


@test(each=[(a, b) for a in BACKENDS for b in BACKENDS])
def two_snapshots_are_compared_key_by_key(where, backend, later):
    """A second run has other input: fewer groups are left out, some are new, some have other totals."""
    first, second = list(rows_of_input(9)), list(rows_of_input(9))
    second[100:1100] = [("new " + k, n, p, at, s) for k, n, p, at, s in second[100:1100]]
    paths, groups = [], []
    for name, b, rows, parallelism in ("a", backend, first, 2), ("b", later, second, 3):
        write_input(where + "/" + name, rows)
        paths.append(snapshots(where + "/" + name, script(where + "/" + name, b, parallelism=parallelism))[0])
        groups.append({g: totals(rs) for g, rs in groups_of(rows, lambda r: r[:2]).items()})
    a, b = groups
    code, out, err = varve("diff", "-q", *paths, "--state", "--json")
    same(code, 0, "exit code\n" + err)
    r = {row["state"]: row for row in map(json.loads, out.splitlines())}["accState"]
    kept = set(a) & set(b)
    changed = sum(a[g] != b[g] for g in kept)
    check(changed and kept and set(b) - set(a), "the test's own input")
    same([r[c] for c in ("added", "changed", "removed", "same")],
         [len(set(b) - set(a)), changed, len(set(a) - set(b)), len(kept) - changed], "keys added, changed, removed, same")
    sizes = [state(path, "--count", "--name", "accState")[0] for path in paths]
    same(r["added_bytes"] + r["changed_bytes"] + r["same_bytes"], sizes[1]["key_bytes"] + sizes[1]["value_bytes"], "bytes of the second")
    same(varve("diff", paths[0], paths[1], "--state", "--files")[0], 2, "exit code of --state with --files")
    code, out, _ = varve("diff", "-q", paths[0], paths[0], "--state", "--json")
    for row in map(json.loads, out.splitlines()):
        same((row["added"], row["changed"], row["removed"]), (0, 0, 0), "a snapshot beside itself")


@test
def the_one_keyed_state_need_not_be_named(where):
    write_input(where, rows_of_input(9))
    savepoint, _ = snapshots(where, script(where, "rocksdb", "SELECT k, COUNT(*) FROM t GROUP BY k", "k STRING, n BIGINT"))
    same(state(savepoint, "--limit", "5"), state(savepoint, "--name", "accState", "--limit", "5"), "five entries")


@test
def what_is_asked_wrongly_is_said(where):
    write_input(where, rows_of_input(8))
    savepoint, _ = snapshots(where, script(where, "hashmap"))
    for code, options, words in [
            (2, ["--name", "nothing"], "no such state"),
            (2, ["--limit", "3"], "--operator and --name"),
            (2, ["--name", "accState", "--key", "a"], "2 columns"),
            (2, ["--name", "accState", "--key-group", "128"], "0..127"),
            (2, ["--name", "accState", "--format", "xml"], "jsonl, csv or table"),
            (2, ["--name", "accState", "--key", "a", "--count"], "exclude each other"),
            (2, ["--name", "source-positions", "--key", "a"], "list without keys")]:
        got, out, err = varve("state", savepoint, *options)
        same((got, out), (code, ""), "varve state %s\n%s" % (" ".join(options), err))
        check(words in err, "%r lacks %r" % (err, words))
    same(varve("state", where + "/nowhere")[0], 2, "exit code of a path that is not there")
    os.remove(savepoint + "/_metadata")
    same(varve("state", savepoint)[0], 2, "exit code of a savepoint that was never completed")


if __name__ == "__main__":
    main()
