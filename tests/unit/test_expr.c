/* Operators, CASE, casts and their types. Expected types: LogicalTypeMerging of the reference; values: SQL standard and
 * the reference's documentation, apart from overflow, which fails here. */
#include "tests/lib/expr_case.h"

static const struct expr_case cases[] = {
    /* literals */
    {"1", "INT", "1"},
    {"2147483648", "BIGINT", "2147483648"},
    {"9223372036854775808", "DECIMAL(19, 0)", "9223372036854775808"},
    {"-9223372036854775808", "BIGINT", "-9223372036854775808"},
    {"-2147483648", "INT", "-2147483648"},
    {"0.50", "DECIMAL(3, 2)", "0.50"},
    {"1e3", "DOUBLE", "1000.0"},
    {"'it''s'", "CHAR(4)", "it's"},
    {"X'00ff'", "BINARY(2)", "[0, -1]"},
    {"TRUE", "BOOLEAN", "true"},
    {"NULL", "NULL", "null"},
    {"DATE '2024-02-29'", "DATE", "2024-02-29"},
    {"DATE '2023-02-29'", "?", "'2023-02-29' is not a date"},
    {"TIME '12:34:56'", "TIME(0)", "12:34:56"},
    {"TIMESTAMP '2024-02-29 01:02:03.45'", "TIMESTAMP(2)", "2024-02-29 01:02:03.45"},
    {"INTERVAL '1 02:03:04.5' DAY TO SECOND", "INTERVAL DAY TO SECOND(3)", "+1 02:03:04.500"},
    {"INTERVAL '-1-2' YEAR TO MONTH", "INTERVAL YEAR TO MONTH", "-1-02"},
    {"INTERVAL '90' SECOND", "INTERVAL DAY TO SECOND(3)", "+0 00:01:30.000"},
    {"INTERVAL '1 25:00' DAY TO MINUTE", "?", "is not an interval"},
    /* names */
    {"i", "INT", "42"},
    {"`Odd name`", "INT", "-8"},
    {"x", "?", "line 1 column 8: no column 'x'"},
    {"dex", "?", "did you mean dec?"},
    {"t.i", "?", "no column 't.i'"},
    {"SUM(i)", "?", "the aggregate SUM is not possible here"},
    {"NOSUCH(i)", "?", "no function NOSUCH"},
    {"RAND()", "?", "not repeatable after a restore"},
    {"REGEXP(s, 'a')", "?", "regular expressions are not supported"},
    /* integer arithmetic */
    {"i + 1", "INT", "43"},
    {"i + l", "BIGINT", "9000000042"},
    {"i8 + i8", "TINYINT", "14"},
    {"i8 + i16", "SMALLINT", "307"},
    {"i - l", "BIGINT", "-8999999958"},
    {"i * i16", "INT", "12600"},
    {"i / 5", "INT", "8"},
    {"-i / 5", "INT", "-8"},
    {"i % 5", "INT", "2"},
    {"-i % 5", "INT", "-2"},
    {"MOD(l, 7)", "INT", "5"},
    {"MOD(i, l)", "BIGINT", "42"},
    {"l / 7", "BIGINT", "1285714285"},
    {"+i", "INT", "42"},
    {"-(-i)", "INT", "42"},
    {"i + NULL", "INT", "null"},
    {"n + 1", "BIGINT", "null"},
    {"i / 0", "!", "division by zero"},
    {"i % 0", "!", "division by zero"},
    {"n / 0", "BIGINT", "null"},
    {"big + 1", "!", "big + 1: the result is out of the range of BIGINT"},
    {"s + 1", "?", "column 8: STRING in arithmetic, expected a number: write CAST"},
    /* operands in one message */
    {"big * 2", "!", "the result is out of the range of BIGINT (operands: 9223372036854775807, 2)"},
    {"-(i8 - 135)", "INT", "128"},
    {"i8 * CAST(100 AS TINYINT)", "!", "out of the range of TINYINT (operands: 7, 100)"},
    {"big - (-1)", "!", "out of the range of BIGINT"},
    {"(-big - 1) / -1", "!", "out of the range of BIGINT"},
    {"(-big - 1) % -1", "INT", "0"},
    {"-(-big - 1)", "!", "out of range"},
    /* floating point */
    {"f + i", "FLOAT", "43.5"},
    {"f + d", "DOUBLE", "3.75"},
    {"d / 0", "DOUBLE", "Infinity"},
    {"-d / 0", "DOUBLE", "-Infinity"},
    {"0e0 / 0", "DOUBLE", "NaN"},
    {"d + dec", "DOUBLE", "14.59"},
    {"f + dec", "DOUBLE", "13.84"},
    {"-d", "DOUBLE", "-2.25"},
    /* DECIMAL: precision and scale */
    {"dec + dec", "DECIMAL(11, 2)", "24.68"},
    {"dec + i", "DECIMAL(13, 2)", "54.34"},
    {"dec + l", "DECIMAL(22, 2)", "9000000012.34"},
    {"dec * dec", "DECIMAL(21, 4)", "152.2756"},
    {"dec / 3", "DECIMAL(21, 13)", "4.1133333333333"},
    {"dec % 5", "DECIMAL(10, 2)", "2.34"},
    {"dec / 0", "!", "division by zero"},
    {"1.10 + 2.2", "DECIMAL(4, 2)", "3.30"},
    {"CAST(1 AS DECIMAL(38, 10)) * CAST(1 AS DECIMAL(38, 10))", "DECIMAL(38, 6)", "1.000000"},
    {"CAST(1 AS DECIMAL(38, 0)) / CAST(3 AS DECIMAL(38, 0))", "DECIMAL(38, 6)", "0.333333"},
    {"CAST(99999999999999999999999999999999999999 AS DECIMAL(38, 0)) + 1", "!", "does not fit DECIMAL(38, 0)"},
    /* comparison */
    {"i = 42", "BOOLEAN", "true"},
    {"i <> 42", "BOOLEAN", "false"},
    {"42 < l", "BOOLEAN", "true"},
    {"i >= 42.0", "BOOLEAN", "true"},
    {"dec = 12.340", "BOOLEAN", "true"},
    {"dec > 12.3399", "BOOLEAN", "true"},
    {"d > dec", "BOOLEAN", "false"},
    {"s = 'Hello'", "BOOLEAN", "true"},
    {"s < 'Hellp'", "BOOLEAN", "true"},
    {"s = NULL", "BOOLEAN", "null"},
    {"n = 1", "BOOLEAN", "null"},
    {"b = TRUE", "BOOLEAN", "true"},
    {"dt = '2024-02-29'", "BOOLEAN", "true"},
    {"ts > '2024-02-29 12:34:56'", "BOOLEAN", "true"},
    {"ts = '2024-02-29 12:34:56.7891'", "BOOLEAN", "false"},
    {"ts > dt", "BOOLEAN", "true"},
    {"ts = ltz + INTERVAL '1' HOUR", "BOOLEAN", "true"},
    {"bin = X'0102'", "BOOLEAN", "true"},
    {"s = 1", "?", "cannot compare STRING with INT"},
    {"0e0/0 = 0e0/0", "BOOLEAN", "false"},
    {"0e0/0 <> 0e0/0", "BOOLEAN", "true"},
    {"CAST('-0.0' AS DOUBLE) = 0e0", "BOOLEAN", "true"},
    /* three-valued logic */
    {"nb AND TRUE", "BOOLEAN", "null"},
    {"nb AND FALSE", "BOOLEAN", "false"},
    {"FALSE AND nb", "BOOLEAN", "false"},
    {"nb OR TRUE", "BOOLEAN", "true"},
    {"nb OR FALSE", "BOOLEAN", "null"},
    {"nb OR nb", "BOOLEAN", "null"},
    {"NOT nb", "BOOLEAN", "null"},
    {"NOT b", "BOOLEAN", "false"},
    {"NOT (i = 42)", "BOOLEAN", "false"},
    {"NULL AND FALSE", "BOOLEAN", "false"},
    {"i AND b", "?", "INT, expected a condition (BOOLEAN)"},
    {"i = 0 AND 1 / i8 - 7 = 0 OR b", "BOOLEAN", "true"},
    {"i8 <> 7 AND i / (i8 - 7) > 0", "BOOLEAN", "false"},
    {"i8 = 7 OR i / (i8 - 7) > 0", "BOOLEAN", "true"},
    {"i8 = 7 AND i / (i8 - 7) > 0", "!", "division by zero"},
    /* IS */
    {"n IS NULL", "BOOLEAN", "true"},
    {"nn IS NULL", "BOOLEAN", "false"},
    {"i IS NOT NULL", "BOOLEAN", "true"},
    {"nb IS TRUE", "BOOLEAN", "false"},
    {"nb IS NOT TRUE", "BOOLEAN", "true"},
    {"nb IS FALSE", "BOOLEAN", "false"},
    {"nb IS NOT FALSE", "BOOLEAN", "true"},
    {"b IS TRUE", "BOOLEAN", "true"},
    {"nb IS UNKNOWN", "BOOLEAN", "true"},
    {"nb IS NOT UNKNOWN", "BOOLEAN", "false"},
    {"n IS DISTINCT FROM NULL", "BOOLEAN", "false"},
    {"n IS NOT DISTINCT FROM n", "BOOLEAN", "true"},
    {"i IS DISTINCT FROM 42", "BOOLEAN", "false"},
    {"i IS DISTINCT FROM n", "BOOLEAN", "true"},
    {"0e0/0 IS NOT DISTINCT FROM 0e0/0", "BOOLEAN", "true"},
    /* BETWEEN, IN */
    {"i BETWEEN 1 AND 42", "BOOLEAN", "true"},
    {"i NOT BETWEEN 1 AND 42", "BOOLEAN", "false"},
    {"i BETWEEN 42 AND 1", "BOOLEAN", "false"},
    {"i BETWEEN SYMMETRIC 42 AND 1", "BOOLEAN", "true"},
    {"i BETWEEN n AND 41", "BOOLEAN", "false"},
    {"i BETWEEN n AND 42", "BOOLEAN", "null"},
    {"i IN (1, 42, 3)", "BOOLEAN", "true"},
    {"i IN (1, 2)", "BOOLEAN", "false"},
    {"i IN (1, NULL)", "BOOLEAN", "null"},
    {"i IN (42, NULL)", "BOOLEAN", "true"},
    {"i NOT IN (1, NULL)", "BOOLEAN", "null"},
    {"i NOT IN (1, 2)", "BOOLEAN", "true"},
    {"n IN (1)", "BOOLEAN", "null"},
    {"i IN (i8, n, 42)", "BOOLEAN", "true"},
    {"i NOT IN (i8, n)", "BOOLEAN", "null"},
    {"s IN ('x', 'Hello')", "BOOLEAN", "true"},
    {"dec IN (12.34, 5)", "BOOLEAN", "true"},
    {"d IN (2.25, 3)", "BOOLEAN", "true"},
    {"dt IN ('2024-02-29')", "BOOLEAN", "true"},
    {"s IN (1)", "?", "no common type"},
    /* CASE and friends */
    {"CASE WHEN i > 0 THEN 'pos' ELSE 'neg' END", "CHAR(3)", "pos"},
    {"CASE WHEN i > 0 THEN 'a' ELSE 'bcd' END", "VARCHAR(3)", "a"},
    {"CASE i WHEN 1 THEN 'one' WHEN 42 THEN 'many' END", "VARCHAR(4)", "many"},
    {"CASE WHEN nb THEN 1 END", "INT", "null"},
    {"CASE WHEN b THEN 1 ELSE 2.5 END", "DECIMAL(11, 1)", "1.0"},
    {"CASE WHEN b THEN i ELSE d END", "DOUBLE", "42.0"},
    {"CASE WHEN i8 = 7 THEN 0 ELSE 1 / (i8 - 7) END", "INT", "0"},
    {"CASE WHEN i8 = 8 THEN 0 ELSE 1 / (i8 - 7) END", "!", "division by zero"},
    {"CASE WHEN b THEN 1 ELSE 'x' END", "?", "INT and CHAR(1) have no common type"},
    {"COALESCE(n, i, 1)", "BIGINT", "42"},
    {"COALESCE(ns, 'x')", "STRING", "x"},
    {"COALESCE(n, NULL)", "BIGINT", "null"},
    {"COALESCE(i, 1 / 0)", "INT", "42"},
    {"IFNULL(n, 7)", "BIGINT", "7"},
    {"NULLIF(i, 42)", "INT", "null"},
    {"NULLIF(i, 41)", "INT", "42"},
    {"IF(i > 1, 'y', 'n')", "CHAR(1)", "y"},
    {"IF(nb, 1, 2)", "INT", "2"},
    {"GREATEST(1, l, 3)", "BIGINT", "9000000000"},
    {"LEAST(1.5, 2)", "DECIMAL(11, 1)", "1.5"},
    {"GREATEST(1, n)", "BIGINT", "null"},
    {"GREATEST('a', 'b')", "CHAR(1)", "b"},
    /* text operators */
    {"s || '!'", "STRING", "Hello!"},
    {"s || ns", "STRING", "null"},
    {"s || 1", "?", "INT beside ||, expected text"},
    /* dates and intervals */
    {"dt + INTERVAL '1' DAY", "DATE", "2024-03-01"},
    {"dt + INTERVAL '1' YEAR", "DATE", "2025-02-28"},
    {"dt - INTERVAL '1' MONTH", "DATE", "2024-01-29"},
    {"dt + INTERVAL '1' HOUR", "TIMESTAMP(0)", "2024-02-29 01:00:00"},
    {"ts - INTERVAL '5' SECOND", "TIMESTAMP(3)", "2024-02-29 12:34:51.789"},
    {"INTERVAL '1' DAY + ts", "TIMESTAMP(3)", "2024-03-01 12:34:56.789"},
    {"ts + INTERVAL '-1' MONTH", "TIMESTAMP(3)", "2024-01-29 12:34:56.789"},
    {"TIMESTAMP '2024-01-31 00:00:00' + INTERVAL '1' MONTH", "TIMESTAMP(0)", "2024-02-29 00:00:00"},
    {"TIMESTAMP '2024-01-31 00:00:00' + INTERVAL '0.5' SECOND", "TIMESTAMP(3)", "2024-01-31 00:00:00.500"},
    {"tm + INTERVAL '12' HOUR", "TIME(0)", "00:34:56"},
    {"INTERVAL '1' DAY + INTERVAL '1' HOUR", "INTERVAL DAY TO SECOND(3)", "+1 01:00:00.000"},
    {"2 * INTERVAL '1' DAY", "INTERVAL DAY TO SECOND(3)", "+2 00:00:00.000"},
    {"ts - ts", "?", "use TIMESTAMPDIFF"},
    {"ts + 1", "?", "is not possible"},
    {"tm + INTERVAL '1' MONTH", "?", "months cannot be added"},
};

