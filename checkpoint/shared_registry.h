/* shared_registry.h - which checkpoint still needs each file under shared/: the one authority for
 * deletion (C4).
 *
 * Pure bookkeeping: no I/O, no clock, no lock. Whoever owns it serialises all calls with one mutex
 * (storage's); between begin_delete and finish_delete or cancel_delete, where the unlink is, it need
 * not be held: who asks for that name meanwhile is told to wait.
 *
 *               reserve           published           last use ends
 *     (absent) ----------> RESERVED --------> PRESENT ---------------> CONDEMNED
 *                             |                  ^   reserve: used again  |  ^
 *                             |                  +------------------------+  |
 *                             +-- last use ends, nobody publishes -----------+
 *
 *     CONDEMNED -- begin_delete --> DELETING -- finish_delete --> (absent)
 *                                   DELETING -- cancel_delete --> CONDEMNED, not proven any more
 *
 * A use is a reservation of a running attempt or a name in a completed checkpoint. A reservation
 * is a use until its attempt ends, however it ends; a publication under way keeps the entry from
 * being condemned beyond that, so a straggler of an aborted attempt leaves no file that nobody
 * knows. A name in CONDEMNED is in the hand-over queue.
 *
 * A crash anywhere leaves a file too many, never one too few. After: SharedStateRegistryImpl
 * (flink-runtime); differs: names are content, reservations exist. Logs in taskowned/ (storage_hold)
 * are entries like others; a task's hold is a use under an id that is no checkpoint's.
 */
#ifndef VARVE_CHECKPOINT_SHARED_REGISTRY_H
#define VARVE_CHECKPOINT_SHARED_REGISTRY_H

#include "base/hash.h"

#define SHARED_NAME_MAX 255

struct shared_registry; /* opaque; defined in shared_registry.c */
struct shared_registry *shared_registry_new(void);
void shared_registry_free(struct shared_registry *reg);

/* ---- attempts and their reservations --------------------------------------------------------- */

/* An attempt (checkpoint or savepoint) starts; its id was never used before in this registry
 * (asserted). */
void shared_registry_attempt_begin(struct shared_registry *reg, uint64_t checkpoint_id);
/* false: never begun, completed or aborted: its stragglers should stop. */
bool shared_registry_attempt_runs(const struct shared_registry *reg, uint64_t checkpoint_id);

enum shared_answer {
    SHARED_PUBLISH, /* not known to be there: link or copy it (a copy by temporary name and rename),
                     * then call published; on failure publish_failed. EEXIST is success only after
                     * checking length and digest */
    SHARED_PRESENT, /* there, proven by this process with this digest and size: name it, do nothing
                       else */
    SHARED_WAIT, /* being deleted at this moment: nothing was reserved; wait for the end, then ask
                    again */
};
/* Reserve `name` for a running attempt before anything is done with the file. Any number of
 * subtasks may reserve one name. name    borrowed; relative to shared/, 1..255 bytes, no '/'
 * RC_CANCELLED: the attempt has ended. RC_CORRUPT: size or digest differ from an earlier use of the
 * name; RC_LIMIT: the name's length. Nothing is recorded then. */
MUST_USE enum rc shared_registry_reserve(struct shared_registry *reg, uint64_t checkpoint_id,
                                         const char *name, uint64_t size_bytes,
                                         struct digest128 digest, enum shared_answer *answer,
                                         struct err *err);
/* After SHARED_PUBLISH, exactly one of the two, also when the attempt has ended meanwhile.
 * published: content and name are durable, or were found there and checked. */
void shared_registry_published(struct shared_registry *reg, const char *name);
void shared_registry_publish_failed(struct shared_registry *reg, const char *name);

/* The attempt's reservations become uses of the completed checkpoint. */
void shared_registry_attempt_completed(struct shared_registry *reg, uint64_t checkpoint_id);
/* The attempt's reservations are dropped. No-op when it does not run. */
void shared_registry_attempt_aborted(struct shared_registry *reg, uint64_t checkpoint_id);

/* ---- completed checkpoints ------------------------------------------------------------------- */

/* A checkpoint that was completed by an earlier run, or a snapshot that is being restored, uses
 * `name`. proven   this process has published or verified the file Codes as for reserve; RC_STATE
 * while the name is being deleted. */
MUST_USE enum rc shared_registry_restore(struct shared_registry *reg, uint64_t checkpoint_id,
                                         const char *name, uint64_t size_bytes,
                                         struct digest128 digest, bool proven, struct err *err);
/* A completed checkpoint is dropped (subsumed, discarded): its `_metadata` is already gone. No-op
 * for an unknown id. */
void shared_registry_checkpoint_dropped(struct shared_registry *reg, uint64_t checkpoint_id);

/* ---- deletion -------------------------------------------------------------------------------- */

/* Hand over up to `max` condemned names, each once; returned strings hold until finish_delete of
 * that name. Returns how many. */
size_t shared_registry_take_condemned(struct shared_registry *reg, const char **names, size_t max);
/* Re-check and begin: true = nobody uses it, unlink it now. false = used again, gone, or being
 * deleted: leave it alone. */
MUST_USE bool shared_registry_begin_delete(struct shared_registry *reg, const char *name);
/* Unlinked, or it was not there: forget the name. */
void shared_registry_finish_delete(struct shared_registry *reg, const char *name);
/* The unlink failed: condemned again, no longer proven, and handed over again after
 * shared_registry_retry. A server may carry it out later yet: until the name is forgotten, each
 * reservation of it is answered SHARED_PUBLISH, so that who uses it looks again. */
void shared_registry_cancel_delete(struct shared_registry *reg, const char *name);
/* Queue the names again whose deletion failed (once a completed checkpoint, not in a loop). Returns
 * how many. */
size_t shared_registry_retry(struct shared_registry *reg);

/* ---- questions ------------------------------------------------------------------------------- */

struct shared_registry_stats {
    size_t names, reserved, present, condemned, deleting;
    uint64_t used_bytes;      /* of names with a use */
    uint64_t condemned_bytes; /* condemned or being deleted */
    size_t attempts, checkpoints;
};
void shared_registry_stats(const struct shared_registry *reg, struct shared_registry_stats *out);
/* Uses of a name: reservations and completed checkpoints; 0 for an unknown one. */
size_t shared_registry_use_count(const struct shared_registry *reg, const char *name);

#endif
