/* sql_cmd.c - varve sql: statements of a file, of the command line or of a user at a terminal. See
 * verbs.h */
#include "job/cli/verbs.h"

#include "job/cli/line_reader.h"
#include "job/cli/result_table.h"
#include "job/cli/sql_engine.h"
#include "job/rest/row_json.h"
#include "job/sql/parser.h"
#include "job/sql/preview.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct sql_client {
    struct cli *cli;
    struct sql_engine *engine;
    bool interactive;
    /* The result under way. */
    struct preview *preview;
    struct result_handler shown; /* preview's */
    struct result_table *table;  /* result mode TABLE of a query whose rows change */
    const struct schema *schema;
    int mode;
};

static const struct arg_option sql_options[] = {
    {.name = "--file",
     .alias = "-f",
     .value = "FILE",
     .help = "the statements of this file (- is standard input)"},
    {.name = "--execute", .alias = "-e", .value = "STATEMENTS", .help = "these statements"},
    {.name = "--target",
     .alias = "-m",
     .value = "HOST:PORT",
     .help = "in the varve serve there, not in this process"},
    {.name = "--history",
     .alias = "-hist",
     .value = "FILE",
     .help = "history of the prompt (default ~/.varve-sql-history)"},
    HOST_CONFIG_OPTIONS,
};

/* ---- results
 * --------------------------------------------------------------------------------------- */

/* As set; without a setting rows are shown as they come. */
static int result_mode(struct sql_client *c)
{
    const struct config *config = c->engine->ops->config(c->engine);

    return config_source(config, OPT_SQL_RESULT_MODE) == CONFIG_DEFAULT
               ? RESULT_TABLEAU
               : config_enum(config, OPT_SQL_RESULT_MODE);
}

static enum rc on_begin(void *ctx, const struct schema *schema,
                        const struct statement_result *result, struct err *err)
{
    struct sql_client *c = ctx;
    struct statement_result shown = *result;

    c->schema = schema;
    if (c->cli->json)
        return RC_OK;
    if (result->kind == RESULT_QUERY && c->mode == RESULT_TABLE && !result->batch) {
        shown.batch = true; /* the rows of a table, once */
        if (result->updating)
            c->table = result_table_new(
                schema, (uint32_t)config_int(c->engine->ops->config(c->engine), OPT_SQL_MAX_ROWS));
        if (c->interactive)
            cli_say(c->cli, "the table is shown when the query ends; Ctrl-C ends it");
    }
    if (result->kind == RESULT_QUERY && c->mode == RESULT_CHANGELOG)
        shown.batch = false;
    return c->shown.begin(c->shown.ctx, schema, &shown, err);
}

static enum rc on_rows(void *ctx, const struct batch *b, struct err *err)
{
    struct sql_client *c = ctx;

    if (c->table != NULL) {
        result_table_add(c->table, b);
        return RC_OK;
    }
    if (!c->cli->json)
        return c->shown.rows(c->shown.ctx, b, err);
    for (uint32_t i = 0; i < b->rows; i++) {
        json_t *o = row_object_json(c->schema, b, i);

        if (b->kinds != NULL)
            o = json_pack("{s: s, s: o}", "op", row_kind_str(batch_kind(b, i)), "row", o);
        cli_print_json(o);
    }
    return RC_OK;
}

static enum rc show_end(struct sql_client *c, struct statement_result *result, struct err *err)
{
    if (c->table != NULL) {
        RETURN_IF_ERR(result_table_emit(c->table, c->shown.rows, c->shown.ctx, err));
        result->row_count = result_table_rows(c->table);
        result->batch = true;
        if (result_table_dropped(c->table) > 0)
            cli_say(c->cli,
                    "%llu older rows are left out: sql-client.execution.max-table-result.rows",
                    (unsigned long long)result_table_dropped(c->table));
    } else if (result->kind == RESULT_QUERY && c->mode != RESULT_TABLEAU) {
        result->batch = c->mode == RESULT_TABLE;
    }
    if (c->cli->json) {
        if (result->kind == RESULT_JOB)
            cli_print_json(json_pack("{s: s}", "jid", result->job_id));
        return RC_OK;
    }
    if (c->cli->quiet && (result->kind == RESULT_OK || result->kind == RESULT_JOB)) {
        if (result->kind == RESULT_JOB)
            cli_print("%s\n", result->job_id);
        return RC_OK;
    }
    return preview_end(c->preview, result, err);
}

