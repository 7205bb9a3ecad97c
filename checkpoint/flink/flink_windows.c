/* flink_windows.c - see flink_windows.h */
#include "checkpoint/flink/flink_windows.h"

void open_windows_release(struct open_windows *w)
{
    mem_free(w->ends);
    *w = (struct open_windows){0};
}

enum rc open_windows_note(struct open_windows *w, int64_t end, struct err *err)
{
    size_t low = 0, high = w->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (w->ends[middle] < end)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < w->count && w->ends[low] == end)
        return RC_OK;
    if (w->count == OPEN_WINDOWS_MAX)
        return err_set(err, RC_LIMIT, "more than %u open windows", OPEN_WINDOWS_MAX);
    if (w->count == w->cap) {
        w->cap = w->cap == 0 ? 64 : 2 * w->cap;
        w->ends = mem_realloc(w->ends, w->cap * sizeof *w->ends);
    }
    memmove(w->ends + low + 1, w->ends + low, (w->count - low) * sizeof *w->ends);
    w->ends[low] = end;
    w->count++;
    return RC_OK;
}

void open_windows_put(const struct open_windows *w, struct arena *arena, struct subtask_state *to)
{
    struct list_state *lists = ARENA_ARRAY(arena, to->list_count + 1, struct list_state);
    struct bytes *items = ARENA_ARRAY(arena, w->count + 1, struct bytes);

    if (to->list_count > 0)
        memcpy(lists, to->lists, to->list_count * sizeof *lists);
    for (size_t i = 0; i < w->count; i++) {
        uint8_t *end = arena_alloc(arena, 8);

        put_be64(end, (uint64_t)w->ends[i]);
        items[i] = bytes_of(end, 8);
    }
    lists[to->list_count++] = (struct list_state){
        .name = OPEN_WINDOWS_LIST, .mode = LIST_UNION, .item_count = w->count, .items = items};
    to->lists = lists;
}
