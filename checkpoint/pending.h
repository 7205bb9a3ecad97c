/* pending.h - one checkpoint under way: who must ack, who has, until when.
 *
 *     BEGINNING --begun--> RUNNING --last ack--> FINALIZING --published--> COMPLETED
 *         |                   |                      | failed
 *         +----- abort -------+----------------------+-----------------> ABORTED
 *
 * FINALIZING (the metadata is being written) is never interrupted: its outcome decides. Pure.
 * Thread: the driver's. After: PendingCheckpoint (flink-runtime).
 */
#ifndef VARVE_CHECKPOINT_PENDING_H
#define VARVE_CHECKPOINT_PENDING_H

#include "checkpoint/barrier.h"

enum pending_state {
    PENDING_BEGINNING,
    PENDING_RUNNING,
    PENDING_FINALIZING,
    PENDING_COMPLETED,
    PENDING_ABORTED
};
const char *pending_state_str(enum pending_state s);
bool pending_may_move(enum pending_state from,
                      enum pending_state to); /* the table of allowed transitions */

struct pending; /* opaque */
/* expected[i]: task i must ack; at least one. */
struct pending *pending_new(const struct barrier *barrier, const bool *expected,
                            uint32_t task_count, int64_t deadline_mono_ms);
void pending_free(struct pending *p);
const struct barrier *pending_barrier(const struct pending *p);
enum pending_state pending_state(const struct pending *p);
void pending_move(struct pending *p, enum pending_state to); /* asserts the table */
int64_t pending_deadline_mono_ms(const struct pending *p);
bool pending_expects(const struct pending *p, uint32_t task);
bool pending_has_acked(const struct pending *p, uint32_t task);
enum pending_ack {
    PENDING_ACK_OK,
    PENDING_ACK_DUPLICATE,
    PENDING_ACK_UNKNOWN /* task not expected */
};
enum pending_ack pending_ack(struct pending *p, uint32_t task);
bool pending_fully_acked(const struct pending *p);
uint32_t pending_missing_count(const struct pending *p);
/* First task that has not acked; task_count when none: for messages. */
uint32_t pending_first_missing(const struct pending *p);

#endif
