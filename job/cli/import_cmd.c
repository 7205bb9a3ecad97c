/* import_cmd.c - what `varve run -s` starts to read a snapshot of Flink's in a process of its own: no
 * verb, only varve says the word. See job/runtime/restore_flink.h */
#include "checkpoint/flink/flink_import_order.h"
#include "job/cli/verbs.h"

#include <unistd.h>

/* Snapshot and directory may be reached by the drivers that the job's settings tell. */
static enum rc set_up(struct cli *cli, const struct import_order *o, struct config *config,
                      struct err *err)
{
    for (size_t i = 0; i < o->setting_count; i++)
        RETURN_IF_ERR(config_set(config, CONFIG_COMMAND_LINE, o->settings[i].key,
                                 o->settings[i].value, err));
    remote_fs_configure(cli->remote, config);
    return RC_OK;
}

static enum rc import(struct cli *cli, const char *parent, struct err *err)
{
    struct buf request = {0}, answer = {0};
    struct config *config = config_new();
    struct import_answer found;
    struct import_order order = {0};
    enum rc rc;

    GOTO_IF_ERR(own_program_follow(parent, err));
    GOTO_IF_ERR(own_program_request(IMPORT_ORDER_BYTES_MAX, &request, err));
    GOTO_IF_ERR(import_order_get(buf_bytes(&request), cli->arena, &order, err));
    GOTO_IF_ERR(set_up(cli, &order, config, err));
    cli->env.log = log_new(STDERR_FILENO, LOG_WARN, cli->env.clock);
    flink_import_carry_out(&cli->env, &order, cli->arena, &found);
    import_answer_put(&found, &answer);
    rc = own_program_answer(buf_bytes(&answer), err);
out:
    buf_release(&request);
    buf_release(&answer);
    config_free(config);
    return rc;
}

int verb_import(struct cli *cli, int argc, char **argv)
{
    struct err err = {0};

    if (argc != 2 || import(cli, argv[1], &err) != RC_OK)
        return cli_error(cli, EXIT_USAGE, "%s: %s", argv[0],
                         err.msg[0] != '\0' ? err.msg : "varve alone starts it");
    return EXIT_DONE;
}
