/* links: checkpoint
 *
 * What is deleted from a directory of Flink's, and what is not: a job may run there, and others may
 * share its files. */
#include "checkpoint/orphans_search.h"

#include "tests/lib/check_ext.h"
#include "tests/lib/flink_dir.h"
#include "tests/lib/sim_clock.h"
#include "tests/lib/sim_fs.h"

#define JOB "/root/0123456789abcdef0123456789abcdef"
#define OTHER "/root/fedcba9876543210fedcba9876543210"
#define NAME(last) "00000000-0000-0000-0000-00000000000" last
#define HOUR_MS (3600 * 1000)

static struct sim_clock sim_clock;
static struct env env;
static struct fs *fs;
static struct orphan_search how;
static struct orphan_place place; /* of JOB; its pointers are gone */
static size_t orphan_count, claimed_count;
static char fault[512];
static struct err err;

/* Checkpoint 5 names 1 and 2 in shared/ and 3 beside it; nobody names 4 in shared/, 5 and 6 in chk-4, 7 in
 * taskowned/. Then, an hour later, 8 is written in shared/. */
static void setup(void)
{
    static const char *const files[] = {JOB "/shared/" NAME("1"), JOB "/shared/" NAME("2"), NAME("3")};

    err = (struct err){0};
    sim_clock_init(&sim_clock, 1700000000000);
    fs = sim_fs_new(&sim_clock.clock);
    env = (struct env){.fs = fs, .clock = &sim_clock.clock};
    flink_dir_put(fs, files[0]);
    flink_dir_put(fs, files[1]);
    flink_dir_put(fs, JOB "/chk-5/" NAME("3"));
    flink_dir_put(fs, JOB "/shared/" NAME("4"));
    flink_dir_put(fs, JOB "/chk-4/" NAME("5"));
    flink_dir_put(fs, JOB "/chk-4/" NAME("6"));
    flink_dir_put(fs, JOB "/taskowned/" NAME("7"));
    flink_dir_put(fs, JOB "/shared/notes.txt");
    sim_clock_advance_ms(&sim_clock, 1000);
    flink_dir_snapshot(fs, JOB "/chk-5", 5, files, ARRAY_LEN(files));
    sim_clock_advance_ms(&sim_clock, HOUR_MS);
    flink_dir_put(fs, JOB "/shared/" NAME("8"));
    sim_clock_advance_ms(&sim_clock, HOUR_MS);
    how = (struct orphan_search){.min_age_ms = HOUR_MS / 2, .remove = true, .flink_is_stopped = true};
}

static void teardown(void)
{
    sim_fs_free(fs);
}

static enum rc note_place(void *ctx UNUSED, const struct orphan_place *p, struct err *e UNUSED)
{
    if (strcmp(p->dir, JOB) != 0)
        return RC_OK;
    place = *p;
    orphan_count = p->report->orphan_count;
    claimed_count = p->report->claimed_count;
    snprintf(fault, sizeof fault, "%s", p->delete_fault == NULL ? "" : p->delete_fault);
    return RC_OK;
}

static void search(void)
{
    ck_assert_ok(orphans_search(&env, JOB, &how, note_place, NULL, &err));
}

static bool there(const char *path)
{
    return fs_exists(fs, path);
}

/* What checkpoint 5 names, and strangers. */
static void named_is_there(void)
{
    ck_assert(there(JOB "/chk-5/_metadata") && there(JOB "/shared/" NAME("1")) &&
              there(JOB "/shared/" NAME("2")) && there(JOB "/chk-5/" NAME("3")) &&
              there(JOB "/shared/notes.txt"));
}

static void all_is_there(void)
{
    named_is_there();
    ck_assert(there(JOB "/shared/" NAME("4")) && there(JOB "/chk-4/" NAME("5")) &&
              there(JOB "/chk-4/" NAME("6")) && there(JOB "/taskowned/" NAME("7")) &&
              there(JOB "/shared/" NAME("8")));
    ck_assert_uint_eq(place.deleted, 0);
}

