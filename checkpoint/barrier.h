/* barrier.h - checkpoint id, timestamp, kind, options: the value that flows through a job. */
#ifndef VARVE_CHECKPOINT_BARRIER_H
#define VARVE_CHECKPOINT_BARRIER_H

#include "base/status.h"

enum checkpoint_kind {
    CHECKPOINT_PERIODIC = 1,   /* numbers are stored */
    CHECKPOINT_SAVEPOINT = 2,  /* user-triggered, the job goes on; commits nothing */
    CHECKPOINT_SUSPEND = 3,    /* stop with savepoint */
    CHECKPOINT_TERMINATE = 4,  /* stop with savepoint and drain: event time ends, windows fire */
};
static inline bool checkpoint_kind_is_savepoint(enum checkpoint_kind k) { return k != CHECKPOINT_PERIODIC; }
/* The job ends with it: its completion is notified although it is a savepoint. */
static inline bool checkpoint_kind_is_sync(enum checkpoint_kind k) { return k >= CHECKPOINT_SUSPEND; }

struct barrier {
    uint64_t checkpoint_id;
    int64_t trigger_wall_ms;
    enum checkpoint_kind kind;
    bool exactly_once; /* false: AT_LEAST_ONCE, no blocking while aligning */
    /* From then on, on the monotonic clock, it may overtake rows, which then belong to the checkpoint. 0: never. */
    int64_t overtake_mono_ns;
};
static inline bool barrier_overtakes(const struct barrier *b, int64_t now_mono_ns)
{
    return b->overtake_mono_ns != 0 && now_mono_ns >= b->overtake_mono_ns;
}

#endif
