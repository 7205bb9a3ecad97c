#include "job/cli/largest.h"

#include "base/rng.h"
#include "tests/lib/check_ext.h"

#include <string.h>

static void add(struct largest *l, const char *key, uint64_t bytes)
{
    largest_add(l, bytes_of_str(key), bytes);
}

static void check(const struct largest_item *item, const char *key, uint64_t entries, uint64_t bytes)
{
    ck_assert_bytes_eq(item->key, bytes_of_str(key));
    ck_assert_uint_eq(item->entries, entries);
    ck_assert_uint_eq(item->bytes, bytes);
}

START_TEST(entries_of_one_key_count_together)
{
    struct largest *l = largest_new(2);
    const struct largest_item *items;

    add(l, "a", 10);
    add(l, "b", 4);
    add(l, "b", 4);
    add(l, "b", 4);
    add(l, "c", 11);
    ck_assert_uint_eq(largest_end(l, &items), 2);
    check(&items[0], "b", 3, 12);
    check(&items[1], "c", 1, 11);
    largest_free(l);
}
END_TEST

START_TEST(of_equal_ones_the_first_stay)
{
    struct largest *l = largest_new(2);
    const struct largest_item *items;

    add(l, "a", 5);
    add(l, "b", 5);
    add(l, "c", 5);
    ck_assert_uint_eq(largest_end(l, &items), 2);
    check(&items[0], "a", 1, 5);
    check(&items[1], "b", 1, 5);
    largest_free(l);
}
END_TEST

START_TEST(fewer_than_asked_for_are_all)
{
    struct largest *l = largest_new(9);
    const struct largest_item *items;

    ck_assert_uint_eq(largest_end(l, &items), 0);
    largest_free(l);
    l = largest_new(9);
    add(l, "", 0);
    ck_assert_uint_eq(largest_end(l, &items), 1);
    check(&items[0], "", 1, 0);
    largest_free(l);
}
END_TEST

/* Sizes 0..999 in random order: the heap must keep exactly the highest. */
START_TEST(of_a_thousand_the_highest_stay)
{
    uint32_t sizes[1000];
    struct largest *l = largest_new(37);
    const struct largest_item *items;
    struct rng rng;
    char key[16];

    rng_seed(&rng, (uint64_t)_i);
    for (uint32_t i = 0; i < 1000; i++) {
        uint32_t k = (uint32_t)rng_below(&rng, i + 1);

        sizes[i] = sizes[k];
        sizes[k] = i;
    }
    for (uint32_t i = 0; i < 1000; i++) {
        snprintf(key, sizeof key, "%u", sizes[i]);
        add(l, key, sizes[i]);
    }
    ck_assert_uint_eq(largest_end(l, &items), 37);
    for (uint32_t i = 0; i < 37; i++) {
        snprintf(key, sizeof key, "%u", 999 - i);
        check(&items[i], key, 1, 999 - i);
    }
    largest_free(l);
}
END_TEST

TEST_MAIN("largest", tcase_add_test(tc, entries_of_one_key_count_together);
          tcase_add_test(tc, of_equal_ones_the_first_stay);
          tcase_add_test(tc, fewer_than_asked_for_are_all);
          tcase_add_loop_test(tc, of_a_thousand_the_highest_stay, 0, 20);)
