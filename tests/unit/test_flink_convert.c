/* links: checkpoint
 *
 * States of Flink's as a job's with other types: what a mapping comes to against both, and each entry. */
#include "checkpoint/flink/flink_convert.h"

#include "backend/key_codec.h"
#include "tests/lib/check_ext.h"

static struct arena *arena;

static void setup(void)
{
    arena = arena_new(0);
}

static void teardown(void)
{
    arena_free(arena);
}

/* Flink: key Tuple2<String, Integer>, value a Pojo {n: Long, sum: BigDecimal, at: Instant}, which may be null. */
static const struct flink_serializer string = {.coding = FLINK_STRING, .length = -1}, integer = {.coding = FLINK_INT, .length = 4},
                                     bigint = {.coding = FLINK_LONG, .length = 8}, number = {.coding = FLINK_BIG_DEC, .length = -1},
                                     instant = {.coding = FLINK_INSTANT, .length = -1}, window = {.coding = FLINK_TIME_WINDOW, .length = 16};
static const struct flink_serializer *key_parts[] = {&string, &integer}, *value_parts[] = {&bigint, &number, &instant};
static struct bytes value_names[3];
static struct flink_serializer tuple = {.coding = FLINK_TUPLE, .child_count = 2, .children = key_parts, .length = -1},
                               pojo = {.coding = FLINK_POJO, .child_count = 3, .children = value_parts, .length = -1, .name_count = 3, .names = value_names};

static struct flink_state wrote_value(void)
{
    value_names[0] = bytes_of_str("n");
    value_names[1] = bytes_of_str("sum");
    value_names[2] = bytes_of_str("at");
    return (struct flink_state){.name = bytes_of_str("s"), .kind = FLINK_STATE_KEYED, .type = FLINK_TYPE_VALUE, .value = &pojo};
}

#define TOTALS "ROW<`COUNT(*)` BIGINT, `SUM(d)$DECIMAL(10, 2)$low` BIGINT, `SUM(d)$DECIMAL(10, 2)$high` BIGINT, `SUM(d)$DECIMAL(10, 2)$count` BIGINT>"
static const struct state_desc totals = {.name = "accState", .kind = STATE_VALUE, .key_type = "ROW<`word` STRING, `num` BIGINT>", .namespace_type = "VOID",
                                         .user_key_type = "", .value_type = TOTALS};

/* text: of one state. Its faults go to `said`. */
static const struct flink_convert *made(const char *text, const struct flink_state *wrote, const struct state_desc *wanted, struct buf *said)
{
    struct flink_mapping *m = ARENA_NEW(arena, struct flink_mapping);
    const char *whole = arena_printf(arena, "operators: [{uid: u, operator: o, states: [%s]}]", text);
    struct convert_request *r = ARENA_NEW(arena, struct convert_request);
    struct err err = {0};

    ck_assert_ok(flink_mapping_read(bytes_of_str(whole), "m", arena, m, &err));
    *r = (struct convert_request){.file = "m", .mapped = &m->operators[0].states[0], .key = &tuple, .state = wrote, .wanted = wanted, .key_group_count = 128};
    return flink_convert_make(r, arena, said);
}

#define MAPPED "{from: s, to: accState, key: {word: key.f0, num: key.f1}, value: {COUNT(*): value.n, SUM(d): value.sum}}"

static struct flink_value part(const char *name, enum flink_value_kind kind, int64_t n, const char *text)
{
    return (struct flink_value){.kind = kind, .integer = n, .text = bytes_of_str(text), .name = bytes_of_str(name)};
}

static struct flink_value whole_number(int64_t n)
{
    return (struct flink_value){.kind = FLINK_VALUE_INTEGER, .integer = n};
}

