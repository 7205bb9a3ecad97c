/* test_supervisor.c - whole jobs of a toy source, sum and sink, on the real file system and
 * threads: whatever happens between, the board shows each row once, and keyed state at the end of
 * the input comes to the same. */
#include "checkpoint/recovery.h"
#include "job/runtime/dispatcher.h"
#include "job/runtime/supervisor.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/fault_fs.h"
#include "tests/lib/gen.h"
#include "tests/lib/tmpdir.h"
#include "tests/lib/toy_job.h"

#define WAIT_MS 45000

/* RocksDB is not built with the thread sanitizer, which would see races in it that are none. */
#if defined(__SANITIZE_THREAD__)
#define ROCKSDB "hashmap"
#else
#define ROCKSDB "rocksdb"
#endif

static struct env env;
static struct toy_board board;
static struct tmpdir tmp;
static struct config *config;
static struct err err;

static void set(const char *key, const char *value)
{
    ck_assert_ok(config_set(config, CONFIG_SET, key, value, &err));
}

static void setup(void)
{
    env = (struct env){.fs = fs_posix(), .clock = clock_posix()};
    if (getenv("VARVE_TEST_LOG") != NULL)
        env.log = log_new(2, LOG_DEBUG, env.clock);
    toy_board_init(&board);
    tmpdir_make(&tmp);
    config = config_new();
    err_clear(&err);
    set("execution.checkpointing.dir", tmpdir_at(&tmp, "cp"));
    set("execution.checkpointing.savepoint-dir", tmpdir_at(&tmp, "sp"));
    set("execution.checkpointing.interval", "20 ms");
    set("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION");
    set("restart-strategy.type", "fixed-delay");
    set("restart-strategy.fixed-delay.attempts", "20");
    set("restart-strategy.fixed-delay.delay", "5 ms");
}
static void teardown(void)
{
    ck_assert_int_eq(board.open_operators, 0);
    toy_board_release(&board);
    config_free(config);
    tmpdir_remove(&tmp);
}

static struct job *start(uint32_t p, uint32_t q, const struct job_restore *restore)
{
    struct job *job;

    ck_assert_ok(job_start(&env, config, toy_graph(&board, p, q, 1000), restore, &job, &err));
    return job;
}

static void expect_end(struct job *job, enum job_state want)
{
    struct err why;

    ck_assert_msg(job_wait(job, WAIT_MS), "still %s", job_state_str(job_state(job)));
    job_failure(job, &why);
    ck_assert_msg(job_state(job) == want, "ended as %s: %s", job_state_str(job_state(job)),
                  why.msg);
}

static void expect_totals(uint64_t rows_per_lane)
{
    struct toy_totals want = toy_expected(rows_per_lane), got = toy_board_totals(&board);

    ck_assert_uint_eq(got.rows, want.rows);
    ck_assert_uint_eq(got.sum, want.sum);
    ck_assert_uint_eq(got.final_count, want.final_count);
    ck_assert_uint_eq(got.final_sum, want.final_sum);
}

static void await_checkpoints(struct job *job, uint64_t count)
{
    for (int i = 0; i < WAIT_MS; i++) {
        struct arena *a = arena_new(0);
        struct checkpoint_stats stats;
        uint64_t completed;

        job_checkpoint_stats(job, a, &stats);
        completed = stats.completed_count;
        arena_free(a);
        if (completed >= count)
            return;
        ck_assert_msg(!job_state_is_final(job_state(job)), "the job has ended");
        clock_sleep_ns(env.clock, NS_PER_MS);
    }
    ck_abort_msg("no %llu checkpoints", (unsigned long long)count);
}

static enum rc count_name(void *ctx, const char *name, struct err *e)
{
    (void)e;
    if (strncmp(name, "chk-", 4) == 0)
        ++*(int *)ctx;
    return RC_OK;
}
static int count_checkpoints(const char *id)
{
    char dir[FS_PATH_MAX];
    int n = 0;

    snprintf(dir, sizeof dir, "%s/%s", tmpdir_at(&tmp, "cp"), id);
    ck_assert_ok(fs_list(env.fs, dir, count_name, &n, &err));
    return n;
}

static struct job_operation operate(struct job *job, enum job_operation_kind kind, bool drain)
{
    struct job_operation_request req = {.kind = kind, .drain = drain};
    struct job_operation op = {0};

    ck_assert_ok(job_operation_start(job, &req, &err));
    ck_assert_ok(job_operation_get(job, req.trigger_id, WAIT_MS, &op, &err));
    ck_assert_msg(op.completed, "operation is not done");
    return op;
}

