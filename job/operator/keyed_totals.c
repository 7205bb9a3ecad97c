/* keyed_totals.c - see keyed_totals.h */
#include "job/operator/keyed_totals.h"

static const char *namespace_name(enum key_namespace ns) { return ns == KEY_NS_BIGINT ? "BIGINT" : "VOID"; }

static struct state_desc row_state(const struct totals_config *config, const struct acc_layout *layout,
                                   const char *key_type)
{
    return (struct state_desc){
        .name = config->state_name,
        .kind = STATE_VALUE,
        .key_type = key_type,
        .namespace_type = namespace_name(config->ns),
        .user_key_type = "",
        .value_type = layout->value_type,
        .fixed_value_bytes = layout->row_bytes,
        .ttl_ms = config->ttl_ms,
        .operand_operator = "",
    };
}

enum rc keyed_totals_states(struct arena *a, const struct totals_config *config,
                            struct state_desc **out, size_t *count, struct err *err)
{
    struct acc_layout layout;
    struct state_desc *text, *distinct;
    size_t text_count, distinct_count;
    const char *key_type = group_key_type(a, config->input, config->keys, config->key_count);
    const char *ns = namespace_name(config->ns);

    RETURN_IF_ERR(acc_layout_make(a, config->calls, config->call_count, config->input,
                                  config->retracts, &layout, err));
    text_calls_states(a, &layout, key_type, ns, config->ttl_ms, &text, &text_count);
    distinct_calls_states(a, &layout, key_type, ns, config->ttl_ms, &distinct, &distinct_count);
    *count = 1 + text_count + distinct_count;
    *out = ARENA_ARRAY(a, *count, struct state_desc);
    (*out)[0] = row_state(config, &layout, key_type);
    memcpy(*out + 1, text, text_count * sizeof *text);
    memcpy(*out + 1 + text_count, distinct, distinct_count * sizeof *distinct);
    return RC_OK;
}

enum rc keyed_totals_open(struct keyed_totals *t, const struct totals_config *config,
                          struct keyed_backend *backend, uint32_t key_group_count, struct err *err)
{
    const char *ns = namespace_name(config->ns), *pattern;
    struct state_desc desc;

    memset(t, 0, sizeof *t);
    t->arena = arena_new(0);
    RETURN_IF_ERR(acc_layout_make(t->arena, config->calls, config->call_count, config->input,
                                  config->retracts, &t->layout, err));
    acc_scratch_init(&t->scratch, &t->layout, TOTALS_ROWS_MAX);
    group_key_init(&t->key, config->input, config->keys, config->key_count, key_group_count, config->ns);
    hot_keys_init(&t->hot, &t->key);
    t->rows = mem_calloc(TOTALS_ROWS_MAX, sizeof *t->rows);
    t->fresh = mem_calloc(TOTALS_ROWS_MAX, 1);
    t->gone = mem_calloc(TOTALS_ROWS_MAX, 1);
    t->dedup = mem_calloc(1, sizeof *t->dedup);
    t->anew = mem_calloc(TOTALS_ROWS_MAX, 1);
    t->backend = backend;
    desc = row_state(config, &t->layout, t->key.type_text);
    t->ttl = ttl_shape_of(&desc);
    RETURN_IF_ERR(keyed_state_open(backend, &desc, &t->state, err)); /* first: no other state of a group is older */
    pattern = config->blind ? acc_blind_pattern(t->arena, &t->layout) : NULL;
    if (pattern != NULL)
        RETURN_IF_ERR(keyed_state_blind(t->state, pattern, err));
    RETURN_IF_ERR(distinct_calls_open(&t->distinct, &t->layout, backend, t->key.type_text, ns, config->ttl_ms,
                                      key_group_count, config->ns, TOTALS_ROWS_MAX, err));
    return text_calls_open(&t->text, &t->layout, backend, t->key.type_text, ns, config->ttl_ms, key_group_count,
                           config->ns, TOTALS_ROWS_MAX, err);
}

