/* plan.c - statements to graphs: sinks, the job's name, its SQL, batch or streaming; see plan.h. */
#include "job/sql/plan_priv.h"

#include "job/sql/explain.h"
#include "job/sql/secret.h"

#include <stdio.h>

static struct operator* make_sink(const void *spec)
{
    return sink_op_new(spec);
}

static void plan_init(struct plan *p, const struct plan_context *ctx, const char *source,
                      bool batch, struct err *err)
{
    *p = (struct plan){
        .ctx = ctx, .arena = arena_new(0), .err = err, .source = source, .batch = batch};
    p->time_zone = arena_strdup(p->arena, config_string(ctx->config, OPT_LOCAL_TIME_ZONE));
    p->parallelism = (uint32_t)config_int(ctx->config, OPT_PARALLELISM);
}

/* Drops what only planning needed; the arena too unless a graph has taken it. */
static void plan_release(struct plan *p, bool keep_arena)
{
    for (struct plan_held *h = p->held; h != NULL; h = h->next)
        catalog_release(h->entry);
    buf_release(&p->tables);
    if (!keep_arena)
        arena_free(p->arena);
}

/* ---- sinks ----------------------------------------------------------------------------------- */

static enum rc refuse_updates(struct plan *p, const struct plan_stream *s,
                              const struct ast_insert *insert)
{
    return sql_error_at(p->err, RC_INVALID, p->source, insert->table_pos,
                        "Table sink 'default_catalog.default_database.%s' doesn't support "
                        "consuming update changes which is "
                        "produced by node %s. With SET 'execution.runtime-mode' = 'batch' the "
                        "final rows are written once, at the "
                        "end of a bounded input; the print connector takes updates",
                        insert->table, s->updating_by);
}

/* Column of the sink that query column i goes to, into map; the sink's columns that get none have
 * -1 in `from`. */
static enum rc map_columns(struct plan *p, const struct ast_insert *insert,
                           const struct schema *sink, const struct schema *query, int32_t *from)
{
    uint32_t want = insert->column_count > 0 ? insert->column_count : sink->field_count;

    for (uint32_t i = 0; i < sink->field_count; i++)
        from[i] = insert->column_count > 0 ? -1 : (int32_t)i;
    if (want != query->field_count)
        return sql_error_at(p->err, RC_INVALID, p->source, insert->query->pos,
                            "Column types of query result and sink for '%s' do not match: "
                            "different number of columns. "
                            "Query schema: %s. Sink schema: %s",
                            insert->table, schema_str(p->arena, query), schema_str(p->arena, sink));
    for (uint32_t i = 0; i < insert->column_count; i++) {
        int32_t at = schema_find(sink, insert->columns[i]);
        const char **names = ARENA_ARRAY(p->arena, sink->field_count, const char *);
        char hint[SQL_HINT_MAX];

        for (uint32_t c = 0; c < sink->field_count; c++)
            names[c] = sink->fields[c].name;
        if (at < 0)
            return sql_error_at(
                p->err, RC_INVALID, p->source, insert->table_pos,
                "table %s has no physical column %s%s", insert->table, insert->columns[i],
                sql_nearest_hint(hint, insert->columns[i], names, sink->field_count));
        if (from[at] >= 0)
            return sql_error_at(p->err, RC_INVALID, p->source, insert->table_pos,
                                "INSERT names the column %s twice", insert->columns[i]);
        from[at] = (int32_t)i;
    }
    for (uint32_t i = 0; i < sink->field_count; i++)
        if (from[i] < 0 && !sink->fields[i].type.nullable)
            return sql_error_at(p->err, RC_INVALID, p->source, insert->table_pos,
                                "INSERT gives no value for the column %s, which is NOT NULL",
                                sink->fields[i].name);
    return RC_OK;
}

static enum rc null_of(struct plan *p, struct type type, struct expr **out)
{
    struct plan_stream none = {.schema = plan_schema_new(p, 0), .fields = NULL};
    struct sql_pos nowhere = {0};
    struct ast_expr null = {.kind = EXPR_LITERAL, .literal = LIT_NULL, .pos = nowhere, .height = 1},
                    *args[] = {&null};
    struct ast_expr cast = {
        .kind = EXPR_CAST, .type = type, .arg_count = 1, .args = args, .height = 2};

