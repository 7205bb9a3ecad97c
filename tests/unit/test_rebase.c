/* links: checkpoint */
#include "checkpoint/rebase.h"

#include "tests/lib/check_ext.h"

static struct arena *arena;
static struct err err;

static void setup(void)
{
    arena = arena_new(0);
    err = (struct err){0};
}

static void teardown(void)
{
    arena_free(arena);
}

static const struct {
    const char *text, *from, *to;
} good[] = {
    {"/a=/b", "/a", "/b"},
    {"/a/=/b//", "/a", "/b"},
    {"file:/a/b=file:///c", "/a/b", "/c"},
    {"/k=v/x=/b", "/k=v/x", "/b"},
    {"/=/mirror", "", "/mirror"},
    {"abfs://c@host/a=/b", "abfs://c@host/a", "/b"},
};

START_TEST(a_rule_is_two_absolute_paths)
{
    struct rebase_rule rule;

    ck_assert_ok(rebase_rule_parse(good[_i].text, arena, &rule, &err));
    ck_assert_str_eq(rule.from, good[_i].from);
    ck_assert_str_eq(rule.to, good[_i].to);
}
END_TEST

static const char *const bad[] = {"", "/a", "/a=", "=/b", "a=/b", "/a=b", "nonsense"};

START_TEST(what_is_none_is_refused)
{
    struct rebase_rule rule;

    ck_assert_rc(rebase_rule_parse(bad[_i], arena, &rule, &err), RC_INVALID);
}
END_TEST

START_TEST(a_list_of_rules_keeps_their_order)
{
    struct rebase rules;

    ck_assert_ok(rebase_list_parse("", arena, &rules, &err));
    ck_assert_uint_eq(rules.count, 0);
    ck_assert_ok(rebase_list_parse("/a=/b;/c=/d;", arena, &rules, &err));
    ck_assert_uint_eq(rules.count, 2);
    ck_assert_str_eq(rules.rules[0].from, "/a");
    ck_assert_str_eq(rules.rules[1].to, "/d");
    ck_assert_rc_msg(rebase_list_parse("/a=/b;c", arena, &rules, &err), RC_INVALID, "c: two absolute");
}
END_TEST

TEST_MAIN("rebase", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_loop_test(tc, a_rule_is_two_absolute_paths, 0, ARRAY_LEN(good));
          tcase_add_loop_test(tc, what_is_none_is_refused, 0, ARRAY_LEN(bad));
          tcase_add_test(tc, a_list_of_rules_keeps_their_order);)
