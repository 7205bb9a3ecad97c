/* flink_inventory.c - see flink_inventory.h */
#include "checkpoint/flink/flink_inventory.h"

#include "checkpoint/flink/flink_lists.h"

struct describing {
    struct fs *fs;
    const struct flink_operator *op;
    struct flink_places *places;
    struct arena *arena;
    struct flink_inventory *out;
    size_t state_cap, undescribed_cap;
    bool raw_known; /* a subtask has said what its raw keyed state is */
};

static const char *form_word(enum flink_form form)
{
    static const char *const words[] = {
        [FLINK_FORM_DATABASE] = "database",
        [FLINK_FORM_CANONICAL] = "canonical",
        [FLINK_FORM_HEAP] = "heap",
        [FLINK_FORM_RAW_TIMERS] = "raw",
    };

    return words[form];
}

static const char *shown(struct describing *d, const struct flink_serializer *s)
{
    struct buf text = {0};
    const char *out;

    if (s == NULL)
        return NULL;
    flink_serializer_print(s, &text);
    out = arena_strdup(d->arena, buf_cstr(&text));
    buf_release(&text);
    return out;
}

static bool expires(const struct flink_serializer *s)
{
    if (s == NULL)
        return false;
    if (s->coding == FLINK_TTL)
        return true;
    for (size_t i = 0; i < s->child_count; i++)
        if (expires(s->children[i]))
            return true;
    return false;
}

/* Into an array that grows in the arena, by doubling. */
static void *room(struct describing *d, void *items, size_t count, size_t *cap, size_t item_bytes)
{
    void *more;

    if (count < *cap)
        return items;
    *cap = *cap == 0 ? 8 : 2 * *cap;
    more = arena_alloc(d->arena, *cap * item_bytes);
    if (count > 0)
        memcpy(more, items, count * item_bytes);
    return more;
}

static bool is_listed(const struct flink_inventory *out, struct bytes name, const char *form)
{
    for (size_t i = 0; i < out->count; i++)
        if (bytes_eq(out->states[i].name, name) && strcmp(out->states[i].form, form) == 0)
            return true;
    return false;
}

static void add_state(struct describing *d, struct flink_inventory_state s)
{
    struct flink_inventory *out = d->out;

    s.name = arena_bytes_copy(d->arena, s.name);
    out->states = room(d, out->states, out->count, &d->state_cap, sizeof *out->states);
    out->states[out->count++] = s;
}

static void add_undescribed(struct describing *d, uint32_t subtask, const char *part,
                            const char *reason)
{
    struct flink_inventory *out = d->out;

    out->undescribed =
        room(d, out->undescribed, out->undescribed_count, &d->undescribed_cap,
             sizeof *out->undescribed);
    out->undescribed[out->undescribed_count++] =
        (struct flink_undescribed){subtask, part, arena_strdup(d->arena, reason)};
}

/* ---- keyed state ----------------------------------------------------------------------------- */

static void add_keyed(struct describing *d, const struct flink_reader *r)
{
    const struct flink_states *states = flink_reader_states(r);
    const char *form = form_word(flink_reader_form(r));

    for (size_t i = 0; i < states->count; i++) {
        const struct flink_state *s = &states->states[i];

        if (is_listed(d->out, s->name, form))
            continue;
        add_state(d, (struct flink_inventory_state){
                         .name = s->name,
                         .kind = flink_keyed_word(flink_reader_form(r), s),
                         .form = form,
                         .key = shown(d, states->key),
                         .namespace = shown(d, s->namespace),
                         .map_key = shown(d, s->user_key),
                         .value = shown(d, s->value),
                         .ttl = expires(s->value),
                     });
    }
}

static void describe_keyed(struct describing *d, const struct flink_keyed *k, uint32_t subtask,
                           bool raw)
{
    const char *part = raw ? "raw keyed state" : "keyed state";
    struct flink_keyed_source from = {.fs = d->fs,
                                      .places = d->places,
                                      .scratch_dir = "", /* of a database its files are not opened */
                                      .handle = k,
                                      .raw = raw,
                                      .key_group_count = (uint32_t)d->op->max_parallelism};
    struct flink_reader *r;
    struct err err = {0};

    for (size_t i = 0; k->changelog != NULL && i < k->changelog->materialized_count; i++)
        describe_keyed(d, &k->changelog->materialized[i], subtask, raw);
    if (k->range.count == 0 || (k->groups == NULL && k->incremental == NULL) ||
        (raw && d->raw_known))
        return;
    if (flink_reader_open(&from, &r, &err) != RC_OK) {
        add_undescribed(d, subtask, part, err.msg);
        return;
    }
    add_keyed(d, r);
    if (raw)
        d->raw_known = flink_reader_states(r)->count > 0;
    if (flink_reader_states(r)->cut != NULL)
        add_undescribed(d, subtask, part, flink_reader_states(r)->cut);
    flink_reader_close(r);
}

/* ---- operator state -------------------------------------------------------------------------- */

static void describe_lists(struct describing *d, const struct flink_operator_state *handle,
                           uint32_t subtask)
{
    struct flink_lists *lists = NULL;
    struct err err = {0};

    if (handle->list_count == 0)
        return;
    if (flink_lists_open(d->fs, d->places, handle, &lists, &err) != RC_OK)
        add_undescribed(d, subtask, "operator state", err.msg);
    for (size_t i = 0; i < handle->list_count; i++) {
        const struct flink_list *list = &handle->lists[i];
        const struct flink_state *s = lists == NULL ? NULL : flink_lists_state(lists, list);

        if (is_listed(d->out, list->name, ""))
            continue;
        add_state(d, (struct flink_inventory_state){
                         .name = list->name,
                         .kind = flink_list_word(list),
                         .form = "",
                         .map_key = s == NULL ? NULL : shown(d, s->key),
                         .value = s == NULL ? NULL : shown(d, s->value),
                     });
    }
    if (lists != NULL && flink_lists_states(lists)->cut != NULL)
        add_undescribed(d, subtask, "operator state", flink_lists_states(lists)->cut);
    flink_lists_close(lists);
}

void flink_inventory_make(struct fs *fs, const struct flink_operator *op,
                          struct flink_places *places, struct arena *arena,
                          struct flink_inventory *out)
{
    struct describing d = {.fs = fs, .op = op, .places = places, .arena = arena, .out = out};

    *out = (struct flink_inventory){0};
    for (size_t i = 0; i < op->subtask_count; i++) {
        const struct flink_subtask *s = &op->subtasks[i];

        describe_keyed(&d, &s->managed_keyed, s->index, false);
        describe_keyed(&d, &s->raw_keyed, s->index, true);
        describe_lists(&d, &s->managed, s->index);
    }
}
