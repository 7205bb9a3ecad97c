/* plan_query.c - SELECT and UNION ALL: projection, filter, DISTINCT; grouping is in plan_group.c.
 */
#include "job/sql/plan_priv.h"

#include <stdio.h>

static struct operator* make_calc(const void *spec)
{
    return calc_new(spec);
}

/* ---- select list ----------------------------------------------------------------------------- */

static enum rc expand_star(struct plan *p, const struct plan_stream *in,
                           const struct ast_expr *star, struct ast_select_item *items,
                           uint32_t *count)
{
    uint32_t before = *count;

    for (uint32_t i = 0; i < in->schema->field_count; i++) {
        const struct plan_field *f = &in->fields[i];

        if (star->qualifier != NULL &&
            (f->qualifier == NULL || strcmp(f->qualifier, star->qualifier) != 0))
            continue;
        items[(*count)++].expr =
            ast_column_new(p->arena, f->qualifier, in->schema->fields[i].name, star->pos);
    }
    if (*count == before)
        return sql_error_at(p->err, RC_INVALID, p->source, star->pos,
                            "there is no table or alias %s here",
                            star->qualifier == NULL ? "" : star->qualifier);
    return RC_OK;
}

/* Items with every star replaced by the columns it stands for. */
static enum rc expand_items(struct plan *p, const struct plan_stream *in, const struct ast_query *q,
                            uint32_t *out_count, struct ast_select_item **out)
{
    uint32_t cap = 0, count = 0;
    struct ast_select_item *items;

    for (uint32_t i = 0; i < q->item_count; i++)
        cap += q->items[i].expr->kind == EXPR_STAR ? in->schema->field_count : 1;
    if (cap > CATALOG_COLUMNS_MAX)
        return sql_error_at(p->err, RC_LIMIT, p->source, q->pos,
                            "the select list has %u columns, the limit is %d", cap,
                            CATALOG_COLUMNS_MAX);
    items = ARENA_ARRAY(p->arena, cap + 1, struct ast_select_item);
    for (uint32_t i = 0; i < q->item_count; i++) {
        if (q->items[i].expr->kind == EXPR_STAR)
            RETURN_IF_ERR(expand_star(p, in, q->items[i].expr, items, &count));
        else
            items[count++] = q->items[i];
    }
    *out_count = count;
    *out = items;
    return RC_OK;
}

static enum rc bind_condition(struct plan *p, const struct plan_stream *in,
                              const struct ast_expr *ast, const char *clause, struct expr **out)
{
    RETURN_IF_ERR(plan_bind(p, in, ast, out));
    if (expr_type(*out).kind != TYPE_BOOLEAN && expr_type(*out).kind != TYPE_NULL)
        return sql_error_at(p->err, RC_INVALID, p->source, ast->pos,
                            "%s needs a BOOLEAN, this is %s", clause,
                            type_str(p->arena, expr_type(*out), false));
    return RC_OK;
}

static const char *item_name(struct plan *p, const struct ast_select_item *item, uint32_t index)
{
    if (item->alias != NULL)
        return arena_strdup(p->arena, item->alias);
    if (item->expr->kind == EXPR_COLUMN)
        return arena_strdup(p->arena, item->expr->name);
    return arena_printf(p->arena, "EXPR$%u", index);
}

/* Logical nodes of the projection, and its canonical text for the operator's id. */
static void describe_project(struct plan *p, const struct plan_stream *in,
                             const struct plan_calc *calc, struct plan_stream *s)
{
    struct buf logical = {0}, detail = {0}, where = {0};

    for (uint32_t i = 0; i < s->schema->field_count; i++) {
        buf_printf(&logical, "%s%s=[", i == 0 ? "" : ", ", s->schema->fields[i].name);
        if (expr_column(calc->exprs[i]) >= 0)
            buf_printf(&logical, "$%d", expr_column(calc->exprs[i]));
        else
            expr_print(calc->exprs[i], calc->input, &logical);
        buf_append_u8(&logical, ']');
        buf_printf(&detail, "%s\n", s->fields[i].origin);
    }
    if (calc->where != NULL) {
        expr_print(calc->where, calc->input, &where);
        s->logical =
            plan_node_new(p, s->logical, NULL, "LogicalFilter(condition=[%s])", buf_cstr(&where));
        buf_printf(&detail, "WHERE %s", plan_origin(p, in, calc->where));
    }
    s->logical = plan_node_new(p, s->logical, NULL, "LogicalProject(%s)", buf_cstr(&logical));
    s->calc->detail = arena_strdup(p->arena, buf_cstr(&detail));
    buf_release(&logical);
    buf_release(&detail);
    buf_release(&where);
}

