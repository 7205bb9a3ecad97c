/* discard.h - delete a snapshot that belongs to no storage of ours: a claimed one, or one the user
 * names; a directory's lock.
 *
 * The shared files of a retained checkpoint go only when nothing else in its directory names them,
 * and only when every other _metadata there can be read. Thread: any, but for one directory one at
 * a time (its lock sees to that).
 */
#ifndef VARVE_CHECKPOINT_DISCARD_H
#define VARVE_CHECKPOINT_DISCARD_H

#include "base/env.h"

/* Hold a job's directory. `holder` says who, for others' messages (NULL: keeps what stands there).
 * RC_STATE names the other holder. */
MUST_USE enum rc job_dir_lock(struct fs *fs, const char *job_dir, const char *holder,
                              struct fs_file **lock, struct err *err);

/* The same for a while, by `work` ("orphans --delete") on a directory of another run: what LOCK says of that
 * run stays, but where the lock is a lease, whose holder must be told who took it. */
MUST_USE enum rc job_dir_lock_guest(const struct env *env, const char *job_dir, const char *work,
                                    struct fs_file **lock, struct err *err);

/* Whether the run that wrote a job's directory has ended for certain: it has a LOCK that nobody
 * holds, and neither does anybody hold that of the directory of which it is a copy. */
bool job_dir_is_deserted(struct fs *fs, const char *job_dir);

#define JOB_DIR_HOLDER_MAX 512
/* Whether a running job holds its LOCK; `holder` (NULL: not asked): who that says it is. What keeps it
 * from being told is the code. */
MUST_USE enum rc job_dir_probe(struct fs *fs, const char *job_dir, bool *in_use,
                               char holder[JOB_DIR_HOLDER_MAX], struct err *err);

/* Its LOCK was made elsewhere, and there still is one. */
bool job_dir_is_copy(struct fs *fs, const char *job_dir);

/* Delete the snapshot in `dir`: _metadata first and durably, then what it names alone, then the
 * directory.
 *   sweep   the job's whole directory is ours now (claimed): also take what a crash left in it
 * RC_STATE: a running job holds the directory. RC_NOT_FOUND, RC_CORRUPT, RC_VERSION: no snapshot
 * that can be read; nothing is deleted. */
MUST_USE enum rc discard_snapshot(const struct env *env, const char *dir, bool sweep,
                                  struct err *err);

#endif
