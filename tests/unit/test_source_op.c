/* test_source_op.c - the head of a source task: pacing by the clock, positions in state, the end of
 * event time. */
#include "job/operator/operators.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/sim_clock.h"

struct sink {
    struct output out;
    uint64_t rows, watermarks;
    int64_t last_value;
};
struct fixture {
    struct arena *arena;
    struct schema_field field;
    struct schema schema;
    struct datagen_field column;
    struct datagen_config config;
    struct source_spec spec;
    struct sim_clock clock;
    struct env env;
    struct operator_metrics metrics[4];
    struct operator* op[4];
    struct operator_state *state[4];
    struct sink sink;
};

static enum rc on_batch(struct output *o, struct batch *b, struct err *err)
{
    struct sink *s = (struct sink *)o;

    (void)err;
    ck_assert_uint_gt(b->rows, 0);
    s->rows += b->rows;
    s->last_value = ((const int64_t *)b->columns[0].values)[b->rows - 1];
    return RC_OK;
}

static enum rc on_watermark(struct output *o, int64_t ms, struct err *err)
{
    (void)err;
    ck_assert_int_eq(ms, WATERMARK_MAX);
    ((struct sink *)o)->watermarks++;
    return RC_OK;
}

static struct source *make(const void *config)
{
    return datagen_source_new(config);
}

static void fixture_init(struct fixture *f, int64_t end, int64_t rows_per_second)
{
    *f = (struct fixture){.arena = arena_new(0)};
    f->field = (struct schema_field){"n", type_of(TYPE_BIGINT)};
    f->schema = (struct schema){1, &f->field, -1};
    f->column = (struct datagen_field){.kind = DATAGEN_SEQUENCE, .start = 1, .end = end};
    f->config = (struct datagen_config){&f->schema, &f->column, -1, 1};
    f->spec = (struct source_spec){&f->schema, "numbers", make, &f->config, rows_per_second};
    sim_clock_init(&f->clock, 0);
    f->env = (struct env){.clock = &f->clock.clock};
    f->sink = (struct sink){{on_batch, on_watermark, NULL}, 0, 0, 0};
}

static void open_all(struct fixture *f, uint32_t parallelism, const struct list_state *lists,
                     size_t count)
{
    struct err err = {0};

    for (uint32_t i = 0; i < parallelism; i++) {
        struct operator_context ctx = {.env = &f->env,
                                       .parallelism = parallelism,
                                       .subtask_index = i,
                                       .metrics = &f->metrics[i],
                                       .restored = lists != NULL};

        f->state[i] = operator_state_new();
        if (lists != NULL)
            operator_state_restore(f->state[i], lists, count);
        ctx.state = f->state[i];
        f->op[i] = source_op_new(&f->spec);
        ck_assert_ok(f->op[i]->ops->open(f->op[i], &ctx, &err));
    }
}

static void close_all(struct fixture *f, uint32_t parallelism)
{
    for (uint32_t i = 0; i < parallelism; i++) {
        f->op[i]->ops->close(f->op[i], true);
        operator_state_free(f->state[i]);
    }
}

static enum source_poll poll(struct fixture *f, uint32_t i, int64_t *retry)
{
    const struct source_operator_ops *ops = (const struct source_operator_ops *)f->op[i]->ops;
    enum source_poll what;
    struct err err = {0};

    ck_assert_ok(ops->poll(f->op[i], &f->sink.out, &what, retry, &err));
    return what;
}

/* Unpaced, the numbers come in full batches, then the end with the last watermark, once. */
START_TEST(rows_then_the_end_of_event_time)
{
    struct fixture f;
    int64_t retry;

    fixture_init(&f, 10000, 0);
    open_all(&f, 1, NULL, 0);
    while (poll(&f, 0, &retry) == SOURCE_ROWS)
        continue;
    ck_assert_int_eq(poll(&f, 0, &retry), SOURCE_END);
    ck_assert_uint_eq(f.sink.rows, 10000);
    ck_assert_uint_eq(f.sink.watermarks, 1);
    ck_assert_uint_eq(f.metrics[0].records_out, 10000);
    close_all(&f, 1);
    arena_free(f.arena);
}
END_TEST

static const struct {
    int64_t rows_per_second;
    uint32_t parallelism;
} rates[] = {{1, 1}, {1, 3}, {7, 2}, {1000, 1}, {1000, 3}, {1000000, 2}};

/* Over all subtasks, within one row and one step of the clock, also where a subtask gets less than
 * a row a second. */
START_TEST(the_rate_holds_over_all_subtasks)
{
    struct fixture f;
    int64_t rate = rates[_i].rows_per_second, elapsed_ms = 0;

    fixture_init(&f, INT64_MAX - 1, rate);
    open_all(&f, rates[_i].parallelism, NULL, 0);
    while (elapsed_ms <= 10000) {
        for (uint32_t i = 0; i < rates[_i].parallelism; i++) {
            int64_t retry = 0;

            while (poll(&f, i, &retry) == SOURCE_ROWS)
                continue;
            ck_assert_int_gt(retry, clock_mono_ns(&f.clock.clock));
        }
        ck_assert_msg((int64_t)f.sink.rows <= rate * elapsed_ms / 1000 + 1 &&
                          (int64_t)f.sink.rows >= rate * (elapsed_ms - 10) / 1000 - 1,
                      "%llu rows after %lld ms at %lld a second", (unsigned long long)f.sink.rows,
                      (long long)elapsed_ms, (long long)rate);
        sim_clock_advance_ms(&f.clock, 5);
        elapsed_ms += 5;
    }
    close_all(&f, rates[_i].parallelism);
    arena_free(f.arena);
}
END_TEST

