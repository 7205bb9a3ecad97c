#include "backend/rocks.h"

#include "backend/rocks_intake_shim.h"
#include "backend/rocks_priv.h"
#include "backend/rocks_quiet.h"
#include "backend/rocks_shim.h"
#include "base/arena.h"
#include "base/thread.h"

#include <rocksdb/c.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define DEFAULT_CF "default"
#define MIB (1u << 20)
#define ZSTD_LEVEL 1
#define ARENA_BYTES (64u << 10) /* a memtable of a few rows takes it: there is one a state */
#define GET_CHUNK 256u          /* keys whose blocks are held at a time, whatever the cache has room for */
#define GOT_BYTES_KEPT MIB
#define WRITE_BUFFER_OVERSHOOT 14 /* tenths: what a flush under way still holds */

_Static_assert(sizeof(struct bytes) == sizeof(struct shim_slice) &&
                   offsetof(struct bytes, len) == offsetof(struct shim_slice, len),
               "passed to the shim as they are");

struct rocks_cf {
    struct rocks_db *db;
    rocksdb_column_family_handle_t *handle;
    char *name;
    bool totals; /* its operands are blind.h's, not a list's elements */
    struct value_shape shape;
    struct rocks_filter filter;
};
struct rocks_shared {
    uint64_t write_buffer_bytes;
    rocksdb_cache_t *cache;
    rocksdb_write_buffer_manager_t *write_buffers;
};
struct rocks_db {
    rocksdb_t *db;
    rocksdb_options_t *options; /* of the database and of each family ... */
    rocksdb_options_t *totals;  /* ... but those whose operands are totals */
    rocksdb_block_based_table_options_t *table;
    struct rocks_shared *shared, *own_shared; /* own: not given by who opened it */
    struct rocks_totals is_totals;
    rocksdb_readoptions_t *scan; /* template of scans; bounds are set per iterator */
    rocksdb_writeoptions_t *write;
    struct shim_getter *getter;
    struct shim_filters *filters;
    struct buf got; /* values of the last rocks_get */
    void *env;             /* a file system that does not sync */
    struct mutex handles;  /* over the list and each family's handle, for who looks at all of them */
    struct rocks_cf **cfs; /* [0] is "default" */
    size_t cf_count;
    struct rocks_compactions gone; /* of families that are no more */
    bool read_only;
    atomic_int open_handles; /* iterators, batches, runs */
};

#if defined(__SANITIZE_THREAD__)
/* Threads of its own, and what they share with ours: see rocks_quiet.h. */
const char *__tsan_default_suppressions(void) __attribute__((visibility("default")));
const char *__tsan_default_suppressions(void)
{
    return "race:rocksdb::\nrace:libstdc++.so\nrace:libzstd.so\n";
}
#endif

/* ---- errors ---------------------------------------------------------------------------------- */

/* Consumes the text that RocksDB malloc'ed. */
static enum rc take_error(char *text, struct err *err, const char *doing)
{
    enum rc rc;

    if (text == NULL)
        return RC_OK;
    rc = strncmp(text, "Corruption", 10) == 0 ? RC_CORRUPT : RC_IO;
    err_set(err, rc, "rocksdb: %s: %s", doing, text);
    rocksdb_free(text);
    return rc;
}

/* ---- options --------------------------------------------------------------------------------- */

static void make_table_options(struct rocks_db *db)
{
    rocksdb_block_based_table_options_t *t = rocksdb_block_based_options_create();

    rocksdb_block_based_options_set_format_version(t, 5);
    rocksdb_block_based_options_set_checksum(t, 4); /* kXXH3 */
    rocksdb_block_based_options_set_block_size(t, 8192);
    rocksdb_block_based_options_set_filter_policy(t, rocksdb_filterpolicy_create_bloom_full(10));
    rocksdb_block_based_options_set_whole_key_filtering(t, 1);
    rocksdb_block_based_options_set_block_cache(t, db->shared->cache);
    rocksdb_block_based_options_set_cache_index_and_filter_blocks(t, 1);
    rocksdb_block_based_options_set_cache_index_and_filter_blocks_with_high_priority(t, 1);
    rocksdb_block_based_options_set_pin_l0_filter_and_index_blocks_in_cache(t, 0);
    db->table = t;
}

/* ---- shared caches --------------------------------------------------------------------------- */

struct rocks_shared *rocks_shared_new(uint64_t block_bytes, uint64_t write_buffer_bytes)
{
    struct rocks_shared *s = mem_calloc(1, sizeof *s);

    s->write_buffer_bytes = write_buffer_bytes;
    s->cache = rocksdb_cache_create_hyper_clock(block_bytes + write_buffer_bytes, 0);
    s->write_buffers = rocksdb_write_buffer_manager_create_with_cache(
        write_buffer_bytes * 10 / WRITE_BUFFER_OVERSHOOT, s->cache, false);
    return s;
}

