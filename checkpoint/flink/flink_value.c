/* flink_value.c - see flink_value.h */
#include "checkpoint/flink/flink_value.h"

#include "base/utf8.h"
#include "checkpoint/flink/data_input.h"
#include "checkpoint/flink/flink_value_priv.h"

#include <stdio.h>

/* ---- parts ----------------------------------------------------------------------------------- */

enum rc flink_value_parts(struct flink_decoder *d, enum flink_value_kind kind, size_t count,
                          struct flink_value *out, struct err *err)
{
    if (count > FLINK_VALUE_PARTS_MAX || d->parts + count > FLINK_VALUE_PARTS_MAX)
        return err_set(err, RC_LIMIT, "%s: the value before offset %zu has more than %u parts",
                       d->r->what, d->r->pos, FLINK_VALUE_PARTS_MAX);
    d->parts += count;
    out->kind = kind;
    out->part_count = count;
    out->parts = ARENA_ARRAY(d->arena, count + 1, struct flink_value);
    return RC_OK;
}

void flink_value_set_name(struct flink_value *part, struct bytes name)
{
    part->name = name;
}

struct bytes flink_field_name(struct arena *arena, size_t i)
{
    static const char *const few[] = {"f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7"};

    return bytes_of_str(i < ARRAY_LEN(few) ? few[i] : arena_printf(arena, "f%zu", i));
}

enum rc flink_value_sized(struct flink_decoder *d, const char *what, struct bytes *out,
                          struct err *err)
{
    size_t at = d->r->pos;
    int32_t n;

    RETURN_IF_ERR(data_i32(d->r, &n, what, err));
    if (n < 0)
        return data_fault(d->r, at, err, "%s: %d", what, n);
    return reader_take(d->r, (size_t)n, out, what, err);
}

enum rc flink_value_flag(struct flink_decoder *d, const char *what, bool *out, struct err *err)
{
    size_t at = d->r->pos;
    uint8_t v;

    RETURN_IF_ERR(reader_u8(d->r, &v, what, err));
    if (v > 1)
        return data_fault(d->r, at, err, "%s: %u, neither 0 nor 1", what, v);
    *out = v != 0;
    return RC_OK;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Bits of a number: big-endian. */
enum rc flink_value_bits(struct flink_decoder *d, uint32_t width, uint64_t *out, struct err *err)
{
    struct bytes b;

    RETURN_IF_ERR(reader_take(d->r, width, &b, "number", err));
    *out = 0;
    for (uint32_t i = 0; i < width; i++)
        *out = *out << 8 | b.data[i];
    return RC_OK;
}

void flink_value_set_integer(struct flink_value *out, int64_t n)
{
    out->kind = FLINK_VALUE_INTEGER;
    out->integer = n;
}

static enum rc read_number(struct flink_decoder *d, const struct flink_serializer *s,
                           struct flink_value *out, struct err *err)
{
    uint32_t width = (uint32_t)s->length, low;
    uint64_t bits;
    float single;

    RETURN_IF_ERR(flink_value_bits(d, width, &bits, err));
    if (s->coding == FLINK_DOUBLE) {
        out->kind = FLINK_VALUE_REAL;
        memcpy(&out->real, &bits, sizeof bits);
    } else if (s->coding == FLINK_FLOAT) {
        low = (uint32_t)bits;
        memcpy(&single, &low, sizeof low);
        out->kind = FLINK_VALUE_REAL;
        out->real = (double)single;
        out->single = true;
    } else {
        flink_value_set_integer(out, (int64_t)(bits << (64 - 8 * width)) >> (64 - 8 * width));
    }
    return RC_OK;
}

/* *null or two's complement of an integer of any length; room: 1 byte for the three that are coded
 * by their length. */
static enum rc read_big(struct flink_decoder *d, uint8_t *room, bool *null, struct bytes *out,
                        struct err *err)
{
    static const uint8_t coded[] = {0, 0, 1, 10};
    size_t at = d->r->pos;
    int32_t n;

