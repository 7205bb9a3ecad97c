/* expr_bind.c - names and operators of a SQL expression to typed nodes; functions are in
 * expr_call.c. See expr.h.
 *
 * Different spellings of one meaning become one tree: BETWEEN is two comparisons, a > b is b < a,
 * constants stand to the right of commutative operators, NOT moves into = and IS NULL. So
 * expr_print gives one text for them. */
#include "job/sql/expr_bind_priv.h"

#include "job/sql/sql_error.h"

#include <stdio.h>

#define LIST_MAX 60000u /* operands of IN, CASE, COALESCE */

enum rc expr_bind(struct arena *a, const struct ast_expr *ast, const struct expr_scope *scope,
                  struct expr **out, struct err *err)
{
    struct bind b = {a, scope, err};

    return bind_expr(&b, ast, out);
}

/* ---- names ----------------------------------------------------------------------------------- */

static enum rc unknown_column(struct bind *b, const struct ast_expr *ast)
{
    const struct schema *s = b->scope->schema;
    const char **names = ARENA_ARRAY(b->arena, s->field_count + 1, const char *);
    char hint[SQL_HINT_MAX];
    struct buf list = {0};
    enum rc rc;

    for (uint32_t i = 0; i < s->field_count; i++) {
        names[i] = s->fields[i].name;
        if (i < 12)
            buf_printf(&list, "%s%s", i == 0 ? "" : ", ", names[i]);
        else if (i == 12)
            buf_append_str(&list, ", ...");
    }
    rc =
        bind_error(b, ast->pos, RC_INVALID, "no column '%s%s%s', expected one of: %s%s",
                   ast->qualifier == NULL ? "" : ast->qualifier, ast->qualifier == NULL ? "" : ".",
                   ast->name, s->field_count == 0 ? "(there are no columns here)" : buf_cstr(&list),
                   sql_nearest_hint(hint, ast->name, names, s->field_count));
    buf_release(&list);
    return rc;
}

static const char *upper_ascii(struct arena *a, const char *s)
{
    char *u = arena_strdup(a, s);

    for (char *p = u; *p != '\0'; p++) {
        if (*p >= 'a' && *p <= 'z')
            *p = (char)(*p - 32);
    }
    return u;
}

static enum rc bind_column(struct bind *b, const struct ast_expr *ast, struct expr **out)
{
    const struct schema *s = b->scope->schema;
    int64_t found = -1;

    for (uint32_t i = 0; i < s->field_count; i++) {
        const char *q = b->scope->qualifiers == NULL ? NULL : b->scope->qualifiers[i];

        if (strcmp(s->fields[i].name, ast->name) != 0)
            continue;
        if (ast->qualifier != NULL && (q == NULL || strcmp(q, ast->qualifier) != 0))
            continue;
        if (found >= 0)
            return bind_error(b, ast->pos, RC_INVALID,
                              "column '%s' is ambiguous: write which table's it is", ast->name);
        found = i;
    }
    if (found < 0 && !ast->quoted && ast->qualifier == NULL) {
        struct ast_expr call = *ast;

        call.kind = EXPR_CALL;
        call.name = upper_ascii(b->arena, ast->name);
        if (func_is_niladic(call.name))
            return bind_call(b, &call, out);
    }
    if (found < 0)
        return unknown_column(b, ast);
    *out = expr_new_column(b->arena, (uint32_t)found, s->fields[found].type);
    (*out)->text = s->fields[found].name;
    (*out)->pos = ast->pos;
    return RC_OK;
}

/* ---- common types ---------------------------------------------------------------------------- */

static bool is_temporal(enum type_kind k)
{
    return k == TYPE_DATE || k == TYPE_TIME || type_is_timestamp(k);
}

static bool is_interval(enum type_kind k)
{
    return k == TYPE_INTERVAL_DAY || k == TYPE_INTERVAL_YEAR;
}

/* Text that meets a date or time is read as one. */
static enum rc text_as_time(struct bind *b, struct expr **x, struct type other)
{
    uint8_t digits = bind_fraction_digits(*x);

    if (!type_is_text((*x)->type.kind) || !is_temporal(other.kind))
        return RC_OK;
    if (type_is_timestamp(other.kind) && digits > other.precision)
        other.precision = digits;
    return node_cast(b, *x, other, false, (*x)->pos, x);
}

