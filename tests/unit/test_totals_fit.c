/* Totals of one set of calls, through a snapshot, into another set: what is kept is right to the bit,
 * the rest starts empty or is refused. Over both backends.
 *
 * Groups "a" and "b". Old rows: a (10, "m", 2.5), a (4, "x", null), b (-7, "c", 1); with v, s, d. */
#include "job/operator/totals_fit.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/dir_target.h"
#include "tests/lib/tmpdir.h"

static struct tmpdir tmp;
static struct dir_target target;
static struct arena *arena;
static int opened;

static void setup(void)
{
    tmpdir_make(&tmp);
    dir_target_init(&target, fs_posix(), tmp.path);
    arena = arena_new(0);
}
static void teardown(void)
{
    arena_free(arena);
    dir_target_release(&target);
    tmpdir_remove(&tmp);
}

/* ---- calls ---------------------------------------------------------------------------------------- */

enum { K, V, S, D, COLUMNS };
enum shape { PLAIN, V_INT, V_DOUBLE, V_TEXT, D_WIDER, S_BYTES, K_BIGINT, SHAPES };

static struct type decimal(uint8_t precision, uint8_t scale)
{
    struct type t = type_of(TYPE_DECIMAL);

    t.precision = precision;
    t.scale = scale;
    return t;
}

static const struct schema *schema_of(enum shape shape)
{
    struct schema *s = ARENA_NEW(arena, struct schema);

    s->field_count = COLUMNS;
    s->fields = ARENA_ARRAY(arena, COLUMNS, struct schema_field);
    s->fields[K] = (struct schema_field){"k", type_of(shape == K_BIGINT ? TYPE_BIGINT : TYPE_VARCHAR)};
    s->fields[V] = (struct schema_field){"v", type_of(shape == V_INT      ? TYPE_INT
                                                      : shape == V_DOUBLE ? TYPE_DOUBLE
                                                      : shape == V_TEXT   ? TYPE_VARCHAR
                                                                          : TYPE_BIGINT)};
    s->fields[S] = (struct schema_field){"s", type_of(shape == S_BYTES ? TYPE_VARBINARY : TYPE_VARCHAR)};
    s->fields[D] = (struct schema_field){"d", shape == D_WIDER ? decimal(12, 3) : decimal(10, 2)};
    s->rowtime = -1;
    for (int i = 0; i < COLUMNS; i++)
        s->fields[i].type.length = TYPE_LENGTH_MAX;
    return s;
}

/* By letter, in the order of a case's text. */
static const struct {
    char letter;
    enum agg_func func;
    bool distinct;
    int32_t arg;
    const char *name;
} calls[] = {
    {'n', AGG_COUNT_STAR, false, -1, "COUNT(*)"},
    {'c', AGG_COUNT, false, V, "COUNT(v)"},
    {'u', AGG_SUM, false, V, "SUM(v)"},
    {'a', AGG_AVG, false, V, "AVG(v)"},
    {'i', AGG_MIN, false, V, "MIN(v)"},
    {'x', AGG_MAX, false, V, "MAX(v)"},
    {'f', AGG_FIRST_VALUE, false, V, "FIRST_VALUE(v)"},
    {'t', AGG_MIN, false, S, "MIN(s)"},
    {'T', AGG_MAX, false, S, "MAX(s)"},
    {'q', AGG_COUNT, true, V, "COUNT(DISTINCT v)"},
    {'Q', AGG_COUNT, true, S, "COUNT(DISTINCT s)"},
    {'d', AGG_SUM, false, D, "SUM(d)"},
    {'D', AGG_MAX, false, D, "MAX(d)"},
    {'l', AGG_SUM, false, D, "SUM(`a``b`)"}, /* a quote in the name */
};

static struct totals_config config_of(const char *letters, enum shape shape, bool retracts)
{
    static const uint32_t keys[] = {K};
    struct agg_call *list = ARENA_ARRAY(arena, strlen(letters) + 1, struct agg_call);
    const struct schema *input = schema_of(shape);
    uint32_t count = 0;

    for (const char *l = letters; *l != '\0'; l++)
        for (size_t i = 0; i < ARRAY_LEN(calls); i++)
            if (calls[i].letter == *l) {
                struct type arg = calls[i].arg < 0 ? type_of(TYPE_BIGINT) : input->fields[calls[i].arg].type;
                bool counts = calls[i].func == AGG_COUNT || calls[i].func == AGG_COUNT_STAR;

                list[count] = (struct agg_call){.func = calls[i].func,
                                                .distinct = calls[i].distinct,
                                                .arg = calls[i].arg,
                                                .filter = -1,
                                                .result = counts ? type_of(TYPE_BIGINT) : arg,
                                                .name = calls[i].name};
                if (calls[i].func == AGG_SUM && arg.kind == TYPE_DECIMAL)
                    list[count].result.precision = 38;
                count++;
            }
    return (struct totals_config){.state_name = "accState",
                                  .input = input,
                                  .key_count = 1,
                                  .keys = keys,
                                  .call_count = count,
                                  .calls = list,
                                  .retracts = retracts,
                                  .ns = KEY_NS_VOID};
}

