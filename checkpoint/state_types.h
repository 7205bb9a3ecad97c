/* state_types.h - keyed states and their types in text: columns, and old and new side by side (B24,
 * B25). Pure; any thread. */
#ifndef VARVE_CHECKPOINT_STATE_TYPES_H
#define VARVE_CHECKPOINT_STATE_TYPES_H

#include "backend/state_handle.h"

/* One column of "ROW<`a` BIGINT, `b` DECIMAL(10, 2)>". */
struct type_column {
    const char *name, *type; /* without quotes */
};
/* The columns of a ROW type, in `arena`; any other type is one column without a name. */
size_t type_columns(const char *type, struct arena *arena, struct type_column **out);
/* NULL: there is none of that name. */
const struct type_column *type_column_find(const struct type_column *columns, size_t count,
                                           const char *name);
/* Appends "\n  key k: was BIGINT, is STRING", one line for each column of key, namespace and map key
 * that differs, moved, came or went; and for the kind. */
void state_key_differences(const struct state_desc *old, const struct state_desc *new,
                           struct buf *out);
/* The same and the value's. Nothing appended: the states fit. */
void state_differences(const struct state_desc *old, const struct state_desc *new,
                       struct buf *out);
/* "value state" */
const char *state_kind_words(enum state_kind kind);

#endif
