/* flink_source.h - the keyed state of one operator in a snapshot of Flink's, over all its subtasks:
 * for who looks at it without Flink (flink_keyed.h, which see for what is proven and when). One
 * handle is open at a time. Thread: one owner. */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_SOURCE_H
#define VARVE_CHECKPOINT_FLINK_FLINK_SOURCE_H

#include "checkpoint/flink/flink_keyed.h"

struct flink_source; /* opaque */
/* op, and places, which know every stream of the snapshot: borrowed until closed. scratch_dir: is
 * there; what is made below it goes again. RC_CORRUPT: two handles have the same key groups.
 * RC_UNSUPPORTED: another handle has a state with other serializers. */
MUST_USE enum rc flink_source_open(struct fs *fs, const struct flink_operator *op,
                                   struct flink_places *places, const char *scratch_dir,
                                   struct flink_source **out, struct err *err);
void flink_source_close(struct flink_source *s); /* NULL is a no-op */

struct flink_source_state {
    const struct flink_state *state;
    const struct flink_serializer *key; /* of the operator; NULL: none */
    enum flink_form form;
};
/* Each state once, as its first handle has it; lives as long as the source. */
size_t flink_source_states(const struct flink_source *s, const struct flink_source_state **out);
/* NULL: there is none. */
const struct flink_source_state *flink_source_find(const struct flink_source *s,
                                                   struct bytes name);
/* Changes after what is read, of a changelog: they are left out, what is read is older. */
size_t flink_source_changes(const struct flink_source *s);
/* Why states behind an unknown serializer are left out; NULL: none are. */
const char *flink_source_cut(const struct flink_source *s);
/* Raw keyed state that only its own operator can read; left out. */
size_t flink_source_unreadable(const struct flink_source *s);

/* Called by walks when they come to another key group: how many lie behind, and how many there are. */
typedef void flink_walked_fn(void *ctx, uint64_t done_groups, uint64_t all_groups);
void flink_source_watch(struct flink_source *s, flink_walked_fn *walked, void *ctx);

/* sizes[i]: of state i of flink_source_states. */
MUST_USE enum rc flink_source_sizes(struct flink_source *s, struct flink_size *sizes,
                                    struct err *err);

/* Entries of a state, handle by handle (flink_scan_open). One walk at a time. */
void flink_walk_begin(struct flink_source *s, struct bytes state, struct key_group_range groups,
                      struct bytes prefix);
/* key->data NULL: the end. They hold until the next call on the source. */
MUST_USE enum rc flink_walk_next(struct flink_source *s, struct bytes *key, struct bytes *value,
                                 struct err *err);
void flink_walk_end(struct flink_source *s);

#endif
