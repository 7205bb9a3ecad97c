/* jobs_api.c - cluster and jobs in Flink's JSON shapes; see routes.h */
#include "job/rest/api_priv.h"
#include "job/runtime/deployment.h"

#define JOBS_LISTED_MAX 1000u
#define REPORTED_FLINK_VERSION "2.3.0" /* whose REST shapes these are; clients compare it */

static json_t *millis(int64_t ms)
{
    return json_integer((json_int_t)ms);
}

void api_config(struct call *c)
{
    answer_json(c, 200,
                json_pack("{s: i, s: s, s: i, s: s, s: s, s: {s: b, s: b, s: b, s: b}}",
                          "refresh-interval", REFRESH_INTERVAL_MS, "timezone-name",
                          "Coordinated Universal Time", "timezone-offset", 0, "flink-version",
                          REPORTED_FLINK_VERSION, "flink-revision", "varve " VARVE_VERSION,
                          "features", "web-submit", 0, "web-cancel", 1, "web-rescale", 0,
                          "web-history", 0));
}

static void add_setting(void *ctx, const struct option *option, const char *value,
                        enum config_layer source)
{
    (void)source;
    json_array_append_new(ctx,
                          json_pack("{s: s, s: o}", "key", option->key, "value", text_json(value)));
}

void api_jobmanager_config(struct call *c)
{
    json_t *list = json_array();

    config_list(c->api->config, false, add_setting, list);
    answer_json(c, 200, list);
}

/* ---- lists
 * ---------------------------------------------------------------------------------------- */

void api_overview(struct call *c)
{
    struct job **jobs = ARENA_ARRAY(c->request->arena, JOBS_LISTED_MAX, struct job *);
    size_t n = dispatcher_list(c->api->dispatcher, jobs, JOBS_LISTED_MAX);
    int running = 0, finished = 0, cancelled = 0, failed = 0,
        slots = (int)deployment_slots(c->api->config);

    for (size_t i = 0; i < n; i++) {
        enum job_state s = job_state(jobs[i]);

        finished += s == JOB_FINISHED || s == JOB_SUSPENDED;
        cancelled += s == JOB_CANCELED;
        failed += s == JOB_FAILED;
        running += !job_state_is_final(s);
        dispatcher_release(c->api->dispatcher, jobs[i]);
    }
    answer_json(c, 200,
                json_pack("{s: i, s: i, s: i, s: i, s: i, s: i, s: i, s: s, s: s}", "taskmanagers",
                          1, "slots-total", slots, "slots-available",
                          slots > running ? slots - running : 0, "jobs-running", running,
                          "jobs-finished", finished, "jobs-cancelled", cancelled, "jobs-failed",
                          failed, "flink-version", REPORTED_FLINK_VERSION, "flink-commit",
                          "varve-" VARVE_VERSION));
}

void api_jobs(struct call *c)
{
    struct job **jobs = ARENA_ARRAY(c->request->arena, JOBS_LISTED_MAX, struct job *);
    size_t n = dispatcher_list(c->api->dispatcher, jobs, JOBS_LISTED_MAX);
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++) {
        json_array_append_new(list, json_pack("{s: s, s: s}", "id", job_id(jobs[i]), "status",
                                              job_state_str(job_state(jobs[i]))));
        dispatcher_release(c->api->dispatcher, jobs[i]);
    }
    answer_json(c, 200, json_pack("{s: o}", "jobs", list));
}

static int64_t last_modification(const struct job_view *v)
{
    int64_t last = v->start_wall_ms;

    for (size_t i = 0; i < ARRAY_LEN(v->state_wall_ms); i++)
        if (v->state_wall_ms[i] > last)
            last = v->state_wall_ms[i];
    return last;
}

static int64_t duration_of(int64_t start, int64_t end, int64_t now)
{
    return start <= 0 ? 0 : (end > 0 ? end : now) - start;
}

static json_t *overview_json(struct call *c, struct job *job)
{
    struct job_view v;
    uint32_t counts[8] = {0};
    int64_t now = clock_wall_ms(c->api->env->clock);

    job_view(job, c->request->arena, &v);
    for (uint32_t i = 0; i < v.vertex_count; i++)
        count_task_states(&v.vertices[i], counts);
    return json_pack("{s: s, s: o, s: s, s: s, s: o, s: o, s: o, s: s, s: o, s: o, s: i}", "jid",
                     v.id, "name", text_json(v.name), "jobType", "STREAMING", "schedulerType",
                     "Default", "start-time", millis(v.start_wall_ms), "end-time",
                     millis(v.end_wall_ms), "duration",
                     millis(duration_of(v.start_wall_ms, v.end_wall_ms, now)), "state",
                     job_state_str(v.state), "last-modification", millis(last_modification(&v)),
                     "tasks", task_counts_json(counts, true), "pending-operators", 0);
}

void api_jobs_overview(struct call *c)
{
    struct job **jobs = ARENA_ARRAY(c->request->arena, JOBS_LISTED_MAX, struct job *);
    size_t n = dispatcher_list(c->api->dispatcher, jobs, JOBS_LISTED_MAX);
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++) {
        json_array_append_new(list, overview_json(c, jobs[i]));
        dispatcher_release(c->api->dispatcher, jobs[i]);
    }
    answer_json(c, 200, json_pack("{s: o}", "jobs", list));
}

/* ---- one job
 * -------------------------------------------------------------------------------------- */

static json_t *timestamps_json(const struct job_view *v)
{
    json_t *o = json_object();

    json_object_set_new(o, "RECONCILING", json_integer(0));
    for (size_t i = 0; i < ARRAY_LEN(v->state_wall_ms); i++)
        json_object_set_new(o, job_state_str((enum job_state)i), millis(v->state_wall_ms[i]));
    return o;
}

