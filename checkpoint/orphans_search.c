/* orphans_search.c - see orphans_search.h */
#include "checkpoint/orphans_search.h"

#include "base/arena.h"
#include "checkpoint/flink/flink_files.h"
#include "checkpoint/layout.h"
#include "checkpoint/orphans_flink.h"

#include <stdio.h>

#define SAVEPOINT_JOB_AT 10  /* in "savepoint-<6 of the job id>-<12 hex>" */
#define SAVEPOINT_JOB_LEN 6

struct search {
    const struct env *env;
    const struct orphan_search *how;
    orphan_place_fn *fn;
    void *ctx;
    struct claims *claims; /* of snapshots beside places of Flink's; NULL: none was come to */
    char claims_root[FS_PATH_MAX]; /* whose they are */
};

/* What a process that died had begun to upload; nobody can see it, so no report has it. */
static enum rc drop_unfinished(const struct search *s, const struct orphan_place *p,
                               struct err *err)
{
    size_t dropped;

    RETURN_IF_ERR(fs_drop_unfinished(s->env->fs, p->dir, p->now_wall_ms - s->how->min_age_ms + 1,
                                     &dropped, err));
    if (dropped > 0)
        log_line(s->env->log, LOG_INFO, "unfinished uploads given up dir=%s count=%zu", p->dir,
                 dropped);
    return RC_OK;
}

/* What lies beside the place, and where else the user says. */
static enum rc gather_claims(struct search *s, const char *dir, struct err *err)
{
    char root[FS_PATH_MAX];

    RETURN_IF_ERR(path_dir(root, sizeof root, dir, err));
    if (s->claims != NULL && strcmp(root, s->claims_root) == 0 && !s->how->remove)
        return RC_OK;
    claims_free(s->claims);
    s->claims = claims_new();
    snprintf(s->claims_root, sizeof s->claims_root, "%s", root);
    RETURN_IF_ERR(claims_add(s->claims, s->env->fs, root, s->how->rebase, err));
    for (size_t i = 0; i < s->how->claimant_count; i++)
        RETURN_IF_ERR(
            claims_add(s->claims, s->env->fs, s->how->claimants[i], s->how->rebase, err));
    return RC_OK;
}

static enum rc spare_claimed(struct search *s, struct orphan_place *p, struct orphan_report *r,
                             struct err *err)
{
    if (r->orphan_count == 0)
        return RC_OK;
    RETURN_IF_ERR(gather_claims(s, p->dir, err));
    p->claimant_count = claims_snapshot_count(s->claims);
    return flink_orphans_spare(s->env->fs, s->claims, r, err);
}

static enum rc remove_flinks(struct search *s, struct orphan_place *p, struct orphan_report *r,
                             const struct dir_stand *before, struct err *err)
{
    struct flink_cleanup c = {.env = s->env,
                              .dir = p->dir,
                              .report = r,
                              .claims = s->claims,
                              .before = *before,
                              .min_age_ms = s->how->min_age_ms};
    enum rc rc = r->orphan_count == 0 ? RC_OK : flink_orphans_delete(&c, err);

    p->deleted = c.deleted;
    p->newer = c.newer;
    return rc;
}

static enum rc report(struct search *s, struct orphan_place *p, struct orphan_report *r,
                      const struct dir_stand *before, struct err *err)
{
    struct err local = {0};

    p->report = r;
    if (r->flink)
        p->delete_rc = spare_claimed(s, p, r, &local);
    p->now_wall_ms = clock_wall_ms(s->env->clock);
    for (size_t i = 0; i < r->orphan_count; i++) {
        bool old = orphan_is_old(&r->orphans[i], p->now_wall_ms, s->how->min_age_ms);

        p->old_count += old;
        p->young_count += !old;
        *(old ? &p->old_bytes : &p->young_bytes) += r->orphans[i].size_bytes;
    }
    if (!s->how->remove) {
        p->delete_rc = RC_OK; /* who only looks may not look elsewhere */
    } else if (p->delete_rc != RC_OK) {
        p->delete_fault = local.msg;
    } else if (r->flink && s->how->flink_is_stopped) {
        p->delete_rc = remove_flinks(s, p, r, before, &local);
        p->delete_fault = local.msg;
    } else {
        p->delete_rc = orphans_delete(s->env, r, s->how->min_age_ms, &p->deleted, &local);
        if (p->delete_rc == RC_OK)
            p->delete_rc = drop_unfinished(s, p, &local);
        p->delete_fault = local.msg;
    }
    return s->fn(s->ctx, p, err);
}

struct seen {
    const struct look_watch *watch;
    uint64_t count;
};

