/* links: state */
/* varve_state.h: the directory for snapshots: names, sharing, removal, sweep, damage. Power loss:
 * tests/crash/crash_state_dir.c. */
#include "base/fs.h"
#include "tests/lib/state_rig.h"

static const char *const backends[] = {"hashmap", "rocksdb"};

static struct tmpdir tmp;
static struct rig rig;
static vv_dir *dir;
static vv_error error;

static void setup(void)
{
    tmpdir_make(&tmp);
    ck_assert_vv(vv_dir_open(tmpdir_at(&tmp, "d/snapshots"), &dir, &error));
}

static void teardown(void)
{
    rig_close(&rig);
    vv_dir_close(dir);
    tmpdir_remove(&tmp);
}

static void open_rig(int backend)
{
    rig_open(&rig, &tmp, backends[backend], 0, 127, NULL, 0);
}

static vv_code write_snapshot(uint64_t id, const char *name, vv_handle **out)
{
    vv_snapshot *s;
    vv_code code;

    ck_assert_vv(vv_snapshot_begin(rig.store, id, &s, &error));
    code = vv_dir_write(dir, s, name, out, &error);
    vv_snapshot_free(s);
    return code;
}

static vv_handle_info info_of(vv_handle *h)
{
    vv_handle_info info;

    ck_assert_vv(vv_handle_info_get(h, &info, &error));
    vv_handle_free(h);
    return info;
}

static void expect_counts(const char *at, const char *name, int backend, uint64_t entries,
                          uint64_t sum)
{
    vv_restore restore = {.dir = at};
    uint64_t e, s;
    vv_handle *h;
    struct rig r;

    ck_assert_vv(vv_dir_load(dir, name, &h, &error));
    restore.handle = h;
    rig_open(&r, &tmp, backends[backend], 0, 127, &restore, 1);
    rig_sum(&r, 0, 127, &e, &s);
    ck_assert_uint_eq(e, entries);
    ck_assert_uint_eq(s, sum);
    rig_close(&r);
    vv_handle_free(h);
}

/* Two halves of the range, each with the other backend, hold what the whole held. */
START_TEST(a_snapshot_is_restored_in_two_halves_by_the_other_backend)
{
    uint64_t entries = 0, sum = 0;
    vv_handle *handle;

    open_rig(_i);
    rig_add(&rig, 0, 127, 0, 10000, 1);
    rig_add(&rig, 0, 127, 5000, 6000, 10);
    ck_assert_vv(write_snapshot(1, "chk-1", NULL));
    rig_close(&rig);
    ck_assert_vv(vv_dir_load(dir, "chk-1", &handle, &error));
    for (uint32_t half = 0; half < 2; half++) {
        vv_restore restore = {.handle = handle, .dir = tmpdir_at(&tmp, "d/snapshots")};
        uint64_t e, s;

        rig_open(&rig, &tmp, backends[1 - _i], half * 64, half * 64 + 63, &restore, 1);
        rig_sum(&rig, half * 64, half * 64 + 63, &e, &s);
        entries += e;
        sum += s;
        rig_close(&rig);
    }
    vv_handle_free(handle);
    ck_assert_uint_eq(entries, 10000);
    ck_assert_uint_eq(sum, 20000);
}
END_TEST

/* The second snapshot pays for what changed; so does the first one after a restore. */
START_TEST(files_are_shared_between_snapshots_and_over_a_restore)
{
    vv_restore restore = {.dir = tmpdir_at(&tmp, "d/snapshots")};
    vv_handle_info first, second, third;
    vv_handle *h;

    open_rig(1);
    rig_add(&rig, 0, 127, 0, 30000, 1);
    ck_assert_vv(write_snapshot(1, "chk-1", &h));
    first = info_of(h);
    rig_add(&rig, 0, 127, 0, 100, 1);
    ck_assert_vv(write_snapshot(2, "chk-2", &h));
    second = info_of(h);
    ck_assert_uint_eq(first.new_bytes, first.full_bytes);
    ck_assert_msg(second.new_bytes < first.new_bytes / 4, "%llu new bytes of %llu",
                  (unsigned long long)second.new_bytes, (unsigned long long)second.full_bytes);
    rig_close(&rig);
    ck_assert_vv(vv_dir_load(dir, "chk-2", &h, &error));
    restore.handle = h;
    rig_open(&rig, &tmp, "rocksdb", 0, 127, &restore, 1);
    vv_handle_free(h);
    rig_add(&rig, 0, 127, 0, 100, 1);
    ck_assert_vv(write_snapshot(3, "chk-3", &h));
    third = info_of(h);
    ck_assert_msg(third.new_bytes < first.new_bytes / 4, "%llu new bytes of %llu",
                  (unsigned long long)third.new_bytes, (unsigned long long)third.full_bytes);
    expect_counts(restore.dir, "chk-3", 0, 30000, 30200);
}
END_TEST

