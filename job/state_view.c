/* state_view.c - see state_view.h */
#include "job/state_view.h"

#include "backend/ttl.h"
#include "base/utf8.h"
#include "checkpoint/state_types.h"
#include "job/key_text.h"
#include "job/row_key.h"

/* How a value lies in its bytes. */
enum coding {
    CODING_OPAQUE,     /* unknown: shown in hex */
    CODING_SERIALIZED, /* as Flink's serializer of its type writes it */
    CODING_ROW,        /* a binary row */
};
/* Part of a row's columns: where one lies in the stored row. */
struct view_field {
    uint32_t field;
    bool wide;    /* two fields of 64 bits: low, high */
    bool in_slot; /* of another type than the stored field's: its number is the column's */
};
/* Key, map key, value or element. */
struct part {
    enum coding coding;
    struct type type; /* CODING_SERIALIZED */
    uint32_t first;   /* column */
    struct row_layout layout;
    uint32_t field_count;
    struct view_field *fields;
};
struct state_view {
    const struct state_desc *desc;
    struct arena *arena;
    uint32_t key_group_count, prefix_len;
    enum key_namespace ns;
    struct ttl_shape ttl;
    struct schema schema;
    struct part key, map_key, value;
    struct schema element_schema; /* of a list */
    struct batch_builder *element;
    struct buf text;
    struct buf key_bytes; /* of a timer, without its time */
};

void hex_print(struct bytes b, struct buf *out)
{
    static const char digits[] = "0123456789abcdef";

    buf_append_str(out, "0x");
    for (size_t i = 0; i < b.len; i++) {
        buf_append_u8(out, (uint8_t)digits[b.data[i] >> 4]);
        buf_append_u8(out, (uint8_t)digits[b.data[i] & 15]);
    }
}

/* ---- columns --------------------------------------------------------------------------------- */

#define SINGLE_COLUMNS 8u /* at most, besides those of rows */

static void make_room(struct state_view *v, struct schema *s, size_t more)
{
    struct schema_field *fields =
        ARENA_ARRAY(v->arena, s->field_count + more + SINGLE_COLUMNS, struct schema_field);

    if (s->field_count > 0)
        memcpy(fields, s->fields, s->field_count * sizeof *fields);
    s->fields = fields;
}

static void add_column(struct state_view *v, struct schema *s, const char *name, struct type type)
{
    const char *unique = name;

    for (uint32_t n = 2; schema_find(s, unique) >= 0; n++)
        unique = arena_printf(v->arena, "%s_%u", name, n);
    s->fields[s->field_count++] = (struct schema_field){unique, type};
}

/* "X$TIMESTAMP(3)" -> "X" and the type; false: the name ends otherwise. */
static bool split_unit(struct arena *a, const char *name, size_t len, const char **stem,
                       struct type *unit)
{
    for (size_t i = len; i-- > 0;) {
        if (name[i] != '$')
            continue;
        *stem = arena_strndup(a, name, i);
        return type_parse(arena_strndup(a, name + i + 1, len - i - 1), unit);
    }
    return false;
}

/* Length of the name without `suffix`; 0: it does not end so. */
static size_t without(const char *name, const char *suffix)
{
    size_t len = strlen(name), n = strlen(suffix);

    return len > n && strcmp(name + len - n, suffix) == 0 ? len - n : 0;
}

/* Whether columns i and i + 1 are the halves of one number. */
static bool is_pair(const struct type_column *c, size_t count, size_t i)
{
    size_t stem = without(c[i].name, "$low");

    return stem > 0 && i + 1 < count && without(c[i + 1].name, "$high") == stem &&
           strncmp(c[i].name, c[i + 1].name, stem) == 0 && strcmp(c[i].type, "BIGINT") == 0 &&
           strcmp(c[i + 1].type, "BIGINT") == 0;
}

/* Whether there is a count besides: then the number is a sum. */
static bool is_sum(const struct type_column *c, size_t count, size_t i, size_t stem)
{
    return i + 2 < count && without(c[i + 2].name, "$count") == stem &&
           strncmp(c[i].name, c[i + 2].name, stem) == 0;
}

