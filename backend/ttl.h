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

#include "backend/row_cache.h"
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


/* ---- stored values --------------------------------------------------------------------------- */

/* How the values of a state lie in the store. */
struct ttl_shape {
    enum state_kind kind;
    uint32_t fixed_value_bytes; /* as in state_desc */
    uint64_t ttl_ms;            /* 0: values without a time */
};
static inline struct ttl_shape ttl_shape_of(const struct state_desc *d)
{
    return (struct ttl_shape){d->kind, d->fixed_value_bytes, d->ttl_ms};
}

/* Takes the next element off a stored list, its ',' with it unless it is the first: all of it, its
 * time (if the shape has one), and what is behind the time (a size included). false: it is none. */
bool ttl_take_element(const struct ttl_shape *s, struct bytes *rest, bool first,
                      struct bytes *whole, int64_t *time_ms, struct bytes *element);

enum ttl_verdict {
    TTL_KEEP,    /* as it is; also what is no value of this shape: never a guess */
    TTL_DROP,    /* all of it has expired */
    TTL_CHANGED, /* elements of a list have: what is left was appended to `out` */
};
/* What is left of a stored value at now_ms. */
enum ttl_verdict ttl_filter(const struct ttl_shape *shape, struct bytes stored, int64_t now_ms,
                            struct buf *out);
/* The value as `to` stores it, appended to `out`: with now_ms as its time, or without a time. false:
 * nothing is left of it. RC_CORRUPT: it is no value of shape `from`. */
MUST_USE enum rc ttl_convert(const struct ttl_shape *from, const struct ttl_shape *to,
                             struct bytes stored, int64_t now_ms, bool *left, struct buf *out,
                             struct err *err);

/* What keyed_upsert gave of a state of that shape, which is no list and no map: rows[i] becomes the
 * value behind its time, which becomes now_ms. What had expired by then is zeroed and fresh, unless
 * keep_expired. */
void ttl_touch(const struct ttl_shape *shape, int64_t now_ms, bool keep_expired, uint32_t count,
               void **rows, uint8_t *fresh);

/* Rows of a source without what has expired: on their way to a database, where a tombstone takes
 * the place of what may exist below, or into a snapshot of all rows. */
struct ttl_rows {
    struct row_source source; /* first */
    struct row_source *from;
    struct ttl_shape shape;
    int64_t now_ms;
    bool tombstones;
    struct buf changed; /* lists, until the next call */
};
void ttl_rows_init(struct ttl_rows *r, struct row_source *from, const struct ttl_shape *shape,
                   int64_t now_ms, bool tombstones);
void ttl_rows_release(struct ttl_rows *r);

#endif
