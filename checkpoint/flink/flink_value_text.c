/* Values as text: numbers of any length, times, JSON. See flink_value.h. */
#include "base/utf8.h"
#include "checkpoint/flink/flink_value_priv.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define DIGITS_BYTES_MAX 4096u /* longer integers are shown as bytes */
#define PLAIN_SCALE_MAX 1000

void flink_value_set_text(struct flink_decoder *d, struct flink_value *out, const char *fmt, ...)
{
    char text[128];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    out->kind = FLINK_VALUE_TEXT;
    out->text = bytes_of_str(arena_strdup(d->arena, text));
}

/* ---- integers of any length ------------------------------------------------------------------ */

/* The magnitude's decimal digits, without leading zeroes; at least one. */
static void print_magnitude(uint8_t *bytes, size_t len, struct buf *out)
{
    struct buf reversed = {0};
    size_t first = 0;

    do { /* by 10^9, from the end */
        uint64_t rest = 0;

        for (size_t i = first; i < len; i++) {
            rest = rest << 8 | bytes[i];
            bytes[i] = (uint8_t)(rest / 1000000000u);
            rest %= 1000000000u;
        }
        while (first < len && bytes[first] == 0)
            first++;
        for (int i = 0; i < 9 && (first < len || rest > 0 || (i == 0 && reversed.len == 0)); i++) {
            buf_append_u8(&reversed, (uint8_t)('0' + rest % 10));
            rest /= 10;
        }
    } while (first < len);
    for (size_t i = reversed.len; i-- > 0;)
        buf_append_u8(out, reversed.data[i]);
    buf_release(&reversed);
}

static void print_scaled(struct bytes digits, int32_t scale, struct buf *out)
{
    size_t point = (size_t)scale, i;

    if (digits.len <= point) {
        buf_append_str(out, "0.");
        for (i = digits.len; i < point; i++)
            buf_append_u8(out, '0');
        buf_append(out, digits.data, digits.len);
        return;
    }
    buf_append(out, digits.data, digits.len - point);
    buf_append_u8(out, '.');
    buf_append(out, digits.data + digits.len - point, point);
}

void flink_value_set_decimal(struct flink_decoder *d, struct bytes unscaled, int32_t scale,
                             struct flink_value *out)
{
    struct buf digits = {0}, text = {0};
    bool negative = unscaled.len > 0 && unscaled.data[0] & 0x80;
    uint8_t *magnitude;
    unsigned carry = 1;

    if (unscaled.len > DIGITS_BYTES_MAX) {
        out->kind = FLINK_VALUE_BYTES;
        out->text = arena_bytes_copy(d->arena, unscaled);
        return;
    }
    magnitude = arena_copy(d->arena, unscaled.data, unscaled.len);
    for (size_t i = unscaled.len; negative && i-- > 0;) {
        carry += (uint8_t)~magnitude[i];
        magnitude[i] = (uint8_t)carry;
        carry >>= 8;
    }
    print_magnitude(magnitude, unscaled.len, &digits);
    if (negative)
        buf_append_u8(&text, '-');
    if (scale > 0 && scale <= PLAIN_SCALE_MAX)
        print_scaled(buf_bytes(&digits), scale, &text);
    else
        buf_append(&text, digits.data, digits.len);
    if (scale < 0 || scale > PLAIN_SCALE_MAX)
        buf_printf(&text, "E%" PRId64, -(int64_t)scale);
    out->kind = FLINK_VALUE_NUMBER;
    out->text = arena_bytes_copy(d->arena, buf_bytes(&text));
    buf_release(&digits);
    buf_release(&text);
}

/* ---- times ----------------------------------------------------------------------------------- */

#define DAY_MS 86400000ll

/* Year, month and day of days since 1970-01-01, in the Gregorian calendar before its time too. */
static void civil(int64_t days, int64_t *year, unsigned *month, unsigned *day)
{
    int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097;
    unsigned doe = (unsigned)(z - era * 146097);
    unsigned yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    unsigned doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;

    *day = doy - (153 * mp + 2) / 5 + 1;
    *month = mp < 10 ? mp + 3 : mp - 9;
    *year = (int64_t)yoe + era * 400 + (*month <= 2);
}

void flink_value_set_instant(struct flink_decoder *d, int64_t ms, int32_t nanos, int digits,
                             const char *zone, struct flink_value *out)
{
    int64_t days = ms / DAY_MS - (ms % DAY_MS < 0), in_day = ms - days * DAY_MS, year;
    char fraction[16] = "";
    unsigned month, day;

    civil(days, &year, &month, &day);
    snprintf(fraction, sizeof fraction, ".%03d%06d", (int)(in_day % 1000), nanos);
    fraction[digits <= 0 ? 0 : digits + 1] = '\0';
    flink_value_set_text(d, out, "%04" PRId64 "-%02u-%02u %02d:%02d:%02d%s%s", year, month, day,
                         (int)(in_day / 3600000), (int)(in_day / 60000 % 60),
                         (int)(in_day / 1000 % 60), fraction, zone);
    flink_value_set_time(out, ms, nanos);
}

void flink_value_set_time(struct flink_value *out, int64_t ms, int32_t nanos)
{
    out->is_time = true;
    out->integer = ms;
    out->nanos = nanos;
}

