/* checkpoints_api.c - checkpoints and savepoints in Flink's JSON shapes; see routes.h */
#include "job/rest/api_priv.h"

#include "checkpoint/savepoint.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SAVEPOINT_BODY "SavepointTriggerRequestBody"
#define STOP_BODY "StopWithSavepointRequestBody"
#define CHECKPOINT_BODY "CheckpointTriggerRequestBody"

static json_t *real_or_nan(double v)
{
    return isnan(v) ? json_string("NaN") : json_real(v);
}

static json_t *summary_json(const struct stats_summary *s)
{
    return json_pack("{s: I, s: I, s: I, s: o, s: o, s: o, s: o, s: o}", "min", (json_int_t)s->min,
                     "max", (json_int_t)s->max, "avg", (json_int_t)s->avg, "p50",
                     real_or_nan(s->p50), "p90", real_or_nan(s->p90), "p95", real_or_nan(s->p95),
                     "p99", real_or_nan(s->p99), "p999", real_or_nan(s->p999));
}

static const char *class_of(enum checkpoint_status s)
{
    return s == CHECKPOINT_COMPLETED ? "completed"
           : s == CHECKPOINT_FAILED  ? "failed"
                                     : "in_progress";
}

static json_t *vertex_json(const struct vertex_checkpoint_stats *v, uint64_t id)
{
    return json_pack(
        "{s: I, s: s, s: I, s: I, s: I, s: I, s: i, s: I, s: I, s: i, s: i}", "id", (json_int_t)id,
        "status", v->ack_count == v->subtask_count ? "COMPLETED" : "IN_PROGRESS",
        "latest_ack_timestamp", (json_int_t)v->latest_ack_wall_ms, "checkpointed_size",
        (json_int_t)v->checkpointed_bytes, "state_size", (json_int_t)v->state_bytes,
        "end_to_end_duration", (json_int_t)v->end_to_end_ms, "alignment_buffered", 0,
        "processed_data", (json_int_t)v->processed_bytes, "persisted_data", (json_int_t)v->persisted_bytes,
        "num_subtasks", (int)v->subtask_count, "num_acknowledged_subtasks", (int)v->ack_count);
}

static json_t *detail_json(const struct checkpoint_detail *d, bool with_tasks)
{
    json_t *tasks = json_object(), *o;
    bool savepoint = checkpoint_kind_is_savepoint(d->kind);

    for (uint32_t i = 0; with_tasks && i < d->vertex_count; i++)
        json_object_set_new(tasks, d->vertices[i].id, vertex_json(&d->vertices[i], d->id));
    o = json_pack(
        "{s: s, s: I, s: s, s: b, s: o, s: I, s: I, s: I, s: I, s: I, s: i, s: I, s: I, s: i, s: "
        "i, s: s, s: o}",
        "className", class_of(d->status), "id", (json_int_t)d->id, "status",
        checkpoint_status_str(d->status), "is_savepoint", (int)savepoint, "savepointFormat",
        savepoint ? json_string("NATIVE") : json_null(), "trigger_timestamp",
        (json_int_t)d->trigger_wall_ms, "latest_ack_timestamp", (json_int_t)d->latest_ack_wall_ms,
        "checkpointed_size", (json_int_t)d->checkpointed_bytes, "state_size",
        (json_int_t)d->state_bytes, "end_to_end_duration", (json_int_t)d->end_to_end_ms,
        "alignment_buffered", 0, "processed_data", (json_int_t)d->processed_bytes, "persisted_data",
        (json_int_t)d->persisted_bytes, "num_subtasks", (int)d->subtask_count, "num_acknowledged_subtasks", (int)d->ack_count,
        "checkpoint_type", d->unaligned ? "UNALIGNED_CHECKPOINT" : checkpoint_type_str(d->kind), "tasks", tasks);
    if (d->status == CHECKPOINT_COMPLETED) {
        json_object_set_new(o, "external_path",
                            d->external_path != NULL
                                ? path_json(d->external_path)
                                : json_string("<checkpoint-not-externally-addressable>"));
        json_object_set_new(o, "discarded", json_boolean(d->discarded));
    } else if (d->status == CHECKPOINT_FAILED) {
        json_object_set_new(o, "failure_timestamp", json_integer(d->failure_wall_ms));
        json_object_set_new(o, "failure_message",
                            text_json(d->failure_message != NULL ? d->failure_message : ""));
    }
    return o;
}

static json_t *detail_or_null(const struct checkpoint_detail *d)
{
    return d == NULL ? json_null() : detail_json(d, false);
}

