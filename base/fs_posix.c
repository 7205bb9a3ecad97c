/* fs_posix.c - the real file system. The only file with file calls (see fs.h).
 * Thread: any; holds no state but open descriptors. */
#include "base/arena.h"
#include "base/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

struct posix_file {
    struct fs_file base;
    int fd;
};

static struct posix_file *posix_file(struct fs_file *f)
{
    return (struct posix_file *)f;
}

static int open_fd(const char *path, int flags)
{
    int fd;

    do
        fd = open(path, flags | O_CLOEXEC, 0666);
    while (fd < 0 && errno == EINTR);
    return fd;
}

static struct fs_file *wrap_fd(struct fs *fs, const char *path, int fd)
{
    struct posix_file *f = mem_alloc(sizeof *f);

    *f = (struct posix_file){.base = {.fs = fs, .path = mem_strdup(path)}, .fd = fd};
    return &f->base;
}

static enum rc posix_create(struct fs *fs, const char *path, struct fs_file **out, struct err *err)
{
    int fd = open_fd(path, O_RDWR | O_CREAT | O_EXCL);

    if (fd < 0)
        return err_os(err, errno, "create %s", path);
    *out = wrap_fd(fs, path, fd);
    return RC_OK;
}

static enum rc posix_open_read(struct fs *fs, const char *path, struct fs_file **out,
                               struct err *err)
{
    int fd = open_fd(path, O_RDONLY);

    if (fd < 0)
        return err_os(err, errno, "open %s", path);
    *out = wrap_fd(fs, path, fd);
    return RC_OK;
}

static enum rc posix_open_append(struct fs *fs, const char *path, uint64_t length,
                                 struct fs_file **out, struct err *err)
{
    struct stat st;
    enum rc rc;
    int fd;

    fd = open_fd(path, O_RDWR);
    if (fd < 0)
        return err_os(err, errno, "open %s for appending", path);
    if (fstat(fd, &st) != 0) {
        rc = err_os(err, errno, "stat %s", path);
        goto fail;
    }
    if ((uint64_t)st.st_size < length) {
        rc = err_set(err, RC_CORRUPT, "open %s for appending at %llu: it has only %lld bytes", path,
                     (unsigned long long)length, (long long)st.st_size);
        goto fail;
    }
    if ((uint64_t)st.st_size > length && ftruncate(fd, (off_t)length) != 0) {
        rc = err_os(err, errno, "truncate %s to %llu bytes", path, (unsigned long long)length);
        goto fail;
    }
    if (lseek(fd, 0, SEEK_END) < 0) {
        rc = err_os(err, errno, "seek in %s", path);
        goto fail;
    }
    *out = wrap_fd(fs, path, fd);
    return RC_OK;
fail:
    close(fd);
    return rc;
}

static enum rc posix_read_at(struct fs_file *f, uint64_t offset, void *out, size_t len, size_t *got,
                             struct err *err)
{
    int fd = posix_file(f)->fd;

    while (*got < len) {
        ssize_t n = pread(fd, (uint8_t *)out + *got, len - *got, (off_t)(offset + *got));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_os(err, errno, "read %s at %llu", f->path,
                          (unsigned long long)(offset + *got));
        if (n == 0)
            break;
        *got += (size_t)n;
    }
    return RC_OK;
}

static enum rc posix_append(struct fs_file *f, struct bytes data, struct err *err)
{
    int fd = posix_file(f)->fd;

    while (data.len > 0) {
        ssize_t n = write(fd, data.data, data.len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_os(err, errno, "write %zu bytes to %s", data.len, f->path);
        data = bytes_of(data.data + n, data.len - (size_t)n);
    }
    return RC_OK;
}

static enum rc posix_sync(struct fs_file *f, struct err *err)
{
    /* Not repeated after an error: the kernel may have dropped the pages, and a second call would
     * lie. */
    if (fsync(posix_file(f)->fd) != 0)
        return err_os(err, errno, "sync %s", f->path);
    return RC_OK;
}

static enum rc posix_size(struct fs_file *f, uint64_t *size_bytes, struct err *err)
{
    struct stat st;

