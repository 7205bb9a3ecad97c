/* remote_fs.h - the file system of a process with its remote drivers, hdfs and s3, set up by options.
 *
 * Drivers are made at the first path of theirs, with the settings of that moment; an option of theirs holds for the
 * whole process (-D, a configuration file), not for one job.
 * Thread: configure before jobs run; the file system from any.
 */
#ifndef VARVE_JOB_REMOTE_FS_H
#define VARVE_JOB_REMOTE_FS_H

#include "base/env.h"
#include "job/config.h"

struct remote_fs; /* opaque */
/* From now on env->fs leads to the drivers, too, and else to what it was. env is borrowed until _free, which gives
 * back what it had. */
struct remote_fs *remote_fs_new(struct env *env);
void remote_fs_free(struct remote_fs *r);
/* The options of drivers that are not made yet; copied. */
void remote_fs_configure(struct remote_fs *r, const struct config *config);

#endif
