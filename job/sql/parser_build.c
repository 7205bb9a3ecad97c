/* parser_build.c - builders of statements, tables, types and queries; called by grammar.y. */
#include "job/sql/grammar.h"
#include "job/sql/parser_priv.h"

#include <stdlib.h>
#include <strings.h>

const char *parse_text(struct sql_parse *p, const struct sql_token *t)
{
    (void)p;
    return t->text;
}

struct sql_list *parse_list(struct sql_parse *p, struct sql_list *list, const void *item)
{
    if (list == NULL)
        list = ARENA_NEW(p->arena, struct sql_list);
    if (list->count == list->cap) {
        void **more = ARENA_ARRAY(p->arena, list->cap == 0 ? 4 : 2 * (size_t)list->cap, void *);

        if (list->count > 0)
            memcpy(more, list->items, list->count * sizeof *more);
        list->items = more;
        list->cap = list->cap == 0 ? 4 : 2 * list->cap;
    }
    list->items[list->count++] = (void *)(uintptr_t)item;
    return list;
}

struct sql_list *parse_list_if(struct sql_parse *p, struct sql_list *list, const void *item)
{
    return item == NULL ? list : parse_list(p, list, item);
}

static uint32_t list_count(const struct sql_list *list)
{
    return list == NULL ? 0 : list->count;
}

/* The items copied by value into an array. */
static void *flatten(struct sql_parse *p, const struct sql_list *list, size_t item_size)
{
    char *out = arena_calloc(p->arena, list_count(list), item_size);

    for (uint32_t i = 0; i < list_count(list); i++)
        memcpy(out + i * item_size, list->items[i], item_size);
    return out;
}

static void *items_of(const struct sql_list *list)
{
    return list == NULL ? NULL : (void *)list->items;
}

/* ---- statements ------------------------------------------------------------------------------ */

struct ast_statement *parse_statement(struct sql_parse *p, enum ast_statement_kind kind,
                                      const struct sql_token *at)
{
    struct ast_statement *s = ARENA_NEW(p->arena, struct ast_statement);

    s->kind = kind;
    s->pos = at->pos;
    s->source = p->source;
    return s;
}

void parse_statement_text(struct sql_parse *p, struct ast_statement *s, uint32_t end)
{
    const char *start = p->source + s->pos.offset;
    size_t len = end - s->pos.offset;

    while (len > 0 && strchr(" \t\r\n", start[len - 1]) != NULL)
        len--;
    s->text = arena_strndup(p->arena, start, len);
}

void parse_statement_end(struct sql_parse *p, struct ast_statement *s,
                         const struct sql_token *semicolon)
{
    if (p->failed)
        return;
    parse_statement_text(p, s, semicolon->pos.offset);
    if (s->explained != NULL && s->explained->text == NULL)
        parse_statement_text(p, s->explained, semicolon->pos.offset);
    parse_list(p, p->statements, s);
}

struct ast_statement *parse_create_table(struct sql_parse *p, const struct sql_token *at,
                                         const struct table_parts *parts)
{
    struct ast_statement *s = parse_statement(p, STMT_CREATE_TABLE, at);
    struct ast_table *t = ARENA_NEW(p->arena, struct ast_table);
    const struct column_parts *c = parts->columns;

    s->table = t;
    s->name = t->name = parts->name->text;
    s->temporary = t->temporary = parts->temporary;
    s->if_not_exists = t->if_not_exists = parts->if_not_exists;
    t->comment = parts->comment;
    t->column_count = list_count(c->columns);
    t->columns = flatten(p, c->columns, sizeof *t->columns);
    if (c->watermark != NULL) {
        t->watermark_column = c->watermark_column.text;
        t->watermark_pos = c->watermark_column.pos;
        t->watermark = c->watermark;
    }
    t->primary_key_count = list_count(c->primary_key);
    t->primary_key = items_of(c->primary_key);
    t->partition_count = list_count(parts->partitioned);
    t->partitioned_by = items_of(parts->partitioned);
    t->option_count = list_count(parts->with);
    t->options = flatten(p, parts->with, sizeof *t->options);
    if (parts->like != NULL) {
        t->like = parts->like->name.text;
        t->like_pos = parts->like->name.pos;
        t->like_all = parts->like->all;
        memcpy(t->like_rules, parts->like->rules, sizeof t->like_rules);
    }
    return s;
}

