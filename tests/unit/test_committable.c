/* links: sink */
/* Items of a file sink in a checkpoint: names, bytes there and back, and what is refused. */
#include "sink/committable.h"

#include "tests/lib/check_ext.h"
#include "tests/lib/gen.h"

#define UUID_A "0cdd323a-ba16-48a0-bf17-4149b332e2ff"
#define UUID_B "fd9bd284-0000-4fff-8abc-0123456789ab"
#define NAME "part-" UUID_A "-3-17"
#define TEMP "." NAME ".inprogress." UUID_B

static struct arena *arena;
static struct err err;

static void setup(void)
{
    arena = arena_new(0);
    err = (struct err){0};
}
static void teardown(void)
{
    arena_free(arena);
}

static struct sink_item pending(void)
{
    return (struct sink_item){.kind = ITEM_PENDING,
                              .part = {.base = "/data/out",
                                       .bucket = "dt=1/h=x y",
                                       .name = NAME,
                                       .temp_name = TEMP,
                                       .checkpoint_id = 42,
                                       .size_bytes = 1u << 20,
                                       .row_count = 77,
                                       .digest = digest_of(bytes_of_str("x")),
                                       .created_wall_ms = 1764442800000,
                                       .last_write_wall_ms = -1}};
}
static struct sink_item writer(void)
{
    return (struct sink_item){
        .kind = ITEM_WRITER,
        .writer = {.base = "/", .uuid = UUID_A, .subtask_index = 5, .next_counter = UINT64_MAX}};
}

START_TEST(names_are_the_references)
{
    char name[PART_NAME_MAX], temp[PART_NAME_MAX];

    part_name_make(UUID_A, 3, 17, name);
    part_temp_name_make(name, UUID_B, temp);
    ck_assert_str_eq(name, NAME);
    ck_assert_str_eq(temp, TEMP);
}
END_TEST

static const struct {
    const char *name;
    bool ours;
} hidden_names[] = {
    {TEMP, true},
    {".part-" UUID_A "-0-0.inprogress." UUID_B, true},
    {".part-" UUID_A "-0-18446744073709551615.inprogress." UUID_B, true},
    {".part-" UUID_A "-0-18446744073709551616.inprogress." UUID_B, false},
    {".part-" UUID_A "-4294967296-0.inprogress." UUID_B, false},
    {".part-" UUID_A "-00-0.inprogress." UUID_B, false},
    {".part-" UUID_A "-0-.inprogress." UUID_B, false},
    {NAME, false},
    {"." NAME, false},
    {TEMP "x", false},
    {".part-0CDD323A-BA16-48A0-BF17-4149B332E2FF-0-0.inprogress." UUID_B, false},
    {".part-" UUID_A "-0-0.inprogress.", false},
    {".bashrc", false},
    {"", false},
};
START_TEST(only_hidden_names_of_ours_are_recognised)
{
    char uuid[UUID_LEN + 1];
    uint32_t subtask;
    uint64_t counter;

    ck_assert_msg(part_temp_name_parse(hidden_names[_i].name, uuid, &subtask, &counter) ==
                      hidden_names[_i].ours,
                  "%s", hidden_names[_i].name);
    if (_i == 0)
        ck_assert(strcmp(uuid, UUID_A) == 0 && subtask == 3 && counter == 17);
}
END_TEST

static const struct {
    const char *bucket;
    bool valid;
} buckets[] = {
    {"", true},   {"a=1", true}, {"a=1/b=x", true}, {"a=%2F", true}, {"k=\xc3\xa9", true},
    {".x", true}, {"/", false},  {"/a", false},     {"a/", false},   {"a//b", false},
    {".", false}, {"..", false}, {"a/../b", false}, {"a\nb", false}, {"a\x7f", false},
};
START_TEST(bucket_stays_below_its_sink)
{
    ck_assert_msg(bucket_path_valid(bytes_of_str(buckets[_i].bucket)) == buckets[_i].valid,
                  "\"%s\"", buckets[_i].bucket);
}
END_TEST

START_TEST(item_comes_back_as_it_was)
{
    struct sink_item item = _i == 2 ? writer() : pending(), back;
    struct bytes bytes;

    if (_i == 1)
        item.kind = ITEM_OPEN;
    bytes = committable_encode(&item, arena);
    ck_assert_ok(committable_decode(bytes, arena, "item", &back, &err));
    ck_assert_int_eq(back.kind, item.kind);
    if (_i == 2) {
        ck_assert_str_eq(back.writer.base, "/");
        ck_assert_str_eq(back.writer.uuid, UUID_A);
        ck_assert_uint_eq(back.writer.subtask_index, 5);
        ck_assert_uint_eq(back.writer.next_counter, UINT64_MAX);
        return;
    }
    ck_assert_str_eq(back.part.base, item.part.base);
    ck_assert_str_eq(back.part.bucket, item.part.bucket);
    ck_assert_str_eq(back.part.name, item.part.name);
    ck_assert_str_eq(back.part.temp_name, item.part.temp_name);
    ck_assert_uint_eq(back.part.checkpoint_id, 42);
    ck_assert_uint_eq(back.part.size_bytes, 1u << 20);
    ck_assert_uint_eq(back.part.row_count, 77);
    ck_assert(digest_eq(back.part.digest, item.part.digest));
    ck_assert_int_eq(back.part.created_wall_ms, 1764442800000);
    ck_assert_int_eq(back.part.last_write_wall_ms, -1);
}
END_TEST

