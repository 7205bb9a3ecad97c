/* input_gate.c - see input_gate.h */
#include "job/runtime/input_gate.h"

struct input_gate {
    uint32_t channel_count;
    struct channel **channels;
    uint32_t *edges; /* of the graph, by channel */
    const struct graph *graph;
    bool overtaking;
    uint64_t in_flight_max_bytes;
    struct announcement **news;   /* by channel: announced and not dealt with; elements behind it are not read */
    struct inflight *recording;   /* the caller's; NULL: nothing is recorded */
    uint32_t next; /* whose turn it is */
    struct alignment alignment;
    struct event_time time;
    int64_t alignment_start_ns;
    uint64_t aligned_bytes;
    bool end_given;
    bool time_late; /* the end of this channel is still to be told to `time` */
    uint32_t time_late_channel;
};

struct input_gate *input_gate_new(struct exchange *x, const struct graph *g, uint32_t vertex,
                                  uint32_t subtask_index)
{
    struct input_gate *gate = mem_calloc(1, sizeof *gate);
    uint32_t cap = 0;

    for (uint32_t e = 0; e < g->edge_count; e++) {
        uint32_t from_count = g->vertices[g->edges[e].from_vertex].parallelism;

        if (g->edges[e].to_vertex != vertex)
            continue;
        cap += from_count;
        gate->channels = mem_realloc(gate->channels, cap * sizeof(struct channel *));
        gate->edges = mem_realloc(gate->edges, cap * sizeof *gate->edges);
        for (uint32_t from = 0; from < from_count; from++) {
            struct channel *c = exchange_channel(x, e, from, subtask_index);

            if (c == NULL)
                continue;
            gate->edges[gate->channel_count] = e;
            gate->channels[gate->channel_count++] = c;
        }
    }
    ASSERT(gate->channel_count > 0);
    gate->graph = g;
    gate->news = mem_calloc(gate->channel_count, sizeof(struct announcement *));
    alignment_init(&gate->alignment, gate->channel_count);
    event_time_init(&gate->time, gate->channel_count);
    return gate;
}

void input_gate_free(struct input_gate *gate)
{
    if (gate == NULL)
        return;
    alignment_release(&gate->alignment);
    event_time_release(&gate->time);
    for (uint32_t i = 0; i < gate->channel_count; i++)
        announcement_free(gate->news[i]);
    mem_free(gate->news);
    mem_free(gate->edges);
    mem_free(gate->channels);
    mem_free(gate);
}

void input_gate_overtaking(struct input_gate *gate, uint64_t in_flight_max_bytes)
{
    gate->overtaking = true;
    gate->in_flight_max_bytes = in_flight_max_bytes;
}

static uint64_t batch_bytes(const struct batch *b)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < b->column_count; i++) {
        const struct column *c = &b->columns[i];

        if (type_is_varlen(c->type.kind))
            n += (uint64_t)(c->offsets[b->rows] - c->offsets[0]);
        else
            n += (uint64_t)b->rows * type_width(c->type.kind);
    }
    return n;
}

static enum gate_kind kind_of(enum event_time_news news)
{
    return news == EVENT_TIME_ADVANCED ? GATE_WATERMARK
           : news == EVENT_TIME_IDLE   ? GATE_IDLE
                                       : GATE_SKIP;
}

static void give_end(struct input_gate *gate, uint32_t channel, struct gate_item *out)
{
    out->kind = kind_of(event_time_end(&gate->time, channel, &out->watermark_ms));
}

static void give_alignment(struct input_gate *gate, const struct alignment_result *r, int64_t now,
                           struct gate_item *out)
{
    if (r->started) {
        gate->alignment_start_ns = now;
        gate->aligned_bytes = 0;
    }
    out->aborted_count = r->aborted_count;
    memcpy(out->aborted, r->aborted, r->aborted_count * sizeof r->aborted[0]);
    if (r->complete) {
        out->kind = GATE_BARRIER;
        out->barrier = r->barrier;
        out->alignment_ns = now - gate->alignment_start_ns;
        out->aligned_bytes = gate->aligned_bytes;
    }
}

/* A channel's end may complete a barrier and advance event time at once: then event time follows
 * with the next call. */
