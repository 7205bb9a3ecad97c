#include "tests/lib/sim_lsm.h"

#include "backend/handle_codec.h"
#include "tests/lib/must.h"

#define LSM_DIR "/lsm"
#define ROWS "000001.sst" /* ring files follow: 000002.sst ... */
#define MANIFEST "MANIFEST-000001"

enum rc __real_keyed_backend_open(const struct keyed_backend_config *config,
                                  struct keyed_backend **out, struct err *err);
enum rc __wrap_keyed_backend_open(const struct keyed_backend_config *config,
                                  struct keyed_backend **out, struct err *err);

static bool on;
static uint64_t shared_files, next_local;

void sim_lsm_use(bool use)
{
    on = use;
}

uint64_t sim_lsm_shared_files(void)
{
    return shared_files;
}

/* In the place of the hashmap backend's functions. */
struct lsm {
    struct keyed_backend_ops ops; /* first */
    const struct keyed_backend_ops *heap;
    struct fs *fs;
    uint64_t snapshots;
};
struct lsm_snapshot {
    struct keyed_snapshot base; /* first */
    struct keyed_snapshot *inner; /* NULL: its rows are taken */
    struct arena *arena;
    struct keyed_handle rows; /* of one inline file */
    uint64_t number;
};

static struct lsm *lsm_of(struct keyed_backend *b)
{
    return (struct lsm *)(uintptr_t)b->ops;
}

/* ---- the rows' stream, into memory -------------------------------------------------------------- */

struct snapshot_stream {
    struct buf content;
};

static enum rc stream_open(struct snapshot_target *t UNUSED, struct snapshot_stream **out,
                           struct err *err UNUSED)
{
    *out = mem_calloc(1, sizeof **out);
    return RC_OK;
}
static enum rc stream_append(struct snapshot_stream *s, struct bytes b, struct err *err UNUSED)
{
    buf_append(&s->content, b.data, b.len);
    return RC_OK;
}
static void stream_abort(struct snapshot_stream *s)
{
    buf_release(&s->content);
    mem_free(s);
}
static enum rc stream_finish(struct snapshot_stream *s, struct arena *arena, struct state_file *out,
                             struct err *err UNUSED)
{
    struct bytes b = arena_bytes_copy(arena, buf_bytes(&s->content));

    *out = (struct state_file){.local_name = "",
                               .scope = FILE_INLINE,
                               .inline_bytes = b,
                               .size_bytes = b.len,
                               .digest = digest_of(b)};
    stream_abort(s);
    return RC_OK;
}
static bool never_cancelled(struct snapshot_target *t UNUSED)
{
    return false;
}
static const struct snapshot_target_ops memory_ops = {.stream_open = stream_open,
                                                      .stream_append = stream_append,
                                                      .stream_finish = stream_finish,
                                                      .stream_abort = stream_abort,
                                                      .cancelled = never_cancelled};

/* ---- snapshots ------------------------------------------------------------------------------- */

static enum rc begin(struct keyed_backend *b, uint64_t checkpoint_id, struct keyed_snapshot **out,
                     struct err *err)
{
    struct lsm *l = lsm_of(b);
    struct lsm_snapshot *s = mem_calloc(1, sizeof *s);
    enum rc rc;

    s->base.backend = b;
    s->arena = arena_new(0);
    s->number = l->snapshots++;
    rc = l->heap->snapshot_begin(b, checkpoint_id, &s->inner, err);
    *out = &s->base;
    return rc;
}

static enum rc take(struct keyed_snapshot *snapshot, struct err *err)
{
    struct lsm_snapshot *s = (struct lsm_snapshot *)snapshot;
    struct snapshot_target memory = {.ops = &memory_ops};
    struct lsm *l = lsm_of(snapshot->backend);
    enum rc rc;

    if (s->inner == NULL)
        return RC_OK;
    rc = l->heap->snapshot_write(s->inner, &memory, s->arena, &s->rows, err);
    l->heap->snapshot_free(s->inner);
    s->inner = NULL;
    return rc;
}

static void ring_content(uint64_t n, struct buf *out)
{
    for (int i = 0; i < 8; i++)
        buf_printf(out, "file %llu of the ring, line %d\n", (unsigned long long)n, i);
}

/* As a database does: a file of its own, which is then published under its content's name. */
static enum rc publish(struct lsm *l, struct snapshot_target *target, struct arena *arena,
                       const char *name, struct bytes content, struct state_file *out,
                       struct err *err)
{
    const char *path = arena_printf(arena, "%s/%llu.sst", LSM_DIR, (unsigned long long)next_local++);
    struct fs_file *f = NULL;
    struct err ignored = {0};
    enum rc rc;

    GOTO_IF_ERR(fs_mkdirs(l->fs, LSM_DIR, err));
    GOTO_IF_ERR(fs_create(l->fs, path, &f, err));
    GOTO_IF_ERR(fs_append(f, content, err));
    GOTO_IF_ERR(fs_close(&f, err));
    GOTO_IF_ERR(target->ops->publish_shared(target, arena, path, content.len, digest_of(content),
                                            out, err));
    out->local_name = arena_strdup(arena, name);
    shared_files += !out->newly_written;
out:
    fs_abandon(&f);
    (void)!fs_unlink(l->fs, path, &ignored);
    (void)!fs_sync_dir(l->fs, LSM_DIR, &ignored); /* scratch; but the simulated disk remembers what is not synced */
    return rc;
}

