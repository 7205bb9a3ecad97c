/* sql_gateway.h - SQL sessions over REST: a subset of Flink's SQL gateway, enough for `varve sql
 * -m` and curl.
 *
 * Each session has one thread, which executes its statements one after another; a SELECT without
 * end holds the next ones up until it is cancelled or closed. Rows wait to be fetched in a bounded
 * buffer; a full one holds the SELECT's own job back, and one that nobody empties for
 * GATEWAY_FETCH_IDLE_MS ends it. Jobs of INSERT outlive their session.
 *
 * Thread: gateway_* on the HTTP server's thread, new and free on main's. After:
 * SqlGatewayRestEndpoint (flink-sql-gateway). */
#ifndef VARVE_JOB_REST_SQL_GATEWAY_H
#define VARVE_JOB_REST_SQL_GATEWAY_H

#include "base/rng.h"
#include "job/sql/session.h"

#define GATEWAY_SESSIONS_MAX 64
#define GATEWAY_OPERATIONS_MAX                                                                     \
    100 /* of a session; ended ones are forgotten from the oldest past this */
#define GATEWAY_BUFFER_BYTES (4u << 20)
#define GATEWAY_FETCH_IDLE_MS 60000
#define GATEWAY_SESSION_IDLE_MS (10 * 60 * 1000)

enum operation_status {
    OPERATION_PENDING,
    OPERATION_RUNNING,
    OPERATION_FINISHED,
    OPERATION_CANCELED,
    OPERATION_CLOSED,
    OPERATION_ERROR
};
const char *operation_status_str(enum operation_status s);

struct gateway;
struct gateway *gateway_new(const struct env *env, struct dispatcher *dispatcher,
                            const struct config *config);
/* Ends the sessions: SELECTs are cancelled, other jobs go on. Before dispatcher_free. NULL is a
 * no-op. */
void gateway_free(struct gateway *g);

/* properties: pairs of keys and values that the session is SET to. RC_LIMIT: too many sessions. */
MUST_USE enum rc gateway_open_session(struct gateway *g, const char *const *keys,
                                      const char *const *values, size_t count,
                                      char session[UUID_LEN + 1], struct err *err);
MUST_USE enum rc gateway_close_session(struct gateway *g, const char *session, struct err *err);
/* Also what a heartbeat does: RC_NOT_FOUND, or it lives on. */
MUST_USE enum rc gateway_touch_session(struct gateway *g, const char *session, struct err *err);
/* The session's settings above the defaults, in the order of keys; fn is called under the lock. */
MUST_USE enum rc gateway_list_settings(struct gateway *g, const char *session, config_list_fn *fn,
                                       void *ctx, struct err *err);

/* RC_INVALID unless it is one SET, RESET, CREATE or DROP. */
MUST_USE enum rc gateway_configurable(const char *statement, struct err *err);
/* One statement; its mistakes show with the result. */
MUST_USE enum rc gateway_submit(struct gateway *g, const char *session, const char *statement,
                                char operation[UUID_LEN + 1], struct err *err);
MUST_USE enum rc gateway_operation_status(struct gateway *g, const char *session,
                                          const char *operation, enum operation_status *out,
                                          struct err *err);
MUST_USE enum rc gateway_cancel(struct gateway *g, const char *session, const char *operation,
                                struct err *err);
MUST_USE enum rc gateway_close_operation(struct gateway *g, const char *session,
                                         const char *operation, struct err *err);
/* A page of results as JSON text, appended to out. uri_prefix: what nextResultUri begins with
 * ("/v3"). RC_INVALID: a token that is neither the next nor the last one. An error of the statement
 * is that error. */
MUST_USE enum rc gateway_fetch(struct gateway *g, const char *session, const char *operation,
                               uint64_t token, const char *uri_prefix, struct buf *out,
                               struct err *err);
/* Waits until it has ended. RC_TIMEOUT. */
MUST_USE enum rc gateway_wait(struct gateway *g, const char *session, const char *operation,
                              int64_t timeout_ms, struct err *err);

#endif
