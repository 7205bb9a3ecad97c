/* test_result_table.c - a changelog folded into its table, against a plain list as the truth. */
#include "base/rng.h"
#include "job/cli/result_table.h"
#include "tests/lib/check_ext.h"

static struct schema_field fields[2];
static struct schema schema = {.field_count = 2, .fields = fields, .rowtime = -1};

static void setup(void)
{
    fields[0] = (struct schema_field){"k", type_of(TYPE_BIGINT)};
    fields[1] = (struct schema_field){"v", type_of(TYPE_VARCHAR)};
}

struct row {
    int64_t k;
    const char *v; /* NULL: null */
};

static void append(struct batch_builder *b, enum row_kind kind, struct row r)
{
    batch_append_int(b, 0, r.k);
    if (r.v == NULL)
        batch_append_null(b, 1);
    else
        batch_append_bytes(b, 1, bytes_of_str(r.v));
    batch_row_end(b, kind);
}

static void change(struct result_table *t, enum row_kind kind, struct row r)
{
    struct batch_builder *b = batch_builder_new(&schema);

    append(b, kind, r);
    result_table_add(t, batch_builder_view(b));
    batch_builder_free(b);
}

/* "1:a 2:null " */
static enum rc collect(void *ctx, const struct batch *b, struct err *err)
{
    struct buf *out = ctx;

    (void)err;
    ck_assert_ptr_null(b->kinds);
    for (uint32_t i = 0; i < b->rows; i++) {
        column_print(&b->columns[0], i, out);
        buf_append_u8(out, ':');
        column_print(&b->columns[1], i, out);
        buf_append_u8(out, ' ');
    }
    return RC_OK;
}

static void shows(struct result_table *t, const char *want)
{
    struct buf got = {0};
    struct err err = {0};

    ck_assert_ok(result_table_emit(t, collect, &got, &err));
    ck_assert_str_eq(buf_cstr(&got), want);
    buf_release(&got);
}

START_TEST(updates_take_the_place_of_what_they_replace)
{
    struct result_table *t = result_table_new(&schema, 100);

    change(t, ROW_INSERT, (struct row){1, "a"});
    change(t, ROW_INSERT, (struct row){2, NULL});
    change(t, ROW_UPDATE_BEFORE, (struct row){1, "a"});
    change(t, ROW_UPDATE_AFTER, (struct row){1, "b"});
    shows(t, "2:null 1:b ");
    change(t, ROW_DELETE, (struct row){2, NULL});
    shows(t, "1:b ");
    shows(t, "1:b "); /* showing changes nothing */
    result_table_free(t);
}
END_TEST

/* "null" as text and null, an empty text and null, are different rows. */
START_TEST(null_is_not_the_text_null)
{
    struct result_table *t = result_table_new(&schema, 100);

    change(t, ROW_INSERT, (struct row){1, "null"});
    change(t, ROW_INSERT, (struct row){1, ""});
    change(t, ROW_INSERT, (struct row){1, NULL});
    change(t, ROW_DELETE, (struct row){1, NULL});
    shows(t, "1:null 1: ");
    change(t, ROW_DELETE, (struct row){1, ""});
    shows(t, "1:null ");
    result_table_free(t);
}
END_TEST

START_TEST(equal_rows_are_counted_one_by_one)
{
    struct result_table *t = result_table_new(&schema, 100);

    for (int i = 0; i < 3; i++)
        change(t, ROW_INSERT, (struct row){1, "x"});
    change(t, ROW_DELETE, (struct row){1, "x"});
    shows(t, "1:x 1:x ");
    change(t, ROW_DELETE, (struct row){9, "never there"});
    ck_assert_uint_eq(result_table_rows(t), 2);
    result_table_free(t);
}
END_TEST

START_TEST(past_the_limit_the_oldest_rows_go_and_are_counted)
{
    struct result_table *t = result_table_new(&schema, 2);

    for (int64_t i = 1; i <= 5; i++)
        change(t, ROW_INSERT, (struct row){i, "x"});
    shows(t, "4:x 5:x ");
    ck_assert_uint_eq(result_table_dropped(t), 3);
    result_table_free(t);
}
END_TEST

/* Large enough for sweeps and bigger hash tables; the truth is an array of counts. */
START_TEST(random_changes_give_what_a_plain_count_gives)
{
    struct result_table *t = result_table_new(&schema, 1u << 20);
    struct batch_builder *b = batch_builder_new(&schema);
    static int64_t truth[500];
    uint64_t total = 0;
    struct rng rng;

    rng_seed(&rng, 7);
    memset(truth, 0, sizeof truth);
    for (int round = 0; round < 400; round++) {
        for (int i = 0; i < 200; i++) {
            size_t k = rng_below(&rng, ARRAY_LEN(truth));
            bool add = truth[k] == 0 || rng_below(&rng, 2) == 0;

            truth[k] += add ? 1 : -1;
            append(b, add ? ROW_INSERT : ROW_DELETE,
                   (struct row){(int64_t)k, k % 3 == 0 ? NULL : "v"});
        }
        result_table_add(t, batch_builder_view(b));
        batch_builder_clear(b);
    }
    for (size_t k = 0; k < ARRAY_LEN(truth); k++)
        total += (uint64_t)truth[k];
    ck_assert_uint_eq(result_table_rows(t), total);
    for (size_t k = 0; k < ARRAY_LEN(truth); k++) /* take all away that should be there */
        for (; truth[k] > 0; truth[k]--)
            change(t, ROW_DELETE, (struct row){(int64_t)k, k % 3 == 0 ? NULL : "v"});
    ck_assert_uint_eq(result_table_rows(t), 0);
    batch_builder_free(b);
    result_table_free(t);
}
END_TEST

TEST_MAIN("result_table", tcase_add_checked_fixture(tc, setup, NULL);
          tcase_add_test(tc, updates_take_the_place_of_what_they_replace);
          tcase_add_test(tc, null_is_not_the_text_null);
          tcase_add_test(tc, equal_rows_are_counted_one_by_one);
          tcase_add_test(tc, past_the_limit_the_oldest_rows_go_and_are_counted);
          tcase_add_test(tc, random_changes_give_what_a_plain_count_gives))
