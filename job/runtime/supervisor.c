/* supervisor.c - see supervisor.h
 *
 * Everything happens in job_step, on the job's thread: requests and task events are taken from the
 * mailbox in order, then what is due by time is done. The coordinator's wishes (fail the job,
 * answer a request) are noted by hooks and acted on after the driver has returned. */
#include "job/runtime/supervisor_priv.h"

#include "base/scratch.h"
#include "checkpoint/layout.h"
#include "job/runtime/by_hand.h"
#include "job/runtime/restore_flink.h"

#include <stdio.h>

#define LOCK_LOOK_NS NS_PER_S /* how often it is asked whether the directory's lock is lost */

/* ---- state ------------------------------------------------------------------------------------
 */

static void set_state(struct job *job, enum job_state to)
{
#define TO(s) (1u << JOB_##s)
    static const uint32_t allowed[] = {
        [JOB_INITIALIZING] = TO(CREATED) | TO(FAILED) | TO(CANCELED) | TO(SUSPENDED),
        [JOB_CREATED] = TO(RUNNING),
        [JOB_RUNNING] = TO(FAILING) | TO(CANCELLING) | TO(FINISHED) | TO(SUSPENDED),
        [JOB_FAILING] = TO(RESTARTING) | TO(FAILED) | TO(CANCELLING) | TO(SUSPENDED),
        [JOB_CANCELLING] = TO(CANCELED),
        [JOB_RESTARTING] = TO(CREATED) | TO(FAILED) | TO(CANCELED) | TO(SUSPENDED),
        [JOB_FAILED] = 0,
        [JOB_CANCELED] = 0,
        [JOB_FINISHED] = 0,
        [JOB_SUSPENDED] = 0,
    };
#undef TO
    int64_t now = clock_wall_ms(job->env->clock);

    mutex_lock(&job->mutex);
    ASSERT(allowed[job->state] & 1u << to);
    log_line(job->env->log, LOG_INFO, "job state id=%s name=\"%s\" from=%s to=%s", job->id,
             job->graph->job_name, job_state_str(job->state), job_state_str(to));
    job->state = to;
    job->state_wall_ms[to] = now;
    if (job_state_is_final(to))
        job->end_wall_ms = now;
    cond_broadcast(&job->cond);
    mutex_unlock(&job->mutex);
}

static void note_failure(struct job *job, const char *message, const char *task)
{
    mutex_lock(&job->mutex);
    if (job->failure_count == JOB_FAILURES_MAX) {
        mem_free(job->failures[0].message);
        mem_free(job->failures[0].task_name);
        memmove(job->failures, job->failures + 1, (JOB_FAILURES_MAX - 1) * sizeof job->failures[0]);
        job->failure_count--;
    }
    job->failures[job->failure_count++] =
        (struct failure){mem_strdup(message), mem_strdup(task), clock_wall_ms(job->env->clock)};
    mutex_unlock(&job->mutex);
}

/* ---- mailbox ----------------------------------------------------------------------------------
 */

void job_post_request(struct job *job, enum job_request_kind kind, uint64_t id)
{
    struct job_request *r = mem_calloc(1, sizeof *r);

    r->kind = kind;
    r->id = id;
    mutex_lock(&job->mutex);
    if (job->last_request == NULL)
        job->first_request = r;
    else
        job->last_request->next = r;
    job->last_request = r;
    cond_broadcast(&job->cond);
    mutex_unlock(&job->mutex);
}

static void post_event(void *ctx, struct task_event *ev_take)
{
    struct job *job = ctx;

    mutex_lock(&job->mutex);
    ev_take->next = NULL;
    if (job->last_event == NULL)
        job->first_event = ev_take;
    else
        job->last_event->next = ev_take;
    job->last_event = ev_take;
    cond_broadcast(&job->cond);
    mutex_unlock(&job->mutex);
}

/* ---- the end ----------------------------------------------------------------------------------
 */

static enum job_end end_of(const struct job *job, enum job_state state)
{
    if (job->lock_lost)
        return JOB_END_SUSPENDED; /* whatever the retention */
    switch (state) {
    case JOB_FINISHED:
        return JOB_END_FINISHED;
    case JOB_CANCELED:
        return JOB_END_CANCELED;
    case JOB_SUSPENDED:
        return JOB_END_SUSPENDED;
    default:
        return JOB_END_FAILED;
    }
}

