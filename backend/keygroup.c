#include "backend/keygroup.h"

struct key_group_range key_group_range_meet(struct key_group_range a, struct key_group_range b)
{
    return (struct key_group_range){a.first > b.first ? a.first : b.first,
                                    a.last < b.last ? a.last : b.last};
}

static inline uint32_t rotl32(uint32_t x, int n)
{
    return (x << n) | (x >> (32 - n));
}

static inline uint32_t mix_k(uint32_t k)
{
    return rotl32(k * 0xcc9e2d51u, 15) * 0x1b873593u;
}

static inline uint32_t mix_h(uint32_t h, uint32_t k)
{
    return rotl32(h ^ k, 13) * 5 + 0xe6546b64u;
}

static inline uint32_t avalanche(uint32_t h)
{
    h ^= h >> 16;
    h *= 0x85ebca6bu;
    h ^= h >> 13;
    h *= 0xc2b2ae35u;
    return h ^ (h >> 16);
}

uint32_t keygroup_of_hash(uint32_t java_hash, uint32_t key_group_count)
{
    uint32_t h = avalanche(mix_h(0, mix_k(java_hash)) ^ 4);

    ASSERT(key_group_count >= 1 && key_group_count <= KEY_GROUP_COUNT_MAX);
    if (h == 0x80000000u)
        h = 0; /* the one int without a positive counterpart */
    else if (h > 0x80000000u)
        h = 0u - h;
    if ((key_group_count & (key_group_count - 1)) == 0)
        return h & (key_group_count - 1); /* the usual counts: no division */
    return h % key_group_count;
}

uint32_t keygroup_row_hash(struct bytes binary_row)
{
    uint32_t h = 42;

    ASSERT(binary_row.len % 4 == 0);
    for (size_t i = 0; i < binary_row.len; i += 4)
        h = mix_h(h, mix_k(get_le32(binary_row.data + i)));
    return avalanche(h ^ (uint32_t)binary_row.len);
}

uint32_t keygroup_owner(uint32_t group, uint32_t parallelism, uint32_t key_group_count)
{
    ASSERT(group < key_group_count && parallelism >= 1 && parallelism <= key_group_count);
    return group * parallelism / key_group_count; /* < 2^30: no overflow */
}

struct key_group_range keygroup_range_of(uint32_t subtask_index, uint32_t parallelism,
                                         uint32_t key_group_count)
{
    ASSERT(subtask_index < parallelism && parallelism <= key_group_count);
    return (struct key_group_range){
        (subtask_index * key_group_count + parallelism - 1) / parallelism,
        ((subtask_index + 1) * key_group_count - 1) / parallelism,
    };
}

uint32_t keygroup_default_count(uint32_t parallelism)
{
    uint32_t want = parallelism + parallelism / 2;
    uint32_t count = KEY_GROUP_COUNT_MIN_DEFAULT;

    while (count < want && count < KEY_GROUP_COUNT_MAX)
        count *= 2;
    return count;
}

void keygroup_put_prefix(uint8_t *out, uint32_t len, uint32_t group)
{
    ASSERT(len == 1 ? group <= 0xFF : len == 2 && group <= 0xFFFF);
    if (len == 1)
        out[0] = (uint8_t)group;
    else
        put_be16(out, (uint16_t)group);
}
