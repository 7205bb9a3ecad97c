/* flink_copy.h - streams of a snapshot of Flink's into the directory of another one, byte for byte.
 * Nothing is shared with the source. Memory: FLINK_TARGET_BUFFER. Thread: one owner. */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_COPY_H
#define VARVE_CHECKPOINT_FLINK_FLINK_COPY_H

#include "checkpoint/flink/flink_target.h"
#include "checkpoint/flink/flink_view.h"

struct flink_copy {
    struct fs *fs;
    struct flink_places *places; /* of the source */
    struct flink_target *target;
    struct arena *arena; /* of the new tree */
};
/* All of a stream, as it lies. RC_CORRUPT: its file does not have the length that `_metadata` says. */
MUST_USE enum rc flink_copy_stream(const struct flink_copy *c, const struct flink_stream *s,
                                   struct flink_stream *out, struct err *err);
/* Into `_metadata`: Flink reads a coordinator's from nowhere else. */
MUST_USE enum rc flink_copy_coordinator(const struct flink_copy *c, const struct flink_stream *s,
                                        struct flink_stream *out, struct err *err);
/* Operator state with its stream as it lies, also that of merged files; *out of tag 0: it has
 * nothing. */
MUST_USE enum rc flink_copy_lists(const struct flink_copy *c,
                                  const struct flink_operator_state *from,
                                  struct flink_operator_state *out, struct err *err);
/* Nothing that lies anywhere. */
static inline bool flink_lists_empty(const struct flink_operator_state *s)
{
    return s->tag == 0 || s->empty || s->stream.tag == FLINK_STREAM_EMPTY ||
           s->stream.tag == FLINK_STREAM_NONE;
}

#endif
