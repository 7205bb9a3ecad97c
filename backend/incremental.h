/* incremental.h - digests of files that one open database has already: local name -> size and
 * digest. Pure lists, no I/O.
 *
 * RocksDB never changes a file under a name, and never gives a name twice while a database is open;
 * after a restore it gives old numbers to new content. So this belongs to one opening, seeded with
 * the restored handle when its files were taken over under their names. What later checkpoints
 * share is decided by content (shared/<digest>.sst): a checkpoint that was given up leaves nothing
 * wrong here. Thread: one at a time. */
#ifndef VARVE_BACKEND_INCREMENTAL_H
#define VARVE_BACKEND_INCREMENTAL_H

#include "backend/state_handle.h"

struct incremental; /* opaque */
struct incremental *incremental_new(void);
void incremental_free(struct incremental *inc);
/* Notes a file; noting it again replaces. */
void incremental_add(struct incremental *inc, const char *local_name, uint64_t size_bytes,
                     struct digest128 digest);
/* false: unknown, or known with another size (then it is forgotten). */
bool incremental_find(struct incremental *inc, const char *local_name, uint64_t size_bytes,
                      struct digest128 *digest);
/* Between begin and end: the files of the newest checkpoint are looked up or added; end forgets the
 * rest. */
void incremental_begin(struct incremental *inc);
void incremental_end(struct incremental *inc);
size_t incremental_count(const struct incremental *inc);

#endif
