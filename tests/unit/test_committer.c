/* links: sink */
/* Closed parts that wait for their checkpoint. */
#include "sink/committer.h"

#include "sink/dir_set.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/fault_fs.h"
#include "tests/lib/sim_clock.h"
#include "tests/lib/sim_fs.h"

#include <errno.h>

static struct fs *disk, *fs;
static struct sim_clock sim;
static struct env env;
static struct committer *c;
static struct err err;
static uint64_t parts, rows;

static void setup(void)
{
    disk = sim_fs_new(NULL);
    fs = fault_fs_new(disk);
    sim_clock_init(&sim, 0);
    env = (struct env){.fs = fs, .clock = &sim.clock};
    c = committer_new(&env);
    err = (struct err){0};
    parts = rows = 0;
    ck_assert_ok(fs_mkdir(disk, "/out", &err));
}
static void teardown(void)
{
    committer_free(c);
    fault_fs_free(fs);
    sim_fs_free(disk);
}

/* A hidden file and its record. */
static void add(const char *name)
{
    char temp[64], path[80];
    struct fs_file *f;

    snprintf(temp, sizeof temp, ".%s.t", name);
    snprintf(path, sizeof path, "/out/%s", temp);
    ck_assert_ok(fs_create(disk, path, &f, &err));
    ck_assert_ok(fs_close(&f, &err));
    committer_add(
        c, &(struct part_record){
               .base = "/out", .bucket = "", .name = name, .temp_name = temp, .row_count = 3});
}
static bool visible(const char *name)
{
    char path[80];

    snprintf(path, sizeof path, "/out/%s", name);
    return fs_exists(disk, path);
}

START_TEST(commits_up_to_the_checkpoint_and_nothing_unassigned)
{
    add("a");
    committer_prepare(c, 3);
    add("b");
    committer_prepare(c, 5);
    add("c");
    ck_assert_ok(committer_commit(c, 2, &parts, &rows, &err));
    ck_assert(!visible("a"));
    ck_assert_ok(committer_commit(c, 4, &parts, &rows, &err));
    ck_assert(visible("a") && !visible("b"));
    ck_assert_uint_eq(committer_count(c), 2);
    ck_assert_str_eq(committer_at(c, 0)->name, "b");
    ck_assert_ok(committer_commit(c, UINT64_MAX, &parts, &rows, &err));
    ck_assert(visible("b") && !visible("c"));
    ck_assert_uint_eq(parts, 2);
    ck_assert_uint_eq(rows, 6);
}
END_TEST

/* Forgotten too early, a part whose rename is not durable would be lost with the power. */
START_TEST(part_stays_until_its_directory_is_durable)
{
    add("a");
    committer_prepare(c, 1);
    fault_fs_add(fs,
                 (struct fault){.kinds = FAULT_SYNC_DIR, .times = COMMIT_TRIES, .os_errno = EIO});
    ck_assert_rc_msg(committer_commit(c, 1, &parts, &rows, &err), RC_IO, "/out");
    ck_assert(visible("a"));
    ck_assert_uint_eq(committer_count(c), 1);
    ck_assert_uint_eq(parts, 0);
    ck_assert_ok(committer_commit(c, 1, &parts, &rows, &err));
    ck_assert_uint_eq(committer_count(c), 0);
    ck_assert_uint_eq(parts, 1);
}
END_TEST

START_TEST(only_what_may_pass_is_tried_again)
{
    int64_t before = clock_mono_ns(env.clock);

    add("a");
    committer_prepare(c, 1);
    ck_assert_ok(fs_unlink(disk, "/out/.a.t", &err));
    ck_assert_rc_msg(committer_commit(c, 1, &parts, &rows, &err), RC_NOT_FOUND, "/out/a (3 rows)");
    ck_assert_int_eq(clock_mono_ns(env.clock), before); /* no waiting for what is gone */
}
END_TEST

START_TEST(each_directory_is_synced_once)
{
    struct dir_set dirs = {0};

    dir_set_add(&dirs, "/out");
    dir_set_add(&dirs, "/");
    dir_set_add(&dirs, "/out");
    fault_fs_add(fs, (struct fault){.kinds = FAULT_SYNC_DIR, .at = 1, .times = 1, .os_errno = EIO});
    ck_assert_rc(dir_set_sync(&dirs, fs, &err), RC_IO);
    ck_assert_uint_eq(dirs.count, 3); /* to be tried again */
    ck_assert_ok(dir_set_sync(&dirs, fs, &err));
    ck_assert_uint_eq(fault_fs_count_of(fs, FAULT_SYNC_DIR), 4);
    ck_assert_uint_eq(dirs.count, 0);
    dir_set_release(&dirs);
}
END_TEST

TEST_MAIN("committer", {
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, commits_up_to_the_checkpoint_and_nothing_unassigned);
    tcase_add_test(tc, part_stays_until_its_directory_is_durable);
    tcase_add_test(tc, only_what_may_pass_is_tried_again);
    tcase_add_test(tc, each_directory_is_synced_once);
})
