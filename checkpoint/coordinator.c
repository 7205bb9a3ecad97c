/* coordinator.c - see coordinator.h.
 *
 * The states of one attempt are pending.h's. Around it:
 *
 *     job:   down --EVENT_START--> started --EVENT_JOB_FAILING--> down
 *            cancelling, suspending, shut down: for good
 *     task:  task_table.h's
 *     stop:  NONE -> WANTED (queued or under way) -> SAVED -> answered at the end
 *
 * Events that come too late for what they speak of are ignored, except that the leavings of an
 * aborted attempt are discarded again.
 */
#include "checkpoint/coordinator.h"

#include "checkpoint/pending.h"
#include "checkpoint/request_queue.h"
#include "checkpoint/task_table.h"

#define FINAL_RETRY_MS 1000 /* after a failed final checkpoint */
#define ABORTED_MEMORY 256  /* ids of aborted attempts whose stragglers are recognised */

enum stop_phase { STOP_NONE, STOP_WANTED, STOP_SAVED };

struct coordinator {
    struct coordinator_config config; /* strings and arrays are ours */
    struct arena *arena;              /* of the above */
    struct task_table *tasks;
    uint32_t task_count;
    bool *acked_at_end; /* by task: its ack of this attempt was given at the end of its data */

    bool started, started_before, fail_wanted, cancelling, suspending, shutting_down, shut_down;
    enum job_end end;
    bool periodic_on;
    int64_t next_periodic_mono_ms, last_end_mono_ms, final_retry_mono_ms;
    bool ended_before; /* last_end_mono_ms holds */

    uint64_t next_id;
    struct pending *pending;
    struct checkpoint_request current; /* what `pending` was started for */
    struct request_queue *queue;
    enum stop_phase stop;
    enum request_kind stop_kind;
    char *stop_dir, *stop_path;
    uint64_t *stop_requests;
    size_t stop_request_count;

    uint32_t failure_count;
    size_t discards;
    uint64_t aborted[ABORTED_MEMORY];
    size_t aborted_count;
    struct completed *completed;
    struct stats_tracker *stats;

    /* of the step under way */
    struct coordinator_actions *actions;
    int64_t now_mono_ms, now_wall_ms;
};

/* ---- actions --------------------------------------------------------------------------------- */

static void actions_reset(struct coordinator_actions *a)
{
    if (a->arena == NULL)
        a->arena = arena_new(4096);
    arena_reset(a->arena);
    a->count = 0;
}

void coordinator_actions_release(struct coordinator_actions *a)
{
    arena_free(a->arena);
    mem_free(a->list);
    *a = (struct coordinator_actions){0};
}

