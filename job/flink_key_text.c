/* A key's text, or JSON, to the bytes that Flink wrote for it. See flink_columns.h. */
#include "job/flink_columns.h"

#include "backend/binary_row.h"
#include "base/json.h"
#include "base/utf8.h"
#include "checkpoint/flink/flink_hash.h"
#include "job/decimal.h"

#include <stdio.h>

#define KEY_TEXT_MAX (16u << 20)
#define KEY_FIELDS_MAX 64u

static enum rc put(const struct flink_serializer *s, const json_t *value, struct buf *out,
                   struct err *err);

static enum rc no_value(const struct flink_serializer *s, struct err *err)
{
    struct buf type = {0};
    enum rc rc;

    flink_serializer_print(s, &type);
    rc = err_set(err, RC_INVALID, "--key: that is no value of %s", buf_cstr(&type));
    buf_release(&type);
    return rc;
}

static enum rc put_integer(const struct flink_serializer *s, const json_t *value, struct buf *out,
                           struct err *err)
{
    int bits = 8 * s->length;
    int64_t n = json_integer_value(value);

    if (!json_is_integer(value) ||
        (bits < 64 && (n < -(INT64_C(1) << (bits - 1)) || n >= INT64_C(1) << (bits - 1))))
        return no_value(s, err);
    for (int shift = bits - 8; shift >= 0; shift -= 8)
        buf_append_u8(out, (uint8_t)((uint64_t)n >> shift));
    return RC_OK;
}

static enum rc put_real(const struct flink_serializer *s, const json_t *value, struct buf *out,
                        struct err *err)
{
    double d = json_number_value(value);
    float f = (float)d;
    uint64_t bits;
    uint32_t low;

    if (!json_is_number(value))
        return no_value(s, err);
    memcpy(&bits, &d, sizeof bits);
    memcpy(&low, &f, sizeof low);
    if (s->coding == FLINK_DOUBLE)
        buf_append_be64(out, bits);
    else
        buf_append_be32(out, low);
    return RC_OK;
}

static struct bytes text_of(const json_t *value)
{
    return bytes_of(json_string_value(value), json_string_length(value));
}

/* One more than the number of UTF-16 code units, and they. */
static enum rc put_string(const struct flink_serializer *s, const json_t *value, struct buf *out,
                          struct err *err)
{
    struct bytes text = text_of(value);
    uint64_t units = 0;
    uint32_t point;

    if (!json_is_string(value))
        return no_value(s, err);
    for (size_t at = 0; at < text.len; units += point >= 0x10000 ? 2 : 1)
        at += utf8_next(text, at, &point);
    buf_append_varint(out, units + 1);
    for (size_t at = 0; at < text.len;) {
        at += utf8_next(text, at, &point);
        if (point >= 0x10000) {
            buf_append_varint(out, 0xD800 + ((point - 0x10000) >> 10));
            point = 0xDC00 + ((point - 0x10000) & 0x3FF);
        }
        buf_append_varint(out, point);
    }
    return RC_OK;
}

static enum rc put_char(const struct flink_serializer *s, const json_t *value, struct buf *out,
                        struct err *err)
{
    struct bytes text = text_of(value);
    uint32_t point = UINT32_MAX;
    size_t len = 0;

    if (json_is_string(value) && text.len > 0)
        len = utf8_next(text, 0, &point);
    if (point > 0xFFFF || len != text.len)
        return no_value(s, err);
    buf_append_be16(out, (uint16_t)point);
    return RC_OK;
}

static enum rc put_enum(const struct flink_serializer *s, const json_t *value, struct buf *out,
                        struct err *err)
{
    for (uint32_t i = 0; json_is_string(value) && i < s->name_count; i++) {
        if (!bytes_eq(s->names[i], text_of(value)))
            continue;
        buf_append_be32(out, i);
        return RC_OK;
    }
    return no_value(s, err);
}

/* Of a Pojo its flags and those of its fields stand between. */
static enum rc put_fields(const struct flink_serializer *s, const json_t *value, struct buf *out,
                          struct err *err)
{
    bool pojo = s->coding == FLINK_POJO;

