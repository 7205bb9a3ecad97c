/* explain.c - see explain.h. */
#include "job/sql/explain.h"

#include "job/sql/plan_priv.h"

#define DEPTH_MAX 400 /* of a tree; the planner's limits keep it far below */

/* "+- " and "|  " as Flink draws trees; pads[level]: a sibling follows on that level. */
static void print_tree(const struct plan_node *n, uint32_t depth, bool *siblings, bool changelog,
                       struct buf *out)
{
    for (uint32_t i = 0; i + 1 < depth; i++)
        buf_append_str(out, siblings[i] ? ":  " : "   ");
    if (depth > 0)
        buf_append_str(out, siblings[depth - 1] ? ":- " : "+- ");
    if (changelog && n->changelog != NULL)
        buf_printf(out, "%.*s, changelogMode=[%s])\n", (int)strlen(n->text) - 1, n->text,
                   n->changelog);
    else
        buf_printf(out, "%s\n", n->text);
    for (uint32_t i = 0; i < n->input_count && depth < DEPTH_MAX; i++) {
        siblings[depth] = i + 1 < n->input_count;
        print_tree(n->inputs[i], depth + 1, siblings, changelog, out);
    }
}

static void print_section(const char *title, uint32_t count, struct plan_node *const *sinks,
                          bool changelog, struct buf *out)
{
    bool siblings[DEPTH_MAX + 1] = {false};

    buf_printf(out, "== %s ==\n", title);
    for (uint32_t i = 0; i < count; i++) {
        print_tree(sinks[i], 0, siblings, changelog, out);
        buf_append_u8(out, '\n');
    }
}

static const char *partitioning_str(const struct graph_edge *e)
{
    static const char *const words[] = {"forward", "rebalance", "hash", "global"};

    return words[e->partitioning];
}

static void print_operator(const struct operator_spec *op, struct buf *out)
{
    buf_printf(out, "   %s\n      id=%s", op->description, op->id);
    if (op->uid[0] != '\0')
        buf_printf(out, ", uid=%s", op->uid);
    for (size_t i = 0; i < op->state_count; i++)
        buf_printf(out, "%s%s", i == 0 ? ", states=[" : ", ", op->states[i].name);
    buf_append_str(out, op->state_count > 0 ? "]" : "");
    if (op->state_count > 0 && op->states[0].ttl_ms != 0)
        buf_printf(out, ", ttl=%llu ms", (unsigned long long)op->states[0].ttl_ms);
    if (op->blind != NULL)
        buf_printf(out, "\n      blind updates: %s", op->blind);
    buf_append_u8(out, '\n');
}

static void print_graph(const struct graph *g, struct buf *out)
{
    buf_append_str(out, "== Optimized Execution Plan ==\n");
    for (uint32_t v = 0; v < g->vertex_count; v++) {
        const struct graph_vertex *vertex = &g->vertices[v];

        buf_printf(out, "Vertex %u: %s, parallelism=%u", v + 1, vertex->name, vertex->parallelism);
        for (uint32_t e = 0; e < g->edge_count; e++)
            if (g->edges[e].to_vertex == v)
                buf_printf(out, ", input=%u (%s)", g->edges[e].from_vertex + 1,
                           partitioning_str(&g->edges[e]));
        buf_append_u8(out, '\n');
        for (uint32_t o = 0; o < vertex->operator_count; o++)
            print_operator(&vertex->operators[o], out);
    }
}

void explain_print(uint32_t sink_count, struct plan_node *const *logical,
                   struct plan_node *const *physical, const struct graph *graph,
                   bool changelog_mode, struct buf *out)
{
    print_section("Abstract Syntax Tree", sink_count, logical, false, out);
    print_section("Optimized Physical Plan", sink_count, physical, changelog_mode, out);
    print_graph(graph, out);
}
