/* links: checkpoint */
#include "checkpoint/layout.h"

#include "tests/lib/check_ext.h"

/* What the builders never make must stay a stranger: strangers are never deleted or restored. */
static const struct {
    const char *name;
    uint64_t id; /* 0: refused */
} checkpoint_names[] = {
    {"chk-1", 1},
    {"chk-42", 42},
    {"chk-9223372036854775807", 9223372036854775807u},
    {"chk-9223372036854775808", 0},
    {"chk-99999999999999999999999", 0},
    {"chk-0", 0},
    {"chk-07", 0},
    {"chk-", 0},
    {"chk-7x", 0},
    {"chk--7", 0},
    {"chk-+7", 0},
    {"chk- 7", 0},
    {"CHK-7", 0},
    {"xchk-7", 0},
    {"chk-7/", 0},
    {"", 0},
};

START_TEST(only_chk_and_a_plain_number_is_a_checkpoint)
{
    uint64_t id = 0;
    bool ok = layout_parse_checkpoint(checkpoint_names[_i].name, &id);
    char built[LAYOUT_NAME_MAX];

    ck_assert_msg(ok == (checkpoint_names[_i].id != 0), "%s: %d", checkpoint_names[_i].name, ok);
    if (!ok)
        return;
    ck_assert_uint_eq(id, checkpoint_names[_i].id);
    layout_checkpoint_name(id, built);
    ck_assert_str_eq(built, checkpoint_names[_i].name);
}
END_TEST

START_TEST(the_mark_of_a_savepoint_is_a_name_of_its_own)
{
    char built[LAYOUT_NAME_MAX];
    uint64_t id = 0;

    layout_savepoint_mark(INT64_MAX, built);
    ck_assert_str_eq(built, "SAVEPOINT-9223372036854775807");
    ck_assert(layout_parse_savepoint_mark(built, &id));
    ck_assert_uint_eq(id, INT64_MAX);
    ck_assert(!layout_parse_savepoint_mark("SAVEPOINT-0", &id));
    ck_assert(!layout_parse_savepoint_mark("SAVEPOINT-1x", &id));
    ck_assert(!layout_parse_savepoint_mark("chk-1", &id));
    ck_assert(!layout_is_savepoint(built));
    ck_assert(layout_is_note_temp("._ORIGIN.tmp") && layout_is_note_temp("._ENDED.tmp"));
    ck_assert(layout_is_note_temp(".tmp-0123456789abcdef"));
    ck_assert(!layout_is_note_temp("._metadata.tmp") && !layout_is_note_temp("ORIGIN"));
}
END_TEST

static const struct {
    const char *name;
    bool shared, exclusive, temp, savepoint, job_id, plain;
} names[] = {
    {"00112233445566778899aabbccddeeff.sst", true, false, false, false, false, true},
    {"00112233445566778899aabbccddeefF.sst", false, false, false, false, false, true},
    {"00112233445566778899aabbccddeeff.SST", false, false, false, false, false, true},
    {"00112233445566778899aabbccddee.sst", false, false, false, false, false, true},
    {"00112233445566778899aabbccddeeff.sst.sst", false, false, false, false, false, true},
    {"s-0.bin", false, true, false, false, false, true},
    {"s-12.bin", false, true, false, false, false, true},
    {"s-012.bin", false, false, false, false, false, true},
    {"s-.bin", false, false, false, false, false, true},
    {"s-1.bin2", false, false, false, false, false, true},
    {".tmp-0123456789abcdef", false, false, true, false, false, true},
    {".tmp-0123456789abcdeg", false, false, false, false, false, true},
    {".tmp-0123456789abcdef0", false, false, false, false, false, true},
    {"._metadata.tmp", false, false, true, false, false, true},
    {"savepoint-012345-0123456789ab", false, false, false, true, false, true},
    {"savepoint-012345-0123456789a", false, false, false, false, false, true},
    {"savepoint-01234-00123456789ab", false, false, false, false, false, true},
    {"savepoint-012345_0123456789ab", false, false, false, false, false, true},
    {"savepoint-", false, false, false, false, false, true},
    {"0123456789abcdef0123456789abcdef", false, false, false, false, true, true},
    {"0123456789abcdef0123456789abcdeF", false, false, false, false, false, true},
    {"0123456789abcdef0123456789abcde", false, false, false, false, false, true},
    {"_metadata", false, false, false, false, false, false},
    {".", false, false, false, false, false, false},
    {"..", false, false, false, false, false, false},
    {"", false, false, false, false, false, false},
    {"a/b", false, false, false, false, false, false},
    {"../x", false, false, false, false, false, false},
    {"a\nb", false, false, false, false, false, false},
    {"a\x7f", false, false, false, false, false, false},
    {"...", false, false, false, false, false, true},
};

