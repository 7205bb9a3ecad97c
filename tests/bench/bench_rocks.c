/* bench_rocks.c - workload W on plain RocksDB: what its library costs when nothing stands before
 * it.
 *
 *     bench_rocks W [--how get-put|merge] [--memory MB] [--keys K] [--rows N] [--dir DIR] [--json
 * FILE]
 *
 * Two threads with a database each; a key belongs to one of them. get-put reads the row, changes it
 * and writes it back, for each event; merge writes an operand for each event and reads everything
 * once at the end, which counts. --memory is divided as a user would do it: a quarter for write
 * buffers, the rest block cache with index and filters inside. Bloom filters, no write-ahead log,
 * no checkpoints; else RocksDB's own settings. */
#include "base/arena.h"
#include "base/bytes.h"
#include "base/fs.h"
#include "tests/bench/workload.h"

#include <pthread.h>
#include <rocksdb/c.h>
#include <unistd.h>

#define THREADS 2

struct row {
    int64_t count, sum, min, max;
};
struct run {
    struct workload w;
    bool merge;
    uint64_t memory_bytes;
    const char *dir;
    struct half_way half; /* of the first worker */
};
struct worker {
    struct run *run;
    uint32_t me;
    rocksdb_t *db;
    rocksdb_options_t *options;
    rocksdb_readoptions_t *reads;
    rocksdb_writeoptions_t *writes;
    uint64_t checksum, results;
    volatile uint64_t dropped;
};

static void must(char *error)
{
    if (error == NULL)
        return;
    fprintf(stderr, "bench_rocks: %s\n", error);
    exit(1);
}

static void add(struct row *to, const struct row *r)
{
    to->min = to->count == 0 || r->min < to->min ? r->min : to->min;
    to->max = to->count == 0 || r->max > to->max ? r->max : to->max;
    to->count += r->count;
    to->sum += r->sum;
}

/* ---- the merge operator ---------------------------------------------------------------------- */

static char *add_all(const struct row *start, const char *const *operands, int count,
                     size_t *length)
{
    struct row *out = calloc(1, sizeof *out); /* freed by RocksDB through delete_value */

    if (start != NULL)
        *out = *start;
    for (int i = 0; i < count; i++) {
        struct row r;

        memcpy(&r, operands[i], sizeof r);
        add(out, &r);
    }
    *length = sizeof *out;
    return (char *)out;
}

static char *full_merge(void *ctx, const char *key, size_t key_len, const char *value,
                        size_t value_len, const char *const *operands, const size_t *lengths,
                        int count, unsigned char *ok, size_t *length)
{
    struct row start;

    (void)ctx, (void)key, (void)key_len, (void)lengths;
    *ok = 1;
    if (value == NULL || value_len != sizeof start)
        return add_all(NULL, operands, count, length);
    memcpy(&start, value, sizeof start);
    return add_all(&start, operands, count, length);
}

static char *partial_merge(void *ctx, const char *key, size_t key_len, const char *const *operands,
                           const size_t *lengths, int count, unsigned char *ok, size_t *length)
{
    (void)ctx, (void)key, (void)key_len, (void)lengths;
    *ok = 1;
    return add_all(NULL, operands, count, length);
}

static void delete_value(void *ctx, const char *value, size_t length)
{
    (void)ctx, (void)length;
    free((void *)(uintptr_t)value);
}

static void destroy_operator(void *ctx)
{
    (void)ctx;
}

static const char *operator_name(void *ctx)
{
    (void)ctx;
    return "bench-add";
}

/* ---- a database and its thread --------------------------------------------------------------- */

static void open_db(struct worker *w)
{
    const uint64_t share = w->run->memory_bytes / THREADS, buffers = share / 4;
    rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
    rocksdb_cache_t *cache = rocksdb_cache_create_lru(share - buffers);
    char path[FS_PATH_MAX], *error = NULL;

    snprintf(path, sizeof path, "%s/%u", w->run->dir, w->me);
    rocksdb_block_based_options_set_block_cache(table, cache);
    rocksdb_block_based_options_set_cache_index_and_filter_blocks(table, 1);
    rocksdb_block_based_options_set_filter_policy(table,
                                                  rocksdb_filterpolicy_create_bloom_full(10));
    w->options = rocksdb_options_create();
    rocksdb_options_set_create_if_missing(w->options, 1);
    rocksdb_options_set_block_based_table_factory(w->options, table);
    rocksdb_options_set_write_buffer_size(w->options, buffers / 2); /* one fills, one is flushed */
    rocksdb_options_set_max_write_buffer_number(w->options, 2);
    rocksdb_options_set_compression(w->options, rocksdb_snappy_compression);
    if (w->run->merge)
        rocksdb_options_set_merge_operator(
            w->options, rocksdb_mergeoperator_create(NULL, destroy_operator, full_merge,
                                                     partial_merge, delete_value, operator_name));
    w->db = rocksdb_open(w->options, path, &error);
    must(error);
    w->reads = rocksdb_readoptions_create();
    w->writes = rocksdb_writeoptions_create();
    rocksdb_writeoptions_disable_WAL(w->writes, 1);
    rocksdb_block_based_options_destroy(table);
    rocksdb_cache_destroy(cache);
}

