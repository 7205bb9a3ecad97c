/* state_dir.c - see state_dir.h
 *
 * A file of shared/ that was found by its content once is not read again: `proven`. */
#include "backend/state_dir.h"

#include "backend/handle_codec.h"
#include "base/transfer.h"

#include <stdio.h>

#define HANDLE_SUFFIX ".handle"
#define SST_SUFFIX ".sst"
#define BIN_SUFFIX ".bin"
#define INLINE_BYTES 20480u /* Flink's execution.checkpointing.data-inline-threshold */
#define STREAM_BUFFER_BYTES (256u << 10)

struct digests { /* sorted */
    struct digest128 *at;
    size_t count, cap;
};
struct state_dir {
    struct env env; /* a copy; what it points to is borrowed */
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

static enum rc make_dirs(struct state_dir *d, const char *path, struct err *err)
{
    char absolute[FS_PATH_MAX], part[FS_PATH_MAX];

    if (path_is_remote(path))
        return err_set(err, RC_UNSUPPORTED, "%s: a directory of snapshots is a local one", path);
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

enum rc state_dir_open(const struct env *env, const char *path, struct state_dir **out,
                       struct err *err)
{
    struct state_dir *d = mem_calloc(1, sizeof *d);
    enum rc rc;

    d->env = *env;
    env_rng(&d->env, "state-dir", &d->rng);
    mutex_init(&d->mutex);
    mutex_init(&d->publish_mutex);
    cond_init(&d->changed);
    rc = make_dirs(d, path, err);
    if (rc != RC_OK) {
        state_dir_close(d);
        return rc;
    }
    transfer_init(&d->transfer, &d->env, d->shared);
    *out = d;
    return RC_OK;
}

void state_dir_close(struct state_dir *d)
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

    return len >= 1 && len <= STATE_DIR_NAME_MAX && name[0] != '.' && strspn(name, allowed) == len;
}

/* file_name: "<name>.handle"; path: where it lies. */
static enum rc handle_path(const struct state_dir *d, const char *name, char *file_name, size_t cap,
                           char path[FS_PATH_MAX], struct err *err)
{
    if (!is_name(name))
        return err_set(err, RC_INVALID,
                       "name \"%.120s\": needs 1 to %u letters, digits, '.', '-' or '_', not '.' "
                       "first",
                       name, STATE_DIR_NAME_MAX);
    snprintf(file_name, cap, "%s" HANDLE_SUFFIX, name);
    return path_join(path, FS_PATH_MAX, d->path, file_name, err);
}

/* The stem's length when `name` ends in `suffix`, else 0. */
static size_t stem_len(const char *name, const char *suffix)
{
    size_t len = strlen(name), tail = strlen(suffix);

    return len > tail && strcmp(name + len - tail, suffix) == 0 ? len - tail : 0;
}

enum rc state_dir_resolve(const char *path, const struct state_file *f, char out[FS_PATH_MAX],
                          struct err *err)
{
    const char *slash = strchr(f->path, '/');
    size_t folder = slash == NULL ? 0 : (size_t)(slash - f->path);
    bool known = (folder == 6 && strncmp(f->path, "shared", 6) == 0) ||
                 (folder == 3 && strncmp(f->path, "own", 3) == 0);

    if (!known || slash[1] == '\0' || slash[1] == '.' || strchr(slash + 1, '/') != NULL)
        return err_set(err, RC_CORRUPT, "\"%.200s\" is no file of a directory of snapshots",
                       f->path);
    return path_join(out, FS_PATH_MAX, path, f->path, err);
}

/* ---- the target ------------------------------------------------------------------------------ */

struct snapshot_stream {
    struct state_dir *dir;
    struct buf kept;      /* not in the file yet */
    struct fs_file *file; /* NULL: as long as all may stay inside the handle */
    char name[UUID_LEN + sizeof BIN_SUFFIX];
    uint64_t size_bytes;
    struct digest_stream *digest;
};

static struct state_dir_write *write_of(struct snapshot_target *t)
{
    return (struct state_dir_write *)t;
}

static enum rc dir_share(struct snapshot_target *target, struct arena *arena,
                         const char *local_path, uint64_t size_bytes, struct digest128 digest,
                         struct state_file *out, struct err *err)
{
    struct state_dir *d = write_of(target)->dir;
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
    (*out)->dir = write_of(target)->dir;
    (*out)->digest = digest_stream_new();
    return RC_OK;
}

static enum rc spill(struct snapshot_stream *s, struct err *err)
{
    struct state_dir *d = s->dir;

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

/* Content, then name (C2). */
static enum rc close_file(struct snapshot_stream *s, struct err *err)
{
    RETURN_IF_ERR(spill(s, err));
    RETURN_IF_ERR(fs_sync(s->file, err));
    RETURN_IF_ERR(fs_close(&s->file, err));
    return fs_sync_dir(s->dir->env.fs, s->dir->own, err);
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
    return atomic_load(write_of(target)->cancelled);
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

enum rc state_dir_begin(struct state_dir *d, const char *name, const atomic_bool *cancelled,
                        struct state_dir_write *out, struct err *err)
{
    char path[FS_PATH_MAX];

