/* test_rest.c - the REST server over real jobs: keys and types of its answers against those
 * recorded from Flink (tests/conformance/rest), its refusals, and what it does with requests that
 * nobody should send. */
#include "job/cli/client.h"
#include "job/rest/rest_server.h"
#include "job/rest/sql_gateway.h"
#include "job/sql/parser.h"
#include "job/sql/session.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/tmpdir.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#define NOBODY "00000000000000000000000000000000"

static struct {
    struct tmpdir tmp;
    struct env env;
    struct config *config;
    struct dispatcher *dispatcher;
    struct session *session;
    struct gateway *gateway;
    struct rest_server *server;
    struct client *client;
    char job[JOB_ID_LEN + 1];
    _Atomic bool await_end; /* of a job that is stopped, before its handler goes on */
    _Atomic int unanswered_at_end;
} w;

/* Executes a script; the id of its last job into w.job. */
static enum rc run_sql(const char *text, struct err *err)
{
    struct arena *a = arena_new(0);
    struct ast_script script = {0};
    enum rc rc = sql_parse_script(a, bytes_of_str(text), &script, err);

    for (uint32_t i = 0; i < script.count && rc == RC_OK; i++) {
        struct statement_result result = {0};

        rc = session_execute(w.session, script.statements[i], &(struct result_handler){0}, &result,
                             err);
        if (rc == RC_OK && result.kind == RESULT_JOB)
            memcpy(w.job, result.job_id, sizeof w.job);
    }
    arena_free(a);
    return rc;
}

static void set(const char *key, const char *value)
{
    struct err err = {0};

    ck_assert_ok(config_set(w.config, CONFIG_COMMAND_LINE, key, value, &err));
}

static void setup(void)
{
    struct err err = {0};
    char target[64];

    signal(SIGPIPE, SIG_IGN);
    memset(&w, 0, sizeof w);
    tmpdir_make(&w.tmp);
    w.env = (struct env){.fs = fs_posix(), .clock = clock_posix()};
    w.config = config_new();
    set("rest.port", "0");
    set("execution.checkpointing.interval", "100 ms");
    set("execution.checkpointing.dir", tmpdir_at(&w.tmp, "checkpoints"));
    set("execution.checkpointing.savepoint-dir", tmpdir_at(&w.tmp, "savepoints"));
    set("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION");
    set("pipeline.name", "rest-test");
    w.dispatcher = dispatcher_new(&w.env);
    w.session = session_new(&w.env, w.dispatcher, w.config, &(struct session_options){0});
    w.gateway = gateway_new(&w.env, w.dispatcher, w.config);
    ck_assert_ok(rest_server_start(&w.env, w.dispatcher, w.config, w.gateway, &w.server, &err));
    snprintf(target, sizeof target, "localhost:%u", rest_server_port(w.server));
    ck_assert_ok(client_open(&w.env, target, &w.client, &err));
    ck_assert_ok(run_sql(
        "CREATE TABLE seq (id BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '200',"
        "    'fields.id.kind' = 'sequence', 'fields.id.start' = '1', 'fields.id.end' = '1000000');"
        "CREATE TABLE nowhere (k BIGINT, n BIGINT) WITH ('connector' = 'blackhole');",
        &err));
}

static void teardown(void)
{
    client_close(w.client);
    rest_server_stop(w.server);
    gateway_free(w.gateway);
    session_free(w.session);
    dispatcher_free(w.dispatcher);
    config_free(w.config);
    tmpdir_remove(&w.tmp);
}

/* A job that counts for ever. */
static void start_job(void)
{
    struct err err = {0};

    ck_assert_ok(run_sql(
        "INSERT INTO nowhere SELECT MOD(id, 10), COUNT(*) FROM seq GROUP BY MOD(id, 10)", &err));
}

static json_t *call(const char *method, const char *path, const char *body)
{
    struct err err = {0};
    json_t *sent = NULL, *answer = NULL;

    if (body != NULL)
        ck_assert_ok(json_parse(bytes_of_str(body), 1u << 20, &sent, &err));
    ck_assert_msg(client_call(w.client, method, path, sent, &answer, &err) == RC_OK, "%s %s: %s",
                  method, path, err.msg);
    json_decref(sent);
    return answer;
}

/* "/jobs/<id>" and what follows. */
static const char *of_job(const char *rest)
{
    static char path[256];

    snprintf(path, sizeof path, "/jobs/%s%s", w.job, rest);
    return path;
}

static const char *text_at(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));

    return s != NULL ? s : "";
}

static void wait_for_checkpoint(void)
{
    for (int i = 0; i < 200; i++) {
        json_t *a = call("GET", of_job("/checkpoints"), NULL);
        json_int_t n =
            json_integer_value(json_object_get(json_object_get(a, "counts"), "completed"));

        json_decref(a);
        if (n >= 2)
            return;
        clock_sleep_ns(w.env.clock, 20 * NS_PER_MS);
    }
    ck_abort_msg("no checkpoint completes");
}

static void wait_for_state(const char *state)
{
    for (int i = 0; i < 300; i++) {
        json_t *a = call("GET", of_job("/status"), NULL);
        bool there = strcmp(text_at(a, "status"), state) == 0;

        json_decref(a);
        if (there)
            return;
        clock_sleep_ns(w.env.clock, 20 * NS_PER_MS);
    }
    ck_abort_msg("the job does not become %s", state);
}

