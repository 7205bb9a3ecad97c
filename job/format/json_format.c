/* json_format.c - JSON lines with Flink's options: one object a line.
 *
 * Reading: fields by name in any order, unknown ones ignored, a missing one is null like a null; of
 * a key given twice the last counts. Numbers are read from their text, so DECIMAL and BIGINT are
 * exact. A number may also come as a string. With ignore-parse-errors a line that is one object
 * stays, fields that cannot be read become null, and a STRING column takes any value as its JSON
 * text; a line that is no object is dropped. Without it a STRING takes strings only. Lines of
 * blanks are no rows.
 *
 * After: JsonRowDataDeserializationSchema, JsonRowDataSerializationSchema (flink-json). Flink takes
 * the first value of a broken line
 * ({..}} or [{..}]) and cuts 1.5 to 1 for a BIGINT: varve does neither. */
#include "job/format/field.h"
#include "job/format/format.h"
#include "job/format/options_priv.h"
#include "job/format/simdjson_shim.h"

#include <math.h>

struct json_decoder {
    struct decoder base;
    const struct schema *schema;
    struct format_options options;
    struct json_parser *parser;
    struct json_name *names;
    struct json_slot *slots;
    struct buf line; /* copy of a line too near the end of the bytes */
    struct buf text, scratch, why;
};

/* ---- options --------------------------------------------------------------------------------- */

#define AT(member) offsetof(struct format_options, member)
static const char no_maps[] = "there are no MAP types";
static const struct format_option json_options[] = {
    {"json.fail-on-missing-field", FORMAT_OPTION_BOOL, AT(fail_on_missing_field), NULL},
    {"json.ignore-parse-errors", FORMAT_OPTION_BOOL, 0, NULL}, /* read before the table is asked */
    {"json.timestamp-format.standard", FORMAT_OPTION_WORDS, AT(timestamp_format), "SQL|ISO-8601"},
    {"json.encode.decimal-as-plain-number", FORMAT_OPTION_BOOL, AT(encode_decimal_plain), NULL},
    {"json.encode.ignore-null-fields", FORMAT_OPTION_BOOL, AT(ignore_null_fields), NULL},
    {"json.map-null-key.mode", FORMAT_OPTION_REFUSED, 0, no_maps},
    {"json.map-null-key.literal", FORMAT_OPTION_REFUSED, 0, no_maps},
    {"json.decode.json-parser.enabled", FORMAT_OPTION_REFUSED, 0, "there is one parser"},
};

static enum rc json_options_read(struct arena *arena, size_t count, const char *const *keys,
                                 const char *const *values, struct format_options *out,
                                 struct err *err)
{
    _Static_assert(sizeof out->timestamp_format == sizeof(int),
                   "read as an int by the option table");
    *out = (struct format_options){.timestamp_format = JSON_TIMESTAMP_SQL};
    RETURN_IF_ERR(format_options_read("json", json_options, ARRAY_LEN(json_options), arena, count,
                                      keys, values, out, err));
    if (out->fail_on_missing_field && out->bad_rows == BAD_ROW_NULL_FIELD)
        return err_set(
            err, RC_INVALID,
            "'json.fail-on-missing-field' and 'json.ignore-parse-errors' exclude each other");
    return RC_OK;
}

/* ---- text of a nested value ------------------------------------------------------------------ */

/* An array or object that was checked before, from its first byte on, without the blanks outside
 * strings. */
static void append_compact(const uint8_t *p, struct buf *out)
{
    uint32_t depth = 0;
    bool in_string = false;

    do {
        uint8_t c = *p++;

        if (in_string) {
            buf_append_u8(out, c);
            if (c == '\\')
                buf_append_u8(out, *p++);
            in_string = c != '"';
            continue;
        }
        in_string = c == '"';
        depth += c == '[' || c == '{';
        depth -= c == ']' || c == '}';
        if (c != ' ' && c != '\t' && c != '\r')
            buf_append_u8(out, c);
    } while (depth > 0);
}

/* ---- a field --------------------------------------------------------------------------------- */

enum row_fate { ROW_TAKEN, ROW_LEFT_OUT, ROW_FATAL };

/* The reason is in d->why. */
static enum row_fate row_bad(struct json_decoder *d, struct batch_builder *out)
{
    batch_row_abandon(out);
    if (d->options.bad_rows == BAD_ROW_FAIL)
        return ROW_FATAL;
    d->base.bad_rows++;
    return ROW_LEFT_OUT;
}