    if (!json_is_array(value) || json_array_size(value) != s->child_count)
        return no_value(s, err);
    if (pojo)
        buf_append_u8(out, 2);
    for (size_t i = 0; i < s->child_count; i++) {
        const json_t *field = json_array_get(value, i);

        if (pojo)
            buf_append_u8(out, json_is_null(field));
        if (!pojo || !json_is_null(field))
            RETURN_IF_ERR(put(s->children[i], field, out, err));
    }
    return RC_OK;
}

static enum rc cannot(const struct flink_serializer *s, struct err *err)
{
    struct buf type = {0};
    enum rc rc;

    flink_serializer_print(s, &type);
    rc = err_set(err, RC_UNSUPPORTED, "--key: keys of %s cannot be looked up", buf_cstr(&type));
    buf_release(&type);
    return rc;
}

/* ---- rows of SQL ----------------------------------------------------------------------------- */

/* false: columns of that type are not looked up. */
static bool field_kind_of_coding(const struct flink_serializer *s, enum field_kind *out)
{
    static const struct {
        enum flink_coding coding;
        enum field_kind kind;
    } kinds[] = {
        {FLINK_BOOLEAN, FIELD_BOOL}, {FLINK_BYTE, FIELD_I8},   {FLINK_SHORT, FIELD_I16},
        {FLINK_INT, FIELD_I32},      {FLINK_LONG, FIELD_I64},  {FLINK_FLOAT, FIELD_F32},
        {FLINK_DOUBLE, FIELD_F64},   {FLINK_STRING_DATA, FIELD_BYTES},
    };

    *out = s->number > 18 ? FIELD_DECIMAL_WIDE : FIELD_I64;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (kinds[i].coding == s->coding) {
            *out = kinds[i].kind;
            return true;
        }
    return s->coding == FLINK_DECIMAL_DATA;
}

static enum rc put_row_decimal(struct row_writer *w, uint32_t i, const struct flink_serializer *s,
                               const json_t *value, struct err *err)
{
    char digits[32];
    struct bytes text = json_is_string(value) ? text_of(value) : bytes_of_str(digits);
    int128 unscaled;

    snprintf(digits, sizeof digits, "%lld", (long long)json_integer_value(value));
    if ((!json_is_integer(value) && !json_is_string(value)) ||
        decimal_parse(text, (uint32_t)s->number, (uint32_t)s->scale, &unscaled, NULL) != RC_OK)
        return no_value(s, err);
    row_write_decimal(w, i, unscaled);
    return RC_OK;
}

/* The kind of value, and its range, as the serializer has them: `checked` takes the bytes. */
static enum rc put_field(struct row_writer *w, uint32_t i, const struct flink_serializer *s,
                         const json_t *value, struct buf *checked, struct err *err)
{
    if (json_is_null(value)) {
        row_write_null(w, i);
        return RC_OK;
    }
    if (s->coding == FLINK_DECIMAL_DATA)
        return put_row_decimal(w, i, s, value, err);
    if (s->coding == FLINK_STRING_DATA) {
        if (!json_is_string(value))
            return no_value(s, err);
        row_write_bytes(w, i, text_of(value));
        return RC_OK;
    }
    buf_clear(checked);
    RETURN_IF_ERR(put(s, value, checked, err));
    if (s->coding == FLINK_FLOAT)
        row_write_f32(w, i, (float)json_number_value(value));
    else if (s->coding == FLINK_DOUBLE)
        row_write_f64(w, i, json_number_value(value));
    else
        row_write_int(w, i, json_is_boolean(value) ? json_is_true(value)
                                                   : json_integer_value(value));
    return RC_OK;
}

/* A row of kind +I behind its size, as keys are. */
static enum rc put_row(const struct flink_serializer *s, const json_t *value, struct buf *out,
                       struct err *err)
{
    enum field_kind kinds[KEY_FIELDS_MAX];
    struct row_layout layout;
    struct row_writer w;
    struct buf checked = {0};
    size_t size_at = out->len;
    enum rc rc = RC_OK;

