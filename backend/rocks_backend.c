/* rocks_backend.c - keyed_backend on RocksDB (`rocksdb`): one column family per state, a row cache
 * in front of each, the flusher as the only writer. Rows that are not cached are read by one sorted
 * MultiGet a batch; absent keys end at the whole-key filters. The local database is scratch:
 * removed and made anew at open. A state that is blind looks nothing up: once it does not fit its
 * cache, its rows begin as deltas and are written as merge operands (blind.h); before rows are read
 * all deltas go down. After: RocksDBKeyedStateBackend.
 *
 * Epoch rule: between keyed_snapshot_begin and the moment its image of the database is taken,
 * nothing but that snapshot writes. Meanwhile rows may take the bytes that are kept for images, too;
 * a batch that needs more than that waits for the image, or takes it itself when the writer has not
 * started, and counts the time. */
#include "backend/rocks_backend_priv.h"

#include "backend/blind.h"

#define REWRITE_BYTES (4u << 20) /* of rows in hand */
#define WALK_VIEWS 256u
#define EVICT_FRACTION 8u /* an eviction gives back at least this part of the rows' bytes */

/* ---- room ------------------------------------------------------------------------------------ */

enum rc rocks_usable(struct rocks_backend *b, struct err *err)
{
    enum rc rc;

    if (!atomic_load_explicit(&b->broken, memory_order_acquire))
        return RC_OK;
    mutex_lock(&b->mutex);
    rc = err_set(err, b->why.rc, "%s", b->why.msg);
    mutex_unlock(&b->mutex);
    return rc;
}

void rocks_break(struct rocks_backend *b, enum rc rc, const char *what, const struct err *why)
{
    mutex_lock(&b->mutex);
    if (b->why.rc == RC_OK)
        err_set(&b->why, rc, "%s: %s", what, why == NULL ? "" : why->msg);
    mutex_unlock(&b->mutex);
    atomic_store_explicit(&b->broken, true, memory_order_release);
}

bool rocks_epoch_is_closed(struct rocks_backend *b)
{
    bool closed;

    mutex_lock(&b->mutex);
    closed = b->epoch_closed;
    mutex_unlock(&b->mutex);
    return closed;
}

/* Until it has written: then rows may be evicted. */
static enum rc await_image(struct rocks_backend *b, struct err *err)
{
    int64_t start = clock_mono_ns(b->core.env->clock);
    enum rc rc = rocks_take_image(b, (struct rocks_snapshot *)b->core.snapshot, err);

    b->wait_ns += clock_mono_ns(b->core.env->clock) - start;
    return rc;
}

static struct core_state *fullest(struct rocks_backend *b, size_t *bytes)
{
    struct core_state *best = NULL;

    *bytes = 0;
    for (size_t i = 0; i < b->core.state_count; i++) {
        struct row_cache_stats s;

        if (b->core.states[i]->cursors > 0)
            continue; /* its rows must hold still */
        row_cache_stats(b->core.states[i]->cache, &s);
        if (s.bytes > *bytes) {
            *bytes = s.bytes;
            best = b->core.states[i];
        }
    }
    return best;
}

/* Writes what of the state's rows is dirty and gives back at least `bytes` of them. */
static enum rc evict_state(struct rocks_backend *b, struct core_state *s, size_t bytes,
                           struct err *err)
{
    struct row_cache_stats stats;
    struct row_evicted evicted;
    enum rc rc;

    b->acting = s;
    row_cache_stats(s->cache, &stats);
    if (stats.dirty > 0)
        below_of(s)->written = true;
    rc = row_cache_evict(s->cache, bytes, &b->sink, &evicted, err);
    b->evictions += evicted.rows;
    if (evicted.live > 0)
        below_of(s)->complete = false;
    if (rc != RC_OK)
        rocks_break(b, rc, "an earlier flush failed", err);
    return rc;
}

static enum rc evict(struct rocks_backend *b, uint64_t want, struct err *err)
{
    uint64_t left = want;