struct ast_statement *parse_create_view(struct sql_parse *p, const struct sql_token *at,
                                        bool temporary, bool if_not_exists,
                                        const struct sql_token *name, struct sql_list *columns,
                                        const char *comment, struct ast_query *query)
{
    struct ast_statement *s = parse_statement(p, STMT_CREATE_VIEW, at);

    s->temporary = temporary;
    s->if_not_exists = if_not_exists;
    s->name = name->text;
    s->view_column_count = list_count(columns);
    s->view_columns = items_of(columns);
    s->comment = comment;
    s->query = query;
    return s;
}

struct ast_statement *parse_insert_statement(struct sql_parse *p, struct ast_insert *insert)
{
    struct sql_token at = {.pos = insert->pos};
    struct ast_statement *s = parse_statement(p, STMT_INSERT, &at);

    s->insert_count = 1;
    s->inserts = ARENA_ARRAY(p->arena, 1, struct ast_insert *);
    s->inserts[0] = insert;
    return s;
}

struct ast_statement *parse_select_statement(struct sql_parse *p, struct ast_query *query)
{
    struct sql_token at = {.pos = query->pos};
    struct ast_statement *s = parse_statement(p, STMT_SELECT, &at);

    s->query = query;
    return s;
}

struct ast_statement *parse_statement_set(struct sql_parse *p, const struct sql_token *at,
                                          struct sql_list *inserts)
{
    struct ast_statement *s = parse_statement(p, STMT_STATEMENT_SET, at);

    s->insert_count = list_count(inserts);
    s->inserts = items_of(inserts);
    return s;
}

/* ---- tables ---------------------------------------------------------------------------------- */

struct ast_option *parse_option(struct sql_parse *p, const struct sql_token *key,
                                const struct sql_token *value)
{
    struct ast_option *o = ARENA_NEW(p->arena, struct ast_option);

    *o = (struct ast_option){.pos = key->pos, .key = key->text, .value = value->text};
    return o;
}

struct sql_list *parse_hint(struct sql_parse *p, struct sql_list *before,
                            const struct sql_token *name, struct sql_list *options)
{
    bool ttl = strcasecmp(name->text, "STATE_TTL") == 0;

    if (!ttl && strcasecmp(name->text, "OPTIONS") != 0)
        parse_unsupported(p, name,
                          "a hint other than OPTIONS('key'='value') and STATE_TTL('table'='time')");
    else if (options == NULL)
        parse_fail(p, RC_INVALID, name->pos, "%s takes pairs: %s", ttl ? "STATE_TTL" : "OPTIONS",
                   ttl ? "STATE_TTL('table'='time')" : "OPTIONS('key'='value')");
    for (uint32_t i = 0; i < list_count(options); i++) {
        struct ast_option *o = (struct ast_option *)(uintptr_t)options->items[i];

        o->is_ttl = ttl;
        before = parse_list(p, before, o);
    }
    return before;
}

/* Of a hint behind the name of a table. */
static void set_table_hint(struct sql_parse *p, const struct sql_list *hint, uint32_t *count,
                           struct ast_option **options)
{
    *count = list_count(hint);
    *options = flatten(p, hint, sizeof **options);
    for (uint32_t i = 0; i < *count; i++)
        if ((*options)[i].is_ttl)
            parse_fail(p, RC_INVALID, (*options)[i].pos,
                       "STATE_TTL stands behind SELECT: it is for the aggregate of a query");
}

struct like_parts *parse_like(struct sql_parse *p, const struct sql_token *name)
{
    struct like_parts *l = ARENA_NEW(p->arena, struct like_parts);

    if (name != NULL)
        l->name = *name;
    return l;
}

void parse_like_rule(struct sql_parse *p, struct like_parts *like, enum ast_like_rule rule,
                     const struct sql_token *feature)
{
    static const char *const features[LIKE_FEATURES] = {"CONSTRAINTS", "GENERATED",  "METADATA",
                                                        "OPTIONS",     "PARTITIONS", "WATERMARKS"};
    for (int i = 0; i < LIKE_FEATURES; i++)
        if (strcasecmp(feature->text, features[i]) == 0) {
            like->rules[i] = rule;
            return;
        }
    parse_fail(p, RC_INVALID, feature->pos,
               "expected ALL, CONSTRAINTS, GENERATED, METADATA, OPTIONS, PARTITIONS or WATERMARKS, "
               "found '%s'",
               feature->text);
}

