/* job_make.c - a job before it starts and after it ended: checks, storage, the driver and its
 * hooks, memory. See supervisor.h */
#include "job/runtime/by_hand.h"
#include "job/runtime/supervisor_priv.h"

#include <stdio.h>
#include <unistd.h>

/* ---- the driver's hooks -----------------------------------------------------------------------
 */

static void hook_post(void *ctx, uint32_t task, const struct task_message *m)
{
    struct job *job = ctx;

    if (job->deployment != NULL)
        deployment_post(job->deployment, task, m);
    else if (m->kind == TASK_TRIGGER)
        m->release(m->target);
}

static const char *hook_task_name(void *ctx, uint32_t task)
{
    return deployment_task_name(((struct job *)ctx)->deployment, task);
}

static void hook_fail_job(void *ctx, const char *message)
{
    struct job *job = ctx;

    if (!job->fail_asked)
        snprintf(job->fail_message, sizeof job->fail_message, "%s", message);
    job->fail_asked = true;
}

static void hook_answer(void *ctx, uint64_t request_id, enum rc rc, uint64_t checkpoint_id,
                        const char *path, const char *message)
{
    struct job *job = ctx;

    job_answer_operation(job, request_id, rc, checkpoint_id, path, message);
    if (request_id == job->suspend_operation) {
        if (rc != RC_OK)
            log_line(job->env->log, LOG_WARN,
                     "job %s: the checkpoint before the suspend failed: %s", job->id,
                     message == NULL ? rc_name(rc) : message);
        job_post_request(job, JOB_REQUEST_SUSPEND, 0);
    }
}

static void hook_discarded(void *ctx, uint64_t checkpoint_id)
{
    job_post_request(ctx, JOB_REQUEST_DISCARDED, checkpoint_id);
}

/* ---- life -------------------------------------------------------------------------------------
 */

enum rc job_checkpoint_dir(const struct config *c, char out[FS_PATH_MAX], struct err *err)
{
    char path[FS_PATH_MAX];
    bool in_memory =
        config_has(c, OPT_CP_STORAGE) && config_enum(c, OPT_CP_STORAGE) == STORAGE_JOBMANAGER;

    out[0] = '\0';
    if (in_memory)
        return RC_OK;
    if (!config_has(c, OPT_CP_DIR)) {
        if (config_has(c, OPT_CP_STORAGE))
            return err_set(err, RC_INVALID,
                           "execution.checkpointing.storage is filesystem, but "
                           "execution.checkpointing.dir is not set");
        return RC_OK;
    }
    RETURN_IF_ERR(path_from_uri(path, sizeof path, config_string(c, OPT_CP_DIR), err));
    return path_absolute(out, FS_PATH_MAX, path, err);
}

enum rc job_check_operators(const struct graph *g, const char *dir, bool ask, struct err *err)
{
    for (uint32_t v = 0; v < g->vertex_count; v++) {
        for (uint32_t o = 0; o < g->vertices[v].operator_count; o++) {
            const struct operator_spec *spec = &g->vertices[v].operators[o];

            if (spec->check_start != NULL)
                RETURN_IF_ERR(spec->check_start(spec->spec, dir, ask, err));
        }
    }
    return RC_OK;
}

/* A claimed snapshot is deleted once a checkpoint of this job takes its place: one on disk. */
enum rc job_check_claim(const struct restore_plan *p, const char *dir, struct err *err)
{
    if (!p->restored || p->claim_mode != CLAIM_CLAIM || dir[0] != '\0')
        return RC_OK;
    return err_set(err, RC_INVALID,
                   "%s cannot be claimed: checkpoints of this job stay in memory and cannot take "
                   "its place; set execution.checkpointing.dir, or "
                   "execution.state-recovery.claim-mode to NO_CLAIM",
                   p->recovered.dir);
}

static enum rc open_storage(struct job *job, struct err *err)
{
    char dir[FS_PATH_MAX], holder[256], since[WALL_TEXT_MAX];
    struct storage_config c = {
        .env = job->env,
        .job_id = job->id,
        .holder = holder,
        .inline_threshold_bytes = config_bytes(job->config, OPT_CP_INLINE_THRESHOLD),
        .write_buffer_bytes = (uint64_t)config_int(job->config, OPT_CP_WRITE_BUFFER),
        .memory_state_limit_bytes = config_bytes(job->config, OPT_CP_JM_MAX_STATE),
        .deletes_one_by_one = !config_bool(job->config, OPT_CP_CLEANER_PARALLEL),
    };

    RETURN_IF_ERR(job_checkpoint_dir(job->config, dir, err));
    RETURN_IF_ERR(job_check_claim(&job->plan, dir, err));
    c.dir = dir[0] == '\0' ? NULL : dir;
    snprintf(holder, sizeof holder, "pid %ld, job %.150s, since %s", (long)getpid(),
             job->graph->job_name, wall_text(job->start_wall_ms, since));
    return storage_open(&c, &job->storage, err);
}

/* Says in the directories which run this is and from which it goes on, before anything is read or
 * written outside the snapshot. Only runs that are dead are gone on from: from a live one it is a
 * fork. */