/* ---- shapes
 * ---------------------------------------------------------------------------------------- */

static bool is_id(const char *key)
{
    return strlen(key) == 32 && strspn(key, "0123456789abcdef") == 32;
}

/* Our additions to Flink's answers; and objects whose keys are not a fixed set. */
static bool is_ours(const char *key)
{
    return strcmp(key, "operators") == 0 || strcmp(key, "hot") == 0;
}
static bool is_open(const char *key)
{
    return strcmp(key, "user-config") == 0 || strcmp(key, "failureLabels") == 0 ||
           strcmp(key, "status-duration") == 0 || strcmp(key, "optimizer_properties") == 0;
}

static const char *type_name(const json_t *v)
{
    switch (json_typeof(v)) {
    case JSON_INTEGER:
    case JSON_REAL:
        return "number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "boolean";
    case JSON_STRING: /* Flink writes NaN as text */
        return strcmp(json_string_value(v), "NaN") == 0 ? "number" : "string";
    case JSON_OBJECT:
        return "object";
    case JSON_ARRAY:
        return "array";
    default:
        return "null";
    }
}

/* The element to compare with `one`: a checkpoint under way has other keys than a completed one.
 * NULL: none. */
static const json_t *alike(const json_t *one, const json_t *list)
{
    const char *status = json_string_value(json_object_get(one, "className"));
    json_t *v;
    size_t i;

    json_array_foreach(list, i, v)
    {
        const char *other = json_string_value(json_object_get(v, "className"));

        if (status == NULL || (other != NULL && strcmp(status, other) == 0))
            return v;
    }
    return NULL;
}

static void compare(const json_t *want, const json_t *got, const char *at)
{
    char path[1024];
    const char *key;
    json_t *v;

    if (json_is_null(want) || json_is_null(got))
        return;
    ck_assert_msg(strcmp(type_name(want), type_name(got)) == 0, "%s: %s instead of %s", at,
                  type_name(got), type_name(want));
    if (json_is_array(want) && json_array_size(want) > 0 &&
        alike(json_array_get(want, 0), got) != NULL) {
        snprintf(path, sizeof path, "%s[0]", at);
        compare(json_array_get(want, 0), alike(json_array_get(want, 0), got), path);
    }
    if (!json_is_object(want))
        return;
    json_object_foreach((json_t *)(uintptr_t)want, key, v)
    {
        const json_t *other = json_object_get(got, key);

        if (is_id(key)) { /* keyed by vertex: any of ours */
            void *first = json_object_iter((json_t *)(uintptr_t)got);

            other = first != NULL ? json_object_iter_value(first) : NULL;
        }
        snprintf(path, sizeof path, "%s.%s", at, key);
        ck_assert_msg(other != NULL, "%s is missing", path);
        if (!is_open(key))
            compare(v, other, path);
    }
    json_object_foreach((json_t *)(uintptr_t)got, key, v)
        ck_assert_msg(is_id(key) || is_ours(key) || json_object_get(want, key) != NULL,
                      "%s.%s is nothing of Flink's", at, key);
}

static json_t *recorded(const char *name)
{
    char path[512];
    struct buf text = {0};
    struct err err = {0};
    json_t *v;

    snprintf(path, sizeof path, "%s/conformance/rest/%s.json", TESTS_DIR, name);
    ck_assert_ok(fs_read_all(fs_posix(), path, 1u << 20, &text, &err));
    ck_assert_ok(json_parse(buf_bytes(&text), 1u << 20, &v, &err));
    buf_release(&text);
    return v;
}

static void has_shape(const char *name, json_t *got_take)
{
    json_t *want = recorded(name);

    compare(want, got_take, name);
    json_decref(want);
    json_decref(got_take);
}

static const struct {
    const char *name, *path; /* path: below the job when it begins with '+' */
} shapes[] = {
    {"get-overview", "/overview"},
    {"get-config", "/config"},
    {"get-jobmanager-config", "/jobmanager/config"},
    {"get-jobs", "/jobs"},
    {"get-jobs-overview", "/jobs/overview"},
    {"get-job", "+"},
    {"get-job-status", "+/status"},
    {"get-job-config", "+/config"},
    {"get-job-plan", "+/plan"},
    {"get-job-checkpoints", "+/checkpoints"},
    {"get-job-checkpoints-config", "+/checkpoints/config"},
    {"get-job-metrics-values", "+/metrics?get=numRestarts,lastCheckpointSize,nothing"},
};

/* Clients read these keys: a missing or renamed one, or one of another type, breaks them. */
START_TEST(an_answer_has_flinks_keys_and_types)
{
    start_job();
    wait_for_checkpoint();
    has_shape(shapes[_i].name,
              call("GET", shapes[_i].path[0] == '+' ? of_job(shapes[_i].path + 1) : shapes[_i].path,
                   NULL));
}
END_TEST

