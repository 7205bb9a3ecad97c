/* rocks_restore.h - files of a KEYED_ROCKS handle back into a database; for backend/ only.
 *
 * Every file is proven first (C13); after opening, the live SSTs must be those that the handle
 * names: that catches a MANIFEST that ends early, which RocksDB does not report. Thread: one. */
#ifndef VARVE_BACKEND_ROCKS_RESTORE_H
#define VARVE_BACKEND_ROCKS_RESTORE_H

#include "backend/keyed_stream.h"

/* Makes a database of the handle under `scratch_dir`, hands out the entries whose group lies in
 * `range` in ascending order per state, and removes it. Entries outside the handle's own range are
 * never seen. */
MUST_USE enum rc rocks_restore_read(const struct env *env, const char *scratch_dir,
                                    const struct keyed_handle *h, struct key_group_range range,
                                    keyed_stream_fn *fn, void *ctx, struct err *err);

#endif
