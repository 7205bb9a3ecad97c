/* ast_util.c - see ast_util.h. */
#include "job/sql/ast_util.h"

#include "job/sql/expr.h"
#include "job/sql/lexer.h"

static const char *copy_str(struct arena *a, const char *s)
{
    return s == NULL ? NULL : arena_strdup(a, s);
}

enum rc ast_expr_copy(struct arena *a, const struct ast_expr *e, ast_replace_fn *replace, void *ctx,
                      struct ast_expr **out, struct err *err)
{
    struct ast_expr *copy = NULL;
    enum rc rc = RC_OK;

    if (replace != NULL) {
        copy = replace(ctx, e, &rc, err);
        RETURN_IF_ERR(rc);
    }
    if (copy == NULL) {
        copy = arena_copy(a, e, sizeof *e);
        copy->qualifier = copy_str(a, e->qualifier);
        copy->name = copy_str(a, e->name);
        copy->unit = copy_str(a, e->unit);
        copy->text = e->text == NULL ? NULL : arena_strndup(a, e->text, e->text_len);
        copy->args = ARENA_ARRAY(a, e->arg_count, struct ast_expr *);
        for (uint32_t i = 0; i < e->arg_count; i++)
            RETURN_IF_ERR(ast_expr_copy(a, e->args[i], replace, ctx, &copy->args[i], err));
        if (e->filter != NULL)
            RETURN_IF_ERR(ast_expr_copy(a, e->filter, replace, ctx, &copy->filter, err));
    }
    *out = copy;
    return RC_OK;
}

void ast_expr_walk(const struct ast_expr *e, ast_visit_fn *fn, void *ctx)
{
    if (e == NULL || !fn(ctx, e))
        return;
    for (uint32_t i = 0; i < e->arg_count; i++)
        ast_expr_walk(e->args[i], fn, ctx);
    ast_expr_walk(e->filter, fn, ctx);
}

static struct ast_expr *copy_expr(struct arena *a, const struct ast_expr *e)
{
    struct ast_expr *out = NULL;
    struct err none = {0};

    if (e != NULL && ast_expr_copy(a, e, NULL, NULL, &out, &none) != RC_OK)
        ASSERT(false); /* nothing can fail without a replace function */
    return out;
}

static struct ast_expr **copy_exprs(struct arena *a, struct ast_expr *const *from, size_t count)
{
    struct ast_expr **out = ARENA_ARRAY(a, count, struct ast_expr *);

    for (size_t i = 0; i < count; i++)
        out[i] = copy_expr(a, from[i]);
    return out;
}

static struct ast_option *copy_options(struct arena *a, const struct ast_option *from,
                                       uint32_t count)
{
    struct ast_option *out = ARENA_ARRAY(a, count, struct ast_option);

    for (uint32_t i = 0; i < count; i++)
        out[i] = (struct ast_option){from[i].pos, copy_str(a, from[i].key),
                                     copy_str(a, from[i].value), from[i].is_ttl};
    return out;
}

static struct ast_from *copy_from(struct arena *a, const struct ast_from *f)
{
    struct ast_from *out;

    if (f == NULL)
        return NULL;
    out = arena_copy(a, f, sizeof *f);
    out->name = copy_str(a, f->name);
    out->alias = copy_str(a, f->alias);
    out->time_column = copy_str(a, f->time_column);
    out->alias_columns = ARENA_ARRAY(a, f->alias_column_count, const char *);
    for (uint32_t i = 0; i < f->alias_column_count; i++)
        out->alias_columns[i] = copy_str(a, f->alias_columns[i]);
    out->options = copy_options(a, f->options, f->option_count);
    out->query = f->query == NULL ? NULL : ast_query_copy(a, f->query);
    out->size = copy_expr(a, f->size);
    out->offset = copy_expr(a, f->offset);
    return out;
}

struct ast_query *ast_query_copy(struct arena *a, const struct ast_query *q)
{
    struct ast_query *first = NULL, **next = &first;

    for (; q != NULL; q = q->union_all) { /* a loop: a union may have very many branches */
        struct ast_query *out = arena_copy(a, q, sizeof *q);

        out->options = copy_options(a, q->options, q->option_count);
        out->items = ARENA_ARRAY(a, q->item_count, struct ast_select_item);
        for (uint32_t i = 0; i < q->item_count; i++)
            out->items[i] = (struct ast_select_item){copy_expr(a, q->items[i].expr),
                                                     copy_str(a, q->items[i].alias)};
        out->from = copy_from(a, q->from);
        out->where = copy_expr(a, q->where);
        out->having = copy_expr(a, q->having);
        out->group_by = copy_exprs(a, q->group_by, q->group_count);
        out->values = copy_exprs(a, q->values, (size_t)q->values_rows * q->values_columns);
        *next = out;
        next = &out->union_all;
    }
    return first;
}

static bool same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

