/* inspect.h - read-only report of a _metadata, a chk-<n>, a savepoint, a job's directory or a root.
 *
 * Text for people, or JSON with stable names. Damaged and incomplete checkpoints are listed with
 * the reason; a job's directory also says how many files in shared/ no readable _metadata names.
 * Nothing is locked, so a running job's directory may change under the look; nothing is ever
 * written.
 */
#ifndef VARVE_CHECKPOINT_INSPECT_H
#define VARVE_CHECKPOINT_INSPECT_H

#include "base/env.h"

struct inspect_options {
    bool json;
    bool files;   /* every file by name */
    bool digests; /* read every named file and compare its digest */
};
/* The report is appended to out. *damaged: something in it cannot be restored (exit code 1). Codes
 * as recovery_open, for a path that is nothing of ours. */
MUST_USE enum rc inspect_path(const struct env *env, const char *path,
                              const struct inspect_options *options, struct buf *out, bool *damaged,
                              struct err *err);

#endif
