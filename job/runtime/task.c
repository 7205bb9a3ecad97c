/* task.c - see task.h
 *
 * One step does one thing: a message, a piece of left-over results, one element of the input, or
 * one part of the end. What can make more output than a channel takes comes only when the outbox is
 * empty. */
#include "job/runtime/task_priv.h"

#include <stdio.h>

/* ---- events and messages ----------------------------------------------------------------------
 */

void task_event_free(struct task_event *ev)
{
    if (ev == NULL)
        return;
    arena_free(ev->arena);
    mem_free(ev);
}

struct task_event *task_event_new(const struct task *t, enum task_event_kind kind)
{
    struct task_event *ev = mem_calloc(1, sizeof *ev);

    ev->kind = kind;
    ev->task = t->config.task;
    ev->attempt = t->config.attempt;
    return ev;
}

void task_send(struct task *t, struct task_event *ev_take)
{
    t->config.notify(t->config.notify_ctx, ev_take);
}

void task_post(struct task *t, const struct task_message *m)
{
    struct task_message *copy = mem_alloc(sizeof *copy);

    *copy = *m;
    copy->next = NULL;
    mutex_lock(&t->mutex);
    if (t->last_message == NULL)
        t->first_message = copy;
    else
        t->last_message->next = copy;
    t->last_message = copy;
    mutex_unlock(&t->mutex);
    atomic_store(&t->has_messages, true);
    executor_wake(&t->runnable);
}

static struct task_message *take_messages(struct task *t)
{
    struct task_message *first;

    if (!atomic_load(&t->has_messages))
        return NULL;
    atomic_store(&t->has_messages, false);
    mutex_lock(&t->mutex);
    first = t->first_message;
    t->first_message = t->last_message = NULL;
    mutex_unlock(&t->mutex);
    return first;
}

void task_discard_mail(struct task *t)
{
    struct task_message *m, *next;

    for (m = take_messages(t); m != NULL; m = next) {
        next = m->next;
        if (m->kind == TASK_TRIGGER)
            m->release(m->target);
        mem_free(m);
    }
}

void task_cancel(struct task *t, bool commit_completed)
{
    if (commit_completed)
        atomic_store(&t->commit_completed, true);
    atomic_store(&t->cancelled, true);
    executor_wake(&t->runnable);
}

/* ---- state ------------------------------------------------------------------------------------
 */

void task_set_state(struct task *t, enum task_state to)
{
    static const uint32_t allowed[] = {
        [TASK_CREATED] = 1u << TASK_INITIALIZING | 1u << TASK_CANCELED,
        [TASK_DEPLOYING] = 0,
        [TASK_INITIALIZING] = 1u << TASK_RUNNING | 1u << TASK_FAILED | 1u << TASK_CANCELING,
        [TASK_RUNNING] = 1u << TASK_FINISHED | 1u << TASK_FAILED | 1u << TASK_CANCELING,
        [TASK_CANCELING] = 1u << TASK_CANCELED,
        [TASK_FINISHED] = 0,
        [TASK_CANCELED] = 0,
        [TASK_FAILED] = 0,
    };
    enum task_state from = atomic_load(&t->state);

    ASSERT(allowed[from] & 1u << to);
    atomic_store(&t->state, to);
    if (to == TASK_RUNNING || to == TASK_INITIALIZING)
        atomic_store(&t->start_wall_ms, clock_wall_ms(t->config.env->clock));
    if (to == TASK_FINISHED || to == TASK_FAILED || to == TASK_CANCELED)
        atomic_store(&t->end_wall_ms, clock_wall_ms(t->config.env->clock));
}

static void begin_close(struct task *t, enum task_state end)
{
    t->phase = PHASE_CLOSING;
    t->end_state = end;
}

static void fail(struct task *t, const struct err *err)
{
    struct task_event *ev = task_event_new(t, TASK_EVENT_FAILED);

    ev->err = *err;
    ev->opening = t->phase == PHASE_NEW;
    err_wrap(&ev->err, err->rc, "%s", t->name);
    task_send(t, ev);
    begin_close(t, TASK_FAILED);
}

