/* test_decompress.c - gzip and zstd in pieces, cut, damaged, with a window too large. */
#include "base/arena.h"
#include "job/source/decompress.h"
#include "tests/lib/check_ext.h"

#include <zlib.h>
#include <zstd.h>

static void gzip_append(struct bytes plain, struct buf *out)
{
    z_stream z = {0};

    ck_assert_int_eq(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    buf_reserve(out, deflateBound(&z, plain.len));
    z.next_in = (Bytef *)(uintptr_t)plain.data;
    z.avail_in = (uInt)plain.len;
    z.next_out = out->data + out->len;
    z.avail_out = (uInt)(out->cap - out->len);
    ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    out->len += z.total_out;
    deflateEnd(&z);
}

static void zstd_append(struct bytes plain, int window_log, struct buf *out)
{
    ZSTD_CCtx *c = ZSTD_createCCtx();
    size_t n;

    ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
    if (window_log > 0) {
        ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, window_log);
        ZSTD_CCtx_setParameter(c, ZSTD_c_contentSizeFlag, 0);
    }
    buf_reserve(out, ZSTD_compressBound(plain.len) + 64);
    if (window_log > 0) { /* in a stream, so that the frame keeps its window */
        ZSTD_inBuffer in = {plain.data, plain.len, 0};
        ZSTD_outBuffer to = {out->data + out->len, out->cap - out->len, 0};

        while (ZSTD_compressStream2(c, &to, &in, ZSTD_e_continue) != 0 || in.pos < in.size)
            continue;
        ck_assert_uint_eq(ZSTD_compressStream2(c, &to, &in, ZSTD_e_end), 0);
        n = to.pos;
    } else {
        n = ZSTD_compress2(c, out->data + out->len, out->cap - out->len, plain.data, plain.len);
    }
    ck_assert(!ZSTD_isError(n));
    out->len += n;
    ZSTD_freeCCtx(c);
}

/* Feeds pieces of in_piece bytes into room for out_piece bytes. */
static enum rc unpack(enum compression kind, struct bytes packed, size_t in_piece, size_t out_piece,
                      struct buf *out, struct err *err)
{
    struct decompressor *d = decompressor_new(kind);
    size_t from = 0, to = 0;
    bool done = false;
    enum rc rc = RC_OK;

    while (!done) {
        size_t used, made;

        if (from == to && to < packed.len)
            to = to + in_piece < packed.len ? to + in_piece : packed.len;
        buf_reserve(out, out_piece);
        rc = decompressor_run(d, bytes_of(packed.data + from, to - from), to == packed.len, &used,
                              out->data + out->len, out_piece, &made, &done, err);
        if (rc != RC_OK)
            break;
        if (used > to - from || made > out_piece) /* an assertion costs a system call */
            ck_abort_msg("used %zu of %zu, made %zu of %zu", used, to - from, made, out_piece);
        from += used;
        out->len += made;
    }
    if (rc == RC_OK)
        ck_assert_uint_eq(from, packed.len);
    decompressor_free(d);
    return rc;
}

static void sample(struct buf *plain)
{
    for (int i = 0; i < 3000; i++)
        buf_printf(plain, "line %d of %d\n", i * 7919 % 3000, i);
}

/* Several members or frames, empty ones and a skippable frame among them. */
static void pack_several(enum compression kind, const struct buf *plain, struct buf *packed)
{
    size_t half = plain->len / 2;

    if (kind == COMPRESSION_GZIP) {
        gzip_append(bytes_of(plain->data, 0), packed);
        gzip_append(bytes_of(plain->data, half), packed);
        gzip_append(bytes_of(plain->data, 0), packed);
        gzip_append(bytes_of(plain->data + half, plain->len - half), packed);
        gzip_append(bytes_of(plain->data, 0), packed);
    } else {
        buf_append(packed, "\x50\x2a\x4d\x18\5\0\0\0hello", 13);
        zstd_append(bytes_of(plain->data, half), 0, packed);
        buf_append(packed, "\x5f\x2a\x4d\x18\0\0\0\0", 8);
        zstd_append(bytes_of(plain->data, 0), 0, packed);
        zstd_append(bytes_of(plain->data + half, plain->len - half), 0, packed);
    }
}

static const enum compression kinds[] = {COMPRESSION_GZIP, COMPRESSION_ZSTD};

START_TEST(pieces_of_every_size_give_the_same_bytes)
{
    static const size_t sizes[] = {1, 2, 3, 7, 64, 1000, 1 << 20};
    struct buf plain = {0}, packed = {0};
    struct err err = {0};

    sample(&plain);
    pack_several(kinds[_i], &plain, &packed);
    for (size_t a = 0; a < ARRAY_LEN(sizes); a++) {
        for (size_t b = 0; b < ARRAY_LEN(sizes); b++) {
            struct buf out = {0};

            ck_assert_ok(unpack(kinds[_i], buf_bytes(&packed), sizes[a], sizes[b], &out, &err));
            ck_assert_bytes_eq(buf_bytes(&out), buf_bytes(&plain));
            buf_release(&out);
        }
    }
    buf_release(&plain);
    buf_release(&packed);
}
END_TEST

