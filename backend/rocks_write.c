/* Writing: batches through the memtable, sorted runs as files of their own, and their ingest. */
#include "backend/rocks_priv.h"
#include "backend/rocks_quiet.h"
#include "base/arena.h"

struct rocks_batch {
    struct rocks_db *db;
    rocksdb_writebatch_t *batch;
    size_t bytes;
};

struct rocks_batch *rocks_batch_new(struct rocks_db *db)
{
    struct rocks_batch *b = mem_calloc(1, sizeof *b);

    b->db = db;
    b->batch = rocksdb_writebatch_create();
    atomic_fetch_add(&db->open_handles, 1);
    return b;
}

void rocks_batch_put(struct rocks_batch *b, struct rocks_cf *cf, struct bytes key,
                     struct bytes value)
{
    rocksdb_writebatch_put_cf(b->batch, cf->handle, (const char *)key.data, key.len,
                              (const char *)value.data, value.len);
    b->bytes += key.len + value.len + 16;
}

void rocks_batch_del(struct rocks_batch *b, struct rocks_cf *cf, struct bytes key)
{
    rocksdb_writebatch_delete_cf(b->batch, cf->handle, (const char *)key.data, key.len);
    b->bytes += key.len + 16;
}

void rocks_batch_merge(struct rocks_batch *b, struct rocks_cf *cf, struct bytes key,
                       struct bytes operand)
{
    rocksdb_writebatch_merge_cf(b->batch, cf->handle, (const char *)key.data, key.len,
                                (const char *)operand.data, operand.len);
    b->bytes += key.len + operand.len + 16;
}

size_t rocks_batch_bytes(const struct rocks_batch *b)
{
    return b->bytes;
}

enum rc rocks_batch_write(struct rocks_batch *b, struct err *err)
{
    char *error = NULL;

    if (b->bytes == 0)
        return RC_OK;
    rocksdb_write(b->db->db, b->db->write, b->batch, &error);
    rocksdb_writebatch_clear(b->batch);
    b->bytes = 0;
    return rocks_take_error(error, err, "write");
}

void rocks_batch_free(struct rocks_batch *b)
{
    if (b == NULL)
        return;
    rocksdb_writebatch_destroy(b->batch);
    atomic_fetch_sub(&b->db->open_handles, 1);
    mem_free(b);
}

struct rocks_run {
    struct rocks_db *db;
    rocksdb_envoptions_t *env;
    rocksdb_sstfilewriter_t *writer;
};

enum rc rocks_run_open(struct rocks_db *db, const char *path, struct rocks_run **out,
                       struct err *err)
{
    struct rocks_run *r = mem_calloc(1, sizeof *r);
    char *error = NULL;
    enum rc rc;

    r->db = db;
    r->env = rocksdb_envoptions_create();
    r->writer = rocksdb_sstfilewriter_create(r->env, db->options);
    atomic_fetch_add(&db->open_handles, 1);
    rocksdb_sstfilewriter_open(r->writer, path, &error);
    rc = rocks_take_error(error, err, "open a run");
    if (rc != RC_OK) {
        rocks_run_free(r);
        return rc;
    }
    *out = r;
    return RC_OK;
}

enum rc rocks_run_put(struct rocks_run *r, struct bytes key, struct bytes value, struct err *err)
{
    char *error = NULL;

    rocksdb_sstfilewriter_put(r->writer, (const char *)key.data, key.len, (const char *)value.data,
                              value.len, &error);
    return rocks_take_error(error, err, "write a run");
}

enum rc rocks_run_del(struct rocks_run *r, struct bytes key, struct err *err)
{
    char *error = NULL;

    rocksdb_sstfilewriter_delete(r->writer, (const char *)key.data, key.len, &error);
    return rocks_take_error(error, err, "write a run");
}

enum rc rocks_run_merge(struct rocks_run *r, struct bytes key, struct bytes operand,
                        struct err *err)
{
    char *error = NULL;

    rocksdb_sstfilewriter_merge(r->writer, (const char *)key.data, key.len,
                                (const char *)operand.data, operand.len, &error);
    return rocks_take_error(error, err, "write a run");
}

uint64_t rocks_run_bytes(const struct rocks_run *r)
{
    uint64_t size = 0;

    rocksdb_sstfilewriter_file_size(r->writer, &size);
    return size;
}

enum rc rocks_run_finish(struct rocks_run *r, struct err *err)
{
    char *error = NULL;

    rocksdb_sstfilewriter_finish(r->writer, &error);
    return rocks_take_error(error, err, "finish a run");
}

void rocks_run_free(struct rocks_run *r)
{
    if (r == NULL)
        return;
    rocksdb_sstfilewriter_destroy(r->writer);
    rocksdb_envoptions_destroy(r->env);
    atomic_fetch_sub(&r->db->open_handles, 1);
    mem_free(r);
}

enum rc rocks_ingest(struct rocks_cf *cf, const char *const *paths, size_t count, struct err *err)
{
    char *error = NULL;

    rocks_quiet_begin();
    shim_ingest(cf->db->db, cf->handle, paths, count, &error);
    rocks_quiet_end();
    return rocks_take_error(error, err, "ingest");
}
