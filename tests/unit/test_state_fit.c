#include "job/operator/state_fit.h"
#include "tests/lib/check_ext.h"

static const struct state_desc one = {.name = "accState",
                                      .kind = STATE_VALUE,
                                      .key_type = "ROW<`k` BIGINT>",
                                      .namespace_type = "VOID",
                                      .user_key_type = "",
                                      .value_type = "ROW<`count` BIGINT>",
                                      .operand_operator = ""};
static struct arena *arena;
static struct state_desc two[2], other;
static struct state_fit fit;
static struct err err;

static void setup(void)
{
    arena = arena_new(0);
    two[0] = two[1] = other = one;
    two[1].name = "seen";
    other.key_type = "ROW<`k` STRING>";
    err = (struct err){0};
}
static void teardown(void)
{
    arena_free(arena);
}

static struct fit_request request(const struct state_desc *old, size_t count, bool allow)
{
    return (struct fit_request){.operator_name = "GroupAggregate[k]",
                                .old = old,
                                .old_count = count,
                                .allow_non_restored = allow,
                                .arena = arena};
}

START_TEST(equal_states_and_new_ones_fit)
{
    struct fit_request r = request(&one, 1, false);

    ck_assert_ok(state_fit_same(&r, two, 2, &fit, &err));
    ck_assert_uint_eq(fit.change_count, 0);
    ck_assert_str_eq(fit.said, "");
}
END_TEST

START_TEST(another_type_is_refused_with_both_sides_and_a_way_out)
{
    struct fit_request r = request(&one, 1, true);

    ck_assert_rc_msg(state_fit_same(&r, &other, 1, &fit, &err), RC_INVALID,
                     "operator \"GroupAggregate[k]\": its state in the snapshot does not fit this "
                     "job:\n state \"accState\":\n  key k: was BIGINT, is STRING\nchange the query "
                     "back, or give the changed operator another 'varve.uid'");
}
END_TEST

START_TEST(a_state_that_is_gone_is_dropped_only_when_that_is_allowed)
{
    struct fit_request r = request(two, 2, false);

    ck_assert_rc_msg(state_fit_same(&r, &one, 1, &fit, &err), RC_INVALID,
                     "state \"seen\":\n  was value state, is gone");
    r.allow_non_restored = true;
    ck_assert_ok(state_fit_same(&r, &one, 1, &fit, &err));
    ck_assert_uint_eq(fit.change_count, 1);
    ck_assert_ptr_eq(fit.changes[0].was, &two[1]);
    ck_assert_ptr_null(fit.changes[0].is);
    ck_assert_str_eq(fit.said, "gone, dropped: state \"seen\"");
}
END_TEST

START_TEST(of_many_lines_the_way_out_stays)
{
    struct fit_request r = request(&one, 1, true);
    struct buf lines = {0};

    for (int i = 0; i < 1000; i++)
        buf_printf(&lines, "\n  column %d", i);
    ck_assert_rc_msg(state_fit_refuse(&r, buf_cstr(&lines), "turn round", &err), RC_INVALID,
                     "...\nturn round");
    buf_release(&lines);
}
END_TEST

TEST_MAIN("state_fit", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, equal_states_and_new_ones_fit);
          tcase_add_test(tc, another_type_is_refused_with_both_sides_and_a_way_out);
          tcase_add_test(tc, a_state_that_is_gone_is_dropped_only_when_that_is_allowed);
          tcase_add_test(tc, of_many_lines_the_way_out_stays);)
