/* flink_serializer.c - see flink_serializer.h. Names of classes and their bodies: Flink 1.8 to 2.3 */
#include "checkpoint/flink/flink_serializer.h"

#include "checkpoint/flink/data_input.h"
#include "checkpoint/flink/java_stream.h"

#define COMPOSITE_MAGIC 911108
#define NESTED_MAGIC 1333245
#define OPTIONAL_MAP_HEADER 0x4F2C69A3D70ll
#define LEAST_SNAPSHOT_BYTES 6u /* an empty name and a version */
#define LEAST_MAP_ENTRY_BYTES 4u
#define NAME_SHOWN_MAX 300u

struct snapshot_reader {
    struct reader *r;
    struct arena *arena;
    unsigned depth;
    struct bytes assumed; /* the last unknown class whose body was taken to be empty */
};

static enum rc read_versioned(struct snapshot_reader *s, const struct flink_serializer **out,
                              struct err *err);

/* ---- the classes ----------------------------------------------------------------------------- */

/* What stands between version and nested snapshots. */
enum body {
    BODY_SIMPLE,    /* nothing; version 2: a name */
    BODY_COMPOSITE, /* nested ones behind nothing of its own */
    BODY_TUPLE,
    BODY_ROW,
    BODY_NULLABLE,
    BODY_OBJECT_ARRAY,
    BODY_LINKED_LIST,
    BODY_NULL_AWARE,
    BODY_EXTERNAL,
    BODY_TTL_AWARE, /* no composite: a flag and a snapshot */
    BODY_POJO,      /* nor are these */
    BODY_ENUM,
    BODY_KRYO,
    BODY_ROW_DATA,
    BODY_NUMBER,
    BODY_TWO_NUMBERS,
    BODY_JAVA_2,
    BODY_JAVA_4,
};
struct known_class {
    const char *name;
    enum flink_coding coding;
    enum body body;
    int8_t length;   /* of a simple one's values */
    int8_t children; /* that a composite has; -1: any number */
};

#define B "org.apache.flink.api.common.typeutils.base."
#define R "org.apache.flink.api.java.typeutils.runtime."
#define T "org.apache.flink.table.runtime.typeutils."
#define S "org.apache.flink.runtime.state."
#define W "org.apache.flink.streaming.api.windowing.windows."
#define V "org.apache.flink.table.dataview."
#define SIMPLE(x, coding, length) {B x "Serializer$" x "SerializerSnapshot", coding, BODY_SIMPLE, length, 0}
#define ARRAY_OF(x)                                                                                \
    {B "array." x "ArraySerializer$" x "ArraySerializerSnapshot", FLINK_ARRAY, BODY_SIMPLE, -1, 0}

