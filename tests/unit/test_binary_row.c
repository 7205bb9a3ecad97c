/* links: backend */
#include "backend/binary_row.h"
#include "tests/lib/check_ext.h"

static const enum field_kind all_kinds[] = {
    FIELD_BOOL, FIELD_I8,  FIELD_I16,   FIELD_I32,          FIELD_I64,
    FIELD_F32,  FIELD_F64, FIELD_BYTES, FIELD_DECIMAL_WIDE, FIELD_TIMESTAMP_WIDE,
};
#define ALL_COUNT 10u
static const int128 WIDE = (int128)1234567890123456789 * 1000000000000; /* 31 digits */

static struct bytes write_all(const struct row_layout *l, struct buf *out, bool nulls)
{
    struct row_writer w;

    row_writer_begin(&w, l, out);
    if (nulls) {
        for (uint32_t i = 0; i < ALL_COUNT; i++)
            row_write_null(&w, i);
        return row_writer_end(&w);
    }
    row_write_int(&w, 0, 1);
    row_write_int(&w, 1, -7);
    row_write_int(&w, 2, -30000);
    row_write_int(&w, 3, -2000000000);
    row_write_int(&w, 4, INT64_MIN);
    row_write_f32(&w, 5, 1.5f);
    row_write_f64(&w, 6, -0.25);
    row_write_bytes(&w, 7, bytes_of_str("eight by"));
    row_write_decimal(&w, 8, -WIDE);
    row_write_timestamp(&w, 9, 1700000000123, 456789);
    return row_writer_end(&w);
}

START_TEST(what_is_written_is_read)
{
    struct row_layout l;
    struct buf out = {0};
    struct bytes row;
    struct err err = {0};
    uint32_t nanos;

    row_layout_init(&l, all_kinds, ALL_COUNT);
    buf_append_str(&out, "before"); /* a row may start anywhere */
    row = write_all(&l, &out, false);
    ck_assert_uint_eq(row.len, 8 + 8 + 80 + 8 + 16 + 8 - 8);
    ck_assert_ok(binary_row_check(&l, row, "row", &err));
    ck_assert_int_eq(binary_row_int(&l, row.data, 0), 1);
    ck_assert_int_eq(binary_row_int(&l, row.data, 1), -7);
    ck_assert_int_eq(binary_row_int(&l, row.data, 2), -30000);
    ck_assert_int_eq(binary_row_int(&l, row.data, 3), -2000000000);
    ck_assert_int_eq(binary_row_int(&l, row.data, 4), INT64_MIN);
    ck_assert(binary_row_f32(&l, row.data, 5) == 1.5f);
    ck_assert(binary_row_f64(&l, row.data, 6) == -0.25);
    ck_assert_bytes_str(binary_row_bytes(&l, row.data, 7), "eight by");
    ck_assert(binary_row_decimal(&l, row.data, 8) == -WIDE);
    ck_assert_int_eq(binary_row_timestamp(&l, row.data, 9, &nanos), 1700000000123);
    ck_assert_uint_eq(nanos, 456789);
    buf_release(&out);
}
END_TEST

/* The bytes of one row, by hand from the layout's rules. */
START_TEST(bytes_are_the_references)
{
    static const enum field_kind kinds[] = {FIELD_I32, FIELD_BYTES, FIELD_BYTES,
                                            FIELD_DECIMAL_WIDE};
    static const uint8_t want[] = {
        0,    0,    0,   0,   0,   0,   0,   0,    /* kind, null bits */
        0xFE, 255,  255, 255, 0,   0,   0,   0,    /* -2 as i32 in the low bytes */
        'a',  'b',  'c', 'd', 'e', 'f', 'g', 0x87, /* 7 bytes in the slot */
        9,    0,    0,   0,   40,  0,   0,   0,    /* 9 bytes at 40 */
        2,    0,    0,   0,   56,  0,   0,   0,    /* 2 bytes at 56 */
        '1',  '2',  '3', '4', '5', '6', '7', '8',
        '9',  0,    0,   0,   0,   0,   0,   0, /* padded to 16 */
        0x00, 0x80, 0,   0,   0,   0,   0,   0,
        0,    0,    0,   0,   0,   0,   0,   0, /* 128 needs a sign byte; 16 reserved */
    };
    struct row_layout l;
    struct row_writer w;
    struct buf out = {0};

    row_layout_init(&l, kinds, 4);
    row_writer_begin(&w, &l, &out);
    row_write_int(&w, 0, -2);
    row_write_bytes(&w, 1, bytes_of_str("abcdefg"));
    row_write_bytes(&w, 2, bytes_of_str("123456789"));
    row_write_decimal(&w, 3, 128);
    ck_assert_bytes_eq(row_writer_end(&w), bytes_of(want, sizeof want));
    buf_release(&out);
}
END_TEST

START_TEST(header_grows_with_the_fields)
{
    static const struct {
        uint32_t fields, bytes;
    } rows[] = {{0, 8}, {1, 8}, {56, 8}, {57, 16}, {120, 16}, {121, 24}};
    enum field_kind kinds[121];
    struct row_layout l;

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        kinds[i] = FIELD_I64;
    row_layout_init(&l, kinds, rows[_i].fields);
    ck_assert_uint_eq(l.header_bytes, rows[_i].bytes);
}
END_TEST