START_TEST(operator_has_the_references_type_and_value)
{
    case_check(&cases[_i], "UTC");
}
END_TEST

static const struct expr_case casts[] = {
    {"CAST(i AS BIGINT)", "BIGINT", "42"},
    {"CAST(i AS TINYINT)", "TINYINT", "42"},
    {"CAST(i16 AS TINYINT)", "!", "CAST(i16 AS TINYINT): 300 does not fit TINYINT"},
    {"TRY_CAST(i16 AS TINYINT)", "TINYINT", "null"},
    {"CAST(l AS INT)", "!", "9000000000 does not fit INT"},
    {"CAST(d AS INT)", "INT", "2"},
    {"CAST(-d AS INT)", "INT", "-2"},
    {"CAST(0e0/0 AS INT)", "!", "NaN does not fit INT"},
    {"CAST(1e30 AS BIGINT)", "!", "does not fit BIGINT"},
    {"TRY_CAST(1e30 AS BIGINT)", "BIGINT", "null"},
    {"CAST(dec AS INT)", "INT", "12"},
    {"CAST(-12.99 AS INT)", "INT", "-12"},
    {"CAST(b AS INT)", "INT", "1"},
    {"CAST(' 12 ' AS INT)", "INT", "12"},
    {"CAST('12.7' AS INT)", "INT", "12"},
    {"CAST('12.x' AS INT)", "!", "'12.x' is not a number"},
    {"CAST(s AS INT)", "!", "CAST(s AS INT): 'Hello' is not a number"},
    {"TRY_CAST(s AS INT)", "INT", "null"},
    {"CAST('' AS INT)", "!", "'' is not a number"},
    {"CAST('300' AS TINYINT)", "!", "'300' does not fit: -128..127"},
    {"CAST(ns AS INT)", "INT", "null"},
    {"CAST(NULL AS INT)", "INT", "null"},
    {"CAST(i AS DOUBLE)", "DOUBLE", "42.0"},
    {"CAST(l AS FLOAT)", "FLOAT", "9.0E9"},
    {"CAST(dec AS DOUBLE)", "DOUBLE", "12.34"},
    {"CAST('1.5e3' AS DOUBLE)", "DOUBLE", "1500.0"},
    {"CAST('NaN' AS DOUBLE)", "DOUBLE", "NaN"},
    {"CAST('x' AS DOUBLE)", "!", "'x' is not a number"},
    {"CAST(f AS DECIMAL(5, 2))", "DECIMAL(5, 2)", "1.50"},
    {"CAST(0.1e0 AS DECIMAL(30, 20))", "DECIMAL(30, 20)", "0.10000000000000000000"},
    {"CAST(CAST(0.1 AS FLOAT) AS DECIMAL(10, 9))", "DECIMAL(10, 9)", "0.100000000"},
    {"CAST(dec AS DECIMAL(5, 1))", "DECIMAL(5, 1)", "12.3"},
    {"CAST(12.35 AS DECIMAL(5, 1))", "DECIMAL(5, 1)", "12.4"},
    {"CAST(-12.35 AS DECIMAL(5, 1))", "DECIMAL(5, 1)", "-12.4"},
    {"CAST(dec AS DECIMAL(2, 1))", "!", "12.34 does not fit DECIMAL(2, 1)"},
    {"TRY_CAST(dec AS DECIMAL(2, 1))", "DECIMAL(2, 1)", "null"},
    {"CAST('1.005' AS DECIMAL(3, 2))", "DECIMAL(3, 2)", "1.01"},
    {"CAST(i AS STRING)", "STRING", "42"},
    {"CAST(b AS STRING)", "STRING", "TRUE"},
    {"CAST(d AS STRING)", "STRING", "2.25"},
    {"CAST(1e10 AS STRING)", "STRING", "1.0E10"},
    {"CAST(dec AS STRING)", "STRING", "12.34"},
    {"CAST(dt AS STRING)", "STRING", "2024-02-29"},
    {"CAST(tm AS STRING)", "STRING", "12:34:56"},
    {"CAST(ts AS STRING)", "STRING", "2024-02-29 12:34:56.789"},
    {"CAST(ltz AS STRING)", "STRING", "2024-02-29 12:34:56.789"},
    {"CAST(s AS VARCHAR(3))", "VARCHAR(3)", "Hel"},
    {"CAST(s AS CHAR(7))", "CHAR(7)", "Hello  "},
    {"CAST(12345 AS VARCHAR(3))", "VARCHAR(3)", "123"},
    {"CAST(bin AS STRING)", "STRING", "\x01\x02"},
    {"CAST(X'ff' AS STRING)", "!", "not UTF-8"},
    {"TRY_CAST(X'ff' AS STRING)", "STRING", "null"},
    {"CAST('ab' AS BYTES)", "BYTES", "[97, 98]"},
    {"CAST('abc' AS BINARY(2))", "BINARY(2)", "[97, 98]"},
    {"CAST('a' AS BINARY(3))", "BINARY(3)", "[97, 0, 0]"},
    {"CAST('yes' AS BOOLEAN)", "BOOLEAN", "true"},
    {"CAST(' F ' AS BOOLEAN)", "BOOLEAN", "false"},
    {"CAST('2' AS BOOLEAN)", "!", "'2' is not a BOOLEAN"},
    {"CAST(0 AS BOOLEAN)", "BOOLEAN", "false"},
    {"CAST('2024-02-29' AS DATE)", "DATE", "2024-02-29"},
    {"CAST('2024-02-29 10:00:00' AS DATE)", "DATE", "2024-02-29"},
    {"CAST('2024-02-30' AS DATE)", "!", "'2024-02-30' is not a date"},
    {"CAST(ts AS DATE)", "DATE", "2024-02-29"},
    {"CAST(ts AS TIME)", "TIME(0)", "12:34:56"},
    {"CAST('12:34' AS TIME)", "TIME(0)", "12:34:00"},
    {"CAST(ts AS TIMESTAMP(0))", "TIMESTAMP(0)", "2024-02-29 12:34:56"},
    {"CAST(ts AS TIMESTAMP(9))", "TIMESTAMP(9)", "2024-02-29 12:34:56.789000000"},
    {"CAST(dt AS TIMESTAMP(3))", "TIMESTAMP(3)", "2024-02-29 00:00:00.000"},
    {"CAST('2024-02-29T01:02:03.123456789' AS TIMESTAMP(6))", "TIMESTAMP(6)", "2024-02-29 01:02:03.123456"},
    {"CAST('2024-02-29 25:00:00' AS TIMESTAMP(3))", "!", "is not a timestamp"},
    {"CAST('3000-01-01 00:00:00' AS TIMESTAMP(9))", "!", "outside the range of TIMESTAMP(9)"},
    {"TRY_CAST('3000-01-01 00:00:00' AS TIMESTAMP(9))", "TIMESTAMP(9)", "null"},
    {"CAST(ts AS TIMESTAMP_LTZ(3))", "TIMESTAMP_LTZ(3)", "2024-02-29 11:34:56.789Z"},
    {"CAST(ltz AS TIMESTAMP(3))", "TIMESTAMP(3)", "2024-02-29 12:34:56.789"},
    {"CAST(ltz AS DATE)", "DATE", "2024-02-29"},
    {"CAST('2024-02-29 12:00:00' AS TIMESTAMP_LTZ(0))", "TIMESTAMP_LTZ(0)", "2024-02-29 11:00:00Z"},
    {"CAST('2024-02-29T12:00:00Z' AS TIMESTAMP_LTZ(0))", "TIMESTAMP_LTZ(0)", "2024-02-29 12:00:00Z"},
    {"CAST(INTERVAL '2' DAY AS STRING)", "STRING", "+2 00:00:00.000"},
    {"CAST(i AS DATE)", "?", "INT cannot be cast to DATE"},
    {"CAST(l AS TIMESTAMP(3))", "?", "use TO_TIMESTAMP_LTZ"},
    {"CAST(dt AS INT)", "?", "DATE cannot be cast to INT"},
    {"CAST(s AS CHAR(2000000))", "?", "would be padded"},
};

