/* fs_s3.c - see fs_s3.h */
#include "base/fs_s3.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/s3_answer.h"
#include "base/s3_lease.h"
#include "base/s3_reader.h"
#include "base/s3_upload.h"

#include <errno.h>
#include <stdio.h>

struct fs_s3 {
    struct fs base;
    struct s3_client *client;
    struct lease_keeper *leases;
};

/* A new object, one that is read, or a lock: one of them. */
struct s3_file {
    struct fs_file base;
    struct s3_upload *upload;
    struct s3_reader *reader;
    struct lease *lease;
};

static struct s3_client *client_of(struct fs *fs)
{
    return ((struct fs_s3 *)fs)->client;
}

static struct lease_keeper *leases_of(struct fs *fs)
{
    return ((struct fs_s3 *)fs)->leases;
}

static struct s3_file *file_of(struct fs_file *f)
{
    return (struct s3_file *)f;
}

/* An error of ours that reads like one of a system call. */
static enum rc refuse(struct err *err, enum rc rc, int os_errno, const char *operation,
                      const char *path, const char *why)
{
    bool first = err != NULL && err->rc == RC_OK;

    err_set(err, rc, "%s %s: %s", operation, path, why);
    if (first)
        err->os_errno = os_errno;
    return rc;
}

static enum rc refuse_bucket(const char *operation, const char *path, struct err *err)
{
    return refuse(err, RC_IO, EISDIR, operation, path, "this is a bucket");
}

static enum rc object_name(const char *operation, const char *path, struct s3_name *out,
                           struct err *err)
{
    RETURN_IF_ERR(s3_name_of(path, out, err));
    return out->key[0] == '\0' ? refuse_bucket(operation, path, err) : RC_OK;
}

/* ---- files ---------------------------------------------------------------------------------- */

static struct s3_file *file_new(struct fs *fs, const char *path)
{
    struct s3_file *f = mem_alloc(sizeof *f);

    *f = (struct s3_file){.base = {fs, mem_strdup(path)}};
    return f;
}

static void file_free(struct s3_file *f)
{
    s3_upload_free(f->upload);
    s3_reader_free(f->reader);
    lease_release(f->lease);
    mem_free(f->base.path);
    mem_free(f);
}

/* What opening it gave. */
static enum rc settle_open(enum rc rc, struct s3_file *f, struct fs_file **out)
{
    if (rc == RC_OK)
        *out = &f->base;
    else
        file_free(f);
    return rc;
}

static enum rc s3_create(struct fs *fs, const char *path, struct fs_file **out, struct err *err)
{
    struct s3_name name;
    struct s3_file *f;

    RETURN_IF_ERR(object_name("create", path, &name, err));
    f = file_new(fs, path);
    return settle_open(s3_upload_new(client_of(fs), &name, &f->upload, err), f, out);
}

static enum rc s3_open_read(struct fs *fs, const char *path, struct fs_file **out, struct err *err)
{
    struct s3_name name;
    struct s3_file *f;

    RETURN_IF_ERR(object_name("open", path, &name, err));
    f = file_new(fs, path);
    return settle_open(s3_reader_open(client_of(fs), &name, &f->reader, err), f, out);
}

static enum rc s3_open_append(struct fs *fs UNUSED, const char *path, uint64_t length UNUSED,
                              struct fs_file **out UNUSED, struct err *err)
{
    return err_set(err, RC_UNSUPPORTED,
                   "open %s for appending: an object on S3 is never changed; part files of a sink "
                   "need a local path",
                   path);
}

static enum rc s3_read_at(struct fs_file *f, uint64_t offset, void *out, size_t len, size_t *got,
                          struct err *err)
{
    if (file_of(f)->reader == NULL)
        return err_set(err, RC_UNSUPPORTED, "read %s: it is not open for reading", f->path);
    return s3_reader_read(file_of(f)->reader, offset, out, len, got, err);
}

static enum rc s3_append(struct fs_file *f, struct bytes data, struct err *err)
{
    if (file_of(f)->upload == NULL)
        return err_set(err, RC_UNSUPPORTED, "write to %s: it is not open for writing", f->path);
    return s3_upload_append(file_of(f)->upload, data, err);
}

