/* test_watermark.c - event time over rows: which rows are late must not depend on batches;
 * intervals, idleness, the end. */
#include "job/datetime.h"
#include "job/format/format.h"
#include "job/operator/operators.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/sim_clock.h"

#include <jansson.h>

#define WINDOW_MS 10000

/* What goes out, as the next operator sees it. */
struct sink {
    struct output out;
    int64_t watermark_ms;
    uint64_t rows, late, batches, watermarks, idles;
};
struct fixture {
    struct arena *arena;
    struct schema schema;
    struct schema_field fields[2];
    struct watermark_spec spec;
    struct sim_clock clock;
    struct env env;
    struct operator_metrics metrics;
    struct operator_context ctx;
    struct operator* op;
    struct sink sink;
    struct batch_builder *rows;
};

static enum rc on_batch(struct output *o, struct batch *b, struct err *err)
{
    struct sink *s = (struct sink *)o;

    (void)err;
    s->batches++;
    for (uint32_t i = 0; i < b->rows; i++) {
        int64_t ts = ((const int64_t *)b->columns[0].values)[i];

        s->rows++;
        s->late += floor_div(ts, WINDOW_MS) * WINDOW_MS + WINDOW_MS - 1 <= s->watermark_ms;
    }
    return RC_OK;
}

static enum rc on_watermark(struct output *o, int64_t ms, struct err *err)
{
    struct sink *s = (struct sink *)o;

    (void)err;
    ck_assert_int_ge(ms, s->watermark_ms);
    s->watermark_ms = ms;
    s->watermarks++;
    return RC_OK;
}

static enum rc on_idle(struct output *o, struct err *err)
{
    (void)err;
    ((struct sink *)o)->idles++;
    return RC_OK;
}

/* Columns: ts, and the watermark that goes with it. */
static void fixture_init(struct fixture *f, int64_t interval_ms, int64_t idle_ms)
{
    struct err err = {0};
    struct type t = type_of(TYPE_TIMESTAMP);

    *f = (struct fixture){.arena = arena_new(0)};
    t.precision = 3;
    f->fields[0] = (struct schema_field){"ts", t};
    f->fields[1] = (struct schema_field){"mark", t};
    f->schema = (struct schema){2, f->fields, 0};
    f->spec = (struct watermark_spec){.input = &f->schema,
                                      .watermark = expr_new_column(f->arena, 1, t),
                                      .emit_interval_ms = interval_ms,
                                      .idle_timeout_ms = idle_ms,
                                      .time_zone = "UTC"};
    sim_clock_init(&f->clock, 0);
    f->env = (struct env){.fs = fs_posix(), .clock = &f->clock.clock};
    f->ctx = (struct operator_context){.env = &f->env, .metrics = &f->metrics, .parallelism = 1};
    f->sink = (struct sink){{on_batch, on_watermark, on_idle}, WATERMARK_NONE, 0, 0, 0, 0, 0};
    f->rows = batch_builder_new(&f->schema);
    f->op = watermark_new(&f->spec);
    ck_assert_ok(f->op->ops->open(f->op, &f->ctx, &err));
}

static void fixture_release(struct fixture *f)
{
    f->op->ops->close(f->op, true);
    batch_builder_free(f->rows);
    arena_free(f->arena);
}

static void row(struct fixture *f, int64_t ts, int64_t mark)
{
    batch_append_int(f->rows, 0, ts);
    batch_append_int(f->rows, 1, mark);
    batch_row_end(f->rows, ROW_INSERT);
}

static void process(struct fixture *f)
{
    struct err err = {0};

    ck_assert_ok(f->op->ops->process(f->op, batch_builder_view(f->rows), &f->sink.out, &err));
    batch_builder_clear(f->rows);
}

static int64_t tick(struct fixture *f)
{
    int64_t next = INT64_MAX;
    struct err err = {0};

    ck_assert_ok(
        f->op->ops->tick(f->op, clock_mono_ns(&f->clock.clock), &next, &f->sink.out, &err));
    return next == INT64_MAX ? -1 : (next - clock_mono_ns(&f->clock.clock)) / NS_PER_MS;
}

