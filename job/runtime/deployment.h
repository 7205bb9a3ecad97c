/* deployment.h - one attempt to run a job: channels, tasks, threads; made, watched and taken down
 * as a whole.
 *
 * Thread: the job's, except deployment_view. */
#ifndef VARVE_JOB_RUNTIME_DEPLOYMENT_H
#define VARVE_JOB_RUNTIME_DEPLOYMENT_H

#include "checkpoint/assign.h"
#include "job/runtime/state_budget.h"
#include "job/runtime/task.h"

struct deployment_config {
    const struct env *env;
    const struct config *config;
    const struct graph *graph;
    const char *job_id;
    const char *local_dir;
    struct storage *storage;
    const struct state_budget *budget; /* borrowed for the call */
    uint32_t attempt;
    bool threaded;
    /* Restored state; NULL: none. Borrowed until all tasks run or have ended. */
    const struct assignment *assignment;
    uint64_t restored_checkpoint_id;
    bool earlier_run_dead;
    void (*notify)(void *ctx, struct task_event *ev_take); /* any thread */
    void *notify_ctx;
};
struct deployment;
/* taskmanager.numberOfTaskSlots, or one a core. */
uint32_t deployment_slots(const struct config *config);
/* Everything is made and started. */
struct deployment *deployment_new(const struct deployment_config *config);
/* Only when all tasks have ended. Joins the threads. */
void deployment_free(struct deployment *d);
/* Joins the threads, keeps tasks for views. */
void deployment_stop(struct deployment *d);
uint32_t deployment_task_count(const struct deployment *d);
const char *deployment_task_name(const struct deployment *d, uint32_t task);
/* A task that has ended (deployment_ended said so) is passed over. */
void deployment_post(struct deployment *d, uint32_t task, const struct task_message *m);
void deployment_cancel(struct deployment *d, bool commit_completed); /* as task_cancel */
/* Note that a task has ended; true: it was the last. */
bool deployment_ended(struct deployment *d, uint32_t task);
bool deployment_all_ended(const struct deployment *d);
struct executor *deployment_executor(struct deployment *d);
/* What keyed state takes; nothing is written without RocksDB. Any thread, as deployment_view. */
void deployment_memory(struct deployment *d, struct keyed_memory_stats *out);
/* Any thread, under the lock that keeps the deployment from being freed. */
void deployment_view(struct deployment *d, struct arena *arena, struct vertex_view *vertices);

#endif