/* Zone +01:00: what is local and what is an instant differ by an hour. */
START_TEST(cast_follows_the_references_table)
{
    case_check(&casts[_i], "Europe/Berlin");
}
END_TEST

/* ---- canonical text -------------------------------------------------------------------------- */

static const struct {
    const char *sql, *text;
} texts[] = {
    {"i+1", "i + 1"},
    {"1 + i", "i + 1"},
    {"v.i", NULL},
    {"i > 0", "i > 0"},
    {"0 < i", "i > 0"},
    {"l > i", "CAST(i AS BIGINT) < l"},
    {"i8 > i16", "i16 < CAST(i8 AS SMALLINT)"},
    {"i <> 1", "i <> 1"},
    {"NOT i = 1", "i <> 1"},
    {"1 = i", "i = 1"},
    {"(i = 1 AND b) AND nb", "i = 1 AND b AND nb"},
    {"i = 1 AND (b AND nb)", "i = 1 AND b AND nb"},
    {"i = 1 OR b AND nb", "i = 1 OR (b AND nb)"},
    {"i BETWEEN 1 AND 2", "i >= 1 AND i <= 2"},
    {"i >= 1 AND i <= 2", "i >= 1 AND i <= 2"},
    {"i IN (2, 1, 2)", "i IN (1, 2)"},
    {"NOT i IN (1)", "i NOT IN (1)"},
    {"IF(b, 1, 2)", "CASE WHEN b THEN 1 ELSE 2 END"},
    {"CASE WHEN b THEN 1 ELSE 2 END", "CASE WHEN b THEN 1 ELSE 2 END"},
    {"IFNULL(n, 1)", "COALESCE(n, 1)"},
    {"`Odd name`", "`Odd name`"},
    {"1 + 2 * 3", "7"},
    {"1 / 0", "1 / 0"},
    {"YEAR(ts)", "EXTRACT(YEAR FROM ts)"},
    {"EXTRACT(YEAR FROM ts)", "EXTRACT(YEAR FROM ts)"},
    {"FLOOR(ts TO DAY)", "FLOOR(ts TO DAY)"},
    {"CEILING(d)", "CEIL(d)"},
    {"SUBSTRING(s FROM 2 FOR 3)", "SUBSTRING(s, 2, 3)"},
    {"SUBSTR(s, 2, 3)", "SUBSTRING(s, 2, 3)"},
    {"TRIM(LEADING 'x' FROM s)", "LTRIM(s, 'x')"},
    {"TRIM(s)", "BTRIM(s)"},
    {"INSTR(s, 'l')", "POSITION('l', s)"},
    {"ts - INTERVAL '5' SECOND", "ts + INTERVAL '-0 00:00:05.000' DAY TO SECOND"},
    {"s LIKE 'a%' ESCAPE '!'", "s LIKE 'a%' ESCAPE '!'"},
    {"s NOT LIKE 'a%'", "NOT (s LIKE 'a%')"},
    {"n IS NOT NULL", "n IS NOT NULL"},
    {"NOT n IS NULL", "n IS NOT NULL"},
    {"nb IS NOT TRUE", "nb IS NOT TRUE"},
    {"1e0", "1.0E0"},
    {"1.0", "1.0"},
    {"(i + 1) * 2", "(i + 1) * 2"},
    {"-i", "-i"},
    {"TRY_CAST(s AS INT)", "TRY_CAST(s AS INT)"},
    {"s || 'a'", "s || 'a'"},
    {"X'0A'", "X'0a'"},
};