    for (size_t round = 0; left > 0 && round < b->core.state_count; round++) {
        size_t before = row_group_bytes(b->core.rows), after, bytes;
        struct core_state *s = fullest(b, &bytes);

        if (s == NULL)
            break;
        RETURN_IF_ERR(evict_state(b, s, left < bytes ? left : bytes, err));
        after = row_group_bytes(b->core.rows);
        left = before - after >= left || after >= before ? 0 : left - (before - after);
    }
    return RC_OK;
}

static void count_rows(struct rocks_backend *b)
{
    size_t images = row_group_image_bytes(b->core.rows);

    keyed_memory_count(b->memory, MEMORY_IMAGES, &b->counted[MEMORY_IMAGES], images);
    keyed_memory_count(b->memory, MEMORY_ROWS, &b->counted[MEMORY_ROWS],
                       row_group_bytes(b->core.rows) - images);
}

/* A snapshot that is written, or was given up: its images go, its rows are ours again. */
static enum rc take_rows_back(struct rocks_backend *b, struct err *err)
{
    if (rocks_epoch_is_closed(b))
        RETURN_IF_ERR(await_image(b, err));
    RETURN_IF_ERR(rocks_usable(b, err));
    row_group_retire(b->core.rows);
    return RC_OK;
}

/* Before each batch: what has died goes, and there is room for what it may add. */
static enum rc make_room(struct rocks_backend *b, const struct core_state *s,
                         const struct key_batch *keys, const struct bytes *values, struct err *err)
{
    const struct memory_plan *plan = keyed_memory_plan(b->memory);
    uint64_t need, bytes, want;
    bool closed;

    RETURN_IF_ERR(load_step(b->load, err));
    row_cache_tidy(s->cache);
    need = row_cache_need(s->cache, keys, values);
    bytes = row_group_bytes(b->core.rows) + need;
    count_rows(b);
    if (bytes <= plan->row_bytes)
        return rocks_usable(b, err);
    closed = rocks_epoch_is_closed(b);
    if (closed && bytes <= plan->row_bytes + plan->image_bytes)
        return rocks_usable(b, err);
    RETURN_IF_ERR(take_rows_back(b, err));
    bytes = row_group_bytes(b->core.rows) + need;
    if (bytes <= plan->row_bytes)
        return RC_OK;
    want = row_group_bytes(b->core.rows) / EVICT_FRACTION;
    if (want < bytes - plan->row_bytes)
        want = bytes - plan->row_bytes;
    return evict(b, want, err);
}

enum rc rocks_flush_rows(struct rocks_backend *b, struct core_state *s, struct row_source *rows,
                         int64_t now_ms, struct err *err)
{
    struct ttl_rows live;
    enum rc rc;

    rows->operand_head = buf_bytes(&below_of(s)->operand_head);
    if (s->ttl.ttl_ms == 0)
        return flusher_write(b->flusher, below_of(s)->cf, rows, err);
    ttl_rows_init(&live, rows, &s->ttl, now_ms, true);
    rc = flusher_write(b->flusher, below_of(s)->cf, &live.source, err);
    ttl_rows_release(&live);
    return rc;
}

static enum rc sink_write(struct row_sink *sink, struct row_source *rows, struct err *err)
{
    struct rocks_backend *b =
        (struct rocks_backend *)((char *)sink - offsetof(struct rocks_backend, sink));

    return rocks_flush_rows(b, b->acting, rows, ttl_clock_seen(&b->core.ttl), err);
}

static enum rc loader_load(struct row_loader *loader, const struct bytes *keys, uint32_t count,
                           struct bytes *values, struct err *err)
{
    struct rocks_backend *b =
        (struct rocks_backend *)((char *)loader - offsetof(struct rocks_backend, loader));
    int64_t start = clock_mono_ns(b->core.env->clock);
    enum rc rc = rocks_get(below_of(b->acting)->cf, keys, count, values, err);

    load_owe(b->load, clock_mono_ns(b->core.env->clock) - start);
    return rc;
}

static struct row_loader *loader_of(struct rocks_backend *b, struct core_state *s)
{
    b->acting = s;
    return below_of(s)->complete ? NULL : &b->loader;
}

/* A blind state that is all in memory has nothing to look up; while a cursor is open deltas could
 * not go down. */