/* The time to try again is when the next row is due: a slow source must not spin. */
START_TEST(an_idle_source_says_when_to_come_back)
{
    struct fixture f;
    int64_t retry = 0;

    fixture_init(&f, 100, 2);
    open_all(&f, 1, NULL, 0);
    ck_assert_int_eq(poll(&f, 0, &retry), SOURCE_ROWS);
    ck_assert_int_eq(poll(&f, 0, &retry), SOURCE_IDLE);
    ck_assert_int_eq(retry - clock_mono_ns(&f.clock.clock), 500 * NS_PER_MS);
    close_all(&f, 1);
    arena_free(f.arena);
}
END_TEST

/* After a hold-up of a minute no minute of rows comes at once. */
START_TEST(what_was_missed_is_made_up_for_one_second_only)
{
    struct fixture f;
    int64_t retry;

    fixture_init(&f, INT64_MAX - 1, 100);
    open_all(&f, 1, NULL, 0);
    poll(&f, 0, &retry);
    sim_clock_advance_ms(&f.clock, 60000);
    for (int i = 0; i < 10; i++) {
        poll(&f, 0, &retry);
        sim_clock_advance_ms(&f.clock, 1);
    }
    ck_assert_msg(f.sink.rows >= 100 && f.sink.rows <= 104, "%llu rows",
                  (unsigned long long)f.sink.rows);
    close_all(&f, 1);
    arena_free(f.arena);
}
END_TEST

/* The position goes into a union list at the barrier and comes back at another parallelism. */
START_TEST(a_barrier_keeps_the_position)
{
    struct list_state *lists;
    struct subtask_state snapshot;
    struct barrier barrier = {0};
    struct fixture f;
    int64_t retry;
    size_t count;
    struct err err = {0};

    fixture_init(&f, 10000, 0);
    open_all(&f, 1, NULL, 0);
    ck_assert_int_eq(poll(&f, 0, &retry), SOURCE_ROWS);
    ck_assert_ok(f.op[0]->ops->snapshot(f.op[0], &barrier, &err));
    operator_state_snapshot(f.state[0], f.arena, &snapshot);
    lists = snapshot.lists;
    count = snapshot.list_count;
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(lists[0].name, "source-positions");
    ck_assert_int_eq(lists[0].mode, LIST_UNION);
    close_all(&f, 1);
    open_all(&f, 3, lists, count);
    for (uint32_t i = 0; i < 3; i++) {
        while (poll(&f, i, &retry) == SOURCE_ROWS)
            continue;
    }
    ck_assert_uint_eq(f.sink.rows, 10000);
    close_all(&f, 3);
    arena_free(f.arena);
}
END_TEST

/* A stop with drain ends event time at once; nothing is polled after it. */
START_TEST(a_drain_ends_event_time)
{
    struct fixture f;
    const struct source_operator_ops *ops;
    int64_t retry;
    struct err err = {0};

    fixture_init(&f, 10000, 0);
    open_all(&f, 1, NULL, 0);
    ops = (const struct source_operator_ops *)f.op[0]->ops;
    ck_assert_ok(ops->drain_event_time(f.op[0], &f.sink.out, &err));
    ck_assert_uint_eq(f.sink.watermarks, 1);
    ck_assert_int_eq(poll(&f, 0, &retry), SOURCE_END);
    ck_assert_uint_eq(f.sink.rows, 0);
    close_all(&f, 1);
    arena_free(f.arena);
}
END_TEST

/* Trouble names the table. */
START_TEST(an_error_of_the_source_names_the_table)
{
    struct operator_context ctx = {.parallelism = 1};
    struct fixture f;
    struct err err = {0};

    fixture_init(&f, 0, 0);
    ctx.env = &f.env;
    ctx.metrics = &f.metrics[0];
    f.op[0] = source_op_new(&f.spec);
    ck_assert_rc_msg(f.op[0]->ops->open(f.op[0], &ctx, &err), RC_INVALID,
                     "table numbers: datagen: field n: start 1");
    f.op[0]->ops->close(f.op[0], false);
    arena_free(f.arena);
}
END_TEST

TEST_MAIN("source_op", tcase_add_test(tc, rows_then_the_end_of_event_time);
          tcase_add_loop_test(tc, the_rate_holds_over_all_subtasks, 0, ARRAY_LEN(rates));
          tcase_add_test(tc, an_idle_source_says_when_to_come_back);
          tcase_add_test(tc, what_was_missed_is_made_up_for_one_second_only);
          tcase_add_test(tc, a_barrier_keeps_the_position);
          tcase_add_test(tc, a_drain_ends_event_time);
          tcase_add_test(tc, an_error_of_the_source_names_the_table))
