/* flink_sorter.h - entries of keyed state put into order, more of them than memory holds: sorted runs
 * in scratch files, then merged.
 *
 * Memory: run_bytes of entries and their places while they come; a window for each run while they are
 * given out. Nothing outlives the sorter. Thread: one owner.
 */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_SORTER_H
#define VARVE_CHECKPOINT_FLINK_FLINK_SORTER_H

#include "base/bytes.h"
#include "base/fs.h"

#define FLINK_SORT_RUNS_MAX 1024u
#define FLINK_SORT_WINDOW (64u << 10)

struct flink_sorter; /* opaque */
/* dir: a scratch directory that is there. */
struct flink_sorter *flink_sorter_new(struct fs *fs, const char *dir, uint32_t prefix_len,
                                      size_t run_bytes);
void flink_sorter_free(struct flink_sorter *s); /* NULL is a no-op */
/* RC_LIMIT: more than FLINK_SORT_RUNS_MAX runs. */
MUST_USE enum rc flink_sorter_add(struct flink_sorter *s, uint16_t state, struct bytes key,
                                  struct bytes value, struct err *err);
/* Nothing more comes. */
MUST_USE enum rc flink_sorter_end(struct flink_sorter *s, struct err *err);
/* By key group, state, key. key->data NULL: the end. They hold until the next call. */
MUST_USE enum rc flink_sorter_next(struct flink_sorter *s, uint16_t *state, struct bytes *key,
                                   struct bytes *value, struct err *err);

#endif
