/* test_operators.c - aggregate.c and window.c over the hashmap backend: the changelog that each input gives.
 *
 * An operator is driven by hand: rows in as text "sign key ts value", results out as print lines. */
#include "job/row_key.h"
#include "tests/lib/operator_rig.h"

/* A row that adds nothing to see gives nothing; nulls are no values; a null key is a group. */
START_TEST(running_totals_leave_as_a_changelog)
{
    struct rig r;
    struct err err = {0};
    struct agg_call calls[] = {call(AGG_COUNT, 2, TYPE_BIGINT, "COUNT(v)"), call(AGG_SUM, 2, TYPE_BIGINT, "SUM(v)"),
                               call(AGG_MIN, 2, TYPE_BIGINT, "MIN(v)"), call(AGG_MAX, 2, TYPE_BIGINT, "MAX(v)")};
    struct aggregate_spec spec;

    rig_init(&r, 5);
    spec = group_by_k(&r, calls, 4);
    rig_open(&r, aggregate_new(&spec));
    add(&r, "a", 3);
    add(&r, "b", INT64_MIN);
    add(&r, "a", 5);
    add(&r, "b", INT64_MIN);
    add(&r, NULL, 7);
    ck_assert_ok(feed(&r, &err));
    expect(&r, "+I[a, 1, 3, 3, 3]\n+I[b, 0, null, null, null]\n-U[a, 1, 3, 3, 3]\n+U[a, 2, 8, 3, 5]\n"
               "+I[null, 1, 7, 7, 7]\n");
    add(&r, "b", -1);
    ck_assert_ok(feed(&r, &err));
    expect(&r, "-U[b, 0, null, null, null]\n+U[b, 1, -1, -1, -1]\n");
    rig_close(&r);
}
END_TEST

START_TEST(without_update_before_only_new_results_leave)
{
    struct rig r;
    struct err err = {0};
    struct agg_call calls[] = {call(AGG_COUNT_STAR, -1, TYPE_BIGINT, "COUNT(*)")};
    struct aggregate_spec spec;

    rig_init(&r, 2);
    spec = group_by_k(&r, calls, 1);
    spec.emit_update_before = false;
    rig_open(&r, aggregate_new(&spec));
    add(&r, "a", 1);
    add(&r, "a", 1);
    ck_assert_ok(feed(&r, &err));
    expect(&r, "+I[a, 1]\n+U[a, 2]\n");
    rig_close(&r);
}
END_TEST

START_TEST(a_mini_batch_gives_one_change_a_key)
{
    struct rig r;
    struct err err = {0};
    struct agg_call calls[] = {call(AGG_COUNT_STAR, -1, TYPE_BIGINT, "COUNT(*)"), call(AGG_SUM, 2, TYPE_BIGINT, "SUM(v)")};
    struct aggregate_spec spec;

    rig_init(&r, 3);
    spec = group_by_k(&r, calls, 2);
    spec.mini_batch_rows = 3;
    rig_open(&r, aggregate_new(&spec));
    add(&r, "a", 1);
    add(&r, "b", 10);
    add(&r, "a", 2);
    ck_assert_ok(feed(&r, &err));
    expect(&r, "+I[a, 2, 3]\n+I[b, 1, 10]\n");
    add(&r, "a", 3);
    add(&r, "a", 4);
    ck_assert_ok(feed(&r, &err));
    expect(&r, "-U[a, 2, 3]\n+U[a, 4, 10]\n");
    for (int i = 0; i < 4; i++) /* one more than a mini-batch has */
        add(&r, "b", 1);
    ck_assert_ok(feed(&r, &err));
    expect(&r, "-U[b, 1, 10]\n+U[b, 4, 13]\n-U[b, 4, 13]\n+U[b, 5, 14]\n");
    rig_close(&r);
}
END_TEST

