/* test_restore_plan.c - when a start may take the restored checkpoint's run for dead and what it left for leftovers. */
#include "job/runtime/restore_plan.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/tmpdir.h"
#include "tests/lib/toy_job.h"

#include <stdio.h>

static struct env env;
static struct toy_board board;
static struct tmpdir tmp;
static struct config *config;
static struct err err;
static char job_dir[FS_PATH_MAX + 64], newest[FS_PATH_MAX + 96];
static uint64_t newest_id;

static void set(const char *key, const char *value)
{
    ck_assert_ok(config_set(config, CONFIG_SET, key, value, &err));
}

static enum rc note_checkpoint(void *ctx, const char *name, struct err *e)
{
    unsigned long long id;

    (void)ctx;
    (void)e;
    if (sscanf(name, "chk-%llu", &id) == 1 && id > newest_id)
        newest_id = id;
    return RC_OK;
}

/* A job that was cancelled and left one checkpoint. */
static void setup(void)
{
    struct job *job;

    env = (struct env){.fs = fs_posix(), .clock = clock_posix()};
    err_clear(&err);
    toy_board_init(&board);
    tmpdir_make(&tmp);
    config = config_new();
    set("execution.checkpointing.dir", tmpdir_at(&tmp, "cp"));
    set("execution.checkpointing.interval", "10 ms");
    set("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION");
    board.pause_ns = NS_PER_MS;
    ck_assert_ok(job_start(&env, config, toy_graph(&board, 1, 1, 10), NULL, &job, &err));
    while (toy_board_totals(&board).rows == 0) /* shown by a checkpoint */
        clock_sleep_ns(env.clock, NS_PER_MS);
    job_cancel(job);
    ck_assert(job_wait(job, 30000));
    snprintf(job_dir, sizeof job_dir, "%s/%s", tmpdir_at(&tmp, "cp"), job_id(job));
    job_free(job);
    newest_id = 0;
    ck_assert_ok(fs_list(env.fs, job_dir, note_checkpoint, NULL, &err));
    ck_assert_uint_gt(newest_id, 0);
    snprintf(newest, sizeof newest, "%s/chk-%llu", job_dir, (unsigned long long)newest_id);
}
static void teardown(void)
{
    toy_board_release(&board);
    config_free(config);
    tmpdir_remove(&tmp);
}

static bool taken_for_dead(void)
{
    struct graph *g = toy_graph(&board, 1, 1, 10);
    struct job_restore restore = {.path = newest};
    struct restore_plan plan = {0};
    bool dead;

    ck_assert_ok(restore_plan_make(&env, config, g, &restore, &plan, &err));
    ck_assert_uint_eq(plan.recovered.meta->checkpoint_id, newest_id);
    dead = plan.earlier_run_dead;
    restore_plan_release(&plan);
    graph_free(g);
    return dead;
}

static void add_attempt(uint64_t later, bool complete)
{
    char path[FS_PATH_MAX + 128];
    struct fs_file *f;

    snprintf(path, sizeof path, "%s/chk-%llu", job_dir, (unsigned long long)(newest_id + later));
    ck_assert_ok(fs_mkdirs(env.fs, path, &err));
    if (!complete)
        return;
    snprintf(path, sizeof path, "%s/chk-%llu/_metadata", job_dir,
             (unsigned long long)(newest_id + later));
    ck_assert_ok(fs_create(env.fs, path, &f, &err));
    ck_assert_ok(fs_close(&f, &err));
}

START_TEST(run_behind_its_newest_checkpoint_is_dead)
{
    ck_assert(taken_for_dead());
    add_attempt(1, false); /* under way when it died */
    ck_assert(taken_for_dead());
}
END_TEST

START_TEST(a_newer_savepoint_names_the_leftovers)
{
    char path[FS_PATH_MAX + 128];
    struct fs_file *f;

    for (uint64_t later = 0; later <= 1; later++) {
        snprintf(path, sizeof path, "%s/SAVEPOINT-%llu", job_dir,
                 (unsigned long long)(newest_id + later));
        ck_assert_ok(fs_create(env.fs, path, &f, &err));
        ck_assert_ok(fs_close(&f, &err));
        ck_assert(taken_for_dead() == (later == 0));
    }
}
END_TEST

START_TEST(newer_checkpoint_names_the_leftovers)
{
    add_attempt(1, true);
    ck_assert(!taken_for_dead());
}
END_TEST

TEST_MAIN("restore_plan", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, run_behind_its_newest_checkpoint_is_dead);
          tcase_add_test(tc, a_newer_savepoint_names_the_leftovers);
          tcase_add_test(tc, newer_checkpoint_names_the_leftovers);)
