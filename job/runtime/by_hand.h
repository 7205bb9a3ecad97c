/* by_hand.h - a whole job in the caller's thread, for simulations: nothing runs by itself, no time
 * passes unless the clock says so.
 *
 *     job_start_by_hand(..., &job, err)
 *     while (!job_step(job, &next))            the job's own part: requests, task events, what is
 * due executor_step(job_executor(job), rng)  a step of a task or of a snapshot's asynchronous part,
 * chosen by rng
 *
 * The order of the two, and how often, is the caller's choice; every order must come to the same.
 * Thread: one. */
#ifndef VARVE_JOB_RUNTIME_BY_HAND_H
#define VARVE_JOB_RUNTIME_BY_HAND_H

#include "job/runtime/executor.h"
#include "job/runtime/supervisor.h"

/* As job_start, without a thread; job_free only when it has ended. */
MUST_USE enum rc job_start_by_hand(const struct env *env, const struct config *config,
                                   struct graph *graph_take, const struct job_restore *restore,
                                   struct job **out, struct err *err);
/* *next_mono_ns: when something is due at the latest. true: ended. */
bool job_step(struct job *job, int64_t *next_mono_ns);
struct executor *job_executor(struct job *job); /* NULL: nothing is deployed */

#endif
