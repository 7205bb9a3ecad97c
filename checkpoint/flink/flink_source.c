/* flink_source.c - see flink_source.h */
#include "checkpoint/flink/flink_source.h"

#include <stdlib.h>

struct source_handle {
    const struct flink_keyed *handle;
    uint32_t subtask_index;
    bool raw;
};
struct flink_source {
    struct fs *fs;
    const struct flink_operator *op;
    struct flink_places *places;
    const char *scratch_dir;
    struct arena *arena;
    size_t handle_count, handle_cap;
    struct source_handle *handles; /* by key groups, raw ones last */
    size_t state_count;
    struct flink_source_state *states;
    size_t changes, unreadable;
    const char *cut;
    struct flink_reader *reader; /* of handles[open_index], or NULL */
    size_t open_index;
    /* the walk */
    struct bytes state;
    struct key_group_range groups;
    struct buf prefix;
    struct flink_scan *scan;
    size_t next_handle;
    uint32_t group; /* of the last entry */
    flink_walked_fn *walked;
    void *walked_ctx;
};

void flink_source_watch(struct flink_source *s, flink_walked_fn *walked, void *ctx)
{
    s->walked = walked;
    s->walked_ctx = ctx;
}

/* ---- handles --------------------------------------------------------------------------------- */

static void add_handle(struct flink_source *s, const struct flink_keyed *h, uint32_t subtask,
                       bool raw)
{
    if (h->tag == FLINK_KEYED_NONE || h->range.count == 0)
        return;
    if (h->tag == FLINK_KEYED_CHANGELOG || h->tag == FLINK_KEYED_CHANGELOG_OLD) {
        for (size_t i = 0; i < h->changelog->materialized_count; i++)
            add_handle(s, &h->changelog->materialized[i], subtask, raw);
        s->changes += h->changelog->change_count;
        return;
    }
    if (h->tag == FLINK_KEYED_CHANGES || h->tag == FLINK_KEYED_CHANGE_FILES ||
        h->tag == FLINK_KEYED_CHANGE_FILES_OLD) {
        s->changes++;
        return;
    }
    if (s->handle_count == s->handle_cap) {
        s->handle_cap = s->handle_cap == 0 ? 16 : 2 * s->handle_cap;
        s->handles = mem_realloc(s->handles, s->handle_cap * sizeof *s->handles);
    }
    s->handles[s->handle_count++] = (struct source_handle){h, subtask, raw};
}

static int by_groups(const void *a, const void *b)
{
    const struct source_handle *x = a, *y = b;

    if (x->raw != y->raw)
        return x->raw ? 1 : -1;
    return x->handle->range.first < y->handle->range.first
               ? -1
               : x->handle->range.first > y->handle->range.first;
}

static const char *op_word(const struct flink_source *s)
{
    struct bytes word = s->op->uid.len > 0 ? s->op->uid : s->op->name;
    char id[2 * FLINK_ID_BYTES + 1];

    flink_id_hex(s->op->id, id);
    return word.len == 0 ? arena_strdup(s->arena, id) : arena_escaped(s->arena, word, 200);
}

static enum rc check_ranges(struct flink_source *s, struct err *err)
{
    for (size_t i = 1; i < s->handle_count; i++) {
        const struct source_handle *a = &s->handles[i - 1], *b = &s->handles[i];

        if (a->raw == b->raw &&
            b->handle->range.first < a->handle->range.first + a->handle->range.count)
            return err_set(err, RC_CORRUPT,
                           "operator %s: subtasks %u and %u both have key group %u", op_word(s),
                           a->subtask_index, b->subtask_index, b->handle->range.first);
    }
    return RC_OK;
}

/* arena NULL: descriptions end with the reader. */
static enum rc open_with(struct flink_source *s, size_t i, struct arena *arena,
                         struct flink_reader **out, struct err *err)
{
    struct flink_keyed_source from = {.fs = s->fs,
                                      .places = s->places,
                                      .scratch_dir = s->scratch_dir,
                                      .handle = s->handles[i].handle,
                                      .raw = s->handles[i].raw,
                                      .key_group_count = (uint32_t)s->op->max_parallelism,
                                      .arena = arena};
    enum rc rc = flink_reader_open(&from, out, err);

    return rc == RC_OK ? RC_OK
                       : err_wrap(err, rc, "operator %s subtask %u", op_word(s),
                                  s->handles[i].subtask_index);
}

static void close_reader(struct flink_source *s)
{
    flink_scan_close(s->scan);
    s->scan = NULL;
    flink_reader_close(s->reader);
    s->reader = NULL;
}

static enum rc open_reader(struct flink_source *s, size_t i, struct err *err)
{
    if (s->reader != NULL && s->open_index == i)
        return RC_OK;
    close_reader(s);
    s->open_index = i;
    return open_with(s, i, NULL, &s->reader, err);
}

/* ---- states ---------------------------------------------------------------------------------- */

size_t flink_source_states(const struct flink_source *s, const struct flink_source_state **out)
{
    *out = s->states;
    return s->state_count;
}

