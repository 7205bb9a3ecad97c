/* row_cache.h - rows of one keyed state in memory: the whole state (hashmap), or what is hot and
 * what is not yet written of a state that lies in a database below (rocksdb).
 *
 * An open-addressing index of hash tags leads to rows in slabs. A row is born, changes in place and
 * dies; slabs are given back whole, after the rows worth keeping were moved out. Nothing is
 * allocated or locked per row; rows hold still until the next call on the same backend.
 *
 * Marks of a row over a database: *dirty* (differs from below; listed once per epoch), and whether
 * the key *exists below*: yes, no, unknown. A row that is born and dies between two flushes never
 * reaches the database; deleting one that may exist below leaves a tombstone row.
 *
 * A *delta* row was never looked up (row_cache_set_blind): it holds what was added since it came
 * in. Once it is written, as an operand to be merged with what is below, it begins anew; so a
 * closed epoch with deltas must be written, or the database is of no more use. Rows must not be
 * read while there are any: evict them first.
 *
 * Epochs: closing one is a pointer swap per state. From then on, until its writer is done, a change
 * of a row that the closed epoch still has to write first saves its image (copy on write; a row
 * that is replaced or dies stays where it is as a ghost), and no slab is given back. The writer
 * reads under one mutex, a few thousand rows at a time; the task takes that mutex once a batch, and
 * only while a writer is at work. What the closed epoch held is what the writer gets (C11).
 *
 *     current epoch  --row_group_close-->  closed, being written  --row_snapshot_done-->  retired
 * by the task
 *
 * Thread: the task's, but for row_snapshot_*, which one writer thread calls.
 */
#ifndef VARVE_BACKEND_ROW_CACHE_H
#define VARVE_BACKEND_ROW_CACHE_H

#include "backend/key_codec.h"

enum row_mode {
    ROWS_ALL,   /* the rows are the state; a snapshot holds all of them */
    ROWS_DIRTY, /* a cache over a database; a snapshot holds the dirty ones, tombstones included */
};

/* What the caches of one backend share: epochs, the mutex, the memory count. */
struct row_group; /* opaque */
struct row_group *row_group_new(enum row_mode mode, uint64_t hash_seed);
void row_group_free(struct row_group *g); /* and all its caches; no snapshot may be open */
/* Memory held: slabs, indexes, lists. */
size_t row_group_bytes(const struct row_group *g);
size_t row_group_image_bytes(const struct row_group *g); /* of those, for images of the closed epoch */

/* Which rows are linked to each other, for scans of a few among many. */
enum row_chain {
    ROW_CHAIN_NONE,
    ROW_CHAIN_OWNER,     /* of one map: the same prefix | key | namespace */
    ROW_CHAIN_NAMESPACE, /* of one window: the same 8 bytes at the end of the key */
};

struct row_cache; /* opaque; one per state */
struct row_cache_config {
    uint32_t fixed_value_bytes; /* 0: values vary in size */
    uint32_t prefix_len;        /* of key groups */
    enum row_chain chain;
    enum key_namespace ns;
    uint32_t slab_bytes; /* of a large state: power of two, 16 KiB..2 MiB */
};
struct row_cache *row_cache_new(struct row_group *g, const struct row_cache_config *config);
/* Ends one cache and its rows; no snapshot may be open. The others end with their group. */
void row_cache_free(struct row_cache *c);

/* ---- batches --------------------------------------------------------------------------------- */

/* Looks up keys that are not cached. Fills for each i: values[i] (data NULL: absent), which hold
 * until the next call. Keys are in bytewise order, each once. */
struct row_loader {
    enum rc (*load)(struct row_loader *, const struct bytes *keys, uint32_t count,
                    struct bytes *values, struct err *err);
};
/* loader == NULL: what is not cached does not exist (ROWS_ALL, or nothing was ever written below).
 * Meaning of the arguments: keyed_backend.h. After an error of the loader the cache is as before
 * the call. */
MUST_USE enum rc row_cache_upsert(struct row_cache *c, const struct key_batch *keys, void **rows,
                                  uint8_t *fresh, struct row_loader *loader, struct err *err);