static enum rc s3_sync(struct fs_file *f, struct err *err)
{
    return file_of(f)->upload == NULL ? RC_OK : s3_upload_finish(file_of(f)->upload, err);
}

static enum rc s3_size(struct fs_file *f, uint64_t *size_bytes, struct err *err UNUSED)
{
    if (file_of(f)->reader != NULL)
        *size_bytes = s3_reader_bytes(file_of(f)->reader);
    else if (file_of(f)->upload != NULL)
        *size_bytes = s3_upload_bytes(file_of(f)->upload);
    return RC_OK;
}

static void s3_abandon(struct fs_file *f)
{
    file_free(file_of(f));
}

static enum rc s3_close(struct fs_file *f, struct err *err)
{
    enum rc rc = s3_sync(f, err);

    file_free(file_of(f));
    return rc;
}

/* ---- lists ---------------------------------------------------------------------------------- */

/* Of a directory's objects those right in it, and each directory in it once. */
struct listing {
    struct s3_name dir;
    size_t prefix_len;
    fs_list_fn *fn; /* or: */
    fs_list_stat_fn *stat_fn;
    void *ctx;
    bool any; /* also the directory's own mark */
    struct buf name;
};

/* Two names are two files, the same name is the same one. */
static uint64_t inode_of(const char *bucket, const char *key)
{
    uint64_t inode = hash64_seed(bytes_of_str(key), hash64(bytes_of_str(bucket)));

    return inode == 0 ? 1 : inode;
}

static void stat_of(const char *bucket, const struct s3_entry *e, struct fs_stat *out)
{
    *out = (struct fs_stat){
        .type = e->is_prefix ? FS_DIR : FS_FILE,
        .size_bytes = e->size_bytes,
        .mtime_wall_ms = e->mtime_wall_ms,
        .ctime_wall_ms = e->mtime_wall_ms,
        .inode = inode_of(bucket, e->key),
        .link_count = 1,
    };
}

/* The name in l->name; "" for the directory's mark. */
static enum rc take_name(struct listing *l, const struct s3_entry *e, struct err *err)
{
    size_t dir_len = strlen(l->dir.key), len = strlen(e->key);
    bool below =
        strncmp(e->key, l->dir.key, dir_len) == 0 && (dir_len == 0 || e->key[dir_len] == '/');

    buf_clear(&l->name);
    if (below)
        buf_append_str(&l->name, e->key + l->prefix_len);
    if (e->is_prefix && l->name.len > 0 && e->key[len - 1] == '/')
        l->name.len--;
    if (below && (l->name.len == 0 || memchr(l->name.data, '/', l->name.len) == NULL))
        return RC_OK;
    return err_set(err, RC_CORRUPT,
                   "list s3://%s/%s: the server lists \"%.200s\", which is not in it",
                   l->dir.bucket, l->dir.key, e->key);
}

static enum rc list_entry(void *ctx, const struct s3_entry *e, struct err *err)
{
    struct listing *l = ctx;
    struct fs_stat st;

    l->any = true;
    RETURN_IF_ERR(take_name(l, e, err));
    if (l->name.len == 0)
        return RC_OK;
    if (l->fn != NULL)
        return l->fn(l->ctx, buf_cstr(&l->name), err);
    stat_of(l->dir.bucket, e, &st);
    return l->stat_fn(l->ctx, buf_cstr(&l->name), &st, err);
}

static void list_query(struct buf *query, const char *next, bool one_level, const char *at_most,
                       const char *prefix)
{
    buf_clear(query);
    if (next[0] != '\0')
        s3_query_add(query, "continuation-token", next);
    if (one_level)
        s3_query_add(query, "delimiter", "/");
    s3_query_add(query, "encoding-type", "url");
    s3_query_add(query, "list-type", "2");
    if (at_most != NULL)
        s3_query_add(query, "max-keys", at_most);
    s3_query_add(query, "prefix", prefix);
}

