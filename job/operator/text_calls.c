/* text_calls.c - see text_calls.h */
#include "job/operator/text_calls.h"

#include "backend/ttl.h"

#define LENGTH_BYTES 4u /* stored texts have their length before them, big-endian, as Flink's serializers of STRING and BYTES */

bool is_text_call(const struct acc_call *c)
{
    return c->field_count == 0 && c->arg_class == ACC_TEXT && c->result_class == ACC_TEXT;
}

void text_calls_states(struct arena *a, const struct acc_layout *layout, const char *key_type,
                       const char *namespace_type, uint64_t ttl_ms, struct state_desc **out, size_t *count)
{
    *out = ARENA_ARRAY(a, layout->call_count + 1, struct state_desc);
    *count = 0;
    for (uint32_t i = 0; i < layout->call_count; i++)
        if (is_text_call(&layout->calls[i]))
            (*out)[(*count)++] = (struct state_desc){
                .name = acc_state_name(a, TEXT_STATE_PREFIX, layout->calls[i].call.name),
                .kind = STATE_VALUE,
                .key_type = key_type,
                .namespace_type = namespace_type,
                .user_key_type = "",
                .value_type = type_str(a, layout->calls[i].arg_type, false),
                .ttl_ms = ttl_ms,
                .operand_operator = "",
            };
}

enum rc text_calls_open(struct text_calls *t, const struct acc_layout *layout,
                        struct keyed_backend *backend, const char *key_type,
                        const char *namespace_type, uint64_t ttl_ms, uint32_t key_group_count,
                        enum key_namespace ns, uint32_t rows_max, struct err *err)
{
    struct arena *a = arena_new(0);
    struct state_desc *states;
    size_t count;
    enum rc rc = RC_OK;

    memset(t, 0, sizeof *t);
    t->backend = backend;
    t->rows_max = rows_max;
    t->ttl_ms = ttl_ms;
    t->calls = mem_calloc(layout->call_count + 1, sizeof *t->calls);
    t->values = mem_calloc(rows_max, sizeof *t->values);
    key_builder_init(&t->keys, key_group_count, ns);
    text_calls_states(a, layout, key_type, namespace_type, ttl_ms, &states, &count);
    for (uint32_t i = 0; i < layout->call_count && rc == RC_OK; i++) {
        struct text_call *c = &t->calls[t->count];

        if (!is_text_call(&layout->calls[i]))
            continue;
        c->index = i;
        c->current = mem_calloc(rows_max, sizeof *c->current);
        c->dirty = mem_calloc(rows_max, 1);
        c->result.type = layout->calls[i].call.result;
        c->result.validity = mem_calloc(bit_words(2 * rows_max), sizeof(uint64_t));
        c->result.offsets = mem_calloc(2 * (size_t)rows_max + 1, sizeof(int32_t));
        rc = keyed_state_open(backend, &states[t->count], &c->state, err);
        t->count++;
    }
    arena_free(a);
    return rc;
}

void text_calls_release(struct text_calls *t)
{
    for (uint32_t i = 0; i < t->count; i++) {
        struct text_call *c = &t->calls[i];

        mem_free(c->current);
        mem_free(c->dirty);
        mem_free(c->result.validity);
        mem_free(c->result.offsets);
        buf_release(&c->loaded);
        buf_release(&c->result_bytes);
    }
    if (t->backend != NULL)
        key_builder_release(&t->keys);
    mem_free(t->calls);
    mem_free(t->values);
    buf_release(&t->stored);
    memset(t, 0, sizeof *t);
}

uint32_t text_calls_chunk_rows(const struct text_calls *t, const struct batch *in, bool emit)
{
    size_t largest = t->largest_bytes, rows;

    if (t->count == 0 || !emit)
        return t->rows_max;
    for (uint32_t c = 0; c < in->column_count; c++)
        if (type_is_varlen(in->columns[c].type.kind))
            for (uint32_t i = 0; i < in->rows; i++)
                if (column_bytes(&in->columns[c], i).len > largest)
                    largest = column_bytes(&in->columns[c], i).len;
    rows = BATCH_BYTES_MAX / (2 * (largest + 1));
    return rows < 1 ? 1 : rows > t->rows_max ? t->rows_max : (uint32_t)rows;
}

