/* bench_checkpoint.c - what a checkpoint costs: the first one of a large state, then one after a
 * share of the keys has changed.
 *
 *     bench_checkpoint [--keys K] [--rows N] [--shares "0.1 1 10"] [--memory SIZE] [--backend B]
 * [--dir DIR] [--json FILE]
 *
 * The job is that of bench_w with W-mid's keys (K 10^7, N 2*10^7), two subtasks, without periodic
 * checkpoints. After N events it waits until compactions stand still and takes the first
 * checkpoint. Then, for each share (percent of K): a checkpoint that does not count, so that files
 * which compactions wrote have been named; as many events as change about that many keys, all
 * processed; the checkpoint that counts. Reported for each: milliseconds from the request to the
 * answer ("ms"), the job's own figure ("e2e_ms"), the longest synchronous part ("sync_ms"), bytes
 * of the files that it is the first to name ("new_bytes"), of all that it names ("state_bytes"),
 * and what compactions wrote until they stood still again ("compacted_bytes"). "unchanged": right
 * after the first one.
 */
#include "tests/bench/w_job.h"

#include <unistd.h>

struct measured {
    double ms;
    struct checkpoint_detail detail;
    int64_t sync_ms;
    uint64_t compacted_bytes;
};
struct bench {
    struct w_job job;
    struct report report;
    struct arena *arena;
    uint64_t compacted_bytes; /* when the last checkpoint was taken */
};

static enum rc wait_for_events(struct bench *b, uint64_t events, struct err *err)
{
    b->job.end = events;
    while (w_job_results(&b->job) < events)
        if (job_wait(b->job.job, 2)) {
            job_failure(b->job.job, err);
            return err->rc != RC_OK ? err->rc : err_set(err, RC_STATE, "the job has ended");
        }
    return RC_OK;
}

/* Until nothing has been compacted for a second (statistics are published twice a second). */
static void wait_for_quiet(struct bench *b)
{
    struct w_state_sizes before, now;

    w_job_state(&b->job, &before);
    for (int same = 0; same < 6;) {
        (void)job_wait(b->job.job, 250);
        w_job_state(&b->job, &now);
        same = now.compacted_bytes == before.compacted_bytes ? same + 1 : 0;
        before = now;
    }
}

static int64_t longest_sync_ms(const struct checkpoint_detail *d)
{
    int64_t longest = 0;

    for (uint32_t v = 0; v < d->vertex_count; v++)
        for (uint32_t s = 0; s < d->vertices[v].subtask_count; s++)
            if (d->vertices[v].subtasks[s].ack.sync_ms > longest)
                longest = d->vertices[v].subtasks[s].ack.sync_ms;
    return longest;
}

static enum rc take(struct bench *b, struct measured *out, struct err *err)
{
    struct job_operation_request request = {.kind = JOB_OP_CHECKPOINT};
    struct job_operation operation = {0};
    struct checkpoint_stats stats;
    const struct checkpoint_detail *detail;
    struct w_state_sizes sizes;
    double from = wall_s();

    RETURN_IF_ERR(job_operation_start(b->job.job, &request, err));
    while (!operation.completed)
        RETURN_IF_ERR(job_operation_get(b->job.job, request.trigger_id, 1000, &operation, err));
    out->ms = 1e3 * (wall_s() - from);
    if (operation.rc != RC_OK)
        return err_set(err, operation.rc, "%s", operation.message);
    job_checkpoint_stats(b->job.job, b->arena, &stats);
    detail = checkpoint_stats_find(&stats, operation.checkpoint_id);
    if (detail == NULL)
        return err_set(err, RC_STATE, "checkpoint %llu is not in the history",
                       (unsigned long long)operation.checkpoint_id);
    out->detail = *detail;
    out->sync_ms = longest_sync_ms(detail);
    wait_for_quiet(b);
    w_job_state(&b->job, &sizes);
    out->compacted_bytes = sizes.compacted_bytes - b->compacted_bytes;
    b->compacted_bytes = sizes.compacted_bytes;
    return RC_OK;
}

