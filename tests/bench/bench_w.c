/* bench_w.c - workload W through the whole engine, beside the same work in plain memory.
 *
 * Event i of [0, N): key = splitmix64(i) mod K, value = i & 0xFFFF; GROUP BY key with COUNT(*), SUM, MIN, MAX at parallelism 2;
 * every event gives its update to a sink that folds it into the checksum. The SQL is planned as a user's; only the source is this
 * program's generator. Figures of varve and of the limit come from one run on one machine: quote the ratio.
 *
 *     bench_w [small|mid|zipf] [--backend hashmap|rocksdb] [--rows N] [--keys K] [--interval MS] [--memory SIZE] [--dir DIR] [--json FILE]
 */
#include "job/runtime/dispatcher.h"
#include "job/sql/parser.h"
#include "job/sql/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define C1 0x9E3779B97F4A7C15ULL
#define C2 0xC2B2AE3D27D4EB4FULL

static const struct workload {
    const char *name;
    uint64_t keys, rows;
    bool zipf;
    uint64_t checksum;
} workloads[] = {
    {"small", 100000, 20000000, false, 0x65767ae586bb3746ULL},
    {"mid", 10000000, 20000000, false, 0xa4ef564c33e37e68ULL},
    {"zipf", 10000000, 20000000, true, 0x1c349f36f07c3ffcULL},
};
struct options {
    const struct workload *w;
    uint64_t keys, rows;
    const char *backend, *interval, *memory, *dir, *json;
    bool changed; /* not the workload's own size: the checksum is that of the limit */
};

static uint64_t key_of(const struct options *o, uint64_t i)
{
    uint64_t h = splitmix64(i);

    if (!o->w->zipf)
        return h % o->keys;
    return splitmix64((uint64_t)floor(exp((double)(h >> 11) * 0x1.0p-53 * log((double)o->keys))));
}
static uint64_t mix(uint64_t key, uint64_t count, uint64_t sum) { return splitmix64(key ^ count * C1 ^ sum * C2); }

