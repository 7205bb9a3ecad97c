/* control_cmd.c - list, stop, savepoint, checkpoint, cancel: clients of a running varve, with
 * Flink's words on stdout. See verbs.h */
#include "job/cli/verbs.h"

#include "base/utf8.h"
#include "checkpoint/layout.h"
#include "job/cli/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define OPERATION_WAIT_MAX_MS (3600 * 1000LL)
#define TARGET_OPTION                                                                              \
    {                                                                                              \
        .name = "--target", .alias = "-m", .value = "HOST:PORT",                                   \
        .help = "REST address of the varve to ask (default " CLIENT_DEFAULT_TARGET ")"             \
    }

/* What the server says against a request is exit code 1; that nobody answers is 3. */
static int fail(const struct cli *cli, const char *doing, const struct err *err)
{
    int code = err->rc == RC_IO || err->rc == RC_TIMEOUT ? EXIT_ENVIRONMENT : EXIT_WRONG;

    return cli_error(cli, code, "%s%s%s", doing, doing[0] != '\0' ? ": " : "", err->msg);
}

/* Words for people on stdout, as Flink's client prints them; --json and -q leave them out. */
static bool wordy(const struct cli *cli)
{
    return !cli->json && !cli->quiet;
}

static int connect_to(struct cli *cli, const struct args *args, struct client **out)
{
    const struct arg_option *target = args_get(args, "--target");
    struct err err = {0};

    if (client_open(&cli->env, target->given ? target->text : CLIENT_DEFAULT_TARGET, out, &err) ==
        RC_OK)
        return -1;
    return cli_fail(cli, &err);
}

/* ---- jobs
 * ----------------------------------------------------------------------------------------- */

static const char *text_of(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));

    return s != NULL ? s : "";
}

static int by_start(const void *a, const void *b)
{
    json_int_t x = json_integer_value(json_object_get(*(json_t *const *)a, "start-time"));
    json_int_t y = json_integer_value(json_object_get(*(json_t *const *)b, "start-time"));

    return x < y ? -1 : x > y;
}

/* The jobs, oldest first; borrowed from *answer. */
static enum rc fetch_jobs(struct cli *cli, struct client *c, json_t **answer, json_t ***jobs,
                          size_t *count, struct err *err)
{
    json_t *list, *one;
    size_t i;

    RETURN_IF_ERR(client_call(c, "GET", "/v1/jobs/overview", NULL, answer, err));
    list = json_object_get(*answer, "jobs");
    *count = json_array_size(list);
    *jobs = ARENA_ARRAY(cli->arena, *count + 1, json_t *);
    json_array_foreach(list, i, one)(*jobs)[i] = one;
    qsort(*jobs, *count, sizeof **jobs, by_start);
    return RC_OK;
}

static bool ended(const char *state)
{
    return strcmp(state, "FINISHED") == 0 || strcmp(state, "FAILED") == 0 ||
           strcmp(state, "CANCELED") == 0 || strcmp(state, "SUSPENDED") == 0;
}

/* JOB as it was given -> id: 32 hex digits, or the name of one running job. */
static int find_job(struct cli *cli, struct client *c, const char *given, char id[JOB_ID_LEN + 1])
{
    json_t *answer = NULL, **jobs = NULL;
    struct err err = {0};
    size_t count = 0, found = 0;

    if (strlen(given) == JOB_ID_LEN && strspn(given, "0123456789abcdefABCDEF") == JOB_ID_LEN) {
        for (size_t i = 0; i <= JOB_ID_LEN; i++)
            id[i] = (char)(given[i] >= 'A' && given[i] <= 'F' ? given[i] + 32 : given[i]);
        return -1;
    }
    if (fetch_jobs(cli, c, &answer, &jobs, &count, &err) != RC_OK)
        return fail(cli, "", &err);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(text_of(jobs[i], "name"), given) == 0 && !ended(text_of(jobs[i], "state"))) {
            found++;
            snprintf(id, JOB_ID_LEN + 1, "%s", text_of(jobs[i], "jid"));
        }
    }
    json_decref(answer);
    if (found == 1)
        return -1;
    if (found > 1)
        return cli_error(cli, EXIT_USAGE, "%zu running jobs are named \"%s\": give the job's id",
                         found, given);
    return cli_error(cli, EXIT_USAGE,
                     "Cannot parse JobID from \"%s\". The expected format is [0-9a-fA-F]{32}, e.g. "
                     "fd72014d4c864993a2e5a9287b4a9c5d; no running job has this name either.",
                     given);
}

