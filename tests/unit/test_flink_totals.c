/* links: checkpoint
 *
 * Rows of totals that Flink wrote, as varve has them: narrow integers fill their slots. */
#include "checkpoint/flink/flink_totals.h"

#include "backend/binary_row.h"
#include "tests/lib/check_ext.h"

START_TEST(narrow_integers_get_their_sign_and_nothing_else_changes)
{
    static const enum field_kind kinds[] = {FIELD_I64, FIELD_I8, FIELD_I16, FIELD_I32, FIELD_I32, FIELD_F64}, whole[] = {FIELD_I64, FIELD_I64, FIELD_I64, FIELD_I64, FIELD_I64, FIELD_F64};
    struct state_desc d = {.name = "accState", .value_type = "ROW<`COUNT(*)` BIGINT, `MIN(a)` TINYINT, `MIN(b)` SMALLINT, `MIN(c)` INT, `MAX(c)` INT, `MAX(x)` DOUBLE>", .ttl_ms = 1};
    struct arena *arena = arena_new(0);
    const struct narrow_slot *slots;
    struct row_layout l, w;
    struct row_writer writer;
    struct buf value = {0};
    uint8_t *row;
    size_t count;

    row_layout_init(&l, kinds, 6);
    row_layout_init(&w, whole, 6);
    buf_append_be64(&value, 5); /* the last access */
    buf_append_be32(&value, row_layout_size(&l));
    row_writer_begin(&writer, &l, &value);
    row_write_int(&writer, 0, -1);
    row_write_int(&writer, 1, -2);
    row_write_int(&writer, 2, -3);
    row_write_int(&writer, 3, -4);
    row_write_int(&writer, 4, INT32_MAX);
    row_write_null(&writer, 5);
    count = flink_totals_narrow(&d, arena, &slots);
    ck_assert_uint_eq(count, 4);
    row = value.data + 12;
    ck_assert_int_eq(binary_row_int(&w, row, 3), 0xFFFFFFFCll); /* as Flink has it */
    flink_totals_widen(slots, count, value.data);
    ck_assert_int_eq(binary_row_int(&w, row, 0), -1);
    ck_assert_int_eq(binary_row_int(&w, row, 1), -2);
    ck_assert_int_eq(binary_row_int(&w, row, 2), -3);
    ck_assert_int_eq(binary_row_int(&w, row, 3), -4);
    ck_assert_int_eq(binary_row_int(&w, row, 4), INT32_MAX);
    ck_assert(binary_row_is_null(row, 5));
    ck_assert_int_eq(binary_row_int(&l, row, 3), -4); /* Flink reads it the same way */
    d.name = "rows";
    ck_assert_uint_eq(flink_totals_narrow(&d, arena, &slots), 0);
    d = (struct state_desc){.name = "window-aggs", .value_type = "ROW<>"};
    ck_assert_uint_eq(flink_totals_narrow(&d, arena, &slots), 0);
    buf_release(&value);
    arena_free(arena);
}
END_TEST

TEST_MAIN("flink_totals", tcase_add_test(tc, narrow_integers_get_their_sign_and_nothing_else_changes);)