/* at_most: NULL, or how many of all that lies below, on one page. */
static enum rc list_dir(struct s3_client *c, const struct s3_name *dir, const char *at_most,
                        s3_entry_fn *fn, void *ctx, struct err *err)
{
    struct buf query = {0}, prefix = {0}, next = {0}, last = {0};
    struct http_answer answer = {0};
    struct s3_name bucket = *dir;
    struct s3_call call = {.method = "GET", .name = &bucket};
    enum rc rc;

    bucket.key[0] = '\0';
    if (dir->key[0] != '\0')
        buf_printf(&prefix, "%s/", dir->key);
    do {
        buf_clear(&last);
        buf_append(&last, next.data, next.len);
        list_query(&query, buf_cstr(&next), at_most == NULL, at_most, buf_cstr(&prefix));
        call.query = buf_cstr(&query);
        GOTO_IF_ERR(s3_do(c, &call, &answer, err));
        GOTO_IF_ERR(
            s3_answer_list(buf_bytes(&answer.body), "list of objects", fn, ctx, &next, err));
        if (next.len > 0 && bytes_eq(buf_bytes(&next), buf_bytes(&last)))
            GOTO_IF_ERR(err_set(err, RC_CORRUPT, "list s3://%s/%s: the server goes in circles",
                                dir->bucket, dir->key));
    } while (next.len > 0 && at_most == NULL);
out:
    buf_release(&query);
    buf_release(&prefix);
    buf_release(&next);
    buf_release(&last);
    http_answer_release(&answer);
    return rc;
}

static enum rc list_names(struct fs *fs, const char *path, struct listing *l, struct err *err)
{
    enum rc rc;

    RETURN_IF_ERR(s3_name_of(path, &l->dir, err));
    l->prefix_len = l->dir.key[0] == '\0' ? 0 : strlen(l->dir.key) + 1;
    rc = list_dir(client_of(fs), &l->dir, NULL, list_entry, l, err);
    buf_release(&l->name);
    if (rc == RC_OK && !l->any && l->dir.key[0] != '\0')
        return refuse(err, RC_NOT_FOUND, ENOENT, "list", path, "there is nothing");
    return rc;
}

static enum rc s3_list(struct fs *fs, const char *path, fs_list_fn *fn, void *ctx, struct err *err)
{
    struct listing l = {.fn = fn, .ctx = ctx};

    return list_names(fs, path, &l, err);
}

static enum rc s3_list_stat(struct fs *fs, const char *path, fs_list_stat_fn *fn, void *ctx,
                            struct err *err)
{
    struct listing l = {.stat_fn = fn, .ctx = ctx};

    return list_names(fs, path, &l, err);
}

/* What lies below a directory, as far as two objects tell: its mark is the first, if there is one.
 */
struct below {
    size_t mark_len;
    bool mark, others;
    int64_t mtime_wall_ms; /* the later one */
};

static enum rc note_below(void *ctx, const struct s3_entry *e, struct err *err UNUSED)
{
    struct below *b = ctx;

    *(strlen(e->key) == b->mark_len ? &b->mark : &b->others) = true;
    if (e->mtime_wall_ms > b->mtime_wall_ms)
        b->mtime_wall_ms = e->mtime_wall_ms;
    return RC_OK;
}

static enum rc look_below(struct s3_client *c, const struct s3_name *dir, struct below *b,
                          struct err *err)
{
    *b = (struct below){.mark_len = strlen(dir->key) + 1};
    return list_dir(c, dir, "2", note_below, b, err);
}

/* ---- names ---------------------------------------------------------------------------------- */

static enum rc take_times(const struct s3_name *name, const struct http_answer *answer,
                          struct s3_entry *e, struct err *err)
{
    const char *changed = http_answer_header(answer, "last-modified");

    RETURN_IF_ERR(s3_length(name, answer, &e->size_bytes, err));
    return http_date_parse(changed == NULL ? "" : changed, &e->mtime_wall_ms, err);
}

