/* plan_group.c - GROUP BY, aggregates, HAVING, DISTINCT; with TUMBLE the grouping by windows.
 *
 * A projection computes keys, arguments and filters; then the aggregate; then a projection of its
 * columns, in which every group expression and aggregate call of the query has become a column
 * "$<n>".<name>.
 */
#include "job/operator/accumulator.h"
#include "job/sql/plan_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define CALLS_MAX 500
#define KEYS_MAX 100

static struct operator* make_aggregate(const void *spec)
{
    return aggregate_new(spec);
}
static struct operator* make_window(const void *spec)
{
    return window_new(spec);
}

struct group {
    struct plan *plan;
    const char *uid;              /* "" : none */
    int64_t ttl_ms;               /* 0: none */
    const struct plan_stream *in; /* before the projection */
    uint32_t key_count;           /* as written, window columns included */
    const struct ast_expr *keys[KEYS_MAX];
    int32_t key_column[KEYS_MAX]; /* place in `columns`; -1 window_start, -2 window_end, -3
                                     window_time */
    uint32_t call_count;
    const struct ast_expr *calls[CALLS_MAX];
    struct agg_call specs[CALLS_MAX];
    /* Columns that the aggregate's input needs. */
    uint32_t column_count;
    const struct ast_expr *columns[KEYS_MAX + 2 * CALLS_MAX + 1];
    const struct expr *bound[KEYS_MAX + 2 * CALLS_MAX + 1];
    bool windowed, emit_time;
    /* The aggregate's output: what a key or call became. */
    struct schema *output;
    struct plan_field *fields;
    uint32_t key_out[KEYS_MAX], call_out[CALLS_MAX];
};

static enum rc fail(struct group *g, const struct ast_expr *at, enum rc rc, const char *what)
{
    return sql_error_at(g->plan->err, rc, g->plan->source, at->pos, "%s", what);
}

static int32_t column_of(void *ctx, const struct ast_expr *e)
{
    const struct group *g = ctx;

    return plan_column_of(g->in, e);
}

static bool same(const struct group *g, const struct ast_expr *a, const struct ast_expr *b)
{
    return ast_expr_equal(a, b, column_of, (void *)(uintptr_t)g);
}

/* ---- which queries group --------------------------------------------------------------------- */

static bool find_aggregate(void *ctx, const struct ast_expr *e)
{
    bool *found = ctx;

    *found |= ast_is_aggregate(e);
    return !*found;
}