enum rc plan_project(struct plan *p, struct plan_stream *s, uint32_t count,
                     const struct ast_select_item *items, const struct ast_expr *where)
{
    struct plan_calc *calc = ARENA_NEW(p->arena, struct plan_calc);
    struct schema *schema = plan_schema_new(p, count);
    struct plan_field *fields = ARENA_ARRAY(p->arena, count + 1, struct plan_field);
    struct plan_stream in;
    struct expr *bound;

    RETURN_IF_ERR(plan_flush(p, s));
    in = *s;
    calc->input = s->schema;
    calc->exprs = ARENA_ARRAY(p->arena, count + 1, const struct expr *);
    for (uint32_t i = 0; i < count; i++) {
        RETURN_IF_ERR(plan_bind(p, &in, items[i].expr, &bound));
        calc->exprs[i] = bound;
        schema->fields[i] = (struct schema_field){item_name(p, &items[i], i), expr_type(bound)};
        fields[i] = (struct plan_field){
            .origin = plan_origin(p, &in, bound),
            .base = plan_base(p, &in, items[i].expr),
            .key = expr_column(bound) < 0 ? 0 : in.fields[expr_column(bound)].key};
        if (s->schema->rowtime >= 0 && expr_column(bound) == s->schema->rowtime &&
            schema->rowtime < 0)
            schema->rowtime = (int32_t)i;
    }
    schema->field_count = count;
    plan_unique_names(p, schema);
    if (where != NULL) {
        RETURN_IF_ERR(bind_condition(p, &in, where, "a condition", &bound));
        calc->where = bound;
    }
    s->calc = calc;
    s->schema = schema;
    s->fields = fields;
    describe_project(p, &in, calc, s);
    return RC_OK;
}

/* ---- SELECT ---------------------------------------------------------------------------------- */

static bool find_aggregate(void *ctx, const struct ast_expr *e)
{
    const struct ast_expr **found = ctx;

    if (*found == NULL && ast_is_aggregate(e))
        *found = e;
    return *found == NULL;
}

static enum rc refuse_aggregate(struct plan *p, const struct ast_expr *e, const char *clause)
{
    const struct ast_expr *found = NULL;

    ast_expr_walk(e, find_aggregate, &found);
    if (found == NULL)
        return RC_OK;
    return sql_error_at(p->err, RC_INVALID, p->source, found->pos, "%s cannot be used in %s",
                        found->name, clause);
}

/* SELECT 1 + 1: a row of constants. */
static enum rc select_constants(struct plan *p, const struct ast_query *q, struct plan_stream *s)
{
    struct ast_query row = {.pos = q->pos, .values_rows = 1, .values_columns = q->item_count};

    if (q->where != NULL || plan_is_grouped(q) || q->has_group_by || q->having != NULL)
        return sql_error_at(
            p->err, RC_UNSUPPORTED, p->source, q->pos,
            "not supported by varve: SELECT without FROM, other than plain expressions");
    row.values = ARENA_ARRAY(p->arena, q->item_count, struct ast_expr *);
    for (uint32_t i = 0; i < q->item_count; i++) {
        if (q->items[i].expr->kind == EXPR_STAR)
            return sql_error_at(p->err, RC_INVALID, p->source, q->items[i].expr->pos,
                                "* needs a FROM");
        row.values[i] = q->items[i].expr;
    }
    RETURN_IF_ERR(plan_values(p, &row, s));
    for (uint32_t i = 0; i < q->item_count; i++)
        s->schema->fields[i].name = item_name(p, &q->items[i], i);
    plan_unique_names(p, s->schema);
    return RC_OK;
}

/* STATE_TTL('t' = '1 d'): t is what the query is over, by its alias if it has one. */
static enum rc check_ttl_hint(struct plan *p, const struct ast_query *q, const struct ast_option *o)
{
    const struct ast_from *from = q->from;
    const char *name = from == NULL ? NULL : from->alias != NULL ? from->alias : from->name;
    struct err err = {0};
    int64_t ms;

