/* varve.c - see varve.h */
#include "job/varve.h"

#include "base/api_error.h"
#include "base/thread.h"
#include "job/remote_fs.h"
#include "job/sql/parser.h"
#include "job/sql/session.h"

#include <stdio.h>
#include <unistd.h>

#define SUSPEND_TURN_MS 1000

struct vv_job {
    struct vv_session *session;
    struct job *job; /* held */
    vv_job *next;
};
struct vv_session {
    struct env env;
    struct remote_fs *remote;
    struct dispatcher *dispatcher;
    struct session *session;
    struct config *config;
    char newest[JOB_ID_LEN + 1]; /* "" : none */
    struct mutex mutex;
    vv_job *jobs GUARDED_BY(mutex);
};

/* ---- sessions
 * -------------------------------------------------------------------------------------- */

vv_session *vv_session_new(const vv_option *options, size_t count, vv_error *error)
{
    struct config *config = config_new();
    struct err err = {0};
    enum rc rc = RC_OK;
    vv_session *s;

    for (size_t i = 0; i < count && rc == RC_OK; i++)
        rc = config_set(config, CONFIG_COMMAND_LINE, options[i].key, options[i].value, &err);
    api_answer(rc, &err, error);
    if (rc != RC_OK) {
        config_free(config);
        return NULL;
    }
    s = mem_calloc(1, sizeof *s);
    s->env = (struct env){.fs = fs_posix(), .clock = clock_posix()};
    s->remote = remote_fs_new(&s->env);
    remote_fs_configure(s->remote, config);
    s->env.log = log_new(STDERR_FILENO, LOG_WARN, s->env.clock);
    s->config = config;
    mutex_init(&s->mutex);
    s->dispatcher = dispatcher_new(&s->env);
    s->session = session_new(&s->env, s->dispatcher, config, &(struct session_options){0});
    return s;
}

static void suspend_jobs(struct dispatcher *d)
{
    struct job **jobs = mem_calloc(DISPATCHER_JOBS_MAX, sizeof(struct job *));
    size_t n = dispatcher_list(d, jobs, DISPATCHER_JOBS_MAX);

    for (size_t i = 0; i < n; i++)
        if (!job_state_is_final(job_state(jobs[i])))
            job_suspend(jobs[i], config_bool(job_config(jobs[i]), OPT_CP_ON_SUSPEND));
    for (size_t i = 0; i < n; i++) {
        while (!job_wait(jobs[i], SUSPEND_TURN_MS))
            ;
        dispatcher_release(d, jobs[i]);
    }
    mem_free(jobs);
}

void vv_session_free(vv_session *s)
{
    if (s == NULL)
        return;
    suspend_jobs(s->dispatcher);
    while (s->jobs != NULL)
        vv_job_free(s->jobs);
    session_free(s->session);
    dispatcher_free(s->dispatcher);
    config_free(s->config);
    remote_fs_free(s->remote);
    log_free(s->env.log);
    mutex_release(&s->mutex);
    mem_free(s);
}

/* ---- statements
 * ------------------------------------------------------------------------------------ */

struct row_call {
    vv_row_fn *rows;
    void *ctx;
    const struct schema *schema;
};

static enum rc on_begin(void *ctx, const struct schema *schema,
                        const struct statement_result *result, struct err *err)
{
    (void)result;
    (void)err;
    ((struct row_call *)ctx)->schema = schema;
    return RC_OK;
}

static enum rc on_rows(void *ctx, const struct batch *b, struct err *err)
{
    struct row_call *c = ctx;
    struct arena *a = arena_new(0);
    const char **names = ARENA_ARRAY(a, b->column_count + 1, const char *),
               **values = ARENA_ARRAY(a, b->column_count + 1, const char *);
    struct buf *texts = ARENA_ARRAY(a, b->column_count + 1, struct buf);
    enum rc rc = RC_OK;

    for (uint32_t i = 0; i < b->column_count; i++)
        names[i] = c->schema->fields[i].name;
    for (uint32_t r = 0; r < b->rows && rc == RC_OK && c->rows != NULL; r++) {
        for (uint32_t i = 0; i < b->column_count; i++) {
            bool null = b->columns[i].type.kind == TYPE_NULL || !column_present(&b->columns[i], r);

            buf_clear(&texts[i]);
            if (!null)
                column_print(&b->columns[i], r, &texts[i]);
            values[i] = null ? NULL : buf_cstr(&texts[i]);
        }
        if (c->rows(c->ctx, row_kind_str(batch_kind(b, r)), b->column_count, names, values) != 0)
            rc = err_set(err, RC_CANCELLED, "the caller takes no more rows");
    }
    for (uint32_t i = 0; i < b->column_count; i++)
        buf_release(&texts[i]);
    arena_free(a);
    return rc;
}

