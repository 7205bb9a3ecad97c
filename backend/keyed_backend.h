/* keyed_backend.h - interface of a keyed store: one per keyed operator and subtask.
 *
 * Implementations: heap_backend.c (`hashmap`) and rocks_backend.c (`rocksdb`). Everything on the
 * data path takes a batch. Keys are whole composite keys in Flink's encoding (key_codec.h):
 * key-group prefix | key | namespace | map key; their groups must lie in the backend's range
 * (asserted: they were routed here, C1).
 *
 * Thread: all calls on the task's thread, except keyed_snapshot_take and _write, which run on one
 * pool thread at a time for each snapshot. Pointers into the store hold until the next call on the same backend, unless
 * said otherwise.
 */
#ifndef VARVE_BACKEND_KEYED_BACKEND_H
#define VARVE_BACKEND_KEYED_BACKEND_H

#include "backend/snapshot_target.h"
#include "backend/state_change.h"
#include "base/env.h"

#include <stdatomic.h>

/* `count` keys in one block: key i is data[offsets[i] .. offsets[i+1]). */
struct key_batch {
    uint32_t count;
    const uint8_t *data;
    const uint32_t *offsets; /* count + 1 */
};
static inline struct bytes key_batch_at(const struct key_batch *k, uint32_t i)
{
    return (struct bytes){k->data + k->offsets[i], k->offsets[i + 1] - k->offsets[i]};
}

struct keyed_backend; /* first member is its ops */
struct keyed_state;   /* owned by its backend; lives until keyed_backend_close */
struct keyed_cursor;
struct keyed_snapshot;

struct keyed_stats {
    uint64_t entries_cached, cache_bytes, dirty_rows;
    uint64_t db_live_sst_bytes, db_sst_files, l0_files, pending_compaction_bytes;
    uint64_t block_cache_bytes, write_buffer_bytes;
    uint64_t lookups, misses, flushes, evictions, flush_wait_ns;
    uint64_t blind_rows;  /* that began without a look into the database */
    uint64_t loaded_rows; /* read into the row cache after a restore, unasked */
    uint64_t compactions, deepest_compactions,
        compacted_bytes; /* of them those that wrote the deepest level; written by all */
};

enum backend_kind { BACKEND_HASHMAP, BACKEND_ROCKSDB };
/* When the digests of restored SST files are compared (rocksdb). In the background: after the task
 * has begun; until it is done no checkpoint ends, and a damaged file fails the next call. Files
 * that could not be linked are always compared first. */
enum restore_verify {
    RESTORE_VERIFY_AUTO, /* first, or from RESTORE_VERIFY_FIRST_BYTES on in the background */
    RESTORE_VERIFY_FIRST,
    RESTORE_VERIFY_BACKGROUND,
};
#define RESTORE_VERIFY_FIRST_BYTES (64u << 20)
struct keyed_backend_config {
    const struct env *env;
    enum backend_kind kind;
    struct key_group_range range;
    uint32_t key_group_count;
    const char
        *local_dir; /* scratch of this backend alone; deleted and made anew at open (rocksdb) */
    const char *backend_id; /* 32 hex digits, new for every opening */
    const char *name;       /* for messages: "GroupAggregate[k] (1/2)" */
    struct keyed_memory *memory; /* rocksdb: shared with others, outlives the backend; NULL: its own */
    uint64_t memory_bytes;  /* of its own: all that memory_plan.h divides; 0: a default */
    int max_open_files;     /* per database; -1 = no limit */
    size_t restore_count;   /* handles that meet the range; files have resolved_path */
    const struct keyed_handle *restore;
    /* Of the handles, where it is another: every key is put into its group anew, by the hash of the
     * SQL row that it is. 0: the same. */
    uint32_t restore_group_count;
    const char *restore_operator; /* for messages */
    size_t change_count;          /* restored states that are not taken as they are */
    const struct state_change *changes;
    enum restore_verify verify;   /* of the restored SST files */
    bool no_load; /* a restored state that fits into the row cache is not read into it */
    const atomic_bool *stop; /* set by any thread: the restore is given up; NULL: never */
};

/* Opens and restores. Every file is checked (C13), its size at once, its digest as `verify` says;
 * entries outside `range` are dropped. RC_CORRUPT / RC_NOT_FOUND name file and reason. RC_CANCELLED:
 * given up, before a file was cut, a family made or a batch of rows read. */
