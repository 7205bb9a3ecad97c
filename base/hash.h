/* hash.h - xxHash digests. XXH3-128 proves content; XXH3-64 spreads keys over our own tables (never
 * over key groups: those are Flink's murmur, backend/keygroup.h). Thread: any. */
#ifndef VARVE_BASE_HASH_H
#define VARVE_BASE_HASH_H

#include "base/fs.h"

struct digest128 {
    uint8_t b[16]; /* canonical (big-endian) form of XXH3-128, as `xxhsum -H2` prints it */
};
#define DIGEST_HEX_LEN 32
static inline bool digest_eq(struct digest128 a, struct digest128 b) { return memcmp(a.b, b.b, 16) == 0; }
struct digest128 digest_of(struct bytes b);
void digest_hex(struct digest128 d, char out[DIGEST_HEX_LEN + 1]);
MUST_USE bool digest_parse(const char *hex, struct digest128 *out); /* exactly 32 lower-case digits */

struct digest_stream; /* incremental */
struct digest_stream *digest_stream_new(void);
void digest_stream_free(struct digest_stream *s);
void digest_stream_add(struct digest_stream *s, struct bytes b);
struct digest128 digest_stream_end(const struct digest_stream *s);

/* Digest and length of a file, read in 1 MiB pieces. */
MUST_USE enum rc digest_file(struct fs *fs, const char *path, struct digest128 *out,
                             uint64_t *size_bytes, struct err *err);
/* The same; `seen` is called after each piece, with its length. */
typedef void digest_seen_fn(void *ctx, uint64_t bytes);
MUST_USE enum rc digest_file_seen(struct fs *fs, const char *path, digest_seen_fn *seen, void *ctx,
                                  struct digest128 *out, uint64_t *size_bytes, struct err *err);

uint64_t hash64(struct bytes b);
uint64_t hash64_seed(struct bytes b, uint64_t seed);

#endif