void api_checkpoints(struct call *c)
{
    struct checkpoint_stats s = {0};
    struct stats_summary nothing = {0};
    json_t *history = json_array(), *restored = json_null();

    job_checkpoint_stats(c->job, c->request->arena, &s);
    for (size_t i = 0; i < s.history_count; i++)
        json_array_append_new(history, detail_json(&s.history[i], false));
    if (s.restored)
        restored = json_pack("{s: I, s: I, s: b, s: o}", "id", (json_int_t)s.restored_id,
                             "restore_timestamp", (json_int_t)s.restored_wall_ms, "is_savepoint",
                             (int)s.restored_is_savepoint, "external_path",
                             path_json(s.restored_path != NULL ? s.restored_path : ""));
    answer_json(
        c, 200,
        json_pack("{s: {s: I, s: I, s: I, s: I, s: I}, s: {s: o, s: o, s: o, s: o, s: o, s: o}, s: "
                  "{s: o, s: o, s: o, s: o}, s: o}",
                  "counts", "restored", (json_int_t)s.restored_count, "total",
                  (json_int_t)s.total_count, "in_progress", (json_int_t)s.in_progress_count,
                  "completed", (json_int_t)s.completed_count, "failed", (json_int_t)s.failed_count,
                  "summary", "checkpointed_size", summary_json(&s.checkpointed_bytes), "state_size",
                  summary_json(&s.state_bytes), "end_to_end_duration",
                  summary_json(&s.end_to_end_ms), "alignment_buffered", summary_json(&nothing),
                  "processed_data", summary_json(&s.processed_bytes), "persisted_data",
                  summary_json(&s.persisted_bytes), "latest", "completed", detail_or_null(s.latest_completed),
                  "savepoint", detail_or_null(s.latest_savepoint), "failed",
                  detail_or_null(s.latest_failed), "restored", restored, "history", history));
}

void api_checkpoints_config(struct call *c)
{
    const struct config *cfg = job_config(c->job);
    bool files = config_has(cfg, OPT_CP_DIR);
    int retention = config_enum(cfg, OPT_CP_RETENTION);

    if (!config_has(cfg, OPT_CP_INTERVAL)) {
        answer_error(c, 404, "Checkpointing is not enabled for this job (%s).", job_id(c->job));
        return;
    }
    if (config_has(cfg, OPT_CP_STORAGE))
        files = config_enum(cfg, OPT_CP_STORAGE) == STORAGE_FILESYSTEM;
    answer_json(
        c, 200,
        json_pack("{s: s, s: I, s: I, s: I, s: i, s: {s: b, s: b}, s: s, s: s, s: b, s: i, s: I, "
                  "s: b, s: b, s: i, s: s}",
                  "mode",
                  config_enum(cfg, OPT_CP_MODE) == MODE_EXACTLY_ONCE ? "exactly_once"
                                                                     : "at_least_once",
                  "interval", (json_int_t)config_duration_ms(cfg, OPT_CP_INTERVAL), "timeout",
                  (json_int_t)config_duration_ms(cfg, OPT_CP_TIMEOUT), "min_pause",
                  (json_int_t)config_duration_ms(cfg, OPT_CP_MIN_PAUSE), "max_concurrent",
                  config_int(cfg, OPT_CP_MAX_CONCURRENT), "externalization", "enabled",
                  (int)(retention != RETAIN_NONE), "delete_on_cancellation",
                  (int)(retention != RETAIN_ON_CANCELLATION), "state_backend",
                  config_enum(cfg, OPT_BACKEND_TYPE) == BACKEND_TYPE_ROCKSDB
                      ? "EmbeddedRocksDBStateBackend"
                      : "HashMapStateBackend",
                  "checkpoint_storage",
                  files ? "FileSystemCheckpointStorage" : "JobManagerCheckpointStorage",
                  "unaligned_checkpoints", (int)config_unaligned(cfg), "tolerable_failed_checkpoints",
                  config_int(cfg, OPT_CP_TOLERABLE_FAILURES), "aligned_checkpoint_timeout",
                  (json_int_t)config_duration_ms(cfg, OPT_CP_UNALIGNED_TIMEOUT),
                  "checkpoints_after_tasks_finish", (int)config_bool(cfg, OPT_CP_AFTER_FINISH),
                  "state_changelog_enabled", 0, "changelog_periodic_materialization_interval",
                  600000, "changelog_storage", "memory"));
}