/* All tasks have ended: threads are joined, retention is carried out, locks are given back; then it
 * shows. */
static void end_job(struct job *job, enum job_state final)
{
    if (job->deployment != NULL)
        deployment_stop(job->deployment);
    driver_shutdown(job->driver, end_of(job, final));
    storage_close(job->storage);
    job->storage = NULL;
    local_copies_free(job->copies);
    job->copies = NULL;
    scratch_remove(job->env, job->copies_dir, &job->copies_lock);
    scratch_remove(job->env, job->local_dir, &job->local_lock);
    if (final == JOB_FAILED) {
        mutex_lock(&job->mutex);
        job->failure = job->failure_first;
        mutex_unlock(&job->mutex);
        log_line(job->env->log, LOG_ERROR, "job failed id=%s: %s", job->id, job->failure_first.msg);
    }
    set_state(job, final);
    job_fail_operations(job);
}

static void tear_down(struct job *job)
{
    if (job->tearing_down)
        return;
    job->tearing_down = true;
    deployment_cancel(job->deployment, job->state == JOB_CANCELLING);
}

/* ---- deploying --------------------------------------------------------------------------------
 */

static void deploy(struct job *job, const struct assignment *assignment, uint64_t checkpoint_id,
                   bool earlier_run_dead)
{
    struct deployment_config c = {
        .env = job->env,
        .config = job->config,
        .graph = job->graph,
        .job_id = job->id,
        .local_dir = job->local_dir,
        .storage = job->storage,
        .budget = &job->budget,
        .attempt = job->attempt++,
        .threaded = job->threaded,
        .assignment = assignment,
        .restored_checkpoint_id = checkpoint_id,
        .earlier_run_dead = earlier_run_dead,
        .notify = post_event,
        .notify_ctx = job,
    };
    struct deployment *old = job->deployment, *d;

    set_state(job, JOB_CREATED);
    mutex_lock(&job->mutex);
    job->deployment = NULL;
    mutex_unlock(&job->mutex);
    deployment_free(old);
    d = deployment_new(&c);
    mutex_lock(&job->mutex);
    job->deployment = d;
    mutex_unlock(&job->mutex);
    job->tearing_down = false;
    job->after_teardown = JOB_RESTARTING;
    set_state(job, JOB_RUNNING);
    driver_start(job->driver);
}

static void use_copies(struct job *job)
{
    size_t used, fetched;

    if (job->copies == NULL || !config_bool(job->config, OPT_RESTORE_FROM_LOCAL))
        return;
    local_copies_use(job->copies, job->recovered.meta, job->recovered.arena, &used, &fetched);
    log_line(job->env->log, LOG_INFO,
             "restore from local copies id=%s checkpoint_id=%llu local=%zu fetched=%zu", job->id,
             (unsigned long long)job->recovered.meta->checkpoint_id, used, fetched);
}

/* Opens a snapshot of this job from its directory, for job->assignment. */
static enum rc load_from(struct job *job, const char *dir, const struct assignment **out,
                         struct err *err)
{
    struct recovery_options options = {0};
    uint32_t key_group_count;

    RETURN_IF_ERR(recovery_open(job->env, dir, &options, &job->recovered, err));
    use_copies(job);
    RETURN_IF_ERR(restore_plan_assign(job->graph, job->recovered.meta, true, job->assign_arena,
                                      &job->assignment, &key_group_count, err));
    ASSERT(key_group_count == job->graph->key_group_count);
    *out = &job->assignment;
    return RC_OK;
}

/* A stop's savepoint that is newer than the newest checkpoint. */
static enum rc load_stop(struct job *job, uint64_t *checkpoint_id, const struct assignment **out,
                         struct err *err)
{
    RETURN_IF_ERR(load_from(job, job->stop_path, out, err));
    if (job->recovered.meta->checkpoint_id > *checkpoint_id) {
        *checkpoint_id = job->recovered.meta->checkpoint_id;
        return driver_note_stop(job->driver, *checkpoint_id, job->recovered.dir, err);
    }
    *out = NULL;
    job->stop_path[0] = '\0'; /* a checkpoint was completed after it */
    recovered_release(&job->recovered);
    return RC_OK;
}

/* The state to go back to: the newest completed checkpoint, the snapshot the job started from, or
 * nothing. *writer_dead: the run that wrote it is known to have ended. */
