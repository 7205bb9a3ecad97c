/* links: checkpoint */
/* Checkpoint statistics: counts, history, percentiles, what is latest. */
#include "checkpoint/stats.h"

#include "tests/lib/check_ext.h"

#include <math.h>

static const struct stats_vertex vertices[] = {{"aa", "Source", 1}, {"bb", "Sink", 2}};
static struct stats_tracker *t;
static struct arena *arena;
static struct checkpoint_stats s;

static void setup(void)
{
    t = stats_tracker_new(vertices, 2, 3);
    arena = arena_new(0);
}
static void teardown(void)
{
    stats_tracker_free(t);
    arena_free(arena);
}
static void look(void)
{
    stats_tracker_view(t, arena, &s);
}

static void complete(uint64_t id, enum checkpoint_kind kind, int64_t took_ms, uint64_t bytes)
{
    struct ack_stats ack = {.checkpointed_bytes = bytes, .state_bytes = bytes * 2};
    int64_t start = (int64_t)id * 1000;

    stats_tracker_started(t, id, kind, start);
    stats_tracker_acked(t, id, 0, 0, &ack, start + 1);
    stats_tracker_acked(t, id, 1, 1, &ack, start + 2);
    stats_tracker_acked(t, id, 1, 0, &ack, start + took_ms);
    stats_tracker_completed(t, id, "/cp", start + took_ms + 50);
}

START_TEST(nothing_yet_is_zeroes_and_nan)
{
    look();
    ck_assert_uint_eq(s.total_count, 0);
    ck_assert(isnan(s.state_bytes.p50) && isnan(s.end_to_end_ms.p999));
    ck_assert_int_eq(s.state_bytes.avg, 0);
    ck_assert_ptr_null(s.latest_completed);
    ck_assert_uint_eq(s.history_count, 0);
    ck_assert(!s.restored);
}
END_TEST

START_TEST(history_keeps_the_newest_and_latest_outlive_it)
{
    complete(1, CHECKPOINT_SAVEPOINT, 10, 5);
    stats_tracker_started(t, 2, CHECKPOINT_PERIODIC, 2000);
    stats_tracker_failed(t, 2, "expired", 2100);
    for (uint64_t id = 3; id <= 6; id++)
        complete(id, CHECKPOINT_PERIODIC, 10 * (int64_t)id, id);
    stats_tracker_discarded(t, 5);
    look();
    ck_assert_uint_eq(s.history_count, 3);
    ck_assert_uint_eq(s.history[0].id, 6);
    ck_assert_uint_eq(s.history[2].id, 4);
    ck_assert(checkpoint_stats_find(&s, 5)->discarded && !checkpoint_stats_find(&s, 6)->discarded);
    ck_assert_ptr_null(checkpoint_stats_find(&s, 3));
    ck_assert_uint_eq(s.latest_savepoint->id, 1);
    ck_assert_uint_eq(s.latest_failed->id, 2);
    ck_assert_str_eq(s.latest_failed->failure_message, "expired");
    ck_assert_int_eq(s.latest_failed->failure_wall_ms, 2100);
    ck_assert_int_eq(s.latest_failed->end_to_end_ms, 100);
    ck_assert_uint_eq(s.latest_completed->id, 6);
    ck_assert_str_eq(stats_tracker_path(t, 6), "/cp");
    ck_assert_ptr_null(stats_tracker_path(t, 3));
}
END_TEST

/* The reference measures to the last acknowledgement, not to the end of the metadata. */
START_TEST(duration_ends_with_the_last_ack)
{
    complete(1, CHECKPOINT_PERIODIC, 70, 5);
    look();
    ck_assert_int_eq(s.history[0].end_to_end_ms, 70);
    ck_assert_int_eq(s.history[0].latest_ack_wall_ms, 1070);
    ck_assert_uint_eq(s.history[0].checkpointed_bytes, 15);
    ck_assert_uint_eq(s.history[0].vertices[1].ack_count, 2);
    ck_assert_int_eq(s.history[0].vertices[0].end_to_end_ms, 1);
    ck_assert_int_eq(s.history[0].vertices[1].subtasks[1].end_to_end_ms, 2);
    ck_assert_uint_eq(s.history[0].subtask_count, 3);
}
END_TEST

START_TEST(view_is_a_copy)
{
    stats_tracker_started(t, 1, CHECKPOINT_PERIODIC, 5);
    look();
    stats_tracker_failed(t, 1, "x", 6);
    ck_assert_int_eq(s.history[0].status, CHECKPOINT_IN_PROGRESS);
    ck_assert_int_eq(s.history[0].latest_ack_wall_ms, -1);
    ck_assert_uint_eq(s.in_progress_count, 1);
    look();
    ck_assert_int_eq(s.history[0].status, CHECKPOINT_FAILED);
}
END_TEST

START_TEST(percentiles_are_the_references)
{
    for (uint64_t id = 1; id <= 10; id++)
        complete(id, CHECKPOINT_PERIODIC, (int64_t)id * 10, 1);
    look();
    ck_assert_int_eq(s.end_to_end_ms.min, 10);
    ck_assert_int_eq(s.end_to_end_ms.max, 100);
    ck_assert_int_eq(s.end_to_end_ms.avg, 55);
    ck_assert_double_eq_tol(s.end_to_end_ms.p50, 55, 1e-9);
    ck_assert_double_eq_tol(s.end_to_end_ms.p90, 99, 1e-9); /* position 9.9 */
    ck_assert_double_eq_tol(s.end_to_end_ms.p95, 100, 1e-9);
    ck_assert_double_eq_tol(s.end_to_end_ms.p999, 100, 1e-9);
}
END_TEST

START_TEST(percentiles_look_at_the_last_ten_thousand)
{
    for (uint64_t id = 1; id <= 10500; id++)
        complete(id, CHECKPOINT_PERIODIC, id <= 500 ? 9999 : 7, 1);
    look();
    ck_assert_int_eq(s.end_to_end_ms.max, 9999);
    ck_assert_double_eq_tol(s.end_to_end_ms.p999, 7, 1e-9);
    ck_assert_uint_eq(s.completed_count, 10500);
}
END_TEST

START_TEST(restore_is_counted_and_shown)
{
    stats_tracker_restored(t, 41, true, "/sp/x", 77);
    stats_tracker_failed_early(t);
    look();
    ck_assert(s.restored && s.restored_is_savepoint);
    ck_assert_uint_eq(s.restored_id, 41);
    ck_assert_str_eq(s.restored_path, "/sp/x");
    ck_assert_uint_eq(s.restored_count, 1);
    ck_assert_uint_eq(s.failed_count, 1);
    ck_assert_uint_eq(s.in_progress_count, 0);
}
END_TEST

TEST_MAIN("stats", {
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, nothing_yet_is_zeroes_and_nan);
    tcase_add_test(tc, history_keeps_the_newest_and_latest_outlive_it);
    tcase_add_test(tc, duration_ends_with_the_last_ack);
    tcase_add_test(tc, view_is_a_copy);
    tcase_add_test(tc, percentiles_are_the_references);
    tcase_add_test(tc, percentiles_look_at_the_last_ten_thousand);
    tcase_add_test(tc, restore_is_counted_and_shown);
})
