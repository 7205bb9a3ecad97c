/* flink_held.c - see flink_held.h */
#include "checkpoint/flink/flink_held.h"

#include "base/arena.h"

#include <stdlib.h>

void flink_held_clear(struct flink_held_set *s)
{
    s->count = 0;
}

void flink_held_release(struct flink_held_set *s)
{
    mem_free(s->items);
    *s = (struct flink_held_set){0};
}

void flink_held_add(struct flink_held_set *s, struct bytes key, struct bytes value)
{
    if (s->count == s->cap) {
        s->cap = s->cap == 0 ? 1024 : 2 * s->cap;
        s->items = mem_realloc(s->items, s->cap * sizeof *s->items);
    }
    s->items[s->count++] =
        (struct flink_held){digest_of(key), digest_of(value), (uint64_t)key.len + value.len};
}

static int by_key(const void *a, const void *b)
{
    const struct flink_held *x = a, *y = b;

    return memcmp(x->key.b, y->key.b, sizeof x->key.b);
}

static void sort(struct flink_held_set *s)
{
    if (s->count > 1)
        qsort(s->items, s->count, sizeof *s->items, by_key);
}

static void add(struct entry_sum *sum, const struct flink_held *h)
{
    sum->entries++;
    sum->bytes += h->bytes;
}

void flink_held_compare(struct flink_held_set *x, struct flink_held_set *y,
                        struct entry_sum out[ENTRY_CHANGES])
{
    size_t i = 0, k = 0;

    sort(x);
    sort(y);
    while (i < x->count || k < y->count) {
        int order = i == x->count   ? 1
                    : k == y->count ? -1
                                    : by_key(&x->items[i], &y->items[k]);

        if (order < 0)
            add(&out[ENTRY_REMOVED], &x->items[i]);
        else if (order > 0)
            add(&out[ENTRY_ADDED], &y->items[k]);
        else
            add(&out[digest_eq(x->items[i].value, y->items[k].value) ? ENTRY_SAME : ENTRY_CHANGED],
                &y->items[k]);
        i += order <= 0;
        k += order >= 0;
    }
}