/* ---- steps ------------------------------------------------------------------------------------
 */

static enum rc take_message(struct task *t, struct task_message *m, struct err *err)
{
    switch (m->kind) {
    case TASK_TRIGGER:
        task_add_trigger(t, m);
        return RC_OK;
    case TASK_COMPLETE:
        return task_complete(t, m->checkpoint_id, err);
    case TASK_ABORTED:
        task_abort_checkpoint(t, m->checkpoint_id);
        return RC_OK;
    case TASK_FINISH:
        t->finish_asked = true;
        return RC_OK;
    }
    return RC_OK;
}

static enum rc take_mailbox(struct task *t, struct err *err)
{
    struct task_message *m = take_messages(t), *next;
    enum rc rc = RC_OK;

    for (; m != NULL; m = next) {
        next = m->next;
        if (rc == RC_OK) {
            rc = take_message(t, m, err);
        } else if (m->kind == TASK_TRIGGER) {
            m->release(m->target);
        }
        mem_free(m);
    }
    return rc;
}

/* Cancelled with the word of a completed checkpoint still in the mailbox: commit it. Nobody restores
 * it by itself, so what it holds would stay hidden. */
static void commit_mail(struct task *t)
{
    struct task_message *m = take_messages(t), *next;
    struct err err = {0};
    enum rc rc = RC_OK;

    for (; m != NULL; m = next) {
        next = m->next;
        if (m->kind == TASK_TRIGGER)
            m->release(m->target);
        else if (m->kind == TASK_COMPLETE && rc == RC_OK)
            rc = task_complete(t, m->checkpoint_id, &err);
        mem_free(m);
    }
    if (rc != RC_OK)
        log_line(t->config.env->log, LOG_WARN, "cancelled task did not commit name=\"%s\": %s",
                 t->name, err.msg);
}

static enum rc tick(struct task *t, int64_t now, struct err *err)
{
    if (now < t->next_tick_ns)
        return RC_OK;
    t->next_tick_ns = now + TASK_TICK_NS;
    for (uint32_t i = 0; i < t->operator_count; i++) {
        struct chain_link *l = &t->chain[i];
        int64_t next = INT64_MAX;

        if (l->op->ops->tick == NULL)
            continue;
        RETURN_IF_ERR(l->op->ops->tick(l->op, now, &next, &l->output, err));
        if (next < t->next_tick_ns)
            t->next_tick_ns = next;
    }
    task_publish_stats(t, now);
    emitter_flush(t->emitter);
    return RC_OK;
}

/* One call of a drain that is due; the operator nearest to the end of the chain first. true: there
 * was one. */
static enum rc drain_one(struct task *t, bool *found, struct err *err)
{
    *found = false;
    for (uint32_t i = t->operator_count; i-- > 0;) {
        struct chain_link *l = &t->chain[i];
        bool more = false;

        if (!l->draining)
            continue;
        *found = true;
        RETURN_IF_ERR(l->op->ops->drain(l->op, &l->output, &more, err));
        l->draining = more;
        emitter_flush(t->emitter);
        return RC_OK;
    }
    return RC_OK;
}

/* The end of the data, an operator a step. */
static enum rc end_one(struct task *t, struct err *err)
{
    struct task_event *ev;

    if (t->ended_operators < t->operator_count) {
        struct chain_link *l = &t->chain[t->ended_operators++];

        if (l->op->ops->end_input != NULL) {
            RETURN_IF_ERR(l->op->ops->end_input(l->op, &l->output, err));
            l->draining = l->op->ops->drain != NULL;
            emitter_flush(t->emitter);
        }
        return RC_OK;
    }
    t->ending = false;
    t->data_ended = true;
    if (t->draining_for != 0)
        return RC_OK; /* a stop with drain: the barrier itself tells the next task */
    emitter_end(t->emitter);
    t->end_sent = true;
    ev = task_event_new(t, TASK_EVENT_END_OF_DATA);
    task_send(t, ev);
    return RC_OK;
}

