/* expr_compare.c - = <> < <= > >=, IS ..., NOT, IN over vectors. Operands have one type (DECIMALs
 * may differ in scale). Text compares byte by byte, which is the order of code points; floating
 * point as Java's operators: NaN equals nothing. */
#include "job/sql/expr_priv.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- comparison ------------------------------------------------------------------------------ */

/* Bits of 64 rows at a time; OP sees x and y. */
#define COMPARE_LOOP(T, X, Y, OP)                                                                  \
    for (uint32_t w = 0; w * 64 < n; w++) {                                                        \
        uint32_t rows = n - w * 64 < 64 ? n - w * 64 : 64;                                         \
        uint64_t word = 0;                                                                         \
        for (uint32_t k = 0; k < rows; k++) {                                                      \
            const T x = X, y = Y;                                                                  \
            word |= (uint64_t)(x OP y) << k;                                                       \
        }                                                                                          \
        bits[w] = word;                                                                            \
    }
#define COMPARE_SHAPES(T, OP)                                                                      \
    do {                                                                                           \
        const T *xs = c->args[0].c.values, *ys = c->args[1].c.values;                              \
        if (c->args[1].single && !c->args[0].single) {                                             \
            const T y0 = ys[0];                                                                    \
            COMPARE_LOOP(T, xs[w * 64 + k], y0, OP)                                                \
        } else if (c->args[0].single && !c->args[1].single) {                                      \
            const T x0 = xs[0];                                                                    \
            COMPARE_LOOP(T, x0, ys[w * 64 + k], OP)                                                \
        } else {                                                                                   \
            COMPARE_LOOP(T, xs[w * 64 + k], ys[w * 64 + k], OP)                                    \
        }                                                                                          \
    } while (0)
#define COMPARE_OPS(T)                                                                             \
    switch (op) {                                                                                  \
    case OP_EQ:                                                                                    \
        COMPARE_SHAPES(T, ==);                                                                     \
        break;                                                                                     \
    case OP_NE:                                                                                    \
        COMPARE_SHAPES(T, !=);                                                                     \
        break;                                                                                     \
    case OP_LT:                                                                                    \
        COMPARE_SHAPES(T, <);                                                                      \
        break;                                                                                     \
    case OP_LE:                                                                                    \
        COMPARE_SHAPES(T, <=);                                                                     \
        break;                                                                                     \
    case OP_GT:                                                                                    \
        COMPARE_SHAPES(T, >);                                                                      \
        break;                                                                                     \
    default:                                                                                       \
        COMPARE_SHAPES(T, >=);                                                                     \
        break;                                                                                     \
    }

static void compare_i8(struct call *c, enum ast_op op, uint32_t n, uint64_t *bits)
{
    COMPARE_OPS(int8_t)
}
static void compare_i16(struct call *c, enum ast_op op, uint32_t n, uint64_t *bits)
{
    COMPARE_OPS(int16_t)
}
static void compare_i32(struct call *c, enum ast_op op, uint32_t n, uint64_t *bits)
{
    COMPARE_OPS(int32_t)
}
static void compare_i64(struct call *c, enum ast_op op, uint32_t n, uint64_t *bits)
{
    COMPARE_OPS(int64_t)
}
static void compare_float(struct call *c, enum ast_op op, uint32_t n, uint64_t *bits)
{
    COMPARE_OPS(float)
}
static void compare_double(struct call *c, enum ast_op op, uint32_t n, uint64_t *bits)
{
    COMPARE_OPS(double)
}

static bool decide(enum ast_op op, int order)
{
    switch (op) {
    case OP_EQ:
        return order == 0;
    case OP_NE:
        return order != 0;
    case OP_LT:
        return order < 0;
    case OP_LE:
        return order <= 0;
    case OP_GT:
        return order > 0;
    default:
        return order >= 0;
    }
}

static void compare_text_eq(struct call *c, bool equal, uint32_t n, uint64_t *bits)
{
    for (uint32_t i = 0; i < n; i++) {
        if (bytes_eq(vec_bytes(&c->args[0], i), vec_bytes(&c->args[1], i)) == equal)
            bit_set(bits, i);
    }
}

