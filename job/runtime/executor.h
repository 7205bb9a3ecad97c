/* executor.h - worker threads that call steps, and a small pool for asynchronous parts of
 * snapshots.
 *
 * A runnable belongs to one worker for life, so its state needs no lock. A worker sleeps when none
 * of its runnables can go on; whoever makes one able to (a push, a pop that makes room, a message)
 * wakes it. Waking is two atomic accesses unless the worker sleeps.
 *
 * With 0 workers nothing runs by itself: the caller chooses each step (executor_step), so a whole
 * job runs in one thread, in an order that a seed decides. Thread: see each call.
 */
#ifndef VARVE_JOB_RUNTIME_EXECUTOR_H
#define VARVE_JOB_RUNTIME_EXECUTOR_H

#include "base/env.h"

#include <stdatomic.h>

struct executor;
struct executor_worker;
enum step_result {
    STEP_AGAIN, /* more to do at once */
    STEP_WAIT,  /* until woken or *deadline_mono_ns */
    STEP_DONE, /* never again; the memory must stay until executor_free, as others may still wake it
                */
};
/* First member of what is run. */
struct runnable {
    /* Work of some microseconds to milliseconds; never blocks on another runnable. */
    enum step_result (*step)(struct runnable *, int64_t now_mono_ns, int64_t *deadline_mono_ns);
    /* the executor's: */
    struct executor *executor;
    struct executor_worker *worker; /* NULL with 0 workers */
    _Atomic bool ready;
    bool done;
    int64_t deadline_mono_ns;
};
/* A piece of work for the pool; the caller's memory, until run returns. */
struct async_job {
    void (*run)(struct async_job *);
    struct async_job *next; /* the executor's */
};

/* async_threads >= 1; ignored with 0 workers. */
struct executor *executor_new(const struct env *env, uint32_t worker_count, uint32_t async_threads);
/* Before start. `place` chooses the worker (modulo their number). */
void executor_add(struct executor *ex, struct runnable *r, uint32_t place);
void executor_start(struct executor *ex);
/* Any thread: step `r` soon. */
void executor_wake(struct runnable *r);
/* Any thread. */
void executor_submit(struct executor *ex, struct async_job *job);
/* Stops the workers, runs what the pool still has, joins all threads. Runnables that are not done
 * are left as they are. */
void executor_free(struct executor *ex);

/* With 0 workers: run one ready runnable or one job of the pool, chosen by `rng`; false: nothing
 * can run now. */
bool executor_step(struct executor *ex, struct rng *rng);
/* With 0 workers: the next deadline; INT64_MAX: none. */
int64_t executor_next_mono_ns(const struct executor *ex);

#endif
