/* gateway_api.c - SQL sessions in the shapes of Flink's SQL gateway; see sql_gateway.h */
#include "job/rest/api_priv.h"
#include "job/rest/sql_gateway.h"

#include <errno.h>
#include <stdlib.h>

#define CONFIGURE_TIMEOUT_MS 10000
#define SESSION_PROPERTIES_MAX 1000

/* false: answered 404. */
static bool has_gateway(struct call *c)
{
    if (c->api->gateway != NULL)
        return true;
    answer_error(
        c, 404,
        "This process runs one script and takes no SQL sessions: start varve serve for that.");
    return false;
}

/* Mistakes of statements come as Flink's gateway gives them: status 500 and a second, longer text.
 */
static void answer_failure(struct call *c, enum rc rc, const struct err *err)
{
    int status = rc == RC_NOT_FOUND ? 404 : rc == RC_LIMIT ? 503 : 500;

    if (status == 500)
        answer_json(
            c, status,
            json_pack("{s: [s, o]}", "errors", "Internal server error.", text_json(err->msg)));
    else
        answer_error(c, status, "%s", err->msg);
}

void api_info(struct call *c)
{
    if (has_gateway(c))
        answer_json(c, 200,
                    json_pack("{s: s, s: s}", "productName", "varve", "version", VARVE_VERSION));
}

void api_versions(struct call *c)
{
    if (has_gateway(c))
        answer_json(c, 200, json_pack("{s: [s, s, s, s]}", "versions", "V1", "V2", "V3", "V4"));
}

/* ---- sessions
 * -------------------------------------------------------------------------------------- */

void api_open_session(struct call *c)
{
    const char **keys, **values, *key;
    char handle[UUID_LEN + 1];
    json_t *body, *properties, *value;
    struct err err = {0};
    size_t n = 0;
    enum rc rc;

    if (!has_gateway(c) || !body_object(c, "OpenSessionRequestBody", &body))
        return;
    properties = json_object_get(body, "properties");
    if (json_object_size(properties) > SESSION_PROPERTIES_MAX) {
        answer_error(c, 400, "more than %d properties", SESSION_PROPERTIES_MAX);
        json_decref(body);
        return;
    }
    keys = ARENA_ARRAY(c->request->arena, json_object_size(properties) + 1, const char *);
    values = ARENA_ARRAY(c->request->arena, json_object_size(properties) + 1, const char *);
    json_object_foreach(properties, key, value)
    {
        if (!json_is_string(value)) {
            answer_error(c, 400,
                         "Request did not match expected format OpenSessionRequestBody: property "
                         "\"%.100s\" must be a string",
                         key);
            json_decref(body);
            return;
        }
        keys[n] = key;
        values[n++] = json_string_value(value);
    }
    rc = gateway_open_session(c->api->gateway, keys, values, n, handle, &err);
    if (rc == RC_OK)
        answer_json(c, 200, json_pack("{s: s}", "sessionHandle", handle));
    else if (rc == RC_INVALID || rc == RC_UNSUPPORTED)
        answer_error(c, 400, "%s", err.msg);
    else
        answer_failure(c, rc, &err);
    json_decref(body);
}

static void add_property(void *ctx, const struct option *option, const char *value,
                         enum config_layer source)
{
    (void)source;
    json_object_set_new(ctx, option->key, text_json(value));
}

void api_session(struct call *c)
{
    json_t *properties;
    struct err err = {0};
    enum rc rc;

    if (!has_gateway(c))
        return;
    properties = json_object();
    rc = gateway_list_settings(c->api->gateway, c->param[0], add_property, properties, &err);
    if (rc == RC_OK) {
        answer_json(c, 200, json_pack("{s: o}", "properties", properties));
        return;
    }
    json_decref(properties);
    answer_error(c, http_status_of(rc), "%s", err.msg);
}

static void answer_status(struct call *c, enum rc rc, const struct err *err, const char *status)
{
    if (rc != RC_OK)
        answer_failure(c, rc, err);
    else if (status == NULL)
        answer_json(c, 200, json_object());
    else
        answer_json(c, 200, json_pack("{s: s}", "status", status));
}

void api_close_session(struct call *c)
{
    struct err err = {0};

    if (has_gateway(c))
        answer_status(c, gateway_close_session(c->api->gateway, c->param[0], &err), &err, "CLOSED");
}

void api_heartbeat(struct call *c)
{
    struct err err = {0};

    if (has_gateway(c))
        answer_status(c, gateway_touch_session(c->api->gateway, c->param[0], &err), &err, NULL);
}

