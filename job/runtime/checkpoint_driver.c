/* checkpoint_driver.c - see checkpoint_driver.h
 *
 * feed() steps the coordinator and carries out its actions; what an action makes happen at once (a
 * directory made, _metadata written) goes back in as an event, until there is nothing left. The
 * coordinator is stepped under a mutex, so that its statistics can be read by any thread; actions
 * are carried out without it. */
#include "job/runtime/checkpoint_driver.h"

#include "base/thread.h"
#include "checkpoint/savepoint.h"
#include "job/runtime/driver_attempt.h"
#include "job/runtime/end_note.h"
#include "job/runtime/metadata_tree.h"

#define NOT_ADDRESSABLE                                                                            \
    "<checkpoint-not-externally-addressable>" /* Flink's word for a checkpoint in memory */

struct checkpoint_driver {
    struct driver_config config;
    uint32_t task_count;
    struct mutex mutex; /* the coordinator, while it is stepped or its statistics are read */
    struct coordinator *coordinator GUARDED_BY(mutex);
    struct coordinator_actions actions;
    struct cleaner *cleaner;
    struct attempt *attempts;  /* under way, the oldest first */
    struct attempt *completed; /* the newest completed checkpoint (not a savepoint), for its tree */
    struct checkpoint_metadata *completed_tree;
    struct arena *completed_arena;
    struct attempt *dying GUARDED_BY(mutex); /* aborted, for the cleaner to take */
    bool final_checkpoint;                   /* the end of the data waits for one */
    bool after_tasks_finish;
    bool *task_at_end, *task_gone;
    bool end_told; /* the coordinator knows that all tasks are past their data */
    bool down;     /* tasks are being torn down */
    bool replaced; /* a checkpoint was completed here */
    uint64_t newest_savepoint; /* completed here; 0: none */
    struct end_note note;
    bool ending;
    enum job_end end;
};

/* ---- feeding ----------------------------------------------------------------------------------
 */

static void perform(struct checkpoint_driver *d, const struct coordinator_action *a,
                    struct coordinator_event *follow, bool *has_follow, struct arena *arena);
static void leave_completed(struct checkpoint_driver *d);
static void end_data(struct checkpoint_driver *d);

static void feed(struct checkpoint_driver *d, struct coordinator_event first)
{
    struct coordinator_event queue[8];
    size_t count = 0, at = 0;
    struct arena *arena = arena_new(1024); /* strings of events that follow */

    queue[count++] = first;
    while (at < count) {
        struct coordinator_event *e = &queue[at++];

        e->now_mono_ms = clock_mono_ns(d->config.env->clock) / NS_PER_MS;
        e->now_wall_ms = clock_wall_ms(d->config.env->clock);
        mutex_lock(&d->mutex);
        coordinator_step(d->coordinator, e, &d->actions);
        mutex_unlock(&d->mutex);
        for (size_t i = 0; i < d->actions.count; i++) {
            struct coordinator_event follow = {0};
            bool has_follow = false;

            perform(d, &d->actions.list[i], &follow, &has_follow, arena);
            if (!has_follow)
                continue;
            if (at == count) /* all before are used up: start over */
                at = count = 0;
            ASSERT(count < ARRAY_LEN(queue));
            queue[count++] = follow;
        }
        leave_completed(d);
    }
    arena_free(arena);
    end_data(d);
}

static void feed_kind(struct checkpoint_driver *d, enum event_kind kind)
{
    feed(d, (struct coordinator_event){.kind = kind});
}

static void feed_task(struct checkpoint_driver *d, enum event_kind kind, uint32_t task)
{
    feed(d, (struct coordinator_event){.kind = kind, .task = task});
}

/* ---- attempts ---------------------------------------------------------------------------------
 */

/* After the actions that speak of a completed attempt; a periodic one stays for its tree. */
static void leave_completed(struct checkpoint_driver *d)
{
    struct attempt *a, *next;

    for (a = d->attempts; a != NULL; a = next) {
        next = a->next;
        if (!a->complete)
            continue;
        attempt_remove(&d->attempts, a);
        if (a != d->completed)
            attempt_free(a);
    }
}

static void begin(struct checkpoint_driver *d, const struct coordinator_action *act,
                  struct coordinator_event *follow, struct arena *arena)
{
    struct attempt *a = attempt_new(act->checkpoint_id, &act->barrier, d->task_count);
    struct err err = {0};
    enum rc rc;

