/* Reading: sorted gets and scans; packed values leave as whole ones (value_pack.h). */
#include "backend/rocks_priv.h"
#include "backend/rocks_quiet.h"
#include "base/arena.h"

#include <stdio.h>

#define GET_CHUNK 256u /* keys whose blocks are held at a time, whatever the cache has room for */
#define GOT_BYTES_KEPT (1u << 20)

static enum rc not_a_value(const struct rocks_cf *cf, struct value_shape shape, struct bytes key,
                           struct bytes stored, struct err *err)
{
    char hex[2 * 8 + 1] = "";

    for (size_t i = 0; i < key.len && i < 8; i++)
        snprintf(hex + 2 * i, 3, "%02x", key.data[i]);
    return err_set(err, RC_CORRUPT,
                   "state %s: key %s%s of %zu bytes: what is stored, %zu bytes, is no value of %u, "
                   "plain or packed",
                   cf->name, hex, key.len > 8 ? ".." : "", key.len, stored.len, shape.bytes);
}

/* Whole values of a chunk behind each other into db->got. */
static enum rc keep_values(struct rocks_cf *cf, const struct bytes *keys, uint32_t count,
                           struct bytes *values, struct err *err)
{
    struct value_shape shape = cf->shape;
    struct buf *got = &cf->db->got;

    for (uint32_t i = 0; i < count; i++) {
        if (values[i].data == NULL)
            continue;
        if (shape.bytes == 0) {
            buf_append(got, values[i].data, values[i].len);
            continue;
        }
        buf_reserve(got, shape.bytes);
        if (!value_unpack(shape, values[i], got->data + got->len))
            return not_a_value(cf, shape, keys[i], values[i], err);
        got->len += values[i].len = shape.bytes;
    }
    return RC_OK;
}

/* Chunk by chunk, values copied: however many keys there are and however full the cache is, few
 * blocks are held at a time. */
enum rc rocks_get(struct rocks_cf *cf, const struct bytes *keys, uint32_t count,
                  struct bytes *values, struct err *err)
{
    struct rocks_db *db = cf->db;
    char *error = NULL;
    enum rc rc = RC_OK;

    buf_clear(&db->got);
    buf_reserve(&db->got, 1); /* an empty value has an address too */
    for (uint32_t from = 0; from < count && rc == RC_OK; from += GET_CHUNK) {
        uint32_t n = count - from < GET_CHUNK ? count - from : GET_CHUNK;

        rocks_quiet_begin();
        shim_multi_get(db->getter, db->db, cf->handle,
                       (const struct shim_slice *)(const void *)(keys + from), n,
                       (struct shim_slice *)(void *)(values + from), &error);
        rocks_quiet_end();
        rc = rocks_take_error(error, err, "get");
        if (rc == RC_OK)
            rc = keep_values(cf, keys + from, n, values + from, err);
        rocks_quiet_begin();
        shim_getter_reset(db->getter);
        rocks_quiet_end();
    }
    for (size_t i = 0, at = 0; i < count && rc == RC_OK; i++) { /* the buffer holds still now */
        if (values[i].data == NULL)
            continue;
        values[i].data = db->got.data + at;
        at += values[i].len;
    }
    return rc;
}

void rocks_unpin(struct rocks_db *db)
{
    if (db->got.cap > GOT_BYTES_KEPT)
        buf_release(&db->got);
}

struct rocks_iter {
    struct rocks_db *db;
    const struct rocks_cf *cf;
    struct value_shape shape;
    uint8_t *value; /* of the last entry, unpacked */
    rocksdb_iterator_t *it;
    rocksdb_readoptions_t *options;
    struct buf lower, upper; /* RocksDB keeps pointers to them */
    bool started, ended;
};

struct rocks_iter *rocks_iter_new(struct rocks_cf *cf, struct bytes lower, struct bytes upper)
{
    struct rocks_iter *it = mem_calloc(1, sizeof *it);

    it->db = cf->db;
    it->cf = cf;
    it->shape = cf->shape;
    it->value = it->shape.bytes == 0 ? NULL : mem_alloc(it->shape.bytes);
    atomic_fetch_add(&it->db->open_handles, 1);
    it->options = rocksdb_readoptions_create();
    rocksdb_readoptions_set_verify_checksums(it->options, 1);
    rocksdb_readoptions_set_fill_cache(it->options, 0);
    buf_append(&it->lower, lower.data, lower.len);
    buf_append(&it->upper, upper.data, upper.len);
    if (lower.len > 0)
        rocksdb_readoptions_set_iterate_lower_bound(it->options, (const char *)it->lower.data,
                                                    lower.len);
    if (upper.len > 0)
        rocksdb_readoptions_set_iterate_upper_bound(it->options, (const char *)it->upper.data,
                                                    upper.len);
    rocks_quiet_begin();
    it->it = rocksdb_create_iterator_cf(cf->db->db, it->options, cf->handle);
    rocks_quiet_end();
    return it;
}

bool rocks_iter_next(struct rocks_iter *it, struct bytes *key, struct bytes *value, enum rc *rc,
                     struct err *err)
{
    char *error = NULL;

    *rc = RC_OK;
    if (it->ended)
        return false;
    rocks_quiet_begin();
    if (it->started)
        rocksdb_iter_next(it->it);
    else
        rocksdb_iter_seek_to_first(it->it);
    rocks_quiet_end();
    it->started = true;
    if (!rocksdb_iter_valid(it->it)) {
        it->ended = true;
        rocksdb_iter_get_error(it->it, &error);
        *rc = rocks_take_error(error, err, "scan");
        return false;
    }
    key->data = (const uint8_t *)rocksdb_iter_key(it->it, &key->len);
    value->data = (const uint8_t *)rocksdb_iter_value(it->it, &value->len);
    if (value->len == it->shape.bytes || it->shape.bytes == 0)
        return true;
    if (!value_unpack(it->shape, *value, it->value)) {
        it->ended = true;
        *rc = not_a_value(it->cf, it->shape, *key, *value, err);
        return false;
    }
    *value = bytes_of(it->value, it->shape.bytes);
    return true;
}

void rocks_iter_free(struct rocks_iter *it)
{
    if (it == NULL)
        return;
    rocks_quiet_begin();
    rocksdb_iter_destroy(it->it);
    rocks_quiet_end();
    rocksdb_readoptions_destroy(it->options);
    buf_release(&it->lower);
    buf_release(&it->upper);
    mem_free(it->value);
    atomic_fetch_sub(&it->db->open_handles, 1);
    mem_free(it);
}
