/* Epochs: closing one, and reading what it held while the task goes on. */
#include "backend/row_cache_priv.h"

#define CHUNK_BYTES (4u << 20) /* copied under the mutex at most, one larger row excepted */
#define COPY_AHEAD 16u         /* rows prefetched */

/* ---- task's side ----------------------------------------------------------------------------- */

static void cache_close(struct row_cache *c)
{
    uint32_t n = c->slab_count;

    c->closed_dirty = c->dirty;
    c->dirty = (struct refs){0};
    c->closed_bases = mem_alloc(n * sizeof *c->closed_bases);
    c->closed_used = mem_alloc(n * sizeof *c->closed_used);
    c->closed_slab_count = n;
    for (uint32_t id = 1; id < n; id++) {
        c->closed_bases[id] = c->bases[id];
        c->closed_used[id] = c->bases[id] == NULL ? 0 : c->slabs[id].used;
    }
}

void row_cache_close_whole(struct row_cache *c)
{
    ASSERT(!c->group->open && c->group->mode == ROWS_DIRTY);
    c->closed_whole = true;
}

void row_group_close(struct row_group *g)
{
    ASSERT(!g->open);
    for (size_t i = 0; i < g->cache_count; i++)
        cache_close(g->caches[i]);
    g->closed = g->epoch++;
    atomic_store(&g->done, false);
    g->open = true;
}

/* Rows that the closed epoch did not write belong to the current one again. */
static void take_back(struct row_cache *c)
{
    struct row_group *g = c->group;

    for (size_t i = 0; i < c->owed.count; i++) {
        struct row *r = row_at(c, c->owed.at[i]);

        r->shadow = 0;
        r->marks &= (uint8_t)~ROW_GHOST;
    }
    for (size_t i = 0; i < c->closed_dirty.count; i++) {
        uint32_t ref = c->closed_dirty.at[i];
        struct row *r = row_at(c, ref);

        if ((r->marks & (ROW_LIVE | ROW_DIRTY)) == (ROW_LIVE | ROW_DIRTY) &&
            r->epoch <= g->closed) {
            r->epoch = g->epoch;
            refs_push(&c->dirty, ref);
        }
    }
}

static void cache_retire(struct row_cache *c, bool written)
{
    if (!written)
        take_back(c);
    for (size_t i = 0; written && i < c->written_tombs.count; i++)
        refs_push(&c->tombs, c->written_tombs.at[i]);
    c->written_tombs.count = 0;
    c->owed.count = 0;
    c->closed_whole = false;
    refs_release(&c->closed_dirty);
    mem_free(c->closed_bases);
    mem_free(c->closed_used);
    c->closed_bases = NULL;
    c->closed_used = NULL;
    for (uint32_t id = 1; id < c->slab_count; id++) {
        if (c->bases[id] != NULL && c->slabs[id].cow)
            slab_free(c, id);
    }
    c->cow_slab = 0;
}

void row_group_retire(struct row_group *g)
{
    if (!g->open)
        return;
    for (size_t i = 0; i < g->cache_count; i++) {
        if (g->caches[i]->closed_bases != NULL) /* else a state that came after the close */
            cache_retire(g->caches[i], atomic_load(&g->done));
    }
    g->open = false;
}

void row_group_retire_done(struct row_group *g)
{
    if (g->open && atomic_load_explicit(&g->done, memory_order_acquire))
        row_group_retire(g);
}

bool row_group_writing(struct row_group *g)
{
    row_group_retire_done(g);
    return g->open;
}

void row_snapshot_done(struct row_group *g)
{
    atomic_store_explicit(&g->done, true, memory_order_release);
}

/* ---- writer's side --------------------------------------------------------------------------- */

struct row_snapshot {
    struct row_source source; /* first */
    struct row_cache *cache;
    uint32_t closed;
    uint8_t *const *bases; /* the cache's closed_bases */
    uint32_t *refs;        /* in the order of writing */
    size_t count, next;
    struct buf chunk; /* what `next` handed out */
};

static struct row *closed_row(const struct row_snapshot *s, uint32_t ref)
{
    const struct row_cache *c = s->cache;

    return (struct row *)(void *)(s->bases[ref >> c->unit_bits] +
                                  (size_t)(ref & ((1u << c->unit_bits) - 1)) * UNIT_BYTES);
}

/* Every row of the slabs as they were at the close, dead ones included: who lived then is only
 * known under the mutex. */
static void list_all_rows(struct row_snapshot *s)
{
    const struct row_cache *c = s->cache;
    struct refs all = {0};

    for (uint32_t id = 1; id < c->closed_slab_count; id++) {
        for (uint32_t unit = 0; unit < c->closed_used[id];) {
            uint32_t ref = id << c->unit_bits | unit;

            refs_push(&all, ref);
            unit += closed_row(s, ref)->units;
        }
    }
    s->refs = all.at;
    s->count = all.count;
}

static uint32_t row_snapshot_next(struct row_source *source, struct row_view *out, uint32_t max);

