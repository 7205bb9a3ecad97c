/* expr_call.c - function calls: finds the function, checks and casts its arguments by their
 * letters, and the functions that are made of other nodes (COALESCE, IF, NULLIF ...). Letters:
 * struct func in expr_priv.h. */
#include "job/sql/expr_bind_priv.h"

#include "job/sql/sql_error.h"

static const struct func *const tables[] = {math_funcs, text_funcs, time_funcs, hash_funcs};

static const struct func *find_func(const char *name)
{
    for (size_t t = 0; t < ARRAY_LEN(tables); t++) {
        for (const struct func *f = tables[t]; f->name != NULL; f++) {
            if (strcmp(f->name, name) == 0)
                return f;
        }
    }
    return NULL;
}

static const char *const aggregates[] = {
    "COUNT",          "SUM",          "MIN",        "MAX",         "AVG",          "FIRST_VALUE",
    "LAST_VALUE",     "LISTAGG",      "STDDEV_POP", "STDDEV_SAMP", "STDDEV",       "VAR_POP",
    "VAR_SAMP",       "VARIANCE",     "COLLECT",    "RANK",        "DENSE_RANK",   "ROW_NUMBER",
    "LEAD",           "LAG",          "NTILE",      "CUME_DIST",   "PERCENT_RANK", "ARRAY_AGG",
    "JSON_OBJECTAGG", "JSON_ARRAYAGG"};

bool expr_is_aggregate_name(const char *upper_name)
{
    for (size_t i = 0; i < ARRAY_LEN(aggregates); i++) {
        if (strcmp(aggregates[i], upper_name) == 0)
            return true;
    }
    return false;
}

bool func_is_niladic(const char *upper_name)
{
    static const char *const names[] = {"CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP",
                                        "LOCALTIME", "LOCALTIMESTAMP"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (strcmp(names[i], upper_name) == 0)
            return true;
    }
    return false;
}

/* ---- functions that are not there ------------------------------------------------------------ */

/* Known names that are refused, and why. */
static const struct {
    const char *name, *why;
} refused[] = {
    {"RAND", "RAND without a seed is not repeatable after a restore: rows that are read again "
             "would get other values; use a "
             "datagen column, or a hash of a key"},
    {"RAND_INTEGER",
     "random numbers are not repeatable after a restore; use a datagen column, or a hash of a key"},
    {"UUID", "UUID() is not repeatable after a restore; use a hash of a key, e.g. MD5(k)"},
    {"REGEXP",
     "regular expressions are not supported; LIKE, POSITION, SPLIT_INDEX and REPLACE are"},
    {"REGEXP_EXTRACT",
     "regular expressions are not supported; SUBSTRING, POSITION and SPLIT_INDEX are"},
    {"REGEXP_REPLACE", "regular expressions are not supported; REPLACE is"},
    {"JSON_VALUE", "JSON functions are not supported: declare the field as a column of the table"},
    {"JSON_QUERY", "JSON functions are not supported: declare the field as a column of the table"},
    {"JSON_EXISTS", "JSON functions are not supported: declare the field as a column of the table"},
    {"CURRENT_WATERMARK", "CURRENT_WATERMARK is not supported"},
    {"CARDINALITY", "ARRAY and MAP are not supported"},
    {"ELEMENT", "ARRAY and MAP are not supported"},
    {"ROW", "ROW values are not supported"},
    {"ARRAY", "ARRAY and MAP are not supported"},
    {"MAP", "ARRAY and MAP are not supported"},
};

static enum rc no_such_function(struct bind *b, const struct ast_expr *ast)
{
    const char *names[400];
    char hint[SQL_HINT_MAX];
    size_t count = 0;

