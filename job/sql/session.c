/* session.c - see session.h. What SHOW, DESCRIBE and STOP JOB do is in session_show.c. */
#include "job/sql/session_priv.h"

#include "job/runtime/preflight.h"
#include "job/runtime/restore_flink.h"
#include "job/sql/plan.h"
#include "job/sql/sql_error.h"

struct session *session_new(const struct env *env, struct dispatcher *dispatcher,
                            const struct config *config, const struct session_options *options)
{
    struct session *s = mem_calloc(1, sizeof *s);

    s->env = env;
    s->arena = arena_new(0);
    s->dispatcher = dispatcher;
    s->config = config_copy(config);
    s->catalog = catalog_new();
    if (options != NULL)
        s->options = *options;
    mutex_init(&s->mutex);
    return s;
}

void session_free(struct session *s)
{
    if (s == NULL)
        return;
    catalog_free(s->catalog);
    config_free(s->config);
    mutex_release(&s->mutex);
    mem_free(s->submitted);
    arena_free(s->arena);
    mem_free(s);
}

const struct config *session_config(const struct session *s)
{
    return s->config;
}

void session_interrupt(struct session *s)
{
    mutex_lock(&s->mutex);
    if (s->waits_for != NULL)
        job_cancel(s->waits_for);
    mutex_unlock(&s->mutex);
}

struct completion {
    const char *prefix;
    void (*fn)(void *ctx, const char *name);
    void *ctx;
};
static void complete_entry(void *ctx, const struct catalog_entry *e)
{
    struct completion *c = ctx;

    if (strncmp(e->name, c->prefix, strlen(c->prefix)) == 0)
        c->fn(c->ctx, e->name);
}

