/* test_values_source.c - the rows of a VALUES clause: once, by one subtask, not again after a
 * restore. */
#include "job/source/source.h"
#include "tests/lib/check_ext.h"

static struct schema_field field = {"v", {.kind = TYPE_INT, .nullable = true}};
static struct schema schema = {1, &field, -1};

static struct source *open_one(struct batch *rows, uint32_t index, const struct bytes *items,
                               size_t count, enum rc want)
{
    struct values_config config = {&schema, rows};
    struct source_context ctx = {.subtask_index = index,
                                 .parallelism = 2,
                                 .table_name = "t",
                                 .schema = &schema,
                                 .restored = items != NULL,
                                 .restored_items = items,
                                 .restored_count = count};
    struct source *s = values_source_new(&config);
    struct err err = {0};

    ck_assert_int_eq(s->ops->open(s, &ctx, &err), want);
    return s;
}

static uint32_t poll_some(struct source *s, uint32_t max_rows, enum source_result *result)
{
    struct batch_builder *out = batch_builder_new(&schema);
    struct err err = {0};
    int64_t retry;
    uint32_t rows;

    ck_assert_ok(s->ops->poll(s, out, max_rows, result, &retry, &err));
    rows = batch_builder_rows(out);
    batch_builder_free(out);
    return rows;
}

START_TEST(rows_are_given_once)
{
    struct batch_builder *b = batch_builder_new(&schema);
    struct arena *arena = arena_new(0);
    enum source_result result;
    struct bytes *items;
    struct source *s;
    uint32_t rows = 0;
    size_t count;
    struct err err = {0};

    for (int i = 0; i < 1000; i++) {
        batch_append_int(b, 0, i);
        batch_row_end(b, ROW_INSERT);
    }
    s = open_one(batch_builder_view(b), 1, NULL, 0, RC_OK);
    ck_assert_uint_eq(poll_some(s, 10, &result), 0);
    ck_assert_int_eq(result, SOURCE_ENDED);
    ck_assert_ok(s->ops->position(s, arena, &items, &count, &err));
    ck_assert_uint_eq(count, 0);
    s->ops->close(s);
    s = open_one(batch_builder_view(b), 0, NULL, 0, RC_OK);
    ck_assert(s->ops->bounded(s));
    ck_assert_uint_eq(poll_some(s, 10, &result), 10);
    ck_assert_ok(s->ops->position(s, arena, &items, &count, &err));
    ck_assert_uint_eq(count, 1);
    s->ops->close(s);
    s = open_one(batch_builder_view(b), 0, items, count, RC_OK);
    do
        rows += poll_some(s, 4096, &result);
    while (result == SOURCE_GOT_ROWS);
    ck_assert_uint_eq(rows, 990);
    s->ops->close(s);
    arena_free(arena);
    batch_builder_free(b);
}
END_TEST

/* A position past the rows there are now: the clause was changed. */
START_TEST(a_position_past_the_rows_is_refused)
{
    struct batch_builder *b = batch_builder_new(&schema);
    struct bytes item = bytes_of("\0\0\0\0\0\0\0\1", 8);
    struct source *s = open_one(batch_builder_view(b), 0, &item, 1, RC_CORRUPT);

    s->ops->close(s);
    batch_builder_free(b);
}
END_TEST

TEST_MAIN("values_source", tcase_add_test(tc, rows_are_given_once);
          tcase_add_test(tc, a_position_past_the_rows_is_refused))
