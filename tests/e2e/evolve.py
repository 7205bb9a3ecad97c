#!/usr/bin/env python3
"""evolve.py - a query changes over its state (B24, B25): aggregates come, go, change places or columns, keys change. Each table is
compared with one computed here: what was there before goes on from all rows, what is new counts the rows after the savepoint."""
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from varve import (BACKENDS, Job, at_some_pace, check, files_table, inspect, lines_of, main, newest, same, sequence, settings, test,
                   varve)

ROWS, GROUPS = 24000, 40
TABLE = "id BIGINT, v BIGINT, w BIGINT, s STRING"  # sequences side by side
COLUMNS = "k BIGINT, a STRING, b STRING, c STRING, d STRING, e STRING"
KEY = "CAST(id % 40 AS INT)"  # MOD(id, 40) in full


def v(i):
    return i - 12000


def w(i):
    return i + 5000


def s(i):
    return str(i + 2)


def source(rate):
    text = sequence("seq", ROWS, rate).replace("(id BIGINT)", "(%s)" % TABLE)
    for name, first in (("v", v(1)), ("w", w(1)), ("s", 3)):
        text = text.replace(") WITH (", ") WITH ('fields.%s.kind' = 'sequence', 'fields.%s.start' = '%d', 'fields.%s.end' = '%d', " % (
            name, name, first, name, first + ROWS - 1))
    return text


# Every aggregate of these stories, and how it is right.
RIGHT = {
    "COUNT(*)": len,
    "COUNT(v)": len,
    "SUM(v)": lambda ids: sum(map(v, ids)),
    "SUM(w)": lambda ids: sum(map(w, ids)),
    "MAX(-v)": lambda ids: max(-v(i) for i in ids),
    "MIN(w)": lambda ids: min(map(w, ids)),
    "MIN(s)": lambda ids: min(map(s, ids)),
    "MAX(s)": lambda ids: max(map(s, ids)),
    "COUNT(DISTINCT v)": lambda ids: len(set(map(v, ids))),
    "COUNT(DISTINCT s)": lambda ids: len(set(map(s, ids))),
    "SUM(v) FILTER (WHERE w > 9000)": lambda ids: sum(v(i) for i in ids if w(i) > 9000),
}


def query(calls, key="MOD(id, 40)", source="seq"):
    padded = ["CAST(%s AS STRING)" % c for c in calls] + ["''"] * (5 - len(calls))
    return "SELECT %s, %s FROM %s GROUP BY %s" % (key, ", ".join(padded), source, key)


def script(where, backend, select, seconds=0.001, out="out", parallelism=1, **more):
    return (settings(where, backend, parallelism, **more) + source(int(ROWS / seconds)) +
            files_table("o", COLUMNS, "%s/%s" % (where, out)) + "INSERT INTO o %s;\n" % select)


