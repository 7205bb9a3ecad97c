/* sql_error.h - messages about SQL: line, column, what is wrong, then the source line with a caret
 * under the place.
 *
 *     line 2 column 8: expected FROM or ',', found 'FORM'; did you mean FROM?
 *       SELECT a FORM t
 *                ^
 * Thread: any.
 */
#ifndef VARVE_JOB_SQL_SQL_ERROR_H
#define VARVE_JOB_SQL_SQL_ERROR_H

#include "job/sql/ast.h"

/* Writes such a message. `source` is the whole text that `pos` counts in; NULL: no line is
 * shown. pos.line == 0: the place is not known, the message stands alone. */
enum rc sql_error_at(struct err *err, enum rc rc, const char *source, struct sql_pos pos,
                     const char *fmt, ...) PRINTF_LIKE(5, 6);
/* Adds line and caret to a message that begins with "line L column C: " and has none yet
 * (expr_bind's); returns rc. */
enum rc sql_error_show(struct err *err, enum rc rc, const char *source);
/* "; did you mean x?" of the nearest candidate (base/nearest.h), or "" into out. */
#define SQL_HINT_MAX 128
const char *sql_nearest_hint(char out[SQL_HINT_MAX], const char *word,
                             const char *const *candidates, size_t count);

#endif