static const struct known_class classes[] = {
    SIMPLE("Boolean", FLINK_BOOLEAN, 1),
    SIMPLE("BooleanValue", FLINK_BOOLEAN, 1),
    SIMPLE("Byte", FLINK_BYTE, 1),
    SIMPLE("ByteValue", FLINK_BYTE, 1),
    SIMPLE("Short", FLINK_SHORT, 2),
    SIMPLE("ShortValue", FLINK_SHORT, 2),
    SIMPLE("Int", FLINK_INT, 4),
    SIMPLE("IntValue", FLINK_INT, 4),
    SIMPLE("Long", FLINK_LONG, 8),
    SIMPLE("LongValue", FLINK_LONG, 8),
    SIMPLE("Float", FLINK_FLOAT, 4),
    SIMPLE("FloatValue", FLINK_FLOAT, 4),
    SIMPLE("Double", FLINK_DOUBLE, 8),
    SIMPLE("DoubleValue", FLINK_DOUBLE, 8),
    SIMPLE("Char", FLINK_CHAR, 2),
    SIMPLE("CharValue", FLINK_CHAR, 2),
    SIMPLE("String", FLINK_STRING, -1),
    SIMPLE("StringValue", FLINK_STRING, -1),
    SIMPLE("Date", FLINK_DATE, 8),
    SIMPLE("SqlDate", FLINK_SQL_DATE, 8),
    SIMPLE("SqlTime", FLINK_SQL_TIME, 8),
    SIMPLE("SqlTimestamp", FLINK_SQL_TIMESTAMP, 12),
    SIMPLE("Instant", FLINK_INSTANT, 12),
    SIMPLE("LocalDate", FLINK_LOCAL_DATE, 6),
    SIMPLE("LocalTime", FLINK_LOCAL_TIME, 7),
    SIMPLE("LocalDateTime", FLINK_LOCAL_DATE_TIME, 13),
    SIMPLE("BigInt", FLINK_BIG_INT, -1),
    SIMPLE("BigDec", FLINK_BIG_DEC, -1),
    SIMPLE("Void", FLINK_VOID, 1),
    {B "array.BytePrimitiveArraySerializer$BytePrimitiveArraySerializerSnapshot", FLINK_BYTES,
     BODY_SIMPLE, -1, 0},
    ARRAY_OF("BooleanPrimitive"),
    ARRAY_OF("ShortPrimitive"),
    ARRAY_OF("IntPrimitive"),
    ARRAY_OF("LongPrimitive"),
    ARRAY_OF("FloatPrimitive"),
    ARRAY_OF("DoublePrimitive"),
    ARRAY_OF("CharPrimitive"),
    ARRAY_OF("String"),
    {S "VoidNamespaceSerializer$VoidNamespaceSerializerSnapshot", FLINK_VOID_NAMESPACE, BODY_SIMPLE,
     0, 0},
    {W "TimeWindow$Serializer$TimeWindowSerializerSnapshot", FLINK_TIME_WINDOW, BODY_SIMPLE, 16, 0},
    {W "GlobalWindow$Serializer$GlobalWindowSerializerSnapshot", FLINK_GLOBAL_WINDOW, BODY_SIMPLE, 0,
     0},
    {B "ListSerializerSnapshot", FLINK_LIST, BODY_COMPOSITE, -1, 1},
    {S "ArrayListSerializerSnapshot", FLINK_LIST, BODY_COMPOSITE, -1, 1},
    {B "SetSerializerSnapshot", FLINK_SET, BODY_COMPOSITE, -1, 1},
    {B "MapSerializerSnapshot", FLINK_MAP, BODY_COMPOSITE, -1, 2},
    {B "GenericArraySerializerSnapshot", FLINK_OBJECT_ARRAY, BODY_OBJECT_ARRAY, -1, 1},
    {R "TupleSerializerSnapshot", FLINK_TUPLE, BODY_TUPLE, -1, -1},
    {R "RowSerializer$RowSerializerSnapshot", FLINK_ROW, BODY_ROW, -1, -1},
    {R "NullableSerializer$NullableSerializerSnapshot", FLINK_NULLABLE, BODY_NULLABLE, -1, 1},
    {R "JavaEitherSerializerSnapshot", FLINK_EITHER, BODY_COMPOSITE, -1, 2},
    {"org.apache.flink.streaming.api.operators.TimerSerializerSnapshot", FLINK_TIMER,
     BODY_COMPOSITE, -1, 2},
    {S "ttl.TtlStateFactory$TtlSerializerSnapshot", FLINK_TTL, BODY_COMPOSITE, -1, 2},
    {S "ttl.TtlAwareSerializerSnapshot", FLINK_WRAPPER, BODY_TTL_AWARE, -1, 1},
    {R "PojoSerializerSnapshot", FLINK_POJO, BODY_POJO, -1, -1},
    {B "EnumSerializer$EnumSerializerSnapshot", FLINK_ENUM, BODY_ENUM, 4, 0},
    {R "kryo.KryoSerializerSnapshot", FLINK_OPAQUE, BODY_KRYO, -1, 0},
    {T "StringDataSerializer$StringDataSerializerSnapshot", FLINK_STRING_DATA, BODY_SIMPLE, -1, 0},
    {T "RowDataSerializer$RowDataSerializerSnapshot", FLINK_ROW_DATA, BODY_ROW_DATA, -1, -1},
    {T "BinaryRowDataSerializer$BinaryRowDataSerializerSnapshot", FLINK_ROW_DATA, BODY_NUMBER, -1,
     0},
    {T "DecimalDataSerializer$DecimalSerializerSnapshot", FLINK_DECIMAL_DATA, BODY_TWO_NUMBERS, -1,
     0},
    {T "DecimalDataSerializer$DecimalDataSerializerSnapshot", FLINK_DECIMAL_DATA, BODY_TWO_NUMBERS,
     -1, 0},
    {T "TimestampDataSerializer$TimestampDataSerializerSnapshot", FLINK_TIMESTAMP_DATA, BODY_NUMBER,
     -1, 0},
    {T "ArrayDataSerializer$ArrayDataSerializerSnapshot", FLINK_SIZED, BODY_JAVA_2, -1, 0},
    {T "MapDataSerializer$MapDataSerializerSnapshot", FLINK_SIZED, BODY_JAVA_4, -1, 0},
    {T "RawValueDataSerializer$RawValueDataSerializerSnapshot", FLINK_SIZED, BODY_COMPOSITE, -1, 1},
    {T "ExternalSerializer$ExternalSerializerSnapshot", FLINK_WRAPPER, BODY_EXTERNAL, -1, 1},
    {T "LinkedListSerializer$LinkedListSerializerSnapshot", FLINK_LINKED_LIST, BODY_LINKED_LIST, -1,
     1},
    {V "NullSerializer$NullSerializerSnapshot", FLINK_VOID, BODY_SIMPLE, 1, 0},
    {V "MapViewSerializerSnapshot", FLINK_WRAPPER, BODY_COMPOSITE, -1, 1},
    {V "ListViewSerializerSnapshot", FLINK_WRAPPER, BODY_COMPOSITE, -1, 1},
    {V "NullAwareMapSerializerSnapshot", FLINK_MAP, BODY_NULL_AWARE, -1, 2},
};

