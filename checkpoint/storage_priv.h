/* storage_priv.h - what storage.c, storage_restore.c, attempt.c and savepoint.c share. For this folder only. */
#ifndef VARVE_CHECKPOINT_STORAGE_PRIV_H
#define VARVE_CHECKPOINT_STORAGE_PRIV_H

#include "base/thread.h"
#include "base/transfer.h"
#include "checkpoint/storage.h"

#include <stdatomic.h>

/* A deletion that failed and is tried again by storage_clean. */
struct undone {
    char *dir;
    uint64_t checkpoint_id;
    bool release; /* its uses in the registry end once _metadata is gone */
    bool attempt; /* they are an attempt's reservations */
};
struct storage {
    struct env env;       /* a copy; what it points to is borrowed */
    struct env clean_env; /* for deletions: without helpers where they go one by one */
    char job_id[JOB_ID_LEN + 1];
    char *job_dir, *shared_dir, *taskowned_dir; /* NULL: jobmanager storage */
    struct fs_file *lock;
    uint64_t inline_threshold_bytes, write_buffer_bytes, memory_state_limit_bytes;
    uint64_t newest_seen_id; /* at open */
    uint64_t savepoint_mark; /* made here; 0: none. Driver's */
    struct transfer to_shared, to_taskowned;
    struct local_copies *copies; /* NULL: none are kept */
    struct rng rng; /* savepoint names; driver's */

    struct mutex mutex; /* the registry's; never held over I/O */
    struct shared_registry *registry GUARDED_BY(mutex);
    struct undone *undone GUARDED_BY(mutex);
    size_t undone_count GUARDED_BY(mutex), undone_cap GUARDED_BY(mutex);
    uint32_t attempt_count GUARDED_BY(mutex);
    uint64_t hold_count GUARDED_BY(mutex); /* ever */
    bool keeps_logs GUARDED_BY(mutex);     /* an unreadable _metadata may name any of them */
    uint64_t floor_id GUARDED_BY(mutex); /* new ids are above it (C9) */
    /* The restored snapshot. */
    uint64_t restored_id GUARDED_BY(mutex); /* 0: none */
    char *restored_dir GUARDED_BY(mutex);
    bool restored_claimed GUARDED_BY(mutex);
};

/*     RUNNING --complete--> COMPLETED        RUNNING --abort, failed complete + abort--> ABORTED */
enum attempt_state { ATTEMPT_RUNNING, ATTEMPT_COMPLETED, ATTEMPT_ABORTED };
enum attempt_place {
    ATTEMPT_CHECKPOINT, /* chk-<n>/ and shared/ */
    ATTEMPT_SAVEPOINT,  /* all in its own directory */
    ATTEMPT_MEMORY,     /* all inline */
};
struct storage_attempt {
    struct storage *storage;
    uint64_t checkpoint_id;
    enum attempt_place place;
    char *dir;              /* "" in memory */
    struct transfer to_dir; /* savepoints: SSTs into their own directory */
    atomic_bool places_files; /* their names are to be synced before _metadata */

    struct mutex mutex;
    enum attempt_state state GUARDED_BY(mutex);
    bool metadata_tried GUARDED_BY(mutex); /* _metadata may be there although complete failed */
    bool dir_left GUARDED_BY(mutex);       /* aborted: the directory goes with the last target */
    uint64_t next_exclusive GUARDED_BY(mutex);
    uint32_t target_count GUARDED_BY(mutex); /* not yet released */
    bool freed GUARDED_BY(mutex);            /* by the driver; the last target frees the memory */
    uint64_t metadata_bytes GUARDED_BY(mutex);
};
/* Lock order: an attempt's mutex is never held while its storage's is taken. */

/* The directory, if any, exists. Takes `dir`. */
struct storage_attempt *attempt_new_take(struct storage *s, uint64_t checkpoint_id,
                                         enum attempt_place place, char *dir);
/* Durable before a savepoint can be restored: a later run tells by it that files which were written
 * after the newest checkpoint may be the savepoint's. */
MUST_USE enum rc storage_mark_savepoint(struct storage *s, uint64_t checkpoint_id,
                                        struct err *err);
/* RC_STATE: `dir` is a directory of the job's, and the lock on that was lost. */
MUST_USE enum rc storage_may_delete(const struct storage *s, const char *dir, struct err *err);
/* Remember a deletion that failed. */
void storage_note_undone(struct storage *s, const char *dir, uint64_t checkpoint_id, bool release,
                         bool attempt);
/* The directory of an attempt that could not begin: gone now, or noted. */
void storage_remove_empty(struct storage *s, const char *dir, uint64_t checkpoint_id);
/* The uses of a checkpoint or attempt end; its _metadata is gone. */
void storage_release_uses(struct storage *s, uint64_t checkpoint_id, bool attempt);

#endif
