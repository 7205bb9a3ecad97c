/* routes.c - see routes.h */
#include "job/rest/api_priv.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

/* A pattern's {job} is looked up: 400 when it is no id, 404 when it is unknown. {} matches any one
 * component. `loose` routes are also called for unknown jobs: Flink accepts the request and fails
 * the operation. */
static const struct route {
    const char *method, *pattern;
    void (*handle)(struct call *);
    bool loose;
} routes[] = {
    {"GET", "/", api_page, false},
    {"GET", "/overview", api_overview, false},
    {"GET", "/config", api_config, false},
    {"GET", "/jobmanager/config", api_jobmanager_config, false},
    {"GET", "/metrics", api_metrics, false},
    {"GET", "/jobs", api_jobs, false},
    {"GET", "/jobs/overview", api_jobs_overview, false},
    {"GET", "/jobs/{job}", api_job, false},
    {"PATCH", "/jobs/{job}", api_job_cancel, false},
    {"GET", "/jobs/{job}/yarn-cancel", api_job_cancel, false},
    {"GET", "/jobs/{job}/status", api_job_status, false},
    {"GET", "/jobs/{job}/config", api_job_config, false},
    {"GET", "/jobs/{job}/plan", api_job_plan, false},
    {"GET", "/jobs/{job}/exceptions", api_job_exceptions, false},
    {"GET", "/jobs/{job}/execution-result", api_job_result, false},
    {"GET", "/jobs/{job}/accumulators", api_job_accumulators, false},
    {"GET", "/jobs/{job}/metrics", api_job_metrics, false},
    {"GET", "/jobs/{job}/vertices/{}", api_vertex, false},
    {"GET", "/jobs/{job}/vertices/{}/subtasktimes", api_vertex_subtask_times, false},
    {"GET", "/jobs/{job}/vertices/{}/watermarks", api_vertex_watermarks, false},
    {"GET", "/jobs/{job}/vertices/{}/backpressure", api_vertex_backpressure, false},
    {"GET", "/jobs/{job}/checkpoints", api_checkpoints, false},
    {"POST", "/jobs/{job}/checkpoints", api_trigger_checkpoint, true},
    {"GET", "/jobs/{job}/checkpoints/config", api_checkpoints_config, false},
    {"GET", "/jobs/{job}/checkpoints/details/{}", api_checkpoint_details, false},
    {"GET", "/jobs/{job}/checkpoints/details/{}/subtasks/{}", api_checkpoint_subtasks, false},
    {"GET", "/jobs/{job}/checkpoints/{}", api_checkpoint_status, true},
    {"POST", "/jobs/{job}/savepoints", api_trigger_savepoint, true},
    {"GET", "/jobs/{job}/savepoints/{}", api_savepoint_status, true},
    {"POST", "/jobs/{job}/stop", api_trigger_stop, true},
    {"POST", "/savepoint-disposal", api_dispose, false},
    {"GET", "/savepoint-disposal/{}", api_dispose_status, false},
    {"GET", "/info", api_info, false},
    {"GET", "/api_versions", api_versions, false},
    {"POST", "/sessions", api_open_session, false},
    {"GET", "/sessions/{}", api_session, false},
    {"DELETE", "/sessions/{}", api_close_session, false},
    {"POST", "/sessions/{}/heartbeat", api_heartbeat, false},
    {"POST", "/sessions/{}/configure-session", api_configure_session, false},
    {"POST", "/sessions/{}/statements", api_statement, false},
    {"GET", "/sessions/{}/operations/{}/status", api_operation_status, false},
    {"POST", "/sessions/{}/operations/{}/cancel", api_operation_cancel, false},
    {"DELETE", "/sessions/{}/operations/{}/close", api_operation_close, false},
    {"GET", "/sessions/{}/operations/{}/result/{}", api_operation_result, false},
};

/* ---- answers
 * -------------------------------------------------------------------------------------- */

void answer_json(struct call *c, int status, json_t *value_take)
{
    c->answer->status = status;
    buf_clear(&c->answer->body);
    if (value_take == NULL) { /* a text in it was not UTF-8: never the end of the server */
        c->answer->status = 500;
        buf_append_str(&c->answer->body, "{\"errors\":[\"the answer can't be written as JSON\"]}");
        return;
    }
    json_dump_to(value_take, false, &c->answer->body);
    json_decref(value_take);
}

void answer_error(struct call *c, int status, const char *fmt, ...)
{
    char text[ERR_MSG_MAX];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    answer_json(c, status, json_pack("{s: [o]}", "errors", text_json(text)));
}

