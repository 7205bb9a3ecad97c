/* run_cmd.c - varve run: the jobs of a script in this process, to their end. See verbs.h */
#include "job/cli/verbs.h"

#include "job/cli/background.h"
#include "job/cli/host.h"
#include "job/cli/rebase.h"
#include "job/rest/row_json.h"
#include "job/sql/parser.h"
#include "job/sql/preview.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct run {
    struct cli *cli;
    struct args args;
    struct host host;
    struct config *config;
    struct session *session;
    struct background background;
    bool detached, dry_run;
    bool would_not_start; /* some job of a dry run */
    bool waited; /* the statement under way has waited for its job: an error is the job's */
    const struct schema *schema; /* of the rows under way, for --json */
};

static const struct arg_option run_options[] = {
    {.name = "--fromSavepoint",
     .alias = "-s",
     .value = "PATH",
     .help = "start from this savepoint or checkpoint (a _metadata, its directory, a job's "
             "directory, a root)"},
    {.name = "--resume",
     .help = "start from the newest checkpoint of this job's name below "
             "execution.checkpointing.dir, if any; do nothing when it has finished"},
    {.name = "--dry-run",
     .help = "start and write nothing, but say what a start would do; exit code 1: it would fail"},
    {.name = "--allow-non-restored-state",
     .alias = "-n",
     .help = "drop state whose operator is gone"},
    {.name = "--claim-mode",
     .alias = "-cm",
     .value = "MODE",
     .help = "NO_CLAIM (default) or CLAIM: who owns the snapshot of -s"},
    {.name = "--mapping",
     .value = "FILE",
     .help = "which state of a snapshot of Flink's goes on as which of the job's (varve inspect "
             "--mapping drafts one)"},
    REBASE_OPTION,
    {.name = "--checkpoint-on-suspend", .help = "SIGTERM takes a checkpoint before it suspends"},
    {.name = "--detached",
     .alias = "-d",
     .help = "go on in the background once the jobs are submitted"},
    {.name = "--execute",
     .alias = "-e",
     .value = "STATEMENTS",
     .help = "these statements instead of a file"},
    HOST_CONFIG_OPTIONS,
};

static bool given(const struct run *r, const char *name)
{
    return args_get(&r->args, name)->given;
}

/* ---- settings
 * ------------------------------------------------------------------------------------- */

/* Options that stand for configuration: the command line's layer; the script can't change them
 * (overridden). */
static const struct {
    const char *name;
    enum option_id id;
    const char *value; /* NULL: the option's */
} settings[] = {
    {"--fromSavepoint", OPT_RESTORE_PATH, NULL},
    {"--claim-mode", OPT_RESTORE_CLAIM_MODE, NULL},
    {"--mapping", OPT_RESTORE_MAPPING, NULL},
    {"--rebase", OPT_RESTORE_REBASE, NULL},
    {"--allow-non-restored-state", OPT_RESTORE_IGNORE_UNCLAIMED, "true"},
    {"--checkpoint-on-suspend", OPT_CP_ON_SUSPEND, "true"},
};

static enum rc configure(struct run *r, struct err *err)
{
    RETURN_IF_ERR(host_config(r->cli, &r->args, &r->config, err));
    RETURN_IF_ERR(rebase_parse(r->cli, &r->args, &r->cli->rebase, err)); /* now, not at a job's start */
    for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
        const struct arg_option *o = args_get(&r->args, settings[i].name);

        if (o->given)
            RETURN_IF_ERR(config_set(r->config, CONFIG_COMMAND_LINE, option_at(settings[i].id)->key,
                                     settings[i].value != NULL ? settings[i].value
                                                                     : rebase_join(r->cli, o), err));
    }
    return RC_OK;
}

/* A SET of what the command line says: the command line wins, or a resume would silently start from
 * an older snapshot. */
static bool overridden(const struct run *r, const struct ast_statement *s)
{
    enum option_id id;

    if (s->kind != STMT_SET || s->key == NULL || !option_find(s->key, &id))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
        if (settings[i].id == id && given(r, settings[i].name)) {
            cli_say(r->cli, "SET '%s' in the script is passed over: %s is given", s->key,
                    settings[i].name);
            return true;
        }
    }
    return false;
}

/* ---- results
 * -------------------------------------------------------------------------------------- */

static enum rc json_begin(void *ctx, const struct schema *schema,
                          const struct statement_result *result, struct err *err)
{
    struct run *r = ctx;

    (void)result;
    (void)err;
    r->schema = schema;
    return RC_OK;
}

static enum rc json_rows(void *ctx, const struct batch *b, struct err *err)
{
    struct run *r = ctx;

