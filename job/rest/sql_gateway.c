/* sql_gateway.c - see sql_gateway.h
 *
 * One mutex guards all sessions, their operations and buffers; it is never held while a statement
 * is executed or rows are turned into text. An operation lives as long as its session lists it or
 * its thread works at it. */
#include "job/rest/sql_gateway.h"

#include "base/thread.h"
#include "job/rest/rest_server.h"
#include "job/rest/row_json.h"
#include "job/sql/parser.h"

#include <stdio.h>

#define WAIT_TURN_MS 100

struct operation {
    char handle[UUID_LEN + 1];
    struct gateway *gateway;
    char *statement;
    enum operation_status status;
    struct err error;
    bool cancelled; /* asked for */
    bool begun;     /* columns are known */
    struct statement_result result;
    struct buf columns;  /* JSON array */
    struct buf rows;     /* JSON objects, a comma between them; not fetched yet */
    struct buf previous; /* the page that was given last, whole */
    uint64_t token;      /* of the next page */
    int64_t fetched_mono_ns;
    struct operation *next; /* newer */
};
struct sql_session {
    char handle[UUID_LEN + 1];
    struct gateway *gateway;
    struct session *session;
    struct thread *thread;
    bool closing;
    struct operation *operations; /* oldest first */
    size_t operation_count;
    struct operation *current; /* being executed */
    int64_t used_mono_ns;
    struct sql_session *next;
};
struct gateway {
    const struct env *env;
    struct dispatcher *dispatcher;
    const struct config *config;
    struct mutex mutex;
    struct cond cond; /* something about an operation changed, or a session closes */
    struct sql_session *sessions GUARDED_BY(mutex);
    size_t session_count GUARDED_BY(mutex);
    struct rng rng GUARDED_BY(mutex);
};

const char *operation_status_str(enum operation_status s)
{
    static const char *const words[] = {"PENDING",  "RUNNING", "FINISHED",
                                        "CANCELED", "CLOSED",  "ERROR"};

    ASSERT((size_t)s < ARRAY_LEN(words));
    return words[s];
}

static bool ended(const struct operation *o)
{
    return o->status >= OPERATION_FINISHED;
}

static void operation_free(struct operation *o)
{
    mem_free(o->statement);
    buf_release(&o->columns);
    buf_release(&o->rows);
    buf_release(&o->previous);
    mem_free(o);
}

/* ---- a statement's results, on its own threads
 * ----------------------------------------------------- */

static enum rc on_begin(void *ctx, const struct schema *schema,
                        const struct statement_result *result, struct err *err)
{
    struct operation *o = ctx;
    struct buf text = {0};
    json_t *columns;

    (void)err;
    if (schema == NULL) /* INSERT: its job has started, there are no rows */
        return RC_OK;
    columns = json_array();
    for (uint32_t i = 0; i < schema->field_count; i++)
        json_array_append_new(columns, column_json(&schema->fields[i]));
    json_dump_to(columns, false, &text);
    json_decref(columns);
    mutex_lock(&o->gateway->mutex);
    o->columns = text;
    o->result = *result;
    o->begun = true;
    o->fetched_mono_ns = clock_mono_ns(o->gateway->env->clock);
    cond_broadcast(&o->gateway->cond);
    mutex_unlock(&o->gateway->mutex);
    return RC_OK;
}

static void row_text(const struct batch *b, uint32_t row, struct buf *out)
{
    static const char *const kinds[] = {"INSERT", "UPDATE_BEFORE", "UPDATE_AFTER", "DELETE"};
    json_t *fields = json_array();

    for (uint32_t i = 0; i < b->column_count; i++)
        json_array_append_new(fields, value_json(&b->columns[i], row));
    buf_printf(out, "%s{\"kind\":\"%s\",\"fields\":", out->len > 0 ? "," : "",
               kinds[batch_kind(b, row)]);
    json_dump_to(fields, false, out);
    buf_append_u8(out, '}');
    json_decref(fields);
}