struct column_parts *parse_columns(struct sql_parse *p)
{
    return ARENA_NEW(p->arena, struct column_parts);
}

void parse_column_add(struct sql_parse *p, struct column_parts *columns, struct ast_column *column)
{
    columns->columns = parse_list(p, columns->columns, column);
}

void parse_table_part_add(struct sql_parse *p, struct column_parts *columns, struct table_part part)
{
    if (part.watermark != NULL) {
        if (columns->watermark != NULL)
            parse_fail(p, RC_INVALID, part.token.pos, "a table has at most one WATERMARK");
        columns->watermark = part.watermark;
        columns->watermark_column = part.token;
        return;
    }
    if (columns->primary_key != NULL)
        parse_fail(p, RC_INVALID, part.token.pos, "a table has at most one PRIMARY KEY");
    columns->primary_key = part.key;
}

struct ast_column *parse_column(struct sql_parse *p, enum ast_column_kind kind,
                                const struct sql_token *name, const char *comment)
{
    struct ast_column *c = ARENA_NEW(p->arena, struct ast_column);

    c->kind = kind;
    c->pos = name->pos;
    c->name = name->text;
    c->comment = comment;
    return c;
}

struct sql_token parse_table_name(struct sql_parse *p, const struct sql_token *catalog,
                                  const struct sql_token *database, const struct sql_token *name)
{
    if ((catalog != NULL && strcmp(catalog->text, "default_catalog") != 0) ||
        strcmp(database->text, "default_database") != 0)
        parse_unsupported(p, catalog != NULL ? catalog : database,
                          "catalogs and databases other than default_catalog.default_database");
    return *name;
}

/* ---- types ----------------------------------------------------------------------------------- */

static const struct type_name {
    const char *name;
    enum type_kind kind;
    int32_t least, most, otherwise; /* length or precision in parentheses; most 0: none allowed */
} type_names[] = {
    {"BIGINT", TYPE_BIGINT, 0, 0, 0},
    {"BINARY", TYPE_BINARY, 1, TYPE_LENGTH_MAX, 1},
    {"BOOLEAN", TYPE_BOOLEAN, 0, 0, 0},
    {"BYTES", TYPE_VARBINARY, 0, 0, TYPE_LENGTH_MAX},
    {"CHAR", TYPE_CHAR, 1, TYPE_LENGTH_MAX, 1},
    {"CHARACTER", TYPE_CHAR, 1, TYPE_LENGTH_MAX, 1},
    {"DEC", TYPE_DECIMAL, 1, 38, 10},
    {"DECIMAL", TYPE_DECIMAL, 1, 38, 10},
    {"DOUBLE", TYPE_DOUBLE, 0, 0, 0},
    {"FLOAT", TYPE_FLOAT, 0, 0, 0},
    {"INT", TYPE_INT, 0, 0, 0},
    {"INTEGER", TYPE_INT, 0, 0, 0},
    {"NUMERIC", TYPE_DECIMAL, 1, 38, 10},
    {"SMALLINT", TYPE_SMALLINT, 0, 0, 0},
    {"STRING", TYPE_VARCHAR, 0, 0, TYPE_LENGTH_MAX},
    {"TIMESTAMP_LTZ", TYPE_TIMESTAMP_LTZ, 0, 9, 6},
    {"TINYINT", TYPE_TINYINT, 0, 0, 0},
    {"VARBINARY", TYPE_VARBINARY, 1, TYPE_LENGTH_MAX, 1},
    {"VARCHAR", TYPE_VARCHAR, 1, TYPE_LENGTH_MAX, 1},
};
static const char *const other_types[] = {"ARRAY", "MAP",        "MULTISET", "ROW",
                                          "RAW",   "STRUCTURED", "VARIANT",  "SYMBOL"};

/* The number of an INTEGER token; past 2^31 - 1: -1, which no range takes. */
static int32_t number(const struct sql_token *t)
{
    unsigned long long n = t->len > 10 ? UINT64_MAX : strtoull(t->text, NULL, 10);

    return n > INT32_MAX ? -1 : (int32_t)n;
}

static struct type unknown_type(struct sql_parse *p, const struct sql_token *name)
{
    const char *candidates[ARRAY_LEN(type_names) + 3] = {"DATE", "TIME", "TIMESTAMP"};
    char hint[SQL_HINT_MAX];

