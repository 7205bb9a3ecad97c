/* Appending to values that vary in size (lists): where they lie, so that a long list is not copied
 * for each element. Task's thread. */
#include "backend/row_cache_priv.h"

enum rc row_cache_append(struct row_cache *c, const struct key_batch *keys,
                         const struct bytes *values, const struct row_append_rules *rules,
                         struct row_loader *loader, uint32_t *done, struct err *err)
{
    struct bytes *now = mem_alloc(keys->count * sizeof *now);
    size_t had = 0;
    enum rc rc;

    ASSERT(c->config.fixed_value_bytes == 0 && rules->bytes_max <= KEY_BATCH_BYTES_MAX);
    *done = 0;
    rc = row_cache_get(c, keys, now, loader, err); /* from here on all that exist are cached */
    mem_free(now);
    if (rc != RC_OK)
        return rc;
    rows_enter(c);
    while (*done < keys->count && row_append(c, c->tags[*done], key_batch_at(keys, *done),
                                             values[*done], rules, &had))
        ++*done;
    rows_leave(c);
    if (*done < keys->count)
        return err_set(err, RC_LIMIT, "%zu bytes and %zu more exceed %zu", had, values[*done].len,
                       rules->bytes_max);
    return RC_OK;
}
