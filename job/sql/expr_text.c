/* expr_text.c - functions of text. Positions count code points from 1. A result longer than
 * VALUE_BYTES_MAX is RC_LIMIT. Upper and lower case follow Unicode's simple mapping, one code point
 * to one (so not "ß" to "SS", as Java has it). */
#include "job/sql/expr_priv.h"

#include <wctype.h>

static enum rc room(struct call *c, uint32_t i, size_t len, uint8_t **to)
{
    if (len > VALUE_BYTES_MAX)
        return call_fail(c, i, RC_LIMIT, "the result has %zu bytes, at most %u", len,
                         VALUE_BYTES_MAX);
    *to = out_room(c, i, len);
    return RC_OK;
}

static uint8_t *put(uint8_t *to, struct bytes b)
{
    if (b.len > 0)
        memcpy(to, b.data, b.len);
    return to + b.len;
}

/* ---- joining --------------------------------------------------------------------------------- */

static enum rc row_concat(struct call *c, uint32_t i)
{
    size_t len = 0;
    uint8_t *to;

    for (uint32_t k = 0; k < c->e->arg_count; k++)
        len += vec_bytes(&c->args[k], i).len;
    RETURN_IF_ERR(room(c, i, len, &to));
    for (uint32_t k = 0; k < c->e->arg_count; k++)
        to = put(to, vec_bytes(&c->args[k], i));
    return RC_OK;
}

/* Nulls are left out; only a null separator makes null. */
static enum rc row_concat_ws(struct call *c, uint32_t i)
{
    struct bytes sep;
    size_t len = 0;
    uint8_t *to;
    bool first = true;

    if (vec_null(&c->args[0], i)) {
        out_null(c, i);
        return RC_OK;
    }
    sep = vec_bytes(&c->args[0], i);
    for (uint32_t k = 1; k < c->e->arg_count; k++) {
        if (!vec_null(&c->args[k], i))
            len += vec_bytes(&c->args[k], i).len + sep.len;
    }
    RETURN_IF_ERR(room(c, i, len < sep.len ? 0 : len - sep.len, &to));
    for (uint32_t k = 1; k < c->e->arg_count; k++) {
        if (vec_null(&c->args[k], i))
            continue;
        if (!first)
            to = put(to, sep);
        to = put(to, vec_bytes(&c->args[k], i));
        first = false;
    }
    return RC_OK;
}

static enum rc row_repeat(struct call *c, uint32_t i)
{
    struct bytes s = vec_bytes(&c->args[0], i);
    int64_t n = vec_int(&c->args[1], i);
    size_t len = 0;
    uint8_t *to;

    if (n > 0 && s.len > 0 && (n > VALUE_BYTES_MAX || !mul_size(s.len, (size_t)n, &len)))
        len = SIZE_MAX;
    RETURN_IF_ERR(room(c, i, len, &to));
    for (size_t at = 0; at < len; at += s.len)
        to = put(to, s);
    return RC_OK;
}

/* param: 1 LPAD, 0 RPAD. Null for a negative length or an empty pad that would be needed. */
static enum rc row_pad(struct call *c, uint32_t i)
{
    struct bytes s = vec_bytes(&c->args[0], i), pad = vec_bytes(&c->args[2], i);
    int64_t want = vec_int(&c->args[1], i), have = (int64_t)utf8_count(s);
    int64_t pad_points = (int64_t)utf8_count(pad), whole, part;
    size_t len;
    uint8_t *to;

    if (want < 0 || pad.len == 0) {
        out_null(c, i);
        return RC_OK;
    }
    if (want <= have) {
        out_bytes(c, i, bytes_of(s.data, utf8_offset(s, (uint64_t)want)));
        return RC_OK;
    }
    if (want > VALUE_BYTES_MAX)
        return call_fail(c, i, RC_LIMIT, "padded to %lld, at most %u", (long long)want,
                         VALUE_BYTES_MAX);
    whole = (want - have) / pad_points;
    part = (int64_t)utf8_offset(pad, (uint64_t)((want - have) % pad_points));
    len = s.len + (size_t)whole * pad.len + (size_t)part;
    RETURN_IF_ERR(room(c, i, len, &to));
    if (c->e->param == 0)
        to = put(to, s);
    for (int64_t k = 0; k < whole; k++)
        to = put(to, pad);
    to = put(to, bytes_of(pad.data, (size_t)part));
    if (c->e->param == 1)
        put(to, s);
    return RC_OK;
}

