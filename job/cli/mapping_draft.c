/* mapping_draft.c - see mapping_draft.h: the script is executed up to its INSERT, which starts nothing. */
#include "job/cli/mapping_draft.h"

#include "job/cli/host.h"
#include "job/cli/rebase.h"
#include "job/runtime/restore_flink.h"
#include "job/sql/parser.h"

static enum rc print_rows(void *ctx UNUSED, const struct batch *b, struct err *err UNUSED)
{
    for (uint32_t i = 0; i < b->rows; i++) {
        struct bytes text = column_bytes(&b->columns[0], i);

        cli_print_bytes(text);
        if (text.len == 0 || text.data[text.len - 1] != '\n')
            cli_print("\n");
    }
    return RC_OK;
}

static bool is_insert(const struct ast_statement *s)
{
    return s->kind == STMT_INSERT || s->kind == STMT_STATEMENT_SET;
}

/* What comes before the INSERT makes its tables and settings; what would show rows is passed over. */
static bool is_asked(const struct ast_statement *s)
{
    return is_insert(s) || s->kind == STMT_SET || s->kind == STMT_RESET ||
           s->kind == STMT_CREATE_TABLE || s->kind == STMT_CREATE_VIEW || s->kind == STMT_DROP_TABLE ||
           s->kind == STMT_DROP_VIEW;
}

static enum rc draft_for(struct session *session, const struct ast_script *script, struct err *err)
{
    struct result_handler none = {0}, shown = {.rows = print_rows};

    for (uint32_t i = 0; i < script->count; i++) {
        const struct ast_statement *s = script->statements[i];
        struct statement_result result = {0};

        if (!is_asked(s))
            continue;
        RETURN_IF_ERR(session_execute(session, s, is_insert(s) ? &shown : &none, &result, err));
        if (is_insert(s))
            return RC_OK;
    }
    return err_set(err, RC_INVALID, "the script has no INSERT, so there is no job");
}

static enum rc draft_for_script(struct cli *cli, const struct config *config, const char *path,
                                const char *job_file, struct err *err)
{
    struct session_options options = {.draft_of = path};
    struct ast_script script = {0};
    struct session *session;
    struct buf content = {0};
    enum rc rc = cli_read_text(cli, job_file, SQL_TEXT_MAX, &content, err);

    if (rc == RC_OK)
        rc = sql_parse_script(cli->arena, buf_bytes(&content), &script, err);
    if (rc == RC_OK) {
        session = session_new(&cli->env, NULL, config, &options);
        rc = draft_for(session, &script, err);
        session_free(session);
    }
    if (rc != RC_OK && content.len > 0)
        err_wrap(err, rc, "%s", job_file);
    buf_release(&content);
    return rc;
}

int mapping_draft(struct cli *cli, const struct args *args, const char *path, const char *job_file)
{
    struct config *config = NULL;
    struct buf text = {0};
    struct err err = {0};
    const struct arg_option *rebase = args_get(args, "--rebase");
    enum rc rc = host_config(cli, args, &config, &err);

    if (rc == RC_OK && rebase->given)
        rc = config_set(config, CONFIG_COMMAND_LINE, option_at(OPT_RESTORE_REBASE)->key,
                        rebase_join(cli, rebase), &err);
    if (rc == RC_OK && job_file != NULL)
        rc = draft_for_script(cli, config, path, job_file, &err);
    else if (rc == RC_OK)
        rc = restore_flink_draft(&cli->env, config, NULL, path, &text, &err);
    if (rc == RC_OK) /* half a mapping is none */
        cli_print_bytes(buf_bytes(&text));
    buf_release(&text);
    config_free(config);
    return rc == RC_OK ? EXIT_DONE : cli_fail(cli, &err);
}
