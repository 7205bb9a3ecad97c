#include "backend/keygroup.h"

struct key_group_range key_group_range_meet(struct key_group_range a, struct key_group_range b)
{
    return (struct key_group_range){a.first > b.first ? a.first : b.first,
                                    a.last < b.last ? a.last : b.last};
}

/* ---- many rows at once ------------------------------------------------------------------------ */

/* The loops are compiled twice: with the wider registers that a processor may have they take a
 * third of the time. */
#if defined(__x86_64__)
#define WIDE __attribute__((target("avx2")))
#define HAS_WIDE __builtin_cpu_supports("avx2")
#else
#define WIDE
#define HAS_WIDE false
#endif
#define BODY static inline __attribute__((always_inline)) void

#define HASH_SLOTS(type_)                                                                          \
    for (uint32_t i = 0; i < n; i++) {                                                             \
        uint64_t v = ((const type_ *)values)[i];                                                   \
        h[i] = murmur_mix(murmur_mix(h[i], (uint32_t)v), (uint32_t)(v >> 32));                     \
    }

BODY slots_body(uint32_t *restrict h, uint32_t n, const void *restrict values, uint32_t width)
{
    switch (width) {
    case 1:
        HASH_SLOTS(uint8_t);
        break;
    case 2:
        HASH_SLOTS(uint16_t);
        break;
    case 4:
        HASH_SLOTS(uint32_t);
        break;
    default:
        HASH_SLOTS(uint64_t);
        break;
    }
}

/* For a count that is a power of two. */
BODY end_body(uint32_t *h, uint32_t n, uint32_t row_bytes, uint32_t mask)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t g = murmur_end(murmur_mix(0, murmur_end(h[i] ^ row_bytes)) ^ 4);
        uint32_t sign = 0u - (g >> 31);

        h[i] = ((g ^ sign) - sign) & mask;
    }
}

static WIDE void slots_wide(uint32_t *h, uint32_t n, const void *values, uint32_t width)
{
    slots_body(h, n, values, width);
}

static WIDE void end_wide(uint32_t *h, uint32_t n, uint32_t row_bytes, uint32_t mask)
{
    end_body(h, n, row_bytes, mask);
}

void keygroup_hash_begin(uint32_t *hashes, uint32_t n, uint32_t header_bytes)
{
    uint32_t h = 42;

    for (uint32_t i = 0; i < header_bytes; i += 4)
        h = murmur_mix(h, 0);
    for (uint32_t i = 0; i < n; i++)
        hashes[i] = h;
}

void keygroup_hash_slots(uint32_t *hashes, uint32_t n, const void *values, uint32_t width)
{
    ASSERT(width == 1 || width == 2 || width == 4 || width == 8);
    if (HAS_WIDE)
        slots_wide(hashes, n, values, width);
    else
        slots_body(hashes, n, values, width);
}

void keygroup_hash_end(uint32_t *hashes, uint32_t n, uint32_t row_bytes, uint32_t key_group_count)
{
    ASSERT(key_group_count >= 1 && key_group_count <= KEY_GROUP_COUNT_MAX);
    if ((key_group_count & (key_group_count - 1)) != 0) {
        for (uint32_t i = 0; i < n; i++)
            hashes[i] = keygroup_of_hash(murmur_end(hashes[i] ^ row_bytes), key_group_count);
    } else if (HAS_WIDE) {
        end_wide(hashes, n, row_bytes, key_group_count - 1);
    } else {
        end_body(hashes, n, row_bytes, key_group_count - 1);
    }
}

/* ---- ranges ---------------------------------------------------------------------------------- */

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

uint64_t keygroup_cut_bytes(uint32_t before, uint32_t after, uint32_t key_group_count)
{
    static const struct {
        uint32_t parallelism;
        uint64_t bytes;
    } borders[] = {{2, 1u << 20}, {3, 4u << 20}, {4, 4u << 20}, {8, 8u << 20}};

    for (size_t i = 0; i < ARRAY_LEN(borders); i++) { /* no promise about groups: any file's rows */
        if ((uint64_t)before * borders[i].parallelism / key_group_count !=
            (uint64_t)after * borders[i].parallelism / key_group_count)
            return borders[i].bytes;
    }
    return KEYGROUP_CUT_BYTES;
}
