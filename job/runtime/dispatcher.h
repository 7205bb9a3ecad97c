/* dispatcher.h - the jobs of this process: `varve serve` keeps several, `varve run` one. Thread: any. */
#ifndef VARVE_JOB_RUNTIME_DISPATCHER_H
#define VARVE_JOB_RUNTIME_DISPATCHER_H

#include "job/runtime/supervisor.h"

#define DISPATCHER_JOBS_MAX 1000 /* ended ones are forgotten from the oldest past this */

struct dispatcher;
struct dispatcher *dispatcher_new(const struct env *env);
void dispatcher_free(struct dispatcher *d); /* cancels what runs, waits, frees the jobs; nobody may use one any more */
/* *out is held like one of dispatcher_find. */
MUST_USE enum rc dispatcher_submit(struct dispatcher *d, const struct config *config,
                                   struct graph *graph_take, const struct job_restore *restore,
                                   struct job **out, struct err *err);
/* NULL: unknown. The job stays valid until dispatcher_release of it. */
struct job *dispatcher_find(struct dispatcher *d, const char *job_id);
void dispatcher_release(struct dispatcher *d, struct job *job);
/* All jobs, newest first, each held until released. */
size_t dispatcher_list(struct dispatcher *d, struct job **out, size_t max);
/* SIGTERM: suspend all and wait. */
void dispatcher_suspend_all(struct dispatcher *d, bool checkpoint_first);

#endif
