/* varve_state.h - varve's keyed state alone: the public C API of libvarve_state.
 *
 *     vv_store *store;
 *     vv_state *counts;
 *     vv_store_config config = {.first_group = 0, .last_group = 127, .group_count = 128};
 *     vv_state_desc desc = {.name = "counts", .kind = VV_VALUE, .fixed_value_bytes = 8};
 *
 *     vv_store_open(&config, &store, &error);
 *     vv_state_open(store, &desc, &counts, &error);
 *     vv_raw_upsert(counts, &keys, rows, fresh, &error);     // rows[i] points at a counter
 *     vv_snapshot_begin(store, 1, &snapshot, &error);          // no I/O
 *     vv_dir_write(dir, snapshot, "chk-1", NULL, &error);      // on any thread
 *     vv_snapshot_free(snapshot);
 *     vv_store_close(store);
 *
 * A store holds the keyed state of one subtask: a range of key groups, any number of states, each a
 * map from composite keys to values. It lives in memory ("hashmap") or in a scratch RocksDB
 * database behind a row cache ("rocksdb"). The store on disk does not outlive its process: what
 * lasts is a snapshot, a handle and files, written by vv_snapshot_write or vv_dir_write; stores are
 * opened from handles, over any range of key groups, with either backend.
 *
 * Keys. All calls take whole composite keys, in Flink's layout:
 *
 *     key group | key | [length of key] | namespace | [length of namespace] | user key
 *
 * The key group comes first, big-endian, in 1 byte up to 128 groups and 2 above, and must lie in
 * the store's range. What follows is the caller's: a vv_key_builder lays keys out as varve's own
 * SQL state has them; a program with keys of its own (a JVM's serializers) hands them over as they
 * are.
 *
 * Threads. Each call says who may make it:
 *     [owner]  one thread at a time for each store and all that came from it. No locks are needed
 *              as long as one thread owns a store. Different stores never meet.
 *     [any]    any thread, at any time while the object exists.
 * The library holds no state outside its objects, installs no signal handlers, writes nothing to
 * standard output; warnings go to standard error. RocksDB keeps threads for its work: the shared
 * library stays loaded once it is.
 *
 * Errors. A wrong argument, a damaged or missing file, a full disk: an answer, never an abort; the
 * message names what and where. Two things end the process: memory that runs out, and a broken
 * promise inside the library. error may be NULL everywhere. After an answer that is not VV_OK, out
 * parameters are NULL or unchanged. Handing in a dangling pointer, or an object twice, can't be
 * seen.
 *
 * Bytes that are returned are borrowed; each call says for how long. Example: examples/state.c. */
#ifndef VARVE_STATE_H
#define VARVE_STATE_H

#include "varve_common.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vv_store vv_store;
typedef struct vv_state vv_state;       /* one keyed state; belongs to its store */
typedef struct vv_timers vv_timers;     /* belongs to its store */
typedef struct vv_scan vv_scan;         /* belongs to its state */
typedef struct vv_snapshot vv_snapshot; /* a snapshot under way */
typedef struct vv_handle vv_handle;     /* where a snapshot's bytes lie: a value of its own */
typedef struct vv_dir vv_dir;           /* a directory that snapshots go to */
typedef struct vv_key_builder vv_key_builder;

/* Borrowed bytes. data is NULL only for "absent" or when len is 0. */
typedef struct vv_bytes {
    const uint8_t *data;
    size_t len;
} vv_bytes;

/* `count` composite keys in one block: key i is data[offsets[i] .. offsets[i + 1]). */
typedef struct vv_keys {
    uint32_t count; /* at most VV_BATCH_MAX */
    const uint8_t *data;
    const uint32_t *offsets; /* count + 1, ascending */
} vv_keys;
#define VV_BATCH_MAX (1u << 20)
#define VV_KEY_GROUPS_MAX 32768u /* Flink's largest maximum parallelism */

/* ---- stores ---------------------------------------------------------------------------------- */

/* Memory that rocksdb stores share, as those of one task slot do: rows of each, and one block
 * cache, write buffers, flushes and compactions of all. Divided once, for at most `stores` at a
 * time, of which `threads` work at once. VV_INVALID: less than 8 mb and 2 mb for each store. [any]
 */
