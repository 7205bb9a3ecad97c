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

/* A count of parts of at least a byte each. Bytes that have not come yet count as missing, not as
 * wrong: whoever reads a stream tries again with more. */
static enum rc read_count(struct flink_decoder *d, const char *what, size_t *out, struct err *err)
{
    size_t at = d->r->pos;
    int32_t n;

    RETURN_IF_ERR(data_i32(d->r, &n, what, err));
    if (n < 0)
        return data_fault(d->r, at, err, "%s: %d", what, n);
    *out = (size_t)n;
    if (*out <= reader_left(d->r))
        return RC_OK;
    if (*out > FLINK_VALUE_PARTS_MAX && d->open_ended)
        return err_set(err, RC_LIMIT, "%s: %s at offset %zu: %d, at most %u are read",
                       d->r->what, what, at, n, FLINK_VALUE_PARTS_MAX);
    d->r->failed = true;
    return data_fault(d->r, at, err, "%s: %d do not fit into the %zu bytes left", what, n,
                      reader_left(d->r));
}

static enum rc read_sized(struct flink_decoder *d, const char *what, struct bytes *out,
                          struct err *err)
{
    size_t at = d->r->pos;
    int32_t n;

    RETURN_IF_ERR(data_i32(d->r, &n, what, err));
    if (n < 0)
        return data_fault(d->r, at, err, "%s: %d", what, n);
    return reader_take(d->r, (size_t)n, out, what, err);
}

static enum rc read_flag(struct flink_decoder *d, const char *what, bool *out, struct err *err)
{
    size_t at = d->r->pos;
    uint8_t v;

    RETURN_IF_ERR(reader_u8(d->r, &v, what, err));
    if (v > 1)
        return data_fault(d->r, at, err, "%s: %u, neither 0 nor 1", what, v);
    *out = v != 0;
    return RC_OK;
}

/* The next value, which is part of a larger one. */
static enum rc read_value(struct flink_decoder *d, const struct flink_serializer *s,
                          struct flink_value *out, struct err *err);

/* ---- numbers --------------------------------------------------------------------------------- */

/* Bits of a number: big-endian. */
static enum rc read_bits(struct flink_decoder *d, uint32_t width, uint64_t *out, struct err *err)
{
    struct bytes b;

    RETURN_IF_ERR(reader_take(d->r, width, &b, "number", err));
    *out = 0;
    for (uint32_t i = 0; i < width; i++)
        *out = *out << 8 | b.data[i];
    return RC_OK;
}

static void set_integer(struct flink_value *out, int64_t n)
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

    RETURN_IF_ERR(read_bits(d, width, &bits, err));
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
        set_integer(out, (int64_t)(bits << (64 - 8 * width)) >> (64 - 8 * width));
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
        RETURN_IF_ERR(read_sized(d, "size of a decimal", &unscaled, err));
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

    RETURN_IF_ERR(read_bits(d, 2, &unit, err));
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
        set_integer(&out->parts[i], ms);
        out->parts[i].name = bytes_of_str(names[i]);
    }
    return RC_OK;
}

/* ---- collections ----------------------------------------------------------------------------- */

static bool bit_of(struct bytes mask, size_t i)
{
    return mask.data[i / 8] >> (7 - i % 8) & 1;
}

static enum rc read_list(struct flink_decoder *d, const struct flink_serializer *s,
                         struct flink_value *out, struct err *err)
{
    bool flags = s->coding == FLINK_SET || s->coding == FLINK_OBJECT_ARRAY, there;
    struct bytes mask = {0};
    size_t count;

