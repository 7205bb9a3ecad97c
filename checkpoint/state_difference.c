/* state_difference.c - see state_difference.h */
#include "checkpoint/state_difference.h"

/* One of the two, at its next entry. */
struct side {
    struct state_source *source; /* NULL: no entries */
    struct bytes key, value;     /* key.data NULL: the end */
};

static enum rc advance(struct side *s, struct err *err)
{
    s->key = s->value = (struct bytes){0};
    return s->source == NULL ? RC_OK : state_walk_next(s->source, &s->key, &s->value, err);
}

static enum rc begin(struct side *s, const char *state, uint32_t key_group_count, struct err *err)
{
    if (s->source != NULL)
        state_walk_begin(s->source, state, (struct key_group_range){0, key_group_count - 1},
                         (struct bytes){0});
    return advance(s, err);
}

static void count(struct entry_sum *sum, const struct side *s)
{
    sum->entries++;
    sum->bytes += s->key.len + s->value.len;
}

enum rc state_difference(struct state_source *a, struct state_source *b, const char *state,
                         uint32_t key_group_count, struct entry_sum out[ENTRY_CHANGES],
                         struct err *err)
{
    struct side x = {.source = a}, y = {.source = b};

    memset(out, 0, ENTRY_CHANGES * sizeof *out);
    RETURN_IF_ERR(begin(&x, state, key_group_count, err));
    RETURN_IF_ERR(begin(&y, state, key_group_count, err));
    while (x.key.data != NULL || y.key.data != NULL) {
        int order = x.key.data == NULL ? 1 : y.key.data == NULL ? -1 : bytes_cmp(x.key, y.key);

        if (order < 0)
            count(&out[ENTRY_REMOVED], &x);
        else if (order > 0)
            count(&out[ENTRY_ADDED], &y);
        else
            count(&out[bytes_eq(x.value, y.value) ? ENTRY_SAME : ENTRY_CHANGED], &y);
        if (order <= 0)
            RETURN_IF_ERR(advance(&x, err));
        if (order >= 0)
            RETURN_IF_ERR(advance(&y, err));
    }
    return RC_OK;
}
