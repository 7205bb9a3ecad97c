/* row_cache_priv.h - how rows lie in memory; for row_cache*.c only. */
#ifndef VARVE_BACKEND_ROW_CACHE_PRIV_H
#define VARVE_BACKEND_ROW_CACHE_PRIV_H

#include "backend/row_cache.h"
#include "base/arena.h"
#include "base/hash_inline.h"
#include "base/thread.h"

#include <stdatomic.h>

#define UNIT_BYTES 16u          /* rows begin at multiples of it */
#define SLAB_BYTES_LEAST (16u << 10)
#define SLAB_IDS_RESERVED 8192u /* free ids that each batch finds: 16 GiB of rows */

enum {
    ROW_LIVE = 1,      /* in the index */
    ROW_TOMBSTONE = 2, /* known to be absent; LIVE */
    ROW_DIRTY = 4,     /* differs from below */
    ROW_TOUCHED = 8,   /* used again since it came in or was last passed over */
    ROW_GHOST = 16,    /* not LIVE any more, but the closed epoch has to write it */
    ROW_LOADING = 32,  /* a place for a key that is being looked up */
    ROW_DELTA = 64,    /* what was added since it came in, or was last written (blind.h) */
    ROW_ANEW = 128,    /* a delta that was written, or is owed: what comes now is a new one */
};
enum { BELOW_UNKNOWN, BELOW_YES, BELOW_NO };

/* Header, [links of chained rows], [4 bytes], value (value_cap bytes), key. The fields that the writer
 * reads without the mutex, units and key_len, and the key never change. */
struct row {
    uint32_t tag;    /* upper half of the hash, as in the index */
    uint32_t epoch;  /* of the last change; epochs below it have nothing more to save */
    uint32_t shadow; /* reference of the image that the closed epoch has to write; 0: none */
    uint32_t units;  /* size of this row in UNIT_BYTES */
    uint32_t key_len, value_len, value_cap;
    uint8_t marks, below;
    uint16_t unused;
};
struct row_links { /* of a row in a chain: the others of its owner or namespace */
    uint32_t next, prev, owner_tag, unused;
};
_Static_assert(sizeof(struct row) == 32 && sizeof(struct row_links) == 16,
               "rows are 16-byte aligned");

/* Where a row lies: slab id << unit_bits | unit. 0 is no row: slab 0 is never used. */
struct slab {
    uint32_t units, used, live; /* capacity, filled, of rows in the index */
    bool cow;                   /* holds images of the closed epoch only */
    bool victim;                /* being emptied */
};
struct slot {
    uint32_t tag, ref;
};
struct index { /* open addressing, linear, home = upper bits of the tag */
    struct slot *slots;
    uint32_t bits; /* 2^bits slots */
    uint32_t count;
};
struct refs {
    uint32_t *at;
    size_t count, cap;
};
struct row_cache {
    struct row_group *group;
    struct row_cache_config config;
    uint32_t unit_bits, value_at; /* value_at: offset of the value in a row */
    uint8_t **bases;              /* per slab id; NULL: free id */
    struct slab *slabs;
    uint32_t slab_count, slab_cap; /* ids ever used, room in the arrays */
    struct refs free_ids;
    struct refs fifo;             /* slabs in order of their making, for eviction */
    uint32_t open_slab, cow_slab; /* 0: none */
    uint64_t used_units, live_units;
    size_t slab_bytes, image_bytes; /* image_bytes: of slabs for images, in slab_bytes too */
    uint32_t tidy_hand, pins;
    struct row_walk weeding; /* of row_cache_weed */
    uint64_t reap_at_units; /* dead units from which on slabs are looked through for empty ones */
    uint64_t tombstones;

    struct index rows, owners;
    struct refs dirty;        /* of the current epoch */
    struct refs closed_dirty; /* of the closed one, until retired */
    struct refs owed;         /* rows with a shadow, and ghosts */
    struct refs written_tombs; /* tombstones that the closed epoch's writer has handed out; its own */
    struct refs tombs;         /* those that are in the database: of no use any more */
    uint8_t **closed_bases;   /* the slabs as they were at the close, for the writer */
    uint32_t *closed_used;
    uint32_t closed_slab_count;
    bool loading; /* rows read earlier may still come in: see row_cache_load_begin */
    bool blind;   /* upserts do not look below: their rows begin as deltas */
    bool closed_whole; /* the closed epoch's writer gets every row, not only the dirty ones */

    uint32_t *tags, *found,
        *late; /* scratch of one batch: hash tags, rows, what must wait for the loader */
    uint32_t scratch_cap, late_count;
    struct refs loads; /* rows that are being looked up */
    struct bytes *load_keys, *load_values;
    size_t load_cap;
    uint64_t lookups, misses, deltas;
};
struct row_group {
    enum row_mode mode;
    uint64_t seed;
    struct mutex mutex; /* while `open`: everything of the rows that is not constant */
    uint32_t epoch;     /* current; from 1 */
    uint32_t closed;    /* the one being written */
    bool open;          /* between close and retire; task's */
    atomic_bool done;   /* the writer has read everything */
    struct row_cache **caches;
    size_t cache_count;
};

