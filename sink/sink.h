/* sink.h - results leave exactly once: the contract between an operator that drives a sink and the
 * sink.
 *
 * A sink knows bytes and files, not rows, types or tasks. One `struct sink` serves one subtask: it
 * writes, and it commits what it wrote once the checkpoint that holds it is complete (C7). Life,
 * with checkpoint n:
 *
 *     open(restored items) -> [ write* on_time* prepare(n) -> items into checkpoint n
 *                               -> commit(n) when n is notified ]* -> close
 *
 * prepare hands out two lists of opaque, versioned items. Both are *split* list states: after a
 * rescale any subtask may get any item; of a write-ahead sink (wal_sink.h) the writers are a *union*
 * list: every subtask gets all. What was prepared for a checkpoint that failed, or for a
 * savepoint (not notified), is handed out again by the next prepare and committed by the next
 * commit: an intermediate savepoint commits nothing.
 *
 * Times are wall milliseconds, passed in. All I/O goes through env->fs. Thread: the task's only.
 */
#ifndef VARVE_SINK_SINK_H
#define VARVE_SINK_SINK_H

#include "base/arena.h"
#include "base/env.h"
#include "base/hash.h"

/* Names of the two list states. */
#define SINK_STATE_WRITER "sink-writer"
#define SINK_STATE_COMMITTABLES "sink-committables"

struct sink_items {
    size_t count;
    const struct bytes *items;
};
/* A file that the snapshot needs besides, durable with its name. */
struct sink_log {
    const char *path;
    uint64_t size_bytes;
    struct digest128 digest;
    bool newly_written; /* no snapshot before had it */
};
/* What a snapshot holds of a sink: handed out by prepare, given back at open (items only: the logs
 * then lie in the new job's directory, under their names). */
struct sink_snapshot {
    struct sink_items writer, committables;
    size_t log_count;
    const struct sink_log *logs;
};

struct sink_stats {
    uint64_t bytes_written, rows_written;              /* since open */
    uint64_t open_parts, pending_parts;                /* now */
    uint64_t finished_parts, finished_rows;            /* committed since open */
    uint64_t recovered_parts;                          /* open parts taken over at open */
    uint64_t removed_leftovers, lost_parts, lost_rows; /* at open */
};

struct sink; /* first member is its ops */
struct sink_ops {
    enum rc (*write)(struct sink *, struct bytes bucket, struct bytes data, uint64_t row_count,
                     int64_t now_wall_ms, struct err *);
    enum rc (*on_time)(struct sink *, int64_t now_wall_ms, int64_t *next_wall_ms, struct err *);
    enum rc (*prepare)(struct sink *, uint64_t checkpoint_id, bool end_of_input,
                       int64_t now_wall_ms, struct arena *, struct sink_snapshot *, struct err *);
    enum rc (*commit)(struct sink *, uint64_t checkpoint_id, struct err *);
    void (*stats)(const struct sink *, struct sink_stats *);
    void (*abort)(struct sink *);
    enum rc (*close)(struct sink *, struct err *);
};
struct sink {
    const struct sink_ops *ops;
};

/* Append `data`: `row_count` complete encoded rows (a part is cut between two calls only).
 *   bucket   directory below the sink's path, "" for the path itself; "a=1/b=x": no leading '/', no
 * empty, "." or ".." component A failure leaves the sink usable only for abort. */
static inline MUST_USE enum rc sink_write(struct sink *s, struct bytes bucket, struct bytes data,
                                          uint64_t row_count, int64_t now_wall_ms, struct err *err)
{
    return s->ops->write(s, bucket, data, row_count, now_wall_ms, err);
}
/* Close parts by age and inactivity. *next_wall_ms: when to call again (INT64_MAX: no need). */
static inline MUST_USE enum rc sink_on_time(struct sink *s, int64_t now_wall_ms,
                                            int64_t *next_wall_ms, struct err *err)
{
    return s->ops->on_time(s, now_wall_ms, next_wall_ms, err);
}
/* The barrier of `checkpoint_id` (ids grow). Everything written before is on disk and named durably
 * when it returns. With end_of_input all parts are closed. The items live in `arena`. */
