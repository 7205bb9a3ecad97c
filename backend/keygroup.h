/* keygroup.h - key hash -> key group -> subtask; ranges and their intersection on rescale (C1).
 * After: KeyGroupRangeAssignment, MathUtils.murmurHash (flink-runtime). Pure; any thread. */
#ifndef VARVE_BACKEND_KEYGROUP_H
#define VARVE_BACKEND_KEYGROUP_H

#include "base/bytes.h"

#define KEY_GROUP_COUNT_MAX 32768u /* Flink's largest maxParallelism */
#define KEY_GROUP_COUNT_MIN_DEFAULT 128u

/* Inclusive on both sides; empty when first > last. */
struct key_group_range {
    uint32_t first, last;
};
static inline bool key_group_range_has(struct key_group_range r, uint32_t group)
{
    return group >= r.first && group <= r.last;
}
struct key_group_range key_group_range_meet(struct key_group_range a, struct key_group_range b);

/* Group of a Java hashCode. */
uint32_t keygroup_of_hash(uint32_t java_hash, uint32_t key_group_count);
/* Hash of a SQL key: MurmurHash3 x86-32, seed 42, over the binary row (a multiple of 8 bytes). */
uint32_t keygroup_row_hash(struct bytes binary_row);
uint32_t keygroup_owner(uint32_t group, uint32_t parallelism, uint32_t key_group_count);
struct key_group_range keygroup_range_of(uint32_t subtask_index, uint32_t parallelism,
                                         uint32_t key_group_count);
/* Flink's default maxParallelism: round up to a power of two of 1.5 x parallelism, 128..32768. */
uint32_t keygroup_default_count(uint32_t parallelism);
/* Bytes of the key-group prefix: 1 up to 128 groups, else 2. */
static inline uint32_t keygroup_prefix_len(uint32_t key_group_count)
{
    return key_group_count <= 128 ? 1 : 2;
}
/* Big-endian prefix of `len` bytes. */
void keygroup_put_prefix(uint8_t *out, uint32_t len, uint32_t group);
static inline uint32_t keygroup_get_prefix(const uint8_t *key, uint32_t len)
{
    return len == 1 ? key[0] : get_be16(key);
}

#endif