    return plan_bind(p, &none, &cast, out);
}

/* Makes the stream's rows those of the sink: order of columns, casts, nulls for columns that were
 * not given. */
static enum rc coerce_to_sink(struct plan *p, const struct ast_insert *insert,
                              struct plan_stream *s, const struct schema *sink)
{
    int32_t *from = ARENA_ARRAY(p->arena, sink->field_count + 1, int32_t);
    struct plan_calc *calc = ARENA_NEW(p->arena, struct plan_calc);
    struct buf detail = {0};
    struct schema *schema;

    RETURN_IF_ERR(map_columns(p, insert, sink, s->schema, from));
    schema = schema_copy(p->arena, sink);
    schema->rowtime = -1;
    *calc = s->calc != NULL ? *s->calc : (struct plan_calc){.input = s->schema};
    calc->exprs = ARENA_ARRAY(p->arena, sink->field_count + 1, const struct expr *);
    for (uint32_t i = 0; i < sink->field_count; i++) {
        struct expr *e;
        enum rc rc;

        if (from[i] < 0) {
            RETURN_IF_ERR(null_of(p, sink->fields[i].type, &e));
        } else if (s->calc != NULL) {
            e = (struct expr *)(uintptr_t)s->calc->exprs[from[i]];
        } else {
            e = expr_new_column(p->arena, (uint32_t)from[i], s->schema->fields[from[i]].type);
        }
        rc = expr_coerce(p->arena, e, sink->fields[i].type, sink->fields[i].name, &e, p->err);
        if (rc != RC_OK) {
            struct err why = *p->err;

            err_clear(p->err);
            return sql_error_at(p->err, rc, p->source, insert->query->pos,
                                "sink column %u of table %s: %s", i + 1, insert->table, why.msg);
        }
        calc->exprs[i] = e;
        buf_printf(&detail, "%s\n", sink->fields[i].name);
    }
    calc->detail =
        arena_printf(p->arena, "%s%s", s->calc != NULL ? s->calc->detail : "", buf_cstr(&detail));
    buf_release(&detail);
    s->fields = ARENA_ARRAY(p->arena, sink->field_count + 1, struct plan_field);
    s->schema = schema;
    s->calc = calc;
    return plan_flush(p, s);
}

/* Rows of one key come to one subtask, in their order: two would also wait for one another in the
 * table. A query that updates has them so. */
static void connect_keyed(struct plan *p, struct plan_stream *s, struct plan_op *op,
                          const struct pg_table *table)
{
    bool same = op->parallelism == s->op->parallelism;
    enum partitioning how = same && (s->updating || op->parallelism == 1) ? PARTITION_FORWARD
                            : op->parallelism == 1                        ? PARTITION_GLOBAL
                                                                          : PARTITION_HASH;

    plan_connect(p, op, s->op, how, how == PARTITION_HASH ? table->key_count : 0, table->key,
                 s->schema);
    op->inputs[op->input_count - 1].updating = s->updating;
}

/* A sink whose parallelism differs: rows are dealt out anew, unless changes would lose their order.
 */
static enum rc connect_sink(struct plan *p, struct plan_stream *s, struct plan_op *op,
                            uint32_t parallelism, const char *table)
{
    const struct sink_spec *spec = op->spec.spec;
    enum partitioning how = PARTITION_FORWARD;

    op->parallelism = parallelism > 0 ? parallelism : s->op->parallelism;
    if (spec->kind == SINK_POSTGRES && spec->table->key_count > 0) {
        connect_keyed(p, s, op, spec->table);
        return RC_OK;
    }
    if (op->parallelism != s->op->parallelism) {
        how = op->parallelism == 1 ? PARTITION_GLOBAL : PARTITION_REBALANCE;
        if (s->updating && how == PARTITION_REBALANCE)
            return err_set(p->err, RC_UNSUPPORTED,
                           "not supported by varve: sink.parallelism = %u of %s: the query updates "
                           "and runs with %u subtasks; only its own "
                           "parallelism and 1 keep the order of changes",
                           op->parallelism, table, s->op->parallelism);
    }
    plan_connect(p, op, s->op, how, 0, NULL, s->schema);
    op->inputs[op->input_count - 1].updating = s->updating;
    return RC_OK;
}

