/* links: base */
/* fs_mux: a path's scheme chooses the file system, and nothing leads from one to another by name alone. */
#include "base/fs_mux.h"

#include "tests/lib/check_ext.h"
#include "tests/lib/sim_fs.h"

static struct fs *local, *fs;
static struct fs_mux *mux;
static struct err err;
static int made;

static enum rc make(void *ctx, struct fs **out, struct err *e)
{
    bool *works = ctx;

    made++;
    if (!*works)
        return err_set(e, RC_INVALID, "no key is set");
    *out = sim_fs_new(NULL);
    ck_assert_ok(fs_mkdirs(*out, "/s3:/bucket", &err)); /* the root, as that file system sees it */
    return RC_OK;
}

static const struct fs_driver_ops ops = {make, sim_fs_free};
static bool works;

static void setup(void)
{
    made = 0;
    works = true;
    err = (struct err){0};
    local = sim_fs_new(NULL);
    mux = fs_mux_new(local);
    fs_mux_add(mux, "s3", &ops, &works);
    fs = fs_mux_fs(mux);
}

static void teardown(void)
{
    fs_mux_free(mux);
    sim_fs_free(local);
}

static void put(const char *path)
{
    struct fs_file *file;

    ck_assert_ok(fs_create(fs, path, &file, &err));
    ck_assert_ok(fs_append(file, bytes_of_str("x"), &err));
    ck_assert_ok(fs_sync(file, &err));
    ck_assert_ok(fs_close(&file, &err));
}

START_TEST(local_paths_never_make_a_driver)
{
    put("/a");
    ck_assert(fs_exists(fs, "/a"));
    ck_assert(fs_exists(local, "/a"));
    ck_assert_int_eq(made, 0);
}
END_TEST

START_TEST(a_scheme_leads_to_its_driver_which_is_made_once)
{
    ck_assert_ok(fs_mkdirs(fs, "s3://bucket/d/e", &err));
    put("s3://bucket/d/e/f");
    ck_assert(fs_exists(fs, "s3://bucket/d/e/f"));
    ck_assert(!fs_exists(local, "/bucket/d/e/f"));
    ck_assert_int_eq(made, 1);
}
END_TEST

START_TEST(a_driver_that_cannot_be_made_is_each_calls_failure)
{
    works = false;
    ck_assert_rc_msg(fs_mkdirs(fs, "s3://bucket/d", &err), RC_INVALID, "no key is set");
    works = true;
    ck_assert_ok(fs_mkdirs(fs, "s3://bucket/d", &err));
}
END_TEST

START_TEST(a_scheme_without_driver_is_named)
{
    struct fs_stat st;

    ck_assert_rc_msg(fs_stat(fs, "gs://bucket/d", &st, &err), RC_UNSUPPORTED, "gs://");
}
END_TEST

START_TEST(no_name_leads_across)
{
    ck_assert_ok(fs_mkdirs(fs, "s3://bucket/d", &err));
    put("/a");
    ck_assert_rc(fs_link(fs, "/a", "s3://bucket/d/a", &err), RC_NO_LINK);
    ck_assert_rc(fs_reflink(fs, "/a", "s3://bucket/d/a", &err), RC_NO_LINK);
    ck_assert_rc(fs_symlink(fs, "s3://bucket/d/a", "/l", &err), RC_NO_LINK);
    ck_assert_rc(fs_rename(fs, "/a", "s3://bucket/d/a", &err), RC_UNSUPPORTED);
    ck_assert_ok(fs_copy(fs, "/a", "s3://bucket/d/a", &err));
    ck_assert_ok(fs_link(fs, "s3://bucket/d/a", "s3://bucket/d/b", &err));
}
END_TEST

START_TEST(a_lock_and_its_text_are_where_its_path_is)
{
    struct fs_file *lock;
    struct buf text = {0};
    bool held;

    ck_assert_ok(fs_mkdirs(fs, "s3://bucket/d", &err));
    ck_assert_ok(fs_lock(fs, "s3://bucket/d/LOCK", &lock, &err));
    ck_assert_ok(fs_lock_say(lock, bytes_of_str("me\n"), &err));
    ck_assert_ok(fs_lock_probe(fs, "s3://bucket/d/LOCK", &held, &err));
    ck_assert(held);
    ck_assert_ok(fs_close(&lock, &err));
    ck_assert_ok(fs_lock_probe(fs, "s3://bucket/d/LOCK", &held, &err));
    ck_assert(!held);
    ck_assert_ok(fs_read_all(fs, "s3://bucket/d/LOCK", 10, &text, &err));
    ck_assert_bytes_str(buf_bytes(&text), "me\n");
    buf_release(&text);
}
END_TEST

TEST_MAIN("fs_mux", {
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, local_paths_never_make_a_driver);
    tcase_add_test(tc, a_scheme_leads_to_its_driver_which_is_made_once);
    tcase_add_test(tc, a_driver_that_cannot_be_made_is_each_calls_failure);
    tcase_add_test(tc, a_scheme_without_driver_is_named);
    tcase_add_test(tc, no_name_leads_across);
    tcase_add_test(tc, a_lock_and_its_text_are_where_its_path_is);
})
