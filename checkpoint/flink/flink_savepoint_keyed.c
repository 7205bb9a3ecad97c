/* Keyed state of a subtask into a canonical stream. See flink_savepoint.h. */
#include "checkpoint/flink/flink_canonical.h"
#include "checkpoint/flink/flink_keyed.h"
#include "checkpoint/flink/flink_savepoint_priv.h"

#define PARTS_MAX 2u /* what the backend keeps, and timers beside it */

/* One handle: its states follow those of the ones before it. */
struct part {
    struct flink_reader *reader;
    struct flink_scan *scan;
    uint32_t first_state;
    bool in_order;
    struct bytes key, value; /* of the next entry; key.data NULL: the end */
    uint32_t group;
};
struct subtask_copy {
    struct flink_saving *v;
    const struct flink_operator *op;
    struct arena *arena; /* descriptions */
    size_t count;
    struct part parts[PARTS_MAX];
    struct flink_header headers[PARTS_MAX];
    struct flink_range range;
    struct flink_file file;
    struct flink_canonical stream;
};

/* The handle that a canonical savepoint can be made of; NULL: there is none. */
static enum rc meant(const struct flink_keyed *h, const struct flink_keyed **out, struct err *err)
{
    *out = NULL;
    if (h->tag == FLINK_KEYED_NONE || h->range.count == 0)
        return RC_OK;
    *out = h;
    if (h->tag == FLINK_KEYED_CHANGES || h->tag == FLINK_KEYED_CHANGE_FILES ||
        h->tag == FLINK_KEYED_CHANGE_FILES_OLD)
        return err_set(err, RC_UNSUPPORTED, "changes of a changelog cannot be applied here");
    if (h->tag != FLINK_KEYED_CHANGELOG && h->tag != FLINK_KEYED_CHANGELOG_OLD)
        return RC_OK;
    if (h->changelog->change_count > 0 || h->changelog->materialized_count > 1)
        return err_set(err, RC_UNSUPPORTED,
                       "a changelog of %zu changes after %zu materialized states: without them the "
                       "state would be older; take a savepoint with Flink",
                       h->changelog->change_count, h->changelog->materialized_count);
    *out = h->changelog->materialized_count == 0 ? NULL : &h->changelog->materialized[0];
    return RC_OK;
}

static enum rc open_part(struct subtask_copy *c, const struct flink_keyed *from, bool raw,
                         struct err *err)
{
    const struct flink_keyed *handle;
    struct flink_keyed_source source = {.fs = c->v->env->fs,
                                        .places = c->v->places,
                                        .scratch_dir = c->v->options->scratch_dir,
                                        .raw = raw,
                                        .key_group_count = (uint32_t)c->op->max_parallelism,
                                        .arena = c->arena};
    struct part *p = &c->parts[c->count];

    RETURN_IF_ERR(meant(from, &handle, err));
    if (handle == NULL)
        return RC_OK;
    source.handle = handle;
    RETURN_IF_ERR(flink_reader_open(&source, &p->reader, err));
    RETURN_IF_ERR(flink_reader_header(p->reader, c->arena, &c->headers[c->count], err));
    p->in_order = flink_reader_form(p->reader) == FLINK_FORM_DATABASE;
    p->first_state = c->count == 0 ? 0 : c->parts[0].first_state + c->headers[0].state_count;
    if (c->count > 0 && (c->range.first != handle->range.first || c->range.count != handle->range.count))
        return err_set(err, RC_CORRUPT, "keyed state of key groups from %u on, timers of such from %u on",
                       c->range.first, handle->range.first);
    c->range = handle->range;
    c->count++;
    return RC_OK;
}

/* No state has the name of another one: raw timers beside those that the backend keeps. */
static enum rc check_names(const struct subtask_copy *c, struct err *err)
{
    const struct flink_states *a, *b;

    if (c->count < 2)
        return RC_OK;
    a = flink_reader_states(c->parts[0].reader);
    b = flink_reader_states(c->parts[1].reader);
    for (size_t i = 0; i < b->count; i++)
        if (flink_state_find(a, b->states[i].name) != NULL)
            return err_set(err, RC_CORRUPT, "state \"%s\" is there twice, once as raw timers",
                           (const char *)b->states[i].name.data);
    return RC_OK;
}