static uint32_t time_bytes(const struct text_calls *t) { return t->ttl_ms == 0 ? 0 : TTL_TIME_BYTES; }

/* Time, length and text, as stored, to the text; an absent one has no data. *expired only with time-to-live. */
static enum rc stored_text(const struct text_calls *t, const struct text_call *c, struct bytes *value,
                           bool *expired, struct err *err)
{
    uint32_t head = time_bytes(t) + LENGTH_BYTES;

    *expired = false;
    if (value->data == NULL)
        return RC_OK;
    if (value->len < head || get_be32(value->data + time_bytes(t)) != value->len - head)
        return err_set(err, RC_CORRUPT, "call %u: %zu bytes stored, with another length before them", c->index, value->len);
    *expired = t->ttl_ms != 0 && ttl_expired((int64_t)get_be64(value->data), t->ttl_ms, t->now_ms);
    value->data += head;
    value->len -= head;
    return RC_OK;
}

static enum rc load_call(struct text_calls *t, struct text_call *c, const struct key_batch *distinct_keys,
                         const struct key_dedup *dedup, const uint8_t *anew, struct err *err)
{
    size_t total = 0;
    bool expired;

    RETURN_IF_ERR(keyed_get(c->state, distinct_keys, t->values, err));
    for (uint32_t d = 0; d < dedup->distinct_count; d++) {
        uint32_t row = dedup->distinct[d];

        RETURN_IF_ERR(stored_text(t, c, &t->values[d], &expired, err));
        c->dirty[row] = t->ttl_ms != 0 && t->values[d].data != NULL;
        if (c->dirty[row] && (expired || anew[row]))
            t->values[d] = (struct bytes){0};
        total += t->values[d].len;
    }
    buf_clear(&c->loaded);
    buf_reserve(&c->loaded, total + 1); /* no move below: current points into it */
    for (uint32_t d = 0; d < dedup->distinct_count; d++) {
        uint32_t row = dedup->distinct[d];

        c->current[row] = (struct bytes){0};
        if (t->values[d].data == NULL)
            continue;
        c->current[row] = (struct bytes){c->loaded.data + c->loaded.len, t->values[d].len};
        buf_append(&c->loaded, t->values[d].data, t->values[d].len);
        if (t->values[d].len > t->largest_bytes)
            t->largest_bytes = t->values[d].len;
    }
    return RC_OK;
}

enum rc text_calls_load(struct text_calls *t, const struct key_batch *keys,
                        const struct key_dedup *dedup, int64_t now_ms, const uint8_t *anew,
                        struct err *err)
{
    struct key_batch distinct_keys;

    if (t->count == 0)
        return RC_OK;
    t->now_ms = now_ms;
    key_builder_clear(&t->keys);
    for (uint32_t d = 0; d < dedup->distinct_count; d++)
        RETURN_IF_ERR(key_builder_add_raw(&t->keys, key_batch_at(keys, dedup->distinct[d]), err));
    distinct_keys = key_builder_batch(&t->keys);
    for (uint32_t i = 0; i < t->count; i++)
        RETURN_IF_ERR(load_call(t, &t->calls[i], &distinct_keys, dedup, anew, err));
    return RC_OK;
}

static bool takes_over(enum agg_func func, struct bytes old, struct bytes v)
{
    if (old.data == NULL || func == AGG_LAST_VALUE)
        return true;
    if (func == AGG_FIRST_VALUE)
        return false;
    return func == AGG_MIN ? bytes_cmp(v, old) < 0 : bytes_cmp(v, old) > 0;
}

static void put_result(struct text_call *c, uint32_t at, struct bytes v)
{
    if (v.data != NULL) {
        bit_set(c->result.validity, at);
        buf_append(&c->result_bytes, v.data, v.len);
    } else {
        bit_clear(c->result.validity, at);
    }
    c->result.offsets[at + 1] = (int32_t)c->result_bytes.len;
}

