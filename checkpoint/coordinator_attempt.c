/* coordinator_attempt.c - how an attempt under way ends: given up or complete, and what follows
 * from that for a stop, for those who asked, and for older checkpoints. See coordinator.h */
#include "checkpoint/coordinator_priv.h"

/* ---- actions --------------------------------------------------------------------------------- */

struct coordinator_action *co_act(struct coordinator *c, enum action_kind kind,
                                  uint64_t checkpoint_id)
{
    struct coordinator_actions *a = c->actions;

    if (a->count == a->cap) {
        a->cap = a->cap == 0 ? 16 : a->cap * 2;
        a->list = mem_realloc(a->list, a->cap * sizeof *a->list);
    }
    a->list[a->count] = (struct coordinator_action){.kind = kind, .checkpoint_id = checkpoint_id};
    return &a->list[a->count++];
}

const char *co_keep(struct coordinator *c, const char *text)
{
    return text == NULL ? NULL : arena_strdup(c->actions->arena, text);
}

void co_answer(struct coordinator *c, uint64_t request_id, enum rc rc, uint64_t checkpoint_id,
               const char *path, const char *message)
{
    struct coordinator_action *a = co_act(c, ACTION_ANSWER, checkpoint_id);

    a->request_id = request_id;
    a->rc = rc;
    a->path = co_keep(c, path);
    a->message = co_keep(c, message);
}

/* ---- stop with savepoint --------------------------------------------------------------------- */

void co_answer_stop(struct coordinator *c, enum rc rc, uint64_t checkpoint_id,
                    const char *message)
{
    for (size_t i = 0; i < c->stop_request_count; i++)
        co_answer(c, c->stop_requests[i], rc, checkpoint_id, c->stop_path, message);
    mem_free(c->stop_requests);
    mem_free(c->stop_dir);
    mem_free(c->stop_path);
    c->stop_requests = NULL;
    c->stop_dir = c->stop_path = NULL;
    c->stop_request_count = 0;
    c->stop = STOP_NONE;
}

/* ---- the end of an attempt ------------------------------------------------------------------- */

uint64_t co_id_of(const struct under_way *u)
{
    return pending_barrier(u->pending)->checkpoint_id;
}

void co_under_way_release(struct under_way *u)
{
    pending_free(u->pending);
    checkpoint_request_release(&u->request);
    mem_free(u->acked_at_end);
}

static void end_attempt(struct coordinator *c, struct under_way *u)
{
    size_t i = (size_t)(u - c->attempts);

    co_under_way_release(u);
    c->attempt_count--;
    memmove(u, u + 1, (c->attempt_count - i) * sizeof *u);
}

static void fail_job(struct coordinator *c, const char *message)
{
    co_act(c, ACTION_FAIL_JOB, 0)->message = co_keep(c, message);
    c->fail_wanted = true;
}

/* One that is older than the last success says nothing of how it goes now. */
static void count_failure(struct coordinator *c, uint64_t id, enum checkpoint_failure why,
                          const char *message)
{
    if (!checkpoint_failure_counts(why) || c->config.tolerable_failures == COORDINATOR_UNLIMITED ||
        !c->started || id < c->succeeded_id)
        return;
    c->failure_count++;
    if (c->failure_count <= c->config.tolerable_failures)
        return;
    fail_job(c, arena_printf(c->actions->arena,
                             "Exceeded checkpoint tolerable failure threshold (%u). The latest: %s",
                             c->config.tolerable_failures, message));
    c->failure_count = 0;
}

/* What a failed savepoint of a stop means for the job. */
static void abort_stop(struct coordinator *c, enum checkpoint_failure why, bool triggered,
                       uint64_t id, enum checkpoint_kind kind, const char *message)
{
    bool job_goes_on = c->started && !c->cancelling && !c->suspending && !c->shutting_down;

    co_answer_stop(c, checkpoint_failure_rc(why), id, message);
    if (!job_goes_on)
        return;
    if (why == FAILURE_DECLINED || why == FAILURE_ASYNC)
        fail_job(c, arena_printf(c->actions->arena, "Stop with savepoint failed: %s", message));
    else if (triggered && kind == CHECKPOINT_TERMINATE)
        fail_job(
            c, arena_printf(c->actions->arena,
                            "Stop with drain failed after the job was drained; it goes back to its "
                            "last checkpoint: %s",
                            message));
    co_start_scheduler(c);
}