/* ---- parts ----------------------------------------------------------------------------------- */

static enum rc row_char_length(struct call *c, uint32_t i)
{
    out_int(c, i, (int64_t)utf8_count(vec_bytes(&c->args[0], i)));
    return RC_OK;
}

static enum rc row_octet_length(struct call *c, uint32_t i)
{
    out_int(c, i, (int64_t)vec_bytes(&c->args[0], i).len);
    return RC_OK;
}

/* Code points from..from + n of s, n cut to what is there. */
static struct bytes part_of(struct bytes s, uint64_t from, uint64_t n)
{
    size_t start = utf8_offset(s, from);
    struct bytes rest = bytes_of(s.data + start, s.len - start);

    rest.len = utf8_offset(rest, n);
    return rest;
}

/* A start below zero counts from the end; 0 is the start; a negative length gives null (as the
 * reference has it). */
static enum rc row_substring(struct call *c, uint32_t i)
{
    struct bytes s = vec_bytes(&c->args[0], i);
    int64_t start = vec_int(&c->args[1], i);
    int64_t n = c->e->arg_count > 2 ? vec_int(&c->args[2], i) : INT64_MAX;

    if (n < 0) {
        out_null(c, i);
        return RC_OK;
    }
    if (start > 0) {
        start--;
    } else if (start < 0) {
        start += (int64_t)utf8_count(s);
        if (start < 0)
            n = 0;
    }
    out_bytes(c, i, n == 0 ? bytes_of(s.data, 0) : part_of(s, (uint64_t)start, (uint64_t)n));
    return RC_OK;
}

/* param: 1 RIGHT */
static enum rc row_left_right(struct call *c, uint32_t i)
{
    struct bytes s = vec_bytes(&c->args[0], i);
    int64_t n = vec_int(&c->args[1], i), count = (int64_t)utf8_count(s);

    if (n < 0)
        n = 0;
    if (n > count)
        n = count;
    out_bytes(c, i, part_of(s, c->e->param ? (uint64_t)(count - n) : 0, (uint64_t)n));
    return RC_OK;
}

static enum rc row_reverse(struct call *c, uint32_t i)
{
    struct bytes s = vec_bytes(&c->args[0], i);
    uint8_t *to = out_room(c, i, s.len) + s.len;

    for (size_t at = 0; at < s.len;) {
        uint32_t n = utf8_len(s.data + at, s.data + s.len);

        to -= n;
        memcpy(to, s.data + at, n);
        at += n;
    }
    return RC_OK;
}

static enum rc row_overlay(struct call *c, uint32_t i)
{
    struct bytes s = vec_bytes(&c->args[0], i), r = vec_bytes(&c->args[1], i), rest;
    int64_t start = vec_int(&c->args[2], i), count = (int64_t)utf8_count(s);
    int64_t n = c->e->arg_count > 3 ? vec_int(&c->args[3], i) : (int64_t)utf8_count(r);
    size_t head;
    uint8_t *to;

    if (start <= 0 || start > count) {
        out_bytes(c, i, s);
        return RC_OK;
    }
    head = utf8_offset(s, (uint64_t)(start - 1));
    rest = bytes_of(s.data + head, s.len - head);
    n = n < 0 ? 0 : n;
    n = (int64_t)utf8_offset(rest, (uint64_t)n);
    rest = bytes_of(rest.data + n, rest.len - (size_t)n);
    RETURN_IF_ERR(room(c, i, head + r.len + rest.len, &to));
    put(put(put(to, bytes_of(s.data, head)), r), rest);
    return RC_OK;
}

/* ---- trimming -------------------------------------------------------------------------------- */

static bool has_code_point(struct bytes set, const uint8_t *p, uint32_t len)
{
    for (size_t at = 0; at < set.len;) {
        uint32_t n = utf8_len(set.data + at, set.data + set.len);

        if (n == len && memcmp(set.data + at, p, n) == 0)
            return true;
        at += n;
    }
    return false;
}

enum { TRIM_LEFT = 1, TRIM_RIGHT = 2 };

/* Takes off, on the sides of param, all code points that are among those of the second argument (a
 * blank by default). */