void keyed_totals_release(struct keyed_totals *t)
{
    if (t->arena == NULL)
        return;
    distinct_calls_release(&t->distinct);
    text_calls_release(&t->text);
    acc_scratch_release(&t->scratch, &t->layout);
    if (t->key.arena != NULL)
        group_key_release(&t->key);
    hot_keys_release(&t->hot);
    mem_free(t->rows);
    mem_free(t->fresh);
    mem_free(t->gone);
    mem_free(t->dedup);
    mem_free(t->anew);
    arena_free(t->arena);
    memset(t, 0, sizeof *t);
}

uint32_t keyed_totals_chunk(const struct keyed_totals *t, const struct batch *in, bool emit)
{
    return text_calls_chunk_rows(&t->text, in, emit);
}

/* A result that does not fit names its key. */
static enum rc name_key(const struct keyed_totals *t, const struct batch *in, uint32_t row, enum rc rc,
                        struct err *err)
{
    struct column *columns = mem_calloc(t->key.count + 1, sizeof *columns);
    struct buf key = {0};

    for (uint32_t i = 0; i < t->key.count; i++)
        columns[i] = in->columns[t->key.columns[i]];
    group_key_print(&t->key, columns, row, &key);
    mem_free(columns);
    rc = err_wrap(err, rc, "key %s", buf_cstr(&key));
    buf_release(&key);
    return rc;
}

static enum rc apply_call(struct keyed_totals *t, uint32_t index, const struct batch *in, uint32_t from,
                          uint32_t n, bool emit, struct err *err)
{
    const struct acc_call *call = &t->layout.calls[index];
    const uint8_t *use = distinct_calls_use(&t->distinct, index);
    uint32_t bad_row = 0;
    enum rc rc;

    if (use != NULL)
        memcpy(t->scratch.use, use, n);
    else
        acc_select(&t->scratch, call, in, from, n);
    for (uint32_t i = 0; t->strays && i < n; i++)
        t->scratch.use[i] &= t->scratch.sign[i] != 0;
    if (call->field_count > 0) {
        rc = acc_apply(&t->scratch, &t->layout, index, in, from, n, t->rows, emit, &bad_row, err);
        return rc == RC_OK ? rc : name_key(t, in, from + bad_row, rc, err);
    }
    for (uint32_t i = 0; i < t->text.count; i++)
        if (t->text.calls[i].index == index)
            text_calls_apply(&t->text, &t->text.calls[i], &t->layout, &t->scratch, in, from, n, t->dedup, emit);
    return RC_OK;
}

/* The chunk's accumulator rows; they hold until the next call on the backend. */
static enum rc load_rows(struct keyed_totals *t, const struct key_batch *keys, int64_t now_ms, struct err *err)
{
    RETURN_IF_ERR(keyed_upsert(t->state, keys, t->rows, t->fresh, err));
    if (t->ttl.ttl_ms != 0)
        ttl_touch(&t->ttl, now_ms, false, keys->count, t->rows, t->fresh);
    return RC_OK;
}

/* Which groups start anew has to be known before their other states are looked at: those may hold more than is alive. */
static enum rc load_states(struct keyed_totals *t, const struct batch *in, uint32_t from, uint32_t n,
                           const struct key_batch *keys, struct err *err)
{
    bool early = t->ttl.ttl_ms != 0 && t->text.count + t->distinct.count > 0;
    int64_t now_ms = t->ttl.ttl_ms == 0 ? 0 : keyed_ttl_now(t->backend);

    if (early) {
        RETURN_IF_ERR(load_rows(t, keys, now_ms, err));
        for (uint32_t i = 0; i < n; i++)
            t->anew[i] = t->fresh[t->dedup->first[i]];
    }
    RETURN_IF_ERR(distinct_calls_run(&t->distinct, &t->layout, &t->scratch, in, from, n, keys, now_ms, t->anew, err));
    RETURN_IF_ERR(text_calls_load(&t->text, keys, t->dedup, now_ms, t->anew, err));
    RETURN_IF_ERR(load_rows(t, keys, now_ms, err)); /* last: they have to hold */
    for (uint32_t i = 0; early && i < n; i++)
        t->fresh[i] = t->anew[i] && t->dedup->first[i] == i;
    for (uint32_t i = 0; i < n; i++)
        if (t->fresh[i])
            memcpy(t->rows[i], t->layout.template_row, t->layout.row_bytes);
    return RC_OK;
}

