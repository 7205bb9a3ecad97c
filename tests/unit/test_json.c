/* links: base */
/* test_json.c - the checked parse and the compact dump. */
#include "base/json.h"

#include "tests/lib/check_ext.h"

static const struct {
    const char *text, *message;
} bad[] = {
    {"", "line 1 column 1: no JSON value"},
    {"   ", "line 1 column"},
    {"{\"a\":1,}", "line 1 column 8: "},
    {"{\n  \"a\": nope\n}", "line 2 column "},
    {"{\"a\":1} x", "line 1 column 9: end of file expected"},
    {"{\"a\":1,\"a\":2}", "duplicate object key"},
    {"[1,2", "line 1 column "},
    {"\"cut", "premature end of input"},
    {"\"\xff\xfe\"", "unable to decode byte 0xff"},
    {"\"\\ud800\"", "invalid Unicode"},
    {"\"a\\u0000b\"", "\\u0000 is not allowed"},
    {"01", "line 1 column "},
    {"1e999", "real number overflow"},
    {"99999999999999999999", "too big integer"},
    {"NaN", "line 1 column "},
};

START_TEST(bad_text_is_invalid_and_says_where)
{
    struct err err = {0};
    json_t *got;

    ck_assert_rc_msg(json_parse(bytes_of_str(bad[_i].text), 1000, &got, &err), RC_INVALID,
                     bad[_i].message);
    ck_assert_ptr_null(got);
}
END_TEST

START_TEST(a_byte_of_zero_in_the_text_is_invalid)
{
    struct err err = {0};
    json_t *got;

    ck_assert_rc(json_parse(bytes_of("{}\0", 3), 1000, &got, &err), RC_INVALID);
    ck_assert_rc(json_parse(bytes_of("\"a\0b\"", 5), 1000, &got, &err), RC_INVALID);
}
END_TEST

static const char *const good[] = {
    "{}",
    "[]",
    "null",
    "true",
    "-9223372036854775808",
    "9223372036854775807",
    "\"\"",
    "\"[[[[{{{\\\"\"",
    "{\"zebra\":1,\"apple\":{\"z\":[],\"a\":null},\"Mango\":[1,2.5,\"x\"]}",
    "\"\u00e4\u20ac\U0001f600\"",
};

/* The order of keys is the order of writing: REST answers and inspect's output are compared as
 * text. */
START_TEST(a_value_is_dumped_compactly_in_its_own_order)
{
    struct err err = {0};
    struct buf out = {0};
    json_t *value;

    ck_assert_ok(json_parse(bytes_of_str(good[_i]), 1000, &value, &err));
    buf_append_str(&out, "> ");
    json_dump_to(value, false, &out);
    ck_assert_str_eq(buf_cstr(&out) + 2, good[_i]);
    json_decref(value);
    buf_release(&out);
}
END_TEST

START_TEST(an_indented_dump_indents_by_two)
{
    struct err err = {0};
    struct buf out = {0};
    json_t *value;

    ck_assert_ok(json_parse(bytes_of_str("{\"b\":[1],\"a\":2}"), 1000, &value, &err));
    json_dump_to(value, true, &out);
    ck_assert_str_eq(buf_cstr(&out), "{\n  \"b\": [\n    1\n  ],\n  \"a\": 2\n}");
    json_decref(value);
    buf_release(&out);
}
END_TEST

static void nested(struct buf *out, const char *open, const char *close, int depth)
{
    for (int i = 0; i < depth; i++)
        buf_append_str(out, open);
    buf_append_str(out, "1");
    for (int i = 0; i < depth; i++)
        buf_append_str(out, close);
}

START_TEST(depth_64_is_read_and_65_is_not)
{
    struct err err = {0};
    struct buf text = {0};
    json_t *value;

    nested(&text, "[", "]", 64);
    ck_assert_ok(json_parse(buf_bytes(&text), 1000, &value, &err));
    json_decref(value);
    buf_clear(&text);
    nested(&text, "[", "]", 65);
    ck_assert_rc_msg(json_parse(buf_bytes(&text), 1000, &value, &err), RC_INVALID,
                     "line 1 column 65: nested deeper than 64");
    buf_clear(&text);
    nested(&text, "{\"k\":", "}", 64);
    ck_assert_ok(json_parse(buf_bytes(&text), 1000, &value, &err));
    json_decref(value);
    buf_clear(&text);
    nested(&text, "\n[{\"k\":", "}]", 500000); /* a parser that recurses freely dies here */
    ck_assert_rc_msg(json_parse(buf_bytes(&text), text.len, &value, &err), RC_INVALID,
                     "line 34 column 1: nested deeper than 64");
    buf_release(&text);
}
END_TEST

START_TEST(a_text_past_the_limit_is_not_looked_at)
{
    struct err err = {0};
    json_t *value;

    ck_assert_ok(json_parse(bytes_of_str("[1,2]"), 5, &value, &err));
    json_decref(value);
    ck_assert_rc_msg(json_parse(bytes_of_str("[1,2]"), 4, &value, &err), RC_LIMIT,
                     "5 bytes, the limit is 4");
}
END_TEST

TEST_MAIN("json", tcase_add_loop_test(tc, bad_text_is_invalid_and_says_where, 0, ARRAY_LEN(bad));
          tcase_add_test(tc, a_byte_of_zero_in_the_text_is_invalid);
          tcase_add_loop_test(tc, a_value_is_dumped_compactly_in_its_own_order, 0, ARRAY_LEN(good));
          tcase_add_test(tc, an_indented_dump_indents_by_two);
          tcase_add_test(tc, depth_64_is_read_and_65_is_not);
          tcase_add_test(tc, a_text_past_the_limit_is_not_looked_at))
