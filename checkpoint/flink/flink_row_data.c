/* Binary rows: SQL's row inside its bytes, little-endian whatever machine wrote it, since all of them
 * are. See flink_value.h. After: BinaryRowData (flink-table-common). */
#include "checkpoint/flink/data_input.h"
#include "checkpoint/flink/flink_value_priv.h"

struct row {
    struct flink_decoder *d;
    struct bytes bytes;
    size_t offset; /* of it, in the decoder's reader */
};

static enum rc part_of(const struct row *r, size_t slot_at, uint32_t from, uint32_t len,
                       struct bytes *out, struct err *err)
{
    if (from > r->bytes.len || len > r->bytes.len - from)
        return err_set(err, RC_CORRUPT,
                       "%s: field at offset %zu: bytes %u to %llu of a row of %zu bytes",
                       r->d->r->what, r->offset + slot_at, from, (unsigned long long)from + len,
                       r->bytes.len);
    *out = bytes_of(r->bytes.data + from, len);
    return RC_OK;
}

/* Up to seven bytes lie in the slot itself. */
static enum rc variable_of(const struct row *r, size_t slot_at, struct bytes *out, struct err *err)
{
    const uint8_t *slot = r->bytes.data + slot_at;

    if (slot[7] & 0x80 && (slot[7] & 0x7F) <= 7) {
        *out = bytes_of(slot, slot[7] & 0x7F);
        return RC_OK;
    }
    return part_of(r, slot_at, get_le32(slot + 4), get_le32(slot), out, err);
}

static enum rc decimal_of(const struct row *r, const struct flink_serializer *s, size_t slot_at,
                          struct flink_value *out, struct err *err)
{
    const uint8_t *slot = r->bytes.data + slot_at;
    struct bytes unscaled;
    uint8_t big_endian[8];

    if (s->number > 18) {
        RETURN_IF_ERR(part_of(r, slot_at, get_le32(slot + 4), get_le32(slot), &unscaled, err));
    } else {
        put_be64(big_endian, get_le64(slot));
        unscaled = bytes_of(big_endian, sizeof big_endian);
    }
    flink_value_set_decimal(r->d, unscaled, s->scale, out);
    return RC_OK;
}

static enum rc timestamp_of(const struct row *r, const struct flink_serializer *s, size_t slot_at,
                            struct flink_value *out, struct err *err)
{
    const uint8_t *slot = r->bytes.data + slot_at;
    struct bytes ms = bytes_of(slot, 8);
    uint32_t nanos = 0;

    if (s->number > 3) {
        nanos = get_le32(slot);
        RETURN_IF_ERR(part_of(r, slot_at, get_le32(slot + 4), 8, &ms, err));
    }
    if (nanos > 999999)
        return err_set(err, RC_CORRUPT, "%s: field at offset %zu: %u nanoseconds of a millisecond",
                       r->d->r->what, r->offset + slot_at, nanos);
    flink_value_set_instant(r->d, (int64_t)get_le64(ms.data), (int32_t)nanos, s->number, "", out);
    return RC_OK;
}

static void number_of(enum flink_coding coding, const uint8_t *slot, struct flink_value *out)
{
    uint64_t bits = get_le64(slot);
    uint32_t low = (uint32_t)bits;
    float single;

    out->kind = FLINK_VALUE_INTEGER;
    switch (coding) {
    case FLINK_BOOLEAN:
        out->kind = FLINK_VALUE_BOOL;
        out->integer = slot[0] != 0;
        return;
    case FLINK_BYTE:
        out->integer = (int8_t)slot[0];
        return;
    case FLINK_SHORT:
        out->integer = (int16_t)bits;
        return;
    case FLINK_INT:
        out->integer = (int32_t)low;
        return;
    case FLINK_LONG:
        out->integer = (int64_t)bits;
        return;
    case FLINK_FLOAT:
        memcpy(&single, &low, sizeof low);
        *out = (struct flink_value){
            .kind = FLINK_VALUE_REAL, .real = (double)single, .single = true};
        return;
    default:
        out->kind = FLINK_VALUE_REAL;
        memcpy(&out->real, &bits, sizeof bits);
        return;
    }
}

/* s NULL: of a type that is not recorded. */
static enum rc field_of(const struct row *r, const struct flink_serializer *s, size_t slot_at,
                        struct flink_value *out, struct err *err)
{
    const uint8_t *slot = r->bytes.data + slot_at;
    struct bytes inner;

    if (s == NULL) {
        out->kind = FLINK_VALUE_OPAQUE;
        out->text = bytes_of(slot, 8);
        return RC_OK;
    }
    s = flink_serializer_bare(s);
    switch (s->coding) {
    case FLINK_BOOLEAN:
    case FLINK_BYTE:
    case FLINK_SHORT:
    case FLINK_INT:
    case FLINK_LONG:
    case FLINK_FLOAT:
    case FLINK_DOUBLE:
        number_of(s->coding, slot, out);
        return RC_OK;
    case FLINK_DECIMAL_DATA:
        return decimal_of(r, s, slot_at, out, err);
    case FLINK_TIMESTAMP_DATA:
        return timestamp_of(r, s, slot_at, out, err);
    case FLINK_ROW_DATA:
        RETURN_IF_ERR(part_of(r, slot_at, get_le32(slot + 4), get_le32(slot), &inner, err));
        return flink_row_data(r->d, s, inner, (size_t)(inner.data - r->d->r->all.data), out, err);
    case FLINK_STRING_DATA:
        out->kind = FLINK_VALUE_TEXT;
        return variable_of(r, slot_at, &out->text, err);
    case FLINK_BYTES:
        out->kind = FLINK_VALUE_BYTES;
        return variable_of(r, slot_at, &out->text, err);
    default:
        out->kind = FLINK_VALUE_BYTES;
        return part_of(r, slot_at, get_le32(slot + 4), get_le32(slot), &out->text, err);
    }
}

enum rc flink_row_data(struct flink_decoder *d, const struct flink_serializer *s, struct bytes row,
                       size_t offset, struct flink_value *out, struct err *err)
{
    static const char *const kinds[] = {"+I", "-U", "+U", "-D"};
    size_t n = s->child_count > 0 ? s->child_count : (size_t)s->number;
    size_t header = (n + 63 + 8) / 64 * 8;
    struct row r = {d, row, offset};

    if (n > row.len || header + 8 * n > row.len)
        return err_set(err, RC_CORRUPT, "%s: row at offset %zu: %zu bytes for %zu fields",
                       d->r->what, offset, row.len, n);
    if (row.data[0] > 3)
        return err_set(err, RC_CORRUPT, "%s: row at offset %zu: kind %u", d->r->what, offset,
                       row.data[0]);
    RETURN_IF_ERR(flink_value_parts(d, FLINK_VALUE_RECORD, n + 1, out, err));
    flink_value_set_text(d, &out->parts[0], "%s", kinds[row.data[0]]);
    flink_value_set_name(&out->parts[0], bytes_of_str("kind"));
    for (size_t i = 0; i < n; i++) {
        struct flink_value *part = &out->parts[i + 1];

        flink_value_set_name(part, flink_field_name(d->arena, i));
        if (row.data[(i + 8) / 8] >> ((i + 8) % 8) & 1)
            continue;
        RETURN_IF_ERR(
            field_of(&r, s->child_count > 0 ? s->children[i] : NULL, header + 8 * i, part, err));
    }
    return RC_OK;
}
