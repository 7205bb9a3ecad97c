/* links: checkpoint */
/* Serializers and values as Flink writes them: each kind of them is read to what it means, cut at
 * every length it is refused, and what is unknown stays opaque without hiding the rest. */
#include "checkpoint/flink/flink_hash.h"
#include "checkpoint/flink/flink_value.h"
#include "tests/lib/check_ext.h"
#include "tests/lib/flink_bytes.h"

#include "backend/keygroup.h"

static struct arena *arena;

static void setup(void)
{
    arena = arena_new(0);
}

static void teardown(void)
{
    arena_free(arena);
}

/* ---- snapshots ------------------------------------------------------------------------------- */

static void put_byte(struct buf *b) { flink_simple(b, "Byte"); }
static void put_short(struct buf *b) { flink_simple(b, "Short"); }
static void put_int(struct buf *b) { flink_simple(b, "Int"); }
static void put_long(struct buf *b) { flink_simple(b, "Long"); }
static void put_long_value(struct buf *b) { flink_simple(b, "LongValue"); }
static void put_boolean_value(struct buf *b) { flink_simple(b, "BooleanValue"); }
static void put_double_value(struct buf *b) { flink_simple(b, "DoubleValue"); }
static void put_float_value(struct buf *b) { flink_simple(b, "FloatValue"); }
static void put_string_value(struct buf *b) { flink_simple(b, "StringValue"); }
static void put_float(struct buf *b) { flink_simple(b, "Float"); }
static void put_double(struct buf *b) { flink_simple(b, "Double"); }
static void put_boolean(struct buf *b) { flink_simple(b, "Boolean"); }
static void put_char(struct buf *b) { flink_simple(b, "Char"); }
static void put_string(struct buf *b) { flink_simple(b, "String"); }
static void put_big_int(struct buf *b) { flink_simple(b, "BigInt"); }
static void put_big_dec(struct buf *b) { flink_simple(b, "BigDec"); }
static void put_date(struct buf *b) { flink_simple(b, "SqlDate"); }
static void put_time(struct buf *b) { flink_simple(b, "SqlTime"); }
static void put_timestamp(struct buf *b) { flink_simple(b, "SqlTimestamp"); }
static void put_instant(struct buf *b) { flink_simple(b, "Instant"); }
static void put_local_date(struct buf *b) { flink_simple(b, "LocalDate"); }
static void put_local_date_time(struct buf *b) { flink_simple(b, "LocalDateTime"); }
static void put_old_long(struct buf *b) /* version 2 has a name behind it */
{
    flink_class(b, FLINK_BASE "LongSerializer$LongSerializerSnapshot", 2);
    flink_utf(b, "old name");
}
static void put_bytes(struct buf *b)
{
    flink_class(b, FLINK_BASE "array.BytePrimitiveArraySerializer$BytePrimitiveArraySerializerSnapshot", 3);
}
static void put_ints(struct buf *b)
{
    flink_class(b, FLINK_BASE "array.IntPrimitiveArraySerializer$IntPrimitiveArraySerializerSnapshot", 3);
}
static void put_list(struct buf *b)
{
    flink_composite(b, FLINK_BASE "ListSerializerSnapshot", 1);
    flink_nested(b, 1);
    put_string(b);
}
static void put_old_list(struct buf *b) /* without a magic number of its own */
{
    flink_class(b, FLINK_BASE "ListSerializerSnapshot", 1);
    flink_nested(b, 1);
    put_string(b);
}
static void put_set(struct buf *b)
{
    flink_composite(b, FLINK_BASE "SetSerializerSnapshot", 1);
    flink_nested(b, 1);
    put_int(b);
}
static void put_map(struct buf *b)
{
    flink_composite(b, FLINK_BASE "MapSerializerSnapshot", 1);
    flink_nested(b, 2);
    put_int(b);
    put_string(b);
}
static void put_tuple(struct buf *b)
{
    flink_composite(b, FLINK_RUNTIME "TupleSerializerSnapshot", 2);
    flink_utf(b, "org.apache.flink.api.java.tuple.Tuple2");
    flink_nested(b, 2);
    put_int(b);
    put_string(b);
}
static void put_own_tuple(struct buf *b)
{
    flink_composite(b, FLINK_RUNTIME "TupleSerializerSnapshot", 2);
    flink_utf(b, "org.example.OrderKey");
    flink_nested(b, 2);
    put_int(b);
    put_string(b);
}
static void put_row(struct buf *b)
{
    flink_composite(b, FLINK_RUNTIME "RowSerializer$RowSerializerSnapshot", 4);
    buf_append_u8(b, 1);
    flink_nested(b, 2);
    put_int(b);
    put_string(b);
}
static void put_nullable(struct buf *b)
{
    flink_composite(b, FLINK_RUNTIME "NullableSerializer$NullableSerializerSnapshot", 2);
    buf_append_be32(b, 4);
    flink_nested(b, 1);
    put_int(b);
}
static void put_either(struct buf *b)
{
    flink_composite(b, FLINK_RUNTIME "JavaEitherSerializerSnapshot", 1);
    flink_nested(b, 2);
    put_int(b);
    put_string(b);
}
static void put_array(struct buf *b)
{
    flink_composite(b, FLINK_BASE "GenericArraySerializerSnapshot", 1);
    flink_utf(b, "java.lang.Integer");
    flink_nested(b, 1);
    put_int(b);
}
static void put_linked_list(struct buf *b)
{
    flink_composite(b, FLINK_TABLE "LinkedListSerializer$LinkedListSerializerSnapshot", 3);
    buf_append_u8(b, 1);
    flink_nested(b, 1);
    put_int(b);
}
static void put_enum(struct buf *b)
{
    flink_class(b, FLINK_BASE "EnumSerializer$EnumSerializerSnapshot", 3);
    flink_utf(b, "org.example.Colour");
    buf_append_be32(b, 2);
    flink_utf(b, "RED");
    flink_utf(b, "GREEN");
}
static void put_kryo(struct buf *b)
{
    flink_class(b, FLINK_RUNTIME "kryo.KryoSerializerSnapshot", 2);
    flink_utf(b, "org.example.Thing");
    for (int i = 0; i < 3; i++)
        flink_map_header(b, 0);
}
static void put_unknown(struct buf *b) { flink_class(b, "org.example.OwnSerializer$Snapshot", 1); }
static void put_unknown_composite(struct buf *b)
{
    flink_composite(b, "org.example.PairSerializerSnapshot", 1);
    flink_nested(b, 1);
    put_int(b);
}
static void put_pojo_of(struct buf *b, void (*second)(struct buf *))
{
    struct buf serializer = {0};

    flink_class(b, FLINK_RUNTIME "PojoSerializerSnapshot", 2);
    flink_utf(b, "org.example.Order");
    flink_map_header(b, 2);
    put_int(&serializer);
    flink_pojo_field(b, "a", buf_bytes(&serializer));
    buf_clear(&serializer);
    second(&serializer);
    flink_pojo_field(b, "b", buf_bytes(&serializer));
    flink_map_header(b, 0);
    flink_map_header(b, 0);
    buf_release(&serializer);
}
static void put_pojo(struct buf *b) { put_pojo_of(b, put_string); }
static void put_foreign_body(struct buf *b) /* unknown, with a body that nobody can read */
{
    put_unknown(b);
    buf_append_str(b, "\1\2\3");
}
static void put_opaque_pojo(struct buf *b) { put_pojo_of(b, put_foreign_body); }
static void put_ttl(struct buf *b)
{
    flink_composite(b, "org.apache.flink.runtime.state.ttl.TtlStateFactory$TtlSerializerSnapshot", 2);
    flink_nested(b, 2);
    put_long(b);
    put_string(b);
}
static void put_ttl_aware(struct buf *b)
{
    flink_class(b, "org.apache.flink.runtime.state.ttl.TtlAwareSerializerSnapshot", 1);
    buf_append_u8(b, 0);
    put_int(b);
}
static void put_timer(struct buf *b)
{
    flink_composite(b, "org.apache.flink.streaming.api.operators.TimerSerializerSnapshot", 2);
    flink_nested(b, 2);
    put_string(b);
    flink_class(b, "org.apache.flink.streaming.api.windowing.windows.TimeWindow$Serializer$TimeWindowSerializerSnapshot", 3);
}
static void put_void_namespace(struct buf *b)
{
    flink_class(b, "org.apache.flink.runtime.state.VoidNamespaceSerializer$VoidNamespaceSerializerSnapshot", 3);
}
static void put_string_data(struct buf *b)
{
    flink_class(b, FLINK_TABLE "StringDataSerializer$StringDataSerializerSnapshot", 3);
}
static void put_decimal_data(struct buf *b)
{
    flink_class(b, FLINK_TABLE "DecimalDataSerializer$DecimalSerializerSnapshot", 3);
    buf_append_be32(b, 10);
    buf_append_be32(b, 2);
}
static void put_timestamp_data(struct buf *b)
{
    flink_class(b, FLINK_TABLE "TimestampDataSerializer$TimestampDataSerializerSnapshot", 1);
    buf_append_be32(b, 6);
}
static void put_row_data(struct buf *b) /* (INT, STRING, TIMESTAMP(6)); their logical types: nulls */
{
    flink_class(b, FLINK_TABLE "RowDataSerializer$RowDataSerializerSnapshot", 3);
    buf_append_be32(b, 3);
    for (int i = 0; i < 3; i++) {
        buf_append_be32(b, 0xACED0005u);
        buf_append_u8(b, 0x70);
    }
    flink_nested(b, 3);
    put_int(b);
    put_string_data(b);
    put_timestamp_data(b);
}