void rocks_shared_free(struct rocks_shared *s)
{
    if (s == NULL)
        return;
    rocksdb_write_buffer_manager_destroy(s->write_buffers);
    rocksdb_cache_destroy(s->cache);
    mem_free(s);
}

void rocks_shared_use(struct rocks_shared *s, struct rocks_shared_use *out)
{
    *out = (struct rocks_shared_use){
        .cache_bytes = rocksdb_cache_get_usage(s->cache),
        .write_buffer_bytes = rocksdb_write_buffer_manager_memory_usage(s->write_buffers),
    };
}

static uint64_t clamp(uint64_t v, uint64_t least, uint64_t most)
{
    return v < least ? least : v > most ? most : v;
}

/* Open tables are a cache in shards, each of which holds at least one: with RocksDB's own number a
 * database that may have 24 files open has 64. */
static int table_shard_bits(int max_open_files)
{
    int bits = 0;

    while (bits < 6 && (max_open_files < 0 || max_open_files >> (bits + 1) >= 64))
        bits++;
    return bits;
}

/* The only place where options are made. Set, never defaulted, whatever decides the bytes of a
 * file. */
static void make_options(struct rocks_db *db, const struct rocks_config *config)
{
    rocksdb_options_t *o = rocksdb_options_create();
    uint64_t file_bytes = config->file_bytes == 0 ? ROCKS_FILE_BYTES : config->file_bytes;

    db->own_shared = config->shared != NULL ? NULL
                                            : rocks_shared_new(config->block_cache_bytes,
                                                               config->write_buffer_bytes);
    db->shared = config->shared != NULL ? config->shared : db->own_shared;
    make_table_options(db);
    db->env = shim_scratch_env_new(o);
    ASSERT(db->env != NULL);
    rocksdb_options_set_create_if_missing(o, config->create);
    rocksdb_options_set_error_if_exists(o, config->create);
    rocksdb_options_set_paranoid_checks(o, 1);
    rocksdb_options_set_block_based_table_factory(o, db->table);
    rocksdb_options_set_merge_operator(o, rocks_merge_lists()); /* takes it over */
    db->filters = shim_filters_new();
    ASSERT(db->filters != NULL);
    shim_filters_install(db->filters, o);
    rocksdb_options_set_compression(o, rocksdb_zstd_compression);
    rocksdb_options_set_compression_options(o, -14, ZSTD_LEVEL, 0, 0);
    rocksdb_options_set_bottommost_compression(o, rocksdb_zstd_compression);
    rocksdb_options_set_bottommost_compression_options(o, -14, ZSTD_LEVEL, 0, 0, 1);
    rocksdb_options_set_level_compaction_dynamic_level_bytes(o, 0);
    rocksdb_options_set_compaction_style(o, rocksdb_level_compaction);
    rocksdb_options_set_num_levels(o, 7);
    rocksdb_options_set_level0_file_num_compaction_trigger(o, 4);
    rocksdb_options_set_level0_slowdown_writes_trigger(o, 20);
    rocksdb_options_set_level0_stop_writes_trigger(o, 36);
    rocksdb_options_set_target_file_size_base(o, file_bytes);
    rocksdb_options_set_max_bytes_for_level_base(o, 4 * file_bytes);
    rocksdb_options_set_disable_auto_compactions(o, 1); /* until rocks_compact */
    rocksdb_options_set_write_buffer_manager(o, db->shared->write_buffers);
    rocksdb_options_set_write_buffer_size(
        o, (size_t)clamp(db->shared->write_buffer_bytes / 2, 64u << 10, 64 * MIB));
    rocksdb_options_set_arena_block_size(o, ARENA_BYTES);
    rocksdb_options_set_max_write_buffer_number(o, 2);
    rocksdb_options_set_max_open_files(o, config->max_open_files);
    rocksdb_options_set_table_cache_numshardbits(o, table_shard_bits(config->max_open_files));
    rocksdb_options_set_max_background_jobs(o, 1 + (config->compactions == 0 ? 1 : (int)config->compactions));
    rocksdb_options_set_periodic_compaction_seconds(o, 0);
    rocksdb_options_set_enable_blob_files(o, 0);
    rocksdb_options_set_stats_dump_period_sec(o, 0);
    rocksdb_options_set_stats_persist_period_sec(o, 0);
    rocksdb_options_set_keep_log_file_num(o, 1);
    rocksdb_options_set_max_manifest_file_size(o, 4 * MIB); /* each checkpoint copies it */
    rocksdb_options_set_info_log_level(o, 2);               /* warnings */
    rocksdb_options_set_use_fsync(o, 0);
    if (config->key_group_count != 0) {
        char *error = NULL;

        shim_options_cut_at_groups(o, keygroup_prefix_len(config->key_group_count),
                                   config->key_group_count, keygroup_cut_bytes, &error);
        ASSERT(error == NULL); /* memory is gone */
    }
    db->options = o;
    db->totals = rocksdb_options_create_copy(o);
    rocksdb_options_set_merge_operator(db->totals, rocks_merge_totals());
    db->scan = rocksdb_readoptions_create();
    rocksdb_readoptions_set_verify_checksums(db->scan, 1);
    rocksdb_readoptions_set_fill_cache(db->scan, 0);
    db->write = rocksdb_writeoptions_create();
    rocksdb_writeoptions_disable_WAL(db->write, 1);
    db->getter = shim_getter_new();
    ASSERT(db->getter != NULL);
}

