/* fault_fs.c - see fault_fs.h */
#include "tests/lib/fault_fs.h"

#include "base/arena.h"
#include "base/thread.h"

#include <errno.h>
#include <fnmatch.h>

#define KINDS 18

struct armed {
    struct fault fault;
    uint64_t seen; /* operations that fitted */
};

struct fault_fs {
    struct fs fs; /* first */
    struct fs *under;
    struct mutex mutex; /* guards what follows */
    struct armed armed[FAULTS_MAX];
    size_t armed_count;
    uint64_t hits, counts[KINDS];
    enum fault_locks locks;
};

struct fault_file {
    struct fs_file base; /* first */
    struct fs_file *under;
};

static struct fault_fs *faulty(const struct fs *fs)
{
    return (struct fault_fs *)(uintptr_t)fs;
}
static struct fs_file *under(struct fs_file *f)
{
    return ((struct fault_file *)f)->under;
}

static bool fits(const struct fault *f, uint32_t kind, const char *path, const char *other)
{
    if (f->kinds != 0 && (f->kinds & kind) == 0)
        return false;
    return f->path == NULL || fnmatch(f->path, path, 0) == 0 ||
           (other != NULL && fnmatch(f->path, other, 0) == 0);
}

/* Count an operation; true when it shall fail, then as *how says. */
static bool count(struct fs *fs, enum fault_kind kind, const char *path, const char *other,
                  struct fault *how)
{
    struct fault_fs *f = faulty(fs);
    bool hit = false;

    mutex_lock(&f->mutex);
    f->counts[__builtin_ctz(kind)]++;
    for (size_t i = 0; i < f->armed_count; i++) {
        struct armed *a = &f->armed[i];

        if (!fits(&a->fault, kind, path, other))
            continue;
        if (!hit && a->seen >= a->fault.at && a->seen - a->fault.at < a->fault.times) {
            *how = a->fault;
            hit = true;
        }
        a->seen++;
    }
    f->hits += hit;
    mutex_unlock(&f->mutex);
    return hit;
}

static enum rc fail(const struct fault *how, enum fault_kind kind, const char *operation,
                    const char *path, struct err *err)
{
    int e = how->os_errno;
    bool no_link = e == EXDEV || e == EPERM || e == ENOTSUP || e == EOPNOTSUPP || e == EMLINK;

    if ((kind & (FAULT_LINK | FAULT_REFLINK)) != 0 && no_link) {
        if (err != NULL && err->rc == RC_OK) {
            err_set(err, RC_NO_LINK, "%s %s: %s (injected)", operation, path, strerrordesc_np(e));
            err->os_errno = e;
        }
        return RC_NO_LINK;
    }
    return err_os(err, e, "%s %s (injected)", operation, path);
}

/* An operation without result besides its code: fail before, fail after, or pass through. */
#define PASS(kind, operation, fs, path, other, call)                                               \
    do {                                                                                           \
        struct fault how_;                                                                         \
        if (!count(fs, kind, path, other, &how_))                                                  \
            return call;                                                                           \
        if (how_.done)                                                                             \
            RETURN_IF_ERR(call);                                                                   \
        return fail(&how_, kind, operation, path, err);                                            \
    } while (0)

/* Wrap what was opened; when `how` asks for it, close it and report a failure. */
static enum rc opened(struct fs *fs, enum fault_kind kind, const struct fault *how,
                      const char *operation, const char *path, struct fs_file *opened_file,
                      struct fs_file **out, struct err *err)
{
    struct fault_file *f;

    if (how != NULL) {
        fs_abandon(&opened_file);
        return fail(how, kind, operation, path, err);
    }
    f = mem_alloc(sizeof *f);
    *f = (struct fault_file){.base = {.fs = fs, .path = mem_strdup(path)}, .under = opened_file};
    *out = &f->base;
    return RC_OK;
}

/* `call` opens into the local `file`. */
#define OPEN(kind, operation, call)                                                                \
    do {                                                                                           \
        struct fs_file *file = NULL;                                                               \
        struct fault how_;                                                                         \
        bool hit_ = count(fs, kind, path, NULL, &how_);                                            \
                                                                                                   \
        if (hit_ && !how_.done)                                                                    \
            return fail(&how_, kind, operation, path, err);                                        \
        RETURN_IF_ERR(call);                                                                       \
        return opened(fs, kind, hit_ ? &how_ : NULL, operation, path, file, out, err);             \
    } while (0)

