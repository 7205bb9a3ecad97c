/* calc.c - projection and filter in one; no state. See operators.h.
 *
 * WHERE selects rows first, so that an output expression is never evaluated for a row that is dropped (a division that WHERE guards
 * must not fail). A plain column without a filter is passed on without a copy. After: Flink's Calc. */
#include "job/operator/operators.h"

struct calc {
    struct operator op;
    const struct calc_spec *spec;
    const struct operator_context *ctx;
    struct expr_eval *eval;
    struct column *columns; /* of the output batch, spec->expr_count */
    uint32_t *sel;          /* BATCH_ROWS_MAX rows that passed WHERE */
    uint32_t sel_cap;
    uint8_t *kinds;
};

static enum rc calc_open(struct operator *op, const struct operator_context *ctx, struct err *err)
{
    struct calc *c = (struct calc *)op;

    c->ctx = ctx;
    c->eval = expr_eval_new(ctx->env->clock, c->spec->time_zone, err);
    if (c->eval == NULL)
        return err->rc;
    return RC_OK;
}

static void reserve_rows(struct calc *c, uint32_t rows)
{
    if (rows <= c->sel_cap)
        return;
    c->sel_cap = rows < BATCH_ROWS_MAX ? BATCH_ROWS_MAX : rows;
    c->sel = mem_realloc(c->sel, c->sel_cap * sizeof *c->sel);
    c->kinds = mem_realloc(c->kinds, c->sel_cap);
}

static enum rc calc_process(struct operator *op, struct batch *in, struct output *out,
                            struct err *err)
{
    struct calc *c = (struct calc *)op;
    const struct calc_spec *spec = c->spec;
    const uint32_t *sel = NULL;
    uint32_t n = in->rows;
    struct batch result = {0};

    reserve_rows(c, in->rows);
    expr_eval_reset(c->eval);
    c->ctx->metrics->records_in += in->rows;
    if (spec->where != NULL) {
        RETURN_IF_ERR(expr_filter(c->eval, spec->where, in, NULL, in->rows, c->sel, &n, err));
        if (n == 0)
            return RC_OK;
        if (n < in->rows)
            sel = c->sel;
    }
    for (uint32_t i = 0; i < spec->expr_count; i++) {
        int32_t column = expr_column(spec->exprs[i]);

        if (sel == NULL && column >= 0)
            c->columns[i] = in->columns[column];
        else
            RETURN_IF_ERR(expr_evaluate(c->eval, spec->exprs[i], in, sel, n, &c->columns[i], err));
        c->columns[i].type = spec->output->fields[i].type;
    }
    result.rows = n;
    result.column_count = spec->expr_count;
    result.columns = c->columns;
    result.kinds = in->kinds;
    if (in->kinds != NULL && sel != NULL) {
        for (uint32_t i = 0; i < n; i++)
            c->kinds[i] = in->kinds[sel[i]];
        result.kinds = c->kinds;
    }
    c->ctx->metrics->records_out += n;
    return out->batch(out, &result, err);
}

static void calc_close(struct operator *op, bool clean)
{
    struct calc *c = (struct calc *)op;

    (void)clean;
    expr_eval_free(c->eval);
    mem_free(c->columns);
    mem_free(c->sel);
    mem_free(c->kinds);
    mem_free(c);
}

static const struct operator_ops calc_ops = {
    .kind = "calc",
    .open = calc_open,
    .process = calc_process,
    .close = calc_close,
};

struct operator *calc_new(const struct calc_spec *spec)
{
    struct calc *c = mem_calloc(1, sizeof *c);

    c->op.ops = &calc_ops;
    c->spec = spec;
    c->columns = mem_calloc(spec->expr_count == 0 ? 1 : spec->expr_count, sizeof *c->columns);
    return &c->op;
}
