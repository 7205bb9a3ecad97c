/* flink_native.h - a native savepoint of Flink's out of a snapshot of Flink's whose keyed state is files
 * of databases: one directory that needs nothing else, from which the same state backend restores.
 *
 * Every stream is copied byte for byte (or linked, where asked), and its copy proven as `varve verify` proves it (flink_prove.h,
 * which see for the process that this is for), before `_metadata` is there: what is published is what
 * was proven. Keyed state in other forms, changelogs and rows in flight are RC_UNSUPPORTED, by operator
 * and subtask, before anything is written. Key groups stay: their numbers lie in the files.
 * Memory: the tree, one buffer, what flink_prove.h holds at once. Thread: any.
 */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_NATIVE_H
#define VARVE_CHECKPOINT_FLINK_FLINK_NATIVE_H

#include "base/env.h"
#include "checkpoint/flink/flink_view.h"

struct flink_native_options {
    /* Whole files of databases become second names of the source's, or share its blocks, where the file
     * systems can; they are proven all the same. */
    bool link;
    /* After each stream; NULL: nobody asks. */
    void (*progress)(void *ctx, uint64_t done_bytes, uint64_t all_bytes);
    void *progress_ctx;
};
struct flink_native_result {
    uint64_t file_count, bytes; /* of streams, also those inside `_metadata` */
    uint64_t linked_bytes; /* of them, that are shared with the source */
    uint64_t databases;         /* one for each subtask that has keyed state */
};
/* m and places: of the snapshot that is read. dir: as flink_target_open. RC_CORRUPT names the damaged
 * file of the source. After any code but RC_OK the directory is gone, or has no `_metadata`. */
MUST_USE enum rc flink_native_write(const struct env *env, const struct flink_metadata *m,
                                    struct flink_places *places, const char *dir,
                                    const struct flink_native_options *options,
                                    struct flink_native_result *out, struct err *err);

#endif
