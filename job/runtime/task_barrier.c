/* task_barrier.c - barriers that overtake rows, at a task: finding them, and what is recorded for them.
 *
 * A barrier is held until it can be dealt with (task_checkpoint.c), and no input is taken meanwhile (C6); so what is recorded from
 * the moment it was found is what the snapshot does not have. The part of the snapshot waits for the recording by its second half. */
#include "job/runtime/task_priv.h"

void task_hold_barrier(struct task *t, const struct gate_item *item)
{
    t->barrier_held = true;
    t->barrier = item->barrier;
    t->alignment_ns = item->alignment_ns;
    t->aligned_bytes = item->aligned_bytes;
    t->held_recording = item->recording;
}

static void free_held(struct task *t)
{
    if (t->held_recording == NULL)
        return;
    input_gate_stop_recording(t->gate, t->held_recording);
    inflight_free(t->held_recording);
    t->held_recording = NULL;
}

void task_release_barrier(struct task *t)
{
    t->barrier_held = false;
    free_held(t);
}

/* The attempt that this task has been told of and whose barrier it has not met, when that may overtake by now. */
static uint64_t overdue(const struct task *t, int64_t now)
{
    for (uint32_t i = 0; i < t->trigger_count; i++)
        if (barrier_overtakes(&t->triggers[i].barrier, now))
            return t->triggers[i].barrier.checkpoint_id;
    return 0;
}

void task_look_for_barrier(struct task *t, int64_t now)
{
    struct gate_item item;

    if (t->barrier_held || t->input_ended || t->stopped_for != 0)
        return;
    if (input_gate_look(t->gate, now, overdue(t, now), &item)) {
        for (uint32_t i = 0; i < item.aborted_count; i++)
            task_decline_unaligned(t, item.aborted[i]);
        if (item.kind == GATE_BARRIER)
            task_hold_barrier(t, &item);
    }
    task_end_recording(t);
}

void task_end_recording(struct task *t)
{
    struct async_part *p = t->recording_part;

    if (p == NULL || !inflight_whole(p->inflight))
        return;
    t->recording_part = NULL;
    p->stats.alignment_ms +=
        (clock_mono_ns(t->config.env->clock) - p->start_mono_ns) / NS_PER_MS;
    task_half_done(p);
}

void task_drop_recording(struct task *t)
{
    struct async_part *p = t->recording_part;

    if (p == NULL)
        return;
    input_gate_stop_recording(t->gate, p->inflight);
    inflight_drop(p->inflight, RC_CANCELLED);
    task_end_recording(t);
}

int64_t task_overtake_at(const struct task *t, int64_t now)
{
    int64_t at = emitter_overtake_at(t->emitter);

    for (uint32_t i = 0; i < t->trigger_count; i++) {
        int64_t own = t->triggers[i].barrier.overtake_mono_ns;

        if (own > now && own < at)
            at = own;
    }
    return at;
}
