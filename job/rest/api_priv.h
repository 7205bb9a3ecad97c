/* api_priv.h - what the handlers of this folder share. */
#ifndef VARVE_JOB_REST_API_PRIV_H
#define VARVE_JOB_REST_API_PRIV_H

#include "base/json.h"
#include "job/rest/routes.h"
#include "job/rest/row_json.h"

#define REFRESH_INTERVAL_MS 3000
#define REST_DISPOSALS_MAX 256u
#define REST_UNANSWERED_MAX 64u /* more are not remembered */

/* A savepoint disposal or an operation on a job that does not exist: its outcome, kept for the
 * poll. */
struct kept_operation {
    char trigger_id[TRIGGER_ID_LEN + 1];
    char job_id[JOB_ID_LEN + 1]; /* "" for a disposal */
    enum rc rc;
    char message[ERR_MSG_MAX];
};
struct rest_api {
    const struct env *env;
    struct dispatcher *dispatcher;
    const struct config *config;
    struct rng rng;
    struct kept_operation *kept; /* ring */
    uint32_t kept_count, kept_next;
    struct gateway *gateway; /* NULL: none */
    char unanswered[REST_UNANSWERED_MAX]
                   [TRIGGER_ID_LEN + 1]; /* started, end not yet fetched; "" : free place */
    _Atomic uint32_t unanswered_count;
};

/* One request being answered. */
struct call {
    struct rest_api *api;
    const struct http_request *request;
    struct http_answer *answer;
    const char *prefix;   /* "/v3", or "" */
    const char *param[4]; /* what the route's {} matched */
    struct job *job;      /* of a {job} route; released by the router */
};

void answer_json(struct call *c, int status, json_t *value_take);
/* {"errors": ["..."]} */
void answer_error(struct call *c, int status, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* The status that fits an error code. */
int http_status_of(enum rc rc);
/* The body as an object; an empty body is {}. false: answered 400. */
bool body_object(struct call *c, const char *what, json_t **out);
/* Optional fields of a body; false: answered 400 because of a wrong type or value. */
bool body_string(struct call *c, json_t *body, const char *what, const char *field,
                 const char **out);
bool body_bool(struct call *c, json_t *body, const char *what, const char *field, bool *out);
bool body_word(struct call *c, json_t *body, const char *what, const char *field,
               const char *const *allowed, size_t allowed_count, const char **out);
/* Remembers the end of something that has no job; returns its trigger id. */
const char *keep_operation(struct rest_api *api, const char *trigger_id, const char *job_id,
                           enum rc rc, const char *message);
const struct kept_operation *find_kept(const struct rest_api *api, const char *trigger_id);
/* An operation that a client will ask about; and that it was told the end. */
void note_started(struct rest_api *api, const char *trigger_id);
void note_answered(struct rest_api *api, const char *trigger_id);
/* {"status": {"id": ...}, "operation": ...}; operation_take may be NULL while in progress. */
json_t *operation_json(bool completed, json_t *operation_take);
json_t *failure_cause_json(const char *class_name, const char *message);
/* "file:/path" */
json_t *path_json(const char *path);

/* jobs_api.c */
void api_overview(struct call *c);
void api_config(struct call *c);
void api_jobmanager_config(struct call *c);
void api_jobs(struct call *c);
void api_jobs_overview(struct call *c);
void api_job(struct call *c);
void api_job_status(struct call *c);
void api_job_config(struct call *c);
void api_job_plan(struct call *c);
void api_job_exceptions(struct call *c);
void api_job_result(struct call *c);
void api_job_accumulators(struct call *c);
void api_job_cancel(struct call *c);
/* vertices_api.c */
void api_vertex(struct call *c);
void api_vertex_subtask_times(struct call *c);
void api_vertex_watermarks(struct call *c);
void api_vertex_backpressure(struct call *c);
json_t *vertex_summary_json(const struct vertex_view *v, int64_t now_ms);
json_t *plan_json(const struct job_view *view);
void count_task_states(const struct vertex_view *v, uint32_t counts[8]);
json_t *task_counts_json(const uint32_t counts[8], bool lower_case_with_total);
/* checkpoints_api.c */
void api_checkpoints(struct call *c);
void api_checkpoints_config(struct call *c);
void api_checkpoint_details(struct call *c);
void api_checkpoint_subtasks(struct call *c);
void api_trigger_checkpoint(struct call *c);
void api_trigger_savepoint(struct call *c);
void api_trigger_stop(struct call *c);
void api_savepoint_status(struct call *c);
void api_checkpoint_status(struct call *c);
void api_dispose(struct call *c);
void api_dispose_status(struct call *c);
/* gateway_api.c */
void api_info(struct call *c);
void api_versions(struct call *c);
void api_open_session(struct call *c);
void api_session(struct call *c);
void api_close_session(struct call *c);
void api_heartbeat(struct call *c);
void api_configure_session(struct call *c);
void api_statement(struct call *c);
void api_operation_status(struct call *c);
void api_operation_cancel(struct call *c);
void api_operation_close(struct call *c);
void api_operation_result(struct call *c);
/* page.c */
void api_page(struct call *c);
/* metrics_api.c */
void api_metrics(struct call *c);
void api_job_metrics(struct call *c);

#endif
