/* expr_math.c - functions of numbers. Results out of their type's range are errors, never wrapped.
 * Functions of DOUBLE follow Java's Math: LN of a negative number is NaN, of 0 -Infinity. */
#include "job/sql/expr_priv.h"

#include <math.h>

#define PI 3.14159265358979323846
#define EULER 2.71828182845904523536

static bool is_real(enum type_kind k)
{
    return k == TYPE_FLOAT || k == TYPE_DOUBLE;
}

/* Writes an integer result that may be too large for the type. */
static enum rc put_int(struct call *c, uint32_t i, int128 v)
{
    uint32_t bits = type_width(c->e->type.kind) * 8;
    int128 max = ((int128)1 << (bits - 1)) - 1;

    if (v > max || v < -max - 1)
        return call_fail(c, i, RC_INVALID, "the result is out of range");
    out_int(c, i, (int64_t)v);
    return RC_OK;
}

static enum rc put_decimal(struct call *c, uint32_t i, int128 v)
{
    if (!decimal_fits(v, c->e->type.precision))
        return call_fail(c, i, RC_INVALID, "the result does not fit DECIMAL(%u, %u)",
                         c->e->type.precision, c->e->type.scale);
    out_decimal(c, i, v);
    return RC_OK;
}

static enum rc row_abs(struct call *c, uint32_t i)
{
    const struct vec *x = &c->args[0];

    if (is_real(x->c.type.kind)) {
        out_double(c, i, fabs(vec_double(x, i)));
    } else if (x->c.type.kind == TYPE_DECIMAL) {
        int128 v = vec_decimal(x, i);

        out_decimal(c, i, v < 0 ? -v : v);
    } else {
        int128 v = vec_int(x, i);

        return put_int(c, i, v < 0 ? -v : v);
    }
    return RC_OK;
}

static enum rc row_sign(struct call *c, uint32_t i)
{
    const struct vec *x = &c->args[0];

    if (is_real(x->c.type.kind)) {
        double v = vec_double(x, i);

        out_double(c, i, v > 0 ? 1 : v < 0 ? -1 : v); /* 0, -0 and NaN stay */
    } else if (x->c.type.kind == TYPE_DECIMAL) {
        int128 v = vec_decimal(x, i);

        return put_decimal(c, i, (v > 0 ? 1 : v < 0 ? -1 : 0) * decimal_pow10(x->c.type.scale));
    } else {
        int64_t v = vec_int(x, i);

        out_int(c, i, v > 0 ? 1 : v < 0 ? -1 : 0);
    }
    return RC_OK;
}

/* ---- rounding -------------------------------------------------------------------------------- */

/* FLOOR and CEIL of a number keep its type; a DECIMAL loses its scale. Of a time they need a unit:
 * expr_time.c. */
static enum rc floor_ceil(struct call *c, uint32_t i, bool floor_it)
{
    const struct vec *x = &c->args[0];

    if (is_real(x->c.type.kind)) {
        out_double(c, i, floor_it ? floor(vec_double(x, i)) : ceil(vec_double(x, i)));
    } else if (x->c.type.kind == TYPE_DECIMAL) {
        int128 v = vec_decimal(x, i);

        return put_decimal(
            c, i, floor_it ? decimal_floor(v, x->c.type.scale) : decimal_ceil(v, x->c.type.scale));
    } else {
        out_int(c, i, vec_int(x, i));
    }
    return RC_OK;
}

enum rc row_floor_number(struct call *c, uint32_t i)
{
    return floor_ceil(c, i, true);
}
enum rc row_ceil_number(struct call *c, uint32_t i)
{
    return floor_ceil(c, i, false);
}

/* v with `scale` digits behind the point, kept to `digits` of them (fewer than none: tens, hundreds
 * ...); half away from zero, or cut. The scale stays. */
static int128 keep_digits(int128 v, int64_t scale, int64_t digits, bool cut)
{
    int64_t drop = scale - digits;
    int128 unit, q, rest;

    if (drop <= 0)
        return v;
    if (drop > DECIMAL_PRECISION_MAX)
        return 0;
    unit = decimal_pow10((uint32_t)drop);
    q = v / unit;
    rest = v % unit;
    if (!cut && rest >= unit - rest)
        q++;
    else if (!cut && -rest >= unit + rest)
        q--;
    return q * unit;
}

/* Through the number's shortest text, as BigDecimal.valueOf: ROUND(2.675, 2) is 2.68. Digits past
 * 20 behind the point, or a number past 10^17, which has none, stay as they are. */
