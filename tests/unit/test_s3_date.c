/* links: base */
/* test_s3_date.c - times in answers and signatures of S3. */
#include "base/s3_date.h"

#include "tests/lib/check_ext.h"

static const struct {
    const char *text;
    int64_t wall_ms; /* -1: no time */
} times[] = {
    {"", -1},
    {"2024-02-29T23:59:59Z", 1709251199000},
    {"2023-02-29T23:59:59Z", -1},
    {"2009-10-12T24:00:00Z", -1},
    {"2009-10-00T17:50:30Z", -1},
    {"2009-10-12T17:50:30.000Z", 1255369830000},
    {"2009-10-12T17:50:30Z", 1255369830000},
    {"2009-10-12T17:50:30.12Z", 1255369830120},
    {"2009-10-12T17:50:30.123456789Z", 1255369830123},
    {"2000-12-31T23:59:60Z", 978307200000},
    {"2009-10-12T17:50:30.Z", -1},
    {"2009-13-12T17:50:30Z", -1},
    {"2009-10-12T17:50:30+01:00", -1},
    {"2009-10-12", -1},
};

START_TEST(time_is_read_or_refused)
{
    int64_t wall_ms = -1;
    struct bytes text = bytes_of_str(times[_i].text);
    bool ok = s3_date_parse(text, &wall_ms);

    ck_assert_msg(ok == (times[_i].wall_ms >= 0), "%s", times[_i].text);
    if (ok)
        ck_assert_int_eq(wall_ms, times[_i].wall_ms);
}
END_TEST

/* Each day of 1970 to 2100, there and back. */
START_TEST(every_day_is_written_as_it_is_read)
{
    char basic[S3_DATE_BASIC_LEN + 1], iso[32];

    for (int64_t day = 0; day < 47482; day++) {
        int64_t wall_ms = day * 86400000 + 45296000, back;

        s3_date_basic(wall_ms, basic);
        snprintf(iso, sizeof iso, "%.4s-%.2s-%.2sT%.2s:%.2s:%.2sZ", basic, basic + 4, basic + 6,
                 basic + 9, basic + 11, basic + 13);
        ck_assert_msg(s3_date_parse(bytes_of_str(iso), &back), "%s", iso);
        ck_assert_int_eq(back, wall_ms);
    }
}
END_TEST

TEST_MAIN("s3_date", tcase_add_loop_test(tc, time_is_read_or_refused, 0, (int)ARRAY_LEN(times));
          tcase_add_test(tc, every_day_is_written_as_it_is_read))