static enum rc poll_source(struct task *t, int64_t now, enum step_result *result, int64_t *deadline,
                           struct err *err)
{
    struct chain_link *head = &t->chain[0];
    const struct source_operator_ops *ops =
        (const struct source_operator_ops *)(const void *)head->op->ops;
    enum source_poll what = SOURCE_IDLE;
    int64_t retry = INT64_MAX;

    RETURN_IF_ERR(ops->poll(head->op, &head->output, &what, &retry, err));
    emitter_flush(t->emitter);
    if (what == SOURCE_END) {
        if (ops->drain_event_time != NULL && head->watermark_ms < WATERMARK_MAX)
            RETURN_IF_ERR(ops->drain_event_time(head->op, &head->output, err));
        emitter_flush(t->emitter);
        t->input_ended = t->ending = true;
    } else if (what == SOURCE_IDLE && retry > now) {
        *result = STEP_WAIT;
        *deadline = retry;
        t->waits_for = WAITS_FOR_INPUT;
    }
    return RC_OK;
}

static void decline_unaligned(struct task *t, const struct gate_item *item)
{
    for (uint32_t i = 0; i < item->aborted_count; i++)
        task_decline_unaligned(t, item->aborted[i]);
}

static enum rc take_input(struct task *t, int64_t now, enum step_result *result, struct err *err)
{
    struct gate_item item;
    enum rc rc = RC_OK;

    input_gate_next(t->gate, now, &item);
    decline_unaligned(t, &item);
    switch (item.kind) {
    case GATE_NOTHING:
        *result = STEP_WAIT;
        t->waits_for = WAITS_FOR_INPUT;
        break;
    case GATE_BATCH:
        rc = chain_give_batch(t, 0, item.batch, err);
        batch_free(item.batch);
        break;
    case GATE_WATERMARK:
        rc = chain_give_watermark(t, 0, item.watermark_ms, err);
        break;
    case GATE_IDLE:
        emitter_idle(t->emitter);
        break;
    case GATE_BARRIER:
        task_hold_barrier(t, &item);
        break;
    case GATE_ENDED:
        t->input_ended = t->ending = true;
        break;
    case GATE_SKIP:
        break;
    }
    emitter_flush(t->emitter);
    return rc;
}

/* Barriers that overtake, on both sides; true: one is to be dealt with, after the mailbox: its target came there before. */
static bool look_around(struct task *t, int64_t now)
{
    bool held = t->barrier_held;

    emitter_overtake(t->emitter, now);
    if (t->gate != NULL)
        task_look_for_barrier(t, now);
    return t->barrier_held && !held;
}

/* Rows that were in flight when the snapshot was taken: before anything else that comes. */
static enum rc replay_one(struct task *t, struct err *err)
{
    uint32_t index;
    struct batch *b = replay_next(t->replay, &index);
    enum rc rc = chain_give_batch(t, index, b, err);

    batch_free(b);
    emitter_flush(t->emitter);
    if (replay_ended(t->replay)) {
        replay_free(t->replay);
        t->replay = NULL;
    }
    return rc;
}

/* The running phase: at most one thing. */
static enum rc run_once(struct task *t, int64_t now, enum step_result *result, int64_t *deadline,
                        struct err *err)
{
    bool found;

    *result = STEP_AGAIN;
    RETURN_IF_ERR(take_mailbox(t, err));
    if (!t->barrier_held && !t->ending && (t->source || t->input_ended))
        task_next_trigger(t, now);
    if (t->barrier_held && task_barrier_ready(t)) {
        RETURN_IF_ERR(task_barrier(t, now, err));
        return RC_OK;
    }
    if (t->overtaking && look_around(t, now))
        return RC_OK;
    if (!emitter_push_outbox(t->emitter)) {
        *result = STEP_WAIT;
        *deadline = task_overtake_at(t, now);
        t->waits_for = WAITS_FOR_ROOM;
        return RC_OK;
    }
    RETURN_IF_ERR(tick(t, now, err));
    *deadline = t->next_tick_ns;
    RETURN_IF_ERR(drain_one(t, &found, err));
    if (found)
        return RC_OK;
    if (t->replay != NULL)
        return replay_one(t, err);
    if (t->ending)
        return end_one(t, err);
    if (t->barrier_held)
        return task_prepare_barrier(t, result, err);
    if (t->finish_asked && t->async_count == 0) {
        ASSERT(t->data_ended || t->stop_confirmed);
        begin_close(t, TASK_FINISHED);
        return RC_OK;
    }
    if (t->stopped_for != 0 || t->data_ended) {
        *result = STEP_WAIT;
        t->waits_for = WAITS_FOR_INPUT;
        return RC_OK;
    }
    if (t->source) {
        int64_t retry = INT64_MAX;

        RETURN_IF_ERR(poll_source(t, now, result, &retry, err));
        if (retry < *deadline)
            *deadline = retry;
        return RC_OK;
    }
    return take_input(t, now, result, err);
}

