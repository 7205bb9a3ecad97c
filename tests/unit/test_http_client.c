/* links: base */
/* http_client: what is tried again and what is not, what an answer may hold, what a message shows. */
#include "base/http_client.h"

#include "tests/lib/check_ext.h"
#include "tests/lib/loopback_http.h"
#include "tests/lib/sim_clock.h"

#define FINE "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nETag: \"e1\"\r\nConnection: close\r\n\r\nok"
#define BUSY "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

static struct sim_clock clock_;
static struct http_client *client;
static struct loopback_http *server;
static struct http_answer answer;
static struct err err;
static char url[128];

static void setup(void)
{
    struct http_client_config config = {.clock = &clock_.clock,
                                        .seed = 1,
                                        .user_agent = "varve-test",
                                        .connect_timeout_ms = 2000,
                                        .stall_timeout_ms = 20000,
                                        .tries = 3,
                                        .backoff_first_ms = 100,
                                        .backoff_max_ms = 1000};

    unsetenv("http_proxy");
    sim_clock_init(&clock_, 0);
    client = http_client_new(&config);
    answer = (struct http_answer){0};
    err = (struct err){0};
    server = NULL;
}

static void teardown(void)
{
    http_answer_release(&answer);
    http_client_free(client);
    loopback_http_free(server);
}

static struct http_request to(const char *method, const char *path)
{
    snprintf(url, sizeof url, "http://127.0.0.1:%u%s", loopback_http_port(server), path);
    return (struct http_request){
        .method = method, .url = url, .retry = true, .answer_max_bytes = 100};
}

static int64_t slept_ms(void)
{
    return (clock_.mono_ns - NS_PER_S) / NS_PER_MS;
}

START_TEST(body_and_headers_go_both_ways)
{
    static const struct loopback_answer answers[] = {{.text = FINE}};
    const struct http_header headers[] = {{"X-One", "1"}, {"X-Empty", ""}};
    struct http_request request;

    server = loopback_http_new(answers, 1);
    request = to("PUT", "/a%20b?x=1");
    request.headers = headers;
    request.header_count = 2;
    request.body = bytes_of("a\0b", 3);
    request.has_body = true;
    ck_assert_ok(http_send(client, &request, &answer, &err));
    ck_assert_int_eq(answer.status, 200);
    ck_assert_uint_eq(answer.tries, 1);
    ck_assert_bytes_str(buf_bytes(&answer.body), "ok");
    ck_assert_str_eq(http_answer_header(&answer, "etag"), "\"e1\"");
    ck_assert_ptr_null(http_answer_header(&answer, "etags"));
    ck_assert_ptr_eq(strstr(loopback_http_request(server, 0), "PUT /a%20b?x=1 HTTP/1.1\r\n"),
                     loopback_http_request(server, 0));
    ck_assert_ptr_nonnull(strstr(loopback_http_request(server, 0), "\r\nX-One: 1\r\n"));
    ck_assert_ptr_nonnull(strstr(loopback_http_request(server, 0), "\r\nX-Empty:\r\n"));
    ck_assert_ptr_nonnull(strstr(loopback_http_request(server, 0), "\r\nContent-Length: 3\r\n"));
    ck_assert_ptr_null(strstr(loopback_http_request(server, 0), "Expect"));
    ck_assert_ptr_null(strstr(loopback_http_request(server, 0), "Content-Type"));
}
END_TEST

START_TEST(a_put_without_body_says_that_it_has_none)
{
    static const struct loopback_answer answers[] = {{.text = FINE}};
    struct http_request request;

    server = loopback_http_new(answers, 1);
    request = to("PUT", "/");
    ck_assert_ok(http_send(client, &request, &answer, &err));
    ck_assert_ptr_nonnull(strstr(loopback_http_request(server, 0), "\r\nContent-Length: 0\r\n"));
}
END_TEST

