/* Rows of the database come into its cache without having been asked for. Task's thread. */
#include "backend/row_cache_priv.h"

#define FIND_CHUNK 256u

void row_cache_load_begin(struct row_cache *c)
{
    ASSERT(c->group->mode == ROWS_DIRTY);
    c->loading = true;
}

void row_cache_load_end(struct row_cache *c)
{
    c->loading = false;
}

void row_cache_load_expect(struct row_cache *c, uint64_t rows)
{
    rows_enter(c);
    index_reserve(&c->rows, c->rows.count + rows);
    rows_leave(c);
}

static void add_clean(struct row_cache *c, uint32_t tag, struct bytes key, struct bytes value)
{
    uint32_t cap = row_value_cap(c, key.len, value.len);
    struct row *r = row_at(c, row_add(c, tag, key, cap));

    if (value.len > 0)
        memcpy(row_value(c, r), value.data, value.len);
    r->value_len = (uint32_t)value.len;
    r->below = BELOW_YES;
}

static enum rc check_values(const struct row_cache *c, uint32_t count, const struct bytes *values,
                            struct err *err)
{
    uint32_t fixed = c->config.fixed_value_bytes;

    for (uint32_t i = 0; fixed != 0 && i < count; i++) {
        if (values[i].len != fixed)
            return err_set(err, RC_CORRUPT, "stored value of %zu bytes, the state's values have %u",
                           values[i].len, fixed);
    }
    return RC_OK;
}

enum rc row_cache_load(struct row_cache *c, const struct key_batch *keys,
                       const struct bytes *values, bool *loading, struct err *err)
{
    *loading = c->loading;
    if (!c->loading)
        return RC_OK;
    RETURN_IF_ERR(check_values(c, keys->count, values, err));
    RETURN_IF_ERR(rows_check_room(c, err));
    rows_scratch(c, keys->count);
    rows_enter(c);
    for (uint32_t from = 0; from < keys->count; from += FIND_CHUNK) {
        uint32_t to = from + FIND_CHUNK < keys->count ? from + FIND_CHUNK : keys->count;

        rows_find(c, keys, from, to);
        for (uint32_t i = from; i < to; i++) {
            if (c->found[i] == 0)
                add_clean(c, c->tags[i], key_batch_at(keys, i), values[i]);
        }
    }
    rows_leave(c);
    return RC_OK;
}

size_t row_cache_row_bytes(const struct row_cache *c)
{
    return c->value_at + UNIT_BYTES / 2 + 2 * sizeof(struct slot);
}
