/* event_floor.c - see event_floor.h */
#include "job/operator/event_floor.h"

#define STATE "event-time-of-groups"
#define ITEM_BYTES 16u

/* Key groups of the job that wrote the items, and whether they differ. */
static uint32_t groups_of(const struct bytes *items, size_t count, bool *differ)
{
    uint32_t groups = 0;

    *differ = false;
    for (size_t i = 0; i < count; i++) {
        if (items[i].len != ITEM_BYTES || items[0].len != ITEM_BYTES)
            continue;
        if (get_be32(items[i].data + 12) >= groups)
            groups = get_be32(items[i].data + 12) + 1;
        *differ |= get_be64(items[i].data) != get_be64(items[0].data);
    }
    return groups;
}

enum rc event_floor_open(struct event_floor *f, const struct operator_context *ctx, struct err *err)
{
    const struct bytes *items;
    size_t count = operator_state_restored(ctx->state, STATE, &items);
    bool differ;
    uint32_t groups;

    *f = (struct event_floor){
        .range = keygroup_range_of(ctx->subtask_index, ctx->parallelism, ctx->key_group_count),
        .highest_ms = WATERMARK_NONE};
    groups = groups_of(items, count, &differ);
    if (differ && groups != ctx->key_group_count)
        return err_set(err, RC_UNSUPPORTED,
                       "%s: event times of %u key groups, which differ, can't become those of %u: go on from the "
                       "snapshot that this one was made from, take a savepoint, and make that one anew",
                       ctx->operator_name, groups, ctx->key_group_count);
    for (size_t i = 0; i < count; i++) {
        struct key_group_range r;
        int64_t ms;

        if (items[i].len != ITEM_BYTES)
            continue;
        ms = (int64_t)get_be64(items[i].data);
        r = (struct key_group_range){get_be32(items[i].data + 8), get_be32(items[i].data + 12)};
        for (uint32_t g = f->range.first; g <= f->range.last; g++) {
            if (g < r.first || g > r.last)
                continue;
            if (f->ms == NULL) {
                f->ms = mem_alloc((f->range.last - f->range.first + 1) * sizeof *f->ms);
                for (uint32_t k = 0; k <= f->range.last - f->range.first; k++)
                    f->ms[k] = WATERMARK_NONE;
            }
            f->ms[g - f->range.first] = ms;
            f->highest_ms = ms > f->highest_ms ? ms : f->highest_ms;
        }
    }
    return RC_OK;
}

void event_floor_release(struct event_floor *f)
{
    mem_free(f->ms);
    *f = (struct event_floor){0};
}

static int64_t time_of(const struct event_floor *f, uint32_t group, int64_t now_ms)
{
    return event_floor_counts(f, now_ms) ? event_floor_of(f, group, now_ms) : now_ms;
}

void event_floor_snapshot(const struct event_floor *f, const struct operator_context *ctx,
                          int64_t now_ms)
{
    struct buf runs = {0};
    struct bytes *items;
    size_t n = 0;

    for (uint32_t first = f->range.first, g = first; g <= f->range.last; g++) {
        int64_t ms = time_of(f, g, now_ms);

        if (g < f->range.last && time_of(f, g + 1, now_ms) == ms)
            continue;
        buf_append_be64(&runs, (uint64_t)ms);
        buf_append_be32(&runs, first);
        buf_append_be32(&runs, g);
        first = g + 1;
        n++;
    }
    items = mem_calloc(n, sizeof *items);
    for (size_t i = 0; i < n; i++)
        items[i] = bytes_of(runs.data + i * ITEM_BYTES, ITEM_BYTES);
    operator_state_set(ctx->state, STATE, LIST_UNION, items, n);
    mem_free(items);
    buf_release(&runs);
}
