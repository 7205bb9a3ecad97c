/* expr_arith.c - + - * / % and unary minus over vectors of one type.
 *
 * Integers never wrap: a result out of its type's range is RC_INVALID and names the expression and
 * the operands (Flink wraps in silence). The loops run over all rows, also over nulls, whose values
 * mean nothing, and only note that something went wrong; who is to blame is found afterwards among
 * the rows that are present. Floating point follows Java: division by zero gives Infinity or NaN.
 */
#include "job/sql/expr_priv.h"

#include <math.h>
#include <stdio.h>

/* One loop for each shape, so that a constant operand stays in a register. BODY sees x, y and r. */
#define SHAPES(T, BODY)                                                                            \
    do {                                                                                           \
        const T *xs = c->args[0].c.values, *ys = c->args[1].c.values;                              \
        T *rs = c->out.c.values;                                                                   \
        uint32_t n = c->n;                                                                         \
        if (c->args[1].single) {                                                                   \
            const T y = ys[0];                                                                     \
            if (c->args[0].single)                                                                 \
                n = 1;                                                                             \
            for (uint32_t i = 0; i < n; i++) {                                                     \
                const T x = xs[i];                                                                 \
                T r;                                                                               \
                BODY;                                                                              \
                rs[i] = r;                                                                         \
            }                                                                                      \
        } else if (c->args[0].single) {                                                            \
            const T x = xs[0];                                                                     \
            for (uint32_t i = 0; i < n; i++) {                                                     \
                const T y = ys[i];                                                                 \
                T r;                                                                               \
                BODY;                                                                              \
                rs[i] = r;                                                                         \
            }                                                                                      \
        } else {                                                                                   \
            for (uint32_t i = 0; i < n; i++) {                                                     \
                const T x = xs[i], y = ys[i];                                                      \
                T r;                                                                               \
                BODY;                                                                              \
                rs[i] = r;                                                                         \
            }                                                                                      \
        }                                                                                          \
    } while (0)

/* The sign bit of `bad` is set when some sum left the range: its sign differs from both operands'.
 */
#define ADD(T, U)                                                                                  \
    do {                                                                                           \
        T bad = 0;                                                                                 \
        SHAPES(T, r = (T)((U)x + (U)y); bad = (T)(bad | ((x ^ r) & (y ^ r))));                     \
        failed = bad < 0;                                                                          \
    } while (0)
#define SUB(T, U)                                                                                  \
    do {                                                                                           \
        T bad = 0;                                                                                 \
        SHAPES(T, r = (T)((U)x - (U)y); bad = (T)(bad | ((x ^ y) & (x ^ r))));                     \
        failed = bad < 0;                                                                          \
    } while (0)
#define MUL(T)                                                                                     \
    do {                                                                                           \
        bool bad = false;                                                                          \
        SHAPES(T, bad |= __builtin_mul_overflow(x, y, &r));                                        \
        failed = bad;                                                                              \
    } while (0)
/* Division by 0 and of the minimum by -1 take the other way. */
#define DIV(T, MIN)                                                                                \
    do {                                                                                           \
        bool bad = false;                                                                          \
        SHAPES(                                                                                    \
            T, if (y == 0 || (y == -1 && x == (MIN))) {                                            \
                bad = true;                                                                        \
                r = 0;                                                                             \
            } else r = (T)(x / y));                                                                \
        failed = bad;                                                                              \
    } while (0)
#define MOD(T)                                                                                     \
    do {                                                                                           \
        bool bad = false;                                                                          \
        SHAPES(                                                                                    \
            T, if (y == 0 || y == -1) {                                                            \
                bad |= y == 0;                                                                     \
                r = 0;                                                                             \
            } else r = (T)(x % y));                                                                \
        failed = bad;                                                                              \
    } while (0)

#define ALL_INTS(OP)                                                                               \
    switch (type_width(c->e->type.kind)) {                                                         \
    case 1:                                                                                        \
        OP(int8_t, uint8_t);                                                                       \
        break;                                                                                     \
    case 2:                                                                                        \
        OP(int16_t, uint16_t);                                                                     \
        break;                                                                                     \
    case 4:                                                                                        \
        OP(int32_t, uint32_t);                                                                     \
        break;                                                                                     \
    default:                                                                                       \
        OP(int64_t, uint64_t);                                                                     \
        break;                                                                                     \
    }

enum arith { ARITH_ADD, ARITH_SUB, ARITH_MUL, ARITH_DIV, ARITH_MOD };

/* ---- integers -------------------------------------------------------------------------------- */

static void int_range(struct type t, int64_t *min, int64_t *max)
{
    uint32_t bits = type_width(t.kind) * 8;

    *max = (int64_t)(~0ull >> (65 - bits));
    *min = -*max - 1;
}