    if (name == NULL || strcmp(name, o->key) != 0)
        return sql_error_at(p->err, RC_INVALID, p->source, o->pos,
                            "STATE_TTL of '%s': this query is over %s%s%s", o->key,
                            name == NULL ? "nothing of a name" : "'", name == NULL ? "" : name,
                            name == NULL ? "" : "'");
    if (duration_parse(o->value, &ms, &err) != RC_OK)
        return sql_error_at(p->err, RC_INVALID, p->source, o->pos, "STATE_TTL of '%s': %s", o->key,
                            err.msg);
    return RC_OK;
}

/* Hints behind SELECT are for the aggregate of the query, so there must be one. */
static enum rc check_hint(struct plan *p, const struct ast_query *q)
{
    bool seen[2] = {false, false};

    for (uint32_t i = 0; i < q->option_count; i++) {
        const struct ast_option *o = &q->options[i];
        const char *what = o->is_ttl ? "STATE_TTL" : "'varve.uid'";

        if (!o->is_ttl && strcmp(o->key, "varve.uid") != 0)
            return sql_error_at(p->err, RC_INVALID, p->source, o->pos,
                                "behind SELECT only the option 'varve.uid' is known; options of a "
                                "table stand behind its name");
        if (!plan_is_grouped(q) && !q->distinct)
            return sql_error_at(p->err, RC_INVALID, p->source, o->pos,
                                "%s behind SELECT is for its aggregate; this query has none", what);
        if (seen[o->is_ttl])
            return sql_error_at(p->err, RC_INVALID, p->source, o->pos, "%s is given twice", what);
        seen[o->is_ttl] = true;
        if (o->is_ttl)
            RETURN_IF_ERR(check_ttl_hint(p, q, o));
    }
    return RC_OK;
}

static enum rc plan_select_core(struct plan *p, const struct ast_query *q, struct plan_stream *s)
{
    struct ast_select_item *items = NULL;
    uint32_t count = 0;

    if (q->values_rows > 0)
        return plan_values(p, q, s);
    RETURN_IF_ERR(check_hint(p, q));
    if (q->from == NULL)
        return select_constants(p, q, s);
    RETURN_IF_ERR(plan_from(p, q->from, s));
    RETURN_IF_ERR(expand_items(p, s, q, &count, &items));
    if (q->where != NULL)
        RETURN_IF_ERR(refuse_aggregate(p, q->where, "WHERE; use HAVING"));
    for (uint32_t i = 0; i < q->group_count; i++)
        RETURN_IF_ERR(refuse_aggregate(p, q->group_by[i], "GROUP BY"));
    if (plan_is_grouped(q)) {
        RETURN_IF_ERR(plan_group(p, q, count, items, s));
    } else {
        if (s->window != NULL)
            RETURN_IF_ERR(plan_window_assign(p, s));
        RETURN_IF_ERR(plan_project(p, s, count, items, q->where));
    }
    return q->distinct ? plan_distinct(p, plan_is_grouped(q) ? NULL : q, s) : RC_OK;
}

/* ---- UNION ALL ------------------------------------------------------------------------------- */

#define UNION_BRANCHES_MAX 500

/* The type that fits both, as CASE would choose it; false: there is none. */
static bool common_type(struct plan *p, struct type a, struct type b, struct type *out)
{
    struct schema_field pair[] = {{"a", a}, {"b", b}, {"c", type_of(TYPE_BOOLEAN)}};
    struct schema schema = {3, pair, -1};
    struct plan_field fields[3] = {{0}};
    struct plan_stream in = {.schema = &schema, .fields = fields};
    struct sql_pos nowhere = {1, 1, 0};
    struct ast_expr *args[] = {ast_column_new(p->arena, NULL, "c", nowhere),
                               ast_column_new(p->arena, NULL, "a", nowhere),
                               ast_column_new(p->arena, NULL, "b", nowhere)};
    struct ast_expr both = {
        .kind = EXPR_CASE, .pos = nowhere, .arg_count = 3, .args = args, .case_else = true};
    struct expr *bound;

    if (plan_bind(p, &in, &both, &bound) != RC_OK) {
        err_clear(p->err);
        return false;
    }
    *out = expr_type(bound);
    return true;
}

