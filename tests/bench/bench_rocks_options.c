/* bench_rocks_options.c - what RocksDB's options cost under the engine's own pattern of use.
 *
 *     bench_rocks_options [--keys N] [--repeat R] [--dir DIR] [CHOICE ...]
 *
 * A choice is a text like "block=16 runs=zstd bottom=zstd": see `settings`. Without one the table below is
 * measured. Each choice runs in a process of its own, the choices in turn and the turns `repeat` times; a line
 * gives the median of each figure, beside the ratio to the first choice's.
 *
 * State: N keys with rows as SELECT k, COUNT(*), SUM(v), MIN(v), MAX(v) GROUP BY k has them (22 + 60 bytes); with pack=1
 * they are packed before they are put and unpacked when they were read.
 *     first    all rows as one flush of sorted runs: CPU a row, bytes a row
 *     update   eight flushes of an eighth of the keys each, ingested while compactions run: CPU a row, all of it
 *     get      sorted MultiGet of 512, 2048, 4096 keys that are there, all blocks cached
 *     tight    the same of 2048 with a block cache for an eighth of the data (the system's page cache has the rest)
 *     absent   keys that are not there, 2048 at a time
 *     scan     all rows in order
 *     bottom   everything compacted to the bottommost level: CPU a row, bytes a row then
 * CPU is that of the whole process, RocksDB's threads included: other programs may run beside, but not in plenty. */
#include "backend/key_codec.h"
#include "backend/value_pack.h"
#include "base/arena.h"
#include "base/fs.h"
#include "base/rng.h"

#include <rocksdb/c.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEY_BYTES 22u
#define ROW_BYTES 60u
#define GROUPS 128u
#define UPDATES 8u

/* ---- choices -------------------------------------------------------------------------------------------- */

struct choice {
    int block, restart, hash, partitioned, dynamic, lru, direct, pin; /* block: KiB */
    int ribbon, bits;
    int runs, upper, bottom, level; /* compression of runs, of levels 0 and 1, below; zstd's level */
    int trigger, file, base, jobs;  /* L0 files; MiB of a file and of level 1 */
    int pack;                       /* rows are packed (value_pack.h) */
};
static const struct {
    const char *name;
    size_t at;
    int def;
} settings[] = {
    {"block", offsetof(struct choice, block), 4},
    {"restart", offsetof(struct choice, restart), 16},
    {"hash", offsetof(struct choice, hash), 0},
    {"partitioned", offsetof(struct choice, partitioned), 0},
    {"dynamic", offsetof(struct choice, dynamic), 0},
    {"lru", offsetof(struct choice, lru), 0},
    {"direct", offsetof(struct choice, direct), 0},
    {"pin", offsetof(struct choice, pin), 1},
    {"ribbon", offsetof(struct choice, ribbon), 0},
    {"bits", offsetof(struct choice, bits), 10},
    {"runs", offsetof(struct choice, runs), rocksdb_snappy_compression},
    {"upper", offsetof(struct choice, upper), rocksdb_snappy_compression},
    {"bottom", offsetof(struct choice, bottom), rocksdb_snappy_compression},
    {"level", offsetof(struct choice, level), 32767}, /* the library's default */
    {"trigger", offsetof(struct choice, trigger), 4},
    {"file", offsetof(struct choice, file), 64},
    {"base", offsetof(struct choice, base), 256},
    {"jobs", offsetof(struct choice, jobs), 2},
    {"pack", offsetof(struct choice, pack), 0},
};
static const struct {
    const char *name;
    int value;
} codecs[] = {{"none", rocksdb_no_compression},
              {"snappy", rocksdb_snappy_compression},
              {"lz4", rocksdb_lz4_compression},
              {"zstd", rocksdb_zstd_compression}};

