/* rng.h - seeded random numbers and ids. Not for secrets. One owner a generator, no lock. */
#ifndef VARVE_BASE_RNG_H
#define VARVE_BASE_RNG_H

#include "base/status.h"

struct rng {
    uint64_t s[4]; /* xoshiro256** */
};
void rng_seed(struct rng *r, uint64_t seed); /* same seed, same numbers, on every machine */
uint64_t rng_seed_from_os(void);             /* getrandom */
uint64_t rng_u64(struct rng *r);
uint64_t rng_below(struct rng *r, uint64_t bound); /* uniform in [0, bound); bound >= 1 */
double rng_double(struct rng *r);                  /* [0, 1) */
/* `hex_digits` lower-case hex digits and a NUL into out. */
void rng_hex(struct rng *r, char *out, size_t hex_digits);
#define UUID_LEN 36
void rng_uuid(struct rng *r, char out[UUID_LEN + 1]); /* version 4 */

/* The mixer of splitmix64: a good 64-bit hash of a 64-bit number. */
static inline uint64_t splitmix64(uint64_t x)
{
    uint64_t z = x + 0x9E3779B97F4A7C15ULL;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}

#endif