static inline struct row *row_at(const struct row_cache *c, uint32_t ref)
{
    return (struct row *)(void *)(c->bases[ref >> c->unit_bits] +
                                  (size_t)(ref & ((1u << c->unit_bits) - 1)) * UNIT_BYTES);
}
static inline uint8_t *row_value(const struct row_cache *c, struct row *r)
{
    return (uint8_t *)r + c->value_at;
}
static inline struct bytes row_key(const struct row_cache *c, const struct row *r)
{
    return bytes_of((const uint8_t *)r + c->value_at + r->value_cap, r->key_len);
}
static inline struct row_links *row_links(struct row *r)
{
    return (struct row_links *)(r + 1);
}

static inline void refs_push(struct refs *l, uint32_t ref)
{
    if (l->count == l->cap) {
        l->cap = l->cap == 0 ? 1024 : l->cap * 2;
        l->at = mem_realloc(l->at, l->cap * sizeof *l->at);
    }
    l->at[l->count++] = ref;
}
static inline void refs_release(struct refs *l)
{
    mem_free(l->at);
    *l = (struct refs){0};
}

static inline size_t index_bytes(const struct index *ix)
{
    return ix->bits == 0 ? 0 : sizeof(struct slot) << ix->bits;
}

/* Bytes that a table takes besides while it grows to hold `more` entries. */
static inline size_t index_growth(const struct index *ix, uint32_t more)
{
    struct index bigger = {.bits = ix->bits + 1};

    return ((uint64_t)ix->count + more) * 8 < 5ull << ix->bits ? 0 : index_bytes(&bigger);
}
static inline size_t refs_growth(const struct refs *l, uint32_t more)
{
    return l->count + more < l->cap ? 0 : 2 * l->cap * sizeof *l->at;
}

static inline uint32_t slot_home(const struct index *ix, uint32_t tag)
{
    return tag >> (32 - ix->bits);
}
static inline uint32_t slot_after(const struct index *ix, uint32_t s)
{
    return (s + 1) & ((1u << ix->bits) - 1);
}

/* Keys of a few dozen bytes: words, the last one overlapping, instead of a call. */
static inline bool same_bytes(const uint8_t *a, const uint8_t *b, size_t len)
{
    size_t at = 0;

    if (len < 8) {
        while (at < len && a[at] == b[at])
            at++;
        return at == len;
    }
    for (; at + 8 <= len; at += 8) {
        if (get_le64(a + at) != get_le64(b + at))
            return false;
    }
    return get_le64(a + len - 8) == get_le64(b + len - 8);
}

static inline uint32_t key_tag(const struct row_cache *c, struct bytes key)
{
    return (uint32_t)(hash64_seed_inline(key, c->group->seed) >> 32);
}

static inline bool row_has_key(const struct row_cache *c, const struct row *r, struct bytes key)
{
    return r->key_len == key.len &&
           same_bytes((const uint8_t *)r + c->value_at + r->value_cap, key.data, key.len);
}

/* Of a row, in whole units. */
static inline size_t row_size(const struct row_cache *c, size_t key_len, size_t value_len)
{
    return (c->value_at + key_len + value_len + UNIT_BYTES - 1) & ~(size_t)(UNIT_BYTES - 1);
}

/* row_cache.c */
void rows_enter(struct row_cache *c); /* takes the mutex when a writer is at work */
void rows_leave(struct row_cache *c);
/* Rows of keys[from..to) into c->found, their hash tags into c->tags. */
void rows_find(struct row_cache *c, const struct key_batch *keys, uint32_t from, uint32_t to);
void rows_scratch(struct row_cache *c, uint32_t count); /* found and tags for so many keys */
/* A row in the index, its value not yet set. */
uint32_t row_add(struct row_cache *c, uint32_t tag, struct bytes key, uint32_t value_cap);
/* Room of a value's row, so that it fills whole units. */
uint32_t row_value_cap(const struct row_cache *c, size_t key_len, size_t value_len);
/* Puts a ',' and `more` behind the row's value, which has *had bytes, or makes the row. The key is
 * known to be cached if it exists. false: the value would exceed the limit. */
bool row_append(struct row_cache *c, uint32_t tag, struct bytes key, struct bytes more,
                const struct row_append_rules *rules, size_t *had);

/* row_cache_slab.c */
uint32_t row_alloc(struct row_cache *c, uint32_t key_len, uint32_t value_cap, bool cow);
void slab_free(struct row_cache *c, uint32_t id);
MUST_USE enum rc rows_check_room(const struct row_cache *c, struct err *err);

/* row_cache_index.c */
uint32_t index_find(const struct row_cache *c, uint32_t tag, struct bytes key);
/* First row of the chain of an owner or a namespace, or 0. */
uint32_t chain_head(const struct row_cache *c, struct bytes name);
void index_reserve(struct index *ix, uint64_t count);            /* room for so many in all */
void row_link(struct row_cache *c, uint32_t ref);                /* into index and chain; counts */
void row_unlink(struct row_cache *c, uint32_t ref);              /* and out of them */
void row_moved(struct row_cache *c, uint32_t from, uint32_t to); /* index and chain follow */

/* row_cache_snapshot.c */
/* Retires the closed epoch if its writer is done. */
void row_group_retire_done(struct row_group *g);

/* row_cache_sort.c */
/* Sorts references by key, bytewise; `bases` may be a copy of the cache's. Reads only what never
 * changes. */
void refs_sort(const struct row_cache *c, uint8_t *const *bases, uint32_t *refs, size_t count);
/* Orders them by key group only, else as they were. */
void refs_group(const struct row_cache *c, uint8_t *const *bases, uint32_t *refs, size_t count);

#endif