static void report_measured(struct bench *b, const char *of, const struct measured *m)
{
    const struct {
        const char *what;
        double value;
    } figures[] = {
        {"ms", m->ms},
        {"e2e_ms", (double)m->detail.end_to_end_ms},
        {"sync_ms", (double)m->sync_ms},
        {"new_bytes", (double)m->detail.checkpointed_bytes},
        {"state_bytes", (double)m->detail.state_bytes},
        {"compacted_bytes", (double)m->compacted_bytes},
    };
    char name[64];

    for (size_t i = 0; i < ARRAY_LEN(figures); i++) {
        snprintf(name, sizeof name, "%s_%s", of, figures[i].what);
        report_number(&b->report, name, figures[i].value);
    }
}

/* Random keys, so some are changed twice: of x K events on K keys a share of 1 - e^-x is changed.
 */
static uint64_t events_that_change(double percent, uint64_t keys)
{
    double share = percent < 99 ? percent / 100 : 0.99;

    return (uint64_t)(-log1p(-share) * (double)keys);
}

static enum rc measure(struct bench *b, const char *shares, struct err *err)
{
    uint64_t events = b->job.w.rows;
    struct measured m;
    char name[32], *end;

    b->job.stays = true;
    b->job.end = events;
    RETURN_IF_ERR(w_job_start(&b->job, err));
    RETURN_IF_ERR(wait_for_events(b, events, err));
    wait_for_quiet(b);
    RETURN_IF_ERR(take(b, &m, err));
    report_measured(b, "first", &m);
    RETURN_IF_ERR(take(b, &m, err));
    report_measured(b, "unchanged", &m);
    for (const char *at = shares; *at != '\0'; at = end) {
        double percent = strtod(at, &end);

        if (end == at || percent <= 0)
            return err_set(err, RC_INVALID, "--shares %s: percents, with spaces between", shares);
        RETURN_IF_ERR(take(b, &m, err));
        events += events_that_change(percent, b->job.w.keys);
        RETURN_IF_ERR(wait_for_events(b, events, err));
        RETURN_IF_ERR(take(b, &m, err));
        snprintf(name, sizeof name, "at_%g", percent);
        report_measured(b, name, &m);
    }
    return RC_OK;
}

static bool parse(int argc, char **argv, struct w_job *j, const char **shares, const char **json)
{
    const char *keys = NULL, *rows = NULL;
    const struct arg args[] = {{"--keys", &keys},          {"--rows", &rows},
                               {"--shares", shares},       {"--memory", &j->memory},
                               {"--backend", &j->backend}, {"--dir", &j->dir},
                               {"--set", &j->set},         {"--json", json}};

    if (!args_parse(argc, argv, NULL, args, ARRAY_LEN(args)) || !workload_find("mid", &j->w))
        return false;
    workload_resize(&j->w, arg_number(keys), arg_number(rows));
    return true;
}

int main(int argc, char **argv)
{
    static struct bench b = {
        .job = {.backend = "rocksdb", .memory = "4gb", .interval = "86400000", .parallelism = 2}};
    char dir[] = "/tmp/bench-checkpoint.XXXXXX";
    struct env env = {.fs = fs_posix(), .clock = clock_posix()};
    const char *shares = "1";
    struct err err = {0};
    bool own_dir;
    enum rc rc;

    if (!parse(argc, argv, &b.job, &shares, &b.report.path)) {
        fprintf(stderr, "usage: see the head of tests/bench/bench_checkpoint.c\n");
        return 2;
    }
    own_dir = b.job.dir == NULL;
    if (own_dir)
        b.job.dir = mkdtemp(dir);
    env.log = log_new(STDERR_FILENO, LOG_WARN, env.clock);
    b.job.env = &env;
    b.arena = arena_new(0);
    report_text(&b.report, "program", "bench_checkpoint");
    report_text(&b.report, "backend", b.job.backend);
    report_number(&b.report, "keys", (double)b.job.w.keys);
    report_number(&b.report, "rows", (double)b.job.w.rows);
    rc = measure(&b, shares, &err);
    if (rc != RC_OK)
        fprintf(stderr, "bench_checkpoint: %s\n", err.msg);
    report_number(&b.report, "peak_rss_mb", peak_rss_mb());
    report_number(&b.report, "cpu_seconds", cpu_s());
    w_job_release(&b.job);
    if (own_dir && fs_remove_tree(env.fs, dir, NULL) != RC_OK)
        fprintf(stderr, "bench_checkpoint: %s stays\n", dir);
    arena_free(b.arena);
    log_free(env.log);
    return rc == RC_OK ? report_end(&b.report, NULL, 0) : 1;
}
