/* task_checkpoint.c - a task's part in a checkpoint: triggers, the snapshot at a barrier,
 * notifications. See task.h
 *
 * C6: a barrier is dealt with before any element behind it. C11: what operators and keyed state
 * held at that moment is what the asynchronous part writes; it owns deep copies and closed epochs.
 */
#include "job/runtime/task_priv.h"

/* ---- triggers ---------------------------------------------------------------------------------
 */

static void remove_trigger(struct task *t, uint32_t i)
{
    t->trigger_count--;
    memmove(t->triggers + i, t->triggers + i + 1, (t->trigger_count - i) * sizeof t->triggers[0]);
}

static void drop_trigger_at(struct task *t, uint32_t i)
{
    t->triggers[i].release(t->triggers[i].target);
    remove_trigger(t, i);
}

void task_drop_trigger(struct task *t, uint64_t checkpoint_id)
{
    for (uint32_t i = 0; i < t->trigger_count; i++) {
        if (t->triggers[i].barrier.checkpoint_id == checkpoint_id) {
            drop_trigger_at(t, i);
            return;
        }
    }
}

void task_drop_triggers(struct task *t)
{
    while (t->trigger_count > 0)
        drop_trigger_at(t, 0);
}

void task_add_trigger(struct task *t, const struct task_message *m)
{
    if (m->barrier.checkpoint_id <=
        t->last_barrier_id) { /* can't be: a message comes before its barrier */
        m->release(m->target);
        return;
    }
    if (t->trigger_count == TASK_TRIGGERS_MAX)
        drop_trigger_at(t, 0); /* an attempt that old was given up */
    t->triggers[t->trigger_count++] = (struct task_trigger){m->barrier, m->target, m->release};
}

void task_decline_unaligned(struct task *t, uint64_t checkpoint_id)
{
    struct task_event *ev = task_event_new(t, TASK_EVENT_DECLINED);

    ev->checkpoint_id = checkpoint_id;
    err_set(&ev->err, RC_CANCELLED, "%s: a newer barrier came before checkpoint %llu was aligned",
            t->name, (unsigned long long)checkpoint_id);
    task_drop_trigger(t, checkpoint_id);
    task_send(t, ev);
}

void task_next_trigger(struct task *t, int64_t now)
{
    (void)now;
    while (t->gate != NULL && t->trigger_count > 0 &&
           t->triggers[0].barrier.checkpoint_id <= input_gate_newest(t->gate))
        task_decline_unaligned(t, t->triggers[0].barrier.checkpoint_id); /* C6 */
    if (t->trigger_count == 0 || t->stopped_for != 0)
        return;
    t->barrier_held = true;
    t->barrier = t->triggers[0].barrier;
    t->alignment_ns = 0;
    t->aligned_bytes = 0;
    if (t->gate != NULL)
        input_gate_skip(t->gate, t->barrier.checkpoint_id);
}

/* ---- at the barrier ---------------------------------------------------------------------------
 */

bool task_barrier_ready(const struct task *t)
{
    if (t->ending || t->async_count == TASK_PARTS_MAX)
        return false;
    /* Rows that were in flight before come first, or into this checkpoint: with room for as much again, or it would be declined
     * for them, as would the next one of the job that starts anew from where this one did. */
    if (t->replay != NULL && (t->held_recording == NULL ||
                              !replay_may_record(t->replay, t->held_recording->max_bytes / 2)))
        return false;
    for (uint32_t i = 0; i < t->operator_count; i++) {
        if (t->chain[i].draining ||
            (t->chain[i].keyed != NULL && !keyed_may_snapshot(t->chain[i].keyed)))
            return false;
    }
    return t->barrier.kind != CHECKPOINT_TERMINATE || t->data_ended;
}

enum rc task_prepare_barrier(struct task *t, enum step_result *result, struct err *err)
{
    const struct source_operator_ops *ops;

