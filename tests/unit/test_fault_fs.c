/* links: base */
/* test_fault_fs.c - which operation fails, how often, and what it leaves, in tests/lib/fault_fs.h.
 */
#include "tests/lib/fault_fs.h"

#include "base/arena.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/sim_fs.h"

#include <errno.h>

static struct fs *disk, *fs;

static void setup(void)
{
    disk = sim_fs_new(NULL);
    fs = fault_fs_new(disk);
}

static void teardown(void)
{
    fault_fs_free(fs);
    sim_fs_free(disk);
}

static enum rc write_file(const char *path, const char *text, struct err *err)
{
    struct fs_file *f = NULL;
    enum rc rc;

    GOTO_IF_ERR(fs_create(fs, path, &f, err));
    GOTO_IF_ERR(fs_append(f, bytes_of_str(text), err));
    GOTO_IF_ERR(fs_sync(f, err));
    GOTO_IF_ERR(fs_close(&f, err));
out:
    fs_abandon(&f);
    return rc;
}

static enum rc ignore_name(void *ctx UNUSED, const char *name UNUSED, struct err *err UNUSED)
{
    return RC_OK;
}

/* Calls each operation once, on a file and directory that are there; tells the code of the one of
 * this kind. */
static enum rc call(enum fault_kind kind, struct err *err)
{
    struct fs_file *f = NULL;
    struct fs_stat st;
    uint64_t size;
    size_t got;
    char c;
    enum rc rc = RC_OK;

    switch (kind) {
    case FAULT_CREATE:
        rc = fs_create(fs, "/new", &f, err);
        break;
    case FAULT_OPEN_READ:
        rc = fs_open_read(fs, "/d/a", &f, err);
        break;
    case FAULT_OPEN_APPEND:
        rc = fs_open_append(fs, "/d/a", 1, &f, err);
        break;
    case FAULT_LOCK:
        rc = fs_lock(fs, "/lock", &f, err);
        break;
    case FAULT_READ:
        ck_assert_int_eq(fs_open_read(fs, "/d/a", &f, err), RC_OK);
        rc = fs_read_at(f, 0, &c, 1, &got, err);
        break;
    case FAULT_APPEND:
        ck_assert_int_eq(fs_open_append(fs, "/d/a", 3, &f, err), RC_OK);
        rc = fs_append(f, bytes_of_str("def"), err);
        break;
    case FAULT_SYNC:
        ck_assert_int_eq(fs_open_append(fs, "/d/a", 3, &f, err), RC_OK);
        rc = fs_sync(f, err);
        break;
    case FAULT_SIZE:
        ck_assert_int_eq(fs_open_read(fs, "/d/a", &f, err), RC_OK);
        rc = fs_size(f, &size, err);
        break;
    case FAULT_CLOSE:
        ck_assert_int_eq(fs_open_read(fs, "/d/a", &f, err), RC_OK);
        rc = fs_close(&f, err);
        break;
    case FAULT_RENAME:
        rc = fs_rename(fs, "/d/a", "/d/b", err);
        break;
    case FAULT_LINK:
        rc = fs_link(fs, "/d/a", "/d/b", err);
        break;
    case FAULT_REFLINK:
        rc = fs_reflink(fs, "/d/a", "/d/b", err);
        break;
    case FAULT_UNLINK:
        rc = fs_unlink(fs, "/d/a", err);
        break;
    case FAULT_RMDIR:
        rc = fs_rmdir(fs, "/empty", err);
        break;
    case FAULT_MKDIR:
        rc = fs_mkdir(fs, "/made", err);
        break;
    case FAULT_LIST:
        rc = fs_list(fs, "/d", ignore_name, NULL, err);
        break;
    case FAULT_STAT:
        rc = fs_stat(fs, "/d", &st, err);
        break;
    case FAULT_SYNC_DIR:
        rc = fs_sync_dir(fs, "/d", err);
        break;
    case FAULT_ANY:
        ck_abort();
    }
    ck_assert(rc == RC_OK || kind > FAULT_OPEN_APPEND || f == NULL);
    fs_abandon(&f);
    return rc;
}

static void prepare(void)
{
    struct err err = {0};

    sim_fs_allow(disk, true, true);
    ck_assert_ok(fs_mkdir(fs, "/d", &err));
    ck_assert_ok(fs_mkdir(fs, "/empty", &err));
    ck_assert_ok(write_file("/d/a", "abc", &err));
}

