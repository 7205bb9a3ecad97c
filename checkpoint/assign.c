/* assign.c - see assign.h */
#include "checkpoint/assign.h"

#include "base/arena.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- what an operator has ------------------------------------------------------------------- */

struct totals {
    uint64_t entry_count, size_bytes, in_flight_rows;
    size_t list_item_count;
    bool has_state; /* of its own; rows in flight apart */
};

static struct totals totals_of(const struct operator_meta *op)
{
    struct totals t = {0};

    for (size_t s = 0; s < op->subtask_count; s++) {
        const struct subtask_state *subtask = &op->subtasks[s];
        struct metadata_sizes sizes = {0};

        subtask_metadata_sizes(subtask, &sizes);
        t.size_bytes += sizes.full_bytes;
        t.in_flight_rows += sizes.in_flight_rows;
        t.has_state = t.has_state || subtask->keyed_count > 0;
        for (size_t k = 0; k < subtask->keyed_count; k++)
            t.entry_count += subtask->keyed[k].entry_count;
        for (size_t l = 0; l < subtask->list_count; l++)
            t.list_item_count += subtask->lists[l].item_count;
    }
    t.has_state = t.has_state || t.list_item_count > 0;
    return t;
}

static const struct operator_meta *find_old(const struct checkpoint_metadata *m, const char *id)
{
    for (size_t i = 0; i < m->operator_count; i++)
        if (strcmp(m->operators[i].id, id) == 0)
            return &m->operators[i];
    return NULL;
}

static bool is_wanted(const struct assign_operator *ops, size_t count, const char *id)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(ops[i].id, id) == 0)
            return true;
    return false;
}

static void print_totals(uint64_t entry_count, uint64_t size_bytes, size_t list_item_count,
                         struct buf *out)
{
    if (entry_count > 0)
        buf_printf(out, "%" PRIu64 " keys, ", entry_count);
    if (list_item_count > 0)
        buf_printf(out, "%zu list items, ", list_item_count);
    buf_printf(out, "%" PRIu64 " bytes", size_bytes);
}

/* ---- operators that are gone (B27) ---------------------------------------------------------- */

static void list_dropped(const struct checkpoint_metadata *m, const struct assign_operator *ops,
                         size_t op_count, struct arena *arena, struct assignment *out)
{
    out->dropped = ARENA_ARRAY(arena, m->operator_count, struct assign_dropped);
    for (size_t i = 0; i < m->operator_count; i++) {
        const struct operator_meta *old = &m->operators[i];
        struct totals t = totals_of(old);

        if ((t.has_state || t.in_flight_rows > 0) && !is_wanted(ops, op_count, old->id))
            out->dropped[out->dropped_count++] = (struct assign_dropped){
                .id = old->id,
                .name = old->name,
                .entry_count = t.entry_count,
                .size_bytes = t.size_bytes,
                .list_item_count = t.list_item_count,
                .in_flight_rows = t.in_flight_rows,
            };
    }
}

void assign_print_dropped(const struct assignment *a, struct buf *out)
{
    for (size_t i = 0; i < a->dropped_count; i++) {
        const struct assign_dropped *d = &a->dropped[i];

        buf_printf(out, "operator \"%s\" (%s): ", d->name, d->id);
        print_totals(d->entry_count, d->size_bytes, d->list_item_count, out);
        if (d->in_flight_rows > 0)
            buf_printf(out, ", %" PRIu64 " rows in flight to it", d->in_flight_rows);
        buf_append_str(out, "\n");
    }
}

/* A changed query shows as one operator gone and another one new: both sides are named. */
static enum rc refuse_dropped(const struct checkpoint_metadata *m,
                              const struct assign_operator *ops, size_t op_count,
                              const struct assignment *a, struct err *err)
{
    struct buf text = {0};
    bool any = false;
    enum rc rc;

    buf_append_str(&text, "the snapshot has state of operators that this job does not have:\n");
    assign_print_dropped(a, &text);
    for (size_t i = 0; i < op_count; i++)
        if (find_old(m, ops[i].id) == NULL) {
            buf_printf(&text, "%s \"%s\"",
                       any ? "," : "not in the snapshot, would start empty:", ops[i].name);
            any = true;
        }
    buf_append_str(&text, any ? "\n" : "");
    buf_append_str(&text, "start with -n (--allow-non-restored-state) to drop it");
    rc = err_set(err, RC_INVALID, "%s", buf_cstr(&text));
    buf_release(&text);
    return rc;
}

