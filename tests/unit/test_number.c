#include "job/number.h"
#include "tests/lib/check_ext.h"

#include <float.h>
#include <math.h>

/* Java's Double.toString since 19 (shortest text that reads back). */
static const struct {
    double v;
    const char *text;
} doubles[] = {
    {0, "0.0"},
    {-0.0, "-0.0"},
    {1, "1.0"},
    {-42, "-42.0"},
    {0.1, "0.1"},
    {100, "100.0"},
    {9999999, "9999999.0"},
    {1e7, "1.0E7"},
    {12345678.9, "1.23456789E7"},
    {0.001, "0.001"},
    {0.0009, "9.0E-4"},
    {0.00123, "0.00123"},
    {1.0 / 3, "0.3333333333333333"},
    {2e23, "2.0E23"},
    {4.9e-324, "4.9E-324"},
    {1e-323, "9.9E-324"},
    {2.2250738585072014e-308, "2.2250738585072014E-308"},
    {DBL_MAX, "1.7976931348623157E308"},
    {123456.789, "123456.789"},
    {1234567.25, "1234567.25"},
    {NAN, "NaN"},
    {-INFINITY, "-Infinity"},
};

START_TEST(double_prints_as_java_prints_it)
{
    struct buf out = {0};
    double back;

    number_print_double(doubles[_i].v, &out);
    ck_assert_str_eq(buf_cstr(&out), doubles[_i].text);
    ck_assert(number_parse_double(buf_bytes(&out), &back, NULL) == RC_OK);
    ck_assert(memcmp(&back, &doubles[_i].v, 8) == 0 || isnan(back));
    buf_release(&out);
}
END_TEST

static const struct {
    float v;
    const char *text;
} floats[] = {
    {0.1f, "0.1"}, {16777216.f, "1.6777216E7"}, {1.4e-45f, "1.4E-45"}, {FLT_MAX, "3.4028235E38"}, {0.3f, "0.3"}, {1e10f, "1.0E10"}, {33554432.f, "3.3554432E7"},
};

START_TEST(float_prints_as_java_prints_it)
{
    struct buf out = {0};

    number_print_float(floats[_i].v, &out);
    ck_assert_str_eq(buf_cstr(&out), floats[_i].text);
    buf_release(&out);
}
END_TEST

static const struct {
    const char *text;
    int64_t min, max;
    bool ok;
    int64_t v;
} ints[] = {
    {"0", -128, 127, true, 0},
    {"-0", -128, 127, true, 0},
    {"+127", -128, 127, true, 127},
    {"-128", -128, 127, true, -128},
    {"128", -128, 127, false, 0},
    {"-129", -128, 127, false, 0},
    {" 7\t", -128, 127, true, 7},
    {"00000000000000000000000000000000000000000007", -128, 127, true, 7},
    {"9223372036854775807", INT64_MIN, INT64_MAX, true, INT64_MAX},
    {"-9223372036854775808", INT64_MIN, INT64_MAX, true, INT64_MIN},
    {"9223372036854775808", INT64_MIN, INT64_MAX, false, 0},
    {"-9223372036854775809", INT64_MIN, INT64_MAX, false, 0},
    {"99999999999999999999999999999999", INT64_MIN, INT64_MAX, false, 0},
    {"-1", 0, 10, false, 0},
    {"-0", 0, 10, true, 0},
    {"3", 5, 10, false, 0},
    {"", -128, 127, false, 0},
    {"-", -128, 127, false, 0},
    {"1.0", -128, 127, false, 0},
    {"1 0", -128, 127, false, 0},
    {"--1", -128, 127, false, 0},
    {"\xd9\xa7", -128, 127, false, 0},
};

START_TEST(integer_is_read_within_its_bounds)
{
    struct err err = {0};
    int64_t v = 0;
    enum rc rc = number_parse_int(bytes_of_str(ints[_i].text), ints[_i].min, ints[_i].max, &v, &err);

    ck_assert_msg((rc == RC_OK) == ints[_i].ok, "'%s': %s", ints[_i].text, err.msg);
    if (ints[_i].ok)
        ck_assert_int_eq(v, ints[_i].v);
    else
        ck_assert(err.msg[0] != '\0');
}
END_TEST

static const struct {
    const char *text;
    bool ok;
    double v;
} reals[] = {
    {"1", true, 1},     {"-1.5e3", true, -1500}, {".5", true, .5},   {"5.", true, 5},  {"1e400", true, INFINITY}, {" 2 ", true, 2},
    {"1e-400", true, 0}, {"Infinity", true, INFINITY}, {"-Infinity", true, -INFINITY}, {"inf", false, 0}, {"nan", false, 0},
    {"1e", false, 0},   {"", false, 0},          {".", false, 0},    {"0x10", false, 0}, {"1,5", false, 0},  {"1d", false, 0},
};

START_TEST(double_is_read_in_decimal_only)
{
    double v = 0;
    enum rc rc = number_parse_double(bytes_of_str(reals[_i].text), &v, NULL);

    ck_assert_msg((rc == RC_OK) == reals[_i].ok, "'%s'", reals[_i].text);
    if (reals[_i].ok)
        ck_assert_double_eq(v, reals[_i].v);
}
END_TEST

/* A huge or binary value must not flood a message or cut a character in two. */
START_TEST(quoted_text_is_short_and_whole)
{
    char out[TEXT_QUOTE_MAX];
    char text[200];

    ck_assert_str_eq(text_quote(bytes_of("a\n\0b", 4), out), "'a??b'");
    memset(text, 'x', 39);
    memcpy(text + 39, "\xe2\x82\xac and more", 12);
    text_quote(bytes_of(text, 51), out);
    ck_assert_str_eq(out + 38, "xx...'");
}
END_TEST

TEST_MAIN("number", tcase_add_loop_test(tc, double_prints_as_java_prints_it, 0, ARRAY_LEN(doubles));
          tcase_add_loop_test(tc, float_prints_as_java_prints_it, 0, ARRAY_LEN(floats));
          tcase_add_loop_test(tc, integer_is_read_within_its_bounds, 0, ARRAY_LEN(ints));
          tcase_add_loop_test(tc, double_is_read_in_decimal_only, 0, ARRAY_LEN(reals));
          tcase_add_test(tc, quoted_text_is_short_and_whole);)
