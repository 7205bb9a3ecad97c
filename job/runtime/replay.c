/* replay.c - see replay.h */
#include "job/runtime/replay.h"

#include "job/batch_codec.h"
#include "job/row_key.h"
#include "job/runtime/inflight_file.h"

#define NO_EDGE UINT32_MAX

struct replay_batch {
    struct batch *batch; /* NULL: given out */
    uint32_t op, edge;   /* edge NO_EDGE: inside the chain */
};
struct replay {
    size_t next, count, cap;
    uint64_t bytes; /* of what is left, as blocks */
    struct replay_batch *batches;
};

/* ---- routes ---------------------------------------------------------------------------------- */

bool inflight_route_find(const struct graph *g, uint32_t vertex, uint32_t op, const char *from_id,
                         uint32_t ordinal, struct inflight_route *out)
{
    const struct operator_spec *ops = g->vertices[vertex].operators;

    *out = (struct inflight_route){.edge_index = NO_EDGE};
    if (op > 0) {
        out->schema = ops[op].input;
        return ordinal == 0 && out->schema != NULL && strcmp(ops[op - 1].id, from_id) == 0;
    }
    for (uint32_t e = 0; e < g->edge_count; e++) {
        const struct graph_edge *edge = &g->edges[e];
        const struct graph_vertex *from = &g->vertices[edge->from_vertex];

        if (edge->to_vertex != vertex || graph_edge_ordinal(g, e) != ordinal ||
            strcmp(from->operators[from->operator_count - 1].id, from_id) != 0)
            continue;
        *out = (struct inflight_route){edge, e, edge->schema};
        return true;
    }
    return false;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* One handle being read. */
struct loading {
    struct replay *r;
    struct inflight_route route;
    uint32_t op, subtask_index, parallelism, key_group_count;
    struct row_key *key;         /* NULL: all rows are its own */
    struct batch_builder *own;
    uint32_t groups[BATCH_ROWS_MAX], sel[BATCH_ROWS_MAX];
};

static void keep(struct loading *l, struct batch *b_take)
{
    struct replay *r = l->r;

    if (r->count == r->cap) {
        r->cap = r->cap == 0 ? 16 : 2 * r->cap;
        r->batches = mem_realloc(r->batches, r->cap * sizeof *r->batches);
    }
    r->bytes += batch_block_bytes(b_take);
    r->batches[r->count++] = (struct replay_batch){b_take, l->op, l->route.edge_index};
}

static enum rc take_batch(void *ctx, struct batch *b_take, struct err *err)
{
    struct loading *l = ctx;
    uint32_t n = 0;
    enum rc rc;

    if (l->key == NULL) {
        keep(l, b_take);
        return RC_OK;
    }
    rc = row_key_groups(l->key, b_take, l->groups, err);
    for (uint32_t i = 0; rc == RC_OK && i < b_take->rows; i++)
        if (keygroup_owner(l->groups[i], l->parallelism, l->key_group_count) == l->subtask_index)
            l->sel[n++] = i;
    if (n == b_take->rows) {
        keep(l, b_take);
        return rc;
    }
    if (n > 0) {
        batch_gather(l->own, b_take, l->sel, n, NULL);
        keep(l, batch_take(l->own));
    }
    batch_free(b_take);
    return rc;
}

static enum rc load_one(struct loading *l, struct fs *fs, const struct graph *g,
                        const struct channel_handle *h, struct err *err)
{
    const struct graph_edge *e = l->route.edge;
    enum rc rc;

    if (e != NULL && e->partitioning == PARTITION_HASH && l->parallelism > 1)
        l->key = row_key_new(e->schema, e->key_count, e->keys, g->key_group_count, KEY_NS_VOID);
    l->own = batch_builder_new(l->route.schema);
    rc = inflight_file_read(fs, h, l->route.schema, take_batch, l, err);
    batch_builder_free(l->own);
    row_key_free(l->key);
    l->key = NULL;
    return rc;
}

enum rc replay_load(struct replay **r, struct fs *fs, const struct graph *g, uint32_t vertex,
                    uint32_t subtask_index, uint32_t op, const struct channel_handle *handles,
                    size_t count, struct err *err)
{
    struct loading *l;
    enum rc rc = RC_OK;

    if (count == 0)
        return RC_OK;
    if (*r == NULL)
        *r = mem_calloc(1, sizeof **r);
    l = mem_calloc(1, sizeof *l);
    l->r = *r;
    l->op = op;
    l->subtask_index = subtask_index;
    l->parallelism = g->vertices[vertex].parallelism;
    l->key_group_count = g->key_group_count;
    for (size_t i = 0; i < count && rc == RC_OK; i++) {
        /* The restore was planned with this graph: the route is there. */
        ASSERT(inflight_route_find(g, vertex, op, handles[i].from_id, handles[i].ordinal,
                                   &l->route));
        rc = load_one(l, fs, g, &handles[i], err);
    }
    mem_free(l);
    if (rc == RC_OK && replay_ended(*r)) {
        replay_free(*r);
        *r = NULL;
    }
    return rc;
}

void replay_free(struct replay *r)
{
    if (r == NULL)
        return;
    for (size_t i = 0; i < r->count; i++)
        batch_free(r->batches[i].batch);
    mem_free(r->batches);
    mem_free(r);
}

/* ---- giving out ------------------------------------------------------------------------------ */

struct batch *replay_next(struct replay *r, uint32_t *op)
{
    struct replay_batch *at = &r->batches[r->next];
    struct batch *b = at->batch;

    ASSERT(r->next < r->count);
    r->next++;
    r->bytes -= batch_block_bytes(b);
    at->batch = NULL;
    *op = at->op;
    return b;
}

bool replay_ended(const struct replay *r)
{
    return r->next == r->count;
}

bool replay_may_record(const struct replay *r, uint64_t max_bytes)
{
    if (r->bytes > max_bytes)
        return false;
    for (size_t i = r->next; i < r->count; i++)
        if (r->batches[i].edge == NO_EDGE)
            return false;
    return true;
}

void replay_record(const struct replay *r, struct inflight *f)
{
    for (size_t i = r == NULL || f == NULL ? 0 : r->next; r != NULL && f != NULL && i < r->count; i++)
        inflight_add_first(f, r->batches[i].edge, r->batches[i].batch);
}
