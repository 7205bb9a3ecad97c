#include "backend/binary_row.h"

#define INLINE_BYTES_MAX 7u
#define DECIMAL_BYTES 16u
#define TIMESTAMP_BYTES 8u

static inline size_t round_up8(size_t n)
{
    return (n + 7) & ~(size_t)7;
}

void row_layout_init(struct row_layout *l, const enum field_kind *kinds, uint32_t field_count)
{
    ASSERT(field_count <= BINARY_ROW_FIELDS_MAX);
    *l = (struct row_layout){
        .field_count = field_count,
        .kinds = kinds,
        .header_bytes = (field_count + 63 + 8) / 64 * 8,
        .fixed_size = true,
    };
    l->fixed_bytes = l->header_bytes + 8 * field_count;
    for (uint32_t i = 0; i < field_count; i++) {
        if (kinds[i] == FIELD_BYTES)
            l->fixed_size = false;
        else if (kinds[i] == FIELD_DECIMAL_WIDE)
            l->reserved_bytes += DECIMAL_BYTES;
        else if (kinds[i] == FIELD_TIMESTAMP_WIDE)
            l->reserved_bytes += TIMESTAMP_BYTES;
    }
}

static inline void mark_null(uint8_t *row, uint32_t field)
{
    row[(field + 8) >> 3] |= (uint8_t)(1u << ((field + 8) & 7));
}

static inline void clear_null(uint8_t *row, uint32_t field)
{
    row[(field + 8) >> 3] &= (uint8_t)~(1u << ((field + 8) & 7));
}

static inline uint32_t slot_low(const uint8_t *slot)
{
    return get_le32(slot);
}
static inline uint32_t slot_offset(const uint8_t *slot)
{
    return get_le32(slot + 4);
}

static inline void put_place(uint8_t *slot, size_t offset, uint32_t low)
{
    put_le32(slot, low);
    put_le32(slot + 4, (uint32_t)offset);
}

static inline const uint8_t *slot_of(const struct row_layout *l, const uint8_t *row, uint32_t field)
{
    return row + l->header_bytes + 8 * (size_t)field;
}

static void put_int(enum field_kind kind, uint8_t *slot, int64_t v)
{
    uint64_t u = (uint64_t)v;

    switch (kind) {
    case FIELD_BOOL:
        u = v != 0;
        break;
    case FIELD_I8:
        u &= 0xFF;
        break;
    case FIELD_I16:
        u &= 0xFFFF;
        break;
    case FIELD_I32:
        u &= 0xFFFFFFFFu;
        break;
    default:
        ASSERT(kind == FIELD_I64);
    }
    put_le64(slot, u);
}

/* Shortest two's complement, big-endian; 1..16 bytes into out. */
static uint32_t decimal_encode(int128 v, uint8_t out[DECIMAL_BYTES])
{
    uint8_t all[DECIMAL_BYTES];
    uint32_t first = 0;
    unsigned __int128 u = (unsigned __int128)v;

    for (int i = DECIMAL_BYTES - 1; i >= 0; i--, u >>= 8)
        all[i] = (uint8_t)u;
    while (first < DECIMAL_BYTES - 1 && ((all[first] == 0 && all[first + 1] < 0x80) ||
                                         (all[first] == 0xFF && all[first + 1] >= 0x80)))
        first++;
    memset(out, 0, DECIMAL_BYTES);
    memcpy(out, all + first, DECIMAL_BYTES - first);
    return DECIMAL_BYTES - first;
}

static int128 decimal_decode(const uint8_t *p, uint32_t len)
{
    unsigned __int128 u = len > 0 && p[0] >= 0x80 ? ~(unsigned __int128)0 : 0;

    for (uint32_t i = 0; i < len; i++)
        u = (u << 8) | p[i];
    return (int128)u;
}

/* ---- writer ---------------------------------------------------------------------------------- */

static inline uint8_t *writer_row(const struct row_writer *w)
{
    return w->out->data + w->start;
}

static inline uint8_t *writer_slot(const struct row_writer *w, uint32_t field)
{
    return binary_row_slot(w->layout, writer_row(w), field);
}

