/* copy_rows.c - see copy_rows.h */
#include "job/operator/copy_rows.h"

static void append_escaped(struct bytes text, struct buf *out)
{
    static const char escapes[] = "\b\f\n\r\t\v\\", letters[] = "bfnrtv\\";
    size_t from = 0;

    for (size_t i = 0; i < text.len; i++) {
        const char *at = text.data[i] == 0 ? NULL : strchr(escapes, text.data[i]);

        if (at == NULL)
            continue;
        buf_append(out, text.data + from, i - from);
        buf_append_u8(out, '\\');
        buf_append_u8(out, (uint8_t)letters[at - escapes]);
        from = i + 1;
    }
    if (text.len > from)
        buf_append(out, text.data + from, text.len - from);
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

static void append_value(const struct column *c, uint32_t row, struct buf *out)
{
    if (!column_present(c, row)) {
        buf_append_str(out, "\\N");
        return;
    }
    switch (c->type.kind) {
    case TYPE_BOOLEAN:
        buf_append_u8(out, bit_get(c->values, row) ? 't' : 'f');
        break;
    case TYPE_CHAR:
    case TYPE_VARCHAR:
        append_escaped(column_bytes(c, row), out);
        break;
    case TYPE_BINARY:
    case TYPE_VARBINARY:
        append_hex(column_bytes(c, row), out);
        break;
    default: /* numbers, dates, times: PostgreSQL reads what SQL shows */
        column_print(c, row, out);
    }
}

void copy_row_append(const struct batch *in, uint32_t row, bool ops, struct buf *out)
{
    enum row_kind kind = batch_kind(in, row);

    if (ops)
        buf_append_str(out, kind == ROW_DELETE || kind == ROW_UPDATE_BEFORE ? "D\t" : "U\t");
    for (uint32_t c = 0; c < in->column_count; c++) {
        if (c > 0)
            buf_append_u8(out, '\t');
        append_value(&in->columns[c], row, out);
    }
    buf_append_u8(out, '\n');
}