static const struct known_class *class_find(struct bytes name)
{
    for (size_t i = 0; i < ARRAY_LEN(classes); i++)
        if (bytes_eq(name, bytes_of_str(classes[i].name)))
            return &classes[i];
    return NULL;
}

/* ---- parts of bodies ------------------------------------------------------------------------- */

static const char *shown(struct snapshot_reader *s, struct bytes text)
{
    struct buf b = {0};
    const char *copy;

    buf_append_escaped(&b, text, NAME_SHOWN_MAX);
    copy = arena_strdup(s->arena, buf_cstr(&b));
    buf_release(&b);
    return copy;
}

static enum rc read_nested(struct snapshot_reader *s, struct flink_serializer *out, struct err *err)
{
    size_t at = s->r->pos;
    int32_t magic, version;

    RETURN_IF_ERR(data_i32(s->r, &magic, "nested snapshots", err));
    RETURN_IF_ERR(data_i32(s->r, &version, "version of nested snapshots", err));
    if (magic != NESTED_MAGIC || version != 1)
        return data_fault(s->r, at, err, "nested snapshots of %s begin with %d, version %d",
                          shown(s, out->snapshot_class), magic, version);
    RETURN_IF_ERR(data_count(s->r, LEAST_SNAPSHOT_BYTES, SIZE_MAX, &out->child_count,
                             "number of nested snapshots", err));
    out->children = ARENA_ARRAY(s->arena, out->child_count + 1, const struct flink_serializer *);
    for (size_t i = 0; i < out->child_count; i++)
        RETURN_IF_ERR(read_versioned(s, &out->children[i], err));
    return RC_OK;
}

/* One alone, without the frame of nested ones. */
static enum rc read_single(struct snapshot_reader *s, struct flink_serializer *out, struct err *err)
{
    out->child_count = 1;
    out->children = ARENA_ARRAY(s->arena, 1, const struct flink_serializer *);
    return read_versioned(s, &out->children[0], err);
}

