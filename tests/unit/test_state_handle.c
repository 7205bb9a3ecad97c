/* links: backend */
#include "backend/state_handle.h"
#include "tests/lib/check_ext.h"

/* A copy must survive its origin: every string, array and slice is overwritten and freed first. */
START_TEST(copy_of_a_subtask_outlives_the_original)
{
    struct arena *from = arena_new(0), *to = arena_new(0);
    struct state_desc desc = {arena_strdup(from, "acc"),
                              STATE_VALUE,
                              arena_strdup(from, "ROW<INT>"),
                              "VOID",
                              "",
                              arena_strdup(from, "BIGINT"),
                              8,
                              0,
                              "",
                              0};
    uint8_t *inl = arena_copy(from, "abc", 3);
    struct state_file files[2] = {
        {.local_name = arena_strdup(from, "CURRENT"),
         .inline_bytes = bytes_of(inl, 3),
         .size_bytes = 3,
         .newly_written = true},
        {.local_name = "000023.sst",
         .scope = FILE_SHARED,
         .path = arena_strdup(from, "../shared/x"),
         .size_bytes = 100},
    };
    uint64_t offsets[2] = {7, 9};
    struct keyed_handle keyed = {
        KEYED_ROCKS, {3, 4}, 128, arena_strdup(from, "id"), 1, &desc, 2, files, 2, offsets, 42, 99};
    struct bytes items[2] = {bytes_of(arena_copy(from, "xyz", 3), 3), {NULL, 0}};
    struct list_state list = {arena_strdup(from, "pos"), LIST_UNION, 2, items};
    struct state_file log = {
        .local_name = "", .scope = FILE_TASKOWNED, .path = arena_strdup(from, "../taskowned/l"), .size_bytes = 7};
    struct channel_handle channel = {
        .from_id = arena_strdup(from, "0123"),
        .partitioning = arena_strdup(from, "HASH(0)"),
        .row_type = arena_strdup(from, "BIGINT"),
        .row_count = 11,
        .file = {.local_name = "", .scope = FILE_EXCLUSIVE, .path = arena_strdup(from, "s-1.bin"), .size_bytes = 50, .newly_written = true}};
    struct state_file stream = {
        .local_name = "", .scope = FILE_EXCLUSIVE, .path = arena_strdup(from, "lists"), .size_bytes = 20};
    struct subtask_state s = {5, false, 1, &keyed, 1, &list, 1, &log, 1, &channel, 1, &stream}, copy;
    uint64_t full, fresh;

    subtask_state_copy(to, &s, &copy);
    memset(inl, 'X', 3);
    memset(files, 0xAA, sizeof files);
    memset(offsets, 0xAA, sizeof offsets);
    memset(&desc, 0xAA, sizeof desc);
    memset(items, 0xAA, sizeof items);
    memset(&keyed, 0xAA, sizeof keyed);
    memset(&log, 0xAA, sizeof log);
    memset(&channel, 0xAA, sizeof channel);
    memset(&stream, 0xAA, sizeof stream);
    arena_free(from);
    ck_assert_uint_eq(copy.subtask_index, 5);
    ck_assert_str_eq(copy.keyed[0].states[0].key_type, "ROW<INT>");
    ck_assert_str_eq(copy.keyed[0].files[0].local_name, "CURRENT");
    ck_assert_bytes_str(copy.keyed[0].files[0].inline_bytes, "abc");
    ck_assert_str_eq(copy.keyed[0].files[1].path, "../shared/x");
    ck_assert_uint_eq(copy.keyed[0].group_offsets[1], 9);
    ck_assert_uint_eq(copy.keyed[0].entry_count, 42);
    ck_assert_int_eq(copy.keyed[0].ttl_clock_ms, 99);
    ck_assert_bytes_str(copy.lists[0].items[0], "xyz");
    ck_assert_uint_eq(copy.lists[0].items[1].len, 0);
    ck_assert_str_eq(copy.logs[0].path, "../taskowned/l");
    ck_assert_str_eq(copy.channels[0].from_id, "0123");
    ck_assert_str_eq(copy.channels[0].partitioning, "HASH(0)");
    ck_assert_str_eq(copy.channels[0].row_type, "BIGINT");
    ck_assert_str_eq(copy.channels[0].file.path, "s-1.bin");
    ck_assert_str_eq(copy.streams[0].path, "lists");
    subtask_state_sizes(&copy, &full, &fresh);
    ck_assert_uint_eq(full, 183);
    ck_assert_uint_eq(fresh, 56);
    arena_free(to);
}
END_TEST

TEST_MAIN("state_handle", tcase_add_test(tc, copy_of_a_subtask_outlives_the_original))