/* ---- statements
 * ------------------------------------------------------------------------------------ */

/* The statement of a body; what can't be done is said. NULL: answered; else body is the caller's.
 */
static const char *statement_of(struct call *c, const char *what, json_t **body)
{
    const char *statement;
    json_t *timeout;

    if (!body_object(c, what, body))
        return NULL;
    if (body_string(c, *body, what, "statement", &statement)) {
        timeout = json_object_get(*body, "executionTimeout");
        if (statement == NULL)
            answer_error(
                c, 400, "Request did not match expected format %s: \"statement\" is missing", what);
        else if (timeout != NULL && !json_is_null(timeout) &&
                 !(json_is_integer(timeout) && json_integer_value(timeout) <= 0))
            answer_error(c, 400,
                         "\"executionTimeout\" is not supported: cancel the operation instead");
        else if (json_object_size(json_object_get(*body, "executionConfig")) > 0)
            answer_error(c, 400,
                         "\"executionConfig\" is not supported: SET the options in the session");
        else
            return statement;
    }
    json_decref(*body);
    return NULL;
}

void api_statement(struct call *c)
{
    char handle[UUID_LEN + 1];
    const char *statement;
    struct err err = {0};
    json_t *body;
    enum rc rc;

    if (!has_gateway(c))
        return;
    statement = statement_of(c, "ExecuteStatementRequestBody", &body);
    if (statement == NULL)
        return;
    rc = gateway_submit(c->api->gateway, c->param[0], statement, handle, &err);
    if (rc == RC_OK)
        answer_json(c, 200, json_pack("{s: s}", "operationHandle", handle));
    else
        answer_failure(c, rc, &err);
    json_decref(body);
}

/* Statements that take no time: executed before the answer. */
void api_configure_session(struct call *c)
{
    char handle[UUID_LEN + 1];
    struct gateway *g = c->api->gateway;
    const char *statement;
    struct err err = {0}, ignored = {0};
    json_t *body;
    enum rc rc;

    if (!has_gateway(c))
        return;
    statement = statement_of(c, "ConfigureSessionRequestBody", &body);
    if (statement == NULL)
        return;
    rc = gateway_configurable(statement, &err);
    if (rc == RC_OK)
        rc = gateway_submit(g, c->param[0], statement, handle, &err);
    if (rc == RC_OK) {
        rc = gateway_wait(g, c->param[0], handle, CONFIGURE_TIMEOUT_MS, &err);
        (void)!gateway_cancel(g, c->param[0], handle, &ignored);
    }
    answer_status(c, rc, &err, NULL);
    json_decref(body);
}

void api_operation_status(struct call *c)
{
    enum operation_status status = OPERATION_PENDING;
    struct err err = {0};

    if (has_gateway(c)) {
        enum rc rc =
            gateway_operation_status(c->api->gateway, c->param[0], c->param[1], &status, &err);

        answer_status(c, rc, &err, operation_status_str(status));
    }
}

void api_operation_cancel(struct call *c)
{
    struct err err = {0};

    if (has_gateway(c))
        answer_status(c, gateway_cancel(c->api->gateway, c->param[0], c->param[1], &err), &err,
                      "CANCELED");
}

void api_operation_close(struct call *c)
{
    struct err err = {0};

    if (has_gateway(c))
        answer_status(c, gateway_close_operation(c->api->gateway, c->param[0], c->param[1], &err),
                      &err, "CLOSED");
}

void api_operation_result(struct call *c)
{
    const char *format;
    unsigned long long token;
    struct err err = {0};
    char *end;
    enum rc rc;

    if (!has_gateway(c))
        return;
    format = http_query(c->request, "rowFormat");
    errno = 0;
    token = strtoull(c->param[2], &end, 10);
    if (errno != 0 || *end != '\0' || strspn(c->param[2], "0123456789") == 0) {
        answer_error(c, 400,
                     "Bad request, could not parse parameters: Cannot resolve path parameter "
                     "(token) from value \"%.100s\".",
                     c->param[2]);
        return;
    }
    if (format != NULL && strcmp(format, "JSON") != 0) {
        answer_error(c, 400, "rowFormat %.100s is not supported: JSON is", format);
        return;
    }
    rc = gateway_fetch(c->api->gateway, c->param[0], c->param[1], token, c->prefix,
                       &c->answer->body, &err);
    if (rc != RC_OK)
        answer_failure(c, rc, &err);
}