static const char *const table[] = {
    "block=4", /* as Flink has it */
    "block=8",
    "block=16",
    "block=32",
    "block=4 hash=1",
    "block=4 ribbon=1",
    "block=4 bits=14",
    "block=4 lru=1",
    "block=4 partitioned=1",
    "block=4 runs=none upper=none",
    "block=4 runs=lz4 upper=lz4 bottom=lz4",
    "block=4 runs=zstd upper=zstd bottom=zstd level=1",
    "block=16 runs=zstd upper=zstd bottom=zstd level=1",
    "block=16 runs=zstd upper=zstd bottom=zstd level=-1",
    "block=16 runs=zstd upper=zstd bottom=zstd level=-5",
    "block=16 runs=lz4 upper=lz4 bottom=zstd level=1",
    "block=8 runs=zstd upper=zstd bottom=zstd level=1",
    "block=8 runs=zstd upper=zstd bottom=zstd level=1 pack=1",
    "block=8 runs=lz4 upper=lz4 bottom=zstd level=1 pack=1",
};

static void die(const char *what, const char *why)
{
    fprintf(stderr, "bench_rocks_options: %s: %s\n", what, why);
    exit(3);
}

static int *setting(struct choice *c, size_t i)
{
    return (int *)(void *)((char *)c + settings[i].at);
}

static void parse_setting(const char *word, size_t len, struct choice *c)
{
    const char *equals = memchr(word, '=', len);

    for (size_t i = 0; equals != NULL && i < ARRAY_LEN(settings); i++) {
        if (strncmp(settings[i].name, word, (size_t)(equals - word)) != 0 ||
            settings[i].name[equals - word] != '\0')
            continue;
        *setting(c, i) = (int)strtol(equals + 1, NULL, 10);
        for (size_t k = 0; k < ARRAY_LEN(codecs); k++) {
            if (strncmp(equals + 1, codecs[k].name, strlen(codecs[k].name)) == 0)
                *setting(c, i) = codecs[k].value;
        }
        return;
    }
    die("unknown setting", word);
}

static struct choice parse_choice(const char *text)
{
    struct choice c;

    for (size_t i = 0; i < ARRAY_LEN(settings); i++)
        *setting(&c, i) = settings[i].def;
    while (*text != '\0') {
        size_t len = strcspn(text, " ");

        if (len > 0)
            parse_setting(text, len, &c);
        text += len + (text[len] == ' ');
    }
    return c;
}

/* ---- the state ------------------------------------------------------------------------------------------ */

struct state {
    uint64_t count;
    uint8_t *keys; /* KEY_BYTES each, ascending */
};

static int compare_keys(const void *a, const void *b)
{
    return memcmp(a, b, KEY_BYTES);
}

static void make_key(uint64_t k, uint8_t out[KEY_BYTES])
{
    uint8_t row[16] = {0};

    put_le64(row + 8, k);
    out[0] = (uint8_t)key_group_of_row(bytes_of(row, sizeof row), GROUPS);
    put_be32(out + 1, sizeof row);
    memcpy(out + 5, row, sizeof row);
    out[21] = 0; /* no namespace */
}

static void make_state(struct state *s, uint64_t count, uint64_t first)
{
    s->count = count;
    s->keys = mem_alloc(count * KEY_BYTES);
    for (uint64_t i = 0; i < count; i++)
        make_key(first + i, s->keys + i * KEY_BYTES);
    qsort(s->keys, count, KEY_BYTES, compare_keys);
}

/* COUNT, three fields of SUM, MIN, MAX, as after a few events. */
static void make_row(uint64_t random, uint8_t row[ROW_BYTES])
{
    uint64_t count = 1 + random % 4, low = random >> 8 & 0xFFFF, high = random >> 24 & 0xFFFF;

    memset(row, 0, ROW_BYTES);
    put_be32(row, ROW_BYTES - 4);
    put_le64(row + 12, count);
    put_le64(row + 20, low + high + (count - 1) * (random >> 40 & 0x7FFF));
    put_le64(row + 36, count);
    put_le64(row + 44, low < high ? low : high);
    put_le64(row + 52, low < high ? high : low);
}

/* ---- one database --------------------------------------------------------------------------------------- */

struct bench {
    struct choice choice;
    const struct state *state, *absent;
    char dir[200];
    rocksdb_t *db;
    rocksdb_options_t *options, *run_options;
    rocksdb_cache_t *cache;
};

static void must(char *error, const char *what)
{
    if (error != NULL)
        die(what, error);
}