static void compare_other(struct call *c, enum ast_op op, uint32_t n, uint64_t *bits)
{
    for (uint32_t i = 0; i < n; i++) {
        if (decide(op, vec_compare(&c->args[0], i, &c->args[1], i)))
            bit_set(bits, i);
    }
}

static enum rc kernel_compare(struct call *c)
{
    enum ast_op op = (enum ast_op)c->e->param;
    enum type_kind kind = c->args[0].c.type.kind;
    uint64_t *bits;

    out_begin(c, c->e->type, c->n, c->out.single);
    out_strict_validity(c);
    bits = c->out.c.values;
    if (kind == TYPE_DOUBLE) {
        compare_double(c, op, c->n, bits);
    } else if (kind == TYPE_FLOAT) {
        compare_float(c, op, c->n, bits);
    } else if (type_is_varlen(kind) && (op == OP_EQ || op == OP_NE)) {
        compare_text_eq(c, op == OP_EQ, c->n, bits);
    } else {
        switch (type_width(kind)) {
        case 1:
            compare_i8(c, op, c->n, bits);
            break;
        case 2:
            compare_i16(c, op, c->n, bits);
            break;
        case 4:
            compare_i32(c, op, c->n, bits);
            break;
        case 8:
            compare_i64(c, op, c->n, bits);
            break;
        default:
            compare_other(c, op, c->n, bits);
            break;
        }
    }
    return RC_OK;
}

/* ---- IS, NOT --------------------------------------------------------------------------------- */

static enum rc kernel_not(struct call *c)
{
    const uint64_t *from = c->args[0].c.values;
    uint64_t *to;

    out_begin(c, c->e->type, c->n, c->out.single);
    out_strict_validity(c);
    to = c->out.c.values;
    for (size_t w = 0; w < bit_words(c->n); w++)
        to[w] = ~from[w];
    return RC_OK;
}

/* param: true for IS NOT NULL */
static enum rc kernel_is_null(struct call *c)
{
    const uint64_t *present = c->args[0].c.validity;
    uint64_t flip = c->e->param != 0 ? 0 : ~0ull, *to;

    out_begin(c, c->e->type, c->n, c->out.single);
    to = c->out.c.values;
    for (size_t w = 0; w < bit_words(c->n); w++)
        to[w] = (present == NULL ? ~0ull : present[w]) ^ flip;
    return RC_OK;
}

/* param: IS_TRUE or IS_FALSE, + 16 when negated */
static enum rc kernel_is_bool(struct call *c)
{
    const uint64_t *value = c->args[0].c.values, *present = c->args[0].c.validity;
    uint64_t want_false = (c->e->param & 15) == IS_FALSE ? ~0ull : 0;
    uint64_t flip = (c->e->param & 16) != 0 ? ~0ull : 0, *to;

    out_begin(c, c->e->type, c->n, c->out.single);
    to = c->out.c.values;
    for (size_t w = 0; w < bit_words(c->n); w++)
        to[w] = ((value[w] ^ want_false) & (present == NULL ? ~0ull : present[w])) ^ flip;
    return RC_OK;
}

/* IS DISTINCT FROM; param: true for IS NOT DISTINCT FROM */
static enum rc row_distinct(struct call *c, uint32_t i)
{
    bool x = vec_null(&c->args[0], i), y = vec_null(&c->args[1], i);
    bool distinct = x != y;

    if (!x && !y)
        distinct = vec_compare(&c->args[0], i, &c->args[1], i) != 0;
    out_bool(c, i, distinct != (c->e->param != 0));
    return RC_OK;
}

const struct func func_compare = {.name = "=", .args = "xx", .kernel = kernel_compare};
const struct func func_not = {.name = "NOT", .args = "b", .kernel = kernel_not};
const struct func func_is_null = {
    .name = "IS NULL", .args = "x", .flags = FUNC_NOT_NULL, .kernel = kernel_is_null};
const struct func func_is_bool = {
    .name = "IS TRUE", .args = "b", .flags = FUNC_NOT_NULL, .kernel = kernel_is_bool};
const struct func func_distinct = {.name = "IS DISTINCT FROM",
                                   .args = "xx",
                                   .flags = FUNC_NOT_NULL | FUNC_LENIENT,
                                   .row = row_distinct};

