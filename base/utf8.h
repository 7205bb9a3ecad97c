/* utf8.h - code points of UTF-8 text: the one place that says which bytes are well-formed (no overlong forms, no surrogates, at most
 * U+10FFFF). Pure; any thread. Nothing reads past the end of what it is given. */
#ifndef VARVE_BASE_UTF8_H
#define VARVE_BASE_UTF8_H

#include "base/bytes.h"

/* The code point at p (< end) and its length in bytes; UINT32_MAX and 1 where none is well-formed. */
uint32_t utf8_get(const uint8_t *p, const uint8_t *end, uint32_t *len);
/* The same at an offset of a text; a byte that is not well-formed gives U+FFFD and 1. */
size_t utf8_next(struct bytes text, size_t at, uint32_t *code_point);
uint32_t utf8_put(uint32_t code_point, uint8_t out[4]); /* its length */
/* Offset of the first byte that is not well-formed; text.len when all is. Eight ASCII bytes at a time. */
size_t utf8_invalid_at(struct bytes text);
static inline bool utf8_is_valid(struct bytes text) { return utf8_invalid_at(text) == text.len; }
/* Appends the text, U+FFFD in place of each byte that is not well-formed. */
void utf8_append_valid(struct bytes text, struct buf *out);

/* For text that is known to be valid. Length of the sequence at p, at least 1; never past end. */
static inline uint32_t utf8_len(const uint8_t *p, const uint8_t *end)
{
    uint32_t n = *p < 0xc0 ? 1 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : 4;
    return (size_t)(end - p) < n ? (uint32_t)(end - p) : n;
}
uint64_t utf8_count(struct bytes b);                        /* code points */
size_t utf8_offset(struct bytes b, uint64_t code_points); /* bytes of the first ones; at most b.len */

#endif
