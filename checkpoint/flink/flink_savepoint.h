/* flink_savepoint.h - a canonical savepoint of Flink's out of any snapshot of Flink's: one directory
 * that needs nothing else, from which a job restores whichever backend it has.
 *
 * Serializers stay as they lie, also those that nobody here knows: what is copied is entries, by key
 * group, from a database (lists whole), a heap's stream, timers kept raw, another savepoint. Operator
 * state is copied item by item, coordinators and hooks as they are. What a canonical savepoint cannot
 * hold is RC_UNSUPPORTED, by operator and subtask: rows in flight, changes of a changelog, raw state
 * that only its operator can read. C13: as flink_keyed.h. Memory: flink_canonical.h. Thread: any.
 */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_SAVEPOINT_H
#define VARVE_CHECKPOINT_FLINK_FLINK_SAVEPOINT_H

#include "base/env.h"
#include "checkpoint/flink/flink_metadata.h"
#include "checkpoint/flink/flink_view.h"

struct flink_savepoint_options {
    /* Flink's maxParallelism of all operators, from now on: each key goes into the group that its
     * hash gives among so many. 0: as it is. Of snapshots of Flink's only. */
    uint32_t key_group_count;
    const char *scratch_dir; /* a directory that is there; what is made below it goes again */
    /* After each key group of a subtask; NULL: nobody asks. */
    void (*progress)(void *ctx, uint64_t done_groups, uint64_t all_groups);
    void *progress_ctx;
};
struct flink_savepoint_result {
    uint64_t file_count, bytes; /* of streams, also those inside `_metadata` */
    uint64_t entries;           /* of keyed state */
};
/* m and places: of the snapshot that is read. dir: as
 * flink_target_open. RC_INVALID: an operator's parallelism is above key_group_count; RC_UNSUPPORTED:
 * keys whose hash only their class knows. After any code but RC_OK the directory is gone, or has no `_metadata`. */
MUST_USE enum rc flink_savepoint_write(const struct env *env, const struct flink_metadata *m,
                                       struct flink_places *places, const char *dir,
                                       const struct flink_savepoint_options *options,
                                       struct flink_savepoint_result *out, struct err *err);

#endif
