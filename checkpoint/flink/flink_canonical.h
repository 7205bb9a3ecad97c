/* flink_canonical.h - writes the keyed stream of a canonical savepoint: description, then key group by
 * key group the entries, in the order of their states and keys.
 *
 * Memory: the file's buffer, the largest entry and, where entries come in no order, those of a key
 * group, at most FLINK_CANONICAL_SORT: beyond it what is together is in order, which readers do not
 * rely on. Thread: one owner. After: FullSnapshotAsyncWriter (flink-runtime).
 */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_CANONICAL_H
#define VARVE_CHECKPOINT_FLINK_FLINK_CANONICAL_H

#include "checkpoint/flink/flink_target.h"

#define FLINK_CANONICAL_SORT (64u << 20)

struct flink_entry_at { /* in a run that is put into order */
    const uint8_t *key;
    size_t at;
    uint32_t key_len, value_len;
    uint16_t state;
};
struct flink_canonical {
    struct flink_file *file;
    struct flink_range range;
    uint32_t prefix_len;
    int64_t *offsets; /* of each key group; 0: it is empty */
    uint64_t entries;
    /* where the stream stands */
    bool in_group;
    uint32_t group;
    uint16_t state;
    size_t last_key; /* in the file's buffer */
    /* entries of `run_group` that wait to be put into order */
    struct buf run;
    size_t run_count, run_cap;
    struct flink_entry_at *items;
    bool run_in_order;
    uint32_t run_group;
};
/* description: all that comes before the entries. offsets: room for range.count of them, zeroed. */
void flink_canonical_begin(struct flink_canonical *c, struct flink_file *file,
                           struct bytes description, struct flink_range range, uint32_t prefix_len,
                           int64_t *offsets);
/* Key groups ascending. `state`: its place in the description. in_order: the source gives states and
 * keys in order. RC_CORRUPT: the key is of a group that is not the stream's or was
 * before; RC_LIMIT: of two gigabytes. */
MUST_USE enum rc flink_canonical_add(struct flink_canonical *c, uint32_t state, struct bytes key,
                                     struct bytes value, bool in_order, struct err *err);
MUST_USE enum rc flink_canonical_end(struct flink_canonical *c, struct err *err);
void flink_canonical_release(struct flink_canonical *c);

#endif
