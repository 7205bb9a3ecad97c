/* expr_vec.c - vectors of values while an expression is evaluated; see expr_priv.h */
#include "job/sql/expr_priv.h"

#include <stdarg.h>
#include <stdio.h>

void *scratch(struct expr_eval *ev, size_t size)
{
    return arena_alloc(ev->arena, size);
}

int vec_compare(const struct vec *a, uint32_t i, const struct vec *b, uint32_t j)
{
    switch (a->c.type.kind) {
    case TYPE_NULL:
        return 0;
    case TYPE_BOOLEAN:
        return (int)vec_bool(a, i) - (int)vec_bool(b, j);
    case TYPE_FLOAT:
    case TYPE_DOUBLE: {
        double x = vec_double(a, i), y = vec_double(b, j);

        if (x != x || y != y)
            return (x != x) - (y != y);
        return x < y ? -1 : x > y;
    }
    case TYPE_DECIMAL:
        return decimal_cmp(vec_decimal(a, i), a->c.type.scale, vec_decimal(b, j), b->c.type.scale);
    case TYPE_CHAR:
    case TYPE_VARCHAR:
    case TYPE_BINARY:
    case TYPE_VARBINARY:
        return bytes_cmp(vec_bytes(a, i), vec_bytes(b, j));
    default: {
        int64_t x = vec_int(a, i), y = vec_int(b, j);

        return x < y ? -1 : x > y;
    }
    }
}

/* ---- building -------------------------------------------------------------------------------- */

void out_begin(struct call *c, struct type type, uint32_t n, bool single)
{
    struct column *o = &c->out.c;

    *o = (struct column){.type = type};
    c->out.single = single;
    c->bytes_cap = 0;
    if (type_is_varlen(type.kind)) {
        o->offsets = scratch(c->ev, ((size_t)n + 1) * sizeof *o->offsets);
        o->offsets[0] = 0;
        o->bytes = (uint8_t *)o->offsets; /* not NULL, so that 0 may be added to it; bytes_cap says
                                             that it is no room */
    } else if (type.kind == TYPE_BOOLEAN || type.kind == TYPE_NULL) {
        o->values = arena_calloc(c->ev->arena, bit_words(n) + 1, 8);
    } else {
        o->values = scratch(c->ev, (size_t)n * type_width(type.kind));
    }
}

static uint64_t *all_present(struct expr_eval *ev, uint32_t n)
{
    size_t words = bit_words(n) + (n == 0);
    uint64_t *v = scratch(ev, words * 8);

    memset(v, 0xff, words * 8);
    return v;
}

void out_null(struct call *c, uint32_t row)
{
    struct column *o = &c->out.c;

    if (o->validity == NULL)
        o->validity = all_present(c->ev, c->n);
    bit_clear(o->validity, row);
    if (o->offsets != NULL) {
        o->offsets[row + 1] = o->offsets[row];
    } else {
        uint32_t width = type_width(o->type.kind);

        memset((uint8_t *)o->values + (size_t)row * width, 0, width);
    }
}

uint8_t *out_room(struct call *c, uint32_t row, size_t len)
{
    struct column *o = &c->out.c;
    size_t at = (size_t)o->offsets[row], need = at + len;

    ASSERT(need <=
           INT32_MAX); /* who makes long values checks VALUE_BYTES_MAX first, see out_limit */
    if (need > c->bytes_cap) {
        size_t cap = need < 4096 ? 4096 : need * 2;
        uint8_t *bytes = scratch(c->ev, cap);

        if (at > 0)
            memcpy(bytes, o->bytes, at);
        o->bytes = bytes;
        c->bytes_cap = cap;
    }
    o->offsets[row + 1] = (int32_t)need;
    return o->bytes + at;
}

void out_trim(struct call *c, uint32_t row, size_t len)
{
    c->out.c.offsets[row + 1] = c->out.c.offsets[row] + (int32_t)len;
}

void out_bytes(struct call *c, uint32_t row, struct bytes v)
{
    uint8_t *to = out_room(c, row, v.len);

    if (v.len > 0)
        memcpy(to, v.data, v.len);
}

void out_strict_validity(struct call *c)
{
    size_t words = bit_words(c->n);
    uint64_t *v = NULL;

    for (uint32_t k = 0; k < c->e->arg_count; k++) {
        const struct vec *a = &c->args[k];

        if (a->c.validity == NULL || (a->single && bit_get(a->c.validity, 0)))
            continue;
        if (v == NULL)
            v = all_present(c->ev, c->n);
        if (a->single) {
            memset(v, 0, words * 8);
            continue;
        }
        for (size_t w = 0; w < words; w++)
            v[w] &= a->c.validity[w];
    }
    c->out.c.validity = v;
}

/* Bytes of a column are counted in int32: half of that is where a batch stops, so that the last
 * value still fits. */
#define COLUMN_BYTES_MAX (INT32_MAX / 2)

enum rc call_rows(struct call *c, row_fn *fn, bool strict)
{
    bool varlen = type_is_varlen(c->e->type.kind);
    const uint64_t *nulls = NULL;

