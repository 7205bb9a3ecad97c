#include "backend/row_cache_priv.h"

#define FIND_AHEAD 12u /* keys between the steps of finding */
#define FIND_CHUNK 128u /* keys found before their rows are used */

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* ---- groups ---------------------------------------------------------------------------------- */

struct row_group *row_group_new(enum row_mode mode, uint64_t hash_seed)
{
    struct row_group *g = mem_calloc(1, sizeof *g);

    g->mode = mode;
    g->seed = hash_seed;
    g->epoch = 1;
    mutex_init(&g->mutex);
    return g;
}

static void cache_free(struct row_cache *c)
{
    for (uint32_t id = 1; id < c->slab_count; id++)
        mem_free(c->bases[id]);
    mem_free(c->bases);
    mem_free(c->slabs);
    refs_release(&c->free_ids);
    refs_release(&c->fifo);
    mem_free(c->rows.slots);
    mem_free(c->owners.slots);
    refs_release(&c->dirty);
    refs_release(&c->closed_dirty);
    refs_release(&c->owed);
    refs_release(&c->written_tombs);
    refs_release(&c->tombs);
    refs_release(&c->loads);
    mem_free(c->tags);
    mem_free(c->found);
    mem_free(c->late);
    mem_free(c->load_keys);
    mem_free(c->load_values);
    mem_free(c);
}

void row_group_free(struct row_group *g)
{
    if (g == NULL)
        return;
    row_group_retire(g);
    for (size_t i = 0; i < g->cache_count; i++)
        cache_free(g->caches[i]);
    mem_free(g->caches);
    mutex_release(&g->mutex);
    mem_free(g);
}

void row_cache_free(struct row_cache *c)
{
    struct row_group *g = c->group;
    size_t i = 0;

    row_group_retire_done(g);
    ASSERT(!g->open);
    while (g->caches[i] != c)
        i++;
    g->caches[i] = g->caches[--g->cache_count];
    cache_free(c);
}

static size_t cache_bytes(const struct row_cache *c)
{
    return c->slab_bytes + index_bytes(&c->rows) + index_bytes(&c->owners) +
           (c->dirty.cap + c->closed_dirty.cap + c->owed.cap + c->tombs.cap) *
               sizeof(uint32_t);
}

size_t row_group_bytes(const struct row_group *g)
{
    size_t sum = 0;

    for (size_t i = 0; i < g->cache_count; i++)
        sum += cache_bytes(g->caches[i]);
    return sum;
}

size_t row_group_image_bytes(const struct row_group *g)
{
    size_t sum = 0;

    for (size_t i = 0; i < g->cache_count; i++)
        sum += g->caches[i]->image_bytes + g->caches[i]->owed.cap * sizeof(uint32_t);
    return sum;
}

struct row_cache *row_cache_new(struct row_group *g, const struct row_cache_config *config)
{
    struct row_cache *c = mem_calloc(1, sizeof *c);
    uint32_t units = config->slab_bytes / UNIT_BYTES;

    ASSERT(config->slab_bytes >= SLAB_BYTES_LEAST && config->slab_bytes <= (2u << 20) &&
           (config->slab_bytes & (config->slab_bytes - 1)) == 0);
    c->group = g;
    c->config = *config;
    c->unit_bits = (uint32_t)__builtin_ctz(units);
    c->value_at = (uint32_t)(sizeof(struct row) + (config->chain != ROW_CHAIN_NONE ? sizeof(struct row_links) : 0));
    if (config->fixed_value_bytes % 8 == 4)
        c->value_at += 4; /* a binary row behind its size: its slots are aligned then */
    c->slab_count = 1;
    row_walk_init(&c->weeding, c, (struct bytes){0});
    g->caches = mem_realloc(g->caches, (g->cache_count + 1) * sizeof(struct row_cache *));
    g->caches[g->cache_count++] = c;
    return c;
}

/* A row's memory is only given back between batches and while no writer may look at it. */
NO_THREAD_SAFETY void rows_enter(struct row_cache *c)
{
    struct row_group *g = c->group;

    if (UNLIKELY(g->open)) {
        if (atomic_load_explicit(&g->done, memory_order_acquire))
            row_group_retire(g);
        else
            mutex_lock(&g->mutex);
    }
}

