/* preview.h - results as text, in the look of Flink's SQL client.
 *
 *     +----+--------+----------------------+          +------------+
 *     | op |      k |                    n |          | table name |
 *     +----+--------+----------------------+          +------------+
 *     | +I |  alice |                    1 |          |        seq |
 *     +----+--------+----------------------+          +------------+
 *     Received a total of 1 row                       1 row in set
 *
 * The left one is a SELECT in streaming mode: rows are printed as they come, so widths follow the
 * types and longer values are cut. The right one has all rows first: widths follow the content,
 * nothing is cut. Strings are right-aligned, as in Flink.
 */
#ifndef VARVE_JOB_SQL_PREVIEW_H
#define VARVE_JOB_SQL_PREVIEW_H

#include "job/sql/session.h"

#define PREVIEW_COLUMN_WIDTH_MAX 30 /* table.display.max-column-width */

/* Text goes out here; an error is kept and given back by the handler's functions. */
typedef enum rc preview_write_fn(void *ctx, struct bytes text, struct err *err);

struct preview;
/* fs: for the time zone of TIMESTAMP_LTZ, borrowed. max_rows: a table that needs all rows first
 * keeps so many and counts the rest; 0: 10000. */
struct preview *preview_new(struct fs *fs, preview_write_fn *write, void *ctx, uint32_t max_rows);
void preview_free(struct preview *p);
/* Its begin and rows functions as a handler's. `wait` is left NULL for the caller. */
struct result_handler preview_handler(struct preview *p);
/* After session_execute: the last line of the table and how many rows there were; for other results
 * what Flink's client says
 * ("[INFO] Execute statement succeeded.", the job id). */
MUST_USE enum rc preview_end(struct preview *p, const struct statement_result *result,
                             struct err *err);

#endif
