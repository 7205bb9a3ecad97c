/* flink_value_composite.c - values that hold others: lists, maps, tuples, rows, objects. See
 * flink_value_priv.h */
#include "checkpoint/flink/data_input.h"
#include "checkpoint/flink/flink_value_priv.h"

/* A count of parts of at least a byte each. Bytes that have not come yet count as missing, not as
 * wrong: whoever reads a stream tries again with more. */
static enum rc read_count(struct flink_decoder *d, const char *what, size_t *out, struct err *err)
{
    size_t at = d->r->pos;
    int32_t n;

    RETURN_IF_ERR(data_i32(d->r, &n, what, err));
    if (n < 0)
        return data_fault(d->r, at, err, "%s: %d", what, n);
    *out = (size_t)n;
    if (*out <= reader_left(d->r))
        return RC_OK;
    if (*out > FLINK_VALUE_PARTS_MAX && d->open_ended)
        return err_set(err, RC_LIMIT, "%s: %s at offset %zu: %d, at most %u are read",
                       d->r->what, what, at, n, FLINK_VALUE_PARTS_MAX);
    d->r->failed = true;
    return data_fault(d->r, at, err, "%s: %d do not fit into the %zu bytes left", what, n,
                      reader_left(d->r));
}

/* ---- collections ----------------------------------------------------------------------------- */

static bool bit_of(struct bytes mask, size_t i)
{
    return mask.data[i / 8] >> (7 - i % 8) & 1;
}

static enum rc read_list(struct flink_decoder *d, const struct flink_serializer *s,
                         struct flink_value *out, struct err *err)
{
    bool flags = s->coding == FLINK_SET || s->coding == FLINK_OBJECT_ARRAY, there;
    struct bytes mask = {0};
    size_t count;

    RETURN_IF_ERR(read_count(d, "number of elements", &count, err));
    if (s->coding == FLINK_LINKED_LIST && s->flag)
        RETURN_IF_ERR(reader_take(d->r, (count + 7) / 8, &mask, "null mask", err));
    RETURN_IF_ERR(flink_value_parts(d, FLINK_VALUE_LIST, count, out, err));
    for (size_t i = 0; i < count; i++) {
        if (d->spent) {
            out->part_count = i;
            break;
        }
        there = mask.len == 0 || !bit_of(mask, i);
        if (flags) {
            RETURN_IF_ERR(flink_value_flag(d, "null flag", &there, err));
            there = s->coding == FLINK_SET ? !there : there;
        }
        if (there)
            RETURN_IF_ERR(flink_value_part(d, s->children[0], &out->parts[i], err));
    }
    return RC_OK;
}

static enum rc read_map(struct flink_decoder *d, const struct flink_serializer *s,
                        struct flink_value *out, struct err *err)
{
    size_t count;
    bool null;

    RETURN_IF_ERR(read_count(d, "number of entries", &count, err));
    RETURN_IF_ERR(flink_value_parts(d, FLINK_VALUE_MAP, 2 * count, out, err));
    for (size_t i = 0; i < 2 * count; i++) {
        bool flagged = s->flag || i % 2 == 1;

        if (d->spent) {
            out->part_count = i;
            break;
        }
        null = false;
        if (flagged)
            RETURN_IF_ERR(flink_value_flag(d, "null flag", &null, err));
        if (!null)
            RETURN_IF_ERR(flink_value_part(d, s->children[i % 2], &out->parts[i], err));
    }
    return RC_OK;
}

static enum rc read_tuple(struct flink_decoder *d, const struct flink_serializer *s,
                          struct flink_value *out, struct err *err)
{
    RETURN_IF_ERR(flink_value_parts(d, FLINK_VALUE_RECORD, s->child_count, out, err));
    for (size_t i = 0; i < s->child_count; i++) {
        if (d->spent) {
            out->part_count = i;
            break;
        }
        RETURN_IF_ERR(flink_value_part(d, s->children[i], &out->parts[i], err));
        flink_value_set_name(&out->parts[i], flink_field_name(d->arena, i));
    }
    return RC_OK;
}

static enum rc read_row(struct flink_decoder *d, const struct flink_serializer *s,
                        struct flink_value *out, struct err *err)
{
    static const char *const kinds[] = {"+I", "-U", "+U", "-D"};
    size_t n = s->child_count, extra = s->flag ? 2 : 0, first = s->flag ? 1 : 0;
    struct bytes mask;