static void print_jobs(json_t *const *jobs, size_t count, int which)
{
    for (size_t i = 0; i < count; i++) {
        const char *state = text_of(jobs[i], "state");
        int group = ended(state) ? 2 : strcmp(state, "CREATED") == 0 ? 1 : 0;
        time_t s = (time_t)(json_integer_value(json_object_get(jobs[i], "start-time")) / 1000);
        char when[32] = "";
        struct tm tm;

        if (group != which)
            continue;
        if (localtime_r(&s, &tm) != NULL)
            strftime(when, sizeof when, "%d.%m.%Y %H:%M:%S", &tm);
        cli_print("%s : %s : %s (%s)\n", when, text_of(jobs[i], "jid"), text_of(jobs[i], "name"),
                  state);
    }
}

static size_t count_jobs(json_t *const *jobs, size_t count, int which)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        const char *state = text_of(jobs[i], "state");

        n += (ended(state) ? 2 : strcmp(state, "CREATED") == 0 ? 1 : 0) == which;
    }
    return n;
}

static void print_section(const struct cli *cli, json_t *const *jobs, size_t count, int which,
                          const char *title, const char *none)
{
    static const char line[] = "--------------------------------------------------------------\n";

    if (!wordy(cli)) {
        print_jobs(jobs, count, which);
    } else if (count_jobs(jobs, count, which) > 0) {
        cli_print("%s\n", title);
        print_jobs(jobs, count, which);
        cli_print("%s", line);
    } else if (none != NULL) {
        cli_print("%s\n", none);
    }
}

static json_t *jobs_json(json_t *const *jobs, size_t count, const bool wanted[3])
{
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++) {
        const char *state = text_of(jobs[i], "state");

        if (wanted[ended(state) ? 2 : strcmp(state, "CREATED") == 0 ? 1 : 0])
            json_array_append_new(
                list,
                json_pack("{s: s, s: s, s: s, s: I, s: I}", "jid", text_of(jobs[i], "jid"), "name",
                          text_of(jobs[i], "name"), "state", state, "start-time",
                          json_integer_value(json_object_get(jobs[i], "start-time")), "end-time",
                          json_integer_value(json_object_get(jobs[i], "end-time"))));
    }
    return list;
}

int verb_list(struct cli *cli, int argc, char **argv)
{
    static const struct arg_option options[] = {
        {.name = "--running", .alias = "-r", .help = "running jobs only"},
        {.name = "--scheduled", .alias = "-s", .help = "scheduled jobs only"},
        {.name = "--all", .alias = "-a", .help = "also jobs that have ended"},
        TARGET_OPTION,
    };
    struct client *c = NULL;
    json_t *answer = NULL, **jobs = NULL;
    struct err err = {0};
    struct args args;
    size_t count = 0;
    bool r, s, all, wanted[3];
    int code = cli_begin(cli, options, ARRAY_LEN(options), argc, argv, &args);

    if (code < 0)
        code = cli_expect(cli, &args, 0, 0);
    if (code < 0)
        code = connect_to(cli, &args, &c);
    if (code >= 0)
        return code;
    r = args_get(&args, "--running")->given;
    s = args_get(&args, "--scheduled")->given;
    all = args_get(&args, "--all")->given;
    wanted[0] = all || r || !s;
    wanted[1] = all || s || !r;
    wanted[2] = all;
    if (wordy(cli))
        cli_print("Waiting for response...\n");
    if (fetch_jobs(cli, c, &answer, &jobs, &count, &err) != RC_OK) {
        code = fail(cli, "list jobs", &err);
    } else if (cli->json) {
        cli_print_json(jobs_json(jobs, count, wanted));
        code = EXIT_DONE;
    } else {
        if (wanted[0])
            print_section(cli, jobs, count, 0,
                          "------------------ Running/Restarting Jobs -------------------",
                          "No running jobs.");
        if (wanted[1])
            print_section(cli, jobs, count, 1,
                          "----------------------- Scheduled Jobs -----------------------",
                          "No scheduled jobs.");
        if (wanted[2])
            print_section(cli, jobs, count, 2,
                          "---------------------- Terminated Jobs -----------------------", NULL);
        code = EXIT_DONE;
    }
    json_decref(answer);
    client_close(c);
    return cli_finish_output(cli, code);
}

