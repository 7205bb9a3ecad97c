/* test_graph.c - the shape rules of a graph: a planner's mistake is refused before anything starts.
 */
#include "job/runtime/graph.h"
#include "tests/lib/check_ext.h"

static struct operator* make_none(const void *spec)
{
    (void)spec;
    return NULL;
}
static struct schema_field fields[] = {{"k", {TYPE_BIGINT, true, 0, 0, 0}}};
static struct schema schema = {1, fields, -1};
static uint32_t keys[] = {0};

/* source -> keyed aggregate */
struct shape {
    struct operator_spec ops[2];
    struct graph_vertex vertices[2];
    struct graph_edge edge;
    struct graph g;
};
static void shape_init(struct shape *s)
{
    memset(s, 0, sizeof *s);
    for (uint32_t i = 0; i < 2; i++) {
        operator_id_of(i == 0 ? "source" : "agg", s->ops[i].id);
        s->ops[i].name = i == 0 ? "Source" : "GroupAggregate[k]";
        s->ops[i].make = make_none;
        s->vertices[i] = (struct graph_vertex){
            .name = s->ops[i].name, .parallelism = 2, .operator_count = 1, .operators = &s->ops[i]};
        memcpy(s->vertices[i].id, s->ops[i].id, sizeof s->ops[i].id);
    }
    s->ops[0].is_source = true;
    s->ops[1].keyed = s->ops[1].stateful = true;
    s->edge = (struct graph_edge){0, 1, PARTITION_HASH, 1, keys, &schema};
    s->g = (struct graph){.job_name = "j",
                          .sql = "",
                          .key_group_count = 128,
                          .vertex_count = 2,
                          .edge_count = 1,
                          .vertices = s->vertices,
                          .edges = &s->edge};
}

START_TEST(a_good_graph_passes)
{
    struct shape s;
    struct err err = {0};

    shape_init(&s);
    ck_assert_ok(graph_check(&s.g, &err));
}
END_TEST

static void no_vertices(struct shape *s)
{
    s->g.vertex_count = s->g.edge_count = 0;
}
static void too_wide(struct shape *s)
{
    s->vertices[1].parallelism = 129;
}
static void keyed_by_chance(struct shape *s)
{
    s->edge.partitioning = PARTITION_REBALANCE;
}
static void forward_unequal(struct shape *s)
{
    s->ops[1].keyed = false;
    s->edge.partitioning = PARTITION_FORWARD;
    s->vertices[1].parallelism = 1;
}
static void same_id(struct shape *s)
{
    memcpy(s->ops[1].id, s->ops[0].id, sizeof s->ops[0].id);
    memcpy(s->vertices[1].id, s->ops[0].id, sizeof s->ops[0].id);
}
static void bad_id(struct shape *s)
{
    s->ops[0].id[3] = s->vertices[0].id[3] = 'G';
}
static void other_vertex_id(struct shape *s)
{
    s->vertices[1].id[0] ^= 1;
}
static void backwards(struct shape *s)
{
    s->edge.from_vertex = 1, s->edge.to_vertex = 0;
}
static void no_key(struct shape *s)
{
    s->edge.key_count = 0;
}
static void key_out_of_schema(struct shape *s)
{
    static uint32_t one[] = {1};

    s->edge.keys = one;
}
static void unfed(struct shape *s)
{
    s->g.edge_count = 0;
}
static void source_with_input(struct shape *s)
{
    s->ops[1].is_source = true;
}
static void empty_vertex(struct shape *s)
{
    s->vertices[0].operator_count = 0;
}
static void groups(struct shape *s)
{
    s->g.key_group_count = 40000;
}

static const struct {
    void (*spoil)(struct shape *);
    const char *says;
} cases[] = {
    {no_vertices, "no operators"},
    {too_wide, "parallelism 129"},
    {keyed_by_chance, "not partitioned by key"},
    {forward_unequal, "parallelism 2 and 1"},
    {same_id, "the same id"},
    {bad_id, "is not 32 hex digits"},
    {other_vertex_id, "not that of its first"},
    {backwards, "topological"},
    {no_key, "no key"},
    {key_out_of_schema, "key column 1 of 1"},
    {unfed, "nothing leads to it"},
    {source_with_input, "cannot have an input"},
    {empty_vertex, "has no operator"},
    {groups, "40000 key groups"},
};

START_TEST(a_bad_graph_is_refused_by_name)
{
    struct shape s;
    struct err err = {0};

    shape_init(&s);
    cases[_i].spoil(&s);
    ck_assert_rc_msg(graph_check(&s.g, &err), RC_INVALID, cases[_i].says);
}
END_TEST

TEST_MAIN("graph", tcase_add_test(tc, a_good_graph_passes);
          tcase_add_loop_test(tc, a_bad_graph_is_refused_by_name, 0, ARRAY_LEN(cases)))