static void add_pair(struct state_view *v, struct schema *s, const struct type_column *c,
                     size_t count, size_t i)
{
    size_t len = without(c[i].name, "$low");
    struct type type = type_of(TYPE_DECIMAL), unit;
    const char *stem;

    type.precision = 38;
    if (!split_unit(v->arena, c[i].name, len, &stem, &unit))
        stem = arena_strndup(v->arena, c[i].name, len);
    else if (unit.kind == TYPE_DECIMAL)
        type.scale = unit.scale;
    if (is_sum(c, count, i, len))
        stem = arena_printf(v->arena, "%s$sum", stem);
    add_column(v, s, stem, type);
}

/* A field alone; true: the number in its slot has the unit that its name says. */
static bool add_field(struct state_view *v, struct schema *s, const struct type_column *c,
                      struct type type)
{
    size_t len = without(c->name, "$count");
    struct type unit;
    const char *stem;

    if (type.kind == TYPE_BIGINT && split_unit(v->arena, c->name, strlen(c->name), &stem, &unit) &&
        !type_is_varlen(unit.kind)) {
        add_column(v, s, stem, unit);
        return true;
    }
    if (len > 0 && split_unit(v->arena, c->name, len, &stem, &unit))
        add_column(v, s, arena_printf(v->arena, "%s$count", stem), type);
    else
        add_column(v, s, c->name, type);
    return false;
}

/* The columns of a ROW type. false: one of them has no SQL type; nothing is added then. totals: its
 * fields may be those of an accumulator. */
static bool add_row(struct state_view *v, struct schema *s, const char *text, bool totals,
                    struct part *p)
{
    struct type_column *c;
    size_t len = strlen(text), count;
    enum field_kind *kinds;
    struct type *types;

    if (strncmp(text, "ROW<", 4) != 0 || text[len - 1] != '>')
        return false;
    count = type_columns(text, v->arena, &c);
    if (count > BINARY_ROW_FIELDS_MAX)
        return false;
    kinds = ARENA_ARRAY(v->arena, count + 1, enum field_kind);
    types = ARENA_ARRAY(v->arena, count + 1, struct type);
    for (size_t i = 0; i < count; i++) {
        size_t bare = without(c[i].type, " NOT NULL");
        const char *type = bare == 0 ? c[i].type : arena_strndup(v->arena, c[i].type, bare);

        if (!type_parse(type, &types[i]))
            return false;
        kinds[i] = field_kind_of(types[i]);
    }
    row_layout_init(&p->layout, kinds, (uint32_t)count);
    p->coding = CODING_ROW;
    p->fields = ARENA_ARRAY(v->arena, count + 1, struct view_field);
    make_room(v, s, count);
    for (size_t i = 0; i < count; i++) {
        struct view_field *f = &p->fields[p->field_count++];

        f->field = (uint32_t)i;
        f->wide = totals && is_pair(c, count, i);
        if (f->wide)
            add_pair(v, s, c, count, i++);
        else if (totals)
            f->in_slot = add_field(v, s, &c[i], types[i]);
        else
            add_column(v, s, c[i].name, types[i]);
    }
    return true;
}

/* One column of a type that is no row. */
static void add_single(struct state_view *v, struct schema *s, const char *name, const char *text,
                       struct part *p)
{
    bool known = type_parse(text, &p->type);

    p->coding = known ? CODING_SERIALIZED : CODING_OPAQUE;
    add_column(v, s, name, known ? p->type : type_of(TYPE_VARCHAR));
}

static void add_value(struct state_view *v)
{
    struct schema *s = &v->schema;
    enum state_kind kind = v->desc->kind;

    v->value.first = s->field_count;
    if (kind == STATE_TIMER)
        return;
    if (kind == STATE_LIST) {
        add_column(v, s, "elements", type_of(TYPE_VARCHAR));
        s = &v->element_schema;
        v->value.first = 0;
    }
    if (!add_row(v, s, v->desc->value_type, kind != STATE_LIST, &v->value))
        add_single(v, s, "value", v->desc->value_type, &v->value);
    if (kind != STATE_LIST && v->desc->ttl_ms != 0) {
        struct type instant = type_of(TYPE_TIMESTAMP_LTZ);

        instant.precision = 3;
        add_column(v, s, "last_access", instant);
    }
}

