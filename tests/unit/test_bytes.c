/* links: base */
/* test_bytes.c - slices, buffers and the checked reader of base/bytes.h. */
#include "tests/lib/check_ext.h"
#include "tests/lib/gen.h"

/* A prefix sorts first, bytes are unsigned: the order of RocksDB's default comparator. */
static const struct {
    const char *a, *b;
    int order;
} order_cases[] = {{"", "", 0},    {"", "a", -1},   {"a", "", 1},         {"a", "b", -1},
                   {"ab", "a", 1}, {"ab", "b", -1}, {"\x7f", "\x80", -1}, {"same", "same", 0}};

START_TEST(slices_compare_bytewise_with_prefixes_first)
{
    struct bytes a = bytes_of_str(order_cases[_i].a), b = bytes_of_str(order_cases[_i].b);
    int got = bytes_cmp(a, b);

    ck_assert_int_eq((got > 0) - (got < 0), order_cases[_i].order);
    ck_assert(bytes_eq(a, b) == (order_cases[_i].order == 0));
}
END_TEST

START_TEST(an_empty_slice_may_have_no_memory)
{
    struct bytes none = {0};

    ck_assert(bytes_eq(none, bytes_of_str("")));
    ck_assert_int_eq(bytes_cmp(none, bytes_of_str("")), 0);
    ck_assert_int_lt(bytes_cmp(none, bytes_of_str("x")), 0);
}
END_TEST

START_TEST(numbers_are_appended_in_the_order_their_name_says)
{
    struct buf b = {0};
    static const uint8_t want[] = {0xab, 0x01, 0x02, 0x01, 0x02, 0x03, 0x04, 1, 2, 3, 4, 5, 6, 7,
                                   8,    4,    3,    2,    1,    8,    7,    6, 5, 4, 3, 2, 1};

    buf_append_u8(&b, 0xab);
    buf_append_be16(&b, 0x0102);
    buf_append_be32(&b, 0x01020304);
    buf_append_be64(&b, 0x0102030405060708);
    buf_append_le32(&b, 0x01020304);
    buf_append_le64(&b, 0x0102030405060708);
    ck_assert_bytes_eq(buf_bytes(&b), bytes_of(want, sizeof want));
    ck_assert_uint_eq(get_be16(b.data + 1), 0x0102);
    ck_assert_uint_eq(get_be32(b.data + 3), 0x01020304);
    ck_assert_uint_eq(get_be64(b.data + 7), 0x0102030405060708);
    ck_assert_uint_eq(get_le32(b.data + 15), 0x01020304);
    ck_assert_uint_eq(get_le64(b.data + 19), 0x0102030405060708);
    buf_release(&b);
    ck_assert(b.data == NULL && b.len == 0 && b.cap == 0);
    buf_release(&b);
}
END_TEST

START_TEST(printing_grows_the_buffer_and_counts_no_nul)
{
    struct buf b = {0};

    for (int i = 0; i < 100; i++)
        buf_printf(&b, "%03d ", i);
    ck_assert_uint_eq(b.len, 400);
    ck_assert_int_eq(strncmp(buf_cstr(&b) + 396, "099 ", 5), 0);
    ck_assert_uint_eq(b.len, 400);
    buf_clear(&b);
    buf_printf(&b, "%*d", 5000, 7); /* more than any room kept ready */
    ck_assert_uint_eq(b.len, 5000);
    ck_assert_int_eq(b.data[4999], '7');
    buf_append_str(&b, "");
    buf_append(&b, NULL, 0);
    ck_assert_uint_eq(b.len, 5000);
    buf_release(&b);
}
END_TEST

START_TEST(an_empty_buffer_is_an_empty_string)
{
    struct buf b = {0};

    ck_assert_str_eq(buf_cstr(&b), "");
    ck_assert_uint_eq(b.len, 0);
    buf_release(&b);
}
END_TEST

static const struct {
    uint64_t value;
    const char *bytes;
    size_t len;
} varint_cases[] = {
    {0, "\x00", 1},
    {1, "\x01", 1},
    {127, "\x7f", 1},
    {128, "\x80\x01", 2},
    {300, "\xac\x02", 2},
    {16383, "\xff\x7f", 2},
    {16384, "\x80\x80\x01", 3},
    {UINT32_MAX, "\xff\xff\xff\xff\x0f", 5},
    {1ULL << 63, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 10},
    {UINT64_MAX, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10},
};

START_TEST(a_varint_has_protobufs_bytes_and_reads_back)
{
    struct bytes want = bytes_of(varint_cases[_i].bytes, varint_cases[_i].len);
    struct err err = {0};
    struct buf b = {0};
    struct reader r;
    uint64_t got;

    buf_append_varint(&b, varint_cases[_i].value);
    ck_assert_bytes_eq(buf_bytes(&b), want);
    reader_init(&r, want, "case");
    ck_assert_ok(reader_varint(&r, &got, "v", &err));
    ck_assert_uint_eq(got, varint_cases[_i].value);
    ck_assert_ok(reader_end(&r, &err));
    buf_release(&b);
}
END_TEST

