/* links: checkpoint */
#include "checkpoint/verify.h"

#include "checkpoint/ended.h"
#include "checkpoint/layout.h"
#include "checkpoint/savepoint.h"
#include "tests/lib/big_history.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/fault_fs.h"
#include "tests/lib/scene.h"
#include "tests/lib/sim_fs.h"

#include <errno.h>

#define JOB_DIR "/ckpt/" SCENE_JOB_ID

static struct fs *fs;
static struct scene scene;
static struct arena *arena;
static struct err err;
static struct verify_report report;

/* Checkpoints 1 to 4; neighbours share files (scene.h). */
static void setup(void)
{
    arena = arena_new(0);
    err = (struct err){0};
    report = (struct verify_report){0};
    fs = sim_fs_new(NULL);
    scene_init(&scene, fs, "/ckpt", "/local");
    ck_assert_ok(scene_open(&scene, &err));
    for (uint64_t id = 1; id <= 4; id++)
        ck_assert_ok(scene_checkpoint(&scene, id, &err));
}

static void teardown(void)
{
    verify_report_release(&report);
    scene_close(&scene);
    sim_fs_free(fs);
    arena_free(arena);
}

static void verify(const char *path, uint32_t threads)
{
    verify_report_release(&report);
    ck_assert_ok(verify_path(&scene.env, path, &(struct verify_options){.threads = threads},
                             &report, &err));
}

static const char *shared_path(uint64_t i)
{
    char name[LAYOUT_NAME_MAX];

    layout_shared_name(digest_of(scene_content(arena, i)), name);
    return arena_printf(arena, JOB_DIR "/shared/%s", name);
}

static const struct verify_fault *fault_of(const char *path)
{
    for (size_t i = 0; i < report.fault_count; i++)
        if (strcmp(report.faults[i].path, path) == 0)
            return &report.faults[i];
    ck_abort_msg("no fault of %s among %zu", path, report.fault_count);
    return NULL;
}

START_TEST(what_is_whole_is_clean_and_a_shared_file_is_read_once)
{
    uint64_t all = 0;

    for (uint64_t i = 1; i <= 6; i++)
        all += scene_content(arena, i).len;
    for (uint64_t id = 1; id <= 4; id++)
        all += scene_content(arena, 1000 + id).len + 7000; /* its MANIFEST, its stream */
    verify(JOB_DIR, 3);
    ck_assert(!verify_found_damage(&report));
    ck_assert_uint_eq(report.snapshot_count, 4);
    ck_assert_uint_eq(report.fault_count, 0);
    ck_assert_uint_eq(report.newest_clean[0], 3);
    ck_assert_uint_le(report.read_bytes, all);
    ck_assert_uint_gt(report.read_bytes, all - 4000); /* small MANIFESTs lie in _metadata */
    for (size_t i = 0; i < 4; i++) {
        ck_assert_int_eq(report.snapshots[i].status, VERIFY_CLEAN);
        ck_assert_uint_eq(report.snapshots[i].checkpoint_id, i + 1);
        ck_assert_uint_eq(report.snapshots[i].file_count, SCENE_FILES + 3);
    }
}
END_TEST

START_TEST(every_fault_is_named_with_the_checkpoints_that_share_it)
{
    const struct verify_fault *f;

    ck_assert(sim_fs_flip(fs, shared_path(3), 5, 0x10)); /* of chk-1, 2 and 3 */
    ck_assert_ok(fs_unlink(fs, shared_path(2), &err));   /* of chk-1 and 2 */
    ck_assert(sim_fs_flip(fs, JOB_DIR "/chk-4/_metadata", 90, 1));
    verify("/ckpt", 1);
    ck_assert(verify_found_damage(&report));
    ck_assert_uint_eq(report.fault_count, 3);
    ck_assert_uint_eq(report.damaged_count, 4);
    ck_assert(report.newest_clean[0] == VERIFY_NONE);
    f = fault_of(shared_path(3));
    ck_assert(strstr(f->reason, "digest differs: ") == f->reason);
    ck_assert_uint_eq(f->snapshot_count, 3);
    for (uint32_t i = 0; i < 3; i++)
        ck_assert_uint_eq(f->snapshots[i], i);
    ck_assert_str_eq(f->operator_name, "Toy[k]");
    ck_assert_uint_eq(f->size_bytes, scene_content(arena, 3).len);
    f = fault_of(shared_path(2));
    ck_assert_str_eq(f->reason, "missing");
    ck_assert_uint_eq(f->snapshot_count, 2);
    f = fault_of(JOB_DIR "/chk-4/_metadata");
    ck_assert_msg(strstr(f->reason, "digest differs") == f->reason, "%s", f->reason);
    ck_assert_ptr_null(f->operator_name);
    ck_assert_uint_eq(report.snapshots[0].fault_count, 2);
}
END_TEST

