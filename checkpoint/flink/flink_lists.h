/* flink_lists.h - operator state of one subtask in a snapshot of Flink's: list, union and broadcast
 * states, which have no keys. Memory: one element. Thread: one owner.
 * After: OperatorStateRestoreOperation (flink-runtime). */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_LISTS_H
#define VARVE_CHECKPOINT_FLINK_FLINK_LISTS_H

#include "base/fs.h"
#include "checkpoint/flink/flink_metadata.h"
#include "checkpoint/flink/flink_states.h"
#include "checkpoint/flink/flink_value.h"
#include "checkpoint/flink/flink_view.h"

struct flink_lists; /* opaque */
/* places, which know every stream of the snapshot, and handle: borrowed until closed. */
MUST_USE enum rc flink_lists_open(struct fs *fs, struct flink_places *places,
                                  const struct flink_operator_state *handle,
                                  struct flink_lists **out, struct err *err);
void flink_lists_close(struct flink_lists *l); /* NULL is a no-op */
/* What the stream begins with; lives as long. An empty one has none. */
const struct flink_states *flink_lists_states(const struct flink_lists *l);
/* "OPERATOR_LIST SPLIT_DISTRIBUTE", "OPERATOR_LIST UNION", "BROADCAST". */
const char *flink_list_word(const struct flink_list *list);
/* What the stream says of a list; NULL: nothing, its items are bytes. Lives as long. */
const struct flink_state *flink_lists_state(const struct flink_lists *l,
                                            const struct flink_list *list);

/* Item i of a list: its bytes, which hold until the next call, and its value, in `arena`; of a
 * broadcast state, whose one item is all of it, a map. RC_CORRUPT when the value does not end where
 * the next item begins. */
MUST_USE enum rc flink_lists_item(struct flink_lists *l, const struct flink_list *list, size_t i,
                                  struct arena *arena, struct bytes *bytes,
                                  struct flink_value *value, struct err *err);

/* The entries of a broadcast state, whose one item is all of it: slices of that, which hold until the
 * next call; the array in `arena`. RC_UNSUPPORTED: nobody can tell where one ends. */
struct flink_broadcast_entry {
    struct bytes key, value;
};
MUST_USE enum rc flink_lists_entries(struct flink_lists *l, const struct flink_list *list,
                                     size_t i, struct arena *arena,
                                     struct flink_broadcast_entry **out, size_t *count,
                                     struct err *err);

/* Whether its items are compressed, and all that stands before them, as an uncompressed stream has it.
 * Holds until the next call. */
bool flink_lists_compressed(const struct flink_lists *l);
MUST_USE enum rc flink_lists_header(struct flink_lists *l, struct bytes *out, struct err *err);
/* The bytes of item i, whatever they are; uncompressed. They hold until the next call. */
MUST_USE enum rc flink_lists_bytes(struct flink_lists *l, const struct flink_list *list, size_t i,
                                   struct bytes *out, struct err *err);

#endif