    RETURN_IF_ERR(reader_take(d->r, (n + extra + 7) / 8, &mask, "null mask", err));
    RETURN_IF_ERR(flink_value_parts(d, FLINK_VALUE_RECORD, n + first, out, err));
    if (s->flag) {
        flink_value_set_text(d, &out->parts[0], "%s",
                             kinds[(bit_of(mask, 0) ? 1 : 0) + (bit_of(mask, 1) ? 2 : 0)]);
        out->parts[0].name = bytes_of_str("kind");
    }
    for (size_t i = 0; i < n; i++) {
        struct flink_value *part = &out->parts[first + i];

        if (d->spent) {
            out->part_count = first + i;
            break;
        }
        if (!bit_of(mask, extra + i))
            RETURN_IF_ERR(flink_value_part(d, s->children[i], part, err));
        flink_value_set_name(part, flink_field_name(d->arena, i));
    }
    return RC_OK;
}

/* ---- objects --------------------------------------------------------------------------------- */

static enum rc read_fields(struct flink_decoder *d, const struct flink_serializer *s,
                           struct flink_value *out, struct err *err)
{
    bool null;

    RETURN_IF_ERR(flink_value_parts(d, FLINK_VALUE_RECORD, s->child_count, out, err));
    for (size_t i = 0; i < s->child_count; i++) {
        if (d->spent) {
            out->part_count = i;
            break;
        }
        RETURN_IF_ERR(flink_value_flag(d, "null flag of a field", &null, err));
        if (!null)
            RETURN_IF_ERR(flink_value_part(d, s->children[i], &out->parts[i], err));
        flink_value_set_name(&out->parts[i], s->names[i]);
    }
    return RC_OK;
}

/* All that is left, of a type that is not known. */
static enum rc read_rest(struct flink_decoder *d, struct bytes class_name, struct flink_value *out,
                         struct err *err)
{
    struct buf name = {0};
    enum rc rc;

    if (!d->open_ended) {
        out->kind = FLINK_VALUE_OPAQUE;
        d->spent = true;
        return reader_take(d->r, reader_left(d->r), &out->text, "value", err);
    }
    buf_append_escaped(&name, class_name, 200);
    rc = err_set(err, RC_UNSUPPORTED,
                 "%s: the value at offset %zu, of %s, has no length: what stands behind it cannot be "
                 "read",
                 d->r->what, d->r->pos, buf_cstr(&name));
    buf_release(&name);
    return rc;
}

static enum rc read_subclass(struct flink_decoder *d, const struct flink_subclass *c,
                             struct bytes class_name, struct flink_value *out, struct err *err)
{
    if (c == NULL || c->serializer == NULL)
        return read_rest(d, class_name, out, err);
    return flink_value_part(d, c->serializer, out, err);
}

static enum rc read_pojo(struct flink_decoder *d, const struct flink_serializer *s,
                         struct flink_value *out, struct err *err)
{
    const struct flink_subclass *found = NULL;
    size_t at = d->r->pos;
    struct bytes name;
    uint8_t flags, tag;

    RETURN_IF_ERR(reader_u8(d->r, &flags, "flags of an object", err));
    switch (flags) {
    case 1:
        return RC_OK;
    case 2:
        return read_fields(d, s, out, err);
    case 4:
        RETURN_IF_ERR(data_utf(d->r, d->arena, &name, "class", err));
        for (size_t i = 0; i < s->other_count; i++)
            if (bytes_eq(s->others[i].class_name, name))
                found = &s->others[i];
        return read_subclass(d, found, name, out, err);
    case 8:
        RETURN_IF_ERR(reader_u8(d->r, &tag, "number of a class", err));
        if (tag >= s->registered_count)
            return data_fault(d->r, at, err, "class %u of %zu", tag, s->registered_count);
        found = &s->registered[tag];
        return read_subclass(d, found, found->class_name, out, err);
    default:
        return data_fault(d->r, at, err, "flags of an object: 0x%02x", flags);
    }
}

static enum rc read_enum(struct flink_decoder *d, const struct flink_serializer *s,
                         struct flink_value *out, struct err *err)
{
    size_t at = d->r->pos;
    int32_t i;

