/* number.c - see number.h */
#include "job/number.h"

#include "base/arena.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define QUOTE_BYTES 40u
/* A number's text past this is refused: no double needs more than 1100 digits, and the rest is
 * someone's mistake. */
#define NUMBER_TEXT_MAX 4096u

const char *text_quote(struct bytes text, char out[TEXT_QUOTE_MAX])
{
    size_t n = text.len < QUOTE_BYTES ? text.len : QUOTE_BYTES, at = 0;

    while (n < text.len && n > 0 && (text.data[n] & 0xc0) == 0x80)
        n--; /* not in the middle of a code point */
    out[at++] = '\'';
    for (size_t i = 0; i < n; i++)
        out[at++] = text.data[i] < 0x20 || text.data[i] == 0x7f ? '?' : (char)text.data[i];
    if (n < text.len) {
        memcpy(out + at, "...", 3);
        at += 3;
    }
    out[at++] = '\'';
    out[at] = '\0';
    return out;
}

static struct bytes trim_blanks(struct bytes t)
{
    while (t.len > 0 && t.data[0] <= 0x20)
        t = bytes_of(t.data + 1, t.len - 1);
    while (t.len > 0 && t.data[t.len - 1] <= 0x20)
        t.len--;
    return t;
}

static enum rc not_a_number(struct bytes text, struct err *err)
{
    char quoted[TEXT_QUOTE_MAX];

    if (err == NULL)
        return RC_INVALID;
    return err_set(err, RC_INVALID, "%s is not a number", text_quote(text, quoted));
}

enum rc number_parse_int(struct bytes text, int64_t min, int64_t max, int64_t *out, struct err *err)
{
    struct bytes t = trim_blanks(text);
    char quoted[TEXT_QUOTE_MAX];
    bool negative = false, over = false;
    size_t i = 0;
    uint64_t v = 0, limit;

    if (t.len > 0 && (t.data[0] == '-' || t.data[0] == '+')) {
        negative = t.data[0] == '-';
        i = 1;
    }
    if (i == t.len)
        return not_a_number(text, err);
    limit = negative ? (uint64_t) - (min + 1) + 1 : (uint64_t)max;
    if (negative && min >= 0)
        limit = 0;
    for (; i < t.len; i++) {
        uint32_t digit = (uint32_t)t.data[i] - '0';

        if (digit > 9)
            return not_a_number(text, err);
        if (over || digit > limit || v > (limit - digit) / 10)
            over = true;
        else
            v = v * 10 + digit;
    }
    if (over || (!negative && min > 0 && v < (uint64_t)min)) {
        if (err == NULL)
            return RC_INVALID;
        return err_set(err, RC_INVALID, "%s does not fit: %lld..%lld", text_quote(text, quoted),
                       (long long)min, (long long)max);
    }
    *out = negative ? (int64_t)(0 - v) : (int64_t)v;
    return RC_OK;
}

/* Checks the shape [+-]digits[.digits][e[+-]digits] with a digit before the exponent. */
static bool is_decimal_text(struct bytes t)
{
    size_t i = 0, digits = 0;

    if (i < t.len && (t.data[i] == '-' || t.data[i] == '+'))
        i++;
    for (; i < t.len && t.data[i] >= '0' && t.data[i] <= '9'; i++)
        digits++;
    if (i < t.len && t.data[i] == '.') {
        for (i++; i < t.len && t.data[i] >= '0' && t.data[i] <= '9'; i++)
            digits++;
    }
    if (digits == 0)
        return false;
    if (i < t.len && (t.data[i] | 0x20) == 'e') {
        i++;
        if (i < t.len && (t.data[i] == '-' || t.data[i] == '+'))
            i++;
        if (i == t.len)
            return false;
        while (i < t.len && t.data[i] >= '0' && t.data[i] <= '9')
            i++;
    }
    return i == t.len;
}

enum rc number_parse_double(struct bytes text, double *out, struct err *err)
{
    struct bytes t = trim_blanks(text), word = t;
    bool negative = t.len > 0 && t.data[0] == '-';
    char copy[NUMBER_TEXT_MAX + 1];

