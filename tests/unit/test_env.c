/* links: base */
/* test_env.c - generators of their own for each purpose. */
#include "base/env.h"

#include "tests/lib/check_ext.h"

START_TEST(seed_and_purpose_decide_the_numbers)
{
    struct env env = {.seed = 1}, other = {.seed = 2};
    struct rng a, b, c, d;
    uint64_t n;

    env_rng(&env, "job-id", &a);
    env_rng(&env, "job-id", &b);
    env_rng(&env, "sink-uuid", &c);
    env_rng(&other, "job-id", &d);
    n = rng_u64(&a);
    ck_assert_uint_eq(n, rng_u64(&b));
    ck_assert_uint_ne(n, rng_u64(&c));
    ck_assert_uint_ne(n, rng_u64(&d));
}
END_TEST

/* Two jobs started in one second must not get one id. */
START_TEST(without_a_seed_no_two_generators_are_alike)
{
    struct env env = {0};
    struct rng a, b;

    env_rng(&env, "job-id", &a);
    env_rng(&env, "job-id", &b);
    ck_assert_uint_ne(rng_u64(&a), rng_u64(&b));
}
END_TEST

TEST_MAIN("env", tcase_add_test(tc, seed_and_purpose_decide_the_numbers);
          tcase_add_test(tc, without_a_seed_no_two_generators_are_alike))
