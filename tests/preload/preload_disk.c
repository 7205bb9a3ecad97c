/* preload_disk.c - goes between a varve process and its disk (LD_PRELOAD): writes down every change in
 * order, or lets one call fail. RocksDB's calls pass here as ours do.
 *
 * Only what lies below PRELOAD_ROOT counts, and what is said on stderr. Environment:
 *
 *     PRELOAD_ROOT=/abs/dir
 *     PRELOAD_VERB=word        all this only in processes whose first argument is that word
 *     PRELOAD_JOURNAL=file     every change there, in the order in which it happened (records below)
 *     PRELOAD_FAIL=class:k:errno[:on]
 *                              the k-th call (from 1) of that class gives that errno, with `on` each
 *                              later one too; errno 0: a write or read that is cut short. Classes:
 *                              `change`; `read` of content; `look` at names (lists, stat)
 *     PRELOAD_SKIP=text        paths that hold this text do not count for PRELOAD_FAIL
 *     PRELOAD_SLOW=ms:k        the first k syncs take that long
 *     PRELOAD_KILL=text:k      the process dies before its k-th rename to a name that holds this text
 *     PRELOAD_COUNT=file       at the end of the process: "changes <n> reads <n> looks <n> hits <n>"
 *
 * A record of the journal is a struct record in the machine's byte order, then two names and the
 * data. Calls are made one at a time, with the record under the same lock, so that the order is the
 * disk's. What a process maps, splices or does by a file descriptor that it got from elsewhere isn't
 * seen; varve and RocksDB do none of it in these directories. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FDS_MAX 4096
#define PATH_ROOM 1024
#define DIRS_MAX 64

enum op {
    OP_CREATE = 1, /* name, inode: a new, empty file */
    OP_TRUNCATE,   /* inode, offset: the new length */
    OP_WRITE,      /* inode, offset, data */
    OP_SYNC,       /* inode: the data of a file */
    OP_SYNC_DIR,   /* name: the names in a directory */
    OP_RENAME,     /* name, second */
    OP_LINK,       /* name, second */
    OP_UNLINK,     /* name */
    OP_MKDIR,      /* name */
    OP_RMDIR,      /* name */
    OP_SAY,        /* data, said on stderr */
};
struct record {
    uint32_t op, name_len, second_len, unused;
    uint64_t inode;
    int64_t offset;
    uint64_t data_len;
};

enum class { CHANGE, READ, LOOK, CLASSES };

struct fd_info {
    bool is_dir, is_written;
    dev_t device;
    ino_t inode;
    char path[PATH_ROOM];
};

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static struct fd_info *fds[FDS_MAX]; /* NULL: does not count */
static char root[PATH_ROOM], skip[PATH_ROOM], count_path[PATH_ROOM];
static size_t root_len;
static int journal = -1;
static char kill_text[PATH_ROOM];
static unsigned slow_ms, slow_count, kill_count;
static bool fail_on;
static enum class fail_class;
static uint64_t fail_at; /* 0: nothing fails */
static int fail_errno;
static uint64_t counted[CLASSES], hits;
static DIR *dirs[DIRS_MAX]; /* that count and are open */

#define REAL(name, result, ...)                                                                    \
    static result (*real)(__VA_ARGS__);                                                            \
    if (real == NULL)                                                                              \
    *(void **)&real = dlsym(RTLD_NEXT, name)

/* ---- settings -------------------------------------------------------------------------------- */

static void copy_variable(const char *name, char out[PATH_ROOM])
{
    const char *value = getenv(name);

    if (value != NULL)
        snprintf(out, PATH_ROOM, "%s", value);
}

static void read_fail(const char *text)
{
    static const char *const names[CLASSES] = {"change", "read", "look"};
    char class[16] = "", on[8] = "";
    unsigned long long at;
    int words = sscanf(text, "%15[a-z]:%llu:%d:%7s", class, &at, &fail_errno, on);

    while (fail_class < CLASSES && strcmp(class, names[fail_class]) != 0)
        fail_class++;
    if (words < 3 || fail_class == CLASSES) {
        fprintf(stderr, "preload_disk: PRELOAD_FAIL=%s is not class:k:errno[:on]\n", text);
        _exit(99);
    }
    fail_at = at;
    fail_on = strcmp(on, "on") == 0;
}