static enum rc skip_java(struct snapshot_reader *s, size_t count, struct err *err)
{
    const struct java_value *value;

    for (size_t i = 0; i < count; i++)
        RETURN_IF_ERR(java_stream_read(s->r, s->arena, &value, err));
    return RC_OK;
}

struct map_entry {
    struct bytes name;
    const struct flink_serializer *serializer; /* NULL: none, or not asked for */
};

/* A snapshot in a frame: whatever is in it, what stands behind it can be read. */
static enum rc read_framed(struct snapshot_reader *s, struct bytes frame,
                           const struct flink_serializer **out, struct err *err)
{
    struct snapshot_reader inner = {.arena = s->arena, .depth = s->depth};
    struct flink_serializer *opaque;
    struct err why = {0};
    struct reader r;
    enum rc rc;

    reader_init(&r, frame, s->r->what);
    inner.r = &r;
    rc = read_versioned(&inner, out, &why);
    if (rc == RC_OK && inner.assumed.len == 0)
        rc = reader_end(&r, &why);
    if (rc == RC_LIMIT || (rc != RC_OK && rc != RC_UNSUPPORTED && inner.assumed.len == 0))
        return err_set(err, rc, "in a frame before offset %zu: %s", s->r->pos, why.msg);
    if (rc != RC_OK || reader_left(&r) > 0) { /* an unknown class with a body */
        opaque = ARENA_NEW(s->arena, struct flink_serializer);
        opaque->snapshot_class = inner.assumed;
        opaque->length = FLINK_VARIABLE;
        *out = opaque;
    }
    return RC_OK;
}

static enum rc read_optional_map(struct snapshot_reader *s, bool wanted, size_t *count,
                                 struct map_entry **out, struct err *err)
{
    size_t at = s->r->pos;
    int64_t header;

    RETURN_IF_ERR(data_i64(s->r, &header, "map of options", err));
    if (header != OPTIONAL_MAP_HEADER)
        return data_fault(s->r, at, err, "a map of options begins with 0x%llx",
                          (unsigned long long)header);
    RETURN_IF_ERR(
        data_count(s->r, LEAST_MAP_ENTRY_BYTES, SIZE_MAX, count, "number of options", err));
    *out = ARENA_ARRAY(s->arena, *count + 1, struct map_entry);
    for (size_t i = 0; i < *count; i++) {
        struct map_entry *e = &(*out)[i];
        struct bytes frame;
        bool there;

        RETURN_IF_ERR(data_utf(s->r, s->arena, &e->name, "name", err));
        RETURN_IF_ERR(data_bool(s->r, &there, "key", err));
        if (there)
            RETURN_IF_ERR(data_blob(s->r, &frame, "key", err));
        RETURN_IF_ERR(data_bool(s->r, &there, "value", err));
        if (!there)
            continue;
        RETURN_IF_ERR(data_blob(s->r, &frame, "value", err));
        if (wanted)
            RETURN_IF_ERR(read_framed(s, frame, &e->serializer, err));
    }
    return RC_OK;
}

/* ---- bodies ---------------------------------------------------------------------------------- */

static enum rc read_subclasses(struct snapshot_reader *s, size_t *count,
                               struct flink_subclass **out, struct err *err)
{
    struct map_entry *entries;

    RETURN_IF_ERR(read_optional_map(s, true, count, &entries, err));
    *out = ARENA_ARRAY(s->arena, *count + 1, struct flink_subclass);
    for (size_t i = 0; i < *count; i++)
        (*out)[i] = (struct flink_subclass){entries[i].name, entries[i].serializer};
    return RC_OK;
}

static enum rc read_pojo(struct snapshot_reader *s, struct flink_serializer *out, struct err *err)
{
    struct map_entry *fields;