/* After rows_leave in the middle of a batch: the rows in hand must hold still, so nothing is
 * retired. */
static NO_THREAD_SAFETY void rows_reenter(struct row_cache *c)
{
    if (c->group->open)
        mutex_lock(&c->group->mutex);
}

NO_THREAD_SAFETY void rows_leave(struct row_cache *c)
{
    if (UNLIKELY(c->group->open))
        mutex_unlock(&c->group->mutex);
}

/* ---- rows come, move and go ------------------------------------------------------------------ */

uint32_t row_add(struct row_cache *c, uint32_t tag, struct bytes key, uint32_t value_cap)
{
    uint32_t ref = row_alloc(c, (uint32_t)key.len, value_cap, false);
    struct row *r = row_at(c, ref);

    memcpy((uint8_t *)r + c->value_at + value_cap, key.data, key.len);
    r->tag = tag;
    r->epoch = c->group->epoch;
    row_link(c, ref);
    return ref;
}

/* The closed epoch still needs this row as it is. */
static inline bool row_owed(const struct row_cache *c, const struct row *r)
{
    const struct row_group *g = c->group;

    return g->open && r->epoch <= g->closed &&
           (r->marks & (g->mode == ROWS_ALL || c->closed_whole ? ROW_LIVE : ROW_DIRTY)) != 0;
}

static void save_image(struct row_cache *c, uint32_t ref)
{
    struct row *r = row_at(c, ref);
    uint32_t image_ref = row_alloc(c, 0, r->value_len, true);
    struct row *image = row_at(c, image_ref);

    memcpy(row_value(c, image), row_value(c, r), r->value_len);
    image->value_len = r->value_len;
    image->marks = r->marks & (ROW_TOMBSTONE | ROW_DELTA);
    image->below = r->below;
    r->shadow = image_ref;
    refs_push(&c->owed, ref);
    if (c->group->mode == ROWS_DIRTY && !(r->marks & ROW_TOMBSTONE))
        r->below = BELOW_YES; /* the image will be there */
}

static void modify_slow(struct row_cache *c, uint32_t ref)
{
    struct row *r = row_at(c, ref);

    if (row_owed(c, r))
        save_image(c, ref);
    if (r->marks & ROW_DELTA)
        r->marks |= ROW_ANEW;
    r->epoch = c->group->epoch;
    if (c->group->mode == ROWS_DIRTY) {
        r->marks |= ROW_DIRTY;
        refs_push(&c->dirty, ref);
    }
}

/* Call before changing a row's value. */
static inline void row_modify(struct row_cache *c, uint32_t ref, const struct row *r)
{
    if (LIKELY(r->epoch == c->group->epoch &&
               (c->group->mode == ROWS_ALL || (r->marks & ROW_DIRTY))))
        return;
    modify_slow(c, ref);
}

uint32_t row_value_cap(const struct row_cache *c, size_t key_len, size_t value_len)
{
    if (c->config.fixed_value_bytes != 0)
        return c->config.fixed_value_bytes;
    return (uint32_t)(row_size(c, key_len, value_len) - c->value_at - key_len);
}

/* A value that does not fit: another row takes its place, the old one stays as a ghost while owed.
 */
static uint32_t row_replace(struct row_cache *c, uint32_t ref, size_t value_len)
{
    struct row *old = row_at(c, ref);
    bool owed = row_owed(c, old);
    uint32_t to = row_alloc(c, old->key_len, row_value_cap(c, old->key_len, value_len), false);
    struct row *r = row_at(c, to);

    memcpy((uint8_t *)r + c->value_at + r->value_cap, row_key(c, old).data, old->key_len);
    r->tag = old->tag;
    r->below = old->below;
    r->marks = old->marks & (ROW_TOMBSTONE | ROW_TOUCHED);
    r->epoch = c->group->epoch;
    row_moved(c, ref, to);
    if (owed) {
        if (c->group->mode == ROWS_DIRTY && !(old->marks & ROW_TOMBSTONE))
            r->below = BELOW_YES;
        old->marks |= ROW_GHOST;
        refs_push(&c->owed, ref);
    } else {
        /* Not LIVE, not DIRTY; but a shadow of an earlier change is still owed. */
        old->marks = 0;
    }
    if (c->group->mode == ROWS_DIRTY) {
        r->marks |= ROW_DIRTY;
        refs_push(&c->dirty, to);
    }
    return to;
}

