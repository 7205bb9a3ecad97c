/* links: checkpoint */
/* Snappy frames: what Flink wrote is read, and every changed bit of it is noticed. */
#include "checkpoint/flink/snappy_frame.h"
#include "tests/lib/check_ext.h"

static struct bytes of_hex(const char *hex, struct buf *out)
{
    buf_clear(out);
    for (; hex[0] != '\0'; hex += hex[0] == ' ' ? 1 : 2) {
        char two[3] = {hex[0], hex[1], '\0'};

        if (hex[0] != ' ')
            buf_append_u8(out, (uint8_t)strtoul(two, NULL, 16));
    }
    return buf_bytes(out);
}

/* All chunks of a stream. */
static enum rc read_all(struct bytes b, struct buf *out, struct err *err)
{
    while (b.len > 0) {
        struct snappy_chunk chunk;

        if (b.len < SNAPPY_CHUNK_HEADER)
            return err_set(err, RC_CORRUPT, "cut header");
        chunk = snappy_chunk_of(b.data);
        b = bytes_of(b.data + SNAPPY_CHUNK_HEADER, b.len - SNAPPY_CHUNK_HEADER);
        if (chunk.body_len > b.len)
            return err_set(err, RC_CORRUPT, "cut body");
        RETURN_IF_ERR(snappy_chunk_read(chunk, bytes_of(b.data, chunk.body_len), out, err));
        b = bytes_of(b.data + chunk.body_len, b.len - chunk.body_len);
    }
    return RC_OK;
}

static const struct {
    const char *hex, *want;
} streams[] = {
    /* a key group of a savepoint, and an item of a list, as Flink 2.3 wrote them */
    {"ff060000734e61507059004700004d437c815900000101040a8201060c0018c1140108000801051c00011890000100003a1c"
     "00340707733236382e3000020000001232370038000000010c0000000400037830ffff",
     "00000000000a82000000000018c1140000000008000000000001189000010000000a82000000000018c11400000000070773"
     "3236382e3000020000001282000000000018c11400000000000000010c0000000400037830ffff"},
    {"ff060000734e61507059 010c0000 5ee79505 0000000000000001", "0000000000000001"},
};

START_TEST(what_was_written_is_read)
{
    struct buf stream = {0}, want = {0}, got = {0};
    struct err err = {0};

    ck_assert_ok(read_all(of_hex(streams[_i].hex, &stream), &got, &err));
    of_hex(streams[_i].want, &want);
    ck_assert_bytes_eq(buf_bytes(&got), buf_bytes(&want));
    buf_release(&stream);
    buf_release(&want);
    buf_release(&got);
}
END_TEST

/* A copy may lead to another place where the same bytes stand; nothing else is taken for what it is not. */
START_TEST(every_flipped_bit_is_noticed_or_changes_nothing)
{
    struct buf stream = {0}, got = {0}, want = {0};
    size_t noticed = 0;

    of_hex(streams[0].hex, &stream);
    of_hex(streams[0].want, &want);
    for (size_t bit = 8; bit < 8 * stream.len; bit++) {
        struct err err = {0};
        enum rc rc;

        if (bit / 8 == 10) /* the type of the second chunk: 0x81 may be skipped */
            continue;
        buf_clear(&got);
        stream.data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        rc = read_all(buf_bytes(&stream), &got, &err);
        noticed += rc == RC_CORRUPT;
        ck_assert_msg(rc == RC_CORRUPT || (rc == RC_OK && bytes_eq(buf_bytes(&got), buf_bytes(&want))), "bit %zu: %s", bit,
                      rc_name(rc));
        stream.data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    }
    ck_assert_uint_ge(noticed, 8 * (stream.len - 2) - 20);
    buf_release(&stream);
    buf_release(&got);
    buf_release(&want);
}
END_TEST

/* Raw Snappy with a checksum that fits: what it makes is right, or it is refused for what is in it. */
static const struct {
    const char *raw; /* behind the checksum */
    const char *want, *reason;
} raws[] = {
    {"14 0061 4a0100", "aaaaaaaaaaaaaaaaaaaa", NULL},    /* a literal, a copy of two bytes' offset */
    {"05 0061 0101", "aaaaa", NULL},                     /* a copy of one byte's offset, 4 long */
    {"03 08616263", "abc", NULL},
    {"03 f002616263", "abc", NULL},                      /* the length of a literal in a byte */
    {"06 08616263 0b03000000", "abcabc", NULL},          /* a copy of four bytes' offset */
    {"14 0061 4a0200", NULL, "before the beginning"},
    {"14 0061 4a0000", NULL, "before the beginning"},
    {"04 0061 4a0100", NULL, "longer than what is left"},
    {"02 08616263", NULL, "longer than what is left"},
    {"09 08616263", NULL, "shorter than it says"},
    {"03 0c616263", NULL, "longer than what is left"},
    {"04 0c616263", NULL, "needs"},
    {"818004", NULL, "64 KB"},
};

static uint32_t crc_of(struct bytes b) /* bit by bit: another way than the code's */
{
    uint32_t crc = ~0u;

    for (size_t i = 0; i < b.len; i++) {
        crc ^= b.data[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    }
    crc = ~crc;
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

START_TEST(raw_snappy_is_read_or_refused)
{
    struct bytes want = raws[_i].want == NULL ? (struct bytes){0} : bytes_of_str(raws[_i].want);
    struct buf body = {0}, raw = {0}, got = {0};
    struct err err = {0};
    struct snappy_chunk chunk = {0x00, 0};
    enum rc rc;

    of_hex(raws[_i].raw, &raw);
    buf_append_le32(&body, crc_of(want));
    buf_append(&body, raw.data, raw.len);
    chunk.body_len = (uint32_t)body.len;
    rc = snappy_chunk_read(chunk, buf_bytes(&body), &got, &err);
    if (raws[_i].reason == NULL) {
        ck_assert_msg(rc == RC_OK, "%s", err.msg);
        ck_assert_bytes_eq(buf_bytes(&got), want);
    } else {
        ck_assert_int_eq(rc, RC_CORRUPT);
        ck_assert_msg(strstr(err.msg, raws[_i].reason) != NULL, "%s", err.msg);
        ck_assert_uint_eq(got.len, 0);
    }
    buf_release(&body);
    buf_release(&raw);
    buf_release(&got);
}
END_TEST

START_TEST(chunks_of_unknown_types_are_skipped_or_refused)
{
    struct buf out = {0};

    for (unsigned type = 0x02; type < 0xFF; type++) {
        struct err err = {0};
        struct snappy_chunk chunk = {(uint8_t)type, 3};
        enum rc rc = snappy_chunk_read(chunk, bytes_of_str("abc"), &out, &err);

        ck_assert_int_eq(rc, type < 0x80 ? RC_CORRUPT : RC_OK);
    }
    ck_assert_uint_eq(out.len, 0);
    buf_release(&out);
}
END_TEST

TEST_MAIN("snappy_frame", tcase_add_loop_test(tc, what_was_written_is_read, 0, 2);
          tcase_add_test(tc, every_flipped_bit_is_noticed_or_changes_nothing);
          tcase_add_loop_test(tc, raw_snappy_is_read_or_refused, 0, (int)ARRAY_LEN(raws));
          tcase_add_test(tc, chunks_of_unknown_types_are_skipped_or_refused))
