/* java_stream.h - one Java object out of a serialization stream, without Java and without classes.
 *
 * The stream describes its own classes, so any object can be walked: what it is made of comes as a
 * tree, nothing is run. An object that is met again is the same node: a tree with shared branches,
 * which may even hold itself; walkers bound their depth. Bounded by JAVA_DEPTH_MAX and
 * JAVA_VALUES_MAX. Thread: any.
 * After: Java Object Serialization Specification, version 5 of the protocol.
 */
#ifndef VARVE_CHECKPOINT_FLINK_JAVA_STREAM_H
#define VARVE_CHECKPOINT_FLINK_JAVA_STREAM_H

#include "base/arena.h"

#define JAVA_DEPTH_MAX 64u
#define JAVA_VALUES_MAX 65536u /* of one stream */

enum java_kind {
    JAVA_NULL,
    JAVA_BOOLEAN,    /* integer 0 or 1 */
    JAVA_INTEGER,    /* integer: byte, short, char, int, long */
    JAVA_REAL,       /* real: float, double */
    JAVA_STRING,     /* text */
    JAVA_ENUM,       /* class_name; text: the constant */
    JAVA_OBJECT,     /* class_name; fields by name, those of its base classes first; data */
    JAVA_ARRAY,      /* class_name; items */
    JAVA_BLOCK,      /* text: bytes that its class wrote by hand */
    JAVA_CLASS,      /* class_name: a class as a value */
    JAVA_CLASS_DESC, /* class_name: a description as a value */
};
struct java_value;
struct java_field {
    struct bytes name;
    const struct java_value *value;
};
struct java_value {
    enum java_kind kind;
    int64_t integer;
    double real;
    struct bytes text, class_name;
    size_t field_count;
    struct java_field *fields;
    size_t item_count;
    const struct java_value **items; /* of an array; of an object what its class wrote by hand */
};

/* Reads one object from its header ("AC ED 00 05") on; the reader then stands behind it. Everything
 * in `arena`. RC_CORRUPT with the offset, RC_LIMIT. */
MUST_USE enum rc java_stream_read(struct reader *r, struct arena *arena,
                                  const struct java_value **out, struct err *err);
/* A field of an object; NULL: it has none of that name, or is no object. */
const struct java_value *java_field(const struct java_value *v, const char *name);

#endif
