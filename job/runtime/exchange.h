/* exchange.h - moves elements between subtasks: bounded channels, and the partitioning that fills
 * them.
 *
 * A channel leads from one subtask of an edge to one subtask behind it: a lock-free queue with one
 * producer and one consumer. An emitter is the producing side of a subtask: it spreads rows over
 * its channels. What finds a channel full goes to an outbox behind it, in order; the task takes no
 * input while an outbox holds something, so an outbox is bounded by the output of one call of an
 * operator: that is backpressure. A barrier that overtakes (barrier.h) is told beside the queue: an
 * announcement says how many elements of the queue are in front of it and brings a copy of the rows
 * in front of it that wait in the outbox; so what is in flight is recorded by the consumer alone.
 * Thread: an emitter and its channels' producing end belong to the task; see input_gate.h for the
 * other end.
 */
#ifndef VARVE_JOB_RUNTIME_EXCHANGE_H
#define VARVE_JOB_RUNTIME_EXCHANGE_H

#include "base/queue.h"
#include "job/runtime/executor.h"
#include "job/runtime/graph.h"

/* A barrier ahead of its place in the queue. Heap object, the receiver's: announcement_free. */
struct announcement {
    struct barrier barrier;
    size_t after; /* spsc_pushed: elements before it are in front of the barrier, others behind */
    /* Rows in front of the barrier that are not in the queue yet: blocks of batch_codec.h. They come
     * through the queue too, behind `after`. */
    struct buf blocks;
    uint64_t rows;
    bool updates;   /* some of the rows are not +I */
    bool too_large; /* they exceed the exchange's limit: blocks is empty */
};
void announcement_free(struct announcement *a);

struct channel {
    struct spsc *queue;                   /* of struct element */
    _Atomic(struct announcement *) announced; /* the newest, until the consumer takes it */
    struct runnable *producer, *consumer; /* woken; NULL in tests of one end alone */
    _Atomic bool producer_waits;
};
/* All channels of one deployment of a job. */
struct exchange;
struct exchange *exchange_new(const struct graph *g, uint32_t capacity);
/* Bytes that one announcement may bring at most; without it IN_FLIGHT_MAX_DEFAULT. Before anything runs. */
#define IN_FLIGHT_MAX_DEFAULT (64ull << 20)
void exchange_limit(struct exchange *x, uint64_t in_flight_max_bytes);
void exchange_free(struct exchange *x); /* with the elements that are still in it */
/* Before anything runs: who is woken. */
void exchange_attach(struct exchange *x, uint32_t vertex, uint32_t subtask_index,
                     struct runnable *r);
/* The channel from subtask `from` of edge's first vertex to subtask `to` of its second; NULL: there
 * is none (forward). */
struct channel *exchange_channel(struct exchange *x, uint32_t edge, uint32_t from, uint32_t to);

/* Consumer: the next element or NULL; owned by the caller. */
struct element *channel_pop(struct channel *c);
bool channel_has(struct channel *c);
/* Consumer: an announcement, the caller's; NULL: none. Every element that was seen in the queue before this call and is
 * behind an announced barrier makes that announcement be seen here. */
struct announcement *channel_announcement(struct channel *c);

struct emitter;
struct emitter *emitter_new(struct exchange *x, const struct graph *g, uint32_t vertex,
                            uint32_t subtask_index);
void emitter_free(struct emitter *em);
/* Rows are copied into the channels' batches, which leave when full or at emitter_flush. */
MUST_USE enum rc emitter_batch(struct emitter *em, struct batch *b, struct err *err);
void emitter_flush(struct emitter *em);
/* To all channels, behind all rows given before. */
void emitter_watermark(struct emitter *em, int64_t watermark_ms);
void emitter_idle(struct emitter *em);
void emitter_end(struct emitter *em);
/* In band or, when it may overtake now, announced. After the end only the latter, as soon as it may. */
void emitter_barrier(struct emitter *em, const struct barrier *b, int64_t now_mono_ns);
/* Barriers that wait in outboxes and may overtake by now do so. */
void emitter_overtake(struct emitter *em, int64_t now_mono_ns);
/* When the next of them may; INT64_MAX: none waits. */
int64_t emitter_overtake_at(const struct emitter *em);
/* Push what the outboxes hold; true: nothing is left. false: the task is woken when there is room.
 */
bool emitter_push_outbox(struct emitter *em);
/* Elements waiting in outboxes. */
uint32_t emitter_outbox_len(const struct emitter *em);

#endif
