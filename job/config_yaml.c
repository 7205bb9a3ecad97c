/* config_yaml.c - a YAML file into the file layer of a configuration; see config.h.
 *
 * Walks libyaml's events; nested maps and dotted keys mean the same. Limits: 1 MiB, 32 levels, one
 * document, no aliases.
 */
#include "job/config.h"

#include <yaml.h>

#define DEPTH_MAX 32
#define KNOWN_KEYS_MAX (OPTION_COUNT * 4) /* an option has at most three aliases */

struct walk {
    yaml_parser_t parser;
    struct config *config;
    const char *what;
    struct buf path;  /* dotted key so far, NUL-terminated */
    struct buf value; /* scalar or joined list */
    struct arena *arena;
    size_t seen_count;
    struct {
        const char *key;
        size_t line;
    } seen[KNOWN_KEYS_MAX]; /* keys and aliases set so far */
    struct err *err;
};

static enum rc fail_at(struct walk *w, const yaml_mark_t *mark, const char *why)
{
    return err_set(w->err, RC_INVALID, "%s:%zu: %s", w->what, mark->line + 1, why);
}

/* The next event; the caller deletes it unless this fails. */
static enum rc next_event(struct walk *w, yaml_event_t *event)
{
    enum rc rc;

    if (!yaml_parser_parse(&w->parser, event))
        return err_set(w->err, RC_INVALID, "%s:%zu: %s%s%s", w->what,
                       w->parser.problem_mark.line + 1,
                       w->parser.problem != NULL ? w->parser.problem : "not YAML",
                       w->parser.context != NULL ? " " : "",
                       w->parser.context != NULL ? w->parser.context : "");
    if (event->type == YAML_ALIAS_EVENT) {
        rc = fail_at(w, &event->start_mark, "aliases (*name) are not accepted");
        yaml_event_delete(event);
        return rc;
    }
    return RC_OK;
}

/* The scalar's text into out, which must not hold a NUL. */
static enum rc take_scalar(struct walk *w, const yaml_event_t *event, struct buf *out)
{
    const unsigned char *text = event->data.scalar.value;
    size_t len = event->data.scalar.length;

    if (memchr(text, 0, len) != NULL)
        return fail_at(w, &event->start_mark, "a NUL character");
    if (len > FS_PATH_MAX)
        return err_set(w->err, RC_LIMIT, "%s:%zu: %zu bytes are too many for a key or value",
                       w->what, event->start_mark.line + 1, len);
    buf_append(out, text, len);
    return RC_OK;
}

static enum rc set_value(struct walk *w, const yaml_mark_t *mark)
{
    const char *key = buf_cstr(&w->path);
    enum rc rc;

    for (size_t i = 0; i < w->seen_count; i++)
        if (strcmp(w->seen[i].key, key) == 0)
            return err_set(w->err, RC_INVALID, "%s:%zu: %s was already set in line %zu", w->what,
                           mark->line + 1, key, w->seen[i].line + 1);
    rc = config_set(w->config, CONFIG_FILE, key, buf_cstr(&w->value), w->err);
    if (rc != RC_OK)
        return err_wrap(w->err, rc, "%s:%zu", w->what, mark->line + 1);
    ASSERT(w->seen_count < KNOWN_KEYS_MAX);
    w->seen[w->seen_count].key = arena_strdup(w->arena, key);
    w->seen[w->seen_count++].line = mark->line;
    return RC_OK;
}

/* A list of scalars, its start already taken, becomes "a;b". */
static enum rc take_list(struct walk *w, const yaml_mark_t *start)
{
    yaml_event_t event;
    enum rc rc;

    buf_clear(&w->value);
    for (size_t i = 0;; i++) {
        RETURN_IF_ERR(next_event(w, &event));
        rc = RC_OK;
        if (event.type == YAML_SEQUENCE_END_EVENT) {
            yaml_event_delete(&event);
            return set_value(w, start);
        }
        if (event.type != YAML_SCALAR_EVENT) {
            rc = fail_at(w, &event.start_mark, "a list may hold plain values only");
        } else {
            if (i > 0)
                buf_append_u8(&w->value, ';');
            rc = take_scalar(w, &event, &w->value);
        }
        yaml_event_delete(&event);
        RETURN_IF_ERR(rc);
    }
}

