/* flink_metadata_write.h - a tree of flink_metadata.h as Flink's `_metadata`. Pure; thread: any.
 * After: MetadataV2V3SerializerBase and what extends it (flink-runtime). docs/FORMAT.md "Flink's
 * _metadata".
 */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_METADATA_WRITE_H
#define VARVE_CHECKPOINT_FLINK_FLINK_METADATA_WRITE_H

#include "checkpoint/flink/flink_metadata.h"

#define FLINK_METADATA_VERSION 6 /* what Flink 2.1 to 2.3 write */

/* What it says of itself, from version 4 on: a savepoint in either format. */
enum flink_properties { FLINK_PROPERTIES_CANONICAL, FLINK_PROPERTIES_NATIVE };
/* Appends it in the version that m has (2: as 3, which has all of it; names and uids need 5), but
 * with these properties in place of its own. RC_UNSUPPORTED: a handle in a form that Flink only
 * reads, or that the version does not have; RC_LIMIT: a text that is too long for its 16 bits. */
MUST_USE enum rc flink_metadata_encode(const struct flink_metadata *m,
                                       enum flink_properties properties, struct buf *out,
                                       struct err *err);

#endif