    follow->checkpoint_id = a->id;
    rc = checkpoint_kind_is_savepoint(a->barrier.kind)
             ? savepoint_begin(d->config.storage, a->id, act->target_dir, &a->storage, &err)
             : storage_attempt_begin(d->config.storage, a->id, &a->storage, &err);
    if (rc != RC_OK) {
        attempt_free(a);
        follow->kind = EVENT_BEGIN_FAILED;
        follow->message = arena_strdup(arena, err.msg);
        return;
    }
    attempt_append(&d->attempts, a);
    follow->kind = EVENT_BEGUN;
}

/* To every task, those behind first: a task has its target before a barrier can reach it in band.
 */
static void trigger_all(struct checkpoint_driver *d, uint64_t checkpoint_id)
{
    struct attempt *a = attempt_find(d->attempts, checkpoint_id);

    if (a == NULL || a->sent)
        return;
    a->sent = true;
    for (uint32_t task = d->task_count; task-- > 0;) {
        struct task_message m = {
            .kind = TASK_TRIGGER,
            .barrier = a->barrier,
            .checkpoint_id = a->id,
            .release = storage_target_release,
        };

        if (d->task_gone[task])
            continue;
        m.target = storage_attempt_target(a->storage,
                                          d->config.hooks.task_name(d->config.hooks.ctx, task));
        d->config.hooks.post(d->config.hooks.ctx, task, &m);
    }
}

static void post_all(struct checkpoint_driver *d, enum task_message_kind kind,
                     uint64_t checkpoint_id)
{
    for (uint32_t task = 0; task < d->task_count; task++) {
        struct task_message m = {.kind = kind, .checkpoint_id = checkpoint_id};

        if (!d->task_gone[task])
            d->config.hooks.post(d->config.hooks.ctx, task, &m);
    }
}

/* ---- _metadata --------------------------------------------------------------------------------
 */

static void finalize(struct checkpoint_driver *d, uint64_t checkpoint_id,
                     struct coordinator_event *follow, struct arena *arena)
{
    struct attempt *a = attempt_find(d->attempts, checkpoint_id);
    struct arena *tree_arena = arena_new(0);
    struct metadata_tree_job job = {.graph = d->config.graph,
                                    .config = d->config.config,
                                    .job_id = d->config.job_id,
                                    .rocksdb_version = d->config.rocksdb_version};
    struct checkpoint_metadata *m =
        metadata_tree_build(&job, a, clock_wall_ms(d->config.env->clock), tree_arena);
    struct err err = {0};
    const char *dir;

    leave_completed(d); /* the one before it, of the same step */
    follow->checkpoint_id = checkpoint_id;
    if (storage_attempt_complete(a->storage, m, &err) != RC_OK) {
        arena_free(tree_arena);
        follow->kind = EVENT_FINALIZE_FAILED;
        follow->message = arena_strdup(arena, err.msg);
        return;
    }
    dir = storage_attempt_dir(a->storage);
    follow->kind = EVENT_FINALIZED;
    follow->path = arena_strdup(arena, dir[0] == '\0' ? NOT_ADDRESSABLE : dir);
    if (checkpoint_kind_is_savepoint(a->barrier.kind) && checkpoint_id > d->newest_savepoint)
        d->newest_savepoint = checkpoint_id;
    if (a->barrier.kind != CHECKPOINT_PERIODIC) {
        arena_free(tree_arena);
        return;
    }
    d->replaced = true;
    attempt_free(d->completed); /* the tree names strings of its attempt's acks */
    arena_free(d->completed_arena);
    d->completed = a;
    d->completed_tree = m;
    d->completed_arena = tree_arena;
}

/* ---- the end ----------------------------------------------------------------------------------
 */

static bool all_at_end(const struct checkpoint_driver *d)
{
    for (uint32_t i = 0; i < d->task_count; i++) {
        if (!d->task_at_end[i])
            return false;
    }
    return true;
}

static void log_trouble(struct checkpoint_driver *d, const char *what, uint64_t id,
                        const struct err *err)
{
    log_line(d->config.env->log, LOG_WARN, "%s checkpoint_id=%llu job=%s: %s", what,
             (unsigned long long)id, d->config.job_id, err->msg);
}

enum rc driver_note_stop(struct checkpoint_driver *d, uint64_t savepoint_id, const char *dir,
                         struct err *err)
{
    return end_note_stop(&d->note, savepoint_id, dir, err);
}

/* Without the note nobody is told of the savepoint; the job fails, and notes it before it goes on
 * from there. */