/* Times of the rows of case 07. */
static size_t case_times(int64_t *ts, size_t cap)
{
    struct buf text = {0};
    struct err err = {0};
    size_t n = 0;
    char *line, *save = NULL;

    ck_assert_ok(fs_read_all(fs_posix(), TESTS_DIR "/cases/07-out-of-order-and-late/input.csv",
                             1u << 20, &text, &err));
    (void)buf_cstr(&text);
    for (line = strtok_r((char *)text.data, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        size_t len = strcspn(line, ",");

        ck_assert_uint_lt(n, cap);
        ck_assert_ok(timestamp_parse(bytes_of(line, len), 3, NULL, &ts[n++], &err));
    }
    buf_release(&text);
    return n;
}

static const struct {
    const char *expected;
    int64_t delay_ms;
} delays[] = {{"late_rows", 2000}, {"late_rows_delay0", 0}, {"late_rows_delay30", 30000}};

static int64_t late_rows(int64_t delay_ms)
{
    json_error_t error;
    json_t *answer =
               json_load_file(TESTS_DIR "/cases/07-out-of-order-and-late/answer.json", 0, &error),
           *late;
    int64_t n;

    ck_assert_ptr_nonnull(answer);
    late = json_object_get(answer, delay_ms == 2000 ? "late_rows"
                                   : delay_ms == 0  ? "late_rows_delay0"
                                                    : "late_rows_delay30");
    n = json_is_array(late) ? (int64_t)json_array_size(late) : json_integer_value(late);
    ck_assert_ptr_nonnull(late);
    json_decref(answer);
    return n;
}

/* Interval 0: the rows that are late are those of the row-by-row rule, in batches of any size. */
START_TEST(late_rows_do_not_depend_on_batches)
{
    static int64_t ts[4096];
    size_t n = case_times(ts, ARRAY_LEN(ts));
    int64_t want = late_rows(delays[_i].delay_ms);

    for (size_t batch = 1; batch < 2000; batch = batch * 3 + 1) {
        struct fixture f;

        fixture_init(&f, 0, 0);
        for (size_t i = 0; i < n; i++) {
            row(&f, ts[i], ts[i] - delays[_i].delay_ms);
            if ((i + 1) % batch == 0 || i + 1 == n)
                process(&f);
        }
        ck_assert_uint_eq(f.sink.rows, n);
        ck_assert_msg((int64_t)f.sink.late == want, "batches of %zu: %llu late rows, expected %lld",
                      batch, (unsigned long long)f.sink.late, (long long)want);
        fixture_release(&f);
    }
}
END_TEST

/* Rows in order need no cut: the batch goes on as it is, then one watermark. */
START_TEST(rows_in_order_stay_one_batch)
{
    struct fixture f;

    fixture_init(&f, 0, 0);
    for (int64_t i = 0; i < 1000; i++)
        row(&f, i * 100, i * 100 - 1);
    process(&f);
    ck_assert_uint_eq(f.sink.batches, 1);
    ck_assert_uint_eq(f.sink.watermarks, 1);
    ck_assert_int_eq(f.sink.watermark_ms, 999 * 100 - 1);
    fixture_release(&f);
}
END_TEST

/* With an interval: by the clock, or at once when event time runs ahead by more than it. */
START_TEST(an_interval_spaces_watermarks)
{
    struct fixture f;

    fixture_init(&f, 200, 0);
    row(&f, 1000, 1000);
    process(&f);
    ck_assert_int_eq(f.sink.watermark_ms, 1000); /* the first is far from nothing */
    row(&f, 1100, 1100);
    process(&f);
    ck_assert_int_eq(f.sink.watermark_ms, 1000);
    ck_assert_int_eq(tick(&f), 200);
    sim_clock_advance_ms(&f.clock, 199);
    ck_assert_int_eq(tick(&f), 1);
    sim_clock_advance_ms(&f.clock, 1);
    ck_assert_int_eq(tick(&f), -1);
    ck_assert_int_eq(f.sink.watermark_ms, 1100);
    row(&f, 1301, 1301);
    process(&f);
    ck_assert_int_eq(f.sink.watermark_ms, 1301);
    fixture_release(&f);
}
END_TEST

/* Silence is told once; the first row after it counts again. */
START_TEST(silence_makes_the_channel_idle)
{
    struct fixture f;

    fixture_init(&f, 200, 1000);
    row(&f, 1, 1);
    process(&f);
    sim_clock_advance_ms(&f.clock, 500);
    ck_assert_int_eq(tick(&f), 500);
    ck_assert_uint_eq(f.sink.idles, 0);
    sim_clock_advance_ms(&f.clock, 500);
    ck_assert_int_eq(tick(&f), -1);
    ck_assert_int_eq(tick(&f), -1);
    ck_assert_uint_eq(f.sink.idles, 1);
    row(&f, 1, 1);
    process(&f);
    ck_assert_uint_eq(f.sink.watermarks, 2);
    ck_assert_int_eq(tick(&f), 1000);
    fixture_release(&f);
}
END_TEST

/* A null event time is an error with a way out; a null watermark is only skipped. */
START_TEST(nulls_in_time_columns)
{
    struct fixture f;
    struct err err = {0};

    fixture_init(&f, 0, 0);
    batch_append_int(f.rows, 0, 5);
    batch_append_null(f.rows, 1);
    batch_row_end(f.rows, ROW_INSERT);
    process(&f);
    ck_assert_uint_eq(f.sink.watermarks, 0);
    batch_append_null(f.rows, 0);
    batch_append_int(f.rows, 1, 5);
    batch_row_end(f.rows, ROW_INSERT);
    ck_assert_rc_msg(f.op->ops->process(f.op, batch_builder_view(f.rows), &f.sink.out, &err),
                     RC_INVALID, "event time column ts is null");
    fixture_release(&f);
}
END_TEST

/* From above only the last watermark goes through. */
START_TEST(the_end_of_event_time_passes)
{
    struct fixture f;
    struct err err = {0};

    fixture_init(&f, 200, 1000);
    ck_assert_ok(f.op->ops->watermark(f.op, 77, &f.sink.out, &err));
    ck_assert_uint_eq(f.sink.watermarks, 0);
    ck_assert_ok(f.op->ops->watermark(f.op, WATERMARK_MAX, &f.sink.out, &err));
    ck_assert_int_eq(f.sink.watermark_ms, WATERMARK_MAX);
    sim_clock_advance_ms(&f.clock, 5000);
    ck_assert_int_eq(tick(&f), -1);
    ck_assert_uint_eq(f.sink.idles, 0);
    fixture_release(&f);
}
END_TEST

TEST_MAIN("watermark",
          tcase_add_loop_test(tc, late_rows_do_not_depend_on_batches, 0, ARRAY_LEN(delays));
          tcase_add_test(tc, rows_in_order_stay_one_batch);
          tcase_add_test(tc, an_interval_spaces_watermarks);
          tcase_add_test(tc, silence_makes_the_channel_idle);
          tcase_add_test(tc, nulls_in_time_columns);
          tcase_add_test(tc, the_end_of_event_time_passes))