/* ---- operations
 * ----------------------------------------------------------------------------------- */

/* A directory as the server sees it: URIs as they are, paths made absolute here, where they were
 * typed. */
static enum rc absolute_target(const struct cli *cli, const char *given, const char **out,
                               struct err *err)
{
    char *path = arena_alloc(cli->arena, FS_PATH_MAX);

    if (!utf8_is_valid(bytes_of_str(given)))
        return err_set(err, RC_INVALID, "a path that is not UTF-8 can't be sent to the server");
    *out = given;
    if (strchr(given, ':') != NULL)
        return RC_OK;
    *out = path;
    return path_absolute(path, FS_PATH_MAX, given, err);
}

static const char *cause_of(const json_t *failure)
{
    const char *text = text_of(failure, "stack-trace"), *colon;

    colon = strstr(text, ": ");
    return colon != NULL ? colon + 2 : text[0] != '\0' ? text : "the operation failed";
}

/* Posts and polls `<path>/<request id>` until it is completed. *operation: the caller's. */
static enum rc start_and_wait(struct client *c, const char *post_path, const char *poll_path,
                              const json_t *body, bool detached, json_t **operation,
                              char trigger[64], struct err *err)
{
    json_t *answer = NULL, *failure;
    char path[256];

    *operation = NULL;
    RETURN_IF_ERR(client_call(c, "POST", post_path, body, &answer, err));
    snprintf(trigger, 64, "%s", text_of(answer, "request-id"));
    json_decref(answer);
    if (trigger[0] == '\0')
        return err_set(err, RC_CORRUPT, "%s does not answer as varve does: no request-id",
                       client_target(c));
    if (detached)
        return RC_OK;
    snprintf(path, sizeof path, "%s/%s", poll_path, trigger);
    for (uint32_t tries = 0;; tries++) {
        RETURN_IF_ERR(client_call(c, "GET", path, NULL, &answer, err));
        if (strcmp(text_of(json_object_get(answer, "status"), "id"), "COMPLETED") == 0)
            break;
        json_decref(answer);
        client_back_off(c, tries);
    }
    failure = json_object_get(json_object_get(answer, "operation"), "failure-cause");
    if (failure != NULL) {
        err_set(err, RC_STATE, "%s", cause_of(failure));
        json_decref(answer);
        return RC_STATE;
    }
    *operation = json_incref(json_object_get(answer, "operation"));
    json_decref(answer);
    return RC_OK;
}

/* A verb on one JOB: arguments, connection, the job's id. -1: go on; else the exit code. *c is the caller's to close
 * either way. */
static int begin_on_job(struct cli *cli, const struct arg_option *options, size_t option_count, int argc,
                        char **argv, struct args *args, struct client **c, char id[JOB_ID_LEN + 1])
{
    int code = cli_begin(cli, options, option_count, argc, argv, args);

    if (code < 0)
        code = cli_expect(cli, args, 1, 1);
    if (code < 0)
        code = connect_to(cli, args, c);
    if (code < 0)
        code = find_job(cli, *c, args->positional[0], id);
    return code;
}