static bool note_stop(struct checkpoint_driver *d, const struct attempt *a)
{
    struct err err = {0};

    if (driver_note_stop(d, a->id, storage_attempt_dir(a->storage), &err) == RC_OK)
        return true;
    log_trouble(d, "stop not noted", a->id, &err);
    d->config.hooks.fail_job(d->config.hooks.ctx, err.msg);
    return false;
}

/* False: it could not be written, and its checkpoints stay. */
static bool note_end(struct checkpoint_driver *d, enum job_end end)
{
    const struct completed_checkpoint *latest = coordinator_latest(d->coordinator);
    enum checkpoint_retention retention =
        (enum checkpoint_retention)config_enum(d->config.config, OPT_CP_RETENTION);
    struct err err = {0};

    if (end_note_job(&d->note, end, latest, retention, driver_stop_path(d) != NULL, &err) == RC_OK)
        return true;
    log_trouble(d, "end not noted, its checkpoints are kept", latest == NULL ? 0 : latest->id,
                &err);
    return false;
}

static void forget_end(struct checkpoint_driver *d)
{
    struct err err = {0};

    if (end_note_forget(&d->note, &err) != RC_OK)
        log_trouble(d, "note of an earlier stop not deleted", 0, &err);
}

static void notify_complete(struct checkpoint_driver *d, uint64_t checkpoint_id)
{
    const struct attempt *a = attempt_find(d->attempts, checkpoint_id);

    if (a != NULL && checkpoint_kind_is_sync(a->barrier.kind) && !note_stop(d, a))
        return;
    post_all(d, TASK_COMPLETE, checkpoint_id);
    if (a != NULL && a->barrier.kind == CHECKPOINT_PERIODIC && d->final_checkpoint &&
        attempt_acked_past_the_data(a)) {
        d->end_told = true; /* it was the final one: none more is planned */
        post_all(d, TASK_FINISH, 0);
    }
}

/* All tasks are past their data and no attempt is under way (it might be the final one already, or
 * a stop). With checkpoints the coordinator is told, and plans the final one; without, the tasks
 * end. */
static void end_data(struct checkpoint_driver *d)
{
    if (d->end_told || d->down || d->attempts != NULL || !all_at_end(d))
        return;
    d->end_told = true;
    if (!d->final_checkpoint) {
        post_all(d, TASK_FINISH, 0);
        return;
    }
    for (uint32_t i = 0; i < d->task_count; i++)
        feed_task(d, EVENT_TASK_END_OF_DATA, i);
}

/* ---- deletions, on the cleaner's thread -------------------------------------------------------
 */

static void clean_attempt(void *ctx, uint64_t id)
{
    struct checkpoint_driver *d = ctx;
    struct attempt **at, *a;
    struct err err = {0};

    mutex_lock(&d->mutex);
    for (at = &d->dying; *at != NULL && (*at)->id != id; at = &(*at)->next)
        ;
    a = *at;
    if (a != NULL)
        *at = a->next;
    mutex_unlock(&d->mutex);
    if (a == NULL)
        return;
    if (storage_attempt_abort(a->storage, &err) != RC_OK)
        log_trouble(d, "attempt not deleted", id, &err);
    attempt_free(a);
}

static void clean_checkpoint(void *ctx, uint64_t id)
{
    struct checkpoint_driver *d = ctx;
    struct err err = {0};

    if (storage_checkpoint_discard(d->config.storage, id, &err) != RC_OK)
        log_trouble(d, "checkpoint not deleted", id, &err);
    d->config.hooks.discarded(d->config.hooks.ctx, id);
}

/* Restored without a claim: only what it uses here is given up. */
static void forget_checkpoint(void *ctx, uint64_t id)
{
    struct checkpoint_driver *d = ctx;
    struct err err = {0};

    if (storage_checkpoint_discard(d->config.storage, id, &err) != RC_OK)
        log_trouble(d, "checkpoint not forgotten", id, &err);
}

static void clean_shared(void *ctx, uint64_t id)
{
    struct checkpoint_driver *d = ctx;
    struct err err = {0};

    (void)id;
    if (storage_clean(d->config.storage, NULL, &err) != RC_OK)
        log_trouble(d, "shared files not deleted", 0, &err);
}

/* Targets of its tasks stop at the abort; so the attempt leaves at once, and only its deletion is
 * the cleaner's. */
