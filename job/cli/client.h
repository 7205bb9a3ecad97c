/* client.h - REST calls to a running varve: whole requests, whole answers, with limits.
 *
 * libcurl behind it; no proxy is used. Thread: one at a time for one client. */
#ifndef VARVE_JOB_CLI_CLIENT_H
#define VARVE_JOB_CLI_CLIENT_H

#include "base/env.h"
#include "base/json.h"

#define CLIENT_DEFAULT_TARGET "localhost:8081"
#define CLIENT_ANSWER_MAX (64u << 20)
#define CLIENT_CONNECT_TIMEOUT_MS 5000
#define CLIENT_CALL_TIMEOUT_MS 120000

struct client;
/* "host:port", "host" (port 8081), or a http:// URL of the two. RC_INVALID: not such a thing. */
MUST_USE enum rc client_open(const struct env *env, const char *target, struct client **out,
                             struct err *err);
void client_close(struct client *c);               /* NULL is a no-op */
const char *client_target(const struct client *c); /* "localhost:8081" */

/* One call. body may be NULL; it is borrowed. *answer is the caller's when RC_OK (an empty answer
 * is {}). RC_IO: nobody answers; RC_TIMEOUT; RC_NOT_FOUND, RC_INVALID, RC_STATE: 404, 400, 409;
 * RC_CORRUPT: 5xx or no JSON. The message is the server's. */
MUST_USE enum rc client_call(struct client *c, const char *method, const char *path,
                             const json_t *body, json_t **answer, struct err *err);
/* Wait before the next look at something under way: grows from 20 ms to 1 s. tries: looks so far.
 */
void client_back_off(struct client *c, uint32_t tries);

#endif
