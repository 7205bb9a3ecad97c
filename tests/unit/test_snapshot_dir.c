/* links: checkpoint */
#include "checkpoint/snapshot_dir.h"

#include "tests/lib/check_ext.h"
#include "tests/lib/fault_fs.h"
#include "tests/lib/scene.h"
#include "tests/lib/sim_fs.h"

#include <errno.h>

static struct fs *sim, *fs;
static struct scene scene; /* for its env alone */
static struct err err;

static void write_file(const char *path)
{
    struct fs_file *file;

    ck_assert_ok(fs_create(sim, path, &file, &err));
    ck_assert_ok(fs_append(file, bytes_of_str("x"), &err));
    ck_assert_ok(fs_sync(file, &err));
    ck_assert_ok(fs_close(&file, &err));
}

static void setup(void)
{
    err = (struct err){0};
    sim = sim_fs_new(NULL);
    fs = fault_fs_new(sim);
    scene_init(&scene, fs, "/ckpt", "/local");
    ck_assert_ok(fs_mkdirs(sim, "/d", &err));
    write_file("/d/_metadata");
    write_file("/d/._metadata.tmp");
    write_file("/d/s-0.bin");
    write_file("/d/s-12.bin");
    write_file("/d/00112233445566778899aabbccddeeff.sst");
    ck_assert_ok(fs_sync_dir(sim, "/d", &err));
}

static void teardown(void)
{
    fault_fs_free(fs);
    sim_fs_free(sim);
}

/* C3: an unlink that a power loss takes back would show a checkpoint whose files are gone. */
START_TEST(a_hidden_metadata_does_not_come_back_after_a_power_loss)
{
    struct rng rng;

    rng_seed(&rng, (uint64_t)_i);
    ck_assert_ok(snapshot_dir_hide(fs, "/d", &err));
    sim_fs_crash(sim, &rng);
    ck_assert(!fs_exists(sim, "/d/_metadata"));
    ck_assert(fs_exists(sim, "/d/s-0.bin"));
}
END_TEST

/* An earlier try may have unlinked it and not synced. */
START_TEST(hiding_what_is_not_there_still_syncs)
{
    uint64_t before;

    ck_assert_ok(fs_unlink(sim, "/d/_metadata", &err));
    before = fault_fs_count_of(fs, FAULT_SYNC_DIR);
    ck_assert_ok(snapshot_dir_hide(fs, "/d", &err));
    ck_assert_uint_eq(fault_fs_count_of(fs, FAULT_SYNC_DIR), before + 1);
    ck_assert_ok(snapshot_dir_hide(fs, "/nowhere", &err));
}
END_TEST

START_TEST(removal_takes_our_names_and_the_directory)
{
    ck_assert_ok(snapshot_dir_remove(&scene.env, "/d", &err));
    ck_assert(!fs_exists(sim, "/d"));
    ck_assert_ok(snapshot_dir_remove(&scene.env, "/d", &err)); /* again is no error */
}
END_TEST

static const char *const strangers[] = {"/d/notes.txt", "/d/s-01.bin", "/d/x.sst", "/d/.hidden"};

START_TEST(a_stranger_stays_with_the_directory)
{
    write_file(strangers[_i]);
    ck_assert_ok(snapshot_dir_remove(&scene.env, "/d", &err));
    ck_assert(fs_exists(sim, strangers[_i]));
    ck_assert(!fs_exists(sim, "/d/_metadata") && !fs_exists(sim, "/d/s-12.bin"));
}
END_TEST

START_TEST(nothing_goes_while_the_metadata_cannot)
{
    fault_fs_add(fs, (struct fault){
                         .kinds = FAULT_UNLINK, .path = "*_metadata", .times = 1, .os_errno = EIO});
    ck_assert_rc_msg(snapshot_dir_remove(&scene.env, "/d", &err), RC_IO,
                     "remove /d: unlink /d/_metadata");
    ck_assert(fs_exists(sim, "/d/s-0.bin") &&
              fs_exists(sim, "/d/00112233445566778899aabbccddeeff.sst"));
    ck_assert_ok(snapshot_dir_remove(&scene.env, "/d", &err));
}
END_TEST

TEST_MAIN("snapshot_dir", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_loop_test(tc, a_hidden_metadata_does_not_come_back_after_a_power_loss, 0, 20);
          tcase_add_test(tc, hiding_what_is_not_there_still_syncs);
          tcase_add_test(tc, removal_takes_our_names_and_the_directory);
          tcase_add_loop_test(tc, a_stranger_stays_with_the_directory, 0, ARRAY_LEN(strangers));
          tcase_add_test(tc, nothing_goes_while_the_metadata_cannot);)
