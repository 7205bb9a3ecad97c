/* flink_path.h - where a column of a mapping comes from: a path into what Flink wrote, or a literal;
 * looked up in the serializers once, then followed in each entry.
 *
 *     key.f0  value.order.total  map_key  namespace.end  7  -1.5  true  null  "text"
 *
 * Parts are those of Tuples and rows (f0, f1, ...), of Pojos (their fields), and of a time window
 * (start, end). Pure; thread: any.
 */
#ifndef VARVE_CHECKPOINT_FLINK_FLINK_PATH_H
#define VARVE_CHECKPOINT_FLINK_FLINK_PATH_H

#include "checkpoint/flink/flink_key.h"
#include "checkpoint/yaml_tree.h"

enum flink_root {
    FLINK_ROOT_KEY,
    FLINK_ROOT_MAP_KEY,
    FLINK_ROOT_NAMESPACE,
    FLINK_ROOT_VALUE,
    FLINK_ROOT_LITERAL,
};
#define FLINK_ROOT_COUNT 4u /* that lead somewhere */
struct flink_step {
    size_t part;
    struct bytes name; /* of it; a subclass of a Pojo may have another there */
};
struct flink_path {
    enum flink_root root;
    const char *text; /* as it was given */
    size_t step_count;
    const struct flink_step *steps;
    struct flink_value literal;
    const struct flink_serializer *leaf; /* NULL: of a literal. As long as what it was found in; the rest lives in the arena */
};
/* roots: by enum flink_root; NULL: that entry has none. In `arena`. false: `why` has got the reason. */
bool flink_path_find(const struct yaml_node *source, const struct flink_serializer *const *roots,
                     struct arena *arena, struct flink_path *out, struct buf *why);
/* Whether a text begins as a path does, whatever follows. */
bool flink_path_begins(const char *text);
/* What a path may end at: everything inside a serializer that is no Tuple, row, Pojo or window. */
struct path_leaf {
    const char *path;
    const struct flink_serializer *serializer;
    bool named; /* the last part has a name of its own */
};
/* Those below `root` ("key"), at most FLINK_LEAVES_MAX. In `arena`. */
#define FLINK_LEAVES_MAX 1000u
size_t flink_path_leaves(const char *root, const struct flink_serializer *s, struct arena *arena,
                         const struct path_leaf **out);
/* RC_INVALID: an object of another class, without that field. *out NULL-kinded where something on
 * the way is null. */
MUST_USE enum rc flink_path_follow(const struct flink_path *p, const struct flink_value *const *roots,
                                   const struct flink_value **out, struct err *err);

#endif