enum rc bind_unify(struct bind *b, struct expr **items, uint32_t count, const char *what,
                   struct type *out)
{
    struct type t = items[0]->type;

    for (uint32_t i = 0; i < count; i++) {
        if (is_temporal(items[i]->type.kind)) {
            for (uint32_t k = 0; k < count; k++)
                RETURN_IF_ERR(text_as_time(b, &items[k], items[i]->type));
            t = items[0]->type;
            break;
        }
    }
    for (uint32_t i = 1; i < count; i++) {
        if (!type_common(t, items[i]->type, &t))
            return bind_error(
                b, items[i]->pos, RC_INVALID, "%s: %s and %s have no common type, expected a CAST",
                what, type_str(b->arena, t, false), type_str(b->arena, items[i]->type, false));
    }
    for (uint32_t i = 0; i < count; i++)
        RETURN_IF_ERR(node_cast(b, items[i], t, false, items[i]->pos, &items[i]));
    *out = t;
    return RC_OK;
}

/* ---- comparison ------------------------------------------------------------------------------ */

static void swap_exprs(struct expr **x, struct expr **y)
{
    struct expr *t = *x;

    *x = *y;
    *y = t;
}

/* Is y to be written before x where the order does not matter? Columns and the like first,
 * constants last. */
static bool out_of_order(const struct expr *x, const struct expr *y)
{
    struct buf tx = {0}, ty = {0};
    bool swap;

    if ((x->kind == NODE_CONST) != (y->kind == NODE_CONST))
        return x->kind == NODE_CONST;
    expr_print(x, NULL, &tx);
    expr_print(y, NULL, &ty);
    swap = bytes_cmp(buf_bytes(&tx), buf_bytes(&ty)) > 0;
    buf_release(&tx);
    buf_release(&ty);
    return swap;
}

static enum ast_op mirrored(enum ast_op op)
{
    switch (op) {
    case OP_LT:
        return OP_GT;
    case OP_LE:
        return OP_GE;
    case OP_GT:
        return OP_LT;
    case OP_GE:
        return OP_LE;
    default:
        return op;
    }
}

/* DECIMALs of different scales compare as they are; everything else meets in one type. */
static enum rc comparable(struct bind *b, struct sql_pos pos, struct expr **x, struct expr **y)
{
    struct expr *both[2] = {*x, *y};
    struct type tx = (*x)->type, ty = (*y)->type, t;

    if (type_is_numeric(tx.kind) && type_is_numeric(ty.kind) &&
        (tx.kind == TYPE_DECIMAL || ty.kind == TYPE_DECIMAL) && tx.kind != TYPE_FLOAT &&
        tx.kind != TYPE_DOUBLE && ty.kind != TYPE_FLOAT && ty.kind != TYPE_DOUBLE) {
        RETURN_IF_ERR(node_cast(b, *x, type_decimal_of(tx), false, pos, x));
        return node_cast(b, *y, type_decimal_of(ty), false, pos, y);
    }
    RETURN_IF_ERR(text_as_time(b, &both[0], ty));
    RETURN_IF_ERR(text_as_time(b, &both[1], tx));
    if (!type_common(both[0]->type, both[1]->type, &t))
        return bind_error(b, pos, RC_INVALID,
                          "cannot compare %s with %s, expected a CAST of one of them",
                          type_str(b->arena, tx, false), type_str(b->arena, ty, false));
    if (type_is_varlen(t.kind)) /* bytes compare as they are, whatever their greatest length */
        return RC_OK;
    if (t.kind == TYPE_NULL)
        t = type_of(TYPE_BOOLEAN);
    for (int i = 0; i < 2; i++)
        RETURN_IF_ERR(node_cast(b, both[i], t, false, pos, &both[i]));
    *x = both[0];
    *y = both[1];
    return RC_OK;
}

enum rc bind_compare(struct bind *b, enum ast_op op, struct sql_pos pos, struct expr *x,
                     struct expr *y, struct expr **out)
{
    struct type t = {.kind = TYPE_BOOLEAN};
    struct expr *e;

