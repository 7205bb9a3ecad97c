/* state.h - value, list, map, reducing and aggregating state over any keyed_backend, a batch at a
 * time, with namespaces and time-to-live.
 *
 * Who is asked for is said by composite keys without a map key: prefix | key | namespace, as
 * key_builder makes them (key_codec.h; a namespace is VOID, BIGINT or BYTES). The same key may
 * stand in a batch more than once; then the later one sees what the earlier one did. Namespaces of
 * one key share nothing.
 *
 * What lies in the store is Flink's, byte for byte (T = big-endian i64, the time of the last
 * access, only in states with time-to-live):
 *
 *     value, reducing, aggregating    [T] value, or accumulator
 *     list                            elements joined by ',' (0x2C), each [T] element
 *     map                             one entry a map key: null flag, then, if 0, [T] value
 *
 * An element of a list has desc.fixed_value_bytes bytes; with 0 it stands behind its size, a
 * big-endian i32, as a row or a byte[] does in Flink. Elements go in and come out without that
 * size. A list or map that is empty has no entry at all.
 *
 * Time-to-live (ttl.h): in a state whose desc.ttl_ms is not 0 everything here sees the clock of the
 * backend once a call. Reading what has expired removes it, as Flink does.
 *
 * Thread: the task's, as the backend. Slices handed out hold until the next call on any state of
 * the backend, unless said otherwise. After: RocksDBValueState and its brothers, TtlStateFactory.
 */
#ifndef VARVE_BACKEND_STATE_H
#define VARVE_BACKEND_STATE_H

#include "backend/key_codec.h"
#include "backend/ttl.h"

/* Of all elements under one key and namespace, and of one value. */
#define STATE_VALUE_BYTES_MAX (256u << 20)

/* What reducing and aggregating states do. Functions may fail: nothing is stored for that key then.
 */
struct state_functions {
    void *ctx;
    /* Adds an element to the accumulator. fresh: there is none yet (acc: fixed_value_bytes zeroes,
     * or empty). A reducing state takes its first element as it is and is not asked. With
     * fixed_value_bytes acc's bytes lie in the store and are changed in place; the length stays. */
    enum rc (*add)(void *ctx, struct buf *acc, bool fresh, struct bytes element, struct err *err);
    /* Adds another accumulator of the same key. */
    enum rc (*merge)(void *ctx, struct buf *acc, struct bytes other, struct err *err);
    /* What a reader sees, appended to `out`. NULL: the accumulator itself. */
    enum rc (*result)(void *ctx, struct bytes acc, struct buf *out, struct err *err);
};
struct state_options {
    const struct state_functions *functions; /* REDUCING, AGGREGATING; copied */
    enum ttl_update ttl_update;              /* of states with desc.ttl_ms */
    enum ttl_visibility ttl_visibility;
    size_t value_bytes_max; /* 0: STATE_VALUE_BYTES_MAX; at most that */
};

struct state; /* opaque; one state of a backend */
/* Registers a state, or attaches to the restored one of that name (keyed_state_open). desc->kind
 * is not TIMER. options NULL: all zeroes. desc and options are copied. */
MUST_USE enum rc state_open(struct keyed_backend *b, const struct state_desc *desc,
                            const struct state_options *options, struct state **out,
                            struct err *err);
void state_close(struct state *s); /* before its backend; what is stored stays. NULL is a no-op */
struct keyed_state *state_rows(struct state *s); /* its raw rows: the layouts above */

/* Every kind: removes all that is under these keys and namespaces. */
MUST_USE enum rc state_clear(struct state *s, const struct key_batch *keys, struct err *err);

/* ---- value ----------------------------------------------------------------------------------- */

/* values[i].data == NULL: none. */
MUST_USE enum rc state_value_get(struct state *s, const struct key_batch *keys,
                                 struct bytes *values, struct err *err);
/* values[i].data == NULL clears. RC_LIMIT names state, key, size and limit; nothing was changed
 * then. */
MUST_USE enum rc state_value_put(struct state *s, const struct key_batch *keys,
                                 const struct bytes *values, struct err *err);
/* Read-modify-write in place of fixed-size values (VALUE, REDUCING, AGGREGATING): as keyed_upsert,
 * rows[i] without the time. fresh[i] = 1 also when the value had expired. Counts as a write. */
MUST_USE enum rc state_upsert(struct state *s, const struct key_batch *keys, void **rows,
                              uint8_t *fresh, struct err *err);

/* ---- list ------------------------------------------------------------------------------------ */

/* Appends elements[i] to the list of key i. RC_LIMIT names state, key, size and limit: the keys
 * before that one in the batch have got their elements, it and those behind have not. */
