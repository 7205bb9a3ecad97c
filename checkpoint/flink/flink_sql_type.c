/* flink_sql_type.c - see flink_sql_type.h */
#include "checkpoint/flink/flink_sql_type.h"

#include "checkpoint/state_types.h"

#define RECORD_VERSION 2u
#define COMPOSITE_MAGIC 911108u
#define NESTED_MAGIC 1333245u
#define SNAPSHOT_VERSION 3u
#define BASE "org.apache.flink.api.common.typeutils.base."
#define TABLE "org.apache.flink.table.runtime.typeutils."
#define LOGICAL "org.apache.flink.table.types.logical."

enum sql_class { FIXED, LENGTH, DECIMAL, TIME, TIMESTAMP };
struct sql_type {
    const char *word;     /* as types are printed */
    enum sql_class args;
    int32_t assumed;      /* the argument of one that is printed without */
    const char *logical;  /* LogicalType and its root; NULL: no type of a column */
    const char *root;
    const char *snapshot; /* of its serializer */
};
#define SIMPLE(x) BASE x "Serializer$" x "SerializerSnapshot"
static const struct sql_type types[] = {
    {"BOOLEAN", FIXED, 0, "BooleanType", "BOOLEAN", SIMPLE("Boolean")},
    {"TINYINT", FIXED, 0, "TinyIntType", "TINYINT", SIMPLE("Byte")},
    {"SMALLINT", FIXED, 0, "SmallIntType", "SMALLINT", SIMPLE("Short")},
    {"INT", FIXED, 0, "IntType", "INTEGER", SIMPLE("Int")},
    {"BIGINT", FIXED, 0, "BigIntType", "BIGINT", SIMPLE("Long")},
    {"FLOAT", FIXED, 0, "FloatType", "FLOAT", SIMPLE("Float")},
    {"DOUBLE", FIXED, 0, "DoubleType", "DOUBLE", SIMPLE("Double")},
    {"DECIMAL", DECIMAL, 10, "DecimalType", "DECIMAL",
     TABLE "DecimalDataSerializer$DecimalSerializerSnapshot"},
    {"CHAR", LENGTH, 1, "CharType", "CHAR", TABLE "StringDataSerializer$StringDataSerializerSnapshot"},
    {"STRING", LENGTH, INT32_MAX, "VarCharType", "VARCHAR",
     TABLE "StringDataSerializer$StringDataSerializerSnapshot"},
    {"VARCHAR", LENGTH, 1, "VarCharType", "VARCHAR",
     TABLE "StringDataSerializer$StringDataSerializerSnapshot"},
    {"BINARY", LENGTH, 1, "BinaryType", "BINARY",
     BASE "array.BytePrimitiveArraySerializer$BytePrimitiveArraySerializerSnapshot"},
    {"BYTES", LENGTH, INT32_MAX, "VarBinaryType", "VARBINARY",
     BASE "array.BytePrimitiveArraySerializer$BytePrimitiveArraySerializerSnapshot"},
    {"VARBINARY", LENGTH, 1, "VarBinaryType", "VARBINARY",
     BASE "array.BytePrimitiveArraySerializer$BytePrimitiveArraySerializerSnapshot"},
    {"DATE", FIXED, 0, "DateType", "DATE", SIMPLE("Int")},
    {"TIME", TIME, 0, "TimeType", "TIME_WITHOUT_TIME_ZONE", SIMPLE("Int")},
    {"TIMESTAMP", TIMESTAMP, 6, "TimestampType", "TIMESTAMP_WITHOUT_TIME_ZONE",
     TABLE "TimestampDataSerializer$TimestampDataSerializerSnapshot"},
    {"TIMESTAMP_LTZ", TIMESTAMP, 6, "LocalZonedTimestampType", "TIMESTAMP_WITH_LOCAL_TIME_ZONE",
     TABLE "TimestampDataSerializer$TimestampDataSerializerSnapshot"},
    {"VOID", FIXED, 0, NULL, NULL,
     "org.apache.flink.runtime.state.VoidNamespaceSerializer$VoidNamespaceSerializerSnapshot"},
};

struct parsed {
    const struct sql_type *type;
    int32_t n[2];
    bool nullable;
};

/* Digits at *s, at most INT32_MAX. */
static bool read_number(const char **s, int32_t *out)
{
    int64_t n = 0;
    const char *p = *s;

    for (; *p >= '0' && *p <= '9' && n <= INT32_MAX; p++)
        n = 10 * n + (*p - '0');
    if (p == *s || n > INT32_MAX)
        return false;
    *s = p;
    *out = (int32_t)n;
    return true;
}

