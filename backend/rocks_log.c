/* rocks_log.c - see rocks_log.h */
#include "backend/rocks_log.h"

#include "base/crc32c.h"

#define BLOCK_BYTES 32768u
#define HEADER_BYTES 7u /* checksum 4, length 2, type 1; little-endian */
#define RECYCLED_BYTES 4u /* types 5 to 8: the log's number, after the type */

enum { ZERO, FULL, FIRST, MIDDLE, LAST, RECYCLED_FULL };

static enum rc broken(const char *what, size_t at, const char *reason, struct err *err)
{
    return err_set(err, RC_CORRUPT, "%s: %s at offset %zu", what, reason, at);
}

/* The record's type as one of the five kinds of part; false: unknown. */
static bool kind_of(uint8_t type, uint8_t *kind, bool *recycled)
{
    *recycled = type >= RECYCLED_FULL;
    *kind = *recycled ? (uint8_t)(type - RECYCLED_FULL + FULL) : type;
    return *kind >= FULL && *kind <= LAST;
}

enum rc rocks_log_check(struct bytes file, const char *what, struct err *err)
{
    bool inside = false; /* a record that is to go on */
    size_t at = 0;

    while (at < file.len) {
        size_t in_block = BLOCK_BYTES - at % BLOCK_BYTES, len;
        const uint8_t *h = file.data + at;
        uint8_t kind;
        bool recycled;

        if (in_block < HEADER_BYTES) { /* filled with zeroes */
            at += in_block;
            continue;
        }
        if (file.len - at < HEADER_BYTES)
            return broken(what, at, "a record that is cut", err);
        len = (size_t)(h[4] | h[5] << 8);
        if (!kind_of(h[6], &kind, &recycled))
            return broken(what, at, "a record of an unknown type", err);
        if (HEADER_BYTES + len + (recycled ? RECYCLED_BYTES : 0) > in_block)
            return broken(what, at, "a record longer than its block", err);
        if (recycled)
            len += RECYCLED_BYTES;
        if (len > file.len - at - HEADER_BYTES)
            return broken(what, at, "a record that is cut", err);
        if (crc32c_masked(crc32c(0, bytes_of(h + 6, 1 + len))) != get_le32(h))
            return broken(what, at, "a record whose checksum differs", err);
        if (inside != (kind == MIDDLE || kind == LAST))
            return broken(what, at, "parts of records out of order", err);
        inside = kind == FIRST || kind == MIDDLE;
        at += HEADER_BYTES + len;
    }
    return inside ? broken(what, at, "a record that is cut", err)
           : file.len == 0 ? broken(what, 0, "empty", err)
                           : RC_OK;
}
