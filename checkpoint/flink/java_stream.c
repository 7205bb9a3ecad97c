/* java_stream.c - see java_stream.h */
#include "checkpoint/flink/java_stream.h"

#include "checkpoint/flink/data_input.h"

#define HANDLE_BASE 0x7E0000u
#define FIELDS_MAX 4096u /* of one class */

enum {
    TC_NULL = 0x70,
    TC_REFERENCE,
    TC_CLASSDESC,
    TC_OBJECT,
    TC_STRING,
    TC_ARRAY,
    TC_CLASS,
    TC_BLOCKDATA,
    TC_ENDBLOCKDATA,
    TC_BLOCKDATALONG = 0x7A,
    TC_LONGSTRING = 0x7C,
    TC_PROXYCLASSDESC,
    TC_ENUM,
};
enum { SC_WRITE_METHOD = 1, SC_SERIALIZABLE = 2, SC_EXTERNALIZABLE = 4, SC_BLOCK_DATA = 8 };

struct java_class {
    struct bytes name;
    uint8_t flags;
    size_t field_count;
    struct class_field {
        char type;
        struct bytes name;
    } *fields;
    const struct java_class *super;
};
/* What a reference can lead to. */
struct handle {
    const struct java_class *class;
    const struct java_value *value;
};
struct java {
    struct reader *r;
    struct arena *arena;
    struct handle *handles; /* heap */
    size_t handle_count, handle_cap;
    size_t value_count;
    uint32_t depth;
};

static enum rc read_content(struct java *j, const struct java_value **out, struct err *err);
static enum rc read_class(struct java *j, const struct java_class **out, struct err *err);

static void add_handle(struct java *j, struct handle h)
{
    if (j->handle_count == j->handle_cap) {
        j->handle_cap = j->handle_cap == 0 ? 32 : j->handle_cap * 2;
        j->handles = mem_realloc(j->handles, j->handle_cap * sizeof *j->handles);
    }
    j->handles[j->handle_count++] = h;
}

static enum rc new_value(struct java *j, enum java_kind kind, struct java_value **out,
                         struct err *err)
{
    if (j->value_count++ >= JAVA_VALUES_MAX)
        return err_set(err, RC_LIMIT, "%s: a Java object of more than %u values at offset %zu",
                       j->r->what, JAVA_VALUES_MAX, j->r->pos);
    *out = ARENA_NEW(j->arena, struct java_value);
    (*out)->kind = kind;
    return RC_OK;
}

static enum rc read_reference(struct java *j, const struct handle **out, struct err *err)
{
    size_t at = j->r->pos;
    uint32_t n;

    RETURN_IF_ERR(reader_be32(j->r, &n, "Java reference", err));
    if (n < HANDLE_BASE || n - HANDLE_BASE >= j->handle_count)
        return data_fault(j->r, at, err, "Java reference 0x%x leads nowhere", n);
    *out = &j->handles[n - HANDLE_BASE];
    return RC_OK;
}

/* What a class wrote by hand, up to its end. Appended to v's items. */
static enum rc read_annotation(struct java *j, struct java_value *v, struct err *err)
{
    size_t cap = v->item_count;

    for (;;) {
        const struct java_value *item;

        if (reader_left(j->r) > 0 && j->r->all.data[j->r->pos] == TC_ENDBLOCKDATA) {
            j->r->pos++;
            return RC_OK;
        }
        RETURN_IF_ERR(read_content(j, &item, err));
        if (v->item_count == cap) {
            const struct java_value **old = v->items;

            cap = cap == 0 ? 4 : cap * 2;
            v->items = ARENA_ARRAY(j->arena, cap, const struct java_value *);
            if (v->item_count > 0)
                memcpy(v->items, old, v->item_count * sizeof *old);
        }
        v->items[v->item_count++] = item;
    }
}

/* ---- class descriptions --------------------------------------------------------------------- */

static enum rc read_class_fields(struct java *j, struct java_class *c, struct err *err)
{
    uint16_t count;

    RETURN_IF_ERR(data_u16(j->r, &count, "Java field count", err));
    if (count > FIELDS_MAX)
        return data_fault(j->r, j->r->pos, err, "a Java class of %u fields", count);
    c->fields = ARENA_ARRAY(j->arena, count, struct class_field);
    for (uint16_t i = 0; i < count; i++) {
        const struct java_value *type;
        uint8_t code;

        RETURN_IF_ERR(reader_u8(j->r, &code, "Java field type", err));
        if (memchr("ZBCSIJFDL[", code, 10) == NULL)
            return data_fault(j->r, j->r->pos - 1, err, "Java field type 0x%02x", code);
        c->fields[i].type = (char)code;
        RETURN_IF_ERR(data_utf(j->r, j->arena, &c->fields[i].name, "Java field name", err));
        if (code == 'L' || code == '[')
            RETURN_IF_ERR(read_content(j, &type, err));
        c->field_count++;
    }
    return RC_OK;
}

