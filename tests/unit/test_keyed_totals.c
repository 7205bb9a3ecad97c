/* Time-to-live of groups, over both backends: a group lives as a whole, by its last row. What totals do otherwise is in
 * test_operators. */
#include "base/rng.h"
#include "job/operator/accumulator.h"
#include "tests/lib/dir_target.h"
#include "tests/lib/operator_rig.h"
#include "tests/lib/sim_clock.h"
#include "tests/lib/tmpdir.h"

static struct tmpdir tmp;
static struct dir_target target;
static struct sim_clock sim;
static int opened;

static void setup(void)
{
    tmpdir_make(&tmp);
    dir_target_init(&target, fs_posix(), tmp.path);
    sim_clock_init(&sim, 1790000000000);
}
static void teardown(void)
{
    dir_target_release(&target);
    tmpdir_remove(&tmp);
}

static void prepare(struct rig *r, enum backend_kind kind, uint32_t calls)
{
    rig_init(r, 1 + calls);
    r->env.clock = &sim.clock;
    r->kind = kind;
    r->local_dir = arena_printf(r->arena, "%s/db-%d", tmp.path, opened++);
}

static enum backend_kind kind_of(int i) { return i % 2 == 0 ? BACKEND_HASHMAP : BACKEND_ROCKSDB; }

/* One row; what came out. */
static void one(struct rig *r, enum row_kind kind, const char *k, int64_t v, const char *s, const char *want)
{
    struct err err = {0};

    row(r, kind, k, 0, v, s, true);
    ck_assert_ok(feed(r, &err));
    expect(r, want);
}

START_TEST(an_idle_group_is_forgotten_and_its_next_row_is_its_first)
{
    struct rig r;
    struct agg_call calls[] = {call(AGG_COUNT_STAR, -1, TYPE_BIGINT, "COUNT(*)"), call(AGG_MAX, 2, TYPE_BIGINT, "MAX(v)")};
    struct aggregate_spec spec;

    prepare(&r, kind_of(_i), 2);
    spec = group_by_k(&r, calls, 2);
    spec.ttl_ms = 1000;
    rig_open(&r, aggregate_new(&spec));
    one(&r, ROW_INSERT, "a", 9, NULL, "+I[a, 1, 9]\n");
    one(&r, ROW_INSERT, "b", 1, NULL, "+I[b, 1, 1]\n");
    sim_clock_advance_ms(&sim, 999);
    one(&r, ROW_INSERT, "a", 3, NULL, "-U[a, 1, 9]\n+U[a, 2, 9]\n"); /* young again */
    sim_clock_advance_ms(&sim, 1);
    one(&r, ROW_INSERT, "b", 2, NULL, "+I[b, 1, 2]\n");
    sim_clock_advance_ms(&sim, 998);
    one(&r, ROW_INSERT, "a", 3, NULL, "-U[a, 2, 9]\n+U[a, 3, 9]\n");
    sim_clock_advance_ms(&sim, 1000);
    one(&r, ROW_INSERT, "a", 2, NULL, "+I[a, 1, 2]\n");
    rig_close(&r);
}
END_TEST

/* Who keeps state of these results must hear that they live. */
START_TEST(a_result_that_does_not_change_leaves_all_the_same)
{
    struct rig r;
    struct agg_call calls[] = {call(AGG_MAX, 2, TYPE_BIGINT, "MAX(v)")};
    struct aggregate_spec spec;

    prepare(&r, kind_of(_i), 1);
    spec = group_by_k(&r, calls, 1);
    rig_open(&r, aggregate_new(&spec));
    one(&r, ROW_INSERT, "a", 9, NULL, "+I[a, 9]\n");
    one(&r, ROW_INSERT, "a", 1, NULL, "");
    rig_close(&r);
    prepare(&r, kind_of(_i), 1);
    spec = group_by_k(&r, calls, 1);
    spec.ttl_ms = 1000;
    rig_open(&r, aggregate_new(&spec));
    one(&r, ROW_INSERT, "a", 9, NULL, "+I[a, 9]\n");
    one(&r, ROW_INSERT, "a", 1, NULL, "-U[a, 9]\n+U[a, 9]\n");
    rig_close(&r);
}
END_TEST

