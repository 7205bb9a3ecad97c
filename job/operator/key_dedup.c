/* key_dedup.c - see key_dedup.h */
#include "job/operator/key_dedup.h"

#include "base/hash.h"

void key_dedup_run(struct key_dedup *d, const struct key_batch *keys)
{
    ASSERT(keys->count <= BATCH_ROWS_MAX);
    if (++d->generation == 0) { /* wrapped: old marks would look new */
        memset(d->slot_generation, 0, sizeof d->slot_generation);
        d->generation = 1;
    }
    d->distinct_count = 0;
    for (uint32_t i = 0; i < keys->count; i++) {
        struct bytes key = key_batch_at(keys, i);
        uint32_t slot = (uint32_t)hash64(key) & (KEY_DEDUP_SLOTS - 1);

        while (d->slot_generation[slot] == d->generation &&
               !bytes_eq(key_batch_at(keys, d->slot_row[slot]), key))
            slot = (slot + 1) & (KEY_DEDUP_SLOTS - 1);
        if (d->slot_generation[slot] != d->generation) {
            d->slot_generation[slot] = d->generation;
            d->slot_row[slot] = i;
            d->distinct[d->distinct_count++] = i;
        }
        d->first[i] = d->slot_row[slot];
        d->last[d->first[i]] = i;
    }
}
