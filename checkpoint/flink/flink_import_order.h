/* flink_import_order.h - what a job asks of the way in, and what it gets, also as bytes between two
 * processes: databases of others are read in one of its own (C13). Pure, but for flink_import_carry_out.
 * Thread: any. */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_IMPORT_ORDER_H
#define VARVE_CHECKPOINT_FLINK_FLINK_IMPORT_ORDER_H

#include "checkpoint/flink/flink_import.h"

#define IMPORT_ORDER_BYTES_MAX (64u << 20)

struct import_order {
    const char *dir;   /* of the snapshot: absolute, where its `_metadata` lies */
    const char *below; /* a directory that is there; the savepoint goes below it, and what is opened */
    bool look_only;    /* decides, but writes nothing */
    bool allow_non_restored;
    const char *mapping_path; /* "": there is none */
    struct bytes mapping;     /* its text */
    struct rebase rebase;
    size_t operator_count;
    const struct import_operator *operators;
    size_t setting_count; /* by which file systems are reached: keys and values */
    const struct metadata_pair *settings;
};
struct import_answer {
    enum rc rc;
    const char *message; /* of rc, else "" */
    size_t dropped_count;
    const char **dropped; /* flink_import_dropped */
    size_t converted_count;
    const char **converted; /* flink_import_converted */
    const char *written;  /* where the savepoint is; "": none, look_only */
    struct bytes tree;    /* look_only: what it would be, as metadata_own_encode has it, its keyed states empty */
};

void import_order_put(const struct import_order *o, struct buf *out);
void import_answer_put(const struct import_answer *a, struct buf *out);
/* Everything in `arena`. RC_CORRUPT: they are none. */
MUST_USE enum rc import_order_get(struct bytes from, struct arena *arena, struct import_order *out,
                                  struct err *err);
MUST_USE enum rc import_answer_get(struct bytes from, struct arena *arena, struct import_answer *out,
                                   struct err *err);

/* Does it, in this process. The answer in `arena`. */
void flink_import_carry_out(const struct env *env, const struct import_order *o, struct arena *arena,
                            struct import_answer *out);

#endif