START_TEST(each_kind_fails_alone_and_leaves_the_disk_as_it_was)
{
    enum fault_kind kind = (enum fault_kind)(1 << _i);
    struct buf before = {0}, after = {0};
    struct err err = {0};

    prepare();
    sim_fs_dump(disk, &before);
    fault_fs_add(fs, (struct fault){.kinds = kind, .times = 1, .os_errno = EIO});
    ck_assert_int_eq(call(kind, &err), RC_IO);
    ck_assert_int_eq(err.os_errno, EIO);
    ck_assert_ptr_nonnull(strstr(err.msg, "(injected): Input/output error"));
    err_clear(&err);
    ck_assert_uint_eq(fault_fs_hits(fs), 1);
    if (kind != FAULT_OPEN_APPEND &&
        kind != FAULT_SYNC) { /* these do change what is durable or written */
        sim_fs_dump(disk, &after);
        ck_assert_bytes_eq(buf_bytes(&after), buf_bytes(&before));
    }
    ck_assert_ok(call(kind, &err)); /* the next time it works */
    buf_release(&before);
    buf_release(&after);
}
END_TEST

START_TEST(the_kth_operation_fails_and_so_do_the_next_ones)
{
    struct err err = {0};

    prepare();
    fault_fs_add(fs, (struct fault){.kinds = FAULT_STAT, .at = 2, .times = 3, .os_errno = EIO});
    for (int i = 0; i < 8; i++) {
        enum rc rc = call(FAULT_STAT, NULL);

        ck_assert_int_eq(rc, i >= 2 && i < 5 ? RC_IO : RC_OK);
        ck_assert_ok(call(FAULT_LIST, &err)); /* does not count for the fault */
    }
    ck_assert_uint_eq(fault_fs_hits(fs), 3);
}
END_TEST

START_TEST(for_ever_is_until_cleared)
{
    struct err err = {0};

    prepare();
    fault_fs_add(fs, (struct fault){.at = 1, .times = UINT64_MAX, .os_errno = EROFS});
    ck_assert_ok(call(FAULT_STAT, &err));
    for (int i = 0; i < 20; i++)
        ck_assert_rc(call(FAULT_STAT, &err), RC_IO);
    fault_fs_clear(fs);
    ck_assert_ok(call(FAULT_STAT, &err));
}
END_TEST

START_TEST(a_pattern_picks_the_paths)
{
    struct err err = {0};

    prepare();
    fault_fs_add(fs, (struct fault){.kinds = FAULT_CREATE | FAULT_RENAME,
                                    .path = "*/_metadata",
                                    .times = UINT64_MAX,
                                    .os_errno = EIO});
    ck_assert_ok(write_file("/d/tmp", "x", &err));
    ck_assert_rc(write_file("/d/_metadata", "x", &err), RC_IO);
    ck_assert_rc(fs_rename(fs, "/d/tmp", "/d/_metadata", &err), RC_IO); /* either name counts */
    ck_assert_ok(fs_rename(fs, "/d/tmp", "/d/metadata", &err));
}
END_TEST

static const struct {
    int os_errno;
    enum rc rc;
} codes[] = {{EXDEV, RC_NO_LINK},  {EPERM, RC_NO_LINK},    {ENOTSUP, RC_NO_LINK},
             {EMLINK, RC_NO_LINK}, {ENOENT, RC_NOT_FOUND}, {EEXIST, RC_EXISTS},
             {ENOSPC, RC_IO}};

START_TEST(links_fail_with_the_codes_of_the_real_file_system)
{
    struct err err = {0};

    prepare();
    fault_fs_add(fs, (struct fault){.times = 2, .os_errno = codes[_i].os_errno});
    ck_assert_int_eq(call(FAULT_LINK, &err), codes[_i].rc);
    ck_assert_int_eq(err.rc, codes[_i].rc);
    ck_assert_int_eq(err.os_errno, codes[_i].os_errno);
    err_clear(&err);
    ck_assert_rc(call(FAULT_REFLINK, &err), codes[_i].rc);
}
END_TEST

