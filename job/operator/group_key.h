/* group_key.h - the grouping columns of a keyed operator: their keys in state, back again, and in messages. Thread: the task's. */
#ifndef VARVE_JOB_OPERATOR_GROUP_KEY_H
#define VARVE_JOB_OPERATOR_GROUP_KEY_H

#include "job/row_key.h"

struct group_key {
    struct arena *arena;
    struct schema schema; /* the key columns alone */
    const uint32_t *columns; /* in the input */
    uint32_t count;
    uint32_t key_group_count;
    enum key_namespace ns;
    struct row_key *rows;
    const char *type_text; /* "ROW<`k` STRING>" */
};
/* `input` and `columns` are borrowed while the group_key lives. */
void group_key_init(struct group_key *g, const struct schema *input, const uint32_t *columns,
                    uint32_t count, uint32_t key_group_count, enum key_namespace ns);
void group_key_release(struct group_key *g);
/* The type text alone, in `a`. */
const char *group_key_type(struct arena *a, const struct schema *input, const uint32_t *columns, uint32_t count);
/* Appends the key's columns 0..count-1 to a row of `out` (not ended). RC_CORRUPT: the key has another shape. */
MUST_USE enum rc group_key_decode(const struct group_key *g, struct bytes key, struct batch_builder *out,
                                  int64_t *window, uint32_t *group, struct err *err);
/* "(k = a, day = 2026-01-01)" of a row of the key columns; long values are cut. */
void group_key_print(const struct group_key *g, const struct column *keys, uint32_t row, struct buf *out);

#endif
