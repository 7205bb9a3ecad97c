/* rng.c - see rng.h. Generator: xoshiro256** of Blackman and Vigna (public domain), seeded by
 * splitmix64 as its authors advise. */
#include "base/rng.h"

#include <errno.h>
#include <sys/random.h>

void rng_seed(struct rng *r, uint64_t seed)
{
    for (size_t i = 0; i < ARRAY_LEN(r->s); i++)
        r->s[i] = splitmix64(seed + i * 0x9E3779B97F4A7C15ULL);
}

uint64_t rng_seed_from_os(void)
{
    uint64_t seed;
    ssize_t got;

    do
        got = getrandom(&seed, sizeof seed, 0);
    while (got < 0 && errno == EINTR);
    ASSERT(got == (ssize_t)sizeof seed);
    return seed;
}

static uint64_t rotate_left(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

uint64_t rng_u64(struct rng *r)
{
    uint64_t *s = r->s, result = rotate_left(s[1] * 5, 7) * 9, t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

uint64_t rng_below(struct rng *r, uint64_t bound)
{
    uint64_t excess, x;

    ASSERT(bound >= 1);
    excess =
        -bound % bound; /* 2^64 mod bound: the numbers below it would be drawn once too often */
    do
        x = rng_u64(r);
    while (x < excess);
    return x % bound;
}

double rng_double(struct rng *r)
{
    return (double)(rng_u64(r) >> 11) * 0x1.0p-53;
}

void rng_hex(struct rng *r, char *out, size_t hex_digits)
{
    uint64_t bits = 0;

    for (size_t i = 0; i < hex_digits; i++) {
        if (i % 16 == 0)
            bits = rng_u64(r);
        out[i] = "0123456789abcdef"[bits & 15];
        bits >>= 4;
    }
    out[hex_digits] = '\0';
}

void rng_uuid(struct rng *r, char out[UUID_LEN + 1])
{
    char hex[33];
    size_t at = 0;

    rng_hex(r, hex, 32);
    hex[12] = '4';                    /* version: random */
    hex[16] = "89ab"[rng_u64(r) & 3]; /* variant: RFC 9562 */
    for (size_t i = 0; i < 32; i++) {
        if (i == 8 || i == 12 || i == 16 || i == 20)
            out[at++] = '-';
        out[at++] = hex[i];
    }
    out[at] = '\0';
}
