/* links: backend */
/* range_deletions.c - databases after random puts, merges, ingested runs and range deletions, for Flink's library to judge.
 *
 *     range_deletions DIR SEED [ROUNDS]
 *
 * Writes one database with the engine's own options, only with small files, so that several levels fill and compactions cut
 * their outputs inside range deletions; takes a checkpoint DIR/seed-<SEED>/chk-<n> after each round and prints
 * "seed-<SEED>/chk-<n> family entries digest" for each family, computed from a model that knows no database. Unpatched, RocksDB 9.10
 * then writes border keys of a type that Flink's 8.10 refuses (patches/rocksdb-9.10-range-del-type.patch).
 *
 * rocks.c is included, not linked: the engine itself never deletes a range, so its cover has no call for it. */
#include "backend/rocks.c"

#include "base/rng.h"
#include "tests/conformance/entries.h"

#include <stdio.h>

#define KEYS 60000u
#define LISTS 4000u
#define KEY_BYTES 9u

struct world {
    struct rng rng;
    struct fs *fs;
    const char *root;
    struct rocks_db *db;
    struct rocks_cf *values, *lists;
    uint32_t *versions; /* of each key; 0: absent */
    struct buf *elements; /* of each list; empty: absent */
    uint32_t next_version, next_run;
};

static void check(enum rc rc, const struct err *err)
{
    if (rc == RC_OK)
        return;
    fprintf(stderr, "range_deletions: %s\n", err->msg);
    exit(3);
}

static void check_text(char *error, const char *doing)
{
    struct err err = {0};

    check(rocks_take_error(error, &err, doing), &err);
}

/* Key-group prefix and number, so that order is the number's. */
static struct bytes key_of(uint8_t out[KEY_BYTES], uint32_t key, uint32_t space)
{
    out[0] = (uint8_t)((uint64_t)key * 128 / space);
    put_be64(out + 1, key);
    return bytes_of(out, KEY_BYTES);
}

/* 8..71 bytes that do not compress. */
static struct bytes value_of(uint8_t out[80], uint32_t key, uint32_t version)
{
    uint64_t x = splitmix64((uint64_t)key << 32 | version);
    uint32_t len = 8 + (uint32_t)(x & 63);

    for (uint32_t i = 0; i < 80; i += 8)
        put_be64(out + i, x = splitmix64(x));
    return bytes_of(out, len);
}

/* ---- changes, each to the database and to the model ------------------------------------------------ */

static void put_keys(struct world *w, uint32_t first, uint32_t count, uint32_t step)
{
    struct rocks_batch *b = rocks_batch_new(w->db);
    uint8_t key[KEY_BYTES], value[80];
    struct err err = {0};

    for (uint32_t i = 0; i < count; i++) {
        uint32_t k = step != 0 ? first + i * step : (uint32_t)rng_below(&w->rng, KEYS);

        if (k >= KEYS)
            break;
        if (rng_below(&w->rng, 10) == 0) {
            w->versions[k] = 0;
            rocks_batch_del(b, w->values, key_of(key, k, KEYS));
        } else {
            w->versions[k] = ++w->next_version;
            rocks_batch_put(b, w->values, key_of(key, k, KEYS), value_of(value, k, w->versions[k]));
        }
    }
    check(rocks_batch_write(b, &err), &err);
    rocks_batch_free(b);
}

/* As the flusher brings in a closed epoch. */
static void ingest_run(struct world *w, uint32_t first, uint32_t count, uint32_t step)
{
    char path[FS_PATH_MAX];
    const char *paths[] = {path};
    struct rocks_run *run;
    uint8_t key[KEY_BYTES], value[80];
    struct err err = {0};

    snprintf(path, sizeof path, "%s/run-%u", w->root, w->next_run++);
    check(rocks_run_open(w->db, path, &run, &err), &err);
    for (uint32_t k = first, i = 0; i < count && k < KEYS; i++, k += step) {
        w->versions[k] = ++w->next_version;
        check(rocks_run_put(run, key_of(key, k, KEYS), value_of(value, k, w->versions[k]), &err), &err);
    }
    check(rocks_run_finish(run, &err), &err);
    rocks_run_free(run);
    check(rocks_ingest(w->values, paths, 1, &err), &err);
}

