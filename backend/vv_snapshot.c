/* vv_snapshot.c - snapshots and the caller's sink (varve_state.h).
 *
 *     open --write--> writing --> written          free: from any of them, waits in writing
 *       |                |           |
 *       +------- store is closed ----+--> detached   (waits in writing)
 *
 * The owner begins, detaches and frees; one other thread may write; any thread cancels. */
#include "backend/vv_priv.h"

enum snapshot_phase { PHASE_OPEN, PHASE_WRITING, PHASE_WRITTEN, PHASE_DETACHED };

struct vv_snapshot {
    vv_store *store;              /* the owner's; NULL once detached */
    struct keyed_snapshot *inner; /* until detached */
    atomic_bool cancelled;
    struct mutex mutex;
    struct cond changed;
    enum snapshot_phase phase GUARDED_BY(mutex);
};

static enum rc begin(vv_store *store, uint64_t checkpoint_id, vv_snapshot **out, struct err *err)
{
    struct keyed_snapshot *inner;
    vv_snapshot *s;

    CHECK_NULL(out);
    *out = NULL;
    CHECK_NULL(store);
    if (store->snapshot != NULL)
        return err_set(err, RC_STATE, "a snapshot of the store is open");
    RETURN_IF_ERR(keyed_snapshot_begin(store->backend, checkpoint_id, &inner, err));
    s = mem_calloc(1, sizeof *s);
    s->store = store;
    s->inner = inner;
    mutex_init(&s->mutex);
    cond_init(&s->changed);
    store->snapshot = s;
    *out = s;
    return RC_OK;
}

vv_code vv_snapshot_begin(vv_store *store, uint64_t checkpoint_id, vv_snapshot **out,
                          vv_error *error)
{
    ANSWER(begin(store, checkpoint_id, out, err));
}

/* No write runs and none will begin. */
static void settle(vv_snapshot *s)
{
    mutex_lock(&s->mutex);
    while (s->phase == PHASE_WRITING)
        cond_wait(&s->changed, &s->mutex);
    s->phase = PHASE_DETACHED;
    mutex_unlock(&s->mutex);
    keyed_snapshot_free(s->inner);
    s->inner = NULL;
    if (s->store != NULL)
        s->store->snapshot = NULL;
    s->store = NULL;
}

void snapshot_detach(vv_snapshot *s)
{
    if (s == NULL)
        return;
    vv_snapshot_cancel(s);
    settle(s);
}

void vv_snapshot_cancel(vv_snapshot *s)
{
    if (s != NULL)
        atomic_store(&s->cancelled, true);
}

const atomic_bool *snapshot_cancel_flag(const vv_snapshot *s)
{
    return &s->cancelled;
}

void vv_snapshot_free(vv_snapshot *s)
{
    if (s == NULL)
        return;
    settle(s);
    cond_release(&s->changed);
    mutex_release(&s->mutex);
    mem_free(s);
}

static enum rc enter_write(vv_snapshot *s, struct err *err)
{
    enum rc rc = RC_OK;

    mutex_lock(&s->mutex);
    if (s->phase == PHASE_DETACHED)
        rc = err_set(err, RC_CANCELLED, "the store of the snapshot is closed");
    else if (s->phase != PHASE_OPEN)
        rc = err_set(err, RC_STATE, "the snapshot %s already",
                     s->phase == PHASE_WRITING ? "is being written" : "was written");
    else if (atomic_load(&s->cancelled))
        rc = err_set(err, RC_CANCELLED, "the snapshot was cancelled");
    else
        s->phase = PHASE_WRITING;
    mutex_unlock(&s->mutex);
    return rc;
}

static void leave_write(vv_snapshot *s)
{
    mutex_lock(&s->mutex);
    s->phase = PHASE_WRITTEN;
    cond_broadcast(&s->changed);
    mutex_unlock(&s->mutex);
}

enum rc snapshot_write(vv_snapshot *s, struct snapshot_target *target, vv_handle **out,
                       struct err *err)
{
    vv_handle *h;
    enum rc rc;

