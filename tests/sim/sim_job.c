/* sim_job.c - a whole job in one thread: a seed chooses the order of all steps, when time passes,
 * and what goes wrong. The disk and the clock are doubles, so that a run takes milliseconds and a
 * failure is its seed: VARVE_TEST_SEED=n repeats it. In every second world the keyed state's
 * snapshots share files (sim_lsm.h).
 *
 * Some lives end with a power loss at a random operation of the disk; what was not made durable may
 * be gone or torn. Before that single operations fail: an error, a full disk, half of a write, an
 * answer that says no of what was done; clocks leap and are set back; notifications get lost.
 *
 * Laws: at every moment each _metadata that is durable names only what is durable (C2, C3), and the
 * ids of checkpoints grow (C9); whatever happens, when the job has ended the board shows each row of
 * the input once, and the keyed state came to the same (C5, C6, C7, C10, C11). VARVE_SIM_SEEDS=n: so many worlds (scripts/simloop). */
#include "checkpoint/layout.h"
#include "checkpoint/lineage.h"
#include "checkpoint/recovery.h"
#include "job/runtime/by_hand.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/fault_fs.h"
#include "tests/lib/gen.h"
#include "tests/lib/sim_clock.h"
#include "tests/lib/sim_fs.h"
#include "tests/lib/sim_lsm.h"
#include "tests/lib/toy_job.h"

#include <errno.h>
#include <stdlib.h>

#define STEPS_MAX 400000
#define LOOK_EVERY 50 /* steps */
#define ROWS_PER_LANE 1500u

struct world {
    struct env env;   /* its fs fails now and then; it lies over `disk` */
    struct fs *disk;
    struct sim_clock clock;
    struct toy_board board;
    struct config *config;
    struct rng rng;
    uint64_t seed;
    struct err err;
    char run_dir[FS_PATH_MAX]; /* of the present life */
    uint64_t floor_id;         /* its checkpoints come after this one */
    char stops[64][TRIGGER_ID_LEN + 1]; /* of the present life */
    uint32_t stop_count;
};

static void set(struct world *w, const char *key, const char *value)
{
    ck_assert_msg(config_set(w->config, CONFIG_SET, key, value, &w->err) == RC_OK, "%s",
                  w->err.msg);
}

static void world_init(struct world *w, uint64_t seed)
{
    memset(w, 0, sizeof *w);
    w->seed = seed;
    rng_seed(&w->rng, seed);
    sim_clock_init(&w->clock, 1700000000000);
    w->disk = sim_fs_new(&w->clock.clock);
    w->env = (struct env){
        .log = getenv("VARVE_TEST_LOG") == NULL ? NULL : log_new(2, LOG_DEBUG, &w->clock.clock),
        .fs = fault_fs_new(w->disk),
        .clock = &w->clock.clock,
        .seed = seed | 1};
    toy_board_init(&w->board);
    w->board.writes_ahead = seed % 3 == 0;
    w->board.rows_per_lane = ROWS_PER_LANE;
    w->config = config_new();
    set(w, "execution.checkpointing.dir", "/cp");
    set(w, "execution.checkpointing.savepoint-dir", "/sp");
    set(w, "execution.checkpointing.interval", gen_chance(&w->rng, 50) ? "10 ms" : "100 ms");
    set(w, "execution.checkpointing.timeout", "2 s");
    set(w, "execution.checkpointing.tolerable-failed-checkpoints", "5");
    set(w, "execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION");
    set(w, "execution.checkpointing.num-retained", gen_chance(&w->rng, 50) ? "1" : "3");
    set(w, "execution.checkpointing.max-concurrent-checkpoints", gen_chance(&w->rng, 50) ? "1" : "3");
    if (seed % 8 >= 4) { /* barriers overtake rows, at once or when they are old */
        set(w, "execution.checkpointing.unaligned.enabled", "true");
        set(w, "execution.checkpointing.max-concurrent-checkpoints", "1");
        set(w, "execution.checkpointing.aligned-checkpoint-timeout",
            seed % 8 < 6 ? "0 s" : seed % 8 == 6 ? "2 ms" : "30 ms");
    }
    set(w, "execution.checkpointing.mode", "EXACTLY_ONCE");
    set(w, "restart-strategy.type", "fixed-delay");
    set(w, "restart-strategy.fixed-delay.attempts", "1000");
    set(w, "restart-strategy.fixed-delay.delay", "10 ms");
    sim_lsm_use(gen_chance(&w->rng, 50));
    set(w, "execution.checkpointing.data-inline-threshold", gen_chance(&w->rng, 50) ? "0" : "20kb");
    set(w, "varve.exchange.capacity", gen_chance(&w->rng, 50) ? "1" : "8");
}
static void world_release(struct world *w)
{
    ck_assert_int_eq(w->board.open_operators, 0);
    toy_board_release(&w->board);
    config_free(w->config);
    fault_fs_free(w->env.fs);
    sim_fs_free(w->disk);
}

