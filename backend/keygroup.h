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

/* MurmurHash3 x86-32 by parts, for the two functions below. */
static inline uint32_t murmur_rotl(uint32_t x, int n)
{
    return (x << n) | (x >> (32 - n));
}
static inline uint32_t murmur_mix(uint32_t h, uint32_t word)
{
    return murmur_rotl(h ^ (murmur_rotl(word * 0xcc9e2d51u, 15) * 0x1b873593u), 13) * 5 +
           0xe6546b64u;
}
static inline uint32_t murmur_end(uint32_t h)
{
    h = (h ^ (h >> 16)) * 0x85ebca6bu;
    h = (h ^ (h >> 13)) * 0xc2b2ae35u;
    return h ^ (h >> 16);
}

/* Group of a Java hashCode. key_group_count: 1..KEY_GROUP_COUNT_MAX. Without a branch on the hash:
 * half of them are negative, in no order. */
static inline uint32_t keygroup_of_hash(uint32_t java_hash, uint32_t key_group_count)
{
    uint32_t h = murmur_end(murmur_mix(0, java_hash) ^ 4);
    uint32_t sign = 0u - (h >> 31);
    uint32_t positive = ((h ^ sign) - sign) & 0x7fffffffu; /* the smallest int becomes 0 */

    ASSERT(key_group_count >= 1 && key_group_count <= KEY_GROUP_COUNT_MAX);
    if ((key_group_count & (key_group_count - 1)) == 0)
        return positive & (key_group_count - 1); /* the usual counts: no division */
    return positive % key_group_count;
}
/* Hash of a SQL key: MurmurHash3 x86-32, seed 42, over the binary row (a multiple of 8 bytes). */
static inline uint32_t keygroup_row_hash(struct bytes binary_row)
{
    uint32_t h = 42;

    ASSERT(binary_row.len % 4 == 0);
    for (size_t i = 0; i < binary_row.len; i += 4)
        h = murmur_mix(h, get_le32(binary_row.data + i));
    return murmur_end(h ^ (uint32_t)binary_row.len);
}
/* The same for many rows without nulls at once, column by column: begin (the header is zero bytes),
 * each column's slots in order (values of 1, 2, 4 or 8 bytes, zero-extended to a slot), end, which
 * makes hashes[i] the key group of row i. row_bytes: header and slots. */
void keygroup_hash_begin(uint32_t *hashes, uint32_t n, uint32_t header_bytes);
void keygroup_hash_slots(uint32_t *hashes, uint32_t n, const void *values, uint32_t width);
void keygroup_hash_end(uint32_t *hashes, uint32_t n, uint32_t row_bytes, uint32_t key_group_count);
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
/* Where files of sorted rows end, so that few lie across the border of two subtasks after a rescale:
 * bytes from which on a file ends between rows of the groups before < after. Borders that a
 * parallelism of 2, 3, 4 or 8 has need less than others. */
#define KEYGROUP_CUT_BYTES (16u << 20)
uint64_t keygroup_cut_bytes(uint32_t before, uint32_t after, uint32_t key_group_count);
/* Big-endian prefix of `len` bytes. */
void keygroup_put_prefix(uint8_t *out, uint32_t len, uint32_t group);
static inline uint32_t keygroup_get_prefix(const uint8_t *key, uint32_t len)
{
    return len == 1 ? key[0] : get_be16(key);
}

#endif
