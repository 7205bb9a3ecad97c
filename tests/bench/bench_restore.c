/* bench_restore.c - what a restore costs: state of K keys, a checkpoint, then at the same and at
 * other parallelism.
 *
 *     bench_restore [--keys K] [--memory BYTES] [--dir DIR] [--only FROM:TO] [--scan] [--json FILE]
 *
 * Keys are BIGINT, rows have 48 bytes, as W-mid's (10^7 keys). The source job fills them all and
 * takes a checkpoint, then changes 5 % in each of three more: so the files lie in several levels.
 * Each scenario opens all its subtasks at once, a thread each, as tasks do, and then updates random
 * keys as fast as it can:
 *
 *     open     all subtasks are open           first    each has had its first record
 *     ready    from then on each does 90 % of the updates that one does whose rows are all cached,
 * a second of its thread's CPU: so other programs beside matter less
 *
 * Milliseconds of wall time from the start of the restore, the page cache is warm; and of CPU: of
 * the threads that open, and of the process until it is ready. A scenario whose counters do not add
 * up, or (--scan) whose rows are not all there afterwards, ends the program with 1.
 */
#include "backend/key_codec.h"
#include "base/rng.h"
#include "base/thread.h"
#include "tests/lib/dir_target.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define GROUPS 128u
#define SUBTASKS_MAX 4u
#define BATCH 2048u
#define VALUE_BYTES 48u
#define MARK_MS 20.0
#define MARKS 10u        /* that a subtask must keep up the rate */
#define STEADY_MS 1000.0 /* of CPU; before that as much for warming up */
#define READY_MOST_MS 60000

static const struct state_desc desc = {"accState",
                                       STATE_VALUE,
                                       "ROW<`k` BIGINT>",
                                       "VOID",
                                       "",
                                       "ROW<`n` BIGINT, `s` BIGINT>",
                                       VALUE_BYTES,
                                       0,
                                       "",
                                       0};

struct options {
    uint64_t keys, memory_bytes;
    const char *dir, *json;
    uint32_t only_from, only_to;
    bool scan;
};
struct bench {
    struct options o;
    const struct env *env;
    struct dir_target target;
    struct arena *arena;
    uint32_t opened;
};
struct subtask {
    struct bench *bench;
    uint32_t index, parallelism;
    struct keyed_backend *backend;
    struct keyed_state *state;
    struct key_builder keys;
    void *rows[BATCH];
    uint8_t fresh[BATCH];
    struct keyed_handle restore[SUBTASKS_MAX];
    size_t restore_count;
    struct keyed_handle handle; /* its part of the last checkpoint */
    const char *dir;
    uint64_t random, adds, per_mille; /* per_mille: of all keys, in `change` */
    int64_t started_ns, open_ns, first_ns;
    double open_cpu_ms;       /* of its thread */
    double rate;              /* updates a ms of CPU: to be reached, or found */
    _Atomic int64_t ready_ns; /* 0: not yet */
    atomic_bool stop;
    struct thread *thread;
};
struct source { /* a job that wrote checkpoints */
    struct keyed_handle handles[SUBTASKS_MAX];
    uint64_t adds; /* updates that the last one holds */
    double rate;   /* a ms of a subtask's CPU, with all rows cached */
};
struct figures {
    uint32_t from, to;
    double open_ms, first_ms, ready_ms; /* ready_ms < 0: not within a minute */
    double open_cpu_ms, ready_cpu_ms, steady_per_cpu_s;
    uint64_t bytes, files;
};