/* ---- IN (constants) -------------------------------------------------------------------------- */

/* Sorted values without repeats. */
struct value_set {
    bool has_null;
    uint32_t count;
    struct vec values;
    bool narrow; /* integers, dates ...: also here, for a search without dispatch */
    const int64_t *ints;
};

struct sort_item {
    const struct vec *v;
};

static int by_value(const void *a, const void *b)
{
    const struct sort_item *x = a, *y = b;

    return vec_compare(x->v, 0, y->v, 0);
}

const struct value_set *set_new(struct bind *b, struct type type, struct expr **items,
                                uint32_t count)
{
    struct value_set *s = ARENA_NEW(b->arena, struct value_set);
    struct sort_item *order = ARENA_ARRAY(b->arena, count, struct sort_item);
    struct vec *pieces = ARENA_ARRAY(b->arena, count, struct vec);
    uint16_t *which = ARENA_ARRAY(b->arena, count, uint16_t);
    uint32_t *pos = ARENA_ARRAY(b->arena, count, uint32_t), kept = 0;
    struct expr_eval ev = {.arena = b->arena};
    int64_t *ints;

    for (uint32_t i = 0; i < count; i++) {
        if (vec_null(&items[i]->value, 0))
            s->has_null = true;
        else
            order[kept++].v = &items[i]->value;
    }
    qsort(order, kept, sizeof *order, by_value);
    for (uint32_t i = 0; i < kept; i++) {
        if (i > 0 && by_value(&order[i], &order[i - 1]) == 0)
            continue;
        pieces[s->count] = *order[i].v;
        which[s->count] = (uint16_t)s->count;
        s->count++;
    }
    type.nullable = false;
    vec_merge(&ev, type, s->count, pieces, which, pos, &s->values);
    s->narrow = type_width(type.kind) >= 1 && type_width(type.kind) <= 8 &&
                type.kind != TYPE_FLOAT && type.kind != TYPE_DOUBLE;
    ints = ARENA_ARRAY(b->arena, s->count + 1, int64_t);
    for (uint32_t i = 0; s->narrow && i < s->count; i++)
        ints[i] = vec_int(&s->values, i);
    s->ints = ints;
    return s;
}

void set_print(const struct value_set *s, struct buf *out)
{
    for (uint32_t i = 0; i < s->count; i++) {
        buf_append_str(out, i == 0 ? "" : ", ");
        value_print_sql(&s->values.c, i, out);
    }
    if (s->has_null)
        buf_append_str(out, s->count == 0 ? "NULL" : ", NULL");
}

static bool set_has_int(const struct value_set *s, int64_t v)
{
    uint32_t low = 0, high = s->count;

    while (low < high) {
        uint32_t mid = (low + high) / 2;

        if (s->ints[mid] < v)
            low = mid + 1;
        else
            high = mid;
    }
    return low < s->count && s->ints[low] == v;
}

static bool set_has(const struct value_set *s, const struct vec *v, uint32_t i)
{
    uint32_t low = 0, high = s->count;

    if (s->narrow)
        return set_has_int(s, vec_int(v, i));
    while (low < high) {
        uint32_t mid = (low + high) / 2;
        int order = vec_compare(&s->values, mid, v, i);

        if (order == 0)
            return true;
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return false;
}

enum rc set_eval(struct call *c)
{
    const struct value_set *s = c->e->set;
    bool nan_never = c->args[0].c.type.kind == TYPE_DOUBLE || c->args[0].c.type.kind == TYPE_FLOAT;

    out_begin(c, c->e->type, c->n, c->out.single);
    for (uint32_t i = 0; i < c->n; i++) {
        bool found;

        if (vec_null(&c->args[0], i)) {
            out_null(c, i);
            continue;
        }
        found = set_has(s, &c->args[0], i);
        if (found && nan_never && vec_double(&c->args[0], i) != vec_double(&c->args[0], i))
            found = false; /* the order for sorting finds NaN, but it equals nothing */
        if (!found && s->has_null)
            out_null(c, i);
        else
            out_bool(c, i, found != c->e->negated);
    }
    return RC_OK;
}
