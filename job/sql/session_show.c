/* session_show.c - statements whose answer is a table: SET, SHOW, DESCRIBE, STOP JOB WITH
 * SAVEPOINT. */
#include "job/sql/ast_util.h"
#include "job/sql/plan.h"
#include "job/sql/session_priv.h"

#define COLUMNS_MAX 8
#define STOP_LOOK_MS 200 /* between two looks at a savepoint under way */

/* Rows under construction. */
struct table {
    struct schema schema;
    struct schema_field fields[COLUMNS_MAX];
    struct batch_builder *builder;
    const struct result_handler *handler;
    struct statement_result *result;
    enum rc rc; /* first failure of the handler */
    struct err *err;
};

static struct type not_null_string(void)
{
    struct type t = type_of(TYPE_VARCHAR);

    t.nullable = false;
    return t;
}

static void table_begin(struct table *t, const struct result_handler *h,
                        struct statement_result *result, uint32_t count, const char *const *columns,
                        struct err *err)
{
    *t = (struct table){.handler = h, .result = result, .err = err};
    t->schema = (struct schema){count, t->fields, -1};
    for (uint32_t i = 0; i < count; i++)
        t->fields[i] = (struct schema_field){columns[i], not_null_string()};
}

/* After the column types are settled. */
static void table_open(struct table *t)
{
    t->builder = batch_builder_new(&t->schema);
    t->result->kind = RESULT_ROWS;
    if (t->handler->begin != NULL)
        t->rc = t->handler->begin(t->handler->ctx, &t->schema, t->result, t->err);
}

static void table_send(struct table *t)
{
    if (t->rc == RC_OK && batch_builder_rows(t->builder) > 0) {
        t->result->row_count += batch_builder_rows(t->builder);
        if (t->handler->rows != NULL)
            t->rc = t->handler->rows(t->handler->ctx, batch_builder_view(t->builder), t->err);
    }
    batch_builder_clear(t->builder);
}

static void table_text(struct table *t, uint32_t column, const char *text)
{
    if (text == NULL)
        batch_append_null(t->builder, column);
    else
        batch_append_bytes(t->builder, column, bytes_of_str(text));
}

static void table_row_end(struct table *t)
{
    batch_row_end(t->builder, ROW_INSERT);
    if (batch_builder_full(t->builder))
        table_send(t);
}

static enum rc table_end(struct table *t)
{
    table_send(t);
    batch_builder_free(t->builder);
    return t->rc;
}

enum rc session_one_row(const struct result_handler *h, struct statement_result *result,
                        const char *column, const char *text, struct err *err)
{
    struct table t;

    table_begin(&t, h, result, 1, &column, err);
    table_open(&t);
    table_text(&t, 0, text);
    table_row_end(&t);
    return table_end(&t);
}

enum rc session_text_rows(const struct result_handler *h, struct statement_result *result,
                          const char *column, const char *lines, struct err *err)
{
    struct table t;

    table_begin(&t, h, result, 1, &column, err);
    table_open(&t);
    while (*lines != '\0') {
        size_t len = strcspn(lines, "\n");

        batch_append_bytes(t.builder, 0, bytes_of(lines, len));
        table_row_end(&t);
        lines += len + (lines[len] == '\n');
    }
    return table_end(&t);
}

/* ---- SET, SHOW TABLES, SHOW CREATE ----------------------------------------------------------- */

static void add_setting(void *ctx, const struct option *option, const char *value,
                        enum config_layer source)
{
    struct table *t = ctx;

    (void)source;
    table_text(t, 0, option->key);
    table_text(t, 1, value);
    table_row_end(t);
}

enum rc session_show_settings(struct session *s, const struct result_handler *h,
                              struct statement_result *result, struct err *err)
{
    static const char *const columns[] = {"key", "value"};
    struct table t;

    table_begin(&t, h, result, 2, columns, err);
    table_open(&t);
    config_list(s->config, true, add_setting, &t);
    return table_end(&t);
}

struct names {
    struct table table;
    bool views_only;
};
static void add_name(void *ctx, const struct catalog_entry *e)
{
    struct names *n = ctx;

    if (n->views_only && !e->is_view)
        return;
    table_text(&n->table, 0, e->name);
    table_row_end(&n->table);
}

