#include "backend/state_reader.h"

#include "backend/key_codec.h"
#include "backend/rocks_backend_priv.h"

#include <stdlib.h>

struct state_reader {
    struct fs *fs;
    const struct keyed_handle *handle;
    uint32_t prefix_len;
    char *dir;
    /* KEYED_ROCKS */
    struct rocks_source source;
    /* KEYED_STREAM */
    struct keyed_stream_reader *stream;
    bool proven;
    struct state_size *sizes; /* by state; NULL: not counted yet */
    struct buf got;           /* of the last get */
};
struct stream_entry {
    struct bytes key, value;
};
struct state_scan {
    struct state_reader *reader;
    size_t state;
    struct rocks_iter *it;
    /* KEYED_STREAM: the entries of one group at a time */
    struct key_group_range groups;
    uint32_t next_group; /* to be loaded */
    struct buf prefix, data;
    struct stream_entry *entries;
    size_t count, cap, next;
};

enum rc state_reader_open(struct fs *fs, const struct keyed_handle *h, const char *dir,
                          struct state_reader **out, struct err *err)
{
    struct state_reader *r = mem_calloc(1, sizeof *r);
    enum rc rc;

    r->fs = fs;
    r->handle = h;
    r->prefix_len = keygroup_prefix_len(h->key_group_count);
    switch (h->kind) {
    case KEYED_ROCKS:
        r->dir = mem_strdup(dir);
        rc = rocks_source_open(fs, NULL, h, dir, BRING_LOOK, -1, &r->source, err);
        break;
    case KEYED_STREAM:
        rc = keyed_stream_open(fs, h, false, &r->stream, err);
        break;
    default:
        rc = err_set(err, RC_VERSION, "handle of kind %d", (int)h->kind);
    }
    for (size_t i = 0; rc == RC_OK && h->kind == KEYED_ROCKS && i < h->state_count; i++) {
        struct rocks_cf *cf = rocks_cf_find(r->source.db, h->states[i].name);

        if (cf != NULL)
            rocks_cf_set_shape(cf, value_shape_of_desc(&h->states[i]));
    }
    if (rc != RC_OK) {
        state_reader_close(r);
        return rc;
    }
    *out = r;
    return RC_OK;
}

void state_reader_close(struct state_reader *r)
{
    struct err ignored = {0};

    if (r == NULL)
        return;
    rocks_source_close(&r->source);
    keyed_stream_close(r->stream);
    if (r->dir != NULL)
        (void)!fs_remove_tree(r->fs, r->dir, &ignored); /* scratch: swept with its parent else */
    mem_free(r->dir);
    mem_free(r->sizes);
    buf_release(&r->got);
    mem_free(r);
}

/* NULL: the state never held a row. */
static struct rocks_cf *family_of(const struct state_reader *r, size_t state)
{
    ASSERT(state < r->handle->state_count);
    return rocks_cf_find(r->source.db, r->handle->states[state].name);
}

/* ---- proof (C13) ----------------------------------------------------------------------------- */

struct proof {
    struct state_reader *r;
    struct rocks_bounds bounds;
};

static enum rc prove_file(void *ctx, const struct rocks_file *f, struct err *err)
{
    const struct proof *p = ctx;
    const struct keyed_handle *h = p->r->handle;

    if (rocks_file_place(f, p->bounds) == ROCKS_OUTSIDE)
        return RC_OK;
    for (size_t i = 0; i < h->file_count; i++) {
        if (strcmp(h->files[i].local_name, f->name) != 0 || p->r->source.files[i].proven)
            continue;
        RETURN_IF_ERR(state_file_prove(p->r->fs, &h->files[i], err));
        p->r->source.files[i].proven = true;
    }
    return RC_OK;
}

/* Every file of the family that has keys inside the bounds. */
static enum rc prove_files(struct state_reader *r, struct rocks_cf *cf, struct rocks_bounds bounds,
                           struct err *err)
{
    struct proof p = {r, bounds};

    return rocks_cf_files(cf, prove_file, &p, err);
}

/* RocksDB's message names a link in the scratch directory: the file behind it is found by proof. */
static enum rc name_damaged(struct state_reader *r, struct rocks_cf *cf, struct bytes key,
                            enum rc rc, struct err *err)
{
    struct buf after = {0};
    struct err found = {0};

