/* flink_import_priv.h - what flink_import.c decides and flink_import_write.c does. For flink_import*.c only. */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_IMPORT_PRIV_H
#define VARVE_CHECKPOINT_FLINK_FLINK_IMPORT_PRIV_H

#include "checkpoint/flink/flink_convert.h"
#include "checkpoint/flink/flink_import.h"
#include "checkpoint/flink/flink_source.h"
#include "checkpoint/flink/flink_totals.h"

struct imported_narrow { /* slots of totals that varve fills (flink_totals.h) */
    size_t count;
    const struct narrow_slot *slots;
};
struct imported { /* an operator that goes on */
    const struct flink_operator *from;
    const struct import_operator *to;
    struct operator_meta *meta; /* in the tree */
    size_t state_count;
    struct state_desc *states; /* as the job has them: those that the snapshot has, too */
    struct bytes *names;       /* theirs there */
    struct imported_narrow *narrow;        /* of one that goes on as it is */
    const struct flink_convert **converts; /* NULL: as it is */
    bool converted;                        /* one of them is */
    const struct mapped_operator *mapped;  /* NULL: the mapping says nothing of it */
    bool *mapped_found, *drop_found;       /* by mapped state; by what is to be dropped */
};
struct flink_import {
    struct import_request request;
    struct fs *fs;
    struct arena *arena;
    struct checkpoint_metadata tree;
    struct imported *operators; /* in the order of the tree's */
    size_t left_count, left_cap;
    const char **left;  /* what nobody takes over, a line each */
    struct buf unasked; /* those of them that no mapping drops */
    struct buf misfits; /* states that do not fit, with their differences */
    bool *operator_found, *drop_found; /* by mapped operator; by what is to be dropped */
};

/* flink_import_mapping.c: what a mapping says of the tree. */
/* NULL: nothing. */
const struct mapped_operator *import_mapped(const struct flink_import *i,
                                            const struct flink_operator *op);
/* The operator of the job that a mapped one goes on as; NULL: none, which is among the misfits. */
const struct import_operator *import_mapped_to(struct flink_import *i,
                                               const struct mapped_operator *m);
bool import_drops_operator(struct flink_import *i, const struct flink_operator *op);
/* Takes every state of the job's that comes from this one; false: none does. *drop: on purpose. */
bool import_map_state(struct flink_import *i, struct imported *op,
                      const struct flink_source_state *s, bool *drop);
/* Whether the mapping drops a state of this operator on purpose, one with keys or without. */
bool import_drops_state(struct imported *op, struct bytes name);
/* What the mapping names and nobody met. */
void import_check_met(struct flink_import *i, const struct imported *op);
void import_check_mapping(struct flink_import *i);

#endif
