/* links: checkpoint */
#include "checkpoint/snapshot_list.h"

#include "tests/lib/check_ext.h"
#include "tests/lib/sim_fs.h"

#define JOB_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define JOB_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static struct fs *fs;
static struct arena *arena;
static struct err err;
static struct snapshot_list list;

static void touch(const char *path)
{
    struct fs_file *file;
    char dir[FS_PATH_MAX];

    ck_assert_ok(path_dir(dir, sizeof dir, path, &err));
    ck_assert_ok(fs_mkdirs(fs, dir, &err));
    ck_assert_ok(fs_create(fs, path, &file, &err));
    ck_assert_ok(fs_close(&file, &err));
}

static void setup(void)
{
    arena = arena_new(0);
    err = (struct err){0};
    fs = sim_fs_new(NULL);
    touch("/ck/" JOB_B "/chk-2/_metadata");
    touch("/ck/" JOB_B "/chk-10/_metadata");
    touch("/ck/" JOB_B "/chk-11/s-0.bin");
    touch("/ck/" JOB_B "/LOCK");
    touch("/ck/" JOB_A "/shared/x");
    touch("/ck/savepoint-aaaaaa-0123456789ab/_metadata");
    touch("/ck/stranger/chk-1/_metadata");
}

static void teardown(void)
{
    arena_free(arena);
    sim_fs_free(fs);
}

START_TEST(a_root_gives_its_jobs_checkpoints_by_id_and_then_its_savepoints)
{
    ck_assert_ok(snapshot_list_make(fs, "file:///ck/", arena, &list, &err));
    ck_assert_int_eq(list.type, LIST_OF_ROOT);
    ck_assert_str_eq(list.path, "/ck");
    ck_assert_uint_eq(list.job_count, 2);
    ck_assert_str_eq(list.job_dirs[0], "/ck/" JOB_A);
    ck_assert_uint_eq(list.count, 4); /* strangers do not count */
    ck_assert_str_eq(list.items[0].dir, "/ck/" JOB_B "/chk-2");
    ck_assert_uint_eq(list.items[0].job, 1);
    ck_assert_uint_eq(list.items[1].checkpoint_id, 10);
    ck_assert(list.items[1].complete);
    ck_assert_uint_eq(list.items[2].checkpoint_id, 11);
    ck_assert(!list.items[2].complete);
    ck_assert_str_eq(path_base(list.items[3].dir), "savepoint-aaaaaa-0123456789ab");
    ck_assert_uint_eq(list.items[3].job, SNAPSHOT_ALONE);
}
END_TEST

START_TEST(a_jobs_directory_is_one_also_when_it_is_called_otherwise)
{
    ck_assert_ok(snapshot_list_make(fs, "/ck/stranger", arena, &list, &err));
    ck_assert_int_eq(list.type, LIST_OF_JOB);
    ck_assert_uint_eq(list.job_count, 1);
    ck_assert_str_eq(list.job_dirs[0], "/ck/stranger");
    ck_assert_uint_eq(list.count, 1);
    ck_assert_uint_eq(list.items[0].job, 0);
}
END_TEST

static const struct {
    const char *path, *dir;
    uint64_t id;
    bool complete;
} ones[] = {
    {"/ck/" JOB_B "/chk-10", "/ck/" JOB_B "/chk-10", 10, true},
    {"/ck/" JOB_B "/chk-10/_metadata", "/ck/" JOB_B "/chk-10", 10, true},
    {"/ck/" JOB_B "/chk-11", "/ck/" JOB_B "/chk-11", 11, false},
    {"/ck/savepoint-aaaaaa-0123456789ab", "/ck/savepoint-aaaaaa-0123456789ab", 0, true},
};

START_TEST(one_snapshot_is_alone)
{
    ck_assert_ok(snapshot_list_make(fs, ones[_i].path, arena, &list, &err));
    ck_assert_int_eq(list.type, LIST_OF_ONE);
    ck_assert_uint_eq(list.count, 1);
    ck_assert_uint_eq(list.job_count, 0);
    ck_assert_str_eq(list.items[0].dir, ones[_i].dir);
    ck_assert_uint_eq(list.items[0].checkpoint_id, ones[_i].id);
    ck_assert(list.items[0].complete == ones[_i].complete);
    ck_assert_uint_eq(list.items[0].job, SNAPSHOT_ALONE);
}
END_TEST

START_TEST(what_is_nothing_of_ours_is_refused)
{
    ck_assert_rc(snapshot_list_make(fs, "/nowhere", arena, &list, &err), RC_NOT_FOUND);
    ck_assert_rc_msg(snapshot_list_make(fs, "/", arena, &list, &err), RC_NOT_FOUND,
                     "/: neither a checkpoint");
    ck_assert_rc(snapshot_list_make(fs, "/ck/" JOB_B "/LOCK", arena, &list, &err), RC_INVALID);
    ck_assert_rc(snapshot_list_make(fs, "gs://x/y", arena, &list, &err), RC_UNSUPPORTED);
}
END_TEST

TEST_MAIN("snapshot_list", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, a_root_gives_its_jobs_checkpoints_by_id_and_then_its_savepoints);
          tcase_add_test(tc, a_jobs_directory_is_one_also_when_it_is_called_otherwise);
          tcase_add_loop_test(tc, one_snapshot_is_alone, 0, (int)ARRAY_LEN(ones));
          tcase_add_test(tc, what_is_nothing_of_ours_is_refused);)
