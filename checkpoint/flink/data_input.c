/* data_input.c - see data_input.h */
#include "checkpoint/flink/data_input.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>

#define FAULT_MAX 512

enum rc data_fault(const struct reader *r, size_t offset, struct err *err, const char *fmt, ...)
{
    char text[FAULT_MAX];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return err_set(err, RC_CORRUPT, "%s: %s at offset %zu", r->what, text, offset);
}

enum rc data_u16(struct reader *r, uint16_t *out, const char *field, struct err *err)
{
    struct bytes b;

    RETURN_IF_ERR(reader_take(r, 2, &b, field, err));
    *out = get_be16(b.data);
    return RC_OK;
}

enum rc data_i32(struct reader *r, int32_t *out, const char *field, struct err *err)
{
    uint32_t v;

    RETURN_IF_ERR(reader_be32(r, &v, field, err));
    *out = (int32_t)v;
    return RC_OK;
}

enum rc data_i64(struct reader *r, int64_t *out, const char *field, struct err *err)
{
    uint64_t v;

    RETURN_IF_ERR(reader_be64(r, &v, field, err));
    *out = (int64_t)v;
    return RC_OK;
}

enum rc data_bool(struct reader *r, bool *out, const char *field, struct err *err)
{
    uint8_t v;

    RETURN_IF_ERR(reader_u8(r, &v, field, err));
    *out = v != 0;
    return RC_OK;
}

enum rc data_count(struct reader *r, size_t least_bytes, size_t limit, size_t *out,
                   const char *field, struct err *err)
{
    size_t at = r->pos;
    int32_t n;

    RETURN_IF_ERR(data_i32(r, &n, field, err));
    if (n < 0)
        return data_fault(r, at, err, "%s: %d", field, n);
    if ((size_t)n > limit)
        return data_fault(r, at, err, "%s: %d, the limit is %zu", field, n, limit);
    if ((uint64_t)n * least_bytes > reader_left(r))
        return data_fault(r, at, err, "%s: %d do not fit into the %zu bytes left", field, n,
                          reader_left(r));
    *out = (size_t)n;
    return RC_OK;
}

/* One UTF-16 code unit; the bytes it takes, 0: malformed. */
static size_t unit_at(struct bytes b, size_t i, uint32_t *unit)
{
    const uint8_t *p = b.data + i;
    size_t left = b.len - i;

    if (p[0] < 0x80) {
        *unit = p[0];
        return 1;
    }
    if (p[0] >> 5 == 6 && left >= 2 && (p[1] & 0xC0) == 0x80) {
        *unit = (uint32_t)(p[0] & 0x1F) << 6 | (p[1] & 0x3F);
        return 2;
    }
    if (p[0] >> 4 == 14 && left >= 3 && (p[1] & 0xC0) == 0x80 && (p[2] & 0xC0) == 0x80) {
        *unit = (uint32_t)(p[0] & 0x0F) << 12 | (uint32_t)(p[1] & 0x3F) << 6 | (p[2] & 0x3F);
        return 3;
    }
    return 0;
}

bool data_text(struct bytes modified, struct arena *arena, struct bytes *out)
{
    uint8_t *text = arena_alloc(arena, modified.len + 1), *to = text; /* never longer */
    size_t i = 0;

    while (i < modified.len) {
        uint32_t unit, low;
        size_t n = unit_at(modified, i, &unit), m;

        if (n == 0)
            return false;
        i += n;
        if (unit >= 0xD800 && unit < 0xDC00 && i < modified.len &&
            (m = unit_at(modified, i, &low)) != 0 && low >= 0xDC00 && low < 0xE000) {
            unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
            i += m;
        }
        to += utf8_put(unit, to);
    }
    *to = '\0';
    *out = bytes_of(text, (size_t)(to - text));
    return true;
}

enum rc data_utf(struct reader *r, struct arena *arena, struct bytes *out, const char *field,
                 struct err *err)
{
    size_t at = r->pos;
    struct bytes modified;
    uint16_t len;

    RETURN_IF_ERR(data_u16(r, &len, field, err));
    RETURN_IF_ERR(reader_take(r, len, &modified, field, err));
    if (!data_text(modified, arena, out))
        return data_fault(r, at, err, "%s: malformed modified UTF-8", field);
    return RC_OK;
}

enum rc data_blob(struct reader *r, struct bytes *out, const char *field, struct err *err)
{
    size_t len;

    RETURN_IF_ERR(data_count(r, 1, INT32_MAX, &len, field, err));
    return reader_take(r, len, out, field, err);
}
