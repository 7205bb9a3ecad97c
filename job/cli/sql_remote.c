/* sql_remote.c - statements of `varve sql -m` in a varve serve, by its SQL gateway. See
 * sql_engine.h
 *
 * Rows come as JSON; they are handed on as text columns that are as wide as their types. */
#include "job/cli/sql_engine.h"

#include "job/cli/client.h"
#include "job/datetime.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

struct remote {
    struct sql_engine engine;
    struct cli *cli;
    struct client *client;
    struct signals signals;
    struct config *config; /* a copy of the session's settings */
    char session[64];
    bool ending;
};

static const char *text_of(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));

    return s != NULL ? s : "";
}

/* ---- columns and rows
 * ------------------------------------------------------------------------------ */

static struct type timestamp_ltz(int32_t precision)
{
    struct type type = type_of(TYPE_TIMESTAMP_LTZ);

    type.precision = (uint8_t)precision;
    return type;
}

/* Types that JSON has come as they are; all else is text as wide as its type. */
static struct type type_from(const json_t *o)
{
    static const struct {
        const char *name;
        enum type_kind kind;
    } kinds[] = {
        {"BOOLEAN", TYPE_BOOLEAN}, {"TINYINT", TYPE_TINYINT}, {"SMALLINT", TYPE_SMALLINT},
        {"INTEGER", TYPE_INT},     {"BIGINT", TYPE_BIGINT},   {"FLOAT", TYPE_DOUBLE},
        {"DOUBLE", TYPE_DOUBLE},
    };
    const char *name = text_of(o, "type");
    int32_t precision = (int32_t)json_integer_value(json_object_get(o, "precision"));
    json_int_t length = json_integer_value(json_object_get(o, "length"));
    struct type text = type_of(TYPE_VARCHAR);

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (strcmp(kinds[i].name, name) == 0)
            return type_of(kinds[i].kind);
    if (strcmp(name, "DATE") == 0)
        text.length = 10;
    else if (strcmp(name, "DECIMAL") == 0)
        text.length = precision + 2;
    else if (strcmp(name, "TIMESTAMP_WITH_LOCAL_TIME_ZONE") == 0 && precision >= 0 &&
             precision <= 9)
        return timestamp_ltz(precision); /* shown in this session's zone */
    else if (strncmp(name, "TIMESTAMP", 9) == 0)
        text.length = precision == 0 ? 19 : 20 + precision;
    else if (length > 0 && length < TYPE_LENGTH_MAX)
        text.length = (int32_t)length;
    return text;
}

static struct schema *schema_of(struct arena *a, const json_t *columns)
{
    struct schema *s = ARENA_NEW(a, struct schema);
    const json_t *one;
    size_t i;

    s->rowtime = -1;
    s->field_count = (uint32_t)json_array_size(columns);
    s->fields = ARENA_ARRAY(a, s->field_count + 1, struct schema_field);
    json_array_foreach(columns, i, one)
    {
        const json_t *type = json_object_get(one, "logicalType");

        s->fields[i].name = arena_strdup(a, text_of(one, "name"));
        s->fields[i].type = type_from(type);
        s->fields[i].type.nullable = !json_is_false(json_object_get(type, "nullable"));
    }
    return s;
}

static enum row_kind kind_of(const char *word)
{
    return strcmp(word, "UPDATE_BEFORE") == 0  ? ROW_UPDATE_BEFORE
           : strcmp(word, "UPDATE_AFTER") == 0 ? ROW_UPDATE_AFTER
           : strcmp(word, "DELETE") == 0       ? ROW_DELETE
                                               : ROW_INSERT;
}

static enum rc append_value(struct batch_builder *b, uint32_t column, const struct type *type,
                            const json_t *v, struct err *err)
{
    enum type_kind kind = type->kind;
    bool zoned = false;
    int64_t t;

    if (v == NULL || json_is_null(v))
        batch_append_null(b, column);
    else if (kind == TYPE_BOOLEAN && json_is_boolean(v))
        batch_append_bool(b, column, json_is_true(v));
    else if (type_is_integer(kind) && json_is_integer(v))
        batch_append_int(b, column, json_integer_value(v));
    else if (kind == TYPE_DOUBLE && json_is_number(v))
        batch_append_double(b, column, json_number_value(v));
    else if (kind == TYPE_DOUBLE && json_is_string(v)) /* NaN, Infinity */
        batch_append_double(b, column, strtod(json_string_value(v), NULL));
    else if (kind == TYPE_VARCHAR && json_is_string(v))
        batch_append_bytes(b, column, bytes_of(json_string_value(v), json_string_length(v)));
    else if (kind == TYPE_TIMESTAMP_LTZ && json_is_string(v) &&
             timestamp_parse(bytes_of(json_string_value(v), json_string_length(v)), type->precision,
                             &zoned, &t, NULL) == RC_OK &&
             zoned)
        batch_append_int(b, column, t);
    else
        return err_set(err, RC_CORRUPT, "the server sent a value of another type in column %u",
                       column + 1);
    return RC_OK;
}