/* ---- what is durable --------------------------------------------------------------------------- */

struct look {
    struct world *w;
    const char *dir;
    uint32_t found; /* durable checkpoints */
};

static enum rc file_is_durable(void *ctx, const struct operator_meta *op UNUSED,
                               const struct subtask_state *subtask UNUSED, struct state_file *file,
                               struct err *err)
{
    struct look *look = ctx;
    char joined[FS_PATH_MAX], path[FS_PATH_MAX];
    struct buf content = {0};
    struct digest128 digest;

    if (file->scope == FILE_INLINE)
        return RC_OK;
    RETURN_IF_ERR(path_join(joined, sizeof joined, look->dir, file->path, err));
    RETURN_IF_ERR(path_absolute(path, sizeof path, joined, err));
    if (!sim_fs_durable(look->w->disk, path, &content))
        return err_set(err, RC_CORRUPT, "%s is not durable", path);
    digest = digest_of(buf_bytes(&content));
    buf_release(&content);
    if (!digest_eq(digest, file->digest))
        return err_set(err, RC_CORRUPT, "the durable content of %s is another", path);
    return RC_OK;
}

static enum rc snapshot_is_durable(void *ctx, const char *name, struct err *err)
{
    struct look *look = ctx;
    struct look here = {.w = look->w};
    char dir[FS_PATH_MAX], path[FS_PATH_MAX];
    struct checkpoint_metadata m;
    struct buf content = {0};
    struct arena *arena;
    uint64_t id;
    enum rc rc;

    if (!layout_parse_checkpoint(name, &id) && !layout_is_savepoint(name))
        return RC_OK;
    RETURN_IF_ERR(path_join(dir, sizeof dir, look->dir, name, err));
    RETURN_IF_ERR(path_join(path, sizeof path, dir, LAYOUT_METADATA, err));
    if (!sim_fs_durable(look->w->disk, path, &content))
        return RC_OK; /* there is none: what else lies there counts for nothing */
    arena = arena_new(0);
    here.dir = dir;
    rc = metadata_own_decode(buf_bytes(&content), arena, path, &m, err);
    if (rc == RC_OK)
        rc = metadata_each_file(&m, file_is_durable, &here, err);
    look->found++;
    arena_free(arena);
    buf_release(&content);
    return rc;
}

static enum rc job_is_durable(void *ctx, const char *name, struct err *err)
{
    struct look *look = ctx, here = {.w = look->w};
    char dir[FS_PATH_MAX];
    enum rc rc;

    RETURN_IF_ERR(path_join(dir, sizeof dir, look->dir, name, err));
    here.dir = dir;
    rc = fs_list(look->w->disk, dir, snapshot_is_durable, &here, err);
    look->found += here.found;
    return rc;
}

/* C9: a run that went on from a checkpoint numbers its own above all that its predecessor ever
 * began. */
static void note_floor(struct world *w, const struct job *job)
{
    char dir[FS_PATH_MAX];
    struct run_origin origin;
    struct arena *arena = arena_new(0);

    w->floor_id = 0;
    ck_assert_int_eq(path_join(w->run_dir, sizeof w->run_dir, "/cp", job_id(job), &w->err), RC_OK);
    if (!sim_fs_down(w->disk)) {
        ck_assert_int_eq(origin_read(w->disk, w->run_dir, arena, &origin, &w->err), RC_OK);
        if (origin.from[0] != '\0') {
            ck_assert_int_eq(path_dir(dir, sizeof dir, origin.from, &w->err), RC_OK);
            ck_assert_int_eq(recovery_newest_id(w->disk, dir, &w->floor_id, &w->err), RC_OK);
        }
    }
    arena_free(arena);
}

static enum rc id_grows(void *ctx, const char *name, struct err *err)
{
    const struct world *w = ctx;
    uint64_t id;

    if (!layout_parse_checkpoint(name, &id) || id > w->floor_id)
        return RC_OK;
    return err_set(err, RC_STATE, "C9: %s/%s after checkpoint %llu", w->run_dir, name,
                   (unsigned long long)w->floor_id);
}

