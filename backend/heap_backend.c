/* heap_backend.c - keyed_backend in memory (`hashmap`): the row caches are the state, a snapshot is
 * one keyed stream of all rows. Memory is unbounded by nature: it grows with the state
 * (memory_bytes does not limit it). Serves small jobs, simulation, and as the oracle for
 * rocks_backend.c. After: HeapKeyedStateBackend (flink-runtime). */
#include "backend/keyed_core.h"
#include "backend/keyed_stream.h"

#define SCAN_VIEWS 256u
#define WRITE_VIEWS 1024u /* rows copied under the mutex at once */
#define SLAB_BYTES (2u << 20)
#define WEED_MORE 16u         /* rows looked at per batch, besides one for each of its rows */
#define WEED_IDLE (64u << 10) /* and after a snapshot */

struct heap_backend {
    struct backend_core core; /* first */
};
struct heap_cursor {
    struct keyed_cursor base; /* first */
    struct core_state *state;
    struct row_walk walk;
    struct row_list *ordered; /* instead of the walk */
    struct buf prefix;        /* or namespace */
};
struct heap_snapshot {
    struct keyed_snapshot base; /* first */
    size_t state_count;         /* states that were there at the close */
    struct core_state **states;
    int64_t now_ms; /* what has expired by then is left out */
};

static void heap_close(struct keyed_backend *b)
{
    core_wait_write(core_of(b));
    core_release(core_of(b));
    mem_free(b);
}

/* The rows of a state into a cache of their new shape. */
static enum rc rewrite(struct core_state *s, const struct ttl_shape *was, int64_t now_ms,
                       struct err *err)
{
    struct backend_core *core = core_of(s->base.backend);
    struct row_cache *old = s->cache;
    struct row_view rows[SCAN_VIEWS];
    struct bytes values[SCAN_VIEWS];
    struct key_builder keys;
    struct buf data = {0};
    struct row_walk walk;
    uint32_t got;
    enum rc rc = RC_OK;

    s->cache = core_new_cache(core, s);
    key_builder_init(&keys, core->key_group_count, s->ns);
    row_walk_init(&walk, old, (struct bytes){0});
    while (rc == RC_OK && (got = row_walk_next(&walk, rows, SCAN_VIEWS)) > 0) {
        struct key_batch batch;

        rc = core_convert_rows(s, was, now_ms, rows, got, &data, err);
        key_builder_clear(&keys);
        for (uint32_t i = 0; rc == RC_OK && i < got; i++) {
            if (rows[i].tombstone)
                continue;
            values[keys.count] = rows[i].value;
            rc = key_builder_add_raw(&keys, rows[i].key, err);
        }
        batch = key_builder_batch(&keys);
        if (rc == RC_OK)
            rc = row_cache_put(s->cache, &batch, values, true, err);
    }
    key_builder_release(&keys);
    buf_release(&data);
    row_cache_free(old);
    return rc;
}

static enum rc heap_state_open(struct keyed_backend *b, const struct state_desc *desc,
                               struct keyed_state **out, struct err *err)
{
    struct ttl_shape was;
    struct core_state *s;

    RETURN_IF_ERR(core_open(core_of(b), desc, &s, &was, err));
    core_opened(s, desc);
    if (core_shape_differs(&was, &s->desc))
        RETURN_IF_ERR(rewrite(s, &was, ttl_clock_now(&core_of(b)->ttl), err));
    *out = &s->base;
    return RC_OK;
}

/* What has expired gives its memory back; while a cursor is open its rows hold still. */
static struct row_cache *weeded(struct core_state *s, uint32_t rows)
{
    if (s->ttl.ttl_ms != 0 && s->cursors == 0)
        row_cache_weed(s->cache, rows, core_is_gone, s);
    return s->cache;
}

/* Before each batch of changes. */
static struct row_cache *tidied(struct keyed_state *s, uint32_t batch)
{
    struct row_cache *c = weeded(core_state_of(s), batch + WEED_MORE);

