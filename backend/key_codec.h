/* key_codec.h - composite keys of keyed state, byte for byte as Flink's RocksDB backend writes
 * them:
 *
 *     key-group prefix | key | [length of key] | namespace | [length of namespace] | map key
 *
 * A SQL key is its binary row behind an i32 size, big-endian. Namespaces: VOID is one byte 0;
 * BIGINT (a window's end) is 8 bytes, big-endian; BYTES (of any size) stands behind an i32 size as
 * a byte[] does, and both lengths are written behind the parts, since then key and namespace both
 * vary in size. The map key is what is left (STATE_MAP only). No key and namespace is the beginning
 * of another.
 *
 * A key_builder makes the keys of a batch in one block that is kept between batches: nothing is
 * allocated per key. Thread: one owner. After: CompositeKeySerializationUtils (flink-runtime),
 * RowDataSerializer (flink-table).
 */
#ifndef VARVE_BACKEND_KEY_CODEC_H
#define VARVE_BACKEND_KEY_CODEC_H

#include "backend/keyed_backend.h"

#define KEY_BATCH_BYTES_MAX (1u << 30) /* keys of one batch together */

enum key_namespace { KEY_NS_VOID, KEY_NS_BIGINT, KEY_NS_BYTES };
/* "VOID", "BIGINT" or "BYTES" as in state_desc.namespace_type; RC_UNSUPPORTED names another. */
MUST_USE enum rc key_namespace_parse(const char *type, enum key_namespace *out, struct err *err);

struct key_builder {
    uint32_t key_group_count, prefix_len;
    enum key_namespace ns;
    struct buf data;
    uint32_t *offsets; /* cap + 1 */
    uint32_t count, cap;
};
void key_builder_init(struct key_builder *b, uint32_t key_group_count, enum key_namespace ns);
void key_builder_release(struct key_builder *b);
void key_builder_clear(struct key_builder *b); /* no keys; memory kept */

/* Group of a SQL key; what key_builder_add is given. */
static inline uint32_t key_group_of_row(struct bytes row, uint32_t key_group_count)
{
    return keygroup_of_hash(keygroup_row_hash(row), key_group_count);
}

/* Append one key. `window` counts only for KEY_NS_BIGINT, `user_key` is empty unless the state is a
 * map. RC_LIMIT: the batch's keys would pass KEY_BATCH_BYTES_MAX; nothing is appended then. */
MUST_USE enum rc key_builder_add(struct key_builder *b, uint32_t group, struct bytes row,
                                 int64_t window, struct bytes user_key, struct err *err);
/* The same with a namespace of any size (KEY_NS_BYTES). */
MUST_USE enum rc key_builder_add_ns(struct key_builder *b, uint32_t group, struct bytes row,
                                    struct bytes ns, struct bytes user_key, struct err *err);
/* A whole composite key made elsewhere, e.g. by a scan. */
MUST_USE enum rc key_builder_add_raw(struct key_builder *b, struct bytes key, struct err *err);
/* The two parts of one: a key without a map key, and its map key. */
MUST_USE enum rc key_builder_add_joined(struct key_builder *b, struct bytes owner,
                                        struct bytes user_key, struct err *err);
/* All keys so far, borrowed until the next change. */
struct key_batch key_builder_batch(const struct key_builder *b);

/* Parts of a composite key, borrowed from it. */
struct key_parts {
    uint32_t group;
    struct bytes row;      /* binary row of the key; not looked into: binary_row_check */
    struct bytes ns;       /* VOID: its one byte; BIGINT: 8; BYTES: without its size */
    int64_t window;        /* BIGINT, else 0 */
    struct bytes user_key; /* the rest */
};
/* Takes a key apart; every length is checked. RC_CORRUPT names the part that does not fit. */
MUST_USE enum rc key_split(struct bytes key, uint32_t key_group_count, enum key_namespace ns,
                           struct key_parts *out, struct err *err);
/* Length of prefix | key | namespace at the start of a key: entries of a map state that share it
 * belong to one map. 0 when the key has another shape (a map of another program); no error. */
uint32_t key_owner_len(struct bytes key, uint32_t prefix_len, enum key_namespace ns);
/* For messages: `key group 7, key "alice", namespace 1000`; bytes that are no text in hex, long
 * ones cut. Appended to `out`. */
void key_text(struct bytes key, uint32_t key_group_count, enum key_namespace ns, struct buf *out);

/* Smallest string above all that start with `prefix`, appended to `out`; nothing: there is none. */
void key_prefix_end(struct bytes prefix, struct buf *out);

/* i64 so that bytewise order is numeric order: sign bit flipped, big-endian (timers). */
static inline void key_put_sortable(uint8_t *out, int64_t v)
{
    put_be64(out, (uint64_t)v ^ (1ull << 63));
}
static inline int64_t key_get_sortable(const uint8_t *p)
{
    return (int64_t)(get_be64(p) ^ (1ull << 63));
}

#endif
