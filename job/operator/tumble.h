/* tumble.h - tumbling windows: which window a time falls into, when it has ended. Pure, apart from the time zone it holds.
 *
 * Windows of TIMESTAMP_LTZ align to local time: bounds are kept as local milliseconds ("as if UTC"), as Flink does, and only the end
 * that the watermark is compared with is an instant. */
#ifndef VARVE_JOB_OPERATOR_TUMBLE_H
#define VARVE_JOB_OPERATOR_TUMBLE_H

#include "job/datetime.h"
#include "job/operator/operators.h"

struct tumble {
    const struct window_spec *spec;
    struct type time_type;
    int64_t units_per_ms;
    struct zone *zone; /* NULL: local time is UTC, or the type has no zone */
};
MUST_USE enum rc tumble_open(struct tumble *t, const struct window_spec *spec, struct fs *fs, struct err *err);
void tumble_close(struct tumble *t);
/* End (exclusive) of the window of a value of the time column, local ms. RC_INVALID: outside the calendar. */
MUST_USE enum rc tumble_end(const struct tumble *t, int64_t time, int64_t *end_ms, struct err *err);
/* The instant in ms that the watermark must reach for the window to fire: its last millisecond. */
int64_t tumble_fires_at(const struct tumble *t, int64_t end_ms);
/* Ends of all rows of the batch; RC_INVALID for a null time. */
MUST_USE enum rc tumble_ends(const struct tumble *t, const struct batch *in, int64_t *ends, struct err *err);
/* Fills the window columns that the spec asks for; columns[] in the order start, end, time. */
void tumble_columns(const struct tumble *t, const int64_t *ends, uint32_t n, struct column *columns,
                    int64_t *values);

#endif
