/* orphans_flink.c - see orphans_flink.h */
#include "checkpoint/orphans_flink.h"

#include "base/hash.h"
#include "checkpoint/flink/flink_files.h"
#include "checkpoint/layout.h"

#define STAND_DEPTH 4u /* job, shared, a directory of merged files, their files */

/* ---- how a directory stands ------------------------------------------------------------------ */

struct standing {
    struct fs *fs;
    const char *dir;
    unsigned depth;
    struct dir_stand *out;
};

static enum rc stand_below(const struct standing *above, const char *dir, struct err *err);

/* In no order: a sum. */
static enum rc add_entry(void *ctx, const char *name, const struct fs_stat *st, struct err *err)
{
    struct standing *s = ctx;
    struct buf text = {0};
    char path[FS_PATH_MAX];

    RETURN_IF_ERR(path_join(path, sizeof path, s->dir, name, err));
    buf_append_str(&text, path);
    buf_append_u8(&text, (uint8_t)st->type);
    buf_append_be64(&text, st->size_bytes);
    buf_append_be64(&text, (uint64_t)st->mtime_wall_ms);
    buf_append_be64(&text, (uint64_t)st->ctime_wall_ms);
    s->out->entries++;
    s->out->sum += hash64(buf_bytes(&text));
    buf_release(&text);
    return st->type == FS_DIR && s->depth < STAND_DEPTH ? stand_below(s, path, err) : RC_OK;
}

static enum rc stand_below(const struct standing *above, const char *dir, struct err *err)
{
    struct standing s = *above;

    s.dir = dir;
    s.depth++;
    return fs_list_stat(s.fs, dir, add_entry, &s, err);
}

enum rc dir_stand_take(struct fs *fs, const char *dir, struct dir_stand *out, struct err *err)
{
    struct standing s = {.fs = fs, .out = out};

    *out = (struct dir_stand){0};
    return stand_below(&s, dir, err);
}

/* ---- what others name ------------------------------------------------------------------------ */

struct claimed {
    struct claims *claims;
    bool any;
};

static enum rc look_for_claimed(void *ctx, const char *name, struct err *err UNUSED)
{
    struct claimed *c = ctx;

    c->any = c->any || claims_have(c->claims, name);
    return RC_OK;
}

static enum rc is_claimed(struct fs *fs, struct claims *claims, const struct orphan *o, bool *out,
                          struct err *err)
{
    struct claimed c = {claims, false};
    struct err local = {0};
    enum rc rc = RC_OK;

    if (o->kind == ORPHAN_INCOMPLETE)
        rc = fs_list(fs, o->path, look_for_claimed, &c, &local);
    *out = c.any || claims_have(claims, path_base(o->path));
    return rc == RC_OK || rc == RC_NOT_FOUND ? RC_OK : err_set(err, rc, "%s", local.msg);
}

enum rc flink_orphans_spare(struct fs *fs, struct claims *claims, struct orphan_report *r,
                            struct err *err)
{
    size_t kept = 0;

    for (size_t i = 0; i < r->orphan_count; i++) {
        struct orphan o = r->orphans[i];
        bool claimed;

        RETURN_IF_ERR(is_claimed(fs, claims, &o, &claimed, err));
        if (!claimed) {
            r->orphans[kept++] = o;
            continue;
        }
        r->claimed_count++;
        r->claimed_bytes += o.size_bytes;
        r->orphan_bytes -= o.size_bytes;
    }
    r->orphan_count = kept;
    return RC_OK;
}

/* ---- what may go ----------------------------------------------------------------------------- */

static enum rc newest_metadata(struct fs *fs, const struct orphan_report *r, int64_t *out,
                               struct err *err)
{
    *out = INT64_MIN;
    for (size_t i = 0; i < r->checkpoint_count; i++) {
        char path[FS_PATH_MAX];
        struct fs_stat st;

        RETURN_IF_ERR(
            path_join(path, sizeof path, r->checkpoints[i].dir, LAYOUT_METADATA, err));
        RETURN_IF_ERR(fs_stat(fs, path, &st, err));
        if (st.mtime_wall_ms > *out)
            *out = st.mtime_wall_ms;
    }
    return RC_OK;
}

/* May anything be deleted at all? */
static enum rc check_place(const struct flink_cleanup *c, struct err *err)
{
    const struct orphan_report *r = c->report;
    struct dir_stand now;