    if (t->barrier.kind != CHECKPOINT_TERMINATE || t->data_ended) {
        *result = STEP_WAIT; /* until the rows of an earlier attempt are safe */
        t->waits_for = WAITS_FOR_ROOM;
        return RC_OK;
    }
    t->draining_for = t->barrier.checkpoint_id;
    t->ending = true;
    for (uint32_t i = 0; i < t->operator_count; i++)
        t->chain[i].ctx.draining = true;
    if (!t->source || t->input_ended)
        return RC_OK;
    ops = (const struct source_operator_ops *)(const void *)t->chain[0].op->ops;
    if (ops->drain_event_time != NULL)
        RETURN_IF_ERR(ops->drain_event_time(t->chain[0].op, &t->chain[0].output, err));
    return RC_OK;
}

static void count_sizes(struct async_part *p)
{
    p->stats.state_bytes = p->stats.checkpointed_bytes = 0;
    for (uint32_t i = 0; i < p->task->operator_count; i++) {
        uint64_t full, fresh;

        subtask_state_sizes(&p->states[i], &full, &fresh);
        p->stats.state_bytes += full;
        p->stats.checkpointed_bytes += fresh;
    }
}

/* From then on the task may go on to the next barrier. */
static enum rc take_rows(struct async_part *p, struct err *err)
{
    struct task *t = p->task;
    enum rc rc = RC_OK;

    for (uint32_t i = 0; i < t->operator_count && rc == RC_OK; i++) {
        if (p->snapshots[i] != NULL)
            rc = keyed_snapshot_take(p->snapshots[i], err);
    }
    executor_wake(&t->runnable);
    return rc;
}

/* Rows in flight to a task belong to the first operator of its chain. */
static enum rc write_inflight(struct async_part *p, struct err *err)
{
    if (p->inflight == NULL)
        return RC_OK;
    RETURN_IF_ERR(inflight_check(p->inflight, err));
    return inflight_write(p->inflight, p->target, p->arena, &p->states[0], &p->stats.persisted_bytes,
                          err);
}

/* Both halves are there. */
static void part_end(struct async_part *p)
{
    struct task *t = p->task;
    struct task_event *ev;
    struct err err = p->err;
    enum rc rc = p->rc;

    if (rc == RC_OK)
        rc = write_inflight(p, &err);
    p->release(p->target);
    p->target = NULL;
    ev = task_event_new(t, rc == RC_OK ? TASK_EVENT_ACK : TASK_EVENT_DECLINED);
    ev->checkpoint_id = p->barrier.checkpoint_id;
    ev->data_ended = p->data_ended;
    if (rc == RC_OK) {
        p->stats.async_ms = (clock_mono_ns(t->config.env->clock) - p->start_mono_ns) / NS_PER_MS;
        count_sizes(p);
        ev->stats = p->stats;
        ev->arena = p->arena;
        ev->states = p->states;
        ev->operator_count = t->operator_count;
        p->arena = NULL;
    } else {
        ev->async = true;
        ev->err = err;
        err_wrap(&ev->err, rc, "%s", t->name);
    }
    task_send(t, ev);
    mutex_lock(&t->mutex);
    p->next = t->finished_parts;
    t->finished_parts = p;
    mutex_unlock(&t->mutex);
    atomic_store(&t->has_parts, true);
    executor_wake(&t->runnable);
}

static void part_end_run(struct async_job *job)
{
    part_end((struct async_part *)job);
}

/* In the pool (or on the task's thread when there is nothing to write). */
static void part_run(struct async_job *job)
{
    struct async_part *p = (struct async_part *)job;
    struct task *t = p->task;
    struct err err = {0};
    enum rc rc = take_rows(p, &err);

    for (uint32_t i = 0; i < t->operator_count && rc == RC_OK; i++) {
        for (size_t k = 0; k < p->states[i].log_count && rc == RC_OK; k++)
            rc = p->target->ops->publish_log(p->target, p->arena, &p->states[i].logs[k], &err);
        if (p->snapshots[i] == NULL || rc != RC_OK)
            continue;
        p->states[i].keyed = ARENA_NEW(p->arena, struct keyed_handle);
        p->states[i].keyed_count = 1;
        rc = keyed_snapshot_write(p->snapshots[i], p->target, p->arena, p->states[i].keyed, &err);
    }
    p->rc = rc;
    p->err = err;
    if (atomic_fetch_sub(&p->halves, 1) == 1)
        part_end(p);
}