static void choose_blind(struct core_state *s)
{
    struct rocks_state *below = below_of(s);
    bool blind = below->blind && !below->complete && s->cursors == 0;

    below->deltas |= row_cache_set_blind(s->cache, blind);
}

/* Before rows are read: deltas go down, where they are merged. */
static enum rc settle(struct rocks_backend *b, struct core_state *s, struct err *err)
{
    if (!below_of(s)->deltas)
        return RC_OK;
    RETURN_IF_ERR(take_rows_back(b, err));
    RETURN_IF_ERR(evict_state(b, s, SIZE_MAX, err));
    below_of(s)->deltas = false;
    return RC_OK;
}

/* ---- batches --------------------------------------------------------------------------------- */

static enum rc rocks_upsert(struct keyed_state *state, const struct key_batch *keys, void **rows,
                            uint8_t *fresh, struct err *err)
{
    struct rocks_backend *b = rocks_of(state->backend);
    struct core_state *s = core_state_of(state);
    enum rc rc;

    RETURN_IF_ERR(make_room(b, s, keys, NULL, err));
    choose_blind(s);
    rc = row_cache_upsert(s->cache, keys, rows, fresh, loader_of(b, s), err);
    rocks_unpin(b->db);
    return rc == RC_OK ? RC_OK : err_wrap(err, rc, "state %s of %s", s->desc.name, b->core.name);
}

static enum rc rocks_lookup(struct keyed_state *state, const struct key_batch *keys,
                            struct bytes *values, struct err *err)
{
    struct rocks_backend *b = rocks_of(state->backend);
    struct core_state *s = core_state_of(state);
    enum rc rc;

    RETURN_IF_ERR(settle(b, s, err));
    below_of(s)->blind = false; /* one that is read by key */
    RETURN_IF_ERR(make_room(b, s, keys, NULL, err));
    rc = row_cache_get(s->cache, keys, values, loader_of(b, s), err);
    rocks_unpin(b->db);
    return rc == RC_OK ? RC_OK : err_wrap(err, rc, "state %s of %s", s->desc.name, b->core.name);
}

static enum rc rocks_put(struct keyed_state *state, const struct key_batch *keys,
                         const struct bytes *values, struct err *err)
{
    struct rocks_backend *b = rocks_of(state->backend);
    struct core_state *s = core_state_of(state);

    RETURN_IF_ERR(make_room(b, s, keys, values, err));
    return row_cache_put(s->cache, keys, values, below_of(s)->complete, err);
}

/* Whoever deletes what a cursor gave: rows hold still, so that tombstones for all that lies in the
 * database alone would outgrow the budget. */
static bool deletes_below(struct rocks_backend *b, const struct core_state *s)
{
    return s->cursors > 0 && !below_of(s)->complete &&
           row_group_bytes(b->core.rows) > keyed_memory_plan(b->memory)->row_bytes &&
           !rocks_epoch_is_closed(b);
}

static enum rc delete_below(struct rocks_backend *b, struct core_state *s,
                            const struct key_batch *keys, struct err *err)
{
    uint32_t *others = mem_alloc(keys->count * sizeof *others), count;
    struct rocks_batch *batch = rocks_batch_new(b->db);
    enum rc rc;

    row_cache_load_end(s->cache); /* what was read of these must not come back */
    row_cache_del_cached(s->cache, keys, others, &count);
    for (uint32_t i = 0; i < count; i++)
        rocks_batch_del(batch, below_of(s)->cf, key_batch_at(keys, others[i]));
    rc = rocks_batch_write(batch, err);
    rocks_batch_free(batch);
    mem_free(others);
    if (rc != RC_OK)
        rocks_break(b, rc, "an earlier flush failed", err);
    return rc;
}

static enum rc rocks_del(struct keyed_state *state, const struct key_batch *keys, struct err *err)
{
    struct rocks_backend *b = rocks_of(state->backend);
    struct core_state *s = core_state_of(state);

    RETURN_IF_ERR(make_room(b, s, keys, NULL, err));
    if (deletes_below(b, s))
        return delete_below(b, s, keys, err);
    return row_cache_del(s->cache, keys, below_of(s)->complete, err);
}