    RETURN_IF_ERR(comparable(b, pos, &x, &y));
    if (x->type.kind == TYPE_NULL) /* NULL against text */
        x = node_null(b, y->type, pos);
    if (y->type.kind == TYPE_NULL)
        y = node_null(b, x->type, pos);
    t.nullable = x->type.nullable || y->type.nullable;
    if (op == OP_EQ || op == OP_NE) {
        if (out_of_order(x, y))
            swap_exprs(&x, &y);
    } else if (x->kind == NODE_CONST ? y->kind != NODE_CONST
                                     : (y->kind != NODE_CONST && op >= OP_GT)) {
        swap_exprs(&x, &y);
        op = mirrored(op);
    }
    e = node_call(b, &func_compare, t, pos, x, y);
    e->param = (int32_t)op;
    *out = node_done(b, e);
    return RC_OK;
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

static enum rc bind_shift(struct bind *b, enum ast_op op, struct sql_pos pos, struct expr *time,
                          struct expr *by, struct expr **out)
{
    struct type t = time->type;

    if (op == OP_SUB)
        by = node_done(b, node_call(b, &func_neg, by->type, pos, by, NULL));
    if (by->type.kind == TYPE_INTERVAL_YEAR && t.kind == TYPE_TIME)
        return bind_error(b, pos, RC_INVALID, "months cannot be added to a TIME");
    if (by->type.kind == TYPE_INTERVAL_DAY && t.kind != TYPE_TIME) {
        bool known = by->kind == NODE_CONST && !vec_null(&by->value, 0);
        int64_t ms = known ? vec_int(&by->value, 0) : 1;

        if (t.kind == TYPE_DATE && ms % MS_PER_DAY != 0) /* hours of a date make it a timestamp */
            t = (struct type){.kind = TYPE_TIMESTAMP,
                              .nullable = t.nullable,
                              .precision = known && ms % 1000 == 0 ? 0 : 3};
        else if (t.kind != TYPE_DATE && ms % 1000 != 0 && t.precision < 3)
            t.precision = 3;
        RETURN_IF_ERR(node_cast(b, time, t, false, pos, &time));
    }
    t.nullable = time->type.nullable || by->type.nullable;
    *out = node_done(b, node_call(b, &func_shift_time, t, pos, time, by));
    return RC_OK;
}

/* An interval as a factor or divisor's partner; or interval +- interval. */
static enum rc bind_interval_arithmetic(struct bind *b, enum ast_op op, struct sql_pos pos,
                                        struct expr *x, struct expr *y, struct expr **out,
                                        bool *done)
{
    struct type t = is_interval(x->type.kind) ? x->type : y->type;
    const struct func *f = op == OP_ADD   ? &func_add
                           : op == OP_SUB ? &func_sub
                           : op == OP_MUL ? &func_mul
                                          : &func_div;
    struct type number = {.kind = t.kind == TYPE_INTERVAL_DAY ? TYPE_BIGINT : TYPE_INT,
                          .nullable = true};
    bool sum = op == OP_ADD || op == OP_SUB;

    *done = false;
    t.nullable = x->type.nullable || y->type.nullable;
    if (op == OP_MUL && is_interval(y->type.kind))
        swap_exprs(&x, &y);
    if (!is_interval(x->type.kind) || op == OP_MOD)
        return RC_OK;
    if (sum ? y->type.kind != x->type.kind : !type_is_integer(y->type.kind))
        return RC_OK;
    if (!sum)
        RETURN_IF_ERR(node_cast(b, y, number, false, pos, &y));
    *out = node_done(b, node_call(b, f, t, pos, x, y));
    *done = true;
    return RC_OK;
}

static enum rc bind_time_arithmetic(struct bind *b, enum ast_op op, struct sql_pos pos,
                                    struct expr *x, struct expr *y, struct expr **out)
{
    static const char *const signs[] = {
        [OP_ADD] = "+", [OP_SUB] = "-", [OP_MUL] = "*", [OP_DIV] = "/", [OP_MOD] = "%"};
    bool done;

