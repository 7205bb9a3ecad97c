/* rocks_backend_priv.h - the `rocksdb` backend's parts; for rocks_backend.c, rocks_snapshot.c,
 * rocks_restore.c, rocks_rescale.c,
 * rocks_warmup.c, rocks_load.c.
 *
 * Directories below local_dir, all scratch: db/ the database, runs/ of the flusher, chk-<n>/ a
 * checkpoint under way; during a restore from-<i>/ a handle's files, cut/ what is cut of them. */
#ifndef VARVE_BACKEND_ROCKS_BACKEND_PRIV_H
#define VARVE_BACKEND_ROCKS_BACKEND_PRIV_H

#include "backend/flusher.h"
#include "backend/incremental.h"
#include "backend/keyed_core.h"
#include "backend/keyed_memory.h"
#include "backend/rocks_expire.h"
#include "backend/rocks_intake.h"
#include "backend/rocks_load.h"
#include "backend/rocks_restore.h"
#include "backend/rocks_warmup.h"
#include "base/thread.h"

#include <stdatomic.h>

#define ROCKS_MEMORY_DEFAULT (64ull << 20) /* when none is given */
#define ROCKS_MEMORY_LEAST (256ull << 10)

#define ROCKS_SMALL_FILE_BYTES_MAX (64u << 20) /* of a MANIFEST */

struct rocks_state { /* core_state.below */
    struct rocks_cf *cf;
    bool complete;    /* every row that lives is cached: what is not is nowhere */
    bool written;     /* the family holds something, or it is on its way */
    bool blind;              /* its updates need not look below (blind.h) */
    struct buf operand_head; /* then, for ever */
    bool deltas;      /* its cache may hold some: they go down before anything is read */
    bool to_load;     /* restored: its rows are read into the cache when it is opened */
};

struct rocks_backend {
    struct backend_core core; /* first */
    struct row_loader loader;
    struct row_sink sink;
    struct core_state *acting; /* whose rows loader and sink move */
    struct rocks_db *db;
    struct flusher *flusher;
    struct rocks_expire *expire;
    struct incremental *known;
    struct warmup *warmup;
    struct load *load;
    const char *local_dir, *db_dir; /* in core.arena */
    const struct keyed_handle *opening; /* whose files the database is being made of, or NULL */
    bool closing;
    struct keyed_memory *memory, *own_memory; /* own: not given by who opened it */
    uint64_t counted[MEMORY_PARTS];           /* of what the backend holds itself */
    uint64_t evictions;
    int64_t wait_ns; /* for a snapshot's flush to end */

    struct mutex publish_mutex; /* over known and expire: one snapshot's files at a time */
    struct mutex mutex;         /* over what follows: task and snapshot writers */
    struct cond flushed;
    bool epoch_closed; /* since a snapshot began, until its image of the database is taken: no other
                          write */
    struct err why;
    atomic_bool broken; /* a flush failed half-way: the database holds a part of an epoch; why is
                           set before it */
};
/* The closed epoch is flushed and the database's files are linked into a local directory by whoever
 * needs that first: the snapshot's writer, or the task, when it needs room. */
enum rocks_image { IMAGE_OPEN, IMAGE_UNDER_WAY, IMAGE_TAKEN, IMAGE_FAILED };
struct rocks_snapshot {
    struct keyed_snapshot base; /* first */
    uint64_t checkpoint_id;
    enum rocks_image image; /* under the backend's mutex */
    struct err image_err;
    bool deltas; /* the epoch may hold some: it must be written, whatever becomes of the snapshot */
    size_t state_count;
    struct core_state **states;
    int64_t now_ms; /* what has expired by then is not written */
    int64_t ttl_clock_ms; /* of the image */
};

static inline struct rocks_backend *rocks_of(struct keyed_backend *b)
{
    return (struct rocks_backend *)b;
}
static inline struct rocks_state *below_of(const struct core_state *s)
{
    return s->below;
}

/* rocks_backend.c */
/* Only the newest snapshot may write to the database. */
bool rocks_epoch_is_closed(struct rocks_backend *b);
enum rc rocks_attach(struct rocks_backend *b, struct core_state *s,
                     struct err *err); /* its family, made if need be */

enum rc rocks_usable(struct rocks_backend *b, struct err *err); /* the error of a broken one */
/* From now on every call fails with this; `what` failed. Any thread. */
void rocks_break(struct rocks_backend *b, enum rc rc, const char *what, const struct err *why);
/* A directory that need not outlive a crash: unlike fs_mkdirs nothing is synced, unless its parents
 * are missing too. */
enum rc rocks_scratch_dir(struct fs *fs, const char *path, struct err *err);
enum rc rocks_make_flusher(struct rocks_backend *b, struct err *err);
/* Rows of a state through the flusher, without what has expired by now_ms. */
enum rc rocks_flush_rows(struct rocks_backend *b, struct core_state *s, struct row_source *rows,
                         int64_t now_ms, struct err *err);

/* rocks_snapshot.c */
enum rc rocks_snapshot_begin(struct keyed_backend *b, uint64_t checkpoint_id,
                             struct keyed_snapshot **out, struct err *err);
bool rocks_may_snapshot(struct keyed_backend *backend);
enum rc rocks_snapshot_take(struct keyed_snapshot *s, struct err *err);
enum rc rocks_snapshot_write(struct keyed_snapshot *s, struct snapshot_target *target,
                             struct arena *arena, struct keyed_handle *out, struct err *err);
void rocks_snapshot_free(struct keyed_snapshot *s);
/* The image of the open snapshot, unless it is there; waits for whoever is at it. Any thread. */
enum rc rocks_take_image(struct rocks_backend *b, struct rocks_snapshot *s, struct err *err);

/* rocks_restore.c */
/* How a handle's file lies in a local directory. */
struct local_file {
    uint64_t device, inode;
    bool proven;
};
/* A read-only database of a handle's files. */
struct rocks_source {
    const struct keyed_handle *handle;
    struct rocks_db *db;
    struct local_file *files; /* one for each of the handle's */
};
/* Fills b->db, empty or from the handles of config, and starts the warm-up. */
enum rc rocks_restore(struct rocks_backend *b, const struct keyed_backend_config *config,
                      const struct rocks_config *rocks, struct err *err);
/* How SSTs come into a directory. Those that could not be linked are proven, whatever it is. */
enum rocks_bring {
    BRING_PROVEN, /* linked or copied, and proven */
    BRING_LATER,  /* those that are linked are not proven yet */
    /* The same by symbolic links, for a database that is only read: nothing of the snapshot changes,
     * link counts included. */
    BRING_LOOK,
    BRING_LOOK_PROVEN,
};
/* max_open_files: the backend's; -1: no limit. */
enum rc rocks_source_open(struct fs *fs, struct fan_out *fan, const struct keyed_handle *h,
                          const char *dir, enum rocks_bring how, int max_open_files, struct rocks_source *out,
                          struct err *err);
void rocks_source_close(struct rocks_source *s);
/* Keys of the groups; they lie in buf. */
struct rocks_bounds rocks_bounds_of(struct key_group_range r, uint32_t prefix_len, uint8_t buf[4]);
/* The database's file of this name is what `f` says. */
void rocks_take_known(struct rocks_backend *b, const char *local_name, const struct state_file *f,
                      bool proven);

/* rocks_rescale.c: files of KEYED_ROCKS handles into the empty database. taken[i] false: that
 * handle must be copied. */
enum rc rocks_rescale(struct rocks_backend *b, const struct keyed_backend_config *config,
                      bool later, bool *taken, struct err *err);

#endif
