/* rocks.h - RocksDB behind our own words: databases, column families, runs, checkpoints. All
 * options objects are made in rocks_options.c, so that what we write stays readable by Flink 2:
 * format_version 5, XXH3 checksums, LZ4, bytewise comparator, merge operator
 * StringAppendTESTOperator, no write-ahead log, static levels. Flink does not know packed values
 * (value_pack.h) and merge operands of totals (blind.h), which only families of fixed-size values
 * may hold.
 *
 * Never used: timed puts, wide columns, blob files, user timestamps. Databases are scratch: nothing
 * is synced here; whoever publishes a file of one makes it durable (snapshot_target.h). Thread: any
 * for reads; one thread at a time writes. What is opened must be closed before rocks_close, which
 * asserts it.
 */
#ifndef VARVE_BACKEND_ROCKS_H
#define VARVE_BACKEND_ROCKS_H

#include "backend/keygroup.h"
#include "backend/value_pack.h"
#include "base/fs.h"

#define ROCKS_VERSION "9.10.0"
#define ROCKS_FILE_BYTES (64u << 20)

struct rocks_db; /* opaque */
struct rocks_cf; /* a column family of an open database; lives as long as it */

/* Caches that several databases share; outlives them. */
struct rocks_shared; /* opaque */
/* Data blocks, indexes and filters in one cache, to which write buffers are charged as well. */
struct rocks_shared *rocks_shared_new(uint64_t block_bytes, uint64_t write_buffer_bytes);
void rocks_shared_free(struct rocks_shared *s); /* NULL is a no-op */
struct rocks_shared_use {
    uint64_t cache_bytes, write_buffer_bytes; /* the latter are charged to the former */
};
void rocks_shared_use(struct rocks_shared *s, struct rocks_shared_use *out);

/* Which families hold rows of totals: their operands are merged by blind.h, those of all others as
 * lists. Asked when a family is opened or made. of NULL: none. */
struct rocks_totals {
    bool (*of)(const void *ctx, const char *family);
    const void *ctx; /* outlives the database */
};
struct rocks_config {
    const char *dir;
    bool create;    /* new and empty; else it must be there */
    bool read_only; /* leaves the directory as it is */
    struct rocks_shared *shared; /* NULL: caches of its own, of the two sizes */
    uint64_t block_cache_bytes, write_buffer_bytes;
    uint64_t file_bytes;    /* of a compaction's files; 0: ROCKS_FILE_BYTES */
    uint32_t compactions;   /* threads, of the whole process: the most that a database asked for; 0: 1 */
    int max_open_files;     /* -1: no limit */
    uint32_t key_group_count; /* compactions end files at borders of key groups (keygroup_cut_bytes);
                               * 0: anywhere */
    struct rocks_totals totals;
};
/* Opens with all its column families; compactions stand still until rocks_compact. RC_CORRUPT,
 * RC_IO. */
MUST_USE enum rc rocks_open(const struct rocks_config *config, struct rocks_db **out,
                            struct err *err);
void rocks_close(struct rocks_db *db); /* NULL is a no-op */
/* Lets compactions run in the background. */
MUST_USE enum rc rocks_compact(struct rocks_db *db, struct err *err);

size_t rocks_cf_count(const struct rocks_db *db); /* without "default" */
struct rocks_cf *rocks_cf_at(const struct rocks_db *db, size_t i);
const char *rocks_cf_name(const struct rocks_cf *cf);
struct rocks_cf *rocks_cf_find(const struct rocks_db *db, const char *name); /* NULL: none */
MUST_USE enum rc rocks_cf_create(struct rocks_db *db, const char *name, struct rocks_cf **out,
                                 struct err *err);
/* How its values lie: reads that begin from now on unpack them. bytes 0, as at first: they give what
 * is stored. */
void rocks_cf_set_shape(struct rocks_cf *cf, struct value_shape shape);
struct value_shape rocks_cf_shape(const struct rocks_cf *cf);
/* The family and what it holds; cf is gone, a new one may have its name. */
MUST_USE enum rc rocks_cf_drop(struct rocks_cf *cf, struct err *err);

/* What compactions of a family leave out or change; functions are called by threads of RocksDB. */
enum rocks_verdict { ROCKS_KEEP, ROCKS_REMOVE, ROCKS_CHANGE };
struct rocks_filter {
    void *ctx;                    /* outlives the database */
    int64_t (*begin)(void *ctx);  /* the moment that one compaction goes by */
    /* value: also an operand of a list. ROCKS_CHANGE: the new value was appended to `out`. */
    enum rocks_verdict (*look)(void *ctx, int64_t moment, struct bytes value, struct buf *out);
};
/* For compactions that begin from now on. */
MUST_USE enum rc rocks_cf_set_filter(struct rocks_cf *cf, const struct rocks_filter *filter,
                                     struct err *err);
/* Compacts what lies in [lower, upper] to the bottom, the filter applied. Blocks; any thread.
 * RC_CANCELLED after rocks_stop_compact_range. */
MUST_USE enum rc rocks_compact_range(struct rocks_cf *cf, struct bytes lower, struct bytes upper,
                                     struct err *err);
/* Ends those that run and all to come; returns when none is left. */
void rocks_stop_compact_range(struct rocks_db *db);

/* Empties the family at once. Iterators keep what they see; no other reads or writes of the family
 * meanwhile. */
