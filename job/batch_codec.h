/* batch_codec.h - a batch as bytes and back; docs/FORMAT.md "In-flight data".
 *
 * A block is a header of 16 bytes (length, rows, XXH3-64 of the rest) and the columns as they lie in memory. Decoding proves the
 * hash first and then believes nothing: counts, lengths, offsets and kinds are checked against the schema before a column is made.
 * Pure; any thread. */
#ifndef VARVE_JOB_BATCH_CODEC_H
#define VARVE_JOB_BATCH_CODEC_H

#include "job/batch.h"

#define BATCH_BLOCK_HEADER 16u
#define BATCH_BLOCK_MAX (1u << 30) /* bytes of one block behind its header */

/* Bytes that the block of `b` takes, header included. */
uint64_t batch_block_bytes(const struct batch *b);
/* Appends a block. The batch has at least one row. RC_LIMIT: it would exceed BATCH_BLOCK_MAX; nothing is appended. */
MUST_USE enum rc batch_encode(const struct batch *b, struct buf *out, struct err *err);
/* The block that begins at the reader's place, added to `out` (made for `schema`, empty). RC_CORRUPT says where and what. */
MUST_USE enum rc batch_decode(struct reader *in, const struct schema *schema, struct batch_builder *out, struct err *err);

#endif