    for (size_t i = 0; i < ARRAY_LEN(other_types); i++)
        if (strcasecmp(name->text, other_types[i]) == 0) {
            parse_fail(p, RC_UNSUPPORTED, name->pos, "not supported by varve: the type %s",
                       other_types[i]);
            return type_of(TYPE_INT);
        }
    for (size_t i = 0; i < ARRAY_LEN(type_names); i++)
        candidates[i + 3] = type_names[i].name;
    parse_fail(p, RC_INVALID, name->pos, "there is no type %s%s", name->text,
               sql_nearest_hint(hint, name->text, candidates, ARRAY_LEN(candidates)));
    return type_of(TYPE_INT);
}

/* DECIMAL(p, s), VARCHAR(n), TIMESTAMP_LTZ(p): the numbers in parentheses, checked. */
static void set_lengths(struct sql_parse *p, const struct type_name *known, struct type *type,
                        const struct sql_token *length, const struct sql_token *scale)
{
    int32_t n = length == NULL ? known->otherwise : number(length);

    if (length != NULL && known->most == 0)
        parse_fail(p, RC_INVALID, length->pos, "%s takes no length", known->name);
    else if (length != NULL && (n < known->least || n > known->most))
        parse_fail(p, RC_INVALID, length->pos, "%s(%s): the number must be between %d and %d",
                   known->name, length->text, known->least, known->most);
    if (scale != NULL && known->kind != TYPE_DECIMAL)
        parse_fail(p, RC_INVALID, scale->pos, "%s takes one number", known->name);
    else if (scale != NULL && (number(scale) < 0 || number(scale) > n))
        parse_fail(p, RC_INVALID, scale->pos,
                   "%s(%s, %s): the scale must be between 0 and the precision", known->name,
                   length->text, scale->text);
    if (p->failed)
        return;
    if (known->kind == TYPE_DECIMAL || known->kind == TYPE_TIMESTAMP_LTZ) {
        type->precision = (uint8_t)n;
        type->scale = scale == NULL ? 0 : (uint8_t)number(scale);
    } else if (n > 0) {
        type->length = n;
    }
}

struct type parse_type(struct sql_parse *p, const struct sql_token *name,
                       const struct sql_token *length, const struct sql_token *scale)
{
    for (size_t i = 0; i < ARRAY_LEN(type_names); i++)
        if (strcasecmp(name->text, type_names[i].name) == 0) {
            struct type type = type_of(type_names[i].kind);

            set_lengths(p, &type_names[i], &type, length, scale);
            return type;
        }
    return unknown_type(p, name);
}

struct type parse_type_double_precision(struct sql_parse *p, const struct sql_token *name)
{
    if (strcasecmp(name->text, "DOUBLE") != 0)
        parse_fail(p, RC_INVALID, name->pos, "only DOUBLE is followed by PRECISION, not %s",
                   name->text);
    return type_of(TYPE_DOUBLE);
}

struct type parse_type_time(struct sql_parse *p, enum type_kind kind, const struct sql_token *at,
                            struct sql_token precision)
{
    struct type type = type_of(kind);

    if (precision.kind == 0)
        return type;
    if (number(&precision) < 0 || number(&precision) > 9)
        parse_fail(p, RC_INVALID, precision.pos, "%s(%s): the precision must be between 0 and 9",
                   lexer_keyword_of(at->kind), precision.text);
    else
        type.precision = (uint8_t)number(&precision);
    return type;
}

/* ---- queries --------------------------------------------------------------------------------- */

struct ast_insert *parse_insert(struct sql_parse *p, const struct sql_token *at, bool overwrite,
                                const struct sql_token *table, struct sql_list *hint,
                                struct sql_list *columns, struct ast_query *query)
{
    struct ast_insert *i = ARENA_NEW(p->arena, struct ast_insert);

    i->pos = at->pos;
    i->overwrite = overwrite;
    i->table = table->text;
    i->table_pos = table->pos;
    set_table_hint(p, hint, &i->option_count, &i->options);
    i->column_count = list_count(columns);
    i->columns = items_of(columns);
    i->query = query;
    return i;
}

static void set_height(struct sql_parse *p, struct ast_query *q, uint32_t height)
{
    if (height > SQL_QUERY_HEIGHT_MAX)
        parse_fail(p, RC_LIMIT, q->pos, "queries are nested more than %d deep",
                   SQL_QUERY_HEIGHT_MAX);
    q->height = (uint16_t)height;
}

