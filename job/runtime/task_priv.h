/* task_priv.h - a task's inside, for task.c (steps), chain.c (operators) and task_checkpoint.c
 * (snapshots) alone. */
#ifndef VARVE_JOB_RUNTIME_TASK_PRIV_H
#define VARVE_JOB_RUNTIME_TASK_PRIV_H

#include "base/thread.h"
#include "job/runtime/input_gate.h"
#include "job/runtime/replay.h"
#include "job/runtime/task.h"

#define TASK_TICK_NS (100 * NS_PER_MS)
#define TASK_TRIGGERS_MAX 8
#define TASK_PARTS_MAX 8 /* asynchronous parts of attempts, given-up ones included */

struct chain_link {
    struct output output; /* first: an operator gets it and hands it back */
    struct task *task;
    uint32_t index;
    struct operator* op; /* NULL: not open */
    struct operator_context ctx;
    struct operator_metrics metrics;
    struct keyed_backend *keyed;
    struct operator_state *state;
    bool draining;                  /* its drain has more to give */
    int64_t watermark_ms;           /* newest that it sent on */
    struct keyed_stats keyed_stats; /* a copy for others, under the task's mutex */
    struct hot_view hot;            /* the same */
};
struct task_trigger {
    struct barrier barrier;
    struct snapshot_target *target;
    void (*release)(struct snapshot_target *);
};
/* The asynchronous part of one snapshot: owned by the pool while it runs, else by the task. */
struct async_part {
    struct async_job job;
    struct task *task;
    struct barrier barrier;
    struct snapshot_target *target;
    void (*release)(struct snapshot_target *);
    struct arena *arena;
    struct keyed_snapshot **snapshots; /* by operator; NULL: none */
    struct subtask_state *states;
    struct ack_stats stats;
    bool data_ended;
    int64_t start_mono_ns;
    struct inflight *inflight; /* of a barrier that overtook: written when it is whole; NULL: none */
    _Atomic int halves;        /* what it still waits for: its own work, and inflight */
    enum rc rc;                /* of its own work, with err */
    struct err err;
    struct async_part *next; /* of finished ones */
};
enum task_phase { PHASE_NEW, PHASE_RUNNING, PHASE_CLOSING, PHASE_ENDED };
enum task_waits { WAITS_FOR_NOTHING, WAITS_FOR_INPUT, WAITS_FOR_ROOM };

struct task {
    struct runnable runnable;
    struct task_config config;
    const struct graph_vertex *vertex;
    char *name;
    bool source;
    uint32_t operator_count;
    struct chain_link *chain;
    struct emitter *emitter;
    struct input_gate *gate; /* NULL for a source */

    enum task_phase phase;
    enum task_state end_state;
    bool input_ended; /* nothing more comes in */
    bool ending;      /* operators are being told so */
    uint32_t ended_operators;
    bool data_ended; /* all have been told and have given their last results */
    bool end_sent;   /* downstream was told: nothing more goes there */
    bool finish_asked;
    int64_t next_tick_ns, next_stats_ns, last_step_end_ns;
    enum task_waits waits_for;

    uint32_t trigger_count;
    struct task_trigger
        triggers[TASK_TRIGGERS_MAX]; /* attempts this task has a target for, ids ascending */
    uint64_t last_barrier_id;        /* newest that was snapshot or passed over */
    bool barrier_held; /* `barrier` is whole and must be dealt with before any input */
    struct barrier barrier;
    struct inflight *held_recording;   /* of the barrier held, when it overtook */
    struct async_part *recording_part; /* whose rows in flight are not whole yet */
    bool overtaking;                   /* barriers of this job may overtake */
    struct replay *replay;             /* rows that were in flight, restored; NULL: none is left */
    int64_t alignment_ns;
    uint64_t aligned_bytes;
    uint64_t draining_for; /* a stop with drain is ending the data for this attempt */
    uint64_t
        stopped_for; /* snapshot of a stop-with-savepoint was taken: no input until it is decided */
    bool stop_confirmed;  /* ... and it is complete */
    uint32_t async_count; /* parts not yet collected */

    struct mutex mutex;
    struct task_message *first_message GUARDED_BY(mutex), *last_message GUARDED_BY(mutex);
    struct async_part *finished_parts GUARDED_BY(mutex);
    _Atomic bool has_messages, has_parts, cancelled;
    _Atomic bool commit_completed; /* set before cancelled */
    _Atomic enum task_state state;
    _Atomic int64_t start_wall_ms, end_wall_ms;
    _Atomic uint64_t busy_ns, idle_ns, backpressured_ns;
};

struct task_event *task_event_new(const struct task *t, enum task_event_kind kind);
void task_send(struct task *t, struct task_event *ev_take);
void task_set_state(struct task *t, enum task_state to);
void task_publish_stats(struct task *t, int64_t now);

/* chain.c */
MUST_USE enum rc chain_open(struct task *t, struct err *err);
void chain_close(struct task *t, bool clean); /* whatever is open */
MUST_USE enum rc chain_give_batch(struct task *t, uint32_t index, struct batch *b, struct err *err);
MUST_USE enum rc chain_give_watermark(struct task *t, uint32_t index, int64_t watermark_ms,
                                      struct err *err);

/* task_barrier.c: barriers that overtake, and rows in flight */
/* Looks for one; also when the task can take no input. */
void task_look_for_barrier(struct task *t, int64_t now);
/* `item` is a whole barrier: it is to be dealt with. */
void task_hold_barrier(struct task *t, const struct gate_item *item);
/* It is not: with what was recorded for it. */
void task_release_barrier(struct task *t);
/* The rows in flight of the present recording are whole: its part may be written. */
void task_end_recording(struct task *t);
/* It is given up; nothing happens when there is none. */
void task_drop_recording(struct task *t);
/* When a barrier that may overtake has to be looked after. */
int64_t task_overtake_at(const struct task *t, int64_t now);

/* task_checkpoint.c */
void task_half_done(struct async_part *p);
void task_add_trigger(struct task *t, const struct task_message *m);
void task_drop_trigger(struct task *t, uint64_t checkpoint_id);
void task_drop_triggers(struct task *t);
/* The coordinator is told that this barrier was not, and will not be, aligned here. */
void task_decline_unaligned(struct task *t, uint64_t checkpoint_id);
/* A source, or a task without living inputs: the next trigger is the barrier. */
void task_next_trigger(struct task *t, int64_t now);
/* The held barrier can be dealt with now: data ended first if it asks for that, and no other
 * snapshot needs the present epoch's rows. */
bool task_barrier_ready(const struct task *t);
/* It can't yet: start what it waits for. */
MUST_USE enum rc task_prepare_barrier(struct task *t, enum step_result *result, struct err *err);
MUST_USE enum rc task_barrier(struct task *t, int64_t now, struct err *err);
MUST_USE enum rc task_complete(struct task *t, uint64_t checkpoint_id, struct err *err);
void task_abort_checkpoint(struct task *t, uint64_t checkpoint_id);
/* Frees the snapshots of parts that the pool is done with. */
void task_collect_async(struct task *t);

#endif