/* ---- state ---------------------------------------------------------------------------------------- */

static enum rc open_backend(enum backend_kind kind, const struct keyed_handle *h, const struct state_fit *fit,
                            struct keyed_backend **out, struct err *err)
{
    struct keyed_backend_config config = {.env = dir_target_env(),
                                          .kind = kind,
                                          .range = {0, 127},
                                          .key_group_count = 128,
                                          .local_dir = arena_printf(arena, "%s/db-%d", tmp.path, opened++),
                                          .backend_id = "0123456789abcdef0123456789abcdef",
                                          .name = "test",
                                          .memory_bytes = 1u << 20,
                                          .max_open_files = -1,
                                          .restore = h,
                                          .restore_count = h != NULL,
                                          .restore_operator = "test"};

    if (fit != NULL) {
        config.change_count = fit->change_count;
        config.changes = fit->changes;
    }
    return keyed_backend_open(&config, out, err);
}

static void add_v(struct batch_builder *b, struct type type, int64_t v)
{
    char text[24];

    if (type.kind == TYPE_DOUBLE)
        batch_append_double(b, V, (double)v);
    else if (type.kind == TYPE_VARCHAR)
        batch_append_bytes(b, V, bytes_of(text, (size_t)snprintf(text, sizeof text, "%lld", (long long)v)));
    else
        batch_append_int(b, V, v);
}

/* cents < 0: null */
static void add_row(struct batch_builder *b, const struct schema *s, const char *k, int64_t v, const char *text, int cents)
{
    if (s->fields[K].type.kind == TYPE_BIGINT)
        batch_append_int(b, K, k[0]);
    else
        batch_append_bytes(b, K, bytes_of_str(k));
    add_v(b, s->fields[V].type, v);
    batch_append_bytes(b, S, bytes_of_str(text));
    if (cents < 0)
        batch_append_null(b, D);
    else
        batch_append_decimal(b, D, cents);
    batch_row_end(b, ROW_INSERT);
}

static void apply(struct keyed_totals *t, const struct batch *in)
{
    struct key_batch keys;
    struct err err = {0};

    ck_assert_ok(row_key_keys(t->key.rows, in, NULL, 0, in->rows, NULL, &keys, &err));
    ck_assert_ok(keyed_totals_apply(t, in, 0, in->rows, &keys, false, false, &err));
    ck_assert_ok(text_calls_store(&t->text, &keys, t->dedup, &err));
}

static void take_old(enum backend_kind kind, const struct totals_config *config, int64_t big, struct keyed_handle *h)
{
    struct keyed_backend *b;
    struct keyed_totals t;
    struct batch_builder *rows = batch_builder_new(config->input);
    struct keyed_snapshot *s;
    struct err err = {0};

    ck_assert_ok(open_backend(kind, NULL, NULL, &b, &err));
    ck_assert_ok(keyed_totals_open(&t, config, b, 128, &err));
    add_row(rows, config->input, "a", big, "m", 250);
    add_row(rows, config->input, "a", 4, "x", -1);
    add_row(rows, config->input, "b", -7, "c", 100);
    apply(&t, batch_builder_view(rows));
    batch_builder_free(rows);
    ck_assert_ok(keyed_snapshot_begin(b, 1, &s, &err));
    ck_assert_ok(keyed_snapshot_write(s, &target.base, arena, h, &err));
    keyed_snapshot_free(s);
    dir_target_resolve(&target, arena, h);
    keyed_totals_release(&t);
    keyed_backend_close(b);
}

