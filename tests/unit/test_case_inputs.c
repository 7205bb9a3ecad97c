/* test_case_inputs.c - the files of tests/cases through file source and format: the tables that
 * must come out under each rule, the bad lines by number and reason, what must fail. The
 * aggregation is done here, with no operator in between. */
#include "job/batch.h"
#include "job/format/format.h"
#include "job/source/source.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/sim_clock.h"

#include <jansson.h>
#include <stdatomic.h>

#define GROUPS_MAX 4096

struct group {
    struct bytes key;
    bool null_key;
    uint64_t rows, values;
    int128 sum;
    int64_t min, max;
};
struct table {
    struct arena *arena;
    struct group groups[GROUPS_MAX];
    size_t count;
    uint64_t rows, bad, nulls;
};

/* ---- reading --------------------------------------------------------------------------------- */

static void add_row(struct table *t, const struct batch *b, uint32_t r)
{
    struct bytes key = column_bytes(&b->columns[0], r);
    bool null_key = !column_present(&b->columns[0], r);
    struct group *g = t->groups;
    int64_t v;

    t->rows++;
    while (g < t->groups + t->count && (g->null_key != null_key || !bytes_eq(g->key, key)))
        g++;
    if (g == t->groups + t->count) {
        ck_assert_uint_lt(t->count, GROUPS_MAX);
        t->count++;
        *g = (struct group){.key = arena_bytes_copy(t->arena, key), .null_key = null_key};
    }
    g->rows++;
    if (!column_present(&b->columns[1], r))
        return;
    v = ((const int64_t *)b->columns[1].values)[r];
    g->min = g->values == 0 || v < g->min ? v : g->min;
    g->max = g->values == 0 || v > g->max ? v : g->max;
    g->sum += v;
    g->values++;
}

static const char *case_path(struct arena *a, const char *name)
{
    return arena_printf(a, "%s/cases/%s", TESTS_DIR, name);
}

/* Reads (k STRING, v BIGINT) from a case's file or folder; pairs of options end with NULL. */
static enum rc read_case(const char *name, const struct format *format, const char *const *pairs,
                         struct table *t, struct err *err)
{
    static const struct schema_field fields[] = {
        {"k", {.kind = TYPE_VARCHAR, .nullable = true, .length = TYPE_LENGTH_MAX}},
        {"v", {.kind = TYPE_BIGINT, .nullable = true}}};
    struct schema schema = {2, (struct schema_field *)(uintptr_t)fields, -1};
    struct format_options options;
    const char *keys[4], *values[4];
    struct sim_clock clock;
    _Atomic uint64_t bad = 0, nulls = 0, bytes_in = 0;
    struct env env = {.fs = fs_posix(), .clock = &clock.clock};
    struct source_context ctx = {.env = &env,
                                 .parallelism = 1,
                                 .table_name = name,
                                 .schema = &schema,
                                 .bad_rows = &bad,
                                 .null_fields = &nulls,
                                 .bytes_in = &bytes_in};
    struct file_source_config config = {
        .schema = &schema, .format = format, .format_options = &options};
    struct batch_builder *out = batch_builder_new(&schema);
    enum source_result result = SOURCE_GOT_ROWS;
    struct source *s;
    int64_t retry;
    size_t n = 0;
    enum rc rc;

    *t = (struct table){.arena = arena_new(0)};
    sim_clock_init(&clock, 0);
    for (; pairs != NULL && pairs[2 * n] != NULL; n++) {
        keys[n] = pairs[2 * n];
        values[n] = pairs[2 * n + 1];
    }
    config.path = case_path(t->arena, name);
    s = file_source_new(&config);
    GOTO_IF_ERR(format->options(t->arena, n, keys, values, &options, err));
    GOTO_IF_ERR(s->ops->open(s, &ctx, err));
    while (result != SOURCE_ENDED) {
        struct batch *b;

        GOTO_IF_ERR(s->ops->poll(s, out, BATCH_ROWS_MAX, &result, &retry, err));
        b = batch_builder_view(out);
        for (uint32_t r = 0; r < b->rows; r++)
            add_row(t, b, r);
        batch_builder_clear(out);
    }
out:
    t->bad = bad;
    t->nulls = nulls;
    s->ops->close(s);
    batch_builder_free(out);
    return rc;
}

/* ---- expected tables ------------------------------------------------------------------------- */

static json_t *load(const char *name)
{
    struct arena *a = arena_new(0);
    json_error_t error;
    json_t *value = json_load_file(case_path(a, name), JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);

    ck_assert_msg(value != NULL, "%s: %s", name, error.text);
    arena_free(a);
    return value;
}

