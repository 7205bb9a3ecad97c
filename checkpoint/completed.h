/* completed.h - finished checkpoints of a job: keep the newest N, subsume the rest; who stays when
 * the job ends.
 *
 * Pure bookkeeping of ids; the caller discards what is handed back. Savepoints are never added
 * (they are the user's), except the one a job was restored from. Thread: the driver's. After:
 * DefaultCompletedCheckpointStore, CheckpointSubsumeHelper (flink-runtime).
 */
#ifndef VARVE_CHECKPOINT_COMPLETED_H
#define VARVE_CHECKPOINT_COMPLETED_H

#include "checkpoint/barrier.h"

enum checkpoint_retention {
    RETAIN_NONE,
    RETAIN_DELETE_ON_CANCELLATION,
    RETAIN_ON_CANCELLATION
}; /* order of the option's words */
enum job_end { JOB_END_FINISHED, JOB_END_CANCELED, JOB_END_FAILED, JOB_END_SUSPENDED };
/* The table of spec'd ends: true = completed checkpoints stay. */
bool retention_keeps(enum checkpoint_retention retention, enum job_end end);

struct completed_checkpoint {
    uint64_t id;
    bool restored;  /* the snapshot this job started from */
    bool savepoint; /* restored ones only */
    bool owned;     /* false: restored with NO_CLAIM, never deleted by us */
};
struct completed;
struct completed *completed_new(uint32_t num_retained); /* >= 1 */
void completed_free(struct completed *c);
/* Ids grow. Fills `removed` (room for completed_count() + 1) with what is subsumed by it, oldest
 * first; returns how many. The restored snapshot goes with the first one after it, whatever N: its
 * copies here are named by no `_metadata` of this job, so they would be nobody's after a crash. */
size_t completed_add(struct completed *c, struct completed_checkpoint add,
                     struct completed_checkpoint *removed);
size_t completed_count(const struct completed *c);
const struct completed_checkpoint *completed_at(const struct completed *c,
                                                size_t i); /* oldest first */
/* Newest, NULL when none: what a restart goes back to. */
const struct completed_checkpoint *completed_latest(const struct completed *c);
/* End of the job: fills `removed` with those to be deleted, oldest first, and empties the list.
 * A restored snapshot that is not owned is always among them: it stays where it is, but what was
 * linked for it here goes. SUSPENDED removes none. */
size_t completed_shutdown(struct completed *c, enum checkpoint_retention retention,
                          enum job_end end, struct completed_checkpoint *removed);

#endif