    if (fstat(posix_file(f)->fd, &st) != 0)
        return err_os(err, errno, "stat %s", f->path);
    *size_bytes = (uint64_t)st.st_size;
    return RC_OK;
}

static enum rc posix_close(struct fs_file *f, struct err *err)
{
    enum rc rc = RC_OK;

    /* EINTR too: on Linux the descriptor is gone then, and what it says about the data is unknown.
     */
    if (close(posix_file(f)->fd) != 0)
        rc = err_os(err, errno, "close %s", f->path);
    mem_free(f->path);
    mem_free(f);
    return rc;
}

static void posix_abandon(struct fs_file *f)
{
    close(posix_file(f)->fd);
    mem_free(f->path);
    mem_free(f);
}

static enum rc posix_rename(struct fs *fs UNUSED, const char *from, const char *to, struct err *err)
{
    if (rename(from, to) != 0)
        return err_os(err, errno, "rename %s to %s", from, to);
    return RC_OK;
}

/* errno values by which a file system says "not here": the caller copies instead. */
static bool means_no_link(int os_errno)
{
    return os_errno == EXDEV || os_errno == EPERM || os_errno == ENOTSUP ||
           os_errno == EOPNOTSUPP || os_errno == EMLINK;
}

static enum rc refuse_link(struct err *err, const char *operation, const char *from, const char *to,
                           int os_errno)
{
    char reason[128];

    if (err == NULL || err->rc != RC_OK)
        return RC_NO_LINK;
    err_set(err, RC_NO_LINK, "%s %s to %s: %s", operation, from, to,
            strerror_r(os_errno, reason, sizeof reason));
    err->os_errno = os_errno;
    return RC_NO_LINK;
}

static enum rc posix_link(struct fs *fs UNUSED, const char *from, const char *to, struct err *err)
{
    /* Of the file itself where a symbolic link leads to it. */
    if (linkat(AT_FDCWD, from, AT_FDCWD, to, AT_SYMLINK_FOLLOW) == 0)
        return RC_OK;
    if (means_no_link(errno))
        return refuse_link(err, "link", from, to, errno);
    return err_os(err, errno, "link %s to %s", from, to);
}

static enum rc posix_reflink(struct fs *fs UNUSED, const char *from, const char *to,
                             struct err *err)
{
    int in = -1, copy = -1, failed = 0;
    enum rc rc = RC_OK;

    in = open_fd(from, O_RDONLY);
    if (in < 0)
        return err_os(err, errno, "open %s", from);
    copy = open_fd(to, O_WRONLY | O_CREAT | O_EXCL);
    if (copy < 0) {
        rc = err_os(err, errno, "create %s", to);
        close(in);
        return rc;
    }
    if (ioctl(copy, FICLONE, in) != 0) {
        failed = errno;
        /* EINVAL, ENOTTY and ENOSYS as well: how a file system that never heard of it answers. */
        if (means_no_link(failed) || failed == EINVAL || failed == ENOTTY || failed == ENOSYS)
            rc = refuse_link(err, "reflink", from, to, failed);
        else
            rc = err_os(err, failed, "reflink %s to %s", from, to);
    } else if (fsync(copy) != 0) {
        rc = err_os(err, errno, "sync %s", to);
    }
    if (close(copy) != 0 && rc == RC_OK)
        rc = err_os(err, errno, "close %s", to);
    close(in);
    if (rc != RC_OK)
        unlink(to);
    return rc;
}

static enum rc posix_symlink(struct fs *fs UNUSED, const char *target, const char *path,
                             struct err *err)
{
    if (symlink(target, path) == 0)
        return RC_OK;
    if (means_no_link(errno))
        return refuse_link(err, "symlink", target, path, errno);
    return err_os(err, errno, "symlink %s to %s", path, target);
}

static enum rc posix_unlink(struct fs *fs UNUSED, const char *path, struct err *err)
{
    if (unlink(path) != 0)
        return err_os(err, errno, "unlink %s", path);
    return RC_OK;
}

static enum rc posix_rmdir(struct fs *fs UNUSED, const char *path, struct err *err)
{
    if (rmdir(path) == 0)
        return RC_OK;
    /* POSIX lets a directory that is not empty answer either way; RC_EXISTS would read as "taken".
     */
    return err_os(err, errno == EEXIST ? ENOTEMPTY : errno, "remove directory %s", path);
}

static enum rc posix_mkdir(struct fs *fs UNUSED, const char *path, struct err *err)
{
    if (mkdir(path, 0777) != 0)
        return err_os(err, errno, "make directory %s", path);
    return RC_OK;
}

static enum rc posix_list(struct fs *fs UNUSED, const char *path, fs_list_fn *fn, void *ctx,
                          struct err *err)
{
    struct dirent *entry;
    enum rc rc = RC_OK;
    DIR *dir;

