/* scratch.h - directories for databases that nobody needs after a crash: made under a lock, removed
 * at the end, swept after a crash.
 *
 * "<base>/<prefix><32 hex digits>/", with a LOCK that its owner holds: a directory whose lock is
 * free was left by a process that died, and goes when the next one of that prefix is made there.
 * Thread: any; one owner a directory. */
#ifndef VARVE_BASE_SCRATCH_H
#define VARVE_BASE_SCRATCH_H

#include "base/env.h"

#define SCRATCH_ID_LEN 32

/* Makes base_dir too. id: SCRATCH_ID_LEN lower-case hex digits. Fills `dir` (absolute) and opens
 * *lock. */
MUST_USE enum rc scratch_make(const struct env *env, const char *base_dir, const char *prefix,
                              const char *id, char dir[FS_PATH_MAX], struct fs_file **lock,
                              struct err *err);
/* Errors are logged: a later scratch_make sweeps. An empty `dir` is a no-op. */
void scratch_remove(const struct env *env, const char *dir, struct fs_file **lock);

#endif