static void reason_begin(struct json_decoder *d, uint32_t column)
{
    buf_clear(&d->why);
    buf_printf(&d->why, "field %s: ", d->schema->fields[column].name);
}

static enum row_fate append_null(struct json_decoder *d, uint32_t i, struct batch_builder *out)
{
    if (d->schema->fields[i].type.nullable) {
        batch_append_null(out, i);
        return ROW_TAKEN;
    }
    reason_begin(d, i);
    buf_append_str(&d->why, "null in a NOT NULL column");
    return row_bad(d, out);
}

/* The field cannot be read; d->why tells why. */
static enum row_fate field_bad(struct json_decoder *d, uint32_t i, struct batch_builder *out)
{
    if (d->options.bad_rows != BAD_ROW_NULL_FIELD)
        return row_bad(d, out);
    d->base.null_fields++;
    return append_null(d, i, out);
}

static struct bytes slot_json(struct json_decoder *d, const struct json_slot *slot)
{
    buf_clear(&d->text);
    if (slot->kind == JSON_SLOT_NESTED)
        append_compact(slot->text, &d->text);
    else
        buf_append(&d->text, slot->text, slot->len);
    return buf_bytes(&d->text);
}

/* What kind of value a column takes, for the message; NULL: this one is right. */
static const char *kind_wanted(const struct json_decoder *d, const struct type *type,
                               enum json_slot_kind kind)
{
    if (type_is_text(type->kind)) {
        bool lenient = d->options.bad_rows == BAD_ROW_NULL_FIELD;

        return kind == JSON_SLOT_STRING || lenient ? NULL : "not text: ";
    }
    if (type_is_integer(type->kind))
        return kind == JSON_SLOT_NUMBER || kind == JSON_SLOT_STRING ? NULL : "not a whole number: ";
    if (type_is_numeric(type->kind))
        return kind == JSON_SLOT_NUMBER || kind == JSON_SLOT_STRING ? NULL : "not a number: ";
    if (type->kind == TYPE_BOOLEAN)
        return kind == JSON_SLOT_TRUE || kind == JSON_SLOT_FALSE || kind == JSON_SLOT_STRING
                   ? NULL
                   : "not true or false: ";
    return kind == JSON_SLOT_STRING ? NULL : "not a string: ";
}

/* A timestamp must have the separator of the format that was chosen. */
static bool wrong_separator(const struct json_decoder *d, const struct type *type,
                            struct bytes text)
{
    uint8_t other = d->options.timestamp_format == JSON_TIMESTAMP_ISO ? ' ' : 'T';

    return type_is_timestamp(type->kind) && text.len > 0 &&
           memchr(text.data, other, text.len) != NULL;
}

static enum row_fate append_value(struct json_decoder *d, uint32_t i, const struct json_slot *slot,
                                  struct batch_builder *out)
{
    const struct type *type = &d->schema->fields[i].type;
    const char *wanted = kind_wanted(d, type, slot->kind);
    struct bytes text = bytes_of(slot->text, slot->len);
    enum field_fault fault;

    if (slot->kind == JSON_SLOT_NESTED)
        text = slot_json(d, slot);
    if (wanted == NULL && wrong_separator(d, type, text))
        wanted = d->options.timestamp_format == JSON_TIMESTAMP_ISO
                     ? "not an ISO-8601 timestamp (see 'json.timestamp-format.standard'): "
                     : "not an SQL timestamp (see 'json.timestamp-format.standard'): ";
    if (wanted == NULL) {
        fault = field_append(out, i, type, text, true, &d->scratch);
        if (fault == FIELD_OK)
            return ROW_TAKEN;
        reason_begin(d, i);
        if (fault == FIELD_NOT_NUMBER && type_is_integer(type->kind)) {
            buf_append_str(&d->why, "not a whole number: ");
            field_quote(text, &d->why);
        } else {
            field_fault_print(fault, type, text, &d->why);
        }
        return field_bad(d, i, out);
    }
    reason_begin(d, i);
    buf_append_str(&d->why, wanted);
    field_quote(text, &d->why);
    return field_bad(d, i, out);
}

/* ---- a line ---------------------------------------------------------------------------------- */

