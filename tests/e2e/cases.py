#!/usr/bin/env python3
"""cases.py - the inputs of tests/cases through the real program, check_case.py as the judge: batch mode into files, the
changelog of streaming mode through print and through SELECT, the three rules for bad lines, what must fail."""
import hashlib
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from varve import (BACKENDS, CASES, FORMULA, FORMULA_COLUMNS, Job, check, files_table, judge, lines_of, main, read, same, sequence,
                   table, test, write)

KV = "k STRING, v BIGINT"
TOTALS = "k STRING, n BIGINT, c BIGINT, s BIGINT, lo BIGINT, hi BIGINT"
QUERY = "SELECT k, COUNT(*), COUNT(v), SUM(v), MIN(v), MAX(v) FROM t GROUP BY k"
NULL_LITERAL = {"csv.null-literal": "NULL"}
IGNORE = {"csv.ignore-parse-errors": "true"}
SKIP = {"varve.bad-rows": "skip"}


def case(name, file=""):
    return os.path.join(CASES, name, file)


def answer(name):
    return json.loads(read(case(name, "answer.json")))


def start(where, source, columns=TOTALS, query=QUERY, mode="batch", format="json", backend="hashmap", parallelism=1):
    sets = "".join("SET '%s' = '%s';\n" % p for p in [
        ("execution.runtime-mode", mode), ("parallelism.default", parallelism), ("state.backend.type", backend),
        ("pipeline.auto-watermark-interval", "0")])
    out = where + "/out-%s-%s-%s-%d" % (mode, format, backend, parallelism)
    sink = files_table("o", columns, out, format) if format != "print" else table("o", columns, connector="print")
    return Job(where, sets + source + sink + "INSERT INTO o " + query + ";\n"), out


def batch(where, source, expected, **more):
    """One batch run into files; its report."""
    job, out = start(where, source, **more)
    report = job.finish()
    judge(expected, out, *(["--csv"] if more.get("format") == "csv" else []))
    return report


# ---- changelogs --------------------------------------------------------------------------------------------


def print_lines(text, columns):
    """+I[a, 1, 2] (2> +I[a, 1, 2] of subtask 2) as JSON arrays, -U and -D left out; the first cell is text, the others are
    numbers or null."""
    rows = []
    for line in text.split("\n"):
        line = re.sub(r"^[0-9]+> ", "", line)
        if not re.match(r"[+-][IUD]\[", line):
            continue
        check(line.endswith("]"), "a print line without its end", line)
        if line[0] == "-":
            continue
        cells = line[3:-1].rsplit(", ", columns - 1)
        same(len(cells), columns, "cells of %s" % line)
        rows.append([None if cells[0] == "null" else cells[0]] + [None if c == "null" else json.loads(c) for c in cells[1:]])
    return rows