static inline MUST_USE enum rc sink_prepare(struct sink *s, uint64_t checkpoint_id,
                                            bool end_of_input, int64_t now_wall_ms,
                                            struct arena *arena, struct sink_snapshot *out,
                                            struct err *err)
{
    return s->ops->prepare(s, checkpoint_id, end_of_input, now_wall_ms, arena, out, err);
}
/* Checkpoint `checkpoint_id` is complete: make everything prepared for it or earlier visible.
 * Committing again changes nothing. Call with UINT64_MAX after the last prepare of a job without
 * checkpoints. */
static inline MUST_USE enum rc sink_commit(struct sink *s, uint64_t checkpoint_id, struct err *err)
{
    return s->ops->commit(s, checkpoint_id, err);
}
static inline void sink_stats(const struct sink *s, struct sink_stats *out)
{
    s->ops->stats(s, out);
}
/* Give up: handles are closed, nothing is deleted or made visible; recovery from a checkpoint goes
 * on from the files. Frees. */
static inline void sink_abort(struct sink *s)
{
    if (s != NULL)
        s->ops->abort(s);
}
/* The regular end. Parts still open stay hidden (they are in the last checkpoint, or it was not
 * wanted). Frees, whatever the code. */
static inline MUST_USE enum rc sink_close(struct sink *s, struct err *err)
{
    return s->ops->close(s, err);
}

/* ---- file sink (file_sink.c) ----------------------------------------------------------------- */

/* When a part closes; 0 = never for this reason. Defaults of SQL: 128 MB, 30 min, 30 min. */
struct rolling_policy {
    bool on_checkpoint;
    uint64_t size_bytes;
    int64_t rollover_ms, inactivity_ms;
};
struct file_sink_config {
    const struct env *env;
    const char *path; /* absolute base directory; made when absent */
    const char *uuid; /* one a deployment of a job, the same in all its subtasks */
    uint32_t subtask_index;
    struct rolling_policy rolling;
    uint32_t max_open_parts;   /* past it the part not written for longest is closed; 0 = 256 */
    bool ignore_missing_parts; /* B31: go on without parts that are gone and count their rows as
                                  lost */
    bool remove_leftovers;     /* the run that took the restored checkpoint is known to be dead: its
                                * hidden files that the checkpoint does not name are removed (B30).
                                * Never set it while that run may live */
    const char *const *earlier_uuids; /* of deployments before that left nothing to restore: with
                                       * remove_leftovers all their hidden files of this subtask go */
    uint32_t earlier_uuid_count;
    const char *name; /* for messages: "Sink[out] (1/2)" */
};
/* Opens for writing. First every file of every restored item is looked up; only when all are there
 * (or ignored) is anything changed: pending parts are committed at their old path, open parts are
 * cut to the recorded length and go on. RC_NOT_FOUND names each missing part and the rows at stake;
 * RC_CORRUPT a part that is shorter than recorded, or a damaged item; RC_VERSION an item of a newer
 * program. */
MUST_USE enum rc file_sink_open(const struct file_sink_config *config,
                                const struct sink_snapshot *restored, struct sink **out,
                                struct err *err);
/* Only the look-up of open: for a dry run, and to fail before anything starts. The items of all
 * subtasks may be given at once. Changes nothing. */
MUST_USE enum rc file_sink_check_restored(const struct file_sink_config *config,
                                          const struct sink_snapshot *restored, struct err *err);

/* ---- print and blackhole (print_sink.c) ------------------------------------------------------ */

/* Writes what it is given to `fd` (borrowed), at least once; fd < 0 drops it. prepare hands out
 * nothing. */
struct sink *print_sink_new(int fd, const char *name);

#endif