static double cpu_s(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* ---- the limit: one thread, one table in memory --------------------------------------------------- */

struct slot {
    uint64_t key;
    int64_t count, sum;
    int32_t min, max;
};

static uint64_t run_limit(const struct options *o, double *cpu)
{
    uint64_t cap = 1, checksum = 0;
    double start = cpu_s();
    struct slot *table;

    while (cap < o->keys * 2)
        cap *= 2;
    table = mem_calloc(cap, sizeof *table);
    for (uint64_t at = 0; at < o->rows; at += 1024) {
        uint64_t keys[1024], home[1024], n = o->rows - at < 1024 ? o->rows - at : 1024;

        for (uint64_t i = 0; i < n; i++) {
            keys[i] = key_of(o, at + i);
            home[i] = (splitmix64(keys[i]) >> 8) & (cap - 1);
            __builtin_prefetch(&table[home[i]], 1);
        }
        for (uint64_t i = 0; i < n; i++) {
            int32_t v = (int32_t)((at + i) & 0xFFFF);
            struct slot *s = &table[home[i]];

            while (s->count != 0 && s->key != keys[i])
                s = &table[home[i] = (home[i] + 1) & (cap - 1)];
            if (s->count == 0)
                *s = (struct slot){.key = keys[i], .min = v, .max = v};
            else
                checksum ^= mix(s->key, (uint64_t)s->count, (uint64_t)s->sum);
            s->count++;
            s->sum += v;
            s->min = v < s->min ? v : s->min;
            s->max = v > s->max ? v : s->max;
            checksum ^= mix(s->key, (uint64_t)s->count, (uint64_t)s->sum);
        }
    }
    mem_free(table);
    *cpu = cpu_s() - start;
    return checksum;
}

/* ---- the generator as a source -------------------------------------------------------------------- */

struct w_source {
    struct source source;
    const struct options *o;
    uint64_t next, step;
};

static enum rc w_open(struct source *s, const struct source_context *ctx, struct err *err)
{
    struct w_source *w = (struct w_source *)s;

    (void)err;
    ASSERT(!ctx->restored);
    w->next = ctx->subtask_index;
    w->step = ctx->parallelism;
    return RC_OK;
}
static enum rc w_poll(struct source *s, struct batch_builder *out, uint32_t max_rows, enum source_result *result,
                      int64_t *retry_ns, struct err *err)
{
    struct w_source *w = (struct w_source *)s;

    (void)err;
    *retry_ns = 0;
    *result = w->next < w->o->rows ? SOURCE_GOT_ROWS : SOURCE_ENDED;
    for (uint32_t n = 0; n < max_rows && w->next < w->o->rows; n++, w->next += w->step) {
        batch_append_int(out, 0, (int64_t)key_of(w->o, w->next));
        batch_append_int(out, 1, (int64_t)(w->next & 0xFFFF));
        batch_row_end(out, ROW_INSERT);
    }
    return RC_OK;
}
static enum rc w_position(struct source *s, struct arena *arena, struct bytes **items, size_t *count, struct err *err)
{
    struct w_source *w = (struct w_source *)s;

    (void)err;
    *items = ARENA_NEW(arena, struct bytes);
    **items = arena_bytes_copy(arena, bytes_of(&w->next, sizeof w->next));
    *count = 1;
    return RC_OK;
}
static void w_close(struct source *s) { mem_free(s); }
static bool w_bounded(const struct source *s)
{
    (void)s;
    return true;
}
static const struct source_ops w_ops = {w_open, w_poll, w_position, w_close, w_bounded};

static struct source *w_new(const void *config)
{
    struct w_source *w = mem_calloc(1, sizeof *w);

    w->source.ops = &w_ops;
    w->o = config;
    return &w->source;
}

/* ---- the engine ----------------------------------------------------------------------------------- */

/* Every -U takes a result out of the checksum, every +I and +U puts one in. */
static enum rc fold(void *ctx, const struct batch *b, struct err *err)
{
    uint64_t *checksum = ctx;
    const uint64_t *k = b->columns[0].values, *n = b->columns[1].values, *s = b->columns[2].values;

    (void)err;
    for (uint32_t i = 0; i < b->rows; i++)
        *checksum ^= mix(k[i], n[i], s[i]);
    return RC_OK;
}

static enum rc make_graph(const struct env *env, const struct options *o, struct config *config, struct catalog *catalog,
                          uint64_t *checksum, struct graph **out, struct err *err)
{
    static const char sql[] =
        "CREATE TABLE w (k BIGINT NOT NULL, v BIGINT NOT NULL) WITH ('connector' = 'datagen', 'number-of-rows' = '1');"
        "SELECT k, COUNT(*), SUM(v), MIN(v), MAX(v) FROM w GROUP BY k;";
    struct arena *a = arena_new(0);
    struct ast_script script;
    struct plan_context ctx = {.catalog = catalog, .config = config, .env = env};
    struct plan_result result;
    struct source_spec *spec;
    enum rc rc;

    GOTO_IF_ERR(sql_parse_script(a, bytes_of_str(sql), &script, err));
    GOTO_IF_ERR(catalog_create_table(catalog, script.statements[0], config, err));
    GOTO_IF_ERR(plan_select(&ctx, script.statements[1], fold, checksum, out, &result, err));
    for (uint32_t v = 0; v < (*out)->vertex_count; v++) {
        struct operator_spec *op = &(*out)->vertices[v].operators[0];

        if (!op->is_source)
            continue;
        spec = arena_copy((*out)->arena, op->spec, sizeof *spec);
        spec->make = w_new;
        spec->config = o;
        spec->rows_per_second = 0;
        op->spec = spec;
        (*out)->vertices[v].parallelism = 2;
    }
out:
    arena_free(a);
    return rc;
}

static enum rc run_engine(const struct env *env, const struct options *o, struct err *err)
{
    struct config *config = config_new();
    struct catalog *catalog = catalog_new();
    struct dispatcher *dispatcher = dispatcher_new(env);
    struct graph *graph = NULL;
    struct job_restore restore = {0};
    struct checkpoint_stats stats = {0};
    struct arena *a = arena_new(0);
    struct job *job = NULL;
    uint64_t checksum = 0, limit_checksum, want;
    double limit_cpu, cpu, wall;
    struct rusage usage;
    int64_t start;
    enum rc rc;

    limit_checksum = run_limit(o, &limit_cpu);
    want = o->changed ? limit_checksum : o->w->checksum;
    GOTO_IF_ERR(config_set(config, CONFIG_SET, "parallelism.default", "2", err));
    GOTO_IF_ERR(config_set(config, CONFIG_SET, "state.backend.type", o->backend, err));
    GOTO_IF_ERR(config_set(config, CONFIG_SET, "execution.checkpointing.interval", o->interval, err));
    GOTO_IF_ERR(config_set(config, CONFIG_SET, "execution.checkpointing.dir", o->dir, err));
    GOTO_IF_ERR(config_set(config, CONFIG_SET, "taskmanager.memory.managed.size", o->memory, err));
    GOTO_IF_ERR(make_graph(env, o, config, catalog, &checksum, &graph, err));
    start = clock_mono_ns(env->clock);
    cpu = cpu_s();
    GOTO_IF_ERR(dispatcher_submit(dispatcher, config, graph, &restore, &job, err));
    job_wait(job, -1);
    wall = (double)(clock_mono_ns(env->clock) - start) / (double)NS_PER_S;
    cpu = cpu_s() - cpu;
    if (job_state(job) != JOB_FINISHED) {
        job_failure(job, err);
        rc = err->rc != RC_OK ? err->rc : err_set(err, RC_STATE, "the job ended as %s", job_state_str(job_state(job)));
        goto out;
    }
    job_checkpoint_stats(job, a, &stats);
    getrusage(RUSAGE_SELF, &usage);
    printf("W-%s  K=%llu N=%llu  backend=%s checkpoints every %s, parallelism 2\n", o->w->name,
           (unsigned long long)o->keys, (unsigned long long)o->rows, o->backend, o->interval);
    printf("  %-28s %10.0f ns of CPU an event\n", "plain memory, one thread", 1e9 * limit_cpu / (double)o->rows);
    printf("  %-28s %10.0f ns of CPU an event   %.2f x the limit   %.2f million events/s\n", "varve, whole engine",
           1e9 * cpu / (double)o->rows, cpu / limit_cpu, 1e-6 * (double)o->rows / wall);
    printf("  checkpoints completed %llu failed %llu, last %lld ms, %.1f MB full, %.1f MB new; peak memory %.0f MB\n",
           (unsigned long long)stats.completed_count, (unsigned long long)stats.failed_count,
           (long long)(stats.latest_completed ? stats.latest_completed->end_to_end_ms : -1),
           stats.latest_completed ? 1e-6 * (double)stats.latest_completed->state_bytes : 0.0,
           stats.latest_completed ? 1e-6 * (double)stats.latest_completed->checkpointed_bytes : 0.0,
           (double)usage.ru_maxrss / 1024);
    printf("  checksum %016llx %s\n", (unsigned long long)checksum, checksum == want ? "right" : "WRONG");
    if (o->json != NULL) {
        FILE *f = fopen(o->json, "w");

        if (f != NULL) {
            fprintf(f, "{\"workload\":\"%s\",\"keys\":%llu,\"rows\":%llu,\"backend\":\"%s\",\"cpu_ns_per_event\":%.1f,"
                       "\"limit_cpu_ns_per_event\":%.1f,\"events_per_s\":%.0f,\"peak_rss_kb\":%ld,\"checksum\":\"%016llx\"}\n",
                    o->w->name, (unsigned long long)o->keys, (unsigned long long)o->rows, o->backend,
                    1e9 * cpu / (double)o->rows, 1e9 * limit_cpu / (double)o->rows, (double)o->rows / wall,
                    usage.ru_maxrss, (unsigned long long)checksum);
            fclose(f);
        }
    }
    if (checksum != want)
        rc = err_set(err, RC_CORRUPT, "checksum %016llx instead of %016llx", (unsigned long long)checksum, (unsigned long long)want);
out:
    if (job != NULL)
        dispatcher_release(dispatcher, job);
    dispatcher_free(dispatcher);
    catalog_free(catalog);
    config_free(config);
    arena_free(a);
    return rc;
}

static enum rc parse_options(int argc, char **argv, struct options *o, struct err *err)
{
    *o = (struct options){.w = &workloads[0], .backend = "rocksdb", .interval = "10000", .memory = "512mb"};
    for (int i = 1; i < argc; i++) {
        bool found = false;

        for (size_t w = 0; w < ARRAY_LEN(workloads); w++)
            if (strcmp(argv[i], workloads[w].name) == 0) {
                o->w = &workloads[w];
                found = true;
            }
        if (found)
            continue;
        if (i + 1 == argc)
            return err_set(err, RC_INVALID, "unknown argument %s; see the head of tests/bench/bench_w.c", argv[i]);
        if (strcmp(argv[i], "--backend") == 0)
            o->backend = argv[++i];
        else if (strcmp(argv[i], "--rows") == 0)
            o->rows = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--keys") == 0)
            o->keys = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--interval") == 0)
            o->interval = argv[++i];
        else if (strcmp(argv[i], "--memory") == 0)
            o->memory = argv[++i];
        else if (strcmp(argv[i], "--dir") == 0)
            o->dir = argv[++i];
        else if (strcmp(argv[i], "--json") == 0)
            o->json = argv[++i];
        else
            return err_set(err, RC_INVALID, "unknown argument %s; see the head of tests/bench/bench_w.c", argv[i]);
    }
    o->changed = o->rows != 0 || o->keys != 0;
    if (o->rows == 0)
        o->rows = o->w->rows;
    if (o->keys == 0)
        o->keys = o->w->keys;
    return RC_OK;
}

int main(int argc, char **argv)
{
    char dir[] = "/tmp/bench-w.XXXXXX";
    struct env env = {.fs = fs_posix(), .clock = clock_posix()};
    struct err err = {0};
    struct options o;
    bool own_dir;
    enum rc rc;

    if (parse_options(argc, argv, &o, &err) != RC_OK) {
        fprintf(stderr, "bench_w: %s\n", err.msg);
        return 2;
    }
    own_dir = o.dir == NULL;
    if (own_dir)
        o.dir = mkdtemp(dir);
    env.log = log_new(STDERR_FILENO, LOG_WARN, env.clock);
    rc = run_engine(&env, &o, &err);
    if (rc != RC_OK)
        fprintf(stderr, "bench_w: %s\n", err.msg);
    if (own_dir && fs_remove_tree(env.fs, dir, NULL) != RC_OK)
        fprintf(stderr, "bench_w: %s stays\n", dir);
    log_free(env.log);
    return rc == RC_OK ? 0 : 1;
}
