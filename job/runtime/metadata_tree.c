/* metadata_tree.c - see metadata_tree.h */
#include "job/runtime/metadata_tree.h"

#include <stdio.h>

struct settings {
    struct arena *arena;
    struct metadata_pair *pairs;
    size_t count, cap;
};
static void add_setting(void *ctx, const struct option *option, const char *value,
                        enum config_layer source)
{
    struct settings *s = ctx;

    (void)source;
    if (s->count == s->cap) {
        struct metadata_pair *more = ARENA_ARRAY(s->arena, s->cap * 2 + 16, struct metadata_pair);

        if (s->count > 0)
            memcpy(more, s->pairs, s->count * sizeof *more);
        s->cap = s->cap * 2 + 16;
        s->pairs = more;
    }
    s->pairs[s->count++] =
        (struct metadata_pair){arena_strdup(s->arena, option->key), arena_strdup(s->arena, value)};
}

static void build_operator(const struct graph *g, const struct graph_vertex *v, uint32_t op,
                           struct task_event *const *acks, struct arena *arena,
                           struct operator_meta *out)
{
    const struct operator_spec *spec = &v->operators[op];

    *out = (struct operator_meta){
        .uid = spec->uid,
        .name = spec->name,
        .parallelism = v->parallelism,
        .key_group_count = g->key_group_count,
        .finished = true,
        .subtask_count = v->parallelism,
        .subtasks = ARENA_ARRAY(arena, v->parallelism, struct subtask_state),
    };
    memcpy(out->id, spec->id, sizeof out->id);
    memcpy(out->exact_id, spec->exact_id, sizeof out->exact_id);
    for (uint32_t i = 0; i < v->parallelism; i++) {
        const struct task_event *ack = acks[i];

        if (ack != NULL) {
            out->subtasks[i] = ack->states[op]; /* its strings live as long as the attempt */
            out->finished = false;
        } else {
            out->subtasks[i] = (struct subtask_state){.subtask_index = i, .finished = true};
        }
    }
}

struct checkpoint_metadata *metadata_tree_build(const struct metadata_tree_job *job,
                                                const struct attempt *a, int64_t completed_wall_ms,
                                                struct arena *arena)
{
    const struct graph *g = job->graph;
    struct checkpoint_metadata *m = ARENA_NEW(arena, struct checkpoint_metadata);
    struct settings settings = {.arena = arena};
    size_t n = 0;
    uint32_t first_task = 0;

    m->checkpoint_id = a->id;
    m->kind = a->barrier.kind;
    snprintf(m->job_id, sizeof m->job_id, "%s", job->job_id);
    m->job_name = g->job_name;
    m->trigger_wall_ms = a->barrier.trigger_wall_ms;
    m->completed_wall_ms = completed_wall_ms;
    m->varve_version = VARVE_VERSION;
    m->rocksdb_version = job->rocksdb_version;
    m->sql = g->sql;
    config_list(job->config, true, add_setting, &settings);
    m->settings = settings.pairs;
    m->setting_count = settings.count;
    for (uint32_t v = 0; v < g->vertex_count; v++)
        m->operator_count += g->vertices[v].operator_count;
    m->operators = ARENA_ARRAY(arena, m->operator_count, struct operator_meta);
    for (uint32_t v = 0; v < g->vertex_count; v++) {
        for (uint32_t o = 0; o < g->vertices[v].operator_count; o++)
            build_operator(g, &g->vertices[v], o, a->acks + first_task, arena, &m->operators[n++]);
        first_task += g->vertices[v].parallelism;
    }
    return m;
}
