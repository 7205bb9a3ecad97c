/* gen.h - seeded random data that likes the edges: empty, longest, zero, -1, the limits of a type.
 *
 *     struct rng rng;
 *     uint64_t seed = gen_seed(7);
 *     rng_seed(&rng, seed);
 *     ... ck_assert_msg(ok, "seed %llu", seed)
 *
 * The same seed gives the same data on every machine. Thread: one a generator.
 */
#ifndef VARVE_TESTS_LIB_GEN_H
#define VARVE_TESTS_LIB_GEN_H

#include "base/bytes.h"
#include "base/rng.h"

/* $VARVE_TEST_SEED when it is set (a number), else `usual`: a run is repeatable, a loop can try new
 * ones. */
uint64_t gen_seed(uint64_t usual);
/* How long a random test goes on: `usual`, or with VARVE_SOAK=1 `times` as long. */
int gen_length(int usual, int times);
bool gen_chance(struct rng *r, unsigned percent);
uint64_t gen_between(struct rng *r, uint64_t least, uint64_t most); /* inclusive */
/* A length in [least, most]: often an end of the range, else mostly short. */
size_t gen_len(struct rng *r, size_t least, size_t most);
int64_t gen_i64(struct rng *r); /* often near 0, a power of two, INT64_MIN or INT64_MAX */
double gen_f64(struct rng *r);  /* with NaN, infinities, -0, subnormals among them */
void gen_bytes(struct rng *r, size_t len, struct buf *out); /* appended; runs and noise mixed */
void gen_ascii(struct rng *r, size_t len, struct buf *out); /* printable, with quotes and commas */
/* Valid, 1 to 4 bytes a character, no NUL. */
void gen_utf8(struct rng *r, size_t chars, struct buf *out);
/* Change `data` in place by one fault of those that disks and cut transfers make: a flipped bit, a
 * zeroed stretch, a cut (returned: the new length, else len), bytes swapped. len >= 1. */
size_t gen_damage(struct rng *r, uint8_t *data, size_t len);
/* Put 0..count-1 into `order`, shuffled. */
void gen_order(struct rng *r, size_t *order, size_t count);

#endif
