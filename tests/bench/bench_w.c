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
#include "job/runtime/dispatcher.h"
#include "job/sql/parser.h"
#include "job/sql/plan.h"
#include "tests/bench/workload.h"

#include <unistd.h>

#define SUBTASKS_MAX 64
#define STEADY_CHECKPOINTS 5
#define STEADY_COMPACTIONS 1
#define STEADY_MARGIN                                                                              \
    4000000 /* events that the generators may make while the end is being told to them */

/* What the generators, the sinks and the main thread share; a line of memory each. */
struct part {
    _Alignas(
        128) _Atomic uint64_t next;  /* written by the generator: the first event it has not made */
    _Alignas(128) uint64_t checksum; /* written by the sink */
    uint64_t rows;
};
struct run {
    struct workload w;
    const struct env *env;
    const char *backend, *memory, *interval, *dir, *set;
    uint32_t parallelism, steady_s;
    bool final_only, retract;
    _Atomic uint64_t end; /* events; UINT64_MAX: not known yet */
    struct part parts[SUBTASKS_MAX];
};

/* ---- the generator as a source
 * ---------------------------------------------------------------------- */

struct w_source {
    struct source source;
    struct run *run;
    struct part *part;
    uint64_t next, step;
};

static enum rc w_open(struct source *s, const struct source_context *ctx, struct err *err)
{
    struct w_source *w = (struct w_source *)s;

    (void)err;
    ASSERT(!ctx->restored && ctx->subtask_index < SUBTASKS_MAX);
    w->next = ctx->subtask_index;
    w->step = ctx->parallelism;
    w->part = &w->run->parts[ctx->subtask_index];
    return RC_OK;
}

static enum rc w_poll(struct source *s, struct batch_builder *out, uint32_t max_rows,
                      enum source_result *result, int64_t *retry_ns, struct err *err)
{
    struct w_source *w = (struct w_source *)s;
    const struct workload *load = &w->run->w;
    uint64_t end = w->run->end, left = w->next < end ? (end - w->next + w->step - 1) / w->step : 0,
             i = w->next;
    uint32_t n = left < max_rows ? (uint32_t)left : max_rows;
    int64_t *keys, *values, *times = NULL;

    (void)err;
    *retry_ns = 0;
    *result = n > 0 ? SOURCE_GOT_ROWS : SOURCE_ENDED;
    batch_rows_begin(out, n);
    keys = batch_space_open(out, 0, 0).values;
    values = batch_space_open(out, 1, 0).values;
    if (load->window)
        times = batch_space_open(out, 2, 0).values;
    for (uint32_t k = 0; k < n; k++, i += w->step) {
        keys[k] = (int64_t)w_key(load, i);
        values[k] = w_value(i);
        if (times != NULL)
            times[k] = (int64_t)(i / W_EVENTS_A_MS);
    }
    batch_rows_end(out, n);
    w->next = i;
    w->part->next = i;
    return RC_OK;
}

static enum rc w_position(struct source *s, struct arena *arena, struct bytes **items,
                          size_t *count, struct err *err)
{
    struct w_source *w = (struct w_source *)s;

    (void)err;
    *items = ARENA_NEW(arena, struct bytes);
    **items = arena_bytes_copy(arena, bytes_of(&w->next, sizeof w->next));
    *count = 1;
    return RC_OK;
}

static void w_close(struct source *s)
{
    mem_free(s);
}

static bool w_bounded(const struct source *s)
{
    (void)s;
    return true;
}

static struct source *w_source_new(const void *config)
{
    static const struct source_ops ops = {w_open, w_poll, w_position, w_close, w_bounded};
    struct w_source *w = mem_calloc(1, sizeof *w);

    w->source.ops = &ops;
    w->run = *(struct run *const *)config;
    return &w->source;
}

/* ---- the sink
 * --------------------------------------------------------------------------------------- */

struct w_sink {
    struct operator op;
    struct run *run;
    struct part *part;
};

static enum rc sink_open(struct operator* op, const struct operator_context *ctx, struct err *err)
{
    struct w_sink *s = (struct w_sink *)op;

    (void)err;
    ASSERT(ctx->subtask_index < SUBTASKS_MAX);
    s->part = &s->run->parts[ctx->subtask_index];
    return RC_OK;
}