/* One line of an expected file against the groups; sums past 64 bits are compared as text. */
static void check_line(const struct table *t, const char *line, const char *file)
{
    json_error_t error;
    json_t *row = json_loads(line, JSON_ALLOW_NUL, &error), *key, *cell[5];
    const struct group *g = t->groups;
    const char *text;
    size_t len;

    ck_assert_msg(row != NULL, "%s: %s: %s", file, line, error.text);
    key = json_array_get(row, 0);
    text = json_string_value(key);
    len = text == NULL ? 0 : json_string_length(key);
    while (g < t->groups + t->count &&
           !(g->null_key == (text == NULL) && bytes_eq(g->key, bytes_of(text, len))))
        g++;
    ck_assert_msg(g < t->groups + t->count, "%s: no group for %s", file, line);
    for (size_t i = 0; i < 5; i++)
        cell[i] = json_array_get(row, i + 1);
    ck_assert_msg((uint64_t)json_integer_value(cell[0]) == g->rows &&
                      (uint64_t)json_integer_value(cell[1]) == g->values,
                  "%s: %s has %llu rows, %llu values", file, line, (unsigned long long)g->rows,
                  (unsigned long long)g->values);
    if (g->values == 0)
        ck_assert_msg(json_is_null(cell[2]) && json_is_null(cell[3]) && json_is_null(cell[4]),
                      "%s: %s is null here", file, line);
    else
        ck_assert_msg(json_integer_value(cell[2]) == (int64_t)g->sum &&
                          json_integer_value(cell[3]) == g->min &&
                          json_integer_value(cell[4]) == g->max,
                      "%s: %s differs", file, line);
    json_decref(row);
}

static void check_table(const struct table *t, const char *expected)
{
    struct buf text = {0};
    struct err err = {0};
    char *line, *save = NULL;
    size_t lines = 0;

    ck_assert_ok(fs_read_all(fs_posix(), case_path(t->arena, expected), 64u << 20, &text, &err));
    (void)buf_cstr(&text);
    line = strtok_r((char *)text.data, "\n", &save); /* the columns */
    while ((line = strtok_r(NULL, "\n", &save)) != NULL) {
        check_line(t, line, expected);
        lines++;
    }
    ck_assert_msg(lines == t->count, "%s: %zu groups, expected %zu", expected, t->count, lines);
    buf_release(&text);
}

/* ---- every case under every rule ------------------------------------------------------------- */

static const struct {
    const char *input, *folder, *expected, *expected_nulls;
    const char *null_literal;
} cases[] = {
    {"01-dirty-csv/input.csv", "01-dirty-csv", "expected.jsonl", "expected-null-field.jsonl", NULL},
    {"02-dirty-json/input.jsonl", "02-dirty-json", "expected.jsonl", "expected-null-field.jsonl",
     NULL},
    {"03-empty-and-null-keys/input.csv", "03-empty-and-null-keys", "expected.jsonl",
     "expected-null-field.jsonl", "NULL"},
    {"04-unicode-keys/input.csv", "04-unicode-keys", "expected.jsonl", "expected-null-field.jsonl",
     NULL},
    {"04-unicode-keys/not-utf8.csv", NULL, "04-unicode-keys/expected-not-utf8.jsonl", NULL, NULL},
    {"08-duplicates/input.csv", NULL, NULL, NULL, NULL},
    {"09-skew/input.csv", "09-skew", "expected.jsonl", NULL, NULL},
    {"11-null-fields/input.csv", "11-null-fields", "expected.jsonl", "expected-null-field.jsonl",
     "NULL"},
    {"12-line-ends/input.csv", "12-line-ends", "expected.jsonl", "expected-null-field.jsonl", NULL},
    {"13-bom/input.csv", "13-bom", "expected.jsonl", NULL, NULL},
    {"13-bom/input.csv.gz", "13-bom", "expected.jsonl", NULL, NULL},
    {"14-cut-last-line/no-line-end.csv", "14-cut-last-line", "expected-no-line-end.jsonl",
     "expected-null-field-no-line-end.jsonl", NULL},
    {"14-cut-last-line/number-cut.csv", "14-cut-last-line", "expected-number-cut.jsonl",
     "expected-null-field-number-cut.jsonl", NULL},
    {"14-cut-last-line/comma-last.csv", "14-cut-last-line", "expected-comma-last.jsonl",
     "expected-null-field-comma-last.jsonl", NULL},
    {"14-cut-last-line/no-comma.csv", "14-cut-last-line", "expected-no-comma.jsonl",
     "expected-null-field-no-comma.jsonl", NULL},
    {"14-cut-last-line/key-cut.csv", "14-cut-last-line", "expected-key-cut.jsonl",
     "expected-null-field-key-cut.jsonl", NULL},
    {"14-cut-last-line/open-quote.csv", "14-cut-last-line", "expected-open-quote.jsonl", NULL,
     NULL},
    {"16-quotes/input.csv", "16-quotes", "expected.jsonl", "expected-null-field.jsonl", NULL},
    {"17-numbers/input.csv", "17-numbers", "expected.jsonl", "expected-null-field.jsonl", NULL},
    {"19-a-folder-of-files/in", "19-a-folder-of-files", "expected.jsonl", NULL, NULL},
};