static const struct {
    uint32_t p, q;
    bool interval;
    const char *backend;
} shapes[] = {{1, 1, false, "hashmap"}, {2, 3, false, "hashmap"}, {2, 2, true, "hashmap"},
              {3, 1, true, "hashmap"},  {1, 4, true, "hashmap"},  {2, 2, true, ROCKSDB}};

static struct job *start_and_lose_the_lock(struct fs *faulty)
{
    struct job *job;

    env.fs = faulty;
    job = start(1, 1, NULL);
    await_checkpoints(job, 2);
    fault_fs_locks(faulty, FAULT_LOCKS_LOST);
    return job;
}

/* Whoever holds its directory now reads and deletes there what he takes for his own. */
START_TEST(a_job_whose_directory_is_somebody_elses_fails_for_good_and_leaves_all)
{
    struct fs *faulty = fault_fs_new(fs_posix());
    struct job *job;
    struct err why;
    char id[JOB_ID_LEN + 1];

    board.pause_ns = 5 * NS_PER_MS;
    set("execution.checkpointing.externalized-checkpoint-retention", "NO_EXTERNALIZED_CHECKPOINTS");
    set("execution.checkpointing.tolerable-failed-checkpoints", "1000");
    job = start_and_lose_the_lock(faulty);
    expect_end(job, JOB_FAILED);
    job_failure(job, &why);
    ck_assert_msg(strstr(why.msg, "was lost: somebody else took it (pid 1, job b)") != NULL,
                  "%s", why.msg);
    snprintf(id, sizeof id, "%s", job_id(job));
    job_free(job);
    ck_assert_int_ge(count_checkpoints(id), 1);
    fault_fs_free(faulty);
}
END_TEST

START_TEST(bounded_input_ends_with_all_its_rows)
{
    struct job *job;

    if (!shapes[_i].interval)
        ck_assert_ok(config_reset(config, "execution.checkpointing.interval", &err));
    set("state.backend.type", shapes[_i].backend);
    board.rows_per_lane = 5000;
    job = start(shapes[_i].p, shapes[_i].q, NULL);
    expect_end(job, JOB_FINISHED);
    expect_totals(5000);
    ck_assert_int_eq(count_checkpoints(job_id(job)), 0); /* FINISHED keeps none */
    job_free(job);
}
END_TEST

/* B37: the last rows do not wait for the next interval. */
START_TEST(the_end_takes_its_own_checkpoint)
{
    struct job *job;

    set("execution.checkpointing.interval", "1 h");
    board.rows_per_lane = 1000;
    job = start(2, 2, NULL);
    expect_end(job, JOB_FINISHED);
    expect_totals(1000);
    job_free(job);
}
END_TEST

START_TEST(failures_repeat_nothing)
{
    struct job *job;

    set("state.backend.type", _i % 2 ? ROCKSDB : "hashmap");
    if (_i >= 2)
        set("execution.checkpointing.storage", "jobmanager");
    board.rows_per_lane = 6000;
    board.pause_ns = NS_PER_MS;
    board.fail_batches = 150;
    job = start(2, 2, NULL);
    for (int i = 0; i < 3; i++) {
        while (board.fail_batches > 0 && !job_wait(job, 1))
            ;
        board.fail_batches = 100 + 50 * i;
    }
    expect_end(job, JOB_FINISHED);
    expect_totals(6000);
    ck_assert_uint_gt(
        board.emitted_rows,
        toy_expected(6000).rows); /* something was repeated, or the test tests nothing */
    job_free(job);
}
END_TEST

/* At least once: nothing is lost by a failure, and without one nothing is repeated. */
START_TEST(at_least_once_loses_nothing)
{
    struct job *job;
    struct toy_totals want = toy_expected(4000), got;

    set("execution.checkpointing.mode", "AT_LEAST_ONCE");
    board.rows_per_lane = 4000;
    board.pause_ns = NS_PER_MS;
    board.fail_batches = _i == 0 ? 0 : 300;
    job = start(3, 2, NULL);
    expect_end(job, JOB_FINISHED);
    got = toy_board_totals(&board);
    if (_i == 0)
        expect_totals(4000);
    ck_assert_uint_ge(got.rows, want.rows);
    ck_assert_uint_ge(got.final_sum, want.final_sum);
    job_free(job);
}
END_TEST

