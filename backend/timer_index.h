/* timer_index.h - timers in memory, each once, in the order in which they fire: by time, then by
 * key, bytewise.
 *
 * Timers lie in buckets of a span of time, found by hash; a heap orders the buckets, and only the
 * first one has its own timers in order. So registering is O(1) whatever the times are, firing is a
 * step along them, and a timer costs its key and about 30 bytes. Spans widen as timers get sparse;
 * what has gone is cleared away when it is three quarters of a bucket.
 *
 * Thread: one owner.
 */
#ifndef VARVE_BACKEND_TIMER_INDEX_H
#define VARVE_BACKEND_TIMER_INDEX_H

#include "base/bytes.h"

struct timer_index; /* opaque */
struct timer_index *timer_index_new(void);
void timer_index_free(struct timer_index *ix); /* NULL is a no-op */

/* *added false: it was there already. RC_LIMIT: 16 GiB of timers of one span of time. */
MUST_USE enum rc timer_index_add(struct timer_index *ix, int64_t at_ms, struct bytes key,
                                 bool *added, struct err *err);
/* false: it was not there. */
bool timer_index_remove(struct timer_index *ix, int64_t at_ms, struct bytes key);
/* The first to fire; false: none. key holds until the next change. */
bool timer_index_first(struct timer_index *ix, int64_t *at_ms, struct bytes *key);
/* Takes the first out: only after timer_index_first has given it. */
void timer_index_drop_first(struct timer_index *ix);
uint64_t timer_index_count(const struct timer_index *ix);
size_t timer_index_bytes(const struct timer_index *ix); /* memory held */

#endif