static void take_end(struct input_gate *gate, uint32_t channel, int64_t now, struct gate_item *out)
{
    struct alignment_result r = alignment_end(&gate->alignment, channel);

    give_alignment(gate, &r, now, out);
    if (r.complete) {
        gate->time_late = true;
        gate->time_late_channel = channel;
        return;
    }
    give_end(gate, channel, out);
}

static void take(struct input_gate *gate, uint32_t channel, struct element *el, int64_t now,
                 struct gate_item *out)
{
    struct alignment_result r;

    out->kind = GATE_SKIP;
    switch (el->kind) {
    case ELEMENT_BATCH:
        out->kind = GATE_BATCH;
        out->batch = el->batch;
        el->batch = NULL;
        event_time_active(&gate->time, channel);
        if (alignment_open(&gate->alignment))
            gate->aligned_bytes += batch_bytes(out->batch);
        break;
    case ELEMENT_WATERMARK:
        out->kind = kind_of(
            event_time_watermark(&gate->time, channel, el->watermark_ms, &out->watermark_ms));
        break;
    case ELEMENT_IDLE:
        out->kind = kind_of(event_time_idle(&gate->time, channel, &out->watermark_ms));
        break;
    case ELEMENT_BARRIER:
        r = alignment_barrier(&gate->alignment, channel, &el->barrier);
        give_alignment(gate, &r, now, out);
        break;
    case ELEMENT_END:
        take_end(gate, channel, now, out);
        break;
    }
}

/* ---- barriers that overtake ------------------------------------------------------------------ */

/* The newest announcement of a channel that is not dealt with. To be asked after an element of its queue was seen and
 * before it is used (C6). */
static struct announcement *news_of(struct input_gate *gate, uint32_t channel)
{
    struct announcement *a = channel_announcement(gate->channels[channel]);

    if (a != NULL) {
        announcement_free(gate->news[channel]);
        gate->news[channel] = a;
    }
    return gate->news[channel];
}

static void drop_news(struct input_gate *gate, uint32_t channel)
{
    announcement_free(gate->news[channel]);
    gate->news[channel] = NULL;
}

static bool is_recorded(const struct input_gate *gate, uint64_t checkpoint_id)
{
    return gate->recording != NULL && gate->recording->barrier.checkpoint_id == checkpoint_id;
}

/* Records what the channel has by now in front of the barrier. */
static void record(struct input_gate *gate, uint32_t channel)
{
    for (;;) {
        bool more = inflight_next(gate->recording, channel);
        const struct announcement *a = news_of(gate, channel);

        if (a != NULL && is_recorded(gate, a->barrier.checkpoint_id)) {
            inflight_announced(gate->recording, channel, a);
            drop_news(gate, channel);
            return;
        }
        if (!more)
            return;
        inflight_record(gate->recording, channel);
    }
}

/* What is whole is the caller's alone, who may free it before the gate is asked again. */
static void let_go_when_whole(struct input_gate *gate)
{
    if (gate->recording != NULL && inflight_whole(gate->recording))
        gate->recording = NULL;
}

static void record_all(struct input_gate *gate)
{
    let_go_when_whole(gate);
    for (uint32_t i = 0; i < gate->channel_count && gate->recording != NULL; i++) {
        record(gate, i);
        let_go_when_whole(gate);
    }
}

/* Decided: the barrier is whole here. */
static bool overtaken(struct input_gate *gate, const struct alignment_result *r, int64_t now,
                      struct gate_item *out)
{
    give_alignment(gate, r, now, out);
    if (!r->complete) {
        out->kind = GATE_SKIP;
        return r->aborted_count > 0;
    }
    out->recording = gate->recording =
        inflight_new(gate->graph, &r->barrier, gate->channel_count, gate->channels, gate->edges,
                     gate->in_flight_max_bytes);
    for (uint32_t i = 0; i < gate->channel_count; i++)
        if (alignment_delivered(&gate->alignment, i, r->barrier.checkpoint_id))
            inflight_through(gate->recording, i);
    record_all(gate);
    return true;
}