vv_code vv_execute(vv_session *s, const char *sql, vv_row_fn *rows, void *ctx, vv_error *error)
{
    struct row_call call = {.rows = rows, .ctx = ctx};
    struct result_handler handler = {.ctx = &call, .begin = on_begin, .rows = on_rows};
    struct arena *a = arena_new(0);
    struct ast_script script = {0};
    struct err err = {0};
    enum rc rc = sql_parse_script(a, bytes_of_str(sql), &script, &err);

    for (uint32_t i = 0; i < script.count && rc == RC_OK; i++) {
        struct statement_result result = {0};

        rc = session_execute(s->session, script.statements[i], &handler, &result, &err);
        if (rc == RC_OK && result.kind == RESULT_JOB)
            memcpy(s->newest, result.job_id, sizeof s->newest);
        if (rc == RC_OK && (result.kind == RESULT_EXIT || result.kind == RESULT_HELP))
            rc = err_set(&err, RC_INVALID, "%s is for an interactive client",
                         script.statements[i]->text);
    }
    arena_free(a);
    return api_answer(rc, &err, error);
}

/* ---- jobs
 * ------------------------------------------------------------------------------------------ */

vv_job *vv_job_find(vv_session *s, const char *id)
{
    struct job *job = dispatcher_find(s->dispatcher, id);
    vv_job *j;

    if (job == NULL)
        return NULL;
    j = mem_calloc(1, sizeof *j);
    j->session = s;
    j->job = job;
    mutex_lock(&s->mutex);
    j->next = s->jobs;
    s->jobs = j;
    mutex_unlock(&s->mutex);
    return j;
}

vv_job *vv_job_newest(vv_session *s)
{
    return s->newest[0] == '\0' ? NULL : vv_job_find(s, s->newest);
}

void vv_job_free(vv_job *j)
{
    vv_session *s;

    if (j == NULL)
        return;
    s = j->session;
    mutex_lock(&s->mutex);
    for (vv_job **at = &s->jobs; *at != NULL; at = &(*at)->next) {
        if (*at == j) {
            *at = j->next;
            break;
        }
    }
    mutex_unlock(&s->mutex);
    dispatcher_release(s->dispatcher, j->job);
    mem_free(j);
}

const char *vv_job_id(const vv_job *j)
{
    return job_id(j->job);
}
const char *vv_job_name(const vv_job *j)
{
    return job_name(j->job);
}
const char *vv_job_state(vv_job *j)
{
    return job_state_str(job_state(j->job));
}
void vv_job_cancel(vv_job *j)
{
    job_cancel(j->job);
}
void vv_job_suspend(vv_job *j)
{
    job_suspend(j->job, config_bool(job_config(j->job), OPT_CP_ON_SUSPEND));
}

vv_code vv_job_wait(vv_job *j, int64_t timeout_ms, vv_error *error)
{
    struct err err = {0}, failure = {0};
    enum rc rc = RC_OK;

    if (!job_wait(j->job, timeout_ms)) {
        rc = err_set(&err, RC_TIMEOUT, "job %s is %s after %lld ms", job_id(j->job),
                     vv_job_state(j), (long long)timeout_ms);
    } else if (job_state(j->job) == JOB_FAILED) {
        job_failure(j->job, &failure);
        rc = err_set(&err, failure.rc == RC_OK ? RC_STATE : failure.rc, "%s", failure.msg);
    } else if (job_state(j->job) == JOB_CANCELED) {
        rc = err_set(&err, RC_CANCELLED, "job %s was cancelled", job_id(j->job));
    }
    return api_answer(rc, &err, error);
}

static vv_code operate(vv_job *j, struct job_operation_request *req, char *path, size_t cap,
                       vv_error *error)
{
    struct job_operation done = {0};
    struct err err = {0};
    enum rc rc = job_operation_start(j->job, req, &err);

    while (rc == RC_OK && !done.completed)
        rc = job_operation_get(j->job, req->trigger_id, SUSPEND_TURN_MS, &done, &err);
    if (rc == RC_OK && done.rc != RC_OK)
        rc = err_set(&err, done.rc, "%s", done.message);
    if (rc == RC_OK && path != NULL && (size_t)snprintf(path, cap, "%s", done.location) >= cap)
        rc = err_set(&err, RC_LIMIT, "the savepoint's path is longer than %zu bytes: %s", cap,
                     done.location);
    return api_answer(rc, &err, error);
}

vv_code vv_job_savepoint(vv_job *j, const char *directory, char *path, size_t cap, vv_error *error)
{
    struct job_operation_request req = {.kind = JOB_OP_SAVEPOINT, .target_directory = directory};

    return operate(j, &req, path, cap, error);
}

vv_code vv_job_stop(vv_job *j, const char *directory, int drain, char *path, size_t cap,
                    vv_error *error)
{
    struct job_operation_request req = {
        .kind = JOB_OP_STOP, .target_directory = directory, .drain = drain != 0};

    return operate(j, &req, path, cap, error);
}
