/* rocks_sst_shim.h - one SST file by itself, without its database, as plain C functions; for
 * rocks_sst.c only. Conventions of rocks_shim.h. */
#ifndef VARVE_BACKEND_ROCKS_SST_SHIM_H
#define VARVE_BACKEND_ROCKS_SST_SHIM_H

#include "backend/rocks_shim.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every block against its checksum; then every entry: keys of strictly ascending internal order
 * with lower <= key < upper (empty: no bound), as many as the file says of itself. */
void shim_sst_check(const char *path, struct shim_slice lower, struct shim_slice upper,
                    uint64_t *entries, char **error);
/* The same of a file that lies in memory. */
void shim_sst_check_bytes(struct shim_slice file, uint64_t *entries, char **error);

#ifdef __cplusplus
}
#endif

#endif