/* Every -U takes a result out of the checksum, every +I and +U puts one in. */
static enum rc sink_process(struct operator* op, struct batch *b, struct output *out,
                            struct err *err)
{
    struct w_sink *s = (struct w_sink *)op;
    bool window = s->run->w.window;
    const uint64_t *key = b->columns[0].values, *count = b->columns[window ? 2 : 1].values,
                   *sum = b->columns[window ? 3 : 2].values;
    const int64_t *start = b->columns[1].values;
    uint64_t checksum = s->part->checksum;

    (void)out;
    (void)err;
    s->part->rows += b->rows;
    for (uint32_t i = 0; i < b->rows; i++)
        checksum ^= w_mix(window ? key[i] ^ splitmix64((uint64_t)start[i] / W_WINDOW_MS) : key[i],
                          count[i], sum[i]);
    s->part->checksum = checksum;
    return RC_OK;
}

static void sink_close_op(struct operator* op, bool clean)
{
    (void)clean;
    mem_free(op);
}

static struct operator* w_sink_new(const void *spec)
{
    static const struct operator_ops ops = {
        .kind = "sink", .open = sink_open, .process = sink_process, .close = sink_close_op};
    struct w_sink *s = mem_calloc(1, sizeof *s);

    s->op.ops = &ops;
    s->run = *(struct run *const *)spec;
    return &s->op;
}

/* ---- the job
 * ---------------------------------------------------------------------------------------- */

static const char *sql_of(const struct run *r, struct arena *a)
{
    const char *sink = r->retract ? "print" : "blackhole"; /* which of the two wants -U */

    if (r->w.window)
        return arena_printf(a,
                            "CREATE TABLE w (k BIGINT NOT NULL, v BIGINT NOT NULL, ts TIMESTAMP(3) "
                            "NOT NULL, WATERMARK FOR ts AS ts)"
                            " WITH ('connector' = 'datagen', 'number-of-rows' = '1');"
                            "CREATE TABLE o (k BIGINT, ws TIMESTAMP(3), n BIGINT, s BIGINT) WITH "
                            "('connector' = '%s');"
                            "INSERT INTO o SELECT k, window_start, COUNT(*), SUM(v) FROM "
                            "TABLE(TUMBLE(TABLE w, DESCRIPTOR(ts), INTERVAL '10' SECOND))"
                            " GROUP BY k, window_start, window_end;",
                            sink);
    return arena_printf(
        a,
        "CREATE TABLE w (k BIGINT NOT NULL, v BIGINT NOT NULL) WITH ('connector' = 'datagen', "
        "'number-of-rows' = '1');"
        "CREATE TABLE o (k BIGINT, n BIGINT, s BIGINT, mn BIGINT, mx BIGINT) WITH ('connector' = "
        "'%s');"
        "INSERT INTO o SELECT k, COUNT(*), SUM(v), MIN(v), MAX(v) FROM w GROUP BY k;",
        sink);
}

/* Our generator and our sink in place of the tables'. */
static void replace_ends(struct graph *g, struct run *r)
{
    struct run **config = arena_copy(g->arena, &r, sizeof r);

    for (uint32_t v = 0; v < g->vertex_count; v++) {
        struct operator_spec *first = &g->vertices[v].operators[0],
                             *last = &g->vertices[v].operators[g->vertices[v].operator_count - 1];

        if (first->is_source) {
            struct source_spec *spec = arena_copy(g->arena, first->spec, sizeof *spec);

            spec->make = w_source_new;
            spec->config = config;
            spec->rows_per_second = 0;
            first->spec = spec;
        }
        if (strncmp(last->name, "Sink", 4) == 0) {
            last->make = w_sink_new;
            last->check_restored = NULL;
            last->spec = config;
        }
    }
}

static enum rc make_graph(struct run *r, struct config *config, struct catalog *catalog,
                          struct graph **out, struct err *err)
{
    struct arena *a = arena_new(0);
    struct plan_context ctx = {.catalog = catalog, .config = config, .env = r->env};
    struct ast_script script;
    enum rc rc;

    GOTO_IF_ERR(sql_parse_script(a, bytes_of_str(sql_of(r, a)), &script, err));
    GOTO_IF_ERR(catalog_create_table(catalog, script.statements[0], config, err));
    GOTO_IF_ERR(catalog_create_table(catalog, script.statements[1], config, err));
    GOTO_IF_ERR(plan_insert(&ctx, script.statements[2], out, err));
    replace_ends(*out, r);
out:
    arena_free(a);
    return rc;
}

