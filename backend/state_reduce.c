/* state_reduce.c - reducing and aggregating state: accumulators, changed in place where their size
 * is fixed; and merging namespaces. */
#include "backend/state_priv.h"

static bool accumulates(const struct state *s)
{
    return desc_of(s)->kind == STATE_REDUCING || desc_of(s)->kind == STATE_AGGREGATING;
}

static enum rc check_accumulates(const struct state *s, struct err *err)
{
    if (accumulates(s))
        return RC_OK;
    return err_set(err, RC_INVALID, "state %s is of another kind: no accumulator",
                   desc_of(s)->name);
}

/* One element into one accumulator. */
static enum rc add_one(const struct state *s, struct buf *acc, bool fresh, struct bytes element,
                       struct err *err)
{
    uint32_t fixed = desc_of(s)->fixed_value_bytes;
    enum rc rc;

    if (fresh && desc_of(s)->kind == STATE_REDUCING) {
        if (fixed != 0 && element.len != fixed)
            return err_set(err, RC_INVALID, "state %s: an element of %zu bytes instead of %u",
                           desc_of(s)->name, element.len, fixed);
        buf_clear(acc);
        buf_append(acc, element.data, element.len); /* fits: in place */
        return RC_OK;
    }
    rc = s->functions.add(s->functions.ctx, acc, fresh, element, err);
    return rc == RC_OK ? RC_OK : err_wrap(err, rc, "state %s: add", desc_of(s)->name);
}

/* ---- of fixed size --------------------------------------------------------------------------- */

/* Rows that state_upsert made for elements that were not added. */
static void undo_fresh(struct state *s, const struct key_batch *keys, const uint8_t *fresh,
                       uint32_t from)
{
    struct err ignored = {0};

    for (uint32_t i = from; i < keys->count; i++) {
        struct key_batch one = {1, keys->data, keys->offsets + i};

        if (fresh[i])
            (void)!keyed_del(s->rows, &one, &ignored);
    }
}

static enum rc add_fixed(struct state *s, const struct key_batch *keys,
                         const struct bytes *elements, struct err *err)
{
    uint32_t fixed = desc_of(s)->fixed_value_bytes;
    void **rows = mem_alloc(keys->count * sizeof *rows);
    enum rc rc;

    state_reserve(s, keys->count);
    rc = state_upsert(s, keys, rows, s->marks, err);
    for (uint32_t i = 0; rc == RC_OK && i < keys->count; i++) {
        struct buf acc = {rows[i], fixed, fixed};

        rc = add_one(s, &acc, s->marks[i], elements[i], err);
        ASSERT(acc.data == rows[i]);
        if (rc == RC_OK && acc.len != fixed)
            rc = err_set(err, RC_INVALID, "state %s: an accumulator of %zu bytes instead of %u",
                         desc_of(s)->name, acc.len, fixed);
        if (rc != RC_OK)
            undo_fresh(s, keys, s->marks, i);
    }
    mem_free(rows);
    return rc;
}

/* ---- of varying size ------------------------------------------------------------------------- */

/* A key that stands in a batch more than once is read and written once. next[i]: the next place of
 * the same key, or 0; first[i]: no place before i has it. */
struct places {
    uint32_t *next, *table;
    uint8_t *first;
};

static struct places find_places(const struct key_batch *keys)
{
    struct places p = {mem_calloc(keys->count, sizeof *p.next), NULL, mem_calloc(keys->count, 1)};
    uint32_t bits = 4;

    while (1u << bits < 2 * keys->count)
        bits++;
    p.table = mem_calloc((size_t)1 << bits, sizeof *p.table); /* last place + 1 */
    for (uint32_t i = 0; i < keys->count; i++) {
        struct bytes key = key_batch_at(keys, i);
        uint32_t at = (uint32_t)hash64(key) & ((1u << bits) - 1);

        while (p.table[at] != 0 && !bytes_eq(key_batch_at(keys, p.table[at] - 1), key))
            at = (at + 1) & ((1u << bits) - 1);
        p.first[i] = p.table[at] == 0;
        if (!p.first[i])
            p.next[p.table[at] - 1] = i;
        p.table[at] = i + 1;
    }
    return p;
}

static void places_release(struct places *p)
{
    mem_free(p->next);
    mem_free(p->first);
    mem_free(p->table);
}

