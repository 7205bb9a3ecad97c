/* Sorting row references by key. Keys of one state share long runs of bytes (sizes, row headers),
 * so: order by key group, then within each group radix sort by the eight bytes behind the shared
 * run, and settle ties by comparing whole keys.
 *
 * Rows lie anywhere in memory, so what costs is reading keys: each is read once to find its group
 * and once for its order, far enough ahead that the reads overlap. Memory: 12 bytes a row, and 32
 * for each row of the largest group. */
#include "backend/row_cache_priv.h"

#include <stdlib.h>

#define RADIX_LEAST 256u /* below it a comparison sort is quicker */
#define READ_AHEAD 16u   /* rows */

struct sort_item {
    uint64_t order; /* eight key bytes, big-endian, zero-padded */
    uint32_t ref;
};
struct sort_context {
    const struct row_cache *cache;
    uint8_t *const *bases;
};

static const struct row *row_of(const struct sort_context *x, uint32_t ref)
{
    const struct row_cache *c = x->cache;

    return (const struct row *)(const void *)(x->bases[ref >> c->unit_bits] +
                                              (size_t)(ref & ((1u << c->unit_bits) - 1)) *
                                                  UNIT_BYTES);
}

static struct bytes key_of(const struct sort_context *x, uint32_t ref)
{
    return row_key(x->cache, row_of(x, ref));
}

/* Where sizes stand, and where a key of a fixed-size value does. */
static inline void read_ahead(const struct sort_context *x, const uint32_t *refs, size_t i,
                              size_t count)
{
    if (i + READ_AHEAD < count) {
        const uint8_t *r = (const uint8_t *)row_of(x, refs[i + READ_AHEAD]);

        __builtin_prefetch(r);
        __builtin_prefetch(r + x->cache->value_at + x->cache->config.fixed_value_bytes);
    }
}

static int compare_items(const void *a, const void *b, void *ctx)
{
    const struct sort_item *x = a, *y = b;

    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return bytes_cmp(key_of(ctx, x->ref), key_of(ctx, y->ref));
}

static size_t shared_len(struct bytes a, struct bytes b, size_t most)
{
    size_t n = a.len < b.len ? a.len : b.len;
    size_t i = 0;

    if (n > most)
        n = most;
    while (i < n && a.data[i] == b.data[i])
        i++;
    return i;
}

static uint64_t order_of(struct bytes key, size_t from)
{
    uint8_t eight[8] = {0};
    size_t n = key.len > from ? key.len - from : 0;

    if (n >= 8)
        return get_be64(key.data + from);
    if (n > 0)
        memcpy(eight, key.data + from, n);
    return get_be64(eight);
}

/* How often each value of each byte of `order` occurs. */
static void count_bytes(const struct sort_item *items, size_t count, uint32_t counts[8][256])
{
    memset(counts, 0, 8 * sizeof counts[0]);
    for (size_t i = 0; i < count; i++) {
        uint64_t order = items[i].order;

        for (int b = 0; b < 8; b++)
            counts[b][(order >> (8 * b)) & 0xFF]++;
    }
}

/* Least significant byte first; a byte that is the same in all is passed over. Returns where the
 * result lies. */
static struct sort_item *radix_sort(struct sort_item *items, struct sort_item *spare, size_t count)
{
    uint32_t counts[8][256];

    count_bytes(items, count, counts);
    for (int b = 0; b < 8; b++) {
        uint32_t *starts = counts[b], sum = 0;
        struct sort_item *t = items;

        if (starts[(items[0].order >> (8 * b)) & 0xFF] == count)
            continue;
        for (int v = 0; v < 256; v++) {
            uint32_t n = starts[v];

            starts[v] = sum;
            sum += n;
        }
        for (size_t i = 0; i < count; i++)
            spare[starts[(items[i].order >> (8 * b)) & 0xFF]++] = items[i];
        items = spare;
        spare = t;
    }
    return items;
}

static void sort_items(struct sort_context *x, struct sort_item *items, struct sort_item *spare,
                       size_t count, uint32_t *out)
{
    if (count < RADIX_LEAST) {
        qsort_r(items, count, sizeof *items, compare_items, x);
    } else {
        items = radix_sort(items, spare, count);
        for (size_t i = 0, end; i < count; i = end) {
            for (end = i + 1; end < count && items[end].order == items[i].order; end++)
                ;
            if (end - i > 1)
                qsort_r(items + i, end - i, sizeof *items, compare_items, x);
        }
    }
    for (size_t i = 0; i < count; i++)
        out[i] = items[i].ref;
}