static void set_value(struct row_cache *c, uint32_t ref, struct bytes value)
{
    struct row *r = row_at(c, ref);

    if (value.len > r->value_cap ||
        (r->value_cap != c->config.fixed_value_bytes && row_owed(c, r))) {
        ref = row_replace(c, ref, value.len);
        r = row_at(c, ref);
    } else {
        row_modify(c, ref, r);
    }
    if (r->marks & ROW_TOMBSTONE) {
        r->marks &= (uint8_t)~ROW_TOMBSTONE;
        c->tombstones--;
    }
    r->marks &= (uint8_t)~(ROW_DELTA | ROW_ANEW); /* whatever is below: this is the value */
    if (value.len > 0)
        memcpy(row_value(c, r), value.data, value.len);
    r->value_len = (uint32_t)value.len;
}

/* A row that must grow gets half as much room again: n appends copy O(n) bytes. That is also when
 * it is trimmed, since its bytes are touched anyway. */
bool row_append(struct row_cache *c, uint32_t tag, struct bytes key, struct bytes more,
                const struct row_append_rules *rules, size_t *had)
{
    uint32_t ref = index_find(c, tag, key);
    struct row *r = ref == 0 ? NULL : row_at(c, ref);
    struct bytes old = {0};
    bool stays;
    size_t len;

    if (r != NULL && !(r->marks & ROW_TOMBSTONE))
        old = bytes_of(row_value(c, r), r->value_len);
    len = old.len + 1 + more.len;
    stays = old.data != NULL && len <= r->value_cap && len <= rules->bytes_max && !row_owed(c, r);
    if (old.data != NULL && !stays && rules->trim != NULL)
        old = rules->trim(rules->ctx, old);
    *had = old.len;
    len = old.len + (old.data == NULL ? 0 : 1) + more.len;
    if (len > rules->bytes_max)
        return false;
    if (r == NULL) {
        ref = row_add(c, tag, key, row_value_cap(c, key.len, more.len));
        row_at(c, ref)->below = BELOW_NO;
    }
    if (old.data == NULL) {
        set_value(c, ref, more);
        return true;
    }
    if (stays) {
        row_modify(c, ref, r);
    } else {
        r = row_at(c, row_replace(c, ref, len + len / 2));
        memcpy(row_value(c, r), old.data, old.len); /* slabs stay where they are */
    }
    row_value(c, r)[old.len] = ',';
    if (more.len > 0)
        memcpy(row_value(c, r) + old.len + 1, more.data, more.len);
    r->value_len = (uint32_t)len;
    return true;
}

static void set_tombstone(struct row_cache *c, struct row *r)
{
    if (!(r->marks & ROW_TOMBSTONE)) {
        r->marks |= ROW_TOMBSTONE;
        c->tombstones++;
    }
    r->marks &= (uint8_t)~(ROW_DELTA | ROW_ANEW);
    r->value_len = 0;
}

static void row_delete(struct row_cache *c, uint32_t ref)
{
    struct row *r = row_at(c, ref);
    bool owed = row_owed(c, r);

    if (r->marks & ROW_TOMBSTONE)
        return;
    if (c->group->mode == ROWS_ALL) {
        row_unlink(c, ref);
        if (owed) {
            r->marks |= ROW_GHOST;
            refs_push(&c->owed, ref);
        }
    } else if (r->below == BELOW_NO && !owed) {
        row_unlink(c, ref);
        r->marks = 0;
    } else {
        row_modify(c, ref, r);
        set_tombstone(c, r);
    }
}

/* ---- batches --------------------------------------------------------------------------------- */

