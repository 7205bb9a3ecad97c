/* completed.c - see completed.h */
#include "checkpoint/completed.h"

#include "base/arena.h"

#include <string.h>

struct completed {
    uint32_t num_retained;
    size_t count, cap;
    struct completed_checkpoint *list; /* oldest first */
};

bool retention_keeps(enum checkpoint_retention retention, enum job_end end)
{
    switch (end) {
    case JOB_END_FINISHED:
        return false;
    case JOB_END_CANCELED:
        return retention == RETAIN_ON_CANCELLATION;
    case JOB_END_FAILED:
        return retention != RETAIN_NONE;
    case JOB_END_SUSPENDED:
        return true;
    }
    return true; /* unknown: keep */
}

struct completed *completed_new(uint32_t num_retained)
{
    struct completed *c = mem_calloc(1, sizeof *c);

    ASSERT(num_retained >= 1);
    c->num_retained = num_retained;
    return c;
}

void completed_free(struct completed *c)
{
    if (c == NULL)
        return;
    mem_free(c->list);
    mem_free(c);
}

size_t completed_add(struct completed *c, struct completed_checkpoint add,
                     struct completed_checkpoint *removed)
{
    size_t surplus;

    ASSERT(c->count == 0 || c->list[c->count - 1].id < add.id);
    if (c->count == c->cap) {
        c->cap = c->cap == 0 ? 8 : c->cap * 2;
        c->list = mem_realloc(c->list, c->cap * sizeof *c->list);
    }
    c->list[c->count++] = add;
    /* The newest is never among them: num_retained >= 1. */
    surplus = c->count > c->num_retained ? c->count - c->num_retained : 0;
    if (surplus == 0 && c->count > 1 && c->list[0].restored)
        surplus = 1;
    if (surplus == 0)
        return 0;
    memcpy(removed, c->list, surplus * sizeof *removed);
    memmove(c->list, c->list + surplus, (c->count - surplus) * sizeof *c->list);
    c->count -= surplus;
    return surplus;
}

size_t completed_count(const struct completed *c)
{
    return c->count;
}

const struct completed_checkpoint *completed_at(const struct completed *c, size_t i)
{
    ASSERT(i < c->count);
    return &c->list[i];
}

const struct completed_checkpoint *completed_latest(const struct completed *c)
{
    return c->count == 0 ? NULL : &c->list[c->count - 1];
}

size_t completed_shutdown(struct completed *c, enum checkpoint_retention retention,
                          enum job_end end, struct completed_checkpoint *removed)
{
    bool keeps = retention_keeps(retention, end);
    size_t count = 0;

    for (size_t i = 0; i < c->count; i++) {
        bool foreign = c->list[i].restored && !c->list[i].owned;

        if (!keeps || (foreign && end != JOB_END_SUSPENDED))
            removed[count++] = c->list[i];
    }
    c->count = 0;
    return count;
}