static enum rc rocks_append(struct keyed_state *state, const struct key_batch *keys,
                            const struct bytes *values, size_t max_bytes, uint32_t *done,
                            struct err *err)
{
    struct rocks_backend *b = rocks_of(state->backend);
    struct core_state *s = core_state_of(state);
    struct row_append_rules rules = core_append_rules(s, max_bytes);
    enum rc rc;

    RETURN_IF_ERR(make_room(b, s, keys, values, err));
    rc = row_cache_append(s->cache, keys, values, &rules, loader_of(b, s), done, err);
    rocks_unpin(b->db);
    return rc;
}

/* ---- scans ----------------------------------------------------------------------------------- */

/* Where every row is cached, those are the entries, as they come. Else cached rows, sorted, over the
 * database's: a cached row, or tombstone, is the truth. */
struct rocks_cursor {
    struct keyed_cursor base; /* first */
    struct core_state *state;
    struct row_walk walk;    /* while cached is NULL */
    struct buf prefix, ns;   /* of the walk; of entries below */
    struct row_list *cached;
    struct rocks_iter *below; /* NULL: nothing there */
    bool have_below;          /* key and value are the iterator's, not yet handed out */
    bool fetched;
    struct bytes key, value;
    struct buf data; /* copies of what the iterator gave for one call */
};

static enum rc rocks_scan_open(struct keyed_state *state, const struct scan_bounds *bounds,
                               struct keyed_cursor **out, struct err *err)
{
    struct rocks_backend *b = rocks_of(state->backend);
    struct core_state *s = core_state_of(state);
    struct rocks_cursor *c;

    RETURN_IF_ERR(rocks_usable(b, err));
    RETURN_IF_ERR(warmup_wait_proven(b->warmup, err));
    RETURN_IF_ERR(settle(b, s, err));
    c = mem_calloc(1, sizeof *c);
    c->base.backend = state->backend;
    c->state = s;
    buf_append(&c->prefix, bounds->prefix.data, bounds->prefix.len);
    buf_append(&c->ns, bounds->ns.data, bounds->ns.len);
    row_cache_pin(s->cache);
    s->cursors++;
    if (below_of(s)->complete && !bounds->ordered && bounds->ns.len > 0) {
        row_walk_init_namespace(&c->walk, s->cache, buf_bytes(&c->ns));
    } else if (below_of(s)->complete && !bounds->ordered) {
        row_walk_init(&c->walk, s->cache, buf_bytes(&c->prefix));
    } else {
        c->cached = row_list_new(s->cache, bounds);
        if (!below_of(s)->complete) /* after the list: what a flush brings in from now on is in it */
            c->below = rocks_iter_new(below_of(s)->cf, bounds->lower, bounds->upper);
    }
    *out = &c->base;
    return RC_OK;
}

/* The iterator's next entry into key and value, unless one is waiting. */
static enum rc fetch_below(struct rocks_cursor *c, struct err *err)
{
    enum rc rc = RC_OK;

    if (c->have_below || c->below == NULL)
        return RC_OK;
    do
        c->have_below = rocks_iter_next(c->below, &c->key, &c->value, &rc, err);
    while (c->have_below && !bytes_end_with(c->key, buf_bytes(&c->ns)));
    if (!c->have_below) {
        rocks_iter_free(c->below);
        c->below = NULL;
        return rc;
    }
    return core_check_value(c->state, c->value, err);
}

/* Appends a copy; `at` is its offset, made a pointer when the buffer no longer grows. */
static void hold(struct buf *data, struct bytes *b)
{
    size_t at = data->len;

    buf_append(data, b->data, b->len);
    b->data = (const uint8_t *)(uintptr_t)at;
}

static enum rc walk_next(struct rocks_cursor *c, uint32_t max, struct bytes *keys,
                         struct bytes *values, uint32_t *got)
{
    struct row_view views[WALK_VIEWS];
    uint32_t n;

    while (*got < max &&
           (n = row_walk_next(&c->walk, views, max - *got < WALK_VIEWS ? max - *got : WALK_VIEWS)) >
               0) {
        for (uint32_t i = 0; i < n; i++) {
            if (views[i].tombstone)
                continue;
            keys[*got] = views[i].key;
            values[(*got)++] = views[i].value;
        }
    }
    return RC_OK;
}