/* "<text>:<number>" -> the two; "" and 0: not set. */
static unsigned read_pair(const char *name, char text[PATH_ROOM])
{
    char *colon;

    copy_variable(name, text);
    colon = strrchr(text, ':');
    if (colon == NULL)
        return 0;
    *colon = 0;
    return (unsigned)strtoul(colon + 1, NULL, 10);
}

/* glibc gives constructors what it gives main. */
__attribute__((constructor)) static void begin(int argc, char **argv)
{
    const char *path = getenv("PRELOAD_JOURNAL"), *verb = getenv("PRELOAD_VERB");
    char ms[PATH_ROOM];

    if (verb != NULL && (argc < 2 || strcmp(argv[1], verb) != 0))
        return; /* without a root nothing counts */
    slow_count = read_pair("PRELOAD_SLOW", ms);
    slow_ms = (unsigned)strtoul(ms, NULL, 10);
    kill_count = read_pair("PRELOAD_KILL", kill_text);
    copy_variable("PRELOAD_ROOT", root);
    copy_variable("PRELOAD_SKIP", skip);
    copy_variable("PRELOAD_COUNT", count_path);
    root_len = strlen(root);
    if (getenv("PRELOAD_FAIL") != NULL)
        read_fail(getenv("PRELOAD_FAIL"));
    if (path != NULL) /* not by open(): it is not to be seen */
        journal = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                               0600);
}

__attribute__((destructor)) static void end(void)
{
    char text[128];
    int fd;

    if (count_path[0] == 0)
        return;
    fd = (int)syscall(SYS_openat, AT_FDCWD, count_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    snprintf(text, sizeof text, "changes %llu reads %llu looks %llu hits %llu\n",
             (unsigned long long)counted[CHANGE], (unsigned long long)counted[READ],
             (unsigned long long)counted[LOOK], (unsigned long long)hits);
    (void)!syscall(SYS_write, fd, text, strlen(text));
    syscall(SYS_close, fd);
}

/* ---- what counts ------------------------------------------------------------------------------ */

static bool counts(const char *path)
{
    return root_len > 0 && strncmp(path, root, root_len) == 0 &&
           (path[root_len] == '/' || path[root_len] == 0);
}

/* NULL: it does not count. fclose() closes unseen: then the number may mean another file by now. */
static struct fd_info *info_of(int fd)
{
    struct fd_info *f = fd >= 0 && fd < FDS_MAX ? fds[fd] : NULL;
    struct stat st;

    return f != NULL && fstat(fd, &st) == 0 && st.st_dev == f->device && st.st_ino == f->inode ? f
                                                                                               : NULL;
}

static void track(int fd, const char *path, bool is_written)
{
    struct stat st;

    if (fd < 0 || fd >= FDS_MAX || !counts(path) || fstat(fd, &st) != 0)
        return;
    if (fds[fd] == NULL)
        fds[fd] = calloc(1, sizeof *fds[fd]);
    fds[fd]->is_dir = S_ISDIR(st.st_mode);
    fds[fd]->is_written = is_written;
    fds[fd]->device = st.st_dev;
    fds[fd]->inode = st.st_ino;
    snprintf(fds[fd]->path, PATH_ROOM, "%s", path);
}

static uint64_t inode_of(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 ? (uint64_t)st.st_ino : 0;
}

/* Counts a call on a path that counts; true: it is the one that fails. */
static bool fails(enum class class, const char *path)
{
    uint64_t nth;

    if (skip[0] != 0 && strstr(path, skip) != NULL)
        return false;
    nth = ++counted[class];
    if (fail_at == 0 || class != fail_class || !(nth == fail_at || (fail_on && nth > fail_at)))
        return false;
    hits++;
    return true;
}

/* Counts a call that can't be cut short; true: it fails, and errno is set. */
static bool refused(enum class class, const char *path)
{
    if (!fails(class, path))
        return false;
    errno = fail_errno == 0 ? EIO : fail_errno;
    return true;
}

static void note(enum op op, uint64_t inode, int64_t offset, const char *name, const char *second,
                 const void *data, size_t len)
{
    struct record r = {.op = (uint32_t)op,
                       .name_len = name == NULL ? 0 : (uint32_t)strlen(name),
                       .second_len = second == NULL ? 0 : (uint32_t)strlen(second),
                       .inode = inode,
                       .offset = offset,
                       .data_len = len};

    if (journal < 0)
        return;
    (void)!syscall(SYS_write, journal, &r, sizeof r);
    (void)!syscall(SYS_write, journal, name, r.name_len);
    (void)!syscall(SYS_write, journal, second, r.second_len);
    for (size_t at = 0; at < len;) {
        long n = syscall(SYS_write, journal, (const char *)data + at, len - at);

        if (n <= 0)
            abort(); /* the journal itself can't be written */
        at += (size_t)n;
    }
}

/* ---- files ------------------------------------------------------------------------------------ */

/* Its O_CREAT makes the file, or its O_TRUNC empties it: only then it is a change. */
static int open_tracked(int (*real)(const char *, int, ...), const char *path, int flags,
                        mode_t mode)
{
    bool creates, empties = (flags & O_TRUNC) != 0;
    int fd = -1;

    pthread_mutex_lock(&lock); /* before the look: another thread may be deleting that name */
    creates = (flags & O_CREAT) != 0 && faccessat(AT_FDCWD, path, F_OK, 0) != 0;
    if (fails(creates || empties ? CHANGE : READ, path) && fail_errno != 0) {
        errno = fail_errno;
    } else {
        fd = real(path, flags, mode);
        if (fd >= 0 && creates)
            note(OP_CREATE, inode_of(fd), 0, path, NULL, NULL, 0);
        else if (fd >= 0 && empties)
            note(OP_TRUNCATE, inode_of(fd), 0, NULL, NULL, NULL, 0);
        track(fd, path, (flags & O_ACCMODE) != O_RDONLY);
    }
    pthread_mutex_unlock(&lock);
    return fd;
}

int open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    REAL("open", int, const char *, int, ...);

    if ((flags & (O_CREAT | O_TMPFILE)) != 0) {
        va_list args;

        va_start(args, flags);
        mode = va_arg(args, mode_t);
        va_end(args);
    }
    return counts(path) ? open_tracked(real, path, flags, mode) : real(path, flags, mode);
}