void row_writer_begin(struct row_writer *w, const struct row_layout *layout, struct buf *out)
{
    *w = (struct row_writer){layout, out, out->len};
    buf_reserve(out, (size_t)layout->fixed_bytes + layout->reserved_bytes);
    memset(out->data + out->len, 0, layout->fixed_bytes);
    out->len += layout->fixed_bytes;
}

/* `size` zero bytes at the end; returns their offset in the row. */
static size_t writer_extend(struct row_writer *w, size_t size)
{
    size_t at = w->out->len;

    buf_reserve(w->out, size);
    memset(w->out->data + at, 0, size);
    w->out->len += size;
    return at - w->start;
}

void row_write_null(struct row_writer *w, uint32_t field)
{
    enum field_kind kind = w->layout->kinds[field];
    size_t at;

    mark_null(writer_row(w), field);
    if (kind == FIELD_DECIMAL_WIDE || kind == FIELD_TIMESTAMP_WIDE) {
        at = writer_extend(w, kind == FIELD_DECIMAL_WIDE ? DECIMAL_BYTES : TIMESTAMP_BYTES);
        put_place(writer_slot(w, field), at, 0);
    }
}

void row_write_int(struct row_writer *w, uint32_t field, int64_t v)
{
    put_int(w->layout->kinds[field], writer_slot(w, field), v);
}

void row_write_f32(struct row_writer *w, uint32_t field, float v)
{
    ASSERT(w->layout->kinds[field] == FIELD_F32);
    memcpy(writer_slot(w, field), &v, 4);
}

void row_write_f64(struct row_writer *w, uint32_t field, double v)
{
    ASSERT(w->layout->kinds[field] == FIELD_F64);
    memcpy(writer_slot(w, field), &v, 8);
}

void row_write_bytes(struct row_writer *w, uint32_t field, struct bytes v)
{
    uint8_t *slot = writer_slot(w, field);
    size_t at;

    ASSERT(w->layout->kinds[field] == FIELD_BYTES && v.len <= BINARY_ROW_BYTES_MAX);
    if (v.len <= INLINE_BYTES_MAX) {
        if (v.len > 0)
            memcpy(slot, v.data, v.len);
        slot[7] = (uint8_t)(0x80 | v.len);
        return;
    }
    at = writer_extend(w, round_up8(v.len));
    memcpy(writer_row(w) + at, v.data, v.len);
    put_place(writer_slot(w, field), at, (uint32_t)v.len);
}

void row_write_decimal(struct row_writer *w, uint32_t field, int128 unscaled)
{
    size_t at;
    uint32_t len;

    if (w->layout->kinds[field] == FIELD_I64) {
        put_le64(writer_slot(w, field), (uint64_t)unscaled);
        return;
    }
    ASSERT(w->layout->kinds[field] == FIELD_DECIMAL_WIDE);
    at = writer_extend(w, DECIMAL_BYTES);
    len = decimal_encode(unscaled, writer_row(w) + at);
    put_place(writer_slot(w, field), at, len);
}

void row_write_timestamp(struct row_writer *w, uint32_t field, int64_t ms, uint32_t nanos_of_ms)
{
    size_t at;

    ASSERT(w->layout->kinds[field] == FIELD_TIMESTAMP_WIDE && nanos_of_ms < 1000000);
    at = writer_extend(w, TIMESTAMP_BYTES);
    put_le64(writer_row(w) + at, (uint64_t)ms);
    put_place(writer_slot(w, field), at, nanos_of_ms);
}

struct bytes row_writer_end(const struct row_writer *w)
{
    return bytes_of(writer_row(w), w->out->len - w->start);
}

/* ---- in place -------------------------------------------------------------------------------- */

/* Where a wide field's reserved bytes lie. A row without them cannot change in place:
 * binary_row_check refuses it when it has the full size. */
static inline uint8_t *reserved(const struct row_layout *l, uint8_t *row, const uint8_t *slot)
{
    ASSERT(slot_offset(slot) >= l->fixed_bytes);
    return row + slot_offset(slot);
}