typedef struct vv_memory vv_memory;
VV_API vv_code vv_memory_new(uint64_t total_bytes, uint32_t stores, uint32_t threads,
                             vv_memory **out, vv_error *error);
/* NULL is a no-op. It stays until the last store that uses it is closed. [any] */
VV_API void vv_memory_free(vv_memory *memory);
typedef struct vv_memory_part {
    const char *name; /* "rows", "blocks" ...; static */
    uint64_t configured_bytes, used_bytes, peak_bytes;
} vv_memory_part;
/* VV_NOT_FOUND: there is no part of that index. [any] */
VV_API vv_code vv_memory_part_at(vv_memory *memory, size_t index, vv_memory_part *out,
                                 vv_error *error);

/* Options of a store, with Flink's keys; an unknown one is VV_INVALID and named. A size is "64 mb".
 *
 * state.backend.type: "hashmap" (default) or "rocksdb".
 *
 * state.backend.rocksdb.localdir: where databases lie, each in a directory of its own that goes
 * with the store. Needed by rocksdb, and to restore a handle of a rocksdb store. Directories that a
 * crash left there are removed when a store is opened.
 *
 * state.backend.rocksdb.memory.fixed-per-slot: memory of this store, at least 10 mb. rocksdb only:
 * a hashmap grows with its state. Not beside vv_store_config.memory.
 *
 * taskmanager.memory.managed.size: the same, where the one above is not set. Default "256 mb".
 *
 * state.backend.rocksdb.files.open: open files of the database, at most its share of what the
 * process may open (all stores of one vv_memory together have it). Default "-1": that share.
 *
 * varve.restore.verify-files: when the digests of restored SST files are compared. "first";
 * "background", while the store is used: a damaged file then fails the next call, and no snapshot
 * ends before; "auto" (default): first up to 64 mb.
 *
 * varve.restore.load-cache: "true" (default): restored rows that fit are read into memory by one
 * scan in the background; "false": row by row, when asked for. */

/* Where the files of a handle that is restored lie now; path is filled with a local path. VV_OK or
 * a code and a message. Called on the thread that opens the store. */
#define VV_PATH_MAX 4096
struct vv_file;
typedef vv_code vv_resolve_fn(void *ctx, const vv_handle *handle, const struct vv_file *file,
                              char path[VV_PATH_MAX], vv_error *error);
typedef struct vv_restore {
    const vv_handle *handle;
    const char *dir;        /* of a vv_dir: files are found there */
    vv_resolve_fn *resolve; /* where dir is NULL */
    void *ctx;
} vv_restore;

/* `= {0}` and then what differs. Everything is borrowed for the call. */
typedef struct vv_store_config {
    const char *name;                 /* for messages; NULL: "state" */
    uint32_t first_group, last_group; /* both included */
    uint32_t group_count; /* of all stores together: Flink's maximum parallelism. Fixed for the
                             life of the state */
    const vv_option *options;
    size_t option_count;
    vv_memory *memory; /* rocksdb: shared with other stores; NULL: its own, as the options say */
    const vv_restore *restore; /* entries outside the range are left out */
    size_t restore_count;
} vv_store_config;

/* Opens a store, empty or from handles: those of one snapshot, from any number of stores, in any
 * order; none is an empty store. Every file is proven by its size and its digest, as
 * varve.restore.verify-files says. Files are linked or copied: they are not needed any more
 * afterwards. [any] */
VV_API vv_code vv_store_open(const vv_store_config *config, vv_store **out, vv_error *error);
/* Frees the store and all that belongs to it, open scans included; waits for a snapshot that is
 * being written, which it cancels. A vv_snapshot of it stays, to be freed. NULL is a no-op.
 * [owner] */
VV_API void vv_store_close(vv_store *store);

/* 32 hex digits, new at every opening: within one id, local file names mean one content each. [any]
 */
VV_API const char *vv_store_id(const vv_store *store);

