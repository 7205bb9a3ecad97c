/* Law: evaluating a batch is evaluating its rows one by one. Random rows with nulls, random selections, many expressions; a row that
 * fails alone fails the batch, and nothing else does. Also: a filter keeps exactly the rows whose predicate is TRUE alone. */
#include "base/rng.h"
#include "tests/lib/expr_case.h"

static const char *const exprs[] = {
    "l + n", "l - n", "l * i", "i + i8", "i8 * i8", "l / n", "l % n", "l / 7", "l % 7", "l % 1000000007", "-l", "i / i8", "MOD(i, 10)",
    "f + d", "d * 2", "d / n", "f - i", "dec + dec", "dec * dec", "dec / i8", "dec % 3", "-dec", "l + 1", "1 - l", "n * 0",
    "l < n", "l >= 5", "5 > l", "i8 = i16", "d < f", "f = f", "s = ns", "s < ns", "s <> 'abc'", "b = nb", "dec > 1.5", "dec = dec", "dt < ts",
    "ts <= ltz AND FALSE OR b", "bin = X'0102'", "tm > TIME '12:00:00'",
    "b AND nb", "b OR nb", "NOT nb", "nb IS TRUE", "nb IS NOT FALSE", "n IS NULL", "s IS NOT NULL", "n IS DISTINCT FROM l", "s IS NOT DISTINCT FROM ns",
    "n <> 0 AND l / n > 1", "n = 0 OR l % n = 1", "(n IS NULL OR n = 0) OR (100 / n > 3 AND b)", "NOT (n = 0 OR 10 / n > 2)",
    "l IN (1, 2, 3, 4, 5)", "l NOT IN (1, 7, NULL)", "s IN ('abc', 'b', '')", "d IN (0e0, 1e0)", "i IN (i8, n)", "dec IN (1.5, 2)",
    "l BETWEEN n AND 9", "l NOT BETWEEN SYMMETRIC 3 AND n",
    "CASE WHEN n > 3 THEN l WHEN nb THEN n ELSE -1 END", "CASE l WHEN 1 THEN s WHEN 2 THEN ns END", "CASE WHEN n <> 0 THEN l / n ELSE 0 END",
    "CASE WHEN b THEN dec ELSE i END", "COALESCE(n, i, 7)", "COALESCE(ns, s, 'none')", "COALESCE(n, 10 / i8)", "NULLIF(l, n)", "IF(nb, 'yes', ns)",
    "GREATEST(l, n, 3)", "LEAST(s, ns)", "CAST(l AS STRING)", "CAST(l AS TINYINT)", "TRY_CAST(l AS TINYINT)", "TRY_CAST(s AS INT)",
    "CAST(dec AS INT)", "CAST(d AS DECIMAL(20, 3))", "TRY_CAST(d AS INT)", "CAST(b AS INT)", "CAST(ts AS DATE)", "CAST(s AS VARCHAR(2))", "CAST(s AS CHAR(4))",
    "CAST(ltz AS TIMESTAMP(0))", "CAST(dt AS TIMESTAMP(3))", "CAST(f AS DOUBLE)", "CAST(i AS DECIMAL(5, 2))",
    "s || ns", "CONCAT(s, 'x', ns)", "CONCAT_WS(',', s, ns, 'z')", "UPPER(s)", "CHAR_LENGTH(s)", "SUBSTRING(s, i8, 2)", "REPLACE(s, 'b', 'BB')",
    "s LIKE 'a%'", "s LIKE '%b_'", "s LIKE ns", "LPAD(s, 5, '*')", "SPLIT_INDEX(s, 'b', 1)", "REVERSE(s)", "MD5(s)", "HEX(l)", "TRIM(s)",
    "ABS(l)", "SIGN(dec)", "ROUND(d, 1)", "ROUND(dec, 1)", "FLOOR(d)", "CEIL(dec)", "SQRT(l)", "POWER(i8, 2)", "TRUNCATE(l, -1)",
    "EXTRACT(YEAR FROM ts)", "HOUR(ltz)", "FLOOR(ts TO MONTH)", "CEIL(dt TO YEAR)", "ts - INTERVAL '5' SECOND", "dt + INTERVAL '1' MONTH",
    "TIMESTAMPADD(DAY, i8, ts)", "TIMESTAMPDIFF(DAY, dt, ts)", "DATE_FORMAT(ts, 'yyyy-MM')", "TO_TIMESTAMP(s)", "FROM_UNIXTIME(i)", "dt = '2024-02-29'",
};

static int64_t random_int(struct rng *r)
{
    switch (rng_below(r, 8)) {
    case 0:
        return INT64_MAX;
    case 1:
        return INT64_MIN;
    case 2:
        return (int64_t)rng_u64(r);
    default:
        return (int64_t)rng_below(r, 12) - 4;
    }
}

