/* alignment.c - see alignment.h */
#include "job/runtime/alignment.h"

#include "base/arena.h"

void alignment_init(struct alignment *a, uint32_t channel_count)
{
    *a = (struct alignment){.channel_count = channel_count, .live_count = channel_count};
    a->channels = mem_calloc(channel_count, sizeof *a->channels);
}

void alignment_release(struct alignment *a)
{
    mem_free(a->channels);
    *a = (struct alignment){0};
}

/* Some barrier has come to its end: a channel stays blocked while it waits for another (C6). */
static void unblock(struct alignment *a)
{
    for (uint32_t i = 0; i < a->channel_count; i++) {
        struct alignment_channel *c = &a->channels[i];

        c->blocked = false;
        for (uint32_t o = 0; o < a->open_count && !c->ended; o++)
            c->blocked |= a->open[o].exactly_once && a->open[o].checkpoint_id == c->last_id;
    }
}

static void remove_open(struct alignment *a, uint32_t i)
{
    a->open_count--;
    memmove(a->open + i, a->open + i + 1, (a->open_count - i) * sizeof a->open[0]);
}

static void mark_done(struct alignment *a, uint64_t id)
{
    uint32_t left = 0;

    if (id <= a->done_id)
        return;
    a->done_id = id;
    for (uint32_t i = 0; i < a->gone_count; i++)
        if (a->gone[i] > id)
            a->gone[left++] = a->gone[i];
    a->gone_count = left;
}

static bool is_gone(const struct alignment *a, uint64_t id)
{
    for (uint32_t i = 0; i < a->gone_count; i++)
        if (a->gone[i] == id)
            return true;
    return false;
}

/* An older one may still be under way. When there are more than can be remembered, the oldest of
 * them and all before it count as given up. */
static void mark_gone(struct alignment *a, uint64_t id)
{
    uint64_t least = UINT64_MAX;

    if (id <= a->done_id || is_gone(a, id))
        return;
    if (a->gone_count == ALIGNMENT_OPEN_MAX) {
        for (uint32_t i = 0; i < a->gone_count; i++)
            least = a->gone[i] < least ? a->gone[i] : least;
        mark_done(a, least);
    }
    a->gone[a->gone_count++] = id;
}

static void give_up(struct alignment *a, uint32_t i, struct alignment_result *r)
{
    uint64_t id = a->open[i].checkpoint_id;

    r->aborted[r->aborted_count++] = id;
    mark_done(a, id);
    remove_open(a, i);
    unblock(a);
}

/* Open barriers older than `id` that a channel, whose newest before was `before`, has skipped. */
static void give_up_skipped(struct alignment *a, uint64_t before, uint64_t id,
                            struct alignment_result *r)
{
    for (uint32_t i = 0; i < a->open_count;) {
        uint64_t open_id = a->open[i].checkpoint_id;

        if (open_id < id && before < open_id)
            give_up(a, i, r);
        else
            i++;
    }
}

static bool is_whole(const struct alignment *a, uint64_t id)
{
    for (uint32_t i = 0; i < a->channel_count; i++) {
        if (!a->channels[i].ended && a->channels[i].last_id < id)
            return false;
    }
    return true;
}

/* The newest open barrier that is whole; older open ones are given up. */
static void complete_if_whole(struct alignment *a, struct alignment_result *r)
{
    for (uint32_t i = a->open_count; i-- > 0;) {
        if (!is_whole(a, a->open[i].checkpoint_id))
            continue;
        r->complete = true;
        r->barrier = a->open[i];
        while (a->open[0].checkpoint_id < r->barrier.checkpoint_id)
            give_up(a, 0, r);
        remove_open(a, 0);
        mark_done(a, r->barrier.checkpoint_id);
        unblock(a);
        return;
    }
}

static bool find_open(const struct alignment *a, uint64_t id, uint32_t *at)
{
    for (*at = 0; *at < a->open_count; (*at)++) {
        if (a->open[*at].checkpoint_id == id)
            return true;
    }
    return false;
}

struct alignment_result alignment_barrier(struct alignment *a, uint32_t channel,
                                          const struct barrier *b)
{
    struct alignment_result r = {0};
    struct alignment_channel *c = &a->channels[channel];
    uint64_t before = c->last_id;
    uint32_t at;

    ASSERT(channel < a->channel_count && !c->ended && !c->blocked);
    if (b->checkpoint_id > c->last_id)
        c->last_id = b->checkpoint_id;
    give_up_skipped(a, before, b->checkpoint_id, &r);
    if (!find_open(a, b->checkpoint_id, &at)) {
        if (b->checkpoint_id <= a->done_id || is_gone(a, b->checkpoint_id))
            return r; /* whole or given up already */
        if (a->open_count > 0 && a->open[a->open_count - 1].checkpoint_id > b->checkpoint_id) {
            r.aborted[r.aborted_count++] = b->checkpoint_id;
            return r; /* another channel is past it without having delivered it */
        }
        if (a->open_count == ALIGNMENT_OPEN_MAX)
            give_up(a, 0, &r);
        a->open[a->open_count++] = *b;
        r.started = true;
    }
    c->blocked = b->exactly_once;
    complete_if_whole(a, &r);
    return r;
}

