/* timers.h - event-time and processing-time timers of one operator's subtask.
 *
 * A timer is a time and a composite key (prefix | key | namespace, as key_builder makes them);
 * registering the same one again changes nothing. Timers are a keyed state of their own
 * (STATE_TIMER, prefix | time | key | namespace, empty values, named as the reference names it), so
 * they go through snapshots, restores and rescales with it. Beside it stands an ordered index in
 * memory (timer_index.h), rebuilt by one scan when opened.
 *
 * The order of firing is the same after any restore. Memory: the keys of all timers and about 30
 * bytes each. Thread: the task's. After: InternalTimerServiceImpl (flink-runtime).
 */
#ifndef VARVE_BACKEND_TIMERS_H
#define VARVE_BACKEND_TIMERS_H

#include "backend/key_codec.h"

enum timer_domain { TIMER_EVENT, TIMER_PROCESSING };

struct timers; /* opaque */
/* service: "window-timers", "user-timers"; types as in state_desc, the same as those of the state
 * they belong to. */
MUST_USE enum rc timers_open(struct keyed_backend *b, uint32_t key_group_count,
                             enum timer_domain domain, const char *service, const char *key_type,
                             const char *namespace_type, struct timers **out, struct err *err);
void timers_close(struct timers *t); /* before its backend; NULL is a no-op */

MUST_USE enum rc timers_register(struct timers *t, const struct key_batch *keys,
                                 const int64_t *at_ms, struct err *err);
/* Those that are not registered are ignored. */
MUST_USE enum rc timers_delete(struct timers *t, const struct key_batch *keys, const int64_t *at_ms,
                               struct err *err);
/* Takes out up to `max` timers with at_ms <= until_ms, earliest first, and within one time by key.
 * keys->count == 0: none left. Borrowed until the next call on t. A timer registered meanwhile with
 * a time that has passed comes with the next call. */
MUST_USE enum rc timers_pop(struct timers *t, int64_t until_ms, uint32_t max,
                            struct key_batch *keys, const int64_t **at_ms, struct err *err);
/* Time of the earliest; INT64_MAX: none. */
int64_t timers_next_ms(struct timers *t);
uint64_t timers_count(const struct timers *t);
size_t timers_bytes(const struct timers *t); /* memory of the index */

#endif
