/* A key's text, or JSON, to the bytes that Flink wrote for it. See flink_columns.h. */
#include "base/json.h"
#include "base/utf8.h"
#include "checkpoint/flink/flink_hash.h"
#include "job/flink_columns.h"
#include "job/number.h"

#define KEY_TEXT_MAX (16u << 20)

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

static enum rc put(const struct flink_serializer *s, const json_t *value, struct buf *out,
                   struct err *err)
{
    struct buf type = {0};
    enum rc rc;

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
    default:
        flink_serializer_print(s, &type);
        rc = err_set(err, RC_UNSUPPORTED, "--key: keys of %s cannot be looked up", buf_cstr(&type));
        buf_release(&type);
        return rc;
    }
}

/* The text of a key that is a text is it, of another one JSON. */
static enum rc parse(const struct flink_serializer *s, const char *text, json_t **out,
                     struct err *err)
{
    enum flink_coding coding = flink_serializer_bare(s)->coding;
    struct buf array = {0};
    enum rc rc;

    *out = NULL;
    if (coding == FLINK_STRING || coding == FLINK_CHAR || coding == FLINK_ENUM) {
        *out = json_string(text);
        return *out != NULL ? RC_OK : err_set(err, RC_INVALID, "--key: that is no UTF-8");
    }
    buf_printf(&array, "[%s]", text); /* jansson reads arrays and objects */
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
    GOTO_IF_ERR(put(key, json_is_array(parsed) ? json_array_get(parsed, 0) : parsed, out, err));
    arena = arena_new(0);
    GOTO_IF_ERR(flink_value_of(buf_bytes(out), key, arena, "--key", &value, err));
    *known = flink_hash(key, &value, &hash);
    *group = *known ? keygroup_of_hash(hash, key_group_count) : 0;
out:
    arena_free(arena);
    json_decref(parsed);
    return rc;
}
