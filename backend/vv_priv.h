/* vv_priv.h - inside the objects of varve_state.h; for vv_*.c only. */
#ifndef VARVE_BACKEND_VV_PRIV_H
#define VARVE_BACKEND_VV_PRIV_H

#include "backend/keyed_memory.h"
#include "backend/state.h"
#include "backend/timers.h"
#include "base/api_error.h"
#include "base/arena.h"
#include "base/scratch.h"
#include "base/thread.h"

#include "backend/varve_state.h"

#include <stdatomic.h>

struct vv_store {
    struct env env;
    char id[SCRATCH_ID_LEN + 1];
    struct key_group_range range;
    uint32_t group_count, prefix_len;
    struct keyed_backend *backend;
    vv_memory *memory;     /* entered; NULL: hashmap */
    char dir[FS_PATH_MAX]; /* scratch, "" for none */
    struct fs_file *dir_lock;
    vv_state *states;      /* list */
    vv_timers *timers;     /* list */
    vv_snapshot *snapshot; /* the open one, or NULL */
};
struct vv_state {
    vv_store *store;
    vv_state *next;
    struct keyed_state *rows;
    struct state *typed; /* NULL: a reducing or aggregating state without functions */
    const char *name;
    enum state_kind kind;
    uint32_t fixed_bytes; /* of a value, element, accumulator; 0: they vary */
    uint32_t row_bytes;   /* of every stored row; 0: they vary */
    bool has_ttl;
    vv_functions functions;
    vv_scan *scans;  /* open live ones: the state holds still for them */
    vv_scan *copies; /* open copies */
};

/* Public plain values are handed to the engine as they are. */
_Static_assert(sizeof(vv_bytes) == sizeof(struct bytes) &&
                   offsetof(vv_bytes, data) == offsetof(struct bytes, data) &&
                   offsetof(vv_bytes, len) == offsetof(struct bytes, len),
               "vv_bytes is struct bytes");
static inline struct bytes bytes_in(vv_bytes b)
{
    return bytes_of(b.data, b.len);
}
static inline vv_bytes bytes_out(struct bytes b)
{
    return (vv_bytes){b.data, b.len};
}
static inline struct key_batch batch_of(const vv_keys *k)
{
    return (struct key_batch){k->count, k->data, k->offsets};
}

/* The body of a public function: the answer of `call`, which uses `err`. */
#define ANSWER(call)                                                                               \
    do {                                                                                           \
        struct err err_, *err = &err_;                                                             \
        enum rc answer_;                                                                           \
                                                                                                   \
        err_.rc = RC_OK;                                                                           \
        err_.msg[0] = '\0'; /* the rest is not looked at: 2 KB a call */                           \
        answer_ = (call);                                                                          \
        if (answer_ == RC_INVALID)                                                                 \
            err_wrap(err, answer_, "%s", __func__);                                                \
        return api_answer(answer_, err, error);                                                    \
    } while (0)
#define CHECK_NULL(arg)                                                                            \
    do {                                                                                           \
        if ((arg) == NULL)                                                                         \
            return err_set(err, RC_INVALID, "%s is NULL", #arg);                                   \
    } while (0)
/* Every key of a batch that the engine may be given (it would abort). */
MUST_USE enum rc check_keys(const vv_store *store, const vv_keys *keys, struct err *err);
/* ... and nothing that must hold still while the state is changed. */
MUST_USE enum rc check_change(const vv_state *s, const vv_keys *keys, struct err *err);

/* A batch of one key. */
struct one_key {
    vv_keys keys;
    uint32_t offsets[2];
};
MUST_USE enum rc one_key(vv_bytes key, struct one_key *one, struct err *err);

/* vv_store.c */
void store_env(struct env *env); /* the real one; its log is to be freed */
MUST_USE enum rc namespace_in(vv_namespace ns, const char **type, struct err *err);
void desc_out(const struct state_desc *d, vv_state_desc *out);

/* vv_memory.c */
MUST_USE enum rc memory_own(uint64_t total_bytes, vv_memory **out, struct err *err);
MUST_USE enum rc memory_enter(vv_memory *m, struct err *err); /* for one store; leave ends it */
void memory_leave(vv_memory *m);
struct keyed_memory *memory_engine(const vv_memory *m);

/* vv_kinds.c */
MUST_USE enum rc state_make(vv_state *s, const struct state_desc *desc, const vv_state_desc *given,
                            struct err *err); /* fills rows, typed, functions */

/* vv_timers.c */
void timers_drop(vv_timers *timers); /* the first of its store */

/* vv_handle.c */
struct vv_handle {
    struct arena *arena;
    struct keyed_handle h;
};
vv_handle *handle_new(void); /* empty, with an arena */
void file_out(const struct state_file *f, vv_file *out);

/* vv_snapshot.c */
void snapshot_detach(vv_snapshot *snapshot); /* its store is about to close */
MUST_USE enum rc snapshot_write(vv_snapshot *snapshot, struct snapshot_target *target,
                                vv_handle **out, struct err *err);
const atomic_bool *snapshot_cancel_flag(const vv_snapshot *snapshot);

#endif