static void add_key(struct state_view *v)
{
    struct type time = type_of(TYPE_TIMESTAMP);

    time.precision = 3;
    add_column(v, &v->schema, "key_group", type_of(TYPE_INT));
    v->key.first = v->schema.field_count;
    if (!add_row(v, &v->schema, v->desc->key_type, false, &v->key))
        add_single(v, &v->schema, "key", "", &v->key); /* how it lies is its owner's matter */
    if (v->ns == KEY_NS_BIGINT)
        add_column(v, &v->schema, "window_end", time);
    else if (v->ns == KEY_NS_BYTES)
        add_column(v, &v->schema, "namespace", type_of(TYPE_VARCHAR));
    v->map_key.first = v->schema.field_count;
    time.kind = TYPE_TIMESTAMP_LTZ;
    if (v->desc->kind == STATE_TIMER)
        add_column(v, &v->schema, "timer", time);
}

enum rc state_view_new(const struct state_desc *desc, uint32_t key_group_count, bool keys_only,
                       struct state_view **out, struct err *err)
{
    struct state_view *v = mem_calloc(1, sizeof *v);

    v->desc = desc;
    v->arena = arena_new(0);
    v->key_group_count = key_group_count;
    v->prefix_len = keygroup_prefix_len(key_group_count);
    v->ttl = ttl_shape_of(desc);
    v->schema.rowtime = v->element_schema.rowtime = -1;
    make_room(v, &v->schema, 0);
    make_room(v, &v->element_schema, 0);
    if (key_namespace_parse(desc->namespace_type, &v->ns, err) != RC_OK) {
        state_view_free(v);
        return RC_UNSUPPORTED;
    }
    add_key(v);
    if (keys_only) {
        add_column(v, &v->schema, "entries", type_of(TYPE_BIGINT));
        add_column(v, &v->schema, "bytes", type_of(TYPE_BIGINT));
        *out = v;
        return RC_OK;
    }
    if (desc->kind == STATE_MAP && !add_row(v, &v->schema, desc->user_key_type, false, &v->map_key))
        add_single(v, &v->schema, "map_key", desc->user_key_type, &v->map_key);
    add_value(v);
    if (desc->kind == STATE_LIST)
        v->element = batch_builder_new(&v->element_schema);
    *out = v;
    return RC_OK;
}

void state_view_free(struct state_view *v)
{
    if (v == NULL)
        return;
    batch_builder_free(v->element);
    buf_release(&v->text);
    buf_release(&v->key_bytes);
    arena_free(v->arena);
    mem_free(v);
}

const struct schema *state_view_schema(const struct state_view *v)
{
    return &v->schema;
}

/* ---- values ---------------------------------------------------------------------------------- */

static void append_hex(struct state_view *v, struct bytes b, struct batch_builder *out,
                       uint32_t column)
{
    buf_clear(&v->text);
    hex_print(b, &v->text);
    batch_append_bytes(out, column, buf_bytes(&v->text));
}

/* Whoever stored it may have stored anything. */
static void append_text_value(struct state_view *v, struct type type, struct bytes b,
                              struct batch_builder *out, uint32_t column)
{
    if (type_is_text(type.kind) && !utf8_is_valid(b)) {
        buf_clear(&v->text);
        utf8_append_valid(b, &v->text);
        b = buf_bytes(&v->text);
    }
    batch_append_bytes(out, column, b);
}

static void append_integer(struct type type, int64_t n, struct batch_builder *out, uint32_t column)
{
    if (type.kind == TYPE_BOOLEAN)
        batch_append_bool(out, column, n != 0);
    else if (type.kind == TYPE_DECIMAL)
        batch_append_decimal(out, column, n);
    else if (type.kind == TYPE_DOUBLE || type.kind == TYPE_FLOAT)
        batch_append_double(out, column, (double)n);
    else
        batch_append_int(out, column, n);
}

/* Two's complement, as long as it has to be. */
static enum rc read_wide(struct bytes b, int128 *out, struct err *err)
{
    unsigned __int128 n;