/* Looks past the faults. Nothing when the power is off. */
static void check_durable(struct world *w)
{
    struct look jobs = {.w = w, .dir = "/cp"}, savepoints = {.w = w, .dir = "/sp"};
    enum rc rc = RC_OK;

    if (sim_fs_down(w->disk))
        return;
    if (fs_exists(w->disk, "/cp"))
        rc = fs_list(w->disk, "/cp", job_is_durable, &jobs, &w->err);
    if (rc == RC_OK && fs_exists(w->disk, "/sp"))
        rc = fs_list(w->disk, "/sp", snapshot_is_durable, &savepoints, &w->err);
    if (rc == RC_OK && fs_exists(w->disk, w->run_dir))
        rc = fs_list(w->disk, w->run_dir, id_grows, w, &w->err);
    ck_assert_msg(rc == RC_OK, "seed %llu: %s", (unsigned long long)w->seed, w->err.msg);
}

/* ---- what happens to it ------------------------------------------------------------------------ */

/* One of the next operations fails, or some in a row. */
static void break_disk(struct world *w)
{
    static const uint32_t kinds[] = {FAULT_ANY,
                                     FAULT_APPEND,
                                     FAULT_SYNC | FAULT_SYNC_DIR,
                                     FAULT_CREATE | FAULT_MKDIR,
                                     FAULT_RENAME | FAULT_LINK,
                                     FAULT_UNLINK | FAULT_RMDIR,
                                     FAULT_OPEN_READ | FAULT_READ | FAULT_LIST | FAULT_STAT};
    struct fault fault = {.kinds = kinds[rng_below(&w->rng, ARRAY_LEN(kinds))],
                          .at = rng_below(&w->rng, 20),
                          .times = gen_chance(&w->rng, 70) ? 1 : 1 + rng_below(&w->rng, 30),
                          .os_errno = gen_chance(&w->rng, 50) ? EIO : ENOSPC};

    if (fault.kinds == FAULT_APPEND)
        fault.short_write = gen_chance(&w->rng, 50);
    else if (fault.times == 1)
        fault.done = gen_chance(&w->rng, 20);
    fault_fs_clear(w->env.fs);
    fault_fs_add(w->env.fs, fault);
}

/* Now and then something happens to the job. */
static void meddle(struct world *w, struct job *job, bool may_stop)
{
    struct job_operation_request req = {.kind = JOB_OP_SAVEPOINT};

    switch (rng_below(&w->rng, 3000)) {
    case 0:
        w->board.fail_batches = 1;
        break;
    case 1:
        w->board.fail_snapshots = 1;
        break;
    case 2:
        w->board.fail_opens = 1;
        break;
    case 3:
        req.kind = JOB_OP_CHECKPOINT;
        /* fall through */
    case 4:
        (void)!job_operation_start(job, &req, &w->err);
        err_clear(&w->err);
        break;
    case 5:
        req.kind = JOB_OP_STOP;
        if (may_stop && w->stop_count < ARRAY_LEN(w->stops) &&
            job_operation_start(job, &req, &w->err) == RC_OK)
            memcpy(w->stops[w->stop_count++], req.trigger_id, sizeof req.trigger_id);
        err_clear(&w->err);
        break;
    case 6:
        if (may_stop)
            job_cancel(job);
        break;
    case 7:
        if (may_stop)
            job_suspend(job, gen_chance(&w->rng, 50));
        break;
    case 8:
    case 9:
    case 10:
        break_disk(w);
        break;
    case 11: /* longer than a checkpoint may take */
        sim_clock_advance_ms(&w->clock, (int64_t)rng_below(&w->rng, 5000));
        break;
    case 12:
        sim_clock_set_wall_ms(&w->clock, 1700000000000 + (int64_t)rng_below(&w->rng, 86400000) - 43200000);
        break;
    case 13:
        w->board.drop_completes = 1 + (int)rng_below(&w->rng, 4);
        break;
    default:
        break;
    }
}

