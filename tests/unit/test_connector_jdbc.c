/* links: job */
/* 'connector' = 'jdbc': options, the address, types, keys, and which queries may write to it. */
#include "job/operator/operators.h"
#include "job/sql/parser.h"
#include "job/sql/plan.h"
#include "tests/lib/check_ext.h"

#define URL "'url' = 'jdbc:postgresql://h/d'"
#define OPTIONS "'connector' = 'jdbc', 'table-name' = 't', 'password' = 'hush'"

static struct arena *arena;
static struct catalog *catalog;
static struct config *config;
static struct env env;
static struct err err;

static enum rc run(const char *sql, struct graph **graph)
{
    struct plan_context ctx = {catalog, config, &env};
    struct ast_script script;
    enum rc rc = sql_parse_script(arena, bytes_of_str(sql), &script, &err);

    for (uint32_t i = 0; rc == RC_OK && i < script.count; i++)
        rc = script.statements[i]->kind == STMT_CREATE_TABLE
                 ? catalog_create_table(catalog, script.statements[i], config, &err)
                 : plan_insert(&ctx, script.statements[i], graph, &err);
    return rc;
}

static void setup(void)
{
    arena = arena_new(0);
    catalog = catalog_new();
    config = config_new();
    env = (struct env){.fs = fs_posix(), .clock = clock_posix()};
    err = (struct err){0};
    ck_assert_ok(config_set(config, CONFIG_SET, "execution.runtime-mode", "streaming", &err));
    ck_assert_ok(config_set(config, CONFIG_SET, "parallelism.default", "2", &err));
    ck_assert_ok(run("CREATE TABLE src (a STRING, b INT NOT NULL, v BIGINT) WITH ('connector' = 'datagen');"
                     "CREATE TABLE rows_only (a STRING, n BIGINT) WITH (" OPTIONS ", " URL ");"
                     "CREATE TABLE by_a (a STRING, n BIGINT, PRIMARY KEY (a) NOT ENFORCED) WITH (" OPTIONS ", " URL ");"
                     "CREATE TABLE by_ab (b INT, n BIGINT, a STRING, PRIMARY KEY (a, b) NOT ENFORCED) WITH (" OPTIONS
                     ", " URL ");",
                     NULL));
}
static void teardown(void)
{
    catalog_free(catalog);
    config_free(config);
    arena_free(arena);
}

static const struct sink_spec *sink_of(const struct graph *g)
{
    for (uint32_t v = 0; v < g->vertex_count; v++)
        for (uint32_t o = 0; o < g->vertices[v].operator_count; o++)
            if (strncmp(g->vertices[v].operators[o].name, "Sink: ", 6) == 0)
                return g->vertices[v].operators[o].spec;
    ck_abort_msg("no sink");
}