/* Waits for room, then adds the text. */
static enum rc add_rows(struct operation *o, struct buf *text, struct err *err)
{
    struct gateway *g = o->gateway;
    enum rc rc = RC_OK;

    mutex_lock(&g->mutex);
    while (rc == RC_OK && !o->cancelled && o->rows.len > 0 &&
           o->rows.len + text->len > GATEWAY_BUFFER_BYTES) {
        if (clock_mono_ns(g->env->clock) - o->fetched_mono_ns > GATEWAY_FETCH_IDLE_MS * NS_PER_MS)
            rc = err_set(
                err, RC_TIMEOUT,
                "nobody fetched the rows of this SELECT for %d s; write large results with INSERT",
                GATEWAY_FETCH_IDLE_MS / 1000);
        else
            cond_wait_ns(&g->cond, &g->mutex, WAIT_TURN_MS * NS_PER_MS);
    }
    if (rc == RC_OK && o->cancelled)
        rc = err_set(err, RC_CANCELLED, "the operation was cancelled");
    if (rc == RC_OK) {
        if (o->rows.len > 0)
            buf_append_u8(&o->rows, ',');
        buf_append(&o->rows, text->data, text->len);
        cond_broadcast(&g->cond);
    }
    mutex_unlock(&g->mutex);
    return rc;
}

static enum rc on_rows(void *ctx, const struct batch *b, struct err *err)
{
    struct buf text = {0};
    enum rc rc = RC_OK;

    for (uint32_t i = 0; i < b->rows; i++)
        row_text(b, i, &text);
    if (text.len > 0)
        rc = add_rows(ctx, &text, err);
    buf_release(&text);
    return rc;
}

static void on_wait(void *ctx, struct job *job)
{
    struct operation *o = ctx;

    while (!job_wait(job, WAIT_TURN_MS)) {
        bool cancelled;

        mutex_lock(&o->gateway->mutex);
        cancelled = o->cancelled;
        mutex_unlock(&o->gateway->mutex);
        if (cancelled)
            job_cancel(job);
    }
}

static void one_column(struct operation *o, const char *name, const char *value)
{
    buf_clear(&o->columns);
    buf_printf(&o->columns,
               "[{\"name\":\"%s\",\"logicalType\":{\"type\":\"VARCHAR\",\"nullable\":true,"
               "\"length\":2147483647},\"comment\":null}]",
               name);
    buf_printf(&o->rows, "{\"kind\":\"INSERT\",\"fields\":[\"%s\"]}", value);
}

static enum rc execute(struct sql_session *s, struct operation *o, struct statement_result *result,
                       struct err *err)
{
    struct result_handler handler = {.ctx = o, .begin = on_begin, .rows = on_rows, .wait = on_wait};
    struct arena *arena = arena_new(0);
    struct ast_script script = {0};
    enum rc rc = sql_parse_script(arena, bytes_of_str(o->statement), &script, err);

    if (rc == RC_OK && script.count != 1)
        rc = err_set(err, RC_INVALID, "one statement is expected, these are %u", script.count);
    if (rc == RC_OK)
        rc = rest_check_statement(script.statements[0], err);
    if (rc == RC_OK)
        rc = session_execute(s->session, script.statements[0], &handler, result, err);
    if (rc == RC_OK && (result->kind == RESULT_EXIT || result->kind == RESULT_HELP))
        rc = err_set(err, RC_INVALID, "%s is for a client, not for a server", o->statement);
    arena_free(arena);
    return rc;
}

static void finish_locked(struct operation *o, enum rc rc, const struct statement_result *result,
                          const struct err *err)
{
    if (rc == RC_OK) {
        if (!o->begun && result->kind == RESULT_JOB)
            one_column(o, "job id", result->job_id);
        else if (!o->begun)
            one_column(o, "result", "OK");
        o->result = *result;
        o->begun = true;
        o->status = OPERATION_FINISHED;
    } else {
        o->error = *err;
        o->status = o->cancelled ? OPERATION_CANCELED : OPERATION_ERROR;
    }
}