    if (expr_is_aggregate_name(ast->name))
        return bind_error(b, ast->pos, RC_INVALID,
                          "the aggregate %s is not possible here, only in the select list and in "
                          "HAVING of a query with GROUP BY",
                          ast->name);
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        if (strcmp(refused[i].name, ast->name) == 0)
            return bind_error(b, ast->pos, RC_UNSUPPORTED, "%s: %s", ast->name, refused[i].why);
    }
    for (size_t t = 0; t < ARRAY_LEN(tables); t++) {
        for (const struct func *f = tables[t]; f->name != NULL && count < ARRAY_LEN(names); f++)
            names[count++] = f->name;
    }
    return bind_error(b, ast->pos, RC_INVALID, "no function %s%s", ast->name,
                      sql_nearest_hint(hint, ast->name, names, count));
}

/* ---- arguments ------------------------------------------------------------------------------- */

static const char *wanted(char letter)
{
    switch (letter) {
    case 's':
        return "text";
    case 'y':
        return "text or binary";
    case 'i':
        return "an integer";
    case 'n':
    case 'd':
        return "a number";
    case 'b':
        return "a BOOLEAN";
    case 't':
        return "a date or timestamp";
    default:
        return "a value";
    }
}

static struct type default_type(char letter)
{
    switch (letter) {
    case 's':
        return type_of(TYPE_VARCHAR);
    case 'y':
        return type_of(TYPE_VARBINARY);
    case 'i':
        return type_of(TYPE_BIGINT);
    case 'd':
        return type_of(TYPE_DOUBLE);
    case 'n':
        return type_of(TYPE_INT);
    case 'b':
        return type_of(TYPE_BOOLEAN);
    case 't':
        return (struct type){.kind = TYPE_TIMESTAMP, .nullable = true, .precision = 3};
    default:
        return type_of(TYPE_NULL);
    }
}

static bool fits_letter(char letter, struct type t)
{
    switch (letter) {
    case 's':
        return type_is_text(t.kind);
    case 'y':
        return type_is_varlen(t.kind);
    case 'i':
        return type_is_integer(t.kind);
    case 'n':
    case 'd':
        return type_is_numeric(t.kind);
    case 'b':
        return t.kind == TYPE_BOOLEAN;
    case 't':
        return t.kind == TYPE_DATE || t.kind == TYPE_TIME || type_is_timestamp(t.kind) ||
               type_is_text(t.kind);
    default:
        return true;
    }
}

static enum rc check_argument(struct bind *b, const struct func *f, char letter, uint32_t index,
                              struct expr **arg)
{
    struct expr *x = *arg;
    struct sql_pos pos = x->pos;

    if (x->type.kind == TYPE_NULL && letter != 'x' && letter != 'c') {
        *arg = node_null(b, default_type(letter), pos);
        return RC_OK;
    }
    if (!fits_letter(letter, x->type))
        return bind_error(b, pos, RC_INVALID, "%s: argument %u is %s, expected %s", f->name,
                          index + 1, type_str(b->arena, x->type, false), wanted(letter));
    if (letter == 'd' || (letter == 't' && type_is_text(x->type.kind)))
        return node_cast(b, x, default_type(letter), false, pos, arg);
    return RC_OK;
}

/* Counts what f takes: "s?s*" is 1 .. any. */
static void arity(const struct func *f, uint32_t *min, uint32_t *max)
{
    bool optional = false;

    *min = *max = 0;
    for (const char *p = f->args; *p != '\0'; p++) {
        if (*p == '?') {
            optional = true;
        } else if (*p == '*') {
            *max = 10000;
        } else {
            (*max)++;
            *min += optional ? 0 : 1;
        }
    }
}

static enum rc check_arguments(struct bind *b, const struct func *f, const struct ast_expr *ast,
                               struct expr *e)
{
    const char *letter = f->args;
    uint32_t min, max, common = UINT32_MAX;
    struct type t;