static void free_options(struct rocks_db *db)
{
    shim_getter_free(db->getter);
    rocksdb_writeoptions_destroy(db->write);
    rocksdb_readoptions_destroy(db->scan);
    rocksdb_options_destroy(db->totals);
    rocksdb_options_destroy(db->options);
    rocksdb_block_based_options_destroy(db->table);
    rocks_shared_free(db->own_shared);
    shim_filters_free(db->filters);
    shim_scratch_env_free(db->env);
}

/* ---- opening --------------------------------------------------------------------------------- */

static bool has_totals(const struct rocks_db *db, const char *family)
{
    return db->is_totals.of != NULL && db->is_totals.of(db->is_totals.ctx, family);
}

static const rocksdb_options_t *options_of(const struct rocks_db *db, const char *family)
{
    return has_totals(db, family) ? db->totals : db->options;
}

static struct rocks_cf *add_cf(struct rocks_db *db, const char *name,
                               rocksdb_column_family_handle_t *handle)
{
    struct rocks_cf *cf = mem_calloc(1, sizeof *cf);

    *cf = (struct rocks_cf){.db = db, .handle = handle, .name = mem_strdup(name),
                            .totals = has_totals(db, name)};
    mutex_lock(&db->handles);
    db->cfs = mem_realloc(db->cfs, (db->cf_count + 1) * sizeof *db->cfs);
    db->cfs[db->cf_count++] = cf;
    mutex_unlock(&db->handles);
    return cf;
}

static enum rc open_families(struct rocks_db *db, const char *dir, const char *const *names,
                             size_t count, struct err *err)
{
    const rocksdb_options_t **options = mem_calloc(count, sizeof(rocksdb_options_t *));
    rocksdb_column_family_handle_t **handles =
        mem_calloc(count, sizeof(rocksdb_column_family_handle_t *));
    char *error = NULL;

    for (size_t i = 0; i < count; i++)
        options[i] = options_of(db, names[i]);
    if (db->read_only)
        db->db = rocksdb_open_for_read_only_column_families(db->options, dir, (int)count, names,
                                                            options, handles, 0, &error);
    else
        db->db = rocksdb_open_column_families(db->options, dir, (int)count, names, options, handles,
                                              &error);
    for (size_t pass = 0; error == NULL && pass < 2; pass++) { /* "default" first */
        for (size_t i = 0; i < count; i++) {
            if ((strcmp(names[i], DEFAULT_CF) == 0) == (pass == 0))
                add_cf(db, names[i], handles[i]);
        }
    }
    mem_free(options);
    mem_free(handles);
    return take_error(error, err, "open");
}

enum rc rocks_open(const struct rocks_config *config, struct rocks_db **out, struct err *err)
{
    struct rocks_db *db = mem_calloc(1, sizeof *db);
    const char *const only_default[] = {DEFAULT_CF};
    char **names = NULL;
    size_t count = 0;
    char *error = NULL;
    enum rc rc;

    db->read_only = config->read_only;
    db->is_totals = config->totals;
    mutex_init(&db->handles);
    make_options(db, config);
    if (config->create) {
        rc = open_families(db, config->dir, only_default, 1, err);
    } else {
        names = rocksdb_list_column_families(db->options, config->dir, &count, &error);
        rc = take_error(error, err, "list column families");
        if (rc == RC_OK)
            rc = open_families(db, config->dir, (const char *const *)names, count, err);
        if (names != NULL)
            rocksdb_list_column_families_destroy(names, count);
    }
    if (rc != RC_OK) {
        rocks_close(db);
        return err_wrap(err, rc, "%s", config->dir);
    }
    *out = db;
    return RC_OK;
}