    RETURN_IF_ERR(data_utf(s->r, s->arena, &out->type, "class", err));
    RETURN_IF_ERR(read_optional_map(s, true, &out->child_count, &fields, err));
    out->name_count = out->child_count;
    out->names = ARENA_ARRAY(s->arena, out->child_count + 1, struct bytes);
    out->children = ARENA_ARRAY(s->arena, out->child_count + 1, const struct flink_serializer *);
    for (size_t i = 0; i < out->child_count; i++) {
        out->names[i] = fields[i].name;
        out->children[i] = fields[i].serializer;
        if (fields[i].serializer == NULL)
            return data_fault(s->r, s->r->pos, err, "field %s of class %s has no serializer",
                              shown(s, fields[i].name), shown(s, out->type));
    }
    RETURN_IF_ERR(read_subclasses(s, &out->registered_count, &out->registered, err));
    return read_subclasses(s, &out->other_count, &out->others, err);
}

static enum rc read_enum(struct snapshot_reader *s, struct flink_serializer *out, struct err *err)
{
    RETURN_IF_ERR(data_utf(s->r, s->arena, &out->type, "class", err));
    RETURN_IF_ERR(data_count(s->r, 2, SIZE_MAX, &out->name_count, "number of constants", err));
    out->names = ARENA_ARRAY(s->arena, out->name_count + 1, struct bytes);
    for (size_t i = 0; i < out->name_count; i++)
        RETURN_IF_ERR(data_utf(s->r, s->arena, &out->names[i], "constant", err));
    return RC_OK;
}

static enum rc read_kryo(struct snapshot_reader *s, struct flink_serializer *out, struct err *err)
{
    struct map_entry *unused;
    size_t count;

    RETURN_IF_ERR(data_utf(s->r, s->arena, &out->type, "class", err));
    for (int i = 0; i < 3; i++)
        RETURN_IF_ERR(read_optional_map(s, false, &count, &unused, err));
    return RC_OK;
}

static enum rc read_row_data(struct snapshot_reader *s, struct flink_serializer *out,
                             struct err *err)
{
    size_t count;

    RETURN_IF_ERR(data_count(s->r, 5, SIZE_MAX, &count, "number of field types", err));
    RETURN_IF_ERR(skip_java(s, count, err));
    RETURN_IF_ERR(read_nested(s, out, err));
    if (out->child_count != count)
        return data_fault(s->r, s->r->pos, err, "a row of %zu field types has %zu serializers",
                          count, out->child_count);
    return RC_OK;
}

static bool is_composite(enum body body)
{
    return body >= BODY_COMPOSITE && body <= BODY_EXTERNAL;
}

/* What a composite writes before its nested snapshots. */
static enum rc read_outer(struct snapshot_reader *s, enum body body, int32_t outer,
                          struct flink_serializer *out, struct err *err)
{
    switch (body) {
    case BODY_TUPLE:
    case BODY_OBJECT_ARRAY:
        return data_utf(s->r, s->arena, &out->type, "class", err);
    case BODY_ROW:
        out->flag = outer >= 3;
        return outer >= 4 ? data_bool(s->r, &out->flag, "has a row kind", err) : RC_OK;
    case BODY_NULLABLE:
        return data_i32(s->r, &out->number, "padding", err);
    case BODY_LINKED_LIST:
        return outer >= 3 ? data_bool(s->r, &out->flag, "has a null mask", err) : RC_OK;
    case BODY_NULL_AWARE:
        out->flag = true;
        return RC_OK;
    case BODY_EXTERNAL: {
        bool internal;

        RETURN_IF_ERR(skip_java(s, 1, err));
        return data_bool(s->r, &internal, "takes internal values", err);
    }
    default:
        return RC_OK;
    }
}

static enum rc read_composite(struct snapshot_reader *s, const struct known_class *c,
                              struct flink_serializer *out, struct err *err)
{
    size_t at = s->r->pos;
    int32_t magic, outer = out->version;

