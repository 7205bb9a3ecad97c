/* hash.c - see hash.h */
#include "base/hash.h"

#include "base/arena.h"

#include <xxhash.h>

#define PIECE ((size_t)1 << 20)

static struct digest128 canonical(XXH128_hash_t hash)
{
    XXH128_canonical_t canon;
    struct digest128 d;

    _Static_assert(sizeof canon.digest == sizeof d.b, "both are 128 bits");
    XXH128_canonicalFromHash(&canon, hash);
    memcpy(d.b, canon.digest, sizeof d.b);
    return d;
}

struct digest128 digest_of(struct bytes b)
{
    return canonical(XXH3_128bits(b.data, b.len));
}

void digest_hex(struct digest128 d, char out[DIGEST_HEX_LEN + 1])
{
    for (size_t i = 0; i < sizeof d.b; i++) {
        out[2 * i] = "0123456789abcdef"[d.b[i] >> 4];
        out[2 * i + 1] = "0123456789abcdef"[d.b[i] & 15];
    }
    out[DIGEST_HEX_LEN] = '\0';
}

bool digest_parse(const char *hex, struct digest128 *out)
{
    *out = (struct digest128){0};
    for (size_t i = 0; i < DIGEST_HEX_LEN; i++) {
        unsigned digit;

        if (hex[i] >= '0' && hex[i] <= '9')
            digit = (unsigned)(hex[i] - '0');
        else if (hex[i] >= 'a' && hex[i] <= 'f')
            digit = (unsigned)(hex[i] - 'a') + 10;
        else
            return false; /* the end of a shorter string too */
        out->b[i / 2] = (uint8_t)((unsigned)out->b[i / 2] << 4 | digit);
    }
    return hex[DIGEST_HEX_LEN] == '\0';
}

struct digest_stream {
    XXH3_state_t *state;
};

struct digest_stream *digest_stream_new(void)
{
    struct digest_stream *s = mem_alloc(sizeof *s);

    s->state = XXH3_createState(); /* it wants more alignment than malloc gives */
    ASSERT(s->state != NULL);
    ASSERT(XXH3_128bits_reset(s->state) == XXH_OK);
    return s;
}

void digest_stream_free(struct digest_stream *s)
{
    if (s == NULL)
        return;
    XXH3_freeState(s->state);
    mem_free(s);
}

void digest_stream_add(struct digest_stream *s, struct bytes b)
{
    if (b.len > 0)
        ASSERT(XXH3_128bits_update(s->state, b.data, b.len) == XXH_OK);
}

struct digest128 digest_stream_end(const struct digest_stream *s)
{
    return canonical(XXH3_128bits_digest(s->state));
}

static void unseen(void *ctx UNUSED, uint64_t bytes UNUSED)
{
}

enum rc digest_file(struct fs *fs, const char *path, struct digest128 *out, uint64_t *size_bytes,
                    struct err *err)
{
    return digest_file_seen(fs, path, unseen, NULL, out, size_bytes, err);
}

enum rc digest_file_seen(struct fs *fs, const char *path, digest_seen_fn *seen, void *ctx,
                         struct digest128 *out, uint64_t *size_bytes, struct err *err)
{
    struct digest_stream *stream = digest_stream_new();
    uint8_t *piece = mem_alloc(PIECE);
    struct fs_file *file = NULL;
    size_t got;
    enum rc rc;

    *out = (struct digest128){0};
    *size_bytes = 0;
    GOTO_IF_ERR(fs_open_read(fs, path, &file, err));
    do {
        GOTO_IF_ERR(fs_read_at(file, *size_bytes, piece, PIECE, &got, err));
        digest_stream_add(stream, bytes_of(piece, got));
        *size_bytes += got;
        seen(ctx, got);
    } while (got == PIECE);
    *out = digest_stream_end(stream);
out:
    fs_abandon(&file); /* only read: nothing is lost by a failed close */
    mem_free(piece);
    digest_stream_free(stream);
    return rc;
}

uint64_t hash64(struct bytes b)
{
    return XXH3_64bits(b.data, b.len);
}

uint64_t hash64_seed(struct bytes b, uint64_t seed)
{
    return XXH3_64bits_withSeed(b.data, b.len, seed);
}
