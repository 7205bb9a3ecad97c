/* row_cache_slab.c - where rows lie: slabs that fill from their beginning, one of them open. See
 * row_cache_priv.h */
#include "backend/row_cache_priv.h"

#define BIG_ROW_FRACTION 4u /* a row above a slab's quarter has a slab of its own */

static uint32_t slab_new(struct row_cache *c, uint32_t units, bool cow)
{
    uint32_t id;

    if (c->free_ids.count > 0) {
        id = c->free_ids.at[--c->free_ids.count];
    } else {
        id = c->slab_count++;
        ASSERT(id < 1u << (32 - c->unit_bits)); /* check_room keeps ids free */
        if (id >= c->slab_cap) {
            c->slab_cap = c->slab_cap == 0 ? 64 : c->slab_cap * 2;
            c->bases = mem_realloc(c->bases, c->slab_cap * sizeof(uint8_t *));
            c->slabs = mem_realloc(c->slabs, c->slab_cap * sizeof(struct slab));
            c->bases[0] = NULL;
            c->slabs[0] = (struct slab){0};
        }
    }
    c->bases[id] = mem_alloc_huge((size_t)units * UNIT_BYTES);
    c->slabs[id] = (struct slab){.units = units, .cow = cow};
    c->slab_bytes += (size_t)units * UNIT_BYTES;
    if (cow)
        c->image_bytes += (size_t)units * UNIT_BYTES;
    else
        refs_push(&c->fifo, id);
    return id;
}

/* The caller takes it out of the fifo. */
void slab_free(struct row_cache *c, uint32_t id)
{
    struct slab *s = &c->slabs[id];

    if (s->cow)
        c->image_bytes -= (size_t)s->units * UNIT_BYTES;
    else
        c->used_units -= s->used;
    c->slab_bytes -= (size_t)s->units * UNIT_BYTES;
    mem_free(c->bases[id]);
    c->bases[id] = NULL;
    *s = (struct slab){0};
    if (c->open_slab == id)
        c->open_slab = 0;
    if (c->weeding.slab == id)
        c->weeding.unit = 0; /* the id's next rows begin elsewhere */
    refs_push(&c->free_ids, id);
}

/* Slabs grow with the state, so that a small one stays small. */
static uint32_t next_slab_units(const struct row_cache *c, uint32_t least)
{
    uint32_t most = 1u << c->unit_bits;
    uint32_t units = SLAB_BYTES_LEAST / UNIT_BYTES;

    while (units < most && (units < least || (size_t)units * UNIT_BYTES < c->slab_bytes))
        units *= 2;
    return units;
}

uint32_t row_alloc(struct row_cache *c, uint32_t key_len, uint32_t value_cap, bool cow)
{
    size_t size = (size_t)c->value_at + value_cap + key_len;
    uint32_t units = (uint32_t)((size + UNIT_BYTES - 1) / UNIT_BYTES);
    uint32_t *open = cow ? &c->cow_slab : &c->open_slab;
    uint32_t id, ref;
    struct row *r;

    if (units > (1u << c->unit_bits) / BIG_ROW_FRACTION) {
        id = slab_new(c, units, cow);
    } else {
        if (*open == 0 || c->slabs[*open].used + units > c->slabs[*open].units)
            *open = slab_new(c, next_slab_units(c, units), cow);
        id = *open;
    }
    ref = id << c->unit_bits | c->slabs[id].used;
    c->slabs[id].used += units;
    if (!cow)
        c->used_units += units;
    r = row_at(c, ref);
    memset(r, 0, c->value_at);
    r->units = units;
    r->key_len = key_len;
    r->value_cap = value_cap;
    return ref;
}

enum rc rows_check_room(const struct row_cache *c, struct err *err)
{
    uint64_t ids = 1ull << (32 - c->unit_bits);
    uint64_t used = c->slab_count - c->free_ids.count;

    if (used + SLAB_IDS_RESERVED < ids)
        return RC_OK;
    return err_set(err, RC_LIMIT, "rows of one state fill %llu slabs of %u bytes, limit %llu",
                   (unsigned long long)used, c->config.slab_bytes,
                   (unsigned long long)(ids - SLAB_IDS_RESERVED));
}

size_t row_cache_need(const struct row_cache *c, const struct key_batch *keys,
                      const struct bytes *values)
{
    size_t sum = (size_t)keys->count * (row_size(c, 0, c->config.fixed_value_bytes) + UNIT_BYTES +
                                        2 * sizeof(struct slot)) +
                 keys->offsets[keys->count];

    for (uint32_t i = 0; values != NULL && i < keys->count; i++)
        sum += values[i].len;
    return sum + index_growth(&c->rows, keys->count) +
           (c->config.chain == ROW_CHAIN_NONE ? 0 : index_growth(&c->owners, keys->count)) +
           refs_growth(&c->dirty, keys->count) + refs_growth(&c->owed, keys->count);
}