static void add_sink_nodes(struct plan *p, struct plan_stream *s, const char *table,
                           const char *fields)
{
    const struct plan_node *l =
        plan_node_new(p, s->logical, NULL, "LogicalSink(table=[%s], fields=[%s])", table, fields);
    const struct plan_node *ph =
        plan_node_new(p, s->physical, "NONE", "Sink(table=[%s], fields=[%s])", table, fields);

    p->logical_sinks[p->sink_count] = (struct plan_node *)(uintptr_t)l;
    p->physical_sinks[p->sink_count++] = (struct plan_node *)(uintptr_t)ph;
}

/* The aggregate sends no -U, which EXPLAIN shall say too: from the sink's input down to the
 * aggregate. */
static void drop_update_before(struct plan_stream *s)
{
    s->drop_update_before->emit_update_before = false;
    for (struct plan_node *n = (struct plan_node *)(uintptr_t)s->physical; n != NULL;
         n = n->input_count == 1 ? n->inputs[0] : NULL) {
        n->changelog = strchr(n->changelog, 'D') != NULL ? "I,UA,D" : "I,UA";
        if (strncmp(n->text, "GroupAggregate(", 15) == 0)
            break;
    }
}

/* What an updating query changes is found again by the table's key: it must be the query's. */
static enum rc check_sink_key(struct plan *p, const struct ast_insert *insert,
                              const struct plan_stream *s, const struct schema *table,
                              const struct pg_table *target)
{
    int32_t *from = ARENA_ARRAY(p->arena, table->field_count + 1, int32_t);
    bool *seen = ARENA_ARRAY(p->arena, s->key_count + 1, bool);
    uint32_t found = 0;

    RETURN_IF_ERR(map_columns(p, insert, table, s->schema, from));
    for (uint32_t i = 0; i < target->key_count; i++) {
        uint32_t key = from[target->key[i]] < 0 ? 0 : s->fields[from[target->key[i]]].key;

        found += key > 0 && !seen[key];
        seen[key] = true;
    }
    if (s->key_count > 0 && found == s->key_count && found == target->key_count)
        return RC_OK;
    return sql_error_at(p->err, RC_UNSUPPORTED, p->source, insert->table_pos,
                        "not supported by varve: the PRIMARY KEY of %s is not exactly the GROUP BY "
                        "of the query that updates it: %s",
                        insert->table, s->updating_by);
}

static enum rc plan_sink(struct plan *p, const struct ast_insert *insert,
                         const struct catalog_entry *e, struct plan_stream *s)
{
    struct connector_sink *sink = ARENA_NEW(p->arena, struct connector_sink);
    struct connector_table ct;
    struct plan_op *op;

    RETURN_IF_ERR(catalog_connector_table(p->arena, e, insert->option_count, insert->options,
                                          p->source, p->time_zone, &ct, p->err));
    RETURN_IF_ERR(connector_sink_of(p->arena, &ct, sink, p->err));
    if (insert->overwrite)
        return sql_error_at(p->err, RC_UNSUPPORTED, p->source, insert->pos,
                            "not supported by varve: INSERT OVERWRITE");
    if (s->updating && sink->append_only)
        return refuse_updates(p, s, insert);
    if (s->updating && sink->spec.kind == SINK_POSTGRES)
        RETURN_IF_ERR(check_sink_key(p, insert, s, e->physical, sink->spec.table));
    RETURN_IF_ERR(coerce_to_sink(p, insert, s, e->physical));
    if (!sink->needs_update_before && s->drop_update_before != NULL)
        drop_update_before(s);
    RETURN_IF_ERR(plan_op_new(p, arena_printf(p->arena, "Sink: %s", e->name), &op));
    sink->spec.input = s->schema;
    add_sink_nodes(p, s, arena_printf(p->arena, "default_catalog.default_database.%s", e->name),
                   plan_names(p, s->schema));
    op->spec.make = make_sink;
    op->spec.check_start = sink_op_check_start;
    op->spec.check_restored = sink_op_check_restored;
    op->spec.spec = &sink->spec;
    op->spec.stateful = sink->spec.kind == SINK_FILES || sink->spec.kind == SINK_POSTGRES;
    op->spec.uid = sink->uid;
    op->spec.description = p->physical_sinks[p->sink_count - 1]->text;
    op->ident = arena_printf(p->arena, "sink\n%s", e->name);
    op->detail = plan_node_digest(p, p->physical_sinks[p->sink_count - 1]);
    return connect_sink(p, s, op, sink->parallelism, e->name);
}