static struct coordinator_action *act(struct coordinator *c, enum action_kind kind,
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

static const char *keep(struct coordinator *c, const char *text)
{
    return text == NULL ? NULL : arena_strdup(c->actions->arena, text);
}

static void answer(struct coordinator *c, uint64_t request_id, enum rc rc, uint64_t checkpoint_id,
                   const char *path, const char *message)
{
    struct coordinator_action *a = act(c, ACTION_ANSWER, checkpoint_id);

    a->request_id = request_id;
    a->rc = rc;
    a->path = keep(c, path);
    a->message = keep(c, message);
}

static void refuse(struct coordinator *c, const struct checkpoint_request *r,
                   enum checkpoint_failure why)
{
    if (r->origin == ORIGIN_USER)
        answer(c, r->request_id, checkpoint_failure_rc(why), 0, NULL, checkpoint_failure_str(why));
}

/* ---- life ------------------------------------------------------------------------------------ */

struct coordinator *coordinator_new(const struct coordinator_config *config)
{
    struct coordinator *c = mem_calloc(1, sizeof *c);

    ASSERT(config->first_id >= 1 && config->num_retained >= 1 && config->timeout_ms > 0);
    c->config = *config;
    c->config.vertices = NULL; /* task_table and stats keep their own */
    c->config.edges = NULL;
    c->arena = arena_new(0);
    c->tasks =
        task_table_new(config->vertices, config->vertex_count, config->edges, config->edge_count);
    c->task_count = task_table_size(c->tasks);
    c->config.savepoint_dir =
        config->savepoint_dir == NULL ? NULL : arena_strdup(c->arena, config->savepoint_dir);
    c->acked_at_end = ARENA_ARRAY(c->arena, c->task_count, bool);
    c->next_id = config->first_id;
    c->queue = request_queue_new(COORDINATOR_QUEUE_MAX);
    c->completed = completed_new(config->num_retained);
    c->stats = stats_tracker_new(config->vertices, config->vertex_count, config->history_size);
    return c;
}

void coordinator_free(struct coordinator *c)
{
    if (c == NULL)
        return;
    pending_free(c->pending);
    checkpoint_request_release(&c->current);
    request_queue_free(c->queue);
    completed_free(c->completed);
    stats_tracker_free(c->stats);
    mem_free(c->stop_dir);
    mem_free(c->stop_path);
    mem_free(c->stop_requests);
    task_table_free(c->tasks);
    arena_free(c->arena);
    mem_free(c);
}

void coordinator_restored(struct coordinator *c, struct completed_checkpoint restored,
                          const char *path, int64_t now_wall_ms)
{
    struct completed_checkpoint removed[1];

    ASSERT(!c->started_before && restored.restored && restored.id < c->next_id);
    ASSERT(completed_add(c->completed, restored, removed) == 0);
    stats_tracker_restored(c->stats, restored.id, restored.savepoint, path, now_wall_ms);
}

/* ---- tasks ----------------------------------------------------------------------------------- */

static const char *task_name(struct coordinator *c, uint32_t task)
{
    return task_table_name(c->tasks, task, c->actions->arena);
}

static uint32_t count_phase(const struct coordinator *c, enum task_phase phase)
{
    return task_table_count(c->tasks, phase);
}

/* Whether an attempt can start: every task runs or, where that is allowed, has ended. */
static bool all_required_run(const struct coordinator *c)
{
    uint32_t gone = count_phase(c, TASK_GONE);

    return count_phase(c, TASK_DOWN) == 0 && gone < c->task_count &&
           (gone == 0 || c->config.after_tasks_finish);
}

static void trigger_tasks(struct coordinator *c)
{
    bool *heads = ARENA_ARRAY(c->actions->arena, c->task_count, bool);

    task_table_heads(c->tasks, c->pending, heads);
    for (uint32_t i = 0; i < c->task_count; i++)
        if (heads[i]) {
            struct coordinator_action *a =
                act(c, ACTION_TRIGGER, pending_barrier(c->pending)->checkpoint_id);

            a->barrier = *pending_barrier(c->pending);
            a->task = i;
        }
}

/* ---- stop with savepoint --------------------------------------------------------------------- */

static void answer_stop(struct coordinator *c, enum rc rc, uint64_t checkpoint_id,
                        const char *message)
{
    for (size_t i = 0; i < c->stop_request_count; i++)
        answer(c, c->stop_requests[i], rc, checkpoint_id, c->stop_path, message);
    mem_free(c->stop_requests);
    mem_free(c->stop_dir);
    mem_free(c->stop_path);
    c->stop_requests = NULL;
    c->stop_dir = c->stop_path = NULL;
    c->stop_request_count = 0;
    c->stop = STOP_NONE;
}

static void join_stop(struct coordinator *c, uint64_t request_id)
{
    c->stop_requests =
        mem_realloc(c->stop_requests, (c->stop_request_count + 1) * sizeof(uint64_t));
    c->stop_requests[c->stop_request_count++] = request_id;
}

/* The savepoint exists and is committed, but the job did not end as the stop wanted. */
static void answer_saved_stop(struct coordinator *c, enum rc rc, const char *why)
{
    answer_stop(c, rc, 0,
                arena_printf(c->actions->arena,
                             "%s; the savepoint %s is complete and its results are committed", why,
                             c->stop_path));
}

/* ---- the end of an attempt ------------------------------------------------------------------- */

static void end_attempt(struct coordinator *c)
{
    pending_free(c->pending);
    c->pending = NULL;
    checkpoint_request_release(&c->current);
    memset(c->acked_at_end, 0, c->task_count * sizeof(bool));
}

static void start_scheduler(struct coordinator *c)
{
    int64_t delay_ms = c->config.min_pause_ms;

    if (c->config.interval_ms == 0)
        return;
    if (!c->started_before)
        delay_ms += (int64_t)rng_below(
            &c->config.rng, (uint64_t)(c->config.interval_ms - c->config.min_pause_ms) + 1);
    c->periodic_on = true;
    c->next_periodic_mono_ms = c->now_mono_ms + delay_ms;
}

static void fail_job(struct coordinator *c, const char *message)
{
    act(c, ACTION_FAIL_JOB, 0)->message = keep(c, message);
    c->fail_wanted = true;
}

static void count_failure(struct coordinator *c, enum checkpoint_failure why, const char *message)
{
    if (!checkpoint_failure_counts(why) || c->config.tolerable_failures == COORDINATOR_UNLIMITED ||
        !c->started)
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

    answer_stop(c, checkpoint_failure_rc(why), id, message);
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
    start_scheduler(c);
}

static void remember_aborted(struct coordinator *c, uint64_t id)
{
    c->aborted[c->aborted_count++ % ABORTED_MEMORY] = id;
}

static bool was_aborted(const struct coordinator *c, uint64_t id)
{
    size_t count = c->aborted_count < ABORTED_MEMORY ? c->aborted_count : ABORTED_MEMORY;

    for (size_t i = 0; i < count; i++)
        if (c->aborted[i] == id)
            return true;
    return false;
}

/* Give the attempt under way up. detail: NULL or more than the failure's own words. */
static void abort_attempt(struct coordinator *c, enum checkpoint_failure why, const char *detail)
{
    const struct barrier barrier = *pending_barrier(c->pending);
    bool triggered = pending_state(c->pending) != PENDING_BEGINNING;
    struct checkpoint_request request = c->current;
    const char *message = arena_printf(c->actions->arena, "%s%s%s", checkpoint_failure_str(why),
                                       detail == NULL ? "" : " ", detail == NULL ? "" : detail);

    pending_move(c->pending, PENDING_ABORTED);
    c->current = (struct checkpoint_request){0};
    end_attempt(c);
    remember_aborted(c, barrier.checkpoint_id);
    stats_tracker_failed(c->stats, barrier.checkpoint_id, message, c->now_wall_ms);
    if (triggered)
        act(c, ACTION_NOTIFY_ABORTED, barrier.checkpoint_id);
    act(c, ACTION_DISCARD_ATTEMPT, barrier.checkpoint_id);
    act(c, ACTION_DELETE_SHARED, 0);
    if (checkpoint_kind_is_sync(barrier.kind))
        abort_stop(c, why, triggered, barrier.checkpoint_id, barrier.kind, message);
    else if (request.origin == ORIGIN_USER)
        answer(c, request.request_id, checkpoint_failure_rc(why), barrier.checkpoint_id, NULL,
               message);
    if (request.origin == ORIGIN_FINAL)
        c->final_retry_mono_ms = c->now_mono_ms + FINAL_RETRY_MS;
    if (barrier.kind == CHECKPOINT_PERIODIC)
        count_failure(c, why, message);
    checkpoint_request_release(&request);
}

/* Abort unless the outcome of its metadata has to be waited for, or there is none. */
static void abort_if_possible(struct coordinator *c, enum checkpoint_failure why)
{
    if (c->pending != NULL && pending_state(c->pending) != PENDING_FINALIZING)
        abort_attempt(c, why, NULL);
}

static void discard(struct coordinator *c, const struct completed_checkpoint *gone)
{
    struct coordinator_action *a =
        act(c, gone->owned ? ACTION_DISCARD_CHECKPOINT : ACTION_FORGET_CHECKPOINT, gone->id);

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
        act(c, ACTION_NOTIFY_COMPLETE, id);
    for (size_t i = 0; i < count; i++)
        if (!removed[i].restored)
            subsumed = removed[i].id;
    if (notify && subsumed != 0)
        act(c, ACTION_NOTIFY_SUBSUMED, subsumed);
    for (size_t i = 0; i < count; i++)
        discard(c, &removed[i]);
    act(c, ACTION_DELETE_SHARED, 0);
}

static void complete_stop(struct coordinator *c, uint64_t id, const char *path, bool notify)
{
    mem_free(c->stop_path);
    c->stop_path = mem_strdup(path);
    if (!notify) {
        /* Nobody is told, so nothing of it is committed until someone restores it. */
        answer_stop(
            c, RC_CANCELLED, id,
            arena_printf(c->actions->arena,
                         "the job failed or was ended meanwhile; the savepoint %s is complete",
                         path));
        return;
    }
    c->stop = STOP_SAVED;
    act(c, ACTION_NOTIFY_COMPLETE, id);
}

static void complete_attempt(struct coordinator *c, const char *path)
{
    const struct barrier barrier = *pending_barrier(c->pending);
    bool notify = !c->cancelling && !c->suspending && !c->shutting_down && c->started;

    pending_move(c->pending, PENDING_COMPLETED);
    stats_tracker_completed(c->stats, barrier.checkpoint_id, path, c->now_wall_ms);
    c->last_end_mono_ms = c->now_mono_ms;
    c->ended_before = true;
    act(c, ACTION_ADOPT, barrier.checkpoint_id);
    if (barrier.kind == CHECKPOINT_PERIODIC) {
        c->failure_count = 0;
        store(c, barrier.checkpoint_id, notify);
        for (uint32_t i = 0; notify && i < c->task_count; i++)
            if (c->acked_at_end[i])
                (void)task_table_move(c->tasks, i, TASK_RELEASED);
    } else if (checkpoint_kind_is_sync(barrier.kind)) {
        complete_stop(c, barrier.checkpoint_id, path, notify);
    }
    if (c->current.origin == ORIGIN_USER && !checkpoint_kind_is_sync(barrier.kind))
        answer(c, c->current.request_id, RC_OK, barrier.checkpoint_id, path, NULL);
    end_attempt(c);
}

/* ---- the start of an attempt ----------------------------------------------------------------- */

static enum checkpoint_kind kind_of(const struct checkpoint_request *r)
{
    switch (r->kind) {
    case REQUEST_SAVEPOINT:
        return CHECKPOINT_SAVEPOINT;
    case REQUEST_STOP:
        return CHECKPOINT_SUSPEND;
    case REQUEST_STOP_DRAIN:
        return CHECKPOINT_TERMINATE;
    case REQUEST_CHECKPOINT:
        break;
    }
    return CHECKPOINT_PERIODIC;
}

static void start_attempt(struct coordinator *c, struct checkpoint_request request)
{
    struct barrier barrier = {
        .checkpoint_id = c->next_id++,
        .trigger_wall_ms = c->now_wall_ms,
        .kind = kind_of(&request),
        .exactly_once = c->config.exactly_once || kind_of(&request) != CHECKPOINT_PERIODIC,
    };
    bool *expected = ARENA_ARRAY(c->actions->arena, c->task_count, bool);
    struct coordinator_action *a;

    for (uint32_t i = 0; i < c->task_count; i++)
        expected[i] = task_table_phase(c->tasks, i) != TASK_GONE;
    c->pending =
        pending_new(&barrier, expected, c->task_count, c->now_mono_ms + c->config.timeout_ms);
    c->current = request;
    stats_tracker_started(c->stats, barrier.checkpoint_id, barrier.kind, c->now_wall_ms);
    a = act(c, ACTION_BEGIN, barrier.checkpoint_id);
    a->barrier = barrier;
    a->target_dir = keep(c, request.target_dir);
}

/* Too early for a periodic one: dropped, and the timer is planned anew for the end of the pause. */
static bool within_pause(struct coordinator *c)
{
    int64_t pause_end_mono_ms = c->last_end_mono_ms + c->config.min_pause_ms;

    if (!c->ended_before || c->now_mono_ms >= pause_end_mono_ms)
        return false;
    c->next_periodic_mono_ms = pause_end_mono_ms;
    return true;
}

static bool may_start(const struct coordinator *c)
{
    return c->started && !c->fail_wanted && !c->cancelling && !c->suspending && !c->shutting_down &&
           c->pending == NULL && c->stop != STOP_SAVED && c->discards <= 1 &&
           count_phase(c, TASK_RELEASED) == 0;
}

static void start_next(struct coordinator *c)
{
    const struct checkpoint_request *next;

    while (may_start(c) && (next = request_queue_peek(c->queue)) != NULL) {
        bool ready = all_required_run(c);
        struct checkpoint_request request;

        if (!ready && next->origin != ORIGIN_USER && count_phase(c, TASK_DOWN) > 0)
            return; /* tasks are coming up: it starts the moment all of them run */
        request = request_queue_pop(c->queue);
        if (!ready) {
            if (request.kind == REQUEST_STOP || request.kind == REQUEST_STOP_DRAIN) {
                answer_stop(c, RC_STATE, 0, checkpoint_failure_str(FAILURE_NOT_ALL_RUNNING));
                start_scheduler(c);
            } else if (request.origin == ORIGIN_USER || !c->config.final_checkpoint) {
                /* With a final checkpoint tasks end all at once, after it: none fails then. */
                refuse(c, &request, FAILURE_NOT_ALL_RUNNING);
                stats_tracker_failed_early(c->stats);
            }
        } else if (request.origin != ORIGIN_PERIODIC || !within_pause(c)) {
            start_attempt(c, request);
            return;
        }
        checkpoint_request_release(&request);
    }
}

static void enqueue(struct coordinator *c, struct checkpoint_request add)
{
    struct checkpoint_request dropped;

    if (!request_queue_push(c->queue, add, &dropped))
        return;
    refuse(c, &dropped, FAILURE_TOO_MANY_REQUESTS);
    checkpoint_request_release(&dropped);
}

/* Answer everything that waits. A stop among them is answered with all that joined it. */
static void flush_queue(struct coordinator *c, enum checkpoint_failure why)
{
    while (request_queue_len(c->queue) > 0) {
        struct checkpoint_request r = request_queue_pop(c->queue);

        if (r.kind == REQUEST_STOP || r.kind == REQUEST_STOP_DRAIN)
            answer_stop(c, checkpoint_failure_rc(why), 0, checkpoint_failure_str(why));
        else
            refuse(c, &r, why);
        checkpoint_request_release(&r);
    }
}

/* ---- time ------------------------------------------------------------------------------------ */

static void check_timeout(struct coordinator *c)
{
    uint32_t missing;

    if (c->pending == NULL || pending_state(c->pending) == PENDING_FINALIZING ||
        c->now_mono_ms < pending_deadline_mono_ms(c->pending))
        return;
    missing = pending_first_missing(c->pending);
    abort_attempt(c, FAILURE_EXPIRED,
                  arena_printf(c->actions->arena,
                               "(timeout %lld ms; %u of %u tasks missing, among them %s)",
                               (long long)c->config.timeout_ms, pending_missing_count(c->pending),
                               c->task_count, task_name(c, missing)));
}

static void plan_periodic(struct coordinator *c)
{
    int64_t late_ms;

    if (!c->periodic_on || c->now_mono_ms < c->next_periodic_mono_ms)
        return;
    /* Fixed rate; turns that were slept through are left out. */
    late_ms = c->now_mono_ms - c->next_periodic_mono_ms;
    c->next_periodic_mono_ms += c->config.interval_ms * (late_ms / c->config.interval_ms + 1);
    if (!request_queue_has(c->queue, ORIGIN_PERIODIC))
        enqueue(c, (struct checkpoint_request){.origin = ORIGIN_PERIODIC});
}

/* Bounded input: all tasks wait at the end of their data for a checkpoint that lets their last
 * results out. */
static bool final_wanted(const struct coordinator *c)
{
    uint32_t waiting = count_phase(c, TASK_AT_END);

    return c->config.final_checkpoint && c->stop == STOP_NONE && waiting > 0 &&
           waiting + count_phase(c, TASK_GONE) == c->task_count;
}

static void plan_final(struct coordinator *c)
{
    if (may_start(c) && final_wanted(c) && c->now_mono_ms >= c->final_retry_mono_ms &&
        !request_queue_has(c->queue, ORIGIN_FINAL))
        enqueue(c, (struct checkpoint_request){.origin = ORIGIN_FINAL});
}

int64_t coordinator_next_mono_ms(const struct coordinator *c)
{
    int64_t next = INT64_MAX;

    if (c->shut_down)
        return next;
    if (c->pending != NULL && pending_state(c->pending) != PENDING_FINALIZING)
        next = pending_deadline_mono_ms(c->pending);
    if (c->periodic_on && c->next_periodic_mono_ms < next)
        next = c->next_periodic_mono_ms;
    if (may_start(c) && final_wanted(c) && c->final_retry_mono_ms < next)
        next = c->final_retry_mono_ms;
    return next;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void on_start(struct coordinator *c)
{
    if (c->shutting_down || c->cancelling || c->suspending)
        return;
    ASSERT(!c->started);
    task_table_reset(c->tasks);
    c->started = true;
    c->fail_wanted = false;
    c->final_retry_mono_ms = c->now_mono_ms;
    start_scheduler(c);
    if (c->started_before && completed_count(c->completed) > 0) {
        const struct completed_checkpoint *latest = completed_latest(c->completed);

        stats_tracker_restored(c->stats, latest->id, latest->savepoint,
                               stats_tracker_path(c->stats, latest->id), c->now_wall_ms);
    }
    c->started_before = true;
}

static void move_task(struct coordinator *c, uint32_t task, enum task_phase to)
{
    if (!c->started || !task_table_move(c->tasks, task, to))
        return; /* the last words of a task of an earlier deployment */
    if (to == TASK_GONE && c->pending != NULL && pending_state(c->pending) != PENDING_FINALIZING &&
        pending_expects(c->pending, task) && !pending_has_acked(c->pending, task))
        abort_attempt(c, FAILURE_TASK_CLOSING, task_name(c, task));
}

static void on_job_failing(struct coordinator *c)
{
    if (!c->started)
        return;
    c->started = false;
    c->periodic_on = false;
    abort_if_possible(c, FAILURE_JOB_FAILING);
    flush_queue(c, FAILURE_JOB_FAILING);
    if (c->stop == STOP_SAVED)
        answer_saved_stop(c, RC_STATE, "the job failed before all its tasks had ended");
    task_table_reset(c->tasks);
}

static void on_stop_request(struct coordinator *c, const struct coordinator_event *e,
                            const char *dir)
{
    if (!all_required_run(c)) {
        answer(c, e->request_id, RC_STATE, 0, NULL,
               checkpoint_failure_str(FAILURE_NOT_ALL_RUNNING));
        return;
    }
    c->periodic_on = false;
    abort_if_possible(c, FAILURE_SUSPENDED);
    flush_queue(c, FAILURE_SUSPENDED);
    c->stop = STOP_WANTED;
    c->stop_kind = e->request;
    c->stop_dir = mem_strdup(dir);
    join_stop(c, e->request_id);
    enqueue(c, (struct checkpoint_request){
                   .kind = e->request, .request_id = e->request_id, .target_dir = mem_strdup(dir)});
}

static void on_request(struct coordinator *c, const struct coordinator_event *e)
{
    bool is_stop = e->request == REQUEST_STOP || e->request == REQUEST_STOP_DRAIN;
    const char *dir = e->target_dir != NULL ? e->target_dir : c->config.savepoint_dir;
    const char *why = NULL;

    if (e->request == REQUEST_CHECKPOINT)
        dir = NULL;
    if (c->shutting_down)
        why = "the job has ended";
    else if (c->cancelling)
        why = checkpoint_failure_str(FAILURE_CANCELLED);
    else if (c->suspending)
        why = "the job is being suspended";
    else if (!c->started || c->fail_wanted)
        why = checkpoint_failure_str(FAILURE_NOT_ALL_RUNNING);
    if (why != NULL) {
        answer(c, e->request_id, RC_STATE, 0, NULL, why);
    } else if (e->request != REQUEST_CHECKPOINT && dir == NULL) {
        answer(c, e->request_id, RC_INVALID, 0, NULL,
               "no target directory: neither in the request nor as "
               "execution.checkpointing.savepoint-dir");
    } else if (c->stop != STOP_NONE) {
        if (is_stop && e->request == c->stop_kind && strcmp(dir, c->stop_dir) == 0)
            join_stop(c,
                      e->request_id); /* the same stop again: one savepoint, one answer for both */
        else
            answer(c, e->request_id, RC_STATE, 0, NULL,
                   "the job is already being stopped with a savepoint");
    } else if (is_stop) {
        on_stop_request(c, e, dir);
    } else {
        enqueue(c, (struct checkpoint_request){.kind = e->request,
                                               .request_id = e->request_id,
                                               .target_dir = dir == NULL ? NULL : mem_strdup(dir)});
    }
}

/* Whether the event speaks of the attempt under way; the leavings of an aborted one go at once. */
static bool is_current(struct coordinator *c, const struct coordinator_event *e,
                       enum pending_state state)
{
    if (c->pending != NULL && pending_barrier(c->pending)->checkpoint_id == e->checkpoint_id)
        return pending_state(c->pending) == state;
    if (was_aborted(c, e->checkpoint_id)) {
        act(c, ACTION_DISCARD_ATTEMPT, e->checkpoint_id);
        act(c, ACTION_DELETE_SHARED, 0);
    }
    return false;
}

static void on_begun(struct coordinator *c, const struct coordinator_event *e)
{
    if (!is_current(c, e, PENDING_BEGINNING))
        return;
    pending_move(c->pending, PENDING_RUNNING);
    trigger_tasks(c);
}

static void on_ack(struct coordinator *c, const struct coordinator_event *e)
{
    uint32_t vertex, subtask_index;

    ASSERT(e->task < c->task_count);
    if (!is_current(c, e, PENDING_RUNNING) || pending_ack(c->pending, e->task) != PENDING_ACK_OK)
        return;
    c->acked_at_end[e->task] = task_table_phase(c->tasks, e->task) == TASK_AT_END;
    task_table_locate(c->tasks, e->task, &vertex, &subtask_index);
    stats_tracker_acked(c->stats, e->checkpoint_id, vertex, subtask_index, &e->ack, c->now_wall_ms);
    if (!pending_fully_acked(c->pending))
        return;
    pending_move(c->pending, PENDING_FINALIZING);
    act(c, ACTION_FINALIZE, e->checkpoint_id);
}

static void on_decline(struct coordinator *c, const struct coordinator_event *e)
{
    ASSERT(e->task < c->task_count);
    ASSERT(e->failure == FAILURE_DECLINED || e->failure == FAILURE_ASYNC ||
           e->failure == FAILURE_TASK_CLOSING);
    if (!is_current(c, e, PENDING_RUNNING) || !pending_expects(c->pending, e->task))
        return;
    abort_attempt(c, e->failure,
                  arena_printf(c->actions->arena, "%s: %s", task_name(c, e->task),
                               e->message == NULL ? "no reason given" : e->message));
}

static void on_cancel(struct coordinator *c, bool suspend)
{
    enum checkpoint_failure why = suspend ? FAILURE_SUSPENDED : FAILURE_CANCELLED;

    if (c->shutting_down)
        return;
    if (suspend)
        c->suspending = true;
    else
        c->cancelling = true;
    c->periodic_on = false;
    abort_if_possible(c, why);
    flush_queue(c, why);
    if (c->stop == STOP_SAVED)
        answer_saved_stop(c, RC_CANCELLED,
                          suspend ? "the job is being suspended" : checkpoint_failure_str(why));
}

/* The last of a job: what is left is answered, what the retention table says is deleted. */
static void finish_shutdown(struct coordinator *c)
{
    size_t count = completed_count(c->completed);
    struct completed_checkpoint *removed =
        ARENA_ARRAY(c->actions->arena, count + 1, struct completed_checkpoint);

    abort_if_possible(c, FAILURE_SHUTDOWN);
    flush_queue(c, FAILURE_SHUTDOWN);
    if (c->stop == STOP_SAVED && c->end == JOB_END_FINISHED)
        answer_stop(c, RC_OK, 0, NULL);
    else if (c->stop == STOP_SAVED)
        answer_saved_stop(c, RC_STATE, "the job did not finish");
    ASSERT(c->stop == STOP_NONE);
    count = completed_shutdown(c->completed, c->config.retention, c->end, removed);
    for (size_t i = 0; i < count; i++)
        discard(c, &removed[i]);
    if (c->end != JOB_END_SUSPENDED)
        act(c, ACTION_DELETE_SHARED, 0);
    act(c, ACTION_SHUTDOWN_DONE, 0);
    c->shut_down = true;
}

static void on_shutdown(struct coordinator *c, enum job_end end)
{
    if (c->shutting_down)
        return;
    c->shutting_down = true;
    c->started = false;
    c->periodic_on = false;
    c->end = end;
}

static void dispatch(struct coordinator *c, const struct coordinator_event *e)
{
    switch (e->kind) {
    case EVENT_TICK:
        break;
    case EVENT_START:
        on_start(c);
        break;
    case EVENT_TASK_RUNNING:
        move_task(c, e->task, TASK_UP);
        break;
    case EVENT_TASK_END_OF_DATA:
        move_task(c, e->task, TASK_AT_END);
        break;
    case EVENT_TASK_FINISHED:
        move_task(c, e->task, TASK_GONE);
        break;
    case EVENT_JOB_FAILING:
        on_job_failing(c);
        break;
    case EVENT_REQUEST:
        on_request(c, e);
        break;
    case EVENT_BEGUN:
        on_begun(c, e);
        break;
    case EVENT_BEGIN_FAILED:
        if (is_current(c, e, PENDING_BEGINNING))
            abort_attempt(c, FAILURE_IO, e->message);
        break;
    case EVENT_ACK:
        on_ack(c, e);
        break;
    case EVENT_DECLINE:
        on_decline(c, e);
        break;
    case EVENT_FINALIZED:
        ASSERT(is_current(c, e, PENDING_FINALIZING));
        complete_attempt(c, e->path);
        break;
    case EVENT_FINALIZE_FAILED:
        ASSERT(is_current(c, e, PENDING_FINALIZING));
        abort_attempt(c, FAILURE_FINALIZE, e->message);
        break;
    case EVENT_DISCARDED:
        ASSERT(c->discards > 0);
        c->discards--;
        break;
    case EVENT_CANCEL:
        on_cancel(c, false);
        break;
    case EVENT_SUSPEND:
        on_cancel(c, true);
        break;
    case EVENT_SHUTDOWN:
        on_shutdown(c, e->end);
        break;
    }
}

void coordinator_step(struct coordinator *c, const struct coordinator_event *event,
                      struct coordinator_actions *actions)
{
    ASSERT(event->now_mono_ms >= c->now_mono_ms);
    actions_reset(actions);
    c->actions = actions;
    c->now_mono_ms = event->now_mono_ms;
    c->now_wall_ms = event->now_wall_ms;
    dispatch(c, event);
    check_timeout(c);
    plan_periodic(c);
    plan_final(c);
    start_next(c);
    if (c->shutting_down && !c->shut_down && !coordinator_finalizing(c))
        finish_shutdown(c);
    c->actions = NULL;
}

/* ---- views ----------------------------------------------------------------------------------- */

bool coordinator_finalizing(const struct coordinator *c)
{
    return c->pending != NULL && pending_state(c->pending) == PENDING_FINALIZING;
}

uint64_t coordinator_pending_id(const struct coordinator *c)
{
    return c->pending == NULL ? 0 : pending_barrier(c->pending)->checkpoint_id;
}

const struct completed_checkpoint *coordinator_latest(const struct coordinator *c)
{
    return completed_latest(c->completed);
}

const char *coordinator_stop_path(const struct coordinator *c)
{
    return c->stop == STOP_SAVED ? c->stop_path : NULL;
}

const struct stats_tracker *coordinator_stats(const struct coordinator *c)
{
    return c->stats;
}
