/* bytes.h - borrowed slice, owned buffer, bounds-checked reader; big-endian, little-endian, varint.
 *
 * A `struct bytes` never owns. A `struct buf` owns and grows (running out of memory aborts). A
 * `struct reader` walks a slice that came from outside: every take is checked, the first failure
 * sticks, and its message names what was being read and at which offset.
 */
#ifndef VARVE_BASE_BYTES_H
#define VARVE_BASE_BYTES_H

#include "base/status.h"

#include <string.h>

struct bytes {
    const uint8_t *data; /* NULL only when len == 0 */
    size_t len;
};

static inline struct bytes bytes_of(const void *data, size_t len)
{
    return (struct bytes){(const uint8_t *)data, len};
}
static inline struct bytes bytes_of_str(const char *s)
{
    return (struct bytes){(const uint8_t *)s, strlen(s)};
}
static inline bool bytes_eq(struct bytes a, struct bytes b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}
static inline bool bytes_start_with(struct bytes b, struct bytes prefix)
{
    return prefix.len == 0 || (b.len >= prefix.len && memcmp(b.data, prefix.data, prefix.len) == 0);
}
static inline bool bytes_end_with(struct bytes b, struct bytes end)
{
    return end.len == 0 || (b.len >= end.len && memcmp(b.data + b.len - end.len, end.data, end.len) == 0);
}
/* <0, 0, >0: bytewise order, a prefix sorts first. */
int bytes_cmp(struct bytes a, struct bytes b);

/* Owned, growable. `= {0}` is empty; _release frees and zeroes. */
struct buf {
    uint8_t *data;
    size_t len, cap;
};
void buf_release(struct buf *b);
void buf_clear(struct buf *b);               /* length 0, memory kept */
void buf_reserve(struct buf *b, size_t more); /* room for `more` bytes after len */
void buf_append(struct buf *b, const void *data, size_t len);
void buf_append_str(struct buf *b, const char *s);
void buf_printf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
static inline void buf_append_u8(struct buf *b, uint8_t v) { buf_append(b, &v, 1); }
/* Bytes outside printable ASCII as \xNN, a backslash doubled: text of others that cannot drive a
 * terminal. At most `max` bytes of it, then "...". */
void buf_append_escaped(struct buf *b, struct bytes text, size_t max);
void buf_append_be16(struct buf *b, uint16_t v);
void buf_append_be32(struct buf *b, uint32_t v);
void buf_append_be64(struct buf *b, uint64_t v);
void buf_append_le32(struct buf *b, uint32_t v);
void buf_append_le64(struct buf *b, uint64_t v);
void buf_append_varint(struct buf *b, uint64_t v); /* LEB128: 7 bits a byte, low group first */
static inline struct bytes buf_bytes(const struct buf *b) { return (struct bytes){b->data, b->len}; }
/* Terminate with NUL (not counted in len) and borrow as a string, until the next change. */
const char *buf_cstr(struct buf *b);

static inline uint16_t get_be16(const uint8_t *p) { return (uint16_t)((p[0] << 8) | p[1]); }
static inline uint32_t get_be32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return __builtin_bswap32(v);
}
static inline uint64_t get_be64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, 8);
    return __builtin_bswap64(v);
}
static inline uint32_t get_le32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}
static inline uint64_t get_le64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}
static inline void put_be16(uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}
static inline void put_be32(uint8_t *p, uint32_t v)
{
    v = __builtin_bswap32(v);
    memcpy(p, &v, 4);
}
static inline void put_be64(uint8_t *p, uint64_t v)
{
    v = __builtin_bswap64(v);
    memcpy(p, &v, 8);
}
static inline void put_le32(uint8_t *p, uint32_t v) { memcpy(p, &v, 4); }
static inline void put_le64(uint8_t *p, uint64_t v) { memcpy(p, &v, 8); }

/* a + b and a * b without wrapping; false when the result does not fit. */
static inline bool add_size(size_t a, size_t b, size_t *out) { return !__builtin_add_overflow(a, b, out); }
static inline bool mul_size(size_t a, size_t b, size_t *out) { return !__builtin_mul_overflow(a, b, out); }

/* Reads untrusted bytes. After a failed take, `failed` stays set and every later take fails too. */
struct reader {
    struct bytes all;
    size_t pos;
    const char *what; /* borrowed; names the source in messages: "chk-7/_metadata: header" */
    bool failed;
};
void reader_init(struct reader *r, struct bytes all, const char *what);
static inline size_t reader_left(const struct reader *r) { return r->all.len - r->pos; }
/* RC_CORRUPT "<what>: <field>: needs 8 bytes at offset 40, 3 left". */
MUST_USE enum rc reader_take(struct reader *r, size_t len, struct bytes *out, const char *field,
                             struct err *err);
MUST_USE enum rc reader_u8(struct reader *r, uint8_t *out, const char *field, struct err *err);
MUST_USE enum rc reader_be32(struct reader *r, uint32_t *out, const char *field, struct err *err);
MUST_USE enum rc reader_be64(struct reader *r, uint64_t *out, const char *field, struct err *err);
MUST_USE enum rc reader_le32(struct reader *r, uint32_t *out, const char *field, struct err *err);
MUST_USE enum rc reader_le64(struct reader *r, uint64_t *out, const char *field, struct err *err);
/* At most 10 bytes, minimal encoding not required; RC_CORRUPT past 64 bits. */
MUST_USE enum rc reader_varint(struct reader *r, uint64_t *out, const char *field, struct err *err);
/* varint length, then that many bytes. */
MUST_USE enum rc reader_blob(struct reader *r, struct bytes *out, const char *field, struct err *err);
/* RC_CORRUPT unless everything was read. */
MUST_USE enum rc reader_end(const struct reader *r, struct err *err);

#endif