/* Accumulators as add needs them: what has expired does not count. */
static enum rc read_accumulators(struct state *s, const struct key_batch *keys, int64_t now_ms,
                                 struct err *err)
{
    state_reserve(s, keys->count);
    RETURN_IF_ERR(keyed_get(s->rows, keys, s->values, err));
    for (uint32_t i = 0; i < keys->count; i++) {
        enum row_sight sight;

        RETURN_IF_ERR(row_look(s, s->values[i], now_ms, &sight, &s->values[i], err));
        if (sight == ROW_EXPIRED && !shows_expired(s))
            s->values[i] = (struct bytes){0};
    }
    return RC_OK;
}

static enum rc add_varying(struct state *s, const struct key_batch *keys,
                           const struct bytes *elements, const struct places *p, struct err *err)
{
    struct bytes *accs = s->values; /* read_accumulators has filled them */
    size_t at = 0;

    buf_clear(&s->work); /* the new accumulators one after the other */
    key_builder_clear(&s->joined);
    for (uint32_t i = 0; i < keys->count; i++) {
        struct buf acc = {0};
        bool fresh = accs[i].data == NULL;
        enum rc rc = RC_OK;

        if (!p->first[i])
            continue;
        buf_append(&acc, accs[i].data, accs[i].len);
        for (uint32_t j = i; rc == RC_OK; j = p->next[j]) {
            rc = add_one(s, &acc, fresh, elements[j], err);
            fresh = false;
            if (p->next[j] == 0)
                break;
        }
        if (rc == RC_OK)
            rc = key_builder_add_raw(&s->joined, key_batch_at(keys, i), err);
        if (rc == RC_OK) {
            accs[s->joined.count - 1].len = acc.len;
            buf_append(&s->work, acc.data, acc.len);
        }
        buf_release(&acc);
        if (rc != RC_OK)
            return rc;
    }
    buf_reserve(&s->work, 1); /* an accumulator of 0 bytes is not none */
    for (uint32_t i = 0; i < s->joined.count; i++) { /* the data holds still now */
        accs[i].data = s->work.data + at;
        at += accs[i].len;
    }
    return RC_OK;
}

enum rc state_add(struct state *s, const struct key_batch *keys, const struct bytes *elements,
                  struct err *err)
{
    struct places places;
    struct key_batch changed;
    struct bytes *values;
    enum rc rc;

    RETURN_IF_ERR(check_accumulates(s, err));
    if (desc_of(s)->fixed_value_bytes != 0)
        return add_fixed(s, keys, elements, err);
    places = find_places(keys);
    rc = read_accumulators(s, keys, state_now(s), err);
    if (rc == RC_OK)
        rc = add_varying(s, keys, elements, &places, err);
    places_release(&places);
    if (rc != RC_OK || keys->count == 0)
        return rc;
    changed = key_builder_batch(&s->joined);
    values = mem_alloc(changed.count * sizeof *values); /* rows_put has its own use for s->values */
    memcpy(values, s->values, changed.count * sizeof *values);
    rc = rows_put(s, &changed, values, err);
    mem_free(values);
    return rc;
}

enum rc state_get(struct state *s, const struct key_batch *keys, struct bytes *values,
                  struct err *err)
{
    size_t at = 0;

    RETURN_IF_ERR(check_accumulates(s, err));
    state_reserve(s, keys->count);
    RETURN_IF_ERR(rows_get(s, keys, values, s->marks, err));
    if (s->functions.result == NULL)
        return RC_OK;
    buf_clear(&s->work);
    for (uint32_t i = 0; i < keys->count; i++) {
        size_t start = s->work.len;

        if (values[i].data == NULL)
            continue;
        RETURN_IF_ERR(s->functions.result(s->functions.ctx, values[i], &s->work, err));
        values[i].len = s->work.len - start;
    }
    buf_reserve(&s->work, 1); /* a result of 0 bytes is not none */
    for (uint32_t i = 0; i < keys->count; i++) { /* the data holds still now */
        if (values[i].data == NULL)
            continue;
        values[i].data = s->work.data + at;
        at += values[i].len;
    }
    return RC_OK;
}

/* ---- merging namespaces ---------------------------------------------------------------------- */

/* The sources, each once and without the target itself, in s->joined. */
static enum rc other_sources(struct state *s, struct bytes target, const struct key_batch *sources,
                             struct key_batch *out, struct err *err)
{
    struct places places = find_places(sources);
    enum rc rc = RC_OK;