typedef struct vv_stats {
    uint64_t entries_cached, cache_bytes; /* rows in memory: with hashmap, the whole state */
    uint64_t dirty_rows;                  /* changed since the last snapshot began; rocksdb */
    uint64_t lookups, misses;             /* keys looked up; of those, read from the database */
    uint64_t flushes, evictions, flush_wait_ns;
    uint64_t loaded_rows; /* by varve.restore.load-cache */
    uint64_t db_bytes, db_files, level0_files, pending_compaction_bytes;
    uint64_t block_cache_bytes, write_buffer_bytes;
    uint64_t compactions, deepest_compactions; /* of those: that wrote the deepest level */
    uint64_t compacted_bytes;                  /* written by all */
} vv_stats;
VV_API vv_code vv_store_stats(vv_store *store, vv_stats *out, vv_error *error); /* [owner] */
/* The store's memory, its own or shared; holds until the store is closed. NULL: hashmap. [any] */
VV_API vv_memory *vv_store_memory(const vv_store *store);

/* ---- states ---------------------------------------------------------------------------------- */

typedef enum vv_kind { /* the numbers are part of snapshots */
                       VV_VALUE = 1,
                       VV_LIST = 2,
                       VV_MAP = 3,
                       VV_REDUCING = 4,
                       VV_AGGREGATING = 5,
                       VV_TIMERS = 6 /* only seen: vv_timers_open makes them; read raw */
} vv_kind;

/* How the namespace stands in a composite key. */
typedef enum vv_namespace {
    VV_NS_NONE = 0,  /* one byte 0: state without namespaces */
    VV_NS_INT64 = 1, /* 8 bytes, big-endian: the end of a window */
    VV_NS_BYTES = 2  /* of any size */
} vv_namespace;

/* Time-to-live, as Flink's StateTtlConfig has it: which access makes an entry young again, and
 * whether one that has expired is seen until it is cleaned up. */
typedef enum vv_ttl_update { VV_TTL_ON_CREATE_AND_WRITE, VV_TTL_ON_READ_AND_WRITE } vv_ttl_update;
typedef enum vv_ttl_visibility {
    VV_TTL_NEVER_RETURN_EXPIRED,
    VV_TTL_RETURN_EXPIRED_IF_NOT_CLEANED_UP
} vv_ttl_visibility;

/* What a reducing or aggregating state does. Called inside vv_acc_add, vv_acc_get and vv_merge;
 * they must not call into the store. VV_OK, or a code and a message: then nothing is stored for
 * that key. */
typedef struct vv_accumulator vv_accumulator;
typedef struct vv_functions {
    void *ctx;
    /* Adds an element. fresh: there is no accumulator yet; it has fixed_value_bytes zeroes, or is
     * empty. A reducing state takes its first element as it is and is not asked. */
    vv_code (*add)(void *ctx, vv_accumulator *acc, int fresh, vv_bytes element, vv_error *error);
    /* Adds another accumulator of the same key. */
    vv_code (*merge)(void *ctx, vv_accumulator *acc, vv_bytes other, vv_error *error);
    /* What a reader sees, into out. NULL: the accumulator itself. */
    vv_code (*result)(void *ctx, vv_bytes acc, vv_accumulator *out, vv_error *error);
} vv_functions;
/* Its bytes, to be changed in place; NULL when there are none. Only inside the functions above, as
 * the next two. */
VV_API uint8_t *vv_accumulator_data(vv_accumulator *acc);
VV_API size_t vv_accumulator_len(const vv_accumulator *acc);
/* Other bytes. VV_INVALID: another size, where that is fixed. VV_LIMIT: above VV_VALUE_MAX. */
VV_API vv_code vv_accumulator_set(vv_accumulator *acc, const void *data, size_t len);
#define VV_VALUE_MAX (256u << 20) /* bytes of a value, a whole list, an accumulator */

/* What a state holds; part of every snapshot. The types are texts that the store does not look
 * into, but compares: a restored state is only opened with the same kind, types and sizes. A text
 * has at most 16384 bytes. */
typedef struct vv_state_desc {
    const char *name; /* 1 to 255 bytes */
    vv_kind kind;
    vv_namespace ns;
    const char *key_type, *user_key_type, *value_type; /* NULL: "" */
    uint32_t fixed_value_bytes; /* all values, accumulators, elements of a list have this size (at
                                   most VV_FIXED_MAX); 0: they vary */
    uint64_t ttl_ms; /* time-to-live; 0: none. These three may differ from a restored state's */
    vv_ttl_update ttl_update;
    vv_ttl_visibility ttl_visibility;
    const vv_functions *functions; /* of a reducing or aggregating state; copied. NULL: raw access
                                      alone */
} vv_state_desc;
#define VV_FIXED_MAX 65536u