/* Over an input that takes rows back: a group without rows goes, and may come again. */
START_TEST(rows_that_are_taken_back_leave_no_group)
{
    struct rig r;
    struct err err = {0};
    struct agg_call calls[] = {call(AGG_COUNT_STAR, -1, TYPE_BIGINT, "COUNT(*)"), call(AGG_SUM, 2, TYPE_BIGINT, "SUM(v)")};
    struct aggregate_spec spec;

    rig_init(&r, 3);
    spec = group_by_k(&r, calls, 2);
    spec.retracts = true;
    rig_open(&r, aggregate_new(&spec));
    row(&r, ROW_INSERT, "a", 0, 4, NULL, true);
    row(&r, ROW_UPDATE_BEFORE, "a", 0, 4, NULL, true);
    row(&r, ROW_UPDATE_AFTER, "b", 0, 5, NULL, true);
    ck_assert_ok(feed(&r, &err));
    expect(&r, "+I[a, 1, 4]\n-D[a, 1, 4]\n+I[b, 1, 5]\n");
    row(&r, ROW_INSERT, "a", 0, 6, NULL, true);
    row(&r, ROW_DELETE, "b", 0, 5, NULL, true);
    ck_assert_ok(feed(&r, &err));
    expect(&r, "+I[a, 1, 6]\n-D[b, 1, 5]\n");
    row(&r, ROW_DELETE, "zzz", 0, 5, NULL, true);
    ck_assert_rc_msg(feed(&r, &err), RC_STATE, "taken back");
    rig_close(&r);
}
END_TEST

START_TEST(a_minimum_over_rows_that_are_taken_back_is_refused)
{
    struct rig r;
    struct err err = {0};
    struct agg_call calls[] = {call(AGG_MIN, 2, TYPE_BIGINT, "MIN(v)")};
    struct aggregate_spec spec;
    struct state_desc *states;
    size_t count;

    rig_init(&r, 2);
    spec = group_by_k(&r, calls, 1);
    spec.retracts = true;
    ck_assert_rc_msg(aggregate_states(r.arena, &spec, &states, &count, &err), RC_UNSUPPORTED, "MIN(v)");
    batch_builder_free(r.rows);
    config_free(r.config);
    arena_free(r.arena);
}
END_TEST

START_TEST(distinct_values_count_once_and_filters_leave_rows_out)
{
    struct rig r;
    struct err err = {0};
    struct agg_call calls[] = {call(AGG_COUNT, 2, TYPE_BIGINT, "COUNT(DISTINCT v)"),
                               call(AGG_SUM, 2, TYPE_BIGINT, "SUM(v) FILTER (WHERE keep)"),
                               call(AGG_SUM, 2, TYPE_BIGINT, "SUM(DISTINCT v)")};
    struct aggregate_spec spec;

    calls[0].distinct = calls[2].distinct = true;
    calls[1].filter = 4;
    rig_init(&r, 4);
    spec = group_by_k(&r, calls, 3);
    rig_open(&r, aggregate_new(&spec));
    row(&r, ROW_INSERT, "a", 0, 2, NULL, true);
    row(&r, ROW_INSERT, "a", 0, 2, NULL, false); /* nothing changes */
    row(&r, ROW_INSERT, "a", 0, 3, NULL, false);
    ck_assert_ok(feed(&r, &err));
    expect(&r, "+I[a, 1, 2, 2]\n-U[a, 1, 2, 2]\n+U[a, 2, 2, 5]\n");
    row(&r, ROW_INSERT, "a", 0, 3, NULL, true); /* seen in an earlier batch */
    ck_assert_ok(feed(&r, &err));
    expect(&r, "-U[a, 2, 2, 5]\n+U[a, 2, 5, 5]\n");
    rig_close(&r);
}
END_TEST

START_TEST(text_has_minimum_maximum_first_and_last)
{
    struct rig r;
    struct err err = {0};
    struct agg_call calls[] = {call(AGG_MIN, 3, TYPE_VARCHAR, "MIN(s)"), call(AGG_MAX, 3, TYPE_VARCHAR, "MAX(s)"),
                               call(AGG_FIRST_VALUE, 3, TYPE_VARCHAR, "FIRST_VALUE(s)"),
                               call(AGG_LAST_VALUE, 3, TYPE_VARCHAR, "LAST_VALUE(s)")};
    struct aggregate_spec spec;

    rig_init(&r, 5);
    spec = group_by_k(&r, calls, 4);
    rig_open(&r, aggregate_new(&spec));
    row(&r, ROW_INSERT, "a", 0, 0, "m", true);
    row(&r, ROW_INSERT, "a", 0, 0, "", true);
    row(&r, ROW_INSERT, "a", 0, 0, NULL, true);
    ck_assert_ok(feed(&r, &err));
    expect(&r, "+I[a, m, m, m, m]\n-U[a, m, m, m, m]\n+U[a, , m, m, ]\n");
    row(&r, ROW_INSERT, "a", 0, 0, "z", true);
    ck_assert_ok(feed(&r, &err));
    expect(&r, "-U[a, , m, m, ]\n+U[a, , z, m, z]\n");
    rig_close(&r);
}
END_TEST

