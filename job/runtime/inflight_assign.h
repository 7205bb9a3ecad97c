/* inflight_assign.h - rows that were in flight -> the subtasks of a job that goes on from them. Pure; any thread.
 *
 * The edge is found by the operators at its two ends (replay.h). By key: every subtask whose key groups an old subtask's
 * rows may belong to gets that handle, and keeps its own rows. Else each old subtask's rows go to one new subtask. Rows
 * that change others keep their order: on an edge that does not go by key, to one subtask or to as many as before.
 * After: StateAssignmentOperation.reDistributeInputChannelStates, SubtaskStateMapper (flink-runtime). */
#ifndef VARVE_JOB_RUNTIME_INFLIGHT_ASSIGN_H
#define VARVE_JOB_RUNTIME_INFLIGHT_ASSIGN_H

#include "checkpoint/assign.h"
#include "job/runtime/graph.h"

/* For an operator: what `old` has in flight, to the subtasks of `out`. m: the snapshot with the ids of this job; `written`:
 * the same with those it was written with (handles name them). Dropped ones are said in out->fit.said. RC_INVALID: there
 * is no such edge and allow_non_restored is false, or its rows have other types, or are of another query; RC_UNSUPPORTED: the order of changes
 * would be lost. */
MUST_USE enum rc inflight_assign(const struct graph *g, uint32_t vertex, uint32_t op, const struct checkpoint_metadata *m,
                                 const struct checkpoint_metadata *written, uint32_t key_group_count,
                                 bool allow_non_restored, struct arena *arena, struct assigned_operator *out,
                                 struct err *err);

#endif
