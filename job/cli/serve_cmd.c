/* serve_cmd.c - varve serve: several jobs in one process, until SIGTERM or SIGINT suspends them.
 * See verbs.h */
#include "job/cli/verbs.h"

#include "job/cli/host.h"
#include "job/rest/sql_gateway.h"

#include <stdio.h>

static int serve(struct cli *cli, const struct config *config)
{
    struct host *h = ARENA_NEW(cli->arena, struct host);
    struct gateway *gateway = NULL;
    int code;

    h->int_is_suspend = true;
    h->no_line = true;
    code = host_open(h, cli, config, false, NULL);
    if (code < 0) {
        gateway = gateway_new(&cli->env, h->dispatcher, config);
        code = host_start_rest(h, gateway);
    }
    if (code < 0) {
        if (cli->json)
            cli_print_json(json_pack("{s: s, s: i}", "url", rest_server_url(h->rest), "port",
                                     (int)rest_server_port(h->rest)));
        host_await_signal(h);
        code = EXIT_DONE;
    }
    /* No new jobs from here on; then those that run are suspended. */
    rest_server_stop(h->rest);
    h->rest = NULL;
    gateway_free(gateway);
    if (code == EXIT_DONE) {
        host_suspend_all(h);
        host_wait_all(h);
    }
    host_close(h);
    return code;
}

int verb_serve(struct cli *cli, int argc, char **argv)
{
    static const struct arg_option options[] = {HOST_CONFIG_OPTIONS};
    struct config *config;
    struct args args;
    struct err err = {0};
    int code = cli_begin(cli, options, ARRAY_LEN(options), argc, argv, &args);

    if (code < 0)
        code = cli_expect(cli, &args, 0, 0);
    if (code >= 0)
        return code;
    if (host_config(cli, &args, &config, &err) != RC_OK)
        return cli_fail(cli, &err);
    code = serve(cli, config);
    config_free(config);
    return cli_finish_output(cli, code);
}