/* C10 and stop with savepoint: 2 -> 3 -> 1 -> 2, with and without drain at the end. */
START_TEST(stop_and_go_on_at_another_parallelism)
{
    static const uint32_t parallelism[] = {2, 3, 1, 2};
    char path[FS_PATH_MAX] = "";
    struct toy_totals shown = {0};

    set("state.backend.type", _i == 0 ? "hashmap" : ROCKSDB);
    board.pause_ns = NS_PER_MS;
    for (int i = 0; i < 4; i++) {
        /* The third goes on by --resume: no checkpoint is left, the stop's savepoint is. */
        struct job_restore restore = {.path = i == 2 ? NULL : path, .resume = true};
        struct job *job = start(parallelism[i], parallelism[3 - i], i == 0 ? NULL : &restore);
        struct job_operation op;

        await_checkpoints(job, 2);
        op = operate(job, JOB_OP_STOP, false);
        ck_assert_msg(op.rc == RC_OK, "stop: %s", op.message);
        expect_end(job, JOB_FINISHED);
        ck_assert_uint_gt(toy_board_totals(&board).rows, shown.rows);
        shown = toy_board_totals(&board);
        snprintf(path, sizeof path, "%s", op.location);
        ck_assert_msg(fs_exists(env.fs, path), "no savepoint at \"%s\"", path);
        job_free(job);
    }
    {
        struct job_restore restore = {.path = path};
        struct job *job;

        /* Beyond what any lane has given on a slow machine. */
        board.rows_per_lane = 2 * board.emitted_rows / TOY_LANES + 10000;
        board.pause_ns = 0;
        job = start(2, 2, &restore);
        expect_end(job, JOB_FINISHED);
        expect_totals(board.rows_per_lane);
        job_free(job);
    }
}
END_TEST

/* A drain ends the data: keyed state gives its results, and they are committed with the savepoint.
 */
START_TEST(a_drain_fires_what_is_open)
{
    struct job *job;
    struct job_operation op;
    struct toy_totals t;

    board.pause_ns = NS_PER_MS;
    job = start(2, 2, NULL);
    await_checkpoints(job, 2);
    op = operate(job, JOB_OP_STOP, true);
    ck_assert_msg(op.rc == RC_OK, "stop: %s", op.message);
    expect_end(job, JOB_FINISHED);
    t = toy_board_totals(&board);
    ck_assert_uint_gt(t.rows, 0);
    ck_assert_uint_eq(t.final_count, t.rows);
    ck_assert_uint_eq(t.final_sum, t.sum);
    job_free(job);
}
END_TEST

/* B35: an ordinary savepoint commits nothing, and the job goes on. */
START_TEST(a_savepoint_commits_nothing)
{
    struct job *job;
    struct job_operation op;

    set("execution.checkpointing.interval", "1 h");
    board.pause_ns = NS_PER_MS;
    job = start(2, 2, NULL);
    while (board.emitted_rows < 10000)
        clock_sleep_ns(env.clock, NS_PER_MS);
    op = operate(job, JOB_OP_SAVEPOINT, false);
    ck_assert_msg(op.rc == RC_OK, "savepoint: %s", op.message);
    ck_assert_uint_eq(toy_board_totals(&board).rows, 0);
    ck_assert_int_eq(job_state(job), JOB_RUNNING);
    op = operate(job, JOB_OP_CHECKPOINT, false);
    ck_assert_msg(op.rc == RC_OK, "checkpoint: %s", op.message);
    for (int i = 0; i < WAIT_MS && toy_board_totals(&board).rows == 0; i++)
        clock_sleep_ns(env.clock, NS_PER_MS);
    ck_assert_uint_gt(toy_board_totals(&board).rows, 0);
    job_cancel(job);
    expect_end(job, JOB_CANCELED);
    job_free(job);
}
END_TEST