static const struct format *format_of(const char *input)
{
    return format_find(strstr(input, ".jsonl") != NULL ? "json" : "csv");
}

static const char *expected_path(struct arena *a, const char *folder, const char *name)
{
    return folder == NULL ? name : arena_printf(a, "%s/%s", folder, name);
}

static int64_t fact(const char *folder, const char *input, const char *name)
{
    struct arena *a = arena_new(0);
    json_t *answer = load(arena_printf(a, "%s/answer.json", folder)),
           *own = json_object_get(answer, strrchr(input, '/') + 1);
    json_t *value = json_object_get(own != NULL ? own : answer, name);
    int64_t n = value == NULL          ? -1
                : json_is_array(value) ? (int64_t)json_array_size(value)
                                       : json_integer_value(value);

    json_decref(answer);
    arena_free(a);
    return n;
}

START_TEST(a_case_gives_its_table_when_bad_rows_are_skipped)
{
    const char *pairs[] = {"varve.bad-rows", "skip",
                           cases[_i].null_literal == NULL ? NULL : "csv.null-literal",
                           cases[_i].null_literal, NULL};
    static struct table t;
    struct err err = {0};

    ck_assert_ok(read_case(cases[_i].input, format_of(cases[_i].input), pairs, &t, &err));
    if (cases[_i].expected != NULL)
        check_table(&t, expected_path(t.arena, cases[_i].folder, cases[_i].expected));
    if (cases[_i].folder != NULL && fact(cases[_i].folder, cases[_i].input, "rows_bad") >= 0) {
        ck_assert_int_eq((int64_t)t.bad, fact(cases[_i].folder, cases[_i].input, "rows_bad"));
        ck_assert_int_eq((int64_t)t.rows, fact(cases[_i].folder, cases[_i].input, "rows_good"));
    }
    arena_free(t.arena);
}
END_TEST

START_TEST(a_case_gives_its_table_when_bad_fields_become_null)
{
    const struct format *format = format_of(cases[_i].input);
    const char *pairs[] = {
        format == &json_format ? "json.ignore-parse-errors" : "csv.ignore-parse-errors", "true",
        cases[_i].null_literal == NULL ? NULL : "csv.null-literal", cases[_i].null_literal, NULL};
    static struct table t;
    struct err err = {0};

    if (strcmp(cases[_i].input, "04-unicode-keys/not-utf8.csv") == 0) {
        ck_assert_rc_msg(read_case(cases[_i].input, format, pairs, &t, &err), RC_INVALID,
                         "not-utf8.csv: line 431: column k: not UTF-8");
        arena_free(t.arena);
        return;
    }
    ck_assert_ok(read_case(cases[_i].input, format, pairs, &t, &err));
    if (cases[_i].expected_nulls != NULL) {
        int64_t dropped = fact(cases[_i].folder, cases[_i].input, "null_field_dropped_lines");

        check_table(&t, expected_path(t.arena, cases[_i].folder, cases[_i].expected_nulls));
        if (dropped >= 0)
            ck_assert_int_eq((int64_t)t.bad, dropped);
    }
    arena_free(t.arena);
}
END_TEST

/* Bad lines of a case one after the other: the first one fails the job; with it taken out the next
 * would. Here each is found by reading the file from its line on, so that every number and every
 * reason of answer.json is met. */