    dir = opendir(path);
    if (dir == NULL)
        return err_os(err, errno, "list %s", path);
    while (rc == RC_OK) {
        errno = 0;
        entry = readdir(dir);
        if (entry == NULL) {
            if (errno != 0)
                rc = err_os(err, errno, "list %s", path);
            break;
        }
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            rc = fn(ctx, entry->d_name, err);
    }
    closedir(dir);
    return rc;
}

static int64_t wall_ms_of(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static enum rc posix_stat(struct fs *fs UNUSED, const char *path, struct fs_stat *out,
                          struct err *err)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return err_os(err, errno, "stat %s", path);
    *out = (struct fs_stat){
        .type = S_ISREG(st.st_mode)   ? FS_FILE
                : S_ISDIR(st.st_mode) ? FS_DIR
                                      : FS_OTHER,
        .size_bytes = (uint64_t)st.st_size,
        .mtime_wall_ms = wall_ms_of(st.st_mtim),
        .ctime_wall_ms = wall_ms_of(st.st_ctim),
        .inode = st.st_ino,
        .device = st.st_dev,
        .link_count = st.st_nlink,
    };
    return RC_OK;
}

static enum rc posix_sync_dir(struct fs *fs UNUSED, const char *path, struct err *err)
{
    enum rc rc = RC_OK;
    int fd = open_fd(path, O_RDONLY | O_DIRECTORY);

    if (fd < 0)
        return err_os(err, errno, "open directory %s", path);
    if (fsync(fd) != 0)
        rc = err_os(err, errno, "sync directory %s", path);
    close(fd);
    return rc;
}

static enum rc posix_lock(struct fs *fs, const char *path, struct fs_file **out, struct err *err)
{
    int fd = open_fd(path, O_RDWR | O_CREAT), done;

    if (fd < 0 && (errno == EROFS || errno == EACCES || errno == EPERM))
        fd = open_fd(path, O_RDONLY); /* who may only read can still ask whether it is held */
    if (fd < 0)
        return err_os(err, errno, "lock %s", path);
    do
        done = flock(fd, LOCK_EX | LOCK_NB);
    while (done != 0 && errno == EINTR);
    if (done != 0) {
        enum rc rc = errno == EWOULDBLOCK
                         ? err_set(err, RC_STATE, "lock %s: another process holds it", path)
                         : err_os(err, errno, "lock %s", path);

        close(fd);
        return rc;
    }
    *out = wrap_fd(fs, path, fd);
    return RC_OK;
}

static uint64_t posix_open_files_max(struct fs *fs)
{
    struct rlimit limit;

    (void)fs;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    return limit.rlim_cur;
}

void fs_posix_raise_open_files(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)!setrlimit(RLIMIT_NOFILE, &limit); /* what may be opened is asked for, not assumed */
}

static const struct fs_ops posix_ops = {
    .create = posix_create,
    .open_read = posix_open_read,
    .open_append = posix_open_append,
    .read_at = posix_read_at,
    .append = posix_append,
    .sync = posix_sync,
    .size = posix_size,
    .close = posix_close,
    .abandon = posix_abandon,
    .rename = posix_rename,
    .link = posix_link,
    .reflink = posix_reflink,
    .symlink = posix_symlink,
    .unlink = posix_unlink,
    .rmdir = posix_rmdir,
    .mkdir = posix_mkdir,
    .list = posix_list,
    .stat = posix_stat,
    .sync_dir = posix_sync_dir,
    .lock = posix_lock,
    .open_files_max = posix_open_files_max,
};

struct fs *fs_posix(void)
{
    static struct fs posix = {.ops = &posix_ops}; /* never changes */

    return &posix;
}
