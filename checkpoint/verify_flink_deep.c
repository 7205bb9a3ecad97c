/* verify_flink_deep.c - see verify_priv.h: the entries of Flink's keyed state, handle by handle, in a
 * process of its own. */
#include "checkpoint/verify_priv.h"

#include "checkpoint/apart.h"
#include "checkpoint/flink/flink_prove_deep.h"
#include "checkpoint/layout.h"
#include "checkpoint/snapshot_read.h"

/* A message of the child: one of these; numbers of 4 bytes little-endian: the handle's, the
 * snapshot's, its subtask's; entries and bytes, 8 each; then texts, each with a NUL behind it. */
enum telling {
    TELL_BEGIN,     /* the operator's name */
    TELL_FAULT,     /* and where it is, and why */
    TELL_LEFT_OVER, /* and the state's name */
    TELL_UNTOLD,    /* and where it is, and why */
};
#define HEAD_BYTES 29u
#define TEXTS_MAX 3

struct tour {
    struct verify *v;
    uint32_t from; /* handles before it were looked into by earlier children */
    /* the child's */
    struct apart_ear *ear;
    uint32_t number, snapshot;
    struct flink_places *places;
    struct arena *arena;
    const struct flink_stream_use *use; /* of the handle at hand */
    const char *operator_name;
    /* the parent's: what the child began last */
    bool begun;
    uint32_t last_number, last_snapshot, last_subtask;
    const char *last_operator;
};

/* ---- the child ------------------------------------------------------------------------------- */

static void tell(const struct tour *t, enum telling what, const char *place, const char *text,
                 const struct flink_left_over *l)
{
    const char *texts[TEXTS_MAX] = {t->operator_name, place, text};
    struct buf message = {0};

    buf_append_u8(&message, (uint8_t)what);
    buf_append_le32(&message, t->number);
    buf_append_le32(&message, t->snapshot);
    buf_append_le32(&message, t->use->subtask == NULL ? 0 : t->use->subtask->index);
    buf_append_le64(&message, l == NULL ? 0 : l->entries);
    buf_append_le64(&message, l == NULL ? 0 : l->bytes);
    for (int i = 0; i < TEXTS_MAX; i++) {
        buf_append_str(&message, texts[i]);
        buf_append_u8(&message, 0);
    }
    if (message.len <= APART_MESSAGE_MAX)
        apart_tell(t->ear, buf_bytes(&message));
    buf_release(&message);
}

static const char *snapshot_dir(const struct tour *t)
{
    return t->v->report->snapshots[t->snapshot].dir;
}

/* Of what is inlined the _metadata itself; of a database, in which file it is not known, the
 * snapshot. */
static const char *place_of(const struct tour *t, const char *path)
{
    if (path == NULL)
        return snapshot_dir(t);
    return path[0] != '\0' ? path
                           : arena_printf(t->arena, "%s/%s", snapshot_dir(t), LAYOUT_METADATA);
}

static void hear_fault(void *ctx, const char *path, const char *reason)
{
    const struct tour *t = ctx;

    tell(t, TELL_FAULT, place_of(t, path), reason, NULL);
}

static void hear_left_over(void *ctx, const struct flink_left_over *l)
{
    const struct tour *t = ctx;

    tell(t, TELL_LEFT_OVER, flink_c_text(t->arena, l->state), "", l);
}

static void hear_untold(void *ctx, const char *reason)
{
    const struct tour *t = ctx;

    tell(t, TELL_UNTOLD, place_of(t, flink_place(t->places, t->use->stream)), reason, NULL);
}

/* What is inlined has no file: then the snapshot knows of its faults. */
static bool is_right(const struct tour *t, const struct flink_stream *s)
{
    struct flink_stream_use use = *t->use;
    struct state_file file;
    size_t i;

    use.stream = s;
    if (s->tag == FLINK_STREAM_EMPTY)
        return true;
    file = flink_view_file(t->places, t->arena, &use);
    i = file_set_find(t->v->files, &file);
    if (i != FILE_SET_NONE)
        return file_set_at(t->v->files, i)->fault == NULL;
    return t->v->report->snapshots[t->snapshot].status == VERIFY_CLEAN;
}

