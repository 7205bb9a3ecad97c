/* host.h - jobs in this process, for the verbs run, sql and serve: dispatcher, REST server,
 * signals, progress, what is said at the end.
 *
 *     host_config -> host_open -> { host_turn | host_wait_all } -> host_close
 *
 * SIGINT cancels all jobs, SIGTERM suspends them (design: commit and delete nothing); either a
 * second time ends the process at once. Thread: main's. */
#ifndef VARVE_JOB_CLI_HOST_H
#define VARVE_JOB_CLI_HOST_H

#include "job/cli/cli.h"
#include "job/cli/progress.h"
#include "job/cli/signals.h"
#include "job/rest/rest_server.h"
#include "job/sql/session.h"

enum host_wish { HOST_GO_ON, HOST_CANCEL, HOST_SUSPEND };
struct host {
    struct cli *cli;
    const struct config *config; /* borrowed */
    struct dispatcher *dispatcher;
    struct rest_server *rest; /* NULL: none */
    struct signals signals;
    struct progress *progress;
    enum host_wish wish; /* what signals asked for */
    _Atomic bool ending; /* the same for other threads: nothing is waited for that can be had again */
    bool no_line;        /* rows are being printed on the terminal: no progress line between them */
    bool int_is_suspend; /* serve: SIGINT as SIGTERM */
    const char *resume_options, *resume_script; /* of the command that goes on after a suspend: "-c
                                                   x.yaml ", "job.sql"; NULL: none is printed */
    size_t job_count;
    struct job *jobs[DISPATCHER_JOBS_MAX]; /* host_watch: to be waited for and reported, held */
    bool reported[DISPATCHER_JOBS_MAX];
};

/* The options -c and -D, for a verb's list. */
#define HOST_CONFIG_OPTIONS                                                                        \
    {.name = "--config", .alias = "-c", .value = "FILE", .help = "configuration in YAML"},         \
    {                                                                                              \
        .name = "--define", .alias = "-D", .value = "KEY=VALUE", .repeats = true,                  \
        .help = "set one option"                                                                   \
    }
MUST_USE enum rc host_config(struct cli *cli, const struct args *args, struct config **out,
                             struct err *err);

/* Dispatcher, signals, and with `rest` the server (gateway may be NULL). -1, or an exit code after
 * a message. *h: zeroed before. */
int host_open(struct host *h, struct cli *cli, const struct config *config, bool rest,
              struct gateway *gateway);
/* `dispatcher` comes from host_open with rest == false. */
int host_start_rest(struct host *h, struct gateway *gateway);
/* A job to be waited for and reported. */
void host_watch(struct host *h, const char *job_id);
/* Reports those that have ended since. */
void host_report_ended(struct host *h);
/* One look at signals, ended jobs and the progress line. */
void host_turn(struct host *h);
/* session_execute's wait: turns until the job has ended. */
void host_wait_job(void *host, struct job *job);
/* For a server: returns when a signal asks for the end; nothing is done to the jobs yet. */
void host_await_signal(struct host *h);
/* What still runs is watched and suspended: nothing is committed or deleted. */
void host_suspend_all(struct host *h);
/* Turns until all watched jobs have ended, then lets REST clients take their answers. The exit code
 * of the jobs. */
int host_wait_all(struct host *h);
void host_close(struct host *h); /* cancels what runs */

/* A preview_write_fn and session handler pieces that print to stdout. */
MUST_USE enum rc host_write_stdout(void *ctx, struct bytes text, struct err *err);

#endif