/* Registers a state, or attaches to the restored one of that name. A restored state that is never
 * opened is kept and part of every snapshot. VV_INVALID: another kind or other types; the message
 * shows both. [owner] */
VV_API vv_code vv_state_open(vv_store *store, const vv_state_desc *desc, vv_state **out,
                             vv_error *error);
/* All states of a store, restored and opened ones; strings hold until the store is closed.
 * VV_NOT_FOUND: index is not below the count. [owner] */
VV_API size_t vv_store_state_count(const vv_store *store);
VV_API vv_code vv_store_state_at(const vv_store *store, size_t index, vv_state_desc *out,
                                 vv_error *error);

/* ---- raw access: bytes as they are stored ---------------------------------------------------- */

/* Of any state, for programs with layouts of their own; what the kinds below store is Flink's,
 * byte for byte (docs/FORMAT.md). With a time-to-live the raw bytes hold the time. A batch is one
 * call into the store; a key may occur twice in it. An answer that is not VV_OK before anything was
 * looked up leaves the state as it was: VV_INVALID for a key without a key group, outside the
 * range, or offsets that descend. While a scan of the state is open, changes are VV_STATE. */

/* Read-modify-write of fixed-size values, without a copy: rows[i] points at the value of key i, to
 * be read and changed in place until the next call on the store; fresh[i] is 1 when the key had no
 * value (it is zeroed now), and 1 only once for a key. Counts as a change whether it is changed or
 * not. VV_INVALID where values vary in size. [owner] */
VV_API vv_code vv_raw_upsert(vv_state *state, const vv_keys *keys, void **rows, uint8_t *fresh,
                             vv_error *error);
/* values[i].data is NULL when there is none (an empty value has data). Hold until the next call on
 * the store. [owner] */
VV_API vv_code vv_raw_get(vv_state *state, const vv_keys *keys, vv_bytes *values, vv_error *error);
/* Values are copied; each at most 1 GiB, and of the state's size where that is fixed. [owner] */
VV_API vv_code vv_raw_put(vv_state *state, const vv_keys *keys, const vv_bytes *values,
                          vv_error *error);
/* Absent keys are ignored. [owner] */
VV_API vv_code vv_raw_delete(vv_state *state, const vv_keys *keys, vv_error *error);

/* The same for one key. [owner] */
VV_API vv_code vv_raw_upsert_one(vv_state *state, vv_bytes key, void **row, uint8_t *fresh,
                                 vv_error *error);
VV_API vv_code vv_raw_get_one(vv_state *state, vv_bytes key, vv_bytes *value, vv_error *error);
VV_API vv_code vv_raw_put_one(vv_state *state, vv_bytes key, vv_bytes value, vv_error *error);
VV_API vv_code vv_raw_delete_one(vv_state *state, vv_bytes key, vv_error *error);

/* ---- the kinds of state ---------------------------------------------------------------------- */

/* Keys here are composite keys without a user key. A call on a state of another kind is VV_INVALID.
 * What is said of raw access holds: answers before a change, VV_STATE while a live scan is open.
 * Values and elements that are returned hold until the next call on the store. All [owner]. */

VV_API vv_code vv_clear(vv_state *state, const vv_keys *keys, vv_error *error); /* any kind */

/* VV_VALUE. values[i].data NULL: none; putting it clears. */
VV_API vv_code vv_value_get(vv_state *state, const vv_keys *keys, vv_bytes *values,
                            vv_error *error);
VV_API vv_code vv_value_put(vv_state *state, const vv_keys *keys, const vv_bytes *values,
                            vv_error *error);
/* As vv_raw_upsert, of a value or accumulator of fixed size: rows[i] without the time of a
 * time-to-live; fresh[i] also when the value had expired. Costs what vv_raw_upsert costs. */
VV_API vv_code vv_value_upsert(vv_state *state, const vv_keys *keys, void **rows, uint8_t *fresh,
                               vv_error *error);

/* VV_LIST. Appends elements[i] to the list of key i. VV_LIMIT: a list would pass VV_VALUE_MAX; the
 * keys before that one have got their elements. */
VV_API vv_code vv_list_add(vv_state *state, const vv_keys *keys, const vv_bytes *elements,
                           vv_error *error);
