/* meter.c draws; here is what it draws. */
#include "job/cli/meter.h"

#include "tests/lib/check_ext.h"

static const struct {
    uint64_t done, all;
    bool in_bytes;
    int64_t ms;
    size_t width;
    const char *line;
} cases[] = {
    {0, 0, true, 0, 200, "[####################] 100%  0 B of 0 B files"},
    {0, 1000, false, 5, 200, "[....................]   0%  0 of 1,000 files"},
    {500000000, 2000000000, true, 500, 200,
     "[#####...............]  25%  500 MB of 2.00 GB files, 1.00 GB/s, 1.5 s left"},
    {1000, 1000, false, 2000, 200, "[####################] 100%  1,000 of 1,000 files, 500/s"},
    {1500, 1000, true, 0, 200, "[####################] 100%  1.50 kB of 1.00 kB files"},
    {500, 1000, true, 10, 12, "[##########."},
};

START_TEST(the_line_says_how_far_how_fast_and_how_long_still)
{
    struct buf line = {0};

    meter_line("files", cases[_i].done, cases[_i].all, cases[_i].in_bytes, cases[_i].ms,
               cases[_i].width, &line);
    ck_assert_bytes_str(buf_bytes(&line), cases[_i].line);
    buf_release(&line);
}
END_TEST

TEST_MAIN("meter", tcase_add_loop_test(tc, the_line_says_how_far_how_fast_and_how_long_still, 0,
                                       (int)ARRAY_LEN(cases));)
