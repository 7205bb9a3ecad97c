/* flink_text.h - what a Flink _metadata says beyond files and sizes, as lines for people. Text of
 * others is not escaped here. Thread: any. */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_TEXT_H
#define VARVE_CHECKPOINT_FLINK_FLINK_TEXT_H

#include "checkpoint/flink/flink_metadata.h"

/* Of the whole: version, properties, states of hooks. */
void flink_print_head(const struct flink_metadata *m, struct buf *out);
/* The coordinator's state, where there is one. */
void flink_print_operator(const struct flink_operator *op, struct buf *out);
/* List states, raw state, change logs, channels. */
void flink_print_subtask(const struct flink_subtask *s, struct buf *out);

#endif
