/* file_walk.h - the files below a path that are input: sub-folders too, names that begin with '.'
 * or '_' not, nor what is below such a folder. Thread: any. */
#ifndef VARVE_JOB_SOURCE_FILE_WALK_H
#define VARVE_JOB_SOURCE_FILE_WALK_H

#include "base/arena.h"
#include "base/fs.h"

#define FILE_WALK_DEPTH_MAX 64u /* folders in folders; symbolic links may run in circles */

/* Paths below `root`, sorted by their bytes, in `arena`; one empty path when root is itself a file
 * (whatever its name). What vanishes during the walk is left out. */
MUST_USE enum rc file_walk(struct fs *fs, const char *root, struct arena *arena,
                           const char ***paths, size_t *count, struct err *err);

#endif
