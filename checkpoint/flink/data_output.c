/* data_output.c - see data_output.h */
#include "checkpoint/flink/data_output.h"

#include "base/utf8.h"

/* A UTF-16 code unit of two or three bytes. */
static void put_unit(struct buf *out, uint32_t u)
{
    if (u >= 0x800) {
        buf_append_u8(out, (uint8_t)(0xE0 | u >> 12));
        buf_append_u8(out, (uint8_t)(0x80 | (u >> 6 & 0x3F)));
    } else {
        buf_append_u8(out, (uint8_t)(0xC0 | u >> 6));
    }
    buf_append_u8(out, (uint8_t)(0x80 | (u & 0x3F)));
}

bool data_put_utf(struct buf *out, struct bytes text)
{
    size_t start = out->len, len = 0;
    uint32_t n;

    buf_append_be16(out, 0);
    for (const uint8_t *p = text.data, *end = p + text.len; p < end; p += len) {
        uint32_t point = utf8_get(p, end, &n);

        len = n;
        if (point == UINT32_MAX) { /* of a half pair: as it is */
            buf_append_u8(out, *p);
        } else if (point >= 0x10000) {
            put_unit(out, 0xD800 + ((point - 0x10000) >> 10));
            put_unit(out, 0xDC00 + ((point - 0x10000) & 0x3FF));
        } else if (point == 0 || point >= 0x80) {
            put_unit(out, point);
        } else {
            buf_append_u8(out, (uint8_t)point);
        }
    }
    if (out->len - start - 2 > UINT16_MAX) {
        out->len = start;
        return false;
    }
    put_be16(out->data + start, (uint16_t)(out->len - start - 2));
    return true;
}