START_TEST(details_of_a_checkpoint_and_its_subtasks_have_flinks_keys)
{
    char path[200], vertex[JOB_ID_LEN + 1];
    json_t *a, *job;

    start_job();
    wait_for_checkpoint();
    has_shape("get-job-checkpoint-details", call("GET", of_job("/checkpoints/details/1"), NULL));
    job = call("GET", of_job(""), NULL);
    snprintf(vertex, sizeof vertex, "%s",
             text_at(json_array_get(json_object_get(job, "vertices"), 0), "id"));
    json_decref(job);
    snprintf(path, sizeof path, "/checkpoints/details/1/subtasks/%s", vertex);
    has_shape("get-job-checkpoint-details-subtasks", call("GET", of_job(path), NULL));
    snprintf(path, sizeof path, "/vertices/%s", vertex);
    has_shape("get-job-vertex", call("GET", of_job(path), NULL));
    snprintf(path, sizeof path, "/vertices/%s/backpressure", vertex);
    a = call("GET", of_job(path), NULL);
    ck_assert_str_eq(text_at(a, "status"), "ok");
    json_decref(a);
}
END_TEST

/* Posts, polls until it is completed, returns the whole last answer. */
static json_t *operate(const char *post, const char *poll, const char *body)
{
    json_t *a = call("POST", post, body);
    char path[300];

    ck_assert_uint_eq(strlen(text_at(a, "request-id")), 32);
    snprintf(path, sizeof path, "%s/%s", poll, text_at(a, "request-id"));
    json_decref(a);
    for (int i = 0; i < 300; i++) {
        a = call("GET", path, NULL);
        if (strcmp(text_at(json_object_get(a, "status"), "id"), "COMPLETED") == 0)
            return a;
        ck_assert(json_is_null(json_object_get(a, "operation")));
        json_decref(a);
        clock_sleep_ns(w.env.clock, 20 * NS_PER_MS);
    }
    ck_abort_msg("%s does not complete", post);
}

static const char *operation_text(const json_t *a, const char *key)
{
    return text_at(json_object_get(a, "operation"), key);
}

START_TEST(a_savepoint_is_taken_restored_and_disposed_of)
{
    char post[100], poll[100], path[FS_PATH_MAX], body[FS_PATH_MAX + 100],
        set_path[FS_PATH_MAX + 100];
    struct err err = {0};
    json_t *a;

    start_job();
    wait_for_checkpoint();
    snprintf(post, sizeof post, "/jobs/%s/savepoints", w.job);
    a = operate(post, post, "{\"unknown\": [1, {}]}");
    snprintf(path, sizeof path, "%s", operation_text(a, "location"));
    ck_assert_msg(strncmp(path, "file:/", 6) == 0, "%s", path);
    has_shape("get-savepoint-status-poll1", a);

    snprintf(post, sizeof post, "/jobs/%s/stop", w.job);
    snprintf(poll, sizeof poll, "/jobs/%s/savepoints", w.job);
    a = operate(post, poll, "{\"drain\": false}");
    has_shape("get-savepoint-status-poll1", a);
    wait_for_state("FINISHED");

    snprintf(set_path, sizeof set_path, "SET 'execution.state-recovery.path' = '%s'", path);
    ck_assert_ok(run_sql(set_path, &err));
    start_job();
    wait_for_checkpoint();
    has_shape("get-job-checkpoints-after-restore", call("GET", of_job("/checkpoints"), NULL));

    snprintf(body, sizeof body, "{\"savepoint-path\": \"%s\"}", path);
    a = operate("/savepoint-disposal", "/savepoint-disposal", body);
    has_shape("get-savepoint-disposal-status", a);
    ck_assert(!fs_exists(fs_posix(), path + 5));
    a = operate("/savepoint-disposal", "/savepoint-disposal", body); /* it is gone now */
    ck_assert_ptr_nonnull(json_object_get(json_object_get(a, "operation"), "failure-cause"));
    json_decref(a);
}
END_TEST

START_TEST(a_checkpoint_on_request_answers_with_its_id)
{
    char post[100];
    json_t *a;

    start_job();
    wait_for_checkpoint();
    snprintf(post, sizeof post, "/jobs/%s/checkpoints", w.job);
    a = operate(post, post, "{\"checkpointType\": \"CONFIGURED\"}");
    ck_assert_int_ge(
        json_integer_value(json_object_get(json_object_get(a, "operation"), "checkpointId")), 1);
    has_shape("get-checkpoint-trigger-status", a);
}
END_TEST

/* A client that lost the answer asks again with its own id: that is one savepoint, not two. */
START_TEST(the_same_trigger_id_is_the_same_operation)
{
    char post[100];
    json_t *a, *b;

    start_job();
    wait_for_checkpoint();
    snprintf(post, sizeof post, "/jobs/%s/savepoints", w.job);
    a = operate(post, post, "{\"triggerId\": \"0123456789abcdef0123456789abcdef\"}");
    b = operate(post, post, "{\"triggerId\": \"0123456789abcdef0123456789abcdef\"}");
    ck_assert_str_eq(operation_text(a, "location"), operation_text(b, "location"));
    json_decref(a);
    json_decref(b);
}
END_TEST

/* As Flink: the request is accepted, the poll says that there is no such job. */
START_TEST(a_savepoint_of_an_unknown_job_fails_at_the_poll)
{
    json_t *a = operate("/jobs/" NOBODY "/savepoints", "/jobs/" NOBODY "/savepoints",
                        "{\"target-directory\": \"/tmp/x\"}");

    has_shape("get-savepoint-status-canceled-job", a);
}
END_TEST