struct row_snapshot *row_snapshot_new(struct row_cache *c, bool sorted)
{
    struct row_snapshot *s = mem_calloc(1, sizeof *s);

    s->cache = c;
    s->closed = c->group->closed;
    s->bases = c->closed_bases;
    if (s->bases == NULL) {
        s->count = 0; /* the state came after the close */
    } else if (c->group->mode == ROWS_ALL || c->closed_whole) {
        list_all_rows(s);
    } else {
        s->count = c->closed_dirty.count;
        s->refs = mem_alloc(s->count * sizeof *s->refs);
        if (s->count > 0)
            memcpy(s->refs, c->closed_dirty.at, s->count * sizeof *s->refs);
    }
    if (sorted && s->count > 0)
        refs_sort(c, s->bases, s->refs, s->count);
    else if (s->count > 0)
        refs_group(c, s->bases, s->refs, s->count);
    s->source.next = row_snapshot_next;
    s->source.rows_max = s->count;
    s->source.whole = c->closed_whole;
    s->source.bytes_max = s->count < ROWS_MANY ? 0 : UINT64_MAX;
    for (size_t i = 0; i < s->count && s->count < ROWS_MANY; i++)
        s->source.bytes_max += (uint64_t)closed_row(s, s->refs[i])->units * UNIT_BYTES;
    return s;
}

void row_snapshot_free(struct row_snapshot *s)
{
    if (s == NULL)
        return;
    mem_free(s->refs);
    buf_release(&s->chunk);
    mem_free(s);
}

struct row_source *row_snapshot_rows(struct row_snapshot *s)
{
    return &s->source;
}

/* The row, or its saved image, as the closed epoch had it; NULL when it had none to write.
 * Afterwards the task owes nothing for it. Under the mutex. *never_below: see row_view. */
static struct row *take_image(struct row_snapshot *s, uint32_t ref, struct row *r,
                              bool *never_below)
{
    const struct row_cache *c = s->cache;

    if (r->shadow != 0) {
        struct row *image = row_at(c, r->shadow);

        r->shadow = 0;
        *never_below = c->closed_whole || image->below == BELOW_NO;
        return image;
    }
    *never_below = c->closed_whole || r->below == BELOW_NO;
    if (r->marks & ROW_GHOST) {
        r->marks &= (uint8_t)~(ROW_GHOST | ROW_DIRTY);
        return r;
    }
    if (r->epoch > s->closed)
        return NULL;
    if (c->group->mode == ROWS_ALL) {
        r->epoch = s->closed + 1;
        return r->marks & ROW_LIVE ? r : NULL;
    }
    if (c->closed_whole ? !(r->marks & ROW_LIVE) : !(r->marks & ROW_DIRTY))
        return NULL;
    r->epoch = c->closed_whole ? s->closed + 1 : r->epoch; /* given: nothing more is owed */
    r->marks &= (uint8_t)~ROW_DIRTY;
    /* Not "no" for a tombstone: it is not in the database yet, and a lookup in the meantime must
     * not go there. */
    r->below = r->marks & ROW_TOMBSTONE ? BELOW_UNKNOWN : BELOW_YES;
    if (r->marks & ROW_TOMBSTONE)
        refs_push(&s->cache->written_tombs, ref);
    return r;
}

static NO_THREAD_SAFETY uint32_t row_snapshot_next(struct row_source *source, struct row_view *out,
                                                   uint32_t max)
{
    struct row_snapshot *s = (struct row_snapshot *)source;
    struct row_cache *c = s->cache;
    uint32_t got = 0;

    buf_clear(&s->chunk);
    mutex_lock(&c->group->mutex);
    while (s->next < s->count && got < max && s->chunk.len < CHUNK_BYTES) {
        uint32_t ref = s->refs[s->next++];
        struct row *r = closed_row(s, ref);
        struct row *image;
        struct bytes key = row_key(c, r);
        bool never_below;

        if (s->next + COPY_AHEAD < s->count) {
            const uint8_t *ahead = (const uint8_t *)closed_row(s, s->refs[s->next + COPY_AHEAD]);

            __builtin_prefetch(ahead, 1);
            __builtin_prefetch(ahead + 64);
        }
        image = take_image(s, ref, r, &never_below);
        if (image == NULL || (c->closed_whole && (image->marks & ROW_TOMBSTONE)))
            continue;
        buf_append(&s->chunk, key.data, key.len);
        buf_append(&s->chunk, row_value(c, image), image->value_len);
        out[got++] = (struct row_view){
            .key = {NULL, key.len},
            .value = {NULL, image->value_len},
            .tombstone = (image->marks & ROW_TOMBSTONE) != 0,
            .delta = (image->marks & ROW_DELTA) != 0,
            .dirty = true,
            .never_below = never_below,
        };
    }
    mutex_unlock(&c->group->mutex);
    for (uint32_t i = 0, at = 0; i < got; i++) { /* the chunk holds still now */
        out[i].key.data = s->chunk.data + at;
        at += (uint32_t)out[i].key.len;
        out[i].value.data = s->chunk.data + at;
        at += (uint32_t)out[i].value.len;
    }
    return got;
}
