/* storage.h - a job's checkpoint directory: snapshot_target of an attempt, publication, discard,
 * deletion.
 *
 *     storage_open -> storage_restore? -> attempts, discards, storage_clean .. -> storage_close
 *     attempt: storage_attempt_begin -> its targets publish -> _complete or _abort -> _free
 *
 * Filesystem storage keeps <dir>/<job id>/{LOCK,shared,taskowned,chk-<n>}; jobmanager storage (no
 * dir) keeps everything in the tree of handles, up to a limit for each state, and makes no file.
 * Savepoints (savepoint.h) are attempts too.
 *
 * Promises: C2 (content and names of what a _metadata names are durable before it), C3 (_metadata
 * whole or not at all; in a discard it goes first, durably), C4 (a shared file is deleted only
 * under the registry's word). A failed step leaves at worst a file too many, which storage_clean,
 * the next storage_open or orphans.h finds.
 *
 * Thread: begin, complete, abort, free, discard and clean on any thread, but one at a time for each
 * attempt; targets from several threads at once. One mutex guards the registry; it is never held
 * over I/O.
 * After: FsCheckpointStorageAccess, MemoryBackendCheckpointStorageAccess, CheckpointsCleaner.
 */
#ifndef VARVE_CHECKPOINT_STORAGE_H
#define VARVE_CHECKPOINT_STORAGE_H

#include "backend/snapshot_target.h"
#include "base/env.h"
#include "checkpoint/local_copies.h"
#include "checkpoint/metadata.h"
#include "checkpoint/shared_registry.h"

#define STORAGE_INLINE_DEFAULT (20u * 1024u)
#define STORAGE_INLINE_MAX (1024u * 1024u)
#define STORAGE_MEMORY_LIMIT_DEFAULT 5242880u /* 5 MB for each state, jobmanager storage */

struct storage;         /* opaque */
struct storage_attempt; /* opaque; one checkpoint or savepoint under way, or its end */

struct storage_config {
    const struct env *env;
    const char *dir; /* execution.checkpointing.dir, absolute; NULL: jobmanager storage */
    const char *job_id;
    const char *holder; /* for others' messages: "pid 4711, job insert-into_out" */
    uint64_t inline_threshold_bytes; /* execution.checkpointing.data-inline-threshold,
                                        0..STORAGE_INLINE_MAX */
    uint64_t write_buffer_bytes; /* execution.checkpointing.write-buffer-size; used: >= 4 KiB */
    bool deletes_one_by_one; /* on a server too; else several at a time, as env->fan allows. _metadata
                                is first in either case (C3) */
    uint64_t memory_state_limit_bytes; /* jobmanager storage, for each target; 0: the default */
};

/* Makes and locks the job's directory. Checkpoints that it holds already are registered, so that
 * none of their files is deleted; what a crash left (temporary files, incomplete checkpoints,
 * shared files that no _metadata names) is removed, unless a _metadata there is unreadable.
 * RC_STATE names who holds the lock; RC_LIMIT: the threshold. */
MUST_USE enum rc storage_open(const struct storage_config *config, struct storage **out,
                              struct err *err);
/* No attempt may be left. Gives the lock back; deletes nothing. NULL is a no-op. */
void storage_close(struct storage *s);
/* "<dir>/<job id>", or NULL for jobmanager storage; until close. */
const char *storage_job_dir(const struct storage *s);
/* Highest checkpoint id whose directory lay here at storage_open, complete or not; 0: none (C9). */
uint64_t storage_newest_seen_id(const struct storage *s);
/* "<job dir>/taskowned", or NULL. */
const char *storage_taskowned_dir(const struct storage *s);
/* RC_STATE: the lock on the job's directory was lost (fs_lock_check): somebody else writes there. From
 * then on nothing is published, written or deleted there by this storage: each call says so instead,
 * and confirms before it.
 *   confirm  as fs_lock_check's: a request if need be, and any code but RC_OK forbids the step
 * Any thread. */
MUST_USE enum rc storage_check_lock(const struct storage *s, bool confirm, struct err *err);
/* Whether that can happen: then somebody should look from time to time. */
bool storage_lock_can_be_lost(const struct storage *s);

/* From now on what checkpoints (not savepoints) share is kept in `copies` too, which is borrowed until
 * storage_close. Before the first attempt. */
void storage_keep_copies(struct storage *s, struct local_copies *copies);

/* ---- logs in taskowned/ ---------------------------------------------------------------------- */