/* B53: the sum is kept in 128 bits; what does not fit its type fails and names the key. */
START_TEST(a_sum_that_does_not_fit_fails_and_names_the_key)
{
    struct rig r;
    struct err err = {0};
    struct agg_call calls[] = {call(AGG_SUM, 2, TYPE_BIGINT, "SUM(v)")};
    struct aggregate_spec spec;

    rig_init(&r, 2);
    spec = group_by_k(&r, calls, 1);
    rig_open(&r, aggregate_new(&spec));
    add(&r, "good", 1);
    add(&r, "over the edge", INT64_MAX);
    add(&r, "over the edge", 1);
    ck_assert_rc_msg(feed(&r, &err), RC_INVALID, "(k = over the edge): SUM(v): the exact result 9223372036854775808 does not fit BIGINT");
    rig_close(&r);
}
END_TEST

START_TEST(in_batch_mode_a_sum_may_pass_the_edge_and_come_back)
{
    struct rig r;
    struct err err = {0};
    struct agg_call calls[] = {call(AGG_SUM, 2, TYPE_BIGINT, "SUM(v)"), call(AGG_AVG, 2, TYPE_BIGINT, "AVG(v)")};
    struct aggregate_spec spec;

    rig_init(&r, 3);
    spec = group_by_k(&r, calls, 2);
    spec.final_only = true;
    rig_open(&r, aggregate_new(&spec));
    add(&r, "a", INT64_MAX);
    add(&r, "a", INT64_MAX);
    add(&r, "b", 7);
    add(&r, "a", -INT64_MAX);
    add(&r, "b", -2);
    ck_assert_ok(feed(&r, &err));
    expect(&r, "");
    ck_assert_ok(r.op->ops->end_input(r.op, &r.out, &err));
    drain(&r);
    expect_set(&r, "+I[a, 9223372036854775807, 3074457345618258602]\n+I[b, 5, 2]\n");
    rig_close(&r);
}
END_TEST

/* Final results that have left are not given again by a run that restores what was snapshot after them. */
START_TEST(final_results_are_not_repeated_after_a_restore)
{
    struct rig r;
    struct err err = {0};
    struct agg_call calls[] = {call(AGG_COUNT_STAR, -1, TYPE_BIGINT, "COUNT(*)")};
    struct barrier barrier = {.checkpoint_id = 1, .kind = CHECKPOINT_PERIODIC, .exactly_once = true};
    struct aggregate_spec spec;
    struct list_state *lists;
    struct subtask_state snapshot;
    size_t list_count;

    rig_init(&r, 2);
    spec = group_by_k(&r, calls, 1);
    spec.final_only = true;
    rig_open(&r, aggregate_new(&spec));
    add(&r, "a", 1);
    ck_assert_ok(feed(&r, &err));
    ck_assert_ok(r.op->ops->end_input(r.op, &r.out, &err));
    drain(&r);
    expect(&r, "+I[a, 1]\n");
    ck_assert_ok(r.op->ops->snapshot(r.op, &barrier, &err));
    operator_state_snapshot(r.ctx.state, r.arena, &snapshot);
    lists = snapshot.lists;
    list_count = snapshot.list_count;
    r.op->ops->close(r.op, false);
    operator_state_free(r.ctx.state);
    r.ctx.state = operator_state_new();
    operator_state_restore(r.ctx.state, lists, list_count);
    r.op = aggregate_new(&spec); /* over the same keyed state, as a restore would have it */
    ck_assert_ok(r.op->ops->open(r.op, &r.ctx, &err));
    ck_assert_ok(r.op->ops->end_input(r.op, &r.out, &err));
    drain(&r);
    expect(&r, "");
    rig_close(&r);
}
END_TEST

