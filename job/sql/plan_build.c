/* plan_build.c - single operators and their expressions; chaining them into the vertices of a
 * graph. */
#include "job/sql/plan_priv.h"

#include <stdio.h>

#define NAME_MAX_SHOWN 200

enum rc plan_op_new(struct plan *p, const char *name, struct plan_op **out)
{
    struct plan_op *op = ARENA_NEW(p->arena, struct plan_op);

    if (++p->op_count > PLAN_OPERATORS_MAX)
        return err_set(p->err, RC_LIMIT, "the plan has more than %d operators", PLAN_OPERATORS_MAX);
    op->spec.name = op->spec.description = name;
    op->spec.uid = "";
    op->ident = op->detail = "";
    op->parallelism = p->parallelism;
    if (p->last == NULL)
        p->first = op;
    else
        p->last->next = op;
    p->last = op;
    *out = op;
    return RC_OK;
}

void plan_connect(struct plan *p, struct plan_op *to, struct plan_op *from,
                  enum partitioning partitioning, uint32_t key_count, const uint32_t *keys,
                  const struct schema *schema)
{
    struct plan_input *inputs = ARENA_ARRAY(p->arena, to->input_count + 1, struct plan_input);

    if (to->input_count > 0)
        memcpy(inputs, to->inputs, to->input_count * sizeof *inputs);
    inputs[to->input_count] = (struct plan_input){from, partitioning, key_count, keys, schema, false};
    to->inputs = inputs;
    to->input_count++;
    from->output_count++;
}

const char *plan_node_digest(struct plan *p, const struct plan_node *n)
{
    struct plan_node *self = (struct plan_node *)(uintptr_t)n; /* what it holds is its own affair */
    struct buf text = {0};
    char id[OPERATOR_ID_LEN + 1];

    if (n->digest != NULL)
        return n->digest;
    buf_append_str(&text, n->text);
    for (uint32_t i = 0; i < n->input_count; i++)
        buf_printf(&text, "\n%s", plan_node_digest(p, n->inputs[i]));
    operator_id_of(buf_cstr(&text), id);
    self->digest = arena_strdup(p->arena, id);
    buf_release(&text);
    return n->digest;
}

const struct plan_node *plan_node_new(struct plan *p, const struct plan_node *input,
                                      const char *changelog, const char *fmt, ...)
{
    struct plan_node *n = ARENA_NEW(p->arena, struct plan_node);
    struct buf text = {0};
    va_list args, again;
    int len;

    va_start(args, fmt);
    va_copy(again, args);
    len = vsnprintf(NULL, 0, fmt, args);
    ASSERT(len >= 0);
    buf_reserve(&text, (size_t)len + 1);
    vsnprintf((char *)text.data, (size_t)len + 1, fmt, again);
    va_end(again);
    va_end(args);
    n->text = arena_strndup(p->arena, (const char *)text.data, (size_t)len);
    buf_release(&text);
    n->changelog = changelog;
    n->input_count = input != NULL;
    n->inputs = ARENA_ARRAY(p->arena, 1, struct plan_node *);
    n->inputs[0] = (struct plan_node *)(uintptr_t)input;
    return n;
}

struct schema *plan_schema_new(struct plan *p, uint32_t cap)
{
    struct schema *s = ARENA_NEW(p->arena, struct schema);

    s->fields = ARENA_ARRAY(p->arena, cap + 1, struct schema_field);
    s->rowtime = -1;
    return s;
}

void plan_unique_names(struct plan *p, struct schema *s)
{
    uint32_t count = s->field_count;

    for (uint32_t i = 1; i < count; i++) {
        const char *name = s->fields[i].name;
        uint32_t n = 0;

        s->field_count = i; /* schema_find looks at the fields before this one */
        while (schema_find(s, s->fields[i].name) >= 0)
            s->fields[i].name = arena_printf(p->arena, "%s%u", name, n++);
        s->field_count = count;
    }
}

const char *plan_names(struct plan *p, const struct schema *s)
{
    struct buf out = {0};
    const char *text;

    for (uint32_t i = 0; i < s->field_count; i++)
        buf_printf(&out, "%s%s", i == 0 ? "" : ", ", s->fields[i].name);
    text = arena_strdup(p->arena, buf_cstr(&out));
    buf_release(&out);
    return text;
}