/* A busy server, a lost answer, and one that was cut. */
START_TEST(what_may_pass_is_tried_again_after_pauses)
{
    static const struct loopback_answer first[] = {
        {.text = BUSY}, {.text = NULL}, {.text = FINE, .promised_more = 1}};
    struct loopback_answer answers[] = {first[_i], {.text = FINE}};
    struct http_request request;

    server = loopback_http_new(answers, 2);
    request = to("GET", "/");
    ck_assert_ok(http_send(client, &request, &answer, &err));
    ck_assert_int_eq(answer.status, 200);
    ck_assert_uint_ge(answer.tries, 2);
    ck_assert_bytes_str(buf_bytes(&answer.body), "ok");
    ck_assert_int_ge(slept_ms(), 75);
    ck_assert_int_le(slept_ms(), 100);
}
END_TEST

/* It may have been carried out. */
START_TEST(what_is_not_idempotent_is_sent_once)
{
    static const struct loopback_answer first[] = {{.text = BUSY}, {.text = NULL}};
    struct loopback_answer answers[] = {first[_i], {.text = FINE}};
    struct http_request request;
    enum rc rc;

    server = loopback_http_new(answers, 2);
    request = to("POST", "/");
    request.retry = false;
    rc = http_send(client, &request, &answer, &err);
    ck_assert_int_eq(rc, _i == 0 ? RC_OK : RC_IO);
    ck_assert_uint_eq(answer.tries, 1);
    ck_assert_uint_eq(loopback_http_count(server), 1);
}
END_TEST

/* A connection that was kept dies without a word: curl repeats by itself what may be repeated. The
 * server, which answers one request a connection, is asked on a kept one by leaving Connection: close out. */