void rocks_close(struct rocks_db *db)
{
    if (db == NULL)
        return;
    ASSERT(atomic_load(&db->open_handles) == 0);
    if (db->db != NULL)
        rocksdb_cancel_all_background_work(db->db, 1);
    buf_release(&db->got);
    for (size_t i = 0; i < db->cf_count; i++) {
        rocksdb_column_family_handle_destroy(db->cfs[i]->handle);
        mem_free(db->cfs[i]->name);
        mem_free(db->cfs[i]);
    }
    mem_free(db->cfs);
    if (db->db != NULL)
        rocksdb_close(db->db);
    free_options(db);
    mutex_release(&db->handles);
    mem_free(db);
}

static enum rc enable_compactions(struct rocks_cf *cf, struct err *err)
{
    const char *const keys[] = {"disable_auto_compactions"};
    const char *const values[] = {"false"};
    char *error = NULL;

    rocksdb_set_options_cf(cf->db->db, cf->handle, 1, keys, values, &error);
    return take_error(error, err, "set options");
}

enum rc rocks_compact(struct rocks_db *db, struct err *err)
{
    for (size_t i = 0; i < db->cf_count; i++)
        RETURN_IF_ERR(enable_compactions(db->cfs[i], err));
    rocksdb_options_set_disable_auto_compactions(db->options, 0); /* for families to come */
    rocksdb_options_set_disable_auto_compactions(db->totals, 0);
    return RC_OK;
}

static int64_t filter_begin(void *ctx)
{
    const struct rocks_cf *cf = ctx;

    return cf->filter.begin(cf->filter.ctx);
}

static enum shim_verdict filter_look(void *ctx, int64_t moment, struct shim_slice value,
                                     shim_emit *emit, void *out)
{
    const struct rocks_cf *cf = ctx;
    struct buf changed = {0};
    enum rocks_verdict v =
        cf->filter.look(cf->filter.ctx, moment, bytes_of(value.data, value.len), &changed);

    if (v == ROCKS_CHANGE)
        emit(out, changed.data, changed.len);
    buf_release(&changed);
    return v == ROCKS_CHANGE ? SHIM_CHANGE : v == ROCKS_REMOVE ? SHIM_REMOVE : SHIM_KEEP;
}

enum rc rocks_cf_set_filter(struct rocks_cf *cf, const struct rocks_filter *filter, struct err *err)
{
    struct shim_filter shim = {cf, filter_begin, filter_look};
    char *error = NULL;

    cf->filter = *filter;
    shim_filters_set(cf->db->filters, rocksdb_column_family_handle_get_id(cf->handle), &shim,
                     &error);
    return take_error(error, err, "set a filter");
}

enum rc rocks_compact_range(struct rocks_cf *cf, struct bytes lower, struct bytes upper,
                            struct err *err)
{
    struct shim_slice first = {lower.data, lower.len}, last = {upper.data, upper.len};
    char *error = NULL;

    shim_compact_range(cf->db->db, cf->handle, &first, &last, &error);
    if (error != NULL && strncmp(error, "Result incomplete", 17) == 0) {
        rocksdb_free(error);
        return err_set(err, RC_CANCELLED, "rocksdb: compaction stopped");
    }
    return take_error(error, err, "compact");
}

void rocks_stop_compact_range(struct rocks_db *db)
{
    shim_stop_compact_range(db->db);
}

/* ---- for rocks_intake.c ---------------------------------------------------------------------- */

void *rocks_raw_db(const struct rocks_db *db)
{
    return db->db;
}
void *rocks_raw_cf(const struct rocks_cf *cf)
{
    return cf->handle;
}
const void *rocks_raw_options(const struct rocks_db *db, const char *family)
{
    return options_of(db, family);
}
const void *rocks_raw_cf_options(const struct rocks_cf *cf)
{
    return cf->totals ? cf->db->totals : cf->db->options;
}
struct rocks_db *rocks_db_of(const struct rocks_cf *cf)
{
    return cf->db;
}
struct rocks_cf *rocks_cf_adopt_take(struct rocks_db *db, const char *name, void *handle)
{
    return add_cf(db, name, handle);
}
enum rc rocks_take_error(char *text, struct err *err, const char *doing)
{
    return take_error(text, err, doing);
}

/* ---- families -------------------------------------------------------------------------------- */

size_t rocks_cf_count(const struct rocks_db *db)
{
    return db->cf_count - 1;
}

struct rocks_cf *rocks_cf_at(const struct rocks_db *db, size_t i)
{
    return db->cfs[i + 1];
}

const char *rocks_cf_name(const struct rocks_cf *cf)
{
    return cf->name;
}

struct rocks_cf *rocks_cf_find(const struct rocks_db *db, const char *name)
{
    for (size_t i = 1; i < db->cf_count; i++) {
        if (strcmp(db->cfs[i]->name, name) == 0)
            return db->cfs[i];
    }
    return NULL;
}

