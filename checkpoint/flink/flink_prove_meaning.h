/* flink_prove_meaning.h - whether the bytes of a stream of Flink's mean what its description says:
 * for flink_prove.c, which proves the bytes themselves. Memory: an entry. Thread: any. */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_PROVE_MEANING_H
#define VARVE_CHECKPOINT_FLINK_FLINK_PROVE_MEANING_H

#include "base/fs.h"
#include "checkpoint/flink/flink_view.h"

/* The description is read to its end. A stream of keyed state is walked: every key is read where its
 * type is known, and lies in the key group that Flink computes of it, or Flink would never find it.
 * Of operator state every item ends where the next one begins. RC_CORRUPT: one of these is not so;
 * where, and what. RC_UNSUPPORTED, RC_VERSION, RC_LIMIT: it cannot be told, and why. */
MUST_USE enum rc flink_prove_meaning(struct fs *fs, const struct flink_stream_use *use,
                                     struct flink_places *places, struct err *err);

#endif