/* All or none: appends to one list; makes it the list (0 elements: clears). */
VV_API vv_code vv_list_add_all(vv_state *state, vv_bytes key, const vv_bytes *elements,
                               size_t count, vv_error *error);
VV_API vv_code vv_list_put(vv_state *state, vv_bytes key, const vv_bytes *elements, size_t count,
                           vv_error *error);
typedef struct vv_list { /* one list being read; its members are the library's */
    vv_bytes rest;
    const void *of;
    int64_t now_ms;
    int first;
} vv_list;
VV_API vv_code vv_list_get(vv_state *state, const vv_keys *keys, vv_list *lists, vv_error *error);
/* The next element; data NULL: the end. */
VV_API vv_code vv_list_next(vv_list *list, vv_bytes *element, vv_error *error);

/* VV_MAP. A null value is a value: present[i] is 1 and values[i].data NULL. values or present may
 * be NULL. */
VV_API vv_code vv_map_get(vv_state *state, const vv_keys *keys, const vv_bytes *user_keys,
                          vv_bytes *values, uint8_t *present, vv_error *error);
VV_API vv_code vv_map_put(vv_state *state, const vv_keys *keys, const vv_bytes *user_keys,
                          const vv_bytes *values, vv_error *error);
VV_API vv_code vv_map_remove(vv_state *state, const vv_keys *keys, const vv_bytes *user_keys,
                             vv_error *error);
VV_API vv_code vv_map_is_empty(vv_state *state, vv_bytes key, int *empty, vv_error *error);
/* The entries of one map, in order of their user keys. The map may be changed meanwhile: an entry
 * that stays is given once. An entry's bytes hold until the next call on the iterator. To be freed,
 * and not used once the store is closed. */
typedef struct vv_map_iter vv_map_iter;
VV_API vv_code vv_map_iter_new(vv_state *state, vv_bytes key, vv_map_iter **out, vv_error *error);
/* user_key->data NULL: the end. */
VV_API vv_code vv_map_iter_next(vv_map_iter *iter, vv_bytes *user_key, vv_bytes *value,
                                vv_error *error);
VV_API void vv_map_iter_free(vv_map_iter *iter);

/* VV_REDUCING, VV_AGGREGATING, opened with functions. An error of a function: the keys before that
 * one in the batch have got their elements. */
VV_API vv_code vv_acc_add(vv_state *state, const vv_keys *keys, const vv_bytes *elements,
                          vv_error *error);
VV_API vv_code vv_acc_get(vv_state *state, const vv_keys *keys, vv_bytes *results,
                          vv_error *error); /* data NULL: none */

/* VV_LIST, VV_REDUCING, VV_AGGREGATING: what the sources hold goes to the target, in the order
 * target, sources; the sources are cleared: what merging windows need. */
VV_API vv_code vv_merge(vv_state *state, vv_bytes target, const vv_keys *sources, vv_error *error);

/* All keys that have something under a namespace (8 bytes big-endian, or any bytes; data NULL:
 * under any), as composite keys without a user key, each key and namespace once, key group by key
 * group. The state may be changed meanwhile: a key that stays is given once. The keys must be laid
 * out as a vv_key_builder does, else VV_CORRUPT. To be freed, as a vv_map_iter. */
typedef struct vv_key_iter vv_key_iter;
VV_API vv_code vv_key_iter_new(vv_state *state, vv_bytes ns, uint32_t first_group,
                               uint32_t last_group, vv_key_iter **out, vv_error *error);
/* Up to `max`; *got is 0 at the end. They hold until the next call on the iterator. */
VV_API vv_code vv_key_iter_next(vv_key_iter *iter, uint32_t max, vv_bytes *keys, uint32_t *got,
                                vv_error *error);
VV_API void vv_key_iter_free(vv_key_iter *iter);

/* ---- scans ----------------------------------------------------------------------------------- */

#define VV_SCAN_LIVE 0u /* from the store as it goes; the state can't be changed meanwhile */
#define VV_SCAN_COPY 1u /* what there is now is copied first: changes are fine, and not seen */

/* All entries whose composite key begins with `prefix` (empty: all), each once, in order of the
 * keys' bytes: key group by key group. [owner] */
VV_API vv_code vv_scan_open(vv_state *state, vv_bytes prefix, unsigned flags, vv_scan **out,
                            vv_error *error);
