/* fs.h - the file system behind the seam: a function table with checked wrappers.
 *
 * Nothing else in the tree touches files (RocksDB's own databases apart). Paths are absolute or
 * relative to the process, or remote ("hdfs://host:port/dir"), at most FS_PATH_MAX - 1 bytes. Every wrapper writes a
 * message that names operation and path. Durability is explicit: content by fs_sync, a name by fs_sync_dir of its
 * directory.
 * Implementations: fs_posix(); fs_mux.h, which passes calls on by scheme; fs_webhdfs.h; tests/lib/sim_fs.h,
 * tests/lib/fault_fs.h.
 * Thread: fs calls from any thread; a fs_file belongs to one thread at a time.
 */
#ifndef VARVE_BASE_FS_H
#define VARVE_BASE_FS_H

#include "base/bytes.h"

#define FS_PATH_MAX 4096

struct fs;
struct fs_file;

enum fs_type { FS_FILE, FS_DIR, FS_OTHER };
struct fs_stat {
    enum fs_type type;
    uint64_t size_bytes;
    int64_t mtime_wall_ms, ctime_wall_ms;
    uint64_t inode, device, link_count;
};
/* When content, name or links last changed: an mtime alone can be set back. */
static inline int64_t fs_changed_wall_ms(const struct fs_stat *st)
{
    return st->mtime_wall_ms > st->ctime_wall_ms ? st->mtime_wall_ms : st->ctime_wall_ms;
}
/* Called for each name of a directory, without "." and "..", in no order; a non-OK code stops the walk. */
typedef enum rc fs_list_fn(void *ctx, const char *name, struct err *err);

/* The same, with what fs_stat says of each. */
typedef enum rc fs_list_stat_fn(void *ctx, const char *name, const struct fs_stat *st,
                                struct err *err);

/* What a publish finds under its name: nothing, or what it takes the place of. */
enum fs_publish_mode { FS_PUBLISH_NEW, FS_PUBLISH_REPLACE };

/* The last eight may be NULL: then the fs_ call does what its comment says of a local file system. */
struct fs_ops {
    enum rc (*create)(struct fs *, const char *path, struct fs_file **out, struct err *);
    enum rc (*open_read)(struct fs *, const char *path, struct fs_file **out, struct err *);
    enum rc (*open_append)(struct fs *, const char *path, uint64_t length, struct fs_file **out,
                           struct err *);
    enum rc (*read_at)(struct fs_file *, uint64_t offset, void *out, size_t len, size_t *got,
                       struct err *);
    enum rc (*append)(struct fs_file *, struct bytes, struct err *);
    enum rc (*sync)(struct fs_file *, struct err *);
    enum rc (*size)(struct fs_file *, uint64_t *size_bytes, struct err *);
    enum rc (*close)(struct fs_file *, struct err *);
    void (*abandon)(struct fs_file *);
    enum rc (*rename)(struct fs *, const char *from, const char *to, struct err *);
    enum rc (*link)(struct fs *, const char *from, const char *to, struct err *);
    enum rc (*reflink)(struct fs *, const char *from, const char *to, struct err *);
    enum rc (*symlink)(struct fs *, const char *target, const char *path, struct err *);
    enum rc (*unlink)(struct fs *, const char *path, struct err *);
    enum rc (*rmdir)(struct fs *, const char *path, struct err *);
    enum rc (*mkdir)(struct fs *, const char *path, struct err *);
    enum rc (*list)(struct fs *, const char *path, fs_list_fn *, void *ctx, struct err *);
    enum rc (*stat)(struct fs *, const char *path, struct fs_stat *, struct err *);
    enum rc (*sync_dir)(struct fs *, const char *path, struct err *);
    enum rc (*lock)(struct fs *, const char *path, struct fs_file **out, struct err *);
    uint64_t (*open_files_max)(struct fs *);
    bool (*appears_whole)(struct fs *, const char *path);
    enum rc (*publish)(struct fs *, const char *dir, const char *temp, const char *name,
                       struct bytes content, enum fs_publish_mode mode, struct err *);
    enum rc (*lock_say)(struct fs_file *lock, struct bytes text, struct err *);
    enum rc (*lock_check)(struct fs_file *lock, bool confirm, struct err *);
    enum rc (*lock_probe)(struct fs *, const char *path, bool *held, struct err *);
    enum rc (*list_stat)(struct fs *, const char *path, fs_list_stat_fn *, void *ctx, struct err *);
    enum rc (*drop_unfinished)(struct fs *, const char *dir, int64_t before_wall_ms,
                               size_t *dropped, struct err *);
};
struct fs {
    const struct fs_ops *ops;
};
/* First member of every implementation's file. */
struct fs_file {
    struct fs *fs;
    char *path; /* owned by the implementation; for messages */
};

