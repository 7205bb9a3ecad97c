/* flink_draft.h - a first version of a mapping (flink_mapping.h), of a snapshot of Flink's and the operators
 * of a job: as it stands where uids, names and types say enough; the rest is left open, with what
 * Flink wrote beside it, so that the start names each place that has to be filled in.
 *
 * Reads descriptions, no entries. Thread: any.
 */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_DRAFT_H
#define VARVE_CHECKPOINT_FLINK_FLINK_DRAFT_H

#include "checkpoint/flink/flink_import.h"

/* Appends YAML to `out`. Of the request no operators: what Flink wrote alone, as comments. */
MUST_USE enum rc flink_draft(const struct import_request *r, struct buf *out, struct err *err);

#endif