/* Object or directory, RC_NOT_FOUND: neither. */
static enum rc look_at(struct fs *fs, const char *operation, const char *path,
                       const struct s3_name *name, struct s3_entry *out, struct err *err)
{
    struct s3_call call = {.method = "HEAD", .name = name};
    struct http_answer answer = {0};
    struct below below;
    enum rc rc;

    *out = (struct s3_entry){.key = name->key, .is_prefix = name->key[0] == '\0'};
    GOTO_IF_ERR(s3_send(client_of(fs), &call, &answer, err));
    if (answer.status == 404 && !out->is_prefix) {
        GOTO_IF_ERR(look_below(client_of(fs), name, &below, err));
        out->is_prefix = below.mark || below.others;
        out->mtime_wall_ms = below.mtime_wall_ms;
        if (!out->is_prefix)
            rc = refuse(err, RC_NOT_FOUND, ENOENT, operation, path, "there is no such object");
    } else if (!s3_succeeded(&answer)) {
        /* An answer to HEAD has no body that says why: one to a list has. */
        GOTO_IF_ERR(look_below(client_of(fs), name, &below, err));
        rc = s3_refused(client_of(fs), &call, &answer, err);
    } else if (!out->is_prefix) {
        rc = take_times(name, &answer, out, err);
    }
out:
    http_answer_release(&answer);
    return rc;
}

static enum rc s3_stat(struct fs *fs, const char *path, struct fs_stat *out, struct err *err)
{
    struct s3_entry entry;
    struct s3_name name;

    RETURN_IF_ERR(s3_name_of(path, &name, err));
    RETURN_IF_ERR(look_at(fs, "stat", path, &name, &entry, err));
    stat_of(name.bucket, &entry, out);
    return RC_OK;
}

static enum rc delete (struct s3_client *c, const struct s3_name *name, const char *key_suffix,
                       struct err *err) {
    struct s3_call call = {.method = "DELETE", .name = name, .key_suffix = key_suffix};
    struct http_answer answer = {0};
    enum rc rc = s3_do(c, &call, &answer, err);

    http_answer_release(&answer);
    return rc;
}

/* The server does not say whether there was something: a look before does. */
static enum rc s3_unlink(struct fs *fs, const char *path, struct err *err)
{
    struct s3_entry entry;
    struct s3_name name;

    RETURN_IF_ERR(object_name("unlink", path, &name, err));
    RETURN_IF_ERR(look_at(fs, "unlink", path, &name, &entry, err));
    if (entry.is_prefix)
        return refuse(err, RC_IO, EISDIR, "unlink", path, "this is a directory");
    return delete (client_of(fs), &name, NULL, err);
}

static enum rc s3_rmdir(struct fs *fs, const char *path, struct err *err)
{
    struct s3_name name;
    struct below below;

    RETURN_IF_ERR(object_name("remove directory", path, &name, err));
    RETURN_IF_ERR(look_below(client_of(fs), &name, &below, err));
    if (below.others)
        return refuse(err, RC_IO, ENOTEMPTY, "remove directory", path, "it is not empty");
    return below.mark ? delete (client_of(fs), &name, "/", err) : RC_OK;
}

static enum rc s3_mkdir(struct fs *fs, const char *path, struct err *err)
{
    struct s3_client *c = client_of(fs);
    struct s3_name name;

    RETURN_IF_ERR(s3_name_of(path, &name, err));
    if (name.key[0] == '\0') /* never made here: a stat says whether it is there */
        return refuse(err, RC_EXISTS, EEXIST, "make directory", path, "this is a bucket");
    RETURN_IF_ERR(s3_put(c, &name, "/", (struct bytes){NULL, 0}, false, err));
    if (s3_client_condition(c, S3_AT_PUT) == S3_CONDITION_UNKNOWN)
        return s3_probe_condition(c, &name, err);
    return RC_OK;
}

static enum rc s3_sync_dir(struct fs *fs UNUSED, const char *path UNUSED, struct err *err UNUSED)
{
    return RC_OK; /* a name is durable with its object */
}

static enum rc two_names(const char *operation, const char *from, const char *to,
                         struct s3_name *from_name, struct s3_name *to_name, struct err *err)
{
    RETURN_IF_ERR(object_name(operation, from, from_name, err));
    return object_name(operation, to, to_name, err);
}

static enum rc s3_rename(struct fs *fs, const char *from, const char *to, struct err *err)
{
    struct s3_name from_name, to_name;