MUST_USE enum rc keyed_backend_open(const struct keyed_backend_config *config,
                                    struct keyed_backend **out, struct err *err);
/* NULL is a no-op. Waits for a running snapshot write; an open snapshot is freed with the backend.
 */
void keyed_backend_close(struct keyed_backend *b);

/* Registers a state, or attaches to the restored one of that name. RC_INVALID when the restored one
 * has another kind or types: the message shows old and new side by side. `desc` is copied. */
MUST_USE enum rc keyed_state_open(struct keyed_backend *b, const struct state_desc *desc,
                                  struct keyed_state **out, struct err *err);

/* From now on keyed_upsert need not look up whether a row exists, if that costs a read of the
 * database (rocksdb): then rows[i] is what was added since some moment, fresh and zeroed at first,
 * though there may be more of it elsewhere. All of it comes together, as the pattern says (blind.h),
 * when rows are scanned; a state that is read by key looks up again from then on. For who begins a
 * fresh row as that which added to any row leaves it as it is. Before the first upsert. RC_INVALID:
 * the pattern does not fit the rows, or they have a time-to-live. */
MUST_USE enum rc keyed_state_blind(struct keyed_state *s, const char *pattern, struct err *err);

/* All states, restored and opened ones. Descriptions hold as long as the backend. */
size_t keyed_state_count(const struct keyed_backend *b);
const struct state_desc *keyed_state_at(const struct keyed_backend *b, size_t index);

/* The time by which what has a time-to-live is judged (ttl.h), for whoever changes rows of several
 * states as one: the functions below give and take stored rows, times included. */
int64_t keyed_ttl_now(struct keyed_backend *b);

/* Read-modify-write of fixed-size values: rows[i] is the value of key i, to be changed in place;
 * fresh[i] = 1 when the key had none (then zeroed). The same key twice in a batch gives the same
 * row, fresh only once. Marks dirty. */
MUST_USE enum rc keyed_upsert(struct keyed_state *s, const struct key_batch *keys, void **rows,
                              uint8_t *fresh, struct err *err);
/* values[i].data == NULL: absent (an empty value has data != NULL). */
MUST_USE enum rc keyed_get(struct keyed_state *s, const struct key_batch *keys,
                           struct bytes *values, struct err *err);
MUST_USE enum rc keyed_put(struct keyed_state *s, const struct key_batch *keys,
                           const struct bytes *values, struct err *err);
MUST_USE enum rc keyed_del(struct keyed_state *s, const struct key_batch *keys, struct err *err);

/* Puts values[i] behind the value of key i, with a ',' between; alone when there is none. *done: how
 * many were. RC_LIMIT: key *done's value would grow beyond max_bytes; it and the keys behind it are
 * as they were, those before it have been appended to. */
MUST_USE enum rc keyed_append(struct keyed_state *s, const struct key_batch *keys,
                              const struct bytes *values, size_t max_bytes, uint32_t *done,
                              struct err *err);

/* All live entries whose key starts with `prefix` (empty: all), each once, in no promised order. No
 * change of the state while a cursor is open, but entries that it handed out may be deleted
 * (snapshots are fine). */
MUST_USE enum rc keyed_scan_open(struct keyed_state *s, struct bytes prefix,
                                 struct keyed_cursor **out, struct err *err);
/* Of those the entries with lower <= key < upper (empty: no bound), in bytewise order. */
MUST_USE enum rc keyed_scan_range(struct keyed_state *s, struct bytes prefix, struct bytes lower,
                                  struct bytes upper, struct keyed_cursor **out, struct err *err);
/* Those of one namespace of a state with BIGINT namespaces (a window), in no promised order. As cheap as
 * they are few while the state is in memory, else one reading of the whole state. */
MUST_USE enum rc keyed_scan_namespace(struct keyed_state *s, int64_t window,
                                      struct keyed_cursor **out, struct err *err);
/* Whether every living entry is in memory. */
bool keyed_in_memory(struct keyed_state *s);
/* Up to `max` entries; *got == 0: the end. Slices hold until the next call on the cursor. */
MUST_USE enum rc keyed_scan_next(struct keyed_cursor *c, uint32_t max, struct bytes *keys,
                                 struct bytes *values, uint32_t *got, struct err *err);