def write_rows(path, rows):
    return write(path, "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows))


def stream_print(where, source, expected, columns=6, **more):
    job, _ = start(where, source, mode="streaming", format="print", **more)
    job.finish()
    judge(expected, write_rows(where + "/print.jsonl", print_lines(job.out, columns)), "--last-per-key", "1")


def stream_select(where, source, expected, query=QUERY, keys=1, **options):
    """The changelog of SELECT as JSON, played back: each change fits the table that the earlier ones left."""
    sets = "SET 'execution.runtime-mode' = 'streaming';\nSET 'sql-client.execution.result-mode' = 'CHANGELOG';\n"
    job = Job(where, sets + source + query + ";\n", options=options)
    same(job.wait(), 0, "exit code; " + job.said())
    rows, kept = {}, []
    for o in job.json_lines():
        if "op" not in o:
            continue
        row = list(o["row"].values())
        key = json.dumps(row[:keys])
        if o["op"] == "+I":
            check(key not in rows, "+I of a key that is there", o)
            rows[key] = row
        elif o["op"] == "-U":
            same(rows.get(key), row, "what -U takes back")
        elif o["op"] == "+U":
            check(key in rows, "+U of a key that is not there", o)
            rows[key] = row
        else:
            same(rows.pop(key, None), row, "what -D takes back")
    kept = list(rows.values())
    judge(expected, write_rows(where + "/select.jsonl", kept))


# ---- the table of most cases -------------------------------------------------------------------------------

# name, input, expected file, source options
PLAIN = [
    ("03-empty-and-null-keys", "input.csv", "expected.jsonl", NULL_LITERAL),
    ("04-unicode-keys", "input.csv", "expected.jsonl", {}),
    ("09-skew", "input.csv", "expected.jsonl", {}),
    ("11-null-fields", "input.csv", "expected.jsonl", NULL_LITERAL),
    ("13-bom", "input.csv", "expected.jsonl", {}),
    ("13-bom", "input.csv.gz", "expected.jsonl", {}),
    ("14-cut-last-line", "no-line-end.csv", "expected-no-line-end.jsonl", {}),
    ("14-cut-last-line", "number-cut.csv", "expected-number-cut.jsonl", {}),
    ("19-a-folder-of-files", "in", "expected.jsonl", {}),
]


@test(each=[(n, f) for n, f, _, _ in PLAIN])
def plain_inputs_give_the_expected_table(where, name, file):
    expected, options = next((e, o) for n, f, e, o in PLAIN if (n, f) == (name, file))
    source = files_table("t", KV, case(name, file), **options)
    expected = case(name, expected)
    for backend in BACKENDS:
        for parallelism in (1, 3):
            r = batch(where, source, expected, backend=backend, parallelism=parallelism)
            same((r["bad-rows"], r["null-fields"]), (0, 0), "bad rows and fields")
    batch(where, source, expected, format="csv")
    stream_select(where, source, expected)
    if name.startswith("03"):  # there the keys null and 'null' look alike in print
        return
    stream_print(where, source, expected, parallelism=2)


@test
def a_quoted_null_is_text_by_default(where):
    """03: 12 groups where the reference has 11; text that looks like the literal stays text."""
    source = files_table("t", KV, case("03-empty-and-null-keys", "input.csv"), **NULL_LITERAL)
    job, out = start(where, source)
    job.finish()
    keys = [json.loads(l)["k"] for l in lines_of(out)]
    same((len(keys), None in keys, "NULL" in keys, "" in keys), (12, True, True, True), "groups; the null, NULL and empty keys")


@test
def only_a_byte_order_mark_is_no_row(where):
    job, out = start(where, files_table("t", KV, case("13-bom", "only-bom.csv")))
    same(job.finish()["rows-in"], 0, "rows")
    same(lines_of(out), [], "output")


# ---- bad lines ---------------------------------------------------------------------------------------------

BAD = ["01-dirty-csv", "02-dirty-json", "04-unicode-keys", "12-line-ends", "14-cut-last-line", "16-quotes", "17-numbers"]


def bad_inputs():
    """(name, file, expected under skip, expected under null or None, bad lines [(line, why)] or a single line number)."""
    for name in BAD:
        a = answer(name)
        if name == "14-cut-last-line":
            for file in ("comma-last.csv", "no-comma.csv", "key-cut.csv", "open-quote.csv"):
                null = "expected-null-field-%s.jsonl" % file[:-4]
                yield (name, file, "expected-%s.jsonl" % file[:-4], null if os.path.exists(case(name, null)) else None,
                       [a[file]["bad_line"]], None)
        elif name == "04-unicode-keys":
            yield name, "not-utf8.csv", "expected-not-utf8.jsonl", None, a["not_utf8_bad_lines"], None
        else:
            file = "input.jsonl" if name == "02-dirty-json" else "input.csv"
            lines = [b["line"] for b in a["bad_lines"]]
            yield name, file, "expected.jsonl", "expected-null-field.jsonl", lines, a


def source_of(name, file, **rule):
    format = "json" if file.endswith(".jsonl") else "csv"
    rule = {k.replace("csv.", format + "."): v for k, v in rule.items()}
    return files_table("t", KV, case(name, file), format, **rule)


WHY = [(r"not a number", "not a number|not a whole number|BIGINT"), (r"out of range", "range"), (r"expected 2 fields, found", "expected 2 fields, found"),
       ("text after a closing quote", "quote"), ("JSONDecodeError|NaN", "JSON|json|NaN"), ("not an object", "object"),
       ("whole number", "number|range|BIGINT"), ("k is not text", "text|STRING|string|array")]


@test(each=[(n, f) for n, f, *_ in bad_inputs()])
def a_bad_line_fails_the_job_by_default(where, name, file):
    """Exit code 1; the message names file, line and reason, and no row becomes visible."""
    lines, a = next((l, a) for n, f, _, _, l, a in bad_inputs() if (n, f) == (name, file))
    job, out = start(where, source_of(name, file))
    if not lines:  # 12: blank lines are no rows
        job.finish()
        return
    job.refused(case(name, file), "line %d: " % lines[0])
    same(lines_of(out), [], "visible rows of a failed job")
    if a:
        why = a["bad_lines"][0]["why"]
        said = next(words for pattern, words in WHY if re.search(pattern, why))
        check(re.search(said, job.err), "the reason is not %r" % why, job.err)


@test(each=[(n, f) for n, f, *_ in bad_inputs()])
def skipping_leaves_out_bad_rows_and_counts_them(where, name, file):
    expected, lines = next((e, l) for n, f, e, _, l, _ in bad_inputs() if (n, f) == (name, file))
    for parallelism in (1, 2):
        r = batch(where, source_of(name, file, **SKIP), case(name, expected), parallelism=parallelism)
        same((r["bad-rows"], r["null-fields"]), (len(lines), 0), "rows skipped, fields nulled")
    stream_select(where, source_of(name, file, **SKIP), case(name, expected))
    job, _ = start(where, source_of(name, file, **SKIP), format="print")
    job.finish()
    job, _ = start(where, source_of(name, file, **SKIP), mode="streaming", format="print")
    job.finish()


@test(each=[(n, f) for n, f, _, null, _, _ in bad_inputs() if null])
def nulling_keeps_the_row_and_counts_the_field(where, name, file):
    expected, a = next((e, a) for n, f, _, e, _, a in bad_inputs() if (n, f) == (name, file))
    rule = dict(IGNORE)
    r = batch(where, source_of(name, file, **rule), case(name, expected))
    stream_select(where, source_of(name, file, **rule), case(name, expected))
    if a:
        same(r["bad-rows"], len(a["null_field_dropped_lines"]), "rows dropped")
        if "null_field_rows" in a:
            same(r["rows-in"], a["null_field_rows"], "rows kept")
        # Every other bad line has a field that became null (an array where text belongs is taken as its text).
        nulled = [b for b in a["bad_lines"] if b["line"] not in a["null_field_dropped_lines"] and b["why"] != "k is not text"]
        check(r["null-fields"] >= len(nulled), "null fields: %d, at least %d expected" % (r["null-fields"], len(nulled)))


@test
def counts_of_bad_rows_stand_in_the_words_of_the_report(where):
    from varve import varve
    code, _, err = varve("run", "-D", "rest.port=0", "-e", "SET 'execution.runtime-mode' = 'batch';" +
                         source_of("01-dirty-csv", "input.csv", **SKIP) + table("o", TOTALS, connector="blackhole") +
                         "INSERT INTO o " + QUERY)
    same(code, 0, "exit code")
    check(re.search(r"bad input +9 rows skipped", err), "the report does not say 9 rows skipped", err)


@test
def digits_of_other_scripts_are_no_numbers_or_sevens(where):
    source = files_table("t", KV, case("17-numbers", "digits-of-other-scripts.csv"), **SKIP)
    job, out = start(where, source)
    bad = job.finish()["bad-rows"]
    values = [json.loads(l)["s"] for l in lines_of(out)]
    check((bad, values) in ((2, []), (0, [7, 7])), "neither two bad rows nor two sevens", bad, values)


# ---- 05, 06: large keys and values ---------------------------------------------------------------------------


LARGE_KEYS = ("SELECT CHAR_LENGTH(k), SUBSTRING(SHA256(k), 1, 16), n, c, s, lo, hi FROM (SELECT k, COUNT(*) AS n, COUNT(v) AS c, SUM(v) AS s, "
              "MIN(v) AS lo, MAX(v) AS hi FROM t GROUP BY k)")
LARGE_VALUES = ("SELECT k, n, total, CHAR_LENGTH(m), SUBSTRING(SHA256(m), 1, 16), CHAR_LENGTH(z), SUBSTRING(SHA256(z), 1, 16) FROM (SELECT k, "
                "COUNT(*) AS n, SUM(CHAR_LENGTH(s)) AS total, MAX(s) AS m, LAST_VALUE(s) AS z FROM t GROUP BY k)")


@test(each=BACKENDS)
def keys_of_up_to_64_kib_are_told_apart(where, backend):
    source = files_table("t", KV, case("05-huge-keys", "input.csv"))
    columns = "length INT, sha STRING, n BIGINT, c BIGINT, s BIGINT, lo BIGINT, hi BIGINT"
    for parallelism in (1, 2):
        batch(where, source, case("05-huge-keys", "expected.jsonl"), columns=columns, query=LARGE_KEYS, backend=backend,
              parallelism=parallelism)
    stream_select(where, source, case("05-huge-keys", "expected.jsonl"), query=LARGE_KEYS, keys=2,
                  **{"state.backend.type": backend})


@test(each=BACKENDS)
def values_of_a_mebibyte_are_kept(where, backend):
    source = files_table("t", "k STRING, s STRING", case("06-big-values", "input.csv"))
    columns = "k STRING, n BIGINT, total BIGINT, m INT, msha STRING, z INT, zsha STRING"
    batch(where, source, case("06-big-values", "expected.jsonl"), columns=columns, query=LARGE_VALUES, backend=backend)
    stream_select(where, source, case("06-big-values", "expected.jsonl"), query=LARGE_VALUES, **{"state.backend.type": backend})


# ---- 07: windows ---------------------------------------------------------------------------------------------


def windows_source(delay):
    return files_table("t", "ts TIMESTAMP(3), k STRING, v BIGINT, WATERMARK FOR ts AS ts - INTERVAL '%d' SECOND" % delay,
                       case("07-out-of-order-and-late", "input.csv"))


WINDOWS = ("SELECT CAST(window_start AS STRING), k, COUNT(*), SUM(v) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND)) "
           "GROUP BY window_start, window_end, k")


@test(each=[(d, b, m) for d in (0, 2, 30) for b in BACKENDS for m in ("batch", "streaming")])
def windows_drop_exactly_the_late_rows(where, delay, backend, mode):
    """The watermark goes on after every row (pipeline.auto-watermark-interval = 0). Batch mode knows all rows before it
    answers, so no row of it is late: the table is that of the longest delay."""
    a = answer("07-out-of-order-and-late")
    tag = "-delay30" if mode == "batch" else "" if delay == 2 else "-delay%d" % delay
    columns = "w STRING, k STRING, n BIGINT, s BIGINT"
    job, out = start(where, windows_source(delay), columns=columns, query=WINDOWS, backend=backend, mode=mode)
    r = job.finish()
    judge(case("07-out-of-order-and-late", "expected%s.jsonl" % tag), out)
    same(r["late-rows"], a["late_rows%s" % tag.replace("-", "_")], "late rows")


# ---- 08, 10, 15, 18, 21 ----------------------------------------------------------------------------------------


@test(each=[(b, p) for b in BACKENDS for p in (1, 2)])
def distinct_values_are_counted_once(where, backend, parallelism):
    source = files_table("t", KV, case("08-duplicates", "input.csv"))
    query = "SELECT k, COUNT(*), COUNT(DISTINCT v), SUM(v), SUM(DISTINCT v) FROM t GROUP BY k"
    batch(where, source, case("08-duplicates", "expected.jsonl"), columns="k STRING, n BIGINT, d BIGINT, s BIGINT, sd BIGINT",
          query=query, backend=backend, parallelism=parallelism)
    stream_select(where, source, case("08-duplicates", "expected.jsonl"), query=query, **{"state.backend.type": backend})


def sums_outcomes():
    rows = [json.loads(l) for l in read(case("10-sums-at-the-limits", "expected.jsonl")).splitlines()[1:]]
    return [(k, n, s, outcome, exact, lo, hi) for k, n, s, outcome, exact, lo, hi in rows]


@test(each=[r[0] for r in sums_outcomes()])
def a_sum_is_exact_or_an_error_that_names_the_key(where, key):
    _, n, s, outcome, exact, lo, hi = next(r for r in sums_outcomes() if r[0] == key)
    source = files_table("t", KV, case("10-sums-at-the-limits", "input.csv"))
    query = "SELECT k, COUNT(*), SUM(v), MIN(v), MAX(v) FROM t WHERE k = '%s' GROUP BY k" % key
    columns = "k STRING, n BIGINT, s BIGINT, lo BIGINT, hi BIGINT"
    for mode in ("batch", "streaming"):
        job, out = start(where, source, columns=columns, query=query, mode=mode, format="json" if mode == "batch" else "print")
        if outcome == "overflow" or (mode == "streaming" and job.wait() != 0 and key == "goes-over-and-back"):
            job.refused(key)  # streaming: the sum in between is a row of its own and does not fit
            check(re.search("BIGINT|range|overflow", job.err), "the reason is missing", job.err)
            same(lines_of(out), [], "visible rows")
            continue
        job.finish()
        if mode == "batch":
            same([list(json.loads(l).values()) for l in lines_of(out)], [[key, n, s, lo, hi]], "the row")
        else:
            same(print_lines(job.out, 5)[-1], [key, n, s, lo, hi], "the last row")


@test
def a_wider_sum_holds_what_bigint_cannot(where):
    source = files_table("t", KV, case("10-sums-at-the-limits", "input.csv"))
    job, out = start(where, source, columns="k STRING, s STRING",
                     query="SELECT k, CAST(SUM(CAST(v AS DECIMAL(38, 0))) AS STRING) FROM t GROUP BY k")
    job.finish()
    same(sorted(tuple(json.loads(l).values()) for l in lines_of(out)), sorted((r[0], r[4]) for r in sums_outcomes()), "exact sums")


@test
def an_int_column_does_not_wrap_either(where):
    expected = [json.loads(l) for l in read(case("10-sums-at-the-limits", "expected-int-column.jsonl")).splitlines()[1:]]
    source = files_table("t", "k STRING, v INT", case("10-sums-at-the-limits", "int-column.csv"))
    for k, exact in expected:
        query = "SELECT k, SUM(v) FROM t WHERE k = '%s' GROUP BY k" % k
        job, out = start(where, source, columns="k STRING, s INT", query=query)
        if -2**31 <= exact < 2**31:
            job.finish()
            same([list(json.loads(l).values()) for l in lines_of(out)], [[k, exact]], "the row")
        else:
            job.refused(k)
            check(re.search("INT|range|overflow", job.err), "the reason is missing", job.err)


@test(each=answer("15-compressed")["same_answer_for"])
def compressed_inputs_read_like_plain_ones(where, file):
    batch(where, files_table("t", KV, case("15-compressed", file)), case("15-compressed", "expected.jsonl"))


@test(each=answer("15-compressed")["must_fail"])
def a_damaged_file_fails_the_job_under_every_rule(where, file):
    """Rows read before the damage are never the whole answer."""
    for rule in ({}, SKIP, IGNORE):
        job, out = start(where, files_table("t", KV, case("15-compressed", file), **rule))
        job.refused(case("15-compressed", file))
        same(lines_of(out), [], "visible rows of a failed job")


@test
def decimals_are_exact(where):
    source = files_table("t", "k STRING, v DECIMAL(38, 2)", case("18-decimals-and-doubles", "input.csv"))
    columns = "k STRING, n BIGINT, s DECIMAL(38, 2), lo DECIMAL(38, 2), hi DECIMAL(38, 2)"
    query = "SELECT k, COUNT(*), SUM(v), MIN(v), MAX(v) FROM t GROUP BY k"
    for backend in BACKENDS:
        batch(where, source, case("18-decimals-and-doubles", "expected.jsonl"), columns=columns, query=query, backend=backend)
    batch(where, source, case("18-decimals-and-doubles", "expected.jsonl"), columns=columns, query=query, format="csv")
    stream_select(where, source, case("18-decimals-and-doubles", "expected.jsonl"), query=query)


@test
def doubles_keep_infinities_nan_and_the_smallest_number(where):
    want = {r[0]: float(r[1]) for r in map(json.loads, read(case("18-decimals-and-doubles", "expected-doubles.jsonl")).splitlines()[1:])}
    source = files_table("t", "k STRING, v DOUBLE", case("18-decimals-and-doubles", "doubles.csv"))
    job, out = start(where, source, columns="k STRING, s STRING", query="SELECT k, CAST(SUM(v) AS STRING) FROM t GROUP BY k")
    job.finish()
    got = {r["k"]: float(r["s"]) for r in map(json.loads, lines_of(out))}
    same({k: repr(v) for k, v in got.items()}, {k: repr(v) for k, v in want.items()}, "sums")


@test
def the_order_of_zeroes_does_not_matter_to_min_and_max(where):
    answers = []
    for order in ("z,-0.0\nz,0.0\n", "z,0.0\nz,-0.0\n"):
        source = files_table("t", "k STRING, v DOUBLE", write(where + "/zero.csv", order))
        job, _ = start(where, source, columns="k STRING, lo STRING, hi STRING", format="print",
                       query="SELECT k, CAST(MIN(v) AS STRING), CAST(MAX(v) AS STRING) FROM t GROUP BY k")
        job.finish()
        answers.append([l for l in job.out.splitlines() if l.startswith("+I")])
    same(answers[0], answers[1], "MIN and MAX of both orders")


@test(each=[(n, b, p) for n in (1000, 100000, 1000000, 3000000) for b in BACKENDS for p in (1, 2) if n < 3000000 or p == 2])
def the_formula_job_gives_the_known_digest(where, rows, backend, parallelism):
    job, out = start(where, sequence("seq", rows), columns=FORMULA_COLUMNS, query=FORMULA, format="csv", backend=backend,
                     parallelism=parallelism)
    r = job.finish()
    a = answer("21-large-state-by-formula")["answers"][str(rows)]
    lines = sorted(lines_of(out), key=lambda l: int(l.split(b",")[0]))
    same((r["rows-in"], len(lines)), (rows, a["keys"]), "rows and keys")
    same(hashlib.sha256(b"".join(l + b"\n" for l in lines)).hexdigest(), a["sha256_of_lines_k,count,sum,min,max_by_rising_k"],
         "SHA-256 of the table")


if __name__ == "__main__":
    main()
