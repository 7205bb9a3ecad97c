/* queue.c - see queue.h */
#include "base/queue.h"

#include "base/arena.h"
#include "base/thread.h"

#include <stdatomic.h>

/* ---- queue: many to many, a mutex ----------------------------------------------------------- */

struct queue {
    struct mutex mutex;
    size_t capacity; /* never changes */
    size_t first GUARDED_BY(mutex), len GUARDED_BY(mutex);
    void *items[] GUARDED_BY(mutex);
};

struct queue *queue_new(size_t capacity)
{
    struct queue *q;
    size_t size;

    ASSERT(capacity > 0 && mul_size(capacity, sizeof(void *), &size) &&
           add_size(size, sizeof *q, &size));
    q = mem_alloc(size);
    *q = (struct queue){.capacity = capacity};
    mutex_init(&q->mutex);
    return q;
}

void queue_free(struct queue *q)
{
    if (q == NULL)
        return;
    mutex_release(&q->mutex);
    mem_free(q);
}

bool queue_try_push(struct queue *q, void *item)
{
    bool room;

    ASSERT(item != NULL);
    mutex_lock(&q->mutex);
    room = q->len < q->capacity;
    if (room)
        q->items[(q->first + q->len++) % q->capacity] = item;
    mutex_unlock(&q->mutex);
    return room;
}

void *queue_try_pop(struct queue *q)
{
    void *item = NULL;

    mutex_lock(&q->mutex);
    if (q->len > 0) {
        item = q->items[q->first];
        q->first = (q->first + 1) % q->capacity;
        q->len--;
    }
    mutex_unlock(&q->mutex);
    return item;
}

size_t queue_len(struct queue *q)
{
    size_t len;

    mutex_lock(&q->mutex);
    len = q->len;
    mutex_unlock(&q->mutex);
    return len;
}

/* ---- spsc: one to one, no lock -------------------------------------------------------------- */

#define CACHE_LINE 64

/* head and tail only grow; their low bits are the slot. Each end has its counter and what it last
 * saw of the other's on lines of its own, so that the other end's line is fetched only when the
 * ring looks full or empty. */
struct spsc {
    size_t mask;
    char pad0[CACHE_LINE];
    _Atomic size_t tail; /* written by the producer: items up to here are there */
    size_t seen_head;    /* producer's */
    char pad1[CACHE_LINE];
    _Atomic size_t head; /* written by the consumer: slots up to here are free */
    size_t seen_tail;    /* consumer's */
    char pad2[CACHE_LINE];
    void *items[];
};

struct spsc *spsc_new(size_t capacity)
{
    size_t slots = 1, size;
    struct spsc *q;

    ASSERT(capacity > 0 && capacity <= SIZE_MAX / 2 + 1);
    while (slots < capacity)
        slots *= 2;
    ASSERT(mul_size(slots, sizeof(void *), &size) && add_size(size, sizeof *q, &size));
    q = mem_calloc(1, size);
    q->mask = slots - 1;
    return q;
}

void spsc_free(struct spsc *q)
{
    mem_free(q);
}

bool spsc_try_push(struct spsc *q, void *item)
{
    size_t tail = atomic_load_explicit(&q->tail, memory_order_relaxed);

    ASSERT(item != NULL);
    if (tail - q->seen_head > q->mask) {
        q->seen_head = atomic_load_explicit(&q->head, memory_order_acquire);
        if (tail - q->seen_head > q->mask)
            return false;
    }
    q->items[tail & q->mask] = item;
    atomic_store_explicit(&q->tail, tail + 1, memory_order_release);
    return true;
}

void *spsc_peek(struct spsc *q)
{
    size_t head = atomic_load_explicit(&q->head, memory_order_relaxed);

    if (head == q->seen_tail) {
        q->seen_tail = atomic_load_explicit(&q->tail, memory_order_acquire);
        if (head == q->seen_tail)
            return NULL;
    }
    return q->items[head & q->mask];
}

void *spsc_peek_at(struct spsc *q, size_t ahead)
{
    size_t at = atomic_load_explicit(&q->head, memory_order_relaxed) + ahead;

    if (ahead > q->mask)
        return NULL;
    if (q->seen_tail - at - 1 > q->mask) { /* at is not before seen_tail */
        q->seen_tail = atomic_load_explicit(&q->tail, memory_order_acquire);
        if (q->seen_tail - at - 1 > q->mask)
            return NULL;
    }
    return q->items[at & q->mask];
}

size_t spsc_pushed(const struct spsc *q)
{
    return atomic_load_explicit(&q->tail, memory_order_relaxed);
}

size_t spsc_popped(const struct spsc *q)
{
    return atomic_load_explicit(&q->head, memory_order_relaxed);
}

void *spsc_try_pop(struct spsc *q)
{
    void *item = spsc_peek(q);

    if (item != NULL)
        atomic_store_explicit(&q->head, atomic_load_explicit(&q->head, memory_order_relaxed) + 1,
                              memory_order_release);
    return item;
}

size_t spsc_len(const struct spsc *q)
{
    size_t head = atomic_load_explicit(&q->head, memory_order_acquire);
    size_t tail = atomic_load_explicit(&q->tail, memory_order_acquire);
    size_t len = tail - head;

    return len > q->mask + 1 ? q->mask + 1
                             : len; /* the consumer may have moved on between the loads */
}

bool spsc_full(const struct spsc *q)
{
    return spsc_len(q) > q->mask;
}