enum rc session_show_names(struct session *s, bool views_only, const struct result_handler *h,
                           struct statement_result *result, struct err *err)
{
    const char *column = views_only ? "view name" : "table name";
    struct names n = {.views_only = views_only};

    table_begin(&n.table, h, result, 1, &column, err);
    table_open(&n.table);
    catalog_list(s->catalog, add_name, &n);
    return table_end(&n.table);
}

enum rc session_show_create(struct session *s, const struct ast_statement *st,
                            const struct result_handler *h, struct statement_result *result,
                            struct err *err)
{
    bool view = st->kind == STMT_SHOW_CREATE_VIEW;
    struct sql_pos nowhere = {0};
    const struct catalog_entry *e;
    struct buf text = {0};
    enum rc rc;

    RETURN_IF_ERR(catalog_get(s->catalog, st->name, NULL, nowhere, &e, err));
    if (e->is_view != view) {
        rc = err_set(err, RC_INVALID, "%s is a %s: use SHOW CREATE %s", st->name,
                     view ? "table" : "view", view ? "TABLE" : "VIEW");
    } else {
        catalog_print(e, &text);
        rc = session_one_row(h, result, "result", buf_cstr(&text), err);
    }
    buf_release(&text);
    catalog_release(e);
    return rc;
}

/* ---- DESCRIBE -------------------------------------------------------------------------------- */

static void describe_column(struct table *t, const struct catalog_entry *e, uint32_t index,
                            bool comments, struct arena *a)
{
    const struct catalog_column *c = &e->columns[index];
    bool key = false;
    struct buf extras = {0}, watermark = {0};

    for (uint32_t i = 0; i < e->primary_key_count; i++)
        key |= e->primary_key[i] == index;
    if (c->kind == COLUMN_COMPUTED) {
        buf_append_str(&extras, "AS ");
        ast_expr_print(c->computed, &extras);
    }
    if (e->watermark_column == (int32_t)index)
        ast_expr_print(e->watermark, &watermark);
    table_text(t, 0, c->name);
    table_text(t, 1,
               arena_printf(a, "%s%s", type_str(a, c->type, false),
                            e->watermark_column == (int32_t)index ? " *ROWTIME*" : ""));
    batch_append_bool(t->builder, 2, c->type.nullable);
    if (key) {
        struct buf text = {0};

        buf_append_str(&text, "PRI(");
        for (uint32_t i = 0; i < e->primary_key_count; i++)
            buf_printf(&text, "%s%s", i == 0 ? "" : ", ", e->columns[e->primary_key[i]].name);
        buf_append_str(&text, ")");
        table_text(t, 3, buf_cstr(&text));
        buf_release(&text);
    } else {
        table_text(t, 3, NULL);
    }
    table_text(t, 4, extras.len > 0 ? buf_cstr(&extras) : NULL);
    table_text(t, 5, watermark.len > 0 ? buf_cstr(&watermark) : NULL);
    if (comments)
        table_text(t, 6, c->comment);
    table_row_end(t);
    buf_release(&extras);
    buf_release(&watermark);
}

static void describe_view_column(struct table *t, const struct schema_field *f, struct arena *a)
{
    table_text(t, 0, f->name);
    table_text(t, 1, type_str(a, f->type, false));
    batch_append_bool(t->builder, 2, f->type.nullable);
    for (uint32_t i = 3; i < 6; i++)
        batch_append_null(t->builder, i);
    table_row_end(t);
}

enum rc session_describe(struct session *s, const struct ast_statement *st,
                         const struct result_handler *h, struct statement_result *result,
                         struct err *err)
{
    static const char *const columns[] = {"name",   "type",      "null",   "key",
                                          "extras", "watermark", "comment"};
    struct plan_context ctx = {s->catalog, s->config, s->env};
    struct arena *arena = arena_new(0);
    struct sql_pos nowhere = {0};
    const struct schema *schema = NULL;
    const struct catalog_entry *e = NULL;
    bool comments = false;
    struct table t;
    enum rc rc;