/* varve run waits with its end until clients have fetched their answers. */
START_TEST(an_operation_counts_as_unanswered_until_its_end_is_fetched)
{
    char post[100], path[200];
    json_t *a;

    start_job();
    wait_for_checkpoint();
    snprintf(post, sizeof post, "/jobs/%s/savepoints", w.job);
    a = call("POST", post, "{}");
    snprintf(path, sizeof path, "%s/%s", post, text_at(a, "request-id"));
    json_decref(a);
    ck_assert_uint_eq(rest_server_unanswered(w.server), 1);
    for (int i = 0; i < 300 && rest_server_unanswered(w.server) > 0; i++) {
        json_decref(call("GET", path, NULL));
        clock_sleep_ns(w.env.clock, 20 * NS_PER_MS);
    }
    ck_assert_uint_eq(rest_server_unanswered(w.server), 0);
}
END_TEST

/* Between the API and the job (tests/CMakeLists.txt). */
enum rc __real_job_operation_start(struct job *job, struct job_operation_request *req,
                                   struct err *err);
enum rc __wrap_job_operation_start(struct job *job, struct job_operation_request *req,
                                   struct err *err);

enum rc __wrap_job_operation_start(struct job *job, struct job_operation_request *req,
                                   struct err *err)
{
    enum rc rc = __real_job_operation_start(job, req, err);

    if (rc == RC_OK && req->kind == JOB_OP_STOP && w.await_end)
        atomic_store(&w.unanswered_at_end,
                     job_wait(job, 60000) ? (int)rest_server_unanswered(w.server) : -1);
    return rc;
}

/* A job can be quicker than the handler that stops it; its process must not leave before the answer. */
START_TEST(a_job_that_stops_at_once_has_an_unanswered_operation_when_it_ends)
{
    char path[200];
    json_t *a;

    start_job();
    wait_for_checkpoint();
    w.await_end = true;
    a = call("POST", of_job("/stop"), "{}");
    ck_assert_int_eq(atomic_load(&w.unanswered_at_end), 1);
    ck_assert_uint_eq(rest_server_unanswered(w.server), 1);
    snprintf(path, sizeof path, "/jobs/%s/savepoints/%s", w.job, text_at(a, "request-id"));
    json_decref(a);
    a = call("GET", path, NULL);
    ck_assert_str_eq(text_at(json_object_get(a, "status"), "id"), "COMPLETED");
    json_decref(a);
    ck_assert_uint_eq(rest_server_unanswered(w.server), 0);
}
END_TEST

START_TEST(a_cancelled_job_stays_known_and_can_be_cancelled_again)
{
    json_t *a;

    start_job();
    wait_for_checkpoint();
    json_decref(call("PATCH", of_job("?mode=cancel"), NULL));
    wait_for_state("CANCELED");
    json_decref(call("PATCH", of_job(""), NULL));
    a = call("GET", of_job("/execution-result"), NULL);
    ck_assert_str_eq(text_at(json_object_get(a, "job-execution-result"), "application-status"),
                     "CANCELED");
    json_decref(a);
}
END_TEST

START_TEST(a_failed_job_tells_why)
{
    struct err err = {0};
    json_t *a;
    const char *why;

    ck_assert_ok(run_sql("INSERT INTO nowhere SELECT id, 10 / (id - 3) FROM seq", &err));
    wait_for_state("FAILED");
    a = call("GET", of_job("/execution-result"), NULL);
    ck_assert_str_eq(text_at(json_object_get(a, "job-execution-result"), "application-status"),
                     "FAILED");
    ck_assert_ptr_nonnull(
        json_object_get(json_object_get(a, "job-execution-result"), "failure-cause"));
    json_decref(a);
    a = call("GET", of_job("/exceptions"), NULL);
    why = text_at(
        json_array_get(json_object_get(json_object_get(a, "exceptionHistory"), "entries"), 0),
        "stacktrace");
    ck_assert_msg(strstr(why, "zero") != NULL, "%s", why);
    json_decref(a);
}
END_TEST

START_TEST(v1_and_an_ending_slash_mean_the_same_path)
{
    start_job();
    has_shape("get-jobs", call("GET", "/v1/jobs", NULL));
    has_shape("get-jobs", call("GET", "/v1/jobs/", NULL));
    has_shape("get-jobs", call("GET", "/jobs/", NULL));
}
END_TEST

/* ---- raw requests
 * ---------------------------------------------------------------------------------- */

static int connect_raw(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(rest_server_port(w.server))};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

/* Sends the text and reads until the server closes; the status, 0 when there was no answer. */
static int raw(const char *text, size_t len, struct buf *answer)
{
    int fd = connect_raw(), status = 0;
    char piece[4096];
    ssize_t n;

    for (size_t at = 0; at < len;) {
        n = send(fd, text + at, len - at, MSG_NOSIGNAL);
        if (n <= 0)
            break; /* refused before it was all sent: the answer says why */
        at += (size_t)n;
    }
    shutdown(fd, SHUT_WR);
    while ((n = recv(fd, piece, sizeof piece, 0)) > 0)
        buf_append(answer, piece, (size_t)n);
    close(fd);
    if (answer->len > 12)
        status = (int)strtol(buf_cstr(answer) + 9, NULL, 10);
    return status;
}

