/* watermark.c - event time from an expression over the rows (WATERMARK FOR), in the source's chain.
 * See operators.h.
 *
 * The watermark is the largest value of the expression so far. With interval 0 it holds row by row:
 * whether a row is late must not depend on where batches end, so a batch is cut before a row whose
 * time the watermark of the rows before it has reached; rows that are in time need no cut, because
 * no window they belong to has ended. With an interval it goes out when that much time has passed,
 * or when event time has moved by more than it (so that a busy task does not hold it back).
 *
 * After: WatermarkAssignerOperator (flink-table-runtime), which ignores watermarks from above
 * except the last. */
#include "job/datetime.h"
#include "job/operator/operators.h"

#include <stdatomic.h>

struct watermark_op {
    struct operator op;
    const struct watermark_spec *spec;
    const struct operator_context *ctx;
    struct expr_eval *eval;
    struct batch_builder *slice;
    uint32_t *idx; /* BATCH_ROWS_MAX */
    int64_t current_ms, emitted_ms;
    bool idle;
    int64_t last_row_ns, last_emit_ns;
};

/* ---- emitting -------------------------------------------------------------------------------- */

static enum rc emit_watermark(struct watermark_op *w, int64_t ms, struct output *out,
                              struct err *err)
{
    w->emitted_ms = ms;
    w->last_emit_ns = clock_mono_ns(w->ctx->env->clock);
    atomic_store_explicit(&w->ctx->metrics->watermark_ms, ms, memory_order_relaxed);
    return out->watermark(out, ms, err);
}

static enum rc emit_rows(struct watermark_op *w, struct batch *in, uint32_t from, uint32_t to,
                         struct output *out, struct err *err)
{
    if (from == to)
        return RC_OK;
    atomic_fetch_add_explicit(&w->ctx->metrics->records_out, to - from, memory_order_relaxed);
    if (from == 0 && to == in->rows)
        return out->batch(out, in, err);
    for (uint32_t i = from; i < to; i++)
        w->idx[i - from] = i;
    batch_builder_clear(w->slice);
    batch_gather(w->slice, in, w->idx, to - from, NULL);
    return out->batch(out, batch_builder_view(w->slice), err);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static enum rc row_time(const struct watermark_op *w, const struct column *time, uint32_t row,
                        int64_t *ms, struct err *err)
{
    if (!column_present(time, row))
        return err_set(
            err, RC_INVALID,
            "event time column %s is null in a row; give it a value or filter such rows before",
            w->spec->input->fields[w->spec->time_column].name);
    *ms = timestamp_to_ms(((const int64_t *)time->values)[row], time->type.precision);
    return RC_OK;
}

static void advance(struct watermark_op *w, const struct column *mark, uint32_t row)
{
    int64_t ms;

    if (!column_present(mark, row))
        return;
    ms = timestamp_to_ms(((const int64_t *)mark->values)[row], mark->type.precision);
    if (ms > w->current_ms)
        w->current_ms = ms;
}

/* Cut before each row that the watermark has reached and that has not heard of it. */
static enum rc process_by_row(struct watermark_op *w, struct batch *in, const struct column *mark,
                              struct output *out, struct err *err)
{
    const struct column *time = &in->columns[w->spec->time_column];
    uint32_t from = 0;
    int64_t ms = 0;

    for (uint32_t i = 0; i < in->rows; i++) {
        RETURN_IF_ERR(row_time(w, time, i, &ms, err));
        if (ms <= w->current_ms && w->current_ms > w->emitted_ms) {
            RETURN_IF_ERR(emit_rows(w, in, from, i, out, err));
            RETURN_IF_ERR(emit_watermark(w, w->current_ms, out, err));
            from = i;
        }
        advance(w, mark, i);
    }
    RETURN_IF_ERR(emit_rows(w, in, from, in->rows, out, err));
    return w->current_ms > w->emitted_ms ? emit_watermark(w, w->current_ms, out, err) : RC_OK;
}

/* More than the interval behind; nothing was emitted: everything is. */
static bool far_behind(const struct watermark_op *w)
{
    int64_t gap;

    return __builtin_sub_overflow(w->current_ms, w->emitted_ms, &gap) ||
           gap > w->spec->emit_interval_ms;
}

static enum rc process_whole(struct watermark_op *w, struct batch *in, const struct column *mark,
                             struct output *out, struct err *err)
{
    const struct column *time = &in->columns[w->spec->time_column];
    int64_t ms = 0;

