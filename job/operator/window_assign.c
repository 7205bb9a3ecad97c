/* window_assign.c - TUMBLE without aggregation: appends the window's columns to each row; no state. See operators.h. */
#include "job/operator/tumble.h"

struct window_assign {
    struct operator op;
    const struct window_spec *spec;
    const struct operator_context *ctx;
    struct tumble tumble;
    struct column *columns;
    int64_t ends[BATCH_ROWS_MAX], bounds[3 * BATCH_ROWS_MAX];
};

static enum rc window_assign_open(struct operator *op, const struct operator_context *ctx, struct err *err)
{
    struct window_assign *w = (struct window_assign *)op;

    w->ctx = ctx;
    w->columns = mem_calloc(w->spec->output->field_count + 4, sizeof *w->columns);
    return tumble_open(&w->tumble, w->spec, ctx->env->fs, err);
}

static enum rc window_assign_process(struct operator *op, struct batch *in, struct output *out,
                                     struct err *err)
{
    struct window_assign *w = (struct window_assign *)op;
    struct batch result = {.rows = in->rows,
                           .column_count = w->spec->output->field_count,
                           .columns = w->columns,
                           .kinds = in->kinds};

    w->ctx->metrics->records_in += in->rows;
    w->ctx->metrics->records_out += in->rows;
    RETURN_IF_ERR(tumble_ends(&w->tumble, in, w->ends, err));
    memcpy(w->columns, in->columns, in->column_count * sizeof *in->columns);
    tumble_columns(&w->tumble, w->ends, in->rows, w->columns + in->column_count, w->bounds);
    return out->batch(out, &result, err);
}

static void window_assign_close(struct operator *op, bool clean)
{
    struct window_assign *w = (struct window_assign *)op;

    (void)clean;
    tumble_close(&w->tumble);
    mem_free(w->columns);
    mem_free(w);
}

static const struct operator_ops window_assign_ops = {
    .kind = "window-assign",
    .open = window_assign_open,
    .process = window_assign_process,
    .close = window_assign_close,
};

struct operator *window_assign_new(const struct window_spec *spec)
{
    struct window_assign *w = mem_calloc(1, sizeof *w);

    w->op.ops = &window_assign_ops;
    w->spec = spec;
    return &w->op;
}