void rows_scratch(struct row_cache *c, uint32_t count)
{
    if (count > c->scratch_cap) {
        c->tags = mem_realloc(c->tags, count * sizeof *c->tags);
        c->found = mem_realloc(c->found, count * sizeof *c->found);
        c->late = mem_realloc(c->late, count * sizeof *c->late);
        c->scratch_cap = count;
    }
    c->late_count = 0;
    c->loads.count = 0;
}

/* The three steps of finding a row, each begun FIND_AHEAD keys before the next one, so that their
 * cache misses overlap, yet no more of them than a processor has under way at once. */
static inline void find_hash(struct row_cache *c, const struct key_batch *keys, uint32_t i)
{
    c->tags[i] = key_tag(c, key_batch_at(keys, i));
    __builtin_prefetch(&c->rows.slots[slot_home(&c->rows, c->tags[i])]);
}

static inline void find_slot(struct row_cache *c, uint32_t i)
{
    const struct index *ix = &c->rows;
    uint32_t s = slot_home(ix, c->tags[i]);

    while (ix->slots[s].ref != 0 && ix->slots[s].tag != c->tags[i])
        s = slot_after(ix, s);
    c->found[i] = s;
    if (ix->slots[s].ref != 0) {
        const uint8_t *r = (const uint8_t *)row_at(c, ix->slots[s].ref);

        __builtin_prefetch(r, 1);
        __builtin_prefetch(r + 64, 1);
    }
}

static inline void find_row(struct row_cache *c, const struct key_batch *keys, uint32_t i)
{
    const struct index *ix = &c->rows;
    uint32_t s = c->found[i];

    c->found[i] = 0;
    for (; ix->slots[s].ref != 0; s = slot_after(ix, s)) {
        if (ix->slots[s].tag == c->tags[i] &&
            row_has_key(c, row_at(c, ix->slots[s].ref), key_batch_at(keys, i))) {
            c->found[i] = ix->slots[s].ref;
            break;
        }
    }
}

void rows_find(struct row_cache *c, const struct key_batch *keys, uint32_t from, uint32_t to)
{
    if (c->rows.slots == NULL) {
        for (uint32_t i = from; i < to; i++)
            c->tags[i] = key_tag(c, key_batch_at(keys, i));
        memset(&c->found[from], 0, (to - from) * sizeof *c->found);
        return;
    }
    for (uint32_t i = from; i < to + 2 * FIND_AHEAD; i++) {
        if (i < to)
            find_hash(c, keys, i);
        if (i >= from + FIND_AHEAD && i - FIND_AHEAD < to)
            find_slot(c, i - FIND_AHEAD);
        if (i >= from + 2 * FIND_AHEAD)
            find_row(c, keys, i - 2 * FIND_AHEAD);
    }
}

static inline void row_touch(struct row *r)
{
    if (!(r->marks & ROW_TOUCHED))
        r->marks |= ROW_TOUCHED;
}

/* A place for a key that nobody has: the loader fills it. */
static uint32_t add_loading(struct row_cache *c, uint32_t i, struct bytes key)
{
    uint32_t ref = row_add(c, c->tags[i], key, c->config.fixed_value_bytes);

    row_at(c, ref)->marks |= ROW_LOADING;
    refs_push(&c->loads, ref);
    return ref;
}

/* A row that begins empty, whatever is below. */
static uint32_t add_delta(struct row_cache *c, uint32_t i, struct bytes key)
{
    uint32_t ref = row_add(c, c->tags[i], key, c->config.fixed_value_bytes);

    row_at(c, ref)->marks |= ROW_DELTA | ROW_ANEW;
    row_at(c, ref)->below = BELOW_UNKNOWN;
    c->deltas++;
    return ref;
}

bool row_cache_set_blind(struct row_cache *c, bool blind)
{
    ASSERT(!blind || (c->group->mode == ROWS_DIRTY && c->config.fixed_value_bytes != 0));
    c->blind = blind && !c->loading;
    return c->blind;
}

static enum rc fill_loading(struct row_cache *c, uint32_t ref, struct bytes value, struct err *err)
{
    struct row *r = row_at(c, ref);

