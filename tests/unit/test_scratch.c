/* links: base */
/* scratch: the directory goes at the end, and what a dead run left goes at the next start,
 * wherever the dead run stood. */
#include "base/scratch.h"

#include "tests/lib/check_ext.h"
#include "tests/lib/sim_fs.h"
#include "tests/lib/tmpdir.h"

#define DEAD "/ck/.varve-local-00000000000000000000000000000001"
#define OURS "00000000000000000000000000000002"

static struct fs *fs;
static struct env env;
static struct err err;

static void setup(void)
{
    fs = sim_fs_new(NULL);
    env = (struct env){.fs = fs};
    err = (struct err){0};
    ck_assert_ok(fs_mkdirs(fs, DEAD "/0/db", &err));
}

static void teardown(void)
{
    sim_fs_free(fs);
}

static void put(const char *path)
{
    struct fs_file *file = NULL;

    ck_assert_ok(fs_create(fs, path, &file, &err));
    ck_assert_ok(fs_close(&file, &err));
}

static void start_and_end(void)
{
    char dir[FS_PATH_MAX];
    struct fs_file *lock = NULL;

    ck_assert_ok(scratch_make(&env, "/ck", ".varve-local-", OURS, dir, &lock, &err));
    ck_assert(fs_exists(fs, dir));
    scratch_remove(&env, dir, &lock);
    ck_assert(!fs_exists(fs, dir));
}

START_TEST(what_a_dead_run_left_goes)
{
    put(DEAD "/LOCK");
    put(DEAD "/0/db/000001.sst");
    start_and_end();
    ck_assert(!fs_exists(fs, DEAD));
}
END_TEST

START_TEST(what_a_running_job_holds_stays)
{
    struct fs_file *held = NULL;

    ck_assert_ok(fs_lock(fs, DEAD "/LOCK", &held, &err));
    start_and_end();
    ck_assert(fs_exists(fs, DEAD "/0/db"));
    ck_assert_ok(fs_close(&held, &err));
}
END_TEST

/* Another process's sweep that holds the LOCK when ours is opened, and is done before it is locked:
 * ours is a file without a name then, and the directory gone. */
static const struct fs_ops *real_ops;
static int locks;
static enum rc lock_then_swept(struct fs *f, const char *path, struct fs_file **out, struct err *e)
{
    char dir[FS_PATH_MAX];
    enum rc rc = real_ops->lock(f, path, out, e);

    if (rc == RC_OK && locks++ == 0) {
        ck_assert_ok(path_dir(dir, sizeof dir, path, e));
        ck_assert_ok(fs_remove_tree(f, dir, e));
    }
    return rc;
}

START_TEST(a_lock_on_what_was_swept_meanwhile_is_taken_anew)
{
    struct fs_ops ops = *fs_posix()->ops;
    struct fs hooked = {&ops};
    struct env real = {.fs = &hooked};
    struct fs_file *lock = NULL;
    char dir[FS_PATH_MAX];
    struct tmpdir tmp;

    tmpdir_make(&tmp);
    real_ops = fs_posix()->ops;
    ops.lock = lock_then_swept;
    ck_assert_ok(scratch_make(&real, tmp.path, ".varve-other-", OURS, dir, &lock, &err));
    ck_assert_int_eq(locks, 2);
    ck_assert(fs_exists(fs_posix(), dir));
    scratch_remove(&real, dir, &lock);
    ck_assert(!fs_exists(fs_posix(), dir));
    tmpdir_remove(&tmp);
}
END_TEST

/* A sweep that dies after any of its steps leaves something that the next one still takes away. */
START_TEST(a_sweep_that_died_is_gone_on_with)
{
    const char *const left[] = {DEAD "/0/db", DEAD "/0", DEAD};

    put(DEAD "/LOCK");
    for (int i = 0; i < _i; i++)
        if (i < 2)
            ck_assert_ok(fs_rmdir(fs, left[i], &err));
        else
            ck_assert_ok(fs_unlink(fs, DEAD "/LOCK", &err));
    start_and_end();
    ck_assert(!fs_exists(fs, DEAD));
}
END_TEST

/* Not ours to judge. */
START_TEST(what_has_no_lock_and_is_not_empty_stays)
{
    start_and_end();
    ck_assert(fs_exists(fs, DEAD "/0/db"));
}
END_TEST

TEST_MAIN("scratch", {
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, what_a_dead_run_left_goes);
    tcase_add_test(tc, what_a_running_job_holds_stays);
          tcase_add_test(tc, a_lock_on_what_was_swept_meanwhile_is_taken_anew);
    tcase_add_loop_test(tc, a_sweep_that_died_is_gone_on_with, 0, 4);
    tcase_add_test(tc, what_has_no_lock_and_is_not_empty_stays);
})