static void update(struct worker *w, const uint8_t key[8], const struct row *event)
{
    struct row row = {0};
    char *error = NULL;
    const char *value;
    size_t length;
    rocksdb_pinnableslice_t *found =
        rocksdb_get_pinned(w->db, w->reads, (const char *)key, 8, &error);

    must(error);
    if (found != NULL) {
        value = rocksdb_pinnableslice_value(found, &length);
        memcpy(&row, value, sizeof row);
        rocksdb_pinnableslice_destroy(found);
    }
    add(&row, event);
    rocksdb_put(w->db, w->writes, (const char *)key, 8, (const char *)&row, sizeof row, &error);
    must(error);
    w->dropped = (uint64_t)row.count ^ (uint64_t)row.sum;
}

static void read_all(struct worker *w)
{
    rocksdb_iterator_t *it = rocksdb_create_iterator(w->db, w->reads);
    char *error = NULL;

    for (rocksdb_iter_seek_to_first(it); rocksdb_iter_valid(it); rocksdb_iter_next(it)) {
        size_t key_len, value_len;
        const char *key = rocksdb_iter_key(it, &key_len),
                   *value = rocksdb_iter_value(it, &value_len);
        struct row row;

        memcpy(&row, value, sizeof row);
        w->checksum ^=
            w_mix(get_be64((const uint8_t *)key), (uint64_t)row.count, (uint64_t)row.sum);
        w->results++;
    }
    rocksdb_iter_get_error(it, &error);
    must(error);
    rocksdb_iter_destroy(it);
}

static void *work(void *arg)
{
    struct worker *w = arg;
    const struct workload *load = &w->run->w;
    char *error = NULL;
    uint8_t key[8];

    for (uint64_t i = 0; i < load->rows; i++) {
        uint64_t k = w_key(load, i);
        int64_t v = w_value(i);
        struct row event = {1, v, v, v};

        if (i == load->rows / 2 && w->me == 0)
            half_way_now(&w->run->half, i);
        if ((splitmix64(k) & 1) != w->me)
            continue;
        put_be64(key, k);
        if (!w->run->merge) {
            update(w, key, &event);
            continue;
        }
        rocksdb_merge(w->db, w->writes, (const char *)key, 8, (const char *)&event, sizeof event,
                      &error);
        must(error);
    }
    if (w->run->merge)
        read_all(w);
    return NULL;
}

static void close_db(struct worker *w)
{
    rocksdb_readoptions_destroy(w->reads);
    rocksdb_writeoptions_destroy(w->writes);
    rocksdb_close(w->db);
    rocksdb_options_destroy(w->options);
}

/* ---- the command line ------------------------------------------------------------------------ */

static bool parse(int argc, char **argv, struct run *r, const char **json)
{
    const char *how = "get-put", *memory = "4096", *keys = NULL, *rows = NULL;
    const struct arg args[] = {{"--how", &how},   {"--memory", &memory}, {"--keys", &keys},
                               {"--rows", &rows}, {"--dir", &r->dir},    {"--json", json}};

    if (!args_parse(argc, argv, &r->w, args, ARRAY_LEN(args)) || r->w.window)
        return false;
    workload_resize(&r->w, arg_number(keys), arg_number(rows));
    r->memory_bytes = arg_number(memory) << 20;
    r->merge = strcmp(how, "merge") == 0;
    return r->memory_bytes > 0 && (r->merge || strcmp(how, "get-put") == 0);
}

int main(int argc, char **argv)
{
    char dir[] = "/tmp/bench-rocks.XXXXXX";
    struct run run = {.dir = NULL};
    struct worker workers[THREADS] = {{.me = 0, .run = &run}, {.me = 1, .run = &run}};
    struct report report = {0};
    pthread_t threads[THREADS];
    double wall, cpu;
    bool own_dir;

    if (!parse(argc, argv, &run, &report.path)) {
        fprintf(stderr, "usage: see the head of tests/bench/bench_rocks.c\n");
        return 2;
    }
    own_dir = run.dir == NULL;
    if (own_dir)
        run.dir = mkdtemp(dir);
    for (uint32_t t = 0; t < THREADS; t++)
        open_db(&workers[t]);
    wall = wall_s();
    cpu = cpu_s();
    for (uint32_t t = 0; t < THREADS; t++)
        ASSERT(pthread_create(&threads[t], NULL, work, &workers[t]) == 0);
    for (uint32_t t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    wall = wall_s() - wall;
    cpu = cpu_s() - cpu;
    report_text(&report, "program", "bench_rocks");
    report_text(&report, "how", run.merge ? "merge" : "get-put");
    report_run(&report, &run.w, THREADS, wall, cpu);
    half_way_report(&report, &run.half, &run.w);
    for (uint32_t t = 0; t < THREADS; t++) {
        if (!run.merge)
            read_all(&workers[t]);
        close_db(&workers[t]);
    }
    report_number(&report, "memory_mb", (double)(run.memory_bytes >> 20));
    report_number(&report, "results", (double)(workers[0].results + workers[1].results));
    if (own_dir && fs_remove_tree(fs_posix(), dir, NULL) != RC_OK)
        fprintf(stderr, "bench_rocks: %s stays\n", dir);
    return report_end(&report, &run.w, workers[0].checksum ^ workers[1].checksum);
}
