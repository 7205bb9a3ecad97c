/* gen.c - see gen.h */
#include "tests/lib/gen.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

uint64_t gen_seed(uint64_t usual)
{
    const char *text = getenv("VARVE_TEST_SEED");

    return text == NULL || text[0] == '\0' ? usual : strtoull(text, NULL, 0);
}

int gen_length(int usual, int times)
{
    const char *text = getenv("VARVE_SOAK");

    return text != NULL && strcmp(text, "1") == 0 ? usual * times : usual;
}

bool gen_chance(struct rng *r, unsigned percent)
{
    return rng_below(r, 100) < percent;
}

uint64_t gen_between(struct rng *r, uint64_t least, uint64_t most)
{
    ASSERT(least <= most);
    if (most - least == UINT64_MAX)
        return rng_u64(r);
    return least + rng_below(r, most - least + 1);
}

size_t gen_len(struct rng *r, size_t least, size_t most)
{
    size_t span = most - least;

    ASSERT(least <= most);
    switch (rng_below(r, 8)) {
    case 0:
        return least;
    case 1:
        return most;
    case 2:
        return (size_t)gen_between(r, least, most);
    default:
        return least + (size_t)rng_below(r, (span < 16 ? span : 16) + 1);
    }
}

int64_t gen_i64(struct rng *r)
{
    uint64_t small = rng_below(r, 5) - 2; /* -2..2 */

    switch (rng_below(r, 6)) {
    case 0:
        return (int64_t)small;
    case 1:
        return (int64_t)((1ULL << rng_below(r, 64)) + small);
    case 2:
        return rng_below(r, 2) == 0 ? INT64_MIN + (int64_t)rng_below(r, 3)
                                    : INT64_MAX - (int64_t)rng_below(r, 3);
    case 3:
        return (int64_t)rng_below(r, 1000);
    default:
        return (int64_t)rng_u64(r);
    }
}

double gen_f64(struct rng *r)
{
    static const double edges[] = {0.0,      -0.0,      1.0,       -1.0,
                                   0.1,      DBL_MAX,   DBL_MIN,   -DBL_MAX,
                                   INFINITY, -INFINITY, 0x1p-1074, 9007199254740993.0};
    uint64_t bits;
    double d;

    switch (rng_below(r, 6)) {
    case 0:
        return edges[rng_below(r, ARRAY_LEN(edges))];
    case 1:
        return (double)NAN;
    case 2:
        return (double)gen_i64(r);
    case 3: /* any pattern at all */
        bits = rng_u64(r);
        memcpy(&d, &bits, sizeof d);
        return d;
    default:
        return (rng_double(r) - 0.5) * 2000;
    }
}

void gen_bytes(struct rng *r, size_t len, struct buf *out)
{
    static const uint8_t edges[] = {0, 1, 0x7f, 0x80, 0xff, '\n', '"', '/'};

    buf_reserve(out, len);
    while (len > 0) {
        size_t run = (size_t)gen_between(r, 1, len < 32 ? len : 32);
        bool noise = gen_chance(r, 60);
        uint8_t same =
            gen_chance(r, 50) ? edges[rng_below(r, ARRAY_LEN(edges))] : (uint8_t)rng_u64(r);

        for (size_t i = 0; i < run; i++)
            buf_append_u8(out, noise ? (uint8_t)rng_u64(r) : same);
        len -= run;
    }
}

void gen_ascii(struct rng *r, size_t len, struct buf *out)
{
    for (size_t i = 0; i < len; i++) {
        static const char awkward[] = ",;\"'\\ {}[]:";

        buf_append_u8(out, gen_chance(r, 15) ? (uint8_t)awkward[rng_below(r, sizeof awkward - 1)]
                                             : (uint8_t)gen_between(r, 0x20, 0x7e));
    }
}

static void append_utf8(struct buf *out, uint32_t c)
{
    if (c < 0x80) {
        buf_append_u8(out, (uint8_t)c);
    } else if (c < 0x800) {
        buf_append_u8(out, (uint8_t)(0xc0 | c >> 6));
        buf_append_u8(out, (uint8_t)(0x80 | (c & 0x3f)));
    } else if (c < 0x10000) {
        buf_append_u8(out, (uint8_t)(0xe0 | c >> 12));
        buf_append_u8(out, (uint8_t)(0x80 | (c >> 6 & 0x3f)));
        buf_append_u8(out, (uint8_t)(0x80 | (c & 0x3f)));
    } else {
        buf_append_u8(out, (uint8_t)(0xf0 | c >> 18));
        buf_append_u8(out, (uint8_t)(0x80 | (c >> 12 & 0x3f)));
        buf_append_u8(out, (uint8_t)(0x80 | (c >> 6 & 0x3f)));
        buf_append_u8(out, (uint8_t)(0x80 | (c & 0x3f)));
    }
}

void gen_utf8(struct rng *r, size_t chars, struct buf *out)
{
    static const struct {
        uint32_t least, most;
    } ranges[] = {{0x20, 0x7e},    {1, 0x7f},        {0x80, 0x7ff},
                  {0x800, 0xd7ff}, {0xe000, 0xffff}, {0x10000, 0x10ffff}};

    for (size_t i = 0; i < chars; i++) {
        size_t k = rng_below(r, ARRAY_LEN(ranges));

        append_utf8(out, (uint32_t)gen_between(r, ranges[k].least, ranges[k].most));
    }
}

size_t gen_damage(struct rng *r, uint8_t *data, size_t len)
{
    size_t at = (size_t)rng_below(r, len), other = (size_t)rng_below(r, len), stretch;
    uint8_t kept = data[at];

    switch (rng_below(r, 6)) {
    case 0:
        return at; /* cut */
    case 1:
        stretch = (size_t)gen_between(r, 1, len - at < 64 ? len - at : 64);
        memset(data + at, 0, stretch);
        return len;
    case 2:
        data[at] = data[other];
        data[other] = kept;
        return len;
    default:
        data[at] ^= (uint8_t)(1u << rng_below(r, 8));
        return len;
    }
}

void gen_order(struct rng *r, size_t *order, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t j = (size_t)rng_below(r, i + 1);

        order[i] = order[j];
        order[j] = i;
    }
}
