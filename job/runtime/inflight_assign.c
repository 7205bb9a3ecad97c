/* inflight_assign.c - see inflight_assign.h */
#include "job/runtime/inflight_assign.h"

#include "job/runtime/inflight_file.h"
#include "job/runtime/replay.h"

/* One operator's assignment. */
struct assigning {
    const struct graph *graph;
    uint32_t vertex, op, parallelism, key_group_count;
    const struct checkpoint_metadata *m, *written;
    const struct operator_meta *old;
    struct arena *arena;
    struct assigned_operator *out;
    const char *changed; /* an operator before this one that the snapshot has not just so; NULL: none */
    size_t *caps; /* by new subtask */
    struct err *err;
};

static const char *name_of(const struct assigning *a)
{
    return a->graph->vertices[a->vertex].operators[a->op].name;
}

/* The sender, whose id may be another in this job; NULL: the snapshot has none of that id. */
static const struct operator_meta *sender(const struct assigning *a, const char *from_id)
{
    for (size_t i = 0; i < a->written->operator_count; i++)
        if (strcmp(a->written->operators[i].id, from_id) == 0)
            return &a->m->operators[i];
    return NULL;
}

/* Old handles of equal routing lie where their key groups lie. */
static bool may_have_rows_for(const struct assigning *a, const struct subtask_state *from,
                              bool same_routing, uint32_t subtask)
{
    struct key_group_range theirs, own;

    if (!same_routing)
        return true;
    theirs = keygroup_range_of(from->subtask_index, a->old->parallelism, a->key_group_count);
    own = keygroup_range_of(subtask, a->parallelism, a->key_group_count);
    return theirs.first <= own.last && own.first <= theirs.last;
}

static void give(struct assigning *a, uint32_t subtask, const struct channel_handle *h,
                 const char *from_id)
{
    struct subtask_state *to = &a->out->subtasks[subtask];

    if (to->channel_count == a->caps[subtask]) {
        size_t cap = 2 * a->caps[subtask] + 4;
        struct channel_handle *more = ARENA_ARRAY(a->arena, cap, struct channel_handle);

        if (to->channel_count > 0)
            memcpy(more, to->channels, to->channel_count * sizeof *more);
        to->channels = more;
        a->caps[subtask] = cap;
    }
    to->channels[to->channel_count] = *h;
    to->channels[to->channel_count++].from_id = from_id;
}

static enum rc check_types(const struct assigning *a, const struct channel_handle *h,
                           const struct operator_meta *from, const struct schema *schema)
{
    const char *now = inflight_row_type(a->arena, schema);

    if (strcmp(now, h->row_type) == 0)
        return RC_OK;
    return err_set(a->err, RC_INVALID,
                   "operator \"%s\": %llu rows in flight from \"%s\" have the columns (%s), in this job "
                   "they are (%s)",
                   name_of(a), (unsigned long long)h->row_count, from->name, h->row_type, now);
}

/* The snapshot has an operator of the same full text; a source's only says where rows come from. */
static bool is_unchanged(const struct assigning *a, const struct operator_spec *spec)
{
    if (spec->is_source || spec->exact_id[0] == '\0')
        return true;
    for (size_t i = 0; i < a->m->operator_count; i++)
        if (strcmp(a->m->operators[i].exact_id, spec->exact_id) == 0)
            return true;
    return false;
}

/* One of the first `count` operators of a vertex, or of those before it, that the snapshot has not just so; NULL:
 * none. */
static const char *changed_before(const struct assigning *a, uint32_t vertex, uint32_t count)
{
    const struct graph_vertex *v = &a->graph->vertices[vertex];
    const char *found = NULL;

    for (uint32_t i = 0; i < count; i++)
        if (!is_unchanged(a, &v->operators[i]))
            return v->operators[i].name;
    for (uint32_t e = 0; e < a->graph->edge_count && found == NULL; e++) {
        uint32_t from = a->graph->edges[e].from_vertex;

        if (a->graph->edges[e].to_vertex == vertex)
            found = changed_before(a, from, a->graph->vertices[from].operator_count);
    }
    return found;
}

/* Equal types are not enough: SUM(a) that has become SUM(b) gives the same columns. */
static enum rc check_meaning(const struct assigning *a, const struct channel_handle *h,
                             const struct operator_meta *from)
{
    if (a->changed == NULL)
        return RC_OK;
    return err_set(a->err, RC_INVALID,
                   "operator \"%s\": %llu rows in flight from \"%s\" are of a query in which \"%s\" was another "
                   "one: start that query from here, take a savepoint, and change it then",
                   name_of(a), (unsigned long long)h->row_count, from->name, a->changed);
}

