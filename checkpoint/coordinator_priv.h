/* coordinator_priv.h - what coordinator.c (events, starts, time), coordinator_attempt.c (how an
 * attempt ends) and coordinator_period.c (when the next is due) share. */
#ifndef VARVE_CHECKPOINT_COORDINATOR_PRIV_H
#define VARVE_CHECKPOINT_COORDINATOR_PRIV_H

#include "checkpoint/coordinator.h"
#include "checkpoint/pending.h"
#include "checkpoint/request_queue.h"
#include "checkpoint/task_table.h"

#define FINAL_RETRY_MS 1000 /* after a failed final checkpoint */
#define ABORTED_MEMORY 256  /* ids of aborted attempts whose stragglers are recognised */

enum stop_phase { STOP_NONE, STOP_WANTED, STOP_SAVED };

/* An attempt under way. */
struct under_way {
    struct pending *pending;
    struct checkpoint_request request; /* what it was started for */
    bool *acked_at_end;                /* by task: its ack was given at the end of its data */
};

struct coordinator {
    struct coordinator_config config; /* strings and arrays are ours */
    struct arena *arena;              /* of the above */
    struct task_table *tasks;
    uint32_t task_count;

    bool started, started_before, fail_wanted, cancelling, suspending, shutting_down, shut_down;
    enum job_end end;
    bool periodic_on;
    int64_t next_periodic_mono_ms, last_end_mono_ms, final_retry_mono_ms;
    bool ended_before; /* last_end_mono_ms holds */
    bool *backlog;     /* by task: it works through one */
    uint32_t backlog_count;

    uint64_t next_id;
    uint32_t attempt_count;
    struct under_way *attempts; /* config.max_concurrent, ids ascending */
    struct request_queue *queue;
    enum stop_phase stop;
    enum request_kind stop_kind;
    char *stop_dir, *stop_path;
    uint64_t *stop_requests;
    size_t stop_request_count;

    uint32_t failure_count;
    uint64_t succeeded_id; /* newest checkpoint that completed here; 0: none */
    size_t discards;
    uint64_t aborted[ABORTED_MEMORY];
    size_t aborted_count;
    struct completed *completed;
    struct stats_tracker *stats;

    /* of the step under way */
    struct coordinator_actions *actions;
    int64_t now_mono_ms, now_wall_ms;
};

/* coordinator_attempt.c */
struct coordinator_action *co_act(struct coordinator *c, enum action_kind kind,
                                  uint64_t checkpoint_id);
const char *co_keep(struct coordinator *c, const char *text);
void co_answer(struct coordinator *c, uint64_t request_id, enum rc rc, uint64_t checkpoint_id,
               const char *path, const char *message);
void co_answer_stop(struct coordinator *c, enum rc rc, uint64_t checkpoint_id,
                    const char *message);
uint64_t co_id_of(const struct under_way *u);
void co_under_way_release(struct under_way *u);
void co_abort_attempt(struct coordinator *c, struct under_way *u, enum checkpoint_failure why,
                      const char *detail);
bool co_is_finalizing(const struct under_way *u);
void co_abort_all(struct coordinator *c, enum checkpoint_failure why);
void co_finalize_next(struct coordinator *c);
void co_discard(struct coordinator *c, const struct completed_checkpoint *gone);
void co_complete_attempt(struct coordinator *c, struct under_way *u, const char *path);

/* coordinator.c */
void co_enqueue(struct coordinator *c, struct checkpoint_request add);

/* coordinator_period.c */
void co_start_scheduler(struct coordinator *c);
void co_plan_periodic(struct coordinator *c); /* asks for one when it is due */
void co_set_backlog(struct coordinator *c, uint32_t task, bool backlog);
void co_forget_backlogs(struct coordinator *c); /* of tasks that are gone */

#endif