static enum rc configure(const struct run *r, struct config *c, struct err *err)
{
    char parallelism[16];
    const char *const settings[][2] = {
        {"parallelism.default", parallelism},
        {"state.backend.type", r->backend},
        {"execution.checkpointing.interval", r->interval},
        {"execution.checkpointing.dir", r->dir},
        {"taskmanager.memory.managed.size", r->memory},
        {"execution.runtime-mode", r->final_only ? "batch" : "streaming"},
        {"web.checkpoints.history", "10000"},
    };

    snprintf(parallelism, sizeof parallelism, "%u", r->parallelism);
    for (size_t i = 0; i < ARRAY_LEN(settings); i++)
        RETURN_IF_ERR(config_set(c, CONFIG_SET, settings[i][0], settings[i][1], err));
    if (r->set != NULL) {
        const char *value = strchr(r->set, '=');
        char key[256];

        if (value == NULL || (size_t)(value - r->set) >= sizeof key)
            return err_set(err, RC_INVALID, "--set %s: KEY=VALUE is wanted", r->set);
        memcpy(key, r->set, (size_t)(value - r->set));
        key[value - r->set] = '\0';
        RETURN_IF_ERR(config_set(c, CONFIG_SET, key, value + 1, err));
    }
    return RC_OK;
}

/* ---- what is measured
 * --------------------------------------------------------------------------------- */

struct state_sizes {
    uint64_t compactions, deepest_compactions, live_sst_bytes, cache_bytes;
};

/* Over all subtasks; deepest_compactions: of the subtask that has the fewest. */
static void look_at_state(struct job *job, struct state_sizes *out)
{
    struct arena *a = arena_new(0);
    struct job_view view;
    bool any = false;

    *out = (struct state_sizes){0};
    job_view(job, a, &view);
    for (uint32_t v = 0; v < view.vertex_count; v++)
        for (uint32_t s = 0; s < view.vertices[v].parallelism; s++)
            for (uint32_t o = 0; o < view.vertices[v].subtasks[s].operator_count; o++) {
                const struct keyed_stats *k = &view.vertices[v].subtasks[s].operators[o].keyed;

                if (!view.graph->vertices[v].operators[o].keyed)
                    continue;
                out->compactions += k->compactions;
                out->live_sst_bytes += k->db_live_sst_bytes;
                out->cache_bytes += k->cache_bytes;
                if (!any || k->deepest_compactions < out->deepest_compactions)
                    out->deepest_compactions = k->deepest_compactions;
                any = true;
            }
    arena_free(a);
}

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

/* --steady: tells the generators where the end is once there is enough to see, or the time is over.
 */