static rocksdb_options_t *make_options(const struct choice *c, rocksdb_cache_t *cache, bool run)
{
    rocksdb_options_t *o = rocksdb_options_create();
    rocksdb_block_based_table_options_t *t = rocksdb_block_based_options_create();
    int levels[7];

    rocksdb_block_based_options_set_format_version(t, 5);
    rocksdb_block_based_options_set_checksum(t, 4);
    rocksdb_block_based_options_set_block_size(t, (size_t)c->block << 10);
    rocksdb_block_based_options_set_block_restart_interval(t, c->restart);
    rocksdb_block_based_options_set_filter_policy(t, c->ribbon ? rocksdb_filterpolicy_create_ribbon(c->bits)
                                                               : rocksdb_filterpolicy_create_bloom_full(c->bits));
    rocksdb_block_based_options_set_data_block_index_type(t, c->hash);
    if (c->partitioned) {
        rocksdb_block_based_options_set_index_type(t, rocksdb_block_based_table_index_type_two_level_index_search);
        rocksdb_block_based_options_set_partition_filters(t, 1);
    }
    rocksdb_block_based_options_set_block_cache(t, cache);
    rocksdb_block_based_options_set_cache_index_and_filter_blocks(t, 1);
    rocksdb_block_based_options_set_cache_index_and_filter_blocks_with_high_priority(t, 1);
    rocksdb_block_based_options_set_pin_l0_filter_and_index_blocks_in_cache(t, (unsigned char)c->pin);
    rocksdb_options_set_block_based_table_factory(o, t);
    for (int i = 0; i < 7; i++)
        levels[i] = i < 2 ? c->upper : c->bottom;
    rocksdb_options_set_compression(o, run ? c->runs : c->bottom);
    rocksdb_options_set_bottommost_compression(o, run ? c->runs : c->bottom);
    if (!run)
        rocksdb_options_set_compression_per_level(o, levels, 7);
    rocksdb_options_set_compression_options(o, -14, c->level, 0, 0);
    rocksdb_options_set_bottommost_compression_options(o, -14, c->level, 0, 0, 1);
    rocksdb_options_set_level_compaction_dynamic_level_bytes(o, (unsigned char)c->dynamic);
    rocksdb_options_set_level0_file_num_compaction_trigger(o, c->trigger);
    rocksdb_options_set_target_file_size_base(o, (uint64_t)c->file << 20);
    rocksdb_options_set_max_bytes_for_level_base(o, (uint64_t)c->base << 20);
    rocksdb_options_set_max_background_jobs(o, c->jobs);
    rocksdb_options_set_use_direct_reads(o, (unsigned char)c->direct);
    rocksdb_options_set_use_direct_io_for_flush_and_compaction(o, (unsigned char)c->direct);
    rocksdb_options_set_create_if_missing(o, 1);
    return o;
}

static void open_db(struct bench *b, uint64_t cache_bytes)
{
    char *error = NULL;

    b->cache = b->choice.lru ? rocksdb_cache_create_lru(cache_bytes) : rocksdb_cache_create_hyper_clock(cache_bytes, 0);
    b->options = make_options(&b->choice, b->cache, false);
    b->run_options = make_options(&b->choice, b->cache, true);
    b->db = rocksdb_open(b->options, b->dir, &error);
    must(error, "open");
}

static void close_db(struct bench *b)
{
    rocksdb_close(b->db);
    rocksdb_options_destroy(b->options);
    rocksdb_options_destroy(b->run_options);
    rocksdb_cache_destroy(b->cache);
}

