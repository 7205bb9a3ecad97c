/* csv_scan_priv.h - finds the bytes that mean something in CSV, 64 at a time.
 *
 * A block of 64 bytes becomes a mask with a bit for each delimiter, line end, quote and escape;
 * scan_next hands out their positions in order. Fields without any of them are never looked at byte
 * by byte. */
#ifndef VARVE_JOB_FORMAT_CSV_SCAN_PRIV_H
#define VARVE_JOB_FORMAT_CSV_SCAN_PRIV_H

#include "base/bytes.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define SCAN_BLOCK 64u

struct csv_scan {
    const uint8_t *data;
    size_t len;
    size_t block;                     /* start of the block that `mask` is of */
    uint64_t mask;                    /* bits not handed out yet */
    size_t high_end;                  /* bytes above 0x7f were seen before this position; 0: none */
    uint8_t delimiter, quote, escape; /* quote, escape: '\n' when there is none */
};

/* Bits of a block by what they are. */
struct scan_bits {
    uint64_t cuts;     /* delimiters and line ends */
    uint64_t newlines; /* line ends */
    uint64_t stops;    /* quotes and escapes */
    bool high;         /* some byte is above 0x7f */
};

#ifdef __SSE2__
static inline struct scan_bits scan_bits(const struct csv_scan *s, const uint8_t *p)
{
    const __m128i delimiter = _mm_set1_epi8((char)s->delimiter),
                  quote = _mm_set1_epi8((char)s->quote);
    const __m128i escape = _mm_set1_epi8((char)s->escape), newline = _mm_set1_epi8('\n');
    uint64_t delimiters = 0, newlines = 0, stops = 0;
    int high = 0;

    for (unsigned i = 0; i < 4; i++) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + 16 * i));
        __m128i stop = _mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, escape));

        delimiters |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(v, delimiter))
                      << (16 * i);
        newlines |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(v, newline)) << (16 * i);
        stops |= (uint64_t)(uint32_t)_mm_movemask_epi8(stop) << (16 * i);
        high |= _mm_movemask_epi8(v);
    }
    return (struct scan_bits){delimiters | newlines, newlines, stops & ~newlines, high != 0};
}
#else
static inline struct scan_bits scan_bits(const struct csv_scan *s, const uint8_t *p)
{
    struct scan_bits bits = {0};

    for (unsigned i = 0; i < SCAN_BLOCK; i++) {
        uint8_t c = p[i];

        bits.cuts |= (uint64_t)(c == s->delimiter || c == '\n') << i;
        bits.newlines |= (uint64_t)(c == '\n') << i;
        bits.stops |= (uint64_t)((c == s->quote || c == s->escape) && c != '\n') << i;
        bits.high |= c >= 0x80;
    }
    return bits;
}
#endif

static inline uint64_t scan_mask(struct csv_scan *s, const uint8_t *p)
{
    struct scan_bits bits = scan_bits(s, p);

    if (bits.high)
        s->high_end = s->block + SCAN_BLOCK;
    return bits.cuts | bits.stops;
}

/* Loads the block at s->block, which is below len. */
static inline uint64_t scan_load(struct csv_scan *s)
{
    uint8_t tail[SCAN_BLOCK] = {0};
    size_t left = s->len - s->block;
    uint64_t mask;

    if (left >= SCAN_BLOCK)
        return scan_mask(s, s->data + s->block);
    memcpy(tail, s->data + s->block, left);
    mask = scan_mask(s, tail);
    return mask & ((1ull << left) - 1); /* NUL may be a delimiter */
}

/* The next position handed out is the first of its kind at or after `at`. */
static inline void scan_seek(struct csv_scan *s, size_t at)
{
    s->block = at & ~(size_t)(SCAN_BLOCK - 1);
    if (s->block < s->len)
        s->mask = scan_load(s) & (~0ull << (at & (SCAN_BLOCK - 1)));
    else
        s->mask = 0;
}

static inline void scan_init(struct csv_scan *s, struct bytes data)
{
    s->data = data.data;
    s->len = data.len;
    s->high_end = 0;
    scan_seek(s, 0);
}

/* Position of the next delimiter, quote, escape or line end; len when there is none. */
static inline size_t scan_next(struct csv_scan *s)
{
    size_t at;

    while (s->mask == 0) {
        if (s->len - s->block <= SCAN_BLOCK)
            return s->len;
        s->block += SCAN_BLOCK;
        s->mask = scan_load(s);
    }
    at = s->block + (unsigned)__builtin_ctzll(s->mask);
    s->mask &= s->mask - 1;
    return at;
}

#endif
