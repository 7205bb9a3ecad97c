/* ttl.h - time-to-live of keyed state: Flink's words, the clock, what has expired, and leaving it
 * out.
 *
 * Beside each value stands the time of its last access (T, big-endian i64, milliseconds): in front
 * of a value or accumulator, of a map's value behind the null flag, of each element of a list.
 * From T + ttl on it has expired.
 *
 * The clock never goes back: it is the wall clock, or what the clock said last and the monotonic
 * time since, whichever is later; how far it had come is a part of each snapshot, and a restored
 * backend goes on from there. So a wall clock that is set back revives nothing, and no entry has a
 * time from which it would not expire. Set forward (or after a long stop) all that is older than
 * its time-to-live by the new time has expired, as in Flink. After: TtlTimeProvider, TtlUtils.
 */
#ifndef VARVE_BACKEND_TTL_H
#define VARVE_BACKEND_TTL_H

#include "backend/state_handle.h"
#include "base/clock.h"

#include <stdatomic.h>

#define TTL_TIME_BYTES 8u

/* StateTtlConfig.UpdateType: which access makes an entry young again. Disabled is ttl_ms == 0. */
enum ttl_update { TTL_ON_CREATE_AND_WRITE, TTL_ON_READ_AND_WRITE };
/* StateTtlConfig.StateVisibility. */
enum ttl_visibility { TTL_NEVER_RETURN_EXPIRED, TTL_RETURN_EXPIRED_IF_NOT_CLEANED_UP };

static inline bool ttl_expired(int64_t time_ms, uint64_t ttl_ms, int64_t now_ms)
{
    int64_t end;

    if (ttl_ms > INT64_MAX || __builtin_add_overflow(time_ms, (int64_t)ttl_ms, &end))
        return false;
    return end <= now_ms;
}

struct ttl_clock {
    struct clock *clock;
    int64_t base_ms, base_mono_ns; /* what it said at a moment */
    _Atomic int64_t seen_ms;       /* what it said last */
};
void ttl_clock_init(struct ttl_clock *c, struct clock *clock);
/* Never less than before, nor than a time it was raised to. Task's thread. */
int64_t ttl_clock_now(struct ttl_clock *c);
/* It has come at least that far: a restored snapshot's mark. Task's thread. */
void ttl_clock_raise(struct ttl_clock *c, int64_t ms);
/* What it said last; INT64_MIN: nothing yet. Any thread. */
static inline int64_t ttl_clock_seen(const struct ttl_clock *c)
{
    return atomic_load_explicit(&c->seen_ms, memory_order_acquire);
}

#endif
