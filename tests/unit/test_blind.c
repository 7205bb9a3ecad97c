/* links: backend */
#include "backend/blind.h"
#include "backend/rocks.h"
#include "base/arena.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/tmpdir.h"

#define PATTERN "+<s."
#define ROW 44u /* size, header, four fields */
#define NULLS 5u

static struct buf head;
static struct buf out;

static void setup(void)
{
    blind_head(PATTERN, &head);
}

static void teardown(void)
{
    buf_release(&head);
    buf_release(&out);
}

static void row_make(uint8_t row[ROW], int64_t count, bool has_least, int64_t least, uint64_t low,
                     int64_t high)
{
    memset(row, 0, ROW);
    put_be32(row, ROW - 4);
    row[NULLS] = has_least ? 0 : 1u << 1;
    put_le64(row + 12, (uint64_t)count);
    put_le64(row + 20, (uint64_t)least);
    put_le64(row + 28, low);
    put_le64(row + 36, (uint64_t)high);
}

/* An operand of these bytes, in memory of its own so that a sanitizer sees reads behind it. */
static struct bytes operand(struct bytes h, const uint8_t *row, size_t len)
{
    uint8_t *p = mem_alloc(h.len + len + 1);

    memcpy(p, h.data, h.len);
    memcpy(p + h.len, row, len);
    return bytes_of(p, h.len + len);
}

/* What a merge gave, a packed row, is this one. */
static void check_row(struct bytes merged, const uint8_t want[ROW])
{
    const struct value_shape shape = {.bytes = ROW};
    uint8_t row[ROW];

    ck_assert_uint_lt(merged.len, ROW);
    ck_assert(value_unpack(shape, merged, row));
    ck_assert_mem_eq(row, want, ROW);
}

static void operand_free(struct bytes b)
{
    mem_free((void *)(uintptr_t)b.data);
}

START_TEST(operands_add_and_take_the_least_over_what_is_below)
{
    uint8_t below[ROW], a[ROW], b[ROW], want[ROW];
    struct bytes ops[2];

    row_make(below, 5, false, 0, UINT64_MAX, 0);
    row_make(a, 1, true, -3, 1, 0); /* carries into the high half */
    row_make(b, 2, true, 7, 0, -1);
    row_make(want, 8, true, -3, 0, 0);
    ops[0] = operand(buf_bytes(&head), a, ROW);
    ops[1] = operand(buf_bytes(&head), b, ROW);
    ck_assert(blind_merge(bytes_of(below, ROW), ops, 2, false, &out));
    check_row(buf_bytes(&out), want);
    operand_free(ops[0]);
    operand_free(ops[1]);
}
END_TEST

/* Rows of every generation meet: plain ones that an older version wrote, and packed ones. */
START_TEST(plain_and_packed_rows_merge_alike)
{
    const struct value_shape shape = {.bytes = ROW};
    uint8_t below[ROW], a[ROW], packed_below[2 * ROW], packed_a[2 * ROW];
    size_t below_len, a_len;
    struct bytes op;
    struct buf plain = {0};

    row_make(below, 5, true, -9, 4, 4);
    row_make(a, 1, true, -11, 1, -1);
    below_len = value_pack(shape, below, packed_below);
    a_len = value_pack(shape, a, packed_a);
    ck_assert(below_len > 0 && a_len > 0);
    op = operand(buf_bytes(&head), a, ROW);
    ck_assert(blind_merge(bytes_of(below, ROW), &op, 1, false, &plain));
    ck_assert(blind_merge(bytes_of(packed_below, below_len), &op, 1, false, &out));
    ck_assert_bytes_eq(buf_bytes(&out), buf_bytes(&plain));
    operand_free(op);
    op = operand(buf_bytes(&head), packed_a, a_len);
    ck_assert(blind_merge(bytes_of(packed_below, below_len), &op, 1, false, &out));
    ck_assert_bytes_eq(buf_bytes(&out), buf_bytes(&plain));
    ck_assert(!blind_merge(bytes_of(packed_below, below_len - 1), &op, 1, false, &out));
    operand_free(op);
    buf_release(&plain);
}
END_TEST

START_TEST(a_partial_merge_is_an_operand_that_gives_the_same)
{
    uint8_t below[ROW], a[ROW], b[ROW];
    struct bytes ops[2], both, once;
    struct buf partial = {0}, direct = {0};

    row_make(below, 5, true, -9, 4, 4);
    row_make(a, 1, false, 0, 1, 0);
    row_make(b, 2, true, 7, 0, -1);
    ops[0] = operand(buf_bytes(&head), a, ROW);
    ops[1] = operand(buf_bytes(&head), b, ROW);
    ck_assert(blind_merge((struct bytes){0}, ops, 2, true, &partial));
    ck_assert(blind_merge(bytes_of(below, ROW), ops, 2, false, &direct));
    both = buf_bytes(&partial);
    ck_assert(blind_merge(bytes_of(below, ROW), &both, 1, false, &out));
    once = buf_bytes(&direct);
    ck_assert_bytes_eq(buf_bytes(&out), once);
    buf_release(&partial);
    buf_release(&direct);
    operand_free(ops[0]);
    operand_free(ops[1]);
}
END_TEST

