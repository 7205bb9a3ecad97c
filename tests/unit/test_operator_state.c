/* links: backend */
#include "backend/operator_state.h"
#include "tests/lib/check_ext.h"

START_TEST(what_is_set_is_snapshot_and_comes_back)
{
    struct operator_state *s = operator_state_new(), *again = operator_state_new();
    struct arena *a = arena_new(0);
    struct bytes items[] = {bytes_of_str("one"), {NULL, 0}, bytes_of_str("three")};
    const struct bytes *got;
    struct subtask_state snapshot;

    operator_state_set(s, "pos", LIST_SPLIT, items, 3);
    operator_state_set(s, "rules", LIST_BROADCAST, items, 1);
    operator_state_set(s, "pos", LIST_UNION, items + 1, 2); /* replaces */
    operator_state_snapshot(s, a, &snapshot);
    operator_state_free(s);
    ck_assert_uint_eq(snapshot.list_count, 2);
    operator_state_restore(again, snapshot.lists, snapshot.list_count);
    arena_free(a);
    ck_assert_uint_eq(operator_state_restored(again, "pos", &got), 2);
    ck_assert_uint_eq(got[0].len, 0);
    ck_assert_bytes_str(got[1], "three");
    ck_assert_uint_eq(operator_state_restored(again, "rules", &got), 1);
    ck_assert_bytes_str(got[0], "one");
    ck_assert_uint_eq(operator_state_restored(again, "other", &got), 0);
    operator_state_free(again);
}
END_TEST

/* A list built from the items it held must not read freed memory. */
START_TEST(list_may_be_set_from_its_own_items)
{
    struct operator_state *s = operator_state_new();
    struct arena *a = arena_new(0);
    struct bytes item = bytes_of_str("kept");
    struct subtask_state snapshot;

    operator_state_set(s, "l", LIST_SPLIT, &item, 1);
    operator_state_snapshot(s, a, &snapshot);
    operator_state_set(s, "l", LIST_SPLIT, snapshot.lists[0].items, 1);
    operator_state_snapshot(s, a, &snapshot);
    ck_assert_bytes_str(snapshot.lists[0].items[0], "kept");
    arena_free(a);
    operator_state_free(s);
}
END_TEST

START_TEST(snapshot_of_nothing_is_empty)
{
    struct operator_state *s = operator_state_new();
    struct arena *a = arena_new(0);
    struct subtask_state snapshot = {.list_count = 9, .log_count = 9};

    operator_state_snapshot(s, a, &snapshot);
    ck_assert_uint_eq(snapshot.list_count, 0);
    ck_assert_uint_eq(snapshot.log_count, 0);
    arena_free(a);
    operator_state_free(s);
    operator_state_free(NULL);
}
END_TEST

TEST_MAIN("operator_state", tcase_add_test(tc, what_is_set_is_snapshot_and_comes_back);
          tcase_add_test(tc, list_may_be_set_from_its_own_items);
          tcase_add_test(tc, snapshot_of_nothing_is_empty))
