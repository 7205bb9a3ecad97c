/* scratch.c - see scratch.h */
#include "base/scratch.h"

#include <stdio.h>

#define LOCK_NAME "LOCK"

static enum rc collect(void *ctx, const char *name, struct err *err)
{
    struct buf *names = ctx;

    (void)err;
    if (strcmp(name, LOCK_NAME) != 0)
        buf_append(names, name, strlen(name) + 1);
    return RC_OK;
}

/* The LOCK goes last: one who dies on the way leaves a directory that a later start still knows. */
static enum rc remove_scratch(struct fs *fs, const char *dir, struct err *err)
{
    struct buf names = {0};
    char path[FS_PATH_MAX];
    enum rc rc;

    GOTO_IF_ERR(fs_list(fs, dir, collect, &names, err));
    for (size_t at = 0; at < names.len; at += strlen((char *)names.data + at) + 1) {
        GOTO_IF_ERR(path_join(path, sizeof path, dir, (char *)names.data + at, err));
        GOTO_IF_ERR(fs_remove_tree(fs, path, err));
    }
    rc = fs_remove_tree(fs, dir, err);
out:
    buf_release(&names);
    return rc;
}

struct sweep {
    const struct env *env;
    const char *base, *prefix;
};

static bool is_id(const char *name)
{
    return strlen(name) == SCRATCH_ID_LEN && strspn(name, "0123456789abcdef") == SCRATCH_ID_LEN;
}

static enum rc sweep_one(void *ctx, const char *name, struct err *err)
{
    struct sweep *s = ctx;
    char dir[FS_PATH_MAX], path[FS_PATH_MAX];
    struct fs_file *lock = NULL;
    struct err trouble = {0};

    (void)err;
    if (strncmp(name, s->prefix, strlen(s->prefix)) != 0 || !is_id(name + strlen(s->prefix)) ||
        path_join(dir, sizeof dir, s->base, name, NULL) != RC_OK ||
        path_join(path, sizeof path, dir, LOCK_NAME, NULL) != RC_OK)
        return RC_OK; /* not ours */
    if (!fs_exists(s->env->fs, path)) {
        /* Died between the two, when it was made or removed; only an empty one can go. */
        if (fs_rmdir(s->env->fs, dir, &trouble) != RC_OK)
            return RC_OK;
    } else if (fs_lock(s->env->fs, path, &lock, NULL) != RC_OK) {
        return RC_OK; /* its owner lives */
    } else if (remove_scratch(s->env->fs, dir, &trouble) != RC_OK) {
        log_line(s->env->log, LOG_WARN, "left-over scratch directory stays: %s", trouble.msg);
    }
    fs_abandon(&lock);
    return RC_OK;
}

#define SWEPT_WAIT_NS (5 * NS_PER_MS)

/* Again when another one that starts at this moment sweeps it away before it is locked: it may go
 * between the LOCK's opening and its locking, and what is locked then is a file without a name. */
static enum rc make_locked(struct fs *fs, struct clock *clock, const char *dir,
                           struct fs_file **lock, struct err *err)
{
    char path[FS_PATH_MAX];
    enum rc rc = RC_NOT_FOUND;

    RETURN_IF_ERR(path_join(path, sizeof path, dir, LOCK_NAME, err));
    for (int tries = 0; (rc == RC_NOT_FOUND || rc == RC_STATE) && tries < 20; tries++) {
        err_clear(err);
        if (rc == RC_STATE)
            clock_sleep_ns(clock, SWEPT_WAIT_NS);
        RETURN_IF_ERR(fs_mkdirs(fs, dir, err));
        rc = fs_lock(fs, path, lock, err);
        if (rc == RC_OK && !fs_exists(fs, path)) {
            fs_abandon(lock);
            rc = err_set(err, RC_NOT_FOUND, "%s: swept away while it was made", dir);
        }
    }
    return rc;
}

enum rc scratch_make(const struct env *env, const char *base_dir, const char *prefix,
                     const char *id, char dir[FS_PATH_MAX], struct fs_file **lock, struct err *err)
{
    char base[FS_PATH_MAX], name[2 * SCRATCH_ID_LEN];
    struct sweep sweep = {env, base, prefix};

    ASSERT(is_id(id) && strlen(prefix) < SCRATCH_ID_LEN);
    RETURN_IF_ERR(path_absolute(base, sizeof base, base_dir, err));
    RETURN_IF_ERR(fs_mkdirs(env->fs, base, err));
    RETURN_IF_ERR(fs_list(env->fs, base, sweep_one, &sweep, err));
    snprintf(name, sizeof name, "%s%s", prefix, id);
    RETURN_IF_ERR(path_join(dir, FS_PATH_MAX, base, name, err));
    return make_locked(env->fs, env->clock, dir, lock, err);
}

void scratch_remove(const struct env *env, const char *dir, struct fs_file **lock)
{
    struct err err = {0};

    if (dir[0] != '\0' && remove_scratch(env->fs, dir, &err) != RC_OK)
        log_line(env->log, LOG_WARN, "scratch directory not removed: %s", err.msg);
    fs_abandon(lock);
}
