/* local_copies.c - see local_copies.h */
#include "checkpoint/local_copies.h"

#include "backend/keyed_stream.h"
#include "base/arena.h"
#include "base/thread.h"
#include "checkpoint/layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define ID_TEXT_MAX 24

struct local_copies {
    const struct env *env;
    char *root;
    struct mutex mutex;
    uint64_t newest GUARDED_BY(mutex); /* complete here; 0: none */
};

enum rc local_copies_new(const struct env *env, const char *root, struct local_copies **out,
                         struct err *err)
{
    struct local_copies *c;

    *out = NULL;
    RETURN_IF_ERR(fs_mkdirs(env->fs, root, err));
    c = mem_calloc(1, sizeof *c);
    c->env = env;
    c->root = mem_strdup(root);
    mutex_init(&c->mutex);
    *out = c;
    return RC_OK;
}

void local_copies_free(struct local_copies *c)
{
    if (c == NULL)
        return;
    mutex_release(&c->mutex);
    mem_free(c->root);
    mem_free(c);
}

static enum rc dir_of(const struct local_copies *c, uint64_t checkpoint_id, char out[FS_PATH_MAX],
                      struct err *err)
{
    char name[ID_TEXT_MAX];

    snprintf(name, sizeof name, "%" PRIu64, checkpoint_id);
    return path_join(out, FS_PATH_MAX, c->root, name, err);
}

static uint64_t newest_of(struct local_copies *c)
{
    uint64_t id;

    mutex_lock(&c->mutex);
    id = c->newest;
    mutex_unlock(&c->mutex);
    return id;
}

/* ---- keeping --------------------------------------------------------------------------------- */

/* The file is the same in the last checkpoint that has it: where RocksDB's own cannot be linked from,
 * that one can. */
static enum rc link_last(struct local_copies *c, const char *name, const char *to, struct err *err)
{
    uint64_t newest = newest_of(c);
    char dir[FS_PATH_MAX], from[FS_PATH_MAX];

    if (newest == 0)
        return RC_NO_LINK;
    RETURN_IF_ERR(dir_of(c, newest, dir, err));
    RETURN_IF_ERR(path_join(from, sizeof from, dir, name, err));
    return fs_link(c->env->fs, from, to, NULL) == RC_OK ? RC_OK : RC_NO_LINK;
}

static enum rc bring(struct local_copies *c, const char *from, const char *name, const char *to,
                     struct err *err)
{
    struct fs *fs = c->env->fs;
    struct err local = {0};
    enum rc rc = fs_link(fs, from, to, &local);

    if (rc == RC_NO_LINK)
        rc = link_last(c, name, to, err);
    else if (rc != RC_OK && rc != RC_EXISTS)
        return err_set(err, rc, "%s", local.msg);
    if (rc == RC_NO_LINK)
        rc = fs_reflink(fs, from, to, NULL);
    if (rc == RC_NO_LINK)
        rc = fs_copy(fs, from, to, err);
    return rc == RC_EXISTS ? RC_OK : rc; /* another subtask's, of the same content */
}

static enum rc add(struct local_copies *c, uint64_t checkpoint_id, const char *local_path,
                   const char *name, struct err *err)
{
    char dir[FS_PATH_MAX], to[FS_PATH_MAX];
    struct err local = {0};
    enum rc rc;

    RETURN_IF_ERR(dir_of(c, checkpoint_id, dir, err));
    rc = fs_mkdir(c->env->fs, dir, &local);
    if (rc != RC_OK && rc != RC_EXISTS)
        return err_set(err, rc, "%s", local.msg);
    RETURN_IF_ERR(path_join(to, sizeof to, dir, name, err));
    rc = bring(c, local_path, name, to, err);
    if (rc != RC_OK)
        (void)!fs_unlink(c->env->fs, to, NULL); /* a part of a copy is none */
    return rc;
}

void local_copies_add(struct local_copies *c, uint64_t checkpoint_id, const char *local_path,
                      const char *name)
{
    struct err err = {0};

    if (add(c, checkpoint_id, local_path, name, &err) != RC_OK)
        log_line(c->env->log, LOG_WARN,
                 "no local copy: a restart fetches it checkpoint_id=%" PRIu64
                 " file=%s reason=\"%s\"",
                 checkpoint_id, name, err.msg);
}

static void remove_dir(struct local_copies *c, const char *dir, enum log_level level)
{
    struct err err = {0};

    if (fs_remove_tree(c->env->fs, dir, &err) != RC_OK)
        log_line(c->env->log, level, "local copies stay dir=%s reason=\"%s\"", dir, err.msg);
}