/* A map, its start already taken: keys and values up to its end. */
static enum rc take_map(struct walk *w, unsigned depth)
{
    size_t outer_len = w->path.len;
    yaml_event_t event;
    yaml_mark_t mark;
    enum rc rc;

    for (;;) {
        yaml_event_type_t type;

        RETURN_IF_ERR(next_event(w, &event));
        type = event.type;
        mark = event.start_mark;
        rc = RC_OK;
        w->path.len = outer_len;
        if (type == YAML_SCALAR_EVENT) {
            if (outer_len > 0)
                buf_append_u8(&w->path, '.');
            rc = take_scalar(w, &event, &w->path);
        } else if (type != YAML_MAPPING_END_EVENT) {
            rc = fail_at(w, &mark, "a key must be plain text");
        }
        yaml_event_delete(&event);
        RETURN_IF_ERR(rc);
        if (type == YAML_MAPPING_END_EVENT)
            return RC_OK;

        RETURN_IF_ERR(next_event(w, &event));
        type = event.type;
        buf_clear(&w->value);
        if (type == YAML_SCALAR_EVENT) {
            if (event.data.scalar.length == 0 && event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
                rc = err_set(w->err, RC_INVALID, "%s:%zu: %s has no value", w->what, mark.line + 1,
                             buf_cstr(&w->path));
            else
                rc = take_scalar(w, &event, &w->value);
        }
        yaml_event_delete(&event);
        RETURN_IF_ERR(rc);
        if (type == YAML_SCALAR_EVENT)
            RETURN_IF_ERR(set_value(w, &mark));
        else if (type == YAML_SEQUENCE_START_EVENT)
            RETURN_IF_ERR(take_list(w, &mark));
        else if (depth == DEPTH_MAX)
            return err_set(w->err, RC_LIMIT, "%s:%zu: more than %d levels", w->what, mark.line + 1,
                           DEPTH_MAX);
        else
            RETURN_IF_ERR(take_map(w, depth + 1));
    }
}

static enum rc walk_file(struct walk *w)
{
    unsigned documents = 0;
    yaml_event_t event;
    enum rc rc = RC_OK;

    for (;;) {
        yaml_event_type_t type;
        bool empty;

        RETURN_IF_ERR(next_event(w, &event));
        type = event.type;
        empty = type == YAML_SCALAR_EVENT && event.data.scalar.length == 0 &&
                event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
        if (type == YAML_DOCUMENT_START_EVENT && ++documents > 1)
            rc = fail_at(w, &event.start_mark, "a second document");
        else if ((type == YAML_SCALAR_EVENT && !empty) || type == YAML_SEQUENCE_START_EVENT)
            rc = fail_at(w, &event.start_mark, "keys and values were expected");
        yaml_event_delete(&event);
        RETURN_IF_ERR(rc);
        if (type == YAML_MAPPING_START_EVENT)
            RETURN_IF_ERR(take_map(w, 1));
        if (type == YAML_STREAM_END_EVENT)
            return RC_OK;
    }
}

enum rc config_load_yaml(struct config *c, struct bytes text, const char *what, struct err *err)
{
    struct walk *w;
    struct config *draft;
    enum rc rc;

    if (text.len > CONFIG_FILE_BYTES_MAX)
        return err_set(err, RC_LIMIT, "%s: %zu bytes, at most %u", what, text.len,
                       CONFIG_FILE_BYTES_MAX);
    draft = config_copy(c);
    w = mem_calloc(1, sizeof *w);
    *w = (struct walk){.what = what, .err = err, .config = draft, .arena = arena_new(0)};
    ASSERT(yaml_parser_initialize(&w->parser));
    yaml_parser_set_input_string(&w->parser, text.data != NULL ? text.data : (const uint8_t *)"",
                                 text.len);
    rc = walk_file(w);
    yaml_parser_delete(&w->parser);
    buf_release(&w->path);
    buf_release(&w->value);
    arena_free(w->arena);
    mem_free(w);
    if (rc == RC_OK)
        config_swap(c, draft);
    config_free(draft);
    return rc;
}

enum rc config_load_file(struct config *c, struct fs *fs, const char *path, struct err *err)
{
    struct buf text = {0};
    enum rc rc;

    rc = fs_read_all(fs, path, CONFIG_FILE_BYTES_MAX, &text, err);
    if (rc == RC_OK)
        rc = config_load_yaml(c, buf_bytes(&text), path, err);
    buf_release(&text);
    return rc;
}