    out_begin(c, c->e->type, c->n, c->out.single);
    if (strict) {
        out_strict_validity(c);
        nulls = c->out.c.validity;
    }
    for (uint32_t i = 0; i < c->n; i++) {
        if (nulls != NULL && !bit_get(nulls, i)) {
            out_null(c, i);
            continue;
        }
        if (varlen && c->out.c.offsets[i] > COLUMN_BYTES_MAX)
            return err_set(c->err, RC_LIMIT, "%s: the values of one batch exceed %d bytes",
                           c->e->text, COLUMN_BYTES_MAX);
        RETURN_IF_ERR(fn(c, i));
    }
    return RC_OK;
}

#define SHOWN_VALUE_MAX 60

enum rc call_fail(struct call *c, uint32_t row, enum rc rc, const char *fmt, ...)
{
    char msg[256];
    struct buf values = {0};
    va_list args;

    if (c->err == NULL)
        return rc;
    va_start(args, fmt);
    vsnprintf(msg, sizeof msg, fmt, args);
    va_end(args);
    for (uint32_t k = 0; k < c->e->arg_count; k++) {
        size_t start;

        buf_append_str(&values, k == 0 ? "" : ", ");
        start = values.len;
        column_print(&c->args[k].c, vec_at(&c->args[k], row), &values);
        if (values.len > start + SHOWN_VALUE_MAX) {
            values.len = start + SHOWN_VALUE_MAX;
            buf_append_str(&values, "...");
        }
    }
    rc = err_set(c->err, rc, "%s: %s (operands: %s)", c->e->text, msg, buf_cstr(&values));
    buf_release(&values);
    return rc;
}

/* ---- moving ---------------------------------------------------------------------------------- */

static void merge_varlen(struct call *c, uint32_t n, const struct vec *pieces,
                         const uint16_t *which, const uint32_t *pos)
{
    for (uint32_t i = 0; i < n; i++) {
        if (which[i] == UINT16_MAX || vec_null(&pieces[which[i]], pos[i]))
            out_null(c, i);
        else
            out_bytes(c, i, vec_bytes(&pieces[which[i]], pos[i]));
    }
}

/* A row of no piece, or a null of its piece, stays null and zero. */
#define MERGE(type_)                                                                               \
    do {                                                                                           \
        type_ *to_ = c.out.c.values;                                                               \
        for (uint32_t i = 0; i < n; i++) {                                                         \
            const struct vec *p_ = which[i] == UINT16_MAX ? NULL : &pieces[which[i]];              \
            if (p_ == NULL || vec_null(p_, pos[i]))                                                \
                out_null(&c, i);                                                                   \
            else                                                                                   \
                to_[i] = ((const type_ *)p_->c.values)[vec_at(p_, pos[i])];                        \
        }                                                                                          \
    } while (0)

void vec_merge(struct expr_eval *ev, struct type type, uint32_t n, const struct vec *pieces,
               const uint16_t *which, const uint32_t *pos, struct vec *out)
{
    struct call c = {.ev = ev, .n = n};

    out_begin(&c, type, n, false);
    switch (type_width(type.kind)) {
    case 1:
        MERGE(uint8_t);
        break;
    case 2:
        MERGE(uint16_t);
        break;
    case 4:
        MERGE(uint32_t);
        break;
    case 8:
        MERGE(uint64_t);
        break;
    case 16:
        MERGE(int128);
        break;
    default:
        if (type_is_varlen(type.kind)) {
            merge_varlen(&c, n, pieces, which, pos);
            break;
        }
        for (uint32_t i = 0; i < n; i++) {
            if (which[i] == UINT16_MAX || vec_null(&pieces[which[i]], pos[i]))
                out_null(&c, i);
            else
                out_bool(&c, i, vec_bool(&pieces[which[i]], pos[i]));
        }
        break;
    }
    *out = c.out;
}

#define GATHER(type_)                                                                              \
    do {                                                                                           \
        type_ *to_ = c.out.c.values;                                                               \
        const type_ *from_ = from->values;                                                         \
        for (uint32_t i = 0; i < n; i++)                                                           \
            to_[i] = from_[sel[i]];                                                                \
    } while (0)

void vec_gather(struct expr_eval *ev, const struct column *from, const uint32_t *sel, uint32_t n,
                struct vec *out)
{
    struct call c = {.ev = ev, .n = n};

    out_begin(&c, from->type, n, false);
    switch (type_width(from->type.kind)) {
    case 1:
        GATHER(uint8_t);
        break;
    case 2:
        GATHER(uint16_t);
        break;
    case 4:
        GATHER(uint32_t);
        break;
    case 8:
        GATHER(uint64_t);
        break;
    case 16:
        GATHER(int128);
        break;
    default:
        if (type_is_varlen(from->type.kind)) {
            for (uint32_t i = 0; i < n; i++)
                out_bytes(&c, i, column_bytes(from, sel[i]));
        } else if (from->values != NULL) {
            for (uint32_t i = 0; i < n; i++)
                out_bool(&c, i, bit_get(from->values, sel[i]));
        }
        break;
    }
    if (from->validity != NULL) {
        c.out.c.validity = all_present(ev, n);
        for (uint32_t i = 0; i < n; i++) {
            if (!bit_get(from->validity, sel[i]))
                bit_clear(c.out.c.validity, i);
        }
    }
    *out = c.out;
}

void vec_expand(struct expr_eval *ev, struct vec *v, uint32_t n)
{
    uint32_t *zeros;

    if (!v->single)
        return;
    zeros = arena_calloc(ev->arena, (size_t)n + 1, sizeof *zeros);
    vec_gather(ev, &v->c, zeros, n, v);
}