START_TEST(a_short_write_leaves_half)
{
    struct err err = {0};
    struct fs_stat st;

    fault_fs_add(
        fs,
        (struct fault){.kinds = FAULT_APPEND, .times = 1, .os_errno = ENOSPC, .short_write = true});
    ck_assert_rc(write_file("/a", "12345678", &err), RC_IO);
    ck_assert_ok(fs_stat(fs, "/a", &st, &err));
    ck_assert_uint_eq(st.size_bytes, 4);
}
END_TEST

/* The answer is lost, the work is done: a retry finds it done. */
START_TEST(a_late_failure_comes_after_the_work)
{
    struct err err = {0};
    struct fs_file *f;

    prepare();
    fault_fs_add(fs, (struct fault){.times = 3, .os_errno = EIO, .done = true});
    ck_assert_rc(fs_rename(fs, "/d/a", "/d/b", &err), RC_IO);
    ck_assert_rc(fs_create(fs, "/new", &f, &err), RC_IO);
    ck_assert_ptr_null(f);
    ck_assert_rc(fs_rename(fs, "/no", "/d/b", &err),
                 RC_NOT_FOUND); /* a failure of its own comes first */
    ck_assert_rc(fs_rename(fs, "/d/a", "/d/b", &err), RC_NOT_FOUND);
    ck_assert(fs_exists(fs, "/d/b"));
    ck_assert(fs_exists(fs, "/new"));
}
END_TEST

START_TEST(operations_are_counted_by_kind)
{
    struct err err = {0};

    ck_assert_ok(write_file("/a", "x", &err));
    ck_assert_uint_eq(fault_fs_count(fs), 4);
    ck_assert_uint_eq(fault_fs_count_of(fs, FAULT_CREATE), 1);
    ck_assert_uint_eq(fault_fs_count_of(fs, FAULT_APPEND | FAULT_SYNC | FAULT_CLOSE), 3);
    ck_assert_uint_eq(fault_fs_count_of(fs, FAULT_READ), 0);
    ck_assert_uint_eq(fault_fs_hits(fs), 0);
}
END_TEST

START_TEST(several_faults_count_for_themselves)
{
    struct err err = {0};

    prepare();
    fault_fs_add(fs, (struct fault){.kinds = FAULT_STAT, .at = 1, .times = 1, .os_errno = EIO});
    fault_fs_add(fs, (struct fault){.kinds = FAULT_LIST, .at = 0, .times = 1, .os_errno = EACCES});
    ck_assert_ok(call(FAULT_STAT, &err));
    ck_assert_int_eq(call(FAULT_LIST, &err), RC_IO);
    ck_assert_int_eq(err.os_errno, EACCES);
    err_clear(&err);
    ck_assert_rc(call(FAULT_STAT, &err), RC_IO);
    ck_assert_ok(call(FAULT_LIST, &err));
}
END_TEST

/* The loop of the header: each k fails once, and a second try succeeds. */
START_TEST(a_scenario_can_fail_at_every_operation)
{
    struct err err = {0};
    uint64_t count;

    ck_assert_ok(write_file("/x", "abc", &err));
    count = fault_fs_count(fs);
    for (uint64_t k = 0; k < count; k++) {
        ck_assert_ok(fs_remove_tree(fs, "/x", &err));
        fault_fs_clear(fs);
        fault_fs_add(fs, (struct fault){.at = k, .times = 1, .os_errno = EIO});
        ck_assert_rc(write_file("/x", "abc", &err), RC_IO);
        ck_assert_ok(fs_remove_tree(fs, "/x", &err));
        ck_assert_ok(write_file("/x", "abc", &err));
    }
    ck_assert_uint_eq(fault_fs_hits(fs), count);
}
END_TEST

TEST_MAIN("fault_fs", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_loop_test(tc, each_kind_fails_alone_and_leaves_the_disk_as_it_was, 0, 18);
          tcase_add_test(tc, the_kth_operation_fails_and_so_do_the_next_ones);
          tcase_add_test(tc, for_ever_is_until_cleared);
          tcase_add_test(tc, a_pattern_picks_the_paths);
          tcase_add_loop_test(tc, links_fail_with_the_codes_of_the_real_file_system, 0,
                              ARRAY_LEN(codes));
          tcase_add_test(tc, a_short_write_leaves_half);
          tcase_add_test(tc, a_late_failure_comes_after_the_work);
          tcase_add_test(tc, operations_are_counted_by_kind);
          tcase_add_test(tc, several_faults_count_for_themselves);
          tcase_add_test(tc, a_scenario_can_fail_at_every_operation))
