/* flusher.h - the only writer to a subtask's database: rows of a closed epoch, of an eviction or of
 * a restore go in as sorted runs (large sets) or through the memtable (small ones).
 *
 * Pacing: ingestion ignores RocksDB's write stalls, so the flusher looks at the number of L0 files
 * and at the bytes that wait for compaction, and waits above the limits below.
 *
 * Thread: one at a time; the caller sees to it that a snapshot's flush and an eviction never meet
 * (epoch rule: between the first write of a closed epoch and the return of rocks_checkpoint nothing
 * else enters the database).
 */
#ifndef VARVE_BACKEND_FLUSHER_H
#define VARVE_BACKEND_FLUSHER_H

#include "backend/keyed_memory.h"
#include "backend/rocks.h"
#include "backend/row_cache.h"

#define FLUSH_RUN_LEAST_ROWS ROWS_MANY   /* from here on as runs ... */
#define FLUSH_RUN_LEAST_BYTES (4u << 20) /* ... or from here on, or when write buffers have no room. A
                                          * run ends at borders of key groups (keygroup_cut_bytes) and
                                          * where the plan's file_bytes or flush_bytes say */
#define FLUSH_L0_FILES_MAX 24u
#define FLUSH_PENDING_BYTES_MAX (16ull << 30)

struct flusher_config {
    const struct env *env;
    struct rocks_db *db;
    struct keyed_memory *memory; /* its plan bounds runs; flushes of all that share it take turns */
    const char *run_dir; /* exists; on the database's file system; for the flusher alone */
    struct key_group_range range;
    uint32_t prefix_len, key_group_count;
};
struct flusher; /* opaque */
struct flusher *flusher_new(const struct flusher_config *config);
void flusher_free(struct flusher *f);

/* Permission to flush, for sorting as well as for writing: waits until few enough others have it.
 * flusher_write without one has it for itself. */
void flusher_begin(struct flusher *f);
void flusher_end(struct flusher *f);

/* Writes all rows, or replaces the family's by them (row_source.whole): ascending keys whose groups
 * lie in the range, values of the family's shape (rocks_cf_set_shape), which are packed (asserted).
 * After an error the family may hold a part of them: the backend is unusable then. */
MUST_USE enum rc flusher_write(struct flusher *f, struct rocks_cf *cf, struct row_source *rows,
                               struct err *err);

struct flusher_stats {
    uint64_t flushes, runs, rows;
    int64_t wait_ns; /* for compactions */
};
void flusher_stats(const struct flusher *f, struct flusher_stats *out); /* any thread */

#endif