    RETURN_IF_ERR(enter_write(s, err));
    h = handle_new();
    rc = keyed_snapshot_write(s->inner, target, h->arena, &h->h, err);
    leave_write(s);
    if (rc != RC_OK) {
        vv_handle_free(h);
        return rc;
    }
    *out = h;
    return RC_OK;
}

/* ---- the caller's sink ----------------------------------------------------------------------- */

struct sink_target {
    struct snapshot_target base; /* first */
    const vv_sink *sink;
    const vv_snapshot *snapshot;
};
struct snapshot_stream {
    struct sink_target *target;
    struct buf kept; /* as long as it may stay inside the handle */
    bool open;       /* the caller's stream */
    void *stream;
    uint64_t size_bytes;
    struct digest_stream *digest;
};

static struct sink_target *sink_of(struct snapshot_target *t)
{
    return (struct sink_target *)t;
}

static enum rc check_reference(const char *what, const char *reference, struct err *err)
{
    if (reference[0] == '\0' || memchr(reference, '\0', VV_REFERENCE_MAX) == NULL)
        return err_set(err, RC_INVALID, "%s gave no reference of 1 to %d bytes", what,
                       VV_REFERENCE_MAX - 1);
    return RC_OK;
}

static enum rc sink_share(struct snapshot_target *target, struct arena *arena,
                          const char *local_path, uint64_t size_bytes, struct digest128 digest,
                          struct state_file *out, struct err *err)
{
    const vv_sink *sink = sink_of(target)->sink;
    char reference[VV_REFERENCE_MAX] = "";
    int newly_written = 1;
    vv_error answer = {0};

    RETURN_IF_ERR(
        api_callback_rc(sink->share(sink->ctx, local_path, path_base(local_path), size_bytes,
                                    digest.b, reference, &newly_written, &answer),
                        &answer, "share", err));
    RETURN_IF_ERR(check_reference("share", reference, err));
    *out = (struct state_file){
        .local_name = "",
        .scope = FILE_SHARED,
        .path = arena_strdup(arena, reference),
        .size_bytes = size_bytes,
        .digest = digest,
        .newly_written = newly_written != 0,
    };
    return RC_OK;
}

static enum rc sink_put(struct snapshot_target *target, struct arena *arena, struct bytes content,
                        struct state_file *out, struct err *err)
{
    const vv_sink *sink = sink_of(target)->sink;
    char reference[VV_REFERENCE_MAX] = "";
    vv_error answer = {0};

    *out = (struct state_file){
        .local_name = "",
        .scope = FILE_INLINE,
        .size_bytes = content.len,
        .digest = digest_of(content),
        .newly_written = true,
    };
    if (content.len <= sink->inline_max_bytes) {
        out->inline_bytes = arena_bytes_copy(arena, content);
        return RC_OK;
    }
    RETURN_IF_ERR(api_callback_rc(
        sink->put(sink->ctx, content.data, content.len, reference, &answer), &answer, "put", err));
    RETURN_IF_ERR(check_reference("put", reference, err));
    out->scope = FILE_EXCLUSIVE;
    out->path = arena_strdup(arena, reference);
    return RC_OK;
}

static enum rc sink_stream_open(struct snapshot_target *target, struct snapshot_stream **out,
                                struct err *err)
{
    (void)err;
    *out = mem_calloc(1, sizeof **out);
    (*out)->target = sink_of(target);
    (*out)->digest = digest_stream_new();
    return RC_OK;
}

/* To the caller, whose stream is opened with the first bytes that it gets. */
static enum rc pass_on(struct snapshot_stream *s, struct bytes b, struct err *err)
{
    const vv_sink *sink = s->target->sink;
    vv_error answer = {0};

    if (!s->open) {
        RETURN_IF_ERR(api_callback_rc(sink->stream_open(sink->ctx, &s->stream, &answer), &answer,
                                      "stream_open", err));
        s->open = true;
    }
    if (b.len == 0)
        return RC_OK;
    return api_callback_rc(sink->stream_append(sink->ctx, s->stream, b.data, b.len, &answer),
                           &answer, "stream_append", err);
}

