/* catalog_table.c - a checked entry from CREATE TABLE and CREATE VIEW, and back to text. */
#include "job/sql/ast_util.h"
#include "job/sql/catalog_priv.h"
#include "job/sql/expr.h"
#include "job/sql/secret.h"
#include "job/sql/sql_error.h"

#include <stdio.h>

struct build {
    struct arena *arena;
    struct catalog_entry *e;
    const struct ast_table *t;
    const struct catalog_entry *like; /* NULL: none */
    const char *time_zone;
    struct err *err;
};

static enum rc fail(struct build *b, struct sql_pos pos, enum rc rc, const char *what,
                    const char *name)
{
    return sql_error_at(b->err, rc, b->e->source, pos, "table %s: %s%s", b->t->name, what, name);
}

static bool takes(const struct build *b, enum ast_like_feature feature)
{
    enum ast_like_rule rule =
        b->t->like_rules[feature] != LIKE_DEFAULT ? b->t->like_rules[feature] : b->t->like_all;

    return b->like != NULL && rule != LIKE_EXCLUDING;
}

static bool overwrites(const struct build *b, enum ast_like_feature feature)
{
    enum ast_like_rule rule =
        b->t->like_rules[feature] != LIKE_DEFAULT ? b->t->like_rules[feature] : b->t->like_all;

    /* Flink: options are overwritten unless INCLUDING is said. */
    return rule == LIKE_OVERWRITING || (rule == LIKE_DEFAULT && feature == LIKE_OPTIONS);
}

static int32_t column_index(const struct catalog_entry *e, const char *name)
{
    for (uint32_t i = 0; i < e->column_count; i++)
        if (strcmp(e->columns[i].name, name) == 0)
            return (int32_t)i;
    return -1;
}

/* RC_INVALID: no such column; names the nearest. */
static enum rc need_column(struct build *b, const char *name, struct sql_pos pos,
                           const char *clause, uint32_t *out)
{
    const char **names = ARENA_ARRAY(b->arena, b->e->column_count, const char *);
    int32_t at = column_index(b->e, name);
    char hint[SQL_HINT_MAX];

    if (at >= 0) {
        *out = (uint32_t)at;
        return RC_OK;
    }
    for (uint32_t i = 0; i < b->e->column_count; i++)
        names[i] = b->e->columns[i].name;
    return sql_error_at(b->err, RC_INVALID, b->e->source, pos,
                        "table %s: %s: there is no column %s%s", b->t->name, clause, name,
                        sql_nearest_hint(hint, name, names, b->e->column_count));
}

/* ---- columns --------------------------------------------------------------------------------- */

static enum rc copy_columns(struct build *b)
{
    const struct ast_table *t = b->t;
    uint32_t like_count = b->like == NULL ? 0 : b->like->column_count;

    if (t->column_count + like_count > CATALOG_COLUMNS_MAX)
        return err_set(b->err, RC_LIMIT, "table %s: %u columns, the limit is %d", t->name,
                       t->column_count + like_count, CATALOG_COLUMNS_MAX);
    b->e->columns = ARENA_ARRAY(b->arena, t->column_count + like_count, struct catalog_column);
    for (uint32_t i = 0; i < like_count; i++) {
        const struct catalog_column *from = &b->like->columns[i];
        struct catalog_column *to = &b->e->columns[b->e->column_count];
        struct ast_expr *copy = NULL;

        if (from->kind == COLUMN_COMPUTED && !takes(b, LIKE_GENERATED))
            continue;
        if (from->computed != NULL)
            RETURN_IF_ERR(ast_expr_copy(b->arena, from->computed, NULL, NULL, &copy, b->err));
        *to = (struct catalog_column){
            arena_strdup(b->arena, from->name), from->kind, from->type, copy,
            from->comment == NULL ? NULL : arena_strdup(b->arena, from->comment)};
        b->e->column_count++;
    }
    for (uint32_t i = 0; i < t->column_count; i++) {
        const struct ast_column *from = &t->columns[i];
        struct catalog_column *to = &b->e->columns[b->e->column_count];
        struct ast_expr *copy = NULL;

        if (column_index(b->e, from->name) >= 0)
            return fail(b, from->pos, RC_INVALID, "two columns are named ", from->name);
        if (from->kind == COLUMN_METADATA)
            return fail(b, from->pos, RC_UNSUPPORTED,
                        "metadata columns are not supported by varve: ", from->name);
        if (from->computed != NULL)
            RETURN_IF_ERR(ast_expr_copy(b->arena, from->computed, NULL, NULL, &copy, b->err));
        *to = (struct catalog_column){
            arena_strdup(b->arena, from->name), from->kind, from->type, copy,
            from->comment == NULL ? NULL : arena_strdup(b->arena, from->comment)};
        b->e->column_count++;
    }
    if (b->e->column_count == 0)
        return fail(b, b->e->pos, RC_INVALID, "it has no columns", "");
    return RC_OK;
}

