/* bench_w.c - workload W through the whole engine: SQL plan, exchange, two subtasks, state,
 * checkpoints.
 *
 *     bench_w W [--final-only yes] [--backend hashmap|rocksdb] [--memory SIZE] [--interval MS]
 * [--threads P] [--keys K]
 *               [--rows N] [--steady SECONDS] [--upsert yes] [--dir DIR] [--set KEY=VALUE] [--json
 * FILE]
 *
 * The statements are planned as a user's INSERT INTO a blackhole table is; only the generator that
 * stands in for the source, and the sink that folds what it drops into the checksum, are this
 * program's. bench_limit gives the checksum for any K and N.
 *
 * --steady S: goes on past N, for at most S seconds, until five checkpoints have completed and a
 * compaction has written the deepest level; "rows" says how many events that were. --final-only:
 * batch mode. --upsert: the sink wants no -U, as the blackhole table; then there is no checksum.
 */
#include "tests/bench/w_job.h"

#include <unistd.h>

#define STEADY_CHECKPOINTS 5
#define STEADY_COMPACTIONS 1
#define STEADY_MARGIN 4000000 /* events made while the generators are told the end */

static uint64_t completed(struct job *job)
{
    struct arena *a = arena_new(0);
    struct checkpoint_stats stats;
    uint64_t n;

    job_checkpoint_stats(job, a, &stats);
    n = stats.completed_count;
    arena_free(a);
    return n;
}

/* --steady: tells the generators the end once there is enough to see, or the time is over. */
static void wait_for_enough(struct w_job *j, uint32_t seconds)
{
    double deadline = wall_s() + seconds;
    struct w_state_sizes sizes;
    uint64_t made;

    do {
        if (job_wait(j->job, 100))
            return;
        made = w_job_made(j);
        w_job_state(j, &sizes);
    } while (wall_s() < deadline && (made < j->w.rows || completed(j->job) < STEADY_CHECKPOINTS ||
                                     sizes.deepest_compactions < STEADY_COMPACTIONS));
    j->end = (made / STEADY_MARGIN + 2) * STEADY_MARGIN;
}

static void report_checkpoints(struct report *report, const struct checkpoint_stats *stats)
{
    const struct checkpoint_detail *first = NULL;
    double ms = 0, bytes = 0, slowest = 0;
    uint32_t later = 0;

    for (size_t i = stats->history_count; i-- > 0;) { /* oldest first */
        const struct checkpoint_detail *c = &stats->history[i];

        if (c->status != CHECKPOINT_COMPLETED)
            continue;
        if (first == NULL) {
            first = c;
            continue;
        }
        ms += (double)c->end_to_end_ms;
        bytes += (double)c->checkpointed_bytes;
        slowest = (double)c->end_to_end_ms > slowest ? (double)c->end_to_end_ms : slowest;
        later++;
    }
    report_number(report, "checkpoints_completed", (double)stats->completed_count);
    report_number(report, "checkpoints_failed", (double)stats->failed_count);
    if (first == NULL)
        return;
    report_number(report, "first_checkpoint_ms", (double)first->end_to_end_ms);
    report_number(report, "first_checkpoint_bytes", (double)first->checkpointed_bytes);
    if (later > 0) {
        report_number(report, "later_checkpoint_ms", ms / later);
        report_number(report, "later_checkpoint_max_ms", slowest);
        report_number(report, "later_checkpoint_bytes", bytes / later);
    }
    report_number(report, "state_bytes", (double)stats->latest_completed->state_bytes);
}

static void report_job(struct report *report, const struct w_job *j, double wall, double cpu)
{
    struct checkpoint_stats stats = {0};
    struct w_state_sizes sizes;
    struct arena *a = arena_new(0);

    report_text(report, "program", "bench_w");
    report_text(report, "backend", j->backend);
    report_text(report, "memory", j->memory);
    report_text(report, "results", j->final_only ? "final" : j->retract ? "retract" : "upsert");
    report_run(report, &j->w, j->parallelism, wall, cpu);
    job_checkpoint_stats(j->job, a, &stats);
    report_checkpoints(report, &stats);
    w_job_state(j, &sizes);
    report_number(report, "compactions", (double)sizes.compactions);
    report_number(report, "deepest_compactions", (double)sizes.deepest_compactions);
    report_number(report, "row_cache_bytes", (double)sizes.row_cache_bytes);
    report_number(report, "rows_out", (double)w_job_results(j));
    arena_free(a);
}

