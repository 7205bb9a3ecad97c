/* aggregate.c - GROUP BY without a window: keyed running totals and the changelog they make. See operators.h.
 *
 * For each input row the result before and after is computed call by call (accumulator.h) into columns of twice the rows: position 2i is
 * row i's result before it, 2i + 1 after it. Which positions leave, and as what, is then decided per row:
 *
 *     group is new                  2i+1 as +I
 *     result changed                2i as -U (if wanted), 2i+1 as +U
 *     last row was taken back       2i as -D, the state goes
 *     nothing changed               nothing; with time-to-live as a change
 *
 * In batch mode (final_only) nothing leaves until the input has ended; then the state is scanned once. Which key groups have
 * been given out is kept as union state, so that a restore after that point repeats nothing.
 * After: GroupAggFunction (flink-table-runtime). */
#include "job/operator/keyed_totals.h"
#include "job/operator/totals_fit.h"

#define EMITTED_STATE "final-results-emitted" /* items: first, last key group, little-endian u32 each */
#define SCAN_ROWS TOTALS_ROWS_MAX

struct aggregate {
    struct operator op;
    const struct aggregate_spec *spec;
    const struct operator_context *ctx;
    struct keyed_totals totals;
    /* results of a chunk */
    struct batch wide;             /* 2 x TOTALS_ROWS_MAX positions: keys, then calls */
    struct batch_builder *wide_keys; /* key columns of wide */
    uint32_t *pick;                /* positions that leave */
    uint8_t *kinds;
    uint32_t pick_count;
    struct batch_builder *out;     /* when only some positions leave */
    struct key_builder gone;
    /* final results */
    bool draining, empty_result_due;
    uint8_t *emitted; /* by key group: given out by this or an earlier run */
    struct keyed_cursor *cursor;
    struct bytes *scan_keys, *scan_values;
    const void **scan_rows;
    struct key_builder scan_builder;
};

static struct totals_config totals_config_of(const struct aggregate_spec *spec)
{
    return (struct totals_config){
        .state_name = "accState",
        .input = spec->input,
        .key_count = spec->key_count,
        .keys = spec->keys,
        .call_count = spec->call_count,
        .calls = spec->calls,
        .blind = spec->blind,
        .retracts = spec->retracts,
        .ttl_ms = spec->ttl_ms,
        .ns = KEY_NS_VOID,
    };
}

enum rc aggregate_states(struct arena *a, const struct aggregate_spec *spec,
                         struct state_desc **out, size_t *count, struct err *err)
{
    struct totals_config config = totals_config_of(spec);

    return keyed_totals_states(a, &config, out, count, err);
}

enum rc aggregate_fit(const void *spec, const struct fit_request *r, struct state_fit *out, struct err *err)
{
    struct totals_config config = totals_config_of(spec);

    return totals_fit(r, &config, out, err);
}

/* ---- opening -------------------------------------------------------------------------------------- */

static void restore_emitted(struct aggregate *g)
{
    const struct bytes *items;
    size_t count = operator_state_restored(g->ctx->state, EMITTED_STATE, &items);

    for (size_t i = 0; i < count; i++) {
        if (items[i].len != 8)
            continue; /* a count of another program: its groups are given out again */
        for (uint32_t group = get_le32(items[i].data);
             group <= get_le32(items[i].data + 4) && group < g->ctx->key_group_count; group++)
            g->emitted[group] = 1;
    }
}

static enum rc aggregate_open(struct operator *op, const struct operator_context *ctx, struct err *err)
{
    struct aggregate *g = (struct aggregate *)op;
    struct totals_config config = totals_config_of(g->spec);
    const struct schema *output = g->spec->output;

    g->ctx = ctx;
    RETURN_IF_ERR(keyed_totals_open(&g->totals, &config, ctx->keyed, ctx->key_group_count, err));
    g->wide.column_count = output->field_count;
    g->wide.columns = mem_calloc(output->field_count + 1, sizeof *g->wide.columns);
    g->wide_keys = batch_builder_new(&g->totals.key.schema);
    g->out = batch_builder_new(output);
    g->pick = mem_alloc(2 * TOTALS_ROWS_MAX * sizeof *g->pick);
    g->kinds = mem_alloc(2 * TOTALS_ROWS_MAX);
    key_builder_init(&g->gone, ctx->key_group_count, KEY_NS_VOID);
    key_builder_init(&g->scan_builder, ctx->key_group_count, KEY_NS_VOID);
    g->emitted = mem_calloc(ctx->key_group_count, 1);
    restore_emitted(g);
    return RC_OK;
}

