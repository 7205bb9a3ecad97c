/* flink_cast.h - one value that Flink wrote as a value of a SQL type of varve's, only where nothing
 * of it is lost.
 *
 * Which kinds of types go over is decided by the serializer (flink_cast_fits), the rest by each
 * value: numbers in range and without digits to spare, texts that are UTF-8 and short enough, null
 * only where the type takes it. Pure; nothing is allocated but what the arena of the value has.
 * Thread: any. docs/REFERENCE.md has the table.
 */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_CAST_H
#define VARVE_CHECKPOINT_FLINK_FLINK_CAST_H

#include "backend/binary_row.h"
#include "checkpoint/flink/flink_value.h"

enum cast_word {
    CAST_BOOLEAN,
    CAST_TINYINT,
    CAST_SMALLINT,
    CAST_INT,
    CAST_BIGINT,
    CAST_WIDE, /* of totals: 128 bits, in two columns */
    CAST_FLOAT,
    CAST_DOUBLE,
    CAST_DECIMAL,
    CAST_CHAR,
    CAST_VARCHAR,
    CAST_BINARY,
    CAST_VARBINARY,
    CAST_DATE,
    CAST_TIME,
    CAST_TIMESTAMP,
    CAST_TIMESTAMP_LTZ,
};
struct cast_type {
    enum cast_word word;
    int32_t precision; /* DECIMAL, times; texts and bytes: their length */
    int32_t scale;     /* DECIMAL, WIDE */
    bool nullable;
    const char *text; /* as it was given */
};
/* "DECIMAL(10, 2) NOT NULL"; borrowed. false: a type that is none of these. */
bool cast_type_parse(const char *text, struct cast_type *out);
enum field_kind cast_type_field(const struct cast_type *t);

struct cast_value {
    bool null;
    int128 number; /* BOOLEAN to BIGINT, DATE (days), TIME (ms); DECIMAL and WIDE: unscaled; times: ms */
    uint32_t nanos;
    double real;
    struct bytes bytes;
};
/* Whether values of a serializer may become values of the type. */
bool flink_cast_fits(const struct flink_serializer *s, const struct cast_type *t);
/* RC_INVALID says the value and why it does not go over. */
MUST_USE enum rc flink_cast(const struct flink_value *v, const struct cast_type *t,
                            struct cast_value *out, struct err *err);
/* Into a row's field (not WIDE), or, as the type's serializer writes it, behind `out`: not null then. */
void cast_value_field(const struct cast_value *v, const struct cast_type *t, struct row_writer *w,
                      uint32_t field);
void cast_value_put(const struct cast_value *v, const struct cast_type *t, struct buf *out);

#endif
