/* state_source.c - see state_source.h */
#include "checkpoint/state_source.h"

#include "checkpoint/assign.h"
#include "checkpoint/state_types.h"

#include <inttypes.h>
#include <stdlib.h>

struct source_handle {
    const struct keyed_handle *handle;
    uint32_t subtask_index;
};
struct state_source {
    struct fs *fs;
    const struct operator_meta *op;
    struct arena *arena;
    const char *dir; /* of the open reader */
    size_t handle_count;
    struct source_handle *handles; /* by key groups */
    struct state_desc *states;
    size_t state_count;
    struct state_reader *reader; /* of handles[open_index], or NULL */
    size_t open_index;
    /* the walk */
    const char *state;
    struct key_group_range groups;
    struct buf prefix;
    struct state_scan *scan;
    size_t next_handle;
    uint32_t group; /* of the last entry */
    state_walked_fn *walked; /* NULL: nobody watches */
    void *walked_ctx;
};

void state_source_watch(struct state_source *s, state_walked_fn *walked, void *ctx)
{
    s->walked = walked;
    s->walked_ctx = ctx;
}

static int by_groups(const void *a, const void *b)
{
    uint32_t x = ((const struct source_handle *)a)->handle->range.first;
    uint32_t y = ((const struct source_handle *)b)->handle->range.first;

    return x < y ? -1 : x > y;
}

static enum rc check_ranges(const struct state_source *s, struct err *err)
{
    for (size_t i = 1; i < s->handle_count; i++) {
        struct key_group_range before = s->handles[i - 1].handle->range;
        struct key_group_range range = s->handles[i].handle->range;

        if (range.first <= before.last)
            return err_set(err, RC_CORRUPT,
                           "operator \"%s\": subtasks %u and %u both have key group %u", s->op->name,
                           s->handles[i - 1].subtask_index, s->handles[i].subtask_index,
                           range.first);
    }
    return RC_OK;
}

enum rc state_source_open(struct fs *fs, const struct operator_meta *op, const char *scratch_dir,
                          struct state_source **out, struct err *err)
{
    struct state_source *s = mem_calloc(1, sizeof *s);
    size_t count = 0;
    enum rc rc;

    s->fs = fs;
    s->op = op;
    s->arena = arena_new(0);
    s->dir = arena_printf(s->arena, "%s/look", scratch_dir);
    for (size_t i = 0; i < op->subtask_count; i++)
        count += op->subtasks[i].keyed_count;
    s->handles = ARENA_ARRAY(s->arena, count, struct source_handle);
    for (size_t i = 0; i < op->subtask_count; i++)
        for (size_t k = 0; k < op->subtasks[i].keyed_count; k++)
            s->handles[s->handle_count++] = (struct source_handle){&op->subtasks[i].keyed[k],
                                                                   op->subtasks[i].subtask_index};
    if (count > 0)
        qsort(s->handles, count, sizeof *s->handles, by_groups);
    assign_states_of(op, s->arena, &s->states, &s->state_count);
    rc = check_ranges(s, err);
    if (rc != RC_OK) {
        state_source_close(s);
        return rc;
    }
    *out = s;
    return RC_OK;
}

static void close_reader(struct state_source *s)
{
    state_walk_end(s);
    state_reader_close(s->reader);
    s->reader = NULL;
}

void state_source_close(struct state_source *s)
{
    if (s == NULL)
        return;
    close_reader(s);
    buf_release(&s->prefix);
    arena_free(s->arena);
    mem_free(s);
}

static enum rc open_reader(struct state_source *s, size_t i, struct err *err)
{
    enum rc rc;

    if (s->reader != NULL && s->open_index == i)
        return RC_OK;
    state_reader_close(s->reader);
    s->reader = NULL;
    s->open_index = i;
    rc = state_reader_open(s->fs, s->handles[i].handle, s->dir, &s->reader, err);
    return rc == RC_OK ? RC_OK
                       : err_wrap(err, rc, "operator \"%s\" subtask %u", s->op->name,
                                  s->handles[i].subtask_index);
}

/* false: the handle does not know it. */
static bool find_state(const struct keyed_handle *h, const char *name, size_t *index)
{
    const struct state_desc *d = state_desc_find(h->states, h->state_count, name);

    if (d != NULL)
        *index = (size_t)(d - h->states);
    return d != NULL;
}

/* ---- states ---------------------------------------------------------------------------------- */

static enum rc check_same(const struct state_source *s, const struct source_handle *h,
                          const struct state_desc *first, const struct state_desc *d,
                          struct err *err)
{
    struct buf text = {0};
    enum rc rc = RC_OK;

