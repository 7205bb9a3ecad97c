/* links: job */
#include "job/sql/parser.h"
#include "job/sql/plan.h"
#include "tests/lib/check_ext.h"

static struct arena *arena;
static struct catalog *catalog;
static struct config *config;
static struct env env;

static const char *const tables =
    "CREATE TABLE seq (id BIGINT) WITH ('connector' = 'datagen', 'fields.id.kind' = 'sequence', "
    "'fields.id.start' = '1', "
    "'fields.id.end' = '10');"
    "CREATE TABLE gen (k STRING, v INT) WITH ('connector' = 'datagen');"
    "CREATE TABLE t (k STRING, v INT, d DECIMAL(10, 2), f DOUBLE, b BOOLEAN) WITH ('connector' = "
    "'filesystem', 'path' = '/in', 'format' = 'csv');"
    "CREATE TABLE e (ts TIMESTAMP(3), k STRING, v BIGINT, WATERMARK FOR ts AS ts - INTERVAL '2' "
    "SECOND) WITH ('connector' = "
    "'filesystem', 'path' = '/in', 'format' = 'csv');"
    "CREATE TABLE c (k STRING, v INT, w AS v * 2) WITH ('connector' = 'filesystem', 'path' = "
    "'/in', 'format' = 'csv');"
    "CREATE TABLE p (k STRING, n BIGINT) WITH ('connector' = 'print');"
    "CREATE TABLE p2 (k STRING, n BIGINT) WITH ('connector' = 'print', 'sink.parallelism' = '2');"
    "CREATE TABLE bh (k STRING, n BIGINT) WITH ('connector' = 'blackhole');"
    "CREATE TABLE o (k STRING, n BIGINT) WITH ('connector' = 'filesystem', 'path' = '/out', "
    "'format' = 'csv');"
    "CREATE TABLE nn (k STRING NOT NULL, n BIGINT) WITH ('connector' = 'blackhole');";

static enum rc run(const char *sql, struct graph **graph, struct err *err);

static void setup(void)
{
    struct err err = {0};

    arena = arena_new(0);
    catalog = catalog_new();
    config = config_new();
    env = (struct env){.fs = fs_posix(), .clock = clock_posix()};
    ck_assert_ok(run(tables, NULL, &err));
}

static void teardown(void)
{
    catalog_free(catalog);
    config_free(config);
    arena_free(arena);
}

/* DDL and SET are done; the last INSERT, statement set or SELECT becomes *graph. */
static enum rc run(const char *sql, struct graph **graph, struct err *err)
{
    struct plan_context ctx = {catalog, config, &env};
    struct ast_script script;
    struct plan_result result;
    const struct schema *schema;
    enum rc rc = sql_parse_script(arena, bytes_of_str(sql), &script, err);

    for (uint32_t i = 0; rc == RC_OK && i < script.count; i++) {
        const struct ast_statement *s = script.statements[i];

        if (s->kind == STMT_SET)
            rc = config_set(config, CONFIG_SET, s->key, s->value, err);
        else if (s->kind == STMT_CREATE_TABLE)
            rc = catalog_create_table(catalog, s, config, err);
        else if (s->kind == STMT_CREATE_VIEW)
            rc = plan_view(&ctx, s->query, s->view_column_count, s->view_columns, s->source, arena,
                           &schema, err) == RC_OK
                     ? catalog_create_view(catalog, s, err)
                     : err->rc;
        else if (s->kind == STMT_SELECT)
            rc = plan_select(&ctx, s, NULL, NULL, graph, &result, err);
        else
            rc = plan_insert(&ctx, s, graph, err);
    }
    return rc;
}

/* "Source: t -> Calc (1) | hash> GroupAggregate[k] -> Sink: p (2)" */
static void dump(const struct graph *g, struct buf *out)
{
    static const char *const words[] = {"forward", "rebalance", "hash", "global"};

    for (uint32_t v = 0; v < g->vertex_count; v++) {
        buf_append_str(out, v == 0 ? "" : " | ");
        for (uint32_t e = 0; e < g->edge_count; e++)
            if (g->edges[e].to_vertex == v)
                buf_printf(out, "%u %s> ", g->edges[e].from_vertex,
                           words[g->edges[e].partitioning]);
        buf_printf(out, "%s (%u)", g->vertices[v].name, g->vertices[v].parallelism);
    }
}