START_TEST(an_entry_becomes_a_key_and_a_row_of_totals)
{
    struct flink_state wrote = wrote_value();
    struct flink_value key_values[] = {part("f0", FLINK_VALUE_TEXT, 0, "abc"), part("f1", FLINK_VALUE_INTEGER, -5, "")};
    struct flink_value values[] = {part("n", FLINK_VALUE_INTEGER, 3, ""), part("sum", FLINK_VALUE_NUMBER, 0, "-12.5"), part("at", FLINK_VALUE_NULL, 0, "")};
    struct flink_key key = {.key = {.kind = FLINK_VALUE_RECORD, .part_count = 2, .parts = key_values}};
    struct flink_entry entry = {.value = {.kind = FLINK_VALUE_RECORD, .part_count = 3, .parts = values}};
    const enum field_kind key_kinds[] = {FIELD_BYTES, FIELD_I64}, value_kinds[] = {FIELD_I64, FIELD_I64, FIELD_I64, FIELD_I64};
    struct buf said = {0}, k = {0}, v = {0}, printed = {0};
    struct row_layout key_layout, value_layout;
    const struct flink_convert *c = made(MAPPED, &wrote, &totals, &said);
    struct key_parts parts;
    struct err err = {0};
    bool none;

    ck_assert_str_eq(buf_cstr(&said), "");
    ck_assert_ptr_nonnull(c);
    ck_assert_ok(flink_convert_entry(c, &key, &entry, &k, &v, &none, &err));
    ck_assert(!none);
    ck_assert_ok(key_split(buf_bytes(&k), 128, KEY_NS_VOID, &parts, &err));
    row_layout_init(&key_layout, key_kinds, 2);
    row_layout_init(&value_layout, value_kinds, 4);
    ck_assert_ok(binary_row_check(&key_layout, parts.row, "key", &err));
    ck_assert_uint_eq(parts.group, key_group_of_row(parts.row, 128)); /* C1 */
    ck_assert_bytes_eq(binary_row_bytes(&key_layout, parts.row.data, 0), bytes_of_str("abc"));
    ck_assert_int_eq(binary_row_int(&key_layout, parts.row.data, 1), -5);
    ck_assert_uint_eq(get_be32(v.data), v.len - 4);
    ck_assert_ok(binary_row_check(&value_layout, bytes_of(v.data + 4, v.len - 4), "value", &err));
    ck_assert_int_eq(binary_row_int(&value_layout, v.data + 4, 0), 3);
    ck_assert_int_eq(binary_row_int(&value_layout, v.data + 4, 1), -1250);
    ck_assert_int_eq(binary_row_int(&value_layout, v.data + 4, 2), -1);
    ck_assert_int_eq(binary_row_int(&value_layout, v.data + 4, 3), 1);
    flink_convert_print_key(c, buf_bytes(&k), &printed);
    ck_assert_str_eq(buf_cstr(&printed), "word \"abc\", num -5");

    values[1].kind = FLINK_VALUE_NULL; /* no sum: its count says so */
    ck_assert_ok(flink_convert_entry(c, &key, &entry, &k, &v, &none, &err));
    ck_assert_int_eq(binary_row_int(&value_layout, v.data + 4, 1), 0);
    ck_assert_int_eq(binary_row_int(&value_layout, v.data + 4, 3), 0);
    ck_assert(!binary_row_is_null(v.data + 4, 1));
    values[0].kind = FLINK_VALUE_NULL; /* a count is never null */
    ck_assert_rc_msg(flink_convert_entry(c, &key, &entry, &k, &v, &none, &err), RC_INVALID,
                     "key {\"f0\":\"abc\",\"f1\":-5}: value COUNT(*) (value.n): null is no BIGINT: null has no place there");
    values[0] = part("other", FLINK_VALUE_INTEGER, 3, "");
    ck_assert_rc_msg(flink_convert_entry(c, &key, &entry, &k, &v, &none, &err), RC_INVALID, "an object of a class of its own");
    entry.value = (struct flink_value){.kind = FLINK_VALUE_NULL}; /* no value is no entry */
    ck_assert_ok(flink_convert_entry(c, &key, &entry, &k, &v, &none, &err));
    ck_assert(none);
    buf_release(&said);
    buf_release(&printed);
    buf_release(&k);
    buf_release(&v);
}
END_TEST

