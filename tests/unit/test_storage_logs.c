/* links: checkpoint */
/* Logs in taskowned/: held by their task, named by checkpoints, deleted when neither needs them (C4). */
#include "checkpoint/export.h"
#include "checkpoint/layout.h"
#include "checkpoint/orphans.h"
#include "checkpoint/recovery.h"
#include "checkpoint/savepoint.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/scene.h"
#include "tests/lib/sim_fs.h"

#define JOB_DIR "/ckpt/" SCENE_JOB_ID
#define LOG_1 "01234567-89ab-cdef-0123-456789abcdef-0-1.log"
#define LOG_2 "01234567-89ab-cdef-0123-456789abcdef-0-2.log"
#define CONTENT "rows that wait"

static struct fs *fs;
static struct scene scene;
static struct arena *arena;
static struct err err;

static void setup(void)
{
    fs = sim_fs_new(NULL);
    arena = arena_new(0);
    err = (struct err){0};
    scene_init(&scene, fs, "/ckpt", "/local");
    ck_assert_ok(scene_open(&scene, &err));
}

static void teardown(void)
{
    scene_close(&scene);
    sim_fs_free(fs);
    arena_free(arena);
}

static const char *log_path(const char *name)
{
    return arena_printf(arena, JOB_DIR "/taskowned/%s", name);
}

static bool there(const char *name)
{
    return fs_exists(fs, log_path(name));
}

/* As its task makes it. */
static uint64_t make_log(const char *name)
{
    struct fs_file *file;
    uint64_t hold;

    ck_assert_ok(fs_create(fs, log_path(name), &file, &err));
    ck_assert_ok(fs_append(file, bytes_of_str(CONTENT), &err));
    ck_assert_ok(fs_sync(file, &err));
    ck_assert_ok(fs_close(&file, &err));
    ck_assert_ok(fs_sync_dir(fs, JOB_DIR "/taskowned", &err));
    ck_assert_ok(storage_hold(scene.storage, name, strlen(CONTENT),
                              digest_of(bytes_of_str(CONTENT)), &hold, &err));
    return hold;
}

static struct state_file log_file(const char *name)
{
    return (struct state_file){.resolved_path = log_path(name),
                               .size_bytes = strlen(CONTENT),
                               .digest = digest_of(bytes_of_str(CONTENT)),
                               .newly_written = true};
}

/* Adds the logs to what the scene publishes, and completes it. */
static void complete(struct storage_attempt *a, uint64_t id, struct state_file *logs, size_t count)
{
    struct checkpoint_metadata m;
    struct snapshot_target *t = storage_attempt_target(a, "sink");

    ck_assert_ok(scene_publish(&scene, a, id, arena, &m, &err));
    for (size_t i = 0; i < count; i++)
        ck_assert_ok(t->ops->publish_log(t, arena, &logs[i], &err));
    m.operators[0].subtasks[0].logs = logs;
    m.operators[0].subtasks[0].log_count = count;
    ck_assert_ok(storage_attempt_complete(a, &m, &err));
    storage_target_release(t);
    storage_attempt_free(a);
}

static void checkpoint(uint64_t id, const char *name)
{
    struct state_file *log = ARENA_NEW(arena, struct state_file);
    struct storage_attempt *a;

    if (name != NULL)
        *log = log_file(name);
    ck_assert_ok(storage_attempt_begin(scene.storage, id, &a, &err));
    complete(a, id, log, name != NULL);
}

static void drop(uint64_t id)
{
    ck_assert_ok(storage_checkpoint_discard(scene.storage, id, &err));
    ck_assert_ok(storage_clean(scene.storage, NULL, &err));
}

START_TEST(a_log_stays_while_its_task_or_a_checkpoint_needs_it)
{
    uint64_t hold = make_log(LOG_1);

    checkpoint(1, LOG_1);
    drop(1); /* the task has not sent it */
    ck_assert(there(LOG_1));
    checkpoint(2, LOG_1);
    storage_release_hold(scene.storage, hold, LOG_1);
    ck_assert_ok(storage_clean(scene.storage, NULL, &err));
    ck_assert(there(LOG_1)); /* a restore from 2 would look for it */
    drop(2);
    ck_assert(!there(LOG_1));
}
END_TEST

/* The rows of an aborted checkpoint go into the next one. */
START_TEST(an_aborted_attempt_takes_no_log_along)
{
    struct state_file log = log_file(LOG_1);
    struct storage_attempt *a;
    struct snapshot_target *t;
    uint64_t hold = make_log(LOG_1);

    ck_assert_ok(storage_attempt_begin(scene.storage, 1, &a, &err));
    t = storage_attempt_target(a, "sink");
    ck_assert_ok(t->ops->publish_log(t, arena, &log, &err));
    ck_assert_int_eq(log.scope, FILE_TASKOWNED);
    ck_assert_str_eq(log.path, "../taskowned/" LOG_1);
    storage_target_release(t);
    ck_assert_ok(storage_attempt_abort(a, &err));
    storage_attempt_free(a);
    ck_assert_ok(storage_clean(scene.storage, NULL, &err));
    ck_assert(there(LOG_1));
    storage_release_hold(scene.storage, hold, LOG_1);
    ck_assert_ok(storage_clean(scene.storage, NULL, &err));
    ck_assert(!there(LOG_1));
}
END_TEST

