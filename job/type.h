/* type.h - SQL types and schemas: plain values. Flink's names and limits. */
#ifndef VARVE_JOB_TYPE_H
#define VARVE_JOB_TYPE_H

#include "base/arena.h"

enum type_kind {
    TYPE_NULL, /* of the literal NULL, before it is coerced */
    TYPE_BOOLEAN,
    TYPE_TINYINT,
    TYPE_SMALLINT,
    TYPE_INT,
    TYPE_BIGINT,
    TYPE_FLOAT,
    TYPE_DOUBLE,
    TYPE_DECIMAL,       /* precision 1..38, scale 0..precision */
    TYPE_CHAR,          /* length in code points */
    TYPE_VARCHAR,       /* STRING = VARCHAR(2147483647) */
    TYPE_BINARY,        /* length in bytes */
    TYPE_VARBINARY,     /* BYTES = VARBINARY(2147483647) */
    TYPE_DATE,          /* days since 1970-01-01 */
    TYPE_TIME,          /* ms of the day; precision kept for show */
    TYPE_TIMESTAMP,     /* precision 0..9, without time zone */
    TYPE_TIMESTAMP_LTZ, /* precision 0..9, an instant */
    TYPE_INTERVAL_DAY,  /* ms */
    TYPE_INTERVAL_YEAR, /* months */
};
#define TYPE_LENGTH_MAX 2147483647

struct type {
    enum type_kind kind;
    bool nullable;
    uint8_t precision, scale; /* DECIMAL, TIME, TIMESTAMP* */
    int32_t length;           /* CHAR, VARCHAR, BINARY, VARBINARY */
};

struct schema_field {
    const char *name;
    struct type type;
};
struct schema {
    uint32_t field_count;
    struct schema_field *fields;
    int32_t rowtime; /* index of the event-time column, -1 when there is none */
};

struct type type_of(enum type_kind kind); /* nullable, default precision: DECIMAL(10,0), TIMESTAMP(6), STRING */
static inline bool type_is_varlen(enum type_kind k) { return k >= TYPE_CHAR && k <= TYPE_VARBINARY; }
static inline bool type_is_text(enum type_kind k) { return k == TYPE_CHAR || k == TYPE_VARCHAR; }
static inline bool type_is_integer(enum type_kind k) { return k >= TYPE_TINYINT && k <= TYPE_BIGINT; }
static inline bool type_is_numeric(enum type_kind k) { return k >= TYPE_TINYINT && k <= TYPE_DECIMAL; }
static inline bool type_is_timestamp(enum type_kind k) { return k == TYPE_TIMESTAMP || k == TYPE_TIMESTAMP_LTZ; }
bool type_eq(struct type a, struct type b, bool with_nullable);
/* Bytes of one value in a column: 1, 2, 4, 8, 16; 0 for BOOLEAN (a bit) and variable length. */
static inline uint32_t type_width(enum type_kind kind)
{
    static const uint8_t width[] = {
        [TYPE_NULL] = 0,         [TYPE_TINYINT] = 1,       [TYPE_SMALLINT] = 2,
        [TYPE_INT] = 4,          [TYPE_BIGINT] = 8,        [TYPE_FLOAT] = 4,
        [TYPE_DOUBLE] = 8,       [TYPE_DECIMAL] = 16,      [TYPE_DATE] = 4,
        [TYPE_TIME] = 4,         [TYPE_TIMESTAMP] = 8,     [TYPE_TIMESTAMP_LTZ] = 8,
        [TYPE_INTERVAL_DAY] = 8, [TYPE_INTERVAL_YEAR] = 4,
    };
    return width[kind];
}
/* As Flink prints it: "DECIMAL(10, 2)", "STRING", "TIMESTAMP(3) NOT NULL" (NOT NULL when with_nullable). */
void type_print(struct type t, bool with_nullable, struct buf *out);
/* The type that type_print prints so, without NOT NULL; false: it is none. */
MUST_USE bool type_parse(const char *text, struct type *out);
const char *type_str(struct arena *a, struct type t, bool with_nullable);
/* "ROW<`k` STRING, `n` BIGINT NOT NULL>" */
const char *schema_str(struct arena *a, const struct schema *s);
struct schema *schema_copy(struct arena *a, const struct schema *s);
/* Index of the field, exact case; -1. */
int32_t schema_find(const struct schema *s, const char *name);

/* Values of TIMESTAMP(p) and TIMESTAMP_LTZ(p) in a column are int64 in the unit of their precision:
 * p 0..3 milliseconds, 4..6 microseconds, 7..9 nanoseconds (range 1677..2262; outside it: RC_INVALID). */
int64_t timestamp_units_per_ms(uint8_t precision); /* 1, 1000, 1000000 */

#endif