START_TEST(one_meaning_prints_as_one_text)
{
    struct expr_scope scope = {&case_schema, NULL, "UTC"};
    struct arena *a = arena_new(0);
    struct err err = {0};
    struct buf text = {0};
    struct expr *e;

    if (texts[_i].text == NULL) {
        ck_assert_rc(expr_bind(a, case_parse(a, texts[_i].sql), &scope, &e, &err), RC_INVALID);
    } else {
        ck_assert_ok(expr_bind(a, case_parse(a, texts[_i].sql), &scope, &e, &err));
        expr_print(e, &case_schema, &text);
        ck_assert_str_eq(buf_cstr(&text), texts[_i].text);
    }
    buf_release(&text);
    arena_free(a);
}
END_TEST

/* ---- implicit casts of INSERT ---------------------------------------------------------------- */

static const struct {
    const char *sql;
    struct type to;
    const char *value; /* printed; or '?' refused at planning, '!' when run, with a part of the message */
} coercions[] = {
    {"i", P(TYPE_BIGINT, 0, 0), "42"},
    {"i8", P(TYPE_DOUBLE, 0, 0), "7.0"},
    {"l", P(TYPE_INT, 0, 0), "?the query gives BIGINT, the column is INT"},
    {"i", P(TYPE_DECIMAL, 12, 2), "42.00"},
    {"d", P(TYPE_FLOAT, 0, 0), "?write CAST(... AS FLOAT)"},
    {"dec", P(TYPE_DOUBLE, 0, 0), "12.34"},
    {"l", P(TYPE_DECIMAL, 5, 0), "!does not fit"},
    {"i", STR, "?the column is STRING"},
    {"s", P(TYPE_INT, 0, 0), "?the column is INT"},
    {"'ab'", STR, "ab"},
    {"s", {.kind = TYPE_VARCHAR, .nullable = true, .length = 2}, "Hello"}, /* length enforcer: IGNORE */
    {"NULL", P(TYPE_INT, 0, 0), "null"},
    {"ts", P(TYPE_TIMESTAMP, 6, 0), "2024-02-29 12:34:56.789000"},
    {"ts", P(TYPE_DATE, 0, 0), "2024-02-29"},
    {"ltz", P(TYPE_TIMESTAMP, 3, 0), "2024-02-29 11:34:56.789"},
    {"dt", P(TYPE_INT, 0, 0), "?the column is INT"},
    {"dt", P(TYPE_TIMESTAMP, 3, 0), "?write CAST(... AS TIMESTAMP(3))"},
    {"nn", {.kind = TYPE_BIGINT}, "5"},
    {"i", {.kind = TYPE_INT}, "42"},
    {"n", {.kind = TYPE_BIGINT}, "!column 'c' is NOT NULL"},
};