/* Types of the union into *to. */
static enum rc union_types(struct plan *p, const struct ast_query *branch, uint32_t index,
                           const struct plan_stream *s, struct schema *to)
{
    if (to->field_count != s->schema->field_count)
        return sql_error_at(p->err, RC_INVALID, p->source, branch->pos,
                            "UNION ALL: branch %u has %u columns, the first has %u", index + 1,
                            s->schema->field_count, to->field_count);
    for (uint32_t i = 0; i < to->field_count; i++) {
        struct type mine = s->schema->fields[i].type, *all = &to->fields[i].type;

        if (!common_type(p, *all, mine, all))
            return sql_error_at(p->err, RC_INVALID, p->source, branch->pos,
                                "UNION ALL: column %u of branch %u is %s, before it is %s", i + 1,
                                index + 1, type_str(p->arena, mine, false),
                                type_str(p->arena, *all, false));
    }
    if (to->rowtime != s->schema->rowtime)
        to->rowtime = -1;
    return RC_OK;
}

/* Casts the pending projection (or a new one) to the types of the union. */
static enum rc cast_branch(struct plan *p, struct plan_stream *s, const struct schema *to)
{
    bool same = true;

    for (uint32_t i = 0; i < to->field_count; i++)
        same &= type_eq(s->schema->fields[i].type, to->fields[i].type, false);
    if (same)
        return plan_flush(p, s);
    if (s->calc == NULL) {
        s->calc = ARENA_NEW(p->arena, struct plan_calc);
        s->calc->input = s->schema;
        s->calc->detail = "union";
        s->calc->exprs = ARENA_ARRAY(p->arena, to->field_count, const struct expr *);
        for (uint32_t i = 0; i < to->field_count; i++)
            s->calc->exprs[i] = expr_new_column(p->arena, i, s->schema->fields[i].type);
    }
    s->schema = schema_copy(p->arena, s->schema);
    for (uint32_t i = 0; i < to->field_count; i++) {
        struct expr *e = (struct expr *)(uintptr_t)s->calc->exprs[i];

        RETURN_IF_ERR(expr_coerce(p->arena, e, to->fields[i].type, to->fields[i].name, &e, p->err));
        s->calc->exprs[i] = e;
        s->schema->fields[i].type = expr_type(e);
    }
    return plan_flush(p, s);
}

/* "(a UNION ALL b)", each once; what all branches have in common alone. */
static const char *union_origin(struct plan *p, const struct plan_stream *branches, uint32_t count,
                                uint32_t field)
{
    struct buf text = {0};
    const char *origin = branches[0].fields[field].origin;
    uint32_t distinct = 0;

    for (uint32_t i = 0; i < count; i++) {
        bool seen = false;

        for (uint32_t j = 0; j < i && !seen; j++)
            seen = strcmp(branches[j].fields[field].origin, branches[i].fields[field].origin) == 0;
        if (!seen)
            buf_printf(&text, "%s%s", distinct++ == 0 ? "(" : " UNION ALL ",
                       branches[i].fields[field].origin);
    }
    if (distinct > 1)
        origin = arena_printf(p->arena, "%s)", buf_cstr(&text));
    buf_release(&text);
    return origin;
}

/* One operator that all branches lead to. */
static enum rc join_branches(struct plan *p, const struct ast_query *q,
                             struct plan_stream *branches, uint32_t count, struct schema *schema,
                             struct plan_stream *out)
{
    struct calc_spec *spec = ARENA_NEW(p->arena, struct calc_spec);
    struct plan_node *logical, *physical;
    struct buf ident = {0};
    struct plan_op *op;