/* A text that no row changes for long is still the group's; one of a group that was forgotten never comes back. */
START_TEST(a_text_lives_as_long_as_its_group)
{
    struct rig r;
    struct agg_call calls[] = {call(AGG_MIN, 3, TYPE_VARCHAR, "MIN(s)")};
    struct aggregate_spec spec;

    prepare(&r, kind_of(_i), 1);
    spec = group_by_k(&r, calls, 1);
    spec.ttl_ms = 1000;
    rig_open(&r, aggregate_new(&spec));
    one(&r, ROW_INSERT, "a", 0, "b", "+I[a, b]\n");
    for (int i = 0; i < 3; i++) {
        sim_clock_advance_ms(&sim, 600);
        one(&r, ROW_INSERT, "a", 0, i == 1 ? NULL : "z", "-U[a, b]\n+U[a, b]\n");
    }
    sim_clock_advance_ms(&sim, 1000);
    one(&r, ROW_INSERT, "a", 0, NULL, "+I[a, null]\n");
    one(&r, ROW_INSERT, "a", 0, "y", "-U[a, null]\n+U[a, y]\n");
    rig_close(&r);
}
END_TEST

/* As in Flink: each value has a time of its own, and is counted again when it comes after it. */
START_TEST(a_distinct_value_expires_alone_or_with_its_group)
{
    struct rig r;
    struct agg_call calls[] = {call(AGG_COUNT, 3, TYPE_BIGINT, "COUNT(DISTINCT s)")};
    struct aggregate_spec spec;

    prepare(&r, kind_of(_i), 1);
    calls[0].distinct = true;
    spec = group_by_k(&r, calls, 1);
    spec.ttl_ms = 1000;
    rig_open(&r, aggregate_new(&spec));
    one(&r, ROW_INSERT, "a", 0, "x", "+I[a, 1]\n");
    one(&r, ROW_INSERT, "a", 0, "x", "-U[a, 1]\n+U[a, 1]\n");
    sim_clock_advance_ms(&sim, 600);
    one(&r, ROW_INSERT, "a", 0, "y", "-U[a, 1]\n+U[a, 2]\n");
    sim_clock_advance_ms(&sim, 600);
    one(&r, ROW_INSERT, "a", 0, "y", "-U[a, 2]\n+U[a, 2]\n");
    one(&r, ROW_INSERT, "a", 0, "x", "-U[a, 2]\n+U[a, 3]\n"); /* it had expired */
    sim_clock_advance_ms(&sim, 1000);
    one(&r, ROW_INSERT, "a", 0, "y", "+I[a, 1]\n");
    rig_close(&r);
}
END_TEST

START_TEST(what_is_taken_back_from_a_forgotten_group_is_ignored)
{
    struct rig r;
    struct agg_call calls[] = {call(AGG_COUNT_STAR, -1, TYPE_BIGINT, "COUNT(*)"), call(AGG_SUM, 2, TYPE_BIGINT, "SUM(v)"),
                               call(AGG_COUNT, 3, TYPE_BIGINT, "COUNT(DISTINCT s)")};
    struct aggregate_spec spec;
    struct err err = {0};

    prepare(&r, kind_of(_i), 3);
    calls[2].distinct = true;
    spec = group_by_k(&r, calls, 3);
    spec.ttl_ms = 1000;
    spec.retracts = true;
    rig_open(&r, aggregate_new(&spec));
    one(&r, ROW_INSERT, "a", 4, "x", "+I[a, 1, 4, 1]\n");
    sim_clock_advance_ms(&sim, 1000);
    one(&r, ROW_UPDATE_BEFORE, "a", 4, "x", "");
    one(&r, ROW_UPDATE_AFTER, "a", 5, "x", "+I[a, 1, 5, 1]\n");
    one(&r, ROW_DELETE, "a", 5, "x", "-D[a, 1, 5, 1]\n");
    one(&r, ROW_DELETE, "a", 5, "x", "");
    row(&r, ROW_UPDATE_BEFORE, "b", 0, 1, "x", true); /* all in one chunk */
    row(&r, ROW_UPDATE_AFTER, "b", 0, 2, "y", true);
    row(&r, ROW_UPDATE_BEFORE, "b", 0, 2, "y", true);
    row(&r, ROW_UPDATE_BEFORE, "b", 0, 2, "y", true);
    row(&r, ROW_UPDATE_AFTER, "b", 0, 3, "z", true);
    ck_assert_ok(feed(&r, &err));
    expect(&r, "+I[b, 1, 2, 1]\n-D[b, 1, 2, 1]\n+I[b, 1, 3, 1]\n");
    rig_close(&r);
}
END_TEST

