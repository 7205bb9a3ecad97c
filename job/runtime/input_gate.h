/* input_gate.h - takes elements from a subtask's channels, one at a time, and gives what they mean.
 *
 * Channels take turns. Barriers go through alignment.h (C6: a channel that is ahead is not read),
 * watermarks are merged, the end comes when every channel has ended. A barrier that overtakes is given
 * as soon as one channel has it, wherever its elements stand; from then on the gate records what the
 * channels still have in front of it (inflight.h), until that is whole. Thread: the task's.
 */
#ifndef VARVE_JOB_RUNTIME_INPUT_GATE_H
#define VARVE_JOB_RUNTIME_INPUT_GATE_H

#include "job/runtime/alignment.h"
#include "job/runtime/inflight.h"

struct input_gate;
/* All channels that lead to the subtask; at least one. */
struct input_gate *input_gate_new(struct exchange *x, const struct graph *g, uint32_t vertex,
                                  uint32_t subtask_index);
void input_gate_free(struct input_gate *gate);
/* Barriers may overtake: look for them. in_flight_max_bytes: of what is recorded for one of them. */
void input_gate_overtaking(struct input_gate *gate, uint64_t in_flight_max_bytes);

enum gate_kind {
    GATE_NOTHING, /* wait until woken */
    GATE_BATCH,
    GATE_WATERMARK,
    GATE_IDLE,
    GATE_BARRIER, /* whole: all before it was given out, nothing behind it */
    GATE_ENDED,   /* once: every channel has ended */
    GATE_SKIP,    /* an element that means nothing yet; ask again */
};
struct gate_item {
    enum gate_kind kind;
    struct batch *batch; /* GATE_BATCH: the caller's, batch_free */
    int64_t watermark_ms;
    struct barrier barrier;
    int64_t alignment_ns;   /* GATE_BARRIER: since its first one came */
    uint64_t aligned_bytes; /* GATE_BARRIER: input given out meanwhile */
    struct inflight *recording; /* GATE_BARRIER that overtook: the caller's; the gate fills it until it is whole, and the
                                   caller says when that is no longer wanted (input_gate_stop_recording) */
    uint32_t aborted_count; /* with any kind: attempts that can't be aligned any more */
    uint64_t aborted[ALIGNMENT_OPEN_MAX];
};
void input_gate_next(struct input_gate *gate, int64_t now_mono_ns, struct gate_item *out);
/* Takes no input, so also for a task that may take none: true: *out is a barrier that overtakes (GATE_BARRIER), or tells of
 * attempts that can't be aligned any more. Goes on with the recording. overdue: a barrier of this attempt that lies in a
 * queue may overtake, though nobody has announced it; 0: none. */
bool input_gate_look(struct input_gate *gate, int64_t now_mono_ns, uint64_t overdue, struct gate_item *out);
/* Nothing more goes into f; one that the gate no longer fills changes nothing. */
void input_gate_stop_recording(struct input_gate *gate, const struct inflight *f);
/* The attempt was given up: blocked channels are read again. */
void input_gate_abort(struct input_gate *gate, uint64_t checkpoint_id);
/* The barrier came by message, all channels having ended. */
void input_gate_skip(struct input_gate *gate, uint64_t checkpoint_id);
uint64_t input_gate_newest(const struct input_gate *gate); /* alignment_newest */
uint32_t input_gate_queued(const struct input_gate *gate); /* elements waiting, a moment's view */

#endif