/* The task's half: the rows in flight are whole, or given up. When the pool was done before, it goes there once more. */
void task_half_done(struct async_part *p)
{
    if (atomic_fetch_sub(&p->halves, 1) != 1)
        return;
    p->job.run = part_end_run;
    executor_submit(p->task->runnable.executor, &p->job);
}

void task_collect_async(struct task *t)
{
    struct async_part *p, *next;

    if (!atomic_load(&t->has_parts))
        return;
    atomic_store(&t->has_parts, false);
    mutex_lock(&t->mutex);
    p = t->finished_parts;
    t->finished_parts = NULL;
    mutex_unlock(&t->mutex);
    for (; p != NULL; p = next) {
        next = p->next;
        for (uint32_t i = 0; i < t->operator_count; i++) {
            if (p->snapshots[i] != NULL)
                keyed_snapshot_free(p->snapshots[i]);
        }
        arena_free(p->arena);
        inflight_free(p->inflight);
        mem_free(p->snapshots);
        mem_free(p);
        ASSERT(t->async_count > 0);
        t->async_count--;
    }
}

static void part_free(struct async_part *p)
{
    for (uint32_t i = 0; i < p->task->operator_count; i++) {
        if (p->snapshots[i] != NULL)
            keyed_snapshot_free(p->snapshots[i]);
    }
    p->release(p->target);
    arena_free(p->arena);
    inflight_free(p->inflight);
    mem_free(p->snapshots);
    mem_free(p);
}

/* The synchronous part: no I/O but what a sink needs to close its files. */
static enum rc snapshot_chain(struct task *t, struct async_part *p, bool *has_work, struct err *err)
{
    uint64_t id = p->barrier.checkpoint_id;

    for (uint32_t i = 0; i < t->operator_count; i++) {
        struct chain_link *l = &t->chain[i];
        enum rc rc = RC_OK;

        p->states[i].subtask_index = t->config.subtask_index;
        if (l->op->ops->snapshot != NULL)
            rc = l->op->ops->snapshot(l->op, &p->barrier, err);
        if (rc == RC_OK && l->keyed != NULL) {
            rc = keyed_snapshot_begin(l->keyed, id, &p->snapshots[i], err);
            *has_work = true;
        }
        if (rc != RC_OK)
            return err_wrap(err, rc, "snapshot for checkpoint %llu: %s", (unsigned long long)id,
                            t->vertex->operators[i].name);
        operator_state_snapshot(l->state, p->arena, &p->states[i]);
        *has_work = *has_work || p->states[i].log_count > 0;
    }
    return RC_OK;
}

static int64_t start_delay_ms(const struct task *t)
{
    int64_t delay = clock_wall_ms(t->config.env->clock) - t->barrier.trigger_wall_ms -
                    t->alignment_ns / NS_PER_MS;

    return delay < 0 ? 0 : delay;
}

static struct async_part *part_new(struct task *t, const struct task_trigger *trigger, int64_t now)
{
    struct async_part *p = mem_calloc(1, sizeof *p);

    p->job.run = part_run;
    p->task = t;
    p->barrier = trigger->barrier;
    p->target = trigger->target;
    p->release = trigger->release;
    p->arena = arena_new(0);
    p->snapshots = mem_calloc(t->operator_count, sizeof(struct keyed_snapshot *));
    p->states = ARENA_ARRAY(p->arena, t->operator_count, struct subtask_state);
    p->data_ended = t->data_ended;
    p->halves = 1;
    p->inflight = t->held_recording;
    t->held_recording = NULL;
    p->start_mono_ns = now;
    p->stats = (struct ack_stats){
        .alignment_ms = t->alignment_ns / NS_PER_MS,
        .start_delay_ms = start_delay_ms(t),
        .processed_bytes = t->aligned_bytes,
        .unaligned = p->inflight != NULL || barrier_overtakes(&t->barrier, now),
    };
    return p;
}

