/* links: base */
/* Durations, sizes and booleans as text. */
#include "base/units.h"

#include "tests/lib/check_ext.h"

static const struct {
    const char *text;
    int64_t ms; /* -1: refused */
} durations[] = {
    {"0", 0},
    {"500", 500},
    {"500 ms", 500},
    {"500ms", 500},
    {"10s", 10000},
    {" 10 s ", 10000},
    {"10 SECONDS", 10000},
    {"1min", 60000},
    {"1 m", 60000},
    {"2 minutes", 120000},
    {"1 h", 3600000},
    {"1 d", 86400000},
    {"30 days", 2592000000},
    {"5000 us", 5},
    {"2000000 ns", 2},
    {"PT10S", 10000},
    {"pt0.5s", 500},
    {"P1DT2H3M4.005S", 93784005},
    {"PT36H", 129600000},
    {"P2D", 172800000},
    {"9223372036854", 9223372036854},
    {"", -1},
    {"ms", -1},
    {"-5 s", -1},
    {"1.5 s", -1},
    {"5 parsecs", -1},
    {"500 us", -1}, /* finer than a millisecond */
    {"PT", -1},
    {"P", -1},
    {"PT1S1M", -1},
    {"PT1.5M", -1},
    {"P1Y", -1},
    {"P1H", -1},
    {"PT1D", -1},
    {"PT0.0001S", -1},
    {"9223372036855", -1}, /* not in nanoseconds any more */
    {"99999999999999999999", -1},
    {"9223372036854775807 d", -1},
};
START_TEST(duration_is_read_as_the_reference_reads_it)
{
    struct err err = {0};
    int64_t ms = 7;
    enum rc rc = duration_parse(durations[_i].text, &ms, &err);

    if (durations[_i].ms < 0) {
        ck_assert_msg(rc == RC_INVALID, "\"%s\": %s", durations[_i].text, rc_name(rc));
        ck_assert_msg(strstr(err.msg, durations[_i].text) != NULL, "%s", err.msg);
    } else {
        ck_assert_msg(rc == RC_OK && ms == durations[_i].ms, "\"%s\": %s %lld %s",
                      durations[_i].text, rc_name(rc), (long long)ms, err.msg);
    }
}
END_TEST

static const struct {
    const char *text;
    int64_t bytes;
} sizes[] = {
    {"0", 0},           {"4096", 4096},
    {"20kb", 20480},    {"20 KB", 20480},
    {"32mb", 33554432}, {"5 m", 5242880},
    {"1g", 1 << 30},    {"1 tb", INT64_C(1) << 40},
    {"7 bytes", 7},     {"2 mebibytes", 1 << 21},
    {"", -1},           {"kb", -1},
    {"-1", -1},         {"1.5mb", -1},
    {"5 pb", -1},       {"99999999999 tb", -1},
};
START_TEST(size_is_read_with_powers_of_1024)
{
    struct err err = {0};
    uint64_t bytes = 7;
    enum rc rc = memory_size_parse(sizes[_i].text, &bytes, &err);

    if (sizes[_i].bytes < 0)
        ck_assert_msg(rc == RC_INVALID, "\"%s\": %s", sizes[_i].text, rc_name(rc));
    else
        ck_assert_msg(rc == RC_OK && bytes == (uint64_t)sizes[_i].bytes, "\"%s\": %s %llu",
                      sizes[_i].text, rc_name(rc), (unsigned long long)bytes);
}
END_TEST

static const struct {
    const char *text;
    int value; /* -1: refused */
} booleans[] = {{"true", 1}, {"TRUE ", 1}, {"false", 0}, {"yes", -1}, {"", -1}, {"1", -1}};
START_TEST(a_boolean_is_true_or_false)
{
    struct err err = {0};
    bool value = false;
    enum rc rc = bool_parse(booleans[_i].text, &value, &err);

    if (booleans[_i].value < 0)
        ck_assert_msg(rc == RC_INVALID, "\"%s\": %s", booleans[_i].text, rc_name(rc));
    else
        ck_assert_msg(rc == RC_OK && value == (booleans[_i].value == 1), "\"%s\"",
                      booleans[_i].text);
}
END_TEST

TEST_MAIN("units", {
    tcase_add_loop_test(tc, duration_is_read_as_the_reference_reads_it, 0, ARRAY_LEN(durations));
    tcase_add_loop_test(tc, size_is_read_with_powers_of_1024, 0, ARRAY_LEN(sizes));
    tcase_add_loop_test(tc, a_boolean_is_true_or_false, 0, ARRAY_LEN(booleans));
})
