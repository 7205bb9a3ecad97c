/* usage_priv.h - what usage.c and usage_states.c share. For them only. */
#ifndef VARVE_CHECKPOINT_USAGE_PRIV_H
#define VARVE_CHECKPOINT_USAGE_PRIV_H

#include "checkpoint/file_set.h"
#include "checkpoint/usage.h"

/* Fills report->states, their sums still zero, and says of each file of the set which of them it
 * belongs to: indices, owned by the caller (mem_free). */
MUST_USE enum rc usage_find_states(struct fs *fs, const char *scratch_dir, struct file_set *files,
                                   struct look_watch watch, struct usage_report *report,
                                   uint32_t **state_of, struct err *err);

#endif