START_TEST(each_parser_takes_its_own_names_alone)
{
    struct digest128 digest;
    uint64_t index;
    const char *name = names[_i].name;

    ck_assert_msg(layout_parse_shared(name, &digest) == names[_i].shared, "%s", name);
    ck_assert_msg(layout_parse_exclusive(name, &index) == names[_i].exclusive, "%s", name);
    ck_assert_msg(layout_is_temp(name) == names[_i].temp, "%s", name);
    ck_assert_msg(layout_is_savepoint(name) == names[_i].savepoint, "%s", name);
    ck_assert_msg(layout_is_job_id(name) == names[_i].job_id, "%s", name);
    ck_assert_msg(layout_is_plain_name(name) == names[_i].plain, "%s", name);
}
END_TEST

START_TEST(what_is_built_is_parsed)
{
    struct rng rng;
    char name[LAYOUT_NAME_MAX];
    struct digest128 digest = digest_of(bytes_of_str("x")), back;
    uint64_t index;

    rng_seed(&rng, 7);
    layout_shared_name(digest, name);
    ck_assert(layout_parse_shared(name, &back) && digest_eq(digest, back));
    layout_exclusive_name(18, name);
    ck_assert(layout_parse_exclusive(name, &index) && index == 18);
    layout_savepoint_name("0123456789abcdef0123456789abcdef", &rng, name);
    ck_assert(layout_is_savepoint(name));
    ck_assert(strncmp(name, "savepoint-012345-", 17) == 0);
}
END_TEST

START_TEST(directories_are_joined)
{
    struct err err = {0};
    char dir[FS_PATH_MAX], small[16];

    ck_assert_ok(layout_job_dir(dir, sizeof dir, "/c", "0123456789abcdef0123456789abcdef", &err));
    ck_assert_str_eq(dir, "/c/0123456789abcdef0123456789abcdef");
    ck_assert_ok(layout_checkpoint_dir(dir, sizeof dir, "/c/job", 12, &err));
    ck_assert_str_eq(dir, "/c/job/chk-12");
    ck_assert_rc(layout_checkpoint_dir(small, sizeof small, "/c/a-longer-job", 12, &err), RC_LIMIT);
}
END_TEST

/* A _metadata that names something else than its own files and its job's shared ones would read,
 * and with a claim delete, what is not its own. */
static const struct {
    const char *path;
    bool shared, exclusive;
} paths[] = {
    {"../shared/00112233445566778899aabbccddeeff.sst", true, false},
    {"s-0.bin", false, true},
    {"00112233445566778899aabbccddeeff.sst", false, true},
    {"../shared/../00112233445566778899aabbccddeeff.sst", false, false},
    {"../shared/", false, false},
    {"../shared/passwd", false, false},
    {"../taskowned/00112233445566778899aabbccddeeff.sst", false, false},
    {"../../shared/00112233445566778899aabbccddeeff.sst", false, false},
    {"/etc/passwd", false, false},
    {"..", false, false},
    {"x/../y", false, false},
    {"", false, false},
};

START_TEST(a_path_cannot_leave_the_job_directory)
{
    struct digest128 digest;

    ck_assert_msg(layout_parse_shared_path(paths[_i].path, &digest) == paths[_i].shared, "%s",
                  paths[_i].path);
    ck_assert_msg(layout_is_exclusive_path(paths[_i].path) == paths[_i].exclusive, "%s",
                  paths[_i].path);
}
END_TEST

TEST_MAIN("layout", tcase_add_test(tc, the_mark_of_a_savepoint_is_a_name_of_its_own);
          tcase_add_loop_test(tc, only_chk_and_a_plain_number_is_a_checkpoint, 0,
                                        ARRAY_LEN(checkpoint_names));
          tcase_add_loop_test(tc, each_parser_takes_its_own_names_alone, 0, ARRAY_LEN(names));
          tcase_add_test(tc, what_is_built_is_parsed); tcase_add_test(tc, directories_are_joined);
          tcase_add_loop_test(tc, a_path_cannot_leave_the_job_directory, 0, ARRAY_LEN(paths));)