static enum rc check_order(const struct assigning *a, const struct channel_handle *h,
                           const struct operator_meta *from, bool by_key, bool same_way)
{
    bool updates = h->updates || a->graph->vertices[a->vertex].operators[a->op].input_updates;

    /* A row that is new to the sink, too: what changes it comes to another subtask, maybe before. */
    if (!updates || by_key || a->parallelism == 1 ||
        (same_way && a->old->parallelism == a->parallelism))
        return RC_OK;
    return err_set(a->err, RC_UNSUPPORTED,
                   "operator \"%s\": rows in flight from \"%s\" are changes, and their order would be "
                   "lost at parallelism %u instead of %u: start it with parallelism %u, take a savepoint, "
                   "and go on from that",
                   name_of(a), from->name, a->parallelism, a->old->parallelism, a->old->parallelism);
}

static enum rc drop(struct assigning *a, const struct channel_handle *h, const char *from,
                    bool allowed)
{
    if (!allowed)
        return err_set(a->err, RC_INVALID,
                       "operator \"%s\": the snapshot has %llu rows in flight to it from %s, which does "
                       "not lead there in this job; start with -n (--allow-non-restored-state) to drop "
                       "them",
                       name_of(a), (unsigned long long)h->row_count, from);
    a->out->fit.said =
        arena_printf(a->arena, "%s%s%llu rows in flight from %s are dropped",
                     a->out->fit.said != NULL ? a->out->fit.said : "",
                     a->out->fit.said != NULL && a->out->fit.said[0] != '\0' ? "; " : "",
                     (unsigned long long)h->row_count, from);
    return RC_OK;
}

static enum rc assign_handle(struct assigning *a, const struct subtask_state *s,
                             const struct channel_handle *h, bool allow_non_restored)
{
    const struct operator_meta *from = sender(a, h->from_id);
    const char *from_name =
        from == NULL ? h->from_id : arena_printf(a->arena, "\"%s\"", from->name);
    struct inflight_route route;
    bool by_key, same_way;

    if (from == NULL ||
        !inflight_route_find(a->graph, a->vertex, a->op, from->id, h->ordinal, &route))
        return drop(a, h, from_name, allow_non_restored);
    by_key = route.edge != NULL && route.edge->partitioning == PARTITION_HASH;
    same_way = route.edge != NULL &&
               strcmp(graph_partitioning_str(a->arena, route.edge), h->partitioning) == 0;
    RETURN_IF_ERR(check_types(a, h, from, route.schema));
    RETURN_IF_ERR(check_meaning(a, h, from));
    RETURN_IF_ERR(check_order(a, h, from, by_key, same_way));
    if (!by_key) {
        give(a,
             route.edge != NULL && route.edge->partitioning == PARTITION_GLOBAL
                 ? 0
                 : s->subtask_index % a->parallelism,
             h, from->id);
        return RC_OK;
    }
    for (uint32_t i = 0; i < a->parallelism; i++)
        if (may_have_rows_for(a, s, same_way && a->old->key_group_count == a->key_group_count, i))
            give(a, i, h, from->id);
    return RC_OK;
}

/* In the order of the old subtasks, whatever order the tree has them in (C10). */
static const struct subtask_state *subtask_at(const struct operator_meta *op, uint32_t index)
{
    for (size_t s = 0; s < op->subtask_count; s++)
        if (op->subtasks[s].subtask_index == index)
            return &op->subtasks[s];
    return NULL;
}

enum rc inflight_assign(const struct graph *g, uint32_t vertex, uint32_t op,
                        const struct checkpoint_metadata *m,
                        const struct checkpoint_metadata *written, uint32_t key_group_count,
                        bool allow_non_restored, struct arena *arena, struct assigned_operator *out,
                        struct err *err)
{
    struct assigning a = {.graph = g,
                          .vertex = vertex,
                          .op = op,
                          .parallelism = g->vertices[vertex].parallelism,
                          .key_group_count = key_group_count,
                          .m = m,
                          .written = written,
                          .arena = arena,
                          .out = out,
                          .err = err};

    for (size_t i = 0; i < m->operator_count && a.old == NULL; i++)
        if (strcmp(m->operators[i].id, g->vertices[vertex].operators[op].id) == 0)
            a.old = &m->operators[i];
    if (a.old == NULL)
        return RC_OK;
    a.changed = changed_before(&a, vertex, op);
    a.caps = ARENA_ARRAY(arena, a.parallelism, size_t);
    for (uint32_t i = 0; i < a.old->parallelism; i++) {
        const struct subtask_state *s = subtask_at(a.old, i);

        for (size_t h = 0; s != NULL && h < s->channel_count; h++)
            RETURN_IF_ERR(assign_handle(&a, s, &s->channels[h], allow_non_restored));
    }
    return RC_OK;
}