static enum rc plan_one_insert(struct plan *p, const struct ast_insert *insert)
{
    const struct catalog_entry *e;
    struct plan_stream s;
    struct plan_held *h;

    if (p->sink_count == PLAN_SINKS_MAX)
        return sql_error_at(p->err, RC_LIMIT, p->source, insert->pos,
                            "a statement set has at most %d INSERTs", PLAN_SINKS_MAX);
    RETURN_IF_ERR(
        catalog_get(p->ctx->catalog, insert->table, p->source, insert->table_pos, &e, p->err));
    for (h = p->held; h != NULL && h->entry != e; h = h->next)
        ;
    if (h != NULL) {
        catalog_release(e);
    } else {
        h = ARENA_NEW(p->arena, struct plan_held);
        *h = (struct plan_held){e, p->held};
        p->held = h;
        buf_printf(&p->tables, "%s;\n", e->text);
    }
    if (e->is_view)
        return sql_error_at(p->err, RC_INVALID, p->source, insert->table_pos,
                            "%s is a view, it cannot be written to", e->name);
    RETURN_IF_ERR(plan_query(p, insert->query, &s));
    return plan_sink(p, insert, e, &s);
}

static enum rc plan_collect(struct plan *p, const struct ast_statement *st,
                            enum rc (*collect)(void *, const struct batch *, struct err *),
                            void *ctx, struct plan_stream *s)
{
    struct sink_spec *spec = ARENA_NEW(p->arena, struct sink_spec);
    struct plan_op *op;

    RETURN_IF_ERR(plan_query(p, st->query, s));
    RETURN_IF_ERR(plan_flush(p, s));
    for (uint32_t i = 0; i < s->schema->field_count; i++)
        if (s->schema->fields[i].type.kind == TYPE_NULL)
            return sql_error_at(p->err, RC_INVALID, p->source, st->query->pos,
                                "column %s is a NULL without a type; use CAST(NULL AS ...)",
                                s->schema->fields[i].name);
    *spec = (struct sink_spec){.input = s->schema,
                               .table_name = "collect",
                               .kind = SINK_COLLECT,
                               .collect = collect,
                               .collect_ctx = ctx};
    RETURN_IF_ERR(plan_op_new(p, "Sink: collect", &op));
    add_sink_nodes(p, s, "*anonymous_collect$1*", plan_names(p, s->schema));
    op->spec.make = make_sink;
    op->spec.check_restored = sink_op_check_restored;
    op->spec.spec = spec;
    op->spec.description = p->physical_sinks[0]->text;
    op->ident = "collect";
    return connect_sink(p, s, op, 1, "collect");
}

/* ---- batch or streaming ---------------------------------------------------------------------- */

struct request { /* one way to plan a statement, tried for streaming or batch */
    const struct plan_context *ctx;
    const struct ast_statement *statement;
    enum rc (*collect)(void *, const struct batch *, struct err *);
    void *collect_ctx;
    struct plan_stream result; /* SELECT */
};

static enum rc plan_once(struct plan *p, struct request *r)
{
    const struct ast_statement *s = r->statement;

    if (s->kind == STMT_SELECT)
        return plan_collect(p, s, r->collect, r->collect_ctx, &r->result);
    for (uint32_t i = 0; i < s->insert_count; i++)
        RETURN_IF_ERR(plan_one_insert(p, s->inserts[i]));
    return RC_OK;
}

/* AUTOMATIC is BATCH when every source ends. */
static enum rc plan_statement(struct request *r, struct plan *p, struct err *err)
{
    int mode = config_enum(r->ctx->config, OPT_RUNTIME_MODE);
    enum rc rc;

    plan_init(p, r->ctx, r->statement->source, mode == RUNTIME_BATCH, err);
    rc = plan_once(p, r);
    if (mode == RUNTIME_AUTOMATIC &&
        !p->any_unbounded) { /* whatever the code: an updating query may be refused in streaming
                                mode only */
        plan_release(p, false);
        err_clear(err);
        plan_init(p, r->ctx, r->statement->source, true, err);
        rc = plan_once(p, r);
    }
    if (rc == RC_OK && p->batch && p->any_unbounded)
        rc = err_set(err, RC_INVALID,
                     "execution.runtime-mode = batch needs input that ends, and table %s is "
                     "unbounded (datagen: give number-of-rows or a "
                     "sequence; filesystem: no source.monitor-interval)",
                     p->unbounded_table);
    if (rc != RC_OK)
        plan_release(p, false);
    return rc;
}

