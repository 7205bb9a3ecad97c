/* Giving slabs back: walking rows, eviction over a database, tidying after deaths. Task's thread,
 * no writer at work (walks excepted). */
#include "backend/row_cache_priv.h"

#define TIDY_SLABS 4u          /* looked at per batch */
#define TIDY_TOMBSTONES 2048u  /* dropped per batch */
#define TOMBSTONES_AHEAD 16u
#define REAP_BYTES_LEAST (8u << 20) /* that must have died before slabs are looked through */

/* ---- walking --------------------------------------------------------------------------------- */

static uint32_t slab_first(const struct row_cache *c, uint32_t id, uint32_t unit)
{
    return unit < c->slabs[id].used ? id << c->unit_bits | unit : 0;
}

void row_walk_init(struct row_walk *w, struct row_cache *c, struct bytes prefix)
{
    uint32_t owner_len = 0;

    *w = (struct row_walk){.cache = c, .prefix = prefix, .slab = 1};
    if (c->config.chain == ROW_CHAIN_OWNER && prefix.len > 0)
        owner_len = key_owner_len(prefix, c->config.prefix_len, c->config.ns);
    if (owner_len > 0) {
        w->chained = true;
        w->ref = chain_head(c, bytes_of(prefix.data, owner_len));
    }
}

void row_walk_init_namespace(struct row_walk *w, struct row_cache *c, struct bytes ns)
{
    *w = (struct row_walk){.cache = c, .ns = ns, .slab = 1};
    if (c->config.chain == ROW_CHAIN_NAMESPACE) {
        w->chained = true;
        w->ref = chain_head(c, ns);
    }
}

void row_cache_pin(struct row_cache *c)
{
    c->pins++;
}

void row_cache_unpin(struct row_cache *c)
{
    ASSERT(c->pins > 0);
    c->pins--;
}

/* The next row of the walk, of whatever key; 0 at the end. */
static uint32_t walk_step(struct row_walk *w)
{
    struct row_cache *c = w->cache;
    uint32_t ref;

    if (w->chained) {
        ref = w->ref;
        if (ref != 0)
            w->ref = row_links(row_at(c, ref))->next;
        return ref;
    }
    for (; w->slab < c->slab_count; w->slab++, w->unit = 0) {
        if (c->bases[w->slab] == NULL || c->slabs[w->slab].cow)
            continue;
        while ((ref = slab_first(c, w->slab, w->unit)) != 0) {
            w->unit += row_at(c, ref)->units;
            if (row_at(c, ref)->marks & ROW_LIVE)
                return ref;
        }
    }
    return 0;
}

static struct row_view view_of(const struct row_cache *c, struct row *r)
{
    return (struct row_view){
        .key = row_key(c, r),
        .value = bytes_of(row_value(c, r), r->value_len),
        .tombstone = (r->marks & ROW_TOMBSTONE) != 0,
        .delta = (r->marks & ROW_DELTA) != 0,
        .dirty = (r->marks & ROW_DIRTY) != 0,
        .never_below = r->below == BELOW_NO,
    };
}

uint32_t row_walk_next(struct row_walk *w, struct row_view *out, uint32_t max)
{
    struct row_cache *c = w->cache;
    uint32_t got = 0, ref;

    rows_enter(c);
    while (got < max && (ref = walk_step(w)) != 0) {
        struct row *r = row_at(c, ref);

        if (bytes_start_with(row_key(c, r), w->prefix) && bytes_end_with(row_key(c, r), w->ns))
            out[got++] = view_of(c, r);
    }
    rows_leave(c);
    return got;
}

struct row_list {
    struct row_cache *cache;
    struct refs refs;
    uint8_t *tombstones; /* per ref: the mark itself shares a byte with what a writer changes */
    size_t next;
};

static bool in_bounds(struct bytes key, const struct scan_bounds *b)
{
    return (b->lower.len == 0 || bytes_cmp(key, b->lower) >= 0) &&
           (b->upper.len == 0 || bytes_cmp(key, b->upper) < 0) &&
           bytes_end_with(key, b->ns);
}