    GOTO_IF_ERR(catalog_get(s->catalog, st->name, NULL, nowhere, &e, err));
    if (e->is_view)
        GOTO_IF_ERR(plan_view(&ctx, e->query, e->view_column_count, e->view_columns, e->source,
                              arena, &schema, err));
    for (uint32_t i = 0; i < e->column_count; i++)
        comments |= e->columns[i].comment != NULL;
    table_begin(&t, h, result, comments ? 7 : 6, columns, err);
    t.fields[2].type = type_of(TYPE_BOOLEAN);
    for (uint32_t i = 3; i < t.schema.field_count; i++)
        t.fields[i].type.nullable = true;
    table_open(&t);
    for (uint32_t i = 0; i < e->column_count; i++)
        describe_column(&t, e, i, comments, arena);
    for (uint32_t i = 0; schema != NULL && i < schema->field_count; i++)
        describe_view_column(&t, &schema->fields[i], arena);
    rc = table_end(&t);
out:
    catalog_release(e);
    arena_free(arena);
    return rc;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static enum rc find_job(struct session *s, const char *id, struct job **out, struct err *err)
{
    *out = dispatcher_find(s->dispatcher, id);
    return *out != NULL ? RC_OK : err_set(err, RC_NOT_FOUND, "there is no job %s", id);
}

static void describe_job(struct table *t, struct job *job)
{
    struct arena *arena = arena_new(4096);
    struct job_view view;

    job_view(job, arena, &view);
    table_text(t, 0, view.id);
    table_text(t, 1, view.name);
    table_text(t, 2, job_state_str(view.state));
    batch_append_int(t->builder, 3, view.start_wall_ms * timestamp_units_per_ms(6));
    table_row_end(t);
    arena_free(arena);
}

enum rc session_show_jobs(struct session *s, const char *job_id, const struct result_handler *h,
                          struct statement_result *result, struct err *err)
{
    static const char *const columns[] = {"job id", "job name", "status", "start time"};
    struct job **jobs = mem_calloc(DISPATCHER_JOBS_MAX, sizeof *jobs);
    struct table t;
    size_t count = 1;
    enum rc rc;

    if (job_id != NULL)
        GOTO_IF_ERR(find_job(s, job_id, &jobs[0], err));
    else
        count = dispatcher_list(s->dispatcher, jobs, DISPATCHER_JOBS_MAX);
    table_begin(&t, h, result, 4, columns, err);
    t.fields[3].type = type_of(TYPE_TIMESTAMP_LTZ);
    t.fields[3].type.nullable = false;
    table_open(&t);
    for (size_t i = 0; i < count; i++) {
        describe_job(&t, jobs[i]);
        dispatcher_release(s->dispatcher, jobs[i]);
    }
    rc = table_end(&t);
out:
    mem_free(jobs);
    return rc;
}

static enum rc stop_with_savepoint(struct job *job, bool drain, struct job_operation *op,
                                   struct err *err)
{
    struct job_operation_request request = {.kind = JOB_OP_STOP, .drain = drain};

    RETURN_IF_ERR(job_operation_start(job, &request, err));
    do {
        RETURN_IF_ERR(job_operation_get(job, request.trigger_id, STOP_LOOK_MS, op, err));
    } while (!op->completed);
    return op->rc == RC_OK
               ? RC_OK
               : err_set(err, op->rc, "job %s was not stopped: %s", job_id(job), op->message);
}

enum rc session_stop_job(struct session *s, const struct ast_statement *st,
                         const struct result_handler *h, struct statement_result *result,
                         struct err *err)
{
    struct job_operation op;
    struct buf path = {0};
    struct job *job;
    enum rc rc = RC_OK;

    RETURN_IF_ERR(find_job(s, st->job_id, &job, err));
    if (!st->with_savepoint) {
        if (job_state_is_final(job_state(job)))
            rc = err_set(err, RC_STATE, "job %s has ended: it is %s", st->job_id,
                         job_state_str(job_state(job)));
        else
            job_cancel(job);
    } else {
        rc = stop_with_savepoint(job, st->with_drain, &op, err);
        if (rc == RC_OK) {
            path_to_uri(op.location, &path);
            rc = session_one_row(h, result, "savepoint path", buf_cstr(&path), err);
        }
        buf_release(&path);
    }
    dispatcher_release(s->dispatcher, job);
    return rc;
}
