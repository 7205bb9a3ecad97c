/* coordinator.h - when checkpoints start, when they count, what is kept: event in, actions out.
 *
 * A pure state machine: no I/O, no thread, no clock. The driver feeds events with the time and
 * performs the actions in order. Up to max_concurrent attempts are under way at a time, savepoints
 * included; a stop and the last checkpoint of a bounded job are alone. Requests wait in a queue,
 * savepoints first. Task i is (vertex, subtask) in the order
 * of the vertices.
 *
 *     attempt n:  ACTION_BEGIN --EVENT_BEGUN--> ACTION_TRIGGER.. --EVENT_ACK of all-->
 *                 ACTION_FINALIZE --EVENT_FINALIZED--> complete
 *
 * Complete (C5): added to the store (not savepoints), older ones subsumed, ACTION_NOTIFY_COMPLETE
 * (checkpoints and stop-with-savepoint only: an ordinary savepoint commits nothing); older
 * checkpoints under way are aborted. One at a time is finalized, so they complete in order.
 * Everything else that can happen to an attempt aborts it: ACTION_NOTIFY_ABORTED,
 * ACTION_DISCARD_ATTEMPT.
 * ACTION_FINALIZE is never interrupted: cancel, shutdown and restart wait for its outcome.
 * After: CheckpointCoordinator, CheckpointRequestDecider, CheckpointFailureManager,
 * StopWithSavepointTerminationManager; differences: docs/REFERENCE.md. Thread: the driver's only.
 */
#ifndef VARVE_CHECKPOINT_COORDINATOR_H
#define VARVE_CHECKPOINT_COORDINATOR_H

#include "base/rng.h"
#include "checkpoint/completed.h"
#include "checkpoint/stats.h"

struct coordinator_edge {
    uint32_t from_vertex, to_vertex;
    bool pointwise; /* subtask i to subtask i only */
};
#define COORDINATOR_UNLIMITED UINT32_MAX
#define COORDINATOR_QUEUE_MAX 1000
struct coordinator_config {
    int64_t interval_ms; /* 0: no periodic checkpoints */
    /* While any source works through a backlog; 0: none then; at least interval_ms else. */
    int64_t interval_during_backlog_ms;
    int64_t timeout_ms, min_pause_ms;
    uint32_t tolerable_failures; /* COORDINATOR_UNLIMITED: never fails the job (no interval
                                    configured) */
    uint32_t max_concurrent; /* attempts under way at one time, >= 1 */
    uint32_t num_retained;
    enum checkpoint_retention retention;
    bool exactly_once;
    bool unaligned; /* barriers of checkpoints (never of savepoints) may overtake rows ... */
    int64_t aligned_timeout_ms; /* ... when they are that old */
    bool after_tasks_finish; /* execution.checkpointing.checkpoints-after-tasks-finish */
    bool final_checkpoint; /* tasks wait at the end of their data for a checkpoint that commits the
                              last rows */
    const char *savepoint_dir; /* default target; NULL: none */
    uint64_t first_id;         /* above any id seen (C9); >= 1 */
    uint32_t history_size;     /* 0 = 10 */
    struct rng rng;            /* for the first delay */
    uint32_t vertex_count, edge_count;
    const struct stats_vertex *vertices;
    const struct coordinator_edge *edges;
};

/* Why an attempt ended without completing. */
enum checkpoint_failure {
    FAILURE_NOT_ALL_RUNNING,
    FAILURE_MIN_PAUSE,
    FAILURE_TOO_MANY_REQUESTS,
    FAILURE_IO,
    FAILURE_EXPIRED,
    FAILURE_DECLINED,
    FAILURE_ASYNC,
    FAILURE_TASK_CLOSING,
    FAILURE_FINALIZE,
    FAILURE_SUBSUMED,
    FAILURE_JOB_FAILING,
    FAILURE_SUSPENDED,
    FAILURE_SHUTDOWN,
    FAILURE_CANCELLED,
    FAILURE_COUNT_,
};
/* Flink's words: "Checkpoint expired before completing." */
const char *checkpoint_failure_str(enum checkpoint_failure f);
/* Whether it counts against tolerable-failed-checkpoints. */
bool checkpoint_failure_counts(enum checkpoint_failure f);
/* What the caller of a failed request sees. */
enum rc checkpoint_failure_rc(enum checkpoint_failure f);

enum request_kind { REQUEST_CHECKPOINT, REQUEST_SAVEPOINT, REQUEST_STOP, REQUEST_STOP_DRAIN };

/* The events of one task come in its own order; each deployment begins with EVENT_TASK_RUNNING;
 * EVENT_TASK_END_OF_DATA comes before the ack of a barrier that the task met there. */
