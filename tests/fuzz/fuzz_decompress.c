/* gzip and zstd from outside: no crash, no endless loop, bounded output for the bytes read; the
 * pieces change nothing. */
#include "base/arena.h"
#include "job/source/decompress.h"

#define OUT_MAX (8u << 20) /* stop there: a small input may unpack to much more */

static enum rc unpack(enum compression kind, struct bytes in, size_t in_piece, size_t out_piece,
                      struct buf *out)
{
    struct decompressor *d = decompressor_new(kind);
    size_t from = 0, to = 0, used, made;
    struct err err = {0};
    bool done = false;
    enum rc rc = RC_OK;

    while (!done && out->len < OUT_MAX) {
        if (from == to && to < in.len)
            to = to + in_piece < in.len ? to + in_piece : in.len;
        buf_reserve(out, out_piece);
        rc = decompressor_run(d, bytes_of(in.data + from, to - from), to == in.len, &used,
                              out->data + out->len, out_piece, &made, &done, &err);
        if (rc != RC_OK)
            break;
        ASSERT(used <= to - from && made <= out_piece);
        ASSERT(done || used > 0 || made > 0 || to < in.len || from < to);
        from += used;
        out->len += made;
    }
    decompressor_free(d);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf whole = {0}, pieces = {0};
    enum compression kind;
    struct err err = {0};
    enum rc a, b;
    size_t n;

    if (size < 2 || compression_of("f", bytes_of(data + 1, size - 1), &kind, &err) != RC_OK ||
        kind == COMPRESSION_NONE)
        return 0;
    a = unpack(kind, bytes_of(data + 1, size - 1), size, 65536, &whole);
    b = unpack(kind, bytes_of(data + 1, size - 1), 1u + data[0] % 16, 1u + data[0] * 16u, &pieces);
    n = whole.len < pieces.len ? whole.len : pieces.len;
    ASSERT(n == 0 || memcmp(whole.data, pieces.data, n) == 0);
    ASSERT(n >= OUT_MAX || (a == RC_OK) == (b == RC_OK));
    buf_release(&whole);
    buf_release(&pieces);
    return 0;
}