static enum rc row_trim(struct call *c, uint32_t i)
{
    struct bytes s = vec_bytes(&c->args[0], i);
    struct bytes set = c->e->arg_count > 1 ? vec_bytes(&c->args[1], i) : bytes_of_str(" ");
    const uint8_t *p = s.data, *end = s.data + s.len;

    while ((c->e->param & TRIM_LEFT) != 0 && p < end && has_code_point(set, p, utf8_len(p, end)))
        p += utf8_len(p, end);
    while ((c->e->param & TRIM_RIGHT) != 0 && p < end) {
        const uint8_t *last = end - 1;

        while (last > p && (*last & 0xc0) == 0x80)
            last--;
        if (!has_code_point(set, last, (uint32_t)(end - last)))
            break;
        end = last;
    }
    out_bytes(c, i, bytes_of(p, (size_t)(end - p)));
    return RC_OK;
}

/* The call becomes one of another function of this file that says the same. */
static void bind_as(struct expr *e, const char *name)
{
    for (const struct func *f = text_funcs; f->name != NULL; f++) {
        if (strcmp(f->name, name) == 0) {
            e->func = f;
            e->param = f->param;
        }
    }
}

static enum rc bind_trim(struct bind *b, const struct ast_expr *ast, struct expr *e)
{
    (void)b;
    bind_as(e, ast->unit == NULL || strcmp(ast->unit, "BOTH") == 0 ? "BTRIM"
               : strcmp(ast->unit, "LEADING") == 0                 ? "LTRIM"
                                                                   : "RTRIM");
    return RC_OK;
}

/* ---- searching ------------------------------------------------------------------------------- */

static const uint8_t *find(struct bytes s, struct bytes x)
{
    if (x.len == 0)
        return s.data;
    return s.len < x.len ? NULL : memmem(s.data, s.len, x.data, x.len);
}

/* INSTR(s, x) is POSITION(x IN s). */
static enum rc bind_instr(struct bind *b, const struct ast_expr *ast, struct expr *e)
{
    struct expr *s = e->args[0];

    (void)b;
    (void)ast;
    e->args[0] = e->args[1];
    e->args[1] = s;
    bind_as(e, "POSITION");
    return RC_OK;
}

/* (x, s [, from]): counted from 1; 0 when it is not there. */
static enum rc row_position(struct call *c, uint32_t i)
{
    struct bytes x = vec_bytes(&c->args[0], i), s = vec_bytes(&c->args[1], i);
    int64_t from = c->e->arg_count > 2 ? vec_int(&c->args[2], i) : 1;
    size_t skip;
    const uint8_t *at;

    if (from < 1 || from - 1 > (int64_t)utf8_count(s)) {
        out_int(c, i, 0);
        return RC_OK;
    }
    skip = utf8_offset(s, (uint64_t)(from - 1));
    at = find(bytes_of(s.data + skip, s.len - skip), x);
    out_int(c, i,
            at == NULL ? 0 : (int64_t)utf8_count(bytes_of(s.data, (size_t)(at - s.data))) + 1);
    return RC_OK;
}

static enum rc row_starts_with(struct call *c, uint32_t i)
{
    struct bytes s = vec_bytes(&c->args[0], i), x = vec_bytes(&c->args[1], i);
    size_t from = c->e->param && s.len >= x.len ? s.len - x.len : 0;

    out_bool(c, i, s.len >= x.len && (x.len == 0 || memcmp(s.data + from, x.data, x.len) == 0));
    return RC_OK;
}

/* An empty text to look for changes nothing. */
static enum rc row_replace(struct call *c, uint32_t i)
{
    struct bytes s = vec_bytes(&c->args[0], i), x = vec_bytes(&c->args[1], i),
                 r = vec_bytes(&c->args[2], i);
    struct bytes rest = s;
    const uint8_t *at;
    size_t hits = 0;
    uint8_t *to;

    while (x.len > 0 && (at = find(rest, x)) != NULL) {
        hits++;
        rest = bytes_of(at + x.len, (size_t)(s.data + s.len - at) - x.len);
    }
    RETURN_IF_ERR(room(c, i, s.len - hits * x.len + hits * r.len, &to));
    rest = s;
    while (hits > 0 && (at = find(rest, x)) != NULL) {
        to = put(put(to, bytes_of(rest.data, (size_t)(at - rest.data))), r);
        rest = bytes_of(at + x.len, (size_t)(s.data + s.len - at) - x.len);
    }
    put(to, rest);
    return RC_OK;
}

