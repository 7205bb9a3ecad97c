/* exchange.h - moves elements between subtasks: bounded channels, and the partitioning that fills
 * them.
 *
 * A channel leads from one subtask of an edge to one subtask behind it: a lock-free queue with one
 * producer and one consumer. An emitter is the producing side of a subtask: it spreads rows over
 * its channels. What finds a channel full goes to an outbox behind it, in order; the task takes no
 * input while an outbox holds something, so an outbox is bounded by the output of one call of an
 * operator: that is backpressure. Thread: an emitter and its channels' producing end belong to the
 * task; see input_gate.h for the other end.
 */
#ifndef VARVE_JOB_RUNTIME_EXCHANGE_H
#define VARVE_JOB_RUNTIME_EXCHANGE_H

#include "base/queue.h"
#include "job/runtime/executor.h"
#include "job/runtime/graph.h"

struct channel {
    struct spsc *queue;                   /* of struct element */
    struct runnable *producer, *consumer; /* woken; NULL in tests of one end alone */
    _Atomic bool producer_waits;
};
/* All channels of one deployment of a job. */
struct exchange;
struct exchange *exchange_new(const struct graph *g, uint32_t capacity);
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
void emitter_barrier(struct emitter *em, const struct barrier *b);
void emitter_end(struct emitter *em);
/* Push what the outboxes hold; true: nothing is left. false: the task is woken when there is room.
 */
bool emitter_push_outbox(struct emitter *em);
/* Elements waiting in outboxes. */
uint32_t emitter_outbox_len(const struct emitter *em);

#endif