    RETURN_IF_ERR(read_count(d, "number of elements", &count, err));
    if (s->coding == FLINK_LINKED_LIST && s->flag)
        RETURN_IF_ERR(reader_take(d->r, (count + 7) / 8, &mask, "null mask", err));
    RETURN_IF_ERR(flink_value_parts(d, FLINK_VALUE_LIST, count, out, err));
    for (size_t i = 0; i < count; i++) {
        if (d->spent) {
            out->part_count = i;
            break;
        }
        there = mask.len == 0 || !bit_of(mask, i);
        if (flags) {
            RETURN_IF_ERR(read_flag(d, "null flag", &there, err));
            there = s->coding == FLINK_SET ? !there : there;
        }
        if (there)
            RETURN_IF_ERR(read_value(d, s->children[0], &out->parts[i], err));
    }
    return RC_OK;
}

static enum rc read_map(struct flink_decoder *d, const struct flink_serializer *s,
                        struct flink_value *out, struct err *err)
{
    size_t count;
    bool null;

    RETURN_IF_ERR(read_count(d, "number of entries", &count, err));
    RETURN_IF_ERR(flink_value_parts(d, FLINK_VALUE_MAP, 2 * count, out, err));
    for (size_t i = 0; i < 2 * count; i++) {
        bool flagged = s->flag || i % 2 == 1;

        if (d->spent) {
            out->part_count = i;
            break;
        }
        null = false;
        if (flagged)
            RETURN_IF_ERR(read_flag(d, "null flag", &null, err));
        if (!null)
            RETURN_IF_ERR(read_value(d, s->children[i % 2], &out->parts[i], err));
    }
    return RC_OK;
}

static enum rc read_tuple(struct flink_decoder *d, const struct flink_serializer *s,
                          struct flink_value *out, struct err *err)
{
    RETURN_IF_ERR(flink_value_parts(d, FLINK_VALUE_RECORD, s->child_count, out, err));
    for (size_t i = 0; i < s->child_count; i++) {
        if (d->spent) {
            out->part_count = i;
            break;
        }
        RETURN_IF_ERR(read_value(d, s->children[i], &out->parts[i], err));
        flink_value_set_name(&out->parts[i], flink_field_name(d->arena, i));
    }
    return RC_OK;
}

static enum rc read_row(struct flink_decoder *d, const struct flink_serializer *s,
                        struct flink_value *out, struct err *err)
{
    static const char *const kinds[] = {"+I", "-U", "+U", "-D"};
    size_t n = s->child_count, extra = s->flag ? 2 : 0, first = s->flag ? 1 : 0;
    struct bytes mask;

    RETURN_IF_ERR(reader_take(d->r, (n + extra + 7) / 8, &mask, "null mask", err));
    RETURN_IF_ERR(flink_value_parts(d, FLINK_VALUE_RECORD, n + first, out, err));
    if (s->flag) {
        flink_value_set_text(d, &out->parts[0], "%s",
                             kinds[(bit_of(mask, 0) ? 1 : 0) + (bit_of(mask, 1) ? 2 : 0)]);
        out->parts[0].name = bytes_of_str("kind");
    }
    for (size_t i = 0; i < n; i++) {
        struct flink_value *part = &out->parts[first + i];

        if (d->spent) {
            out->part_count = first + i;
            break;
        }
        if (!bit_of(mask, extra + i))
            RETURN_IF_ERR(read_value(d, s->children[i], part, err));
        flink_value_set_name(part, flink_field_name(d->arena, i));
    }
    return RC_OK;
}

/* ---- objects --------------------------------------------------------------------------------- */

static enum rc read_fields(struct flink_decoder *d, const struct flink_serializer *s,
                           struct flink_value *out, struct err *err)
{
    bool null;

    RETURN_IF_ERR(flink_value_parts(d, FLINK_VALUE_RECORD, s->child_count, out, err));
    for (size_t i = 0; i < s->child_count; i++) {
        if (d->spent) {
            out->part_count = i;
            break;
        }
        RETURN_IF_ERR(read_flag(d, "null flag of a field", &null, err));
        if (!null)
            RETURN_IF_ERR(read_value(d, s->children[i], &out->parts[i], err));
        flink_value_set_name(&out->parts[i], s->names[i]);
    }
    return RC_OK;
}