int verb_stop(struct cli *cli, int argc, char **argv)
{
    static const struct arg_option options[] = {
        {.name = "--savepointPath",
         .alias = "-p",
         .value = "DIR",
         .help = "directory of the savepoint (default execution.checkpointing.savepoint-dir)"},
        {.name = "--drain", .alias = "-d", .help = "send MAX_WATERMARK first: all windows close"},
        {.name = "--detached", .help = "do not wait for the savepoint"},
        TARGET_OPTION,
    };
    char id[JOB_ID_LEN + 1], post[128], poll[128], trigger[64];
    json_t *body = NULL, *operation = NULL;
    const char *dir = NULL;
    struct client *c = NULL;
    struct err err = {0};
    struct args args;
    bool drain, detached;
    int code = begin_on_job(cli, options, ARRAY_LEN(options), argc, argv, &args, &c, id);

    if (code < 0 && args_get(&args, "--savepointPath")->given &&
        absolute_target(cli, args_get(&args, "--savepointPath")->text, &dir, &err) != RC_OK)
        code = cli_fail(cli, &err);
    if (code >= 0) {
        client_close(c);
        return code;
    }
    drain = args_get(&args, "--drain")->given;
    detached = args_get(&args, "--detached")->given;
    if (wordy(cli)) {
        cli_print("%s job \"%s\" with a CANONICAL savepoint.\n", drain ? "Draining" : "Suspending",
                  id);
        cli_print("Triggering stop-with-savepoint for job %s.\n", id);
        if (!detached)
            cli_print("Waiting for response...\n");
    }
    snprintf(post, sizeof post, "/v1/jobs/%s/stop", id);
    snprintf(poll, sizeof poll, "/v1/jobs/%s/savepoints", id);
    body = json_pack("{s: b, s: s*}", "drain", (int)drain, "targetDirectory", dir);
    if (start_and_wait(c, post, poll, body, detached, &operation, trigger, &err) != RC_OK) {
        char doing[128];

        snprintf(doing, sizeof doing, "Could not stop with a savepoint job \"%s\"", id);
        code = fail(cli, doing, &err);
    } else {
        code = EXIT_DONE;
        if (cli->json)
            cli_print_json(json_pack("{s: s, s: s, s: s*}", "jid", id, "request-id", trigger,
                                     "savepoint",
                                     operation != NULL ? text_of(operation, "location") : NULL));
        else if (detached)
            cli_print(cli->quiet ? "%s\n"
                                 : "Successfully trigger stop-with-savepoint, triggerId: %s\n",
                      trigger);
        else
            cli_print(cli->quiet ? "%s\n" : "Savepoint completed. Path: %s\n",
                      text_of(operation, "location"));
    }
    json_decref(body);
    json_decref(operation);
    client_close(c);
    return cli_finish_output(cli, code);
}

static int dispose(struct cli *cli, struct client *c, const char *given)
{
    json_t *body, *operation = NULL;
    const char *path;
    char trigger[64];
    struct err err = {0};
    int code = EXIT_DONE;

    if (absolute_target(cli, given, &path, &err) != RC_OK)
        return cli_fail(cli, &err);
    if (wordy(cli))
        cli_print("Disposing savepoint '%s'.\nWaiting for response...\n", given);
    body = json_pack("{s: s}", "savepoint-path", path);
    if (start_and_wait(c, "/v1/savepoint-disposal", "/v1/savepoint-disposal", body, false,
                       &operation, trigger, &err) != RC_OK)
        code = fail(cli, "Disposing the savepoint failed", &err);
    else if (cli->json)
        cli_print_json(json_pack("{s: s}", "disposed", path));
    else if (!cli->quiet)
        cli_print("Savepoint '%s' disposed.\n", given);
    json_decref(body);
    json_decref(operation);
    return code;
}

static int take_savepoint(struct cli *cli, struct client *c, const char *job, const char *given_dir,
                          bool detached)
{
    char id[JOB_ID_LEN + 1], path[128], trigger[64];
    json_t *body, *operation = NULL;
    const char *dir = NULL;
    struct err err = {0};
    int code = find_job(cli, c, job, id);

    if (code >= 0)
        return code;
    if (given_dir != NULL && absolute_target(cli, given_dir, &dir, &err) != RC_OK)
        return cli_fail(cli, &err);
    if (wordy(cli) && detached)
        cli_print("Triggering savepoint in detached mode for job %s.\n", id);
    else if (wordy(cli))
        cli_print("Triggering savepoint for job %s.\nWaiting for response...\n", id);
    snprintf(path, sizeof path, "/v1/jobs/%s/savepoints", id);
    body = json_pack("{s: b, s: s*}", "cancel-job", 0, "target-directory", dir);
    if (start_and_wait(c, path, path, body, detached, &operation, trigger, &err) != RC_OK) {
        char doing[128];

        snprintf(doing, sizeof doing, "Triggering a savepoint for the job %s failed", id);
        code = fail(cli, doing, &err);
    } else {
        code = EXIT_DONE;
        if (cli->json)
            cli_print_json(json_pack("{s: s, s: s, s: s*}", "jid", id, "request-id", trigger,
                                     "savepoint",
                                     operation != NULL ? text_of(operation, "location") : NULL));
        else if (detached)
            cli_print(cli->quiet ? "%s\n"
                                 : "Successfully trigger manual savepoint, triggerId: %s\n",
                      trigger);
        else if (cli->quiet)
            cli_print("%s\n", text_of(operation, "location"));
        else
            cli_print("Savepoint completed. Path: %s\nYou can resume your program from this "
                      "savepoint with the run command.\n",
                      text_of(operation, "location"));
    }
    json_decref(body);
    json_decref(operation);
    return code;
}