void binary_row_init(const struct row_layout *l, uint8_t *row)
{
    uint32_t at = l->fixed_bytes;

    ASSERT(l->fixed_size);
    memset(row, 0, row_layout_size(l));
    for (uint32_t i = 0; i < l->field_count; i++) {
        mark_null(row, i);
        if (l->kinds[i] == FIELD_DECIMAL_WIDE || l->kinds[i] == FIELD_TIMESTAMP_WIDE) {
            put_place(binary_row_slot(l, row, i), at, 0);
            at += l->kinds[i] == FIELD_DECIMAL_WIDE ? DECIMAL_BYTES : TIMESTAMP_BYTES;
        }
    }
}

void binary_row_set_null(const struct row_layout *l, uint8_t *row, uint32_t field)
{
    uint8_t *slot = binary_row_slot(l, row, field);

    mark_null(row, field);
    switch (l->kinds[field]) {
    case FIELD_DECIMAL_WIDE:
        memset(reserved(l, row, slot), 0, DECIMAL_BYTES);
        put_le32(slot, 0); /* the offset stays */
        break;
    case FIELD_TIMESTAMP_WIDE:
        memset(reserved(l, row, slot), 0, TIMESTAMP_BYTES);
        put_le32(slot, 0);
        break;
    case FIELD_BYTES:
        ASSERT(l->kinds[field] != FIELD_BYTES); /* cannot change in place */
        break;
    default:
        put_le64(slot, 0);
    }
}

void binary_row_set_int(const struct row_layout *l, uint8_t *row, uint32_t field, int64_t v)
{
    clear_null(row, field);
    put_int(l->kinds[field], binary_row_slot(l, row, field), v);
}

void binary_row_set_f32(const struct row_layout *l, uint8_t *row, uint32_t field, float v)
{
    ASSERT(l->kinds[field] == FIELD_F32);
    clear_null(row, field);
    memcpy(binary_row_slot(l, row, field), &v, 4);
}

void binary_row_set_f64(const struct row_layout *l, uint8_t *row, uint32_t field, double v)
{
    ASSERT(l->kinds[field] == FIELD_F64);
    clear_null(row, field);
    memcpy(binary_row_slot(l, row, field), &v, 8);
}

void binary_row_set_decimal(const struct row_layout *l, uint8_t *row, uint32_t field,
                            int128 unscaled)
{
    uint8_t *slot = binary_row_slot(l, row, field);

    clear_null(row, field);
    if (l->kinds[field] == FIELD_I64) {
        put_le64(slot, (uint64_t)unscaled);
        return;
    }
    ASSERT(l->kinds[field] == FIELD_DECIMAL_WIDE);
    put_le32(slot, decimal_encode(unscaled, reserved(l, row, slot)));
}

void binary_row_set_timestamp(const struct row_layout *l, uint8_t *row, uint32_t field, int64_t ms,
                              uint32_t nanos_of_ms)
{
    uint8_t *slot = binary_row_slot(l, row, field);

    ASSERT(l->kinds[field] == FIELD_TIMESTAMP_WIDE && nanos_of_ms < 1000000);
    clear_null(row, field);
    put_le64(reserved(l, row, slot), (uint64_t)ms);
    put_le32(slot, nanos_of_ms);
}

/* ---- reading --------------------------------------------------------------------------------- */

int64_t binary_row_int(const struct row_layout *l, const uint8_t *row, uint32_t field)
{
    uint64_t u = get_le64(slot_of(l, row, field));

    switch (l->kinds[field]) {
    case FIELD_BOOL:
        return (uint8_t)u != 0;
    case FIELD_I8:
        return (int8_t)u;
    case FIELD_I16:
        return (int16_t)u;
    case FIELD_I32:
        return (int32_t)u;
    default:
        ASSERT(l->kinds[field] == FIELD_I64);
        return (int64_t)u;
    }
}

float binary_row_f32(const struct row_layout *l, const uint8_t *row, uint32_t field)
{
    float v;

    memcpy(&v, slot_of(l, row, field), 4);
    return v;
}

double binary_row_f64(const struct row_layout *l, const uint8_t *row, uint32_t field)
{
    double v;

    memcpy(&v, slot_of(l, row, field), 8);
    return v;
}

struct bytes binary_row_bytes(const struct row_layout *l, const uint8_t *row, uint32_t field)
{
    const uint8_t *slot = slot_of(l, row, field);

    if (slot[7] & 0x80)
        return bytes_of(slot, slot[7] & 0x7F);
    return bytes_of(row + slot_offset(slot), slot_low(slot));
}