static const struct {
    const char *request; /* before the headers */
    const char *body;
    int status;
    const char *part; /* of the answer */
} refusals[] = {
    {"GET /jobs/" NOBODY, "", 404, "Job " NOBODY " not found"},
    {"GET /jobs/xyz", "", 400, "xyz"},
    {"GET /jobs/ABCDEF00000000000000000000000000", "", 400, "jobid"},
    {"GET /jobs/%2e%2e%2fetc", "", 404, "errors"},
    {"GET /nowhere", "", 404, "Unable to load requested file /nowhere."},
    {"GET /../../etc/passwd", "", 404, "errors"},
    {"GET /jobs/" NOBODY "/checkpoints/details/x", "", 404, "not found"},
    {"POST /jobs/overview", "{}", 404, "Not found"},
    {"DELETE /jobs", "", 404, "Not found"},
    {"PATCH /jobs/" NOBODY "?mode=cancel", "", 404, "not found"},
    {"GET /jobs/" NOBODY "/savepoints/zz", "", 404, "triggerId=zz"},
    {"POST /savepoint-disposal", "{}", 400, "savepoint-path"},
    {"POST /savepoint-disposal", "{\"savepoint-path\": 1}", 400, "must be a string"},
    {"POST /savepoint-disposal", "{\"savepoint-path\": ", 400, "line 1"},
    {"POST /savepoint-disposal", "[]", 400, "object"},
    {"POST /savepoint-disposal", "{\"a\":1,\"a\":2}", 400, "duplicate"},
    {"POST /savepoint-disposal", "\xff\xfe", 400, "errors"},
    {"POST /jobs/" NOBODY "/savepoints", "{\"formatType\": \"PDF\"}", 400, "PDF"},
    {"POST /jobs/" NOBODY "/savepoints", "{\"triggerId\": \"../../x\"}", 400, "triggerId"},
    {"POST /jobs/" NOBODY "/stop", "{\"drain\": 7}", 400, "drain"},
    {"POST /jobs/" NOBODY "/checkpoints", "{\"checkpointType\": \"FULL\"}", 400, "FULL"},
    {"GET /sessions/x/operations/y/result/0", "", 404, "does not exist"},
    {"GET /sessions/x/operations/y/result/-1", "", 400, "token"},
    {"GET /sessions/x/operations/y/result/0?rowFormat=XML", "", 400, "XML"},
    {"POST /sessions", "{\"properties\": {\"rest.prt\": \"1\"}}", 400, "rest.port"},
    {"POST /sessions", "{\"properties\": {\"rest.port\": 1}}", 400, "must be a string"},
    {"POST /sessions/x/statements", "{}", 400, "statement"},
    {"POST /jobs", "{}", 404, "Not found"},
    {"GET /\xd1\x89\xcc\xd2", "", 404,
     "\xef\xbf\xbd"}, /* not UTF-8: fuzzing found the server gone */
    {"GET /%ff%fe", "", 404, "\xef\xbf\xbd"},
    {"GET /jobs/%ff", "", 400, "\xef\xbf\xbd"},
    {"GET /sessions/%ff", "", 404, "\xef\xbf\xbd"},
    {"GET /sessions/x/operations/y/result/%ff", "", 400, "\xef\xbf\xbd"},
};

START_TEST(a_bad_request_is_refused_with_a_reason)
{
    struct buf text = {0}, answer = {0};
    int status;

    buf_printf(&text,
               "%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%s",
               refusals[_i].request, strlen(refusals[_i].body), refusals[_i].body);
    status = raw((const char *)text.data, text.len, &answer);
    ck_assert_msg(status == refusals[_i].status, "%s: status %d\n%s", refusals[_i].request, status,
                  buf_cstr(&answer));
    ck_assert_msg(strstr(buf_cstr(&answer), "{\"errors\":[") != NULL, "%s", buf_cstr(&answer));
    ck_assert_msg(strstr(buf_cstr(&answer), refusals[_i].part) != NULL, "%s lacks %s",
                  buf_cstr(&answer), refusals[_i].part);
    buf_release(&text);
    buf_release(&answer);
}
END_TEST

/* What browsers add for a page: of another site, of a name that was pointed at this machine, of our
 * own page. */
static const struct {
    const char *method, *headers;
    int status;
} pages[] = {
    {"POST", "Host: localhost:8081\r\nOrigin: http://evil.example\r\n", 403},
    {"POST", "Host: localhost:8081\r\nOrigin: null\r\n", 403},
    {"POST", "Host: evil.example:8081\r\nOrigin: http://evil.example:8081\r\n", 403},
    {"POST", "Host: localhost:8081\r\nOrigin: http://localhost:9999\r\n", 403},
    {"POST", "Host: localhost:8081\r\nOrigin: http://localhost:8081\r\n", 200},
    {"POST", "Host: 127.0.0.1:8081\r\nOrigin: http://127.0.0.1:8081\r\n", 200},
    {"POST", "Host: anything\r\n", 200}, /* no browser */
    {"GET", "Host: localhost:8081\r\nOrigin: http://evil.example\r\n", 404},
};

