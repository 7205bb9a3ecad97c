/* verify_deep.c - see verify_priv.h
 *
 * The child walks the handles from a number on and tells what it begins and finds; when it is ended
 * before its work is done, what it had begun last is the fault, and another child goes on behind it. */
#include "checkpoint/verify_priv.h"

#include "backend/handle_check.h"
#include "checkpoint/apart.h"
#include "checkpoint/recovery.h"

/* A message: one of these, three numbers of 4 bytes each, little-endian, and a text. */
enum telling {
    TELL_HANDLE,   /* begins to look into: snapshot, number of the handle, subtask; operator */
    TELL_FILE,     /* the same: file of the set */
    TELL_BROKEN,   /* file of the set; reason */
    TELL_UNUSABLE, /* the handle that was begun, as a whole; reason */
};
#define MESSAGE_HEAD 13u

struct deep {
    struct verify *v;
    bool *seen; /* of the set's files: looked into, or begun with */
    uint32_t from_handle;
    uint64_t done_bytes, all_bytes;
    /* what the child began last */
    uint32_t snapshot, handle, subtask;
    const char *operator_name;
    size_t file; /* FILE_SET_NONE: none of this handle yet */
};

/* ---- the child ------------------------------------------------------------------------------- */

struct teller {
    struct deep *d;
    struct apart_ear *ear;
    uint32_t snapshot, handle;
    const struct keyed_handle *looking_at;
};

static void tell(struct apart_ear *ear, enum telling what, uint32_t a, uint32_t b, uint32_t c,
                 const char *text)
{
    struct buf message = {0};

    buf_append_u8(&message, (uint8_t)what);
    buf_append_le32(&message, a);
    buf_append_le32(&message, b);
    buf_append_le32(&message, c);
    buf_append_str(&message, text);
    apart_tell(ear, buf_bytes(&message));
    buf_release(&message);
}

static bool begin_file(void *ctx, size_t file)
{
    struct teller *t = ctx;
    size_t i = file_set_find(t->d->v->files, &t->looking_at->files[file]);

    if (i == FILE_SET_NONE)
        return true; /* inline: in this snapshot alone */
    if (t->d->seen[i])
        return false;
    t->d->seen[i] = true;
    tell(t->ear, TELL_FILE, (uint32_t)i, 0, 0, "");
    return true;
}

static void file_fault(void *ctx, size_t file, const char *reason)
{
    struct teller *t = ctx;
    size_t i = file_set_find(t->d->v->files, &t->looking_at->files[file]);

    if (i == FILE_SET_NONE)
        tell(t->ear, TELL_UNUSABLE, 0, 0, 0, reason);
    else
        tell(t->ear, TELL_BROKEN, (uint32_t)i, 0, 0, reason);
}

/* With a file at fault there is nothing to open. */
static bool files_are_right(struct verify *v, const struct keyed_handle *h)
{
    for (size_t f = 0; f < h->file_count; f++) {
        size_t i = file_set_find(v->files, &h->files[f]);

        if (i != FILE_SET_NONE && file_set_at(v->files, i)->fault != NULL)
            return false;
    }
    return true;
}

static void look_into(struct teller *t, const struct operator_meta *op,
                      const struct subtask_state *subtask, const struct keyed_handle *h)
{
    struct handle_check_files files = {begin_file, file_fault, t};
    struct verify *v = t->d->v;
    struct err local = {0};
    char dir[FS_PATH_MAX];

    if (t->handle < t->d->from_handle || !files_are_right(v, h))
        return;
    t->looking_at = h;
    tell(t->ear, TELL_HANDLE, t->snapshot, t->handle, subtask->subtask_index, op->name);
    if (path_join(dir, sizeof dir, v->options->scratch_dir, "db", &local) != RC_OK ||
        handle_check(v->fs, h, dir, &files, &local) != RC_OK)
        tell(t->ear, TELL_UNUSABLE, 0, 0, 0, local.msg);
}

static void look_into_snapshot(struct teller *t, const struct checkpoint_metadata *m)
{
    for (size_t o = 0; o < m->operator_count; o++) {
        const struct operator_meta *op = &m->operators[o];

        for (size_t s = 0; s < op->subtask_count; s++)
            for (size_t k = 0; k < op->subtasks[s].keyed_count; k++) {
                look_into(t, op, &op->subtasks[s], &op->subtasks[s].keyed[k]);
                t->handle++;
            }
    }
}

