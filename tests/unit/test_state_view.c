/* Entries in the bytes of docs/FORMAT.md "Rows of keyed state" -> columns, each part alone. */
#include "job/state_view.h"

#include "backend/binary_row.h"
#include "backend/key_codec.h"
#include "tests/lib/check_ext.h"

static struct state_view *view;
static struct buf key, value, text;

static void setup(void)
{
    view = NULL;
    key = value = text = (struct buf){0};
}

static void teardown(void)
{
    state_view_free(view);
    buf_release(&key);
    buf_release(&value);
    buf_release(&text);
}

static void make_view(const struct state_desc *d)
{
    struct err err = {0};

    state_view_free(view);
    ck_assert_ok(state_view_new(d, 128, false, &view, &err));
}

/* "name=value, .." of an entry; "!" and the code of one that is refused. */
static const char *shown(void)
{
    const struct schema *s = state_view_schema(view);
    struct batch_builder *b = batch_builder_new(s);
    struct err err = {0};
    enum rc rc = state_view_append(view, buf_bytes(&key), buf_bytes(&value), b, &err);

    buf_clear(&text);
    if (rc != RC_OK)
        buf_printf(&text, "!%s", rc_name(rc));
    ck_assert_uint_eq(batch_builder_rows(b), rc == RC_OK);
    for (uint32_t i = 0; rc == RC_OK && i < s->field_count; i++) {
        buf_printf(&text, "%s%s=", i > 0 ? ", " : "", s->fields[i].name);
        column_print(&batch_builder_view(b)->columns[i], 0, &text);
    }
    batch_builder_free(b);
    return buf_cstr(&text);
}

/* The key (k, n), n null when it is below 0. */
static void put_key(const char *k, int64_t n)
{
    static const enum field_kind kinds[] = {FIELD_BYTES, FIELD_I32};
    struct row_layout l;
    struct row_writer w;
    struct buf row = {0};

    row_layout_init(&l, kinds, 2);
    row_writer_begin(&w, &l, &row);
    row_write_bytes(&w, 0, bytes_of_str(k));
    if (n < 0)
        row_write_null(&w, 1);
    else
        row_write_int(&w, 1, n);
    buf_clear(&key);
    buf_append_u8(&key, 17);
    buf_append_be32(&key, (uint32_t)row.len);
    buf_append(&key, row.data, row.len);
    buf_append_u8(&key, 0); /* VOID */
    buf_release(&row);
}
#define KEY_TYPE "ROW<`k` STRING, `n` INT>"

/* A row of BIGINTs behind its size; bit i of nulls: field i is null. */
static void put_totals(const int64_t *fields, uint32_t count, uint32_t nulls)
{
    enum field_kind kinds[16];
    struct row_layout l;
    uint8_t row[16 * 16] __attribute__((aligned(8)));

    for (uint32_t i = 0; i < count; i++)
        kinds[i] = FIELD_I64;
    row_layout_init(&l, kinds, count);
    binary_row_init(&l, row);
    for (uint32_t i = 0; i < count; i++)
        if ((nulls >> i & 1) == 0)
            binary_row_set_int(&l, row, i, fields[i]);
    buf_append_be32(&value, row_layout_size(&l));
    buf_append(&value, row, row_layout_size(&l));
}