static const char *id_of(const struct graph *g, const char *name)
{
    for (uint32_t v = 0; v < g->vertex_count; v++)
        for (uint32_t o = 0; o < g->vertices[v].operator_count; o++)
            if (strcmp(g->vertices[v].operators[o].name, name) == 0)
                return arena_strdup(arena, g->vertices[v].operators[o].id);
    ck_abort_msg("no operator %s", name);
    return NULL;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static const struct {
    const char *sql, *shape;
} shapes[] = {
    {"INSERT INTO p SELECT k, v FROM t", "Source: t -> Calc -> Sink: p (1)"},
    {"INSERT INTO bh SELECT 'x', id FROM seq", "Source: seq -> Calc -> Sink: bh (1)"},
    {"SELECT id FROM seq", "Source: seq -> Sink: collect (1)"}, /* nothing to compute: no calc */
    {"SELECT id FROM seq WHERE id > 3", "Source: seq -> Calc -> Sink: collect (1)"},
    {"INSERT INTO p SELECT k, COUNT(*) FROM t GROUP BY k",
     "Source: t -> Calc (1) | 0 hash> GroupAggregate[k] -> Sink: p (1)"},
    {"SET 'parallelism.default' = '2'; INSERT INTO p SELECT k, COUNT(*) FROM t GROUP BY k",
     "Source: t -> Calc (2) | 0 hash> GroupAggregate[k] -> Sink: p (2)"},
    {"SET 'parallelism.default' = '3'; INSERT INTO p SELECT 'all', COUNT(*) FROM t",
     "Source: t -> Calc (3) | 0 global> GroupAggregate -> Calc -> Sink: p (1)"},
    {"SET 'parallelism.default' = '3'; INSERT INTO p2 SELECT k, v FROM t",
     "Source: t -> Calc (3) | 0 rebalance> Sink: p2 (2)"},
    {"SET 'parallelism.default' = '3'; SELECT k FROM t",
     "Source: t -> Calc (3) | 0 global> Sink: collect (1)"},
    {"SET 'parallelism.default' = '2'; INSERT INTO p SELECT k, v FROM t /*+ "
     "OPTIONS('scan.parallelism' = '1') */",
     "Source: t -> Calc -> Sink: p (1)"},
    {"SELECT k, w FROM c", "Source: c -> Calc -> Calc -> Sink: collect (1)"},
    {"SELECT DISTINCT k FROM t",
     "Source: t -> Calc (1) | 0 hash> GroupAggregate[k] -> Sink: collect (1)"},
    {"SELECT x.k, SUM(x.n) FROM (SELECT k, v, COUNT(*) AS n FROM t GROUP BY k, v) AS x GROUP BY "
     "x.k",
     "Source: t -> Calc (1) | 0 hash> GroupAggregate[k, v] -> Calc (1) | 1 hash> GroupAggregate[k] "
     "-> Sink: collect (1)"},
    {"SELECT window_start, k, SUM(v) FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(ts), INTERVAL '10' "
     "SECOND)) GROUP BY window_start, window_end, k",
     "Source: e -> WatermarkAssigner -> Calc (1) | 0 hash> WindowAggregate[k] -> Calc -> Sink: "
     "collect (1)"},
    {"SELECT COUNT(*) FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY "
     "window_start, window_end",
     "Source: e -> WatermarkAssigner -> Calc (1) | 0 global> WindowAggregate -> Calc -> Sink: "
     "collect (1)"},
    {"SELECT * FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(ts), INTERVAL '10' SECOND))",
     "Source: e -> WatermarkAssigner -> WindowTableFunction -> Sink: collect (1)"},
    {"SET 'execution.runtime-mode' = 'batch'; SELECT window_end, COUNT(*) FROM TABLE(TUMBLE(TABLE "
     "e, DESCRIPTOR(ts), INTERVAL '1' DAY)) "
     "GROUP BY window_start, window_end",
     "Source: e -> Calc (1) | 0 global> WindowAggregate -> Calc -> Sink: collect (1)"},
    {"EXECUTE STATEMENT SET BEGIN INSERT INTO p SELECT k, v FROM t; INSERT INTO bh SELECT k, 1 "
     "FROM t; END",
     "Source: t (1) | 0 forward> Calc -> Sink: p (1) | 0 forward> Calc -> Sink: bh (1)"}, /* one
                                                                                             source
                                                                                             for
                                                                                             both */
    {"INSERT INTO bh SELECT k, v FROM t UNION ALL SELECT 'x', id FROM seq",
     "Source: t -> Calc (1) | Source: seq -> Calc (1) | 0 forward> 1 forward> Union -> Sink: bh "
     "(1)"},
    {"INSERT INTO p VALUES ('a', 1), ('b', NULL)", "Source: Values -> Calc -> Sink: p (1)"},
    {"SELECT 1 + 1 AS two", "Source: Values -> Sink: collect (1)"},
    {"SELECT * FROM (VALUES (1, 'a'), (2, NULL)) AS v (n, s) WHERE n > 1",
     "Source: Values -> Calc -> Sink: collect (1)"},
    {"INSERT INTO p (n) SELECT id FROM seq", "Source: seq -> Calc -> Sink: p (1)"},
    {"CREATE VIEW w AS SELECT k AS kk, v FROM t WHERE v > 1; CREATE VIEW ww (a, b) AS SELECT * "
     "FROM w; SELECT a FROM ww WHERE b < 5",
     "Source: t -> Calc -> Calc -> Sink: collect (1)"},
};

START_TEST(a_query_becomes_this_graph)
{
    struct graph *g = NULL;
    struct buf out = {0};
    struct err err = {0};

    ck_assert_ok(run(shapes[_i].sql, &g, &err));
    dump(g, &out);
    ck_assert_str_eq(buf_cstr(&out), shapes[_i].shape);
    ck_assert_ok(graph_check(g, &err));
    graph_free(g);
    buf_release(&out);
}
END_TEST

/* ---- types ----------------------------------------------------------------------------------- */

static const struct {
    const char *items, *types;
} types[] = {
    {"COUNT(*), COUNT(v), COUNT(DISTINCT k)", "BIGINT NOT NULL, BIGINT NOT NULL, BIGINT NOT NULL"},
    {"SUM(v), SUM(d), SUM(f)", "INT, DECIMAL(38, 2), DOUBLE"},
    {"AVG(v), AVG(d), AVG(f)", "INT, DECIMAL(38, 6), DOUBLE"},
    {"MIN(k), MAX(d), FIRST_VALUE(v), LAST_VALUE(b)", "STRING, DECIMAL(10, 2), INT, BOOLEAN"},
    {"SUM(v) FILTER (WHERE b), SUM(1), COUNT(*) + 1", "INT, INT, BIGINT NOT NULL"},
};

START_TEST(aggregates_have_flinks_types)
{
    struct graph *g = NULL;
    struct buf out = {0};
    struct err err = {0};
    const struct graph_vertex *last;
    const struct sink_spec *sink;

    ck_assert_ok(run(arena_printf(arena, "SELECT %s FROM t", types[_i].items), &g, &err));
    last = &g->vertices[g->vertex_count - 1];
    sink = last->operators[last->operator_count - 1].spec;
    for (uint32_t i = 0; i < sink->input->field_count; i++) {
        buf_append_str(&out, i == 0 ? "" : ", ");
        type_print(sink->input->fields[i].type, true, &out);
    }
    ck_assert_str_eq(buf_cstr(&out), types[_i].types);
    graph_free(g);
    buf_release(&out);
}
END_TEST

/* ---- ids ------------------------------------------------------------------------------------- */

/* Both statements give the named operator the same id (or, `differ`, another). */
static const struct {
    const char *first, *second, *name, *second_name;
    bool differ;
} ids[] = {
    /* other aliases, spelling, places, projections, filters, calls: the aggregate stays the same */
    {"INSERT INTO p SELECT k, COUNT(*) FROM t GROUP BY k",
     "insert into p\n select x.k as kk, count( * ) from t as x group by x.k", "GroupAggregate[k]",
     NULL, false},
    {"INSERT INTO p SELECT k, COUNT(*) FROM t GROUP BY k",
     "INSERT INTO p SELECT k, SUM(v) FROM t WHERE v > 3 GROUP BY k HAVING SUM(v) > 1",
     "GroupAggregate[k]", NULL, false},
    {"INSERT INTO p SELECT k, COUNT(*) FROM t GROUP BY k",
     "INSERT INTO bh SELECT k, COUNT(*) FROM t GROUP BY k", "GroupAggregate[k]", NULL, false},
    {"INSERT INTO p SELECT k, COUNT(*) FROM t GROUP BY k",
     "INSERT INTO p SELECT y, COUNT(*) FROM (SELECT v, k AS y FROM t) GROUP BY y",
     "GroupAggregate[k]", NULL, false},
    {"INSERT INTO p SELECT k, COUNT(*) FROM t GROUP BY k",
     "EXECUTE STATEMENT SET BEGIN INSERT INTO bh SELECT 'x', COUNT(*) FROM seq GROUP BY id; INSERT "
     "INTO p SELECT k, COUNT(*) FROM t GROUP BY k; END",
     "GroupAggregate[k]", NULL, false},
    {"SET 'parallelism.default' = '1'; INSERT INTO p SELECT k, COUNT(*) FROM t GROUP BY k",
     "SET 'parallelism.default' = '4'; INSERT INTO p SELECT k, COUNT(*) FROM t GROUP BY k",
     "GroupAggregate[k]", NULL, false},
    /* a key of another type is found again, so that its types can be compared */
    {"SELECT v FROM t GROUP BY v", "SELECT CAST(v AS STRING) FROM t GROUP BY CAST(v AS STRING)",
     "GroupAggregate[v]", NULL, false},
    {"SELECT k, v FROM t GROUP BY k, v", "SELECT k, v FROM t GROUP BY v, k", "GroupAggregate[k, v]",
     "GroupAggregate[v, k]", false},
    /* other tables or columns: another aggregate */
    {"SELECT k FROM t GROUP BY k", "SELECT k FROM gen GROUP BY k", "GroupAggregate[k]", NULL, true},
    {"SELECT k FROM t GROUP BY k", "SELECT v FROM t GROUP BY v", "GroupAggregate[k]",
     "GroupAggregate[v]", true},
    {"SELECT COUNT(*) FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY "
     "window_start, window_end",
     "SELECT COUNT(*) FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(ts), INTERVAL '20' SECOND)) GROUP BY "
     "window_start, window_end",
     "WindowAggregate", NULL, true},
    /* a uid holds whatever the query */
    {"SELECT /*+ OPTIONS('varve.uid' = 'x') */ k FROM t GROUP BY k",
     "SELECT /*+ OPTIONS('varve.uid' = 'x') */ DISTINCT v FROM gen", "GroupAggregate[k]",
     "GroupAggregate[v]", false},
    /* sources and sinks: by the table's name, whatever else */
    {"INSERT INTO p SELECT k, v FROM t", "INSERT INTO bh SELECT k, COUNT(*) FROM t GROUP BY k",
     "Source: t", NULL, false},
    {"INSERT INTO p SELECT k, v FROM t", "INSERT INTO p SELECT 'x', id FROM seq", "Sink: p", NULL,
     false},
    {"INSERT INTO p SELECT k, v FROM t", "INSERT INTO bh SELECT k, v FROM t", "Sink: p", "Sink: bh",
     true},
    {"INSERT INTO p SELECT k, v FROM t /*+ OPTIONS('varve.uid' = 'in') */",
     "INSERT INTO p SELECT k, v FROM gen /*+ OPTIONS('varve.uid' = 'in') */", "Source: t",
     "Source: gen", false},
};

START_TEST(ids_follow_the_meaning_and_not_the_place)
{
    const char *second_name = ids[_i].second_name != NULL ? ids[_i].second_name : ids[_i].name;
    struct graph *a = NULL, *b = NULL;
    struct err err = {0};

    ck_assert_ok(run(ids[_i].first, &a, &err));
    ck_assert_ok(run(ids[_i].second, &b, &err));
    if (ids[_i].differ)
        ck_assert_str_ne(id_of(a, ids[_i].name), id_of(b, second_name));
    else
        ck_assert_str_eq(id_of(a, ids[_i].name), id_of(b, second_name));
    graph_free(a);
    graph_free(b);
}
END_TEST

/* Windows of one length over another time are other windows. */
START_TEST(the_id_of_a_window_follows_its_time_column)
{
    static const char *const text =
        "CREATE TABLE two (a TIMESTAMP(3), b TIMESTAMP(3), WATERMARK FOR %s AS %s) WITH "
        "('connector' = 'filesystem', 'path' = '/in', 'format' = 'csv'); SELECT COUNT(*) FROM "
        "TABLE(TUMBLE(TABLE two, DESCRIPTOR(%s), INTERVAL '10' SECOND)) GROUP BY window_start, "
        "window_end";
    struct graph *g[2] = {NULL, NULL};
    struct err err = {0};

    for (int i = 0; i < 2; i++) {
        const char *column = i == 0 ? "a" : "b";

        catalog_free(catalog);
        catalog = catalog_new();
        ck_assert_ok(run(arena_printf(arena, text, column, column, column), &g[i], &err));
    }
    ck_assert_str_ne(id_of(g[0], "WindowAggregate"), id_of(g[1], "WindowAggregate"));
    ck_assert_str_eq(id_of(g[0], "Source: two"), id_of(g[1], "Source: two"));
    graph_free(g[0]);
    graph_free(g[1]);
}
END_TEST

/* Ids are in checkpoints: a change of these values breaks every restore. */
START_TEST(ids_are_these)
{
    struct graph *g = NULL;
    struct err err = {0};

    ck_assert_ok(run("INSERT INTO p SELECT k, COUNT(*) FROM t GROUP BY k", &g, &err));
    ck_assert_str_eq(id_of(g, "Source: t"), "8b820c0ec3f9afa51316634ecf81fdc4");
    ck_assert_str_eq(id_of(g, "GroupAggregate[k]"), "17e80c6ca87517740d3c748623e032eb");
    graph_free(g);
}
END_TEST

static const struct operator_spec *operator_of(const struct graph *g, const char *prefix);

/* The aggregate stays what it is when another of the same columns is added: its id grows, by its
 * full text a restore finds it all the same (B27). */
START_TEST(the_exact_id_does_not_depend_on_other_operators)
{
    struct graph *alone = NULL, *both = NULL;
    const struct operator_spec *in_both = NULL, *spec;
    struct err err = {0};

    ck_assert_ok(run("INSERT INTO bh SELECT 'x', COUNT(*) FROM t GROUP BY MOD(v, 10)", &alone, &err));
    ck_assert_ok(run("EXECUTE STATEMENT SET BEGIN INSERT INTO p SELECT 'y', COUNT(*) FROM t GROUP BY "
                     "MOD(v, 20); INSERT INTO bh SELECT 'x', COUNT(*) FROM t GROUP BY MOD(v, 10); "
                     "END", &both, &err));
    spec = operator_of(alone, "GroupAggregate");
    for (uint32_t v = 0; v < both->vertex_count; v++)
        for (uint32_t o = 0; o < both->vertices[v].operator_count; o++)
            if (strcmp(both->vertices[v].operators[o].exact_id, spec->exact_id) == 0) {
                ck_assert_ptr_null(in_both); /* one of the two */
                in_both = &both->vertices[v].operators[o];
                ck_assert_str_eq(both->vertices[v].operators[both->vertices[v].operator_count - 1].name,
                                 "Sink: bh");
            }
    ck_assert_ptr_nonnull(in_both);
    ck_assert_str_ne(in_both->id, spec->id);
    graph_free(alone);
    graph_free(both);
}
END_TEST

/* Two that differ in an expression only are not told apart by their places: that would give each
 * the other's state when they change places. */
START_TEST(operators_that_differ_in_an_expression_only_keep_their_ids_in_any_order)
{
#define TEN "INSERT INTO bh SELECT 'x', COUNT(*) FROM t GROUP BY MOD(v, 10);"
#define TWENTY "INSERT INTO p SELECT 'y', COUNT(*) FROM t GROUP BY MOD(v, 20);"
#define SOME "INSERT INTO p SELECT 'y', COUNT(*) FROM t WHERE v > 7 GROUP BY MOD(v, 10);"
    static const char *const orders[][2] = {
        {"EXECUTE STATEMENT SET BEGIN " TEN TWENTY " END", "EXECUTE STATEMENT SET BEGIN " TWENTY TEN " END"},
        {"EXECUTE STATEMENT SET BEGIN " TEN SOME " END", "EXECUTE STATEMENT SET BEGIN " SOME TEN " END"},
    };
    struct graph *a = NULL, *b = NULL;
    struct err err = {0};
    const char *of_bh[2] = {NULL, NULL};
    struct graph *graphs[2];

    ck_assert_ok(run(orders[_i][0], &a, &err));
    ck_assert_ok(run(orders[_i][1], &b, &err));
    graphs[0] = a;
    graphs[1] = b;
    for (int i = 0; i < 2; i++)
        for (uint32_t v = 0; v < graphs[i]->vertex_count; v++) {
            const struct graph_vertex *x = &graphs[i]->vertices[v];

            if (strcmp(x->operators[x->operator_count - 1].name, "Sink: bh") == 0)
                of_bh[i] = x->operators[0].id;
        }
    ck_assert_str_eq(of_bh[0], of_bh[1]);
    graph_free(a);
    graph_free(b);
}
END_TEST

START_TEST(equal_operators_are_told_apart)
{
    struct graph *g = NULL;
    struct err err = {0};

    ck_assert_ok(run("EXECUTE STATEMENT SET BEGIN INSERT INTO p SELECT k, COUNT(*) FROM t GROUP BY "
                     "k; INSERT INTO bh SELECT k, COUNT(*) FROM t "
                     "GROUP BY k; INSERT INTO bh SELECT k, SUM(v) FROM t GROUP BY k; END",
                     &g, &err));
    ck_assert_ok(graph_check(g, &err)); /* ids are distinct */
    graph_free(g);
    ck_assert_rc_msg(run("INSERT INTO p /*+ OPTIONS('varve.uid' = 'x') */ SELECT k, v FROM t /*+ "
                         "OPTIONS('varve.uid' = 'x') */",
                         &g, &err),
                     RC_INVALID, "Source: t and Sink: p have the same varve.uid 'x'");
}
END_TEST

/* ---- specs ----------------------------------------------------------------------------------- */

static const struct operator_spec *operator_of(const struct graph *g, const char *prefix)
{
    for (uint32_t v = 0; v < g->vertex_count; v++)
        for (uint32_t o = 0; o < g->vertices[v].operator_count; o++)
            if (strncmp(g->vertices[v].operators[o].name, prefix, strlen(prefix)) == 0)
                return &g->vertices[v].operators[o];
    ck_abort_msg("no operator %s", prefix);
    return NULL;
}

START_TEST(the_aggregate_knows_its_states_and_its_consumer)
{
    const struct aggregate_spec *spec;
    const struct operator_spec *op;
    struct graph *g = NULL;
    struct err err = {0};

    ck_assert_ok(run("INSERT INTO p SELECT k, COUNT(DISTINCT v) FROM t GROUP BY k", &g, &err));
    op = operator_of(g, "GroupAggregate");
    spec = op->spec;
    ck_assert(op->keyed && op->stateful && spec->emit_update_before && !spec->final_only &&
              !spec->retracts);
    ck_assert_uint_ge(op->state_count, 2);
    ck_assert_str_eq(op->states[0].name, "accState");
    ck_assert_str_eq(op->states[0].key_type, "ROW<`k` STRING>");
    graph_free(g);
    ck_assert_ok(run("INSERT INTO bh SELECT k, SUM(n) FROM (SELECT k, v, COUNT(*) AS n FROM t "
                     "GROUP BY k, v) GROUP BY k",
                     &g, &err));
    spec = operator_of(g, "GroupAggregate[k]")->spec;
    ck_assert(
        spec->retracts &&
        !spec->emit_update_before); /* blackhole needs no -U, the aggregate in the middle does */
    spec = operator_of(g, "GroupAggregate[k, v]")->spec;
    ck_assert(spec->emit_update_before);
    graph_free(g);
    ck_assert_ok(run("SET 'execution.runtime-mode' = 'batch'; INSERT INTO o SELECT k, COUNT(*) "
                     "FROM t GROUP BY k",
                     &g, &err));
    spec = operator_of(g, "GroupAggregate")->spec;
    ck_assert(spec->final_only);
    graph_free(g);
}
END_TEST

/* The option for all, the hint for one; both in streaming mode only. */
static const struct {
    const char *sql;
    uint64_t ttl_ms;
} ttls[] = {
    {"SELECT k, COUNT(*) FROM t GROUP BY k", 0},
    {"SET 'table.exec.state.ttl' = '2 h'; SELECT k, COUNT(*) FROM t GROUP BY k", 7200000},
    {"SET 'table.exec.state.ttl' = '2 h'; SELECT /*+ STATE_TTL('t' = '3 s') */ k, COUNT(*) FROM t GROUP BY k", 3000},
    {"SET 'table.exec.state.ttl' = '2 h'; SELECT /*+ STATE_TTL('x' = '0 s'), OPTIONS('varve.uid' = 'u') */ DISTINCT k FROM t AS x", 0},
    {"SELECT /*+ STATE_TTL('s' = '1 d') */ k FROM (SELECT k FROM t) AS s GROUP BY k", 86400000},
    {"SET 'table.exec.state.ttl' = '2 h'; SET 'execution.runtime-mode' = 'batch'; SELECT k, COUNT(*) FROM t GROUP BY k", 0},
};

START_TEST(groups_live_as_long_as_option_or_hint_say)
{
    const struct operator_spec *op;
    struct graph *g = NULL;
    struct err err = {0};

    ck_assert_ok(run(ttls[_i].sql, &g, &err));
    op = operator_of(g, "GroupAggregate");
    ck_assert_uint_eq(op->states[0].ttl_ms, ttls[_i].ttl_ms);
    ck_assert_uint_eq(((const struct aggregate_spec *)op->spec)->ttl_ms, ttls[_i].ttl_ms);
    ck_assert_str_eq(op->uid, strstr(ttls[_i].sql, "varve.uid") != NULL ? "u" : "");
    graph_free(g);
}
END_TEST

/* By these names state is kept or refused: they follow the meaning, whatever aliases say (B24, B25). */
static const struct {
    const char *sql, *key, *value;
} state_types[] = {
    {"SELECT y, SUM(x) FROM (SELECT k AS y, v AS x FROM t) GROUP BY y", "ROW<`k` STRING>",
     "ROW<`SUM(v)$low` BIGINT, `SUM(v)$high` BIGINT, `SUM(v)$count` BIGINT>"},
    {"SELECT MAX(x), MIN(d), MAX(f) FROM (SELECT v + 1 AS x, d, f FROM t)", "ROW<>",
     "ROW<`MAX(v + 1)` INT, `MIN(d)$DECIMAL(10, 2)$low` BIGINT, `MIN(d)$DECIMAL(10, 2)$high` BIGINT, "
     "`MAX(f)` DOUBLE>"},
    /* a computed column is its expression */
    {"SELECT w, MAX(w) FROM c GROUP BY w", "ROW<`v * 2` INT>", "ROW<`MAX(v * 2)` INT>"},
    /* a column that is only cast keeps its name, the type says the rest; any other expression does not */
    {"SELECT COUNT(*) FROM t GROUP BY CAST(v AS STRING)", "ROW<`v` STRING>",
     "ROW<`COUNT(*)` BIGINT>"},
    {"SELECT COUNT(*) FROM t GROUP BY v + 1, CAST(v + 1 AS STRING)",
     "ROW<`v + 1` INT, `CAST(v + 1 AS STRING)` STRING>", "ROW<`COUNT(*)` BIGINT>"},
    /* columns of a union are what they are in its branches */
    {"SELECT x, COUNT(*) FROM (SELECT k AS x FROM t UNION ALL SELECT k FROM gen) GROUP BY x",
     "ROW<`k` STRING>", "ROW<`COUNT(*)` BIGINT>"},
    {"SELECT MAX(x) FROM (SELECT v AS x FROM t UNION ALL SELECT v + 1 FROM gen UNION ALL SELECT v "
     "FROM gen)",
     "ROW<>", "ROW<`MAX((v UNION ALL v + 1))` INT>"},
};

START_TEST(fields_of_state_are_named_by_meaning)
{
    const struct operator_spec *op;
    struct graph *g = NULL;
    struct err err = {0};

    ck_assert_ok(run(state_types[_i].sql, &g, &err));
    op = operator_of(g, "GroupAggregate");
    ck_assert_str_eq(op->states[0].key_type, state_types[_i].key);
    ck_assert_str_eq(op->states[0].value_type, state_types[_i].value);
    graph_free(g);
}
END_TEST

START_TEST(equal_calls_and_arguments_are_computed_once)
{
    const struct aggregate_spec *spec;
    struct graph *g = NULL;
    struct err err = {0};

    ck_assert_ok(run(
        "SELECT k, SUM(v + 1), MAX(v + 1), SUM(v+1) * 2 FROM t GROUP BY k HAVING SUM(v + 1) > 3",
        &g, &err));
    spec = operator_of(g, "GroupAggregate")->spec;
    ck_assert_uint_eq(spec->call_count, 2);
    ck_assert_uint_eq(spec->input->field_count, 2);
    ck_assert_str_eq(spec->calls[0].name, "SUM(v + 1)");
    graph_free(g);
}
END_TEST

START_TEST(the_job_carries_name_sql_and_key_groups)
{
    struct graph *g = NULL;
    struct err err = {0};

    ck_assert_ok(run("CREATE VIEW w AS SELECT k, v FROM t; EXECUTE STATEMENT SET BEGIN INSERT INTO "
                     "p SELECT * FROM w; INSERT INTO bh SELECT k, 1 FROM gen; END",
                     &g, &err));
    ck_assert_str_eq(
        g->job_name,
        "insert-into_default_catalog.default_database.p,default_catalog.default_database.bh");
    ck_assert_uint_eq(g->key_group_count, 128);
    ck_assert(!g->key_group_count_explicit);
    ck_assert_ptr_nonnull(strstr(g->sql, "CREATE TABLE t ("));
    ck_assert_ptr_nonnull(strstr(g->sql, "CREATE VIEW w AS SELECT k, v FROM t;"));
    ck_assert_ptr_null(strstr(g->sql, "CREATE TABLE seq"));
    ck_assert_ptr_nonnull(strstr(g->sql, "END;\n"));
    ck_assert(strstr(g->sql, "CREATE TABLE t (") < strstr(g->sql, "CREATE VIEW w"));
    graph_free(g);
    ck_assert_ok(run("SET 'pipeline.name' = 'mine'; SET 'pipeline.max-parallelism' = '256'; INSERT "
                     "INTO p SELECT k, v FROM t",
                     &g, &err));
    ck_assert_str_eq(g->job_name, "mine");
    ck_assert_uint_eq(g->key_group_count, 256);
    ck_assert(g->key_group_count_explicit);
    graph_free(g);
}
END_TEST

/* ---- mistakes -------------------------------------------------------------------------------- */

static const struct {
    const char *sql;
    enum rc rc;
    const char *message;
} mistakes[] = {
    {"SELECT a FROM nowhere", RC_NOT_FOUND, "line 1 column 15: there is no table or view nowhere"},
    {"SELECT id FROM sec", RC_NOT_FOUND, "did you mean seq?"},
    {"SELECT x FROM t", RC_INVALID, "line 1 column 8:"},
    {"SELECT\n  x FROM t", RC_INVALID, "\n    x FROM t\n    ^"},
    {"SELECT x.k FROM t", RC_INVALID, "line 1 column 8:"},
    {"SELECT u.* FROM t", RC_INVALID, "there is no table or alias u here"},
    {"SELECT k FROM t WHERE v", RC_INVALID,
     "line 1 column 23: a condition needs a BOOLEAN, this is INT"},
    {"SELECT k FROM t WHERE COUNT(*) > 1", RC_INVALID,
     "column 23: COUNT cannot be used in WHERE; use HAVING"},
    {"SELECT k, v FROM t GROUP BY k", RC_INVALID,
     "column 11: the column v is neither in GROUP BY nor in an aggregate"},
    {"SELECT k FROM t GROUP BY k HAVING v > 1", RC_INVALID, "the column v is neither in GROUP BY"},
    {"SELECT k, COUNT(*) FROM t", RC_INVALID, "the column k is neither in GROUP BY"},
    {"SELECT k FROM t GROUP BY COUNT(*)", RC_INVALID, "COUNT cannot be used in GROUP BY"},
    {"SELECT k FROM t GROUP BY 2", RC_INVALID, "no such item in the select list"},
    {"SELECT COUNT(*) AS n FROM t GROUP BY n", RC_INVALID, "an aggregate cannot be in GROUP BY"},
    {"SELECT SUM(k) FROM t", RC_INVALID, "column 8: SUM takes numbers, not STRING"},
    {"SELECT SUM(COUNT(*)) FROM t", RC_INVALID, "an aggregate cannot be inside of an aggregate"},
    {"SELECT SUM(*) FROM t", RC_INVALID, "only COUNT(*) takes *"},
    {"SELECT SUM(v, v) FROM t", RC_INVALID, "SUM takes one argument, not 2"},
    {"SELECT COUNT(DISTINCT k, v) FROM t", RC_UNSUPPORTED, "COUNT takes one argument, not 2"},
    {"SELECT COUNT(*) FILTER (WHERE v) FROM t", RC_INVALID, "FILTER (WHERE ...) needs a BOOLEAN"},
    {"SELECT COUNT(*) FROM e GROUP BY TUMBLE(ts, INTERVAL '1' DAY)", RC_UNSUPPORTED,
     "TUMBLE in GROUP BY; group by window_start, window_end"},
    {"SELECT COUNT(*) FROM t GROUP BY CUBE(k, v)", RC_UNSUPPORTED, "CUBE in GROUP BY"},
    {"INSERT INTO seq SELECT 1", RC_INVALID,
     "connector 'datagen' is a source, it cannot be written to"},
    {"SELECT * FROM p", RC_INVALID, "connector 'print' is a sink, it cannot be read"},
    {"INSERT INTO o SELECT k, COUNT(*) FROM t GROUP BY k", RC_INVALID,
     "line 1 column 13: Table sink 'default_catalog.default_database.o' doesn't support consuming "
     "update changes which is produced by node "
     "GroupAggregate(groupBy=[k], select=[k, COUNT(*)])"},
    {"INSERT INTO p SELECT k FROM t", RC_INVALID,
     "different number of columns. Query schema: ROW<`k` STRING>. Sink schema: ROW<`k` STRING, `n` "
     "BIGINT>"},
    {"INSERT INTO p SELECT v, k FROM t", RC_INVALID, "sink column"},
    {"INSERT INTO p (k, m) SELECT k, v FROM t", RC_INVALID, "table p has no physical column m"},
    {"INSERT INTO p (k, k) SELECT k, v FROM t", RC_INVALID, "INSERT names the column k twice"},
    {"INSERT INTO nn (n) SELECT v FROM t", RC_INVALID,
     "INSERT gives no value for the column k, which is NOT NULL"},
    {"INSERT OVERWRITE o SELECT k, v FROM t", RC_UNSUPPORTED, "INSERT OVERWRITE"},
    {"CREATE VIEW w AS SELECT k FROM t; INSERT INTO w SELECT 'x'", RC_INVALID,
     "w is a view, it cannot be written to"},
    {"CREATE VIEW w AS SELECT x FROM t", RC_INVALID, "line 1 column 25"},
    {"CREATE VIEW w (a, b) AS SELECT k FROM t", RC_INVALID,
     "the view names 2 columns, its query has 1"},
    {"SET 'execution.runtime-mode' = 'batch'; SELECT * FROM gen", RC_INVALID,
     "needs input that ends, and table gen is unbounded"},
    {"SELECT * FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(k), INTERVAL '1' DAY))", RC_INVALID,
     "windows need a TIMESTAMP column, this is STRING"},
    {"SELECT * FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(x), INTERVAL '1' DAY))", RC_INVALID,
     "line 1 column 48"},
    {"SELECT * FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(ts), INTERVAL '0' DAY))", RC_INVALID,
     "the size of TUMBLE must be positive"},
    {"SELECT * FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(ts), INTERVAL '1' MONTH))", RC_INVALID,
     "must be an interval of days to seconds"},
    {"SELECT * FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(ts), INTERVAL '1' DAY, INTERVAL '2' DAY))",
     RC_INVALID, "the offset of TUMBLE must be smaller"},
    {"SELECT * FROM TABLE(TUMBLE((SELECT ts + INTERVAL '1' SECOND AS ts FROM e), DESCRIPTOR(ts), "
     "INTERVAL '1' DAY))",
     RC_INVALID, "requires a time attribute, but ts is a plain TIMESTAMP(3)"},
    {"SELECT COUNT(*) FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(ts), INTERVAL '1' DAY)) GROUP BY "
     "window_start",
     RC_INVALID, "needs both window_start and window_end"},
    {"SELECT k FROM t UNION ALL SELECT k, v FROM t", RC_INVALID,
     "branch 2 has 2 columns, the first has 1"},
    {"SELECT k FROM t UNION ALL SELECT b FROM t", RC_INVALID,
     "column 1 of branch 2 is BOOLEAN, before it is STRING"},
    {"INSERT INTO nn VALUES (NULL, 1)", RC_INVALID, "k"},
    {"SELECT k FROM t /*+ OPTIONS('pth' = 'x') */", RC_INVALID, "did you mean path?"},
    {"SELECT k FROM t /*+ OPTIONS('connector' = 'print') */", RC_INVALID,
     "a hint cannot change the connector"},
    {"SELECT * FROM t AS x (a, b)", RC_INVALID, "x names 2 columns, there are 5"},
    {"SELECT /*+ STATE_TTL('t' = '1 d') */ k FROM t", RC_INVALID,
     "STATE_TTL behind SELECT is for its aggregate; this query has none"},
    {"SELECT /*+ STATE_TTL('x' = '1 d') */ k FROM t GROUP BY k", RC_INVALID,
     "STATE_TTL of 'x': this query is over 't'"},
    {"SELECT /*+ STATE_TTL('t' = '1 d') */ k FROM t AS x GROUP BY k", RC_INVALID,
     "STATE_TTL of 't': this query is over 'x'"},
    {"SELECT /*+ STATE_TTL('t' = '1 d') */ k FROM (SELECT k FROM t) GROUP BY k", RC_INVALID,
     "STATE_TTL of 't': this query is over nothing of a name"},
    {"SELECT /*+ STATE_TTL('t' = 'soon') */ k FROM t GROUP BY k", RC_INVALID, "STATE_TTL of 't': "},
    {"SELECT /*+ STATE_TTL('t' = '-1 d') */ k FROM t GROUP BY k", RC_INVALID, "STATE_TTL of 't': "},
    {"SELECT /*+ STATE_TTL('t' = '1 d'), STATE_TTL('t' = '2 d') */ k FROM t GROUP BY k", RC_INVALID,
     "STATE_TTL is given twice"},
    {"SELECT /*+ STATE_TTL('e' = '1 d') */ COUNT(*) FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(ts), "
     "INTERVAL '10' SECOND)) GROUP BY window_start, window_end",
     RC_INVALID, "STATE_TTL is not for windows"},
    {"SELECT /*+ OPTIONS('varve.uid' = 'x') */ k FROM t", RC_INVALID,
     "'varve.uid' behind SELECT is for its aggregate; this query has none"},
    {"SELECT /*+ OPTIONS('path' = 'x') */ k FROM t GROUP BY k", RC_INVALID,
     "behind SELECT only the option 'varve.uid' is known"},
    {"SELECT *", RC_INVALID, "* needs a FROM"},
    {"SELECT COUNT(*)", RC_UNSUPPORTED, "SELECT without FROM"},
    {"SET 'parallelism.default' = '3'; INSERT INTO p2 SELECT k, COUNT(*) FROM t GROUP BY k",
     RC_UNSUPPORTED, "keep the order of changes"},
};

START_TEST(a_query_that_cannot_run_says_why)
{
    struct graph *g = NULL;
    struct err err = {0};

    ck_assert_rc_msg(run(mistakes[_i].sql, &g, &err), mistakes[_i].rc, mistakes[_i].message);
}
END_TEST

/* v0 names t twice, v1 names v0 twice ...: the plan would grow without end. */
START_TEST(views_over_views_meet_a_limit)
{
    struct graph *g = NULL;
    struct err err = {0};

    ck_assert_ok(
        run("CREATE VIEW v0 AS SELECT k FROM t WHERE v > 1 UNION ALL SELECT k FROM t WHERE v > 2",
            &g, &err));
    for (int i = 1; i < 8; i++)
        ck_assert_ok(run(
            arena_printf(arena, "CREATE VIEW v%d AS SELECT k FROM v%d UNION ALL SELECT k FROM v%d",
                         i, i - 1, i - 1),
            &g, &err));
    ck_assert_rc_msg(run("CREATE VIEW v8 AS SELECT k FROM v7 UNION ALL SELECT k FROM v7 UNION ALL "
                         "SELECT k FROM v7",
                         &g, &err),
                     RC_LIMIT, "the plan has more than 1000 operators");
    ck_assert_ok(run("CREATE VIEW w0 AS SELECT k FROM t", &g, &err));
    for (int i = 1; i < 31; i++)
        ck_assert_ok(
            run(arena_printf(arena, "CREATE VIEW w%d AS SELECT k FROM w%d", i, i - 1), &g, &err));
    ck_assert_rc_msg(run("CREATE VIEW w31 AS SELECT k FROM w30; SELECT k FROM w31", &g, &err),
                     RC_LIMIT, "nested more than 32 deep");
}
END_TEST

static const char *repeat(const char *head, const char *part, int times, const char *tail)
{
    struct buf text = {0};
    const char *out;

    buf_append_str(&text, head);
    for (int i = 0; i < times; i++)
        buf_append_str(&text, part);
    buf_append_str(&text, tail);
    out = arena_strdup(arena, buf_cstr(&text));
    buf_release(&text);
    return out;
}

/* What the parser lets through fits the stack of who walks it. */
START_TEST(the_highest_trees_and_the_longest_lists_are_planned)
{
    struct graph *g = NULL;
    struct err err = {0};

    ck_assert_ok(run(repeat("SELECT v", " + v", SQL_EXPR_HEIGHT_MAX - 2, " FROM t"), &g, &err));
    graph_free(g);
    ck_assert_ok(run(
        repeat("SELECT k FROM t WHERE v = 1", " OR v = 1", SQL_EXPR_HEIGHT_MAX - 3, ""), &g, &err));
    graph_free(g);
    ck_assert_ok(run(repeat("SELECT SUM(v", " + v", SQL_EXPR_HEIGHT_MAX - 3, ") FROM t GROUP BY k"),
                     &g, &err));
    graph_free(g);
    ck_assert_ok(run(repeat("SELECT k FROM t WHERE v IN (0", ", 1", 20000, ")"), &g, &err));
    graph_free(g);
    ck_assert_ok(run(repeat("SELECT CASE v", " WHEN 1 THEN 2", 2000, " END FROM t"), &g, &err));
    graph_free(g);
    ck_assert_ok(run(repeat("INSERT INTO p VALUES ('a', 1)", ", ('b', 2)", 4095, ""), &g, &err));
    graph_free(g);
    ck_assert_rc_msg(run(repeat("INSERT INTO p VALUES ('a', 1)", ", ('b', 2)", 4096, ""), &g, &err),
                     RC_LIMIT, "VALUES has 4097 rows, the limit is 4096");
    ck_assert_rc_msg(run(repeat("SELECT v", ", v", 1000, " FROM t"), &g, &err), RC_LIMIT,
                     "the select list has 1001 columns, the limit is 1000");
}
END_TEST

/* ---- EXPLAIN --------------------------------------------------------------------------------- */

START_TEST(explain_shows_three_sections)
{
    static const char *const text =
        "== Abstract Syntax Tree ==\n"
        "LogicalSink(table=[default_catalog.default_database.p], fields=[k, n])\n"
        "+- LogicalProject(k=[$0], c=[$1])\n"
        "   +- LogicalAggregate(group=[{0}], EXPR$0=[COUNT(*)])\n"
        "      +- LogicalProject(k=[$0])\n"
        "         +- LogicalFilter(condition=[v > 3])\n"
        "            +- LogicalTableScan(table=[[default_catalog, default_database, t]])\n"
        "\n"
        "== Optimized Physical Plan ==\n"
        "Sink(table=[default_catalog.default_database.p], fields=[k, n], changelogMode=[NONE])\n"
        "+- GroupAggregate(groupBy=[k], select=[k, COUNT(*)], changelogMode=[I,UB,UA])\n"
        "   +- Exchange(distribution=[hash[k]], changelogMode=[I])\n"
        "      +- Calc(select=[k], where=[v > 3], changelogMode=[I])\n"
        "         +- TableSourceScan(table=[[default_catalog, default_database, t]], fields=[k, v, "
        "d, f, b], changelogMode=[I])\n"
        "\n"
        "== Optimized Execution Plan ==\n"
        "Vertex 1: Source: t -> Calc, parallelism=1\n";
    struct plan_context ctx = {catalog, config, &env};
    struct ast_script script;
    struct buf out = {0};
    struct err err = {0};

    ck_assert_ok(sql_parse_script(
        arena, bytes_of_str("INSERT INTO p SELECT k, COUNT(*) AS c FROM t WHERE v > 3 GROUP BY k"),
        &script, &err));
    ck_assert_ok(plan_explain(&ctx, script.statements[0], true, &out, &err));
    ck_assert_msg(strncmp(buf_cstr(&out), text, strlen(text)) == 0, "%s", buf_cstr(&out));
    ck_assert_ptr_nonnull(strstr(
        buf_cstr(&out), "Vertex 2: GroupAggregate[k] -> Sink: p, parallelism=1, input=1 (hash)\n"));
    ck_assert_ptr_nonnull(strstr(buf_cstr(&out), "states=[accState]"));
    buf_release(&out);
}
END_TEST

TEST_MAIN("plan", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_loop_test(tc, a_query_becomes_this_graph, 0, ARRAY_LEN(shapes));
          tcase_add_loop_test(tc, aggregates_have_flinks_types, 0, ARRAY_LEN(types));
          tcase_add_loop_test(tc, ids_follow_the_meaning_and_not_the_place, 0, ARRAY_LEN(ids));
          tcase_add_test(tc, the_id_of_a_window_follows_its_time_column);
          tcase_add_test(tc, ids_are_these);
          tcase_add_test(tc, the_exact_id_does_not_depend_on_other_operators);
          tcase_add_loop_test(tc, operators_that_differ_in_an_expression_only_keep_their_ids_in_any_order, 0, 2);
          tcase_add_test(tc, equal_operators_are_told_apart);
          tcase_add_test(tc, the_aggregate_knows_its_states_and_its_consumer);
          tcase_add_loop_test(tc, groups_live_as_long_as_option_or_hint_say, 0, ARRAY_LEN(ttls));
          tcase_add_loop_test(tc, fields_of_state_are_named_by_meaning, 0, ARRAY_LEN(state_types));
          tcase_add_test(tc, equal_calls_and_arguments_are_computed_once);
          tcase_add_test(tc, the_job_carries_name_sql_and_key_groups);
          tcase_add_loop_test(tc, a_query_that_cannot_run_says_why, 0, ARRAY_LEN(mistakes));
          tcase_add_test(tc, views_over_views_meet_a_limit);
          tcase_add_test(tc, the_highest_trees_and_the_longest_lists_are_planned);
          tcase_add_test(tc, explain_shows_three_sections))