static enum rc read_described_class(struct java *j, struct java_class *c, struct err *err)
{
    int64_t serial_version;

    RETURN_IF_ERR(data_utf(j->r, j->arena, &c->name, "Java class name", err));
    RETURN_IF_ERR(data_i64(j->r, &serial_version, "serialVersionUID", err));
    add_handle(j, (struct handle){.class = c});
    RETURN_IF_ERR(reader_u8(j->r, &c->flags, "Java class flags", err));
    return read_class_fields(j, c, err);
}

static enum rc read_proxy_class(struct java *j, struct java_class *c, struct err *err)
{
    struct bytes interface;
    size_t count;

    c->name = bytes_of_str("$Proxy");
    c->flags = SC_SERIALIZABLE;
    add_handle(j, (struct handle){.class = c});
    RETURN_IF_ERR(data_count(j->r, 2, FIELDS_MAX, &count, "interfaces of a Java proxy", err));
    for (size_t i = 0; i < count; i++)
        RETURN_IF_ERR(data_utf(j->r, j->arena, &interface, "interface of a Java proxy", err));
    return RC_OK;
}

static enum rc read_new_class(struct java *j, uint8_t tag, const struct java_class **out,
                              struct err *err)
{
    struct java_class *c = ARENA_NEW(j->arena, struct java_class);
    struct java_value ignored = {0};

    RETURN_IF_ERR(tag == TC_CLASSDESC ? read_described_class(j, c, err)
                                      : read_proxy_class(j, c, err));
    RETURN_IF_ERR(read_annotation(j, &ignored, err));
    RETURN_IF_ERR(read_class(j, &c->super, err));
    *out = c;
    return RC_OK;
}

/* NULL: the end of a chain of base classes. */
static enum rc read_class(struct java *j, const struct java_class **out, struct err *err)
{
    size_t at = j->r->pos;
    const struct handle *h;
    uint8_t tag;
    enum rc rc;

    *out = NULL;
    RETURN_IF_ERR(reader_u8(j->r, &tag, "Java class", err));
    if (tag == TC_NULL)
        return RC_OK;
    if (tag == TC_REFERENCE) {
        RETURN_IF_ERR(read_reference(j, &h, err));
        *out = h->class;
        return *out != NULL ? RC_OK : data_fault(j->r, at, err, "a Java reference to no class");
    }
    if (tag != TC_CLASSDESC && tag != TC_PROXYCLASSDESC)
        return data_fault(j->r, at, err, "tag 0x%02x where a Java class is to be", tag);
    if (++j->depth > JAVA_DEPTH_MAX)
        return data_fault(j->r, at, err, "Java classes nested deeper than %u", JAVA_DEPTH_MAX);
    rc = read_new_class(j, tag, out, err);
    j->depth--;
    return rc;
}

/* ---- values --------------------------------------------------------------------------------- */

static enum rc read_number(struct java *j, char type, struct java_value *v, struct err *err)
{
    size_t len = type == 'J' || type == 'D' ? 8 : type == 'I' || type == 'F' ? 4
               : type == 'S' || type == 'C' ? 2 : 1;
    struct bytes b;
    uint64_t bits64;
    uint32_t bits32;
    float narrow;

    RETURN_IF_ERR(reader_take(j->r, len, &b, "Java value", err));
    bits32 = len == 4 ? get_be32(b.data) : 0;
    bits64 = len == 8 ? get_be64(b.data) : 0;
    switch (type) {
    case 'D':
        memcpy(&v->real, &bits64, sizeof v->real);
        break;
    case 'F':
        memcpy(&narrow, &bits32, sizeof narrow);
        v->real = (double)narrow;
        break;
    case 'J':
        v->integer = (int64_t)bits64;
        break;
    case 'I':
        v->integer = (int32_t)bits32;
        break;
    case 'S':
        v->integer = (int16_t)get_be16(b.data);
        break;
    case 'C':
        v->integer = get_be16(b.data);
        break;
    case 'Z':
        v->integer = b.data[0] != 0;
        break;
    default:
        v->integer = (int8_t)b.data[0];
    }
    return RC_OK;
}

static enum rc read_typed(struct java *j, char type, const struct java_value **out,
                          struct err *err)
{
    struct java_value *v;

    if (type == 'L' || type == '[')
        return read_content(j, out, err);
    RETURN_IF_ERR(new_value(j,
                            type == 'Z'                  ? JAVA_BOOLEAN
                            : type == 'F' || type == 'D' ? JAVA_REAL
                                                         : JAVA_INTEGER,
                            &v, err));
    *out = v;
    return read_number(j, type, v, err);
}

