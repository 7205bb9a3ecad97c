/* fs_webhdfs.c - see fs_webhdfs.h: names, directories, locks. */
#include "base/fs_webhdfs_priv.h"

#include "base/arena.h"
#include "base/hash.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

/* ---- names ----------------------------------------------------------------------------------- */

static enum rc refuse(struct err *err, int os_errno, const char *operation, const char *path)
{
    return err_os(err, os_errno, "%s %s", operation, path);
}

enum rc webhdfs_stat(struct webhdfs *w, const char *path, struct webhdfs_status *out,
                     struct err *err)
{
    struct webhdfs_call call = {.method = "GET", .op = "GETFILESTATUS", .path = path, .query = ""};
    struct http_answer answer = {0};
    enum rc rc;

    *out = (struct webhdfs_status){.type = FS_OTHER};
    GOTO_IF_ERR(webhdfs_call(w, &call, &answer, NULL, err));
    rc = webhdfs_status_parse(buf_bytes(&answer.body), out, err);
    if (rc != RC_OK)
        err_wrap(err, rc, "%s %s", call.op, path);
out:
    http_answer_release(&answer);
    return rc;
}

enum rc webhdfs_temp_path(struct webhdfs *w, const char *path, char out[FS_PATH_MAX],
                          struct err *err)
{
    char dir[FS_PATH_MAX], name[TRANSFER_TEMP_LEN + 1];

    RETURN_IF_ERR(path_dir(dir, sizeof dir, path, err));
    mutex_lock(&w->mutex);
    transfer_temp_name(&w->rng, name);
    mutex_unlock(&w->mutex);
    return path_join(out, FS_PATH_MAX, dir, name, err);
}

/* A call that answers {"boolean": b}; *done: b. */
static enum rc ask_boolean(struct webhdfs *w, const struct webhdfs_call *call, bool *done,
                           bool *repeated, struct err *err)
{
    struct http_answer answer = {0};
    enum rc rc;

    *done = false;
    GOTO_IF_ERR(webhdfs_call(w, call, &answer, repeated, err));
    rc = webhdfs_boolean_parse(buf_bytes(&answer.body), done, err);
    if (rc != RC_OK)
        err_wrap(err, rc, "%s %s", call->op, call->path);
out:
    http_answer_release(&answer);
    return rc;
}

/* One answer to a RENAME with options, which says nothing when it worked. An older server leaves
 * options out and answers as to a plain one: false when the name is taken. */
static enum rc ask_rename(struct webhdfs *w, const struct webhdfs_call *call,
                          enum fs_publish_mode mode, bool *repeated, struct err *err)
{
    struct http_answer answer = {0};
    bool done = true;
    enum rc rc;

    GOTO_IF_ERR(webhdfs_call(w, call, &answer, repeated, err));
    if (answer.body.len > 0)
        GOTO_IF_ERR(webhdfs_boolean_parse(buf_bytes(&answer.body), &done, err));
    if (!done && mode == FS_PUBLISH_REPLACE)
        rc = err_set(err, RC_UNSUPPORTED,
                     "RENAME %s: this server does not replace a file by a rename", call->path);
    else if (!done)
        rc = refuse(err, EEXIST, "rename to the new name of", call->path);
out:
    http_answer_release(&answer);
    return rc;
}

enum rc webhdfs_rename_file(struct webhdfs *w, const char *from, const char *to, uint64_t file_id,
                            enum fs_publish_mode mode, struct err *err)
{
    struct webhdfs_call call = {.method = "PUT", .op = "RENAME", .path = from};
    struct webhdfs_status st;
    struct buf query = {0};
    struct err local = {0};
    bool repeated = false;
    enum rc rc;

