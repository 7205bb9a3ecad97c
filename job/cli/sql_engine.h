/* sql_engine.h - what `varve sql` talks to: a session in this process, or one of a varve serve.
 *
 * Thread: main's; rows come as session.h says. */
#ifndef VARVE_JOB_CLI_SQL_ENGINE_H
#define VARVE_JOB_CLI_SQL_ENGINE_H

#include "job/cli/host.h"

struct sql_engine; /* first member is its ops */
struct sql_engine_ops {
    /* As session_execute; handler's wait is not used. Ctrl-C ends a SELECT: then *interrupted, and
     * RC_OK. */
    enum rc (*execute)(struct sql_engine *, const struct ast_statement *,
                       const struct result_handler *, struct statement_result *, bool *interrupted,
                       struct err *);
    /* Settings as the session has them, until the next execute. */
    const struct config *(*config)(struct sql_engine *);
    void (*complete)(struct sql_engine *, const char *prefix,
                     void (*fn)(void *ctx, const char *name), void *ctx);
    /* Called about every minute while the user types nothing. */
    void (*idle)(struct sql_engine *);
    /* SIGTERM has come. */
    bool (*ending)(struct sql_engine *);
    /* Nothing more to execute. wait: for the jobs that were started (else what runs here is
     * suspended). The exit code of the jobs. */
    int (*finish)(struct sql_engine *, bool wait);
    void (*close)(struct sql_engine *);
};
struct sql_engine {
    const struct sql_engine_ops *ops;
    struct signals *signals; /* SIGINT and SIGTERM, for whoever waits for keys */
};
/* NULL: *exit_code, after a message. */
struct sql_engine *sql_engine_embedded(struct cli *cli, const struct args *args, int *exit_code);
struct sql_engine *sql_engine_remote(struct cli *cli, const struct args *args, const char *target,
                                     int *exit_code);

#endif
