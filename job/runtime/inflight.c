/* inflight.c - see inflight.h */
#include "job/runtime/inflight.h"

#include "job/batch_codec.h"
#include "job/runtime/inflight_file.h"

static uint32_t add_edge(struct inflight *f, const struct graph *g, uint32_t graph_edge)
{
    const struct graph_edge *e = &g->edges[graph_edge];
    struct inflight_edge *add;

    for (uint32_t i = 0; i < f->edge_count; i++)
        if (f->edges[i].edge == e)
            return i;
    f->edges = mem_realloc(f->edges, (f->edge_count + 1) * sizeof *f->edges);
    add = &f->edges[f->edge_count];
    *add = (struct inflight_edge){.edge = e, .ordinal = graph_edge_ordinal(g, graph_edge)};
    return f->edge_count++;
}

struct inflight *inflight_new(const struct graph *g, const struct barrier *b, uint32_t channel_count,
                              struct channel *const *channels, const uint32_t *edges,
                              uint64_t max_bytes)
{
    struct inflight *f = mem_calloc(1, sizeof *f);

    f->graph = g;
    f->barrier = *b;
    f->max_bytes = max_bytes;
    f->channel_count = f->open_count = channel_count;
    f->channels = mem_calloc(channel_count, sizeof *f->channels);
    for (uint32_t i = 0; i < channel_count; i++)
        f->channels[i] = (struct inflight_channel){.channel = channels[i],
                                                   .edge = add_edge(f, g, edges[i]),
                                                   .seen = spsc_popped(channels[i]->queue)};
    return f;
}

static void drop_blocks(struct inflight *f)
{
    for (uint32_t i = 0; i < f->edge_count; i++) {
        buf_release(&f->edges[i].first);
        buf_release(&f->edges[i].blocks);
        f->edges[i].rows = 0;
    }
}

void inflight_free(struct inflight *f)
{
    if (f == NULL)
        return;
    drop_blocks(f);
    mem_free(f->edges);
    mem_free(f->channels);
    mem_free(f);
}

void inflight_drop(struct inflight *f, enum rc why)
{
    ASSERT(why != RC_OK);
    if (f->fault == RC_OK)
        f->fault = why;
    drop_blocks(f);
}

void inflight_through(struct inflight *f, uint32_t channel)
{
    if (f->channels[channel].through)
        return;
    f->channels[channel].through = true;
    f->open_count--;
}

/* Whether so many bytes more may be kept. */
static bool takes(struct inflight *f, uint64_t bytes)
{
    if (f->fault != RC_OK)
        return false;
    f->bytes += bytes;
    if (f->bytes <= f->max_bytes)
        return true;
    inflight_drop(f, RC_LIMIT);
    return false;
}

static void add(struct inflight *f, struct inflight_edge *e, const struct batch *b,
                struct buf *blocks)
{
    struct err err = {0};

    if (b->rows == 0 || !takes(f, batch_block_bytes(b)))
        return;
    if (batch_encode(b, blocks, &err) != RC_OK) {
        inflight_drop(f, RC_LIMIT);
        return;
    }
    e->rows += b->rows;
    e->updates |= b->kinds != NULL;
}

void inflight_add_first(struct inflight *f, uint32_t graph_edge, const struct batch *b)
{
    for (uint32_t i = 0; i < f->edge_count; i++)
        if (f->edges[i].edge == &f->graph->edges[graph_edge])
            add(f, &f->edges[i], b, &f->edges[i].first);
}

static const struct element *next_of(const struct inflight *f, uint32_t channel)
{
    const struct inflight_channel *c = &f->channels[channel];

    if (c->through)
        return NULL;
    return spsc_peek_at(c->channel->queue, c->seen - spsc_popped(c->channel->queue));
}

bool inflight_next(const struct inflight *f, uint32_t channel)
{
    return next_of(f, channel) != NULL;
}