/* C12: cancel keeps or deletes by the option; what is kept can be gone on from, by directory. */
START_TEST(cancel_and_resume)
{
    struct job *job;
    struct job_restore restore = {.resume = true};
    struct graph *g;
    char id[64], path[128];
    uint64_t retained;

    set("state.backend.type", _i == 0 ? "hashmap" : ROCKSDB);
    board.pause_ns = NS_PER_MS;
    job = start(2, 2, NULL);
    await_checkpoints(job, 3);
    job_cancel(job);
    expect_end(job, JOB_CANCELED);
    snprintf(id, sizeof id, "%s", job_id(job));
    ck_assert_int_eq(count_checkpoints(id), 1);
    job_free(job);
    board.rows_per_lane = 8000;
    board.pause_ns = 0;
    job = start(1, 3, &restore);
    expect_end(job, JOB_FINISHED);
    expect_totals(8000);
    job_free(job);
    ck_assert_int_eq(count_checkpoints(id), 1); /* NO_CLAIM never deletes */
    /* That older checkpoint is no way back: its rows are out. */
    g = toy_graph(&board, 1, 1, 10);
    ck_assert_rc_msg(job_start(&env, config, g, &restore, &job, &err), RC_DONE,
                     "has finished at checkpoint");
    err_clear(&err);
    restore = (struct job_restore){.path = tmpdir_at(&tmp, "cp")};
    ck_assert_rc_msg(job_start(&env, config, g, &restore, &job, &err), RC_STATE, "finished");
    err_clear(&err);
    /* A checkpoint in memory takes no snapshot's place. */
    set("execution.checkpointing.storage", "jobmanager");
    snprintf(path, sizeof path, "cp/%s", id);
    ck_assert_ok(recovery_newest_id(env.fs, tmpdir_at(&tmp, path), &retained, &err));
    snprintf(path, sizeof path, "cp/%s/chk-%llu", id, (unsigned long long)retained);
    restore = (struct job_restore){.path = tmpdir_at(&tmp, path), .claim_mode = CLAIM_CLAIM};
    ck_assert_rc_msg(job_start(&env, config, g, &restore, &job, &err), RC_INVALID,
                     "execution.checkpointing.dir");
    graph_free(g);
}
END_TEST

START_TEST(cancel_deletes_when_told_so)
{
    struct job_restore restore = {.resume = true};
    struct job *job;
    struct graph *g;

    set("execution.checkpointing.externalized-checkpoint-retention", "DELETE_ON_CANCELLATION");
    board.pause_ns = NS_PER_MS;
    job = start(1, 1, NULL);
    await_checkpoints(job, 2);
    job_cancel(job);
    expect_end(job, JOB_CANCELED);
    ck_assert_int_eq(count_checkpoints(job_id(job)), 0);
    job_free(job);
    /* Not from nothing either: what was committed would come again. */
    g = toy_graph(&board, 1, 1, 10);
    ck_assert_rc_msg(job_start(&env, config, g, &restore, &job, &err), RC_STATE,
                     "was cancelled at checkpoint");
    graph_free(g);
}
END_TEST

/* SIGTERM: nothing deleted whatever the retention; and with a last checkpoint when asked. */
START_TEST(suspend_keeps_and_can_be_resumed)
{
    struct job_restore restore = {.resume = true};
    struct job *job;

    set("execution.checkpointing.externalized-checkpoint-retention", "NO_EXTERNALIZED_CHECKPOINTS");
    set("execution.checkpointing.interval", _i == 0 ? "20 ms" : "1 h");
    board.pause_ns = NS_PER_MS;
    job = start(2, 2, NULL);
    if (_i == 0)
        await_checkpoints(job, 2);
    else
        while (board.emitted_rows < 5000)
            clock_sleep_ns(env.clock, NS_PER_MS);
    job_suspend(job, _i == 1);
    expect_end(job, JOB_SUSPENDED);
    ck_assert_int_eq(count_checkpoints(job_id(job)), 1);
    job_free(job);
    board.rows_per_lane = 8000;
    board.pause_ns = 0;
    board.emitted_rows = 0;
    set("execution.checkpointing.interval", "20 ms");
    job = start(2, 2, &restore);
    expect_end(job, JOB_FINISHED);
    expect_totals(8000);
    ck_assert_uint_lt(board.emitted_rows,
                      toy_expected(8000).rows); /* it did go on, not begin anew */
    job_free(job);
}
END_TEST

/* A restart can't help: the job fails at once, with the reason, unless the user has chosen a
 * strategy. */
START_TEST(wrong_input_is_final)
{
    struct job *job;
    struct err why;

    if (_i == 0)
        ck_assert_ok(config_reset(config, "restart-strategy.type", &err));
    else
        set("restart-strategy.fixed-delay.attempts", "2");
    board.fail_rc = RC_INVALID;
    board.fail_batches = 10;
    board.pause_ns = NS_PER_MS;
    board.rows_per_lane = 5000;
    job = start(1, 1, NULL);
    if (_i == 0) {
        expect_end(job, JOB_FAILED);
        job_failure(job, &why);
        ck_assert_int_eq(why.rc, RC_INVALID);
        ck_assert_msg(strstr(why.msg, "toy source fails as asked") != NULL, "%s", why.msg);
    } else {
        expect_end(job, JOB_FINISHED);
        expect_totals(5000);
    }
    job_free(job);
}
END_TEST

