/* flink_mapping.c - see flink_mapping.h */
#include "checkpoint/flink/flink_mapping.h"

#include "base/nearest.h"

#define ID_DIGITS 32u

struct reading {
    const char *file;
    struct arena *arena;
    struct err *err;
};

/* ---- pieces ---------------------------------------------------------------------------------- */

/* Every key of a map is one of these (NULL behind the last). */
static enum rc check_words(struct reading *r, const struct yaml_node *map, const char *what,
                           const char *const *words)
{
    struct buf all = {0};

    if (map->kind != YAML_TREE_MAP)
        return yaml_tree_fault(r->err, r->file, map, "%s is a map of keys and values", what);
    for (size_t i = 0; i < map->count; i++) {
        const struct yaml_node *key = &map->items[2 * i];
        bool known = false;
        const char *near;
        size_t count = 0;

        for (; words[count] != NULL; count++)
            known = known || strcmp(words[count], key->text) == 0;
        if (known)
            continue;
        for (size_t k = 0; k < count; k++)
            buf_printf(&all, "%s%s", k == 0 ? "" : ", ", words[k]);
        near = nearest_of(key->text, words, count);
        yaml_tree_fault(r->err, r->file, key, "%s has no key \"%s\"%s%s%s; it has %s", what, key->text,
                        near == NULL ? "" : " (did you mean ", near == NULL ? "" : near,
                        near == NULL ? "" : "?)", buf_cstr(&all));
        buf_release(&all);
        return RC_INVALID;
    }
    return RC_OK;
}

static enum rc take_text(struct reading *r, const struct yaml_node *node, const char *what,
                         const char **out)
{
    if (node->kind != YAML_TREE_TEXT || node->text[0] == '\0')
        return yaml_tree_fault(r->err, r->file, node, "%s must be a text", what);
    *out = node->text;
    return RC_OK;
}

static enum rc take_required(struct reading *r, const struct yaml_node *map, const char *key,
                             const char *of, struct mapped_name *out)
{
    out->at = yaml_tree_get(map, key);
    if (out->at == NULL)
        return yaml_tree_fault(r->err, r->file, map, "%s needs a key \"%s\"", of, key);
    return take_text(r, out->at, key, &out->name);
}

/* node NULL: no items. */
static enum rc check_list(struct reading *r, const struct yaml_node *node, const char *what,
                          size_t *count)
{
    *count = node == NULL ? 0 : node->count;
    if (node != NULL && node->kind != YAML_TREE_LIST)
        return yaml_tree_fault(r->err, r->file, node, "%s is a list%s", what,
                               node->kind == YAML_TREE_TEXT && node->text[0] == '\0'
                                   ? ", and has no items yet"
                                   : "");
    return RC_OK;
}

static enum rc take_names(struct reading *r, const struct yaml_node *node, size_t *count,
                          const struct mapped_name **out)
{
    struct mapped_name *names;

    RETURN_IF_ERR(check_list(r, node, "drop", count));
    *out = names = ARENA_ARRAY(r->arena, *count + 1, struct mapped_name);
    for (size_t i = 0; i < *count; i++) {
        names[i].at = &node->items[i];
        RETURN_IF_ERR(take_text(r, names[i].at, "an item of drop", &names[i].name));
        for (size_t k = 0; k < i; k++)
            if (strcmp(names[k].name, names[i].name) == 0)
                return yaml_tree_fault(r->err, r->file, names[i].at,
                                       "\"%s\" is to be dropped already, by line %u", names[i].name,
                                       names[k].at->line);
    }
    return RC_OK;
}

/* ---- states ---------------------------------------------------------------------------------- */

static enum rc check_source(struct reading *r, const struct yaml_node *node)
{
    if (node->kind != YAML_TREE_TEXT || (node->text[0] == '\0' && !node->quoted))
        return yaml_tree_fault(r->err, r->file, node,
                               "a path such as value.f0, a number, true, false, null or a text in "
                               "quotes was expected");
    return RC_OK;
}

static enum rc take_columns(struct reading *r, const struct yaml_node *node,
                            struct mapped_columns *out)
{
    struct mapped_column *columns;

    out->at = node;
    if (node == NULL)
        return RC_OK;
    if (node->kind != YAML_TREE_MAP) {
        out->columns = columns = ARENA_NEW(r->arena, struct mapped_column);
        *columns = (struct mapped_column){"", node, node};
        out->count = 1;
        return check_source(r, node);
    }
    out->count = node->count;
    out->columns = columns = ARENA_ARRAY(r->arena, node->count + 1, struct mapped_column);
    for (size_t i = 0; i < node->count; i++) {
        const struct yaml_node *key = &node->items[2 * i];

        columns[i] = (struct mapped_column){key->text, key, key + 1};
        RETURN_IF_ERR(check_source(r, key + 1));
    }
    return RC_OK;
}

static enum rc take_state(struct reading *r, const struct yaml_node *node, struct mapped_state *out)
{
    static const char *const words[] = {"from", "to", "key", "map_key", "value", NULL};
    struct mapped_name name;