def stopped(where, backend, select, least=ROWS // 8, **more):
    """A run stopped with a savepoint: (its path, how many rows it has)."""
    def story(pace):
        shutil.rmtree(where + "/sp", ignore_errors=True)
        job = Job(where, script(where, backend, select, seconds=4 * pace, **more))
        job.wait_rows(least)
        path = job.stop(where + "/sp")
        return path, job.report()["rows-in"]

    path, rows = at_some_pace(story)
    check(least <= rows < ROWS, "the savepoint is at row %d" % rows)
    return path, rows


def check_table(where, out, calls, kept, at):
    """The table of `out`: a call in `kept` over all rows, another over those after row `at`."""
    want = []
    for k in range(GROUPS):
        ids = range(k or GROUPS, ROWS + 1, GROUPS)
        later = [i for i in ids if i > at]
        cells = [str(RIGHT[c](ids if c in kept else later)) for c in calls] + [""] * (5 - len(calls))
        want.append(",".join([str(k)] + [c if c else '""' for c in cells]))
    got = sorted((l.decode() for l in lines_of("%s/%s" % (where, out))), key=lambda l: int(l.split(",")[0]))
    got = [",".join(c if c else '""' for c in l.split(",")) for l in got]
    check(got == want, "the table of %s is wrong" % out, [(g, w_) for g, w_ in zip(got, want) if g != w_][:3], len(got))


# ---- B25: aggregates come, go and change places --------------------------------------------------------------------

FIRST = ["COUNT(*)", "SUM(v)", "MIN(s)", "COUNT(DISTINCT v)"]
CHANGES = [  # calls now, words of the start
    (["COUNT(*)", "SUM(v)", "MIN(s)", "COUNT(DISTINCT v)", "MAX(-v)"], ["new, starts empty: MAX(-v)\n"]),
    (["COUNT(*)", "MIN(s)", "COUNT(DISTINCT v)"], ["gone, dropped: SUM(v)\n"]),
    (["SUM(v)", "COUNT(*)", "COUNT(DISTINCT v)", "MIN(s)"], []),
    (["COUNT(*)", "SUM(w)", "MIN(s)", "COUNT(DISTINCT v)"], ["new, starts empty: SUM(w); gone, dropped: SUM(v)\n"]),
    (["COUNT(*)", "SUM(v) FILTER (WHERE w > 9000)"], ["new, starts empty: SUM(v) FILTER (WHERE w > 9000)", "COUNT(DISTINCT v), MIN(s)\n"]),
    (["MAX(s)", "MIN(s)", "COUNT(*)", "SUM(v)", "COUNT(DISTINCT v)"], ["new, starts empty: MAX(s)\n"]),
    (["COUNT(*)", "SUM(v)"], ["gone, dropped: COUNT(DISTINCT v), MIN(s)\n"]),
    (["COUNT(DISTINCT s)", "MIN(w)", "COUNT(DISTINCT v)", "COUNT(*)"],
     ["new, starts empty: COUNT(DISTINCT s), MIN(w); gone, dropped: SUM(v), MIN(s)\n"]),
    (["MAX(-v)", "COUNT(v)"], ["new, starts empty: MAX(-v), COUNT(v); gone, dropped: COUNT(*), SUM(v), COUNT(DISTINCT v), MIN(s)\n"]),
]


@test(each=BACKENDS)
def b25_calls_that_remain_keep_their_state_and_the_start_says_what_does_not(where, backend):
    path, at = stopped(where, backend, query(FIRST))
    other = BACKENDS[1 - BACKENDS.index(backend)]
    for i, (calls, words) in enumerate(CHANGES):
        out = "out%d" % i
        job = Job(where, script(where, other if i % 3 == 2 else backend, query(calls), out=out, parallelism=1 + i % 2), ["-s", path])
        job.finish()
        check_table(where, out, calls, FIRST, at)
        for word in words:
            check(word in job.err, "the start does not say %r" % word, job.err)
        check(bool(words) == ("starts empty" in job.err or "dropped" in job.err), "what the start says of the aggregates", job.err)


def rewritten_types(path):
    return [st["value"] for op in inspect(path)["snapshot"]["operators"] for sub in op["subtasks"] for k in sub["keyed"]
            for st in k["states"] if st["name"] == "accState"]


@test(each=BACKENDS)
def b25_a_changed_query_goes_on_from_its_own_checkpoints_and_says_it_once(where, backend):
    path, at = stopped(where, backend, query(FIRST))
    calls = ["MAX(-v)", "COUNT(*)", "MIN(s)", "COUNT(DISTINCT s)"]

    def story(pace):
        shutil.rmtree(where + "/ck", ignore_errors=True)
        job = Job(where, script(where, backend, query(calls), 5 * pace, parallelism=2), ["-s", path])
        job.wait_checkpoints(2)
        job.kill()
        return job

    job = at_some_pace(story)
    check("new, starts empty: MAX(-v), COUNT(DISTINCT s); gone, dropped: SUM(v), COUNT(DISTINCT v)" in job.err, "what it says", job.err)
    types = rewritten_types(newest(where))
    check(types and all("`MAX(-v)` BIGINT, `COUNT(*)` BIGINT" in t and "SUM(v)" not in t for t in types), "types in its checkpoint", types)
    again = Job(where, script(where, backend, query(calls), parallelism=1), ["-s", newest(where)])
    again.finish()
    check("starts empty" not in again.err and "dropped" not in again.err, "said once more", again.err)
    check_table(where, "out", calls, FIRST, at)


@test(each=BACKENDS)
def b25_a_dry_run_says_it_and_starts_nothing(where, backend):
    path, at = stopped(where, backend, query(FIRST))
    code, out, err = varve("run", "--dry-run", "-s", path, "-e", script(where, backend, query(["COUNT(*)", "MAX(-v)"]), out="none"))
    same(code, 0, "exit code; " + err)
    check("operator GroupAggregate[%s]: new, starts empty: MAX(-v); gone, dropped: SUM(v), COUNT(DISTINCT v), MIN(s)" % KEY in out,
          "the dry run", out, err)
    check(not os.path.exists(where + "/none"), "an output was begun")


@test(each=BACKENDS)
def b25_a_column_more_elsewhere_changes_nothing(where, backend):
    """A column more in the table, in the projection and in the sink's list: the aggregate is still the same one."""
    path, at = stopped(where, backend, query(FIRST))
    wide = query(FIRST, source="(SELECT extra, id * 2 AS twice, id, v, w, s FROM seq)")
    sql = script(where, backend, wide).replace("s STRING) WITH", "s STRING, extra AS id + 1) WITH")
    check("extra AS" in sql, "the table has no further column", sql)
    job = Job(where, sql, ["-s", path])
    job.finish()
    check("starts empty" not in job.err, "what it says", job.err)
    check_table(where, "out", FIRST, FIRST, at)


# ---- windows -------------------------------------------------------------------------------------------------------

WINDOW = 3600  # rows of one


def window_script(where, backend, calls, seconds=0.001, parallelism=1):
    padded = ["CAST(%s AS STRING)" % c for c in calls] + ["''"] * (5 - len(calls))
    ts = "TIMESTAMPADD(SECOND, CAST(id AS INT), TIMESTAMP '2026-01-01 00:00:00')"
    return (settings(where, backend, parallelism, mode="streaming", **{"pipeline.auto-watermark-interval": "0 ms"}) +
            source(int(ROWS / seconds)).replace("s STRING)", "s STRING, ts AS CAST(%s AS TIMESTAMP(3)), WATERMARK FOR ts AS ts)" % ts) +
            files_table("o", "n BIGINT, " + COLUMNS, where + "/out") +
            "INSERT INTO o SELECT TIMESTAMPDIFF(SECOND, TIMESTAMP '2026-01-01 00:00:00', window_end), MOD(id, 4), %s "
            "FROM TABLE(TUMBLE(TABLE seq, DESCRIPTOR(ts), INTERVAL '%d' SECOND)) "
            "GROUP BY window_start, window_end, MOD(id, 4);\n" % (", ".join(padded), WINDOW))


@test(each=BACKENDS)
def b25_open_windows_keep_the_calls_that_remain(where, backend):
    first, calls = ["COUNT(*)", "SUM(v)", "MIN(s)", "COUNT(DISTINCT v)"], ["MAX(-v)", "MIN(s)", "COUNT(*)", "COUNT(DISTINCT s)"]

    def story(pace):
        for name in ("sp", "out", "ck"):
            shutil.rmtree("%s/%s" % (where, name), ignore_errors=True)
        job = Job(where, window_script(where, backend, first, 5 * pace))
        job.wait_rows(WINDOW + WINDOW // 2)
        return job.stop(where + "/sp"), job.report()["rows-in"]

    path, at = at_some_pace(story)
    job = Job(where, window_script(where, backend, calls, parallelism=2), ["-s", path])
    job.finish()
    check("new, starts empty: MAX(-v), COUNT(DISTINCT s); gone, dropped: SUM(v), COUNT(DISTINCT v)" in job.err, "what it says", job.err)
    got = {}
    for line in lines_of(where + "/out"):
        cells = line.decode().split(",")
        got.setdefault(int(cells[0]), []).append([c for c in cells[1:] if c.strip('"')])
    same(sorted(got), list(range(WINDOW, ROWS + WINDOW + 1, WINDOW)), "windows that left")
    for end in got:
        if end <= at:
            continue  # it left before the savepoint
        want = []
        for k in range(4):
            ids = [i for i in range(max(end - WINDOW, 1), min(end, ROWS + 1)) if i % 4 == k]
            later = [i for i in ids if i > at]
            if ids and later:
                want.append([str(k)] + [str(RIGHT[c](ids if c in first else later)) for c in calls])
        same(sorted(r for r in got[end]), want, "window that ends at %d, savepoint at %d" % (end, at))


# ---- what is refused ------------------------------------------------------------------------------------------------


def refused(where, sql, path, *words, args=()):
    job = Job(where, sql, ["-s", path] + list(args)).refused(*words, code=2)
    same(job.err.count("error:"), 1, "error messages; " + job.said())
    check(not os.path.exists(where + "/none"), "an output was begun", job.said())


@test(each=BACKENDS)
def b25_a_column_of_another_type_is_shown_and_starts_empty_when_allowed(where, backend):
    first = ["COUNT(*)", "SUM(v)", "MIN(w)"]
    path, at = stopped(where, backend, query(first))

    def changed(out, type_):
        return script(where, backend, query(first), out=out).replace("v BIGINT", "v " + type_)

    refused(where, changed("none", "DECIMAL(20, 0)"), path, "SUM(v) over another type: was SUM(v)$low BIGINT",
            "; is SUM(v)$DECIMAL(20, 0)$low BIGINT", "start with -n (--allow-non-restored-state)")
    job = Job(where, changed("out0", "DECIMAL(20, 0)"), ["-s", path, "-n"])
    job.finish()
    check("]: new, starts empty: SUM(v)\n" in job.err, "what it says", job.err)
    check_table(where, "out0", first, ["COUNT(*)", "MIN(w)"], at)
    job = Job(where, changed("out1", "INT"), ["-s", path])  # integers are kept in one way
    job.finish()
    check("starts empty" not in job.err, "what it says", job.err)
    check_table(where, "out1", first, first, at)


@test(each=BACKENDS)
def b25_a_call_cannot_be_added_where_rows_are_taken_back(where, backend):
    inner = "(SELECT MOD(id, 400) AS j, COUNT(*) AS n FROM seq GROUP BY MOD(id, 400))"

    def sql(calls, seconds=0.001):
        return (settings(where, backend, 2, mode="streaming") + source(int(ROWS / seconds)) +
                "CREATE TABLE o (%s) WITH ('connector' = 'blackhole');\nINSERT INTO o %s;\n" % (COLUMNS, query(calls, "MOD(j, 40)", inner)))

    def story(pace):
        job = Job(where, sql(["COUNT(*)", "SUM(n)"], 4 * pace))
        job.wait_rows(ROWS // 8)
        return job.stop(where + "/sp")

    path = at_some_pace(story)
    for flag in ([], ["-n"]):
        refused(where, sql(["COUNT(*)", "SUM(n)", "AVG(n)"]), path, "AVG(COUNT(*)) is new, and cannot start empty here", "start from nothing",
                args=flag)
    job = Job(where, sql(["SUM(n)"]), ["-s", path])
    job.finish()
    check("gone, dropped: COUNT(*)" in job.err, "what it says", job.err)


KEYS = [  # shown, key, words
    ("CAST(CAST(id AS STRING) AS BIGINT)", "CAST(id AS STRING)", ["key id: was BIGINT, is STRING\n"]),
    ("CAST(CAST(id AS INT) AS BIGINT)", "CAST(id AS INT)", ["key id: was BIGINT, is INT\n"]),
    ("MOD(id, 50)", "MOD(id, 50)", ["key id: was BIGINT, is INT: CAST(id % 50 AS INT)\n"]),
    ("id + 1", "id + 1", ["key id: was BIGINT, is BIGINT: id + 1\n"]),
    ("id", "id, MOD(id, 50)", ["key CAST(id % 50 AS INT): was not there, is INT\n"]),
]


@test(each=BACKENDS)
def b24_another_expression_over_the_same_column_is_another_key(where, backend):
    path, at = stopped(where, backend, "SELECT id, CAST(COUNT(*) AS STRING), '', '', '', '' FROM seq GROUP BY id")
    for shown, key, words in KEYS:
        refused(where, script(where, backend, "SELECT %s, CAST(COUNT(*) AS STRING), '', '', '', '' FROM seq GROUP BY %s" % (shown, key), out="none"),
                path, *words)


if __name__ == "__main__":
    main()