START_TEST(a_log_that_nobody_holds_is_not_named)
{
    struct state_file log = log_file(LOG_1);
    struct storage_attempt *a;
    struct snapshot_target *t;

    ck_assert_ok(storage_attempt_begin(scene.storage, 1, &a, &err));
    t = storage_attempt_target(a, "sink");
    ck_assert_rc_msg(t->ops->publish_log(t, arena, &log, &err), RC_NOT_FOUND, "nobody holds it");
    storage_target_release(t);
    ck_assert_ok(storage_attempt_abort(a, &err));
    storage_attempt_free(a);
}
END_TEST

/* What no _metadata names came after the newest checkpoint: its rows come again. */
START_TEST(a_crash_leaves_what_is_named_and_the_next_open_sweeps_the_rest)
{
    make_log(LOG_1);
    make_log(LOG_2);
    checkpoint(1, LOG_1);
    scene_close(&scene);
    ck_assert_ok(scene_open(&scene, &err));
    ck_assert(there(LOG_1) && !there(LOG_2));
    drop(1);
    ck_assert(!there(LOG_1));
}
END_TEST

START_TEST(no_log_goes_while_a_metadata_is_unreadable)
{
    make_log(LOG_1);
    make_log(LOG_2);
    checkpoint(1, LOG_2);
    checkpoint(2, LOG_1);
    scene_close(&scene);
    ck_assert(sim_fs_flip(fs, JOB_DIR "/chk-1/_metadata", 100, 1));
    ck_assert_ok(scene_open(&scene, &err));
    drop(2);
    ck_assert(there(LOG_1) && there(LOG_2));
}
END_TEST

START_TEST(orphans_lists_a_log_that_no_metadata_names)
{
    struct orphan_report report;

    make_log(LOG_1);
    make_log(LOG_2);
    checkpoint(1, LOG_1);
    ck_assert_ok(orphans_scan(fs, JOB_DIR, NULL, NULL, &report, &err));
    ck_assert_uint_eq(report.orphan_count, 1);
    ck_assert_str_eq(report.orphans[0].path, JOB_DIR "/taskowned/" LOG_2);
    ck_assert_int_eq(report.orphans[0].kind, ORPHAN_LOG);
    orphan_report_release(&report);
}
END_TEST

/* It can be moved, and lives on when the job's directory goes. */
START_TEST(a_savepoint_has_its_own_name_of_a_log)
{
    struct state_file log = log_file(LOG_1);
    struct storage_attempt *a;
    struct recovered r = {0};
    uint64_t hold = make_log(LOG_1);
    const char *dir;

    ck_assert_ok(savepoint_begin(scene.storage, 1, "/save", &a, &err));
    dir = arena_strdup(arena, storage_attempt_dir(a));
    complete(a, 1, &log, 1);
    storage_release_hold(scene.storage, hold, LOG_1);
    ck_assert_ok(storage_clean(scene.storage, NULL, &err));
    ck_assert(!there(LOG_1));
    ck_assert_ok(recovery_open(&scene.env, dir, &(struct recovery_options){.digests = true}, &r,
                               &err));
    ck_assert_str_eq(r.meta->operators[0].subtasks[0].logs[0].path, LOG_1);
    recovered_release(&r);
}
END_TEST

START_TEST(a_missing_log_is_a_fault_of_its_checkpoint)
{
    struct recovered r = {0};

    make_log(LOG_1);
    checkpoint(1, LOG_1);
    ck_assert_ok(fs_unlink(fs, log_path(LOG_1), &err));
    ck_assert_rc_msg(recovery_open(&scene.env, JOB_DIR "/chk-1", &(struct recovery_options){0}, &r,
                                   &err),
                     RC_CORRUPT, "taskowned/" LOG_1);
    ck_assert_uint_eq(r.fault_count, 1);
    recovered_release(&r);
}
END_TEST