START_TEST(a_removed_snapshot_takes_its_own_files_along_at_the_sweep)
{
    uint64_t deleted = 7;
    vv_handle *h;

    open_rig(_i);
    rig_add(&rig, 0, 127, 0, 80000, 1);
    ck_assert_vv(write_snapshot(1, "old", NULL));
    rig_add(&rig, 0, 127, 0, 80000, 1);
    ck_assert_vv(write_snapshot(2, "new", NULL));
    ck_assert_vv(vv_dir_sweep(dir, &deleted, &error));
    ck_assert_uint_eq(deleted, 0);
    ck_assert_vv(vv_dir_remove(dir, "old", &error));
    ck_assert_vv(vv_dir_sweep(dir, &deleted, &error));
    ck_assert_uint_gt(deleted, 80000);
    ck_assert_vv_code(vv_dir_load(dir, "old", &h, &error), VV_NOT_FOUND, "old.handle");
    expect_counts(tmpdir_at(&tmp, "d/snapshots"), "new", 1 - _i, 80000, 160000);
    rig_add(&rig, 0, 127, 0, 10, 1);
    ck_assert_vv(write_snapshot(3, "later", NULL)); /* what was deleted is not taken for known */
    expect_counts(tmpdir_at(&tmp, "d/snapshots"), "later", _i, 80000, 160010);
    ck_assert_vv(vv_dir_sweep(dir, NULL, &error));
}
END_TEST

/* Half a copy, half a handle, an aborted stream: left by a process that died. */
START_TEST(a_sweep_takes_what_is_unfinished_and_leaves_strangers)
{
    static const char *const left[] = {"d/snapshots/.tmp-0123456789abcdef",
                                       "d/snapshots/shared/.tmp-0123456789abcdef",
                                       "d/snapshots/shared/0123456789abcdef0123456789abcdef.sst",
                                       "d/snapshots/own/01234567-89ab-4cde-8f01-23456789abcd.bin"};
    static const char *const strangers[] = {"d/snapshots/notes.txt", "d/snapshots/shared/x.sst",
                                            "d/snapshots/own/x.bin", "d/snapshots/.tmp-zzz"};
    uint64_t deleted;

    for (size_t i = 0; i < 4; i++) {
        tmpdir_write(&tmp, left[i], "12345", 5);
        tmpdir_write(&tmp, strangers[i], "12345", 5);
    }
    ck_assert_vv(vv_dir_sweep(dir, &deleted, &error));
    ck_assert_uint_eq(deleted, 20);
    for (size_t i = 0; i < 4; i++) {
        ck_assert(!fs_exists(fs_posix(), tmpdir_at(&tmp, left[i])));
        ck_assert(fs_exists(fs_posix(), tmpdir_at(&tmp, strangers[i])));
    }
}
END_TEST

/* A handle that can't be read may name anything. */
START_TEST(nothing_is_swept_beside_a_damaged_handle)
{
    struct bytes content;
    uint8_t damaged[10000];
    vv_handle *h;

    open_rig(_i);
    rig_add(&rig, 0, 127, 0, 20000, 1);
    ck_assert_vv(write_snapshot(1, "a", NULL));
    content = tmpdir_read(&tmp, "d/snapshots/a.handle");
    ck_assert_uint_lt(content.len, sizeof damaged);
    memcpy(damaged, content.data, content.len);
    damaged[content.len - 1] ^= 1;
    tmpdir_write(&tmp, "d/snapshots/a.handle", damaged, content.len);
    ck_assert_vv_code(vv_dir_sweep(dir, NULL, &error), VV_CORRUPT, "a.handle");
    ck_assert_vv_code(vv_dir_load(dir, "a", &h, &error), VV_CORRUPT, "digest");
    tmpdir_write(&tmp, "d/snapshots/a.handle", content.data, content.len);
    expect_counts(tmpdir_at(&tmp, "d/snapshots"), "a", _i, 20000, 20000);
}
END_TEST

/* Relative names: the directory is its own world. */
START_TEST(a_moved_directory_restores)
{
    struct err err = {0};

    open_rig(_i);
    rig_add(&rig, 0, 127, 0, 20000, 1);
    ck_assert_vv(write_snapshot(1, "a", NULL));
    vv_dir_close(dir);
    ck_assert_ok(
        fs_rename(fs_posix(), tmpdir_at(&tmp, "d/snapshots"), tmpdir_at(&tmp, "moved"), &err));
    ck_assert_vv(vv_dir_open(tmpdir_at(&tmp, "moved"), &dir, &error));
    expect_counts(tmpdir_at(&tmp, "moved"), "a", 1 - _i, 20000, 20000);
}
END_TEST