static struct operation *next_pending(struct sql_session *s)
{
    for (struct operation *o = s->operations; o != NULL; o = o->next)
        if (o->status == OPERATION_PENDING)
            return o;
    return NULL;
}

static void run_session(void *arg)
{
    struct sql_session *s = arg;
    struct gateway *g = s->gateway;

    mutex_lock(&g->mutex);
    while (!s->closing) {
        struct statement_result result = {0};
        struct operation *o = next_pending(s);
        struct err err = {0};
        enum rc rc;

        if (o == NULL) {
            cond_wait(&g->cond, &g->mutex);
            continue;
        }
        if (o->cancelled) {
            o->status = OPERATION_CANCELED;
            continue;
        }
        o->status = OPERATION_RUNNING;
        s->current = o;
        mutex_unlock(&g->mutex);
        rc = execute(s, o, &result, &err);
        mutex_lock(&g->mutex);
        finish_locked(o, rc, &result, &err);
        s->current = NULL;
        s->used_mono_ns = clock_mono_ns(g->env->clock);
        cond_broadcast(&g->cond);
    }
    mutex_unlock(&g->mutex);
}

/* ---- sessions
 * -------------------------------------------------------------------------------------- */

/* Out of the list already; the caller holds no lock. */
static void end_session(struct sql_session *s)
{
    struct gateway *g = s->gateway;

    mutex_lock(&g->mutex);
    s->closing = true;
    if (s->current != NULL)
        s->current->cancelled = true;
    cond_broadcast(&g->cond);
    mutex_unlock(&g->mutex);
    thread_join(s->thread);
    session_free(s->session);
    while (s->operations != NULL) {
        struct operation *o = s->operations;

        s->operations = o->next;
        operation_free(o);
    }
    mem_free(s);
}

static struct sql_session *find_locked(struct gateway *g, const char *handle) REQUIRES(g->mutex)
{
    for (struct sql_session *s = g->sessions; s != NULL; s = s->next) {
        if (strcmp(s->handle, handle) == 0) {
            s->used_mono_ns = clock_mono_ns(g->env->clock);
            return s;
        }
    }
    return NULL;
}

/* Takes one session out: the named one, or (NULL) one that has been idle too long. */
static struct sql_session *take_out(struct gateway *g, const char *handle)
{
    int64_t now = clock_mono_ns(g->env->clock);
    struct sql_session *found = NULL;

    mutex_lock(&g->mutex);
    for (struct sql_session **at = &g->sessions; *at != NULL; at = &(*at)->next) {
        struct sql_session *s = *at;
        bool idle =
            s->current == NULL && now - s->used_mono_ns > GATEWAY_SESSION_IDLE_MS * NS_PER_MS;

        if (handle != NULL ? strcmp(s->handle, handle) != 0 : !idle)
            continue;
        *at = s->next;
        g->session_count--;
        found = s;
        break;
    }
    mutex_unlock(&g->mutex);
    return found;
}

struct gateway *gateway_new(const struct env *env, struct dispatcher *dispatcher,
                            const struct config *config)
{
    struct gateway *g = mem_calloc(1, sizeof *g);

    g->env = env;
    g->dispatcher = dispatcher;
    g->config = config;
    mutex_init(&g->mutex);
    cond_init(&g->cond);
    env_rng(env, "sql-gateway", &g->rng);
    return g;
}

void gateway_free(struct gateway *g)
{
    if (g == NULL)
        return;
    while (g->sessions != NULL) {
        struct sql_session *s = g->sessions;

        g->sessions = s->next;
        end_session(s);
    }
    cond_release(&g->cond);
    mutex_release(&g->mutex);
    mem_free(g);
}