enum rc rocks_cf_create(struct rocks_db *db, const char *name, struct rocks_cf **out,
                        struct err *err)
{
    rocksdb_column_family_handle_t *handle;
    char *error = NULL;

    handle = rocksdb_create_column_family(db->db, options_of(db, name), name, &error);
    RETURN_IF_ERR(take_error(error, err, "create column family"));
    *out = add_cf(db, name, handle);
    return RC_OK;
}

void rocks_cf_set_shape(struct rocks_cf *cf, struct value_shape shape)
{
    cf->shape = shape;
}

struct value_shape rocks_cf_shape(const struct rocks_cf *cf)
{
    return cf->shape;
}

static void add_compactions(const struct rocks_cf *cf, struct rocks_compactions *sum)
{
    struct shim_compactions c;

    if (shim_compactions(cf->db->db, cf->handle, &c) != 0)
        return;
    sum->count += c.count;
    sum->deepest += c.deepest_count;
    sum->written_bytes += c.written_bytes;
}

enum rc rocks_cf_drop(struct rocks_cf *cf, struct err *err)
{
    struct rocks_db *db = cf->db;
    char *error = NULL;
    size_t i = 0;

    rocksdb_drop_column_family(db->db, cf->handle, &error);
    RETURN_IF_ERR(take_error(error, err, "drop column family"));
    mutex_lock(&db->handles);
    add_compactions(cf, &db->gone);
    while (db->cfs[i] != cf)
        i++;
    memmove(db->cfs + i, db->cfs + i + 1, (--db->cf_count - i) * sizeof(struct rocks_cf *));
    mutex_unlock(&db->handles);
    rocksdb_column_family_handle_destroy(cf->handle);
    mem_free(cf->name);
    mem_free(cf);
    return RC_OK;
}

/* By a new family in its place: nothing is read or written but the MANIFEST, and the old files go. */
enum rc rocks_cf_clear(struct rocks_cf *cf, struct err *err)
{
    struct rocks_db *db = cf->db;
    rocksdb_column_family_handle_t *fresh = NULL;
    char *error = NULL;

    mutex_lock(&db->handles);
    rocksdb_drop_column_family(db->db, cf->handle, &error);
    if (error == NULL)
        fresh = rocksdb_create_column_family(db->db, cf->totals ? db->totals : db->options, cf->name,
                                             &error);
    if (error == NULL) {
        add_compactions(cf, &db->gone);
        rocksdb_column_family_handle_destroy(cf->handle);
        cf->handle = fresh;
    }
    mutex_unlock(&db->handles);
    return take_error(error, err, "replace column family");
}

/* ---- reading --------------------------------------------------------------------------------- */

static enum rc not_a_value(const struct rocks_cf *cf, struct value_shape shape, struct bytes key,
                           struct bytes stored, struct err *err)
{
    char hex[2 * 8 + 1] = "";

    for (size_t i = 0; i < key.len && i < 8; i++)
        snprintf(hex + 2 * i, 3, "%02x", key.data[i]);
    return err_set(err, RC_CORRUPT,
                   "state %s: key %s%s of %zu bytes: what is stored, %zu bytes, is no value of %u, "
                   "plain or packed",
                   cf->name, hex, key.len > 8 ? ".." : "", key.len, stored.len, shape.bytes);
}

/* Whole values of a chunk behind each other into db->got. */
static enum rc keep_values(struct rocks_cf *cf, const struct bytes *keys, uint32_t count,
                           struct bytes *values, struct err *err)
{
    struct value_shape shape = cf->shape;
    struct buf *got = &cf->db->got;

    for (uint32_t i = 0; i < count; i++) {
        if (values[i].data == NULL)
            continue;
        if (shape.bytes == 0) {
            buf_append(got, values[i].data, values[i].len);
            continue;
        }
        buf_reserve(got, shape.bytes);
        if (!value_unpack(shape, values[i], got->data + got->len))
            return not_a_value(cf, shape, keys[i], values[i], err);
        got->len += values[i].len = shape.bytes;
    }
    return RC_OK;
}

/* Chunk by chunk, values copied: however many keys there are and however full the cache is, few
 * blocks are held at a time. */
enum rc rocks_get(struct rocks_cf *cf, const struct bytes *keys, uint32_t count,
                  struct bytes *values, struct err *err)
{
    struct rocks_db *db = cf->db;
    char *error = NULL;
    enum rc rc = RC_OK;

