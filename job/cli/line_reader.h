/* line_reader.h - lines from a terminal: editing, history in a file, completion of SQL words and
 * table names. libedit behind it.
 *
 * Ctrl-C gives the line up; Ctrl-D on an empty one is the end. Thread: main's. */
#ifndef VARVE_JOB_CLI_LINE_READER_H
#define VARVE_JOB_CLI_LINE_READER_H

#include "job/cli/sql_engine.h"

struct line_reader;
/* history_path NULL: none is kept. Sets LC_CTYPE from the environment, so that letters beyond ASCII
 * can be typed. */
MUST_USE enum rc line_reader_open(const struct cli *cli, struct sql_engine *engine,
                                  const char *history_path, struct line_reader **out,
                                  struct err *err);
void line_reader_close(struct line_reader *r); /* saves the history; NULL is a no-op */
enum line_end { LINE_WHOLE, LINE_ABANDONED, LINE_EOF };
/* The line with its end, until the next call. */
enum line_end line_reader_next(struct line_reader *r, const char *prompt, struct bytes *line);
/* A whole statement, for the history. */
void line_reader_remember(struct line_reader *r, struct bytes statement);

#endif