    arity(f, &min, &max);
    if (e->arg_count < min || e->arg_count > max) {
        if (min == max)
            return bind_error(b, ast->pos, RC_INVALID, "%s with %u arguments, expected %u", f->name,
                              e->arg_count, min);
        return bind_error(b, ast->pos, RC_INVALID, "%s with %u arguments, expected %u%s%s", f->name,
                          e->arg_count, min, max >= 10000 ? " or more" : " to ",
                          max >= 10000 ? "" : arena_printf(b->arena, "%u", max));
    }
    for (uint32_t i = 0; i < e->arg_count; i++) {
        while (*letter == '?')
            letter++;
        if (*letter == 'c' && common == UINT32_MAX)
            common = i;
        RETURN_IF_ERR(check_argument(b, f, *letter, i, &e->args[i]));
        if (letter[1] != '*' && letter[1] != '\0')
            letter++;
    }
    if (common != UINT32_MAX) {
        RETURN_IF_ERR(bind_unify(b, e->args + common, e->arg_count - common, f->name, &t));
        e->type = t;
    }
    return RC_OK;
}

static struct type result_type(const struct func *f, const struct expr *e)
{
    struct type t;
    bool null = false;

    switch (f->result) {
    case 's':
        t = type_of(TYPE_VARCHAR);
        break;
    case 'y':
        t = type_of(TYPE_VARBINARY);
        break;
    case 'b':
        t = type_of(TYPE_BOOLEAN);
        break;
    case 'i':
        t = type_of(TYPE_INT);
        break;
    case 'l':
        t = type_of(TYPE_BIGINT);
        break;
    case 'd':
        t = type_of(TYPE_DOUBLE);
        break;
    case 'D':
        t = type_of(TYPE_DATE);
        break;
    case 'M':
        t = type_of(TYPE_TIME);
        break;
    case 'T':
    case 'Z':
        t = type_of(f->result == 'T' ? TYPE_TIMESTAMP : TYPE_TIMESTAMP_LTZ);
        t.precision = 3;
        break;
    case '0':
    case '1':
        t = e->args[f->result - '0']->type;
        break;
    default:
        t = e->type;
        break;
    }
    for (uint32_t i = 0; i < e->arg_count; i++)
        null |= e->args[i]->type.nullable;
    t.nullable = (f->flags & FUNC_NOT_NULL) == 0 && (null || (f->flags & FUNC_NULLABLE) != 0);
    return t;
}

/* ---- functions made of other nodes ----------------------------------------------------------- */

static enum rc bind_coalesce(struct bind *b, const struct ast_expr *ast, struct expr **args,
                             struct expr **out)
{
    struct expr *e;
    struct type t;
    bool null = true;

    if (ast->arg_count == 0)
        return bind_error(b, ast->pos, RC_INVALID, "%s without arguments, expected at least one",
                          ast->name);
    RETURN_IF_ERR(bind_unify(b, args, ast->arg_count, ast->name, &t));
    for (uint32_t i = 0; i < ast->arg_count; i++)
        null &= args[i]->type.nullable;
    t.nullable = null;
    e = node_new(b, NODE_COALESCE, t, ast->pos, ast->arg_count);
    memcpy(e->args, args, ast->arg_count * sizeof *args);
    *out = t.kind == TYPE_NULL ? args[0] : ast->arg_count == 1 ? args[0] : node_done(b, e);
    return RC_OK;
}

static enum rc make_if(struct bind *b, struct sql_pos pos, struct expr *when, struct expr *then,
                       struct expr *other, const char *what, struct expr **out)
{
    struct expr *results[2] = {then, other}, *e;
    struct type t;

    RETURN_IF_ERR(bind_unify(b, results, 2, what, &t));
    if (t.kind == TYPE_NULL) {
        *out = results[0];
        return RC_OK;
    }
    e = node_new(b, NODE_CASE, t, pos, 3);
    e->args[0] = when;
    e->args[1] = results[0];
    e->args[2] = results[1];
    *out = node_done(b, e);
    return RC_OK;
}

/* TIMESTAMPADD(unit, n, t) is t + n * INTERVAL '1' unit. */
static enum rc bind_timestampadd(struct bind *b, const struct ast_expr *ast, struct expr **args,
                                 struct expr **out)
{
    struct ast_expr one = *ast;
    struct expr *interval, *by;