/* "a: 2 14 m; b: 1 -7 c" */
static const char *results(struct keyed_totals *t, const char *const *names, uint32_t count, const struct schema *s)
{
    struct batch_builder *b = batch_builder_new(s);
    struct buf text = {0};
    void *rows[8];
    uint8_t fresh[8];
    struct key_batch keys;
    struct err err = {0};
    const char *out;

    for (uint32_t i = 0; i < count; i++)
        add_row(b, s, names[i], 0, "", -1);
    ck_assert_ok(row_key_keys(t->key.rows, batch_builder_view(b), NULL, 0, count, NULL, &keys, &err));
    ck_assert_ok(keyed_upsert(t->state, &keys, rows, fresh, &err));
    for (uint32_t i = 0; i < count; i++)
        ck_assert(!fresh[i]);
    ck_assert_ok(keyed_totals_finish(t, (const void *const *)rows, &keys, &err));
    for (uint32_t i = 0; i < count; i++) {
        buf_printf(&text, "%s%s:", i == 0 ? "" : "; ", names[i]);
        for (uint32_t c = 0; c < t->layout.call_count; c++) {
            buf_append_u8(&text, ' ');
            column_print(keyed_totals_result(t, c), i, &text);
        }
        if (t->layout.rows_offset >= 0)
            buf_printf(&text, " rows %llu", (unsigned long long)get_le64((uint8_t *)rows[i] + t->layout.rows_offset));
    }
    out = arena_strdup(arena, buf_cstr(&text));
    buf_release(&text);
    batch_builder_free(b);
    return out;
}

/* ---- what is kept --------------------------------------------------------------------------------- */

static const struct {
    const char *was, *is;
    enum shape shape;
    bool allow, retracts;
    const char *before; /* results right after the restore */
    const char *after;  /* after one more row in each group: a (6, "b", 0.50), b (1, "z", 0.05) */
    const char *said;
} kept[] = {
    /* B25: MAX added, SUM removed, both swapped, SUM over another column */
    {"nu", "nux", PLAIN, false, false, "a: 2 14 null; b: 1 -7 null", "a: 3 20 6; b: 2 -6 1", "new, starts empty: MAX(v)"},
    {"nu", "n", PLAIN, false, false, "a: 2; b: 1", "a: 3; b: 2", "gone, dropped: SUM(v)"},
    {"nu", "un", PLAIN, false, false, "a: 14 2; b: -7 1", "a: 20 3; b: -6 2", ""},
    {"nu", "nd", PLAIN, false, false, "a: 2 null; b: 1 null", "a: 3 0.50; b: 2 0.05",
     "new, starts empty: SUM(d); gone, dropped: SUM(v)"},
    {"nu", "dxi", PLAIN, false, false, "a: null null null; b: null null null", "a: 0.50 6 6; b: 0.05 1 1",
     "new, starts empty: SUM(d), MAX(v), MIN(v); gone, dropped: COUNT(*), SUM(v)"},
    /* null bits move with their fields */
    {"xdDf", "fDxd", PLAIN, false, false, "a: 10 2.50 10 2.50; b: -7 1.00 -7 1.00", "a: 10 2.50 10 3.00; b: -7 1.00 1 1.05", ""},
    {"", "nx", PLAIN, false, false, "a: 0 null; b: 0 null", "a: 1 6; b: 1 1", "new, starts empty: COUNT(*), MAX(v)"},
    {"nx", "", PLAIN, false, false, "a:; b:", "a:; b:", "gone, dropped: COUNT(*), MAX(v)"},
    /* states of their own */
    {"nt", "Tn", PLAIN, false, false, "a: null 2; b: null 1", "a: b 3; b: z 2", "new, starts empty: MAX(s); gone, dropped: MIN(s)"},
    {"tT", "T", PLAIN, false, false, "a: x; b: c", "a: x; b: z", "gone, dropped: MIN(s)"},
    {"ntT", "Ttn", PLAIN, false, false, "a: x m 2; b: c c 1", "a: x b 3; b: z c 2", ""},
    {"n", "nqQ", PLAIN, false, false, "a: 2 0 0; b: 1 0 0", "a: 3 1 1; b: 2 1 1",
     "new, starts empty: COUNT(DISTINCT v), COUNT(DISTINCT s)"},
    {"qnQ", "nQ", PLAIN, false, false, "a: 2 2; b: 1 1", "a: 3 3; b: 2 2", "gone, dropped: COUNT(DISTINCT v)"},
    {"qQ", "Qq", PLAIN, false, false, "a: 2 2; b: 1 1", "a: 3 3; b: 2 2", ""},
    {"nl", "ln", PLAIN, false, false, "a: 2.50 2; b: 1.00 1", "a: 3.00 3; b: 1.05 2", ""},
    /* a column of another type: integers among each other fit */
    {"nuixc", "uncix", V_INT, false, false, "a: 14 2 2 4 10; b: -7 1 1 -7 -7", "a: 20 3 3 4 10; b: -6 2 2 -7 1", ""},
    {"nc", "nc", V_DOUBLE, false, false, "a: 2 2; b: 1 1", "a: 3 3; b: 2 2", ""},
    {"nua", "nua", V_DOUBLE, true, false, "a: 2 null null; b: 1 null null", "a: 3 6.0 6.0; b: 2 1.0 1.0",
     "new, starts empty: SUM(v), AVG(v)"},
    {"nx", "nx", V_TEXT, true, false, "a: 2 null; b: 1 null", "a: 3 6; b: 2 1", "new, starts empty: MAX(v)"},
    {"nq", "nq", V_TEXT, true, false, "a: 2 0; b: 1 0", "a: 3 1; b: 2 1", "new, starts empty: COUNT(DISTINCT v)"},
    {"nDd", "nDd", D_WIDER, true, false, "a: 2 null null; b: 1 null null", "a: 3 0.050 0.050; b: 2 0.005 0.005",
     "new, starts empty: MAX(d), SUM(d)"},
    {"nt", "nt", S_BYTES, true, false, "a: 2 null; b: 1 null", "a: 3 [98]; b: 2 [122]", "new, starts empty: MIN(s)"},
    /* over an input that takes rows back calls may go, not come */
    {"nuq", "un", PLAIN, false, true, "a: 14 2 rows 2; b: -7 1 rows 1", "a: 20 3 rows 3; b: -6 2 rows 2",
     "gone, dropped: COUNT(DISTINCT v)"},
};