/* docs/FORMAT.md shows these bytes. */
START_TEST(writer_item_has_the_documented_bytes)
{
    struct sink_item item = writer();
    struct buf want = {0};

    item.writer.base = "/out";
    item.writer.next_counter = 9;
    buf_append(&want, "vsnk\x01\x03\x04/out\x24" UUID_A "\0\0\0\x05\0\0\0\0\0\0\0\x09",
               6 + 1 + 4 + 1 + 36 + 4 + 8);
    ck_assert_bytes_eq(committable_encode(&item, arena), buf_bytes(&want));
    buf_release(&want);
}
END_TEST

START_TEST(cut_item_is_corrupt_at_every_length)
{
    struct sink_item item = _i == 0 ? pending() : writer(), back;
    struct bytes whole = committable_encode(&item, arena);

    for (size_t len = 0; len < whole.len; len++)
        ck_assert_rc_msg(
            committable_decode(bytes_of(whole.data, len), arena, "item 7", &back, &err), RC_CORRUPT,
            "item 7");
}
END_TEST

START_TEST(foreign_versions_kinds_and_paths_are_refused)
{
    struct sink_item item = pending(), back;
    struct bytes good = committable_encode(&item, arena);
    uint8_t *bytes = arena_copy(arena, good.data, good.len);
    struct buf longer = {0};

    bytes[0] ^= 1;
    ck_assert_rc_msg(committable_decode(bytes_of(bytes, good.len), arena, "i", &back, &err),
                     RC_CORRUPT, "not an item");
    bytes[0] ^= 1;
    bytes[4] = 2;
    ck_assert_rc_msg(committable_decode(bytes_of(bytes, good.len), arena, "i", &back, &err),
                     RC_VERSION, "version 2");
    bytes[4] = 1;
    bytes[5] = 9;
    ck_assert_rc_msg(committable_decode(bytes_of(bytes, good.len), arena, "i", &back, &err),
                     RC_CORRUPT, "kind 9");
    buf_append(&longer, good.data, good.len);
    buf_append_u8(&longer, 0);
    ck_assert_rc_msg(committable_decode(buf_bytes(&longer), arena, "i", &back, &err), RC_CORRUPT,
                     "too many");
    buf_release(&longer);
    item.part.bucket = "../../etc";
    ck_assert_rc_msg(committable_decode(committable_encode(&item, arena), arena, "i", &back, &err),
                     RC_CORRUPT, "bucket");
    item = pending();
    item.part.base = "out";
    ck_assert_rc_msg(committable_decode(committable_encode(&item, arena), arena, "i", &back, &err),
                     RC_CORRUPT, "sink directory");
    item = pending();
    item.part.name = "../passwd";
    ck_assert_rc_msg(committable_decode(committable_encode(&item, arena), arena, "i", &back, &err),
                     RC_CORRUPT, "part name");
    item = pending();
    item.part.temp_name = "visible";
    ck_assert_rc_msg(committable_decode(committable_encode(&item, arena), arena, "i", &back, &err),
                     RC_CORRUPT, "hidden name");
    item = pending();
    item.part.size_bytes = UINT64_MAX;
    ck_assert_rc_msg(committable_decode(committable_encode(&item, arena), arena, "i", &back, &err),
                     RC_CORRUPT, "no file's");
}
END_TEST

START_TEST(damaged_item_never_leads_out_of_its_directory)
{
    struct rng rng;

    rng_seed(&rng, (uint64_t)_i);
    for (int i = 0; i < 2000; i++) {
        struct sink_item item = rng_below(&rng, 4) == 0 ? writer() : pending(), back;
        struct bytes good = committable_encode(&item, arena);
        uint8_t *bytes = arena_copy(arena, good.data, good.len);
        size_t len = gen_damage(&rng, bytes, good.len);

        if (committable_decode(bytes_of(bytes, len), arena, "i", &back, &err) == RC_OK &&
            back.kind != ITEM_WRITER) {
            ck_assert(bucket_path_valid(bytes_of_str(back.part.bucket)));
            ck_assert(back.part.base[0] == '/' && strstr(back.part.base, "/../") == NULL);
            ck_assert_ptr_null(strchr(back.part.name, '/'));
            ck_assert_ptr_null(strchr(back.part.temp_name, '/'));
        }
        err_clear(&err);
        arena_reset(arena);
    }
}
END_TEST

TEST_MAIN("committable", {
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, names_are_the_references);
    tcase_add_loop_test(tc, only_hidden_names_of_ours_are_recognised, 0, ARRAY_LEN(hidden_names));
    tcase_add_loop_test(tc, bucket_stays_below_its_sink, 0, ARRAY_LEN(buckets));
    tcase_add_loop_test(tc, item_comes_back_as_it_was, 0, 3);
    tcase_add_test(tc, writer_item_has_the_documented_bytes);
    tcase_add_loop_test(tc, cut_item_is_corrupt_at_every_length, 0, 2);
    tcase_add_test(tc, foreign_versions_kinds_and_paths_are_refused);
    tcase_add_loop_test(tc, damaged_item_never_leads_out_of_its_directory, 0, 4);
})