enum event_kind {
    EVENT_TICK,             /* time has passed; see coordinator_next_mono_ms */
    EVENT_START,            /* the job (re)starts: all tasks are deployed now, none runs yet */
    EVENT_TASK_RUNNING,     /* task */
    EVENT_TASK_END_OF_DATA, /* task: its input and operators are done, it waits for a final
                               checkpoint */
    EVENT_TASK_FINISHED,    /* task */
    EVENT_BACKLOG,          /* task, backlog: a source begins or ends to work through one */
    EVENT_JOB_FAILING,      /* a task failed: all tasks are being torn down; EVENT_START follows, or
                               EVENT_SHUTDOWN */
    EVENT_REQUEST,          /* request_id, request, target_dir */
    EVENT_BEGUN,            /* checkpoint_id */
    EVENT_BEGIN_FAILED,     /* checkpoint_id, message */
    EVENT_ACK,              /* checkpoint_id, task, ack */
    EVENT_DECLINE,   /* checkpoint_id, task, failure (DECLINED, ASYNC or TASK_CLOSING), message */
    EVENT_FINALIZED, /* checkpoint_id, path: _metadata is durable (C3) */
    EVENT_FINALIZE_FAILED, /* checkpoint_id, message: nothing visible is left, or its discard will
                              see to it */
    EVENT_DISCARDED,       /* checkpoint_id: a DISCARD_CHECKPOINT is done, well or not */
    EVENT_CANCEL,          /* the job is being cancelled: wins over a stop */
    EVENT_SUSPEND,         /* SIGTERM: no new attempt from here on, the pending one is aborted */
    EVENT_SHUTDOWN, /* end: all tasks have ended, the job is FINISHED, CANCELED, FAILED or SUSPENDED
                       for good */
};
struct coordinator_event {
    enum event_kind kind;
    int64_t now_mono_ms, now_wall_ms;
    uint32_t task;
    bool backlog;
    uint64_t checkpoint_id;
    uint64_t request_id;
    enum request_kind request;
    const char *target_dir; /* request: NULL = configured; borrowed */
    const char *path;       /* FINALIZED: absolute directory of the snapshot; borrowed */
    const char *message;    /* borrowed; NULL: none */
    enum checkpoint_failure failure;
    struct ack_stats ack;
    enum job_end end;
};

enum action_kind {
    ACTION_BEGIN,    /* barrier, target_dir (savepoints): make the attempt's directory, registry
                      * attempt_begin; then EVENT_BEGUN or EVENT_BEGIN_FAILED */
    ACTION_TRIGGER,  /* barrier, task: inject it there */
    ACTION_FINALIZE, /* checkpoint_id: write and publish _metadata from the acks; then
                        EVENT_FINALIZED or _FAILED */
    ACTION_ADOPT,    /* checkpoint_id: registry attempt_completed; publish the statistics before any
                        discard (B09) */
    ACTION_NOTIFY_COMPLETE,    /* checkpoint_id: to all tasks that still run */
    ACTION_NOTIFY_ABORTED,     /* checkpoint_id */
    ACTION_NOTIFY_SUBSUMED,    /* checkpoint_id: the highest one subsumed */
    ACTION_DISCARD_ATTEMPT,    /* checkpoint_id: aborted: _metadata first if there, its directory,
                                  registry attempt_aborted. May come twice */
    ACTION_DISCARD_CHECKPOINT, /* checkpoint_id, completed: _metadata first, directory, registry
                                  checkpoint_dropped; then EVENT_DISCARDED */
    ACTION_FORGET_CHECKPOINT,  /* checkpoint_id, completed.owned false: registry checkpoint_dropped,
                                  nothing is deleted at its place */
    ACTION_DELETE_SHARED,      /* delete what the registry has condemned */
    ACTION_FAIL_JOB,           /* message: fail over, by the restart strategy */
    ACTION_ANSWER,             /* request_id, rc, checkpoint_id, path, message */
    ACTION_SHUTDOWN_DONE,      /* nothing more will come */
};
struct coordinator_action {
    enum action_kind kind;
    struct barrier barrier;
    uint64_t checkpoint_id;
    uint32_t task;
    uint64_t request_id;
    enum rc rc;
    const char *target_dir, *path, *message; /* in the list's arena; NULL: none */
    struct completed_checkpoint completed;   /* DISCARD_CHECKPOINT, FORGET_CHECKPOINT */
};
/* Caller's memory; `= {0}`. Actions and their strings hold until the next step with the same list.
 */
struct coordinator_actions {
    struct arena *arena;
    size_t count, cap;
    struct coordinator_action *list;
};
void coordinator_actions_release(struct coordinator_actions *a);

struct coordinator;
struct coordinator *coordinator_new(const struct coordinator_config *config); /* copies */
void coordinator_free(struct coordinator *c);
/* Before the first EVENT_START: the snapshot this job starts from. Its id must be below first_id.
 */
void coordinator_restored(struct coordinator *c, struct completed_checkpoint restored,
                          const char *path, int64_t now_wall_ms);
/* Decide. `actions` is emptied first. Perform them in order; events that follow come in later
 * steps. */
void coordinator_step(struct coordinator *c, const struct coordinator_event *event,
                      struct coordinator_actions *actions);
/* When the next EVENT_TICK is due; INT64_MAX: none. */
int64_t coordinator_next_mono_ms(const struct coordinator *c);

/* Views. */
/* An attempt's ACTION_FINALIZE is out: wait for its outcome before a restart chooses its
 * checkpoint. */
bool coordinator_finalizing(const struct coordinator *c);
/* Id of the newest attempt under way; 0: none. */
uint64_t coordinator_pending_id(const struct coordinator *c);
/* What a restart goes back to; NULL: from the beginning. */
const struct completed_checkpoint *coordinator_latest(const struct coordinator *c);
/* A stop-with-savepoint has completed its savepoint (tasks are ending): its path, else NULL. */
const char *coordinator_stop_path(const struct coordinator *c);
const struct stats_tracker *coordinator_stats(const struct coordinator *c);

#endif
