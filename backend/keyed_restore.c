/* keyed_restore.c - entries of a handle of either kind into a backend of either kind, clipped to
 * its range (C10). */
#include "backend/keyed_core.h"
#include "backend/keyed_stream.h"
#include "backend/rocks_restore.h"

#define RESTORE_BATCH 4096u

struct restore {
    struct backend_core *core;
    const struct keyed_handle *handle;
    struct core_state **states; /* by the handle's state id; NULL: dropped */
    struct key_builder keys;
    struct buf converted; /* values of one batch, of a state that changes */
    struct buf moved;     /* a key in its new group */
    struct bytes values[RESTORE_BATCH];
};

/* Bytes from outside: keyed_put would assert. */
static enum rc check_entry(const struct restore *r, uint32_t state_id, struct bytes key,
                           struct bytes value, struct err *err)
{
    const struct core_state *s = r->states[state_id];
    uint32_t group, row_bytes = state_desc_row_bytes(&r->handle->states[state_id]);
    uint32_t prefix_len = keygroup_prefix_len(r->handle->key_group_count);
    struct key_group_range range = core_range_of(r->core, r->handle);

    if (key.len < prefix_len)
        return err_set(err, RC_CORRUPT, "state %s: key of %zu bytes", s->desc.name, key.len);
    group = keygroup_get_prefix(key.data, prefix_len);
    if (!key_group_range_has(range, group))
        return err_set(err, RC_CORRUPT, "state %s: entry of key group %u outside %u..%u",
                       s->desc.name, group, range.first, range.last);
    if (row_bytes != 0 && value.len != row_bytes)
        return err_set(err, RC_CORRUPT, "state %s: value of %zu bytes instead of %u", s->desc.name,
                       value.len, row_bytes);
    return RC_OK;
}

/* r->values, when the state changes: as they are from now on. */
static enum rc convert_batch(struct restore *r, struct core_state *s, struct err *err)
{
    const struct state_change *change = core_change_of(r->core, s->desc.name);
    size_t size = state_desc_row_bytes(&s->desc);

    if (change == NULL)
        return RC_OK;
    buf_clear(&r->converted);
    for (uint32_t i = 0; i < r->keys.count; i++)
        RETURN_IF_ERR(core_convert(s, change, r->values[i], &r->converted, err));
    for (uint32_t i = 0; i < r->keys.count; i++)
        r->values[i] = bytes_of(r->converted.data + i * size, size);
    return RC_OK;
}

/* *key in the group that it has among the backend's: by the hash of its row, as it got its old one.
 * *mine false: that is another's. */
static enum rc move_key(struct restore *r, uint32_t state_id, struct bytes *key, bool *mine,
                        struct err *err)
{
    const struct state_desc *d = &r->handle->states[state_id];
    uint32_t old_count = r->handle->key_group_count, count = r->core->key_group_count, group;
    uint32_t prefix_len = keygroup_prefix_len(old_count);
    size_t at = prefix_len + (d->kind == STATE_TIMER ? 8 : 0);
    uint8_t prefix[2];
    struct bytes row;

    *mine = true;
    if (old_count == count)
        return RC_OK;
    row = key->len < at + 4 ? (struct bytes){0}
                            : bytes_of(key->data + at + 4, get_be32(key->data + at));
    if (row.len == 0 || row.len % 4 != 0 || row.len > key->len - at - 4 ||
        key_group_of_row(row, old_count) != keygroup_get_prefix(key->data, prefix_len))
        return err_set(err, RC_UNSUPPORTED,
                       "state %s: a key of key group %u is no SQL row of that group: its group among "
                       "%u is not known",
                       d->name, keygroup_get_prefix(key->data, prefix_len), count);
    group = key_group_of_row(row, count);
    *mine = key_group_range_has(r->core->range, group);
    keygroup_put_prefix(prefix, r->core->prefix_len, group);
    buf_clear(&r->moved);
    buf_append(&r->moved, prefix, r->core->prefix_len);
    buf_append(&r->moved, key->data + prefix_len, key->len - prefix_len);
    *key = buf_bytes(&r->moved);
    return RC_OK;
}

/* Keys of a batch to r->keys, their values to r->values. */
static enum rc take_batch(struct restore *r, uint32_t state_id, uint32_t count,
                          const struct bytes *keys, const struct bytes *values, struct err *err)
{
    key_builder_clear(&r->keys);
    for (uint32_t i = 0; i < count; i++) {
        struct bytes key = keys[i];
        bool mine;

        RETURN_IF_ERR(check_entry(r, state_id, key, values[i], err));
        RETURN_IF_ERR(move_key(r, state_id, &key, &mine, err));
        if (!mine)
            continue;
        r->values[r->keys.count] = values[i];
        RETURN_IF_ERR(key_builder_add_raw(&r->keys, key, err));
    }
    return RC_OK;
}

static enum rc restore_put(void *ctx, uint32_t state_id, uint32_t count, const struct bytes *keys,
                           const struct bytes *values, struct err *err)
{
    struct restore *r = ctx;
    struct core_state *s = r->states[state_id];

    RETURN_IF_ERR(core_go_on(r->core, err));
    for (uint32_t from = 0; s != NULL && from < count; from += RESTORE_BATCH) {
        uint32_t n = count - from < RESTORE_BATCH ? count - from : RESTORE_BATCH;
        struct key_batch batch;

        RETURN_IF_ERR(take_batch(r, state_id, n, keys + from, values + from, err));
        RETURN_IF_ERR(convert_batch(r, s, err));
        batch = key_builder_batch(&r->keys);
        if (batch.count > 0)
            RETURN_IF_ERR(keyed_put(&s->base, &batch, r->values, err));
    }
    return RC_OK;
}

enum rc core_restore_entries(struct backend_core *core, const struct keyed_backend_config *config,
                             const struct keyed_handle *h, struct err *err)
{
    struct restore *r = mem_calloc(1, sizeof *r);
    struct arena *arena = arena_new(0);
    struct key_group_range range = core_range_of(core, h);
    enum rc rc;

    r->core = core;
    r->handle = h;
    key_builder_init(&r->keys, core->key_group_count, KEY_NS_VOID);
    GOTO_IF_ERR(core_restore_states(core, h, "handle", arena, &r->states, err));
    for (size_t i = 0; i < h->state_count; i++) {
        struct keyed_state *ignored; /* the same one, now with its place in the database */

        if (r->states[i] != NULL)
            GOTO_IF_ERR(keyed_state_open(&core->base, &r->states[i]->desc, &ignored, err));
    }
    switch (h->kind) {
    case KEYED_STREAM:
        rc = keyed_stream_read(core->env->fs, h, range, restore_put, r, err);
        break;
    case KEYED_ROCKS:
        rc = rocks_restore_read(core->env, config->local_dir, h, range, restore_put, r, err);
        break;
    default:
        rc = err_set(err, RC_VERSION, "handle of kind %d", (int)h->kind);
    }
out:
    key_builder_release(&r->keys);
    buf_release(&r->converted);
    buf_release(&r->moved);
    mem_free(r);
    arena_free(arena);
    return rc;
}
