/* task_table.c - see task_table.h */
#include "checkpoint/task_table.h"

struct task_table {
    struct arena *arena; /* of everything below */
    uint32_t vertex_count, edge_count, task_count;
    struct stats_vertex *vertices;
    struct coordinator_edge *edges;
    uint32_t *first_task; /* by vertex */
    enum task_phase *phases;
};

static const bool may_move[TASK_PHASE_COUNT][TASK_PHASE_COUNT] = {
    [TASK_DOWN] = {[TASK_UP] = true},
    [TASK_UP] = {[TASK_AT_END] = true, [TASK_GONE] = true},
    [TASK_AT_END] = {[TASK_RELEASED] = true, [TASK_GONE] = true},
    [TASK_RELEASED] = {[TASK_GONE] = true},
};

bool task_may_move(enum task_phase from, enum task_phase to)
{
    ASSERT(from < TASK_PHASE_COUNT && to < TASK_PHASE_COUNT);
    return may_move[from][to];
}

struct task_table *task_table_new(const struct stats_vertex *vertices, uint32_t vertex_count,
                                  const struct coordinator_edge *edges, uint32_t edge_count)
{
    struct arena *arena = arena_new(0);
    struct task_table *t = ARENA_NEW(arena, struct task_table);

    ASSERT(vertex_count > 0);
    t->arena = arena;
    t->vertex_count = vertex_count;
    t->edge_count = edge_count;
    t->vertices = ARENA_ARRAY(arena, vertex_count, struct stats_vertex);
    t->first_task = ARENA_ARRAY(arena, vertex_count, uint32_t);
    for (uint32_t v = 0; v < vertex_count; v++) {
        t->vertices[v] = vertices[v];
        t->vertices[v].name = arena_strdup(arena, vertices[v].name);
        t->first_task[v] = t->task_count;
        t->task_count += vertices[v].parallelism;
    }
    if (edge_count > 0)
        t->edges = arena_copy(arena, edges, edge_count * sizeof *edges);
    t->phases = ARENA_ARRAY(arena, t->task_count, enum task_phase);
    return t;
}

void task_table_free(struct task_table *t)
{
    if (t != NULL)
        arena_free(t->arena);
}

void task_table_reset(struct task_table *t)
{
    for (uint32_t i = 0; i < t->task_count; i++)
        t->phases[i] = TASK_DOWN;
}

uint32_t task_table_size(const struct task_table *t)
{
    return t->task_count;
}

enum task_phase task_table_phase(const struct task_table *t, uint32_t task)
{
    ASSERT(task < t->task_count);
    return t->phases[task];
}

bool task_table_move(struct task_table *t, uint32_t task, enum task_phase to)
{
    ASSERT(task < t->task_count);
    if (!may_move[t->phases[task]][to])
        return false;
    t->phases[task] = to;
    return true;
}

uint32_t task_table_count(const struct task_table *t, enum task_phase phase)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < t->task_count; i++)
        count += t->phases[i] == phase;
    return count;
}

void task_table_locate(const struct task_table *t, uint32_t task, uint32_t *vertex,
                       uint32_t *subtask_index)
{
    uint32_t v = 0;

    ASSERT(task < t->task_count);
    while (v + 1 < t->vertex_count && t->first_task[v + 1] <= task)
        v++;
    *vertex = v;
    *subtask_index = task - t->first_task[v];
}

const char *task_table_name(const struct task_table *t, uint32_t task, struct arena *arena)
{
    uint32_t vertex, subtask_index;

    task_table_locate(t, task, &vertex, &subtask_index);
    return arena_printf(arena, "%s (%u/%u)", t->vertices[vertex].name, subtask_index + 1,
                        t->vertices[vertex].parallelism);
}

/* Clears the tasks behind one edge that get the barrier through it. */
static void clear_fed(const struct task_table *t, const struct coordinator_edge *edge,
                      const struct pending *attempt, bool *out)
{
    uint32_t from = t->first_task[edge->from_vertex], to = t->first_task[edge->to_vertex];
    uint32_t from_count = t->vertices[edge->from_vertex].parallelism;
    uint32_t to_count = t->vertices[edge->to_vertex].parallelism;
    bool any = false;

    for (uint32_t i = 0; i < from_count; i++)
        any = any || pending_expects(attempt, from + i);
    for (uint32_t i = 0; i < to_count; i++)
        if (edge->pointwise ? i < from_count && pending_expects(attempt, from + i) : any)
            out[to + i] = false;
}

void task_table_heads(const struct task_table *t, const struct pending *attempt, bool *out)
{
    for (uint32_t i = 0; i < t->task_count; i++)
        out[i] = pending_expects(attempt, i);
    for (uint32_t e = 0; e < t->edge_count; e++)
        clear_fed(t, &t->edges[e], attempt, out);
}
