/* links: sink */
/* When a part closes. */
#include "sink/rolling.h"

#include "tests/lib/check_ext.h"

#define SQL_POLICY {.size_bytes = 100, .rollover_ms = 1000, .inactivity_ms = 300}

static const struct {
    const char *name;
    struct rolling_policy policy;
    struct part_age part;
    int64_t now;
    bool on_write, on_checkpoint, on_time;
    int64_t due;
} cases[] = {
    {"fresh", SQL_POLICY, {0, 5000, 5000}, 5000, false, false, false, 5300},
    {"at its size", SQL_POLICY, {100, 5000, 5000}, 5000, false, false, false, 5300},
    {"past its size", SQL_POLICY, {101, 5000, 5000}, 5000, true, true, false, 5300},
    {"just before it is idle", SQL_POLICY, {10, 5000, 5200}, 5499, false, false, false, 5500},
    {"idle", SQL_POLICY, {10, 5000, 5200}, 5500, false, false, true, 5500},
    {"old, written to all the time", SQL_POLICY, {10, 5000, 5999}, 6000, false, false, true, 6000},
    {"the clock went back", SQL_POLICY, {10, 5000, 5000}, 10, false, false, false, 5300},
    {"on every checkpoint",
     {.on_checkpoint = true},
     {1, 0, 0},
     INT64_MAX,
     false,
     true,
     false,
     INT64_MAX},
    {"no limit at all", {0}, {UINT64_MAX, 0, 0}, INT64_MAX, false, false, false, INT64_MAX},
    {"due past the end of time",
     {.rollover_ms = INT64_MAX},
     {1, 5, 5},
     INT64_MAX,
     false,
     false,
     false,
     INT64_MAX},
};
START_TEST(policy_closes_parts_as_the_reference_does)
{
    const struct part_age *part = &cases[_i].part;
    const struct rolling_policy *p = &cases[_i].policy;

    ck_assert_msg(rolling_on_write(p, part) == cases[_i].on_write, "%s: on write", cases[_i].name);
    ck_assert_msg(rolling_on_checkpoint(p, part) == cases[_i].on_checkpoint, "%s: on checkpoint",
                  cases[_i].name);
    ck_assert_msg(rolling_on_time(p, part, cases[_i].now) == cases[_i].on_time, "%s: on time",
                  cases[_i].name);
    ck_assert_msg(rolling_due_wall_ms(p, part) == cases[_i].due, "%s: due", cases[_i].name);
}
END_TEST

TEST_MAIN("rolling",
          tcase_add_loop_test(tc, policy_closes_parts_as_the_reference_does, 0, ARRAY_LEN(cases)))