/* Counts the rows of each group where the input takes rows back. What is taken back from a group that has none is a mistake, unless
 * the group has expired: then it is as if it had not come, as in Flink. */
static enum rc count_rows(struct keyed_totals *t, const struct batch *in, uint32_t from, uint32_t n, struct err *err)
{
    memset(t->gone, 0, n);
    for (uint32_t i = 0; t->layout.rows_offset >= 0 && i < n; i++) {
        uint8_t *at = (uint8_t *)t->rows[i] + t->layout.rows_offset;
        int64_t before = (int64_t)get_le64(at), after = before + t->scratch.sign[i];

        if (after < 0 && t->ttl.ttl_ms == 0)
            return name_key(t, in, from + i, err_set(err, RC_STATE, "a row is taken back from a group that has none"), err);
        if (after < 0) {
            t->scratch.sign[i] = 0;
            t->strays = true;
            after = 0;
        }
        put_le64(at, (uint64_t)after);
        t->fresh[i] = before == 0;
        t->gone[i] = after == 0;
    }
    return RC_OK;
}

enum rc keyed_totals_apply(struct keyed_totals *t, const struct batch *in, uint32_t from,
                           uint32_t n, const struct key_batch *keys, bool emit, bool need_dedup,
                           struct err *err)
{
    struct acc_scratch *s = &t->scratch;

    ASSERT(n <= TOTALS_ROWS_MAX && keys->count == n);
    hot_keys_see(&t->hot, keys);
    memset(s->changed, 0, n);
    memset(s->sign, 1, n);
    if (in->kinds != NULL)
        for (uint32_t i = 0; i < n; i++)
            if (in->kinds[from + i] == ROW_UPDATE_BEFORE || in->kinds[from + i] == ROW_DELETE)
                s->sign[i] = -1;
    if (need_dedup || t->text.count > 0 || (t->ttl.ttl_ms != 0 && t->distinct.count > 0))
        key_dedup_run(t->dedup, keys);
    RETURN_IF_ERR(load_states(t, in, from, n, keys, err));
    t->strays = false;
    RETURN_IF_ERR(count_rows(t, in, from, n, err));
    for (uint32_t c = 0; c < t->layout.call_count; c++)
        RETURN_IF_ERR(apply_call(t, c, in, from, n, emit, err));
    return RC_OK;
}

const struct column *keyed_totals_result(const struct keyed_totals *t, uint32_t index)
{
    for (uint32_t i = 0; i < t->text.count; i++)
        if (t->text.calls[i].index == index)
            return &t->text.calls[i].result;
    return &t->scratch.result[index];
}

/* The same for a key that comes from state. */
static enum rc name_state_key(const struct keyed_totals *t, struct bytes key, enum rc rc, struct err *err)
{
    struct batch_builder *b = batch_builder_new(&t->key.schema);
    struct buf text = {0};
    int64_t window;
    uint32_t group;

    if (group_key_decode(&t->key, key, b, &window, &group, NULL) == RC_OK) {
        batch_row_end(b, ROW_INSERT);
        group_key_print(&t->key, batch_builder_view(b)->columns, 0, &text);
        rc = err_wrap(err, rc, "key %s", buf_cstr(&text));
    }
    buf_release(&text);
    batch_builder_free(b);
    return rc;
}

enum rc keyed_totals_finish(struct keyed_totals *t, const void *const *rows,
                            const struct key_batch *keys, struct err *err)
{
    struct column column;
    uint32_t bad_row = 0;

    for (uint32_t c = 0; c < t->layout.call_count; c++) {
        enum rc rc;

        if (t->layout.calls[c].field_count == 0)
            continue; /* a text call */
        rc = acc_results(&t->scratch, &t->layout, c, rows, keys->count, &column, &bad_row, err);
        if (rc != RC_OK)
            return name_state_key(t, key_batch_at(keys, bad_row), rc, err);
    }
    for (uint32_t i = 0; i < t->text.count; i++)
        RETURN_IF_ERR(text_calls_results(&t->text, &t->text.calls[i], keys, err));
    return RC_OK;
}
