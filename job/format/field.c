/* field.c - see field.h */
#include "job/format/field_parse_priv.h"

#include "base/utf8.h"
/* ---- text -> value --------------------------------------------------------------------------- */

static enum field_fault append_integer(struct batch_builder *out, uint32_t column, int64_t min,
                                       int64_t max, struct bytes text)
{
    int64_t v;
    enum field_fault fault = parse_int(text, min, max, &v);

    if (fault == FIELD_OK)
        batch_append_int(out, column, v);
    return fault;
}

static enum field_fault append_boolean(struct batch_builder *out, uint32_t column,
                                       struct bytes text)
{
    bool v;
    enum field_fault fault = parse_boolean(text, &v);

    if (fault == FIELD_OK)
        batch_append_bool(out, column, v);
    return fault;
}

static enum field_fault append_real(struct batch_builder *out, uint32_t column, struct bytes text)
{
    double v;
    enum field_fault fault = parse_real(text, &v);

    if (fault == FIELD_OK)
        batch_append_double(out, column, v);
    return fault;
}

static enum field_fault append_decimal(struct batch_builder *out, uint32_t column,
                                       const struct type *type, struct bytes text)
{
    int128 v;
    enum field_fault fault = parse_decimal(type, text, &v);

    if (fault == FIELD_OK)
        batch_append_decimal(out, column, v);
    return fault;
}

static enum field_fault append_datetime(struct batch_builder *out, uint32_t column,
                                        const struct type *type, struct bytes text)
{
    int64_t v;
    enum field_fault fault = parse_datetime(type, text, &v);

    if (fault == FIELD_OK)
        batch_append_int(out, column, v);
    return fault;
}

static enum field_fault append_text(struct batch_builder *out, uint32_t column, struct bytes text,
                                    bool ascii)
{
    if (text.len > VALUE_BYTES_MAX)
        return FIELD_TOO_LONG;
    if (!ascii && !utf8_is_valid(text))
        return FIELD_NOT_UTF8;
    batch_append_bytes(out, column, text);
    return FIELD_OK;
}

static enum field_fault append_binary(struct batch_builder *out, uint32_t column, struct bytes text,
                                      struct buf *scratch)
{
    buf_clear(scratch);
    if (!base64_decode(text, scratch))
        return FIELD_NOT_BASE64;
    if (scratch->len > VALUE_BYTES_MAX)
        return FIELD_TOO_LONG;
    batch_append_bytes(out, column, buf_bytes(scratch));
    return FIELD_OK;
}

enum field_fault field_append(struct batch_builder *out, uint32_t column, const struct type *type,
                              struct bytes text, bool ascii, struct buf *scratch)
{
    switch (type->kind) {
    case TYPE_CHAR:
    case TYPE_VARCHAR:
        return append_text(out, column, text, ascii);
    case TYPE_BIGINT:
    case TYPE_INTERVAL_DAY:
        return append_integer(out, column, INT64_MIN, INT64_MAX, text);
    case TYPE_INT:
    case TYPE_INTERVAL_YEAR:
        return append_integer(out, column, INT32_MIN, INT32_MAX, text);
    case TYPE_SMALLINT:
        return append_integer(out, column, INT16_MIN, INT16_MAX, text);
    case TYPE_TINYINT:
        return append_integer(out, column, INT8_MIN, INT8_MAX, text);
    case TYPE_BOOLEAN:
        return append_boolean(out, column, text);
    case TYPE_FLOAT:
    case TYPE_DOUBLE:
        return append_real(out, column, text);
    case TYPE_DECIMAL:
        return append_decimal(out, column, type, text);
    case TYPE_BINARY:
    case TYPE_VARBINARY:
        return append_binary(out, column, text, scratch);
    case TYPE_DATE:
    case TYPE_TIME:
    case TYPE_TIMESTAMP:
    case TYPE_TIMESTAMP_LTZ:
        return append_datetime(out, column, type, text);
    case TYPE_NULL:
        break;
    }
    batch_append_null(out, column);
    return FIELD_OK;
}

/* ---- reasons --------------------------------------------------------------------------------- */

#define QUOTE_BYTES_MAX 60u
#define NUMBER_BYTES_MAX 40u /* a longer number out of range is told by its length */

