/* window.c - GROUP BY over TUMBLE windows with event time. See operators.h.
 *
 * A group's totals are keyed by (key, window end); the namespace of Flink's window-aggs. When the watermark passes a window's end
 * its groups leave, window by window in time order, in pieces: a piece of the window's keys is read by a scan, emitted, deleted. The
 * watermark is passed on after the last of them. When one watermark ends several windows and the state is not all in memory, so that
 * finding one window's groups is a reading of everything, that is done once and the windows leave together, in no order. Open windows and the watermark are union state, so that a restore fires each window once and counts late
 * rows as before. After: WindowAggOperator (flink-table-runtime). */
#include "job/operator/event_floor.h"
#include "job/operator/keyed_totals.h"
#include "job/operator/totals_fit.h"
#include "job/operator/tumble.h"

#define OPEN_WINDOWS_STATE "open-windows" /* items: window end, big-endian */
#define WATERMARK_STATE "watermark"       /* one item */

struct window_op {
    struct operator op;
    const struct window_spec *spec;
    const struct operator_context *ctx;
    struct tumble tumble;
    struct keyed_totals totals;
    int64_t watermark_ms;
    struct event_floor floor; /* what was late for a key group when it was restored stays late */
    uint32_t *groups;         /* key groups of the batch at hand, while `floor` counts */
    int64_t *open; /* ends of windows that may have groups, rising */
    size_t open_count, open_cap;
    /* rows of the batch at hand that are not late */
    int64_t *ends;
    uint32_t *sel;
    struct batch_builder *kept;
    /* firing */
    bool firing;
    size_t firing_count;  /* windows that fire together, the first ones of `open` */
    int64_t firing_end;   /* of the last of them */
    int64_t pending_watermark_ms; /* passed on when done */
    struct keyed_cursor *cursor;
    struct key_builder piece;
    struct bytes *scan_keys, *scan_values;
    const void **scan_rows;
    struct batch_builder *key_columns;
    struct column *columns;
    int64_t *bounds;
};

static struct totals_config totals_config_of(const struct window_spec *spec)
{
    return (struct totals_config){
        .state_name = "window-aggs",
        .input = spec->input,
        .key_count = spec->key_count,
        .keys = spec->keys,
        .call_count = spec->call_count,
        .calls = spec->calls,
        .blind = spec->blind,
        .ns = KEY_NS_BIGINT,
    };
}

enum rc window_states(struct arena *a, const struct window_spec *spec, struct state_desc **out,
                      size_t *count, struct err *err)
{
    struct totals_config config = totals_config_of(spec);

    return keyed_totals_states(a, &config, out, count, err);
}

enum rc window_fit(const void *spec, const struct fit_request *r, struct state_fit *out, struct err *err)
{
    struct totals_config config = totals_config_of(spec);

    return totals_fit(r, &config, out, err);
}

static enum rc check_end(const struct window_spec *spec, int64_t end, struct err *err)
{
    struct buf text = {0};
    enum rc rc;

    if (((int128)end - spec->offset_ms) % spec->size_ms == 0)
        return RC_OK;
    timestamp_print(end, 3, &text);
    rc = err_set(err, RC_INVALID,
                 "a window that is open in the snapshot ends at %s, and none of TUMBLE of %lld ms with an offset of %lld ms does: it was of "
                 "another size or kind; " STATE_FIT_START_ANEW,
                 buf_cstr(&text), (long long)spec->size_ms, (long long)spec->offset_ms);
    buf_release(&text);
    return rc;
}

enum rc window_check_restored(const void *spec, const struct env *env UNUSED, const struct config *config UNUSED,
                              const struct list_state *lists, size_t list_count, struct err *err)
{
    for (size_t i = 0; i < list_count; i++)
        for (size_t k = 0; strcmp(lists[i].name, OPEN_WINDOWS_STATE) == 0 && k < lists[i].item_count; k++)
            if (lists[i].items[k].len == 8)
                RETURN_IF_ERR(check_end(spec, (int64_t)get_be64(lists[i].items[k].data), err));
    return RC_OK;
}

/* ---- open windows --------------------------------------------------------------------------------- */

static void note_open(struct window_op *w, int64_t end)
{
    size_t at = w->open_count;

    while (at > 0 && w->open[at - 1] > end)
        at--;
    if (at > 0 && w->open[at - 1] == end)
        return;
    if (w->open_count == w->open_cap) {
        w->open_cap = w->open_cap == 0 ? 16 : 2 * w->open_cap;
        w->open = mem_realloc(w->open, w->open_cap * sizeof *w->open);
    }
    memmove(w->open + at + 1, w->open + at, (w->open_count - at) * sizeof *w->open);
    w->open[at] = end;
    w->open_count++;
}

