/* test_datagen_source.c - sequences and random rows: each number once over every rescale, the same
 * values after a restore. */
#include "job/source/source.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/sim_clock.h"

#include <stdatomic.h>

#define SPLITS_MAX 64

struct fixture {
    struct arena *arena;
    struct schema schema;
    struct schema_field fields[16];
    struct datagen_field columns[16];
    struct datagen_config config;
    struct sim_clock clock;
    struct env env;
    _Atomic uint64_t counter;
};

static void fixture_init(struct fixture *f)
{
    *f = (struct fixture){.arena = arena_new(0)};
    f->schema = (struct schema){.fields = f->fields, .rowtime = -1};
    f->config = (struct datagen_config){&f->schema, f->columns, -1, 7};
    sim_clock_init(&f->clock, 1700000000000);
    f->env = (struct env){.clock = &f->clock.clock};
}

static struct datagen_field *column(struct fixture *f, enum type_kind kind)
{
    uint32_t i = f->schema.field_count++;

    f->fields[i] = (struct schema_field){arena_printf(f->arena, "f%u", i), type_of(kind)};
    return &f->columns[i];
}

static void sequence(struct fixture *f, enum type_kind kind, int64_t start, int64_t end)
{
    struct datagen_field *d = column(f, kind);

    d->kind = DATAGEN_SEQUENCE;
    d->start = start;
    d->end = end;
}

static enum rc open_one(struct fixture *f, uint32_t index, uint32_t parallelism,
                        const struct bytes *items, size_t count, struct source **out,
                        struct err *err)
{
    struct source_context ctx = {
        .env = &f->env,
        .subtask_index = index,
        .parallelism = parallelism,
        .table_name = "t",
        .schema = &f->schema,
        .restored_items = items,
        .restored_count = count,
        .restored = items != NULL,
        .bad_rows = &f->counter,
        .null_fields = &f->counter,
        .bytes_in = &f->counter,
    };

    *out = datagen_source_new(&f->config);
    return (*out)->ops->open(*out, &ctx, err);
}

/* A run at `parallelism` from the given positions, in which subtask i polls about rows_each rows;
 * what column 0 gave goes to seen[value - 1]. Positions at the end replace *items. True when all
 * subtasks had ended. */
static bool run(struct fixture *f, uint32_t parallelism, uint32_t rows_each, uint8_t *seen,
                struct bytes **items, size_t *count)
{
    struct bytes *next = ARENA_ARRAY(f->arena, SPLITS_MAX, struct bytes);
    size_t next_count = 0;
    bool ended = true;
    struct err err = {0};

    for (uint32_t i = 0; i < parallelism; i++) {
        struct batch_builder *out = batch_builder_new(&f->schema);
        struct bytes *mine;
        size_t mine_count;
        struct source *s;
        uint32_t rows = 0;
        enum source_result result = SOURCE_GOT_ROWS;
        int64_t retry;

        ck_assert_ok(open_one(f, i, parallelism, *items, *count, &s, &err));
        while (rows < rows_each + i && result == SOURCE_GOT_ROWS) {
            struct batch *b;

            ck_assert_ok(s->ops->poll(s, out, 17, &result, &retry, &err));
            b = batch_builder_view(out);
            ck_assert(result != SOURCE_ENDED || b->rows == 0);
            for (uint32_t r = 0; r < b->rows; r++)
                seen[((const int64_t *)b->columns[0].values)[r] - 1]++;
            rows += b->rows;
            batch_builder_clear(out);
        }
        ended &= result == SOURCE_ENDED;
        ck_assert_ok(s->ops->position(s, f->arena, &mine, &mine_count, &err));
        for (size_t k = 0; k < mine_count; k++)
            next[next_count++] = mine[k];
        s->ops->close(s);
        batch_builder_free(out);
    }
    *items = next;
    *count = next_count;
    return ended;
}

static const uint32_t histories[][6] = {{1, 3, 2, 1},    {2, 4, 1}, {3, 3, 3},
                                        {1, 7, 2, 5, 1}, {5, 1, 5}, {1}};

/* Each number exactly once, whatever the parallelism was before, and the position stays a few
 * bytes. */
START_TEST(a_sequence_is_whole_over_every_rescale)
{
    enum { N = 5000 };
    static uint8_t seen[N];
    struct fixture f;
    struct bytes *items = NULL;
    size_t count = 0;
    uint32_t last = 1;

    fixture_init(&f);
    sequence(&f, TYPE_BIGINT, 1, N);
    for (size_t i = 0; histories[_i][i] != 0; i++) {
        last = histories[_i][i];
        run(&f, last, 123, seen, &items, &count);
        ck_assert_uint_le(count, 8);
        for (size_t k = 0; k < count; k++)
            ck_assert_uint_eq(items[k].len, 16);
    }
    while (!run(&f, last, 100000, seen, &items, &count))
        continue;
    for (size_t i = 0; i < N; i++)
        ck_assert_msg(seen[i] == 1, "%zu was emitted %u times", i + 1, seen[i]);
    /* Ended is ended, after a restore too. */
    ck_assert(run(&f, 3, 10, seen, &items, &count));
    arena_free(f.arena);
}
END_TEST