static void discard_attempt(struct checkpoint_driver *d, uint64_t checkpoint_id)
{
    struct attempt *a = attempt_find(d->attempts, checkpoint_id);

    if (a == NULL)
        return; /* done before */
    attempt_remove(&d->attempts, a);
    mutex_lock(&d->mutex);
    a->next = d->dying;
    d->dying = a;
    mutex_unlock(&d->mutex);
    cleaner_submit(d->cleaner, clean_attempt, d, checkpoint_id);
}

/* ---- actions ----------------------------------------------------------------------------------
 */

static void log_complete(struct checkpoint_driver *d, const struct attempt *a)
{
    uint64_t full = 0, fresh = 0;

    for (uint32_t i = 0; i < d->task_count; i++) {
        if (a->acks[i] == NULL)
            continue;
        full += a->acks[i]->stats.state_bytes;
        fresh += a->acks[i]->stats.checkpointed_bytes;
    }
    log_line(d->config.env->log, LOG_INFO,
             "%s completed id=%llu job=%s duration_ms=%lld new_bytes=%llu state_bytes=%llu",
             checkpoint_kind_is_savepoint(a->barrier.kind) ? "savepoint" : "checkpoint",
             (unsigned long long)a->id, d->config.job_id,
             (long long)(clock_wall_ms(d->config.env->clock) - a->barrier.trigger_wall_ms),
             (unsigned long long)fresh, (unsigned long long)full);
}

/* Its statistics are out, older ones may go. Its acks are looked at once more by NOTIFY_COMPLETE,
 * later in the same list. */
static void adopt(struct checkpoint_driver *d, uint64_t checkpoint_id)
{
    struct attempt *a = attempt_find(d->attempts, checkpoint_id);

    a->complete = true;
    log_complete(d, a);
    if (a->barrier.kind == CHECKPOINT_PERIODIC)
        forget_end(d); /* it is newer */
}

static void perform(struct checkpoint_driver *d, const struct coordinator_action *a,
                    struct coordinator_event *follow, bool *has_follow, struct arena *arena)
{
    switch (a->kind) {
    case ACTION_BEGIN:
        begin(d, a, follow, arena);
        *has_follow = true;
        break;
    case ACTION_TRIGGER:
        trigger_all(d, a->checkpoint_id);
        break;
    case ACTION_FINALIZE:
        finalize(d, a->checkpoint_id, follow, arena);
        *has_follow = true;
        break;
    case ACTION_ADOPT:
        adopt(d, a->checkpoint_id);
        break;
    case ACTION_NOTIFY_COMPLETE:
        notify_complete(d, a->checkpoint_id);
        break;
    case ACTION_NOTIFY_ABORTED:
        post_all(d, TASK_ABORTED, a->checkpoint_id);
        break;
    case ACTION_NOTIFY_SUBSUMED:
        break; /* no operator holds anything by checkpoint that completion does not release */
    case ACTION_DISCARD_ATTEMPT:
        discard_attempt(d, a->checkpoint_id);
        break;
    case ACTION_DISCARD_CHECKPOINT:
        if (a->completed.restored && d->ending && d->end != JOB_END_FINISHED && !d->replaced)
            break; /* a claimed snapshot goes when its replacement is durable, and there is none */
        cleaner_submit(d->cleaner, clean_checkpoint, d, a->checkpoint_id);
        break;
    case ACTION_FORGET_CHECKPOINT:
        cleaner_submit(d->cleaner, forget_checkpoint, d, a->checkpoint_id);
        break;
    case ACTION_DELETE_SHARED:
        cleaner_submit(d->cleaner, clean_shared, d, 0);
        break;
    case ACTION_FAIL_JOB:
        d->config.hooks.fail_job(d->config.hooks.ctx, a->message);
        break;
    case ACTION_ANSWER:
        d->config.hooks.answer(d->config.hooks.ctx, a->request_id, a->rc, a->checkpoint_id, a->path,
                               a->message);
        break;
    case ACTION_SHUTDOWN_DONE:
        break;
    }
}

/* ---- events -----------------------------------------------------------------------------------
 */

void driver_start(struct checkpoint_driver *d)
{
    memset(d->task_at_end, 0, d->task_count * sizeof(bool));
    memset(d->task_gone, 0, d->task_count * sizeof(bool));
    d->end_told = d->down = false;
    feed_kind(d, EVENT_START);
}

void driver_task_running(struct checkpoint_driver *d, uint32_t task)
{
    feed_task(d, EVENT_TASK_RUNNING, task);
}

void driver_backlog(struct checkpoint_driver *d, uint32_t task, bool backlog)
{
    feed(d, (struct coordinator_event){.kind = EVENT_BACKLOG, .task = task, .backlog = backlog});
}

