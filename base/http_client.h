/* http_client.h - requests over HTTP(S) by libcurl: bounded answers, timeouts, retries.
 *
 * One request is one buffer out and one buffer in. A connection that makes no progress for stall_timeout_ms is given
 * up. Tried again, with growing pauses (a quarter of them random, Retry-After of the server respected): what could not
 * be sent at all, and of requests marked `retry` whatever ended without a whole answer or with a status that
 * may pass (408, 429, 500, 502, 503, 504). Once the tries of a request are used up, others are tried once only until one works: who
 * cleans up behind a server that is gone does not wait for it each time. Secrets never reach messages: see http_url_shown.
 * Thread: a client from any thread (it keeps idle connections under a mutex); a request belongs to its caller. After a
 * fork the child has connections of its own.
 */
#ifndef VARVE_BASE_HTTP_CLIENT_H
#define VARVE_BASE_HTTP_CLIENT_H

#include "base/bytes.h"
#include "base/clock.h"

struct http_client; /* opaque */
struct http_client_config {
    struct clock *clock; /* borrowed; for pauses and timeouts */
    uint64_t seed;       /* of the random part of pauses */
    const char *user_agent;
    const char *ca_file; /* PEM, of the authorities that https servers are trusted for; NULL: the system's */
    int64_t connect_timeout_ms;
    int64_t stall_timeout_ms; /* no byte for so long */
    int64_t total_timeout_ms; /* no further try after so long; 0: no limit */
    uint32_t tries;           /* at least 1 */
    int64_t backoff_first_ms, backoff_max_ms;
};
struct http_client *http_client_new(const struct http_client_config *config);
void http_client_free(struct http_client *client); /* no request may be under way */

struct http_header {
    const char *name, *value;
};
struct http_headers_out; /* opaque; see `sign` */
/* RC_INVALID: a line end in name or value. */
MUST_USE enum rc http_headers_out_add(struct http_headers_out *out, const char *name,
                                      const char *value, struct err *err);
/* What goes out; all borrowed. Of headers, Content-Type and Expect are sent only when they stand here. */
struct http_request {
    const char *method; /* "GET", "PUT", .. */
    const char *url;    /* whole, escaped; http or https */
    const struct http_header *headers;
    size_t header_count;
    struct bytes body;
    bool has_body;           /* a PUT or POST without one says Content-Length: 0 */
    bool follow_redirects;   /* at most 5, with the same method */
    bool retry;              /* idempotent: may be tried again whatever happened; else sent once, on a new connection */
    bool once;               /* never tried again after a pause: the caller does, with http_client_pause */
    size_t answer_max_bytes; /* of a 2xx answer: RC_LIMIT past it; of others the first 64 KiB are kept */
    /* NULL, or called before every try, to add headers that hold for this one (a signature with the time). */
    enum rc (*sign)(void *ctx, const struct http_request *request, struct http_headers_out *out,
                    struct err *err);
    void *sign_ctx;
};
/* `= {0}` is empty. */
struct http_answer {
    int status;
    uint32_t tries; /* more than one: an earlier one may have been carried out without its answer reaching us. Counts
                       one too many when a kept connection was found closed: no more can be known then */
    struct buf body;
    struct buf headers; /* read by http_answer_header */
};
void http_answer_release(struct http_answer *answer);
/* Value of a header of the (last) answer, its name in any case; NULL: none. Until the answer is released. */
const char *http_answer_header(const struct http_answer *answer, const char *name);
/* RC_OK: an answer came, whatever its status, after retries of those that may pass. RC_IO, RC_TIMEOUT: none did. RC_LIMIT:
 * it is too long. `out` is emptied first and must be released whatever the code. */
MUST_USE enum rc http_send(struct http_client *client, const struct http_request *request,
                           struct http_answer *out, struct err *err);

/* Before a caller's own next try: waits as http_send would, and gives true; false: the tries are used up, or the time
 * since start_mono_ns (of the client's clock). */
bool http_client_pause(struct http_client *client, int64_t start_mono_ns, uint32_t tries_made);
/* A status that may be another one in a moment. */
bool http_status_may_pass(int status);
/* The pause before the next try in ms: first doubled with each try made, at most max, of which a quarter is random. */
int64_t http_backoff_ms(int64_t first_ms, int64_t max_ms, uint32_t tries_made, uint64_t random);
/* Appends the URL as it may stand in a message: without user information, and without the values of query
 * parameters that grant something. */
void http_url_shown(const char *url, struct buf *out);
/* Appends text with every byte but letters, digits, "-._~" and those in `keep` as %XX. */
void http_escape(struct buf *out, struct bytes text, const char *keep);
/* "Sun, 06 Nov 1994 08:49:37 GMT" (header Date) as ms since the epoch; RC_CORRUPT for anything else. */
MUST_USE enum rc http_date_parse(const char *text, int64_t *wall_ms, struct err *err);

#endif
