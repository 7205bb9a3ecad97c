/* chain.c - the operators of a task: open, hand rows and event time along, close. See task.h */
#include "job/runtime/task_priv.h"

/* Left-over results come before anything else. */
static enum rc drain_fully(struct chain_link *l, struct err *err)
{
    while (l->draining) {
        bool more = false;

        RETURN_IF_ERR(l->op->ops->drain(l->op, &l->output, &more, err));
        l->draining = more;
    }
    return RC_OK;
}

enum rc chain_give_batch(struct task *t, uint32_t index, struct batch *b, struct err *err)
{
    struct chain_link *l = &t->chain[index];

    RETURN_IF_ERR(drain_fully(l, err));
    return l->op->ops->process(l->op, b, &l->output, err);
}

static enum rc link_watermark(struct output *o, int64_t watermark_ms, struct err *err);

enum rc chain_give_watermark(struct task *t, uint32_t index, int64_t watermark_ms, struct err *err)
{
    struct chain_link *l = &t->chain[index];

    RETURN_IF_ERR(drain_fully(l, err));
    if (l->op->ops->watermark == NULL)
        return link_watermark(&l->output, watermark_ms, err);
    RETURN_IF_ERR(l->op->ops->watermark(l->op, watermark_ms, &l->output, err));
    l->draining = l->op->ops->drain != NULL;
    return RC_OK;
}

static enum rc link_batch(struct output *o, struct batch *b, struct err *err)
{
    struct chain_link *l = (struct chain_link *)o;

    if (b->rows == 0)
        return RC_OK;
    if (l->index + 1 < l->task->operator_count)
        return chain_give_batch(l->task, l->index + 1, b, err);
    return emitter_batch(l->task->emitter, b, err);
}

/* Event time never goes back: an older or equal watermark stops here. */
static enum rc link_watermark(struct output *o, int64_t watermark_ms, struct err *err)
{
    struct chain_link *l = (struct chain_link *)o;

    if (watermark_ms <= l->watermark_ms)
        return RC_OK;
    l->watermark_ms = watermark_ms;
    atomic_store_explicit(&l->metrics.watermark_ms, watermark_ms, memory_order_relaxed);
    if (l->index + 1 < l->task->operator_count)
        return chain_give_watermark(l->task, l->index + 1, watermark_ms, err);
    emitter_watermark(l->task->emitter, watermark_ms);
    return RC_OK;
}

static enum rc link_idle(struct output *o, struct err *err)
{
    struct chain_link *l = (struct chain_link *)o;

    (void)err;
    emitter_idle(l->task->emitter);
    return RC_OK;
}

static void report_backlog(void *ctx, bool backlog)
{
    struct task *t = ctx;
    struct task_event *ev = task_event_new(t, TASK_EVENT_BACKLOG);

    ev->backlog = backlog;
    task_send(t, ev);
}

static void wake_task(void *ctx)
{
    struct task *t = ctx;

    executor_wake(&t->runnable);
}

/* from: NULL, nothing is restored. */
static enum rc open_keyed(struct task *t, uint32_t index, const struct task_operator_restore *from,
                          struct err *err)
{
    struct chain_link *l = &t->chain[index];
    const struct operator_spec *spec = &t->vertex->operators[index];
    const struct task_config *c = &t->config;
    struct keyed_backend_config config = {
        .env = c->env,
        .kind = c->backend,
        .range = keygroup_range_of(c->subtask_index, t->vertex->parallelism, c->key_group_count),
        .key_group_count = c->key_group_count,
        .name = t->name,
        .memory = c->memory,
        .max_open_files = c->max_open_files,
        .restore_count = from == NULL ? 0 : from->state.keyed_count,
        .restore = from == NULL ? NULL : from->state.keyed,
        .restore_operator = spec->name,
        .change_count = from == NULL ? 0 : from->fit.change_count,
        .changes = from == NULL ? NULL : from->fit.changes,
        .verify = (enum restore_verify)config_enum(c->config, OPT_RESTORE_VERIFY),
        .no_load = !config_bool(c->config, OPT_RESTORE_LOAD_CACHE),
        .stop = &t->cancelled,
    };
    char dir[FS_PATH_MAX], id[33];
    struct buf text = {0};
    struct rng rng;
    enum rc rc;