void driver_task_end_of_data(struct checkpoint_driver *d, uint32_t task)
{
    struct task_message finish = {.kind = TASK_FINISH};

    d->task_at_end[task] = true;
    if (d->after_tasks_finish) {
        end_data(d);
        return;
    }
    /* No checkpoint once a task has ended, as asked for: it needs not stay. */
    d->config.hooks.post(d->config.hooks.ctx, task, &finish);
    feed_task(d, EVENT_TASK_FINISHED, task);
}

void driver_task_finished(struct checkpoint_driver *d, uint32_t task)
{
    d->task_gone[task] = true;
    feed_task(d, EVENT_TASK_FINISHED, task);
}

/* With it all tasks have taken their part of the attempt past the end of their data. */
static bool is_last_of_final(const struct checkpoint_driver *d, const struct attempt *a,
                             const struct task_event *ev)
{
    if (!d->final_checkpoint || d->down || a == NULL || a->complete ||
        a->barrier.kind != CHECKPOINT_PERIODIC || !ev->data_ended)
        return false;
    for (uint32_t i = 0; i < d->task_count; i++)
        if (i != ev->task && (a->acks[i] == NULL || !a->acks[i]->data_ended))
            return false;
    return true;
}

void driver_ack(struct checkpoint_driver *d, struct task_event *ev_take)
{
    struct attempt *a = attempt_find(d->attempts, ev_take->checkpoint_id);
    struct coordinator_event e = {
        .kind = EVENT_ACK,
        .checkpoint_id = ev_take->checkpoint_id,
        .task = ev_take->task,
        .ack = ev_take->stats,
    };

    /* The attempt that it completes is the final one: none may begin after it. */
    if (is_last_of_final(d, a, ev_take)) {
        for (uint32_t i = 0; i < d->task_count; i++)
            feed_task(d, EVENT_TASK_END_OF_DATA, i);
        a = attempt_find(d->attempts, ev_take->checkpoint_id); /* its time may have been over */
    }
    if (a != NULL && !a->complete && a->acks[ev_take->task] == NULL)
        a->acks[ev_take->task] = ev_take;
    else
        task_event_free(ev_take); /* too late: what it published goes with its attempt */
    feed(d, e);
}

void driver_decline(struct checkpoint_driver *d, const struct task_event *ev)
{
    feed(d, (struct coordinator_event){
                .kind = EVENT_DECLINE,
                .checkpoint_id = ev->checkpoint_id,
                .task = ev->task,
                .failure = ev->async ? FAILURE_ASYNC : FAILURE_DECLINED,
                .message = ev->err.msg,
            });
}

void driver_job_failing(struct checkpoint_driver *d)
{
    d->down = true;
    feed_kind(d, EVENT_JOB_FAILING);
}

void driver_request(struct checkpoint_driver *d, uint64_t request_id, enum request_kind kind,
                    const char *target_dir)
{
    feed(d, (struct coordinator_event){.kind = EVENT_REQUEST,
                                       .request_id = request_id,
                                       .request = kind,
                                       .target_dir = target_dir});
}

void driver_cancel(struct checkpoint_driver *d)
{
    d->down = true;
    feed_kind(d, EVENT_CANCEL);
}

void driver_suspend(struct checkpoint_driver *d)
{
    d->down = true;
    feed_kind(d, EVENT_SUSPEND);
}

void driver_discarded(struct checkpoint_driver *d, uint64_t checkpoint_id)
{
    feed(d, (struct coordinator_event){.kind = EVENT_DISCARDED, .checkpoint_id = checkpoint_id});
}

void driver_tick(struct checkpoint_driver *d)
{
    feed_kind(d, EVENT_TICK);
}

int64_t driver_next_mono_ms(const struct checkpoint_driver *d)
{
    return coordinator_next_mono_ms(d->coordinator);
}

void driver_shutdown(struct checkpoint_driver *d, enum job_end end)
{
    d->down = true;
    d->end = end;
    d->ending = true;
    if (!note_end(d, end))
        d->end = end = JOB_END_SUSPENDED;
    feed(d, (struct coordinator_event){.kind = EVENT_SHUTDOWN, .end = end});
    cleaner_drain(d->cleaner);
    leave_completed(d);
    ASSERT(d->attempts == NULL);
    attempt_free(d->completed); /* storage is closed after this */
    d->completed = NULL;
    d->completed_tree = NULL;
}

