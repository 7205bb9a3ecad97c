/* w_job.c - see w_job.h. */
#include "tests/bench/w_job.h"

#include "job/sql/parser.h"
#include "job/sql/plan.h"

/* ---- the generator as a source --------------------------------------------------------------- */

struct w_source {
    struct source source;
    struct w_job *job;
    struct w_part *part;
    uint64_t next, step;
};

static enum rc w_open(struct source *s, const struct source_context *ctx, struct err *err)
{
    struct w_source *w = (struct w_source *)s;

    (void)err;
    ASSERT(!ctx->restored && ctx->subtask_index < W_SUBTASKS_MAX);
    w->next = ctx->subtask_index;
    w->step = ctx->parallelism;
    w->part = &w->job->parts[ctx->subtask_index];
    return RC_OK;
}

static enum rc w_poll(struct source *s, struct batch_builder *out, uint32_t max_rows,
                      enum source_result *result, int64_t *retry_ns, struct err *err)
{
    struct w_source *w = (struct w_source *)s;
    const struct workload *load = &w->job->w;
    uint64_t end = w->job->end, left = w->next < end ? (end - 1 - w->next) / w->step + 1 : 0,
             i = w->next;
    uint32_t n = left < max_rows ? (uint32_t)left : max_rows;
    int64_t *keys, *values, *times = NULL;

    (void)err;
    *retry_ns = NS_PER_MS;
    *result = n > 0 ? SOURCE_GOT_ROWS : w->job->stays ? SOURCE_NOTHING_NOW : SOURCE_ENDED;
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
    static const struct source_ops ops = {w_open,  w_poll,    w_position,
                                          w_close, w_bounded, NULL};
    struct w_source *w = mem_calloc(1, sizeof *w);

    w->source.ops = &ops;
    w->job = *(struct w_job *const *)config;
    return &w->source;
}

/* ---- the sink -------------------------------------------------------------------------------- */

struct w_sink {
    struct operator op;
    struct w_job *job;
    struct w_part *part;
};

static enum rc sink_open(struct operator *op, const struct operator_context *ctx, struct err *err)
{
    struct w_sink *s = (struct w_sink *)op;

    (void)err;
    ASSERT(ctx->subtask_index < W_SUBTASKS_MAX);
    s->part = &s->job->parts[ctx->subtask_index];
    return RC_OK;
}

/* Every -U takes a result out of the checksum, every +I and +U puts one in. */
static enum rc sink_process(struct operator *op, struct batch *b, struct output *out,
                            struct err *err)
{
    struct w_sink *s = (struct w_sink *)op;
    bool window = s->job->w.window;
    const uint64_t *key = b->columns[0].values, *count = b->columns[window ? 2 : 1].values,
                   *sum = b->columns[window ? 3 : 2].values;
    const int64_t *start = b->columns[1].values;
    uint64_t checksum = s->part->checksum, results = s->part->results;

    (void)out;
    (void)err;
    for (uint32_t i = 0; i < b->rows; i++) {
        checksum ^= w_mix(window ? key[i] ^ splitmix64((uint64_t)start[i] / W_WINDOW_MS) : key[i],
                          count[i], sum[i]);
        results += batch_kind(b, i) != ROW_UPDATE_BEFORE;
    }
    s->part->checksum = checksum;
    s->part->results = results;
    return RC_OK;
}

static void sink_close_op(struct operator *op, bool clean)
{
    (void)clean;
    mem_free(op);
}

static struct operator *w_sink_new(const void *spec)
{
    static const struct operator_ops ops = {
        .kind = "sink", .open = sink_open, .process = sink_process, .close = sink_close_op};
    struct w_sink *s = mem_calloc(1, sizeof *s);

    s->op.ops = &ops;
    s->job = *(struct w_job *const *)spec;
    return &s->op;
}

/* ---- the job --------------------------------------------------------------------------------- */

