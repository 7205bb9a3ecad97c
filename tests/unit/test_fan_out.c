/* links: base */
/* fan_out: each thing once, no more at a time than was said, the first failure and nobody left behind. */
#include "base/fan_out.h"

#include "base/clock.h"
#include "base/thread.h"
#include "tests/lib/check_ext.h"

#include <stdatomic.h>

#define THINGS 200

static struct fan_out *fan;
static struct err err;
static atomic_uint calls[THINGS], at_once, most, begun;
static atomic_bool third_failed;
static struct mutex gate;
static struct cond changed;

static void setup(void)
{
    err = (struct err){0};
    fan = NULL;
    for (size_t i = 0; i < THINGS; i++)
        atomic_store(&calls[i], 0);
    atomic_store(&at_once, 0);
    atomic_store(&most, 0);
    atomic_store(&begun, 0);
    atomic_store(&third_failed, false);
    mutex_init(&gate);
    cond_init(&changed);
}

static void teardown(void)
{
    fan_out_free(fan);
    cond_release(&changed);
    mutex_release(&gate);
}

static void enter(size_t i)
{
    unsigned now = atomic_fetch_add(&at_once, 1) + 1, seen = atomic_load(&most);

    while (seen < now && !atomic_compare_exchange_weak(&most, &seen, now))
        ;
    atomic_fetch_add(&calls[i], 1);
}

static enum rc once(void *ctx UNUSED, size_t i, struct err *e UNUSED)
{
    enter(i);
    atomic_fetch_sub(&at_once, 1);
    return RC_OK;
}

START_TEST(each_thing_is_done_once)
{
    fan = _i == 0 ? NULL : fan_out_new((uint32_t)_i);
    ck_assert_ok(fan_out_run(fan, THINGS, once, NULL, &err));
    ck_assert_ok(fan_out_run(fan, 0, once, NULL, &err));
    for (size_t i = 0; i < THINGS; i++)
        ck_assert_uint_eq(atomic_load(&calls[i]), 1);
    ck_assert_uint_le(atomic_load(&most), _i == 0 ? 1 : (unsigned)_i);
}
END_TEST

/* Nobody goes on before as many as may be are at work. */
static enum rc all_together(void *ctx, size_t i, struct err *e UNUSED)
{
    const unsigned *wanted = ctx;

    mutex_lock(&gate);
    enter(i);
    cond_broadcast(&changed);
    while (atomic_load(&most) < *wanted)
        cond_wait(&changed, &gate);
    atomic_fetch_sub(&at_once, 1);
    mutex_unlock(&gate);
    return RC_OK;
}

START_TEST(as_many_at_a_time_as_was_said)
{
    unsigned wanted = 4;

    fan = fan_out_new(4);
    ck_assert_ok(fan_out_run(fan, 8, all_together, &wanted, &err));
    ck_assert_uint_eq(atomic_load(&most), 4);
}
END_TEST

struct caller {
    struct thread *thread;
    unsigned wanted;
    struct err err;
    enum rc rc;
};
static void call(void *arg)
{
    struct caller *c = arg;

    c->rc = fan_out_run(fan, 8, all_together, &c->wanted, &c->err);
}

/* Callers are never kept waiting; what they add is counted for all of them. */
START_TEST(the_number_is_for_all_who_share_it)
{
    struct caller callers[3];

    fan = fan_out_new(5);
    for (size_t i = 0; i < 3; i++) {
        callers[i] = (struct caller){.wanted = 5};
        callers[i].thread = thread_start("caller", call, &callers[i]);
    }
    for (size_t i = 0; i < 3; i++) {
        thread_join(callers[i].thread);
        ck_assert_int_eq(callers[i].rc, RC_OK);
    }
    ck_assert_uint_ge(atomic_load(&most), 5);
    ck_assert_uint_le(atomic_load(&most), 7); /* two that came when it was reached */
}
END_TEST

/* 3 fails; others are under way then, and end after it. */
static enum rc fail_at_3(void *ctx UNUSED, size_t i, struct err *e)
{
    atomic_fetch_add(&begun, 1);
    enter(i);
    if (i == 3) {
        atomic_store(&third_failed, true);
        return err_set(e, RC_IO, "thing %zu", i);
    }
    while (i > 3 && !atomic_load(&third_failed))
        clock_sleep_ns(clock_posix(), NS_PER_MS / 10);
    if (i > 3)
        clock_sleep_ns(clock_posix(), 20 * NS_PER_MS); /* the failure is noted meanwhile */
    return RC_OK;
}

START_TEST(the_first_failure_wins_and_nothing_more_begins)
{
    fan = _i == 0 ? NULL : fan_out_new(3);
    ck_assert_rc_msg(fan_out_run(fan, THINGS, fail_at_3, NULL, &err), RC_IO, "thing 3");
    ck_assert_uint_lt(atomic_load(&begun), THINGS);
}
END_TEST

static enum rc fail_odd(void *ctx UNUSED, size_t i, struct err *e)
{
    enter(i);
    return i % 2 == 0 ? RC_OK : err_set(e, RC_IO, "thing %zu", i);
}

START_TEST(where_all_are_wanted_a_failure_stops_nobody)
{
    fan = _i == 0 ? NULL : fan_out_new(3);
    ck_assert_rc_msg(fan_out_all(fan, THINGS, fail_odd, NULL, &err), RC_IO, "thing ");
    for (size_t i = 0; i < THINGS; i++)
        ck_assert_uint_eq(atomic_load(&calls[i]), 1);
}
END_TEST

TEST_MAIN("fan_out", {
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, each_thing_is_done_once, 0, 5);
    tcase_add_test(tc, as_many_at_a_time_as_was_said);
    tcase_add_test(tc, the_number_is_for_all_who_share_it);
    tcase_add_loop_test(tc, the_first_failure_wins_and_nothing_more_begins, 0, 2);
    tcase_add_loop_test(tc, where_all_are_wanted_a_failure_stops_nobody, 0, 2);
})