    for (size_t i = 0; i < r->checkpoint_count; i++)
        if (r->checkpoints[i].rc != RC_OK)
            return err_set(err, RC_STATE, "nothing is deleted while a _metadata is unreadable: %s",
                           r->checkpoints[i].reason);
    if (claims_unreadable(c->claims) != NULL)
        return err_set(err, RC_STATE,
                       "nothing is deleted while a snapshot elsewhere, or a place of such, which may "
                       "share files with this one, is unreadable: %s",
                       claims_unreadable(c->claims));
    if (r->checkpoint_count == 0)
        return err_set(err, RC_STATE,
                       "nothing is deleted where no _metadata says what is still needed");
    RETURN_IF_ERR(dir_stand_take(c->env->fs, c->dir, &now, err));
    if (now.entries != c->before.entries || now.sum != c->before.sum)
        return err_set(err, RC_STATE,
                       "nothing is deleted: files changed there during the look, so a job is "
                       "running");
    return RC_OK;
}

/* ---- deleting -------------------------------------------------------------------------------- */

struct removal {
    const struct flink_cleanup *c;
    const char *dir; /* of a checkpoint that never completed */
    struct arena *arena;
    const char **names;
    size_t count, cap;
    bool stranger;
    int64_t newest_ms; /* of what is in it */
};

static enum rc note_name(void *ctx, const char *name, const struct fs_stat *st,
                         struct err *err UNUSED)
{
    struct removal *r = ctx;

    if (st->mtime_wall_ms > r->newest_ms)
        r->newest_ms = st->mtime_wall_ms;
    if (st->type != FS_FILE || !flink_is_file_name(name)) {
        r->stranger = true;
        return RC_OK;
    }
    if (r->count == r->cap) {
        r->cap = r->cap == 0 ? 16 : 2 * r->cap;
        r->names = mem_realloc(r->names, r->cap * sizeof *r->names);
    }
    r->names[r->count++] = arena_strdup(r->arena, name);
    return RC_OK;
}

/* What Flink named goes, then the directory; a stranger in it stays, with the directory. */
static enum rc remove_names(struct removal *r, struct err *err)
{
    struct fs *fs = r->c->env->fs;

    for (size_t i = 0; i < r->count; i++) {
        char path[FS_PATH_MAX];

        RETURN_IF_ERR(path_join(path, sizeof path, r->dir, r->names[i], err));
        RETURN_IF_ERR(fs_unlink(fs, path, err));
    }
    if (!r->stranger)
        return fs_rmdir(fs, r->dir, err);
    log_line(r->c->env->log, LOG_WARN, "directory is not empty and stays dir=%s", r->dir);
    return RC_OK;
}

/* *newer: it stays. */
static enum rc remove_incomplete(const struct flink_cleanup *c, const struct orphan *o,
                                 int64_t newest_ms, bool *newer, struct err *err)
{
    struct removal r = {.c = c, .dir = o->path, .arena = arena_new(0), .newest_ms = INT64_MIN};
    enum rc rc = fs_list_stat(c->env->fs, o->path, note_name, &r, err);

    *newer = r.newest_ms >= newest_ms;
    if (rc == RC_OK && !*newer)
        rc = remove_names(&r, err);
    mem_free(r.names);
    arena_free(r.arena);
    return rc;
}

static enum rc remove_file(const struct flink_cleanup *c, const struct orphan *o,
                           int64_t newest_ms, bool *newer, struct err *err)
{
    struct fs_stat st;

    RETURN_IF_ERR(fs_stat(c->env->fs, o->path, &st, err));
    if (st.type != FS_FILE || st.size_bytes != o->size_bytes ||
        fs_changed_wall_ms(&st) != o->changed_wall_ms)
        return err_set(err, RC_STATE, "%s changed meanwhile: a job is running", o->path);
    *newer = st.mtime_wall_ms >= newest_ms;
    return *newer ? RC_OK : fs_unlink(c->env->fs, o->path, err);
}

enum rc flink_orphans_delete(struct flink_cleanup *c, struct err *err)
{
    int64_t now_wall_ms = clock_wall_ms(c->env->clock), newest_ms;

    c->deleted = c->newer = 0;
    RETURN_IF_ERR(check_place(c, err));
    RETURN_IF_ERR(newest_metadata(c->env->fs, c->report, &newest_ms, err));
    for (size_t i = 0; i < c->report->orphan_count; i++) {
        const struct orphan *o = &c->report->orphans[i];
        bool newer = false;

        if (!orphan_is_old(o, now_wall_ms, c->min_age_ms))
            continue;
        if (o->kind == ORPHAN_INCOMPLETE)
            RETURN_IF_ERR(remove_incomplete(c, o, newest_ms, &newer, err));
        else
            RETURN_IF_ERR(remove_file(c, o, newest_ms, &newer, err));
        c->deleted += !newer;
        c->newer += newer;
    }
    return RC_OK;
}
