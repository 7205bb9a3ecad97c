/* export.h - a snapshot as one directory that needs nothing else: all its files side by side, copied
 * and proven on the way, nothing shared with where they came from. It can be moved, and is restored
 * from as any savepoint.
 *
 * All or nothing: _metadata comes last, durably, after content and names of all files (C2, C3).
 * Thread: any. */
#ifndef VARVE_CHECKPOINT_EXPORT_H
#define VARVE_CHECKPOINT_EXPORT_H

#include "base/env.h"
#include "checkpoint/metadata.h"

struct export_options {
    /* Flink's maxParallelism of all operators, from now on: keyed state is read and written anew
     * (keyed_regroup.h). 0: as it is. */
    uint32_t key_group_count;
    const char *scratch_dir; /* for that: a directory that is there */
    /* After each file; NULL: nobody asks. */
    void (*progress)(void *ctx, uint64_t done_bytes, uint64_t all_bytes);
    void *progress_ctx;
};
struct export_result {
    uint64_t file_count, bytes; /* that were written, without _metadata */
};
/* m: resolved_path set on every file that is not inline. dir: absolute; made, with its parents, or
 * empty. RC_EXISTS: there is something in it. RC_CORRUPT: a file is not what the snapshot names.
 * RC_INVALID: an operator's parallelism is above key_group_count; RC_UNSUPPORTED: keys that are no SQL
 * rows. After any code but RC_OK the directory is gone, or has no _metadata. */
MUST_USE enum rc export_snapshot(const struct env *env, const struct checkpoint_metadata *m,
                                 const char *dir, const struct export_options *options,
                                 struct export_result *out, struct err *err);

#endif
