/* exchange.c - see exchange.h */
#include "job/runtime/exchange.h"

#include "job/batch_codec.h"
#include "job/row_key.h"

struct exchange {
    const struct graph *graph;
    uint64_t in_flight_max_bytes;
    struct channel **edges; /* per edge: from x to; forward: one a subtask */
};

static uint32_t channel_count(const struct graph *g, const struct graph_edge *e)
{
    uint32_t from = g->vertices[e->from_vertex].parallelism,
             to = g->vertices[e->to_vertex].parallelism;

    return e->partitioning == PARTITION_FORWARD ? from : from * to;
}

struct exchange *exchange_new(const struct graph *g, uint32_t capacity)
{
    struct exchange *x = mem_calloc(1, sizeof *x);

    x->graph = g;
    x->in_flight_max_bytes = IN_FLIGHT_MAX_DEFAULT;
    x->edges = mem_calloc(g->edge_count, sizeof(struct channel *));
    for (uint32_t e = 0; e < g->edge_count; e++) {
        uint32_t n = channel_count(g, &g->edges[e]);

        x->edges[e] = mem_calloc(n, sizeof(struct channel));
        for (uint32_t i = 0; i < n; i++)
            x->edges[e][i].queue = spsc_new(capacity);
    }
    return x;
}

void exchange_limit(struct exchange *x, uint64_t in_flight_max_bytes)
{
    x->in_flight_max_bytes = in_flight_max_bytes;
}

void announcement_free(struct announcement *a)
{
    if (a == NULL)
        return;
    buf_release(&a->blocks);
    mem_free(a);
}

void exchange_free(struct exchange *x)
{
    if (x == NULL)
        return;
    for (uint32_t e = 0; e < x->graph->edge_count; e++) {
        for (uint32_t i = 0; i < channel_count(x->graph, &x->graph->edges[e]); i++) {
            struct element *el;

            while ((el = spsc_try_pop(x->edges[e][i].queue)) != NULL)
                element_free(el);
            spsc_free(x->edges[e][i].queue);
            announcement_free(atomic_load(&x->edges[e][i].announced));
        }
        mem_free(x->edges[e]);
    }
    mem_free(x->edges);
    mem_free(x);
}

struct channel *exchange_channel(struct exchange *x, uint32_t edge, uint32_t from, uint32_t to)
{
    const struct graph_edge *e = &x->graph->edges[edge];

    if (e->partitioning == PARTITION_FORWARD)
        return from == to ? &x->edges[edge][from] : NULL;
    return &x->edges[edge][from * x->graph->vertices[e->to_vertex].parallelism + to];
}

void exchange_attach(struct exchange *x, uint32_t vertex, uint32_t subtask_index,
                     struct runnable *r)
{
    for (uint32_t e = 0; e < x->graph->edge_count; e++) {
        const struct graph_edge *edge = &x->graph->edges[e];
        struct channel *c;

        for (uint32_t to = 0;
             edge->from_vertex == vertex && to < x->graph->vertices[edge->to_vertex].parallelism;
             to++) {
            if ((c = exchange_channel(x, e, subtask_index, to)) != NULL)
                c->producer = r;
        }
        for (uint32_t from = 0;
             edge->to_vertex == vertex && from < x->graph->vertices[edge->from_vertex].parallelism;
             from++) {
            if ((c = exchange_channel(x, e, from, subtask_index)) != NULL)
                c->consumer = r;
        }
    }
}

/* ---- a channel's two ends ---------------------------------------------------------------------
 */

struct element *channel_pop(struct channel *c)
{
    struct element *el = spsc_try_pop(c->queue);

    /* An exchange on both sides: either the producer's comes later and sees the free slot, or this
     * one sees that it waits. */
    if (el != NULL && atomic_exchange(&c->producer_waits, false) && c->producer != NULL)
        executor_wake(c->producer);
    return el;
}

bool channel_has(struct channel *c)
{
    return spsc_peek(c->queue) != NULL;
}

struct announcement *channel_announcement(struct channel *c)
{
    if (atomic_load_explicit(&c->announced, memory_order_relaxed) == NULL)
        return NULL;
    return atomic_exchange(&c->announced, NULL);
}

static void channel_announce(struct channel *c, struct announcement *a_take)
{
    announcement_free(atomic_exchange(&c->announced, a_take));
    if (c->consumer != NULL)
        executor_wake(c->consumer);
}

