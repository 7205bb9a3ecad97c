/* replay.h - rows that were in flight when a snapshot was taken, on their way through the task that has them now.
 *
 * They come before anything else the task takes. Where each handle's rows enter is its route: an edge into the task's
 * vertex, or a place inside its chain, when the two operators are chained in this job. Rows of an edge that goes by key
 * are those whose key group the subtask owns. Thread: the task's. After: ChannelStateReader,
 * RecoveredInputChannel, VirtualChannelSelector (flink-runtime). */
#ifndef VARVE_JOB_RUNTIME_REPLAY_H
#define VARVE_JOB_RUNTIME_REPLAY_H

#include "job/runtime/inflight.h"

struct inflight_route {
    const struct graph_edge *edge; /* NULL: inside a chain */
    uint32_t edge_index;
    const struct schema *schema;
};
/* Where rows from `from_id` enter operator `op` of a vertex; false: no such edge in this job. */
bool inflight_route_find(const struct graph *g, uint32_t vertex, uint32_t op, const char *from_id,
                         uint32_t ordinal, struct inflight_route *out);

struct replay;
/* Reads the handles of one operator of the task's chain, behind what *r has; *r NULL: it is made when there are rows. On an
 * error *r is still the caller's. */
MUST_USE enum rc replay_load(struct replay **r, struct fs *fs, const struct graph *g, uint32_t vertex,
                             uint32_t subtask_index, uint32_t op, const struct channel_handle *handles,
                             size_t count, struct err *err);
void replay_free(struct replay *r);
/* The next batch, the caller's, and the operator of the chain that takes it. There is one unless it has ended. */
struct batch *replay_next(struct replay *r, uint32_t *op);
bool replay_ended(const struct replay *r);
/* All that is left came by edges and is not more than max_bytes, so that it can be in flight in a checkpoint again. */
bool replay_may_record(const struct replay *r, uint64_t max_bytes);
/* What is left, into f; r or f NULL: nothing. */
void replay_record(const struct replay *r, struct inflight *f);

#endif