static const struct {
    const char *mapped, *said;
} wrong[] = {
    {"{from: s, to: accState}", "m:1:44: state \"accState\": the mapping says nothing of its key"},
    {"{from: s, to: accState, key: {word: key.f0}, value: {COUNT(*): 1, SUM(d): 1}}", "key num, a BIGINT, comes from nowhere"},
    {"{from: s, to: accState, key: {word: key.f0, num: key.f0}, value: {COUNT(*): 1, SUM(d): 1}}", "m:1:93: key num: no BIGINT is made of what "},
    {"{from: s, to: accState, key: {word: key.f0, num: key.f2}, value: {COUNT(*): 1, SUM(d): 1}}", "has no part \"f2\"; it has f0, f1"},
    {"{from: s, to: accState, key: {word: key.f0, num: k.f1}, value: {COUNT(*): 1, SUM(d): 1}}", "\"k.f1\" is no path: one begins with"},
    {"{from: s, to: accState, key: {word: key.f0, num: key.f1.x}, value: {COUNT(*): 1, SUM(d): 1}}", "has no part \"x\", it has none"},
    {"{from: s, to: accState, key: {word: key.f0, num: key.f1, numb: 1}, value: {COUNT(*): 1, SUM(d): 1}}", "the key of state \"accState\" of the job has no column \"numb\" (did you mean num?); it has word, num"},
    {"{from: s, to: accState, key: {word: key.f0, num: 7.5}, value: {COUNT(*): 1, SUM(d): 1}}", "key num: 7.5 is no BIGINT: it has more digits"},
    {"{from: s, to: accState, key: {word: 7, num: '7'}, value: {COUNT(*): 1, SUM(d): 1}}", "key word: 7 is no STRING: it is no text"},
    {"{from: s, to: accState, key: {word: map_key, num: 1}, value: {COUNT(*): 1, SUM(d): 1}}", "map_key: Flink wrote no map_key"},
    {"{from: s, to: accState, key: {word: null, num: 1}, value: {COUNT(*): null, SUM(d): 1}}", "value COUNT(*): null is no BIGINT"},
    {"{from: s, to: accState, key: {word: null, num: 1}, value: {COUNT(*): 1, SUM(d): value.at}}", "value SUM(d)$DECIMAL(10, 2)$low: no total is made of what "},
    {"{from: s, to: accState, key: {word: null, num: 1}, value: {COUNT(*): 1}}", "value SUM(d)$DECIMAL(10, 2)$low, a BIGINT, comes from nowhere"},
    {"{from: s, to: accState, key: {word: null, num: 1}, value: {COUNT(*): 1, SUM(d): 1.234}}", "value SUM(d)$DECIMAL(10, 2)$low: 1.234 is no total: it has more digits"},
    {"{from: s, to: accState, key: {word: null, num: 'key.f1'}, value: {COUNT(*): 1, SUM(d): 1}}", "key num: \"key.f1\" is no BIGINT: it is no exact number (in quotes it is a text, no path)"},
    {"{from: s, to: accState, key: {word: null, num: 1}, value: value}", "value COUNT(*), a BIGINT, comes from nowhere"},
};

START_TEST(what_does_not_fit_is_said_with_its_place)
{
    struct flink_state wrote = wrote_value();
    struct buf said = {0};

    ck_assert_ptr_null(made(wrong[_i].mapped, &wrote, &totals, &said));
    ck_assert_msg(strstr(buf_cstr(&said), wrong[_i].said) != NULL, "said: %s", buf_cstr(&said));
    ck_assert_msg(strncmp(buf_cstr(&said), "\n  m:1:", 7) == 0, "said: %s", buf_cstr(&said));
    buf_release(&said);
}
END_TEST

START_TEST(kind_windows_and_time_to_live_have_to_match)
{
    struct state_desc wanted = totals;
    struct flink_state wrote = wrote_value();
    struct buf said = {0};

    wrote.type = FLINK_TYPE_LIST;
    ck_assert_ptr_null(made(MAPPED, &wrote, &wanted, &said));
    ck_assert_ptr_nonnull(strstr(buf_cstr(&said), "Flink's LIST state \"s\" is no value state of the job"));
    buf_clear(&said);
    wrote.type = FLINK_TYPE_VALUE;
    wrote.namespace = &window;
    ck_assert_ptr_null(made(MAPPED, &wrote, &wanted, &said));
    ck_assert_ptr_nonnull(strstr(buf_cstr(&said), "has no windows, what Flink wrote has some"));
    buf_clear(&said);
    wanted.namespace_type = "BIGINT";
    ck_assert_ptr_nonnull(made(MAPPED, &wrote, &wanted, &said));
    wanted.ttl_ms = 1000;
    ck_assert_ptr_null(made(MAPPED, &wrote, &wanted, &said));
    ck_assert_ptr_nonnull(strstr(buf_cstr(&said), "time-to-live: Flink wrote \"s\" without, the job has \"accState\" with one"));
    buf_release(&said);
}
END_TEST

