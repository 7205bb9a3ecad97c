/* flink_inventory.h - what states an operator in a snapshot of Flink's has, as their descriptions
 * say: for who looks at it, without their entries.
 *
 * Read are the descriptions of every subtask's state, some kilobytes each; of timers in raw keyed
 * state, which stand between their entries, those of one subtask. One that cannot be read is kept
 * with its reason and stops nothing. Thread: any.
 */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_INVENTORY_H
#define VARVE_CHECKPOINT_FLINK_FLINK_INVENTORY_H

#include "base/fs.h"
#include "checkpoint/flink/flink_keyed.h"

struct flink_inventory_state {
    struct bytes name;
    const char *kind; /* Flink's words: flink_keyed_word, flink_list_word */
    const char *form; /* "database", "canonical", "heap", "raw"; of operator state "" */
    /* By their short names (flink_serializer_print); NULL: it has none, or none is recorded. */
    const char *key, *namespace, *map_key, *value;
    bool ttl; /* its values expire: after what time no snapshot says */
};
struct flink_undescribed {
    uint32_t subtask_index;
    const char *part; /* "keyed state", "raw keyed state", "operator state" */
    const char *reason;
};
struct flink_inventory {
    size_t count, undescribed_count;
    /* Each name once for each part, as its first subtask has it. */
    struct flink_inventory_state *states;
    struct flink_undescribed *undescribed;
};
/* places know every stream of the snapshot. Everything in `arena`. */
void flink_inventory_make(struct fs *fs, const struct flink_operator *op,
                          struct flink_places *places, struct arena *arena,
                          struct flink_inventory *out);

#endif
