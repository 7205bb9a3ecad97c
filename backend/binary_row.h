/* binary_row.h - rows in Flink's BinaryRowData layout, byte for byte: keys and values of SQL state.
 *
 *     byte 0        row kind (0 +I, 1 -U, 2 +U, 3 -D)
 *     bit 8 + i     1 = field i is null; header and null bits padded to a multiple of 8 bytes
 *     8 bytes       per field: the value in its low bytes; or where it lies in the variable part
 *     ...           variable part, each piece padded to 8 bytes with zeroes
 *
 * Little-endian. STRING and BYTES up to 7 bytes lie in their slot (top byte 0x80 | length); longer
 * ones in the variable part (slot: low u32 length, high u32 offset from the row's start). DECIMAL
 * of more than 18 digits: unscaled value, big-endian, in 16 bytes of the variable part that are
 * reserved for null too, so that it can change in place. TIMESTAMP of more than 3 digits: i64
 * milliseconds there (8 bytes, reserved for null too), low u32 of the slot = nanoseconds of the
 * millisecond.
 *
 * Pure; any thread. The get functions trust the row: rows from outside go through binary_row_check
 * first. After: BinaryRowData, BinaryRowWriter, BinarySegmentUtils (flink-table).
 */
#ifndef VARVE_BACKEND_BINARY_ROW_H
#define VARVE_BACKEND_BINARY_ROW_H

#include "base/bytes.h"

#define BINARY_ROW_FIELDS_MAX 4096u
#define BINARY_ROW_BYTES_MAX (512u << 20)

typedef __int128 int128;

enum field_kind {
    FIELD_BOOL,
    FIELD_I8,
    FIELD_I16,
    FIELD_I32, /* INT, DATE, TIME */
    FIELD_I64, /* BIGINT; DECIMAL up to 18 digits, unscaled; TIMESTAMP up to 3, milliseconds */
    FIELD_F32,
    FIELD_F64,
    FIELD_BYTES,          /* CHAR, STRING, BYTES */
    FIELD_DECIMAL_WIDE,   /* more than 18 digits */
    FIELD_TIMESTAMP_WIDE, /* more than 3 digits */
};
struct row_layout {
    uint32_t field_count;
    const enum field_kind *kinds; /* borrowed */
    uint32_t header_bytes;
    uint32_t fixed_bytes;    /* header and slots */
    uint32_t reserved_bytes; /* of wide decimals and timestamps */
    bool fixed_size;         /* no FIELD_BYTES: each row has fixed_bytes + reserved_bytes */
};
void row_layout_init(struct row_layout *l, const enum field_kind *kinds, uint32_t field_count);
/* Size of each row of a layout without FIELD_BYTES. */
static inline uint32_t row_layout_size(const struct row_layout *l)
{
    return l->fixed_bytes + l->reserved_bytes;
}

/* Writes one row at the end of `out`; fields in order 0..n-1, each once. */
struct row_writer {
    const struct row_layout *layout;
    struct buf *out;
    size_t start;
};
void row_writer_begin(struct row_writer *w, const struct row_layout *layout, struct buf *out);
void row_write_null(struct row_writer *w, uint32_t field);
void row_write_int(struct row_writer *w, uint32_t field,
                   int64_t v); /* BOOL, I8..I64 by the layout */
void row_write_f32(struct row_writer *w, uint32_t field, float v);
void row_write_f64(struct row_writer *w, uint32_t field, double v);
void row_write_bytes(struct row_writer *w, uint32_t field, struct bytes v);
void row_write_decimal(struct row_writer *w, uint32_t field,
                       int128 unscaled); /* I64 or DECIMAL_WIDE */
/* TIMESTAMP_WIDE; nanos_of_ms 0..999999. */
void row_write_timestamp(struct row_writer *w, uint32_t field, int64_t ms, uint32_t nanos_of_ms);
/* The row; borrowed from `out`, until it changes. */
struct bytes row_writer_end(const struct row_writer *w);

/* A row that the caller keeps and changes in place, without FIELD_BYTES: `row` has row_layout_size
 * bytes, 8-byte aligned. Begins with row kind +I and every field null. */
void binary_row_init(const struct row_layout *l, uint8_t *row);
void binary_row_set_null(const struct row_layout *l, uint8_t *row, uint32_t field);
void binary_row_set_int(const struct row_layout *l, uint8_t *row, uint32_t field, int64_t v);
void binary_row_set_f32(const struct row_layout *l, uint8_t *row, uint32_t field, float v);
void binary_row_set_f64(const struct row_layout *l, uint8_t *row, uint32_t field, double v);
void binary_row_set_decimal(const struct row_layout *l, uint8_t *row, uint32_t field,
                            int128 unscaled);
void binary_row_set_timestamp(const struct row_layout *l, uint8_t *row, uint32_t field, int64_t ms,
                              uint32_t nanos_of_ms);

static inline bool binary_row_is_null(const uint8_t *row, uint32_t field)
{
    return (row[(field + 8) >> 3] >> ((field + 8) & 7)) & 1;
}
/* The 8 bytes of a field's slot. */
static inline uint8_t *binary_row_slot(const struct row_layout *l, uint8_t *row, uint32_t field)
{
    return row + l->header_bytes + 8 * (size_t)field;
}
/* The field must not be null. */
int64_t binary_row_int(const struct row_layout *l, const uint8_t *row, uint32_t field);
float binary_row_f32(const struct row_layout *l, const uint8_t *row, uint32_t field);
double binary_row_f64(const struct row_layout *l, const uint8_t *row, uint32_t field);
/* Borrowed from the row. */
struct bytes binary_row_bytes(const struct row_layout *l, const uint8_t *row, uint32_t field);
int128 binary_row_decimal(const struct row_layout *l, const uint8_t *row,
                          uint32_t field); /* I64 too */
int64_t binary_row_timestamp(const struct row_layout *l, const uint8_t *row, uint32_t field,
                             uint32_t *nanos_of_ms);

/* Every offset and length inside the row, sizes as the layout asks, booleans 0 or 1, nanoseconds
 * below a million. RC_CORRUPT "<what>: field 3: 90 bytes at offset 24 of a row of 56". RC_LIMIT
 * past BINARY_ROW_BYTES_MAX. */
MUST_USE enum rc binary_row_check(const struct row_layout *l, struct bytes row, const char *what,
                                  struct err *err);

#endif