    RETURN_IF_ERR(data_i32(d->r, &n, "size of an integer", err));
    *null = n == 0;
    if (n < 0 || n == 4)
        return data_fault(d->r, at, err, "size of an integer: %d", n - 4);
    if (n < 4) {
        *room = coded[n];
        *out = bytes_of(room, 1);
        return RC_OK;
    }
    return reader_take(d->r, (size_t)n - 4, out, "integer", err);
}

static enum rc read_big_number(struct flink_decoder *d, const struct flink_serializer *s,
                               struct flink_value *out, struct err *err)
{
    struct bytes unscaled;
    int32_t scale = 0;
    uint8_t room;
    bool null;

    RETURN_IF_ERR(read_big(d, &room, &null, &unscaled, err));
    if (null)
        return RC_OK;
    if (s->coding == FLINK_BIG_DEC)
        RETURN_IF_ERR(data_i32(d->r, &scale, "scale", err));
    flink_value_set_decimal(d, unscaled, scale, out);
    return RC_OK;
}

static enum rc read_decimal_data(struct flink_decoder *d, const struct flink_serializer *s,
                                 struct flink_value *out, struct err *err)
{
    struct bytes unscaled;

    if (s->number <= 18)
        RETURN_IF_ERR(reader_take(d->r, 8, &unscaled, "decimal", err));
    else
        RETURN_IF_ERR(flink_value_sized(d, "size of a decimal", &unscaled, err));
    flink_value_set_decimal(d, unscaled, s->scale, out);
    return RC_OK;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* A number of 7 bits a byte, as StringValue has them: at most 5 bytes. */
static enum rc read_small(struct flink_decoder *d, uint32_t max, uint32_t *out, struct err *err)
{
    size_t at = d->r->pos;
    uint64_t v;

    RETURN_IF_ERR(reader_varint(d->r, &v, "text", err));
    if (v > max)
        return data_fault(d->r, at, err, "text: %llu is more than %u", (unsigned long long)v, max);
    *out = (uint32_t)v;
    return RC_OK;
}

/* UTF-16 code units; a high half waits for its low one. */
static enum rc read_units(struct flink_decoder *d, size_t count, struct flink_value *out,
                          struct err *err)
{
    uint8_t *text = arena_alloc(d->arena, 3 * count + 1), *to = text;
    uint32_t high = 0, unit;

    for (size_t i = 0; i < count; i++) {
        RETURN_IF_ERR(read_small(d, 0xFFFF, &unit, err));
        if (high != 0 && unit >= 0xDC00 && unit < 0xE000) {
            to += utf8_put(0x10000 + ((high - 0xD800) << 10) + (unit - 0xDC00), to);
            high = 0;
            continue;
        }
        if (high != 0)
            to += utf8_put(high, to);
        high = unit >= 0xD800 && unit < 0xDC00 ? unit : 0;
        if (high == 0)
            to += utf8_put(unit, to);
    }
    if (high != 0)
        to += utf8_put(high, to);
    out->kind = FLINK_VALUE_TEXT;
    out->text = bytes_of(text, (size_t)(to - text));
    return RC_OK;
}

static enum rc read_string(struct flink_decoder *d, struct flink_value *out, struct err *err)
{
    size_t at = d->r->pos;
    uint32_t n;

    RETURN_IF_ERR(read_small(d, INT32_MAX, &n, err));
    if (n == 0)
        return RC_OK;
    if (n - 1 > reader_left(d->r)) {
        d->r->failed = true;
        return data_fault(d->r, at, err, "a text of %u characters does not fit into the %zu bytes left",
                          n - 1, reader_left(d->r));
    }
    return read_units(d, n - 1, out, err);
}

static enum rc read_char(struct flink_decoder *d, struct flink_value *out, struct err *err)
{
    uint8_t *text = arena_alloc(d->arena, 4);
    uint64_t unit;

    RETURN_IF_ERR(flink_value_bits(d, 2, &unit, err));
    out->kind = FLINK_VALUE_TEXT;
    out->text = bytes_of(text, utf8_put((uint32_t)unit, text));
    return RC_OK;
}

/* ---- times ----------------------------------------------------------------------------------- */

#define DAY_MS 86400000ll

static enum rc read_date_ms(struct flink_decoder *d, enum flink_coding coding,
                            struct flink_value *out, struct err *err)
{
    int64_t ms;