/* One that fails has closed nonetheless, and what was written may be lost. */
int close(int fd)
{
    REAL("close", int, int);
    struct fd_info *f = info_of(fd);
    int got;

    if (f == NULL)
        return real(fd);
    pthread_mutex_lock(&lock);
    f->inode = 0; /* kept: another thread may be about to look */
    got = real(fd);
    if (f->is_written && refused(CHANGE, f->path))
        got = -1;
    pthread_mutex_unlock(&lock);
    return got;
}

static ssize_t refuse_or(size_t *len)
{
    if (fail_errno == 0 && *len > 1) {
        *len /= 2;
        return 0;
    }
    errno = fail_errno == 0 ? EIO : fail_errno;
    return -1;
}

ssize_t write(int fd, const void *data, size_t len)
{
    REAL("write", ssize_t, int, const void *, size_t);
    struct fd_info *f = info_of(fd);
    ssize_t n = 0;

    if (f == NULL && fd != 2)
        return real(fd, data, len);
    pthread_mutex_lock(&lock);
    if (f != NULL && fails(CHANGE, f->path))
        n = refuse_or(&len);
    if (n == 0)
        n = real(fd, data, len);
    if (n > 0 && f == NULL)
        note(OP_SAY, 0, 0, NULL, NULL, data, (size_t)n);
    else if (n > 0)
        note(OP_WRITE, inode_of(fd), (int64_t)lseek(fd, 0, SEEK_CUR) - n, NULL, NULL, data,
             (size_t)n);
    pthread_mutex_unlock(&lock);
    return n;
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t offset)
{
    REAL("pwrite", ssize_t, int, const void *, size_t, off_t);
    struct fd_info *f = info_of(fd);
    ssize_t n = 0;

    if (f == NULL)
        return real(fd, data, len, offset);
    pthread_mutex_lock(&lock);
    if (fails(CHANGE, f->path))
        n = refuse_or(&len);
    if (n == 0)
        n = real(fd, data, len, offset);
    if (n > 0)
        note(OP_WRITE, inode_of(fd), (int64_t)offset, NULL, NULL, data, (size_t)n);
    pthread_mutex_unlock(&lock);
    return n;
}

