/* rocks_shim.h - the few calls that rocksdb/c.h lacks, as plain C functions; for rocks.c and
 * its parts (rocks_priv.h) only.
 *
 * `db` and `cf` are rocksdb_t and rocksdb_column_family_handle_t. Errors as in rocksdb/c.h: *error,
 * if it was NULL, becomes a malloc'ed text. No exception leaves a function: running out of memory
 * is reported as an error text. */
#ifndef VARVE_BACKEND_ROCKS_SHIM_H
#define VARVE_BACKEND_ROCKS_SHIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct shim_slice { /* the same layout as struct bytes */
    const uint8_t *data;
    size_t len;
};

/* For databases that are scratch: the real file system, but nothing is ever synced, directories are
 * not opened, and no file of options is kept. Put into `options`, an rocksdb_options_t; must outlive
 * the databases that use it. NULL when memory is gone. */
void *shim_scratch_env_new(void *options);
void shim_scratch_env_free(void *env); /* NULL is a no-op */

/* A sorted MultiGet whose memory is kept between calls. */
struct shim_getter;
struct shim_getter *shim_getter_new(void);
void shim_getter_free(struct shim_getter *g);
/* values[i].data == NULL: absent. Values hold until the next call on g, or shim_getter_reset, which
 * unpins their blocks. */
void shim_multi_get(struct shim_getter *g, void *db, void *cf, const struct shim_slice *keys,
                    size_t count, struct shim_slice *values, char **error);
void shim_getter_reset(struct shim_getter *g);

/* Brings sorted runs into one column family, all or none, by moving them (never by copying). */
void shim_ingest(void *db, void *cf, const char *const *paths, size_t count, char **error);

/* What compactions leave out, of the families it was set for. Functions are called by threads of
 * RocksDB, several at once; ctx must outlive the database. */
enum shim_verdict { SHIM_KEEP, SHIM_REMOVE, SHIM_CHANGE };
typedef void shim_emit(void *out, const uint8_t *data, size_t len); /* a changed value */
struct shim_filter {
    void *ctx;
    int64_t (*begin)(void *ctx); /* the moment that one compaction goes by */
    enum shim_verdict (*look)(void *ctx, int64_t moment, struct shim_slice value, shim_emit *emit,
                              void *out);
};
struct shim_filters;
struct shim_filters *shim_filters_new(void); /* NULL when memory is gone */
void shim_filters_free(struct shim_filters *f); /* NULL is a no-op; after its databases */
void shim_filters_install(struct shim_filters *f, void *options); /* an rocksdb_options_t */
void shim_filters_set(struct shim_filters *f, uint32_t cf_id, const struct shim_filter *filter,
                      char **error);

/* Compacts what lies in [lower, upper] to the bottom, filters applied. Blocks; any thread. */
void shim_compact_range(void *db, void *cf, const struct shim_slice *lower,
                        const struct shim_slice *upper, char **error);
/* Ends them, and returns when none is left; those to come end at once. */
void shim_stop_compact_range(void *db);

/* Reads every block of every live file and checks its checksum. */
void shim_verify(void *db, char **error);

/* What a database's background stumbled over first, in RocksDB's words. Put into `options`; must
 * outlive the databases that use it. NULL when memory is gone. */
struct shim_trouble;
struct shim_trouble *shim_trouble_new(void *options);
void shim_trouble_free(struct shim_trouble *t); /* NULL is a no-op */
int shim_trouble_tell(struct shim_trouble *t, char *out, size_t cap); /* 0: there is none */

/* How often the background gave up: writes and compactions stand still then. */
int shim_background_errors(void *db, uint64_t *count);

/* Compactions since opening: how many, how many of them wrote the deepest level that holds
 * anything or is about to (RocksDB counts a compaction before it installs its files), and what
 * all wrote. */
struct shim_compactions {
    uint64_t count, deepest_count, written_bytes;
};
int shim_compactions(void *db, void *cf, struct shim_compactions *out);

#ifdef __cplusplus
}
#endif

#endif
