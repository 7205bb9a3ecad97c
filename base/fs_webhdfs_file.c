/* fs_webhdfs_file.c - files of the WebHDFS driver: read through a window, written in pieces under a temporary name. */
#include "base/fs_webhdfs_priv.h"

#include "base/arena.h"

#include <errno.h>
#include <inttypes.h>

#define WINDOW_BYTES ((size_t)8 << 20) /* of one answer that is read from */
#define PIECE_BYTES ((size_t)16 << 20) /* of one CREATE or APPEND */

enum kind { READS, WRITES, LOCKS };
struct webhdfs_file {
    struct fs_file base; /* first */
    enum kind kind;
    struct lease *lease; /* LOCKS */
    /* READS: */
    uint64_t size_bytes, window_at;
    struct buf window;
    /* WRITES: */
    char *temp;
    struct buf piece;    /* not sent yet */
    uint64_t sent_bytes;
    bool begun;          /* the temporary file may be there */
    bool done;           /* it has its name */
};

static struct webhdfs_file *file_of(struct fs_file *f)
{
    return (struct webhdfs_file *)f;
}

static struct webhdfs_file *file_new(struct webhdfs *w, const char *path, enum kind kind)
{
    struct webhdfs_file *f = mem_calloc(1, sizeof *f);

    f->base = (struct fs_file){&w->fs, mem_strdup(path)};
    f->kind = kind;
    return f;
}

static void file_free(struct webhdfs_file *f)
{
    buf_release(&f->window);
    buf_release(&f->piece);
    mem_free(f->temp);
    mem_free(f->base.path);
    mem_free(f);
}

/* ---- reading --------------------------------------------------------------------------------- */

enum rc webhdfs_open_read(struct fs *fs, const char *path, struct fs_file **out, struct err *err)
{
    struct webhdfs_status st;
    struct webhdfs_file *f;

    RETURN_IF_ERR(webhdfs_stat(webhdfs_of(fs), path, &st, err));
    if (st.type == FS_DIR)
        return err_os(err, EISDIR, "open %s", path);
    f = file_new(webhdfs_of(fs), path, READS);
    f->size_bytes = st.size_bytes;
    *out = &f->base;
    return RC_OK;
}

/* The window begins at `offset` from now on, and is not empty. */
static enum rc move_window(struct webhdfs_file *f, uint64_t offset, struct err *err)
{
    uint64_t left = f->size_bytes - offset, want = left < WINDOW_BYTES ? left : WINDOW_BYTES;
    struct webhdfs_call call = {.method = "GET",
                                .op = "OPEN",
                                .path = f->base.path,
                                .answer_max_bytes = (size_t)want};
    struct http_answer answer = {0};
    struct buf query = {0};
    enum rc rc;

    buf_printf(&query, "&offset=%" PRIu64 "&length=%" PRIu64, offset, want);
    call.query = buf_cstr(&query);
    buf_clear(&f->window);
    rc = webhdfs_call(webhdfs_of(f->base.fs), &call, &answer, NULL, err);
    if (rc == RC_OK && answer.body.len != want)
        rc = err_set(err, RC_IO, "read %s: %zu bytes at offset %" PRIu64 " instead of %" PRIu64,
                     f->base.path, answer.body.len, offset, want);
    if (rc == RC_OK) {
        buf_release(&f->window);
        f->window = answer.body;
        f->window_at = offset;
        answer.body = (struct buf){0};
    }
    http_answer_release(&answer);
    buf_release(&query);
    return rc;
}

enum rc webhdfs_read_at(struct fs_file *file, uint64_t offset, void *out, size_t len, size_t *got,
                        struct err *err)
{
    struct webhdfs_file *f = file_of(file);