static enum rc sink_stream_append(struct snapshot_stream *s, struct bytes b, struct err *err)
{
    digest_stream_add(s->digest, b);
    s->size_bytes += b.len;
    if (!s->open && s->size_bytes <= s->target->sink->inline_max_bytes) {
        buf_append(&s->kept, b.data, b.len);
        return RC_OK;
    }
    if (s->kept.len > 0) {
        RETURN_IF_ERR(pass_on(s, buf_bytes(&s->kept), err));
        buf_release(&s->kept);
    }
    return pass_on(s, b, err);
}

static void sink_stream_abort(struct snapshot_stream *s)
{
    const vv_sink *sink = s->target->sink;

    if (s->open)
        sink->stream_abort(sink->ctx, s->stream);
    digest_stream_free(s->digest);
    buf_release(&s->kept);
    mem_free(s);
}

static enum rc sink_stream_finish(struct snapshot_stream *s, struct arena *arena,
                                  struct state_file *out, struct err *err)
{
    const vv_sink *sink = s->target->sink;
    char reference[VV_REFERENCE_MAX] = "";
    vv_error answer = {0};
    enum rc rc = RC_OK;

    *out = (struct state_file){
        .local_name = "",
        .scope = s->open ? FILE_EXCLUSIVE : FILE_INLINE,
        .size_bytes = s->size_bytes,
        .digest = digest_stream_end(s->digest),
        .newly_written = true,
    };
    if (s->open) {
        rc = api_callback_rc(sink->stream_finish(sink->ctx, s->stream, reference, &answer), &answer,
                             "stream_finish", err);
        s->open = false; /* ended, well or not */
        if (rc == RC_OK)
            rc = check_reference("stream_finish", reference, err);
        out->path = arena_strdup(arena, rc == RC_OK ? reference : "");
    } else {
        out->inline_bytes = arena_bytes_copy(arena, buf_bytes(&s->kept));
    }
    sink_stream_abort(s); /* frees */
    return rc;
}

static bool sink_cancelled(struct snapshot_target *target)
{
    return atomic_load(&sink_of(target)->snapshot->cancelled);
}

static const struct snapshot_target_ops sink_ops = {
    .publish_shared = sink_share,
    .publish_exclusive = sink_put,
    .stream_open = sink_stream_open,
    .stream_append = sink_stream_append,
    .stream_finish = sink_stream_finish,
    .stream_abort = sink_stream_abort,
    .cancelled = sink_cancelled,
};

static enum rc write_to_sink(vv_snapshot *snapshot, const vv_sink *sink, vv_handle **out,
                             struct err *err)
{
    struct sink_target target = {{.ops = &sink_ops}, sink, snapshot};

    CHECK_NULL(out);
    *out = NULL;
    CHECK_NULL(snapshot);
    CHECK_NULL(sink);
    CHECK_NULL(sink->share);
    CHECK_NULL(sink->put);
    CHECK_NULL(sink->stream_open);
    CHECK_NULL(sink->stream_append);
    CHECK_NULL(sink->stream_finish);
    CHECK_NULL(sink->stream_abort);
    if (sink->inline_max_bytes > VV_INLINE_MAX)
        return err_set(err, RC_INVALID, "inline_max_bytes %zu exceeds %u", sink->inline_max_bytes,
                       VV_INLINE_MAX);
    return snapshot_write(snapshot, &target.base, out, err);
}

vv_code vv_snapshot_write(vv_snapshot *snapshot, const vv_sink *sink, vv_handle **out,
                          vv_error *error)
{
    ANSWER(write_to_sink(snapshot, sink, out, err));
}

/* ---- notifications --------------------------------------------------------------------------- */

static enum rc notify(vv_store *store, uint64_t checkpoint_id, bool complete, struct err *err)
{
    CHECK_NULL(store);
    (complete ? keyed_notify_complete : keyed_notify_aborted)(store->backend, checkpoint_id);
    return RC_OK;
}

vv_code vv_store_notify_complete(vv_store *store, uint64_t checkpoint_id, vv_error *error)
{
    ANSWER(notify(store, checkpoint_id, true, err));
}

vv_code vv_store_notify_aborted(vv_store *store, uint64_t checkpoint_id, vv_error *error)
{
    ANSWER(notify(store, checkpoint_id, false, err));
}
