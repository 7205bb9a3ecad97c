/* vv_access.c - raw access and scans (varve_state.h). */
#include "backend/vv_priv.h"

/* ---- keys ------------------------------------------------------------------------------------ */

static enum rc fail_keys(const vv_store *s, const vv_keys *k, struct err *err)
{
    for (uint32_t i = 0; i < k->count; i++) {
        struct bytes key;

        if (k->offsets[i + 1] < k->offsets[i])
            return err_set(err, RC_INVALID, "key %u: offsets descend from %u to %u", i,
                           k->offsets[i], k->offsets[i + 1]);
        key = bytes_of(k->data + k->offsets[i], k->offsets[i + 1] - k->offsets[i]);
        if (key.len < s->prefix_len)
            return err_set(err, RC_INVALID, "key %u: %zu bytes, without its key group", i, key.len);
        if (!key_group_range_has(s->range, keygroup_get_prefix(key.data, s->prefix_len)))
            return err_set(err, RC_INVALID, "key %u: key group %u is outside %u..%u", i,
                           keygroup_get_prefix(key.data, s->prefix_len), s->range.first,
                           s->range.last);
    }
    ASSERT(false); /* a key was refused without a reason */
    return RC_INVALID;
}

/* Without a branch for each key: a batch is all right, or looked through again for the reason. */
enum rc check_keys(const vv_store *s, const vv_keys *k, struct err *err)
{
    uint32_t span = s->range.last - s->range.first, bad = 0;

    CHECK_NULL(k);
    if (k->count == 0)
        return RC_OK;
    if (k->count > VV_BATCH_MAX)
        return err_set(err, RC_LIMIT, "%u keys in a batch exceed %u", k->count, VV_BATCH_MAX);
    if (k->data == NULL || k->offsets == NULL)
        return err_set(err, RC_INVALID, "keys without %s", k->data == NULL ? "data" : "offsets");
    for (uint32_t i = 0; i < k->count; i++)
        bad |=
            k->offsets[i + 1] - k->offsets[i] < s->prefix_len || k->offsets[i + 1] < k->offsets[i];
    if (bad != 0)
        return fail_keys(s, k, err);
    if (k->offsets[k->count] - k->offsets[0] > KEY_BATCH_BYTES_MAX)
        return err_set(err, RC_LIMIT, "%u bytes of keys in a batch exceed %u",
                       k->offsets[k->count] - k->offsets[0], KEY_BATCH_BYTES_MAX);
    if (s->prefix_len == 1) {
        for (uint32_t i = 0; i < k->count; i++)
            bad |= k->data[k->offsets[i]] - s->range.first > span;
    } else {
        for (uint32_t i = 0; i < k->count; i++)
            bad |= get_be16(k->data + k->offsets[i]) - s->range.first > span;
    }
    return bad == 0 ? RC_OK : fail_keys(s, k, err);
}

enum rc check_change(const vv_state *s, const vv_keys *keys, struct err *err)
{
    RETURN_IF_ERR(check_keys(s->store, keys, err));
    if (s->scans != NULL)
        return err_set(err, RC_STATE, "state %s: a live scan is open", s->name);
    return RC_OK;
}

/* ---- batches --------------------------------------------------------------------------------- */

static enum rc raw_upsert(vv_state *state, const vv_keys *keys, void **rows, uint8_t *fresh,
                          struct err *err)
{
    struct key_batch batch;

    CHECK_NULL(state);
    RETURN_IF_ERR(check_change(state, keys, err));
    if (state->row_bytes == 0)
        return err_set(err, RC_INVALID, "state %s: its values vary in size", state->name);
    if (keys->count == 0)
        return RC_OK;
    CHECK_NULL(rows);
    CHECK_NULL(fresh);
    batch = batch_of(keys);
    return keyed_upsert(state->rows, &batch, rows, fresh, err);
}

vv_code vv_raw_upsert(vv_state *state, const vv_keys *keys, void **rows, uint8_t *fresh,
                      vv_error *error)
{
    ANSWER(raw_upsert(state, keys, rows, fresh, err));
}

static enum rc raw_get(vv_state *state, const vv_keys *keys, vv_bytes *values, struct err *err)
{
    struct key_batch batch;

    CHECK_NULL(state);
    RETURN_IF_ERR(check_keys(state->store, keys, err));
    if (keys->count == 0)
        return RC_OK;
    CHECK_NULL(values);
    batch = batch_of(keys);
    return keyed_get(state->rows, &batch, (struct bytes *)values, err);
}