static void restore_times(struct window_op *w)
{
    const struct bytes *items;
    size_t count = operator_state_restored(w->ctx->state, OPEN_WINDOWS_STATE, &items);

    for (size_t i = 0; i < count; i++)
        if (items[i].len == 8)
            note_open(w, (int64_t)get_be64(items[i].data));
    count = operator_state_restored(w->ctx->state, WATERMARK_STATE, &items);
    for (size_t i = 0; i < count; i++) {
        int64_t ms = items[i].len == 8 ? (int64_t)get_be64(items[i].data) : WATERMARK_NONE;

        if (i == 0 || ms < w->watermark_ms)
            w->watermark_ms = ms; /* the earliest of all subtasks: fires nothing too soon */
    }
}

static enum rc window_open(struct operator *op, const struct operator_context *ctx, struct err *err)
{
    struct window_op *w = (struct window_op *)op;
    struct totals_config config = totals_config_of(w->spec);

    w->ctx = ctx;
    w->watermark_ms = WATERMARK_NONE;
    RETURN_IF_ERR(tumble_open(&w->tumble, w->spec, ctx->env->fs, err));
    RETURN_IF_ERR(keyed_totals_open(&w->totals, &config, ctx->keyed, ctx->key_group_count, err));
    w->ends = mem_alloc(BATCH_ROWS_MAX * sizeof *w->ends);
    w->sel = mem_alloc(BATCH_ROWS_MAX * sizeof *w->sel);
    w->kept = batch_builder_new(w->spec->input);
    w->scan_keys = mem_calloc(TOTALS_ROWS_MAX, sizeof *w->scan_keys);
    w->scan_values = mem_calloc(TOTALS_ROWS_MAX, sizeof *w->scan_values);
    w->scan_rows = mem_calloc(TOTALS_ROWS_MAX, sizeof *w->scan_rows);
    w->key_columns = batch_builder_new(&w->totals.key.schema);
    w->columns = mem_calloc(w->spec->output->field_count + 4, sizeof *w->columns);
    w->bounds = mem_alloc(3 * TOTALS_ROWS_MAX * sizeof *w->bounds);
    key_builder_init(&w->piece, ctx->key_group_count, KEY_NS_BIGINT);
    restore_times(w);
    RETURN_IF_ERR(event_floor_open(&w->floor, ctx, err));
    w->groups = mem_alloc(BATCH_ROWS_MAX * sizeof *w->groups);
    return RC_OK;
}

/* ---- rows ----------------------------------------------------------------------------------------- */

static enum rc apply_rows(struct window_op *w, const struct batch *in, const int64_t *ends, struct err *err)
{
    struct keyed_totals *t = &w->totals;

    for (uint32_t from = 0; from < in->rows;) {
        uint32_t n = keyed_totals_chunk(t, in, false);
        struct key_batch keys;

        n = n < TOTALS_ROWS_BEST ? n : TOTALS_ROWS_BEST;
        if (n > in->rows - from)
            n = in->rows - from;
        RETURN_IF_ERR(row_key_keys(t->key.rows, in, NULL, from, n, ends + from, &keys, err));
        RETURN_IF_ERR(keyed_totals_apply(t, in, from, n, &keys, false, false, err));
        RETURN_IF_ERR(text_calls_store(&t->text, &keys, t->dedup, err));
        from += n;
    }
    return RC_OK;
}

static enum rc window_process(struct operator *op, struct batch *in, struct output *out,
                              struct err *err)
{
    struct window_op *w = (struct window_op *)op;
    uint32_t n = 0;
    bool by_group;