static enum rc load_latest(struct job *job, const struct assignment **out, uint64_t *checkpoint_id,
                           bool *writer_dead, struct err *err)
{
    char dir[FS_PATH_MAX];
    uint32_t key_group_count;
    bool is_restored;

    *out = NULL;
    *writer_dead = true; /* an earlier attempt of this job */
    recovered_release(&job->recovered);
    arena_free(job->assign_arena);
    job->assign_arena = arena_new(0);
    driver_latest(job->driver, checkpoint_id, &is_restored);
    if (job->stop_path[0] != '\0') {
        RETURN_IF_ERR(load_stop(job, checkpoint_id, out, err));
        if (*out != NULL)
            return RC_OK;
    }
    if (*checkpoint_id == 0)
        return RC_OK;
    if (is_restored) {
        *writer_dead = job->may_take_over; /* another run: it may still be there */
        *out = &job->plan.assignment;
        return RC_OK;
    }
    if (storage_job_dir(job->storage) != NULL) {
        RETURN_IF_ERR(layout_checkpoint_dir(dir, sizeof dir, storage_job_dir(job->storage),
                                            *checkpoint_id, err));
        return load_from(job, dir, out, err);
    }
    ASSERT(driver_latest_tree(job->driver) != NULL);
    RETURN_IF_ERR(restore_plan_assign(job->graph, driver_latest_tree(job->driver), true,
                                      job->assign_arena, &job->assignment, &key_group_count, err));
    *out = &job->assignment;
    return RC_OK;
}

/* ---- failing and restarting -------------------------------------------------------------------
 */

/* A restart would meet it again: wrong input or a snapshot that can't be used. `own`: the user
 * chose a strategy, which then decides over input, never over a damaged snapshot (B13). */
static bool is_final(const struct job *job, const struct task_event *ev)
{
    bool own = config_has(job->config, OPT_RESTART_STRATEGY);
    uint32_t vertex = 0, first = 0;

    while (ev->task >= first + job->graph->vertices[vertex].parallelism)
        first += job->graph->vertices[vertex++].parallelism;
    switch (ev->err.rc) {
    case RC_NOT_FOUND:
    case RC_EXISTS:
    case RC_VERSION:
        return ev->opening;
    case RC_CORRUPT:
        return ev->opening || (!own && job->graph->vertices[vertex].operators[0].is_source);
    case RC_INVALID:
    case RC_UNSUPPORTED:
    case RC_LIMIT:
        return ev->opening || !own;
    default:
        return false;
    }
}

static void start_failing(struct job *job, const struct err *err, const char *task, bool final)
{
    note_failure(job, err->msg, task);
    job->failure_first = *err;
    job->failure_final = final;
    /* Of a final one the line that it failed tells all. */
    log_line(job->env->log, final ? LOG_INFO : LOG_WARN, "job failing id=%s task=\"%s\": %s",
             job->id, task, err->msg);
    set_state(job, JOB_FAILING);
    if (driver_stop_path(job->driver) != NULL)
        snprintf(job->stop_path, sizeof job->stop_path, "%s", driver_stop_path(job->driver));
    driver_job_failing(job->driver);
    tear_down(job);
}

static void decide_restart(struct job *job)
{
    struct restart_decision decision = {0};
    int64_t now = clock_mono_ns(job->env->clock);

    if (job->failure_final) {
        snprintf(decision.reason, sizeof decision.reason, "the same would happen again");
    } else {
        restart_strategy_failed(job->restart, now / NS_PER_MS, &decision);
    }
    if (!decision.restart) {
        log_line(job->env->log, LOG_INFO, "job not restarted id=%s: %s", job->id, decision.reason);
        end_job(job, JOB_FAILED);
        return;
    }
    log_line(job->env->log, LOG_INFO, "job restarts id=%s in_ms=%lld", job->id,
             (long long)decision.delay_ms);
    job->restart_mono_ns = now + decision.delay_ms * NS_PER_MS;
    set_state(job, JOB_RESTARTING);
}