/* ---- the changelog of a chunk --------------------------------------------------------------------- */

static void pick(struct aggregate *g, uint32_t position, enum row_kind kind)
{
    g->kinds[g->pick_count] = (uint8_t)kind;
    g->pick[g->pick_count++] = position;
}

static void pick_change(struct aggregate *g, uint32_t before_at, uint32_t after_at, bool is_new, bool is_gone,
                        bool changed)
{
    if (is_new && is_gone)
        return;
    if (is_new) {
        pick(g, after_at, ROW_INSERT);
    } else if (is_gone) {
        pick(g, before_at, ROW_DELETE);
    } else if (changed) {
        if (g->spec->emit_update_before)
            pick(g, before_at, ROW_UPDATE_BEFORE);
        pick(g, after_at, ROW_UPDATE_AFTER);
    }
}

static void pick_rows(struct aggregate *g, uint32_t n)
{
    const struct keyed_totals *t = &g->totals;
    const struct key_dedup *d = t->dedup;
    bool keeps_young = g->spec->ttl_ms != 0; /* who keeps state of these results must hear that they live, as in Flink */

    g->pick_count = 0;
    if (g->spec->mini_batch_rows == 0) {
        for (uint32_t i = 0; i < n; i++)
            pick_change(g, 2 * i, 2 * i + 1, t->fresh[i], t->gone[i], t->scratch.changed[i] || keeps_young);
        return;
    }
    for (uint32_t k = 0; k < d->distinct_count; k++) {
        uint32_t first = d->distinct[k], last = d->last[first];

        /* whether first's before and last's after differ is left open: an update that changes nothing is harmless */
        pick_change(g, 2 * first, 2 * last + 1, t->fresh[first], t->gone[last], true);
    }
}

/* Key columns for positions 0..2n. */
static void double_keys(struct aggregate *g, const struct batch *in, uint32_t from, uint32_t n)
{
    struct batch *keys;

    batch_builder_clear(g->wide_keys);
    batch_double(g->wide_keys, in, from, n, g->spec->keys);
    keys = batch_builder_view(g->wide_keys);
    memcpy(g->wide.columns, keys->columns, g->spec->key_count * sizeof *keys->columns);
}

static enum rc emit_picked(struct aggregate *g, uint32_t n, struct output *out, struct err *err)
{
    for (uint32_t c = 0; c < g->spec->call_count; c++)
        g->wide.columns[g->spec->key_count + c] = *keyed_totals_result(&g->totals, c);
    g->wide.rows = 2 * n;
    g->ctx->metrics->records_out += g->pick_count;
    if (g->pick_count == 2 * n) { /* every position, in order */
        g->wide.kinds = g->kinds;
        return out->batch(out, &g->wide, err);
    }
    for (uint32_t at = 0; at < g->pick_count; at += BATCH_ROWS_MAX) {
        uint32_t rows = g->pick_count - at < BATCH_ROWS_MAX ? g->pick_count - at : BATCH_ROWS_MAX;
        struct batch *b;

        batch_builder_clear(g->out);
        g->wide.kinds = NULL;
        batch_gather(g->out, &g->wide, g->pick + at, rows, NULL);
        b = batch_builder_view(g->out);
        b->kinds = g->kinds + at;
        RETURN_IF_ERR(out->batch(out, b, err));
    }
    return RC_OK;
}

static enum rc delete_gone(struct aggregate *g, const struct key_batch *keys, uint32_t n, struct err *err)
{
    const uint8_t *gone = g->totals.gone;
    const struct key_dedup *d = g->totals.dedup;
    struct key_batch batch;

    if (g->totals.layout.rows_offset < 0 || memchr(gone, 1, n) == NULL)
        return RC_OK;
    key_builder_clear(&g->gone);
    for (uint32_t k = 0; k < d->distinct_count; k++)
        if (gone[d->last[d->distinct[k]]])
            RETURN_IF_ERR(key_builder_add_raw(&g->gone, key_batch_at(keys, d->distinct[k]), err));
    if (g->gone.count == 0)
        return RC_OK;
    batch = key_builder_batch(&g->gone);
    return keyed_del(g->totals.state, &batch, err);
}

