/* csv_encoder.c - rows to CSV, byte for byte as Flink's writer has it.
 *
 * That writer (Jackson's CsvEncoder, loose check) puts a text in quotes when it is longer than 24
 * UTF-16 units or holds a byte below the largest of delimiter, quote and LF: with the defaults a
 * blank is enough, so timestamps stand in quotes. Numbers and booleans never do. Three additions,
 * so that what is written here is read back here as it was: a text equal to the null literal, an
 * empty line's only text, and a leading '#' where comments are allowed are quoted too. */
#include "job/format/csv_priv.h"
#include "job/format/field.h"

#define UNQUOTED_UNITS_MAX 24u /* Jackson's MAX_QUOTE_CHECK */

struct csv_encoder {
    struct encoder base;
    const struct schema *schema;
    struct format_options options;
    bool has_quote, has_escape;
    uint8_t delimiter, quote, escape, least_safe;
    struct bytes null_literal; /* what a null is written as */
    bool *skip;
    uint32_t written_columns;
    struct buf text;
};

/* Length in UTF-16 units passes the limit. */
static bool is_long(struct bytes t)
{
    size_t units = 0;

    if (t.len <= UNQUOTED_UNITS_MAX)
        return false;
    for (size_t i = 0; i < t.len && units <= UNQUOTED_UNITS_MAX; i++)
        units += (t.data[i] & 0xc0) != 0x80 ? 1u + (t.data[i] >= 0xf0) : 0u;
    return units > UNQUOTED_UNITS_MAX;
}

static bool needs_quotes(const struct csv_encoder *e, uint32_t written, struct bytes t)
{
    if (is_long(t))
        return true;
    for (size_t i = 0; i < t.len; i++) {
        if (t.data[i] < e->least_safe || (e->has_escape && t.data[i] == e->escape))
            return true;
    }
    if (e->options.null_literal != NULL && bytes_eq(t, e->null_literal))
        return true;
    if (e->options.allow_comments && written == 0 && t.len > 0 && t.data[0] == '#')
        return true;
    return t.len == 0 && e->written_columns == 1;
}

static void append_quoted(const struct csv_encoder *e, struct bytes t, struct buf *out)
{
    buf_reserve(out, 2 * t.len + 2);
    out->data[out->len++] = e->quote;
    for (size_t i = 0; i < t.len; i++) {
        uint8_t c = t.data[i];

        if (c == e->quote || (e->has_escape && c == e->escape))
            out->data[out->len++] = c;
        out->data[out->len++] = c;
    }
    out->data[out->len++] = e->quote;
}

/* Without quotes: what would break the row is escaped, or refused where there is no escape
 * character. */
static enum rc append_bare(const struct csv_encoder *e, uint32_t column, struct bytes t,
                           struct buf *out, struct err *err)
{
    for (size_t i = 0; i < t.len; i++) {
        uint8_t c = t.data[i];
        bool breaks =
            c == e->delimiter || c == '\n' || c == '\r' || (e->has_escape && c == e->escape);

        if (breaks && !e->has_escape)
            return err_set(err, RC_INVALID,
                           "csv: column %s: a text holds %s, and 'csv.disable-quote-character' is "
                           "set without 'csv.escape-character'",
                           e->schema->fields[column].name,
                           c == e->delimiter ? "the field delimiter" : "a line end");
        if (breaks)
            buf_append_u8(out, e->escape);
        buf_append_u8(out, breaks && c == '\n' ? 'n' : breaks && c == '\r' ? 'r' : c);
    }
    return RC_OK;
}

static bool is_text_like(enum type_kind k)
{
    return type_is_varlen(k) || k == TYPE_DECIMAL || k == TYPE_DATE || k == TYPE_TIME ||
           type_is_timestamp(k);
}

static enum rc encode_value(struct csv_encoder *e, const struct column *c, uint32_t column,
                            uint32_t row, uint32_t written, struct buf *out, struct err *err)
{
    struct bytes t;

    if (!column_present(c, row)) {
        buf_append(out, e->null_literal.data, e->null_literal.len);
        return RC_OK;
    }
    if (!is_text_like(c->type.kind)) {
        field_print(c, row, e->options.write_bigdecimal_scientific, ' ', out);
        return RC_OK;
    }
    if (type_is_text(c->type.kind)) {
        t = column_bytes(c, row);
    } else {
        buf_clear(&e->text);
        field_print(c, row, e->options.write_bigdecimal_scientific, ' ', &e->text);
        t = buf_bytes(&e->text);
    }
    if (!e->has_quote)
        return append_bare(e, column, t, out, err);
    if (needs_quotes(e, written, t))
        append_quoted(e, t, out);
    else
        buf_append(out, t.data, t.len);
    return RC_OK;
}

static enum rc csv_encode(struct encoder *base, const struct batch *batch, const uint32_t *sel,
                          uint32_t n, struct buf *out, uint32_t *ends, struct err *err)
{
    struct csv_encoder *e = (struct csv_encoder *)base;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = sel == NULL ? i : sel[i], written = 0;

        for (uint32_t c = 0; c < batch->column_count; c++) {
            if (e->skip[c])
                continue;
            if (written > 0)
                buf_append_u8(out, e->delimiter);
            RETURN_IF_ERR(encode_value(e, &batch->columns[c], c, row, written, out, err));
            written++;
        }
        buf_append_u8(out, '\n');
        if (ends != NULL) {
            if (out->len > UINT32_MAX)
                return err_set(err, RC_LIMIT, "csv: one batch makes more than 4 GiB of text");
            ends[i] = (uint32_t)out->len;
        }
    }
    return RC_OK;
}

static void csv_encoder_free(struct encoder *base)
{
    struct csv_encoder *e = (struct csv_encoder *)base;

    if (e == NULL)
        return;
    mem_free(e->skip);
    buf_release(&e->text);
    mem_free(e);
}

struct encoder *csv_encoder_new(const struct schema *schema, const struct format_options *options,
                                const bool *skip)
{
    static const struct encoder_ops ops = {csv_encode, csv_encoder_free};
    struct csv_encoder *e = mem_calloc(1, sizeof *e);
    uint8_t largest;

    e->base.ops = &ops;
    e->schema = schema;
    e->options = *options;
    e->has_quote = !options->disable_quote && options->quote_character != 0;
    e->has_escape = options->escape_character != 0;
    e->delimiter = (uint8_t)options->field_delimiter;
    e->quote = (uint8_t)options->quote_character;
    e->escape = (uint8_t)options->escape_character;
    largest = e->delimiter > e->quote ? e->delimiter : e->quote;
    e->least_safe = (uint8_t)((largest > '\n' ? largest : '\n') + 1);
    e->null_literal = bytes_of_str(options->null_literal == NULL ? "" : options->null_literal);
    e->skip = mem_calloc(schema->field_count, sizeof *e->skip);
    for (uint32_t i = 0; i < schema->field_count; i++) {
        e->skip[i] = skip != NULL && skip[i];
        e->written_columns += !e->skip[i];
    }
    return &e->base;
}
