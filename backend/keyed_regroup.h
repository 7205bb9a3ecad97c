/* keyed_regroup.h - keyed state of an operator for another number of key groups (Flink's
 * maxParallelism): every key goes into the group that it has among so many, one new subtask at a
 * time.
 *
 * Only keys that are SQL rows: their group comes from their bytes. What has expired stays what it
 * is: nothing is left out. Thread: any; one call at a time for a directory. */
#ifndef VARVE_BACKEND_KEYED_REGROUP_H
#define VARVE_BACKEND_KEYED_REGROUP_H

#include "backend/keyed_backend.h"

struct regroup {
    const struct env *env;
    size_t count; /* all handles of the operator, files with resolved_path */
    const struct keyed_handle *handles;
    uint32_t key_group_count;    /* from now on */
    struct key_group_range range; /* of these */
    const char *local_dir;       /* scratch, made here; goes again */
    const char *name;            /* for messages */
    uint64_t checkpoint_id;
};
/* Reads all of the handles, proven, and writes what falls into the range to `target`: as a database,
 * or as a stream if all handles are streams. *out: strings in `arena`. RC_UNSUPPORTED: a key is no
 * SQL row. */
MUST_USE enum rc keyed_regroup(const struct regroup *r, struct snapshot_target *target,
                               struct arena *arena, struct keyed_handle *out, struct err *err);

#endif
