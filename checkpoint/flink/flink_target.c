/* flink_target.c - see flink_target.h */
#include "checkpoint/flink/flink_target.h"

#include "base/arena.h"
#include "base/transfer.h"
#include "checkpoint/layout.h"
#include "checkpoint/snapshot_dir.h"
#include "checkpoint/storage.h"

struct flink_target {
    struct env env;
    struct arena *arena;
    const char *dir;
    bool made; /* the directory is ours */
    struct rng rng;
    size_t count, cap;
    const char **names;
    uint64_t bytes;
};

enum rc flink_target_open(const struct env *env, const char *dir, struct flink_target **out,
                          struct err *err)
{
    struct flink_target *t = mem_calloc(1, sizeof *t);
    enum rc rc;

    t->env = *env;
    t->arena = arena_new(0);
    t->dir = arena_strdup(t->arena, dir);
    env_rng(env, "flink-file", &t->rng);
    rc = snapshot_dir_claim(env->fs, t->dir, &t->made, err);
    if (rc != RC_OK) {
        flink_target_free(t);
        return rc;
    }
    *out = t;
    return RC_OK;
}

enum rc flink_target_publish(struct flink_target *t, struct bytes metadata, struct err *err)
{
    RETURN_IF_ERR(fs_sync_dir(t->env.fs, t->dir, err)); /* names before who names them (C2) */
    return storage_publish_metadata(t->env.fs, t->dir, metadata, err);
}

void flink_target_abort(struct flink_target *t)
{
    struct err why = {0};
    char path[FS_PATH_MAX];
    enum rc rc = snapshot_dir_hide(t->env.fs, t->dir, &why);

    for (size_t i = 0; rc == RC_OK && i < t->count; i++) {
        rc = path_join(path, sizeof path, t->dir, t->names[i], &why);
        if (rc == RC_OK)
            rc = fs_unlink(t->env.fs, path, &why);
        if (rc == RC_NOT_FOUND) {
            err_clear(&why);
            rc = RC_OK;
        }
    }
    if (rc == RC_OK && path_join(path, sizeof path, t->dir, LAYOUT_METADATA_TEMP, &why) == RC_OK)
        (void)!fs_unlink(t->env.fs, path, NULL); /* there when its rename failed */
    if (rc == RC_OK && t->made)
        rc = fs_rmdir(t->env.fs, t->dir, &why);
    if (rc != RC_OK)
        log_line(t->env.log, LOG_WARN, "unfinished export stays dir=%s reason=\"%s\"", t->dir,
                 why.msg);
}

void flink_target_free(struct flink_target *t)
{
    if (t == NULL)
        return;
    mem_free(t->names);
    arena_free(t->arena);
    mem_free(t);
}

uint64_t flink_target_files(const struct flink_target *t)
{
    return t->count;
}

uint64_t flink_target_bytes(const struct flink_target *t)
{
    return t->bytes;
}

/* ---- files ----------------------------------------------------------------------------------- */

static const char *new_name(struct flink_target *t)
{
    char name[UUID_LEN + 1];

    rng_uuid(&t->rng, name);
    return arena_strdup(t->arena, name);
}

void flink_file_init(struct flink_target *t, struct flink_file *out)
{
    *out = (struct flink_file){.target = t, .name = new_name(t)};
}

/* Before it is there, so that an abort removes it. */
static void note_name(struct flink_target *t, const char *name)
{
    if (t->count == t->cap) {
        t->cap = t->cap == 0 ? 16 : 2 * t->cap;
        t->names = mem_realloc(t->names, t->cap * sizeof *t->names);
    }
    t->names[t->count++] = name;
}

static enum rc create(struct flink_file *f, struct err *err)
{
    char path[FS_PATH_MAX];

    RETURN_IF_ERR(path_join(path, sizeof path, f->target->dir, f->name, err));
    note_name(f->target, f->name);
    return fs_create(f->target->env.fs, path, &f->file, err);
}

enum rc flink_target_link(struct flink_target *t, const char *from, uint64_t size_bytes,
                          struct arena *arena, bool *linked, struct flink_stream *out,
                          struct err *err)
{
    struct fs *fs = t->env.fs;
    const char *name = new_name(t);
    char to[FS_PATH_MAX];
    enum rc rc;

    *linked = false;
    RETURN_IF_ERR(path_join(to, sizeof to, t->dir, name, err));
    /* Whoever wrote it may not have: durable before it is named (C2). */
    RETURN_IF_ERR(transfer_sync_content(fs, from, size_bytes, err));
    note_name(t, name);
    rc = fs_link(fs, from, to, NULL);
    if (rc == RC_NO_LINK)
        rc = fs_reflink(fs, from, to, NULL);
    if (rc == RC_NO_LINK) {
        t->count--;
        return RC_OK;
    }
    if (rc != RC_OK)
        return err_set(err, rc, "link %s to %s", from, to);
    *linked = true;
    *out = (struct flink_stream){.tag = FLINK_STREAM_RELATIVE,
                                 .path = bytes_of_str(arena_strdup(arena, name)),
                                 .size = (int64_t)size_bytes};
    t->bytes += size_bytes;
    return RC_OK;
}

enum rc flink_file_flush(struct flink_file *f, size_t n, struct err *err)
{
    ASSERT(n <= f->buf.len);
    if (n == 0)
        return RC_OK;
    if (f->file == NULL)
        RETURN_IF_ERR(create(f, err));
    RETURN_IF_ERR(fs_append(f->file, bytes_of(f->buf.data, n), err));
    f->written += n;
    f->target->bytes += n;
    memmove(f->buf.data, f->buf.data + n, f->buf.len - n);
    f->buf.len -= n;
    return RC_OK;
}

enum rc flink_file_finish(struct flink_file *f, struct arena *arena, struct flink_stream *out,
                          struct err *err)
{
    const char *name = arena_strdup(arena, f->name);

    if (f->file == NULL && f->buf.len <= FLINK_INLINE_BYTES) {
        *out = (struct flink_stream){.tag = FLINK_STREAM_BYTES,
                                     .path = bytes_of_str(name),
                                     .data = arena_bytes_copy(arena, buf_bytes(&f->buf)),
                                     .size = (int64_t)f->buf.len};
        f->target->bytes += f->buf.len;
        flink_file_release(f);
        return RC_OK;
    }
    RETURN_IF_ERR(flink_file_flush(f, f->buf.len, err));
    RETURN_IF_ERR(fs_sync(f->file, err));
    RETURN_IF_ERR(fs_close(&f->file, err)); /* a failed close is a failed write */
    *out = (struct flink_stream){.tag = FLINK_STREAM_RELATIVE,
                                 .path = bytes_of_str(name),
                                 .size = (int64_t)f->written};
    flink_file_release(f);
    return RC_OK;
}

void flink_file_release(struct flink_file *f)
{
    fs_abandon(&f->file);
    buf_release(&f->buf);
    *f = (struct flink_file){0};
}