static void restart(struct job *job)
{
    const struct assignment *assignment;
    struct err err = {0};
    struct restart_decision decision = {0};
    uint64_t checkpoint_id;
    bool writer_dead;
    enum rc rc = load_latest(job, &assignment, &checkpoint_id, &writer_dead, &err);

    job->restart_mono_ns = INT64_MAX;
    if (rc == RC_OK) {
        mutex_lock(&job->mutex);
        job->restarts++;
        mutex_unlock(&job->mutex);
        /* What a savepoint newer than the checkpoint names is no leftover. */
        deploy(job, assignment, checkpoint_id,
               writer_dead && driver_newest_savepoint(job->driver) <= checkpoint_id);
        return;
    }
    err_wrap(&err, rc, "restart from checkpoint %llu", (unsigned long long)checkpoint_id);
    note_failure(job, err.msg, "");
    job->failure_first = err;
    if (rc == RC_IO) /* may pass */
        restart_strategy_failed(job->restart, clock_mono_ns(job->env->clock) / NS_PER_MS,
                                &decision);
    if (decision.restart)
        job->restart_mono_ns = clock_mono_ns(job->env->clock) + decision.delay_ms * NS_PER_MS;
    else
        end_job(job, JOB_FAILED);
}

/* Somebody else works in its directory: it must not go on, and a restart is no help. */
static void check_lock(struct job *job)
{
    struct err err = {0};

    if (job->lock_lost || storage_check_lock(job->storage, false, &err) != RC_STATE)
        return;
    job->lock_lost = true;
    switch (job->state) {
    case JOB_RUNNING:
        if (!job->tearing_down)
            start_failing(job, &err, "", true);
        break;
    case JOB_FAILING:
        note_failure(job, err.msg, "");
        job->failure_first = err;
        job->failure_final = true;
        break;
    case JOB_RESTARTING:
        note_failure(job, err.msg, "");
        job->failure_first = err;
        end_job(job, JOB_FAILED);
        break;
    default:
        break;
    }
}

/* ---- task events ------------------------------------------------------------------------------
 */

static void all_ended(struct job *job)
{
    switch (job->state) {
    case JOB_FAILING:
        if (job->after_teardown == JOB_SUSPENDED)
            end_job(job, JOB_SUSPENDED);
        else
            decide_restart(job);
        break;
    case JOB_CANCELLING:
        end_job(job, JOB_CANCELED);
        break;
    default:
        end_job(job, job->tearing_down ? job->after_teardown : JOB_FINISHED);
        break;
    }
}

static void on_task_event(struct job *job, struct task_event *ev)
{
    switch (ev->kind) {
    case TASK_EVENT_RUNNING:
        driver_task_running(job->driver, ev->task);
        break;
    case TASK_EVENT_BACKLOG:
        log_line(job->env->log, LOG_INFO, "source %s task=\"%s\"",
                 ev->backlog ? "works through a backlog" : "has worked through its backlog",
                 deployment_task_name(job->deployment, ev->task));
        driver_backlog(job->driver, ev->task, ev->backlog);
        break;
    case TASK_EVENT_END_OF_DATA:
        driver_task_end_of_data(job->driver, ev->task);
        break;
    case TASK_EVENT_ACK:
        driver_ack(job->driver, ev);
        return;
    case TASK_EVENT_DECLINED:
        driver_decline(job->driver, ev);
        break;
    case TASK_EVENT_FAILED:
        if (job->state == JOB_RUNNING && !job->tearing_down)
            start_failing(job, &ev->err, deployment_task_name(job->deployment, ev->task),
                          is_final(job, ev));
        break;
    case TASK_EVENT_ENDED:
        if (ev->state == TASK_FINISHED)
            driver_task_finished(job->driver, ev->task);
        if (deployment_ended(job->deployment, ev->task))
            all_ended(job);
        break;
    }
    task_event_free(ev);
}

/* ---- requests ---------------------------------------------------------------------------------
 */

static void on_cancel(struct job *job)
{
    switch (job->state) {
    case JOB_RUNNING:
        if (job->tearing_down)
            return; /* being suspended */
        set_state(job, JOB_CANCELLING);
        driver_cancel(job->driver);
        tear_down(job);
        break;
    case JOB_FAILING:
        set_state(job, JOB_CANCELLING);
        driver_cancel(job->driver);
        break;
    case JOB_RESTARTING:
        driver_cancel(job->driver);
        end_job(job, JOB_CANCELED);
        break;
    default:
        break;
    }
}