const struct flink_source_state *flink_source_find(const struct flink_source *s, struct bytes name)
{
    for (size_t i = 0; i < s->state_count; i++)
        if (bytes_eq(s->states[i].state->name, name))
            return &s->states[i];
    return NULL;
}

size_t flink_source_changes(const struct flink_source *s)
{
    return s->changes;
}

const char *flink_source_cut(const struct flink_source *s)
{
    return s->cut;
}

size_t flink_source_unreadable(const struct flink_source *s)
{
    return s->unreadable;
}

static void print_types(const struct flink_state *state, const struct flink_serializer *key,
                        struct buf *out)
{
    const struct flink_serializer *all[] = {key, state->namespace, state->user_key, state->value};

    buf_append_str(out, flink_state_word(state));
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        buf_append_str(out, " ");
        if (all[i] != NULL)
            flink_serializer_print(all[i], out);
    }
}

static enum rc check_same(struct flink_source *s, const struct source_handle *h,
                          const struct flink_source_state *first, const struct flink_state *state,
                          const struct flink_serializer *key, struct err *err)
{
    struct buf a = {0}, b = {0}, name = {0};
    enum rc rc = RC_OK;

    print_types(first->state, first->key, &a);
    print_types(state, key, &b);
    buf_append_escaped(&name, state->name, 100);
    if (!bytes_eq(buf_bytes(&a), buf_bytes(&b)))
        rc = err_set(err, RC_UNSUPPORTED,
                     "operator %s: subtask %u has another state \"%s\": %s, before: %s", op_word(s),
                     h->subtask_index, buf_cstr(&name), buf_cstr(&b), buf_cstr(&a));
    buf_release(&a);
    buf_release(&b);
    buf_release(&name);
    return rc;
}

/* Whether a description has states that are not known yet; those that are must be the same. */
static enum rc look_at_states(struct flink_source *s, size_t i, const struct flink_reader *r,
                              bool *news, struct err *err)
{
    const struct flink_states *states = flink_reader_states(r);

    if (states->cut != NULL && s->cut == NULL)
        s->cut = arena_strdup(s->arena, states->cut);
    *news = false;
    for (size_t k = 0; k < states->count; k++) {
        const struct flink_source_state *known =
            flink_source_find(s, states->states[k].name);

        if (known == NULL)
            *news = true;
        else
            RETURN_IF_ERR(check_same(s, &s->handles[i], known, &states->states[k], states->key,
                                     err));
    }
    return RC_OK;
}

static void keep_states(struct flink_source *s, const struct flink_reader *r)
{
    const struct flink_states *states = flink_reader_states(r);

    s->states =
        mem_realloc(s->states, (s->state_count + states->count + 1) * sizeof *s->states);
    for (size_t k = 0; k < states->count; k++)
        if (flink_source_find(s, states->states[k].name) == NULL)
            s->states[s->state_count++] = (struct flink_source_state){
                &states->states[k], states->key, flink_reader_form(r)};
}

/* Descriptions of every handle; only those that say something new are kept. */
static enum rc read_states(struct flink_source *s, struct err *err)
{
    for (size_t i = 0; i < s->handle_count; i++) {
        struct flink_reader *r = NULL;
        struct err why = {0};
        bool news;
        enum rc rc = open_with(s, i, NULL, &r, &why);

        if (rc == RC_UNSUPPORTED && s->handles[i].raw) {
            s->handles[i].handle = NULL;
            s->unreadable++;
            continue;
        }
        if (rc != RC_OK)
            return err_set(err, rc, "%s", why.msg);
        rc = look_at_states(s, i, r, &news, err);
        flink_reader_close(r);
        if (rc == RC_OK && news) {
            rc = open_with(s, i, s->arena, &r, err);
            if (rc == RC_OK) {
                keep_states(s, r);
                flink_reader_close(r);
            }
        }
        if (rc != RC_OK)
            return rc;
    }
    return RC_OK;
}

static void forget_unreadable(struct flink_source *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->handle_count; i++)
        if (s->handles[i].handle != NULL)
            s->handles[n++] = s->handles[i];
    s->handle_count = n;
}

enum rc flink_source_open(struct fs *fs, const struct flink_operator *op,
                          struct flink_places *places, const char *scratch_dir, struct flink_source **out, struct err *err)
{
    struct flink_source *s = mem_calloc(1, sizeof *s);
    enum rc rc;

    *s = (struct flink_source){.fs = fs,
                               .op = op,
                               .places = places,
                               .scratch_dir = scratch_dir,
                               .arena = arena_new(0)};
    for (size_t i = 0; i < op->subtask_count; i++) {
        add_handle(s, &op->subtasks[i].managed_keyed, op->subtasks[i].index, false);
        add_handle(s, &op->subtasks[i].raw_keyed, op->subtasks[i].index, true);
    }
    if (s->handle_count > 0)
        qsort(s->handles, s->handle_count, sizeof *s->handles, by_groups);
    rc = check_ranges(s, err);
    if (rc == RC_OK)
        rc = read_states(s, err);
    if (rc != RC_OK) {
        flink_source_close(s);
        return rc;
    }
    forget_unreadable(s);
    *out = s;
    return RC_OK;
}