MUST_USE enum rc rocks_cf_clear(struct rocks_cf *cf, struct err *err);

/* Keys in bytewise order; values[i].data == NULL: absent. They hold until the next call or
 * rocks_unpin. Task's thread. RC_CORRUPT: a value is neither plain nor packed. */
MUST_USE enum rc rocks_get(struct rocks_cf *cf, const struct bytes *keys, uint32_t count,
                           struct bytes *values, struct err *err);
void rocks_unpin(struct rocks_db *db);

/* Entries with lower <= key < upper, in order; they hold until the next one. */
struct rocks_iter; /* opaque */
struct rocks_iter *rocks_iter_new(struct rocks_cf *cf, struct bytes lower, struct bytes upper);
/* false at the end (and ever after), or on an error: then *rc is not RC_OK, once. The first call
 * gives the first entry. */
bool rocks_iter_next(struct rocks_iter *it, struct bytes *key, struct bytes *value, enum rc *rc,
                     struct err *err);
void rocks_iter_free(struct rocks_iter *it); /* NULL is a no-op */

/* A write batch into the memtable. */
struct rocks_batch; /* opaque */
struct rocks_batch *rocks_batch_new(struct rocks_db *db);
void rocks_batch_put(struct rocks_batch *b, struct rocks_cf *cf, struct bytes key,
                     struct bytes value);
void rocks_batch_del(struct rocks_batch *b, struct rocks_cf *cf, struct bytes key);
/* Appends an operand: of a list, whose elements are joined with ','; of totals (blind.h). */
void rocks_batch_merge(struct rocks_batch *b, struct rocks_cf *cf, struct bytes key,
                       struct bytes operand);
size_t rocks_batch_bytes(const struct rocks_batch *b);
MUST_USE enum rc rocks_batch_write(struct rocks_batch *b, struct err *err); /* and empties it */
void rocks_batch_free(struct rocks_batch *b);

/* A sorted run: an SST file written outside the database, keys ascending. */
struct rocks_run; /* opaque */
MUST_USE enum rc rocks_run_open(struct rocks_db *db, const char *path, struct rocks_run **out,
                                struct err *err);
MUST_USE enum rc rocks_run_put(struct rocks_run *r, struct bytes key, struct bytes value,
                               struct err *err);
MUST_USE enum rc rocks_run_del(struct rocks_run *r, struct bytes key, struct err *err);
MUST_USE enum rc rocks_run_merge(struct rocks_run *r, struct bytes key, struct bytes operand,
                                 struct err *err);
uint64_t rocks_run_bytes(const struct rocks_run *r); /* written so far */
MUST_USE enum rc rocks_run_finish(struct rocks_run *r, struct err *err);
void rocks_run_free(
    struct rocks_run *r); /* NULL is a no-op; a file that was not finished is left */
/* Moves runs into the family, all or none; they are gone from where they were. */
MUST_USE enum rc rocks_ingest(struct rocks_cf *cf, const char *const *paths, size_t count,
                              struct err *err);

/* Flushes the memtables and hard-links a consistent image into the new directory `dir`. */
MUST_USE enum rc rocks_checkpoint(struct rocks_db *db, const char *dir, struct err *err);

/* Live SST files; name without a slash. */
typedef enum rc rocks_file_fn(void *ctx, const char *name, uint64_t size_bytes, struct err *err);
MUST_USE enum rc rocks_live_files(struct rocks_db *db, rocks_file_fn *fn, void *ctx,
                                  struct err *err);
/* An SST file of a family. first and last are its smallest and largest key; last_open: a range
 * deletion ends there, the key itself is not in it. */
struct rocks_file {
    const char *name;
    uint64_t size_bytes;
    struct bytes first, last;
    bool last_open;
};
/* Live SST files of one family; slices hold for the call. */
typedef enum rc rocks_cf_file_fn(void *ctx, const struct rocks_file *f, struct err *err);
MUST_USE enum rc rocks_cf_files(struct rocks_cf *cf, rocks_cf_file_fn *fn, void *ctx,
                                struct err *err);
/* About how much a family holds: rows, and bytes of their keys and (unpacked) values. Of the level
 * that has most: hardly more than there is; or all_levels: rows that were written again count
 * again. */
struct rocks_size {
    uint64_t rows, key_bytes, value_bytes;
};
MUST_USE enum rc rocks_cf_size(struct rocks_cf *cf, bool all_levels, struct rocks_size *out,
                               struct err *err);
/* Every block of every live file against its checksum. */
MUST_USE enum rc rocks_verify(struct rocks_db *db, struct err *err);

struct rocks_stats {
    uint64_t live_sst_bytes, sst_files, l0_files,
        pending_compaction_bytes; /* l0_files: of the fullest family */
    uint64_t block_cache_bytes, write_buffer_bytes, running_compactions;
    bool stopped; /* the background gave up */
};
void rocks_stats(struct rocks_db *db, struct rocks_stats *out);
/* The error that `stopped` stands for, with RocksDB's reason: RC_IO, RC_CORRUPT. */
enum rc rocks_tell_stopped(struct rocks_db *db, struct err *err);

/* Since opening; `deepest`: those that wrote the deepest level of their family. Dearer than
 * rocks_stats. */
struct rocks_compactions {
    uint64_t count, deepest, written_bytes;
};
void rocks_compactions(struct rocks_db *db, struct rocks_compactions *out);

#endif
