#include "backend/timer_index.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/rng.h"

#include <stdlib.h>

#define UNIT 4u           /* records begin at multiples of it */
#define UNITS_MAX UINT32_MAX
#define SMALL_BUCKET 8u   /* up to that many records are searched one by one */
#define SPARE_BUCKETS 64u /* kept for reuse */
#define SPARE_BYTES (1u << 16)
#define SPAN_BITS_LEAST 10u /* of time in one bucket: 1024 ms ... */
#define SPAN_BITS_MOST 30u  /* ... to 12 days */
#define SPAN_BITS_STEP 4u
#define SPARSE_BUCKETS 4096u /* from that many on, of under SPARSE_TIMERS each, spans widen */
#define SPARSE_TIMERS 16u
#define CLEAR_LEAST 64u /* records */
#define GROUP_BYTES 2u  /* of a key: its key group, or that and a byte that is mostly the same */

/* A timer in its bucket's `records`: header, then the key. */
struct record {
    uint32_t after_ms; /* the bucket's begin */
    uint32_t key_len : 31, gone : 1; /* gone: deleted; registering it again revives it */
};
struct due {
    uint32_t after_ms, unit;
};
struct sort_item {
    struct due due;
    uint64_t order; /* of its key among those of the bucket; ties are settled by whole keys */
};
struct bucket {
    int64_t slot; /* its begin >> span_bits */
    struct buf records;
    uint32_t count, live;
    uint32_t *set; /* open addressing, unit + 1 of records; NULL up to SMALL_BUCKET */
    uint32_t set_cap, set_bits;
    /* While `ordered`: all that were live then, in order, from due_next on; and those that came
     * later, a heap. Gone ones stand among them. */
    bool ordered;
    struct due *due, *late;
    uint32_t due_cap, due_count, due_next, late_cap, late_count;
};
struct timer_index {
    uint32_t span_bits;
    uint64_t count;
    struct bucket **heap; /* by slot */
    size_t heap_count, heap_cap;
    struct bucket **table; /* open addressing by slot; a bucket leaves it only with the heap */
    uint32_t table_bits;
    struct bucket *last; /* registering comes in runs */
    struct bucket *spare[SPARE_BUCKETS];
    uint32_t spare_count;
};

/* ---- records --------------------------------------------------------------------------------- */

static struct record *record_at(const struct bucket *b, uint32_t unit)
{
    return (struct record *)(void *)(b->records.data + (size_t)unit * UNIT);
}

static struct bytes record_key(const struct record *r)
{
    return bytes_of(r + 1, r->key_len);
}

static uint32_t record_units(size_t key_len)
{
    return (uint32_t)((sizeof(struct record) + key_len + UNIT - 1) / UNIT);
}

static uint32_t used_units(const struct bucket *b)
{
    return (uint32_t)(b->records.len / UNIT);
}

static bool is_timer(const struct record *r, uint32_t after_ms, struct bytes key)
{
    return r->after_ms == after_ms && bytes_eq(record_key(r), key);
}

static uint32_t hash_of(uint32_t after_ms, struct bytes key)
{
    return (uint32_t)(hash64(key) ^ splitmix64(after_ms));
}

/* ---- the set of a bucket --------------------------------------------------------------------- */

static void set_put(struct bucket *b, uint32_t unit)
{
    const struct record *r = record_at(b, unit);
    uint32_t mask = (1u << b->set_bits) - 1;
    uint32_t s = hash_of(r->after_ms, record_key(r)) & mask;

    while (b->set[s] != 0)
        s = (s + 1) & mask;
    b->set[s] = unit + 1;
}

/* A set of at least twice the records, filled anew. */
static void set_make(struct bucket *b)
{
    b->set_bits = 5;
    while (1u << b->set_bits < 2 * b->count)
        b->set_bits++;
    if (1u << b->set_bits > b->set_cap) {
        b->set_cap = 1u << b->set_bits;
        b->set = mem_realloc(b->set, b->set_cap * sizeof *b->set);
    }
    memset(b->set, 0, sizeof *b->set << b->set_bits);
    for (uint32_t u = 0; u < used_units(b); u += record_units(record_at(b, u)->key_len))
        set_put(b, u);
}

