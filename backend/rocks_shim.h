/* rocks_shim.h - the few calls that rocksdb/c.h lacks, as plain C functions; for rocks.c only.
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

/* The real file system, but nothing is ever synced: for databases that are scratch. An
 * rocksdb_env_t; NULL when memory is gone. Must outlive the databases that use it. */
void *shim_scratch_env_new(void);
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

/* Reads every block of every live file and checks its checksum. */
void shim_verify(void *db, char **error);

/* How often the background gave up: writes and compactions stand still then. */
int shim_background_errors(void *db, uint64_t *count);

/* Compactions since opening: how many, how many of them wrote the deepest level that holds
 * anything, and what all wrote. */
struct shim_compactions {
    uint64_t count, deepest_count, written_bytes;
};
int shim_compactions(void *db, void *cf, struct shim_compactions *out);

#ifdef __cplusplus
}
#endif

#endif