    if (f->kind != READS)
        return err_set(err, RC_STATE, "read %s: it is being written", file->path);
    while (*got < len && offset < f->size_bytes) {
        uint64_t end = f->window_at + f->window.len;
        size_t part;

        if (offset < f->window_at || offset >= end) {
            RETURN_IF_ERR(move_window(f, offset, err));
            end = f->window_at + f->window.len;
        }
        part = end - offset < len - *got ? (size_t)(end - offset) : len - *got;
        memcpy((uint8_t *)out + *got, f->window.data + (offset - f->window_at), part);
        *got += part;
        offset += part;
    }
    return RC_OK;
}

enum rc webhdfs_size(struct fs_file *file, uint64_t *size_bytes, struct err *err UNUSED)
{
    const struct webhdfs_file *f = file_of(file);

    *size_bytes = f->kind == READS ? f->size_bytes : f->sent_bytes + f->piece.len;
    return RC_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

static enum rc send_piece(struct webhdfs *w, const char *path, bool first, struct bytes data,
                          bool *repeated, struct err *err)
{
    struct webhdfs_call call = {.method = first ? "PUT" : "POST",
                                .op = first ? "CREATE" : "APPEND",
                                .path = path,
                                .query = first ? "&overwrite=true" : "",
                                .has_data = true,
                                .data = data};
    struct http_answer answer = {0};
    enum rc rc = webhdfs_call(w, &call, &answer, repeated, err);

    http_answer_release(&answer);
    return rc;
}

/* Appending again is no repetition: the file's length says whether it was done. */
static enum rc append_piece(struct webhdfs *w, const char *path, uint64_t before,
                            struct bytes data, struct err *err)
{
    int64_t start = clock_mono_ns(w->clock);

    for (uint32_t tries = 1;; tries++) {
        struct webhdfs_status st;
        struct err local = {0};
        bool repeated = false;
        enum rc rc = send_piece(w, path, false, data, &repeated, &local);

        if (rc == RC_OK)
            return RC_OK;
        if (repeated && webhdfs_stat(w, path, &st, NULL) == RC_OK) {
            if (st.size_bytes == before + data.len)
                return RC_OK;
            if (st.size_bytes == before && http_client_pause(w->client, start, tries))
                continue;
        }
        return err_set(err, rc, "%s", local.msg);
    }
}

/* CREATE makes directories that are missing, which would hide a mistake: a directory that was removed stays removed to
 * us, also when this CREATE made another one. */
static enum rc create_file(struct webhdfs *w, const char *path, struct bytes data, struct err *err)
{
    struct webhdfs_status before, after;
    char dir[FS_PATH_MAX];

    RETURN_IF_ERR(path_dir(dir, sizeof dir, path, err));
    RETURN_IF_ERR(webhdfs_stat(w, dir, &before, err));
    RETURN_IF_ERR(send_piece(w, path, true, data, NULL, err));
    RETURN_IF_ERR(webhdfs_stat(w, dir, &after, err));
    if (after.file_id == before.file_id)
        return RC_OK;
    return err_os(err, ENOENT, "write %s: its directory was removed meanwhile", path);
}

enum rc webhdfs_put(struct webhdfs *w, const char *path, struct bytes content,
                    struct webhdfs_status *written, struct err *err)
{
    RETURN_IF_ERR(create_file(w, path, content, err));
    RETURN_IF_ERR(webhdfs_stat(w, path, written, err));
    if (written->size_bytes == content.len)
        return RC_OK;
    return err_set(err, RC_IO, "write %s: it has %" PRIu64 " bytes instead of %zu", path,
                   written->size_bytes, content.len);
}

enum rc webhdfs_create(struct fs *fs, const char *path, struct fs_file **out, struct err *err)
{
    struct webhdfs *w = webhdfs_of(fs);
    char temp[FS_PATH_MAX];
    struct webhdfs_status st;
    struct err local = {0};
    struct webhdfs_file *f;
    enum rc rc = webhdfs_stat(w, path, &st, &local);

