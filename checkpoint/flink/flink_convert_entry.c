/* flink_convert_entry.c - see flink_convert.h: one entry, as it was decided. */
#include "checkpoint/flink/flink_convert_priv.h"

#include "backend/key_codec.h"

struct entry {
    const struct flink_convert *convert;
    const struct flink_value *roots[FLINK_ROOT_COUNT];
    const char *what;
};

/* ---- columns --------------------------------------------------------------------------------- */

static enum rc cast_column(const struct entry *e, const struct convert_column *c,
                           struct cast_value *out, struct err *err)
{
    const struct flink_value *v;

    RETURN_IF_ERR(flink_path_follow(&c->source, e->roots, &v, err));
    if (c->part != PART_COUNTED)
        return flink_cast(v, &c->type, out, err);
    *out = (struct cast_value){.number = v->kind != FLINK_VALUE_NULL};
    return RC_OK;
}

/* No total, which its count has to say as well. */
static enum rc check_no_total(const struct entry *e, const struct convert_column *c, struct err *err)
{
    struct cast_value count;

    if (c->count == NULL)
        return RC_OK;
    RETURN_IF_ERR(cast_column(e, c->count, &count, err));
    return count.null || count.number == 0
               ? RC_OK
               : err_set(err, RC_INVALID, "null, but %s says that there is one", c->count->name);
}

/* As columns of a batch have them: milliseconds, microseconds or nanoseconds. */
static enum rc to_units(const struct convert_column *c, struct cast_value *v, struct err *err)
{
    int32_t digits = c->type.precision <= 3 ? 3 : c->type.precision <= 6 ? 6 : 9;

    if (c->type.word != CAST_TIMESTAMP && c->type.word != CAST_TIMESTAMP_LTZ)
        return RC_OK;
    v->number = v->number * (digits == 3 ? 1 : digits == 6 ? 1000 : 1000000) +
                (digits == 3 ? 0 : digits == 6 ? v->nanos / 1000 : v->nanos);
    return v->number >= INT64_MIN && v->number <= INT64_MAX
               ? RC_OK
               : err_set(err, RC_INVALID, "a time too far away for a %s of totals", c->type.text);
}

static enum rc put_column(const struct entry *e, const struct convert_column *c,
                          struct row_writer *w, uint32_t field, struct err *err)
{
    struct cast_value v;

    RETURN_IF_ERR(cast_column(e, c, &v, err));
    if (v.null && c->zero_for_null) {
        RETURN_IF_ERR(check_no_total(e, c, err));
        v.null = false;
    }
    if (c->part == PART_UNITS && !v.null)
        RETURN_IF_ERR(to_units(c, &v, err));
    if (v.null)
        row_write_null(w, field);
    else if (c->part == PART_WHOLE)
        cast_value_field(&v, &c->type, w, field);
    else if (c->part == PART_HIGH)
        row_write_int(w, field, (int64_t)(v.number >> 64));
    else
        row_write_int(w, field, (int64_t)(uint64_t)v.number);
    return RC_OK;
}

static enum rc wrap(const struct entry *e, const struct convert_column *c, enum rc rc,
                    struct err *err)
{
    return rc == RC_OK ? RC_OK
                       : err_wrap(err, rc, "%s%s%s (%s)", e->what, c->name[0] == '\0' ? "" : " ",
                                  c->name, c->source.text);
}

static enum rc put_row(const struct entry *e, const struct convert_shape *s, struct buf *out,
                       struct err *err)
{
    size_t size_at = out->len;
    struct row_writer w;

    buf_append_be32(out, 0);
    row_writer_begin(&w, &s->layout, out);
    for (uint32_t i = 0; i < s->count; i++)
        RETURN_IF_ERR(wrap(e, &s->columns[i], put_column(e, &s->columns[i], &w, i, err), err));
    put_be32(out->data + size_at, (uint32_t)row_writer_end(&w).len);
    return RC_OK;
}

/* *null: nothing was written. */
static enum rc put_shape(const struct entry *e, const struct convert_shape *s, struct buf *out,
                         bool *null, struct err *err)
{
    struct cast_value v;

    *null = false;
    if (s->is_row)
        return put_row(e, s, out, err);
    RETURN_IF_ERR(wrap(e, &s->columns[0], cast_column(e, &s->columns[0], &v, err), err));
    *null = v.null;
    if (!v.null)
        cast_value_put(&v, &s->columns[0].type, out);
    return RC_OK;
}

/* ---- keys and values ------------------------------------------------------------------------- */

static void put_namespace(const struct flink_convert *c, const struct flink_value *ns,
                          struct buf *out)
{
    if (strcmp(c->wanted->namespace_type, "BIGINT") != 0)
        buf_append_u8(out, 0);
    else
        buf_append_be64(out, (uint64_t)(ns->kind == FLINK_VALUE_RECORD ? ns->parts[1].integer
                                                                       : ns->integer));
}