static enum rc note_origin(struct job *job, const struct job_restore *restore, struct err *err)
{
    const char *own_dir = storage_job_dir(job->storage);
    const struct recovered *from = &job->plan.recovered;
    char fingerprint[OPERATOR_ID_LEN + 1], root[FS_PATH_MAX];
    struct run_origin *o = &job->origin;
    const char *parent = NULL;

    graph_fingerprint(job->graph, restore == NULL ? 0 : restore->occurrence, fingerprint);
    *o = (struct run_origin){.job_id = job->id,
                             .job_name = job->graph->job_name,
                             .fingerprint = arena_strdup(job->origin_arena, fingerprint),
                             .started_wall_ms = job->start_wall_ms,
                             .from = job->plan.restored ? from->dir : ""};
    RETURN_IF_ERR(job_checkpoint_dir(job->config, root, err));
    if (job->plan.restored && !job->plan.from_flink)
        RETURN_IF_ERR(lineage_ancestors(job->env, from->dir, from->meta->job_id,
                                        root[0] == '\0' ? NULL : root, job->origin_arena, o, &parent,
                                        err));
    RETURN_IF_ERR(lineage_add_begun(job->env->fs, own_dir, job->origin_arena, o, err));
    if (own_dir != NULL)
        RETURN_IF_ERR(origin_write(job->env->fs, own_dir, o, err));
    job->may_take_over =
        parent != NULL && !checkpoint_kind_is_savepoint(from->meta->kind) &&
        lineage_may_take_over(job->env, parent, from->meta->checkpoint_id, own_dir);
    return RC_OK;
}

static void describe_start(struct job *job)
{
    const struct checkpoint_metadata *m = job->plan.recovered.meta;
    struct buf text = {0}, fits = {0};

    if (!job->plan.restored) {
        job->start_text = "from nothing";
        return;
    }
    if (job->plan.from_flink) {
        buf_printf(&text, "from %s (checkpoint %llu, in Flink's form)", job->plan.recovered.dir,
                   (unsigned long long)m->checkpoint_id);
        buf_append_str(&text, job->plan.import_dropped_count > 0 ? "; " : "");
        restore_plan_print_import_dropped(&job->plan, &text);
    } else {
        buf_printf(&text, "from %s (%s %llu of job \"%s\", %s)", job->plan.recovered.dir,
                   checkpoint_kind_is_savepoint(m->kind) ? "savepoint" : "checkpoint",
                   (unsigned long long)m->checkpoint_id, m->job_name, m->job_id);
    }
    if (!job->plan.from_flink && m->sql != NULL && job->graph->sql != NULL && strcmp(m->sql, job->graph->sql) != 0)
        buf_append_str(&text, "; its statements differ from these");
    if (m->kind == CHECKPOINT_TERMINATE)
        buf_append_str(&text, "; it was stopped with --drain: its windows were closed, and rows of "
                              "theirs that come now are late");
    restore_plan_print_fits(&job->plan, job->graph, &fits);
    if (fits.len > 0)
        buf_printf(&text, "\n%.*s", (int)fits.len - 1, buf_cstr(&fits));
    buf_release(&fits);
    job->start_text = arena_strdup(job->origin_arena, buf_cstr(&text));
    buf_release(&text);
}

const char *job_start_text(const struct job *job)
{
    return job->start_text;
}

static void make_driver(struct job *job)
{
    struct driver_config c = {
        .env = job->env,
        .config = job->config,
        .graph = job->graph,
        .job_id = job->id,
        .origin = &job->origin,
        .storage = job->storage,
        .rocksdb_version = config_enum(job->config, OPT_BACKEND_TYPE) == BACKEND_TYPE_ROCKSDB
                               ? keyed_backend_rocksdb_version()
                               : "",
        .first_id = storage_newest_seen_id(job->storage) + 1,
        .threaded = job->threaded,
        .hooks = {job, hook_post, hook_task_name, hook_fail_job, hook_answer, hook_discarded},
    };

    if (job->plan.restored) {
        uint64_t seen = job->plan.recovered.newest_seen_id;

        if (job->plan.recovered.meta->checkpoint_id > seen)
            seen = job->plan.recovered.meta->checkpoint_id;
        if (c.first_id <= seen)
            c.first_id = seen + 1; /* C9 */
    }
    job->driver = driver_new(&c);
}

static struct job *job_alloc(const struct env *env, const struct config *config, bool threaded)
{
    struct job *job = mem_calloc(1, sizeof *job);
    struct restart_config rc;
    struct rng rng;
    char purpose[64];

    job->own_env = *env;
    job->own_env.fan =
        threaded ? fan_out_new((uint32_t)config_int(config, OPT_SNAPSHOT_THREADS)) : NULL;
    job->env = env = &job->own_env;
    job->origin_arena = arena_new(0);
    job->config = config_copy(config);
    job->threaded = threaded;
    job->start_wall_ms = clock_wall_ms(env->clock);
    job->end_wall_ms = -1;
    job->state_wall_ms[JOB_INITIALIZING] = job->start_wall_ms;
    job->restart_mono_ns = INT64_MAX;
    mutex_init(&job->mutex);
    cond_init(&job->cond);
    snprintf(purpose, sizeof purpose, "job %lld", (long long)clock_mono_ns(env->clock));
    env_rng(env, purpose, &job->rng);
    rng_hex(&job->rng, job->id, JOB_ID_LEN);
    config_restart(job->config, &rc);
    env_rng(env, "restart jitter", &rng);
    job->restart = restart_strategy_new(&rc, rng);
    return job;
}