static enum rc rocks_scan_next(struct keyed_cursor *cursor, uint32_t max, struct bytes *keys,
                               struct bytes *values, uint32_t *got, struct err *err)
{
    struct rocks_cursor *c = (struct rocks_cursor *)cursor;
    struct row_view row;

    *got = 0;
    if (c->cached == NULL)
        return walk_next(c, max, keys, values, got);
    buf_clear(&c->data);
    while (*got < max && c->data.len < 4u << 20) {
        bool have_row = row_list_peek(c->cached, &row);
        int order;

        RETURN_IF_ERR(fetch_below(c, err));
        if (!have_row && !c->have_below)
            break;
        order = !have_row ? 1 : !c->have_below ? -1 : bytes_cmp(row.key, c->key);
        if (order >= 0)
            c->have_below = false; /* taken, or hidden by the row */
        if (order <= 0)
            row_list_advance(c->cached);
        if (order <= 0 && row.tombstone)
            continue;
        keys[*got] = order <= 0 ? row.key : c->key;
        values[*got] = order <= 0 ? row.value : c->value;
        hold(&c->data, &keys[*got]);
        hold(&c->data, &values[*got]);
        (*got)++;
    }
    for (uint32_t i = 0; i < *got; i++) {
        keys[i].data = c->data.data + (uintptr_t)keys[i].data;
        values[i].data = c->data.data + (uintptr_t)values[i].data;
    }
    return RC_OK;
}

static bool rocks_in_memory(struct keyed_state *s)
{
    return below_of(core_state_of(s))->complete;
}

static void rocks_scan_close(struct keyed_cursor *cursor)
{
    struct rocks_cursor *c = (struct rocks_cursor *)cursor;

    c->state->cursors--;
    row_cache_unpin(c->state->cache);
    buf_release(&c->prefix);
    buf_release(&c->ns);
    row_list_free(c->cached);
    rocks_iter_free(c->below);
    buf_release(&c->data);
    mem_free(c);
}

/* ---- states, notifications, numbers ---------------------------------------------------------- */

static bool family_has_totals(const void *backend, const char *family)
{
    const struct rocks_backend *b = backend;
    const struct core_state *s = core_find(&b->core, family);
    const struct state_desc *d = s != NULL ? &s->desc : NULL;

    if (d == NULL && b->opening != NULL)
        d = state_desc_find(b->opening->states, b->opening->state_count, family);
    return d != NULL && state_desc_has_totals(d);
}

static void rocks_blind(struct keyed_state *state, const char *pattern)
{
    struct core_state *s = core_state_of(state);

    below_of(s)->blind = true;
    buf_clear(&below_of(s)->operand_head);
    blind_head(pattern, &below_of(s)->operand_head);
}

static enum rc note_file(void *ctx, const struct rocks_file *f, struct err *err)
{
    (void)f, (void)err;
    *(bool *)ctx = true;
    return RC_OK;
}

enum rc rocks_attach(struct rocks_backend *b, struct core_state *s, struct err *err)
{
    struct rocks_state *below;
    struct rocks_cf *cf;
    bool any = false;

    if (s->below != NULL)
        return RC_OK;
    cf = rocks_cf_find(b->db, s->desc.name);
    if (cf == NULL)
        RETURN_IF_ERR(rocks_cf_create(b->db, s->desc.name, &cf, err));
    else
        RETURN_IF_ERR(rocks_cf_files(cf, note_file, &any, err));
    rocks_cf_set_shape(cf, value_shape_of_desc(&s->desc));
    below = arena_calloc(b->core.arena, 1, sizeof *below);
    *below = (struct rocks_state){.cf = cf, .complete = !any, .written = any};
    s->below = below;
    return RC_OK;
}

static int64_t filter_begin(void *state)
{
    const struct core_state *s = state;

    return ttl_clock_seen(&core_of(s->base.backend)->ttl);
}

static enum rocks_verdict filter_look(void *state, int64_t now_ms, struct bytes value,
                                      struct buf *out)
{
    const struct core_state *s = state;