    if (ast->arg_count != 2 || ast->unit == NULL)
        return bind_error(b, ast->pos, RC_INVALID, "TIMESTAMPADD, expected (unit, number, time)");
    one.kind = EXPR_INTERVAL;
    one.text = "1";
    one.text_len = 1;
    RETURN_IF_ERR(bind_interval(b, &one, &interval));
    if (type_is_text(args[1]->type.kind))
        RETURN_IF_ERR(check_argument(b, &(struct func){.name = "TIMESTAMPADD"}, 't', 1, &args[1]));
    RETURN_IF_ERR(bind_arithmetic(b, OP_MUL, ast->pos, interval, args[0], &by));
    return bind_arithmetic(b, OP_ADD, ast->pos, args[1], by, out);
}

/* COALESCE, IFNULL, NULLIF, IF, MOD, TIMESTAMPADD; *done false: another function. */
static enum rc bind_made_of_others(struct bind *b, const struct ast_expr *ast, struct expr **args,
                                   struct expr **out, bool *done)
{
    bool ifnull = strcmp(ast->name, "IFNULL") == 0, nullif = strcmp(ast->name, "NULLIF") == 0;
    bool iff = strcmp(ast->name, "IF") == 0, mod = strcmp(ast->name, "MOD") == 0;

    *done = true;
    if (strcmp(ast->name, "COALESCE") == 0 || (ifnull && ast->arg_count == 2))
        return bind_coalesce(b, ast, args, out);
    if ((ifnull || nullif || mod) && ast->arg_count != 2)
        return bind_error(b, ast->pos, RC_INVALID, "%s with %u arguments, expected 2", ast->name,
                          ast->arg_count);
    if (strcmp(ast->name, "TIMESTAMPADD") == 0)
        return bind_timestampadd(b, ast, args, out);
    if (mod)
        return bind_arithmetic(b, OP_MOD, ast->pos, args[0], args[1], out);
    if (nullif) { /* CASE WHEN a = b THEN NULL ELSE a END */
        struct expr *equal;

        RETURN_IF_ERR(bind_compare(b, OP_EQ, ast->pos, args[0], args[1], &equal));
        return make_if(b, ast->pos, equal, node_null(b, args[0]->type, ast->pos), args[0], "NULLIF",
                       out);
    }
    if (iff) {
        if (ast->arg_count != 3)
            return bind_error(b, ast->pos, RC_INVALID, "IF with %u arguments, expected 3",
                              ast->arg_count);
        RETURN_IF_ERR(bind_condition(b, ast->args[0], &args[0]));
        return make_if(b, ast->pos, args[0], args[1], args[2], "IF", out);
    }
    *done = false;
    return RC_OK;
}

enum rc bind_call(struct bind *b, const struct ast_expr *ast, struct expr **out)
{
    struct expr **args = ARENA_ARRAY(b->arena, ast->arg_count + 1, struct expr *), *e;
    const struct func *f = find_func(ast->name);
    bool done;

    if (ast->arg_count > 60000)
        return bind_error(b, ast->pos, RC_LIMIT, "%s with %u arguments, at most 60000", ast->name,
                          ast->arg_count);
    if (f != NULL && (ast->distinct || ast->filter != NULL))
        return bind_error(b, ast->pos, RC_INVALID, "%s is no aggregate: %s is not possible",
                          ast->name, ast->distinct ? "DISTINCT" : "FILTER");
    if (f == NULL && expr_is_aggregate_name(ast->name))
        return no_such_function(b, ast);
    for (uint32_t i = 0; i < ast->arg_count; i++)
        RETURN_IF_ERR(bind_expr(b, ast->args[i], &args[i]));
    if (f == NULL) {
        RETURN_IF_ERR(bind_made_of_others(b, ast, args, out, &done));
        return done ? RC_OK : no_such_function(b, ast);
    }
    e = node_new(b, NODE_CALL, type_of(TYPE_NULL), ast->pos, ast->arg_count);
    e->func = f;
    e->param = f->param;
    memcpy(e->args, args, ast->arg_count * sizeof *args);
    RETURN_IF_ERR(check_arguments(b, f, ast, e));
    e->type = result_type(f, e);
    if (f->bind != NULL)
        RETURN_IF_ERR(f->bind(b, ast, e));
    *out = node_done(b, e);
    return RC_OK;
}