static const struct {
    const char *url, *host, *database, *sslmode;
    unsigned port;
    const char *refused; /* NULL: taken */
} urls[] = {
    {"jdbc:postgresql://h:7/d", "h", "d", NULL, 7, NULL},
    {"jdbc:postgresql://h/d%20e", "h", "d e", NULL, 5432, NULL},
    {"jdbc:postgresql:d", "localhost", "d", NULL, 5432, NULL},
    {"jdbc:postgresql:///d", "localhost", "d", NULL, 5432, NULL},
    {"jdbc:postgresql://[::1]:7/d", "::1", "d", NULL, 7, NULL},
    {"jdbc:postgresql://[::1]/d", "::1", "d", NULL, 5432, NULL},
    {"jdbc:postgresql://h/d?sslmode=require", "h", "d", "require", 5432, NULL},
    {"jdbc:postgresql://h/d?ssl=true", "h", "d", "verify-full", 5432, NULL},
    {"jdbc:mysql://h/d", 0, 0, 0, 0, "varve writes to PostgreSQL"},
    {"jdbc:postgresql://h", 0, 0, 0, 0, "the form is"},
    {"jdbc:postgresql://h/", 0, 0, 0, 0, "the form is"},
    {"jdbc:postgresql://h:0/d", 0, 0, 0, 0, "the port"},
    {"jdbc:postgresql://h:65536/d", 0, 0, 0, 0, "the port"},
    {"jdbc:postgresql://h:7x/d", 0, 0, 0, 0, "the port"},
    {"jdbc:postgresql://h:/d", 0, 0, 0, 0, "the port"},
    {"jdbc:postgresql://[::1/d", 0, 0, 0, 0, "the form is"},
    {"jdbc:postgresql://[::1]x/d", 0, 0, 0, 0, "the port"},
    {"jdbc:postgresql://a,b/d", 0, 0, 0, 0, "several are not supported"},
    {"jdbc:postgresql://h/d%2", 0, 0, 0, 0, "the form is"},
    {"jdbc:postgresql://h/d?sslmode=maybe", 0, 0, 0, 0, "sslmode and ssl=true"},
    {"jdbc:postgresql://h/d?user=u", 0, 0, 0, 0, "the option 'username'"},
    {"jdbc:postgresql://h/d?sslmode=require&password=hush", 0, 0, 0, 0, "the option 'password'"},
};
START_TEST(an_address_is_taken_apart_or_refused_without_being_shown)
{
    struct graph *g = NULL;
    const char *sql = arena_printf(arena,
                                   "CREATE TABLE u (a STRING) WITH (" OPTIONS ", 'url' = '%s');"
                                   "INSERT INTO u SELECT a FROM src;",
                                   urls[_i].url);
    enum rc rc = run(sql, &g);

    if (urls[_i].refused != NULL) {
        ck_assert_int_eq(rc, RC_INVALID);
        ck_assert_msg(strstr(err.msg, urls[_i].refused) != NULL, "%s", err.msg);
        ck_assert_ptr_null(strstr(err.msg, "hush"));
        return;
    }
    ck_assert_msg(rc == RC_OK, "%s", err.msg);
    ck_assert_str_eq(sink_of(g)->server->host, urls[_i].host);
    ck_assert_str_eq(sink_of(g)->server->database, urls[_i].database);
    ck_assert_uint_eq(sink_of(g)->server->port, urls[_i].port);
    ck_assert_pstr_eq(sink_of(g)->server->sslmode, urls[_i].sslmode);
    ck_assert_str_eq(sink_of(g)->server->password, "hush");
    ck_assert_ptr_null(strstr(g->sql, "hush"));
    ck_assert_ptr_nonnull(strstr(g->sql, "'password' = '******'"));
    graph_free(g);
}
END_TEST

static const struct {
    const char *columns, *options;
    enum rc rc;
    const char *said;
} bad_tables[] = {
    {"a STRING", "'table-name' = 't', 'connector' = 'jdbc'", RC_INVALID, "the option 'url' is missing"},
    {"a STRING", "'connector' = 'jdbc', " URL, RC_INVALID, "the option 'table-name' is missing"},
    {"a STRING", OPTIONS ", " URL ", 'driver' = 'com.mysql.jdbc.Driver'", RC_UNSUPPORTED, "org.postgresql.Driver"},
    {"a STRING", OPTIONS ", " URL ", 'scan.fetch-size' = '1'", RC_UNSUPPORTED, "reading tables"},
    {"a STRING", OPTIONS ", " URL ", 'sink.buffer-flush.interval' = '1s'", RC_UNSUPPORTED, "rows leave when"},
    {"a STRING", OPTIONS ", " URL ", 'sink.buffer-flush.max-rows' = '0'", RC_INVALID, "must be between 1"},
    {"a STRING", OPTIONS ", " URL ", 'usernam' = 'u'", RC_INVALID, "did you mean username"},
    {"a STRING", OPTIONS ", " URL ", 'password' = 'x'", RC_INVALID, "'password' = '******': the option is given twice"},
    {"a STRING", OPTIONS ", 'url' = 'x', 'format' = 'csv'", RC_INVALID, "has no option 'format'"},
};
START_TEST(a_table_that_cannot_be_is_refused_and_shows_no_password)
{
    ck_assert_rc_msg(run(arena_printf(arena, "CREATE TABLE u (%s) WITH (%s);", bad_tables[_i].columns,
                                      bad_tables[_i].options),
                         NULL),
                     bad_tables[_i].rc, bad_tables[_i].said);
    ck_assert_ptr_null(strstr(err.msg, "hush"));
}
END_TEST

