#include "backend/flusher.h"

#include <stdatomic.h>

#define BATCH_BYTES (1u << 20)
#define VIEWS 1024u
#define RUN_BYTES (1u << 20) /* what writing a run takes: buffers, ... */
#define RUN_ROW_BYTES 10u    /* ... and a row's part of the filter and of what it is built from */
#define WAIT_STEP_NS (5 * NS_PER_MS)

struct flusher {
    struct flusher_config config;
    char *run_dir;
    uint64_t next_run;
    struct row_view views[VIEWS];
    struct buf last_key; /* of the rows under way: order is asserted */
    struct value_shape shape;  /* of their values */
    struct bytes operand_head;
    struct buf stored; /* the last of them as it is written */
    bool permitted;
    uint64_t sort_bytes, run_rows, counted; /* of the rows under way, of the open run, of both */
    _Atomic uint64_t flushes, runs, rows;
    _Atomic int64_t wait_ns;
};

struct flusher *flusher_new(const struct flusher_config *config)
{
    struct flusher *f = mem_calloc(1, sizeof *f);

    f->config = *config;
    f->run_dir = mem_strdup(config->run_dir);
    return f;
}

void flusher_free(struct flusher *f)
{
    if (f == NULL)
        return;
    mem_free(f->run_dir);
    buf_release(&f->last_key);
    buf_release(&f->stored);
    mem_free(f);
}

void flusher_begin(struct flusher *f)
{
    keyed_memory_flush_begin(f->config.memory);
    f->permitted = true;
}

void flusher_end(struct flusher *f)
{
    f->permitted = false;
    keyed_memory_flush_end(f->config.memory);
}

static uint64_t run_bytes(const struct flusher *f)
{
    return f->run_rows == 0 ? 0 : RUN_BYTES + f->run_rows * RUN_ROW_BYTES;
}

static void count_memory(struct flusher *f)
{
    keyed_memory_count(f->config.memory, MEMORY_FLUSHES, &f->counted, f->sort_bytes + run_bytes(f));
}

/* Routed here (C1), and in order: what RocksDB would refuse in the middle of a run, or mix up in
 * silence. */
static uint32_t check_row(struct flusher *f, struct bytes key)
{
    uint32_t group;

    ASSERT(key.len >= f->config.prefix_len);
    group = keygroup_get_prefix(key.data, f->config.prefix_len);
    ASSERT(key_group_range_has(f->config.range, group));
    ASSERT(f->last_key.len == 0 || bytes_cmp(buf_bytes(&f->last_key), key) < 0);
    buf_clear(&f->last_key);
    buf_append(&f->last_key, key.data, key.len);
    return group;
}

/* What is written of a row, a value or an operand; holds until the next one. */
static struct bytes stored_of(struct flusher *f, const struct row_view *v)
{
    if (f->shape.bytes == 0 && !v->delta)
        return v->value;
    ASSERT(f->shape.bytes == 0 || v->value.len == f->shape.bytes);
    ASSERT(!v->delta || f->operand_head.len > 0);
    buf_clear(&f->stored);
    if (v->delta)
        buf_append(&f->stored, f->operand_head.data, f->operand_head.len);
    if (f->shape.bytes == 0) {
        buf_append(&f->stored, v->value.data, v->value.len);
    } else {
        buf_reserve(&f->stored, value_pack_room(f->shape));
        f->stored.len += value_store(f->shape, v->value.data, f->stored.data + f->stored.len);
    }
    return buf_bytes(&f->stored);
}

/* ---- small sets ------------------------------------------------------------------------------ */

static enum rc write_batches(struct flusher *f, struct rocks_cf *cf, struct row_source *rows,
                             struct err *err)
{
    struct rocks_batch *b = rocks_batch_new(f->config.db);
    uint32_t got;
    enum rc rc = RC_OK;

    while (rc == RC_OK && (got = rows->next(rows, f->views, VIEWS)) > 0) {
        for (uint32_t i = 0; rc == RC_OK && i < got; i++) {
            check_row(f, f->views[i].key);
            if (f->views[i].tombstone)
                rocks_batch_del(b, cf, f->views[i].key);
            else if (f->views[i].delta)
                rocks_batch_merge(b, cf, f->views[i].key, stored_of(f, &f->views[i]));
            else
                rocks_batch_put(b, cf, f->views[i].key, stored_of(f, &f->views[i]));
            if (rocks_batch_bytes(b) >= BATCH_BYTES)
                rc = rocks_batch_write(b, err);
        }
        f->rows += got;
    }
    if (rc == RC_OK)
        rc = rocks_batch_write(b, err);
    rocks_batch_free(b);
    return rc;
}

/* ---- runs ------------------------------------------------------------------------------------ */

struct run_set { /* files of one flush */
    char **paths;
    size_t count;
    struct rocks_run *open;
    uint32_t open_group; /* of the last row in the open file */
};

static enum rc run_begin(struct flusher *f, struct run_set *set, struct err *err)
{
    char name[40], path[FS_PATH_MAX];
    struct buf text = {0};
    enum rc rc;