/* Primary-key columns are not null; so they must be known before the schema is made. */
static enum rc set_primary_key(struct build *b)
{
    const struct ast_table *t = b->t;
    struct catalog_entry *e = b->e;
    uint32_t inline_count = 0;

    for (uint32_t i = 0; i < t->column_count; i++)
        inline_count += t->columns[i].primary_key;
    if (inline_count > 1 || (inline_count == 1 && t->primary_key_count > 0))
        return fail(b, e->pos, RC_INVALID, "it has more than one PRIMARY KEY", "");
    e->primary_key = ARENA_ARRAY(b->arena, e->column_count, uint32_t);
    for (uint32_t i = 0; i < t->column_count; i++)
        if (t->columns[i].primary_key)
            RETURN_IF_ERR(need_column(b, t->columns[i].name, t->columns[i].pos, "PRIMARY KEY",
                                      &e->primary_key[e->primary_key_count++]));
    for (uint32_t i = 0; i < t->primary_key_count; i++)
        RETURN_IF_ERR(need_column(b, t->primary_key[i], e->pos, "PRIMARY KEY",
                                  &e->primary_key[e->primary_key_count++]));
    if (e->primary_key_count == 0 && takes(b, LIKE_CONSTRAINTS) && b->like->primary_key_count > 0)
        for (uint32_t i = 0; i < b->like->primary_key_count; i++)
            RETURN_IF_ERR(need_column(b, b->like->columns[b->like->primary_key[i]].name,
                                      t->like_pos, "PRIMARY KEY",
                                      &e->primary_key[e->primary_key_count++]));
    for (uint32_t i = 0; i < e->primary_key_count; i++) {
        struct catalog_column *c = &e->columns[e->primary_key[i]];

        if (c->kind != COLUMN_PHYSICAL)
            return fail(b, e->pos, RC_INVALID,
                        "a computed column cannot be in the PRIMARY KEY: ", c->name);
        c->type.nullable = false;
    }
    return RC_OK;
}

static struct schema *schema_new(struct arena *a, uint32_t cap)
{
    struct schema *s = ARENA_NEW(a, struct schema);

    s->fields = ARENA_ARRAY(a, cap, struct schema_field);
    s->rowtime = -1;
    return s;
}

/* Types of computed columns come from their expressions over the physical ones. */
static enum rc set_schemas(struct build *b)
{
    struct schema *physical = schema_new(b->arena, b->e->column_count);
    struct schema *row = schema_new(b->arena, b->e->column_count);
    struct expr_scope scope = {.schema = physical, .time_zone = b->time_zone};

    for (uint32_t i = 0; i < b->e->column_count; i++)
        if (b->e->columns[i].kind == COLUMN_PHYSICAL)
            physical->fields[physical->field_count++] =
                (struct schema_field){b->e->columns[i].name, b->e->columns[i].type};
    if (physical->field_count == 0)
        return fail(b, b->e->pos, RC_INVALID, "it has computed columns only", "");
    for (uint32_t i = 0; i < b->e->column_count; i++) {
        struct catalog_column *c = &b->e->columns[i];
        struct expr *bound;

        if (c->kind == COLUMN_COMPUTED) {
            enum rc rc = expr_bind(b->arena, c->computed, &scope, &bound, b->err);

            if (rc != RC_OK)
                return sql_error_show(b->err, rc, b->e->source);
            c->type = expr_type(bound);
            if (c->type.kind == TYPE_NULL)
                return fail(b, b->e->pos, RC_INVALID,
                            "a computed column has no type; use CAST(NULL AS ...): ", c->name);
        }
        row->fields[row->field_count++] = (struct schema_field){c->name, c->type};
    }
    b->e->physical = physical;
    b->e->row = row;
    return RC_OK;
}

