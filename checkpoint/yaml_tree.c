/* yaml_tree.c - see yaml_tree.h: libyaml's events, put together. */
#include "checkpoint/yaml_tree.h"

#include <stdarg.h>
#include <stdio.h>
#include <yaml.h>

#define FAULT_MAX 1024

struct growing { /* nodes of one list or map */
    size_t count, cap;
    struct yaml_node *nodes;
};
struct walk {
    yaml_parser_t parser;
    const char *what;
    struct arena *arena;
    struct err *err;
};

enum rc yaml_tree_fault(struct err *err, const char *what, const struct yaml_node *at,
                        const char *fmt, ...)
{
    char text[FAULT_MAX];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return err_set(err, RC_INVALID, "%s:%u:%u: %s", what, at->line, at->column, text);
}

static struct yaml_node node_at(const yaml_mark_t *mark)
{
    return (struct yaml_node){
        .line = (uint32_t)mark->line + 1, .column = (uint32_t)mark->column + 1, .text = ""};
}

/* The next event; the caller deletes it unless this fails. */
static enum rc next_event(struct walk *w, yaml_event_t *event)
{
    struct yaml_node at;

    if (!yaml_parser_parse(&w->parser, event)) {
        at = node_at(&w->parser.problem_mark);
        return yaml_tree_fault(w->err, w->what, &at, "%s%s%s",
                               w->parser.problem != NULL ? w->parser.problem : "not YAML",
                               w->parser.context != NULL ? " " : "",
                               w->parser.context != NULL ? w->parser.context : "");
    }
    if (event->type != YAML_ALIAS_EVENT)
        return RC_OK;
    at = node_at(&event->start_mark);
    yaml_event_delete(event);
    return yaml_tree_fault(w->err, w->what, &at, "aliases (*name) are not accepted");
}

static enum rc take_text(struct walk *w, const yaml_event_t *event, struct yaml_node *out)
{
    const unsigned char *text = event->data.scalar.value;
    size_t len = event->data.scalar.length;

    if (memchr(text, 0, len) != NULL)
        return yaml_tree_fault(w->err, w->what, out, "a NUL character");
    out->kind = YAML_TREE_TEXT;
    out->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    out->text = arena_strndup(w->arena, (const char *)text, len);
    return RC_OK;
}

static struct yaml_node *grow(struct growing *g)
{
    if (g->count == g->cap) {
        g->cap = g->cap == 0 ? 16 : 2 * g->cap;
        g->nodes = mem_realloc(g->nodes, g->cap * sizeof *g->nodes);
    }
    return &g->nodes[g->count++];
}

/* Of a map: its last node is a key, which is there for the first time. */
static enum rc check_key(const struct walk *w, const struct growing *g)
{
    const struct yaml_node *key = &g->nodes[g->count - 1];

    if (key->kind != YAML_TREE_TEXT)
        return yaml_tree_fault(w->err, w->what, key, "a key must be plain text");
    for (size_t i = 0; i + 1 < g->count; i += 2)
        if (strcmp(g->nodes[i].text, key->text) == 0)
            return yaml_tree_fault(w->err, w->what, key, "%s stands already in line %u", key->text,
                                   g->nodes[i].line);
    return RC_OK;
}

static enum rc take_node(struct walk *w, unsigned depth, struct yaml_node *out, bool *end);

static enum rc take_items(struct walk *w, unsigned depth, struct yaml_node *out)
{
    size_t each = out->kind == YAML_TREE_MAP ? 2 : 1;
    struct growing g = {0};
    struct yaml_node item;
    enum rc rc;
    bool end;

    for (;;) {
        GOTO_IF_ERR(take_node(w, depth + 1, &item, &end));
        if (end)
            break;
        if (g.count == each * YAML_TREE_ITEMS_MAX) {
            rc = err_set(w->err, RC_LIMIT, "%s:%u:%u: more than %u items", w->what, item.line,
                         item.column, YAML_TREE_ITEMS_MAX);
            goto out;
        }
        *grow(&g) = item;
        if (each == 2 && g.count % 2 == 1)
            GOTO_IF_ERR(check_key(w, &g));
    }
    out->count = g.count / each;
    out->items = ARENA_ARRAY(w->arena, g.count + 1, struct yaml_node);
    if (g.count > 0)
        memcpy(out->items, g.nodes, g.count * sizeof *g.nodes);
    rc = RC_OK;
out:
    mem_free(g.nodes);
    return rc;
}

/* *end: of a list or map instead of a node. */
static enum rc take_node(struct walk *w, unsigned depth, struct yaml_node *out, bool *end)
{
    yaml_event_t event;
    enum rc rc = RC_OK;

    RETURN_IF_ERR(next_event(w, &event));
    *out = node_at(&event.start_mark);
    *end = event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT;
    out->kind = event.type == YAML_MAPPING_START_EVENT ? YAML_TREE_MAP : YAML_TREE_LIST;
    if (event.type == YAML_SCALAR_EVENT)
        rc = take_text(w, &event, out);
    else if (!*end && depth == YAML_TREE_DEPTH_MAX)
        rc = err_set(w->err, RC_LIMIT, "%s:%u:%u: more than %u levels", w->what, out->line,
                     out->column, YAML_TREE_DEPTH_MAX);
    yaml_event_delete(&event);
    RETURN_IF_ERR(rc);
    return *end || out->kind == YAML_TREE_TEXT ? RC_OK : take_items(w, depth, out);
}

/* Events around the document: of the stream, and of the document itself. */
static enum rc take_document(struct walk *w, const struct yaml_node **out)
{
    struct yaml_node root, *kept;
    unsigned documents = 0;
    bool end;

    for (;;) {
        yaml_event_t event;
        yaml_event_type_t type;

        RETURN_IF_ERR(next_event(w, &event));
        type = event.type;
        root = node_at(&event.start_mark);
        yaml_event_delete(&event);
        if (type == YAML_STREAM_END_EVENT)
            return RC_OK;
        if (type != YAML_DOCUMENT_START_EVENT)
            continue;
        if (++documents > 1)
            return yaml_tree_fault(w->err, w->what, &root, "a second document");
        RETURN_IF_ERR(take_node(w, 1, &root, &end));
        if (root.kind == YAML_TREE_TEXT && root.text[0] == '\0' && !root.quoted)
            continue;
        kept = ARENA_NEW(w->arena, struct yaml_node);
        *kept = root;
        *out = kept;
    }
}

enum rc yaml_tree_read(struct bytes text, const char *what, struct arena *arena,
                       const struct yaml_node **out, struct err *err)
{
    struct walk w = {.what = what, .arena = arena, .err = err};
    enum rc rc;

    *out = NULL;
    if (text.len > YAML_TREE_BYTES_MAX)
        return err_set(err, RC_LIMIT, "%s: %zu bytes, at most %u", what, text.len,
                       YAML_TREE_BYTES_MAX);
    ASSERT(yaml_parser_initialize(&w.parser));
    yaml_parser_set_input_string(&w.parser, text.data != NULL ? text.data : (const uint8_t *)"",
                                 text.len);
    rc = take_document(&w, out);
    yaml_parser_delete(&w.parser);
    return rc;
}

const struct yaml_node *yaml_tree_get(const struct yaml_node *map, const char *key)
{
    for (size_t i = 0; map->kind == YAML_TREE_MAP && i < map->count; i++)
        if (strcmp(map->items[2 * i].text, key) == 0)
            return &map->items[2 * i + 1];
    return NULL;
}
