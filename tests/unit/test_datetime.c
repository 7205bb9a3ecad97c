#include "job/datetime.h"
#include "tests/lib/check_ext.h"

START_TEST(every_day_of_six_centuries_goes_there_and_back)
{
    int64_t days = civil_to_days((struct civil){1600, 1, 1});

    for (int32_t y = 1600; y < 2200; y++) {
        for (uint8_t m = 1; m <= 12; m++) {
            for (uint8_t d = 1; d <= days_of_month(y, m); d++, days++) {
                struct civil c = civil_of_days(days);

                ck_assert(c.year == y && c.month == m && c.day == d);
                ck_assert_int_eq(civil_to_days(c), days);
            }
        }
    }
    ck_assert_int_eq(civil_to_days((struct civil){1970, 1, 1}), 0);
    ck_assert_int_eq(civil_to_days((struct civil){1, 1, 1}), -719162);
    ck_assert_int_eq(civil_to_days((struct civil){9999, 12, 31}), 2932896);
}
END_TEST

static const struct {
    const char *from;
    int64_t months;
    const char *to;
} shifts[] = {
    {"2024-01-31", 1, "2024-02-29"}, {"2023-01-31", 1, "2023-02-28"}, {"2024-02-29", 12, "2025-02-28"}, {"2024-03-31", -1, "2024-02-29"},
    {"2024-01-15", -1, "2023-12-15"}, {"2024-12-31", 2, "2025-02-28"}, {"2024-05-05", 0, "2024-05-05"}, {"2000-01-01", -24000, "0000-01-01"},
};

START_TEST(adding_months_cuts_the_day_to_the_month)
{
    struct err err = {0};
    struct buf out = {0};
    int32_t days;

    ck_assert_ok(date_parse(bytes_of_str(shifts[_i].from), &days, &err));
    date_print(days_add_months(days, shifts[_i].months), &out);
    ck_assert_str_eq(buf_cstr(&out), shifts[_i].to);
    buf_release(&out);
}
END_TEST

static const struct {
    const char *text;
    uint8_t precision;
    bool with_zone;
    const char *value; /* NULL: refused */
} stamps[] = {
    {"2024-02-29 12:34:56.789", 3, false, "2024-02-29 12:34:56.789"},
    {"2024-02-29T12:34:56.789", 3, false, "2024-02-29 12:34:56.789"},
    {"2024-02-29", 0, false, "2024-02-29 00:00:00"},
    {"2024-2-9 1:2", 0, false, "2024-02-09 01:02:00"},
    {" 2024-02-29 01:02:03 ", 0, false, "2024-02-29 01:02:03"},
    {"2024-02-29 12:34:56.123456789", 9, false, "2024-02-29 12:34:56.123456789"},
    {"2024-02-29 12:34:56.123456789", 7, false, "2024-02-29 12:34:56.1234567"},
    {"2024-02-29 12:34:56.99999", 0, false, "2024-02-29 12:34:56"}, /* cut, not rounded */
    {"1969-12-31 23:59:59.9", 0, false, "1969-12-31 23:59:59"},
    {"1969-12-31 23:59:59.9999", 6, false, "1969-12-31 23:59:59.999900"},
    {"0001-01-01 00:00:00", 3, false, "0001-01-01 00:00:00.000"},
    {"9999-12-31 23:59:59.999", 6, false, "9999-12-31 23:59:59.999000"},
    {"1677-09-21 00:12:43.145224193", 9, false, "1677-09-21 00:12:43.145224193"},
    {"1677-09-21 00:12:43.145224191", 9, false, NULL},
    {"2262-04-11 23:47:16.854775807", 9, false, "2262-04-11 23:47:16.854775807"},
    {"2262-04-11 23:47:16.854775808", 9, false, NULL},
    {"2024-02-29T12:00:00Z", 0, true, "2024-02-29 12:00:00"},
    {"2024-02-29T12:00:00+02:00", 0, true, "2024-02-29 10:00:00"},
    {"2024-02-29 00:30:00 -0130", 0, true, "2024-02-29 02:00:00"},
    {"2024-02-29T12:00:00+02:00", 0, false, NULL},
    {"2024-02-29 12:00:00+25:00", 0, true, NULL},
    {"2023-02-29", 0, false, NULL},
    {"2024-13-01", 0, false, NULL},
    {"2024-00-01", 0, false, NULL},
    {"0000-01-01", 0, false, NULL},
    {"24-01-01", 0, false, NULL},
    {"2024-01-01 24:00:00", 0, false, NULL},
    {"2024-01-01 23:60:00", 0, false, NULL},
    {"2024-01-01 23:59:60", 0, false, NULL},
    {"2024-01-01 1:2:3.", 0, false, NULL},
    {"2024-01-01 1:2:3.1234567890", 9, false, NULL},
    {"2024-01-01 ", 0, false, "2024-01-01 00:00:00"},
    {"2024-01-01x", 0, false, NULL},
    {"", 0, false, NULL},
};

