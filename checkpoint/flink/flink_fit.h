/* flink_fit.h - whether a keyed state that Flink wrote can go on as one of a job's: the same bytes, by
 * the same serializers. Pure; thread: any.
 *
 * The serializers that Flink would write for the job's types are made (flink_sql_type.h) and compared
 * part by part. Names of columns are in no snapshot of Flink's: what fits, fits by type and place, as
 * in Flink itself. */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_FIT_H
#define VARVE_CHECKPOINT_FLINK_FLINK_FIT_H

#include "backend/state_handle.h"
#include "checkpoint/flink/flink_states.h"

/* Whether values of both have the same bytes and meaning; wrappers do not count. */
bool flink_serializer_same(const struct flink_serializer *a, const struct flink_serializer *b);

/* Appends "\n  value: Flink wrote LongSerializer, the job has ROW<...>", a line for each part that
 * differs; nothing: it fits. key: the operator's. */
void flink_fit(const struct flink_serializer *key, const struct flink_state *state,
               const struct state_desc *wanted, struct arena *arena, struct buf *out);

#endif
