/* flink_prove_deep.h - whether the entries of one handle of Flink's keyed state are what Flink would
 * find and read: for `verify --deep`, after the bytes themselves are proven (flink_prove.h).
 *
 * Every entry is read to its end, key and value, where the serializers are known, and lies in the key
 * group that Flink computes of its key (flink_entry_check.h). A database is opened, whose entries
 * outside the key groups of the handle are counted: a rescale leaves such there until a compaction,
 * and Flink never reads them. Memory: that of flink_keyed.h. Runs RocksDB on bytes of others: for a
 * process that may be ended by them (checkpoint/apart.h).
 */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_PROVE_DEEP_H
#define VARVE_CHECKPOINT_FLINK_FLINK_PROVE_DEEP_H

#include "checkpoint/flink/flink_keyed.h"

struct flink_left_over {
    struct bytes state;
    uint64_t entries, bytes; /* of keys and values */
};
/* What is heard; texts hold for the call. */
struct flink_deep_ear {
    void *ctx;
    /* The first of each sort in each state, with how many more there are of it.
     *   path  of the file; "": inlined; NULL: which file of the database it is is not known */
    void (*fault)(void *ctx, const char *path, const char *reason);
    void (*left_over)(void *ctx, const struct flink_left_over *l); /* of a state that has some */
    void (*untold)(void *ctx, const char *reason); /* entries that cannot be judged */
};
void flink_prove_deep(const struct flink_keyed_source *from, const struct flink_deep_ear *ear);

#endif
