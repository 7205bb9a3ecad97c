/* coordinator.c - see coordinator.h.
 *
 * The states of one attempt are pending.h's. Around it:
 *
 *     attempts: up to max_concurrent, ids ascending; of one at a time the metadata is being written
 *     job:   down --EVENT_START--> started --EVENT_JOB_FAILING--> down
 *            cancelling, suspending, shut down: for good
 *     task:  task_table.h's
 *     stop:  NONE -> WANTED (queued or under way) -> SAVED -> answered at the end
 *
 * Events that come too late for what they speak of are ignored, except that the leavings of an
 * aborted attempt are discarded again.
 */
#include "base/clock.h"
#include "checkpoint/coordinator_priv.h"

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

/* ---- life ------------------------------------------------------------------------------------ */

struct coordinator *coordinator_new(const struct coordinator_config *config)
{
    struct coordinator *c = mem_calloc(1, sizeof *c);

    ASSERT(config->first_id >= 1 && config->num_retained >= 1 && config->timeout_ms > 0 &&
           config->max_concurrent >= 1);
    c->config = *config;
    c->config.vertices = NULL; /* task_table and stats keep their own */
    c->config.edges = NULL;
    c->arena = arena_new(0);
    c->tasks =
        task_table_new(config->vertices, config->vertex_count, config->edges, config->edge_count);
    c->task_count = task_table_size(c->tasks);
    c->config.savepoint_dir =
        config->savepoint_dir == NULL ? NULL : arena_strdup(c->arena, config->savepoint_dir);
    c->attempts = ARENA_ARRAY(c->arena, config->max_concurrent, struct under_way);
    c->next_id = config->first_id;
    c->backlog = ARENA_ARRAY(c->arena, c->task_count, bool);
    c->queue = request_queue_new(COORDINATOR_QUEUE_MAX);
    c->completed = completed_new(config->num_retained);
    c->stats = stats_tracker_new(config->vertices, config->vertex_count, config->history_size);
    return c;
}