/* With a file at fault there is nothing to open. */
static bool files_are_right(const struct tour *t)
{
    const struct flink_incremental *inc = t->use->keyed->incremental;
    bool right = is_right(t, t->use->stream);

    for (size_t i = 0; inc != NULL && right && i < inc->shared_count; i++)
        right = is_right(t, &inc->shared[i].stream);
    for (size_t i = 0; inc != NULL && right && i < inc->private_count; i++)
        right = is_right(t, &inc->private[i].stream);
    return right;
}

/* Each handle has one description, or is one stream. */
static enum rc look(void *ctx, const struct flink_stream_use *use, struct err *err UNUSED)
{
    struct tour *t = ctx;
    struct flink_deep_ear ear = {t, hear_fault, hear_left_over, hear_untold};
    struct flink_keyed_source from = {.fs = t->v->fs,
                                      .places = t->places,
                                      .scratch_dir = t->v->options->scratch_dir,
                                      .handle = use->keyed,
                                      .raw = use->raw,
                                      .key_group_count = (uint32_t)use->op->max_parallelism};
    char id[2 * FLINK_ID_BYTES + 1];

    if ((use->role != FLINK_ROLE_DB_META && use->role != FLINK_ROLE_KEYED_STREAM) ||
        use->stream->tag == FLINK_STREAM_EMPTY || t->number++ < t->from)
        return RC_OK;
    t->use = use;
    if (!files_are_right(t))
        return RC_OK;
    flink_id_hex(use->op->id, id);
    t->operator_name = use->op->name.len > 0  ? flink_c_text(t->arena, use->op->name)
                       : use->op->uid.len > 0 ? flink_c_text(t->arena, use->op->uid)
                                              : arena_strdup(t->arena, id);
    tell(t, TELL_BEGIN, "", "", NULL);
    flink_prove_deep(&from, &ear);
    return RC_OK;
}

static void work(void *ctx, struct apart_ear *ear)
{
    struct tour *t = ctx;
    struct verify *v = t->v;

    t->ear = ear;
    t->arena = arena_new(0);
    for (t->snapshot = 0; t->snapshot < v->report->snapshot_count; t->snapshot++) {
        const struct verified_snapshot *s = &v->report->snapshots[t->snapshot];
        struct checkpoint_metadata m;
        struct err local = {0};
        uint64_t bytes;

        arena_reset(t->arena);
        if (!s->flink || snapshot_read(v->fs, s->dir, v->options->rebase, t->arena, &m, &bytes,
                                       &local) != RC_OK)
            continue; /* gone meanwhile */
        t->places = flink_places_new(v->fs, m.flink, s->dir, v->options->rebase, t->arena);
        if (flink_metadata_each_stream(m.flink, look, t, &local) != RC_OK)
            return; /* it never says so */
    }
    arena_free(t->arena);
}

/* ---- the parent ------------------------------------------------------------------------------ */

static uint64_t size_of(struct verify *v, const char *path)
{
    for (size_t i = 0; i < file_set_count(v->files); i++)
        if (strcmp(file_set_at(v->files, i)->path, path) == 0)
            return file_set_at(v->files, i)->size_bytes;
    return 0;
}

/* What several snapshots share is one fault. */
static void add_fault(struct tour *t, const char *path, const char *reason)
{
    struct verify *v = t->v;
    struct verify_fault fault = {
        .path = path,
        .reason = reason,
        .operator_name = t->last_operator,
        .subtask_index = t->last_subtask,
        .size_bytes = size_of(v, path),
    };

    for (size_t i = 0; i < v->fault_count; i++)
        if (strcmp(v->faults[i].path, path) == 0 && strcmp(v->faults[i].reason, reason) == 0) {
            verify_add_sharer(v, &v->faults[i], t->last_snapshot);
            return;
        }
    verify_add_sharer(v, verify_add_fault(v, fault), t->last_snapshot);
}