static enum rc put_key(struct entry *e, struct buf *out, struct err *err)
{
    const struct flink_convert *c = e->convert;
    uint32_t prefix = keygroup_prefix_len(c->key_group_count), group;
    bool null;

    buf_clear(out);
    buf_reserve(out, prefix);
    out->len = prefix;
    e->what = "key";
    RETURN_IF_ERR(put_row(e, &c->key, out, err));
    group = key_group_of_row(bytes_of(out->data + prefix + 4, out->len - prefix - 4),
                             c->key_group_count);
    keygroup_put_prefix(out->data, prefix, group);
    put_namespace(c, e->roots[FLINK_ROOT_NAMESPACE], out);
    if (c->wanted->kind != STATE_MAP)
        return RC_OK;
    e->what = "map key";
    RETURN_IF_ERR(put_shape(e, &c->map_key, out, &null, err));
    return null ? err_set(err, RC_INVALID, "map key: null has no place there") : RC_OK;
}

/* Null flag of a map, time of the last access, value. */
static enum rc put_value(struct entry *e, const struct flink_entry *from, struct buf *out, bool *null,
                         struct err *err)
{
    const struct state_desc *d = e->convert->wanted;
    bool map = d->kind == STATE_MAP;

    buf_clear(out);
    if (map)
        buf_append_u8(out, 0);
    if (d->ttl_ms > 0)
        buf_append_be64(out, (uint64_t)from->last_access_ms);
    e->what = "value";
    *null = e->convert->value.is_row && from->value.kind == FLINK_VALUE_NULL;
    if (!*null)
        RETURN_IF_ERR(put_shape(e, &e->convert->value, out, null, err));
    if (map && *null) {
        uint32_t whole = state_desc_row_bytes(d);

        out->data[0] = 1;
        while (out->len < whole)
            buf_append_u8(out, 0);
        *null = false;
    }
    return RC_OK;
}

/* ---- messages -------------------------------------------------------------------------------- */

static void print_field(const struct convert_shape *s, const uint8_t *row, uint32_t field,
                        struct buf *out)
{
    enum cast_word word = s->columns[field].type.word;
    struct flink_value v = {.kind = FLINK_VALUE_INTEGER};

    buf_printf(out, "%s%s ", field == 0 ? "" : ", ", s->columns[field].name);
    if (binary_row_is_null(row, field)) {
        v.kind = FLINK_VALUE_NULL;
    } else if (s->layout.kinds[field] == FIELD_BYTES) {
        v.kind = word == CAST_CHAR || word == CAST_VARCHAR ? FLINK_VALUE_TEXT : FLINK_VALUE_BYTES;
        v.text = binary_row_bytes(&s->layout, row, field);
    } else if (s->layout.kinds[field] == FIELD_F64 || s->layout.kinds[field] == FIELD_F32) {
        v.kind = FLINK_VALUE_REAL;
        v.single = s->layout.kinds[field] == FIELD_F32;
        v.real = v.single ? (double)binary_row_f32(&s->layout, row, field)
                          : binary_row_f64(&s->layout, row, field);
    } else if (s->layout.kinds[field] == FIELD_TIMESTAMP_WIDE) {
        uint32_t nanos;

        v.integer = binary_row_timestamp(&s->layout, row, field, &nanos);
    } else { /* of a decimal its digits: enough to find it by */
        v.integer = (int64_t)(s->layout.kinds[field] == FIELD_DECIMAL_WIDE
                                  ? binary_row_decimal(&s->layout, row, field)
                                  : (int128)binary_row_int(&s->layout, row, field));
    }
    flink_value_json(&v, out);
}

void flink_convert_print_key(const struct flink_convert *c, struct bytes key, struct buf *out)
{
    const uint8_t *row = key.data + keygroup_prefix_len(c->key_group_count) + 4;

    for (uint32_t i = 0; i < c->key.count; i++)
        print_field(&c->key, row, i, out);
}

static enum rc wrap_key(const struct flink_key *key, enum rc rc, struct err *err)
{
    struct buf json = {0}, text = {0};

    if (rc == RC_OK)
        return RC_OK;
    flink_value_json(&key->key, &json);
    buf_append_escaped(&text, buf_bytes(&json), 200);
    rc = err_wrap(err, rc, "key %s", buf_cstr(&text));
    buf_release(&json);
    buf_release(&text);
    return rc;
}

enum rc flink_convert_entry(const struct flink_convert *c, const struct flink_key *key,
                            const struct flink_entry *from, struct buf *key_out,
                            struct buf *value_out, bool *none, struct err *err)
{
    struct entry e = {.convert = c,
                      .roots = {[FLINK_ROOT_KEY] = &key->key,
                                [FLINK_ROOT_MAP_KEY] = &key->user_key,
                                [FLINK_ROOT_NAMESPACE] = &key->namespace,
                                [FLINK_ROOT_VALUE] = &from->value}};
    enum rc rc = put_key(&e, key_out, err);

    *none = false;
    if (rc == RC_OK)
        rc = put_value(&e, from, value_out, none, err);
    return wrap_key(key, rc, err);
}