    (void)out;
    w->ctx->metrics->records_in += in->rows;
    if (in->kinds != NULL)
        for (uint32_t i = 0; i < in->rows; i++)
            if (in->kinds[i] != ROW_INSERT)
                return err_set(err, RC_UNSUPPORTED, "%s: a window over rows that are updated or taken back is not supported yet",
                               w->ctx->operator_name);
    RETURN_IF_ERR(tumble_ends(&w->tumble, in, w->ends, err));
    by_group = event_floor_counts(&w->floor, w->watermark_ms);
    if (by_group)
        RETURN_IF_ERR(row_key_groups(w->totals.key.rows, in, w->groups, err));
    for (uint32_t i = 0; i < in->rows; i++) {
        int64_t now = by_group ? event_floor_of(&w->floor, w->groups[i], w->watermark_ms)
                               : w->watermark_ms;

        if (tumble_fires_at(&w->tumble, w->ends[i]) <= now)
            continue;
        if (n == 0 || w->ends[i] != w->ends[n - 1])
            note_open(w, w->ends[i]);
        w->ends[n] = w->ends[i];
        w->sel[n++] = i;
    }
    w->ctx->metrics->late_dropped += in->rows - n;
    if (n == in->rows)
        return apply_rows(w, in, w->ends, err);
    batch_builder_clear(w->kept);
    batch_gather(w->kept, in, w->sel, n, NULL);
    return apply_rows(w, batch_builder_view(w->kept), w->ends, err);
}

/* ---- firing --------------------------------------------------------------------------------------- */

static bool is_due(const struct window_op *w, size_t i)
{
    return i < w->open_count && tumble_fires_at(&w->tumble, w->open[i]) <= w->watermark_ms;
}

static enum rc begin_scan(struct window_op *w, struct err *err)
{
    w->firing_count = 1;
    while (!keyed_in_memory(w->totals.state) && is_due(w, w->firing_count))
        w->firing_count++;
    w->firing_end = w->open[w->firing_count - 1];
    if (w->firing_count > 1)
        return keyed_scan_open(w->totals.state, (struct bytes){0}, &w->cursor, err);
    return keyed_scan_namespace(w->totals.state, w->firing_end, &w->cursor, err);
}

static enum rc next_window(struct window_op *w, struct output *out, struct err *err)
{
    if (is_due(w, 0)) {
        w->firing = true;
        return begin_scan(w, err);
    }
    w->firing = false;
    w->ctx->metrics->watermark_ms = w->pending_watermark_ms;
    return out->watermark(out, w->pending_watermark_ms, err);
}

static enum rc window_watermark(struct operator *op, int64_t watermark_ms, struct output *out,
                                struct err *err)
{
    struct window_op *w = (struct window_op *)op;

    w->pending_watermark_ms = watermark_ms;
    if (watermark_ms > w->watermark_ms)
        w->watermark_ms = watermark_ms;
    return next_window(w, out, err);
}

static enum rc emit_piece(struct window_op *w, uint32_t n, struct output *out, struct err *err)
{
    const struct window_spec *spec = w->spec;
    struct key_batch keys = key_builder_batch(&w->piece);
    struct batch result = {.rows = n, .column_count = spec->output->field_count, .columns = w->columns};
    struct batch *key_columns;
    int64_t window;
    uint32_t group;

    batch_builder_clear(w->key_columns);
    for (uint32_t i = 0; i < n; i++) {
        RETURN_IF_ERR(group_key_decode(&w->totals.key, key_batch_at(&keys, i), w->key_columns, &window, &group, err));
        batch_row_end(w->key_columns, ROW_INSERT);
        w->ends[i] = window;
    }
    RETURN_IF_ERR(keyed_totals_finish(&w->totals, w->scan_rows, &keys, err));
    key_columns = batch_builder_view(w->key_columns);
    memcpy(w->columns, key_columns->columns, spec->key_count * sizeof *w->columns);
    for (uint32_t c = 0; c < spec->call_count; c++)
        w->columns[spec->key_count + c] = *keyed_totals_result(&w->totals, c);
    tumble_columns(&w->tumble, w->ends, n, w->columns + spec->key_count + spec->call_count, w->bounds);
    w->ctx->metrics->records_out += n;
    return out->batch(out, &result, err);
}

/* The groups of the piece have left: they go. */
static enum rc delete_piece(struct window_op *w, struct err *err)
{
    struct key_batch keys = key_builder_batch(&w->piece);

    RETURN_IF_ERR(keyed_del(w->totals.state, &keys, err));
    return w->totals.text.count == 0 ? RC_OK : text_calls_delete(&w->totals.text, &keys, err);
}

static enum rc end_scan(struct window_op *w, struct output *out, struct err *err)
{
    keyed_scan_close(w->cursor);
    w->cursor = NULL;
    for (size_t i = 0; i < w->firing_count; i++)
        RETURN_IF_ERR(distinct_calls_delete_window(&w->totals.distinct, w->open[i], err));
    w->open_count -= w->firing_count;
    memmove(w->open, w->open + w->firing_count, w->open_count * sizeof *w->open);
    return next_window(w, out, err);
}

