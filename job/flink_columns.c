/* flink_columns.c - see flink_columns.h */
#include "job/flink_columns.h"

#include "base/utf8.h"
#include "checkpoint/flink/flink_key.h"
#include "checkpoint/flink/flink_value.h"
#include "job/decimal.h"

#define FIXED_COLUMNS 8u /* at most, besides those of values */

struct flink_value_columns {
    uint32_t first, count;
    bool record; /* each part has its column, by its name; else the whole has one */
    struct bytes *names;
    struct type *types;
    struct buf *text;
};
enum namespace_shape { NAMESPACE_NONE, NAMESPACE_WINDOW, NAMESPACE_OTHER };
struct flink_columns {
    const struct flink_source_state *of;
    struct flink_states states; /* what a key needs of its description */
    struct arena *arena, *entry; /* entry: emptied with each */
    uint32_t prefix_len;
    bool keys_only, has_last_access, may_rest;
    enum namespace_shape shape;
    const struct flink_serializer *key_type, *namespace;
    struct schema schema;
    struct flink_value_columns *key, *map_key, *value;
};

/* ---- columns of a value ---------------------------------------------------------------------- */

static struct type text_type(void)
{
    return type_of(TYPE_VARCHAR);
}

static const struct flink_serializer *without_null(const struct flink_serializer *s)
{
    s = flink_serializer_bare(s);
    while (s->coding == FLINK_NULLABLE)
        s = flink_serializer_bare(s->children[0]);
    return s;
}

static struct type type_of_serializer(const struct flink_serializer *s)
{
    static const uint8_t kinds[] = {
        [FLINK_BOOLEAN] = TYPE_BOOLEAN, [FLINK_BYTE] = TYPE_TINYINT, [FLINK_SHORT] = TYPE_SMALLINT,
        [FLINK_INT] = TYPE_INT,         [FLINK_LONG] = TYPE_BIGINT,  [FLINK_FLOAT] = TYPE_FLOAT,
        [FLINK_DOUBLE] = TYPE_DOUBLE,
    };
    struct type type;

    s = without_null(s);
    if (s->coding == FLINK_DECIMAL_DATA) {
        type = type_of(TYPE_DECIMAL);
        type.precision = (uint8_t)s->number;
        type.scale = (uint8_t)s->scale;
        return type;
    }
    if (s->coding >= FLINK_BOOLEAN && s->coding <= FLINK_DOUBLE)
        return type_of((enum type_kind)kinds[s->coding]);
    return text_type();
}

static void add_column(struct schema *schema, struct arena *arena, struct bytes name,
                       struct type type)
{
    struct buf text = {0};
    const char *unique, *base;

    utf8_append_valid(name, &text);
    base = unique = arena_strdup(arena, buf_cstr(&text));
    buf_release(&text);
    for (uint32_t n = 2; schema_find(schema, unique) >= 0; n++)
        unique = arena_printf(arena, "%s_%u", base, n);
    schema->fields[schema->field_count++] = (struct schema_field){unique, type};
}

/* Whether each of its values has the same parts. */
static bool is_record(const struct flink_serializer *s)
{
    if (s->child_count == 0 || s->child_count >= FLINK_VALUE_COLUMNS_MAX)
        return false;
    return s->coding == FLINK_TUPLE || s->coding == FLINK_ROW || s->coding == FLINK_ROW_DATA ||
           (s->coding == FLINK_POJO && s->registered_count + s->other_count == 0);
}

static void add_part(struct flink_value_columns *c, const char *of, struct bytes name,
                     struct type type, struct schema *schema, struct arena *arena)
{
    struct buf text = {0};

    buf_printf(&text, "%s.", of);
    buf_append(&text, name.data, name.len);
    add_column(schema, arena, buf_bytes(&text), type);
    buf_release(&text);
    c->names[c->count] = name;
    c->types[c->count++] = type;
}

struct flink_value_columns *flink_value_columns_add(const struct flink_serializer *s,
                                                    const char *name, struct schema *schema,
                                                    struct arena *arena)
{
    struct flink_value_columns *c = ARENA_NEW(arena, struct flink_value_columns);

