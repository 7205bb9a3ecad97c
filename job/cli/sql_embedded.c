/* sql_embedded.c - statements of `varve sql` in this process. See sql_engine.h */
#include "job/cli/sql_engine.h"

#include <signal.h>

#define TURN_MS 100

struct embedded {
    struct sql_engine engine;
    struct config *config;
    struct session *session;
    struct host host;
    bool interrupted;
};
struct embedded_call { /* the caller's handler with a wait of ours */
    struct embedded *e;
    const struct result_handler *inner;
};

static enum rc call_begin(void *ctx, const struct schema *s, const struct statement_result *r,
                          struct err *err)
{
    struct embedded_call *c = ctx;

    return c->inner->begin != NULL ? c->inner->begin(c->inner->ctx, s, r, err) : RC_OK;
}

static enum rc call_rows(void *ctx, const struct batch *b, struct err *err)
{
    struct embedded_call *c = ctx;

    return c->inner->rows != NULL ? c->inner->rows(c->inner->ctx, b, err) : RC_OK;
}

/* Ctrl-C ends this job alone; SIGTERM all, by suspending them. */
static void call_wait(void *ctx, struct job *job)
{
    struct embedded *e = ((struct embedded_call *)ctx)->e;

    while (!job_wait(job, TURN_MS)) {
        int which = signals_take(&e->host.signals, 0);

        if (which == SIGINT) {
            e->interrupted = true;
            job_cancel(job);
        } else if (which == SIGTERM) {
            e->host.wish = HOST_SUSPEND;
            host_suspend_all(&e->host);
        }
    }
}

static enum rc execute(struct sql_engine *engine, const struct ast_statement *s,
                       const struct result_handler *handler, struct statement_result *result,
                       bool *interrupted, struct err *err)
{
    struct embedded *e = (struct embedded *)engine;
    struct embedded_call call = {.e = e, .inner = handler};
    struct result_handler h = {
        .ctx = &call, .begin = call_begin, .rows = call_rows, .wait = call_wait};
    enum rc rc = rest_check_statement(s, err);

    e->interrupted = false;
    if (rc == RC_OK)
        rc = session_execute(e->session, s, &h, result, err);
    *interrupted = e->interrupted && s->kind == STMT_SELECT;
    if (rc == RC_CANCELLED && *interrupted) {
        err_clear(err);
        rc = RC_OK;
    }
    if (rc == RC_OK && result->kind == RESULT_JOB)
        host_watch(&e->host, result->job_id);
    host_report_ended(&e->host);
    return rc;
}

static const struct config *config(struct sql_engine *engine)
{
    return session_config(((struct embedded *)engine)->session);
}

static void complete(struct sql_engine *engine, const char *prefix,
                     void (*fn)(void *ctx, const char *name), void *ctx)
{
    session_complete(((struct embedded *)engine)->session, prefix, fn, ctx);
}

static void idle(struct sql_engine *engine)
{
    (void)engine;
}

static bool ending(struct sql_engine *engine)
{
    return ((struct embedded *)engine)->host.wish != HOST_GO_ON;
}

static int finish(struct sql_engine *engine, bool wait)
{
    struct embedded *e = (struct embedded *)engine;

    if (!wait)
        host_suspend_all(&e->host);
    return host_wait_all(&e->host);
}

static void close_engine(struct sql_engine *engine)
{
    struct embedded *e = (struct embedded *)engine;

    session_free(e->session);
    host_close(&e->host);
    config_free(e->config);
    mem_free(e);
}

static const struct sql_engine_ops ops = {execute, config, complete,    idle,
                                          ending,  finish, close_engine};

struct sql_engine *sql_engine_embedded(struct cli *cli, const struct args *args, int *exit_code)
{
    struct embedded *e = mem_calloc(1, sizeof *e);
    struct err err = {0};

    e->engine = (struct sql_engine){&ops, &e->host.signals};
    e->host.signals.fd = -1;
    if (host_config(cli, args, &e->config, &err) != RC_OK) {
        *exit_code = cli_fail(cli, &err);
        mem_free(e);
        return NULL;
    }
    *exit_code = host_open(&e->host, cli, e->config, true, NULL);
    if (*exit_code >= 0) {
        host_close(&e->host);
        config_free(e->config);
        mem_free(e);
        return NULL;
    }
    e->session =
        session_new(&cli->env, e->host.dispatcher, e->config, &(struct session_options){0});
    return &e->engine;
}