struct page_reader {
    struct arena *arena;
    struct schema *schema; /* NULL: not begun */
    struct batch_builder *builder;
    const struct result_handler *handler;
    struct statement_result *result;
};

static enum rc flush(struct page_reader *p, struct err *err)
{
    enum rc rc = RC_OK;

    if (batch_builder_rows(p->builder) > 0 && p->handler->rows != NULL)
        rc = p->handler->rows(p->handler->ctx, batch_builder_view(p->builder), err);
    p->result->row_count += batch_builder_rows(p->builder);
    batch_builder_clear(p->builder);
    return rc;
}

static enum rc read_rows(struct page_reader *p, const json_t *data, struct err *err)
{
    const json_t *row;
    size_t i;

    json_array_foreach(data, i, row)
    {
        const json_t *fields = json_object_get(row, "fields");

        if (json_array_size(fields) != p->schema->field_count)
            return err_set(err, RC_CORRUPT,
                           "the server sent a row of %zu fields, there are %u columns",
                           json_array_size(fields), p->schema->field_count);
        for (uint32_t c = 0; c < p->schema->field_count; c++)
            RETURN_IF_ERR(append_value(p->builder, c, &p->schema->fields[c].type,
                                       json_array_get(fields, c), err));
        batch_row_end(p->builder, kind_of(text_of(row, "kind")));
        if (batch_builder_full(p->builder))
            RETURN_IF_ERR(flush(p, err));
    }
    return flush(p, err);
}

/* What kind of statement it was, from its columns: the gateway tells no more. */
static enum result_kind kind_of_result(const json_t *page, const struct schema *s)
{
    const char *only = s->field_count == 1 ? s->fields[0].name : "";

    if (json_is_true(json_object_get(page, "isQueryResult")))
        return RESULT_QUERY;
    if (strcmp(text_of(page, "resultKind"), "SUCCESS") == 0)
        return RESULT_OK;
    return strcmp(only, "job id") == 0 ? RESULT_JOB : RESULT_ROWS;
}

static enum rc read_page(struct page_reader *p, const json_t *page, const struct config *config,
                         struct err *err)
{
    const json_t *results = json_object_get(page, "results");

    if (results == NULL)
        return RC_OK;
    if (p->schema == NULL) {
        p->schema = schema_of(p->arena, json_object_get(results, "columns"));
        p->builder = batch_builder_new(p->schema);
        p->result->kind = kind_of_result(page, p->schema);
        p->result->batch = config_enum(config, OPT_RUNTIME_MODE) == RUNTIME_BATCH;
        p->result->time_zone = config_string(config, OPT_LOCAL_TIME_ZONE);
        p->result->updating = p->result->kind == RESULT_QUERY && !p->result->batch;
        snprintf(p->result->job_id, sizeof p->result->job_id, "%s", text_of(page, "jobID"));
        if (p->result->kind != RESULT_OK && p->result->kind != RESULT_JOB &&
            p->handler->begin != NULL)
            RETURN_IF_ERR(p->handler->begin(p->handler->ctx, p->schema, p->result, err));
    }
    if (p->result->kind == RESULT_OK || p->result->kind == RESULT_JOB)
        return RC_OK; /* "OK" and the job's id are said otherwise */
    return read_rows(p, json_object_get(results, "data"), err);
}

/* ---- statements
 * ------------------------------------------------------------------------------------ */

static enum rc submit(struct remote *r, const char *statement, char path[192], struct err *err)
{
    json_t *body = json_pack("{s: s}", "statement", statement), *answer = NULL;
    enum rc rc;