void field_quote(struct bytes text, struct buf *out)
{
    bool has_single = text.len > 0 && memchr(text.data, '\'', text.len) != NULL;
    bool has_double = text.len > 0 && memchr(text.data, '"', text.len) != NULL;
    uint8_t quote = has_single && !has_double ? '"' : '\'';
    size_t n = text.len < QUOTE_BYTES_MAX ? text.len : QUOTE_BYTES_MAX;
    bool valid;

    /* Never end inside a character. */
    while (n > 0 && n < text.len && (text.data[n] & 0xc0) == 0x80)
        n--;
    valid = utf8_is_valid(bytes_of(text.data, n));
    buf_append_u8(out, quote);
    for (size_t i = 0; i < n; i++) {
        uint8_t c = text.data[i];

        if (c == quote || c == '\\')
            buf_printf(out, "\\%c", c);
        else if (c < ' ' || c == 0x7f || (c > 0x7f && !valid))
            buf_printf(out, "\\x%02x", c);
        else
            buf_append_u8(out, c);
    }
    buf_append_u8(out, quote);
    if (n < text.len)
        buf_printf(out, "... (%zu bytes)", text.len);
}

static void out_of_range_print(const struct type *type, struct bytes text, struct buf *out)
{
    struct bytes t = trim(text);

    buf_append_str(out, "number out of range: ");
    if (t.len < NUMBER_BYTES_MAX)
        buf_append(out, t.data, t.len);
    else
        buf_printf(out, "%zu digits", t.len);
    buf_append_str(out, " (");
    type_print(*type, false, out);
    buf_append_str(out, ")");
}

void field_fault_print(enum field_fault fault, const struct type *type, struct bytes text,
                       struct buf *out)
{
    static const char *const what[] = {
        [FIELD_OK] = "",
        [FIELD_NOT_NUMBER] = "not a number: ",
        [FIELD_OUT_OF_RANGE] = "",
        [FIELD_NOT_BOOLEAN] = "not true or false: ",
        [FIELD_NOT_DATE] = "not a date: ",
        [FIELD_NOT_TIME] = "not a time: ",
        [FIELD_NOT_TIMESTAMP] = "not a timestamp: ",
        [FIELD_NOT_INSTANT] = "not a timestamp with a zone (Z at its end): ",
        [FIELD_NOT_BASE64] = "not base64: ",
        [FIELD_NOT_UTF8] = "not UTF-8: ",
        [FIELD_TOO_LONG] = "value too long: ",
    };

    if (fault == FIELD_OUT_OF_RANGE) {
        out_of_range_print(type, text, out);
    } else if (fault == FIELD_TOO_LONG) {
        buf_printf(out, "value of %zu bytes is longer than %u", text.len, VALUE_BYTES_MAX);
    } else {
        buf_append_str(out, what[fault]);
        field_quote(text, out);
    }
}

/* ---- base64 --------------------------------------------------------------------------------- */

static const char base64_alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(struct bytes plain, struct buf *out)
{
    const uint8_t *p = plain.data;
    size_t left = plain.len;
    uint8_t *to;

    buf_reserve(out, (plain.len + 2) / 3 * 4);
    to = out->data + out->len;
    for (; left > 0; p += left < 3 ? left : 3, left -= left < 3 ? left : 3) {
        uint32_t v = (uint32_t)p[0] << 16 | (left > 1 ? (uint32_t)p[1] << 8 : 0) |
                     (left > 2 ? (uint32_t)p[2] : 0);

        *to++ = (uint8_t)base64_alphabet[v >> 18];
        *to++ = (uint8_t)base64_alphabet[v >> 12 & 63];
        *to++ = left > 1 ? (uint8_t)base64_alphabet[v >> 6 & 63] : '=';
        *to++ = left > 2 ? (uint8_t)base64_alphabet[v & 63] : '=';
    }
    out->len += (plain.len + 2) / 3 * 4;
}

