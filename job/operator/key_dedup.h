/* key_dedup.h - which rows of a batch have the same key: first[i] is the first row with row i's key.
 * Memory is kept between batches. Thread: one owner. */
#ifndef VARVE_JOB_OPERATOR_KEY_DEDUP_H
#define VARVE_JOB_OPERATOR_KEY_DEDUP_H

#include "backend/keyed_backend.h"
#include "job/batch.h"

#define KEY_DEDUP_SLOTS (2 * BATCH_ROWS_MAX)

struct key_dedup {
    uint32_t first[BATCH_ROWS_MAX], last[BATCH_ROWS_MAX]; /* last[first[i]]: the last row with that key */
    uint32_t distinct[BATCH_ROWS_MAX], distinct_count;    /* the first rows, in order */
    uint32_t slot_row[KEY_DEDUP_SLOTS], slot_generation[KEY_DEDUP_SLOTS];
    uint32_t generation;
};
/* At most BATCH_ROWS_MAX keys (asserted). */
void key_dedup_run(struct key_dedup *d, const struct key_batch *keys);

#endif