static enum rc publish_manifest(const struct lsm_snapshot *s, struct snapshot_target *target,
                                struct arena *arena, struct state_file *out, struct err *err)
{
    struct keyed_handle h;
    struct buf text = {0};
    enum rc rc;

    keyed_handle_copy(arena, &s->rows, &h);
    h.files[0].scope = FILE_EXCLUSIVE; /* its content is the file of the rows */
    h.files[0].path = "rows";
    handle_encode(&h, &text);
    rc = target->ops->publish_exclusive(target, arena, buf_bytes(&text), out, err);
    out->local_name = MANIFEST;
    buf_release(&text);
    return rc;
}

static enum rc write(struct keyed_snapshot *snapshot, struct snapshot_target *target,
                     struct arena *arena, struct keyed_handle *out, struct err *err)
{
    struct lsm_snapshot *s = (struct lsm_snapshot *)snapshot;
    struct lsm *l = lsm_of(snapshot->backend);
    struct state_file *files = ARENA_ARRAY(arena, LSM_WINDOW + 2, struct state_file);

    RETURN_IF_ERR(take(snapshot, err));
    RETURN_IF_ERR(
        publish(l, target, arena, ROWS, s->rows.files[0].inline_bytes, &files[0], err));
    for (uint64_t i = 0; i < LSM_WINDOW; i++) {
        struct buf content = {0};
        enum rc rc;

        ring_content((s->number / 2 + i) % LSM_RING, &content);
        rc = publish(l, target, arena, arena_printf(arena, "00000%llu.sst", (unsigned long long)i + 2),
                     buf_bytes(&content), &files[1 + i], err);
        buf_release(&content);
        RETURN_IF_ERR(rc);
    }
    RETURN_IF_ERR(publish_manifest(s, target, arena, &files[LSM_WINDOW + 1], err));
    keyed_handle_copy(arena, &s->rows, out);
    out->kind = KEYED_ROCKS;
    out->group_offset_count = 0;
    out->file_count = LSM_WINDOW + 2;
    out->files = files;
    return RC_OK;
}

static void free_snapshot(struct keyed_snapshot *snapshot)
{
    struct lsm_snapshot *s = (struct lsm_snapshot *)snapshot;

    if (s->inner != NULL)
        lsm_of(snapshot->backend)->heap->snapshot_free(s->inner);
    arena_free(s->arena);
    mem_free(s);
}

/* ---- opening --------------------------------------------------------------------------------- */

static enum rc prove(const struct env *env, const struct state_file *f, struct err *err)
{
    struct digest128 digest;
    uint64_t size;

    if (f->scope == FILE_INLINE)
        return RC_OK;
    RETURN_IF_ERR(digest_file(env->fs, f->resolved_path, &digest, &size, err));
    return digest_eq(digest, f->digest) && size == f->size_bytes
               ? RC_OK
               : err_set(err, RC_CORRUPT, "%s: not what was published", f->resolved_path);
}

/* The handle of the rows alone. */
static enum rc unwrap(const struct env *env, const struct keyed_handle *h, struct arena *arena,
                      struct keyed_handle *out, struct err *err)
{
    const struct state_file *manifest = &h->files[h->file_count - 1];
    struct buf text = {0};
    enum rc rc = RC_OK;

    MUST(h->kind == KEYED_ROCKS && h->file_count == LSM_WINDOW + 2, "a handle of another kind");
    for (size_t i = 0; i < h->file_count && rc == RC_OK; i++)
        rc = prove(env, &h->files[i], err);
    if (rc == RC_OK && manifest->scope == FILE_INLINE)
        buf_append(&text, manifest->inline_bytes.data, manifest->inline_bytes.len);
    else if (rc == RC_OK)
        rc = fs_read_all(env->fs, manifest->resolved_path, 1 << 20, &text, err);
    if (rc == RC_OK)
        rc = handle_decode(buf_bytes(&text), arena, out, err);
    if (rc == RC_OK)
        out->files[0].resolved_path = h->files[0].resolved_path;
    buf_release(&text);
    return rc;
}

static void close_lsm(struct keyed_backend *b)
{
    struct lsm *l = lsm_of(b);

    l->heap->close(b);
    mem_free(l);
}

static void dress(struct keyed_backend *b, struct fs *fs)
{
    struct lsm *l = mem_calloc(1, sizeof *l);

    l->heap = b->ops;
    l->ops = *b->ops;
    l->fs = fs;
    l->ops.close = close_lsm;
    l->ops.snapshot_begin = begin;
    l->ops.snapshot_take = take;
    l->ops.snapshot_write = write;
    l->ops.snapshot_free = free_snapshot;
    b->ops = &l->ops;
}

enum rc __wrap_keyed_backend_open(const struct keyed_backend_config *config,
                                  struct keyed_backend **out, struct err *err)
{
    struct keyed_backend_config inner = *config;
    struct arena *arena = arena_new(0);
    struct keyed_handle *rows = ARENA_ARRAY(arena, config->restore_count, struct keyed_handle);
    enum rc rc = RC_OK;

    for (size_t i = 0; on && i < config->restore_count && rc == RC_OK; i++)
        rc = unwrap(config->env, &config->restore[i], arena, &rows[i], err);
    if (on)
        inner.restore = rows;
    if (rc == RC_OK)
        rc = __real_keyed_backend_open(&inner, out, err);
    if (rc == RC_OK && on)
        dress(*out, config->env->fs);
    arena_free(arena);
    return rc;
}
