/* snappy_frame.h - the Snappy framing format, read: chunks of at most 64 KB, each with a checksum of
 * what it holds. Pure; thread: any.
 * After: framing_format.txt of Snappy; the raw format inside by format_description.txt.
 */
#ifndef VARVE_CHECKPOINT_FLINK_SNAPPY_FRAME_H
#define VARVE_CHECKPOINT_FLINK_SNAPPY_FRAME_H

#include "base/bytes.h"

#define SNAPPY_CHUNK_HEADER 4u
#define SNAPPY_CHUNK_BODY_MAX 16777215u /* a length of 24 bits */
#define SNAPPY_CHUNK_DATA_MAX 65536u    /* what one holds, uncompressed */

/* Type and length of the body that follows. */
struct snappy_chunk {
    uint8_t type;
    uint32_t body_len;
};
struct snappy_chunk snappy_chunk_of(const uint8_t header[SNAPPY_CHUNK_HEADER]);
/* Appends what the chunk holds: nothing, of the stream's identifier and of what is to be skipped.
 * RC_CORRUPT: a type that may not be skipped, a wrong checksum or length, bytes that are not
 * Snappy's. */
MUST_USE enum rc snappy_chunk_read(struct snappy_chunk chunk, struct bytes body, struct buf *out,
                                   struct err *err);

#endif