    RETURN_IF_ERR(data_i32(d->r, &i, "constant", err));
    if (i < 0 || (size_t)i >= s->name_count)
        return data_fault(d->r, at, err, "constant %d of %zu", i, s->name_count);
    out->kind = FLINK_VALUE_TEXT;
    out->text = s->names[i];
    return RC_OK;
}

static enum rc read_named(struct flink_decoder *d, const char *const names[2],
                          const struct flink_serializer *s, struct flink_value *out,
                          struct err *err)
{
    RETURN_IF_ERR(flink_value_parts(d, FLINK_VALUE_RECORD, 2, out, err));
    for (int i = 0; i < 2 && !d->spent; i++) {
        RETURN_IF_ERR(flink_value_part(d, s->children[i], &out->parts[i], err));
        out->parts[i].name = bytes_of_str(names[i]);
    }
    if (out->parts[1].name.len == 0)
        out->part_count = 1;
    return RC_OK;
}

static enum rc read_timer(struct flink_decoder *d, const struct flink_serializer *s,
                          struct flink_value *out, struct err *err)
{
    static const char *const names[] = {"timer", "key", "namespace"};
    uint64_t bits;

    RETURN_IF_ERR(flink_value_parts(d, FLINK_VALUE_RECORD, 3, out, err));
    RETURN_IF_ERR(flink_value_bits(d, 8, &bits, err));
    /* so that bytes sort as times do */
    flink_value_set_integer(&out->parts[0], (int64_t)(bits ^ 1ull << 63));
    for (size_t i = 0; i < 3; i++)
        out->parts[i].name = bytes_of_str(names[i]);
    for (size_t i = 0; i < 2 && !d->spent; i++)
        RETURN_IF_ERR(flink_value_part(d, s->children[i], &out->parts[1 + i], err));
    return RC_OK;
}

static enum rc read_either(struct flink_decoder *d, const struct flink_serializer *s,
                           struct flink_value *out, struct err *err)
{
    bool left;

    RETURN_IF_ERR(flink_value_flag(d, "side", &left, err));
    RETURN_IF_ERR(flink_value_parts(d, FLINK_VALUE_RECORD, 1, out, err));
    RETURN_IF_ERR(flink_value_part(d, s->children[left ? 0 : 1], &out->parts[0], err));
    out->parts[0].name = bytes_of_str(left ? "left" : "right");
    return RC_OK;
}

static enum rc read_nullable(struct flink_decoder *d, const struct flink_serializer *s,
                             struct flink_value *out, struct err *err)
{
    struct bytes padding;
    bool null;

    RETURN_IF_ERR(flink_value_flag(d, "null flag", &null, err));
    if (null)
        return reader_take(d->r, (size_t)s->number, &padding, "padding", err);
    return flink_value_part(d, s->children[0], out, err);
}

static enum rc read_row_data(struct flink_decoder *d, const struct flink_serializer *s,
                             struct flink_value *out, struct err *err)
{
    struct bytes row;

    RETURN_IF_ERR(flink_value_sized(d, "size of a row", &row, err));
    return flink_row_data(d, s, row, d->r->pos - row.len, out, err);
}

enum rc flink_value_composite(struct flink_decoder *d, const struct flink_serializer *s,
                              struct flink_value *out, struct err *err)
{
    static const char *const ttl[] = {"last_access", "value"};

    switch (s->coding) {
    case FLINK_ARRAY:
    case FLINK_OBJECT_ARRAY:
    case FLINK_LIST:
    case FLINK_LINKED_LIST:
    case FLINK_SET:
        return read_list(d, s, out, err);
    case FLINK_MAP:
        return read_map(d, s, out, err);
    case FLINK_TUPLE:
        return read_tuple(d, s, out, err);
    case FLINK_ROW:
        return read_row(d, s, out, err);
    case FLINK_POJO:
        return read_pojo(d, s, out, err);
    case FLINK_ENUM:
        return read_enum(d, s, out, err);
    case FLINK_NULLABLE:
        return read_nullable(d, s, out, err);
    case FLINK_EITHER:
        return read_either(d, s, out, err);
    case FLINK_TTL:
        return read_named(d, ttl, s, out, err);
    case FLINK_TIMER:
        return read_timer(d, s, out, err);
    case FLINK_ROW_DATA:
        return read_row_data(d, s, out, err);
    default:
        return read_rest(d, s->type.len > 0 ? s->type : s->snapshot_class, out, err);
    }
}
