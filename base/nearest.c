/* nearest.c - see nearest.h */
#include "base/nearest.h"

#include <stdint.h>
#include <string.h>

#define WORD_MAX 64

static unsigned char lower(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
}

/* Edits (change, insert, drop, swap of neighbours) between two words of less than WORD_MAX bytes.
 */
static uint32_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    uint32_t rows[3][WORD_MAX + 1];

    for (uint32_t j = 0; j <= b_len; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        uint32_t *now = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];

        now[0] = (uint32_t)i;
        for (size_t j = 1; j <= b_len; j++) {
            uint32_t best = last[j - 1] + (lower(a[i - 1]) != lower(b[j - 1]));

            best = last[j] + 1 < best ? last[j] + 1 : best;
            best = now[j - 1] + 1 < best ? now[j - 1] + 1 : best;
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                lower(a[i - 2]) == lower(b[j - 1]))
                best = before[j - 2] + 1 < best ? before[j - 2] + 1 : best;
            now[j] = best;
        }
    }
    return rows[a_len % 3][b_len];
}

const char *nearest_of(const char *word, const char *const *candidates, size_t count)
{
    size_t len = strlen(word);
    uint32_t best = (uint32_t)(len < 3 ? 1 : len < 6 ? 2 : len / 3 + 1) + 1;
    const char *found = NULL;

    if (len == 0 || len >= WORD_MAX)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        size_t other = strlen(candidates[i]);
        uint32_t d;

        if (other >= WORD_MAX)
            continue;
        d = distance(word, len, candidates[i], other);
        if (d < best && d < len) {
            best = d;
            found = candidates[i];
        }
    }
    return found;
}