static enum rc drop_older(void *ctx, const char *name, struct err *err)
{
    struct local_copies *c = ctx;
    char dir[FS_PATH_MAX], *end;
    uint64_t id = strtoull(name, &end, 10);

    if (end == name || *end != '\0' || id >= newest_of(c))
        return RC_OK;
    RETURN_IF_ERR(path_join(dir, sizeof dir, c->root, name, err));
    remove_dir(c, dir, LOG_WARN);
    return RC_OK;
}

void local_copies_completed(struct local_copies *c, uint64_t checkpoint_id)
{
    struct err err = {0};
    bool newer;

    mutex_lock(&c->mutex);
    newer = checkpoint_id > c->newest;
    if (newer)
        c->newest = checkpoint_id;
    mutex_unlock(&c->mutex);
    if (newer && fs_list(c->env->fs, c->root, drop_older, c, &err) != RC_OK)
        log_line(c->env->log, LOG_WARN, "local copies stay dir=%s reason=\"%s\"", c->root, err.msg);
}

void local_copies_aborted(struct local_copies *c, uint64_t checkpoint_id)
{
    char dir[FS_PATH_MAX];

    if (dir_of(c, checkpoint_id, dir, NULL) == RC_OK)
        remove_dir(c, dir, LOG_DEBUG); /* a straggler may add to it: it goes with the next older ones */
}

/* ---- using ----------------------------------------------------------------------------------- */

struct use {
    struct local_copies *c;
    const char *dir;
    struct state_file **files;
    const char **paths; /* of those that are good; else NULL */
    size_t count, cap;
    struct mutex mutex;
    struct arena *arena GUARDED_BY(mutex);
};

static enum rc note_shared(void *ctx, const struct operator_meta *op UNUSED,
                           const struct subtask_state *subtask UNUSED, struct state_file *file,
                           struct err *err UNUSED)
{
    struct use *u = ctx;

    if (file->scope != FILE_SHARED)
        return RC_OK;
    if (u->count == u->cap) {
        u->cap = u->cap == 0 ? 64 : u->cap * 2;
        u->files = mem_realloc(u->files, u->cap * sizeof(struct state_file *));
    }
    u->files[u->count++] = file;
    return RC_OK;
}

/* On any thread. A copy that is no good is no error. */
static enum rc look_at_copy(void *ctx, size_t i, struct err *err)
{
    struct use *u = ctx;
    struct state_file copy = *u->files[i];
    char path[FS_PATH_MAX];
    struct err local = {0};

    RETURN_IF_ERR(path_join(path, sizeof path, u->dir, path_base(copy.path), err));
    copy.resolved_path = path;
    if (state_file_prove(u->c->env->fs, &copy, &local) == RC_OK) {
        mutex_lock(&u->mutex);
        u->paths[i] = arena_strdup(u->arena, path);
        mutex_unlock(&u->mutex);
        return RC_OK;
    }
    log_line(u->c->env->log, LOG_WARN,
             "local copy is not used, the file is fetched file=%s reason=\"%s\"",
             copy.path, local.msg);
    return RC_OK;
}

void local_copies_use(struct local_copies *c, const struct checkpoint_metadata *m,
                      struct arena *arena, size_t *used, size_t *fetched) NO_THREAD_SAFETY
{
    struct use u = {.c = c, .arena = arena};
    char dir[FS_PATH_MAX];
    struct err err = {0};
    enum rc rc;

    *used = *fetched = 0;
    mutex_init(&u.mutex);
    GOTO_IF_ERR(dir_of(c, m->checkpoint_id, dir, &err));
    u.dir = dir;
    GOTO_IF_ERR(metadata_each_file(m, note_shared, &u, &err));
    u.paths = mem_calloc(u.count, sizeof *u.paths);
    GOTO_IF_ERR(fan_out_all(c->env->fan, u.count, look_at_copy, &u, &err));
    for (size_t i = 0; i < u.count; i++) {
        if (u.paths[i] != NULL)
            u.files[i]->resolved_path = u.paths[i];
        *(u.paths[i] != NULL ? used : fetched) += 1;
    }
out:
    if (rc != RC_OK)
        log_line(c->env->log, LOG_WARN, "local copies are not used reason=\"%s\"", err.msg);
    mutex_release(&u.mutex);
    mem_free(u.files);
    mem_free(u.paths);
}