void api_job(struct call *c)
{
    struct job_view v;
    uint32_t counts[8] = {0};
    int64_t now = clock_wall_ms(c->api->env->clock);
    json_t *vertices = json_array();

    job_view(c->job, c->request->arena, &v);
    for (uint32_t i = 0; i < v.vertex_count; i++) {
        json_array_append_new(vertices, vertex_summary_json(&v.vertices[i], now));
        count_task_states(&v.vertices[i], counts);
    }
    answer_json(
        c, 200,
        json_pack(
            "{s: s, s: s, s: o, s: b, s: s, s: s, s: s, s: o, s: o, s: o, s: i, s: o, s: o, s: o, "
            "s: o, s: o, s: i}",
            "jid", v.id, "application-id", v.id, "name", text_json(v.name), "isStoppable", 1,
            "state", job_state_str(v.state), "job-type", "STREAMING", "schedulerType", "Default",
            "start-time", millis(v.start_wall_ms), "end-time", millis(v.end_wall_ms), "duration",
            millis(duration_of(v.start_wall_ms, v.end_wall_ms, now)), "maxParallelism",
            v.graph->key_group_count_explicit ? (int)v.graph->key_group_count : -1, "now",
            millis(now), "timestamps", timestamps_json(&v), "vertices", vertices, "status-counts",
            task_counts_json(counts, false), "plan", plan_json(&v), "pending-operators", 0));
}

void api_job_status(struct call *c)
{
    answer_json(c, 200, json_pack("{s: s}", "status", job_state_str(job_state(c->job))));
}

static const char *restart_strategy_name(const struct config *cfg)
{
    if (!config_has(cfg, OPT_RESTART_STRATEGY))
        return "Cluster level default restart strategy";
    return config_string(cfg, OPT_RESTART_STRATEGY);
}

void api_job_config(struct call *c)
{
    const struct config *cfg = job_config(c->job);

    answer_json(c, 200,
                json_pack("{s: s, s: o, s: {s: s, s: i, s: b, s: {}}}", "jid", job_id(c->job),
                          "name", text_json(job_name(c->job)), "execution-config",
                          "restart-strategy", restart_strategy_name(cfg), "job-parallelism",
                          config_int(cfg, OPT_PARALLELISM), "object-reuse-mode", 0, "user-config"));
}

void api_job_plan(struct call *c)
{
    struct job_view v;

    job_view(c->job, c->request->arena, &v);
    answer_json(c, 200, json_pack("{s: o}", "plan", plan_json(&v)));
}

void api_job_exceptions(struct call *c)
{
    struct job_view v;
    json_t *entries = json_array();

    job_view(c->job, c->request->arena, &v);
    for (uint32_t i = 0; i < v.failure_count; i++)
        json_array_append_new(
            entries,
            json_pack("{s: s, s: o, s: o, s: {}, s: o, s: s, s: s, s: []}", "exceptionName",
                      "varve.JobException", "stacktrace", text_json(v.failures[i].message),
                      "timestamp", millis(v.failures[i].wall_ms), "failureLabels", "taskName",
                      text_json(v.failures[i].task_name != NULL ? v.failures[i].task_name : ""),
                      "endpoint", "localhost", "taskManagerId", "varve", "concurrentExceptions"));
    answer_json(
        c, 200,
        json_pack("{s: {s: o, s: b}}", "exceptionHistory", "entries", entries, "truncated", 0));
}

void api_job_result(struct call *c)
{
    struct job_view v;
    struct err why = {0};
    const char *status;
    json_t *result;

    job_view(c->job, c->request->arena, &v);
    if (!job_state_is_final(v.state)) {
        answer_json(c, 200, json_pack("{s: {s: s}}", "status", "id", "IN_PROGRESS"));
        return;
    }
    status = v.state == JOB_FINISHED   ? "SUCCEEDED"
             : v.state == JOB_FAILED   ? "FAILED"
             : v.state == JOB_CANCELED ? "CANCELED"
                                       : "UNKNOWN";
    result = json_pack(
        "{s: s, s: o, s: s, s: s, s: {}, s: o, s: o}", "id", v.id, "name", text_json(v.name),
        "application-id", v.id, "application-status", status, "accumulator-results", "net-runtime",
        millis(v.end_wall_ms - v.start_wall_ms), "start-time", millis(v.start_wall_ms));
    job_failure(c->job, &why);
    if (v.state == JOB_FAILED)
        json_object_update_new(result, failure_cause_json("varve.JobException", why.msg));
    answer_json(c, 200,
                json_pack("{s: {s: s}, s: o}", "status", "id", "COMPLETED", "job-execution-result",
                          result));
}

void api_job_accumulators(struct call *c)
{
    answer_json(c, 200,
                json_pack("{s: [], s: [], s: {}}", "job-accumulators", "user-task-accumulators",
                          "serialized-user-task-accumulators"));
}

void api_job_cancel(struct call *c)
{
    const char *mode = http_query(c->request, "mode");

    if (mode != NULL && strcmp(mode, "cancel") != 0) {
        if (strcmp(mode, "stop") == 0)
            answer_error(
                c, 410,
                "The termination mode \"stop\" has been removed. Use stop-with-savepoint instead.");
        else
            answer_error(c, 400,
                         "Bad request, could not parse parameters: Cannot resolve query parameter "
                         "(mode) from value \"%.100s\".",
                         mode);
        return;
    }
    job_cancel(c->job);
    answer_json(c, 202, json_object());
}
