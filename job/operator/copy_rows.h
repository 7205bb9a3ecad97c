/* copy_rows.h - rows in the text form of PostgreSQL's COPY: one a line, fields between tabs, \N for
 * null. Thread: the task's. */
#ifndef VARVE_JOB_OPERATOR_COPY_ROWS_H
#define VARVE_JOB_OPERATOR_COPY_ROWS_H

#include "job/batch.h"
#include "sink/pg_client.h"

/* Row `row` behind `out`. With a key 'U' or 'D' is its first field, by the row's kind: what a row is
 * updated from is deleted, and the row after it, of the same key, put in its place. RC_INVALID: a
 * value that PostgreSQL has no place for; table and column are named. */
MUST_USE enum rc copy_row_append(const struct batch *in, uint32_t row, const struct pg_table *table,
                                 struct buf *out, struct err *err);

#endif
