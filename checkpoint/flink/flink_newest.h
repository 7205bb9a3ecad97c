/* flink_newest.h - whether what a path leads to is Flink's, and which snapshot is meant by it: the one
 * answer for whoever reads snapshots of both sorts. Thread: any. */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_NEWEST_H
#define VARVE_CHECKPOINT_FLINK_FLINK_NEWEST_H

#include "base/arena.h"
#include "base/fs.h"

/* The directory, absolute, of the `_metadata` that is meant: of one snapshot that itself, of a job's
 * directory the newest complete checkpoint, of a root the snapshot there that was written last. NULL: that
 * one is not Flink's, or there is none; whoever reads varve's own says what is wrong. A damaged one that
 * lies among files named as Flink's is Flink's. In `arena`. A job's directory of varve's is not listed.
 *   path  as a user gives it: a `_metadata`, a directory, a URI */
const char *flink_newest(struct fs *fs, const char *path, struct arena *arena);
/* The same for who reads nothing else: *out NULL when it is not Flink's; codes of snapshot_list_make when
 * there is nothing at the path, or it cannot be looked at. */
MUST_USE enum rc flink_newest_only(struct fs *fs, const char *path, struct arena *arena, const char **out,
                                   struct err *err);

#endif
