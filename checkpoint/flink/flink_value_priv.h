/* flink_value_priv.h - what the readers of values share; for flink_value*.c and flink_row_data.c only */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_VALUE_PRIV_H
#define VARVE_CHECKPOINT_FLINK_FLINK_VALUE_PRIV_H

#include "checkpoint/flink/flink_value.h"

/* A binary row, which is all of `row`. offset: of it, for messages. */
enum rc flink_row_data(struct flink_decoder *d, const struct flink_serializer *s, struct bytes row,
                       size_t offset, struct flink_value *out, struct err *err);

/* The next value, which is part of a larger one. */
enum rc flink_value_part(struct flink_decoder *d, const struct flink_serializer *s,
                         struct flink_value *out, struct err *err);
/* The same, of a serializer that is made of others, or opaque. */
enum rc flink_value_composite(struct flink_decoder *d, const struct flink_serializer *s,
                              struct flink_value *out, struct err *err);
/* What values are made of: bytes with their number in front, 0 or 1, a big-endian number. */
enum rc flink_value_sized(struct flink_decoder *d, const char *what, struct bytes *out,
                          struct err *err);
enum rc flink_value_flag(struct flink_decoder *d, const char *what, bool *out, struct err *err);
enum rc flink_value_bits(struct flink_decoder *d, uint32_t width, uint64_t *out, struct err *err);
void flink_value_set_integer(struct flink_value *out, int64_t n);

/* Room for parts; RC_LIMIT. */
enum rc flink_value_parts(struct flink_decoder *d, enum flink_value_kind kind, size_t count,
                          struct flink_value *out, struct err *err);
void flink_value_set_text(struct flink_decoder *d, struct flink_value *out, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* Two's complement, any length, as digits with `scale` of them behind the point. */
void flink_value_set_decimal(struct flink_decoder *d, struct bytes unscaled, int32_t scale,
                             struct flink_value *out);
/* "2023-11-14 22:13:20.000Z" of milliseconds since 1970 and nanoseconds within them; digits: of the
 * second's fraction; zone: "Z" or "". */
void flink_value_set_instant(struct flink_decoder *d, int64_t ms, int32_t nanos, int digits,
                             const char *zone, struct flink_value *out);
/* What the text of `out` says in numbers (flink_value.h). */
void flink_value_set_time(struct flink_value *out, int64_t ms, int32_t nanos);
/* Days since 1970 of a date of the Gregorian calendar, before its time too. month: 1..12 */
int64_t flink_value_days(int32_t year, unsigned month, unsigned day);
void flink_value_set_name(struct flink_value *part, struct bytes name);
/* "f0", "f1", ... */
struct bytes flink_field_name(struct arena *arena, size_t i);

#endif