    *out = branches[0];
    out->schema = schema;
    out->fields = ARENA_ARRAY(p->arena, schema->field_count + 1, struct plan_field);
    *spec = (struct calc_spec){.input = schema,
                               .output = schema,
                               .expr_count = schema->field_count,
                               .time_zone = p->time_zone};
    spec->exprs = ARENA_ARRAY(p->arena, schema->field_count + 1, const struct expr *);
    for (uint32_t i = 0; i < schema->field_count; i++) {
        spec->exprs[i] = expr_new_column(p->arena, i, schema->fields[i].type);
        out->fields[i] = (struct plan_field){.origin = union_origin(p, branches, count, i), .base = ""};
    }
    RETURN_IF_ERR(plan_op_new(p, "Union", &op));
    out->drop_update_before = NULL;
    out->key_count = 0;
    logical =
        (struct plan_node *)(uintptr_t)plan_node_new(p, NULL, NULL, "LogicalUnion(all=[true])");
    logical->inputs = ARENA_ARRAY(p->arena, count, struct plan_node *);
    for (uint32_t i = 0; i < count; i++) {
        out->updating |= branches[i].updating;
        out->updating_by = out->updating_by == NULL ? branches[i].updating_by : out->updating_by;
        out->bounded &= branches[i].bounded;
    }
    physical = (struct plan_node *)(uintptr_t)plan_node_new(
        p, NULL, out->updating ? "I,UB,UA,D" : "I", "Union(all=[true], union=[%s])",
        plan_names(p, schema));
    physical->inputs = ARENA_ARRAY(p->arena, count, struct plan_node *);
    logical->input_count = physical->input_count = count;
    for (uint32_t i = 0; i < count; i++) {
        const struct plan_stream *b = &branches[i];
        bool equal = b->op->parallelism == op->parallelism;

        if (b->updating && !equal) {
            buf_release(&ident);
            return sql_error_at(p->err, RC_UNSUPPORTED, p->source, q->pos,
                                "not supported by varve: UNION ALL of an updating query with "
                                "another parallelism than its own");
        }
        plan_connect(p, op, b->op, equal ? PARTITION_FORWARD : PARTITION_REBALANCE, 0, NULL,
                     schema);
        op->inputs[op->input_count - 1].updating = b->updating;
        buf_printf(&ident, "%s%s", i == 0 ? "" : "+", b->ident);
        for (uint32_t f = 0; f < schema->field_count; f++)
            out->fields[f].base = plan_join_base(p, out->fields[f].base, b->fields[f].base);
        logical->inputs[i] = (struct plan_node *)(uintptr_t)b->logical;
        physical->inputs[i] = (struct plan_node *)(uintptr_t)b->physical;
    }
    out->ident = arena_printf(p->arena, "(%s)", buf_cstr(&ident));
    buf_release(&ident);
    op->ident = arena_printf(p->arena, "union\n%s", out->ident);
    op->spec.make = make_calc;
    op->spec.spec = spec;
    op->spec.description = physical->text;
    out->op = op;
    out->logical = logical;
    out->physical = physical;
    return RC_OK;
}

static enum rc plan_union(struct plan *p, const struct ast_query *q, struct plan_stream *out)
{
    struct plan_stream *branches;
    const struct ast_query *branch;
    struct schema *schema = NULL;
    uint32_t count = 0, i = 0;

    for (branch = q; branch != NULL; branch = branch->union_all)
        count++;
    if (count > UNION_BRANCHES_MAX)
        return sql_error_at(p->err, RC_LIMIT, p->source, q->pos,
                            "UNION ALL has %u branches, the limit is %d", count,
                            UNION_BRANCHES_MAX);
    branches = ARENA_ARRAY(p->arena, count, struct plan_stream);
    for (branch = q; branch != NULL; branch = branch->union_all, i++) {
        RETURN_IF_ERR(plan_select_core(p, branch, &branches[i]));
        if (i == 0)
            schema = schema_copy(p->arena, branches[0].schema);
        RETURN_IF_ERR(union_types(p, branch, i, &branches[i], schema));
    }
    for (i = 0; i < count; i++)
        RETURN_IF_ERR(cast_branch(p, &branches[i], schema));
    return join_branches(p, q, branches, count, schema, out);
}

enum rc plan_query(struct plan *p, const struct ast_query *q, struct plan_stream *out)
{
    enum rc rc;

    if (++p->depth > SQL_QUERY_HEIGHT_MAX)
        return sql_error_at(p->err, RC_LIMIT, p->source, q->pos,
                            "queries and views are nested more than %d deep", SQL_QUERY_HEIGHT_MAX);
    rc = q->union_all != NULL ? plan_union(p, q, out) : plan_select_core(p, q, out);
    p->depth--;
    return rc;
}