START_TEST(nulls_keep_their_reserved_bytes)
{
    struct row_layout l;
    struct buf out = {0};
    struct bytes row;
    struct err err = {0};

    row_layout_init(&l, all_kinds, ALL_COUNT);
    row = write_all(&l, &out, true);
    ck_assert_uint_eq(row.len, 8 + 80 + 16 + 8);
    ck_assert_ok(binary_row_check(&l, row, "row", &err));
    for (uint32_t i = 0; i < ALL_COUNT; i++)
        ck_assert(binary_row_is_null(row.data, i));
    ck_assert_uint_eq(row.data[1], 0xFF); /* fields 0..7 */
    ck_assert_uint_eq(row.data[2], 0x03);
    buf_release(&out);
}
END_TEST

static const int128 decimals[] = {0, 1, -1, 127, 128, -128, -129, 255, 256, INT64_MAX, INT64_MIN};

START_TEST(in_place_changes_read_back)
{
    static const enum field_kind kinds[] = {FIELD_DECIMAL_WIDE, FIELD_TIMESTAMP_WIDE, FIELD_I64,
                                            FIELD_F64, FIELD_BOOL};
    _Alignas(8) uint8_t row[8 + 40 + 16 + 8];
    struct row_layout l;
    struct err err = {0};
    uint32_t nanos;

    row_layout_init(&l, kinds, 5);
    ck_assert_uint_eq(row_layout_size(&l), sizeof row);
    binary_row_init(&l, row);
    for (uint32_t i = 0; i < 5; i++)
        ck_assert(binary_row_is_null(row, i));
    binary_row_set_decimal(&l, row, 0, WIDE);
    binary_row_set_decimal(&l, row, 0, decimals[_i]); /* a shorter one leaves nothing behind */
    binary_row_set_timestamp(&l, row, 1, -1, 999999);
    binary_row_set_int(&l, row, 2, -5);
    binary_row_set_f64(&l, row, 3, 2.5);
    binary_row_set_int(&l, row, 4, 7);
    ck_assert_ok(binary_row_check(&l, bytes_of(row, sizeof row), "row", &err));
    ck_assert(binary_row_decimal(&l, row, 0) == decimals[_i]);
    ck_assert_int_eq(binary_row_timestamp(&l, row, 1, &nanos), -1);
    ck_assert_uint_eq(nanos, 999999);
    ck_assert_int_eq(binary_row_int(&l, row, 2), -5);
    ck_assert(binary_row_f64(&l, row, 3) == 2.5);
    ck_assert_int_eq(binary_row_int(&l, row, 4), 1);
    for (uint32_t i = 0; i < 5; i++) {
        ck_assert(!binary_row_is_null(row, i));
        binary_row_set_null(&l, row, i);
    }
    {
        _Alignas(8) uint8_t fresh[sizeof row];

        binary_row_init(&l, fresh);
        ck_assert_bytes_eq(bytes_of(row, sizeof row), bytes_of(fresh, sizeof fresh));
    }
}
END_TEST

/* What the check lets through must be safe to read: every byte of every field set to every extreme.
 */
START_TEST(damaged_rows_are_refused_or_readable)
{
    struct row_layout l;
    struct buf out = {0};
    struct bytes row;
    struct err err = {0};
    int refused = 0;

    row_layout_init(&l, all_kinds, ALL_COUNT);
    row = write_all(&l, &out, false);
    for (size_t at = 0; at < row.len; at++) {
        static const uint8_t values[] = {0x00, 0x01, 0x10, 0x7F, 0x80, 0x8F, 0xFF};

        for (size_t v = 0; v < sizeof values; v++) {
            uint8_t *copy = malloc(row.len); /* exact size: a sanitizer sees reads past it */
            uint32_t nanos;

            memcpy(copy, row.data, row.len);
            copy[at] = values[v];
            if (binary_row_check(&l, bytes_of(copy, row.len), "row", &err) == RC_OK) {
                struct bytes b = binary_row_bytes(&l, copy, 7);

                ck_assert(b.data >= copy && b.data + b.len <= copy + row.len);
                (void)binary_row_decimal(&l, copy, 8);
                (void)binary_row_timestamp(&l, copy, 9, &nanos);
            } else {
                ck_assert_int_eq(err.rc, RC_CORRUPT);
                refused++;
                err_clear(&err);
            }
            free(copy);
        }
    }
    ck_assert_int_gt(refused, 100);
    for (size_t len = 0; len < l.fixed_bytes + 24; len++)
        ck_assert_rc(binary_row_check(&l, bytes_of(row.data, len), "row", &err), RC_CORRUPT);
    buf_release(&out);
}
END_TEST

START_TEST(message_names_field_and_numbers)
{
    static const enum field_kind kinds[] = {FIELD_BYTES};
    static const uint8_t row[24] = {[8] = 90, [12] = 16};
    struct row_layout l;
    struct err err = {0};

    row_layout_init(&l, kinds, 1);
    ck_assert_rc_msg(binary_row_check(&l, bytes_of(row, sizeof row), "accState", &err), RC_CORRUPT,
                     "accState: field 0: 90 bytes at offset 16 of a row of 24");
}
END_TEST

TEST_MAIN("binary_row", tcase_add_test(tc, what_is_written_is_read);
          tcase_add_test(tc, bytes_are_the_references);
          tcase_add_loop_test(tc, header_grows_with_the_fields, 0, 6);
          tcase_add_test(tc, nulls_keep_their_reserved_bytes);
          tcase_add_loop_test(tc, in_place_changes_read_back, 0, ARRAY_LEN(decimals));
          tcase_add_test(tc, damaged_rows_are_refused_or_readable);
          tcase_add_test(tc, message_names_field_and_numbers))