START_TEST(totals_are_shown_as_what_they_mean)
{
    const struct state_desc d = {
        .name = "accState", .kind = STATE_VALUE, .key_type = KEY_TYPE, .namespace_type = "VOID",
        .user_key_type = "",
        .value_type = "ROW<`COUNT(*)` BIGINT, `SUM(n)$low` BIGINT, `SUM(n)$high` BIGINT, `SUM(n)$count` BIGINT, "
                      "`MIN(d)$DATE` BIGINT, `MAX(p)$DECIMAL(10, 2)$low` BIGINT, `MAX(p)$DECIMAL(10, 2)$high` BIGINT, "
                      "`SUM(p)$DECIMAL(10, 2)$low` BIGINT, `SUM(p)$DECIMAL(10, 2)$high` BIGINT, "
                      "`SUM(p)$DECIMAL(10, 2)$count` BIGINT, `MIN(b)$BOOLEAN` BIGINT, `$rows` BIGINT>"};
    const int64_t fields[] = {3, -5, -1, 2, 20000, 1234, 0, 7, 1, 4, 1, 9};

    put_key("a", 5);
    put_totals(fields, 12, 0);
    make_view(&d);
    ck_assert_str_eq(shown(), "key_group=17, k=a, n=5, COUNT(*)=3, SUM(n)$sum=-5, SUM(n)$count=2, MIN(d)=2024-10-04, "
                              "MAX(p)=12.34, SUM(p)$sum=184467440737095516.23, SUM(p)$count=4, MIN(b)=true, $rows=9");
    buf_clear(&value);
    put_totals(fields, 12, 1u << 4 | 1u << 5 | 1u << 6);
    put_key("", -1);
    ck_assert_str_eq(shown(), "key_group=17, k=, n=null, COUNT(*)=3, SUM(n)$sum=-5, SUM(n)$count=2, MIN(d)=null, "
                              "MAX(p)=null, SUM(p)$sum=184467440737095516.23, SUM(p)$count=4, MIN(b)=true, $rows=9");
}
END_TEST

START_TEST(a_window_and_a_last_access_are_times)
{
    const struct state_desc d = {.name = "w", .kind = STATE_VALUE, .key_type = KEY_TYPE, .namespace_type = "BIGINT",
                                 .user_key_type = "", .value_type = "ROW<`c` BIGINT>", .ttl_ms = 1000};
    const int64_t one = 1;

    put_key("a", 5);
    key.len--;
    buf_append_be64(&key, 3600000);
    buf_append_be64(&value, 1500);
    put_totals(&one, 1, 0);
    make_view(&d);
    ck_assert_str_eq(shown(), "key_group=17, k=a, n=5, window_end=1970-01-01 01:00:00.000, c=1, "
                              "last_access=1970-01-01 00:00:01.500Z");
}
END_TEST

/* Map keys and values as Flink's serializers write them. */
static const struct {
    const char *type;
    uint8_t bytes[24];
    size_t len;
    const char *text;
} serialized[] = {
    {"BOOLEAN", {1}, 1, "true"},
    {"TINYINT", {0xFF}, 1, "-1"},
    {"SMALLINT", {0xFF, 0xFE}, 2, "-2"},
    {"INT", {0, 0, 1, 0}, 4, "256"},
    {"BIGINT", {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFD}, 8, "-3"},
    {"FLOAT", {0x3F, 0xC0, 0, 0}, 4, "1.5"},
    {"DOUBLE", {0xC0, 0, 0, 0, 0, 0, 0, 0}, 8, "-2.0"},
    {"DATE", {0, 0, 0, 1}, 4, "1970-01-02"},
    {"TIMESTAMP(3)", {0, 0, 0, 0, 0, 0, 3, 0xE9}, 8, "1970-01-01 00:00:01.001"},
    {"TIMESTAMP(6)", {0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0x0B, 0xB8}, 12, "1970-01-01 00:00:00.002003"},
    {"DECIMAL(10, 2)", {0, 0, 0, 0, 0, 0, 0, 5}, 8, "0.05"},
    {"DECIMAL(20, 1)", {0, 0, 0, 2, 0xFE, 0xD4}, 6, "-30.0"},
    {"STRING", {0, 0, 0, 2, 'h', 'i'}, 6, "hi"},
    {"STRING", {0, 0, 0, 2, 'h', 0xFF}, 6, "h\xEF\xBF\xBD"},
    {"POJO", {0, 1, 0xAB}, 3, "0x0001ab"},
};

static const struct state_desc map = {.name = "m", .kind = STATE_MAP, .key_type = KEY_TYPE, .namespace_type = "VOID"};