    RETURN_IF_ERR(data_i64(d->r, &ms, "milliseconds", err));
    if (ms == INT64_MIN)
        return RC_OK;
    flink_value_set_instant(d, ms, 0, 3, "Z", out);
    if (coding == FLINK_SQL_TIME && ms >= 0 && ms < DAY_MS) /* a time of the day; set_instant has its number */
        flink_value_set_text(d, out, "%02d:%02d:%02d.%03d", (int)(ms / 3600000),
                             (int)(ms / 60000 % 60), (int)(ms / 1000 % 60), (int)(ms % 1000));
    return RC_OK;
}

static enum rc read_moment(struct flink_decoder *d, enum flink_coding coding,
                           struct flink_value *out, struct err *err)
{
    size_t at = d->r->pos;
    int64_t n;
    int32_t nanos;

    RETURN_IF_ERR(data_i64(d->r, &n, "time", err));
    RETURN_IF_ERR(data_i32(d->r, &nanos, "nanoseconds", err));
    if (n == INT64_MIN)
        return RC_OK;
    if (nanos < 0 || nanos > 999999999)
        return data_fault(d->r, at, err, "nanoseconds: %d", nanos);
    if (coding == FLINK_INSTANT && __builtin_mul_overflow(n, (int64_t)1000, &n))
        return data_fault(d->r, at, err, "an instant further away than 292 million years");
    if (coding == FLINK_INSTANT)
        n += nanos / 1000000;
    flink_value_set_instant(d, n, nanos % 1000000, 9, "Z", out);
    return RC_OK;
}

/* A field outside its range stays a text alone: Java's classes hold none. */
static void set_local_time(struct flink_value *out, int32_t year, const int8_t f[5], int32_t nanos)
{
    static const int8_t least[] = {1, 1, 0, 0, 0}, most[] = {12, 31, 23, 59, 59};
    int64_t ms;

    for (int i = 0; i < 5; i++)
        if (f[i] < least[i] || f[i] > most[i])
            return;
    if (nanos < 0 || nanos > 999999999 || year < -999999999 || year > 999999999)
        return;
    ms = ((f[2] * 60 + f[3]) * 60 + f[4]) * 1000ll + nanos / 1000000;
    if (!__builtin_add_overflow(
            flink_value_days(year, (unsigned)f[0], (unsigned)f[1]) * DAY_MS, ms, &ms))
        flink_value_set_time(out, ms, nanos % 1000000);
}

static enum rc read_local(struct flink_decoder *d, enum flink_coding coding,
                          struct flink_value *out, struct err *err)
{
    int8_t f[5] = {1, 1, 0, 0, 0}; /* month, day, hour, minute, second */
    int32_t year = 1970, nanos = 0;
    char text[64] = "";
    size_t len = 0;
    struct bytes b;

    if (coding != FLINK_LOCAL_TIME) {
        RETURN_IF_ERR(data_i32(d->r, &year, "year", err));
        RETURN_IF_ERR(reader_take(d->r, 2, &b, "month and day", err));
        memcpy(f, b.data, 2);
        if (year == INT32_MIN && coding == FLINK_LOCAL_DATE)
            return RC_OK;
        len = (size_t)snprintf(text, sizeof text, "%04d-%02d-%02d", year, f[0], f[1]);
    }
    if (coding != FLINK_LOCAL_DATE) {
        RETURN_IF_ERR(reader_take(d->r, 3, &b, "time of the day", err));
        RETURN_IF_ERR(data_i32(d->r, &nanos, "nanoseconds", err));
        memcpy(f + 2, b.data, 3);
        if (f[2] == INT8_MIN)
            return RC_OK;
        snprintf(text + len, sizeof text - len, "%s%02d:%02d:%02d.%09d", len > 0 ? " " : "", f[2],
                 f[3], f[4], nanos);
    } else if (f[0] == INT8_MIN) {
        return RC_OK;
    }
    flink_value_set_text(d, out, "%s", text);
    set_local_time(out, year, f, nanos);
    return RC_OK;
}

static enum rc read_timestamp_data(struct flink_decoder *d, const struct flink_serializer *s,
                                   struct flink_value *out, struct err *err)
{
    size_t at = d->r->pos;
    int32_t nanos = 0;
    int64_t ms;

