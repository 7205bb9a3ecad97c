/* ended.h - the file ENDED in a job's directory: how its run came to its end, where nothing else there
 * says so, because its checkpoints are deleted (it finished, or the retention rule wants it) or
 * because a stop made a savepoint elsewhere. Without it a resume would go on from an older
 * checkpoint, of this run or one before it (lineage.h), and show results twice.
 *
 * It is durable before a stop's sinks are told to commit, and before the last checkpoint is deleted.
 * It counts only while no checkpoint beside it is newer. Thread: any. After: JobResultStore
 * (flink-runtime), which is for a dispatcher's recovery alone.
 */
#ifndef VARVE_CHECKPOINT_ENDED_H
#define VARVE_CHECKPOINT_ENDED_H

#include "checkpoint/completed.h"
#include "checkpoint/note.h"

struct ended {
    enum job_end end; /* not JOB_END_SUSPENDED: that leaves its checkpoints and no note */
    uint64_t checkpoint_id; /* newest; 0: none */
    int64_t wall_ms;
    const char *savepoint_dir; /* NULL: it was no stop; else the resume goes on from there */
    const char *job_id, *job_name, *fingerprint; /* of the run that ended (lineage.h) */
};
const char *ended_word(enum job_end end); /* "FINISHED", .. */

/* The file's content; a time before 1970 becomes 0. */
void ended_encode(const struct ended *e, struct buf *out);
/* RC_CORRUPT: not what encode makes. Strings in the note's arena. */
MUST_USE enum rc ended_parse(struct note note, struct ended *out, struct err *err);

/* Codes as for note_write. */
MUST_USE enum rc ended_write(struct fs *fs, const char *job_dir, const struct ended *e,
                             struct err *err);
/* Strings in `arena`. RC_NOT_FOUND: no such note; RC_CORRUPT; RC_LIMIT. */
MUST_USE enum rc ended_read(struct fs *fs, const char *job_dir, struct arena *arena,
                            struct ended *out, struct err *err);
/* A newer checkpoint has taken its place. RC_OK also when there is none. */
MUST_USE enum rc ended_remove(struct fs *fs, const char *job_dir, struct err *err);

#endif
