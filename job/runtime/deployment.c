/* deployment.c - see deployment.h */
#include "job/runtime/deployment.h"

#include "base/thread.h"

struct deployment {
    const struct graph *graph;
    struct exchange *exchange;
    struct executor *executor;
    struct keyed_memory *memory; /* NULL: no keyed state in RocksDB */
    uint32_t task_count, ended_count;
    struct task **tasks;
    bool *ended;
};

static uint32_t count_tasks(const struct graph *g)
{
    uint32_t n = 0;

    for (uint32_t v = 0; v < g->vertex_count; v++)
        n += g->vertices[v].parallelism;
    return n;
}

uint32_t deployment_slots(const struct config *c)
{
    uint32_t slots = (uint32_t)config_int(c, OPT_TASK_SLOTS);

    return slots != 0 ? slots : thread_core_count();
}

/* Never more than tasks. */
static uint32_t count_workers(const struct deployment_config *c, uint32_t task_count)
{
    uint32_t workers = deployment_slots(c->config);

    if (!c->threaded)
        return 0;
    return workers < task_count ? workers : task_count;
}

/* The states of one subtask's chain, out of the assignment by operators. */
static struct task_operator_restore *states_of(const struct deployment_config *c,
                                               uint32_t first_operator, uint32_t operator_count,
                                               uint32_t subtask_index)
{
    struct task_operator_restore *states = mem_calloc(operator_count, sizeof *states);

    for (uint32_t o = 0; o < operator_count; o++) {
        const struct assigned_operator *a = &c->assignment->operators[first_operator + o];

        states[o].restored = a->restored;
        if (a->restored) {
            states[o].state = a->subtasks[subtask_index];
            states[o].fit = a->fit;
        }
    }
    return states;
}

static void add_task(struct deployment *d, const struct deployment_config *c, uint32_t vertex,
                     uint32_t subtask_index, uint32_t first_operator)
{
    struct task_config t = {
        .env = c->env,
        .config = c->config,
        .graph = c->graph,
        .job_id = c->job_id,
        .task = d->task_count,
        .vertex = vertex,
        .subtask_index = subtask_index,
        .attempt = c->attempt,
        .key_group_count = c->graph->key_group_count,
        .exchange = d->exchange,
        .backend = config_enum(c->config, OPT_BACKEND_TYPE) == BACKEND_TYPE_ROCKSDB
                       ? BACKEND_ROCKSDB
                       : BACKEND_HASHMAP,
        .local_dir = c->local_dir,
        .storage = c->storage,
        .memory = d->memory,
        .max_open_files = c->budget->files,
        .notify = c->notify,
        .notify_ctx = c->notify_ctx,
    };

    t.restore.earlier_run_dead = c->earlier_run_dead;
    if (c->assignment != NULL)
        t.restore = (struct task_restore){
            .checkpoint_id = c->restored_checkpoint_id,
            .earlier_run_dead = c->earlier_run_dead,
            .operators = states_of(c, first_operator, c->graph->vertices[vertex].operator_count,
                                   subtask_index),
        };
    d->tasks[d->task_count++] = task_new(&t);
}

struct deployment *deployment_new(const struct deployment_config *c)
{
    const struct graph *g = c->graph;
    struct deployment *d = mem_calloc(1, sizeof *d);
    uint32_t task_count = count_tasks(g), first_operator = 0;

    d->graph = g;
    if (c->budget->limited)
        d->memory = keyed_memory_new(&c->budget->memory);
    d->exchange = exchange_new(g, (uint32_t)config_int(c->config, OPT_EXCHANGE_CAPACITY));
    exchange_limit(d->exchange, config_bytes(c->config, OPT_CP_IN_FLIGHT_MAX));
    d->executor = executor_new(c->env, count_workers(c, task_count),
                               (uint32_t)config_int(c->config, OPT_SNAPSHOT_THREADS));
    d->tasks = mem_calloc(task_count, sizeof(struct task *));
    d->ended = mem_calloc(task_count, sizeof(bool));
    for (uint32_t v = 0; v < g->vertex_count; v++) {
        for (uint32_t i = 0; i < g->vertices[v].parallelism; i++) {
            add_task(d, c, v, i, first_operator);
            /* Neighbours in a pipeline go to different workers, subtasks of a vertex too. */
            executor_add(d->executor, task_runnable(d->tasks[d->task_count - 1]), v + i);
        }
        first_operator += g->vertices[v].operator_count;
    }
    executor_start(d->executor);
    return d;
}

void deployment_stop(struct deployment *d)
{
    ASSERT(deployment_all_ended(d));
    executor_free(d->executor);
    d->executor = NULL;
    if (d->memory != NULL)
        keyed_memory_retire(d->memory);
    for (uint32_t i = 0; i < d->task_count; i++)
        task_discard_mail(d->tasks[i]);
}

void deployment_free(struct deployment *d)
{
    if (d == NULL)
        return;
    if (d->executor != NULL)
        deployment_stop(d);
    for (uint32_t i = 0; i < d->task_count; i++)
        task_free(d->tasks[i]);
    keyed_memory_free(d->memory);
    exchange_free(d->exchange);
    mem_free(d->tasks);
    mem_free(d->ended);
    mem_free(d);
}

uint32_t deployment_task_count(const struct deployment *d)
{
    return d->task_count;
}

const char *deployment_task_name(const struct deployment *d, uint32_t task)
{
    return task_name(d->tasks[task]);
}

void deployment_post(struct deployment *d, uint32_t task, const struct task_message *m)
{
    if (!d->ended[task])
        task_post(d->tasks[task], m);
    else if (m->kind == TASK_TRIGGER)
        m->release(m->target);
}

void deployment_cancel(struct deployment *d, bool commit_completed)
{
    for (uint32_t i = 0; i < d->task_count; i++) {
        if (!d->ended[i])
            task_cancel(d->tasks[i], commit_completed);
    }
}

bool deployment_ended(struct deployment *d, uint32_t task)
{
    ASSERT(!d->ended[task]);
    d->ended[task] = true;
    d->ended_count++;
    return d->ended_count == d->task_count;
}

bool deployment_all_ended(const struct deployment *d)
{
    return d->ended_count == d->task_count;
}

struct executor *deployment_executor(struct deployment *d)
{
    return d->executor;
}

void deployment_memory(struct deployment *d, struct keyed_memory_stats *out)
{
    if (d->memory != NULL)
        keyed_memory_stats(d->memory, out);
}

void deployment_view(struct deployment *d, struct arena *arena, struct vertex_view *vertices)
{
    uint32_t task = 0;

    for (uint32_t v = 0; v < d->graph->vertex_count; v++) {
        vertices[v].subtasks =
            ARENA_ARRAY(arena, d->graph->vertices[v].parallelism, struct subtask_view);
        for (uint32_t i = 0; i < d->graph->vertices[v].parallelism; i++)
            task_view(d->tasks[task++], arena, &vertices[v].subtasks[i]);
    }
}