ssize_t pread(int fd, void *out, size_t len, off_t offset)
{
    REAL("pread", ssize_t, int, void *, size_t, off_t);
    struct fd_info *f = info_of(fd);
    ssize_t n = 0;

    if (f == NULL)
        return real(fd, out, len, offset);
    pthread_mutex_lock(&lock);
    if (fails(READ, f->path))
        n = refuse_or(&len);
    pthread_mutex_unlock(&lock);
    return n < 0 ? n : real(fd, out, len, offset);
}

ssize_t read(int fd, void *out, size_t len)
{
    REAL("read", ssize_t, int, void *, size_t);
    struct fd_info *f = info_of(fd);
    ssize_t n = 0;

    if (f == NULL)
        return real(fd, out, len);
    pthread_mutex_lock(&lock);
    if (fails(READ, f->path))
        n = refuse_or(&len);
    pthread_mutex_unlock(&lock);
    return n < 0 ? n : real(fd, out, len);
}

/* RocksDB reads CURRENT and MANIFEST by it. A short count without the end of the file is an error to
 * who calls, so errno 0 is EIO here. */
size_t(fread_unlocked)(void *out, size_t size, size_t count, FILE *file)
{
    REAL("fread_unlocked", size_t, void *, size_t, size_t, FILE *);
    struct fd_info *f = info_of(fileno(file));
    bool refuse;

    if (f == NULL)
        return real(out, size, count, file);
    pthread_mutex_lock(&lock);
    refuse = refused(READ, f->path);
    pthread_mutex_unlock(&lock);
    return refuse ? 0 : real(out, size, count, file);
}

int fallocate(int fd, int mode, off_t offset, off_t length)
{
    REAL("fallocate", int, int, int, off_t, off_t);
    struct fd_info *f = info_of(fd);
    bool refuse;

    if (f == NULL)
        return real(fd, mode, offset, length);
    pthread_mutex_lock(&lock);
    refuse = refused(CHANGE, f->path);
    pthread_mutex_unlock(&lock);
    return refuse ? -1 : real(fd, mode, offset, length);
}

int ftruncate(int fd, off_t length)
{
    REAL("ftruncate", int, int, off_t);
    struct fd_info *f = info_of(fd);
    int got = -1;

    if (f == NULL)
        return real(fd, length);
    pthread_mutex_lock(&lock);
    if (!refused(CHANGE, f->path))
        got = real(fd, length);
    if (got == 0)
        note(OP_TRUNCATE, inode_of(fd), (int64_t)length, NULL, NULL, NULL, 0);
    pthread_mutex_unlock(&lock);
    return got;
}

static void wait_if_slow(void)
{
    bool slow;

    pthread_mutex_lock(&lock);
    slow = slow_count > 0;
    slow_count -= slow;
    pthread_mutex_unlock(&lock);
    if (slow)
        usleep(slow_ms * 1000);
}

static int sync_tracked(int (*real)(int), int fd, struct fd_info *f)
{
    int got = -1;

    wait_if_slow();
    pthread_mutex_lock(&lock);
    if (!refused(CHANGE, f->path))
        got = real(fd);
    if (got == 0 && f->is_dir)
        note(OP_SYNC_DIR, 0, 0, f->path, NULL, NULL, 0);
    else if (got == 0)
        note(OP_SYNC, inode_of(fd), 0, NULL, NULL, NULL, 0);
    pthread_mutex_unlock(&lock);
    return got;
}

int fsync(int fd)
{
    REAL("fsync", int, int);

    return info_of(fd) == NULL ? real(fd) : sync_tracked(real, fd, info_of(fd));
}

int fdatasync(int fd)
{
    REAL("fdatasync", int, int);

    return info_of(fd) == NULL ? real(fd) : sync_tracked(real, fd, info_of(fd));
}

/* ---- names ------------------------------------------------------------------------------------ */

