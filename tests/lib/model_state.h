/* model_state.h - a sorted map of byte strings: what a keyed state must equal. Plain and slow on
 * purpose. Aborts on misuse. Thread: one. */
#ifndef VARVE_TESTS_LIB_MODEL_STATE_H
#define VARVE_TESTS_LIB_MODEL_STATE_H

#include "base/arena.h"

struct model_entry {
    struct bytes key, value; /* owned by the model */
};
struct model_state {
    struct model_entry *entries; /* in bytewise order of the keys */
    size_t count, cap;
};
void model_release(struct model_state *m);
/* Index of the key, or of the first entry behind it; *found says which. */
size_t model_find(const struct model_state *m, struct bytes key, bool *found);
const struct model_entry *model_get(const struct model_state *m,
                                    struct bytes key); /* NULL: absent */
void model_put(struct model_state *m, struct bytes key, struct bytes value);
bool model_del(struct model_state *m, struct bytes key); /* false: was absent */
void model_copy(const struct model_state *from, struct model_state *out);
/* First difference in words, or NULL. Borrowed until the next call on the same thread. */
const char *model_differ(const struct model_state *a, const struct model_state *b);

#endif
