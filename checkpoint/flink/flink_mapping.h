/* flink_mapping.h - the file that says which state of Flink's goes on as which of a varve job's.
 *
 *     operators:
 *       - uid: counts              # Flink's; or `id:`, its 32 hex digits
 *         operator: totals         # of the job: uid, id or name
 *         states:
 *           - from: per-user       # Flink's state
 *             to: accState         # the job's
 *             key: {user: key.f0}  # each column of the job's: where it comes from
 *             value: {COUNT(*): value.count, $rows: 1}
 *         drop: [old-state]
 *     drop: [old-operator]
 *
 * A column comes from a path into what Flink wrote (`key`, `map_key`, `namespace`, `value`, then parts behind
 * points), or is a number, true, false, null, or a text in quotes. A state that is no row has a
 * source instead of a map of columns. States of an operator that are not named here go on under
 * their own names, as without a mapping. Pure; thread: any. docs/REFERENCE.md.
 */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_MAPPING_H
#define VARVE_CHECKPOINT_FLINK_FLINK_MAPPING_H

#include "checkpoint/yaml_tree.h"

struct mapped_column {
    const char *name;            /* "" of what is no row */
    const struct yaml_node *at;  /* the column's name */
    const struct yaml_node *source;
};
struct mapped_columns {
    const struct yaml_node *at; /* NULL: nothing was said */
    size_t count;
    const struct mapped_column *columns;
};
struct mapped_state {
    const struct yaml_node *at;
    const char *from, *to;
    struct mapped_columns key, map_key, value;
};
struct mapped_name {
    const struct yaml_node *at;
    const char *name;
};
struct mapped_operator {
    const struct yaml_node *at;
    const char *uid, *id; /* one of them; the other is NULL */
    struct mapped_name to;
    size_t state_count;
    const struct mapped_state *states;
    size_t drop_count;
    const struct mapped_name *drops; /* states */
};
struct flink_mapping {
    const char *file;
    size_t operator_count;
    const struct mapped_operator *operators;
    size_t drop_count;
    const struct mapped_name *drops; /* operators, by uid or id */
};
/* All of it in `arena`, `file` borrowed. RC_INVALID "file:line:column: ...": also a key that is none.
 * RC_LIMIT. */
MUST_USE enum rc flink_mapping_read(struct bytes text, const char *file, struct arena *arena,
                                    struct flink_mapping *out, struct err *err);

#endif
