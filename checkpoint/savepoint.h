/* savepoint.h - self-contained, outside the registry; dispose.
 *
 * A savepoint is a directory savepoint-<first 6 of the job id>-<12 hex> in a directory of the
 * user's. Its SSTs are hard links (else reflinks, else copies), named by content, beside _metadata:
 * it names nothing outside, so it can be moved, copied and deleted as a whole. The job never
 * deletes it (C12).
 * After: CheckpointStorageCoordinatorView.initializeLocationForSavepoint (flink-runtime).
 */
#ifndef VARVE_CHECKPOINT_SAVEPOINT_H
#define VARVE_CHECKPOINT_SAVEPOINT_H

#include "checkpoint/storage.h"

/* Makes <directory>/savepoint-.../ (the directory too, where it is missing; ten tries for a free
 * name) and an attempt whose targets write there. Then as any attempt: target, complete or abort,
 * free; a failed one leaves nothing. `directory` may be a file: URI. Works with every storage. */
MUST_USE enum rc savepoint_begin(struct storage *s, uint64_t checkpoint_id, const char *directory,
                                 struct storage_attempt **out, struct err *err);

/* Delete the snapshot at `path` (its directory, or the _metadata in it): a savepoint, or a retained
 * checkpoint that no running job holds, with the shared files that only it names. _metadata goes
 * first. RC_STATE: a job holds it; RC_NOT_FOUND; RC_CORRUPT and RC_VERSION: not a snapshot that can
 * be read, nothing is deleted. */
MUST_USE enum rc savepoint_dispose(const struct env *env, const char *path, struct err *err);

#endif
