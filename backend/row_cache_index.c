/* row_cache_index.c - how a key leads to its row, and a map's owner or a window to its rows: two
 * open-addressing tables of hash tags. Task's thread; under the mutex while a writer is at work. */
#include "backend/row_cache_priv.h"

#define NAMESPACE_BYTES 8u /* of a BIGINT */
#define INDEX_BITS_MIN 8u
#define INDEX_BITS_MAX 31u

/* ---- index ----------------------------------------------------------------------------------- */

static void index_put(struct index *ix, uint32_t tag, uint32_t ref)
{
    uint32_t s = slot_home(ix, tag);

    while (ix->slots[s].ref != 0)
        s = slot_after(ix, s);
    ix->slots[s] = (struct slot){tag, ref};
}

static void index_grow(struct index *ix, uint32_t bits)
{
    struct index bigger = {.bits = bits, .count = ix->count};

    ASSERT(bigger.bits <= INDEX_BITS_MAX);
    bigger.slots = mem_alloc_huge(index_bytes(&bigger));
    memset(bigger.slots, 0, index_bytes(&bigger));
    for (size_t i = 0; ix->slots != NULL && i < (size_t)1 << ix->bits; i++) {
        if (ix->slots[i].ref != 0)
            index_put(&bigger, ix->slots[i].tag, ix->slots[i].ref);
    }
    mem_free(ix->slots);
    *ix = bigger;
}

static bool index_is_full(uint64_t count, uint32_t bits)
{
    return count * 8 >= 5ull << bits;
}

void index_reserve(struct index *ix, uint64_t count)
{
    uint32_t bits = ix->slots == NULL ? INDEX_BITS_MIN : ix->bits;

    while (bits < INDEX_BITS_MAX && index_is_full(count, bits))
        bits++;
    if (ix->slots == NULL || bits > ix->bits)
        index_grow(ix, bits);
}

static void index_add(struct index *ix, uint32_t tag, uint32_t ref)
{
    if (ix->slots == NULL || index_is_full(ix->count, ix->bits))
        index_grow(ix, ix->slots == NULL ? INDEX_BITS_MIN : ix->bits + 1);
    index_put(ix, tag, ref);
    ix->count++;
}

static uint32_t index_slot_of(const struct index *ix, uint32_t tag, uint32_t ref)
{
    uint32_t s = slot_home(ix, tag);

    while (ix->slots[s].ref != ref) {
        ASSERT(ix->slots[s].ref != 0);
        s = slot_after(ix, s);
    }
    return s;
}

/* What stands behind the hole moves up, unless it would pass its home. */
static void index_remove(struct index *ix, uint32_t tag, uint32_t ref)
{
    uint32_t mask = (1u << ix->bits) - 1;
    uint32_t hole = index_slot_of(ix, tag, ref);

    for (uint32_t s = slot_after(ix, hole); ix->slots[s].ref != 0; s = slot_after(ix, s)) {
        uint32_t home = slot_home(ix, ix->slots[s].tag);

        if (((s - home) & mask) >= ((s - hole) & mask)) {
            ix->slots[hole] = ix->slots[s];
            hole = s;
        }
    }
    ix->slots[hole].ref = 0;
    ix->count--;
}

uint32_t index_find(const struct row_cache *c, uint32_t tag, struct bytes key)
{
    const struct index *ix = &c->rows;

    if (ix->slots == NULL)
        return 0;
    for (uint32_t s = slot_home(ix, tag); ix->slots[s].ref != 0; s = slot_after(ix, s)) {
        if (ix->slots[s].tag == tag && row_has_key(c, row_at(c, ix->slots[s].ref), key))
            return ix->slots[s].ref;
    }
    return 0;
}

/* ---- chains of rows -------------------------------------------------------------------------- */

/* What the rows of a chain have in common. */
static struct bytes owner_of(const struct row_cache *c, struct bytes key)
{
    if (c->config.chain == ROW_CHAIN_NAMESPACE && key.len >= NAMESPACE_BYTES)
        return bytes_of(key.data + key.len - NAMESPACE_BYTES, NAMESPACE_BYTES);
    return bytes_of(key.data, key_owner_len(key, c->config.prefix_len, c->config.ns));
}