struct fs *fs_posix(void); /* static lifetime */
/* From now on this process may open as many files as the system allows it: for main. */
void fs_posix_raise_open_files(void);

/* How many files the process may have open, UINT64_MAX: no limit is known. */
uint64_t fs_open_files_max(struct fs *fs);

/* New file, for appending; RC_EXISTS when the name is taken. */
MUST_USE enum rc fs_create(struct fs *fs, const char *path, struct fs_file **out, struct err *err);
MUST_USE enum rc fs_open_read(struct fs *fs, const char *path, struct fs_file **out, struct err *err);
/* Existing file, truncated to `length` and opened for appending there; RC_CORRUPT when it is shorter. */
MUST_USE enum rc fs_open_append(struct fs *fs, const char *path, uint64_t length,
                                struct fs_file **out, struct err *err);
/* Reads up to len bytes; *got < len only at the end of the file. */
MUST_USE enum rc fs_read_at(struct fs_file *f, uint64_t offset, void *out, size_t len, size_t *got,
                            struct err *err);
MUST_USE enum rc fs_append(struct fs_file *f, struct bytes data, struct err *err); /* all or an error */
MUST_USE enum rc fs_sync(struct fs_file *f, struct err *err);                      /* content and length */
MUST_USE enum rc fs_size(struct fs_file *f, uint64_t *size_bytes, struct err *err);
/* Closes and sets *f to NULL, whatever the code; a failed close is a failed write. */
MUST_USE enum rc fs_close(struct fs_file **f, struct err *err);
void fs_abandon(struct fs_file **f); /* close without looking; no-op on NULL */
MUST_USE enum rc fs_rename(struct fs *fs, const char *from, const char *to, struct err *err); /* replaces */
/* A second name of one file, also where `from` is a symbolic link to it; RC_NO_LINK across file systems or where it is refused: then copy. */
MUST_USE enum rc fs_link(struct fs *fs, const char *from, const char *to, struct err *err);
/* New file `to` that shares the blocks of `from`, synced (not its directory); RC_NO_LINK where the
 * file system has no reflinks. */
MUST_USE enum rc fs_reflink(struct fs *fs, const char *from, const char *to, struct err *err);
/* New name `path` that leads to the absolute path `target`, whose file is not touched: it may lie on
 * another file system, or on a read-only one. RC_NO_LINK where there are none. */
MUST_USE enum rc fs_symlink(struct fs *fs, const char *target, const char *path, struct err *err);
MUST_USE enum rc fs_unlink(struct fs *fs, const char *path, struct err *err);
MUST_USE enum rc fs_rmdir(struct fs *fs, const char *path, struct err *err); /* only when empty */
MUST_USE enum rc fs_mkdir(struct fs *fs, const char *path, struct err *err); /* RC_EXISTS when there */
MUST_USE enum rc fs_list(struct fs *fs, const char *path, fs_list_fn *fn, void *ctx, struct err *err);
/* fs_list and fs_stat of each, in one sweep where the file system can: of 100,000 names a remote one gives a thousand with each
 * request. Names that went away meanwhile, or cannot be looked at, are left out. */
MUST_USE enum rc fs_list_stat(struct fs *fs, const char *path, fs_list_stat_fn *fn, void *ctx,
                              struct err *err);
/* Follows symbolic links. */
MUST_USE enum rc fs_stat(struct fs *fs, const char *path, struct fs_stat *out, struct err *err);
MUST_USE enum rc fs_sync_dir(struct fs *fs, const char *path, struct err *err);
/* An advisory exclusive lock on a file that is created if absent; held until closed or the process
 * ends. Of a file that is there reading rights are enough. RC_STATE when another process (or another open in this one) holds it. */
MUST_USE enum rc fs_lock(struct fs *fs, const char *path, struct fs_file **out, struct err *err);
/* Of a lock that is held: its file holds `text` from now on, at most FS_LOCK_TEXT_MAX bytes, lines for others to read. A remote
 * file system may add words to the end of the first line. Not synced: after a crash nobody holds the lock. */