    row_cache_tidy(c);
    return c;
}

static enum rc heap_upsert(struct keyed_state *s, const struct key_batch *keys, void **rows,
                           uint8_t *fresh, struct err *err)
{
    return row_cache_upsert(tidied(s, keys->count), keys, rows, fresh, NULL, err);
}

static enum rc heap_get(struct keyed_state *s, const struct key_batch *keys, struct bytes *values,
                        struct err *err)
{
    return row_cache_get(weeded(core_state_of(s), keys->count + WEED_MORE), keys, values, NULL, err);
}

static enum rc heap_put(struct keyed_state *s, const struct key_batch *keys,
                        const struct bytes *values, struct err *err)
{
    return row_cache_put(tidied(s, keys->count), keys, values, true, err);
}

static enum rc heap_del(struct keyed_state *s, const struct key_batch *keys, struct err *err)
{
    return row_cache_del(tidied(s, keys->count), keys, true, err);
}

static enum rc heap_append(struct keyed_state *s, const struct key_batch *keys,
                           const struct bytes *values, size_t max_bytes, uint32_t *done,
                           struct err *err)
{
    struct row_append_rules rules = core_append_rules(core_state_of(s), max_bytes);

    return row_cache_append(tidied(s, keys->count), keys, values, &rules, NULL, done, err);
}

/* ---- scans ----------------------------------------------------------------------------------- */

static enum rc heap_scan_open(struct keyed_state *s, const struct scan_bounds *bounds,
                              struct keyed_cursor **out, struct err *err)
{
    struct heap_cursor *c = mem_calloc(1, sizeof *c);

    (void)err;
    c->base.backend = s->backend;
    c->state = core_state_of(s);
    c->state->cursors++;
    row_cache_pin(c->state->cache);
    if (bounds->ordered) {
        c->ordered = row_list_new(c->state->cache, bounds);
    } else if (bounds->ns.len > 0) {
        buf_append(&c->prefix, bounds->ns.data, bounds->ns.len);
        row_walk_init_namespace(&c->walk, c->state->cache, buf_bytes(&c->prefix));
    } else {
        buf_append(&c->prefix, bounds->prefix.data, bounds->prefix.len);
        row_walk_init(&c->walk, c->state->cache, buf_bytes(&c->prefix));
    }
    *out = &c->base;
    return RC_OK;
}

static uint32_t next_views(struct heap_cursor *c, struct row_view *views, uint32_t max)
{
    uint32_t n = 0;

    if (c->ordered == NULL)
        return row_walk_next(&c->walk, views, max);
    while (n < max && row_list_peek(c->ordered, &views[n])) {
        row_list_advance(c->ordered);
        n++;
    }
    return n;
}

static enum rc heap_scan_next(struct keyed_cursor *cursor, uint32_t max, struct bytes *keys,
                              struct bytes *values, uint32_t *got, struct err *err)
{
    struct heap_cursor *c = (struct heap_cursor *)cursor;
    struct row_view views[SCAN_VIEWS];
    uint32_t n;

    (void)err;
    *got = 0;
    while (*got < max) {
        uint32_t want = max - *got < SCAN_VIEWS ? max - *got : SCAN_VIEWS;

        n = next_views(c, views, want);
        if (n == 0)
            break;
        for (uint32_t i = 0; i < n; i++, (*got)++) {
            keys[*got] = views[i].key;
            values[*got] = views[i].value;
        }
    }
    return RC_OK;
}

static void heap_scan_close(struct keyed_cursor *cursor)
{
    struct heap_cursor *c = (struct heap_cursor *)cursor;

    c->state->cursors--;
    row_cache_unpin(c->state->cache);
    row_list_free(c->ordered);
    buf_release(&c->prefix);
    mem_free(c);
}