/* The bounds lie within the prefix (keyed_scan_range). */
struct row_list *row_list_new(struct row_cache *c, const struct scan_bounds *bounds)
{
    struct row_list *l = mem_calloc(1, sizeof *l);
    struct row_walk w;
    uint32_t ref;

    l->cache = c;
    rows_enter(c);
    if (bounds->ns.len > 0)
        row_walk_init_namespace(&w, c, bounds->ns);
    else
        row_walk_init(&w, c, bounds->prefix);
    while ((ref = walk_step(&w)) != 0) {
        if (in_bounds(row_key(c, row_at(c, ref)), bounds))
            refs_push(&l->refs, ref);
    }
    refs_sort(c, c->bases, l->refs.at, l->refs.count);
    l->tombstones = mem_alloc(l->refs.count);
    for (size_t i = 0; i < l->refs.count; i++)
        l->tombstones[i] = (row_at(c, l->refs.at[i])->marks & ROW_TOMBSTONE) != 0;
    rows_leave(c);
    return l;
}

bool row_list_peek(const struct row_list *l, struct row_view *out)
{
    struct row *r;

    if (l->next == l->refs.count)
        return false;
    r = row_at(l->cache, l->refs.at[l->next]);
    *out = (struct row_view){
        .key = row_key(l->cache, r),
        .value = bytes_of(row_value(l->cache, r), r->value_len),
        .tombstone = l->tombstones[l->next] != 0,
    };
    return true;
}

void row_list_advance(struct row_list *l)
{
    l->next++;
}

void row_list_free(struct row_list *l)
{
    if (l == NULL)
        return;
    refs_release(&l->refs);
    mem_free(l->tombstones);
    mem_free(l);
}

bool row_cache_peek(struct row_cache *c, struct bytes key, struct row_view *out)
{
    uint32_t ref;

    rows_enter(c);
    ref = index_find(c, key_tag(c, key), key);
    if (ref != 0)
        *out = view_of(c, row_at(c, ref));
    rows_leave(c);
    return ref != 0;
}

/* ---- giving slabs back ----------------------------------------------------------------------- */

/* Copies a row into the open slab; the old place is dead. Its marks and epoch go with it. */
static uint32_t move_row(struct row_cache *c, uint32_t from)
{
    struct row *old = row_at(c, from);
    uint32_t to = row_alloc(c, old->key_len, old->value_cap, false);
    struct row *r = row_at(c, to);

    memcpy((uint8_t *)r + c->value_at, row_value(c, old), (size_t)old->value_cap + old->key_len);
    r->tag = old->tag;
    r->epoch = old->epoch;
    r->value_len = old->value_len;
    r->below = old->below;
    r->marks = old->marks & (uint8_t)~ROW_TOUCHED;
    row_moved(c, from, to);
    return to;
}

static void drop_victims_refs(const struct row_cache *c, struct refs *l)
{
    size_t kept = 0;

    for (size_t i = 0; i < l->count; i++) {
        if (!c->slabs[l->at[i] >> c->unit_bits].victim)
            l->at[kept++] = l->at[i];
    }
    l->count = kept;
}

/* Frees the slabs marked as victims and takes them out of the lists. */
static void free_victims(struct row_cache *c)
{
    size_t kept = 0;

    drop_victims_refs(c, &c->dirty);
    drop_victims_refs(c, &c->tombs);
    for (size_t i = 0; i < c->fifo.count; i++) {
        uint32_t id = c->fifo.at[i];

        if (c->slabs[id].victim)
            slab_free(c, id);
        else
            c->fifo.at[kept++] = id;
    }
    c->fifo.count = kept;
}

/* Gives back slabs without a live row. */
static size_t slabs_reap(struct row_cache *c)
{
    size_t empty_bytes = 0;

    for (size_t i = 0; i < c->fifo.count; i++) {
        uint32_t id = c->fifo.at[i];

        if (c->slabs[id].live == 0 && id != c->open_slab) {
            c->slabs[id].victim = true;
            empty_bytes += (size_t)c->slabs[id].units * UNIT_BYTES;
        }
    }
    if (empty_bytes > 0)
        free_victims(c);
    return empty_bytes;
}