static void refused(enum rc rc, const char *why)
{
    search();
    ck_assert_int_eq(place.delete_rc, rc);
    ck_assert_msg(strstr(fault, why) != NULL, "%s", fault);
    all_is_there();
}

START_TEST(without_the_users_word_nothing_goes)
{
    how.flink_is_stopped = false;
    refused(RC_UNSUPPORTED, "--job-is-stopped");
    ck_assert_uint_eq(orphan_count, 4);
}
END_TEST

START_TEST(what_nobody_names_goes_and_what_came_later_stays)
{
    search();
    ck_assert_msg(place.delete_rc == RC_OK, "%s", fault);
    ck_assert_uint_eq(place.deleted, 3);
    ck_assert_uint_eq(place.newer, 1);
    named_is_there();
    ck_assert(there(JOB "/shared/" NAME("8")));
    ck_assert(!there(JOB "/shared/" NAME("4")) && !there(JOB "/chk-4") &&
              !there(JOB "/taskowned/" NAME("7")));
    search();
    ck_assert_uint_eq(place.deleted, 0);
    ck_assert_uint_eq(orphan_count, 1);
}
END_TEST

START_TEST(what_is_young_stays)
{
    how.min_age_ms = 3 * HOUR_MS;
    search();
    ck_assert_int_eq(place.delete_rc, RC_OK);
    all_is_there();
}
END_TEST

/* Started from checkpoint 5 in mode CLAIM or LEGACY: its snapshots go on naming files of the first job. */
START_TEST(what_another_jobs_snapshot_names_stays)
{
    static const char *const files[] = {JOB "/shared/" NAME("4"), JOB "/chk-4/" NAME("6")};

    flink_dir_snapshot(fs, OTHER "/chk-1", 1, files, 1);
    search();
    ck_assert_uint_eq(claimed_count, 1);
    ck_assert_uint_eq(place.claimant_count, 2);
    ck_assert(there(JOB "/shared/" NAME("4")) && !there(JOB "/chk-4"));
    ck_assert_uint_eq(place.deleted, 2);
}
END_TEST

/* Whatever path they name it by: a directory may have been moved since, or be reached by a link. */
START_TEST(a_checkpoint_without_metadata_stays_whole_when_one_of_its_files_is_named)
{
    static const char *const files[] = {"/before/it/was/moved/" NAME("6")};

    flink_dir_snapshot(fs, "/root/any/where/sp-1", 1, files, 1);
    search();
    ck_assert_uint_eq(claimed_count, 1);
    ck_assert(there(JOB "/chk-4/" NAME("5")) && there(JOB "/chk-4/" NAME("6")));
    ck_assert(!there(JOB "/shared/" NAME("4")));
}
END_TEST

START_TEST(snapshots_that_the_user_names_are_asked_too)
{
    static const char *const dirs[] = {"/savepoints"};
    static const char *const files[] = {JOB "/shared/" NAME("4")};

    flink_dir_snapshot(fs, "/savepoints/a/b", 1, files, 1);
    how.claimant_count = 1;
    how.claimants = dirs;
    search();
    ck_assert(there(JOB "/shared/" NAME("4")));
    ck_assert_uint_eq(place.deleted, 2);
}
END_TEST

/* Only a job's shared/ has files alone. */
START_TEST(snapshots_in_a_directory_that_is_called_shared_are_asked_too)
{
    static const char *const files[] = {JOB "/shared/" NAME("4")};

    flink_dir_snapshot(fs, "/root/shared/sp-1", 1, files, 1);
    search();
    ck_assert_uint_eq(claimed_count, 1);
    ck_assert(there(JOB "/shared/" NAME("4")));
    ck_assert_uint_eq(place.deleted, 2);
}
END_TEST

START_TEST(snapshots_in_directories_by_date_are_asked_too)
{
    static const char *const files[] = {JOB "/shared/" NAME("4")};

    flink_dir_snapshot(fs, "/root/savepoints/2026/12/01/app/sp-1", 1, files, 1);
    search();
    ck_assert_uint_eq(claimed_count, 1);
    ck_assert(there(JOB "/shared/" NAME("4")));
}
END_TEST