/* Items ordered by what comes behind the first `shared` bytes. Returns how many bytes all keys
 * really share, if fewer: then the items are of no use. */
static size_t make_items(struct sort_context *x, const uint32_t *refs, size_t count, size_t shared,
                         struct sort_item *items)
{
    struct bytes first = key_of(x, refs[0]);

    for (size_t i = 0; i < count; i++) {
        struct bytes key;

        read_ahead(x, refs, i, count);
        key = key_of(x, refs[i]);
        if (key.len < shared || memcmp(key.data, first.data, shared) != 0)
            return shared_len(first, key, shared);
        items[i] = (struct sort_item){order_of(key, shared), refs[i]};
    }
    return shared;
}

/* Rows of one key group. What all keys share is guessed from a few, and again from one that does
 * not. */
static void sort_group(struct sort_context *x, uint32_t *refs, size_t count,
                       struct sort_item *items, struct sort_item *spare)
{
    struct bytes first = key_of(x, refs[0]);
    size_t shared = first.len, really;

    for (size_t i = 1; i < count && i < READ_AHEAD; i++)
        shared = shared_len(first, key_of(x, refs[i]), shared);
    while ((really = make_items(x, refs, count, shared, items)) < shared)
        shared = really;
    sort_items(x, items, spare, count, refs);
}

/* Orders by key group, stable; starts[g] becomes the end of group g. */
static void order_by_group(struct sort_context *x, uint32_t *refs, size_t count, size_t *starts,
                           size_t groups)
{
    uint32_t prefix_len = x->cache->config.prefix_len;
    uint16_t *group_of = mem_alloc(count * sizeof *group_of);
    uint32_t *out = mem_alloc(count * sizeof *out);
    size_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        read_ahead(x, refs, i, count);
        group_of[i] = (uint16_t)keygroup_get_prefix(key_of(x, refs[i]).data, prefix_len);
        starts[group_of[i]]++;
    }
    for (size_t g = 0; g < groups; g++) {
        size_t n = starts[g];

        starts[g] = sum;
        sum += n;
    }
    for (size_t i = 0; i < count; i++)
        out[starts[group_of[i]]++] = refs[i];
    memcpy(refs, out, count * sizeof *out);
    mem_free(out);
    mem_free(group_of);
}

static size_t group_count(const struct row_cache *c)
{
    return c->config.prefix_len == 1 ? 256 : 65536;
}

void refs_group(const struct row_cache *c, uint8_t *const *bases, uint32_t *refs, size_t count)
{
    struct sort_context x = {c, bases};
    size_t *starts = mem_calloc(group_count(c), sizeof *starts);

    order_by_group(&x, refs, count, starts, group_count(c));
    mem_free(starts);
}

void refs_sort(const struct row_cache *c, uint8_t *const *bases, uint32_t *refs, size_t count)
{
    struct sort_context x = {c, bases};
    size_t groups = group_count(c), largest = 0, begin = 0;
    struct sort_item *items;
    size_t *ends;

    if (count < 2)
        return;
    if (count < RADIX_LEAST) { /* a batch's misses: without tables of groups */
        items = mem_alloc(count * sizeof *items);
        for (size_t i = 0; i < count; i++)
            items[i] = (struct sort_item){order_of(key_of(&x, refs[i]), 0), refs[i]};
        sort_items(&x, items, NULL, count, refs);
        mem_free(items);
        return;
    }
    ends = mem_calloc(groups, sizeof *ends);
    order_by_group(&x, refs, count, ends, groups);
    for (size_t g = 0; g < groups; g++) {
        largest = ends[g] - begin > largest ? ends[g] - begin : largest;
        begin = ends[g];
    }
    items = mem_alloc(2 * largest * sizeof *items);
    begin = 0;
    for (size_t g = 0; g < groups; g++) {
        if (ends[g] - begin > 1)
            sort_group(&x, refs + begin, ends[g] - begin, items, items + largest);
        begin = ends[g];
    }
    mem_free(items);
    mem_free(ends);
}