/* ---- entry points ---------------------------------------------------------------------------- */

static const char *default_job_name(struct plan *p, const struct ast_statement *s)
{
    struct buf name = {0};
    const char *out;

    if (s->kind == STMT_SELECT)
        return "collect";
    for (uint32_t i = 0; i < s->insert_count; i++)
        buf_printf(&name, "%sdefault_catalog.default_database.%s", i == 0 ? "insert-into_" : ",",
                   s->inserts[i]->table);
    out = arena_strdup(p->arena, buf_cstr(&name));
    buf_release(&name);
    return out;
}

static enum rc finish(struct plan *p, const struct ast_statement *s, struct graph **out)
{
    const struct config *config = p->ctx->config;
    const char *name = config_has(config, OPT_JOB_NAME) ? config_string(config, OPT_JOB_NAME)
                                                        : default_job_name(p, s);
    struct buf shown = {0}; /* what every checkpoint keeps */
    const char *sql;

    buf_printf(&p->tables, "%s;\n", s->text);
    secret_mask(buf_cstr(&p->tables), &shown);
    sql = arena_strdup(p->arena, buf_cstr(&shown));
    buf_release(&shown);
    return plan_finish(p, name, sql, out);
}

static enum rc plan_graph(struct request *r, struct plan *p, struct graph **out, struct err *err)
{
    enum rc rc;

    RETURN_IF_ERR(plan_statement(r, p, err));
    rc = finish(p, r->statement, out);
    plan_release(p, rc == RC_OK);
    return rc;
}

enum rc plan_insert(const struct plan_context *ctx, const struct ast_statement *s,
                    struct graph **out, struct err *err)
{
    struct request r = {.ctx = ctx, .statement = s};
    struct plan p;

    return plan_graph(&r, &p, out, err);
}

enum rc plan_select(const struct plan_context *ctx, const struct ast_statement *s,
                    enum rc (*collect)(void *ctx, const struct batch *, struct err *),
                    void *collect_ctx, struct graph **out, struct plan_result *result,
                    struct err *err)
{
    struct request r = {.ctx = ctx, .statement = s, .collect = collect, .collect_ctx = collect_ctx};
    struct plan p;

    RETURN_IF_ERR(plan_graph(&r, &p, out, err));
    *result = (struct plan_result){r.result.schema, r.result.updating, r.result.bounded, p.batch};
    return RC_OK;
}

enum rc plan_view(const struct plan_context *ctx, const struct ast_query *query,
                  uint32_t column_count, const char *const *columns, const char *source,
                  struct arena *arena, const struct schema **out, struct err *err)
{
    struct plan_stream s;
    struct plan p;
    enum rc rc;

    plan_init(&p, ctx, source, config_enum(ctx->config, OPT_RUNTIME_MODE) == RUNTIME_BATCH, err);
    rc = plan_query(&p, query, &s);
    if (rc == RC_OK && column_count > 0 && column_count != s.schema->field_count)
        rc = sql_error_at(err, RC_INVALID, source, query->pos,
                          "the view names %u columns, its query has %u", column_count,
                          s.schema->field_count);
    if (rc == RC_OK) {
        struct schema *schema = schema_copy(arena, s.schema);

        for (uint32_t i = 0; i < column_count; i++)
            schema->fields[i].name = arena_strdup(arena, columns[i]);
        *out = schema;
    }
    plan_release(&p, false);
    return rc;
}

enum rc plan_explain(const struct plan_context *ctx, const struct ast_statement *explained,
                     bool changelog_mode, struct buf *out, struct err *err)
{
    struct request r = {.ctx = ctx, .statement = explained};
    struct plan p;
    struct graph *graph;
    enum rc rc;

    RETURN_IF_ERR(plan_statement(&r, &p, err));
    rc = finish(&p, explained, &graph);
    if (rc == RC_OK)
        explain_print(p.sink_count, p.logical_sinks, p.physical_sinks, graph, changelog_mode, out);
    plan_release(&p, false);
    return rc;
}
