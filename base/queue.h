/* queue.h - bounded queue of pointers; a message's owner changes when it is pushed.
 *
 * queue: any number of producers and consumers, a mutex inside; for control messages.
 * spsc: one producer, one consumer, no lock; for batches between subtasks. Neither ever blocks: a full
 * queue is backpressure, the caller decides to wait.
 */
#ifndef VARVE_BASE_QUEUE_H
#define VARVE_BASE_QUEUE_H

#include "base/status.h"

struct queue;
struct queue *queue_new(size_t capacity);
void queue_free(struct queue *q); /* must be empty or its items not owned; items are not freed */
MUST_USE bool queue_try_push(struct queue *q, void *item); /* false: full, item still the caller's */
void *queue_try_pop(struct queue *q);                      /* NULL: empty */
size_t queue_len(struct queue *q);

struct spsc;
struct spsc *spsc_new(size_t capacity); /* rounded up to a power of two */
void spsc_free(struct spsc *q);
MUST_USE bool spsc_try_push(struct spsc *q, void *item);
void *spsc_try_pop(struct spsc *q);
void *spsc_peek(struct spsc *q); /* consumer: the next item, left in place; NULL: empty */
size_t spsc_len(const struct spsc *q); /* a moment's view */
bool spsc_full(const struct spsc *q);
/* Consumer: the item `ahead` places behind the next one, left in place; NULL: not there yet. */
void *spsc_peek_at(struct spsc *q, size_t ahead);
/* How many items were ever pushed (the producer's to ask) and popped (the consumer's): places in the order of all. */
size_t spsc_pushed(const struct spsc *q);
size_t spsc_popped(const struct spsc *q);

#endif