static double cpu_ms(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return 1e3 * (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-3 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static double thread_cpu_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void must(enum rc rc, const struct err *err)
{
    if (rc == RC_OK)
        return;
    fprintf(stderr, "bench_restore: %s\n", err->msg);
    exit(1);
}

/* ---- one subtask ----------------------------------------------------------------------------- */

static void open_subtask(struct subtask *t)
{
    struct bench *b = t->bench;
    struct keyed_backend_config config = {
        .env = b->env,
        .kind = BACKEND_ROCKSDB,
        .range = keygroup_range_of(t->index, t->parallelism, GROUPS),
        .key_group_count = GROUPS,
        .local_dir = t->dir,
        .backend_id = "0123456789abcdef0123456789abcdef",
        .name = "bench",
        .memory_bytes = b->o.memory_bytes / t->parallelism,
        .max_open_files = -1,
        .restore_count = t->restore_count,
        .restore = t->restore,
        .restore_operator = "bench",
    };
    struct err err = {0};

    must(keyed_backend_open(&config, &t->backend, &err), &err);
    must(keyed_state_open(t->backend, &desc, &t->state, &err), &err);
    key_builder_init(&t->keys, GROUPS, KEY_NS_VOID);
}

/* Adds the key to the batch if it is this subtask's. */
static void add_key(struct subtask *t, uint64_t k)
{
    struct err err = {0};
    uint8_t row[16] = {0};
    uint32_t group;

    put_le64(row + 8, k);
    group = key_group_of_row(bytes_of(row, sizeof row), GROUPS);
    if (keygroup_owner(group, t->parallelism, GROUPS) == t->index)
        must(
            key_builder_add(&t->keys, group, bytes_of(row, sizeof row), 0, (struct bytes){0}, &err),
            &err);
}

static void update(struct subtask *t)
{
    struct key_batch batch = key_builder_batch(&t->keys);
    struct err err = {0};

    must(keyed_upsert(t->state, &batch, t->rows, t->fresh, &err), &err);
    for (uint32_t i = 0; i < batch.count; i++) {
        uint64_t *row = t->rows[i];

        row[1]++;
        row[2] += i;
        row[3] = row[3] > i ? row[3] : i;
    }
    t->adds += batch.count;
    key_builder_clear(&t->keys);
}

/* Every key once. */
static void fill(void *arg)
{
    struct subtask *t = arg;

    for (uint64_t k = 0; k < t->bench->o.keys; k++) {
        add_key(t, k);
        if (t->keys.count == BATCH)
            update(t);
    }
    update(t);
}

static void change(void *arg)
{
    struct subtask *t = arg;

    for (uint64_t n = t->bench->o.keys * t->per_mille / 1000; n > 0; n--) {
        add_key(t, splitmix64(t->random++) % t->bench->o.keys);
        if (t->keys.count == BATCH)
            update(t);
    }
    update(t);
}

static void update_random(struct subtask *t, uint32_t count)
{
    while (t->keys.count < count)
        add_key(t, splitmix64(t->random++) % t->bench->o.keys);
    update(t);
}

/* A moment of a subtask. */
struct mark {
    double cpu_ms;
    uint64_t adds;
    int64_t ns;
};

static struct mark mark_now(const struct subtask *t)
{
    return (struct mark){thread_cpu_ms(), t->adds,
                         clock_mono_ns(t->bench->env->clock) - t->started_ns};
}

/* Opens, then random updates until told to stop. */
static void run(void *arg)
{
    struct subtask *t = arg;
    struct mark marks[MARKS];
    uint32_t count = 0;

    open_subtask(t);
    marks[0] = mark_now(t);
    t->open_ns = marks[0].ns;
    t->open_cpu_ms = marks[0].cpu_ms;
    update_random(t, 1);
    t->first_ns = mark_now(t).ns;
    while (!atomic_load_explicit(&t->stop, memory_order_relaxed)) {
        struct mark now, then = marks[count % MARKS];

        update_random(t, BATCH);
        now = mark_now(t);
        if (now.cpu_ms - marks[(count + MARKS - 1) % MARKS].cpu_ms < MARK_MS && count > 0)
            continue;
        if (count >= MARKS && atomic_load(&t->ready_ns) == 0 &&
            (double)(now.adds - then.adds) >= 0.9 * t->rate * (now.cpu_ms - then.cpu_ms))
            atomic_store(&t->ready_ns, then.ns);
        marks[count++ % MARKS] = now;
    }
}

/* The rate of random updates, all rows being cached. */
static void run_steady(void *arg)
{
    struct subtask *t = arg;
    struct mark begin = mark_now(t), half = begin, now = begin;

    while (now.cpu_ms < begin.cpu_ms + 2 * STEADY_MS) {
        update_random(t, BATCH);
        now = mark_now(t);
        if (now.cpu_ms < begin.cpu_ms + STEADY_MS)
            half = now;
    }
    t->rate = (double)(now.adds - half.adds) / (now.cpu_ms - half.cpu_ms);
}

static void write_snapshot(void *arg)
{
    struct subtask *t = arg;
    struct keyed_snapshot *s;
    struct keyed_handle h;
    struct arena *arena = arena_new(0);
    struct err err = {0};

    must(keyed_snapshot_begin(t->backend, 1, &s, &err), &err);
    must(keyed_snapshot_write(s, &t->bench->target.base, arena, &h, &err), &err);
    keyed_snapshot_free(s);
    mutex_lock(&t->bench->target.mutex); /* over the bench's arena too */
    keyed_handle_copy(t->bench->arena, &h, &t->handle);
    dir_target_resolve(&t->bench->target, t->bench->arena, &t->handle);
    mutex_unlock(&t->bench->target.mutex);
    arena_free(arena);
}

static void check(void *arg)
{
    static struct bytes keys[SUBTASKS_MAX][BATCH], values[SUBTASKS_MAX][BATCH];
    struct subtask *t = arg;
    struct keyed_cursor *c;
    struct err err = {0};
    uint32_t got;

    t->adds = 0;
    t->random = 0;
    must(keyed_scan_open(t->state, (struct bytes){0}, &c, &err), &err);
    do {
        must(keyed_scan_next(c, BATCH, keys[t->index], values[t->index], &got, &err), &err);
        for (uint32_t i = 0; i < got; i++)
            t->adds += get_le64(values[t->index][i].data + 8);
        t->random += got;
    } while (got > 0);
    keyed_scan_close(c);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void start(struct subtask *set, uint32_t count, void (*step)(void *))
{
    for (uint32_t i = 0; i < count; i++)
        set[i].thread = thread_start("subtask", step, &set[i]);
}

static void join(struct subtask *set, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        thread_join(set[i].thread);
}

static void each(struct subtask *set, uint32_t count, void (*step)(void *))
{
    start(set, count, step);
    join(set, count);
}

static struct subtask *subtasks_new(struct bench *b, uint32_t count)
{
    struct subtask *set = mem_calloc(count, sizeof *set);

    for (uint32_t i = 0; i < count; i++) {
        set[i].bench = b;
        set[i].index = i;
        set[i].parallelism = count;
        set[i].random = (uint64_t)i << 40;
        set[i].dir = arena_printf(b->arena, "%s/db-%u", b->o.dir, b->opened++);
    }
    return set;
}

static void close_all(struct subtask *set, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        keyed_backend_close(set[i].backend);
        key_builder_release(&set[i].keys);
    }
    mem_free(set);
}

static void stop_all(struct subtask *set, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        atomic_store(&set[i].stop, true);
    join(set, count);
}

static void make_source(struct bench *b, uint32_t parallelism, struct source *out)
{
    struct subtask *set = subtasks_new(b, parallelism);

    for (uint32_t i = 0; i < parallelism; i++)
        open_subtask(&set[i]);
    each(set, parallelism, fill);
    each(set, parallelism, write_snapshot);
    for (int round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < parallelism; i++)
            set[i].per_mille = 50;
        each(set, parallelism, change);
        each(set, parallelism, write_snapshot);
    }
    out->adds = 0;
    for (uint32_t i = 0; i < parallelism; i++) {
        out->handles[i] = set[i].handle;
        out->adds += set[i].adds;
    }
    each(set, parallelism, run_steady);
    out->rate = 0;
    for (uint32_t i = 0; i < parallelism; i++)
        out->rate += set[i].rate / parallelism;
    close_all(set, parallelism);
}

static void assign(struct subtask *set, uint32_t count, const struct keyed_handle *handles,
                   uint32_t handle_count)
{
    for (uint32_t i = 0; i < count; i++)
        set[i].restore_count = handles_meeting(
            handles, handle_count, keygroup_range_of(i, count, GROUPS), set[i].restore);
}

/* Waits until all subtasks are ready; ms, or -1. */
static double wait_ready(struct subtask *set, uint32_t count)
{
    struct clock *clock = set[0].bench->env->clock;
    int64_t last = 0;

    for (uint32_t i = 0; i < count; i++) {
        int64_t ready;

        while ((ready = atomic_load(&set[i].ready_ns)) == 0) {
            if (clock_mono_ns(clock) - set[i].started_ns > READY_MOST_MS * NS_PER_MS)
                return -1;
            clock_sleep_ns(clock, NS_PER_MS);
        }
        last = ready > last ? ready : last;
    }
    return (double)last / NS_PER_MS;
}

static void check_all(struct bench *b, struct subtask *set, uint32_t count, uint64_t adds)
{
    uint64_t rows = 0, found = 0;

    each(set, count, check);
    for (uint32_t i = 0; i < count; i++) {
        rows += set[i].random;
        found += set[i].adds;
    }
    if (rows == b->o.keys && found == adds)
        return;
    fprintf(stderr, "bench_restore: %llu rows with %llu updates instead of %llu with %llu\n",
            (unsigned long long)rows, (unsigned long long)found, (unsigned long long)b->o.keys,
            (unsigned long long)adds);
    exit(1);
}

static struct figures scenario(struct bench *b, const struct source *source, uint32_t from,
                               uint32_t to, double rate)
{
    const struct keyed_handle *handles = source->handles;
    struct subtask *set = subtasks_new(b, to);
    struct figures f = {.from = from, .to = to, .steady_per_cpu_s = 1e3 * rate};
    double cpu = cpu_ms();
    int64_t now = clock_mono_ns(b->env->clock);
    uint64_t adds = source->adds;

    assign(set, to, handles, from);
    for (uint32_t i = 0; i < to; i++) {
        set[i].started_ns = now;
        set[i].rate = rate;
    }
    start(set, to, run);
    f.ready_ms = wait_ready(set, to);
    f.ready_cpu_ms = cpu_ms() - cpu;
    stop_all(set, to);
    for (uint32_t i = 0; i < to; i++) {
        f.open_ms = (double)set[i].open_ns / NS_PER_MS > f.open_ms
                        ? (double)set[i].open_ns / NS_PER_MS
                        : f.open_ms;
        f.first_ms = (double)set[i].first_ns / NS_PER_MS > f.first_ms
                         ? (double)set[i].first_ns / NS_PER_MS
                         : f.first_ms;
        f.open_cpu_ms += set[i].open_cpu_ms;
        adds += set[i].adds;
    }
    for (uint32_t h = 0; h < from; h++) {
        for (size_t i = 0; i < handles[h].file_count; i++) {
            f.bytes += handles[h].files[i].size_bytes;
            f.files++;
        }
    }
    if (b->o.scan)
        check_all(b, set, to, adds);
    close_all(set, to);
    return f;
}

/* ---- options and output ---------------------------------------------------------------------- */

static bool parse_options(int argc, char **argv, struct options *o)
{
    *o = (struct options){.keys = 10000000, .memory_bytes = 4ull << 30};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--scan") == 0) {
            o->scan = true;
            continue;
        }
        if (i + 1 == argc)
            return false;
        if (strcmp(argv[i], "--keys") == 0)
            o->keys = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--memory") == 0)
            o->memory_bytes = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--dir") == 0)
            o->dir = argv[++i];
        else if (strcmp(argv[i], "--json") == 0)
            o->json = argv[++i];
        else if (strcmp(argv[i], "--only") == 0) {
            if (sscanf(argv[++i], "%u:%u", &o->only_from, &o->only_to) != 2)
                return false;
        } else {
            return false;
        }
    }
    return o->keys > 0 && o->only_from <= SUBTASKS_MAX && o->only_to <= SUBTASKS_MAX;
}