    if (value.data == NULL) {
        r->below = BELOW_NO;
        return RC_OK;
    }
    if (c->config.fixed_value_bytes != 0 && value.len != c->config.fixed_value_bytes)
        return err_set(err, RC_CORRUPT, "stored value of %zu bytes, the state's values have %u",
                       value.len, c->config.fixed_value_bytes);
    if (value.len > r->value_cap) {
        uint32_t to = row_alloc(c, r->key_len, row_value_cap(c, r->key_len, value.len), false);
        struct row *moved = row_at(c, to);

        memcpy((uint8_t *)moved + c->value_at + moved->value_cap, row_key(c, r).data, r->key_len);
        moved->tag = r->tag;
        moved->epoch = r->epoch;
        moved->marks = ROW_LOADING;
        row_moved(c, ref, to);
        r->marks = 0;
        r->shadow = to; /* for the rest of this batch: see loaded_ref */
        r = moved;
    }
    memcpy(row_value(c, r), value.data, value.len);
    r->value_len = (uint32_t)value.len;
    r->below = BELOW_YES;
    return RC_OK;
}

/* The batch is done: places that rows were moved from are dead, and none of them has an image. */
static void forget_moved(struct row_cache *c)
{
    for (size_t i = 0; i < c->loads.count; i++) {
        if (row_at(c, c->loads.at[i])->marks == 0)
            row_at(c, c->loads.at[i])->shadow = 0;
    }
    c->loads.count = 0;
}

static inline uint32_t loaded_ref(const struct row_cache *c, uint32_t ref)
{
    return row_at(c, ref)->marks == 0 ? row_at(c, ref)->shadow : ref;
}

static void drop_loading(struct row_cache *c)
{
    for (size_t i = 0; i < c->loads.count; i++) {
        uint32_t ref = loaded_ref(c, c->loads.at[i]);

        row_unlink(c, ref);
        row_at(c, ref)->marks = 0;
    }
    forget_moved(c);
}

static enum rc call_loader(struct row_cache *c, struct row_loader *loader, struct err *err)
{
    size_t count = c->loads.count;
    enum rc rc;

    if (count > c->load_cap) {
        c->load_keys = mem_realloc(c->load_keys, count * sizeof *c->load_keys);
        c->load_values = mem_realloc(c->load_values, count * sizeof *c->load_values);
        c->load_cap = count;
    }
    refs_sort(c, c->bases, c->loads.at, count);
    for (size_t i = 0; i < count; i++)
        c->load_keys[i] = row_key(c, row_at(c, c->loads.at[i]));
    rows_leave(c); /* the database takes its time; these rows are nobody's business but ours */
    rc = loader->load(loader, c->load_keys, (uint32_t)count, c->load_values, err);
    rows_reenter(c);
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        rc = fill_loading(c, c->loads.at[i], c->load_values[i], err);
    return rc;
}

/* Fills the places made by add_loading; on an error they are gone again. */
static enum rc resolve(struct row_cache *c, struct row_loader *loader, struct err *err)
{
    enum rc rc = RC_OK;

    c->misses += c->loads.count;
    if (loader == NULL) {
        for (size_t i = 0; i < c->loads.count; i++)
            row_at(c, c->loads.at[i])->below = BELOW_NO;
    } else if (c->loads.count > 0) {
        rc = call_loader(c, loader, err);
    }
    if (rc != RC_OK)
        drop_loading(c);
    return rc;
}

/* The row of key i for reading and writing; true when it had no value (then zeroed). */
static inline bool finish_upsert(struct row_cache *c, uint32_t ref, void **value)
{
    struct row *r = row_at(c, ref);
    bool fresh = false;

    row_modify(c, ref, r);
    if (UNLIKELY(r->marks & (ROW_LOADING | ROW_TOMBSTONE | ROW_ANEW))) {
        fresh = (r->marks & (ROW_TOMBSTONE | ROW_ANEW)) != 0 || r->below == BELOW_NO;
        if (r->marks & ROW_TOMBSTONE)
            c->tombstones--;
        r->marks &= (uint8_t)~(ROW_LOADING | ROW_TOMBSTONE | ROW_ANEW);
        r->value_len = c->config.fixed_value_bytes;
        if (fresh)
            memset(row_value(c, r), 0, r->value_len);
    }
    *value = row_value(c, r);
    return fresh;
}

