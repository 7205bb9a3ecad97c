/* local_copies.h - the newest checkpoint's files once more on this machine, for a restart that need
 * not fetch them from a server.
 *
 *     <root>/<checkpoint id>/<digest>.sst    hard links of what RocksDB has on disk; reflinks or
 *                                            copies where the root is on another file system
 *
 * Scratch: the root goes with its job, and after a crash with the next one. A checkpoint's directory
 * fills while it is under way; when it is complete those of older ones go, when it is given up its
 * own. Nothing here is needed: a file that could not be kept, is gone or is not what the checkpoint
 * names is fetched, and that is said.
 *
 * Thread: add from any thread; the rest from one at a time. After: TaskLocalStateStoreImpl
 * (flink-runtime).
 */
#ifndef VARVE_CHECKPOINT_LOCAL_COPIES_H
#define VARVE_CHECKPOINT_LOCAL_COPIES_H

#include "base/env.h"
#include "checkpoint/metadata.h"

struct local_copies; /* opaque */
/* root: absolute and local; made, and no other's. */
MUST_USE enum rc local_copies_new(const struct env *env, const char *root, struct local_copies **out,
                                  struct err *err);
void local_copies_free(struct local_copies *c); /* leaves the files; NULL is a no-op */

/* A finished file that checkpoint `id` names `name`. What goes wrong is logged. */
void local_copies_add(struct local_copies *c, uint64_t checkpoint_id, const char *local_path,
                      const char *name);
void local_copies_completed(struct local_copies *c, uint64_t checkpoint_id);
void local_copies_aborted(struct local_copies *c, uint64_t checkpoint_id);

/* Shared files of a restored tree that lie here with the size and digest that it names (C13) get
 * resolved_path there, in `arena`; the others keep theirs. *used, *fetched (may not be NULL) count
 * them. Reads them, several at a time. */
void local_copies_use(struct local_copies *c, const struct checkpoint_metadata *m,
                      struct arena *arena, size_t *used, size_t *fetched);

#endif
