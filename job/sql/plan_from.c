/* plan_from.c - what stands in FROM: tables, views, subqueries, VALUES, TUMBLE. */
#include "job/sql/plan_priv.h"

#include <stdio.h>

#define WINDOW_COLUMNS 3

static struct operator* make_source(const void *spec)
{
    return source_op_new(spec);
}
static struct operator* make_watermark(const void *spec)
{
    return watermark_new(spec);
}
static struct operator* make_window_assign(const void *spec)
{
    return window_assign_new(spec);
}
static struct source *make_values(const void *config)
{
    return values_source_new(config);
}

static enum rc fail(struct plan *p, struct sql_pos pos, enum rc rc, const char *what,
                    const char *name)
{
    return sql_error_at(p->err, rc, p->source, pos, "%s%s", what, name);
}

/* All columns with one qualifier; origins are their names. */
static void set_table_fields(struct plan *p, struct plan_stream *s, const char *qualifier)
{
    s->fields = ARENA_ARRAY(p->arena, s->schema->field_count + 1, struct plan_field);
    for (uint32_t i = 0; i < s->schema->field_count; i++)
        s->fields[i] =
            (struct plan_field){.qualifier = qualifier,
                                .origin = s->schema->fields[i].name,
                                .base = arena_printf(p->arena, "%s\n", s->schema->fields[i].name)};
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Physical columns -> all columns, where some are computed. */
static enum rc add_computed(struct plan *p, const struct catalog_entry *e, struct plan_stream *s)
{
    struct plan_calc *calc = ARENA_NEW(p->arena, struct plan_calc);
    struct schema *physical = s->schema;
    const char **origins = ARENA_ARRAY(p->arena, e->column_count, const char *);
    uint32_t next = 0;

    *calc = (struct plan_calc){.input = physical, .detail = s->ident};
    calc->exprs = ARENA_ARRAY(p->arena, e->column_count, const struct expr *);
    for (uint32_t i = 0; i < e->column_count; i++) {
        struct expr *bound;

        if (e->columns[i].kind == COLUMN_COMPUTED) {
            RETURN_IF_ERR(plan_bind(p, s, e->columns[i].computed, &bound));
        } else {
            bound = expr_new_column(p->arena, next, physical->fields[next].type);
            next++;
        }
        calc->exprs[i] = bound;
        origins[i] = plan_origin(p, s, bound);
    }
    s->schema = schema_copy(p->arena, e->row);
    s->calc = calc;
    set_table_fields(p, s, s->ident);
    for (uint32_t i = 0; i < e->column_count; i++)
        s->fields[i].origin = origins[i]; /* another expression is another column */
    s->logical =
        plan_node_new(p, s->logical, NULL, "LogicalProject(exprs=[%s])", plan_names(p, s->schema));
    return plan_flush(p, s);
}

static enum rc add_watermark(struct plan *p, const struct catalog_entry *e, struct plan_stream *s)
{
    struct watermark_spec *spec = ARENA_NEW(p->arena, struct watermark_spec);
    const char *column = e->columns[e->watermark_column].name;
    struct buf text = {0};
    struct expr *bound;
    struct plan_op *op;

    RETURN_IF_ERR(plan_bind(p, s, e->watermark, &bound));
    *spec = (struct watermark_spec){
        .input = s->schema,
        .time_column = (uint32_t)e->watermark_column,
        .watermark = bound,
        .emit_interval_ms = config_duration_ms(p->ctx->config, OPT_WATERMARK_INTERVAL),
        .idle_timeout_ms = config_duration_ms(p->ctx->config, OPT_SOURCE_IDLE_TIMEOUT),
        .time_zone = p->time_zone,
    };
    expr_print(bound, s->schema, &text);
    s->logical =
        plan_node_new(p, s->logical, NULL, "LogicalWatermarkAssigner(rowtime=[%s], watermark=[%s])",
                      column, buf_cstr(&text));
    s->physical =
        plan_node_new(p, s->physical, "I", "WatermarkAssigner(rowtime=[%s], watermark=[%s])",
                      column, buf_cstr(&text));
    buf_release(&text);
    RETURN_IF_ERR(plan_op_new(p, "WatermarkAssigner", &op));
    op->spec.make = make_watermark;
    op->spec.spec = spec;
    op->spec.stateful = true;
    op->spec.description = s->physical->text;
    op->parallelism = s->op->parallelism;
    op->ident = arena_printf(p->arena, "watermark\n%s", e->name);
    plan_connect(p, op, s->op, PARTITION_FORWARD, 0, NULL, s->schema);
    s->op = op;
    s->schema->rowtime = e->watermark_column;
    return RC_OK;
}

static enum rc plan_scan_table(struct plan *p, const struct catalog_entry *e,
                               const struct ast_from *from, struct plan_stream *s)
{
    struct connector_source *source = ARENA_NEW(p->arena, struct connector_source);
    struct connector_table ct;
    struct plan_op *op;

    RETURN_IF_ERR(catalog_connector_table(p->arena, e, from->option_count, from->options, p->source,
                                          p->time_zone, &ct, p->err));
    RETURN_IF_ERR(connector_source_of(p->arena, &ct, source, p->err));
    RETURN_IF_ERR(plan_op_new(p, arena_printf(p->arena, "Source: %s", e->name), &op));
    *s = (struct plan_stream){
        .op = op, .bounded = source->bounded, .ident = arena_strdup(p->arena, e->name)};
    s->schema = schema_copy(p->arena, source->spec.output);
    s->schema->rowtime = -1;
    set_table_fields(p, s, arena_strdup(p->arena, e->name));
    s->logical =
        plan_node_new(p, NULL, NULL,
                      "LogicalTableScan(table=[[default_catalog, default_database, %s]])", e->name);
    s->physical = plan_node_new(
        p, NULL, "I",
        "TableSourceScan(table=[[default_catalog, default_database, %s]], fields=[%s])", e->name,
        plan_names(p, s->schema));
    op->spec.is_source = op->spec.stateful = true;
    op->spec.make = make_source;
    op->spec.spec = &source->spec;
    op->spec.uid = source->uid;
    op->spec.description = s->physical->text;
    op->ident = arena_printf(p->arena, "source\n%s", e->name);
    op->parallelism = source->parallelism > 0 ? source->parallelism : p->parallelism;
    if (!source->bounded && !p->any_unbounded) {
        p->any_unbounded = true;
        p->unbounded_table = s->ident;
    }
    if (e->column_count > e->physical->field_count) {
        const char *text = p->source;

        p->source = e->source;
        RETURN_IF_ERR(add_computed(p, e, s));
        p->source = text;
    }
    if (e->watermark_column >= 0 && !p->batch) {
        const char *text = p->source;

        p->source = e->source;
        RETURN_IF_ERR(add_watermark(p, e, s));
        p->source = text;
    }
    if (e->watermark_column >= 0) /* in batch mode the end of the input is the only watermark */
        s->schema->rowtime = e->watermark_column;
    return RC_OK;
}

/* The key under which a scan is shared: name and hint. */
static const char *scan_key(struct plan *p, const struct ast_from *from)
{
    struct buf key = {0};
    const char *out;

    buf_append_str(&key, from->name);
    for (uint32_t i = 0; i < from->option_count; i++)
        buf_printf(&key, "\n%s\n%s", from->options[i].key, from->options[i].value);
    out = arena_strdup(p->arena, buf_cstr(&key));
    buf_release(&key);
    return out;
}

static void hold(struct plan *p, const struct catalog_entry *e)
{
    struct plan_held *h;

    for (h = p->held; h != NULL; h = h->next)
        if (h->entry == e) {
            catalog_release(e);
            return;
        }
    h = ARENA_NEW(p->arena, struct plan_held);
    *h = (struct plan_held){e, p->held};
    p->held = h;
    buf_printf(&p->tables, "%s;\n", e->text);
}

static enum rc plan_view_entry(struct plan *p, const struct catalog_entry *e,
                               const struct ast_from *from, struct plan_stream *s)
{
    const char *text = p->source;
    enum rc rc;

    if (from->option_count > 0)
        return fail(p, from->options[0].pos, RC_INVALID,
                    "a hint with options is for tables, this is a view: ", e->name);
    p->source = e->source;
    rc = plan_query(p, e->query, s);
    p->source = text;
    if (rc != RC_OK)
        return err_wrap(p->err, rc, "view %s", e->name);
    s->schema = schema_copy(p->arena, s->schema);
    for (uint32_t i = 0; i < e->view_column_count; i++)
        s->schema->fields[i].name = arena_strdup(p->arena, e->view_columns[i]);
    return RC_OK;
}

static enum rc plan_table(struct plan *p, const struct ast_from *from, struct plan_stream *s)
{
    const struct catalog_entry *e;
    struct plan_scan *scan;
    const char *key;
    enum rc rc;

    RETURN_IF_ERR(catalog_get(p->ctx->catalog, from->name, p->source, from->pos, &e, p->err));
    if (e->is_view) {
        rc = plan_view_entry(p, e, from, s);
        hold(p, e); /* behind the tables it needs */
        return rc;
    }
    hold(p, e);
    key = scan_key(p, from);
    for (scan = p->scans; scan != NULL && strcmp(scan->key, key) != 0; scan = scan->next)
        ;
    if (scan == NULL) {
        scan = ARENA_NEW(p->arena, struct plan_scan);
        scan->entry = e;
        scan->key = key;
        RETURN_IF_ERR(plan_scan_table(p, e, from, &scan->stream));
        scan->next = p->scans;
        p->scans = scan;
    }
    *s = scan->stream;
    s->schema = schema_copy(p->arena, s->schema);
    return RC_OK;
}

/* ---- VALUES ---------------------------------------------------------------------------------- */

/* CASE over all values of a column: its type is the one that fits them all. The condition is a
 * column, so that nothing is folded. */
static enum rc values_type(struct plan *p, const struct ast_query *q, uint32_t column,
                           struct type *out)
{
    struct schema_field condition = {"c", type_of(TYPE_BOOLEAN)};
    struct schema schema = {1, &condition, -1};
    struct plan_field field = {0};
    struct plan_stream in = {.schema = &schema, .fields = &field};
    struct ast_expr all = {.kind = EXPR_CASE, .pos = q->pos, .height = 1};
    struct expr *bound;

    all.args = ARENA_ARRAY(p->arena, 2 * (size_t)q->values_rows, struct ast_expr *);
    for (uint32_t r = 0; r < q->values_rows; r++) {
        if (r + 1 < q->values_rows)
            all.args[all.arg_count++] = ast_column_new(p->arena, NULL, "c", q->pos);
        all.args[all.arg_count++] = q->values[(size_t)r * q->values_columns + column];
    }
    all.case_else = true;
    RETURN_IF_ERR(plan_bind(p, &in, q->values_rows == 1 ? all.args[0] : &all, &bound));
    *out = expr_type(bound);
    if (out->kind == TYPE_NULL)
        *out = type_of(TYPE_INT);
    return RC_OK;
}

/* A batch of the builder in the arena. */
static struct batch *batch_in_arena(struct plan *p, const struct batch *from)
{
    struct batch *b = arena_copy(p->arena, from, sizeof *from);

    b->columns = arena_copy(p->arena, from->columns, from->column_count * sizeof *from->columns);
    b->kinds = NULL;
    for (uint32_t i = 0; i < b->column_count; i++) {
        struct column *c = &b->columns[i];
        size_t bits = bit_words(from->rows) * sizeof(uint64_t);

        if (c->validity != NULL)
            c->validity = arena_copy(p->arena, c->validity, bits);
        if (c->offsets != NULL) {
            c->bytes = arena_copy(p->arena, c->bytes, (size_t)c->offsets[from->rows]);
            c->offsets = arena_copy(p->arena, c->offsets, (from->rows + 1) * sizeof(int32_t));
        } else if (c->values != NULL) {
            c->values = arena_copy(p->arena, c->values,
                                   c->type.kind == TYPE_BOOLEAN
                                       ? bits
                                       : (size_t)from->rows * type_width(c->type.kind));
        }
    }
    return b;
}

static enum rc evaluate_rows(struct plan *p, const struct plan_stream *none,
                             const struct ast_query *q, const struct schema *schema,
                             struct expr_eval *eval, struct batch_builder *builder)
{
    struct batch empty = {.rows = 1}, row = {.rows = 1, .column_count = q->values_columns};
    const uint32_t first = 0;

    row.columns = ARENA_ARRAY(p->arena, q->values_columns, struct column);
    for (uint32_t r = 0; r < q->values_rows; r++) {
        for (uint32_t c = 0; c < q->values_columns; c++) {
            const struct ast_expr *ast = q->values[(size_t)r * q->values_columns + c];
            struct expr *bound;
            enum rc rc;

            RETURN_IF_ERR(plan_bind(p, none, ast, &bound));
            RETURN_IF_ERR(expr_coerce(p->arena, bound, schema->fields[c].type,
                                      schema->fields[c].name, &bound, p->err));
            rc = expr_evaluate(eval, bound, &empty, NULL, 1, &row.columns[c], p->err);
            if (rc != RC_OK) {
                struct err why = *p->err;

                err_clear(p->err);
                return sql_error_at(p->err, rc, p->source, ast->pos, "%s", why.msg);
            }
            row.columns[c].type = schema->fields[c].type;
        }
        batch_gather(builder, &row, &first, 1, NULL);
        expr_eval_reset(eval);
    }
    return RC_OK;
}

static enum rc values_rows(struct plan *p, const struct plan_stream *none,
                           const struct ast_query *q, const struct schema *schema,
                           struct batch **out)
{
    struct expr_eval *eval = expr_eval_new(p->ctx->env->clock, p->time_zone, p->err);
    struct batch_builder *builder;
    enum rc rc;

    if (eval == NULL)
        return p->err->rc;
    builder = batch_builder_new(schema);
    rc = evaluate_rows(p, none, q, schema, eval, builder);
    if (rc == RC_OK)
        *out = batch_in_arena(p, batch_builder_view(builder));
    batch_builder_free(builder);
    expr_eval_free(eval);
    return rc;
}

enum rc plan_values(struct plan *p, const struct ast_query *q, struct plan_stream *out)
{
    struct plan_stream none = {.schema = plan_schema_new(p, 0), .fields = NULL};
    struct values_config *config = ARENA_NEW(p->arena, struct values_config);
    struct source_spec *spec = ARENA_NEW(p->arena, struct source_spec);
    struct schema *schema = plan_schema_new(p, q->values_columns);
    struct plan_op *op;

    if (q->values_rows > BATCH_ROWS_MAX)
        return sql_error_at(p->err, RC_LIMIT, p->source, q->pos,
                            "VALUES has %u rows, the limit is %u; use a file", q->values_rows,
                            BATCH_ROWS_MAX);
    if (q->values_columns > CATALOG_COLUMNS_MAX)
        return sql_error_at(p->err, RC_LIMIT, p->source, q->pos,
                            "VALUES has %u columns, the limit is %d", q->values_columns,
                            CATALOG_COLUMNS_MAX);
    for (uint32_t c = 0; c < q->values_columns; c++) {
        schema->fields[c].name = arena_printf(p->arena, "EXPR$%u", c);
        RETURN_IF_ERR(values_type(p, q, c, &schema->fields[c].type));
        schema->field_count++;
    }
    config->schema = schema;
    RETURN_IF_ERR(values_rows(p, &none, q, schema, &config->rows));
    RETURN_IF_ERR(plan_op_new(p, "Source: Values", &op));
    *out = (struct plan_stream){.op = op, .schema = schema, .bounded = true, .ident = "VALUES"};
    set_table_fields(p, out, NULL);
    out->logical = plan_node_new(p, NULL, NULL, "LogicalValues(tuples=[%u rows])", q->values_rows);
    out->physical = plan_node_new(p, NULL, "I", "Values(tuples=[%u rows], fields=[%s])",
                                  q->values_rows, plan_names(p, schema));
    *spec = (struct source_spec){
        .output = schema, .table_name = "VALUES", .make = make_values, .config = config};
    op->spec.is_source = op->spec.stateful = true;
    op->spec.make = make_source;
    op->spec.spec = spec;
    op->spec.description = out->physical->text;
    op->ident = "values";
    op->parallelism = 1;
    return RC_OK;
}

/* ---- TUMBLE ---------------------------------------------------------------------------------- */

/* Milliseconds of a constant INTERVAL. */
static enum rc interval_ms(struct plan *p, const struct ast_expr *ast, const char *what,
                           int64_t *ms)
{
    struct plan_stream none = {.schema = plan_schema_new(p, 0), .fields = NULL};
    struct batch empty = {.rows = 1};
    struct expr_eval *eval;
    struct column value;
    struct expr *bound;
    enum rc rc;

    RETURN_IF_ERR(plan_bind(p, &none, ast, &bound));
    if (expr_type(bound).kind != TYPE_INTERVAL_DAY)
        return fail(p, ast->pos, RC_INVALID, what,
                    " of TUMBLE must be an interval of days to seconds: INTERVAL '10' SECOND");
    eval = expr_eval_new(p->ctx->env->clock, p->time_zone, p->err);
    if (eval == NULL)
        return p->err->rc;
    rc = expr_evaluate(eval, bound, &empty, NULL, 1, &value, p->err);
    if (rc == RC_OK && column_present(&value, 0))
        *ms = ((const int64_t *)value.values)[0];
    else if (rc == RC_OK)
        rc = fail(p, ast->pos, RC_INVALID, what, " of TUMBLE is NULL");
    expr_eval_free(eval);
    return rc;
}

static enum rc window_time_column(struct plan *p, const struct ast_from *from,
                                  struct plan_stream *s, uint32_t *out)
{
    struct ast_expr column = {
        .kind = EXPR_COLUMN, .pos = from->time_column_pos, .name = from->time_column, .height = 1};
    int32_t at = plan_column_of(s, &column);
    struct type type;

    if (at < 0) {
        struct expr *bound;

        return plan_bind(p, s, &column, &bound) != RC_OK
                   ? p->err->rc
                   : fail(p, column.pos, RC_INVALID, "there is no column ", from->time_column);
    }
    type = s->schema->fields[at].type;
    if (!type_is_timestamp(type.kind))
        return fail(p, column.pos, RC_INVALID, "windows need a TIMESTAMP column, this is ",
                    type_str(p->arena, type, false));
    if (!p->batch && s->schema->rowtime != at)
        return sql_error_at(p->err, RC_INVALID, p->source, column.pos,
                            "the window function requires a time attribute, but %s is a plain %s; "
                            "declare WATERMARK FOR it in the table",
                            from->time_column, type_str(p->arena, type, false));
    *out = (uint32_t)at;
    return RC_OK;
}

/* Adds window_start, window_end, window_time to the schema; the operator comes with the GROUP BY or
 * plan_window_assign. */
static void add_window_columns(struct plan *p, struct plan_stream *s, uint32_t time_column)
{
    static const char *const names[WINDOW_COLUMNS] = {"window_start", "window_end", "window_time"};
    struct schema *schema = plan_schema_new(p, s->schema->field_count + WINDOW_COLUMNS);
    struct plan_field *fields =
        ARENA_ARRAY(p->arena, s->schema->field_count + WINDOW_COLUMNS + 1, struct plan_field);
    uint32_t n = s->schema->field_count;
    struct type time = type_of(TYPE_TIMESTAMP);

    time.precision = 3;
    time.nullable = false;
    memcpy(schema->fields, s->schema->fields, n * sizeof *schema->fields);
    memcpy(fields, s->fields, n * sizeof *fields);
    for (uint32_t i = 0; i < WINDOW_COLUMNS; i++) {
        if (i == 2)
            time.kind = s->schema->fields[time_column].type.kind;
        schema->fields[n + i] = (struct schema_field){names[i], time};
        fields[n + i] = (struct plan_field){.origin = names[i], .base = s->fields[time_column].base};
    }
    schema->field_count = n + WINDOW_COLUMNS;
    schema->rowtime = s->schema->rowtime;
    s->schema = schema;
    s->fields = fields;
}

static enum rc plan_tumble(struct plan *p, const struct ast_from *from, struct plan_stream *s)
{
    struct plan_window *w = ARENA_NEW(p->arena, struct plan_window);

    if (from->query != NULL)
        RETURN_IF_ERR(plan_query(p, from->query, s));
    else
        RETURN_IF_ERR(plan_table(p, from, s));
    RETURN_IF_ERR(plan_flush(p, s));
    if (s->window != NULL)
        RETURN_IF_ERR(plan_window_assign(p, s));
    if (s->updating)
        return sql_error_at(
            p->err, RC_UNSUPPORTED, p->source, from->pos,
            "windows over a query that updates are not supported by varve; it is updated by %s",
            s->updating_by);
    RETURN_IF_ERR(window_time_column(p, from, s, &w->time_column));
    RETURN_IF_ERR(interval_ms(p, from->size, "the size", &w->size_ms));
    if (w->size_ms <= 0)
        return fail(p, from->size->pos, RC_INVALID, "the size of TUMBLE must be positive", "");
    if (from->offset != NULL)
        RETURN_IF_ERR(interval_ms(p, from->offset, "the offset", &w->offset_ms));
    if (w->offset_ms <= -w->size_ms || w->offset_ms >= w->size_ms)
        return fail(p, from->offset->pos, RC_INVALID,
                    "the offset of TUMBLE must be smaller than its size", "");
    add_window_columns(p, s, w->time_column);
    s->window = w;
    s->logical = plan_node_new(
        p, s->logical, NULL,
        "LogicalTableFunctionScan(invocation=[TUMBLE(DESCRIPTOR(%s), %lld ms)], rowType=[%s])",
        from->time_column, (long long)w->size_ms, plan_names(p, s->schema));
    return RC_OK;
}

enum rc plan_window_assign(struct plan *p, struct plan_stream *s)
{
    struct window_spec *spec = ARENA_NEW(p->arena, struct window_spec);
    struct schema *input = schema_copy(p->arena, s->schema);
    struct plan_op *op;

    input->field_count -= WINDOW_COLUMNS;
    *spec = (struct window_spec){
        .input = input,
        .output = s->schema,
        .time_column = s->window->time_column,
        .size_ms = s->window->size_ms,
        .offset_ms = s->window->offset_ms,
        .emit_start = true,
        .emit_end = true,
        .emit_time = true,
        .time_zone = p->time_zone,
    };
    s->physical = plan_node_new(
        p, s->physical, "I", "WindowTableFunction(window=[TUMBLE(time_col=[%s], size=[%lld ms])])",
        s->schema->fields[s->window->time_column].name, (long long)s->window->size_ms);
    RETURN_IF_ERR(plan_op_new(p, "WindowTableFunction", &op));
    op->spec.make = make_window_assign;
    op->spec.spec = spec;
    op->spec.description = s->physical->text;
    op->parallelism = s->op->parallelism;
    op->ident = arena_printf(p->arena, "window-assign\n%s", s->ident);
    plan_connect(p, op, s->op, PARTITION_FORWARD, 0, NULL, input);
    s->op = op;
    s->window = NULL;
    return RC_OK;
}

/* ---- FROM ------------------------------------------------------------------------------------ */

enum rc plan_from(struct plan *p, const struct ast_from *from, struct plan_stream *s)
{
    switch (from->kind) {
    case FROM_TABLE:
        RETURN_IF_ERR(plan_table(p, from, s));
        break;
    case FROM_SUBQUERY:
    case FROM_VALUES:
        RETURN_IF_ERR(plan_query(p, from->query, s));
        break;
    case FROM_TUMBLE:
        RETURN_IF_ERR(plan_tumble(p, from, s));
        break;
    }
    RETURN_IF_ERR(plan_flush(p, s));
    s->fields = arena_copy(p->arena, s->fields, (s->schema->field_count + 1) * sizeof *s->fields);
    if (from->alias_column_count > 0) {
        if (from->alias_column_count != s->schema->field_count)
            return sql_error_at(p->err, RC_INVALID, p->source, from->pos,
                                "%s names %u columns, there are %u", from->alias,
                                from->alias_column_count, s->schema->field_count);
        s->schema = schema_copy(p->arena, s->schema);
        for (uint32_t i = 0; i < s->schema->field_count; i++) {
            s->schema->fields[i].name = arena_strdup(p->arena, from->alias_columns[i]);
            if (from->kind == FROM_VALUES) { /* columns of VALUES have no other name */
                s->fields[i].origin = s->schema->fields[i].name;
                s->fields[i].base = arena_printf(p->arena, "%s\n", s->fields[i].origin);
            }
        }
    }
    for (uint32_t i = 0; i < s->schema->field_count; i++) {
        const char *name = from->alias != NULL ? from->alias : from->name;

        s->fields[i].qualifier = name == NULL ? NULL : arena_strdup(p->arena, name);
    }
    return RC_OK;
}