MUST_USE enum rc row_cache_get(struct row_cache *c, const struct key_batch *keys,
                               struct bytes *values, struct row_loader *loader, struct err *err);
/* below_empty: the database holds no row of this state that is not cached. */
MUST_USE enum rc row_cache_put(struct row_cache *c, const struct key_batch *keys,
                               const struct bytes *values, bool below_empty, struct err *err);
MUST_USE enum rc row_cache_del(struct row_cache *c, const struct key_batch *keys, bool below_empty,
                               struct err *err);
/* Deletes those of the keys that are cached; the others' numbers go to others[0..*other_count). */
void row_cache_del_cached(struct row_cache *c, const struct key_batch *keys, uint32_t *others,
                          uint32_t *other_count);
/* Whether upserts of keys that are not cached make deltas from now on, without asking the loader. Not
 * while rows are being loaded: false then. */
bool row_cache_set_blind(struct row_cache *c, bool blind);
/* What a value may grow to; and what of a value is worth keeping when it moves or is at that limit
 * (data NULL: nothing; holds until the next call). trim NULL: all. */
struct row_append_rules {
    size_t bytes_max;
    struct bytes (*trim)(void *ctx, struct bytes value);
    void *ctx;
};
/* keyed_append. */
MUST_USE enum rc row_cache_append(struct row_cache *c, const struct key_batch *keys,
                                  const struct bytes *values, const struct row_append_rules *rules,
                                  struct row_loader *loader, uint32_t *done, struct err *err);
/* Room that a batch takes at most: rows, and tables that grow. values may be NULL. */
size_t row_cache_need(const struct row_cache *c, const struct key_batch *keys,
                      const struct bytes *values);
/* A few slabs' worth of tidying; call before a batch. */
void row_cache_tidy(struct row_cache *c);
/* Looks at the next `max` rows, going round and round, and removes those that `gone` says (ROWS_ALL;
 * nothing while a writer is at work). Call before a batch. */
typedef bool row_gone_fn(void *ctx, struct bytes value);
void row_cache_weed(struct row_cache *c, uint32_t max, row_gone_fn *gone, void *ctx);

/* ---- walking --------------------------------------------------------------------------------- */

struct row_view {
    struct bytes key, value;
    bool tombstone;
    bool delta;
    bool dirty;
    bool never_below; /* of dirty rows: the database has no row of this key */
};
/* All cached rows whose key starts with a prefix, or ends with a namespace, in no order. Plain value;
 * no change of the cache meanwhile, but rows that were handed out may be deleted, with the cache
 * pinned. */
struct row_walk {
    struct row_cache *cache;
    struct bytes prefix, ns; /* borrowed */
    bool chained;
    uint32_t slab, unit, ref;
};
void row_walk_init(struct row_walk *w, struct row_cache *c, struct bytes prefix);
void row_walk_init_namespace(struct row_walk *w, struct row_cache *c, struct bytes ns);
/* While pinned, rows stay where they are: row_cache_tidy does nothing. Nests. */
void row_cache_pin(struct row_cache *c);
void row_cache_unpin(struct row_cache *c);
/* Up to max rows, 0 at the end. Slices hold until the cache changes. */
uint32_t row_walk_next(struct row_walk *w, struct row_view *out, uint32_t max);
/* The cached rows inside the bounds in bytewise order, as they are now; until row_list_free they
 * must hold still (no eviction, no change; more rows may come in, and a writer may be at work). */
struct row_list; /* opaque */
struct row_list *row_list_new(struct row_cache *c, const struct scan_bounds *bounds);
bool row_list_peek(const struct row_list *l,
                   struct row_view *out); /* false: at the end; only key, value, tombstone */
void row_list_advance(struct row_list *l);
void row_list_free(struct row_list *l);
/* Whether the key is cached; *out then. */
bool row_cache_peek(struct row_cache *c, struct bytes key, struct row_view *out);

/* ---- loading (ROWS_DIRTY) -------------------------------------------------------------------- */