/* "(10, 2)" where there are such. */
static bool read_arguments(const char **s, struct parsed *out)
{
    if (**s != '(')
        return true;
    ++*s;
    if (out->type->args == FIXED || !read_number(s, &out->n[0]))
        return false;
    if (out->type->args == DECIMAL) {
        if (strncmp(*s, ", ", 2) != 0)
            return false;
        *s += 2;
        if (!read_number(s, &out->n[1]))
            return false;
    }
    return *(*s)++ == ')';
}

/* "DECIMAL(10, 2) NOT NULL" */
static bool parse(const char *text, struct parsed *out)
{
    size_t len = strcspn(text, "( ");
    const char *rest = text + len;

    *out = (struct parsed){.nullable = true};
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (strlen(types[i].word) == len && memcmp(types[i].word, text, len) == 0)
            out->type = &types[i];
    if (out->type == NULL)
        return false;
    out->n[0] = out->type->assumed;
    if (!read_arguments(&rest, out))
        return false;
    if (strcmp(rest, " NOT NULL") == 0) {
        out->nullable = false;
        rest += strlen(rest);
    }
    return *rest == '\0';
}

/* ---- Java objects ---------------------------------------------------------------------------- */

static void put_ascii(struct buf *b, const char *text)
{
    buf_append_be16(b, (uint16_t)strlen(text));
    buf_append_str(b, text);
}

/* A class description's name, version and flags. */
static void put_class(struct buf *b, const char *package, const char *name, uint64_t version,
                      uint8_t flags)
{
    buf_append_u8(b, 0x72);
    buf_append_be16(b, (uint16_t)(strlen(package) + strlen(name)));
    buf_append_str(b, package);
    buf_append_str(b, name);
    buf_append_be64(b, version);
    buf_append_u8(b, flags);
}

/* `type` in a field's signature: "Lorg/apache/flink/table/types/logical/<type>;". */
static void put_signature(struct buf *b, const char *type)
{
    static const char path[] = "Lorg/apache/flink/table/types/logical/";

    buf_append_u8(b, 0x74);
    buf_append_be16(b, (uint16_t)(sizeof path - 1 + strlen(type) + 1));
    buf_append_str(b, path);
    buf_append_str(b, type);
    buf_append_u8(b, ';');
}

static void put_fields(struct buf *b, enum sql_class args)
{
    static const uint16_t counts[] = {
        [FIXED] = 0, [LENGTH] = 1, [DECIMAL] = 2, [TIME] = 1, [TIMESTAMP] = 2};

    buf_append_be16(b, counts[args]);
    if (args == FIXED)
        return;
    buf_append_u8(b, 'I');
    put_ascii(b, args == LENGTH ? "length" : "precision");
    if (args == DECIMAL) {
        buf_append_u8(b, 'I');
        put_ascii(b, "scale");
    }
    if (args == TIMESTAMP) {
        buf_append_u8(b, 'L');
        put_ascii(b, "kind");
        put_signature(b, "TimestampKind");
    }
}

/* The value of an enum. `enum_again`: java.lang.Enum was described before, as that object. */
static void put_enum(struct buf *b, const char *type, const char *value, uint32_t enum_again)
{
    buf_append_u8(b, 0x7e);
    put_class(b, LOGICAL, type, 0, 0x12);
    buf_append_be16(b, 0);
    buf_append_u8(b, 0x78);
    if (enum_again != 0) {
        buf_append_u8(b, 0x71);
        buf_append_be32(b, enum_again);
    } else {
        put_class(b, "java.lang.", "Enum", 0, 0x12);
        buf_append_be16(b, 0);
        buf_append_u8(b, 0x78);
        buf_append_u8(b, 0x70);
    }
    buf_append_u8(b, 0x74);
    put_ascii(b, value);
}

#define ENUM_IN_TIMESTAMP 0x7e0006u /* java.lang.Enum is the seventh that such a stream describes */

static void put_logical_type(struct buf *b, const struct parsed *p)
{
    buf_append_be32(b, 0xaced0005u);
    buf_append_u8(b, 0x73);
    put_class(b, LOGICAL, p->type->logical, 1, 2);
    put_fields(b, p->type->args);
    buf_append_u8(b, 0x78);
    put_class(b, LOGICAL, "LogicalType", 1, 2);
    buf_append_be16(b, 2);
    buf_append_u8(b, 'Z');
    put_ascii(b, "isNullable");
    buf_append_u8(b, 'L');
    put_ascii(b, "typeRoot");
    put_signature(b, "LogicalTypeRoot");
    buf_append_u8(b, 0x78);
    buf_append_u8(b, 0x70);
    buf_append_u8(b, p->nullable);
    put_enum(b, "LogicalTypeRoot", p->type->root, 0);
    if (p->type->args != FIXED)
        buf_append_be32(b, (uint32_t)p->n[0]);
    if (p->type->args == DECIMAL)
        buf_append_be32(b, (uint32_t)p->n[1]);
    if (p->type->args == TIMESTAMP)
        put_enum(b, "TimestampKind", "REGULAR", ENUM_IN_TIMESTAMP);
}

