/* largest.c - see largest.h: a heap whose root is the least of those that are kept. */
#include "job/cli/largest.h"

#include "base/arena.h"

#include <stdlib.h>

struct kept {
    struct largest_item item;
    uint64_t number; /* in order of coming */
    struct buf key;
};
struct largest {
    size_t most, count;
    struct kept *heap;
    struct kept next; /* the key that is being added to */
    struct largest_item *items;
};

struct largest *largest_new(size_t most)
{
    struct largest *l = mem_calloc(1, sizeof *l);

    ASSERT(most > 0);
    l->most = most;
    l->heap = mem_calloc(most, sizeof *l->heap);
    return l;
}

void largest_free(struct largest *l)
{
    if (l == NULL)
        return;
    for (size_t i = 0; i < l->count; i++)
        buf_release(&l->heap[i].key);
    buf_release(&l->next.key);
    mem_free(l->heap);
    mem_free(l->items);
    mem_free(l);
}

/* The smaller one, or the later of two equal ones, goes first. */
static bool goes_before(const struct kept *a, const struct kept *b)
{
    return a->item.bytes != b->item.bytes ? a->item.bytes < b->item.bytes : a->number > b->number;
}

static void swap(struct kept *a, struct kept *b)
{
    struct kept t = *a;

    *a = *b;
    *b = t;
}

static void sift_up(struct largest *l, size_t i)
{
    for (; i > 0 && goes_before(&l->heap[i], &l->heap[(i - 1) / 2]); i = (i - 1) / 2)
        swap(&l->heap[i], &l->heap[(i - 1) / 2]);
}

static void sift_down(struct largest *l, size_t i)
{
    for (;;) {
        size_t least = i;

        for (size_t c = 2 * i + 1; c <= 2 * i + 2 && c < l->count; c++)
            if (goes_before(&l->heap[c], &l->heap[least]))
                least = c;
        if (least == i)
            return;
        swap(&l->heap[i], &l->heap[least]);
        i = least;
    }
}

/* The key that was added to is complete. */
static void settle(struct largest *l)
{
    if (l->next.item.entries == 0)
        return;
    if (l->count < l->most) {
        swap(&l->heap[l->count++], &l->next);
        sift_up(l, l->count - 1);
    } else if (goes_before(&l->heap[0], &l->next)) {
        swap(&l->heap[0], &l->next);
        sift_down(l, 0);
    }
}

void largest_add(struct largest *l, struct bytes key, uint64_t bytes)
{
    if (l->next.item.entries == 0 || !bytes_eq(buf_bytes(&l->next.key), key)) {
        uint64_t number = l->next.number;

        settle(l);
        l->next.item = (struct largest_item){0};
        l->next.number = number + 1;
        buf_clear(&l->next.key);
        buf_append(&l->next.key, key.data, key.len);
    }
    l->next.item.entries++;
    l->next.item.bytes += bytes;
}

static int largest_first(const void *a, const void *b)
{
    return goes_before(a, b) ? 1 : -1;
}

size_t largest_end(struct largest *l, const struct largest_item **items)
{
    settle(l);
    l->next.item.entries = 0;
    if (l->count > 0)
        qsort(l->heap, l->count, sizeof *l->heap, largest_first);
    l->items = mem_calloc(l->count, sizeof *l->items);
    for (size_t i = 0; i < l->count; i++) {
        l->items[i] = l->heap[i].item;
        l->items[i].key = buf_bytes(&l->heap[i].key);
    }
    *items = l->items;
    return l->count;
}