START_TEST(a_map_key_and_a_map_value_are_of_their_types)
{
    struct state_desc d = map;
    struct buf want = {0};

    d.user_key_type = d.value_type = serialized[_i].type;
    put_key("a", 5);
    buf_append(&key, serialized[_i].bytes, serialized[_i].len);
    buf_append_u8(&value, 0);
    buf_append(&value, serialized[_i].bytes, serialized[_i].len);
    make_view(&d);
    buf_printf(&want, "key_group=17, k=a, n=5, map_key=%s, value=%s", serialized[_i].text, serialized[_i].text);
    ck_assert_str_eq(shown(), buf_cstr(&want));
    buf_release(&want);
    if (strcmp(serialized[_i].type, "POJO") == 0)
        return;
    value.len--; /* cut */
    ck_assert_str_eq(shown(), "!corrupt");
    value.len++;
    buf_append_u8(&value, 0); /* and too long */
    ck_assert_str_eq(shown(), "!corrupt");
}
END_TEST

START_TEST(a_null_in_a_map_is_null_and_keeps_its_time)
{
    struct state_desc d = map;

    d.user_key_type = "TINYINT";
    d.value_type = "BIGINT";
    d.ttl_ms = 5;
    put_key("a", 5);
    buf_append_u8(&key, 9);
    buf_append_u8(&value, 1);
    buf_append_be64(&value, 1000);
    buf_append_be64(&value, 0);
    make_view(&d);
    ck_assert_str_eq(shown(), "key_group=17, k=a, n=5, map_key=9, value=null, last_access=1970-01-01 00:00:01.000Z");
    value.data[0] = 2;
    ck_assert_str_eq(shown(), "!corrupt");
}
END_TEST

START_TEST(a_timer_has_its_time)
{
    const struct state_desc d = {.name = "t", .kind = STATE_TIMER, .key_type = KEY_TYPE, .namespace_type = "VOID",
                                 .user_key_type = "", .value_type = ""};
    struct buf plain = {0};
    uint8_t time[8];

    put_key("a", 5);
    buf_append(&plain, key.data, key.len);
    key_put_sortable(time, 2000);
    buf_clear(&key);
    buf_append_u8(&key, 17);
    buf_append(&key, time, 8);
    buf_append(&key, plain.data + 1, plain.len - 1);
    make_view(&d);
    ck_assert_str_eq(shown(), "key_group=17, k=a, n=5, timer=1970-01-01 00:00:02.000Z");
    key.len = 8;
    ck_assert_str_eq(shown(), "!corrupt");
    buf_release(&plain);
}
END_TEST

START_TEST(elements_of_a_list_stand_in_brackets)
{
    struct state_desc d = {.name = "l", .kind = STATE_LIST, .key_type = KEY_TYPE, .namespace_type = "VOID",
                           .user_key_type = "", .value_type = "BIGINT", .fixed_value_bytes = 8};

    put_key("a", 5);
    buf_append_be64(&value, 7);
    buf_append_u8(&value, ',');
    buf_append_be64(&value, 8);
    make_view(&d);
    ck_assert_str_eq(shown(), "key_group=17, k=a, n=5, elements=[7, 8]");
    value.len--;
    ck_assert_str_eq(shown(), "!corrupt");
    buf_clear(&value);
    ck_assert_str_eq(shown(), "key_group=17, k=a, n=5, elements=[]");

    d.value_type = "ROW<`x` BIGINT, `y` BIGINT>";
    d.fixed_value_bytes = 0;
    d.ttl_ms = 10;
    buf_append_be64(&value, 77);
    put_totals((const int64_t[]){1, 2}, 2, 0);
    make_view(&d);
    ck_assert_str_eq(shown(), "key_group=17, k=a, n=5, elements=[(1, 2)@77]");

    d.value_type = "Pojo";
    d.ttl_ms = 0;
    buf_clear(&value);
    buf_append(&value, "\0\0\0\2\1\2,\0\0\0\0", 11);
    make_view(&d);
    ck_assert_str_eq(shown(), "key_group=17, k=a, n=5, elements=[0x0102, 0x]");
}
END_TEST