    webhdfs_put_parameter(&query, "destination", webhdfs_inner_path(to));
    webhdfs_put_parameter(&query, "renameoptions", mode == FS_PUBLISH_NEW ? "NONE" : "OVERWRITE");
    call.query = buf_cstr(&query);
    rc = ask_rename(w, &call, mode, &repeated, &local);
    buf_release(&query);
    if (rc == RC_OK)
        return RC_OK;
    /* The refusal may come from a try before it, which did all. */
    if (repeated && file_id != 0 && webhdfs_stat(w, to, &st, NULL) == RC_OK &&
        st.file_id == file_id)
        return RC_OK;
    if (err != NULL && err->rc == RC_OK)
        *err = local;
    return err_wrap(err, rc, "rename to %s", to);
}

enum rc webhdfs_name_file(struct webhdfs *w, const char *from, const char *to,
                          const struct webhdfs_status *written, enum fs_publish_mode mode,
                          struct err *err)
{
    struct webhdfs_status st;

    RETURN_IF_ERR(webhdfs_rename_file(w, from, to, written->file_id, mode, err));
    RETURN_IF_ERR(webhdfs_stat(w, to, &st, err));
    if (st.file_id == written->file_id && st.size_bytes == written->size_bytes)
        return RC_OK;
    if (mode == FS_PUBLISH_NEW) /* it can only have come by that rename */
        (void)!webhdfs_delete(w, to, NULL);
    return err_set(err, RC_IO,
                   "rename to %s: file %" PRIu64 " of %" PRIu64 " bytes got that name instead of file %" PRIu64
                   " of %" PRIu64 " bytes",
                   to, st.file_id, st.size_bytes, written->file_id, written->size_bytes);
}

enum rc webhdfs_delete(struct webhdfs *w, const char *path, struct err *err)
{
    struct webhdfs_call call = {
        .method = "DELETE", .op = "DELETE", .path = path, .query = "&recursive=false"};
    bool done, repeated;

    RETURN_IF_ERR(ask_boolean(w, &call, &done, &repeated, err));
    return done || repeated ? RC_OK : refuse(err, ENOENT, "delete", path);
}

static enum rc hdfs_rename(struct fs *fs, const char *from, const char *to, struct err *err)
{
    struct webhdfs_status st;

    RETURN_IF_ERR(webhdfs_stat(webhdfs_of(fs), from, &st, err));
    return webhdfs_rename_file(webhdfs_of(fs), from, to, st.file_id, FS_PUBLISH_REPLACE, err);
}

static enum rc hdfs_link(struct fs *fs UNUSED, const char *from, const char *to, struct err *err)
{
    return err_set(err, RC_NO_LINK, "link %s to %s: HDFS has no links", from, to);
}

static enum rc hdfs_unlink(struct fs *fs, const char *path, struct err *err)
{
    struct webhdfs_status st;

    RETURN_IF_ERR(webhdfs_stat(webhdfs_of(fs), path, &st, err)); /* DELETE takes empty directories */
    if (st.type == FS_DIR)
        return refuse(err, EISDIR, "unlink", path);
    return webhdfs_delete(webhdfs_of(fs), path, err);
}

static enum rc hdfs_rmdir(struct fs *fs, const char *path, struct err *err)
{
    struct webhdfs_status st;

    RETURN_IF_ERR(webhdfs_stat(webhdfs_of(fs), path, &st, err));
    if (st.type != FS_DIR)
        return refuse(err, ENOTDIR, "remove directory", path);
    return webhdfs_delete(webhdfs_of(fs), path, err);
}

/* MKDIRS takes one that is there for a success. */
static enum rc hdfs_mkdir(struct fs *fs, const char *path, struct err *err)
{
    struct webhdfs_call call = {.method = "PUT", .op = "MKDIRS", .path = path, .query = ""};
    struct webhdfs_status st;
    struct err local = {0};
    bool done;
    enum rc rc;

    rc = webhdfs_stat(webhdfs_of(fs), path, &st, &local);
    if (rc == RC_OK)
        return refuse(err, EEXIST, "make directory", path);
    if (rc != RC_NOT_FOUND)
        return err_set(err, rc, "%s", local.msg);
    RETURN_IF_ERR(ask_boolean(webhdfs_of(fs), &call, &done, NULL, err));
    return done ? RC_OK : err_set(err, RC_IO, "MKDIRS %s: was not made", path);
}