START_TEST(the_newest_clean_checkpoint_is_the_newest_that_nothing_bad_is_in)
{
    ck_assert_ok(fs_unlink(fs, shared_path(6), &err)); /* chk-4's alone */
    ck_assert_ok(fs_mkdir(fs, JOB_DIR "/chk-5", &err));
    verify(JOB_DIR, 2);
    ck_assert_uint_eq(report.damaged_count, 1);
    ck_assert_uint_eq(report.incomplete_count, 1);
    ck_assert_uint_eq(report.newest_clean[0], 2);
    ck_assert_int_eq(report.snapshots[4].status, VERIFY_INCOMPLETE);
    verify(JOB_DIR "/chk-3", 1);
    ck_assert(!verify_found_damage(&report));
    verify(JOB_DIR "/chk-4/_metadata", 1);
    ck_assert(verify_found_damage(&report));
}
END_TEST

/* Alone asked for, there is nothing to restore; among others it is a left-over. */
START_TEST(an_incomplete_checkpoint_is_a_fault_only_when_it_was_asked_for)
{
    ck_assert_ok(fs_mkdir(fs, JOB_DIR "/chk-5", &err));
    verify(JOB_DIR, 1);
    ck_assert(!verify_found_damage(&report));
    verify(JOB_DIR "/chk-5", 1);
    ck_assert(verify_found_damage(&report));
}
END_TEST

START_TEST(a_savepoints_links_to_shared_files_are_not_read_again)
{
    struct checkpoint_metadata m;
    struct storage_attempt *a;
    uint64_t before;

    verify("/ckpt", 1);
    before = report.read_bytes;
    ck_assert_ok(savepoint_begin(scene.storage, 9, "/ckpt", &a, &err));
    ck_assert_ok(scene_publish(&scene, a, 3, arena, &m, &err)); /* with the files of chk-3 */
    m.checkpoint_id = 9;
    m.kind = CHECKPOINT_SAVEPOINT;
    ck_assert_ok(storage_attempt_complete(a, &m, &err));
    storage_attempt_free(a);
    verify("/ckpt", 1);
    ck_assert_uint_eq(report.snapshot_count, 5);
    ck_assert_uint_lt(report.read_bytes, before + 8000); /* its own stream and MANIFEST */
    ck_assert(sim_fs_flip(fs, shared_path(4), 0, 1)); /* one inode, two names */
    verify("/ckpt", 1);
    ck_assert_uint_eq(report.fault_count, 2);
    ck_assert_int_eq(report.snapshots[4].status, VERIFY_DAMAGED);
}
END_TEST

START_TEST(cutting_a_metadata_anywhere_is_said_with_the_place)
{
    struct buf whole = {0};
    const char *path = JOB_DIR "/chk-2/_metadata";

    ck_assert_ok(fs_read_all(fs, path, 1 << 20, &whole, &err));
    for (size_t len = 0; len < whole.len; len += len < 17 ? 1 : 64) {
        struct fs_file *file;
        const struct verify_fault *f;

        ck_assert_ok(fs_unlink(fs, path, &err));
        ck_assert_ok(fs_create(fs, path, &file, &err));
        ck_assert_ok(fs_append(file, bytes_of(whole.data, len), &err));
        ck_assert_ok(fs_close(&file, &err));
        verify(JOB_DIR, 1);
        ck_assert_uint_eq(report.fault_count, 1);
        f = fault_of(path);
        ck_assert_msg(strstr(f->reason, arena_printf(arena, "cut at byte %zu", len)) != NULL,
                      "%zu: %s", len, f->reason);
    }
    buf_release(&whole);
}
END_TEST

START_TEST(a_jobs_notes_are_proven_as_well)
{
    ck_assert_ok(ended_write(
        fs, JOB_DIR, &(struct ended){JOB_END_CANCELED, 4, 7, NULL, SCENE_JOB_ID, "scene", "f"},
        &err));
    verify("/ckpt", 1);
    ck_assert(!verify_found_damage(&report));
    ck_assert(sim_fs_flip(fs, JOB_DIR "/ENDED", 70, 1));
    verify("/ckpt", 1);
    ck_assert(verify_found_damage(&report));
    ck_assert_uint_eq(report.damaged_count, 0); /* all can be restored by their path */
    ck_assert_uint_eq(fault_of(JOB_DIR "/ENDED")->snapshot_count, 0);
    ck_assert_ptr_nonnull(strstr(fault_of(JOB_DIR "/ENDED")->reason, "digest differs"));
}
END_TEST

