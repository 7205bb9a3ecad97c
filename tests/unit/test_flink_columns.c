/* Keys that Flink wrote, from a text and to columns. Bytes and key groups: Flink 2.3. */
#include "job/flink_columns.h"

#include "tests/lib/check_ext.h"
#include "tests/lib/flink_bytes.h"

static struct arena *arena;

static void setup(void)
{
    arena = arena_new(0);
}

static void teardown(void)
{
    arena_free(arena);
}

static void put_string(struct buf *b) { flink_simple(b, "String"); }
static void put_int(struct buf *b) { flink_simple(b, "Int"); }
static void put_byte(struct buf *b) { flink_simple(b, "Byte"); }
static void put_long(struct buf *b) { flink_simple(b, "Long"); }
static void put_double(struct buf *b) { flink_simple(b, "Double"); }
static void put_list(struct buf *b)
{
    flink_composite(b, FLINK_BASE "ListSerializerSnapshot", 1);
    flink_nested(b, 1);
    put_int(b);
}
static void put_tuple(struct buf *b)
{
    flink_composite(b, FLINK_RUNTIME "TupleSerializerSnapshot", 2);
    flink_utf(b, "org.apache.flink.api.java.tuple.Tuple2");
    flink_nested(b, 2);
    put_int(b);
    put_string(b);
}
static void put_pojo(struct buf *b)
{
    struct buf serializer = {0};

    flink_class(b, FLINK_RUNTIME "PojoSerializerSnapshot", 2);
    flink_utf(b, "org.example.Key");
    flink_map_header(b, 1);
    put_int(&serializer);
    flink_pojo_field(b, "n", buf_bytes(&serializer));
    flink_map_header(b, 0);
    flink_map_header(b, 0);
    buf_release(&serializer);
}
static void put_text_column(struct buf *b)
{
    flink_class(b, FLINK_TABLE "StringDataSerializer$StringDataSerializerSnapshot", 3);
}
static void put_row_of(struct buf *b, uint32_t fields)
{
    flink_class(b, FLINK_TABLE "RowDataSerializer$RowDataSerializerSnapshot", 3);
    buf_append_be32(b, fields);
    for (uint32_t i = 0; i < fields; i++) {
        buf_append_be32(b, 0xACED0005u);
        buf_append_u8(b, 0x70);
    }
    flink_nested(b, fields);
}
static void put_row(struct buf *b)
{
    put_row_of(b, 2);
    put_int(b);
    put_text_column(b);
}
static void put_narrow_row(struct buf *b)
{
    put_row_of(b, 1);
    put_text_column(b);
}

static const struct flink_serializer *serializer_of(void (*put)(struct buf *))
{
    const struct flink_serializer *s;
    struct buf b = {0};
    struct err err = {0};
    struct reader r;

    put(&b);
    reader_init(&r, arena_bytes_copy(arena, buf_bytes(&b)), "snapshot");
    ck_assert_ok(flink_serializer_read(&r, arena, &s, &err));
    buf_release(&b);
    return s;
}

static const struct {
    void (*put)(struct buf *);
    const char *text, *hex;
    int group; /* of 128; -1: only the class knows */
} keys[] = {
    {put_string, "key-0", "066b65792d30", 31},
    {put_string, "[1]", "045b315d", 115},
    {put_long, "-500000", "fffffffffff85ee0", 73},
    {put_double, "1.5", "3ff8000000000000", 65},
    {put_tuple, "[3, \"z0\"]", "00000003037a30", 1},
    {put_pojo, "[7]", "020000000007", -1},
    {put_pojo, "[null]", "0201", -1},
    {put_row, "[9, \"x\"]", "0000001800000000000000000900000000000000" "7800000000000081", 12},
    {put_narrow_row, "x", "0000001000000000000000007800000000000081", -2},
    {put_narrow_row, "[\"x\"]", "0000001000000000000000007800000000000081", -2},
};

START_TEST(text_becomes_the_bytes_that_flink_wrote)
{
    const struct flink_serializer *s = serializer_of(keys[_i].put);
    struct buf out = {0}, hex = {0};
    struct err err = {0};
    uint32_t group;
    bool known;

    ck_assert_ok(flink_key_of_text(s, keys[_i].text, 128, &out, &group, &known, &err));
    for (size_t i = 0; i < out.len; i++)
        buf_printf(&hex, "%02x", out.data[i]);
    ck_assert_str_eq(buf_cstr(&hex), keys[_i].hex);
    ck_assert(known == (keys[_i].group != -1));
    if (keys[_i].group >= 0)
        ck_assert_uint_eq(group, keys[_i].group);
    buf_release(&out);
    buf_release(&hex);
}
END_TEST

static const struct {
    void (*put)(struct buf *);
    const char *text;
    enum rc rc;
} wrong[] = {
    {put_long, "x", RC_INVALID},           {put_long, "1.5", RC_INVALID},
    {put_long, "1, 2", RC_INVALID},        {put_long, "", RC_INVALID},
    {put_long, "\"1\"", RC_INVALID},       {put_long, "9223372036854775808", RC_INVALID},
    {put_byte, "128", RC_INVALID},         {put_byte, "-129", RC_INVALID},
    {put_tuple, "[3]", RC_INVALID},        {put_tuple, "[3, 4]", RC_INVALID},
    {put_tuple, "[3, null]", RC_INVALID},  {put_tuple, "{\"f0\": 3}", RC_INVALID},
    {put_row, "[9]", RC_INVALID},          {put_row, "[\"x\", 9]", RC_INVALID},
    {put_list, "[1]", RC_UNSUPPORTED},     {put_string, "\xff", RC_INVALID},
};

