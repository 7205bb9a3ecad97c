/* flink_difference.h - entries of a keyed state that one snapshot of Flink's has and another has not,
 * or has otherwise, whatever their forms: the database's, a savepoint's and the heap's order differ,
 * and so both sides' entries of one key group are held as digests and put in order. Memory: 50 bytes
 * for each of them. The key groups of the two have to be the same. Thread: one owner. */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_DIFFERENCE_H
#define VARVE_CHECKPOINT_FLINK_FLINK_DIFFERENCE_H

#include "checkpoint/flink/flink_source.h"
#include "checkpoint/state_difference.h"

/* From a to b; either may be NULL: it has no such operator. A source without the state has no
 * entries. RC_CORRUPT: an entry lies behind those of a later key group. */
MUST_USE enum rc flink_difference(struct flink_source *a, struct flink_source *b,
                                  struct bytes state, uint32_t key_group_count,
                                  struct entry_sum out[ENTRY_CHANGES], struct err *err);

#endif