/* ---- expressions ----------------------------------------------------------------------------- */

enum rc plan_bind(struct plan *p, const struct plan_stream *in, const struct ast_expr *ast,
                  struct expr **out)
{
    const char **qualifiers = ARENA_ARRAY(p->arena, in->schema->field_count + 1, const char *);
    struct expr_scope scope = {
        .schema = in->schema, .qualifiers = qualifiers, .time_zone = p->time_zone};
    struct ast_expr *copy;
    enum rc rc;

    for (uint32_t i = 0; i < in->schema->field_count; i++)
        qualifiers[i] = in->fields[i].qualifier;
    RETURN_IF_ERR(ast_expr_copy(p->arena, ast, NULL, NULL, &copy,
                                p->err)); /* the graph outlives the statement */
    rc = expr_bind(p->arena, copy, &scope, out, p->err);
    return rc == RC_OK ? rc : sql_error_show(p->err, rc, p->source);
}

const char *plan_origin(struct plan *p, const struct plan_stream *in, const struct expr *e)
{
    struct schema names = *in->schema;
    struct buf text = {0};
    const char *out;
    int32_t column = expr_column(e);

    if (column >= 0)
        return in->fields[column].origin;
    names.fields = ARENA_ARRAY(p->arena, names.field_count + 1, struct schema_field);
    for (uint32_t i = 0; i < names.field_count; i++)
        names.fields[i] = (struct schema_field){in->fields[i].origin, in->schema->fields[i].type};
    expr_print(e, &names, &text);
    out = arena_strdup(p->arena, buf_cstr(&text));
    buf_release(&text);
    return out;
}

int32_t plan_column_of(const struct plan_stream *in, const struct ast_expr *column)
{
    int32_t found = -1;

    for (uint32_t i = 0; i < in->schema->field_count; i++) {
        if (strcmp(in->schema->fields[i].name, column->name) != 0 ||
            (column->qualifier != NULL &&
             (in->fields[i].qualifier == NULL ||
              strcmp(in->fields[i].qualifier, column->qualifier) != 0)))
            continue;
        if (found >= 0)
            return -1;
        found = (int32_t)i;
    }
    return found;
}

/* Both are sorted lists of names, each ended by '\n'; so is the result. */
const char *plan_join_base(struct plan *p, const char *a, const char *b)
{
    struct buf out = {0};
    const char *text;

    while (*a != '\0' || *b != '\0') {
        size_t a_len = strcspn(a, "\n"), b_len = strcspn(b, "\n");
        int order = *a == '\0'   ? 1
                    : *b == '\0' ? -1
                                 : bytes_cmp(bytes_of(a, a_len), bytes_of(b, b_len));

        buf_append(&out, order <= 0 ? a : b, (order <= 0 ? a_len : b_len) + 1);
        if (order <= 0)
            a += a_len + 1;
        if (order >= 0)
            b += b_len + 1;
    }
    text = arena_strdup(p->arena, buf_cstr(&out));
    buf_release(&out);
    return text;
}

struct base_walk {
    struct plan *plan;
    const struct plan_stream *in;
    const char *base;
};
static bool add_base(void *ctx, const struct ast_expr *e)
{
    struct base_walk *w = ctx;

    if (e->kind == EXPR_COLUMN) {
        int32_t column = plan_column_of(w->in, e);

        if (column >= 0)
            w->base = plan_join_base(w->plan, w->base, w->in->fields[column].base);
    }
    return true;
}

const char *plan_base(struct plan *p, const struct plan_stream *in, const struct ast_expr *e)
{
    struct base_walk w = {p, in, ""};

    ast_expr_walk(e, add_base, &w);
    return w.base;
}

/* ---- calc ------------------------------------------------------------------------------------ */

static struct operator* make_calc(const void *spec)
{
    return calc_new(spec);
}

static bool is_identity(const struct plan_stream *s)
{
    if (s->calc->where != NULL || s->calc->input->field_count != s->schema->field_count)
        return false;
    for (uint32_t i = 0; i < s->schema->field_count; i++)
        if (expr_column(s->calc->exprs[i]) != (int32_t)i)
            return false;
    return true;
}