void session_complete(struct session *s, const char *prefix,
                      void (*fn)(void *ctx, const char *name), void *ctx)
{
    struct completion c = {prefix, fn, ctx};

    catalog_list(s->catalog, complete_entry, &c);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static void set_waiting(struct session *s, struct job *job)
{
    mutex_lock(&s->mutex);
    s->waits_for = job;
    mutex_unlock(&s->mutex);
}

/* Until the job has ended; its failure is the statement's. */
static enum rc wait_for_job(struct session *s, struct job *job, const struct result_handler *h,
                            struct err *err)
{
    struct err failure = {0};

    set_waiting(s, job);
    if (h->wait != NULL)
        h->wait(h->ctx, job);
    else
        job_wait(job, -1);
    set_waiting(s, NULL);
    switch (job_state(job)) {
    case JOB_FINISHED:
        return RC_OK;
    case JOB_CANCELED:
        return err_set(err, RC_CANCELLED, "job %s was cancelled", job_id(job));
    case JOB_SUSPENDED:
        return err_set(err, RC_CANCELLED, "job %s was suspended", job_id(job));
    case JOB_FAILED:
        job_failure(job, &failure);
        return err_set(err, failure.rc == RC_OK ? RC_STATE : failure.rc, "job %s failed: %s",
                       job_id(job), failure.msg);
    default:
        return err_set(err, RC_CANCELLED, "job %s is no longer waited for; it is %s", job_id(job),
                       job_state_str(job_state(job)));
    }
}

static struct plan_context plan_context_of(const struct session *s)
{
    return (struct plan_context){s->catalog, s->config, s->env};
}

static enum rc may_submit(const struct session *s, const struct graph *graph, struct err *err)
{
    return s->options.may_submit == NULL
               ? RC_OK
               : s->options.may_submit(s->options.may_submit_ctx, graph, err);
}

/* How many statements of this text came before it; it is counted. */
static uint32_t count_occurrence(struct session *s, const struct graph *graph)
{
    char id[OPERATOR_ID_LEN + 1];

    graph_fingerprint(graph, 0, id);
    for (size_t i = 0; i < s->submitted_count; i++)
        if (strcmp(s->submitted[i].text_id, id) == 0)
            return s->submitted[i].count++;
    if (s->submitted_count == SUBMITTED_MAX)
        return 0;
    if (s->submitted == NULL)
        s->submitted = mem_alloc(SUBMITTED_MAX * sizeof *s->submitted);
    memcpy(s->submitted[s->submitted_count].text_id, id, sizeof id);
    s->submitted[s->submitted_count++].count = 1;
    return 0;
}

static void remember_fingerprint(struct session *s, const struct graph *graph, uint32_t occurrence)
{
    char fingerprint[OPERATOR_ID_LEN + 1];

    if (s->fingerprint_count == SUBMITTED_MAX)
        return;
    if (s->fingerprints == NULL)
        s->fingerprints = ARENA_ARRAY(s->arena, SUBMITTED_MAX, const char *);
    graph_fingerprint(graph, occurrence, fingerprint);
    s->fingerprints[s->fingerprint_count++] = arena_strdup(s->arena, fingerprint);
}

static struct job_restore restore_of(struct session *s, const struct graph *graph)
{
    const char *path =
        config_has(s->config, OPT_RESTORE_PATH) ? config_string(s->config, OPT_RESTORE_PATH) : NULL;
    struct job_restore r = {
        .path = path != NULL && path[0] != '\0' ? path : NULL,
        .resume = s->options.resume,
        .occurrence = count_occurrence(s, graph),
        .names_shared = s->options.names_shared,
        .earlier_count = s->fingerprint_count,
        .earlier = s->fingerprints,
        .claim_mode = (enum claim_mode)config_enum(s->config, OPT_RESTORE_CLAIM_MODE),
        .allow_non_restored = config_bool(s->config, OPT_RESTORE_IGNORE_UNCLAIMED),
    };

    remember_fingerprint(s, graph, r.occurrence);
    return r;
}

/* --dry-run: the report of the checks, a line a row. */
static enum rc dry_run(struct session *s, struct graph *graph, const struct result_handler *h,
                       struct statement_result *result, struct err *err)
{
    struct job_restore restore = restore_of(s, graph);
    struct preflight preflight;
    struct buf report = {0};
    enum rc rc;

    GOTO_IF_ERR(preflight_make(s->env, s->config, graph, &restore, &preflight, err));
    if (s->options.dry_run_json) {
        json_t *o = preflight_json(&preflight);

        json_dump_to(o, false, &report);
        json_decref(o);
    } else {
        preflight_print(&preflight, &report);
    }
    result->would_not_start = preflight.fault != NULL;
    rc = session_text_rows(h, result, "result", buf_cstr(&report), err);
out:
    preflight_release(&preflight);
    buf_release(&report);
    graph_free(graph);
    return rc;
}

/* A mapping for the job, a line a row. */
static enum rc draft(struct session *s, struct graph *graph, const struct result_handler *h,
                     struct statement_result *result, struct err *err)
{
    struct buf text = {0};
    enum rc rc = restore_flink_draft(s->env, s->config, graph, s->options.draft_of, &text, err);

    if (rc == RC_OK)
        rc = session_text_rows(h, result, "result", buf_cstr(&text), err);
    buf_release(&text);
    graph_free(graph);
    return rc;
}

static enum rc execute_insert(struct session *s, const struct ast_statement *st,
                              const struct result_handler *h, struct statement_result *result,
                              struct err *err)
{
    struct plan_context ctx = plan_context_of(s);
    struct job_restore restore;
    struct graph *graph;
    struct job *job;
    enum rc rc;

    RETURN_IF_ERR(plan_insert(&ctx, st, &graph, err));
    if (s->options.dry_run)
        return dry_run(s, graph, h, result, err);
    if (s->options.draft_of != NULL)
        return draft(s, graph, h, result, err);
    restore = restore_of(s, graph);
    rc = config_check(s->config, err);
    if (rc == RC_OK)
        rc = may_submit(s, graph, err);
    if (rc == RC_OK)
        rc = dispatcher_submit(s->dispatcher, s->config, graph, &restore, &job, err);
    if (rc != RC_OK) {
        graph_free(graph);
        return rc;
    }
    result->kind = RESULT_JOB;
    memcpy(result->job_id, job_id(job), JOB_ID_LEN + 1);
    if (h->begin != NULL)
        rc = h->begin(h->ctx, NULL, result, err);
    if (rc == RC_OK && config_bool(s->config, OPT_DML_SYNC))
        rc = wait_for_job(s, job, h, err);
    dispatcher_release(s->dispatcher, job);
    return rc;
}

/* ---- SELECT ---------------------------------------------------------------------------------- */

struct collector {
    const struct result_handler *handler;
    uint64_t rows; /* written by the task's thread, read when the job has ended */
};
static enum rc collect(void *ctx, const struct batch *batch, struct err *err)
{
    struct collector *c = ctx;

    c->rows += batch->rows;
    return c->handler->rows == NULL ? RC_OK : c->handler->rows(c->handler->ctx, batch, err);
}

/* A query's job leaves nothing behind: no checkpoints, and no restart, which would show rows twice;
 * and it starts from nothing. */
static enum rc query_config(const struct session *s, struct config **out, struct err *err)
{
    struct config *c = config_copy(s->config);
    enum rc rc = RC_OK;

    if (config_has(c, OPT_CP_INTERVAL))
        GOTO_IF_ERR(config_set(c, CONFIG_SET, option_at(OPT_CP_INTERVAL)->key, "36500 d", err));
    GOTO_IF_ERR(config_set(c, CONFIG_SET, option_at(OPT_RESTORE_PATH)->key, "", err));
    GOTO_IF_ERR(config_set(c, CONFIG_SET, option_at(OPT_CP_STORAGE)->key, "jobmanager", err));
    GOTO_IF_ERR(config_set(c, CONFIG_SET, option_at(OPT_RESTART_STRATEGY)->key, "none", err));
    GOTO_IF_ERR(config_check(c, err));
out:
    if (rc != RC_OK) {
        config_free(c);
        return rc;
    }
    *out = c;
    return RC_OK;
}

static enum rc run_query(struct session *s, struct graph *graph, const struct schema *schema,
                         const struct result_handler *h, const struct collector *c,
                         struct statement_result *result, struct err *err)
{
    struct job_restore fresh = {0};
    struct config *config = NULL;
    struct job *job = NULL;
    enum rc rc;

    GOTO_IF_ERR(query_config(s, &config, err));
    GOTO_IF_ERR(may_submit(s, graph, err));
    result->kind = RESULT_QUERY;
    if (h->begin != NULL)
        GOTO_IF_ERR(h->begin(h->ctx, schema, result, err));
    GOTO_IF_ERR(dispatcher_submit(s->dispatcher, config, graph, &fresh, &job, err));
    graph = NULL;
    memcpy(result->job_id, job_id(job), JOB_ID_LEN + 1);
    rc = wait_for_job(s, job, h, err);
    if (!job_state_is_final(job_state(job))) { /* rows must not come after the return */
        job_cancel(job);
        job_wait(job, -1);
    }
    dispatcher_release(s->dispatcher, job);
    result->row_count = c->rows;
out:
    config_free(config);
    graph_free(graph);
    return rc;
}

static enum rc execute_select(struct session *s, const struct ast_statement *st,
                              const struct result_handler *h, struct statement_result *result,
                              struct err *err)
{
    struct plan_context ctx = plan_context_of(s);
    struct collector *c = mem_calloc(1, sizeof *c);
    struct arena *arena = arena_new(4096);
    struct plan_result plan;
    struct graph *graph;
    enum rc rc;

    c->handler = h;
    GOTO_IF_ERR(plan_select(&ctx, st, collect, c, &graph, &plan, err));
    result->updating = plan.updating;
    result->batch = plan.batch;
    if (s->options.dry_run)
        rc = dry_run(s, graph, h, result, err);
    else
        rc = run_query(s, graph, schema_copy(arena, plan.schema), h, c, result, err);
out:
    arena_free(arena);
    mem_free(c);
    return rc;
}

/* ---- the rest -------------------------------------------------------------------------------- */

static enum rc execute_view(struct session *s, const struct ast_statement *st, struct err *err)
{
    struct plan_context ctx = plan_context_of(s);
    struct arena *arena = arena_new(4096);
    const struct schema *schema;
    enum rc rc = plan_view(&ctx, st->query, st->view_column_count, st->view_columns, st->source,
                           arena, &schema, err);

    if (rc == RC_OK)
        rc = catalog_create_view(s->catalog, st, err);
    arena_free(arena);
    return rc;
}

static enum rc execute_explain(struct session *s, const struct ast_statement *st,
                               const struct result_handler *h, struct statement_result *result,
                               struct err *err)
{
    struct plan_context ctx = plan_context_of(s);
    struct buf text = {0};
    enum rc rc = plan_explain(&ctx, st->explained, st->explain_changelog_mode, &text, err);

    if (rc == RC_OK)
        rc = session_one_row(h, result, "result", buf_cstr(&text), err);
    buf_release(&text);
    return rc;
}

static enum rc execute_set(struct session *s, const struct ast_statement *st,
                           const struct result_handler *h, struct statement_result *result,
                           struct err *err)
{
    if (st->key == NULL)
        return session_show_settings(s, h, result, err);
    return config_set(s->config, CONFIG_SET, st->key, st->value, err);
}

static enum rc execute_reset(struct session *s, const struct ast_statement *st, struct err *err)
{
    if (st->key != NULL)
        return config_reset(s->config, st->key, err);
    config_reset_all(s->config);
    return RC_OK;
}

static enum rc execute(struct session *s, const struct ast_statement *st,
                       const struct result_handler *h, struct statement_result *result,
                       struct err *err)
{
    switch (st->kind) {
    case STMT_SET:
        return execute_set(s, st, h, result, err);
    case STMT_RESET:
        return execute_reset(s, st, err);
    case STMT_CREATE_TABLE:
        return catalog_create_table(s->catalog, st, s->config, err);
    case STMT_CREATE_VIEW:
        return execute_view(s, st, err);
    case STMT_DROP_TABLE:
        return catalog_drop(s->catalog, st->name, false, st->if_exists, err);
    case STMT_DROP_VIEW:
        return catalog_drop(s->catalog, st->name, true, st->if_exists, err);
    case STMT_SHOW_TABLES:
    case STMT_SHOW_VIEWS:
        return session_show_names(s, st->kind == STMT_SHOW_VIEWS, h, result, err);
    case STMT_SHOW_JOBS:
        return session_show_jobs(s, NULL, h, result, err);
    case STMT_DESCRIBE_JOB:
        return session_show_jobs(s, st->job_id, h, result, err);
    case STMT_SHOW_CREATE_TABLE:
    case STMT_SHOW_CREATE_VIEW:
        return session_show_create(s, st, h, result, err);
    case STMT_DESCRIBE:
        return session_describe(s, st, h, result, err);
    case STMT_EXPLAIN:
        return execute_explain(s, st, h, result, err);
    case STMT_INSERT:
    case STMT_STATEMENT_SET:
        return execute_insert(s, st, h, result, err);
    case STMT_SELECT:
        return execute_select(s, st, h, result, err);
    case STMT_STOP_JOB:
        return session_stop_job(s, st, h, result, err);
    case STMT_QUIT:
        result->kind = RESULT_EXIT;
        return RC_OK;
    case STMT_HELP:
        result->kind = RESULT_HELP;
        return RC_OK;
    }
    return err_set(err, RC_UNSUPPORTED, "this statement is not supported");
}

enum rc session_execute(struct session *s, const struct ast_statement *statement,
                        const struct result_handler *handler, struct statement_result *result,
                        struct err *err)
{
    static const struct result_handler nothing = {0};

    *result = (struct statement_result){.kind = RESULT_OK,
                                        .time_zone = config_string(s->config, OPT_LOCAL_TIME_ZONE)};
    return execute(s, statement, handler == NULL ? &nothing : handler, result, err);
}

const char *session_help(void)
{
    return "SET ['key' = 'value'];  RESET ['key'];\n"
           "CREATE [TEMPORARY] TABLE [IF NOT EXISTS] t (column TYPE, ..., c AS expr, WATERMARK FOR "
           "ts AS ts - INTERVAL '5' SECOND,\n"
           "    PRIMARY KEY (c) NOT ENFORCED) [PARTITIONED BY (c)] WITH ('connector' = "
           "'datagen|filesystem|jdbc|print|blackhole', ...)\n"
           "    [LIKE other];\n"
           "CREATE [TEMPORARY] VIEW v [(columns)] AS SELECT ...;  DROP TABLE|VIEW [IF EXISTS] t;\n"
           "SHOW TABLES;  SHOW VIEWS;  SHOW CREATE TABLE t;  SHOW CREATE VIEW v;  DESCRIBE t;\n"
           "SELECT [DISTINCT] ... FROM t|(query)|TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL "
           "'10' SECOND))\n"
           "    [WHERE ...] [GROUP BY ...] [HAVING ...] [UNION ALL SELECT ...];\n"
           "INSERT INTO t [(columns)] SELECT ...|VALUES (...), ...;\n"
           "EXECUTE STATEMENT SET BEGIN INSERT ...; INSERT ...; END;\n"
           "EXPLAIN [PLAN FOR | CHANGELOG_MODE] SELECT ...|INSERT ...;\n"
           "SHOW JOBS;  DESCRIBE JOB 'id';  STOP JOB 'id' [WITH SAVEPOINT [WITH DRAIN]];\n"
           "HELP;  QUIT;\n";
}