static void add_elements(struct world *w, uint32_t count)
{
    struct rocks_batch *b = rocks_batch_new(w->db);
    struct err err = {0};

    for (uint32_t i = 0; i < count; i++) {
        uint32_t k = (uint32_t)rng_below(&w->rng, LISTS);
        uint8_t key[KEY_BYTES], element[8];

        put_be64(element, rng_u64(&w->rng));
        rocks_batch_merge(b, w->lists, key_of(key, k, LISTS), bytes_of(element, sizeof element));
        if (w->elements[k].len > 0)
            buf_append_u8(&w->elements[k], ',');
        buf_append(&w->elements[k], element, sizeof element);
    }
    check(rocks_batch_write(b, &err), &err);
    rocks_batch_free(b);
}

static void delete_range(struct world *w, bool lists)
{
    uint32_t space = lists ? LISTS : KEYS;
    uint32_t first = (uint32_t)rng_below(&w->rng, space);
    uint32_t width = 1 + (uint32_t)rng_below(&w->rng, rng_below(&w->rng, 3) == 0 ? space / 2 : space / 50);
    uint32_t end = first + width < space ? first + width : space;
    struct rocks_cf *cf = lists ? w->lists : w->values;
    uint8_t lower[KEY_BYTES], upper[KEY_BYTES];
    char *error = NULL;

    key_of(lower, first, space);
    key_of(upper, end, space);
    rocksdb_delete_range_cf(w->db->db, w->db->write, cf->handle, (const char *)lower, KEY_BYTES,
                            (const char *)upper, KEY_BYTES, &error);
    check_text(error, "delete range");
    for (uint32_t k = first; k < end; k++) {
        if (lists)
            buf_clear(&w->elements[k]);
        else
            w->versions[k] = 0;
    }
}

static void flush(struct world *w)
{
    rocksdb_flushoptions_t *o = rocksdb_flushoptions_create();
    char *error = NULL;

    rocksdb_flush_cf(w->db->db, o, w->values->handle, &error);
    check_text(error, "flush");
    rocksdb_flushoptions_destroy(o);
}

static void compact_some(struct world *w)
{
    uint32_t first = (uint32_t)rng_below(&w->rng, KEYS), end = first + KEYS / 8 < KEYS ? first + KEYS / 8 : KEYS;
    uint8_t lower[KEY_BYTES], upper[KEY_BYTES];

    key_of(lower, first, KEYS);
    key_of(upper, end, KEYS);
    rocksdb_compact_range_cf(w->db->db, w->values->handle, (const char *)lower, KEY_BYTES,
                             (const char *)upper, KEY_BYTES);
}

static void wait_for_compactions(struct world *w)
{
    rocksdb_wait_for_compact_options_t *o = rocksdb_wait_for_compact_options_create();
    char *error = NULL;

    rocksdb_wait_for_compact(w->db->db, o, &error);
    check_text(error, "wait for compactions");
    rocksdb_wait_for_compact_options_destroy(o);
}

static void change_something(struct world *w)
{
    uint32_t first = (uint32_t)rng_below(&w->rng, KEYS);

    switch (rng_below(&w->rng, 10)) {
    case 0:
    case 1:
        put_keys(w, 0, 800, 0);
        break;
    case 2:
    case 3:
        put_keys(w, first, 2000, 1 + (uint32_t)rng_below(&w->rng, 3));
        break;
    case 4:
        ingest_run(w, first, 2000, 1 + (uint32_t)rng_below(&w->rng, 4));
        break;
    case 5:
        add_elements(w, 500);
        break;
    case 6:
    case 7:
        delete_range(w, false);
        break;
    case 8:
        delete_range(w, true);
        flush(w);
        break;
    default:
        if (rng_below(&w->rng, 3) == 0)
            compact_some(w);
        else
            flush(w);
    }
}

/* ---- the whole ------------------------------------------------------------------------------------- */