void coordinator_free(struct coordinator *c)
{
    if (c == NULL)
        return;
    for (uint32_t i = 0; i < c->attempt_count; i++)
        co_under_way_release(&c->attempts[i]);
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

/* ---- what several of the below use ----------------------------------------------------------- */

static void refuse(struct coordinator *c, const struct checkpoint_request *r,
                   enum checkpoint_failure why)
{
    if (r->origin == ORIGIN_USER)
        co_answer(c, r->request_id, checkpoint_failure_rc(why), 0, NULL,
                  checkpoint_failure_str(why));
}

static const char *task_name(struct coordinator *c, uint32_t task)
{
    return task_table_name(c->tasks, task, c->actions->arena);
}

static uint32_t count_phase(const struct coordinator *c, enum task_phase phase)
{
    return task_table_count(c->tasks, phase);
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
    co_answer_stop(c, rc, 0,
                   arena_printf(c->actions->arena,
                                "%s; the savepoint %s is complete and its results are committed",
                                why, c->stop_path));
}

static bool was_aborted(const struct coordinator *c, uint64_t id)
{
    size_t count = c->aborted_count < ABORTED_MEMORY ? c->aborted_count : ABORTED_MEMORY;

    for (size_t i = 0; i < count; i++)
        if (c->aborted[i] == id)
            return true;
    return false;
}

/* ---- the start of an attempt ----------------------------------------------------------------- */

/* Whether an attempt can start: every task runs or, where that is allowed, has ended. */
static bool all_required_run(const struct coordinator *c)
{
    uint32_t gone = count_phase(c, TASK_GONE);

    return count_phase(c, TASK_DOWN) == 0 && gone < c->task_count &&
           (gone == 0 || c->config.after_tasks_finish);
}

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

/* A barrier that may overtake does so from some time on; 0 on the clock means never. */
static int64_t overtake_mono_ns(const struct coordinator *c, const struct checkpoint_request *r)
{
    int64_t at = (c->now_mono_ms + c->config.aligned_timeout_ms) * NS_PER_MS;

    if (!c->config.unaligned || !c->config.exactly_once || kind_of(r) != CHECKPOINT_PERIODIC)
        return 0;
    return at > 0 ? at : 1;
}

static void start_attempt(struct coordinator *c, struct checkpoint_request request)
{
    struct barrier barrier = {
        .checkpoint_id = c->next_id++,
        .trigger_wall_ms = c->now_wall_ms,
        .kind = kind_of(&request),
        .exactly_once = c->config.exactly_once || kind_of(&request) != CHECKPOINT_PERIODIC,
        .overtake_mono_ns = overtake_mono_ns(c, &request),
    };
    bool *expected = ARENA_ARRAY(c->actions->arena, c->task_count, bool);
    struct coordinator_action *a;

    for (uint32_t i = 0; i < c->task_count; i++)
        expected[i] = task_table_phase(c->tasks, i) != TASK_GONE;
    ASSERT(c->attempt_count < c->config.max_concurrent);
    c->attempts[c->attempt_count++] = (struct under_way){
        .pending = pending_new(&barrier, expected, c->task_count,
                               c->now_mono_ms + c->config.timeout_ms),
        .request = request,
        .acked_at_end = mem_calloc(c->task_count, sizeof(bool)),
    };
    stats_tracker_started(c->stats, barrier.checkpoint_id, barrier.kind, c->now_wall_ms);
    a = co_act(c, ACTION_BEGIN, barrier.checkpoint_id);
    a->barrier = barrier;
    a->target_dir = co_keep(c, request.target_dir);
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

/* A stop, or the last checkpoint of a bounded job, is alone under way. */
static bool is_alone(const struct checkpoint_request *r)
{
    return r->kind == REQUEST_STOP || r->kind == REQUEST_STOP_DRAIN || r->origin == ORIGIN_FINAL;
}

static bool may_start(const struct coordinator *c)
{
    for (uint32_t i = 0; i < c->attempt_count; i++)
        if (is_alone(&c->attempts[i].request) ||
            pending_state(c->attempts[i].pending) == PENDING_BEGINNING)
            return false;
    return c->started && !c->fail_wanted && !c->cancelling && !c->suspending && !c->shutting_down &&
           c->attempt_count < c->config.max_concurrent && c->stop != STOP_SAVED &&
           c->discards <= c->config.max_concurrent && count_phase(c, TASK_RELEASED) == 0;
}

static void start_next(struct coordinator *c)
{
    const struct checkpoint_request *next;

    while (may_start(c) && (next = request_queue_peek(c->queue)) != NULL) {
        bool ready = all_required_run(c);
        struct checkpoint_request request;

        if (!ready && next->origin != ORIGIN_USER && count_phase(c, TASK_DOWN) > 0)
            return; /* tasks are coming up: it starts the moment all of them run */
        if (is_alone(next) && c->attempt_count > 0)
            return; /* it starts when those have ended */
        request = request_queue_pop(c->queue);
        if (!ready) {
            if (request.kind == REQUEST_STOP || request.kind == REQUEST_STOP_DRAIN) {
                co_answer_stop(c, RC_STATE, 0, checkpoint_failure_str(FAILURE_NOT_ALL_RUNNING));
                co_start_scheduler(c);
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

void co_enqueue(struct coordinator *c, struct checkpoint_request add)
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
            co_answer_stop(c, checkpoint_failure_rc(why), 0, checkpoint_failure_str(why));
        else
            refuse(c, &r, why);
        checkpoint_request_release(&r);
    }
}

/* ---- time ------------------------------------------------------------------------------------ */

/* One that only waits for its turn to be finalized is not. */
static bool is_overdue(const struct coordinator *c, const struct pending *p)
{
    return pending_state(p) != PENDING_FINALIZING && !pending_fully_acked(p) &&
           c->now_mono_ms >= pending_deadline_mono_ms(p);
}

static void check_timeout(struct coordinator *c)
{
    for (uint32_t i = 0; i < c->attempt_count;) {
        const struct pending *p = c->attempts[i].pending;

        if (!is_overdue(c, p)) {
            i++;
            continue;
        }
        co_abort_attempt(c, &c->attempts[i], FAILURE_EXPIRED,
                         arena_printf(c->actions->arena,
                                      "(timeout %lld ms; %u of %u tasks missing, among them %s)",
                                      (long long)c->config.timeout_ms, pending_missing_count(p),
                                      c->task_count, task_name(c, pending_first_missing(p))));
    }
}

/* Bounded input: all tasks wait at the end of their data for a checkpoint that lets their last
 * results out. */
static bool final_wanted(const struct coordinator *c)
{
    uint32_t waiting = count_phase(c, TASK_AT_END);

    return c->config.final_checkpoint && c->stop == STOP_NONE && waiting > 0 &&
           waiting + count_phase(c, TASK_GONE) == c->task_count && c->attempt_count == 0;
}

static void plan_final(struct coordinator *c)
{
    if (may_start(c) && final_wanted(c) && c->now_mono_ms >= c->final_retry_mono_ms &&
        !request_queue_has(c->queue, ORIGIN_FINAL))
        co_enqueue(c, (struct checkpoint_request){.origin = ORIGIN_FINAL});
}

int64_t coordinator_next_mono_ms(const struct coordinator *c)
{
    int64_t next = INT64_MAX;

    if (c->shut_down)
        return next;
    for (uint32_t i = 0; i < c->attempt_count; i++) {
        const struct pending *p = c->attempts[i].pending;

        if (!pending_fully_acked(p) && pending_deadline_mono_ms(p) < next)
            next = pending_deadline_mono_ms(p);
    }
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
    co_start_scheduler(c);
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
    if (to == TASK_AT_END || to == TASK_GONE)
        co_set_backlog(c, task, false);
    for (uint32_t i = 0; to == TASK_GONE && i < c->attempt_count;) {
        const struct pending *p = c->attempts[i].pending;

        if (pending_expects(p, task) && !pending_has_acked(p, task))
            co_abort_attempt(c, &c->attempts[i], FAILURE_TASK_CLOSING, task_name(c, task));
        else
            i++;
    }
}

static void on_job_failing(struct coordinator *c)
{
    if (!c->started)
        return;
    c->started = false;
    c->periodic_on = false;
    co_forget_backlogs(c);
    co_abort_all(c, FAILURE_JOB_FAILING);
    flush_queue(c, FAILURE_JOB_FAILING);
    if (c->stop == STOP_SAVED)
        answer_saved_stop(c, RC_STATE, "the job failed before all its tasks had ended");
    task_table_reset(c->tasks);
}

static void on_stop_request(struct coordinator *c, const struct coordinator_event *e,
                            const char *dir)
{
    if (!all_required_run(c)) {
        co_answer(c, e->request_id, RC_STATE, 0, NULL,
                  checkpoint_failure_str(FAILURE_NOT_ALL_RUNNING));
        return;
    }
    c->periodic_on = false;
    co_abort_all(c, FAILURE_SUSPENDED);
    flush_queue(c, FAILURE_SUSPENDED);
    c->stop = STOP_WANTED;
    c->stop_kind = e->request;
    c->stop_dir = mem_strdup(dir);
    join_stop(c, e->request_id);
    co_enqueue(c, (struct checkpoint_request){
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
        co_answer(c, e->request_id, RC_STATE, 0, NULL, why);
    } else if (e->request != REQUEST_CHECKPOINT && dir == NULL) {
        co_answer(c, e->request_id, RC_INVALID, 0, NULL,
                  "no target directory: neither in the request nor as "
                  "execution.checkpointing.savepoint-dir");
    } else if (c->stop != STOP_NONE) {
        if (is_stop && e->request == c->stop_kind && strcmp(dir, c->stop_dir) == 0)
            join_stop(c, e->request_id); /* the same again: one savepoint, one answer for both */
        else
            co_answer(c, e->request_id, RC_STATE, 0, NULL,
                      "the job is already being stopped with a savepoint");
    } else if (is_stop) {
        on_stop_request(c, e, dir);
    } else {
        co_enqueue(c, (struct checkpoint_request){.kind = e->request,
                                               .request_id = e->request_id,
                                               .target_dir = dir == NULL ? NULL : mem_strdup(dir)});
    }
}

/* The attempt that the event speaks of, when it is in that state; the leavings of an aborted one go
 * at once. */
static struct under_way *spoken_of(struct coordinator *c, const struct coordinator_event *e,
                                   enum pending_state state)
{
    for (uint32_t i = 0; i < c->attempt_count; i++)
        if (co_id_of(&c->attempts[i]) == e->checkpoint_id)
            return pending_state(c->attempts[i].pending) == state ? &c->attempts[i] : NULL;
    if (was_aborted(c, e->checkpoint_id)) {
        co_act(c, ACTION_DISCARD_ATTEMPT, e->checkpoint_id);
        co_act(c, ACTION_DELETE_SHARED, 0);
    }
    return NULL;
}

static void trigger_tasks(struct coordinator *c, const struct pending *p)
{
    bool *heads = ARENA_ARRAY(c->actions->arena, c->task_count, bool);

    task_table_heads(c->tasks, p, heads);
    for (uint32_t i = 0; i < c->task_count; i++)
        if (heads[i]) {
            struct coordinator_action *a =
                co_act(c, ACTION_TRIGGER, pending_barrier(p)->checkpoint_id);

            a->barrier = *pending_barrier(p);
            a->task = i;
        }
}

static void on_begun(struct coordinator *c, const struct coordinator_event *e)
{
    const struct under_way *u = spoken_of(c, e, PENDING_BEGINNING);

    if (u == NULL)
        return;
    pending_move(u->pending, PENDING_RUNNING);
    trigger_tasks(c, u->pending);
}

static void on_begin_failed(struct coordinator *c, const struct coordinator_event *e)
{
    struct under_way *u = spoken_of(c, e, PENDING_BEGINNING);

    if (u != NULL)
        co_abort_attempt(c, u, FAILURE_IO, e->message);
}

static void on_ack(struct coordinator *c, const struct coordinator_event *e)
{
    struct under_way *u = spoken_of(c, e, PENDING_RUNNING);
    uint32_t vertex, subtask_index;

    ASSERT(e->task < c->task_count);
    if (u == NULL || pending_ack(u->pending, e->task) != PENDING_ACK_OK)
        return;
    u->acked_at_end[e->task] = task_table_phase(c->tasks, e->task) == TASK_AT_END;
    task_table_locate(c->tasks, e->task, &vertex, &subtask_index);
    stats_tracker_acked(c->stats, e->checkpoint_id, vertex, subtask_index, &e->ack, c->now_wall_ms);
}

static void on_decline(struct coordinator *c, const struct coordinator_event *e)
{
    struct under_way *u = spoken_of(c, e, PENDING_RUNNING);

    ASSERT(e->task < c->task_count);
    ASSERT(e->failure == FAILURE_DECLINED || e->failure == FAILURE_ASYNC ||
           e->failure == FAILURE_TASK_CLOSING);
    if (u == NULL || !pending_expects(u->pending, e->task))
        return;
    co_abort_attempt(c, u, e->failure,
                     arena_printf(c->actions->arena, "%s: %s", task_name(c, e->task),
                                  e->message == NULL ? "no reason given" : e->message));
}

static void on_finalized(struct coordinator *c, const struct coordinator_event *e)
{
    struct under_way *u = spoken_of(c, e, PENDING_FINALIZING);

    ASSERT(u != NULL);
    if (e->kind == EVENT_FINALIZED)
        co_complete_attempt(c, u, e->path);
    else
        co_abort_attempt(c, u, FAILURE_FINALIZE, e->message);
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
    co_abort_all(c, why);
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

    co_abort_all(c, FAILURE_SHUTDOWN);
    flush_queue(c, FAILURE_SHUTDOWN);
    if (c->stop == STOP_SAVED && c->end == JOB_END_FINISHED)
        co_answer_stop(c, RC_OK, 0, NULL);
    else if (c->stop == STOP_SAVED)
        answer_saved_stop(c, RC_STATE, "the job did not finish");
    ASSERT(c->stop == STOP_NONE);
    count = completed_shutdown(c->completed, c->config.retention, c->end, removed);
    for (size_t i = 0; i < count; i++)
        co_discard(c, &removed[i]);
    if (c->end != JOB_END_SUSPENDED)
        co_act(c, ACTION_DELETE_SHARED, 0);
    co_act(c, ACTION_SHUTDOWN_DONE, 0);
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
    case EVENT_BACKLOG:
        if (c->started)
            co_set_backlog(c, e->task, e->backlog);
        break;
    case EVENT_BEGUN:
        on_begun(c, e);
        break;
    case EVENT_BEGIN_FAILED:
        on_begin_failed(c, e);
        break;
    case EVENT_ACK:
        on_ack(c, e);
        break;
    case EVENT_DECLINE:
        on_decline(c, e);
        break;
    case EVENT_FINALIZED:
    case EVENT_FINALIZE_FAILED:
        on_finalized(c, e);
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
    co_finalize_next(c);
    co_plan_periodic(c);
    plan_final(c);
    start_next(c);
    if (c->shutting_down && !c->shut_down && !coordinator_finalizing(c))
        finish_shutdown(c);
    c->actions = NULL;
}

/* ---- views ----------------------------------------------------------------------------------- */

bool coordinator_finalizing(const struct coordinator *c)
{
    for (uint32_t i = 0; i < c->attempt_count; i++)
        if (co_is_finalizing(&c->attempts[i]))
            return true;
    return false;
}

uint64_t coordinator_pending_id(const struct coordinator *c)
{
    return c->attempt_count == 0 ? 0 : co_id_of(&c->attempts[c->attempt_count - 1]);
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