    if (b.len == 0 || b.len > 16)
        return err_set(err, RC_CORRUPT, "a decimal of %zu bytes", b.len);
    n = b.data[0] & 0x80 ? ~(unsigned __int128)0 : 0;
    for (size_t i = 0; i < b.len; i++)
        n = n << 8 | b.data[i];
    *out = (int128)n;
    return RC_OK;
}

static enum rc append_sized(struct state_view *v, struct reader *r, struct type type,
                            struct batch_builder *out,
                            uint32_t column, struct err *err)
{
    struct bytes b;
    uint32_t len;
    int128 wide;

    RETURN_IF_ERR(reader_be32(r, &len, "size", err));
    RETURN_IF_ERR(reader_take(r, len, &b, "value", err));
    if (type_is_varlen(type.kind)) {
        append_text_value(v, type, b, out, column);
        return RC_OK;
    }
    RETURN_IF_ERR(read_wide(b, &wide, err));
    batch_append_decimal(out, column, wide);
    return RC_OK;
}

static enum rc append_wide_timestamp(struct reader *r, struct type type, struct batch_builder *out,
                                     uint32_t column, struct err *err)
{
    int64_t units = timestamp_units_per_ms(type.precision), n;
    uint64_t ms;
    uint32_t nanos;

    RETURN_IF_ERR(reader_be64(r, &ms, "milliseconds", err));
    RETURN_IF_ERR(reader_be32(r, &nanos, "nanoseconds", err));
    if (nanos >= 1000000 || __builtin_mul_overflow((int64_t)ms, units, &n) ||
        __builtin_add_overflow(n, (int64_t)nanos * units / 1000000, &n))
        return err_set(err, RC_CORRUPT, "a timestamp of %lld ms and %u ns", (long long)ms, nanos);
    batch_append_int(out, column, n);
    return RC_OK;
}

static void append_float(struct type type, uint64_t bits, struct batch_builder *out,
                         uint32_t column)
{
    uint32_t low = (uint32_t)bits;
    double d;
    float f;

    memcpy(&f, &low, sizeof f);
    memcpy(&d, &bits, sizeof d);
    batch_append_double(out, column, type.kind == TYPE_FLOAT ? (double)f : d);
}

/* What Flink's serializer of the type wrote. */
/* Bytes of such a value; of what has no size before it. */
static uint32_t serialized_width(enum type_kind kind)
{
    return kind == TYPE_BOOLEAN ? 1 : kind == TYPE_DECIMAL ? 8 : type_width(kind);
}

static enum rc append_serialized(struct state_view *v, struct type type, struct bytes b,
                                 struct batch_builder *out,
                                 uint32_t column, struct err *err)
{
    bool wide = type.kind == TYPE_DECIMAL && type.precision > 18;
    uint32_t width = serialized_width(type.kind), unused = 64 - 8 * width;
    struct reader r;
    struct bytes n;
    uint64_t bits = 0;

    reader_init(&r, b, "value");
    if (type_is_varlen(type.kind) || wide) {
        RETURN_IF_ERR(append_sized(v, &r, type, out, column, err));
    } else if (type_is_timestamp(type.kind) && type.precision > 3) {
        RETURN_IF_ERR(append_wide_timestamp(&r, type, out, column, err));
    } else {
        RETURN_IF_ERR(reader_take(&r, width, &n, "value", err));
        for (uint32_t i = 0; i < width; i++)
            bits = bits << 8 | n.data[i];
        if (type.kind == TYPE_FLOAT || type.kind == TYPE_DOUBLE)
            append_float(type, bits, out, column);
        else
            append_integer(type, (int64_t)(bits << unused) >> unused, out, column);
    }
    return reader_end(&r, err);
}

/* One column from the fields of a checked row. */
static void append_view_field(struct state_view *v, const struct part *p,
                              const struct view_field *f, const uint8_t *row,
                              struct type type, struct batch_builder *out, uint32_t column)
{
    const struct row_layout *l = &p->layout;