static enum rc fault_create(struct fs *fs, const char *path, struct fs_file **out, struct err *err)
{
    OPEN(FAULT_CREATE, "create", fs_create(faulty(fs)->under, path, &file, err));
}

static enum rc fault_open_read(struct fs *fs, const char *path, struct fs_file **out,
                               struct err *err)
{
    OPEN(FAULT_OPEN_READ, "open", fs_open_read(faulty(fs)->under, path, &file, err));
}

static enum rc fault_open_append(struct fs *fs, const char *path, uint64_t length,
                                 struct fs_file **out, struct err *err)
{
    OPEN(FAULT_OPEN_APPEND, "open for appending",
         fs_open_append(faulty(fs)->under, path, length, &file, err));
}

static enum rc fault_lock(struct fs *fs, const char *path, struct fs_file **out, struct err *err)
{
    OPEN(FAULT_LOCK, "lock", fs_lock(faulty(fs)->under, path, &file, err));
}

static enum rc fault_lock_check(struct fs_file *f, bool confirm, struct err *err)
{
    enum fault_locks locks;

    mutex_lock(&faulty(f->fs)->mutex);
    locks = faulty(f->fs)->locks;
    if (locks == FAULT_LOCKS_LOST_UNSEEN && confirm)
        locks = faulty(f->fs)->locks = FAULT_LOCKS_LOST;
    mutex_unlock(&faulty(f->fs)->mutex);
    if (locks == FAULT_LOCKS_LOST)
        return err_set(err, RC_STATE, "lock %s was lost: somebody else took it (pid 1, job b)",
                       f->path);
    return locks == FAULT_LOCKS_UNKNOWN && confirm
               ? err_set(err, RC_IO, "%s: nobody answers", f->path)
               : RC_OK;
}

static enum rc fault_read_at(struct fs_file *f, uint64_t offset, void *out, size_t len, size_t *got,
                             struct err *err)
{
    PASS(FAULT_READ, "read", f->fs, f->path, NULL,
         fs_read_at(under(f), offset, out, len, got, err));
}

static enum rc fault_append(struct fs_file *f, struct bytes data, struct err *err)
{
    struct fault how;

    if (!count(f->fs, FAULT_APPEND, f->path, NULL, &how))
        return fs_append(under(f), data, err);
    if (how.short_write)
        data.len /= 2;
    if (how.short_write || how.done)
        RETURN_IF_ERR(fs_append(under(f), data, err));
    return fail(&how, FAULT_APPEND, "write to", f->path, err);
}

static enum rc fault_sync(struct fs_file *f, struct err *err)
{
    PASS(FAULT_SYNC, "sync", f->fs, f->path, NULL, fs_sync(under(f), err));
}

static enum rc fault_size(struct fs_file *f, uint64_t *size_bytes, struct err *err)
{
    PASS(FAULT_SIZE, "stat", f->fs, f->path, NULL, fs_size(under(f), size_bytes, err));
}

static void release(struct fs_file *f)
{
    mem_free(f->path);
    mem_free(f);
}

static enum rc fault_close(struct fs_file *f, struct err *err)
{
    struct fs_file *closing = under(f);
    struct fault how;
    enum rc rc;

    if (count(f->fs, FAULT_CLOSE, f->path, NULL, &how)) {
        fs_abandon(&closing);
        rc = fail(&how, FAULT_CLOSE, "close", f->path, err);
    } else {
        rc = fs_close(&closing, err);
    }
    release(f);
    return rc;
}

static void fault_abandon(struct fs_file *f)
{
    struct fs_file *closing = under(f);

    fs_abandon(&closing);
    release(f);
}

static enum rc fault_rename(struct fs *fs, const char *from, const char *to, struct err *err)
{
    PASS(FAULT_RENAME, "rename", fs, from, to, fs_rename(faulty(fs)->under, from, to, err));
}

static enum rc fault_link(struct fs *fs, const char *from, const char *to, struct err *err)
{
    PASS(FAULT_LINK, "link", fs, from, to, fs_link(faulty(fs)->under, from, to, err));
}

static enum rc fault_reflink(struct fs *fs, const char *from, const char *to, struct err *err)
{
    PASS(FAULT_REFLINK, "reflink", fs, from, to, fs_reflink(faulty(fs)->under, from, to, err));
}