    (void)err;
    for (uint32_t i = 0; i < b->rows; i++) {
        json_t *o = row_object_json(r->schema, b, i);

        if (b->kinds != NULL)
            o = json_pack("{s: s, s: o}", "op", row_kind_str(batch_kind(b, i)), "row", o);
        cli_print_json(o);
    }
    return RC_OK;
}

/* A report of one column: its text as it is. */
static enum rc plain_rows(void *ctx, const struct batch *b, struct err *err)
{
    (void)ctx;
    (void)err;
    for (uint32_t i = 0; i < b->rows; i++) {
        struct bytes text = column_bytes(&b->columns[0], i);

        cli_print_bytes(text);
        if (text.len == 0 || text.data[text.len - 1] != '\n')
            cli_print("\n");
    }
    return RC_OK;
}

static void wait_for(void *ctx, struct job *job)
{
    struct run *r = ctx;

    r->waited = true;
    host_wait_job(&r->host, job);
}

static bool is_insert(const struct ast_statement *s)
{
    return s->kind == STMT_INSERT || s->kind == STMT_STATEMENT_SET;
}

static void say_submitted(struct run *r, const struct statement_result *result)
{
    host_watch(&r->host, result->job_id);
    if (r->cli->json)
        cli_print_json(json_pack("{s: s}", "jid", result->job_id));
    else if (!r->cli->quiet || r->detached)
        cli_print(r->cli->quiet ? "%s\n" : "Job has been submitted with JobID %s\n",
                  result->job_id);
    fflush(stdout);
    if (r->host.job_count > 0)
        cli_say(r->cli, "started %s", job_start_text(r->host.jobs[r->host.job_count - 1]));
}

struct preview_call { /* preview's handler with a wait of ours */
    struct run *run;
    struct result_handler inner;
};
static enum rc call_begin(void *ctx, const struct schema *s, const struct statement_result *result,
                          struct err *err)
{
    struct preview_call *c = ctx;

    return c->inner.begin(c->inner.ctx, s, result, err);
}
static enum rc call_rows(void *ctx, const struct batch *b, struct err *err)
{
    struct preview_call *c = ctx;

    return c->inner.rows(c->inner.ctx, b, err);
}
static void call_wait(void *ctx, struct job *job)
{
    wait_for(((struct preview_call *)ctx)->run, job);
}

static enum rc execute_with_preview(struct run *r, const struct ast_statement *s,
                                    struct statement_result *result, struct err *err)
{
    struct preview *p =
        preview_new(r->cli->env.fs, host_write_stdout, NULL,
                    (uint32_t)config_int(session_config(r->session), OPT_SQL_MAX_ROWS));
    struct preview_call call = {.run = r, .inner = preview_handler(p)};
    struct result_handler h = {
        .ctx = &call, .begin = call_begin, .rows = call_rows, .wait = call_wait};
    enum rc rc;

    r->host.no_line = r->cli->out_tty && s->kind == STMT_SELECT;
    rc = session_execute(r->session, s, &h, result, err);
    if (rc == RC_OK && (result->kind == RESULT_ROWS || result->kind == RESULT_QUERY))
        rc = preview_end(p, result, err);
    r->host.no_line = false;
    preview_free(p);
    return rc;
}

static enum rc execute(struct run *r, const struct ast_statement *s,
                       struct statement_result *result, struct err *err)
{
    struct result_handler json = {
        .ctx = r, .begin = json_begin, .rows = json_rows, .wait = wait_for};
    struct result_handler plain = {.ctx = r, .rows = plain_rows, .wait = wait_for};

    RETURN_IF_ERR(rest_check_statement(s, err));
    if (r->detached && s->kind == STMT_SELECT)
        return err_set(err, RC_INVALID, "SELECT has nowhere to show its rows with -d: use INSERT");
    if (r->dry_run && (is_insert(s) || s->kind == STMT_SELECT))
        return session_execute(r->session, s, &plain, result, err);
    if (r->cli->json)
        return session_execute(r->session, s, &json, result, err);
    return execute_with_preview(r, s, result, err);
}

/* ---- the script
 * ----------------------------------------------------------------------------------- */

/* The exit code of a statement that failed, said; -1: its job was suspended while it was waited
 * for. */
static int say_failed(struct run *r, const struct ast_statement *s,
                      const struct statement_result *result, const struct err *err)
{
    if (err->rc == RC_CANCELLED) /* before it started, on a signal that is still to be taken */
        host_turn(&r->host);
    if (!r->waited && !(err->rc == RC_CANCELLED && r->host.wish == HOST_SUSPEND))
        return cli_fail(r->cli, err);
    if (is_insert(s) && result->job_id[0] != '\0') {
        host_watch(&r->host, result->job_id); /* its report tells all */
        host_turn(&r->host);
    }
    if (r->host.wish == HOST_SUSPEND)
        return -1;
    return is_insert(s) && result->job_id[0] != '\0'
               ? EXIT_WRONG
               : cli_error(r->cli, EXIT_WRONG, "%s", err->msg);
}