/* All that is left, of a type that is not known. */
static enum rc read_rest(struct flink_decoder *d, struct bytes class_name, struct flink_value *out,
                         struct err *err)
{
    struct buf name = {0};
    enum rc rc;

    if (!d->open_ended) {
        out->kind = FLINK_VALUE_OPAQUE;
        d->spent = true;
        return reader_take(d->r, reader_left(d->r), &out->text, "value", err);
    }
    buf_append_escaped(&name, class_name, 200);
    rc = err_set(err, RC_UNSUPPORTED,
                 "%s: the value at offset %zu, of %s, has no length: what stands behind it cannot be "
                 "read",
                 d->r->what, d->r->pos, buf_cstr(&name));
    buf_release(&name);
    return rc;
}

static enum rc read_subclass(struct flink_decoder *d, const struct flink_subclass *c,
                             struct bytes class_name, struct flink_value *out, struct err *err)
{
    if (c == NULL || c->serializer == NULL)
        return read_rest(d, class_name, out, err);
    return read_value(d, c->serializer, out, err);
}

static enum rc read_pojo(struct flink_decoder *d, const struct flink_serializer *s,
                         struct flink_value *out, struct err *err)
{
    const struct flink_subclass *found = NULL;
    size_t at = d->r->pos;
    struct bytes name;
    uint8_t flags, tag;

    RETURN_IF_ERR(reader_u8(d->r, &flags, "flags of an object", err));
    switch (flags) {
    case 1:
        return RC_OK;
    case 2:
        return read_fields(d, s, out, err);
    case 4:
        RETURN_IF_ERR(data_utf(d->r, d->arena, &name, "class", err));
        for (size_t i = 0; i < s->other_count; i++)
            if (bytes_eq(s->others[i].class_name, name))
                found = &s->others[i];
        return read_subclass(d, found, name, out, err);
    case 8:
        RETURN_IF_ERR(reader_u8(d->r, &tag, "number of a class", err));
        if (tag >= s->registered_count)
            return data_fault(d->r, at, err, "class %u of %zu", tag, s->registered_count);
        found = &s->registered[tag];
        return read_subclass(d, found, found->class_name, out, err);
    default:
        return data_fault(d->r, at, err, "flags of an object: 0x%02x", flags);
    }
}

static enum rc read_enum(struct flink_decoder *d, const struct flink_serializer *s,
                         struct flink_value *out, struct err *err)
{
    size_t at = d->r->pos;
    int32_t i;

    RETURN_IF_ERR(data_i32(d->r, &i, "constant", err));
    if (i < 0 || (size_t)i >= s->name_count)
        return data_fault(d->r, at, err, "constant %d of %zu", i, s->name_count);
    out->kind = FLINK_VALUE_TEXT;
    out->text = s->names[i];
    return RC_OK;
}

static enum rc read_named(struct flink_decoder *d, const char *const names[2],
                          const struct flink_serializer *s, struct flink_value *out,
                          struct err *err)
{
    RETURN_IF_ERR(flink_value_parts(d, FLINK_VALUE_RECORD, 2, out, err));
    for (int i = 0; i < 2 && !d->spent; i++) {
        RETURN_IF_ERR(read_value(d, s->children[i], &out->parts[i], err));
        out->parts[i].name = bytes_of_str(names[i]);
    }
    if (out->parts[1].name.len == 0)
        out->part_count = 1;
    return RC_OK;
}

static enum rc read_timer(struct flink_decoder *d, const struct flink_serializer *s,
                          struct flink_value *out, struct err *err)
{
    static const char *const names[] = {"timer", "key", "namespace"};
    uint64_t bits;

    RETURN_IF_ERR(flink_value_parts(d, FLINK_VALUE_RECORD, 3, out, err));
    RETURN_IF_ERR(read_bits(d, 8, &bits, err));
    set_integer(&out->parts[0], (int64_t)(bits ^ 1ull << 63)); /* so that bytes sort as times do */
    for (size_t i = 0; i < 3; i++)
        out->parts[i].name = bytes_of_str(names[i]);
    for (size_t i = 0; i < 2 && !d->spent; i++)
        RETURN_IF_ERR(read_value(d, s->children[i], &out->parts[1 + i], err));
    return RC_OK;
}

