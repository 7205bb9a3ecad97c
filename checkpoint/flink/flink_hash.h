/* flink_hash.h - Java's hashCode() of a key: what decides its key group. Pure; thread: any.
 * After: KeyGroupRangeAssignment (flink-runtime), hashCode of java.lang's classes, Tuple, BinaryRowData. */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_HASH_H
#define VARVE_CHECKPOINT_FLINK_FLINK_HASH_H

#include "checkpoint/flink/flink_value.h"

/* v: a value that `s` wrote. false: only its own class knows (a Pojo), or no two runs agree (an
 * enum). */
bool flink_hash(const struct flink_serializer *s, const struct flink_value *v, uint32_t *hash);

#endif
