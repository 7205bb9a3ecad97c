/* fs_webhdfs_priv.h - what the parts of the WebHDFS driver share; for fs_webhdfs*.c only. */
#ifndef VARVE_BASE_FS_WEBHDFS_PRIV_H
#define VARVE_BASE_FS_WEBHDFS_PRIV_H

#include "base/fs_webhdfs.h"
#include "base/remote_lease.h"
#include "base/rng.h"
#include "base/thread.h"
#include "base/transfer.h"
#include "base/webhdfs_answer.h"

#include <stdatomic.h>

#define WEBHDFS_SMALL_ANSWER_MAX ((size_t)64 << 10)

struct webhdfs {
    struct fs fs; /* first */
    struct http_client *client;
    struct lease_keeper *leases;
    struct clock *clock;
    char *user; /* NULL */
    const char *scheme; /* of URLs */
    _Atomic uint32_t active; /* index of the name node that answered last, of those a path names */
    _Atomic bool no_batches; /* the server has no LISTSTATUS_BATCH */
    struct mutex mutex;
    struct rng rng GUARDED_BY(mutex);
};
static inline struct webhdfs *webhdfs_of(struct fs *fs) { return (struct webhdfs *)fs; }

/* ---- requests (fs_webhdfs_call.c) ---- */

struct webhdfs_call {
    const char *method, *op, *path;
    const char *query;       /* further parameters, escaped, each from '&' on; "" */
    size_t answer_max_bytes; /* 0: WEBHDFS_SMALL_ANSWER_MAX */
    bool has_data;           /* two steps: the data node that the answer names gets `data` */
    struct bytes data;
};
/* RC_OK: a 2xx answer. *repeated (or NULL): an earlier try may have been carried out, and what is said, if it is a refusal, be its
 * doing; so also when no answer came. With has_data tried again only while that can do no harm, for
 * others than CREATE: while nothing was sent. */
MUST_USE enum rc webhdfs_call(struct webhdfs *w, const struct webhdfs_call *call,
                              struct http_answer *out, bool *repeated, struct err *err);
/* Appends "&<name>=<escaped value>". */
void webhdfs_put_parameter(struct buf *query, const char *name, const char *value);
/* What follows the authority in "hdfs://host:port/a/b": "/a/b"; "/" for nothing. */
const char *webhdfs_inner_path(const char *path);

/* ---- names (fs_webhdfs.c) ---- */

MUST_USE enum rc webhdfs_stat(struct webhdfs *w, const char *path, struct webhdfs_status *out,
                              struct err *err);
/* The file of that id gets the name `to`: a new one, or that of the file it replaces. */
MUST_USE enum rc webhdfs_rename_file(struct webhdfs *w, const char *from, const char *to,
                                     uint64_t file_id, enum fs_publish_mode mode, struct err *err);
/* That, of a file that was just written, and a look at what got the name: a data node that is late with an earlier try
 * of CREATE may put another file in its place. */
MUST_USE enum rc webhdfs_name_file(struct webhdfs *w, const char *from, const char *to,
                                   const struct webhdfs_status *written, enum fs_publish_mode mode,
                                   struct err *err);
MUST_USE enum rc webhdfs_delete(struct webhdfs *w, const char *path, struct err *err);
/* A new temporary name beside `path`. */
MUST_USE enum rc webhdfs_temp_path(struct webhdfs *w, const char *path, char out[FS_PATH_MAX],
                                   struct err *err);

/* ---- files (fs_webhdfs_file.c) ---- */

enum rc webhdfs_create(struct fs *, const char *path, struct fs_file **out, struct err *);
enum rc webhdfs_open_read(struct fs *, const char *path, struct fs_file **out, struct err *);
enum rc webhdfs_read_at(struct fs_file *, uint64_t offset, void *out, size_t len, size_t *got,
                        struct err *);
enum rc webhdfs_append(struct fs_file *, struct bytes, struct err *);
enum rc webhdfs_sync(struct fs_file *, struct err *);
enum rc webhdfs_size(struct fs_file *, uint64_t *size_bytes, struct err *);
enum rc webhdfs_close(struct fs_file *, struct err *);
void webhdfs_abandon(struct fs_file *);
enum rc webhdfs_lock(struct fs *, const char *path, struct fs_file **out, struct err *);
enum rc webhdfs_lock_say(struct fs_file *lock, struct bytes text, struct err *);
enum rc webhdfs_lock_check(struct fs_file *lock, bool confirm, struct err *);
/* A file at `path`, which is replaced, in a directory that is there. */
MUST_USE enum rc webhdfs_put(struct webhdfs *w, const char *path, struct bytes content,
                             struct webhdfs_status *written, struct err *err);

#endif
