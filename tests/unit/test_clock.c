/* links: base */
/* test_clock.c - the real clock and the one moved by hand. */
#include "base/clock.h"

#include "tests/lib/check_ext.h"
#include "tests/lib/sim_clock.h"

START_TEST(real_monotonic_time_grows_by_at_least_a_sleep)
{
    struct clock *c = clock_posix();
    int64_t before = clock_mono_ns(c), after;

    clock_sleep_ns(c, 20 * NS_PER_MS);
    after = clock_mono_ns(c);
    ck_assert_int_ge(after - before, 20 * NS_PER_MS);
    ck_assert_int_lt(after - before, 10 * NS_PER_S);
    clock_sleep_ns(c, 0);
    clock_sleep_ns(c, -5);
}
END_TEST

START_TEST(real_wall_time_is_in_milliseconds)
{
    int64_t ms = clock_wall_ms(clock_posix());

    ck_assert_int_gt(ms, 1600000000000);  /* 2020 */
    ck_assert_int_lt(ms, 32503680000000); /* 3000 */
}
END_TEST

START_TEST(a_simulated_sleep_moves_both_times_and_does_not_wait)
{
    struct sim_clock c;
    int64_t mono;

    sim_clock_init(&c, 1000);
    mono = clock_mono_ns(&c.clock);
    clock_sleep_ns(&c.clock, 3600 * NS_PER_S);
    ck_assert_int_eq(clock_mono_ns(&c.clock), mono + 3600 * NS_PER_S);
    ck_assert_int_eq(clock_wall_ms(&c.clock), 1000 + 3600 * 1000);
    sim_clock_advance_ms(&c, 5);
    ck_assert_int_eq(clock_wall_ms(&c.clock), 1005 + 3600 * 1000);
}
END_TEST

START_TEST(simulated_wall_time_can_go_back_monotonic_time_cannot)
{
    struct sim_clock c;
    int64_t mono;

    sim_clock_init(&c, 5000);
    mono = clock_mono_ns(&c.clock);
    sim_clock_set_wall_ms(&c, -1500);
    ck_assert_int_eq(clock_wall_ms(&c.clock), -1500);
    ck_assert_int_eq(clock_mono_ns(&c.clock), mono);
    sim_clock_advance_ns(&c,
                         1); /* not yet a millisecond further; before 1970 the floor still holds */
    ck_assert_int_eq(clock_wall_ms(&c.clock), -1500);
}
END_TEST

TEST_MAIN("clock", tcase_add_test(tc, real_monotonic_time_grows_by_at_least_a_sleep);
          tcase_add_test(tc, real_wall_time_is_in_milliseconds);
          tcase_add_test(tc, a_simulated_sleep_moves_both_times_and_does_not_wait);
          tcase_add_test(tc, simulated_wall_time_can_go_back_monotonic_time_cannot))
