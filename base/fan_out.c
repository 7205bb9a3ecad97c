/* fan_out.c - see fan_out.h */
#include "base/fan_out.h"

#include "base/arena.h"
#include "base/thread.h"

#include <stdatomic.h>

struct fan_out {
    uint32_t at_once;
    atomic_uint at_work; /* callers and threads */
};

/* One call. */
struct fan {
    fan_out_fn *fn;
    void *ctx;
    size_t count;
    bool all;
    atomic_size_t next;
    atomic_bool stop;
    struct mutex mutex;
    enum rc rc GUARDED_BY(mutex);
    struct err first GUARDED_BY(mutex);
};

struct fan_out *fan_out_new(uint32_t at_once)
{
    struct fan_out *f = mem_calloc(1, sizeof *f);

    ASSERT(at_once >= 1);
    f->at_once = at_once;
    return f;
}

void fan_out_free(struct fan_out *f)
{
    if (f == NULL)
        return;
    ASSERT(atomic_load(&f->at_work) == 0);
    mem_free(f);
}

static void note(struct fan *x, enum rc rc, const struct err *err)
{
    mutex_lock(&x->mutex);
    if (x->rc == RC_OK) {
        x->rc = rc;
        x->first = *err;
    }
    mutex_unlock(&x->mutex);
    if (!x->all)
        atomic_store(&x->stop, true);
}

static void work(void *arg)
{
    struct fan *x = arg;

    while (!atomic_load(&x->stop)) {
        size_t i = atomic_fetch_add(&x->next, 1);
        struct err err = {0};
        enum rc rc;

        if (i >= x->count)
            return;
        rc = x->fn(x->ctx, i, &err);
        if (rc != RC_OK)
            note(x, rc, &err);
    }
}

/* One more at work, where there is room. */
static bool join_in(struct fan_out *f)
{
    unsigned seen = atomic_load(&f->at_work);

    while (seen < f->at_once)
        if (atomic_compare_exchange_weak(&f->at_work, &seen, seen + 1))
            return true;
    return false;
}

static enum rc run(struct fan_out *f, bool all, size_t count, fan_out_fn *fn, void *ctx,
                   struct err *err) NO_THREAD_SAFETY
{
    struct fan x = {.fn = fn, .ctx = ctx, .count = count, .all = all};
    struct thread **threads = NULL;
    size_t started = 0;

    mutex_init(&x.mutex);
    if (f != NULL && count > 1) {
        threads = mem_calloc(f->at_once, sizeof(struct thread *));
        atomic_fetch_add(&f->at_work, 1);
        while (started + 1 < count && join_in(f))
            threads[started++] = thread_start("transfer", work, &x);
    }
    work(&x);
    for (size_t i = 0; i < started; i++)
        thread_join(threads[i]);
    if (threads != NULL)
        atomic_fetch_sub(&f->at_work, (unsigned)started + 1);
    mem_free(threads);
    mutex_release(&x.mutex);
    return x.rc == RC_OK ? RC_OK : err_set(err, x.rc, "%s", x.first.msg);
}

enum rc fan_out_run(struct fan_out *f, size_t count, fan_out_fn *fn, void *ctx, struct err *err)
{
    return run(f, false, count, fn, ctx, err);
}

enum rc fan_out_all(struct fan_out *f, size_t count, fan_out_fn *fn, void *ctx, struct err *err)
{
    return run(f, true, count, fn, ctx, err);
}
