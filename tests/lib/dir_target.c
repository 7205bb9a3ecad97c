#include "tests/lib/dir_target.h"

struct snapshot_stream {
    struct dir_target *target;
    struct buf content;
};

static struct dir_target *of(struct snapshot_target *t)
{
    return (struct dir_target *)t;
}

/* Counts a publishing call down; RC_IO when its turn has come. */
static enum rc may_go(struct dir_target *t, struct err *err)
{
    enum rc rc = RC_OK;

    mutex_lock(&t->mutex);
    if (t->fail_after == 0)
        rc = err_set(err, RC_IO, "dir_target: asked to fail");
    else if (t->fail_after > 0)
        t->fail_after--;
    mutex_unlock(&t->mutex);
    return rc;
}

static enum rc publish_shared(struct snapshot_target *target, struct arena *arena,
                              const char *local_path, uint64_t size_bytes, struct digest128 digest,
                              struct state_file *out, struct err *err)
{
    struct dir_target *t = of(target);
    char hex[DIGEST_HEX_LEN + 1], path[FS_PATH_MAX];
    const char *local_name = out->local_name;
    enum rc rc;

    RETURN_IF_ERR(may_go(t, err));
    digest_hex(digest, hex);
    *out = (struct state_file){
        .local_name = local_name,
        .scope = FILE_SHARED,
        .path = arena_printf(arena, "shared/%s.sst", hex),
        .size_bytes = size_bytes,
        .digest = digest,
    };
    RETURN_IF_ERR(path_join(path, sizeof path, t->dir, out->path, err));
    mutex_lock(&t->mutex);
    if (fs_exists(t->fs, path)) {
        t->shared_known++;
        rc = RC_OK;
    } else {
        out->newly_written = true;
        t->shared_new++;
        rc = fs_link(t->fs, local_path, path, err);
    }
    mutex_unlock(&t->mutex);
    return rc;
}

static enum rc write_file(struct dir_target *t, const char *name, struct bytes content,
                          struct err *err)
{
    char path[FS_PATH_MAX];
    struct fs_file *f = NULL;
    enum rc rc;

    RETURN_IF_ERR(path_join(path, sizeof path, t->dir, name, err));
    GOTO_IF_ERR(fs_create(t->fs, path, &f, err));
    GOTO_IF_ERR(fs_append(f, content, err));
    GOTO_IF_ERR(fs_close(&f, err));
out:
    fs_abandon(&f);
    return rc;
}

static enum rc publish_exclusive(struct snapshot_target *target, struct arena *arena,
                                 struct bytes content, struct state_file *out, struct err *err)
{
    struct dir_target *t = of(target);
    const char *local_name = out->local_name;
    uint32_t n;

    RETURN_IF_ERR(may_go(t, err));
    *out = (struct state_file){
        .local_name = local_name,
        .scope = FILE_INLINE,
        .size_bytes = content.len,
        .digest = digest_of(content),
        .newly_written = true,
    };
    if (content.len <= t->inline_max) {
        out->inline_bytes = arena_bytes_copy(arena, content);
        return RC_OK;
    }
    mutex_lock(&t->mutex);
    n = t->next_name++;
    mutex_unlock(&t->mutex);
    out->scope = FILE_EXCLUSIVE;
    out->path = arena_printf(arena, "chk/%u.bin", n);
    return write_file(t, out->path, content, err);
}

static enum rc stream_open(struct snapshot_target *target, struct snapshot_stream **out,
                           struct err *err)
{
    RETURN_IF_ERR(may_go(of(target), err));
    *out = mem_calloc(1, sizeof **out);
    (*out)->target = of(target);
    return RC_OK;
}

static enum rc stream_append(struct snapshot_stream *s, struct bytes b, struct err *err)
{
    RETURN_IF_ERR(may_go(s->target, err));
    buf_append(&s->content, b.data, b.len);
    return RC_OK;
}

static void stream_abort(struct snapshot_stream *s)
{
    buf_release(&s->content);
    mem_free(s);
}

static enum rc stream_finish(struct snapshot_stream *s, struct arena *arena, struct state_file *out,
                             struct err *err)
{
    enum rc rc = publish_exclusive(&s->target->base, arena, buf_bytes(&s->content), out, err);

    stream_abort(s);
    return rc;
}

static bool cancelled(struct snapshot_target *target)
{
    return of(target)->cancel;
}

static const struct snapshot_target_ops ops = {
    .publish_shared = publish_shared,
    .publish_exclusive = publish_exclusive,
    .stream_open = stream_open,
    .stream_append = stream_append,
    .stream_finish = stream_finish,
    .stream_abort = stream_abort,
    .cancelled = cancelled,
};

void dir_target_init(struct dir_target *t, struct fs *fs, const char *dir)
{
    static const char *const subs[] = {"shared", "chk"};
    struct err err = {0};

    *t = (struct dir_target){.base = {&ops}, .fs = fs, .fail_after = -1};
    ASSERT(strlen(dir) < sizeof t->dir);
    memcpy(t->dir, dir, strlen(dir) + 1);
    mutex_init(&t->mutex);
    for (size_t i = 0; i < ARRAY_LEN(subs); i++) {
        char path[FS_PATH_MAX];

        ASSERT(path_join(path, sizeof path, dir, subs[i], &err) == RC_OK);
        ASSERT(fs_mkdirs(fs, path, &err) == RC_OK);
    }
}

void dir_target_release(struct dir_target *t)
{
    mutex_release(&t->mutex);
}

void dir_target_resolve(const struct dir_target *t, struct arena *arena, struct keyed_handle *h)
{
    for (size_t i = 0; i < h->file_count; i++) {
        if (h->files[i].scope != FILE_INLINE)
            h->files[i].resolved_path = arena_printf(arena, "%s/%s", t->dir, h->files[i].path);
    }
}

size_t handles_meeting(const struct keyed_handle *handles, size_t count,
                       struct key_group_range range, struct keyed_handle *out)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        struct key_group_range meet = key_group_range_meet(handles[i].range, range);

        if (meet.first <= meet.last)
            out[n++] = handles[i];
    }
    return n;
}

const struct env *dir_target_env(void)
{
    static struct env env;

    if (env.fs == NULL) /* else threads are reading it */
        env = (struct env){.fs = fs_posix(), .clock = clock_posix(), .seed = 1};
    return &env;
}
