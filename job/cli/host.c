/* host.c - see host.h */
#include "job/cli/host.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define TURN_MS 100
#define LINGER_MS 10000 /* for REST clients that have not yet asked how their operation ended */

/* ---- configuration
 * -------------------------------------------------------------------------------- */

enum rc host_config(struct cli *cli, const struct args *args, struct config **out, struct err *err)
{
    const struct arg_option *file = args_get(args, "--config"), *pairs = args_get(args, "--define");
    struct config *c = config_new();
    enum rc rc = RC_OK;

    *out = NULL;
    if (file->given)
        GOTO_IF_ERR(config_load_file(c, cli->env.fs, file->text, err));
    for (uint32_t i = 0; i < pairs->count; i++)
        GOTO_IF_ERR(config_set_pair(c, CONFIG_COMMAND_LINE, pairs->all[i], err));
    if (cli->remote != NULL)
        remote_fs_configure(cli->remote, c);
    *out = c;
    return RC_OK;
out:
    config_free(c);
    return rc;
}

/* ---- start and end
 * -------------------------------------------------------------------------------- */

int host_start_rest(struct host *h, struct gateway *gateway)
{
    struct err err = {0};
    enum rc rc = rest_server_start(&h->cli->env, h->dispatcher, h->config, gateway, &h->rest, &err);

    if (rc != RC_OK)
        return cli_error(h->cli, rc == RC_INVALID ? EXIT_USAGE : EXIT_ENVIRONMENT, "%s", err.msg);
    if (rest_server_moved(h->rest))
        cli_say(h->cli, "REST: %s (port %s is taken; rest.port was not set)",
                rest_server_url(h->rest), option_at(OPT_REST_PORT)->default_text);
    else
        cli_say(h->cli, "REST: %s", rest_server_url(h->rest));
    return -1;
}

/* A signal that nobody has taken yet is a wish, too. */
static bool is_ending(void *ctx)
{
    struct host *h = ctx;

    return h->ending || signals_wait(&h->signals);
}

int host_open(struct host *h, struct cli *cli, const struct config *config, bool rest,
              struct gateway *gateway)
{
    struct err err = {0};

    h->cli = cli;
    h->config = config;
    h->signals.fd = -1;
    if (signals_open(&h->signals, &err) != RC_OK)
        return cli_fail(cli, &err);
    cli->program.ctx = h;
    cli->program.asked_to_end = is_ending;
    h->dispatcher = dispatcher_new(&cli->env);
    h->progress = progress_new(cli, h->dispatcher);
    return rest ? host_start_rest(h, gateway) : -1;
}

void host_close(struct host *h)
{
    progress_free(h->progress);
    rest_server_stop(h->rest);
    for (size_t i = 0; i < h->job_count; i++)
        dispatcher_release(h->dispatcher, h->jobs[i]);
    if (h->dispatcher != NULL)
        dispatcher_free(h->dispatcher);
    h->cli->program.asked_to_end = NULL;
    signals_close(&h->signals);
    *h = (struct host){.signals.fd = -1};
}

/* ---- jobs
 * ----------------------------------------------------------------------------------------- */

void host_watch(struct host *h, const char *id)
{
    struct job *job = dispatcher_find(h->dispatcher, id);

    if (job == NULL)
        return;
    if (h->job_count ==
        DISPATCHER_JOBS_MAX) { /* the oldest has ended: the dispatcher keeps no more either */
        dispatcher_release(h->dispatcher, h->jobs[0]);
        memmove(h->jobs, h->jobs + 1, (DISPATCHER_JOBS_MAX - 1) * sizeof h->jobs[0]);
        memmove(h->reported, h->reported + 1, (DISPATCHER_JOBS_MAX - 1) * sizeof h->reported[0]);
        h->job_count--;
    }
    h->jobs[h->job_count] = job;
    h->reported[h->job_count++] = false;
}

static void each_running(struct host *h, void (*fn)(struct job *))
{
    struct job *jobs[DISPATCHER_JOBS_MAX];
    size_t n = dispatcher_list(h->dispatcher, jobs, DISPATCHER_JOBS_MAX);

    for (size_t i = 0; i < n; i++) {
        if (!job_state_is_final(job_state(jobs[i])))
            fn(jobs[i]);
        dispatcher_release(h->dispatcher, jobs[i]);
    }
}

static void suspend(struct job *job)
{
    job_suspend(job, config_bool(job_config(job), OPT_CP_ON_SUSPEND));
}

static bool watched(const struct host *h, const struct job *job)
{
    for (size_t i = 0; i < h->job_count; i++)
        if (h->jobs[i] == job)
            return true;
    return false;
}