    if (rc == RC_CORRUPT) {
        buf_append(&after, key.data, key.len);
        buf_append_u8(&after, 0);
        if (prove_files(r, cf, (struct rocks_bounds){key, buf_bytes(&after)}, &found) == RC_CORRUPT)
            *err = found;
    }
    buf_release(&after);
    return rc;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static enum rc count_entries(void *ctx, uint32_t state_id, uint32_t count, const struct bytes *keys,
                             const struct bytes *values, struct err *err)
{
    struct state_size *s = (struct state_size *)ctx + state_id;

    (void)err;
    s->entries += count;
    for (uint32_t i = 0; i < count; i++) {
        s->key_bytes += keys[i].len;
        s->value_bytes += values[i].len;
    }
    return RC_OK;
}

static enum rc prove_stream(struct state_reader *r, struct err *err)
{
    if (!r->proven)
        RETURN_IF_ERR(state_file_prove(r->fs, &r->handle->files[0], err));
    r->proven = true;
    return RC_OK;
}

/* All states at once: they lie mixed. */
static enum rc count_stream(struct state_reader *r, struct err *err)
{
    const struct keyed_handle *h = r->handle;

    RETURN_IF_ERR(prove_stream(r, err));
    r->sizes = mem_calloc(h->state_count, sizeof *r->sizes);
    for (size_t i = 0; i < h->state_count; i++)
        r->sizes[i].exact = true;
    for (uint32_t g = h->range.first; g <= h->range.last; g++)
        RETURN_IF_ERR(keyed_stream_read_group(r->stream, g, count_entries, r->sizes, err));
    return RC_OK;
}

enum rc state_reader_size(struct state_reader *r, size_t state, struct state_size *out,
                          struct err *err)
{
    struct rocks_cf *cf;
    struct rocks_size about;

    *out = (struct state_size){.exact = true};
    if (r->handle->kind == KEYED_STREAM) {
        if (r->sizes == NULL)
            RETURN_IF_ERR(count_stream(r, err));
        *out = r->sizes[state];
        return RC_OK;
    }
    cf = family_of(r, state);
    if (cf == NULL)
        return RC_OK;
    RETURN_IF_ERR(rocks_cf_size(cf, true, &about, err));
    *out = (struct state_size){about.rows, about.key_bytes, about.value_bytes, about.rows == 0};
    return RC_OK;
}

/* ---- one entry ------------------------------------------------------------------------------- */

struct lookup {
    uint32_t state_id;
    struct bytes key;
    struct buf *value;
    bool found;
};

static enum rc look_for(void *ctx, uint32_t state_id, uint32_t count, const struct bytes *keys,
                        const struct bytes *values, struct err *err)
{
    struct lookup *l = ctx;

    (void)err;
    for (uint32_t i = 0; state_id == l->state_id && i < count; i++) {
        if (!bytes_eq(keys[i], l->key))
            continue;
        buf_append(l->value, values[i].data, values[i].len);
        l->found = true;
    }
    return RC_OK;
}

static enum rc get_from_stream(struct state_reader *r, size_t state, uint32_t group,
                               struct bytes key, struct bytes *value, struct err *err)
{
    struct lookup l = {(uint32_t)state, key, &r->got, false};

    buf_clear(&r->got);
    buf_reserve(&r->got, 1); /* an empty value has an address too */
    RETURN_IF_ERR(keyed_stream_read_group(r->stream, group, look_for, &l, err));
    if (l.found)
        *value = bytes_of(r->got.data, r->got.len);
    return RC_OK;
}

enum rc state_reader_get(struct state_reader *r, size_t state, struct bytes key,
                         struct bytes *value, struct err *err)
{
    struct rocks_cf *cf;
    uint32_t group;

    *value = (struct bytes){0};
    if (key.len < r->prefix_len)
        return err_set(err, RC_INVALID, "key of %zu bytes has no key group", key.len);
    group = keygroup_get_prefix(key.data, r->prefix_len);
    if (!key_group_range_has(r->handle->range, group))
        return RC_OK;
    if (r->handle->kind == KEYED_STREAM)
        return get_from_stream(r, state, group, key, value, err);
    cf = family_of(r, state);
    if (cf == NULL)
        return RC_OK;
    return name_damaged(r, cf, key, rocks_get(cf, &key, 1, value, err), err);
}

/* ---- scans ----------------------------------------------------------------------------------- */

static enum rc scan_family(struct state_scan *s, struct err *err)
{
    struct rocks_cf *cf = family_of(s->reader, s->state);
    uint8_t room[4] = {0};
    struct rocks_bounds bounds = rocks_bounds_of(s->groups, s->reader->prefix_len, room);