/* An average divides by its count, and rows are taken back from it: nobody makes that one up. */
START_TEST(a_count_that_is_asked_for_is_not_made_up)
{
    struct state_desc wanted = totals;
    struct flink_state wrote = wrote_value();
    struct buf said = {0};

    wanted.value_type = "ROW<`AVG(d)$low` BIGINT, `AVG(d)$high` BIGINT, `AVG(d)$count` BIGINT>";
    ck_assert_ptr_null(made("{from: s, to: accState, key: {word: key.f0, num: key.f1}, value: {AVG(d): value.n}}", &wrote, &wanted, &said));
    ck_assert_ptr_nonnull(strstr(buf_cstr(&said), "AVG(d)$count, a BIGINT, comes from nowhere"));
    buf_clear(&said);
    ck_assert_ptr_nonnull(made("{from: s, to: accState, key: {word: key.f0, num: key.f1}, value: {AVG(d): value.n, AVG(d)$count: 2}}", &wrote, &wanted, &said));
    wanted.value_type = "ROW<`SUM(d)$low` BIGINT, `SUM(d)$high` BIGINT, `SUM(d)$count` BIGINT, `$rows` BIGINT>";
    ck_assert_ptr_null(made("{from: s, to: accState, key: {word: key.f0, num: key.f1}, value: {SUM(d): value.n, $rows: 1}}", &wrote, &wanted, &said));
    ck_assert_ptr_nonnull(strstr(buf_cstr(&said), "SUM(d)$count, a BIGINT, comes from nowhere"));
    buf_release(&said);
}
END_TEST

/* A slot of totals has 64 bits whatever its type says, and times lie there in units of their precision. */
START_TEST(least_and_greatest_values_fill_their_slots)
{
    struct state_desc wanted = totals;
    struct flink_state wrote = wrote_value();
    struct flink_value key_values[] = {part("f0", FLINK_VALUE_TEXT, 0, "a"), part("f1", FLINK_VALUE_INTEGER, 1, "")};
    struct flink_value values[] = {part("n", FLINK_VALUE_INTEGER, -7, ""), part("sum", FLINK_VALUE_NUMBER, 0, "1"), part("at", FLINK_VALUE_TEXT, -2, "a time")};
    struct flink_key key = {.key = {.kind = FLINK_VALUE_RECORD, .part_count = 2, .parts = key_values}};
    struct flink_entry entry = {.value = {.kind = FLINK_VALUE_RECORD, .part_count = 3, .parts = values}};
    const enum field_kind kinds[] = {FIELD_I64, FIELD_I64};
    struct buf said = {0}, k = {0}, v = {0};
    const struct flink_convert *c;
    struct row_layout layout;
    struct err err = {0};
    bool none;

    row_layout_init(&layout, kinds, 2);
    values[2].is_time = true;
    values[2].nanos = 3000;
    wanted.value_type = "ROW<`MIN(n)` INT, `MAX(at)$TIMESTAMP_LTZ(6)` BIGINT>";
    c = made("{from: s, to: accState, key: {word: key.f0, num: key.f1}, value: {MIN(n): value.n, MAX(at): value.at}}", &wrote, &wanted, &said);
    ck_assert_str_eq(buf_cstr(&said), "");
    ck_assert_ok(flink_convert_entry(c, &key, &entry, &k, &v, &none, &err));
    ck_assert_int_eq(binary_row_int(&layout, v.data + 4, 0), -7);
    ck_assert_int_eq(binary_row_int(&layout, v.data + 4, 1), -1997); /* microseconds */
    values[2].integer = INT64_MAX / 10;
    ck_assert_rc_msg(flink_convert_entry(c, &key, &entry, &k, &v, &none, &err), RC_INVALID, "value MAX(at)$TIMESTAMP_LTZ(6) (value.at): a time too far away");
    values[2] = part("at", FLINK_VALUE_NULL, 0, "");
    ck_assert_ok(flink_convert_entry(c, &key, &entry, &k, &v, &none, &err));
    ck_assert(binary_row_is_null(v.data + 4, 1));
    buf_release(&said);
    buf_release(&k);
    buf_release(&v);
}
END_TEST