static void remember_aborted(struct coordinator *c, uint64_t id)
{
    c->aborted[c->aborted_count++ % ABORTED_MEMORY] = id;
}

/* Give it up. detail: NULL or more than the failure's own words. */
void co_abort_attempt(struct coordinator *c, struct under_way *u, enum checkpoint_failure why,
                      const char *detail)
{
    const struct barrier barrier = *pending_barrier(u->pending);
    bool triggered = pending_state(u->pending) != PENDING_BEGINNING;
    struct checkpoint_request request = u->request;
    const char *message = arena_printf(c->actions->arena, "%s%s%s", checkpoint_failure_str(why),
                                       detail == NULL ? "" : " ", detail == NULL ? "" : detail);

    pending_move(u->pending, PENDING_ABORTED);
    u->request = (struct checkpoint_request){0};
    end_attempt(c, u);
    remember_aborted(c, barrier.checkpoint_id);
    stats_tracker_failed(c->stats, barrier.checkpoint_id, message, c->now_wall_ms);
    if (triggered)
        co_act(c, ACTION_NOTIFY_ABORTED, barrier.checkpoint_id);
    co_act(c, ACTION_DISCARD_ATTEMPT, barrier.checkpoint_id);
    co_act(c, ACTION_DELETE_SHARED, 0);
    if (checkpoint_kind_is_sync(barrier.kind))
        abort_stop(c, why, triggered, barrier.checkpoint_id, barrier.kind, message);
    else if (request.origin == ORIGIN_USER)
        co_answer(c, request.request_id, checkpoint_failure_rc(why), barrier.checkpoint_id, NULL,
                  message);
    if (request.origin == ORIGIN_FINAL)
        c->final_retry_mono_ms = c->now_mono_ms + FINAL_RETRY_MS;
    if (barrier.kind == CHECKPOINT_PERIODIC)
        count_failure(c, barrier.checkpoint_id, why, message);
    checkpoint_request_release(&request);
}

bool co_is_finalizing(const struct under_way *u)
{
    return pending_state(u->pending) == PENDING_FINALIZING;
}

/* Abort all, but one whose metadata is being written: its outcome has to be waited for. */
void co_abort_all(struct coordinator *c, enum checkpoint_failure why)
{
    for (uint32_t i = 0; i < c->attempt_count;) {
        if (co_is_finalizing(&c->attempts[i]))
            i++;
        else
            co_abort_attempt(c, &c->attempts[i], why, NULL);
    }
}

/* Checkpoint `id` is complete: older ones are of no use to anyone but who asked for a savepoint. */
static void abort_subsumed(struct coordinator *c, uint64_t id)
{
    for (uint32_t i = 0; i < c->attempt_count && co_id_of(&c->attempts[i]) < id;) {
        if (checkpoint_kind_is_savepoint(pending_barrier(c->attempts[i].pending)->kind))
            i++;
        else
            co_abort_attempt(c, &c->attempts[i], FAILURE_SUBSUMED, NULL);
    }
}

/* One at a time, so that they complete in order. */
void co_finalize_next(struct coordinator *c)
{
    if (coordinator_finalizing(c))
        return;
    for (uint32_t i = 0; i < c->attempt_count; i++) {
        struct pending *p = c->attempts[i].pending;

        if (pending_state(p) == PENDING_RUNNING && pending_fully_acked(p)) {
            pending_move(p, PENDING_FINALIZING);
            co_act(c, ACTION_FINALIZE, pending_barrier(p)->checkpoint_id);
            return;
        }
    }
}

