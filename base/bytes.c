/* bytes.c - see bytes.h */
#include "base/bytes.h"

#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>

int bytes_cmp(struct bytes a, struct bytes b)
{
    size_t common = a.len < b.len ? a.len : b.len;
    int order = common == 0 ? 0 : memcmp(a.data, b.data, common);

    if (order != 0)
        return order;
    return (a.len > b.len) - (a.len < b.len);
}

/* ---- buf ------------------------------------------------------------------------------------ */

void buf_release(struct buf *b)
{
    mem_free(b->data);
    *b = (struct buf){0};
}

void buf_clear(struct buf *b)
{
    b->len = 0;
}

void buf_reserve(struct buf *b, size_t more)
{
    size_t need, cap;

    ASSERT(add_size(b->len, more, &need));
    if (need <= b->cap)
        return;
    cap = b->cap < 64 ? 64 : b->cap;
    while (cap < need)
        if (!mul_size(cap, 2, &cap))
            cap = need;
    b->data = mem_realloc(b->data, cap);
    b->cap = cap;
}

void buf_append(struct buf *b, const void *data, size_t len)
{
    if (len == 0)
        return;
    buf_reserve(b, len);
    memcpy(b->data + b->len, data, len);
    b->len += len;
}

void buf_append_str(struct buf *b, const char *s)
{
    buf_append(b, s, strlen(s));
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list args, again;
    int wanted;

    va_start(args, fmt);
    va_copy(again, args);
    buf_reserve(b, 64);
    wanted = vsnprintf((char *)b->data + b->len, b->cap - b->len, fmt, args);
    ASSERT(wanted >= 0);
    if ((size_t)wanted >= b->cap - b->len) {
        buf_reserve(b, (size_t)wanted + 1);
        vsnprintf((char *)b->data + b->len, b->cap - b->len, fmt, again);
    }
    b->len += (size_t)wanted;
    va_end(again);
    va_end(args);
}

void buf_append_escaped(struct buf *b, struct bytes text, size_t max)
{
    for (size_t i = 0; i < text.len && i < max; i++) {
        if (text.data[i] == '\\')
            buf_append_str(b, "\\\\");
        else if (text.data[i] >= 0x20 && text.data[i] < 0x7f)
            buf_append_u8(b, text.data[i]);
        else
            buf_printf(b, "\\x%02x", text.data[i]);
    }
    if (text.len > max)
        buf_append_str(b, "...");
}

void buf_append_be16(struct buf *b, uint16_t v)
{
    buf_reserve(b, 2);
    put_be16(b->data + b->len, v);
    b->len += 2;
}

void buf_append_be32(struct buf *b, uint32_t v)
{
    buf_reserve(b, 4);
    put_be32(b->data + b->len, v);
    b->len += 4;
}

void buf_append_be64(struct buf *b, uint64_t v)
{
    buf_reserve(b, 8);
    put_be64(b->data + b->len, v);
    b->len += 8;
}

void buf_append_le32(struct buf *b, uint32_t v)
{
    buf_reserve(b, 4);
    put_le32(b->data + b->len, v);
    b->len += 4;
}

void buf_append_le64(struct buf *b, uint64_t v)
{
    buf_reserve(b, 8);
    put_le64(b->data + b->len, v);
    b->len += 8;
}