static bool channel_push(struct channel *c, struct element *el)
{
    if (!spsc_try_push(c->queue, el)) {
        atomic_exchange(&c->producer_waits, true);
        if (!spsc_try_push(c->queue, el))
            return false;
    }
    if (c->consumer != NULL)
        executor_wake(c->consumer);
    return true;
}

/* ---- the producing side of a subtask ----------------------------------------------------------
 */

struct outlet {
    struct channel *channel;
    struct batch_builder *builder;
    struct element **outbox; /* [outbox_first, outbox_end) */
    uint32_t outbox_first, outbox_end, outbox_cap;
    uint32_t take_count; /* rows of the batch at hand that go here */
};
struct emitter_edge {
    const struct graph_edge *edge;
    uint32_t outlet_count;
    struct outlet *outlets;
    uint32_t next;            /* rebalance: whose turn it is */
    struct row_key *key;      /* hash over more than one outlet */
    uint16_t *owner_of_group; /* by key group */
};
struct emitter {
    uint32_t edge_count;
    struct emitter_edge *edges;
    uint64_t in_flight_max_bytes;
    bool ended;
    int64_t overtake_at;  /* the earliest time at which a barrier in an outbox may overtake */
    struct barrier late;  /* came after the end and may not overtake yet; id 0: none */
    uint32_t scratch_cap;
    uint32_t *groups, *order, *identity; /* rows of the batch at hand */
};

static void edge_init(struct emitter_edge *ee, struct exchange *x, const struct graph *g,
                      uint32_t edge, uint32_t subtask_index)
{
    const struct graph_edge *e = &g->edges[edge];
    uint32_t to_count = g->vertices[e->to_vertex].parallelism;

    ee->edge = e;
    ee->outlets = mem_calloc(to_count, sizeof *ee->outlets);
    for (uint32_t to = 0; to < to_count; to++) {
        struct channel *c = exchange_channel(x, edge, subtask_index, to);

        if (c == NULL)
            continue;
        ee->outlets[ee->outlet_count].channel = c;
        ee->outlets[ee->outlet_count++].builder = batch_builder_new(e->schema);
    }
    ee->next = subtask_index % ee->outlet_count; /* producers start at different ones */
    if (e->partitioning != PARTITION_HASH || to_count == 1)
        return;
    ee->key = row_key_new(e->schema, e->key_count, e->keys, g->key_group_count, KEY_NS_VOID);
    ee->owner_of_group = mem_calloc(g->key_group_count, sizeof *ee->owner_of_group);
    for (uint32_t i = 0; i < g->key_group_count; i++)
        ee->owner_of_group[i] = (uint16_t)keygroup_owner(i, to_count, g->key_group_count);
}

struct emitter *emitter_new(struct exchange *x, const struct graph *g, uint32_t vertex,
                            uint32_t subtask_index)
{
    struct emitter *em = mem_calloc(1, sizeof *em);

    em->in_flight_max_bytes = x->in_flight_max_bytes;
    em->overtake_at = INT64_MAX;
    em->edges = mem_calloc(g->edge_count, sizeof *em->edges);
    for (uint32_t e = 0; e < g->edge_count; e++) {
        if (g->edges[e].from_vertex == vertex)
            edge_init(&em->edges[em->edge_count++], x, g, e, subtask_index);
    }
    return em;
}

void emitter_free(struct emitter *em)
{
    if (em == NULL)
        return;
    for (uint32_t e = 0; e < em->edge_count; e++) {
        struct emitter_edge *ee = &em->edges[e];

        for (uint32_t o = 0; o < ee->outlet_count; o++) {
            batch_builder_free(ee->outlets[o].builder);
            for (uint32_t i = ee->outlets[o].outbox_first; i < ee->outlets[o].outbox_end; i++)
                element_free(ee->outlets[o].outbox[i]);
            mem_free(ee->outlets[o].outbox);
        }
        mem_free(ee->outlets);
        row_key_free(ee->key);
        mem_free(ee->owner_of_group);
    }
    mem_free(em->edges);
    mem_free(em->groups);
    mem_free(em->order);
    mem_free(em->identity);
    mem_free(em);
}

static void send(struct outlet *o, struct element *el)
{
    if (o->outbox_first == o->outbox_end && channel_push(o->channel, el))
        return;
    if (o->outbox_end == o->outbox_cap) {
        o->outbox_cap = o->outbox_cap == 0 ? 8 : o->outbox_cap * 2;
        o->outbox = mem_realloc(o->outbox, o->outbox_cap * sizeof(struct element *));
    }
    o->outbox[o->outbox_end++] = el;
}