static double cpu_s(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static const struct value_shape row_shape = {.bytes = ROW_BYTES};

static size_t stored_row(const struct bench *b, uint64_t random, uint8_t out[2 * ROW_BYTES])
{
    uint8_t row[ROW_BYTES];

    make_row(random, row);
    if (b->choice.pack)
        return value_store(row_shape, row, out);
    memcpy(out, row, ROW_BYTES);
    return ROW_BYTES;
}

static void take_row(const struct bench *b, const char *stored, size_t len)
{
    uint8_t row[ROW_BYTES];

    if (b->choice.pack && !value_unpack(row_shape, bytes_of(stored, len), row))
        die("a row", "is none");
}

/* One flush: every key whose hash says so, as files cut at a quarter of the largest size and a key-group border. */
static uint64_t flush(struct bench *b, uint64_t round, uint32_t one_of)
{
    rocksdb_envoptions_t *env = rocksdb_envoptions_create();
    rocksdb_ingestexternalfileoptions_t *ingest = rocksdb_ingestexternalfileoptions_create();
    rocksdb_sstfilewriter_t *w = NULL;
    char paths[256][240], *error = NULL;
    const char *list[256];
    uint8_t row[2 * ROW_BYTES];
    uint64_t rows = 0, size = 0;
    size_t count = 0, len;
    int group = -1;

    for (uint64_t i = 0; i < b->state->count; i++) {
        const uint8_t *key = b->state->keys + i * KEY_BYTES;
        uint64_t random = splitmix64(i ^ round << 40);

        if (one_of > 1 && random % one_of != 0)
            continue;
        if (w != NULL)
            rocksdb_sstfilewriter_file_size(w, &size);
        if (w != NULL && key[0] != group && size >= (uint64_t)b->choice.file << 18) {
            rocksdb_sstfilewriter_finish(w, &error);
            must(error, "finish");
            rocksdb_sstfilewriter_destroy(w);
            w = NULL;
        }
        if (w == NULL) {
            snprintf(paths[count], sizeof paths[0], "%s-%zu.sst", b->dir, count);
            list[count] = paths[count];
            w = rocksdb_sstfilewriter_create(env, b->run_options);
            rocksdb_sstfilewriter_open(w, paths[count++], &error);
            must(error, "open a run");
        }
        group = key[0];
        len = stored_row(b, splitmix64(random), row);
        rocksdb_sstfilewriter_put(w, (const char *)key, KEY_BYTES, (const char *)row, len, &error);
        must(error, "put");
        rows++;
    }
    rocksdb_sstfilewriter_finish(w, &error);
    must(error, "finish");
    rocksdb_sstfilewriter_destroy(w);
    rocksdb_ingestexternalfileoptions_set_move_files(ingest, 1);
    rocksdb_ingest_external_file(b->db, list, count, ingest, &error);
    must(error, "ingest");
    rocksdb_ingestexternalfileoptions_destroy(ingest);
    rocksdb_envoptions_destroy(env);
    return rows;
}

static void wait_quiet(struct bench *b)
{
    rocksdb_wait_for_compact_options_t *w = rocksdb_wait_for_compact_options_create();
    char *error = NULL;

    rocksdb_wait_for_compact(b->db, w, &error);
    must(error, "wait for compactions");
    rocksdb_wait_for_compact_options_destroy(w);
}

static double bytes_a_row(struct bench *b)
{
    uint64_t size = 0;

    rocksdb_property_int(b->db, "rocksdb.live-sst-files-size", &size);
    return (double)size / (double)b->state->count;
}

static void take_batch(struct bench *b, const struct state *s, uint32_t batch, uint64_t *next, uint8_t *keys)
{
    rocksdb_readoptions_t *r = rocksdb_readoptions_create();
    const char **at = mem_alloc(batch * sizeof *at);
    size_t *lens = mem_alloc(batch * sizeof *lens), len;
    rocksdb_pinnableslice_t **values = mem_calloc(batch, sizeof(rocksdb_pinnableslice_t *));
    char **errors = mem_calloc(batch, sizeof(char *));
    rocksdb_column_family_handle_t *cf = rocksdb_get_default_column_family_handle(b->db);

    for (uint32_t i = 0; i < batch; i++)
        memcpy(keys + (size_t)i * KEY_BYTES, s->keys + splitmix64((*next)++) % s->count * KEY_BYTES, KEY_BYTES);
    qsort(keys, batch, KEY_BYTES, compare_keys);
    for (uint32_t i = 0; i < batch; i++) {
        at[i] = (const char *)keys + (size_t)i * KEY_BYTES;
        lens[i] = KEY_BYTES;
    }
    rocksdb_batched_multi_get_cf(b->db, r, cf, batch, at, lens, values, errors, true);
    for (uint32_t i = 0; i < batch; i++) {
        must(errors[i], "get");
        if ((values[i] != NULL) != (s == b->state))
            die("get", "a key that should be there is not, or the reverse");
        if (values[i] != NULL) {
            const char *stored = rocksdb_pinnableslice_value(values[i], &len);

            take_row(b, stored, len);
        }
        rocksdb_pinnableslice_destroy(values[i]);
    }
    rocksdb_column_family_handle_destroy(cf);
    mem_free(at);
    mem_free(lens);
    mem_free(values);
    mem_free(errors);
    rocksdb_readoptions_destroy(r);
}

/* CPU ns a key; the first half warms up. */
static double measure_gets(struct bench *b, const struct state *s, uint32_t batch)
{
    uint32_t total = (uint32_t)(s->count / 5 / 4096 + 1) * 4096;
    uint8_t *keys = mem_alloc((size_t)batch * KEY_BYTES);
    uint64_t next = (uint64_t)batch << 32;
    double start = 0;

    for (uint32_t done = 0; done < 2 * total; done += batch) {
        if (done / batch == total / batch)
            start = cpu_s();
        take_batch(b, s, batch, &next, keys);
    }
    mem_free(keys);
    return (cpu_s() - start) * 1e9 / total;
}

static double measure_scan(struct bench *b)
{
    rocksdb_readoptions_t *r = rocksdb_readoptions_create();
    rocksdb_iterator_t *it;
    double start = cpu_s();
    uint64_t rows = 0;

    rocksdb_readoptions_set_fill_cache(r, 0);
    it = rocksdb_create_iterator(b->db, r);
    for (rocksdb_iter_seek_to_first(it); rocksdb_iter_valid(it); rocksdb_iter_next(it), rows++) {
        size_t len;
        const char *stored = rocksdb_iter_value(it, &len);

        take_row(b, stored, len);
    }
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(r);
    if (rows != b->state->count)
        die("scan", "rows are missing");
    return (cpu_s() - start) * 1e9 / (double)rows;
}

/* ---- the figures ---------------------------------------------------------------------------------------- */

enum figure { FIRST, FIRST_BYTES, UPDATE, SIZE, GET_512, GET_2048, GET_4096, TIGHT, ABSENT, SCAN, BOTTOM, BOTTOM_BYTES, FIGURES };
static const char *const figure_names[FIGURES] = {"first",  "B/row", "update", "B/row",  "get512", "get2048",
                                                  "get4096", "tight", "absent", "scan", "bottom", "B/row"};

static void measure(struct bench *b, double out[FIGURES])
{
    rocksdb_compactoptions_t *all = rocksdb_compactoptions_create();
    uint64_t data = b->state->count * (KEY_BYTES + ROW_BYTES), rows = 0;
    double start;

    open_db(b, 2 * data + (64 << 20));
    start = cpu_s();
    rows = flush(b, 0, 1);
    out[FIRST] = (cpu_s() - start) * 1e9 / (double)rows;
    out[FIRST_BYTES] = bytes_a_row(b);
    start = cpu_s();
    rows = 0;
    for (uint64_t round = 1; round <= UPDATES; round++)
        rows += flush(b, round, UPDATES);
    wait_quiet(b);
    out[UPDATE] = (cpu_s() - start) * 1e9 / (double)rows;
    out[SIZE] = bytes_a_row(b);
    out[GET_512] = measure_gets(b, b->state, 512);
    out[GET_2048] = measure_gets(b, b->state, 2048);
    out[GET_4096] = measure_gets(b, b->state, 4096);
    out[ABSENT] = measure_gets(b, b->absent, 2048);
    out[SCAN] = measure_scan(b);
    close_db(b);
    open_db(b, data / 8);
    out[TIGHT] = measure_gets(b, b->state, 2048);
    start = cpu_s();
    rocksdb_compactoptions_set_bottommost_level_compaction(all, 2 /* force */);
    rocksdb_compact_range_opt(b->db, all, NULL, 0, NULL, 0);
    out[BOTTOM] = (cpu_s() - start) * 1e9 / (double)b->state->count;
    out[BOTTOM_BYTES] = bytes_a_row(b);
    close_db(b);
    rocksdb_compactoptions_destroy(all);
}

/* In a child, so that nothing of one choice is left for the next. */
static void measure_apart(struct bench *b, double out[FIGURES])
{
    struct err err = {0};
    int ends[2], status;
    pid_t child;

    if (pipe(ends) != 0)
        die("pipe", "failed");
    child = fork();
    if (child < 0)
        die("fork", "failed");
    if (child == 0) {
        measure(b, out);
        if (write(ends[1], out, FIGURES * sizeof *out) != (ssize_t)(FIGURES * sizeof *out))
            _exit(3);
        _exit(0);
    }
    if (waitpid(child, &status, 0) != child || status != 0 ||
        read(ends[0], out, FIGURES * sizeof *out) != (ssize_t)(FIGURES * sizeof *out))
        die("a child", "failed");
    close(ends[0]);
    close(ends[1]);
    if (fs_remove_tree(fs_posix(), b->dir, &err) != RC_OK)
        die("clean up", err.msg);
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static void print_head(FILE *to)
{
    fprintf(to, "%-52s", "");
    for (int f = 0; f < FIGURES; f++)
        fprintf(to, "%14s", figure_names[f]);
    fprintf(to, "\n");
}

static void print_line(FILE *to, const char *text, const double values[FIGURES], const double base[FIGURES])
{
    fprintf(to, "%-52s", text);
    for (int f = 0; f < FIGURES; f++)
        fprintf(to, "%8.1f %5.2f", values[f], values[f] / base[f]);
    fprintf(to, "\n");
}

static void print_table(const char *const *texts, size_t count, double *all, uint32_t repeat)
{
    double *values = mem_alloc(repeat * sizeof *values), median[FIGURES], base[FIGURES];

    print_head(stdout);
    for (size_t c = 0; c < count; c++) {
        for (int f = 0; f < FIGURES; f++) {
            for (uint32_t r = 0; r < repeat; r++)
                values[r] = all[(r * count + c) * FIGURES + (size_t)f];
            qsort(values, repeat, sizeof *values, compare_doubles);
            median[f] = values[repeat / 2];
        }
        if (c == 0)
            memcpy(base, median, sizeof base);
        print_line(stdout, texts[c], median, base);
    }
    mem_free(values);
}

int main(int argc, char **argv)
{
    const char *const *texts = table;
    const char *dir = "/tmp";
    size_t count = ARRAY_LEN(table);
    uint64_t keys = 2000000;
    uint32_t repeat = 3;
    struct state state, absent;
    double *all;

    for (; argc > 2 && strncmp(argv[1], "--", 2) == 0; argv += 2, argc -= 2) {
        if (strcmp(argv[1], "--keys") == 0)
            keys = strtoull(argv[2], NULL, 10);
        else if (strcmp(argv[1], "--repeat") == 0)
            repeat = (uint32_t)strtoul(argv[2], NULL, 10);
        else if (strcmp(argv[1], "--dir") == 0)
            dir = argv[2];
        else
            die("unknown option", argv[1]);
    }
    if (argc > 1) {
        texts = (const char *const *)argv + 1;
        count = (size_t)argc - 1;
    }
    if (keys == 0 || repeat == 0)
        die("--keys and --repeat", "at least 1");
    make_state(&state, keys, 0);
    make_state(&absent, keys, keys);
    print_head(stderr);
    all = mem_alloc(repeat * count * FIGURES * sizeof *all);
    for (uint32_t r = 0; r < repeat; r++) {
        for (size_t c = 0; c < count; c++) {
            struct bench b = {.choice = parse_choice(texts[c]), .state = &state, .absent = &absent};

            snprintf(b.dir, sizeof b.dir, "%.100s/bench-rocks-options.%ld", dir, (long)getpid());
            measure_apart(&b, all + (r * count + c) * FIGURES);
            print_line(stderr, texts[c], all + (r * count + c) * FIGURES, all + r * count * FIGURES);
        }
    }
    print_table(texts, count, all, repeat);
    mem_free(all);
    mem_free(state.keys);
    mem_free(absent.keys);
    return 0;
}
