/* Sorting row references by key. Keys of one state share long runs of bytes (sizes, row headers),
 * so: find the shared run, radix sort by the eight bytes behind it, settle ties by comparing whole
 * keys. */
#include "backend/row_cache_priv.h"

#include <stdlib.h>

#define RADIX_LEAST 256u /* below it a comparison sort is quicker */

struct sort_item {
    uint64_t order; /* eight key bytes, big-endian, zero-padded */
    uint32_t ref;
};
struct sort_context {
    const struct row_cache *cache;
    uint8_t *const *bases;
};

static struct bytes key_of(const struct sort_context *x, uint32_t ref)
{
    const struct row_cache *c = x->cache;
    const struct row *r =
        (const struct row *)(const void *)(x->bases[ref >> c->unit_bits] +
                                           (size_t)(ref & ((1u << c->unit_bits) - 1)) * UNIT_BYTES);

    return row_key(c, r);
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

/* By one byte of `order`; false when all have the same one and nothing was moved. */
static bool radix_pass(const struct sort_item *from, struct sort_item *to, size_t count, int shift)
{
    size_t starts[256] = {0};
    size_t sum = 0;

    for (size_t i = 0; i < count; i++)
        starts[(from[i].order >> shift) & 0xFF]++;
    if (starts[(from[0].order >> shift) & 0xFF] == count)
        return false;
    for (int b = 0; b < 256; b++) {
        size_t n = starts[b];

        starts[b] = sum;
        sum += n;
    }
    for (size_t i = 0; i < count; i++)
        to[starts[(from[i].order >> shift) & 0xFF]++] = from[i];
    return true;
}

static void sort_items(struct sort_context *x, struct sort_item *items, struct sort_item *spare,
                       size_t count, uint32_t *out)
{
    if (count < RADIX_LEAST) {
        qsort_r(items, count, sizeof *items, compare_items, x);
    } else {
        for (int shift = 0; shift < 64; shift += 8) {
            if (radix_pass(items, spare, count, shift)) {
                struct sort_item *t = items;

                items = spare;
                spare = t;
            }
        }
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

/* The key-group prefix differs between rows that else share bytes: sort per group, within it by
 * what comes behind. */
static void sort_group(struct sort_context *x, uint32_t *refs, size_t count,
                       struct sort_item *items, struct sort_item *spare)
{
    struct bytes first = key_of(x, refs[0]);
    size_t shared = first.len;

    for (size_t i = 1; i < count; i++)
        shared = shared_len(first, key_of(x, refs[i]), shared);
    for (size_t i = 0; i < count; i++)
        items[i] = (struct sort_item){order_of(key_of(x, refs[i]), shared), refs[i]};
    sort_items(x, items, spare, count, refs);
}

size_t refs_group(const struct row_cache *c, uint8_t *const *bases, uint32_t *refs, size_t count)
{
    struct sort_context x = {c, bases};
    uint32_t prefix_len = c->config.prefix_len;
    size_t groups = prefix_len == 1 ? 256 : 65536, largest = 0, sum = 0;
    size_t *starts = mem_calloc(groups, sizeof *starts);
    uint16_t *group_of = mem_alloc(count * sizeof *group_of);
    uint32_t *out = mem_alloc(count * sizeof *out);

    for (size_t i = 0; i < count; i++) {
        group_of[i] = (uint16_t)keygroup_get_prefix(key_of(&x, refs[i]).data, prefix_len);
        starts[group_of[i]]++;
    }
    for (size_t g = 0; g < groups; g++) {
        size_t n = starts[g];

        largest = n > largest ? n : largest;
        starts[g] = sum;
        sum += n;
    }
    for (size_t i = 0; i < count; i++)
        out[starts[group_of[i]]++] = refs[i];
    memcpy(refs, out, count * sizeof *out);
    mem_free(out);
    mem_free(group_of);
    mem_free(starts);
    return largest;
}

void refs_sort(const struct row_cache *c, uint8_t *const *bases, uint32_t *refs, size_t count)
{
    struct sort_context x = {c, bases};
    uint32_t prefix_len = c->config.prefix_len;
    struct sort_item *items;
    size_t largest;

    if (count < 2)
        return;
    largest = refs_group(c, bases, refs, count);
    items = mem_alloc(2 * largest * sizeof *items);
    for (size_t i = 0, end; i < count; i = end) {
        uint32_t group = keygroup_get_prefix(key_of(&x, refs[i]).data, prefix_len);

        for (end = i + 1; end < count; end++) {
            if (keygroup_get_prefix(key_of(&x, refs[end]).data, prefix_len) != group)
                break;
        }
        if (end - i > 1)
            sort_group(&x, refs + i, end - i, items, items + largest);
    }
    mem_free(items);
}
