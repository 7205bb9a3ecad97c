/* flink_sorter.c - see flink_sorter.h. A record: 4 bytes length of the key, 4 of the value, 2 state,
 * key, value. */
#include "checkpoint/flink/flink_sorter.h"

#include "backend/keygroup.h"
#include "base/arena.h"

#include <stdio.h>
#include <stdlib.h>

#define HEAD_BYTES 10u

struct record {
    uint32_t group;
    uint16_t state;
    struct bytes key, value;
};
struct run {
    struct fs_file *file;
    uint64_t next;     /* offset in the file */
    struct buf window; /* the shown record begins at `shown` */
    size_t shown;
    struct record head;
    bool ended;
};
struct flink_sorter {
    struct fs *fs;
    struct arena *arena;
    const char *dir;
    uint32_t prefix_len;
    size_t run_bytes;
    struct buf data; /* of the run in memory */
    size_t count, cap;
    size_t *offsets; /* of its records */
    size_t given; /* of `sorted`, when all fit into memory */
    struct record *sorted;
    size_t run_count;
    struct run *runs;
    struct run *last; /* whose head was given out; NULL: none */
};

struct flink_sorter *flink_sorter_new(struct fs *fs, const char *dir, uint32_t prefix_len,
                                      size_t run_bytes)
{
    struct flink_sorter *s = mem_calloc(1, sizeof *s);

    s->fs = fs;
    s->arena = arena_new(0);
    s->dir = arena_strdup(s->arena, dir);
    s->prefix_len = prefix_len;
    s->run_bytes = run_bytes;
    return s;
}

static void run_path(const struct flink_sorter *s, size_t i, char path[FS_PATH_MAX])
{
    snprintf(path, FS_PATH_MAX, "%s/sort-%zu", s->dir, i);
}

void flink_sorter_free(struct flink_sorter *s)
{
    char path[FS_PATH_MAX];

    if (s == NULL)
        return;
    for (size_t i = 0; i < s->run_count; i++) {
        fs_abandon(&s->runs[i].file);
        buf_release(&s->runs[i].window);
        run_path(s, i, path);
        (void)!fs_unlink(s->fs, path, NULL); /* scratch: swept with its parent else */
    }
    buf_release(&s->data);
    mem_free(s->offsets);
    mem_free(s->sorted);
    mem_free(s->runs);
    arena_free(s->arena);
    mem_free(s);
}

/* ---- runs ------------------------------------------------------------------------------------ */

static struct record record_at(const struct flink_sorter *s, const uint8_t *p)
{
    struct record r;
    uint32_t key_len = get_be32(p), value_len = get_be32(p + 4);

    r.state = get_be16(p + 8);
    r.key = bytes_of(p + HEAD_BYTES, key_len);
    r.value = bytes_of(p + HEAD_BYTES + key_len, value_len);
    r.group = keygroup_get_prefix(r.key.data, s->prefix_len);
    return r;
}

static int compare(const void *a, const void *b)
{
    const struct record *x = a, *y = b;

    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->state != y->state)
        return x->state < y->state ? -1 : 1;
    return bytes_cmp(x->key, y->key);
}

static void sort_run(struct flink_sorter *s)
{
    mem_free(s->sorted);
    s->sorted = mem_alloc(s->count * sizeof *s->sorted);
    for (size_t i = 0; i < s->count; i++)
        s->sorted[i] = record_at(s, s->data.data + s->offsets[i]);
    if (s->count > 0)
        qsort(s->sorted, s->count, sizeof *s->sorted, compare);
}

static enum rc write_run(struct flink_sorter *s, struct err *err)
{
    struct fs_file *f = NULL;
    char path[FS_PATH_MAX];
    struct buf out = {0};
    enum rc rc;

    if (s->run_count == FLINK_SORT_RUNS_MAX)
        return err_set(err, RC_LIMIT, "more than %u runs of %zu bytes to be put into order",
                       FLINK_SORT_RUNS_MAX, s->run_bytes);
    sort_run(s);
    run_path(s, s->run_count, path);
    GOTO_IF_ERR(fs_create(s->fs, path, &f, err));
    s->runs = mem_realloc(s->runs, (s->run_count + 1) * sizeof *s->runs);
    s->runs[s->run_count++] = (struct run){0};
    for (size_t i = 0; i < s->count; i++) {
        const struct record *r = &s->sorted[i];

        buf_append(&out, r->key.data - HEAD_BYTES, HEAD_BYTES + r->key.len + r->value.len);
        if (out.len < 16 * FLINK_SORT_WINDOW && i + 1 < s->count)
            continue;
        GOTO_IF_ERR(fs_append(f, buf_bytes(&out), err));
        buf_clear(&out);
    }
    s->count = 0;
    buf_clear(&s->data);
    rc = fs_close(&f, err);
out:
    fs_abandon(&f);
    buf_release(&out);
    return rc;
}