    if (op == OP_ADD && is_interval(x->type.kind) && is_temporal(y->type.kind))
        return bind_shift(b, op, pos, y, x, out);
    if ((op == OP_ADD || op == OP_SUB) && is_temporal(x->type.kind) && is_interval(y->type.kind))
        return bind_shift(b, op, pos, x, y, out);
    RETURN_IF_ERR(bind_interval_arithmetic(b, op, pos, x, y, out, &done));
    if (done)
        return RC_OK;
    if (is_temporal(x->type.kind) && is_temporal(y->type.kind))
        return bind_error(b, pos, RC_INVALID, "%s %s %s: use TIMESTAMPDIFF(unit, from, to)",
                          type_str(b->arena, x->type, false), signs[op],
                          type_str(b->arena, y->type, false));
    return bind_error(b, pos, RC_INVALID, "%s %s %s is not possible",
                      type_str(b->arena, x->type, false), signs[op],
                      type_str(b->arena, y->type, false));
}

enum rc bind_arithmetic(struct bind *b, enum ast_op op, struct sql_pos pos, struct expr *x,
                        struct expr *y, struct expr **out)
{
    static const struct func *const funcs[] = {[OP_ADD] = &func_add,
                                               [OP_SUB] = &func_sub,
                                               [OP_MUL] = &func_mul,
                                               [OP_DIV] = &func_div,
                                               [OP_MOD] = &func_mod};
    struct type t, work;

    if (x->type.kind == TYPE_NULL && y->type.kind == TYPE_NULL) {
        *out = node_null(b, type_of(TYPE_INT), pos);
        return RC_OK;
    }
    if (x->type.kind == TYPE_NULL || y->type.kind == TYPE_NULL) {
        struct type other = x->type.kind == TYPE_NULL ? y->type : x->type;

        if (!type_is_numeric(other.kind)) {
            *out = node_null(
                b, is_temporal(other.kind) || is_interval(other.kind) ? other : type_of(TYPE_INT),
                pos);
            return RC_OK;
        }
        x = x->type.kind == TYPE_NULL ? node_null(b, other, pos) : x;
        y = y->type.kind == TYPE_NULL ? node_null(b, other, pos) : y;
    }
    if (is_temporal(x->type.kind) || is_temporal(y->type.kind) || is_interval(x->type.kind) ||
        is_interval(y->type.kind))
        return bind_time_arithmetic(b, op, pos, x, y, out);
    if (!type_is_numeric(x->type.kind) || !type_is_numeric(y->type.kind)) {
        struct expr *bad = type_is_numeric(x->type.kind) ? y : x;

        return bind_error(b, bad->pos.line == 0 ? pos : bad->pos, RC_INVALID,
                          "%s in arithmetic, expected a number%s",
                          type_str(b->arena, bad->type, false),
                          type_is_text(bad->type.kind) ? ": write CAST(... AS ...)" : "");
    }
    t = op == OP_MUL   ? type_mul(x->type, y->type)
        : op == OP_DIV ? type_div(x->type, y->type)
        : op == OP_MOD ? type_mod(x->type, y->type)
                       : type_add(x->type, y->type);
    work = t;
    if (t.kind == TYPE_DECIMAL) {
        RETURN_IF_ERR(node_cast(b, x, type_decimal_of(x->type), false, pos, &x));
        RETURN_IF_ERR(node_cast(b, y, type_decimal_of(y->type), false, pos, &y));
    } else {
        if (!type_common(x->type, y->type, &work))
            return bind_error(b, pos, RC_INVALID, "no common type");
        RETURN_IF_ERR(node_cast(b, x, work, false, pos, &x));
        RETURN_IF_ERR(node_cast(b, y, work, false, pos, &y));
    }
    if ((op == OP_ADD || op == OP_MUL) && out_of_order(x, y))
        swap_exprs(&x, &y);
    work.nullable = t.nullable;
    return node_cast(b, node_done(b, node_call(b, funcs[op], work, pos, x, y)), t, false, pos, out);
}

/* ---- logic ----------------------------------------------------------------------------------- */

enum rc bind_condition(struct bind *b, const struct ast_expr *ast, struct expr **out)
{
    RETURN_IF_ERR(bind_expr(b, ast, out));
    if ((*out)->type.kind == TYPE_NULL)
        *out = node_null(b, type_of(TYPE_BOOLEAN), ast->pos);
    if ((*out)->type.kind != TYPE_BOOLEAN)
        return bind_error(b, ast->pos, RC_INVALID, "%s, expected a condition (BOOLEAN)",
                          type_str(b->arena, (*out)->type, false));
    return RC_OK;
}

static struct expr *logic(struct bind *b, enum node_kind kind, struct sql_pos pos, struct expr *x,
                          struct expr *y)
{
    struct type t = {.kind = TYPE_BOOLEAN, .nullable = x->type.nullable || y->type.nullable};
    struct expr *e = node_new(b, kind, t, pos, 2);

