/* alignment.h - decides, for a task with several input channels, when a barrier is whole and what
 * event time it is.
 *
 * Pure: no queue, no clock, no task. input_gate.c feeds it what it takes from channels and obeys
 * what it answers.
 *
 * Exactly-once: a channel that delivered barrier n is blocked until every other live channel has
 * delivered it too (C6). A channel that ended counts as having delivered everything. A barrier
 * newer than the one being aligned gives the older up, since a channel in order can't deliver it
 * any more. At-least-once: nothing is blocked; the barrier is whole when all have delivered it, and
 * several may be under way. Unaligned: the first channel that has it decides, nobody waits, and what comes from the
 * others until theirs is recorded. Thread: the task's. After: SingleCheckpointBarrierHandler,
 * CheckpointBarrierTracker, StatusWatermarkValve (flink-runtime).
 */
#ifndef VARVE_JOB_RUNTIME_ALIGNMENT_H
#define VARVE_JOB_RUNTIME_ALIGNMENT_H

#include "job/element.h"

#define ALIGNMENT_OPEN_MAX 16 /* barriers under way at one time; past it the oldest is given up */

struct alignment_channel {
    bool ended;
    bool blocked;
    uint64_t last_id; /* newest barrier it delivered; 0: none */
};
struct alignment {
    uint32_t channel_count, live_count;
    struct alignment_channel *channels;
    uint32_t open_count; /* barriers begun and not whole, ids ascending; exactly-once: at most 1 */
    struct barrier open[ALIGNMENT_OPEN_MAX];
    uint64_t
        done_id; /* newest barrier that is whole or given up: older or equal ones are ignored */
    uint32_t gone_count; /* newer ones that were given up elsewhere, while older ones go on */
    uint64_t gone[ALIGNMENT_OPEN_MAX];
};
/* What follows from an event. */
struct alignment_result {
    bool complete; /* `barrier` is whole: snapshot and forward it; channels are unblocked */
    struct barrier barrier;
    uint32_t aborted_count; /* barriers that can't become whole any more: decline them */
    uint64_t aborted[ALIGNMENT_OPEN_MAX];
    bool started; /* the first barrier of an id came: alignment time runs from now */
};
/* Unaligned: a barrier that overtakes is whole with the first word of it, be that an announcement or a look into a
 * queue; open older ones are given up. What channels still have in front of it is the recorder's (inflight.h). */
struct alignment_result alignment_overtake(struct alignment *a, const struct barrier *b);
/* The open barrier that may overtake by now is whole without the channels that have not delivered it. Nothing
 * follows when there is none. */
struct alignment_result alignment_overdue(struct alignment *a, int64_t now_mono_ns);
/* Nothing in front of the barrier can come from the channel any more. */
bool alignment_delivered(const struct alignment *a, uint32_t channel, uint64_t checkpoint_id);
void alignment_init(struct alignment *a, uint32_t channel_count);
void alignment_release(struct alignment *a);
struct alignment_result alignment_barrier(struct alignment *a, uint32_t channel,
                                          const struct barrier *b);
struct alignment_result alignment_end(struct alignment *a, uint32_t channel);
/* The attempt was given up elsewhere; true: it was being aligned here and channels are unblocked.
 * Its barriers that are still to come are ignored. */
bool alignment_abort(struct alignment *a, uint64_t checkpoint_id);
/* The barrier came another way (all channels have ended): ignore it from now on. */
void alignment_skip(struct alignment *a, uint64_t checkpoint_id);
/* The newest barrier that any channel delivered; 0: none. What is behind it has been given out, so that
 * a snapshot for it or for one before, if it was not made then, can't be made any more (C6). */
uint64_t alignment_newest(const struct alignment *a);
static inline bool alignment_blocked(const struct alignment *a, uint32_t channel)
{
    return a->channels[channel].blocked || a->channels[channel].ended;
}
static inline bool alignment_all_ended(const struct alignment *a)
{
    return a->live_count == 0;
}
static inline bool alignment_open(const struct alignment *a)
{
    return a->open_count > 0;
}

/* Event time of a task: the least over its live channels that are not idle; it never goes back. */
struct event_time_channel {
    int64_t watermark_ms;
    bool idle, ended;
};
struct event_time {
    uint32_t channel_count;
    struct event_time_channel *channels;
    int64_t emitted_ms;
    bool emitted_idle;
};
enum event_time_news { EVENT_TIME_SAME, EVENT_TIME_ADVANCED, EVENT_TIME_IDLE };
void event_time_init(struct event_time *t, uint32_t channel_count);
void event_time_release(struct event_time *t);
/* ADVANCED: *watermark_ms is the new one. IDLE: all live channels are idle, and that is new. */
enum event_time_news event_time_watermark(struct event_time *t, uint32_t channel,
                                          int64_t channel_watermark_ms, int64_t *watermark_ms);
enum event_time_news event_time_idle(struct event_time *t, uint32_t channel, int64_t *watermark_ms);
void event_time_active(struct event_time *t, uint32_t channel); /* rows came: no longer idle */
/* An ended channel holds nothing back. When the last one ends nothing is emitted: the end of input
 * follows. */
enum event_time_news event_time_end(struct event_time *t, uint32_t channel, int64_t *watermark_ms);

#endif