static uint32_t owner_find(const struct row_cache *c, uint32_t tag, struct bytes owner)
{
    const struct index *ix = &c->owners;

    if (ix->slots == NULL)
        return 0;
    for (uint32_t s = slot_home(ix, tag); ix->slots[s].ref != 0; s = slot_after(ix, s)) {
        if (ix->slots[s].tag == tag &&
            bytes_eq(owner_of(c, row_key(c, row_at(c, ix->slots[s].ref))), owner))
            return ix->slots[s].ref;
    }
    return 0;
}

uint32_t chain_head(const struct row_cache *c, struct bytes owner)
{
    return owner_find(c, key_tag(c, owner), owner);
}

static void chain_add(struct row_cache *c, uint32_t ref)
{
    struct row *r = row_at(c, ref);
    struct bytes owner = owner_of(c, row_key(c, r));
    struct row_links *links = row_links(r);
    uint32_t head;

    links->owner_tag = key_tag(c, owner);
    head = owner_find(c, links->owner_tag, owner);
    links->prev = 0;
    links->next = head;
    if (head == 0) {
        index_add(&c->owners, links->owner_tag, ref);
    } else {
        c->owners.slots[index_slot_of(&c->owners, links->owner_tag, head)].ref = ref;
        row_links(row_at(c, head))->prev = ref;
    }
}

static void chain_remove(struct row_cache *c, uint32_t ref)
{
    struct row_links *links = row_links(row_at(c, ref));

    if (links->next != 0)
        row_links(row_at(c, links->next))->prev = links->prev;
    if (links->prev != 0)
        row_links(row_at(c, links->prev))->next = links->next;
    else if (links->next != 0)
        c->owners.slots[index_slot_of(&c->owners, links->owner_tag, ref)].ref = links->next;
    else
        index_remove(&c->owners, links->owner_tag, ref);
}

/* ---- rows in and out ------------------------------------------------------------------------- */

void row_link(struct row_cache *c, uint32_t ref)
{
    struct row *r = row_at(c, ref);

    r->marks |= ROW_LIVE;
    c->slabs[ref >> c->unit_bits].live += r->units;
    c->live_units += r->units;
    index_add(&c->rows, r->tag, ref);
    if (c->config.chain != ROW_CHAIN_NONE)
        chain_add(c, ref);
}

static void row_unlive(struct row_cache *c, uint32_t ref)
{
    struct row *r = row_at(c, ref);

    r->marks &= (uint8_t)~ROW_LIVE;
    c->slabs[ref >> c->unit_bits].live -= r->units;
    c->live_units -= r->units;
}

void row_unlink(struct row_cache *c, uint32_t ref)
{
    struct row *r = row_at(c, ref);

    index_remove(&c->rows, r->tag, ref);
    if (c->config.chain != ROW_CHAIN_NONE)
        chain_remove(c, ref);
    if (r->marks & ROW_TOMBSTONE)
        c->tombstones--;
    row_unlive(c, ref);
}

void row_moved(struct row_cache *c, uint32_t from, uint32_t to)
{
    struct row *r = row_at(c, to);

    c->rows.slots[index_slot_of(&c->rows, r->tag, from)].ref = to;
    if (c->config.chain != ROW_CHAIN_NONE) {
        struct row_links *links = row_links(r);

        *links = *row_links(row_at(c, from));
        if (links->next != 0)
            row_links(row_at(c, links->next))->prev = to;
        if (links->prev != 0)
            row_links(row_at(c, links->prev))->next = to;
        else
            c->owners.slots[index_slot_of(&c->owners, links->owner_tag, from)].ref = to;
    }
    r->marks |= ROW_LIVE;
    c->slabs[to >> c->unit_bits].live += r->units;
    c->live_units += r->units;
    row_unlive(c, from);
}
