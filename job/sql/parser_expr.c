/* parser_expr.c - builders of expressions; called by grammar.y. */
#include "job/sql/grammar.h"
#include "job/sql/parser_priv.h"

#include <strings.h>

static struct ast_expr *expr_node(struct sql_parse *p, enum ast_expr_kind kind, struct sql_pos pos)
{
    struct ast_expr *e = ARENA_NEW(p->arena, struct ast_expr);

    e->kind = kind;
    e->pos = pos;
    e->height = 1;
    return e;
}

static void grow(struct sql_parse *p, struct ast_expr *e, const struct ast_expr *operand)
{
    if (operand == NULL || operand->height < e->height)
        return;
    if (operand->height >= SQL_EXPR_HEIGHT_MAX)
        parse_fail(p, RC_LIMIT, e->pos, "the expression is nested more than %d deep",
                   SQL_EXPR_HEIGHT_MAX);
    else
        e->height = (uint16_t)(operand->height + 1);
}

static void set_args(struct sql_parse *p, struct ast_expr *e, uint32_t count,
                     struct ast_expr *const *args)
{
    e->arg_count = count;
    e->args = ARENA_ARRAY(p->arena, count, struct ast_expr *);
    for (uint32_t i = 0; i < count; i++) {
        e->args[i] = args[i];
        grow(p, e, args[i]);
    }
}

/* At least one argument, at most three; NULL ends the list. */
static struct ast_expr *expr_with(struct sql_parse *p, enum ast_expr_kind kind, struct sql_pos pos,
                                  struct ast_expr *a, struct ast_expr *b, struct ast_expr *c)
{
    struct ast_expr *e = expr_node(p, kind, pos), *args[] = {a, b, c};

    set_args(p, e, c != NULL ? 3 : b != NULL ? 2 : 1, args);
    return e;
}

static const char *upper(struct sql_parse *p, const struct sql_token *t)
{
    char *out = arena_strndup(p->arena, t->text, t->len);

    for (char *c = out; *c != '\0'; c++)
        if (*c >= 'a' && *c <= 'z')
            *c = (char)(*c - 32);
    return out;
}

struct ast_expr *parse_literal(struct sql_parse *p, enum literal_kind kind,
                               const struct sql_token *t)
{
    struct ast_expr *e = expr_node(p, EXPR_LITERAL, t->pos);

    e->literal = kind;
    e->text = kind == LIT_BOOL ? upper(p, t) : t->text;
    e->text_len = t->len;
    if (kind == LIT_BINARY &&
        (t->len % 2 != 0 || strspn(t->text, "0123456789abcdefABCDEF") != t->len))
        parse_fail(p, RC_INVALID, t->pos, "X'...' takes pairs of hexadecimal digits");
    return e;
}

/* Upper case, without the plural's S: "SECOND". */
static const char *unit_of(struct sql_parse *p, const struct sql_token *t)
{
    static const char *const plurals[] = {"YEARS",        "QUARTERS",     "MONTHS",     "WEEKS",
                                          "DAYS",         "HOURS",        "MINUTES",    "SECONDS",
                                          "MILLISECONDS", "MICROSECONDS", "NANOSECONDS"};
    char *unit = (char *)upper(p, t);

    for (size_t i = 0; i < ARRAY_LEN(plurals); i++)
        if (strcmp(unit, plurals[i]) == 0)
            unit[strlen(unit) - 1] = '\0';
    return unit;
}

static const char *const interval_units[] = {
    "YEAR",          "QUARTER",       "MONTH",          "WEEK",           "DAY",
    "HOUR",          "MINUTE",        "SECOND",         "YEAR TO MONTH",  "DAY TO HOUR",
    "DAY TO MINUTE", "DAY TO SECOND", "HOUR TO MINUTE", "HOUR TO SECOND", "MINUTE TO SECOND"};

static uint8_t interval_precision(struct sql_parse *p, const struct sql_token *t)
{
    if (t->kind == 0)
        return 0;
    if (t->len != 1 || t->text[0] == '0')
        parse_fail(p, RC_INVALID, t->pos,
                   "the precision of an interval's unit must be between 1 and 9");
    return (uint8_t)(t->text[0] - '0');
}

struct ast_expr *parse_interval(struct sql_parse *p, const struct sql_token *at, bool negative,
                                const struct sql_token *text, const struct unit_parts *unit)
{
    struct ast_expr *e = expr_node(p, EXPR_INTERVAL, at->pos);
    bool two = unit->last.kind != 0;
    size_t i;

    e->text = text->text;
    if (negative)
        e->text = text->text[0] == '-' ? text->text + 1 : arena_printf(p->arena, "-%s", text->text);
    e->text_len = strlen(e->text);
    e->unit = unit_of(p, &unit->first);
    if (two)
        e->unit = arena_printf(p->arena, "%s TO %s", e->unit, unit_of(p, &unit->last));
    e->interval_precision = interval_precision(
        p, two && unit->last_precision.kind != 0 ? &unit->last_precision : &unit->first_precision);
    for (i = 0; i < ARRAY_LEN(interval_units) && strcmp(e->unit, interval_units[i]) != 0; i++)
        ;
    if (i == ARRAY_LEN(interval_units)) {
        char hint[SQL_HINT_MAX];

        parse_fail(p, RC_INVALID, unit->first.pos, "%s is not a unit of intervals%s", e->unit,
                   sql_nearest_hint(hint, e->unit, interval_units, ARRAY_LEN(interval_units)));
    }
    return e;
}

