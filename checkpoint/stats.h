/* stats.h - counts, summaries and history of checkpoints: what REST, the web page, logs and metrics
 * show, in Flink's terms.
 *
 * The coordinator feeds a tracker; a view is a plain copy in the caller's arena, so that it can be
 * read under no lock. Times are wall ms since the epoch, durations ms, sizes bytes; -1 = not yet,
 * unknown. No I/O. Thread: the tracker belongs to the driver's. After: CheckpointStatsTracker,
 * CompletedCheckpointStatsSummary, CheckpointStatsHistory (flink-runtime).
 */
#ifndef VARVE_CHECKPOINT_STATS_H
#define VARVE_CHECKPOINT_STATS_H

#include "base/arena.h"
#include "checkpoint/barrier.h"

enum checkpoint_status { CHECKPOINT_IN_PROGRESS, CHECKPOINT_COMPLETED, CHECKPOINT_FAILED };
const char *
checkpoint_status_str(enum checkpoint_status s); /* "IN_PROGRESS", "COMPLETED", "FAILED" */
const char *
checkpoint_type_str(enum checkpoint_kind k); /* "CHECKPOINT", "SAVEPOINT", "SYNC_SAVEPOINT" */

/* What a task reports with its ack. */
struct ack_stats {
    uint64_t checkpointed_bytes; /* newly written by this checkpoint */
    uint64_t state_bytes;        /* everything it names */
    int64_t sync_ms, async_ms, alignment_ms, start_delay_ms;
    uint64_t processed_bytes; /* input taken while aligning */
    uint64_t persisted_bytes; /* rows in flight that belong to it */
    bool unaligned;           /* its barrier overtook */
};
struct subtask_checkpoint_stats {
    uint32_t index;
    bool acked; /* else all below are -1 or 0 */
    int64_t ack_wall_ms, end_to_end_ms;
    struct ack_stats ack;
};
struct vertex_checkpoint_stats {
    const char *id, *name;
    uint32_t subtask_count, ack_count;
    int64_t latest_ack_wall_ms, end_to_end_ms;
    uint64_t checkpointed_bytes, state_bytes, processed_bytes, persisted_bytes;
    struct subtask_checkpoint_stats *subtasks; /* by index */
};
struct checkpoint_detail {
    uint64_t id;
    enum checkpoint_status status;
    enum checkpoint_kind kind;
    int64_t trigger_wall_ms, latest_ack_wall_ms, end_to_end_ms;
    uint64_t checkpointed_bytes, state_bytes, processed_bytes, persisted_bytes;
    bool unaligned; /* the barrier overtook in some subtask */
    uint32_t subtask_count, ack_count;
    const char *external_path; /* completed: absolute directory; else NULL */
    bool discarded;            /* completed, and deleted since */
    int64_t failure_wall_ms;
    const char *failure_message; /* failed; else NULL */
    uint32_t vertex_count;
    struct vertex_checkpoint_stats *vertices;
};
/* Over completed checkpoints and savepoints; percentiles over the last 10,000, NaN when there is
 * none. */
struct stats_summary {
    int64_t min, max, avg;
    double p50, p90, p95, p99, p999;
};
struct checkpoint_stats {
    uint64_t restored_count, total_count, in_progress_count, completed_count, failed_count;
    struct stats_summary checkpointed_bytes, state_bytes, end_to_end_ms, processed_bytes,
        persisted_bytes;
    const struct checkpoint_detail *
        latest_completed; /* not a savepoint; NULL: none. Its path existed when the view was made */
    const struct checkpoint_detail *latest_savepoint, *latest_failed;
    bool restored;
    uint64_t restored_id;
    int64_t restored_wall_ms;
    bool restored_is_savepoint;
    const char *restored_path;
    size_t history_count; /* newest first; in-progress ones included */
    struct checkpoint_detail *history;
};
/* Detail by id in a view; NULL: dropped from the history or never there. */
const struct checkpoint_detail *checkpoint_stats_find(const struct checkpoint_stats *s,
                                                      uint64_t id);

/* ---- the tracker; fed by coordinator.c ------------------------------------------------------- */

struct stats_vertex {
    const char *id, *name;
    uint32_t parallelism;
};
struct stats_tracker;
struct stats_tracker *stats_tracker_new(const struct stats_vertex *vertices, uint32_t vertex_count,
                                        uint32_t history_size); /* copies; 0 = 10 */
void stats_tracker_free(struct stats_tracker *t);
void stats_tracker_restored(struct stats_tracker *t, uint64_t id, bool is_savepoint,
                            const char *path, int64_t now_wall_ms);
/* Where a completed checkpoint or the restored snapshot lies; NULL: not known any more. Holds until
 * the next change. */
const char *stats_tracker_path(const struct stats_tracker *t, uint64_t id);
void stats_tracker_started(struct stats_tracker *t, uint64_t id, enum checkpoint_kind kind,
                           int64_t now_wall_ms);
void stats_tracker_acked(struct stats_tracker *t, uint64_t id, uint32_t vertex,
                         uint32_t subtask_index, const struct ack_stats *ack, int64_t now_wall_ms);
void stats_tracker_completed(struct stats_tracker *t, uint64_t id, const char *path,
                             int64_t now_wall_ms);
void stats_tracker_failed(struct stats_tracker *t, uint64_t id, const char *message,
                          int64_t now_wall_ms);
/* An attempt that failed before it had an id. */
void stats_tracker_failed_early(struct stats_tracker *t);
void stats_tracker_discarded(struct stats_tracker *t, uint64_t id);
void stats_tracker_view(const struct stats_tracker *t, struct arena *arena,
                        struct checkpoint_stats *out);

#endif
