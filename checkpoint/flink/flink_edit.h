/* flink_edit.h - which operators of a snapshot of Flink's its copy has, and under which uids.
 *
 * Decides alone: a tree in, a tree out, nothing is read or written. An operator is named by its uid,
 * or by its id in 32 hex digits; a uid is also known by its hash where the `_metadata` keeps no uids
 * (before version 5). All edits are of the tree as it came, so two uids can be swapped. Thread: any.
 */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_EDIT_H
#define VARVE_CHECKPOINT_FLINK_FLINK_EDIT_H

#include "checkpoint/flink/flink_metadata.h"

struct flink_rename {
    const char *operator, *uid; /* the new one */
};
struct flink_edits {
    size_t drop_count, rename_count;
    const char *const *drops;
    const struct flink_rename *renames;
};
/* "OLD=NEW", up to the first '='; in the arena. RC_INVALID: either is missing, or NEW is no UTF-8.
 * RC_LIMIT: NEW is longer than any that Flink has. */
MUST_USE enum rc flink_rename_parse(const char *text, struct arena *arena,
                                    struct flink_rename *out, struct err *err);
/* *out shares all it can with m and lives in `arena`. A renamed operator has Flink's id of its new
 * uid. The version stays, so that who wrote it can read it: before 5 the id alone is written, and
 * Flink looks for nothing else. RC_NOT_FOUND: no such operator; says which there are, and the
 * nearest. RC_INVALID: one operator is edited twice, or none is left. RC_EXISTS: two would have one
 * id. */
MUST_USE enum rc flink_edit(const struct flink_metadata *m, const struct flink_edits *edits,
                            struct arena *arena, struct flink_metadata *out, struct err *err);

#endif
