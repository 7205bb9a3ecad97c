/* source_op.c - the head of a source task: drives a source, paces it, keeps its position in
 * operator state.
 *
 * The position is put into the union list "source-positions" at every barrier; each subtask of a
 * restored job gets all of them and takes its share (source.h). Pacing: row j of subtask i is due
 * at (j * parallelism + i) / rows_per_second after the start, so that any rate is met over all
 * subtasks, also one below a row a second each; what was missed while the task was held up is made
 * up for at most one second.
 *
 * After: SourceOperator (flink-runtime), DataGeneratorSource's rate. */
#include "job/operator/operators.h"

#include <stdatomic.h>

#define CATCH_UP_NS NS_PER_S
#define PACE_STEP_NS                                                                               \
    (10 * NS_PER_MS) /* at least so long between two batches, unless a full one is due */

struct source_op {
    struct operator base;
    const struct source_spec *spec;
    struct operator_context ctx;
    struct source *source;
    struct batch_builder *rows;
    bool ended;
    bool backlog; /* as it was told */
    /* pacing */
    int64_t pace_start_ns;
    uint64_t paced_rows; /* since then */
    int64_t last_ns;     /* when rows were last let through */
};

/* ---- pacing ---------------------------------------------------------------------------------- */

static int64_t due_ns(const struct source_op *s, uint64_t row)
{
    unsigned __int128 number = (unsigned __int128)row * s->ctx.parallelism + s->ctx.subtask_index;

    return s->pace_start_ns + (int64_t)(number * NS_PER_S / (uint64_t)s->spec->rows_per_second);
}

/* Rows that are due by now and not emitted; none: *retry_ns says when. */
static uint32_t rows_due(struct source_op *s, int64_t *retry_ns)
{
    int64_t now = clock_mono_ns(s->ctx.env->clock), next = due_ns(s, s->paced_rows),
            late = now - next;
    unsigned __int128 number;
    uint64_t due;

    *retry_ns = -late;
    if (late < 0)
        return 0;
    if (late > CATCH_UP_NS)
        s->pace_start_ns += late - CATCH_UP_NS;
    /* The largest count with due_ns(count - 1) <= now. */
    number = (unsigned __int128)(uint64_t)(now - s->pace_start_ns) *
             (uint64_t)s->spec->rows_per_second / NS_PER_S;
    due = number < s->ctx.subtask_index
              ? 0
              : (uint64_t)((number - s->ctx.subtask_index) / s->ctx.parallelism) + 1;
    due = due > s->paced_rows ? due - s->paced_rows : 1;
    if (due >= BATCH_ROWS_MAX)
        due = BATCH_ROWS_MAX;
    else if (now - s->last_ns < PACE_STEP_NS) {
        *retry_ns = s->last_ns + PACE_STEP_NS - now;
        return 0;
    }
    s->last_ns = now;
    return (uint32_t)due;
}

/* ---- the operator ---------------------------------------------------------------------------- */

static void tell_backlog(struct source_op *s)
{
    bool now = s->source->ops->backlog != NULL && s->source->ops->backlog(s->source);

    if (now == s->backlog)
        return;
    s->backlog = now;
    if (s->ctx.backlog != NULL)
        s->ctx.backlog(s->ctx.wake_ctx, now);
}

static enum rc source_op_open(struct operator* op, const struct operator_context *ctx,
                              struct err *err)
{
    struct source_op *s = (struct source_op *)op;
    struct source_context source_ctx;
    enum rc rc;

    s->ctx = *ctx;
    s->pace_start_ns = clock_mono_ns(ctx->env->clock);
    s->last_ns = s->pace_start_ns - PACE_STEP_NS;
    source_ctx = (struct source_context){
        .env = ctx->env,
        .subtask_index = ctx->subtask_index,
        .parallelism = ctx->parallelism,
        .table_name = s->spec->table_name,
        .schema = s->spec->output,
        .restored = ctx->restored,
        .bad_rows = &ctx->metrics->bad_rows,
        .null_fields = &ctx->metrics->null_fields,
        .bytes_in = &ctx->metrics->bytes_in,
    };
    if (ctx->restored)
        source_ctx.restored_count =
            operator_state_restored(ctx->state, SOURCE_POSITIONS_LIST, &source_ctx.restored_items);
    rc = s->source->ops->open(s->source, &source_ctx, err);
    if (rc == RC_OK)
        tell_backlog(s);
    return rc == RC_OK ? RC_OK : err_wrap(err, rc, "table %s", s->spec->table_name);
}

