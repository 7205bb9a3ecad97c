#include "backend/timers.h"

#include "base/arena.h"
#include "base/rng.h"

#include <stdlib.h>

#define TIME_BYTES 8u
#define SMALL_BUCKET 8u   /* up to that many timers of one time are searched one by one */
#define SPARE_BUCKETS 64u /* kept for reuse */
#define SCAN_ROWS 1024u

/* A timer in its bucket's `records`: header, then the composite key. */
struct record {
    uint32_t key_len;
    uint32_t gone; /* deleted or popped; registering it again revives it */
};
/* All timers of one time. */
struct bucket {
    int64_t at_ms;
    struct buf records;
    uint32_t count, live;
    uint32_t *set; /* open addressing, offset + 1 of records; NULL up to SMALL_BUCKET */
    uint32_t set_cap, set_bits;
    uint32_t *order; /* live ones by key, from order_next on; valid while `sorted` */
    uint32_t order_cap, order_count, order_next;
    bool sorted;
};
struct timers {
    struct keyed_state *state;
    uint32_t prefix_len;
    uint64_t count;
    struct bucket **heap; /* by time */
    size_t heap_count, heap_cap;
    struct bucket **table; /* open addressing by time; a bucket leaves it only with the heap */
    size_t table_bits, table_count;
    struct bucket *last; /* registering comes in runs of one time */
    struct bucket *spare[SPARE_BUCKETS];
    uint32_t spare_count;
    struct key_builder timer_keys, out_keys;
    int64_t *out_ms;
    struct bytes *empty; /* values of a put */
    uint32_t out_cap;
};

/* ---- buckets --------------------------------------------------------------------------------- */

static struct record *record_at(const struct bucket *b, uint32_t offset)
{
    return (struct record *)(void *)(b->records.data + offset);
}

static struct bytes record_key(const struct bucket *b, uint32_t offset)
{
    return bytes_of(b->records.data + offset + sizeof(struct record),
                    record_at(b, offset)->key_len);
}

static uint32_t record_size(uint32_t key_len)
{
    return (uint32_t)((sizeof(struct record) + key_len + 7) & ~(size_t)7);
}

static void bucket_free(struct bucket *b)
{
    buf_release(&b->records);
    mem_free(b->set);
    mem_free(b->order);
    mem_free(b);
}

static void set_put(struct bucket *b, uint32_t offset)
{
    uint32_t mask = (1u << b->set_bits) - 1;
    uint32_t s = (uint32_t)hash64(record_key(b, offset)) & mask;

    while (b->set[s] != 0)
        s = (s + 1) & mask;
    b->set[s] = offset + 1;
}

/* A set of twice the records, filled anew. */
static void set_grow(struct bucket *b)
{
    b->set_bits = b->set_bits == 0 ? 5 : b->set_bits + 1;
    if (1u << b->set_bits > b->set_cap) {
        b->set_cap = 1u << b->set_bits;
        b->set = mem_realloc(b->set, b->set_cap * sizeof *b->set);
    }
    memset(b->set, 0, sizeof *b->set << b->set_bits);
    for (uint32_t at = 0; at < b->records.len; at += record_size(record_at(b, at)->key_len))
        set_put(b, at);
}

#define NO_RECORD UINT32_MAX

static uint32_t bucket_find(const struct bucket *b, struct bytes key)
{
    if (b->set_bits == 0) {
        for (uint32_t at = 0; at < b->records.len; at += record_size(record_at(b, at)->key_len)) {
            if (bytes_eq(record_key(b, at), key))
                return at;
        }
        return NO_RECORD;
    }
    for (uint32_t s = (uint32_t)hash64(key);; s++) {
        uint32_t entry = b->set[s & ((1u << b->set_bits) - 1)];

        if (entry == 0)
            return NO_RECORD;
        if (bytes_eq(record_key(b, entry - 1), key))
            return entry - 1;
    }
}

/* false: it was there already. */
static bool bucket_add(struct bucket *b, struct bytes key)
{
    uint32_t at = bucket_find(b, key);

    if (at != NO_RECORD && !record_at(b, at)->gone)
        return false;
    if (at != NO_RECORD) {
        record_at(b, at)->gone = 0;
    } else {
        struct record header = {(uint32_t)key.len, 0};
        static const uint8_t zeroes[8];
        uint32_t size = record_size((uint32_t)key.len);

        at = (uint32_t)b->records.len;
        ASSERT(b->records.len + size < UINT32_MAX); /* 4 GiB of keys at one millisecond */
        buf_append(&b->records, &header, sizeof header);
        buf_append(&b->records, key.data, key.len);
        buf_append(&b->records, zeroes, size - sizeof header - key.len);
        b->count++;
        if (b->count > SMALL_BUCKET && (b->set_bits == 0 || b->count * 2 > 1u << b->set_bits))
            set_grow(b);
        else if (b->set_bits != 0)
            set_put(b, at);
    }
    b->live++;
    b->sorted = false;
    return true;
}

