/* recovery.h - from a path to a snapshot that can be restored: newest in a directory, or by
 * metadata path.
 *
 * Everything is checked before anything starts: _metadata (C13), that each named file is there with
 * its size, on request its digest; all faults are listed, not the first. Nothing is written, locked
 * or deleted. A given chk-<n>, savepoint or _metadata is that one or an error; a directory of
 * several gives the newest that verifies, and the list of those passed over with reasons.
 *
 * Codes: RC_NOT_FOUND, RC_CORRUPT, RC_VERSION, RC_INVALID and RC_UNSUPPORTED are final; RC_IO may
 * pass (a retry is sensible). With a directory, RC_IO ends the search: a checkpoint that cannot be
 * read at this moment is not passed over.
 * Thread: any.
 */
#ifndef VARVE_CHECKPOINT_RECOVERY_H
#define VARVE_CHECKPOINT_RECOVERY_H

#include "base/env.h"
#include "checkpoint/metadata.h"

struct recovery_fault {
    const char *operator_name;
    uint32_t subtask_index;
    const char *path; /* as resolved */
    uint64_t size_bytes;
    const char *reason; /* "missing", "12 bytes instead of 4096", "digest differs" */
};
struct recovery_skip {
    const char *path, *reason;
};
/* `= {0}`; release after every call that got it, also a failed one. */
struct recovered {
    struct arena *arena;              /* owns all below */
    struct checkpoint_metadata *meta; /* resolved_path set on every file that is not inline */
    const char *dir;                  /* absolute; where _metadata lies */
    uint64_t metadata_bytes;
    uint64_t newest_seen_id; /* of any chk-<n> beside it, complete or not, and its own id (C9) */
    size_t skip_count;       /* newer ones that were passed over, newest first */
    struct recovery_skip *skips;
    size_t fault_count; /* when files are at fault: all of them (of the last candidate) */
    struct recovery_fault *faults;
};
void recovered_release(struct recovered *r);

struct recovery_options {
    bool digests;          /* read every file and compare; a directory of several always does */
    const char *job_name;  /* a root: only checkpoints of this job; NULL: any */
    const char *preferred_name; /* a root: of several jobs this one, if it is there; NULL: any */
    const char *fingerprint; /* of its statements (lineage.h); NULL: not known */
    bool names_shared;       /* other statements of its script make jobs of that name */
    size_t claimed_count;    /* fingerprints of those before it: their snapshots are not its */
    const char *const *claimed;
    bool checkpoints_only; /* a root: leave savepoints out */
};

/* Of a job's directory the savepoint of its last stop is taken when no checkpoint there is newer
 * (ended.h); RC_STATE, or why it cannot be read: it cannot be restored, and nothing older is. The
 * same code of a directory in which the job came to its end without a snapshot to go on from. */
/* `uri`: a _metadata file, a directory with one (chk-<n>, savepoint), a job's directory, or a root
 * of several jobs or savepoints; a path or a file: URI. */
MUST_USE enum rc recovery_open(const struct env *env, const char *uri,
                               const struct recovery_options *options, struct recovered *out,
                               struct err *err);
/* --resume: newest checkpoint of the job that job->job_name and the fields after it describe, over all job directories below `root`.
 * RC_NOT_FOUND: there is none (or no such directory): start fresh. RC_CORRUPT: there are some, none
 * verifies; also when one is unreadable and may be that job's. RC_VERSION: all are too new. RC_DONE:
 * the job has finished: nothing is left to resume. RC_STATE: as above, or several may be meant. */
MUST_USE enum rc recovery_newest_of_job(const struct env *env, const char *root,
                                        const struct recovery_options *job,
                                        struct recovered *out, struct err *err);
/* Highest <n> of chk-<n> in a job's directory, complete or not, and of its savepoints; 0: none, or no
 * such directory. */
MUST_USE enum rc recovery_newest_id(struct fs *fs, const char *job_dir, uint64_t *id,
                                    struct err *err);

/* Read and check `<dir>/_metadata` alone; resolved_path set, files not looked at. For inspect,
 * orphans and dispose. */
MUST_USE enum rc recovery_read_metadata(struct fs *fs, const char *dir, struct arena *arena,
                                        struct checkpoint_metadata *out, uint64_t *metadata_bytes,
                                        struct err *err);
/* Look at every file of a tree: all faults in *faults (in `arena`). RC_OK also when there are some.
 */
MUST_USE enum rc recovery_check_files(const struct env *env, const struct checkpoint_metadata *m,
                                      bool digests, struct arena *arena,
                                      struct recovery_fault **faults, size_t *fault_count,
                                      struct err *err);
/* A look at one file: *reason (in `arena`) is NULL when it is a plain file of that size, else
 * "missing", "12 bytes instead of 4096", .. RC_IO: it cannot be looked at now. */
MUST_USE enum rc recovery_look_at_file(struct fs *fs, const char *path, uint64_t size_bytes,
                                       struct arena *arena, struct fs_stat *st,
                                       const char **reason, struct err *err);
/* "digest differs: <hex> instead of <hex>"; NULL: it does not. */
const char *recovery_digest_fault(struct digest128 found, struct digest128 want,
                                  struct arena *arena);

#endif