START_TEST(insert_casts_what_the_reference_casts)
{
    struct expr_scope scope = {&case_schema, NULL, "UTC"};
    struct arena *a = arena_new(0);
    struct batch_builder *b = batch_builder_new(&case_schema);
    struct err err = {0};
    struct expr_eval *ev = expr_eval_new(&case_clock, "UTC", &err);
    const char *want = coercions[_i].value;
    struct buf text = {0};
    struct column out;
    struct expr *e;

    case_row(b);
    ck_assert_ok(expr_bind(a, case_parse(a, coercions[_i].sql), &scope, &e, &err));
    if (want[0] == '?') {
        ck_assert_rc_msg(expr_coerce(a, e, coercions[_i].to, "c", &e, &err), RC_INVALID, want + 1);
    } else {
        ck_assert_ok(expr_coerce(a, e, coercions[_i].to, "c", &e, &err));
        ck_assert(type_eq(expr_type(e), coercions[_i].to, false));
        if (want[0] == '!') {
            ck_assert_rc_msg(expr_evaluate(ev, e, batch_builder_view(b), NULL, 1, &out, &err), RC_INVALID, want + 1);
        } else {
            ck_assert_ok(expr_evaluate(ev, e, batch_builder_view(b), NULL, 1, &out, &err));
            column_print(&out, 0, &text);
            ck_assert_str_eq(buf_cstr(&text), want);
        }
    }
    buf_release(&text);
    expr_eval_free(ev);
    batch_builder_free(b);
    arena_free(a);
}
END_TEST

