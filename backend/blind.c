#include "backend/blind.h"

#include "backend/value_pack.h"

#define HEAD_BYTES 2u /* before the pattern */
#define SIZE_BYTES 4u /* of a row, before it */
#define ROW_BYTES_MAX (SIZE_BYTES + 8 + 8 * BLIND_FIELDS_MAX)

typedef __int128 i128;

static uint32_t slots_at(uint32_t fields)
{
    return SIZE_BYTES + (fields + 63 + 8) / 64 * 8;
}

static bool pattern_is_one(const uint8_t *p, size_t n)
{
    if (n == 0 || n > BLIND_FIELDS_MAX)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (p[i] == 's' || p[i] == 'l' || p[i] == 'g') {
            if (++i == n || p[i] != '.')
                return false;
        } else if (p[i] != '+' && p[i] != '<' && p[i] != '>') {
            return false;
        }
    }
    return true;
}

static struct value_shape shape_of(size_t fields)
{
    return (struct value_shape){.bytes = slots_at((uint32_t)fields) + 8 * (uint32_t)fields};
}

/* A stored row as a whole. */
static bool take_row(struct bytes stored, size_t fields, uint8_t *row)
{
    struct value_shape shape = shape_of(fields);

    return value_unpack(shape, stored, row) && get_be32(row) == shape.bytes - SIZE_BYTES;
}

static void put_row(const uint8_t *row, size_t fields, struct buf *out)
{
    struct value_shape shape = shape_of(fields);

    buf_reserve(out, value_pack_room(shape));
    out->len += value_store(shape, row, out->data + out->len);
}

bool blind_pattern_fits(const char *pattern, uint32_t row_bytes)
{
    size_t n = strlen(pattern);

    return pattern_is_one((const uint8_t *)pattern, n) && row_bytes == shape_of(n).bytes;
}

void blind_head(const char *pattern, struct buf *out)
{
    buf_append_u8(out, BLIND_VERSION);
    buf_append_u8(out, (uint8_t)strlen(pattern));
    buf_append(out, pattern, strlen(pattern));
}

/* ---- two rows -------------------------------------------------------------------------------- */

static bool is_null(const uint8_t *row, size_t field)
{
    return (row[SIZE_BYTES + (field + 8) / 8] >> ((field + 8) % 8)) & 1;
}

static void set_value(uint8_t *row, size_t field)
{
    row[SIZE_BYTES + (field + 8) / 8] &= (uint8_t) ~(1u << ((field + 8) % 8));
}

static i128 wide_at(const uint8_t *p)
{
    i128 v;

    memcpy(&v, p, sizeof v); /* the slots of a binary row are the machine's, little-endian */
    return v;
}

static bool is_less(const uint8_t *a, const uint8_t *b, bool wide)
{
    return wide ? wide_at(a) < wide_at(b) : (int64_t)get_le64(a) < (int64_t)get_le64(b);
}

static void add(uint8_t *to, const uint8_t *from, bool wide)
{
    if (wide) {
        unsigned __int128 sum =
            (unsigned __int128)wide_at(to) + (unsigned __int128)wide_at(from);

        memcpy(to, &sum, sizeof sum);
    } else {
        put_le64(to, get_le64(to) + get_le64(from));
    }
}

static void combine(const uint8_t *pattern, size_t fields, uint8_t *to, const uint8_t *from)
{
    size_t slots = slots_at((uint32_t)fields);

    for (size_t f = 0; f < fields; f++) {
        uint8_t *a = to + slots + 8 * f;
        const uint8_t *b = from + slots + 8 * f;
        uint8_t op = pattern[f];
        bool wide = op == 's' || op == 'l' || op == 'g', less = op == '<' || op == 'l';

        if (op == '+' || op == 's') {
            add(a, b, wide);
        } else if (!is_null(from, f) &&
                   (is_null(to, f) || (less ? is_less(b, a, wide) : is_less(a, b, wide)))) {
            memcpy(a, b, wide ? 16 : 8);
            set_value(to, f);
        }
        f += wide;
    }
}

/* ---- operands -------------------------------------------------------------------------------- */

struct operand {
    struct bytes head; /* version and pattern */
    uint8_t row[ROW_BYTES_MAX];
};

static bool take_apart(struct bytes b, struct operand *out)
{
    size_t fields;

    if (b.len < HEAD_BYTES || b.data[0] != BLIND_VERSION)
        return false;
    fields = b.data[1];
    if (b.len < HEAD_BYTES + fields || !pattern_is_one(b.data + HEAD_BYTES, fields))
        return false;
    out->head = bytes_of(b.data, HEAD_BYTES + fields);
    return take_row(bytes_of(b.data + out->head.len, b.len - out->head.len), fields, out->row);
}

bool blind_merge(struct bytes below, const struct bytes *operands, size_t count, bool partial,
                 struct buf *out)
{
    struct operand first, next;
    uint8_t whole[ROW_BYTES_MAX], *row = first.row;
    size_t fields;

    buf_clear(out);
    if (count == 0 || !take_apart(operands[0], &first))
        return false;
    fields = first.head.len - HEAD_BYTES;
    if (below.data != NULL) {
        if (!take_row(below, fields, whole))
            return false;
        row = whole;
        combine(first.head.data + HEAD_BYTES, fields, row, first.row);
    }
    for (size_t i = 1; i < count; i++) {
        if (!take_apart(operands[i], &next) || !bytes_eq(next.head, first.head))
            return false;
        combine(first.head.data + HEAD_BYTES, fields, row, next.row);
    }
    if (partial)
        buf_append(out, first.head.data, first.head.len);
    put_row(row, fields, out);
    return true;
}
