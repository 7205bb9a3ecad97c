/* state_budget.h - what a job's keyed state may take: memory and open files, divided among its keyed subtasks.
 *
 * Decides only, from configuration, graph and the process's limit, before anything starts. Pure; any thread. */
#ifndef VARVE_JOB_RUNTIME_STATE_BUDGET_H
#define VARVE_JOB_RUNTIME_STATE_BUDGET_H

#include "backend/memory_plan.h"
#include "job/config.h"
#include "job/runtime/graph.h"

struct state_budget {
    bool limited; /* rocksdb, and some operator is keyed: the rest holds */
    struct memory_plan memory;
    int files; /* that each keyed subtask's database may keep open */
};
/* open_files_max: of the process. RC_INVALID: one of both is too small; the message names what is needed. */
MUST_USE enum rc state_budget_make(const struct config *config, const struct graph *graph,
                                   uint64_t open_files_max, struct state_budget *out, struct err *err);

#endif