static enum rc fault_symlink(struct fs *fs, const char *target, const char *path, struct err *err)
{
    PASS(FAULT_LINK, "symlink", fs, target, path,
         fs_symlink(faulty(fs)->under, target, path, err));
}

static enum rc fault_unlink(struct fs *fs, const char *path, struct err *err)
{
    PASS(FAULT_UNLINK, "unlink", fs, path, NULL, fs_unlink(faulty(fs)->under, path, err));
}

static enum rc fault_rmdir(struct fs *fs, const char *path, struct err *err)
{
    PASS(FAULT_RMDIR, "remove directory", fs, path, NULL, fs_rmdir(faulty(fs)->under, path, err));
}

static enum rc fault_mkdir(struct fs *fs, const char *path, struct err *err)
{
    PASS(FAULT_MKDIR, "make directory", fs, path, NULL, fs_mkdir(faulty(fs)->under, path, err));
}

static enum rc fault_list(struct fs *fs, const char *path, fs_list_fn *fn, void *ctx,
                          struct err *err)
{
    PASS(FAULT_LIST, "list", fs, path, NULL, fs_list(faulty(fs)->under, path, fn, ctx, err));
}

static enum rc fault_stat(struct fs *fs, const char *path, struct fs_stat *out, struct err *err)
{
    PASS(FAULT_STAT, "stat", fs, path, NULL, fs_stat(faulty(fs)->under, path, out, err));
}

static enum rc fault_sync_dir(struct fs *fs, const char *path, struct err *err)
{
    PASS(FAULT_SYNC_DIR, "sync directory", fs, path, NULL,
         fs_sync_dir(faulty(fs)->under, path, err));
}

static const struct fs_ops fault_ops = {
    .create = fault_create,
    .open_read = fault_open_read,
    .open_append = fault_open_append,
    .read_at = fault_read_at,
    .append = fault_append,
    .sync = fault_sync,
    .size = fault_size,
    .close = fault_close,
    .abandon = fault_abandon,
    .rename = fault_rename,
    .link = fault_link,
    .reflink = fault_reflink,
    .symlink = fault_symlink,
    .unlink = fault_unlink,
    .rmdir = fault_rmdir,
    .mkdir = fault_mkdir,
    .list = fault_list,
    .stat = fault_stat,
    .sync_dir = fault_sync_dir,
    .lock = fault_lock,
    .lock_check = fault_lock_check,
};

struct fs *fault_fs_new(struct fs *under_fs)
{
    struct fault_fs *f = mem_calloc(1, sizeof *f);

    f->fs.ops = &fault_ops;
    f->under = under_fs;
    mutex_init(&f->mutex);
    return &f->fs;
}

void fault_fs_free(struct fs *fs)
{
    if (fs == NULL)
        return;
    mutex_release(&faulty(fs)->mutex);
    mem_free(faulty(fs));
}

void fault_fs_add(struct fs *fs, struct fault fault)
{
    struct fault_fs *f = faulty(fs);

    ASSERT(fault.os_errno != 0 && fault.times > 0);
    mutex_lock(&f->mutex);
    ASSERT(f->armed_count < FAULTS_MAX);
    f->armed[f->armed_count++] = (struct armed){.fault = fault};
    mutex_unlock(&f->mutex);
}

void fault_fs_locks(struct fs *fs, enum fault_locks what)
{
    mutex_lock(&faulty(fs)->mutex);
    faulty(fs)->locks = what;
    mutex_unlock(&faulty(fs)->mutex);
}

void fault_fs_clear(struct fs *fs)
{
    mutex_lock(&faulty(fs)->mutex);
    faulty(fs)->armed_count = 0;
    mutex_unlock(&faulty(fs)->mutex);
}

uint64_t fault_fs_count_of(const struct fs *fs, uint32_t kinds)
{
    struct fault_fs *f = faulty(fs);
    uint64_t sum = 0;

    mutex_lock(&f->mutex);
    for (unsigned i = 0; i < KINDS; i++)
        if ((kinds & (1u << i)) != 0)
            sum += f->counts[i];
    mutex_unlock(&f->mutex);
    return sum;
}

uint64_t fault_fs_count(const struct fs *fs)
{
    return fault_fs_count_of(fs, FAULT_ANY);
}

uint64_t fault_fs_hits(const struct fs *fs)
{
    struct fault_fs *f = faulty(fs);
    uint64_t hits;

    mutex_lock(&f->mutex);
    hits = f->hits;
    mutex_unlock(&f->mutex);
    return hits;
}