/* 0..63, or 64 for no digit. */
static uint32_t base64_digit(uint8_t c)
{
    if (c >= 'A' && c <= 'Z')
        return (uint32_t)(c - 'A');
    if (c >= 'a' && c <= 'z')
        return (uint32_t)(c - 'a') + 26;
    if (c >= '0' && c <= '9')
        return (uint32_t)(c - '0') + 52;
    return c == '+' ? 62 : c == '/' ? 63 : 64;
}

bool base64_decode(struct bytes text, struct buf *out)
{
    size_t padding = 0;

    if (text.len % 4 != 0)
        return false;
    while (padding < 2 && text.len > padding && text.data[text.len - 1 - padding] == '=')
        padding++;
    for (size_t i = 0; i < text.len; i += 4) {
        bool last = i + 4 == text.len;
        size_t digits = last ? 4 - padding : 4;
        uint32_t v = 0;

        for (size_t k = 0; k < 4; k++) {
            uint32_t d = k < digits ? base64_digit(text.data[i + k]) : 0;

            if (d > 63)
                return false;
            v = v << 6 | d;
        }
        if (last && padding > 0 && (v & ((1u << (8 * padding)) - 1)) != 0)
            return false; /* bits behind the last byte */
        for (size_t k = 0; k + 1 < digits; k++)
            buf_append_u8(out, (uint8_t)(v >> (16 - 8 * k)));
    }
    return true;
}

/* ---- value -> text --------------------------------------------------------------------------- */

/* As Java's BigDecimal.toString: an exponent where the first digit lies more than six places behind
 * the point. */
static void decimal_print_scientific(int128 v, uint32_t scale, struct buf *out)
{
    uint32_t digits = 1;
    int128 magnitude = v < 0 ? -v : v;

    while (digits < DECIMAL_PRECISION_MAX && magnitude >= decimal_pow10(digits))
        digits++;
    if ((int32_t)digits - 1 - (int32_t)scale >= -6) {
        decimal_print(v, scale, out);
    } else {
        decimal_print(v, digits - 1, out);
        buf_printf(out, "E-%u", scale - (digits - 1));
    }
}

/* "10:15:30.5": no zeros at the end of the fraction; the point stops the search, so those of the
 * seconds stay. */
static void time_print_short(int32_t ms, struct buf *out)
{
    time_print(ms, 3, out);
    while (out->data[out->len - 1] == '0')
        out->len--;
    if (out->data[out->len - 1] == '.')
        out->len--;
}

void field_print(const struct column *c, uint32_t row, bool scientific, char timestamp_sep,
                 struct buf *out)
{
    switch (c->type.kind) {
    case TYPE_NULL:
        break;
    case TYPE_BOOLEAN:
        buf_append_str(out, bit_get(c->values, row) ? "true" : "false");
        break;
    case TYPE_TINYINT:
    case TYPE_SMALLINT:
    case TYPE_INT:
    case TYPE_BIGINT:
    case TYPE_INTERVAL_DAY:
    case TYPE_INTERVAL_YEAR:
        number_print_int(column_int(c, row), out);
        break;
    case TYPE_FLOAT:
        number_print_float(((const float *)c->values)[row], out);
        break;
    case TYPE_DOUBLE:
        number_print_double(((const double *)c->values)[row], out);
        break;
    case TYPE_DECIMAL:
        if (scientific)
            decimal_print_scientific(((const int128 *)c->values)[row], c->type.scale, out);
        else
            decimal_print(((const int128 *)c->values)[row], c->type.scale, out);
        break;
    case TYPE_CHAR:
    case TYPE_VARCHAR:
        buf_append(out, column_bytes(c, row).data, column_bytes(c, row).len);
        break;
    case TYPE_BINARY:
    case TYPE_VARBINARY:
        base64_encode(column_bytes(c, row), out);
        break;
    case TYPE_DATE:
        date_print(column_int(c, row), out);
        break;
    case TYPE_TIME:
        time_print_short((int32_t)column_int(c, row), out);
        break;
    case TYPE_TIMESTAMP:
        timestamp_print_min(column_int(c, row), c->type.precision, timestamp_sep, 0, out);
        break;
    case TYPE_TIMESTAMP_LTZ:
        timestamp_print_min(column_int(c, row), c->type.precision, timestamp_sep, 0, out);
        buf_append_u8(out, 'Z');
        break;
    }
}