    e->args[0] = x;
    e->args[1] = y;
    return node_done(b, e);
}

struct expr *bind_not(struct bind *b, struct expr *x, struct sql_pos pos)
{
    struct expr *e;

    if (x->kind == NODE_CALL && x->func == &func_not)
        return x->args[0];
    e = arena_copy(b->arena, x, sizeof *x);
    if (x->kind == NODE_CALL && x->func == &func_compare &&
        (x->param == OP_EQ || x->param == OP_NE)) {
        e->param = x->param == OP_EQ ? OP_NE : OP_EQ;
        return e;
    }
    if (x->kind == NODE_CALL && (x->func == &func_is_null || x->func == &func_distinct)) {
        e->param = !x->param;
        return e;
    }
    if (x->kind == NODE_CALL && x->func == &func_is_bool) {
        e->param ^= 16;
        return e;
    }
    if (x->kind == NODE_IN) {
        e->negated = !x->negated;
        return e;
    }
    return node_done(b, node_call(b, &func_not, x->type, pos, x, NULL));
}

static enum rc bind_unary(struct bind *b, const struct ast_expr *ast, struct expr **out)
{
    struct expr *x;

    if (ast->op == OP_NOT) {
        RETURN_IF_ERR(bind_condition(b, ast->args[0], &x));
        *out = bind_not(b, x, ast->pos);
        return RC_OK;
    }
    /* -9223372036854775808 is a BIGINT although its digits alone are none. */
    if (ast->op == OP_NEG && ast->args[0]->kind == EXPR_LITERAL &&
        ast->args[0]->literal == LIT_INT) {
        struct ast_expr literal = *ast->args[0];

        literal.text = arena_printf(b->arena, "-%.*s", (int)literal.text_len, literal.text);
        literal.text_len++;
        literal.pos = ast->pos;
        if (number_parse_int(bytes_of(literal.text, literal.text_len), INT64_MIN, INT64_MAX,
                             &(int64_t){0}, NULL) == RC_OK)
            return bind_literal(b, &literal, out);
    }
    RETURN_IF_ERR(bind_expr(b, ast->args[0], &x));
    if (x->type.kind == TYPE_NULL)
        x = node_null(b, type_of(TYPE_INT), ast->pos);
    if (!type_is_numeric(x->type.kind) && !is_interval(x->type.kind))
        return bind_error(b, ast->args[0]->pos, RC_INVALID, "%s behind a sign, expected a number",
                          type_str(b->arena, x->type, false));
    *out =
        ast->op == OP_POS ? x : node_done(b, node_call(b, &func_neg, x->type, ast->pos, x, NULL));
    return RC_OK;
}

static enum rc bind_binary(struct bind *b, const struct ast_expr *ast, struct expr **out)
{
    struct expr *x, *y;

    if (ast->op == OP_AND || ast->op == OP_OR) {
        RETURN_IF_ERR(bind_condition(b, ast->args[0], &x));
        RETURN_IF_ERR(bind_condition(b, ast->args[1], &y));
        *out = logic(b, ast->op == OP_AND ? NODE_AND : NODE_OR, ast->pos, x, y);
        return RC_OK;
    }
    RETURN_IF_ERR(bind_expr(b, ast->args[0], &x));
    RETURN_IF_ERR(bind_expr(b, ast->args[1], &y));
    switch (ast->op) {
    case OP_CONCAT: {
        struct type t = type_of(TYPE_VARCHAR);

        for (int i = 0; i < 2; i++) {
            struct expr **side = i == 0 ? &x : &y;

            if ((*side)->type.kind == TYPE_NULL)
                *side = node_null(b, t, ast->pos);
            if (!type_is_text((*side)->type.kind))
                return bind_error(b, (*side)->pos, RC_INVALID,
                                  "%s beside ||, expected text: write CAST(... AS STRING)",
                                  type_str(b->arena, (*side)->type, false));
        }
        t.nullable = x->type.nullable || y->type.nullable;
        *out = node_done(b, node_call(b, &func_concat_op, t, ast->pos, x, y));
        return RC_OK;
    }
    case OP_EQ:
    case OP_NE:
    case OP_LT:
    case OP_LE:
    case OP_GT:
    case OP_GE:
        return bind_compare(b, ast->op, ast->pos, x, y, out);
    default:
        return bind_arithmetic(b, ast->op, ast->pos, x, y, out);
    }
}

static enum rc bind_is(struct bind *b, const struct ast_expr *ast, struct expr **out)
{
    struct type t = {.kind = TYPE_BOOLEAN};
    struct expr *x, *y, *e;

