/* restore_flink.h - a job that goes on from a snapshot of Flink's (checkpoint/flink/flink_import.h): it
 * is read into a savepoint of ours first, in a directory of the job's own beside its checkpoints, and
 * that is restored. The directory goes once the job has its files, or with the job where it keeps none;
 * one that a crash left, with the next of its kind.
 *
 * It is read by a process of its own, of this program started anew, where env->program says how (C13);
 * else in this one. Thread: any. */
#ifndef VARVE_JOB_RUNTIME_RESTORE_FLINK_H
#define VARVE_JOB_RUNTIME_RESTORE_FLINK_H

#include "job/runtime/restore_plan.h"

/* What that process is started with (own_program.h): it carries an import_order out. */
#define IMPORT_WORD "import-flink"

/* Fills p->recovered from the snapshot in `dir` (flink_newest.h). look_only: decides, but reads no keys and writes
 * nothing; keyed states of the tree are empty then. RC_INVALID: it does not fit, or is to be claimed;
 * RC_CORRUPT: also when the process that reads it is ended by it; RC_CANCELLED: this process was asked to
 * end meanwhile. */
MUST_USE enum rc restore_flink(const struct env *env, const struct config *config,
                               const struct graph *g, const char *dir, bool look_only,
                               struct restore_plan *p, struct err *err);
/* A mapping (flink_draft.h) of the snapshot at `uri` to the operators of g (NULL: none), appended. RC_INVALID: Flink
 * wrote none there. */
MUST_USE enum rc restore_flink_draft(const struct env *env, const struct config *config,
                                     const struct graph *g, const char *uri, struct buf *out,
                                     struct err *err);
/* The directory is not needed any more; a no-op when there is none. */
void restore_flink_forget(struct restore_plan *p);

#endif