/* ---- rules (B22) ---------------------------------------------------------------------------- */

enum rc assign_check(const struct operator_meta *old, const struct assign_operator *op,
                     struct err *err)
{
    if (!totals_of(old).has_state)
        return RC_OK; /* nothing binds it to the old number of key groups */
    if (op->key_group_count_set && op->key_group_count != old->key_group_count)
        return err_set(err, RC_INVALID,
                       "operator \"%s\": its state was written with max parallelism %" PRIu32
                       ", the job sets %" PRIu32 "; keys cannot be moved between key groups: set "
                       "'pipeline.max-parallelism' = '%" PRIu32 "', or leave it out to adopt it",
                       op->name, old->key_group_count, op->key_group_count, old->key_group_count);
    if (op->parallelism > old->key_group_count)
        return err_set(
            err, RC_INVALID,
            "operator \"%s\": parallelism %" PRIu32 " exceeds the max parallelism %" PRIu32
            " that its state was written with; set 'parallelism.default' to at most %" PRIu32,
            op->name, op->parallelism, old->key_group_count, old->key_group_count);
    return RC_OK;
}

/* ---- keyed ---------------------------------------------------------------------------------- */

static int by_range(const void *a, const void *b)
{
    const struct keyed_handle *x = a, *y = b;

    return (x->range.first > y->range.first) - (x->range.first < y->range.first);
}

static bool meets(const struct keyed_handle *h, struct key_group_range range)
{
    return h->range.first <= range.last && range.first <= h->range.last;
}

/* All handles that meet the subtask's groups, in order of their groups. They keep their own range:
 * whoever opens them takes the part that meets. */
static void assign_keyed(const struct operator_meta *old, struct key_group_range range,
                         struct arena *arena, struct subtask_state *out)
{
    size_t count = 0;

    for (size_t s = 0; s < old->subtask_count; s++)
        for (size_t k = 0; k < old->subtasks[s].keyed_count; k++)
            count += meets(&old->subtasks[s].keyed[k], range);
    out->keyed = ARENA_ARRAY(arena, count, struct keyed_handle);
    for (size_t s = 0; s < old->subtask_count; s++)
        for (size_t k = 0; k < old->subtasks[s].keyed_count; k++)
            if (meets(&old->subtasks[s].keyed[k], range))
                out->keyed[out->keyed_count++] = old->subtasks[s].keyed[k];
    if (out->keyed_count > 1)
        qsort(out->keyed, out->keyed_count, sizeof *out->keyed, by_range);
}

/* ---- lists ---------------------------------------------------------------------------------- */

/* All items of one name over the old subtasks, in order of their indices. */
struct whole_list {
    const char *name;
    enum list_mode mode;
    struct bytes *items;
    size_t count;
};

static const struct list_state *find_list(const struct subtask_state *s, const char *name)
{
    for (size_t l = 0; l < s->list_count; l++)
        if (strcmp(s->lists[l].name, name) == 0)
            return &s->lists[l];
    return NULL;
}

static int by_index(const void *a, const void *b)
{
    const struct subtask_state *x = *(const struct subtask_state *const *)a;
    const struct subtask_state *y = *(const struct subtask_state *const *)b;

    return (x->subtask_index > y->subtask_index) - (x->subtask_index < y->subtask_index);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct whole_list *)a)->name, ((const struct whole_list *)b)->name);
}

static void gather(const struct subtask_state *const *subtasks, size_t count, struct arena *arena,
                   struct whole_list *list)
{
    size_t items = 0;

