/* rest_server.h - the REST server of this process: rest.bind-address, rest.port, the routes over a
 * dispatcher.
 *
 * When rest.port was not set and its default is taken, any free port is used. Thread: main's. */
#ifndef VARVE_JOB_REST_REST_SERVER_H
#define VARVE_JOB_REST_REST_SERVER_H

#include "job/runtime/dispatcher.h"
#include "job/sql/ast.h"

struct gateway; /* sql_gateway.h */
struct rest_server;
/* gateway NULL: no SQL sessions. config is borrowed and must outlive the server. RC_EXISTS: the
 * port that was asked for is taken; RC_INVALID: a bad address. Signals that the caller blocks stay
 * blocked in the server's thread. */
MUST_USE enum rc rest_server_start(const struct env *env, struct dispatcher *dispatcher,
                                   const struct config *config, struct gateway *gateway,
                                   struct rest_server **out, struct err *err);
uint16_t rest_server_port(const struct rest_server *s);
/* The default port was taken, so another one is used. */
bool rest_server_moved(const struct rest_server *s);
/* "http://localhost:8081"; until stop. */
const char *rest_server_url(const struct rest_server *s);
/* Savepoints, stops and checkpoints that were asked for here and whose end nobody has fetched yet.
 * Any thread. */
uint32_t rest_server_unanswered(const struct rest_server *s);
void rest_server_stop(struct rest_server *s); /* NULL is a no-op */

/* rest.* can't be SET by a statement: the server has started. RC_UNSUPPORTED says so; RC_OK for all
 * else. */
MUST_USE enum rc rest_check_statement(const struct ast_statement *s, struct err *err);

#endif