static enum rc emit(struct source_op *s, struct output *out, struct err *err)
{
    uint32_t rows = batch_builder_rows(s->rows);
    enum rc rc = out->batch(out, batch_builder_view(s->rows), err);

    s->paced_rows += rows;
    atomic_fetch_add_explicit(&s->ctx.metrics->records_out, rows, memory_order_relaxed);
    batch_builder_clear(s->rows);
    return rc;
}

static enum rc end_event_time(struct source_op *s, struct output *out, struct err *err)
{
    atomic_store_explicit(&s->ctx.metrics->watermark_ms, WATERMARK_MAX, memory_order_relaxed);
    return out->watermark(out, WATERMARK_MAX, err);
}

static enum rc source_op_poll(struct operator* op, struct output *out, enum source_poll *what,
                              int64_t *retry_mono_ns, struct err *err)
{
    struct source_op *s = (struct source_op *)op;
    uint32_t max_rows = BATCH_ROWS_MAX;
    enum source_result result;
    int64_t retry_ns = 0;
    enum rc rc;

    *what = SOURCE_IDLE;
    if (s->ended) {
        *what = SOURCE_END;
        return RC_OK;
    }
    if (s->spec->rows_per_second > 0)
        max_rows = rows_due(s, &retry_ns);
    if (max_rows == 0) {
        *retry_mono_ns = clock_mono_ns(s->ctx.env->clock) + retry_ns;
        return RC_OK;
    }
    rc = s->source->ops->poll(s->source, s->rows, max_rows, &result, &retry_ns, err);
    if (rc != RC_OK)
        return err_wrap(err, rc, "table %s", s->spec->table_name);
    tell_backlog(s);
    switch (result) {
    case SOURCE_GOT_ROWS:
        *what = SOURCE_ROWS;
        return emit(s, out, err);
    case SOURCE_NOTHING_NOW:
        *retry_mono_ns = clock_mono_ns(s->ctx.env->clock) + retry_ns;
        return RC_OK;
    case SOURCE_ENDED:
        break;
    }
    s->ended = true;
    *what = SOURCE_END;
    return end_event_time(s, out, err);
}

static enum rc source_op_drain(struct operator* op, struct output *out, struct err *err)
{
    struct source_op *s = (struct source_op *)op;

    if (s->ended)
        return RC_OK; /* said already */
    s->ended = true;
    return end_event_time(s, out, err);
}

static enum rc source_op_snapshot(struct operator* op, const struct barrier *barrier,
                                  struct err *err)
{
    struct source_op *s = (struct source_op *)op;
    struct arena *arena = arena_new(0);
    struct bytes *items;
    size_t count;
    enum rc rc;

    (void)barrier;
    GOTO_IF_ERR(s->source->ops->position(s->source, arena, &items, &count, err));
    operator_state_set(s->ctx.state, SOURCE_POSITIONS_LIST, LIST_UNION, items, count);
out:
    arena_free(arena);
    return rc;
}

static void source_op_close(struct operator* op, bool clean)
{
    struct source_op *s = (struct source_op *)op;

    (void)clean;
    s->source->ops->close(s->source);
    batch_builder_free(s->rows);
    mem_free(s);
}

struct operator* source_op_new(const struct source_spec *spec)
{
    static const struct source_operator_ops ops = {
        .op = {.kind = "source",
               .open = source_op_open,
               .snapshot = source_op_snapshot,
               .close = source_op_close},
        .poll = source_op_poll,
        .drain_event_time = source_op_drain,
    };
    struct source_op *s = mem_calloc(1, sizeof *s);

    s->base.ops = &ops.op;
    s->spec = spec;
    s->source = spec->make(spec->config);
    s->rows = batch_builder_new(spec->output);
    return &s->base;
}