/* ---- watermark ------------------------------------------------------------------------------- */

static enum rc check_watermark(struct build *b, struct sql_pos pos)
{
    struct catalog_entry *e = b->e;
    struct type time = e->columns[e->watermark_column].type;
    struct expr_scope scope = {.schema = e->row, .time_zone = b->time_zone};
    struct expr *bound;
    enum rc rc;

    if (!type_is_timestamp(time.kind) || time.precision > 3)
        return sql_error_at(b->err, RC_INVALID, e->source, pos,
                            "table %s: the WATERMARK column %s must be TIMESTAMP(p) or "
                            "TIMESTAMP_LTZ(p) with p from 0 to 3, not %s",
                            b->t->name, e->columns[e->watermark_column].name,
                            type_str(b->arena, time, false));
    rc = expr_bind(b->arena, e->watermark, &scope, &bound, b->err);
    if (rc != RC_OK)
        return sql_error_show(b->err, rc, e->source);
    if (expr_type(bound).kind != time.kind)
        return sql_error_at(b->err, RC_INVALID, e->source, e->watermark->pos,
                            "table %s: the WATERMARK is of type %s, its column %s of %s",
                            b->t->name, type_str(b->arena, expr_type(bound), false),
                            e->columns[e->watermark_column].name, type_str(b->arena, time, false));
    ((struct schema *)(uintptr_t)e->row)->rowtime = e->watermark_column;
    return RC_OK;
}

static enum rc set_watermark(struct build *b)
{
    const struct ast_table *t = b->t;
    struct ast_expr *copy;
    uint32_t at;

    if (t->watermark != NULL) {
        if (takes(b, LIKE_WATERMARKS) && b->like->watermark != NULL &&
            !overwrites(b, LIKE_WATERMARKS))
            return fail(
                b, t->watermark_pos, RC_INVALID,
                "its LIKE table has a WATERMARK too; say OVERWRITING or EXCLUDING WATERMARKS", "");
        RETURN_IF_ERR(need_column(b, t->watermark_column, t->watermark_pos, "WATERMARK", &at));
        RETURN_IF_ERR(ast_expr_copy(b->arena, t->watermark, NULL, NULL, &copy, b->err));
    } else if (takes(b, LIKE_WATERMARKS) && b->like->watermark != NULL) {
        RETURN_IF_ERR(need_column(b, b->like->columns[b->like->watermark_column].name, t->like_pos,
                                  "WATERMARK", &at));
        RETURN_IF_ERR(ast_expr_copy(b->arena, b->like->watermark, NULL, NULL, &copy, b->err));
    } else {
        return RC_OK;
    }
    b->e->watermark = copy;
    b->e->watermark_column = (int32_t)at;
    return check_watermark(b, t->watermark != NULL ? t->watermark_pos : t->like_pos);
}

/* ---- partitions, options --------------------------------------------------------------------- */

static enum rc set_partitions(struct build *b)
{
    const struct ast_table *t = b->t;
    struct catalog_entry *e = b->e;
    bool from_like =
        t->partition_count == 0 && takes(b, LIKE_PARTITIONS) && b->like->partition_count > 0;
    uint32_t count = from_like ? b->like->partition_count : t->partition_count;

    if (count > e->physical->field_count)
        return fail(b, e->pos, RC_INVALID, "more partition columns than columns", "");
    e->partition_columns = ARENA_ARRAY(b->arena, count, uint32_t);
    for (uint32_t i = 0; i < count; i++) {
        const char *name = from_like ? b->like->physical->fields[b->like->partition_columns[i]].name
                                     : t->partitioned_by[i];
        uint32_t at;

        RETURN_IF_ERR(need_column(b, name, e->pos, "PARTITIONED BY", &at));
        if (e->columns[at].kind != COLUMN_PHYSICAL)
            return fail(b, e->pos, RC_INVALID, "PARTITIONED BY a computed column: ", name);
        e->partition_columns[i] = (uint32_t)schema_find(e->physical, name);
        for (uint32_t j = 0; j < i; j++)
            if (e->partition_columns[j] == e->partition_columns[i])
                return fail(b, e->pos, RC_INVALID, "PARTITIONED BY names a column twice: ", name);
    }
    e->partition_count = count;
    return RC_OK;
}

