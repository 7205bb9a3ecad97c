/* rocks_sst.h - one SST file by itself, without its database. Thread: any. */
#ifndef VARVE_BACKEND_ROCKS_SST_H
#define VARVE_BACKEND_ROCKS_SST_H

#include "base/bytes.h"

/* Every block against its checksum, every entry in order and with lower <= key < upper (empty: no
 * bound), as many as the file says: *entries, deletions and operands included.
 * RC_CORRUPT, RC_IO. */
MUST_USE enum rc rocks_sst_check(const char *path, struct bytes lower, struct bytes upper,
                                 uint64_t *entries, struct err *err);
/* The same of a file's bytes, which lie elsewhere than in a file of their own; without bounds. */
MUST_USE enum rc rocks_sst_check_bytes(struct bytes file, uint64_t *entries, struct err *err);

#endif
