/* distinct_calls.c - see distinct_calls.h */
#include "job/operator/distinct_calls.h"

#include "backend/ttl.h"

#define MAP_VALUE_BYTES 9u /* not-null flag, BIGINT */
#define FLAG_BYTES 1u
#define DELETE_CHUNK 1024u

void distinct_calls_states(struct arena *a, const struct acc_layout *layout, const char *key_type,
                           const char *namespace_type, uint64_t ttl_ms, struct state_desc **out, size_t *count)
{
    *out = ARENA_ARRAY(a, layout->call_count + 1, struct state_desc);
    *count = 0;
    for (uint32_t i = 0; i < layout->call_count; i++)
        if (layout->calls[i].call.distinct)
            (*out)[(*count)++] = (struct state_desc){
                .name = acc_state_name(a, DISTINCT_STATE_PREFIX, layout->calls[i].call.name),
                .kind = STATE_MAP,
                .key_type = key_type,
                .namespace_type = namespace_type,
                .user_key_type = type_str(a, layout->calls[i].arg_type, false),
                .value_type = "BIGINT",
                .fixed_value_bytes = MAP_VALUE_BYTES,
                .ttl_ms = ttl_ms,
                .operand_operator = "",
            };
}

enum rc distinct_calls_open(struct distinct_calls *d, const struct acc_layout *layout,
                            struct keyed_backend *backend, const char *key_type,
                            const char *namespace_type, uint64_t ttl_ms, uint32_t key_group_count,
                            enum key_namespace ns, uint32_t rows_max, struct err *err)
{
    struct arena *a = arena_new(0);
    struct state_desc *states;
    size_t count;
    enum rc rc = RC_OK;

    memset(d, 0, sizeof *d);
    d->rows_max = rows_max;
    d->ttl_ms = ttl_ms;
    d->calls = mem_calloc(layout->call_count + 1, sizeof *d->calls);
    d->row_of = mem_calloc(rows_max, sizeof *d->row_of);
    d->counts = mem_calloc(rows_max, sizeof *d->counts);
    d->fresh = mem_calloc(rows_max, 1);
    key_builder_init(&d->keys, key_group_count, ns);
    key_builder_init(&d->gone, key_group_count, ns);
    distinct_calls_states(a, layout, key_type, namespace_type, ttl_ms, &states, &count);
    for (uint32_t i = 0; i < layout->call_count && rc == RC_OK; i++) {
        if (!layout->calls[i].call.distinct)
            continue;
        d->calls[d->count].index = i;
        d->calls[d->count].use = mem_calloc(rows_max, 1);
        rc = keyed_state_open(backend, &states[d->count], &d->calls[d->count].state, err);
        d->count++;
    }
    arena_free(a);
    return rc;
}

void distinct_calls_release(struct distinct_calls *d)
{
    for (uint32_t i = 0; i < d->count; i++)
        mem_free(d->calls[i].use);
    if (d->rows_max > 0) {
        key_builder_release(&d->keys);
        key_builder_release(&d->gone);
    }
    buf_release(&d->user_key);
    mem_free(d->calls);
    mem_free(d->row_of);
    mem_free(d->counts);
    mem_free(d->fresh);
    memset(d, 0, sizeof *d);
}

/* A length, and as few bytes as two's complement needs: DECIMAL of more than 18 digits. */
static void encode_wide_decimal(int128 v, struct buf *out)
{
    uint8_t bytes[16];
    uint32_t skip = 0;

    put_be64(bytes, (uint64_t)(v >> 64));
    put_be64(bytes + 8, (uint64_t)v);
    while (skip < 15 && bytes[skip] == (v < 0 ? 0xFF : 0) && (bytes[skip] & 0x80) == (bytes[skip + 1] & 0x80))
        skip++;
    buf_append_be32(out, 16 - skip);
    buf_append(out, bytes + skip, 16 - skip);
}

/* Milliseconds and the nanoseconds after them: TIMESTAMP of more than 3 digits. */
static void encode_wide_timestamp(int64_t v, uint8_t precision, struct buf *out)
{
    int64_t units = timestamp_units_per_ms(precision), ms = v / units, rest = v % units;

    if (rest < 0) {
        ms--;
        rest += units;
    }
    buf_append_be64(out, (uint64_t)ms);
    buf_append_be32(out, (uint32_t)(rest * (1000000 / units)));
}

/* The value as Flink's serializer of its type writes it. */
static void encode_value(const struct column *c, uint32_t row, struct buf *out)
{
    uint32_t width = type_width(c->type.kind);

    if (type_is_varlen(c->type.kind)) {
        struct bytes v = column_bytes(c, row);

        buf_append_be32(out, (uint32_t)v.len);
        buf_append(out, v.data, v.len);
    } else if (c->type.kind == TYPE_BOOLEAN) {
        buf_append_u8(out, bit_get(c->values, row));
    } else if (width == 16) {
        int128 v = ((const int128 *)c->values)[row];

        if (c->type.precision > 18)
            encode_wide_decimal(v, out);
        else
            buf_append_be64(out, (uint64_t)v);
    } else if ((c->type.kind == TYPE_TIMESTAMP || c->type.kind == TYPE_TIMESTAMP_LTZ) && c->type.precision > 3) {
        encode_wide_timestamp(((const int64_t *)c->values)[row], c->type.precision, out);
    } else if (width == 8) {
        buf_append_be64(out, ((const uint64_t *)c->values)[row]);
    } else if (width == 4) {
        buf_append_be32(out, ((const uint32_t *)c->values)[row]);
    } else if (width == 2) {
        buf_append_be16(out, ((const uint16_t *)c->values)[row]);
    } else {
        buf_append_u8(out, ((const uint8_t *)c->values)[row]);
    }
}

