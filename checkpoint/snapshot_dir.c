/* snapshot_dir.c - see snapshot_dir.h */
#include "checkpoint/snapshot_dir.h"

#include "base/arena.h"
#include "checkpoint/layout.h"

static enum rc look_for_name(void *ctx, const char *name, struct err *err)
{
    return err_set(err, RC_EXISTS, "%s is not empty: it has %s", (const char *)ctx, name);
}

enum rc snapshot_dir_claim(struct fs *fs, const char *dir, bool *made, struct err *err)
{
    struct err none = {0};
    struct fs_stat st;
    char path[FS_PATH_MAX];
    enum rc rc = fs_stat(fs, dir, &st, &none);

    *made = rc == RC_NOT_FOUND;
    if (*made)
        return fs_mkdirs(fs, dir, err);
    if (rc != RC_OK)
        return err_set(err, rc, "%s", none.msg);
    if (st.type != FS_DIR)
        return err_set(err, RC_EXISTS, "%s is no directory", dir);
    RETURN_IF_ERR(path_absolute(path, sizeof path, dir, err));
    return fs_list(fs, dir, look_for_name, path, err);
}

enum rc snapshot_dir_hide(struct fs *fs, const char *dir, struct err *err)
{
    char path[FS_PATH_MAX];
    struct err local = {0};
    enum rc rc;

    RETURN_IF_ERR(path_join(path, sizeof path, dir, LAYOUT_METADATA, err));
    rc = fs_unlink(fs, path, &local);
    if (rc != RC_OK && rc != RC_NOT_FOUND) {
        err_set(err, rc, "%s", local.msg);
        return rc;
    }
    /* Also when it was not there: an unlink before this one may not have been synced. */
    err_clear(&local);
    rc = fs_sync_dir(fs, dir, &local);
    if (rc == RC_NOT_FOUND)
        return RC_OK;
    return rc == RC_OK ? RC_OK : err_set(err, rc, "%s", local.msg);
}

struct listing {
    struct arena *arena;
    const char **own;
    size_t count, cap;
    const char *stranger; /* one of them, NULL: none */
};

static enum rc sort_out(void *ctx, const char *name, struct err *err UNUSED)
{
    struct listing *l = ctx;
    struct digest128 digest;
    uint64_t index;

    if (!layout_parse_exclusive(name, &index) && !layout_parse_shared(name, &digest) &&
        !layout_is_log(name) && !layout_is_temp(name)) {
        l->stranger = arena_strdup(l->arena, name);
        return RC_OK;
    }
    if (l->count == l->cap) {
        l->cap = l->cap == 0 ? 16 : l->cap * 2;
        l->own = mem_realloc(l->own, l->cap * sizeof *l->own);
    }
    l->own[l->count++] = arena_strdup(l->arena, name);
    return RC_OK;
}

struct removal {
    struct fs *fs;
    const char *dir;
    const struct listing *l;
};

/* On any thread. */
static enum rc remove_one(void *ctx, size_t i, struct err *err)
{
    const struct removal *r = ctx;
    char path[FS_PATH_MAX];
    struct err local = {0};
    enum rc rc;

    RETURN_IF_ERR(path_join(path, sizeof path, r->dir, r->l->own[i], err));
    rc = fs_unlink(r->fs, path, &local);
    return rc == RC_OK || rc == RC_NOT_FOUND ? RC_OK : err_set(err, rc, "%s", local.msg);
}

/* Several at a time on a server; locally an unlink is over before a thread has begun. */
static enum rc remove_own(const struct env *env, const char *dir, const struct listing *l,
                          struct err *err)
{
    struct removal r = {env->fs, dir, l};

    return fan_out_run(path_is_remote(dir) ? env->fan : NULL, l->count, remove_one, &r, err);
}

enum rc snapshot_dir_remove(const struct env *env, const char *dir, struct err *err)
{
    struct listing l = {.arena = arena_new(4096)};
    struct err local = {0};
    enum rc rc;

    GOTO_IF_ERR(snapshot_dir_hide(env->fs, dir, err));
    rc = fs_list(env->fs, dir, sort_out, &l, &local);
    if (rc == RC_NOT_FOUND) {
        rc = RC_OK;
        goto out;
    }
    if (rc != RC_OK)
        GOTO_IF_ERR(err_set(err, rc, "%s", local.msg));
    GOTO_IF_ERR(remove_own(env, dir, &l, err));
    if (l.stranger != NULL)
        log_line(env->log, LOG_WARN, "directory is not empty and stays dir=%s holds=%s", dir,
                 l.stranger);
    else
        GOTO_IF_ERR(fs_rmdir(env->fs, dir, err));
out:
    mem_free(l.own);
    arena_free(l.arena);
    return rc == RC_OK ? RC_OK : err_wrap(err, rc, "remove %s", dir);
}