    if (binary_row_is_null(row, f->field))
        batch_append_null(out, column);
    else if (f->wide)
        batch_append_decimal(
            out, column,
            (int128)((unsigned __int128)(uint64_t)binary_row_int(l, row, f->field + 1) << 64 |
                     (uint64_t)binary_row_int(l, row, f->field)));
    else if (f->in_slot)
        append_integer(type, binary_row_int(l, row, f->field), out, column);
    else if (l->kinds[f->field] == FIELD_BYTES)
        append_text_value(v, type, binary_row_bytes(l, row, f->field), out, column);
    else
        row_field_append(l, row, f->field, type, out, column);
}

/* Wide timestamps are milliseconds below: more of them than the column's unit has room for. */
static enum rc check_timestamps(const struct part *p, const struct schema *s, const uint8_t *row,
                                struct err *err)
{
    for (uint32_t i = 0; i < p->field_count; i++) {
        const struct view_field *f = &p->fields[i];
        int64_t ms, n, units = timestamp_units_per_ms(s->fields[p->first + i].type.precision);
        uint32_t nanos;

        if (f->wide || p->layout.kinds[f->field] != FIELD_TIMESTAMP_WIDE ||
            binary_row_is_null(row, f->field))
            continue;
        ms = binary_row_timestamp(&p->layout, row, f->field, &nanos);
        if (__builtin_mul_overflow(ms, units, &n) || __builtin_add_overflow(n, units, &n))
            return err_set(err, RC_CORRUPT, "a timestamp of %lld ms", (long long)ms);
    }
    return RC_OK;
}

/* The columns of a part; `row`: of CODING_ROW, without its size. */
static enum rc append_part(struct state_view *v, const struct part *p, const struct schema *s,
                           struct bytes b, const char *what, struct batch_builder *out,
                           struct err *err)
{
    switch (p->coding) {
    case CODING_OPAQUE:
        append_hex(v, b, out, p->first);
        return RC_OK;
    case CODING_SERIALIZED:
        return append_serialized(v, p->type, b, out, p->first, err);
    case CODING_ROW:
        break;
    }
    RETURN_IF_ERR(binary_row_check(&p->layout, b, what, err));
    RETURN_IF_ERR(check_timestamps(p, s, b.data, err));
    for (uint32_t i = 0; i < p->field_count; i++)
        append_view_field(v, p, &p->fields[i], b.data, s->fields[p->first + i].type, out,
                          p->first + i);
    return RC_OK;
}

/* A row stands behind its size. */
static enum rc strip_size(const struct part *p, struct bytes *b, struct err *err)
{
    struct bytes whole = *b;
    struct reader r;
    uint32_t size;

    if (p->coding != CODING_ROW)
        return RC_OK;
    reader_init(&r, whole, "value");
    RETURN_IF_ERR(reader_be32(&r, &size, "size", err));
    RETURN_IF_ERR(reader_take(&r, size, b, "row", err));
    return reader_end(&r, err);
}

