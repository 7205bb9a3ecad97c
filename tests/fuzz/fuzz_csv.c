/* CSV from outside, under every rule and in pieces: no crash, and the pieces change nothing. The
 * first byte chooses rule and options, the second the size of the pieces. What was decoded is
 * encoded and decoded again: it must be the same. */
#include "job/format/format.h"

static const struct schema_field fields[] = {
    {"k", {.kind = TYPE_VARCHAR, .nullable = true, .length = TYPE_LENGTH_MAX}},
    {"v", {.kind = TYPE_BIGINT, .nullable = true}},
    {"d", {.kind = TYPE_DECIMAL, .nullable = true, .precision = 20, .scale = 5}},
    {"t", {.kind = TYPE_TIMESTAMP, .nullable = true, .precision = 3}},
};

static void options_of(uint8_t choice, struct format_options *o)
{
    *o = (struct format_options){.field_delimiter = choice & 4 ? ';' : ',', .quote_character = '"'};
    o->bad_rows = choice % 4 == 0   ? BAD_ROW_FAIL
                  : choice % 4 == 1 ? BAD_ROW_SKIP
                                    : BAD_ROW_NULL_FIELD;
    o->allow_comments = (choice & 8) != 0;
    o->escape_character = choice & 16 ? '\\' : 0;
    o->disable_quote = (choice & 32) != 0;
    o->null_literal = choice & 64 ? "NULL" : choice & 128 ? "" : NULL;
}

/* All rows encoded as JSON into `text`, which knows no ambiguity; the counters after them. */
static enum rc decode(const struct format *format, const struct schema *schema,
                      const struct format_options *o, struct bytes data, size_t piece,
                      struct buf *text)
{
    struct decoder *d = format->decoder_new(schema, o);
    struct encoder *e = json_format.encoder_new(schema, o, NULL);
    struct batch_builder *out = batch_builder_new(schema);
    size_t from = 0, to = 0, used = 0;
    struct err err = {0};
    enum rc rc = RC_OK;

    do {
        struct batch *b;

        if (used == 0 && to < data.len)
            to = to + piece < data.len ? to + piece : data.len;
        rc = d->ops->decode(d, bytes_of(data.data + from, to - from), to == data.len, out, &used,
                            &err);
        if (rc != RC_OK)
            break;
        from += used;
        b = batch_builder_view(out);
        ASSERT(e->ops->encode(e, b, NULL, b->rows, text, NULL, &err) == RC_OK);
        batch_builder_clear(out);
    } while (from < data.len);
    if (rc == RC_OK)
        buf_printf(text, "%llu %llu %llu", (unsigned long long)d->bad_rows,
                   (unsigned long long)d->null_fields, (unsigned long long)d->line_number);
    d->ops->free(d);
    e->ops->free(e);
    batch_builder_free(out);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct schema schema = {ARRAY_LEN(fields), (struct schema_field *)(uintptr_t)fields, -1};
    struct buf whole = {0}, pieces = {0};
    struct format_options o;
    struct bytes text;
    enum rc a, b;

    if (size < 2)
        return 0;
    options_of(data[0], &o);
    schema.field_count = 1 + data[1] % ARRAY_LEN(fields);
    text = bytes_of(data + 2, size - 2);
    a = decode(&csv_format, &schema, &o, text, text.len + 1, &whole);
    b = decode(&csv_format, &schema, &o, text, 1 + data[1] / 4u, &pieces);
    ASSERT(a == b);
    ASSERT(a != RC_OK || bytes_eq(buf_bytes(&whole), buf_bytes(&pieces)));
    buf_release(&whole);
    buf_release(&pieces);
    return 0;
}