struct ast_expr *parse_column_ref(struct sql_parse *p, const struct sql_token *qualifier,
                                  const struct sql_token *name)
{
    static const char *const constants[] = {"CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP",
                                            "LOCALTIME", "LOCALTIMESTAMP"};
    struct ast_expr *e;

    if (qualifier == NULL && !name->quoted)
        for (size_t i = 0; i < ARRAY_LEN(constants); i++)
            if (strcasecmp(name->text, constants[i]) == 0)
                return parse_call(p, name, false, NULL);
    e = expr_node(p, EXPR_COLUMN, qualifier != NULL ? qualifier->pos : name->pos);
    e->qualifier = qualifier == NULL ? NULL : qualifier->text;
    e->name = name->text;
    e->quoted = name->quoted;
    return e;
}

struct ast_expr *parse_star(struct sql_parse *p, const struct sql_token *at,
                            const struct sql_token *qualifier)
{
    struct ast_expr *e = expr_node(p, EXPR_STAR, at->pos);

    e->qualifier = qualifier == NULL ? NULL : qualifier->text;
    return e;
}

struct ast_expr *parse_unary(struct sql_parse *p, enum ast_op op, const struct sql_token *at,
                             struct ast_expr *operand)
{
    struct ast_expr *e = expr_with(p, EXPR_UNARY, at->pos, operand, NULL, NULL);

    e->op = op;
    return e;
}

struct ast_expr *parse_binary(struct sql_parse *p, enum ast_op op, const struct sql_token *at,
                              struct ast_expr *left, struct ast_expr *right)
{
    struct ast_expr *e = expr_with(p, EXPR_BINARY, at->pos, left, right, NULL);

    e->op = op;
    return e;
}

struct ast_expr *parse_is(struct sql_parse *p, const struct sql_token *at, struct ast_expr *operand,
                          bool negated, enum ast_is what, struct ast_expr *other)
{
    struct ast_expr *e = expr_with(p, EXPR_IS, at->pos, operand, other, NULL);

    e->is = what;
    e->negated = negated;
    return e;
}

struct ast_expr *parse_between(struct sql_parse *p, const struct sql_token *at,
                               struct ast_expr *operand, bool negated, bool symmetric,
                               struct ast_expr *low, struct ast_expr *high)
{
    struct ast_expr *e = expr_with(p, EXPR_BETWEEN, at->pos, operand, low, high);

    e->negated = negated;
    e->symmetric = symmetric;
    return e;
}

struct ast_expr *parse_in(struct sql_parse *p, const struct sql_token *at, struct ast_expr *operand,
                          bool negated, struct sql_list *list)
{
    struct ast_expr *e = expr_node(p, EXPR_IN, at->pos);
    struct sql_list *all = parse_list(p, NULL, operand);

    for (uint32_t i = 0; i < list->count; i++)
        parse_list(p, all, list->items[i]);
    set_args(p, e, all->count, (struct ast_expr *const *)all->items);
    e->negated = negated;
    return e;
}

struct ast_expr *parse_like_expr(struct sql_parse *p, const struct sql_token *at,
                                 struct ast_expr *operand, bool negated, struct ast_expr *pattern,
                                 struct ast_expr *escape)
{
    struct ast_expr *e = expr_with(p, EXPR_LIKE, at->pos, operand, pattern, escape);

    e->negated = negated;
    return e;
}

struct ast_expr *parse_case(struct sql_parse *p, const struct sql_token *at,
                            struct ast_expr *operand, struct sql_list *whens,
                            struct ast_expr *otherwise)
{
    struct ast_expr *e = expr_node(p, EXPR_CASE, at->pos);
    struct sql_list *all = operand == NULL ? NULL : parse_list(p, NULL, operand);

    for (uint32_t i = 0; i < whens->count; i++)
        all = parse_list(p, all, whens->items[i]);
    all = parse_list_if(p, all, otherwise);
    set_args(p, e, all->count, (struct ast_expr *const *)all->items);
    e->case_operand = operand != NULL;
    e->case_else = otherwise != NULL;
    return e;
}

struct ast_expr *parse_cast(struct sql_parse *p, const struct sql_token *at, bool try_cast,
                            struct ast_expr *operand, struct type type)
{
    struct ast_expr *e = expr_with(p, EXPR_CAST, at->pos, operand, NULL, NULL);

    e->try_cast = try_cast;
    e->type = type;
    return e;
}

struct ast_expr *parse_call(struct sql_parse *p, const struct sql_token *name, bool distinct,
                            struct sql_list *args)
{
    struct ast_expr *e = expr_node(p, EXPR_CALL, name->pos);

    e->name = upper(p, name);
    if (strcmp(e->name, "CEILING") == 0)
        e->name = "CEIL";
    e->distinct = distinct;
    if (args != NULL)
        set_args(p, e, args->count, (struct ast_expr *const *)args->items);
    return e;
}

struct ast_expr *parse_unit_call(struct sql_parse *p, const struct sql_token *name,
                                 const struct sql_token *unit, struct sql_list *args)
{
    struct ast_expr *e = parse_call(p, name, false, args);

    e->unit = unit_of(p, unit);
    return e;
}

struct ast_expr *parse_trim(struct sql_parse *p, const struct sql_token *name,
                            const struct sql_token *side, struct ast_expr *chars,
                            struct ast_expr *text)
{
    struct ast_expr *e =
        parse_call(p, name, false, parse_list_if(p, parse_list(p, NULL, text), chars));

    e->unit = side == NULL ? "BOTH" : upper(p, side);
    return e;
}

struct ast_expr *parse_filter(struct sql_parse *p, struct ast_expr *call,
                              struct ast_expr *condition)
{
    call->filter = condition;
    grow(p, call, condition);
    return call;
}
