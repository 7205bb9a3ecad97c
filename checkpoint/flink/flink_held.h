/* flink_held.h - entries of state of which only digests are held, to tell two sets of them apart
 * whatever their order. Memory: 40 bytes for each. No I/O; thread: one owner. */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_HELD_H
#define VARVE_CHECKPOINT_FLINK_FLINK_HELD_H

#include "base/hash.h"
#include "checkpoint/state_difference.h"

struct flink_held {
    struct digest128 key, value;
    uint64_t bytes;
};
/* `= {0}`. */
struct flink_held_set {
    struct flink_held *items;
    size_t count, cap;
};
void flink_held_clear(struct flink_held_set *s); /* its memory stays */
void flink_held_release(struct flink_held_set *s);
/* A key may come again: then each stands for itself. */
void flink_held_add(struct flink_held_set *s, struct bytes key, struct bytes value);
/* Adds what lies between them, from x to y. Both come into an order of their own. */
void flink_held_compare(struct flink_held_set *x, struct flink_held_set *y,
                        struct entry_sum out[ENTRY_CHANGES]);

#endif