static void stat_of(const char *path, const struct webhdfs_status *st, struct fs_stat *out)
{
    const char *authority = strstr(path, "://");

    *out = (struct fs_stat){
        .type = st->type,
        .size_bytes = st->size_bytes,
        .mtime_wall_ms = st->modified_wall_ms,
        .ctime_wall_ms = st->modified_wall_ms,
        .inode = st->file_id,
        /* of no local one: those are small */
        .device = hash64_seed(bytes_of(authority, strcspn(authority + 3, "/") + 3), 1) | 1ull << 63,
        .link_count = 1,
    };
}

static enum rc hdfs_stat(struct fs *fs, const char *path, struct fs_stat *out, struct err *err)
{
    struct webhdfs_status st;

    RETURN_IF_ERR(webhdfs_stat(webhdfs_of(fs), path, &st, err));
    stat_of(path, &st, out);
    return RC_OK;
}

static enum rc hdfs_sync_dir(struct fs *fs UNUSED, const char *path UNUSED, struct err *err UNUSED)
{
    return RC_OK; /* a name is in the name node's log before it answers */
}

static bool hdfs_appears_whole(struct fs *fs UNUSED, const char *path UNUSED)
{
    return true;
}

static enum rc hdfs_publish(struct fs *fs, const char *dir, const char *temp, const char *name,
                            struct bytes content, enum fs_publish_mode mode, struct err *err)
{
    char temp_path[FS_PATH_MAX], path[FS_PATH_MAX];
    struct webhdfs_status written;

    RETURN_IF_ERR(path_join(temp_path, sizeof temp_path, dir, temp, err));
    RETURN_IF_ERR(path_join(path, sizeof path, dir, name, err));
    RETURN_IF_ERR(webhdfs_put(webhdfs_of(fs), temp_path, content, &written, err));
    return webhdfs_name_file(webhdfs_of(fs), temp_path, path, &written, mode, err);
}

/* ---- directories ----------------------------------------------------------------------------- */

static enum rc list_page(struct webhdfs *w, const char *path, bool batch, webhdfs_entry_fn *fn,
                         void *ctx, struct webhdfs_page *page, struct err *err)
{
    struct webhdfs_call call = {.method = "GET",
                                .op = batch ? "LISTSTATUS_BATCH" : "LISTSTATUS",
                                .path = path,
                                .answer_max_bytes = WEBHDFS_ANSWER_MAX};
    struct http_answer answer = {0};
    struct buf query = {0};
    enum rc rc;

    if (page->last[0] != '\0')
        webhdfs_put_parameter(&query, "startAfter", page->last);
    call.query = buf_cstr(&query);
    GOTO_IF_ERR(webhdfs_call(w, &call, &answer, NULL, err));
    rc = webhdfs_page_parse(buf_bytes(&answer.body), fn, ctx, page, err);
    if (rc == RC_CORRUPT || (rc == RC_IO && err != NULL && err->os_errno == ENOTDIR))
        err_wrap(err, rc, "%s %s", call.op, path);
out:
    http_answer_release(&answer);
    buf_release(&query);
    return rc;
}

/* The page after that one. */
static enum rc list_on(struct webhdfs *w, const char *path, webhdfs_entry_fn *fn, void *ctx,
                       struct webhdfs_page *page, struct err *err)
{
    struct webhdfs_page before = *page;

    if (before.last[0] == '\0')
        return err_set(err, RC_CORRUPT, "list %s: an empty page, but %" PRIu64 " are left", path,
                       before.left);
    RETURN_IF_ERR(list_page(w, path, true, fn, ctx, page, err));
    if (strcmp(page->last, before.last) == 0 && page->left > 0)
        return err_set(err, RC_CORRUPT, "list %s: the server goes in circles", path);
    return RC_OK;
}

