/* flink_uid.c - see flink_uid.h */
#include "checkpoint/flink/flink_uid.h"

#define C1 0x87c37b91114253d5ull
#define C2 0x4cf5ad432745937full

static uint64_t rotl(uint64_t x, int n)
{
    return x << n | x >> (64 - n);
}

static uint64_t end_mix(uint64_t h)
{
    h = (h ^ h >> 33) * 0xff51afd7ed558ccdull;
    h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53ull;
    return h ^ h >> 33;
}

void flink_id_of_uid(struct bytes uid, uint8_t id[FLINK_ID_BYTES])
{
    size_t whole = uid.len / 16 * 16;
    uint8_t rest[16] = {0};
    uint64_t h1 = 0, h2 = 0;

    for (size_t i = 0; i < whole; i += 16) {
        h1 = rotl(h1 ^ rotl(get_le64(uid.data + i) * C1, 31) * C2, 27) + h2;
        h1 = h1 * 5 + 0x52dce729;
        h2 = rotl(h2 ^ rotl(get_le64(uid.data + i + 8) * C2, 33) * C1, 31) + h1;
        h2 = h2 * 5 + 0x38495ab5;
    }
    for (size_t i = whole; i < uid.len; i++)
        rest[i - whole] = uid.data[i];
    h1 ^= rotl(get_le64(rest) * C1, 31) * C2; /* of nothing: nothing */
    h2 ^= rotl(get_le64(rest + 8) * C2, 33) * C1;
    h1 ^= uid.len;
    h2 ^= uid.len;
    h1 += h2;
    h2 += h1;
    h1 = end_mix(h1);
    h2 = end_mix(h2);
    h1 += h2;
    h2 += h1;
    put_le64(id, h1);
    put_le64(id + 8, h2);
}
