/* expr_node.c - makes bound nodes: flags from the operands, casts, constant folding. See
 * expr_priv.h.
 *
 * What is constant and stable is computed at once; where that fails (1/0) the node stays, so that
 * the error comes only if a row reaches it. */
#include "job/sql/expr_priv.h"

#include <stdarg.h>
#include <stdio.h>

#define TEXT_SHOWN_MAX 160u
/* CHAR(n) and BINARY(n) are padded to n for each value. */
#define PADDED_LENGTH_MAX (1 << 20)

enum rc bind_error(struct bind *b, struct sql_pos pos, enum rc rc, const char *fmt, ...)
{
    char msg[ERR_MSG_MAX];
    va_list args;

    va_start(args, fmt);
    vsnprintf(msg, sizeof msg, fmt, args);
    va_end(args);
    if (pos.line == 0) /* a node that no text stands for */
        return err_set(b->err, rc, "%s", msg);
    return err_set(b->err, rc, "line %u column %u: %s", pos.line, pos.column, msg);
}

struct expr *node_new(struct bind *b, enum node_kind kind, struct type type, struct sql_pos pos,
                      uint32_t arg_count)
{
    struct expr *e = ARENA_NEW(b->arena, struct expr);

    e->kind = kind;
    e->type = type;
    e->pos = pos;
    e->arg_count = arg_count;
    e->args = ARENA_ARRAY(b->arena, arg_count + 1, struct expr *);
    e->stable = true;
    e->text = "";
    return e;
}

/* The node's own contribution to fallible and stable. */
static void own_flags(struct expr *e)
{
    switch (e->kind) {
    case NODE_CALL:
        e->fallible = (e->func->flags & FUNC_FALLIBLE) != 0;
        e->stable = (e->func->flags & FUNC_UNSTABLE) == 0;
        for (uint32_t i = 0; i < e->arg_count; i++) {
            if ((e->func->flags & FUNC_ZONED) != 0 && e->args[i]->type.kind == TYPE_TIMESTAMP_LTZ)
                e->stable = false;
        }
        break;
    case NODE_CAST:
        e->fallible = e->cast->fallible && !e->try_cast;
        e->stable = !e->cast->zone;
        break;
    case NODE_REQUIRE:
        e->fallible = true;
        e->stable = false;
        break;
    default:
        break;
    }
}

static struct expr *fold(struct bind *b, struct expr *e)
{
    struct expr_eval ev = {.arena = b->arena};
    struct rows one = {NULL, NULL, 1};
    struct expr *c;
    struct vec v;
    enum rc rc = eval_node(&ev, e, &one, &v, NULL);

    if (ev.upper_lower != (locale_t)0)
        freelocale(ev.upper_lower);
    if (rc != RC_OK)
        return e;
    v.single = true;
    v.c.type = e->type;
    c = node_new(b, NODE_CONST, e->type, e->pos, 0);
    c->value = v;
    if (vec_null(&v, 0))
        return node_null(b, e->type, e->pos);
    c->type.nullable = false;
    return c;
}

struct expr *node_done(struct bind *b, struct expr *e)
{
    bool constant = e->kind != NODE_COLUMN && e->kind != NODE_CONST;
    bool fails;

    own_flags(e);
    fails = e->fallible;
    for (uint32_t i = 0; i < e->arg_count; i++) {
        e->fallible |= e->args[i]->fallible;
        e->stable &= e->args[i]->stable;
        constant &= e->args[i]->kind == NODE_CONST;
    }
    if (fails) {
        struct buf text = {0};

        expr_print(e, NULL, &text);
        if (text.len > TEXT_SHOWN_MAX) {
            text.len = TEXT_SHOWN_MAX;
            while (text.len > 0 && (text.data[text.len - 1] & 0x80) != 0)
                text.len--; /* not in the middle of a code point */
            buf_append_str(&text, "...");
        }
        e->text = arena_strndup(b->arena, (const char *)text.data, text.len);
        buf_release(&text);
    }
    return constant && e->stable ? fold(b, e) : e;
}