    buf_clear(&db->got);
    buf_reserve(&db->got, 1); /* an empty value has an address too */
    for (uint32_t from = 0; from < count && rc == RC_OK; from += GET_CHUNK) {
        uint32_t n = count - from < GET_CHUNK ? count - from : GET_CHUNK;

        rocks_quiet_begin();
        shim_multi_get(db->getter, db->db, cf->handle,
                       (const struct shim_slice *)(const void *)(keys + from), n,
                       (struct shim_slice *)(void *)(values + from), &error);
        rocks_quiet_end();
        rc = take_error(error, err, "get");
        if (rc == RC_OK)
            rc = keep_values(cf, keys + from, n, values + from, err);
        rocks_quiet_begin();
        shim_getter_reset(db->getter);
        rocks_quiet_end();
    }
    for (size_t i = 0, at = 0; i < count && rc == RC_OK; i++) { /* the buffer holds still now */
        if (values[i].data == NULL)
            continue;
        values[i].data = db->got.data + at;
        at += values[i].len;
    }
    return rc;
}

void rocks_unpin(struct rocks_db *db)
{
    if (db->got.cap > GOT_BYTES_KEPT)
        buf_release(&db->got);
}

struct rocks_iter {
    struct rocks_db *db;
    const struct rocks_cf *cf;
    struct value_shape shape;
    uint8_t *value; /* of the last entry, unpacked */
    rocksdb_iterator_t *it;
    rocksdb_readoptions_t *options;
    struct buf lower, upper; /* RocksDB keeps pointers to them */
    bool started, ended;
};

struct rocks_iter *rocks_iter_new(struct rocks_cf *cf, struct bytes lower, struct bytes upper)
{
    struct rocks_iter *it = mem_calloc(1, sizeof *it);

    it->db = cf->db;
    it->cf = cf;
    it->shape = cf->shape;
    it->value = it->shape.bytes == 0 ? NULL : mem_alloc(it->shape.bytes);
    atomic_fetch_add(&it->db->open_handles, 1);
    it->options = rocksdb_readoptions_create();
    rocksdb_readoptions_set_verify_checksums(it->options, 1);
    rocksdb_readoptions_set_fill_cache(it->options, 0);
    buf_append(&it->lower, lower.data, lower.len);
    buf_append(&it->upper, upper.data, upper.len);
    if (lower.len > 0)
        rocksdb_readoptions_set_iterate_lower_bound(it->options, (const char *)it->lower.data,
                                                    lower.len);
    if (upper.len > 0)
        rocksdb_readoptions_set_iterate_upper_bound(it->options, (const char *)it->upper.data,
                                                    upper.len);
    rocks_quiet_begin();
    it->it = rocksdb_create_iterator_cf(cf->db->db, it->options, cf->handle);
    rocks_quiet_end();
    return it;
}

bool rocks_iter_next(struct rocks_iter *it, struct bytes *key, struct bytes *value, enum rc *rc,
                     struct err *err)
{
    char *error = NULL;

    *rc = RC_OK;
    if (it->ended)
        return false;
    rocks_quiet_begin();
    if (it->started)
        rocksdb_iter_next(it->it);
    else
        rocksdb_iter_seek_to_first(it->it);
    rocks_quiet_end();
    it->started = true;
    if (!rocksdb_iter_valid(it->it)) {
        it->ended = true;
        rocksdb_iter_get_error(it->it, &error);
        *rc = take_error(error, err, "scan");
        return false;
    }
    key->data = (const uint8_t *)rocksdb_iter_key(it->it, &key->len);
    value->data = (const uint8_t *)rocksdb_iter_value(it->it, &value->len);
    if (value->len == it->shape.bytes || it->shape.bytes == 0)
        return true;
    if (!value_unpack(it->shape, *value, it->value)) {
        it->ended = true;
        *rc = not_a_value(it->cf, it->shape, *key, *value, err);
        return false;
    }
    *value = bytes_of(it->value, it->shape.bytes);
    return true;
}

void rocks_iter_free(struct rocks_iter *it)
{
    if (it == NULL)
        return;
    rocks_quiet_begin();
    rocksdb_iter_destroy(it->it);
    rocks_quiet_end();
    rocksdb_readoptions_destroy(it->options);
    buf_release(&it->lower);
    buf_release(&it->upper);
    mem_free(it->value);
    atomic_fetch_sub(&it->db->open_handles, 1);
    mem_free(it);
}

/* ---- writing --------------------------------------------------------------------------------- */

struct rocks_batch {
    struct rocks_db *db;
    rocksdb_writebatch_t *batch;
    size_t bytes;
};

struct rocks_batch *rocks_batch_new(struct rocks_db *db)
{
    struct rocks_batch *b = mem_calloc(1, sizeof *b);

    b->db = db;
    b->batch = rocksdb_writebatch_create();
    atomic_fetch_add(&db->open_handles, 1);
    return b;
}

