/* links: backend */
#include "backend/binary_row.h"
#include "backend/key_codec.h"
#include "tests/lib/check_ext.h"

static size_t unhex(const char *hex, uint8_t *out)
{
    size_t n = 0;

    for (; *hex != '\0'; hex++) {
        char two[3] = {0};

        if (*hex == ' ')
            continue;
        two[0] = *hex++;
        two[1] = *hex;
        out[n++] = (uint8_t)strtoul(two, NULL, 16);
    }
    return n;
}

static struct bytes make_row(struct buf *out, int64_t n, const char *text)
{
    static const enum field_kind kinds[] = {FIELD_I64, FIELD_BYTES};
    static struct row_layout layout;
    struct row_writer w;

    row_layout_init(&layout, kinds, 2);
    row_writer_begin(&w, &layout, out);
    row_write_int(&w, 0, n);
    row_write_bytes(&w, 1, bytes_of_str(text));
    return row_writer_end(&w);
}

/* The entry of a real job of the reference that its documentation of the format shows. */
START_TEST(sql_key_has_the_references_bytes)
{
    uint8_t want[64];
    size_t want_len =
        unhex("0C 00000018 0000000000000000 0900000000000000 7800000000000081 00", want);
    struct key_builder b;
    struct buf row_buf = {0};
    struct bytes row = make_row(&row_buf, 9, "x");
    struct key_batch keys;
    struct err err = {0};

    key_builder_init(&b, 128, KEY_NS_VOID);
    ck_assert_ok(key_builder_add(&b, key_group_of_row(row, 128), row, 0, (struct bytes){0}, &err));
    keys = key_builder_batch(&b);
    ck_assert_uint_eq(keys.count, 1);
    ck_assert_bytes_eq(key_batch_at(&keys, 0), bytes_of(want, want_len));
    key_builder_release(&b);
    buf_release(&row_buf);
}
END_TEST

static const struct {
    uint32_t key_group_count;
    enum key_namespace ns;
    const char *row_text, *ns_text, *user_key;
    int64_t window;
} shapes[] = {
    {128, KEY_NS_VOID, "short", "", "", 0},
    {128, KEY_NS_VOID, "a longer piece of text", "", "member", 0},
    {4000, KEY_NS_BIGINT, "x", "", "", 1700000000000},
    {4000, KEY_NS_BIGINT, "x", "", "m", -5},
    {32768, KEY_NS_BYTES, "x", "ns0", "", 0},
    {129, KEY_NS_BYTES, "a longer piece of text", "", "", 0},
    {129, KEY_NS_BYTES, "a", "", "member", 0},
    {128, KEY_NS_BYTES, "a", "a namespace of some length", "\x04member", 0},
};

START_TEST(split_gives_back_the_parts)
{
    struct key_builder b;
    struct buf row_buf = {0};
    struct bytes row = make_row(&row_buf, 77, shapes[_i].row_text);
    struct bytes user = bytes_of_str(shapes[_i].user_key);
    uint32_t group = key_group_of_row(row, shapes[_i].key_group_count);
    struct key_parts parts;
    struct key_batch keys;
    struct err err = {0};

    key_builder_init(&b, shapes[_i].key_group_count, shapes[_i].ns);
    for (int i = 0; i < 3; i++) {
        if (shapes[_i].ns == KEY_NS_BYTES)
            ck_assert_ok(
                key_builder_add_ns(&b, group, row, bytes_of_str(shapes[_i].ns_text), user, &err));
        else
            ck_assert_ok(key_builder_add(&b, group, row, shapes[_i].window, user, &err));
    }
    keys = key_builder_batch(&b);
    ck_assert_uint_eq(keys.count, 3);
    ck_assert_ok(
        key_split(key_batch_at(&keys, 2), shapes[_i].key_group_count, shapes[_i].ns, &parts, &err));
    ck_assert_uint_eq(parts.group, group);
    ck_assert_bytes_eq(parts.row, row);
    ck_assert_int_eq(parts.window, shapes[_i].window);
    ck_assert_bytes_eq(parts.user_key, user);
    if (shapes[_i].ns == KEY_NS_BYTES)
        ck_assert_bytes_str(parts.ns, shapes[_i].ns_text);
    ck_assert_uint_eq(key_owner_len(key_batch_at(&keys, 0), b.prefix_len, b.ns),
                      key_batch_at(&keys, 0).len - user.len);
    key_builder_release(&b);
    buf_release(&row_buf);
}
END_TEST

/* Two-byte prefix and lengths behind both parts, after a String key's and String namespace's
 * example "00C0 .. 04 .. 04"; the parts themselves are byte arrays here. */