    *out = (struct state_dir_write){.target = {.ops = &dir_ops}, .dir = d, .cancelled = cancelled};
    RETURN_IF_ERR(handle_path(d, name, out->file_name, sizeof out->file_name, path, err));
    if (fs_exists(d->env.fs, path)) /* before all the work; publish looks again */
        return err_set(err, RC_EXISTS, "%s is there", path);
    mutex_lock(&d->mutex);
    while (d->sweeping)
        cond_wait(&d->changed, &d->mutex);
    d->writes++;
    mutex_unlock(&d->mutex);
    return RC_OK;
}

enum rc state_dir_publish(struct state_dir_write *w, const struct keyed_handle *h, struct err *err)
{
    struct state_dir *d = w->dir;
    char path[FS_PATH_MAX], temp[TRANSFER_TEMP_LEN + 1];
    struct buf bytes = {0};
    enum rc rc;

    RETURN_IF_ERR(path_join(path, sizeof path, d->path, w->file_name, err));
    mutex_lock(&d->mutex);
    transfer_temp_name(&d->rng, temp);
    mutex_unlock(&d->mutex);
    handle_encode(h, &bytes);
    mutex_lock(&d->publish_mutex);
    rc = fs_exists(d->env.fs, path)
             ? err_set(err, RC_EXISTS, "%s is there", path)
             : fs_publish(d->env.fs, d->path, temp, w->file_name, buf_bytes(&bytes), FS_PUBLISH_NEW, err);
    mutex_unlock(&d->publish_mutex);
    buf_release(&bytes);
    return rc;
}

void state_dir_end(struct state_dir_write *w)
{
    mutex_lock(&w->dir->mutex);
    w->dir->writes--;
    mutex_unlock(&w->dir->mutex);
}

/* ---- reading and removing -------------------------------------------------------------------- */

static enum rc load(struct state_dir *d, const char *path, struct arena *arena,
                    struct keyed_handle *out, struct err *err)
{
    struct buf bytes = {0};
    enum rc rc = fs_read_all(d->env.fs, path, HANDLE_BYTES_MAX, &bytes, err);

    if (rc == RC_OK) {
        rc = handle_decode(buf_bytes(&bytes), arena, out, err);
        if (rc != RC_OK)
            err_wrap(err, rc, "%s", path);
    }
    buf_release(&bytes);
    return rc;
}

enum rc state_dir_load(struct state_dir *d, const char *name, struct arena *arena,
                       struct keyed_handle *out, struct err *err)
{
    char file_name[STATE_DIR_NAME_MAX + 8], path[FS_PATH_MAX];

    RETURN_IF_ERR(handle_path(d, name, file_name, sizeof file_name, path, err));
    return load(d, path, arena, out, err);
}

enum rc state_dir_remove(struct state_dir *d, const char *name, struct err *err)
{
    char file_name[STATE_DIR_NAME_MAX + 8], path[FS_PATH_MAX];

    RETURN_IF_ERR(handle_path(d, name, file_name, sizeof file_name, path, err));
    RETURN_IF_ERR(fs_unlink(d->env.fs, path, err));
    return fs_sync_dir(d->env.fs, d->path, err); /* before a sweep takes its files */
}

/* ---- sweeping -------------------------------------------------------------------------------- */

struct sweep {
    struct state_dir *dir;
    struct digests shared; /* named by a handle */
    struct buf own;        /* names, each with its NUL */
    uint64_t deleted_bytes;
};

static enum rc note_handle(void *ctx, const char *name, struct err *err)
{
    struct sweep *s = ctx;
    char path[FS_PATH_MAX];
    struct keyed_handle h;
    struct arena *arena;
    enum rc rc;

    if (stem_len(name, HANDLE_SUFFIX) == 0)
        return RC_OK;
    RETURN_IF_ERR(path_join(path, sizeof path, s->dir->path, name, err));
    arena = arena_new(0);
    rc = load(s->dir, path, arena, &h, err);
    for (size_t i = 0; rc == RC_OK && i < h.file_count; i++) {
        const struct state_file *f = &h.files[i];

        if (f->scope == FILE_SHARED)
            digests_add(&s->shared, f->digest);
        else if (f->scope == FILE_EXCLUSIVE)
            buf_append(&s->own, path_base(f->path), strlen(path_base(f->path)) + 1);
    }
    arena_free(arena);
    return rc;
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

/* Before anything is deleted: what stays proven is what stays. */
static void forget(struct state_dir *d, const struct digests *kept)
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
    forget(s->dir, &s->shared);
    RETURN_IF_ERR(fs_list(fs, s->dir->path, sweep_root, s, err));
    RETURN_IF_ERR(fs_list(fs, s->dir->shared, sweep_shared, s, err));
    return fs_list(fs, s->dir->own, sweep_own, s, err);
}

enum rc state_dir_sweep(struct state_dir *d, uint64_t *deleted_bytes, struct err *err)
{
    struct sweep s = {.dir = d};
    enum rc rc = RC_OK;

    mutex_lock(&d->mutex);
    if (d->writes > 0 || d->sweeping)
        rc = err_set(err, RC_STATE, "%s: %s", d->path,
                     d->sweeping ? "it is being swept" : "a snapshot is being written");
    else
        d->sweeping = true;
    mutex_unlock(&d->mutex);
    *deleted_bytes = 0;
    if (rc != RC_OK)
        return rc;
    rc = sweep_all(&s, err);
    mutex_lock(&d->mutex);
    d->sweeping = false;
    cond_broadcast(&d->changed);
    mutex_unlock(&d->mutex);
    *deleted_bytes = s.deleted_bytes;
    mem_free(s.shared.at);
    buf_release(&s.own);
    return rc;
}
