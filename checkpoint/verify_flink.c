/* verify_flink.c - see verify_priv.h: the streams of Flink's snapshots, one after the other, in a
 * process of its own. */
#include "checkpoint/verify_priv.h"

#include "checkpoint/apart.h"
#include "checkpoint/flink/flink_prove.h"
#include "checkpoint/flink/flink_view.h"
#include "checkpoint/layout.h"
#include "checkpoint/snapshot_read.h"

/* A message of the child: one of these; numbers of 4 bytes little-endian: how many streams
 * were begun, the snapshot's, the file's in the set (INLINED), its subtask's; its size, 8 bytes; a
 * text. The operator's name, a NUL and a reason in TELL_BROKEN. */
enum telling { TELL_BEGIN, TELL_BROKEN, TELL_UNPROVEN };
#define HEAD_BYTES 25u
#define INLINED UINT32_MAX

struct tour {
    struct verify *v;
    bool *seen;    /* of the set's files: looked into, or begun with */
    uint32_t from; /* streams before it were looked into by earlier children */
    /* the child's */
    struct apart_ear *ear;
    uint32_t number, snapshot;
    struct flink_places *places;
    struct arena *arena;
    /* the parent's: what the child began last */
    bool begun;
    uint32_t last_number, last_snapshot, last_file;
    const char *last_text;
};

/* ---- the child ------------------------------------------------------------------------------- */

static void tell(const struct tour *t, enum telling what, uint32_t file,
                 const struct flink_stream_use *use, const char *text)
{
    struct buf message = {0};

    buf_append_u8(&message, (uint8_t)what);
    buf_append_le32(&message, t->number);
    buf_append_le32(&message, t->snapshot);
    buf_append_le32(&message, file);
    buf_append_le32(&message, use->subtask == NULL ? 0 : use->subtask->index);
    buf_append_le64(&message, use->stream->size < 0 ? 0 : (uint64_t)use->stream->size);
    buf_append_str(&message, text);
    if (message.len > APART_MESSAGE_MAX)
        message.len = APART_MESSAGE_MAX;
    apart_tell(t->ear, buf_bytes(&message));
    buf_release(&message);
}

/* What it is called where it has no file of its own. */
static const char *name_of(const struct tour *t, const struct flink_stream_use *use)
{
    static const char *const roles[] = {
        "coordinator state", "operator state", "keyed state", "description of states",
        "shared file",       "file",           "change log",  "channel state",
    };

    return use->local_name.len > 0 ? flink_c_text(t->arena, use->local_name) : roles[use->role];
}

static enum rc look(void *ctx, const struct flink_stream_use *use, struct err *err UNUSED)
{
    struct tour *t = ctx;
    struct state_file file = flink_view_file(t->places, t->arena, use);
    size_t i = file_set_find(t->v->files, &file);
    uint32_t index = i == FILE_SET_NONE ? INLINED : (uint32_t)i;
    struct flink_proof proof;

    if (index != INLINED && t->seen[i])
        return RC_OK;
    if (index != INLINED)
        t->seen[i] = true;
    if (t->number++ < t->from || (index != INLINED && file_set_at(t->v->files, i)->fault != NULL))
        return RC_OK;
    tell(t, TELL_BEGIN, index, use, name_of(t, use));
    flink_prove(t->v->fs, use, t->places, t->arena, &proof);
    if (proof.fault != NULL)
        tell(t, TELL_BROKEN, index, use, proof.fault);
    else if (proof.unproven != NULL)
        tell(t, TELL_UNPROVEN, index, use, proof.unproven);
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

void verify_add_unproven(struct verify *v, struct verify_unproven u)
{
    if (v->unproven_count == v->unproven_cap) {
        v->unproven_cap = v->unproven_cap == 0 ? 64 : v->unproven_cap * 2;
        v->unproven = mem_realloc(v->unproven, v->unproven_cap * sizeof *v->unproven);
    }
    v->unproven[v->unproven_count++] = u;
}

/* Of what is inlined the _metadata itself is at fault. */
static void add_fault(struct verify *v, uint32_t snapshot, uint32_t file, const char *name,
                      const char *reason)
{
    struct verify_fault fault = {0};

    if (file != INLINED) {
        file_set_at(v->files, file)->fault = reason;
        return;
    }
    fault.path = arena_printf(v->report->arena, "%s/%s", v->report->snapshots[snapshot].dir,
                              LAYOUT_METADATA);
    fault.reason = arena_printf(v->report->arena, "inlined %s: %s", name, reason);
    verify_add_sharer(v, verify_add_fault(v, fault), snapshot);
}

static void hear(void *ctx, struct bytes message)
{
    struct tour *t = ctx;
    struct verify *v = t->v;
    uint32_t snapshot, file;
    const char *text;

    if (message.len < HEAD_BYTES)
        return;
    snapshot = get_le32(message.data + 5);
    file = get_le32(message.data + 9);
    if (snapshot >= v->report->snapshot_count ||
        (file != INLINED && file >= file_set_count(v->files)))
        return;
    text = arena_strndup(v->report->arena, (const char *)message.data + HEAD_BYTES,
                         message.len - HEAD_BYTES);
    switch (message.data[0]) {
    case TELL_BEGIN:
        t->begun = true;
        t->last_number = get_le32(message.data + 1);
        t->last_snapshot = snapshot;
        t->last_file = file;
        t->last_text = text;
        v->report->read_bytes += get_le64(message.data + 17);
        break;
    case TELL_BROKEN:
        add_fault(v, snapshot, file, t->begun ? t->last_text : "", text);
        break;
    case TELL_UNPROVEN:
        verify_add_unproven(v, (struct verify_unproven){
                            .path = file == INLINED
                                        ? arena_printf(v->report->arena, "%s/%s",
                                                       v->report->snapshots[snapshot].dir,
                                                       LAYOUT_METADATA)
                                        : arena_strdup(v->report->arena,
                                                       file_set_at(v->files, file)->path),
                            .reason = text,
                            .size_bytes = get_le64(message.data + 17),
                        });
        break;
    default:
        break;
    }
}

bool verify_has_flinks(const struct verify *v)
{
    for (size_t i = 0; i < v->report->snapshot_count; i++)
        if (v->report->snapshots[i].flink)
            return true;
    return false;
}

/* A child that is ended has found what ends it: the stream that it began last. */
static enum rc run(struct tour *t, struct err *err)
{
    char end[APART_END_MAX];

    for (;;) {
        t->begun = false;
        RETURN_IF_ERR(apart_run(work, t, hear, t, end, err));
        if (end[0] == '\0')
            return RC_OK;
        if (!t->begun)
            return err_set(err, RC_IO, "a process of ours was ended: %s", end);
        add_fault(t->v, t->last_snapshot, t->last_file, t->last_text,
                  arena_printf(t->v->report->arena, "the process that read it was ended: %s",
                               end));
        t->from = t->last_number;
    }
}

enum rc verify_flink(struct verify *v, struct err *err)
{
    struct tour t = {.v = v};
    enum rc rc;

    if (!verify_has_flinks(v))
        return RC_OK;
    t.seen = mem_calloc(file_set_count(v->files), sizeof *t.seen);
    rc = run(&t, err);
    mem_free(t.seen);
    return rc;
}
