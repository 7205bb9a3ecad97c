/* links: checkpoint */
#include "checkpoint/orphans.h"

#include "tests/lib/check_ext.h"
#include "tests/lib/scene.h"
#include "tests/lib/sim_fs.h"

#define JOB_DIR "/ckpt/" SCENE_JOB_ID

static struct fs *fs;
static struct scene scene;
static struct err err;
static struct orphan_report report;

static void write_file(const char *path, const char *text)
{
    struct fs_file *file;

    ck_assert_ok(fs_create(fs, path, &file, &err));
    ck_assert_ok(fs_append(file, bytes_of_str(text), &err));
    ck_assert_ok(fs_close(&file, &err));
}

/* Checkpoints 1 and 2, an incomplete 3, strays of each sort, and strangers of each sort. */
static void setup(void)
{
    struct sim_clock *clock = &scene.clock;

    err = (struct err){0};
    report = (struct orphan_report){0};
    fs = sim_fs_new(&clock->clock);
    scene_init(&scene, fs, "/ckpt", "/local");
    ck_assert_ok(scene_open(&scene, &err));
    ck_assert_ok(scene_checkpoint(&scene, 1, &err));
    ck_assert_ok(scene_checkpoint(&scene, 2, &err));
    scene_close(&scene);
    ck_assert_ok(fs_mkdir(fs, JOB_DIR "/chk-3", &err));
    write_file(JOB_DIR "/chk-3/s-0.bin", "twelve bytes");
    write_file(JOB_DIR "/chk-2/._metadata.tmp", "1");
    write_file(JOB_DIR "/._ENDED.tmp", "4444");
    write_file(JOB_DIR "/shared/00112233445566778899aabbccddeeff.sst", "22");
    write_file(JOB_DIR "/shared/.tmp-0123456789abcdef", "333");
    write_file(JOB_DIR "/shared/notes.txt", "a stranger");
    write_file(JOB_DIR "/chk-2/notes.txt", "a stranger");
    write_file(JOB_DIR "/taskowned/00112233445566778899aabbccddeeff.sst", "kept");
    ck_assert_ok(fs_mkdir(fs, JOB_DIR "/chk-04", &err));
}

static void teardown(void)
{
    orphan_report_release(&report);
    sim_fs_free(fs);
}

START_TEST(each_sort_is_found_and_strangers_are_not)
{
    static const struct {
        enum orphan_kind kind;
        const char *path;
        uint64_t size;
    } want[] = {
        {ORPHAN_TEMP, JOB_DIR "/._ENDED.tmp", 4},
        {ORPHAN_TEMP, JOB_DIR "/chk-2/._metadata.tmp", 1},
        {ORPHAN_INCOMPLETE, JOB_DIR "/chk-3", 12},
        {ORPHAN_TEMP, JOB_DIR "/shared/.tmp-0123456789abcdef", 3},
        {ORPHAN_SHARED, JOB_DIR "/shared/00112233445566778899aabbccddeeff.sst", 2},
    };

    ck_assert_ok(orphans_scan(fs, JOB_DIR, &report, &err));
    ck_assert_uint_eq(report.orphan_count, ARRAY_LEN(want));
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        ck_assert_str_eq(report.orphans[i].path, want[i].path);
        ck_assert_int_eq(report.orphans[i].kind, want[i].kind);
        ck_assert_uint_eq(report.orphans[i].size_bytes, want[i].size);
    }
    ck_assert_uint_eq(report.orphan_bytes, 22);
    ck_assert_uint_eq(report.checkpoint_count, 2);
    ck_assert_uint_eq(report.checkpoints[1].checkpoint_id, 2);
    ck_assert_uint_eq(report.newest_seen_id, 3);
    ck_assert_uint_eq(report.shared_file_count, 5); /* 1..4 and the stray */
    ck_assert_uint_eq(report.unreadable_count, 0);
}
END_TEST

START_TEST(deletion_takes_what_was_listed_and_nothing_else)
{
    struct buf dump = {0};
    size_t deleted;

    ck_assert_ok(orphans_scan(fs, JOB_DIR, &report, &err));
    ck_assert_ok(orphans_delete(&scene.env, &report, 0, &deleted, &err));
    ck_assert_uint_eq(deleted, 5);
    orphan_report_release(&report);
    ck_assert_ok(orphans_scan(fs, JOB_DIR, &report, &err));
    ck_assert_uint_eq(report.orphan_count, 0);
    sim_fs_dump(fs, &dump);
    ck_assert(strstr(buf_cstr(&dump), "shared/notes.txt") != NULL &&
              strstr(buf_cstr(&dump), "chk-2/notes.txt") != NULL &&
              strstr(buf_cstr(&dump), "/taskowned/0011") != NULL &&
              strstr(buf_cstr(&dump), "chk-04") != NULL);
    buf_release(&dump);
}
END_TEST

/* B06 */
START_TEST(young_ones_stay_until_their_age)
{
    size_t deleted;

    sim_clock_advance_ms(&scene.clock, 3600 * 1000);
    write_file(JOB_DIR "/shared/11112233445566778899aabbccddeeff.sst", "fresh");
    ck_assert_ok(orphans_scan(fs, JOB_DIR, &report, &err));
    ck_assert_uint_eq(report.orphan_count, 6);
    ck_assert_ok(orphans_delete(&scene.env, &report, 3600 * 1000, &deleted, &err));
    ck_assert_uint_eq(deleted, 5);
    ck_assert(fs_exists(fs, JOB_DIR "/shared/11112233445566778899aabbccddeeff.sst"));
}
END_TEST

START_TEST(an_unreadable_metadata_stops_every_deletion)
{
    size_t deleted;

    ck_assert(sim_fs_flip(fs, JOB_DIR "/chk-1/_metadata", 100, 1));
    ck_assert_ok(orphans_scan(fs, JOB_DIR, &report, &err));
    ck_assert_uint_eq(report.unreadable_count, 1);
    ck_assert_ptr_null(report.checkpoints[0].meta);
    ck_assert(strstr(report.checkpoints[0].reason, "chk-1/_metadata: digest differs") != NULL);
    ck_assert_rc_msg(orphans_delete(&scene.env, &report, 0, &deleted, &err), RC_STATE,
                     "chk-1/_metadata");
    ck_assert_uint_eq(deleted, 0);
}
END_TEST

START_TEST(a_directory_that_is_not_there_is_not_found)
{
    ck_assert_rc(orphans_scan(fs, "/nowhere", &report, &err), RC_NOT_FOUND);
}
END_TEST

TEST_MAIN("orphans", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, each_sort_is_found_and_strangers_are_not);
          tcase_add_test(tc, deletion_takes_what_was_listed_and_nothing_else);
          tcase_add_test(tc, young_ones_stay_until_their_age);
          tcase_add_test(tc, an_unreadable_metadata_stops_every_deletion);
          tcase_add_test(tc, a_directory_that_is_not_there_is_not_found);)