static enum step_result close_step(struct task *t)
{
    struct task_event *ev;

    task_discard_mail(t); /* nobody will look at it */
    task_drop_recording(t);
    task_release_barrier(t);
    if (t->async_count > 0) {
        task_collect_async(t);
        if (t->async_count > 0)
            return STEP_WAIT;
    }
    if (t->end_state == TASK_CANCELED && atomic_load(&t->state) != TASK_CREATED)
        task_set_state(t, TASK_CANCELING);
    chain_close(t, t->end_state == TASK_FINISHED);
    task_drop_triggers(t);
    emitter_free(t->emitter); /* its batches are megabytes, and a job that has ended stays to be looked at */
    t->emitter = NULL;
    task_set_state(t, t->end_state);
    t->phase = PHASE_ENDED;
    ev = task_event_new(t, TASK_EVENT_ENDED);
    ev->state = t->end_state;
    task_send(t, ev);
    return STEP_DONE;
}

/* Time since the last step goes to what the task waited for then. */
static void account(struct task *t, int64_t now)
{
    int64_t passed = now - t->last_step_end_ns;

    if (passed > 0 && t->last_step_end_ns != 0)
        atomic_fetch_add_explicit(t->waits_for == WAITS_FOR_ROOM    ? &t->backpressured_ns
                                  : t->waits_for == WAITS_FOR_INPUT ? &t->idle_ns
                                                                    : &t->busy_ns,
                                  (uint64_t)passed, memory_order_relaxed);
    t->last_step_end_ns = now;
    t->waits_for = WAITS_FOR_NOTHING;
}

static enum step_result task_step(struct runnable *r, int64_t now, int64_t *deadline)
{
    struct task *t = (struct task *)r;
    enum step_result result = STEP_AGAIN;
    struct err err = {0};

    account(t, now);
    if (t->phase != PHASE_CLOSING && atomic_load(&t->cancelled)) {
        if (t->phase == PHASE_RUNNING && atomic_load(&t->commit_completed))
            commit_mail(t);
        begin_close(t, TASK_CANCELED);
    }
    if (t->phase != PHASE_CLOSING)
        task_collect_async(t);
    if (t->phase == PHASE_NEW) {
        struct task_event *ev;

        task_set_state(t, TASK_INITIALIZING);
        if (chain_open(t, &err) != RC_OK) {
            if (err.rc == RC_CANCELLED) /* a restore was given up for that */
                begin_close(t, TASK_CANCELED);
            else
                fail(t, &err);
            return STEP_AGAIN;
        }
        task_set_state(t, TASK_RUNNING);
        t->phase = PHASE_RUNNING;
        ev = task_event_new(t, TASK_EVENT_RUNNING);
        task_send(t, ev);
        return STEP_AGAIN;
    }
    if (t->phase == PHASE_RUNNING) {
        if (run_once(t, now, &result, deadline, &err) != RC_OK) {
            fail(t, &err);
            return STEP_AGAIN;
        }
        return t->phase == PHASE_CLOSING ? STEP_AGAIN : result;
    }
    return close_step(t);
}

/* ---- life -------------------------------------------------------------------------------------
 */

struct task *task_new(const struct task_config *config)
{
    const struct graph_vertex *v = &config->graph->vertices[config->vertex];
    struct task *t = mem_calloc(1, sizeof *t);
    struct buf name = {0};