    if (body == NULL)
        return err_set(err, RC_INVALID, "the statement is not valid UTF-8");
    snprintf(path, 192, "/v3/sessions/%s/statements", r->session);
    rc = client_call(r->client, "POST", path, body, &answer, err);
    json_decref(body);
    if (rc != RC_OK)
        return rc;
    snprintf(path, 192, "/v3/sessions/%s/operations/%.40s", r->session,
             text_of(answer, "operationHandle"));
    json_decref(answer);
    return RC_OK;
}

/* SIGINT: the operation is cancelled; SIGTERM: also the client's end. */
static bool stop_asked(struct remote *r)
{
    int which = signals_take(&r->signals, 0);

    r->ending |= which == SIGTERM;
    return which != 0;
}

static enum rc fetch_all(struct remote *r, const char *operation, struct page_reader *p,
                         bool *interrupted, struct err *err)
{
    char path[256];
    uint64_t token = 0;

    for (uint32_t tries = 0;; tries++) {
        const char *type;
        json_t *page;
        enum rc rc;
        bool eos;

        if (stop_asked(r)) {
            *interrupted = true;
            return RC_OK;
        }
        snprintf(path, sizeof path, "%s/result/%llu?rowFormat=JSON", operation,
                 (unsigned long long)token);
        RETURN_IF_ERR(client_call(r->client, "GET", path, NULL, &page, err));
        type = text_of(page, "resultType");
        eos = strcmp(type, "EOS") == 0;
        if (strcmp(type, "PAYLOAD") == 0) {
            token++;
            tries = 0;
        }
        rc = read_page(p, page, r->config, err);
        if (rc == RC_OK && !eos && strcmp(type, "PAYLOAD") != 0 && strcmp(type, "NOT_READY") != 0)
            rc = err_set(err, RC_CORRUPT, "%s does not answer as varve does: resultType \"%.40s\"",
                         client_target(r->client), type);
        json_decref(page);
        if (rc != RC_OK || eos)
            return rc;
        if (tries > 0)
            client_back_off(r->client, tries < 4 ? tries : 4);
    }
}

static enum rc refresh_config(struct remote *r, struct err *err)
{
    char path[128];
    json_t *answer, *value;
    const char *key;
    enum rc rc = RC_OK;
    struct config *fresh = config_new();

    snprintf(path, sizeof path, "/v3/sessions/%s", r->session);
    rc = client_call(r->client, "GET", path, NULL, &answer, err);
    if (rc == RC_OK) {
        json_object_foreach(json_object_get(answer, "properties"), key, value)
        {
            if (rc == RC_OK && json_is_string(value))
                rc = config_set(fresh, CONFIG_SET, key, json_string_value(value), err);
        }
        json_decref(answer);
    }
    if (rc == RC_OK) {
        config_free(r->config);
        r->config = fresh;
        return RC_OK;
    }
    config_free(fresh);
    return rc;
}

static enum rc execute(struct sql_engine *engine, const struct ast_statement *s,
                       const struct result_handler *handler, struct statement_result *result,
                       bool *interrupted, struct err *err)
{
    struct remote *r = (struct remote *)engine;
    struct page_reader p = {.handler = handler, .result = result};
    char path[192], close_path[256];
    json_t *answer = NULL;
    struct err ignored = {0};
    enum rc rc;

    *result = (struct statement_result){0};
    *interrupted = false;
    if (s->kind == STMT_QUIT || s->kind == STMT_HELP) {
        result->kind = s->kind == STMT_QUIT ? RESULT_EXIT : RESULT_HELP;
        return RC_OK;
    }
    RETURN_IF_ERR(submit(r, s->text, path, err));
    p.arena = arena_new(0);
    rc = fetch_all(r, path, &p, interrupted, err);
    snprintf(close_path, sizeof close_path, "%s/close", path);
    if (client_call(r->client, "DELETE", close_path, NULL, &answer, &ignored) == RC_OK)
        json_decref(answer);
    batch_builder_free(p.builder);
    arena_free(p.arena);
    if (rc == RC_OK && (s->kind == STMT_SET || s->kind == STMT_RESET))
        rc = refresh_config(r, err);
    return rc;
}

/* ---- the rest
 * -------------------------------------------------------------------------------------- */

static const struct config *config(struct sql_engine *engine)
{
    return ((struct remote *)engine)->config;
}

struct completion {
    const char *prefix;
    void (*fn)(void *ctx, const char *name);
    void *ctx;
};

static enum rc complete_rows(void *ctx, const struct batch *b, struct err *err)
{
    struct completion *c = ctx;
    char name[256];

