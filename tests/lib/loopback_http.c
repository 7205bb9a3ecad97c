/* loopback_http.c - see loopback_http.h */
#include "tests/lib/loopback_http.h"

#include "base/arena.h"
#include "base/thread.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define REQUESTS_MAX 64

struct loopback_http {
    const struct loopback_answer *answers;
    size_t count;
    int listener;
    uint16_t port;
    struct thread *thread;
    struct mutex mutex;
    struct buf requests[REQUESTS_MAX] GUARDED_BY(mutex);
    size_t request_count GUARDED_BY(mutex);
    bool ends GUARDED_BY(mutex);
};

const char *loopback_text(char out[LOOPBACK_TEXT_MAX], const char *status_line, const char *headers,
                          const char *body)
{
    snprintf(out, LOOPBACK_TEXT_MAX, "HTTP/1.1 %s\r\nContent-Length: %zu\r\nConnection: close\r\n%s\r\n%s",
             status_line, strlen(body), headers, body);
    return out;
}

static size_t content_length(const char *head)
{
    const char *line = strcasestr(head, "\r\ncontent-length:");

    return line == NULL ? 0 : (size_t)strtoul(line + 17, NULL, 10);
}

/* Headers and as much body as they announce. */
static void read_request(int fd, struct buf *out)
{
    char piece[4096];
    const char *end;
    ssize_t got;

    do {
        got = recv(fd, piece, sizeof piece, 0);
        if (got > 0)
            buf_append(out, piece, (size_t)got);
        end = strstr(buf_cstr(out), "\r\n\r\n");
    } while (got > 0 && (end == NULL || out->len < (size_t)(end + 4 - (const char *)out->data) +
                                                       content_length(buf_cstr(out))));
}

static void give_answer(int fd, const struct loopback_answer *answer)
{
    struct timespec pause = {answer->delay_ms / 1000, answer->delay_ms % 1000 * 1000000};
    size_t len;

    if (answer->delay_ms > 0)
        nanosleep(&pause, NULL);
    if (answer->text == NULL)
        return;
    len = strlen(answer->text) - answer->promised_more;
    for (size_t at = 0; at < len;) {
        ssize_t sent = send(fd, answer->text + at, len - at, MSG_NOSIGNAL);

        if (sent <= 0)
            return;
        at += (size_t)sent;
    }
}

static bool is_over(struct loopback_http *server)
{
    bool over;

    mutex_lock(&server->mutex);
    over = server->ends || server->request_count == server->count;
    mutex_unlock(&server->mutex);
    return over;
}

static void serve(void *arg)
{
    struct loopback_http *server = arg;

    while (!is_over(server)) {
        struct pollfd waits = {.fd = server->listener, .events = POLLIN};
        struct buf request = {0};
        size_t i;
        int fd;

        if (poll(&waits, 1, 20) <= 0)
            continue;
        fd = accept(server->listener, NULL, NULL);
        if (fd < 0)
            continue;
        read_request(fd, &request);
        mutex_lock(&server->mutex);
        i = server->request_count++;
        server->requests[i] = request;
        mutex_unlock(&server->mutex);
        give_answer(fd, &server->answers[i]);
        shutdown(fd, SHUT_RDWR);
        close(fd);
    }
    close(server->listener); /* who comes now is refused */
}

struct loopback_http *loopback_http_new(const struct loopback_answer *answers, size_t count)
{
    struct loopback_http *server = mem_calloc(1, sizeof *server);
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof here;

    ASSERT(count <= REQUESTS_MAX);
    server->answers = answers;
    server->count = count;
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT(server->listener >= 0);
    ASSERT(bind(server->listener, (struct sockaddr *)&here, sizeof here) == 0);
    ASSERT(listen(server->listener, 16) == 0);
    ASSERT(getsockname(server->listener, (struct sockaddr *)&here, &len) == 0);
    server->port = ntohs(here.sin_port);
    mutex_init(&server->mutex);
    server->thread = thread_start("loopback", serve, server);
    return server;
}

void loopback_http_free(struct loopback_http *server)
{
    if (server == NULL)
        return;
    mutex_lock(&server->mutex);
    server->ends = true;
    mutex_unlock(&server->mutex);
    thread_join(server->thread);
    for (size_t i = 0; i < server->request_count; i++)
        buf_release(&server->requests[i]);
    mutex_release(&server->mutex);
    mem_free(server);
}

uint16_t loopback_http_port(const struct loopback_http *server)
{
    return server->port;
}

const char *loopback_http_request(struct loopback_http *server, size_t i)
{
    const char *text = "";

    mutex_lock(&server->mutex);
    if (i < server->request_count)
        text = buf_cstr(&server->requests[i]);
    mutex_unlock(&server->mutex);
    return text;
}

size_t loopback_http_count(struct loopback_http *server)
{
    size_t count;

    mutex_lock(&server->mutex);
    count = server->request_count;
    mutex_unlock(&server->mutex);
    return count;
}