MUST_USE enum rc state_list_add(struct state *s, const struct key_batch *keys,
                                const struct bytes *elements, struct err *err);
/* Appends (add_all) `count` elements to one list, or makes them the list (put; 0 elements: clears).
 * All or none. */
MUST_USE enum rc state_list_add_all(struct state *s, struct bytes key, const struct bytes *elements,
                                    size_t count, struct err *err);
MUST_USE enum rc state_list_put(struct state *s, struct bytes key, const struct bytes *elements,
                                size_t count, struct err *err);
/* One list being read; plain value, borrowed bytes. */
struct state_list {
    struct bytes rest; /* data NULL: there is no list */
    const struct state *state;
    int64_t now_ms;
    bool first;
};
MUST_USE enum rc state_list_get(struct state *s, const struct key_batch *keys,
                                struct state_list *lists, struct err *err);
/* The next element; false at the end, or when the bytes are no elements: then *rc is RC_CORRUPT. */
bool state_list_next(struct state_list *l, struct bytes *element, enum rc *rc, struct err *err);

/* ---- map ------------------------------------------------------------------------------------- */

/* A null value is a value: present[i] = 1 and values[i].data == NULL. values, present: one of them
 * may be NULL. */
MUST_USE enum rc state_map_get(struct state *s, const struct key_batch *keys,
                               const struct bytes *user_keys, struct bytes *values,
                               uint8_t *present, struct err *err);
MUST_USE enum rc state_map_put(struct state *s, const struct key_batch *keys,
                               const struct bytes *user_keys, const struct bytes *values,
                               struct err *err);
MUST_USE enum rc state_map_remove(struct state *s, const struct key_batch *keys,
                                  const struct bytes *user_keys, struct err *err);
MUST_USE enum rc state_map_is_empty(struct state *s, struct bytes key, bool *empty,
                                    struct err *err);

/* The entries of one map, in bytewise order of their map keys, read a page at a time; between two
 * pages nothing is held in the store, so the map may be changed meanwhile: an entry that stays is
 * given once, one that comes or goes behind the last page's end may be seen or not. Pages begin
 * small (most maps are) and grow. Does not count as a read for time-to-live. */
struct state_map_iter; /* opaque */
struct state_map_iter *state_map_iter_new(struct state *s, struct bytes key);
/* false at the end, or on an error: then *rc is not RC_OK. Slices hold until the next call on the
 * iterator, whatever happens to the store. */
bool state_map_iter_next(struct state_map_iter *it, struct bytes *user_key, struct bytes *value,
                         enum rc *rc, struct err *err);
void state_map_iter_free(struct state_map_iter *it); /* NULL is a no-op; any time before the state
                                                         is closed */

/* ---- reducing, aggregating ------------------------------------------------------------------- */

/* An error of a function: the keys before that one in the batch have got their elements. */
MUST_USE enum rc state_add(struct state *s, const struct key_batch *keys,
                           const struct bytes *elements, struct err *err);
/* Results; data == NULL: none. Hold until the next call on s. */
MUST_USE enum rc state_get(struct state *s, const struct key_batch *keys, struct bytes *values,
                           struct err *err);

/* ---- over keys ------------------------------------------------------------------------------- */

/* LIST, REDUCING, AGGREGATING: what the sources hold goes to the target, in the order target,
 * sources; the sources are cleared. What a merging window needs. */
MUST_USE enum rc state_merge(struct state *s, struct bytes target, const struct key_batch *sources,
                             struct err *err);

/* All keys that have something under this namespace (its bytes as key_split gives them; data NULL:
 * under any), each key and namespace once, as composite keys without a map key, in bytewise order.
 * Read a range of key groups at a time into a buffer of
 * its own; the state may be changed meanwhile: a key that stays is given once. */
struct state_keys; /* opaque */
struct state_keys *state_keys_new(struct state *s, struct bytes ns, struct key_group_range groups);
/* Up to max keys into keys[]; *got == 0: the end. They hold until the next call on it. */
MUST_USE enum rc state_keys_next(struct state_keys *k, struct bytes *keys, uint32_t max,
                                 uint32_t *got, struct err *err);
void state_keys_free(struct state_keys *k); /* NULL is a no-op */

/* ---- one key --------------------------------------------------------------------------------- */

/* A batch of one: struct key_batch k = key_batch_one(key, (uint32_t[2]){0}). */
static inline struct key_batch key_batch_one(struct bytes key, uint32_t offsets[2])
{
    offsets[0] = 0;
    offsets[1] = (uint32_t)key.len;
    return (struct key_batch){1, key.data, offsets};
}

#endif
