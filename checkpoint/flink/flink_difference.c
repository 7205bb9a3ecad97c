/* flink_difference.c - see flink_difference.h */
#include "checkpoint/flink/flink_difference.h"

#include "base/hash.h"

#include <stdlib.h>

struct held {
    struct digest128 key, value;
    uint64_t bytes;
};
/* One of the two. */
struct side {
    struct flink_source *source; /* NULL: no entries */
    uint32_t prefix_len;
    bool maps;               /* values begin with a null flag */
    struct bytes key, value; /* the next entry; key.data NULL: the end */
    struct held *items;      /* of the key group at hand */
    size_t count, cap;
};

static enum rc advance(struct side *s, struct err *err)
{
    s->key = s->value = (struct bytes){0};
    RETURN_IF_ERR(flink_walk_next(s->source, &s->key, &s->value, err));
    if (s->maps && s->value.len > 1 && s->value.data[0] == 1)
        s->value.len = 1; /* a heap writes a null's own bytes behind the flag */
    return RC_OK;
}

static enum rc begin(struct side *s, struct bytes state, uint32_t key_group_count, struct err *err)
{
    const struct flink_source_state *known =
        s->source == NULL ? NULL : flink_source_find(s->source, state);

    s->prefix_len = keygroup_prefix_len(key_group_count);
    if (known == NULL)
        return RC_OK;
    s->maps = known->state->type == FLINK_TYPE_MAP && known->state->user_key != NULL;
    flink_walk_begin(s->source, state, (struct key_group_range){0, key_group_count - 1},
                     (struct bytes){0});
    return advance(s, err);
}

static uint32_t group_at(const struct side *s)
{
    return s->key.data == NULL ? UINT32_MAX : keygroup_get_prefix(s->key.data, s->prefix_len);
}

static int by_key(const void *a, const void *b)
{
    const struct held *x = a, *y = b;

    return memcmp(x->key.b, y->key.b, sizeof x->key.b);
}

/* All of one key group, in the order of their digests. */
static enum rc gather(struct side *s, uint32_t group, struct err *err)
{
    s->count = 0;
    for (; group_at(s) == group && s->key.data != NULL; s->count++) {
        if (s->count == s->cap) {
            s->cap = s->cap == 0 ? 1024 : 2 * s->cap;
            s->items = mem_realloc(s->items, s->cap * sizeof *s->items);
        }
        s->items[s->count] = (struct held){digest_of(s->key), digest_of(s->value),
                                           (uint64_t)s->key.len + s->value.len};
        RETURN_IF_ERR(advance(s, err));
    }
    if (s->key.data != NULL && group_at(s) < group)
        return err_set(err, RC_CORRUPT, "an entry of key group %u behind those of %u", group_at(s),
                       group);
    if (s->count > 1)
        qsort(s->items, s->count, sizeof *s->items, by_key);
    return RC_OK;
}

static void add(struct entry_sum *sum, const struct held *h)
{
    sum->entries++;
    sum->bytes += h->bytes;
}

static void compare_group(const struct side *x, const struct side *y,
                          struct entry_sum out[ENTRY_CHANGES])
{
    size_t i = 0, k = 0;

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

enum rc flink_difference(struct flink_source *a, struct flink_source *b, struct bytes state,
                         uint32_t key_group_count, struct entry_sum out[ENTRY_CHANGES],
                         struct err *err)
{
    struct side x = {.source = a}, y = {.source = b};
    enum rc rc;

    memset(out, 0, ENTRY_CHANGES * sizeof *out);
    GOTO_IF_ERR(begin(&x, state, key_group_count, err));
    GOTO_IF_ERR(begin(&y, state, key_group_count, err));
    while (x.key.data != NULL || y.key.data != NULL) {
        uint32_t group = group_at(&x) < group_at(&y) ? group_at(&x) : group_at(&y);

        GOTO_IF_ERR(gather(&x, group, err));
        GOTO_IF_ERR(gather(&y, group, err));
        compare_group(&x, &y, out);
    }
out:
    mem_free(x.items);
    mem_free(y.items);
    return rc;
}
