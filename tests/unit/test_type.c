#include "job/type.h"
#include "tests/lib/check_ext.h"

static const struct {
    struct type type;
    const char *text;
    uint32_t width;
} types[] = {
    {{.kind = TYPE_BOOLEAN, .nullable = true}, "BOOLEAN", 0},
    {{.kind = TYPE_TINYINT, .nullable = true}, "TINYINT", 1},
    {{.kind = TYPE_SMALLINT, .nullable = true}, "SMALLINT", 2},
    {{.kind = TYPE_INT}, "INT NOT NULL", 4},
    {{.kind = TYPE_BIGINT, .nullable = true}, "BIGINT", 8},
    {{.kind = TYPE_FLOAT, .nullable = true}, "FLOAT", 4},
    {{.kind = TYPE_DOUBLE, .nullable = true}, "DOUBLE", 8},
    {{.kind = TYPE_DECIMAL, .nullable = true, .precision = 10, .scale = 2}, "DECIMAL(10, 2)", 16},
    {{.kind = TYPE_CHAR, .nullable = true, .length = 3}, "CHAR(3)", 0},
    {{.kind = TYPE_VARCHAR, .nullable = true, .length = 9}, "VARCHAR(9)", 0},
    {{.kind = TYPE_VARCHAR, .nullable = true, .length = TYPE_LENGTH_MAX}, "STRING", 0},
    {{.kind = TYPE_BINARY, .nullable = true, .length = 3}, "BINARY(3)", 0},
    {{.kind = TYPE_VARBINARY, .nullable = true, .length = TYPE_LENGTH_MAX}, "BYTES", 0},
    {{.kind = TYPE_DATE, .nullable = true}, "DATE", 4},
    {{.kind = TYPE_TIME, .nullable = true, .precision = 3}, "TIME(3)", 4},
    {{.kind = TYPE_TIMESTAMP, .precision = 3}, "TIMESTAMP(3) NOT NULL", 8},
    {{.kind = TYPE_TIMESTAMP_LTZ, .nullable = true, .precision = 9}, "TIMESTAMP_LTZ(9)", 8},
};

START_TEST(type_prints_as_the_reference_prints_it)
{
    struct arena *a = arena_new(0);

    ck_assert_str_eq(type_str(a, types[_i].type, true), types[_i].text);
    ck_assert_uint_eq(type_width(types[_i].type.kind), types[_i].width);
    for (size_t k = 0; k < ARRAY_LEN(types); k++)
        ck_assert(type_eq(types[_i].type, types[k].type, true) == (k == (size_t)_i));
    arena_free(a);
}
END_TEST

START_TEST(defaults_are_those_of_the_reference)
{
    ck_assert(type_of(TYPE_DECIMAL).precision == 10 && type_of(TYPE_DECIMAL).scale == 0);
    ck_assert(type_of(TYPE_TIMESTAMP).precision == 6 && type_of(TYPE_TIMESTAMP_LTZ).precision == 6 && type_of(TYPE_TIME).precision == 0);
    ck_assert(type_of(TYPE_VARCHAR).length == TYPE_LENGTH_MAX && type_of(TYPE_CHAR).length == 1 && type_of(TYPE_INT).nullable);
    ck_assert(timestamp_units_per_ms(0) == 1 && timestamp_units_per_ms(3) == 1 && timestamp_units_per_ms(4) == 1000 &&
              timestamp_units_per_ms(6) == 1000 && timestamp_units_per_ms(7) == 1000000 && timestamp_units_per_ms(9) == 1000000);
}
END_TEST

START_TEST(not_null_matters_only_when_asked)
{
    struct type a = type_of(TYPE_INT), b = a;

    b.nullable = false;
    ck_assert(type_eq(a, b, false) && !type_eq(a, b, true));
}
END_TEST

START_TEST(schema_is_copied_printed_and_searched)
{
    struct schema_field fields[] = {{"k", type_of(TYPE_VARCHAR)}, {"a`b", {.kind = TYPE_BIGINT}}};
    struct schema s = {2, fields, 1}, *c;
    struct arena *a = arena_new(0);

    c = schema_copy(a, &s);
    fields[0].name = "gone";
    ck_assert_str_eq(schema_str(a, c), "ROW<`k` STRING, `a``b` BIGINT NOT NULL>");
    ck_assert_int_eq(schema_find(c, "a`b"), 1);
    ck_assert_int_eq(schema_find(c, "K"), -1);
    ck_assert_int_eq(c->rowtime, 1);
    arena_free(a);
}
END_TEST

/* What a snapshot records is read back, and only that: a near miss is no type. */
START_TEST(a_printed_type_is_parsed)
{
    struct buf text = {0};
    struct type t;

    type_print(types[_i].type, false, &text);
    ck_assert_msg(type_parse(buf_cstr(&text), &t), "%s", buf_cstr(&text));
    ck_assert_msg(type_eq(t, types[_i].type, false), "%s", buf_cstr(&text));
    ck_assert(t.nullable);
    buf_append_u8(&text, ' ');
    ck_assert(!type_parse(buf_cstr(&text), &t));
    buf_release(&text);
}
END_TEST

START_TEST(what_no_type_prints_is_none)
{
    static const char *const texts[] = {
        "",           "NULL",           "INTEGER",       "int",          "INT NOT NULL",     "DECIMAL",
        "DECIMAL(10)", "DECIMAL(10,2)", "DECIMAL(39, 0)", "DECIMAL(0, 0)", "DECIMAL(5, 6)",   "DECIMAL(10, 2",
        "CHAR(0)",    "CHAR()",         "CHAR(-1)",      "CHAR(2147483648)", "VARCHAR(2147483647)", "TIMESTAMP(10)",
        "TIMESTAMP",  "TIME(3) ",       "STRING(3)",     "ROW<`a` INT>", "INTERVAL DAY",     "BIGINT(3)",
        "DECIMAL(300, 2)", "TIMESTAMP(259)", "VARCHAR(99999999999999999999999)",
    };
    struct type t;

    ck_assert_msg(!type_parse(texts[_i], &t), "%s", texts[_i]);
}
END_TEST

TEST_MAIN("type", tcase_add_loop_test(tc, type_prints_as_the_reference_prints_it, 0, ARRAY_LEN(types));
          tcase_add_test(tc, defaults_are_those_of_the_reference); tcase_add_test(tc, not_null_matters_only_when_asked);
          tcase_add_test(tc, schema_is_copied_printed_and_searched);
          tcase_add_loop_test(tc, a_printed_type_is_parsed, 0, ARRAY_LEN(types));
          tcase_add_loop_test(tc, what_no_type_prints_is_none, 0, 27);)