    if (out->version > 2) {
        RETURN_IF_ERR(data_i32(s->r, &magic, "composite snapshot", err));
        if (magic != COMPOSITE_MAGIC)
            return data_fault(s->r, at, err, "the composite snapshot of %s begins with %d",
                              shown(s, out->snapshot_class), magic);
        RETURN_IF_ERR(data_i32(s->r, &outer, "outer version", err));
    }
    RETURN_IF_ERR(read_outer(s, c->body, outer, out, err));
    RETURN_IF_ERR(read_nested(s, out, err));
    if (c->children >= 0 && out->child_count != (size_t)c->children)
        return data_fault(s->r, at, err, "%s has %zu nested snapshots",
                          shown(s, out->snapshot_class), out->child_count);
    return RC_OK;
}

/* A class that is not in the table: see flink_serializer.h. */
static enum rc read_unknown(struct snapshot_reader *s, struct flink_serializer *out,
                            struct err *err)
{
    size_t at = s->r->pos, left = reader_left(s->r);
    const uint8_t *p = s->r->all.data + at;

    if (left < 4 || (int32_t)get_be32(p) != COMPOSITE_MAGIC) {
        s->assumed = out->snapshot_class;
        return RC_OK;
    }
    if (left < 12 || (int32_t)get_be32(p + 8) != NESTED_MAGIC) {
        s->assumed = out->snapshot_class;
        return err_set(err, RC_UNSUPPORTED,
                       "%s: unknown serializer %s has a body at offset %zu whose end is not known",
                       s->r->what, shown(s, out->snapshot_class), at);
    }
    s->r->pos += 8;
    return read_nested(s, out, err);
}

static enum rc read_body(struct snapshot_reader *s, const struct known_class *c,
                         struct flink_serializer *out, struct err *err)
{
    struct bytes name;

    if (is_composite(c->body))
        return read_composite(s, c, out, err);
    switch (c->body) {
    case BODY_SIMPLE:
        return out->version == 2 ? data_utf(s->r, s->arena, &name, "class", err) : RC_OK;
    case BODY_TTL_AWARE:
        RETURN_IF_ERR(data_bool(s->r, &out->flag, "time-to-live", err));
        return read_single(s, out, err);
    case BODY_POJO:
        return read_pojo(s, out, err);
    case BODY_ENUM:
        return read_enum(s, out, err);
    case BODY_KRYO:
        return read_kryo(s, out, err);
    case BODY_ROW_DATA:
        return read_row_data(s, out, err);
    case BODY_NUMBER:
        return data_i32(s->r, &out->number, "number", err);
    case BODY_TWO_NUMBERS:
        RETURN_IF_ERR(data_i32(s->r, &out->number, "precision", err));
        return data_i32(s->r, &out->scale, "scale", err);
    case BODY_JAVA_2:
        return skip_java(s, 2, err);
    default:
        return skip_java(s, 4, err);
    }
}

/* ---- what follows from what was read --------------------------------------------------------- */

/* Of arrays of primitives the element's coding is in the class's name. */
static void note_element(struct snapshot_reader *s, struct flink_serializer *out)
{
    static const struct {
        const char *name;
        enum flink_coding coding;
        int8_t length;
    } elements[] = {
        {"array.Boolean", FLINK_BOOLEAN, 1}, {"array.Short", FLINK_SHORT, 2},
        {"array.Int", FLINK_INT, 4},         {"array.Long", FLINK_LONG, 8},
        {"array.Float", FLINK_FLOAT, 4},     {"array.Double", FLINK_DOUBLE, 8},
        {"array.Char", FLINK_CHAR, 2},       {"array.String", FLINK_STRING, -1},
    };
    struct flink_serializer *e = ARENA_NEW(s->arena, struct flink_serializer);
    struct bytes rest = {out->snapshot_class.data + strlen(B), out->snapshot_class.len - strlen(B)};

    for (size_t i = 0; i < ARRAY_LEN(elements); i++)
        if (bytes_start_with(rest, bytes_of_str(elements[i].name))) {
            e->coding = elements[i].coding;
            e->length = elements[i].length;
        }
    out->children = ARENA_ARRAY(s->arena, 1, const struct flink_serializer *);
    out->children[0] = e;
    out->child_count = 1;
}

