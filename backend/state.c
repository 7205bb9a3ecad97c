/* state.c - opening, and what the kinds share: rows with flag and time; value state. */
#include "backend/state_priv.h"

/* ---- opening --------------------------------------------------------------------------------- */

static enum rc check_options(const struct state_desc *desc, const struct state_options *o,
                             struct err *err)
{
    bool needs = desc->kind == STATE_AGGREGATING || desc->kind == STATE_REDUCING;

    if (desc->kind < STATE_VALUE || desc->kind > STATE_AGGREGATING)
        return err_set(err, RC_INVALID, "state %s: kind %d", desc->name, (int)desc->kind);
    if (needs && (o == NULL || o->functions == NULL || o->functions->add == NULL ||
                  o->functions->merge == NULL))
        return err_set(err, RC_INVALID, "state %s: needs functions that add and merge",
                       desc->name);
    return RC_OK;
}

enum rc state_open(struct keyed_backend *b, const struct state_desc *desc,
                   const struct state_options *options, struct state **out, struct err *err)
{
    struct keyed_state *rows;
    struct state *s;

    RETURN_IF_ERR(check_options(desc, options, err));
    RETURN_IF_ERR(keyed_state_open(b, desc, &rows, err));
    s = mem_calloc(1, sizeof *s);
    s->rows = rows;
    s->core = core_of(b);
    s->known = core_state_of(rows);
    s->value_bytes_max = STATE_VALUE_BYTES_MAX;
    if (options != NULL) {
        if (options->functions != NULL)
            s->functions = *options->functions;
        s->ttl_update = options->ttl_update;
        s->ttl_visibility = options->ttl_visibility;
        if (options->value_bytes_max != 0 && options->value_bytes_max < s->value_bytes_max)
            s->value_bytes_max = options->value_bytes_max;
    }
    s->flag_bytes = desc->kind == STATE_MAP ? 1 : 0;
    s->head_bytes = s->flag_bytes + (has_ttl(s) ? TTL_TIME_BYTES : 0);
    key_builder_init(&s->joined, s->core->key_group_count, s->known->ns);
    key_builder_init(&s->changed, s->core->key_group_count, s->known->ns);
    *out = s;
    return RC_OK;
}

void state_close(struct state *s)
{
    if (s == NULL)
        return;
    mem_free(s->values);
    mem_free(s->marks);
    buf_release(&s->data);
    buf_release(&s->work);
    key_builder_release(&s->joined);
    key_builder_release(&s->changed);
    mem_free(s->changed_values);
    mem_free(s);
}

struct keyed_state *state_rows(struct state *s)
{
    return s->rows;
}

/* ---- shared ---------------------------------------------------------------------------------- */

int64_t state_now(struct state *s)
{
    return has_ttl(s) ? ttl_clock_now(&s->core->ttl) : 0;
}

enum rc state_check_kind(const struct state *s, enum state_kind kind, const char *what,
                         struct err *err)
{
    if (desc_of(s)->kind == kind)
        return RC_OK;
    return err_set(err, RC_INVALID, "state %s is of another kind: %s", desc_of(s)->name, what);
}

void state_reserve(struct state *s, uint32_t count)
{
    if (count <= s->cap)
        return;
    s->values = mem_realloc(s->values, count * sizeof *s->values);
    s->marks = mem_realloc(s->marks, count);
    s->cap = count;
}

enum rc state_limit_error(const struct state *s, struct bytes key, size_t bytes, struct err *err)
{
    struct buf text = {0};

    key_text(key, s->core->key_group_count, s->known->ns, &text);
    err_set(err, RC_LIMIT, "state %s, %s (%s): %zu bytes exceed the limit of %zu for one value",
            desc_of(s)->name, buf_cstr(&text), desc_of(s)->key_type, bytes, s->value_bytes_max);
    buf_release(&text);
    return RC_LIMIT;
}

void changed_clear(struct state *s)
{
    key_builder_clear(&s->changed);
}

enum rc changed_add(struct state *s, struct bytes key, struct bytes stored, struct err *err)
{
    uint32_t n = s->changed.count;

    RETURN_IF_ERR(key_builder_add_raw(&s->changed, key, err));
    if (n == s->changed_cap) {
        s->changed_cap = n == 0 ? 64 : 2 * n;
        s->changed_values =
            mem_realloc(s->changed_values, s->changed_cap * sizeof *s->changed_values);
    }
    s->changed_values[n] = stored;
    return RC_OK;
}

/* ---- rows ------------------------------------------------------------------------------------ */