static enum rc show_next(struct part *p, struct err *err)
{
    RETURN_IF_ERR(flink_scan_next(p->scan, &p->key, &p->value, err));
    p->group = p->key.data == NULL ? UINT32_MAX : flink_scan_group(p->scan);
    return RC_OK;
}

/* All parts' entries, key group by key group. */
static enum rc copy_entries(struct subtask_copy *c, struct err *err)
{
    struct flink_saving *v = c->v;
    uint32_t group = c->range.first;

    for (;;) {
        struct part *p = &c->parts[0];

        for (size_t i = 1; i < c->count; i++)
            p = c->parts[i].group < p->group ? &c->parts[i] : p;
        if (p->group != group && v->options->progress != NULL)
            v->options->progress(v->options->progress_ctx,
                                 v->done_groups + (p->group == UINT32_MAX
                                                       ? c->range.count
                                                       : p->group - c->range.first),
                                 v->all_groups);
        group = p->group;
        if (group == UINT32_MAX)
            return RC_OK;
        RETURN_IF_ERR(flink_canonical_add(&c->stream, p->first_state + flink_scan_state_id(p->scan),
                                          p->key, p->value, p->in_order, err));
        RETURN_IF_ERR(show_next(p, err));
    }
}

static enum rc write_stream(struct subtask_copy *c, struct flink_keyed *out, struct err *err)
{
    static const struct key_group_range all = {0, UINT32_MAX};
    struct arena *arena = c->v->arena;
    struct buf description = {0};

    *out = (struct flink_keyed){.tag = FLINK_KEYED_SAVEPOINT, .range = c->range};
    out->handle_id = bytes_of_str("");
    out->groups = ARENA_NEW(arena, struct flink_groups);
    out->groups->range = c->range;
    out->groups->offsets = ARENA_ARRAY(arena, c->range.count, int64_t);
    for (size_t i = 0; i < c->count; i++) {
        RETURN_IF_ERR(flink_scan_open_all(c->parts[i].reader, all, &c->parts[i].scan, err));
        RETURN_IF_ERR(show_next(&c->parts[i], err));
    }
    flink_header_put(c->headers, c->count, &description);
    flink_file_init(c->v->target, &c->file);
    flink_canonical_begin(&c->stream, &c->file, buf_bytes(&description), c->range,
                          keygroup_prefix_len((uint32_t)c->op->max_parallelism),
                          out->groups->offsets);
    buf_release(&description);
    RETURN_IF_ERR(copy_entries(c, err));
    RETURN_IF_ERR(flink_canonical_end(&c->stream, err));
    c->v->result->entries += c->stream.entries;
    return flink_file_finish(&c->file, arena, &out->groups->stream, err);
}

/* Raw timers without any service have nothing to say, not even their keys' type. */
static void drop_empty(struct subtask_copy *c)
{
    while (c->count > 0 && c->headers[c->count - 1].state_count == 0 &&
           c->headers[c->count - 1].key.len == 0) {
        c->count--;
        flink_reader_close(c->parts[c->count].reader);
    }
}

enum rc flink_savepoint_keyed(struct flink_saving *v, const struct flink_operator *op,
                              const struct flink_subtask *from, struct flink_keyed *out,
                              struct err *err)
{
    struct subtask_copy c = {.v = v, .op = op, .arena = arena_new(0)};
    enum rc rc;

    *out = (struct flink_keyed){.tag = FLINK_KEYED_NONE};
    GOTO_IF_ERR(open_part(&c, &from->managed_keyed, false, err));
    GOTO_IF_ERR(open_part(&c, &from->raw_keyed, true, err));
    drop_empty(&c);
    GOTO_IF_ERR(check_names(&c, err));
    if (c.count > 0)
        rc = write_stream(&c, out, err);
    v->done_groups += c.range.count;
out:
    flink_file_release(&c.file);
    flink_canonical_release(&c.stream);
    for (size_t i = 0; i < c.count; i++) {
        flink_scan_close(c.parts[i].scan);
        flink_reader_close(c.parts[i].reader);
    }
    if (c.count < PARTS_MAX && rc != RC_OK)
        flink_reader_close(c.parts[c.count].reader);
    arena_free(c.arena);
    return rc;
}
