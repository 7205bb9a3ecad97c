/* routes.h - path -> handler, one table; Flink's REST shapes over the jobs of this process.
 *
 * Every path also exists below /v1. What Flink's clients and web page need of a single server is
 * here; submission of jars is not (no JVM): such paths answer 404 as an unknown path does. Thread:
 * the HTTP server's. */
#ifndef VARVE_JOB_REST_ROUTES_H
#define VARVE_JOB_REST_ROUTES_H

#include "job/rest/http.h"
#include "job/runtime/dispatcher.h"

struct rest_api; /* opaque */
struct gateway;  /* sql_gateway.h */
/* gateway NULL: no SQL sessions, their paths answer 404. All borrowed. */
struct rest_api *rest_api_new(const struct env *env, struct dispatcher *dispatcher,
                              const struct config *config, struct gateway *gateway);
void rest_api_free(struct rest_api *api);
/* Operations on jobs that were started here and whose end nobody has fetched yet. Any thread. */
uint32_t rest_api_unanswered(const struct rest_api *api);
/* An http_handler; ctx is the rest_api. */
void rest_api_handle(void *ctx, const struct http_request *request, struct http_answer *answer);

#endif