bool ast_expr_equal(const struct ast_expr *a, const struct ast_expr *b, ast_column_fn *column_of,
                    void *ctx)
{
    if (a == NULL || b == NULL)
        return a == b;
    if (a->kind != b->kind)
        return false;
    if (a->kind == EXPR_COLUMN) {
        int32_t at = column_of(ctx, a);

        return at >= 0 && at == column_of(ctx, b);
    }
    if (a->literal != b->literal || a->op != b->op || a->is != b->is || a->negated != b->negated ||
        a->symmetric != b->symmetric || a->distinct != b->distinct || a->try_cast != b->try_cast ||
        a->case_operand != b->case_operand || a->case_else != b->case_else ||
        a->arg_count != b->arg_count || a->text_len != b->text_len ||
        a->interval_precision != b->interval_precision || !same_text(a->name, b->name) ||
        !same_text(a->unit, b->unit) || !same_text(a->text, b->text) ||
        !same_text(a->qualifier, b->qualifier) ||
        (a->kind == EXPR_CAST && !type_eq(a->type, b->type, true)))
        return false;
    for (uint32_t i = 0; i < a->arg_count; i++)
        if (!ast_expr_equal(a->args[i], b->args[i], column_of, ctx))
            return false;
    return ast_expr_equal(a->filter, b->filter, column_of, ctx);
}

bool ast_is_aggregate(const struct ast_expr *e)
{
    return e->kind == EXPR_CALL && expr_is_aggregate_name(e->name);
}

struct ast_expr *ast_column_new(struct arena *a, const char *qualifier, const char *name,
                                struct sql_pos pos)
{
    struct ast_expr *e = ARENA_NEW(a, struct ast_expr);

    e->kind = EXPR_COLUMN;
    e->pos = pos;
    e->height = 1;
    e->qualifier = copy_str(a, qualifier);
    e->name = arena_strdup(a, name);
    return e;
}

/* ---- text ------------------------------------------------------------------------------------ */

void ast_name_print(const char *name, bool always, struct buf *out)
{
    size_t len = strlen(name);
    bool plain =
        len > 0 && !(name[0] >= '0' && name[0] <= '9') && name[0] != '$' &&
        strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_$") == len;

    if (!always && plain && lexer_keyword_of(lexer_keyword(name, len)) == NULL) {
        buf_append_str(out, name);
        return;
    }
    buf_append_u8(out, '`');
    for (const char *c = name; *c != '\0'; c++) {
        buf_append_u8(out, (uint8_t)*c);
        if (*c == '`')
            buf_append_u8(out, '`');
    }
    buf_append_u8(out, '`');
}

void ast_string_print(const char *text, size_t len, struct buf *out)
{
    buf_append_u8(out, '\'');
    for (size_t i = 0; i < len; i++) {
        buf_append_u8(out, (uint8_t)text[i]);
        if (text[i] == '\'')
            buf_append_u8(out, '\'');
    }
    buf_append_u8(out, '\'');
}

static void print_literal(const struct ast_expr *e, struct buf *out)
{
    static const char *const prefixes[] = {[LIT_BINARY] = "X",
                                           [LIT_DATE] = "DATE ",
                                           [LIT_TIME] = "TIME ",
                                           [LIT_TIMESTAMP] = "TIMESTAMP "};
    switch (e->literal) {
    case LIT_NULL:
        buf_append_str(out, "NULL");
        break;
    case LIT_BOOL:
    case LIT_INT:
    case LIT_DECIMAL:
    case LIT_DOUBLE:
        buf_append(out, e->text, e->text_len);
        break;
    case LIT_STRING:
        ast_string_print(e->text, e->text_len, out);
        break;
    case LIT_BINARY:
    case LIT_DATE:
    case LIT_TIME:
    case LIT_TIMESTAMP:
        buf_append_str(out, prefixes[e->literal]);
        ast_string_print(e->text, e->text_len, out);
        break;
    }
}

static void print_list(const struct ast_expr *e, uint32_t from, const char *between,
                       struct buf *out)
{
    for (uint32_t i = from; i < e->arg_count; i++) {
        if (i > from)
            buf_append_str(out, between);
        ast_expr_print(e->args[i], out);
    }
}

/* In parentheses unless it is a single thing. */
static void print_operand(const struct ast_expr *e, struct buf *out)
{
    bool single = e->kind == EXPR_LITERAL || e->kind == EXPR_COLUMN || e->kind == EXPR_CALL ||
                  e->kind == EXPR_CAST || e->kind == EXPR_INTERVAL || e->kind == EXPR_CASE;

    buf_append_str(out, single ? "" : "(");
    ast_expr_print(e, out);
    buf_append_str(out, single ? "" : ")");
}

static void print_is(const struct ast_expr *e, struct buf *out)
{
    static const char *const what[] = {"NULL", "TRUE", "FALSE", "UNKNOWN", "DISTINCT FROM "};

    print_operand(e->args[0], out);
    buf_printf(out, " IS %s%s", e->negated ? "NOT " : "", what[e->is]);
    if (e->is == IS_DISTINCT_FROM)
        print_operand(e->args[1], out);
}