START_TEST(timestamp_text_is_read_or_refused)
{
    struct err err = {0};
    struct buf out = {0};
    bool zoned;
    int64_t v;
    enum rc rc = timestamp_parse(bytes_of_str(stamps[_i].text), stamps[_i].precision, stamps[_i].with_zone ? &zoned : NULL, &v, &err);

    ck_assert_msg((rc == RC_OK) == (stamps[_i].value != NULL), "'%s': %s", stamps[_i].text, err.msg);
    if (rc == RC_OK) {
        timestamp_print(v, stamps[_i].precision, &out);
        ck_assert_str_eq(buf_cstr(&out), stamps[_i].value);
        ck_assert(!stamps[_i].with_zone || zoned);
    }
    buf_release(&out);
}
END_TEST

START_TEST(fraction_digits_show_as_many_as_needed)
{
    struct buf out = {0};

    timestamp_print_min(1500, 3, 'T', 0, &out);
    buf_append_u8(&out, '|');
    timestamp_print_min(1000, 3, 'T', 0, &out);
    buf_append_u8(&out, '|');
    timestamp_print_min(1000, 3, ' ', 1, &out);
    buf_append_u8(&out, '|');
    timestamp_print_min(-1, 9, ' ', 3, &out);
    ck_assert_str_eq(buf_cstr(&out), "1970-01-01T00:00:01.5|1970-01-01T00:00:01|1970-01-01 00:00:01.0|1969-12-31 23:59:59.999999999");
    buf_release(&out);
}
END_TEST

START_TEST(precision_changes_towards_the_past)
{
    struct err err = {0};
    int64_t v;

    ck_assert_ok(timestamp_convert(-1, 9, 3, &v, &err));
    ck_assert_int_eq(v, -1);
    ck_assert_ok(timestamp_convert(1999, 3, 0, &v, &err));
    ck_assert_int_eq(v, 1000);
    ck_assert_ok(timestamp_convert(-1, 3, 0, &v, &err));
    ck_assert_int_eq(v, -1000);
    ck_assert_ok(timestamp_convert(123456, 6, 4, &v, &err));
    ck_assert_int_eq(v, 123400);
    ck_assert_ok(timestamp_convert(5, 3, 9, &v, &err));
    ck_assert_int_eq(v, 5000000);
    ck_assert_rc(timestamp_convert(INT64_MAX, 3, 9, &v, &err), RC_INVALID);
    ck_assert_int_eq(timestamp_to_ms(-1, 9), -1);
}
END_TEST

static const struct {
    const char *text;
    uint8_t precision;
    int32_t ms; /* -1: refused */
} clocks[] = {
    {"10:15", 0, 36900000}, {"10:15:30", 0, 36930000}, {"10:15:30.999", 0, 36930000}, {"10:15:30.999", 1, 36930900},
    {"10:15:30.999", 3, 36930999}, {"10", 0, -1}, {"24:00", 0, -1}, {"1:2:3", 0, 3723000}, {"10:15:30Z", 0, -1},
};

START_TEST(time_of_day_is_read_to_its_precision)
{
    int32_t ms = -1;
    enum rc rc = time_parse(bytes_of_str(clocks[_i].text), clocks[_i].precision, &ms, NULL);

    ck_assert_msg((rc == RC_OK) == (clocks[_i].ms >= 0), "%s", clocks[_i].text);
    ck_assert_int_eq(ms, clocks[_i].ms);
}
END_TEST

/* ---- zones ----------------------------------------------------------------------------------- */

/* Expected: zdump, tzdata 2025. Local texts as java.time resolves them: a gap moves on, an overlap takes the earlier instant. */
static const struct {
    const char *zone, *local, *utc;
} zones[] = {
    {"UTC", "2024-07-01 12:00:00", "2024-07-01 12:00:00"},
    {"Z", "2024-07-01 12:00:00", "2024-07-01 12:00:00"},
    {"+02:00", "2024-07-01 12:00:00", "2024-07-01 10:00:00"},
    {"-0330", "2024-07-01 12:00:00", "2024-07-01 15:30:00"},
    {"GMT+1", "2024-07-01 12:00:00", "2024-07-01 11:00:00"},
    {"UTC-08:00", "2024-07-01 12:00:00", "2024-07-01 20:00:00"},
    {"Europe/Berlin", "2024-01-01 12:00:00", "2024-01-01 11:00:00"},
    {"Europe/Berlin", "2024-07-01 12:00:00", "2024-07-01 10:00:00"},
    {"Europe/Berlin", "2024-03-31 01:59:59", "2024-03-31 00:59:59"},
    {"Europe/Berlin", "2024-03-31 02:30:00", "2024-03-31 01:30:00"}, /* gap: it is 03:30 */
    {"Europe/Berlin", "2024-03-31 03:00:00", "2024-03-31 01:00:00"},
    {"Europe/Berlin", "2024-10-27 02:30:00", "2024-10-27 00:30:00"}, /* overlap: still summer time */
    {"Europe/Berlin", "2024-10-27 03:00:00", "2024-10-27 02:00:00"},
    {"Europe/Berlin", "2099-07-01 12:00:00", "2099-07-01 10:00:00"}, /* the footer's rule */
    {"Europe/Berlin", "2099-01-01 12:00:00", "2099-01-01 11:00:00"},
    {"Europe/Berlin", "1970-01-01 00:00:00", "1969-12-31 23:00:00"},
    {"America/New_York", "2099-11-01 00:30:00", "2099-11-01 04:30:00"},
    {"America/New_York", "2099-12-01 00:00:00", "2099-12-01 05:00:00"},
    {"Asia/Kolkata", "2024-07-01 12:00:00", "2024-07-01 06:30:00"},
    {"Australia/Sydney", "2099-01-01 12:00:00", "2099-01-01 01:00:00"}, /* summer across the new year */
    {"Australia/Sydney", "2099-07-01 12:00:00", "2099-07-01 02:00:00"},
    {"Asia/Shanghai", "2099-07-01 12:00:00", "2099-07-01 04:00:00"},
};

