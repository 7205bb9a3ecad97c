/* executor.c - see executor.h */
#include "job/runtime/executor.h"

#include "base/arena.h"
#include "base/thread.h"

#include <stdio.h>

#define STEPS_IN_A_ROW 16 /* of one runnable before its neighbours get their turn */

struct executor_worker {
    struct executor *executor;
    struct runnable **runnables;
    uint32_t count, cap;
    struct mutex mutex; /* for sleeping only */
    struct cond cond;
    _Atomic bool asleep;
    struct thread *thread;
};
struct executor {
    const struct env *env;
    uint32_t worker_count, async_count;
    struct executor_worker *workers; /* one without a thread when worker_count is 0 */
    struct thread **async_threads;
    _Atomic bool stopping;
    struct mutex mutex;
    struct cond cond;
    struct async_job *first GUARDED_BY(mutex), *last GUARDED_BY(mutex);
    bool async_stopping GUARDED_BY(mutex);
    bool started;
};

struct executor *executor_new(const struct env *env, uint32_t worker_count, uint32_t async_threads)
{
    struct executor *ex = mem_calloc(1, sizeof *ex);
    uint32_t slots = worker_count == 0 ? 1 : worker_count;

    ex->env = env;
    ex->worker_count = worker_count;
    ex->async_count = worker_count == 0 ? 0 : async_threads;
    ex->workers = mem_calloc(slots, sizeof *ex->workers);
    ex->async_threads = mem_calloc(ex->async_count, sizeof(struct thread *));
    for (uint32_t i = 0; i < slots; i++) {
        ex->workers[i].executor = ex;
        mutex_init(&ex->workers[i].mutex);
        cond_init(&ex->workers[i].cond);
    }
    mutex_init(&ex->mutex);
    cond_init(&ex->cond);
    return ex;
}

void executor_add(struct executor *ex, struct runnable *r, uint32_t place)
{
    struct executor_worker *w = &ex->workers[ex->worker_count == 0 ? 0 : place % ex->worker_count];

    ASSERT(!ex->started);
    if (w->count == w->cap) {
        w->cap = w->cap == 0 ? 8 : w->cap * 2;
        w->runnables = mem_realloc(w->runnables, w->cap * sizeof(struct runnable *));
    }
    w->runnables[w->count++] = r;
    r->executor = ex;
    r->worker = w;
    r->deadline_mono_ns = INT64_MAX;
    atomic_store(&r->ready, true);
}

/* ---- workers ----------------------------------------------------------------------------------
 */

void executor_wake(struct runnable *r)
{
    struct executor_worker *w = r->worker;

    /* Sequentially consistent on both sides: either the worker's look at `ready` comes after this
     * store, or it had said that it sleeps before this load. */
    atomic_store(&r->ready, true);
    if (atomic_load(&w->asleep)) {
        mutex_lock(&w->mutex);
        cond_signal(&w->cond);
        mutex_unlock(&w->mutex);
    }
}

/* true: it wants to go on at once. */
static bool run(struct runnable *r, int64_t now, uint32_t steps)
{
    for (uint32_t i = 0; i < steps; i++) {
        enum step_result result;

        r->deadline_mono_ns = INT64_MAX;
        atomic_store(&r->ready, false);
        result = r->step(r, now, &r->deadline_mono_ns);
        if (result == STEP_DONE) {
            r->done = true;
            return false;
        }
        if (result == STEP_WAIT)
            return atomic_load(&r->ready);
        if (i + 1 < steps)
            now = clock_mono_ns(r->executor->env->clock);
    }
    atomic_store(&r->ready, true);
    return true;
}

static bool can_run(struct runnable *r, int64_t now)
{
    return !r->done && (atomic_load(&r->ready) || now >= r->deadline_mono_ns);
}

static void sleep_until_woken(struct executor_worker *w)
{
    int64_t deadline = INT64_MAX, now;
    bool ready = false;

    mutex_lock(&w->mutex);
    atomic_store(&w->asleep, true);
    for (uint32_t i = 0; i < w->count; i++) {
        struct runnable *r = w->runnables[i];

        if (r->done)
            continue;
        ready |= atomic_load(&r->ready);
        if (r->deadline_mono_ns < deadline)
            deadline = r->deadline_mono_ns;
    }
    if (!ready && !atomic_load(&w->executor->stopping)) {
        now = clock_mono_ns(w->executor->env->clock);
        if (deadline == INT64_MAX)
            cond_wait(&w->cond, &w->mutex);
        else if (deadline > now)
            cond_wait_ns(&w->cond, &w->mutex, deadline - now);
    }
    atomic_store(&w->asleep, false);
    mutex_unlock(&w->mutex);
}

