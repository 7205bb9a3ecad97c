/* yaml_tree.h - a YAML document as a tree whose nodes know where they stand: for files that people
 * write and that are looked at as a whole.
 *
 * Bounded: YAML_TREE_BYTES_MAX, YAML_TREE_DEPTH_MAX, YAML_TREE_ITEMS_MAX of one list or map; one document, no
 * aliases, no key twice, keys are plain text. No I/O; thread: any.
 */
#ifndef VARVE_CHECKPOINT_YAML_TREE_H
#define VARVE_CHECKPOINT_YAML_TREE_H

#include "base/arena.h"

#define YAML_TREE_BYTES_MAX (1u << 20)
#define YAML_TREE_DEPTH_MAX 16u
#define YAML_TREE_ITEMS_MAX 4096u

enum yaml_tree_kind { YAML_TREE_TEXT, YAML_TREE_LIST, YAML_TREE_MAP };
struct yaml_node {
    enum yaml_tree_kind kind;
    uint32_t line, column; /* from 1 */
    bool quoted;           /* a text in quotes, or a block of lines */
    const char *text;      /* without NUL; "" of a list or map */
    size_t count;          /* items of a list; entries of a map */
    struct yaml_node *items; /* of a map: key, value, key, value, ... */
};

/* what: the file's name, for messages. *out in `arena`; NULL: the document is empty. RC_INVALID
 * "what:line:column: ...", RC_LIMIT. */
MUST_USE enum rc yaml_tree_read(struct bytes text, const char *what, struct arena *arena,
                                const struct yaml_node **out, struct err *err);
/* The value of a key; NULL: there is none, or it is no map. */
const struct yaml_node *yaml_tree_get(const struct yaml_node *map, const char *key);
/* RC_INVALID "what:line:column: ..." */
enum rc yaml_tree_fault(struct err *err, const char *what, const struct yaml_node *at,
                        const char *fmt, ...) PRINTF_LIKE(4, 5);

#endif