    (void)err;
    for (uint32_t i = 0; i < b->rows; i++) {
        struct bytes text = column_bytes(&b->columns[0], i);

        if (text.len >= sizeof name || strlen(c->prefix) > text.len ||
            memcmp(text.data, c->prefix, strlen(c->prefix)) != 0)
            continue;
        memcpy(name, text.data, text.len);
        name[text.len] = '\0';
        c->fn(c->ctx, name);
    }
    return RC_OK;
}

static void complete(struct sql_engine *engine, const char *prefix,
                     void (*fn)(void *ctx, const char *name), void *ctx)
{
    struct completion c = {prefix, fn, ctx};
    struct result_handler handler = {.ctx = &c, .rows = complete_rows};
    struct ast_statement show = {.kind = STMT_SHOW_TABLES, .text = "SHOW TABLES"};
    struct statement_result result;
    struct err ignored = {0};
    bool interrupted;

    (void)!execute(engine, &show, &handler, &result, &interrupted, &ignored);
}

/* A session that is not used for ten minutes ends. */
static void idle(struct sql_engine *engine)
{
    struct remote *r = (struct remote *)engine;
    struct err ignored = {0};
    json_t *answer = NULL;
    char path[128];

    snprintf(path, sizeof path, "/v3/sessions/%s/heartbeat", r->session);
    if (client_call(r->client, "POST", path, NULL, &answer, &ignored) == RC_OK)
        json_decref(answer);
}

static bool ending(struct sql_engine *engine)
{
    return ((struct remote *)engine)->ending;
}

/* The jobs are the server's: they go on. */
static int finish(struct sql_engine *engine, bool wait)
{
    (void)engine;
    (void)wait;
    return EXIT_DONE;
}

static void close_engine(struct sql_engine *engine)
{
    struct remote *r = (struct remote *)engine;
    struct err ignored = {0};
    json_t *answer = NULL;
    char path[128];

    if (r->session[0] != '\0') {
        snprintf(path, sizeof path, "/v3/sessions/%s", r->session);
        if (client_call(r->client, "DELETE", path, NULL, &answer, &ignored) == RC_OK)
            json_decref(answer);
    }
    client_close(r->client);
    signals_close(&r->signals);
    config_free(r->config);
    mem_free(r);
}

static const struct sql_engine_ops ops = {execute, config, complete,    idle,
                                          ending,  finish, close_engine};

static enum rc open_session(struct remote *r, const struct arg_option *pairs, struct err *err)
{
    json_t *properties = json_object(), *body, *answer = NULL;
    enum rc rc = RC_OK;

    for (uint32_t i = 0; i < pairs->count && rc == RC_OK; i++) {
        const char *equals = strchr(pairs->all[i], '=');

        if (equals == NULL)
            rc = err_set(err, RC_INVALID, "-D %s: give KEY=VALUE", pairs->all[i]);
        else
            json_object_set_new(
                properties,
                arena_strndup(r->cli->arena, pairs->all[i], (size_t)(equals - pairs->all[i])),
                json_string(equals + 1));
    }
    body = json_pack("{s: o}", "properties", properties);
    if (rc == RC_OK)
        rc = client_call(r->client, "POST", "/v3/sessions", body, &answer, err);
    json_decref(body);
    if (rc != RC_OK)
        return rc;
    snprintf(r->session, sizeof r->session, "%s", text_of(answer, "sessionHandle"));
    json_decref(answer);
    return refresh_config(r, err);
}

struct sql_engine *sql_engine_remote(struct cli *cli, const struct args *args, const char *target,
                                     int *exit_code)
{
    struct remote *r = mem_calloc(1, sizeof *r);
    struct err err = {0};
    enum rc rc;

    r->engine = (struct sql_engine){&ops, &r->signals};
    r->cli = cli;
    r->signals.fd = -1;
    r->config = config_new();
    rc = client_open(&cli->env, target, &r->client, &err);
    if (rc == RC_OK)
        rc = signals_open(&r->signals, &err);
    if (rc == RC_OK)
        rc = open_session(r, args_get(args, "--define"), &err);
    if (rc == RC_OK)
        return &r->engine;
    *exit_code =
        rc == RC_NOT_FOUND ? cli_error(cli, EXIT_WRONG, "%s", err.msg) : cli_fail(cli, &err);
    close_engine(&r->engine);
    return NULL;
}
