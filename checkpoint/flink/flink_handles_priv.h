/* flink_handles_priv.h - the handles of flink_metadata.h out of a reader; for this folder only. */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_HANDLES_PRIV_H
#define VARVE_CHECKPOINT_FLINK_FLINK_HANDLES_PRIV_H

#include "checkpoint/flink/flink_metadata.h"

struct flink_decode {
    struct reader *r;
    struct arena *arena;
    int32_t version;
    uint32_t depth; /* of handles in handles */
};
MUST_USE enum rc flink_read_stream(struct flink_decode *d, struct flink_stream *out,
                                   struct err *err);
MUST_USE enum rc flink_read_keyed(struct flink_decode *d, struct flink_keyed *out,
                                  struct err *err);
MUST_USE enum rc flink_read_operator_state(struct flink_decode *d,
                                           struct flink_operator_state *out, struct err *err);
MUST_USE enum rc flink_read_channel(struct flink_decode *d, bool input,
                                    struct flink_channel_handle *out, struct err *err);

#endif