/* As SQL takes them: a sum that is null or has digits behind its point, and numbers for reals. */
START_TEST(what_is_written_down_for_a_column_goes_there)
{
    struct state_desc wanted = totals;
    struct flink_state wrote = wrote_value();
    struct flink_value key_values[] = {part("f0", FLINK_VALUE_TEXT, 0, "a"), part("f1", FLINK_VALUE_INTEGER, 1, "")};
    struct flink_key key = {.key = {.kind = FLINK_VALUE_RECORD, .part_count = 2, .parts = key_values}};
    struct flink_entry entry = {.value = {.kind = FLINK_VALUE_RECORD}};
    const enum field_kind kinds[] = {FIELD_I64, FIELD_I64, FIELD_I64, FIELD_F64, FIELD_I64, FIELD_F64, FIELD_I64};
    struct buf said = {0}, k = {0}, v = {0};
    const struct flink_convert *c;
    struct row_layout layout;
    struct err err = {0};
    bool none;

    row_layout_init(&layout, kinds, ARRAY_LEN(kinds));
    wanted.value_type = "ROW<`SUM(d)$DECIMAL(10, 2)$low` BIGINT, `SUM(d)$DECIMAL(10, 2)$high` BIGINT, `SUM(d)$DECIMAL(10, 2)$count` BIGINT, "
                        "`SUM(x)$sum` DOUBLE, `SUM(x)$count` BIGINT, `SUM(y)$sum` DOUBLE, `SUM(y)$count` BIGINT>";
    c = made("{from: s, to: accState, key: {word: key.f0, num: key.f1}, value: {SUM(d): -12.5, SUM(x): 1.5, SUM(y): null}}", &wrote, &wanted, &said);
    ck_assert_str_eq(buf_cstr(&said), "");
    ck_assert_ok(flink_convert_entry(c, &key, &entry, &k, &v, &none, &err));
    ck_assert_int_eq(binary_row_int(&layout, v.data + 4, 0), -1250);
    ck_assert_int_eq(binary_row_int(&layout, v.data + 4, 1), -1);
    ck_assert_int_eq(binary_row_int(&layout, v.data + 4, 2), 1);
    ck_assert(binary_row_f64(&layout, v.data + 4, 3) == 1.5);
    ck_assert_int_eq(binary_row_int(&layout, v.data + 4, 4), 1);
    ck_assert(!binary_row_is_null(v.data + 4, 5) && binary_row_f64(&layout, v.data + 4, 5) == 0);
    ck_assert_int_eq(binary_row_int(&layout, v.data + 4, 6), 0);
    c = made("{from: s, to: accState, key: {word: key.f0, num: key.f1}, value: {SUM(d): null, SUM(x): 7, SUM(y): -0.1}}", &wrote, &wanted, &said);
    ck_assert_str_eq(buf_cstr(&said), "");
    ck_assert_ok(flink_convert_entry(c, &key, &entry, &k, &v, &none, &err));
    ck_assert_int_eq(binary_row_int(&layout, v.data + 4, 0), 0);
    ck_assert_int_eq(binary_row_int(&layout, v.data + 4, 2), 0);
    ck_assert(binary_row_f64(&layout, v.data + 4, 3) == 7 && binary_row_f64(&layout, v.data + 4, 5) == -0.1);
    wanted.value_type = "ROW<`f` FLOAT, `g` FLOAT>";
    wanted.name = "other";
    c = made("{from: s, to: other, key: {word: key.f0, num: key.f1}, value: {f: 0.1, g: 3}}", &wrote, &wanted, &said);
    ck_assert_str_eq(buf_cstr(&said), "");
    ck_assert_ok(flink_convert_entry(c, &key, &entry, &k, &v, &none, &err));
    row_layout_init(&layout, (const enum field_kind[]){FIELD_F32, FIELD_F32}, 2);
    ck_assert(binary_row_f32(&layout, v.data + 4, 0) == 0.1f && binary_row_f32(&layout, v.data + 4, 1) == 3.0f);
    buf_release(&said);
    buf_release(&k);
    buf_release(&v);
}
END_TEST