    switch (ttl_filter(&s->ttl, value, now_ms, out)) {
    case TTL_DROP:
        return ROCKS_REMOVE;
    case TTL_CHANGED:
        return ROCKS_CHANGE;
    case TTL_KEEP:
        break;
    }
    return ROCKS_KEEP;
}

/* A family's rows, as they lie from now on. */
struct rewritten {
    struct row_source source; /* first */
    struct rocks_iter *it;
    struct core_state *state;
    struct ttl_shape was;
    int64_t now_ms;
    struct buf rows, values;
    enum rc rc;
    struct err *err;
};

static uint32_t rewritten_next(struct row_source *source, struct row_view *out, uint32_t max)
{
    struct rewritten *r = (struct rewritten *)source;
    struct bytes key, value;
    uint32_t got = 0;
    size_t at = 0;

    buf_clear(&r->rows);
    while (r->rc == RC_OK && got < max && r->rows.len < REWRITE_BYTES &&
           rocks_iter_next(r->it, &key, &value, &r->rc, r->err)) {
        buf_append(&r->rows, key.data, key.len);
        buf_append(&r->rows, value.data, value.len);
        out[got++] = (struct row_view){.key = key, .value = value, .dirty = true};
    }
    for (uint32_t i = 0; i < got; i++) { /* the rows hold still now */
        out[i].key.data = r->rows.data + at;
        at += out[i].key.len;
        out[i].value.data = r->rows.data + at;
        at += out[i].value.len;
    }
    if (r->rc == RC_OK)
        r->rc = core_convert_rows(r->state, &r->was, r->now_ms, out, got, &r->values, r->err);
    return r->rc == RC_OK ? got : 0;
}

/* The rows that were restored lie without a time, and shall have one (`ttl_ms` not 0), or the other
 * way round. */
static enum rc rewrite(struct rocks_backend *b, struct core_state *s, const struct ttl_shape *was,
                       uint64_t ttl_ms, struct err *err)
{
    struct rewritten rows = {
        .source = {.next = rewritten_next, .rows_max = UINT64_MAX, .bytes_max = UINT64_MAX},
        .state = s,
        .was = *was,
        .now_ms = ttl_clock_now(&b->core.ttl),
        .err = err,
    };
    struct row_evicted evicted;
    enum rc rc;

    b->acting = s;
    below_of(s)->complete = false;
    below_of(s)->written = true;
    RETURN_IF_ERR(row_cache_evict(s->cache, SIZE_MAX, &b->sink, &evicted, err));
    row_cache_free(s->cache);
    rows.it = rocks_iter_new(below_of(s)->cf, (struct bytes){0}, (struct bytes){0});
    s->desc.ttl_ms = ttl_ms; /* from now on */
    s->cache = core_new_cache(&b->core, s);
    rocks_cf_set_shape(below_of(s)->cf, value_shape_of_desc(&s->desc));
    rc = flusher_write(b->flusher, below_of(s)->cf, &rows.source, err);
    rocks_iter_free(rows.it);
    buf_release(&rows.rows);
    buf_release(&rows.values);
    return rc == RC_OK ? rows.rc : rc;
}

static enum rc rocks_state_open(struct keyed_backend *backend, const struct state_desc *desc,
                                struct keyed_state **out, struct err *err)
{
    struct rocks_backend *b = rocks_of(backend);
    struct ttl_shape was;
    struct core_state *s;
    enum rc rc = RC_OK;

    RETURN_IF_ERR(rocks_usable(b, err));
    RETURN_IF_ERR(core_open(&b->core, desc, &s, &was, err));
    RETURN_IF_ERR(rocks_attach(b, s, err));
    if (core_shape_differs(&was, desc) && !b->core.restoring) {
        RETURN_IF_ERR(warmup_wait_proven(b->warmup, err));
        rc = rewrite(b, s, &was, desc->ttl_ms, err);
    }
    if (rc != RC_OK) {
        rocks_break(b, rc, "an earlier rewrite failed", err);
        return err_wrap(err, rc, "state %s: another time-to-live", desc->name);
    }
    core_opened(s, desc);
    if (s->ttl.ttl_ms != 0) {
        struct rocks_filter filter = {s, filter_begin, filter_look};

        RETURN_IF_ERR(rocks_cf_set_filter(below_of(s)->cf, &filter, err));
    }
    if (below_of(s)->to_load && !b->core.restoring) {
        below_of(s)->to_load = false;
        warmup_load(b->warmup, s);
    }
    *out = &s->base;
    return RC_OK;
}

