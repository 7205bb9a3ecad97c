/* field_parse_priv.h - text to value, one field; inlined where rows are appended and where columns
 * are filled. */
#ifndef VARVE_JOB_FORMAT_FIELD_PARSE_PRIV_H
#define VARVE_JOB_FORMAT_FIELD_PARSE_PRIV_H

#include "job/datetime.h"
#include "job/decimal.h"
#include "job/format/field.h"
#include "job/number.h"

#include <math.h>

/* Java's String.trim: everything up to the blank. */
static inline struct bytes trim(struct bytes t)
{
    while (t.len > 0 && t.data[0] <= ' ') {
        t.data++;
        t.len--;
    }
    while (t.len > 0 && t.data[t.len - 1] <= ' ')
        t.len--;
    return t;
}

#define INT64_DIGITS 19 /* every number of so many digits fits uint64_t */

static inline enum field_fault parse_int(struct bytes text, int64_t min, int64_t max, int64_t *out)
{
    struct bytes t = trim(text);
    const uint8_t *p = t.data, *end = p + t.len;
    bool negative = false;
    uint64_t v = 0;

    if (p < end && (*p == '-' || *p == '+'))
        negative = *p++ == '-';
    if (p == end)
        return FIELD_NOT_NUMBER;
    if (end - p > INT64_DIGITS) {
        while (p < end - 1 && *p == '0')
            p++;
    }
    if (end - p > INT64_DIGITS) {
        for (; p < end; p++) {
            if (*p < '0' || *p > '9')
                return FIELD_NOT_NUMBER;
        }
        return FIELD_OUT_OF_RANGE;
    }
    for (; p < end; p++) {
        unsigned digit = (unsigned)*p - '0';

        if (digit > 9)
            return FIELD_NOT_NUMBER;
        v = v * 10 + digit;
    }
    if (negative ? v > (uint64_t)max + 1 : v > (uint64_t)max)
        return FIELD_OUT_OF_RANGE;
    *out = negative ? (int64_t)(0 - v) : (int64_t)v;
    return *out < min ? FIELD_OUT_OF_RANGE : FIELD_OK;
}

static inline bool equals_ignoring_case(struct bytes t, const char *word)
{
    size_t len = strlen(word);

    if (t.len != len)
        return false;
    for (size_t i = 0; i < len; i++) {
        if ((t.data[i] | 0x20) != (uint8_t)word[i])
            return false;
    }
    return true;
}

static inline enum field_fault parse_boolean(struct bytes text, bool *out)
{
    struct bytes t = trim(text);

    *out = equals_ignoring_case(t, "true");
    return *out || equals_ignoring_case(t, "false") ? FIELD_OK : FIELD_NOT_BOOLEAN;
}

static inline enum field_fault parse_real(struct bytes text, double *out)
{
    return number_parse_double(text, out, NULL) == RC_OK ? FIELD_OK : FIELD_NOT_NUMBER;
}

static inline enum field_fault parse_decimal(const struct type *type, struct bytes text,
                                             int128 *out)
{
    double real;

    if (decimal_parse(text, type->precision, type->scale, out, NULL) == RC_OK)
        return FIELD_OK;
    return number_parse_double(text, &real, NULL) == RC_OK && !isnan(real) ? FIELD_OUT_OF_RANGE
                                                                           : FIELD_NOT_NUMBER;
}

/* DATE, TIME, TIMESTAMP, TIMESTAMP_LTZ. */
static inline enum field_fault parse_datetime(const struct type *type, struct bytes text,
                                              int64_t *out)
{
    bool zoned = false;
    int32_t small;

    switch (type->kind) {
    case TYPE_DATE:
        if (date_parse(text, &small, NULL) != RC_OK)
            return FIELD_NOT_DATE;
        *out = small;
        return FIELD_OK;
    case TYPE_TIME:
        if (time_parse(text, type->precision < 3 ? type->precision : 3, &small, NULL) != RC_OK)
            return FIELD_NOT_TIME;
        *out = small;
        return FIELD_OK;
    case TYPE_TIMESTAMP:
        return timestamp_parse(text, type->precision, NULL, out, NULL) == RC_OK
                   ? FIELD_OK
                   : FIELD_NOT_TIMESTAMP;
    default:
        if (timestamp_parse(text, type->precision, &zoned, out, NULL) != RC_OK)
            return FIELD_NOT_TIMESTAMP;
        return zoned ? FIELD_OK : FIELD_NOT_INSTANT;
    }
}

#endif