void host_suspend_all(struct host *h)
{
    struct job *jobs[DISPATCHER_JOBS_MAX];
    size_t n = dispatcher_list(h->dispatcher, jobs, DISPATCHER_JOBS_MAX);

    for (size_t i = 0; i < n; i++) {
        if (!job_state_is_final(job_state(jobs[i])) && !watched(h, jobs[i]))
            host_watch(h, job_id(jobs[i]));
        dispatcher_release(h->dispatcher, jobs[i]);
    }
    each_running(h, suspend);
}

void host_await_signal(struct host *h)
{
    int which = 0;

    while (which == 0)
        which = signals_take(&h->signals, -1);
    h->wish = HOST_SUSPEND;
    h->ending = true;
    log_line(h->cli->env.log, LOG_INFO, "suspending all jobs on signal %d", which);
    cli_say(h->cli, "suspending all jobs");
}

static void on_signal(struct host *h, int which)
{
    bool wants_suspend = which == SIGTERM || h->int_is_suspend;

    if (h->wish == HOST_SUSPEND || (h->wish == HOST_CANCEL && !wants_suspend)) {
        progress_clear(h->progress);
        fflush(stdout);
        _exit(EXIT_WRONG);
    }
    progress_clear(h->progress);
    h->wish = wants_suspend ? HOST_SUSPEND : HOST_CANCEL;
    h->ending = true;
    log_line(h->cli->env.log, LOG_INFO, "%s on signal %d",
             wants_suspend ? "suspending" : "cancelling", which);
    cli_say(h->cli, wants_suspend ? "suspending" : "cancelling (once more to leave at once)");
    each_running(h, wants_suspend ? suspend : job_cancel);
}

static void say_how_to_resume(struct host *h, struct job *job)
{
    char path[FS_PATH_MAX];
    struct buf quoted = {0};

    job_resume_path(job, path);
    if (path[0] == '\0') {
        cli_say(h->cli, "  no checkpoint to resume from: the next start begins anew");
        return;
    }
    log_line(h->cli->env.log, LOG_INFO, "job suspended id=%s resume_path=%s", job_id(job), path);
    cli_quote(&quoted, path);
    if (h->resume_script == NULL)
        cli_say(h->cli, "  resume with SET 'execution.state-recovery.path' = '%s'", path);
    else if (h->job_count == 1)
        cli_say(h->cli, "  resume with: varve run -s %s %s%s", buf_cstr(&quoted), h->resume_options,
                h->resume_script);
    else
        cli_say(h->cli, "  resume all jobs with: varve run --resume %s%s", h->resume_options,
                h->resume_script);
    buf_release(&quoted);
}

void host_report_ended(struct host *h)
{
    for (size_t i = 0; i < h->job_count; i++) {
        if (h->reported[i] || !job_state_is_final(job_state(h->jobs[i])))
            continue;
        h->reported[i] = true;
        progress_clear(h->progress);
        report_job(h->cli, h->jobs[i]);
        if (job_state(h->jobs[i]) == JOB_SUSPENDED)
            say_how_to_resume(h, h->jobs[i]);
    }
}

void host_turn(struct host *h)
{
    int which = signals_take(&h->signals, 0);

    if (which != 0)
        on_signal(h, which);
    host_report_ended(h);
    if (!h->no_line)
        progress_tick(h->progress);
}

void host_wait_job(void *host, struct job *job)
{
    struct host *h = host;

    while (!job_wait(job, TURN_MS))
        host_turn(h);
    host_turn(h);
}

static void linger(struct host *h)
{
    int64_t until = clock_mono_ns(h->cli->env.clock) + LINGER_MS * NS_PER_MS;

    while (h->rest != NULL && rest_server_unanswered(h->rest) > 0 &&
           clock_mono_ns(h->cli->env.clock) < until) {
        if (signals_take(&h->signals, 10) != 0)
            return;
    }
}

int host_wait_all(struct host *h)
{
    int code = EXIT_DONE;

    for (size_t i = 0; i < h->job_count; i++)
        host_wait_job(h, h->jobs[i]);
    host_report_ended(h);
    progress_clear(h->progress);
    for (size_t i = 0; i < h->job_count; i++) {
        enum job_state s = job_state(h->jobs[i]);

        if (s == JOB_FAILED || s == JOB_CANCELED)
            code = EXIT_WRONG;
    }
    linger(h);
    return code;
}

enum rc host_write_stdout(void *ctx, struct bytes text, struct err *err)
{
    (void)ctx;
    if (text.len > 0 && fwrite(text.data, 1, text.len, stdout) != text.len)
        return err_os(err, errno, "write standard output");
    if (fflush(stdout) != 0)
        return err_os(err, errno, "write standard output");
    return RC_OK;
}
