/* inflight.h - what is in flight to a task when it snapshots ahead of its input: which elements of its channels are in
 * front of the barrier, and their rows, recorded.
 *
 * It begins at the snapshot. From then on until a channel's barrier is known (an announcement, the barrier itself or the
 * end found in the queue) every batch that is in the channel's queue, or comes into it, is copied as a block of
 * batch_codec.h; the batch stays where it is and is processed as ever. A channel that had delivered its barrier, or ended,
 * has nothing in front of it. When all channels are through, it is whole. Blocks of one channel are in its order, and
 * nothing is recorded twice.
 *
 * Bounded: past max_bytes it holds nothing and says so (inflight_fault). Thread: the task's until it is whole or dropped,
 * then whoever writes it. After: ChannelStateWriterImpl, ChannelStatePersister (flink-runtime). */
#ifndef VARVE_JOB_RUNTIME_INFLIGHT_H
#define VARVE_JOB_RUNTIME_INFLIGHT_H

#include "backend/snapshot_target.h"
#include "job/runtime/exchange.h"

/* One input edge of the task; borrowed strings of the graph. */
struct inflight_edge {
    const struct graph_edge *edge;
    uint32_t ordinal; /* among the edges between the same two vertices */
    struct buf first, blocks; /* restored rows stand in front of what channels have */
    uint64_t rows;
    bool updates; /* some rows are not +I */
};
struct inflight_channel {
    struct channel *channel;
    uint32_t edge; /* index in `edges` */
    bool through;
    size_t seen; /* of all elements ever pushed: those before it are recorded, or were taken before */
};
struct inflight {
    struct barrier barrier;
    const struct graph *graph;
    uint64_t max_bytes, bytes;
    uint32_t edge_count, channel_count, open_count; /* open: channels that are not through */
    struct inflight_edge *edges;
    struct inflight_channel *channels;
    enum rc fault; /* RC_OK; RC_LIMIT: too much; RC_CANCELLED: dropped */
};
/* channels: of the task's gate, in its order, each with the graph's edge that it belongs to; copied. */
struct inflight *inflight_new(const struct graph *g, const struct barrier *b, uint32_t channel_count,
                              struct channel *const *channels, const uint32_t *edges, uint64_t max_bytes);
void inflight_free(struct inflight *f);
/* The channel's barrier was taken from the queue, or its end. */
void inflight_through(struct inflight *f, uint32_t channel);
/* Its announcement, of this barrier: records what is left in front of it. */
void inflight_announced(struct inflight *f, uint32_t channel, const struct announcement *a);
/* Looks at the next element that is not recorded yet, and records it. false: none is there. Announcements come first:
 * whoever takes one after `next` gave true and before `record` knows whether the element is behind it. */
bool inflight_next(const struct inflight *f, uint32_t channel);
void inflight_record(struct inflight *f, uint32_t channel);
/* A batch that the task holds and has not processed (it was restored), in front of all that channels have and behind
 * those added before. graph_edge: an input edge of the task. */
void inflight_add_first(struct inflight *f, uint32_t graph_edge, const struct batch *b);
/* What the attempt was given up for; nothing is kept. */
void inflight_drop(struct inflight *f, enum rc why);
static inline bool inflight_whole(const struct inflight *f)
{
    return f->open_count == 0 || f->fault != RC_OK;
}
/* Why it can't be written; what names the task. RC_OK: it can. */
MUST_USE enum rc inflight_check(const struct inflight *f, struct err *err);
/* Publishes a file for each edge that has rows, named in out->channels (in arena). *bytes: of all files. */
MUST_USE enum rc inflight_write(const struct inflight *f, struct snapshot_target *target, struct arena *arena,
                                struct subtask_state *out, uint64_t *bytes, struct err *err);

#endif