static void on_suspend(struct job *job)
{
    switch (job->state) {
    case JOB_RUNNING:
        job->after_teardown = JOB_SUSPENDED;
        driver_suspend(job->driver);
        tear_down(job);
        break;
    case JOB_FAILING:
        job->after_teardown = JOB_SUSPENDED;
        driver_suspend(job->driver);
        break;
    case JOB_RESTARTING:
        driver_suspend(job->driver);
        end_job(job, JOB_SUSPENDED);
        break;
    default:
        break;
    }
}

static void on_request(struct job *job, const struct job_request *r)
{
    if (job_state_is_final(job->state))
        return;
    switch (r->kind) {
    case JOB_REQUEST_CANCEL:
        on_cancel(job);
        break;
    case JOB_REQUEST_SUSPEND:
        on_suspend(job);
        break;
    case JOB_REQUEST_SUSPEND_WITH_CHECKPOINT:
        if (job->state == JOB_RUNNING && !job->tearing_down && job->suspend_operation == 0) {
            job->suspend_operation = job_add_internal_checkpoint(job);
            job_begin_operation(job, job->suspend_operation);
        } else if (job->suspend_operation == 0) {
            on_suspend(job);
        }
        break;
    case JOB_REQUEST_OPERATION:
        job_begin_operation(job, r->id);
        break;
    case JOB_REQUEST_DISCARDED:
        driver_discarded(job->driver, r->id);
        break;
    }
}

/* ---- start ------------------------------------------------------------------------------------
 */

/* Beside the checkpoints by default, so that files can be hard-linked; RocksDB itself works only on
 * local files. */
static enum rc make_local_dir(struct job *job, struct err *err)
{
    char base[FS_PATH_MAX] = "/tmp";
    const char *job_dir = storage_job_dir(job->storage);

    if (config_has(job->config, OPT_ROCKS_LOCAL_DIR)) {
        RETURN_IF_ERR(path_from_uri(base, sizeof base,
                                    config_string(job->config, OPT_ROCKS_LOCAL_DIR), err));
        if (path_is_remote(base))
            return err_set(err, RC_INVALID, "%s: %s is not a local directory",
                           option_at(OPT_ROCKS_LOCAL_DIR)->key, base);
    } else if (job_dir != NULL && !path_is_remote(job_dir))
        RETURN_IF_ERR(path_dir(base, sizeof base, job_dir, err));
    return scratch_make(job->env, base, ".varve-local-", job->id, job->local_dir, &job->local_lock,
                        err);
}

/* Second copies of the checkpoints' files, where the first are on a server. */
static enum rc keep_copies(struct job *job, struct err *err)
{
    const char *job_dir = storage_job_dir(job->storage);
    char base[FS_PATH_MAX], root[FS_PATH_MAX];

    if (!config_bool(job->config, OPT_CP_LOCAL_BACKUP) &&
        !config_bool(job->config, OPT_RESTORE_FROM_LOCAL))
        return RC_OK;
    if (job_dir == NULL || !path_is_remote(job_dir) || job->local_dir[0] == '\0') {
        log_line(job->env->log, LOG_INFO, "no local copies of checkpoints are kept id=%s: %s", job->id,
                 job_dir == NULL             ? "they are in memory"
                 : !path_is_remote(job_dir) ? "they are local already"
                                            : "the backend has no files");
        return RC_OK;
    }
    if (config_has(job->config, OPT_CP_LOCAL_BACKUP_DIRS)) {
        RETURN_IF_ERR(path_from_uri(base, sizeof base,
                                    config_string(job->config, OPT_CP_LOCAL_BACKUP_DIRS), err));
        if (path_is_remote(base) || strpbrk(base, ",;") != NULL)
            return err_set(err, RC_INVALID, "%s: \"%s\" is not one local directory",
                           option_at(OPT_CP_LOCAL_BACKUP_DIRS)->key, base);
        RETURN_IF_ERR(scratch_make(job->env, base, ".varve-copies-", job->id, job->copies_dir,
                                   &job->copies_lock, err));
    }
    RETURN_IF_ERR(path_join(root, sizeof root,
                            job->copies_dir[0] == '\0' ? job->local_dir : job->copies_dir, "copies",
                            err));
    RETURN_IF_ERR(local_copies_new(job->env, root, &job->copies, err));
    storage_keep_copies(job->storage, job->copies);
    return RC_OK;
}