    state_differences(first, d, &text);
    if (text.len == 0 &&
        (first->ttl_ms != d->ttl_ms || first->fixed_value_bytes != d->fixed_value_bytes))
        buf_printf(&text,
                   "\n  time-to-live: was %" PRIu64 " ms, is %" PRIu64
                   " ms; value: was %u bytes, is %u",
                   first->ttl_ms, d->ttl_ms, first->fixed_value_bytes, d->fixed_value_bytes);
    if (text.len > 0)
        rc = err_set(err, RC_UNSUPPORTED, "operator \"%s\" subtask %u has another state \"%s\":%s",
                     s->op->name, h->subtask_index, d->name, buf_cstr(&text));
    buf_release(&text);
    return rc;
}

enum rc state_source_states(struct state_source *s, const struct state_desc **states, size_t *count,
                            struct err *err)
{
    for (size_t i = 0; i < s->handle_count; i++) {
        const struct keyed_handle *h = s->handles[i].handle;

        for (size_t k = 0; k < h->state_count; k++) {
            const struct state_desc *first =
                state_desc_find(s->states, s->state_count, h->states[k].name);

            RETURN_IF_ERR(check_same(s, &s->handles[i], first, &h->states[k], err));
        }
    }
    *states = s->states;
    *count = s->state_count;
    return RC_OK;
}

enum rc state_source_sizes(struct state_source *s, struct state_size *sizes, struct err *err)
{
    for (size_t i = 0; i < s->state_count; i++)
        sizes[i] = (struct state_size){.exact = true};
    for (size_t i = 0; i < s->handle_count; i++) {
        for (size_t k = 0; k < s->state_count; k++) {
            struct state_size some;
            size_t index;

            if (!find_state(s->handles[i].handle, s->states[k].name, &index))
                continue;
            RETURN_IF_ERR(open_reader(s, i, err));
            RETURN_IF_ERR(state_reader_size(s->reader, index, &some, err));
            sizes[k].entries += some.entries;
            sizes[k].key_bytes += some.key_bytes;
            sizes[k].value_bytes += some.value_bytes;
            sizes[k].exact = sizes[k].exact && some.exact;
        }
    }
    return RC_OK;
}

/* ---- entries --------------------------------------------------------------------------------- */

enum rc state_source_get(struct state_source *s, const char *state, struct bytes key,
                         struct bytes *value, struct err *err)
{
    *value = (struct bytes){0};
    for (size_t i = 0; i < s->handle_count; i++) {
        const struct keyed_handle *h = s->handles[i].handle;
        uint32_t prefix_len = keygroup_prefix_len(h->key_group_count);
        size_t index;

        if (key.len < prefix_len ||
            !key_group_range_has(h->range, keygroup_get_prefix(key.data, prefix_len)) ||
            !find_state(h, state, &index))
            continue;
        RETURN_IF_ERR(open_reader(s, i, err));
        return state_reader_get(s->reader, index, key, value, err);
    }
    return RC_OK;
}

void state_walk_begin(struct state_source *s, const char *state, struct key_group_range groups,
                      struct bytes prefix)
{
    state_walk_end(s);
    s->state = arena_strdup(s->arena, state);
    s->groups = groups;
    buf_clear(&s->prefix);
    buf_append(&s->prefix, prefix.data, prefix.len);
    s->next_handle = 0;
    s->group = 0;
}

static void note_group(struct state_source *s, struct bytes key)
{
    uint32_t prefix_len = keygroup_prefix_len(s->op->key_group_count), group;

    if (s->walked == NULL || key.len < prefix_len)
        return;
    group = keygroup_get_prefix(key.data, prefix_len);
    if (group != s->group)
        s->walked(s->walked_ctx, group, s->op->key_group_count);
    s->group = group;
}

/* The next handle that has entries of the walk; false: there is none. */
static enum rc next_scan(struct state_source *s, bool *more, struct err *err)
{
    *more = false;
    for (; s->next_handle < s->handle_count && !*more; s->next_handle++) {
        const struct keyed_handle *h = s->handles[s->next_handle].handle;
        struct key_group_range meet = key_group_range_meet(s->groups, h->range);
        size_t index;

        if (meet.first > meet.last || !find_state(h, s->state, &index))
            continue;
        RETURN_IF_ERR(open_reader(s, s->next_handle, err));
        RETURN_IF_ERR(
            state_scan_open(s->reader, index, s->groups, buf_bytes(&s->prefix), &s->scan, err));
        *more = true;
    }
    return RC_OK;
}

enum rc state_walk_next(struct state_source *s, struct bytes *key, struct bytes *value,
                        struct err *err)
{
    bool more = true;

    *key = *value = (struct bytes){0};
    while (more) {
        if (s->scan != NULL) {
            RETURN_IF_ERR(state_scan_next(s->scan, key, value, err));
            if (key->data != NULL) {
                note_group(s, *key);
                return RC_OK;
            }
            state_scan_close(s->scan);
            s->scan = NULL;
        }
        RETURN_IF_ERR(next_scan(s, &more, err));
    }
    return RC_OK;
}

void state_walk_end(struct state_source *s)
{
    state_scan_close(s->scan);
    s->scan = NULL;
    s->next_handle = s->handle_count;
}