START_TEST(a_map_keeps_its_nulls_and_its_times)
{
    static const struct state_desc seen = {.name = "distinctAcc_COUNT(DISTINCT x)", .kind = STATE_MAP, .key_type = "ROW<`k` INT>", .namespace_type = "VOID",
                                           .user_key_type = "BIGINT", .value_type = "BIGINT", .fixed_value_bytes = 9, .ttl_ms = 1000};
    static const struct flink_serializer *ttl_parts[] = {&bigint, &bigint};
    static const struct flink_serializer ttl = {.coding = FLINK_TTL, .child_count = 2, .children = ttl_parts, .length = -1};
    struct flink_state wrote = {.name = bytes_of_str("s"), .kind = FLINK_STATE_KEYED, .type = FLINK_TYPE_MAP, .user_key = &integer, .user_value = &ttl};
    struct flink_value key_values[] = {part("f0", FLINK_VALUE_TEXT, 0, "a"), part("f1", FLINK_VALUE_INTEGER, 1, "")};
    struct flink_key key = {.key = {.kind = FLINK_VALUE_RECORD, .part_count = 2, .parts = key_values}, .user_key = whole_number(-3), .has_user_key = true};
    struct flink_entry entry = {.value = whole_number(5), .has_last_access = true, .last_access_ms = 77};
    struct buf said = {0}, k = {0}, v = {0};
    const struct flink_convert *c = made("{from: s, to: m, key: {k: key.f1}, map_key: map_key, value: value}", &wrote, &seen, &said);
    struct key_parts parts;
    struct err err = {0};
    bool none;

    ck_assert_str_eq(buf_cstr(&said), "");
    ck_assert_ok(flink_convert_entry(c, &key, &entry, &k, &v, &none, &err));
    ck_assert_ok(key_split(buf_bytes(&k), 128, KEY_NS_VOID, &parts, &err));
    ck_assert_uint_eq(parts.user_key.len, 8);
    ck_assert_int_eq((int64_t)get_be64(parts.user_key.data), -3);
    ck_assert_uint_eq(v.len, 17);
    ck_assert_uint_eq(v.data[0], 0);
    ck_assert_uint_eq(get_be64(v.data + 1), 77);
    ck_assert_uint_eq(get_be64(v.data + 9), 5);
    entry.value.kind = FLINK_VALUE_NULL;
    ck_assert_ok(flink_convert_entry(c, &key, &entry, &k, &v, &none, &err));
    ck_assert(!none);
    ck_assert_uint_eq(v.len, 17);
    ck_assert_uint_eq(v.data[0], 1);
    key.user_key.kind = FLINK_VALUE_NULL;
    ck_assert_rc_msg(flink_convert_entry(c, &key, &entry, &k, &v, &none, &err), RC_INVALID, "map key: null has no place there");
    buf_release(&said);
    buf_release(&k);
    buf_release(&v);
}
END_TEST

START_TEST(what_has_to_be_said_of_totals_is_said_by_calls)
{
    struct state_desc wanted = totals;
    const struct convert_ask *asks;

    ck_assert_uint_eq(flink_convert_asks(&wanted, wanted.value_type, true, arena, &asks), 2);
    ck_assert_str_eq(asks[0].name, "COUNT(*)");
    ck_assert_str_eq(asks[1].name, "SUM(d)");
    ck_assert_int_eq(asks[1].type.word, CAST_WIDE);
    ck_assert_int_eq(asks[1].type.scale, 2);
    wanted.value_type = "ROW<`COUNT(*)` BIGINT, `SUM(x)$sum` DOUBLE, `SUM(x)$count` BIGINT, `AVG(v)$low` BIGINT, `AVG(v)$high` BIGINT, `AVG(v)$count` BIGINT, `$rows` BIGINT>";
    ck_assert_uint_eq(flink_convert_asks(&wanted, wanted.value_type, true, arena, &asks), 6);
    ck_assert_str_eq(asks[1].name, "SUM(x)");
    ck_assert_int_eq(asks[1].type.word, CAST_DOUBLE);
    ck_assert_str_eq(asks[2].name, "SUM(x)$count");
    ck_assert_str_eq(asks[3].name, "AVG(v)");
    ck_assert_str_eq(asks[4].name, "AVG(v)$count");
    ck_assert_str_eq(asks[5].name, "$rows");
    ck_assert_uint_eq(asks[5].same_as, 1);
    wanted.name = "other"; /* a row of its own: columns are what they are called */
    ck_assert_uint_eq(flink_convert_asks(&wanted, wanted.value_type, true, arena, &asks), 7);
    ck_assert_uint_eq(flink_convert_asks(&wanted, "BIGINT", true, arena, &asks), 1);
    ck_assert_str_eq(asks[0].name, "");
}
END_TEST

TEST_MAIN("flink_convert", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, an_entry_becomes_a_key_and_a_row_of_totals);
          tcase_add_loop_test(tc, what_does_not_fit_is_said_with_its_place, 0, ARRAY_LEN(wrong));
          tcase_add_test(tc, kind_windows_and_time_to_live_have_to_match);
          tcase_add_test(tc, a_count_that_is_asked_for_is_not_made_up);
          tcase_add_test(tc, least_and_greatest_values_fill_their_slots);
          tcase_add_test(tc, what_is_written_down_for_a_column_goes_there);
          tcase_add_test(tc, a_map_keeps_its_nulls_and_its_times);
          tcase_add_test(tc, what_has_to_be_said_of_totals_is_said_by_calls);)