static enum rc read_either(struct flink_decoder *d, const struct flink_serializer *s,
                           struct flink_value *out, struct err *err)
{
    bool left;

    RETURN_IF_ERR(read_flag(d, "side", &left, err));
    RETURN_IF_ERR(flink_value_parts(d, FLINK_VALUE_RECORD, 1, out, err));
    RETURN_IF_ERR(read_value(d, s->children[left ? 0 : 1], &out->parts[0], err));
    out->parts[0].name = bytes_of_str(left ? "left" : "right");
    return RC_OK;
}

static enum rc read_nullable(struct flink_decoder *d, const struct flink_serializer *s,
                             struct flink_value *out, struct err *err)
{
    struct bytes padding;
    bool null;

    RETURN_IF_ERR(read_flag(d, "null flag", &null, err));
    if (null)
        return reader_take(d->r, (size_t)s->number, &padding, "padding", err);
    return read_value(d, s->children[0], out, err);
}

static enum rc read_row_data(struct flink_decoder *d, const struct flink_serializer *s,
                             struct flink_value *out, struct err *err)
{
    struct bytes row;

    RETURN_IF_ERR(read_sized(d, "size of a row", &row, err));
    return flink_row_data(d, s, row, d->r->pos - row.len, out, err);
}

static enum rc read_bytes(struct flink_decoder *d, enum flink_value_kind kind,
                          struct flink_value *out, struct err *err)
{
    out->kind = kind;
    return read_sized(d, "size", &out->text, err);
}

static enum rc read_byte_of_nothing(struct flink_decoder *d, struct err *err)
{
    uint8_t unused;

    return reader_u8(d->r, &unused, "empty value", err);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static enum rc read_composed(struct flink_decoder *d, const struct flink_serializer *s,
                             struct flink_value *out, struct err *err)
{
    static const char *const ttl[] = {"last_access", "value"};

    switch (s->coding) {
    case FLINK_ARRAY:
    case FLINK_OBJECT_ARRAY:
    case FLINK_LIST:
    case FLINK_LINKED_LIST:
    case FLINK_SET:
        return read_list(d, s, out, err);
    case FLINK_MAP:
        return read_map(d, s, out, err);
    case FLINK_TUPLE:
        return read_tuple(d, s, out, err);
    case FLINK_ROW:
        return read_row(d, s, out, err);
    case FLINK_POJO:
        return read_pojo(d, s, out, err);
    case FLINK_ENUM:
        return read_enum(d, s, out, err);
    case FLINK_NULLABLE:
        return read_nullable(d, s, out, err);
    case FLINK_EITHER:
        return read_either(d, s, out, err);
    case FLINK_TTL:
        return read_named(d, ttl, s, out, err);
    case FLINK_TIMER:
        return read_timer(d, s, out, err);
    case FLINK_ROW_DATA:
        return read_row_data(d, s, out, err);
    default:
        return read_rest(d, s->type.len > 0 ? s->type : s->snapshot_class, out, err);
    }
}

static enum rc read_value(struct flink_decoder *d, const struct flink_serializer *s,
                          struct flink_value *out, struct err *err)
{
    s = flink_serializer_bare(s);
    switch (s->coding) {
    case FLINK_BOOLEAN: {
        bool v;

        out->kind = FLINK_VALUE_BOOL;
        RETURN_IF_ERR(read_flag(d, "boolean", &v, err));
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
        return read_composed(d, s, out, err);
    }
}

enum rc flink_value_read(struct flink_decoder *d, const struct flink_serializer *s,
                         struct flink_value *out, struct err *err)
{
    *out = (struct flink_value){0};
    d->parts = 0;
    d->spent = false;
    return read_value(d, s, out, err);
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