/* The entries of one key group. [owner] */
VV_API vv_code vv_scan_open_group(vv_state *state, uint32_t group, unsigned flags, vv_scan **out,
                                  vv_error *error);
/* Up to `max` entries; *got is 0 at the end. They hold until the next call on the scan. [owner] */
VV_API vv_code vv_scan_next(vv_scan *scan, uint32_t max, vv_bytes *keys, vv_bytes *values,
                            uint32_t *got, vv_error *error);
VV_API void vv_scan_close(vv_scan *scan); /* NULL is a no-op; before the store is closed [owner] */

/* ---- composite keys -------------------------------------------------------------------------- */

#define VV_NO_GROUP UINT32_MAX
/* Key group of a Java hashCode(), as Flink computes it. VV_NO_GROUP: group_count is not in
 * 1..VV_KEY_GROUPS_MAX. [any] */
VV_API uint32_t vv_key_group_of_hash(uint32_t java_hash, uint32_t group_count);
/* Key group of a key's bytes: that of varve's and Flink's SQL state when they are a binary row. The
 * length is padded with zeroes to a multiple of 4. [any] */
VV_API uint32_t vv_key_group(vv_bytes key, uint32_t group_count);
/* The store (0 .. parallelism - 1) that a key group belongs to, and the range of a store, as Flink
 * deals them out. VV_INVALID: index not below parallelism, parallelism above group_count. [any] */
VV_API uint32_t vv_key_group_owner(uint32_t group, uint32_t parallelism, uint32_t group_count);
VV_API vv_code vv_key_group_range(uint32_t index, uint32_t parallelism, uint32_t group_count,
                                  uint32_t *first_group, uint32_t *last_group, vv_error *error);

/* A builder makes the keys of a batch in one block, kept from batch to batch. It is an object of
 * its own, for any store of that many key groups: one thread at a time. The key is written as a
 * 4-byte big-endian length and its bytes. */
VV_API vv_code vv_key_builder_new(uint32_t group_count, vv_namespace ns, vv_key_builder **out,
                                  vv_error *error);
VV_API void vv_key_builder_free(vv_key_builder *builder);
VV_API void vv_key_builder_clear(vv_key_builder *builder); /* no keys; memory is kept */
/* VV_NS_NONE. user_key: empty unless the state is a map; empty for one, it is the prefix of the
 * whole map. VV_LIMIT: above 1 GiB of keys. */
VV_API vv_code vv_key_builder_add(vv_key_builder *builder, uint32_t group, vv_bytes key,
                                  vv_bytes user_key, vv_error *error);
VV_API vv_code vv_key_builder_add_int64(vv_key_builder *builder, uint32_t group, vv_bytes key,
                                        int64_t ns, vv_bytes user_key, vv_error *error);
VV_API vv_code vv_key_builder_add_bytes(vv_key_builder *builder, uint32_t group, vv_bytes key,
                                        vv_bytes ns, vv_bytes user_key, vv_error *error);
/* A whole composite key, made elsewhere. */
VV_API vv_code vv_key_builder_add_raw(vv_key_builder *builder, vv_bytes composite_key,
                                      vv_error *error);
/* The keys so far; hold until the next call on the builder. */
VV_API vv_keys vv_key_builder_keys(const vv_key_builder *builder);

/* A composite key taken apart; parts are borrowed from it. VV_CORRUPT: it is not laid out so. [any]
 */
typedef struct vv_key_parts {
    uint32_t group;
    vv_bytes key, ns, user_key;
    int64_t ns_int64; /* VV_NS_INT64 */
} vv_key_parts;
VV_API vv_code vv_key_split(vv_bytes composite_key, uint32_t group_count, vv_namespace ns,
                            vv_key_parts *out, vv_error *error);

/* ---- timers ---------------------------------------------------------------------------------- */

typedef enum vv_time { VV_EVENT_TIME, VV_PROCESSING_TIME } vv_time;

/* Timers of one service ("user-timers"): a set of (time, composite key), ordered by time, part of
 * snapshots as a state of their own. ns and key_type as in vv_state_desc. Opening one twice in a
 * store is VV_EXISTS. [owner] */
VV_API vv_code vv_timers_open(vv_store *store, vv_time time, const char *service, vv_namespace ns,
                              const char *key_type, vv_timers **out, vv_error *error);