/* Whatever damage does to an operand: an answer, no abort and no read outside. */
START_TEST(an_operand_that_is_cut_or_of_another_version_or_pattern_is_refused)
{
    uint8_t row[ROW];
    struct bytes good, bad;

    row_make(row, 1, true, 1, 1, 1);
    good = operand(buf_bytes(&head), row, ROW);
    for (size_t len = 0; len < good.len; len++) {
        struct bytes two[2] = {good, {0}};

        two[1] = bad = operand(bytes_of(good.data, len), row, 0);
        ck_assert_msg(!blind_merge((struct bytes){0}, two, 2, false, &out), "%zu bytes", len);
        ck_assert_msg(!blind_merge((struct bytes){0}, &bad, 1, true, &out), "%zu bytes", len);
        operand_free(bad);
    }
    bad = operand(good, row, 1); /* a byte too many */
    ck_assert(!blind_merge((struct bytes){0}, &bad, 1, false, &out));
    operand_free(bad);
    for (size_t at = 0; at < head.len + 4; at++) { /* version, count, pattern, size */
        bad = operand(good, row, 0);
        ((uint8_t *)(uintptr_t)bad.data)[at] ^= 1;
        ck_assert_msg(!blind_merge((struct bytes){0}, &bad, 1, false, &out), "byte %zu", at);
        operand_free(bad);
    }
    ck_assert(!blind_merge(bytes_of(row, ROW - 1), &good, 1, false, &out));
    ck_assert(!blind_merge((struct bytes){0}, &good, 0, false, &out));
    operand_free(good);
}
END_TEST

START_TEST(operands_of_two_patterns_do_not_mix)
{
    uint8_t row[ROW];
    struct buf other = {0};
    struct bytes ops[2];

    row_make(row, 1, true, 1, 1, 1);
    blind_head("+>s.", &other);
    ops[0] = operand(buf_bytes(&head), row, ROW);
    ops[1] = operand(buf_bytes(&other), row, ROW);
    ck_assert(blind_merge((struct bytes){0}, &ops[1], 1, false, &out));
    ck_assert(!blind_merge((struct bytes){0}, ops, 2, false, &out));
    buf_release(&other);
    operand_free(ops[0]);
    operand_free(ops[1]);
}
END_TEST

static const struct {
    const char *pattern;
    uint32_t row_bytes;
    bool fits;
} patterns[] = {
    {"+", 20, true}, {"+<s.", 44, true}, {"", 12, false},   {"s", 20, false},
    {"s+", 28, false}, {"x", 20, false}, {"+", 28, false}, {".", 20, false},
};

START_TEST(a_pattern_is_known_characters_for_rows_of_its_size)
{
    ck_assert_int_eq(blind_pattern_fits(patterns[_i].pattern, patterns[_i].row_bytes),
                     patterns[_i].fits);
}
END_TEST

static bool totals(const void *ctx, const char *family)
{
    (void)ctx;
    return strcmp(family, "accState") == 0;
}

static void write_operand(struct rocks_db *db, struct rocks_cf *cf, struct bytes value)
{
    struct rocks_batch *b = rocks_batch_new(db);
    struct err err = {0};

    rocks_batch_merge(b, cf, bytes_of("key", 3), value);
    ck_assert_ok(rocks_batch_write(b, &err));
    rocks_batch_free(b);
}

/* In a database: operands of totals are merged in the families that say so, and what cannot be
 * merged is an error of the read. */
START_TEST(a_database_merges_totals_and_reports_what_it_cannot)
{
    struct tmpdir tmp;
    struct rocks_config config = {.create = true,
                                  .block_cache_bytes = 4 << 20,
                                  .write_buffer_bytes = 1 << 20,
                                  .max_open_files = -1,
                                  .totals = {totals, NULL}};
    uint8_t row[ROW], want[ROW];
    struct bytes key = bytes_of("key", 3), good, value;
    struct rocks_db *db;
    struct rocks_cf *cf, *list;
    struct err err = {0};

    tmpdir_make(&tmp);
    config.dir = tmpdir_at(&tmp, "db");
    ck_assert_ok(fs_mkdirs(fs_posix(), config.dir, &err));
    ck_assert_ok(rocks_open(&config, &db, &err));
    ck_assert_ok(rocks_cf_create(db, "accState", &cf, &err));
    rocks_cf_set_shape(cf, (struct value_shape){.bytes = ROW});
    ck_assert_ok(rocks_cf_create(db, "list", &list, &err));
    row_make(row, 3, true, 4, 5, 0);
    row_make(want, 6, true, 4, 10, 0);
    good = operand(buf_bytes(&head), row, ROW);
    write_operand(db, cf, good);
    write_operand(db, cf, good);
    ck_assert_ok(rocks_get(cf, &key, 1, &value, &err));
    ck_assert_bytes_eq(value, bytes_of(want, ROW));
    write_operand(db, list, bytes_of("a", 1));
    write_operand(db, list, bytes_of("b", 1));
    ck_assert_ok(rocks_get(list, &key, 1, &value, &err));
    ck_assert_bytes_eq(value, bytes_of("a,b", 3));
    write_operand(db, cf, bytes_of("what is this", 12));
    ck_assert_rc_msg(rocks_get(cf, &key, 1, &value, &err), RC_CORRUPT, "erge");
    rocks_close(db);
    operand_free(good);
    tmpdir_remove(&tmp);
}
END_TEST

TEST_MAIN("blind", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, operands_add_and_take_the_least_over_what_is_below);
          tcase_add_test(tc, plain_and_packed_rows_merge_alike);
          tcase_add_test(tc, a_partial_merge_is_an_operand_that_gives_the_same);
          tcase_add_test(tc, an_operand_that_is_cut_or_of_another_version_or_pattern_is_refused);
          tcase_add_test(tc, operands_of_two_patterns_do_not_mix);
          tcase_add_loop_test(tc, a_pattern_is_known_characters_for_rows_of_its_size, 0,
                              ARRAY_LEN(patterns));
          tcase_add_test(tc, a_database_merges_totals_and_reports_what_it_cannot))
