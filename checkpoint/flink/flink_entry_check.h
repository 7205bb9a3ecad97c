/* flink_entry_check.h - whether entries of Flink's keyed state lie where Flink looks for them, and can
 * be read by the serializers that their description records.
 *
 * A key's group is known where Java's hash of it is (flink_hash.h). Rows of SQL have a hash of their
 * own bytes; of rows that a program put together itself they have another, which cannot be seen: so
 * the first few keys decide, as many as chance does not make fit. No I/O; memory: one entry; thread: one owner.
 */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_ENTRY_CHECK_H
#define VARVE_CHECKPOINT_FLINK_FLINK_ENTRY_CHECK_H

#include "checkpoint/flink/flink_states.h"

enum flink_verdict {
    FLINK_ENTRY_FINE,
    FLINK_ENTRY_UNTOLD, /* past a limit, or of a serializer whose end nobody can tell */
    FLINK_ENTRY_KEY,    /* it is not one that its serializers write */
    FLINK_ENTRY_GROUP,  /* it lies in another key group than Flink computes of it */
    FLINK_ENTRY_VALUE,  /* as KEY */
};
#define FLINK_VERDICTS 5u

struct flink_entry_check; /* opaque */
struct flink_entry_check *flink_entry_check_new(const struct flink_states *states, /* borrowed */
                                                uint32_t key_group_count);
void flink_entry_check_free(struct flink_entry_check *c); /* NULL is a no-op */

/* Of an entry of a state (flink_key.h), whose key has its key group in front. value NULL: keys
 * alone. Unless it is fine, why: with state, key group and key. */
enum flink_verdict flink_entry_check(struct flink_entry_check *c, const struct flink_state *s,
                                     struct bytes key, const struct bytes *value, struct err *why);

#endif