void text_calls_apply(struct text_calls *t, struct text_call *c, const struct acc_layout *layout,
                      struct acc_scratch *s, const struct batch *in, uint32_t from, uint32_t n,
                      const struct key_dedup *dedup, bool emit)
{
    const struct agg_call *call = &layout->calls[c->index].call;
    const struct column *arg = &in->columns[call->arg];

    buf_clear(&c->result_bytes);
    for (uint32_t i = 0; i < n; i++) {
        struct bytes *current = &c->current[dedup->first[i]];
        struct bytes before = *current;

        if (s->use[i]) {
            struct bytes v = column_bytes(arg, from + i);

            if (v.data == NULL)
                v.data = (const uint8_t *)""; /* empty, not absent */
            if (takes_over(call->func, before, v)) {
                *current = v;
                c->dirty[dedup->first[i]] = 1;
                if (v.len > t->largest_bytes)
                    t->largest_bytes = v.len;
            }
        }
        if (emit) {
            put_result(c, 2 * i, before);
            put_result(c, 2 * i + 1, *current);
            s->changed[i] |= (uint8_t)((before.data == NULL) != (current->data == NULL) || !bytes_eq(before, *current));
        }
    }
    c->result.bytes = c->result_bytes.data;
}

/* What keyed_put is given: t->values, each with its time and length before it in t->stored. */
static void with_heads(struct text_calls *t, uint32_t n)
{
    size_t total = 0;

    for (uint32_t i = 0; i < n; i++)
        total += time_bytes(t) + LENGTH_BYTES + t->values[i].len;
    buf_clear(&t->stored);
    buf_reserve(&t->stored, total + 1); /* no move below: the values point into it */
    for (uint32_t i = 0; i < n; i++) {
        struct bytes text = t->values[i];

        t->values[i] = bytes_of(t->stored.data + t->stored.len, time_bytes(t) + LENGTH_BYTES + text.len);
        if (t->ttl_ms != 0)
            buf_append_be64(&t->stored, (uint64_t)t->now_ms);
        buf_append_be32(&t->stored, (uint32_t)text.len);
        buf_append(&t->stored, text.data, text.len);
    }
}

/* The dirty rows that have a value, or those that have none, into t->keys and t->values. */
static enum rc collect_dirty(struct text_calls *t, const struct text_call *c, const struct key_batch *keys,
                             const struct key_dedup *dedup, bool with_value, struct err *err)
{
    uint32_t n = 0;

    key_builder_clear(&t->keys);
    for (uint32_t d = 0; d < dedup->distinct_count; d++) {
        uint32_t row = dedup->distinct[d];

        if (!c->dirty[row] || (c->current[row].data != NULL) != with_value)
            continue;
        RETURN_IF_ERR(key_builder_add_raw(&t->keys, key_batch_at(keys, row), err));
        t->values[n++] = c->current[row];
    }
    return RC_OK;
}

enum rc text_calls_store(struct text_calls *t, const struct key_batch *keys,
                         const struct key_dedup *dedup, struct err *err)
{
    for (uint32_t i = 0; i < t->count; i++) {
        struct text_call *c = &t->calls[i];
        struct key_batch dirty;

        RETURN_IF_ERR(collect_dirty(t, c, keys, dedup, true, err));
        dirty = key_builder_batch(&t->keys);
        with_heads(t, dirty.count);
        if (dirty.count > 0)
            RETURN_IF_ERR(keyed_put(c->state, &dirty, t->values, err));
        if (t->ttl_ms == 0)
            continue; /* else values of groups that have expired go, lest a longer time-to-live bring them back */
        RETURN_IF_ERR(collect_dirty(t, c, keys, dedup, false, err));
        dirty = key_builder_batch(&t->keys);
        if (dirty.count > 0)
            RETURN_IF_ERR(keyed_del(c->state, &dirty, err));
    }
    return RC_OK;
}

enum rc text_calls_results(struct text_calls *t, struct text_call *c, const struct key_batch *keys,
                           struct err *err)
{
    bool expired;

    ASSERT(keys->count <= t->rows_max);
    RETURN_IF_ERR(keyed_get(c->state, keys, t->values, err));
    buf_clear(&c->result_bytes);
    for (uint32_t i = 0; i < keys->count; i++) {
        RETURN_IF_ERR(stored_text(t, c, &t->values[i], &expired, err));
        put_result(c, i, t->values[i]);
    }
    c->result.bytes = c->result_bytes.data;
    return RC_OK;
}

enum rc text_calls_delete(struct text_calls *t, const struct key_batch *keys, struct err *err)
{
    for (uint32_t i = 0; i < t->count; i++)
        RETURN_IF_ERR(keyed_del(t->calls[i].state, keys, err));
    return RC_OK;
}