static const struct {
    const char *printed;
    void (*put)(struct buf *b);
    int32_t length;
    const char *hex, *json; /* of a value */
} cases[] = {
    {"ByteSerializer", put_byte, 1, "80", "-128"},
    {"ShortSerializer", put_short, 2, "fffe", "-2"},
    {"IntSerializer", put_int, 4, "00018b11", "101137"},
    {"LongSerializer", put_long, 8, "8000000000000000", "-9223372036854775808"},
    {"LongSerializer", put_old_long, 8, "0000000000000007", "7"},
    {"FloatSerializer", put_float, 4, "3dcccccd", "0.1"},
    {"DoubleSerializer", put_double, 8, "7ff0000000000000", "\"Infinity\""},
    {"DoubleSerializer", put_double, 8, "3ff8000000000000", "1.5"},
    {"BooleanSerializer", put_boolean, 1, "01", "true"},
    {"CharSerializer", put_char, 2, "20ac", "\"\xe2\x82\xac\""},
    {"StringSerializer", put_string, -1, "066b65793337", "\"key37\""},
    {"StringSerializer", put_string, -1, "00", "null"},
    {"StringSerializer", put_string, -1, "01", "\"\""},
    /* a NUL, the euro, a face in two units */
    {"StringSerializer", put_string, -1, "0500ac41bdb00380bc03", "\"\\u0000\xe2\x82\xac\xf0\x9f\x98\x80\""},
    {"StringSerializer", put_string, -1, "02bdb003", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
    {"BigIntSerializer", put_big_int, -1, "00000000", "null"},
    {"BigIntSerializer", put_big_int, -1, "00000003", "10"},
    {"BigIntSerializer", put_big_int, -1, "0000000580", "-128"},
    {"BigIntSerializer", put_big_int, -1, "0000000d0de0b6b3a764000000", "256000000000000000000"},
    {"BigDecSerializer", put_big_dec, -1, "00000006ff8500000003", "-0.123"},
    {"BigDecSerializer", put_big_dec, -1, "0000000302000000fffffffe", NULL},
    {"BigDecSerializer", put_big_dec, -1, "00000002fffffffe", "1E2"},
    {"SqlDateSerializer", put_date, 8, "0000000000000000", "\"1970-01-01 00:00:00.000Z\""},
    {"SqlDateSerializer", put_date, 8, "8000000000000000", "null"},
    {"SqlTimeSerializer", put_time, 8, "00000000036ee801", "\"16:00:00.001\""},
    {"SqlTimestampSerializer", put_timestamp, 12, "0000018bcfe568000000000a", "\"2023-11-14 22:13:20.000000010Z\""},
    {"InstantSerializer", put_instant, 12, "ffffffffffffffff3b9ac9ff", "\"1969-12-31 23:59:59.999999999Z\""},
    {"LocalDateSerializer", put_local_date, 6, "000007ea0102", "\"2026-01-02\""},
    {"LocalDateTimeSerializer", put_local_date_time, 13, "000007ea01021706050000000a", "\"2026-01-02 23:06:05.000000010\""},
    {"BytePrimitiveArraySerializer", put_bytes, -1, "00000002ff00", "\"0xff00\""},
    {"IntPrimitiveArraySerializer", put_ints, -1, "0000000200000001ffffffff", "[1,-1]"},
    {"ListSerializer(StringSerializer)", put_list, -1, "00000002027802792c", NULL},
    {"ListSerializer(StringSerializer)", put_list, -1, "000000020278022c", "[\"x\",\",\"]"},
    {"ListSerializer(StringSerializer)", put_old_list, -1, "00000000", "[]"},
    {"SetSerializer(IntSerializer)", put_set, -1, "000000020000000007" "01", "[7,null]"},
    {"MapSerializer(IntSerializer, StringSerializer)", put_map, -1, "0000000200000001000278" "0000000201", "{\"1\":\"x\",\"2\":null}"},
    {"TupleSerializer(IntSerializer, StringSerializer)", put_tuple, -1, "00000003037a30", "{\"f0\":3,\"f1\":\"z0\"}"},
    {"RowSerializer(IntSerializer, StringSerializer)", put_row, -1, "d0" "00000009", "{\"kind\":\"-D\",\"f0\":9,\"f1\":null}"},
    {"NullableSerializer(IntSerializer)", put_nullable, 5, "0000000009", "9"},
    {"NullableSerializer(IntSerializer)", put_nullable, 5, "0100000000", "null"},
    {"JavaEitherSerializer(IntSerializer, StringSerializer)", put_either, -1, "0100000009", "{\"left\":9}"},
    {"JavaEitherSerializer(IntSerializer, StringSerializer)", put_either, -1, "000278", "{\"right\":\"x\"}"},
    {"GenericArraySerializer(IntSerializer)", put_array, -1, "000000020100000007" "00", "[7,null]"},
    {"LinkedListSerializer(IntSerializer)", put_linked_list, -1, "00000003" "40" "0000000100000003", "[1,null,3]"},
    {"EnumSerializer(Colour)", put_enum, 4, "00000001", "\"GREEN\""},
    {"EnumSerializer(Colour)", put_enum, 4, "00000002", NULL},
    {"KryoSerializer(Thing)", put_kryo, -1, "0102ff", "\"0x0102ff\""},
    {"OwnSerializer", put_unknown, -1, "0102ff", "\"0x0102ff\""},
    {"PairSerializer(IntSerializer)", put_unknown_composite, -1, "ff", "\"0xff\""},
    {"PojoSerializer(Order)", put_pojo, -1, "02" "0000000009" "000278", "{\"a\":9,\"b\":\"x\"}"},
    {"PojoSerializer(Order)", put_pojo, -1, "02" "01" "000278", "{\"a\":null,\"b\":\"x\"}"},
    {"PojoSerializer(Order)", put_pojo, -1, "01", "null"},
    {"PojoSerializer(Order)", put_pojo, -1, "04" "0003782e79" "abcd", "\"0xabcd\""}, /* another class */
    {"PojoSerializer(Order)", put_opaque_pojo, -1, "02" "0000000009" "00abcdef", "{\"a\":9,\"b\":\"0xabcdef\"}"},
    {"TtlSerializer(LongSerializer timestamp, StringSerializer value)", put_ttl, -1, "0000000000000005" "0278", "{\"last_access\":5,\"value\":\"x\"}"},
    {"TtlAwareSerializer(IntSerializer)", put_ttl_aware, 4, "00000007", "7"},
    {"TimerSerializer(StringSerializer, TimeWindow.Serializer)", put_timer, -1,
     "800000e8d4a51000" "0278" "00000000000927c0" "0000000000124f80",
     "{\"timer\":1000000000000,\"key\":\"x\",\"namespace\":{\"start\":600000,\"end\":1200000}}"},
    {"VoidNamespaceSerializer", put_void_namespace, 0, "00", "null"},
    {"StringDataSerializer", put_string_data, -1, "00000002c3a9", "\"\xc3\xa9\""},
    {"DecimalDataSerializer(10, 2)", put_decimal_data, -1, "ffffffffffffffff", "-0.01"},
    {"TimestampDataSerializer(6)", put_timestamp_data, 12, "0000018bcfe5680000000000", "\"2023-11-14 22:13:20.000000\""},
    {"RowDataSerializer(IntSerializer, StringDataSerializer, TimestampDataSerializer(6))", put_row_data, -1,
     "00000028" "0000000000000000" "0900000000000000" "7800000000000081" "e803000020000000" "0068e5cf8b010000",
     "{\"kind\":\"+I\",\"f0\":9,\"f1\":\"x\",\"f2\":\"2023-11-14 22:13:20.000001\"}"},
    {"RowDataSerializer(IntSerializer, StringDataSerializer, TimestampDataSerializer(6))", put_row_data, -1, /* offset past the row */
     "00000028" "0000000000000000" "0900000000000000" "7800000000000081" "e803000028000000" "0068e5cf8b010000", NULL},
};

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

static struct bytes snapshot_of(void (*put)(struct buf *))
{
    struct buf b = {0};
    struct bytes copy;

    put(&b);
    copy = arena_bytes_copy(arena, buf_bytes(&b));
    buf_release(&b);
    return copy;
}

static const struct flink_serializer *serializer_of(void (*put)(struct buf *))
{
    const struct flink_serializer *s;
    struct err err = {0};
    struct reader r;

    reader_init(&r, snapshot_of(put), "snapshot");
    ck_assert_ok(flink_serializer_read(&r, arena, &s, &err));
    ck_assert_uint_eq(reader_left(&r), 0);
    return s;
}

START_TEST(serializer_is_known_by_its_snapshot)
{
    const struct flink_serializer *s = serializer_of(cases[_i].put);
    struct buf text = {0};

    flink_serializer_print(s, &text);
    ck_assert_str_eq(buf_cstr(&text), cases[_i].printed);
    ck_assert_int_eq(s->length, cases[_i].length);
    buf_release(&text);
}
END_TEST

/* Where an unknown class is, a cut may pass for its empty body; nothing else is taken. */
START_TEST(cut_snapshot_is_refused)
{
    struct bytes all = snapshot_of(cases[_i].put);
    const struct flink_serializer *s;

    for (size_t len = 0; len < all.len; len++) {
        struct err err = {0};
        struct reader r;
        enum rc rc;

        reader_init(&r, bytes_of(arena_copy(arena, all.data, len), len), "snapshot");
        rc = flink_serializer_read(&r, arena, &s, &err);
        ck_assert_msg(rc == RC_CORRUPT || rc == RC_UNSUPPORTED || (rc == RC_OK && !flink_serializer_is_known(s)),
                      "%zu of %zu bytes of %s: %s", len, all.len, cases[_i].printed, rc_name(rc));
    }
}
END_TEST

START_TEST(value_is_what_its_bytes_say)
{
    const struct flink_serializer *s = serializer_of(cases[_i].put);
    struct bytes value = of_hex(cases[_i].hex);
    struct flink_value v;
    struct buf json = {0};
    struct err err = {0};

    if (cases[_i].json == NULL) {
        ck_assert_rc(flink_value_of(value, s, arena, "value", &v, &err), RC_CORRUPT);
        return;
    }
    ck_assert_ok(flink_value_of(value, s, arena, "value", &v, &err));
    flink_value_json(&v, &json);
    ck_assert_str_eq(buf_cstr(&json), cases[_i].json);
    buf_release(&json);
}
END_TEST

/* A value that is cut says so by the reader, so that a stream goes for more; one byte more is left. */
START_TEST(cut_value_asks_for_more)
{
    const struct flink_serializer *s = serializer_of(cases[_i].put);
    struct bytes value = of_hex(cases[_i].hex);
    struct flink_value v;

    if (cases[_i].json == NULL || !flink_serializer_is_known(s) || strstr(cases[_i].hex, "0003782e79") != NULL)
        return;
    for (size_t len = 0; len < value.len; len++) {
        struct flink_decoder d = {.arena = arena, .open_ended = true};
        struct err err = {0};
        struct reader r;

        reader_init(&r, bytes_of(arena_copy(arena, value.data, len), len), "value");
        d.r = &r;
        ck_assert_rc(flink_value_read(&d, s, &v, &err), RC_CORRUPT);
        ck_assert_msg(r.failed, "%zu of %zu bytes of %s", len, value.len, cases[_i].printed);
    }
}
END_TEST

/* What has no length cannot be stepped over in a stream. */
START_TEST(opaque_value_of_a_stream_is_refused)
{
    struct flink_decoder d = {.arena = arena, .open_ended = true};
    struct flink_value v;
    struct err err = {0};
    struct reader r;

    reader_init(&r, of_hex("0102"), "stream");
    d.r = &r;
    ck_assert_rc_msg(flink_value_read(&d, serializer_of(put_kryo), &v, &err), RC_UNSUPPORTED, "org.example.Thing");
}
END_TEST

START_TEST(serializers_nested_too_deep_are_refused)
{
    const struct flink_serializer *s;
    struct buf b = {0};
    struct err err = {0};
    struct reader r;

    for (unsigned i = 0; i < FLINK_SERIALIZER_DEPTH_MAX + 1; i++) {
        flink_composite(&b, FLINK_BASE "ListSerializerSnapshot", 1);
        flink_nested(&b, 1);
    }
    put_int(&b);
    reader_init(&r, buf_bytes(&b), "snapshot");
    ck_assert_rc_msg(flink_serializer_read(&r, arena, &s, &err), RC_LIMIT, "64");
    buf_release(&b);
}
END_TEST

START_TEST(unknown_class_with_a_body_is_named)
{
    const struct flink_serializer *s;
    struct buf b = {0};
    struct err err = {0};
    struct reader r;

    put_unknown(&b);
    buf_append_be32(&b, 911108);
    buf_append_be32(&b, 1);
    buf_append_str(&b, "a body of its own");
    reader_init(&r, buf_bytes(&b), "snapshot");
    ck_assert_rc_msg(flink_serializer_read(&r, arena, &s, &err), RC_UNSUPPORTED, "org.example.OwnSerializer");
    buf_release(&b);
}
END_TEST

START_TEST(value_of_too_many_parts_is_refused)
{
    struct buf b = {0};
    struct flink_value v;
    struct err err = {0};

    buf_append_be32(&b, FLINK_VALUE_PARTS_MAX + 1);
    for (size_t i = 0; i < FLINK_VALUE_PARTS_MAX + 1; i++)
        buf_append_be32(&b, 7);
    ck_assert_rc_msg(flink_value_of(buf_bytes(&b), serializer_of(put_ints), arena, "value", &v, &err), RC_LIMIT, "parts");
    buf_release(&b);
}
END_TEST

/* Key groups that Flink gave these keys, of 128 (golden/flink-state). */
static const struct {
    void (*put)(struct buf *);
    const char *hex;
    uint32_t group;
} hashed[] = {
    {put_string, "066b65792d30", 31},
    {put_string, "076b65792d3133", 103},
    {put_long, "fffffffffff85ee0", 73}, /* -500000 */
    {put_tuple, "00000003037a30", 1},   /* (3, "z0") */
};

START_TEST(key_goes_to_the_group_that_flink_gave_it)
{
    const struct flink_serializer *s = serializer_of(hashed[_i].put);
    struct flink_value v;
    struct err err = {0};
    uint32_t hash;

    ck_assert_ok(flink_value_of(of_hex(hashed[_i].hex), s, arena, "key", &v, &err));
    ck_assert(flink_hash(s, &v, &hash));
    ck_assert_uint_eq(keygroup_of_hash(hash, 128), hashed[_i].group);
}
END_TEST

/* What hashCode says in Java (flink-core 1.20 and 2.3): three of Flink's value classes hash otherwise than
 * what they hold. */
static const struct {
    void (*put)(struct buf *);
    const char *hex;
    int32_t hash;
} hashes[] = {
    {put_long, "0000000000000005", 5},
    {put_long_value, "0000000000000005", 48},
    {put_long_value, "fffffffffff85ee0", 500042},
    {put_boolean, "01", 1231},
    {put_boolean_value, "01", 1},
    {put_boolean_value, "00", 0},
    {put_double, "42074876e8000000", -1442363274 /* 1.25e10 */},
    {put_double_value, "42074876e8000000", -1442363274 + 31},
    {put_float_value, "3fc00000", 1069547520},
    {put_string_value, "066b65792d30", 101943362},
};

START_TEST(hash_of_a_key_is_that_of_its_class)
{
    const struct flink_serializer *s = serializer_of(hashes[_i].put);
    struct flink_value v;
    struct err err = {0};
    uint32_t hash;

    ck_assert_ok(flink_value_of(of_hex(hashes[_i].hex), s, arena, "key", &v, &err));
    ck_assert(flink_hash(s, &v, &hash));
    ck_assert_int_eq((int32_t)hash, hashes[_i].hash);
}
END_TEST

START_TEST(a_class_derived_from_a_tuple_may_hash_as_it_likes)
{
    const struct flink_serializer *s = serializer_of(put_own_tuple);
    struct flink_value v;
    struct err err = {0};
    uint32_t hash;

    ck_assert_ok(flink_value_of(of_hex("00000003037a30"), s, arena, "key", &v, &err));
    ck_assert(!flink_hash(s, &v, &hash));
}
END_TEST

#define CASES (int)ARRAY_LEN(cases)
TEST_MAIN("flink_value", tcase_add_checked_fixture(tc, setup, teardown);
          tcase_add_loop_test(tc, serializer_is_known_by_its_snapshot, 0, CASES);
          tcase_add_loop_test(tc, cut_snapshot_is_refused, 0, CASES);
          tcase_add_loop_test(tc, value_is_what_its_bytes_say, 0, CASES);
          tcase_add_loop_test(tc, cut_value_asks_for_more, 0, CASES);
          tcase_add_test(tc, opaque_value_of_a_stream_is_refused);
          tcase_add_test(tc, serializers_nested_too_deep_are_refused);
          tcase_add_test(tc, unknown_class_with_a_body_is_named);
          tcase_add_test(tc, value_of_too_many_parts_is_refused);
          tcase_add_loop_test(tc, key_goes_to_the_group_that_flink_gave_it, 0, (int)ARRAY_LEN(hashed));
          tcase_add_loop_test(tc, hash_of_a_key_is_that_of_its_class, 0, (int)ARRAY_LEN(hashes));
          tcase_add_test(tc, a_class_derived_from_a_tuple_may_hash_as_it_likes))