enum rc flink_sorter_add(struct flink_sorter *s, uint16_t state, struct bytes key,
                         struct bytes value, struct err *err)
{
    ASSERT(key.len >= s->prefix_len && key.len <= UINT32_MAX && value.len <= UINT32_MAX);
    if (s->count > 0 && s->data.len + key.len + value.len + HEAD_BYTES +
                                s->count * sizeof(struct record) > s->run_bytes)
        RETURN_IF_ERR(write_run(s, err));
    if (s->count == s->cap) {
        s->cap = s->cap == 0 ? 256 : 2 * s->cap;
        s->offsets = mem_realloc(s->offsets, s->cap * sizeof *s->offsets);
    }
    s->offsets[s->count++] = s->data.len;
    buf_append_be32(&s->data, (uint32_t)key.len);
    buf_append_be32(&s->data, (uint32_t)value.len);
    buf_append_be16(&s->data, state);
    buf_append(&s->data, key.data, key.len);
    buf_append(&s->data, value.data, value.len);
    return RC_OK;
}

/* ---- merging --------------------------------------------------------------------------------- */

/* At least `want` bytes from `shown` on, or all that are left. */
static enum rc show(struct run *r, size_t want, struct err *err)
{
    size_t got = 1;

    if (r->window.len - r->shown >= want)
        return RC_OK;
    memmove(r->window.data, r->window.data + r->shown, r->window.len - r->shown);
    r->window.len -= r->shown;
    r->shown = 0;
    want = want < FLINK_SORT_WINDOW ? FLINK_SORT_WINDOW : want;
    while (r->window.len < want && got > 0) {
        buf_reserve(&r->window, want - r->window.len);
        RETURN_IF_ERR(fs_read_at(r->file, r->next, r->window.data + r->window.len,
                                 want - r->window.len, &got, err));
        r->next += got;
        r->window.len += got;
    }
    return RC_OK;
}

/* Goes to the next record of a run. */
static enum rc go_on(const struct flink_sorter *s, struct run *r, struct err *err)
{
    size_t len;

    RETURN_IF_ERR(show(r, HEAD_BYTES, err));
    r->ended = r->window.len - r->shown < HEAD_BYTES;
    if (r->ended)
        return RC_OK;
    len = HEAD_BYTES + (size_t)get_be32(r->window.data + r->shown) +
          get_be32(r->window.data + r->shown + 4);
    RETURN_IF_ERR(show(r, len, err));
    if (r->window.len - r->shown < len)
        return err_set(err, RC_IO, "a scratch file ends too early");
    r->head = record_at(s, r->window.data + r->shown);
    r->shown += len;
    return RC_OK;
}

enum rc flink_sorter_end(struct flink_sorter *s, struct err *err)
{
    char path[FS_PATH_MAX];

    if (s->run_count == 0) {
        sort_run(s);
        return RC_OK;
    }
    if (s->count > 0)
        RETURN_IF_ERR(write_run(s, err));
    buf_release(&s->data);
    for (size_t i = 0; i < s->run_count; i++) {
        run_path(s, i, path);
        RETURN_IF_ERR(fs_open_read(s->fs, path, &s->runs[i].file, err));
        buf_reserve(&s->runs[i].window, FLINK_SORT_WINDOW);
        RETURN_IF_ERR(go_on(s, &s->runs[i], err));
    }
    return RC_OK;
}

enum rc flink_sorter_next(struct flink_sorter *s, uint16_t *state, struct bytes *key,
                          struct bytes *value, struct err *err)
{
    const struct record *r = NULL;

    *key = *value = (struct bytes){0};
    if (s->run_count == 0) {
        r = s->given < s->count ? &s->sorted[s->given++] : NULL;
    } else {
        if (s->last != NULL)
            RETURN_IF_ERR(go_on(s, s->last, err));
        s->last = NULL;
        for (size_t i = 0; i < s->run_count; i++)
            if (!s->runs[i].ended && (s->last == NULL || compare(&s->runs[i].head, &s->last->head) < 0))
                s->last = &s->runs[i];
        r = s->last == NULL ? NULL : &s->last->head;
    }
    if (r == NULL)
        return RC_OK;
    *state = r->state;
    *key = r->key;
    *value = r->value;
    return RC_OK;
}