static int compare_records(const void *a, const void *b, void *ctx)
{
    return bytes_cmp(record_key(ctx, *(const uint32_t *)a), record_key(ctx, *(const uint32_t *)b));
}

static void bucket_sort(struct bucket *b)
{
    if (b->sorted)
        return;
    if (b->live > b->order_cap) {
        b->order_cap = b->live;
        b->order = mem_realloc(b->order, b->order_cap * sizeof *b->order);
    }
    b->order_count = 0;
    b->order_next = 0;
    for (uint32_t at = 0; at < b->records.len; at += record_size(record_at(b, at)->key_len)) {
        if (!record_at(b, at)->gone)
            b->order[b->order_count++] = at;
    }
    qsort_r(b->order, b->order_count, sizeof *b->order, compare_records, b);
    b->sorted = true;
}

/* ---- all buckets by time --------------------------------------------------------------------- */

static size_t table_home(const struct timers *t, int64_t at_ms)
{
    return (size_t)splitmix64((uint64_t)at_ms) & (((size_t)1 << t->table_bits) - 1);
}

static size_t table_slot(const struct timers *t, int64_t at_ms)
{
    size_t s = table_home(t, at_ms);

    while (t->table[s] != NULL && t->table[s]->at_ms != at_ms)
        s = (s + 1) & (((size_t)1 << t->table_bits) - 1);
    return s;
}

static void table_grow(struct timers *t)
{
    mem_free(t->table);
    t->table_bits++;
    t->table = mem_calloc((size_t)1 << t->table_bits, sizeof *t->table);
    for (size_t i = 0; i < t->heap_count; i++)
        t->table[table_slot(t, t->heap[i]->at_ms)] = t->heap[i];
}

static void table_remove(struct timers *t, int64_t at_ms)
{
    size_t mask = ((size_t)1 << t->table_bits) - 1;
    size_t hole = table_slot(t, at_ms);

    for (size_t s = (hole + 1) & mask; t->table[s] != NULL; s = (s + 1) & mask) {
        size_t home = table_home(t, t->table[s]->at_ms);

        if (((s - home) & mask) >= ((s - hole) & mask)) {
            t->table[hole] = t->table[s];
            hole = s;
        }
    }
    t->table[hole] = NULL;
    t->table_count--;
}