enum rc gateway_open_session(struct gateway *g, const char *const *keys, const char *const *values,
                             size_t count, char handle[UUID_LEN + 1], struct err *err)
{
    struct config *config;
    struct sql_session *s, *idle;
    enum rc rc = RC_OK;

    while ((idle = take_out(g, NULL)) != NULL)
        end_session(idle);
    if (g->session_count >= GATEWAY_SESSIONS_MAX)
        return err_set(err, RC_LIMIT, "%d sessions are open, the limit", GATEWAY_SESSIONS_MAX);
    config = config_copy(g->config);
    for (size_t i = 0; i < count && rc == RC_OK; i++)
        rc = config_set(config, CONFIG_SET, keys[i], values[i], err);
    if (rc != RC_OK) {
        config_free(config);
        return rc;
    }
    s = mem_calloc(1, sizeof *s);
    s->gateway = g;
    s->session = session_new(g->env, g->dispatcher, config, &(struct session_options){0});
    s->used_mono_ns = clock_mono_ns(g->env->clock);
    config_free(config);
    s->thread = thread_start("sql-session", run_session, s);
    mutex_lock(&g->mutex);
    rng_uuid(&g->rng, s->handle);
    memcpy(handle, s->handle, UUID_LEN + 1);
    s->next = g->sessions;
    g->sessions = s;
    g->session_count++;
    mutex_unlock(&g->mutex);
    return RC_OK;
}

static enum rc no_session(const char *handle, struct err *err)
{
    return err_set(err, RC_NOT_FOUND, "Session '%.64s' does not exist.", handle);
}

enum rc gateway_close_session(struct gateway *g, const char *handle, struct err *err)
{
    struct sql_session *s = take_out(g, handle);

    if (s == NULL)
        return no_session(handle, err);
    end_session(s);
    return RC_OK;
}

enum rc gateway_touch_session(struct gateway *g, const char *handle, struct err *err)
{
    bool found;

    mutex_lock(&g->mutex);
    found = find_locked(g, handle) != NULL;
    mutex_unlock(&g->mutex);
    return found ? RC_OK : no_session(handle, err);
}

enum rc gateway_list_settings(struct gateway *g, const char *handle, config_list_fn *fn, void *ctx,
                              struct err *err)
{
    struct sql_session *s;
    enum rc rc = RC_OK;

    mutex_lock(&g->mutex);
    s = find_locked(g, handle);
    if (s == NULL)
        rc = no_session(handle, err);
    else if (s->current != NULL) /* the session belongs to its thread now */
        rc = err_set(err, RC_STATE, "session %s executes a statement", handle);
    else
        config_list(session_config(s->session), true, fn, ctx);
    mutex_unlock(&g->mutex);
    return rc;
}

/* ---- operations
 * ------------------------------------------------------------------------------------ */

static bool make_room_locked(struct sql_session *s)
{
    if (s->operation_count < GATEWAY_OPERATIONS_MAX)
        return true;
    for (struct operation **at = &s->operations; *at != NULL; at = &(*at)->next) {
        struct operation *o = *at;

        if (!ended(o))
            continue;
        *at = o->next;
        s->operation_count--;
        operation_free(o);
        return true;
    }
    return false;
}

static struct operation *find_operation(struct sql_session *s, const char *handle)
{
    for (struct operation *o = s->operations; o != NULL; o = o->next)
        if (strcmp(o->handle, handle) == 0)
            return o;
    return NULL;
}

/* Both or a message. */
static enum rc find_both_locked(struct gateway *g, const char *session, const char *operation,
                                struct sql_session **s, struct operation **o, struct err *err)
    REQUIRES(g->mutex)
{
    *s = find_locked(g, session);
    if (*s == NULL)
        return no_session(session, err);
    *o = find_operation(*s, operation);
    if (*o == NULL)
        return err_set(
            err, RC_NOT_FOUND,
            "Can not find the submitted operation in the OperationManager with the %.64s.",
            operation);
    return RC_OK;
}

