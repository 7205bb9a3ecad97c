/* links: base */
/* test_zframe.c - zstd frames with a limit. */
#include "base/zframe.h"

#include "base/arena.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/gen.h"

#include <zstd.h>

static const size_t sizes[] = {0,      1, 5, 1000, 1 << 17, (1 << 20) - 1, 1 << 20, (1 << 20) + 1,
                               5 << 20};

START_TEST(content_comes_back_and_is_appended)
{
    struct buf plain = {0}, frame = {0}, out = {0};
    struct err err = {0};
    struct rng r;

    rng_seed(&r, gen_seed(1));
    gen_bytes(&r, sizes[_i], &plain);
    buf_append_str(&frame, "head"); /* both directions append */
    zframe_compress(buf_bytes(&plain), _i % 2 == 0 ? 1 : 9, &frame);
    buf_append_str(&out, "x");
    ck_assert_ok(
        zframe_decompress(bytes_of(frame.data + 4, frame.len - 4), sizes[_i], &out, "t", &err));
    ck_assert_uint_eq(out.len, 1 + plain.len);
    ck_assert_bytes_eq(bytes_of(out.data + 1, out.len - 1), buf_bytes(&plain));
    buf_release(&plain);
    buf_release(&frame);
    buf_release(&out);
}
END_TEST

/* 64 MiB of zeroes in 2 kB. The limit stops it from the header alone. */
START_TEST(a_bomb_meets_the_limit_before_memory_is_taken)
{
    struct buf plain = {0}, frame = {0}, out = {0};
    struct err err = {0};

    buf_reserve(&plain, 64 << 20);
    memset(plain.data, 0, 64 << 20);
    plain.len = 64 << 20;
    zframe_compress(buf_bytes(&plain), 3, &frame);
    ck_assert_uint_lt(frame.len, 10000);
    ck_assert_rc_msg(
        zframe_decompress(buf_bytes(&frame), (64 << 20) - 1, &out, "chk-7/_metadata", &err),
        RC_LIMIT, "chk-7/_metadata: the zstd frame holds 67108864 bytes, the limit is 67108863");
    ck_assert_uint_eq(out.cap, 0);
    buf_release(&plain);
    buf_release(&frame);
}
END_TEST

/* A frame as a pipe writes it: without its size in the header. */
static void stream_frame(struct bytes plain, struct buf *out)
{
    ZSTD_CCtx *ctx = ZSTD_createCCtx();
    ZSTD_inBuffer in = {.src = plain.data, .size = plain.len};
    size_t left;

    ZSTD_CCtx_setParameter(ctx, ZSTD_c_contentSizeFlag, 0);
    do {
        ZSTD_outBuffer to;

        buf_reserve(out, 1 << 16);
        to = (ZSTD_outBuffer){.dst = out->data + out->len, .size = 1 << 16};
        left = ZSTD_compressStream2(ctx, &to, &in, ZSTD_e_end);
        ck_assert(!ZSTD_isError(left));
        out->len += to.pos;
    } while (left != 0);
    ZSTD_freeCCtx(ctx);
}

START_TEST(a_frame_without_its_size_is_read_up_to_the_limit)
{
    struct buf plain = {0}, frame = {0}, out = {0};
    struct err err = {0};

    buf_reserve(&plain, 3 << 20);
    memset(plain.data, 'z', 3 << 20);
    plain.len = 3 << 20;
    stream_frame(buf_bytes(&plain), &frame);
    ck_assert_uint_eq(ZSTD_getFrameContentSize(frame.data, frame.len), ZSTD_CONTENTSIZE_UNKNOWN);
    ck_assert_ok(zframe_decompress(buf_bytes(&frame), 3 << 20, &out, "t", &err));
    ck_assert_bytes_eq(buf_bytes(&out), buf_bytes(&plain));
    buf_release(&out);
    ck_assert_rc_msg(zframe_decompress(buf_bytes(&frame), (3 << 20) - 1, &out, "t", &err), RC_LIMIT,
                     "exceeds the limit of 3145727 bytes");
    ck_assert_uint_eq(out.len, 0);
    ck_assert_uint_le(out.cap, 8 << 20);
    ck_assert_rc(zframe_decompress(buf_bytes(&frame), 0, &out, "t", &err), RC_LIMIT);
    buf_release(&plain);
    buf_release(&frame);
    buf_release(&out);
}
END_TEST

