/* state_keys.c - the keys of a state, a few key groups at a time. */
#include "backend/state_priv.h"

#define CHUNK_BYTES (8u << 20) /* of keys; a chunk ends with the key group that passes it */
#define SCAN_ROWS 256u

/* One chunk: the keys of some key groups, copied; the next one takes as many groups as are likely to
 * fill it. */
struct state_keys {
    struct state *state;
    struct buf ns;
    bool any_ns;
    struct key_group_range groups; /* not yet read */
    uint32_t step;
    struct buf data;
    uint32_t *ends; /* of each key in data */
    size_t count, cap, next;
};

struct state_keys *state_keys_new(struct state *s, struct bytes ns, struct key_group_range groups)
{
    struct state_keys *k = mem_calloc(1, sizeof *k);

    k->state = s;
    k->any_ns = ns.len == 0 && ns.data == NULL;
    buf_append(&k->ns, ns.data, ns.len);
    k->groups = key_group_range_meet(groups, s->core->range);
    k->step = 1;
    return k;
}

static struct bytes key_at(const struct state_keys *k, size_t i)
{
    uint32_t start = i == 0 ? 0 : k->ends[i - 1];

    return bytes_of(k->data.data + start, k->ends[i] - start);
}

/* Whether something is to be seen in this row. */
static enum rc row_counts(struct state *s, struct bytes stored, int64_t now_ms, bool *counts,
                          struct err *err)
{
    enum row_sight sight;
    struct bytes value;

    *counts = true;
    if (!has_ttl(s) || shows_expired(s))
        return RC_OK;
    if (desc_of(s)->kind == STATE_LIST)
        return list_look(s, stored, now_ms, counts, err);
    RETURN_IF_ERR(row_look(s, stored, now_ms, &sight, &value, err));
    *counts = sight != ROW_EXPIRED;
    return RC_OK;
}

static enum rc take_row(struct state_keys *k, struct bytes key, struct bytes stored, int64_t now_ms,
                        struct err *err)
{
    struct state *s = k->state;
    struct key_parts parts;
    bool counts;

    RETURN_IF_ERR(key_split(key, s->core->key_group_count, s->known->ns, &parts, err));
    if (!k->any_ns && !bytes_eq(parts.ns, buf_bytes(&k->ns)))
        return RC_OK;
    key.len -= parts.user_key.len;
    if (k->count > 0 && bytes_eq(key_at(k, k->count - 1), key))
        return RC_OK; /* another entry of the same map: they stand together */
    RETURN_IF_ERR(row_counts(s, stored, now_ms, &counts, err));
    if (!counts)
        return RC_OK;
    if (k->count == k->cap) {
        k->cap = k->cap == 0 ? 256 : 2 * k->cap;
        k->ends = mem_realloc(k->ends, k->cap * sizeof *k->ends);
    }
    if (key.len > UINT32_MAX - k->data.len)
        return err_set(err, RC_LIMIT, "state %s: keys of one key group exceed %u bytes",
                       desc_of(s)->name, UINT32_MAX);
    buf_append(&k->data, key.data, key.len);
    k->ends[k->count++] = (uint32_t)k->data.len;
    return RC_OK;
}

static enum rc read_chunk(struct state_keys *k, struct err *err)
{
    struct state *s = k->state;
    uint32_t prefix_len = s->core->prefix_len, upto = k->groups.first + k->step, got;
    struct bytes keys[SCAN_ROWS], values[SCAN_ROWS];
    uint8_t lower[2], upper[2];
    struct keyed_cursor *c;
    int64_t now_ms = state_now(s);
    enum rc rc;

    k->count = 0;
    k->next = 0;
    buf_clear(&k->data);
    if (upto > k->groups.last)
        upto = k->groups.last + 1;
    keygroup_put_prefix(lower, prefix_len, k->groups.first);
    if (upto < 1u << (8 * prefix_len))
        keygroup_put_prefix(upper, prefix_len, upto);
    RETURN_IF_ERR(keyed_scan_range(
        s->rows, (struct bytes){0}, bytes_of(lower, prefix_len),
        bytes_of(upper, upto < 1u << (8 * prefix_len) ? prefix_len : 0), &c, err));
    do {
        GOTO_IF_ERR(keyed_scan_next(c, SCAN_ROWS, keys, values, &got, err));
        for (uint32_t i = 0; i < got; i++)
            GOTO_IF_ERR(take_row(k, keys[i], values[i], now_ms, err));
    } while (got > 0);
    k->groups.first = upto;
    if (k->data.len < CHUNK_BYTES / 2)
        k->step *= 2;
    else if (k->data.len > CHUNK_BYTES && k->step > 1)
        k->step /= 2;
out:
    keyed_scan_close(c);
    return rc;
}

enum rc state_keys_next(struct state_keys *k, struct bytes *keys, uint32_t max, uint32_t *got,
                        struct err *err)
{
    *got = 0;
    while (k->next == k->count && k->groups.first <= k->groups.last)
        RETURN_IF_ERR(read_chunk(k, err));
    while (*got < max && k->next < k->count)
        keys[(*got)++] = key_at(k, k->next++);
    return RC_OK;
}

void state_keys_free(struct state_keys *k)
{
    if (k == NULL)
        return;
    buf_release(&k->ns);
    buf_release(&k->data);
    mem_free(k->ends);
    mem_free(k);
}