/* None begins between the final one and the end of the tasks, to be counted as failed. */
START_TEST(a_job_that_ended_well_has_no_failed_checkpoint)
{
    struct checkpoint_stats stats;
    struct arena *a = arena_new(0);
    struct job *job;

    set("execution.checkpointing.interval", "10 ms");
    board.rows_per_lane = 300 + 35 * (uint64_t)_i;
    board.pause_ns = NS_PER_MS;
    job = start(2, 2, NULL);
    expect_end(job, JOB_FINISHED);
    job_checkpoint_stats(job, a, &stats);
    ck_assert_uint_ge(stats.completed_count, 1);
    ck_assert_uint_eq(stats.failed_count, 0);
    job_free(job);
    arena_free(a);
}
END_TEST

START_TEST(attempts_are_counted)
{
    struct arena *a = arena_new(0);
    struct job_view view;
    struct job *job;

    set("restart-strategy.fixed-delay.attempts", "3");
    board.fail_opens = 100;
    job = start(1, 1, NULL);
    expect_end(job, JOB_FAILED);
    job_view(job, a, &view);
    ck_assert_uint_eq(view.restarts, 3);
    ck_assert_uint_eq(view.failure_count, 4);
    ck_assert_str_eq(view.failures[0].task_name, "Sum[k] (1/1)");
    job_free(job);
    arena_free(a);
}
END_TEST

/* A snapshot that fails restarts the job, and a savepoint that was under way gets its answer. */
START_TEST(a_failed_snapshot_answers_and_restarts)
{
    struct job *job;
    struct job_operation op;

    set("execution.checkpointing.interval", "1 h");
    board.pause_ns = NS_PER_MS;
    job = start(2, 2, NULL);
    while (board.emitted_rows < 2000)
        clock_sleep_ns(env.clock, NS_PER_MS);
    board.fail_snapshots = 1;
    op = operate(job, _i == 0 ? JOB_OP_SAVEPOINT : JOB_OP_STOP, _i == 2);
    ck_assert_int_ne(op.rc, RC_OK);
    board.rows_per_lane = 2000;
    board.pause_ns = 0;
    expect_end(job, JOB_FINISHED);
    expect_totals(2000);
    job_free(job);
}
END_TEST

/* Two jobs can't have one directory's job id, but the second may start from the first's files while
 * it runs. */
START_TEST(restoring_from_a_running_job_harms_neither)
{
    struct job *first, *second;
    struct job_restore restore = {0};
    char root[FS_PATH_MAX];

    board.pause_ns = NS_PER_MS;
    set("execution.checkpointing.num-retained", "3");
    first = start(2, 2, NULL);
    await_checkpoints(first, 4);
    snprintf(root, sizeof root, "%s/%s", tmpdir_at(&tmp, "cp"), job_id(first));
    restore.path = root;
    second = start(2, 2, &restore);
    await_checkpoints(second, 2);
    job_cancel(first);
    expect_end(first, JOB_CANCELED);
    await_checkpoints(second, 4);
    job_cancel(second);
    expect_end(second, JOB_CANCELED);
    ck_assert_int_eq(count_checkpoints(job_id(first)), 3);
    ck_assert_int_eq(count_checkpoints(job_id(second)), 3);
    job_free(first);
    job_free(second);
}
END_TEST

/* B13: what can't be restored is said before anything starts, and nothing is made. */
START_TEST(a_bad_path_starts_nothing)
{
    struct job_restore restore = {.path = tmpdir_at(&tmp, "nothing-here")};
    struct graph *g = toy_graph(&board, 1, 1, 10);
    struct job *job;

    ck_assert_rc_msg(job_start(&env, config, g, &restore, &job, &err), RC_NOT_FOUND,
                     "nothing-here");
    ck_assert(!fs_exists(env.fs, tmpdir_at(&tmp, "cp")));
    graph_free(g);
}
END_TEST

/* B50: checkpoint, stop and cancel within a few milliseconds, in all orders: it ends in bounded
 * time, each request is answered, and what is shown is a prefix that can be gone on from. */
