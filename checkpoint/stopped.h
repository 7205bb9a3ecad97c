/* stopped.h - the file STOPPED in a job's directory: which savepoint its last stop made, so that a
 * resume goes on from there and not from an older checkpoint, whose results would come twice. It is
 * durable before the sinks are told to commit what the savepoint holds.
 *
 *     <checkpoint id>\n<directory of the savepoint, absolute>\n<job name>\n
 *
 * It counts only while no checkpoint beside it is newer. Thread: any.
 */
#ifndef VARVE_CHECKPOINT_STOPPED_H
#define VARVE_CHECKPOINT_STOPPED_H

#include "base/arena.h"
#include "base/fs.h"

struct stopped {
    uint64_t checkpoint_id;
    const char *savepoint_dir, *job_name;
};

/* After RC_OK it survives power loss; else the earlier one, or none, or this one is there. */
MUST_USE enum rc stopped_write(struct fs *fs, const char *job_dir, const struct stopped *s,
                               struct err *err);
/* Strings in `arena`. RC_NOT_FOUND: the job was not stopped; RC_CORRUPT: not what write makes. */
MUST_USE enum rc stopped_read(struct fs *fs, const char *job_dir, struct arena *arena,
                              struct stopped *out, struct err *err);
/* A newer checkpoint, or the end of the job, has taken its place. RC_OK also when there is none. */
MUST_USE enum rc stopped_remove(struct fs *fs, const char *job_dir, struct err *err);

#endif
