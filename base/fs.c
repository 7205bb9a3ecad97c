/* fs.c - see fs.h: the checked wrappers, and helpers that need nothing but them. */
#include "base/fs.h"

#include "base/arena.h"

#include <errno.h>
#include <strings.h>
#include <unistd.h>

#define COPY_PIECE ((size_t)1 << 20)

/* A failure that was kept apart is the caller's after all. */
static enum rc err_pass(struct err *err, const struct err *local)
{
    if (err != NULL && err->rc == RC_OK)
        *err = *local;
    return local->rc;
}

/* ---- kinds of paths ------------------------------------------------------------------------- */

/* Length of "<scheme>:" when a slash follows it, else 0: "s3://b" has a scheme, "a:b.csv" is a
 * name. */
static size_t scheme_len(const char *uri)
{
    size_t len = strspn(uri, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");

    return len > 0 && uri[len] == ':' && uri[len + 1] == '/' ? len + 1 : 0;
}

/* Length of "<scheme>://<authority>", 0: the path is local. */
static size_t remote_root_len(const char *path)
{
    size_t scheme = scheme_len(path);

    return scheme > 0 && path[scheme + 1] == '/' ? scheme + 2 + strcspn(path + scheme + 2, "/") : 0;
}

static bool is_remote_root(const char *path)
{
    size_t root = remote_root_len(path);

    return root > 0 && path[root + strspn(path + root, "/")] == '\0';
}

bool path_is_remote(const char *path)
{
    return remote_root_len(path) > 0;
}

bool path_is_absolute(const char *path)
{
    return path[0] == '/' || path_is_remote(path);
}

void path_to_uri(const char *path, struct buf *out)
{
    buf_printf(out, "%s%s", path_is_remote(path) ? "" : "file:", path);
}

/* ---- wrappers ------------------------------------------------------------------------------- */

static enum rc check_path(const char *operation, const char *path, struct err *err)
{
    size_t len = strnlen(path, FS_PATH_MAX);

    if (len == 0)
        return err_set(err, RC_INVALID, "%s: the path is empty", operation);
    if (len == FS_PATH_MAX)
        return err_set(err, RC_LIMIT, "%s %.64s...: the path is longer than %d bytes", operation,
                       path, FS_PATH_MAX - 1);
    return RC_OK;
}

static enum rc check_paths(const char *operation, const char *from, const char *to, struct err *err)
{
    RETURN_IF_ERR(check_path(operation, from, err));
    return check_path(operation, to, err);
}

enum rc fs_create(struct fs *fs, const char *path, struct fs_file **out, struct err *err)
{
    *out = NULL;
    RETURN_IF_ERR(check_path("create", path, err));
    return fs->ops->create(fs, path, out, err);
}

enum rc fs_open_read(struct fs *fs, const char *path, struct fs_file **out, struct err *err)
{
    *out = NULL;
    RETURN_IF_ERR(check_path("open", path, err));
    return fs->ops->open_read(fs, path, out, err);
}

enum rc fs_open_append(struct fs *fs, const char *path, uint64_t length, struct fs_file **out,
                       struct err *err)
{
    *out = NULL;
    RETURN_IF_ERR(check_path("open for appending", path, err));
    return fs->ops->open_append(fs, path, length, out, err);
}

enum rc fs_read_at(struct fs_file *f, uint64_t offset, void *out, size_t len, size_t *got,
                   struct err *err)
{
    *got = 0;
    if (len == 0)
        return RC_OK;
    if (offset > (uint64_t)INT64_MAX - len)
        return err_set(err, RC_LIMIT, "read %s: offset %llu is past what a file can hold", f->path,
                       (unsigned long long)offset);
    return f->fs->ops->read_at(f, offset, out, len, got, err);
}

enum rc fs_append(struct fs_file *f, struct bytes data, struct err *err)
{
    if (data.len == 0)
        return RC_OK;
    return f->fs->ops->append(f, data, err);
}

enum rc fs_sync(struct fs_file *f, struct err *err)
{
    return f->fs->ops->sync(f, err);
}

enum rc fs_size(struct fs_file *f, uint64_t *size_bytes, struct err *err)
{
    *size_bytes = 0;
    return f->fs->ops->size(f, size_bytes, err);
}

enum rc fs_close(struct fs_file **f, struct err *err)
{
    struct fs_file *closing = *f;

    ASSERT(closing != NULL);
    *f = NULL;
    return closing->fs->ops->close(closing, err);
}

void fs_abandon(struct fs_file **f)
{
    struct fs_file *closing = *f;

    *f = NULL;
    if (closing != NULL)
        closing->fs->ops->abandon(closing);
}

enum rc fs_rename(struct fs *fs, const char *from, const char *to, struct err *err)
{
    RETURN_IF_ERR(check_paths("rename", from, to, err));
    return fs->ops->rename(fs, from, to, err);
}

enum rc fs_link(struct fs *fs, const char *from, const char *to, struct err *err)
{
    RETURN_IF_ERR(check_paths("link", from, to, err));
    return fs->ops->link(fs, from, to, err);
}

enum rc fs_reflink(struct fs *fs, const char *from, const char *to, struct err *err)
{
    RETURN_IF_ERR(check_paths("reflink", from, to, err));
    return fs->ops->reflink(fs, from, to, err);
}

enum rc fs_symlink(struct fs *fs, const char *target, const char *path, struct err *err)
{
    RETURN_IF_ERR(check_paths("symlink", target, path, err));
    return fs->ops->symlink(fs, target, path, err);
}

enum rc fs_unlink(struct fs *fs, const char *path, struct err *err)
{
    RETURN_IF_ERR(check_path("unlink", path, err));
    return fs->ops->unlink(fs, path, err);
}

enum rc fs_rmdir(struct fs *fs, const char *path, struct err *err)
{
    RETURN_IF_ERR(check_path("remove directory", path, err));
    return fs->ops->rmdir(fs, path, err);
}

enum rc fs_mkdir(struct fs *fs, const char *path, struct err *err)
{
    RETURN_IF_ERR(check_path("make directory", path, err));
    return fs->ops->mkdir(fs, path, err);
}

enum rc fs_list(struct fs *fs, const char *path, fs_list_fn *fn, void *ctx, struct err *err)
{
    RETURN_IF_ERR(check_path("list", path, err));
    return fs->ops->list(fs, path, fn, ctx, err);
}

struct each_stat {
    struct fs *fs;
    const char *dir;
    fs_list_stat_fn *fn;
    void *ctx;
};

static enum rc stat_each(void *ctx, const char *name, struct err *err)
{
    const struct each_stat *e = ctx;
    char path[FS_PATH_MAX];
    struct fs_stat st;

    if (path_join(path, sizeof path, e->dir, name, NULL) != RC_OK ||
        fs_stat(e->fs, path, &st, NULL) != RC_OK)
        return RC_OK;
    return e->fn(e->ctx, name, &st, err);
}

enum rc fs_list_stat(struct fs *fs, const char *path, fs_list_stat_fn *fn, void *ctx,
                     struct err *err)
{
    struct each_stat each = {fs, path, fn, ctx};

    RETURN_IF_ERR(check_path("list", path, err));
    if (fs->ops->list_stat != NULL)
        return fs->ops->list_stat(fs, path, fn, ctx, err);
    return fs->ops->list(fs, path, stat_each, &each, err);
}

enum rc fs_drop_unfinished(struct fs *fs, const char *dir, int64_t before_wall_ms,
                           size_t *dropped, struct err *err)
{
    *dropped = 0;
    RETURN_IF_ERR(check_path("sweep", dir, err));
    if (fs->ops->drop_unfinished == NULL)
        return RC_OK;
    return fs->ops->drop_unfinished(fs, dir, before_wall_ms, dropped, err);
}

enum rc fs_stat(struct fs *fs, const char *path, struct fs_stat *out, struct err *err)
{
    *out = (struct fs_stat){.type = FS_OTHER};
    RETURN_IF_ERR(check_path("stat", path, err));
    return fs->ops->stat(fs, path, out, err);
}

enum rc fs_sync_dir(struct fs *fs, const char *path, struct err *err)
{
    RETURN_IF_ERR(check_path("sync directory", path, err));
    return fs->ops->sync_dir(fs, path, err);
}

enum rc fs_lock(struct fs *fs, const char *path, struct fs_file **out, struct err *err)
{
    *out = NULL;
    RETURN_IF_ERR(check_path("lock", path, err));
    return fs->ops->lock(fs, path, out, err);
}

/* A file of its own, so that the lock itself need not be writable. */
static enum rc write_lock_text(struct fs_file *lock, struct bytes text, struct err *err)
{
    struct fs_file *file = NULL;
    enum rc rc;

    GOTO_IF_ERR(fs_open_append(lock->fs, lock->path, 0, &file, err));
    GOTO_IF_ERR(fs_append(file, text, err));
    GOTO_IF_ERR(fs_close(&file, err));
out:
    fs_abandon(&file);
    return rc;
}

enum rc fs_lock_say(struct fs_file *lock, struct bytes text, struct err *err)
{
    ASSERT(text.len <= FS_LOCK_TEXT_MAX);
    if (lock->fs->ops->lock_say == NULL)
        return write_lock_text(lock, text, err);
    return lock->fs->ops->lock_say(lock, text, err);
}

bool fs_lock_can_be_lost(const struct fs_file *lock)
{
    return lock->fs->ops->lock_check != NULL;
}

enum rc fs_lock_check(struct fs_file *lock, bool confirm, struct err *err)
{
    return fs_lock_can_be_lost(lock) ? lock->fs->ops->lock_check(lock, confirm, err) : RC_OK;
}

enum rc fs_lock_probe(struct fs *fs, const char *path, bool *held, struct err *err)
{
    struct err local = {0};
    struct fs_file *lock = NULL;
    enum rc rc;

    *held = false;
    RETURN_IF_ERR(check_path("lock", path, err));
    if (fs->ops->lock_probe != NULL)
        return fs->ops->lock_probe(fs, path, held, err);
    rc = fs_lock(fs, path, &lock, &local);
    fs_abandon(&lock);
    *held = rc == RC_STATE;
    return rc == RC_OK || *held ? RC_OK : err_pass(err, &local);
}

bool fs_appears_whole(struct fs *fs, const char *path)
{
    return fs->ops->appears_whole != NULL && fs->ops->appears_whole(fs, path);
}

uint64_t fs_open_files_max(struct fs *fs)
{
    return fs->ops->open_files_max == NULL ? UINT64_MAX : fs->ops->open_files_max(fs);
}

/* ---- directories ---------------------------------------------------------------------------- */

static enum rc sync_parent(struct fs *fs, const char *path, struct err *err)
{
    char dir[FS_PATH_MAX];

    RETURN_IF_ERR(path_dir(dir, sizeof dir, path, err));
    return fs_sync_dir(fs, dir, err);
}

/* `path` is there already. Who made it may have been killed before it synced the name, so it is
 * synced here; a directory above that we may not even open is not one in which we (or our like)
 * made a name. */
static enum rc accept_existing_dir(struct fs *fs, const char *path, struct err *err)
{
    struct err local = {0};
    struct fs_stat st;
    enum rc rc;

    RETURN_IF_ERR(fs_stat(fs, path, &st, err));
    if (st.type != FS_DIR)
        return err_set(err, RC_EXISTS, "make directory %s: a file of that name is there", path);
    rc = sync_parent(fs, path, &local);
    return rc == RC_OK || local.os_errno == EACCES ? RC_OK : err_pass(err, &local);
}

/* Names are made from the top down, each synced before the next: so of those that are there only
 * the lowest may not be durable. */
enum rc fs_mkdirs(struct fs *fs, const char *path, struct err *err)
{
    struct err local = {0};
    char parent[FS_PATH_MAX];
    bool is_top; /* "/", "." and "s3://bucket" are always there */
    enum rc rc;

    RETURN_IF_ERR(check_path("make directory", path, err));
    RETURN_IF_ERR(path_dir(parent, sizeof parent, path, err));
    is_top = strcmp(parent, "/") == 0 || strcmp(parent, ".") == 0 || is_remote_root(parent);
    rc = fs_mkdir(fs, path, &local);
    if (rc == RC_OK && !is_top)
        RETURN_IF_ERR(accept_existing_dir(fs, parent, err));
    if (rc == RC_NOT_FOUND && !is_top) {
        RETURN_IF_ERR(fs_mkdirs(fs, parent, err));
        err_clear(&local);
        rc = fs_mkdir(fs, path, &local);
    }
    if (rc == RC_EXISTS)
        return accept_existing_dir(fs, path, err);
    if (rc != RC_OK)
        return err_pass(err, &local);
    return fs_sync_dir(fs, parent, err);
}

struct names {
    struct arena *arena;
    char **items;
    size_t count, cap;
};

static enum rc collect_name(void *ctx, const char *name, struct err *err UNUSED)
{
    struct names *names = ctx;

    if (names->count == names->cap) {
        names->cap = names->cap == 0 ? 16 : names->cap * 2;
        names->items = mem_realloc(names->items, names->cap * sizeof *names->items);
    }
    names->items[names->count++] = arena_strdup(names->arena, name);
    return RC_OK;
}

/* Names are collected first: removing while a directory is being read may skip some. */
static enum rc remove_below(struct fs *fs, const char *path, struct err *err)
{
    struct names names = {.arena = arena_new(4096)};
    char below[FS_PATH_MAX];
    enum rc rc;

    GOTO_IF_ERR(fs_list(fs, path, collect_name, &names, err));
    for (size_t i = 0; i < names.count; i++) {
        GOTO_IF_ERR(path_join(below, sizeof below, path, names.items[i], err));
        GOTO_IF_ERR(fs_remove_tree(fs, below, err));
    }
out:
    mem_free(names.items);
    arena_free(names.arena);
    return rc;
}

enum rc fs_remove_tree(struct fs *fs, const char *path, struct err *err)
{
    struct err local = {0};
    enum rc rc;

    /* unlink first: it takes a symbolic link for what it is, and refuses a directory. */
    rc = fs_unlink(fs, path, &local);
    if (rc == RC_OK || rc == RC_NOT_FOUND)
        return RC_OK;
    if (local.os_errno != EISDIR && local.os_errno != EPERM)
        return err_pass(err, &local);
    rc = remove_below(fs, path, err);
    if (rc == RC_OK)
        rc = fs_rmdir(fs, path, err);
    return rc;
}

/* ---- whole files ---------------------------------------------------------------------------- */

enum rc fs_read_all(struct fs *fs, const char *path, size_t limit_bytes, struct buf *out,
                    struct err *err)
{
    struct fs_file *file = NULL;
    uint64_t size, offset = 0;
    size_t got;
    enum rc rc;

    GOTO_IF_ERR(fs_open_read(fs, path, &file, err));
    GOTO_IF_ERR(fs_size(file, &size, err));
    if (size > limit_bytes) {
        rc = err_set(err, RC_LIMIT, "read %s: %llu bytes, the limit is %zu", path,
                     (unsigned long long)size, limit_bytes);
        goto out;
    }
    buf_reserve(out, (size_t)size);
    while (offset < size) {
        GOTO_IF_ERR(
            fs_read_at(file, offset, out->data + out->len, (size_t)(size - offset), &got, err));
        if (got == 0)
            break; /* it was cut meanwhile: what is there is the file */
        out->len += got;
        offset += got;
    }
    rc = fs_close(&file, err);
out:
    fs_abandon(&file);
    return rc;
}

static enum rc publish_by_rename(struct fs *fs, const char *dir, const char *temp,
                                 const char *name, struct bytes content, struct err *err)
{
    char temp_path[FS_PATH_MAX], path[FS_PATH_MAX];
    struct fs_file *file = NULL;
    enum rc rc;

    GOTO_IF_ERR(path_join(temp_path, sizeof temp_path, dir, temp, err));
    GOTO_IF_ERR(path_join(path, sizeof path, dir, name, err));
    GOTO_IF_ERR(fs_create(fs, temp_path, &file, err));
    GOTO_IF_ERR(fs_append(file, content, err));
    GOTO_IF_ERR(fs_sync(file, err));
    GOTO_IF_ERR(fs_close(&file, err)); /* a failed close is a failed write: look before renaming */
    GOTO_IF_ERR(fs_rename(fs, temp_path, path, err));
    GOTO_IF_ERR(fs_sync_dir(fs, dir, err));
out:
    fs_abandon(&file); /* no-op once closed */
    return rc;
}

enum rc fs_publish(struct fs *fs, const char *dir, const char *temp, const char *name,
                   struct bytes content, enum fs_publish_mode mode, struct err *err)
{
    if (fs->ops->publish != NULL)
        return fs->ops->publish(fs, dir, temp, name, content, mode, err);
    return publish_by_rename(fs, dir, temp, name, content, err);
}

static enum rc copy_content(struct fs_file *from, struct fs_file *to, struct err *err)
{
    uint8_t *piece = mem_alloc(COPY_PIECE);
    uint64_t offset = 0;
    size_t got;
    enum rc rc;

    do {
        GOTO_IF_ERR(fs_read_at(from, offset, piece, COPY_PIECE, &got, err));
        GOTO_IF_ERR(fs_append(to, bytes_of(piece, got), err));
        offset += got;
    } while (got == COPY_PIECE);
out:
    mem_free(piece);
    return rc;
}

enum rc fs_copy(struct fs *fs, const char *from, const char *to, struct err *err)
{
    struct fs_file *in = NULL, *copy = NULL;
    bool created = false;
    enum rc rc;

    GOTO_IF_ERR(fs_open_read(fs, from, &in, err));
    GOTO_IF_ERR(fs_create(fs, to, &copy, err));
    created = true;
    GOTO_IF_ERR(copy_content(in, copy, err));
    GOTO_IF_ERR(fs_sync(copy, err));
    GOTO_IF_ERR(fs_close(&copy, err));
out:
    fs_abandon(&in);
    fs_abandon(&copy);
    if (rc != RC_OK && created && !fs_appears_whole(fs, to)) {
        enum rc cleanup UNUSED = fs_unlink(fs, to, NULL); /* half a copy helps nobody */
    }
    return rc == RC_OK ? RC_OK : err_wrap(err, rc, "copy %s to %s", from, to);
}

bool fs_exists(struct fs *fs, const char *path)
{
    struct fs_stat st;

    return fs_stat(fs, path, &st, NULL) == RC_OK;
}

bool fs_is_absent(struct fs *fs, const char *path)
{
    struct fs_stat st;

    return fs_stat(fs, path, &st, NULL) == RC_NOT_FOUND;
}

/* ---- paths ---------------------------------------------------------------------------------- */

static enum rc path_put(char *out, size_t cap, const char *part, size_t len, size_t *at,
                        struct err *err)
{
    if (len >= cap - *at)
        return err_set(err, RC_LIMIT, "path %.64s...: longer than %zu bytes", part, cap - 1);
    memcpy(out + *at, part, len);
    *at += len;
    out[*at] = '\0';
    return RC_OK;
}

enum rc path_join(char *out, size_t cap, const char *dir, const char *name, struct err *err)
{
    size_t dir_len = strlen(dir), at = 0;

    ASSERT(cap > 0);
    while (dir_len > 1 && dir[dir_len - 1] == '/')
        dir_len--;
    RETURN_IF_ERR(path_put(out, cap, dir, dir_len, &at, err));
    if (dir_len > 0 && dir[dir_len - 1] != '/')
        RETURN_IF_ERR(path_put(out, cap, "/", 1, &at, err));
    return path_put(out, cap, name, strlen(name), &at, err);
}

const char *path_base(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

enum rc path_dir(char *out, size_t cap, const char *path, struct err *err)
{
    size_t root = remote_root_len(path), len = strlen(path), at = 0, least = root > 0 ? root : 1;

    ASSERT(cap > 0);
    while (len > least && path[len - 1] == '/') /* "/a/b/" lies in "/a" */
        len--;
    while (len > root && path[len - 1] != '/')
        len--;
    while (len > least && path[len - 1] == '/')
        len--;
    if (len == 0)
        return path_put(out, cap, ".", 1, &at, err);
    return path_put(out, cap, path, len, &at, err);
}

/* The schemes of remote files and their other names. */
static const struct {
    const char *name, *canonical;
} remote_schemes[] = {
    {"hdfs", "hdfs"}, {"webhdfs", "hdfs"}, {"swebhdfs", "swebhdfs"},
    {"s3", "s3"},     {"s3a", "s3"},       {"s3p", "s3"},
};

static const char *canonical_scheme(const char *uri, size_t len)
{
    for (size_t i = 0; i < ARRAY_LEN(remote_schemes); i++)
        if (strlen(remote_schemes[i].name) == len && strncasecmp(uri, remote_schemes[i].name, len) == 0)
            return remote_schemes[i].canonical;
    return NULL;
}

/* `scheme`: canonical; rest: behind "<scheme>:", a slash first. */
static enum rc remote_from_uri(char *out, size_t cap, const char *scheme, const char *rest,
                               const char *uri, struct err *err)
{
    size_t authority = rest[1] == '/' ? strcspn(rest + 2, "/") : 0, at = 0;

    if (authority == 0)
        return err_set(err, RC_INVALID, "%.200s: %s stands between \"://\" and the path", uri,
                       strcmp(scheme, "s3") == 0 ? "the bucket" : "host:port of the name node's HTTP server");
    if (memchr(rest + 2, '@', authority) != NULL)
        return err_set(err, RC_INVALID, "%s: a path holds no user and no secret", scheme);
    RETURN_IF_ERR(path_put(out, cap, scheme, strlen(scheme), &at, err));
    RETURN_IF_ERR(path_put(out, cap, ":", 1, &at, err));
    return path_put(out, cap, rest, strlen(rest), &at, err);
}

enum rc path_from_uri(char *out, size_t cap, const char *uri, struct err *err)
{
    size_t scheme = scheme_len(uri), at = 0;
    const char *path = uri + scheme, *remote;

    ASSERT(cap > 0);
    remote = scheme > 0 ? canonical_scheme(uri, scheme - 1) : NULL;
    if (remote != NULL)
        return remote_from_uri(out, cap, remote, path, uri, err);
    if (scheme > 0 && strncmp(uri, "file:", scheme) != 0)
        return err_set(err, RC_UNSUPPORTED,
                       "%.200s: only local files (\"/path\", \"file:///path\"), hdfs:// and s3://, not %.*s",
                       uri, (int)scheme, uri);
    if (scheme > 0 && path[1] == '/') { /* an authority: empty, or this machine */
        path += 2;
        if (strncmp(path, "localhost/", 10) == 0)
            path += 9;
        if (path[0] != '/')
            return err_set(err, RC_UNSUPPORTED,
                           "%.200s: files of another host; write file:///path for a local one",
                           uri);
    }
    if (path[0] == '\0')
        return err_set(err, RC_INVALID, "the path is empty");
    return path_put(out, cap, path, strlen(path), &at, err);
}

/* Append the components of `path` to the absolute path in out, which has no slash at its end; its first
 * `root` bytes stay. */
static enum rc add_components(char *out, size_t cap, size_t *at, size_t root, const char *path,
                              struct err *err)
{
    while (*path != '\0') {
        size_t len = strcspn(path, "/");

        if (len == 2 && strncmp(path, "..", 2) == 0) {
            while (*at > root && out[*at - 1] != '/')
                --*at;
            if (*at > root)
                --*at; /* the slash */
            out[*at] = '\0';
        } else if (len > 0 && !(len == 1 && path[0] == '.')) {
            RETURN_IF_ERR(path_put(out, cap, "/", 1, at, err));
            RETURN_IF_ERR(path_put(out, cap, path, len, at, err));
        }
        path += len + (path[len] == '/');
    }
    return RC_OK;
}

enum rc path_absolute(char *out, size_t cap, const char *path, struct err *err)
{
    char here[FS_PATH_MAX];
    size_t root = remote_root_len(path), at = 0;

    ASSERT(cap > 1);
    out[0] = '\0';
    if (root > 0) {
        RETURN_IF_ERR(path_put(out, cap, path, root, &at, err));
    } else if (path[0] != '/') {
        if (getcwd(here, sizeof here) == NULL)
            return err_os(err, errno, "working directory");
        RETURN_IF_ERR(add_components(out, cap, &at, 0, here, err));
    }
    RETURN_IF_ERR(add_components(out, cap, &at, root, path + root, err));
    return at == 0 ? path_put(out, cap, "/", 1, &at, err) : RC_OK;
}
