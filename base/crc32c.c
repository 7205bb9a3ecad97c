/* crc32c.c - see crc32c.h. Eight tables, eight bytes a step. */
#include "base/crc32c.h"

#include <pthread.h>

#define POLYNOMIAL 0x82F63B78u /* reflected */
#define STEP 8

static uint32_t tables[STEP][256]; /* filled once, constant from then on */
static pthread_once_t filled = PTHREAD_ONCE_INIT;

static void fill(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;

        for (int bit = 0; bit < 8; bit++)
            c = c >> 1 ^ (c & 1 ? POLYNOMIAL : 0);
        tables[0][i] = c;
    }
    for (int t = 1; t < STEP; t++)
        for (uint32_t i = 0; i < 256; i++)
            tables[t][i] = tables[t - 1][i] >> 8 ^ tables[0][tables[t - 1][i] & 255];
}

uint32_t crc32c(uint32_t crc, struct bytes b)
{
    const uint8_t *p = b.data, *end = b.data + b.len;
    uint32_t c = ~crc;

    (void)pthread_once(&filled, fill);
    for (; end - p >= STEP; p += STEP) {
        uint32_t low = get_le32(p) ^ c, high = get_le32(p + 4);

        c = tables[7][low & 255] ^ tables[6][low >> 8 & 255] ^ tables[5][low >> 16 & 255] ^
            tables[4][low >> 24] ^ tables[3][high & 255] ^ tables[2][high >> 8 & 255] ^
            tables[1][high >> 16 & 255] ^ tables[0][high >> 24];
    }
    for (; p < end; p++)
        c = c >> 8 ^ tables[0][(c ^ *p) & 255];
    return ~c;
}