/* The numbers beside the sequence end with it, and number-of-rows ends it earlier. */
START_TEST(the_shortest_column_ends_the_table)
{
    static uint8_t seen[1000];
    struct fixture f;
    struct bytes *items = NULL;
    size_t count = 0, rows = 0;

    fixture_init(&f);
    sequence(&f, TYPE_BIGINT, 1, 900);
    sequence(&f, TYPE_INT, -5, 244);
    column(&f, TYPE_DOUBLE);
    f.config.number_of_rows = _i == 0 ? 333 : 200;
    ck_assert(run(&f, 2, 100000, seen, &items, &count));
    for (size_t i = 0; i < 1000; i++)
        rows += seen[i];
    ck_assert_uint_eq(rows, _i == 0 ? 250 : 200);
    arena_free(f.arena);
}
END_TEST

static void all_kinds(struct fixture *f)
{
    static const enum type_kind kinds[] = {
        TYPE_BOOLEAN, TYPE_TINYINT,   TYPE_SMALLINT, TYPE_INT,  TYPE_BIGINT,
        TYPE_FLOAT,   TYPE_DOUBLE,    TYPE_DECIMAL,  TYPE_CHAR, TYPE_VARCHAR,
        TYPE_BINARY,  TYPE_TIMESTAMP, TYPE_DATE,     TYPE_TIME};

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct datagen_field *d = column(f, kinds[i]);

        d->null_rate = i % 2 == 0 ? 0.25 : 0;
        d->max_past_ms = 1000;
        d->length = kinds[i] == TYPE_VARCHAR ? 33 : 0;
        f->fields[i].type.length = kinds[i] == TYPE_VARCHAR ? TYPE_LENGTH_MAX : 7;
    }
    f->config.number_of_rows = 3000;
}

static struct batch *rows_of(struct fixture *f, const struct bytes *items, size_t count, uint32_t n,
                             struct batch_builder *out, struct bytes **position,
                             size_t *position_count)
{
    struct source *s;
    enum source_result result;
    int64_t retry;
    struct err err = {0};

    ck_assert_ok(open_one(f, 0, 1, items, count, &s, &err));
    ck_assert_ok(s->ops->poll(s, out, n, &result, &retry, &err));
    ck_assert_int_eq(result, SOURCE_GOT_ROWS);
    ck_assert_ok(s->ops->position(s, f->arena, position, position_count, &err));
    s->ops->close(s);
    return batch_builder_view(out);
}

/* Rows 100..199 after a restore are those of a run without one: nothing repeated, nothing new. */
START_TEST(random_rows_are_the_same_after_a_restore)
{
    struct fixture f;
    struct batch_builder *whole, *first, *second;
    struct batch *a, *b;
    struct bytes *items;
    size_t count, nulls = 0;

    fixture_init(&f);
    all_kinds(&f);
    whole = batch_builder_new(&f.schema);
    first = batch_builder_new(&f.schema);
    second = batch_builder_new(&f.schema);
    a = rows_of(&f, NULL, 0, 200, whole, &items, &count);
    rows_of(&f, NULL, 0, 100, first, &items, &count);
    b = rows_of(&f, items, count, 100, second, &items, &count);
    for (uint32_t c = 0; c < a->column_count; c++) {
        const struct column *x = &a->columns[c], *y = &b->columns[c];

        for (uint32_t r = 0; r < 100; r++) {
            uint32_t width = type_width(x->type.kind);

            ck_assert_int_eq(column_present(x, r + 100), column_present(y, r));
            nulls += !column_present(y, r);
            if (!column_present(y, r))
                continue;
            if (type_is_varlen(x->type.kind))
                ck_assert_bytes_eq(column_bytes(x, r + 100), column_bytes(y, r));
            else if (width > 0)
                ck_assert_mem_eq((const uint8_t *)x->values + (r + 100) * width,
                                 (const uint8_t *)y->values + r * width, width);
            else
                ck_assert_int_eq(bit_get(x->values, r + 100), bit_get(y->values, r));
        }
    }
    ck_assert_msg(nulls > 7 * 12 && nulls < 7 * 40, "%zu nulls of 1400", nulls);
    ck_assert_uint_eq(column_bytes(&a->columns[9], 0).len, 33);
    ck_assert_uint_eq(column_bytes(&a->columns[10], 1).len, 7);
    batch_builder_free(whole);
    batch_builder_free(first);
    batch_builder_free(second);
    arena_free(f.arena);
}
END_TEST

