/* type.c - see type.h */
#include "job/type.h"

struct type type_of(enum type_kind kind)
{
    struct type t = {.kind = kind, .nullable = true};

    switch (kind) {
    case TYPE_DECIMAL:
        t.precision = 10;
        break;
    case TYPE_CHAR:
    case TYPE_BINARY:
        t.length = 1;
        break;
    case TYPE_VARCHAR:
    case TYPE_VARBINARY:
        t.length = TYPE_LENGTH_MAX;
        break;
    case TYPE_TIMESTAMP:
    case TYPE_TIMESTAMP_LTZ:
        t.precision = 6;
        break;
    default:
        break;
    }
    return t;
}

bool type_eq(struct type a, struct type b, bool with_nullable)
{
    if (a.kind != b.kind || (with_nullable && a.nullable != b.nullable))
        return false;
    switch (a.kind) {
    case TYPE_DECIMAL:
        return a.precision == b.precision && a.scale == b.scale;
    case TYPE_CHAR:
    case TYPE_VARCHAR:
    case TYPE_BINARY:
    case TYPE_VARBINARY:
        return a.length == b.length;
    case TYPE_TIME:
    case TYPE_TIMESTAMP:
    case TYPE_TIMESTAMP_LTZ:
        return a.precision == b.precision;
    default:
        return true;
    }
}

static const char *const names[] = {
    [TYPE_NULL] = "NULL",
    [TYPE_BOOLEAN] = "BOOLEAN",
    [TYPE_TINYINT] = "TINYINT",
    [TYPE_SMALLINT] = "SMALLINT",
    [TYPE_INT] = "INT",
    [TYPE_BIGINT] = "BIGINT",
    [TYPE_FLOAT] = "FLOAT",
    [TYPE_DOUBLE] = "DOUBLE",
    [TYPE_DECIMAL] = "DECIMAL",
    [TYPE_CHAR] = "CHAR",
    [TYPE_VARCHAR] = "VARCHAR",
    [TYPE_BINARY] = "BINARY",
    [TYPE_VARBINARY] = "VARBINARY",
    [TYPE_DATE] = "DATE",
    [TYPE_TIME] = "TIME",
    [TYPE_TIMESTAMP] = "TIMESTAMP",
    [TYPE_TIMESTAMP_LTZ] = "TIMESTAMP_LTZ",
    [TYPE_INTERVAL_DAY] = "INTERVAL DAY TO SECOND(3)",
    [TYPE_INTERVAL_YEAR] = "INTERVAL YEAR TO MONTH",
};

void type_print(struct type t, bool with_nullable, struct buf *out)
{
    switch (t.kind) {
    case TYPE_DECIMAL:
        buf_printf(out, "DECIMAL(%u, %u)", t.precision, t.scale);
        break;
    case TYPE_VARCHAR:
    case TYPE_VARBINARY:
        if (t.length == TYPE_LENGTH_MAX) {
            buf_append_str(out, t.kind == TYPE_VARCHAR ? "STRING" : "BYTES");
            break;
        } /* fall through */
    case TYPE_CHAR:
    case TYPE_BINARY:
        buf_printf(out, "%s(%d)", names[t.kind], t.length);
        break;
    case TYPE_TIME:
    case TYPE_TIMESTAMP:
    case TYPE_TIMESTAMP_LTZ:
        buf_printf(out, "%s(%u)", names[t.kind], t.precision);
        break;
    default:
        buf_append_str(out, names[t.kind]);
        break;
    }
    if (with_nullable && !t.nullable)
        buf_append_str(out, " NOT NULL");
}

/* Reads "(10, 2)" at `s`: up to two numbers below 2^31; how many. */
static int read_numbers(const char *s, uint32_t n[2])
{
    int count = 0;

    for (s += *s == '('; *s >= '0' && *s <= '9' && count < 2; s += strspn(s, ", ")) {
        uint64_t v = 0;

        for (; *s >= '0' && *s <= '9' && v <= TYPE_LENGTH_MAX; s++)
            v = 10 * v + (uint64_t)(*s - '0');
        n[count++] = v > TYPE_LENGTH_MAX ? TYPE_LENGTH_MAX : (uint32_t)v;
    }
    return count;
}