    if (s != NULL)
        s = without_null(s);
    c->first = schema->field_count;
    c->record = s != NULL && is_record(s);
    c->names = ARENA_ARRAY(arena, c->record ? s->child_count + 1 : 1, struct bytes);
    c->types = ARENA_ARRAY(arena, c->record ? s->child_count + 1 : 1, struct type);
    c->text = ARENA_NEW(arena, struct buf);
    if (!c->record) {
        c->types[0] = s == NULL ? text_type() : type_of_serializer(s);
        c->count = 1;
        add_column(schema, arena, bytes_of_str(name), c->types[0]);
        return c;
    }
    if (s->coding == FLINK_ROW_DATA || (s->coding == FLINK_ROW && s->flag))
        add_part(c, name, bytes_of_str("kind"), text_type(), schema, arena);
    for (size_t i = 0; i < s->child_count; i++)
        add_part(c, name,
                 s->coding == FLINK_POJO ? s->names[i]
                                         : bytes_of_str(arena_printf(arena, "f%zu", i)),
                 type_of_serializer(s->children[i]), schema, arena);
    return c;
}

void flink_value_columns_release(struct flink_value_columns *c)
{
    buf_release(c->text);
}

/* ---- values into columns --------------------------------------------------------------------- */

static void put_decimal(struct type type, struct bytes digits, uint32_t column,
                        struct batch_builder *out)
{
    int128 unscaled;

    if (decimal_parse(digits, type.precision, type.scale, &unscaled, NULL) == RC_OK)
        batch_append_decimal(out, column, unscaled);
    else
        batch_append_null(out, column); /* no such value has that type */
}

static void put_one(struct buf *text, struct type type, const struct flink_value *v,
                    uint32_t column, struct batch_builder *out)
{
    if (v == NULL || v->kind == FLINK_VALUE_NULL) {
        batch_append_null(out, column);
    } else if (type_is_text(type.kind)) {
        buf_clear(text);
        flink_value_text(v, text);
        batch_append_bytes(out, column, buf_bytes(text));
    } else if (v->kind == FLINK_VALUE_BOOL && type.kind == TYPE_BOOLEAN) {
        batch_append_bool(out, column, v->integer != 0);
    } else if (v->kind == FLINK_VALUE_INTEGER && type_is_integer(type.kind)) {
        batch_append_int(out, column, v->integer);
    } else if (v->kind == FLINK_VALUE_REAL &&
               (type.kind == TYPE_FLOAT || type.kind == TYPE_DOUBLE)) {
        batch_append_double(out, column, v->real);
    } else if (v->kind == FLINK_VALUE_NUMBER && type.kind == TYPE_DECIMAL) {
        put_decimal(type, v->text, column, out);
    } else {
        batch_append_null(out, column);
    }
}

static const struct flink_value *part_named(const struct flink_value *v, struct bytes name,
                                            size_t guess)
{
    if (v == NULL || v->kind != FLINK_VALUE_RECORD)
        return NULL;
    if (guess < v->part_count && bytes_eq(v->parts[guess].name, name))
        return &v->parts[guess];
    for (size_t i = 0; i < v->part_count; i++)
        if (bytes_eq(v->parts[i].name, name))
            return &v->parts[i];
    return NULL;
}

void flink_value_columns_put(const struct flink_value_columns *c, const struct flink_value *v,
                             struct batch_builder *out)
{
    for (uint32_t i = 0; i < c->count; i++)
        put_one(c->text, c->types[i], c->record ? part_named(v, c->names[i], i) : v, c->first + i,
                out);
}

/* ---- columns of an entry --------------------------------------------------------------------- */

static enum namespace_shape shape_of(const struct flink_serializer *namespace)
{
    const struct flink_serializer *s =
        namespace == NULL ? NULL : flink_serializer_bare(namespace);

    if (s == NULL || s->coding == FLINK_VOID_NAMESPACE || s->coding == FLINK_GLOBAL_WINDOW)
        return NAMESPACE_NONE;
    return s->coding == FLINK_TIME_WINDOW ? NAMESPACE_WINDOW : NAMESPACE_OTHER;
}

static void add_namespace(struct flink_columns *c)
{
    if (c->shape == NAMESPACE_WINDOW) {
        add_column(&c->schema, c->arena, bytes_of_str("window_start"), text_type());
        add_column(&c->schema, c->arena, bytes_of_str("window_end"), text_type());
    } else if (c->shape == NAMESPACE_OTHER) {
        add_column(&c->schema, c->arena, bytes_of_str("namespace"),
                   type_of_serializer(c->namespace));
    }
}

