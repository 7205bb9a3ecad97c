/* http.h - an HTTP server on localhost with libmicrohttpd behind it: takes whole requests, gives
 * whole answers.
 *
 * Requests are limited in count, size and time; a handler never sees one that is not complete. What
 * a browser sends for a page from elsewhere may only read (403 else): otherwise any page that its
 * user visits could run SQL here. Thread: handlers run on the server's one thread, one at a time.
 */
#ifndef VARVE_JOB_REST_HTTP_H
#define VARVE_JOB_REST_HTTP_H

#include "base/arena.h"
#include "base/env.h"

#define HTTP_BODY_MAX (1u << 20)
#define HTTP_CONNECTIONS_MAX 64u
#define HTTP_IDLE_S 30u
#define HTTP_QUERY_MAX 32u
#define HTTP_LINGER_MS 1000 /* for answers under way when the server stops */

struct http_query {
    const char *key, *value; /* decoded; value "" when absent */
};
struct http_request {
    struct arena *arena;       /* lives until the answer is sent */
    const char *method, *path; /* path decoded, without the query */
    struct http_query query[HTTP_QUERY_MAX];
    uint32_t query_count;
    struct bytes body;
};
struct http_answer {
    int status;               /* 200 unless set */
    const char *content_type; /* "application/json; charset=UTF-8" unless set */
    struct buf body;
};
typedef void http_handler(void *ctx, const struct http_request *, struct http_answer *);

struct http_server;
/* Binds to `address` ("localhost", "127.0.0.1", "0.0.0.0") and port (0: any free one). RC_EXISTS:
 * the port is taken; RC_IO else. */
MUST_USE enum rc http_server_start(const struct env *env, const char *address, uint16_t port,
                                   http_handler *handler, void *ctx, struct http_server **out,
                                   struct err *err);
uint16_t http_server_port(const struct http_server *s);
/* Waits for answers under way, HTTP_LINGER_MS at most; NULL is a no-op. */
void http_server_stop(struct http_server *s);
/* Value of a query parameter; NULL: absent. */
const char *http_query(const struct http_request *r, const char *key);

#endif