static void rocks_notify(struct keyed_backend *b, uint64_t checkpoint_id)
{
    /* Shared files are named by their content and proven by the target: neither a completed nor an
     * abandoned checkpoint changes what may be taken as known (incremental.h). */
    (void)b;
    (void)checkpoint_id;
}

static void rocks_backend_stats(struct keyed_backend *backend, struct keyed_stats *out)
{
    struct rocks_backend *b = rocks_of(backend);
    struct rocks_stats db;
    struct rocks_compactions compactions;
    struct flusher_stats flush;

    rocks_stats(b->db, &db);
    rocks_compactions(b->db, &compactions);
    flusher_stats(b->flusher, &flush);
    keyed_memory_sample(b->memory);
    keyed_memory_count(b->memory, MEMORY_COMPACTIONS, &b->counted[MEMORY_COMPACTIONS],
                       db.running_compactions * keyed_memory_plan(b->memory)->compaction_bytes);
    *out = (struct keyed_stats){
        .cache_bytes = row_group_bytes(b->core.rows),
        .db_live_sst_bytes = db.live_sst_bytes,
        .db_sst_files = db.sst_files,
        .l0_files = db.l0_files,
        .pending_compaction_bytes = db.pending_compaction_bytes,
        .block_cache_bytes = db.block_cache_bytes,
        .write_buffer_bytes = db.write_buffer_bytes,
        .flushes = flush.flushes,
        .evictions = b->evictions,
        .loaded_rows = load_rows(b->load),
        .flush_wait_ns = (uint64_t)(b->wait_ns + flush.wait_ns),
        .compactions = compactions.count,
        .deepest_compactions = compactions.deepest,
        .compacted_bytes = compactions.written_bytes,
    };
    for (size_t i = 0; i < b->core.state_count; i++) {
        struct row_cache_stats s;

        row_cache_stats(b->core.states[i]->cache, &s);
        out->entries_cached += s.rows;
        out->dirty_rows += s.dirty;
        out->lookups += s.lookups;
        out->misses += s.misses;
        out->blind_rows += s.deltas;
    }
}

/* ---- opening and closing --------------------------------------------------------------------- */

static void rocks_backend_close(struct keyed_backend *backend)
{
    struct rocks_backend *b = rocks_of(backend);
    struct err err = {0};

    b->closing = true;
    core_wait_write(&b->core);
    rocks_expire_free(b->expire);
    warmup_free(b->warmup);
    load_free(b->load);
    flusher_free(b->flusher);
    rocks_close(b->db);
    for (int p = 0; p < MEMORY_PARTS; p++)
        keyed_memory_count(b->memory, (enum memory_part)p, &b->counted[p], 0);
    keyed_memory_free(b->own_memory);
    incremental_free(b->known);
    if (fs_remove_tree(b->core.env->fs, b->local_dir, &err) != RC_OK)
        log_line(b->core.env->log, LOG_WARN, "local database not removed dir=%s error=\"%s\"",
                 b->local_dir, err.msg);
    cond_release(&b->flushed);
    mutex_release(&b->mutex);
    mutex_release(&b->publish_mutex);
    for (size_t i = 0; i < b->core.state_count; i++)
        if (below_of(b->core.states[i]) != NULL)
            buf_release(&below_of(b->core.states[i])->operand_head);
    core_release(&b->core);
    mem_free(b);
}

static const struct keyed_backend_ops rocks_ops = {
    .close = rocks_backend_close,
    .state_open = rocks_state_open,
    .blind = rocks_blind,
    .upsert = rocks_upsert,
    .get = rocks_lookup,
    .put = rocks_put,
    .del = rocks_del,
    .append = rocks_append,
    .in_memory = rocks_in_memory,
    .scan_open = rocks_scan_open,
    .scan_next = rocks_scan_next,
    .scan_close = rocks_scan_close,
    .snapshot_begin = rocks_snapshot_begin,
    .snapshot_write = rocks_snapshot_write,
    .snapshot_free = rocks_snapshot_free,
    .may_snapshot = rocks_may_snapshot,
    .snapshot_take = rocks_snapshot_take,
    .notify_complete = rocks_notify,
    .notify_aborted = rocks_notify,
    .stats = rocks_backend_stats,
};

