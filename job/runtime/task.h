/* task.h - one subtask: a chain of operators as a step function: run until it would block, say what
 * it waits for.
 *
 *     CREATED -> INITIALIZING -> RUNNING -> FINISHED
 *                    |             |-----> CANCELING -> CANCELED
 *                    +-------------+-----> (closing) -> FAILED
 *
 * All of its state belongs to the worker that steps it. Others talk to it through its mailbox
 * (task_post) and hear from it through `notify`, which must not block. At a barrier the operators
 * snapshot in chain order, keyed state closes its epoch, the barrier goes downstream, and only then
 * the asynchronous part starts in the pool, which acks.
 *
 * A barrier reaches a task in band, or, once all its inputs have ended, by message alone: every
 * task gets TASK_TRIGGER for every attempt. It holds the attempt's snapshot target, so a barrier
 * without one was given up and is passed over. Tasks whose data has ended stay until the whole
 * job's has, so that every checkpoint has every subtask's state, and TASK_FINISH ends them. After:
 * StreamTask, SubtaskCheckpointCoordinatorImpl, OperatorChain (flink-runtime).
 */
#ifndef VARVE_JOB_RUNTIME_TASK_H
#define VARVE_JOB_RUNTIME_TASK_H

#include "checkpoint/stats.h"
#include "job/runtime/exchange.h"
#include "job/runtime/supervisor.h"

/* ---- to a task --------------------------------------------------------------------------------
 */

enum task_message_kind {
    TASK_TRIGGER,  /* barrier, target */
    TASK_COMPLETE, /* checkpoint_id is complete: commit */
    TASK_ABORTED,  /* checkpoint_id was given up */
    TASK_FINISH,   /* end as planned: only to a task whose data has ended */
};
struct task_message {
    enum task_message_kind kind;
    struct barrier barrier;
    struct snapshot_target *target; /* owned by the message until `release`d by the task */
    void (*release)(struct snapshot_target *);
    uint64_t checkpoint_id;
    struct task_message *next; /* the mailbox's */
};

/* ---- from a task ------------------------------------------------------------------------------
 */

enum task_event_kind {
    TASK_EVENT_RUNNING,     /* opened and restored */
    TASK_EVENT_BACKLOG,     /* backlog: its source begins (before RUNNING) or ends to work through one */
    TASK_EVENT_END_OF_DATA, /* input and operators are done */
    TASK_EVENT_ACK,         /* checkpoint_id, states, stats */
    TASK_EVENT_DECLINED,    /* checkpoint_id, err: could not be aligned, or its asynchronous part
                               failed */
    TASK_EVENT_FAILED,      /* err; TASK_EVENT_ENDED follows */
    TASK_EVENT_ENDED, /* state: FINISHED, CANCELED or FAILED; nothing follows, nothing of it runs
                         any more */
};
/* Heap object, the receiver's: task_event_free. */
struct task_event {
    enum task_event_kind kind;
    uint32_t task; /* (vertex, subtask) in order of the vertices */
    uint32_t attempt;
    uint64_t checkpoint_id;
    enum task_state state;
    bool async;      /* DECLINED: the asynchronous part */
    bool backlog;
    bool opening;    /* FAILED: while it was opened and restored */
    bool data_ended; /* ACK: the snapshot was taken after the end of the data */
    struct err err;
    struct arena *arena; /* ACK: owns states */
    uint32_t operator_count;
    struct subtask_state *states; /* by operator of the chain */
    struct ack_stats stats;
    struct task_event *next; /* the receiver's */
};
void task_event_free(struct task_event *ev);

/* ---- the task ---------------------------------------------------------------------------------
 */

/* What an operator's subtask starts from. */
struct task_operator_restore {
    bool restored;              /* the operator was in the snapshot; else it starts empty */
    struct subtask_state state; /* what it names is borrowed until RUNNING or ENDED, as is fit */
    struct state_fit fit;
};
struct task_restore {
    uint64_t checkpoint_id;
    bool earlier_run_dead;
    struct task_operator_restore
        *operators; /* of the chain; taken: freed with mem_free; NULL: a fresh start */
};
struct task_config {
    const struct env *env;
    const struct config *config;
    const struct graph *graph;
    const char *job_id;
    uint32_t task, vertex, subtask_index, attempt;
    uint32_t key_group_count;
    struct exchange *exchange;
    struct storage *storage; /* the job's */
    struct task_restore restore;
    enum backend_kind backend;
    const char *local_dir; /* the job's scratch directory; a directory for each keyed operator is
                              made in it */
    struct keyed_memory *memory; /* that its keyed operators share with others; NULL: none */
    int max_open_files;          /* of each one's database */
    void (*notify)(void *ctx, struct task_event *ev_take);
    void *notify_ctx;
};
struct task; /* opaque; its first member is a struct runnable */
/* config's pointers must stay valid until task_free. Attaches itself to the exchange. */
struct task *task_new(const struct task_config *config);
/* Only when it has ended, or was never stepped. */
void task_free(struct task *t);
/* It has ended and its thread is joined: drop what was posted after that. */
void task_discard_mail(struct task *t);
struct runnable *task_runnable(struct task *t);
/* Any thread. Messages are taken in order. */
void task_post(struct task *t, const struct task_message *m);
/* Any thread: stop at the next step. commit_completed: what checkpoints complete by now hold is
 * committed first; else nothing is. */
void task_cancel(struct task *t, bool commit_completed);
/* "GroupAggregate[k] (1/2)" */
const char *task_name(const struct task *t);
/* Any thread: a copy for REST. */
void task_view(struct task *t, struct arena *arena, struct subtask_view *out);

#endif