    *out = (struct mapped_state){.at = node};
    RETURN_IF_ERR(check_words(r, node, "a state", words));
    RETURN_IF_ERR(take_required(r, node, "from", "a state", &name));
    out->from = name.name;
    RETURN_IF_ERR(take_required(r, node, "to", "a state", &name));
    out->to = name.name;
    RETURN_IF_ERR(take_columns(r, yaml_tree_get(node, "key"), &out->key));
    RETURN_IF_ERR(take_columns(r, yaml_tree_get(node, "map_key"), &out->map_key));
    return take_columns(r, yaml_tree_get(node, "value"), &out->value);
}

static enum rc take_states(struct reading *r, const struct yaml_node *node,
                           struct mapped_operator *out)
{
    struct mapped_state *states;

    RETURN_IF_ERR(check_list(r, node, "states", &out->state_count));
    out->states = states = ARENA_ARRAY(r->arena, out->state_count + 1, struct mapped_state);
    for (size_t i = 0; i < out->state_count; i++) {
        RETURN_IF_ERR(take_state(r, &node->items[i], &states[i]));
        for (size_t k = 0; k < i; k++)
            if (strcmp(states[k].to, states[i].to) == 0)
                return yaml_tree_fault(r->err, r->file, states[i].at,
                                       "state \"%s\" of the job comes from \"%s\" already, in line %u",
                                       states[i].to, states[k].from, states[k].at->line);
    }
    return RC_OK;
}

/* ---- operators ------------------------------------------------------------------------------- */

static enum rc take_whose(struct reading *r, const struct yaml_node *node,
                          struct mapped_operator *out)
{
    const struct yaml_node *uid = yaml_tree_get(node, "uid"), *id = yaml_tree_get(node, "id");

    if ((uid == NULL) == (id == NULL))
        return yaml_tree_fault(r->err, r->file, node,
                               "an operator has a uid or an id of Flink's, one of them");
    if (uid != NULL)
        return take_text(r, uid, "uid", &out->uid);
    RETURN_IF_ERR(take_text(r, id, "id", &out->id));
    if (strlen(out->id) != ID_DIGITS || strspn(out->id, "0123456789abcdef") != ID_DIGITS)
        return yaml_tree_fault(r->err, r->file, id, "an id is %u hex digits, in small letters",
                               ID_DIGITS);
    return RC_OK;
}

static bool same_whose(const struct mapped_operator *a, const struct mapped_operator *b)
{
    return a->uid != NULL ? b->uid != NULL && strcmp(a->uid, b->uid) == 0
                          : b->id != NULL && strcmp(a->id, b->id) == 0;
}

static enum rc take_operator(struct reading *r, const struct yaml_node *node,
                             struct mapped_operator *out)
{
    static const char *const words[] = {"uid", "id", "operator", "states", "drop", NULL};

    *out = (struct mapped_operator){.at = node};
    RETURN_IF_ERR(check_words(r, node, "an operator", words));
    RETURN_IF_ERR(take_whose(r, node, out));
    RETURN_IF_ERR(take_required(r, node, "operator", "an operator", &out->to));
    RETURN_IF_ERR(take_states(r, yaml_tree_get(node, "states"), out));
    return take_names(r, yaml_tree_get(node, "drop"), &out->drop_count, &out->drops);
}

static enum rc take_operators(struct reading *r, const struct yaml_node *node,
                              struct flink_mapping *out)
{
    struct mapped_operator *operators;

    RETURN_IF_ERR(check_list(r, node, "operators", &out->operator_count));
    out->operators = operators =
        ARENA_ARRAY(r->arena, out->operator_count + 1, struct mapped_operator);
    for (size_t i = 0; i < out->operator_count; i++) {
        RETURN_IF_ERR(take_operator(r, &node->items[i], &operators[i]));
        for (size_t k = 0; k < i; k++)
            if (same_whose(&operators[k], &operators[i]))
                return yaml_tree_fault(r->err, r->file, operators[i].at,
                                       "this operator stands already in line %u",
                                       operators[k].at->line);
    }
    return RC_OK;
}

enum rc flink_mapping_read(struct bytes text, const char *file, struct arena *arena,
                           struct flink_mapping *out, struct err *err)
{
    static const char *const words[] = {"operators", "drop", NULL};
    struct reading r = {file, arena, err};
    const struct yaml_node *root;

    *out = (struct flink_mapping){.file = file};
    RETURN_IF_ERR(yaml_tree_read(text, file, arena, &root, err));
    if (root == NULL)
        return err_set(err, RC_INVALID, "%s: an empty mapping", file);
    RETURN_IF_ERR(check_words(&r, root, "a mapping", words));
    RETURN_IF_ERR(take_operators(&r, yaml_tree_get(root, "operators"), out));
    return take_names(&r, yaml_tree_get(root, "drop"), &out->drop_count, &out->drops);
}