/* From the first base class down; *count: how many. */
static enum rc chain_of(struct java *j, const struct java_class *c,
                        const struct java_class *chain[JAVA_DEPTH_MAX], size_t *count,
                        struct err *err)
{
    size_t n = 0;

    for (const struct java_class *at = c; at != NULL; at = at->super) {
        if (n == JAVA_DEPTH_MAX)
            return data_fault(j->r, j->r->pos, err, "a Java class with more than %u base classes",
                              JAVA_DEPTH_MAX);
        chain[n++] = at;
    }
    for (size_t i = 0; i < n / 2; i++) {
        const struct java_class *swapped = chain[i];

        chain[i] = chain[n - 1 - i];
        chain[n - 1 - i] = swapped;
    }
    *count = n;
    return RC_OK;
}

/* Whether its objects have a value for each of its fields, before anything that it writes by hand. */
static bool writes_fields(const struct java_class *c)
{
    return (c->flags & SC_SERIALIZABLE) != 0 && (c->flags & SC_EXTERNALIZABLE) == 0;
}

static enum rc read_part(struct java *j, const struct java_class *c, struct java_value *v,
                         struct err *err)
{
    if (c->flags & SC_EXTERNALIZABLE)
        return c->flags & SC_BLOCK_DATA
                   ? read_annotation(j, v, err)
                   : data_fault(j->r, j->r->pos, err,
                                "a Java object that only its own class can read");
    if (!writes_fields(c))
        return RC_OK;
    for (size_t i = 0; i < c->field_count; i++) {
        struct java_field *f = &v->fields[v->field_count];

        f->name = c->fields[i].name;
        RETURN_IF_ERR(read_typed(j, c->fields[i].type, &f->value, err));
        v->field_count++;
    }
    return c->flags & SC_WRITE_METHOD ? read_annotation(j, v, err) : RC_OK;
}

static enum rc read_object(struct java *j, const struct java_value **out, struct err *err)
{
    const struct java_class *class, *chain[JAVA_DEPTH_MAX];
    size_t chain_count, field_count = 0, at = j->r->pos;
    struct java_value *v;

    RETURN_IF_ERR(read_class(j, &class, err));
    if (class == NULL)
        return data_fault(j->r, at, err, "a Java object without a class");
    RETURN_IF_ERR(new_value(j, JAVA_OBJECT, &v, err));
    v->class_name = class->name;
    add_handle(j, (struct handle){.value = v});
    RETURN_IF_ERR(chain_of(j, class, chain, &chain_count, err));
    for (size_t i = 0; i < chain_count; i++)
        field_count += writes_fields(chain[i]) ? chain[i]->field_count : 0;
    if (field_count > reader_left(j->r)) /* each takes a byte at least */
        return data_fault(j->r, at, err, "a Java object of %zu fields, %zu bytes left",
                          field_count, reader_left(j->r));
    v->fields = ARENA_ARRAY(j->arena, field_count, struct java_field);
    *out = v;
    for (size_t i = 0; i < chain_count; i++)
        RETURN_IF_ERR(read_part(j, chain[i], v, err));
    return RC_OK;
}

static enum rc read_array(struct java *j, const struct java_value **out, struct err *err)
{
    const struct java_class *class;
    size_t at = j->r->pos, count;
    struct java_value *v;

    RETURN_IF_ERR(read_class(j, &class, err));
    if (class == NULL || class->name.len < 2 ||
        memchr("ZBCSIJFDL[", class->name.data[1], 10) == NULL)
        return data_fault(j->r, at, err, "a Java array of no type");
    RETURN_IF_ERR(new_value(j, JAVA_ARRAY, &v, err));
    v->class_name = class->name;
    add_handle(j, (struct handle){.value = v});
    RETURN_IF_ERR(data_count(j->r, 1, JAVA_VALUES_MAX, &count, "Java array", err));
    v->items = ARENA_ARRAY(j->arena, count, const struct java_value *);
    *out = v;
    for (size_t i = 0; i < count; i++) {
        RETURN_IF_ERR(read_typed(j, (char)class->name.data[1], &v->items[i], err));
        v->item_count++;
    }
    return RC_OK;
}

static enum rc read_string(struct java *j, bool is_long, const struct java_value **out,
                           struct err *err)
{
    size_t at = j->r->pos;
    struct java_value *v;
    struct bytes modified;
    uint64_t len;

    RETURN_IF_ERR(new_value(j, JAVA_STRING, &v, err));
    if (is_long) {
        RETURN_IF_ERR(reader_be64(j->r, &len, "Java string", err));
        if (len > reader_left(j->r))
            return data_fault(j->r, at, err, "a Java string longer than what is left");
        RETURN_IF_ERR(reader_take(j->r, (size_t)len, &modified, "Java string", err));
        if (!data_text(modified, j->arena, &v->text))
            return data_fault(j->r, at, err, "Java string: malformed modified UTF-8");
    } else {
        RETURN_IF_ERR(data_utf(j->r, j->arena, &v->text, "Java string", err));
    }
    add_handle(j, (struct handle){.value = v});
    *out = v;
    return RC_OK;
}