void keyed_scan_close(struct keyed_cursor *c);

/* Whether a snapshot may begin: the last one's epoch is not needed any more. Task's thread. */
bool keyed_may_snapshot(struct keyed_backend *b);
/* Synchronous part: closes the epoch; no I/O. Only when keyed_may_snapshot. */
MUST_USE enum rc keyed_snapshot_begin(struct keyed_backend *b, uint64_t checkpoint_id,
                                      struct keyed_snapshot **out, struct err *err);
/* Begins the asynchronous part, on its thread; may be left out. Over a database what the closed epoch
 * held is in an image of it then, and the next snapshot may begin while this one is written. */
MUST_USE enum rc keyed_snapshot_take(struct keyed_snapshot *s, struct err *err);
/* Asynchronous part, any one thread: writes what the closed epoch held (C11), hands files to the
 * target, fills *out with strings in `arena`. */
MUST_USE enum rc keyed_snapshot_write(struct keyed_snapshot *s, struct snapshot_target *target,
                                      struct arena *arena, struct keyed_handle *out,
                                      struct err *err);
void keyed_snapshot_free(
    struct keyed_snapshot *s); /* task's thread, after write returned or instead of it */
/* The checkpoint completed or was given up: which files later ones may take as known. */
void keyed_notify_complete(struct keyed_backend *b, uint64_t checkpoint_id);
void keyed_notify_aborted(struct keyed_backend *b, uint64_t checkpoint_id);

void keyed_stats(struct keyed_backend *b, struct keyed_stats *out);
/* "9.10.0": the RocksDB that is linked. */
const char *keyed_backend_rocksdb_version(void);

/* Entries of a scan: those that start with prefix, lie in [lower, upper) and end with ns; empty: no
 * bound. Borrowed for the call. */
struct scan_bounds {
    struct bytes prefix, lower, upper;
    bool ordered;
    struct bytes ns;
};
/* What an implementation provides; callers use the functions above. */
struct keyed_backend_ops {
    void (*close)(struct keyed_backend *);
    enum rc (*state_open)(struct keyed_backend *, const struct state_desc *, struct keyed_state **,
                          struct err *);
    void (*blind)(struct keyed_state *, const char *pattern); /* NULL: it never is */
    enum rc (*upsert)(struct keyed_state *, const struct key_batch *, void **, uint8_t *,
                      struct err *);
    enum rc (*get)(struct keyed_state *, const struct key_batch *, struct bytes *, struct err *);
    enum rc (*put)(struct keyed_state *, const struct key_batch *, const struct bytes *,
                   struct err *);
    enum rc (*del)(struct keyed_state *, const struct key_batch *, struct err *);
    enum rc (*append)(struct keyed_state *, const struct key_batch *, const struct bytes *, size_t,
                      uint32_t *, struct err *);
    bool (*in_memory)(struct keyed_state *);
    enum rc (*scan_open)(struct keyed_state *, const struct scan_bounds *, struct keyed_cursor **,
                         struct err *);
    enum rc (*scan_next)(struct keyed_cursor *, uint32_t, struct bytes *, struct bytes *,
                         uint32_t *, struct err *);
    void (*scan_close)(struct keyed_cursor *);
    enum rc (*snapshot_begin)(struct keyed_backend *, uint64_t, struct keyed_snapshot **,
                              struct err *);
    enum rc (*snapshot_write)(struct keyed_snapshot *, struct snapshot_target *, struct arena *,
                              struct keyed_handle *, struct err *);
    void (*snapshot_free)(struct keyed_snapshot *);
    bool (*may_snapshot)(struct keyed_backend *); /* NULL: when none is open */
    enum rc (*snapshot_take)(struct keyed_snapshot *, struct err *); /* NULL: with the write */
    void (*notify_complete)(struct keyed_backend *, uint64_t);
    void (*notify_aborted)(struct keyed_backend *, uint64_t);
    void (*stats)(struct keyed_backend *, struct keyed_stats *);
};
/* First members of every implementation's structs. */
struct keyed_backend {
    const struct keyed_backend_ops *ops;
};
struct keyed_state {
    struct keyed_backend *backend;
};
struct keyed_cursor {
    struct keyed_backend *backend;
};
struct keyed_snapshot {
    struct keyed_backend *backend;
};

#endif