/* A disk that refuses is named, and does not hide the faults of others. */
START_TEST(a_file_that_cannot_be_read_is_a_fault_and_the_rest_is_proven)
{
    struct fs *faulty = fault_fs_new(fs);
    struct env env = scene.env;

    env.fs = faulty;
    ck_assert(sim_fs_flip(fs, shared_path(1), 0, 1));
    fault_fs_add(faulty, (struct fault){.kinds = FAULT_READ,
                                       .path = shared_path(5),
                                       .times = UINT64_MAX,
                                       .os_errno = EIO});
    verify_report_release(&report);
    ck_assert_ok(verify_path(&env, JOB_DIR, &(struct verify_options){0}, &report, &err));
    ck_assert_uint_eq(report.fault_count, 2);
    ck_assert_ptr_nonnull(strstr(fault_of(shared_path(5))->reason, "Input/output error"));
    fault_fs_free(faulty);
}
END_TEST

START_TEST(nothing_is_written)
{
    uint64_t ops = sim_fs_op_count(fs);

    verify("/ckpt", 2);
    ck_assert_uint_eq(sim_fs_op_count(fs), ops);
}
END_TEST

/* A long history: what is bad is found with everyone who shares it, and nothing else. */
START_TEST(of_many_checkpoints_exactly_those_that_name_a_bad_file_are_damaged)
{
    const struct big_history h = {.root = "/many", .checkpoints = 300, .window = 40, .step = 10};
    const uint64_t bad[] = {0, 777, 3029};
    bool damaged[301] = {false};
    uint32_t damaged_count = 0;

    ck_assert_ok(big_history_make(fs, &h, &err));
    verify("/many", 2);
    ck_assert(!verify_found_damage(&report));
    ck_assert_uint_eq(report.snapshot_count, 300);
    ck_assert_uint_ge(report.file_count, big_history_files(&h));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        const char *content = arena_printf(arena, "shared file %d\n", (int)bad[i]);
        char name[LAYOUT_NAME_MAX];

        layout_shared_name(digest_of(bytes_of_str(content)), name);
        ck_assert(sim_fs_flip(
            fs, arena_printf(arena, "/many/" BIG_HISTORY_JOB_ID "/shared/%s", name), 3, 0x40));
        for (uint64_t n = 1; n <= h.checkpoints; n++) {
            if (bad[i] < (n - 1) * h.step || bad[i] >= (n - 1) * h.step + h.window || damaged[n])
                continue;
            damaged[n] = true;
            damaged_count++;
        }
    }
    verify("/many", 2);
    ck_assert_uint_eq(report.fault_count, ARRAY_LEN(bad));
    ck_assert_uint_eq(report.damaged_count, damaged_count);
    for (size_t i = 0; i < report.snapshot_count; i++)
        ck_assert((report.snapshots[i].status == VERIFY_DAMAGED) ==
                  damaged[report.snapshots[i].checkpoint_id]);
}
END_TEST

struct seen {
    uint64_t calls, done, all;
};

static void note_progress(void *ctx, const struct look_progress *p)
{
    struct seen *s = ctx;

    s->calls++;
    ck_assert_uint_le(p->done, p->all);
    if (p->in_bytes) {
        s->done = p->done;
        s->all = p->all;
    }
}

START_TEST(progress_goes_from_nothing_to_all)
{
    struct seen seen = {0};

    ck_assert_ok(verify_path(
        &scene.env, JOB_DIR,
        &(struct verify_options){.watch = {note_progress, &seen}}, &report, &err));
    ck_assert_uint_gt(seen.calls, 4);
    ck_assert_uint_eq(seen.done, report.read_bytes);
    ck_assert_uint_eq(seen.all, report.read_bytes);
}
END_TEST

TEST_MAIN("verify", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, what_is_whole_is_clean_and_a_shared_file_is_read_once);
          tcase_add_test(tc, every_fault_is_named_with_the_checkpoints_that_share_it);
          tcase_add_test(tc, the_newest_clean_checkpoint_is_the_newest_that_nothing_bad_is_in);
          tcase_add_test(tc, an_incomplete_checkpoint_is_a_fault_only_when_it_was_asked_for);
          tcase_add_test(tc, a_savepoints_links_to_shared_files_are_not_read_again);
          tcase_add_test(tc, cutting_a_metadata_anywhere_is_said_with_the_place);
          tcase_add_test(tc, a_jobs_notes_are_proven_as_well);
          tcase_add_test(tc, a_file_that_cannot_be_read_is_a_fault_and_the_rest_is_proven);
          tcase_add_test(tc, of_many_checkpoints_exactly_those_that_name_a_bad_file_are_damaged);
          tcase_add_test(tc, nothing_is_written);
          tcase_add_test(tc, progress_goes_from_nothing_to_all);)