static enum rc process_chunk(struct aggregate *g, const struct batch *in, uint32_t from, uint32_t n,
                             struct output *out, struct err *err)
{
    struct keyed_totals *t = &g->totals;
    bool emit = !g->spec->final_only;
    bool need_dedup = g->spec->mini_batch_rows > 0 || g->spec->retracts;
    struct key_batch keys;

    RETURN_IF_ERR(row_key_keys(t->key.rows, in, NULL, from, n, NULL, &keys, err));
    RETURN_IF_ERR(keyed_totals_apply(t, in, from, n, &keys, emit, need_dedup, err));
    if (emit) {
        pick_rows(g, n);
        if (g->pick_count > 0) {
            double_keys(g, in, from, n);
            RETURN_IF_ERR(emit_picked(g, n, out, err));
        }
    }
    RETURN_IF_ERR(text_calls_store(&t->text, &keys, t->dedup, err));
    return delete_gone(g, &keys, n, err);
}

static enum rc aggregate_process(struct operator *op, struct batch *in, struct output *out,
                                 struct err *err)
{
    struct aggregate *g = (struct aggregate *)op;
    uint32_t most = g->spec->mini_batch_rows > 0 ? g->spec->mini_batch_rows : TOTALS_ROWS_BEST;

    g->ctx->metrics->records_in += in->rows;
    for (uint32_t from = 0; from < in->rows;) {
        uint32_t n = keyed_totals_chunk(&g->totals, in, !g->spec->final_only);

        n = n < most ? n : most;
        if (n > in->rows - from)
            n = in->rows - from;
        RETURN_IF_ERR(process_chunk(g, in, from, n, out, err));
        from += n;
    }
    return RC_OK;
}

/* ---- final results (batch mode) ------------------------------------------------------------------- */

static enum rc aggregate_end_input(struct operator *op, struct output *out, struct err *err)
{
    struct aggregate *g = (struct aggregate *)op;

    (void)out;
    if (!g->spec->final_only)
        return RC_OK;
    g->scan_keys = mem_calloc(SCAN_ROWS, sizeof *g->scan_keys);
    g->scan_values = mem_calloc(SCAN_ROWS, sizeof *g->scan_values);
    g->scan_rows = mem_calloc(SCAN_ROWS, sizeof *g->scan_rows);
    RETURN_IF_ERR(keyed_scan_open(g->totals.state, (struct bytes){0}, &g->cursor, err));
    g->draining = true;
    g->empty_result_due = g->spec->key_count == 0 && g->emitted[0] == 0;
    return RC_OK;
}

static enum rc emit_final(struct aggregate *g, uint32_t n, struct output *out, struct err *err)
{
    struct key_batch keys = key_builder_batch(&g->scan_builder);
    struct batch *key_columns;
    int64_t window;
    uint32_t group;

    batch_builder_clear(g->wide_keys);
    for (uint32_t i = 0; i < n; i++) {
        RETURN_IF_ERR(group_key_decode(&g->totals.key, key_batch_at(&keys, i), g->wide_keys, &window, &group, err));
        batch_row_end(g->wide_keys, ROW_INSERT);
    }
    RETURN_IF_ERR(keyed_totals_finish(&g->totals, g->scan_rows, &keys, err));
    key_columns = batch_builder_view(g->wide_keys);
    memcpy(g->wide.columns, key_columns->columns, g->spec->key_count * sizeof *g->wide.columns);
    for (uint32_t c = 0; c < g->spec->call_count; c++)
        g->wide.columns[g->spec->key_count + c] = *keyed_totals_result(&g->totals, c);
    g->wide.rows = n;
    g->wide.kinds = NULL;
    g->ctx->metrics->records_out += n;
    return out->batch(out, &g->wide, err);
}

/* COUNT(*) over no rows at all is 0: without keys there is always one result. */
static enum rc emit_empty(struct aggregate *g, struct output *out, struct err *err)
{
    struct batch none = {.rows = 1};
    struct key_batch keys;

    RETURN_IF_ERR(row_key_keys(g->totals.key.rows, &none, NULL, 0, 1, NULL, &keys, err));
    key_builder_clear(&g->scan_builder);
    RETURN_IF_ERR(key_builder_add_raw(&g->scan_builder, key_batch_at(&keys, 0), err));
    g->scan_rows[0] = g->totals.layout.template_row;
    return emit_final(g, 1, out, err);
}