/* The serializer of what a value column shows, without its time-to-live. */
static const struct flink_serializer *shown_value(struct flink_columns *c)
{
    const struct flink_state *s = c->of->state;
    const struct flink_serializer *v = s->type == FLINK_TYPE_MAP && s->user_value != NULL
                                           ? s->user_value
                                           : s->value;

    if (s->type == FLINK_TYPE_LIST && s->element != NULL)
        return NULL;
    if (flink_serializer_bare(v)->coding != FLINK_TTL)
        return v;
    c->has_last_access = true;
    return flink_serializer_bare(v)->children[1];
}

static void add_value(struct flink_columns *c)
{
    const struct flink_state *s = c->of->state;

    if (c->keys_only) {
        add_column(&c->schema, c->arena, bytes_of_str("entries"), type_of(TYPE_BIGINT));
        add_column(&c->schema, c->arena, bytes_of_str("bytes"), type_of(TYPE_BIGINT));
        return;
    }
    if (s->kind == FLINK_STATE_TIMERS)
        return;
    if (s->type == FLINK_TYPE_MAP)
        c->map_key = flink_value_columns_add(s->user_key, "map_key", &c->schema, c->arena);
    c->value = flink_value_columns_add(shown_value(c), "value", &c->schema, c->arena);
    if (c->has_last_access)
        add_column(&c->schema, c->arena, bytes_of_str("last_access"), text_type());
}

struct flink_columns *flink_columns_new(const struct flink_source_state *s,
                                        uint32_t key_group_count, bool keys_only)
{
    struct flink_columns *c = mem_calloc(1, sizeof *c);
    const struct flink_serializer *timer;

    c->of = s;
    c->keys_only = keys_only;
    c->arena = arena_new(0);
    c->entry = arena_new(0);
    c->prefix_len = keygroup_prefix_len(key_group_count);
    c->states.key = s->key;
    c->key_type = s->key;
    c->namespace = s->state->namespace;
    if (s->state->kind == FLINK_STATE_TIMERS) {
        timer = flink_serializer_bare(s->state->value);
        c->key_type = timer->coding == FLINK_TIMER ? timer->children[0] : NULL;
        c->namespace = timer->coding == FLINK_TIMER ? timer->children[1] : NULL;
    }
    c->may_rest = c->key_type == NULL || !flink_serializer_is_known(c->key_type) ||
                  (c->namespace != NULL && !flink_serializer_is_known(c->namespace)) ||
                  (s->state->type == FLINK_TYPE_MAP && s->state->user_key == NULL);
    c->schema.rowtime = -1;
    c->schema.fields = ARENA_ARRAY(c->arena, 3 * FLINK_VALUE_COLUMNS_MAX + FIXED_COLUMNS,
                                   struct schema_field);
    c->shape = shape_of(c->namespace);
    add_column(&c->schema, c->arena, bytes_of_str("key_group"), type_of(TYPE_INT));
    c->key = flink_value_columns_add(c->key_type, "key", &c->schema, c->arena);
    add_namespace(c);
    if (s->state->kind == FLINK_STATE_TIMERS)
        add_column(&c->schema, c->arena, bytes_of_str("timer"), text_type());
    add_value(c);
    if (c->may_rest)
        add_column(&c->schema, c->arena, bytes_of_str("rest"), text_type());
    return c;
}

void flink_columns_free(struct flink_columns *c)
{
    if (c == NULL)
        return;
    flink_value_columns_release(c->key);
    if (c->map_key != NULL)
        flink_value_columns_release(c->map_key);
    if (c->value != NULL)
        flink_value_columns_release(c->value);
    arena_free(c->entry);
    arena_free(c->arena);
    mem_free(c);
}

const struct schema *flink_columns_schema(const struct flink_columns *c)
{
    return &c->schema;
}

/* ---- entries --------------------------------------------------------------------------------- */

static void put_time(struct flink_columns *c, int64_t ms, const char *zone, uint32_t column,
                     struct batch_builder *out)
{
    struct flink_value text = {0};

    flink_value_of_ms(ms, zone, c->entry, &text);
    batch_append_bytes(out, column, text.text);
}

static uint32_t put_namespace(struct flink_columns *c, const struct flink_key *k, uint32_t column,
                              struct batch_builder *out)
{
    const struct flink_value *n = &k->namespace;

