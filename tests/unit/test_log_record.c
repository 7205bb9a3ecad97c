/* links: sink */
/* What a write-ahead sink hands to a checkpoint: there and back, and what is refused. */
#include "sink/log_record.h"

#include "tests/lib/check_ext.h"

#define UUID "0cdd323a-ba16-48a0-bf17-4149b332e2ff"

static struct arena *arena;
static struct err err;
static struct log_entry logs[2];
static struct log_record record;

static void setup(void)
{
    arena = arena_new(0);
    err = (struct err){0};
    logs[0] = (struct log_entry){3, 7, 100, 10, digest_of(bytes_of_str("a"))};
    logs[1] = (struct log_entry){5, 8, 200, 20, digest_of(bytes_of_str("b"))};
    record = (struct log_record){
        .uuid = UUID, .subtask_index = 2, .last_number = 5, .log_count = 2, .logs = logs};
}
static void teardown(void)
{
    arena_free(arena);
}

/* docs/FORMAT.md, "Items of the write-ahead sink". */
START_TEST(the_bytes_are_those_of_the_document)
{
    static const uint8_t head[] = {0x76, 0x77, 0x61, 0x6c, 0x01};
    struct bytes b = log_record_encode(&record, arena);

    ck_assert_uint_eq(b.len, 5 + 36 + 4 + 8 + 4 + 2 * 48);
    ck_assert_bytes_eq(bytes_of(b.data, 5), bytes_of(head, 5));
    ck_assert_uint_eq(get_be32(b.data + 41), 2);
    ck_assert_uint_eq(get_be64(b.data + 45), 5);
    ck_assert_uint_eq(get_be32(b.data + 53), 2);
    ck_assert_uint_eq(get_be64(b.data + 57), 3);
    ck_assert(log_record_recognise(b));
}
END_TEST

START_TEST(decoding_gives_back_what_was_encoded)
{
    struct log_record back;

    ck_assert_ok(log_record_decode(log_record_encode(&record, arena), arena, "i", &back, &err));
    ck_assert_str_eq(back.uuid, UUID);
    ck_assert_uint_eq(back.log_count, 2);
    ck_assert_uint_eq(back.logs[1].number, 5);
    ck_assert_uint_eq(back.logs[1].row_count, 20);
    ck_assert(digest_eq(back.logs[0].digest, logs[0].digest));
}
END_TEST

START_TEST(a_cut_anywhere_is_refused)
{
    struct bytes whole = log_record_encode(&record, arena);
    struct log_record back;

    for (size_t len = 0; len < whole.len; len++)
        ck_assert_rc_msg(log_record_decode(bytes_of(whole.data, len), arena, "i", &back, &err),
                         RC_CORRUPT, "i: ");
}
END_TEST

static const struct {
    size_t at;
    uint8_t value;
    enum rc rc;
    const char *said;
} changes[] = {
    {0, 'x', RC_CORRUPT, "not an item of a write-ahead sink"},
    {4, 2, RC_VERSION, "this program reads version 1"},
    {5, 'G', RC_CORRUPT, "uuid at offset 5"},
    {45, 0x80, RC_CORRUPT, "past 2^63-1"},
    {53, 1, RC_CORRUPT, "logs do not fit"},
    {64, 0, RC_CORRUPT, "log number 0"},
    {64 + 48, 3, RC_CORRUPT, "log number 3"},
    {64 + 48, 6, RC_CORRUPT, "log number 6"},
    {57 + 16, 0x80, RC_CORRUPT, "is no file's"},
};
START_TEST(what_breaks_a_rule_is_refused_with_place_and_value)
{
    struct bytes whole = log_record_encode(&record, arena);
    uint8_t *copy = arena_copy(arena, whole.data, whole.len);
    struct log_record back;

    copy[changes[_i].at] = changes[_i].value;
    ck_assert_rc_msg(log_record_decode(bytes_of(copy, whole.len), arena, "i", &back, &err),
                     changes[_i].rc, changes[_i].said);
}
END_TEST

static struct log_position position = {
    .uuid = UUID, .subtask_index = 2, .last_number = 5, .earlier = true};

START_TEST(a_position_comes_back_and_its_bytes_are_those_of_the_document)
{
    struct bytes b = log_position_encode(&position, arena);
    struct log_position back;

    ck_assert_uint_eq(b.len, 5 + 36 + 4 + 8 + 1);
    ck_assert_bytes_eq(bytes_of(b.data, 5), bytes_of("vwlp\x01", 5));
    ck_assert_uint_eq(b.data[53], 1);
    ck_assert(log_position_recognise(b) && !log_record_recognise(b));
    ck_assert_ok(log_position_decode(b, "i", &back, &err));
    ck_assert_str_eq(back.uuid, UUID);
    ck_assert_uint_eq(back.subtask_index, 2);
    ck_assert_uint_eq(back.last_number, 5);
    ck_assert(back.earlier);
}
END_TEST

START_TEST(a_damaged_position_is_refused)
{
    struct bytes whole = log_position_encode(&position, arena);
    uint8_t *copy = arena_copy(arena, whole.data, whole.len);
    struct log_position back;

    for (size_t len = 0; len < whole.len; len++)
        ck_assert_rc_msg(log_position_decode(bytes_of(copy, len), "i", &back, &err), RC_CORRUPT, "i: ");
    copy[53] = 2;
    err_clear(&err);
    ck_assert_rc_msg(log_position_decode(bytes_of(copy, whole.len), "i", &back, &err), RC_CORRUPT,
                     "i: earlier at offset 53 is 2");
    err_clear(&err);
    ck_assert_rc_msg(log_position_decode(log_record_encode(&record, arena), "i", &back, &err),
                     RC_CORRUPT, "not an item of a write-ahead sink");
}
END_TEST

TEST_MAIN("log_record", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, the_bytes_are_those_of_the_document);
          tcase_add_test(tc, decoding_gives_back_what_was_encoded);
          tcase_add_test(tc, a_cut_anywhere_is_refused);
          tcase_add_test(tc, a_position_comes_back_and_its_bytes_are_those_of_the_document);
          tcase_add_test(tc, a_damaged_position_is_refused);
          tcase_add_loop_test(tc, what_breaks_a_rule_is_refused_with_place_and_value, 0,
                              ARRAY_LEN(changes));)
