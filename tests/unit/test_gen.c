/* links: base */
/* test_gen.c - the seeded data of tests/lib/gen.h: the same for one seed, and as it promises. */
#include "tests/lib/gen.h"

#include "base/json.h"
#include "tests/lib/check_ext.h"

#include <math.h>

static void fill(uint64_t seed, struct buf *out)
{
    struct rng r;

    rng_seed(&r, seed);
    for (int i = 0; i < 50; i++) {
        gen_bytes(&r, gen_len(&r, 0, 200), out);
        gen_ascii(&r, gen_len(&r, 0, 50), out);
        gen_utf8(&r, gen_len(&r, 0, 50), out);
        buf_append_le64(out, (uint64_t)gen_i64(&r));
    }
}

START_TEST(one_seed_gives_the_same_data)
{
    struct buf a = {0}, b = {0}, c = {0};

    fill(1, &a);
    fill(1, &b);
    fill(2, &c);
    ck_assert_bytes_eq(buf_bytes(&a), buf_bytes(&b));
    ck_assert(!bytes_eq(buf_bytes(&a), buf_bytes(&c)));
    buf_release(&a);
    buf_release(&b);
    buf_release(&c);
}
END_TEST

START_TEST(the_seed_can_come_from_outside)
{
    unsetenv("VARVE_TEST_SEED");
    ck_assert_uint_eq(gen_seed(7), 7);
    setenv("VARVE_TEST_SEED", "0x2a", 1);
    ck_assert_uint_eq(gen_seed(7), 42);
}
END_TEST

/* jansson takes no string that is not UTF-8. */
START_TEST(text_is_valid_utf8_of_every_length)
{
    unsigned lengths[5] = {0};
    struct buf b = {0};
    json_t *s;
    struct rng r;

    rng_seed(&r, gen_seed(5));
    gen_utf8(&r, 5000, &b);
    s = json_stringn((const char *)b.data, b.len);
    ck_assert_ptr_nonnull(s);
    json_decref(s);
    for (size_t i = 0; i < b.len; i++) {
        ck_assert_uint_ne(b.data[i], 0);
        lengths[b.data[i] < 0x80   ? 1
                : b.data[i] < 0xc0 ? 0
                : b.data[i] < 0xe0 ? 2
                : b.data[i] < 0xf0 ? 3
                                   : 4]++;
    }
    ck_assert_uint_eq(lengths[1] + lengths[2] + lengths[3] + lengths[4], 5000);
    for (size_t n = 1; n <= 4; n++)
        ck_assert_uint_gt(lengths[n], 300);
    buf_release(&b);
}
END_TEST

START_TEST(edges_are_met)
{
    bool least = false, most = false, minus_one = false, nan = false, minus_zero = false;
    bool shortest = false, longest = false;
    struct rng r;

    rng_seed(&r, gen_seed(6));
    for (int i = 0; i < 5000; i++) {
        int64_t n = gen_i64(&r);
        double d = gen_f64(&r);
        size_t len = gen_len(&r, 3, 300);

        ck_assert(len >= 3 && len <= 300);
        shortest |= len == 3;
        longest |= len == 300;
        least |= n == INT64_MIN;
        most |= n == INT64_MAX;
        minus_one |= n == -1;
        nan |= isnan(d);
        minus_zero |= d == 0 && signbit(d);
    }
    ck_assert(least && most && minus_one && nan && minus_zero && shortest && longest);
}
END_TEST

START_TEST(an_order_has_each_number_once)
{
    size_t order[100];
    bool seen[100] = {false}, moved = false;
    struct rng r;

    rng_seed(&r, gen_seed(7));
    gen_order(&r, order, 100);
    for (size_t i = 0; i < 100; i++) {
        ck_assert(order[i] < 100 && !seen[order[i]]);
        seen[order[i]] = true;
        moved |= order[i] != i;
    }
    ck_assert(moved);
}
END_TEST

START_TEST(damage_keeps_to_its_slice)
{
    unsigned cut = 0, changed = 0;
    struct rng r;

    rng_seed(&r, gen_seed(8));
    for (int i = 0; i < 2000; i++) {
        size_t len = gen_len(&r, 1, 40), left;
        uint8_t *data = malloc(len), before[40];

        for (size_t k = 0; k < len; k++)
            before[k] = data[k] = (uint8_t)rng_u64(&r);
        left = gen_damage(&r, data, len);
        ck_assert_uint_le(left, len);
        cut += left < len;
        changed += left == len && memcmp(data, before, len) != 0;
        free(data);
    }
    ck_assert(cut > 100 && changed > 500);
}
END_TEST

TEST_MAIN("gen", tcase_add_test(tc, one_seed_gives_the_same_data);
          tcase_add_test(tc, the_seed_can_come_from_outside);
          tcase_add_test(tc, text_is_valid_utf8_of_every_length); tcase_add_test(tc, edges_are_met);
          tcase_add_test(tc, an_order_has_each_number_once);
          tcase_add_test(tc, damage_keeps_to_its_slice))
