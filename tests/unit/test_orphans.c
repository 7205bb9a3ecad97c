/* links: checkpoint */
#include "checkpoint/orphans_search.h"

#include "tests/lib/check_ext.h"
#include "tests/lib/scene.h"
#include "tests/lib/sim_fs.h"

#include <stdio.h>

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

    ck_assert_ok(orphans_scan(fs, JOB_DIR, NULL, NULL, &report, &err));
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

    ck_assert_ok(orphans_scan(fs, JOB_DIR, NULL, NULL, &report, &err));
    ck_assert_ok(orphans_delete(&scene.env, &report, 0, &deleted, &err));
    ck_assert_uint_eq(deleted, 5);
    orphan_report_release(&report);
    ck_assert_ok(orphans_scan(fs, JOB_DIR, NULL, NULL, &report, &err));
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
    ck_assert_ok(orphans_scan(fs, JOB_DIR, NULL, NULL, &report, &err));
    ck_assert_uint_eq(report.orphan_count, 6);
    ck_assert_ok(orphans_delete(&scene.env, &report, 3600 * 1000, &deleted, &err));
    ck_assert_uint_eq(deleted, 5);
    ck_assert(fs_exists(fs, JOB_DIR "/shared/11112233445566778899aabbccddeeff.sst"));
}
END_TEST

/* A file of one snapshot that its own _metadata does not name. */
START_TEST(a_file_beside_a_metadata_that_does_not_name_it_is_one)
{
    write_file(JOB_DIR "/chk-2/s-77.bin", "55555");
    ck_assert_ok(orphans_scan(fs, JOB_DIR, NULL, NULL, &report, &err));
    ck_assert_uint_eq(report.orphan_count, 6);
    ck_assert_str_eq(report.orphans[2].path, JOB_DIR "/chk-2/s-77.bin");
    ck_assert_int_eq(report.orphans[2].kind, ORPHAN_UNNAMED);
}
END_TEST

/* It may name any of them. */
START_TEST(no_shared_file_is_listed_while_a_metadata_is_unreadable)
{
    ck_assert(sim_fs_flip(fs, JOB_DIR "/chk-1/_metadata", 100, 1));
    ck_assert_ok(orphans_scan(fs, JOB_DIR, NULL, NULL, &report, &err));
    for (size_t i = 0; i < report.orphan_count; i++)
        ck_assert_int_ne(report.orphans[i].kind, ORPHAN_SHARED);
    ck_assert_uint_eq(report.orphan_count, 4);
    ck_assert_uint_eq(report.unnamed_count, 2); /* the stray, and what chk-1 alone named */
}
END_TEST

static enum rc count_visit(void *ctx, const struct orphan_report *r,
                           const struct orphan_checkpoint *c,
                           const struct checkpoint_metadata *meta, struct err *e UNUSED)
{
    uint64_t *last = ctx;

    ck_assert_uint_eq(c->checkpoint_id, *last + 1);
    ck_assert(meta != NULL && meta->checkpoint_id == c->checkpoint_id);
    ck_assert_uint_gt(r->shared.count, 0);
    *last = c->checkpoint_id;
    return RC_OK;
}

START_TEST(each_checkpoint_is_shown_once_and_who_uses_which_file_is_known)
{
    struct arena *arena = arena_new(0);
    const struct shared_file *f;
    uint64_t last = 0;

    ck_assert_ok(orphans_scan(fs, JOB_DIR, count_visit, &last, &report, &err));
    ck_assert_uint_eq(last, 2);
    f = shared_files_find(&report.shared, digest_of(scene_content(arena, 2)));
    ck_assert(f != NULL && f->present);
    ck_assert_uint_eq(f->user_count, 2);
    ck_assert_uint_eq(f->first_user, 0);
    ck_assert_uint_eq(f->last_user, 1);
    f = shared_files_find(&report.shared, digest_of(scene_content(arena, 4)));
    ck_assert(f != NULL && f->user_count == 1 && f->first_user == 1);
    arena_free(arena);
}
END_TEST

/* ---- over a path ---------------------------------------------------------------------------- */

struct found {
    size_t places, held, orphans, young, deleted;
    enum rc delete_rc;
    char last[256]; /* place */
};

static enum rc note_place(void *ctx, const struct orphan_place *p, struct err *e UNUSED)
{
    struct found *f = ctx;

    f->places++;
    f->held += p->held_by != NULL;
    f->orphans += p->old_count;
    f->young += p->young_count;
    f->deleted += p->deleted;
    f->delete_rc = p->delete_rc;
    snprintf(f->last, sizeof f->last, "%s", p->dir);
    return RC_OK;
}

static struct found search(const char *path, int64_t min_age_ms, bool remove)
{
    struct orphan_search how = {.min_age_ms = min_age_ms, .remove = remove};
    struct found found = {0};

    ck_assert_ok(orphans_search(&scene.env, path, &how, note_place, &found, &err));
    return found;
}

/* Two without _metadata: of the job at hand by name, and of another. */
static void make_savepoints(void)
{
    ck_assert_ok(fs_mkdir(fs, "/ckpt/savepoint-fedcba-0123456789ab", &err));
    write_file("/ckpt/savepoint-fedcba-0123456789ab/s-0.bin", "four");
    ck_assert_ok(fs_mkdir(fs, "/ckpt/savepoint-012345-0123456789ab", &err));
}

