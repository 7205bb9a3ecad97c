#include "backend/value_pack.h"

#define MAP_FLAG_BYTES 1u
#define TIME_BYTES 8u
#define SIZE_BYTES 4u
#define WORD 8u

/* Codes of a word: how many of its bytes are stored, where they belong, and what the others are. */
#define CODE_HIGH 7u      /* + 2..4: that many of the highest bytes, the others 0 */
#define HIGH_LEAST 2u
#define CODE_NEGATIVE 11u /* + 1..4: that many of the lowest bytes, the others FF */
#define NEGATIVE_LEAST 1u
#define SHORT_MOST 4u

static const struct {
    uint64_t mask, fill;
    uint8_t bytes, shift;
} codes[16] = {
    {0, 0, 0, 0},
    {UINT64_MAX >> 56, 0, 1, 0},
    {UINT64_MAX >> 48, 0, 2, 0},
    {UINT64_MAX >> 40, 0, 3, 0},
    {UINT64_MAX >> 32, 0, 4, 0},
    {UINT64_MAX >> 24, 0, 5, 0},
    {UINT64_MAX >> 16, 0, 6, 0},
    {UINT64_MAX >> 8, 0, 7, 0},
    {UINT64_MAX, 0, 8, 0},
    {UINT64_MAX >> 48, 0, 2, 48},
    {UINT64_MAX >> 40, 0, 3, 40},
    {UINT64_MAX >> 32, 0, 4, 32},
    {UINT64_MAX >> 56, UINT64_MAX << 8, 1, 0},
    {UINT64_MAX >> 48, UINT64_MAX << 16, 2, 0},
    {UINT64_MAX >> 40, UINT64_MAX << 24, 3, 0},
    {UINT64_MAX >> 32, UINT64_MAX << 32, 4, 0},
};

struct value_shape value_shape_of(enum state_kind kind, uint32_t fixed_value_bytes, bool has_time)
{
    struct value_shape s = {0};

    if (fixed_value_bytes == 0 || kind == STATE_LIST || kind == STATE_TIMER)
        return s;
    s.head = (kind == STATE_MAP ? MAP_FLAG_BYTES : 0) + (has_time ? TIME_BYTES : 0);
    s.bytes = fixed_value_bytes + (has_time ? TIME_BYTES : 0);
    return s;
}

/* The code that stores fewest bytes, the lowest of them. */
static inline uint32_t code_of(uint64_t w)
{
    uint32_t best, code, high, negative;

    if (w >> 32 == 0) /* most are; the other forms cannot be shorter */
        return (70 - (uint32_t)__builtin_clzll(w << 1 | 1)) / 8;
    code = best = 8 - (uint32_t)__builtin_clzll(w) / 8;
    high = 8 - (uint32_t)__builtin_ctzll(w) / 8;
    high = high < HIGH_LEAST ? HIGH_LEAST : high;
    if (high <= SHORT_MOST && high < best) {
        best = high;
        code = CODE_HIGH + high;
    }
    negative = ~w == 0 ? 0 : 8 - (uint32_t)__builtin_clzll(~w) / 8;
    negative = negative < NEGATIVE_LEAST ? NEGATIVE_LEAST : negative;
    if (negative <= SHORT_MOST && negative < best)
        code = CODE_NEGATIVE + negative;
    return code;
}

/* Up to eight bytes as a word, the missing ones 0. */
static inline uint64_t word_at(const uint8_t *p, size_t left)
{
    uint64_t w = 0;

    if (left >= WORD)
        return get_le64(p);
    for (size_t i = 0; i < left; i++)
        w |= (uint64_t)p[i] << (8 * i);
    return w;
}

static inline bool has_size(const uint8_t *p, size_t len)
{
    return len >= SIZE_BYTES && get_be32(p) == len - SIZE_BYTES;
}

/* The first code: whether the size of what follows stood in front of it; and how many words follow,
 * so that a value is not taken for one of another size. */