START_TEST(a_web_page_from_elsewhere_may_only_read)
{
    struct buf text = {0}, answer = {0};
    int status;

    buf_printf(&text,
               "%s /sessions HTTP/1.1\r\n%sConnection: close\r\nContent-Type: "
               "text/plain\r\nContent-Length: 2\r\n\r\n{}",
               pages[_i].method, pages[_i].headers);
    status = raw((const char *)text.data, text.len, &answer);
    ck_assert_msg(status == pages[_i].status, "%s%s: status %d\n%s", pages[_i].method,
                  pages[_i].headers, status, buf_cstr(&answer));
    buf_release(&text);
    buf_release(&answer);
}
END_TEST

static void still_answers(void)
{
    json_t *o = call("GET", "/overview", NULL);

    ck_assert_int_ge(json_integer_value(json_object_get(o, "slots-total")), 1); /* also by default */
    has_shape("get-overview", o);
}

/* Nothing is kept of a body past the limit, and the answer does not wait for its end. */
START_TEST(an_oversized_body_is_refused_before_it_is_read)
{
    struct buf text = {0}, answer = {0};
    size_t size = 8u << 20;

    buf_printf(&text, "POST /savepoint-disposal HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n",
               size);
    for (size_t i = 0; i < size / 16; i++)
        buf_append(&text, "                ", 16);
    ck_assert_int_eq(raw((const char *)text.data, text.len, &answer), 413);
    buf_release(&text);
    buf_release(&answer);
    still_answers();
}
END_TEST

START_TEST(an_oversized_chunked_body_is_refused)
{
    struct buf text = {0}, answer = {0};

    buf_append_str(&text, "POST /savepoint-disposal HTTP/1.1\r\nHost: x\r\nConnection: "
                          "close\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 300; i++) {
        buf_append_str(&text, "2000\r\n");
        for (int k = 0; k < 0x2000 / 8; k++)
            buf_append(&text, "        ", 8);
        buf_append_str(&text, "\r\n");
    }
    buf_append_str(&text, "0\r\n\r\n");
    ck_assert_int_eq(raw((const char *)text.data, text.len, &answer), 413);
    buf_release(&text);
    buf_release(&answer);
    still_answers();
}
END_TEST

START_TEST(deep_json_is_refused)
{
    struct buf text = {0}, body = {0}, answer = {0};

    buf_append_str(&body, "{\"a\":");
    for (int i = 0; i < 100000; i++)
        buf_append_u8(&body, '[');
    buf_printf(&text,
               "POST /savepoint-disposal HTTP/1.1\r\nHost: x\r\nConnection: "
               "close\r\nContent-Length: %zu\r\n\r\n",
               body.len);
    buf_append(&text, body.data, body.len);
    ck_assert_int_eq(raw((const char *)text.data, text.len, &answer), 400);
    ck_assert_msg(strstr(buf_cstr(&answer), "nested deeper") != NULL, "%s", buf_cstr(&answer));
    buf_release(&text);
    buf_release(&body);
    buf_release(&answer);
}
END_TEST

static const char *const broken[] = {
    "",
    "GET",
    "GET /jobs HTTP/1.1\r\nHost",
    "POST /savepoint-disposal HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{",
    "POST /savepoint-disposal HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n{}",
    ("POST /savepoint-disposal HTTP/1.1\r\nHost: x\r\nContent-Length: "
     "99999999999999999999\r\n\r\n{}"),
    "POST /savepoint-disposal HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "\r\n\r\n\r\n",
    "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "GET /jobs HTTP/9.9\r\n\r\n",
    "G\x01T /jobs HTTP/1.1\r\nHost: x\r\n\r\n",
};

/* Half requests and nonsense end with the connection; the next client is served. */
START_TEST(a_broken_request_harms_nobody_else)
{
    struct buf answer = {0};
    int status = raw(broken[_i], strlen(broken[_i]), &answer);

    ck_assert_msg(status == 0 || status >= 400 || status == 200, "status %d", status);
    buf_release(&answer);
    still_answers();
}
END_TEST

/* Connections that say nothing must not take the server's last place for long. */
START_TEST(many_silent_connections_leave_room_once_they_are_closed)
{
    int fds[100];

    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        fds[i] = connect_raw();
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        close(fds[i]);
    still_answers();
}
END_TEST

/* ---- metrics, page
 * --------------------------------------------------------------------------------- */

START_TEST(metrics_are_prometheus_text_with_each_name_once)
{
    struct buf answer = {0};
    const char text[] = "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", *at;

    start_job();
    wait_for_checkpoint();
    ck_assert_int_eq(raw(text, sizeof text - 1, &answer), 200);
    ck_assert_ptr_nonnull(strstr(buf_cstr(&answer), "text/plain; version=0.0.4"));
    at = strstr(buf_cstr(&answer),
                "# TYPE flink_jobmanager_job_numberOfCompletedCheckpoints gauge\n");
    ck_assert_ptr_nonnull(at);
    ck_assert_ptr_null(strstr(at + 1, "# TYPE flink_jobmanager_job_numberOfCompletedCheckpoints"));
    ck_assert_ptr_nonnull(
        strstr(buf_cstr(&answer), "flink_taskmanager_job_task_operator_numRecordsIn{job_id=\""));
    buf_release(&answer);
}
END_TEST

