/* fs_mux.c - see fs_mux.h. */
#include "base/fs_mux.h"

#include "base/arena.h"
#include "base/thread.h"

struct driver {
    const char *scheme;
    const struct fs_driver_ops *ops;
    void *ctx;
    struct fs *fs GUARDED_BY(mutex); /* NULL: not made yet */
};
struct fs_mux {
    struct fs fs; /* first */
    struct fs *local;
    struct mutex mutex;
    struct driver drivers[FS_MUX_DRIVERS_MAX];
    size_t count;
};

static struct fs_mux *mux_of(struct fs *fs)
{
    return (struct fs_mux *)fs;
}

static enum rc driver_fs(struct fs_mux *mux, struct driver *d, struct fs **out, struct err *err)
{
    enum rc rc = RC_OK;

    mutex_lock(&mux->mutex);
    if (d->fs == NULL)
        rc = d->ops->make(d->ctx, &d->fs, err);
    *out = d->fs;
    mutex_unlock(&mux->mutex);
    return rc;
}

/* Who serves `path`. */
static enum rc find(struct fs *fs, const char *path, struct fs **out, struct err *err)
{
    struct fs_mux *mux = mux_of(fs);
    size_t len;

    *out = mux->local;
    if (path[0] == '/' || !path_is_remote(path))
        return RC_OK;
    len = strcspn(path, ":");
    for (size_t i = 0; i < mux->count; i++) {
        struct driver *d = &mux->drivers[i];

        if (strlen(d->scheme) == len && memcmp(d->scheme, path, len) == 0)
            return driver_fs(mux, d, out, err);
    }
    return err_set(err, RC_UNSUPPORTED, "%.200s: there is no file system for %.*s://", path, (int)len, path);
}

/* Both on one; *out is NULL when they are not. */
static enum rc find_both(struct fs *fs, const char *a, const char *b, struct fs **out, struct err *err)
{
    struct fs *other;

    RETURN_IF_ERR(find(fs, a, out, err));
    RETURN_IF_ERR(find(fs, b, &other, err));
    if (*out != other)
        *out = NULL;
    return RC_OK;
}

static enum rc no_link(const char *operation, const char *from, const char *to, struct err *err)
{
    return err_set(err, RC_NO_LINK, "%s %s to %s: they lie on different file systems", operation, from, to);
}

static enum rc mux_create(struct fs *fs, const char *path, struct fs_file **out, struct err *err)
{
    RETURN_IF_ERR(find(fs, path, &fs, err));
    return fs->ops->create(fs, path, out, err);
}

static enum rc mux_open_read(struct fs *fs, const char *path, struct fs_file **out, struct err *err)
{
    RETURN_IF_ERR(find(fs, path, &fs, err));
    return fs->ops->open_read(fs, path, out, err);
}

static enum rc mux_open_append(struct fs *fs, const char *path, uint64_t length,
                               struct fs_file **out, struct err *err)
{
    RETURN_IF_ERR(find(fs, path, &fs, err));
    return fs->ops->open_append(fs, path, length, out, err);
}

static enum rc mux_rename(struct fs *fs, const char *from, const char *to, struct err *err)
{
    RETURN_IF_ERR(find_both(fs, from, to, &fs, err));
    if (fs == NULL)
        return err_set(err, RC_UNSUPPORTED, "rename %s to %s: they lie on different file systems",
                       from, to);
    return fs->ops->rename(fs, from, to, err);
}

static enum rc mux_link(struct fs *fs, const char *from, const char *to, struct err *err)
{
    RETURN_IF_ERR(find_both(fs, from, to, &fs, err));
    return fs == NULL ? no_link("link", from, to, err) : fs->ops->link(fs, from, to, err);
}

static enum rc mux_reflink(struct fs *fs, const char *from, const char *to, struct err *err)
{
    RETURN_IF_ERR(find_both(fs, from, to, &fs, err));
    return fs == NULL ? no_link("reflink", from, to, err) : fs->ops->reflink(fs, from, to, err);
}

static enum rc mux_symlink(struct fs *fs, const char *target, const char *path, struct err *err)
{
    RETURN_IF_ERR(find_both(fs, target, path, &fs, err));
    return fs == NULL ? no_link("symlink", target, path, err)
                      : fs->ops->symlink(fs, target, path, err);
}

static enum rc mux_unlink(struct fs *fs, const char *path, struct err *err)
{
    RETURN_IF_ERR(find(fs, path, &fs, err));
    return fs->ops->unlink(fs, path, err);
}