/* Tombstones that are in the database say nothing that it does not say. */
static void drop_tombstones(struct row_cache *c)
{
    if (c->loading)
        return;
    for (uint32_t n = 0; n < TIDY_TOMBSTONES && c->tombs.count > 0; n++) {
        uint32_t ref = c->tombs.at[--c->tombs.count];
        struct row *r = row_at(c, ref);

        if (c->tombs.count >= TOMBSTONES_AHEAD)
            __builtin_prefetch(row_at(c, c->tombs.at[c->tombs.count - TOMBSTONES_AHEAD]), 1);
        if ((r->marks & (ROW_LIVE | ROW_TOMBSTONE | ROW_DIRTY)) == (ROW_LIVE | ROW_TOMBSTONE)) {
            row_unlink(c, ref);
            r->marks = 0;
        }
    }
}

/* Over a database: slabs in which nothing lives any more. The lists of dirty rows are searched each
 * time, so not before so much more has died that it pays. */
static void tidy_cache(struct row_cache *c)
{
    uint64_t least = REAP_BYTES_LEAST / UNIT_BYTES;

    drop_tombstones(c);
    if (c->used_units - c->live_units < c->reap_at_units || c->used_units < least)
        return;
    slabs_reap(c);
    c->reap_at_units = c->used_units - c->live_units +
                       (c->used_units / 4 > least ? c->used_units / 4 : least);
}

/* When over a third of the rows' bytes is dead: empty slabs go, half-empty ones among the next few
 * are moved together. */
static void tidy_all(struct row_cache *c)
{
    bool any = false;

    if (c->used_units < 3u << c->unit_bits || (c->used_units - c->live_units) * 3 < c->used_units)
        return;
    for (uint32_t i = 0; i < TIDY_SLABS && c->fifo.count > 0; i++) {
        uint32_t id;
        struct slab *s;

        c->tidy_hand = (c->tidy_hand + 1) % (uint32_t)c->fifo.count;
        id = c->fifo.at[c->tidy_hand];
        s = &c->slabs[id];
        if (id == c->open_slab || s->victim || s->live * 2 > s->used)
            continue;
        for (uint32_t unit = 0, ref; (ref = slab_first(c, id, unit)) != 0;) {
            unit += row_at(c, ref)->units;
            if (row_at(c, ref)->marks & ROW_LIVE)
                move_row(c, ref);
        }
        c->slabs[id].victim = true; /* s may have moved */
        any = true;
    }
    if (any)
        free_victims(c);
}

void row_cache_tidy(struct row_cache *c)
{
    rows_enter(c); /* retires a finished epoch */
    if (!c->group->open && c->pins == 0) {
        if (c->group->mode == ROWS_ALL)
            tidy_all(c);
        else
            tidy_cache(c);
    }
    rows_leave(c);
}

void row_cache_weed(struct row_cache *c, uint32_t max, row_gone_fn *gone, void *ctx)
{
    ASSERT(c->group->mode == ROWS_ALL);
    rows_enter(c); /* retires a finished epoch */
    for (uint32_t seen = 0; !c->group->open && seen < max; seen++) {
        uint32_t ref = walk_step(&c->weeding);
        struct row *r;

        if (ref == 0) { /* round: at most once a call */
            row_walk_init(&c->weeding, c, (struct bytes){0});
            break;
        }
        r = row_at(c, ref);
        if (gone(ctx, bytes_of(row_value(c, r), r->value_len))) {
            row_unlink(c, ref);
            r->marks = 0;
        }
    }
    rows_leave(c);
}

/* ---- eviction -------------------------------------------------------------------------------- */

struct refs_source { /* rows of a list, where they lie */
    struct row_source source;
    const struct row_cache *cache;
    const struct refs *refs;
    size_t next;
};

static uint32_t refs_source_next(struct row_source *source, struct row_view *out, uint32_t max)
{
    struct refs_source *s = (struct refs_source *)source;
    uint32_t got = 0;

    while (got < max && s->next < s->refs->count)
        out[got++] = view_of(s->cache, row_at(s->cache, s->refs->at[s->next++]));
    return got;
}

