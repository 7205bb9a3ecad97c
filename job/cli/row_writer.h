/* row_writer.h - rows of a verb on standard output: JSON lines, CSV with a header, or a table.
 *
 * Rows are collected in batches and leave batch by batch, so that memory is bounded however many
 * there are; the columns of a table grow with what comes. Thread: main's. */
#ifndef VARVE_JOB_CLI_ROW_WRITER_H
#define VARVE_JOB_CLI_ROW_WRITER_H

#include "job/batch.h"
#include "job/cli/cli.h"

enum row_format { ROWS_JSONL, ROWS_CSV, ROWS_TABLE };
#define ROW_FORMATS "jsonl, csv or table"
/* given NULL: a table on a terminal, else JSON lines, as with --json. RC_INVALID. */
MUST_USE enum rc row_format_of(const struct cli *cli, const char *given, enum row_format *out,
                               struct err *err);

struct row_writer; /* opaque */
/* schema: borrowed, names distinct. */
struct row_writer *row_writer_new(const struct schema *schema, enum row_format format);
void row_writer_free(struct row_writer *w); /* NULL is a no-op; rows that were not flushed are lost */
/* Where the next row goes: its columns, then batch_row_end. */
struct batch_builder *row_writer_rows(struct row_writer *w);
/* After each row: writes when enough have come. RC_IO: standard output takes no more. */
MUST_USE enum rc row_writer_next(struct row_writer *w, struct err *err);
/* Writes what is left, and the header if nothing came. */
MUST_USE enum rc row_writer_finish(struct row_writer *w, struct err *err);

#endif