static enum rc mux_rmdir(struct fs *fs, const char *path, struct err *err)
{
    RETURN_IF_ERR(find(fs, path, &fs, err));
    return fs->ops->rmdir(fs, path, err);
}

static enum rc mux_mkdir(struct fs *fs, const char *path, struct err *err)
{
    RETURN_IF_ERR(find(fs, path, &fs, err));
    return fs->ops->mkdir(fs, path, err);
}

static enum rc mux_list(struct fs *fs, const char *path, fs_list_fn *fn, void *ctx, struct err *err)
{
    RETURN_IF_ERR(find(fs, path, &fs, err));
    return fs->ops->list(fs, path, fn, ctx, err);
}

static enum rc mux_stat(struct fs *fs, const char *path, struct fs_stat *out, struct err *err)
{
    RETURN_IF_ERR(find(fs, path, &fs, err));
    return fs->ops->stat(fs, path, out, err);
}

static enum rc mux_sync_dir(struct fs *fs, const char *path, struct err *err)
{
    RETURN_IF_ERR(find(fs, path, &fs, err));
    return fs->ops->sync_dir(fs, path, err);
}

static enum rc mux_lock(struct fs *fs, const char *path, struct fs_file **out, struct err *err)
{
    RETURN_IF_ERR(find(fs, path, &fs, err));
    return fs->ops->lock(fs, path, out, err);
}

static uint64_t mux_open_files_max(struct fs *fs)
{
    return fs_open_files_max(mux_of(fs)->local);
}

static bool mux_appears_whole(struct fs *fs, const char *path)
{
    return find(fs, path, &fs, NULL) == RC_OK && fs_appears_whole(fs, path);
}

static enum rc mux_publish(struct fs *fs, const char *dir, const char *temp, const char *name,
                           struct bytes content, enum fs_publish_mode mode, struct err *err)
{
    RETURN_IF_ERR(find(fs, dir, &fs, err));
    return fs_publish(fs, dir, temp, name, content, mode, err);
}

static enum rc mux_lock_probe(struct fs *fs, const char *path, bool *held, struct err *err)
{
    RETURN_IF_ERR(find(fs, path, &fs, err));
    return fs_lock_probe(fs, path, held, err);
}

static enum rc mux_list_stat(struct fs *fs, const char *path, fs_list_stat_fn *fn, void *ctx,
                             struct err *err)
{
    RETURN_IF_ERR(find(fs, path, &fs, err));
    return fs_list_stat(fs, path, fn, ctx, err);
}

static enum rc mux_drop_unfinished(struct fs *fs, const char *dir, int64_t before_wall_ms,
                                   size_t *dropped, struct err *err)
{
    RETURN_IF_ERR(find(fs, dir, &fs, err));
    return fs_drop_unfinished(fs, dir, before_wall_ms, dropped, err);
}

/* Calls on files go to the file system that opened them. */
static const struct fs_ops mux_ops = {
    .create = mux_create,
    .open_read = mux_open_read,
    .open_append = mux_open_append,
    .rename = mux_rename,
    .link = mux_link,
    .reflink = mux_reflink,
    .symlink = mux_symlink,
    .unlink = mux_unlink,
    .rmdir = mux_rmdir,
    .mkdir = mux_mkdir,
    .list = mux_list,
    .stat = mux_stat,
    .sync_dir = mux_sync_dir,
    .lock = mux_lock,
    .open_files_max = mux_open_files_max,
    .appears_whole = mux_appears_whole,
    .publish = mux_publish,
    .lock_probe = mux_lock_probe,
    .list_stat = mux_list_stat,
    .drop_unfinished = mux_drop_unfinished,
};

struct fs_mux *fs_mux_new(struct fs *local)
{
    struct fs_mux *mux = mem_calloc(1, sizeof *mux);

    mux->fs.ops = &mux_ops;
    mux->local = local;
    mutex_init(&mux->mutex);
    return mux;
}

void fs_mux_free(struct fs_mux *mux)
{
    if (mux == NULL)
        return;
    for (size_t i = 0; i < mux->count; i++)
        if (mux->drivers[i].fs != NULL)
            mux->drivers[i].ops->free(mux->drivers[i].fs);
    mutex_release(&mux->mutex);
    mem_free(mux);
}

struct fs *fs_mux_fs(struct fs_mux *mux)
{
    return &mux->fs;
}

void fs_mux_add(struct fs_mux *mux, const char *scheme, const struct fs_driver_ops *ops, void *ctx)
{
    ASSERT(mux->count < FS_MUX_DRIVERS_MAX);
    mux->drivers[mux->count++] = (struct driver){.scheme = scheme, .ops = ops, .ctx = ctx};
}