int128 binary_row_decimal(const struct row_layout *l, const uint8_t *row, uint32_t field)
{
    const uint8_t *slot = slot_of(l, row, field);

    if (l->kinds[field] == FIELD_I64)
        return (int64_t)get_le64(slot);
    return decimal_decode(row + slot_offset(slot), slot_low(slot));
}

int64_t binary_row_timestamp(const struct row_layout *l, const uint8_t *row, uint32_t field,
                             uint32_t *nanos_of_ms)
{
    const uint8_t *slot = slot_of(l, row, field);

    *nanos_of_ms = slot_low(slot);
    return (int64_t)get_le64(row + slot_offset(slot));
}

static enum rc check_place(const struct row_layout *l, struct bytes row, uint32_t field,
                           uint64_t len, const char *what, struct err *err)
{
    uint64_t at = slot_offset(slot_of(l, row.data, field));

    if (at < l->fixed_bytes || at + len > row.len)
        return err_set(err, RC_CORRUPT, "%s: field %u: %llu bytes at offset %llu of a row of %zu",
                       what, field, (unsigned long long)len, (unsigned long long)at, row.len);
    return RC_OK;
}

static enum rc check_field(const struct row_layout *l, struct bytes row, uint32_t field,
                           const char *what, struct err *err)
{
    const uint8_t *slot = slot_of(l, row.data, field);
    bool null = binary_row_is_null(row.data, field);
    size_t full = l->fixed_size ? row_layout_size(l) : SIZE_MAX;

    switch (l->kinds[field]) {
    case FIELD_BOOL:
        if (!null && slot[0] > 1)
            return err_set(err, RC_CORRUPT, "%s: field %u: boolean %u", what, field, slot[0]);
        return RC_OK;
    case FIELD_BYTES:
        if (null)
            return RC_OK;
        if (slot[7] & 0x80) {
            if ((slot[7] & 0x7F) > INLINE_BYTES_MAX)
                return err_set(err, RC_CORRUPT, "%s: field %u: %u bytes in a slot", what, field,
                               slot[7] & 0x7Fu);
            return RC_OK;
        }
        return check_place(l, row, field, slot_low(slot), what, err);
    case FIELD_DECIMAL_WIDE:
        if (null && slot_offset(slot) == 0 && row.len < full)
            return RC_OK; /* a writer that reserved nothing: readable, but not in place */
        if (slot_low(slot) > DECIMAL_BYTES || (!null && slot_low(slot) == 0))
            return err_set(err, RC_CORRUPT, "%s: field %u: decimal of %u bytes", what, field,
                           slot_low(slot));
        return check_place(l, row, field, DECIMAL_BYTES, what, err);
    case FIELD_TIMESTAMP_WIDE:
        if (null && slot_offset(slot) == 0 && row.len < full)
            return RC_OK;
        if (slot_low(slot) >= 1000000)
            return err_set(err, RC_CORRUPT, "%s: field %u: %u ns of a millisecond", what, field,
                           slot_low(slot));
        return check_place(l, row, field, TIMESTAMP_BYTES, what, err);
    default:
        return RC_OK;
    }
}

enum rc binary_row_check(const struct row_layout *l, struct bytes row, const char *what,
                         struct err *err)
{
    if (row.len > BINARY_ROW_BYTES_MAX)
        return err_set(err, RC_LIMIT, "%s: row of %zu bytes exceeds %u", what, row.len,
                       BINARY_ROW_BYTES_MAX);
    if (row.len < l->fixed_bytes || row.len % 8 != 0)
        return err_set(err, RC_CORRUPT, "%s: row of %zu bytes, %u fields take %u", what, row.len,
                       l->field_count, l->fixed_bytes);
    if (l->fixed_size && row.len > row_layout_size(l))
        return err_set(err, RC_CORRUPT, "%s: row of %zu bytes instead of %u", what, row.len,
                       row_layout_size(l));
    if (row.data[0] > 3)
        return err_set(err, RC_CORRUPT, "%s: row kind %u", what, row.data[0]);
    for (uint32_t i = 0; i < l->field_count; i++)
        RETURN_IF_ERR(check_field(l, row, i, what, err));
    return RC_OK;
}
