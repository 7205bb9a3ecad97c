/* links: job */
#include "job/decimal.h"
#include "job/number.h"
#include "tests/lib/check_ext.h"

#include <math.h>

static const struct {
    const char *text;
    uint32_t precision, scale;
    const char *value; /* NULL: refused */
} parsed[] = {
    {"0", 1, 0, "0"},
    {"-0", 1, 0, "0"},
    {"+1.5", 3, 2, "1.50"},
    {" 1.5 ", 3, 2, "1.50"},
    {".5", 2, 1, "0.5"},
    {"5.", 2, 1, "5.0"},
    {"1e3", 4, 0, "1000"},
    {"1E-3", 4, 3, "0.001"},
    {"12345e-2", 5, 2, "123.45"},
    {"0.005", 3, 2, "0.01"},   /* half up */
    {"-0.005", 3, 2, "-0.01"}, /* away from zero */
    {"0.0049999999999999999999999999999999999999999999", 3, 2, "0.00"},
    {"9.995", 3, 2, NULL},
    {"9.994", 3, 2, "9.99"},
    {"99999999999999999999999999999999999999", 38, 0, "99999999999999999999999999999999999999"},
    {"100000000000000000000000000000000000000", 38, 0, NULL},
    {"-99999999999999999999999999999999999999.4", 38, 0, "-99999999999999999999999999999999999999"},
    {"99999999999999999999999999999999999999.5", 38, 0, NULL},
    {"0e999999999999", 1, 0, "0"},
    {"1e-999999999999", 1, 0, "0"},
    {"1e999999999999", 38, 0, NULL},
    {"0.00000000000000000000000000000000000001", 38, 38, "0.00000000000000000000000000000000000001"},
    {"", 5, 0, NULL},
    {" ", 5, 0, NULL},
    {".", 5, 0, NULL},
    {"-", 5, 0, NULL},
    {"e5", 5, 0, NULL},
    {"1e", 5, 0, NULL},
    {"1.2.3", 5, 0, NULL},
    {"1_0", 5, 0, NULL},
    {"0x1", 5, 0, NULL},
    {"NaN", 5, 0, NULL},
};

START_TEST(text_is_read_exactly_and_rounded_half_up)
{
    struct err err = {0};
    struct buf out = {0};
    int128 v;

    if (parsed[_i].value == NULL) {
        ck_assert_rc(decimal_parse(bytes_of_str(parsed[_i].text), parsed[_i].precision, parsed[_i].scale, &v, &err), RC_INVALID);
    } else {
        ck_assert_ok(decimal_parse(bytes_of_str(parsed[_i].text), parsed[_i].precision, parsed[_i].scale, &v, &err));
        decimal_print(v, parsed[_i].scale, &out);
        ck_assert_str_eq(buf_cstr(&out), parsed[_i].value);
    }
    buf_release(&out);
}
END_TEST

#define D38 "99999999999999999999999999999999999999"
static const struct {
    char op;
    const char *a;
    uint32_t sa;
    const char *b;
    uint32_t sb, precision, scale;
    const char *value; /* NULL: does not fit */
} ops[] = {
    {'+', "1.5", 1, "2.25", 2, 5, 2, "3.75"},
    {'+', "-1.5", 1, "2.25", 2, 5, 2, "0.75"},
    {'+', D38, 0, "1", 0, 38, 0, NULL},
    {'+', D38, 0, "-1", 0, 38, 0, "99999999999999999999999999999999999998"},
    {'+', D38, 0, "0.5", 1, 38, 0, NULL}, /* rounds up past the edge */
    {'+', D38, 0, "0.4", 1, 38, 0, D38},
    {'+', "0.00000000000000000000000000000000000001", 38, D38, 0, 38, 0, D38},
    {'-', "1", 0, "0.00000000000000000000000000000000000001", 38, 38, 37, "1.0000000000000000000000000000000000000"},
    {'-', "1.00", 2, "1", 0, 3, 2, "0.00"},
    {'*', "1.5", 1, "-1.5", 1, 5, 2, "-2.25"},
    {'*', "1.5", 1, "1.5", 1, 5, 1, "2.3"},
    {'*', D38, 38, D38, 38, 38, 38, "0.99999999999999999999999999999999999998"},
    {'*', D38, 0, "2", 0, 38, 0, NULL},
    {'*', D38, 0, D38, 38, 38, 0, "99999999999999999999999999999999999998"},
    {'/', "1", 0, "3", 0, 38, 20, "0.33333333333333333333"},
    {'/', "2", 0, "3", 0, 38, 20, "0.66666666666666666667"},
    {'/', "-1", 0, "8", 0, 5, 2, "-0.13"},
    {'/', D38, 0, D38, 0, 38, 37, "1.0000000000000000000000000000000000000"},
    {'/', "1", 0, D38, 0, 38, 38, "0.00000000000000000000000000000000000001"},
    {'/', D38, 0, "0.1", 1, 38, 0, NULL},
    {'/', "1", 0, "0", 0, 38, 6, NULL},
    {'/', D38, 38, D38, 0, 38, 0, "0"},
    {'%', "7.5", 1, "2", 0, 5, 1, "1.5"},
    {'%', "-7.5", 1, "2", 0, 5, 1, "-1.5"},
    {'%', D38, 0, "0.7", 1, 38, 1, "0.3"},
    {'%', "0.3", 1, D38, 0, 38, 1, "0.3"},
    {'%', "5", 0, "0", 0, 5, 0, NULL},
};