enum rc row_cache_upsert(struct row_cache *c, const struct key_batch *keys, void **rows,
                         uint8_t *fresh, struct row_loader *loader, struct err *err)
{
    enum rc rc;

    ASSERT(c->config.fixed_value_bytes != 0);
    RETURN_IF_ERR(rows_check_room(c, err));
    rows_scratch(c, keys->count);
    rows_enter(c);
    c->lookups += keys->count;
    for (uint32_t from = 0; from < keys->count; from += FIND_CHUNK) {
        uint32_t to = from + FIND_CHUNK < keys->count ? from + FIND_CHUNK : keys->count;

        rows_find(c, keys, from, to);
        for (uint32_t i = from; i < to; i++) {
            uint32_t ref = c->found[i];

            if (UNLIKELY(ref == 0)) {
                ref = index_find(c, c->tags[i], key_batch_at(keys, i)); /* added just now? */
                if (ref == 0)
                    ref = c->blind ? add_delta(c, i, key_batch_at(keys, i))
                                   : add_loading(c, i, key_batch_at(keys, i));
                c->found[i] = ref;
            } else {
                row_touch(row_at(c, ref));
            }
            if (UNLIKELY(row_at(c, ref)->marks & ROW_LOADING))
                c->late[c->late_count++] = i;
            else
                fresh[i] = finish_upsert(c, ref, &rows[i]);
        }
    }
    rc = resolve(c, loader, err);
    for (uint32_t j = 0; rc == RC_OK && j < c->late_count; j++) {
        uint32_t i = c->late[j];

        fresh[i] = finish_upsert(c, c->found[i], &rows[i]);
    }
    rows_leave(c);
    return rc;
}

/* Absent after all: remembered as a clean tombstone. */
static struct bytes finish_get(struct row_cache *c, uint32_t ref)
{
    struct row *r = row_at(c, ref);

    if (r->marks & ROW_LOADING) {
        r->marks &= (uint8_t)~ROW_LOADING;
        if (r->below == BELOW_NO)
            set_tombstone(c, r);
    }
    if (r->marks & ROW_TOMBSTONE)
        return (struct bytes){0};
    return bytes_of(row_value(c, r), r->value_len);
}

enum rc row_cache_get(struct row_cache *c, const struct key_batch *keys, struct bytes *values,
                      struct row_loader *loader, struct err *err)
{
    enum rc rc;

    RETURN_IF_ERR(rows_check_room(c, err));
    rows_scratch(c, keys->count);
    rows_enter(c);
    c->lookups += keys->count;
    for (uint32_t from = 0; from < keys->count; from += FIND_CHUNK) {
        uint32_t to = from + FIND_CHUNK < keys->count ? from + FIND_CHUNK : keys->count;

        rows_find(c, keys, from, to);
        for (uint32_t i = from; i < to; i++) {
            uint32_t ref = c->found[i];

            if (ref == 0 && loader != NULL) {
                ref = index_find(c, c->tags[i], key_batch_at(keys, i));
                if (ref == 0)
                    ref = add_loading(c, i, key_batch_at(keys, i));
                c->found[i] = ref;
            } else if (ref != 0) {
                row_touch(row_at(c, ref));
            }
            if (ref == 0)
                values[i] = (struct bytes){0};
            else if (row_at(c, ref)->marks & ROW_LOADING)
                c->late[c->late_count++] = i;
            else
                values[i] = finish_get(c, ref);
        }
    }
    rc = resolve(c, loader, err);
    for (uint32_t j = 0; rc == RC_OK && j < c->late_count; j++) {
        uint32_t i = c->late[j];

        values[i] = finish_get(c, loaded_ref(c, c->found[i]));
    }
    forget_moved(c);
    rows_leave(c);
    return rc;
}

