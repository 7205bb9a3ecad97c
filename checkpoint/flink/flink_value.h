/* flink_value.h - bytes of Flink's state and their serializer -> a value as a small tree.
 *
 * Never reads past its bytes. Dates and times become texts as SQL has them, numbers that do not fit into 64 bits
 * their digits. What is opaque has no length of its own: inside bytes that end, it is all that is
 * left of them, and whatever would stand behind it is left out of the tree (`spent`); elsewhere it
 * is RC_UNSUPPORTED. Depth is bounded by the serializer's, parts by FLINK_VALUE_PARTS_MAX. No I/O;
 * thread: any.
 * After: the serializers of flink-core and flink-table-runtime. docs/FORMAT.md "State that Flink
 * wrote".
 */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_VALUE_H
#define VARVE_CHECKPOINT_FLINK_FLINK_VALUE_H

#include "checkpoint/flink/flink_serializer.h"

#define FLINK_VALUE_PARTS_MAX (1u << 20) /* values inside one value */

enum flink_value_kind {
    FLINK_VALUE_NULL,
    FLINK_VALUE_BOOL,    /* integer */
    FLINK_VALUE_INTEGER, /* integer */
    FLINK_VALUE_REAL,    /* real; single: a float */
    FLINK_VALUE_NUMBER,  /* text: decimal digits */
    FLINK_VALUE_TEXT,    /* text: UTF-8, lone surrogates as three bytes */
    FLINK_VALUE_BYTES,   /* text: raw */
    FLINK_VALUE_OPAQUE,  /* text: raw, of a type that is not known */
    FLINK_VALUE_LIST,    /* parts */
    FLINK_VALUE_MAP,     /* parts: key, value, key, value, ... */
    FLINK_VALUE_RECORD,  /* parts, each with its name */
};
struct flink_value {
    enum flink_value_kind kind;
    bool single;
    /* Of a date, time or both, besides its text: milliseconds since 1970 (of a time alone: since
     * midnight), and nanoseconds within them. */
    bool is_time;
    int32_t nanos;
    int64_t integer;
    double real;
    struct bytes text;
    struct bytes name; /* of a record's part */
    size_t part_count;
    struct flink_value *parts;
};

struct flink_decoder {
    struct reader *r;
    struct arena *arena; /* trees; texts too, raw bytes are the reader's */
    bool open_ended;     /* bytes that belong to something else may follow */
    /* of the last value */
    size_t parts;
    bool spent;
};
/* The next value. RC_CORRUPT with the offset; RC_UNSUPPORTED; RC_LIMIT. r->failed: the bytes ended
 * before the value did; nothing else is known to be wrong. */
MUST_USE enum rc flink_value_read(struct flink_decoder *d, const struct flink_serializer *s,
                                  struct flink_value *out, struct err *err);
/* A whole slice as one value. RC_CORRUPT when bytes are left. */
MUST_USE enum rc flink_value_of(struct bytes b, const struct flink_serializer *s,
                                struct arena *arena, const char *what, struct flink_value *out,
                                struct err *err);

/* As JSON: a record as an object, a map as one (keys that are no texts as their own JSON), bytes as
 * "0x..", a real that JSON has no number for as its name in quotes. Always valid UTF-8. */
void flink_value_json(const struct flink_value *v, struct buf *out);
/* "2023-11-14 22:13:20.000" and `zone`, in `arena`: of milliseconds since 1970. */
void flink_value_of_ms(int64_t ms, const char *zone, struct arena *arena, struct flink_value *out);
/* As a cell: a text as it is, anything else as JSON; "" of a null. */
void flink_value_text(const struct flink_value *v, struct buf *out);

#endif