/* As TypeSerializer.getLength says. */
static int32_t length_of(const struct flink_serializer *s, int32_t simple)
{
    int64_t sum = 0;

    switch (s->coding) {
    case FLINK_TIMESTAMP_DATA:
        return s->number <= 3 ? 8 : 12;
    case FLINK_WRAPPER:
        return s->children[0]->length;
    case FLINK_NULLABLE:
        return s->number > 0 && s->number < INT32_MAX ? 1 + s->number : FLINK_VARIABLE;
    case FLINK_TUPLE:
        for (size_t i = 0; i < s->child_count; i++) {
            if (s->children[i]->length <= 0)
                return FLINK_VARIABLE;
            sum += s->children[i]->length;
        }
        return s->child_count > 0 && sum < INT32_MAX ? (int32_t)sum : FLINK_VARIABLE;
    default:
        return simple;
    }
}

static enum rc check_numbers(struct snapshot_reader *s, const struct flink_serializer *out,
                             size_t at, struct err *err)
{
    bool fits = true;

    if (out->coding == FLINK_DECIMAL_DATA)
        fits = out->number >= 1 && out->number <= 38 && out->scale >= 0 &&
               out->scale <= out->number;
    else if (out->coding == FLINK_TIMESTAMP_DATA)
        fits = out->number >= 0 && out->number <= 9;
    else if (out->coding == FLINK_NULLABLE || out->coding == FLINK_ROW_DATA)
        fits = out->number >= 0;
    return fits ? RC_OK
                : data_fault(s->r, at, err, "%s of %d, %d", shown(s, out->snapshot_class),
                             out->number, out->scale);
}

static enum rc read_known(struct snapshot_reader *s, const struct known_class *c, size_t at,
                          struct flink_serializer *out, struct err *err)
{
    if (out->version < 1)
        return data_fault(s->r, at, err, "%s has version %d", shown(s, out->snapshot_class),
                          out->version);
    out->coding = c->coding;
    RETURN_IF_ERR(read_body(s, c, out, err));
    RETURN_IF_ERR(check_numbers(s, out, at, err));
    if (out->coding == FLINK_ARRAY)
        note_element(s, out);
    out->length = length_of(out, c->length);
    return RC_OK;
}

static enum rc read_versioned(struct snapshot_reader *s, const struct flink_serializer **out,
                              struct err *err)
{
    struct flink_serializer *made = ARENA_NEW(s->arena, struct flink_serializer);
    const struct known_class *c;
    size_t at = s->r->pos;
    enum rc rc;

    if (s->depth == FLINK_SERIALIZER_DEPTH_MAX)
        return err_set(err, RC_LIMIT, "%s: serializers at offset %zu are nested deeper than %u",
                       s->r->what, at, FLINK_SERIALIZER_DEPTH_MAX);
    RETURN_IF_ERR(data_utf(s->r, s->arena, &made->snapshot_class, "serializer class", err));
    RETURN_IF_ERR(data_i32(s->r, &made->version, "serializer version", err));
    c = class_find(made->snapshot_class);
    made->length = FLINK_VARIABLE;
    s->depth++;
    rc = c != NULL ? read_known(s, c, at, made, err) : read_unknown(s, made, err);
    s->depth--;
    *out = made;
    return rc;
}

/* ---- entry points ---------------------------------------------------------------------------- */

enum rc flink_serializer_read(struct reader *r, struct arena *arena,
                              const struct flink_serializer **out, struct err *err)
{
    struct snapshot_reader s = {.r = r, .arena = arena};
    struct err why = {0};
    enum rc rc = read_versioned(&s, out, &why);

    if (rc == RC_CORRUPT && s.assumed.len > 0) /* so its body was not empty */
        return err_set(err, RC_UNSUPPORTED, "behind the unknown serializer %s: %s",
                       shown(&s, s.assumed), why.msg);
    return rc == RC_OK ? RC_OK : err_set(err, rc, "%s", why.msg);
}

