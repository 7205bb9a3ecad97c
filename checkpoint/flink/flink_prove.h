/* flink_prove.h - how far the bytes of one stream of a Flink snapshot can be proven.
 *
 * Flink's _metadata has no digests. What there is: RocksDB's checksums of blocks (SST) and of records
 * (MANIFEST), those of snappy's frames where streams are compressed, and the structure of a
 * canonical stream, which is walked to its end. Descriptions of states are read to their end, keys of
 * streams have to lie in the key group that Flink computes of them, items of operator state to end
 * where the next begins (flink_prove_meaning.h). All else has no checksum, and is said to have none.
 * Runs RocksDB on bytes of others: for a process that may be ended by them (checkpoint/apart.h).
 */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_PROVE_H
#define VARVE_CHECKPOINT_FLINK_FLINK_PROVE_H

#include "base/fs.h"
#include "checkpoint/flink/flink_view.h"

struct flink_proof {
    const char *fault;    /* damage, with its place; NULL: none was found. In the arena */
    const char *unproven; /* what nothing proves; NULL: every byte is covered. In the arena, or constant */
};
/* places know every stream of the snapshot. A file that cannot be read is a fault. */
void flink_prove(struct fs *fs, const struct flink_stream_use *use, struct flink_places *places,
                 struct arena *arena, struct flink_proof *out);

#endif