START_TEST(a_count_over_nothing_is_zero_in_batch_mode)
{
    struct rig r;
    struct err err = {0};
    struct agg_call calls[] = {call(AGG_COUNT_STAR, -1, TYPE_BIGINT, "COUNT(*)"), call(AGG_SUM, 2, TYPE_BIGINT, "SUM(v)")};
    struct aggregate_spec spec;

    rig_init(&r, 2);
    set_field(&r.output, 0, "COUNT(*)", type_of(TYPE_BIGINT));
    set_field(&r.output, 1, "SUM(v)", type_of(TYPE_BIGINT));
    spec = (struct aggregate_spec){.input = &r.input, .output = &r.output, .call_count = 2, .calls = calls, .final_only = true};
    rig_open(&r, aggregate_new(&spec));
    ck_assert_ok(r.op->ops->end_input(r.op, &r.out, &err));
    drain(&r);
    expect(&r, "+I[0, null]\n");
    rig_close(&r);
}
END_TEST

/* ---- windows -------------------------------------------------------------------------------------- */

static struct window_spec ten_seconds(struct rig *r, struct agg_call *calls, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        set_field(&r->output, i + 1, calls[i].name, calls[i].result);
    set_field(&r->output, count + 1, "window_start", timestamp3());
    set_field(&r->output, count + 2, "window_end", timestamp3());
    return (struct window_spec){.input = &r->input,
                                .output = &r->output,
                                .key_count = 1,
                                .keys = key_k,
                                .call_count = count,
                                .calls = calls,
                                .time_column = 1,
                                .size_ms = 10000,
                                .emit_start = true,
                                .emit_end = true,
                                .time_zone = "UTC"};
}

static void watermark(struct rig *r, int64_t ms)
{
    struct err err = {0};

    ck_assert_ok(r->op->ops->watermark(r->op, ms, &r->out, &err));
    drain(r);
    ck_assert_int_eq(r->watermark_ms, ms);
}

START_TEST(a_window_fires_when_the_watermark_passes_it_and_late_rows_are_counted)
{
    struct rig r;
    struct err err = {0};
    struct agg_call calls[] = {call(AGG_COUNT_STAR, -1, TYPE_BIGINT, "COUNT(*)"), call(AGG_MAX, 3, TYPE_VARCHAR, "MAX(s)"),
                               call(AGG_COUNT, 2, TYPE_BIGINT, "COUNT(DISTINCT v)")};
    struct window_spec spec;

    calls[2].distinct = true;
    rig_init(&r, 6);
    spec = ten_seconds(&r, calls, 3);
    rig_open(&r, window_new(&spec));
    row(&r, ROW_INSERT, "a", 9999, 1, "x", true);
    row(&r, ROW_INSERT, "a", 10000, 1, "y", true);
    row(&r, ROW_INSERT, "a", 0, 1, "z", true);
    row(&r, ROW_INSERT, "b", -1, 1, "w", true); /* before 1970: floor, not truncation */
    ck_assert_ok(feed(&r, &err));
    watermark(&r, 9998);
    expect(&r, "+I[b, 1, w, 1, 1969-12-31 23:59:50.000, 1970-01-01 00:00:00.000]\n");
    watermark(&r, 9999);
    expect(&r, "+I[a, 2, z, 1, 1970-01-01 00:00:00.000, 1970-01-01 00:00:10.000]\n");
    row(&r, ROW_INSERT, "a", 9999, 1, "late", true);
    row(&r, ROW_INSERT, "a", 10001, 2, "q", true);
    ck_assert_ok(feed(&r, &err));
    ck_assert_uint_eq(r.metrics.late_dropped, 1);
    watermark(&r, WATERMARK_MAX);
    expect(&r, "+I[a, 2, y, 2, 1970-01-01 00:00:10.000, 1970-01-01 00:00:20.000]\n");
    rig_close(&r);
}
END_TEST

START_TEST(a_row_without_event_time_fails_and_names_the_column)
{
    struct rig r;
    struct err err = {0};
    struct agg_call calls[] = {call(AGG_COUNT_STAR, -1, TYPE_BIGINT, "COUNT(*)")};
    struct window_spec spec;

    rig_init(&r, 4);
    spec = ten_seconds(&r, calls, 1);
    rig_open(&r, window_new(&spec));
    batch_append_null(r.rows, 0);
    batch_append_null(r.rows, 1);
    batch_append_null(r.rows, 2);
    batch_append_null(r.rows, 3);
    batch_append_null(r.rows, 4);
    batch_row_end(r.rows, ROW_INSERT);
    ck_assert_rc_msg(feed(&r, &err), RC_INVALID, "'ts'");
    rig_close(&r);
}
END_TEST