    for (size_t s = 0; s < count; s++) {
        const struct list_state *part = find_list(subtasks[s], list->name);

        items += part == NULL ? 0 : part->item_count;
    }
    list->items = ARENA_ARRAY(arena, items, struct bytes);
    for (size_t s = 0; s < count; s++) {
        const struct list_state *part = find_list(subtasks[s], list->name);

        if (part == NULL || (list->mode == LIST_BROADCAST && list->count > 0))
            continue; /* of equal copies the first that holds anything */
        for (size_t i = 0; i < part->item_count; i++)
            list->items[list->count++] = part->items[i];
    }
}

static const struct subtask_state **sorted_subtasks(const struct operator_meta *old,
                                                    struct arena *arena)
{
    const struct subtask_state **sorted =
        ARENA_ARRAY(arena, old->subtask_count, const struct subtask_state *);

    for (size_t s = 0; s < old->subtask_count; s++)
        sorted[s] = &old->subtasks[s];
    if (old->subtask_count > 1)
        qsort(sorted, old->subtask_count, sizeof *sorted, by_index);
    return sorted;
}

/* RC_CORRUPT: subtasks disagree about what a list is. */
static enum rc gather_all(const struct operator_meta *old, struct arena *arena,
                          struct whole_list **lists, size_t *count, struct err *err)
{
    const struct subtask_state **sorted = sorted_subtasks(old, arena);
    size_t most = 0;

    *count = 0;
    for (size_t s = 0; s < old->subtask_count; s++)
        most += old->subtasks[s].list_count;
    *lists = ARENA_ARRAY(arena, most, struct whole_list);
    for (size_t s = 0; s < old->subtask_count; s++)
        for (size_t l = 0; l < sorted[s]->list_count; l++) {
            const struct list_state *part = &sorted[s]->lists[l];
            size_t at = 0;

            while (at < *count && strcmp((*lists)[at].name, part->name) != 0)
                at++;
            if (at == *count)
                (*lists)[(*count)++] = (struct whole_list){.name = part->name, .mode = part->mode};
            else if ((*lists)[at].mode != part->mode)
                return err_set(err, RC_CORRUPT,
                               "operator \"%s\": list \"%s\" is split in one subtask and not in "
                               "another",
                               old->name, part->name);
        }
    if (*count > 1)
        qsort(*lists, *count, sizeof **lists, by_name);
    for (size_t i = 0; i < *count; i++)
        gather(sorted, old->subtask_count, arena, &(*lists)[i]);
    return RC_OK;
}

/* The part of a list that goes to one of `parallelism` subtasks. */
static void deal(const struct whole_list *list, uint32_t index, uint32_t parallelism,
                 struct arena *arena, struct list_state *out)
{
    *out = (struct list_state){.name = list->name, .mode = list->mode};
    if (list->mode != LIST_SPLIT) {
        out->items = list->items;
        out->item_count = list->count;
        return;
    }
    out->items = ARENA_ARRAY(arena, list->count / parallelism + 1, struct bytes);
    for (size_t i = index; i < list->count; i += parallelism)
        out->items[out->item_count++] = list->items[i];
}

/* With the same parallelism every subtask gets its own split items back: no source changes hands
 * without need. */
static void keep(const struct operator_meta *old, uint32_t index, const struct whole_list *list,
                 struct list_state *out)
{
    *out = (struct list_state){.name = list->name, .mode = list->mode};
    for (size_t s = 0; s < old->subtask_count; s++) {
        const struct list_state *part = find_list(&old->subtasks[s], list->name);

        if (old->subtasks[s].subtask_index == index && part != NULL)
            *out = *part;
    }
}

/* ---- all ------------------------------------------------------------------------------------ */

static enum rc assign_operator_state(const struct operator_meta *old,
                                     const struct assign_operator *op, struct arena *arena,
                                     struct assigned_operator *out, struct err *err)
{
    struct whole_list *lists;
    size_t list_count;

