/* Rows as PostgreSQL's COPY reads them; what the server makes of them: tests/e2e/postgres.py. */
#include "job/operator/copy_rows.h"

#include "tests/lib/check_ext.h"

static struct batch_builder *rows;
static struct schema schema;
static struct schema_field fields[5];
static struct buf out;
static struct err err;
static const struct pg_column columns[5] = {
    {.name = "b"}, {.name = "i"}, {.name = "t"}, {.name = "x"}, {.name = "d"}};
static const uint32_t key = 1;
static const struct pg_table plain = {.name = "target", .column_count = 5, .columns = columns},
                             keyed = {.name = "target", .column_count = 5, .columns = columns,
                                      .key_count = 1, .key = &key};

static void setup(void)
{
    fields[0] = (struct schema_field){"b", type_of(TYPE_BOOLEAN)};
    fields[1] = (struct schema_field){"i", type_of(TYPE_BIGINT)};
    fields[2] = (struct schema_field){"t", type_of(TYPE_VARCHAR)};
    fields[3] = (struct schema_field){"x", type_of(TYPE_VARBINARY)};
    fields[4] = (struct schema_field){"d", type_of(TYPE_DOUBLE)};
    schema = (struct schema){.field_count = 5, .fields = fields, .rowtime = -1};
    rows = batch_builder_new(&schema);
    out = (struct buf){0};
    err = (struct err){0};
}
static void teardown(void)
{
    batch_builder_free(rows);
    buf_release(&out);
}

static enum rc row(const char *text, size_t len, enum row_kind kind, const struct pg_table *table)
{
    batch_append_bool(rows, 0, true);
    batch_append_int(rows, 1, -7);
    batch_append_bytes(rows, 2, bytes_of(text, len));
    batch_append_bytes(rows, 3, bytes_of("\x00\xff", 2));
    batch_append_double(rows, 4, -__builtin_inf());
    batch_row_end(rows, kind);
    return copy_row_append(batch_builder_view(rows), 0, table, &out, &err);
}

START_TEST(text_is_escaped)
{
    ck_assert_ok(row("a\tb\nc\\d\re\b\f\v", 12, ROW_INSERT, &plain));
    ck_assert_str_eq(buf_cstr(&out),
                     "t\t-7\ta\\tb\\nc\\\\d\\re\\b\\f\\v\t\\\\x00ff\t-Infinity\n");
}
END_TEST

/* The server refuses it at the commit: the checkpoint that holds the row would be lost for good. */
START_TEST(a_nul_in_a_text_is_refused_with_table_and_column)
{
    ck_assert_rc_msg(row("a\0b", 3, ROW_INSERT, &plain), RC_INVALID,
                     "table target: column t: a text of 3 bytes has a NUL at byte 2");
}
END_TEST

static const struct {
    enum row_kind kind;
    char op;
} kinds[] = {{ROW_INSERT, 'U'}, {ROW_UPDATE_AFTER, 'U'}, {ROW_UPDATE_BEFORE, 'D'}, {ROW_DELETE, 'D'}};
START_TEST(the_kind_of_a_row_is_what_is_done)
{
    ck_assert_ok(row("", 0, kinds[_i].kind, &keyed));
    ck_assert_int_eq(out.data[0], kinds[_i].op);
    ck_assert_int_eq(out.data[1], '\t');
}
END_TEST

START_TEST(null_is_told_from_empty_text)
{
    for (uint32_t i = 0; i < 5; i++)
        batch_append_null(rows, i);
    batch_row_end(rows, ROW_INSERT);
    ck_assert_ok(copy_row_append(batch_builder_view(rows), 0, &plain, &out, &err));
    ck_assert_str_eq(buf_cstr(&out), "\\N\t\\N\t\\N\t\\N\t\\N\n");
}
END_TEST

TEST_MAIN("copy_rows", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, text_is_escaped); tcase_add_test(tc, a_nul_in_a_text_is_refused_with_table_and_column);
          tcase_add_loop_test(tc, the_kind_of_a_row_is_what_is_done, 0, ARRAY_LEN(kinds));
          tcase_add_test(tc, null_is_told_from_empty_text);)