static const struct {
    const char *sql, *refused;
    bool update_before;         /* of the aggregate; when taken */
    enum partitioning last;     /* of the edge to the sink's vertex */
} queries[] = {
    {"INSERT INTO rows_only SELECT a, v FROM src", NULL, false, PARTITION_FORWARD},
    {"INSERT INTO rows_only SELECT a, COUNT(*) FROM src GROUP BY a", "doesn't support consuming update", false, 0},
    {"INSERT INTO by_a SELECT a, COUNT(*) FROM src GROUP BY a", NULL, false, PARTITION_HASH},
    {"INSERT INTO by_a SELECT a, v FROM src", NULL, false, PARTITION_HASH},
    {"INSERT INTO by_a (n, a) SELECT n, a FROM (SELECT COUNT(*) AS n, a FROM src GROUP BY a)", NULL, false,
     PARTITION_HASH},
    {"INSERT INTO by_a SELECT a, COUNT(*) FROM src GROUP BY a HAVING COUNT(*) > 3", NULL, true, PARTITION_HASH},
    {"INSERT INTO by_ab SELECT b, COUNT(*), a FROM src GROUP BY a, b", NULL, false, PARTITION_HASH},
    {"INSERT INTO by_a SELECT CAST(b AS STRING), COUNT(*) FROM src GROUP BY a, b", "not exactly the GROUP BY", false, 0},
    {"INSERT INTO by_ab SELECT b, COUNT(*), 'x' FROM src GROUP BY b", "not exactly the GROUP BY", false, 0},
    {"INSERT INTO by_a SELECT a, n FROM (SELECT a, b, COUNT(*) AS n FROM src GROUP BY a, b)", "not exactly the GROUP BY",
     false, 0},
    {"INSERT INTO by_a SELECT UPPER(a), COUNT(*) FROM src GROUP BY a", "not exactly the GROUP BY", false, 0},
    {"INSERT INTO by_a SELECT 'all', COUNT(*) FROM src", "not exactly the GROUP BY", false, 0},
};
START_TEST(a_query_that_updates_needs_its_key_in_the_table)
{
    struct graph *g = NULL;
    enum rc rc = run(queries[_i].sql, &g);

    if (queries[_i].refused != NULL) {
        ck_assert_int_ne(rc, RC_OK);
        ck_assert_msg(strstr(err.msg, queries[_i].refused) != NULL, "%s", err.msg);
        return;
    }
    ck_assert_msg(rc == RC_OK, "%s", err.msg);
    ck_assert_uint_eq(sink_of(g)->kind, SINK_POSTGRES);
    for (uint32_t v = 0; v < g->vertex_count; v++)
        for (uint32_t o = 0; o < g->vertices[v].operator_count; o++) {
            const struct operator_spec *op = &g->vertices[v].operators[o];

            if (strncmp(op->name, "GroupAggregate", 14) == 0)
                ck_assert_int_eq(((const struct aggregate_spec *)op->spec)->emit_update_before,
                                 queries[_i].update_before);
        }
    if (queries[_i].last == PARTITION_FORWARD)
        ck_assert_uint_eq(g->edge_count, 0);
    else
        ck_assert_int_eq(g->edges[g->edge_count - 1].partitioning, queries[_i].last);
    graph_free(g);
}
END_TEST

/* Keys are NOT NULL; a nullable GROUP BY column that brings a null ends the job there, not in the server. */
START_TEST(columns_say_what_the_server_must_take)
{
    struct graph *g = NULL;
    const struct pg_column *c;

    ck_assert_ok(run("CREATE TABLE u (k INT, d DECIMAL(10, 3), ts TIMESTAMP(3), x BYTES NOT NULL, PRIMARY KEY (k) NOT "
                     "ENFORCED) WITH (" OPTIONS ", " URL ");"
                     "INSERT INTO u SELECT b, 1.5, TIMESTAMP '2026-01-01 00:00:00', CAST('x' AS BYTES) FROM src;",
                     &g));
    c = sink_of(g)->table->columns;
    ck_assert(!c[0].nullable && c[1].nullable && !c[3].nullable);
    ck_assert_str_eq(c[0].taken, " int4 int8 numeric ");
    ck_assert_uint_eq(c[0].digits, 10);
    ck_assert_uint_eq(c[1].digits, 7);
    ck_assert_uint_eq(c[1].fraction, 3);
    ck_assert_uint_eq(c[2].fraction, 3);
    ck_assert_str_eq(c[3].taken, " bytea ");
    graph_free(g);
}
END_TEST

TEST_MAIN("connector_jdbc", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_loop_test(tc, an_address_is_taken_apart_or_refused_without_being_shown, 0, ARRAY_LEN(urls));
          tcase_add_loop_test(tc, a_table_that_cannot_be_is_refused_and_shows_no_password, 0, ARRAY_LEN(bad_tables));
          tcase_add_loop_test(tc, a_query_that_updates_needs_its_key_in_the_table, 0, ARRAY_LEN(queries));
          tcase_add_test(tc, columns_say_what_the_server_must_take);)