START_TEST(a_root_is_searched_with_all_its_jobs_and_savepoints)
{
    struct found f;

    make_savepoints();
    f = search("/ckpt", 0, false);
    ck_assert_uint_eq(f.places, 3);
    ck_assert_uint_eq(f.held, 0);
    ck_assert_uint_eq(f.orphans, 5 + 2);
    f = search("/ckpt/savepoint-fedcba-0123456789ab", 0, true);
    ck_assert_uint_eq(f.deleted, 1);
    ck_assert(!fs_exists(fs, "/ckpt/savepoint-fedcba-0123456789ab"));
    ck_assert_rc(orphans_search(&scene.env, JOB_DIR "/chk-2", &(struct orphan_search){0},
                                note_place, &f, &err),
                 RC_INVALID);
}
END_TEST

/* B06: neither what is younger than the limit, nor anything of a running job. */
START_TEST(of_a_running_job_nothing_is_listed_nor_of_its_savepoints)
{
    struct fs_file *lock;
    struct found f;

    make_savepoints();
    ck_assert_ok(fs_lock(fs, JOB_DIR "/LOCK", &lock, &err));
    f = search("/ckpt", 0, true);
    ck_assert_uint_eq(f.places, 3);
    ck_assert_uint_eq(f.held, 2); /* the job, and savepoint-012345-.. by its name */
    ck_assert_uint_eq(f.orphans, 1);
    ck_assert_uint_eq(f.deleted, 1);
    ck_assert(fs_exists(fs, "/ckpt/savepoint-012345-0123456789ab"));
    ck_assert(fs_exists(fs, JOB_DIR "/chk-3/s-0.bin"));
    ck_assert_ok(fs_close(&lock, &err));
}
END_TEST

/* So it does on read-only media. */
START_TEST(a_search_without_deletion_writes_nothing)
{
    struct buf before = {0}, after = {0};

    make_savepoints();
    sim_fs_dump(fs, &before);
    ck_assert_uint_eq(search("/ckpt", 0, false).orphans, 7);
    sim_fs_dump(fs, &after);
    ck_assert_str_eq(buf_cstr(&after), buf_cstr(&before));
    buf_release(&before);
    buf_release(&after);
}
END_TEST

START_TEST(what_is_young_is_counted_and_not_listed)
{
    struct found f;

    sim_clock_advance_ms(&scene.clock, 3600 * 1000);
    write_file(JOB_DIR "/shared/11112233445566778899aabbccddeeff.sst", "fresh");
    f = search(JOB_DIR, 3600 * 1000, false);
    ck_assert_uint_eq(f.orphans, 5);
    ck_assert_uint_eq(f.young, 1);
}
END_TEST

START_TEST(an_unreadable_metadata_keeps_all_of_its_job_and_of_no_other)
{
    struct found f;

    make_savepoints();
    ck_assert(sim_fs_flip(fs, JOB_DIR "/chk-1/_metadata", 100, 1));
    f = search(JOB_DIR, 0, true);
    ck_assert_int_eq(f.delete_rc, RC_STATE);
    ck_assert_uint_eq(f.deleted, 0);
    f = search("/ckpt", 0, true);
    ck_assert_uint_eq(f.deleted, 2);
}
END_TEST

START_TEST(an_unreadable_metadata_stops_every_deletion)
{
    size_t deleted;

    ck_assert(sim_fs_flip(fs, JOB_DIR "/chk-1/_metadata", 100, 1));
    ck_assert_ok(orphans_scan(fs, JOB_DIR, NULL, NULL, &report, &err));
    ck_assert_uint_eq(report.unreadable_count, 1);
    ck_assert_int_eq(report.checkpoints[0].rc, RC_CORRUPT);
    ck_assert(strstr(report.checkpoints[0].reason, "chk-1/_metadata: digest differs") != NULL);
    ck_assert_rc_msg(orphans_delete(&scene.env, &report, 0, &deleted, &err), RC_STATE,
                     "chk-1/_metadata");
    ck_assert_uint_eq(deleted, 0);
}
END_TEST

START_TEST(a_directory_that_is_not_there_is_not_found)
{
    ck_assert_rc(orphans_scan(fs, "/nowhere", NULL, NULL, &report, &err), RC_NOT_FOUND);
}
END_TEST

TEST_MAIN("orphans", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, each_sort_is_found_and_strangers_are_not);
          tcase_add_test(tc, deletion_takes_what_was_listed_and_nothing_else);
          tcase_add_test(tc, young_ones_stay_until_their_age);
          tcase_add_test(tc, a_file_beside_a_metadata_that_does_not_name_it_is_one);
          tcase_add_test(tc, no_shared_file_is_listed_while_a_metadata_is_unreadable);
          tcase_add_test(tc, each_checkpoint_is_shown_once_and_who_uses_which_file_is_known);
          tcase_add_test(tc, a_root_is_searched_with_all_its_jobs_and_savepoints);
          tcase_add_test(tc, of_a_running_job_nothing_is_listed_nor_of_its_savepoints);
          tcase_add_test(tc, a_search_without_deletion_writes_nothing);
          tcase_add_test(tc, what_is_young_is_counted_and_not_listed);
          tcase_add_test(tc, an_unreadable_metadata_keeps_all_of_its_job_and_of_no_other);
          tcase_add_test(tc, an_unreadable_metadata_stops_every_deletion);
          tcase_add_test(tc, a_directory_that_is_not_there_is_not_found);)