static void random_value(struct batch_builder *b, struct rng *r, uint32_t c, bool calm)
{
    static const char *const words[] = {"", "a", "abc", "b", "ab b", "éb€", "7", " 12 ", "2024-02-29 01:02:03", "-1.5"};
    static const double reals[] = {0, -0.0, 1, -2.5, 1e300, 0.1, 1e-5};
    struct type t = case_fields[c].type;
    int64_t v = calm ? (int64_t)rng_below(r, 12) - 4 : random_int(r);
    const char *word = words[rng_below(r, ARRAY_LEN(words))];

    if (t.nullable && rng_below(r, 4) == 0) {
        batch_append_null(b, c);
        return;
    }
    switch (t.kind) {
    case TYPE_BOOLEAN:
        batch_append_bool(b, c, v & 1);
        break;
    case TYPE_FLOAT:
    case TYPE_DOUBLE:
        batch_append_double(b, c, calm ? (double)v : reals[rng_below(r, ARRAY_LEN(reals))]);
        break;
    case TYPE_DECIMAL:
        batch_append_decimal(b, c, calm ? v * 25 : (v % 10000000000));
        break;
    case TYPE_VARCHAR:
    case TYPE_VARBINARY:
        batch_append_bytes(b, c, bytes_of_str(word));
        break;
    case TYPE_TIME:
        batch_append_int(b, c, (int64_t)rng_below(r, 86400) * 1000);
        break;
    case TYPE_DATE:
        batch_append_int(b, c, (int64_t)rng_below(r, 40000) - 10000);
        break;
    case TYPE_TIMESTAMP:
    case TYPE_TIMESTAMP_LTZ:
        batch_append_int(b, c, (int64_t)rng_below(r, 4000000000000) - 1000000000000);
        break;
    default:
        batch_append_int(b, c, v);
        break;
    }
}

static void same_value(const char *sql, const struct column *a, uint32_t i, const struct column *b, uint32_t j)
{
    struct buf x = {0}, y = {0};

    column_print(a, i, &x);
    column_print(b, j, &y);
    ck_assert_msg(column_present(a, i) == column_present(b, j) && bytes_eq(buf_bytes(&x), buf_bytes(&y)),
                  "%s: %s in a batch, %s alone", sql, buf_cstr(&x), buf_cstr(&y));
    buf_release(&x);
    buf_release(&y);
}

/* The batch over sel against each row alone. */
static void compare(const char *sql, const struct expr *e, struct expr_eval *all, struct expr_eval *one, const struct batch *in,
                    const uint32_t *sel, uint32_t n)
{
    struct column batch, alone;
    struct err err = {0};
    enum rc rc = expr_evaluate(all, e, in, sel, n, &batch, &err);
    uint32_t out_sel[BATCH_ROWS_MAX], out_n = 0, kept = 0;
    bool failed = false;
    enum rc filter_rc = RC_INVALID;

    if (expr_type(e).kind == TYPE_BOOLEAN)
        filter_rc = expr_filter(all, e, in, sel, n, out_sel, &out_n, NULL);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = sel == NULL ? i : sel[i];
        enum rc row_rc = expr_evaluate(one, e, in, &row, 1, &alone, NULL);

        failed |= row_rc != RC_OK;
        if (rc == RC_OK) {
            ck_assert_msg(row_rc == RC_OK, "%s: row %u fails alone only", sql, row);
            same_value(sql, &batch, i, &alone, 0);
        }
        if (filter_rc == RC_OK && rc == RC_OK && column_present(&alone, 0) && bit_get(alone.values, 0)) {
            ck_assert_msg(kept < out_n && out_sel[kept] == row, "%s: row %u is TRUE, but filtered away", sql, row);
            kept++;
        }
        expr_eval_reset(one);
    }
    ck_assert_msg(failed == (rc != RC_OK), "%s: the batch fails, but no row alone: %s", sql, err.msg);
    if (rc == RC_OK && expr_type(e).kind == TYPE_BOOLEAN)
        ck_assert_msg(filter_rc == RC_OK && kept == out_n, "%s: a row passes that is not TRUE", sql);
    expr_eval_reset(all);
}

START_TEST(batch_is_its_rows)
{
    const char *sql = exprs[_i];
    struct expr_scope scope = {&case_schema, NULL, "Europe/Berlin"};
    struct arena *a = arena_new(0);
    struct batch_builder *b = batch_builder_new(&case_schema);
    struct err err = {0};
    struct expr_eval *all = expr_eval_new(&case_clock, "Europe/Berlin", &err), *one = expr_eval_new(&case_clock, "Europe/Berlin", &err);
    struct rng r;
    struct expr *e;
    uint32_t sel[300];

    rng_seed(&r, 42 + (uint64_t)_i);
    ck_assert_ok(expr_bind(a, case_parse(a, sql), &scope, &e, &err));
    for (int round = 0; round < 12; round++) {
        uint32_t rows = round < 4 ? 1 + (uint32_t)rng_below(&r, 3) : 1 + (uint32_t)rng_below(&r, 300), n = 0;

        batch_builder_clear(b);
        for (uint32_t i = 0; i < rows; i++) {
            for (uint32_t c = 0; c < case_schema.field_count; c++)
                random_value(b, &r, c, round % 3 != 0);
            batch_row_end(b, ROW_INSERT);
        }
        compare(sql, e, all, one, batch_builder_view(b), NULL, rows);
        for (uint32_t i = 0; i < rows; i++) {
            if (rng_below(&r, 3) == 0)
                sel[n++] = i;
        }
        compare(sql, e, all, one, batch_builder_view(b), sel, n);
    }
    expr_eval_free(all);
    expr_eval_free(one);
    batch_builder_free(b);
    arena_free(a);
}
END_TEST

TEST_MAIN("prop_expr", tcase_add_loop_test(tc, batch_is_its_rows, 0, ARRAY_LEN(exprs));)