static void worker_main(void *arg)
{
    struct executor_worker *w = arg;

    while (!atomic_load(&w->executor->stopping)) {
        bool busy = false;

        for (uint32_t i = 0; i < w->count; i++) {
            struct runnable *r = w->runnables[i];
            int64_t now = clock_mono_ns(w->executor->env->clock);

            if (can_run(r, now))
                busy |= run(r, now, STEPS_IN_A_ROW);
        }
        if (!busy)
            sleep_until_woken(w);
    }
}

/* ---- the pool ---------------------------------------------------------------------------------
 */

void executor_submit(struct executor *ex, struct async_job *job)
{
    job->next = NULL;
    mutex_lock(&ex->mutex);
    ASSERT(!ex->async_stopping);
    if (ex->last == NULL)
        ex->first = job;
    else
        ex->last->next = job;
    ex->last = job;
    cond_signal(&ex->cond);
    mutex_unlock(&ex->mutex);
}

/* NULL: none (and, with wait, the pool is being stopped). */
static struct async_job *take_job(struct executor *ex, bool wait)
{
    struct async_job *job;

    mutex_lock(&ex->mutex);
    while (wait && ex->first == NULL && !ex->async_stopping)
        cond_wait(&ex->cond, &ex->mutex);
    job = ex->first;
    if (job != NULL) {
        ex->first = job->next;
        if (ex->first == NULL)
            ex->last = NULL;
    }
    mutex_unlock(&ex->mutex);
    return job;
}

static void async_main(void *arg)
{
    struct async_job *job;

    while ((job = take_job(arg, true)) != NULL)
        job->run(job);
}

/* ---- life -------------------------------------------------------------------------------------
 */

void executor_start(struct executor *ex)
{
    char name[16];

    ASSERT(!ex->started);
    ex->started = true;
    for (uint32_t i = 0; i < ex->async_count; i++) {
        snprintf(name, sizeof name, "snapshot-%u", i % 1000);
        ex->async_threads[i] = thread_start(name, async_main, ex);
    }
    for (uint32_t i = 0; i < ex->worker_count; i++) {
        snprintf(name, sizeof name, "worker-%u", i % 1000);
        ex->workers[i].thread = thread_start(name, worker_main, &ex->workers[i]);
    }
}

void executor_free(struct executor *ex)
{
    struct async_job *job;

    if (ex == NULL)
        return;
    atomic_store(&ex->stopping, true);
    for (uint32_t i = 0; i < ex->worker_count && ex->started; i++) {
        mutex_lock(&ex->workers[i].mutex);
        cond_signal(&ex->workers[i].cond);
        mutex_unlock(&ex->workers[i].mutex);
        thread_join(ex->workers[i].thread);
    }
    while ((job = take_job(ex, false)) != NULL)
        job->run(job);
    mutex_lock(&ex->mutex);
    ex->async_stopping = true;
    cond_broadcast(&ex->cond);
    mutex_unlock(&ex->mutex);
    for (uint32_t i = 0; i < ex->async_count && ex->started; i++)
        thread_join(ex->async_threads[i]);
    for (uint32_t i = 0; i < (ex->worker_count == 0 ? 1 : ex->worker_count); i++) {
        mutex_release(&ex->workers[i].mutex);
        cond_release(&ex->workers[i].cond);
        mem_free(ex->workers[i].runnables);
    }
    mutex_release(&ex->mutex);
    cond_release(&ex->cond);
    mem_free(ex->workers);
    mem_free(ex->async_threads);
    mem_free(ex);
}

/* ---- by hand ----------------------------------------------------------------------------------
 */

bool executor_step(struct executor *ex, struct rng *rng)
{
    struct executor_worker *w = &ex->workers[0];
    int64_t now = clock_mono_ns(ex->env->clock);
    uint32_t candidates = 0, chosen;
    bool job_waits;

    ASSERT(ex->worker_count == 0);
    mutex_lock(&ex->mutex);
    job_waits = ex->first != NULL;
    mutex_unlock(&ex->mutex);
    for (uint32_t i = 0; i < w->count; i++)
        candidates += can_run(w->runnables[i], now);
    if (candidates == 0 && !job_waits)
        return false;
    chosen = (uint32_t)rng_below(rng, candidates + job_waits);
    if (chosen == candidates) {
        struct async_job *job = take_job(ex, false);

        job->run(job);
        return true;
    }
    for (uint32_t i = 0; i < w->count; i++) {
        if (can_run(w->runnables[i], now) && chosen-- == 0) {
            run(w->runnables[i], now, 1);
            break;
        }
    }
    return true;
}

int64_t executor_next_mono_ns(const struct executor *ex)
{
    const struct executor_worker *w = &ex->workers[0];
    int64_t next = INT64_MAX;

    for (uint32_t i = 0; i < w->count; i++) {
        if (!w->runnables[i]->done && w->runnables[i]->deadline_mono_ns < next)
            next = w->runnables[i]->deadline_mono_ns;
    }
    return next;
}
