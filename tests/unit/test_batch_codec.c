/* test_batch_codec.c - batches of every type as bytes and back, and what becomes of damaged ones. */
#include "job/batch_codec.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/gen.h"

static struct schema_field fields[] = {
    {"b", {TYPE_BOOLEAN, true, 0, 0, 0}},   {"t", {TYPE_TINYINT, true, 0, 0, 0}},
    {"s", {TYPE_SMALLINT, true, 0, 0, 0}},  {"i", {TYPE_INT, true, 0, 0, 0}},
    {"l", {TYPE_BIGINT, true, 0, 0, 0}},    {"f", {TYPE_FLOAT, true, 0, 0, 0}},
    {"d", {TYPE_DOUBLE, true, 0, 0, 0}},    {"m", {TYPE_DECIMAL, true, 38, 2, 0}},
    {"v", {TYPE_VARCHAR, true, 0, 0, 100}}, {"y", {TYPE_VARBINARY, true, 0, 0, 100}},
    {"w", {TYPE_TIMESTAMP, true, 9, 0, 0}},
};
static struct schema schema = {ARRAY_LEN(fields), fields, -1};

static void append_value(struct batch_builder *b, uint32_t c, struct rng *r)
{
    struct buf text = {0};

    if (gen_chance(r, 20)) {
        batch_append_null(b, c);
        return;
    }
    switch (fields[c].type.kind) {
    case TYPE_BOOLEAN:
        batch_append_bool(b, c, gen_chance(r, 50));
        break;
    case TYPE_FLOAT:
    case TYPE_DOUBLE:
        batch_append_double(b, c, (double)gen_i64(r) / 3);
        break;
    case TYPE_DECIMAL:
        batch_append_decimal(b, c, (int128)gen_i64(r) * 1000003);
        break;
    case TYPE_VARCHAR:
    case TYPE_VARBINARY:
        gen_bytes(r, gen_len(r, 0, 60), &text);
        batch_append_bytes(b, c, buf_bytes(&text));
        break;
    default:
        batch_append_int(b, c, gen_i64(r) % 100);
        break;
    }
    buf_release(&text);
}

static void fill(struct batch_builder *b, struct rng *r, uint32_t rows, bool kinds)
{
    for (uint32_t i = 0; i < rows; i++) {
        for (uint32_t c = 0; c < schema.field_count; c++)
            append_value(b, c, r);
        batch_row_end(b, kinds ? (enum row_kind)rng_below(r, 4) : ROW_INSERT);
    }
}

static void print(const struct batch *b, struct buf *out)
{
    for (uint32_t i = 0; i < b->rows; i++) {
        buf_append_str(out, row_kind_str(batch_kind(b, i)));
        for (uint32_t c = 0; c < b->column_count; c++) {
            buf_append_str(out, "|");
            column_print(&b->columns[c], i, out);
        }
        buf_append_str(out, "\n");
    }
}

START_TEST(what_was_encoded_is_decoded)
{
    struct batch_builder *b = batch_builder_new(&schema), *again = batch_builder_new(&schema);
    struct buf bytes = {0}, second = {0}, want = {0}, got = {0};
    struct reader in;
    struct err err = {0};
    struct rng r;

    rng_seed(&r, gen_seed(11) + (uint64_t)_i);
    fill(b, &r, (uint32_t)gen_between(&r, 1, _i % 7 == 0 ? BATCH_ROWS_MAX : 70), gen_chance(&r, 50));
    ck_assert_ok(batch_encode(batch_builder_view(b), &bytes, &err));
    ck_assert_uint_eq(bytes.len, batch_block_bytes(batch_builder_view(b)));
    reader_init(&in, buf_bytes(&bytes), "test");
    ck_assert_ok(batch_decode(&in, &schema, again, &err));
    ck_assert_uint_eq(reader_left(&in), 0);
    print(batch_builder_view(b), &want);
    print(batch_builder_view(again), &got);
    ck_assert_str_eq(buf_cstr(&got), buf_cstr(&want));
    ck_assert_ok(batch_encode(batch_builder_view(again), &second, &err));
    ck_assert_uint_eq(second.len, bytes.len);
    buf_release(&bytes);
    buf_release(&second);
    buf_release(&want);
    buf_release(&got);
    batch_builder_free(b);
    batch_builder_free(again);
}
END_TEST

/* A view that is no builder's: offsets that do not begin at 0, null values with bytes behind them. */
START_TEST(a_piece_of_a_column_is_encoded_by_itself)
{
    struct schema_field one[] = {{"v", {TYPE_VARCHAR, true, 0, 0, 100}}};
    struct schema text_only = {1, one, -1};
    int32_t offsets[] = {3, 5, 8, 8};
    uint64_t validity = 5; /* the second is null and has bytes */
    struct column column = {.type = one[0].type, .validity = &validity, .offsets = offsets, .bytes = (uint8_t *)(uintptr_t)"xxxabcde"};
    struct batch view = {.rows = 3, .column_count = 1, .columns = &column};
    struct batch_builder *b = batch_builder_new(&text_only);
    struct buf bytes = {0}, got = {0};
    struct reader in;
    struct err err = {0};

    ck_assert_ok(batch_encode(&view, &bytes, &err));
    reader_init(&in, buf_bytes(&bytes), "test");
    ck_assert_ok(batch_decode(&in, &text_only, b, &err));
    print(batch_builder_view(b), &got);
    ck_assert_str_eq(buf_cstr(&got), "+I|ab\n+I|null\n+I|\n");
    ck_assert_uint_eq(column_bytes(&batch_builder_view(b)->columns[0], 1).len, 0);
    buf_release(&bytes);
    buf_release(&got);
    batch_builder_free(b);
}
END_TEST

/* C13: a flipped bit, a cut, bytes of another: refused, and the builder is as it was. */
START_TEST(a_damaged_block_is_refused)
{
    struct batch_builder *b = batch_builder_new(&schema), *again = batch_builder_new(&schema);
    struct buf bytes = {0}, bad = {0};
    struct reader in;
    struct err err = {0};
    struct rng r;
    size_t len;

    rng_seed(&r, gen_seed(12) + (uint64_t)_i);
    fill(b, &r, 20, true);
    ck_assert_ok(batch_encode(batch_builder_view(b), &bytes, &err));
    buf_append(&bad, bytes.data, bytes.len);
    len = gen_damage(&r, bad.data, bad.len);
    if (len == bytes.len && memcmp(bad.data, bytes.data, len) == 0)
        bad.data[len - 1] ^= 1;
    reader_init(&in, bytes_of(bad.data, len), "chk-7/s-0.bin");
    ck_assert_rc_msg(batch_decode(&in, &schema, again, &err), RC_CORRUPT, "chk-7/s-0.bin");
    ck_assert_uint_eq(batch_builder_rows(again), 0);
    fill(again, &r, 3, false);
    ck_assert_uint_eq(batch_builder_view(again)->rows, 3);
    buf_release(&bytes);
    buf_release(&bad);
    batch_builder_free(b);
    batch_builder_free(again);
}
END_TEST

TEST_MAIN("batch_codec", tcase_add_loop_test(tc, what_was_encoded_is_decoded, 0, 60);
          tcase_add_test(tc, a_piece_of_a_column_is_encoded_by_itself);
          tcase_add_loop_test(tc, a_damaged_block_is_refused, 0, 100))