/* Nobody to blame for a null, and a predicate that fails for rows that were filtered away must not fail the batch. */
START_TEST(filter_keeps_rows_that_are_true_and_skips_the_rest)
{
    static struct schema_field fields[] = {{"a", P(TYPE_BIGINT, 0, 0)}};
    struct schema schema = {1, fields, -1};
    struct expr_scope scope = {&schema, NULL, "UTC"};
    struct arena *a = arena_new(0);
    struct batch_builder *b = batch_builder_new(&schema);
    struct err err = {0};
    struct expr_eval *ev = expr_eval_new(&case_clock, "UTC", &err);
    uint32_t sel[200], n;
    struct expr *e;

    for (int64_t i = 0; i < 200; i++) {
        if (i % 3 == 0)
            batch_append_null(b, 0);
        else
            batch_append_int(b, 0, i % 10);
        batch_row_end(b, ROW_INSERT);
    }
    ck_assert_ok(expr_bind(a, case_parse(a, "a <> 0 AND 10 / a = 2"), &scope, &e, &err));
    ck_assert_ok(expr_filter(ev, e, batch_builder_view(b), NULL, 200, sel, &n, &err));
    for (uint32_t k = 0; k < n; k++) {
        ck_assert_uint_ne(sel[k] % 3, 0);
        ck_assert(sel[k] % 10 == 4 || sel[k] % 10 == 5);
        ck_assert(k == 0 || sel[k] > sel[k - 1]);
    }
    ck_assert_uint_eq(n, 27); /* of the 40 rows that end in 4 or 5, 13 are null */
    expr_eval_free(ev);
    batch_builder_free(b);
    arena_free(a);
}
END_TEST

TEST_MAIN("expr", tcase_add_loop_test(tc, operator_has_the_references_type_and_value, 0, ARRAY_LEN(cases));
          tcase_add_loop_test(tc, cast_follows_the_references_table, 0, ARRAY_LEN(casts));
          tcase_add_loop_test(tc, one_meaning_prints_as_one_text, 0, ARRAY_LEN(texts));
          tcase_add_loop_test(tc, insert_casts_what_the_reference_casts, 0, ARRAY_LEN(coercions));
          tcase_add_test(tc, filter_keeps_rows_that_are_true_and_skips_the_rest);)