/* Rows that were read from the database behind the task's back come in. From load_begin on, which
 * is to come before that reading, a key that is not cached has not changed since, and a key that is
 * wins: so no tombstone is dropped meanwhile, though it is in the database, and an eviction ends
 * the load. */
void row_cache_load_begin(struct row_cache *c);
/* About as many rows will come: room for them in the index. */
void row_cache_load_expect(struct row_cache *c, uint64_t rows);
/* Adds those whose keys are not cached; each key once. *loading false: the load has ended, nothing
 * is added. RC_CORRUPT: a value of another size than the state's; RC_LIMIT. */
MUST_USE enum rc row_cache_load(struct row_cache *c, const struct key_batch *keys,
                                const struct bytes *values, bool *loading, struct err *err);
void row_cache_load_end(struct row_cache *c);
/* What a row takes beside its key and value, on average: its place in the index included. */
size_t row_cache_row_bytes(const struct row_cache *c);

/* ---- eviction (ROWS_DIRTY) ------------------------------------------------------------------- */

/* Rows to be written, in bytewise order of their keys, handed out piece by piece. */
struct row_source {
    /* Up to max (at most ROW_SOURCE_CHUNK) rows, 0 at the end; slices hold until the next call. */
    uint32_t (*next)(struct row_source *, struct row_view *out, uint32_t max);
    uint64_t rows_max, bytes_max; /* what it holds at most; bytes UINT64_MAX from ROWS_MANY on */
    bool whole; /* all that lives in the state: what the database has goes, these take its place */
    struct bytes operand_head; /* deltas are written as merge operands that begin so */
};
#define ROWS_MANY (64u << 10) /* rows of which nobody asks for the bytes: they are a sorted run */
#define ROW_SOURCE_CHUNK 4096u
#define ROW_SORT_BYTES 12u /* what sorting takes a row */
/* Writes rows to the database; they are clean when it returns RC_OK. */
struct row_sink {
    enum rc (*write)(struct row_sink *, struct row_source *rows, struct err *err);
};
struct row_evicted {
    uint64_t rows; /* that left the cache */
    uint64_t live; /* of those: with a value */
};
/* Gives back at least `want_bytes` of this cache's slabs, or all: rows not touched since the last
 * pass leave, the dirty ones through the sink. No writer may be at work. After an error nothing has
 * changed. */
MUST_USE enum rc row_cache_evict(struct row_cache *c, size_t want_bytes, struct row_sink *sink,
                                 struct row_evicted *evicted, struct err *err);

struct row_cache_stats {
    uint64_t rows;       /* in the index, tombstones included */
    uint64_t tombstones; /* of those */
    uint64_t dirty;      /* listed for the current epoch: an upper bound */
    size_t bytes;
    uint64_t lookups, misses;
    uint64_t deltas; /* that have begun */
};
void row_cache_stats(const struct row_cache *c, struct row_cache_stats *out);

/* ---- snapshots ------------------------------------------------------------------------------- */

/* Closes the current epoch of every cache: task's thread, no I/O. At most one is open. */
void row_group_close(struct row_group *g);
/* Before closing: this epoch's writer is to get every living row of the cache, clean ones too, and no
 * tombstones (ROWS_DIRTY): what is below is going to be replaced by them. For one epoch. */
void row_cache_close_whole(struct row_cache *c);
/* true while the writer of the closed epoch may still read. */
bool row_group_writing(struct row_group *g);
/* The closed epoch will not be written, or was: dirty rows that were not go back to the current
 * epoch. Task's thread. */
void row_group_retire(struct row_group *g);

/* The closed epoch's rows of one cache; writer's thread. */
struct row_snapshot; /* opaque */
/* `sorted`: in bytewise order of the keys; else ordered by key group only. */
struct row_snapshot *row_snapshot_new(struct row_cache *c, bool sorted);
void row_snapshot_free(struct row_snapshot *s);
/* Its rows: copies, so the task may go on. Borrowed until row_snapshot_free. */
struct row_source *row_snapshot_rows(struct row_snapshot *s);
/* All caches were read to their end: the task may give back memory again. */
void row_snapshot_done(struct row_group *g);

#endif