struct ast_query *parse_union(struct sql_parse *p, struct ast_query *left, struct ast_query *right)
{
    struct ast_query *last = left;
    uint32_t height = right->height > left->height ? right->height : left->height;

    while (last->union_all != NULL)
        last = last->union_all;
    last->union_all = right;
    set_height(p, left, height);
    return left;
}

struct ast_query *parse_values(struct sql_parse *p, const struct sql_token *at,
                               struct sql_list *rows)
{
    struct ast_query *q = ARENA_NEW(p->arena, struct ast_query);
    const struct sql_list *first = rows->items[0];

    q->pos = at->pos;
    q->values_rows = rows->count;
    q->values_columns = first->count;
    q->values = ARENA_ARRAY(p->arena, (size_t)rows->count * first->count, struct ast_expr *);
    for (uint32_t r = 0; r < rows->count; r++) {
        const struct sql_list *row = rows->items[r];

        if (row->count != first->count) {
            parse_fail(p, RC_INVALID, ((struct ast_expr *)row->items[0])->pos,
                       "row %u of VALUES has %u values, the first has %u", r + 1, row->count,
                       first->count);
            return q;
        }
        memcpy(&q->values[(size_t)r * first->count], row->items, first->count * sizeof *q->values);
    }
    set_height(p, q, 1);
    return q;
}

struct ast_query *parse_select(struct sql_parse *p, const struct select_parts *parts)
{
    struct ast_query *q = ARENA_NEW(p->arena, struct ast_query);
    const struct ast_from *from = parts->from;

    q->pos = parts->at->pos;
    q->option_count = list_count(parts->hint);
    q->options = flatten(p, parts->hint, sizeof *q->options);
    q->distinct = parts->distinct;
    q->item_count = list_count(parts->items);
    q->items = flatten(p, parts->items, sizeof *q->items);
    q->from = parts->from;
    q->where = parts->where;
    q->has_group_by = parts->group->given;
    q->group_count = list_count(parts->group->exprs);
    q->group_by = items_of(parts->group->exprs);
    q->having = parts->having;
    set_height(p, q, 1u + (from != NULL && from->query != NULL ? from->query->height : 0u));
    return q;
}

struct ast_select_item *parse_item(struct sql_parse *p, struct ast_expr *expr,
                                   const struct sql_token *alias)
{
    struct ast_select_item *i = ARENA_NEW(p->arena, struct ast_select_item);

    i->expr = expr;
    i->alias = alias == NULL ? NULL : alias->text;
    return i;
}

static struct ast_from *from_new(struct sql_parse *p, enum ast_from_kind kind, struct sql_pos pos,
                                 const struct alias_parts *alias)
{
    struct ast_from *f = ARENA_NEW(p->arena, struct ast_from);

    f->kind = kind;
    f->pos = pos;
    if (alias != NULL) {
        f->alias = alias->name;
        f->alias_column_count = list_count(alias->columns);
        f->alias_columns = items_of(alias->columns);
    }
    return f;
}

struct ast_from *parse_from_table(struct sql_parse *p, const struct sql_token *name,
                                  struct sql_list *hint, const struct alias_parts *alias)
{
    struct ast_from *f = from_new(p, FROM_TABLE, name->pos, alias);

    f->name = name->text;
    set_table_hint(p, hint, &f->option_count, &f->options);
    return f;
}

struct ast_from *parse_from_query(struct sql_parse *p, const struct sql_token *at,
                                  struct ast_query *query, const struct alias_parts *alias)
{
    struct ast_from *f = from_new(
        p, query->values_rows > 0 && query->union_all == NULL ? FROM_VALUES : FROM_SUBQUERY,
        at->pos, alias);

    f->query = query;
    return f;
}

static struct tvf_arg *tvf_new(struct sql_parse *p, struct sql_pos pos)
{
    struct tvf_arg *a = ARENA_NEW(p->arena, struct tvf_arg);

    a->pos = pos;
    return a;
}

struct tvf_arg *parse_tvf_table(struct sql_parse *p, const struct sql_token *at,
                                const struct sql_token *name, struct sql_list *hint)
{
    struct tvf_arg *a = tvf_new(p, at->pos);

    a->table = parse_from_table(p, name, hint, NULL);
    return a;
}

