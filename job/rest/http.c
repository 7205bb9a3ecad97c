/* http.c - see http.h */
#include "job/rest/http.h"

#include "base/thread.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

struct http_server {
    const struct env *env;
    char address[64]; /* as configured */
    struct MHD_Daemon *daemon;
    http_handler *handler;
    void *ctx;
    uint16_t port;
    struct mutex mutex;
    struct cond answered;
    uint32_t open_requests; /* begun and not answered to the end; under the mutex */
};
/* One request while its body comes in. */
struct exchange {
    struct arena *arena;
    struct buf body;
    bool too_large, foreign;
};

static enum MHD_Result add_query(void *ctx, enum MHD_ValueKind kind, const char *key,
                                 const char *value)
{
    struct http_request *r = ctx;

    (void)kind;
    if (r->query_count < HTTP_QUERY_MAX) {
        r->query[r->query_count].key = arena_strdup(r->arena, key);
        r->query[r->query_count++].value = arena_strdup(r->arena, value != NULL ? value : "");
    }
    return MHD_YES;
}

const char *http_query(const struct http_request *r, const char *key)
{
    for (uint32_t i = 0; i < r->query_count; i++)
        if (strcmp(r->query[i].key, key) == 0)
            return r->query[i].value;
    return NULL;
}

static enum MHD_Result send_answer(struct MHD_Connection *connection, struct http_answer *answer,
                                   bool head)
{
    struct MHD_Response *response;
    enum MHD_Result result;

    (void)head; /* libmicrohttpd leaves the body out of the answer to HEAD itself */
    response = MHD_create_response_from_buffer(
        answer->body.len, answer->body.len > 0 ? answer->body.data : (void *)"",
        MHD_RESPMEM_MUST_COPY);
    if (response == NULL)
        return MHD_NO;
    MHD_add_response_header(response, "Content-Type", answer->content_type);
    MHD_add_response_header(response, "Access-Control-Allow-Origin", "*");
    result = MHD_queue_response(connection, (unsigned)answer->status, response);
    MHD_destroy_response(response);
    return result;
}

static bool announces_too_much(struct MHD_Connection *connection)
{
    const char *length = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length");

    return length != NULL && strtoull(length, NULL, 10) > HTTP_BODY_MAX;
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* A browser says which page asks, in Origin; other clients have none. Its own page is one that came
 * from the host that is asked, under a name that can only be this machine's: any other name may
 * have been pointed here by the page itself. */
static bool is_foreign(const struct http_server *s, struct MHD_Connection *connection,
                       const char *method)
{
    const char *origin = header(connection, "Origin"), *host = header(connection, "Host"), *at;
    const char *const own[] = {"localhost", "127.0.0.1", s->address};
    size_t len;

    if (origin == NULL || strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0)
        return false;
    at = strstr(origin, "://");
    if (at == NULL || host == NULL || strcasecmp(at + 3, host) != 0)
        return true;
    len = strcspn(host, ":");
    for (size_t i = 0; i < ARRAY_LEN(own); i++)
        if (strlen(own[i]) == len && strncasecmp(own[i], host, len) == 0)
            return false;
    return true;
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload_data,
                                  size_t *upload_data_size, void **state)
{
    struct http_server *s = ctx;
    struct exchange *x = *state;
    struct http_request request = {.method = method, .path = url};
    struct http_answer answer = {.status = 200, .content_type = "application/json; charset=UTF-8"};
    enum MHD_Result result;

    (void)version;
    if (x == NULL) { /* headers are in, the body comes next */
        x = mem_calloc(1, sizeof *x);
        x->arena = arena_new(0);
        *state = x;
        mutex_lock(&s->mutex);
        s->open_requests++;
        mutex_unlock(&s->mutex);
        x->too_large = announces_too_much(connection);
        x->foreign = is_foreign(s, connection, method);
        if (!x->too_large && !x->foreign)
            return MHD_YES; /* else answered at once: the server then closes and reads no more */
    }
    if (*upload_data_size > 0) {
        if (x->body.len + *upload_data_size > HTTP_BODY_MAX)
            x->too_large = true;
        else
            buf_append(&x->body, upload_data, *upload_data_size);
        *upload_data_size = 0;
        return MHD_YES;
    }
    if (x->foreign) {
        answer.status = 403;
        buf_append_str(&answer.body, "{\"errors\":[\"a web page from elsewhere may only read\"]}");
    } else if (x->too_large) {
        answer.status = 413;
        buf_printf(&answer.body, "{\"errors\":[\"the request body is larger than %u bytes\"]}",
                   HTTP_BODY_MAX);
    } else {
        request.arena = x->arena;
        request.body = buf_bytes(&x->body);
        MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, add_query, &request);
        s->handler(s->ctx, &request, &answer);
    }
    result = send_answer(connection, &answer, strcmp(method, "HEAD") == 0);
    buf_release(&answer.body);
    return result;
}