enum rc row_look(const struct state *s, struct bytes stored, int64_t now_ms, enum row_sight *sight,
                 struct bytes *value, struct err *err)
{
    const uint8_t *p = stored.data;

    *value = (struct bytes){0};
    *sight = ROW_NONE;
    if (p == NULL)
        return RC_OK;
    if (stored.len < s->head_bytes)
        return err_set(err, RC_CORRUPT, "state %s: a stored value of %zu bytes, at least %u",
                       desc_of(s)->name, stored.len, s->head_bytes);
    *sight = s->flag_bytes == 1 && p[0] != 0 ? ROW_NULL : ROW_VALUE;
    if (*sight == ROW_VALUE)
        *value = bytes_of(p + s->head_bytes, stored.len - s->head_bytes);
    if (has_ttl(s) && is_expired(s, (int64_t)get_be64(p + s->flag_bytes), now_ms))
        *sight = ROW_EXPIRED;
    return RC_OK;
}

/* Copies a stored row into s->data, with a new time if it is not 0; at its offset. */
static void copy_row(struct state *s, struct bytes stored, const int64_t *time_ms)
{
    size_t at = s->data.len;

    buf_append(&s->data, stored.data, stored.len);
    if (time_ms != NULL)
        put_be64(s->data.data + at + s->flag_bytes, (uint64_t)*time_ms);
}

/* rows_get with time-to-live. The rows are copied first, since those that are renewed or removed
 * move. */
static enum rc rows_get_ttl(struct state *s, const struct key_batch *keys, struct bytes *values,
                            uint8_t *present, struct err *err)
{
    int64_t now_ms = state_now(s);
    size_t at = 0;

    changed_clear(s);
    buf_clear(&s->data);
    for (uint32_t i = 0; i < keys->count; i++) {
        enum row_sight sight;
        struct bytes value;

        RETURN_IF_ERR(row_look(s, values[i], now_ms, &sight, &value, err));
        s->marks[i] = (uint8_t)sight;
        if (sight != ROW_NONE)
            copy_row(s, values[i], renews_on_read(s) && sight != ROW_EXPIRED ? &now_ms : NULL);
    }
    for (uint32_t i = 0; i < keys->count; i++) {
        struct bytes stored = bytes_of(s->data.data + at, values[i].len);
        enum row_sight sight = s->marks[i];

        if (sight == ROW_NONE)
            continue;
        at += stored.len;
        if (sight == ROW_EXPIRED)
            RETURN_IF_ERR(changed_add(s, key_batch_at(keys, i), (struct bytes){0}, err));
        else if (renews_on_read(s))
            RETURN_IF_ERR(changed_add(s, key_batch_at(keys, i), stored, err));
        present[i] = sight != ROW_EXPIRED || shows_expired(s);
        values[i] = (struct bytes){0};
        if (present[i] && !(s->flag_bytes == 1 && stored.data[0] != 0))
            values[i] = bytes_of(stored.data + s->head_bytes, stored.len - s->head_bytes);
    }
    return RC_OK;
}

/* Puts and deletes what changed_add collected, in that order. */
static enum rc changed_apply(struct state *s, struct err *err)
{
    struct key_batch all = key_builder_batch(&s->changed);
    uint32_t from = 0, to;

    for (; from < all.count; from = to) {
        bool put = s->changed_values[from].data != NULL;
        struct key_batch run;

        for (to = from + 1; to < all.count && (s->changed_values[to].data != NULL) == put; to++)
            ;
        run = (struct key_batch){to - from, all.data, all.offsets + from};
        RETURN_IF_ERR(put ? keyed_put(s->rows, &run, s->changed_values + from, err)
                          : keyed_del(s->rows, &run, err));
    }
    return RC_OK;
}

enum rc rows_get(struct state *s, const struct key_batch *keys, struct bytes *values,
                 uint8_t *present, struct err *err)
{
    state_reserve(s, keys->count);
    memset(present, 0, keys->count);
    RETURN_IF_ERR(keyed_get(s->rows, keys, values, err));
    if (has_ttl(s)) {
        RETURN_IF_ERR(rows_get_ttl(s, keys, values, present, err));
        return changed_apply(s, err);
    }
    if (s->head_bytes == 0) { /* as it is stored */
        for (uint32_t i = 0; i < keys->count; i++)
            present[i] = values[i].data != NULL;
        return RC_OK;
    }
    for (uint32_t i = 0; i < keys->count; i++) {
        enum row_sight sight;

        RETURN_IF_ERR(row_look(s, values[i], 0, &sight, &values[i], err));
        present[i] = sight != ROW_NONE;
    }
    return RC_OK;
}

