/* links: base */
/* A shell stands for the program: it is started with a script for its word. */
#include "base/own_program.h"

#include "tests/lib/check_ext.h"
#include "tests/lib/tmpdir.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct tmpdir tmp;
static struct buf answer;
static char end[OWN_PROGRAM_END_MAX];
static struct err err;
static bool shall_end;

static bool asked(void *ctx UNUSED)
{
    return shall_end;
}

static const struct own_program shell = {"/bin/sh", asked, NULL};

static void setup(void)
{
    signal(SIGPIPE, SIG_IGN);
    tmpdir_make(&tmp);
    answer = (struct buf){0};
    err = (struct err){0};
    shall_end = false;
}

static void teardown(void)
{
    buf_release(&answer);
    tmpdir_remove(&tmp);
}

static enum rc run(const char *text, struct bytes request, size_t max)
{
    tmpdir_write(&tmp, "script", text, strlen(text));
    return own_program_run(&shell, tmpdir_at(&tmp, "script"), request, max, &answer, end, &err);
}

static struct bytes a_megabyte(struct buf *b)
{
    buf_reserve(b, 1 << 20);
    memset(b->data, 'x', 1 << 20);
    b->len = 1 << 20;
    return buf_bytes(b);
}

START_TEST(it_gets_the_request_and_the_pid_and_its_answer_is_heard)
{
    char want[64];

    ck_assert_ok(run("cat; echo \" $1\"", bytes_of_str("a request"), 1000));
    ck_assert_str_eq(end, "");
    snprintf(want, sizeof want, "a request %ld\n", (long)getpid());
    ck_assert_bytes_str(buf_bytes(&answer), want);
}
END_TEST

/* More than a pipe holds, both ways at once: neither may wait for the other for ever. */
START_TEST(much_goes_both_ways)
{
    struct buf much = {0};

    ck_assert_ok(run("cat", a_megabyte(&much), 2 << 20));
    ck_assert_str_eq(end, "");
    ck_assert(bytes_eq(buf_bytes(&answer), buf_bytes(&much)));
    buf_release(&much);
}
END_TEST

static const struct {
    const char *script, *end;
} ends[] = {
    {"kill -SEGV $$", "signal 11 (Segmentation fault)"},
    {"cat; kill -KILL $$", "signal 9 (Killed)"},
    {"echo half; exit 3", "exit code 3"},
    {"exec <&-; exit 0", ""},
};

START_TEST(how_it_ended_is_said)
{
    struct buf much = {0};

    ck_assert_ok(run(ends[_i].script, a_megabyte(&much), 2 << 20));
    ck_assert_str_eq(end, ends[_i].end);
    buf_release(&much);
}
END_TEST

START_TEST(it_ends_when_this_process_is_asked_to)
{
    shall_end = true;
    ck_assert_rc(run("exec sleep 1000", bytes_of_str("x"), 10), RC_CANCELLED);
}
END_TEST

START_TEST(an_answer_has_a_limit)
{
    ck_assert_rc_msg(run("while :; do echo much; done", bytes_of_str(""), 100), RC_LIMIT,
                     "more than 100 bytes");
}
END_TEST

START_TEST(what_cannot_be_started_is_an_error_with_its_path)
{
    const struct own_program none = {.path = "/there/is/no/program"};

    ck_assert_rc_msg(own_program_run(&none, "x", bytes_of_str(""), 10, &answer, end, &err),
                     RC_NOT_FOUND, "start /there/is/no/program");
}
END_TEST

START_TEST(only_its_parent_is_followed)
{
    ck_assert_rc(own_program_follow("12x", &err), RC_INVALID);
    ck_assert_rc(own_program_follow("999999999", &err), RC_STATE);
}
END_TEST

TEST_MAIN("own_program", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, it_gets_the_request_and_the_pid_and_its_answer_is_heard);
          tcase_add_test(tc, much_goes_both_ways);
          tcase_add_loop_test(tc, how_it_ended_is_said, 0, ARRAY_LEN(ends));
          tcase_add_test(tc, it_ends_when_this_process_is_asked_to);
          tcase_add_test(tc, an_answer_has_a_limit);
          tcase_add_test(tc, what_cannot_be_started_is_an_error_with_its_path);
          tcase_add_test(tc, only_its_parent_is_followed);)