START_TEST(a_name_is_given_once)
{
    open_rig(_i);
    rig_add(&rig, 0, 127, 0, 10, 1);
    ck_assert_vv(write_snapshot(1, "a", NULL));
    rig_add(&rig, 0, 127, 0, 10, 1);
    ck_assert_int_eq(write_snapshot(2, "a", NULL), VV_EXISTS);
    ck_assert_msg(strstr(error.message, "a.handle is there") != NULL, "%s", error.message);
    expect_counts(tmpdir_at(&tmp, "d/snapshots"), "a", _i, 10, 10);
    ck_assert_vv(write_snapshot(2, "b", NULL)); /* nothing was lost */
    expect_counts(tmpdir_at(&tmp, "d/snapshots"), "b", _i, 10, 20);
}
END_TEST

static const char *const bad_names[] = {"",
                                        ".hidden",
                                        "a/b",
                                        "..",
                                        "a b",
                                        "\xc3\xa4",
                                        "0123456789012345678901234567890123456789012345678901234567"
                                        "8901234567890123456789012345678901234567890"};

START_TEST(a_wrong_name_is_refused)
{
    vv_handle *h = (vv_handle *)&tmp;

    open_rig(0);
    ck_assert_int_eq(write_snapshot(1, bad_names[_i], &h), VV_INVALID);
    ck_assert_ptr_null(h);
    ck_assert_vv_code(vv_dir_load(dir, bad_names[_i], &h, &error), VV_INVALID, "letters");
    ck_assert_vv_code(vv_dir_remove(dir, bad_names[_i], &error), VV_INVALID, "letters");
}
END_TEST

START_TEST(what_is_missing_is_refused)
{
    vv_snapshot *s;
    vv_handle *h;
    vv_dir *other;

    open_rig(0);
    ck_assert_vv_code(vv_dir_open(tmpdir_at(&tmp, "d/snapshots"), &other, &error), VV_STATE, "");
    ck_assert_ptr_null(other);
    ck_assert_vv_code(vv_dir_open("", &other, &error), VV_INVALID, "path is empty");
    ck_assert_vv_code(vv_dir_open(NULL, &other, &error), VV_INVALID, "path is NULL");
    ck_assert_vv_code(vv_dir_open("x", NULL, &error), VV_INVALID, "out is NULL");
    tmpdir_write(&tmp, "file", "", 0);
    ck_assert_int_ne(vv_dir_open(tmpdir_at(&tmp, "file"), &other, &error), VV_OK);
    ck_assert_vv(vv_snapshot_begin(rig.store, 1, &s, &error));
    ck_assert_vv_code(vv_dir_write(NULL, s, "a", &h, &error), VV_INVALID, "dir is NULL");
    ck_assert_vv_code(vv_dir_write(dir, NULL, "a", &h, &error), VV_INVALID, "snapshot is NULL");
    ck_assert_vv_code(vv_dir_write(dir, s, NULL, &h, &error), VV_INVALID, "name is NULL");
    vv_snapshot_cancel(s);
    ck_assert_vv_code(vv_dir_write(dir, s, "a", &h, &error), VV_CANCELLED, "cancelled");
    vv_snapshot_free(s);
    ck_assert_vv_code(vv_dir_load(dir, "a", &h, &error), VV_NOT_FOUND, "a.handle");
    ck_assert_vv_code(vv_dir_load(NULL, "a", &h, &error), VV_INVALID, "dir is NULL");
    ck_assert_vv_code(vv_dir_load(dir, NULL, &h, &error), VV_INVALID, "name is NULL");
    ck_assert_vv_code(vv_dir_load(dir, "a", NULL, &error), VV_INVALID, "out is NULL");
    ck_assert_vv_code(vv_dir_remove(dir, "a", &error), VV_NOT_FOUND, "a.handle");
    ck_assert_vv_code(vv_dir_remove(NULL, "a", &error), VV_INVALID, "dir is NULL");
    ck_assert_vv_code(vv_dir_sweep(NULL, NULL, &error), VV_INVALID, "dir is NULL");
    vv_dir_close(NULL);
}
END_TEST

TEST_MAIN("vv_dir", {
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, a_snapshot_is_restored_in_two_halves_by_the_other_backend, 0, 2);
    tcase_add_test(tc, files_are_shared_between_snapshots_and_over_a_restore);
    tcase_add_loop_test(tc, a_removed_snapshot_takes_its_own_files_along_at_the_sweep, 0, 2);
    tcase_add_test(tc, a_sweep_takes_what_is_unfinished_and_leaves_strangers);
    tcase_add_loop_test(tc, nothing_is_swept_beside_a_damaged_handle, 0, 2);
    tcase_add_loop_test(tc, a_moved_directory_restores, 0, 2);
    tcase_add_loop_test(tc, a_name_is_given_once, 0, 2);
    tcase_add_loop_test(tc, a_wrong_name_is_refused, 0, ARRAY_LEN(bad_names));
    tcase_add_test(tc, what_is_missing_is_refused);
})