/* ---- snapshots ------------------------------------------------------------------------------- */

static void put_nested(struct buf *out, uint32_t count)
{
    buf_append_be32(out, NESTED_MAGIC);
    buf_append_be32(out, 1);
    buf_append_be32(out, count);
}

static void put_composite(struct buf *out, const char *snapshot, uint32_t outer, uint32_t count)
{
    put_ascii(out, snapshot);
    buf_append_be32(out, SNAPSHOT_VERSION);
    buf_append_be32(out, COMPOSITE_MAGIC);
    buf_append_be32(out, outer);
    put_nested(out, count);
}

static void put_snapshot(struct buf *out, const struct parsed *p)
{
    put_ascii(out, p->type->snapshot);
    buf_append_be32(out, p->type->args == TIMESTAMP ? 1 : SNAPSHOT_VERSION);
    if (p->type->args == TIMESTAMP || p->type->args == DECIMAL)
        buf_append_be32(out, (uint32_t)p->n[0]);
    if (p->type->args == DECIMAL)
        buf_append_be32(out, (uint32_t)p->n[1]);
}

static enum rc put_row(const char *type, struct buf *out, struct err *err)
{
    struct arena *arena = arena_new(0);
    struct type_column *columns;
    size_t count = strcmp(type, "ROW<>") == 0 ? 0 : type_columns(type, arena, &columns);
    struct parsed *fields = ARENA_ARRAY(arena, count + 1, struct parsed);
    enum rc rc = RC_OK;

    for (size_t i = 0; i < count && rc == RC_OK; i++)
        if (!parse(columns[i].type, &fields[i]) || fields[i].type->logical == NULL)
            rc = err_set(err, RC_UNSUPPORTED, "column %s: a %s has no serializer of Flink's here",
                         columns[i].name, columns[i].type);
    if (rc == RC_OK) {
        put_ascii(out, TABLE "RowDataSerializer$RowDataSerializerSnapshot");
        buf_append_be32(out, SNAPSHOT_VERSION);
        buf_append_be32(out, (uint32_t)count);
        for (size_t i = 0; i < count; i++)
            put_logical_type(out, &fields[i]);
        put_nested(out, (uint32_t)count);
        for (size_t i = 0; i < count; i++)
            put_snapshot(out, &fields[i]);
    }
    arena_free(arena);
    return rc;
}

enum rc flink_put_sql_type(const char *type, struct buf *out, struct err *err)
{
    struct parsed p;

    if (strncmp(type, "ROW<", 4) == 0)
        return put_row(type, out, err);
    if (!parse(type, &p))
        return err_set(err, RC_UNSUPPORTED, "a %s has no serializer of Flink's here", type);
    put_snapshot(out, &p);
    return RC_OK;
}

void flink_put_snapshot_of_ttl(struct bytes inner, struct buf *out)
{
    put_composite(out, "org.apache.flink.runtime.state.ttl.TtlStateFactory$TtlSerializerSnapshot", 2, 2);
    put_ascii(out, SIMPLE("Long"));
    buf_append_be32(out, SNAPSHOT_VERSION);
    buf_append(out, inner.data, inner.len);
}

void flink_put_snapshot_of_list(struct bytes element, struct buf *out)
{
    put_composite(out, BASE "ListSerializerSnapshot", 1, 1);
    buf_append(out, element.data, element.len);
}

void flink_put_snapshot_of_map(struct bytes key, struct bytes value, struct buf *out)
{
    put_composite(out, BASE "MapSerializerSnapshot", 1, 2);
    buf_append(out, key.data, key.len);
    buf_append(out, value.data, value.len);
}

void flink_put_snapshot_of_timer(struct bytes key, struct bytes namespace, struct buf *out)
{
    put_composite(out, "org.apache.flink.streaming.api.operators.TimerSerializerSnapshot", 2, 2);
    buf_append(out, key.data, key.len);
    buf_append(out, namespace.data, namespace.len);
}

void flink_put_snapshot_of_bytes(struct buf *out)
{
    put_ascii(out, BASE "array.BytePrimitiveArraySerializer$BytePrimitiveArraySerializerSnapshot");
    buf_append_be32(out, SNAPSHOT_VERSION);
}

void flink_put_record(struct bytes snapshot, struct buf *out)
{
    buf_append_be32(out, RECORD_VERSION);
    buf_append(out, snapshot.data, snapshot.len);
}