START_TEST(nothing_goes_while_there_are_directories_too_deep_to_look_into)
{
    static const char *const files[] = {JOB "/shared/" NAME("4")};

    flink_dir_snapshot(fs, "/root/1/2/3/4/5/6/7/8", 1, files, 1);
    refused(RC_STATE, "/root/1/2/3/4/5/6/7/8: lies too deep to be looked into");
}
END_TEST

START_TEST(nothing_goes_while_a_metadata_cannot_be_read)
{
    ck_assert(sim_fs_flip(fs, JOB "/chk-5/_metadata", 7, 0xFF));
    refused(RC_STATE, "unreadable");
}
END_TEST

START_TEST(nothing_goes_while_one_elsewhere_cannot_be_read)
{
    flink_dir_put(fs, OTHER "/chk-1/_metadata");
    refused(RC_STATE, "elsewhere");
}
END_TEST

START_TEST(nothing_goes_where_no_metadata_says_what_is_needed)
{
    ck_assert_ok(fs_unlink(fs, JOB "/chk-5/_metadata", &err));
    search();
    ck_assert_int_eq(place.delete_rc, RC_STATE);
    ck_assert_msg(strstr(fault, "no _metadata says") != NULL, "%s", fault);
    ck_assert(there(JOB "/shared/" NAME("1")) && there(JOB "/chk-4/" NAME("5")));
}
END_TEST

static void write_meanwhile(void *ctx UNUSED, const struct look_progress *p UNUSED)
{
    flink_dir_put(fs, JOB "/chk-6/" NAME("9"));
}

START_TEST(nothing_goes_when_files_change_during_the_look)
{
    how.watch.fn = write_meanwhile;
    refused(RC_STATE, "changed there during the look");
}
END_TEST

START_TEST(a_stranger_keeps_its_directory)
{
    static const char *const files[] = {JOB "/shared/" NAME("8")};

    flink_dir_put(fs, JOB "/chk-4/notes.txt");
    sim_clock_advance_ms(&sim_clock, HOUR_MS);
    search();
    ck_assert_uint_eq(place.newer, 2); /* chk-4 too has what was written after all */
    ck_assert(there(JOB "/chk-4/" NAME("5")));
    flink_dir_snapshot(fs, JOB "/chk-6", 6, files, 1);
    search();
    ck_assert_uint_eq(place.newer, 0);
    ck_assert(!there(JOB "/chk-4/" NAME("5")) && !there(JOB "/chk-4/" NAME("6")));
    ck_assert(there(JOB "/chk-4/notes.txt"));
    named_is_there();
}
END_TEST

TEST_MAIN("orphans_flink", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, without_the_users_word_nothing_goes);
          tcase_add_test(tc, what_nobody_names_goes_and_what_came_later_stays);
          tcase_add_test(tc, what_is_young_stays);
          tcase_add_test(tc, what_another_jobs_snapshot_names_stays);
          tcase_add_test(tc, a_checkpoint_without_metadata_stays_whole_when_one_of_its_files_is_named);
          tcase_add_test(tc, snapshots_that_the_user_names_are_asked_too);
          tcase_add_test(tc, snapshots_in_a_directory_that_is_called_shared_are_asked_too);
          tcase_add_test(tc, snapshots_in_directories_by_date_are_asked_too);
          tcase_add_test(tc, nothing_goes_while_there_are_directories_too_deep_to_look_into);
          tcase_add_test(tc, nothing_goes_while_a_metadata_cannot_be_read);
          tcase_add_test(tc, nothing_goes_while_one_elsewhere_cannot_be_read);
          tcase_add_test(tc, nothing_goes_where_no_metadata_says_what_is_needed);
          tcase_add_test(tc, nothing_goes_when_files_change_during_the_look);
          tcase_add_test(tc, a_stranger_keeps_its_directory);)
