/* result_table.h - a changelog folded into the table it stands for: what result mode TABLE shows.
 *
 * +I and +U add a row, -U and -D take an equal one away (the newest of equals). Keeps the newest
 * max_rows rows. Thread: one at a time. */
#ifndef VARVE_JOB_CLI_RESULT_TABLE_H
#define VARVE_JOB_CLI_RESULT_TABLE_H

#include "job/batch.h"

struct result_table;
struct result_table *result_table_new(const struct schema *schema,
                                      uint32_t max_rows); /* schema is copied */
void result_table_free(struct result_table *t);           /* NULL is a no-op */
void result_table_add(struct result_table *t, const struct batch *b);
uint64_t result_table_rows(const struct result_table *t);    /* that it holds */
uint64_t result_table_dropped(const struct result_table *t); /* older ones that were too many */
/* The rows in the order in which they came, in batches, all +I. */
MUST_USE enum rc result_table_emit(struct result_table *t,
                                   enum rc (*rows)(void *ctx, const struct batch *, struct err *),
                                   void *ctx, struct err *err);

#endif
