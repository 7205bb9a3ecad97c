/* end_note.h - the note in a job's directory that its run has ended (checkpoint/ended.h): when it
 * is written, and when a newer checkpoint takes it back.
 *
 * Thread: the job's only.
 */
#ifndef VARVE_JOB_RUNTIME_END_NOTE_H
#define VARVE_JOB_RUNTIME_END_NOTE_H

#include "checkpoint/completed.h"
#include "checkpoint/lineage.h"
#include "checkpoint/storage.h"

struct end_note {
    const struct env *env;
    struct storage *storage;         /* borrowed; without a directory nothing is noted */
    const struct run_origin *origin; /* borrowed */
    bool noted;                      /* ENDED lies in the job's directory, or may */
    uint64_t noted_stop;             /* the stop's savepoint that it names for certain; 0: none */
};

/* See driver_note_stop. */
MUST_USE enum rc end_note_stop(struct end_note *n, uint64_t savepoint_id, const char *dir,
                               struct err *err);
/* Before the last checkpoints are deleted: after them nothing else says that an older one would
 * bring results again. Nothing where what a resume goes on from stays.
 *   latest   the newest completed checkpoint; NULL: none
 *   stopped  by a stop, which was noted then */
MUST_USE enum rc end_note_job(struct end_note *n, enum job_end end,
                              const struct completed_checkpoint *latest,
                              enum checkpoint_retention retention, bool stopped, struct err *err);
/* A checkpoint is newer than what was noted. */
MUST_USE enum rc end_note_forget(struct end_note *n, struct err *err);

#endif