/* Cut at any byte that is not a member's end: never taken for whole. */
START_TEST(a_cut_is_an_error_wherever_it_falls)
{
    struct buf plain = {0}, packed = {0};
    struct err err = {0};

    sample(&plain);
    if (kinds[_i] == COMPRESSION_GZIP)
        gzip_append(buf_bytes(&plain), &packed);
    else
        zstd_append(buf_bytes(&plain), 0, &packed);
    for (size_t n = 1; n < packed.len; n += n < 40 || n + 40 > packed.len ? 1 : 37) {
        struct buf out = {0};

        ck_assert_rc(unpack(kinds[_i], bytes_of(packed.data, n), 4096, 4096, &out, &err),
                     RC_CORRUPT);
        ck_assert_uint_le(out.len, plain.len);
        buf_release(&out);
    }
    buf_release(&plain);
    buf_release(&packed);
}
END_TEST

/* One flipped bit is seen, by the checksum at the latest; bytes after the end are not taken for
 * nothing. */
START_TEST(damage_is_an_error)
{
    struct buf plain = {0}, packed = {0};
    struct err err = {0};
    size_t silent = 0;

    sample(&plain);
    if (kinds[_i] == COMPRESSION_GZIP)
        gzip_append(buf_bytes(&plain), &packed);
    else
        zstd_append(buf_bytes(&plain), 0, &packed);
    for (size_t n = 0; n < packed.len; n += 13) {
        struct buf out = {0};

        packed.data[n] ^= 0x10;
        if (unpack(kinds[_i], buf_bytes(&packed), 4096, 4096, &out, &err) == RC_OK) {
            /* gzip's time and system bytes mean nothing */
            ck_assert_bytes_eq(buf_bytes(&out), buf_bytes(&plain));
            silent++;
        }
        err_clear(&err);
        packed.data[n] ^= 0x10;
        buf_release(&out);
    }
    ck_assert_uint_le(silent, 1);
    buf_append_str(&packed, "rest");
    {
        struct buf out = {0};

        ck_assert_rc(unpack(kinds[_i], buf_bytes(&packed), 4096, 4096, &out, &err), RC_CORRUPT);
        buf_release(&out);
    }
    buf_release(&plain);
    buf_release(&packed);
}
END_TEST

/* Memory is bounded by the window, whatever the frame asks for. */
START_TEST(a_window_over_the_limit_is_refused)
{
    struct buf plain = {0}, packed = {0}, out = {0};
    struct err err = {0};

    sample(&plain);
    zstd_append(buf_bytes(&plain), ZSTD_WINDOW_LOG_MAX + 1, &packed);
    ck_assert_rc_msg(unpack(COMPRESSION_ZSTD, buf_bytes(&packed), 4096, 4096, &out, &err),
                     RC_CORRUPT, "too much memory");
    buf_release(&plain);
    buf_release(&packed);
    buf_release(&out);
}
END_TEST

static const struct {
    const char *name, *head;
    size_t len;
    enum rc rc;
    enum compression want;
} heads[] = {
    {"a.csv", "a,1\n", 4, RC_OK, COMPRESSION_NONE},
    {"a.csv", "", 0, RC_OK, COMPRESSION_NONE},
    {"a.csv", "\x1f\x8b\x08", 3, RC_OK, COMPRESSION_GZIP},
    {"a", "\x28\xb5\x2f\xfd", 4, RC_OK, COMPRESSION_ZSTD},
    {"a", "\x5a\x2a\x4d\x18", 4, RC_OK, COMPRESSION_ZSTD},
    {"a.gz", "a,1\n", 4, RC_CORRUPT, 0},
    {"a.gz", "", 0, RC_CORRUPT, 0},
    {"a.gz", "\x28\xb5\x2f\xfd", 4, RC_CORRUPT, 0},
    {"a.zst", "\x1f\x8b", 2, RC_CORRUPT, 0},
    {"a.csv.bz2", "BZh91A", 6, RC_UNSUPPORTED, 0},
    {"BZh.csv", "BZh9,1", 6, RC_OK, COMPRESSION_NONE},
    {"a",
     "\xfd"
     "7zXZ\0",
     6, RC_UNSUPPORTED, 0},
};
START_TEST(compression_is_told_by_content_and_a_lying_name_fails)
{
    enum compression got = COMPRESSION_NONE;
    struct err err = {0};
    enum rc rc =
        compression_of(heads[_i].name, bytes_of(heads[_i].head, heads[_i].len), &got, &err);

    ck_assert_int_eq(rc, heads[_i].rc);
    if (rc == RC_OK)
        ck_assert_int_eq(got, heads[_i].want);
    else
        ck_assert_ptr_nonnull(strstr(err.msg, heads[_i].name));
}
END_TEST

TEST_MAIN("decompress", tcase_add_loop_test(tc, pieces_of_every_size_give_the_same_bytes, 0, 2);
          tcase_add_loop_test(tc, a_cut_is_an_error_wherever_it_falls, 0, 2);
          tcase_add_loop_test(tc, damage_is_an_error, 0, 2);
          tcase_add_test(tc, a_window_over_the_limit_is_refused);
          tcase_add_loop_test(tc, compression_is_told_by_content_and_a_lying_name_fails, 0,
                              ARRAY_LEN(heads)))