    buf_printf(&text, "%llu.sst", (unsigned long long)f->next_run++);
    ASSERT(text.len < sizeof name);
    memcpy(name, buf_cstr(&text), text.len + 1);
    buf_release(&text);
    RETURN_IF_ERR(path_join(path, sizeof path, f->run_dir, name, err));
    rc = rocks_run_open(f->config.db, path, &set->open, err);
    if (rc != RC_OK)
        return rc;
    set->paths = mem_realloc(set->paths, (set->count + 1) * sizeof *set->paths);
    set->paths[set->count++] = mem_strdup(path);
    f->runs++;
    return RC_OK;
}

static enum rc run_end(struct flusher *f, struct run_set *set, struct err *err)
{
    enum rc rc = rocks_run_finish(set->open, err);

    count_memory(f);
    rocks_run_free(set->open);
    set->open = NULL;
    f->run_rows = 0;
    return rc;
}

/* It is as large as a file may be, or as its writer's memory. */
static bool run_is_full(const struct flusher *f, uint64_t size)
{
    const struct memory_plan *plan = keyed_memory_plan(f->config.memory);

    return size >= plan->file_bytes || f->run_rows * RUN_ROW_BYTES >= plan->flush_bytes / 2;
}

static enum rc run_add(struct flusher *f, struct run_set *set, const struct row_view *v,
                       struct err *err)
{
    uint32_t group = check_row(f, v->key);

    if (set->open != NULL) {
        uint64_t size = rocks_run_bytes(set->open);

        if (run_is_full(f, size) ||
            (group != set->open_group &&
             size >= keygroup_cut_bytes(set->open_group, group, f->config.key_group_count)))
            RETURN_IF_ERR(run_end(f, set, err));
    }
    if (set->open == NULL)
        RETURN_IF_ERR(run_begin(f, set, err));
    set->open_group = group;
    f->run_rows++;
    if (v->tombstone)
        return rocks_run_del(set->open, v->key, err);
    return v->delta ? rocks_run_merge(set->open, v->key, stored_of(f, v), err)
                    : rocks_run_put(set->open, v->key, stored_of(f, v), err);
}

/* Waits while the database is behind with its compactions. */
static enum rc wait_for_compactions(struct flusher *f, struct err *err)
{
    int64_t start = clock_mono_ns(f->config.env->clock);
    struct rocks_stats s;

    for (;;) {
        rocks_stats(f->config.db, &s);
        if (s.stopped)
            return rocks_tell_stopped(f->config.db, err);
        if (s.l0_files < FLUSH_L0_FILES_MAX && s.pending_compaction_bytes < FLUSH_PENDING_BYTES_MAX)
            break;
        clock_sleep_ns(f->config.env->clock, WAIT_STEP_NS);
    }
    f->wait_ns += clock_mono_ns(f->config.env->clock) - start;
    return RC_OK;
}

static enum rc write_runs(struct flusher *f, struct rocks_cf *cf, struct row_source *rows,
                          struct err *err)
{
    struct run_set set = {0};
    struct err ignored = {0};
    uint32_t got;
    enum rc rc = RC_OK;

    while (rc == RC_OK && (got = rows->next(rows, f->views, VIEWS)) > 0) {
        for (uint32_t i = 0; rc == RC_OK && i < got; i++)
            rc = run_add(f, &set, &f->views[i], err);
        f->rows += got;
    }
    if (rc == RC_OK && set.open != NULL)
        rc = run_end(f, &set, err);
    if (rc == RC_OK && set.count > 0)
        rc = wait_for_compactions(f, err);
    if (rc == RC_OK && rows->whole)
        rc = rocks_cf_clear(cf, err);
    if (rc == RC_OK && set.count > 0)
        rc = rocks_ingest(cf, (const char *const *)set.paths, set.count, err);
    rocks_run_free(set.open);
    f->run_rows = 0;
    for (size_t i = 0; i < set.count; i++) {
        if (rc != RC_OK)
            (void)!fs_unlink(f->config.env->fs, set.paths[i], &ignored);
        mem_free(set.paths[i]);
    }
    mem_free(set.paths);
    return rc;
}

enum rc flusher_write(struct flusher *f, struct rocks_cf *cf, struct row_source *rows,
                      struct err *err)
{
    bool alone = !f->permitted;
    enum rc rc;

    if (alone)
        flusher_begin(f);
    f->flushes++;
    f->sort_bytes = rows->rows_max == UINT64_MAX ? 0 : rows->rows_max * ROW_SORT_BYTES;
    count_memory(f);
    buf_clear(&f->last_key);
    f->operand_head = rows->operand_head;
    f->shape = rocks_cf_shape(cf);
    if (rows->whole || rows->rows_max >= FLUSH_RUN_LEAST_ROWS ||
        rows->bytes_max >= FLUSH_RUN_LEAST_BYTES ||
        !keyed_memory_buffers_have(f->config.memory, rows->bytes_max))
        rc = write_runs(f, cf, rows, err);
    else
        rc = write_batches(f, cf, rows, err);
    f->sort_bytes = 0;
    count_memory(f);
    keyed_memory_sample(f->config.memory);
    if (alone)
        flusher_end(f);
    return rc == RC_OK ? RC_OK : err_wrap(err, rc, "flush of %s", rocks_cf_name(cf));
}

void flusher_stats(const struct flusher *f, struct flusher_stats *out)
{
    *out = (struct flusher_stats){f->flushes, f->runs, f->rows, f->wait_ns};
}