void rocks_batch_put(struct rocks_batch *b, struct rocks_cf *cf, struct bytes key,
                     struct bytes value)
{
    rocksdb_writebatch_put_cf(b->batch, cf->handle, (const char *)key.data, key.len,
                              (const char *)value.data, value.len);
    b->bytes += key.len + value.len + 16;
}

void rocks_batch_del(struct rocks_batch *b, struct rocks_cf *cf, struct bytes key)
{
    rocksdb_writebatch_delete_cf(b->batch, cf->handle, (const char *)key.data, key.len);
    b->bytes += key.len + 16;
}

void rocks_batch_merge(struct rocks_batch *b, struct rocks_cf *cf, struct bytes key,
                       struct bytes operand)
{
    rocksdb_writebatch_merge_cf(b->batch, cf->handle, (const char *)key.data, key.len,
                                (const char *)operand.data, operand.len);
    b->bytes += key.len + operand.len + 16;
}

size_t rocks_batch_bytes(const struct rocks_batch *b)
{
    return b->bytes;
}

enum rc rocks_batch_write(struct rocks_batch *b, struct err *err)
{
    char *error = NULL;

    if (b->bytes == 0)
        return RC_OK;
    rocksdb_write(b->db->db, b->db->write, b->batch, &error);
    rocksdb_writebatch_clear(b->batch);
    b->bytes = 0;
    return take_error(error, err, "write");
}

void rocks_batch_free(struct rocks_batch *b)
{
    if (b == NULL)
        return;
    rocksdb_writebatch_destroy(b->batch);
    atomic_fetch_sub(&b->db->open_handles, 1);
    mem_free(b);
}

struct rocks_run {
    struct rocks_db *db;
    rocksdb_envoptions_t *env;
    rocksdb_sstfilewriter_t *writer;
};

enum rc rocks_run_open(struct rocks_db *db, const char *path, struct rocks_run **out,
                       struct err *err)
{
    struct rocks_run *r = mem_calloc(1, sizeof *r);
    char *error = NULL;
    enum rc rc;

    r->db = db;
    r->env = rocksdb_envoptions_create();
    r->writer = rocksdb_sstfilewriter_create(r->env, db->options);
    atomic_fetch_add(&db->open_handles, 1);
    rocksdb_sstfilewriter_open(r->writer, path, &error);
    rc = take_error(error, err, "open a run");
    if (rc != RC_OK) {
        rocks_run_free(r);
        return rc;
    }
    *out = r;
    return RC_OK;
}

enum rc rocks_run_put(struct rocks_run *r, struct bytes key, struct bytes value, struct err *err)
{
    char *error = NULL;

    rocksdb_sstfilewriter_put(r->writer, (const char *)key.data, key.len, (const char *)value.data,
                              value.len, &error);
    return take_error(error, err, "write a run");
}

enum rc rocks_run_del(struct rocks_run *r, struct bytes key, struct err *err)
{
    char *error = NULL;

    rocksdb_sstfilewriter_delete(r->writer, (const char *)key.data, key.len, &error);
    return take_error(error, err, "write a run");
}

enum rc rocks_run_merge(struct rocks_run *r, struct bytes key, struct bytes operand,
                        struct err *err)
{
    char *error = NULL;

    rocksdb_sstfilewriter_merge(r->writer, (const char *)key.data, key.len,
                                (const char *)operand.data, operand.len, &error);
    return take_error(error, err, "write a run");
}

uint64_t rocks_run_bytes(const struct rocks_run *r)
{
    uint64_t size = 0;

    rocksdb_sstfilewriter_file_size(r->writer, &size);
    return size;
}

enum rc rocks_run_finish(struct rocks_run *r, struct err *err)
{
    char *error = NULL;

    rocksdb_sstfilewriter_finish(r->writer, &error);
    return take_error(error, err, "finish a run");
}

void rocks_run_free(struct rocks_run *r)
{
    if (r == NULL)
        return;
    rocksdb_sstfilewriter_destroy(r->writer);
    rocksdb_envoptions_destroy(r->env);
    atomic_fetch_sub(&r->db->open_handles, 1);
    mem_free(r);
}

enum rc rocks_ingest(struct rocks_cf *cf, const char *const *paths, size_t count, struct err *err)
{
    char *error = NULL;

    rocks_quiet_begin();
    shim_ingest(cf->db->db, cf->handle, paths, count, &error);
    rocks_quiet_end();
    return take_error(error, err, "ingest");
}

/* ---- the whole database ---------------------------------------------------------------------- */

enum rc rocks_checkpoint(struct rocks_db *db, const char *dir, struct err *err)
{
    char *error = NULL;
    rocksdb_checkpoint_t *c = rocksdb_checkpoint_object_create(db->db, &error);