/* Registering one again changes nothing; deleting one that is not there neither. [owner] */
VV_API vv_code vv_timers_register(vv_timers *timers, const vv_keys *keys, const int64_t *at_ms,
                                  vv_error *error);
VV_API vv_code vv_timers_delete(vv_timers *timers, const vv_keys *keys, const int64_t *at_ms,
                                vv_error *error);
/* Takes out up to `max` timers with at_ms <= until_ms, the earliest first and within one time by
 * key; keys->count is 0 when there are none. One call takes at most 65536. They hold until the next
 * call on the timers. [owner] */
VV_API vv_code vv_timers_pop(vv_timers *timers, int64_t until_ms, uint32_t max, vv_keys *keys,
                             const int64_t **at_ms, vv_error *error);
VV_API int64_t vv_timers_next_ms(vv_timers *timers);      /* INT64_MAX: none [owner] */
VV_API uint64_t vv_timers_count(const vv_timers *timers); /* [owner] */

/* ---- handles --------------------------------------------------------------------------------- */

typedef enum vv_scope {
    VV_FILE_INLINE,    /* the bytes are in the handle itself */
    VV_FILE_EXCLUSIVE, /* belongs to this snapshot alone */
    VV_FILE_SHARED     /* may belong to several snapshots: found by its digest */
} vv_scope;
typedef struct vv_file {
    const char *local_name; /* in a database ("000023.sst"); "" for a stream */
    vv_scope scope;
    const char *reference; /* what the sink called it; "" inline */
    uint64_t size_bytes;
    uint8_t digest[16]; /* XXH3-128 of the content, big-endian */
    int newly_written;  /* by this snapshot: the sink said so */
    vv_bytes content;   /* VV_FILE_INLINE */
} vv_file;
typedef struct vv_handle_info {
    const char *backend; /* "hashmap", "rocksdb" */
    const char *store_id;
    uint32_t first_group, last_group, group_count;
    size_t file_count, state_count;
    uint64_t full_bytes; /* of all files */
    uint64_t new_bytes;  /* of those newly written */
} vv_handle_info;

/* Handles never change: everything here is [any]. Strings and bytes hold until vv_handle_free. */
VV_API void vv_handle_free(vv_handle *handle); /* NULL is a no-op; the files stay */
VV_API vv_code vv_handle_info_get(const vv_handle *handle, vv_handle_info *out, vv_error *error);
VV_API vv_code vv_handle_file(const vv_handle *handle, size_t index, vv_file *out, vv_error *error);
VV_API vv_code vv_handle_state(const vv_handle *handle, size_t index, vv_state_desc *out,
                               vv_error *error);
/* Bytes to keep, for any later version (docs/FORMAT.md). Answers the size; writes only when cap is
 * enough. 0: handle is NULL. */
VV_API size_t vv_handle_encode(const vv_handle *handle, void *out, size_t cap);
/* From bytes that may be damaged or worse: VV_CORRUPT, VV_VERSION, VV_LIMIT. To be freed. */
VV_API vv_code vv_handle_decode(const void *data, size_t len, vv_handle **out, vv_error *error);

/* ---- snapshots ------------------------------------------------------------------------------- */

/* A snapshot has two parts. The synchronous one, vv_snapshot_begin, closes the epoch: no I/O, and
 * what the state is at that moment is what the snapshot will hold. The asynchronous one,
 * vv_snapshot_write or vv_dir_write, may run on another thread while the owner goes on. One
 * snapshot of a store at a time: VV_STATE until the last one is freed.
 *
 * With rocksdb an owner that needs room before the write has begun takes the image of the database
 * itself: that call does I/O; while the write takes it, the owner waits. It never waits for the
 * sink.
 */

/* checkpoint_id: any number that no other open snapshot of the store has. [owner] */
VV_API vv_code vv_snapshot_begin(vv_store *store, uint64_t checkpoint_id, vv_snapshot **out,
                                 vv_error *error);

/* Where a snapshot's files go: the caller's functions, called on the thread that writes, one at a
 * time for each snapshot. Each answers VV_OK when content and name are as durable as the caller
 * needs them, else a code and a message, which end the write. `reference` is filled with the name
 * under which a restore finds the file: 1 to VV_REFERENCE_MAX - 1 bytes. */