static bool heap_in_memory(struct keyed_state *s)
{
    (void)s;
    return true;
}

/* ---- snapshots ------------------------------------------------------------------------------- */

static enum rc heap_snapshot_begin(struct keyed_backend *b, uint64_t checkpoint_id,
                                   struct keyed_snapshot **out, struct err *err)
{
    struct backend_core *core = core_of(b);
    struct heap_snapshot *s = mem_calloc(1, sizeof *s);

    (void)checkpoint_id;
    (void)err;
    s->base.backend = b;
    s->state_count = core->state_count;
    s->now_ms = core_ttl_now(core);
    s->states = mem_alloc(core->state_count * sizeof(struct core_state *));
    for (size_t i = 0; i < s->state_count; i++)
        s->states[i] = core->states[i];
    row_group_retire(core->rows); /* the last one's, if nothing came since */
    row_group_close(core->rows);
    core->snapshot = &s->base;
    *out = &s->base;
    return RC_OK;
}

/* Rows of one state, group by group. */
struct state_rows {
    struct row_snapshot *snapshot;
    struct ttl_rows live; /* of them */
    struct row_view *views; /* WRITE_VIEWS */
    uint32_t count, next;
    bool end;
};

static void refill(struct state_rows *r)
{
    if (r->end || r->next < r->count)
        return;
    r->count = r->live.source.next(&r->live.source, r->views, WRITE_VIEWS);
    r->next = 0;
    r->end = r->count == 0;
}

static enum rc write_groups(const struct backend_core *core, struct state_rows *rows, size_t count,
                            struct snapshot_target *target, struct keyed_stream_writer *w,
                            struct err *err)
{
    for (uint32_t g = core->range.first; g <= core->range.last; g++) {
        for (size_t i = 0; i < count; i++) {
            struct state_rows *r = &rows[i];

            for (refill(r); !r->end; refill(r)) {
                const struct row_view *v = &r->views[r->next];

                if (keygroup_get_prefix(v->key.data, core->prefix_len) != g)
                    break;
                RETURN_IF_ERR(keyed_stream_write(w, g, (uint32_t)i, v->key, v->value, err));
                r->next++;
            }
        }
        if (target->ops->cancelled(target))
            return err_set(err, RC_CANCELLED, "snapshot given up at key group %u", g);
    }
    for (size_t i = 0; i < count; i++)
        ASSERT(rows[i].end); /* nothing outside the range */
    return RC_OK;
}

static enum rc write_stream(const struct backend_core *core, struct heap_snapshot *s,
                            struct state_rows *rows, struct snapshot_target *target,
                            struct arena *arena, struct keyed_handle *out, struct err *err)
{
    struct keyed_stream_writer *w;
    enum rc rc;

    RETURN_IF_ERR(keyed_stream_writer_open(target, core->range, core->key_group_count,
                                           (uint32_t)s->state_count, &w, err));
    rc = write_groups(core, rows, s->state_count, target, w, err);
    if (rc != RC_OK) {
        keyed_stream_abort(w);
        return rc;
    }
    row_snapshot_done(core->rows); /* everything was read */
    return keyed_stream_finish(w, arena, out, err);
}

static enum rc heap_snapshot_write(struct keyed_snapshot *snapshot, struct snapshot_target *target,
                                   struct arena *arena, struct keyed_handle *out, struct err *err)
{
    struct heap_snapshot *s = (struct heap_snapshot *)snapshot;
    struct backend_core *core = core_of(snapshot->backend);
    struct state_rows *rows = mem_calloc(s->state_count, sizeof *rows);
    enum rc rc;