START_TEST(lengths_stand_low_byte_first_behind_the_parts)
{
    struct key_builder b;
    struct err err = {0};
    uint8_t row[296] = {0};
    struct key_batch keys;
    struct bytes key;

    key_builder_init(&b, 4000, KEY_NS_BYTES);
    ck_assert_ok(key_builder_add_ns(&b, 192, bytes_of(row, sizeof row), bytes_of_str("ns0"),
                                    bytes_of_str("mk"), &err));
    keys = key_builder_batch(&b);
    key = key_batch_at(&keys, 0);
    ck_assert_uint_eq(key.len, 2 + 300 + 2 + 7 + 1 + 2);
    ck_assert_bytes_eq(bytes_of(key.data, 6), bytes_of("\x00\xC0\x00\x00\x01\x28", 6));
    ck_assert_bytes_eq(bytes_of(key.data + 302, 12),
                       bytes_of("\x2C\x01\0\0\0\x03ns0\x07mk", 12));
    key_builder_release(&b);
}
END_TEST

START_TEST(every_cut_key_is_corrupt)
{
    struct key_builder b;
    struct buf row_buf = {0};
    struct bytes row = make_row(&row_buf, 1, "some text of the key");
    struct key_parts parts;
    struct key_batch keys;
    struct err err = {0};

    key_builder_init(&b, 4000, KEY_NS_BIGINT);
    ck_assert_ok(key_builder_add(&b, 3999, row, 5, (struct bytes){0}, &err));
    keys = key_builder_batch(&b);
    for (uint32_t len = 0; len < keys.offsets[1]; len++)
        ck_assert_rc(key_split(bytes_of(keys.data, len), 4000, KEY_NS_BIGINT, &parts, &err),
                     RC_CORRUPT);
    ck_assert_rc_msg(key_split(key_batch_at(&keys, 0), 3999, KEY_NS_BIGINT, &parts, &err),
                     RC_CORRUPT, "key group 3999 of 3999");
    key_builder_release(&b);
    buf_release(&row_buf);
}
END_TEST

START_TEST(builder_grows_and_keeps_its_memory)
{
    struct key_builder b;
    struct err err = {0};
    uint8_t row[16] = {0};

    key_builder_init(&b, 128, KEY_NS_VOID);
    for (int round = 0; round < 2; round++) {
        key_builder_clear(&b);
        for (uint64_t i = 0; i < 5000; i++) {
            put_le64(row + 8, i);
            ck_assert_ok(key_builder_add(&b, 1, bytes_of(row, 16), 0, (struct bytes){0}, &err));
        }
        for (uint32_t i = 0; i < 5000; i++) {
            struct key_batch keys = key_builder_batch(&b);

            ck_assert_uint_eq(get_le64(key_batch_at(&keys, i).data + 13), i);
        }
    }
    key_builder_release(&b);
}
END_TEST

START_TEST(sortable_timestamps_order_bytewise)
{
    static const int64_t ts[] = {INT64_MIN, -2, -1, 0, 1, 1000000000000, INT64_MAX};
    uint8_t a[8], b[8];

    for (size_t i = 0; i + 1 < ARRAY_LEN(ts); i++) {
        key_put_sortable(a, ts[i]);
        key_put_sortable(b, ts[i + 1]);
        ck_assert_int_lt(memcmp(a, b, 8), 0);
        ck_assert_int_eq(key_get_sortable(a), ts[i]);
    }
    key_put_sortable(a, 1000000000000); /* as a real job wrote it */
    ck_assert_bytes_eq(bytes_of(a, 8), bytes_of("\x80\x00\x00\xE8\xD4\xA5\x10\x00", 8));
}
END_TEST

START_TEST(namespace_types)
{
    enum key_namespace ns;
    struct err err = {0};

    ck_assert_ok(key_namespace_parse("BIGINT", &ns, &err));
    ck_assert_int_eq(ns, KEY_NS_BIGINT);
    ck_assert_ok(key_namespace_parse("BYTES", &ns, &err));
    ck_assert_int_eq(ns, KEY_NS_BYTES);
    ck_assert_rc_msg(key_namespace_parse("STRING", &ns, &err), RC_UNSUPPORTED, "STRING");
}
END_TEST

TEST_MAIN("key_codec", tcase_add_test(tc, sql_key_has_the_references_bytes);
          tcase_add_loop_test(tc, split_gives_back_the_parts, 0, ARRAY_LEN(shapes));
          tcase_add_test(tc, lengths_stand_low_byte_first_behind_the_parts);
          tcase_add_test(tc, every_cut_key_is_corrupt);
          tcase_add_test(tc, builder_grows_and_keeps_its_memory);
          tcase_add_test(tc, sortable_timestamps_order_bytewise);
          tcase_add_test(tc, namespace_types))