    RETURN_IF_ERR(data_i64(d->r, &ms, "milliseconds", err));
    if (s->number > 3)
        RETURN_IF_ERR(data_i32(d->r, &nanos, "nanoseconds", err));
    if (nanos < 0 || nanos > 999999)
        return data_fault(d->r, at, err, "nanoseconds of a millisecond: %d", nanos);
    flink_value_set_instant(d, ms, nanos, s->number, "", out);
    return RC_OK;
}

static enum rc read_window(struct flink_decoder *d, struct flink_value *out, struct err *err)
{
    static const char *const names[] = {"start", "end"};
    int64_t ms;

    RETURN_IF_ERR(flink_value_parts(d, FLINK_VALUE_RECORD, 2, out, err));
    for (int i = 0; i < 2; i++) {
        RETURN_IF_ERR(data_i64(d->r, &ms, names[i], err));
        flink_value_set_integer(&out->parts[i], ms);
        out->parts[i].name = bytes_of_str(names[i]);
    }
    return RC_OK;
}

static enum rc read_bytes(struct flink_decoder *d, enum flink_value_kind kind,
                          struct flink_value *out, struct err *err)
{
    out->kind = kind;
    return flink_value_sized(d, "size", &out->text, err);
}

static enum rc read_byte_of_nothing(struct flink_decoder *d, struct err *err)
{
    uint8_t unused;

    return reader_u8(d->r, &unused, "empty value", err);
}

/* ---- all of them ----------------------------------------------------------------------------- */

enum rc flink_value_part(struct flink_decoder *d, const struct flink_serializer *s,
                         struct flink_value *out, struct err *err)
{
    s = flink_serializer_bare(s);
    switch (s->coding) {
    case FLINK_BOOLEAN: {
        bool v;

        out->kind = FLINK_VALUE_BOOL;
        RETURN_IF_ERR(flink_value_flag(d, "boolean", &v, err));
        out->integer = v;
        return RC_OK;
    }
    case FLINK_BYTE:
    case FLINK_SHORT:
    case FLINK_INT:
    case FLINK_LONG:
    case FLINK_FLOAT:
    case FLINK_DOUBLE:
        return read_number(d, s, out, err);
    case FLINK_CHAR:
        return read_char(d, out, err);
    case FLINK_STRING:
        return read_string(d, out, err);
    case FLINK_DATE:
    case FLINK_SQL_DATE:
    case FLINK_SQL_TIME:
        return read_date_ms(d, s->coding, out, err);
    case FLINK_SQL_TIMESTAMP:
    case FLINK_INSTANT:
        return read_moment(d, s->coding, out, err);
    case FLINK_LOCAL_DATE:
    case FLINK_LOCAL_TIME:
    case FLINK_LOCAL_DATE_TIME:
        return read_local(d, s->coding, out, err);
    case FLINK_BIG_INT:
    case FLINK_BIG_DEC:
        return read_big_number(d, s, out, err);
    case FLINK_DECIMAL_DATA:
        return read_decimal_data(d, s, out, err);
    case FLINK_TIMESTAMP_DATA:
        return read_timestamp_data(d, s, out, err);
    case FLINK_VOID:
    case FLINK_VOID_NAMESPACE:
    case FLINK_GLOBAL_WINDOW:
        return read_byte_of_nothing(d, err);
    case FLINK_TIME_WINDOW:
        return read_window(d, out, err);
    case FLINK_BYTES:
    case FLINK_SIZED:
        return read_bytes(d, FLINK_VALUE_BYTES, out, err);
    case FLINK_STRING_DATA:
        return read_bytes(d, FLINK_VALUE_TEXT, out, err);
    default:
        return flink_value_composite(d, s, out, err);
    }
}

enum rc flink_value_read(struct flink_decoder *d, const struct flink_serializer *s,
                         struct flink_value *out, struct err *err)
{
    *out = (struct flink_value){0};
    d->parts = 0;
    d->spent = false;
    return flink_value_part(d, s, out, err);
}

enum rc flink_value_of(struct bytes b, const struct flink_serializer *s, struct arena *arena,
                       const char *what, struct flink_value *out, struct err *err)
{
    struct flink_decoder d = {.arena = arena};
    struct reader r;

    reader_init(&r, b, what);
    d.r = &r;
    RETURN_IF_ERR(flink_value_read(&d, s, out, err));
    if (reader_left(&r) > 0)
        return data_fault(&r, r.pos, err, "the value ends, and %zu bytes are left",
                          reader_left(&r));
    return RC_OK;
}