    if (cf == NULL)
        return RC_OK;
    if (s->prefix.len > 0) {
        key_prefix_end(buf_bytes(&s->prefix), &s->data);
        bounds = (struct rocks_bounds){buf_bytes(&s->prefix), buf_bytes(&s->data)};
    }
    RETURN_IF_ERR(prove_files(s->reader, cf, bounds, err));
    s->it = rocks_iter_new(cf, bounds.lower, bounds.upper);
    return RC_OK;
}

enum rc state_scan_open(struct state_reader *r, size_t state, struct key_group_range groups,
                        struct bytes prefix, struct state_scan **out, struct err *err)
{
    struct state_scan *s = mem_calloc(1, sizeof *s);
    enum rc rc = RC_OK;

    ASSERT(state < r->handle->state_count);
    s->reader = r;
    s->state = state;
    groups = key_group_range_meet(groups, r->handle->range);
    if (prefix.len >= r->prefix_len) {
        uint32_t group = keygroup_get_prefix(prefix.data, r->prefix_len);

        groups = key_group_range_meet(groups, (struct key_group_range){group, group});
    }
    s->groups = groups;
    s->next_group = groups.first;
    buf_append(&s->prefix, prefix.data, prefix.len);
    if (groups.first <= groups.last)
        rc = r->handle->kind == KEYED_ROCKS ? scan_family(s, err) : prove_stream(r, err);
    if (rc != RC_OK) {
        state_scan_close(s);
        return rc;
    }
    *out = s;
    return RC_OK;
}

void state_scan_close(struct state_scan *s)
{
    if (s == NULL)
        return;
    rocks_iter_free(s->it);
    buf_release(&s->prefix);
    buf_release(&s->data);
    mem_free(s->entries);
    mem_free(s);
}

/* Keeps the entries of the scan's state; where they lie is set when all are there. */
static enum rc keep_entries(void *ctx, uint32_t state_id, uint32_t count, const struct bytes *keys,
                            const struct bytes *values, struct err *err)
{
    struct state_scan *s = ctx;

    (void)err;
    for (uint32_t i = 0; state_id == s->state && i < count; i++) {
        if (keys[i].len < s->prefix.len ||
            (s->prefix.len > 0 && memcmp(keys[i].data, s->prefix.data, s->prefix.len) != 0))
            continue;
        if (s->count == s->cap) {
            s->cap = s->cap == 0 ? 256 : 2 * s->cap;
            s->entries = mem_realloc(s->entries, s->cap * sizeof *s->entries);
        }
        s->entries[s->count].key.len = keys[i].len;
        s->entries[s->count++].value.len = values[i].len;
        buf_append(&s->data, keys[i].data, keys[i].len);
        buf_append(&s->data, values[i].data, values[i].len);
    }
    return RC_OK;
}

static int by_key(const void *a, const void *b)
{
    return bytes_cmp(((const struct stream_entry *)a)->key, ((const struct stream_entry *)b)->key);
}

static enum rc load_group(struct state_scan *s, struct err *err)
{
    const uint8_t *at;

    s->count = s->next = 0;
    buf_clear(&s->data);
    buf_reserve(&s->data, 1);
    RETURN_IF_ERR(
        keyed_stream_read_group(s->reader->stream, s->next_group++, keep_entries, s, err));
    at = s->data.data;
    for (size_t i = 0; i < s->count; i++) {
        s->entries[i].key.data = at;
        at += s->entries[i].key.len;
        s->entries[i].value.data = at;
        at += s->entries[i].value.len;
    }
    if (s->count > 1)
        qsort(s->entries, s->count, sizeof *s->entries, by_key);
    return RC_OK;
}

enum rc state_scan_next(struct state_scan *s, struct bytes *key, struct bytes *value,
                        struct err *err)
{
    enum rc rc = RC_OK;

    *key = *value = (struct bytes){0};
    if (s->reader->handle->kind == KEYED_ROCKS) {
        if (s->it != NULL && !rocks_iter_next(s->it, key, value, &rc, err))
            *key = (struct bytes){0};
        return rc;
    }
    while (s->next == s->count) {
        if (s->next_group > s->groups.last)
            return RC_OK;
        RETURN_IF_ERR(load_group(s, err));
    }
    *key = s->entries[s->next].key;
    *value = s->entries[s->next++].value;
    return RC_OK;
}