/* Part number n, from 0, between whole delimiters; null when there is none. */
static enum rc row_split_index(struct call *c, uint32_t i)
{
    struct bytes rest = vec_bytes(&c->args[0], i), x = vec_bytes(&c->args[1], i);
    int64_t n = vec_int(&c->args[2], i);
    const uint8_t *at = x.len == 0 ? NULL : find(rest, x), *end = rest.data + rest.len;

    for (; n > 0 && at != NULL; n--) {
        rest = bytes_of(at + x.len, (size_t)(end - at) - x.len);
        at = find(rest, x);
    }
    if (n != 0)
        out_null(c, i);
    else
        out_bytes(c, i, at == NULL ? rest : bytes_of(rest.data, (size_t)(at - rest.data)));
    return RC_OK;
}

/* Each code point of s that is in `from` becomes the one at the same place of `to`, or goes when
 * `to` is shorter. */
static enum rc row_translate(struct call *c, uint32_t i)
{
    struct bytes s = vec_bytes(&c->args[0], i), from = vec_bytes(&c->args[1], i),
                 to = vec_bytes(&c->args[2], i);
    uint8_t *out, *at;

    RETURN_IF_ERR(room(c, i, s.len * 4, &out));
    at = out;
    for (size_t k = 0; k < s.len;) {
        uint32_t n = utf8_len(s.data + k, s.data + s.len);
        uint64_t index = 0;
        size_t f = 0;

        for (; f < from.len; index++) {
            uint32_t m = utf8_len(from.data + f, from.data + from.len);

            if (m == n && memcmp(from.data + f, s.data + k, n) == 0)
                break;
            f += m;
        }
        at = put(at, f >= from.len ? bytes_of(s.data + k, n) : part_of(to, index, 1));
        k += n;
    }
    out_trim(c, i, (size_t)(at - out));
    return RC_OK;
}

/* ---- letters --------------------------------------------------------------------------------- */

static enum rc unicode_locale(struct call *c)
{
    struct expr_eval *ev = c->ev;

    if (ev->upper_lower == (locale_t)0)
        ev->upper_lower = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    if (ev->upper_lower == (locale_t)0)
        return err_set(c->err, RC_UNSUPPORTED,
                       "%s: letters past ASCII need the C library's locale C.UTF-8",
                       c->e->func->name);
    return RC_OK;
}

enum { CASE_UPPER, CASE_LOWER, CASE_INITIAL };

static uint32_t map_case(struct call *c, uint32_t v, bool upper)
{
    if (v < 0x80)
        return upper ? (v >= 'a' && v <= 'z' ? v - 32 : v) : (v >= 'A' && v <= 'Z' ? v + 32 : v);
    return (uint32_t)(upper ? towupper_l((wint_t)v, c->ev->upper_lower)
                            : towlower_l((wint_t)v, c->ev->upper_lower));
}

static bool is_word_part(struct call *c, uint32_t v)
{
    if (v < 0x80)
        return (v >= '0' && v <= '9') || ((v | 0x20) >= 'a' && (v | 0x20) <= 'z');
    return iswalnum_l((wint_t)v, c->ev->upper_lower) != 0;
}

static enum rc row_case(struct call *c, uint32_t i)
{
    struct bytes s = vec_bytes(&c->args[0], i);
    uint8_t *to, *at, high = 0;
    bool in_word = false;

    for (size_t k = 0; k < s.len; k++)
        high |= s.data[k];
    if (high < 0x80 && c->e->param != CASE_INITIAL) {
        RETURN_IF_ERR(room(c, i, s.len, &to));
        for (size_t k = 0; k < s.len; k++) {
            uint8_t letter = (uint8_t)((s.data[k] | 0x20) - 'a');

            to[k] = letter >= 26 ? s.data[k]
                                 : (uint8_t)(c->e->param == CASE_UPPER ? s.data[k] & ~0x20u
                                                                       : s.data[k] | 0x20u);
        }
        return RC_OK;
    }
    if (high >= 0x80)
        RETURN_IF_ERR(unicode_locale(c));
    RETURN_IF_ERR(room(c, i, s.len * 2, &to)); /* two bytes may become three */
    at = to;
    for (size_t k = 0; k < s.len;) {
        uint32_t n, v = utf8_get(s.data + k, s.data + s.len, &n);

        if (v == UINT32_MAX)
            at = put(at, bytes_of(s.data + k, n));
        else
            at += utf8_put(
                map_case(c, v,
                         c->e->param == CASE_UPPER || (c->e->param == CASE_INITIAL && !in_word)),
                at);
        in_word = v != UINT32_MAX && is_word_part(c, v);
        k += n;
    }
    out_trim(c, i, (size_t)(at - to));
    return RC_OK;
}