static enum row_fate append_row(struct json_decoder *d, struct batch_builder *out)
{
    for (uint32_t i = 0; i < d->schema->field_count; i++) {
        const struct json_slot *slot = &d->slots[i];
        enum row_fate fate;

        if (slot->kind == JSON_SLOT_MISSING && d->options.fail_on_missing_field) {
            reason_begin(d, i);
            buf_append_str(&d->why, "is missing");
            fate = row_bad(d, out);
        } else if (slot->kind == JSON_SLOT_MISSING || slot->kind == JSON_SLOT_NULL) {
            fate = append_null(d, i, out);
        } else {
            fate = append_value(d, i, slot, out);
        }
        if (fate != ROW_TAKEN)
            return fate;
    }
    batch_row_end(out, ROW_INSERT);
    return ROW_TAKEN;
}

static bool is_blank(struct bytes line)
{
    for (size_t i = 0; i < line.len; i++) {
        if (line.data[i] != ' ' && line.data[i] != '\t' && line.data[i] != '\r')
            return false;
    }
    return true;
}

/* `readable`: bytes from the line's start to the end of what the caller holds. */
static enum row_fate take_line(struct json_decoder *d, struct bytes line, size_t readable,
                               struct batch_builder *out)
{
    const char *reason = "";
    enum json_fault fault;

    if (is_blank(line))
        return ROW_LEFT_OUT;
    if (readable < line.len + JSON_LINE_PADDING) {
        buf_clear(&d->line);
        buf_reserve(&d->line, line.len + JSON_LINE_PADDING);
        memcpy(d->line.data, line.data, line.len);
        memset(d->line.data + line.len, 0, JSON_LINE_PADDING);
        line.data = d->line.data;
    }
    fault = json_parser_line(d->parser, line.data, line.len, d->names, d->schema->field_count,
                             d->slots, &reason);
    if (fault == JSON_FINE)
        return append_row(d, out);
    buf_clear(&d->why);
    buf_printf(&d->why, "%s: ", reason);
    field_quote(line, &d->why);
    if (fault == JSON_BAD_UTF8 && d->options.bad_rows == BAD_ROW_NULL_FIELD)
        return ROW_FATAL;
    return row_bad(d, out);
}

static enum rc json_decode(struct decoder *base, struct bytes data, bool at_end,
                           struct batch_builder *out, size_t *used, struct err *err)
{
    struct json_decoder *d = (struct json_decoder *)base;
    size_t at = 0;

    while (at < data.len && !batch_builder_full(out) &&
           (base->max_rows == 0 || batch_builder_rows(out) < base->max_rows)) {
        const uint8_t *newline = memchr(data.data + at, '\n', data.len - at);
        size_t end = newline == NULL ? data.len : (size_t)(newline - data.data);

        if (newline == NULL && !at_end)
            break;
        if (take_line(d, bytes_of(data.data + at, end - at), data.len - at, out) == ROW_FATAL)
            return err_set(err, RC_INVALID, "%s: line %llu: %s", base->file,
                           (unsigned long long)base->line_number, buf_cstr(&d->why));
        base->line_number += newline != NULL;
        at = newline == NULL ? end : end + 1;
    }
    *used = at;
    return RC_OK;
}

static void json_decoder_free(struct decoder *base)
{
    struct json_decoder *d = (struct json_decoder *)base;

    if (d == NULL)
        return;
    json_parser_free(d->parser);
    mem_free(d->names);
    mem_free(d->slots);
    buf_release(&d->line);
    buf_release(&d->text);
    buf_release(&d->scratch);
    buf_release(&d->why);
    mem_free(d);
}

static struct decoder *json_decoder_new(const struct schema *schema,
                                        const struct format_options *options)
{
    static const struct decoder_ops ops = {json_decode, json_decoder_free};
    struct json_decoder *d = mem_calloc(1, sizeof *d);

    d->base = (struct decoder){.ops = &ops, .file = "input", .line_number = 1};
    d->schema = schema;
    d->options = *options;
    d->parser = json_parser_new();
    d->names = mem_calloc(schema->field_count, sizeof *d->names);
    d->slots = mem_calloc(schema->field_count, sizeof *d->slots);
    for (uint32_t i = 0; i < schema->field_count; i++)
        d->names[i] = (struct json_name){schema->fields[i].name, strlen(schema->fields[i].name)};
    return &d->base;
}

/* ---- writing --------------------------------------------------------------------------------- */

struct json_encoder {
    struct encoder base;
    struct format_options options;
    uint32_t field_count;
    bool *skip;
    struct buf *keys; /* "\"name\":", one a field */
};

/* As Jackson has it: short escapes where there are some, \u00XX with upper-case digits for other
 * control characters. */
