#!/usr/bin/env python3
"""flink_sql_state.py - aggregations that Flink's own SQL kept go on in varve: `inspect --mapping` drafts the mapping for the same query, its output is taken
unchanged, and the rest of the rows gives the exact results; without a job, or where names and types do not say enough, what is open is named."""
import collections
import datetime
import glob
import json
import os
import re
import shutil
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from varve import BACKENDS, TESTS, Job, check, files_table, lines_of, main, same, settings, table, test, varve, write

ARCHIVE = os.path.join(TESTS, "conformance/golden/flink-sql-state/snapshots.tar.xz")
ROWS = 20000
CALLS = {  # of tests/conformance/flink/SqlState.java; {hint}: varve's uid
    "totals": "SELECT {hint}k, t, COUNT(*), COUNT(n), SUM(v), SUM(CAST(d AS DECIMAL(12, 2))), SUM(x), SUM(n), AVG(v), AVG(x), MIN(v), MAX(x), MAX(t), MIN(ts) FROM source GROUP BY k, t",
    "distinct": "SELECT {hint}k, COUNT(DISTINCT n), COUNT(*) FROM source GROUP BY k",
    "again": "SELECT t, SUM(c), COUNT(*), SUM(s) FROM (SELECT k, t, COUNT(*) AS c, SUM(v) AS s FROM source GROUP BY k, t) GROUP BY t",
    "least": "SELECT {hint}k, MIN(v), MAX(v) FROM source GROUP BY k",
    "tumble": "SELECT {hint}k, window_end, COUNT(*), SUM(v), MAX(x) FROM TABLE(TUMBLE(TABLE source, DESCRIPTOR(ts), INTERVAL '1' HOUR)) GROUP BY k, window_start, window_end",
}
COLUMNS = {
    "totals": "k INT, t STRING, c BIGINT, cn BIGINT, sv BIGINT, sd DECIMAL(38, 2), sx DOUBLE, sn BIGINT, av BIGINT, ax DOUBLE, mv INT, mx DOUBLE, mt STRING, ts TIMESTAMP(3)",
    "distinct": "k INT, d BIGINT, c BIGINT",
    "again": "t STRING, s BIGINT, c BIGINT, v BIGINT",
    "least": "k INT, a INT, z INT",
    "tumble": "k INT, e TIMESTAMP(3), c BIGINT, s BIGINT, m DOUBLE",
}
START = datetime.datetime(2026, 1, 1)


def snapshot(where, name):
    if not os.path.isdir(where + "/theirs"):
        with tarfile.open(ARCHIVE) as tar:
            tar.extractall(where + "/theirs")
    return glob.glob("%s/theirs/%s/savepoint-*" % (where, name))[0]


def came_so_far(path):
    """Rows that Flink's source had given: it keeps those to come."""
    code, out, err = varve("state", "-q", path, "--name", "id-sequence-state", "--format", "jsonl")
    same(code, 0, "exit code; " + err)
    left = [json.loads(l)["value"] for l in out.splitlines()]
    same(sorted(left), list(range(min(left), max(left) + 1)), "what is to come")
    return min(left) - 1


def job(where, name, first, backend, parallelism, **more):
    source = ("CREATE TABLE source (id BIGINT, k AS MOD(id, 97), t AS CAST(MOD(id, 5) AS STRING), v AS CAST(MOD(id, 1000) - 500 AS INT), d AS CAST(MOD(id, 777) AS DECIMAL(10, 2)) / 4, "
              "x AS CAST(MOD(id, 64) AS DOUBLE) / 8, n AS CASE WHEN MOD(id, 97) < 10 THEN NULL ELSE MOD(id, 31) END, ts AS TIMESTAMPADD(SECOND, CAST(id AS INT), TIMESTAMP '2026-01-01 00:00:00.000'), "
              "WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH ('connector' = 'datagen', 'varve.uid' = 'source', 'fields.id.kind' = 'sequence', 'fields.id.start' = '%d', 'fields.id.end' = '%d');\n" % (first, ROWS))
    # An aggregation over another one's results sees them change in streaming mode alone, and only there does state expire.
    updates = name == "again" or more
    sink = table("o", COLUMNS[name], connector="print") if updates else files_table("o", COLUMNS[name], where + "/out")
    return (settings(where, backend, parallelism, "50 ms", "streaming" if updates or name == "tumble" else "batch", **more) + source + sink +
            "INSERT INTO o " + CALLS[name].format(hint="/*+ OPTIONS('varve.uid'='totals') */ ") + ";\n")