static void child_work(void *ctx, struct apart_ear *ear)
{
    struct teller t = {.d = ctx, .ear = ear};
    const struct verify *v = t.d->v;
    struct checkpoint_metadata m;
    uint64_t metadata_bytes;

    for (t.snapshot = 0; t.snapshot < v->report->snapshot_count; t.snapshot++) {
        arena_reset(v->scratch);
        if (v->report->snapshots[t.snapshot].status == VERIFY_CLEAN &&
            recovery_read_metadata(v->fs, v->report->snapshots[t.snapshot].dir, v->scratch, &m,
                                   &metadata_bytes, NULL) == RC_OK)
            look_into_snapshot(&t, &m);
    }
}

/* ---- the parent ------------------------------------------------------------------------------ */

/* The handle that the child began. */
static void add_unusable(struct deep *d, const char *reason)
{
    struct arena *a = d->v->report->arena;
    struct verify_fault fault = {
        .path = d->v->report->snapshots[d->snapshot].dir,
        .reason = arena_strdup(a, reason),
        .operator_name = d->operator_name,
        .subtask_index = d->subtask,
    };

    verify_add_sharer(d->v, verify_add_fault(d->v, fault), d->snapshot);
}

static void note_file(struct deep *d, uint32_t file)
{
    d->file = file;
    d->seen[file] = true;
    d->done_bytes += file_set_at(d->v->files, file)->size_bytes;
    look_tell(&d->v->options->watch, "databases", d->done_bytes, d->all_bytes, true);
}

/* The child may have been damaged: what it says is looked at like any bytes from outside. */
static void heard(void *ctx, struct bytes message)
{
    struct deep *d = ctx;
    struct verify *v = d->v;
    uint32_t n[3];
    const char *text;

    if (message.len < MESSAGE_HEAD)
        return;
    for (size_t i = 0; i < ARRAY_LEN(n); i++)
        n[i] = get_le32(message.data + 1 + 4 * i);
    text = arena_strndup(v->report->arena, (const char *)message.data + MESSAGE_HEAD,
                         message.len - MESSAGE_HEAD);
    switch (message.data[0]) {
    case TELL_HANDLE:
        if (n[0] >= v->report->snapshot_count)
            return;
        d->snapshot = n[0];
        d->handle = n[1];
        d->subtask = n[2];
        d->operator_name = text;
        d->file = FILE_SET_NONE;
        break;
    case TELL_FILE:
        if (n[0] < file_set_count(v->files))
            note_file(d, n[0]);
        break;
    case TELL_BROKEN:
        if (n[0] < file_set_count(v->files))
            file_set_at(v->files, n[0])->fault = text;
        break;
    case TELL_UNUSABLE:
        if (d->handle != UINT32_MAX)
            add_unusable(d, text);
        break;
    default:
        break;
    }
}

/* What the child had begun is what ended it. */
static void blame_end(struct deep *d, const char *end)
{
    const char *reason =
        arena_printf(d->v->report->arena, "the process that read it was ended: %s", end);

    if (d->file != FILE_SET_NONE)
        file_set_at(d->v->files, d->file)->fault = reason;
    else
        add_unusable(d, reason);
}

enum rc verify_deep(struct verify *v, struct err *err)
{
    struct deep d = {.v = v, .file = FILE_SET_NONE};
    char end[APART_END_MAX];
    enum rc rc;

    d.seen = mem_calloc(file_set_count(v->files), sizeof *d.seen);
    for (size_t i = 0; i < file_set_count(v->files); i++)
        d.all_bytes += file_set_at(v->files, i)->size_bytes;
    do {
        d.handle = UINT32_MAX; /* none begun */
        GOTO_IF_ERR(apart_run(child_work, &d, heard, &d, end, err));
        if (end[0] == '\0')
            break;
        if (d.handle == UINT32_MAX)
            GOTO_IF_ERR(err_set(err, RC_IO, "a process of ours was ended: %s", end));
        blame_end(&d, end);
        d.from_handle = d.handle + 1;
    } while (true);
out:
    mem_free(d.seen);
    return rc;
}