int http_status_of(enum rc rc)
{
    switch (rc) {
    case RC_INVALID:
    case RC_UNSUPPORTED:
    case RC_LIMIT:
        return 400;
    case RC_NOT_FOUND:
        return 404;
    case RC_STATE:
        return 409;
    default:
        return 500;
    }
}

json_t *operation_json(bool completed, json_t *operation_take)
{
    return json_pack("{s: {s: s}, s: o}", "status", "id", completed ? "COMPLETED" : "IN_PROGRESS",
                     "operation", operation_take != NULL ? operation_take : json_null());
}

json_t *failure_cause_json(const char *class_name, const char *message)
{
    char trace[ERR_MSG_MAX + 256];

    snprintf(trace, sizeof trace, "%s: %s", class_name, message);
    return json_pack("{s: {s: s, s: o, s: s}}", "failure-cause", "class", class_name, "stack-trace",
                     text_json(trace), "serialized-throwable", "");
}

json_t *path_json(const char *path)
{
    struct buf uri = {0};
    json_t *s;

    path_to_uri(path, &uri);
    s = text_json(buf_cstr(&uri));
    buf_release(&uri);
    return s;
}

/* ---- bodies
 * --------------------------------------------------------------------------------------- */

bool body_object(struct call *c, const char *what, json_t **out)
{
    struct err err = {0};

    *out = NULL;
    if (c->request->body.len == 0) {
        *out = json_object();
        return true;
    }
    if (json_parse(c->request->body, HTTP_BODY_MAX, out, &err) != RC_OK) {
        answer_error(c, 400, "Request did not match expected format %s: %s", what, err.msg);
        return false;
    }
    if (!json_is_object(*out)) {
        json_decref(*out);
        answer_error(c, 400, "Request did not match expected format %s: an object is expected",
                     what);
        return false;
    }
    return true;
}

bool body_string(struct call *c, json_t *body, const char *what, const char *field,
                 const char **out)
{
    json_t *v = json_object_get(body, field);

    *out = NULL;
    if (v == NULL || json_is_null(v))
        return true;
    if (!json_is_string(v)) {
        answer_error(c, 400, "Request did not match expected format %s: \"%s\" must be a string",
                     what, field);
        return false;
    }
    *out = json_string_value(v);
    return true;
}

bool body_bool(struct call *c, json_t *body, const char *what, const char *field, bool *out)
{
    json_t *v = json_object_get(body, field);

    *out = false;
    if (v == NULL || json_is_null(v))
        return true;
    if (json_is_string(v) &&
        (strcmp(json_string_value(v), "true") == 0 || strcmp(json_string_value(v), "false") == 0)) {
        *out = json_string_value(v)[0] == 't';
        return true;
    }
    if (!json_is_boolean(v)) {
        answer_error(
            c, 400,
            "Request did not match expected format %s: \"%s\": only true or false is recognized",
            what, field);
        return false;
    }
    *out = json_is_true(v);
    return true;
}

bool body_word(struct call *c, json_t *body, const char *what, const char *field,
               const char *const *allowed, size_t allowed_count, const char **out)
{
    struct buf words = {0};

    if (!body_string(c, body, what, field, out))
        return false;
    if (*out == NULL)
        return true;
    for (size_t i = 0; i < allowed_count; i++)
        if (strcmp(*out, allowed[i]) == 0)
            return true;
    for (size_t i = 0; i < allowed_count; i++)
        buf_printf(&words, "%s%s", i > 0 ? ", " : "", allowed[i]);
    answer_error(c, 400,
                 "Request did not match expected format %s: \"%s\": \"%.100s\" is not one of [%s]",
                 what, field, *out, buf_cstr(&words));
    buf_release(&words);
    return false;
}

/* ---- operations that have no job
 * ------------------------------------------------------------------ */

const char *keep_operation(struct rest_api *api, const char *trigger_id, const char *job_id,
                           enum rc rc, const char *message)
{
    struct kept_operation *k = &api->kept[api->kept_next];

    api->kept_next = (api->kept_next + 1) % REST_DISPOSALS_MAX;
    if (api->kept_count < REST_DISPOSALS_MAX)
        api->kept_count++;
    memset(k, 0, sizeof *k);
    if (trigger_id != NULL)
        snprintf(k->trigger_id, sizeof k->trigger_id, "%s", trigger_id);
    else
        rng_hex(&api->rng, k->trigger_id, TRIGGER_ID_LEN);
    snprintf(k->job_id, sizeof k->job_id, "%s", job_id);
    snprintf(k->message, sizeof k->message, "%s", message);
    k->rc = rc;
    return k->trigger_id;
}

