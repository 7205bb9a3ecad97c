/* flink_import_priv.h - what flink_import.c decides and flink_import_write.c does. For these two only. */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_IMPORT_PRIV_H
#define VARVE_CHECKPOINT_FLINK_FLINK_IMPORT_PRIV_H

#include "checkpoint/flink/flink_import.h"
#include "checkpoint/flink/flink_source.h"

struct imported { /* an operator that goes on */
    const struct flink_operator *from;
    const struct import_operator *to;
    struct operator_meta *meta; /* in the tree */
    size_t state_count;
    struct state_desc *states; /* as the job has them: those that the snapshot has, too */
    struct bytes *names;       /* theirs there */
};
struct flink_import {
    struct import_request request;
    struct fs *fs;
    struct arena *arena;
    struct checkpoint_metadata tree;
    struct imported *operators; /* in the order of the tree's */
    size_t left_count, left_cap;
    const char **left;  /* what nobody takes over, a line each */
    struct buf misfits; /* states that do not fit, with their differences */
};

#endif