    if (c->shape == NAMESPACE_OTHER) {
        put_one(c->key->text, c->schema.fields[column].type, n, column, out);
        return column + 1;
    }
    for (size_t i = 0; c->shape == NAMESPACE_WINDOW && i < 2; i++, column++) {
        if (n->kind == FLINK_VALUE_RECORD && n->part_count == 2)
            put_time(c, n->parts[i].integer, "", column, out);
        else
            batch_append_null(out, column);
    }
    return column;
}

/* Key group, key, namespace and time of a timer; the next column. */
static uint32_t put_key(struct flink_columns *c, const struct flink_key *k,
                        struct batch_builder *out)
{
    uint32_t column = c->key->first + c->key->count;

    batch_append_int(out, 0, k->key_group);
    flink_value_columns_put(c->key, &k->key, out);
    column = put_namespace(c, k, column, out);
    if (c->of->state->kind != FLINK_STATE_TIMERS)
        return column;
    if (k->key_bytes.len > 0)
        put_time(c, k->timer_ms, "Z", column, out);
    else
        batch_append_null(out, column);
    return column + 1;
}

/* Bytes of a composite key behind what could be told apart. */
static void put_rest(struct flink_columns *c, const struct flink_key *k, struct bytes key,
                     uint32_t column, struct batch_builder *out)
{
    struct flink_value rest = {.kind = FLINK_VALUE_NULL};
    size_t told = k->owner_len;

    if (!c->may_rest)
        return;
    if (c->of->state->type == FLINK_TYPE_MAP && !k->has_user_key && !k->opaque && told < key.len)
        rest = (struct flink_value){.kind = FLINK_VALUE_BYTES,
                                    .text = bytes_of(key.data + told, key.len - told)};
    put_one(c->key->text, text_type(), &rest, column, out);
}

enum rc flink_columns_append(struct flink_columns *c, struct bytes key, struct bytes value,
                             struct batch_builder *out, struct err *err)
{
    struct flink_entry entry;
    struct flink_key k;
    uint32_t column;

    arena_reset(c->entry);
    RETURN_IF_ERR(
        flink_key_read(&c->states, c->of->state, c->prefix_len, key, c->entry, &k, err));
    RETURN_IF_ERR(flink_entry_read(c->of->state, value, c->entry, &entry, err));
    column = put_key(c, &k, out);
    if (c->map_key != NULL) {
        flink_value_columns_put(c->map_key, k.has_user_key ? &k.user_key : NULL, out);
        column += c->map_key->count;
    }
    if (c->value != NULL) {
        flink_value_columns_put(c->value, &entry.value, out);
        column += c->value->count;
    }
    if (c->has_last_access) {
        if (entry.has_last_access)
            put_time(c, entry.last_access_ms, "Z", column, out);
        else
            batch_append_null(out, column);
        column++;
    }
    put_rest(c, &k, key, column, out);
    batch_row_end(out, ROW_INSERT);
    return RC_OK;
}

enum rc flink_columns_append_size(struct flink_columns *c, struct bytes key, uint64_t entries,
                                  uint64_t bytes, struct batch_builder *out, struct err *err)
{
    struct flink_state plain = *c->of->state;
    struct flink_key k;
    uint32_t column;

    arena_reset(c->entry);
    if (plain.kind != FLINK_STATE_TIMERS)
        plain.type = FLINK_TYPE_VALUE; /* without a map key */
    RETURN_IF_ERR(flink_key_read(&c->states, &plain, c->prefix_len, key, c->entry, &k, err));
    column = put_key(c, &k, out);
    batch_append_int(out, column, (int64_t)entries);
    batch_append_int(out, column + 1, (int64_t)bytes);
    put_rest(c, &k, key, column + 2, out);
    batch_row_end(out, ROW_INSERT);
    return RC_OK;
}

enum rc flink_columns_owner(struct flink_columns *c, struct bytes key, size_t *len,
                            struct err *err)
{
    struct flink_key k;

    *len = key.len;
    if (c->of->state->type != FLINK_TYPE_MAP || c->of->state->kind == FLINK_STATE_TIMERS)
        return RC_OK;
    arena_reset(c->entry);
    RETURN_IF_ERR(
        flink_key_read(&c->states, c->of->state, c->prefix_len, key, c->entry, &k, err));
    *len = k.owner_len;
    return RC_OK;
}