/* B29: what a restore needs to fire each window once, and to know late rows again. */
START_TEST(open_windows_and_the_watermark_survive_a_restore)
{
    struct rig r;
    struct err err = {0};
    struct agg_call calls[] = {call(AGG_COUNT_STAR, -1, TYPE_BIGINT, "COUNT(*)")};
    struct barrier barrier = {.checkpoint_id = 1, .kind = CHECKPOINT_PERIODIC, .exactly_once = true};
    struct window_spec spec;
    struct list_state *lists;
    struct subtask_state snapshot;
    size_t list_count;

    rig_init(&r, 4);
    spec = ten_seconds(&r, calls, 1);
    rig_open(&r, window_new(&spec));
    row(&r, ROW_INSERT, "a", 5000, 1, NULL, true);
    row(&r, ROW_INSERT, "a", 15000, 1, NULL, true);
    ck_assert_ok(feed(&r, &err));
    watermark(&r, 12000);
    expect(&r, "+I[a, 1, 1970-01-01 00:00:00.000, 1970-01-01 00:00:10.000]\n");
    ck_assert_ok(r.op->ops->snapshot(r.op, &barrier, &err));
    operator_state_snapshot(r.ctx.state, r.arena, &snapshot);
    lists = snapshot.lists;
    list_count = snapshot.list_count;
    r.op->ops->close(r.op, false);
    operator_state_free(r.ctx.state);
    r.ctx.state = operator_state_new();
    operator_state_restore(r.ctx.state, lists, list_count);
    r.op = window_new(&spec);
    ck_assert_ok(r.op->ops->open(r.op, &r.ctx, &err));
    row(&r, ROW_INSERT, "a", 5000, 1, NULL, true);
    ck_assert_ok(feed(&r, &err));
    ck_assert_uint_eq(r.metrics.late_dropped, 1);
    watermark(&r, WATERMARK_MAX);
    expect(&r, "+I[a, 1, 1970-01-01 00:00:10.000, 1970-01-01 00:00:20.000]\n");
    rig_close(&r);
}
END_TEST

/* What a subtask of two has in its lists at this event time, appended by name as a restore would. */
static void subtask_of_two(uint32_t index, int64_t watermark_ms, struct arena *to, struct list_state *lists,
                           size_t *count)
{
    struct rig r;
    struct err err = {0};
    struct agg_call calls[] = {call(AGG_COUNT_STAR, -1, TYPE_BIGINT, "COUNT(*)")};
    struct barrier barrier = {.checkpoint_id = 1, .kind = CHECKPOINT_PERIODIC, .exactly_once = true};
    struct window_spec spec;
    struct subtask_state snapshot;

    rig_init(&r, 4);
    spec = ten_seconds(&r, calls, 1);
    rig_open(&r, window_new(&spec));
    r.op->ops->close(r.op, false);
    r.ctx.subtask_index = index;
    r.ctx.parallelism = 2;
    r.op = window_new(&spec);
    ck_assert_ok(r.op->ops->open(r.op, &r.ctx, &err));
    watermark(&r, watermark_ms);
    ck_assert_ok(r.op->ops->snapshot(r.op, &barrier, &err));
    operator_state_snapshot(r.ctx.state, to, &snapshot);
    for (size_t l = 0; l < snapshot.list_count; l++) {
        size_t at = 0;
        struct list_state *all;
        struct bytes *items;

        while (at < *count && strcmp(lists[at].name, snapshot.lists[l].name) != 0)
            at++;
        all = &lists[at];
        if (at == *count) {
            ++*count;
            *all = (struct list_state){snapshot.lists[l].name, snapshot.lists[l].mode, 0, NULL};
        }
        items = ARENA_ARRAY(to, all->item_count + snapshot.lists[l].item_count, struct bytes);
        for (size_t i = 0; i < all->item_count; i++)
            items[i] = all->items[i];
        for (size_t i = 0; i < snapshot.lists[l].item_count; i++)
            items[all->item_count + i] = snapshot.lists[l].items[i];
        all->items = items;
        all->item_count += snapshot.lists[l].item_count;
    }
    rig_close(&r);
}

