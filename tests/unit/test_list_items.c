#include "job/list_items.h"

#include "job/source/file_position.h"
#include "sink/committable.h"
#include "sink/log_record.h"
#include "sink/sink.h"
#include "tests/lib/check_ext.h"

static struct arena *arena;

static void setup(void)
{
    arena = arena_new(0);
}

static void teardown(void)
{
    arena_free(arena);
}

static void ck_assert_described(const char *list, struct bytes item, const char *want)
{
    json_t *o = list_item_describe(list, item);
    struct buf text = {0};

    ck_assert_msg(o != NULL, "not understood; %s", want);
    json_dump_to(o, false, &text);
    ck_assert_str_eq(buf_cstr(&text), want);
    buf_release(&text);
    json_decref(o);
}

START_TEST(a_file_position_says_folder_file_offset_and_line)
{
    struct file_entry entry = {.path = "2026/a.csv", .offset = 1234, .line = 57, .mine = true};
    struct file_entries entries = {&entry, 1};
    struct bytes *items;
    size_t count;

    file_positions_encode("/in", &entries, arena, &items, &count);
    ck_assert_uint_eq(count, 2);
    ck_assert_described(SOURCE_POSITIONS_LIST, items[0], "{\"what\":\"reads\",\"path\":\"/in\"}");
    ck_assert_described(SOURCE_POSITIONS_LIST, items[1],
                        "{\"what\":\"file position\",\"path\":\"2026/a.csv\",\"offset\":1234,"
                        "\"line\":57,\"done\":false}");
}
END_TEST

START_TEST(positions_of_datagen_and_values_are_told_apart)
{
    uint8_t position[16];

    put_be64(position, 1000);
    put_be64(position + 8, 4);
    ck_assert_described(SOURCE_POSITIONS_LIST, bytes_of(position, 16),
                        "{\"what\":\"row numbers\",\"next\":1000,\"step\":4}");
    ck_assert_described(SOURCE_POSITIONS_LIST, bytes_of(position, 8),
                        "{\"what\":\"VALUES\",\"rows_emitted\":1000}");
}
END_TEST

START_TEST(a_pending_part_is_shown_under_its_final_name)
{
    const char *uuid = "01234567-89ab-4def-8123-456789abcdef";
    char name[PART_NAME_MAX], temp_name[PART_NAME_MAX];
    struct sink_item item = {.kind = ITEM_PENDING,
                             .part = {.base = "/out",
                                      .bucket = "day=1",
                                      .name = name,
                                      .temp_name = temp_name,
                                      .checkpoint_id = 7,
                                      .size_bytes = 99,
                                      .row_count = 3}};
    struct bytes bytes;

    part_name_make(uuid, 0, 5, name);
    part_temp_name_make(name, uuid, temp_name);
    bytes = committable_encode(&item, arena);
    ck_assert_described(SINK_STATE_COMMITTABLES, bytes,
                        arena_printf(arena,
                                     "{\"what\":\"pending part\",\"path\":\"/out/day=1/%s\","
                                     "\"hidden_as\":\"%s\",\"rows\":3,\"size\":99,"
                                     "\"checkpoint\":7}",
                                     name, temp_name));
}
END_TEST

START_TEST(logs_that_wait_are_shown_with_their_rows)
{
    struct log_entry log = {.number = 4, .checkpoint_id = 7, .size_bytes = 99, .row_count = 3};
    struct log_record r = {.uuid = "01234567-89ab-4def-8123-456789abcdef",
                           .subtask_index = 2,
                           .last_number = 4,
                           .log_count = 1,
                           .logs = &log};

    ck_assert_described(SINK_STATE_COMMITTABLES, log_record_encode(&r, arena),
                        "{\"what\":\"rows in logs\",\"writer\":\"01234567-89ab-4def-8123-456789abcdef\","
                        "\"subtask\":2,\"last_log\":4,\"waiting\":[{\"log\":\"01234567-89ab-4def-8123-"
                        "456789abcdef-2-4.log\",\"rows\":3,\"size\":99,\"checkpoint\":7}]}");
}
END_TEST

START_TEST(where_a_writer_of_logs_stood_is_shown)
{
    struct log_position p = {
        .uuid = "01234567-89ab-4def-8123-456789abcdef", .subtask_index = 2, .last_number = 4};

    ck_assert_described(SINK_STATE_WRITER, log_position_encode(&p, arena),
                        "{\"what\":\"log writer\",\"writer\":\"01234567-89ab-4def-8123-456789abcdef\","
                        "\"subtask\":2,\"last_log\":4,\"earlier\":false}");
}
END_TEST

/* Damaged bytes, and lists of others. */
START_TEST(what_is_not_known_is_nothing)
{
    static const uint8_t odd[] = {2, 0xff, 0xff, 0xff};

    ck_assert_ptr_null(list_item_describe(SOURCE_POSITIONS_LIST, bytes_of(odd, sizeof odd)));
    ck_assert_ptr_null(list_item_describe(SOURCE_POSITIONS_LIST, bytes_of(odd, 0)));
    ck_assert_ptr_null(list_item_describe(SINK_STATE_COMMITTABLES, bytes_of(odd, sizeof odd)));
    ck_assert_ptr_null(list_item_describe("splits", bytes_of_str("12345678")));
}
END_TEST

TEST_MAIN("list_items", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, logs_that_wait_are_shown_with_their_rows);
          tcase_add_test(tc, where_a_writer_of_logs_stood_is_shown);
          tcase_add_test(tc, a_file_position_says_folder_file_offset_and_line);
          tcase_add_test(tc, positions_of_datagen_and_values_are_told_apart);
          tcase_add_test(tc, a_pending_part_is_shown_under_its_final_name);
          tcase_add_test(tc, what_is_not_known_is_nothing);)
