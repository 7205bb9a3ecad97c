/* copy_rows.c - see copy_rows.h */
#include "job/operator/copy_rows.h"

/* PostgreSQL has texts without NUL only: said now, while no checkpoint holds the row. */
static enum rc append_escaped(struct bytes text, struct buf *out, struct err *err)
{
    static const char escapes[] = "\b\f\n\r\t\v\\", letters[] = "bfnrtv\\";
    size_t from = 0;

    for (size_t i = 0; i < text.len; i++) {
        const char *at;

        if (text.data[i] == 0)
            return err_set(err, RC_INVALID, "a text of %zu bytes has a NUL at byte %zu, which "
                           "PostgreSQL does not take", text.len, i + 1);
        at = strchr(escapes, text.data[i]);
        if (at == NULL)
            continue;
        buf_append(out, text.data + from, i - from);
        buf_append_u8(out, '\\');
        buf_append_u8(out, (uint8_t)letters[at - escapes]);
        from = i + 1;
    }
    if (text.len > from)
        buf_append(out, text.data + from, text.len - from);
    return RC_OK;
}

static void append_hex(struct bytes value, struct buf *out)
{
    static const char digits[] = "0123456789abcdef";

    buf_append_str(out, "\\\\x");
    buf_reserve(out, 2 * value.len);
    for (size_t i = 0; i < value.len; i++) {
        out->data[out->len++] = (uint8_t)digits[value.data[i] >> 4];
        out->data[out->len++] = (uint8_t)digits[value.data[i] & 15];
    }
}

static enum rc append_value(const struct column *c, uint32_t row, struct buf *out, struct err *err)
{
    if (!column_present(c, row)) {
        buf_append_str(out, "\\N");
        return RC_OK;
    }
    switch (c->type.kind) {
    case TYPE_BOOLEAN:
        buf_append_u8(out, bit_get(c->values, row) ? 't' : 'f');
        break;
    case TYPE_CHAR:
    case TYPE_VARCHAR:
        return append_escaped(column_bytes(c, row), out, err);
    case TYPE_BINARY:
    case TYPE_VARBINARY:
        append_hex(column_bytes(c, row), out);
        break;
    default: /* numbers, dates, times: PostgreSQL reads what SQL shows */
        column_print(c, row, out);
    }
    return RC_OK;
}

enum rc copy_row_append(const struct batch *in, uint32_t row, const struct pg_table *table,
                        struct buf *out, struct err *err)
{
    enum row_kind kind = batch_kind(in, row);

    if (table->key_count > 0)
        buf_append_str(out, kind == ROW_DELETE || kind == ROW_UPDATE_BEFORE ? "D\t" : "U\t");
    for (uint32_t c = 0; c < in->column_count; c++) {
        if (c > 0)
            buf_append_u8(out, '\t');
        if (append_value(&in->columns[c], row, out, err) != RC_OK)
            return err_wrap(err, RC_INVALID, "table %s: column %s", table->name,
                            table->columns[c].name);
    }
    buf_append_u8(out, '\n');
    return RC_OK;
}
