/* field_column.c - see field_column.h. The type is looked at once a column, not once a field. */
#include "job/format/field_column.h"

#include "base/utf8.h"
#include "job/format/field_parse_priv.h"

/* Short texts are copied in one piece of this size where both sides have room. */
#define COPY_BYTES 16u

static inline struct bytes field_at(const struct field_block *b, uint32_t column, uint32_t row)
{
    const uint32_t *bound = b->bounds + (size_t)row * b->fields_per_row + column;
    uint32_t start = bound[0] + 1, len = bound[1] - start;

    if (column == b->fields_per_row - 1 && len > 0 && b->data[start + len - 1] == '\r')
        len--;
    return bytes_of(b->data + start, len);
}

static inline bool is_null(const struct field_block *b, struct bytes text)
{
    return b->has_null_literal && text.len == b->null_literal.len &&
           (text.len == 0 || (text.data[0] == b->null_literal.data[0] &&
                              memcmp(text.data, b->null_literal.data, text.len) == 0));
}

/* Runs `read` for every row that is not null; it sets v of `c_type` or a fault. */
#define FILL(c_type, read)                                                                         \
    do {                                                                                           \
        c_type *to_ = (c_type *)space.values + space.row;                                          \
        for (uint32_t r = 0; r < b->rows; r++) {                                                   \
            struct bytes text = field_at(b, column, r);                                            \
                                                                                                   \
            if (is_null(b, text)) {                                                                \
                if (!type->nullable)                                                               \
                    return false;                                                                  \
                batch_space_null(out, column, space.row + r);                                      \
                to_[r] = 0;                                                                        \
            } else {                                                                               \
                if ((read) != FIELD_OK)                                                            \
                    return false;                                                                  \
                to_[r] = (c_type)v;                                                                \
            }                                                                                      \
        }                                                                                          \
    } while (0)

/* [-]digits, at most 8 of them, eight bytes at a time; false: the careful way must look. */
static inline bool parse_short_int(const struct field_block *b, struct bytes text, int64_t *out)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    bool negative = text.len > 0 && text.data[0] == '-';
    const uint8_t *p = text.data + negative;
    size_t len = text.len - negative;
    uint64_t v;

    if (len - 1 > 7 || (size_t)(p - b->data) + 8 > b->len)
        return false;
    memcpy(&v, p, 8);
    /* The digits to the end, zeros before them. */
    v <<= 64 - 8 * len;
    if (len < 8)
        v |= 0x3030303030303030u >> (8 * len);
    if (((v & 0xf0f0f0f0f0f0f0f0u) | (((v + 0x0606060606060606u) & 0xf0f0f0f0f0f0f0f0u) >> 4)) !=
        0x3333333333333333u)
        return false;
    /* Neighbours into pairs, pairs into fours and those into eight. */
    v -= 0x3030303030303030u;
    v = v * 10 + (v >> 8);
    v = ((v & 0x000000ff000000ffu) * 0x000f424000000064u +
         (v >> 16 & 0x000000ff000000ffu) * 0x0000271000000001u) >>
        32;
    *out = negative ? -(int64_t)v : (int64_t)v;
    return true;
#else
    (void)b, (void)text, (void)out;
    return false;
#endif
}

/* INT and BIGINT hold every number of eight digits. */
static inline enum field_fault parse_wide_int(const struct field_block *b, struct bytes text,
                                              int64_t min, int64_t max, int64_t *out)
{
    return parse_short_int(b, text, out) ? FIELD_OK : parse_int(text, min, max, out);
}

static bool fill_integers(struct batch_builder *out, uint32_t column, const struct type *type,
                          const struct field_block *b)
{
    struct batch_space space = batch_space_open(out, column, 0);
    int64_t v;

    switch (type->kind) {
    case TYPE_TINYINT:
        FILL(int8_t, parse_int(text, INT8_MIN, INT8_MAX, &v));
        break;
    case TYPE_SMALLINT:
        FILL(int16_t, parse_int(text, INT16_MIN, INT16_MAX, &v));
        break;
    case TYPE_INT:
    case TYPE_INTERVAL_YEAR:
        FILL(int32_t, parse_wide_int(b, text, INT32_MIN, INT32_MAX, &v));
        break;
    default:
        FILL(int64_t, parse_wide_int(b, text, INT64_MIN, INT64_MAX, &v));
        break;
    }
    return true;
}