/* -1: all statements are executed; else an exit code, said. */
static int execute_script(struct run *r, const struct ast_script *script)
{
    for (uint32_t i = 0; i < script->count && r->host.wish == HOST_GO_ON; i++) {
        struct statement_result result = {0};
        struct err err = {0};
        enum rc rc;

        if (overridden(r, script->statements[i]))
            continue;
        r->waited = false;
        rc = execute(r, script->statements[i], &result, &err);
        if (rc == RC_DONE) {
            if (r->cli->json)
                cli_print_json(json_pack("{s: s, s: s}", "state", "FINISHED", "message", err.msg));
            else
                cli_say(r->cli, "%s; without --resume it starts anew", err.msg);
            continue;
        }
        if (rc != RC_OK)
            return say_failed(r, script->statements[i], &result, &err);
        r->would_not_start = r->would_not_start || result.would_not_start;
        if (result.kind == RESULT_JOB)
            say_submitted(r, &result);
        if (result.kind == RESULT_EXIT)
            break;
        if (result.kind == RESULT_HELP)
            cli_print("%s", session_help());
    }
    return -1;
}

static enum rc read_script(struct run *r, struct ast_script *out, struct err *err)
{
    const char *file = r->args.positional_count > 0 ? r->args.positional[0] : NULL;
    struct bytes text =
        bytes_of_str(given(r, "--execute") ? args_get(&r->args, "--execute")->text : "");
    struct buf content = {0};
    enum rc rc = RC_OK;

    if (file != NULL) {
        rc = cli_read_text(r->cli, file, SQL_TEXT_MAX, &content, err);
        text = buf_bytes(&content);
    }
    if (rc == RC_OK)
        rc = sql_parse_script(r->cli->arena, text, out, err);
    if (rc != RC_OK && file != NULL && content.len > 0)
        err_wrap(err, rc, "%s", file);
    if (rc == RC_OK && out->count == 0)
        rc = err_set(err, RC_INVALID, "%s has no statement", file != NULL ? file : "-e");
    buf_release(&content);
    return rc;
}

/* ---- how to go on after a suspend
 * ----------------------------------------------------------------- */

static void remember_command(struct run *r)
{
    const struct arg_option *file = args_get(&r->args, "--config"),
                            *pairs = args_get(&r->args, "--define");
    struct buf options = {0}, script = {0};

    if (file->given) {
        buf_append_str(&options, "-c ");
        cli_quote(&options, file->text);
        buf_append_u8(&options, ' ');
    }
    for (uint32_t i = 0; i < pairs->count; i++) {
        buf_append_str(&options, "-D ");
        cli_quote(&options, pairs->all[i]);
        buf_append_u8(&options, ' ');
    }
    if (r->args.positional_count == 0)
        buf_append_str(&script, "-e ");
    cli_quote(&script, r->args.positional_count > 0 ? r->args.positional[0]
                                                        : args_get(&r->args, "--execute")->text);
    r->host.resume_options = arena_strdup(r->cli->arena, buf_cstr(&options));
    r->host.resume_script = arena_strdup(r->cli->arena, buf_cstr(&script));
    buf_release(&options);
    buf_release(&script);
}

/* ---- background
 * ----------------------------------------------------------------------------------- */

/* The log of a job without a terminal goes to a file, and tells more: nobody sees the progress
 * line. -1: go on. */
static int log_to_file(struct run *r)
{
    struct cli *cli = r->cli;
    enum log_level level = given(r, "--log-level") ? cli->log_level : LOG_INFO;
    const char *dir = getenv("TMPDIR");
    struct err err = {0};

    if (cli->log_file == NULL)
        cli->log_file = arena_printf(cli->arena, "%s/varve-%ld.log",
                                     dir != NULL && dir[0] != '\0' ? dir : "/tmp", (long)getpid());
    log_free(cli->env.log);
    cli->env.log = NULL;
    return log_open(cli->log_file, level, cli->env.clock, &cli->env.log, &err) == RC_OK
               ? -1
               : cli_fail(cli, &err);
}

/* ---- all of it
 * ------------------------------------------------------------------------------------ */

static bool same_tables(const struct ast_statement *a, const struct ast_statement *b)
{
    if (a->insert_count != b->insert_count)
        return false;
    for (uint32_t i = 0; i < a->insert_count; i++)
        if (strcmp(a->inserts[i]->table, b->inserts[i]->table) != 0)
            return false;
    return true;
}

/* Two of them make jobs of one name: an explicit one, or that of the same tables. */
static bool same_name(const struct ast_statement *a, const char *a_name,
                      const struct ast_statement *b, const char *b_name)
{
    if (a_name != NULL && b_name != NULL)
        return strcmp(a_name, b_name) == 0;
    return a_name == NULL && b_name == NULL && same_tables(a, b);
}