/* The first code point; 0 of an empty text. */
static enum rc row_ascii(struct call *c, uint32_t i)
{
    struct bytes s = vec_bytes(&c->args[0], i);
    uint32_t len, v = s.len == 0 ? 0 : utf8_get(s.data, s.data + s.len, &len);

    out_int(c, i, v == UINT32_MAX ? s.data[0] : v);
    return RC_OK;
}

/* The character of Latin-1 with that code, modulo 256; nothing for a negative one. */
static enum rc row_chr(struct call *c, uint32_t i)
{
    int64_t v = vec_int(&c->args[0], i);
    uint8_t text[4];

    out_bytes(c, i, bytes_of(text, v < 0 ? 0 : utf8_put((uint32_t)(v & 255), text)));
    return RC_OK;
}

/* ---- LIKE ------------------------------------------------------------------------------------ */

/* Between two % stands a segment: literals and _ in a row. */
struct like_item {
    bool any; /* _ */
    struct bytes literal;
};
struct like_segment {
    uint32_t first, count; /* items */
    uint64_t code_points;
};
struct like {
    bool star_before, star_after; /* % at the start, at the end */
    uint32_t segment_count;
    struct like_segment *segments;
    struct like_item *items;
};

struct like_build {
    struct like *like;
    uint8_t *literal; /* unescaped bytes */
    size_t used, start;
    uint32_t item_count;
    bool open; /* a segment is under way */
};

static void like_end_literal(struct like_build *b)
{
    struct like_segment *s = &b->like->segments[b->like->segment_count];

    if (b->used == b->start)
        return;
    b->like->items[b->item_count++].literal = bytes_of(b->literal + b->start, b->used - b->start);
    s->code_points += utf8_count(bytes_of(b->literal + b->start, b->used - b->start));
    s->count++;
    b->start = b->used;
}

static void like_end_segment(struct like_build *b)
{
    like_end_literal(b);
    if (b->like->segments[b->like->segment_count].count > 0) {
        b->like->segment_count++;
        b->like->segments[b->like->segment_count] = (struct like_segment){.first = b->item_count};
    }
}

static enum rc like_compile(struct arena *a, struct bytes pattern, struct bytes escape,
                            const struct like **out, struct err *err)
{
    struct like_build b = {.like = ARENA_NEW(a, struct like)};
    bool star_last = false;

    if (escape.data != NULL && utf8_count(escape) != 1)
        return err_set(err, RC_INVALID, "LIKE: ESCAPE takes one character");
    b.like->segments = ARENA_ARRAY(a, pattern.len + 2, struct like_segment);
    b.like->items = ARENA_ARRAY(a, pattern.len + 1, struct like_item);
    b.literal = arena_alloc(a, pattern.len + 1);
    for (size_t i = 0; i < pattern.len;) {
        uint32_t n = utf8_len(pattern.data + i, pattern.data + pattern.len);
        bool literal = false;

        if (escape.data != NULL && n == escape.len &&
            memcmp(pattern.data + i, escape.data, n) == 0) {
            i += n;
            if (i == pattern.len)
                return err_set(err, RC_INVALID, "LIKE: the pattern ends in its escape character");
            n = utf8_len(pattern.data + i, pattern.data + pattern.len);
            if (pattern.data[i] != '%' && pattern.data[i] != '_' &&
                !(n == escape.len && memcmp(pattern.data + i, escape.data, n) == 0))
                return err_set(err, RC_INVALID,
                               "LIKE: the escape character stands before %%, _ or itself only");
            literal = true;
        }
        star_last = !literal && pattern.data[i] == '%';
        if (star_last) {
            like_end_segment(&b);
            if (b.like->segment_count == 0)
                b.like->star_before = true;
        } else if (!literal && pattern.data[i] == '_') {
            like_end_literal(&b);
            b.like->items[b.item_count++].any = true;
            b.like->segments[b.like->segment_count].count++;
            b.like->segments[b.like->segment_count].code_points++;
        } else {
            memcpy(b.literal + b.used, pattern.data + i, n);
            b.used += n;
        }
        i += n;
    }
    like_end_segment(&b);
    b.like->star_after = star_last;
    *out = b.like;
    return RC_OK;
}

