/* flink_key.h - composite keys of Flink's keyed state: as RocksDB and canonical savepoints have them.
 *
 *     key group | key | [length of key] | namespace | [length of namespace] | map key
 *
 * The lengths are there when neither key nor namespace has a fixed one. A timer is the key group and
 * what its serializer writes. No I/O; thread: any. After: CompositeKeySerializationUtils.
 */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_KEY_H
#define VARVE_CHECKPOINT_FLINK_FLINK_KEY_H

#include "checkpoint/flink/flink_states.h"
#include "checkpoint/flink/flink_value.h"

struct flink_key {
    uint32_t key_group;
    struct bytes key_bytes; /* of the key alone */
    size_t owner_len;       /* key group, key and namespace: what entries of one map share */
    struct flink_value key, namespace, user_key;
    int64_t timer_ms; /* of timers */
    bool has_user_key;
    bool opaque; /* of a key that cannot be read, `key` is all of it and the rest is not told apart */
};
/* Whether the two lengths are written. */
bool flink_key_is_ambiguous(const struct flink_serializer *key,
                            const struct flink_serializer *namespace);
/* RC_CORRUPT when it does not end where its bytes do. */
MUST_USE enum rc flink_key_read(const struct flink_states *states, const struct flink_state *s,
                                uint32_t prefix_len, struct bytes composite, struct arena *arena,
                                struct flink_key *out, struct err *err);
/* Of a key that is a row of SQL, by its bytes; false: they are none. */
bool flink_key_row_hash(const struct flink_key *key, uint32_t *hash);
/* Appends group, key and namespace, in that form. */
void flink_key_put(const struct flink_states *states, const struct flink_state *s,
                   uint32_t prefix_len, uint32_t key_group, struct bytes key,
                   struct bytes namespace, struct buf *out);

/* The value of an entry. value: of a list a list of its elements. *last_access_ms: of a time-to-live
 * (INT64_MIN: there is none, or each element has its own). */
struct flink_entry {
    struct flink_value value;
    bool has_last_access;
    int64_t last_access_ms;
};
MUST_USE enum rc flink_entry_read(const struct flink_state *s, struct bytes value,
                                  struct arena *arena, struct flink_entry *out, struct err *err);

#endif