void buf_append_varint(struct buf *b, uint64_t v)
{
    buf_reserve(b, 10);
    while (v >= 0x80) {
        b->data[b->len++] = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    b->data[b->len++] = (uint8_t)v;
}

const char *buf_cstr(struct buf *b)
{
    buf_reserve(b, 1);
    b->data[b->len] = '\0';
    return (const char *)b->data;
}

/* ---- reader --------------------------------------------------------------------------------- */

void reader_init(struct reader *r, struct bytes all, const char *what)
{
    *r = (struct reader){.all = all, .what = what};
}

/* Why a take could not be satisfied. A reader that failed before says so, for whoever dropped the
 * first error. */
static enum rc fail_short(struct reader *r, size_t len, const char *field, struct err *err)
{
    if (r->failed)
        return err_set(err, RC_CORRUPT, "%s: %s: an earlier field failed at offset %zu", r->what,
                       field, r->pos);
    r->failed = true;
    return err_set(err, RC_CORRUPT, "%s: %s: needs %zu byte%s at offset %zu, %zu left", r->what,
                   field, len, len == 1 ? "" : "s", r->pos, reader_left(r));
}

enum rc reader_take(struct reader *r, size_t len, struct bytes *out, const char *field,
                    struct err *err)
{
    *out = (struct bytes){0};
    if (r->failed || len > reader_left(r))
        return fail_short(r, len, field, err);
    if (len > 0)
        *out = bytes_of(r->all.data + r->pos, len);
    r->pos += len;
    return RC_OK;
}

enum rc reader_u8(struct reader *r, uint8_t *out, const char *field, struct err *err)
{
    struct bytes b;

    *out = 0;
    RETURN_IF_ERR(reader_take(r, 1, &b, field, err));
    *out = b.data[0];
    return RC_OK;
}

enum rc reader_be32(struct reader *r, uint32_t *out, const char *field, struct err *err)
{
    struct bytes b;

    *out = 0;
    RETURN_IF_ERR(reader_take(r, 4, &b, field, err));
    *out = get_be32(b.data);
    return RC_OK;
}

enum rc reader_be64(struct reader *r, uint64_t *out, const char *field, struct err *err)
{
    struct bytes b;

    *out = 0;
    RETURN_IF_ERR(reader_take(r, 8, &b, field, err));
    *out = get_be64(b.data);
    return RC_OK;
}

enum rc reader_le32(struct reader *r, uint32_t *out, const char *field, struct err *err)
{
    struct bytes b;

    *out = 0;
    RETURN_IF_ERR(reader_take(r, 4, &b, field, err));
    *out = get_le32(b.data);
    return RC_OK;
}

enum rc reader_le64(struct reader *r, uint64_t *out, const char *field, struct err *err)
{
    struct bytes b;

    *out = 0;
    RETURN_IF_ERR(reader_take(r, 8, &b, field, err));
    *out = get_le64(b.data);
    return RC_OK;
}

enum rc reader_varint(struct reader *r, uint64_t *out, const char *field, struct err *err)
{
    uint64_t v = 0;
    size_t at = r->pos;
    uint8_t byte;

    *out = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (r->failed || r->pos == r->all.len) {
            r->pos = r->failed ? r->pos : at;
            if (r->failed)
                return fail_short(r, 1, field, err);
            r->failed = true;
            return err_set(err, RC_CORRUPT, "%s: %s: varint at offset %zu is cut after %zu bytes",
                           r->what, field, at, r->all.len - at);
        }
        byte = r->all.data[r->pos++];
        if (shift == 63 && byte > 1)
            break; /* the tenth byte holds one bit */
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out = v;
            return RC_OK;
        }
    }
    r->failed = true;
    r->pos = at;
    return err_set(err, RC_CORRUPT, "%s: %s: varint at offset %zu exceeds 64 bits", r->what, field,
                   at);
}

enum rc reader_blob(struct reader *r, struct bytes *out, const char *field, struct err *err)
{
    size_t at = r->pos;
    uint64_t len;

    *out = (struct bytes){0};
    RETURN_IF_ERR(reader_varint(r, &len, field, err));
    if (len > reader_left(r)) {
        r->failed = true;
        return err_set(err, RC_CORRUPT,
                       "%s: %s: length %llu at offset %zu exceeds the %zu bytes left", r->what,
                       field, (unsigned long long)len, at, reader_left(r));
    }
    return reader_take(r, (size_t)len, out, field, err);
}

enum rc reader_end(const struct reader *r, struct err *err)
{
    if (r->failed)
        return err_set(err, RC_CORRUPT, "%s: an earlier field failed at offset %zu", r->what,
                       r->pos);
    if (reader_left(r) > 0)
        return err_set(err, RC_CORRUPT, "%s: %zu bytes too many after offset %zu", r->what,
                       reader_left(r), r->pos);
    return RC_OK;
}