START_TEST(arithmetic_is_exact_with_one_rounding)
{
    struct err err = {0};
    struct buf out = {0};
    int128 a, b, v;
    bool ok;
    uint32_t p = ops[_i].precision, s = ops[_i].scale, sa = ops[_i].sa, sb = ops[_i].sb;

    ck_assert_ok(decimal_parse(bytes_of(ops[_i].a, strlen(ops[_i].a)), 38, 0, &a, &err));
    /* Operands of scale 38 are written as their digits. */
    if (sa == 38 && strncmp(ops[_i].a, "0.", 2) != 0)
        ck_assert_ok(decimal_parse(bytes_of_str(ops[_i].a), 38, 0, &a, &err));
    else
        ck_assert_ok(decimal_parse(bytes_of_str(ops[_i].a), 38, sa, &a, &err));
    if (sb == 38 && strncmp(ops[_i].b, "0.", 2) != 0)
        ck_assert_ok(decimal_parse(bytes_of_str(ops[_i].b), 38, 0, &b, &err));
    else
        ck_assert_ok(decimal_parse(bytes_of_str(ops[_i].b), 38, sb, &b, &err));
    switch (ops[_i].op) {
    case '+':
        ok = decimal_add(a, sa, b, sb, p, s, &v);
        break;
    case '-':
        ok = decimal_sub(a, sa, b, sb, p, s, &v);
        break;
    case '*':
        ok = decimal_mul(a, sa, b, sb, p, s, &v);
        break;
    case '/':
        ok = decimal_div(a, sa, b, sb, p, s, &v);
        break;
    default:
        ok = decimal_mod(a, sa, b, sb, p, s, &v);
        break;
    }
    ck_assert_msg(ok == (ops[_i].value != NULL), "%s %c %s", ops[_i].a, ops[_i].op, ops[_i].b);
    if (ok) {
        decimal_print(v, s, &out);
        ck_assert_str_eq(buf_cstr(&out), ops[_i].value);
    }
    buf_release(&out);
}
END_TEST

START_TEST(scales_compare_exactly)
{
    ck_assert_int_eq(decimal_cmp(15, 1, 150, 2), 0);
    ck_assert_int_lt(decimal_cmp(-15, 1, -149, 2), 0);
    ck_assert_int_gt(decimal_cmp(decimal_pow10(38) - 1, 0, decimal_pow10(38) - 1, 38), 0);
    ck_assert_int_lt(decimal_cmp(-1, 38, 0, 0), 0);
    ck_assert_int_lt(decimal_cmp(-1, 0, 1, 38), 0);
}
END_TEST

static const struct {
    double d;
    uint32_t scale;
    const char *value; /* NULL: does not fit 38 digits */
} doubles[] = {
    {0.1, 20, "0.10000000000000000000"}, {2.675, 2, "2.68"}, {-1e-10, 2, "0.00"}, {1e37, 0, "10000000000000000000000000000000000000"},
    {1e38, 0, NULL}, {NAN, 0, NULL}, {INFINITY, 0, NULL}, {123456.789, 1, "123456.8"},
};

START_TEST(double_becomes_its_shortest_text)
{
    struct buf out = {0};
    int128 v;

    ck_assert(decimal_from_double(doubles[_i].d, 38, doubles[_i].scale, &v) == (doubles[_i].value != NULL));
    if (doubles[_i].value != NULL) {
        decimal_print(v, doubles[_i].scale, &out);
        ck_assert_str_eq(buf_cstr(&out), doubles[_i].value);
    }
    buf_release(&out);
}
END_TEST

START_TEST(decimal_becomes_the_nearest_double)
{
    ck_assert_double_eq(decimal_to_double(1, 1), 0.1);
    ck_assert_double_eq(decimal_to_double(-123456789012345678, 3), -123456789012345.678);
    ck_assert_double_eq(decimal_to_double(decimal_pow10(38) - 1, 38), 1.0);
    ck_assert_double_eq(decimal_to_double(decimal_pow10(38) - 1, 0), 1e38);
    ck_assert_double_eq(decimal_to_double(1, 38), 1e-38);
}
END_TEST

START_TEST(floor_and_ceil_go_apart_below_zero)
{
    ck_assert(decimal_floor(-15, 1) == -2 && decimal_ceil(-15, 1) == -1 && decimal_integer(-15, 1) == -1);
    ck_assert(decimal_floor(15, 1) == 1 && decimal_ceil(15, 1) == 2 && decimal_floor(20, 1) == 2);
}
END_TEST

TEST_MAIN("decimal", tcase_add_loop_test(tc, text_is_read_exactly_and_rounded_half_up, 0, ARRAY_LEN(parsed));
          tcase_add_loop_test(tc, arithmetic_is_exact_with_one_rounding, 0, ARRAY_LEN(ops));
          tcase_add_test(tc, scales_compare_exactly);
          tcase_add_loop_test(tc, double_becomes_its_shortest_text, 0, ARRAY_LEN(doubles));
          tcase_add_test(tc, decimal_becomes_the_nearest_double);
          tcase_add_test(tc, floor_and_ceil_go_apart_below_zero);)
