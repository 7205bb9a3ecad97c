/* savepoint.c - see savepoint.h; the attempt itself is attempt.c's. */
#include "checkpoint/savepoint.h"

#include "base/arena.h"
#include "checkpoint/discard.h"
#include "checkpoint/layout.h"
#include "checkpoint/storage_priv.h"

#include <inttypes.h>

#define NAME_TRIES 10

/* A new directory of a free name, durable; `dir` has its path. */
static enum rc make_dir(struct storage *s, uint64_t checkpoint_id, const char *parent, char *dir,
                        size_t cap, struct err *err)
{
    struct err local = {0};
    enum rc rc = RC_EXISTS;

    for (int i = 0; i < NAME_TRIES && rc == RC_EXISTS; i++) {
        char name[LAYOUT_NAME_MAX];

        err_clear(&local);
        layout_savepoint_name(s->job_id, &s->rng, name);
        RETURN_IF_ERR(path_join(dir, cap, parent, name, err));
        rc = fs_mkdir(s->env.fs, dir, &local);
    }
    if (rc == RC_EXISTS)
        return err_set(err, rc, "no free name in %s after %d tries: %s", parent, NAME_TRIES,
                       local.msg);
    if (rc == RC_OK)
        rc = fs_sync_dir(s->env.fs, parent, &local);
    if (rc == RC_OK)
        return RC_OK;
    storage_remove_empty(s, dir,
                         checkpoint_id); /* also after mkdir: its failure may be a lost answer */
    return err_set(err, rc, "%s", local.msg);
}

enum rc savepoint_begin(struct storage *s, uint64_t checkpoint_id, const char *directory,
                        struct storage_attempt **out, struct err *err)
{
    char given[FS_PATH_MAX], parent[FS_PATH_MAX], dir[FS_PATH_MAX];
    enum rc rc;

    *out = NULL;
    GOTO_IF_ERR(path_from_uri(given, sizeof given, directory, err));
    GOTO_IF_ERR(path_absolute(parent, sizeof parent, given, err));
    GOTO_IF_ERR(fs_mkdirs(s->env.fs, parent, err));
    GOTO_IF_ERR(make_dir(s, checkpoint_id, parent, dir, sizeof dir, err));
    *out = attempt_new_take(s, checkpoint_id, ATTEMPT_SAVEPOINT, mem_strdup(dir));
    return RC_OK;
out:
    return err_wrap(err, rc, "begin savepoint in %s", directory);
}

enum rc savepoint_dispose(const struct env *env, const char *path, struct err *err)
{
    char given[FS_PATH_MAX], dir[FS_PATH_MAX], parent[FS_PATH_MAX];

    RETURN_IF_ERR(path_from_uri(given, sizeof given, path, err));
    RETURN_IF_ERR(path_absolute(dir, sizeof dir, given, err));
    if (strcmp(path_base(dir), LAYOUT_METADATA) == 0) {
        RETURN_IF_ERR(path_dir(parent, sizeof parent, dir, err));
        return discard_snapshot(env, parent, false, err);
    }
    return discard_snapshot(env, dir, false, err);
}