START_TEST(calls_keep_their_state_by_name_and_meaning)
{
    static const char *const names[] = {"a", "b"};
    enum backend_kind kind = _i % 2 == 0 ? BACKEND_HASHMAP : BACKEND_ROCKSDB;
    size_t i = (size_t)_i / 2;
    struct totals_config was = config_of(kept[i].was, PLAIN, kept[i].retracts);
    struct totals_config is = config_of(kept[i].is, kept[i].shape, kept[i].retracts);
    struct batch_builder *rows = batch_builder_new(is.input);
    struct fit_request r = {.operator_name = "test", .allow_non_restored = kept[i].allow, .arena = arena};
    struct keyed_handle h;
    struct keyed_backend *b;
    struct keyed_totals t;
    struct state_fit fit;
    struct err err = {0};

    take_old(kind, &was, 10, &h);
    r.old = h.states;
    r.old_count = h.state_count;
    ck_assert_ok(totals_fit(&r, &is, &fit, &err));
    ck_assert_str_eq(fit.said, kept[i].said);
    ck_assert_uint_eq(fit.kept_count + fit.fresh_count, is.call_count); /* each call once */
    ck_assert_ok(open_backend(kind, &h, &fit, &b, &err));
    ck_assert_ok(keyed_totals_open(&t, &is, b, 128, &err));
    ck_assert_str_eq(results(&t, names, 2, is.input), kept[i].before);
    add_row(rows, is.input, "a", 6, "b", 50);
    add_row(rows, is.input, "b", 1, "z", 5);
    apply(&t, batch_builder_view(rows));
    ck_assert_str_eq(results(&t, names, 2, is.input), kept[i].after);
    batch_builder_free(rows);
    keyed_totals_release(&t);
    keyed_backend_close(b);
}
END_TEST

/* Nothing is rewritten that need not be. */
START_TEST(the_same_calls_change_nothing)
{
    struct totals_config config = config_of("nuixtTqQdD", PLAIN, false);
    struct fit_request r = {.operator_name = "test", .arena = arena};
    struct keyed_handle h;
    struct state_fit fit;
    struct err err = {0};

    take_old(BACKEND_HASHMAP, &config, 10, &h);
    r.old = h.states;
    r.old_count = h.state_count;
    ck_assert_ok(totals_fit(&r, &config, &fit, &err));
    ck_assert_uint_eq(fit.change_count, 0);
    ck_assert_str_eq(fit.said, "");
    ck_assert_uint_eq(fit.kept_count, config.call_count);
    ck_assert_uint_eq(fit.fresh_count + fit.gone_count, 0);
    ck_assert_str_eq(fit.kept[0], "COUNT(*)");
}
END_TEST

/* ---- what is refused ------------------------------------------------------------------------------ */