def row(i):
    return {"k": i % 97, "t": str(i % 5), "v": i % 1000 - 500, "d": i % 777 * 25, "x": i % 64 / 8, "n": None if i % 97 < 10 else i % 31, "ts": START + datetime.timedelta(seconds=i)}


def cut(a, b):
    return abs(a) // b * (1 if a >= 0 else -1)


def expected(name, came):
    groups = collections.defaultdict(list)
    for i in range(1, ROWS + 1):
        r = row(i)
        key = {"totals": (r["k"], r["t"]), "distinct": (r["k"],), "least": (r["k"],), "again": (r["t"],), "tumble": (r["k"], i // 3600)}[name]
        groups[key].append(r)
    for key, rows in groups.items():
        n = [r["n"] for r in rows if r["n"] is not None]
        v, x = [r["v"] for r in rows], [r["x"] for r in rows]
        if name == "totals":
            yield (*map(str, key), len(rows), len(n), sum(v), "%d.%02d" % divmod(sum(r["d"] for r in rows), 100), float(sum(x)), sum(n) if n else "", cut(sum(v), len(v)), sum(x) / len(x),
                   min(v), max(x), key[1], min(r["ts"] for r in rows).strftime("%Y-%m-%d %H:%M:%S"))
        elif name == "distinct":
            yield (key[0], len(set(n)), len(rows))
        elif name == "least":
            yield (key[0], min(v), max(v))
        elif name == "again":
            yield (key[0], len(rows), len({r["k"] for r in rows}), sum(v))
        elif (key[1] + 1) * 3600 > came - 5:  # else Flink has closed it
            yield (key[0], (START + datetime.timedelta(hours=key[1] + 1)).strftime("%Y-%m-%d %H:%M:%S"), len(rows), sum(v), max(x))


def results(run, where):
    """Rows of the files, or the last of each key that were printed."""
    if os.path.isdir(where + "/out"):
        return [l.decode().split(",") for l in lines_of(where + "/out")]
    last = {}
    for kind, text in re.findall(r"^(?:\d+> )?(\+I|\+U|-U|-D)\[(.*)\]$", run.out, re.M):
        fields = ["" if f == "null" else f.replace("T", " ") for f in text.split(", ")]
        key = tuple(fields[:2 if len(fields) > 4 else 1])
        if kind == "-D":
            del last[key]
        elif kind != "-U":
            last[key] = fields
    return list(last.values())


def comparable(fields):
    fields = [re.sub(r"^(\d+-\d\d-\d\d \d\d:\d\d)$", r"\1:00", str(f).strip('"')) for f in fields]
    return tuple(round(float(f), 9) if re.fullmatch(r"-?\d+(\.\d+)?(E-?\d+)?", str(f)) else str(f) for f in fields)


def draft(where, path, sql):
    write(where + "/job.sql", sql)
    code, out, err = varve("inspect", path, "--mapping", "--job", where + "/job.sql")
    same(code, 0, "exit code of the draft; " + err)
    check("fill in" not in out, "everything is drafted", out)
    with open(where + "/mapping.yaml", "w", encoding="utf-8") as f:
        f.write(out)
    return where + "/mapping.yaml"


@test(each=["totals", "totals-native", "totals-ttl", "distinct", "least", "again", "tumble"])
def what_flinks_sql_counted_goes_on(where, kept):
    name = kept.split("-")[0]
    path = snapshot(where, kept)
    came = came_so_far(path)
    check(1000 < came < ROWS, "rows before the snapshot", came)
    more = {"table.exec.state.ttl": "36500 d"} if kept == "totals-ttl" else {}
    for backend, parallelism in zip(BACKENDS, (1, 3)):
        os.makedirs(where + "/run", exist_ok=True)
        sql = job(where, name, came + 1, backend, parallelism, **more)
        run = Job(where, sql, ["-s", path, "--mapping", draft(where, path, sql)])
        same(run.wait(), 0, "exit code; " + run.said())
        got = sorted(map(comparable, results(run, where)))
        want = sorted(map(comparable, expected(name, came)))
        same(len(got), len(want), "rows")
        check(got == want, "the table is wrong", [(g, w) for g, w in zip(got, want) if g != w][:3])
        for used in ("out", "ck"):
            shutil.rmtree("%s/%s" % (where, used), ignore_errors=True)


@test(each=BACKENDS)
def negative_values_of_rows_that_fit_as_they_are_stay_negative(where, backend):
    """Flink leaves the upper half of an INT's slot zero, varve's totals have all of it."""
    path = snapshot(where, "least")
    came = came_so_far(path)
    os.makedirs(where + "/run", exist_ok=True)
    with open(draft(where, path, job(where, "least", came + 1, backend, 2)), encoding="utf-8") as f:
        check("\n    # accState goes on as it is: its types are the same\n" in f.read(), "what the draft says")
    write(where + "/mapping.yaml", "operators: [{id: 8169645948178b87f8ca664b8ebcd2e2, operator: totals}]\n")
    run = Job(where, job(where, "least", came + 1, backend, 2), ["-n", "-s", path, "--mapping", where + "/mapping.yaml"])
    same(run.wait(), 0, "exit code; " + run.said())
    got, want = sorted(map(comparable, results(run, where))), sorted(map(comparable, expected("least", came)))
    check(got == want, "the table is wrong", [(g, w) for g, w in zip(got, want) if g != w][:3])


@test
def what_names_and_types_do_not_say_is_left_open(where):
    path = snapshot(where, "totals")
    came = came_so_far(path)
    code, out, err = varve("inspect", path, "--mapping")
    same(code, 0, "exit code; " + err)
    check('# - id: "8169645948178b87f8ca664b8ebcd2e2"  # GroupAggregate[6]\n  #   operator: # fill in, or drop it\n' in out, "without a job", out)
    check("drop:\n  - bc764cd8ddf7a0cff126f51c16239658  # Source: source[1]\n" in out, "the source", out)
    sql = job(where, "totals", came + 1, "hashmap", 1).replace("AVG(v), AVG(x), ", "").replace("av BIGINT, ax DOUBLE, ", "")
    write(where + "/job.sql", sql)
    code, out, err = varve("inspect", path, "--mapping", "--job", where + "/job.sql")
    same(code, 0, "exit code; " + err)
    for line in ('      - from: accState', '          COUNT(*): # BIGINT: fill in', '          #   value.f13: TimestampDataSerializer(3)', '        value: value.f12'):
        check(line + "\n" in out, "not said: " + line, out)
    write(where + "/mapping.yaml", out)
    at = 1 + out.splitlines().index("          COUNT(*): # BIGINT: fill in")
    code, _, err = varve("run", "-D", "rest.port=0", "--dry-run", "-s", path, "--mapping", where + "/mapping.yaml", where + "/job.sql")
    check(code == 1 or code == 2, "exit code", err)
    code, out, err = varve("run", "-D", "rest.port=0", "-s", path, "--mapping", where + "/mapping.yaml", where + "/job.sql")
    same(code, 2, "exit code")
    check("/mapping.yaml:%d:20: a path such as value.f0" % at in err, "the place", at, err)
    for args, words in ((["--job", where + "/job.sql"], "--job goes with --mapping"), (["--mapping", "--job", where + "/none.sql"], "none.sql"), (["--mapping", "--html", where + "/x"], "--mapping")):
        code, out, err = varve("inspect", path, *args)
        check(code != 0 and words in err, "wrong usage", args, code, err)
    code, out, err = varve("inspect", where, "--mapping")
    check(code == 2 and "neither a checkpoint, a savepoint" in err, "of nothing of Flink's", err)
    check(not os.path.exists(where + "/ck") or not os.listdir(where + "/ck"), "a draft leaves nothing")


main()