/* A barrier of the attempt in the queue of some channel. */
static bool find_in_queues(struct input_gate *gate, uint64_t checkpoint_id, struct barrier *found)
{
    for (uint32_t i = 0; i < gate->channel_count; i++) {
        const struct element *el;

        for (size_t k = 0; (el = spsc_peek_at(gate->channels[i]->queue, k)) != NULL; k++) {
            if (el->kind != ELEMENT_BARRIER || el->barrier.checkpoint_id != checkpoint_id)
                continue;
            *found = el->barrier;
            return true;
        }
    }
    return false;
}

bool input_gate_look(struct input_gate *gate, int64_t now_mono_ns, uint64_t overdue,
                     struct gate_item *out)
{
    struct alignment_result r;
    struct barrier found;

    memset(out, 0, offsetof(struct gate_item, aborted));
    if (!gate->overtaking)
        return false;
    record_all(gate);
    for (uint32_t i = 0; i < gate->channel_count; i++) {
        struct announcement *a = news_of(gate, i);

        if (a == NULL)
            continue;
        if (is_recorded(gate, a->barrier.checkpoint_id)) { /* came since */
            inflight_announced(gate->recording, i, a);
            drop_news(gate, i);
            let_go_when_whole(gate);
            continue;
        }
        r = alignment_overtake(&gate->alignment, &a->barrier);
        if (!r.complete) /* else the recording takes it */
            drop_news(gate, i);
        if (overtaken(gate, &r, now_mono_ns, out))
            return true;
    }
    r = alignment_overdue(&gate->alignment, now_mono_ns);
    if (!r.complete && overdue != 0 && find_in_queues(gate, overdue, &found))
        r = alignment_overtake(&gate->alignment, &found);
    return overtaken(gate, &r, now_mono_ns, out);
}

void input_gate_stop_recording(struct input_gate *gate, const struct inflight *f)
{
    if (gate->recording == f) /* else that of a later barrier goes on */
        gate->recording = NULL;
}

/* ---- one element ----------------------------------------------------------------------------- */

/* Before the next element of the channel, which has been seen there, may be taken: what is announced counts first, and what is
 * recorded is recorded before it goes. true: *out has a barrier instead. */
static bool ahead_of(struct input_gate *gate, uint32_t channel, int64_t now, struct gate_item *out)
{
    if (gate->recording != NULL)
        record_all(gate);
    return news_of(gate, channel) != NULL && input_gate_look(gate, now, 0, out);
}

void input_gate_next(struct input_gate *gate, int64_t now_mono_ns, struct gate_item *out)
{
    memset(out, 0, offsetof(struct gate_item, aborted));
    if (gate->time_late) {
        gate->time_late = false;
        give_end(gate, gate->time_late_channel, out);
        return;
    }
    for (uint32_t i = 0; i < gate->channel_count; i++) {
        uint32_t channel = gate->next;
        struct element *el;

        gate->next = gate->next + 1 == gate->channel_count ? 0 : gate->next + 1;
        if (alignment_blocked(&gate->alignment, channel))
            continue;
        if (gate->overtaking) {
            if (!channel_has(gate->channels[channel]))
                continue; /* what comes from now on may be behind an announcement: not before the next look */
            if (ahead_of(gate, channel, now_mono_ns, out))
                return;
        }
        el = channel_pop(gate->channels[channel]);
        if (el == NULL)
            continue;
        take(gate, channel, el, now_mono_ns, out);
        element_free(el);
        return;
    }
    if (alignment_all_ended(&gate->alignment) && !gate->end_given) {
        gate->end_given = true;
        out->kind = GATE_ENDED;
    }
}

void input_gate_abort(struct input_gate *gate, uint64_t checkpoint_id)
{
    alignment_abort(&gate->alignment, checkpoint_id);
}

void input_gate_skip(struct input_gate *gate, uint64_t checkpoint_id)
{
    alignment_skip(&gate->alignment, checkpoint_id);
}

uint64_t input_gate_newest(const struct input_gate *gate)
{
    return alignment_newest(&gate->alignment);
}

uint32_t input_gate_queued(const struct input_gate *gate)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < gate->channel_count; i++)
        n += (uint32_t)spsc_len(gate->channels[i]->queue);
    return n;
}