    key_builder_clear(&s->joined);
    for (uint32_t i = 0; rc == RC_OK && i < sources->count; i++) {
        if (places.first[i] && !bytes_eq(key_batch_at(sources, i), target))
            rc = key_builder_add_raw(&s->joined, key_batch_at(sources, i), err);
    }
    places_release(&places);
    *out = key_builder_batch(&s->joined);
    return rc;
}

static enum rc merge_lists(struct state *s, struct bytes target, const struct key_batch *sources,
                           struct err *err)
{
    uint32_t offsets[2];
    struct key_batch one = key_batch_one(target, offsets);
    struct err why = {0};
    struct bytes all;
    uint32_t done;
    enum rc rc;

    state_reserve(s, sources->count);
    RETURN_IF_ERR(keyed_get(s->rows, sources, s->values, err));
    buf_clear(&s->work);
    for (uint32_t i = 0; i < sources->count; i++) {
        if (s->values[i].data == NULL)
            continue;
        if (s->work.len > 0)
            buf_append_u8(&s->work, LIST_DELIMITER);
        buf_append(&s->work, s->values[i].data, s->values[i].len);
    }
    all = buf_bytes(&s->work);
    if (all.len == 0)
        return RC_OK;
    rc = keyed_append(s->rows, &one, &all, s->value_bytes_max, &done, &why);
    if (rc == RC_LIMIT)
        return state_limit_error(s, target, all.len, err);
    if (rc != RC_OK)
        return err_set(err, rc, "%s", why.msg);
    return keyed_del(s->rows, sources, err);
}

/* Merges what lies in s->values[0..count) into `acc`; *found: how many were there. */
static enum rc merge_values(struct state *s, uint32_t count, struct buf *acc, uint32_t *found,
                            int64_t *time_ms, int64_t now_ms, struct err *err)
{
    *found = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct bytes stored = s->values[i], value;
        enum row_sight sight;
        enum rc rc;

        RETURN_IF_ERR(row_look(s, stored, now_ms, &sight, &value, err));
        if (sight == ROW_NONE || (sight == ROW_EXPIRED && !shows_expired(s)))
            continue;
        if (++*found == 1) {
            buf_reserve(acc, value.len + 1); /* 0 bytes are not none */
            buf_append(acc, value.data, value.len);
            *time_ms = has_ttl(s) ? (int64_t)get_be64(stored.data) : 0;
            continue;
        }
        rc = s->functions.merge(s->functions.ctx, acc, value, err);
        if (rc != RC_OK)
            return err_wrap(err, rc, "state %s: merge", desc_of(s)->name);
    }
    return RC_OK;
}

static enum rc merge_accumulators(struct state *s, struct bytes target,
                                  const struct key_batch *sources, struct err *err)
{
    struct key_builder all = {0};
    struct buf acc = {0};
    struct key_batch keys;
    int64_t now_ms = state_now(s), time_ms = 0;
    uint32_t found;
    enum rc rc;

    key_builder_init(&all, s->core->key_group_count, s->known->ns);
    GOTO_IF_ERR(key_builder_add_raw(&all, target, err));
    for (uint32_t i = 0; i < sources->count; i++)
        GOTO_IF_ERR(key_builder_add_raw(&all, key_batch_at(sources, i), err));
    keys = key_builder_batch(&all);
    state_reserve(s, keys.count);
    GOTO_IF_ERR(keyed_get(s->rows, &keys, s->values, err));
    GOTO_IF_ERR(merge_values(s, keys.count, &acc, &found, &time_ms, now_ms, err));
    GOTO_IF_ERR(keyed_del(s->rows, &keys, err));
    if (found > 0) {
        struct bytes value = buf_bytes(&acc);

        keys.count = 1;
        rc = rows_put_at(s, &keys, &value, found > 1 ? now_ms : time_ms, err);
    }
out:
    key_builder_release(&all);
    buf_release(&acc);
    return rc;
}

enum rc state_merge(struct state *s, struct bytes target, const struct key_batch *sources,
                    struct err *err)
{
    struct key_batch others;

    RETURN_IF_ERR(other_sources(s, target, sources, &others, err));
    if (others.count == 0)
        return RC_OK;
    if (desc_of(s)->kind == STATE_LIST)
        return merge_lists(s, target, &others, err);
    RETURN_IF_ERR(check_accumulates(s, err));
    return merge_accumulators(s, target, &others, err);
}