static void print_figures(const struct figures *f)
{
    printf("%u -> %u  open %8.1f ms (CPU %8.1f)  first %8.1f ms  ready %8.0f ms (CPU %8.0f)  "
           "steady %.2f M/CPU s  %.1f MB in %llu files\n",
           f->from, f->to, f->open_ms, f->open_cpu_ms, f->first_ms, f->ready_ms, f->ready_cpu_ms,
           1e-6 * f->steady_per_cpu_s, 1e-6 * (double)f->bytes, (unsigned long long)f->files);
    fflush(stdout);
}

static bool write_json(const struct options *o, const struct figures *figures, size_t count)
{
    FILE *out = fopen(o->json, "w");

    if (out == NULL)
        return false;
    fprintf(out, "{\"keys\":%llu,\"row_bytes\":%u,\"memory_bytes\":%llu,\"scenarios\":[",
            (unsigned long long)o->keys, VALUE_BYTES, (unsigned long long)o->memory_bytes);
    for (size_t i = 0; i < count; i++) {
        const struct figures *f = &figures[i];

        fprintf(out,
                "%s{\"from\":%u,\"to\":%u,\"open_ms\":%.1f,\"open_cpu_ms\":%.1f,"
                "\"first_record_ms\":%.1f,"
                "\"ready_ms\":%.0f,\"ready_cpu_ms\":%.0f,\"steady_per_cpu_s\":%.0f,\"bytes\":%llu,"
                "\"files\":%llu}",
                i == 0 ? "" : ",", f->from, f->to, f->open_ms, f->open_cpu_ms, f->first_ms,
                f->ready_ms, f->ready_cpu_ms, f->steady_per_cpu_s, (unsigned long long)f->bytes,
                (unsigned long long)f->files);
    }
    fprintf(out, "]}\n");
    return fclose(out) == 0;
}