    if (t.len > 0 && (t.data[0] == '-' || t.data[0] == '+'))
        word = bytes_of(t.data + 1, t.len - 1);
    if (bytes_eq(word, bytes_of_str("Infinity"))) {
        *out = negative ? -INFINITY : INFINITY;
        return RC_OK;
    }
    if (bytes_eq(word, bytes_of_str("NaN"))) {
        *out = NAN;
        return RC_OK;
    }
    if (t.len > NUMBER_TEXT_MAX || !is_decimal_text(t))
        return not_a_number(text, err);
    memcpy(copy, t.data, t.len);
    copy[t.len] = '\0';
    *out = strtod(copy, NULL);
    return RC_OK;
}

/* ---- printing -------------------------------------------------------------------------------- */

/* From "d.ddde[+-]xx" (of printf) to Java's shape. `digits` holds d and ddd without the point. */
static void print_java(bool negative, const char *digits, int count, int exponent, struct buf *out)
{
    if (negative)
        buf_append_u8(out, '-');
    while (count > 1 && digits[count - 1] == '0')
        count--;
    if (exponent < -3 || exponent >= 7) {
        buf_append_u8(out, (uint8_t)digits[0]);
        buf_append_u8(out, '.');
        if (count == 1)
            buf_append_u8(out, '0');
        else
            buf_append(out, digits + 1, (size_t)count - 1);
        buf_append_u8(out, 'E');
        number_print_int(exponent, out);
    } else if (exponent < 0) {
        buf_append_str(out, "0.");
        for (int i = -1; i > exponent; i--)
            buf_append_u8(out, '0');
        buf_append(out, digits, (size_t)count);
    } else {
        for (int i = 0; i <= exponent; i++)
            buf_append_u8(out, (uint8_t)(i < count ? digits[i] : '0'));
        buf_append_u8(out, '.');
        if (count > exponent + 1)
            buf_append(out, digits + exponent + 1, (size_t)(count - exponent - 1));
        else
            buf_append_u8(out, '0');
    }
}

/* The shortest of `low`..`high` significant digits that read back as v, and at least two where one
 * would do (so prints Java: 4.9E-324). Numbers with fewer than `low` digits show as trailing zeros,
 * which print_java takes off. */
static void print_shortest(double v, bool is_float, int low, int high, struct buf *out)
{
    char text[40], digits[24];
    int count = 0, exponent;

    for (int p = low; p <= high; p++) {
        snprintf(text, sizeof text, "%.*e", p - 1, fabs(v));
        if (is_float ? strtof(text, NULL) == (float)fabs(v) : strtod(text, NULL) == fabs(v))
            break;
    }
    for (const char *c = text; *c != 'e'; c++) {
        if (*c != '.')
            digits[count++] = *c;
    }
    exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10);
    print_java(signbit(v) != 0, digits, count, exponent, out);
}

static bool print_special(double v, struct buf *out)
{
    if (isnan(v))
        buf_append_str(out, "NaN");
    else if (isinf(v))
        buf_append_str(out, v < 0 ? "-Infinity" : "Infinity");
    else if (v == 0)
        buf_append_str(out, signbit(v) ? "-0.0" : "0.0");
    else
        return false;
    return true;
}

void number_print_double(double v, struct buf *out)
{
    if (print_special(v, out))
        return;
    /* Integers that print without an exponent are common and exact. */
    if (fabs(v) < 1e7 && v == (double)(int64_t)v) {
        number_print_int((int64_t)v, out);
        buf_append(out, ".0", 2);
        return;
    }
    print_shortest(v, false, fabs(v) < 2.3e-308 ? 2 : 15, 17, out);
}

void number_print_float(float v, struct buf *out)
{
    if (print_special((double)v, out))
        return;
    print_shortest((double)v, true, fabsf(v) < 1.2e-38f ? 2 : 6, 9, out);
}

void number_print_int(int64_t v, struct buf *out)
{
    char text[20];
    size_t at = sizeof text;
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;

    do {
        text[--at] = (char)('0' + u % 10);
        u /= 10;
    } while (u != 0);
    if (v < 0)
        buf_append_u8(out, '-');
    buf_append(out, text + at, sizeof text - at);
}