int64_t flink_value_days(int32_t year, unsigned month, unsigned day)
{
    int64_t y = (int64_t)year - (month <= 2), era = (y >= 0 ? y : y - 399) / 400;
    unsigned yoe = (unsigned)(y - era * 400), doy = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;

    return era * 146097 + (int64_t)(yoe * 365 + yoe / 4 - yoe / 100 + doy) - 719468;
}

void flink_value_of_ms(int64_t ms, const char *zone, struct arena *arena, struct flink_value *out)
{
    struct flink_decoder d = {.arena = arena};

    flink_value_set_instant(&d, ms, 0, 3, zone, out);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_text(struct bytes text, struct buf *out)
{
    struct buf valid = {0};

    if (!utf8_is_valid(text)) {
        utf8_append_valid(text, &valid);
        text = buf_bytes(&valid);
    }
    buf_append_u8(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];

        if (c == '"' || c == '\\')
            buf_append_u8(out, '\\');
        if (c < 0x20 || c == 0x7F)
            buf_printf(out, "\\u%04x", c);
        else
            buf_append_u8(out, c);
    }
    buf_append_u8(out, '"');
    buf_release(&valid);
}

static void put_hex(struct bytes b, struct buf *out)
{
    static const char digits[] = "0123456789abcdef";

    buf_append_str(out, "0x");
    for (size_t i = 0; i < b.len; i++) {
        buf_append_u8(out, (uint8_t)digits[b.data[i] >> 4]);
        buf_append_u8(out, (uint8_t)digits[b.data[i] & 15]);
    }
}

/* The shortest text that reads back as the same number. */
static void put_real(const struct flink_value *v, struct buf *out)
{
    char text[40];
    int precision = v->single ? 6 : 15;

    if (!isfinite(v->real)) {
        buf_append_str(out, isnan(v->real) ? "\"NaN\"" : v->real > 0 ? "\"Infinity\"" : "\"-Infinity\"");
        return;
    }
    for (;; precision++) {
        snprintf(text, sizeof text, "%.*g", precision, v->real);
        if (precision >= (v->single ? 9 : 17) ||
            (v->single ? (double)strtof(text, NULL) == v->real : strtod(text, NULL) == v->real))
            break;
    }
    if (strpbrk(text, ".e") == NULL)
        strncat(text, ".0", sizeof text - strlen(text) - 1);
    buf_append_str(out, text);
}

static void put_list(const struct flink_value *v, struct buf *out)
{
    buf_append_u8(out, '[');
    for (size_t i = 0; i < v->part_count; i++) {
        if (i > 0)
            buf_append_u8(out, ',');
        flink_value_json(&v->parts[i], out);
    }
    buf_append_u8(out, ']');
}

static void put_name(const struct flink_value *key, struct buf *out)
{
    struct buf text = {0};

    if (key->kind == FLINK_VALUE_TEXT) {
        put_text(key->text, out);
        return;
    }
    flink_value_json(key, &text);
    if (text.len > 0 && text.data[0] == '"')
        buf_append(out, text.data, text.len);
    else
        put_text(buf_bytes(&text), out);
    buf_release(&text);
}

static void put_object(const struct flink_value *v, struct buf *out)
{
    bool map = v->kind == FLINK_VALUE_MAP;

    buf_append_u8(out, '{');
    for (size_t i = 0; i < v->part_count; i += map ? 2 : 1) {
        if (i > 0)
            buf_append_u8(out, ',');
        if (map)
            put_name(&v->parts[i], out);
        else
            put_text(v->parts[i].name, out);
        buf_append_u8(out, ':');
        if (!map)
            flink_value_json(&v->parts[i], out);
        else if (i + 1 < v->part_count)
            flink_value_json(&v->parts[i + 1], out);
        else
            buf_append_str(out, "null");
    }
    buf_append_u8(out, '}');
}

void flink_value_json(const struct flink_value *v, struct buf *out)
{
    switch (v->kind) {
    case FLINK_VALUE_NULL:
        buf_append_str(out, "null");
        break;
    case FLINK_VALUE_BOOL:
        buf_append_str(out, v->integer ? "true" : "false");
        break;
    case FLINK_VALUE_INTEGER:
        buf_printf(out, "%" PRId64, v->integer);
        break;
    case FLINK_VALUE_REAL:
        put_real(v, out);
        break;
    case FLINK_VALUE_NUMBER:
        buf_append(out, v->text.data, v->text.len);
        break;
    case FLINK_VALUE_TEXT:
        put_text(v->text, out);
        break;
    case FLINK_VALUE_BYTES:
    case FLINK_VALUE_OPAQUE:
        buf_append_u8(out, '"');
        put_hex(v->text, out);
        buf_append_u8(out, '"');
        break;
    case FLINK_VALUE_LIST:
        put_list(v, out);
        break;
    case FLINK_VALUE_MAP:
    case FLINK_VALUE_RECORD:
        put_object(v, out);
        break;
    }
}

void flink_value_text(const struct flink_value *v, struct buf *out)
{
    if (v->kind == FLINK_VALUE_TEXT)
        utf8_append_valid(v->text, out);
    else if (v->kind == FLINK_VALUE_BYTES || v->kind == FLINK_VALUE_OPAQUE)
        put_hex(v->text, out);
    else if (v->kind != FLINK_VALUE_NULL)
        flink_value_json(v, out);
}
