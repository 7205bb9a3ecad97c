/* batch_codec.c - see batch_codec.h */
#include "job/batch_codec.h"

#include "base/hash.h"

/* Flags of a column, and of a block whose rows are not all +I. */
#define HAS_VALIDITY 1u
#define HAS_KINDS 1u

static size_t bit_bytes(uint32_t rows)
{
    return ((size_t)rows + 7) / 8;
}

/* Of the values of a column of fixed width. */
static size_t fixed_bytes(enum type_kind kind, uint32_t rows)
{
    return kind == TYPE_BOOLEAN ? bit_bytes(rows) : (size_t)rows * type_width(kind);
}

static size_t text_bytes(const struct column *c, uint32_t rows)
{
    return (size_t)(c->offsets[rows] - c->offsets[0]);
}

uint64_t batch_block_bytes(const struct batch *b)
{
    uint64_t n = BATCH_BLOCK_HEADER + 1 + (b->kinds != NULL ? b->rows : 0);

    for (uint32_t i = 0; i < b->column_count; i++) {
        const struct column *c = &b->columns[i];

        n += 1 + (c->validity != NULL ? bit_bytes(b->rows) : 0);
        n += type_is_varlen(c->type.kind) ? 4ull * b->rows + text_bytes(c, b->rows)
                                          : fixed_bytes(c->type.kind, b->rows);
    }
    return n;
}

/* ---- encode ---------------------------------------------------------------------------------- */

/* Bits past the last row are zero. */
static void put_bits(struct buf *out, const void *bits, uint32_t rows)
{
    buf_append(out, bits, bit_bytes(rows));
    if (rows % 8 != 0)
        out->data[out->len - 1] &= (uint8_t)((1u << rows % 8) - 1);
}

static void put_column(struct buf *out, const struct column *c, uint32_t rows)
{
    buf_append_u8(out, c->validity != NULL ? HAS_VALIDITY : 0);
    if (c->validity != NULL)
        put_bits(out, c->validity, rows);
    if (c->type.kind == TYPE_BOOLEAN) {
        put_bits(out, c->values, rows);
    } else if (!type_is_varlen(c->type.kind)) {
        buf_append(out, c->values, fixed_bytes(c->type.kind, rows));
    } else {
        for (uint32_t i = 0; i < rows; i++)
            buf_append_le32(out, (uint32_t)(c->offsets[i + 1] - c->offsets[i]));
        if (text_bytes(c, rows) > 0)
            buf_append(out, c->bytes + c->offsets[0], text_bytes(c, rows));
    }
}

enum rc batch_encode(const struct batch *b, struct buf *out, struct err *err)
{
    uint64_t bytes = batch_block_bytes(b);
    size_t start = out->len;
    uint8_t *header;

    ASSERT(b->rows > 0);
    if (bytes - BATCH_BLOCK_HEADER > BATCH_BLOCK_MAX)
        return err_set(err, RC_LIMIT, "a batch of %llu bytes exceeds %u",
                       (unsigned long long)bytes, BATCH_BLOCK_MAX);
    buf_reserve(out, bytes);
    out->len += BATCH_BLOCK_HEADER;
    buf_append_u8(out, b->kinds != NULL ? HAS_KINDS : 0);
    if (b->kinds != NULL)
        buf_append(out, b->kinds, b->rows);
    for (uint32_t i = 0; i < b->column_count; i++)
        put_column(out, &b->columns[i], b->rows);
    ASSERT(out->len - start == bytes);
    header = out->data + start;
    put_le32(header, (uint32_t)(bytes - BATCH_BLOCK_HEADER));
    put_le32(header + 4, b->rows);
    put_le64(header + 8, hash64_seed(bytes_of(header + BATCH_BLOCK_HEADER, bytes - BATCH_BLOCK_HEADER), b->rows));
    return RC_OK;
}

/* ---- decode ---------------------------------------------------------------------------------- */

static enum rc take_flag(struct reader *in, uint8_t allowed, uint8_t *flags, const char *field,
                         struct err *err)
{
    RETURN_IF_ERR(reader_u8(in, flags, field, err));
    if ((*flags & ~allowed) != 0)
        return err_set(err, RC_CORRUPT, "%s: %s 0x%02x at byte %zu has unknown bits", in->what,
                       field, *flags, in->pos - 1);
    return RC_OK;
}

static enum rc take_bits(struct reader *in, uint32_t rows, struct bytes *out, const char *field,
                         struct err *err)
{
    RETURN_IF_ERR(reader_take(in, bit_bytes(rows), out, field, err));
    if (rows % 8 != 0 && out->data[out->len - 1] >> rows % 8 != 0)
        return err_set(err, RC_CORRUPT, "%s: %s: bits behind row %u are set", in->what, field,
                       rows);
    return RC_OK;
}

static bool bit_of(struct bytes bits, uint32_t i)
{
    return (bits.data[i / 8] >> i % 8 & 1) != 0;
}

