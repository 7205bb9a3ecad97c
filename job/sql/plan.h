/* plan.h - statements -> the graph of a job.
 *
 * Every operator is planned alone, then operators are chained into vertices where rows need not
 * change subtask: one input, one output, forward, equal parallelism (as Flink does).
 *
 * Operator ids (what a checkpoint is matched by) come from what an operator is, not from where it
 * stands: a source and a sink from their table's name, an aggregate from the tables and columns
 * that it groups. So reformatting, other aliases, another projection, a new aggregate call, a
 * second INSERT or a changed WHERE keep them; what then does not fit is seen by the types of the
 * state. Two operators that would get one id are told apart by their full text, then by a counter;
 * when one of them comes or goes, the others are found again by that text (operator_spec.exact_id).
 * 'varve.uid' gives an operator its id: as a table's option, or in a hint OPTIONS('varve.uid'='x')
 * behind the name of a table for its source or sink, behind SELECT for the query's aggregate.
 *
 * Nothing of the statement is borrowed after the call. Thread: one at a time for one catalog.
 */
#ifndef VARVE_JOB_SQL_PLAN_H
#define VARVE_JOB_SQL_PLAN_H

#include "base/env.h"
#include "job/config.h"
#include "job/runtime/graph.h"
#include "job/sql/catalog.h"

#define PLAN_OPERATORS_MAX 1000

struct plan_context {
    struct catalog *catalog;
    const struct config *config;
    const struct env *env; /* clock for constant expressions */
};
/* INSERT or a statement set: one job. */
MUST_USE enum rc plan_insert(const struct plan_context *ctx, const struct ast_statement *s,
                             struct graph **out, struct err *err);
struct plan_result {
    const struct schema *schema; /* in the graph's arena; copy it to keep it */
    bool updating;               /* rows may be -U, +U, -D */
    bool bounded;                /* all sources end */
    bool batch;                  /* planned for batch mode: final rows only */
};
/* SELECT: its rows go to collect(ctx) from one task's thread. */
MUST_USE enum rc plan_select(const struct plan_context *ctx, const struct ast_statement *s,
                             enum rc (*collect)(void *ctx, const struct batch *, struct err *),
                             void *collect_ctx, struct graph **out, struct plan_result *result,
                             struct err *err);
/* Plans the query of a CREATE VIEW and forgets the plan: its mistakes show when the view is made.
 * The view's row type into *out, in arena. */
MUST_USE enum rc plan_view(const struct plan_context *ctx, const struct ast_query *query,
                           uint32_t column_count, const char *const *columns, const char *source,
                           struct arena *arena, const struct schema **out, struct err *err);
/* EXPLAIN: Flink's three sections. */
MUST_USE enum rc plan_explain(const struct plan_context *ctx, const struct ast_statement *explained,
                              bool changelog_mode, struct buf *out, struct err *err);

#endif
