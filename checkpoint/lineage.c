/* lineage.c - see lineage.h */
#include "checkpoint/lineage.h"

#include "checkpoint/discard.h"
#include "checkpoint/layout.h"

/* ---- ORIGIN --------------------------------------------------------------------------------- */

void origin_encode(const struct run_origin *o, struct buf *out)
{
    note_put(out, "job_id", o->job_id);
    note_put(out, "job_name", o->job_name);
    note_put(out, "fingerprint", o->fingerprint);
    note_put_number(out, "started", o->started_wall_ms < 0 ? 0 : (uint64_t)o->started_wall_ms);
    note_put(out, "from", o->from);
    for (size_t i = 0; i < o->ancestor_count; i++)
        note_put(out, "after", o->ancestors[i]);
}

enum rc origin_parse(struct note note, struct run_origin *out, struct err *err)
{
    uint64_t started;

    *out = (struct run_origin){0};
    if (!note_take(&note, "job_id", &out->job_id) ||
        !note_take(&note, "job_name", &out->job_name) ||
        !note_take(&note, "fingerprint", &out->fingerprint) ||
        !note_take_number(&note, "started", INT64_MAX, &started) ||
        !note_take(&note, "from", &out->from) || (out->from[0] != '\0' && !path_is_absolute(out->from)))
        goto bad;
    out->started_wall_ms = (int64_t)started;
    out->ancestors = ARENA_ARRAY(note.arena, LINEAGE_ANCESTORS_MAX, const char *);
    while (!note_is_empty(&note)) {
        const char *id;

        if (out->ancestor_count == LINEAGE_ANCESTORS_MAX || !note_take(&note, "after", &id) ||
            !layout_is_job_id(id))
            goto bad;
        out->ancestors[out->ancestor_count++] = id;
    }
    return RC_OK;
bad:
    return err_set(err, RC_CORRUPT, "not the lines that say where a run began");
}

enum rc origin_write(struct fs *fs, const char *job_dir, const struct run_origin *o,
                     struct err *err)
{
    struct buf text = {0};
    enum rc rc;

    origin_encode(o, &text);
    rc = note_write(fs, job_dir, LAYOUT_ORIGIN, buf_bytes(&text), err);
    buf_release(&text);
    return rc;
}

enum rc origin_read(struct fs *fs, const char *job_dir, struct arena *arena,
                    struct run_origin *out, struct err *err)
{
    struct note note;
    enum rc rc;

    RETURN_IF_ERR(note_read(fs, job_dir, LAYOUT_ORIGIN, arena, &note, err));
    rc = origin_parse(note, out, err);
    return rc == RC_OK ? RC_OK : err_wrap(err, rc, "%s/%s", job_dir, LAYOUT_ORIGIN);
}

/* ---- what lies in a directory --------------------------------------------------------------- */

struct contents {
    struct fs *fs;
    const char *dir;
    uint64_t newest_completed, newest_savepoint; /* 0: none */
};

static enum rc note_name(void *ctx, const char *name, struct err *err)
{
    struct contents *c = ctx;
    char dir[FS_PATH_MAX], path[FS_PATH_MAX];
    uint64_t id;

    if (layout_parse_savepoint_mark(name, &id) && id > c->newest_savepoint)
        c->newest_savepoint = id;
    if (layout_parse_checkpoint(name, &id) && id > c->newest_completed) {
        RETURN_IF_ERR(path_join(dir, sizeof dir, c->dir, name, err));
        RETURN_IF_ERR(path_join(path, sizeof path, dir, LAYOUT_METADATA, err));
        if (!fs_is_absent(c->fs, path))
            c->newest_completed = id;
    }
    return RC_OK;
}

/* false: it cannot be looked into. */
static bool look_into(struct fs *fs, const char *dir, struct contents *out)
{
    struct err ignored = {0};

    *out = (struct contents){.fs = fs, .dir = dir};
    return fs_list(fs, dir, note_name, out, &ignored) == RC_OK;
}

/* It has ended for certain and left no snapshot after `id`. */
static bool left_nothing(const struct env *env, const char *job_dir, uint64_t id)
{
    struct contents c;

    return job_dir_is_deserted(env->fs, job_dir) && look_into(env->fs, job_dir, &c) &&
           c.newest_completed <= id && c.newest_savepoint <= id;
}

/* ---- ancestors ------------------------------------------------------------------------------ */

static bool is_among(const struct run_origin *o, const char *job_id)
{
    for (size_t i = 0; i < o->ancestor_count; i++)
        if (strcmp(o->ancestors[i], job_id) == 0)
            return true;
    return false;
}

enum rc lineage_ancestors(const struct env *env, const char *snapshot_dir, const char *job_id,
                          const char *root, struct arena *arena, struct run_origin *out,
                          const char **parent_dir, struct err *err)
{
    char parent[FS_PATH_MAX];
    struct run_origin before;
    struct err local = {0};
    uint64_t id;
    enum rc rc;

    out->ancestors = ARENA_ARRAY(arena, LINEAGE_ANCESTORS_MAX, const char *);
    out->ancestor_count = 0;
    *parent_dir = NULL;
    if (layout_parse_checkpoint(path_base(snapshot_dir), &id))
        RETURN_IF_ERR(path_dir(parent, sizeof parent, snapshot_dir, err));
    else if (root != NULL && layout_is_job_id(job_id))
        RETURN_IF_ERR(layout_job_dir(parent, sizeof parent, root, job_id, err));
    else
        return RC_OK;
    if (!layout_is_job_id(path_base(parent)) || !job_dir_is_deserted(env->fs, parent))
        return RC_OK;
    *parent_dir = arena_strdup(arena, parent);
    out->ancestors[out->ancestor_count++] = path_base(*parent_dir);
    rc = origin_read(env->fs, parent, arena, &before, &local);
    if (rc == RC_IO)
        return err_set(err, rc, "%s", local.msg);
    for (size_t i = 0; rc == RC_OK && i < before.ancestor_count; i++)
        if (out->ancestor_count < LINEAGE_ANCESTORS_MAX && !is_among(out, before.ancestors[i]))
            out->ancestors[out->ancestor_count++] = before.ancestors[i];
    return RC_OK;
}

