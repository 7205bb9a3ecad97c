/* flink_uid.h - the operator id that Flink gives a uid: MurmurHash3 x64 128 of its UTF-8, seed 0. Pure;
 * thread: any. After: StreamGraphHasherV2.generateUserSpecifiedHash (flink-runtime). */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_UID_H
#define VARVE_CHECKPOINT_FLINK_FLINK_UID_H

#include "checkpoint/flink/flink_metadata.h"

void flink_id_of_uid(struct bytes uid, uint8_t id[FLINK_ID_BYTES]);

#endif