/* Small files and levels; all else stays as the engine set it. */
static struct rocks_cf *make_family(struct world *w, const char *name)
{
    const char *const keys[] = {"target_file_size_base", "max_bytes_for_level_base",
                                "max_bytes_for_level_multiplier", "level0_file_num_compaction_trigger"};
    const char *const values[] = {"8192", "65536", "4", "2"};
    struct rocks_cf *cf;
    struct err err = {0};
    char *error = NULL;

    check(rocks_cf_create(w->db, name, &cf, &err), &err);
    rocksdb_set_options_cf(w->db->db, cf->handle, 4, keys, values, &error);
    check_text(error, "set options");
    return cf;
}

static void print_expected(struct world *w, const char *chk)
{
    struct entries values = entries_none(), lists = entries_none();
    uint8_t key[KEY_BYTES], value[80];

    for (uint32_t k = 0; k < KEYS; k++) {
        if (w->versions[k] != 0)
            entries_add(&values, key_of(key, k, KEYS), value_of(value, k, w->versions[k]));
    }
    for (uint32_t k = 0; k < LISTS; k++) {
        if (w->elements[k].len > 0)
            entries_add(&lists, key_of(key, k, LISTS), buf_bytes(&w->elements[k]));
    }
    printf("%s values %llu %016llx\n", chk, (unsigned long long)values.count, (unsigned long long)values.digest);
    printf("%s lists %llu %016llx\n", chk, (unsigned long long)lists.count, (unsigned long long)lists.digest);
}

static void open_world(struct world *w, const char *dir, uint64_t seed)
{
    char path[FS_PATH_MAX];
    struct rocks_config config = {.dir = path, .create = true, .block_cache_bytes = 16u << 20,
                                  .write_buffer_bytes = 128u << 10, .max_open_files = -1};
    struct err err = {0};

    *w = (struct world){.fs = fs_posix(), .root = dir, .versions = mem_calloc(KEYS, sizeof(uint32_t)),
                        .elements = mem_calloc(LISTS, sizeof(struct buf))};
    rng_seed(&w->rng, seed);
    check(fs_mkdirs(w->fs, dir, &err), &err);
    snprintf(path, sizeof path, "%s/db", dir);
    check(rocks_open(&config, &w->db, &err), &err);
    w->values = make_family(w, "values");
    w->lists = make_family(w, "lists");
    check(rocks_compact(w->db, &err), &err);
}

static void close_world(struct world *w)
{
    char path[FS_PATH_MAX];
    struct err err = {0};

    rocks_close(w->db);
    snprintf(path, sizeof path, "%s/db", w->root);
    check(fs_remove_tree(w->fs, path, &err), &err);
    for (uint32_t k = 0; k < LISTS; k++)
        buf_release(&w->elements[k]);
    mem_free(w->elements);
    mem_free(w->versions);
}

int main(int argc, char **argv)
{
    char root[FS_PATH_MAX - 64], path[FS_PATH_MAX], chk[64];
    unsigned long seed, rounds;
    struct err err = {0};
    struct world w;

    if (argc < 3) {
        fprintf(stderr, "usage: range_deletions DIR SEED [ROUNDS]\n");
        return 2;
    }
    seed = strtoul(argv[2], NULL, 10);
    rounds = argc > 3 ? strtoul(argv[3], NULL, 10) : 40;
    snprintf(root, sizeof root, "%s/seed-%lu", argv[1], seed);
    open_world(&w, root, seed);
    put_keys(&w, 0, KEYS, 1);
    for (unsigned long n = 1; n <= rounds; n++) {
        for (uint64_t i = 4 + rng_below(&w.rng, 12); i > 0; i--)
            change_something(&w);
        if (rng_below(&w.rng, 2) == 0)
            wait_for_compactions(&w);
        snprintf(chk, sizeof chk, "seed-%lu/chk-%lu", seed, n);
        snprintf(path, sizeof path, "%s/chk-%lu", root, n);
        check(rocks_checkpoint(w.db, path, &err), &err);
        print_expected(&w, chk);
    }
    close_world(&w);
    return 0;
}