static enum rc list_all(struct webhdfs *w, const char *path, webhdfs_entry_fn *fn, void *ctx,
                        struct err *err)
{
    struct webhdfs_page page = {0};
    struct err local = {0};
    enum rc rc;

    if (!atomic_load(&w->no_batches)) {
        rc = list_page(w, path, true, fn, ctx, &page, &local);
        while (rc == RC_OK && page.left > 0)
            rc = list_on(w, path, fn, ctx, &page, &local);
        if (page.last[0] != '\0' || (rc != RC_INVALID && rc != RC_UNSUPPORTED)) {
            if (rc != RC_OK && err != NULL && err->rc == RC_OK)
                *err = local;
            return rc;
        }
        atomic_store(&w->no_batches, true); /* "Invalid value for webhdfs parameter op" */
    }
    page = (struct webhdfs_page){0};
    return list_page(w, path, false, fn, ctx, &page, err);
}

struct name_list {
    fs_list_fn *fn;
    void *ctx;
};

static enum rc give_name(void *ctx, const char *name, const struct webhdfs_status *st UNUSED,
                         struct err *err)
{
    const struct name_list *names = ctx;

    return names->fn(names->ctx, name, err);
}

static enum rc hdfs_list(struct fs *fs, const char *path, fs_list_fn *fn, void *ctx, struct err *err)
{
    struct name_list names = {fn, ctx};

    return list_all(webhdfs_of(fs), path, give_name, &names, err);
}

struct stat_list {
    fs_list_stat_fn *fn;
    void *ctx;
    const char *dir;
};

static enum rc give_stat(void *ctx, const char *name, const struct webhdfs_status *st,
                         struct err *err)
{
    const struct stat_list *list = ctx;
    struct fs_stat out;

    stat_of(list->dir, st, &out);
    return list->fn(list->ctx, name, &out, err);
}

static enum rc hdfs_list_stat(struct fs *fs, const char *path, fs_list_stat_fn *fn, void *ctx,
                              struct err *err)
{
    struct stat_list list = {fn, ctx, path};

    return list_all(webhdfs_of(fs), path, give_stat, &list, err);
}

/* ---- locks ----------------------------------------------------------------------------------- */

/* Text, and the id and age of the file. */
static enum rc lease_read(void *ctx, const char *path, struct buf *text,
                          char version[LEASE_VERSION_MAX], int64_t *age_ms, struct err *err)
{
    struct webhdfs_call call = {.method = "GET", .op = "GETFILESTATUS", .path = path, .query = ""};
    struct http_answer answer = {0};
    struct webhdfs_status st;
    const char *date;
    int64_t now_ms;
    enum rc rc;

    GOTO_IF_ERR(webhdfs_call(ctx, &call, &answer, NULL, err));
    GOTO_IF_ERR(webhdfs_status_parse(buf_bytes(&answer.body), &st, err));
    date = http_answer_header(&answer, "Date");
    if (date == NULL)
        GOTO_IF_ERR(err_set(err, RC_UNSUPPORTED, "%s: the server does not say its date", path));
    GOTO_IF_ERR(http_date_parse(date, &now_ms, err));
    *age_ms = now_ms - st.modified_wall_ms;
    snprintf(version, LEASE_VERSION_MAX, "%" PRIu64, st.file_id);
    rc = fs_read_all(ctx, path, LEASE_TEXT_MAX, text, err);
out:
    http_answer_release(&answer);
    return rc;
}