struct tvf_arg *parse_tvf_query(struct sql_parse *p, const struct sql_token *at,
                                struct ast_query *query)
{
    struct tvf_arg *a = tvf_new(p, at->pos);

    a->query = query;
    return a;
}

struct tvf_arg *parse_tvf_column(struct sql_parse *p, const struct sql_token *name)
{
    struct tvf_arg *a = tvf_new(p, name->pos);

    a->column = name->text;
    return a;
}

struct tvf_arg *parse_tvf_expr(struct sql_parse *p, struct ast_expr *expr)
{
    struct tvf_arg *a = tvf_new(p, expr->pos);

    a->expr = expr;
    return a;
}

/* Puts the arguments of TUMBLE in their places: DATA, TIMECOL, SIZE, OFFSET. */
static void place_window_args(struct sql_parse *p, struct sql_pos pos, const struct sql_list *args,
                              struct tvf_arg *placed[4])
{
    static const char *const names[] = {"DATA", "TIMECOL", "SIZE", "OFFSET"};

    if (args->count > 4) {
        parse_fail(p, RC_INVALID, pos, "TUMBLE takes at most 4 arguments, not %u", args->count);
        return;
    }
    for (uint32_t i = 0; i < args->count; i++) {
        struct tvf_arg *arg = args->items[i];
        uint32_t place = i;

        if (arg->name != NULL)
            for (place = 0; place < 4 && strcasecmp(arg->name, names[place]) != 0; place++)
                ;
        if (place == 4 || placed[place] != NULL) {
            parse_fail(p, RC_INVALID, arg->pos,
                       place == 4 ? "TUMBLE has no argument %s, only DATA, TIMECOL, SIZE and OFFSET"
                                  : "the argument %s of TUMBLE is given twice",
                       arg->name == NULL ? names[i] : arg->name);
            return;
        }
        placed[place] = arg;
    }
}

struct ast_from *parse_from_window(struct sql_parse *p, const struct sql_token *function,
                                   struct sql_list *args, const struct alias_parts *alias)
{
    struct ast_from *f = from_new(p, FROM_TUMBLE, function->pos, alias);
    struct tvf_arg *placed[4] = {0};

    if (strcasecmp(function->text, "TUMBLE") != 0) {
        if (strcasecmp(function->text, "HOP") == 0 || strcasecmp(function->text, "CUMULATE") == 0 ||
            strcasecmp(function->text, "SESSION") == 0)
            parse_fail(p, RC_UNSUPPORTED, function->pos,
                       "not supported by varve: %s windows; TUMBLE is", function->text);
        else
            parse_fail(p, RC_INVALID, function->pos,
                       "there is no table function %s; varve has TUMBLE", function->text);
        return f;
    }
    place_window_args(p, function->pos, args, placed);
    if (p->failed)
        return f;
    if (placed[0] == NULL || (placed[0]->table == NULL && placed[0]->query == NULL))
        parse_fail(p, RC_INVALID, placed[0] == NULL ? f->pos : placed[0]->pos,
                   "the first argument of TUMBLE is a table: TUMBLE(TABLE t, DESCRIPTOR(ts), "
                   "INTERVAL '10' SECOND)");
    else if (placed[1] == NULL || placed[1]->column == NULL)
        parse_fail(p, RC_INVALID, placed[1] == NULL ? f->pos : placed[1]->pos,
                   "the second argument of TUMBLE is the time column: DESCRIPTOR(ts)");
    else if (placed[2] == NULL || placed[2]->expr == NULL)
        parse_fail(p, RC_INVALID, placed[2] == NULL ? f->pos : placed[2]->pos,
                   "the third argument of TUMBLE is the size: INTERVAL '10' SECOND");
    else if (placed[3] != NULL && placed[3]->expr == NULL)
        parse_fail(p, RC_INVALID, placed[3]->pos,
                   "the fourth argument of TUMBLE is an offset: INTERVAL '1' SECOND");
    if (p->failed)
        return f;
    if (placed[0]->table != NULL) {
        f->name = placed[0]->table->name;
        f->option_count = placed[0]->table->option_count;
        f->options = placed[0]->table->options;
    }
    f->query = placed[0]->query;
    f->time_column = placed[1]->column;
    f->time_column_pos = placed[1]->pos;
    f->size = placed[2]->expr;
    f->offset = placed[3] == NULL ? NULL : placed[3]->expr;
    return f;
}