START_TEST(checkpoint_stop_and_cancel_at_once)
{
    enum { ROUNDS = 34 };
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    struct rng rng;

    rng_seed(&rng, gen_seed(50) + (uint64_t)_i);
    set("state.backend.type", "hashmap");
    board.pause_ns = 200000;
    for (int round = 0; round < ROUNDS; round++) {
        struct job *job = start(2, 2, NULL);
        char trigger[3][TRIGGER_ID_LEN + 1] = {{0}};
        bool asked[3] = {false};

        clock_sleep_ns(env.clock, (int64_t)rng_below(&rng, 30) * NS_PER_MS);
        for (int i = 0; i < 3; i++) {
            int what = orders[_i][i];
            struct job_operation_request req = {.kind = what == 0 ? JOB_OP_CHECKPOINT : JOB_OP_STOP,
                                                .drain = round % 3 == 0};

            if (what == 2) {
                job_cancel(job);
            } else if (job_operation_start(job, &req, &err) == RC_OK) {
                asked[what] = true;
                memcpy(trigger[what], req.trigger_id, sizeof req.trigger_id);
            }
            err_clear(&err);
            clock_sleep_ns(env.clock, (int64_t)rng_below(&rng, 2000000));
        }
        ck_assert_msg(job_wait(job, WAIT_MS), "round %d: still %s", round,
                      job_state_str(job_state(job)));
        for (int what = 0; what < 2; what++) {
            struct job_operation op;

            if (!asked[what])
                continue;
            ck_assert_ok(job_operation_get(job, trigger[what], WAIT_MS, &op, &err));
            ck_assert(op.completed);
            if (what == 1 && op.rc == RC_OK)
                ck_assert_int_eq(job_state(job), JOB_FINISHED);
            if (op.rc != RC_OK)
                ck_assert_str_ne(op.message, "");
        }
        ck_assert(job_state(job) == JOB_CANCELED || job_state(job) == JOB_FINISHED);
        job_free(job);
    }
}
END_TEST

START_TEST(the_dispatcher_keeps_and_suspends_jobs)
{
    struct dispatcher *d = dispatcher_new(&env);
    struct job *a, *b, *list[4];

    board.pause_ns = NS_PER_MS;
    ck_assert_ok(dispatcher_submit(d, config, toy_graph(&board, 1, 1, 10), NULL, &a, &err));
    ck_assert_ok(dispatcher_submit(d, config, toy_graph(&board, 1, 1, 10), NULL, &b, &err));
    ck_assert(dispatcher_find(d, job_id(a)) == a);
    ck_assert(dispatcher_find(d, "nobody") == NULL);
    ck_assert_uint_eq(dispatcher_list(d, list, 4), 2);
    ck_assert(list[0] == b && list[1] == a);
    dispatcher_suspend_all(d, false);
    ck_assert_int_eq(job_state(a), JOB_SUSPENDED);
    ck_assert_int_eq(job_state(b), JOB_SUSPENDED);
    dispatcher_free(d);
}
END_TEST

TEST_MAIN("supervisor", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, a_job_whose_directory_is_somebody_elses_fails_for_good_and_leaves_all);
    tcase_add_loop_test(tc, bounded_input_ends_with_all_its_rows, 0, ARRAY_LEN(shapes));
          tcase_add_test(tc, the_end_takes_its_own_checkpoint);
          tcase_add_loop_test(tc, failures_repeat_nothing, 0, 3);
          tcase_add_loop_test(tc, stop_and_go_on_at_another_parallelism, 0, 2);
          tcase_add_loop_test(tc, at_least_once_loses_nothing, 0, 2);
          tcase_add_test(tc, a_drain_fires_what_is_open);
          tcase_add_test(tc, a_savepoint_commits_nothing);
          tcase_add_loop_test(tc, cancel_and_resume, 0, 2);
          tcase_add_test(tc, cancel_deletes_when_told_so);
          tcase_add_loop_test(tc, suspend_keeps_and_can_be_resumed, 0, 2);
          tcase_add_loop_test(tc, a_job_that_ended_well_has_no_failed_checkpoint, 0, 20);
          tcase_add_loop_test(tc, wrong_input_is_final, 0, 2);
          tcase_add_test(tc, attempts_are_counted);
          tcase_add_loop_test(tc, a_failed_snapshot_answers_and_restarts, 0, 3);
          tcase_add_test(tc, restoring_from_a_running_job_harms_neither);
          tcase_add_test(tc, a_bad_path_starts_nothing);
          tcase_add_loop_test(tc, checkpoint_stop_and_cancel_at_once, 0, 6);
          tcase_add_test(tc, the_dispatcher_keeps_and_suspends_jobs))