/* Exact result of one row; false: out of range or division by zero. */
static bool int_one(enum arith op, int64_t x, int64_t y, int64_t min, int64_t max)
{
    int128 r;

    if ((op == ARITH_DIV || op == ARITH_MOD) && y == 0)
        return false;
    switch (op) {
    case ARITH_ADD:
        r = (int128)x + y;
        break;
    case ARITH_SUB:
        r = (int128)x - y;
        break;
    case ARITH_MUL:
        r = (int128)x * y;
        break;
    case ARITH_DIV:
        r = (int128)x / y;
        break;
    default:
        r = (int128)x % y;
        break;
    }
    return r >= min && r <= max;
}

/* The loop saw a failure: of a row that counts? */
static enum rc int_blame(struct call *c, enum arith op)
{
    int64_t min, max;
    char type[40];
    struct buf b = {0};

    int_range(c->e->type, &min, &max);
    for (uint32_t i = 0; i < c->n; i++) {
        int64_t y;

        if (vec_null(&c->args[0], i) || vec_null(&c->args[1], i))
            continue;
        y = vec_int(&c->args[1], i);
        if (int_one(op, vec_int(&c->args[0], i), y, min, max))
            continue;
        if ((op == ARITH_DIV || op == ARITH_MOD) && y == 0)
            return call_fail(c, i, RC_INVALID, "division by zero");
        type_print(c->e->type, false, &b);
        snprintf(type, sizeof type, "%s", buf_cstr(&b));
        buf_release(&b);
        return call_fail(c, i, RC_INVALID, "the result is out of the range of %s", type);
    }
    return RC_OK;
}

/* x / d and x % d for one d > 1 by a multiplication (Granlund and Montgomery, "Division by
 * invariant integers"): with 2^shift >= d, m = floor(2^(63 + shift) / d) + 1 gives the quotient of
 * every x < 2^63. */
struct divisor {
    int64_t d;
    uint64_t m;
    uint32_t shift;
};

static struct divisor divisor_of(int64_t d)
{
    struct divisor v = {.d = d, .shift = 64 - (uint32_t)__builtin_clzll((uint64_t)d - 1)};

    v.m = (uint64_t)((((unsigned __int128)1 << (63 + v.shift)) / (uint64_t)d) + 1);
    return v;
}

static inline int64_t divide(const struct divisor *v, int64_t x)
{
    uint64_t sign = (uint64_t)(x >> 63), u = ((uint64_t)x ^ sign) - sign;
    uint64_t q = (uint64_t)(((unsigned __int128)u * v->m) >> 64) >> (v->shift - 1);

    return (int64_t)((q ^ sign) - sign);
}

/* BIGINT by a constant above one; the one value that is not below 2^63 takes the plain way. */
static void div_mod_constant(struct call *c, bool mod)
{
    struct divisor v = divisor_of(((const int64_t *)c->args[1].c.values)[0]);
    const int64_t *xs = c->args[0].c.values;
    int64_t *rs = c->out.c.values;

    if (mod) {
        for (uint32_t i = 0; i < c->n; i++)
            rs[i] = xs[i] == INT64_MIN ? xs[i] % v.d : xs[i] - divide(&v, xs[i]) * v.d;
    } else {
        for (uint32_t i = 0; i < c->n; i++)
            rs[i] = xs[i] == INT64_MIN ? xs[i] / v.d : divide(&v, xs[i]);
    }
}

static enum rc int_op(struct call *c, enum arith op)
{
    bool failed = false;

    if ((op == ARITH_DIV || op == ARITH_MOD) && c->e->type.kind == TYPE_BIGINT &&
        c->args[1].single && !vec_null(&c->args[1], 0) &&
        ((const int64_t *)c->args[1].c.values)[0] > 1) {
        div_mod_constant(c, op == ARITH_MOD);
        return RC_OK;
    }
    switch (op) {
    case ARITH_ADD:
        ALL_INTS(ADD)
        break;
    case ARITH_SUB:
        ALL_INTS(SUB)
        break;
    case ARITH_MUL:
#define MUL2(T, U) MUL(T)
        ALL_INTS(MUL2)
        break;
    case ARITH_DIV:
#define DIV2(T, U) DIV(T, (T)((U)1 << (sizeof(T) * 8 - 1)))
        ALL_INTS(DIV2)
        break;
    case ARITH_MOD:
#define MOD2(T, U) MOD(T)
        ALL_INTS(MOD2)
        break;
    }
    return failed ? int_blame(c, op) : RC_OK;
}

/* ---- floating point and decimals ------------------------------------------------------------- */

static void double_op(struct call *c, enum arith op)
{
    switch (op) {
    case ARITH_ADD:
        SHAPES(double, r = x + y);
        break;
    case ARITH_SUB:
        SHAPES(double, r = x - y);
        break;
    case ARITH_MUL:
        SHAPES(double, r = x * y);
        break;
    case ARITH_DIV:
        SHAPES(double, r = x / y);
        break;
    case ARITH_MOD:
        SHAPES(double, r = fmod(x, y));
        break;
    }
}