    if (ast->is == IS_NULL || ast->is == IS_DISTINCT_FROM) {
        RETURN_IF_ERR(bind_expr(b, ast->args[0], &x));
    } else {
        RETURN_IF_ERR(bind_condition(b, ast->args[0], &x));
    }
    switch (ast->is) {
    case IS_DISTINCT_FROM:
        RETURN_IF_ERR(bind_expr(b, ast->args[1], &y));
        RETURN_IF_ERR(comparable(b, ast->pos, &x, &y));
        if (out_of_order(x, y))
            swap_exprs(&x, &y);
        e = node_call(b, &func_distinct, t, ast->pos, x, y);
        e->param = ast->negated;
        break;
    case IS_TRUE:
    case IS_FALSE:
        e = node_call(b, &func_is_bool, t, ast->pos, x, NULL);
        e->param = (int32_t)ast->is + (ast->negated ? 16 : 0);
        break;
    default: /* NULL and UNKNOWN */
        e = node_call(b, &func_is_null, t, ast->pos, x, NULL);
        e->param = ast->negated;
        break;
    }
    *out = node_done(b, e);
    return RC_OK;
}

static enum rc bind_range(struct bind *b, struct sql_pos pos, struct expr *x, struct expr *low,
                          struct expr *high, struct expr **out)
{
    struct expr *from, *to;

    RETURN_IF_ERR(bind_compare(b, OP_GE, pos, x, low, &from));
    RETURN_IF_ERR(bind_compare(b, OP_LE, pos, x, high, &to));
    *out = logic(b, NODE_AND, pos, from, to);
    return RC_OK;
}

static enum rc bind_between(struct bind *b, const struct ast_expr *ast, struct expr **out)
{
    struct expr *x, *low, *high, *other;

    RETURN_IF_ERR(bind_expr(b, ast->args[0], &x));
    RETURN_IF_ERR(bind_expr(b, ast->args[1], &low));
    RETURN_IF_ERR(bind_expr(b, ast->args[2], &high));
    RETURN_IF_ERR(bind_range(b, ast->pos, x, low, high, out));
    if (ast->symmetric) {
        RETURN_IF_ERR(bind_range(b, ast->pos, x, high, low, &other));
        *out = logic(b, NODE_OR, ast->pos, *out, other);
    }
    if (ast->negated)
        *out = bind_not(b, *out, ast->pos);
    return RC_OK;
}

static enum rc bind_in(struct bind *b, const struct ast_expr *ast, struct expr **out)
{
    struct expr **items = ARENA_ARRAY(b->arena, ast->arg_count, struct expr *), *e;
    bool constant = true, null = false;
    struct type t;

    if (ast->arg_count > LIST_MAX)
        return bind_error(b, ast->pos, RC_LIMIT, "IN with %u values, at most %u", ast->arg_count,
                          LIST_MAX);
    for (uint32_t i = 0; i < ast->arg_count; i++)
        RETURN_IF_ERR(bind_expr(b, ast->args[i], &items[i]));
    RETURN_IF_ERR(bind_unify(b, items, ast->arg_count, "IN", &t));
    for (uint32_t i = 1; i < ast->arg_count; i++) {
        constant &= items[i]->kind == NODE_CONST;
        null |= items[i]->type.nullable;
    }
    if (t.kind == TYPE_NULL) {
        *out = node_null(b, type_of(TYPE_BOOLEAN), ast->pos);
        return RC_OK;
    }
    if (!constant) { /* x = a OR x = b ... */
        *out = NULL;
        for (uint32_t i = 1; i < ast->arg_count; i++) {
            RETURN_IF_ERR(bind_compare(b, OP_EQ, ast->pos, items[0], items[i], &e));
            *out = *out == NULL ? e : logic(b, NODE_OR, ast->pos, *out, e);
        }
        if (ast->negated)
            *out = bind_not(b, *out, ast->pos);
        return RC_OK;
    }
    e = node_new(b, NODE_IN,
                 (struct type){.kind = TYPE_BOOLEAN, .nullable = items[0]->type.nullable || null},
                 ast->pos, 1);
    e->args[0] = items[0];
    e->negated = ast->negated;
    e->set = set_new(b, t, items + 1, ast->arg_count - 1);
    *out = node_done(b, e);
    return RC_OK;
}

static enum rc bind_like(struct bind *b, const struct ast_expr *ast, struct expr **out)
{
    struct ast_expr call = *ast;

