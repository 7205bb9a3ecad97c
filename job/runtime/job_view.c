/* job_view.c - copies of a job's state for REST, the progress line and the report at the end. See
 * supervisor.h */
#include "job/runtime/supervisor_priv.h"

const char *job_state_str(enum job_state s)
{
    static const char *const words[] = {
        "INITIALIZING", "CREATED",  "RUNNING",  "FAILING",    "FAILED",
        "CANCELLING",   "CANCELED", "FINISHED", "RESTARTING", "SUSPENDED",
    };

    ASSERT((unsigned)s < ARRAY_LEN(words));
    return words[s];
}

const char *task_state_str(enum task_state s)
{
    static const char *const words[] = {
        "CREATED",  "DEPLOYING", "INITIALIZING", "RUNNING",
        "FINISHED", "CANCELING", "CANCELED",     "FAILED",
    };

    ASSERT((unsigned)s < ARRAY_LEN(words));
    return words[s];
}

const char *job_id(const struct job *job)
{
    return job->id;
}
const char *job_name(const struct job *job)
{
    return job->graph->job_name;
}
const struct config *job_config(const struct job *job)
{
    return job->config;
}

enum job_state job_state(struct job *job)
{
    enum job_state s;

    mutex_lock(&job->mutex);
    s = job->state;
    mutex_unlock(&job->mutex);
    return s;
}

void job_failure(struct job *job, struct err *out)
{
    mutex_lock(&job->mutex);
    *out = job->failure;
    mutex_unlock(&job->mutex);
}

bool job_wait(struct job *job, int64_t timeout_ms)
{
    int64_t until = clock_mono_ns(job->env->clock) + timeout_ms * NS_PER_MS;
    bool ended;

    mutex_lock(&job->mutex);
    while (!(ended = job_state_is_final(job->state))) {
        int64_t left = timeout_ms < 0 ? -1 : until - clock_mono_ns(job->env->clock);

        if (timeout_ms >= 0 && left <= 0)
            break;
        cond_wait_ns(&job->cond, &job->mutex, left);
    }
    mutex_unlock(&job->mutex);
    return ended;
}

/* Before anything is deployed. */
static void view_undeployed(const struct graph *g, struct arena *arena,
                            struct vertex_view *vertices)
{
    for (uint32_t v = 0; v < g->vertex_count; v++) {
        const struct graph_vertex *vertex = &g->vertices[v];

        vertices[v].subtasks = ARENA_ARRAY(arena, vertex->parallelism, struct subtask_view);
        for (uint32_t i = 0; i < vertex->parallelism; i++) {
            struct subtask_view *s = &vertices[v].subtasks[i];

            *s = (struct subtask_view){
                .state = TASK_CREATED, .start_wall_ms = -1, .end_wall_ms = -1};
            s->operator_count = vertex->operator_count;
            s->operators = ARENA_ARRAY(arena, vertex->operator_count, struct operator_view);
            for (uint32_t o = 0; o < vertex->operator_count; o++) {
                s->operators[o].id = vertex->operators[o].id;
                s->operators[o].name = vertex->operators[o].name;
                s->operators[o].description = vertex->operators[o].description;
                s->operators[o].watermark_ms = WATERMARK_NONE;
            }
        }
    }
}

void vertex_hot_keys(const struct vertex_view *v, uint32_t op, struct hot_view *out)
{
    uint64_t all = 0;

    *out = (struct hot_view){0};
    for (uint32_t i = 0; i < v->parallelism; i++)
        all += v->subtasks[i].operators[op].records_in;
    for (uint32_t i = 0; i < v->parallelism; i++)
        hot_view_add(out, &v->subtasks[i].operators[op].hot, v->subtasks[i].operators[op].records_in,
                     all);
}

void job_view(struct job *job, struct arena *arena, struct job_view *out)
{
    const struct graph *g = job->graph;

    mutex_lock(&job->mutex);
    *out = (struct job_view){
        .id = job->id,
        .name = g->job_name,
        .state = job->state,
        .start_wall_ms = job->start_wall_ms,
        .end_wall_ms = job->end_wall_ms,
        .restarts = job->restarts,
        .vertex_count = g->vertex_count,
        .vertices = ARENA_ARRAY(arena, g->vertex_count, struct vertex_view),
        .graph = g,
        .failure_count = job->failure_count,
        .failures = ARENA_ARRAY(arena, job->failure_count, struct failure_view),
    };
    out->memory_limited = job->budget.limited;
    if (job->deployment != NULL)
        deployment_memory(job->deployment, &out->memory);
    memcpy(out->state_wall_ms, job->state_wall_ms, sizeof out->state_wall_ms);
    for (uint32_t i = 0; i < job->failure_count; i++) {
        const struct failure *f = &job->failures[job->failure_count - 1 - i];

        out->failures[i] = (struct failure_view){arena_strdup(arena, f->message),
                                                 arena_strdup(arena, f->task_name), f->wall_ms};
    }
    for (uint32_t v = 0; v < g->vertex_count; v++) {
        out->vertices[v].id = g->vertices[v].id;
        out->vertices[v].name = g->vertices[v].name;
        out->vertices[v].parallelism = g->vertices[v].parallelism;
        out->vertices[v].key_group_count = g->key_group_count;
    }
    if (job->deployment != NULL)
        deployment_view(job->deployment, arena, out->vertices);
    else
        view_undeployed(g, arena, out->vertices);
    mutex_unlock(&job->mutex);
}

void job_checkpoint_stats(struct job *job, struct arena *arena, struct checkpoint_stats *out)
{
    driver_stats(job->driver, arena, out);
}
