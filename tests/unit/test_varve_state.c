/* links: state */
/* varve_state.h: every call, every wrong argument, both backends. */
#include "tests/lib/state_rig.h"

static const char *const backends[] = {"hashmap", "rocksdb"};

static struct tmpdir tmp;
static vv_error error;

static void setup(void)
{
    tmpdir_make(&tmp);
}

static void teardown(void)
{
    tmpdir_remove(&tmp);
}

/* ---- snapshots in a directory ---------------------------------------------------------------- */

static vv_handle *write_snapshot(struct rig *r, vv_dir *dir, uint64_t id, const char *name)
{
    vv_snapshot *snapshot;
    vv_handle *handle;

    ck_assert_vv(vv_snapshot_begin(r->store, id, &snapshot, &error));
    ck_assert_vv(vv_dir_write(dir, snapshot, name, &handle, &error));
    vv_snapshot_free(snapshot);
    return handle;
}

/* Two halves of the range, each with the other backend, hold what the whole held. */
START_TEST(a_snapshot_is_restored_in_two_halves_by_the_other_backend)
{
    uint64_t entries = 0, sum = 0;
    struct rig r;
    vv_handle *handle;
    vv_dir *dir;

    ck_assert_vv(vv_dir_open(tmpdir_at(&tmp, "snapshots"), &dir, &error));
    rig_open(&r, &tmp, backends[_i], 0, 127, NULL, 0);
    rig_add(&r, 0, 127, 0, 10000, 1);
    rig_add(&r, 0, 127, 5000, 6000, 10);
    vv_handle_free(write_snapshot(&r, dir, 1, "chk-1"));
    rig_close(&r);
    for (uint32_t half = 0; half < 2; half++) {
        vv_restore restore = {.dir = tmpdir_at(&tmp, "snapshots")};
        uint64_t e, s;

        ck_assert_vv(vv_dir_load(dir, "chk-1", &handle, &error));
        restore.handle = handle;
        rig_open(&r, &tmp, backends[1 - _i], half * 64, half * 64 + 63, &restore, 1);
        rig_sum(&r, half * 64, half * 64 + 63, &e, &s);
        entries += e;
        sum += s;
        rig_close(&r);
        vv_handle_free(handle);
    }
    ck_assert_uint_eq(entries, 10000);
    ck_assert_uint_eq(sum, 20000);
    vv_dir_close(dir);
}
END_TEST

TEST_MAIN("varve_state", {
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, a_snapshot_is_restored_in_two_halves_by_the_other_backend, 0, 2);
})
