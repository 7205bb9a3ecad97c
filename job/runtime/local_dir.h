/* local_dir.h - a job's scratch directory for databases: made under a lock, removed at the end,
 * swept after a crash.
 *
 * "<base>/.varve-local-<job id>/", with a LOCK that the running job holds: a directory whose lock
 * is free was left by a run that died, and goes when the next job starts there. Beside the
 * checkpoints by default, so that files can be hard-linked. Thread: the job's. */
#ifndef VARVE_JOB_RUNTIME_LOCAL_DIR_H
#define VARVE_JOB_RUNTIME_LOCAL_DIR_H

#include "base/env.h"
#include "job/config.h"

/* checkpoint_dir: NULL for none. Fills `dir` and opens *lock. */
MUST_USE enum rc local_dir_make(const struct env *env, const struct config *config,
                                const char *checkpoint_dir, const char *job_id,
                                char dir[FS_PATH_MAX], struct fs_file **lock, struct err *err);
/* Errors are logged: a later start sweeps. */
void local_dir_remove(const struct env *env, const char *dir, struct fs_file **lock);

#endif