START_TEST(local_time_finds_its_instant)
{
    struct err err = {0};
    struct zone *z;
    int64_t local, utc, got;

    ck_assert_ok(zone_open(fs_posix(), zones[_i].zone, &z, &err));
    ck_assert_ok(timestamp_parse(bytes_of_str(zones[_i].local), 3, NULL, &local, &err));
    ck_assert_ok(timestamp_parse(bytes_of_str(zones[_i].utc), 3, NULL, &utc, &err));
    ck_assert_ok(zone_timestamp_to_utc(z, local, 3, &got, &err));
    ck_assert_msg(got == utc, "%s %s: off by %lld s", zones[_i].zone, zones[_i].local, (long long)(got - utc) / 1000);
    /* And back, but for the gap, where the local time does not exist. */
    ck_assert_ok(zone_timestamp_to_local(z, utc, 3, &got, &err));
    ck_assert(got == local || strcmp(zones[_i].local, "2024-03-31 02:30:00") == 0);
    zone_free(z);
}
END_TEST

static const char *const unknown[] = {"", "Nowhere", "../etc/passwd", "/etc/localtime", "Europe/../UTC", "Europe", "+2:0", "+99", "zone.tab", "Europe/Berlin\n"};

START_TEST(unknown_zone_is_named)
{
    struct err err = {0};
    struct zone *z;

    ck_assert_rc_msg(zone_open(fs_posix(), unknown[_i], &z, &err), RC_INVALID, "unknown time zone '");
}
END_TEST

START_TEST(damaged_zone_file_is_refused_at_every_cut)
{
    struct err err = {0};
    struct buf file = {0};
    struct zone *z;

    ck_assert_ok(fs_read_all(fs_posix(), "/usr/share/zoneinfo/Europe/Berlin", 1 << 20, &file, &err));
    for (size_t n = 0; n < file.len; n += 7)
        ck_assert_int_ne(zone_decode(bytes_of(file.data, n), "cut", &z, NULL), RC_OK);
    ck_assert_ok(zone_decode(buf_bytes(&file), "whole", &z, &err));
    zone_free(z);
    file.data[0] = 'X';
    ck_assert_rc(zone_decode(buf_bytes(&file), "magic", &z, &err), RC_CORRUPT);
    buf_release(&file);
}
END_TEST

START_TEST(intervals_print_as_sql)
{
    struct buf out = {0};

    interval_day_print(93784005, &out);
    buf_append_u8(&out, '|');
    interval_day_print(-1, &out);
    buf_append_u8(&out, '|');
    interval_year_print(-14, &out);
    buf_append_u8(&out, '|');
    interval_year_print(11, &out);
    ck_assert_str_eq(buf_cstr(&out), "+1 02:03:04.005|-0 00:00:00.001|-1-02|+0-11");
    buf_release(&out);
}
END_TEST

TEST_MAIN("datetime", tcase_add_test(tc, every_day_of_six_centuries_goes_there_and_back);
          tcase_add_loop_test(tc, adding_months_cuts_the_day_to_the_month, 0, ARRAY_LEN(shifts));
          tcase_add_loop_test(tc, timestamp_text_is_read_or_refused, 0, ARRAY_LEN(stamps));
          tcase_add_test(tc, fraction_digits_show_as_many_as_needed);
          tcase_add_test(tc, precision_changes_towards_the_past);
          tcase_add_loop_test(tc, time_of_day_is_read_to_its_precision, 0, ARRAY_LEN(clocks));
          tcase_add_loop_test(tc, local_time_finds_its_instant, 0, ARRAY_LEN(zones));
          tcase_add_loop_test(tc, unknown_zone_is_named, 0, ARRAY_LEN(unknown));
          tcase_add_test(tc, damaged_zone_file_is_refused_at_every_cut);
          tcase_add_test(tc, intervals_print_as_sql);)