static double keep_digits_real(double v, int64_t digits, bool cut, bool is_float)
{
    uint8_t room[64];
    struct buf text = {room, 0, sizeof room};
    int128 d;

    if (!isfinite(v) || digits >= 20 || (fabs(v) >= 1e17 && digits >= 0))
        return v;
    if (is_float)
        number_print_float((float)v, &text);
    else
        number_print_double(v, &text);
    if (decimal_parse(buf_bytes(&text), DECIMAL_PRECISION_MAX, 20, &d, NULL) == RC_OK)
        return decimal_to_double(keep_digits(d, 20, digits, cut), 20);
    if (decimal_parse(buf_bytes(&text), DECIMAL_PRECISION_MAX, 0, &d, NULL) == RC_OK)
        return decimal_to_double(keep_digits(d, 0, digits, cut), 0);
    return v;
}

static enum rc row_round_or_cut(struct call *c, uint32_t i)
{
    const struct vec *x = &c->args[0];
    bool cut = c->e->param != 0;
    int64_t digits = c->e->arg_count > 1 ? vec_int(&c->args[1], i) : 0;

    if (digits < -400)
        digits = -400;
    if (digits > 400)
        digits = 400;
    if (is_real(x->c.type.kind)) {
        out_double(c, i,
                   keep_digits_real(vec_double(x, i), digits, cut, x->c.type.kind == TYPE_FLOAT));
    } else if (x->c.type.kind == TYPE_DECIMAL) {
        int128 v = keep_digits(vec_decimal(x, i), x->c.type.scale, digits, cut);

        if (c->e->type.scale < x->c.type.scale)
            v /= decimal_pow10(
                (uint32_t)(x->c.type.scale - c->e->type.scale)); /* only zeros are cut off */
        return put_decimal(c, i, v);
    } else {
        return put_int(c, i, keep_digits(vec_int(x, i), 0, digits, cut));
    }
    return RC_OK;
}

/* Room for 1 and -1 where all digits stand behind the point. */
static enum rc bind_sign(struct bind *b, const struct ast_expr *ast, struct expr *e)
{
    (void)b;
    (void)ast;
    if (e->type.kind == TYPE_DECIMAL && e->type.precision == e->type.scale &&
        e->type.precision < DECIMAL_PRECISION_MAX)
        e->type.precision++;
    return RC_OK;
}

/* DECIMAL(p, s) to r digits behind the point: DECIMAL(1 + p - s + r, r), as the reference. */
static enum rc bind_round(struct bind *b, const struct ast_expr *ast, struct expr *e)
{
    struct type *t = &e->type;
    bool known =
        e->arg_count == 1 || (e->args[1]->kind == NODE_CONST && !vec_null(&e->args[1]->value, 0));
    int64_t r = e->arg_count == 1 || !known ? 0 : vec_int(&e->args[1]->value, 0);
    uint32_t whole;

    (void)b;
    (void)ast;
    if (t->kind != TYPE_DECIMAL || !known || r >= t->scale || e->param != 0)
        return RC_OK;
    whole = 1u + t->precision - t->scale;
    if (r < 0)
        r = 0;
    if (whole + r > DECIMAL_PRECISION_MAX)
        whole = DECIMAL_PRECISION_MAX - (uint32_t)r;
    t->precision = (uint8_t)(whole + r);
    t->scale = (uint8_t)r;
    return RC_OK;
}

/* ---- functions of DOUBLE --------------------------------------------------------------------- */

#define REAL(name_, expr_)                                                                         \
    static enum rc name_(struct call *c, uint32_t i)                                               \
    {                                                                                              \
        double x = vec_double(&c->args[0], i);                                                     \
                                                                                                   \
        out_double(c, i, expr_);                                                                   \
        return RC_OK;                                                                              \
    }
#define REAL2(name_, expr_)                                                                        \
    static enum rc name_(struct call *c, uint32_t i)                                               \
    {                                                                                              \
        double x = vec_double(&c->args[0], i), y = vec_double(&c->args[1], i);                     \
                                                                                                   \
        out_double(c, i, expr_);                                                                   \
        return RC_OK;                                                                              \
    }
REAL(row_sqrt, sqrt(x))
REAL(row_exp, exp(x))
REAL(row_ln, log(x))
REAL(row_log10, log10(x))
REAL(row_log2, log2(x))
REAL(row_sin, sin(x))
REAL(row_cos, cos(x))
REAL(row_tan, tan(x))
REAL(row_cot, 1 / tan(x))
REAL(row_asin, asin(x))
REAL(row_acos, acos(x))
REAL(row_atan, atan(x))
REAL(row_sinh, sinh(x))
REAL(row_cosh, cosh(x))
REAL(row_tanh, tanh(x))
REAL(row_degrees, x *(180 / PI))
REAL(row_radians, x *(PI / 180))
REAL2(row_power, pow(x, y))
REAL2(row_atan2, atan2(x, y))

