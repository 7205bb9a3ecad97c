#include "job/element.h"
#include "tests/lib/check_ext.h"

#include <signal.h>

static struct schema_field fields[] = {
    {"b", {.kind = TYPE_BOOLEAN, .nullable = true}},
    {"t", {.kind = TYPE_TINYINT, .nullable = true}},
    {"m", {.kind = TYPE_SMALLINT, .nullable = true}},
    {"i", {.kind = TYPE_INT, .nullable = true}},
    {"l", {.kind = TYPE_BIGINT, .nullable = true}},
    {"f", {.kind = TYPE_FLOAT, .nullable = true}},
    {"d", {.kind = TYPE_DOUBLE, .nullable = true}},
    {"c", {.kind = TYPE_DECIMAL, .nullable = true, .precision = 38, .scale = 3}},
    {"s", {.kind = TYPE_VARCHAR, .nullable = true, .length = TYPE_LENGTH_MAX}},
    {"y", {.kind = TYPE_VARBINARY, .nullable = true, .length = TYPE_LENGTH_MAX}},
    {"a", {.kind = TYPE_DATE, .nullable = true}},
    {"e", {.kind = TYPE_TIME, .nullable = true, .precision = 3}},
    {"p", {.kind = TYPE_TIMESTAMP, .nullable = true, .precision = 6}},
    {"z", {.kind = TYPE_TIMESTAMP_LTZ, .nullable = true, .precision = 3}},
    {"v", {.kind = TYPE_INTERVAL_DAY, .nullable = true}},
    {"w", {.kind = TYPE_INTERVAL_YEAR, .nullable = true}},
};
static const struct schema schema = {ARRAY_LEN(fields), fields, -1};

static bool is_null_at(uint32_t row, uint32_t column)
{
    return (row * 7 + column) % 5 == 0;
}

static void append_row(struct batch_builder *b, uint32_t row)
{
    char text[40];
    int len = snprintf(text, sizeof text, "%.*s%u", (int)(row % 20), "long prefix of a text", row);

    for (uint32_t c = 0; c < schema.field_count; c++) {
        if (is_null_at(row, c)) {
            batch_append_null(b, c);
            continue;
        }
        switch (fields[c].type.kind) {
        case TYPE_BOOLEAN:
            batch_append_bool(b, c, row % 3 == 0);
            break;
        case TYPE_FLOAT:
        case TYPE_DOUBLE:
            batch_append_double(b, c, row / 2.0);
            break;
        case TYPE_DECIMAL:
            batch_append_decimal(b, c, (int128)row << 90);
            break;
        case TYPE_VARCHAR:
        case TYPE_VARBINARY:
            batch_append_bytes(b, c, bytes_of(text, (size_t)len));
            break;
        default:
            batch_append_int(b, c, (int64_t)(row % 100) - 50);
            break;
        }
    }
    batch_row_end(b, (enum row_kind)(row % 4));
}

/* Row r of `got` is row want[r] of the formula. */
static void check_rows(const struct batch *got, const uint32_t *want, uint32_t n)
{
    ck_assert_uint_eq(got->rows, n);
    for (uint32_t r = 0; r < n; r++) {
        uint32_t row = want[r];
        char text[40];
        int len = snprintf(text, sizeof text, "%.*s%u", (int)(row % 20), "long prefix of a text", row);

        ck_assert_uint_eq(batch_kind(got, r), row % 4);
        for (uint32_t c = 0; c < got->column_count; c++) {
            const struct column *k = &got->columns[c];

            ck_assert(column_present(k, r) == !is_null_at(row, c));
            if (is_null_at(row, c))
                continue;
            if (k->type.kind == TYPE_BOOLEAN)
                ck_assert(bit_get(k->values, r) == (row % 3 == 0));
            else if (k->type.kind == TYPE_DOUBLE)
                ck_assert_double_eq(((double *)k->values)[r], row / 2.0);
            else if (k->type.kind == TYPE_FLOAT)
                ck_assert_float_eq(((float *)k->values)[r], (float)(row / 2.0));
            else if (k->type.kind == TYPE_DECIMAL)
                ck_assert(((int128 *)k->values)[r] == (int128)row << 90);
            else if (k->type.kind == TYPE_TINYINT)
                ck_assert_int_eq(((int8_t *)k->values)[r], (int)(row % 100) - 50);
            else if (k->type.kind == TYPE_TIMESTAMP)
                ck_assert_int_eq(((int64_t *)k->values)[r], (int)(row % 100) - 50);
            else if (type_is_varlen(k->type.kind))
                ck_assert_bytes_eq(column_bytes(k, r), bytes_of(text, (size_t)len));
        }
    }
}

static uint32_t many[10000];

