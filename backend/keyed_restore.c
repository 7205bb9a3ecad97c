/* keyed_restore.c - entries of a handle of either kind into a backend of either kind, clipped to
 * its range (C10). */
#include "backend/keyed_core.h"
#include "backend/keyed_stream.h"
#include "backend/rocks_restore.h"

#define RESTORE_BATCH 4096u

struct restore {
    struct backend_core *core;
    struct core_state **states; /* by the handle's state id */
    struct key_builder keys;
};

/* Bytes from outside: keyed_put would assert. */
static enum rc check_entry(const struct restore *r, const struct core_state *s, struct bytes key,
                           struct bytes value, struct err *err)
{
    uint32_t group, row_bytes = state_desc_row_bytes(&s->desc);

    if (key.len < r->core->prefix_len)
        return err_set(err, RC_CORRUPT, "state %s: key of %zu bytes", s->desc.name, key.len);
    group = keygroup_get_prefix(key.data, r->core->prefix_len);
    if (!key_group_range_has(r->core->range, group))
        return err_set(err, RC_CORRUPT, "state %s: entry of key group %u outside %u..%u",
                       s->desc.name, group, r->core->range.first, r->core->range.last);
    if (row_bytes != 0 && value.len != row_bytes)
        return err_set(err, RC_CORRUPT, "state %s: value of %zu bytes instead of %u", s->desc.name,
                       value.len, row_bytes);
    return RC_OK;
}

static enum rc restore_put(void *ctx, uint32_t state_id, uint32_t count, const struct bytes *keys,
                           const struct bytes *values, struct err *err)
{
    struct restore *r = ctx;
    struct core_state *s = r->states[state_id];

    for (uint32_t from = 0; from < count; from += RESTORE_BATCH) {
        uint32_t to = from + RESTORE_BATCH < count ? from + RESTORE_BATCH : count;
        struct key_batch batch;

        key_builder_clear(&r->keys);
        for (uint32_t i = from; i < to; i++) {
            RETURN_IF_ERR(check_entry(r, s, keys[i], values[i], err));
            RETURN_IF_ERR(key_builder_add_raw(&r->keys, keys[i], err));
        }
        batch = key_builder_batch(&r->keys);
        RETURN_IF_ERR(keyed_put(&s->base, &batch, values + from, err));
    }
    return RC_OK;
}

enum rc core_restore_entries(struct backend_core *core, const struct keyed_backend_config *config,
                             const struct keyed_handle *h, struct err *err)
{
    struct restore r = {.core = core};
    struct arena *arena = arena_new(0);
    struct key_group_range range = key_group_range_meet(core->range, h->range);
    enum rc rc;

    key_builder_init(&r.keys, core->key_group_count, KEY_NS_VOID);
    GOTO_IF_ERR(core_restore_states(core, h, "handle", arena, &r.states, err));
    for (size_t i = 0; i < h->state_count; i++) {
        struct keyed_state *ignored; /* the same one, now with its place in the database */

        GOTO_IF_ERR(keyed_state_open(&core->base, &h->states[i], &ignored, err));
    }
    switch (h->kind) {
    case KEYED_STREAM:
        rc = keyed_stream_read(core->env->fs, h, range, restore_put, &r, err);
        break;
    case KEYED_ROCKS:
        rc = rocks_restore_read(core->env, config->local_dir, h, range, restore_put, &r, err);
        break;
    default:
        rc = err_set(err, RC_VERSION, "handle of kind %d", (int)h->kind);
    }
out:
    key_builder_release(&r.keys);
    arena_free(arena);
    return rc;
}