START_TEST(the_page_is_one_html_file)
{
    struct buf answer = {0};
    const char text[] = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

    ck_assert_int_eq(raw(text, sizeof text - 1, &answer), 200);
    ck_assert_ptr_nonnull(strstr(buf_cstr(&answer), "text/html"));
    ck_assert_ptr_nonnull(strstr(buf_cstr(&answer), "</html>"));
    ck_assert_ptr_null(strstr(buf_cstr(&answer), "http://")); /* nothing from elsewhere */
    ck_assert_ptr_null(strstr(buf_cstr(&answer), "https://"));
    buf_release(&answer);
}
END_TEST

START_TEST(a_second_server_on_an_explicit_port_is_refused)
{
    struct rest_server *second = NULL;
    struct err err = {0};
    char port[8];

    snprintf(port, sizeof port, "%u", rest_server_port(w.server));
    set("rest.port", port);
    ck_assert_rc_msg(rest_server_start(&w.env, w.dispatcher, w.config, NULL, &second, &err),
                     RC_EXISTS, port);
    set("rest.bind-address", "nowhere.invalid");
    ck_assert_rc_msg(rest_server_start(&w.env, w.dispatcher, w.config, NULL, &second, &err),
                     RC_INVALID, "rest.bind-address");
}
END_TEST

/* ---- SQL sessions
 * ---------------------------------------------------------------------------------- */

static char session_path[100];

static void open_session(void)
{
    json_t *a = call("POST", "/v3/sessions",
                     "{\"sessionName\": \"t\", \"properties\": {\"parallelism.default\": \"1\"}}");

    snprintf(session_path, sizeof session_path, "/v3/sessions/%s", text_at(a, "sessionHandle"));
    json_decref(a);
}

static void submit(const char *statement, char path[200])
{
    json_t *body = json_pack("{s: s}", "statement", statement);
    struct buf text = {0};
    char post[200];
    json_t *a;

    json_dump_to(body, false, &text);
    json_decref(body);
    snprintf(post, sizeof post, "%s/statements", session_path);
    a = call("POST", post, buf_cstr(&text));
    snprintf(path, 200, "%s/operations/%s", session_path, text_at(a, "operationHandle"));
    json_decref(a);
    buf_release(&text);
}

/* The page of a token, once it is ready. */
static json_t *page(const char *operation, unsigned token)
{
    char path[300];

    snprintf(path, sizeof path, "%s/result/%u?rowFormat=JSON", operation, token);
    for (int i = 0; i < 300; i++) {
        json_t *a = call("GET", path, NULL);

        if (strcmp(text_at(a, "resultType"), "NOT_READY") != 0)
            return a;
        json_decref(a);
        clock_sleep_ns(w.env.clock, 10 * NS_PER_MS);
    }
    ck_abort_msg("no result");
}

START_TEST(a_statement_gives_its_rows_once_more_and_then_the_end)
{
    char op[200], path[300];
    json_t *first, *again, *end;
    struct err err = {0};

    open_session();
    submit("SELECT CAST(7 AS BIGINT) AS a, CAST(NULL AS STRING) AS b, 'x' AS c", op);
    first = page(op, 0);
    ck_assert_str_eq(text_at(first, "resultType"), "PAYLOAD");
    ck_assert(json_is_true(json_object_get(first, "isQueryResult")));
    again = page(op, 0); /* the answer may have been lost */
    ck_assert(json_equal(first, again));
    end = page(op, 1);
    ck_assert_str_eq(text_at(end, "resultType"), "EOS");
    ck_assert_ptr_null(json_object_get(end, "nextResultUri"));
    {
        json_t *row = json_array_get(json_object_get(json_object_get(first, "results"), "data"), 0);
        json_t *want = json_pack("{s: s, s: [i, n, s]}", "kind", "INSERT", "fields", 7, "x");

        ck_assert(json_equal(row, want));
        json_decref(want);
    }
    json_decref(first);
    json_decref(again);
    json_decref(end);
    snprintf(path, sizeof path, "%s/result/5?rowFormat=JSON", op);
    ck_assert_rc_msg(client_call(w.client, "GET", path, NULL, &end, &err), RC_CORRUPT, "token 5");
    snprintf(path, sizeof path, "%s/close", op);
    json_decref(call("DELETE", path, NULL));
    snprintf(path, sizeof path, "%s/status", op);
    ck_assert_rc(client_call(w.client, "GET", path, NULL, &end, &err), RC_NOT_FOUND);
}
END_TEST

START_TEST(a_mistake_shows_with_the_result_and_has_line_and_caret)
{
    char op[200], path[300];
    struct err err = {0};
    json_t *a = NULL;

    open_session();
    submit("SELECT *\n  FORM x", op);
    snprintf(path, sizeof path, "%s/result/0?rowFormat=JSON", op);
    for (int i = 0; i < 100 && client_call(w.client, "GET", path, NULL, &a, &err) == RC_OK; i++) {
        json_decref(a);
        clock_sleep_ns(w.env.clock, 10 * NS_PER_MS);
    }
    ck_assert_msg(strstr(err.msg, "line 2 column 3") != NULL && strstr(err.msg, "^") != NULL, "%s",
                  err.msg);
    snprintf(path, sizeof path, "%s/status", op);
    a = call("GET", path, NULL);
    ck_assert_str_eq(text_at(a, "status"), "ERROR");
    json_decref(a);
}
END_TEST