    RETURN_IF_ERR(take_error(error, err, "checkpoint"));
    rocksdb_checkpoint_create(c, dir, 0, &error); /* 0: flush, since there is no log */
    rocksdb_checkpoint_object_destroy(c);
    return take_error(error, err, "checkpoint");
}

enum rc rocks_live_files(struct rocks_db *db, rocks_file_fn *fn, void *ctx, struct err *err)
{
    const rocksdb_livefiles_t *files = rocksdb_livefiles(db->db);
    enum rc rc = RC_OK;

    for (int i = 0; rc == RC_OK && i < rocksdb_livefiles_count(files); i++) {
        const char *name = rocksdb_livefiles_name(files, i);

        rc = fn(ctx, name[0] == '/' ? name + 1 : name, rocksdb_livefiles_size(files, i), err);
    }
    rocksdb_livefiles_destroy(files);
    return rc;
}

struct file_walk {
    rocks_cf_file_fn *fn;
    void *ctx;
    enum rc rc;
    struct err *err;
};

static void visit_file(void *ctx, const struct shim_file *f)
{
    struct file_walk *w = ctx;
    const struct rocks_file out = {f->name, f->size_bytes, bytes_of(f->first.data, f->first.len),
                                   bytes_of(f->last.data, f->last.len), f->last_open != 0};

    if (w->rc == RC_OK)
        w->rc = w->fn(w->ctx, &out, w->err);
}

enum rc rocks_cf_files(struct rocks_cf *cf, rocks_cf_file_fn *fn, void *ctx, struct err *err)
{
    struct file_walk w = {fn, ctx, RC_OK, err};
    char *error = NULL;

    shim_files(cf->db->db, cf->handle, visit_file, &w, &error);
    RETURN_IF_ERR(take_error(error, err, "list files"));
    return w.rc;
}

enum rc rocks_cf_size(struct rocks_cf *cf, struct rocks_size *out, struct err *err)
{
    struct shim_rows rows;
    char *error = NULL;

    shim_largest_level(cf->db->db, cf->handle, &rows, &error);
    *out = (struct rocks_size){rows.rows, rows.key_bytes, rows.value_bytes};
    if (cf->shape.bytes != 0)
        out->value_bytes = rows.rows * cf->shape.bytes;
    return take_error(error, err, "table properties");
}

enum rc rocks_verify(struct rocks_db *db, struct err *err)
{
    char *error = NULL;

    shim_verify(db->db, &error);
    return take_error(error, err, "verify");
}

static uint64_t cf_number(const struct rocks_cf *cf, const char *property)
{
    uint64_t v = 0;

    return rocksdb_property_int_cf(cf->db->db, cf->handle, property, &v) == 0 ? v : 0;
}

static uint64_t cf_l0_files(const struct rocks_cf *cf)
{
    char *text = rocksdb_property_value_cf(cf->db->db, cf->handle, "rocksdb.num-files-at-level0");
    uint64_t v = text == NULL ? 0 : strtoull(text, NULL, 10);

    rocksdb_free(text);
    return v;
}

static enum rc count_file(void *ctx, const char *name, uint64_t size_bytes, struct err *err)
{
    struct rocks_stats *s = ctx;

    (void)name, (void)err;
    s->sst_files++;
    s->live_sst_bytes += size_bytes;
    return RC_OK;
}

void rocks_stats(struct rocks_db *db, struct rocks_stats *out)
{
    struct err err = {0};
    uint64_t errors = 0;

    *out = (struct rocks_stats){0};
    (void)!rocks_live_files(db, count_file, out, &err);
    mutex_lock(&db->handles);
    for (size_t i = 0; i < db->cf_count; i++) {
        uint64_t l0 = cf_l0_files(db->cfs[i]);

        out->l0_files = l0 > out->l0_files ? l0 : out->l0_files;
        out->pending_compaction_bytes +=
            cf_number(db->cfs[i], "rocksdb.estimate-pending-compaction-bytes");
        out->write_buffer_bytes += cf_number(db->cfs[i], "rocksdb.cur-size-all-mem-tables");
    }
    mutex_unlock(&db->handles);
    out->running_compactions = cf_number(db->cfs[0], "rocksdb.num-running-compactions");
    out->block_cache_bytes = rocksdb_cache_get_usage(db->shared->cache);
    out->stopped = shim_background_errors(db->db, &errors) == 0 && errors > 0;
}

void rocks_compactions(struct rocks_db *db, struct rocks_compactions *out)
{
    mutex_lock(&db->handles);
    *out = db->gone;
    for (size_t i = 0; i < db->cf_count; i++)
        add_compactions(db->cfs[i], out);
    mutex_unlock(&db->handles);
}