static enum rc window_drain(struct operator *op, struct output *out, bool *more, struct err *err)
{
    struct window_op *w = (struct window_op *)op;
    uint32_t got, n = 0;

    *more = false;
    if (!w->firing)
        return RC_OK;
    RETURN_IF_ERR(keyed_scan_next(w->cursor, TOTALS_ROWS_MAX, w->scan_keys, w->scan_values, &got, err));
    key_builder_clear(&w->piece);
    for (uint32_t i = 0; i < got; i++) {
        if (w->scan_keys[i].len < 8 || w->scan_values[i].len != w->totals.layout.row_bytes)
            return err_set(err, RC_CORRUPT, "%s: a row of window-aggs has %zu bytes instead of %u, its key %zu",
                           w->ctx->operator_name, w->scan_values[i].len, w->totals.layout.row_bytes, w->scan_keys[i].len);
        if ((int64_t)get_be64(w->scan_keys[i].data + w->scan_keys[i].len - 8) > w->firing_end)
            continue; /* of a window that is not over, in a scan of all */
        RETURN_IF_ERR(key_builder_add_raw(&w->piece, w->scan_keys[i], err));
        w->scan_rows[n++] = w->scan_values[i].data;
    }
    if (n > 0) {
        RETURN_IF_ERR(emit_piece(w, n, out, err));
        RETURN_IF_ERR(delete_piece(w, err));
    }
    if (got == 0)
        RETURN_IF_ERR(end_scan(w, out, err));
    *more = w->firing;
    return RC_OK;
}

static enum rc window_end_input(struct operator *op, struct output *out, struct err *err)
{
    struct window_op *w = (struct window_op *)op;

    if (w->watermark_ms == WATERMARK_MAX)
        return RC_OK; /* fired already */
    return window_watermark(op, WATERMARK_MAX, out, err);
}

/* ---- snapshot and end ----------------------------------------------------------------------------- */

static enum rc window_snapshot(struct operator *op, const struct barrier *barrier, struct err *err)
{
    struct window_op *w = (struct window_op *)op;
    struct buf ends = {0};
    struct bytes *items = mem_calloc(w->open_count + 1, sizeof *items);
    uint8_t watermark[8];
    struct bytes watermark_item = {watermark, 8};

    (void)barrier;
    (void)err;
    ASSERT(!w->firing); /* a piece of a window is never split by a barrier: the task drains first */
    for (size_t i = 0; i < w->open_count; i++)
        buf_append_be64(&ends, (uint64_t)w->open[i]);
    for (size_t i = 0; i < w->open_count; i++)
        items[i] = bytes_of(ends.data + 8 * i, 8);
    put_be64(watermark, (uint64_t)w->watermark_ms);
    operator_state_set(w->ctx->state, OPEN_WINDOWS_STATE, LIST_UNION, items, w->open_count);
    operator_state_set(w->ctx->state, WATERMARK_STATE, LIST_UNION, &watermark_item, 1);
    event_floor_snapshot(&w->floor, w->ctx, w->watermark_ms);
    mem_free(items);
    buf_release(&ends);
    return RC_OK;
}

static void window_close(struct operator *op, bool clean)
{
    struct window_op *w = (struct window_op *)op;

    (void)clean;
    if (w->cursor != NULL)
        keyed_scan_close(w->cursor);
    tumble_close(&w->tumble);
    keyed_totals_release(&w->totals);
    batch_builder_free(w->kept);
    batch_builder_free(w->key_columns);
    key_builder_release(&w->piece);
    event_floor_release(&w->floor);
    mem_free(w->groups);
    mem_free(w->open);
    mem_free(w->ends);
    mem_free(w->sel);
    mem_free(w->scan_keys);
    mem_free(w->scan_values);
    mem_free(w->scan_rows);
    mem_free(w->columns);
    mem_free(w->bounds);
    mem_free(w);
}

static void window_hot(struct operator *op, struct hot_view *out)
{
    hot_keys_view(&((struct window_op *)op)->totals.hot, out);
}

static const struct operator_ops window_ops = {
    .kind = "window",
    .open = window_open,
    .process = window_process,
    .watermark = window_watermark,
    .drain = window_drain,
    .end_input = window_end_input,
    .snapshot = window_snapshot,
    .hot = window_hot,
    .close = window_close,
};

struct operator *window_new(const struct window_spec *spec)
{
    struct window_op *w = mem_calloc(1, sizeof *w);

    w->op.ops = &window_ops;
    w->spec = spec;
    return &w->op;
}