    if (rc == RC_OK)
        return err_os(err, EEXIST, "create %s", path);
    if (rc != RC_NOT_FOUND)
        return err_set(err, rc, "%s", local.msg);
    RETURN_IF_ERR(webhdfs_temp_path(w, path, temp, err));
    f = file_new(w, path, WRITES);
    f->temp = mem_strdup(temp);
    *out = &f->base;
    return RC_OK;
}

static enum rc flush(struct webhdfs_file *f, struct err *err)
{
    struct webhdfs *w = webhdfs_of(f->base.fs);

    if (!f->begun) {
        f->begun = true;
        RETURN_IF_ERR(create_file(w, f->temp, buf_bytes(&f->piece), err));
    } else {
        RETURN_IF_ERR(append_piece(w, f->temp, f->sent_bytes, buf_bytes(&f->piece), err));
    }
    f->sent_bytes += f->piece.len;
    buf_clear(&f->piece);
    return RC_OK;
}

enum rc webhdfs_append(struct fs_file *file, struct bytes data, struct err *err)
{
    struct webhdfs_file *f = file_of(file);

    if (f->kind != WRITES || f->done)
        return err_set(err, RC_UNSUPPORTED,
                       "append to %s: a file on HDFS is not written to after it got its name",
                       file->path);
    while (data.len > 0) {
        size_t room = PIECE_BYTES - f->piece.len, part = data.len < room ? data.len : room;

        buf_append(&f->piece, data.data, part);
        data = bytes_of(data.data + part, data.len - part);
        if (f->piece.len == PIECE_BYTES)
            RETURN_IF_ERR(flush(f, err));
    }
    return RC_OK;
}

/* The rest is sent, and all of it gets its name. */
static enum rc finish(struct webhdfs_file *f, struct err *err)
{
    struct webhdfs *w = webhdfs_of(f->base.fs);
    struct webhdfs_status st;

    if (f->piece.len > 0 || !f->begun)
        RETURN_IF_ERR(flush(f, err));
    RETURN_IF_ERR(webhdfs_stat(w, f->temp, &st, err));
    if (st.size_bytes != f->sent_bytes)
        return err_set(err, RC_IO, "write %s: %s has %" PRIu64 " bytes instead of %" PRIu64,
                       f->base.path, f->temp, st.size_bytes, f->sent_bytes);
    RETURN_IF_ERR(webhdfs_name_file(w, f->temp, f->base.path, &st, FS_PUBLISH_NEW, err));
    f->done = true;
    return RC_OK;
}

enum rc webhdfs_sync(struct fs_file *file, struct err *err)
{
    struct webhdfs_file *f = file_of(file);

    return f->kind == WRITES && !f->done ? finish(f, err) : RC_OK;
}

void webhdfs_abandon(struct fs_file *file)
{
    struct webhdfs_file *f = file_of(file);

    if (f->kind == LOCKS)
        lease_release(f->lease);
    if (f->begun && !f->done)
        (void)!webhdfs_delete(webhdfs_of(file->fs), f->temp, NULL); /* what stays is a temporary name: swept */
    file_free(f);
}

enum rc webhdfs_close(struct fs_file *file, struct err *err)
{
    enum rc rc = webhdfs_sync(file, err);

    webhdfs_abandon(file);
    return rc;
}

/* ---- locks ----------------------------------------------------------------------------------- */

enum rc webhdfs_lock(struct fs *fs, const char *path, struct fs_file **out, struct err *err)
{
    struct lease *lease;
    struct webhdfs_file *f;

    RETURN_IF_ERR(lease_take(webhdfs_of(fs)->leases, path, &lease, err));
    f = file_new(webhdfs_of(fs), path, LOCKS);
    f->lease = lease;
    *out = &f->base;
    return RC_OK;
}

enum rc webhdfs_lock_say(struct fs_file *lock, struct bytes text, struct err *err)
{
    return lease_say(file_of(lock)->lease, text, err);
}

enum rc webhdfs_lock_check(struct fs_file *lock, bool confirm, struct err *err)
{
    return lease_check(file_of(lock)->lease, confirm, err);
}