enum rc gateway_submit(struct gateway *g, const char *session, const char *statement,
                       char handle[UUID_LEN + 1], struct err *err)
{
    struct operation *o, **at;
    struct sql_session *s;
    enum rc rc = RC_OK;

    mutex_lock(&g->mutex);
    s = find_locked(g, session);
    if (s == NULL) {
        rc = no_session(session, err);
    } else if (!make_room_locked(s)) {
        rc = err_set(err, RC_LIMIT, "%d statements wait in this session, the limit",
                     GATEWAY_OPERATIONS_MAX);
    } else {
        o = mem_calloc(1, sizeof *o);
        o->gateway = g;
        o->statement = mem_strdup(statement);
        rng_uuid(&g->rng, o->handle);
        memcpy(handle, o->handle, UUID_LEN + 1);
        for (at = &s->operations; *at != NULL; at = &(*at)->next)
            ;
        *at = o;
        s->operation_count++;
        cond_broadcast(&g->cond);
    }
    mutex_unlock(&g->mutex);
    return rc;
}

enum rc gateway_configurable(const char *statement, struct err *err)
{
    struct arena *arena = arena_new(0);
    struct ast_script script = {0};
    enum rc rc = sql_parse_script(arena, bytes_of_str(statement), &script, err);
    bool fits = rc == RC_OK && script.count == 1;

    if (fits) {
        enum ast_statement_kind k = script.statements[0]->kind;

        fits = k == STMT_SET || k == STMT_RESET || k == STMT_CREATE_TABLE ||
               k == STMT_CREATE_VIEW || k == STMT_DROP_TABLE || k == STMT_DROP_VIEW;
    }
    if (rc == RC_OK && !fits)
        rc = err_set(err, RC_INVALID, "configure-session takes one SET, RESET, CREATE or DROP");
    arena_free(arena);
    return rc;
}

enum rc gateway_operation_status(struct gateway *g, const char *session, const char *operation,
                                 enum operation_status *out, struct err *err)
{
    struct sql_session *s;
    struct operation *o;
    enum rc rc;

    mutex_lock(&g->mutex);
    rc = find_both_locked(g, session, operation, &s, &o, err);
    if (rc == RC_OK)
        *out = o->status;
    mutex_unlock(&g->mutex);
    return rc;
}

enum rc gateway_cancel(struct gateway *g, const char *session, const char *operation,
                       struct err *err)
{
    struct sql_session *s;
    struct operation *o;
    enum rc rc;

    mutex_lock(&g->mutex);
    rc = find_both_locked(g, session, operation, &s, &o, err);
    if (rc == RC_OK && !ended(o)) {
        o->cancelled = true;
        if (o->status == OPERATION_PENDING)
            o->status = OPERATION_CANCELED;
        cond_broadcast(&g->cond);
    }
    mutex_unlock(&g->mutex);
    return rc;
}

enum rc gateway_close_operation(struct gateway *g, const char *session, const char *operation,
                                struct err *err)
{
    struct sql_session *s;
    struct operation *o = NULL;
    enum rc rc;

    mutex_lock(&g->mutex);
    rc = find_both_locked(g, session, operation, &s, &o, err);
    if (rc == RC_OK)
        o->cancelled = true;
    cond_broadcast(&g->cond);
    while (rc == RC_OK && s->current == o) /* one thread closes sessions and operations: s stays */
        cond_wait(&g->cond, &g->mutex);
    for (struct operation **at = rc == RC_OK ? &s->operations : NULL; at != NULL && *at != NULL;
         at = &(*at)->next) {
        if (*at != o)
            continue;
        *at = o->next;
        s->operation_count--;
        operation_free(o);
        break;
    }
    mutex_unlock(&g->mutex);
    return rc;
}