/* There is no write on a condition that names a version: looked at before and after. */
static enum rc lease_write(void *ctx, const char *path, struct bytes text,
                           char version[LEASE_VERSION_MAX], struct err *err)
{
    struct webhdfs *w = ctx;
    char temp[FS_PATH_MAX], found[LEASE_VERSION_MAX];
    struct webhdfs_status st, written;
    enum rc rc;

    if (version[0] != '\0') {
        RETURN_IF_ERR(webhdfs_stat(w, path, &st, err));
        snprintf(found, sizeof found, "%" PRIu64, st.file_id);
        if (strcmp(found, version) != 0)
            return refuse(err, EEXIST, "replace", path);
    }
    RETURN_IF_ERR(webhdfs_temp_path(w, path, temp, err));
    RETURN_IF_ERR(webhdfs_put(w, temp, text, &written, err));
    rc = webhdfs_rename_file(w, temp, path, written.file_id,
                             version[0] == '\0' ? FS_PUBLISH_NEW : FS_PUBLISH_REPLACE, err);
    if (rc != RC_OK) {
        (void)!webhdfs_delete(w, temp, NULL); /* what stays is a temporary name: swept */
        return rc;
    }
    RETURN_IF_ERR(webhdfs_stat(w, path, &st, err));
    if (st.file_id != written.file_id)
        return refuse(err, EEXIST, "replace", path);
    snprintf(version, LEASE_VERSION_MAX, "%" PRIu64, written.file_id);
    return RC_OK;
}

static const struct lease_store_ops lease_ops = {lease_read, lease_write};

static enum rc hdfs_lock_probe(struct fs *fs, const char *path, bool *held, struct err *err)
{
    return lease_probe(webhdfs_of(fs)->leases, path, held, err);
}

/* ---- life ------------------------------------------------------------------------------------ */

static enum rc hdfs_open_append(struct fs *fs UNUSED, const char *path, uint64_t length UNUSED,
                                struct fs_file **out UNUSED, struct err *err)
{
    return err_set(err, RC_UNSUPPORTED, "open %s for appending: this needs a local file", path);
}

static const struct fs_ops hdfs_ops = {
    .create = webhdfs_create,
    .open_read = webhdfs_open_read,
    .open_append = hdfs_open_append,
    .read_at = webhdfs_read_at,
    .append = webhdfs_append,
    .sync = webhdfs_sync,
    .size = webhdfs_size,
    .close = webhdfs_close,
    .abandon = webhdfs_abandon,
    .rename = hdfs_rename,
    .link = hdfs_link,
    .reflink = hdfs_link,
    .symlink = hdfs_link,
    .unlink = hdfs_unlink,
    .rmdir = hdfs_rmdir,
    .mkdir = hdfs_mkdir,
    .list = hdfs_list,
    .list_stat = hdfs_list_stat,
    .stat = hdfs_stat,
    .sync_dir = hdfs_sync_dir,
    .lock = webhdfs_lock,
    .appears_whole = hdfs_appears_whole,
    .publish = hdfs_publish,
    .lock_say = webhdfs_lock_say,
    .lock_check = webhdfs_lock_check,
    .lock_probe = hdfs_lock_probe,
};

struct fs *fs_webhdfs_new(const struct webhdfs_config *config)
{
    const struct env *env = config->env;
    struct webhdfs *w = mem_calloc(1, sizeof *w);

    w->fs.ops = &hdfs_ops;
    w->clock = env->clock;
    w->user = config->user == NULL ? NULL : mem_strdup(config->user);
    w->scheme = config->tls ? "https" : "http";
    mutex_init(&w->mutex);
    env_rng(env, "webhdfs-temp", &w->rng);
    w->client = http_client_new(&config->http);
    w->leases = lease_keeper_new(&lease_ops, w,
                                 &(struct lease_config){.clock = env->clock,
                                                        .log = env->log,
                                                        .ttl_ms = config->lease_ttl_ms,
                                                        .seed = rng_u64(&w->rng)});
    return &w->fs;
}

void fs_webhdfs_free(struct fs *fs)
{
    struct webhdfs *w = webhdfs_of(fs);

    lease_keeper_free(w->leases);
    http_client_free(w->client);
    mutex_release(&w->mutex);
    mem_free(w->user);
    mem_free(w);
}
