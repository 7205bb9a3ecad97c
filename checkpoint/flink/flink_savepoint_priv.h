/* flink_savepoint_priv.h - what the parts of flink_savepoint.h share; for flink_savepoint*.c only */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_SAVEPOINT_PRIV_H
#define VARVE_CHECKPOINT_FLINK_FLINK_SAVEPOINT_PRIV_H

#include "checkpoint/flink/flink_savepoint.h"
#include "checkpoint/flink/flink_target.h"

struct flink_saving {
    const struct env *env;
    struct flink_places *places;
    const struct flink_savepoint_options *options;
    struct flink_savepoint_result *result;
    struct arena *arena; /* of the new tree */
    struct flink_target *target;
    uint64_t done_groups, all_groups;
};

/* Both keyed handles of a subtask -> one; *out of tag NONE: there is no keyed state. */
enum rc flink_savepoint_keyed(struct flink_saving *v, const struct flink_operator *op,
                              const struct flink_subtask *from, struct flink_keyed *out,
                              struct err *err);

#endif
