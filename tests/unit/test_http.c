#include "base/thread.h"
#include "job/rest/http.h"
#include "tests/lib/check_ext.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_BYTES (16u << 20) /* more than a socket takes at once */

static atomic_bool asked;
static uint16_t port;
static size_t received;

static void give_much(void *ctx, const struct http_request *request, struct http_answer *answer)
{
    (void)ctx, (void)request;
    buf_reserve(&answer->body, ANSWER_BYTES);
    memset(answer->body.data, ' ', ANSWER_BYTES);
    answer->body.len = ANSWER_BYTES;
    atomic_store(&asked, true);
}

static void ask(void *arg)
{
    static const char text[] = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    static char piece[1u << 16];
    ssize_t n;

    (void)arg;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    ck_assert_int_eq(send(fd, text, sizeof text - 1, MSG_NOSIGNAL), sizeof text - 1);
    while ((n = recv(fd, piece, sizeof piece, 0)) > 0)
        received += (size_t)n;
    close(fd);
}

START_TEST(an_answer_under_way_goes_out_before_the_server_stops)
{
    struct env env = {.fs = fs_posix(), .clock = clock_posix()};
    struct http_server *s;
    struct thread *client;
    struct err err = {0};

    ck_assert_ok(http_server_start(&env, "localhost", 0, give_much, NULL, &s, &err));
    port = http_server_port(s);
    client = thread_start("client", ask, NULL);
    while (!atomic_load(&asked))
        clock_sleep_ns(env.clock, NS_PER_MS);
    http_server_stop(s);
    thread_join(client);
    ck_assert_uint_gt(received, ANSWER_BYTES);
}
END_TEST

TEST_MAIN("http", tcase_add_test(tc, an_answer_under_way_goes_out_before_the_server_stops))
