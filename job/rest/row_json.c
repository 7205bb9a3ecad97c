/* row_json.c - see row_json.h */
#include "job/rest/row_json.h"

#include "base/utf8.h"
#include "job/format/field.h"

#include <math.h>

/* JSON has no bytes that are not UTF-8: U+FFFD for each. */
static json_t *utf8_json(struct bytes b)
{
    struct buf valid = {0};
    json_t *s;

    if (utf8_is_valid(b))
        return json_stringn(b.len > 0 ? (const char *)b.data : "", b.len);
    utf8_append_valid(b, &valid);
    s = json_stringn((const char *)valid.data, valid.len);
    buf_release(&valid);
    return s;
}

json_t *text_json(const char *s)
{
    return utf8_json(bytes_of_str(s));
}

static json_t *base64_json(struct bytes b)
{
    struct buf out = {0};
    json_t *s;

    base64_encode(b, &out);
    s = json_string(buf_cstr(&out));
    buf_release(&out);
    return s;
}

static json_t *printed_json(const struct column *c, uint32_t row)
{
    struct buf text = {0};
    json_t *s;

    column_print(c, row, &text);
    s = json_stringn(text.len > 0 ? (const char *)text.data : "", text.len);
    buf_release(&text);
    return s;
}

json_t *value_json(const struct column *c, uint32_t row)
{
    double d;

    if (c->type.kind == TYPE_NULL || !column_present(c, row))
        return json_null();
    switch (c->type.kind) {
    case TYPE_BOOLEAN:
        return json_boolean(bit_get(c->values, row));
    case TYPE_TINYINT:
        return json_integer(((const int8_t *)c->values)[row]);
    case TYPE_SMALLINT:
        return json_integer(((const int16_t *)c->values)[row]);
    case TYPE_INT:
        return json_integer(((const int32_t *)c->values)[row]);
    case TYPE_BIGINT:
        return json_integer(((const int64_t *)c->values)[row]);
    case TYPE_FLOAT:
    case TYPE_DOUBLE:
        d = c->type.kind == TYPE_FLOAT ? (double)((const float *)c->values)[row]
                                       : ((const double *)c->values)[row];
        return isfinite(d) ? json_real(d) : printed_json(c, row);
    case TYPE_CHAR:
    case TYPE_VARCHAR:
        return utf8_json(column_bytes(c, row));
    case TYPE_BINARY:
    case TYPE_VARBINARY:
        return base64_json(column_bytes(c, row));
    default:
        return printed_json(c, row);
    }
}

json_t *row_object_json(const struct schema *schema, const struct batch *b, uint32_t row)
{
    json_t *o = json_object();

    for (uint32_t i = 0; i < b->column_count; i++)
        json_object_set_new(o, schema->fields[i].name, value_json(&b->columns[i], row));
    return o;
}

static const char *logical_type(enum type_kind k)
{
    static const char *const names[] = {
        "NULL",
        "BOOLEAN",
        "TINYINT",
        "SMALLINT",
        "INTEGER",
        "BIGINT",
        "FLOAT",
        "DOUBLE",
        "DECIMAL",
        "CHAR",
        "VARCHAR",
        "BINARY",
        "VARBINARY",
        "DATE",
        "TIME_WITHOUT_TIME_ZONE",
        "TIMESTAMP_WITHOUT_TIME_ZONE",
        "TIMESTAMP_WITH_LOCAL_TIME_ZONE",
        "INTERVAL_DAY_TIME",
        "INTERVAL_YEAR_MONTH",
    };

    ASSERT((size_t)k < ARRAY_LEN(names));
    return names[k];
}

json_t *column_json(const struct schema_field *f)
{
    json_t *type = json_pack("{s: s, s: b}", "type", logical_type(f->type.kind), "nullable",
                             (int)f->type.nullable);

    if (type_is_varlen(f->type.kind))
        json_object_set_new(type, "length", json_integer(f->type.length));
    if (f->type.kind == TYPE_DECIMAL || f->type.kind == TYPE_TIME ||
        type_is_timestamp(f->type.kind))
        json_object_set_new(type, "precision", json_integer(f->type.precision));
    if (f->type.kind == TYPE_DECIMAL)
        json_object_set_new(type, "scale", json_integer(f->type.scale));
    return json_pack("{s: o, s: o, s: n}", "name", text_json(f->name), "logicalType", type,
                     "comment");
}