/* Snapshot of r, which is closed; the same group by goes on from it with another time-to-live in *r. */
static void go_on(struct rig *r, struct aggregate_spec *spec, struct agg_call *calls, uint32_t count, bool retracts,
                  enum backend_kind kind, uint64_t ttl_ms)
{
    struct arena *arena = arena_new(0);
    struct keyed_handle h;
    struct keyed_snapshot *s;
    struct err err = {0};

    ck_assert_ok(keyed_snapshot_begin(r->ctx.keyed, 1, &s, &err));
    ck_assert_ok(keyed_snapshot_write(s, &target.base, arena, &h, &err));
    keyed_snapshot_free(s);
    dir_target_resolve(&target, arena, &h);
    rig_close(r);
    prepare(r, kind, count);
    *spec = group_by_k(r, calls, count);
    spec->ttl_ms = ttl_ms;
    spec->retracts = retracts;
    rig_restore(r, aggregate_new(spec), &h);
    arena_free(arena);
}

START_TEST(another_time_to_live_holds_from_the_restore_on)
{
    struct rig r;
    struct agg_call calls[] = {call(AGG_COUNT_STAR, -1, TYPE_BIGINT, "COUNT(*)"), call(AGG_MIN, 3, TYPE_VARCHAR, "MIN(s)"),
                               call(AGG_COUNT, 3, TYPE_BIGINT, "COUNT(DISTINCT s)")};
    enum backend_kind kind = kind_of(_i), other = _i < 2 ? kind : kind_of(_i + 1);
    struct aggregate_spec spec;

    calls[2].distinct = true;
    prepare(&r, kind, 3);
    spec = group_by_k(&r, calls, 3);
    spec.ttl_ms = 1000;
    rig_open(&r, aggregate_new(&spec));
    one(&r, ROW_INSERT, "a", 0, "m", "+I[a, 1, m, 1]\n");
    sim_clock_advance_ms(&sim, 600);
    one(&r, ROW_INSERT, "b", 0, "n", "+I[b, 1, n, 1]\n");
    go_on(&r, &spec, calls, 3, false, other, 500); /* shorter: at once */
    one(&r, ROW_INSERT, "a", 0, "q", "+I[a, 1, q, 1]\n");
    one(&r, ROW_INSERT, "b", 0, "n", "-U[b, 1, n, 1]\n+U[b, 2, n, 1]\n");
    go_on(&r, &spec, calls, 3, false, kind, 5000); /* longer */
    sim_clock_advance_ms(&sim, 4999);
    one(&r, ROW_INSERT, "a", 0, "m", "-U[a, 1, q, 1]\n+U[a, 2, m, 2]\n");
    go_on(&r, &spec, calls, 3, false, other, 0); /* off: for ever */
    sim_clock_advance_ms(&sim, 1000000);
    one(&r, ROW_INSERT, "a", 0, "z", "-U[a, 2, m, 2]\n+U[a, 3, m, 3]\n");
    go_on(&r, &spec, calls, 3, false, kind, 1000); /* on: all are young now */
    sim_clock_advance_ms(&sim, 999);
    one(&r, ROW_INSERT, "a", 0, "z", "-U[a, 3, m, 3]\n+U[a, 4, m, 3]\n");
    sim_clock_advance_ms(&sim, 1000);
    one(&r, ROW_INSERT, "a", 0, "z", "+I[a, 1, z, 1]\n");
    rig_close(&r);
}
END_TEST

START_TEST(a_clock_that_is_set_back_revives_no_group)
{
    struct rig r;
    struct agg_call calls[] = {call(AGG_COUNT_STAR, -1, TYPE_BIGINT, "COUNT(*)")};
    struct aggregate_spec spec;

    prepare(&r, kind_of(_i), 1);
    spec = group_by_k(&r, calls, 1);
    spec.ttl_ms = 1000;
    rig_open(&r, aggregate_new(&spec));
    one(&r, ROW_INSERT, "a", 0, NULL, "+I[a, 1]\n");
    sim_clock_set_wall_ms(&sim, 1700000000000);
    sim_clock_advance_ms(&sim, 999);
    go_on(&r, &spec, calls, 1, false, kind_of(_i), 1000);
    one(&r, ROW_INSERT, "a", 0, NULL, "-U[a, 1]\n+U[a, 2]\n");
    sim_clock_advance_ms(&sim, 1000);
    one(&r, ROW_INSERT, "a", 0, NULL, "+I[a, 1]\n");
    rig_close(&r);
}
END_TEST

