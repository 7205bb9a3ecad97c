/* links: checkpoint */
/* Restart strategies in invented time. */
#include "checkpoint/restart_strategy.h"

#include "tests/lib/check_ext.h"

static struct restart_strategy *strategy(struct restart_config config)
{
    struct rng rng;

    rng_seed(&rng, 3);
    return restart_strategy_new(&config, rng);
}

static struct restart_decision failed(struct restart_strategy *r, int64_t now)
{
    struct restart_decision d;

    restart_strategy_failed(r, now, &d);
    ck_assert_msg(d.restart == (d.reason[0] == '\0'), "restart %d with reason \"%s\"", d.restart,
                  d.reason);
    return d;
}

START_TEST(none_never_restarts)
{
    struct restart_strategy *r = strategy((struct restart_config){.kind = RESTART_KIND_NONE});

    ck_assert(!failed(r, 0).restart);
    restart_strategy_free(r);
}
END_TEST

START_TEST(fixed_delay_gives_up_after_its_attempts)
{
    struct restart_strategy *r = strategy((struct restart_config){
        .kind = RESTART_KIND_FIXED_DELAY, .fixed_attempts = 2, .fixed_delay_ms = 700});

    ck_assert_int_eq(failed(r, 0).delay_ms, 700);
    ck_assert(failed(r, 1000000000).restart);
    ck_assert(!failed(r, 2000000000).restart);
    restart_strategy_free(r);
}
END_TEST

START_TEST(failure_rate_forgets_failures_outside_its_interval)
{
    struct restart_strategy *r = strategy((struct restart_config){.kind = RESTART_KIND_FAILURE_RATE,
                                                                  .rate_max_failures = 2,
                                                                  .rate_interval_ms = 1000,
                                                                  .rate_delay_ms = 5});

    ck_assert_int_eq(failed(r, 0).delay_ms, 5);
    ck_assert(failed(r, 900).restart);
    ck_assert(failed(r, 1001).restart);  /* the first is 1001 ms old */
    ck_assert(failed(r, 2000).restart);  /* 900 is 1100 old */
    ck_assert(!failed(r, 2001).restart); /* 1001, 2000, 2001 */
    restart_strategy_free(r);
}
END_TEST

static struct restart_config exponential(void)
{
    return (struct restart_config){.kind = RESTART_KIND_EXPONENTIAL_DELAY,
                                   .exp_initial_ms = 1000,
                                   .exp_max_ms = 60000,
                                   .exp_multiplier = 2,
                                   .exp_reset_ms = 3600000,
                                   .exp_attempts = INT32_MAX};
}

START_TEST(exponential_delay_grows_to_its_limit_and_starts_anew_after_quiet)
{
    static const int64_t want[] = {1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000};
    struct restart_strategy *r = strategy(exponential());
    int64_t now = 0;

    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        struct restart_decision d = failed(r, now);

        ck_assert_int_eq(d.delay_ms, want[i]);
        now += d.delay_ms + 10;
    }
    ck_assert_int_eq(failed(r, now + 3600000).delay_ms, 1000);
    restart_strategy_free(r);
}
END_TEST

START_TEST(failures_before_the_planned_restart_are_one_attempt)
{
    struct restart_config k = exponential();
    struct restart_strategy *r;

    k.exp_attempts = 1;
    r = strategy(k);
    ck_assert_int_eq(failed(r, 0).delay_ms, 1000);
    ck_assert_int_eq(failed(r, 400).delay_ms, 600);
    ck_assert_int_eq(failed(r, 1000).delay_ms, 0);
    ck_assert(!failed(r, 1001).restart);
    restart_strategy_free(r);
}
END_TEST

START_TEST(jitter_stays_within_its_part_and_the_limits)
{
    struct restart_config k = exponential();
    struct restart_strategy *r;
    bool differ = false;
    int64_t now = 0;

    k.exp_jitter = 0.1;
    k.exp_multiplier = 4;
    r = strategy(k);
    ck_assert_int_ge(failed(r, now).delay_ms, 1000);
    now = 2000;
    for (int i = 0; i < 2; i++) {
        struct restart_decision d = failed(r, now);
        int64_t middle = i == 0 ? 4000 : 16000;

        ck_assert_int_ge(d.delay_ms, middle * 9 / 10);
        ck_assert_int_le(d.delay_ms, middle * 11 / 10);
        differ = differ || d.delay_ms != middle;
        now += d.delay_ms + 1;
    }
    ck_assert(differ);
    for (int i = 0; i < 10; i++) {
        struct restart_decision d = failed(r, now);

        ck_assert_int_le(d.delay_ms, 60000);
        now += d.delay_ms + 1;
    }
    restart_strategy_free(r);
}
END_TEST

START_TEST(description_is_the_references)
{
    struct restart_config k = exponential();
    char text[256];

    restart_strategy_describe(&k, text);
    ck_assert_str_eq(text, "Restart with exponential delay: starting at 1000 ms, increasing by 2, "
                           "with maximum 60000 ms.");
}
END_TEST

TEST_MAIN("restart_strategy", {
    tcase_add_test(tc, none_never_restarts);
    tcase_add_test(tc, fixed_delay_gives_up_after_its_attempts);
    tcase_add_test(tc, failure_rate_forgets_failures_outside_its_interval);
    tcase_add_test(tc, exponential_delay_grows_to_its_limit_and_starts_anew_after_quiet);
    tcase_add_test(tc, failures_before_the_planned_restart_are_one_attempt);
    tcase_add_test(tc, jitter_stays_within_its_part_and_the_limits);
    tcase_add_test(tc, description_is_the_references);
})