/* Whether two INSERTs of the script make jobs of one name. */
static bool names_are_shared(const struct run *r, const struct ast_script *script)
{
    const char **names = ARENA_ARRAY(r->cli->arena, script->count + 1, const char *);
    const char *name =
        config_has(r->config, OPT_JOB_NAME) ? config_string(r->config, OPT_JOB_NAME) : NULL;

    for (uint32_t i = 0; i < script->count; i++) {
        const struct ast_statement *s = script->statements[i];
        enum option_id id;

        if (s->kind == STMT_SET && s->key != NULL && option_find(s->key, &id) && id == OPT_JOB_NAME)
            name = s->value;
        if (s->kind == STMT_RESET &&
            (s->key == NULL || (option_find(s->key, &id) && id == OPT_JOB_NAME)))
            name = NULL;
        names[i] = name;
        for (uint32_t j = 0; is_insert(s) && j < i; j++)
            if (is_insert(script->statements[j]) &&
                same_name(s, name, script->statements[j], names[j]))
                return true;
    }
    return false;
}

static int run_jobs(struct run *r, const struct ast_script *script)
{
    struct session_options options = {.resume = given(r, "--resume"),
                                      .names_shared = names_are_shared(r, script),
                                      .dry_run = r->dry_run,
                                      .dry_run_json = r->cli->json};
    int code, jobs;

    if (r->detached) {
        code = log_to_file(r);
        if (code >= 0)
            return code;
    }
    code = host_open(&r->host, r->cli, r->config, !r->dry_run, NULL);
    if (code >= 0)
        return code;
    if (r->detached)
        cli_say(r->cli, "log: %s", r->cli->log_file);
    remember_command(r);
    r->session = session_new(&r->cli->env, r->host.dispatcher, r->config, &options);
    code = execute_script(r, script);
    if (r->detached) {
        background_tell(&r->background, code < 0 ? EXIT_DONE : code);
        r->detached = false;
    }
    if (code >= 0) /* what was started before the mistake can go on later, but not alone */
        host_suspend_all(&r->host);
    jobs = host_wait_all(&r->host);
    if (code < 0 && r->would_not_start)
        return EXIT_WRONG;
    return code >= 0 ? code : jobs;
}

static int check_usage(struct run *r)
{
    if (r->args.positional_count == 1 && given(r, "--execute"))
        return cli_error(r->cli, EXIT_USAGE, "give a file or -e, not both");
    if (r->args.positional_count == 0 && !given(r, "--execute"))
        return cli_error(r->cli, EXIT_USAGE,
                         "no job: give a SQL file or -e 'STATEMENTS'; varve help run tells more");
    if (given(r, "--fromSavepoint") && given(r, "--resume"))
        return cli_error(r->cli, EXIT_USAGE,
                         "-s names the snapshot, --resume looks for the newest: give one of them");
    if (given(r, "--mapping") && !given(r, "--fromSavepoint"))
        return cli_error(r->cli, EXIT_USAGE,
                         "--mapping is about a snapshot of Flink's: give it with -s");
    if (given(r, "--rebase") && !given(r, "--fromSavepoint"))
        return cli_error(r->cli, EXIT_USAGE,
                         "--rebase is about a snapshot of Flink's: give it with -s");
    if (r->dry_run && given(r, "--detached"))
        return cli_error(r->cli, EXIT_USAGE,
                         "--dry-run starts nothing, so there is nothing for -d");
    return -1;
}

int verb_run(struct cli *cli, int argc, char **argv)
{
    struct run *r = ARENA_NEW(cli->arena, struct run);
    struct ast_script script = {0};
    struct err err = {0};
    int code;

    r->cli = cli;
    r->host.signals.fd = -1;
    code = cli_begin(cli, run_options, ARRAY_LEN(run_options), argc, argv, &r->args);
    if (code < 0)
        code = cli_expect(cli, &r->args, 0, 1);
    if (code >= 0)
        return code;
    r->dry_run = given(r, "--dry-run");
    code = check_usage(r);
    if (code >= 0)
        return code;
    if (configure(r, &err) != RC_OK || read_script(r, &script, &err) != RC_OK) {
        code = cli_fail(cli, &err);
        config_free(r->config);
        return code;
    }
    if (given(r, "--detached") && !background_start(&r->background, &code)) {
        config_free(r->config);
        return code;
    }
    r->detached = given(r, "--detached");
    code = run_jobs(r, &script);
    if (r->detached)
        background_tell(&r->background, code);
    session_free(r->session);
    if (r->host.cli != NULL)
        host_close(&r->host);
    config_free(r->config);
    return cli_finish_output(cli, code);
}
