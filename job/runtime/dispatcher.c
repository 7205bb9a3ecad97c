/* dispatcher.c - see dispatcher.h */
#include "job/runtime/dispatcher.h"

#include "base/thread.h"

#define SUSPEND_WAIT_MS (-1)

struct entry {
    struct job *job;
    uint32_t holders;   /* found and not released */
    bool forgotten;     /* freed when nobody holds it */
    struct entry *next; /* newest first */
};
struct dispatcher {
    const struct env *env;
    struct mutex mutex;
    struct entry *first GUARDED_BY(mutex);
    size_t count GUARDED_BY(mutex);
};

struct dispatcher *dispatcher_new(const struct env *env)
{
    struct dispatcher *d = mem_calloc(1, sizeof *d);

    d->env = env;
    mutex_init(&d->mutex);
    return d;
}

void dispatcher_free(struct dispatcher *d)
{
    if (d == NULL)
        return;
    for (struct entry *e = d->first; e != NULL;
         e = e->next) /* all at once, then each is waited for */
        job_cancel(e->job);
    while (d->first != NULL) {
        struct entry *e = d->first;

        d->first = e->next;
        job_free(e->job);
        mem_free(e);
    }
    mutex_release(&d->mutex);
    mem_free(d);
}

/* The oldest ended job beyond the limit leaves the list: handed to the caller to be freed without
 * the lock. */
static struct entry *take_surplus_locked(struct dispatcher *d)
{
    struct entry **oldest = NULL, *gone;

    if (d->count <= DISPATCHER_JOBS_MAX)
        return NULL;
    for (struct entry **at = &d->first; *at != NULL; at = &(*at)->next) {
        if (!(*at)->forgotten && job_state_is_final(job_state((*at)->job)))
            oldest = at;
    }
    if (oldest == NULL)
        return NULL;
    gone = *oldest;
    d->count--;
    if (gone->holders > 0) {
        gone->forgotten = true; /* goes with its last holder */
        return NULL;
    }
    *oldest = gone->next;
    return gone;
}

enum rc dispatcher_submit(struct dispatcher *d, const struct config *config,
                          struct graph *graph_take, const struct job_restore *restore,
                          struct job **out, struct err *err)
{
    struct entry *e, *gone;
    struct job *job;
    size_t running = 0;

    mutex_lock(&d->mutex);
    for (e = d->first; e != NULL; e = e->next)
        running += !job_state_is_final(job_state(e->job));
    mutex_unlock(&d->mutex);
    if (running >= DISPATCHER_JOBS_MAX)
        return err_set(err, RC_LIMIT, "%zu jobs are running: no more than %d at a time", running,
                       DISPATCHER_JOBS_MAX);
    RETURN_IF_ERR(job_start(d->env, config, graph_take, restore, &job, err));
    e = mem_calloc(1, sizeof *e);
    e->job = job;
    e->holders = 1;
    mutex_lock(&d->mutex);
    e->next = d->first;
    d->first = e;
    d->count++;
    gone = take_surplus_locked(d);
    mutex_unlock(&d->mutex);
    if (gone != NULL) {
        job_free(gone->job);
        mem_free(gone);
    }
    *out = job;
    return RC_OK;
}

struct job *dispatcher_find(struct dispatcher *d, const char *id)
{
    struct job *found = NULL;

    mutex_lock(&d->mutex);
    for (struct entry *e = d->first; e != NULL && found == NULL; e = e->next) {
        if (!e->forgotten && strcmp(job_id(e->job), id) == 0) {
            e->holders++;
            found = e->job;
        }
    }
    mutex_unlock(&d->mutex);
    return found;
}

void dispatcher_release(struct dispatcher *d, struct job *job)
{
    struct entry *gone = NULL;

    mutex_lock(&d->mutex);
    for (struct entry **at = &d->first; *at != NULL; at = &(*at)->next) {
        struct entry *e = *at;

        if (e->job != job)
            continue;
        ASSERT(e->holders > 0);
        if (--e->holders == 0 && e->forgotten) {
            *at = e->next;
            gone = e;
        }
        break;
    }
    mutex_unlock(&d->mutex);
    if (gone != NULL) {
        job_free(gone->job);
        mem_free(gone);
    }
}

size_t dispatcher_list(struct dispatcher *d, struct job **out, size_t max)
{
    size_t n = 0;

    mutex_lock(&d->mutex);
    for (struct entry *e = d->first; e != NULL && n < max; e = e->next) {
        if (e->forgotten)
            continue;
        e->holders++;
        out[n++] = e->job;
    }
    mutex_unlock(&d->mutex);
    return n;
}

void dispatcher_suspend_all(struct dispatcher *d, bool checkpoint_first)
{
    struct job *jobs[DISPATCHER_JOBS_MAX];
    size_t n = dispatcher_list(d, jobs, DISPATCHER_JOBS_MAX);

    for (size_t i = 0; i < n; i++)
        job_suspend(jobs[i], checkpoint_first);
    for (size_t i = 0; i < n; i++) {
        job_wait(jobs[i], SUSPEND_WAIT_MS);
        dispatcher_release(d, jobs[i]);
    }
}
