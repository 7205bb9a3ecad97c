/* links: backend */
#include "backend/memory_plan.h"
#include "tests/lib/check_ext.h"

#define MIB(n) ((uint64_t)(n) << 20)

/* The parts, worked out by hand; KiB. */
static const struct {
    struct memory_demand demand;
    uint64_t rows, images, blocks, write_buffers, flush, compaction, file; /* KiB */
    uint32_t flushes, compactions;
} cases[] = {
    /* 64 MiB: 2 x 4 flushes, 4 compaction, 4 write buffers; 48 left: 14.4 blocks, 2 x 16.8 of rows and images */
    {{MIB(64), 2, 2}, 15291, 1911, 14745, 4096, 4096, 4096, 16384, 2, 1},
    /* 256 MiB: 2 x 16, 16, 16; 192 left */
    {{MIB(256), 2, 2}, 61166, 7645, 58982, 16384, 16384, 16384, 65536, 2, 1},
    /* 4 GiB: 2 x 32 MiB, 16 MiB, 64 MiB: no part grows for ever */
    {{MIB(4096), 2, 2}, 1259019, 157377, 1214054, 65536, 32768, 16384, 65536, 2, 1},
    /* many subtasks share: four flushes at a time, two compactions on four cores */
    {{MIB(1024), 16, 4}, 31857, 3982, 245760, 65536, 32768, 16384, 65536, 4, 2},
    /* the least for one backend alone, as tests have it: files do not get smaller than 256 KiB */
    {{256 << 10, 1, 1}, 119, 14, 57, 16, 32, 16, 256, 1, 1},
};

START_TEST(the_number_is_divided_as_the_table_says)
{
    const struct memory_demand *d = &cases[_i].demand;
    struct memory_plan p;
    uint64_t sum;

    memory_plan_make(d, &p);
    ck_assert_uint_eq(p.row_bytes >> 10, cases[_i].rows);
    ck_assert_uint_eq(p.image_bytes >> 10, cases[_i].images);
    ck_assert_uint_eq(p.block_bytes >> 10, cases[_i].blocks);
    ck_assert_uint_eq(p.write_buffer_bytes >> 10, cases[_i].write_buffers);
    ck_assert_uint_eq(p.flush_bytes >> 10, cases[_i].flush);
    ck_assert_uint_eq(p.compaction_bytes >> 10, cases[_i].compaction);
    ck_assert_uint_eq(p.file_bytes >> 10, cases[_i].file);
    ck_assert_uint_eq(p.flushes, cases[_i].flushes);
    ck_assert_uint_eq(p.compactions, cases[_i].compactions);
    sum = d->subtasks * (p.row_bytes + p.image_bytes) + p.block_bytes + p.write_buffer_bytes +
          p.flushes * p.flush_bytes + p.compactions * p.compaction_bytes;
    ck_assert_uint_le(sum, d->total_bytes);
    ck_assert_uint_gt(sum + d->subtasks + 16, d->total_bytes); /* nothing is left over but what rounding takes */
}
END_TEST

/* Images never outgrow what was set aside for them: an eighth of the rows. */
START_TEST(any_number_is_divided_without_a_rest_and_never_beyond_it)
{
    for (uint64_t total = 256 << 10; total < MIB(1 << 20); total += total / 7 + 12345) {
        for (uint32_t subtasks = 1; subtasks <= 300; subtasks += 23) {
            struct memory_demand d = {total, subtasks, 1 + subtasks % 9};
            struct memory_plan p;
            uint64_t sum;

            memory_plan_make(&d, &p);
            sum = subtasks * (p.row_bytes + p.image_bytes) + p.block_bytes + p.write_buffer_bytes +
                  p.flushes * p.flush_bytes + p.compactions * p.compaction_bytes;
            ck_assert_uint_le(sum, total);
            ck_assert_uint_gt(sum + subtasks + 16, total);
            ck_assert_uint_le(p.image_bytes, p.row_bytes / 8);
            ck_assert_uint_gt(p.flushes, 0);
            ck_assert_uint_gt(p.compactions, 0);
        }
    }
}
END_TEST

/* What a job is refused for must still be enough to run with. */
START_TEST(the_least_number_gives_every_part_something)
{
    for (uint32_t subtasks = 1; subtasks <= 1000; subtasks *= 10) {
        struct memory_demand d = {memory_plan_least(subtasks), subtasks, 2};
        struct memory_plan p;

        memory_plan_make(&d, &p);
        ck_assert_uint_ge(p.row_bytes, 512 << 10);
        ck_assert_uint_ge(p.block_bytes, MIB(1));
        ck_assert_uint_ge(p.write_buffer_bytes, 512 << 10);
        ck_assert_uint_ge(p.flush_bytes, 512 << 10);
    }
}
END_TEST

TEST_MAIN("memory_plan",
          tcase_add_loop_test(tc, the_number_is_divided_as_the_table_says, 0, ARRAY_LEN(cases));
          tcase_add_test(tc, any_number_is_divided_without_a_rest_and_never_beyond_it);
          tcase_add_test(tc, the_least_number_gives_every_part_something))