/* End of the segment when it matches at p; NULL. */
static const uint8_t *segment_at(const struct like *l, const struct like_segment *s,
                                 const uint8_t *p, const uint8_t *end)
{
    for (uint32_t k = 0; k < s->count; k++) {
        const struct like_item *item = &l->items[s->first + k];

        if (item->any) {
            if (p == end)
                return NULL;
            p += utf8_len(p, end);
        } else {
            if ((size_t)(end - p) < item->literal.len ||
                memcmp(p, item->literal.data, item->literal.len) != 0)
                return NULL;
            p += item->literal.len;
        }
    }
    return p;
}

/* Leftmost match of the segment from p on. */
static const uint8_t *segment_find(const struct like *l, const struct like_segment *s,
                                   const uint8_t *p, const uint8_t *end)
{
    const struct like_item *first = &l->items[s->first];

    while (p <= end) {
        const uint8_t *q;

        if (!first->any) {
            p = find(bytes_of(p, (size_t)(end - p)), first->literal);
            if (p == NULL)
                return NULL;
        }
        q = segment_at(l, s, p, end);
        if (q != NULL)
            return q;
        if (p == end)
            return NULL;
        p += utf8_len(p, end);
    }
    return NULL;
}

static bool like_match(const struct like *l, struct bytes text)
{
    const uint8_t *p = text.data, *end = text.data + text.len, *tail = end;
    uint32_t from = 0, to = l->segment_count;
    bool has_star = l->star_before || l->star_after || l->segment_count > 1;

    if (l->segment_count == 0)
        return has_star || text.len == 0;
    if (!l->star_before) { /* the first stands at the start */
        p = segment_at(l, &l->segments[0], p, end);
        if (p == NULL)
            return false;
        from = 1;
        if (!has_star)
            return p == end;
    }
    if (!l->star_after && from < to) { /* the last stands at the end */
        const struct like_segment *last = &l->segments[--to];

        for (uint64_t k = 0; k < last->code_points; k++) {
            if (tail <= p)
                return false;
            do
                tail--;
            while (tail > p && (*tail & 0xc0) == 0x80);
        }
        if (segment_at(l, last, tail, end) != end)
            return false;
    }
    for (; from < to; from++) {
        p = segment_find(l, &l->segments[from], p, tail);
        if (p == NULL)
            return false;
    }
    return true;
}

static enum rc row_like(struct call *c, uint32_t i)
{
    const struct like *l = c->e->prepared;

    if (l == NULL) { /* the pattern is a column */
        struct bytes escape = c->e->arg_count > 2 ? vec_bytes(&c->args[2], i) : (struct bytes){0};

        RETURN_IF_ERR(like_compile(c->ev->arena, vec_bytes(&c->args[1], i), escape, &l, c->err));
    }
    out_bool(c, i, like_match(l, vec_bytes(&c->args[0], i)));
    return RC_OK;
}

static enum rc bind_like_pattern(struct bind *b, const struct ast_expr *ast, struct expr *e)
{
    struct bytes escape = {0};
    const struct like *l;
    struct err inner = {0};
    enum rc rc;

    for (uint32_t k = 1; k < e->arg_count; k++) {
        if (e->args[k]->kind != NODE_CONST || vec_null(&e->args[k]->value, 0))
            return RC_OK;
    }
    if (e->arg_count > 2)
        escape = vec_bytes(&e->args[2]->value, 0);
    rc = like_compile(b->arena, vec_bytes(&e->args[1]->value, 0), escape, &l, &inner);
    if (rc != RC_OK)
        return bind_error(b, ast->pos, rc, "%s", inner.msg);
    e->prepared = l;
    return RC_OK;
}

const struct func func_concat_op = {
    .name = "||", .args = "ss", .result = 's', .flags = FUNC_FALLIBLE, .row = row_concat};

