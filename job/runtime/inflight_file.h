/* inflight_file.h - the file of rows in flight on one edge to one subtask: head and blocks; docs/FORMAT.md "In-flight
 * data". Pure but for inflight_file_read. Thread: any. */
#ifndef VARVE_JOB_RUNTIME_INFLIGHT_FILE_H
#define VARVE_JOB_RUNTIME_INFLIGHT_FILE_H

#include "backend/state_handle.h"
#include "job/batch.h"

#define INFLIGHT_ROW_TYPE_MAX (1u << 20) /* bytes of a row type's text */
#define INFLIGHT_FILE_MAX (4ull << 30)   /* bytes of one file */

/* The types of a schema's columns, without names: "BIGINT, STRING NOT NULL". In arena. */
const char *inflight_row_type(struct arena *arena, const struct schema *schema);
/* Appends what stands before the blocks. */
void inflight_file_head(const char *row_type, struct buf *out);
/* Each block as a batch, in order; the batch is the callee's (batch_free). */
typedef enum rc inflight_batch_fn(void *ctx, struct batch *batch_take, struct err *err);
/* `content`: a whole file, proven or not. RC_CORRUPT, RC_VERSION with the place; RC_INVALID: its rows are of another type
 * than the schema's. *rows: of all blocks. */
MUST_USE enum rc inflight_file_decode(struct bytes content, const char *what, const struct schema *schema,
                                      inflight_batch_fn *fn, void *ctx, uint64_t *rows, struct err *err);
/* The whole file of a handle, proven by size and digest (C13) before a byte of it is used. */
MUST_USE enum rc inflight_file_read(struct fs *fs, const struct channel_handle *h, const struct schema *schema,
                                    inflight_batch_fn *fn, void *ctx, struct err *err);

#endif