START_TEST(every_cut_is_corrupt)
{
    struct buf plain = {0}, frame = {0}, out = {0};
    struct err err = {0};
    struct rng r;

    rng_seed(&r, 2);
    gen_bytes(&r, 700, &plain);
    zframe_compress(buf_bytes(&plain), 3, &frame);
    for (size_t len = 0; len < frame.len; len++) {
        uint8_t *exact = mem_alloc(len);

        memcpy(exact, frame.data, len);
        ck_assert_rc(zframe_decompress(bytes_of(exact, len), 10000, &out, "cut", &err), RC_CORRUPT);
        ck_assert_uint_eq(out.len, 0);
        mem_free(exact);
    }
    buf_release(&plain);
    buf_release(&frame);
    buf_release(&out);
}
END_TEST

/* The checksum is 32 bits: any single flipped bit shows, but for a few bits of the header that zstd
 * does not use. */
START_TEST(every_flipped_bit_is_found_or_harmless)
{
    struct buf plain = {0}, frame = {0}, out = {0};
    size_t found = 0;
    struct rng r;

    rng_seed(&r, 3);
    gen_bytes(&r, 300, &plain);
    zframe_compress(buf_bytes(&plain), 3, &frame);
    for (size_t bit = 0; bit < frame.len * 8; bit++) {
        struct err err = {0};
        enum rc rc;

        frame.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        buf_clear(&out);
        rc = zframe_decompress(buf_bytes(&frame), 100000, &out, "flip", &err);
        ck_assert(rc == RC_OK || rc == RC_CORRUPT || rc == RC_LIMIT);
        if (rc == RC_OK)
            ck_assert_bytes_eq(buf_bytes(&out), buf_bytes(&plain));
        else
            found++;
        frame.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    ck_assert_uint_ge(found, frame.len * 8 - 8);
    buf_release(&plain);
    buf_release(&frame);
    buf_release(&out);
}
END_TEST

START_TEST(nothing_but_one_plain_frame_is_taken)
{
    static const uint8_t skippable[] = {0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 'h', 'i'};
    struct buf frame = {0}, out = {0};
    struct err err = {0};

    zframe_compress(bytes_of_str("abc"), 3, &frame);
    buf_append_u8(&frame, 0);
    ck_assert_rc_msg(zframe_decompress(buf_bytes(&frame), 100, &out, "t", &err), RC_CORRUPT,
                     "1 bytes follow the zstd frame");
    frame.len--;
    zframe_compress(bytes_of_str("def"), 3, &frame);
    ck_assert_rc_msg(zframe_decompress(buf_bytes(&frame), 100, &out, "t", &err), RC_CORRUPT,
                     "bytes follow the zstd frame");
    ck_assert_rc_msg(zframe_decompress(bytes_of(skippable, sizeof skippable), 100, &out, "t", &err),
                     RC_CORRUPT, "no zstd frame");
    ck_assert_rc_msg(zframe_decompress(bytes_of_str("no frame here"), 100, &out, "t", &err),
                     RC_CORRUPT, "no zstd frame");
    ck_assert_uint_eq(out.len, 0);
    buf_release(&frame);
    buf_release(&out);
}
END_TEST

TEST_MAIN("zframe",
          tcase_add_loop_test(tc, content_comes_back_and_is_appended, 0, ARRAY_LEN(sizes));
          tcase_add_test(tc, a_bomb_meets_the_limit_before_memory_is_taken);
          tcase_add_test(tc, a_frame_without_its_size_is_read_up_to_the_limit);
          tcase_add_test(tc, every_cut_is_corrupt);
          tcase_add_test(tc, every_flipped_bit_is_found_or_harmless);
          tcase_add_test(tc, nothing_but_one_plain_frame_is_taken))