START_TEST(what_has_no_sql_type_is_hex)
{
    const struct state_desc d = {.name = "o", .kind = STATE_VALUE, .key_type = "LONG", .namespace_type = "BYTES",
                                 .user_key_type = "", .value_type = "ROW<`a` POJO>"};
    struct key_builder b;
    struct key_batch keys;
    struct err err = {0};

    key_builder_init(&b, 128, KEY_NS_BYTES);
    ck_assert_ok(key_builder_add_ns(&b, 3, bytes_of_str("id"), bytes_of_str("ns"), (struct bytes){0}, &err));
    keys = key_builder_batch(&b);
    buf_append(&key, keys.data, keys.offsets[1]);
    key_builder_release(&b);
    buf_append(&value, "\x0a\xff", 2);
    make_view(&d);
    ck_assert_str_eq(shown(), "key_group=3, key=0x6964, namespace=0x6e73, value=0x0aff");
}
END_TEST

START_TEST(columns_of_one_name_are_told_apart)
{
    const struct state_desc d = {.name = "o", .kind = STATE_VALUE, .key_type = "ROW<`key_group` STRING, `c` INT>",
                                 .namespace_type = "VOID", .user_key_type = "", .value_type = "ROW<`c` BIGINT, `c` BIGINT>"};

    put_key("a", 5);
    put_totals((const int64_t[]){1, 2}, 2, 0);
    make_view(&d);
    ck_assert_str_eq(shown(), "key_group=17, key_group_2=a, c=5, c_2=1, c_3=2");
}
END_TEST

/* Cut at every length, and with bytes behind: nothing but RC_CORRUPT, and no row. */
START_TEST(keys_and_values_that_do_not_fit_are_corrupt)
{
    const struct state_desc d = {.name = "a", .kind = STATE_VALUE, .key_type = KEY_TYPE, .namespace_type = "VOID",
                                 .user_key_type = "", .value_type = "ROW<`c` BIGINT>"};
    size_t whole;

    put_key("a long text that has to lie behind the row", 5);
    put_totals((const int64_t[]){1}, 1, 0);
    make_view(&d);
    ck_assert_str_eq(shown(), "key_group=17, k=a long text that has to lie behind the row, n=5, c=1");
    for (whole = key.len; key.len-- > 0;)
        ck_assert_str_eq(shown(), "!corrupt");
    key.len = whole;
    for (whole = value.len; value.len-- > 0;)
        ck_assert_str_eq(shown(), "!corrupt");
    value.len = whole;
    buf_append_u8(&value, 0);
    ck_assert_str_eq(shown(), "!corrupt");
    value.len--;
    buf_append_u8(&key, 0);
    ck_assert_str_eq(shown(), "!corrupt");
    key.len--;
    key.data[0] = 200; /* of 128 key groups */
    ck_assert_str_eq(shown(), "!corrupt");
}
END_TEST

START_TEST(sizes_come_in_place_of_values)
{
    struct state_desc d = map;
    struct batch_builder *b;
    const struct schema *s;
    struct err err = {0};

    d.user_key_type = d.value_type = "INT";
    put_key("a", 5);
    ck_assert_ok(state_view_new(&d, 128, true, &view, &err));
    s = state_view_schema(view);
    ck_assert_uint_eq(s->field_count, 5);
    ck_assert_str_eq(s->fields[3].name, "entries");
    b = batch_builder_new(s);
    ck_assert_ok(state_view_append_size(view, buf_bytes(&key), 12, 345, b, &err));
    ck_assert_int_eq(column_int(&batch_builder_view(b)->columns[3], 0), 12);
    ck_assert_int_eq(column_int(&batch_builder_view(b)->columns[4], 0), 345);
    batch_builder_free(b);
}
END_TEST

/* ---- keys as text ---------------------------------------------------------------------------- */

