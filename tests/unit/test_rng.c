/* links: base */
/* test_rng.c - seeded numbers and ids. */
#include "base/rng.h"

#include "tests/lib/check_ext.h"

#include <ctype.h>

/* Expected values: an independent program of the two generators. Data sets and simulations must be
 * the same on every machine and after every change. */
START_TEST(a_seed_gives_the_same_numbers_for_ever)
{
    static const uint64_t want[] = {0x15780b2e0c2ec716, 0x6104d9866d113a7e, 0xae17533239e499a1,
                                    0xecb8ad4703b360a1};
    struct rng a, b;

    rng_seed(&a, 42);
    rng_seed(&b, 42);
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        ck_assert_uint_eq(rng_u64(&a), want[i]);
        ck_assert_uint_eq(rng_u64(&b), want[i]);
    }
}
END_TEST

START_TEST(neighbouring_seeds_share_nothing)
{
    struct rng a, b;
    int same_bits = 0;

    rng_seed(&a, (uint64_t)_i);
    rng_seed(&b, (uint64_t)_i + 1);
    for (int i = 0; i < 100; i++)
        same_bits += __builtin_popcountll(~(rng_u64(&a) ^ rng_u64(&b)));
    ck_assert_int_gt(same_bits, 2900); /* of 6400, half expected, 40 a standard deviation */
    ck_assert_int_lt(same_bits, 3500);
}
END_TEST

START_TEST(numbers_below_a_bound_are_even)
{
    static const uint64_t bounds[] = {1, 2, 3, 7, 10, 128};
    uint64_t bound = bounds[_i], counts[128] = {0};
    struct rng r;

    rng_seed(&r, 5);
    for (int i = 0; i < 100000; i++) {
        uint64_t n = rng_below(&r, bound);

        ck_assert_uint_lt(n, bound);
        counts[n]++;
    }
    for (uint64_t n = 0; n < bound; n++)
        ck_assert_msg(counts[n] > 100000 / bound * 80 / 100 &&
                          counts[n] < 100000 / bound * 120 / 100 + 1,
                      "%llu of %llu: %llu", (unsigned long long)n, (unsigned long long)bound,
                      (unsigned long long)counts[n]);
}
END_TEST

/* 3/4 of the range of 64 bits: a plain modulus would draw the lower third twice as often. */
START_TEST(a_bound_that_does_not_divide_is_not_skewed)
{
    uint64_t bound = 3ULL << 62, low = 0;
    struct rng r;

    rng_seed(&r, 6);
    for (int i = 0; i < 30000; i++)
        low += rng_below(&r, bound) < bound / 3;
    ck_assert_uint_gt(low, 9500);
    ck_assert_uint_lt(low, 10500);
}
END_TEST

START_TEST(doubles_lie_in_the_unit_interval)
{
    double sum = 0, least = 1, most = 0;
    struct rng r;

    rng_seed(&r, 7);
    for (int i = 0; i < 100000; i++) {
        double d = rng_double(&r);

        ck_assert(d >= 0 && d < 1);
        sum += d;
        least = d < least ? d : least;
        most = d > most ? d : most;
    }
    ck_assert(sum > 49500 && sum < 50500 && least < 0.001 && most > 0.999);
}
END_TEST

START_TEST(hex_has_so_many_digits)
{
    char out[70];
    struct rng r;

    rng_seed(&r, 8);
    for (size_t n = 0; n <= 64; n++) {
        memset(out, 'Z', sizeof out);
        rng_hex(&r, out, n);
        ck_assert_uint_eq(strlen(out), n);
        ck_assert_uint_eq(strspn(out, "0123456789abcdef"), n);
        ck_assert_int_eq(out[n + 1], 'Z');
    }
}
END_TEST

START_TEST(a_uuid_is_of_version_4)
{
    char out[UUID_LEN + 1], last[UUID_LEN + 1] = "";
    struct rng r;

    rng_seed(&r, 9);
    for (int i = 0; i < 100; i++) {
        rng_uuid(&r, out);
        ck_assert_uint_eq(strlen(out), UUID_LEN);
        for (size_t k = 0; k < UUID_LEN; k++)
            ck_assert((k == 8 || k == 13 || k == 18 || k == 23) ? out[k] == '-'
                                                                : isxdigit((unsigned char)out[k]));
        ck_assert_int_eq(out[14], '4');
        ck_assert_ptr_nonnull(strchr("89ab", out[19]));
        ck_assert_str_ne(out, last);
        memcpy(last, out, sizeof last);
    }
}
END_TEST

START_TEST(seeds_of_the_system_differ)
{
    ck_assert_uint_ne(rng_seed_from_os(), rng_seed_from_os());
}
END_TEST

TEST_MAIN("rng", tcase_add_test(tc, a_seed_gives_the_same_numbers_for_ever);
          tcase_add_loop_test(tc, neighbouring_seeds_share_nothing, 0, 5);
          tcase_add_loop_test(tc, numbers_below_a_bound_are_even, 0, 6);
          tcase_add_test(tc, a_bound_that_does_not_divide_is_not_skewed);
          tcase_add_test(tc, doubles_lie_in_the_unit_interval);
          tcase_add_test(tc, hex_has_so_many_digits); tcase_add_test(tc, a_uuid_is_of_version_4);
          tcase_add_test(tc, seeds_of_the_system_differ))