static enum rc check_values(const struct row_cache *c, const struct key_batch *keys,
                            const struct bytes *values, struct err *err)
{
    for (uint32_t i = 0; i < keys->count; i++) {
        if (c->config.fixed_value_bytes != 0)
            ASSERT(values[i].len == c->config.fixed_value_bytes);
        else if (values[i].len > KEY_BATCH_BYTES_MAX)
            return err_set(err, RC_LIMIT, "value of %zu bytes exceeds %u", values[i].len,
                           KEY_BATCH_BYTES_MAX);
    }
    return RC_OK;
}

/* What find_chunk found for key i; a row may have been replaced, or added, by the same key earlier in this
 * batch. */
static uint32_t found_now(const struct row_cache *c, uint32_t i, struct bytes key)
{
    uint32_t ref = c->found[i];

    if (ref == 0 || !(row_at(c, ref)->marks & ROW_LIVE))
        ref = index_find(c, c->tags[i], key);
    return ref;
}

enum rc row_cache_put(struct row_cache *c, const struct key_batch *keys, const struct bytes *values,
                      bool below_empty, struct err *err)
{
    RETURN_IF_ERR(rows_check_room(c, err));
    RETURN_IF_ERR(check_values(c, keys, values, err));
    rows_scratch(c, keys->count);
    rows_enter(c);
    c->lookups += keys->count;
    for (uint32_t from = 0; from < keys->count; from += FIND_CHUNK) {
        uint32_t to = from + FIND_CHUNK < keys->count ? from + FIND_CHUNK : keys->count;

        rows_find(c, keys, from, to);
        for (uint32_t i = from; i < to; i++) {
            struct bytes key = key_batch_at(keys, i);
            uint32_t ref = found_now(c, i, key);

            if (ref == 0) {
                ref = row_add(c, c->tags[i], key, row_value_cap(c, key.len, values[i].len));
                row_at(c, ref)->below = below_empty ? BELOW_NO : BELOW_UNKNOWN;
            } else {
                row_touch(row_at(c, ref));
            }
            set_value(c, ref, values[i]);
        }
    }
    rows_leave(c);
    return RC_OK;
}

enum rc row_cache_del(struct row_cache *c, const struct key_batch *keys, bool below_empty,
                      struct err *err)
{
    RETURN_IF_ERR(rows_check_room(c, err));
    rows_scratch(c, keys->count);
    rows_enter(c);
    c->lookups += keys->count;
    for (uint32_t from = 0; from < keys->count; from += FIND_CHUNK) {
        uint32_t to = from + FIND_CHUNK < keys->count ? from + FIND_CHUNK : keys->count;

        rows_find(c, keys, from, to);
        for (uint32_t i = from; i < to; i++) {
            struct bytes key = key_batch_at(keys, i);
            uint32_t ref = found_now(c, i, key);

            if (ref != 0) {
                row_delete(c, ref);
            } else if (c->group->mode == ROWS_DIRTY && !below_empty) {
                ref = row_add(c, c->tags[i], key, c->config.fixed_value_bytes);
                row_modify(c, ref, row_at(c, ref));
                set_tombstone(c, row_at(c, ref));
            }
        }
    }
    rows_leave(c);
    return RC_OK;
}

void row_cache_del_cached(struct row_cache *c, const struct key_batch *keys, uint32_t *others,
                          uint32_t *other_count)
{
    *other_count = 0;
    rows_scratch(c, keys->count);
    rows_enter(c);
    rows_find(c, keys, 0, keys->count);
    for (uint32_t i = 0; i < keys->count; i++) {
        uint32_t ref = found_now(c, i, key_batch_at(keys, i));

        if (ref != 0)
            row_delete(c, ref);
        else
            others[(*other_count)++] = i;
    }
    rows_leave(c);
}

void row_cache_stats(const struct row_cache *c, struct row_cache_stats *out)
{
    *out = (struct row_cache_stats){
        .rows = c->rows.count,
        .tombstones = c->tombstones,
        .dirty = c->dirty.count,
        .bytes = cache_bytes(c),
        .lookups = c->lookups,
        .misses = c->misses,
        .deltas = c->deltas,
    };
}
