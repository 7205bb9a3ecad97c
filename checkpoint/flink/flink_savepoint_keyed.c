/* Keyed state of a subtask into a canonical stream. See flink_savepoint.h. */
#include "checkpoint/flink/flink_savepoint_priv.h"

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

static enum rc open_part(struct flink_parts *c, const struct flink_keyed *from, bool raw,
                         struct err *err)
{
    const struct flink_keyed *handle;
    struct flink_keyed_source source = {.fs = c->v->env->fs,
                                        .places = c->v->places,
                                        .scratch_dir = c->v->options->scratch_dir,
                                        .raw = raw,
                                        .key_group_count = (uint32_t)c->op->max_parallelism,
                                        .arena = c->arena};
    struct flink_part *p = &c->parts[c->count];
    size_t before = c->count;

    RETURN_IF_ERR(meant(from, &handle, err));
    if (handle == NULL)
        return RC_OK;
    source.handle = handle;
    RETURN_IF_ERR(flink_reader_open(&source, &p->reader, err));
    c->count++; /* it is closed with the others from here on */
    RETURN_IF_ERR(flink_reader_header(p->reader, c->arena, &c->headers[before], err));
    p->in_order = flink_reader_form(p->reader) == FLINK_FORM_DATABASE;
    p->first_state = before == 0 ? 0 : c->parts[0].first_state + c->headers[0].state_count;
    if (before > 0 && (c->range.first != handle->range.first || c->range.count != handle->range.count))
        return err_set(err, RC_CORRUPT, "keyed state of key groups from %u on, timers of such from %u on",
                       c->range.first, handle->range.first);
    c->range = handle->range;
    return RC_OK;
}

/* No state has the name of another one: raw timers beside those that the backend keeps. */
static enum rc check_names(const struct flink_parts *c, struct err *err)
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

/* Raw timers without any service have nothing to say, not even their keys' type. */
static void drop_empty(struct flink_parts *c)
{
    while (c->count > 0 && c->headers[c->count - 1].state_count == 0 &&
           c->headers[c->count - 1].key.len == 0) {
        c->count--;
        flink_reader_close(c->parts[c->count].reader);
    }
}

enum rc flink_parts_open(struct flink_saving *v, const struct flink_operator *op,
                         const struct flink_subtask *from, struct flink_parts *out,
                         struct err *err)
{
    *out = (struct flink_parts){.v = v, .op = op, .arena = arena_new(0)};
    RETURN_IF_ERR(open_part(out, &from->managed_keyed, false, err));
    RETURN_IF_ERR(open_part(out, &from->raw_keyed, true, err));
    drop_empty(out);
    return check_names(out, err);
}

void flink_parts_close(struct flink_parts *p)
{
    for (size_t i = 0; i < p->count; i++) {
        flink_scan_close(p->parts[i].scan);
        flink_reader_close(p->parts[i].reader);
    }
    arena_free(p->arena);
    *p = (struct flink_parts){0};
}

enum rc flink_parts_begin(struct flink_parts *p, struct err *err)
{
    static const struct key_group_range all = {0, UINT32_MAX};

    for (size_t i = 0; i < p->count; i++) {
        RETURN_IF_ERR(flink_scan_open_all(p->parts[i].reader, all, &p->parts[i].scan, err));
        p->parts[i].given = true;
    }
    return RC_OK;
}

enum rc flink_parts_next(struct flink_parts *p, struct flink_part **next, struct err *err)
{
    *next = NULL;
    for (size_t i = 0; i < p->count; i++) {
        struct flink_part *part = &p->parts[i];

        if (part->given) {
            part->given = false;
            RETURN_IF_ERR(flink_scan_next(part->scan, &part->key, &part->value, err));
            part->group = part->key.data == NULL ? UINT32_MAX : flink_scan_group(part->scan);
        }
        if (part->group != UINT32_MAX && (*next == NULL || part->group < (*next)->group))
            *next = part;
    }
    if (*next != NULL)
        (*next)->given = true;
    return RC_OK;
}

/* ---- one stream ------------------------------------------------------------------------------ */

static enum rc copy_entries(struct flink_parts *p, struct flink_canonical *stream, struct err *err)
{
    const struct flink_savepoint_options *options = p->v->options;
    uint32_t group = p->range.first;
    struct flink_part *next;

    for (;;) {
        RETURN_IF_ERR(flink_parts_next(p, &next, err));
        if (next == NULL)
            return RC_OK;
        if (next->group != group && options->progress != NULL)
            options->progress(options->progress_ctx,
                              p->v->done_groups + next->group - p->range.first, p->v->all_groups);
        group = next->group;
        RETURN_IF_ERR(flink_canonical_add(stream, flink_part_state(next), next->key, next->value,
                                          next->in_order, err));
    }
}

void flink_keyed_begin(struct flink_saving *v, struct bytes description, struct flink_range range,
                       uint32_t key_group_count, struct flink_keyed *out,
                       struct flink_keyed_writing *w)
{
    *out = (struct flink_keyed){.tag = FLINK_KEYED_SAVEPOINT, .range = range};
    out->groups = ARENA_NEW(v->arena, struct flink_groups);
    out->groups->range = range;
    out->groups->offsets = ARENA_ARRAY(v->arena, range.count, int64_t);
    w->out = out;
    flink_file_init(v->target, &w->file);
    flink_canonical_begin(&w->stream, &w->file, description, range,
                          keygroup_prefix_len(key_group_count), out->groups->offsets);
}

enum rc flink_keyed_end(struct flink_saving *v, struct flink_keyed_writing *w, struct err *err)
{
    RETURN_IF_ERR(flink_canonical_end(&w->stream, err));
    v->result->entries += w->stream.entries;
    return flink_file_finish(&w->file, v->arena, &w->out->groups->stream, err);
}

void flink_keyed_release(struct flink_keyed_writing *w)
{
    flink_file_release(&w->file);
    flink_canonical_release(&w->stream);
}

static enum rc write_stream(struct flink_parts *p, struct flink_keyed *out, struct err *err)
{
    struct flink_keyed_writing w = {0};
    struct buf description = {0};
    enum rc rc;

    flink_header_put(p->headers, p->count, &description);
    flink_keyed_begin(p->v, buf_bytes(&description), p->range, (uint32_t)p->op->max_parallelism,
                      out, &w);
    GOTO_IF_ERR(flink_parts_begin(p, err));
    GOTO_IF_ERR(copy_entries(p, &w.stream, err));
    rc = flink_keyed_end(p->v, &w, err);
out:
    buf_release(&description);
    flink_keyed_release(&w);
    return rc;
}

enum rc flink_savepoint_keyed(struct flink_saving *v, const struct flink_operator *op,
                              const struct flink_subtask *from, struct flink_keyed *out,
                              struct err *err)
{
    struct flink_parts p;
    enum rc rc = flink_parts_open(v, op, from, &p, err);

    *out = (struct flink_keyed){.tag = FLINK_KEYED_NONE};
    if (rc == RC_OK && p.count > 0)
        rc = write_stream(&p, out, err);
    v->done_groups += p.range.count;
    flink_parts_close(&p);
    return rc;
}
