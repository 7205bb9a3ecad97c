/* keyed_core.h - what both implementations of keyed_backend.h share: the table of states, their
 * caches, the checks on keys. For heap_backend.c, rocks_*.c, state*.c and timers.c only.
 *
 * Thread: the task's; the list of states that a snapshot writes is taken when it begins. */
#ifndef VARVE_BACKEND_KEYED_CORE_H
#define VARVE_BACKEND_KEYED_CORE_H

#include "backend/row_cache.h"
#include "backend/ttl.h"
#include "base/arena.h"
#include "base/thread.h"

#define KEYED_STATES_MAX 4096u

struct core_state {
    struct keyed_state base; /* first */
    uint32_t id;             /* index in core->states */
    struct state_desc desc;  /* strings in core->arena */
    enum key_namespace ns;
    struct row_cache *cache;
    uint32_t cursors; /* open: its rows must hold still */
    void *below;      /* of the implementation: its place in the database */
    /* With time-to-live: how its values lie, once the job has opened it. Before that nothing
     * expires: the job's time-to-live may be longer than the restored one's. ttl_ms 0: none. */
    struct ttl_shape ttl;
    struct buf trimmed; /* scratch of core_append_rules */
    bool opened;        /* by the job, not only restored */
    uint64_t changed_rows; /* values that were rewritten when it was restored */
};
struct backend_core {
    struct keyed_backend base; /* first */
    const struct env *env;
    struct key_group_range range;
    uint32_t key_group_count, prefix_len;
    const char *name, *backend_id; /* in arena */
    struct arena *arena;
    struct row_group *rows;
    struct ttl_clock ttl;
    uint32_t slab_bytes;
    struct core_state **states;
    size_t state_count;
    size_t change_count; /* of the restore; only while the backend is opened */
    const struct state_change *changes;
    const atomic_bool *stop;         /* the restore is given up; only while the backend is opened */
    struct keyed_snapshot *snapshot; /* the newest that is not freed, or NULL */
    bool restoring;                  /* the backend is being opened */
    struct mutex write_mutex;        /* over writes */
    struct cond write_ended;
    uint32_t writes; /* keyed_snapshot_write that are under way */
};

void core_init(struct backend_core *core, const struct keyed_backend_ops *ops,
               const struct keyed_backend_config *config, enum row_mode mode, uint32_t slab_bytes);
void core_release(struct backend_core *core);
/* Around keyed_snapshot_write, on its thread; and closing waits for it. */
void core_write_begins(struct backend_core *core);
void core_write_ends(struct backend_core *core);
void core_wait_write(struct backend_core *core); /* and frees the newest snapshot */
static inline struct backend_core *core_of(struct keyed_backend *b)
{
    return (struct backend_core *)b;
}
static inline struct core_state *core_state_of(struct keyed_state *s)
{
    return (struct core_state *)s;
}

struct core_state *core_find(const struct backend_core *core, const char *name); /* NULL: unknown */
/* Adds a state of that description (copied) with an empty cache. RC_UNSUPPORTED, RC_LIMIT,
 * RC_INVALID. */
MUST_USE enum rc core_add(struct backend_core *core, const struct state_desc *desc,
                          struct core_state **out, struct err *err);
struct row_cache *core_new_cache(struct backend_core *core, const struct core_state *s);
/* keyed_state_open without the database: the known state, checked against desc, or a new one. *was:
 * how its values lie; when that differs the implementation rewrites them. core_opened then takes
 * over the job's time-to-live. */
MUST_USE enum rc core_open(struct backend_core *core, const struct state_desc *desc,
                           struct core_state **out, struct ttl_shape *was, struct err *err);
void core_opened(struct core_state *s, const struct state_desc *desc);
bool core_shape_differs(const struct ttl_shape *was, const struct state_desc *desc);
/* Turns rows that lie as `was` into rows of s->desc, their values in `data`; what has expired
 * becomes a tombstone. */
MUST_USE enum rc core_convert_rows(struct core_state *s, const struct ttl_shape *was,
                                   int64_t now_ms, struct row_view *rows, uint32_t count,
                                   struct buf *data, struct err *err);
/* The clock for a snapshot or an eviction that leaves out what has expired; INT64_MIN: no state has
 * a time-to-live. Task's thread. */
int64_t core_ttl_now(struct backend_core *core);
/* Whether anything of a stored value is left at the time the clock said last. */
bool core_is_gone(void *state, struct bytes value);
/* What a list may grow to, and how it is trimmed; hold as long as the state. */
struct row_append_rules core_append_rules(struct core_state *s, size_t bytes_max);
/* Every key's group in the backend's range: asserted (C1). */
void core_check_keys(const struct backend_core *core, const struct key_batch *keys);
/* RC_CORRUPT: a stored value of another size than the state's. */
MUST_USE enum rc core_check_value(const struct core_state *s, struct bytes value, struct err *err);
/* RC_CANCELLED: whoever opens the backend has given up. */
MUST_USE enum rc core_go_on(const struct backend_core *core, struct err *err);
/* Deep copies of all descriptions. */
struct state_desc *core_describe(const struct backend_core *core, size_t state_count,
                                 struct arena *arena);
/* The key groups of a handle that may have entries for the backend: of another count, all. */
struct key_group_range core_range_of(const struct backend_core *core, const struct keyed_handle *h);
/* Handles of one restore: key-group counts equal, no overlap inside `range`. The clock of
 * time-to-live goes on from the latest of them. */
MUST_USE enum rc core_check_handles(struct backend_core *core,
                                    const struct keyed_backend_config *config, struct err *err);
/* What becomes of a restored state; NULL: it is taken as it is. */
const struct state_change *core_change_of(const struct backend_core *core, const char *name);
/* Appends a restored value as it is from now on. RC_CORRUPT: it has another size than its state. */
MUST_USE enum rc core_convert(struct core_state *s, const struct state_change *change,
                              struct bytes from, struct buf *out, struct err *err);
/* Registers the states of a handle; states[i] = our state of the handle's state i, in `arena`; NULL:
 * it is dropped. */
MUST_USE enum rc core_restore_states(struct backend_core *core, const struct keyed_handle *h,
                                     const char *what, struct arena *arena,
                                     struct core_state ***states, struct err *err);
/* Puts every entry of a handle that lies in the backend's range through keyed_put; of either kind.
 */
MUST_USE enum rc core_restore_entries(struct backend_core *core,
                                      const struct keyed_backend_config *config,
                                      const struct keyed_handle *h, struct err *err);

MUST_USE enum rc heap_backend_open(const struct keyed_backend_config *config,
                                   struct keyed_backend **out, struct err *err);
MUST_USE enum rc rocks_backend_open(const struct keyed_backend_config *config,
                                    struct keyed_backend **out, struct err *err);

#endif
