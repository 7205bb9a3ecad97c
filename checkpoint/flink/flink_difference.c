/* flink_difference.c - see flink_difference.h */
#include "checkpoint/flink/flink_difference.h"

#include "checkpoint/flink/flink_held.h"

/* One of the two. */
struct side {
    struct flink_source *source; /* NULL: no entries */
    uint32_t prefix_len;
    bool maps;               /* values begin with a null flag */
    struct bytes key, value; /* the next entry; key.data NULL: the end */
    struct flink_held_set held; /* of the key group at hand */
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

/* All of one key group. */
static enum rc gather(struct side *s, uint32_t group, struct err *err)
{
    flink_held_clear(&s->held);
    while (group_at(s) == group && s->key.data != NULL) {
        flink_held_add(&s->held, s->key, s->value);
        RETURN_IF_ERR(advance(s, err));
    }
    if (s->key.data != NULL && group_at(s) < group)
        return err_set(err, RC_CORRUPT, "an entry of key group %u behind those of %u", group_at(s),
                       group);
    return RC_OK;
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
        flink_held_compare(&x.held, &y.held, out);
    }
out:
    flink_held_release(&x.held);
    flink_held_release(&y.held);
    return rc;
}