static enum rc read_block(struct java *j, bool is_long, const struct java_value **out,
                          struct err *err)
{
    struct java_value *v;
    uint32_t len;
    uint8_t short_len;

    RETURN_IF_ERR(new_value(j, JAVA_BLOCK, &v, err));
    if (is_long) {
        RETURN_IF_ERR(reader_be32(j->r, &len, "Java block", err));
    } else {
        RETURN_IF_ERR(reader_u8(j->r, &short_len, "Java block", err));
        len = short_len;
    }
    *out = v;
    return reader_take(j->r, len, &v->text, "Java block", err);
}

/* An enum's constant, a class or its description as a value. */
static enum rc read_of_class(struct java *j, uint8_t tag, const struct java_value **out,
                             struct err *err)
{
    const struct java_value *name;
    const struct java_class *class;
    size_t at = j->r->pos;
    struct java_value *v;

    if (tag == TC_CLASSDESC || tag == TC_PROXYCLASSDESC)
        j->r->pos--;
    RETURN_IF_ERR(read_class(j, &class, err));
    RETURN_IF_ERR(new_value(j,
                            tag == TC_ENUM    ? JAVA_ENUM
                            : tag == TC_CLASS ? JAVA_CLASS
                                              : JAVA_CLASS_DESC,
                            &v, err));
    if (class == NULL)
        return data_fault(j->r, at, err, "a Java value without its class");
    v->class_name = class->name;
    *out = v;
    if (tag == TC_ENUM || tag == TC_CLASS)
        add_handle(j, (struct handle){.value = v});
    if (tag != TC_ENUM)
        return RC_OK;
    RETURN_IF_ERR(read_content(j, &name, err));
    if (name->kind != JAVA_STRING)
        return data_fault(j->r, at, err, "a Java enum without its constant");
    v->text = name->text;
    return RC_OK;
}

static enum rc read_tagged(struct java *j, uint8_t tag, const struct java_value **out,
                           struct err *err)
{
    const struct handle *h;
    struct java_value *v;

    switch (tag) {
    case TC_NULL:
        RETURN_IF_ERR(new_value(j, JAVA_NULL, &v, err));
        *out = v;
        return RC_OK;
    case TC_REFERENCE:
        RETURN_IF_ERR(read_reference(j, &h, err));
        if (h->value != NULL) {
            *out = h->value;
            return RC_OK;
        }
        RETURN_IF_ERR(new_value(j, JAVA_CLASS_DESC, &v, err));
        v->class_name = h->class->name;
        *out = v;
        return RC_OK;
    case TC_STRING:
    case TC_LONGSTRING:
        return read_string(j, tag == TC_LONGSTRING, out, err);
    case TC_BLOCKDATA:
    case TC_BLOCKDATALONG:
        return read_block(j, tag == TC_BLOCKDATALONG, out, err);
    case TC_ENUM:
    case TC_CLASS:
    case TC_CLASSDESC:
    case TC_PROXYCLASSDESC:
        return read_of_class(j, tag, out, err);
    case TC_ARRAY:
        return read_array(j, out, err);
    case TC_OBJECT:
        return read_object(j, out, err);
    default:
        return data_fault(j->r, j->r->pos - 1, err, "Java tag 0x%02x", tag);
    }
}

static enum rc read_content(struct java *j, const struct java_value **out, struct err *err)
{
    uint8_t tag;
    enum rc rc;

    RETURN_IF_ERR(reader_u8(j->r, &tag, "Java tag", err));
    if (++j->depth > JAVA_DEPTH_MAX)
        return data_fault(j->r, j->r->pos - 1, err, "Java objects nested deeper than %u",
                          JAVA_DEPTH_MAX);
    rc = read_tagged(j, tag, out, err);
    j->depth--;
    return rc;
}

enum rc java_stream_read(struct reader *r, struct arena *arena, const struct java_value **out,
                         struct err *err)
{
    struct java j = {.r = r, .arena = arena};
    size_t at = r->pos;
    uint32_t header;
    enum rc rc;

    GOTO_IF_ERR(reader_be32(r, &header, "Java stream header", err));
    if (header != 0xACED0005u)
        rc = data_fault(r, at, err, "no Java serialization stream: 0x%08x", header);
    else
        rc = read_content(&j, out, err);
out:
    mem_free(j.handles);
    return rc;
}

const struct java_value *java_field(const struct java_value *v, const char *name)
{
    for (size_t i = 0; v->kind == JAVA_OBJECT && i < v->field_count; i++)
        if (bytes_eq(v->fields[i].name, bytes_of_str(name)))
            return v->fields[i].value;
    return NULL;
}