void co_discard(struct coordinator *c, const struct completed_checkpoint *gone)
{
    struct coordinator_action *a =
        co_act(c, gone->owned ? ACTION_DISCARD_CHECKPOINT : ACTION_FORGET_CHECKPOINT, gone->id);

    a->completed = *gone;
    if (!gone->owned)
        return;
    c->discards++;
    stats_tracker_discarded(c->stats, gone->id);
}

/* Into the store, out with the oldest; their files go after the new one is known everywhere. */
static void store(struct coordinator *c, uint64_t id, bool notify)
{
    size_t room = completed_count(c->completed) + 1;
    struct completed_checkpoint *removed =
        ARENA_ARRAY(c->actions->arena, room, struct completed_checkpoint);
    size_t count = completed_add(c->completed,
                                 (struct completed_checkpoint){.id = id, .owned = true}, removed);
    uint64_t subsumed = 0;

    if (c->suspending)
        return; /* nothing is committed and nothing deleted from here on */
    if (notify)
        co_act(c, ACTION_NOTIFY_COMPLETE, id);
    for (size_t i = 0; i < count; i++)
        if (!removed[i].restored)
            subsumed = removed[i].id;
    if (notify && subsumed != 0)
        co_act(c, ACTION_NOTIFY_SUBSUMED, subsumed);
    for (size_t i = 0; i < count; i++)
        co_discard(c, &removed[i]);
    co_act(c, ACTION_DELETE_SHARED, 0);
}

static void complete_stop(struct coordinator *c, uint64_t id, const char *path, bool notify)
{
    mem_free(c->stop_path);
    c->stop_path = mem_strdup(path);
    if (!notify) {
        /* Nobody is told, so nothing of it is committed until someone restores it. */
        co_answer_stop(
            c, RC_CANCELLED, id,
            arena_printf(c->actions->arena,
                         "the job failed or was ended meanwhile; the savepoint %s is complete",
                         path));
        return;
    }
    c->stop = STOP_SAVED;
    co_act(c, ACTION_NOTIFY_COMPLETE, id);
}

/* Tasks whose last results it lets out are released. They take no part in a newer one any more. */
static void release_tasks(struct coordinator *c, const bool *acked_at_end)
{
    bool any = false;

    for (uint32_t i = 0; i < c->task_count; i++)
        any |= acked_at_end[i] && task_table_move(c->tasks, i, TASK_RELEASED);
    if (any)
        co_abort_all(c, FAILURE_TASK_CLOSING);
}

static void complete_checkpoint(struct coordinator *c, uint64_t id, const bool *acked_at_end,
                                bool notify)
{
    c->failure_count = 0;
    c->succeeded_id = id;
    abort_subsumed(c, id);
    if (notify)
        release_tasks(c, acked_at_end);
    store(c, id, notify);
}

void co_complete_attempt(struct coordinator *c, struct under_way *u, const char *path)
{
    const struct barrier barrier = *pending_barrier(u->pending);
    bool notify = !c->cancelling && !c->suspending && !c->shutting_down && c->started;
    struct checkpoint_request request = u->request;
    const bool *acked_at_end =
        arena_copy(c->actions->arena, u->acked_at_end, c->task_count * sizeof(bool));

    pending_move(u->pending, PENDING_COMPLETED);
    u->request = (struct checkpoint_request){0};
    end_attempt(c, u);
    stats_tracker_completed(c->stats, barrier.checkpoint_id, path, c->now_wall_ms);
    c->last_end_mono_ms = c->now_mono_ms;
    c->ended_before = true;
    co_act(c, ACTION_ADOPT, barrier.checkpoint_id);
    if (barrier.kind == CHECKPOINT_PERIODIC)
        complete_checkpoint(c, barrier.checkpoint_id, acked_at_end, notify);
    else if (checkpoint_kind_is_sync(barrier.kind))
        complete_stop(c, barrier.checkpoint_id, path, notify);
    if (request.origin == ORIGIN_USER && !checkpoint_kind_is_sync(barrier.kind))
        co_answer(c, request.request_id, RC_OK, barrier.checkpoint_id, path, NULL);
    checkpoint_request_release(&request);
}