static enum rc set_options(struct build *b)
{
    const struct ast_table *t = b->t;
    struct catalog_entry *e = b->e;
    uint32_t like_count = takes(b, LIKE_OPTIONS) ? b->like->option_count : 0;

    e->options = ARENA_ARRAY(b->arena, like_count + t->option_count, struct ast_option);
    for (uint32_t i = 0; i < like_count; i++)
        e->options[e->option_count++] =
            (struct ast_option){.key = arena_strdup(b->arena, b->like->options[i].key),
                                .value = arena_strdup(b->arena, b->like->options[i].value)};
    for (uint32_t i = 0; i < t->option_count; i++) {
        const struct ast_option *o = &t->options[i];
        uint32_t at = 0;

        while (at < like_count && strcmp(e->options[at].key, o->key) != 0)
            at++;
        if (at < like_count && !overwrites(b, LIKE_OPTIONS))
            return fail(b, o->pos, RC_INVALID,
                        "its LIKE table has this option too; say OVERWRITING OPTIONS: ", o->key);
        if (at == like_count)
            at = e->option_count++;
        e->options[at] = (struct ast_option){.pos = o->pos,
                                             .key = arena_strdup(b->arena, o->key),
                                             .value = arena_strdup(b->arena, o->value)};
    }
    return RC_OK;
}

static enum rc build_table(struct build *b)
{
    struct connector_table ct;

    RETURN_IF_ERR(copy_columns(b));
    RETURN_IF_ERR(set_primary_key(b));
    RETURN_IF_ERR(set_schemas(b));
    RETURN_IF_ERR(set_watermark(b));
    RETURN_IF_ERR(set_partitions(b));
    RETURN_IF_ERR(set_options(b));
    RETURN_IF_ERR(
        catalog_connector_table(b->arena, b->e, 0, NULL, b->e->source, b->time_zone, &ct, b->err));
    return connector_check(&ct, b->err);
}

/* The lines of the statement behind as many line ends as stand before it: places keep their meaning
 * without the rest of the script. */
static const char *statement_source(struct arena *a, const struct ast_statement *s)
{
    const char *at = s->source + s->pos.offset, *end = at + strlen(s->text);
    struct buf out = {0};
    const char *copy;

    while (at > s->source && at[-1] != '\n')
        at--;
    end += strcspn(end, "\n");
    for (uint32_t i = 1; i < s->pos.line; i++)
        buf_append_u8(&out, '\n');
    buf_append(&out, at, (size_t)(end - at));
    copy = arena_strdup(a, buf_cstr(&out));
    buf_release(&out);
    return copy;
}

static void copy_head(struct owned_entry *o, const struct ast_statement *s)
{
    o->entry.name = arena_strdup(o->arena, s->name);
    o->entry.temporary = s->temporary;
    o->entry.source = statement_source(o->arena, s);
    o->entry.text = arena_strdup(o->arena, s->text);
    o->entry.pos = s->pos;
}

enum rc catalog_create_table(struct catalog *c, const struct ast_statement *s,
                             const struct config *config, struct err *err)
{
    struct owned_entry *o;
    const struct catalog_entry *like = NULL;
    struct build b;
    bool skip;
    enum rc rc;

    RETURN_IF_ERR(catalog_check_new(c, s, &skip, err));
    if (skip)
        return RC_OK;
    if (s->table->like != NULL)
        RETURN_IF_ERR(catalog_get(c, s->table->like, s->source, s->table->like_pos, &like, err));
    o = entry_new();
    copy_head(o, s);
    o->entry.comment = s->table->comment == NULL ? NULL : arena_strdup(o->arena, s->table->comment);
    b = (struct build){
        o->arena, &o->entry, s->table, like, config_string(config, OPT_LOCAL_TIME_ZONE), err};
    if (like != NULL && like->is_view)
        rc = fail(&b, s->table->like_pos, RC_INVALID,
                  "LIKE takes a table, this is a view: ", s->table->like);
    else
        rc = build_table(&b);
    catalog_release(like);
    if (rc != RC_OK) {
        catalog_release(&o->entry);
        return rc;
    }
    return catalog_add(c, o, err);
}

