/* hot_keys.h - which keys and key groups of a grouping operator get most of its rows (B43).
 *
 * About one row in a thousand is looked at. Its key goes into a sketch of 64 keys, "space saving": the
 * rarest makes room for a new one, which takes over its count as a possible error. So a key with more
 * than 1/64 of the rows is always there, and count less error is never more than what was seen of it:
 * only that is shown. Old rows count for less and less.
 *
 * Thread: the task's; a hot_view is a plain copy. */
#ifndef VARVE_JOB_OPERATOR_HOT_KEYS_H
#define VARVE_JOB_OPERATOR_HOT_KEYS_H

#include "base/json.h"
#include "base/rng.h"
#include "job/operator/group_key.h"

#define HOT_KEYS 64u
#define HOT_STRIDE 1024u /* rows between two that are looked at, on average */
#define HOT_SHOWN 5u
#define HOT_TEXT_MAX 120u

struct hot_entry {
    uint64_t hash;
    uint32_t group, count, error;
    struct buf key; /* the composite key as it was first seen */
};
struct hot_keys {
    const struct group_key *key;
    struct rng rng;
    uint32_t skip; /* rows before the next one that is looked at */
    uint32_t samples, used;
    uint32_t *groups; /* samples by key group */
    struct hot_entry entries[HOT_KEYS];
};

/* The most frequent, the first first. Shares are of all rows, 0 to 1. */
struct hot_view {
    uint32_t samples; /* 0: nothing is known */
    uint32_t key_count, group_count;
    struct hot_key {
        double share;
        uint32_t group;
        char text[HOT_TEXT_MAX]; /* "(k = a)" */
    } keys[HOT_SHOWN];
    struct hot_group {
        double share;
        uint32_t group;
    } groups[HOT_SHOWN];
};

/* `key` is borrowed. */
void hot_keys_init(struct hot_keys *h, const struct group_key *key);
void hot_keys_release(struct hot_keys *h);
void hot_keys_sample(struct hot_keys *h, const struct key_batch *keys);
/* One key a row. */
static inline void hot_keys_see(struct hot_keys *h, const struct key_batch *keys)
{
    if (h->skip < keys->count)
        hot_keys_sample(h, keys);
    else
        h->skip -= keys->count;
}
void hot_keys_view(const struct hot_keys *h, struct hot_view *out);

/* A subtask's view joins those of its vertex, which have other keys: `rows` of the vertex's `all` were
 * the subtask's. */
void hot_view_add(struct hot_view *to, const struct hot_view *from, uint64_t rows, uint64_t all);
/* What somebody has to hear of unasked: a key with 5 % of the rows; a key group with as much and, its
 * hottest key apart, with twice its even share of `groups`. NULL: there is none. */
const struct hot_key *hot_view_key(const struct hot_view *v);
const struct hot_group *hot_view_group(const struct hot_view *v, uint32_t groups);
/* {"samples", "keys": [{"key", "key-group", "share"}], "key-groups": [{"key-group", "share"}]} */
json_t *hot_view_json(const struct hot_view *v);

#endif