static enum rc take_text(struct reader *in, uint32_t rows, struct batch_builder *out,
                         uint32_t column, struct bytes nulls, struct err *err)
{
    struct batch_space space;
    struct bytes lens, text;
    uint64_t sum = 0;
    size_t from = 0;
    int32_t at;

    RETURN_IF_ERR(reader_take(in, 4 * (size_t)rows, &lens, "lengths", err));
    for (uint32_t i = 0; i < rows; i++)
        sum += get_le32(lens.data + 4 * (size_t)i);
    if (sum > BATCH_BLOCK_MAX)
        return err_set(err, RC_CORRUPT, "%s: column %u: texts of %llu bytes", in->what, column,
                       (unsigned long long)sum);
    RETURN_IF_ERR(reader_take(in, (size_t)sum, &text, "text", err));
    space = batch_space_open(out, column, text.len);
    at = space.offsets[0];
    for (uint32_t i = 0; i < rows; i++) {
        size_t len = get_le32(lens.data + 4 * (size_t)i);

        if (nulls.len > 0 && !bit_of(nulls, i)) {
            batch_space_null(out, column, i); /* whatever stood there is not looked at */
        } else if (len > 0) {
            memcpy(space.bytes + at, text.data + from, len);
            at += (int32_t)len;
        }
        from += len;
        space.offsets[i + 1] = at;
    }
    return RC_OK;
}

static enum rc take_column(struct reader *in, const struct schema_field *field, uint32_t rows,
                           struct batch_builder *out, uint32_t column, struct err *err)
{
    enum type_kind kind = field->type.kind;
    struct bytes nulls = {0}, values;
    struct batch_space space;
    uint8_t flags;

    RETURN_IF_ERR(take_flag(in, HAS_VALIDITY, &flags, "flags of a column", err));
    if (flags & HAS_VALIDITY)
        RETURN_IF_ERR(take_bits(in, rows, &nulls, "validity", err));
    if (type_is_varlen(kind))
        return take_text(in, rows, out, column, nulls, err);
    if (kind == TYPE_BOOLEAN)
        RETURN_IF_ERR(take_bits(in, rows, &values, "values", err));
    else
        RETURN_IF_ERR(reader_take(in, fixed_bytes(kind, rows), &values, "values", err));
    space = batch_space_open(out, column, 0);
    if (values.len > 0)
        memcpy(space.values, values.data, values.len);
    for (uint32_t i = 0; nulls.len > 0 && i < rows; i++) {
        if (bit_of(nulls, i))
            continue;
        batch_space_null(out, column, i);
        if (kind == TYPE_BOOLEAN)
            bit_clear(space.values, i);
        else
            memset((uint8_t *)space.values + (size_t)i * type_width(kind), 0, type_width(kind));
    }
    return RC_OK;
}

static enum rc take_header(struct reader *in, uint32_t *rows, struct bytes *body, struct err *err)
{
    size_t at = in->pos;
    uint64_t hash;
    uint32_t len;

    RETURN_IF_ERR(reader_le32(in, &len, "length of a block", err));
    RETURN_IF_ERR(reader_le32(in, rows, "rows of a block", err));
    RETURN_IF_ERR(reader_le64(in, &hash, "hash of a block", err));
    if (*rows == 0 || *rows > BATCH_ROWS_MAX || len > BATCH_BLOCK_MAX)
        return err_set(err, RC_CORRUPT, "%s: block at byte %zu: %u rows in %u bytes", in->what, at,
                       *rows, len);
    RETURN_IF_ERR(reader_take(in, len, body, "block", err));
    if (hash64_seed(*body, *rows) != hash)
        return err_set(err, RC_CORRUPT, "%s: block at byte %zu: its hash differs", in->what, at);
    return RC_OK;
}

static enum rc take_columns(struct reader *in, const struct schema *schema, uint32_t rows,
                            struct batch_builder *out, struct bytes *kinds, struct err *err)
{
    uint8_t flags;

    RETURN_IF_ERR(take_flag(in, HAS_KINDS, &flags, "flags of a block", err));
    if (flags & HAS_KINDS)
        RETURN_IF_ERR(reader_take(in, rows, kinds, "kinds", err));
    for (size_t i = 0; i < kinds->len; i++)
        if (kinds->data[i] > ROW_DELETE)
            return err_set(err, RC_CORRUPT, "%s: row %zu is of kind %u", in->what, i,
                           kinds->data[i]);
    for (uint32_t i = 0; i < schema->field_count; i++)
        RETURN_IF_ERR(take_column(in, &schema->fields[i], rows, out, i, err));
    return reader_end(in, err);
}

enum rc batch_decode(struct reader *in, const struct schema *schema, struct batch_builder *out,
                     struct err *err)
{
    struct bytes body, kinds = {0};
    struct reader block;
    uint32_t rows;
    enum rc rc;

    ASSERT(batch_builder_rows(out) == 0);
    RETURN_IF_ERR(take_header(in, &rows, &body, err));
    reader_init(&block, body, in->what);
    batch_rows_begin(out, rows);
    rc = take_columns(&block, schema, rows, out, &kinds, err);
    if (rc != RC_OK) {
        batch_rows_abandon(out, rows);
        return rc;
    }
    batch_rows_end(out, rows);
    batch_builder_kinds(out, kinds);
    return RC_OK;
}