    buf_printf(&text, "backend %s %u %u %u", c->job_id, c->attempt, c->task, index);
    env_rng(c->env, buf_cstr(&text), &rng);
    rng_hex(&rng, id, 32);
    buf_clear(&text);
    buf_printf(&text, "%.8s-%u", spec->id, c->subtask_index);
    rc = path_join(dir, sizeof dir, c->local_dir, buf_cstr(&text), err);
    buf_release(&text);
    RETURN_IF_ERR(rc);
    config.local_dir = dir;
    config.backend_id = id;
    return keyed_backend_open(&config, &l->keyed, err);
}

static enum rc open_link(struct task *t, uint32_t index, struct err *err)
{
    struct chain_link *l = &t->chain[index];
    const struct operator_spec *spec = &t->vertex->operators[index];
    const struct task_config *c = &t->config;
    const struct task_operator_restore *from =
        c->restore.operators == NULL || !c->restore.operators[index].restored
            ? NULL
            : &c->restore.operators[index];

    l->output = (struct output){link_batch, link_watermark, link_idle};
    l->task = t;
    l->index = index;
    l->watermark_ms = WATERMARK_NONE;
    l->state = operator_state_new();
    if (from != NULL)
        operator_state_restore(l->state, from->state.lists, from->state.list_count);
    if (spec->keyed)
        RETURN_IF_ERR(open_keyed(t, index, from, err));
    l->ctx = (struct operator_context){
        .env = c->env,
        .config = c->config,
        .job_id = c->job_id,
        .job_name = c->graph->job_name,
        .operator_id = spec->id,
        .operator_name = spec->name,
        .subtask_index = c->subtask_index,
        .parallelism = t->vertex->parallelism,
        .key_group_count = c->key_group_count,
        .attempt = c->attempt,
        .restored = from != NULL,
        .restored_checkpoint_id = from == NULL ? 0 : c->restore.checkpoint_id,
        .earlier_run_dead = c->restore.earlier_run_dead,
        .keyed = l->keyed,
        .state = l->state,
        .storage = c->storage,
        .stop = &t->cancelled,
        .metrics = &l->metrics,
        .backlog = report_backlog,
        .wake = wake_task,
        .wake_ctx = t,
    };
    l->op = spec->make(spec->spec);
    return l->op->ops->open(l->op, &l->ctx, err);
}

enum rc chain_open(struct task *t, struct err *err)
{
    const struct task_config *c = &t->config;

    for (uint32_t i = 0; i < t->operator_count; i++)
        RETURN_IF_ERR(open_link(t, i, err));
    /* Rows that were on their way to an operator further down are older than what comes to it from those before. */
    for (uint32_t i = c->restore.operators == NULL ? 0 : t->operator_count; i-- > 0;) {
        const struct task_operator_restore *from = &c->restore.operators[i];

        if (from->restored)
            RETURN_IF_ERR(replay_load(&t->replay, c->env->fs, c->graph, c->vertex,
                                      c->subtask_index, i, from->state.channels,
                                      from->state.channel_count, err));
    }
    return RC_OK;
}

/* Copies for others. */
static void publish(struct task *t, struct chain_link *l)
{
    struct keyed_stats stats = {0};
    struct hot_view hot = {0};

    if (l->op == NULL || l->keyed == NULL)
        return;
    keyed_stats(l->keyed, &stats);
    if (l->op->ops->hot != NULL)
        l->op->ops->hot(l->op, &hot);
    mutex_lock(&t->mutex);
    l->keyed_stats = stats;
    l->hot = hot;
    mutex_unlock(&t->mutex);
}

void chain_close(struct task *t, bool clean)
{
    for (uint32_t i = 0; i < t->operator_count; i++) {
        struct chain_link *l = &t->chain[i];

        if (clean)
            publish(t, l);
        if (l->op != NULL)
            l->op->ops->close(l->op, clean);
        keyed_backend_close(l->keyed);
        operator_state_free(l->state);
        l->op = NULL;
        l->keyed = NULL;
        l->state = NULL;
    }
}

void task_publish_stats(struct task *t, int64_t now)
{
    if (now < t->next_stats_ns)
        return;
    t->next_stats_ns = now + 5 * TASK_TICK_NS;
    for (uint32_t i = 0; i < t->operator_count; i++)
        publish(t, &t->chain[i]);
}