/* NO_CLAIM: the old directory is not needed once the new job runs. */
START_TEST(a_restore_brings_logs_into_the_new_jobs_directory)
{
    struct storage_config config = {.env = &scene.env,
                                    .dir = "/ckpt",
                                    .job_id = "ffffffffffffffffffffffffffffffff",
                                    .holder = "x"};
    struct recovered r = {0};
    struct storage *other;
    const char *path = "/ckpt/ffffffffffffffffffffffffffffffff/taskowned/" LOG_1;

    make_log(LOG_1);
    checkpoint(1, LOG_1);
    ck_assert_ok(recovery_open(&scene.env, JOB_DIR "/chk-1", &(struct recovery_options){0}, &r, &err));
    ck_assert_ok(storage_open(&config, &other, &err));
    ck_assert_ok(storage_restore(other, r.meta, r.dir, false, arena, &err));
    ck_assert_str_eq(r.meta->operators[0].subtasks[0].logs[0].resolved_path, path);
    ck_assert(fs_exists(fs, path));
    ck_assert_ok(storage_checkpoint_discard(other, 1, &err)); /* subsumed by the first of the new */
    ck_assert_ok(storage_clean(other, NULL, &err));
    ck_assert(!fs_exists(fs, path) && there(LOG_1));
    storage_close(other);
    recovered_release(&r);
}
END_TEST

START_TEST(an_export_takes_logs_along)
{
    struct export_result result;
    struct recovered r = {0};

    make_log(LOG_1);
    checkpoint(1, LOG_1);
    ck_assert_ok(recovery_open(&scene.env, JOB_DIR "/chk-1", &(struct recovery_options){0}, &r, &err));
    ck_assert_ok(export_snapshot(&scene.env, r.meta, "/export", &(struct export_options){0}, &result,
                                 &err));
    recovered_release(&r);
    ck_assert(fs_exists(fs, "/export/" LOG_1));
    ck_assert_uint_eq(result.file_count, SCENE_FILES + 2 + 1);
    ck_assert_ok(recovery_open(&scene.env, "/export", &(struct recovery_options){.digests = true}, &r,
                               &err));
    recovered_release(&r);
}
END_TEST

static const struct {
    const char *name;
    bool is_log;
} names[] = {
    {LOG_1, true},
    {"01234567-89ab-cdef-0123-456789abcdef-4294967295-9223372036854775807.log", true},
    {"01234567-89ab-cdef-0123-456789abcdef-4294967296-1.log", false},
    {"01234567-89ab-cdef-0123-456789abcdef-0-01.log", false},
    {"01234567-89ab-cdef-0123-456789abcdef-0-1.log.tmp", false},
    {"01234567-89ab-cdef-0123-456789abcdef-0-.log", false},
    {"01234567-89ab-cdef-0123-456789abcdef-0.log", false},
    {"01234567-89AB-cdef-0123-456789abcdef-0-1.log", false},
    {"01234567-89ab-cdef-0123-456789abcde", false},
    {"", false},
    {"../01234567-89ab-cdef-0123-456789abcdef-0-1.log", false},
};
START_TEST(only_the_names_that_are_made_are_logs)
{
    ck_assert_int_eq(layout_is_log(names[_i].name), names[_i].is_log);
}
END_TEST

/* A _metadata cannot lead out of the job's directory by a log. */
START_TEST(a_log_elsewhere_is_refused)
{
    static const char *const bad[] = {("../shared/" LOG_1), "../taskowned/../x", "/etc/passwd", (LOG_1),
                                      "../taskowned/s-0.bin"};
    struct checkpoint_metadata m;
    struct storage_attempt *a;
    struct state_file log = log_file(LOG_1);

    ck_assert_ok(storage_attempt_begin(scene.storage, 1, &a, &err));
    ck_assert_ok(scene_publish(&scene, a, 1, arena, &m, &err));
    log.local_name = "";
    log.scope = FILE_TASKOWNED;
    m.operators[0].subtasks[0].logs = &log;
    m.operators[0].subtasks[0].log_count = 1;
    log.path = "../taskowned/" LOG_1;
    ck_assert_ok(metadata_check(&m, "x", &err));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        log.path = bad[i];
        ck_assert_rc_msg(metadata_check(&m, "x", &err), RC_CORRUPT, "is not the path of a log");
    }
    ck_assert_ok(storage_attempt_abort(a, &err));
    storage_attempt_free(a);
}
END_TEST

TEST_MAIN("storage_logs", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, a_log_stays_while_its_task_or_a_checkpoint_needs_it);
          tcase_add_test(tc, an_aborted_attempt_takes_no_log_along);
          tcase_add_test(tc, a_log_that_nobody_holds_is_not_named);
          tcase_add_test(tc, a_crash_leaves_what_is_named_and_the_next_open_sweeps_the_rest);
          tcase_add_test(tc, no_log_goes_while_a_metadata_is_unreadable);
          tcase_add_test(tc, orphans_lists_a_log_that_no_metadata_names);
          tcase_add_test(tc, a_savepoint_has_its_own_name_of_a_log);
          tcase_add_test(tc, a_missing_log_is_a_fault_of_its_checkpoint);
          tcase_add_test(tc, a_restore_brings_logs_into_the_new_jobs_directory);
          tcase_add_test(tc, an_export_takes_logs_along);
          tcase_add_loop_test(tc, only_the_names_that_are_made_are_logs, 0, ARRAY_LEN(names));
          tcase_add_test(tc, a_log_elsewhere_is_refused);)