const struct func text_funcs[] = {
    {.name = "CONCAT", .args = "s*", .result = 's', .flags = FUNC_FALLIBLE, .row = row_concat},
    {.name = "CONCAT_WS",
     .args = "ss*",
     .result = 's',
     .flags = FUNC_FALLIBLE | FUNC_LENIENT,
     .row = row_concat_ws},
    {.name = "REPEAT", .args = "si", .result = 's', .flags = FUNC_FALLIBLE, .row = row_repeat},
    {.name = "LPAD",
     .args = "sis",
     .result = 's',
     .flags = FUNC_FALLIBLE | FUNC_NULLABLE,
     .row = row_pad,
     .param = 1},
    {.name = "RPAD",
     .args = "sis",
     .result = 's',
     .flags = FUNC_FALLIBLE | FUNC_NULLABLE,
     .row = row_pad},
    {.name = "CHAR_LENGTH", .args = "s", .result = 'i', .row = row_char_length},
    {.name = "CHARACTER_LENGTH",
     .canonical = "CHAR_LENGTH",
     .args = "s",
     .result = 'i',
     .row = row_char_length},
    {.name = "LENGTH",
     .canonical = "CHAR_LENGTH",
     .args = "s",
     .result = 'i',
     .row = row_char_length},
    {.name = "OCTET_LENGTH", .args = "y", .result = 'i', .row = row_octet_length},
    {.name = "SUBSTRING",
     .args = "si?i",
     .result = 's',
     .flags = FUNC_NULLABLE,
     .row = row_substring},
    {.name = "SUBSTR",
     .canonical = "SUBSTRING",
     .args = "si?i",
     .result = 's',
     .flags = FUNC_NULLABLE,
     .row = row_substring},
    {.name = "LEFT", .args = "si", .result = 's', .row = row_left_right},
    {.name = "RIGHT", .args = "si", .result = 's', .row = row_left_right, .param = 1},
    {.name = "REVERSE", .args = "s", .result = 's', .row = row_reverse},
    {.name = "OVERLAY", .args = "ssi?i", .result = 's', .flags = FUNC_FALLIBLE, .row = row_overlay},
    {.name = "TRIM", .args = "s?s", .result = 's', .row = row_trim, .bind = bind_trim},
    {.name = "BTRIM",
     .args = "s?s",
     .result = 's',
     .row = row_trim,
     .param = TRIM_LEFT | TRIM_RIGHT},
    {.name = "LTRIM", .args = "s?s", .result = 's', .row = row_trim, .param = TRIM_LEFT},
    {.name = "RTRIM", .args = "s?s", .result = 's', .row = row_trim, .param = TRIM_RIGHT},
    {.name = "POSITION", .args = "ss", .result = 'i', .row = row_position},
    {.name = "LOCATE", .canonical = "POSITION", .args = "ss?i", .result = 'i', .row = row_position},
    {.name = "INSTR", .args = "ss", .result = 'i', .row = row_position, .bind = bind_instr},
    {.name = "STARTSWITH", .args = "ss", .result = 'b', .row = row_starts_with},
    {.name = "ENDSWITH", .args = "ss", .result = 'b', .row = row_starts_with, .param = 1},
    {.name = "REPLACE", .args = "sss", .result = 's', .flags = FUNC_FALLIBLE, .row = row_replace},
    {.name = "SPLIT_INDEX",
     .args = "ssi",
     .result = 's',
     .flags = FUNC_NULLABLE,
     .row = row_split_index},
    {.name = "TRANSLATE",
     .args = "sss",
     .result = 's',
     .flags = FUNC_FALLIBLE,
     .row = row_translate},
    {.name = "UPPER",
     .args = "s",
     .result = 's',
     .flags = FUNC_FALLIBLE,
     .row = row_case,
     .param = CASE_UPPER},
    {.name = "LOWER",
     .args = "s",
     .result = 's',
     .flags = FUNC_FALLIBLE,
     .row = row_case,
     .param = CASE_LOWER},
    {.name = "INITCAP",
     .args = "s",
     .result = 's',
     .flags = FUNC_FALLIBLE,
     .row = row_case,
     .param = CASE_INITIAL},
    {.name = "ASCII", .args = "s", .result = 'i', .row = row_ascii},
    {.name = "CHR", .args = "i", .result = 's', .row = row_chr},
    {.name = "LIKE",
     .args = "ss?s",
     .result = 'b',
     .flags = FUNC_FALLIBLE,
     .row = row_like,
     .bind = bind_like_pattern},
    {.name = NULL},
};