START_TEST(a_repetition_by_curl_is_counted_or_prevented)
{
    static const struct loopback_answer answers[] = {
        {.text = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"}, {.text = FINE}};
    struct http_request request;

    server = loopback_http_new(answers, 2);
    request = to("PUT", "/");
    ck_assert_ok(http_send(client, &request, &answer, &err));
    ck_assert_uint_eq(answer.tries, 1);
    request.retry = _i == 0;
    ck_assert_ok(http_send(client, &request, &answer, &err));
    ck_assert_uint_eq(answer.tries, _i == 0 ? 2 : 1);
}
END_TEST

START_TEST(tries_end_and_the_message_counts_them)
{
    static const struct loopback_answer answers[3] = {{0}};
    struct http_request request;

    server = loopback_http_new(answers, 3);
    request = to("GET", "/p?op=OPEN&delegation=SECRET&x=1");
    ck_assert_rc_msg(http_send(client, &request, &answer, &err), RC_IO,
                     "/p?op=OPEN&delegation=***&x=1: ");
    ck_assert_uint_ge(answer.tries, 3);
}
END_TEST

/* Nobody waits twice for a server that is gone; the first answer makes it one to be waited for again. */
START_TEST(after_tries_in_vain_one_is_enough_until_one_works)
{
    static const struct loopback_answer answers[6] = {{0}, {0}, {0}, {.text = FINE}, {0}, {.text = FINE}};
    struct http_request request;

    server = loopback_http_new(answers, 6);
    request = to("GET", "/");
    ck_assert_rc_msg(http_send(client, &request, &answer, &err), RC_IO, "(3 tries)");
    ck_assert_ok(http_send(client, &request, &answer, &err)); /* the 4th, at once */
    ck_assert_ok(http_send(client, &request, &answer, &err)); /* 5th and 6th */
    ck_assert_rc_msg(http_send(client, &request, &answer, &err), RC_IO, "(3 tries)"); /* refused now */
    ck_assert_rc_msg(http_send(client, &request, &answer, &err), RC_IO, "(1 try)");
}
END_TEST

START_TEST(the_last_busy_answer_is_the_callers)
{
    static const struct loopback_answer answers[] = {{.text = BUSY}, {.text = BUSY}, {.text = BUSY}};
    struct http_request request;

    server = loopback_http_new(answers, 3);
    request = to("GET", "/");
    ck_assert_ok(http_send(client, &request, &answer, &err));
    ck_assert_int_eq(answer.status, 503);
    ck_assert_uint_ge(answer.tries, 3);
}
END_TEST

START_TEST(the_server_may_ask_for_a_longer_pause_up_to_the_longest)
{
    char text[LOOPBACK_TEXT_MAX];
    struct loopback_answer answers[] = {
        {.text = loopback_text(text, "429 Slow", _i == 0 ? "Retry-After: 1\r\n" : "Retry-After: 99\r\n", "")},
        {.text = FINE}};
    struct http_request request;

    server = loopback_http_new(answers, 2);
    request = to("GET", "/");
    ck_assert_ok(http_send(client, &request, &answer, &err));
    ck_assert_int_eq(slept_ms(), 1000);
}
END_TEST

START_TEST(an_answer_too_long_is_a_limit_but_a_refusal_is_kept)
{
    char good[LOOPBACK_TEXT_MAX], bad[LOOPBACK_TEXT_MAX], body[202];
    struct loopback_answer answers[] = {{.text = good}, {.text = bad}};
    struct http_request request;

    memset(body, 'x', 201);
    body[201] = '\0';
    loopback_text(good, "200 OK", "", body);
    loopback_text(bad, "404 Not Found", "", body);
    server = loopback_http_new(answers, 2);
    request = to("GET", "/");
    ck_assert_rc_msg(http_send(client, &request, &answer, &err), RC_LIMIT, "longer than 100 bytes");
    ck_assert_ok(http_send(client, &request, &answer, &err));
    ck_assert_int_eq(answer.status, 404);
    ck_assert_uint_eq(answer.body.len, 201);
}
END_TEST

START_TEST(a_redirect_is_followed_or_given_to_the_caller)
{
    char away[LOOPBACK_TEXT_MAX];
    struct loopback_answer answers[] = {
        {.text = loopback_text(away, "307 Away", "Location: /there\r\n", "")}, {.text = FINE}};
    struct http_request request;

    server = loopback_http_new(answers, 2);
    request = to("GET", "/here");
    request.follow_redirects = _i == 1;
    ck_assert_ok(http_send(client, &request, &answer, &err));
    ck_assert_int_eq(answer.status, _i == 1 ? 200 : 307);
    if (_i == 0)
        ck_assert_str_eq(http_answer_header(&answer, "Location"), "/there");
    else
        ck_assert_ptr_null(http_answer_header(&answer, "Location"));
}
END_TEST

static enum rc sign_with_number(void *ctx, const struct http_request *request UNUSED,
                                struct http_headers_out *out, struct err *e)
{
    int *calls = ctx;
    char value[16];

    snprintf(value, sizeof value, "%d", ++*calls);
    return http_headers_out_add(out, "X-Signature", value, e);
}

START_TEST(every_try_is_signed_anew)
{
    static const struct loopback_answer answers[] = {{.text = BUSY}, {.text = FINE}};
    struct http_request request;
    int calls = 0;

    server = loopback_http_new(answers, 2);
    request = to("GET", "/");
    request.sign = sign_with_number;
    request.sign_ctx = &calls;
    ck_assert_ok(http_send(client, &request, &answer, &err));
    ck_assert_ptr_nonnull(strstr(loopback_http_request(server, 0), "X-Signature: 1\r\n"));
    ck_assert_ptr_nonnull(strstr(loopback_http_request(server, 1), "X-Signature: 2\r\n"));
}
END_TEST

START_TEST(a_header_cannot_bring_a_second_one_along)
{
    const struct http_header headers[] = {{"X-One", "1\r\nX-Two: 2"}};
    struct http_request request = {.method = "GET",
                                   .url = "http://127.0.0.1:1/",
                                   .headers = headers,
                                   .header_count = 1};

    ck_assert_rc_msg(http_send(client, &request, &answer, &err), RC_INVALID, "line end");
}
END_TEST

START_TEST(another_scheme_is_refused_at_once)
{
    struct http_request request = {.method = "GET", .url = "file:///etc/passwd", .retry = true};

    ck_assert_rc_msg(http_send(client, &request, &answer, &err), RC_IO, "(1 try)");
}
END_TEST

static const struct {
    const char *url, *shown;
} shown[] = {
    {"http://u:p@h:1/a?b=c", "http://h:1/a?b=c"},
    {"http://h/a", "http://h/a"},
    {"http://h/a?Token=x&token&op=TOKEN", "http://h/a?Token=***&token&op=TOKEN"},
    {"http://h/a?X-Amz-Signature=0a&z", "http://h/a?X-Amz-Signature=***&z"},
    {"http://h?user.name=@", "http://h?user.name=@"},
};

START_TEST(a_url_is_shown_without_secrets)
{
    struct buf out = {0};

    http_url_shown(shown[_i].url, &out);
    ck_assert_str_eq(buf_cstr(&out), shown[_i].shown);
    buf_release(&out);
}
END_TEST

START_TEST(pauses_double_up_to_the_longest)
{
    ck_assert_int_eq(http_backoff_ms(100, 1000, 1, 0), 100);
    ck_assert_int_eq(http_backoff_ms(100, 1000, 3, 0), 400);
    ck_assert_int_eq(http_backoff_ms(100, 1000, 60, 0), 1000);
    ck_assert_int_eq(http_backoff_ms(100, 1000, 1, 25), 75);
    ck_assert_int_eq(http_backoff_ms(0, 0, 1, 99), 0);
}
END_TEST

START_TEST(dates_and_escapes)
{
    struct buf out = {0};
    int64_t ms;

    ck_assert_ok(http_date_parse("Sun, 06 Nov 1994 08:49:37 GMT", &ms, &err));
    ck_assert_int_eq(ms, 784111777000);
    ck_assert_rc(http_date_parse("soon", &ms, &err), RC_CORRUPT);
    http_escape(&out, bytes_of("a/b c\0\xc3\xa4~", 9), "/");
    ck_assert_str_eq(buf_cstr(&out), "a/b%20c%00%C3%A4~");
    buf_release(&out);
}
END_TEST

TEST_MAIN("http_client", {
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, body_and_headers_go_both_ways);
    tcase_add_test(tc, a_put_without_body_says_that_it_has_none);
    tcase_add_loop_test(tc, what_may_pass_is_tried_again_after_pauses, 0, 3);
    tcase_add_loop_test(tc, what_is_not_idempotent_is_sent_once, 0, 2);
    tcase_add_loop_test(tc, a_repetition_by_curl_is_counted_or_prevented, 0, 2);
    tcase_add_test(tc, tries_end_and_the_message_counts_them);
    tcase_add_test(tc, after_tries_in_vain_one_is_enough_until_one_works);
    tcase_add_test(tc, the_last_busy_answer_is_the_callers);
    tcase_add_loop_test(tc, the_server_may_ask_for_a_longer_pause_up_to_the_longest, 0, 2);
    tcase_add_test(tc, an_answer_too_long_is_a_limit_but_a_refusal_is_kept);
    tcase_add_loop_test(tc, a_redirect_is_followed_or_given_to_the_caller, 0, 2);
    tcase_add_test(tc, every_try_is_signed_anew);
    tcase_add_test(tc, a_header_cannot_bring_a_second_one_along);
    tcase_add_test(tc, another_scheme_is_refused_at_once);
    tcase_add_loop_test(tc, a_url_is_shown_without_secrets, 0, (int)ARRAY_LEN(shown));
    tcase_add_test(tc, pauses_double_up_to_the_longest);
    tcase_add_test(tc, dates_and_escapes);
})