static void float_op(struct call *c, enum arith op)
{
    switch (op) {
    case ARITH_ADD:
        SHAPES(float, r = x + y);
        break;
    case ARITH_SUB:
        SHAPES(float, r = x - y);
        break;
    case ARITH_MUL:
        SHAPES(float, r = x * y);
        break;
    case ARITH_DIV:
        SHAPES(float, r = x / y);
        break;
    case ARITH_MOD:
        SHAPES(float, r = fmodf(x, y));
        break;
    }
}

/* Operands of the result's scale: plain 128-bit sums; nobody has to be blamed unless one is too
 * large. */
static bool decimal_sum(struct call *c, bool subtract)
{
    int128 bound = decimal_pow10(c->e->type.precision), *rs = c->out.c.values;
    bool fits = true;

    for (uint32_t i = 0; i < c->n; i++) {
        int128 x = vec_decimal(&c->args[0], i), y = vec_decimal(&c->args[1], i);

        rs[i] = (int128)(subtract ? (unsigned __int128)x - (unsigned __int128)y
                                  : (unsigned __int128)x + (unsigned __int128)y);
        fits &= rs[i] < bound && rs[i] > -bound;
    }
    return fits;
}

static enum rc decimal_op(struct call *c, enum arith op)
{
    static bool (*const ops[])(int128, uint32_t, int128, uint32_t, uint32_t, uint32_t, int128 *) = {
        decimal_add, decimal_sub, decimal_mul, decimal_div, decimal_mod};
    struct type t = c->e->type;
    uint32_t sx = c->args[0].c.type.scale, sy = c->args[1].c.type.scale;

    if (op <= ARITH_SUB && sx == t.scale && sy == t.scale && decimal_sum(c, op == ARITH_SUB))
        return RC_OK;
    for (uint32_t i = 0; i < c->n; i++) {
        int128 r = 0;

        if (vec_null(&c->args[0], i) || vec_null(&c->args[1], i)) {
            out_decimal(c, i, 0);
            continue;
        }
        if (!ops[op](vec_decimal(&c->args[0], i), sx, vec_decimal(&c->args[1], i), sy, t.precision,
                     t.scale, &r)) {
            if (op >= ARITH_DIV && vec_decimal(&c->args[1], i) == 0)
                return call_fail(c, i, RC_INVALID, "division by zero");
            return call_fail(c, i, RC_INVALID, "the result does not fit DECIMAL(%u, %u)",
                             t.precision, t.scale);
        }
        out_decimal(c, i, r);
    }
    return RC_OK;
}

static enum rc arith(struct call *c, enum arith op)
{
    out_begin(c, c->e->type, c->n, c->out.single);
    out_strict_validity(c);
    switch (c->e->type.kind) {
    case TYPE_DOUBLE:
        double_op(c, op);
        return RC_OK;
    case TYPE_FLOAT:
        float_op(c, op);
        return RC_OK;
    case TYPE_DECIMAL:
        return decimal_op(c, op);
    default:
        return int_op(c, op);
    }
}

static enum rc kernel_add(struct call *c)
{
    return arith(c, ARITH_ADD);
}
static enum rc kernel_sub(struct call *c)
{
    return arith(c, ARITH_SUB);
}
static enum rc kernel_mul(struct call *c)
{
    return arith(c, ARITH_MUL);
}
static enum rc kernel_div(struct call *c)
{
    return arith(c, ARITH_DIV);
}
static enum rc kernel_mod(struct call *c)
{
    return arith(c, ARITH_MOD);
}

static enum rc row_neg(struct call *c, uint32_t i)
{
    const struct vec *x = &c->args[0];
    int64_t min, max;

    switch (c->e->type.kind) {
    case TYPE_DOUBLE:
    case TYPE_FLOAT:
        out_double(c, i, -vec_double(x, i));
        return RC_OK;
    case TYPE_DECIMAL:
        out_decimal(c, i, -vec_decimal(x, i));
        return RC_OK;
    default:
        int_range(c->e->type, &min, &max);
        if (vec_int(x, i) == min)
            return call_fail(c, i, RC_INVALID, "the result is out of range");
        out_int(c, i, -vec_int(x, i));
        return RC_OK;
    }
}

const struct func func_add = {
    .name = "+", .args = "nn", .flags = FUNC_FALLIBLE, .kernel = kernel_add};
const struct func func_sub = {
    .name = "-", .args = "nn", .flags = FUNC_FALLIBLE, .kernel = kernel_sub};
const struct func func_mul = {
    .name = "*", .args = "nn", .flags = FUNC_FALLIBLE, .kernel = kernel_mul};
const struct func func_div = {
    .name = "/", .args = "nn", .flags = FUNC_FALLIBLE, .kernel = kernel_div};
const struct func func_mod = {
    .name = "%", .args = "nn", .flags = FUNC_FALLIBLE, .kernel = kernel_mod};
const struct func func_neg = {.name = "-", .args = "n", .flags = FUNC_FALLIBLE, .row = row_neg};
