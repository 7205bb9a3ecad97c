/* ast_util.h - copies, walks and comparisons of expression trees. Pure; any thread. */
#ifndef VARVE_JOB_SQL_AST_UTIL_H
#define VARVE_JOB_SQL_AST_UTIL_H

#include "job/sql/ast.h"

/* Gives a replacement for `e` (in the arena) or NULL: copy it and go on below. `failed` is for the
 * caller: *rc not RC_OK ends the copy. */
typedef struct ast_expr *ast_replace_fn(void *ctx, const struct ast_expr *e, enum rc *rc,
                                        struct err *err);
/* Deep copy, strings too, so that the copy outlives the statement. replace may be NULL. */
MUST_USE enum rc ast_expr_copy(struct arena *a, const struct ast_expr *e, ast_replace_fn *replace,
                               void *ctx, struct ast_expr **out, struct err *err);
/* Calls fn for e and all operands, top down; fn returns false to stay out of an operand. Filters
 * count as operands. */
typedef bool ast_visit_fn(void *ctx, const struct ast_expr *e);
void ast_expr_walk(const struct ast_expr *e, ast_visit_fn *fn, void *ctx);
/* Same meaning by structure: same nodes, names and literals; what a column means is asked of
 * `column_of` (its index, -1 unknown). */
typedef int32_t ast_column_fn(void *ctx, const struct ast_expr *column);
bool ast_expr_equal(const struct ast_expr *a, const struct ast_expr *b, ast_column_fn *column_of,
                    void *ctx);
bool ast_is_aggregate(const struct ast_expr *e); /* a call of COUNT, SUM ... */
/* SQL text of an expression, as DESCRIBE and SHOW CREATE TABLE print it. */
void ast_expr_print(const struct ast_expr *e, struct buf *out);
/* The name as it must be written: plain, or in backticks. `always`: in backticks in any case. */
void ast_name_print(const char *name, bool always, struct buf *out);
/* 'text' with its quotes doubled. */
void ast_string_print(const char *text, size_t len, struct buf *out);
struct ast_expr *ast_column_new(struct arena *a, const char *qualifier, const char *name,
                                struct sql_pos pos);

struct ast_query *ast_query_copy(struct arena *a, const struct ast_query *q); /* deep */

#endif