enum rc gateway_wait(struct gateway *g, const char *session, const char *operation,
                     int64_t timeout_ms, struct err *err)
{
    int64_t until = clock_mono_ns(g->env->clock) + timeout_ms * NS_PER_MS;
    struct sql_session *s;
    struct operation *o;
    enum rc rc;

    mutex_lock(&g->mutex);
    for (;;) {
        int64_t left = until - clock_mono_ns(g->env->clock);

        rc = find_both_locked(g, session, operation, &s, &o, err);
        if (rc != RC_OK || ended(o))
            break;
        if (left <= 0) {
            rc = err_set(err, RC_TIMEOUT, "the statement takes longer than %lld ms",
                         (long long)timeout_ms);
            break;
        }
        cond_wait_ns(&g->cond, &g->mutex, left);
    }
    if (rc == RC_OK && o->status != OPERATION_FINISHED)
        rc = err_set(err, o->error.rc == RC_OK ? RC_CANCELLED : o->error.rc, "%s", o->error.msg);
    mutex_unlock(&g->mutex);
    return rc;
}

/* ---- results
 * --------------------------------------------------------------------------------------- */

static void page_text(const struct sql_session *s, const struct operation *o, const char *type,
                      uint64_t token, bool more, const char *uri_prefix, struct buf *out)
{
    bool query = o->result.kind == RESULT_QUERY;

    buf_printf(out, "{\"resultType\":\"%s\"", type);
    if (o->begun) {
        buf_printf(out, ",\"isQueryResult\":%s", query ? "true" : "false");
        if (o->result.job_id[0] != '\0')
            buf_printf(out, ",\"jobID\":\"%s\"", o->result.job_id);
        buf_printf(out, ",\"resultKind\":\"%s\"",
                   o->result.kind == RESULT_OK ? "SUCCESS" : "SUCCESS_WITH_CONTENT");
        buf_append_str(out, ",\"results\":{\"columns\":");
        buf_append(out, o->columns.data, o->columns.len);
        buf_append_str(out, ",\"rowFormat\":\"JSON\",\"data\":[");
        if (strcmp(type, "PAYLOAD") == 0)
            buf_append(out, o->rows.data, o->rows.len);
        buf_append_str(out, "]}");
    }
    if (more)
        buf_printf(out,
                   ",\"nextResultUri\":\"%s/sessions/%s/operations/%s/result/%llu?rowFormat=JSON\"",
                   uri_prefix, s->handle, o->handle, (unsigned long long)token);
    buf_append_u8(out, '}');
}

static enum rc fetch_locked(struct sql_session *s, struct operation *o, uint64_t token,
                            const char *uri_prefix, struct buf *out, struct err *err)
{
    if (o->status == OPERATION_ERROR || o->status == OPERATION_CANCELED)
        return err_set(err, o->error.rc == RC_OK ? RC_CANCELLED : o->error.rc, "%s",
                       o->error.rc == RC_OK ? "the operation was cancelled" : o->error.msg);
    if (token + 1 == o->token) { /* once more */
        buf_append(out, o->previous.data, o->previous.len);
        return RC_OK;
    }
    if (token != o->token)
        return err_set(err, RC_INVALID, "token %llu is neither the next (%llu) nor the one before",
                       (unsigned long long)token, (unsigned long long)o->token);
    if (o->rows.len == 0 && !ended(o)) {
        page_text(s, o, "NOT_READY", token, true, uri_prefix, out);
        return RC_OK;
    }
    if (o->rows.len == 0) {
        page_text(s, o, "EOS", token, false, uri_prefix, out);
        return RC_OK;
    }
    buf_clear(&o->previous);
    page_text(s, o, "PAYLOAD", token + 1, true, uri_prefix, &o->previous);
    buf_append(out, o->previous.data, o->previous.len);
    buf_clear(&o->rows);
    o->token++;
    return RC_OK;
}

enum rc gateway_fetch(struct gateway *g, const char *session, const char *operation, uint64_t token,
                      const char *uri_prefix, struct buf *out, struct err *err)
{
    struct sql_session *s;
    struct operation *o;
    enum rc rc;

    mutex_lock(&g->mutex);
    rc = find_both_locked(g, session, operation, &s, &o, err);
    if (rc == RC_OK) {
        o->fetched_mono_ns = clock_mono_ns(g->env->clock);
        rc = fetch_locked(s, o, token, uri_prefix, out, err);
        cond_broadcast(&g->cond);
    }
    mutex_unlock(&g->mutex);
    return rc;
}
