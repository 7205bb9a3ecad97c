/* flink_describe.h - descriptions of varve's states as Flink puts them in front of a stream. Pure;
 * thread: any. After: KeyedBackendSerializationProxy, OperatorBackendSerializationProxy,
 * StateMetaInfoSnapshotReadersWriters (flink-runtime). */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_DESCRIBE_H
#define VARVE_CHECKPOINT_FLINK_FLINK_DESCRIBE_H

#include "backend/state_handle.h"
#include "checkpoint/flink/flink_metadata.h"

/* Of keyed states of one operator, uncompressed, ids in their order. RC_UNSUPPORTED: a type that is
 * none of SQL's, or states with other keys than the first one's. */
MUST_USE enum rc flink_describe_keyed(const struct state_desc *states, size_t count,
                                      struct buf *out, struct err *err);
/* As Flink calls it. */
enum flink_mode flink_mode_of(enum list_mode mode);
/* Of lists of byte arrays; a broadcast one is a map of them by number (INT). */
void flink_describe_lists(const struct list_state *lists, size_t count, struct buf *out);

#endif