/* ---- against a model ------------------------------------------------------------------------------ */

#define KEYS 5
#define TEXTS 6

struct group_model {
    bool known;
    int64_t time_ms, count, sum, distinct;
    int min_text; /* -1: none */
    int64_t value_time_ms[TEXTS];
    bool value_seen[TEXTS];
};

static void model_text(const struct group_model *g, char key, char *out, size_t size)
{
    char text[8] = "null";

    if (g->min_text >= 0)
        snprintf(text, sizeof text, "%c", 'p' + g->min_text);
    snprintf(out, size, "[%c, %lld, %lld, %s, %lld]", key, (long long)g->count, (long long)g->sum, text, (long long)g->distinct);
}

/* A row in the model; the changes it gives are appended. */
static void model_row(struct group_model *g, char key, int64_t v, int text, int64_t now_ms, int64_t ttl_ms, struct buf *want)
{
    bool fresh = !g->known || g->time_ms + ttl_ms <= now_ms;
    char before[80], after[80];

    if (fresh)
        *g = (struct group_model){.known = true, .min_text = -1};
    model_text(g, key, before, sizeof before);
    g->time_ms = now_ms;
    g->count++;
    g->sum += v;
    if (text >= 0) {
        if (g->min_text < 0 || text < g->min_text)
            g->min_text = text;
        if (!g->value_seen[text] || g->value_time_ms[text] + ttl_ms <= now_ms)
            g->distinct++;
        g->value_seen[text] = true;
        g->value_time_ms[text] = now_ms;
    }
    model_text(g, key, after, sizeof after);
    if (fresh)
        buf_printf(want, "+I%s\n", after);
    else
        buf_printf(want, "-U%s\n+U%s\n", before, after);
}

START_TEST(random_rows_times_and_restores_agree_with_a_model)
{
    struct agg_call calls[] = {call(AGG_COUNT_STAR, -1, TYPE_BIGINT, "COUNT(*)"), call(AGG_SUM, 2, TYPE_BIGINT, "SUM(v)"),
                               call(AGG_MIN, 3, TYPE_VARCHAR, "MIN(s)"), call(AGG_COUNT, 3, TYPE_BIGINT, "COUNT(DISTINCT s)")};
    struct group_model groups[KEYS] = {0};
    uint64_t ttl_ms = 2000;
    struct aggregate_spec spec;
    struct buf want = {0};
    struct err err = {0};
    struct rng rng;
    struct rig r;

    rng_seed(&rng, 1000 + (uint64_t)_i);
    calls[3].distinct = true;
    prepare(&r, kind_of(_i), 4);
    spec = group_by_k(&r, calls, 4);
    spec.ttl_ms = ttl_ms;
    rig_open(&r, aggregate_new(&spec));
    for (int step = 0; step < 300; step++) {
        int64_t now_ms = sim.wall_ns / NS_PER_MS;
        uint64_t rows = 1 + rng_below(&rng, 30);

        for (uint64_t i = 0; i < rows; i++) {
            uint64_t k = rng_below(&rng, KEYS), text = rng_below(&rng, TEXTS + 1);
            int64_t v = (int64_t)rng_below(&rng, 100);
            char key[2] = {(char)('a' + k), '\0'}, s[2] = {(char)('p' + text), '\0'};

            row(&r, ROW_INSERT, key, 0, v, text == TEXTS ? NULL : s, true);
            model_row(&groups[k], key[0], v, text == TEXTS ? -1 : (int)text, now_ms, (int64_t)ttl_ms, &want);
        }
        ck_assert_ok(feed(&r, &err));
        expect(&r, buf_cstr(&want));
        buf_clear(&want);
        sim_clock_advance_ms(&sim, (int64_t)rng_below(&rng, rng_below(&rng, 10) == 0 ? 3 * ttl_ms : ttl_ms / 2));
        if (rng_below(&rng, 30) == 0) {
            /* Never longer: what had expired may still lie there, or not. */
            ttl_ms = rng_below(&rng, 2) == 0 && ttl_ms > 100 ? ttl_ms * 3 / 4 : ttl_ms;
            go_on(&r, &spec, calls, 4, false, kind_of((int)rng_below(&rng, 2)), ttl_ms);
        }
    }
    rig_close(&r);
    buf_release(&want);
}
END_TEST