/* "Calc(select=[a, b + 1 AS c], where=[a > 2])" */
static const struct plan_node *calc_node(struct plan *p, const struct plan_stream *s)
{
    const struct plan_calc *calc = s->calc;
    struct buf out = {0};
    const struct plan_node *node;

    for (uint32_t i = 0; i < s->schema->field_count; i++) {
        struct buf text = {0};
        const char *name = s->schema->fields[i].name;
        int32_t column = expr_column(calc->exprs[i]);

        if (column >= 0)
            buf_append_str(&text, calc->input->fields[column].name);
        else
            expr_print(calc->exprs[i], calc->input, &text);
        buf_printf(&out, "%s%s", i == 0 ? "" : ", ", buf_cstr(&text));
        if (strcmp(buf_cstr(&text), name) != 0)
            buf_printf(&out, " AS %s", name);
        buf_release(&text);
    }
    if (calc->where != NULL) {
        buf_append_str(&out, "], where=[");
        expr_print(calc->where, calc->input, &out);
    }
    node =
        plan_node_new(p, s->physical, s->physical->changelog, "Calc(select=[%s])", buf_cstr(&out));
    buf_release(&out);
    return node;
}

enum rc plan_flush(struct plan *p, struct plan_stream *s)
{
    struct calc_spec *spec;
    struct plan_op *op;

    if (s->calc == NULL || is_identity(s)) {
        s->calc = NULL;
        return RC_OK;
    }
    spec = ARENA_NEW(p->arena, struct calc_spec);
    *spec = (struct calc_spec){
        .input = s->calc->input,
        .output = s->schema,
        .where = s->calc->where,
        .expr_count = s->schema->field_count,
        .exprs = s->calc->exprs,
        .time_zone = p->time_zone,
    };
    s->physical = calc_node(p, s);
    RETURN_IF_ERR(plan_op_new(p, "Calc", &op));
    op->spec.make = make_calc;
    op->spec.spec = spec;
    op->spec.description = s->physical->text;
    op->parallelism = s->op->parallelism;
    op->ident = arena_printf(p->arena, "calc\n%s", s->ident);
    op->detail = s->calc->detail;
    plan_connect(p, op, s->op, PARTITION_FORWARD, 0, NULL, s->calc->input);
    op->inputs[op->input_count - 1].updating = s->updating;
    s->op = op;
    if (s->calc->where != NULL)
        s->drop_update_before = NULL;
    s->calc = NULL;
    return RC_OK;
}

/* ---- ids, chains, graph ---------------------------------------------------------------------- */

static bool has_namesake(const struct plan *p, const struct plan_op *op)
{
    for (const struct plan_op *b = p->first; b != NULL; b = b->next)
        if (b != op && strcmp(op->ident, b->ident) == 0)
            return true;
    return false;
}

/* Two operators of one ident: all of that ident get their detail behind it; equal ones a counter. */
static void settle_idents(struct plan *p)
{
    for (struct plan_op *a = p->first; a != NULL; a = a->next)
        a->exact = arena_printf(p->arena, "=%s\n%s", a->ident, a->detail);
    for (struct plan_op *a = p->first; a != NULL; a = a->next) {
        const char *exact = a->exact;
        uint32_t n = 1;

        for (struct plan_op *b = a->next; b != NULL; b = b->next)
            if (strcmp(exact, b->exact) == 0)
                b->exact = arena_printf(p->arena, "%s\n#%u", exact, ++n);
    }
    for (struct plan_op *a = p->first; a != NULL; a = a->next)
        a->shares_ident = has_namesake(p, a);
    for (struct plan_op *a = p->first; a != NULL; a = a->next)
        if (a->shares_ident)
            a->ident = a->exact;
}

static enum rc check_uids(struct plan *p)
{
    for (struct plan_op *a = p->first; a != NULL; a = a->next)
        for (struct plan_op *b = a->next; b != NULL && a->spec.uid[0] != '\0'; b = b->next)
            if (strcmp(a->spec.uid, b->spec.uid) == 0)
                return err_set(p->err, RC_INVALID, "%s and %s have the same varve.uid '%s'",
                               a->spec.name, b->spec.name, a->spec.uid);
    return RC_OK;
}