    if (s->child_count == 0 || s->child_count > KEY_FIELDS_MAX)
        return cannot(s, err);
    for (size_t i = 0; i < s->child_count; i++)
        if (!field_kind_of_coding(flink_serializer_bare(s->children[i]), &kinds[i]))
            return cannot(s, err);
    if (!json_is_array(value) || json_array_size(value) != s->child_count)
        return no_value(s, err);
    row_layout_init(&layout, kinds, (uint32_t)s->child_count);
    buf_append_be32(out, 0);
    row_writer_begin(&w, &layout, out);
    for (size_t i = 0; i < s->child_count && rc == RC_OK; i++)
        rc = put_field(&w, (uint32_t)i, flink_serializer_bare(s->children[i]),
                       json_array_get(value, i), &checked, err);
    if (rc == RC_OK) {
        size_t len = row_writer_end(&w).len;

        put_be32(out->data + size_at, (uint32_t)len);
    }
    buf_release(&checked);
    return rc;
}

static enum rc put(const struct flink_serializer *s, const json_t *value, struct buf *out,
                   struct err *err)
{
    s = flink_serializer_bare(s);
    switch (s->coding) {
    case FLINK_BOOLEAN:
        if (!json_is_boolean(value))
            return no_value(s, err);
        buf_append_u8(out, json_is_true(value));
        return RC_OK;
    case FLINK_BYTE:
    case FLINK_SHORT:
    case FLINK_INT:
    case FLINK_LONG:
        return put_integer(s, value, out, err);
    case FLINK_FLOAT:
    case FLINK_DOUBLE:
        return put_real(s, value, out, err);
    case FLINK_CHAR:
        return put_char(s, value, out, err);
    case FLINK_STRING:
        return put_string(s, value, out, err);
    case FLINK_ENUM:
        return put_enum(s, value, out, err);
    case FLINK_TUPLE:
    case FLINK_POJO:
        return put_fields(s, value, out, err);
    case FLINK_ROW_DATA:
        return put_row(s, value, out, err);
    default:
        return cannot(s, err);
    }
}

static bool is_text(enum flink_coding coding)
{
    return coding == FLINK_STRING || coding == FLINK_CHAR || coding == FLINK_ENUM ||
           coding == FLINK_STRING_DATA;
}

/* An array of one value. The text of a key that is a text is it, of another one JSON. A row of one
 * column is the value of that, unless it is an array itself. */
static enum rc parse(const struct flink_serializer *s, const char *text, json_t **out,
                     struct err *err)
{
    const struct flink_serializer *bare = flink_serializer_bare(s);
    bool single = bare->coding == FLINK_ROW_DATA && bare->child_count == 1 && text[0] != '[';
    struct buf array = {0};
    enum rc rc;

    *out = NULL;
    if (single)
        bare = flink_serializer_bare(bare->children[0]);
    if (is_text(bare->coding)) {
        *out = single ? json_pack("[[s]]", text) : json_pack("[s]", text);
        return *out != NULL ? RC_OK : err_set(err, RC_INVALID, "--key: that is no UTF-8");
    }
    buf_printf(&array, single ? "[[%s]]" : "[%s]", text); /* jansson reads arrays and objects */
    rc = json_parse(buf_bytes(&array), KEY_TEXT_MAX, out, err);
    buf_release(&array);
    if (rc != RC_OK)
        return err_wrap(err, rc, "--key");
    if (json_array_size(*out) != 1) {
        json_decref(*out);
        *out = NULL;
        return no_value(s, err);
    }
    return RC_OK;
}

enum rc flink_key_of_text(const struct flink_serializer *key, const char *text,
                          uint32_t key_group_count, struct buf *out, uint32_t *group, bool *known,
                          struct err *err)
{
    struct arena *arena = NULL;
    struct flink_value value;
    json_t *parsed = NULL;
    uint32_t hash;
    enum rc rc;

    GOTO_IF_ERR(parse(key, text, &parsed, err));
    GOTO_IF_ERR(put(key, json_array_get(parsed, 0), out, err));
    arena = arena_new(0);
    GOTO_IF_ERR(flink_value_of(buf_bytes(out), key, arena, "--key", &value, err));
    *known = flink_hash(key, &value, &hash);
    if (flink_serializer_bare(key)->coding == FLINK_ROW_DATA) {
        *known = true;
        hash = keygroup_row_hash(bytes_of(out->data + 4, out->len - 4));
    }
    *group = *known ? keygroup_of_hash(hash, key_group_count) : 0;
out:
    arena_free(arena);
    json_decref(parsed);
    return rc;
}
