/* fault_fs.h - a file system over another one, of which chosen operations fail.
 *
 * Run a scenario once and take fault_fs_count(); then, for each k below it, run it anew with
 *
 *     fault_fs_add(fs, (struct fault){.at = k, .times = 1, .os_errno = EIO});
 *
 * and expect a clean error, no leak, and success on the next try. Reads count too. A failed
 * operation leaves the file system under it untouched, except: a short write leaves half of its
 * bytes, a failed close closes, a late failure (`done`) happens after the work, as when the answer
 * of a file server is lost. Codes and messages are those of fs_posix(): link and reflink with
 * EXDEV, EPERM, ENOTSUP, EMLINK give RC_NO_LINK. Thread: any.
 */
#ifndef VARVE_TESTS_LIB_FAULT_FS_H
#define VARVE_TESTS_LIB_FAULT_FS_H

#include "base/fs.h"

enum fault_kind {
    FAULT_CREATE = 1 << 0,
    FAULT_OPEN_READ = 1 << 1,
    FAULT_OPEN_APPEND = 1 << 2,
    FAULT_READ = 1 << 3,
    FAULT_APPEND = 1 << 4,
    FAULT_SYNC = 1 << 5,
    FAULT_SIZE = 1 << 6,
    FAULT_CLOSE = 1 << 7, /* fs_abandon is not counted and cannot fail */
    FAULT_RENAME = 1 << 8,
    FAULT_LINK = 1 << 9, /* symbolic ones too */
    FAULT_REFLINK = 1 << 10,
    FAULT_UNLINK = 1 << 11,
    FAULT_RMDIR = 1 << 12,
    FAULT_MKDIR = 1 << 13,
    FAULT_LIST = 1 << 14,
    FAULT_STAT = 1 << 15,
    FAULT_SYNC_DIR = 1 << 16,
    FAULT_LOCK = 1 << 17,
    FAULT_ANY = (1 << 18) - 1,
};

struct fault {
    uint32_t kinds;   /* any of enum fault_kind; 0 = FAULT_ANY */
    const char *path; /* pattern of fnmatch(3), "*" matches slashes; NULL = any; rename, link:
                         either name. Borrowed until cleared */
    uint64_t at;      /* fails the at-th (from 0) operation that fits, counted from fault_fs_add */
    uint64_t times;   /* ... and the next ones, so many in all; UINT64_MAX: from then on for ever */
    int os_errno;     /* EIO, ENOSPC, .. */
    bool short_write; /* an append writes half of its bytes first */
    bool done;        /* the operation is carried out, then reported as failed */
};
#define FAULTS_MAX 8

struct fs *fault_fs_new(struct fs *under); /* under is borrowed */
void fault_fs_free(struct fs *fs);         /* every file closed */
void fault_fs_add(struct fs *fs, struct fault fault);
void fault_fs_clear(struct fs *fs);           /* no more faults; counts stay */
uint64_t fault_fs_count(const struct fs *fs); /* operations so far */
uint64_t fault_fs_hits(const struct fs *fs);  /* of which failed by a fault */
/* What becomes of locks that are held, as of a remote lease: lost and known; lost, and found out when it
 * has to be certain; not known, since nobody answers. Not counted. */
enum fault_locks { FAULT_LOCKS_HELD, FAULT_LOCKS_LOST, FAULT_LOCKS_LOST_UNSEEN, FAULT_LOCKS_UNKNOWN };
void fault_fs_locks(struct fs *fs, enum fault_locks what);
/* Operations of these kinds so far. */
uint64_t fault_fs_count_of(const struct fs *fs, uint32_t kinds);

#endif