static enum rc row_log(struct call *c, uint32_t i)
{
    double x = vec_double(&c->args[0], i);

    if (c->e->arg_count == 1)
        out_double(c, i, log(x));
    else
        out_double(c, i, log(vec_double(&c->args[1], i)) / log(x)); /* LOG(base, x) */
    return RC_OK;
}

static enum rc row_pi(struct call *c, uint32_t i)
{
    out_double(c, i, c->e->param == 0 ? PI : EULER);
    return RC_OK;
}

/* ---- GREATEST, LEAST ------------------------------------------------------------------------- */

static void copy_value(struct call *c, uint32_t i, const struct vec *v)
{
    switch (v->c.type.kind) {
    case TYPE_BOOLEAN:
        out_bool(c, i, vec_bool(v, i));
        break;
    case TYPE_FLOAT:
    case TYPE_DOUBLE:
        out_double(c, i, vec_double(v, i));
        break;
    case TYPE_DECIMAL:
        out_decimal(c, i, vec_decimal(v, i));
        break;
    default:
        if (type_is_varlen(v->c.type.kind))
            out_bytes(c, i, vec_bytes(v, i));
        else
            out_int(c, i, vec_int(v, i));
        break;
    }
}

/* param: 1 GREATEST, -1 LEAST. Null when any argument is (so does Flink). */
static enum rc row_extreme(struct call *c, uint32_t i)
{
    const struct vec *best = &c->args[0];

    for (uint32_t k = 1; k < c->e->arg_count; k++) {
        if (vec_compare(&c->args[k], i, best, i) * c->e->param > 0)
            best = &c->args[k];
    }
    copy_value(c, i, best);
    return RC_OK;
}

const struct func math_funcs[] = {
    {.name = "ABS", .args = "n", .result = '0', .flags = FUNC_FALLIBLE, .row = row_abs},
    {.name = "SIGN",
     .args = "n",
     .result = '0',
     .flags = FUNC_FALLIBLE,
     .row = row_sign,
     .bind = bind_sign},
    {.name = "ROUND",
     .args = "n?i",
     .result = '0',
     .flags = FUNC_FALLIBLE,
     .row = row_round_or_cut,
     .bind = bind_round},
    {.name = "TRUNCATE",
     .args = "n?i",
     .result = '0',
     .flags = FUNC_FALLIBLE,
     .row = row_round_or_cut,
     .bind = bind_round,
     .param = 1},
    {.name = "POWER", .args = "dd", .result = 'd', .row = row_power},
    {.name = "POW", .canonical = "POWER", .args = "dd", .result = 'd', .row = row_power},
    {.name = "SQRT", .args = "d", .result = 'd', .row = row_sqrt},
    {.name = "EXP", .args = "d", .result = 'd', .row = row_exp},
    {.name = "LN", .args = "d", .result = 'd', .row = row_ln},
    {.name = "LOG10", .args = "d", .result = 'd', .row = row_log10},
    {.name = "LOG2", .args = "d", .result = 'd', .row = row_log2},
    {.name = "LOG", .args = "d?d", .result = 'd', .row = row_log},
    {.name = "SIN", .args = "d", .result = 'd', .row = row_sin},
    {.name = "COS", .args = "d", .result = 'd', .row = row_cos},
    {.name = "TAN", .args = "d", .result = 'd', .row = row_tan},
    {.name = "COT", .args = "d", .result = 'd', .row = row_cot},
    {.name = "ASIN", .args = "d", .result = 'd', .row = row_asin},
    {.name = "ACOS", .args = "d", .result = 'd', .row = row_acos},
    {.name = "ATAN", .args = "d", .result = 'd', .row = row_atan},
    {.name = "ATAN2", .args = "dd", .result = 'd', .row = row_atan2},
    {.name = "SINH", .args = "d", .result = 'd', .row = row_sinh},
    {.name = "COSH", .args = "d", .result = 'd', .row = row_cosh},
    {.name = "TANH", .args = "d", .result = 'd', .row = row_tanh},
    {.name = "DEGREES", .args = "d", .result = 'd', .row = row_degrees},
    {.name = "RADIANS", .args = "d", .result = 'd', .row = row_radians},
    {.name = "PI", .args = "", .result = 'd', .row = row_pi},
    {.name = "E", .args = "", .result = 'd', .row = row_pi, .param = 1},
    {.name = "GREATEST", .args = "cc*", .result = 'c', .row = row_extreme, .param = 1},
    {.name = "LEAST", .args = "cc*", .result = 'c', .row = row_extreme, .param = -1},
    {.name = NULL},
};