/* It and all before it have come to their end. */
static void complete_now(struct alignment *a, const struct barrier *b, struct alignment_result *r)
{
    r->complete = true;
    r->barrier = *b;
    while (a->open_count > 0 && a->open[0].checkpoint_id < b->checkpoint_id)
        give_up(a, 0, r);
    if (a->open_count > 0 && a->open[0].checkpoint_id == b->checkpoint_id)
        remove_open(a, 0);
    else
        r->started = true;
    mark_done(a, b->checkpoint_id);
    unblock(a);
}

struct alignment_result alignment_overtake(struct alignment *a, const struct barrier *b)
{
    struct alignment_result r = {0};

    if (b->checkpoint_id <= a->done_id || is_gone(a, b->checkpoint_id))
        return r; /* whole or given up already */
    if (alignment_newest(a) > b->checkpoint_id)
        r.aborted[r.aborted_count++] = b->checkpoint_id; /* a channel was read past it (C6) */
    else
        complete_now(a, b, &r);
    return r;
}

struct alignment_result alignment_overdue(struct alignment *a, int64_t now_mono_ns)
{
    struct alignment_result r = {0};

    for (uint32_t i = a->open_count; i-- > 0;) {
        struct barrier b = a->open[i];

        if (!barrier_overtakes(&b, now_mono_ns))
            continue;
        complete_now(a, &b, &r);
        break;
    }
    return r;
}

bool alignment_delivered(const struct alignment *a, uint32_t channel, uint64_t checkpoint_id)
{
    return a->channels[channel].ended || a->channels[channel].last_id >= checkpoint_id;
}

struct alignment_result alignment_end(struct alignment *a, uint32_t channel)
{
    struct alignment_result r = {0};

    ASSERT(channel < a->channel_count && !a->channels[channel].ended);
    a->channels[channel].ended = true;
    a->channels[channel].blocked = false;
    a->live_count--;
    complete_if_whole(a, &r);
    return r;
}

bool alignment_abort(struct alignment *a, uint64_t checkpoint_id)
{
    uint32_t at;
    bool was_open = find_open(a, checkpoint_id, &at);

    if (was_open) {
        remove_open(a, at);
        unblock(a);
    }
    mark_gone(a, checkpoint_id);
    return was_open;
}

uint64_t alignment_newest(const struct alignment *a)
{
    uint64_t newest = 0;

    for (uint32_t i = 0; i < a->channel_count; i++)
        newest = a->channels[i].last_id > newest ? a->channels[i].last_id : newest;
    return newest;
}

void alignment_skip(struct alignment *a, uint64_t checkpoint_id)
{
    mark_done(a, checkpoint_id);
}

/* ---- event time -------------------------------------------------------------------------------
 */

void event_time_init(struct event_time *t, uint32_t channel_count)
{
    *t = (struct event_time){.channel_count = channel_count, .emitted_ms = WATERMARK_NONE};
    t->channels = mem_calloc(channel_count, sizeof *t->channels);
    for (uint32_t i = 0; i < channel_count; i++)
        t->channels[i].watermark_ms = WATERMARK_NONE;
}

void event_time_release(struct event_time *t)
{
    mem_free(t->channels);
    *t = (struct event_time){0};
}

/* Over channels that count. When all live ones are idle, event time stays: idleness is told
 * instead. */
static enum event_time_news merge(struct event_time *t, int64_t *watermark_ms)
{
    int64_t least = WATERMARK_MAX;
    bool any = false, live = false, counted = false;

    for (uint32_t i = 0; i < t->channel_count; i++) {
        const struct event_time_channel *c = &t->channels[i];

        if (c->ended)
            continue;
        live = true;
        if (c->idle)
            continue;
        any = true;
        if (c->watermark_ms < t->emitted_ms)
            continue; /* back from idleness: counts once it has caught up */
        counted = true;
        if (c->watermark_ms < least)
            least = c->watermark_ms;
    }
    if (!live)
        return EVENT_TIME_SAME;
    if (!any) {
        if (t->emitted_idle)
            return EVENT_TIME_SAME;
        t->emitted_idle = true;
        return EVENT_TIME_IDLE;
    }
    t->emitted_idle = false;
    if (least > t->emitted_ms && counted) {
        t->emitted_ms = *watermark_ms = least;
        return EVENT_TIME_ADVANCED;
    }
    return EVENT_TIME_SAME;
}

enum event_time_news event_time_watermark(struct event_time *t, uint32_t channel,
                                          int64_t channel_watermark_ms, int64_t *watermark_ms)
{
    struct event_time_channel *c = &t->channels[channel];

    ASSERT(channel < t->channel_count && !c->ended);
    c->idle = false;
    if (channel_watermark_ms > c->watermark_ms)
        c->watermark_ms = channel_watermark_ms;
    return merge(t, watermark_ms);
}

enum event_time_news event_time_idle(struct event_time *t, uint32_t channel, int64_t *watermark_ms)
{
    ASSERT(channel < t->channel_count && !t->channels[channel].ended);
    t->channels[channel].idle = true;
    return merge(t, watermark_ms);
}

void event_time_active(struct event_time *t, uint32_t channel)
{
    t->channels[channel].idle = false;
    t->emitted_idle = false;
}

enum event_time_news event_time_end(struct event_time *t, uint32_t channel, int64_t *watermark_ms)
{
    ASSERT(channel < t->channel_count && !t->channels[channel].ended);
    t->channels[channel].ended = true;
    return merge(t, watermark_ms);
}