static void run_to_the_end(struct world *w, struct job *job, bool may_stop)
{
    int64_t next;
    bool ended = false;

    for (uint32_t step = 0; !ended; step++) {
        struct executor *ex = job_executor(job);
        bool ran = false;

        ck_assert_msg(step < STEPS_MAX, "seed %llu: no end, state %s", (unsigned long long)w->seed,
                      job_state_str(job_state(job)));
        if (step % LOOK_EVERY == 0)
            check_durable(w);
        if (sim_fs_down(w->disk))
            job_cancel(job);   /* the power is off: all that its threads do now comes to nothing */
        else if (step < 20000)
            meddle(w, job, may_stop);
        else if (step == 20000) /* then it may come to its end in peace */
            fault_fs_clear(w->env.fs);
        if (gen_chance(&w->rng, 30) || ex == NULL)
            ended = job_step(job, &next);
        else
            ran = executor_step(ex, &w->rng);
        if (!ran && gen_chance(&w->rng, 30))
            sim_clock_advance_ns(&w->clock, (int64_t)rng_below(&w->rng, 5 * NS_PER_MS));
    }
}

/* What holds all that was committed: the newest of the checkpoints and the savepoints of stops.
 * path "" : --resume, which finds the savepoint of a stop by itself. */
static void choose_snapshot(struct world *w, struct job *job, char path[FS_PATH_MAX], uint64_t *id,
                            bool *stopped)
{
    const struct recovery_options toy = {.job_name = "toy"};
    struct recovered newest = {0};
    uint64_t newest_id = *id;
    bool by_path = rng_below(&w->rng, 2) == 0;

    if (recovery_newest_of_job(&w->env, "/cp", &toy, &newest, &w->err) == RC_OK &&
        newest.meta->checkpoint_id >= newest_id) {
        newest_id = newest.meta->checkpoint_id;
        path[0] = '\0';
    }
    err_clear(&w->err);
    recovered_release(&newest);
    *stopped = false;
    for (uint32_t i = 0; i < w->stop_count; i++) {
        struct checkpoint_metadata m;
        struct job_operation op;
        struct arena *a;
        uint64_t bytes;

        ck_assert_msg(job_operation_get(job, w->stops[i], 0, &op, &w->err) == RC_OK, "%s",
                      w->err.msg);
        ck_assert(op.completed);
        *stopped |= op.rc == RC_OK;
        if (op.location[0] == '\0')
            continue;
        a = arena_new(0);
        ck_assert_msg(recovery_read_metadata(w->env.fs, op.location, a, &m, &bytes, &w->err) ==
                          RC_OK,
                      "%s", w->err.msg);
        if (m.checkpoint_id > newest_id && by_path) {
            newest_id = m.checkpoint_id;
            snprintf(path, FS_PATH_MAX, "%s", op.location);
        }
        arena_free(a);
    }
    *id = newest_id;
}