const struct kept_operation *find_kept(const struct rest_api *api, const char *trigger_id)
{
    for (uint32_t i = 0; i < api->kept_count; i++)
        if (strcmp(api->kept[i].trigger_id, trigger_id) == 0)
            return &api->kept[i];
    return NULL;
}

void note_started(struct rest_api *api, const char *trigger_id)
{
    char(*place)[TRIGGER_ID_LEN + 1] = NULL;

    for (uint32_t i = 0; i < REST_UNANSWERED_MAX; i++) {
        if (strcmp(api->unanswered[i], trigger_id) == 0)
            return; /* the same id again is the same operation */
        if (api->unanswered[i][0] == '\0')
            place = &api->unanswered[i];
    }
    if (place == NULL)
        return;
    snprintf(*place, sizeof *place, "%s", trigger_id);
    atomic_fetch_add(&api->unanswered_count, 1);
}

void note_answered(struct rest_api *api, const char *trigger_id)
{
    for (uint32_t i = 0; i < REST_UNANSWERED_MAX; i++) {
        if (strcmp(api->unanswered[i], trigger_id) != 0)
            continue;
        api->unanswered[i][0] = '\0';
        atomic_fetch_sub(&api->unanswered_count, 1);
    }
}

uint32_t rest_api_unanswered(const struct rest_api *api)
{
    return atomic_load(&api->unanswered_count);
}

/* ---- matching
 * ------------------------------------------------------------------------------------- */

/* true when path has the pattern's shape; {job} goes to param[0], {}s follow. */
static bool match(const char *pattern, const char *path, struct arena *a, const char **param)
{
    uint32_t n = strstr(pattern, "{job}") != NULL ? 1 : 0;

    while (*pattern != '\0') {
        if (*pattern == '{') {
            size_t len = strcspn(path, "/");
            bool is_job = strncmp(pattern, "{job}", 5) == 0;

            if (len == 0)
                return false;
            param[is_job ? 0 : n++] = arena_strndup(a, path, len);
            path += len;
            pattern += is_job ? 5 : 2;
        } else if (*pattern++ != *path++) {
            return false;
        }
    }
    return *path == '\0' || strcmp(path, "/") == 0;
}

static bool is_job_id(const char *s)
{
    return strlen(s) == JOB_ID_LEN && strspn(s, "0123456789abcdef") == JOB_ID_LEN;
}

static void run_route(struct call *c, const struct route *r)
{
    if (strstr(r->pattern, "{job}") != NULL) {
        if (!is_job_id(c->param[0])) {
            answer_error(c, 400,
                         "Bad request, could not parse parameters: Cannot resolve path parameter "
                         "(jobid) from value \"%.100s\".",
                         c->param[0]);
            return;
        }
        c->job = dispatcher_find(c->api->dispatcher, c->param[0]);
        if (c->job == NULL && !r->loose) {
            answer_error(c, 404, "Job %s not found", c->param[0]);
            return;
        }
    }
    r->handle(c);
    if (c->job != NULL)
        dispatcher_release(c->api->dispatcher, c->job);
}

void rest_api_handle(void *ctx, const struct http_request *request, struct http_answer *answer)
{
    struct call c = {.api = ctx, .request = request, .answer = answer};
    const char *path = request->path;
    bool known_path = false;

    c.prefix = "";
    if (path[0] == '/' && path[1] == 'v' && path[2] >= '1' && path[2] <= '4' && path[3] == '/') {
        c.prefix = arena_strndup(request->arena, path, 3);
        path += 3;
    }
    for (size_t i = 0; i < ARRAY_LEN(routes); i++) {
        if (!match(routes[i].pattern, path, request->arena, c.param))
            continue;
        known_path = true;
        if (strcmp(routes[i].method, request->method) == 0 ||
            (strcmp(request->method, "HEAD") == 0 && strcmp(routes[i].method, "GET") == 0)) {
            run_route(&c, &routes[i]);
            return;
        }
    }
    if (known_path)
        answer_error(&c, 404, "Not found: %.1000s", request->path);
    else
        answer_error(&c, 404, "Unable to load requested file %.1000s.", request->path);
}

struct rest_api *rest_api_new(const struct env *env, struct dispatcher *dispatcher,
                              const struct config *config, struct gateway *gateway)
{
    struct rest_api *api = mem_calloc(1, sizeof *api);

    api->env = env;
    api->dispatcher = dispatcher;
    api->config = config;
    api->gateway = gateway;
    api->kept = mem_calloc(REST_DISPOSALS_MAX, sizeof *api->kept);
    env_rng(env, "rest-trigger-ids", &api->rng);
    return api;
}

void rest_api_free(struct rest_api *api)
{
    if (api == NULL)
        return;
    mem_free(api->kept);
    mem_free(api);
}