    RETURN_IF_ERR(gather_all(old, arena, &lists, &list_count, err));
    for (uint32_t i = 0; i < op->parallelism; i++) {
        struct subtask_state *subtask = &out->subtasks[i];

        assign_keyed(old, keygroup_range_of(i, op->parallelism, out->key_group_count), arena,
                     subtask);
        subtask->lists = ARENA_ARRAY(arena, list_count, struct list_state);
        subtask->list_count = list_count;
        for (size_t l = 0; l < list_count; l++) {
            if (lists[l].mode == LIST_SPLIT && op->parallelism == old->parallelism)
                keep(old, i, &lists[l], &subtask->lists[l]);
            else
                deal(&lists[l], i, op->parallelism, arena, &subtask->lists[l]);
        }
    }
    return RC_OK;
}

static enum rc assign_one(const struct checkpoint_metadata *m, const struct assign_operator *op,
                          struct arena *arena, struct assigned_operator *out, struct err *err)
{
    const struct operator_meta *old = find_old(m, op->id);

    out->key_group_count = op->key_group_count;
    out->subtasks = ARENA_ARRAY(arena, op->parallelism, struct subtask_state);
    for (uint32_t i = 0; i < op->parallelism; i++)
        out->subtasks[i].subtask_index = i;
    if (old == NULL)
        return RC_OK;
    out->restored = true;
    out->finished = old->finished;
    if (!totals_of(old).has_state) {
        if (!op->key_group_count_set && op->parallelism <= old->key_group_count)
            out->key_group_count = old->key_group_count;
        return RC_OK;
    }
    RETURN_IF_ERR(assign_check(old, op, err));
    out->key_group_count = old->key_group_count;
    return assign_operator_state(old, op, arena, out, err);
}

/* Operators with keys first: it is their keys that cannot move, so the message should name them. */
static enum rc check_keyed_operators(const struct checkpoint_metadata *m,
                                     const struct assign_operator *ops, size_t op_count,
                                     struct err *err)
{
    for (size_t i = 0; i < op_count; i++) {
        const struct operator_meta *old = find_old(m, ops[i].id);
        bool keyed = false;

        for (size_t s = 0; old != NULL && s < old->subtask_count; s++)
            keyed = keyed || old->subtasks[s].keyed_count > 0;
        if (keyed)
            RETURN_IF_ERR(assign_check(old, &ops[i], err));
    }
    return RC_OK;
}

enum rc assign_restore(const struct checkpoint_metadata *snapshot,
                       const struct assign_operator *ops, size_t op_count, bool allow_non_restored,
                       struct arena *arena, struct assignment *out, struct err *err)
{
    *out = (struct assignment){.operator_count = op_count,
                               .operators = ARENA_ARRAY(arena, op_count, struct assigned_operator)};
    list_dropped(snapshot, ops, op_count, arena, out);
    if (out->dropped_count > 0 && !allow_non_restored)
        return refuse_dropped(snapshot, ops, op_count, out, err);
    RETURN_IF_ERR(check_keyed_operators(snapshot, ops, op_count, err));
    for (size_t i = 0; i < op_count; i++) {
        ASSERT(ops[i].parallelism >= 1);
        RETURN_IF_ERR(assign_one(snapshot, &ops[i], arena, &out->operators[i], err));
    }
    return RC_OK;
}

void assign_states_of(const struct operator_meta *op, struct arena *arena,
                      struct state_desc **states, size_t *count)
{
    size_t most = 0;

    for (size_t s = 0; s < op->subtask_count; s++)
        for (size_t k = 0; k < op->subtasks[s].keyed_count; k++)
            most += op->subtasks[s].keyed[k].state_count;
    *states = ARENA_ARRAY(arena, most, struct state_desc);
    *count = 0;
    for (size_t s = 0; s < op->subtask_count; s++)
        for (size_t k = 0; k < op->subtasks[s].keyed_count; k++) {
            const struct keyed_handle *h = &op->subtasks[s].keyed[k];

            for (size_t i = 0; i < h->state_count; i++) {
                size_t at = 0;

                while (at < *count && strcmp((*states)[at].name, h->states[i].name) != 0)
                    at++;
                if (at == *count)
                    (*states)[(*count)++] = h->states[i];
            }
        }
}
