/* flink_path.c - see flink_path.h */
#include "checkpoint/flink/flink_path.h"

#include <stdlib.h>

static const char *const root_names[] = {"key", "map_key", "namespace", "value"};

/* ---- literals -------------------------------------------------------------------------------- */

static bool is_number(const char *text, bool *point)
{
    size_t digits = 0;

    *point = false;
    if (*text == '-')
        text++;
    for (; *text != '\0'; text++) {
        if (*text == '.' && !*point && digits > 0)
            *point = true;
        else if (*text >= '0' && *text <= '9')
            digits++;
        else
            return false;
    }
    return digits > 0;
}

static bool find_literal(const struct yaml_node *source, struct flink_path *out)
{
    struct flink_value *v = &out->literal;
    bool point, truth = strcmp(source->text, "true") == 0;

    if (source->quoted) {
        *v = (struct flink_value){.kind = FLINK_VALUE_TEXT, .text = bytes_of_str(source->text)};
    } else if (truth || strcmp(source->text, "false") == 0) {
        *v = (struct flink_value){.kind = FLINK_VALUE_BOOL, .integer = truth};
    } else if (is_number(source->text, &point)) {
        *v = (struct flink_value){.kind = FLINK_VALUE_NUMBER, .text = bytes_of_str(source->text)};
        if (!point && v->text.len < 18) {
            v->kind = FLINK_VALUE_INTEGER;
            v->integer = strtoll(source->text, NULL, 10);
        }
    } else if (strcmp(source->text, "null") != 0) {
        return false;
    }
    out->root = FLINK_ROOT_LITERAL;
    return true;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* The parts of a record as its reader gives them (flink_value.h), and how many stand before them. */
static size_t parts_of(const struct flink_serializer *s, size_t *before)
{
    *before = s->coding == FLINK_ROW_DATA || (s->coding == FLINK_ROW && s->flag) ? 1 : 0;
    switch (s->coding) {
    case FLINK_TUPLE:
    case FLINK_ROW:
    case FLINK_ROW_DATA:
    case FLINK_POJO:
        return s->child_count;
    case FLINK_TIME_WINDOW:
        return 2;
    default:
        return 0;
    }
}

static struct bytes part_name(const struct flink_serializer *s, size_t i, struct arena *arena)
{
    if (s->coding == FLINK_POJO)
        return s->names[i];
    return bytes_of_str(s->coding == FLINK_TIME_WINDOW ? i == 0 ? "start" : "end"
                                                       : arena_printf(arena, "f%zu", i));
}

static const struct flink_serializer *part_serializer(const struct flink_serializer *s, size_t i)
{
    static const struct flink_serializer ms = {.coding = FLINK_LONG, .length = 8};

    return s->coding == FLINK_TIME_WINDOW ? &ms : s->children[i];
}

static const struct flink_serializer *without_null(const struct flink_serializer *s)
{
    s = flink_serializer_bare(s);
    return s->coding == FLINK_NULLABLE ? flink_serializer_bare(s->children[0]) : s;
}

static bool find_part(const struct flink_serializer **at, struct bytes name, struct arena *arena,
                      struct flink_step *out, struct buf *why)
{
    const struct flink_serializer *s = without_null(*at);
    size_t before, count = parts_of(s, &before);

    for (size_t i = 0; i < count; i++) {
        if (bytes_eq(part_name(s, i, arena), name)) {
            *out = (struct flink_step){before + i, arena_bytes_copy(arena, name)};
            *at = part_serializer(s, i);
            return true;
        }
    }
    flink_serializer_print(s, why);
    buf_append_str(why, " has no part \"");
    buf_append_escaped(why, name, 100);
    buf_append_str(why, count == 0 ? "\", it has none" : "\"; it has ");
    for (size_t i = 0; i < count; i++) {
        buf_append_str(why, i == 0 ? "" : ", ");
        buf_append_escaped(why, part_name(s, i, arena), 100);
    }
    return false;
}

static size_t count_points(const char *text)
{
    size_t n = 0;

    for (; *text != '\0'; text++)
        n += *text == '.';
    return n;
}

/* FLINK_ROOT_COUNT: none. */
static enum flink_root root_of(const char *text, size_t len)
{
    enum flink_root root = FLINK_ROOT_KEY;

    while (root < FLINK_ROOT_COUNT &&
           (strlen(root_names[root]) != len || memcmp(root_names[root], text, len) != 0))
        root++;
    return root;
}

bool flink_path_begins(const char *text)
{
    return root_of(text, strcspn(text, ".")) < FLINK_ROOT_COUNT;
}

bool flink_path_find(const struct yaml_node *source, const struct flink_serializer *const *roots,
                     struct arena *arena, struct flink_path *out, struct buf *why)
{
    const char *rest = source->text;
    size_t len = strcspn(rest, ".");
    struct flink_step *steps;

    *out = (struct flink_path){.text = source->text};
    if (find_literal(source, out))
        return true;
    out->root = root_of(rest, len);
    if (out->root == FLINK_ROOT_COUNT) {
        buf_printf(why, "\"%s\" is no path: one begins with key, value, map_key or namespace", rest);
        return false;
    }
    out->leaf = roots[out->root];
    if (out->leaf == NULL) {
        buf_printf(why, "%s: Flink wrote no %s", rest, root_names[out->root]);
        return false;
    }
    out->steps = steps = ARENA_ARRAY(arena, count_points(rest) + 1, struct flink_step);
    for (rest += len; *rest == '.'; rest += len) {
        rest++;
        len = strcspn(rest, ".");
        if (!find_part(&out->leaf, bytes_of(rest, len), arena, &steps[out->step_count++], why))
            return false;
    }
    return true;
}

/* ---- leaves ---------------------------------------------------------------------------------- */

struct leaves {
    struct arena *arena;
    size_t count;
    struct path_leaf items[FLINK_LEAVES_MAX];
};

static void add_leaves(struct leaves *l, const char *path, const struct flink_serializer *s, bool named)
{
    const struct flink_serializer *bare = without_null(s);
    size_t before, count = parts_of(bare, &before);

    for (size_t i = 0; i < count && l->count < FLINK_LEAVES_MAX; i++) {
        struct buf name = {0};

        buf_append_escaped(&name, part_name(bare, i, l->arena), 200);
        add_leaves(l, arena_printf(l->arena, "%s.%s", path, buf_cstr(&name)), part_serializer(bare, i),
                   bare->coding == FLINK_POJO || bare->coding == FLINK_TIME_WINDOW);
        buf_release(&name);
    }
    if (count == 0 && l->count < FLINK_LEAVES_MAX)
        l->items[l->count++] = (struct path_leaf){path, s, named};
}

size_t flink_path_leaves(const char *root, const struct flink_serializer *s, struct arena *arena,
                         const struct path_leaf **out)
{
    struct leaves *l = ARENA_NEW(arena, struct leaves);

    l->arena = arena;
    if (s != NULL)
        add_leaves(l, root, s, false);
    *out = l->items;
    return l->count;
}

/* ---- in an entry ----------------------------------------------------------------------------- */

enum rc flink_path_follow(const struct flink_path *p, const struct flink_value *const *roots,
                          const struct flink_value **out, struct err *err)
{
    const struct flink_value *v = p->root == FLINK_ROOT_LITERAL ? &p->literal : roots[p->root];

    for (size_t i = 0; i < p->step_count && v->kind != FLINK_VALUE_NULL; i++) {
        const struct flink_step *s = &p->steps[i];

        if (v->kind != FLINK_VALUE_RECORD || s->part >= v->part_count ||
            !bytes_eq(v->parts[s->part].name, s->name))
            return err_set(err, RC_INVALID, "an object of a class of its own, whose fields are others");
        v = &v->parts[s->part];
    }
    *out = v;
    return RC_OK;
}