static enum rc tell(void *ctx, const struct orphan_report *r,
                    const struct orphan_checkpoint *c UNUSED,
                    const struct checkpoint_metadata *meta UNUSED, struct err *err UNUSED)
{
    struct seen *seen = ctx;

    look_tell(seen->watch, "checkpoints", ++seen->count, r->checkpoint_count, false);
    return RC_OK;
}

static enum rc search_job(struct search *s, const char *dir, struct err *err)
{
    struct orphan_place p = {.dir = dir};
    struct seen seen = {.watch = &s->how->watch};
    struct orphan_report r = {0};
    struct dir_stand before = {0};
    char holder[JOB_DIR_HOLDER_MAX];
    struct fs_file *lock = NULL;
    struct arena *arena = NULL;
    const char *why;
    bool in_use;
    enum rc rc;

    GOTO_IF_ERR(job_dir_probe(s->env->fs, dir, &in_use, holder, err));
    if (in_use) {
        p.held_by = holder;
        rc = s->fn(s->ctx, &p, err);
        goto out;
    }
    if (s->how->remove) {
        arena = arena_new(0);
        if (flink_directory(s->env->fs, dir, arena, &why)) /* nothing of ours goes in there */
            GOTO_IF_ERR(dir_stand_take(s->env->fs, dir, &before, err));
        else
            GOTO_IF_ERR(job_dir_lock_guest(s->env, dir, "varve orphans --delete", &lock, err));
    }
    GOTO_IF_ERR(orphans_look(s->env->fs, dir, s->how->rebase, tell, &seen, &r, err));
    rc = report(s, &p, &r, &before, err);
out:
    orphan_report_release(&r);
    fs_abandon(&lock);
    arena_free(arena);
    return rc;
}

/* A running job's directory beside it, whose name begins as the savepoint's says. */
struct owner {
    const struct search *search;
    const char *root, *job; /* job: the six digits */
    bool in_use;
    char holder[JOB_DIR_HOLDER_MAX];
};

static enum rc look_for_owner(void *ctx, const char *name, struct err *err)
{
    struct owner *o = ctx;
    char dir[FS_PATH_MAX];

    if (o->in_use || !layout_is_job_id(name) || strncmp(name, o->job, SAVEPOINT_JOB_LEN) != 0)
        return RC_OK;
    RETURN_IF_ERR(path_join(dir, sizeof dir, o->root, name, err));
    return job_dir_probe(o->search->env->fs, dir, &o->in_use, o->holder, err);
}

static enum rc search_savepoint(struct search *s, const char *dir, struct err *err)
{
    struct orphan_place p = {.dir = dir, .savepoint = true};
    struct owner owner = {.search = s, .holder = ""};
    struct orphan_report r = {0};
    struct dir_stand before = {0};
    char root[FS_PATH_MAX];
    enum rc rc;

    GOTO_IF_ERR(path_dir(root, sizeof root, dir, err));
    if (layout_is_savepoint(path_base(dir))) {
        owner.root = root;
        owner.job = path_base(dir) + SAVEPOINT_JOB_AT;
        GOTO_IF_ERR(fs_list(s->env->fs, root, look_for_owner, &owner, err));
    }
    if (owner.in_use) {
        p.held_by = owner.holder;
        rc = s->fn(s->ctx, &p, err);
        goto out;
    }
    if (s->how->remove)
        GOTO_IF_ERR(dir_stand_take(s->env->fs, dir, &before, err));
    GOTO_IF_ERR(orphans_look_savepoint(s->env->fs, dir, s->how->rebase, &r, err));
    rc = report(s, &p, &r, &before, err);
out:
    orphan_report_release(&r);
    return rc;
}

enum rc orphans_search(const struct env *env, const char *path, const struct orphan_search *how,
                       orphan_place_fn *fn, void *ctx, struct err *err)
{
    struct search s = {.env = env, .how = how, .fn = fn, .ctx = ctx};
    struct arena *arena = arena_new(0);
    struct snapshot_list list;
    enum rc rc;

    GOTO_IF_ERR(snapshot_list_make(env->fs, path, arena, &list, err));
    if (list.type == LIST_OF_ONE && list.items[0].checkpoint_id != 0)
        GOTO_IF_ERR(err_set(err, RC_INVALID,
                            "%s: a checkpoint: whether it is an orphan, or anything it names, its "
                            "job's directory tells; give that one",
                            list.items[0].dir));
    for (size_t i = 0; i < list.job_count; i++)
        GOTO_IF_ERR(search_job(&s, list.job_dirs[i], err));
    for (size_t i = 0; i < list.count; i++)
        if (list.items[i].job == SNAPSHOT_ALONE)
            GOTO_IF_ERR(search_savepoint(&s, list.items[i].dir, err));
out:
    claims_free(s.claims);
    arena_free(arena);
    return rc;
}