/* The checkpoint named in the path; NULL: answered. */
static const struct checkpoint_detail *find_detail(struct call *c, struct checkpoint_stats *stats)
{
    const struct checkpoint_detail *d;
    char *end;
    unsigned long long id;

    errno = 0;
    id = strtoull(c->param[1], &end, 10);
    if (errno != 0 || *end != '\0' || strspn(c->param[1], "0123456789") == 0) {
        answer_error(c, 400,
                     "Bad request, could not parse parameters: Cannot resolve path parameter "
                     "(checkpointid) from value \"%.100s\".",
                     c->param[1]);
        return NULL;
    }
    job_checkpoint_stats(c->job, c->request->arena, stats);
    d = checkpoint_stats_find(stats, id);
    if (d == NULL)
        answer_error(c, 404, "Could not find checkpointing statistics for checkpoint %llu.", id);
    return d;
}

void api_checkpoint_details(struct call *c)
{
    struct checkpoint_stats stats;
    const struct checkpoint_detail *d = find_detail(c, &stats);

    if (d != NULL)
        answer_json(c, 200, detail_json(d, true));
}

static int compare_values(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

/* Over the subtasks that have acked; sorts the values. Percentiles as Flink's: the value at p *
 * (count + 1), interpolated. */
static double percentile(const int64_t *sorted, uint32_t count, double p)
{
    double at = p * (count + 1);
    uint32_t below = (uint32_t)at;

    if (count == 0)
        return NAN;
    if (at < 1)
        return (double)sorted[0];
    if (below >= count)
        return (double)sorted[count - 1];
    return (double)sorted[below - 1] + (at - below) * (double)(sorted[below] - sorted[below - 1]);
}

static json_t *min_max_json(int64_t *values, uint32_t count)
{
    struct stats_summary s = {0};
    int64_t sum = 0;

    qsort(values, count, sizeof *values, compare_values);
    for (uint32_t i = 0; i < count; i++)
        sum += values[i];
    if (count > 0) {
        s.min = values[0];
        s.max = values[count - 1];
        s.avg = sum / count;
    }
    s.p50 = percentile(values, count, 0.5);
    s.p90 = percentile(values, count, 0.9);
    s.p95 = percentile(values, count, 0.95);
    s.p99 = percentile(values, count, 0.99);
    s.p999 = percentile(values, count, 0.999);
    return summary_json(&s);
}

static json_t *subtask_json(const struct subtask_checkpoint_stats *s)
{
    if (!s->acked)
        return json_pack("{s: s, s: i, s: s}", "className", "pending", "index", (int)s->index,
                         "status", "pending_or_failed");
    return json_pack("{s: s, s: i, s: s, s: I, s: I, s: I, s: I, s: {s: I, s: I}, s: {s: i, s: I, "
                     "s: I, s: I}, s: I, s: b, s: b}",
                     "className", "completed", "index", (int)s->index, "status", "completed",
                     "ack_timestamp", (json_int_t)s->ack_wall_ms, "end_to_end_duration",
                     (json_int_t)s->end_to_end_ms, "checkpointed_size",
                     (json_int_t)s->ack.checkpointed_bytes, "state_size",
                     (json_int_t)s->ack.state_bytes, "checkpoint", "sync",
                     (json_int_t)s->ack.sync_ms, "async", (json_int_t)s->ack.async_ms, "alignment",
                     "buffered", 0, "processed", (json_int_t)s->ack.processed_bytes, "persisted",
                     (json_int_t)s->ack.persisted_bytes,
                     "duration", (json_int_t)s->ack.alignment_ms, "start_delay",
                     (json_int_t)s->ack.start_delay_ms, "unaligned_checkpoint", (int)s->ack.unaligned, "aborted", 0);
}

void api_checkpoint_subtasks(struct call *c)
{
    struct checkpoint_stats stats;
    const struct checkpoint_detail *d = find_detail(c, &stats);
    const struct vertex_checkpoint_stats *v = NULL;
    json_t *o, *subtasks = json_array();
    int64_t *values[9], *zeroes;
    uint32_t n = 0;

    for (uint32_t i = 0; d != NULL && i < d->vertex_count; i++)
        if (strcmp(d->vertices[i].id, c->param[2]) == 0)
            v = &d->vertices[i];
    if (d == NULL || v == NULL) {
        json_decref(subtasks);
        if (d != NULL)
            answer_error(c, 404, "There is no vertex %.100s in checkpoint %llu", c->param[2],
                         (unsigned long long)d->id);
        return;
    }
    zeroes = ARENA_ARRAY(c->request->arena, v->subtask_count + 1,
                         int64_t); /* nothing is buffered by alignment: channels are bounded */
    for (int k = 0; k < 9; k++)
        values[k] = ARENA_ARRAY(c->request->arena, v->subtask_count + 1, int64_t);
    for (uint32_t i = 0; i < v->subtask_count; i++) {
        const struct subtask_checkpoint_stats *s = &v->subtasks[i];

        json_array_append_new(subtasks, subtask_json(s));
        if (!s->acked)
            continue;
        values[0][n] = (int64_t)s->ack.checkpointed_bytes;
        values[1][n] = (int64_t)s->ack.state_bytes;
        values[2][n] = s->end_to_end_ms;
        values[3][n] = s->ack.sync_ms;
        values[4][n] = s->ack.async_ms;
        values[5][n] = s->ack.alignment_ms;
        values[6][n] = s->ack.start_delay_ms;
        values[7][n] = (int64_t)s->ack.processed_bytes;
        values[8][n++] = (int64_t)s->ack.persisted_bytes;
    }
    o = vertex_json(v, d->id);
    json_object_set_new(
        o, "summary",
        json_pack("{s: o, s: o, s: o, s: {s: o, s: o}, s: {s: o, s: o, s: o, s: o}, s: o}",
                  "checkpointed_size", min_max_json(values[0], n), "state_size",
                  min_max_json(values[1], n), "end_to_end_duration", min_max_json(values[2], n),
                  "checkpoint_duration", "sync", min_max_json(values[3], n), "async",
                  min_max_json(values[4], n), "alignment", "buffered", min_max_json(zeroes, n),
                  "processed", min_max_json(values[7], n), "persisted", min_max_json(values[8], n),
                  "duration", min_max_json(values[5], n), "start_delay",
                  min_max_json(values[6], n)));
    json_object_set_new(o, "subtasks", subtasks);
    answer_json(c, 200, o);
}

/* ---- operations
 * ----------------------------------------------------------------------------------- */

/* Starts it, or, for a job that is unknown or has ended, keeps the failure for the poll: the
 * request is accepted all the same. */
static void start_operation(struct call *c, struct job_operation_request *req,
                            const char *trigger_id)
{
    struct err err = {0};
    char message[ERR_MSG_MAX];
    enum rc rc = RC_NOT_FOUND;

    if (trigger_id != NULL) {
        if (strlen(trigger_id) != TRIGGER_ID_LEN ||
            strspn(trigger_id, "0123456789abcdef") != TRIGGER_ID_LEN) {
            answer_error(c, 400, "\"triggerId\" must be %d lower-case hex digits", TRIGGER_ID_LEN);
            return;
        }
        snprintf(req->trigger_id, sizeof req->trigger_id, "%s", trigger_id);
    }
    if (c->job != NULL) {
        atomic_fetch_add(&c->api->unanswered_count, 1); /* its job may end before this goes on */
        rc = job_operation_start(c->job, req, &err);
        if (rc == RC_OK)
            note_started(c->api, req->trigger_id);
        atomic_fetch_sub(&c->api->unanswered_count, 1);
        if (rc == RC_OK) {
            answer_json(c, 202, json_pack("{s: s}", "request-id", req->trigger_id));
            return;
        }
        if (rc != RC_STATE) {
            answer_error(c, http_status_of(rc), "%s", err.msg);
            return;
        }
    }
    snprintf(message, sizeof message, "%s", err.msg);
    if (c->job == NULL)
        snprintf(message, sizeof message, "Could not find job (%s)", c->param[0]);
    answer_json(c, 202,
                json_pack("{s: s}", "request-id",
                          keep_operation(c->api, trigger_id, c->param[0], rc, message)));
}

void api_trigger_savepoint(struct call *c)
{
    static const char *const formats[] = {"CANONICAL", "NATIVE"};
    struct job_operation_request req = {.kind = JOB_OP_SAVEPOINT};
    const char *format, *trigger_id;
    json_t *body;

    if (!body_object(c, SAVEPOINT_BODY, &body))
        return;
    if (body_string(c, body, SAVEPOINT_BODY, "target-directory", &req.target_directory) &&
        body_bool(c, body, SAVEPOINT_BODY, "cancel-job", &req.cancel_job) &&
        body_word(c, body, SAVEPOINT_BODY, "formatType", formats, ARRAY_LEN(formats), &format) &&
        body_string(c, body, SAVEPOINT_BODY, "triggerId", &trigger_id))
        start_operation(c, &req, trigger_id);
    json_decref(body);
}

void api_trigger_stop(struct call *c)
{
    static const char *const formats[] = {"CANONICAL", "NATIVE"};
    struct job_operation_request req = {.kind = JOB_OP_STOP};
    const char *format, *trigger_id;
    json_t *body;

    if (!body_object(c, STOP_BODY, &body))
        return;
    if (body_string(c, body, STOP_BODY, "targetDirectory", &req.target_directory) &&
        body_bool(c, body, STOP_BODY, "drain", &req.drain) &&
        body_word(c, body, STOP_BODY, "formatType", formats, ARRAY_LEN(formats), &format) &&
        body_string(c, body, STOP_BODY, "triggerId", &trigger_id))
        start_operation(c, &req, trigger_id);
    json_decref(body);
}

void api_trigger_checkpoint(struct call *c)
{
    static const char *const types[] = {"CONFIGURED", "FULL", "INCREMENTAL"};
    struct job_operation_request req = {.kind = JOB_OP_CHECKPOINT};
    const char *type, *trigger_id;
    json_t *body;

    if (!body_object(c, CHECKPOINT_BODY, &body))
        return;
    if (body_word(c, body, CHECKPOINT_BODY, "checkpointType", types, ARRAY_LEN(types), &type) &&
        body_string(c, body, CHECKPOINT_BODY, "triggerId", &trigger_id)) {
        if (type != NULL && strcmp(type, "FULL") == 0)
            answer_error(c, 400,
                         "checkpointType FULL is not supported: checkpoints are incremental; take "
                         "a savepoint for "
                         "a copy that shares nothing");
        else
            start_operation(c, &req, trigger_id);
    }
    json_decref(body);
}

static void operation_status(struct call *c, bool of_checkpoint)
{
    struct job_operation op;
    const struct kept_operation *kept = find_kept(c->api, c->param[1]);
    struct err err = {0};
    json_t *result = NULL;

    if (kept != NULL && strcmp(kept->job_id, c->param[0]) == 0) {
        answer_json(
            c, 200,
            operation_json(true, failure_cause_json(
                                     "org.apache.flink.runtime.messages.FlinkJobNotFoundException",
                                     kept->message)));
        return;
    }
    if (c->job == NULL || job_operation_get(c->job, c->param[1], 0, &op, &err) != RC_OK ||
        (op.kind == JOB_OP_CHECKPOINT) != of_checkpoint) {
        answer_error(c, 404, "There is no %s operation with triggerId=%.64s for job %s.",
                     of_checkpoint ? "checkpoint" : "savepoint", c->param[1], c->param[0]);
        return;
    }
    if (op.completed)
        note_answered(c->api, c->param[1]);
    if (op.completed && op.rc != RC_OK)
        result = failure_cause_json("org.apache.flink.runtime.checkpoint.CheckpointException",
                                    op.message);
    else if (op.completed)
        result = of_checkpoint ? json_pack("{s: I}", "checkpointId", (json_int_t)op.checkpoint_id)
                               : json_pack("{s: o}", "location", path_json(op.location));
    answer_json(c, 200, operation_json(op.completed, result));
}

void api_savepoint_status(struct call *c)
{
    operation_status(c, false);
}
void api_checkpoint_status(struct call *c)
{
    operation_status(c, true);
}

void api_dispose(struct call *c)
{
    char path[FS_PATH_MAX];
    const char *uri;
    struct err err = {0};
    enum rc rc;
    json_t *body;

    if (!body_object(c, "SavepointDisposalRequest", &body))
        return;
    if (body_string(c, body, "SavepointDisposalRequest", "savepoint-path", &uri)) {
        if (uri == NULL) {
            answer_error(c, 400, "Field \"savepoint-path\" must not be omitted or be null.");
        } else {
            rc = path_from_uri(path, sizeof path, uri, &err);
            if (rc == RC_OK)
                rc = savepoint_dispose(c->api->env, path, &err);
            answer_json(
                c, 200,
                json_pack("{s: s}", "request-id", keep_operation(c->api, NULL, "", rc, err.msg)));
        }
    }
    json_decref(body);
}

void api_dispose_status(struct call *c)
{
    const struct kept_operation *kept = find_kept(c->api, c->param[0]);

    if (kept == NULL || kept->job_id[0] != '\0') {
        answer_error(c, 404, "There is no savepoint disposal operation with triggerId=%.64s.",
                     c->param[0]);
        return;
    }
    answer_json(c, 200,
                operation_json(true, kept->rc == RC_OK ? json_object()
                                                       : failure_cause_json("java.io.IOException",
                                                                            kept->message)));
}
