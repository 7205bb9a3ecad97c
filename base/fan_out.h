/* fan_out.h - the same work for each of many things (files to be sent, fetched, deleted), several at
 * a time.
 *
 * A fan_out is how many may be under way at once, for all who share it. Whoever calls works itself,
 * and is never kept waiting; threads are added for the call while that number is not reached. So at
 * most the larger of that number and of the callers are at work. Thread: any.
 */
#ifndef VARVE_BASE_FAN_OUT_H
#define VARVE_BASE_FAN_OUT_H

#include "base/status.h"

struct fan_out; /* opaque */
struct fan_out *fan_out_new(uint32_t at_once); /* at least 1 */
void fan_out_free(struct fan_out *f);          /* nobody is at work; NULL is a no-op */

/* Any thread of the call; one call for each i below count, in no order. */
typedef enum rc fan_out_fn(void *ctx, size_t i, struct err *err);

/* The first failure, in time, is the result: no further call begins after it, and those under way
 * are waited for. f: NULL: all on the caller's thread, in order. */
MUST_USE enum rc fan_out_run(struct fan_out *f, size_t count, fan_out_fn *fn, void *ctx,
                             struct err *err);
/* The same, but every call is made, whatever came of the others. */
MUST_USE enum rc fan_out_all(struct fan_out *f, size_t count, fan_out_fn *fn, void *ctx,
                             struct err *err);

#endif