static enum rc measure(struct w_job *j, uint32_t steady_s, struct report *report, struct err *err)
{
    double wall = wall_s(), cpu = cpu_s();
    struct half_way half = {0};

    RETURN_IF_ERR(w_job_start(j, err));
    if (steady_s > 0) {
        wait_for_enough(j, steady_s);
    } else {
        while (w_job_made(j) < j->w.rows / 2 && !job_wait(j->job, 2))
            ;
        half_way_now(&half, w_job_made(j));
    }
    RETURN_IF_ERR(w_job_finish(j, err));
    wall = wall_s() - wall;
    cpu = cpu_s() - cpu;
    workload_resize(&j->w, 0, j->end);
    report_job(report, j, wall, cpu);
    half_way_report(report, &half, &j->w);
    return RC_OK;
}

/* ---- the command line ------------------------------------------------------------------------ */

static bool parse(int argc, char **argv, struct w_job *j, uint32_t *steady_s, const char **json)
{
    const char *final_only = NULL, *upsert = NULL, *threads = "2", *keys = NULL, *rows = NULL,
               *steady = NULL;
    const struct arg args[] = {{"--final-only", &final_only},
                               {"--upsert", &upsert},
                               {"--backend", &j->backend},
                               {"--memory", &j->memory},
                               {"--interval", &j->interval},
                               {"--dir", &j->dir},
                               {"--set", &j->set},
                               {"--threads", &threads},
                               {"--keys", &keys},
                               {"--rows", &rows},
                               {"--steady", &steady},
                               {"--json", json}};

    if (!args_parse(argc, argv, &j->w, args, ARRAY_LEN(args)))
        return false;
    workload_resize(&j->w, arg_number(keys), arg_number(rows));
    j->final_only = final_only != NULL;
    j->retract = upsert == NULL && !j->final_only && !j->w.window;
    j->parallelism = (uint32_t)arg_number(threads);
    *steady_s = (uint32_t)arg_number(steady);
    j->end = *steady_s > 0 ? UINT64_MAX : j->w.rows;
    return j->parallelism > 0 && j->parallelism <= W_SUBTASKS_MAX;
}

int main(int argc, char **argv)
{
    static struct w_job j = {.backend = "rocksdb", .memory = "4gb", .interval = "10000"};
    char dir[] = "/tmp/bench-w.XXXXXX";
    struct env env = {.fs = fs_posix(), .clock = clock_posix()};
    struct report report = {0};
    struct err err = {0};
    uint32_t steady_s;
    bool own_dir;
    enum rc rc;

    if (!parse(argc, argv, &j, &steady_s, &report.path)) {
        fprintf(stderr, "usage: see the head of tests/bench/bench_w.c\n");
        return 2;
    }
    own_dir = j.dir == NULL;
    if (own_dir)
        j.dir = mkdtemp(dir);
    env.log = log_new(STDERR_FILENO, LOG_WARN, env.clock);
    j.env = &env;
    rc = measure(&j, steady_s, &report, &err);
    if (rc != RC_OK)
        fprintf(stderr, "bench_w: %s\n", err.msg);
    w_job_release(&j);
    if (own_dir && fs_remove_tree(env.fs, dir, NULL) != RC_OK)
        fprintf(stderr, "bench_w: %s stays\n", dir);
    log_free(env.log);
    if (rc != RC_OK)
        return 1;
    if (!j.retract && !j.final_only && !j.w.window)
        return report_end(&report, NULL, 0);
    return report_end(&report, &j.w, w_job_checksum(&j));
}