static bool are_among(const struct run_origin *o, const struct run_origin *of)
{
    for (size_t i = 0; i < of->ancestor_count; i++)
        if (!is_among(o, of->ancestors[i]))
            return false;
    return true;
}

struct begun {
    struct fs *fs;
    const char *root;
    struct arena *arena;
    const struct run_origin *of; /* the run that comes after them */
    size_t count, cap;
    struct run_origin *list;
};

/* It is dead, and nothing of it can be restored. */
static bool came_to_nothing(struct fs *fs, const char *job_dir)
{
    struct contents c;
    char path[FS_PATH_MAX];

    return job_dir_is_deserted(fs, job_dir) && look_into(fs, job_dir, &c) &&
           c.newest_completed == 0 &&
           path_join(path, sizeof path, job_dir, LAYOUT_ENDED, NULL) == RC_OK &&
           fs_is_absent(fs, path);
}

static enum rc note_begun(void *ctx, const char *name, struct err *err)
{
    struct begun *b = ctx;
    struct run_origin o, *old = b->list;
    struct err local = {0};
    char dir[FS_PATH_MAX];
    enum rc rc;

    if (!layout_is_job_id(name) || strcmp(name, b->of->job_id) == 0)
        return RC_OK;
    RETURN_IF_ERR(path_join(dir, sizeof dir, b->root, name, err));
    rc = origin_read(b->fs, dir, b->arena, &o, &local);
    if (rc == RC_IO)
        return err_set(err, rc, "%s", local.msg);
    if (rc != RC_OK || strcmp(o.fingerprint, b->of->fingerprint) != 0 || is_among(b->of, name) ||
        !came_to_nothing(b->fs, dir))
        return RC_OK;
    if (b->count == b->cap) {
        b->cap = b->cap == 0 ? 8 : b->cap * 2;
        b->list = ARENA_ARRAY(b->arena, b->cap, struct run_origin);
        if (b->count > 0)
            memcpy(b->list, old, b->count * sizeof *old);
    }
    o.job_id = arena_strdup(b->arena, name); /* others know it by its directory */
    b->list[b->count++] = o;
    return RC_OK;
}

enum rc lineage_add_begun(struct fs *fs, const char *own_dir, struct arena *arena,
                          struct run_origin *out, struct err *err)
{
    char root[FS_PATH_MAX];
    struct begun b = {.fs = fs, .root = root, .arena = arena, .of = out};
    bool more = true;

    if (own_dir == NULL)
        return RC_OK;
    RETURN_IF_ERR(path_dir(root, sizeof root, own_dir, err));
    RETURN_IF_ERR(fs_list(fs, root, note_begun, &b, err));
    if (out->ancestors == NULL)
        out->ancestors = ARENA_ARRAY(arena, LINEAGE_ANCESTORS_MAX, const char *);
    while (more) { /* one of them may have come after another */
        more = false;
        for (size_t i = 0; i < b.count; i++) {
            if (is_among(out, b.list[i].job_id) || !are_among(out, &b.list[i]) ||
                out->ancestor_count == LINEAGE_ANCESTORS_MAX)
                continue;
            out->ancestors[out->ancestor_count++] = b.list[i].job_id;
            more = true;
        }
    }
    return RC_OK;
}

/* ---- successors ----------------------------------------------------------------------------- */

struct successors {
    const struct env *env;
    const char *root, *job_dir, *own_dir;
    bool in_the_way; /* one lives, or left a snapshot, or cannot be asked */
};

static enum rc ask_one(void *ctx, const char *name, struct err *err)
{
    struct successors *s = ctx;
    struct err local = {0};
    struct run_origin o;
    char dir[FS_PATH_MAX];
    struct arena *arena;
    enum rc rc;

    if (s->in_the_way || !layout_is_job_id(name))
        return RC_OK;
    RETURN_IF_ERR(path_join(dir, sizeof dir, s->root, name, err));
    if (strcmp(dir, s->job_dir) == 0 || strcmp(dir, s->own_dir) == 0)
        return RC_OK;
    arena = arena_new(0);
    rc = origin_read(s->env->fs, dir, arena, &o, &local);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        s->in_the_way = true;
    else if (rc == RC_OK && is_among(&o, path_base(s->job_dir)))
        s->in_the_way = !left_nothing(s->env, dir, 0);
    arena_free(arena);
    return RC_OK;
}

bool lineage_may_take_over(const struct env *env, const char *job_dir, uint64_t id,
                           const char *own_dir)
{
    char root[FS_PATH_MAX], own_root[FS_PATH_MAX];
    struct successors s = {env, root, job_dir, own_dir, false};
    struct err ignored = {0};

    if (own_dir == NULL || path_dir(root, sizeof root, job_dir, &ignored) != RC_OK ||
        path_dir(own_root, sizeof own_root, own_dir, &ignored) != RC_OK ||
        strcmp(root, own_root) != 0)
        return false;
    return !job_dir_is_copy(env->fs, job_dir) && left_nothing(env, job_dir, id) &&
           fs_list(env->fs, root, ask_one, &s, &ignored) == RC_OK && !s.in_the_way;
}
