/* flink_convert.c - see flink_convert.h: what a mapping comes to. flink_convert_entry.c does it. */
#include "checkpoint/flink/flink_convert_priv.h"

#include "base/nearest.h"
#include "checkpoint/flink/flink_fit.h"
#include "checkpoint/flink/flink_sql_type.h"
#include "checkpoint/flink/flink_totals.h"
#include "checkpoint/state_types.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define FAULT_MAX 1024

struct making {
    const struct convert_request *r;
    struct arena *arena;
    struct buf *faults;
    bool totals; /* the value is a row of totals */
    const struct flink_serializer *roots[FLINK_ROOT_COUNT];
    /* of the shape under way */
    const char *what; /* "key", "map key", "value" */
    const struct mapped_columns *mapped;
    struct type_column *wanted;
    size_t wanted_count;
    bool *used, *told; /* by mapped column: it goes somewhere; what is wrong with it was said */
};

static void fault(struct making *m, const struct yaml_node *at, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
static void fault(struct making *m, const struct yaml_node *at, const char *fmt, ...)
{
    char text[FAULT_MAX];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    buf_printf(m->faults, "\n  %s:%u:%u: %s", m->r->file, at->line, at->column, text);
}

/* ---- columns of totals ----------------------------------------------------------------------- */

static bool ends_in(const char *name, const char *end, size_t *len)
{
    size_t n = strlen(end);

    *len = strlen(name);
    if (*len <= n || strcmp(name + *len - n, end) != 0)
        return false;
    *len -= n;
    return true;
}

/* How a column of totals may be called for short: "SUM(d)", scale 2 and PART_LOW of
 * "SUM(d)$DECIMAL(10, 2)$low"; "MIN(t)", TIMESTAMP(3) and PART_UNITS of "MIN(t)$TIMESTAMP(3)".
 * PART_COUNTED: of a count. false: it has no other name. */
struct call {
    const char *name;
    enum column_part part;
    struct cast_type type; /* of its value; PART_WHOLE: as the column's */
};

static bool call_of(const char *column, struct arena *arena, struct call *out)
{
    static const struct {
        const char *end;
        enum column_part part;
    } ends[] = {{"$low", PART_LOW}, {"$high", PART_HIGH}, {"$count", PART_COUNTED}, {"$sum", PART_WHOLE}};
    const char *unit = NULL, *text = column;
    size_t len = 0, i = 0;

    while (i < ARRAY_LEN(ends) && !ends_in(column, ends[i].end, &len))
        i++;
    if (i < ARRAY_LEN(ends))
        text = arena_strndup(arena, column, len);
    for (const char *next = strstr(text, ")$"); next != NULL; next = strstr(next + 1, ")$"))
        unit = next;
    *out = (struct call){text, i < ARRAY_LEN(ends) ? ends[i].part : PART_UNITS, {.scale = 0}};
    if (unit != NULL && cast_type_parse(unit + 2, &out->type))
        out->name = arena_strndup(arena, text, (size_t)(unit + 1 - text));
    else if (i == ARRAY_LEN(ends))
        return false;
    if (out->part == PART_LOW || out->part == PART_HIGH)
        out->type = (struct cast_type){
            .word = CAST_WIDE, .scale = out->type.scale, .nullable = true, .text = "total"};
    return true;
}

static bool begins_with(const char *name, const char *start)
{
    return strncmp(name, start, strlen(start)) == 0;
}

/* Totals but the least, greatest, first and last have no null (accumulator.h). */
static bool may_be_null(const struct making *m, const char *column)
{
    return !m->totals || begins_with(column, "MIN(") || begins_with(column, "MAX(") ||
           begins_with(column, "FIRST_VALUE(") || begins_with(column, "LAST_VALUE(");
}

/* Whether the count behind a total needs to be right: an average divides by it, and rows that are taken
 * back are taken off it. */
static bool count_is_asked(const struct type_column *columns, size_t count, const char *call)
{
    return begins_with(call, "AVG(") || type_column_find(columns, count, "$rows") != NULL;
}

/* ---- columns --------------------------------------------------------------------------------- */

static const struct mapped_column *find_mapped(struct making *m, const char *name)
{
    for (size_t i = 0; i < m->mapped->count; i++)
        if (strcmp(m->mapped->columns[i].name, name) == 0) {
            m->used[i] = true;
            return &m->mapped->columns[i];
        }
    return NULL;
}

/* Which of the mapping's columns one of the job's comes from, and how; NULL: none. */
static const struct mapped_column *source_of(struct making *m, const char *name,
                                             struct convert_column *out)
{
    const struct mapped_column *c = find_mapped(m, name);
    struct call call;

    out->part = PART_WHOLE;
    if (c != NULL || !m->totals || !call_of(name, m->arena, &call) ||
        (call.part == PART_COUNTED && count_is_asked(m->wanted, m->wanted_count, call.name)))
        return c;
    c = find_mapped(m, call.name);
    if (c == NULL || call.part == PART_WHOLE)
        return c;
    out->part = call.part;
    if (call.part != PART_COUNTED)
        out->type = call.type;
    return c;
}

/* Columns of one call have one source: what is wrong with it is said once. */
static bool told(struct making *m, const struct mapped_column *c)
{
    bool *flag = &m->told[c - m->mapped->columns];
    bool before = *flag;

    *flag = true;
    return before;
}

/* A number that was written down for a FLOAT or DOUBLE is the nearest one of these, as in SQL. */
static void make_real(struct flink_value *v, const struct cast_type *t)
{
    bool single = t->word == CAST_FLOAT;
    double real;

    if ((!single && t->word != CAST_DOUBLE) ||
        (v->kind != FLINK_VALUE_INTEGER && v->kind != FLINK_VALUE_NUMBER))
        return;
    real = v->kind == FLINK_VALUE_INTEGER ? (double)v->integer
           : single                       ? (double)strtof((const char *)v->text.data, NULL)
                                          : strtod((const char *)v->text.data, NULL);
    if (single)
        real = (double)(float)real;
    if (isfinite(real))
        *v = (struct flink_value){.kind = FLINK_VALUE_REAL, .single = single, .real = real};
}

/* Once it is known where null is no total. What is counted is whether there is a literal. */
static void check_literal(struct making *m, const struct mapped_column *c,
                          struct convert_column *column)
{
    const char *space = column->name[0] == '\0' ? "" : " ";
    struct cast_value value;
    struct err err = {0};

    if (column->source.root != FLINK_ROOT_LITERAL || column->part == PART_COUNTED)
        return;
    make_real(&column->source.literal, &column->type);
    if (flink_cast(&column->source.literal, &column->type, &value, &err) != RC_OK && !told(m, c))
        fault(m, c->source, "%s%s%s: %s%s", m->what, space, column->name, err.msg,
              c->source->quoted && flink_path_begins(c->source->text)
                  ? " (in quotes it is a text, no path)"
                  : "");
}

static const char *in_words(struct making *m, const struct flink_serializer *s)
{
    struct buf text = {0};
    const char *out;

    flink_serializer_print(s, &text);
    out = arena_strdup(m->arena, buf_cstr(&text));
    buf_release(&text);
    return out;
}

/* The source, of a literal to be checked yet; NULL: it is none, which was said. */
static const struct mapped_column *plan_column(struct making *m, const struct type_column *wanted,
                                               struct convert_column *out)
{
    const char *space = wanted->name[0] == '\0' ? "" : " ";
    const struct mapped_column *c;
    struct buf why = {0};

    *out = (struct convert_column){.name = wanted->name};
    if (!cast_type_parse(wanted->type, &out->type)) {
        fault(m, m->mapped->at, "%s%s%s: nothing is converted into a %s", m->what, space,
              wanted->name, wanted->type);
        return NULL;
    }
    out->type.nullable = out->type.nullable && may_be_null(m, wanted->name);
    c = source_of(m, wanted->name, out);
    if (c == NULL) {
        fault(m, m->mapped->at, "%s%s%s, a %s, comes from nowhere", m->what, space, wanted->name,
              wanted->type);
        return NULL;
    }
    if (!flink_path_find(c->source, m->roots, m->arena, &out->source, &why)) {
        if (!told(m, c))
            fault(m, c->source, "%s%s%s: %s", m->what, space, wanted->name, buf_cstr(&why));
        c = NULL;
    } else if (out->source.root != FLINK_ROOT_LITERAL) {
        out->wrote = in_words(m, out->source.leaf);
        if (out->part != PART_COUNTED && !flink_cast_fits(out->source.leaf, &out->type) && !told(m, c))
            fault(m, c->source, "%s%s%s: no %s is made of what %s wrote", m->what, space,
                  wanted->name, out->type.text, out->wrote);
    }
    buf_release(&why);
    return c;
}

/* A total that is null says so by its count. */
static void join_counts(struct making *m, struct convert_shape *s)
{
    for (size_t i = 0; m->totals && i < s->count; i++) {
        struct convert_column *c = &s->columns[i];
        struct call call, other;

        if (!call_of(c->name, m->arena, &call) || call.part == PART_COUNTED)
            continue;
        c->zero_for_null = call.part == PART_HIGH; /* unless there is a count, the first half is null */
        for (size_t k = 0; k < s->count; k++)
            if (call_of(s->columns[k].name, m->arena, &other) && other.part == PART_COUNTED &&
                strcmp(call.name, other.name) == 0) {
                c->zero_for_null = c->type.nullable = true;
                c->count = s->columns[k].part == PART_COUNTED ? NULL : &s->columns[k];
            }
    }
}

static void check_used(struct making *m)
{
    const char **names = ARENA_ARRAY(m->arena, m->wanted_count + 1, const char *), *near;
    struct buf all = {0};

    for (size_t i = 0; i < m->wanted_count; i++) {
        names[i] = m->wanted[i].name;
        buf_printf(&all, "%s%s", i == 0 ? "" : ", ", names[i]);
    }
    for (size_t i = 0; i < m->mapped->count; i++) {
        const struct mapped_column *c = &m->mapped->columns[i];

        if (m->used[i] || told(m, c))
            continue;
        near = nearest_of(c->name, names, m->wanted_count);
        fault(m, c->at, "the %s of state \"%s\" of the job has no column \"%s\"%s%s%s; it has %s", m->what,
              m->r->wanted->name, c->name, near == NULL ? "" : " (did you mean ",
              near == NULL ? "" : near, near == NULL ? "" : "?)", buf_cstr(&all));
    }
    buf_release(&all);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* What was not said is as it is: fields of rows of the same types, one by one. */
static bool same_rows(struct making *m, const struct flink_serializer *wrote, const char *type)
{
    const struct flink_serializer *wanted = NULL;
    struct buf snapshot = {0};
    struct err err = {0};
    struct reader r;
    bool same = false;

    if (wrote != NULL && flink_put_sql_type(type, &snapshot, &err) == RC_OK) {
        reader_init(&r, arena_bytes_copy(m->arena, buf_bytes(&snapshot)), type);
        same = flink_serializer_read(&r, m->arena, &wanted, &err) == RC_OK &&
               flink_serializer_same(wrote, wanted);
    }
    buf_release(&snapshot);
    return same;
}

/* "key: {k: key.f0, ...}" as if it had been written. */
static const struct mapped_columns *as_it_is(struct making *m, enum flink_root root,
                                             const struct type_column *wanted, size_t count,
                                             bool is_row)
{
    static const char *const names[] = {"key", "map_key", "namespace", "value"};
    struct mapped_columns *out = ARENA_NEW(m->arena, struct mapped_columns);
    struct mapped_column *columns = ARENA_ARRAY(m->arena, count + 1, struct mapped_column);
    struct yaml_node *nodes = ARENA_ARRAY(m->arena, count + 1, struct yaml_node);

    for (size_t i = 0; i < count; i++) {
        nodes[i] = *m->r->mapped->at;
        nodes[i].quoted = false;
        nodes[i].text =
            is_row ? arena_printf(m->arena, "%s.f%zu", names[root], i) : names[root];
        columns[i] = (struct mapped_column){wanted[i].name, m->r->mapped->at, &nodes[i]};
    }
    *out = (struct mapped_columns){m->r->mapped->at, count, columns};
    return out;
}

static void plan_shape(struct making *m, const char *what, enum flink_root root, const char *type,
                       const struct mapped_columns *mapped, struct convert_shape *out)
{
    const struct mapped_column **sources;
    enum field_kind *kinds;

    m->what = what;
    m->wanted_count = strcmp(type, "ROW<>") == 0 ? 0 : type_columns(type, m->arena, &m->wanted);
    out->is_row = begins_with(type, "ROW<");
    if (mapped->at == NULL && same_rows(m, m->roots[root], type))
        mapped = as_it_is(m, root, m->wanted, m->wanted_count, out->is_row);
    if (mapped->at == NULL) {
        fault(m, m->r->mapped->at, "state \"%s\": the mapping says nothing of its %s, a %s",
              m->r->mapped->to, what, type);
        return;
    }
    m->mapped = mapped;
    m->used = ARENA_ARRAY(m->arena, mapped->count + 1, bool);
    m->told = ARENA_ARRAY(m->arena, mapped->count + 1, bool);
    out->count = m->wanted_count;
    out->columns = ARENA_ARRAY(m->arena, out->count + 1, struct convert_column);
    sources = ARENA_ARRAY(m->arena, out->count + 1, const struct mapped_column *);
    kinds = ARENA_ARRAY(m->arena, out->count + 1, enum field_kind);
    for (size_t i = 0; i < out->count; i++) {
        sources[i] = plan_column(m, &m->wanted[i], &out->columns[i]);
        kinds[i] = out->columns[i].part == PART_WHOLE ? cast_type_field(&out->columns[i].type)
                                                      : FIELD_I64;
        if (m->totals && kinds[i] < FIELD_I64) /* totals have all of the slot (accumulator.h) */
            kinds[i] = FIELD_I64;
    }
    join_counts(m, out);
    for (size_t i = 0; i < out->count; i++)
        if (sources[i] != NULL)
            check_literal(m, sources[i], &out->columns[i]);
    check_used(m);
    row_layout_init(&out->layout, kinds, (uint32_t)out->count);
}

/* ---- a state --------------------------------------------------------------------------------- */

static void check_kind(struct making *m)
{
    const struct flink_state *s = m->r->state;
    const struct yaml_node *at = m->r->mapped->at;
    bool map = m->r->wanted->kind == STATE_MAP;
    bool keyed = s->kind == FLINK_STATE_KEYED || s->kind == FLINK_STATE_KEYED_V2;
    bool single = s->type == FLINK_TYPE_VALUE || s->type == FLINK_TYPE_REDUCING ||
                  s->type == FLINK_TYPE_AGGREGATING;

    if (!keyed || m->r->wanted->kind == STATE_LIST || m->r->wanted->kind == STATE_TIMER ||
        (map ? s->type != FLINK_TYPE_MAP || s->user_key == NULL : !single))
        fault(m, at, "Flink's %s state \"%s\" is no %s of the job", flink_state_word(s),
              m->r->mapped->from, state_kind_words(m->r->wanted->kind));
}

static void check_namespace(struct making *m)
{
    const struct flink_serializer *wrote = m->r->state->namespace;
    const char *wanted = m->r->wanted->namespace_type;
    enum flink_coding coding =
        wrote == NULL ? FLINK_VOID_NAMESPACE : flink_serializer_bare(wrote)->coding;
    bool none = coding == FLINK_VOID_NAMESPACE || coding == FLINK_GLOBAL_WINDOW;

    if (strcmp(wanted, "VOID") == 0 ? none : strcmp(wanted, "BIGINT") == 0 &&
                                               (coding == FLINK_LONG || coding == FLINK_TIME_WINDOW))
        return;
    fault(m, m->r->mapped->at, "state \"%s\" of the job has %s, what Flink wrote has %s", m->r->wanted->name,
          strcmp(wanted, "VOID") == 0 ? "no windows" : "windows",
          none ? "none" : coding == FLINK_TIME_WINDOW || coding == FLINK_LONG ? "some" : "others");
}

static const struct flink_serializer *check_ttl(struct making *m, const struct flink_serializer *value)
{
    bool expires = value != NULL && flink_serializer_bare(value)->coding == FLINK_TTL;

    if (expires != (m->r->wanted->ttl_ms > 0))
        fault(m, m->r->mapped->at,
              "time-to-live: Flink wrote \"%s\" with%s, the job has \"%s\" with%s one "
              "(table.exec.state.ttl)",
              m->r->mapped->from, expires ? " one" : "out", m->r->wanted->name,
              m->r->wanted->ttl_ms > 0 ? "" : "out");
    return expires ? flink_serializer_bare(value)->children[1] : value;
}

const struct flink_convert *flink_convert_make(const struct convert_request *r, struct arena *arena,
                                               struct buf *faults)
{
    struct making m = {.r = r, .arena = arena, .faults = faults};
    struct flink_convert *c = ARENA_NEW(arena, struct flink_convert);
    bool map = r->wanted->kind == STATE_MAP;
    size_t before = faults->len;

    c->wanted = r->wanted;
    c->key_group_count = r->key_group_count;
    check_kind(&m);
    check_namespace(&m);
    m.roots[FLINK_ROOT_VALUE] = check_ttl(&m, map ? r->state->user_value : r->state->value);
    m.roots[FLINK_ROOT_KEY] = r->key;
    m.roots[FLINK_ROOT_NAMESPACE] = r->state->namespace;
    m.roots[FLINK_ROOT_MAP_KEY] = map ? r->state->user_key : NULL;
    if (faults->len > before)
        return NULL;
    plan_shape(&m, "key", FLINK_ROOT_KEY, r->wanted->key_type, &r->mapped->key, &c->key);
    if (map)
        plan_shape(&m, "map key", FLINK_ROOT_MAP_KEY, r->wanted->user_key_type, &r->mapped->map_key,
                   &c->map_key);
    m.totals = flink_totals_are(r->wanted);
    plan_shape(&m, "value", FLINK_ROOT_VALUE, r->wanted->value_type, &r->mapped->value, &c->value);
    return faults->len > before ? NULL : c;
}

static size_t rows_of(const struct convert_ask *asks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(asks[i].name, "COUNT(*)") == 0)
            return i + 1;
    return 0;
}

size_t flink_convert_asks(const struct state_desc *wanted, const char *type, bool value,
                          struct arena *arena, const struct convert_ask **out)
{
    struct type_column *columns = NULL;
    size_t count = strcmp(type, "ROW<>") == 0 ? 0 : type_columns(type, arena, &columns), n = 0;
    struct convert_ask *asks = ARENA_ARRAY(arena, count + 1, struct convert_ask);

    for (size_t i = 0; i < count; i++) {
        struct convert_ask *a = &asks[n];
        struct call call = {.part = PART_WHOLE, .name = columns[i].name};
        bool short_name = value && flink_totals_are(wanted) && call_of(columns[i].name, arena, &call);

        if (call.part == PART_HIGH || (call.part == PART_COUNTED && !count_is_asked(columns, count, call.name)))
            continue;
        *a = (struct convert_ask){.name = call.part == PART_COUNTED ? columns[i].name : call.name};
        if (short_name && (call.part == PART_LOW || call.part == PART_UNITS))
            a->type = call.type;
        else if (!cast_type_parse(columns[i].type, &a->type))
            a->type = (struct cast_type){.word = CAST_BIGINT, .text = columns[i].type};
        a->same_as = value && strcmp(a->name, "$rows") == 0 ? rows_of(asks, n) : 0;
        n++;
    }
    *out = asks;
    return n;
}

static const char *column_line(const struct convert_column *c, const char *what, struct arena *arena)
{
    struct buf out = {0};
    const char *line;

    buf_printf(&out, "%s%s%s %s: ", what, c->name[0] == '\0' ? "" : " ", c->name,
               c->part == PART_WHOLE ? c->type.text : "BIGINT");
    if (c->part == PART_COUNTED)
        buf_printf(&out, "1, 0 where %s is null", c->source.text);
    else
        buf_append_str(&out, c->source.text);
    if (c->wrote != NULL)
        buf_printf(&out, ", %s", c->wrote);
    line = arena_strdup(arena, buf_cstr(&out));
    buf_release(&out);
    return line;
}

size_t flink_convert_columns(const struct flink_convert *c)
{
    return c->key.count + c->map_key.count + c->value.count;
}

const char *flink_convert_column(const struct flink_convert *c, size_t i, struct arena *arena)
{
    if (i < c->key.count)
        return column_line(&c->key.columns[i], "key", arena);
    i -= c->key.count;
    if (i < c->map_key.count)
        return column_line(&c->map_key.columns[i], "map key", arena);
    return column_line(&c->value.columns[i - c->map_key.count], "value", arena);
}
