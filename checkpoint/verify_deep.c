/* verify_deep.c - see verify_priv.h */
#include "checkpoint/verify_priv.h"

#include "backend/handle_check.h"
#include "checkpoint/handle_tour.h"
#include "checkpoint/layout.h"

/* A message of the child: one of these, the file's index, 4 bytes little-endian, and a text. */
enum telling {
    TELL_FILE,     /* begins to look into a file of the set */
    TELL_BROKEN,   /* a file of the set is; reason */
    TELL_UNUSABLE, /* the handle as a whole is; reason */
};
#define HEAD_BYTES 5u

struct deep {
    struct verify *v;
    bool *seen; /* of the set's files: looked into, or begun with */
    uint64_t done_bytes, all_bytes;
    size_t file; /* that the child began last ... */
    const char *file_operator; /* ... in the place with this very string */
};

/* ---- the child ------------------------------------------------------------------------------- */

struct looker {
    struct deep *d;
    struct apart_ear *ear;
    const struct keyed_handle *handle;
};

static void tell(struct apart_ear *ear, enum telling what, size_t file, const char *text)
{
    struct buf message = {0};

    buf_append_u8(&message, (uint8_t)what);
    buf_append_le32(&message, (uint32_t)file);
    buf_append_str(&message, text);
    tour_tell(ear, buf_bytes(&message));
    buf_release(&message);
}

static bool begin_file(void *ctx, size_t file)
{
    struct looker *l = ctx;
    size_t i = file_set_find(l->d->v->files, &l->handle->files[file]);

    if (i == FILE_SET_NONE)
        return true; /* inline: in this snapshot alone */
    if (l->d->seen[i])
        return false;
    l->d->seen[i] = true;
    tell(l->ear, TELL_FILE, i, "");
    return true;
}

static void file_fault(void *ctx, size_t file, const char *reason)
{
    struct looker *l = ctx;
    size_t i = file_set_find(l->d->v->files, &l->handle->files[file]);

    tell(l->ear, i == FILE_SET_NONE ? TELL_UNUSABLE : TELL_BROKEN, i, reason);
}

static const char *dir_of(void *ctx, uint32_t snapshot)
{
    const struct verified_snapshot *s = &((struct deep *)ctx)->v->report->snapshots[snapshot];

    return s->status == VERIFY_CLEAN ? s->dir : NULL;
}

/* With a file at fault there is nothing to open. */
static bool files_are_right(void *ctx, const struct keyed_handle *h)
{
    struct verify *v = ((struct deep *)ctx)->v;

    for (size_t f = 0; f < h->file_count; f++) {
        size_t i = file_set_find(v->files, &h->files[f]);

        if (i != FILE_SET_NONE && file_set_at(v->files, i)->fault != NULL)
            return false;
    }
    return true;
}

static void look(void *ctx, struct apart_ear *ear, const struct keyed_handle *h)
{
    struct looker l = {ctx, ear, h};
    struct handle_check_files files = {begin_file, file_fault, &l};
    struct verify *v = l.d->v;
    struct err local = {0};
    char dir[FS_PATH_MAX];

    if (path_join(dir, sizeof dir, v->options->scratch_dir, "db", &local) != RC_OK ||
        handle_check(v->fs, h, dir, &files, &local) != RC_OK)
        tell(ear, TELL_UNUSABLE, 0, local.msg);
}

/* ---- the parent ------------------------------------------------------------------------------ */

/* _metadata goes first (C3): what lacks a file and has none was deleted meanwhile. */
static bool is_gone(struct deep *d, uint32_t snapshot)
{
    char path[FS_PATH_MAX];
    struct fs_stat st;

    return path_join(path, sizeof path, d->v->report->snapshots[snapshot].dir, LAYOUT_METADATA,
                     NULL) == RC_OK &&
           fs_stat(d->v->fs, path, &st, NULL) == RC_NOT_FOUND;
}

static void add_unusable(struct deep *d, const struct tour_place *at, const char *reason)
{
    struct verify_fault fault = {
        .path = d->v->report->snapshots[at->snapshot].dir,
        .reason = reason,
        .operator_name = at->operator_name,
        .subtask_index = at->subtask,
    };

    if (is_gone(d, at->snapshot))
        d->v->report->snapshots[at->snapshot].status = VERIFY_INCOMPLETE;
    else
        verify_add_sharer(d->v, verify_add_fault(d->v, fault), at->snapshot);
}

static void begin_with(struct deep *d, const struct tour_place *at, uint32_t file)
{
    d->file = file;
    d->file_operator = at->operator_name;
    d->seen[file] = true;
    d->done_bytes += file_set_at(d->v->files, file)->size_bytes;
    look_tell(&d->v->options->watch, "databases", d->done_bytes, d->all_bytes, true);
}

static void heard(void *ctx, const struct tour_place *at, struct bytes message)
{
    struct deep *d = ctx;
    const char *text;
    uint32_t file;

    if (message.len < HEAD_BYTES)
        return;
    file = get_le32(message.data + 1);
    text = arena_strndup(d->v->report->arena, (const char *)message.data + HEAD_BYTES,
                         message.len - HEAD_BYTES);
    if (message.data[0] == TELL_UNUSABLE)
        add_unusable(d, at, text);
    else if (file < file_set_count(d->v->files) && message.data[0] == TELL_FILE)
        begin_with(d, at, file);
    else if (file < file_set_count(d->v->files) && message.data[0] == TELL_BROKEN)
        file_set_at(d->v->files, file)->fault = text;
}

/* What the child had begun is what ended it. */
static void ended(void *ctx, const struct tour_place *at, const char *end)
{
    struct deep *d = ctx;
    const char *reason =
        arena_printf(d->v->report->arena, "the process that read it was ended: %s", end);

    if (d->file_operator == at->operator_name)
        file_set_at(d->v->files, d->file)->fault = reason;
    else
        add_unusable(d, at, reason);
}

enum rc verify_deep(struct verify *v, struct err *err)
{
    struct deep d = {.v = v};
    struct handle_tour tour = {
        .fs = v->fs,
        .arena = v->report->arena,
        .snapshot_count = (uint32_t)v->report->snapshot_count,
        .ctx = &d,
        .dir_of = dir_of,
        .wanted = files_are_right,
        .look = look,
        .heard = heard,
        .ended = ended,
    };
    enum rc rc;

    d.seen = mem_calloc(file_set_count(v->files), sizeof *d.seen);
    for (size_t i = 0; i < file_set_count(v->files); i++)
        d.all_bytes += file_set_at(v->files, i)->size_bytes;
    rc = handle_tour_run(&tour, err);
    mem_free(d.seen);
    return rc;
}