enum rc catalog_create_view(struct catalog *c, const struct ast_statement *s, struct err *err)
{
    struct owned_entry *o;
    bool skip;

    RETURN_IF_ERR(catalog_check_new(c, s, &skip, err));
    if (skip)
        return RC_OK;
    o = entry_new();
    copy_head(o, s);
    o->entry.is_view = true;
    o->entry.comment = s->comment == NULL ? NULL : arena_strdup(o->arena, s->comment);
    o->entry.view_column_count = s->view_column_count;
    o->entry.view_columns = ARENA_ARRAY(o->arena, s->view_column_count, const char *);
    for (uint32_t i = 0; i < s->view_column_count; i++)
        o->entry.view_columns[i] = arena_strdup(o->arena, s->view_columns[i]);
    o->entry.query = ast_query_copy(o->arena, s->query);
    return catalog_add(c, o, err);
}

/* ---- SHOW CREATE TABLE ----------------------------------------------------------------------- */

static void print_columns(const struct catalog_entry *e, struct buf *out)
{
    for (uint32_t i = 0; i < e->column_count; i++) {
        const struct catalog_column *c = &e->columns[i];

        buf_append_str(out, i == 0 ? "  " : ",\n  ");
        ast_name_print(c->name, true, out);
        if (c->kind == COLUMN_COMPUTED) {
            buf_append_str(out, " AS ");
            ast_expr_print(c->computed, out);
        } else {
            buf_append_u8(out, ' ');
            type_print(c->type, true, out);
        }
        if (c->comment != NULL) {
            buf_append_str(out, " COMMENT ");
            ast_string_print(c->comment, strlen(c->comment), out);
        }
    }
    if (e->watermark != NULL) {
        buf_append_str(out, ",\n  WATERMARK FOR ");
        ast_name_print(e->columns[e->watermark_column].name, true, out);
        buf_append_str(out, " AS ");
        ast_expr_print(e->watermark, out);
    }
}

void catalog_print(const struct catalog_entry *e, struct buf *out)
{
    if (e->is_view) {
        buf_printf(out, "%s\n", e->text);
        return;
    }
    buf_printf(out, "CREATE %sTABLE ", e->temporary ? "TEMPORARY " : "");
    buf_append_str(out, "`default_catalog`.`default_database`.");
    ast_name_print(e->name, true, out);
    buf_append_str(out, " (\n");
    print_columns(e, out);
    if (e->primary_key_count > 0) {
        buf_append_str(out, ",\n  PRIMARY KEY (");
        for (uint32_t i = 0; i < e->primary_key_count; i++) {
            buf_append_str(out, i == 0 ? "" : ", ");
            ast_name_print(e->columns[e->primary_key[i]].name, true, out);
        }
        buf_append_str(out, ") NOT ENFORCED");
    }
    buf_append_str(out, "\n)");
    if (e->comment != NULL) {
        buf_append_str(out, " COMMENT ");
        ast_string_print(e->comment, strlen(e->comment), out);
    }
    for (uint32_t i = 0; i < e->partition_count; i++) {
        buf_append_str(out, i == 0 ? "\nPARTITIONED BY (" : ", ");
        ast_name_print(e->physical->fields[e->partition_columns[i]].name, true, out);
    }
    buf_append_str(out, e->partition_count > 0 ? ")\nWITH (\n" : "\nWITH (\n");
    for (uint32_t i = 0; i < e->option_count; i++) {
        const char *value = secret_key(e->options[i].key) ? SECRET_SHOWN : e->options[i].value;

        buf_append_str(out, i == 0 ? "  " : ",\n  ");
        ast_string_print(e->options[i].key, strlen(e->options[i].key), out);
        buf_append_str(out, " = ");
        ast_string_print(value, strlen(value), out);
    }
    buf_append_str(out, "\n)\n");
}