/* Its rows come faster than anyone fetches them: the buffer is bounded, and cancelling ends it. */
START_TEST(an_endless_select_is_held_back_and_can_be_cancelled)
{
    char op[200], path[300];
    json_t *a;

    open_session();
    submit("CREATE TABLE flood (id BIGINT) WITH ('connector' = 'datagen', 'fields.id.kind' = "
           "'sequence', 'fields.id.start' = '1',"
           "    'fields.id.end' = '9000000000')",
           op);
    json_decref(page(op, 0));
    submit("SELECT * FROM flood", op);
    a = page(op, 0);
    ck_assert_int_gt(json_array_size(json_object_get(json_object_get(a, "results"), "data")), 0);
    json_decref(a);
    clock_sleep_ns(w.env.clock, 500 * NS_PER_MS);
    snprintf(path, sizeof path, "%s/cancel", op);
    json_decref(call("POST", path, NULL));
    for (int i = 0; i < 500; i++) {
        bool ended;

        snprintf(path, sizeof path, "%s/status", op);
        a = call("GET", path, NULL);
        ended = strcmp(text_at(a, "status"), "CANCELED") == 0;
        json_decref(a);
        if (ended)
            return;
        clock_sleep_ns(w.env.clock, 10 * NS_PER_MS);
    }
    ck_abort_msg("it does not end");
}
END_TEST

START_TEST(a_job_outlives_its_session)
{
    char op[200];
    json_t *a;

    open_session();
    submit("CREATE TABLE s (id BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '10')",
           op);
    json_decref(page(op, 0));
    submit("CREATE TABLE n (id BIGINT) WITH ('connector' = 'blackhole')", op);
    json_decref(page(op, 0));
    submit("INSERT INTO n SELECT id FROM s", op);
    a = page(op, 0);
    snprintf(w.job, sizeof w.job, "%s", text_at(a, "jobID"));
    json_decref(a);
    json_decref(call("DELETE", session_path, NULL));
    wait_for_state("RUNNING");
}
END_TEST

START_TEST(sessions_are_limited)
{
    struct err err = {0};
    json_t *a;
    int n = 0;

    while (client_call(w.client, "POST", "/sessions", NULL, &a, &err) == RC_OK) {
        json_decref(a);
        ck_assert_int_le(++n, GATEWAY_SESSIONS_MAX);
    }
    ck_assert_int_eq(n, GATEWAY_SESSIONS_MAX);
    ck_assert_msg(strstr(err.msg, "limit") != NULL, "%s", err.msg);
}
END_TEST

TEST_MAIN("rest", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_loop_test(tc, an_answer_has_flinks_keys_and_types, 0, ARRAY_LEN(shapes));
          tcase_add_test(tc, details_of_a_checkpoint_and_its_subtasks_have_flinks_keys);
          tcase_add_test(tc, a_savepoint_is_taken_restored_and_disposed_of);
          tcase_add_test(tc, a_checkpoint_on_request_answers_with_its_id);
          tcase_add_test(tc, the_same_trigger_id_is_the_same_operation);
          tcase_add_test(tc, a_savepoint_of_an_unknown_job_fails_at_the_poll);
          tcase_add_test(tc, an_operation_counts_as_unanswered_until_its_end_is_fetched);
          tcase_add_test(tc, a_job_that_stops_at_once_has_an_unanswered_operation_when_it_ends);
          tcase_add_test(tc, a_cancelled_job_stays_known_and_can_be_cancelled_again);
          tcase_add_test(tc, a_failed_job_tells_why);
          tcase_add_test(tc, v1_and_an_ending_slash_mean_the_same_path);
          tcase_add_loop_test(tc, a_bad_request_is_refused_with_a_reason, 0, ARRAY_LEN(refusals));
          tcase_add_loop_test(tc, a_web_page_from_elsewhere_may_only_read, 0, ARRAY_LEN(pages));
          tcase_add_test(tc, an_oversized_body_is_refused_before_it_is_read);
          tcase_add_test(tc, an_oversized_chunked_body_is_refused);
          tcase_add_test(tc, deep_json_is_refused);
          tcase_add_loop_test(tc, a_broken_request_harms_nobody_else, 0, ARRAY_LEN(broken));
          tcase_add_test(tc, many_silent_connections_leave_room_once_they_are_closed);
          tcase_add_test(tc, metrics_are_prometheus_text_with_each_name_once);
          tcase_add_test(tc, the_page_is_one_html_file);
          tcase_add_test(tc, a_second_server_on_an_explicit_port_is_refused);
          tcase_add_test(tc, a_statement_gives_its_rows_once_more_and_then_the_end);
          tcase_add_test(tc, a_mistake_shows_with_the_result_and_has_line_and_caret);
          tcase_add_test(tc, an_endless_select_is_held_back_and_can_be_cancelled);
          tcase_add_test(tc, a_job_outlives_its_session); tcase_add_test(tc, sessions_are_limited))