static bool chains_to_input(const struct plan_op *op)
{
    const struct plan_input *in = op->inputs;

    return op->input_count == 1 && in->partitioning == PARTITION_FORWARD &&
           in->from->output_count == 1 && in->from->parallelism == op->parallelism;
}

static const char *chain_name(struct plan *p, const struct graph_vertex *v)
{
    struct buf name = {0};
    const char *out;

    for (uint32_t i = 0; i < v->operator_count; i++)
        buf_printf(&name, "%s%s", i == 0 ? "" : " -> ", v->operators[i].name);
    if (name.len > NAME_MAX_SHOWN) {
        size_t at = NAME_MAX_SHOWN;

        while ((name.data[at] & 0xC0) == 0x80)
            at--;
        name.len = at;
        buf_append_str(&name, "...");
    }
    out = arena_strdup(p->arena, buf_cstr(&name));
    buf_release(&name);
    return out;
}

static void make_vertices(struct plan *p, struct graph *g)
{
    g->vertices = ARENA_ARRAY(p->arena, p->op_count + 1, struct graph_vertex);
    for (struct plan_op *op = p->first; op != NULL; op = op->next) {
        op->vertex = chains_to_input(op) ? op->inputs->from->vertex : g->vertex_count++;
        g->vertices[op->vertex].operator_count++;
    }
    for (struct plan_op *op = p->first; op != NULL; op = op->next) {
        struct graph_vertex *v = &g->vertices[op->vertex];

        if (v->operators == NULL) {
            v->operators = ARENA_ARRAY(p->arena, v->operator_count, struct operator_spec);
            v->parallelism = op->parallelism;
            memcpy(v->id, op->spec.id, sizeof v->id);
            v->operator_count = 0;
        }
        op->spec.input = op->input_count > 0 ? op->inputs[0].schema : NULL;
        for (uint32_t i = 0; i < op->input_count; i++)
            op->spec.input_updates |= op->inputs[i].updating;
        v->operators[v->operator_count++] = op->spec;
    }
    for (uint32_t i = 0; i < g->vertex_count; i++)
        g->vertices[i].name = chain_name(p, &g->vertices[i]);
}

static void make_edges(struct plan *p, struct graph *g)
{
    uint32_t count = 0;

    for (const struct plan_op *op = p->first; op != NULL; op = op->next)
        count += op->input_count;
    g->edges = ARENA_ARRAY(p->arena, count + 1, struct graph_edge);
    for (const struct plan_op *op = p->first; op != NULL; op = op->next)
        for (uint32_t i = 0; i < op->input_count && !chains_to_input(op); i++) {
            const struct plan_input *in = &op->inputs[i];

            g->edges[g->edge_count++] =
                (struct graph_edge){in->from->vertex, op->vertex, in->partitioning,
                                    in->key_count,    in->keys,   in->schema};
        }
}

enum rc plan_finish(struct plan *p, const char *job_name, const char *sql, struct graph **out)
{
    struct graph *g = ARENA_NEW(p->arena, struct graph);
    const struct config *config = p->ctx->config;
    uint32_t most = 1;

    settle_idents(p);
    RETURN_IF_ERR(check_uids(p));
    for (struct plan_op *op = p->first; op != NULL; op = op->next) {
        operator_id_of(op->spec.uid[0] != '\0' ? op->spec.uid : op->ident, op->spec.id);
        if (op->spec.uid[0] == '\0')
            operator_id_of(op->exact, op->spec.exact_id);
        most = op->parallelism > most ? op->parallelism : most;
    }
    g->arena = p->arena;
    g->job_name = arena_strdup(p->arena, job_name);
    g->sql = sql;
    g->key_group_count_explicit = config_has(config, OPT_MAX_PARALLELISM);
    g->key_group_count = g->key_group_count_explicit
                             ? (uint32_t)config_int(config, OPT_MAX_PARALLELISM)
                             : keygroup_default_count(most);
    make_vertices(p, g);
    make_edges(p, g);
    RETURN_IF_ERR(graph_check(g, p->err));
    *out = g;
    return RC_OK;
}
