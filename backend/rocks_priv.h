/* rocks_priv.h - what lies behind rocks.h; for rocks.c, rocks_options.c, rocks_read.c, rocks_write.c, rocks_merge.c and
 * rocks_intake.c and rocks_sst.c only. */
#ifndef VARVE_BACKEND_ROCKS_PRIV_H
#define VARVE_BACKEND_ROCKS_PRIV_H

#include "backend/rocks.h"
#include "backend/rocks_shim.h"
#include "base/thread.h"

#include <rocksdb/c.h>

#include <stdatomic.h>

_Static_assert(sizeof(struct bytes) == sizeof(struct shim_slice) &&
                   offsetof(struct bytes, len) == offsetof(struct shim_slice, len),
               "passed to the shim as they are");

struct rocks_cf {
    struct rocks_db *db;
    rocksdb_column_family_handle_t *handle;
    char *name;
    const rocksdb_options_t *options; /* the database's: how operands are merged differs */
    struct value_shape shape;
    struct rocks_filter filter;
};
struct rocks_shared {
    uint64_t write_buffer_bytes;
    rocksdb_cache_t *cache;
    rocksdb_write_buffer_manager_t *write_buffers;
};
struct rocks_db {
    rocksdb_t *db;
    rocksdb_options_t *options; /* of the database and of each family ... */
    rocksdb_options_t *totals;  /* ... but those whose operands are totals */
    rocksdb_block_based_table_options_t *table;
    struct rocks_shared *shared, *own_shared; /* own: not given by who opened it */
    struct rocks_totals is_totals;
    rocksdb_readoptions_t *scan; /* template of scans; bounds are set per iterator */
    rocksdb_writeoptions_t *write;
    struct shim_getter *getter;
    struct shim_filters *filters;
    struct shim_trouble *trouble;
    struct buf got; /* values of the last rocks_get */
    void *env;             /* a file system that does not sync */
    struct mutex handles;  /* over the list and each family's handle, for who looks at all of them */
    struct rocks_cf **cfs; /* [0] is "default" */
    size_t cf_count;
    struct rocks_compactions gone; /* of families that are no more */
    bool read_only;
    atomic_int open_handles; /* iterators, batches, runs */
};

/* rocks_options.c: the only place where options are made. Into a db that is all zeroes. */
void rocks_options_make(struct rocks_db *db, const struct rocks_config *config);
void rocks_options_free(struct rocks_db *db);
/* Of a family that is opened or made. */
const rocksdb_options_t *rocks_options_of(const struct rocks_db *db, const char *family);
/* Consumes the text that RocksDB malloc'ed; NULL is RC_OK. */
MUST_USE enum rc rocks_take_error(char *text, struct err *err, const char *doing);

struct rocks_db *rocks_db_of(const struct rocks_cf *cf);
/* A family that was made below; takes the handle. */
struct rocks_cf *rocks_cf_adopt_take(struct rocks_db *db, const char *name,
                                     rocksdb_column_family_handle_t *handle);

/* rocks_merge.c; new, for who sets it in options. */
rocksdb_mergeoperator_t *rocks_merge_lists(void);
rocksdb_mergeoperator_t *rocks_merge_totals(void);

#endif
