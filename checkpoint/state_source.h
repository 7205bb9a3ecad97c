/* state_source.h - the keyed state of one operator in a snapshot, over all its subtasks: for who
 * looks at a snapshot without running its job (backend/state_reader.h, which see for what is proven
 * and when). One handle is open at a time. Thread: one owner. */
#ifndef VARVE_CHECKPOINT_STATE_SOURCE_H
#define VARVE_CHECKPOINT_STATE_SOURCE_H

#include "backend/state_reader.h"
#include "checkpoint/metadata.h"

struct state_source; /* opaque */
/* op: files have resolved_path; borrowed until closed. scratch_dir: a directory that is there; what
 * is made below it goes again. RC_CORRUPT: two handles have the same key groups. */
MUST_USE enum rc state_source_open(struct fs *fs, const struct operator_meta *op,
                                   const char *scratch_dir, struct state_source **out,
                                   struct err *err);
void state_source_close(struct state_source *s); /* NULL is a no-op */

/* Called by walks when they come to another key group: how many lie behind, and how many there are. */
typedef void state_walked_fn(void *ctx, uint64_t done_groups, uint64_t all_groups);
void state_source_watch(struct state_source *s, state_walked_fn *walked, void *ctx);

/* States by name, as their first handle has them; borrowed from the source. RC_UNSUPPORTED: another
 * handle has one with other types. */
MUST_USE enum rc state_source_states(struct state_source *s, const struct state_desc **states,
                                     size_t *count, struct err *err);
/* sizes[i]: of state i of those. */
MUST_USE enum rc state_source_sizes(struct state_source *s, struct state_size *sizes,
                                    struct err *err);

/* value->data NULL: there is none. Holds until the next call. */
MUST_USE enum rc state_source_get(struct state_source *s, const char *state, struct bytes key,
                                  struct bytes *value, struct err *err);

/* Entries of a state whose key group lies in `groups` and whose key starts with `prefix` (empty:
 * all), in bytewise order of the keys. One walk at a time. */
void state_walk_begin(struct state_source *s, const char *state, struct key_group_range groups,
                      struct bytes prefix);
/* key->data NULL: the end. They hold until the next call on the source. */
MUST_USE enum rc state_walk_next(struct state_source *s, struct bytes *key, struct bytes *value,
                                 struct err *err);
void state_walk_end(struct state_source *s);

#endif