static void add_left_over(struct tour *t, const char *state, uint64_t entries, uint64_t bytes)
{
    struct verify *v = t->v;

    if (v->left_over_count == v->left_over_cap) {
        v->left_over_cap = v->left_over_cap == 0 ? 16 : v->left_over_cap * 2;
        v->left_over = mem_realloc(v->left_over, v->left_over_cap * sizeof *v->left_over);
    }
    v->left_over[v->left_over_count++] = (struct verify_left_over){
        .snapshot_dir = v->report->snapshots[t->last_snapshot].dir,
        .operator_name = t->last_operator,
        .subtask_index = t->last_subtask,
        .state = state,
        .entries = entries,
        .bytes = bytes,
    };
}

static void begin_with(struct tour *t, struct bytes message, const char *operator_name)
{
    const struct verify_report *r = t->v->report;

    t->begun = true;
    t->last_number = get_le32(message.data + 1);
    t->last_snapshot = get_le32(message.data + 5);
    t->last_subtask = get_le32(message.data + 9);
    t->last_operator = operator_name;
    look_tell(&t->v->options->watch, "snapshots", t->last_snapshot, r->snapshot_count, false);
}

/* false: not as many. What read damaged bytes may tell anything. */
static bool take_texts(struct arena *arena, struct bytes from, const char *texts[TEXTS_MAX])
{
    for (int i = 0; i < TEXTS_MAX; i++) {
        const uint8_t *end = from.len == 0 ? NULL : memchr(from.data, 0, from.len);

        if (end == NULL)
            return false;
        texts[i] = arena_strndup(arena, (const char *)from.data, (size_t)(end - from.data));
        from = bytes_of(end + 1, from.len - (size_t)(end + 1 - from.data));
    }
    return true;
}

static void hear(void *ctx, struct bytes message)
{
    struct tour *t = ctx;
    const char *texts[TEXTS_MAX];

    if (message.len < HEAD_BYTES ||
        get_le32(message.data + 5) >= t->v->report->snapshot_count ||
        !take_texts(t->v->report->arena, bytes_of(message.data + HEAD_BYTES, message.len - HEAD_BYTES), texts))
        return;
    if (message.data[0] == TELL_BEGIN)
        begin_with(t, message, texts[0]);
    else if (message.data[0] == TELL_FAULT)
        add_fault(t, texts[1], texts[2]);
    else if (message.data[0] == TELL_LEFT_OVER)
        add_left_over(t, texts[1], get_le64(message.data + 13), get_le64(message.data + 21));
    else if (message.data[0] == TELL_UNTOLD)
        verify_add_unproven(t->v, (struct verify_unproven){
                                      .path = texts[1],
                                      .reason = arena_printf(t->v->report->arena,
                                                             "not judged entry by entry: %s",
                                                             texts[2]),
                                      .size_bytes = size_of(t->v, texts[1]),
                                  });
}

/* What the child had begun is what ended it. */
enum rc verify_flink_deep(struct verify *v, struct err *err)
{
    struct tour t = {.v = v};
    char end[APART_END_MAX];

    if (!verify_has_flinks(v))
        return RC_OK;
    for (;;) {
        t.begun = false;
        RETURN_IF_ERR(apart_run(work, &t, hear, &t, end, err));
        if (end[0] == '\0')
            return RC_OK;
        if (!t.begun)
            return err_set(err, RC_IO, "a process of ours was ended: %s", end);
        add_fault(&t, v->report->snapshots[t.last_snapshot].dir,
                  arena_printf(v->report->arena, "the process that read it was ended: %s", end));
        t.from = t.last_number;
    }
}