static const char *sql_of(const struct w_job *j, struct arena *a)
{
    const char *sink = j->retract ? "print" : "blackhole"; /* which of the two wants -U */

    if (j->w.window)
        return arena_printf(a,
                            "CREATE TABLE w (k BIGINT NOT NULL, v BIGINT NOT NULL, ts TIMESTAMP(3) "
                            "NOT NULL, WATERMARK FOR ts AS ts - INTERVAL '0.001' SECOND)"
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
static void replace_ends(struct graph *g, struct w_job *j)
{
    struct w_job **config = arena_copy(g->arena, &j, sizeof j);

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

static enum rc make_graph(struct w_job *j, struct graph **out, struct err *err)
{
    struct arena *a = arena_new(0);
    struct plan_context ctx = {.catalog = j->catalog, .config = j->config, .env = j->env};
    struct ast_script script;
    enum rc rc;

    GOTO_IF_ERR(sql_parse_script(a, bytes_of_str(sql_of(j, a)), &script, err));
    GOTO_IF_ERR(catalog_create_table(j->catalog, script.statements[0], j->config, err));
    GOTO_IF_ERR(catalog_create_table(j->catalog, script.statements[1], j->config, err));
    GOTO_IF_ERR(plan_insert(&ctx, script.statements[2], out, err));
    replace_ends(*out, j);
out:
    arena_free(a);
    return rc;
}

static enum rc configure(const struct w_job *j, struct err *err)
{
    char parallelism[16], key[256];
    const char *const settings[][2] = {
        {"parallelism.default", parallelism},
        {"state.backend.type", j->backend},
        {"execution.checkpointing.interval", j->interval},
        {"execution.checkpointing.dir", j->dir},
        {"taskmanager.memory.managed.size", j->memory},
        {"execution.runtime-mode", j->final_only ? "batch" : "streaming"},
        {"web.checkpoints.history", "10000"},
    };
    const char *value;

    snprintf(parallelism, sizeof parallelism, "%u", j->parallelism);
    for (size_t i = 0; i < ARRAY_LEN(settings); i++)
        RETURN_IF_ERR(config_set(j->config, CONFIG_SET, settings[i][0], settings[i][1], err));
    if (j->set == NULL)
        return RC_OK;
    value = strchr(j->set, '=');
    if (value == NULL || (size_t)(value - j->set) >= sizeof key)
        return err_set(err, RC_INVALID, "--set %s: KEY=VALUE is wanted", j->set);
    snprintf(key, sizeof key, "%.*s", (int)(value - j->set), j->set);
    return config_set(j->config, CONFIG_SET, key, value + 1, err);
}

enum rc w_job_start(struct w_job *j, struct err *err)
{
    struct job_restore restore = {0};
    struct graph *graph = NULL;

    j->config = config_new();
    j->catalog = catalog_new();
    j->dispatcher = dispatcher_new(j->env);
    RETURN_IF_ERR(configure(j, err));
    RETURN_IF_ERR(make_graph(j, &graph, err));
    return dispatcher_submit(j->dispatcher, j->config, graph, &restore, &j->job, err);
}

enum rc w_job_finish(struct w_job *j, struct err *err)
{
    job_wait(j->job, -1);
    if (job_state(j->job) == JOB_FINISHED)
        return RC_OK;
    job_failure(j->job, err);
    return err->rc != RC_OK
               ? err->rc
               : err_set(err, RC_STATE, "the job ended as %s", job_state_str(job_state(j->job)));
}

void w_job_release(struct w_job *j)
{
    if (j->job != NULL)
        dispatcher_release(j->dispatcher, j->job);
    dispatcher_free(j->dispatcher);
    catalog_free(j->catalog);
    config_free(j->config);
}

/* ---- looking at it --------------------------------------------------------------------------- */

uint64_t w_job_made(const struct w_job *j)
{
    uint64_t made = 0;

    for (uint32_t p = 0; p < j->parallelism; p++)
        made = j->parts[p].next > made ? j->parts[p].next : made;
    return made;
}

uint64_t w_job_results(const struct w_job *j)
{
    uint64_t results = 0;

    for (uint32_t p = 0; p < j->parallelism; p++)
        results += j->parts[p].results;
    return results;
}

uint64_t w_job_checksum(const struct w_job *j)
{
    uint64_t checksum = 0;

    for (uint32_t p = 0; p < j->parallelism; p++)
        checksum ^= j->parts[p].checksum;
    return checksum;
}

static void add_state(const struct keyed_stats *k, bool first, struct w_state_sizes *out)
{
    out->compactions += k->compactions;
    out->compacted_bytes += k->compacted_bytes;
    out->pending_compaction_bytes += k->pending_compaction_bytes;
    out->sst_bytes += k->db_live_sst_bytes;
    out->row_cache_bytes += k->cache_bytes;
    if (first || k->deepest_compactions < out->deepest_compactions)
        out->deepest_compactions = k->deepest_compactions;
}

void w_job_state(const struct w_job *j, struct w_state_sizes *out)
{
    struct arena *a = arena_new(0);
    struct job_view view;
    bool first = true;

    *out = (struct w_state_sizes){0};
    job_view(j->job, a, &view);
    for (uint32_t v = 0; v < view.vertex_count; v++)
        for (uint32_t s = 0; s < view.vertices[v].parallelism; s++)
            for (uint32_t o = 0; o < view.vertices[v].subtasks[s].operator_count; o++) {
                if (!view.graph->vertices[v].operators[o].keyed)
                    continue;
                add_state(&view.vertices[v].subtasks[s].operators[o].keyed, first, out);
                first = false;
            }
    arena_free(a);
}
