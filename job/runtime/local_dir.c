/* local_dir.c - see local_dir.h */
#include "job/runtime/local_dir.h"

#include "checkpoint/layout.h"

#include <stdio.h>

#define PREFIX ".varve-local-"

struct sweep {
    const struct env *env;
    const char *base;
};
static enum rc sweep_one(void *ctx, const char *name, struct err *err)
{
    struct sweep *s = ctx;
    char dir[FS_PATH_MAX], path[FS_PATH_MAX];
    struct fs_file *lock = NULL;
    struct err trouble = {0};

    (void)err;
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || !layout_is_job_id(name + strlen(PREFIX)) ||
        path_join(dir, sizeof dir, s->base, name, NULL) != RC_OK ||
        path_join(path, sizeof path, dir, LAYOUT_LOCK, NULL) != RC_OK ||
        !fs_exists(s->env->fs, path) || fs_lock(s->env->fs, path, &lock, NULL) != RC_OK)
        return RC_OK; /* not ours, or its job runs */
    if (fs_remove_tree(s->env->fs, dir, &trouble) != RC_OK)
        log_line(s->env->log, LOG_WARN, "left-over scratch directory stays: %s", trouble.msg);
    fs_abandon(&lock);
    return RC_OK;
}

enum rc local_dir_make(const struct env *env, const struct config *config,
                       const char *checkpoint_dir, const char *job_id, char dir[FS_PATH_MAX],
                       struct fs_file **lock, struct err *err)
{
    char base[FS_PATH_MAX], path[FS_PATH_MAX], name[LAYOUT_NAME_MAX];
    struct sweep sweep = {env, base};

    if (config_has(config, OPT_ROCKS_LOCAL_DIR))
        RETURN_IF_ERR(
            path_from_uri(path, sizeof path, config_string(config, OPT_ROCKS_LOCAL_DIR), err));
    else
        snprintf(path, sizeof path, "%s", checkpoint_dir != NULL ? checkpoint_dir : "/tmp");
    RETURN_IF_ERR(path_absolute(base, sizeof base, path, err));
    RETURN_IF_ERR(fs_mkdirs(env->fs, base, err));
    RETURN_IF_ERR(fs_list(env->fs, base, sweep_one, &sweep, err));
    snprintf(name, sizeof name, PREFIX "%s", job_id);
    RETURN_IF_ERR(path_join(dir, FS_PATH_MAX, base, name, err));
    RETURN_IF_ERR(fs_mkdir(env->fs, dir, err));
    RETURN_IF_ERR(path_join(path, sizeof path, dir, LAYOUT_LOCK, err));
    return fs_lock(env->fs, path, lock, err);
}

void local_dir_remove(const struct env *env, const char *dir, struct fs_file **lock)
{
    struct err err = {0};

    if (dir[0] != '\0' && fs_remove_tree(env->fs, dir, &err) != RC_OK)
        log_line(env->log, LOG_WARN, "scratch directory not removed: %s", err.msg);
    fs_abandon(lock);
}
