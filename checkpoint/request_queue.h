/* request_queue.h - checkpoints and savepoints that were asked for and have not started: what comes
 * next.
 *
 * Order: a stop, other savepoints, the final checkpoint of a bounded job, requested checkpoints, a
 * periodic one; then by arrival. At most one periodic request waits (a difference: Flink lets them
 * pile up). Pure. Thread: the driver's. After: CheckpointRequestDecider (flink-runtime).
 */
#ifndef VARVE_CHECKPOINT_REQUEST_QUEUE_H
#define VARVE_CHECKPOINT_REQUEST_QUEUE_H

#include "checkpoint/coordinator.h"

enum request_origin { ORIGIN_USER, ORIGIN_FINAL, ORIGIN_PERIODIC };
struct checkpoint_request {
    enum request_origin origin;
    enum request_kind kind; /* ORIGIN_USER; else REQUEST_CHECKPOINT */
    uint64_t request_id;    /* ORIGIN_USER */
    char *target_dir;       /* owned; savepoints */
};
void checkpoint_request_release(struct checkpoint_request *r);

struct request_queue;
struct request_queue *request_queue_new(size_t limit);
void request_queue_free(struct request_queue *q);
size_t request_queue_len(const struct request_queue *q);
bool request_queue_has(const struct request_queue *q, enum request_origin origin);
/* Takes `add`. true: the queue was full and `*dropped` (to be released) fell out: the one that
 * would have come last, perhaps `add` itself. */
MUST_USE bool request_queue_push(struct request_queue *q, struct checkpoint_request add,
                                 struct checkpoint_request *dropped);
/* What comes next, left in place; NULL: empty. */
const struct checkpoint_request *request_queue_peek(const struct request_queue *q);
/* The next one, to be released by the caller. The queue must not be empty. */
struct checkpoint_request request_queue_pop(struct request_queue *q);

#endif
