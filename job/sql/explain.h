/* explain.h - the text of EXPLAIN, in Flink's three sections: the query as written, the operators
 * it becomes, and the vertices that run: with parallelism, operator ids, uids and the names of
 * states. */
#ifndef VARVE_JOB_SQL_EXPLAIN_H
#define VARVE_JOB_SQL_EXPLAIN_H

#include "job/runtime/graph.h"

struct plan_node;
/* changelog_mode: what kinds of rows each operator sends (EXPLAIN CHANGELOG_MODE). */
void explain_print(uint32_t sink_count, struct plan_node *const *logical,
                   struct plan_node *const *physical, const struct graph *graph,
                   bool changelog_mode, struct buf *out);

#endif
