/* snapshot_read.h - the _metadata of one snapshot, varve's or Flink's, for who only looks: inspect,
 * verify, du, diff, orphans. Restores read their own by recovery.h. Thread: any. */
#ifndef VARVE_CHECKPOINT_SNAPSHOT_READ_H
#define VARVE_CHECKPOINT_SNAPSHOT_READ_H

#include "base/fs.h"
#include "checkpoint/metadata.h"
#include "checkpoint/rebase.h"

/* Reads and checks `<dir>/_metadata` alone; resolved_path set, files not looked at (but for one or
 * two, where a snapshot of Flink's was moved: flink/flink_view.h). out->flink says whose it is.
 * Everything in `arena`. Codes as recovery_read_metadata. */
MUST_USE enum rc snapshot_read(struct fs *fs, const char *dir, const struct rebase *rebase,
                               struct arena *arena, struct checkpoint_metadata *out,
                               uint64_t *metadata_bytes, struct err *err);
/* What is there of a file that a tree names: as recovery_look_at_file, for either sort. */
MUST_USE enum rc snapshot_look_at_file(struct fs *fs, const struct state_file *file,
                                       struct arena *arena, struct fs_stat *st,
                                       const char **reason, struct err *err);

#endif