#define VV_REFERENCE_MAX 1024
#define VV_INLINE_MAX (16u << 20)
typedef struct vv_sink {
    void *ctx;
    /* A finished local file, unchanged for ever, that later snapshots name again under the same
     * local_name and digest: take it (link, copy, upload) unless it is there already. local_path
     * goes away after the call. *newly_written: 1 unless nothing had to be written. */
    vv_code (*share)(void *ctx, const char *local_path, const char *local_name, uint64_t size_bytes,
                     const uint8_t digest[16], char reference[VV_REFERENCE_MAX], int *newly_written,
                     vv_error *error);
    /* Small content of this snapshot alone. */
    vv_code (*put)(void *ctx, const void *data, size_t len, char reference[VV_REFERENCE_MAX],
                   vv_error *error);
    /* Content of this snapshot alone that comes in pieces; finish or abort ends a stream. */
    vv_code (*stream_open)(void *ctx, void **stream, vv_error *error);
    vv_code (*stream_append)(void *ctx, void *stream, const void *data, size_t len,
                             vv_error *error);
    vv_code (*stream_finish)(void *ctx, void *stream, char reference[VV_REFERENCE_MAX],
                             vv_error *error);
    void (*stream_abort)(void *ctx, void *stream);
    size_t inline_max_bytes; /* up to this size, put and streams stay inside the handle; at most
                                VV_INLINE_MAX */
} vv_sink;

/* Writes what the store held when the snapshot began, once. VV_CANCELLED: vv_snapshot_cancel, or
 * the store was closed. Whatever the answer, files that were taken before a failure are the
 * caller's to remove. *out is to be freed. [any] */
VV_API vv_code vv_snapshot_write(vv_snapshot *snapshot, const vv_sink *sink, vv_handle **out,
                                 vv_error *error);
/* A running or later write ends soon, with VV_CANCELLED. A function of the sink that waits is the
 * caller's to wake. [any] */
VV_API void vv_snapshot_cancel(vv_snapshot *snapshot);
/* After the write returned, or instead of it; waits for one that runs. Before or after the store is
 * closed. NULL is a no-op. [owner] */
VV_API void vv_snapshot_free(vv_snapshot *snapshot);

/* The checkpoint as a whole (of all stores) is complete, or was given up. [owner] */
VV_API vv_code vv_store_notify_complete(vv_store *store, uint64_t checkpoint_id, vv_error *error);
VV_API vv_code vv_store_notify_aborted(vv_store *store, uint64_t checkpoint_id, vv_error *error);

/* ---- a directory for snapshots --------------------------------------------------------------- */

/* The ready-made place: <path>/shared/ with files by content, <path>/own/ with files of one
 * snapshot, and a handle for each snapshot, <path>/<name>.handle. A handle appears whole, after
 * everything it names is durable. The directory may be moved or copied as a whole.
 *
 * Held by one vv_dir at a time: VV_STATE while another one, of any process, has it open. Made if it
 * is not there. [any] */
VV_API vv_code vv_dir_open(const char *path, vv_dir **out, vv_error *error);
VV_API void vv_dir_close(vv_dir *dir); /* NULL is a no-op; after all calls on it returned */
/* vv_snapshot_write into the directory, then the handle under `name` (letters, digits, '.', '-',
 * '_'; not '.' first; at most 100). VV_EXISTS: there is such a handle. After a failure nothing that
 * was there is harmed. out may be NULL. Several stores may write at once. [any] */
VV_API vv_code vv_dir_write(vv_dir *dir, vv_snapshot *snapshot, const char *name, vv_handle **out,
                            vv_error *error);
/* VV_NOT_FOUND, VV_CORRUPT. *out is to be freed. [any] */
VV_API vv_code vv_dir_load(vv_dir *dir, const char *name, vv_handle **out, vv_error *error);
/* Deletes a handle: that snapshot is gone. Its files stay until vv_dir_sweep. [any] */
VV_API vv_code vv_dir_remove(vv_dir *dir, const char *name, vv_error *error);
/* Deletes the files of shared/ and own/ that no handle of the directory names. Nothing is deleted
 * while a handle can't be read (VV_CORRUPT) or a write runs (VV_STATE). *deleted_bytes may be NULL.
 * [any] */
VV_API vv_code vv_dir_sweep(vv_dir *dir, uint64_t *deleted_bytes, vv_error *error);

#ifdef __cplusplus
}
#endif

#endif
