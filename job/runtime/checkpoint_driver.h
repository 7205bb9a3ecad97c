/* checkpoint_driver.h - feeds acks, time and requests to the coordinator and carries out what it
 * decides.
 *
 * The coordinator (checkpoint/coordinator.h) decides and does nothing; storage does and decides
 * nothing; this is the wire between them: an attempt's directory, its triggers, the tree of
 * _metadata from the acks, its publication, notifications, and deletions in the coordinator's order
 * on the cleaner's thread.
 *
 * The end of bounded data is the job's, not a task's: tasks stay until the data of all has ended,
 * so every checkpoint has every subtask's state. Then one checkpoint in which every task was past
 * its data is taken and completed, and all are told to finish.
 *
 * Thread: the job's only, except driver_stats. After: the executing parts of CheckpointCoordinator
 * (flink-runtime).
 */
#ifndef VARVE_JOB_RUNTIME_CHECKPOINT_DRIVER_H
#define VARVE_JOB_RUNTIME_CHECKPOINT_DRIVER_H

#include "checkpoint/coordinator.h"
#include "checkpoint/lineage.h"
#include "checkpoint/storage.h"
#include "job/runtime/cleaner.h"
#include "job/runtime/task.h"

struct checkpoint_driver;
/* What the driver asks of its owner. */
struct driver_hooks {
    void *ctx;
    /* To one task; an ended one is passed over (its target is released). */
    void (*post)(void *ctx, uint32_t task, const struct task_message *m);
    const char *(*task_name)(void *ctx, uint32_t task);
    void (*fail_job)(void *ctx, const char *message);
    void (*answer)(void *ctx, uint64_t request_id, enum rc rc, uint64_t checkpoint_id,
                   const char *path, const char *message);
    /* Any thread: a deletion is done: call driver_discarded soon on the job's thread. */
    void (*discarded)(void *ctx, uint64_t checkpoint_id);
};
struct driver_config {
    const struct env *env;
    const struct config *config;
    const struct graph *graph;
    const char *job_id;
    const struct run_origin *origin; /* borrowed */
    struct storage *storage;         /* borrowed */
    const char *rocksdb_version;
    uint64_t first_id;
    bool threaded; /* deletions on a thread of their own */
    struct driver_hooks hooks;
};
struct checkpoint_driver *driver_new(const struct driver_config *config);
void driver_free(struct checkpoint_driver *d); /* finishes deletions first */
/* Before the first start: the snapshot the job starts from. */
void driver_restored(struct checkpoint_driver *d, const struct checkpoint_metadata *m,
                     const char *dir, bool owned);

/* Events. */
void driver_start(struct checkpoint_driver *d); /* tasks are deployed */
void driver_task_running(struct checkpoint_driver *d, uint32_t task);
void driver_backlog(struct checkpoint_driver *d, uint32_t task, bool backlog);
void driver_task_end_of_data(struct checkpoint_driver *d, uint32_t task);
void driver_task_finished(struct checkpoint_driver *d, uint32_t task);
void driver_ack(struct checkpoint_driver *d, struct task_event *ev_take);
void driver_decline(struct checkpoint_driver *d, const struct task_event *ev);
void driver_job_failing(struct checkpoint_driver *d);
void driver_request(struct checkpoint_driver *d, uint64_t request_id, enum request_kind kind,
                    const char *target_dir);
void driver_cancel(struct checkpoint_driver *d);
void driver_suspend(struct checkpoint_driver *d);
void driver_discarded(struct checkpoint_driver *d, uint64_t checkpoint_id);
void driver_tick(struct checkpoint_driver *d);
/* When the next tick is due; INT64_MAX: none. */
int64_t driver_next_mono_ms(const struct checkpoint_driver *d);
/* All tasks have ended: retention decides, deletions are done when it returns. */
void driver_shutdown(struct checkpoint_driver *d, enum job_end end);

/* What a restart goes back to: *id 0: the beginning. */
void driver_latest(const struct checkpoint_driver *d, uint64_t *id, bool *is_restored);
/* The tree of the newest checkpoint completed here, for storage that has no file of it; NULL: none.
 * Until the next completion. */
const struct checkpoint_metadata *driver_latest_tree(const struct checkpoint_driver *d);
/* Highest id of a savepoint completed here; 0: none. */
uint64_t driver_newest_savepoint(const struct checkpoint_driver *d);
/* Notes in the job's directory that the job was stopped with that savepoint: before anyone commits
 * what it holds, in the stop itself or in a restart from there, since a resume from an older
 * checkpoint would bring it again. Nothing when it is noted. */
MUST_USE enum rc driver_note_stop(struct checkpoint_driver *d, uint64_t savepoint_id,
                                  const char *dir, struct err *err);
/* Path of a stop's savepoint while tasks are ending; NULL. */
const char *driver_stop_path(const struct checkpoint_driver *d);
/* Any thread. */
void driver_stats(struct checkpoint_driver *d, struct arena *arena, struct checkpoint_stats *out);

#endif
