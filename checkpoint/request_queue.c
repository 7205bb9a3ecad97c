/* request_queue.c - see request_queue.h */
#include "checkpoint/request_queue.h"

#include <string.h>

struct request_queue {
    size_t limit, count, cap;
    struct checkpoint_request *list; /* in the order of their turns */
};

void checkpoint_request_release(struct checkpoint_request *r)
{
    mem_free(r->target_dir);
    *r = (struct checkpoint_request){0};
}

struct request_queue *request_queue_new(size_t limit)
{
    struct request_queue *q = mem_calloc(1, sizeof *q);

    ASSERT(limit >= 1);
    q->limit = limit;
    return q;
}

void request_queue_free(struct request_queue *q)
{
    if (q == NULL)
        return;
    for (size_t i = 0; i < q->count; i++)
        checkpoint_request_release(&q->list[i]);
    mem_free(q->list);
    mem_free(q);
}

size_t request_queue_len(const struct request_queue *q)
{
    return q->count;
}

bool request_queue_has(const struct request_queue *q, enum request_origin origin)
{
    for (size_t i = 0; i < q->count; i++)
        if (q->list[i].origin == origin)
            return true;
    return false;
}

/* Smaller comes first. */
static int rank(const struct checkpoint_request *r)
{
    if (r->origin == ORIGIN_PERIODIC)
        return 4;
    if (r->origin == ORIGIN_FINAL)
        return 2;
    switch (r->kind) {
    case REQUEST_STOP:
    case REQUEST_STOP_DRAIN:
        return 0;
    case REQUEST_SAVEPOINT:
        return 1;
    case REQUEST_CHECKPOINT:
        break;
    }
    return 3;
}

bool request_queue_push(struct request_queue *q, struct checkpoint_request add,
                        struct checkpoint_request *dropped)
{
    size_t at = q->count;

    if (q->count == q->cap) {
        q->cap = q->cap == 0 ? 8 : q->cap * 2;
        q->list = mem_realloc(q->list, q->cap * sizeof *q->list);
    }
    while (at > 0 && rank(&q->list[at - 1]) > rank(&add))
        at--;
    memmove(q->list + at + 1, q->list + at, (q->count - at) * sizeof *q->list);
    q->list[at] = add;
    q->count++;
    if (q->count <= q->limit)
        return false;
    *dropped = q->list[--q->count];
    return true;
}

const struct checkpoint_request *request_queue_peek(const struct request_queue *q)
{
    return q->count == 0 ? NULL : &q->list[0];
}

struct checkpoint_request request_queue_pop(struct request_queue *q)
{
    struct checkpoint_request first;

    ASSERT(q->count > 0);
    first = q->list[0];
    memmove(q->list, q->list + 1, --q->count * sizeof *q->list);
    return first;
}