vv_code vv_raw_get(vv_state *state, const vv_keys *keys, vv_bytes *values, vv_error *error)
{
    ANSWER(raw_get(state, keys, values, err));
}

static enum rc check_values(const vv_state *s, uint32_t count, const vv_bytes *values,
                            struct err *err)
{
    for (uint32_t i = 0; i < count; i++) {
        if (values[i].data == NULL)
            return err_set(err, RC_INVALID, "state %s: value %u is NULL", s->name, i);
        if (s->row_bytes != 0 && values[i].len != s->row_bytes)
            return err_set(err, RC_INVALID, "state %s: value %u has %zu bytes instead of %u",
                           s->name, i, values[i].len, s->row_bytes);
    }
    return RC_OK;
}

static enum rc raw_put(vv_state *state, const vv_keys *keys, const vv_bytes *values,
                       struct err *err)
{
    struct key_batch batch;

    CHECK_NULL(state);
    RETURN_IF_ERR(check_change(state, keys, err));
    if (keys->count == 0)
        return RC_OK;
    CHECK_NULL(values);
    RETURN_IF_ERR(check_values(state, keys->count, values, err));
    batch = batch_of(keys);
    return keyed_put(state->rows, &batch, (const struct bytes *)values, err);
}

vv_code vv_raw_put(vv_state *state, const vv_keys *keys, const vv_bytes *values, vv_error *error)
{
    ANSWER(raw_put(state, keys, values, err));
}

static enum rc raw_delete(vv_state *state, const vv_keys *keys, struct err *err)
{
    struct key_batch batch;

    CHECK_NULL(state);
    RETURN_IF_ERR(check_change(state, keys, err));
    if (keys->count == 0)
        return RC_OK;
    batch = batch_of(keys);
    return keyed_del(state->rows, &batch, err);
}

vv_code vv_raw_delete(vv_state *state, const vv_keys *keys, vv_error *error)
{
    ANSWER(raw_delete(state, keys, err));
}

/* ---- one key --------------------------------------------------------------------------------- */

enum rc one_key(vv_bytes key, struct one_key *one, struct err *err)
{
    if (key.len > KEY_BATCH_BYTES_MAX)
        return err_set(err, RC_LIMIT, "a key of %zu bytes exceeds %u", key.len,
                       KEY_BATCH_BYTES_MAX);
    one->offsets[0] = 0;
    one->offsets[1] = (uint32_t)key.len;
    one->keys = (vv_keys){1, key.data, one->offsets};
    return RC_OK;
}

static enum rc raw_upsert_one(vv_state *state, vv_bytes key, void **row, uint8_t *fresh,
                              struct err *err)
{
    struct one_key one;

    RETURN_IF_ERR(one_key(key, &one, err));
    return raw_upsert(state, &one.keys, row, fresh, err);
}

vv_code vv_raw_upsert_one(vv_state *state, vv_bytes key, void **row, uint8_t *fresh,
                          vv_error *error)
{
    ANSWER(raw_upsert_one(state, key, row, fresh, err));
}

static enum rc raw_get_one(vv_state *state, vv_bytes key, vv_bytes *value, struct err *err)
{
    struct one_key one;

    RETURN_IF_ERR(one_key(key, &one, err));
    return raw_get(state, &one.keys, value, err);
}

vv_code vv_raw_get_one(vv_state *state, vv_bytes key, vv_bytes *value, vv_error *error)
{
    ANSWER(raw_get_one(state, key, value, err));
}

static enum rc raw_put_one(vv_state *state, vv_bytes key, vv_bytes value, struct err *err)
{
    struct one_key one;

    RETURN_IF_ERR(one_key(key, &one, err));
    return raw_put(state, &one.keys, &value, err);
}

vv_code vv_raw_put_one(vv_state *state, vv_bytes key, vv_bytes value, vv_error *error)
{
    ANSWER(raw_put_one(state, key, value, err));
}

static enum rc raw_delete_one(vv_state *state, vv_bytes key, struct err *err)
{
    struct one_key one;

    RETURN_IF_ERR(one_key(key, &one, err));
    return raw_delete(state, &one.keys, err);
}

vv_code vv_raw_delete_one(vv_state *state, vv_bytes key, vv_error *error)
{
    ANSWER(raw_delete_one(state, key, err));
}
