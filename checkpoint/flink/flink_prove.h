/* flink_prove.h - how far the bytes of one stream of a Flink snapshot can be proven.
 *
 * Flink's _metadata has no digests. What there is: RocksDB's checksums of blocks (SST) and of records
 * (MANIFEST), those of snappy's frames where streams are compressed, and the structure of a
 * canonical stream, which is walked to its end. All else has no checksum, and is said to have none.
 * Runs RocksDB on bytes of others: for a process that may be ended by them (checkpoint/apart.h).
 */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_PROVE_H
#define VARVE_CHECKPOINT_FLINK_FLINK_PROVE_H

#include "base/fs.h"
#include "checkpoint/flink/flink_metadata.h"

struct flink_proof {
    const char *fault;    /* damage, with its place; NULL: none was found. In the arena */
    const char *unproven; /* what nothing proves, a constant text; NULL: every byte is covered */
};
/* path: flink_place of the stream. A file that cannot be read is a fault. */
void flink_prove(struct fs *fs, const struct flink_stream_use *use, const char *path,
                 struct arena *arena, struct flink_proof *out);

#endif