static void on_completed(void *ctx, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode code)
{
    struct http_server *s = ctx;
    struct exchange *x = *state;

    (void)connection;
    (void)code;
    if (x == NULL)
        return;
    mutex_lock(&s->mutex);
    s->open_requests--;
    mutex_unlock(&s->mutex);
    cond_signal(&s->answered);
    arena_free(x->arena);
    buf_release(&x->body);
    mem_free(x);
    *state = NULL;
}

/* libmicrohttpd's own complaints go to the log as lines of ours. */
static void on_log(void *ctx, const char *fmt, va_list args)
{
    struct http_server *s = ctx;
    char text[512];

    vsnprintf(text, sizeof text, fmt, args);
    log_line(s->env->log, LOG_DEBUG, "http server reason=%s", text);
}

static enum rc bind_socket(const char *address, uint16_t port, int *fd_out, struct err *err)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
    int one = 1, fd;

    if (strcmp(address, "localhost") == 0)
        a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    else if (inet_pton(AF_INET, address, &a.sin_addr) != 1)
        return err_set(err, RC_INVALID, "rest.bind-address = %s: give localhost or an IPv4 address",
                       address);
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_os(err, errno, "socket for the REST server");
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0 ||
        bind(fd, (struct sockaddr *)&a, sizeof a) != 0 || listen(fd, 64) != 0) {
        int e = errno;

        close(fd);
        if (e == EADDRINUSE)
            return err_set(err, RC_EXISTS, "rest.port = %u: the port is taken on %s", port,
                           address);
        return err_os(err, e, "bind the REST server to %s port %u", address, port);
    }
    *fd_out = fd;
    return RC_OK;
}

static void server_free(struct http_server *s)
{
    cond_release(&s->answered);
    mutex_release(&s->mutex);
    mem_free(s);
}

enum rc http_server_start(const struct env *env, const char *address, uint16_t port,
                          http_handler *handler, void *ctx, struct http_server **out,
                          struct err *err)
{
    struct sockaddr_in bound;
    socklen_t len = sizeof bound;
    struct http_server *s;
    int fd = -1;

    RETURN_IF_ERR(bind_socket(address, port, &fd, err));
    s = mem_calloc(1, sizeof *s);
    s->env = env;
    s->handler = handler;
    s->ctx = ctx;
    mutex_init(&s->mutex);
    cond_init(&s->answered);
    snprintf(s->address, sizeof s->address, "%s", address);
    if (getsockname(fd, (struct sockaddr *)&bound, &len) == 0)
        s->port = ntohs(bound.sin_port);
    s->daemon = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_ERROR_LOG,
                                 0, NULL, NULL, on_request, s, MHD_OPTION_EXTERNAL_LOGGER, on_log,
                                 s, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
                                 HTTP_CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, HTTP_IDLE_S,
                                 MHD_OPTION_NOTIFY_COMPLETED, on_completed, s, MHD_OPTION_END);
    if (s->daemon == NULL) {
        close(fd);
        server_free(s);
        return err_set(err, RC_IO, "the REST server could not start on port %u", port);
    }
    *out = s;
    return RC_OK;
}

uint16_t http_server_port(const struct http_server *s)
{
    return s->port;
}

/* Answers under way go out first: who cancels a job wants to hear it, though the program ends then.
 */
void http_server_stop(struct http_server *s)
{
    int64_t now, until;

    if (s == NULL)
        return;
    now = clock_mono_ns(s->env->clock);
    until = now + HTTP_LINGER_MS * NS_PER_MS;
    mutex_lock(&s->mutex);
    while (s->open_requests > 0 && now < until) {
        (void)cond_wait_ns(&s->answered, &s->mutex, until - now);
        now = clock_mono_ns(s->env->clock);
    }
    mutex_unlock(&s->mutex);
    MHD_stop_daemon(s->daemon); /* closes the socket too */
    server_free(s);
}