    for (uint32_t i = 0; i < in->rows; i++) {
        RETURN_IF_ERR(row_time(w, time, i, &ms, err));
        advance(w, mark, i);
    }
    RETURN_IF_ERR(emit_rows(w, in, 0, in->rows, out, err));
    return w->current_ms > w->emitted_ms && far_behind(w)
               ? emit_watermark(w, w->current_ms, out, err)
               : RC_OK;
}

static enum rc watermark_process(struct operator* op, struct batch *in, struct output *out,
                                 struct err *err)
{
    struct watermark_op *w = (struct watermark_op *)op;
    struct column mark;

    if (in->rows == 0)
        return RC_OK;
    atomic_fetch_add_explicit(&w->ctx->metrics->records_in, in->rows, memory_order_relaxed);
    w->last_row_ns = clock_mono_ns(w->ctx->env->clock);
    if (w->idle) {
        /* Event time of this channel counts again, even if these rows do not move it. */
        w->idle = false;
        if (w->emitted_ms != WATERMARK_NONE)
            RETURN_IF_ERR(emit_watermark(w, w->emitted_ms, out, err));
    }
    expr_eval_reset(w->eval);
    RETURN_IF_ERR(expr_evaluate(w->eval, w->spec->watermark, in, NULL, in->rows, &mark, err));
    return w->spec->emit_interval_ms == 0 ? process_by_row(w, in, &mark, out, err)
                                          : process_whole(w, in, &mark, out, err);
}

/* ---- time ------------------------------------------------------------------------------------ */

static enum rc watermark_watermark(struct operator* op, int64_t watermark_ms, struct output *out,
                                   struct err *err)
{
    struct watermark_op *w = (struct watermark_op *)op;

    if (watermark_ms != WATERMARK_MAX)
        return RC_OK;
    w->current_ms = WATERMARK_MAX;
    return emit_watermark(w, WATERMARK_MAX, out, err);
}

static enum rc watermark_tick(struct operator* op, int64_t now_mono_ns, int64_t *next_mono_ns,
                              struct output *out, struct err *err)
{
    struct watermark_op *w = (struct watermark_op *)op;
    int64_t interval_ns = w->spec->emit_interval_ms * NS_PER_MS,
            idle_ns = w->spec->idle_timeout_ms * NS_PER_MS;

    *next_mono_ns = INT64_MAX;
    if (w->current_ms > w->emitted_ms) {
        if (now_mono_ns - w->last_emit_ns >= interval_ns)
            RETURN_IF_ERR(emit_watermark(w, w->current_ms, out, err));
        else
            *next_mono_ns = w->last_emit_ns + interval_ns;
    }
    if (idle_ns == 0 || w->idle || w->emitted_ms == WATERMARK_MAX)
        return RC_OK;
    if (now_mono_ns - w->last_row_ns < idle_ns) {
        if (w->last_row_ns + idle_ns < *next_mono_ns)
            *next_mono_ns = w->last_row_ns + idle_ns;
        return RC_OK;
    }
    if (w->current_ms > w->emitted_ms)
        RETURN_IF_ERR(emit_watermark(w, w->current_ms, out, err));
    w->idle = true;
    return out->idle != NULL ? out->idle(out, err) : RC_OK;
}

/* ---- life ------------------------------------------------------------------------------------ */

static enum rc watermark_open(struct operator* op, const struct operator_context *ctx,
                              struct err *err)
{
    struct watermark_op *w = (struct watermark_op *)op;

    w->ctx = ctx;
    w->last_row_ns = w->last_emit_ns = clock_mono_ns(ctx->env->clock);
    w->eval = expr_eval_new(ctx->env->clock, w->spec->time_zone, err);
    return w->eval == NULL ? err->rc : RC_OK;
}

static void watermark_close(struct operator* op, bool clean)
{
    struct watermark_op *w = (struct watermark_op *)op;

    (void)clean;
    expr_eval_free(w->eval);
    batch_builder_free(w->slice);
    mem_free(w->idx);
    mem_free(w);
}

struct operator* watermark_new(const struct watermark_spec *spec)
{
    static const struct operator_ops ops = {
        .kind = "watermark",
        .open = watermark_open,
        .process = watermark_process,
        .watermark = watermark_watermark,
        .tick = watermark_tick,
        .close = watermark_close,
    };
    struct watermark_op *w = mem_calloc(1, sizeof *w);

    w->op.ops = &ops;
    w->spec = spec;
    w->current_ms = w->emitted_ms = WATERMARK_NONE;
    w->slice = batch_builder_new(spec->input);
    w->idx = mem_alloc(BATCH_ROWS_MAX * sizeof *w->idx);
    return &w->op;
}