static void send_rows(struct outlet *o)
{
    if (batch_builder_rows(o->builder) > 0)
        send(o, element_new_batch(batch_take(o->builder)));
}

/* Rows idx[0..n) of b behind what the outlet has; full batches leave. */
static void append_rows(struct outlet *o, struct batch *b, const uint32_t *idx, uint32_t n)
{
    while (n > 0) {
        uint32_t room = BATCH_ROWS_MAX - batch_builder_rows(o->builder), now = n < room ? n : room;

        batch_gather(o->builder, b, idx, now, NULL);
        if (batch_builder_full(o->builder))
            send_rows(o);
        idx += now;
        n -= now;
    }
}

static void reserve_scratch(struct emitter *em, uint32_t rows)
{
    if (rows <= em->scratch_cap)
        return;
    em->scratch_cap = rows < BATCH_ROWS_MAX ? BATCH_ROWS_MAX : rows;
    em->groups = mem_realloc(em->groups, em->scratch_cap * sizeof *em->groups);
    em->order = mem_realloc(em->order, em->scratch_cap * sizeof *em->order);
    em->identity = mem_realloc(em->identity, em->scratch_cap * sizeof *em->identity);
    for (uint32_t i = 0; i < em->scratch_cap; i++)
        em->identity[i] = i;
}

/* One pass: count the rows of each outlet, then put the row numbers in order of outlets. */
static enum rc spread_by_key(struct emitter *em, struct emitter_edge *ee, struct batch *b,
                             struct err *err)
{
    uint32_t at = 0;

    RETURN_IF_ERR(row_key_groups(ee->key, b, em->groups, err));
    for (uint32_t o = 0; o < ee->outlet_count; o++)
        ee->outlets[o].take_count = 0;
    for (uint32_t i = 0; i < b->rows; i++) {
        em->groups[i] = ee->owner_of_group[em->groups[i]];
        ee->outlets[em->groups[i]].take_count++;
    }
    for (uint32_t o = 0; o < ee->outlet_count; o++) {
        uint32_t count = ee->outlets[o].take_count;

        ee->outlets[o].take_count = at; /* where its next row number goes */
        at += count;
    }
    for (uint32_t i = 0; i < b->rows; i++)
        em->order[ee->outlets[em->groups[i]].take_count++] = i;
    at = 0;
    for (uint32_t o = 0; o < ee->outlet_count; o++) {
        append_rows(&ee->outlets[o], b, em->order + at, ee->outlets[o].take_count - at);
        at = ee->outlets[o].take_count;
    }
    return RC_OK;
}

enum rc emitter_batch(struct emitter *em, struct batch *b, struct err *err)
{
    reserve_scratch(em, b->rows);
    for (uint32_t e = 0; e < em->edge_count; e++) {
        struct emitter_edge *ee = &em->edges[e];

        if (ee->key != NULL) {
            RETURN_IF_ERR(spread_by_key(em, ee, b, err));
            continue;
        }
        switch (ee->edge->partitioning) {
        case PARTITION_REBALANCE:
            append_rows(&ee->outlets[ee->next], b, em->identity, b->rows);
            ee->next = (ee->next + 1) % ee->outlet_count;
            break;
        case PARTITION_GLOBAL:
        case PARTITION_FORWARD:
        case PARTITION_HASH:
            append_rows(&ee->outlets[0], b, em->identity, b->rows);
            break;
        }
    }
    return RC_OK;
}

#define EACH_OUTLET(em, o)                                                                         \
    for (uint32_t e_ = 0; e_ < (em)->edge_count; e_++)                                             \
        for (struct outlet *o = (em)->edges[e_].outlets, *end_ = o + (em)->edges[e_].outlet_count; \
             o < end_; o++)

void emitter_flush(struct emitter *em)
{
    EACH_OUTLET(em, o)
    send_rows(o);
}

void emitter_watermark(struct emitter *em, int64_t watermark_ms)
{
    emitter_flush(em);
    EACH_OUTLET(em, o)
    send(o, element_new_watermark(watermark_ms));
}

void emitter_idle(struct emitter *em)
{
    emitter_flush(em);
    EACH_OUTLET(em, o)
    send(o, element_new_idle());
}

void emitter_end(struct emitter *em)
{
    emitter_flush(em);
    EACH_OUTLET(em, o)
    send(o, element_new_end());
    em->ended = true;
}

/* ---- barriers -------------------------------------------------------------------------------- */