static bool numbers_fit(const struct type *t, const uint32_t n[2])
{
    switch (t->kind) {
    case TYPE_DECIMAL:
        return n[0] >= 1 && n[0] <= 38 && n[1] <= n[0];
    case TYPE_TIME:
    case TYPE_TIMESTAMP:
    case TYPE_TIMESTAMP_LTZ:
        return n[0] <= 9;
    default:
        return !type_is_varlen(t->kind) || n[0] >= 1;
    }
}

/* Whatever of the text is not understood is seen by printing the type again. */
bool type_parse(const char *text, struct type *out)
{
    size_t word = strcspn(text, "(");
    uint32_t n[2] = {0};
    struct buf again = {0};
    bool found = false;

    if (strcmp(text, "STRING") == 0 || strcmp(text, "BYTES") == 0) {
        *out = type_of(text[0] == 'S' ? TYPE_VARCHAR : TYPE_VARBINARY);
        return true;
    }
    for (size_t k = TYPE_BOOLEAN; k < ARRAY_LEN(names) && !found; k++) {
        found = strcmp(names[k], text) == 0 ||
                (strlen(names[k]) == word && strncmp(names[k], text, word) == 0);
        *out = type_of((enum type_kind)k);
    }
    if (!found)
        return false;
    if (out->kind < TYPE_INTERVAL_DAY && read_numbers(text + word, n) > 0) {
        if (!numbers_fit(out, n))
            return false;
        out->precision = type_is_varlen(out->kind) ? 0 : (uint8_t)n[0];
        out->scale = (uint8_t)n[1];
        out->length = type_is_varlen(out->kind) ? (int32_t)n[0] : 0;
    }
    type_print(*out, false, &again);
    found = strcmp(buf_cstr(&again), text) == 0;
    buf_release(&again);
    return found;
}

/* The text moves into the arena. */
static const char *to_arena(struct arena *a, struct buf *b)
{
    const char *s = arena_strndup(a, (const char *)b->data, b->len);

    buf_release(b);
    return s;
}

const char *type_str(struct arena *a, struct type t, bool with_nullable)
{
    struct buf b = {0};

    type_print(t, with_nullable, &b);
    return to_arena(a, &b);
}

const char *schema_str(struct arena *a, const struct schema *s)
{
    struct buf b = {0};

    buf_append_str(&b, "ROW<");
    for (uint32_t i = 0; i < s->field_count; i++) {
        buf_append_str(&b, i == 0 ? "`" : ", `");
        for (const char *c = s->fields[i].name; *c != '\0'; c++) {
            if (*c == '`')
                buf_append_u8(&b, '`');
            buf_append_u8(&b, (uint8_t)*c);
        }
        buf_append_str(&b, "` ");
        type_print(s->fields[i].type, true, &b);
    }
    buf_append_str(&b, ">");
    return to_arena(a, &b);
}

struct schema *schema_copy(struct arena *a, const struct schema *s)
{
    struct schema *c = ARENA_NEW(a, struct schema);

    c->field_count = s->field_count;
    c->rowtime = s->rowtime;
    c->fields = ARENA_ARRAY(a, s->field_count, struct schema_field);
    for (uint32_t i = 0; i < s->field_count; i++) {
        c->fields[i].name = arena_strdup(a, s->fields[i].name);
        c->fields[i].type = s->fields[i].type;
    }
    return c;
}

int32_t schema_find(const struct schema *s, const char *name)
{
    for (uint32_t i = 0; i < s->field_count; i++) {
        if (strcmp(s->fields[i].name, name) == 0)
            return (int32_t)i;
    }
    return -1;
}

int64_t timestamp_units_per_ms(uint8_t precision)
{
    return precision <= 3 ? 1 : precision <= 6 ? 1000 : 1000000;
}