/* Inclusive at both ends, and all of the range is met. */
START_TEST(random_integers_stay_between_min_and_max)
{
    struct fixture f;
    struct batch_builder *out;
    struct datagen_field *d;
    struct bytes *items;
    bool met[5] = {false};
    struct batch *b;
    size_t count;

    fixture_init(&f);
    d = column(&f, TYPE_INT);
    d->has_min = d->has_max = true;
    d->min = -2;
    d->max = 2;
    out = batch_builder_new(&f.schema);
    b = rows_of(&f, NULL, 0, 1000, out, &items, &count);
    for (uint32_t r = 0; r < b->rows; r++) {
        int32_t v = ((const int32_t *)b->columns[0].values)[r];

        ck_assert(v >= -2 && v <= 2);
        met[v + 2] = true;
    }
    ck_assert(met[0] && met[1] && met[2] && met[3] && met[4]);
    batch_builder_free(out);
    arena_free(f.arena);
}
END_TEST

/* The whole of BIGINT is a range, too: its length does not fit 64 bits. */
START_TEST(a_sequence_may_span_all_of_bigint)
{
    struct fixture f;
    struct batch_builder *out;
    struct bytes *items;
    struct batch *b;
    size_t count;

    fixture_init(&f);
    sequence(&f, TYPE_BIGINT, INT64_MIN, INT64_MAX);
    out = batch_builder_new(&f.schema);
    b = rows_of(&f, NULL, 0, 3, out, &items, &count);
    ck_assert_int_eq(((const int64_t *)b->columns[0].values)[0], INT64_MIN);
    ck_assert_int_eq(((const int64_t *)b->columns[0].values)[2], INT64_MIN + 2);
    batch_builder_free(out);
    arena_free(f.arena);
}
END_TEST

static const struct {
    enum type_kind kind;
    struct datagen_field field;
    enum rc rc;
    const char *message;
} refused[] = {
    {TYPE_TINYINT,
     {.kind = DATAGEN_SEQUENCE, .start = 1, .end = 1000},
     RC_INVALID,
     "leaves -128..127"},
    {TYPE_BOOLEAN,
     {.kind = DATAGEN_SEQUENCE, .start = 0, .end = 1},
     RC_UNSUPPORTED,
     "a number or a text"},
    {TYPE_BIGINT,
     {.kind = DATAGEN_SEQUENCE, .start = 5, .end = 1},
     RC_INVALID,
     "start 5 is after end 1"},
    {TYPE_INT, {.has_min = true, .min = 5, .has_max = true, .max = 1}, RC_INVALID, "min first"},
    {TYPE_INT, {.has_max = true, .max = 1ll << 40}, RC_INVALID, "must lie in"},
    {TYPE_INT, {.null_rate = 1.5}, RC_INVALID, "null rate"},
    {TYPE_DECIMAL,
     {.kind = DATAGEN_SEQUENCE, .start = 1, .end = 1ll << 40},
     RC_INVALID,
     "does not fit DECIMAL(10, 0)"},
    {TYPE_DOUBLE,
     {.has_min = true, .min_real = 2, .has_max = true, .max_real = 1},
     RC_INVALID,
     "no range"},
};
START_TEST(a_field_that_makes_no_sense_is_refused_by_name)
{
    struct fixture f;
    struct source *s;
    struct err err = {0};

    fixture_init(&f);
    *column(&f, refused[_i].kind) = refused[_i].field;
    ck_assert_rc_msg(open_one(&f, 0, 1, NULL, 0, &s, &err), refused[_i].rc, refused[_i].message);
    s->ops->close(s);
    arena_free(f.arena);
}
END_TEST

/* Bytes of a checkpoint are checked, not believed: a step of 0 would never end. */
START_TEST(a_damaged_position_is_corrupt)
{
    static const struct bytes items[] = {
        {(const uint8_t *)"0123456789abcde", 15},
        {(const uint8_t *)"\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0", 16},
        {(const uint8_t *)"\377\377\377\377\377\377\377\377\0\0\0\0\0\0\0\1", 16}};
    struct fixture f;
    struct source *s;
    struct err err = {0};

    fixture_init(&f);
    sequence(&f, TYPE_BIGINT, 1, 10);
    ck_assert_rc_msg(open_one(&f, 0, 1, &items[_i], 1, &s, &err), RC_CORRUPT, "datagen position 0");
    s->ops->close(s);
    arena_free(f.arena);
}
END_TEST

TEST_MAIN("datagen_source",
          tcase_add_loop_test(tc, a_sequence_is_whole_over_every_rescale, 0, ARRAY_LEN(histories));
          tcase_add_loop_test(tc, the_shortest_column_ends_the_table, 0, 2);
          tcase_add_test(tc, random_rows_are_the_same_after_a_restore);
          tcase_add_test(tc, random_integers_stay_between_min_and_max);
          tcase_add_test(tc, a_sequence_may_span_all_of_bigint);
          tcase_add_loop_test(tc, a_field_that_makes_no_sense_is_refused_by_name, 0,
                              ARRAY_LEN(refused));
          tcase_add_loop_test(tc, a_damaged_position_is_corrupt, 0, 3))