static void heap_up(struct timers *t, size_t i)
{
    struct bucket *b = t->heap[i];

    while (i > 0 && t->heap[(i - 1) / 2]->at_ms > b->at_ms) {
        t->heap[i] = t->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    t->heap[i] = b;
}

static void heap_drop_first(struct timers *t)
{
    struct bucket *b = t->heap[--t->heap_count];
    size_t i = 0;

    for (;;) {
        size_t child = 2 * i + 1;

        if (child >= t->heap_count)
            break;
        if (child + 1 < t->heap_count && t->heap[child + 1]->at_ms < t->heap[child]->at_ms)
            child++;
        if (t->heap[child]->at_ms >= b->at_ms)
            break;
        t->heap[i] = t->heap[child];
        i = child;
    }
    if (t->heap_count > 0)
        t->heap[i] = b;
}

static struct bucket *bucket_new(struct timers *t, int64_t at_ms)
{
    struct bucket *b;

    if (t->spare_count > 0)
        b = t->spare[--t->spare_count];
    else
        b = mem_calloc(1, sizeof *b);
    b->at_ms = at_ms;
    return b;
}

static struct bucket *bucket_of(struct timers *t, int64_t at_ms, bool make)
{
    size_t s;

    if (t->last != NULL && t->last->at_ms == at_ms)
        return t->last;
    s = table_slot(t, at_ms);
    if (t->table[s] == NULL) {
        if (!make)
            return NULL;
        if ((t->table_count + 1) * 2 > (size_t)1 << t->table_bits) {
            table_grow(t);
            s = table_slot(t, at_ms);
        }
        t->table[s] = bucket_new(t, at_ms);
        t->table_count++;
        if (t->heap_count == t->heap_cap) {
            t->heap_cap = t->heap_cap == 0 ? 64 : t->heap_cap * 2;
            t->heap = mem_realloc(t->heap, t->heap_cap * sizeof *t->heap);
        }
        t->heap[t->heap_count++] = t->table[s];
        heap_up(t, t->heap_count - 1);
    }
    t->last = t->table[s];
    return t->last;
}

/* The earliest bucket that has a live timer, NULL: none; empty ones before it go. */
static struct bucket *first_bucket(struct timers *t)
{
    while (t->heap_count > 0 && t->heap[0]->live == 0) {
        struct bucket *b = t->heap[0];

        table_remove(t, b->at_ms);
        heap_drop_first(t);
        if (t->last == b)
            t->last = NULL;
        if (t->spare_count < SPARE_BUCKETS && b->records.cap <= 1u << 20) {
            buf_clear(&b->records);
            b->count = 0;
            b->set_bits = 0;
            b->sorted = false;
            t->spare[t->spare_count++] = b;
        } else {
            bucket_free(b);
        }
    }
    return t->heap_count > 0 ? t->heap[0] : NULL;
}

/* ---- the state ------------------------------------------------------------------------------- */

static enum rc add_timer_key(struct timers *t, struct bytes key, int64_t at_ms, struct err *err)
{
    uint8_t small[256];
    uint8_t *p = small;
    size_t len = key.len + TIME_BYTES;
    enum rc rc;

    if (len > sizeof small)
        p = mem_alloc(len);
    memcpy(p, key.data, t->prefix_len);
    key_put_sortable(p + t->prefix_len, at_ms);
    memcpy(p + t->prefix_len + TIME_BYTES, key.data + t->prefix_len, key.len - t->prefix_len);
    rc = key_builder_add_raw(&t->timer_keys, bytes_of(p, len), err);
    if (p != small)
        mem_free(p);
    return rc;
}

static enum rc load(struct timers *t, struct bytes timer_key, struct buf *key, struct err *err)
{
    if (timer_key.len < t->prefix_len + TIME_BYTES)
        return err_set(err, RC_CORRUPT, "timer of %zu bytes", timer_key.len);
    buf_clear(key);
    buf_append(key, timer_key.data, t->prefix_len);
    buf_append(key, timer_key.data + t->prefix_len + TIME_BYTES,
               timer_key.len - t->prefix_len - TIME_BYTES);
    if (bucket_add(bucket_of(t, key_get_sortable(timer_key.data + t->prefix_len), true),
                   buf_bytes(key)))
        t->count++;
    return RC_OK;
}

static enum rc load_all(struct timers *t, struct err *err)
{
    struct keyed_cursor *c;
    struct bytes keys[SCAN_ROWS], values[SCAN_ROWS];
    struct buf key = {0};
    uint32_t got;
    enum rc rc;

    RETURN_IF_ERR(keyed_scan_open(t->state, (struct bytes){0}, &c, err));
    do {
        GOTO_IF_ERR(keyed_scan_next(c, SCAN_ROWS, keys, values, &got, err));
        for (uint32_t i = 0; i < got; i++)
            GOTO_IF_ERR(load(t, keys[i], &key, err));
    } while (got > 0);
out:
    keyed_scan_close(c);
    buf_release(&key);
    return rc;
}

enum rc timers_open(struct keyed_backend *b, uint32_t key_group_count, enum timer_domain domain,
                    const char *service, const char *key_type, const char *namespace_type,
                    struct timers **out, struct err *err)
{
    struct timers *t = mem_calloc(1, sizeof *t);
    struct buf name = {0};
    struct state_desc desc = {.kind = STATE_TIMER,
                              .key_type = key_type,
                              .namespace_type = namespace_type,
                              .user_key_type = "",
                              .value_type = "",
                              .operand_operator = ""};
    enum rc rc;

    t->prefix_len = keygroup_prefix_len(key_group_count);
    t->table_bits = 5;
    t->table = mem_calloc((size_t)1 << t->table_bits, sizeof *t->table);
    key_builder_init(&t->timer_keys, key_group_count, KEY_NS_VOID);
    key_builder_init(&t->out_keys, key_group_count, KEY_NS_VOID);
    buf_printf(&name, "_timer_state/%s_%s", domain == TIMER_EVENT ? "event" : "processing",
               service);
    desc.name = buf_cstr(&name);
    rc = keyed_state_open(b, &desc, &t->state, err);
    if (rc == RC_OK)
        rc = load_all(t, err);
    if (rc != RC_OK) {
        rc = err_wrap(err, rc, "timers %s", desc.name);
        timers_close(t);
        t = NULL;
    }
    buf_release(&name);
    *out = t;
    return rc;
}

void timers_close(struct timers *t)
{
    if (t == NULL)
        return;
    for (size_t i = 0; i < t->heap_count; i++)
        bucket_free(t->heap[i]);
    for (uint32_t i = 0; i < t->spare_count; i++)
        bucket_free(t->spare[i]);
    mem_free(t->heap);
    mem_free(t->table);
    key_builder_release(&t->timer_keys);
    key_builder_release(&t->out_keys);
    mem_free(t->out_ms);
    mem_free(t->empty);
    mem_free(t);
}

static void reserve_out(struct timers *t, uint32_t count)
{
    if (count <= t->out_cap)
        return;
    t->out_ms = mem_realloc(t->out_ms, count * sizeof *t->out_ms);
    t->empty = mem_realloc(t->empty, count * sizeof *t->empty);
    for (uint32_t i = 0; i < count; i++)
        t->empty[i] = bytes_of("", 0);
    t->out_cap = count;
}

enum rc timers_register(struct timers *t, const struct key_batch *keys, const int64_t *at_ms,
                        struct err *err)
{
    struct key_batch timers;

    key_builder_clear(&t->timer_keys);
    for (uint32_t i = 0; i < keys->count; i++) {
        struct bytes key = key_batch_at(keys, i);

        ASSERT(key.len >= t->prefix_len);
        if (!bucket_add(bucket_of(t, at_ms[i], true), key))
            continue;
        t->count++;
        RETURN_IF_ERR(add_timer_key(t, key, at_ms[i], err));
    }
    timers = key_builder_batch(&t->timer_keys);
    if (timers.count == 0)
        return RC_OK;
    reserve_out(t, timers.count);
    return keyed_put(t->state, &timers, t->empty, err);
}

enum rc timers_delete(struct timers *t, const struct key_batch *keys, const int64_t *at_ms,
                      struct err *err)
{
    struct key_batch timers;

    key_builder_clear(&t->timer_keys);
    for (uint32_t i = 0; i < keys->count; i++) {
        struct bytes key = key_batch_at(keys, i);
        struct bucket *b = bucket_of(t, at_ms[i], false);
        uint32_t at = b == NULL ? NO_RECORD : bucket_find(b, key);

        if (at == NO_RECORD || record_at(b, at)->gone)
            continue;
        record_at(b, at)->gone = 1;
        b->live--;
        t->count--;
        RETURN_IF_ERR(add_timer_key(t, key, at_ms[i], err));
    }
    timers = key_builder_batch(&t->timer_keys);
    return timers.count == 0 ? RC_OK : keyed_del(t->state, &timers, err);
}

enum rc timers_pop(struct timers *t, int64_t until_ms, uint32_t max, struct key_batch *keys,
                   const int64_t **at_ms, struct err *err)
{
    struct bucket *b;
    struct key_batch timers;
    uint32_t got = 0;

    key_builder_clear(&t->timer_keys);
    key_builder_clear(&t->out_keys);
    reserve_out(t, max);
    while (got < max && (b = first_bucket(t)) != NULL && b->at_ms <= until_ms) {
        bucket_sort(b);
        while (got < max && b->order_next < b->order_count) {
            uint32_t at = b->order[b->order_next++];

            if (record_at(b, at)->gone)
                continue;
            RETURN_IF_ERR(key_builder_add_raw(&t->out_keys, record_key(b, at), err));
            RETURN_IF_ERR(add_timer_key(t, record_key(b, at), b->at_ms, err));
            t->out_ms[got++] = b->at_ms;
            record_at(b, at)->gone = 1;
            b->live--;
            t->count--;
        }
    }
    *keys = key_builder_batch(&t->out_keys);
    *at_ms = t->out_ms;
    timers = key_builder_batch(&t->timer_keys);
    return got == 0 ? RC_OK : keyed_del(t->state, &timers, err);
}

int64_t timers_next_ms(struct timers *t)
{
    const struct bucket *b = first_bucket(t);

    return b == NULL ? INT64_MAX : b->at_ms;
}

uint64_t timers_count(const struct timers *t)
{
    return t->count;
}