    t->config = *config;
    t->vertex = v;
    t->runnable.step = task_step;
    t->source = v->operators[0].is_source;
    t->operator_count = v->operator_count;
    t->chain = mem_calloc(v->operator_count, sizeof *t->chain);
    buf_printf(&name, "%s (%u/%u)", v->name, config->subtask_index + 1, v->parallelism);
    t->name = mem_strdup(buf_cstr(&name));
    buf_release(&name);
    mutex_init(&t->mutex);
    atomic_store(&t->start_wall_ms, -1);
    atomic_store(&t->end_wall_ms, -1);
    for (uint32_t i = 0; i < t->operator_count; i++)
        atomic_store(&t->chain[i].metrics.watermark_ms, WATERMARK_NONE);
    t->emitter =
        emitter_new(config->exchange, config->graph, config->vertex, config->subtask_index);
    if (!t->source)
        t->gate =
            input_gate_new(config->exchange, config->graph, config->vertex, config->subtask_index);
    t->overtaking = config_unaligned(config->config);
    if (t->overtaking && t->gate != NULL)
        input_gate_overtaking(t->gate, config_bytes(config->config, OPT_CP_IN_FLIGHT_MAX));
    exchange_attach(config->exchange, config->vertex, config->subtask_index, &t->runnable);
    return t;
}

void task_free(struct task *t)
{
    if (t == NULL)
        return;
    ASSERT(t->phase == PHASE_NEW || t->phase == PHASE_ENDED);
    task_discard_mail(t);
    emitter_free(t->emitter);
    input_gate_free(t->gate);
    replay_free(t->replay);
    mutex_release(&t->mutex);
    mem_free(t->config.restore.operators);
    mem_free(t->chain);
    mem_free(t->name);
    mem_free(t);
}

struct runnable *task_runnable(struct task *t)
{
    return &t->runnable;
}

const char *task_name(const struct task *t)
{
    return t->name;
}

void task_view(struct task *t, struct arena *arena, struct subtask_view *out)
{
    *out = (struct subtask_view){
        .state = atomic_load(&t->state),
        .attempt = t->config.attempt,
        .start_wall_ms = atomic_load(&t->start_wall_ms),
        .end_wall_ms = atomic_load(&t->end_wall_ms),
        .operator_count = t->operator_count,
        .operators = ARENA_ARRAY(arena, t->operator_count, struct operator_view),
        .busy_ms = atomic_load_explicit(&t->busy_ns, memory_order_relaxed) / (uint64_t)NS_PER_MS,
        .idle_ms = atomic_load_explicit(&t->idle_ns, memory_order_relaxed) / (uint64_t)NS_PER_MS,
        .backpressured_ms =
            atomic_load_explicit(&t->backpressured_ns, memory_order_relaxed) / (uint64_t)NS_PER_MS,
    };
    for (uint32_t i = 0; i < t->operator_count; i++) {
        const struct operator_spec *spec = &t->vertex->operators[i];
        struct operator_metrics *m = &t->chain[i].metrics;
        struct operator_view *v = &out->operators[i];

        *v = (struct operator_view){
            .id = spec->id,
            .name = spec->name,
            .description = spec->description,
            .records_in = atomic_load_explicit(&m->records_in, memory_order_relaxed),
            .records_out = atomic_load_explicit(&m->records_out, memory_order_relaxed),
            .late_dropped = atomic_load_explicit(&m->late_dropped, memory_order_relaxed),
            .bad_rows = atomic_load_explicit(&m->bad_rows, memory_order_relaxed),
            .null_fields = atomic_load_explicit(&m->null_fields, memory_order_relaxed),
            .bytes_in = atomic_load_explicit(&m->bytes_in, memory_order_relaxed),
            .bytes_out = atomic_load_explicit(&m->bytes_out, memory_order_relaxed),
            .watermark_ms = atomic_load_explicit(&m->watermark_ms, memory_order_relaxed),
        };
        mutex_lock(&t->mutex);
        v->keyed = t->chain[i].keyed_stats;
        v->hot = t->chain[i].hot;
        mutex_unlock(&t->mutex);
    }
}
