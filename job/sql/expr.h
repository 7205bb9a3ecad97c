/* expr.h - typed expressions: bound once against a schema, evaluated on batches.
 *
 * Three-valued logic, Flink's result types and coercions; no implicit cast between text and numbers. Evaluation is
 * vectorised over a selection, so that CASE, AND, OR and COALESCE evaluate a branch only for the rows that reach it.
 * Thread: an expr is immutable after binding and may be shared; an expr_eval belongs to one thread.
 */
#ifndef VARVE_JOB_SQL_EXPR_H
#define VARVE_JOB_SQL_EXPR_H

#include "base/clock.h"
#include "job/batch.h"
#include "job/sql/ast.h"

struct expr; /* opaque, in the binder's arena */

/* What names mean: columns of the input, with the qualifiers they may carry. */
struct expr_scope {
    const struct schema *schema;
    const char **qualifiers;     /* one a field, NULL entries allowed; NULL: none */
    const char *time_zone;       /* table.local-time-zone */
};
/* RC_INVALID with "line L column C: ..." (the caller adds the source line). Aggregate calls are refused here: the planner has
 * replaced them by columns. */
MUST_USE enum rc expr_bind(struct arena *a, const struct ast_expr *ast, const struct expr_scope *scope,
                           struct expr **out, struct err *err);
/* Position of the last bind error, for the caret. */
struct type expr_type(const struct expr *e);
/* Column index if the expression is just a column; -1. */
int32_t expr_column(const struct expr *e);
struct expr *expr_new_column(struct arena *a, uint32_t index, struct type type);
/* Wraps in an implicit cast for INSERT; RC_INVALID when Flink would refuse it. `what` names the column. */
MUST_USE enum rc expr_coerce(struct arena *a, struct expr *e, struct type to, const char *what,
                             struct expr **out, struct err *err);
bool expr_is_constant(const struct expr *e);
/* Canonical text: same meaning, same text, whatever the spelling and position in the query; columns by the names given. */
void expr_print(const struct expr *e, const struct schema *input, struct buf *out);
bool expr_is_aggregate_name(const char *upper_name);

struct expr_eval; /* scratch memory and the clock for CURRENT_TIMESTAMP etc. */
struct expr_eval *expr_eval_new(struct clock *clock, const char *time_zone, struct err *err);
void expr_eval_free(struct expr_eval *ev);
/* Values for rows sel[0..n) (sel NULL: 0..n) of `in`, densely into *out (row i of out belongs to sel[i]); out's buffers hold until
 * expr_eval_reset. RC_INVALID: division by zero, overflow, a failed CAST: names the expression and value. */
MUST_USE enum rc expr_evaluate(struct expr_eval *ev, const struct expr *e, const struct batch *in,
                               const uint32_t *sel, uint32_t n, struct column *out, struct err *err);
/* Rows for which the predicate is TRUE, into out_sel (room for n); *out_n. */
MUST_USE enum rc expr_filter(struct expr_eval *ev, const struct expr *e, const struct batch *in,
                             const uint32_t *sel, uint32_t n, uint32_t *out_sel, uint32_t *out_n,
                             struct err *err);
void expr_eval_reset(struct expr_eval *ev);

#endif