/* Bytes that emptying this slab gives back; with `forget`, no row is worth keeping any more. */
static size_t victim_yield(struct row_cache *c, uint32_t id, bool forget, struct refs *dirty)
{
    size_t kept = 0;

    for (uint32_t unit = 0, ref; (ref = slab_first(c, id, unit)) != 0;) {
        struct row *r = row_at(c, ref);

        unit += r->units;
        if (!(r->marks & ROW_LIVE))
            continue;
        if (forget)
            r->marks &= (uint8_t)~ROW_TOUCHED;
        if (r->marks & ROW_TOUCHED)
            kept += r->units;
        else if (r->marks & ROW_DIRTY)
            refs_push(dirty, ref);
    }
    return ((size_t)c->slabs[id].units - kept) * UNIT_BYTES;
}

/* Oldest slabs first. */
static void choose_victims(struct row_cache *c, size_t want_bytes, struct refs *dirty)
{
    size_t got = 0;

    for (size_t i = 0; i < c->fifo.count && got < want_bytes; i++) {
        c->slabs[c->fifo.at[i]].victim = true;
        got += victim_yield(c, c->fifo.at[i], false, dirty);
    }
    if (got >= want_bytes)
        return;
    /* Everything was used again since: then the oldest go all the same. */
    got = 0;
    dirty->count = 0;
    for (size_t i = 0; i < c->fifo.count; i++) {
        uint32_t id = c->fifo.at[i];

        c->slabs[id].victim = got < want_bytes;
        if (c->slabs[id].victim)
            got += victim_yield(c, id, true, dirty);
    }
}

static enum rc write_dirty(struct row_cache *c, struct refs *dirty, struct row_sink *sink,
                           struct err *err)
{
    struct refs_source source = {
        .source = {.next = refs_source_next, .rows_max = dirty->count},
        .cache = c,
        .refs = dirty,
    };

    if (dirty->count == 0)
        return RC_OK;
    refs_sort(c, c->bases, dirty->at, dirty->count);
    for (size_t i = 0; i < dirty->count; i++)
        source.source.bytes_max += (uint64_t)row_at(c, dirty->at[i])->units * UNIT_BYTES;
    return sink->write(sink, &source.source, err);
}

/* What stays moves to open slabs, which are no victims; the rest leaves the index. */
static void empty_victims(struct row_cache *c, struct row_evicted *evicted)
{
    size_t slabs = c->fifo.count; /* moving makes new ones at the end */

    if (c->open_slab != 0 && c->slabs[c->open_slab].victim)
        c->open_slab = 0;
    for (size_t i = 0; i < slabs; i++) {
        uint32_t id = c->fifo.at[i];

        if (!c->slabs[id].victim)
            continue;
        for (uint32_t unit = 0, ref; (ref = slab_first(c, id, unit)) != 0;) {
            struct row *r = row_at(c, ref);

            unit += r->units;
            if (!(r->marks & ROW_LIVE))
                continue;
            if (r->marks & ROW_TOUCHED) {
                uint32_t to = move_row(c, ref);

                if (row_at(c, to)->marks & ROW_DIRTY)
                    refs_push(&c->dirty, to);
            } else {
                evicted->rows++;
                evicted->live += !(r->marks & ROW_TOMBSTONE);
                row_unlink(c, ref);
            }
        }
    }
}

enum rc row_cache_evict(struct row_cache *c, size_t want_bytes, struct row_sink *sink,
                        struct row_evicted *evicted, struct err *err)
{
    struct refs dirty = {0};
    size_t reaped;
    enum rc rc;

    *evicted = (struct row_evicted){0};
    ASSERT(c->group->mode == ROWS_DIRTY && c->pins == 0);
    c->loading = false; /* a row that leaves may have changed since it was read */
    row_group_retire_done(c->group);
    ASSERT(!c->group->open);
    reaped = slabs_reap(c);
    if (reaped >= want_bytes)
        return RC_OK;
    want_bytes -= reaped;
    choose_victims(c, want_bytes, &dirty);
    rc = write_dirty(c, &dirty, sink, err);
    if (rc != RC_OK) {
        for (size_t i = 0; i < c->fifo.count; i++)
            c->slabs[c->fifo.at[i]].victim = false;
    } else {
        empty_victims(c, evicted);
        free_victims(c);
    }
    refs_release(&dirty);
    return rc;
}