/* The text of a key gives the bytes that put_key makes, but for the group, which is computed. */
START_TEST(the_text_of_a_key_gives_its_bytes)
{
    const struct state_desc d = {.name = "a", .kind = STATE_VALUE, .key_type = KEY_TYPE, .namespace_type = "VOID",
                                 .user_key_type = "", .value_type = "ROW<`c` BIGINT>"};
    static const struct {
        const char *text, *k;
        int64_t n;
    } cases[] = {{"[\"a\", 5]", "a", 5}, {"[\"a\",\"5\"]", "a", 5}, {"[\"\", null]", "", -1}};
    struct err err = {0};
    bool whole;

    make_view(&d);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf got = {0};

        put_key(cases[i].k, cases[i].n);
        ck_assert_ok(state_view_key(view, cases[i].text, &got, &whole, &err));
        ck_assert(whole);
        ck_assert_uint_eq(got.data[0], key_group_of_row(bytes_of(got.data + 5, got.len - 6), 128));
        ck_assert_bytes_eq(bytes_of(got.data + 1, got.len - 1), bytes_of(key.data + 1, key.len - 1));
        buf_release(&got);
    }
}
END_TEST

START_TEST(of_a_key_of_one_column_the_text_is_the_value)
{
    struct state_desc d = map;
    struct err err = {0};
    struct buf got = {0}, array = {0};
    bool whole;

    d.key_type = "ROW<`k` STRING>";
    d.user_key_type = d.value_type = "INT";
    make_view(&d);
    ck_assert_ok(state_view_key(view, "[a", &got, &whole, &err));
    ck_assert(!whole);                                      /* all entries of the map */
    ck_assert_uint_eq(got.len, 1 + 4 + 16 + 1);             /* its namespace is part of it */
    ck_assert_ok(state_view_key(view, "[\"[a\"]", &array, &whole, &err));
    ck_assert_bytes_eq(buf_bytes(&got), buf_bytes(&array));
    buf_release(&got);
    buf_release(&array);
}
END_TEST

START_TEST(a_text_that_is_no_key_is_refused)
{
    const struct state_desc d = {.name = "a", .kind = STATE_VALUE, .key_type = KEY_TYPE, .namespace_type = "VOID",
                                 .user_key_type = "", .value_type = ""};
    struct state_desc opaque = d, timers = d;
    struct err err = {0};
    struct buf got = {0};
    bool whole;

    make_view(&d);
    ck_assert_rc_msg(state_view_key(view, "a", &got, &whole, &err), RC_INVALID, "2 columns");
    ck_assert_rc_msg(state_view_key(view, "[\"a\"]", &got, &whole, &err), RC_INVALID, "2 columns");
    ck_assert_rc_msg(state_view_key(view, "[\"a\", \"x\"]", &got, &whole, &err), RC_INVALID, "n: not a number");
    ck_assert_rc_msg(state_view_key(view, "[\"a\", 3000000000]", &got, &whole, &err), RC_INVALID, "out of range");
    opaque.key_type = "LONG";
    make_view(&opaque);
    ck_assert_rc_msg(state_view_key(view, "5", &got, &whole, &err), RC_UNSUPPORTED, "LONG");
    timers.kind = STATE_TIMER;
    make_view(&timers);
    ck_assert_rc_msg(state_view_key(view, "[\"a\", 5]", &got, &whole, &err), RC_UNSUPPORTED, "timers");
    ck_assert_uint_eq(got.len, 0);
}
END_TEST

TEST_MAIN("state_view", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_test(tc, totals_are_shown_as_what_they_mean); tcase_add_test(tc, a_window_and_a_last_access_are_times);
          tcase_add_loop_test(tc, a_map_key_and_a_map_value_are_of_their_types, 0, ARRAY_LEN(serialized));
          tcase_add_test(tc, a_null_in_a_map_is_null_and_keeps_its_time); tcase_add_test(tc, a_timer_has_its_time);
          tcase_add_test(tc, elements_of_a_list_stand_in_brackets); tcase_add_test(tc, what_has_no_sql_type_is_hex);
          tcase_add_test(tc, columns_of_one_name_are_told_apart);
          tcase_add_test(tc, keys_and_values_that_do_not_fit_are_corrupt); tcase_add_test(tc, sizes_come_in_place_of_values);
          tcase_add_test(tc, the_text_of_a_key_gives_its_bytes); tcase_add_test(tc, of_a_key_of_one_column_the_text_is_the_value);
          tcase_add_test(tc, a_text_that_is_no_key_is_refused);)
