/* links: checkpoint */
#include "checkpoint/apart.h"

#include "tests/lib/check_ext.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static struct buf all;
static size_t heard_count;
static struct err err;

static void setup(void)
{
    all = (struct buf){0};
    heard_count = 0;
    err = (struct err){0};
}

static void teardown(void)
{
    buf_release(&all);
}

static void hear(void *ctx UNUSED, struct bytes message)
{
    heard_count++;
    buf_append(&all, message.data, message.len);
    buf_append_u8(&all, '|');
}

static void tell_three(void *ctx, struct apart_ear *ear)
{
    int *value = ctx;

    *value = 7; /* the parent's stays */
    apart_tell(ear, bytes_of_str("one"));
    apart_tell(ear, (struct bytes){0});
    apart_tell(ear, bytes_of_str("three"));
}

START_TEST(what_the_child_tells_is_heard_in_order_and_nothing_else_comes_over)
{
    char ended[APART_END_MAX];
    int value = 1;

    ck_assert_ok(apart_run(tell_three, &value, hear, NULL, ended, &err));
    ck_assert_str_eq(ended, "");
    ck_assert_int_eq(value, 1);
    ck_assert_bytes_str(buf_bytes(&all), "one||three|");
}
END_TEST

static void tell_much(void *ctx UNUSED, struct apart_ear *ear)
{
    struct buf b = {0};

    buf_reserve(&b, APART_MESSAGE_MAX);
    memset(b.data, 'x', APART_MESSAGE_MAX);
    b.len = APART_MESSAGE_MAX;
    for (int i = 0; i < 20; i++)
        apart_tell(ear, buf_bytes(&b));
    buf_release(&b);
}

START_TEST(more_than_a_pipe_holds_comes_through)
{
    char ended[APART_END_MAX];

    ck_assert_ok(apart_run(tell_much, NULL, hear, NULL, ended, &err));
    ck_assert_uint_eq(heard_count, 20);
    ck_assert_uint_eq(all.len, 20 * ((size_t)APART_MESSAGE_MAX + 1));
}
END_TEST

static void die_between(void *ctx UNUSED, struct apart_ear *ear)
{
    apart_tell(ear, bytes_of_str("begun"));
    raise(SIGKILL);
    apart_tell(ear, bytes_of_str("never"));
}

/* The tool goes on, and knows what had begun. */
START_TEST(the_end_of_a_child_is_told_with_its_last_words)
{
    char ended[APART_END_MAX];

    ck_assert_ok(apart_run(die_between, NULL, hear, NULL, ended, &err));
    ck_assert_ptr_nonnull(strstr(ended, "signal 9 "));
    ck_assert_bytes_str(buf_bytes(&all), "begun|");
}
END_TEST

static void exit_early(void *ctx UNUSED, struct apart_ear *ear UNUSED)
{
    _exit(4);
}

START_TEST(an_exit_before_the_end_of_the_work_is_told)
{
    char ended[APART_END_MAX];

    ck_assert_ok(apart_run(exit_early, NULL, hear, NULL, ended, &err));
    ck_assert_str_eq(ended, "exit code 4");
}
END_TEST

TEST_MAIN("apart", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, what_the_child_tells_is_heard_in_order_and_nothing_else_comes_over);
          tcase_add_test(tc, more_than_a_pipe_holds_comes_through);
          tcase_add_test(tc, the_end_of_a_child_is_told_with_its_last_words);
          tcase_add_test(tc, an_exit_before_the_end_of_the_work_is_told);)