/* ---- statements
 * ------------------------------------------------------------------------------------ */

static enum rc run_statement(struct sql_client *c, const struct ast_statement *s, bool *quit,
                             struct err *err)
{
    struct result_handler handler = {.ctx = c, .begin = on_begin, .rows = on_rows};
    const struct config *config = c->engine->ops->config(c->engine);
    int64_t start = clock_mono_ns(c->cli->env.clock);
    struct statement_result result = {0};
    bool interrupted = false;
    enum rc rc;

    c->preview = preview_new(c->cli->env.fs, host_write_stdout, NULL,
                             (uint32_t)config_int(config, OPT_SQL_MAX_ROWS));
    c->shown = preview_handler(c->preview);
    c->mode = result_mode(c);
    rc = c->engine->ops->execute(c->engine, s, &handler, &result, &interrupted, err);
    if (rc == RC_OK && result.kind == RESULT_HELP)
        cli_print("%s", session_help());
    else if (rc == RC_OK && result.kind == RESULT_EXIT)
        *quit = true;
    else if (rc == RC_OK)
        rc = show_end(c, &result, err);
    if (rc == RC_OK && interrupted)
        cli_say(c->cli, "the query was ended");
    config = c->engine->ops->config(c->engine);
    if (rc == RC_OK && result.kind == RESULT_QUERY && config_bool(config, OPT_SQL_TIME_COST))
        cli_say(c->cli, "(%.2f seconds)",
                (double)(clock_mono_ns(c->cli->env.clock) - start) / NS_PER_S);
    fflush(stdout);
    result_table_free(c->table);
    c->table = NULL;
    preview_free(c->preview);
    c->preview = NULL;
    return rc;
}

static void say_error(struct sql_client *c, const struct err *err)
{
    const struct config *config = c->engine->ops->config(c->engine);

    fflush(stdout);
    fprintf(stderr, c->cli->colour ? "\033[1;31m[ERROR]\033[0m " : "[ERROR] ");
    fprintf(stderr, "Could not execute SQL statement. Reason:\n%s\n", err->msg);
    if (config_bool(config, OPT_SQL_VERBOSE))
        fprintf(stderr, "(code %s%s%s)\n", rc_name(err->rc), err->os_errno != 0 ? ", system: " : "",
                err->os_errno != 0 ? strerror(err->os_errno) : "");
}

/* Whole statements. false: stop (the end was asked for, or an error with nobody to go on). */
static bool run_text(struct sql_client *c, struct bytes text, bool *failed)
{
    struct arena *arena = arena_new(0);
    struct ast_script script = {0};
    struct err err = {0};
    bool quit = false;
    enum rc rc = sql_parse_script(arena, text, &script, &err);

    for (uint32_t i = 0;
         rc == RC_OK && i < script.count && !quit && !c->engine->ops->ending(c->engine); i++)
        rc = run_statement(c, script.statements[i], &quit, &err);
    if (rc != RC_OK && !c->engine->ops->ending(c->engine)) {
        say_error(c, &err);
        *failed = true;
    }
    arena_free(arena);
    return !quit && (c->interactive || rc == RC_OK);
}

/* ---- at a terminal
 * --------------------------------------------------------------------------------- */

static const char *history_path(struct sql_client *c, const struct args *args)
{
    const char *home = getenv("HOME");

    if (args_get(args, "--history")->given)
        return args_get(args, "--history")->text;
    return home != NULL && home[0] != '\0'
               ? arena_printf(c->cli->arena, "%s/.varve-sql-history", home)
               : NULL;
}

