/* flink_list_difference.c - see flink_list_difference.h */
#include "checkpoint/flink/flink_list_difference.h"

#include "checkpoint/flink/flink_held.h"

/* One side under way. */
struct gathering {
    struct fs *fs;
    struct flink_list_side *side;
    struct arena *arena; /* of one list */
    struct flink_held_set held, copy; /* copy: of a broadcast state, a later subtask's */
    bool has_copy;
};

static enum rc add_items(struct gathering *g, struct flink_lists *l, const struct flink_list *list,
                         struct err *err)
{
    for (size_t i = 0; i < list->offset_count; i++) {
        struct bytes item;

        RETURN_IF_ERR(flink_lists_bytes(l, list, i, &item, err));
        flink_held_add(&g->held, item, (struct bytes){0});
    }
    return RC_OK;
}

static enum rc add_entries(struct gathering *g, struct flink_lists *l,
                           const struct flink_list *list, struct flink_held_set *to,
                           struct err *err)
{
    for (size_t i = 0; i < list->offset_count; i++) {
        struct flink_broadcast_entry *entries;
        struct err why = {0};
        struct bytes all;
        size_t count;
        enum rc rc = flink_lists_entries(l, list, i, g->arena, &entries, &count, &why);

        if (rc == RC_UNSUPPORTED) {
            RETURN_IF_ERR(flink_lists_bytes(l, list, i, &all, err));
            flink_held_add(to, (struct bytes){0}, all);
            g->side->whole = true;
            continue;
        }
        if (rc != RC_OK)
            return err_set(err, rc, "%s", why.msg);
        for (size_t k = 0; k < count; k++)
            flink_held_add(to, entries[k].key, entries[k].value);
    }
    return RC_OK;
}

/* The first subtask's copy is what counts; the others ought to be the same. */
static enum rc add_copy(struct gathering *g, struct flink_lists *l, const struct flink_list *list,
                        struct err *err)
{
    struct entry_sum sums[ENTRY_CHANGES] = {{0}};

    if (!g->has_copy) {
        g->has_copy = true;
        return add_entries(g, l, list, &g->held, err);
    }
    flink_held_clear(&g->copy);
    RETURN_IF_ERR(add_entries(g, l, list, &g->copy, err));
    flink_held_compare(&g->held, &g->copy, sums);
    if (sums[ENTRY_ADDED].entries + sums[ENTRY_CHANGED].entries + sums[ENTRY_REMOVED].entries > 0)
        g->side->copies_differ = true;
    return RC_OK;
}

static const struct flink_list *find(const struct flink_operator_state *s, struct bytes name)
{
    for (size_t i = 0; i < s->list_count; i++)
        if (bytes_eq(s->lists[i].name, name))
            return &s->lists[i];
    return NULL;
}

static enum rc gather(struct gathering *g, struct bytes name, struct err *err)
{
    const struct flink_operator *op = g->side->op;

    for (size_t i = 0; op != NULL && i < op->subtask_count; i++) {
        const struct flink_list *list = find(&op->subtasks[i].managed, name);
        struct flink_lists *l;
        enum rc rc;

        if (list == NULL)
            continue;
        arena_reset(g->arena);
        RETURN_IF_ERR(
            flink_lists_open(g->fs, g->side->places, &op->subtasks[i].managed, &l, err));
        if (g->side->word == NULL)
            g->side->word = flink_list_word(list);
        rc = list->mode == FLINK_BROADCAST ? add_copy(g, l, list, err) : add_items(g, l, list, err);
        flink_lists_close(l);
        if (rc != RC_OK)
            return err_wrap(err, rc, "subtask %u", op->subtasks[i].index);
    }
    return RC_OK;
}

enum rc flink_list_difference(struct fs *fs, struct flink_list_side sides[2], struct bytes name,
                              struct entry_sum out[ENTRY_CHANGES], struct err *err)
{
    struct gathering g[2] = {{.fs = fs, .side = &sides[0]}, {.fs = fs, .side = &sides[1]}};
    struct arena *arena = arena_new(0);
    enum rc rc = RC_OK;

    memset(out, 0, ENTRY_CHANGES * sizeof *out);
    for (int i = 0; i < 2 && rc == RC_OK; i++) {
        g[i].arena = arena;
        sides[i].word = NULL;
        sides[i].whole = sides[i].copies_differ = false;
        rc = gather(&g[i], name, err);
    }
    if (rc == RC_OK)
        flink_held_compare(&g[0].held, &g[1].held, out);
    for (int i = 0; i < 2; i++) {
        flink_held_release(&g[i].held);
        flink_held_release(&g[i].copy);
    }
    arena_free(arena);
    return rc;
}