void driver_latest(const struct checkpoint_driver *d, uint64_t *id, bool *is_restored)
{
    const struct completed_checkpoint *latest = coordinator_latest(d->coordinator);

    *id = latest == NULL ? 0 : latest->id;
    *is_restored = latest != NULL && latest->restored;
}

const struct checkpoint_metadata *driver_latest_tree(const struct checkpoint_driver *d)
{
    return d->completed_tree;
}

uint64_t driver_newest_savepoint(const struct checkpoint_driver *d)
{
    return d->newest_savepoint;
}

const char *driver_stop_path(const struct checkpoint_driver *d)
{
    return coordinator_stop_path(d->coordinator);
}

void driver_stats(struct checkpoint_driver *d, struct arena *arena, struct checkpoint_stats *out)
{
    mutex_lock(&d->mutex);
    stats_tracker_view(coordinator_stats(d->coordinator), arena, out);
    mutex_unlock(&d->mutex);
}

/* ---- life -------------------------------------------------------------------------------------
 */

static void coordinator_config_of(const struct driver_config *c, struct arena *arena,
                                  struct coordinator_config *out)
{
    const struct graph *g = c->graph;
    struct stats_vertex *vertices = ARENA_ARRAY(arena, g->vertex_count, struct stats_vertex);
    struct coordinator_edge *edges = ARENA_ARRAY(arena, g->edge_count, struct coordinator_edge);

    for (uint32_t i = 0; i < g->vertex_count; i++)
        vertices[i] = (struct stats_vertex){g->vertices[i].id, g->vertices[i].name,
                                            g->vertices[i].parallelism};
    for (uint32_t i = 0; i < g->edge_count; i++)
        edges[i] = (struct coordinator_edge){g->edges[i].from_vertex, g->edges[i].to_vertex,
                                             g->edges[i].partitioning == PARTITION_FORWARD};
    config_coordinator(c->config, out);
    out->first_id = c->first_id;
    out->vertex_count = g->vertex_count;
    out->edge_count = g->edge_count;
    out->vertices = vertices;
    out->edges = edges;
    /* Tasks end only when the whole job does; an attempt among those still ending would lack the
     * state of those gone. */
    out->after_tasks_finish = false;
    env_rng(c->env, "first checkpoint", &out->rng);
}

struct checkpoint_driver *driver_new(const struct driver_config *config)
{
    struct checkpoint_driver *d = mem_calloc(1, sizeof *d);
    struct arena *arena = arena_new(0);
    struct coordinator_config cc;

    d->config = *config;
    for (uint32_t v = 0; v < config->graph->vertex_count; v++)
        d->task_count += config->graph->vertices[v].parallelism;
    d->note = (struct end_note){.env = config->env,
                                .storage = config->storage,
                                .origin = config->origin};
    d->task_at_end = mem_calloc(d->task_count, sizeof(bool));
    d->task_gone = mem_calloc(d->task_count, sizeof(bool));
    coordinator_config_of(config, arena, &cc);
    d->final_checkpoint = cc.final_checkpoint;
    d->after_tasks_finish = config_bool(config->config, OPT_CP_AFTER_FINISH);
    mutex_init(&d->mutex);
    d->coordinator = coordinator_new(&cc);
    arena_free(arena);
    d->cleaner = cleaner_new(config->threaded);
    d->down = true;
    return d;
}

void driver_restored(struct checkpoint_driver *d, const struct checkpoint_metadata *m,
                     const char *dir, bool owned)
{
    mutex_lock(&d->mutex);
    coordinator_restored(d->coordinator,
                         (struct completed_checkpoint){
                             .id = m->checkpoint_id,
                             .restored = true,
                             .savepoint = checkpoint_kind_is_savepoint(m->kind),
                             .owned = owned,
                         },
                         dir, clock_wall_ms(d->config.env->clock));
    mutex_unlock(&d->mutex);
}

void driver_free(struct checkpoint_driver *d)
{
    struct attempt *a;

    if (d == NULL)
        return;
    cleaner_free(d->cleaner);
    leave_completed(d);
    ASSERT(d->attempts == NULL);
    while ((a = d->dying) != NULL) {
        d->dying = a->next;
        attempt_free(a);
    }
    attempt_free(d->completed);
    arena_free(d->completed_arena);
    coordinator_free(d->coordinator);
    coordinator_actions_release(&d->actions);
    mutex_release(&d->mutex);
    mem_free(d->task_at_end);
    mem_free(d->task_gone);
    mem_free(d);
}
