/* flink_snapshot.h - a snapshot of Flink's opened to be read: its tree, and where every stream of it
 * lies (flink_view.h). Thread: any. */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_SNAPSHOT_H
#define VARVE_CHECKPOINT_FLINK_FLINK_SNAPSHOT_H

#include "checkpoint/flink/flink_view.h"

struct flink_snapshot {
    struct buf file; /* of the `_metadata`: inlined bytes of `meta` are borrowed from it */
    struct flink_metadata meta;
    struct flink_places *places;
};
/* dir: absolute, where the `_metadata` lies; rebase NULL: no rules. Everything else in `arena`.
 * Release also after an error. Codes: flink_metadata_decode's and _check's. */
MUST_USE enum rc flink_snapshot_open(struct fs *fs, const char *dir, const struct rebase *rebase,
                                     struct arena *arena, struct flink_snapshot *out,
                                     struct err *err);
void flink_snapshot_release(struct flink_snapshot *s); /* zeroes: a no-op */

#endif