static void append_string(struct bytes text, struct buf *out)
{
    static const char names[] = "btn?fr"; /* of 0x08.. */
    size_t plain = 0;

    buf_append_u8(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];

        if (c >= ' ' && c != '"' && c != '\\')
            continue;
        buf_append(out, text.data + plain, i - plain);
        plain = i + 1;
        if (c == '"' || c == '\\')
            buf_printf(out, "\\%c", c);
        else if (c >= '\b' && c <= '\r' && c != '\v')
            buf_printf(out, "\\%c", names[c - '\b']);
        else
            buf_printf(out, "\\u%04X", c);
    }
    buf_append(out, text.data + plain, text.len - plain);
    buf_append_u8(out, '"');
}

static bool is_finite(const struct column *c, uint32_t row)
{
    return c->type.kind == TYPE_FLOAT ? isfinite(((const float *)c->values)[row])
                                      : isfinite(((const double *)c->values)[row]);
}

static void encode_value(const struct json_encoder *e, const struct column *c, uint32_t row,
                         struct buf *out)
{
    char sep = e->options.timestamp_format == JSON_TIMESTAMP_ISO ? 'T' : ' ';
    enum type_kind kind = c->type.kind;
    bool quoted = type_is_varlen(kind) || kind == TYPE_DATE || kind == TYPE_TIME ||
                  type_is_timestamp(kind) ||
                  ((kind == TYPE_FLOAT || kind == TYPE_DOUBLE) && !is_finite(c, row));

    if (type_is_text(kind)) {
        append_string(column_bytes(c, row), out);
        return;
    }
    if (quoted)
        buf_append_u8(out, '"');
    field_print(c, row, !e->options.encode_decimal_plain, sep, out);
    if (quoted)
        buf_append_u8(out, '"');
}

static void encode_row(const struct json_encoder *e, const struct batch *batch, uint32_t row,
                       struct buf *out)
{
    bool first = true;

    buf_append_u8(out, '{');
    for (uint32_t c = 0; c < batch->column_count; c++) {
        bool present =
            column_present(&batch->columns[c], row) && batch->columns[c].type.kind != TYPE_NULL;

        if (e->skip[c] || (!present && e->options.ignore_null_fields))
            continue;
        if (!first)
            buf_append_u8(out, ',');
        first = false;
        buf_append(out, e->keys[c].data, e->keys[c].len);
        if (present)
            encode_value(e, &batch->columns[c], row, out);
        else
            buf_append_str(out, "null");
    }
    buf_append_str(out, "}\n");
}

static enum rc json_encode(struct encoder *base, const struct batch *batch, const uint32_t *sel,
                           uint32_t n, struct buf *out, uint32_t *ends, struct err *err)
{
    const struct json_encoder *e = (const struct json_encoder *)base;

    for (uint32_t i = 0; i < n; i++) {
        encode_row(e, batch, sel == NULL ? i : sel[i], out);
        if (ends == NULL)
            continue;
        if (out->len > UINT32_MAX)
            return err_set(err, RC_LIMIT, "json: one batch makes more than 4 GiB of text");
        ends[i] = (uint32_t)out->len;
    }
    return RC_OK;
}

static void json_encoder_free(struct encoder *base)
{
    struct json_encoder *e = (struct json_encoder *)base;

    if (e == NULL)
        return;
    for (uint32_t i = 0; i < e->field_count; i++)
        buf_release(&e->keys[i]);
    mem_free(e->keys);
    mem_free(e->skip);
    mem_free(e);
}

static struct encoder *json_encoder_new(const struct schema *schema,
                                        const struct format_options *options, const bool *skip)
{
    static const struct encoder_ops ops = {json_encode, json_encoder_free};
    struct json_encoder *e = mem_calloc(1, sizeof *e);

    e->base.ops = &ops;
    e->options = *options;
    e->field_count = schema->field_count;
    e->skip = mem_calloc(schema->field_count, sizeof *e->skip);
    e->keys = mem_calloc(schema->field_count, sizeof *e->keys);
    for (uint32_t i = 0; i < schema->field_count; i++) {
        e->skip[i] = skip != NULL && skip[i];
        append_string(bytes_of_str(schema->fields[i].name), &e->keys[i]);
        buf_append_u8(&e->keys[i], ':');
    }
    return &e->base;
}

const struct format json_format = {"json", json_options_read, json_decoder_new, json_encoder_new};