static enum rc drain_end(struct aggregate *g, struct output *out, struct err *err)
{
    keyed_scan_close(g->cursor);
    g->cursor = NULL;
    g->draining = false;
    if (g->empty_result_due)
        RETURN_IF_ERR(emit_empty(g, out, err));
    for (uint32_t group = 0; group < g->ctx->key_group_count; group++)
        if (keygroup_owner(group, g->ctx->parallelism, g->ctx->key_group_count) == g->ctx->subtask_index)
            g->emitted[group] = 1;
    return RC_OK;
}

static enum rc aggregate_drain(struct operator *op, struct output *out, bool *more, struct err *err)
{
    struct aggregate *g = (struct aggregate *)op;
    uint32_t got, n = 0, prefix_len = keygroup_prefix_len(g->ctx->key_group_count);

    *more = false;
    if (!g->draining)
        return RC_OK;
    RETURN_IF_ERR(keyed_scan_next(g->cursor, SCAN_ROWS, g->scan_keys, g->scan_values, &got, err));
    if (got == 0)
        return drain_end(g, out, err);
    g->empty_result_due = false;
    key_builder_clear(&g->scan_builder);
    for (uint32_t i = 0; i < got; i++) {
        if (g->scan_values[i].len != g->totals.layout.row_bytes)
            return err_set(err, RC_CORRUPT, "%s: a row of accState has %zu bytes instead of %u",
                           g->ctx->operator_name, g->scan_values[i].len, g->totals.layout.row_bytes);
        if (g->scan_keys[i].len < prefix_len || g->emitted[keygroup_get_prefix(g->scan_keys[i].data, prefix_len)])
            continue;
        RETURN_IF_ERR(key_builder_add_raw(&g->scan_builder, g->scan_keys[i], err));
        g->scan_rows[n++] = g->scan_values[i].data;
    }
    *more = true;
    return n == 0 ? RC_OK : emit_final(g, n, out, err);
}

/* ---- snapshot and end ----------------------------------------------------------------------------- */

static enum rc aggregate_snapshot(struct operator *op, const struct barrier *barrier, struct err *err)
{
    struct aggregate *g = (struct aggregate *)op;
    struct buf ranges = {0};
    struct bytes *items;
    uint32_t count = 0, groups = g->ctx->key_group_count;

    (void)barrier;
    (void)err;
    if (!g->spec->final_only)
        return RC_OK;
    for (uint32_t i = 0; i < groups; i++) {
        uint32_t last = i;

        if (!g->emitted[i])
            continue;
        while (last + 1 < groups && g->emitted[last + 1])
            last++;
        buf_append_le32(&ranges, i);
        buf_append_le32(&ranges, last);
        count++;
        i = last;
    }
    items = mem_calloc(count + 1, sizeof *items);
    for (uint32_t i = 0; i < count; i++)
        items[i] = bytes_of(ranges.data + 8 * i, 8);
    operator_state_set(g->ctx->state, EMITTED_STATE, LIST_UNION, items, count);
    mem_free(items);
    buf_release(&ranges);
    return RC_OK;
}

static void aggregate_close(struct operator *op, bool clean)
{
    struct aggregate *g = (struct aggregate *)op;

    (void)clean;
    if (g->cursor != NULL)
        keyed_scan_close(g->cursor);
    keyed_totals_release(&g->totals);
    mem_free(g->wide.columns);
    batch_builder_free(g->wide_keys);
    batch_builder_free(g->out);
    mem_free(g->pick);
    mem_free(g->kinds);
    key_builder_release(&g->gone);
    key_builder_release(&g->scan_builder);
    mem_free(g->emitted);
    mem_free(g->scan_keys);
    mem_free(g->scan_values);
    mem_free(g->scan_rows);
    mem_free(g);
}

static void aggregate_hot(struct operator *op, struct hot_view *out)
{
    hot_keys_view(&((struct aggregate *)op)->totals.hot, out);
}

static const struct operator_ops aggregate_ops = {
    .kind = "aggregate",
    .open = aggregate_open,
    .process = aggregate_process,
    .drain = aggregate_drain,
    .end_input = aggregate_end_input,
    .snapshot = aggregate_snapshot,
    .hot = aggregate_hot,
    .close = aggregate_close,
};

struct operator *aggregate_new(const struct aggregate_spec *spec)
{
    struct aggregate *g = mem_calloc(1, sizeof *g);

    g->op.ops = &aggregate_ops;
    g->spec = spec;
    return &g->op;
}