static void print_case(const struct ast_expr *e, struct buf *out)
{
    uint32_t i = 0, end = e->arg_count - e->case_else;

    buf_append_str(out, "CASE");
    if (e->case_operand) {
        buf_append_u8(out, ' ');
        ast_expr_print(e->args[i++], out);
    }
    for (; i + 1 < end; i += 2) {
        buf_append_str(out, " WHEN ");
        ast_expr_print(e->args[i], out);
        buf_append_str(out, " THEN ");
        ast_expr_print(e->args[i + 1], out);
    }
    if (e->case_else) {
        buf_append_str(out, " ELSE ");
        ast_expr_print(e->args[end], out);
    }
    buf_append_str(out, " END");
}

static void print_call(const struct ast_expr *e, struct buf *out)
{
    buf_printf(out, "%s", e->name);
    if (e->arg_count == 0 && e->filter == NULL &&
        (strncmp(e->name, "CURRENT_", 8) == 0 || strncmp(e->name, "LOCALTIME", 9) == 0))
        return;
    buf_append_str(out, e->distinct ? "(DISTINCT " : "(");
    if (e->unit != NULL && strcmp(e->name, "TRIM") == 0) {
        buf_printf(out, "%s ", e->unit);
        if (e->arg_count > 1)
            ast_expr_print(e->args[1], out);
        buf_append_str(out, " FROM ");
        ast_expr_print(e->args[0], out);
    } else if (e->unit != NULL && (strcmp(e->name, "FLOOR") == 0 || strcmp(e->name, "CEIL") == 0)) {
        ast_expr_print(e->args[0], out);
        buf_printf(out, " TO %s", e->unit);
    } else if (strcmp(e->name, "POSITION") == 0 && e->arg_count == 2) {
        print_list(e, 0, " IN ", out);
    } else if (strcmp(e->name, "OVERLAY") == 0 && e->arg_count >= 3) {
        ast_expr_print(e->args[0], out);
        buf_append_str(out, " PLACING ");
        ast_expr_print(e->args[1], out);
        buf_append_str(out, " FROM ");
        print_list(e, 2, " FOR ", out);
    } else {
        if (e->unit != NULL)
            buf_printf(out, strcmp(e->name, "EXTRACT") == 0 ? "%s FROM " : "%s, ", e->unit);
        print_list(e, 0, ", ", out);
    }
    buf_append_u8(out, ')');
    if (e->filter != NULL) {
        buf_append_str(out, " FILTER (WHERE ");
        ast_expr_print(e->filter, out);
        buf_append_u8(out, ')');
    }
}

static void print_interval(const struct ast_expr *e, struct buf *out)
{
    buf_append_str(out, "INTERVAL ");
    ast_string_print(e->text, e->text_len, out);
    buf_printf(out, " %s", e->unit);
    if (e->interval_precision > 0)
        buf_printf(out, "(%u)", e->interval_precision);
}

void ast_expr_print(const struct ast_expr *e, struct buf *out)
{
    static const char *const ops[] = {"-",    "+",   "NOT ", " + ",   " - ",  " * ",
                                      " / ",  " % ", " || ", " = ",   " <> ", " < ",
                                      " <= ", " > ", " >= ", " AND ", " OR "};
    switch (e->kind) {
    case EXPR_LITERAL:
        print_literal(e, out);
        break;
    case EXPR_COLUMN:
    case EXPR_STAR:
        if (e->qualifier != NULL) {
            ast_name_print(e->qualifier, true, out);
            buf_append_u8(out, '.');
        }
        if (e->kind == EXPR_STAR)
            buf_append_u8(out, '*');
        else
            ast_name_print(e->name, true, out);
        break;
    case EXPR_UNARY:
        buf_append_str(out, ops[e->op]);
        print_operand(e->args[0], out);
        break;
    case EXPR_BINARY:
        print_operand(e->args[0], out);
        buf_append_str(out, ops[e->op]);
        print_operand(e->args[1], out);
        break;
    case EXPR_IS:
        print_is(e, out);
        break;
    case EXPR_BETWEEN:
        print_operand(e->args[0], out);
        buf_printf(out, " %sBETWEEN %s", e->negated ? "NOT " : "",
                   e->symmetric ? "SYMMETRIC " : "");
        print_operand(e->args[1], out);
        buf_append_str(out, " AND ");
        print_operand(e->args[2], out);
        break;
    case EXPR_IN:
        print_operand(e->args[0], out);
        buf_append_str(out, e->negated ? " NOT IN (" : " IN (");
        print_list(e, 1, ", ", out);
        buf_append_u8(out, ')');
        break;
    case EXPR_LIKE:
        print_operand(e->args[0], out);
        buf_append_str(out, e->negated ? " NOT LIKE " : " LIKE ");
        print_operand(e->args[1], out);
        if (e->arg_count == 3) {
            buf_append_str(out, " ESCAPE ");
            print_operand(e->args[2], out);
        }
        break;
    case EXPR_CASE:
        print_case(e, out);
        break;
    case EXPR_CAST:
        buf_append_str(out, e->try_cast ? "TRY_CAST(" : "CAST(");
        ast_expr_print(e->args[0], out);
        buf_append_str(out, " AS ");
        type_print(e->type, true, out);
        buf_append_u8(out, ')');
        break;
    case EXPR_CALL:
        print_call(e, out);
        break;
    case EXPR_INTERVAL:
        print_interval(e, out);
        break;
    }
}
