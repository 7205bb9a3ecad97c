/* task_table.h - what the coordinator knows of the tasks of a job: phases, names, where barriers
 * enter.
 *
 *     DOWN -> UP -> AT_END -> RELEASED -> GONE
 *              +-------+-------------------^
 *
 * AT_END: its input and operators are done, it waits for a checkpoint. RELEASED: that checkpoint is
 * complete, it is on its way out. Task i is (vertex, subtask) in the order of the vertices. Pure.
 * Thread: the driver's. After: DefaultCheckpointPlanCalculator (flink-runtime).
 */
#ifndef VARVE_CHECKPOINT_TASK_TABLE_H
#define VARVE_CHECKPOINT_TASK_TABLE_H

#include "checkpoint/coordinator.h"
#include "checkpoint/pending.h"

enum task_phase { TASK_DOWN, TASK_UP, TASK_AT_END, TASK_RELEASED, TASK_GONE, TASK_PHASE_COUNT };
bool task_may_move(enum task_phase from, enum task_phase to); /* the table of the drawing */

struct task_table; /* opaque */
/* Copies what it needs; all tasks are DOWN. */
struct task_table *task_table_new(const struct stats_vertex *vertices, uint32_t vertex_count,
                                  const struct coordinator_edge *edges, uint32_t edge_count);
void task_table_free(struct task_table *t);
void task_table_reset(struct task_table *t); /* all DOWN */
uint32_t task_table_size(const struct task_table *t);
enum task_phase task_table_phase(const struct task_table *t, uint32_t task);
/* false: not drawn, e.g. the last words of a task of an earlier deployment; nothing changes. */
bool task_table_move(struct task_table *t, uint32_t task, enum task_phase to);
uint32_t task_table_count(const struct task_table *t, enum task_phase phase);
void task_table_locate(const struct task_table *t, uint32_t task, uint32_t *vertex,
                       uint32_t *subtask_index);
/* "GroupAggregate[k] (2/4)" in `arena`. */
const char *task_table_name(const struct task_table *t, uint32_t task, struct arena *arena);
/* Where the barriers of an attempt enter: out[i] for expected tasks none of whose inputs is one. */
void task_table_heads(const struct task_table *t, const struct pending *attempt, bool *out);

#endif
