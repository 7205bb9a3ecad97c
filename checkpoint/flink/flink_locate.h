/* flink_locate.h - where a file that Flink's `_metadata` names lies: beside it, at its absolute path,
 * or, when the job's directory was moved or copied, at the same place relative to it. No I/O but a
 * look whether a name is there. Thread: any. */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_LOCATE_H
#define VARVE_CHECKPOINT_FLINK_FLINK_LOCATE_H

#include "base/fs.h"
#include "checkpoint/flink/flink_metadata.h"

/* snapshot_dir: of the `_metadata`, absolute. *out: NULL of a stream without a file; else in
 * `arena`. RC_UNSUPPORTED: on a file system that is not this machine's (by its scheme), and not
 * beside the snapshot either. */
MUST_USE enum rc flink_locate(struct fs *fs, const char *snapshot_dir,
                             const struct flink_stream *stream, struct arena *arena,
                             const char **out, struct err *err);

#endif
