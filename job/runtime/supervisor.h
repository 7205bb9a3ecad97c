/* supervisor.h - one job: deploy, fail, restart strategy, cancel, stop, suspend, retention on the way out.
 *
 * A job runs on its own driver thread, worker threads (one a core at most) and a small pool for asynchronous snapshot parts.
 * All calls below are safe from any thread: they post a request to the driver or copy a view under its lock.
 *
 *     INITIALIZING -> CREATED -> RUNNING -> FINISHED
 *                        ^  |       |----> FAILING -> RESTARTING -> CREATED | FAILED
 *                        |  v       |----> CANCELLING -> CANCELED
 *                    RESTARTING     |----> SUSPENDED (SIGTERM)
 */
#ifndef VARVE_JOB_RUNTIME_SUPERVISOR_H
#define VARVE_JOB_RUNTIME_SUPERVISOR_H

#include "backend/keyed_memory.h"
#include "checkpoint/stats.h"
#include "job/config.h"
#include "job/operator/hot_keys.h"
#include "job/runtime/graph.h"

enum job_state {
    JOB_INITIALIZING, JOB_CREATED, JOB_RUNNING, JOB_FAILING, JOB_FAILED, JOB_CANCELLING,
    JOB_CANCELED, JOB_FINISHED, JOB_RESTARTING, JOB_SUSPENDED,
};
const char *job_state_str(enum job_state s); /* Flink's upper-case word */
static inline bool job_state_is_final(enum job_state s)
{
    return s == JOB_FAILED || s == JOB_CANCELED || s == JOB_FINISHED || s == JOB_SUSPENDED;
}
enum claim_mode { CLAIM_NO_CLAIM, CLAIM_CLAIM };

struct job_restore {
    const char *path;        /* NULL: start fresh; else _metadata, chk-n, savepoint, job directory or root */
    bool resume;             /* --resume: newest checkpoint of this job name below execution.checkpointing.dir; none: fresh. RC_DONE:
                              * the job has finished, nothing is left to resume */
    uint32_t occurrence;     /* statements of the same text that were submitted before it in its script: they are other jobs */
    bool names_shared;       /* other statements of its script make jobs of that name */
    size_t earlier_count;    /* fingerprints of the statements before it in its script */
    const char *const *earlier;
    enum claim_mode claim_mode;
    bool allow_non_restored; /* -n */
    bool look_only;          /* what would be restored: nothing is written (preflight.h) */
};

struct job; /* opaque */

/* Checks the graph and the restore completely (files, types, parallelism), then starts. On an error nothing has started and nothing was
 * created. Takes the graph on success; copies config. */
MUST_USE enum rc job_start(const struct env *env, const struct config *config, struct graph *graph_take,
                           const struct job_restore *restore, struct job **out, struct err *err);
void job_free(struct job *job); /* waits until it ended; a running job is cancelled first */

const char *job_id(const struct job *job);
const char *job_name(const struct job *job);
/* "from /ck/../chk-5 (checkpoint 5 of job \"x\", its id)" and what to mind about it; "from nothing". */
const char *job_start_text(const struct job *job);
enum job_state job_state(struct job *job);
/* Waits for a final state; false on timeout (timeout_ms < 0: none). */
bool job_wait(struct job *job, int64_t timeout_ms);
/* Why it FAILED; "" otherwise. Copied into out. */
void job_failure(struct job *job, struct err *out);

void job_cancel(struct job *job);  /* no-op when it has ended */
/* SIGTERM: pending attempt aborted, nothing committed or deleted; with a last checkpoint when asked. */
void job_suspend(struct job *job, bool checkpoint_first);

#define TRIGGER_ID_LEN 32
enum job_operation_kind { JOB_OP_SAVEPOINT, JOB_OP_STOP, JOB_OP_CHECKPOINT };
struct job_operation_request {
    enum job_operation_kind kind;
    const char *target_directory; /* NULL: execution.checkpointing.savepoint-dir */
    bool drain;                   /* STOP */
    bool cancel_job;              /* SAVEPOINT: cancel after success */
    char trigger_id[TRIGGER_ID_LEN + 1]; /* "" : chosen here */
};
/* Starts it and fills trigger_id; RC_INVALID when no directory is given or configured, RC_STATE when the job has ended. The same id again
 * is the same operation. */
MUST_USE enum rc job_operation_start(struct job *job, struct job_operation_request *req, struct err *err);
struct job_operation {
    enum job_operation_kind kind;
    bool completed;
    enum rc rc;                /* of a completed one */
    char message[ERR_MSG_MAX]; /* failure cause */
    char location[FS_PATH_MAX]; /* savepoint path, absolute, without scheme */
    uint64_t checkpoint_id;
};
/* RC_NOT_FOUND: no such trigger id. wait_ms: wait that long for completion (0: only look). */
MUST_USE enum rc job_operation_get(struct job *job, const char *trigger_id, int64_t wait_ms,
                                   struct job_operation *out, struct err *err);

/* Views for REST, the progress line and the end-of-run report: plain copies in `arena`. */
enum task_state { TASK_CREATED, TASK_DEPLOYING, TASK_INITIALIZING, TASK_RUNNING, TASK_FINISHED, TASK_CANCELING, TASK_CANCELED, TASK_FAILED };
const char *task_state_str(enum task_state s);
struct operator_view {
    const char *id, *name, *description;
    uint64_t records_in, records_out, late_dropped, bad_rows, null_fields, bytes_in, bytes_out;
    int64_t watermark_ms;
    struct keyed_stats keyed; /* zeroes without keyed state */
    struct hot_view hot;      /* the same */
};
struct subtask_view {
    enum task_state state;
    uint32_t attempt;
    int64_t start_wall_ms, end_wall_ms; /* -1 = not yet */
    uint32_t operator_count;
    struct operator_view *operators;
    uint64_t busy_ms, idle_ms, backpressured_ms;
};
struct vertex_view {
    const char *id, *name;
    uint32_t parallelism, key_group_count;
    struct subtask_view *subtasks;
};
struct failure_view {
    const char *message, *task_name;
    int64_t wall_ms;
};
struct job_view {
    const char *id, *name;
    enum job_state state;
    int64_t start_wall_ms, end_wall_ms, state_wall_ms[10]; /* by enum job_state; 0 = never */
    uint32_t restarts;
    uint32_t vertex_count;
    struct vertex_view *vertices;
    const struct graph *graph; /* lives as long as the job */
    bool memory_limited;              /* keyed state in RocksDB: */
    struct keyed_memory_stats memory; /* all subtasks together, since the last (re)start */
    uint32_t failure_count; /* newest first, at most 16 */
    struct failure_view *failures;
};
void job_view(struct job *job, struct arena *arena, struct job_view *out);
/* The hottest keys of an operator, all subtasks together. */
void vertex_hot_keys(const struct vertex_view *v, uint32_t op, struct hot_view *out);
/* Checkpoint statistics as coordinator keeps them. */
void job_checkpoint_stats(struct job *job, struct arena *arena, struct checkpoint_stats *out);
const struct config *job_config(const struct job *job);

#endif