void inflight_record(struct inflight *f, uint32_t channel)
{
    const struct element *el = next_of(f, channel);

    ASSERT(el != NULL);
    f->channels[channel].seen++;
    if (el->kind == ELEMENT_BATCH)
        add(f, &f->edges[f->channels[channel].edge], el->batch,
            &f->edges[f->channels[channel].edge].blocks);
    else if (el->kind == ELEMENT_END ||
             (el->kind == ELEMENT_BARRIER &&
              el->barrier.checkpoint_id >= f->barrier.checkpoint_id))
        inflight_through(f, channel);
}

void inflight_announced(struct inflight *f, uint32_t channel, const struct announcement *a)
{
    struct inflight_channel *c = &f->channels[channel];
    struct inflight_edge *e = &f->edges[c->edge];

    ASSERT(a->barrier.checkpoint_id == f->barrier.checkpoint_id);
    while (!c->through && c->seen != a->after)
        inflight_record(f, channel); /* all of them were pushed before the announcement */
    if (c->through)
        return;
    inflight_through(f, channel);
    if (a->too_large) {
        f->bytes = f->max_bytes + 1;
        inflight_drop(f, RC_LIMIT);
        return;
    }
    if (a->rows == 0 || !takes(f, a->blocks.len))
        return;
    buf_append(&e->blocks, a->blocks.data, a->blocks.len);
    e->rows += a->rows;
    e->updates |= a->updates;
}

/* ---- when it is whole ------------------------------------------------------------------------ */

enum rc inflight_check(const struct inflight *f, struct err *err)
{
    if (f->fault == RC_LIMIT)
        return err_set(err, RC_LIMIT,
                       "rows in flight for checkpoint %llu exceed %llu bytes "
                       "(varve.checkpoint.in-flight.max-size)",
                       (unsigned long long)f->barrier.checkpoint_id,
                       (unsigned long long)f->max_bytes);
    if (f->fault != RC_OK)
        return err_set(err, f->fault, "checkpoint %llu was given up while rows in flight were recorded",
                       (unsigned long long)f->barrier.checkpoint_id);
    return RC_OK;
}

static enum rc write_edge(const struct inflight *f, const struct inflight_edge *e,
                          struct snapshot_target *target, struct arena *arena,
                          struct channel_handle *out, struct err *err)
{
    const struct graph_vertex *from = &f->graph->vertices[e->edge->from_vertex];
    struct buf head = {0};
    struct snapshot_stream *stream = NULL;
    enum rc rc;

    *out = (struct channel_handle){
        .from_id = arena_strdup(arena, from->operators[from->operator_count - 1].id),
        .ordinal = e->ordinal,
        .partitioning = graph_partitioning_str(arena, e->edge),
        .row_type = inflight_row_type(arena, e->edge->schema),
        .row_count = e->rows,
        .updates = e->updates,
    };
    inflight_file_head(out->row_type, &head);
    GOTO_IF_ERR(target->ops->stream_open(target, &stream, err));
    GOTO_IF_ERR(target->ops->stream_append(stream, buf_bytes(&head), err));
    GOTO_IF_ERR(target->ops->stream_append(stream, buf_bytes(&e->first), err));
    GOTO_IF_ERR(target->ops->stream_append(stream, buf_bytes(&e->blocks), err));
    rc = target->ops->stream_finish(stream, arena, &out->file, err);
    stream = NULL;
out:
    if (stream != NULL)
        target->ops->stream_abort(stream);
    buf_release(&head);
    return rc;
}

enum rc inflight_write(const struct inflight *f, struct snapshot_target *target,
                       struct arena *arena, struct subtask_state *out, uint64_t *bytes,
                       struct err *err)
{
    *bytes = 0;
    ASSERT(inflight_whole(f) && f->fault == RC_OK);
    out->channels = ARENA_ARRAY(arena, f->edge_count, struct channel_handle);
    out->channel_count = 0;
    for (uint32_t i = 0; i < f->edge_count; i++) {
        enum rc rc;

        if (f->edges[i].rows == 0)
            continue;
        rc = write_edge(f, &f->edges[i], target, arena, &out->channels[out->channel_count], err);
        if (rc != RC_OK)
            return err_wrap(err, rc, "rows in flight");
        *bytes += out->channels[out->channel_count++].file.size_bytes;
    }
    return RC_OK;
}