static inline uint32_t first_code(bool sized, size_t words)
{
    return (sized ? 1 : 0) + 2 * (uint32_t)(words % 8);
}

static inline size_t code_bytes_of(size_t words)
{
    return (words + 2) / 2; /* two codes a byte; one before those of words */
}

size_t value_pack(struct value_shape s, const uint8_t *value, uint8_t *out)
{
    const uint8_t *in = value + s.head, *end = value + s.bytes;
    bool sized = has_size(in, (size_t)(end - in));
    uint8_t *code_at = out + s.head, *to;
    size_t words, packed;
    uint32_t pair;

    in += sized ? SIZE_BYTES : 0;
    words = ((size_t)(end - in) + WORD - 1) / WORD;
    pair = first_code(sized, words);
    memcpy(out, value, s.head);
    to = code_at + code_bytes_of(words);
    for (size_t i = 1; i <= words; i++, in += WORD) {
        uint64_t w = word_at(in, (size_t)(end - in));
        uint32_t code = code_of(w);

        if (i % 2 == 0) {
            pair = code;
        } else {
            *code_at++ = (uint8_t)(pair | code << 4);
            pair = 0;
        }
        put_le64(to, w >> codes[code].shift); /* what is too much the next one overwrites */
        to += codes[code].bytes;
    }
    if (words % 2 == 0)
        *code_at = (uint8_t)pair;
    packed = (size_t)(to - out);
    return packed < s.bytes ? packed : 0;
}

size_t value_store(struct value_shape s, const uint8_t *value, uint8_t *out)
{
    size_t packed = value_pack(s, value, out);

    if (packed > 0)
        return packed;
    memcpy(out, value, s.bytes);
    return s.bytes;
}

/* Eight bytes from `at` on, at <= len; those behind the end are anything. Without branches: where
 * words end varies from row to row. */
static inline uint64_t load(const uint8_t *p, size_t at, size_t len)
{
    size_t last = len - WORD, from = at < last ? at : last;

    if (len < WORD)
        return word_at(p + at, len - at);
    return get_le64(p + from) >> (8 * (at - from) & 63);
}

static bool unpack_words(const uint8_t *in, size_t len, bool sized, uint8_t *out, size_t out_len)
{
    size_t words = (out_len + WORD - 1) / WORD, at = code_bytes_of(words);

    if (len < at || (in[0] & 15) != first_code(sized, words) ||
        (words % 2 == 0 && in[words / 2] >> 4 != 0))
        return false;
    for (size_t i = 1; i <= words; i++, out += WORD, out_len -= WORD) {
        uint32_t code = in[i / 2] >> (i % 2 * 4) & 15;
        uint64_t w;

        if (codes[code].bytes > len - at)
            return false;
        w = (load(in, at, len) & codes[code].mask) << codes[code].shift | codes[code].fill;
        at += codes[code].bytes;
        if (code_of(w) != code)
            return false;
        if (out_len >= WORD) {
            put_le64(out, w);
            continue;
        }
        memcpy(out, &w, out_len);
        if (w >> (8 * out_len) != 0)
            return false;
        break;
    }
    return at == len;
}

bool value_unpack(struct value_shape s, struct bytes stored, uint8_t *out)
{
    const uint8_t *in;
    size_t out_len = s.bytes - s.head, len;

    if (stored.len == s.bytes) {
        memcpy(out, stored.data, s.bytes);
        return true;
    }
    if (stored.len > s.bytes || stored.len <= s.head)
        return false;
    memcpy(out, stored.data, s.head);
    in = stored.data + s.head;
    len = stored.len - s.head;
    out += s.head;
    if ((in[0] & 1) == 0)
        return unpack_words(in, len, false, out, out_len) && !has_size(out, out_len);
    if (out_len < SIZE_BYTES)
        return false;
    put_be32(out, (uint32_t)out_len - SIZE_BYTES);
    return unpack_words(in, len, true, out + SIZE_BYTES, out_len - SIZE_BYTES);
}
