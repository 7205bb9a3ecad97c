/* state_difference.h - entries of a keyed state that one snapshot has and another has not, or has
 * otherwise: two walks in the order of their keys, side by side. Memory does not grow with them. The
 * subtasks, backends and files of the two do not matter; their key groups have to be the same.
 * Thread: one owner. */
#ifndef VARVE_CHECKPOINT_STATE_DIFFERENCE_H
#define VARVE_CHECKPOINT_STATE_DIFFERENCE_H

#include "checkpoint/state_source.h"

enum entry_change { ENTRY_ADDED, ENTRY_CHANGED, ENTRY_REMOVED, ENTRY_SAME, ENTRY_CHANGES };
/* Bytes of keys and values; of what changed as the second has it. */
struct entry_sum {
    uint64_t entries, bytes;
};
/* From a to b; either may be NULL: it has no such operator. A source without the state has no
 * entries. */
MUST_USE enum rc state_difference(struct state_source *a, struct state_source *b, const char *state,
                                  uint32_t key_group_count, struct entry_sum out[ENTRY_CHANGES],
                                  struct err *err);

#endif
