/* difference.h - what two snapshots have in common: contents added, dropped and kept, by operator.
 *
 * Contents are told apart by length and digest, not by name or place: a savepoint that links to
 * files of a checkpoint has them all in common with it, and so has a copy on another disk. What
 * lies inline, and each list state of a subtask, is a content as well. Only the two _metadata are
 * read. Files of Flink's have no digest: their own names stand for it. rebase NULL: no rules.
 * Thread: any.
 */
#ifndef VARVE_CHECKPOINT_DIFFERENCE_H
#define VARVE_CHECKPOINT_DIFFERENCE_H

#include "base/env.h"
#include "checkpoint/metadata.h"
#include "checkpoint/rebase.h"

enum content_change { CONTENT_ADDED, CONTENT_DROPPED, CONTENT_KEPT, CONTENT_CHANGES };
const char *content_change_str(enum content_change c); /* "added" */
struct content {
    const char *name; /* "000023.sst", "list splits"; where both have it: of the second */
    const char *path; /* NULL: inline */
    uint32_t subtask_index;
    uint64_t size_bytes;
    struct digest128 digest;
    enum content_change change;
};
struct content_sum {
    uint64_t count, bytes;
};
struct operator_difference {
    const char *id, *name;
    struct content_sum sums[CONTENT_CHANGES];
    size_t content_count;
    struct content *contents; /* each once, by digest */
};
struct difference_side {
    const char *dir;
    struct checkpoint_metadata *meta;
};
struct difference {
    struct arena *arena; /* owns all below */
    struct difference_side sides[2];
    struct content_sum sums[CONTENT_CHANGES];
    size_t operator_count;
    /* The second's in its order, then those that only the first has. */
    struct operator_difference *operators;
};
/* From the snapshot at path `from` to that at `to`. RC_INVALID: a path with several; else as
 * snapshot_list_make and snapshot_read. Release after every call. */
MUST_USE enum rc difference_make(struct fs *fs, const char *from, const char *to,
                                 const struct rebase *rebase, struct difference *out,
                                 struct err *err);
void difference_release(struct difference *d);

#endif