static const struct {
    enum agg_func func;
    int32_t arg;
    bool distinct;
    const char *pattern; /* of COUNT(*) and this call */
} patterns[] = {
    {AGG_COUNT, 3, false, "++"},          {AGG_SUM, 2, false, "+s.+"},
    {AGG_AVG, 2, false, "+s.+"},          {AGG_MIN, 2, false, "+<"},
    {AGG_MAX, 1, false, "+>"},            {AGG_MIN, 5, false, "+l."},
    {AGG_MAX, 5, false, "+g."},           {AGG_MIN, 3, false, NULL},
    {AGG_SUM, 5, false, NULL},            {AGG_SUM, 6, false, NULL},
    {AGG_MAX, 6, false, NULL},            {AGG_FIRST_VALUE, 2, false, NULL},
    {AGG_LAST_VALUE, 2, false, NULL},     {AGG_COUNT, 2, true, NULL},
};

/* Two rows of a group may only come together in any order where that changes no result and none can fail. */
START_TEST(calls_of_exact_numbers_are_blind)
{
    struct arena *a = arena_new(0);
    const struct type decimal = {.kind = TYPE_DECIMAL, .precision = 20, .scale = 2};
    struct schema_field fields[] = {{.name = "k", .type = type_of(TYPE_VARCHAR)}, {.name = "ts", .type = timestamp3()},
                                    {.name = "v", .type = type_of(TYPE_BIGINT)},  {.name = "s", .type = type_of(TYPE_VARCHAR)},
                                    {.name = "b", .type = type_of(TYPE_BOOLEAN)}, {.name = "d", .type = decimal},
                                    {.name = "f", .type = type_of(TYPE_DOUBLE)}};
    struct schema input = {.field_count = ARRAY_LEN(fields), .fields = fields};
    struct agg_call calls[] = {call(AGG_COUNT_STAR, -1, TYPE_BIGINT, "COUNT(*)"),
                               {.func = patterns[_i].func, .arg = patterns[_i].arg, .filter = -1, .name = "c",
                                .distinct = patterns[_i].distinct, .result = type_of(TYPE_BIGINT)}};
    struct acc_layout layout;
    const char *pattern;
    struct err err = {0};

    ck_assert_ok(acc_layout_make(a, calls, 2, &input, false, &layout, &err));
    pattern = acc_blind_pattern(a, &layout);
    ck_assert_int_eq(pattern == NULL, patterns[_i].pattern == NULL);
    if (pattern != NULL)
        ck_assert_str_eq(pattern, patterns[_i].pattern);
    ck_assert_ok(acc_layout_make(a, calls, 1, &input, true, &layout, &err)); /* of an input that takes rows back */
    ck_assert_ptr_null(acc_blind_pattern(a, &layout));
    arena_free(a);
}
END_TEST

TEST_MAIN("keyed_totals", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_loop_test(tc, an_idle_group_is_forgotten_and_its_next_row_is_its_first, 0, 2);
          tcase_add_loop_test(tc, a_result_that_does_not_change_leaves_all_the_same, 0, 2);
          tcase_add_loop_test(tc, a_text_lives_as_long_as_its_group, 0, 2);
          tcase_add_loop_test(tc, a_distinct_value_expires_alone_or_with_its_group, 0, 2);
          tcase_add_loop_test(tc, what_is_taken_back_from_a_forgotten_group_is_ignored, 0, 2);
          tcase_add_loop_test(tc, another_time_to_live_holds_from_the_restore_on, 0, 4);
          tcase_add_loop_test(tc, a_clock_that_is_set_back_revives_no_group, 0, 2);
          tcase_add_loop_test(tc, calls_of_exact_numbers_are_blind, 0, ARRAY_LEN(patterns));
          tcase_add_loop_test(tc, random_rows_times_and_restores_agree_with_a_model, 0, 10);)