enum rc task_barrier(struct task *t, int64_t now, struct err *err)
{
    uint64_t id = t->barrier.checkpoint_id;
    struct async_part *p;
    bool has_work = false;
    enum rc rc;

    t->barrier_held = false;
    t->last_barrier_id = id;
    task_drop_recording(t); /* of an older one */
    while (t->trigger_count > 0 && t->triggers[0].barrier.checkpoint_id < id)
        drop_trigger_at(t, 0);
    if (t->trigger_count == 0 || t->triggers[0].barrier.checkpoint_id != id) {
        task_release_barrier(t);
        return RC_OK; /* given up meanwhile: everybody has been or will be told */
    }
    p = part_new(t, &t->triggers[0], now);
    remove_trigger(t, 0);
    rc = snapshot_chain(t, p, &has_work, err);
    if (rc != RC_OK) {
        if (p->inflight != NULL)
            input_gate_stop_recording(t->gate, p->inflight);
        part_free(p);
        return rc;
    }
    emitter_barrier(t->emitter, &p->barrier, now);
    replay_record(t->replay, p->inflight);
    if (checkpoint_kind_is_sync(p->barrier.kind))
        t->stopped_for = id;
    p->start_mono_ns = clock_mono_ns(t->config.env->clock);
    p->stats.sync_ms = (p->start_mono_ns - now) / NS_PER_MS;
    t->async_count++;
    if (p->inflight != NULL) {
        p->halves++;
        t->recording_part = p;
        task_end_recording(t); /* when it is whole */
        has_work = true;
    }
    if (has_work)
        executor_submit(t->runnable.executor, &p->job);
    else
        part_run(&p->job);
    return RC_OK;
}

/* ---- notifications ----------------------------------------------------------------------------
 */

enum rc task_complete(struct task *t, uint64_t checkpoint_id, struct err *err)
{
    for (uint32_t i = 0; i < t->operator_count; i++) {
        struct chain_link *l = &t->chain[i];
        enum rc rc = RC_OK;

        if (l->keyed != NULL)
            keyed_notify_complete(l->keyed, checkpoint_id);
        if (l->op->ops->notify_complete != NULL)
            rc = l->op->ops->notify_complete(l->op, checkpoint_id, err);
        if (rc != RC_OK)
            return err_wrap(err, rc, "after checkpoint %llu: %s", (unsigned long long)checkpoint_id,
                            t->vertex->operators[i].name);
    }
    if (t->stopped_for == checkpoint_id)
        t->stop_confirmed = t->finish_asked = true;
    return RC_OK;
}

void task_abort_checkpoint(struct task *t, uint64_t checkpoint_id)
{
    task_drop_trigger(t, checkpoint_id);
    if (t->gate != NULL)
        input_gate_abort(t->gate, checkpoint_id);
    if (t->barrier_held && t->barrier.checkpoint_id == checkpoint_id &&
        t->draining_for != checkpoint_id)
        task_release_barrier(t);
    if (t->recording_part != NULL && t->recording_part->barrier.checkpoint_id == checkpoint_id)
        task_drop_recording(t);
    if (t->stopped_for == checkpoint_id)
        t->stopped_for = 0; /* goes on; after a drain the driver restarts the job */
    for (uint32_t i = 0; i < t->operator_count; i++) {
        struct chain_link *l = &t->chain[i];

        if (l->keyed != NULL)
            keyed_notify_aborted(l->keyed, checkpoint_id);
        if (l->op->ops->notify_aborted != NULL)
            l->op->ops->notify_aborted(l->op, checkpoint_id);
    }
}