static int on_names(int (*real)(const char *, const char *), enum op op, const char *from,
                    const char *to)
{
    int got = -1;

    if (!counts(from) && !counts(to))
        return real(from, to);
    pthread_mutex_lock(&lock);
    if (op == OP_RENAME && kill_count > 0 && strstr(to, kill_text) != NULL && --kill_count == 0)
        kill(getpid(), SIGKILL);
    if (!refused(CHANGE, to))
        got = real(from, to);
    if (got == 0)
        note(op, 0, 0, from, to, NULL, 0);
    pthread_mutex_unlock(&lock);
    return got;
}

int rename(const char *from, const char *to)
{
    REAL("rename", int, const char *, const char *);

    return on_names(real, OP_RENAME, from, to);
}

/* A call of linkat in the shape of link. */
static __thread int linkat_flags;
static __thread int (*linkat_real)(int, const char *, int, const char *, int);

static int link_by_linkat(const char *from, const char *to)
{
    return linkat_real(AT_FDCWD, from, AT_FDCWD, to, linkat_flags);
}

int link(const char *from, const char *to)
{
    REAL("link", int, const char *, const char *);

    return on_names(real, OP_LINK, from, to);
}

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    REAL("linkat", int, int, const char *, int, const char *, int);

    if (from_dir != AT_FDCWD || to_dir != AT_FDCWD)
        abort(); /* not seen yet */
    linkat_flags = flags;
    linkat_real = real;
    return on_names(link_by_linkat, OP_LINK, from, to);
}

static int on_name(int (*real)(const char *), enum op op, const char *path)
{
    int got = -1;

    if (!counts(path))
        return real(path);
    pthread_mutex_lock(&lock);
    if (!refused(CHANGE, path))
        got = real(path);
    if (got == 0)
        note(op, 0, 0, path, NULL, NULL, 0);
    pthread_mutex_unlock(&lock);
    return got;
}

int unlink(const char *path)
{
    REAL("unlink", int, const char *);

    return on_name(real, OP_UNLINK, path);
}

int rmdir(const char *path)
{
    REAL("rmdir", int, const char *);

    return on_name(real, OP_RMDIR, path);
}

int mkdir(const char *path, mode_t mode)
{
    REAL("mkdir", int, const char *, mode_t);
    int got = -1;

    if (!counts(path))
        return real(path, mode);
    pthread_mutex_lock(&lock);
    if (!refused(CHANGE, path))
        got = real(path, mode);
    if (got == 0)
        note(OP_MKDIR, 0, 0, path, NULL, NULL, 0);
    pthread_mutex_unlock(&lock);
    return got;
}

/* ---- looks ------------------------------------------------------------------------------------ */

static bool look_refused(const char *path)
{
    bool refuse;

    pthread_mutex_lock(&lock);
    refuse = refused(LOOK, path);
    pthread_mutex_unlock(&lock);
    return refuse;
}

int stat(const char *path, struct stat *out)
{
    REAL("stat", int, const char *, struct stat *);

    return counts(path) && look_refused(path) ? -1 : real(path, out);
}

int access(const char *path, int how)
{
    REAL("access", int, const char *, int);

    return counts(path) && look_refused(path) ? -1 : real(path, how);
}

DIR *opendir(const char *path)
{
    REAL("opendir", DIR *, const char *);
    DIR *d;

    if (!counts(path))
        return real(path);
    if (look_refused(path))
        return NULL;
    d = real(path);
    pthread_mutex_lock(&lock);
    for (size_t i = 0; d != NULL && i < DIRS_MAX; i++) {
        if (dirs[i] == NULL) {
            dirs[i] = d;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    return d;
}

/* Forgets it too, when it is about to be closed. */
static bool dir_counts(DIR *d, bool closes)
{
    bool found = false;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < DIRS_MAX; i++) {
        if (dirs[i] == d) {
            found = true;
            dirs[i] = closes ? NULL : d;
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}

struct dirent *readdir(DIR *d)
{
    REAL("readdir", struct dirent *, DIR *);

    return dir_counts(d, false) && look_refused("") ? NULL : real(d);
}

int closedir(DIR *d)
{
    REAL("closedir", int, DIR *);

    (void)dir_counts(d, true);
    return real(d);
}