static void wait_for_enough(struct run *r, struct job *job)
{
    double deadline = wall_s() + r->steady_s;
    struct state_sizes sizes;
    uint64_t end;

    for (;;) {
        if (job_wait(job, 100))
            return;
        end = 0;
        for (uint32_t p = 0; p < r->parallelism; p++)
            end = r->parts[p].next > end ? r->parts[p].next : end;
        look_at_state(job, &sizes);
        if (wall_s() > deadline || (end >= r->w.rows && completed(job) >= STEADY_CHECKPOINTS &&
                                    sizes.deepest_compactions >= STEADY_COMPACTIONS))
            break;
    }
    r->end = (end / STEADY_MARGIN + 2) * STEADY_MARGIN;
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

static enum rc measure(struct run *r, struct dispatcher *dispatcher, struct config *config,
                       struct graph *graph_take, struct report *report, struct err *err)
{
    struct job_restore restore = {0};
    struct checkpoint_stats stats = {0};
    struct state_sizes sizes;
    struct job *job;
    struct arena *a;
    double wall = wall_s(), cpu = cpu_s();

    RETURN_IF_ERR(dispatcher_submit(dispatcher, config, graph_take, &restore, &job, err));
    if (r->steady_s > 0)
        wait_for_enough(r, job);
    job_wait(job, -1);
    wall = wall_s() - wall;
    cpu = cpu_s() - cpu;
    if (job_state(job) != JOB_FINISHED) {
        job_failure(job, err);
        if (err->rc == RC_OK)
            (void)err_set(err, RC_STATE, "the job ended as %s", job_state_str(job_state(job)));
        dispatcher_release(dispatcher, job);
        return err->rc;
    }
    workload_resize(&r->w, 0, r->end);
    report_text(report, "program", "bench_w");
    report_text(report, "backend", r->backend);
    report_text(report, "memory", r->memory);
    report_text(report, "results", r->final_only ? "final" : r->retract ? "retract" : "upsert");
    report_run(report, &r->w, r->parallelism, wall, cpu);
    a = arena_new(0);
    job_checkpoint_stats(job, a, &stats);
    report_checkpoints(report, &stats);
    look_at_state(job, &sizes);
    report_number(report, "compactions", (double)sizes.compactions);
    report_number(report, "deepest_compactions", (double)sizes.deepest_compactions);
    report_number(report, "row_cache_bytes", (double)sizes.cache_bytes);
    arena_free(a);
    dispatcher_release(dispatcher, job);
    return RC_OK;
}

static enum rc run_engine(struct run *r, struct report *report, struct err *err)
{
    struct config *config = config_new();
    struct catalog *catalog = catalog_new();
    struct dispatcher *dispatcher = dispatcher_new(r->env);
    struct graph *graph = NULL;
    enum rc rc;

    GOTO_IF_ERR(configure(r, config, err));
    GOTO_IF_ERR(make_graph(r, config, catalog, &graph, err));
    GOTO_IF_ERR(measure(r, dispatcher, config, graph, report, err));
out:
    dispatcher_free(dispatcher);
    catalog_free(catalog);
    config_free(config);
    return rc;
}

/* ---- the command line
 * ----------------------------------------------------------------------------------- */

static bool parse(int argc, char **argv, struct run *r, const char **json)
{
    const char *final_only = NULL, *upsert = NULL, *threads = "2", *keys = NULL, *rows = NULL,
               *steady = NULL;
    const struct arg args[] = {{"--final-only", &final_only},
                               {"--upsert", &upsert},
                               {"--backend", &r->backend},
                               {"--memory", &r->memory},
                               {"--interval", &r->interval},
                               {"--dir", &r->dir},
                               {"--set", &r->set},
                               {"--threads", &threads},
                               {"--keys", &keys},
                               {"--rows", &rows},
                               {"--steady", &steady},
                               {"--json", json}};

    if (!args_parse(argc, argv, &r->w, args, ARRAY_LEN(args)))
        return false;
    workload_resize(&r->w, arg_number(keys), arg_number(rows));
    r->final_only = final_only != NULL;
    r->retract = upsert == NULL && !r->final_only;
    r->parallelism = (uint32_t)arg_number(threads);
    r->steady_s = (uint32_t)arg_number(steady);
    r->end = r->steady_s > 0 ? UINT64_MAX : r->w.rows;
    return r->parallelism > 0 && r->parallelism <= SUBTASKS_MAX;
}

int main(int argc, char **argv)
{
    static struct run r = {.backend = "rocksdb", .memory = "4gb", .interval = "10000"};
    char dir[] = "/tmp/bench-w.XXXXXX";
    struct env env = {.fs = fs_posix(), .clock = clock_posix()};
    struct report report = {0};
    struct err err = {0};
    uint64_t checksum = 0, rows = 0;
    bool own_dir;
    enum rc rc;

    if (!parse(argc, argv, &r, &report.path)) {
        fprintf(stderr, "usage: see the head of tests/bench/bench_w.c\n");
        return 2;
    }
    own_dir = r.dir == NULL;
    if (own_dir)
        r.dir = mkdtemp(dir);
    env.log = log_new(STDERR_FILENO, LOG_WARN, env.clock);
    r.env = &env;
    rc = run_engine(&r, &report, &err);
    if (rc != RC_OK)
        fprintf(stderr, "bench_w: %s\n", err.msg);
    if (own_dir && fs_remove_tree(env.fs, dir, NULL) != RC_OK)
        fprintf(stderr, "bench_w: %s stays\n", dir);
    log_free(env.log);
    if (rc != RC_OK)
        return 1;
    for (uint32_t p = 0; p < r.parallelism; p++) {
        checksum ^= r.parts[p].checksum;
        rows += r.parts[p].rows;
    }
    report_number(&report, "rows_out", (double)rows);
    return report_end(&report, &r.w, checksum);
}