/* A varint that stops early must not read past the slice: each cut lies in memory of exactly its
 * size. */
START_TEST(a_cut_varint_is_corrupt)
{
    for (size_t len = 0; len < varint_cases[_i].len; len++) {
        uint8_t *exact = malloc(len + 1);
        struct err err = {0};
        struct reader r;
        uint64_t got;

        exact = realloc(exact, len == 0 ? 1 : len);
        memcpy(exact, varint_cases[_i].bytes, len);
        reader_init(&r, bytes_of(exact, len), "chk-7/_metadata");
        ck_assert_rc_msg(reader_varint(&r, &got, "handle count", &err), RC_CORRUPT,
                         "chk-7/_metadata: handle count: varint at offset 0 is cut");
        ck_assert_uint_eq(got, 0);
        free(exact);
    }
}
END_TEST

static const struct {
    const char *bytes;
    size_t len;
} bad_varints[] = {
    {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10}, /* bit 64 */
    {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10},
    {"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11}, /* eleven bytes */
    {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11},
};

START_TEST(a_varint_past_64_bits_is_corrupt)
{
    struct err err = {0};
    struct reader r;
    uint64_t got;

    reader_init(&r, bytes_of(bad_varints[_i].bytes, bad_varints[_i].len), "x");
    ck_assert_rc_msg(reader_varint(&r, &got, "n", &err), RC_CORRUPT, "exceeds 64 bits");
}
END_TEST

START_TEST(a_varint_need_not_be_minimal)
{
    struct err err = {0};
    struct reader r;
    uint64_t got;

    reader_init(&r, bytes_of("\x81\x80\x80\x00", 4), "x");
    ck_assert_ok(reader_varint(&r, &got, "n", &err));
    ck_assert_uint_eq(got, 1);
}
END_TEST

START_TEST(a_short_field_names_source_field_and_offset)
{
    struct err err = {0};
    struct reader r;
    uint32_t n;
    uint64_t m;

    reader_init(&r, bytes_of("\x00\x00\x00\x2a\x01\x02\x03", 7), "chk-7/_metadata: header");
    ck_assert_ok(reader_be32(&r, &n, "version", &err));
    ck_assert_uint_eq(n, 42);
    ck_assert_rc_msg(reader_be64(&r, &m, "length", &err), RC_CORRUPT,
                     "chk-7/_metadata: header: length: needs 8 bytes at offset 4, 3 left");
    ck_assert_uint_eq(m, 0);
}
END_TEST

/* Code that checks only the last of several takes must not use what lies behind a failed one. */
START_TEST(after_a_failure_every_take_fails)
{
    struct err err = {0};
    struct bytes blob;
    struct reader r;
    uint64_t n64;
    uint32_t n32;
    uint8_t n8;

    reader_init(&r, bytes_of("\x01\x02\x03\x04\x05", 5), "x");
    ck_assert_rc(reader_be64(&r, &n64, "first", &err), RC_CORRUPT);
    ck_assert_rc(reader_u8(&r, &n8, "second", &err), RC_CORRUPT);
    ck_assert_rc(reader_be32(&r, &n32, "second", &err), RC_CORRUPT);
    ck_assert_rc(reader_le32(&r, &n32, "second", &err), RC_CORRUPT);
    ck_assert_rc(reader_le64(&r, &n64, "second", &err), RC_CORRUPT);
    ck_assert_rc(reader_varint(&r, &n64, "second", &err), RC_CORRUPT);
    ck_assert_rc(reader_blob(&r, &blob, "second", &err), RC_CORRUPT);
    ck_assert_rc(reader_take(&r, 0, &blob, "second", &err), RC_CORRUPT);
    ck_assert_rc_msg(reader_end(&r, &err), RC_CORRUPT, "an earlier field failed at offset 0");
}
END_TEST

/* Lengths near 2^64 must not wrap around to a small offset. */
START_TEST(a_huge_length_is_corrupt_not_a_crash)
{
    struct buf b = {0};
    struct err err = {0};
    struct bytes got;
    struct reader r;
    static const uint64_t lengths[] = {4, 255, UINT32_MAX, INT64_MAX, UINT64_MAX - 1, UINT64_MAX};

    buf_append_varint(&b, lengths[_i]);
    buf_append_str(&b, "abc");
    reader_init(&r, buf_bytes(&b), "x");
    ck_assert_rc_msg(reader_blob(&r, &got, "name", &err), RC_CORRUPT, "exceeds the 3 bytes left");
    reader_init(&r, buf_bytes(&b), "x");
    ck_assert_rc(reader_take(&r, SIZE_MAX, &got, "name", &err), RC_CORRUPT);
    buf_release(&b);
}
END_TEST

START_TEST(an_empty_blob_is_fine_at_the_very_end)
{
    struct err err = {0};
    struct bytes got;
    struct reader r;

    reader_init(&r, bytes_of("\x00", 1), "x");
    ck_assert_ok(reader_blob(&r, &got, "name", &err));
    ck_assert_uint_eq(got.len, 0);
    ck_assert_ok(reader_take(&r, 0, &got, "nothing", &err));
    ck_assert_ok(reader_end(&r, &err));
    reader_init(&r, (struct bytes){0}, "nothing at all");
    ck_assert_ok(reader_end(&r, &err));
}
END_TEST

START_TEST(bytes_left_over_are_corrupt)
{
    struct err err = {0};
    struct reader r;
    uint8_t n;

    reader_init(&r, bytes_of("abc", 3), "tail");
    ck_assert_ok(reader_u8(&r, &n, "first", &err));
    ck_assert_rc_msg(reader_end(&r, &err), RC_CORRUPT, "tail: 2 bytes too many after offset 1");
}
END_TEST

START_TEST(random_fields_read_back_as_written)
{
    uint64_t seed = gen_seed(11 + (uint64_t)_i), v[200];
    struct buf b = {0}, blob = {0};
    struct err err = {0};
    struct reader r;
    struct rng rng;

    rng_seed(&rng, seed);
    for (int i = 0; i < 200; i++) {
        v[i] = (uint64_t)gen_i64(&rng);
        buf_append_varint(&b, v[i]);
        buf_append_le64(&b, v[i]);
        buf_append_le32(&b, (uint32_t)v[i]);
        buf_clear(&blob);
        gen_bytes(&rng, v[i] % 40, &blob);
        buf_append_varint(&b, blob.len);
        buf_append(&b, blob.data, blob.len);
    }
    reader_init(&r, buf_bytes(&b), "random");
    for (int i = 0; i < 200; i++) {
        uint64_t a, c;
        struct bytes s;
        uint32_t d;

        ck_assert_ok(reader_varint(&r, &a, "a", &err));
        ck_assert_ok(reader_le64(&r, &c, "c", &err));
        ck_assert_ok(reader_le32(&r, &d, "d", &err));
        ck_assert_ok(reader_blob(&r, &s, "s", &err));
        ck_assert_msg(a == v[i] && c == v[i] && d == (uint32_t)v[i] && s.len == v[i] % 40,
                      "seed %llu", (unsigned long long)seed);
    }
    ck_assert_ok(reader_end(&r, &err));
    buf_release(&b);
    buf_release(&blob);
}
END_TEST

START_TEST(checked_arithmetic_says_when_it_does_not_fit)
{
    size_t out;

    ck_assert(add_size(1, 2, &out) && out == 3);
    ck_assert(!add_size(SIZE_MAX, 1, &out));
    ck_assert(mul_size(3, 4, &out) && out == 12);
    ck_assert(!mul_size(SIZE_MAX / 2 + 1, 2, &out));
    ck_assert(mul_size(0, SIZE_MAX, &out) && out == 0);
}
END_TEST

START_TEST(escaped_text_is_printable_and_cut_where_asked)
{
    struct buf b = {0};

    buf_append_escaped(&b, bytes_of_str("a\x1b[1m\\\xc3\xa9"), SIZE_MAX);
    ck_assert_bytes_str(buf_bytes(&b), "a\\x1b[1m\\\\\\xc3\\xa9");
    buf_clear(&b);
    buf_append_escaped(&b, bytes_of_str("abcd"), 3);
    ck_assert_bytes_str(buf_bytes(&b), "abc...");
    buf_release(&b);
}
END_TEST

TEST_MAIN("bytes", tcase_add_loop_test(tc, slices_compare_bytewise_with_prefixes_first, 0,
                                       ARRAY_LEN(order_cases));
          tcase_add_test(tc, an_empty_slice_may_have_no_memory);
          tcase_add_test(tc, numbers_are_appended_in_the_order_their_name_says);
          tcase_add_test(tc, printing_grows_the_buffer_and_counts_no_nul);
          tcase_add_test(tc, an_empty_buffer_is_an_empty_string);
          tcase_add_loop_test(tc, a_varint_has_protobufs_bytes_and_reads_back, 0,
                              ARRAY_LEN(varint_cases));
          tcase_add_loop_test(tc, a_cut_varint_is_corrupt, 0, ARRAY_LEN(varint_cases));
          tcase_add_loop_test(tc, a_varint_past_64_bits_is_corrupt, 0, ARRAY_LEN(bad_varints));
          tcase_add_test(tc, a_varint_need_not_be_minimal);
          tcase_add_test(tc, a_short_field_names_source_field_and_offset);
          tcase_add_test(tc, after_a_failure_every_take_fails);
          tcase_add_loop_test(tc, a_huge_length_is_corrupt_not_a_crash, 0, 6);
          tcase_add_test(tc, an_empty_blob_is_fine_at_the_very_end);
          tcase_add_test(tc, bytes_left_over_are_corrupt);
          tcase_add_loop_test(tc, random_fields_read_back_as_written, 0, 10);
          tcase_add_test(tc, escaped_text_is_printable_and_cut_where_asked);
          tcase_add_test(tc, checked_arithmetic_says_when_it_does_not_fit))
