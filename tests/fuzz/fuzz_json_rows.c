/* JSON lines from outside, under every rule and in pieces: no crash, and the pieces change nothing.
 * The first byte chooses the rule, the second the size of the pieces. A line that was taken is JSON
 * for another parser too (jansson), as far as that one goes. */
#include "base/json.h"
#include "job/format/format.h"

static const struct schema_field fields[] = {
    {"k", {.kind = TYPE_VARCHAR, .nullable = true, .length = TYPE_LENGTH_MAX}},
    {"v", {.kind = TYPE_BIGINT, .nullable = true}},
    {"d", {.kind = TYPE_DECIMAL, .nullable = true, .precision = 20, .scale = 5}},
    {"t", {.kind = TYPE_TIMESTAMP, .nullable = true, .precision = 3}},
};

/* Rows as JSON into `text`, then the counters. Every line written must be JSON. */
static enum rc decode(const struct schema *schema, const struct format_options *o,
                      struct bytes data, size_t piece, struct buf *text)
{
    struct decoder *d = json_format.decoder_new(schema, o);
    struct encoder *e = json_format.encoder_new(schema, o, NULL);
    struct batch_builder *out = batch_builder_new(schema);
    size_t from = 0, to = 0, used = 0;
    struct err err = {0};
    enum rc rc = RC_OK;

    do {
        uint32_t ends[BATCH_ROWS_MAX], at = (uint32_t)text->len;
        struct batch *b;

        if (used == 0 && to < data.len)
            to = to + piece < data.len ? to + piece : data.len;
        rc = d->ops->decode(d, bytes_of(data.data + from, to - from), to == data.len, out, &used,
                            &err);
        if (rc != RC_OK)
            break;
        from += used;
        b = batch_builder_view(out);
        ASSERT(e->ops->encode(e, b, NULL, b->rows, text, ends, &err) == RC_OK);
        for (uint32_t i = 0; i < b->rows; at = ends[i++]) {
            json_error_t error;
            json_t *row =
                json_loadb((const char *)text->data + at, ends[i] - at, JSON_ALLOW_NUL, &error);

            ASSERT(json_is_object(row));
            json_decref(row);
        }
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

/* Under the first rule one line that was taken holds nothing that is no JSON. */
static void check_strict(struct bytes line)
{
    json_error_t error;
    json_t *value;

    if (line.len == 0 || memchr(line.data, '\n', line.len) != NULL)
        return;
    value = json_loadb((const char *)line.data, line.len, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL,
                       &error);
    /* jansson refuses more: numbers past a double, a NUL in a key. */
    ASSERT(value != NULL || json_error_code(&error) == json_error_numeric_overflow ||
           json_error_code(&error) == json_error_null_byte_in_key ||
           line.data[strspn((const char *)line.data, " \t\r")] == '\0');
    json_decref(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct schema schema = {ARRAY_LEN(fields), (struct schema_field *)(uintptr_t)fields, -1};
    struct format_options o = {.fail_on_missing_field = false};
    struct buf whole = {0}, pieces = {0}, line = {0};
    struct bytes text;
    enum rc a, b;

    if (size < 2)
        return 0;
    o.bad_rows = data[0] % 3 == 0   ? BAD_ROW_FAIL
                 : data[0] % 3 == 1 ? BAD_ROW_SKIP
                                    : BAD_ROW_NULL_FIELD;
    o.timestamp_format = data[0] & 64 ? JSON_TIMESTAMP_ISO : JSON_TIMESTAMP_SQL;
    text = bytes_of(data + 2, size - 2);
    a = decode(&schema, &o, text, text.len + 1, &whole);
    b = decode(&schema, &o, text, 1u + data[1], &pieces);
    ASSERT(a == b);
    ASSERT(a != RC_OK || bytes_eq(buf_bytes(&whole), buf_bytes(&pieces)));
    if (a == RC_OK && o.bad_rows == BAD_ROW_FAIL) {
        buf_append(&line, text.data, text.len);
        (void)buf_cstr(&line);
        check_strict(buf_bytes(&line));
    }
    buf_release(&whole);
    buf_release(&pieces);
    buf_release(&line);
    return 0;
}