static void copy_rows(struct announcement *a, const struct batch *b, uint64_t limit)
{
    struct err err = {0};

    if (a->too_large)
        return;
    if (a->blocks.len + batch_block_bytes(b) > limit ||
        batch_encode(b, &a->blocks, &err) != RC_OK) {
        a->too_large = true;
        buf_release(&a->blocks);
        return;
    }
    a->rows += b->rows;
    a->updates |= b->kinds != NULL;
}

/* Behind the elements [outbox_first, end). Barriers among them that may overtake too are older ones, given up. */
static void announce(struct outlet *o, const struct barrier *b, uint32_t end, uint64_t limit)
{
    struct announcement *a = mem_calloc(1, sizeof *a);
    uint32_t left = o->outbox_first;

    a->barrier = *b;
    a->after = spsc_pushed(o->channel->queue);
    for (uint32_t i = o->outbox_first; i < o->outbox_end; i++) {
        struct element *el = o->outbox[i];

        if (i < end && el->kind == ELEMENT_BARRIER && el->barrier.overtake_mono_ns != 0) {
            element_free(el);
            continue;
        }
        if (i < end && el->kind == ELEMENT_BATCH)
            copy_rows(a, el->batch, limit);
        o->outbox[left++] = el;
    }
    o->outbox_end = left;
    channel_announce(o->channel, a);
}

static void announce_to_all(struct emitter *em, const struct barrier *b)
{
    EACH_OUTLET(em, o)
    announce(o, b, o->outbox_end, em->in_flight_max_bytes);
}

/* The earliest time of a barrier that still waits. */
static void plan_overtaking(struct emitter *em)
{
    em->overtake_at = em->late.checkpoint_id != 0 ? em->late.overtake_mono_ns : INT64_MAX;
    EACH_OUTLET(em, o)
    {
        for (uint32_t i = o->outbox_first; i < o->outbox_end; i++) {
            const struct element *el = o->outbox[i];

            if (el->kind == ELEMENT_BARRIER && el->barrier.overtake_mono_ns != 0 &&
                el->barrier.overtake_mono_ns < em->overtake_at)
                em->overtake_at = el->barrier.overtake_mono_ns;
        }
    }
}

void emitter_barrier(struct emitter *em, const struct barrier *b, int64_t now_mono_ns)
{
    emitter_flush(em);
    em->late = (struct barrier){0};
    if (barrier_overtakes(b, now_mono_ns)) {
        announce_to_all(em, b);
        return;
    }
    if (!em->ended) {
        EACH_OUTLET(em, o)
        send(o, element_new_barrier(b));
    } else if (b->overtake_mono_ns != 0) {
        em->late = *b; /* nothing may follow the end in the queue */
    }
    if (b->overtake_mono_ns != 0)
        plan_overtaking(em);
}

/* The newest barrier of the outbox that may; older ones were given up, and it takes their place. */
static void overtake(struct outlet *o, int64_t now_mono_ns, uint64_t limit)
{
    for (uint32_t i = o->outbox_end; i-- > o->outbox_first;) {
        const struct element *el = o->outbox[i];
        struct barrier b = el->barrier;

        if (el->kind != ELEMENT_BARRIER || !barrier_overtakes(&b, now_mono_ns))
            continue;
        announce(o, &b, i + 1, limit);
        return;
    }
}

void emitter_overtake(struct emitter *em, int64_t now_mono_ns)
{
    if (now_mono_ns < em->overtake_at)
        return;
    if (em->late.checkpoint_id != 0 && barrier_overtakes(&em->late, now_mono_ns)) {
        announce_to_all(em, &em->late);
        em->late = (struct barrier){0};
    }
    EACH_OUTLET(em, o)
    overtake(o, now_mono_ns, em->in_flight_max_bytes);
    plan_overtaking(em);
}

int64_t emitter_overtake_at(const struct emitter *em)
{
    return em->overtake_at;
}

/* ---- backpressure ---------------------------------------------------------------------------- */

bool emitter_push_outbox(struct emitter *em)
{
    bool empty = true;

    EACH_OUTLET(em, o)
    {
        while (o->outbox_first < o->outbox_end &&
               channel_push(o->channel, o->outbox[o->outbox_first]))
            o->outbox_first++;
        if (o->outbox_first == o->outbox_end)
            o->outbox_first = o->outbox_end = 0;
        else
            empty = false;
    }
    return empty;
}

uint32_t emitter_outbox_len(const struct emitter *em)
{
    uint32_t n = 0;

    EACH_OUTLET(em, o)
    n += o->outbox_end - o->outbox_first;
    return n;
}