START_TEST(rows_come_back_as_they_were_appended)
{
    struct batch_builder *b = batch_builder_new(&schema);
    struct batch *own;

    for (uint32_t i = 0; i < 5000; i++)
        many[i] = i;
    for (int round = 0; round < 4; round++) { /* memory is kept: nothing of the last round may shine through */
        uint32_t rows = round == 1 ? 4000 : 1000; /* columns of many rows are given away, not copied */

        for (uint32_t i = 0; i < rows; i++)
            append_row(b, i);
        check_rows(batch_builder_view(b), many, rows);
        own = batch_take(b);
        ck_assert_uint_eq(batch_builder_rows(b), 0);
        check_rows(own, many, rows);
        batch_free(own);
    }
    batch_builder_free(b);
    batch_free(NULL);
}
END_TEST

/* What an aggregate's changelog is made of: each row's key before and after. */
START_TEST(doubled_rows_stand_twice)
{
    static struct schema_field field = {"l", {.kind = TYPE_BIGINT}};
    static const struct schema longs = {1, &field, -1};
    struct batch_builder *b = batch_builder_new(&schema), *twice = batch_builder_new(&schema);
    struct batch_builder *l = batch_builder_new(&longs), *ll = batch_builder_new(&longs);
    static const uint32_t map[] = {0};
    const int64_t *v;

    for (uint32_t i = 0; i < 700; i++) {
        append_row(b, i);
        batch_append_int(l, 0, (int64_t)i * i);
        batch_row_end(l, ROW_INSERT);
    }
    for (uint32_t i = 0; i < 1000; i++)
        many[i] = 100 + i / 2;
    batch_double(twice, batch_builder_view(b), 100, 300, NULL);
    batch_double(twice, batch_builder_view(b), 400, 200, NULL); /* behind what is there */
    check_rows(batch_builder_view(twice), many, 1000);
    batch_double(ll, batch_builder_view(l), 100, 500, map);
    v = batch_builder_view(ll)->columns[0].values;
    for (uint32_t i = 0; i < 1000; i++)
        ck_assert_int_eq(v[i], (int64_t)many[i] * many[i]);
    batch_double(ll, batch_builder_view(l), 0, 0, map);
    ck_assert_uint_eq(batch_builder_rows(ll), 1000);
    batch_builder_free(b);
    batch_builder_free(twice);
    batch_builder_free(l);
    batch_builder_free(ll);
}
END_TEST

START_TEST(abandoned_row_leaves_no_trace)
{
    struct batch_builder *b = batch_builder_new(&schema);

    for (uint32_t i = 0; i < 300; i++) {
        batch_append_null(b, 0);
        for (uint32_t c = 1; c < 8; c++)
            batch_append_null(b, c);
        batch_append_bytes(b, 8, bytes_of_str("never to be seen"));
        batch_row_abandon(b);
        append_row(b, i);
        many[i] = i;
    }
    check_rows(batch_builder_view(b), many, 300);
    batch_builder_free(b);
}
END_TEST

static const struct {
    uint32_t start, step, n;
} picks[] = {{0, 1, 1000}, {100, 1, 64}, {999, 0, 3}, {0, 7, 140}, {5, 3, 1}, {0, 1, 0}};

START_TEST(gathered_rows_are_those_asked_for)
{
    struct batch_builder *from = batch_builder_new(&schema), *to = batch_builder_new(&schema);
    uint32_t idx[1000];

    for (uint32_t i = 0; i < 1000; i++)
        append_row(from, i);
    append_row(to, 77);
    many[0] = 77;
    for (uint32_t i = 0; i < picks[_i].n; i++)
        many[i + 1] = idx[i] = picks[_i].start + i * picks[_i].step;
    batch_gather(to, batch_builder_view(from), idx, picks[_i].n, NULL);
    check_rows(batch_builder_view(to), many, picks[_i].n + 1);
    batch_builder_free(from);
    batch_builder_free(to);
}
END_TEST

START_TEST(columns_are_gathered_by_their_map)
{
    static struct schema_field two[] = {{"s", {.kind = TYPE_VARCHAR, .nullable = true, .length = TYPE_LENGTH_MAX}}, {"l", {.kind = TYPE_BIGINT, .nullable = true}}};
    const struct schema small = {2, two, -1};
    const uint32_t map[] = {8, 4}, idx[] = {4, 2};
    struct batch_builder *from = batch_builder_new(&schema), *to = batch_builder_new(&small);
    struct batch *b;

    for (uint32_t i = 0; i < 8; i++)
        append_row(from, i);
    batch_gather(to, batch_builder_view(from), idx, 2, map);
    b = batch_builder_view(to);
    ck_assert_bytes_str(column_bytes(&b->columns[0], 0), "long4");
    ck_assert(!is_null_at(4, 4) || !column_present(&b->columns[1], 0));
    ck_assert_int_eq(((int64_t *)b->columns[1].values)[1], 2 - 50);
    batch_builder_free(from);
    batch_builder_free(to);
}
END_TEST