START_TEST(what_is_no_key_is_refused)
{
    struct buf out = {0};
    struct err err = {0};
    uint32_t group;
    bool known;

    ck_assert_rc_msg(flink_key_of_text(serializer_of(wrong[_i].put), wrong[_i].text, 128, &out, &group, &known, &err), wrong[_i].rc, "--key");
    buf_release(&out);
}
END_TEST

/* ---- columns --------------------------------------------------------------------------------- */

static void row_text(const struct batch_builder *b, uint32_t columns, struct buf *out)
{
    struct batch *view = batch_builder_view((struct batch_builder *)(uintptr_t)b);

    buf_clear(out);
    for (uint32_t i = 0; i < columns; i++) {
        if (i > 0)
            buf_append_str(out, "|");
        column_print(&view->columns[i], view->rows - 1, out);
    }
}

static struct bytes of_hex(const char *hex)
{
    size_t len = strlen(hex) / 2;
    uint8_t *out = arena_alloc(arena, len + 1);

    for (size_t i = 0; i < len; i++) {
        char two[3] = {hex[2 * i], hex[2 * i + 1], '\0'};

        out[i] = (uint8_t)strtoul(two, NULL, 16);
    }
    return bytes_of(out, len);
}

static void put_window(struct buf *b)
{
    flink_class(b, "org.apache.flink.streaming.api.windowing.windows.TimeWindow$Serializer$TimeWindowSerializerSnapshot", 3);
}
static void put_kryo(struct buf *b)
{
    flink_class(b, FLINK_RUNTIME "kryo.KryoSerializerSnapshot", 2);
    flink_utf(b, "org.example.Thing");
    for (int i = 0; i < 3; i++)
        flink_map_header(b, 0);
}

/* Columns of a state and one of its entries, by their names and as they are printed. */
static void check_entry(const struct flink_state *state, void (*key)(struct buf *), const char *key_hex, const char *value_hex,
                        const char *names, const char *cells)
{
    struct flink_source_state s = {.state = state, .key = serializer_of(key)};
    struct flink_columns *c = flink_columns_new(&s, 128, false);
    const struct schema *schema = flink_columns_schema(c);
    struct batch_builder *b = batch_builder_new(schema);
    struct buf text = {0};
    struct err err = {0};

    for (uint32_t i = 0; i < schema->field_count; i++)
        buf_printf(&text, "%s%s", i == 0 ? "" : "|", schema->fields[i].name);
    ck_assert_str_eq(buf_cstr(&text), names);
    ck_assert_ok(flink_columns_append(c, of_hex(key_hex), of_hex(value_hex), b, &err));
    row_text(b, schema->field_count, &text);
    ck_assert_str_eq(buf_cstr(&text), cells);
    /* A byte more is no such entry, and appends nothing. */
    if (flink_serializer_is_known(state->value)) {
        char longer[200];

        snprintf(longer, sizeof longer, "%s00", value_hex);
        ck_assert_rc(flink_columns_append(c, of_hex(key_hex), of_hex(longer), b, &err), RC_CORRUPT);
        ck_assert_uint_eq(batch_builder_rows(b), 1);
    }
    batch_builder_free(b);
    flink_columns_free(c);
    buf_release(&text);
}

START_TEST(entry_is_shown_by_its_serializers)
{
    struct flink_state s = {.name = bytes_of_str("s"), .type = FLINK_TYPE_VALUE};

    s.namespace = serializer_of(put_window);
    s.value = serializer_of(put_int);
    check_entry(&s, put_tuple, "01" "00000003037a30" "00000000000927c0" "0000000000124f80", "00000009",
                "key_group|key.f0|key.f1|window_start|window_end|value",
                "1|3|z0|1970-01-01 00:10:00.000|1970-01-01 00:20:00.000|9");
    s.namespace = serializer_of(put_string);
    check_entry(&s, put_string, "01" "0278" "02" "0279" "02", "00000009", "key_group|key|namespace|value", "1|x|y|9");
    s.type = FLINK_TYPE_MAP;
    s.user_key = serializer_of(put_tuple);
    s.user_value = s.value;
    check_entry(&s, put_string, "01" "0278" "02" "0279" "02" "00000003037a30", "0000000009",
                "key_group|key|namespace|map_key.f0|map_key.f1|value", "1|x|y|3|z0|9");
    s.type = FLINK_TYPE_LIST;
    s.element = serializer_of(put_int);
    check_entry(&s, put_string, "01" "0278" "02" "0279" "02", "0000000a" "2c" "0000002c", "key_group|key|namespace|value", "1|x|y|[10,44]");
}
END_TEST

START_TEST(opaque_values_and_keys_are_shown_as_bytes)
{
    struct flink_state s = {.name = bytes_of_str("s"), .type = FLINK_TYPE_VALUE};

    s.namespace = serializer_of(put_int);
    s.value = serializer_of(put_kryo);
    check_entry(&s, put_string, "01" "0278" "00000007", "010203", "key_group|key|namespace|value", "1|x|7|0x010203");
    check_entry(&s, put_kryo, "01" "0278" "00000007", "010203", "key_group|key|namespace|value|rest", "1|0x027800000007|null|0x010203|null");
}
END_TEST

TEST_MAIN("flink_columns", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_loop_test(tc, text_becomes_the_bytes_that_flink_wrote, 0, (int)ARRAY_LEN(keys));
          tcase_add_loop_test(tc, what_is_no_key_is_refused, 0, (int)ARRAY_LEN(wrong));
          tcase_add_test(tc, entry_is_shown_by_its_serializers); tcase_add_test(tc, opaque_values_and_keys_are_shown_as_bytes))