    call.kind = EXPR_CALL;
    call.name = "LIKE";
    RETURN_IF_ERR(bind_call(b, &call, out));
    if (ast->negated)
        *out = bind_not(b, *out, ast->pos);
    return RC_OK;
}

/* ---- CASE, CAST ------------------------------------------------------------------------------ */

enum rc bind_case(struct bind *b, const struct ast_expr *ast, struct expr **out)
{
    uint32_t first = ast->case_operand ? 1 : 0;
    uint32_t whens = (ast->arg_count - first - (ast->case_else ? 1 : 0)) / 2;
    struct expr *operand = NULL, *e, **results = ARENA_ARRAY(b->arena, whens + 1, struct expr *);
    struct type t;

    if (ast->arg_count > LIST_MAX)
        return bind_error(b, ast->pos, RC_LIMIT, "CASE with %u operands, at most %u",
                          ast->arg_count, LIST_MAX);
    e = node_new(b, NODE_CASE, type_of(TYPE_NULL), ast->pos, whens * 2 + 1);
    if (ast->case_operand)
        RETURN_IF_ERR(bind_expr(b, ast->args[0], &operand));
    for (uint32_t i = 0; i < whens; i++) {
        const struct ast_expr *when = ast->args[first + 2 * i];

        if (operand != NULL) {
            struct expr *value;

            RETURN_IF_ERR(bind_expr(b, when, &value));
            RETURN_IF_ERR(bind_compare(b, OP_EQ, when->pos, operand, value, &e->args[2 * i]));
        } else {
            RETURN_IF_ERR(bind_condition(b, when, &e->args[2 * i]));
        }
        RETURN_IF_ERR(bind_expr(b, ast->args[first + 2 * i + 1], &results[i]));
    }
    if (ast->case_else)
        RETURN_IF_ERR(bind_expr(b, ast->args[ast->arg_count - 1], &results[whens]));
    else
        results[whens] = node_null(b, type_of(TYPE_NULL), ast->pos);
    RETURN_IF_ERR(bind_unify(b, results, whens + 1, "CASE", &t));
    for (uint32_t i = 0; i < whens; i++)
        e->args[2 * i + 1] = results[i];
    e->args[2 * whens] = results[whens];
    e->type = t;
    *out = t.kind == TYPE_NULL ? node_null(b, t, ast->pos) : node_done(b, e);
    return RC_OK;
}

static enum rc bind_cast(struct bind *b, const struct ast_expr *ast, struct expr **out)
{
    struct expr *x;

    RETURN_IF_ERR(bind_expr(b, ast->args[0], &x));
    return node_cast(b, x, ast->type, ast->try_cast, ast->pos, out);
}

enum rc bind_expr(struct bind *b, const struct ast_expr *ast, struct expr **out)
{
    switch (ast->kind) {
    case EXPR_LITERAL:
        return bind_literal(b, ast, out);
    case EXPR_COLUMN:
        return bind_column(b, ast, out);
    case EXPR_STAR:
        return bind_error(b, ast->pos, RC_INVALID,
                          "* stands only in a select list and in COUNT(*)");
    case EXPR_UNARY:
        return bind_unary(b, ast, out);
    case EXPR_BINARY:
        return bind_binary(b, ast, out);
    case EXPR_IS:
        return bind_is(b, ast, out);
    case EXPR_BETWEEN:
        return bind_between(b, ast, out);
    case EXPR_IN:
        return bind_in(b, ast, out);
    case EXPR_LIKE:
        return bind_like(b, ast, out);
    case EXPR_CASE:
        return bind_case(b, ast, out);
    case EXPR_CAST:
        return bind_cast(b, ast, out);
    case EXPR_CALL:
        return bind_call(b, ast, out);
    case EXPR_INTERVAL:
        return bind_interval(b, ast, out);
    }
    return bind_error(b, ast->pos, RC_UNSUPPORTED, "this expression is not supported");
}