START_TEST(each_row_is_shown_once_in_every_order)
{
    struct world w;
    struct toy_totals want = toy_expected(ROWS_PER_LANE), got;
    struct job_restore restore = {.resume = true};
    char path[FS_PATH_MAX] = "";
    uint64_t id = 0;
    bool finished = false;

    world_init(&w, gen_seed(1000) + (uint64_t)_i);
    for (int life = 0;; life++) {
        uint32_t p = 1 + (uint32_t)rng_below(&w.rng, 3), q = 1 + (uint32_t)rng_below(&w.rng, 3);
        struct job *job;
        enum job_state state;
        bool stopped, crashed;
        struct graph *g = toy_graph(&w.board, p, q, 50);
        uint64_t hits = fault_fs_hits(w.env.fs);
        enum rc rc;

        w.env.seed = rng_below(&w.rng, UINT32_MAX) | 1; /* no id twice */
        if (life < 4 && gen_chance(&w.rng, 20))
            break_disk(&w);
        rc = job_start_by_hand(&w.env, w.config, g, &restore, &job, &w.err);
        if (rc != RC_OK && sim_fs_down(w.disk)) { /* the power went at the start */
            graph_free(g);
            sim_fs_crash(w.disk, &w.rng);
            err_clear(&w.err);
            continue;
        }
        if (rc != RC_OK && fault_fs_hits(w.env.fs) > hits) { /* it could not read or write */
            graph_free(g);
            fault_fs_clear(w.env.fs);
            err_clear(&w.err);
            continue;
        }
        if (rc == RC_DONE) { /* --resume finds that it has finished */
            graph_free(g);
            ck_assert_msg(finished, "seed %llu, life %d: %s", (unsigned long long)w.seed, life,
                          w.err.msg);
            break;
        }
        ck_assert_msg(rc == RC_OK, "seed %llu, life %d: %s", (unsigned long long)w.seed, life,
                      w.err.msg);
        w.stop_count = 0;
        note_floor(&w, job);
        if (life < 4 && gen_chance(&w.rng, 40))
            sim_fs_crash_at(w.disk, rng_below(&w.rng, 400));
        run_to_the_end(&w, job, life < 4);
        state = job_state(job);
        crashed = sim_fs_down(w.disk);
        sim_fs_crash_at(w.disk, UINT64_MAX / 2); /* not while it is looked at */
        if (crashed)
            sim_fs_crash(w.disk, &w.rng);
        fault_fs_clear(w.env.fs);
        check_durable(&w);
        choose_snapshot(&w, job, path, &id, &stopped);
        {
            struct err why;

            job_failure(job, &why);
            ck_assert_msg(state != JOB_FAILED || crashed || fault_fs_hits(w.env.fs) > hits, "seed %llu, life %d: %s",
                          (unsigned long long)w.seed, life, why.msg);
        }
        job_free(job);
        /* All is committed, also when the power went while checkpoints were deleted; and whoever
         * resumes once more adds nothing. */
        finished = state == JOB_FINISHED && !stopped;
        if (finished && !crashed && gen_chance(&w.rng, 50))
            break;
        if (finished)
            path[0] = '\0';
        restore =
            (struct job_restore){.path = path[0] != '\0' ? path : NULL, .resume = path[0] == '\0'};
    }
    got = toy_board_totals(&w.board);
    ck_assert_msg(got.rows == want.rows && got.sum == want.sum,
                  "seed %llu: %llu rows, sum %llu, instead of %llu, %llu",
                  (unsigned long long)w.seed, (unsigned long long)got.rows,
                  (unsigned long long)got.sum, (unsigned long long)want.rows,
                  (unsigned long long)want.sum);
    ck_assert_msg(got.final_count == want.final_count && got.final_sum == want.final_sum,
                  "seed %llu: keyed state came to %llu rows, sum %llu", (unsigned long long)w.seed,
                  (unsigned long long)got.final_count, (unsigned long long)got.final_sum);
    world_release(&w);
}
END_TEST

/* The cancel comes between a checkpoint's completion and the tasks' hearing of it: what it holds is
 * shown all the same, as nobody may ever restore it. A suspend leaves that to the restore. */
START_TEST(a_cancel_shows_what_a_completed_checkpoint_holds)
{
    struct world w;
    struct job_restore restore = {.resume = true};
    struct job *job;
    uint64_t completed = 0;
    int64_t next;
    bool suspend = _i % 2 == 1;

    world_init(&w, 2000 + (uint64_t)_i); /* whose first checkpoints hold rows */
    ck_assert_int_eq(job_start_by_hand(&w.env, w.config, toy_graph(&w.board, 2, 2, 50), &restore,
                                       &job, &w.err),
                     RC_OK);
    for (uint32_t step = 0; completed == 0; step++) {
        struct arena *a = arena_new(0);
        struct checkpoint_stats stats;

        ck_assert_msg(step < STEPS_MAX, "no checkpoint");
        for (int i = 0; i < 4 && job_executor(job) != NULL; i++)
            (void)executor_step(job_executor(job), &w.rng);
        sim_clock_advance_ns(&w.clock, NS_PER_MS);
        ck_assert(!job_step(job, &next));
        job_checkpoint_stats(job, a, &stats);
        completed = stats.completed_count;
        arena_free(a);
    }
    ck_assert_uint_eq(toy_board_totals(&w.board).rows, 0); /* no task has heard of it */
    if (suspend)
        job_suspend(job, false);
    else
        job_cancel(job);
    ck_assert(!job_step(job, &next)); /* the tasks hear of both at once */
    run_to_the_end(&w, job, false);
    ck_assert_int_eq(job_state(job), suspend ? JOB_SUSPENDED : JOB_CANCELED);
    if (suspend)
        ck_assert_uint_eq(toy_board_totals(&w.board).rows, 0);
    else
        ck_assert_uint_gt(toy_board_totals(&w.board).rows, 0);
    job_free(job);
    world_release(&w);
}
END_TEST

static int worlds(void)
{
    const char *n = getenv("VARVE_SIM_SEEDS");

    return n == NULL ? 60 : (int)strtol(n, NULL, 10);
}

TEST_MAIN("sim_job", tcase_add_loop_test(tc, each_row_is_shown_once_in_every_order, 0, worlds());
          tcase_add_loop_test(tc, a_cancel_shows_what_a_completed_checkpoint_holds, 0, 8))