static struct record *bucket_find(const struct bucket *b, uint32_t after_ms, struct bytes key)
{
    if (b->set_bits == 0) {
        for (uint32_t u = 0; u < used_units(b); u += record_units(record_at(b, u)->key_len)) {
            if (is_timer(record_at(b, u), after_ms, key))
                return record_at(b, u);
        }
        return NULL;
    }
    for (uint32_t s = hash_of(after_ms, key);; s++) {
        uint32_t entry = b->set[s & ((1u << b->set_bits) - 1)];

        if (entry == 0)
            return NULL;
        if (is_timer(record_at(b, entry - 1), after_ms, key))
            return record_at(b, entry - 1);
    }
}

/* ---- the order of a bucket ------------------------------------------------------------------- */

static bool before(const struct bucket *b, struct due x, struct due y)
{
    if (x.after_ms != y.after_ms)
        return x.after_ms < y.after_ms;
    return bytes_cmp(record_key(record_at(b, x.unit)), record_key(record_at(b, y.unit))) < 0;
}

static void late_down(struct bucket *b)
{
    struct due d = b->late[0];
    uint32_t i = 0;

    for (;;) {
        uint32_t child = 2 * i + 1;

        if (child >= b->late_count)
            break;
        if (child + 1 < b->late_count && before(b, b->late[child + 1], b->late[child]))
            child++;
        if (!before(b, b->late[child], d))
            break;
        b->late[i] = b->late[child];
        i = child;
    }
    b->late[i] = d;
}

