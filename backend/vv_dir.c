/* vv_dir.c - the ready-made directory for snapshots (varve_state.h).
 *
 *     <path>/LOCK               held while it is open
 *     <path>/shared/<hex>.sst   files by content
 *     <path>/own/<uuid>.bin     files of one snapshot
 *     <path>/<name>.handle      a snapshot (handle_codec.h)
 *
 * C2, C3: files are durable before the handle that names them, which appears whole. C4: a file of
 * shared/ is never written again, and deleted only by a sweep, which runs while nothing is written
 * and after every handle was read. A file that was found by its content once is not read again:
 * `proven` lists what this vv_dir knows of shared/. */
#include "backend/vv_priv.h"

#include "backend/handle_codec.h"
#include "base/transfer.h"

#include <stdio.h>

#define NAME_LEN_MAX 100u
#define HANDLE_SUFFIX ".handle"
#define SST_SUFFIX ".sst"
#define BIN_SUFFIX ".bin"
#define INLINE_BYTES 20480u /* Flink's execution.checkpointing.data-inline-threshold */
#define STREAM_BUFFER_BYTES (256u << 10)

struct digests { /* sorted */
    struct digest128 *at;
    size_t count, cap;
};
struct vv_dir {
    struct env env;
    char *path, *shared, *own;
    struct fs_file *lock;
    struct transfer transfer; /* into shared/ */
    struct mutex mutex;
    struct cond changed;
    struct rng rng GUARDED_BY(mutex);
    struct digests proven GUARDED_BY(mutex);
    uint32_t writes GUARDED_BY(mutex); /* that run */
    bool sweeping GUARDED_BY(mutex);
    struct mutex publish_mutex; /* held over a look for a handle's name and its publication */
};

/* ---- digests --------------------------------------------------------------------------------- */

