/* snapshot_list.h - which snapshots lie at a path: a _metadata, a chk-<n>, a savepoint, a job's
 * directory, or a root of several. Names alone are looked at; no _metadata is read, nothing is
 * locked or written.
 *
 * What is in a directory counts by its name (layout.h), so a directory with ten thousand
 * checkpoints is one listing and one stat each. Thread: any.
 */
#ifndef VARVE_CHECKPOINT_SNAPSHOT_LIST_H
#define VARVE_CHECKPOINT_SNAPSHOT_LIST_H

#include "base/arena.h"
#include "base/fs.h"

/* How far a look at many snapshots has come. */
struct look_progress {
    const char *doing; /* "files" */
    uint64_t done, all;
    bool in_bytes; /* else a count */
};
/* Who wants to know: called by the thread that called, as often as once a snapshot. `= {0}`:
 * nobody. */
struct look_watch {
    void (*fn)(void *ctx, const struct look_progress *p);
    void *ctx;
};
void look_tell(const struct look_watch *watch, const char *doing, uint64_t done, uint64_t all,
               bool in_bytes);

enum snapshot_list_type { LIST_OF_ONE, LIST_OF_JOB, LIST_OF_ROOT };
const char *snapshot_list_type_str(enum snapshot_list_type type); /* "snapshot", "job", "root" */

#define SNAPSHOT_ALONE UINT32_MAX
struct listed_snapshot {
    const char *dir;
    uint64_t checkpoint_id; /* of its name; 0: a savepoint */
    uint32_t job;           /* index of the job's directory that it lies in; SNAPSHOT_ALONE */
    bool complete;          /* has a _metadata, readable or not */
};
struct snapshot_list {
    const char *path; /* absolute */
    enum snapshot_list_type type;
    size_t job_count;
    const char **job_dirs; /* of a job or a root; sorted */
    size_t count;
    struct listed_snapshot *items; /* by job, then by id; last the savepoints of a root, by name */
};

/* `given` is a file: URI or a path; everything in `arena`. RC_NOT_FOUND: no such path, or nothing
 * of ours; RC_INVALID: a file that is no _metadata. */
MUST_USE enum rc snapshot_list_make(struct fs *fs, const char *given, struct arena *arena,
                                    struct snapshot_list *out, struct err *err);

#endif