static const struct {
    const char *was, *is;
    enum shape shape;
    bool retracted, retracts, allow;
    const char *words[4];
} refused[] = {
    {"nu", "nu", K_BIGINT, false, false, true, {"state \"accState\":", "key k: was STRING, is BIGINT", "another 'varve.uid'"}},
    {"nu", "nu", V_DOUBLE, false, false, false,
     {"SUM(v) over another type: was SUM(v)$low BIGINT, SUM(v)$high BIGINT, SUM(v)$count BIGINT; is SUM(v)$sum DOUBLE, SUM(v)$count BIGINT",
      "start with -n (--allow-non-restored-state): what is named here then starts empty"}},
    {"nx", "nx", V_TEXT, false, false, false, {"MAX(v) over another type: was MAX(v) BIGINT; is STRING"}},
    {"nq", "nq", V_DOUBLE, false, false, false,
     {"COUNT(DISTINCT v) over another type: was COUNT(DISTINCT v) BIGINT, BIGINT; is COUNT(DISTINCT v) BIGINT, DOUBLE"}},
    {"nd", "nd", D_WIDER, false, false, false, {"SUM(d) over another type: was SUM(d)$DECIMAL(10, 2)$low BIGINT", "is SUM(d)$DECIMAL(12, 3)$low BIGINT"}},
    {"nt", "nt", S_BYTES, false, false, false, {"MIN(s) over another type: was STRING; is BYTES"}},
    {"nu", "nuc", PLAIN, true, true, true, {"COUNT(v) is new, and cannot start empty here", "start from nothing"}},
    {"nu", "nu", V_DOUBLE, true, true, true, {"SUM(v) over another type", "start from nothing"}},
    {"nu", "nu", PLAIN, false, true, true, {"its input did not take rows back, and does now"}},
    {"nu", "nu", PLAIN, true, false, true, {"its input took rows back, and does not now"}},
};

START_TEST(what_cannot_be_kept_is_refused_side_by_side)
{
    struct totals_config was = config_of(refused[_i].was, PLAIN, refused[_i].retracted);
    struct totals_config is = config_of(refused[_i].is, refused[_i].shape, refused[_i].retracts);
    struct fit_request r = {.operator_name = "test", .allow_non_restored = refused[_i].allow, .arena = arena};
    struct keyed_handle h;
    struct state_fit fit;
    struct err err = {0};

    take_old(BACKEND_HASHMAP, &was, 10, &h);
    r.old = h.states;
    r.old_count = h.state_count;
    for (int w = 0; w < 4 && refused[_i].words[w] != NULL; w++) {
        err = (struct err){0};
        ck_assert_rc_msg(totals_fit(&r, &is, &fit, &err), RC_INVALID, refused[_i].words[w]);
    }
}
END_TEST

/* MAX of a column that was BIGINT and is INT: a value that does not fit is never cut. */
START_TEST(a_value_beyond_a_narrower_column_ends_the_restore)
{
    enum backend_kind kind = _i == 0 ? BACKEND_HASHMAP : BACKEND_ROCKSDB;
    struct totals_config was = config_of("nx", PLAIN, false), is = config_of("nx", V_INT, false);
    struct fit_request r = {.operator_name = "test", .arena = arena};
    struct keyed_handle h;
    struct keyed_backend *b;
    struct state_fit fit;
    struct err err = {0};

    take_old(kind, &was, 5000000000, &h);
    r.old = h.states;
    r.old_count = h.state_count;
    ck_assert_ok(totals_fit(&r, &is, &fit, &err));
    ck_assert_rc_msg(open_backend(kind, &h, &fit, &b, &err), RC_INVALID, "MAX(v): its state holds 5000000000, which does not fit INT");
}
END_TEST

/* Cut at the same place, two long calls would count into one state. */
START_TEST(long_calls_have_states_of_their_own)
{
    char one[400], two[400];
    const char *a, *b;

    memset(one, 'x', sizeof one);
    one[399] = '\0';
    memcpy(two, one, sizeof one);
    two[398] = 'y';
    memcpy(one + 179, "\xc3\xa4", 2); /* across the cut */
    a = acc_state_name(arena, TEXT_STATE_PREFIX, one);
    b = acc_state_name(arena, TEXT_STATE_PREFIX, two);
    ck_assert_str_ne(a, b);
    ck_assert_uint_le(strlen(a), 255);
    ck_assert_ptr_null(strstr(a, "\xc3"));
    ck_assert_str_eq(acc_state_name(arena, TEXT_STATE_PREFIX, "MIN(s)"), "acc_MIN(s)");
}
END_TEST

TEST_MAIN("totals_fit", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_loop_test(tc, calls_keep_their_state_by_name_and_meaning, 0, 2 * ARRAY_LEN(kept));
          tcase_add_test(tc, the_same_calls_change_nothing);
          tcase_add_loop_test(tc, what_cannot_be_kept_is_refused_side_by_side, 0, ARRAY_LEN(refused));
          tcase_add_loop_test(tc, a_value_beyond_a_narrower_column_ends_the_restore, 0, 2);
          tcase_add_test(tc, long_calls_have_states_of_their_own);)
