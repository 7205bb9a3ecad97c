/* event_floor.h - how far event time had come for each key group when a snapshot was taken.
 *
 * With aligned checkpoints all subtasks of an operator have the same event time in a snapshot. A barrier that overtakes rows also
 * overtakes watermarks, and then they have not; so a subtask that goes on with key groups of several starts from the earliest event
 * time of all, and must still treat rows as late that were late for their group: its windows have fired. Union list state
 * "event-time-of-groups"; items: i64 event time, u32 first and u32 last key group, big-endian. Thread: the task's. */
#ifndef VARVE_JOB_OPERATOR_EVENT_FLOOR_H
#define VARVE_JOB_OPERATOR_EVENT_FLOOR_H

#include "backend/operator_state.h"
#include "job/operator/operator.h"

struct event_floor {
    struct key_group_range range; /* of this subtask */
    int64_t *ms;                  /* by key group of the range; NULL: nothing was restored */
    int64_t highest_ms;           /* of them; no group is late past it */
};
/* From what is restored into ctx->state. RC_UNSUPPORTED: it is of another number of key groups (a snapshot made anew for
 * another maximum), and they were at different event times: whose rows are late can't be said any more. */
MUST_USE enum rc event_floor_open(struct event_floor *f, const struct operator_context *ctx, struct err *err);
void event_floor_release(struct event_floor *f);
/* Whether at event time `now_ms` some group is still ahead. Then rows have to be looked at by their group. */
static inline bool event_floor_counts(const struct event_floor *f, int64_t now_ms)
{
    return f->ms != NULL && f->highest_ms > now_ms;
}
/* The event time of a key group at the subtask's `now_ms`. */
static inline int64_t event_floor_of(const struct event_floor *f, uint32_t group, int64_t now_ms)
{
    int64_t floor_ms = f->ms[group - f->range.first];

    return floor_ms > now_ms ? floor_ms : now_ms;
}
/* Into ctx->state, at a barrier. */
void event_floor_snapshot(const struct event_floor *f, const struct operator_context *ctx, int64_t now_ms);

#endif
