/* links: checkpoint
 *
 * Values of Flink's as values of SQL types: those that go over whole, and those that are refused. */
#include "checkpoint/flink/flink_cast.h"

#include "tests/lib/check_ext.h"

#include <math.h>

static struct flink_value whole(int64_t n)
{
    return (struct flink_value){.kind = FLINK_VALUE_INTEGER, .integer = n};
}
static struct flink_value digits(const char *text)
{
    return (struct flink_value){.kind = FLINK_VALUE_NUMBER, .text = bytes_of_str(text)};
}
static struct flink_value text(const char *t)
{
    return (struct flink_value){.kind = FLINK_VALUE_TEXT, .text = bytes_of_str(t)};
}
static struct flink_value moment(int64_t ms, int32_t nanos)
{
    return (struct flink_value){.kind = FLINK_VALUE_TEXT, .text = bytes_of_str("a time"), .is_time = true, .integer = ms, .nanos = nanos};
}

#define OK NULL
/* 10^37 * 9 as a number of 128 bits. */
#define WIDE ((int128)9000000000000000000ll * 1000000000000000000ll * 10)

START_TEST(numbers_go_over_or_are_refused)
{
    const struct {
        struct flink_value from;
        const char *type;
        int128 number;
        const char *why; /* OK: it goes over */
    } rows[] = {
        {whole(127), "TINYINT", 127, OK},
        {whole(128), "TINYINT", 0, "128 is no TINYINT: it is out of range"},
        {whole(-32769), "SMALLINT", 0, "out of range"},
        {whole(INT32_MIN), "INT", INT32_MIN, OK},
        {whole(INT32_MAX + 1ll), "INT", 0, "out of range"},
        {whole(INT64_MIN), "BIGINT", INT64_MIN, OK},
        {digits("9223372036854775807"), "BIGINT", INT64_MAX, OK},
        {digits("9223372036854775808"), "BIGINT", 0, "out of range"},
        {digits("1.0"), "BIGINT", 1, OK},
        {digits("1.5"), "BIGINT", 0, "it has more digits behind the point"},
        {digits("-12.50"), "DECIMAL(4, 1)", -125, OK},
        {digits("-12.55"), "DECIMAL(4, 1)", 0, "more digits behind the point"},
        {digits("1000"), "DECIMAL(4, 1)", 0, "1000 is no DECIMAL(4, 1): it is out of range"},
        {whole(-7), "DECIMAL(10, 2)", -700, OK},
        {whole(1), "DECIMAL(38, 38)", 0, "it is out of range"},
        {whole(INT64_MAX), "DECIMAL(38, 38)", 0, "more than 38 digits"},
        {digits("9E37"), "DECIMAL(38, 0)", WIDE, OK},
        {digits("9E-1"), "DECIMAL(2, 1)", 9, OK},
        {digits("9E38"), "DECIMAL(38, 0)", 0, "is no DECIMAL(38, 0)"},
        {digits("0E2000"), "DECIMAL(2, 1)", 0, OK},
        {digits("1E-2000"), "DECIMAL(2, 1)", 0, "more digits behind"},
        {whole(19000), "DATE", 19000, OK},
        {moment(-1, 0), "DATE", -1, OK}, /* a day is what it lies in */
        {whole(86399999), "TIME(3)", 86399999, OK},
        {whole(86400000), "TIME(3)", 0, "out of range"},
        {moment(1500, 0), "TIME(0)", 0, "more digits of a second"},
        {moment(1500, 1), "TIME(3)", 0, "more digits of a second"},
        {moment(-1500, 0), "TIMESTAMP(3)", -1500, OK},
        {moment(-1500, 0), "TIMESTAMP_LTZ(1)", -1500, OK},
        {moment(-1500, 0), "TIMESTAMP(0)", 0, "\"a time\" is no TIMESTAMP(0): it has more digits"},
        {moment(5, 999999), "TIMESTAMP(9)", 5, OK},
        {moment(5, 999999), "TIMESTAMP(8)", 0, "more digits"},
        {text("x"), "TIMESTAMP(3)", 0, "it is no time"},
        {text("2020-01-01"), "DATE", 0, "is no DATE: it is no date and no number of days since 1970"},
        {text("x"), "TIME(3)", 0, "it is no time and no number of milliseconds"},
        {text("x"), "BIGINT", 0, "no exact number"},
        {{.kind = FLINK_VALUE_BOOL, .integer = 1}, "BOOLEAN", 1, OK},
        {whole(1), "BOOLEAN", 0, "neither true nor false"},
        {{.kind = FLINK_VALUE_NULL}, "BIGINT NOT NULL", 0, "null is no BIGINT NOT NULL: null has no place there"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct cast_type type;
        struct cast_value v;
        struct err err = {0};
        enum rc rc;

        ck_assert(cast_type_parse(rows[i].type, &type));
        rc = flink_cast(&rows[i].from, &type, &v, &err);
        ck_assert_msg(rc == (rows[i].why == OK ? RC_OK : RC_INVALID), "row %zu: %s", i, err.msg);
        if (rows[i].why == OK)
            ck_assert_msg(v.number == rows[i].number && !v.null, "row %zu", i);
        else
            ck_assert_msg(strstr(err.msg, rows[i].why) != NULL, "row %zu: %s", i, err.msg);
    }
}
END_TEST

START_TEST(texts_and_bytes_keep_their_length)
{
    const struct {
        struct flink_value from;
        const char *type, *why;
    } rows[] = {
        {text(""), "STRING", OK},
        {text("\xc3\xa4\xc3\xb6"), "VARCHAR(2)", OK},
        {text("abc"), "VARCHAR(2)", "\"abc\" is no VARCHAR(2): it is too long"},
        {text("ab"), "CHAR(3)", "it has another length"},
        {text("abc"), "CHAR(3)", OK},
        {text("a\xed\xa0\x80"), "STRING", "half a surrogate pair"},
        {{.kind = FLINK_VALUE_BYTES, .text = bytes_of_str("ab")}, "BYTES", OK},
        {{.kind = FLINK_VALUE_BYTES, .text = bytes_of_str("ab")}, "VARBINARY(1)", "too long"},
        {{.kind = FLINK_VALUE_BYTES, .text = bytes_of_str("ab")}, "STRING", "it is no text"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct cast_type type;
        struct cast_value v;
        struct err err = {0};
        enum rc rc;

        ck_assert(cast_type_parse(rows[i].type, &type));
        rc = flink_cast(&rows[i].from, &type, &v, &err);
        ck_assert_msg(rc == (rows[i].why == OK ? RC_OK : RC_INVALID), "row %zu: %s", i, err.msg);
        if (rows[i].why == OK)
            ck_assert_bytes_eq(v.bytes, rows[i].from.text);
        else
            ck_assert_msg(strstr(err.msg, rows[i].why) != NULL, "row %zu: %s", i, err.msg);
    }
}
END_TEST

START_TEST(reals_widen_and_never_narrow)
{
    struct flink_value single = {.kind = FLINK_VALUE_REAL, .single = true, .real = 1.5}, real = {.kind = FLINK_VALUE_REAL, .real = NAN},
                       exact = whole(1ll << 53), odd = whole((1ll << 53) + 1), most = whole(INT64_MAX);
    struct cast_type f, d;
    struct cast_value v;
    struct err err = {0};

    ck_assert(cast_type_parse("FLOAT", &f) && cast_type_parse("DOUBLE", &d));
    ck_assert_ok(flink_cast(&single, &d, &v, &err));
    ck_assert(v.real == 1.5);
    ck_assert_ok(flink_cast(&real, &d, &v, &err));
    ck_assert(isnan(v.real));
    ck_assert_ok(flink_cast(&single, &f, &v, &err));
    ck_assert_rc_msg(flink_cast(&real, &f, &v, &err), RC_INVALID, "it is no FLOAT");
    ck_assert_ok(flink_cast(&exact, &d, &v, &err));
    ck_assert_rc_msg(flink_cast(&odd, &d, &v, &err), RC_INVALID, "more digits than a DOUBLE");
    ck_assert_rc_msg(flink_cast(&most, &d, &v, &err), RC_INVALID, "more digits than a DOUBLE");
}
END_TEST

/* Which serializers a type is made of: codings in the order of the string's columns. */
START_TEST(kinds_of_types_are_decided_by_the_serializer)
{
    static const enum flink_coding codings[] = {FLINK_BOOLEAN, FLINK_INT, FLINK_LONG, FLINK_FLOAT, FLINK_DOUBLE, FLINK_STRING, FLINK_ENUM,
                                                FLINK_BIG_DEC, FLINK_INSTANT, FLINK_LOCAL_DATE, FLINK_LOCAL_DATE_TIME, FLINK_TIMESTAMP_DATA,
                                                FLINK_BYTES, FLINK_OPAQUE, FLINK_LIST, FLINK_TUPLE};
    static const struct {
        const char *type, *takes;
    } rows[] = {
        {"BOOLEAN", "y..............."}, {"INT", ".yy....y........"},          {"BIGINT", ".yy....y........"},      {"FLOAT", "...y............"},
        {"DOUBLE", ".yyyy..........."},  {"DECIMAL(3, 1)", ".yy....y........"}, {"STRING", ".....yy........."},     {"DATE", ".y.......y......"},
        {"TIME(0)", ".y.............."}, {"TIMESTAMP(3)", "..........yy...."},  {"TIMESTAMP_LTZ(3)", "........y..y...."}, {"BYTES", "............y..."},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (size_t k = 0; k < ARRAY_LEN(codings); k++) {
            struct flink_serializer s = {.coding = codings[k]}, nullable = {.coding = FLINK_NULLABLE};
            const struct flink_serializer *child = &s;
            struct cast_type type;

            nullable.children = &child;
            nullable.child_count = 1;
            ck_assert(cast_type_parse(rows[i].type, &type));
            ck_assert_msg(flink_cast_fits(&s, &type) == (rows[i].takes[k] == 'y'), "%s of coding %d", rows[i].type, codings[k]);
            ck_assert(flink_cast_fits(&nullable, &type) == flink_cast_fits(&s, &type));
        }
}
END_TEST

START_TEST(types_that_are_none_are_refused)
{
    static const char *const texts[] = {"", "BIGINTS", "ROW<`a` INT>", "DECIMAL(39, 2)", "DECIMAL(3, 4)", "CHAR(", "CHAR()", "BIGINT NOT", "VARCHAR(99999999999)"};
    struct cast_type type;

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        ck_assert_msg(!cast_type_parse(texts[i], &type), "%s", texts[i]);
}
END_TEST

/* As the type's serializer in Flink writes it: flink_value.h reads it back. */
START_TEST(what_is_put_is_read_back_as_it_was)
{
    static const struct {
        const char *type;
        enum flink_coding coding;
        int32_t number, scale, length;
        const char *json;
    } rows[] = {
        {"BOOLEAN", FLINK_BOOLEAN, 0, 0, 1, "true"},           {"TINYINT", FLINK_BYTE, 0, 0, 1, "1"},
        {"SMALLINT", FLINK_SHORT, 0, 0, 2, "1"},               {"INT", FLINK_INT, 0, 0, 4, "1"},
        {"BIGINT", FLINK_LONG, 0, 0, 8, "1"},                  {"DECIMAL(5, 2)", FLINK_DECIMAL_DATA, 5, 2, -1, "0.01"},
        {"DECIMAL(30, 2)", FLINK_DECIMAL_DATA, 30, 2, -1, "0.01"}, {"STRING", FLINK_STRING_DATA, 0, 0, -1, "\"ab\""},
        {"BYTES", FLINK_BYTES, 0, 0, -1, "\"0x6162\""},        {"TIMESTAMP(3)", FLINK_TIMESTAMP_DATA, 3, 0, -1, "\"1970-01-01 00:00:00.001\""},
        {"TIMESTAMP(9)", FLINK_TIMESTAMP_DATA, 9, 0, -1, "\"1970-01-01 00:00:00.001000007\""},
        {"DOUBLE", FLINK_DOUBLE, 0, 0, 8, "2.5"},              {"FLOAT", FLINK_FLOAT, 0, 0, 4, "2.5"},
    };
    const struct cast_value v = {.number = 1, .nanos = 7, .real = 2.5, .bytes = bytes_of_str("ab")};
    struct arena *arena = arena_new(0);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct flink_serializer s = {.coding = rows[i].coding, .number = rows[i].number, .scale = rows[i].scale, .length = rows[i].length};
        struct flink_value back;
        struct cast_type type;
        struct buf bytes = {0}, json = {0};
        struct err err = {0};

        ck_assert(cast_type_parse(rows[i].type, &type));
        cast_value_put(&v, &type, &bytes);
        ck_assert_ok(flink_value_of(buf_bytes(&bytes), &s, arena, rows[i].type, &back, &err));
        flink_value_json(&back, &json);
        ck_assert_str_eq(buf_cstr(&json), rows[i].json);
        buf_release(&bytes);
        buf_release(&json);
    }
    arena_free(arena);
}
END_TEST

TEST_MAIN("flink_cast", tcase_add_test(tc, numbers_go_over_or_are_refused); tcase_add_test(tc, texts_and_bytes_keep_their_length);
          tcase_add_test(tc, reals_widen_and_never_narrow); tcase_add_test(tc, kinds_of_types_are_decided_by_the_serializer);
          tcase_add_test(tc, types_that_are_none_are_refused); tcase_add_test(tc, what_is_put_is_read_back_as_it_was);)