static void late_add(struct bucket *b, struct due d)
{
    uint32_t i = b->late_count++;

    if (i == b->late_cap) {
        b->late_cap = b->late_cap == 0 ? 16 : 2 * b->late_cap;
        b->late = mem_realloc(b->late, b->late_cap * sizeof *b->late);
    }
    while (i > 0 && before(b, d, b->late[(i - 1) / 2])) {
        b->late[i] = b->late[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    b->late[i] = d;
}

/* The first of all that are in order, gone or not; NULL: none. */
static const struct due *due_first(const struct bucket *b)
{
    const struct due *d = b->due_next < b->due_count ? &b->due[b->due_next] : NULL;

    if (b->late_count > 0 && (d == NULL || before(b, b->late[0], *d)))
        return b->late;
    return d;
}

static void due_drop(struct bucket *b, const struct due *first)
{
    if (first != b->late) {
        b->due_next++;
        return;
    }
    b->late[0] = b->late[--b->late_count];
    if (b->late_count > 1)
        late_down(b);
}

static int compare_items(const void *a, const void *b, void *bucket)
{
    const struct sort_item *x = a, *y = b;

    if (x->due.after_ms != y->due.after_ms)
        return x->due.after_ms < y->due.after_ms ? -1 : 1;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return bytes_cmp(record_key(record_at(bucket, x->due.unit)),
                     record_key(record_at(bucket, y->due.unit)));
}

/* Bytes that all keys share behind their first GROUP_BYTES, up to `most`. */
static size_t shared_len(struct bytes a, struct bytes b, size_t most)
{
    size_t n = 0;

    while (n < most && GROUP_BYTES + n < a.len && GROUP_BYTES + n < b.len &&
           a.data[GROUP_BYTES + n] == b.data[GROUP_BYTES + n])
        n++;
    return n;
}

/* Key group and six bytes behind what is shared: in bytewise order, and nearly always enough. */
static uint64_t order_of(struct bytes key, size_t shared)
{
    uint8_t eight[8] = {0};

    for (size_t i = 0; i < GROUP_BYTES && i < key.len; i++)
        eight[i] = key.data[i];
    for (size_t i = 0; GROUP_BYTES + i < 8 && GROUP_BYTES + shared + i < key.len; i++)
        eight[GROUP_BYTES + i] = key.data[GROUP_BYTES + shared + i];
    return get_be64(eight);
}

static void bucket_order(struct bucket *b)
{
    struct sort_item *items;
    size_t shared = SIZE_MAX;
    uint32_t n = 0;

    if (b->ordered)
        return;
    items = mem_alloc(b->live * sizeof *items);
    for (uint32_t u = 0; u < used_units(b); u += record_units(record_at(b, u)->key_len)) {
        const struct record *r = record_at(b, u);

        if (r->gone)
            continue;
        items[n++].due = (struct due){r->after_ms, u};
        shared = shared_len(record_key(record_at(b, items[0].due.unit)), record_key(r), shared);
    }
    for (uint32_t i = 0; i < n; i++)
        items[i].order = order_of(record_key(record_at(b, items[i].due.unit)), shared);
    qsort_r(items, n, sizeof *items, compare_items, b);
    if (n > b->due_cap) {
        b->due_cap = n;
        b->due = mem_realloc(b->due, n * sizeof *b->due);
    }
    for (uint32_t i = 0; i < n; i++)
        b->due[i] = items[i].due;
    mem_free(items);
    b->due_count = n;
    b->due_next = 0;
    b->late_count = 0;
    b->ordered = true;
}

/* ---- a bucket -------------------------------------------------------------------------------- */

static void bucket_free(struct bucket *b)
{
    buf_release(&b->records);
    mem_free(b->set);
    mem_free(b->due);
    mem_free(b->late);
    mem_free(b);
}

/* Memory is kept, unless it is much. */
static void bucket_empty(struct bucket *b)
{
    if (b->records.cap > SPARE_BYTES) {
        buf_release(&b->records);
        mem_free(b->set);
        mem_free(b->due);
        mem_free(b->late);
        *b = (struct bucket){.slot = b->slot};
        return;
    }
    buf_clear(&b->records);
    b->count = 0;
    b->set_bits = 0;
    b->ordered = false;
}

/* Records that are gone leave when they are three quarters of all. */
static void bucket_clear_away(struct bucket *b)
{
    struct buf old = b->records;

    if (b->live == 0) {
        bucket_empty(b);
        return;
    }
    if (b->count < CLEAR_LEAST || b->live * 4 > b->count)
        return;
    b->records = (struct buf){0};
    buf_reserve(&b->records, old.len / 4);
    for (size_t at = 0; at < old.len;) {
        const struct record *r = (const struct record *)(void *)(old.data + at);
        size_t size = (size_t)record_units(r->key_len) * UNIT;

        if (!r->gone)
            buf_append(&b->records, r, size);
        at += size;
    }
    buf_release(&old);
    b->count = b->live;
    b->ordered = false;
    set_make(b);
}

static enum rc bucket_add(struct bucket *b, uint32_t after_ms, struct bytes key, bool *added,
                          struct err *err)
{
    struct record *r = bucket_find(b, after_ms, key);
    uint32_t units = record_units(key.len), unit;

    *added = r == NULL || r->gone;
    if (!*added)
        return RC_OK;
    if (r == NULL) {
        if (key.len > INT32_MAX || units > UNITS_MAX - 1 - used_units(b))
            return err_set(err, RC_LIMIT, "timers of one span of time exceed %llu bytes",
                           (unsigned long long)UNITS_MAX * UNIT);
        unit = used_units(b);
        buf_reserve(&b->records, (size_t)units * UNIT);
        b->records.len += (size_t)units * UNIT;
        r = record_at(b, unit);
        *r = (struct record){.after_ms = after_ms, .key_len = (uint32_t)key.len & INT32_MAX};
        if (key.len > 0)
            memcpy(r + 1, key.data, key.len);
        b->count++;
        if (b->count > SMALL_BUCKET && (b->set_bits == 0 || b->count * 2 > 1u << b->set_bits))
            set_make(b);
        else if (b->set_bits != 0)
            set_put(b, unit);
    }
    r->gone = 0;
    b->live++;
    if (!b->ordered)
        return RC_OK;
    /* One that is revived may stand there twice: it fires once, and the second time it is gone. */
    if (b->late_count > 2 * b->live + CLEAR_LEAST)
        b->ordered = false;
    else
        late_add(b, (struct due){after_ms,
                                 (uint32_t)((const uint8_t *)r - b->records.data) / UNIT});
    return RC_OK;
}

/* ---- buckets by slot ------------------------------------------------------------------------- */

static size_t table_slot(const struct timer_index *ix, int64_t slot)
{
    size_t mask = ((size_t)1 << ix->table_bits) - 1;
    size_t s = (size_t)splitmix64((uint64_t)slot) & mask;

    while (ix->table[s] != NULL && ix->table[s]->slot != slot)
        s = (s + 1) & mask;
    return s;
}

static void table_grow(struct timer_index *ix)
{
    mem_free(ix->table);
    ix->table_bits++;
    ix->table = mem_calloc((size_t)1 << ix->table_bits, sizeof *ix->table);
    for (size_t i = 0; i < ix->heap_count; i++)
        ix->table[table_slot(ix, ix->heap[i]->slot)] = ix->heap[i];
}

static void table_remove(struct timer_index *ix, int64_t slot)
{
    size_t mask = ((size_t)1 << ix->table_bits) - 1;
    size_t hole = table_slot(ix, slot);

    for (size_t s = (hole + 1) & mask; ix->table[s] != NULL; s = (s + 1) & mask) {
        size_t home = (size_t)splitmix64((uint64_t)ix->table[s]->slot) & mask;

        if (((s - home) & mask) >= ((s - hole) & mask)) {
            ix->table[hole] = ix->table[s];
            hole = s;
        }
    }
    ix->table[hole] = NULL;
}

static void heap_up(struct timer_index *ix, size_t i)
{
    struct bucket *b = ix->heap[i];

    while (i > 0 && ix->heap[(i - 1) / 2]->slot > b->slot) {
        ix->heap[i] = ix->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    ix->heap[i] = b;
}

static void heap_drop_first(struct timer_index *ix)
{
    struct bucket *b = ix->heap[--ix->heap_count];
    size_t i = 0;

    for (;;) {
        size_t child = 2 * i + 1;

        if (child >= ix->heap_count)
            break;
        if (child + 1 < ix->heap_count && ix->heap[child + 1]->slot < ix->heap[child]->slot)
            child++;
        if (ix->heap[child]->slot >= b->slot)
            break;
        ix->heap[i] = ix->heap[child];
        i = child;
    }
    if (ix->heap_count > 0)
        ix->heap[i] = b;
}

/* The bucket of a slot; NULL: there is none, and none is to be made. */
static struct bucket *bucket_of(struct timer_index *ix, int64_t slot, bool make)
{
    size_t s;

    if (ix->last != NULL && ix->last->slot == slot)
        return ix->last;
    s = table_slot(ix, slot);
    if (ix->table[s] == NULL) {
        if (!make)
            return NULL;
        if ((ix->heap_count + 1) * 2 > (size_t)1 << ix->table_bits) {
            table_grow(ix);
            s = table_slot(ix, slot);
        }
        ix->table[s] = ix->spare_count > 0 ? ix->spare[--ix->spare_count]
                                           : mem_calloc(1, sizeof(struct bucket));
        ix->table[s]->slot = slot;
        if (ix->heap_count == ix->heap_cap) {
            ix->heap_cap = ix->heap_cap == 0 ? 64 : ix->heap_cap * 2;
            ix->heap = mem_realloc(ix->heap, ix->heap_cap * sizeof *ix->heap);
        }
        ix->heap[ix->heap_count++] = ix->table[s];
        heap_up(ix, ix->heap_count - 1);
    }
    ix->last = ix->table[s];
    return ix->last;
}

/* The earliest bucket that has a live timer, NULL: none; empty ones before it go. */
static struct bucket *first_bucket(struct timer_index *ix)
{
    while (ix->heap_count > 0 && ix->heap[0]->live == 0) {
        struct bucket *b = ix->heap[0];

        table_remove(ix, b->slot);
        heap_drop_first(ix);
        if (ix->last == b)
            ix->last = NULL;
        if (ix->spare_count < SPARE_BUCKETS) {
            bucket_empty(b);
            ix->spare[ix->spare_count++] = b;
        } else {
            bucket_free(b);
        }
    }
    return ix->heap_count > 0 ? ix->heap[0] : NULL;
}

/* ---- spans ----------------------------------------------------------------------------------- */

static int64_t slot_of(const struct timer_index *ix, int64_t at_ms)
{
    return at_ms >> ix->span_bits; /* rounds down */
}

static uint32_t after_of(const struct timer_index *ix, int64_t at_ms)
{
    return (uint32_t)((uint64_t)at_ms & ((1ull << ix->span_bits) - 1));
}

static int64_t time_of(const struct timer_index *ix, int64_t slot, uint32_t after_ms)
{
    return (int64_t)((uint64_t)slot << ix->span_bits | after_ms);
}

static void release_buckets(struct timer_index *ix)
{
    for (size_t i = 0; i < ix->heap_count; i++)
        bucket_free(ix->heap[i]);
    for (uint32_t i = 0; i < ix->spare_count; i++)
        bucket_free(ix->spare[i]);
    mem_free(ix->heap);
    mem_free(ix->table);
}

static void init(struct timer_index *ix, uint32_t span_bits)
{
    *ix = (struct timer_index){.span_bits = span_bits, .table_bits = 5};
    ix->table = mem_calloc((size_t)1 << ix->table_bits, sizeof *ix->table);
}

/* Many buckets of a few timers each: all timers move to wider ones. */
static enum rc widen(struct timer_index *ix, struct err *err)
{
    struct timer_index wide;
    enum rc rc = RC_OK;

    init(&wide, ix->span_bits + SPAN_BITS_STEP);
    for (size_t i = 0; rc == RC_OK && i < ix->heap_count; i++) {
        const struct bucket *b = ix->heap[i];

        for (uint32_t u = 0; rc == RC_OK && u < used_units(b);
             u += record_units(record_at(b, u)->key_len)) {
            const struct record *r = record_at(b, u);
            bool added;

            if (!r->gone)
                rc = timer_index_add(&wide, time_of(ix, b->slot, r->after_ms), record_key(r),
                                     &added, err);
        }
    }
    release_buckets(rc == RC_OK ? ix : &wide);
    if (rc == RC_OK)
        *ix = wide;
    return rc;
}

/* ---- all together ---------------------------------------------------------------------------- */

struct timer_index *timer_index_new(void)
{
    struct timer_index *ix = mem_alloc(sizeof *ix);

    init(ix, SPAN_BITS_LEAST);
    return ix;
}

void timer_index_free(struct timer_index *ix)
{
    if (ix == NULL)
        return;
    release_buckets(ix);
    mem_free(ix);
}

enum rc timer_index_add(struct timer_index *ix, int64_t at_ms, struct bytes key, bool *added,
                        struct err *err)
{
    if (ix->heap_count >= SPARSE_BUCKETS && ix->count < ix->heap_count * SPARSE_TIMERS &&
        ix->span_bits < SPAN_BITS_MOST)
        RETURN_IF_ERR(widen(ix, err));
    RETURN_IF_ERR(bucket_add(bucket_of(ix, slot_of(ix, at_ms), true), after_of(ix, at_ms), key,
                             added, err));
    ix->count += *added;
    return RC_OK;
}

bool timer_index_remove(struct timer_index *ix, int64_t at_ms, struct bytes key)
{
    struct bucket *b = bucket_of(ix, slot_of(ix, at_ms), false);
    struct record *r = b == NULL ? NULL : bucket_find(b, after_of(ix, at_ms), key);

    if (r == NULL || r->gone)
        return false;
    r->gone = 1;
    b->live--;
    ix->count--;
    bucket_clear_away(b);
    return true;
}

bool timer_index_first(struct timer_index *ix, int64_t *at_ms, struct bytes *key)
{
    struct bucket *b = first_bucket(ix);
    const struct due *d;

    if (b == NULL)
        return false;
    bucket_order(b);
    for (d = due_first(b); record_at(b, d->unit)->gone; d = due_first(b))
        due_drop(b, d);
    *at_ms = time_of(ix, b->slot, d->after_ms);
    *key = record_key(record_at(b, d->unit));
    return true;
}

void timer_index_drop_first(struct timer_index *ix)
{
    struct bucket *b = ix->heap[0];
    const struct due *d = due_first(b);

    record_at(b, d->unit)->gone = 1;
    due_drop(b, d);
    b->live--;
    ix->count--;
    bucket_clear_away(b);
}

uint64_t timer_index_count(const struct timer_index *ix)
{
    return ix->count;
}

static size_t bucket_bytes(const struct bucket *b)
{
    return sizeof *b + b->records.cap + b->set_cap * sizeof *b->set +
           ((size_t)b->due_cap + b->late_cap) * sizeof *b->due;
}

size_t timer_index_bytes(const struct timer_index *ix)
{
    size_t sum = sizeof *ix + ix->heap_cap * sizeof *ix->heap +
                 (sizeof *ix->table << ix->table_bits);

    for (size_t i = 0; i < ix->heap_count; i++)
        sum += bucket_bytes(ix->heap[i]);
    for (uint32_t i = 0; i < ix->spare_count; i++)
        sum += bucket_bytes(ix->spare[i]);
    return sum;
}