static void job_release(struct job *job)
{
    deployment_free(job->deployment);
    driver_free(job->driver);
    storage_close(job->storage);
    local_copies_free(job->copies);
    restart_strategy_free(job->restart);
    restore_plan_release(&job->plan);
    recovered_release(&job->recovered);
    arena_free(job->assign_arena);
    arena_free(job->origin_arena);
    for (uint32_t i = 0; i < job->failure_count; i++) {
        mem_free(job->failures[i].message);
        mem_free(job->failures[i].task_name);
    }
    while (job->first_event != NULL) {
        struct task_event *ev = job->first_event;

        job->first_event = ev->next;
        task_event_free(ev);
    }
    while (job->first_request != NULL) {
        struct job_request *r = job->first_request;

        job->first_request = r->next;
        mem_free(r);
    }
    job_free_operations(job);
    mutex_release(&job->mutex);
    cond_release(&job->cond);
    config_free(job->config);
    graph_free(job->graph);
    fan_out_free(job->own_env.fan);
    mem_free(job);
}

static void log_each_line(const struct job *job, const char *prefix, const struct buf *text)
{
    for (size_t at = 0; at < text->len;) {
        size_t end = at;

        while (end < text->len && text->data[end] != '\n')
            end++;
        log_line(job->env->log, LOG_WARN, "%s: %.*s", prefix, (int)(end - at), text->data + at);
        at = end + 1;
    }
}

/* Said once, at the start that drops it (B25, B27). */
static void log_dropped(const struct job *job)
{
    struct buf text = {0};

    assign_print_dropped(&job->plan.assignment, &text);
    log_each_line(job, "state dropped", &text);
    buf_clear(&text);
    restore_plan_print_fits(&job->plan, job->graph, &text);
    log_each_line(job, "state changed", &text);
    buf_release(&text);
}

static enum rc make_job(const struct env *env, const struct config *config,
                        struct graph *graph_take, const struct job_restore *restore, bool threaded,
                        struct job **out, struct err *err)
{
    struct job *job = job_alloc(env, config, threaded);
    char dir[FS_PATH_MAX];
    enum rc rc;

    GOTO_IF_ERR(config_check(config, err));
    GOTO_IF_ERR(graph_check(graph_take, err));
    GOTO_IF_ERR(job_checkpoint_dir(config, dir, err));
    GOTO_IF_ERR(job_check_operators(graph_take, dir, false, err));
    GOTO_IF_ERR(restore_plan_make(job->env, job->config, graph_take, restore, &job->plan, err));
    job->graph = graph_take;
    GOTO_IF_ERR(
        state_budget_make(job->config, job->graph, fs_open_files_max(env->fs), &job->budget, err));
    GOTO_IF_ERR(open_storage(job, err));
    GOTO_IF_ERR(note_origin(job, restore, err));
    describe_start(job);
    job->graph->key_group_count = job->plan.key_group_count;
    for (size_t i = 0; i < job->plan.recovered.skip_count; i++)
        log_line(env->log, LOG_WARN, "restore passes over %s: %s",
                 job->plan.recovered.skips[i].path, job->plan.recovered.skips[i].reason);
    log_dropped(job);
    make_driver(job);
out:
    if (rc != RC_OK) {
        job->graph = NULL; /* the caller's still */
        job_release(job);
        return rc;
    }
    *out = job;
    return RC_OK;
}

enum rc job_start(const struct env *env, const struct config *config, struct graph *graph_take,
                  const struct job_restore *restore, struct job **out, struct err *err)
{
    RETURN_IF_ERR(make_job(env, config, graph_take, restore, true, out, err));
    (*out)->thread = thread_start("job", job_main, *out);
    return RC_OK;
}

enum rc job_start_by_hand(const struct env *env, const struct config *config,
                          struct graph *graph_take, const struct job_restore *restore,
                          struct job **out, struct err *err)
{
    return make_job(env, config, graph_take, restore, false, out, err);
}

struct executor *job_executor(struct job *job)
{
    return job->deployment == NULL ? NULL : deployment_executor(job->deployment);
}

void job_cancel(struct job *job)
{
    job_post_request(job, JOB_REQUEST_CANCEL, 0);
}

void job_suspend(struct job *job, bool checkpoint_first)
{
    job_post_request(
        job, checkpoint_first ? JOB_REQUEST_SUSPEND_WITH_CHECKPOINT : JOB_REQUEST_SUSPEND, 0);
}

void job_free(struct job *job)
{
    if (job == NULL)
        return;
    if (job->thread != NULL) {
        job_cancel(job);
        thread_join(job->thread);
    }
    job_release(job);
}
