/* hash_inline.h - hash64_seed compiled into its caller, for loops over short keys: the call and its
 * dispatch on length cost more than the hash. Gives the same values. Thread: any. */
#ifndef VARVE_BASE_HASH_INLINE_H
#define VARVE_BASE_HASH_INLINE_H

#include "base/bytes.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static inline uint64_t hash64_seed_inline(struct bytes b, uint64_t seed)
{
    return XXH3_64bits_withSeed(b.data, b.len, seed);
}

#endif