static enum rc initialize(struct job *job, struct err *err)
{
    struct restore_plan *p = &job->plan;

    /* A snapshot's RocksDB files are read through a database too, whatever the backend here. */
    if (p->restored || config_enum(job->config, OPT_BACKEND_TYPE) == BACKEND_TYPE_ROCKSDB)
        RETURN_IF_ERR(make_local_dir(job, err));
    RETURN_IF_ERR(keep_copies(job, err));
    if (!p->restored)
        return RC_OK;
    RETURN_IF_ERR(storage_restore(job->storage, p->recovered.meta, p->recovered.dir,
                                  p->claim_mode == CLAIM_CLAIM, p->recovered.arena, err));
    if (storage_job_dir(job->storage) != NULL) /* its files are the job's own now */
        restore_flink_forget(p);
    driver_restored(job->driver, p->recovered.meta, p->recovered.dir, p->claim_mode == CLAIM_CLAIM);
    return RC_OK;
}

static void start(struct job *job)
{
    struct restore_plan *p = &job->plan;
    struct err err = {0};

    job->initialized = true;
    if (initialize(job, &err) != RC_OK) {
        note_failure(job, err.msg, "");
        job->failure_first = err;
        end_job(job, JOB_FAILED);
        return;
    }
    deploy(job, p->restored ? &p->assignment : NULL,
           p->restored ? p->recovered.meta->checkpoint_id : 0, job->may_take_over);
}

/* ---- the step ---------------------------------------------------------------------------------
 */

static void take_mail(struct job *job)
{
    struct task_event *ev, *next_ev;
    struct job_request *r, *next_r;

    mutex_lock(&job->mutex);
    ev = job->first_event;
    r = job->first_request;
    job->first_event = job->last_event = NULL;
    job->first_request = job->last_request = NULL;
    mutex_unlock(&job->mutex);
    for (; r != NULL; r = next_r) {
        next_r = r->next;
        on_request(job, r);
        mem_free(r);
    }
    for (; ev != NULL; ev = next_ev) {
        next_ev = ev->next;
        if (job_state_is_final(job->state))
            task_event_free(ev);
        else
            on_task_event(job, ev);
    }
}

bool job_step(struct job *job, int64_t *next_mono_ns)
{
    int64_t now = clock_mono_ns(job->env->clock), due_ms;

    *next_mono_ns = INT64_MAX;
    if (job_state_is_final(job->state))
        return true;
    if (!job->initialized)
        start(job);
    if (!job_state_is_final(job->state))
        check_lock(job);
    if (!job_state_is_final(job->state))
        take_mail(job);
    if (!job_state_is_final(job->state))
        check_lock(job); /* it may have been found out by what was just done */
    if (job->fail_asked && job->state == JOB_RUNNING && !job->tearing_down) {
        struct err err = {0};

        err_set(&err, RC_IO, "%s", job->fail_message);
        start_failing(job, &err, "", false);
    }
    job->fail_asked = false;
    if (job->state == JOB_RESTARTING && now >= job->restart_mono_ns)
        restart(job);
    if (job_state_is_final(job->state))
        return true;
    due_ms = driver_next_mono_ms(job->driver);
    if (due_ms != INT64_MAX && now / NS_PER_MS >= due_ms) {
        driver_tick(job->driver);
        due_ms = driver_next_mono_ms(job->driver);
    }
    if (due_ms != INT64_MAX)
        *next_mono_ns = due_ms * NS_PER_MS;
    if (job->state == JOB_RESTARTING && job->restart_mono_ns < *next_mono_ns)
        *next_mono_ns = job->restart_mono_ns;
    if (storage_lock_can_be_lost(job->storage) && now + LOCK_LOOK_NS < *next_mono_ns)
        *next_mono_ns = now + LOCK_LOOK_NS;
    return false;
}

void job_main(void *arg)
{
    struct job *job = arg;
    int64_t next;

    while (!job_step(job, &next)) {
        mutex_lock(&job->mutex);
        if (job->first_event == NULL && job->first_request == NULL && !job->fail_asked) {
            int64_t left = next == INT64_MAX ? -1 : next - clock_mono_ns(job->env->clock);

            if (left != 0 && (left > 0 || next == INT64_MAX))
                cond_wait_ns(&job->cond, &job->mutex, left);
        }
        mutex_unlock(&job->mutex);
    }
}
