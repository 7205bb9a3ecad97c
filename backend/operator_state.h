/* operator_state.h - list, union and broadcast state, without keys, of one operator's subtask.
 *
 * An operator reads its restored items at open and sets its items at every snapshot. Thread: the
 * task's. */
#ifndef VARVE_BACKEND_OPERATOR_STATE_H
#define VARVE_BACKEND_OPERATOR_STATE_H

#include "backend/state_handle.h"

struct operator_state; /* opaque */
struct operator_state *operator_state_new(void);
void operator_state_free(struct operator_state *s);
/* Copies what assign gave this subtask. */
void operator_state_restore(struct operator_state *s, const struct list_state *lists, size_t count);
/* Restored items of a list, borrowed until free; 0 when there is none. */
size_t operator_state_restored(const struct operator_state *s, const char *name,
                               const struct bytes **items);
/* Replaces the list's content for the next snapshot; items are copied. */
void operator_state_set(struct operator_state *s, const char *name, enum list_mode mode,
                        const struct bytes *items, size_t count);
/* Replaces the files that items of the lists name (snapshot_target.publish_log): resolved_path,
 * size, digest, newly_written; copied. */
void operator_state_set_logs(struct operator_state *s, const struct state_file *logs, size_t count);
/* Deep copy of all lists and logs as set, into those of *out. */
void operator_state_snapshot(const struct operator_state *s, struct arena *arena,
                             struct subtask_state *out);

#endif