int verb_savepoint(struct cli *cli, int argc, char **argv)
{
    static const struct arg_option options[] = {
        {.name = "--dispose", .alias = "-d", .value = "PATH", .help = "delete this savepoint"},
        {.name = "--detached", .help = "do not wait for the savepoint"},
        TARGET_OPTION,
    };
    const struct arg_option *disposed;
    struct client *c = NULL;
    struct args args;
    int code = cli_begin(cli, options, ARRAY_LEN(options), argc, argv, &args);

    if (code >= 0)
        return code;
    disposed = args_get(&args, "--dispose");
    code = cli_expect(cli, &args, disposed->given ? 0 : 1, disposed->given ? 0 : 2);
    if (code < 0)
        code = connect_to(cli, &args, &c);
    if (code < 0 && disposed->given)
        code = dispose(cli, c, disposed->text);
    else if (code < 0)
        code = take_savepoint(cli, c, args.positional[0],
                              args.positional_count > 1 ? args.positional[1] : NULL,
                              args_get(&args, "--detached")->given);
    client_close(c);
    return cli_finish_output(cli, code);
}

int verb_checkpoint(struct cli *cli, int argc, char **argv)
{
    static const struct arg_option options[] = {TARGET_OPTION};
    char id[JOB_ID_LEN + 1], path[128], trigger[64];
    json_t *operation = NULL;
    struct client *c = NULL;
    struct err err = {0};
    struct args args;
    int code = begin_on_job(cli, options, ARRAY_LEN(options), argc, argv, &args, &c, id);

    if (code >= 0) {
        client_close(c);
        return code;
    }
    if (wordy(cli))
        cli_print("Triggering checkpoint for job %s.\nWaiting for response...\n", id);
    snprintf(path, sizeof path, "/v1/jobs/%s/checkpoints", id);
    if (start_and_wait(c, path, path, NULL, false, &operation, trigger, &err) != RC_OK) {
        char doing[128];

        snprintf(doing, sizeof doing, "Triggering a checkpoint for the job %s failed", id);
        code = fail(cli, doing, &err);
    } else {
        long long n = json_integer_value(json_object_get(operation, "checkpointId"));

        code = EXIT_DONE;
        if (cli->json)
            cli_print_json(json_pack("{s: s, s: I}", "jid", id, "checkpoint", (json_int_t)n));
        else if (cli->quiet)
            cli_print("%lld\n", n);
        else
            cli_print("Checkpoint %lld for job %s completed.\n"
                      "You can resume your program from this checkpoint with the run command.\n",
                      n, id);
    }
    json_decref(operation);
    client_close(c);
    return cli_finish_output(cli, code);
}

int verb_cancel(struct cli *cli, int argc, char **argv)
{
    static const struct arg_option options[] = {TARGET_OPTION};
    char id[JOB_ID_LEN + 1], path[128];
    struct client *c = NULL;
    json_t *answer = NULL;
    struct err err = {0};
    struct args args;
    int code = begin_on_job(cli, options, ARRAY_LEN(options), argc, argv, &args, &c, id);

    if (code >= 0) {
        client_close(c);
        return code;
    }
    if (wordy(cli))
        cli_print("Cancelling job %s.\n", id);
    snprintf(path, sizeof path, "/v1/jobs/%s?mode=cancel", id);
    if (client_call(c, "PATCH", path, NULL, &answer, &err) != RC_OK) {
        char doing[128];

        snprintf(doing, sizeof doing, "Could not cancel job %s", id);
        code = fail(cli, doing, &err);
    } else {
        code = EXIT_DONE;
        if (cli->json)
            cli_print_json(json_pack("{s: s}", "jid", id));
        else if (!cli->quiet)
            cli_print("Cancelled job %s.\n", id);
    }
    json_decref(answer);
    client_close(c);
    return cli_finish_output(cli, code);
}
