/* supervisor_priv.h - a job's inside, for supervisor.c (states), job_make.c (start and end),
 * job_operation.c (requests) and job_view.c (copies) alone. */
#ifndef VARVE_JOB_RUNTIME_SUPERVISOR_PRIV_H
#define VARVE_JOB_RUNTIME_SUPERVISOR_PRIV_H

#include "base/thread.h"
#include "checkpoint/restart_strategy.h"
#include "job/runtime/checkpoint_driver.h"
#include "job/runtime/deployment.h"
#include "job/runtime/restore_plan.h"

#define JOB_FAILURES_MAX 16
#define JOB_OPERATIONS_MAX 1000 /* past it the oldest completed one is forgotten */

/* What others ask of the job's thread. */
enum job_request_kind {
    JOB_REQUEST_CANCEL,
    JOB_REQUEST_SUSPEND,
    JOB_REQUEST_SUSPEND_WITH_CHECKPOINT,
    JOB_REQUEST_OPERATION,
    JOB_REQUEST_DISCARDED
};
struct job_request {
    enum job_request_kind kind;
    uint64_t id; /* operation number, checkpoint id */
    struct job_request *next;
};
struct operation {
    uint64_t number;
    char trigger_id[TRIGGER_ID_LEN + 1];
    char *target_directory;           /* NULL: configured */
    bool drain, cancel_job, internal; /* internal: the checkpoint before a suspend */
    struct job_operation result;
    struct operation *next; /* newest first */
};
struct failure {
    char *message, *task_name;
    int64_t wall_ms;
};

struct job {
    const struct env *env; /* own_env */
    struct env own_env;    /* as given, with who helps with transfers */
    struct config *config;
    struct graph *graph;
    struct state_budget budget;
    char id[JOB_ID_LEN + 1];
    bool threaded;
    struct thread *thread;

    /* the job's thread alone */
    struct storage *storage;
    struct fs_file *local_lock;
    char local_dir[FS_PATH_MAX]; /* "" : none */
    struct fs_file *copies_lock;
    char copies_dir[FS_PATH_MAX]; /* "" : in local_dir, or none */
    struct local_copies *copies;  /* NULL: none are kept */
    struct checkpoint_driver *driver;
    struct restart_strategy *restart;
    struct restore_plan plan; /* the snapshot it started from, while that may be restored again */
    struct arena *origin_arena;
    struct run_origin origin;
    const char *start_text; /* in origin_arena */
    bool may_take_over; /* what the run behind that snapshot left outside it, in place */
    char stop_path[FS_PATH_MAX]; /* savepoint of a stop whose tasks did not all end: committed, so a
                                  * restart goes back to it and not to an older checkpoint; "" :
                                  * none */
    struct recovered recovered;  /* what the present deployment was restored from, if not `plan` */
    struct arena *assign_arena;
    struct assignment assignment;
    uint32_t attempt;
    bool initialized;
    bool tearing_down; /* tasks are being cancelled */
    enum job_state after_teardown;
    int64_t restart_mono_ns;
    bool fail_asked; /* by the coordinator, with fail_message */
    char fail_message[ERR_MSG_MAX];
    struct err failure_first;   /* of the teardown under way */
    bool failure_final;         /* no restart can help */
    bool lock_lost;             /* its directory is somebody else's: nothing there is touched */
    uint64_t suspend_operation; /* number of the checkpoint before a suspend; 0: none */

    struct mutex mutex;
    struct cond cond; /* the job's thread: something came; others: something changed */
    enum job_state state GUARDED_BY(mutex);
    int64_t state_wall_ms[10] GUARDED_BY(mutex);
    int64_t start_wall_ms, end_wall_ms GUARDED_BY(mutex);
    uint32_t restarts GUARDED_BY(mutex);
    struct err failure GUARDED_BY(mutex);
    struct failure failures[JOB_FAILURES_MAX] GUARDED_BY(mutex); /* oldest first */
    uint32_t failure_count GUARDED_BY(mutex);
    struct deployment *deployment GUARDED_BY(mutex); /* changed by the job's thread alone */
    struct task_event *first_event GUARDED_BY(mutex), *last_event GUARDED_BY(mutex);
    struct job_request *first_request GUARDED_BY(mutex), *last_request GUARDED_BY(mutex);
    struct operation *operations GUARDED_BY(mutex);
    uint32_t operation_count GUARDED_BY(mutex);
    uint64_t last_operation GUARDED_BY(mutex);
    struct rng rng GUARDED_BY(mutex);
};

void job_main(void *job); /* of its thread */
/* Checks before anything is made; for a start and for preflight.c. dir "": jobmanager storage. */
MUST_USE enum rc job_checkpoint_dir(const struct config *c, char out[FS_PATH_MAX], struct err *err);
MUST_USE enum rc job_check_operators(const struct graph *g, const char *dir, bool ask, struct err *err);
MUST_USE enum rc job_check_claim(const struct restore_plan *p, const char *dir, struct err *err);
void job_post_request(struct job *job, enum job_request_kind kind, uint64_t id);
/* job_operation.c, on the job's thread */
void job_begin_operation(struct job *job, uint64_t number);
void job_answer_operation(struct job *job, uint64_t number, enum rc rc, uint64_t checkpoint_id,
                          const char *path, const char *message);
void job_fail_operations(struct job *job); /* at the end: whatever is not answered */
void job_free_operations(struct job *job);
uint64_t job_add_internal_checkpoint(struct job *job);

#endif
