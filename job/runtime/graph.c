/* graph.c - see graph.h */
#include "job/runtime/graph.h"

#include "base/hash.h"

void graph_free(struct graph *g)
{
    if (g != NULL)
        arena_free(g->arena); /* g lies in it */
}

void operator_id_of(const char *text, char out[OPERATOR_ID_LEN + 1])
{
    _Static_assert(OPERATOR_ID_LEN == DIGEST_HEX_LEN, "an id is a digest in hex");
    digest_hex(digest_of(bytes_of_str(text)), out);
}

void graph_fingerprint(const struct graph *g, uint32_t occurrence, char out[OPERATOR_ID_LEN + 1])
{
    struct buf text = {0};

    buf_printf(&text, "%u\n%s", occurrence, g->sql == NULL ? "" : g->sql);
    operator_id_of(buf_cstr(&text), out);
    buf_release(&text);
}

static bool id_is_valid(const char *id)
{
    size_t len = strnlen(id, OPERATOR_ID_LEN + 1);

    return len == OPERATOR_ID_LEN && strspn(id, "0123456789abcdef") == len;
}

static enum rc check_operators(const struct graph *g, const struct graph_vertex *v, bool has_input,
                               struct err *err)
{
    if (v->operator_count == 0)
        return err_set(err, RC_INVALID, "vertex %s has no operator", v->name);
    if (strcmp(v->id, v->operators[0].id) != 0)
        return err_set(err, RC_INVALID, "vertex %s: id %s is not that of its first operator",
                       v->name, v->id);
    for (uint32_t i = 0; i < v->operator_count; i++) {
        const struct operator_spec *op = &v->operators[i];

        if (!id_is_valid(op->id))
            return err_set(err, RC_INVALID, "operator %s: id \"%.*s\" is not %d hex digits",
                           op->name, OPERATOR_ID_LEN, op->id, OPERATOR_ID_LEN);
        if (op->is_source != (i == 0 && !has_input))
            return err_set(err, RC_INVALID, "operator %s: %s", op->name,
                           op->is_source ? "a source cannot have an input" : "nothing leads to it");
        if (op->make == NULL)
            return err_set(err, RC_INVALID, "operator %s has no constructor", op->name);
        if (op->state_count > 0 && !op->keyed)
            return err_set(err, RC_INVALID, "operator %s has keyed states but is not keyed",
                           op->name);
    }
    if (v->parallelism < 1 || v->parallelism > g->key_group_count)
        return err_set(err, RC_INVALID,
                       "vertex %s: parallelism %u is not between 1 and the %u key groups "
                       "(pipeline.max-parallelism)",
                       v->name, v->parallelism, g->key_group_count);
    return RC_OK;
}

static bool is_keyed(const struct graph_vertex *v)
{
    for (uint32_t i = 0; i < v->operator_count; i++) {
        if (v->operators[i].keyed)
            return true;
    }
    return false;
}

static enum rc check_edge(const struct graph *g, uint32_t index, struct err *err)
{
    const struct graph_edge *e = &g->edges[index];
    const struct graph_vertex *from, *to;

    if (e->from_vertex >= e->to_vertex || e->to_vertex >= g->vertex_count)
        return err_set(err, RC_INVALID, "edge %u from vertex %u to %u breaks the topological order",
                       index, e->from_vertex, e->to_vertex);
    from = &g->vertices[e->from_vertex];
    to = &g->vertices[e->to_vertex];
    if (e->schema == NULL)
        return err_set(err, RC_INVALID, "edge %s to %s has no schema", from->name, to->name);
    if (e->partitioning == PARTITION_FORWARD && from->parallelism != to->parallelism)
        return err_set(err, RC_INVALID, "forward edge %s to %s: parallelism %u and %u", from->name,
                       to->name, from->parallelism, to->parallelism);
    if (e->partitioning == PARTITION_HASH && e->key_count == 0)
        return err_set(err, RC_INVALID, "hash edge %s to %s has no key", from->name, to->name);
    for (uint32_t i = 0; i < e->key_count; i++) {
        if (e->keys[i] >= e->schema->field_count)
            return err_set(err, RC_INVALID, "edge %s to %s: key column %u of %u", from->name,
                           to->name, e->keys[i], e->schema->field_count);
    }
    /* C1: a key's rows must reach the one subtask that owns its group. */
    if (is_keyed(to) && to->parallelism > 1 && e->partitioning != PARTITION_HASH)
        return err_set(err, RC_INVALID, "edge %s to %s: keyed input that is not partitioned by key",
                       from->name, to->name);
    return RC_OK;
}

static enum rc check_ids_distinct(const struct graph *g, struct err *err)
{
    for (uint32_t v = 0; v < g->vertex_count; v++) {
        for (uint32_t o = 0; o < g->vertices[v].operator_count; o++) {
            const struct operator_spec *a = &g->vertices[v].operators[o];

            for (uint32_t w = 0; w <= v; w++) {
                for (uint32_t p = 0; p < (w == v ? o : g->vertices[w].operator_count); p++) {
                    const struct operator_spec *b = &g->vertices[w].operators[p];

                    if (strcmp(a->id, b->id) == 0)
                        return err_set(err, RC_INVALID, "operators %s and %s have the same id %s",
                                       b->name, a->name, a->id);
                }
            }
        }
    }
    return RC_OK;
}

enum rc graph_check(const struct graph *g, struct err *err)
{
    if (g->vertex_count == 0)
        return err_set(err, RC_INVALID, "the job has no operators");
    if (g->key_group_count < 1 || g->key_group_count > KEY_GROUP_COUNT_MAX)
        return err_set(err, RC_INVALID, "%u key groups: not between 1 and %u", g->key_group_count,
                       KEY_GROUP_COUNT_MAX);
    for (uint32_t i = 0; i < g->edge_count; i++)
        RETURN_IF_ERR(check_edge(g, i, err));
    for (uint32_t v = 0; v < g->vertex_count; v++) {
        bool has_input = false;

        for (uint32_t i = 0; i < g->edge_count; i++)
            has_input |= g->edges[i].to_vertex == v;
        RETURN_IF_ERR(check_operators(g, &g->vertices[v], has_input, err));
    }
    return check_ids_distinct(g, err);
}

uint32_t graph_edge_ordinal(const struct graph *g, uint32_t edge)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < edge; i++)
        n += g->edges[i].from_vertex == g->edges[edge].from_vertex &&
             g->edges[i].to_vertex == g->edges[edge].to_vertex;
    return n;
}

const char *graph_partitioning_str(struct arena *arena, const struct graph_edge *e)
{
    static const char *const words[] = {"FORWARD", "REBALANCE", "HASH", "GLOBAL"};
    struct buf text = {0};
    const char *out;

    buf_append_str(&text, words[e->partitioning]);
    for (uint32_t i = 0; e->partitioning == PARTITION_HASH && i < e->key_count; i++)
        buf_printf(&text, "%s%u", i == 0 ? "(" : ",", e->keys[i]);
    if (e->partitioning == PARTITION_HASH)
        buf_append_str(&text, ")");
    out = arena_strdup(arena, buf_cstr(&text));
    buf_release(&text);
    return out;
}