/* A task makes its logs there itself: one that it has finished, durable with its name, it holds
 * until the log is of no more use to it. So long, and while a retained checkpoint or an attempt
 * names it, the log stays; then the release deletes it, or storage_clean. *hold for the release. RC_CORRUPT: it is
 * known with another size or digest. Any thread. */
MUST_USE enum rc storage_hold(struct storage *s, const char *name, uint64_t size_bytes,
                              struct digest128 digest, uint64_t *hold, struct err *err);
void storage_release_hold(struct storage *s, uint64_t hold, const char *name);

/* ---- restored snapshot (ownership) ---------------------------------------------------------- */

/* Bring every file of a restored snapshot into this job's own shared/ (hard link, reflink or copy),
 * before the first checkpoint, so that no _metadata ever names a file outside. resolved_path of
 * each file then points there (strings in `arena`).
 *   m             as recovery gave it: resolved_path set
 *   snapshot_dir  where its _metadata lies
 *   claim         true: storage_checkpoint_discard(m->checkpoint_id) deletes the snapshot there;
 *                 false: it is never touched
 * At most once in the life of a storage. Content is proven by keyed_backend_open, which reads these
 * files (C13). jobmanager storage leaves the paths as they are. On an error nothing is claimed;
 * what was linked goes at once, or, where it cannot, by a later open. */
MUST_USE enum rc storage_restore(struct storage *s, struct checkpoint_metadata *m,
                                 const char *snapshot_dir, bool claim, struct arena *arena,
                                 struct err *err);

/* ---- attempts ------------------------------------------------------------------------------- */

/* Makes chk-<id>/. RC_EXISTS when it is there (ids grow, C9). */
MUST_USE enum rc storage_attempt_begin(struct storage *s, uint64_t checkpoint_id,
                                       struct storage_attempt **out, struct err *err);
/* Where one subtask (named by `owner` in messages: "GroupAggregate[k] (1/2)", copied) puts its
 * files. Counts as a use of the attempt until storage_target_release, so a straggler of an aborted
 * attempt stays safe. */
struct snapshot_target *storage_attempt_target(struct storage_attempt *a, const char *owner);
void storage_target_release(struct snapshot_target *target);
/* Writes _metadata and makes the attempt's reservations uses of the completed checkpoint. After
 * RC_OK it is restorable. After any other code call storage_attempt_abort. RC_CANCELLED: was
 * aborted. */
MUST_USE enum rc storage_attempt_complete(struct storage_attempt *a,
                                          const struct checkpoint_metadata *m, struct err *err);
/* Tells targets to stop, takes _metadata away if its publication was tried, drops the reservations,
 * deletes exclusive files and directory: at once, or when the last target is released. An error is
 * for the log: what could not be deleted is tried again by storage_clean. No-op once completed or
 * aborted. */
MUST_USE enum rc storage_attempt_abort(struct storage_attempt *a, struct err *err);
/* Completed or aborted before; targets may still be out. NULL is a no-op. */
void storage_attempt_free(struct storage_attempt *a);
/* Directory of this attempt, absolute; "" for jobmanager storage. Until free. */
const char *storage_attempt_dir(const struct storage_attempt *a);
/* Bytes of its _metadata; 0 before completion. */
uint64_t storage_attempt_metadata_bytes(const struct storage_attempt *a);

/* ---- deletion ------------------------------------------------------------------------------- */

/* Drop a completed checkpoint, or the restored snapshot: _metadata first, then its uses of shared
 * files, its exclusive files, its directory (not recursively: a stranger in it stays, and is
 * logged). An error is for the log; tried again by storage_clean. Until _metadata is gone for
 * certain, its shared files stay. */
MUST_USE enum rc storage_checkpoint_discard(struct storage *s, uint64_t checkpoint_id,
                                            struct err *err);
/* Delete the shared files that nobody uses any more, and try again what failed before. Call after
 * every completion, discard and abort. *deleted (may be NULL) counts the files. The first error;
 * the rest is done all the same. */
MUST_USE enum rc storage_clean(struct storage *s, size_t *deleted, struct err *err);
void storage_shared_stats(struct storage *s, struct shared_registry_stats *out);

/* Make a checkpoint visible (C3): content, then name, then directory. After RC_OK, <dir>/_metadata
 * survives power loss; after any other code it is absent or whole, never partial. */
MUST_USE enum rc storage_publish_metadata(struct fs *fs, const char *dir, struct bytes meta,
                                          struct err *err);

#endif
