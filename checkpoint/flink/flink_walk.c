/* flink_walk.c - every stream of a Flink _metadata, in the order of the file. */
#include "checkpoint/flink/flink_metadata.h"

struct walk {
    flink_stream_fn *fn;
    void *ctx;
    struct flink_stream_use use;
};

static enum rc visit(struct walk *w, enum flink_role role, struct bytes local_name,
                     const struct flink_stream *s, struct err *err)
{
    while (s->tag == FLINK_STREAM_GROUPS)
        s = &s->groups->stream;
    if (s->tag == FLINK_STREAM_NONE)
        return RC_OK;
    w->use.role = role;
    w->use.local_name = local_name;
    w->use.stream = s;
    return w->fn(w->ctx, &w->use, err);
}

static enum rc walk_files(struct walk *w, enum flink_role role, const struct flink_db_file *files,
                          size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++)
        RETURN_IF_ERR(visit(w, role, files[i].local_name, &files[i].stream, err));
    return RC_OK;
}

static enum rc walk_keyed(struct walk *w, const struct flink_keyed *k, struct err *err)
{
    static const struct bytes none = {(const uint8_t *)"", 0};
    const struct flink_incremental *i = k->incremental;
    const struct flink_changelog *c = k->changelog;

    for (size_t n = 0; c != NULL && n < c->materialized_count; n++)
        RETURN_IF_ERR(walk_keyed(w, &c->materialized[n], err));
    for (size_t n = 0; c != NULL && n < c->change_count; n++)
        RETURN_IF_ERR(walk_keyed(w, &c->changes[n], err));
    w->use.keyed = k;
    if (k->groups != NULL)
        return visit(w, FLINK_ROLE_KEYED_STREAM, none, &k->groups->stream, err);
    if (i != NULL) {
        RETURN_IF_ERR(visit(w, FLINK_ROLE_DB_META, none, &i->meta, err));
        RETURN_IF_ERR(walk_files(w, FLINK_ROLE_DB_SHARED, i->shared, i->shared_count, err));
        return walk_files(w, FLINK_ROLE_DB_PRIVATE, i->private, i->private_count, err);
    }
    for (size_t n = 0; k->changes != NULL && n < k->changes->part_count; n++)
        RETURN_IF_ERR(visit(w, FLINK_ROLE_CHANGES, none, &k->changes->parts[n].stream, err));
    return RC_OK;
}

static enum rc walk_lists(struct walk *w, const struct flink_operator_state *s, bool raw,
                          struct err *err)
{
    w->use.lists = s;
    w->use.keyed = NULL;
    w->use.raw = raw;
    return s->tag == 0
               ? RC_OK
               : visit(w, FLINK_ROLE_OPERATOR_STATE, bytes_of_str(""), &s->stream, err);
}

static enum rc walk_channels(struct walk *w, const struct flink_channel_handle *channels,
                             size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++)
        RETURN_IF_ERR(visit(w, FLINK_ROLE_CHANNEL, bytes_of_str(""), &channels[i].stream, err));
    return RC_OK;
}

static enum rc walk_subtask(struct walk *w, const struct flink_subtask *s, struct err *err)
{
    w->use.subtask = s;
    RETURN_IF_ERR(walk_lists(w, &s->managed, false, err));
    RETURN_IF_ERR(walk_lists(w, &s->raw, true, err));
    w->use.lists = NULL;
    w->use.raw = false;
    RETURN_IF_ERR(walk_keyed(w, &s->managed_keyed, err));
    w->use.raw = true;
    RETURN_IF_ERR(walk_keyed(w, &s->raw_keyed, err));
    w->use.raw = false;
    w->use.keyed = NULL;
    RETURN_IF_ERR(walk_channels(w, s->inputs, s->input_count, err));
    return walk_channels(w, s->outputs, s->output_count, err);
}

enum rc flink_metadata_each_stream(const struct flink_metadata *m, flink_stream_fn *fn, void *ctx,
                                   struct err *err)
{
    for (size_t i = 0; i < m->operator_count; i++) {
        const struct flink_operator *op = &m->operators[i];
        struct walk w = {.fn = fn, .ctx = ctx, .use = {.op = op}};

        RETURN_IF_ERR(
            visit(&w, FLINK_ROLE_COORDINATOR, bytes_of_str(""), &op->coordinator, err));
        for (size_t s = 0; s < op->subtask_count; s++)
            RETURN_IF_ERR(walk_subtask(&w, &op->subtasks[s], err));
    }
    return RC_OK;
}