enum rc rocks_scratch_dir(struct fs *fs, const char *path, struct err *err)
{
    struct err tried = {0};
    enum rc rc = fs_mkdir(fs, path, &tried);

    if (rc == RC_OK || rc == RC_EXISTS)
        return RC_OK;
    return rc == RC_NOT_FOUND ? fs_mkdirs(fs, path, err) : err_set(err, rc, "%s", tried.msg);
}

enum rc rocks_make_flusher(struct rocks_backend *b, struct err *err)
{
    char run_dir[FS_PATH_MAX];
    struct flusher_config config = {
        .env = b->core.env,
        .db = b->db,
        .memory = b->memory,
        .run_dir = run_dir,
        .range = b->core.range,
        .prefix_len = b->core.prefix_len,
        .key_group_count = b->core.key_group_count,
    };

    RETURN_IF_ERR(path_join(run_dir, sizeof run_dir, b->local_dir, "runs", err));
    RETURN_IF_ERR(rocks_scratch_dir(b->core.env->fs, run_dir, err));
    b->flusher = flusher_new(&config);
    b->expire = rocks_expire_new(b->core.env, b->db);
    return RC_OK;
}

static void take_memory(struct rocks_backend *b, const struct keyed_backend_config *config)
{
    struct memory_demand demand = {
        .total_bytes = config->memory_bytes == 0 ? ROCKS_MEMORY_DEFAULT : config->memory_bytes,
        .subtasks = 1,
        .cores = 1,
    };
    struct memory_plan plan;

    b->memory = config->memory;
    if (b->memory != NULL)
        return;
    if (demand.total_bytes < ROCKS_MEMORY_LEAST)
        demand.total_bytes = ROCKS_MEMORY_LEAST;
    memory_plan_make(&demand, &plan);
    b->memory = b->own_memory = keyed_memory_new(&plan);
}

static uint32_t slab_bytes_for(uint64_t rows_bytes)
{
    uint32_t size = 16u << 10;

    while (size < 2u << 20 && size < rows_bytes / 16)
        size *= 2;
    return size;
}

enum rc rocks_backend_open(const struct keyed_backend_config *config, struct keyed_backend **out,
                           struct err *err)
{
    struct rocks_backend *b = mem_calloc(1, sizeof *b);
    struct rocks_config rocks = {.max_open_files = config->max_open_files,
                                 .key_group_count = config->key_group_count};
    const struct memory_plan *plan;
    enum rc rc;

    take_memory(b, config);
    plan = keyed_memory_plan(b->memory);
    rocks.shared = keyed_memory_rocks(b->memory);
    rocks.file_bytes = plan->file_bytes;
    rocks.compactions = plan->compactions;
    rocks.totals = (struct rocks_totals){family_has_totals, b};
    core_init(&b->core, &rocks_ops, config, ROWS_DIRTY, slab_bytes_for(plan->row_bytes));
    b->loader.load = loader_load;
    b->sink.write = sink_write;
    b->known = incremental_new();
    b->warmup = warmup_new(b);
    b->load = load_new(b);
    mutex_init(&b->mutex);
    mutex_init(&b->publish_mutex);
    cond_init(&b->flushed);
    b->local_dir = arena_strdup(b->core.arena, config->local_dir);
    b->db_dir = arena_printf(b->core.arena, "%s/db", config->local_dir);
    rocks.dir = b->db_dir;
    GOTO_IF_ERR(core_check_handles(&b->core, config, err));
    GOTO_IF_ERR(fs_remove_tree(b->core.env->fs, b->local_dir, err));
    GOTO_IF_ERR(rocks_scratch_dir(b->core.env->fs, b->local_dir, err));
    GOTO_IF_ERR(rocks_restore(b, config, &rocks, err));
    *out = &b->core.base;
out:
    if (rc != RC_OK)
        rocks_backend_close(&b->core.base);
    return rc;
}