struct expr *node_null(struct bind *b, struct type type, struct sql_pos pos)
{
    struct expr_eval ev = {.arena = b->arena};
    struct call c = {.ev = &ev, .n = 1};
    struct expr *e;

    type.nullable = true;
    e = node_new(b, NODE_CONST, type, pos, 0);
    out_begin(&c, type, 1, true);
    out_null(&c, 0);
    e->value = c.out;
    return e;
}

struct expr *node_int(struct bind *b, struct type type, int64_t v, struct sql_pos pos)
{
    struct expr_eval ev = {.arena = b->arena};
    struct call c = {.ev = &ev, .n = 1};
    struct expr *e;

    type.nullable = false;
    e = node_new(b, NODE_CONST, type, pos, 0);
    out_begin(&c, type, 1, true);
    out_int(&c, 0, v);
    e->value = c.out;
    return e;
}

struct expr *node_call(struct bind *b, const struct func *f, struct type type, struct sql_pos pos,
                       struct expr *x, struct expr *y)
{
    struct expr *e = node_new(b, NODE_CALL, type, pos, y == NULL ? 1 : 2);

    e->func = f;
    e->args[0] = x;
    if (y != NULL)
        e->args[1] = y;
    return e;
}

static struct expr *retyped(struct bind *b, const struct expr *e, struct type to)
{
    struct expr *x = arena_copy(b->arena, e, sizeof *e);

    to.nullable = e->type.nullable;
    x->type = to;
    if (x->kind == NODE_CONST)
        x->value.c.type = to;
    return x;
}

enum rc node_cast(struct bind *b, struct expr *e, struct type to, bool try_cast, struct sql_pos pos,
                  struct expr **out)
{
    const struct cast_rule *rule;
    struct expr *x;

    if (type_eq(e->type, to, false)) {
        *out = e;
        return RC_OK;
    }
    if (e->type.kind == TYPE_NULL) {
        *out = node_null(b, to, pos);
        return RC_OK;
    }
    rule = cast_find(e->type, to);
    if (rule == NULL)
        return bind_error(b, pos, RC_INVALID, "%s cannot be cast to %s%s",
                          type_str(b->arena, e->type, false), type_str(b->arena, to, false),
                          type_is_numeric(e->type.kind) && type_is_timestamp(to.kind)
                              ? ": use TO_TIMESTAMP_LTZ(number, 0 or 3)"
                              : "");
    if ((to.kind == TYPE_CHAR || to.kind == TYPE_BINARY) && to.length > PADDED_LENGTH_MAX)
        return bind_error(b, pos, RC_LIMIT, "%s: values would be padded to more than %d",
                          type_str(b->arena, to, false), PADDED_LENGTH_MAX);
    if (rule->keeps) {
        *out = retyped(b, e, to);
        return RC_OK;
    }
    to.nullable = e->type.nullable || try_cast;
    x = node_new(b, NODE_CAST, to, pos, 1);
    x->args[0] = e;
    x->cast = rule;
    x->try_cast = try_cast && rule->fallible;
    *out = node_done(b, x);
    return RC_OK;
}

struct expr *expr_new_column(struct arena *a, uint32_t index, struct type type)
{
    struct bind b = {a, NULL, NULL};
    struct expr *e = node_new(&b, NODE_COLUMN, type, (struct sql_pos){0}, 0);

    e->column = index;
    e->text = arena_printf(a, "$%u", index);
    return e;
}

struct type expr_type(const struct expr *e)
{
    return e->type;
}

int32_t expr_column(const struct expr *e)
{
    return e->kind == NODE_COLUMN ? (int32_t)e->column : -1;
}

bool expr_is_constant(const struct expr *e)
{
    if (e->kind == NODE_CONST)
        return true;
    if (e->kind == NODE_COLUMN || !e->stable)
        return false;
    for (uint32_t i = 0; i < e->arg_count; i++) {
        if (!expr_is_constant(e->args[i]))
            return false;
    }
    return true;
}
