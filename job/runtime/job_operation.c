/* job_operation.c - savepoints, stops and checkpoints on request: from a trigger id to an answer.
 * See supervisor.h */
#include "job/runtime/supervisor_priv.h"

#include <stdio.h>

static struct operation *find_locked(struct job *job, const char *trigger_id)
{
    for (struct operation *o = job->operations; o != NULL; o = o->next) {
        if (strcmp(o->trigger_id, trigger_id) == 0 && !o->internal)
            return o;
    }
    return NULL;
}

static struct operation *find_number_locked(struct job *job, uint64_t number)
{
    for (struct operation *o = job->operations; o != NULL; o = o->next) {
        if (o->number == number)
            return o;
    }
    return NULL;
}

static void operation_free(struct operation *o)
{
    mem_free(o->target_directory);
    mem_free(o);
}

/* Room for one more: the oldest completed one goes. false: all are under way. */
static bool make_room_locked(struct job *job)
{
    struct operation **oldest = NULL;

    if (job->operation_count < JOB_OPERATIONS_MAX)
        return true;
    for (struct operation **at = &job->operations; *at != NULL; at = &(*at)->next) {
        if ((*at)->result.completed)
            oldest = at;
    }
    if (oldest == NULL)
        return false;
    struct operation *gone = *oldest;

    *oldest = gone->next;
    operation_free(gone);
    job->operation_count--;
    return true;
}

static struct operation *add_locked(struct job *job, enum job_operation_kind kind)
{
    struct operation *o = mem_calloc(1, sizeof *o);

    o->number = ++job->last_operation;
    o->result.kind = kind;
    o->next = job->operations;
    job->operations = o;
    job->operation_count++;
    return o;
}

static enum rc target_of(struct job *job, const struct job_operation_request *req, char *out,
                         size_t cap, struct err *err)
{
    const char *dir = req->target_directory;
    char path[FS_PATH_MAX];

    out[0] = '\0';
    if (req->kind == JOB_OP_CHECKPOINT)
        return RC_OK;
    if (dir == NULL && config_has(job->config, OPT_SAVEPOINT_DIR))
        dir = config_string(job->config, OPT_SAVEPOINT_DIR);
    if (dir == NULL || dir[0] == '\0')
        return err_set(err, RC_INVALID,
                       "no directory for the savepoint: none is given and "
                       "execution.checkpointing.savepoint-dir is not set");
    RETURN_IF_ERR(path_from_uri(path, sizeof path, dir, err));
    return path_absolute(out, cap, path, err);
}

enum rc job_operation_start(struct job *job, struct job_operation_request *req, struct err *err)
{
    char target[FS_PATH_MAX];
    struct operation *o;
    enum rc rc = RC_OK;
    uint64_t number = 0;

    RETURN_IF_ERR(target_of(job, req, target, sizeof target, err));
    mutex_lock(&job->mutex);
    if (req->trigger_id[0] != '\0' && find_locked(job, req->trigger_id) != NULL)
        goto out;
    if (job_state_is_final(job->state)) {
        rc = err_set(err, RC_STATE, "job %s has ended: %s", job->id, job_state_str(job->state));
        goto out;
    }
    if (!make_room_locked(job)) {
        rc = err_set(err, RC_LIMIT, "job %s: %d operations are under way", job->id,
                     JOB_OPERATIONS_MAX);
        goto out;
    }
    o = add_locked(job, req->kind);
    if (req->trigger_id[0] == '\0')
        rng_hex(&job->rng, req->trigger_id, TRIGGER_ID_LEN);
    memcpy(o->trigger_id, req->trigger_id, sizeof o->trigger_id);
    o->target_directory = target[0] == '\0' ? NULL : mem_strdup(target);
    o->drain = req->drain;
    o->cancel_job = req->cancel_job;
    number = o->number;
out:
    mutex_unlock(&job->mutex);
    if (number != 0)
        job_post_request(job, JOB_REQUEST_OPERATION, number);
    return rc;
}

uint64_t job_add_internal_checkpoint(struct job *job)
{
    struct operation *o;

    mutex_lock(&job->mutex);
    o = add_locked(job, JOB_OP_CHECKPOINT);
    o->internal = true;
    mutex_unlock(&job->mutex);
    return o->number;
}

void job_begin_operation(struct job *job, uint64_t number)
{
    enum request_kind kind = REQUEST_CHECKPOINT;
    struct operation *o;

    mutex_lock(&job->mutex);
    o = find_number_locked(job, number); /* stays: it is not completed */
    mutex_unlock(&job->mutex);
    if (o == NULL)
        return;
    if (o->result.kind == JOB_OP_SAVEPOINT)
        kind = REQUEST_SAVEPOINT;
    else if (o->result.kind == JOB_OP_STOP)
        kind = o->drain ? REQUEST_STOP_DRAIN : REQUEST_STOP;
    driver_request(job->driver, number, kind, o->target_directory);
}

void job_answer_operation(struct job *job, uint64_t number, enum rc rc, uint64_t checkpoint_id,
                          const char *path, const char *message)
{
    struct operation *o;
    bool cancel = false;

    mutex_lock(&job->mutex);
    o = find_number_locked(job, number);
    if (o != NULL && !o->result.completed) {
        o->result.completed = true;
        o->result.rc = rc;
        o->result.checkpoint_id = checkpoint_id;
        if (path != NULL)
            snprintf(o->result.location, sizeof o->result.location, "%s", path);
        if (rc != RC_OK)
            snprintf(o->result.message, sizeof o->result.message, "%s",
                     message == NULL ? rc_name(rc) : message);
        cancel = rc == RC_OK && o->cancel_job;
        cond_broadcast(&job->cond);
    }
    mutex_unlock(&job->mutex);
    if (cancel)
        job_post_request(job, JOB_REQUEST_CANCEL, 0);
}

void job_fail_operations(struct job *job)
{
    mutex_lock(&job->mutex);
    for (struct operation *o = job->operations; o != NULL; o = o->next) {
        if (o->result.completed)
            continue;
        o->result.completed = true;
        o->result.rc = RC_STATE;
        snprintf(o->result.message, sizeof o->result.message, "the job has ended: %s",
                 job_state_str(job->state));
    }
    cond_broadcast(&job->cond);
    mutex_unlock(&job->mutex);
}

void job_free_operations(struct job *job)
{
    while (job->operations != NULL) {
        struct operation *o = job->operations;

        job->operations = o->next;
        operation_free(o);
    }
}

enum rc job_operation_get(struct job *job, const char *trigger_id, int64_t wait_ms,
                          struct job_operation *out, struct err *err)
{
    int64_t until = clock_mono_ns(job->env->clock) + wait_ms * NS_PER_MS;
    struct operation *o;
    enum rc rc = RC_OK;

    mutex_lock(&job->mutex);
    for (;;) {
        int64_t left = until - clock_mono_ns(job->env->clock);

        o = find_locked(job, trigger_id);
        if (o == NULL || o->result.completed || wait_ms == 0 || left <= 0)
            break;
        cond_wait_ns(&job->cond, &job->mutex, left);
    }
    if (o == NULL)
        rc = err_set(err, RC_NOT_FOUND, "job %s has no operation %s", job->id, trigger_id);
    else
        *out = o->result;
    mutex_unlock(&job->mutex);
    return rc;
}
