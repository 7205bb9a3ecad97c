/* flink_serializer.h - how Flink wrote a type: a serializer snapshot as a tree.
 *
 * A snapshot says what reads the bytes of a value: a class, its version, and a body that each class
 * writes in its own way, without a length. So every class of the table in flink_serializer.c is
 * known by name; of another one it is assumed, as most are singletons, that its body is empty, or,
 * when it begins as a composite, that it holds nested snapshots alone. What it wrote stays opaque,
 * and what stands behind it in the stream is read if that was right.
 *
 * Bounded by FLINK_SERIALIZER_DEPTH_MAX; counts meet the bytes that are left. Thread: any.
 * After: TypeSerializerSnapshotSerializationUtil, CompositeTypeSerializerSnapshot (flink-core).
 */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_SERIALIZER_H
#define VARVE_CHECKPOINT_FLINK_FLINK_SERIALIZER_H

#include "base/arena.h"

#define FLINK_SERIALIZER_DEPTH_MAX 64u
#define FLINK_VARIABLE (-1) /* of a length */

/* How a value lies in its bytes. */
enum flink_coding {
    FLINK_OPAQUE, /* Kryo, and classes that are not known */
    FLINK_BOOLEAN,
    FLINK_BYTE,
    FLINK_SHORT,
    FLINK_INT,
    FLINK_LONG,
    FLINK_FLOAT,
    FLINK_DOUBLE,
    FLINK_CHAR,
    FLINK_STRING,
    FLINK_DATE, /* milliseconds: java.util.Date */
    FLINK_SQL_DATE,
    FLINK_SQL_TIME,
    FLINK_SQL_TIMESTAMP,
    FLINK_INSTANT,
    FLINK_LOCAL_DATE,
    FLINK_LOCAL_TIME,
    FLINK_LOCAL_DATE_TIME,
    FLINK_BIG_INT,
    FLINK_BIG_DEC,
    FLINK_VOID,           /* one byte */
    FLINK_VOID_NAMESPACE, /* the same, but its length is said to be 0 */
    FLINK_GLOBAL_WINDOW,  /* the same */
    FLINK_TIME_WINDOW,
    FLINK_BYTES,
    FLINK_ARRAY, /* children[0]: of primitives or strings, no null flags */
    FLINK_OBJECT_ARRAY,
    FLINK_LIST,
    FLINK_LINKED_LIST, /* flag: has a null mask */
    FLINK_SET,
    FLINK_MAP, /* flag: keys have null flags too */
    FLINK_NULLABLE, /* number: padding */
    FLINK_EITHER,
    FLINK_TUPLE,
    FLINK_ROW, /* flag: has a kind */
    FLINK_POJO,
    FLINK_ENUM,
    FLINK_TTL,     /* children: timestamp, value */
    FLINK_TIMER,   /* children: key, namespace */
    FLINK_WRAPPER, /* exactly as children[0] */
    FLINK_ROW_DATA, /* children: fields; none: number of them, their types are not known */
    FLINK_STRING_DATA,
    FLINK_DECIMAL_DATA,   /* number: precision, scale */
    FLINK_TIMESTAMP_DATA, /* number: precision */
    FLINK_SIZED,          /* a size, then so many bytes: binary arrays and maps, raw values */
};

struct flink_subclass { /* of a Pojo's class */
    struct bytes class_name;
    const struct flink_serializer *serializer; /* NULL: not recorded */
};
struct flink_serializer {
    enum flink_coding coding;
    struct bytes snapshot_class;
    int32_t version;
    struct bytes type; /* Pojo, Tuple, Enum, Kryo, arrays: the class of values; else "" */
    int32_t number, scale;
    bool flag;
    size_t child_count;
    const struct flink_serializer **children;
    size_t name_count; /* Pojo: its fields, as many as children; Enum: its constants */
    struct bytes *names;
    size_t registered_count, other_count; /* Pojo */
    struct flink_subclass *registered, *others;
    int32_t length; /* of every value, as Flink's composite keys count it; FLINK_VARIABLE */
};

/* A serializer record: proxy version 2, then a versioned snapshot. Everything in `arena`.
 * RC_CORRUPT with the offset, RC_VERSION, RC_LIMIT; RC_UNSUPPORTED: an unknown class whose body has
 * no end that can be known, by name. */
MUST_USE enum rc flink_serializer_record(struct reader *r, struct arena *arena,
                                         const struct flink_serializer **out, struct err *err);
/* A versioned snapshot alone. */
MUST_USE enum rc flink_serializer_read(struct reader *r, struct arena *arena,
                                       const struct flink_serializer **out, struct err *err);

/* Without its wrappers. */
const struct flink_serializer *flink_serializer_bare(const struct flink_serializer *s);
/* Whether every value of it can be read: nothing opaque inside. */
bool flink_serializer_is_known(const struct flink_serializer *s);
/* One inside it whose class is not known, and whose body was taken to be empty: when what follows
 * makes no sense, it was not. NULL: there is none. */
const struct flink_serializer *flink_serializer_assumed(const struct flink_serializer *s);
/* "MapSerializer(StringSerializer, TtlSerializer(LongSerializer, PojoSerializer(Order)))": classes
 * by their short names, bytes that are not printable escaped. */
void flink_serializer_print(const struct flink_serializer *s, struct buf *out);

#endif
