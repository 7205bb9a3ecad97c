/* state_priv.h - what the kinds of state share; for state*.c only. */
#ifndef VARVE_BACKEND_STATE_PRIV_H
#define VARVE_BACKEND_STATE_PRIV_H

#include "backend/keyed_core.h"
#include "backend/state.h"

#define LIST_DELIMITER ','

struct state {
    struct keyed_state *rows;
    struct backend_core *core;
    const struct core_state *known; /* kind, types, sizes */
    struct state_functions functions;
    enum ttl_update ttl_update;
    enum ttl_visibility ttl_visibility;
    size_t value_bytes_max;
    uint32_t flag_bytes; /* in front of each stored value: a map's null flag ... */
    uint32_t head_bytes; /* ... and the time */

    /* Scratch of one call. */
    struct bytes *values; /* cap */
    uint8_t *marks;       /* cap */
    uint32_t cap;
    struct buf data;
    struct buf work;
    struct key_builder joined, changed;
    struct bytes *changed_values; /* of `changed` */
    uint32_t changed_cap;
};

static inline const struct state_desc *desc_of(const struct state *s)
{
    return &s->known->desc;
}
static inline bool has_ttl(const struct state *s)
{
    return s->known->desc.ttl_ms != 0;
}
static inline bool is_expired(const struct state *s, int64_t time_ms, int64_t now_ms)
{
    return ttl_expired(time_ms, s->known->desc.ttl_ms, now_ms);
}
static inline bool shows_expired(const struct state *s)
{
    return s->ttl_visibility == TTL_RETURN_EXPIRED_IF_NOT_CLEANED_UP;
}
static inline bool renews_on_read(const struct state *s)
{
    return has_ttl(s) && s->ttl_update == TTL_ON_READ_AND_WRITE;
}
/* The time of this call; 0 without time-to-live. */
int64_t state_now(struct state *s);
/* RC_INVALID "state x is a MAP state: no list operation". */
MUST_USE enum rc state_check_kind(const struct state *s, enum state_kind kind, const char *what,
                                  struct err *err);
void state_reserve(struct state *s, uint32_t count);
/* `list x, key group 7, key "a": 268435456 bytes and 1024 more exceed ...`. */
enum rc state_limit_error(const struct state *s, struct bytes key, size_t bytes, struct err *err);

/* Rows as they are stored, of every kind but LIST: the value behind flag and time. */
enum row_sight { ROW_NONE, ROW_EXPIRED, ROW_VALUE, ROW_NULL };
/* Takes a stored row apart. RC_CORRUPT when it is too short. */
MUST_USE enum rc row_look(const struct state *s, struct bytes stored, int64_t now_ms,
                          enum row_sight *sight, struct bytes *value, struct err *err);
/* Reads as a reader of the state does: what has expired is removed, what is read renewed. */
MUST_USE enum rc rows_get(struct state *s, const struct key_batch *keys, struct bytes *values,
                          uint8_t *present, struct err *err);
/* values[i].data == NULL: a null in a map, else the row is deleted. */
MUST_USE enum rc rows_put(struct state *s, const struct key_batch *keys,
                          const struct bytes *values, struct err *err);
MUST_USE enum rc rows_put_at(struct state *s, const struct key_batch *keys,
                             const struct bytes *values, int64_t time_ms, struct err *err);
/* Rows to be put or deleted together at the end of a call. */
void changed_clear(struct state *s);
MUST_USE enum rc changed_add(struct state *s, struct bytes key, struct bytes stored,
                             struct err *err);

/* ttl of a stored list: whether an element is left to be seen. */
MUST_USE enum rc list_look(struct state *s, struct bytes stored, int64_t now_ms, bool *any,
                           struct err *err);
/* Removes all entries of one map. */
MUST_USE enum rc map_clear(struct state *s, struct bytes key, struct err *err);

#endif