bool plan_is_grouped(const struct ast_query *q)
{
    bool found = q->has_group_by || q->having != NULL;

    for (uint32_t i = 0; i < q->item_count; i++)
        ast_expr_walk(q->items[i].expr, find_aggregate, &found);
    return found;
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* GROUP BY 2 and GROUP BY alias stand for an item of the select list. */
static enum rc resolve_key(struct group *g, const struct ast_expr *key, uint32_t item_count,
                           const struct ast_select_item *items, const struct ast_expr **out)
{
    static const char *const legacy[] = {"TUMBLE", "HOP", "SESSION", "CUBE", "ROLLUP", "GROUPING"};

    *out = key;
    if (key->kind == EXPR_LITERAL && key->literal == LIT_INT) {
        uint32_t n = key->text_len > 6 ? 0 : (uint32_t)strtoul(key->text, NULL, 10);

        if (n < 1 || n > item_count)
            return fail(g, key, RC_INVALID,
                        "GROUP BY position: there is no such item in the select list");
        *out = items[n - 1].expr;
    } else if (key->kind == EXPR_COLUMN && key->qualifier == NULL &&
               plan_column_of(g->in, key) < 0) {
        for (uint32_t i = 0; i < item_count; i++)
            if (items[i].alias != NULL && strcmp(items[i].alias, key->name) == 0)
                *out = items[i].expr;
    } else if (key->kind == EXPR_CALL) {
        for (size_t i = 0; i < ARRAY_LEN(legacy); i++)
            if (strcmp(key->name, legacy[i]) == 0)
                return sql_error_at(
                    g->plan->err, RC_UNSUPPORTED, g->plan->source, key->pos,
                    "not supported by varve: %s in GROUP BY%s", legacy[i],
                    i < 3 ? "; group by window_start, window_end over TABLE(TUMBLE(...))" : "");
    }
    if (plan_is_grouped(&(struct ast_query){
            .item_count = 1,
            .items = &(struct ast_select_item){(struct ast_expr *)(uintptr_t)*out, NULL}}))
        return fail(g, key, RC_INVALID, "an aggregate cannot be in GROUP BY");
    return RC_OK;
}

/* 1 window_start, 2 window_end, 3 window_time of the pending window; 0: another column. */
static int window_column(const struct group *g, const struct ast_expr *e)
{
    int32_t at = e->kind == EXPR_COLUMN && g->in->window != NULL ? plan_column_of(g->in, e) : -1;
    int32_t first = (int32_t)g->in->schema->field_count - 3;

    return at >= first && at >= 0 ? at - first + 1 : 0;
}

static enum rc add_keys(struct group *g, const struct ast_query *q, uint32_t item_count,
                        const struct ast_select_item *items)
{
    bool start = false, end = false;

    if (q->group_count > KEYS_MAX)
        return sql_error_at(g->plan->err, RC_LIMIT, g->plan->source, q->pos,
                            "GROUP BY has %u keys, the limit is %d", q->group_count, KEYS_MAX);
    for (uint32_t i = 0; i < q->group_count; i++) {
        const struct ast_expr *key;
        bool twice = false;
        int window;

        RETURN_IF_ERR(resolve_key(g, q->group_by[i], item_count, items, &key));
        for (uint32_t j = 0; j < g->key_count; j++)
            twice |= same(g, g->keys[j], key);
        if (twice)
            continue;
        window = window_column(g, key);
        start |= window == 1;
        end |= window == 2;
        g->emit_time |= window == 3;
        g->key_column[g->key_count] = -window;
        g->keys[g->key_count++] = key;
    }
    g->windowed = start && end;
    if (g->in->window != NULL && !g->windowed && (start || end))
        return sql_error_at(g->plan->err, RC_INVALID, g->plan->source, q->pos,
                            "GROUP BY over TUMBLE needs both window_start and window_end");
    return RC_OK;
}

/* ---- calls ----------------------------------------------------------------------------------- */

struct call_walk {
    struct group *group;
    enum rc rc;
};
static bool collect_call(void *ctx, const struct ast_expr *e)
{
    struct call_walk *w = ctx;
    struct group *g = w->group;

    if (w->rc != RC_OK)
        return false;
    for (uint32_t i = 0; i < g->key_count; i++) /* below a group expression nothing is looked for */
        if (same(g, g->keys[i], e))
            return false;
    if (!ast_is_aggregate(e))
        return true;
    for (uint32_t i = 0; i < g->call_count; i++)
        if (same(g, g->calls[i], e))
            return false;
    if (g->call_count == CALLS_MAX)
        w->rc = fail(g, e, RC_LIMIT, "more than 500 aggregate calls");
    else
        g->calls[g->call_count++] = e;
    return false;
}

static enum rc collect_calls(struct group *g, const struct ast_query *q, uint32_t item_count,
                             const struct ast_select_item *items)
{
    struct call_walk w = {g, RC_OK};

    for (uint32_t i = 0; i < item_count; i++)
        ast_expr_walk(items[i].expr, collect_call, &w);
    ast_expr_walk(q->having, collect_call, &w);
    return w.rc;
}

static bool find_window_column(void *ctx, const struct ast_expr *e)
{
    struct call_walk *w = ctx;

    if (w->rc == RC_OK && window_column(w->group, e) > 0)
        w->rc = fail(w->group, e, RC_UNSUPPORTED,
                     "not supported by varve: a window column here; group by window_start and "
                     "window_end as they are");
    return w->rc == RC_OK;
}

/* Column of the aggregate's input that holds the expression; the same one twice is computed once.
 */
static enum rc add_column(struct group *g, const struct ast_expr *e, const char *what, int32_t *out)
{
    struct call_walk w = {g, RC_OK};
    bool nested = false;
    struct expr *bound;

    for (uint32_t i = 0; i < g->column_count; i++)
        if (same(g, g->columns[i], e)) {
            *out = (int32_t)i;
            return RC_OK;
        }
    ast_expr_walk(e, find_aggregate, &nested);
    if (nested)
        return fail(g, e, RC_INVALID, what);
    if (g->windowed)
        ast_expr_walk(e, find_window_column, &w);
    RETURN_IF_ERR(w.rc);
    RETURN_IF_ERR(plan_bind(g->plan, g->in, e, &bound));
    if (expr_type(bound).kind == TYPE_NULL)
        return fail(g, e, RC_INVALID, "NULL has no type here; use CAST(NULL AS ...)");
    g->columns[g->column_count] = e;
    g->bound[g->column_count] = bound;
    *out = (int32_t)g->column_count++;
    return RC_OK;
}

static const struct {
    const char *name;
    enum agg_func func;
} functions[] = {
    {"COUNT", AGG_COUNT},
    {"SUM", AGG_SUM},
    {"MIN", AGG_MIN},
    {"MAX", AGG_MAX},
    {"AVG", AGG_AVG},
    {"FIRST_VALUE", AGG_FIRST_VALUE},
    {"LAST_VALUE", AGG_LAST_VALUE},
};

/* Flink's result types; RC_INVALID: the function does not take this type. */
static enum rc result_type(struct group *g, const struct ast_expr *e, struct agg_call *call,
                           struct type arg)
{
    call->result = arg;
    call->result.nullable = arg.nullable || g->key_count == 0 || call->filter >= 0;
    switch (call->func) {
    case AGG_COUNT_STAR:
    case AGG_COUNT:
        call->result = type_of(TYPE_BIGINT);
        call->result.nullable = false;
        break;
    case AGG_SUM:
    case AGG_AVG:
        if (!type_is_numeric(arg.kind))
            return sql_error_at(g->plan->err, RC_INVALID, g->plan->source, e->pos,
                                "%s takes numbers, not %s", e->name,
                                type_str(g->plan->arena, arg, false));
        if (arg.kind == TYPE_DECIMAL) {
            call->result.precision = 38;
            if (call->func == AGG_AVG && arg.scale < 6)
                call->result.scale = 6;
        }
        break;
    case AGG_MIN:
    case AGG_MAX:
    case AGG_FIRST_VALUE:
    case AGG_LAST_VALUE:
        break;
    }
    return RC_OK;
}

/* "SUM(DISTINCT v) FILTER (WHERE (w > 0))" over names of table columns. */
static const char *call_name(struct group *g, const struct ast_expr *e, const struct agg_call *call)
{
    const char *arg = call->arg < 0 ? "*" : plan_origin(g->plan, g->in, g->bound[call->arg]);

    if (call->filter < 0)
        return arena_printf(g->plan->arena, "%s(%s%s)", e->name, call->distinct ? "DISTINCT " : "",
                            arg);
    return arena_printf(g->plan->arena, "%s(%s%s) FILTER (WHERE %s)", e->name,
                        call->distinct ? "DISTINCT " : "", arg,
                        plan_origin(g->plan, g->in, g->bound[call->filter]));
}

static enum rc add_call(struct group *g, const struct ast_expr *e, struct agg_call *call)
{
    struct type arg = type_of(TYPE_BIGINT);
    size_t i = 0;

    while (i < ARRAY_LEN(functions) && strcmp(functions[i].name, e->name) != 0)
        i++;
    if (i == ARRAY_LEN(functions))
        return sql_error_at(g->plan->err, RC_UNSUPPORTED, g->plan->source, e->pos,
                            "not supported by varve: the aggregate %s", e->name);
    *call = (struct agg_call){.func = functions[i].func, .arg = -1, .filter = -1};
    if (e->arg_count == 1 && e->args[0]->kind == EXPR_STAR) {
        if (call->func != AGG_COUNT || e->distinct)
            return fail(g, e, RC_INVALID, "only COUNT(*) takes *");
        call->func = AGG_COUNT_STAR;
    } else if (e->arg_count != 1) {
        return sql_error_at(
            g->plan->err, e->arg_count > 1 && call->func == AGG_COUNT ? RC_UNSUPPORTED : RC_INVALID,
            g->plan->source, e->pos, "%s takes one argument, not %u", e->name, e->arg_count);
    } else {
        RETURN_IF_ERR(
            add_column(g, e->args[0], "an aggregate cannot be inside of an aggregate", &call->arg));
        arg = expr_type(g->bound[call->arg]);
    }
    call->distinct = e->distinct && call->func != AGG_MIN && call->func != AGG_MAX;
    if (call->distinct && (call->func == AGG_FIRST_VALUE || call->func == AGG_LAST_VALUE))
        return fail(g, e, RC_UNSUPPORTED,
                    "not supported by varve: DISTINCT in FIRST_VALUE and LAST_VALUE");
    if (e->filter != NULL) {
        RETURN_IF_ERR(add_column(g, e->filter, "an aggregate cannot be in FILTER", &call->filter));
        if (expr_type(g->bound[call->filter]).kind != TYPE_BOOLEAN)
            return fail(g, e->filter, RC_INVALID, "FILTER (WHERE ...) needs a BOOLEAN");
    }
    RETURN_IF_ERR(result_type(g, e, call, arg));
    call->name = call_name(g, e, call);
    return RC_OK;
}

static enum rc add_columns(struct group *g)
{
    for (uint32_t i = 0; i < g->key_count; i++)
        if (g->key_column[i] == 0)
            RETURN_IF_ERR(
                add_column(g, g->keys[i], "an aggregate cannot be in GROUP BY", &g->key_column[i]));
    for (uint32_t i = 0; i < g->call_count; i++)
        RETURN_IF_ERR(add_call(g, g->calls[i], &g->specs[i]));
    return RC_OK;
}

/* ---- the aggregate --------------------------------------------------------------------------- */

/* Name of a key in the state's type: its text over columns of tables, so that aliases do not matter
 * and another expression is another key. Of a column that is only cast, the column's: the type beside
 * the name says the rest. */
static const char *state_name(struct group *g, uint32_t column)
{
    struct arena *a = g->plan->arena;
    const char *origin = plan_origin(g->plan, g->in, g->bound[column]);
    const char *base = plan_base(g->plan, g->in, g->columns[column]);
    size_t len = strcspn(base, "\n");
    const char *cast = arena_printf(a, "CAST(%.*s AS %s)", (int)len, base,
                                    type_str(a, expr_type(g->bound[column]), false));

    return strcmp(origin, cast) == 0 ? arena_strndup(a, base, len) : origin;
}

/* Projects to the columns the aggregate needs; windows keep the time column as their last one. */
static enum rc project_input(struct group *g, const struct ast_query *q, struct plan_stream *s,
                             uint32_t *time_column)
{
    struct ast_select_item *items =
        ARENA_ARRAY(g->plan->arena, g->column_count + 1, struct ast_select_item);
    uint32_t n = g->column_count;

    for (uint32_t i = 0; i < n; i++)
        items[i] = (struct ast_select_item){(struct ast_expr *)(uintptr_t)g->columns[i], NULL};
    if (g->windowed) {
        struct call_walk w = {g, RC_OK};
        uint32_t at = s->window->time_column;

        ast_expr_walk(q->where, find_window_column, &w);
        RETURN_IF_ERR(w.rc);
        items[n++] =
            (struct ast_select_item){ast_column_new(g->plan->arena, g->in->fields[at].qualifier,
                                                    g->in->schema->fields[at].name, q->pos),
                                     NULL};
        s->schema = schema_copy(g->plan->arena, s->schema);
        s->schema->field_count -= 3;
        s->window = NULL;
    }
    if (n == 0) { /* COUNT(*) over nothing but rows: one column must carry them */
        struct ast_expr *one = ARENA_NEW(g->plan->arena, struct ast_expr);

        *one = (struct ast_expr){.kind = EXPR_LITERAL,
                                 .literal = LIT_INT,
                                 .text = "1",
                                 .text_len = 1,
                                 .height = 1,
                                 .pos = q->pos};
        items[n++] = (struct ast_select_item){one, NULL};
    }
    RETURN_IF_ERR(plan_project(g->plan, s, n, items, q->where));
    for (uint32_t i = 0; i < g->column_count; i++)
        s->schema->fields[i].name = state_name(g, i);
    plan_unique_names(g->plan, s->schema);
    *time_column = g->column_count;
    s->window = NULL;
    return plan_flush(g->plan, s);
}

static void add_output(struct group *g, const char *name, struct type type, const char *origin,
                       const char *base)
{
    uint32_t at = g->output->field_count++;

    g->output->fields[at] = (struct schema_field){name, type};
    g->fields[at] = (struct plan_field){.qualifier = arena_printf(g->plan->arena, "$%u", at),
                                        .origin = origin,
                                        .base = base};
}

/* Keys, calls, window columns; fills keys with the input columns of the keys. */
static uint32_t make_output(struct group *g, const struct plan_stream *s, uint32_t *keys)
{
    struct plan *p = g->plan;
    uint32_t cap = g->key_count + g->call_count + 3, key_count = 0;

    g->output = plan_schema_new(p, cap);
    g->fields = ARENA_ARRAY(p->arena, cap + 1, struct plan_field);
    for (uint32_t i = 0; i < g->key_count; i++) {
        int32_t column = g->key_column[i];

        if (column < 0)
            continue;
        g->key_out[i] = g->output->field_count;
        keys[key_count++] = (uint32_t)column;
        add_output(g, s->schema->fields[column].name, s->schema->fields[column].type,
                   plan_origin(p, g->in, g->bound[column]),
                   plan_base(p, g->in, g->columns[column]));
        g->fields[g->key_out[i]].key = key_count;
    }
    for (uint32_t i = 0; i < g->call_count; i++) {
        g->call_out[i] = g->output->field_count;
        add_output(g, g->specs[i].name, g->specs[i].result, g->specs[i].name, "");
    }
    for (int w = 1; w <= 3 && g->windowed; w++) {
        uint32_t from = g->in->schema->field_count - 4 + (uint32_t)w;

        if (w == 3 && !g->emit_time)
            continue;
        for (uint32_t i = 0; i < g->key_count; i++)
            if (g->key_column[i] == -w)
                g->key_out[i] = g->output->field_count;
        if (w == 3)
            g->output->rowtime = (int32_t)g->output->field_count;
        add_output(g, g->in->schema->fields[from].name, g->in->schema->fields[from].type,
                   g->in->schema->fields[from].name, g->in->fields[from].base);
    }
    return key_count;
}

static const char *select_text(struct group *g, const struct plan_stream *s, uint32_t key_count,
                               const uint32_t *keys)
{
    struct buf out = {0};
    const char *text;

    buf_append_str(&out, key_count == 0 ? "" : "groupBy=[");
    for (uint32_t i = 0; i < key_count; i++)
        buf_printf(&out, "%s%s", i == 0 ? "" : ", ", s->schema->fields[keys[i]].name);
    buf_printf(&out, "%sselect=[", key_count == 0 ? "" : "], ");
    for (uint32_t i = 0; i < g->output->field_count; i++)
        buf_printf(&out, "%s%s", i == 0 ? "" : ", ", g->output->fields[i].name);
    buf_append_u8(&out, ']');
    text = arena_strdup(g->plan->arena, buf_cstr(&out));
    buf_release(&out);
    return text;
}

static const char *key_names(struct group *g, const struct plan_stream *s, uint32_t key_count,
                             const uint32_t *keys)
{
    struct buf out = {0};
    const char *text;

    for (uint32_t i = 0; i < key_count; i++)
        buf_printf(&out, "%s%s", i == 0 ? "" : ", ", s->schema->fields[keys[i]].name);
    text = arena_strdup(g->plan->arena, buf_cstr(&out));
    buf_release(&out);
    return text;
}

/* Adds the operator behind a hash exchange (or a global one) and its place in the plan. */
static enum rc add_operator(struct group *g, struct plan_stream *s, uint32_t key_count,
                            const uint32_t *keys, const char *kind, const char *select,
                            struct plan_op **out)
{
    struct plan *p = g->plan;
    const char *names = key_names(g, s, key_count, keys);
    const char *base = "";
    struct plan_op *op;

    for (uint32_t i = 0; i < g->key_count; i++)
        if (g->key_column[i] >= 0)
            base = plan_join_base(p, base, plan_base(p, g->in, g->columns[g->key_column[i]]));
    RETURN_IF_ERR(
        plan_op_new(p, key_count == 0 ? kind : arena_printf(p->arena, "%s[%s]", kind, names), &op));
    s->physical = key_count == 0 ? plan_node_new(p, s->physical, s->physical->changelog,
                                                 "Exchange(distribution=[single])")
                                 : plan_node_new(p, s->physical, s->physical->changelog,
                                                 "Exchange(distribution=[hash[%s]])", names);
    op->spec.stateful = op->spec.keyed = true;
    op->spec.uid = g->uid;
    op->ident = arena_printf(p->arena, "aggregate\n%s\n%s", s->ident, base);
    op->detail = arena_printf(p->arena, "%s\n%s", select, plan_node_digest(p, s->physical));
    if (key_count == 0)
        op->parallelism = 1;
    plan_connect(p, op, s->op, key_count == 0 ? PARTITION_GLOBAL : PARTITION_HASH, key_count, keys,
                 s->schema);
    s->ident = arena_printf(p->arena, "agg(%s;%s)", s->ident, base);
    s->op = op;
    *out = op;
    return RC_OK;
}

static enum rc set_states(struct plan *p, struct plan_op *op, enum rc rc, struct state_desc *states,
                          size_t count)
{
    if (rc != RC_OK)
        return err_wrap(p->err, rc, "%s", op->spec.name);
    op->spec.states = states;
    op->spec.state_count = count;
    return RC_OK;
}

/* What a row that leaves memory and comes back costs, in microseconds (bench_rocks, bench_state): looked up, written, compacted;
 * or written and compacted as an operand. */
#define LOOKUP_US 2.5
#define RUN_US 0.13
#define COMPACT_ROW_US 0.30
#define COMPACT_OPERAND_US 0.55

/* Whether the totals' rows need not be looked up; *why: for EXPLAIN, NULL where the question does not arise. */
static bool choose_blind(struct plan *p, const struct schema *input, const struct agg_call *calls, uint32_t call_count,
                         const char **why)
{
    const double looked_up = LOOKUP_US + RUN_US + COMPACT_ROW_US, blind = RUN_US + COMPACT_OPERAND_US;
    struct err ignored = {0};
    struct acc_layout layout;
    const char *pattern = NULL;

    *why = NULL;
    if (config_enum(p->ctx->config, OPT_BACKEND_TYPE) != BACKEND_TYPE_ROCKSDB || call_count == 0)
        return false;
    *why = "no: results leave with every change, so each row is read";
    if (!p->batch)
        return false;
    *why = "no: turned off";
    if (config_enum(p->ctx->config, OPT_ROCKS_BLIND) == BLIND_OFF)
        return false;
    if (acc_layout_make(p->arena, calls, call_count, input, false, &layout, &ignored) == RC_OK)
        pattern = acc_blind_pattern(p->arena, &layout);
    *why = "no: not all calls are counts, or sums, least and greatest values of exact numbers";
    if (pattern == NULL)
        return false;
    *why = arena_printf(p->arena,
                        "%s: one reading, at the end; a row that left memory costs %.2f us as an operand, %.2f us with a lookup",
                        blind < looked_up ? "yes" : "no", blind, looked_up);
    return blind < looked_up;
}

/* 0: none. A chunk of the aggregate has fewer rows than that anyway, and never waits for more. */
static uint32_t mini_batch_rows(const struct config *c)
{
    int64_t rows = config_long(c, OPT_MINI_BATCH_SIZE);

    if (!config_bool(c, OPT_MINI_BATCH))
        return 0;
    return rows > BATCH_ROWS_MAX ? BATCH_ROWS_MAX : (uint32_t)rows;
}

static enum rc add_aggregate(struct group *g, struct plan_stream *s)
{
    struct plan *p = g->plan;
    struct aggregate_spec *spec = ARENA_NEW(p->arena, struct aggregate_spec);
    uint32_t *keys = ARENA_ARRAY(p->arena, g->key_count + 1, uint32_t),
             key_count = make_output(g, s, keys);
    const char *select = select_text(g, s, key_count, keys);
    struct state_desc *states;
    struct plan_op *op;
    size_t count;
    enum rc rc;

    *spec = (struct aggregate_spec){
        .input = s->schema,
        .output = g->output,
        .key_count = key_count,
        .keys = keys,
        .call_count = g->call_count,
        .calls = arena_copy(p->arena, g->specs, g->call_count * sizeof *g->specs),
        .final_only = p->batch,
        .mini_batch_rows = p->batch ? 0 : mini_batch_rows(p->ctx->config),
        .retracts = s->updating,
        .ttl_ms = p->batch ? 0 : (uint64_t)g->ttl_ms,
        .emit_update_before = true,
    };
    RETURN_IF_ERR(add_operator(g, s, key_count, keys, "GroupAggregate", select, &op));
    spec->blind = !spec->retracts && choose_blind(p, spec->input, spec->calls, spec->call_count, &op->spec.blind);
    s->physical = plan_node_new(p, s->physical,
                                p->batch      ? "I"
                                : s->updating ? "I,UB,UA,D"
                                              : "I,UB,UA",
                                "GroupAggregate(%s)", select);
    op->spec.make = make_aggregate;
    op->spec.fit_states = aggregate_fit;
    op->spec.spec = spec;
    op->spec.description = s->physical->text;
    rc = aggregate_states(p->arena, spec, &states, &count, p->err);
    RETURN_IF_ERR(set_states(p, op, rc, states, count));
    s->updating = !p->batch;
    s->key_count = key_count;
    s->updating_by = s->physical->text;
    s->drop_update_before = spec;
    return RC_OK;
}

static enum rc add_window(struct group *g, const struct plan_window *window, uint32_t time_column,
                          struct plan_stream *s)
{
    struct plan *p = g->plan;
    struct window_spec *spec = ARENA_NEW(p->arena, struct window_spec);
    uint32_t *keys = ARENA_ARRAY(p->arena, g->key_count + 1, uint32_t),
             key_count = make_output(g, s, keys);
    const char *select = select_text(g, s, key_count, keys);
    struct state_desc *states;
    struct plan_op *op;
    size_t count;
    enum rc rc;

    *spec = (struct window_spec){
        .input = s->schema,
        .output = g->output,
        .key_count = key_count,
        .keys = keys,
        .call_count = g->call_count,
        .calls = arena_copy(p->arena, g->specs, g->call_count * sizeof *g->specs),
        .time_column = time_column,
        .size_ms = window->size_ms,
        .offset_ms = window->offset_ms,
        .emit_start = true,
        .emit_end = true,
        .emit_time = g->emit_time,
        .time_zone = p->time_zone,
    };
    RETURN_IF_ERR(add_operator(g, s, key_count, keys, "WindowAggregate", select, &op));
    spec->blind = choose_blind(p, spec->input, spec->calls, spec->call_count, &op->spec.blind);
    op->ident = arena_printf(p->arena, "window %lld %lld %s\n%s", (long long)window->size_ms,
                             (long long)window->offset_ms,
                             g->in->fields[window->time_column].origin, op->ident);
    s->physical = plan_node_new(
        p, s->physical, "I",
        "WindowAggregate(%s, window=[TUMBLE(time_col=[%s], size=[%lld ms], offset=[%lld ms])])",
        select, spec->input->fields[time_column].name, (long long)window->size_ms,
        (long long)window->offset_ms);
    op->spec.make = make_window;
    op->spec.fit_states = window_fit;
    op->spec.check_restored = window_check_restored;
    op->spec.spec = spec;
    op->spec.description = s->physical->text;
    rc = window_states(p->arena, spec, &states, &count, p->err);
    RETURN_IF_ERR(set_states(p, op, rc, states, count));
    s->drop_update_before = NULL;
    return RC_OK;
}

/* ---- after the aggregate --------------------------------------------------------------------- */

static struct ast_expr *replace(void *ctx, const struct ast_expr *e, enum rc *rc, struct err *err)
{
    struct group *g = ctx;
    int32_t at = -1;

    for (uint32_t i = 0; i < g->key_count && at < 0; i++)
        if (same(g, g->keys[i], e))
            at = (int32_t)g->key_out[i];
    for (uint32_t i = 0; i < g->call_count && at < 0 && ast_is_aggregate(e); i++)
        if (same(g, g->calls[i], e))
            at = (int32_t)g->call_out[i];
    if (at >= 0)
        return ast_column_new(g->plan->arena, g->fields[at].qualifier, g->output->fields[at].name,
                              e->pos);
    if (e->kind == EXPR_COLUMN) {
        struct expr *bound;

        *rc = plan_bind(g->plan, g->in, e, &bound); /* an unknown column says so itself */
        if (*rc == RC_OK)
            *rc = sql_error_at(err, RC_INVALID, g->plan->source, e->pos,
                               "the column %s is neither in GROUP BY nor in an aggregate", e->name);
    }
    return NULL;
}

static enum rc project_output(struct group *g, const struct ast_query *q, uint32_t item_count,
                              const struct ast_select_item *items, struct plan_stream *s)
{
    struct plan *p = g->plan;
    struct ast_select_item *out = ARENA_ARRAY(p->arena, item_count + 1, struct ast_select_item);
    struct ast_expr *having = NULL;

    for (uint32_t i = 0; i < item_count; i++) {
        RETURN_IF_ERR(ast_expr_copy(p->arena, items[i].expr, replace, g, &out[i].expr, p->err));
        out[i].alias = items[i].alias != NULL               ? items[i].alias
                       : items[i].expr->kind == EXPR_COLUMN ? items[i].expr->name
                                                            : arena_printf(p->arena, "EXPR$%u", i);
    }
    if (q->having != NULL)
        RETURN_IF_ERR(ast_expr_copy(p->arena, q->having, replace, g, &having, p->err));
    s->schema = g->output;
    s->fields = g->fields;
    return plan_project(p, s, item_count, out, having);
}

static void describe_logical(struct group *g, struct plan_stream *s)
{
    struct plan *p = g->plan;
    struct buf calls = {0};
    uint32_t keys = 0;

    for (uint32_t i = 0; i < g->key_count; i++)
        buf_printf(&calls, "%s%u", i == 0 ? "group=[{" : ", ", keys++);
    buf_append_str(&calls, g->key_count == 0 ? "group=[{}]" : "}]");
    for (uint32_t i = 0; i < g->call_count; i++)
        buf_printf(&calls, ", EXPR$%u=[%s]", i, g->specs[i].name);
    s->logical = plan_node_new(p, s->logical, NULL, "LogicalAggregate(%s)", buf_cstr(&calls));
    buf_release(&calls);
}

/* Hints behind SELECT: OPTIONS('varve.uid'='x') and STATE_TTL('t'='1 d'), checked by
 * plan_select_core. */
static enum rc take_hints(struct group *g, const struct ast_query *q)
{
    struct plan *p = g->plan;

    g->uid = "";
    g->ttl_ms = config_duration_ms(p->ctx->config, OPT_STATE_TTL);
    for (uint32_t i = 0; i < q->option_count; i++) {
        const struct ast_option *o = &q->options[i];

        if (!o->is_ttl)
            g->uid = arena_strdup(p->arena, o->value);
        else if (g->in->window != NULL)
            return sql_error_at(p->err, RC_INVALID, p->source, o->pos,
                                "STATE_TTL is not for windows: their state goes when they end");
        else
            RETURN_IF_ERR(duration_parse(o->value, &g->ttl_ms, p->err));
    }
    return RC_OK;
}

enum rc plan_group(struct plan *p, const struct ast_query *q, uint32_t item_count,
                   const struct ast_select_item *items, struct plan_stream *s)
{
    struct group *g = ARENA_NEW(p->arena, struct group);
    const struct plan_window *window;
    struct plan_stream in;
    uint32_t time_column;

    g->plan = p;
    in = *s;
    g->in = &in;
    RETURN_IF_ERR(take_hints(g, q));
    RETURN_IF_ERR(add_keys(g, q, item_count, items));
    if (s->window != NULL && !g->windowed) {
        RETURN_IF_ERR(plan_window_assign(p, s));
        in = *s;
        memset(g, 0, sizeof *g);
        g->plan = p;
        g->in = &in;
        RETURN_IF_ERR(take_hints(g, q));
        RETURN_IF_ERR(add_keys(g, q, item_count, items));
    }
    window = s->window;
    RETURN_IF_ERR(collect_calls(g, q, item_count, items));
    RETURN_IF_ERR(add_columns(g));
    RETURN_IF_ERR(project_input(g, q, s, &time_column));
    if (window != NULL)
        RETURN_IF_ERR(add_window(g, window, time_column, s));
    else
        RETURN_IF_ERR(add_aggregate(g, s));
    describe_logical(g, s);
    return project_output(g, q, item_count, items, s);
}

enum rc plan_distinct(struct plan *p, const struct ast_query *hint, struct plan_stream *s)
{
    struct ast_query q = {.has_group_by = true, .group_count = s->schema->field_count};
    struct ast_select_item *items =
        ARENA_ARRAY(p->arena, q.group_count + 1, struct ast_select_item);
    struct sql_pos nowhere = {0};

    if (hint != NULL) {
        q.option_count = hint->option_count;
        q.options = hint->options;
    }
    RETURN_IF_ERR(plan_flush(p, s));
    q.group_by = ARENA_ARRAY(p->arena, q.group_count + 1, struct ast_expr *);
    for (uint32_t i = 0; i < q.group_count; i++) {
        items[i].expr = q.group_by[i] =
            ast_column_new(p->arena, NULL, s->schema->fields[i].name, nowhere);
        items[i].alias = s->schema->fields[i].name;
    }
    q.item_count = q.group_count;
    q.items = items;
    return plan_group(p, &q, q.item_count, items, s);
}