    RETURN_IF_ERR(two_names("rename", from, to, &from_name, &to_name, err));
    RETURN_IF_ERR(s3_copy(client_of(fs), &from_name, &to_name, true, err));
    return delete (client_of(fs), &from_name, NULL, err);
}

static enum rc s3_link(struct fs *fs UNUSED, const char *from, const char *to, struct err *err)
{
    return err_set(err, RC_NO_LINK, "link %s to %s: S3 has no links", from, to);
}

static enum rc s3_reflink(struct fs *fs, const char *from, const char *to, struct err *err)
{
    struct s3_name from_name, to_name;

    RETURN_IF_ERR(two_names("copy", from, to, &from_name, &to_name, err));
    return s3_copy(client_of(fs), &from_name, &to_name, false, err);
}

/* ---- more than names ------------------------------------------------------------------------ */

static bool s3_appears_whole(struct fs *fs UNUSED, const char *path UNUSED)
{
    return true;
}

static enum rc s3_publish(struct fs *fs, const char *dir, const char *temp UNUSED, const char *name,
                          struct bytes content, enum fs_publish_mode mode, struct err *err)
{
    char path[FS_PATH_MAX];
    struct s3_name object;

    RETURN_IF_ERR(path_join(path, sizeof path, dir, name, err));
    RETURN_IF_ERR(object_name("publish", path, &object, err));
    return s3_put(client_of(fs), &object, NULL, content, mode == FS_PUBLISH_REPLACE, err);
}

static enum rc s3_lock(struct fs *fs, const char *path, struct fs_file **out, struct err *err)
{
    struct s3_file *f = file_new(fs, path);

    return settle_open(lease_take(leases_of(fs), path, &f->lease, err), f, out);
}

static enum rc s3_lock_say(struct fs_file *lock, struct bytes text, struct err *err)
{
    return lease_say(file_of(lock)->lease, text, err);
}

static enum rc s3_lock_check(struct fs_file *lock, bool confirm, struct err *err)
{
    return lease_check(file_of(lock)->lease, confirm, err);
}

static enum rc s3_lock_probe(struct fs *fs, const char *path, bool *held, struct err *err)
{
    return lease_probe(leases_of(fs), path, held, err);
}

static enum rc s3_drop_unfinished(struct fs *fs, const char *dir, int64_t before_wall_ms,
                                  size_t *dropped, struct err *err)
{
    struct s3_name name;

    RETURN_IF_ERR(object_name("sweep", dir, &name, err));
    return s3_drop_uploads(client_of(fs), &name, before_wall_ms, dropped, err);
}

static const struct fs_ops s3_ops = {
    .create = s3_create,
    .open_read = s3_open_read,
    .open_append = s3_open_append,
    .read_at = s3_read_at,
    .append = s3_append,
    .sync = s3_sync,
    .size = s3_size,
    .close = s3_close,
    .abandon = s3_abandon,
    .rename = s3_rename,
    .link = s3_link,
    .reflink = s3_reflink,
    .symlink = s3_link,
    .unlink = s3_unlink,
    .rmdir = s3_rmdir,
    .mkdir = s3_mkdir,
    .list = s3_list,
    .stat = s3_stat,
    .sync_dir = s3_sync_dir,
    .appears_whole = s3_appears_whole,
    .publish = s3_publish,
    .lock = s3_lock,
    .lock_say = s3_lock_say,
    .lock_check = s3_lock_check,
    .lock_probe = s3_lock_probe,
    .list_stat = s3_list_stat,
    .drop_unfinished = s3_drop_unfinished,
};

struct fs *fs_s3_new_take(struct s3_client *client, const struct lease_config *lease)
{
    struct fs_s3 *fs = mem_alloc(sizeof *fs);

    *fs = (struct fs_s3){{&s3_ops}, client, lease_keeper_new(&s3_lease_store, client, lease)};
    return &fs->base;
}

void fs_s3_free(struct fs *fs)
{
    if (fs == NULL)
        return;
    lease_keeper_free(leases_of(fs));
    s3_client_free(client_of(fs));
    mem_free(fs);
}