static void check_bad_lines(const char *folder, const char *input)
{
    struct arena *a = arena_new(0);
    json_t *answer = load(arena_printf(a, "%s/answer.json", folder)),
           *bad = json_object_get(answer, "bad_lines"), *entry;
    static const struct schema_field fields[] = {
        {"k", {.kind = TYPE_VARCHAR, .nullable = true, .length = TYPE_LENGTH_MAX}},
        {"v", {.kind = TYPE_BIGINT, .nullable = true}}};
    struct schema schema = {2, (struct schema_field *)(uintptr_t)fields, -1};
    const struct format *format = format_of(input);
    struct format_options options;
    struct batch_builder *out = batch_builder_new(&schema);
    struct buf text = {0};
    struct err err = {0};
    size_t i, at = 0;
    uint64_t line = 1;

    ck_assert_ok(format->options(a, 0, NULL, NULL, &options, &err));
    ck_assert_ok(fs_read_all(fs_posix(), case_path(a, expected_path(a, folder, input)), 1u << 20,
                             &text, &err));
    json_array_foreach(bad, i, entry)
    {
        uint64_t bad_line = (uint64_t)json_integer_value(json_object_get(entry, "line"));
        const char *why = json_string_value(json_object_get(entry, "why"));
        struct decoder *d = format->decoder_new(&schema, &options);
        size_t used;

        d->file = "f";
        d->line_number = line;
        batch_builder_clear(out);
        ck_assert_rc_msg(
            d->ops->decode(d, bytes_of(text.data + at, text.len - at), true, out, &used, &err),
            RC_INVALID,
            arena_printf(a, "f: line %llu: %s%s", (unsigned long long)bad_line,
                         format == &csv_format && strncmp(why, "n", 1) == 0 ? "column v: " : "",
                         format == &csv_format ? why : ""));
        d->ops->free(d);
        /* Go on behind it; no bad line of these cases has line ends inside. */
        while (line <= bad_line)
            line += text.data[at++] == '\n';
    }
    ck_assert_uint_gt(i, 0);
    batch_builder_free(out);
    buf_release(&text);
    json_decref(answer);
    arena_free(a);
}

static const char *const dirty[][2] = {{"01-dirty-csv", "input.csv"},
                                       {"02-dirty-json", "input.jsonl"},
                                       {"16-quotes", "input.csv"},
                                       {"17-numbers", "input.csv"}};
START_TEST(every_bad_line_is_named_with_its_number_and_reason)
{
    check_bad_lines(dirty[_i][0], dirty[_i][1]);
}
END_TEST

/* The message of a failing job names file, line and reason. */
START_TEST(the_first_bad_line_fails_a_strict_job)
{
    static struct table t;
    struct err err = {0};

    ck_assert_rc_msg(read_case("01-dirty-csv/input.csv", &csv_format, NULL, &t, &err), RC_INVALID,
                     "01-dirty-csv/input.csv: line 11: expected 2 fields, found 1");
    arena_free(t.arena);
    ck_assert_rc_msg(read_case("14-cut-last-line/open-quote.csv", &csv_format, NULL, &t, &err),
                     RC_INVALID, "open-quote.csv: line 2: quote never closed");
    arena_free(t.arena);
}
END_TEST

START_TEST(a_mark_alone_is_an_empty_file)
{
    static struct table t;
    struct err err = {0};

    ck_assert_ok(read_case("13-bom/only-bom.csv", &csv_format, NULL, &t, &err));
    ck_assert_uint_eq(t.rows, 0);
    arena_free(t.arena);
}
END_TEST

static void compressed(const char *list, bool must_fail)
{
    json_t *answer = load("15-compressed/answer.json"), *files = json_object_get(answer, list),
           *file;
    static struct table t;
    struct err err = {0};
    size_t i;

    json_array_foreach(files, i, file)
    {
        struct arena *a = arena_new(0);
        const char *path = arena_printf(a, "15-compressed/%s", json_string_value(file));

        if (must_fail) {
            ck_assert_rc_msg(read_case(path, &csv_format, NULL, &t, &err), RC_CORRUPT,
                             json_string_value(file));
        } else {
            ck_assert_ok(read_case(path, &csv_format, NULL, &t, &err));
            ck_assert_uint_eq(t.rows, 3000);
            check_table(&t, "15-compressed/expected.jsonl");
        }
        arena_free(t.arena);
        arena_free(a);
    }
    ck_assert_uint_ge(i, 5);
    json_decref(answer);
}
START_TEST(compressed_files_give_one_answer)
{
    compressed("same_answer_for", false);
}
END_TEST
START_TEST(damaged_compressed_files_fail_and_are_named)
{
    compressed("must_fail", true);
}
END_TEST

TEST_MAIN("case_inputs", tcase_add_loop_test(tc, a_case_gives_its_table_when_bad_rows_are_skipped,
                                             0, ARRAY_LEN(cases));
          tcase_add_loop_test(tc, a_case_gives_its_table_when_bad_fields_become_null, 0,
                              ARRAY_LEN(cases));
          tcase_add_loop_test(tc, every_bad_line_is_named_with_its_number_and_reason, 0,
                              ARRAY_LEN(dirty));
          tcase_add_test(tc, the_first_bad_line_fails_a_strict_job);
          tcase_add_test(tc, a_mark_alone_is_an_empty_file);
          tcase_add_test(tc, compressed_files_give_one_answer);
          tcase_add_test(tc, damaged_compressed_files_fail_and_are_named))
