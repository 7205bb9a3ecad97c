/* flink_list_difference.h - what one snapshot of Flink's has of an operator's state without keys and
 * another has not.
 *
 * Items of list and union states have nothing but their content: those of all subtasks together are
 * compared, however they are dealt out, and each is there, or gone, or new. Of a broadcast state every
 * subtask has a copy; the first one's entries are compared by their keys. Memory: 40 bytes for each
 * item, and one item. Thread: one owner. */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_LIST_DIFFERENCE_H
#define VARVE_CHECKPOINT_FLINK_FLINK_LIST_DIFFERENCE_H

#include "checkpoint/flink/flink_lists.h"
#include "checkpoint/state_difference.h"

struct flink_list_side {
    const struct flink_operator *op; /* NULL: it has no such operator */
    struct flink_places *places;     /* that know every stream of its snapshot */
    /* out */
    const char *word; /* flink_list_word; NULL: it has no such state */
    bool whole;        /* entries of a broadcast state cannot be told apart: all of it is one */
    bool copies_differ; /* of a broadcast state */
};
/* From sides[0] to sides[1]. RC_CORRUPT names the stream. */
MUST_USE enum rc flink_list_difference(struct fs *fs, struct flink_list_side sides[2],
                                       struct bytes name, struct entry_sum out[ENTRY_CHANGES],
                                       struct err *err);

#endif