static void append_nulls(const struct part *p, struct batch_builder *out)
{
    uint32_t count = p->coding == CODING_ROW ? p->field_count : 1;

    for (uint32_t i = 0; i < count; i++)
        batch_append_null(out, p->first + i);
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* "[a, b]"; a row in parentheses, a time-to-live's time behind '@', milliseconds. */
static enum rc print_elements(struct state_view *v, struct bytes value, struct buf *text,
                              struct err *err)
{
    struct bytes whole, element;
    int64_t time_ms;

    buf_append_u8(text, '[');
    for (bool first = true; value.len > 0; first = false) {
        const struct batch *b;

        if (!ttl_take_element(&v->ttl, &value, first, &whole, &time_ms, &element))
            return err_set(err, RC_CORRUPT, "list: no element %zu bytes before its end", value.len);
        if (v->desc->fixed_value_bytes == 0 && v->value.coding == CODING_OPAQUE)
            element = bytes_of(element.data + 4, element.len - 4); /* its size */
        RETURN_IF_ERR(strip_size(&v->value, &element, err));
        batch_builder_clear(v->element);
        RETURN_IF_ERR(append_part(v, &v->value, &v->element_schema, element, "element", v->element,
                                  err));
        batch_row_end(v->element, ROW_INSERT);
        b = batch_builder_view(v->element);
        buf_append_str(text, first ? "" : ", ");
        buf_append_str(text, v->value.coding == CODING_ROW ? "(" : "");
        for (uint32_t i = 0; i < b->column_count; i++) {
            buf_append_str(text, i == 0 ? "" : ", ");
            column_print(&b->columns[i], 0, text);
        }
        buf_append_str(text, v->value.coding == CODING_ROW ? ")" : "");
        if (v->ttl.ttl_ms != 0)
            buf_printf(text, "@%lld", (long long)time_ms);
    }
    buf_append_u8(text, ']');
    return RC_OK;
}

static enum rc append_list(struct state_view *v, struct bytes value, struct batch_builder *out,
                           struct err *err)
{
    struct buf text = {0};
    enum rc rc = print_elements(v, value, &text, err);

    if (rc == RC_OK && text.len > VALUE_BYTES_MAX)
        rc = err_set(err, RC_LIMIT, "a list whose text has %zu bytes, the limit is %u", text.len,
                     VALUE_BYTES_MAX);
    if (rc == RC_OK)
        batch_append_bytes(out, v->schema.field_count - 1, buf_bytes(&text));
    buf_release(&text);
    return rc;
}

/* ---- entries --------------------------------------------------------------------------------- */

/* Prefix, then for timers a time, then key and namespace: parts lie in v->key_bytes then. */
static enum rc split_key(struct state_view *v, struct bytes key, struct key_parts *parts,
                         int64_t *time_ms, struct err *err)
{
    if (v->desc->kind == STATE_TIMER) {
        if (key.len < v->prefix_len + 8)
            return err_set(err, RC_CORRUPT, "timer of %zu bytes", key.len);
        *time_ms = key_get_sortable(key.data + v->prefix_len);
        buf_clear(&v->key_bytes);
        buf_append(&v->key_bytes, key.data, v->prefix_len);
        buf_append(&v->key_bytes, key.data + v->prefix_len + 8, key.len - v->prefix_len - 8);
        key = buf_bytes(&v->key_bytes);
    }
    RETURN_IF_ERR(key_split(key, v->key_group_count, v->ns, parts, err));
    if (v->desc->kind != STATE_MAP && parts->user_key.len > 0)
        return err_set(err, RC_CORRUPT, "key has %zu bytes too many", parts->user_key.len);
    return RC_OK;
}

static enum rc append_key(struct state_view *v, const struct key_parts *k, int64_t time_ms,
                          struct batch_builder *out, struct err *err)
{
    uint32_t after = v->map_key.first;

    batch_append_int(out, 0, k->group);
    RETURN_IF_ERR(append_part(v, &v->key, &v->schema, k->row, "key", out, err));
    if (v->ns == KEY_NS_BIGINT)
        batch_append_int(out, after - 1, k->window);
    else if (v->ns == KEY_NS_BYTES)
        append_hex(v, k->ns, out, after - 1);
    if (v->desc->kind == STATE_TIMER)
        batch_append_int(out, after, time_ms);
    return RC_OK;
}

/* Takes null flag and time off a stored value. */
static enum rc strip_head(const struct state_view *v, struct bytes *value, bool *null,
                          int64_t *time_ms, struct err *err)
{
    struct reader r;
    uint8_t flag = 0;
    uint64_t time = 0;

    reader_init(&r, *value, "value");
    if (v->desc->kind == STATE_MAP)
        RETURN_IF_ERR(reader_u8(&r, &flag, "null flag", err));
    if (flag > 1)
        return err_set(err, RC_CORRUPT, "value: null flag %u", flag);
    if (v->desc->ttl_ms != 0)
        RETURN_IF_ERR(reader_be64(&r, &time, "time of the last access", err));
    *null = flag == 1;
    *time_ms = (int64_t)time;
    return reader_take(&r, reader_left(&r), value, "value", err);
}

static enum rc append_value(struct state_view *v, struct bytes value, struct batch_builder *out,
                            struct err *err)
{
    int64_t time_ms;
    bool null;

    if (v->desc->kind == STATE_TIMER)
        return RC_OK;
    if (v->desc->kind == STATE_LIST)
        return append_list(v, value, out, err);
    RETURN_IF_ERR(strip_head(v, &value, &null, &time_ms, err));
    if (null) {
        append_nulls(&v->value, out);
    } else {
        RETURN_IF_ERR(strip_size(&v->value, &value, err));
        RETURN_IF_ERR(append_part(v, &v->value, &v->schema, value, "value", out, err));
    }
    if (v->desc->ttl_ms != 0)
        batch_append_int(out, v->schema.field_count - 1, time_ms);
    return RC_OK;
}

/* Ends the row, or takes it back. */
static enum rc end_row(struct state_view *v, struct bytes key, enum rc rc,
                       struct batch_builder *out, struct err *err)
{
    if (rc == RC_OK) {
        batch_row_end(out, ROW_INSERT);
        return RC_OK;
    }
    batch_row_abandon(out);
    buf_clear(&v->text);
    hex_print(bytes_of(key.data, key.len < 32 ? key.len : 32), &v->text);
    return err_wrap(err, rc, "state %s: entry %s%s", v->desc->name, buf_cstr(&v->text),
                    key.len > 32 ? ".." : "");
}

static enum rc append_entry(struct state_view *v, struct bytes key, struct bytes value,
                            struct batch_builder *out, struct err *err)
{
    struct key_parts parts;
    int64_t time_ms = 0;

    if (key.len > VALUE_BYTES_MAX || value.len > VALUE_BYTES_MAX)
        return err_set(err, RC_LIMIT, "%zu bytes of key, %zu of value, the limit is %u", key.len,
                       value.len, VALUE_BYTES_MAX);
    RETURN_IF_ERR(split_key(v, key, &parts, &time_ms, err));
    RETURN_IF_ERR(append_key(v, &parts, time_ms, out, err));
    if (v->desc->kind == STATE_MAP) {
        RETURN_IF_ERR(strip_size(&v->map_key, &parts.user_key, err));
        RETURN_IF_ERR(
            append_part(v, &v->map_key, &v->schema, parts.user_key, "map key", out, err));
    }
    return append_value(v, value, out, err);
}

enum rc state_view_append(struct state_view *v, struct bytes key, struct bytes value,
                          struct batch_builder *out, struct err *err)
{
    return end_row(v, key, append_entry(v, key, value, out, err), out, err);
}

enum rc state_view_append_size(struct state_view *v, struct bytes key, uint64_t entries,
                               uint64_t bytes, struct batch_builder *out, struct err *err)
{
    struct key_parts parts;
    int64_t time_ms = 0;
    enum rc rc = split_key(v, key, &parts, &time_ms, err);

    if (rc == RC_OK)
        rc = append_key(v, &parts, time_ms, out, err);
    if (rc == RC_OK) {
        batch_append_int(out, v->schema.field_count - 2, (int64_t)entries);
        batch_append_int(out, v->schema.field_count - 1, (int64_t)bytes);
    }
    return end_row(v, key, rc, out, err);
}

/* ---- a key's text ---------------------------------------------------------------------------- */

enum rc state_view_key(const struct state_view *v, const char *text, struct buf *prefix,
                       bool *whole, struct err *err)
{
    const struct schema columns = {v->key.field_count, v->schema.fields + v->key.first, -1};

    if (v->key.coding != CODING_ROW)
        return err_set(err, RC_UNSUPPORTED,
                       "state %s: the key's type is \"%s\", which is no SQL row; ask for a key "
                       "group",
                       v->desc->name, v->desc->key_type);
    if (v->desc->kind == STATE_TIMER)
        return err_set(err, RC_UNSUPPORTED,
                       "state %s: timers lie by time, not by key; ask for a key group",
                       v->desc->name);
    RETURN_IF_ERR(key_text_parse(&columns, text, v->key_group_count, prefix, err));
    *whole = v->ns == KEY_NS_VOID && v->desc->kind != STATE_MAP;
    if (v->ns == KEY_NS_VOID)
        buf_append_u8(prefix, 0); /* that namespace, as every key has it */
    return RC_OK;
}