    core_write_begins(core);
    for (size_t i = 0; i < s->state_count; i++) {
        rows[i].snapshot = row_snapshot_new(s->states[i]->cache, false);
        ttl_rows_init(&rows[i].live, row_snapshot_rows(rows[i].snapshot), &s->states[i]->ttl,
                      s->now_ms, false);
        rows[i].views = mem_alloc(WRITE_VIEWS * sizeof(struct row_view));
    }
    *out = (struct keyed_handle){
        .kind = KEYED_STREAM,
        .range = core->range,
        .key_group_count = core->key_group_count,
        .backend_id = arena_strdup(arena, core->backend_id),
        .state_count = s->state_count,
        .states = core_describe(core, s->state_count, arena),
        .ttl_clock_ms = s->now_ms == INT64_MIN ? 0 : s->now_ms,
    };
    for (size_t i = 0; i < s->state_count; i++) { /* of the database it was restored from */
        out->states[i].operand_operator = "";
        out->states[i].operand_version = 0;
    }
    rc = write_stream(core, s, rows, target, arena, out, err);
    for (size_t i = 0; i < s->state_count; i++) {
        ttl_rows_release(&rows[i].live);
        row_snapshot_free(rows[i].snapshot);
        mem_free(rows[i].views);
    }
    mem_free(rows);
    if (rc != RC_OK)
        err_wrap(err, rc, "snapshot of %s", core->name);
    core_write_ends(core); /* the last look at the backend: it may be closed now */
    return rc;
}

static void heap_snapshot_free(struct keyed_snapshot *snapshot)
{
    struct heap_snapshot *s = (struct heap_snapshot *)snapshot;
    struct backend_core *core = core_of(snapshot->backend);

    row_group_retire(core->rows);
    core->snapshot = NULL;
    for (size_t i = 0; i < s->state_count; i++)
        weeded(s->states[i], WEED_IDLE);
    mem_free(s->states);
    mem_free(s);
}

static void heap_notify(struct keyed_backend *b, uint64_t checkpoint_id)
{
    (void)b; /* every snapshot is whole: nothing to remember */
    (void)checkpoint_id;
}

static void heap_stats(struct keyed_backend *b, struct keyed_stats *out)
{
    const struct backend_core *core = core_of(b);

    *out = (struct keyed_stats){.cache_bytes = row_group_bytes(core->rows)};
    for (size_t i = 0; i < core->state_count; i++) {
        struct row_cache_stats s;

        row_cache_stats(core->states[i]->cache, &s);
        out->entries_cached += s.rows;
        out->lookups += s.lookups;
    }
}

/* ---- opening --------------------------------------------------------------------------------- */

static const struct keyed_backend_ops heap_ops = {
    .close = heap_close,
    .state_open = heap_state_open,
    .upsert = heap_upsert,
    .get = heap_get,
    .put = heap_put,
    .del = heap_del,
    .append = heap_append,
    .in_memory = heap_in_memory,
    .scan_open = heap_scan_open,
    .scan_next = heap_scan_next,
    .scan_close = heap_scan_close,
    .snapshot_begin = heap_snapshot_begin,
    .snapshot_write = heap_snapshot_write,
    .snapshot_free = heap_snapshot_free,
    .notify_complete = heap_notify,
    .notify_aborted = heap_notify,
    .stats = heap_stats,
};

enum rc heap_backend_open(const struct keyed_backend_config *config, struct keyed_backend **out,
                          struct err *err)
{
    struct heap_backend *b = mem_calloc(1, sizeof *b);
    struct err ignored = {0};
    enum rc rc;

    core_init(&b->core, &heap_ops, config, ROWS_ALL, SLAB_BYTES);
    rc = core_check_handles(&b->core, config, err);
    for (size_t i = 0; rc == RC_OK && i < config->restore_count; i++)
        rc = core_restore_entries(&b->core, config, &config->restore[i], err);
    if (config->local_dir != NULL && config->restore_count > 0)
        (void)!fs_rmdir(config->env->fs, config->local_dir,
                        &ignored); /* a restore may have made it */
    if (rc != RC_OK)
        heap_close(&b->core.base);
    else
        *out = &b->core.base;
    return rc;
}
