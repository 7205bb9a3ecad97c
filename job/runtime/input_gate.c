/* input_gate.c - see input_gate.h */
#include "job/runtime/input_gate.h"

struct input_gate {
    uint32_t channel_count;
    struct channel **channels;
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
        for (uint32_t from = 0; from < from_count; from++) {
            struct channel *c = exchange_channel(x, e, from, subtask_index);

            if (c != NULL)
                gate->channels[gate->channel_count++] = c;
        }
    }
    ASSERT(gate->channel_count > 0);
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
    mem_free(gate->channels);
    mem_free(gate);
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