START_TEST(builder_is_full_at_its_rows_or_its_bytes)
{
    static struct schema_field one[] = {{"s", {.kind = TYPE_VARCHAR, .nullable = true, .length = TYPE_LENGTH_MAX}}};
    const struct schema text = {1, one, -1};
    struct batch_builder *b = batch_builder_new(&text);
    struct buf big = {0};

    for (uint32_t i = 0; i < BATCH_ROWS_MAX; i++) {
        ck_assert(!batch_builder_full(b));
        batch_append_bytes(b, 0, bytes_of_str("x"));
        batch_row_end(b, ROW_INSERT);
    }
    ck_assert(batch_builder_full(b));
    batch_builder_clear(b);
    ck_assert(!batch_builder_full(b));
    buf_reserve(&big, 40u << 20);
    memset(big.data, 'a', 40u << 20);
    batch_append_bytes(b, 0, bytes_of(big.data, 40u << 20)); /* one long value alone is taken */
    ck_assert(batch_builder_full(b));
    batch_row_abandon(b);
    ck_assert(!batch_builder_full(b));
    buf_release(&big);
    batch_builder_free(b);
}
END_TEST

/* A consumer that adds an offset to `bytes`, or reads values of a column of nulls, must find memory there. */
START_TEST(all_null_and_empty_columns_have_buffers)
{
    struct batch_builder *b = batch_builder_new(&schema);
    struct batch *own;

    for (uint32_t c = 0; c < schema.field_count; c++)
        batch_append_null(b, c);
    batch_row_end(b, ROW_INSERT);
    own = batch_take(b);
    ck_assert_ptr_null(own->kinds);
    for (uint32_t c = 0; c < schema.field_count; c++) {
        ck_assert(!column_present(&own->columns[c], 0));
        if (own->columns[c].offsets != NULL)
            ck_assert_uint_eq(column_bytes(&own->columns[c], 0).len, 0);
        else
            ck_assert_ptr_nonnull(own->columns[c].values);
    }
    batch_free(own);
    own = batch_take(b);
    ck_assert_uint_eq(own->rows, 0);
    batch_free(own);
    batch_builder_free(b);
}
END_TEST

START_TEST(column_out_of_order_is_a_broken_promise)
{
    batch_append_int(batch_builder_new(&schema), 1, 1);
}
END_TEST

START_TEST(values_print_as_in_the_print_sink)
{
    struct batch_builder *b = batch_builder_new(&schema);
    struct buf out = {0};

    append_row(b, 1);
    for (uint32_t c = 0; c < schema.field_count; c++) {
        buf_append_str(&out, c == 0 ? "" : "|");
        if (fields[c].type.kind == TYPE_TIME) /* not a time of day: that is tested elsewhere */
            buf_append_str(&out, "23:59:59.951");
        else
            column_print(&batch_builder_view(b)->columns[c], 0, &out);
    }
    ck_assert_str_eq(buf_cstr(&out), "false|-49|-49|null|-49|0.5|0.5|1237940039285380274899124.224|null|[108, 49]|1969-11-13|23:59:59.951|"
                                     "1969-12-31 23:59:59.999951|null|-0 00:00:00.049|-4-01");
    buf_release(&out);
    batch_builder_free(b);
}
END_TEST

START_TEST(elements_free_what_they_carry)
{
    struct batch_builder *b = batch_builder_new(&schema);
    struct barrier barrier = {.checkpoint_id = 7, .kind = CHECKPOINT_SAVEPOINT};
    struct element *e;

    append_row(b, 1);
    e = element_new_batch(batch_take(b));
    ck_assert(e->kind == ELEMENT_BATCH && e->batch->rows == 1);
    element_free(e);
    e = element_new_barrier(&barrier);
    ck_assert(e->kind == ELEMENT_BARRIER && e->barrier.checkpoint_id == 7);
    element_free(e);
    e = element_new_watermark(WATERMARK_MAX);
    ck_assert(e->kind == ELEMENT_WATERMARK && e->watermark_ms == WATERMARK_MAX);
    element_free(e);
    element_free(element_new_idle());
    element_free(element_new_end());
    element_free(NULL);
    batch_builder_free(b);
}
END_TEST

TEST_MAIN("batch", tcase_add_test(tc, rows_come_back_as_they_were_appended); tcase_add_test(tc, doubled_rows_stand_twice);
          tcase_add_test(tc, abandoned_row_leaves_no_trace);
          tcase_add_loop_test(tc, gathered_rows_are_those_asked_for, 0, ARRAY_LEN(picks));
          tcase_add_test(tc, columns_are_gathered_by_their_map); tcase_add_test(tc, builder_is_full_at_its_rows_or_its_bytes);
          tcase_add_test(tc, all_null_and_empty_columns_have_buffers);
          tcase_add_test_raise_signal(tc, column_out_of_order_is_a_broken_promise, SIGABRT);
          tcase_add_test(tc, values_print_as_in_the_print_sink); tcase_add_test(tc, elements_free_what_they_carry);)