static enum rc value_keys(struct distinct_calls *d, const uint8_t *use, const struct column *arg,
                          uint32_t from, uint32_t n, const struct key_batch *keys, struct err *err)
{
    uint32_t m = 0;

    key_builder_clear(&d->keys);
    for (uint32_t i = 0; i < n; i++) {
        struct bytes key = key_batch_at(keys, i);

        if (!use[i])
            continue;
        buf_clear(&d->user_key);
        buf_append(&d->user_key, key.data, key.len);
        encode_value(arg, from + i, &d->user_key);
        RETURN_IF_ERR(key_builder_add_raw(&d->keys, buf_bytes(&d->user_key), err));
        d->row_of[m++] = i;
    }
    return RC_OK;
}

/* d->counts from rows to the counts in them: with time-to-live they are touched, and what has expired counts 0. */
static void find_counts(struct distinct_calls *d, uint32_t count, int64_t now_ms, const uint8_t *anew)
{
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *value = (uint8_t *)d->counts[i] + FLAG_BYTES;

        if (d->ttl_ms != 0) {
            int64_t time_ms = (int64_t)get_be64(value);

            if (time_ms != now_ms && (anew[d->row_of[i]] || ttl_expired(time_ms, d->ttl_ms, now_ms)))
                put_be64(value + TTL_TIME_BYTES, 0);
            put_be64(value, (uint64_t)now_ms);
            value += TTL_TIME_BYTES;
        }
        d->counts[i] = value;
    }
}

static enum rc run_call(struct distinct_calls *d, struct distinct_call *dc, const struct acc_call *call,
                        struct acc_scratch *s, const struct batch *in, uint32_t from, uint32_t n,
                        const struct key_batch *keys, int64_t now_ms, const uint8_t *anew, struct err *err)
{
    struct key_batch values;

    acc_select(s, call, in, from, n);
    RETURN_IF_ERR(value_keys(d, s->use, &in->columns[call->call.arg], from, n, keys, err));
    values = key_builder_batch(&d->keys);
    RETURN_IF_ERR(keyed_upsert(dc->state, &values, d->counts, d->fresh, err));
    find_counts(d, values.count, now_ms, anew);
    memset(dc->use, 0, n);
    key_builder_clear(&d->gone);
    for (uint32_t i = 0; i < values.count; i++) {
        uint32_t row = d->row_of[i];
        int64_t before = (int64_t)get_be64(d->counts[i]), after = before + s->sign[row];

        if (after < 0)
            continue; /* its count has expired */
        put_be64(d->counts[i], (uint64_t)after);
        dc->use[row] = s->sign[row] > 0 ? before == 0 : after == 0;
    }
    for (uint32_t i = 0; i < values.count; i++)
        if (get_be64(d->counts[i]) == 0)
            RETURN_IF_ERR(key_builder_add_raw(&d->gone, key_batch_at(&values, i), err));
    if (d->gone.count > 0) {
        struct key_batch gone = key_builder_batch(&d->gone);

        RETURN_IF_ERR(keyed_del(dc->state, &gone, err));
    }
    return RC_OK;
}

enum rc distinct_calls_run(struct distinct_calls *d, const struct acc_layout *layout,
                           struct acc_scratch *s, const struct batch *in, uint32_t from, uint32_t n,
                           const struct key_batch *keys, int64_t now_ms, const uint8_t *anew, struct err *err)
{
    for (uint32_t i = 0; i < d->count; i++)
        RETURN_IF_ERR(run_call(d, &d->calls[i], &layout->calls[d->calls[i].index], s, in, from, n, keys, now_ms, anew, err));
    return RC_OK;
}

const uint8_t *distinct_calls_use(const struct distinct_calls *d, uint32_t index)
{
    for (uint32_t i = 0; i < d->count; i++)
        if (d->calls[i].index == index)
            return d->calls[i].use;
    return NULL;
}

/* One round: collects up to DELETE_CHUNK keys of the window and deletes them; *found = 0 when there are none left. */
static enum rc delete_some(struct distinct_calls *d, struct keyed_state *state, int64_t window,
                           uint32_t *found, struct err *err)
{
    struct keyed_cursor *cursor = NULL;
    struct bytes keys[256], values[256];
    struct key_parts parts;
    uint32_t got;
    enum rc rc;

    key_builder_clear(&d->gone);
    GOTO_IF_ERR(keyed_scan_open(state, (struct bytes){0}, &cursor, err));
    do {
        GOTO_IF_ERR(keyed_scan_next(cursor, ARRAY_LEN(keys), keys, values, &got, err));
        for (uint32_t i = 0; i < got; i++) {
            GOTO_IF_ERR(key_split(keys[i], d->gone.key_group_count, KEY_NS_BIGINT, &parts, err));
            if (parts.window == window)
                GOTO_IF_ERR(key_builder_add_raw(&d->gone, keys[i], err));
        }
    } while (got > 0 && d->gone.count < DELETE_CHUNK * 64);
out:
    if (cursor != NULL)
        keyed_scan_close(cursor);
    *found = d->gone.count;
    if (rc == RC_OK && d->gone.count > 0) {
        struct key_batch gone = key_builder_batch(&d->gone);

        rc = keyed_del(state, &gone, err);
    }
    return rc;
}

enum rc distinct_calls_delete_window(struct distinct_calls *d, int64_t window, struct err *err)
{
    uint32_t found = 1;

    for (uint32_t i = 0; i < d->count; i++, found = 1)
        while (found > 0)
            RETURN_IF_ERR(delete_some(d, d->calls[i].state, window, &found, err));
    return RC_OK;
}