static bool blank(struct bytes text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] != ' ' && text.data[i] != '\t' && text.data[i] != '\r' &&
            text.data[i] != '\n')
            return false;
    return true;
}

static int converse(struct sql_client *c, const struct args *args)
{
    struct line_reader *lines = NULL;
    struct buf text = {0};
    struct bytes line;
    struct err err = {0};
    bool failed = false, on = true;

    if (line_reader_open(c->cli, c->engine, history_path(c, args), &lines, &err) != RC_OK)
        return cli_fail(c->cli, &err);
    cli_say(c->cli, "varve %s; statements end with a semicolon; HELP; lists them, QUIT; leaves",
            VARVE_VERSION);
    while (on && !c->engine->ops->ending(c->engine)) {
        enum line_end end = line_reader_next(lines, text.len == 0 ? "varve> " : "     > ", &line);
        size_t whole;

        if (end == LINE_EOF) {
            cli_print("\n");
            break;
        }
        if (end == LINE_ABANDONED) {
            buf_clear(&text);
            continue;
        }
        buf_append(&text, line.data, line.len);
        whole = sql_complete_statements(buf_bytes(&text));
        if (whole > 0) {
            line_reader_remember(lines, buf_bytes(&text));
            on = run_text(c, bytes_of(text.data, whole), &failed);
            memmove(text.data, text.data + whole, text.len - whole);
            text.len -= whole;
        }
        if (blank(buf_bytes(&text)))
            buf_clear(&text);
    }
    line_reader_close(lines);
    buf_release(&text);
    return EXIT_DONE;
}

/* ---- the verb
 * -------------------------------------------------------------------------------------- */

static int run_script(struct sql_client *c, const char *file, const char *statements)
{
    struct buf text = {0};
    struct err err = {0};
    bool failed = false;
    int code = EXIT_DONE;

    if (statements != NULL)
        buf_append_str(&text, statements);
    else if (cli_read_text(c->cli, file, SQL_TEXT_MAX, &text, &err) != RC_OK)
        code = cli_fail(c->cli, &err);
    if (code == EXIT_DONE)
        run_text(c, buf_bytes(&text), &failed);
    buf_release(&text);
    return failed ? EXIT_WRONG : code;
}

static int open_engine(struct sql_client *c, const struct args *args)
{
    const struct arg_option *target = args_get(args, "--target");
    int code = EXIT_DONE;

    if (!target->given) {
        c->engine = sql_engine_embedded(c->cli, args, &code);
    } else {
        if (args_get(args, "--config")->given)
            return cli_error(c->cli, EXIT_USAGE,
                             "-c is for this process: with -m give options with -D");
        c->engine = sql_engine_remote(c->cli, args, target->text, &code);
    }
    return c->engine != NULL ? -1 : code;
}

int verb_sql(struct cli *cli, int argc, char **argv)
{
    struct sql_client c = {.cli = cli};
    const char *file, *statements;
    struct args args;
    int code = cli_begin(cli, sql_options, ARRAY_LEN(sql_options), argc, argv, &args), jobs;

    if (code < 0)
        code = cli_expect(cli, &args, 0, 0);
    if (code >= 0)
        return code;
    file = args_get(&args, "--file")->text;
    statements = args_get(&args, "--execute")->text;
    if (file != NULL && statements != NULL)
        return cli_error(cli, EXIT_USAGE, "give -f or -e, not both");
    if (file == NULL && statements == NULL && !isatty(STDIN_FILENO))
        file = "-";
    c.interactive = file == NULL && statements == NULL;
    code = open_engine(&c, &args);
    if (code >= 0)
        return code;
    code = c.interactive ? converse(&c, &args) : run_script(&c, file, statements);
    jobs = c.engine->ops->finish(c.engine, !c.interactive && code == EXIT_DONE);
    c.engine->ops->close(c.engine);
    return cli_finish_output(cli, code != EXIT_DONE ? code : jobs);
}
