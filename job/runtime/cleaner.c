/* cleaner.c - see cleaner.h */
#include "job/runtime/cleaner.h"

#include "base/arena.h"
#include "base/thread.h"

struct chore {
    void (*run)(void *ctx, uint64_t id);
    void *ctx;
    uint64_t id;
    struct chore *next;
};
struct cleaner {
    struct mutex mutex;
    struct cond cond;
    struct chore *first GUARDED_BY(mutex), *last GUARDED_BY(mutex);
    bool busy GUARDED_BY(mutex), stopping GUARDED_BY(mutex);
    struct thread *thread; /* NULL: at once */
};

static struct chore *take_locked(struct cleaner *c)
{
    struct chore *chore = c->first;

    c->first = chore->next;
    if (c->first == NULL)
        c->last = NULL;
    return chore;
}

static void cleaner_main(void *arg)
{
    struct cleaner *c = arg;

    mutex_lock(&c->mutex);
    for (;;) {
        struct chore *chore;

        while (c->first == NULL && !c->stopping)
            cond_wait(&c->cond, &c->mutex);
        if (c->first == NULL)
            break;
        chore = take_locked(c);
        c->busy = true;
        mutex_unlock(&c->mutex);
        chore->run(chore->ctx, chore->id);
        mem_free(chore);
        mutex_lock(&c->mutex);
        c->busy = false;
        cond_broadcast(&c->cond);
    }
    mutex_unlock(&c->mutex);
}

struct cleaner *cleaner_new(bool threaded)
{
    struct cleaner *c = mem_calloc(1, sizeof *c);

    mutex_init(&c->mutex);
    cond_init(&c->cond);
    if (threaded)
        c->thread = thread_start("cleaner", cleaner_main, c);
    return c;
}

void cleaner_submit(struct cleaner *c, void (*run)(void *ctx, uint64_t id), void *ctx, uint64_t id)
{
    struct chore *chore;

    if (c->thread == NULL) {
        run(ctx, id);
        return;
    }
    chore = mem_alloc(sizeof *chore);
    *chore = (struct chore){run, ctx, id, NULL};
    mutex_lock(&c->mutex);
    if (c->last == NULL)
        c->first = chore;
    else
        c->last->next = chore;
    c->last = chore;
    cond_broadcast(&c->cond);
    mutex_unlock(&c->mutex);
}

void cleaner_drain(struct cleaner *c)
{
    mutex_lock(&c->mutex);
    while (c->first != NULL || c->busy)
        cond_wait(&c->cond, &c->mutex);
    mutex_unlock(&c->mutex);
}

void cleaner_free(struct cleaner *c)
{
    if (c == NULL)
        return;
    if (c->thread != NULL) {
        mutex_lock(&c->mutex);
        c->stopping = true;
        cond_broadcast(&c->cond);
        mutex_unlock(&c->mutex);
        thread_join(c->thread);
    }
    mutex_release(&c->mutex);
    cond_release(&c->cond);
    mem_free(c);
}
