/* loopback_http.h - a server on 127.0.0.1 that gives prepared answers, one a connection, in order, and
 * keeps what it was asked. Its thread ends with the last answer or by loopback_http_free. */
#ifndef VARVE_TESTS_LIB_LOOPBACK_HTTP_H
#define VARVE_TESTS_LIB_LOOPBACK_HTTP_H

#include "base/bytes.h"

struct loopback_http; /* opaque */
struct loopback_answer {
    const char *text;     /* status line, headers, body; NULL: the connection is closed without a word */
    int64_t delay_ms;     /* before it */
    size_t promised_more; /* said by Content-Length but not sent */
};
/* "HTTP/1.1 <status_line>", Content-Length and Connection: close before `body`; headers: "A: b\r\n". */
#define LOOPBACK_TEXT_MAX 4096
const char *loopback_text(char out[LOOPBACK_TEXT_MAX], const char *status_line, const char *headers,
                          const char *body);
/* answers: borrowed until _free. */
struct loopback_http *loopback_http_new(const struct loopback_answer *answers, size_t count);
void loopback_http_free(struct loopback_http *server);
uint16_t loopback_http_port(const struct loopback_http *server);
/* Whole text of request i, headers and body; "" when it never came. Until _free. Waits for nothing: the
 * request came before its answer did. */
const char *loopback_http_request(struct loopback_http *server, size_t i);
size_t loopback_http_count(struct loopback_http *server);

#endif