void flink_source_close(struct flink_source *s)
{
    if (s == NULL)
        return;
    close_reader(s);
    buf_release(&s->prefix);
    mem_free(s->handles);
    mem_free(s->states);
    arena_free(s->arena);
    mem_free(s);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static void add_sizes(struct flink_source *s, const struct flink_size *some,
                      struct flink_size *sizes)
{
    const struct flink_states *states = flink_reader_states(s->reader);

    for (size_t k = 0; k < states->count; k++) {
        const struct flink_source_state *known = flink_source_find(s, states->states[k].name);
        struct flink_size *sum = &sizes[known - s->states];

        sum->entries += some[k].entries;
        sum->key_bytes += some[k].key_bytes;
        sum->value_bytes += some[k].value_bytes;
        sum->exact = sum->exact && some[k].exact;
    }
}

enum rc flink_source_sizes(struct flink_source *s, struct flink_size *sizes, struct err *err)
{
    for (size_t i = 0; i < s->state_count; i++)
        sizes[i] = (struct flink_size){.exact = true};
    for (size_t i = 0; i < s->handle_count; i++) {
        struct flink_size *some;
        enum rc rc;

        RETURN_IF_ERR(open_reader(s, i, err));
        some = mem_calloc(flink_reader_states(s->reader)->count + 1, sizeof *some);
        rc = flink_reader_sizes(s->reader, some, err);
        if (rc == RC_OK)
            add_sizes(s, some, sizes);
        mem_free(some);
        if (rc != RC_OK)
            return err_wrap(err, rc, "operator %s subtask %u", op_word(s),
                            s->handles[i].subtask_index);
        if (s->walked != NULL)
            s->walked(s->walked_ctx, s->handles[i].handle->range.first,
                      (uint64_t)s->op->max_parallelism);
    }
    return RC_OK;
}

/* ---- walks ----------------------------------------------------------------------------------- */

void flink_walk_begin(struct flink_source *s, struct bytes state, struct key_group_range groups,
                      struct bytes prefix)
{
    flink_walk_end(s);
    s->state = state;
    s->groups = groups;
    buf_clear(&s->prefix);
    buf_append(&s->prefix, prefix.data, prefix.len);
    s->next_handle = 0;
    s->group = 0;
}

static void note_group(struct flink_source *s, struct bytes key)
{
    uint32_t prefix_len = keygroup_prefix_len((uint32_t)s->op->max_parallelism);
    uint32_t group = keygroup_get_prefix(key.data, prefix_len);

    if (s->walked != NULL && group != s->group)
        s->walked(s->walked_ctx, group, (uint64_t)s->op->max_parallelism);
    s->group = group;
}

static bool meets(struct key_group_range groups, struct flink_range range)
{
    return groups.first < range.first + range.count && groups.last >= range.first;
}

/* The next handle that knows the state; false: there is none. */
static enum rc next_scan(struct flink_source *s, bool *more, struct err *err)
{
    *more = false;
    for (; s->next_handle < s->handle_count && !*more; s->next_handle++) {
        const struct flink_states *states;
        const struct flink_state *state;

        if (!meets(s->groups, s->handles[s->next_handle].handle->range))
            continue;
        RETURN_IF_ERR(open_reader(s, s->next_handle, err));
        states = flink_reader_states(s->reader);
        state = flink_state_find(states, s->state);
        if (state == NULL)
            continue;
        RETURN_IF_ERR(flink_scan_open(s->reader, (size_t)(state - states->states), s->groups,
                                      buf_bytes(&s->prefix), &s->scan, err));
        *more = true;
    }
    return RC_OK;
}

static enum rc walk_on(struct flink_source *s, struct bytes *key, struct bytes *value,
                       struct err *err)
{
    bool more = true;

    while (more) {
        if (s->scan != NULL) {
            RETURN_IF_ERR(flink_scan_next(s->scan, key, value, err));
            if (key->data != NULL) {
                note_group(s, *key);
                return RC_OK;
            }
            flink_scan_close(s->scan);
            s->scan = NULL;
        }
        RETURN_IF_ERR(next_scan(s, &more, err));
    }
    return RC_OK;
}

enum rc flink_walk_next(struct flink_source *s, struct bytes *key, struct bytes *value,
                        struct err *err)
{
    enum rc rc;

    *key = *value = (struct bytes){0};
    rc = walk_on(s, key, value, err);
    if (rc != RC_OK && s->reader != NULL)
        err_wrap(err, rc, "operator %s subtask %u", op_word(s),
                 s->handles[s->open_index].subtask_index);
    return rc;
}

void flink_walk_end(struct flink_source *s)
{
    flink_scan_close(s->scan);
    s->scan = NULL;
    s->next_handle = s->handle_count;
}