enum rc flink_serializer_record(struct reader *r, struct arena *arena,
                                const struct flink_serializer **out, struct err *err)
{
    size_t at = r->pos;
    int32_t version;

    RETURN_IF_ERR(data_i32(r, &version, "serializer record", err));
    if (version != 2)
        return data_fault(r, at, err, "serializer record of version %d, 2 is known", version);
    return flink_serializer_read(r, arena, out, err);
}

const struct flink_serializer *flink_serializer_bare(const struct flink_serializer *s)
{
    while (s->coding == FLINK_WRAPPER)
        s = s->children[0];
    return s;
}

const struct flink_serializer *flink_serializer_assumed(const struct flink_serializer *s)
{
    const struct flink_serializer *found = NULL;

    for (size_t i = 0; i < s->child_count && found == NULL; i++)
        found = flink_serializer_assumed(s->children[i]);
    if (s->coding == FLINK_OPAQUE && s->child_count == 0 && s->type.len == 0)
        found = s;
    return found;
}

bool flink_serializer_is_known(const struct flink_serializer *s)
{
    for (size_t i = 0; i < s->child_count; i++)
        if (!flink_serializer_is_known(s->children[i]))
            return false;
    return s->coding != FLINK_OPAQUE;
}

/* ---- print ----------------------------------------------------------------------------------- */

static struct bytes behind_last(struct bytes name, char c)
{
    for (size_t i = name.len; i-- > 0;)
        if (name.data[i] == (uint8_t)c)
            return bytes_of(name.data + i + 1, name.len - i - 1);
    return name;
}

/* "LongSerializer$LongSerializerSnapshot" -> "LongSerializer"; "TimeWindow$Serializer$..." ->
 * "TimeWindow.Serializer"; "ListSerializerSnapshot" -> "ListSerializer". */
static void print_class(const struct flink_serializer *s, struct buf *out)
{
    struct bytes name = behind_last(s->snapshot_class, '.'), last = behind_last(name, '$');
    size_t len = name.len;

    if (s->coding == FLINK_TTL) { /* its outer class is a factory of states */
        buf_append_str(out, "TtlSerializer");
        return;
    }
    if (name.len == 0)
        buf_append_str(out, "?");
    if (last.len < name.len)
        len = name.len - last.len - 1;
    else if (bytes_end_with(name, bytes_of_str("Snapshot")))
        len -= strlen("Snapshot");
    for (size_t i = 0; i < len && i < NAME_SHOWN_MAX; i++) {
        uint8_t c = name.data[i] == '$' ? '.' : name.data[i];

        buf_append_escaped(out, bytes_of(&c, 1), 1);
    }
}

void flink_serializer_print(const struct flink_serializer *s, struct buf *out)
{
    bool pojo = s->coding == FLINK_POJO || s->coding == FLINK_ENUM ||
                (s->coding == FLINK_OPAQUE && s->child_count == 0);

    print_class(s, out);
    if (pojo && s->type.len > 0) {
        struct bytes type = behind_last(behind_last(s->type, '.'), '$');

        buf_append_str(out, "(");
        buf_append_escaped(out, type, NAME_SHOWN_MAX);
        buf_append_str(out, ")");
    }
    if (s->coding == FLINK_DECIMAL_DATA)
        buf_printf(out, "(%d, %d)", s->number, s->scale);
    if (s->coding == FLINK_TIMESTAMP_DATA)
        buf_printf(out, "(%d)", s->number);
    if (pojo || s->coding == FLINK_ARRAY || s->child_count == 0)
        return;
    for (size_t i = 0; i < s->child_count; i++) {
        buf_append_str(out, i == 0 ? "(" : ", ");
        flink_serializer_print(s->children[i], out);
        if (s->coding == FLINK_TTL)
            buf_append_str(out, i == 0 ? " timestamp" : " value");
    }
    buf_append_str(out, ")");
}
