/* flink_of_varve.h - a canonical savepoint of Flink's out of a snapshot of varve's own.
 *
 * Keyed state of SQL has Flink's keys and values already (docs/FORMAT.md "Rows of keyed state"): it
 * gets Flink's descriptions (flink_sql_type.h). Lists without keys become lists of byte arrays, which
 * no operator of Flink's reads: each is said. Operators have Flink's id of their uid; those without
 * one get their varve id, 32 hex digits, as uid. Refused, by operator and subtask: rows in flight,
 * logs of a write-ahead sink, states that are not of SQL types.
 *
 * C13: as state_source.h. All or nothing: flink_target.h. Memory: flink_canonical.h and
 * backend/state_reader.h. Thread: any.
 */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_OF_VARVE_H
#define VARVE_CHECKPOINT_FLINK_FLINK_OF_VARVE_H

#include "checkpoint/flink/flink_savepoint.h"

/* m: resolved_path set on every file that is not inline. said: what a user should know, once for each
 * list; NULL: nobody asks. */
typedef void flink_said_fn(void *ctx, const char *text);
MUST_USE enum rc flink_of_varve(const struct env *env, const struct checkpoint_metadata *m,
                                const char *dir, const struct flink_savepoint_options *options,
                                flink_said_fn *said, void *said_ctx,
                                struct flink_savepoint_result *out, struct err *err);

#endif