static bool fill_datetimes(struct batch_builder *out, uint32_t column, const struct type *type,
                           const struct field_block *b)
{
    struct batch_space space = batch_space_open(out, column, 0);
    int64_t v;

    if (type_width(type->kind) == 4)
        FILL(int32_t, parse_datetime(type, text, &v));
    else
        FILL(int64_t, parse_datetime(type, text, &v));
    return true;
}

static bool fill_reals(struct batch_builder *out, uint32_t column, const struct type *type,
                       const struct field_block *b)
{
    struct batch_space space = batch_space_open(out, column, 0);
    double v;

    if (type->kind == TYPE_FLOAT)
        FILL(float, parse_real(text, &v));
    else
        FILL(double, parse_real(text, &v));
    return true;
}

static bool fill_decimals(struct batch_builder *out, uint32_t column, const struct type *type,
                          const struct field_block *b)
{
    struct batch_space space = batch_space_open(out, column, 0);
    int128 v;

    FILL(int128, parse_decimal(type, text, &v));
    return true;
}

static bool fill_booleans(struct batch_builder *out, uint32_t column, const struct type *type,
                          const struct field_block *b)
{
    struct batch_space space = batch_space_open(out, column, 0);

    for (uint32_t r = 0; r < b->rows; r++) {
        struct bytes text = field_at(b, column, r);
        bool v = false;

        if (is_null(b, text)) {
            if (!type->nullable)
                return false;
            batch_space_null(out, column, space.row + r);
        } else if (parse_boolean(text, &v) != FIELD_OK) {
            return false;
        }
        if (v)
            bit_set(space.values, space.row + r);
        else
            bit_clear(space.values, space.row + r);
    }
    return true;
}

static bool fill_texts(struct batch_builder *out, uint32_t column, const struct type *type,
                       const struct field_block *b)
{
    size_t total = 0;
    struct batch_space space;
    int32_t *offset;
    uint8_t *to;

    for (uint32_t r = 0; r < b->rows; r++)
        total += field_at(b, column, r).len;
    space = batch_space_open(out, column, total + COPY_BYTES);
    offset = space.offsets + space.row;
    to = space.bytes + *offset;
    for (uint32_t r = 0; r < b->rows; r++) {
        struct bytes text = field_at(b, column, r);

        if (is_null(b, text)) {
            if (!type->nullable)
                return false;
            batch_space_null(out, column, space.row + r);
            text.len = 0;
        } else if (!b->ascii && !utf8_is_valid(text)) {
            return false;
        } else if (text.len <= COPY_BYTES && (size_t)(text.data - b->data) + COPY_BYTES <= b->len) {
            memcpy(to, text.data, COPY_BYTES);
        } else {
            memcpy(to, text.data, text.len);
        }
        to += text.len;
        offset[r + 1] = offset[r] + (int32_t)text.len;
    }
    return true;
}

bool field_column_possible(enum type_kind kind)
{
    return kind != TYPE_NULL && kind != TYPE_BINARY && kind != TYPE_VARBINARY;
}

bool field_column_fill(struct batch_builder *out, uint32_t column, const struct type *type,
                       const struct field_block *block)
{
    switch (type->kind) {
    case TYPE_CHAR:
    case TYPE_VARCHAR:
        return fill_texts(out, column, type, block);
    case TYPE_BOOLEAN:
        return fill_booleans(out, column, type, block);
    case TYPE_FLOAT:
    case TYPE_DOUBLE:
        return fill_reals(out, column, type, block);
    case TYPE_DECIMAL:
        return fill_decimals(out, column, type, block);
    case TYPE_DATE:
    case TYPE_TIME:
    case TYPE_TIMESTAMP:
    case TYPE_TIMESTAMP_LTZ:
        return fill_datetimes(out, column, type, block);
    default:
        return fill_integers(out, column, type, block);
    }
}
