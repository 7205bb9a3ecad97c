/* links: backend */
#include "backend/keygroup.h"
#include "tests/lib/check_ext.h"

/* Expected values: KeyGroupRangeAssignment of the reference, 128 key groups. */
static const struct {
    const char *key;
    uint32_t hash, group, owner_of_3; /* Java hashCode(), key group, subtask at parallelism 3 */
} cases[] = {
    {"Long 0", 0x00000000u, 94, 2},
    {"String \"alice\"", 0x05899680u, 116, 2},
    {"Int -1", 0xffffffffu, 80, 1},
};

START_TEST(key_goes_to_the_references_group)
{
    uint32_t group = keygroup_of_hash(cases[_i].hash, 128);

    ck_assert_msg(group == cases[_i].group, "%s: group %u", cases[_i].key, group);
    ck_assert_uint_eq(keygroup_owner(group, 3, 128), cases[_i].owner_of_3);
}
END_TEST

/* Entry of a real GROUP BY job: row (9, "x") lies in key group 12 of 128. */
START_TEST(sql_key_goes_to_the_references_group)
{
    const uint8_t row[24] = {0, 0, 0, 0, 0,   0, 0, 0, 9, 0, 0, 0,
                             0, 0, 0, 0, 'x', 0, 0, 0, 0, 0, 0, 0x81};

    ck_assert_uint_eq(keygroup_of_hash(keygroup_row_hash(bytes_of(row, sizeof row)), 128), 12);
}
END_TEST

/* C1: a hole or an overlap would lose or double the state of a key group. */
START_TEST(ranges_cover_all_groups_once_and_agree_with_the_owner)
{
    static const uint32_t counts[] = {1, 2, 7, 128, 129, 4000, 32768};
    uint32_t count = counts[_i];

    for (uint32_t p = 1; p <= count && p <= 200; p++) {
        uint32_t next = 0;

        for (uint32_t i = 0; i < p; i++) {
            struct key_group_range r = keygroup_range_of(i, p, count);

            ck_assert_uint_eq(r.first, next);
            for (uint32_t g = r.first; g <= r.last; g++) {
                if (keygroup_owner(g, p, count) != i) /* an assertion each would take minutes */
                    ck_abort_msg("group %u of %u at parallelism %u", g, count, p);
            }
            next = r.last + 1;
        }
        ck_assert_uint_eq(next, count);
    }
}
END_TEST

START_TEST(meet_of_ranges)
{
    struct key_group_range m =
        key_group_range_meet((struct key_group_range){0, 63}, (struct key_group_range){43, 85});

    ck_assert_uint_eq(m.first, 43);
    ck_assert_uint_eq(m.last, 63);
    m = key_group_range_meet((struct key_group_range){0, 10}, (struct key_group_range){11, 20});
    ck_assert(m.first > m.last);
    ck_assert(!key_group_range_has(m, 10) && !key_group_range_has(m, 11));
}
END_TEST

START_TEST(default_count_follows_the_reference)
{
    static const struct {
        uint32_t parallelism, count;
    } rows[] = {{1, 128}, {85, 128}, {86, 256}, {170, 256}, {171, 256}, {172, 512}, {32768, 32768}};

    ck_assert_uint_eq(keygroup_default_count(rows[_i].parallelism), rows[_i].count);
}
END_TEST

START_TEST(prefix_is_big_endian_of_one_or_two_bytes)
{
    uint8_t p[2] = {0};

    ck_assert_uint_eq(keygroup_prefix_len(128), 1);
    ck_assert_uint_eq(keygroup_prefix_len(129), 2);
    keygroup_put_prefix(p, 1, 127);
    ck_assert_uint_eq(p[0], 127);
    keygroup_put_prefix(p, 2, 0x0FC0);
    ck_assert_uint_eq(p[0], 0x0F);
    ck_assert_uint_eq(p[1], 0xC0);
    ck_assert_uint_eq(keygroup_get_prefix(p, 2), 0x0FC0);
}
END_TEST

/* Halves need least, so that a rescale from 1 to 2 and back finds hardly a file across its border.
 */
START_TEST(files_end_first_at_the_borders_that_small_parallelisms_have)
{
    static const struct {
        uint32_t before, after, count;
        uint64_t bytes;
    } rows[] = {{63, 64, 128, 1 << 20},  {0, 127, 128, 1 << 20},  {42, 43, 128, 4 << 20},
                {85, 86, 128, 4 << 20},  {31, 32, 128, 4 << 20},  {15, 16, 128, 8 << 20},
                {16, 17, 128, 16 << 20}, {99, 100, 200, 1 << 20}, {0, 1, 2, 1 << 20},
                {0, 1, 32768, 16 << 20}, {0, 1, 3, 4 << 20},      {0, 1, 5, 8 << 20},
                {0, 99, 4, 1 << 20}};

    ck_assert_uint_eq(keygroup_cut_bytes(rows[_i].before, rows[_i].after, rows[_i].count),
                      rows[_i].bytes);
}
END_TEST

TEST_MAIN("keygroup", tcase_add_loop_test(tc, key_goes_to_the_references_group, 0, 3);
          tcase_add_test(tc, sql_key_goes_to_the_references_group);
          tcase_add_loop_test(tc, ranges_cover_all_groups_once_and_agree_with_the_owner, 0, 7);
          tcase_add_test(tc, meet_of_ranges);
          tcase_add_loop_test(tc, default_count_follows_the_reference, 0, 7);
          tcase_add_test(tc, prefix_is_big_endian_of_one_or_two_bytes);
          tcase_add_loop_test(tc, files_end_first_at_the_borders_that_small_parallelisms_have, 0,
                              11))
