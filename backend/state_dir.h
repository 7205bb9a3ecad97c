/* state_dir.h - snapshots of keyed backends in a plain directory, without checkpoints, jobs or
 * retention around them.
 *
 *     <path>/LOCK               held while it is open
 *     <path>/shared/<hex>.sst   files by content
 *     <path>/own/<uuid>.bin     files of one snapshot
 *     <path>/<name>.handle      a snapshot (handle_codec.h)
 *
 * C2, C3: files are durable before the handle that names them, which appears whole. C4: a file of
 * shared/ is never written again, and deleted only by a sweep, which runs while nothing is written
 * and after every handle was read.
 *
 * Thread: any; several writes at once, each on one thread. */
#ifndef VARVE_BACKEND_STATE_DIR_H
#define VARVE_BACKEND_STATE_DIR_H

#include "backend/snapshot_target.h"
#include "base/env.h"

#include <stdatomic.h>

#define STATE_DIR_NAME_MAX 100u

struct state_dir; /* opaque */
/* Makes what is not there. RC_STATE: another one, of any process, has it open. */
MUST_USE enum rc state_dir_open(const struct env *env, const char *path, struct state_dir **out,
                                struct err *err);
void state_dir_close(struct state_dir *d); /* no write runs; NULL is a no-op */

/* A snapshot being written: begin; keyed_snapshot_write into its target; publish when that went
 * well; end, in any case. Caller's memory. */
struct state_dir_write {
    struct snapshot_target target; /* first */
    struct state_dir *dir;
    const atomic_bool *cancelled; /* borrowed */
    char file_name[STATE_DIR_NAME_MAX + 8];
};
/* Waits for a sweep that runs. RC_INVALID: no such name may be; RC_EXISTS: there is that handle.
 * Nothing is to be ended then. */
MUST_USE enum rc state_dir_begin(struct state_dir *d, const char *name,
                                 const atomic_bool *cancelled, struct state_dir_write *out,
                                 struct err *err);
/* After RC_OK the snapshot is there and survives power loss. */
MUST_USE enum rc state_dir_publish(struct state_dir_write *w, const struct keyed_handle *h,
                                   struct err *err);
void state_dir_end(struct state_dir_write *w);

/* Strings in `arena`. RC_NOT_FOUND, RC_CORRUPT, RC_VERSION. */
MUST_USE enum rc state_dir_load(struct state_dir *d, const char *name, struct arena *arena,
                                struct keyed_handle *out, struct err *err);
/* Where a file of such a handle lies; what the handle says is not believed (RC_CORRUPT). */
MUST_USE enum rc state_dir_resolve(const char *path, const struct state_file *f,
                                   char out[FS_PATH_MAX], struct err *err);
/* Deletes a handle, durably. Its files stay until a sweep. */
MUST_USE enum rc state_dir_remove(struct state_dir *d, const char *name, struct err *err);
/* Deletes what no handle names. Nothing goes when a handle can't be read. RC_STATE: a write or
 * another sweep runs. */
MUST_USE enum rc state_dir_sweep(struct state_dir *d, uint64_t *deleted_bytes, struct err *err);

#endif
