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
    void *below; /* of the implementation: its place in the database */
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
    struct keyed_snapshot *snapshot; /* the open one, or NULL */
    struct mutex write_mutex;        /* over write_runs */
    struct cond write_ended;
    bool write_runs; /* a keyed_snapshot_write is under way */
};

void core_init(struct backend_core *core, const struct keyed_backend_ops *ops,
               const struct keyed_backend_config *config, enum row_mode mode, uint32_t slab_bytes);
void core_release(struct backend_core *core);
/* Around keyed_snapshot_write, on its thread; and closing waits for it. */
void core_write_begins(struct backend_core *core);
void core_write_ends(struct backend_core *core);
void core_wait_write(struct backend_core *core); /* and frees the open snapshot */
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
/* keyed_state_open without the database: the known state, checked against desc, or a new one
 * (*is_new). */
MUST_USE enum rc core_open(struct backend_core *core, const struct state_desc *desc,
                           struct core_state **out, bool *is_new, struct err *err);
/* Every key's group in the backend's range: asserted (C1). */
void core_check_keys(const struct backend_core *core, const struct key_batch *keys);
/* Deep copies of all descriptions. */
struct state_desc *core_describe(const struct backend_core *core, size_t state_count,
                                 struct arena *arena);
/* Handles of one restore: key-group counts equal, no overlap inside `range`. */
MUST_USE enum rc core_check_handles(const struct backend_core *core,
                                    const struct keyed_backend_config *config, struct err *err);
/* Registers the states of a handle; ids[i] = our state of the handle's state i, in `arena`. */
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
