/* utf8.c - see utf8.h */
#include "base/utf8.h"

uint64_t utf8_count(struct bytes b)
{
    uint64_t n = 0;

    for (size_t i = 0; i < b.len; i++)
        n += (b.data[i] & 0xc0) != 0x80;
    return n;
}

size_t utf8_offset(struct bytes b, uint64_t code_points)
{
    size_t i = 0;

    if (code_points >= b.len)
        return b.len;
    for (; i < b.len && code_points > 0; code_points--)
        i += utf8_len(b.data + i, b.data + b.len);
    return i;
}

uint32_t utf8_get(const uint8_t *p, const uint8_t *end, uint32_t *len)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t n = *p < 0x80   ? 1
                 : *p < 0xc2 ? 0
                 : *p < 0xe0 ? 2
                 : *p < 0xf0 ? 3
                 : *p < 0xf5 ? 4
                             : 0,
             v;

    *len = 1;
    if (n == 1)
        return *p;
    if (n == 0 || (size_t)(end - p) < n)
        return UINT32_MAX;
    v = *p & (0x7fu >> n);
    for (uint32_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return UINT32_MAX;
        v = v << 6 | (p[i] & 0x3fu);
    }
    if (v < least[n] || v > 0x10ffff || (v >= 0xd800 && v < 0xe000))
        return UINT32_MAX;
    *len = n;
    return v;
}

size_t utf8_next(struct bytes text, size_t at, uint32_t *code_point)
{
    uint32_t len, v = utf8_get(text.data + at, text.data + text.len, &len);

    *code_point = v == UINT32_MAX ? 0xfffd : v;
    return len;
}

size_t utf8_invalid_at(struct bytes text)
{
    const uint8_t *p = text.data, *end = text.data + text.len;
    uint32_t len;

    while (p < end) {
        if (end - p >= 8) {
            uint64_t word;

            memcpy(&word, p, 8);
            if ((word & 0x8080808080808080u) == 0) {
                p += 8;
                continue;
            }
        }
        if (*p < 0x80) {
            p++;
        } else {
            if (utf8_get(p, end, &len) == UINT32_MAX)
                return (size_t)(p - text.data);
            p += len;
        }
    }
    return text.len;
}

void utf8_append_valid(struct bytes text, struct buf *out)
{
    uint32_t len;

    for (size_t at = 0; at < text.len; at += len) {
        if (utf8_get(text.data + at, text.data + text.len, &len) == UINT32_MAX)
            buf_append_str(out, "\xEF\xBF\xBD");
        else
            buf_append(out, text.data + at, len);
    }
}

uint32_t utf8_put(uint32_t v, uint8_t out[4])
{
    if (v < 0x80) {
        out[0] = (uint8_t)v;
        return 1;
    }
    if (v < 0x800) {
        out[0] = (uint8_t)(0xc0 | v >> 6);
        out[1] = (uint8_t)(0x80 | (v & 0x3f));
        return 2;
    }
    if (v < 0x10000) {
        out[0] = (uint8_t)(0xe0 | v >> 12);
        out[1] = (uint8_t)(0x80 | (v >> 6 & 0x3f));
        out[2] = (uint8_t)(0x80 | (v & 0x3f));
        return 3;
    }
    out[0] = (uint8_t)(0xf0 | v >> 18);
    out[1] = (uint8_t)(0x80 | (v >> 12 & 0x3f));
    out[2] = (uint8_t)(0x80 | (v >> 6 & 0x3f));
    out[3] = (uint8_t)(0x80 | (v & 0x3f));
    return 4;
}