int main(int argc, char **argv)
{
    static const uint32_t scenarios[][2] = {{1, 1}, {1, 2}, {2, 2}, {2, 1}};
    struct figures figures[ARRAY_LEN(scenarios)];
    struct source sources[3] = {0}; /* by parallelism */
    char dir[] = "/tmp/bench-restore.XXXXXX";
    struct bench b = {.arena = arena_new(0), .env = dir_target_env()};
    size_t count = 0;
    bool own_dir;

    if (!parse_options(argc, argv, &b.o)) {
        fprintf(stderr, "usage: see the head of tests/bench/bench_restore.c\n");
        return 2;
    }
    own_dir = b.o.dir == NULL;
    if (own_dir)
        b.o.dir = mkdtemp(dir);
    dir_target_init(&b.target, b.env->fs, b.o.dir);
    for (uint32_t p = 1; p < ARRAY_LEN(sources); p++)
        make_source(&b, p, &sources[p]);
    for (size_t i = 0; i < ARRAY_LEN(scenarios); i++) {
        if (b.o.only_from != 0 &&
            (scenarios[i][0] != b.o.only_from || scenarios[i][1] != b.o.only_to))
            continue;
        figures[count] = scenario(&b, &sources[scenarios[i][0]], scenarios[i][0], scenarios[i][1],
                                  sources[scenarios[i][1]].rate);
        print_figures(&figures[count++]);
    }
    dir_target_release(&b.target);
    arena_free(b.arena);
    if (own_dir && fs_remove_tree(b.env->fs, dir, NULL) != RC_OK)
        fprintf(stderr, "bench_restore: %s stays\n", dir);
    if (b.o.json != NULL && !write_json(&b.o, figures, count)) {
        fprintf(stderr, "bench_restore: cannot write %s\n", b.o.json);
        return 3;
    }
    return 0;
}