/* A barrier that overtakes meets the subtasks at different event times. A window that one of them has fired must not
 * fire once more for its keys, because the other was behind; and what is not late for the other's keys must count. */
START_TEST(what_was_late_for_a_key_group_stays_late_at_another_parallelism)
{
    static const char *const texts[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    struct rig r;
    struct err err = {0};
    struct agg_call calls[] = {call(AGG_COUNT_STAR, -1, TYPE_BIGINT, "COUNT(*)")};
    struct window_spec spec;
    struct list_state lists[8] = {{0}};
    struct arena *arena = arena_new(0);
    size_t count = 0;
    uint32_t groups[ARRAY_LEN(texts)], late = 0;
    struct row_key *key;

    subtask_of_two(0, 12000, arena, lists, &count);
    subtask_of_two(1, 3000, arena, lists, &count);
    rig_init(&r, 4);
    spec = ten_seconds(&r, calls, 1);
    rig_open(&r, window_new(&spec));
    r.op->ops->close(r.op, false);
    operator_state_restore(r.ctx.state, lists, count);
    r.op = window_new(&spec);
    r.ctx.key_group_count = 64; /* as a snapshot made anew would have it: which group is which has changed */
    ck_assert_rc_msg(r.op->ops->open(r.op, &r.ctx, &err), RC_UNSUPPORTED, "event times of 128 key groups");
    r.op->ops->close(r.op, false);
    r.ctx.key_group_count = 128;
    r.op = window_new(&spec);
    ck_assert_ok(r.op->ops->open(r.op, &r.ctx, &err));
    for (uint32_t i = 0; i < ARRAY_LEN(texts); i++)
        row(&r, ROW_INSERT, texts[i], 5000, 1, NULL, true);
    key = row_key_new(&r.input, 1, key_k, 128, KEY_NS_VOID);
    ck_assert_ok(row_key_groups(key, batch_builder_view(r.rows), groups, &err));
    for (uint32_t i = 0; i < ARRAY_LEN(texts); i++)
        late += keygroup_owner(groups[i], 2, 128) == 0;
    ck_assert(late > 0 && late < ARRAY_LEN(texts));
    ck_assert_ok(feed(&r, &err));
    ck_assert_uint_eq(r.metrics.late_dropped, late);
    /* Event time has caught up: the group no longer matters. */
    watermark(&r, 12000);
    buf_clear(&r.text);
    for (uint32_t i = 0; i < ARRAY_LEN(texts); i++)
        row(&r, ROW_INSERT, texts[i], 5000, 1, NULL, true);
    ck_assert_ok(feed(&r, &err));
    ck_assert_uint_eq(r.metrics.late_dropped, late + ARRAY_LEN(texts));
    row_key_free(key);
    arena_free(arena);
    rig_close(&r);
}
END_TEST

TEST_MAIN("operators",
          tcase_add_test(tc, running_totals_leave_as_a_changelog);
          tcase_add_test(tc, without_update_before_only_new_results_leave);
          tcase_add_test(tc, a_mini_batch_gives_one_change_a_key);
          tcase_add_test(tc, rows_that_are_taken_back_leave_no_group);
          tcase_add_test(tc, a_minimum_over_rows_that_are_taken_back_is_refused);
          tcase_add_test(tc, distinct_values_count_once_and_filters_leave_rows_out);
          tcase_add_test(tc, text_has_minimum_maximum_first_and_last);
          tcase_add_test(tc, a_sum_that_does_not_fit_fails_and_names_the_key);
          tcase_add_test(tc, in_batch_mode_a_sum_may_pass_the_edge_and_come_back);
          tcase_add_test(tc, final_results_are_not_repeated_after_a_restore);
          tcase_add_test(tc, a_count_over_nothing_is_zero_in_batch_mode);
          tcase_add_test(tc, a_window_fires_when_the_watermark_passes_it_and_late_rows_are_counted);
          tcase_add_test(tc, a_row_without_event_time_fails_and_names_the_column);
          tcase_add_test(tc, open_windows_and_the_watermark_survive_a_restore);
          tcase_add_test(tc, what_was_late_for_a_key_group_stays_late_at_another_parallelism);)