#define FS_LOCK_TEXT_MAX 8192
MUST_USE enum rc fs_lock_say(struct fs_file *lock, struct bytes text, struct err *err);
/* Of a lock that is held: RC_STATE when it is known to be lost, for good, with a message that says to whom. That can be on a
 * remote file system alone (fs_lock_can_be_lost), to whose server this process has not spoken for too long.
 *   confirm  before a step that nobody but the holder may do: makes a request when it has to, and any code but RC_OK
 *            forbids the step; without it no request is made */
MUST_USE enum rc fs_lock_check(struct fs_file *lock, bool confirm, struct err *err);
bool fs_lock_can_be_lost(const struct fs_file *lock);
/* Does somebody hold the lock on that file, which is there? Locally by taking it for a moment. */
MUST_USE enum rc fs_lock_probe(struct fs *fs, const char *path, bool *held, struct err *err);
/* A file there gets its name only when it is closed, with all its content: nobody ever sees a part of
 * it under that name, fs_abandon leaves nothing there, and a temporary name and a rename are not needed.
 * fs_create may find the name taken as late as in fs_sync or fs_close (RC_EXISTS). Local: false. */
bool fs_appears_whole(struct fs *fs, const char *path);

/* Where files appear whole: gives up what was begun below `dir` before that time and not finished, seen by nobody and paid for;
 * only for who alone writes there. Elsewhere, where it is a file like others: nothing. *dropped: how many. */
MUST_USE enum rc fs_drop_unfinished(struct fs *fs, const char *dir, int64_t before_wall_ms,
                                    size_t *dropped, struct err *err);

/* Helpers over the calls above. */
MUST_USE enum rc fs_mkdirs(struct fs *fs, const char *path, struct err *err); /* with parents; each name
                                                       synced in its parent; there already: OK */
/* <dir>/<name> with `content`, whole or not at all: after RC_OK it survives power loss under that name, else
 * what was there before may still be. Locally a new file <dir>/<temp>, synced, then renamed, and the directory synced, in
 * either mode; RC_EXISTS: `temp` is taken; what is left of a failed try is <dir>/<temp>. Where a name can be
 * made on the condition that it is new, FS_PUBLISH_NEW does so: RC_EXISTS, another writer was there. */
MUST_USE enum rc fs_publish(struct fs *fs, const char *dir, const char *temp, const char *name,
                            struct bytes content, enum fs_publish_mode mode, struct err *err);
/* Whole file into `out` (appended); RC_LIMIT past limit_bytes, checked before allocating. */
MUST_USE enum rc fs_read_all(struct fs *fs, const char *path, size_t limit_bytes, struct buf *out,
                             struct err *err);
/* Everything below and the directory itself; not there: OK. Never follows symbolic links. */
MUST_USE enum rc fs_remove_tree(struct fs *fs, const char *path, struct err *err);
/* Content of `from` into the new file `to`, synced (not its directory). */
MUST_USE enum rc fs_copy(struct fs *fs, const char *from, const char *to, struct err *err);
bool fs_exists(struct fs *fs, const char *path);
/* For certain: no when it cannot be looked at. */
bool fs_is_absent(struct fs *fs, const char *path);
/* "<dir>/<name>"; RC_LIMIT when it does not fit. */
MUST_USE enum rc path_join(char *out, size_t cap, const char *dir, const char *name, struct err *err);
/* Last component, borrowed from path. */
const char *path_base(const char *path);
/* Everything before the last component ("." when there is none) into out; of a root, "/" or
 * "s3://bucket", the root itself. */
MUST_USE enum rc path_dir(char *out, size_t cap, const char *path, struct err *err);
/* "file:///a", "file:/a" and "/a" -> "/a"; relative paths are kept; "s3a://b/k" -> "s3://b/k", other remote ones
 * likewise by the one name of their scheme. RC_UNSUPPORTED names another scheme. */
MUST_USE enum rc path_from_uri(char *out, size_t cap, const char *uri, struct err *err);
/* Lexical: no "." , "..", "//", no slash at the end; relative paths are resolved against the working directory. */
MUST_USE enum rc path_absolute(char *out, size_t cap, const char *path, struct err *err);
/* "<scheme>://...": not of this machine's files. */
bool path_is_remote(const char *path);
/* Remote, or from "/" on. */
bool path_is_absolute(const char *path);
/* For people and REST: "file:/a" for "/a", a remote path as it is. Appended. */
void path_to_uri(const char *path, struct buf *out);

#endif