/* Index of the first that is not below `d`. */
static size_t digests_find(const struct digests *s, struct digest128 d)
{
    size_t low = 0, high = s->count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (memcmp(s->at[middle].b, d.b, sizeof d.b) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool digests_has(const struct digests *s, struct digest128 d)
{
    size_t i = digests_find(s, d);

    return i < s->count && digest_eq(s->at[i], d);
}

static void digests_add(struct digests *s, struct digest128 d)
{
    size_t i = digests_find(s, d);

    if (i < s->count && digest_eq(s->at[i], d))
        return;
    if (s->count == s->cap) {
        s->cap = s->cap == 0 ? 64 : s->cap * 2;
        s->at = mem_realloc(s->at, s->cap * sizeof *s->at);
    }
    memmove(&s->at[i + 1], &s->at[i], (s->count - i) * sizeof *s->at);
    s->at[i] = d;
    s->count++;
}

/* ---- opening --------------------------------------------------------------------------------- */

static enum rc make_dirs(vv_dir *d, const char *path, struct err *err)
{
    char absolute[FS_PATH_MAX], part[FS_PATH_MAX];

    RETURN_IF_ERR(path_absolute(absolute, sizeof absolute, path, err));
    d->path = mem_strdup(absolute);
    RETURN_IF_ERR(path_join(part, sizeof part, d->path, "shared", err));
    d->shared = mem_strdup(part);
    RETURN_IF_ERR(path_join(part, sizeof part, d->path, "own", err));
    d->own = mem_strdup(part);
    RETURN_IF_ERR(fs_mkdirs(d->env.fs, d->shared, err));
    RETURN_IF_ERR(fs_mkdirs(d->env.fs, d->own, err));
    RETURN_IF_ERR(path_join(part, sizeof part, d->path, "LOCK", err));
    return fs_lock(d->env.fs, part, &d->lock, err);
}

static enum rc dir_open(const char *path, vv_dir **out, struct err *err)
{
    vv_dir *d;
    enum rc rc;

    CHECK_NULL(out);
    *out = NULL;
    CHECK_NULL(path);
    if (path[0] == '\0')
        return err_set(err, RC_INVALID, "path is empty");
    d = mem_calloc(1, sizeof *d);
    d->env = (struct env){.fs = fs_posix(), .clock = clock_posix()};
    env_rng(&d->env, "state-dir", &d->rng);
    mutex_init(&d->mutex);
    mutex_init(&d->publish_mutex);
    cond_init(&d->changed);
    rc = make_dirs(d, path, err);
    if (rc != RC_OK) {
        vv_dir_close(d);
        return rc;
    }
    transfer_init(&d->transfer, &d->env, d->shared);
    *out = d;
    return RC_OK;
}

vv_code vv_dir_open(const char *path, vv_dir **out, vv_error *error)
{
    ANSWER(dir_open(path, out, err));
}

void vv_dir_close(vv_dir *d)
{
    if (d == NULL)
        return;
    transfer_release(&d->transfer);
    fs_abandon(&d->lock);
    cond_release(&d->changed);
    mutex_release(&d->publish_mutex);
    mutex_release(&d->mutex);
    mem_free(d->proven.at);
    mem_free(d->path);
    mem_free(d->shared);
    mem_free(d->own);
    mem_free(d);
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_name(const char *name)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    size_t len = strlen(name);

    return len >= 1 && len <= NAME_LEN_MAX && name[0] != '.' && strspn(name, allowed) == len;
}

static enum rc handle_name(const char *name, char out[NAME_LEN_MAX + sizeof HANDLE_SUFFIX],
                           struct err *err)
{
    CHECK_NULL(name);
    if (!is_name(name))
        return err_set(err, RC_INVALID,
                       "name \"%.120s\": needs 1 to %u letters, digits, '.', '-' or '_', not '.' "
                       "first",
                       name, NAME_LEN_MAX);
    snprintf(out, NAME_LEN_MAX + sizeof HANDLE_SUFFIX, "%s" HANDLE_SUFFIX, name);
    return RC_OK;
}

/* The stem's length when `name` ends in `suffix`, else 0. */
static size_t stem_len(const char *name, const char *suffix)
{
    size_t len = strlen(name), tail = strlen(suffix);

    return len > tail && strcmp(name + len - tail, suffix) == 0 ? len - tail : 0;
}

/* ---- the target ------------------------------------------------------------------------------ */

struct dir_target {
    struct snapshot_target base; /* first */
    vv_dir *dir;
    const vv_snapshot *snapshot;
};
struct snapshot_stream {
    struct dir_target *target;
    struct buf kept;      /* not in the file yet */
    struct fs_file *file; /* NULL: as long as all may stay inside the handle */
    char name[UUID_LEN + sizeof BIN_SUFFIX];
    uint64_t size_bytes;
    struct digest_stream *digest;
};

static vv_dir *dir_of(struct snapshot_target *t)
{
    return ((struct dir_target *)t)->dir;
}

static enum rc dir_share(struct snapshot_target *target, struct arena *arena,
                         const char *local_path, uint64_t size_bytes, struct digest128 digest,
                         struct state_file *out, struct err *err)
{
    vv_dir *d = dir_of(target);
    enum transfer_how how = TRANSFER_FOUND;
    char hex[DIGEST_HEX_LEN + 1];
    bool proven;

    digest_hex(digest, hex);
    *out = (struct state_file){
        .local_name = "",
        .scope = FILE_SHARED,
        .path = arena_printf(arena, "shared/%s" SST_SUFFIX, hex),
        .size_bytes = size_bytes,
        .digest = digest,
    };
    mutex_lock(&d->mutex);
    proven = digests_has(&d->proven, digest);
    mutex_unlock(&d->mutex);
    if (!proven) {
        RETURN_IF_ERR(transfer_file(&d->transfer, local_path, path_base(out->path), size_bytes,
                                    digest, &how, err));
        mutex_lock(&d->mutex);
        digests_add(&d->proven, digest);
        mutex_unlock(&d->mutex);
    }
    out->newly_written = how != TRANSFER_FOUND;
    return RC_OK;
}

static enum rc dir_stream_open(struct snapshot_target *target, struct snapshot_stream **out,
                               struct err *err)
{
    (void)err;
    *out = mem_calloc(1, sizeof **out);
    (*out)->target = (struct dir_target *)target;
    (*out)->digest = digest_stream_new();
    return RC_OK;
}

static enum rc spill(struct snapshot_stream *s, struct err *err)
{
    vv_dir *d = s->target->dir;

    if (s->file == NULL) {
        char path[FS_PATH_MAX], uuid[UUID_LEN + 1];

        mutex_lock(&d->mutex);
        rng_uuid(&d->rng, uuid);
        mutex_unlock(&d->mutex);
        snprintf(s->name, sizeof s->name, "%s" BIN_SUFFIX, uuid);
        RETURN_IF_ERR(path_join(path, sizeof path, d->own, s->name, err));
        RETURN_IF_ERR(fs_create(d->env.fs, path, &s->file, err));
    }
    RETURN_IF_ERR(fs_append(s->file, buf_bytes(&s->kept), err));
    buf_clear(&s->kept);
    return RC_OK;
}

static enum rc dir_stream_append(struct snapshot_stream *s, struct bytes b, struct err *err)
{
    digest_stream_add(s->digest, b);
    s->size_bytes += b.len;
    buf_append(&s->kept, b.data, b.len);
    return s->kept.len > STREAM_BUFFER_BYTES ? spill(s, err) : RC_OK;
}

static void dir_stream_abort(struct snapshot_stream *s)
{
    fs_abandon(&s->file); /* a sweep takes what is there */
    digest_stream_free(s->digest);
    buf_release(&s->kept);
    mem_free(s);
}

static enum rc close_file(struct snapshot_stream *s, struct err *err)
{
    RETURN_IF_ERR(spill(s, err));
    RETURN_IF_ERR(fs_sync(s->file, err));
    RETURN_IF_ERR(fs_close(&s->file, err));
    return fs_sync_dir(s->target->dir->env.fs, s->target->dir->own, err);
}

static enum rc dir_stream_finish(struct snapshot_stream *s, struct arena *arena,
                                 struct state_file *out, struct err *err)
{
    enum rc rc = RC_OK;

    *out = (struct state_file){
        .local_name = "",
        .scope = FILE_INLINE,
        .size_bytes = s->size_bytes,
        .digest = digest_stream_end(s->digest),
        .newly_written = true,
    };
    if (s->size_bytes <= INLINE_BYTES) {
        out->inline_bytes = arena_bytes_copy(arena, buf_bytes(&s->kept));
    } else {
        rc = close_file(s, err);
        out->scope = FILE_EXCLUSIVE;
        out->path = arena_printf(arena, "own/%s", s->name);
    }
    dir_stream_abort(s); /* frees */
    return rc;
}

static enum rc dir_put(struct snapshot_target *target, struct arena *arena, struct bytes content,
                       struct state_file *out, struct err *err)
{
    struct snapshot_stream *s;
    enum rc rc;

    RETURN_IF_ERR(dir_stream_open(target, &s, err));
    rc = dir_stream_append(s, content, err);
    if (rc == RC_OK)
        return dir_stream_finish(s, arena, out, err);
    dir_stream_abort(s);
    return rc;
}

static bool dir_cancelled(struct snapshot_target *target)
{
    return snapshot_cancelled(((struct dir_target *)target)->snapshot);
}

static const struct snapshot_target_ops dir_ops = {
    .publish_shared = dir_share,
    .publish_exclusive = dir_put,
    .stream_open = dir_stream_open,
    .stream_append = dir_stream_append,
    .stream_finish = dir_stream_finish,
    .stream_abort = dir_stream_abort,
    .cancelled = dir_cancelled,
};

/* ---- writing --------------------------------------------------------------------------------- */

/* Everything that `h` names is durable: now the name that makes it a snapshot (C3). */
static enum rc publish_handle(vv_dir *d, const char *file_name, const vv_handle *h, struct err *err)
{
    char path[FS_PATH_MAX], temp[TRANSFER_TEMP_LEN + 1];
    struct buf bytes = {0};
    enum rc rc;

    mutex_lock(&d->mutex);
    transfer_temp_name(&d->rng, temp);
    mutex_unlock(&d->mutex);
    handle_encode(&h->h, &bytes);
    mutex_lock(&d->publish_mutex);
    rc = path_join(path, sizeof path, d->path, file_name, err);
    if (rc == RC_OK && fs_exists(d->env.fs, path))
        rc = err_set(err, RC_EXISTS, "%s is there", path);
    if (rc == RC_OK)
        rc = fs_publish(d->env.fs, d->path, temp, file_name, buf_bytes(&bytes), err);
    mutex_unlock(&d->publish_mutex);
    buf_release(&bytes);
    return rc;
}

static void write_begins(vv_dir *d)
{
    mutex_lock(&d->mutex);
    while (d->sweeping)
        cond_wait(&d->changed, &d->mutex);
    d->writes++;
    mutex_unlock(&d->mutex);
}

static void write_ends(vv_dir *d)
{
    mutex_lock(&d->mutex);
    d->writes--;
    mutex_unlock(&d->mutex);
}

static enum rc dir_write(vv_dir *dir, vv_snapshot *snapshot, const char *name, vv_handle **out,
                         struct err *err)
{
    struct dir_target target = {{&dir_ops}, dir, snapshot};
    char file_name[NAME_LEN_MAX + sizeof HANDLE_SUFFIX], path[FS_PATH_MAX];
    vv_handle *h = NULL;
    enum rc rc;

    if (out != NULL)
        *out = NULL;
    CHECK_NULL(dir);
    CHECK_NULL(snapshot);
    RETURN_IF_ERR(handle_name(name, file_name, err));
    RETURN_IF_ERR(path_join(path, sizeof path, dir->path, file_name, err));
    if (fs_exists(dir->env.fs, path)) /* before all the work */
        return err_set(err, RC_EXISTS, "%s is there", path);
    write_begins(dir);
    rc = snapshot_write(snapshot, &target.base, &h, err);
    if (rc == RC_OK)
        rc = publish_handle(dir, file_name, h, err);
    write_ends(dir);
    if (rc == RC_OK && out != NULL)
        *out = h;
    else
        vv_handle_free(h);
    return rc;
}

vv_code vv_dir_write(vv_dir *dir, vv_snapshot *snapshot, const char *name, vv_handle **out,
                     vv_error *error)
{
    ANSWER(dir_write(dir, snapshot, name, out, err));
}

/* ---- reading and removing -------------------------------------------------------------------- */

static enum rc load(vv_dir *d, const char *file_name, vv_handle **out, struct err *err)
{
    char path[FS_PATH_MAX];
    struct buf bytes = {0};
    vv_handle *h = handle_new();
    enum rc rc;

    GOTO_IF_ERR(path_join(path, sizeof path, d->path, file_name, err));
    GOTO_IF_ERR(fs_read_all(d->env.fs, path, HANDLE_BYTES_MAX, &bytes, err));
    rc = handle_decode(buf_bytes(&bytes), h->arena, &h->h, err);
    if (rc != RC_OK)
        err_wrap(err, rc, "%s", path);
out:
    buf_release(&bytes);
    if (rc == RC_OK)
        *out = h;
    else
        vv_handle_free(h);
    return rc;
}

static enum rc dir_load(vv_dir *dir, const char *name, vv_handle **out, struct err *err)
{
    char file_name[NAME_LEN_MAX + sizeof HANDLE_SUFFIX];

    CHECK_NULL(out);
    *out = NULL;
    CHECK_NULL(dir);
    RETURN_IF_ERR(handle_name(name, file_name, err));
    return load(dir, file_name, out, err);
}

vv_code vv_dir_load(vv_dir *dir, const char *name, vv_handle **out, vv_error *error)
{
    ANSWER(dir_load(dir, name, out, err));
}

static enum rc dir_remove(vv_dir *dir, const char *name, struct err *err)
{
    char file_name[NAME_LEN_MAX + sizeof HANDLE_SUFFIX], path[FS_PATH_MAX];

    CHECK_NULL(dir);
    RETURN_IF_ERR(handle_name(name, file_name, err));
    RETURN_IF_ERR(path_join(path, sizeof path, dir->path, file_name, err));
    RETURN_IF_ERR(fs_unlink(dir->env.fs, path, err));
    return fs_sync_dir(dir->env.fs, dir->path, err); /* before a sweep takes its files */
}

vv_code vv_dir_remove(vv_dir *dir, const char *name, vv_error *error)
{
    ANSWER(dir_remove(dir, name, err));
}

/* ---- sweeping -------------------------------------------------------------------------------- */

struct sweep {
    vv_dir *dir;
    struct digests shared; /* named by a handle */
    struct buf own;        /* names, each with its NUL */
    uint64_t deleted_bytes;
};

static enum rc note_handle(void *ctx, const char *name, struct err *err)
{
    struct sweep *s = ctx;
    vv_handle *h;

    if (stem_len(name, HANDLE_SUFFIX) == 0)
        return RC_OK;
    RETURN_IF_ERR(load(s->dir, name, &h, err));
    for (size_t i = 0; i < h->h.file_count; i++) {
        const struct state_file *f = &h->h.files[i];

        if (f->scope == FILE_SHARED)
            digests_add(&s->shared, f->digest);
        else if (f->scope == FILE_EXCLUSIVE)
            buf_append(&s->own, path_base(f->path), strlen(path_base(f->path)) + 1);
    }
    vv_handle_free(h);
    return RC_OK;
}

static enum rc delete_file(struct sweep *s, const char *folder, const char *name, struct err *err)
{
    char path[FS_PATH_MAX];
    struct fs_stat st;

    RETURN_IF_ERR(path_join(path, sizeof path, folder, name, err));
    RETURN_IF_ERR(fs_stat(s->dir->env.fs, path, &st, err));
    RETURN_IF_ERR(fs_unlink(s->dir->env.fs, path, err));
    s->deleted_bytes += st.size_bytes;
    return RC_OK;
}

static enum rc sweep_shared(void *ctx, const char *name, struct err *err)
{
    struct sweep *s = ctx;
    struct digest128 digest;
    char hex[DIGEST_HEX_LEN + 1];

    if (transfer_is_temp(name))
        return delete_file(s, s->dir->shared, name, err);
    if (stem_len(name, SST_SUFFIX) != DIGEST_HEX_LEN)
        return RC_OK; /* a stranger */
    memcpy(hex, name, DIGEST_HEX_LEN);
    hex[DIGEST_HEX_LEN] = '\0';
    if (!digest_parse(hex, &digest) || digests_has(&s->shared, digest))
        return RC_OK;
    return delete_file(s, s->dir->shared, name, err);
}

static enum rc sweep_own(void *ctx, const char *name, struct err *err)
{
    struct sweep *s = ctx;

    if (stem_len(name, BIN_SUFFIX) != UUID_LEN)
        return RC_OK;
    for (size_t at = 0; at < s->own.len; at += strlen((char *)s->own.data + at) + 1)
        if (strcmp((char *)s->own.data + at, name) == 0)
            return RC_OK;
    return delete_file(s, s->dir->own, name, err);
}

static enum rc sweep_root(void *ctx, const char *name, struct err *err)
{
    struct sweep *s = ctx;

    return transfer_is_temp(name) ? delete_file(s, s->dir->path, name, err) : RC_OK;
}

/* What stays proven is what stays. */
static void forget_deleted(vv_dir *d, const struct digests *kept)
{
    size_t left = 0;

    mutex_lock(&d->mutex);
    for (size_t i = 0; i < d->proven.count; i++)
        if (digests_has(kept, d->proven.at[i]))
            d->proven.at[left++] = d->proven.at[i];
    d->proven.count = left;
    mutex_unlock(&d->mutex);
}

static enum rc sweep_all(struct sweep *s, struct err *err)
{
    struct fs *fs = s->dir->env.fs;

    RETURN_IF_ERR(fs_list(fs, s->dir->path, note_handle, s, err));
    forget_deleted(s->dir, &s->shared);
    RETURN_IF_ERR(fs_list(fs, s->dir->path, sweep_root, s, err));
    RETURN_IF_ERR(fs_list(fs, s->dir->shared, sweep_shared, s, err));
    return fs_list(fs, s->dir->own, sweep_own, s, err);
}

static enum rc sweep(vv_dir *dir, uint64_t *deleted_bytes, struct err *err)
{
    struct sweep s = {.dir = dir};
    enum rc rc = RC_OK;

    CHECK_NULL(dir);
    mutex_lock(&dir->mutex);
    if (dir->writes > 0 || dir->sweeping)
        rc = err_set(err, RC_STATE, "%s: %s", dir->path,
                     dir->sweeping ? "it is being swept" : "a snapshot is being written");
    else
        dir->sweeping = true;
    mutex_unlock(&dir->mutex);
    if (rc != RC_OK)
        return rc;
    rc = sweep_all(&s, err);
    mutex_lock(&dir->mutex);
    dir->sweeping = false;
    cond_broadcast(&dir->changed);
    mutex_unlock(&dir->mutex);
    if (deleted_bytes != NULL)
        *deleted_bytes = s.deleted_bytes;
    mem_free(s.shared.at);
    buf_release(&s.own);
    return rc;
}

vv_code vv_dir_sweep(vv_dir *dir, uint64_t *deleted_bytes, vv_error *error)
{
    ANSWER(sweep(dir, deleted_bytes, err));
}
