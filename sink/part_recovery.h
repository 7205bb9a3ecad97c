/* part_recovery.h - what a file sink does with the items of a checkpoint: look everything up, then
 * put it in order.
 *
 *                    hidden file there       only the finished one    neither
 *     pending part   cut to length, commit   done before: nothing     lost: error or counted (B31)
 *     open part      goes on, or is closed   a later run went on and  lost
 *                    at its length           committed: nothing
 *
 * A part is looked for where it was written, and where that is gone, at the same place below the
 * present directory (the sink's directory was moved). Bytes are taken over, or taken for
 * delivered, only if length and digest fit. The look-up changes nothing; putting in order can be repeated after a crash at any
 * point. Thread: the task's. After: FileWriter, FileCommitter, LocalRecoverableFsDataOutputStream
 * (Flink).
 */
#ifndef VARVE_SINK_PART_RECOVERY_H
#define VARVE_SINK_PART_RECOVERY_H

#include "sink/part_file.h"

enum part_place { PART_HIDDEN, PART_FINISHED, PART_LOST };
struct recovered_part {
    bool open;                 /* else pending */
    struct part_record record; /* base: where it was found */
    enum part_place place;
};
struct part_recovery {
    size_t part_count, writer_count;
    struct recovered_part *parts; /* pending ones first, in the order of their checkpoints */
    struct writer_record *writers;
    uint64_t lost_parts, lost_rows;
};
/* Decode the items and look the parts up; everything in `arena`. `config->path` is in plain form.
 * Codes as for file_sink_open; with config->ignore_missing_parts lost parts are logged and counted
 * instead. */
MUST_USE enum rc part_recovery_look(const struct file_sink_config *config,
                                    const struct sink_snapshot *restored, struct arena *arena,
                                    struct part_recovery *out, struct err *err);
/* A hidden part is made exactly its recorded length, durably: what else was written to it is gone
 * (C8). */
MUST_USE enum rc part_recovery_cut(struct fs *fs, const struct part_record *part, struct err *err);
/* Remove the hidden files that the writers left after the checkpoint (B30). Only for runs that are
 * dead. *count grows. */
MUST_USE enum rc part_recovery_sweep(const struct file_sink_config *config,
                                     const struct part_recovery *r, uint64_t *count,
                                     struct err *err);

#endif