static enum rc check_size(const struct state *s, struct bytes key, struct bytes value,
                          struct err *err)
{
    uint32_t fixed = desc_of(s)->fixed_value_bytes;

    if (fixed != 0 && value.len != fixed - s->flag_bytes)
        return err_set(err, RC_INVALID, "state %s: a value of %zu bytes, its values have %u",
                       desc_of(s)->name, value.len, fixed - s->flag_bytes);
    if (value.len > s->value_bytes_max)
        return state_limit_error(s, key, value.len, err);
    return RC_OK;
}

/* Appends one stored row to s->data. */
static void store_row(struct state *s, struct bytes value, int64_t time_ms)
{
    uint32_t fixed = desc_of(s)->fixed_value_bytes;
    uint8_t flag = value.data == NULL;
    static const uint8_t zero;

    if (s->flag_bytes == 1)
        buf_append_u8(&s->data, flag);
    if (has_ttl(s))
        buf_append_be64(&s->data, (uint64_t)time_ms);
    buf_append(&s->data, value.data, value.len);
    for (uint32_t i = 1; flag && i < fixed; i++) /* of a null: the row keeps its size */
        buf_append(&s->data, &zero, 1);
}

enum rc rows_put(struct state *s, const struct key_batch *keys, const struct bytes *values,
                 struct err *err)
{
    return rows_put_at(s, keys, values, state_now(s), err);
}

enum rc rows_put_at(struct state *s, const struct key_batch *keys, const struct bytes *values,
                    int64_t time_ms, struct err *err)
{
    size_t at = 0;

    for (uint32_t i = 0; i < keys->count; i++) {
        if (values[i].data != NULL)
            RETURN_IF_ERR(check_size(s, key_batch_at(keys, i), values[i], err));
    }
    changed_clear(s);
    buf_clear(&s->data);
    buf_reserve(&s->data, 1); /* a value of 0 bytes is not none */
    state_reserve(s, keys->count);
    for (uint32_t i = 0; i < keys->count; i++) {
        size_t start = s->data.len;

        s->values[i] = (struct bytes){0};
        if (values[i].data != NULL || s->flag_bytes == 1) {
            store_row(s, values[i], time_ms);
            s->values[i].len = s->data.len - start;
        }
    }
    for (uint32_t i = 0; i < keys->count; i++) { /* the data holds still now */
        if (values[i].data != NULL || s->flag_bytes == 1)
            s->values[i].data = s->data.data + at;
        at += s->values[i].len;
        RETURN_IF_ERR(changed_add(s, key_batch_at(keys, i), s->values[i], err));
    }
    return changed_apply(s, err);
}

enum rc state_clear(struct state *s, const struct key_batch *keys, struct err *err)
{
    if (desc_of(s)->kind != STATE_MAP)
        return keyed_del(s->rows, keys, err);
    for (uint32_t i = 0; i < keys->count; i++)
        RETURN_IF_ERR(map_clear(s, key_batch_at(keys, i), err));
    return RC_OK;
}

/* ---- value ----------------------------------------------------------------------------------- */

enum rc state_value_get(struct state *s, const struct key_batch *keys, struct bytes *values,
                        struct err *err)
{
    RETURN_IF_ERR(state_check_kind(s, STATE_VALUE, "no value to get", err));
    state_reserve(s, keys->count);
    return rows_get(s, keys, values, s->marks, err);
}

enum rc state_value_put(struct state *s, const struct key_batch *keys, const struct bytes *values,
                        struct err *err)
{
    RETURN_IF_ERR(state_check_kind(s, STATE_VALUE, "no value to put", err));
    return rows_put(s, keys, values, err);
}

enum rc state_upsert(struct state *s, const struct key_batch *keys, void **rows, uint8_t *fresh,
                     struct err *err)
{
    struct ttl_shape shape;

    if (desc_of(s)->fixed_value_bytes == 0 || desc_of(s)->kind == STATE_LIST || desc_of(s)->kind == STATE_MAP)
        return err_set(err, RC_INVALID, "state %s: its values cannot be changed in place",
                       desc_of(s)->name);
    RETURN_IF_ERR(keyed_upsert(s->rows, keys, rows, fresh, err));
    if (!has_ttl(s))
        return RC_OK;
    shape = ttl_shape_of(desc_of(s));
    ttl_touch(&shape, state_now(s), shows_expired(s), keys->count, rows, fresh);
    return RC_OK;
}
