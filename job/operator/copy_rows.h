/* copy_rows.h - rows in the text form of PostgreSQL's COPY: one a line, fields between tabs, \N for
 * null. Thread: the task's. */
#ifndef VARVE_JOB_OPERATOR_COPY_ROWS_H
#define VARVE_JOB_OPERATOR_COPY_ROWS_H

#include "job/batch.h"

/* Row `row` behind `out`. ops: 'U' or 'D' as its first field, by the row's kind: what a row is
 * updated from is deleted, and the row after it, of the same key, put in its place. */
void copy_row_append(const struct batch *in, uint32_t row, bool ops, struct buf *out);

#endif
