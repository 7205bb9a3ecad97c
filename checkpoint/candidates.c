/* candidates.c - see candidates.h */
#include "checkpoint/candidates.h"

#include "checkpoint/layout.h"
#include "checkpoint/lineage.h"
#include "checkpoint/recovery.h"

#include <stdlib.h>

struct names {
    size_t count, cap;
    const char **list; /* paths */
};
struct gather {
    struct fs *fs;
    struct arena *arena;
    const char *dir; /* being listed */
    struct names checkpoints, savepoints, jobs; /* found in it */
    struct candidate *items;
    size_t count, cap;
    struct candidate_group **groups; /* of jobs */
    size_t group_count, group_cap;
};

static const char *below(struct gather *g, const char *name)
{
    return arena_printf(g->arena, "%s/%s", strcmp(g->dir, "/") == 0 ? "" : g->dir, name);
}

static struct candidate *add(struct gather *g, enum candidate_kind kind,
                             struct candidate_group *group, const char *dir)
{
    if (g->count == g->cap) {
        g->cap = g->cap == 0 ? 16 : g->cap * 2;
        g->items = mem_realloc(g->items, g->cap * sizeof *g->items);
    }
    g->items[g->count] = (struct candidate){
        .kind = kind, .group = group, .dir = dir, .fingerprint = group->fingerprint};
    return &g->items[g->count++];
}

/* ---- one snapshot --------------------------------------------------------------------------- */

/* Fills what ordering needs; it goes again when it has no _metadata. */
static enum rc look_at(struct gather *g, struct candidate *k, struct candidate_group *group,
                       struct err *err)
{
    struct checkpoint_metadata meta;
    struct err local = {0};
    char path[FS_PATH_MAX];
    struct fs_stat st;
    uint64_t bytes;

    RETURN_IF_ERR(path_join(path, sizeof path, k->dir, LAYOUT_METADATA, err));
    k->rc = fs_stat(g->fs, path, &st, &local);
    if (k->rc == RC_OK) {
        k->wall_ms = st.mtime_wall_ms;
        k->rc = recovery_read_metadata(g->fs, k->dir, g->arena, &meta, &bytes, &local);
    } else if (k->rc != RC_NOT_FOUND) {
        return err_set(err, k->rc, "%s", local.msg);
    }
    if (k->rc == RC_IO)
        return err_set(err, RC_IO, "%s", local.msg);
    if (k->rc == RC_NOT_FOUND) { /* never completed, or deleted meanwhile */
        g->count--;
        return RC_OK;
    }
    if (k->rc != RC_OK) {
        k->reason = arena_strdup(g->arena, local.msg);
        return RC_OK;
    }
    k->wall_ms = meta.completed_wall_ms;
    k->id = meta.checkpoint_id;
    k->job_id = arena_strdup(g->arena, meta.job_id);
    if (group->job_name == NULL)
        group->job_name = meta.job_name;
    return RC_OK;
}

/* ---- names ---------------------------------------------------------------------------------- */

static void add_name(struct gather *g, struct names *names, const char *name)
{
    if (names->count == names->cap) {
        names->cap = names->cap == 0 ? 16 : names->cap * 2;
        names->list = mem_realloc(names->list, names->cap * sizeof *names->list);
    }
    names->list[names->count++] = below(g, name);
}

static enum rc list_one(void *ctx, const char *name, struct err *err UNUSED)
{
    struct gather *g = ctx;
    uint64_t id;

    if (layout_parse_checkpoint(name, &id))
        add_name(g, &g->checkpoints, name);
    else if (layout_is_savepoint(name))
        add_name(g, &g->savepoints, name);
    else if (layout_is_job_id(name))
        add_name(g, &g->jobs, name);
    return RC_OK;
}

static enum rc list(struct gather *g, const char *dir, struct err *err)
{
    g->dir = dir;
    g->checkpoints.count = g->savepoints.count = g->jobs.count = 0;
    return fs_list(g->fs, dir, list_one, g, err);
}

/* ---- one job's directory -------------------------------------------------------------------- */

/* The snapshot that a stop made: not there, or not readable, it stays a candidate to be refused. */
static enum rc look_at_stop(struct gather *g, struct candidate *k, struct err *err)
{
    struct checkpoint_metadata meta;
    struct err local = {0};
    uint64_t bytes;

    k->rc = recovery_read_metadata(g->fs, k->dir, g->arena, &meta, &bytes, &local);
    if (k->rc == RC_IO)
        return err_set(err, RC_IO, "%s", local.msg);
    if (k->rc != RC_OK)
        k->reason = arena_strdup(g->arena, local.msg);
    return RC_OK;
}

static enum rc add_end(struct gather *g, struct candidate_group *group, struct err *err)
{
    struct ended *e = ARENA_NEW(g->arena, struct ended);
    struct err local = {0};
    char path[FS_PATH_MAX];
    struct candidate *k;
    struct fs_stat st;
    enum rc rc = ended_read(g->fs, group->dir, g->arena, e, &local);

    if (rc == RC_NOT_FOUND)
        return RC_OK;
    if (rc == RC_IO)
        return err_set(err, rc, "%s", local.msg);
    if (rc != RC_OK) { /* it may be the newest of all: whoever meets it stops there */
        k = add(g, CANDIDATE_OVER, group, group->dir);
        k->id = LAYOUT_CHECKPOINT_ID_MAX;
        RETURN_IF_ERR(path_join(path, sizeof path, group->dir, LAYOUT_ENDED, err));
        if (fs_stat(g->fs, path, &st, NULL) == RC_OK)
            k->wall_ms = st.mtime_wall_ms;
        k->rc = rc;
        k->reason = arena_strdup(g->arena, local.msg);
        return RC_OK;
    }
    group->ended = e;
    if (group->job_name == NULL)
        group->job_name = e->job_name;
    k = add(g, e->savepoint_dir == NULL ? CANDIDATE_OVER : CANDIDATE_STOP, group,
            e->savepoint_dir == NULL ? group->dir : e->savepoint_dir);
    k->fingerprint = e->fingerprint;
    k->id = e->checkpoint_id;
    k->wall_ms = e->wall_ms;
    return k->kind == CANDIDATE_STOP ? look_at_stop(g, k, err) : RC_OK;
}

/* ORIGIN, the checkpoints listed, ENDED. */
static enum rc look_into_job(struct gather *g, const char *dir, struct err *err)
{
    struct candidate_group *group = ARENA_NEW(g->arena, struct candidate_group);
    struct run_origin origin = {0};
    struct err local = {0};
    size_t first = g->count;
    enum rc rc = origin_read(g->fs, dir, g->arena, &origin, &local);

    if (rc == RC_IO)
        return err_set(err, rc, "%s", local.msg);
    if (g->group_count == g->group_cap) {
        g->group_cap = g->group_cap == 0 ? 16 : g->group_cap * 2;
        g->groups = mem_realloc(g->groups, g->group_cap * sizeof *g->groups);
    }
    g->groups[g->group_count++] = group;
    group->dir = dir;
    group->job_name = origin.job_name; /* NULL: older, or damaged: its checkpoints tell */
    group->fingerprint = origin.fingerprint;
    group->from = origin.from;
    group->ancestor_count = origin.ancestor_count;
    group->ancestors = origin.ancestors;
    for (size_t i = 0; i < g->checkpoints.count; i++) {
        const char *path = g->checkpoints.list[i];
        struct candidate *k;
        uint64_t id;

        if (!layout_parse_checkpoint(path_base(path), &id))
            continue;
        k = add(g, CANDIDATE_SNAPSHOT, group, path);
        k->id = id;
        RETURN_IF_ERR(look_at(g, k, group, err));
    }
    RETURN_IF_ERR(add_end(g, group, err));
    group->begun = g->count == first && origin.from != NULL;
    if (group->begun)
        add(g, CANDIDATE_BEGUN, group, dir)->wall_ms = origin.started_wall_ms;
    return RC_OK;
}

static enum rc look_at_savepoints(struct gather *g, struct err *err)
{
    for (size_t i = 0; i < g->savepoints.count; i++) {
        struct candidate_group *alone = ARENA_NEW(g->arena, struct candidate_group);

        alone->dir = g->savepoints.list[i];
        RETURN_IF_ERR(look_at(g, add(g, CANDIDATE_SNAPSHOT, alone, alone->dir), alone, err));
    }
    return RC_OK;
}

/* ---- order ---------------------------------------------------------------------------------- */

/* Items of one group lie together. */
static void date_groups(struct gather *g)
{
    for (size_t i = 0, end; i < g->count; i = end) {
        struct candidate_group *group = g->items[i].group;
        const struct candidate *best = NULL;

        for (end = i; end < g->count && g->items[end].group == group; end++) {
            const struct candidate *k = &g->items[end];
            bool reads = k->rc == RC_OK;

            if (best == NULL || (reads && best->rc != RC_OK) ||
                (reads == (best->rc == RC_OK) &&
                 (reads ? k->id > best->id : k->wall_ms > best->wall_ms)))
                best = k;
        }
        group->wall_ms = best->wall_ms;
    }
}

/* Of one id: a finished run needs no checkpoint; from that of a cancelled one a resume may go on, if
 * it is still there. */
static int rank(const struct candidate *k)
{
    if (k->kind == CANDIDATE_SNAPSHOT)
        return 1;
    return k->group->ended != NULL && k->group->ended->end != JOB_END_FINISHED ? 0 : 2;
}

static int newest_first(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    if (x->group->wall_ms != y->group->wall_ms)
        return x->group->wall_ms < y->group->wall_ms ? 1 : -1;
    if (x->group != y->group)
        return strcmp(y->group->dir, x->group->dir);
    if (x->id != y->id)
        return x->id < y->id ? 1 : -1;
    return rank(y) - rank(x);
}

const struct candidate_group *candidate_barred_by(const struct candidate *k)
{
    const struct ended *e = k->group->ended;

    if (k->kind != CANDIDATE_SNAPSHOT && k->kind != CANDIDATE_STOP)
        return NULL;
    if (k->kind == CANDIDATE_SNAPSHOT && e != NULL &&
        (k->id < e->checkpoint_id ||
         (k->id == e->checkpoint_id && e->end == JOB_END_FINISHED)))
        return k->group;
    return k->group->after;
}

/* ---- who went on from whom ------------------------------------------------------------------ */

static int by_job_id(const void *a, const void *b)
{
    const struct candidate_group *const *x = a, *const *y = b;

    return strcmp(path_base((*x)->dir), path_base((*y)->dir));
}

static int by_depth(const void *a, const void *b)
{
    const struct candidate_group *const *x = a, *const *y = b;

    return ((*x)->ancestor_count > (*y)->ancestor_count) -
           ((*x)->ancestor_count < (*y)->ancestor_count);
}

struct candidate_group *candidates_group(const struct candidates *c, const char *job_id)
{
    struct candidate_group key = {.dir = job_id}, *at = &key, **found;

    found = c->group_count == 0
                ? NULL
                : bsearch(&at, c->groups, c->group_count, sizeof(struct candidate_group *),
                          by_job_id);
    return found == NULL ? NULL : *found;
}

/* A run has more ancestors than each of them: those come before it. */
static void follow(struct gather *g, const struct candidates *c)
{
    struct candidate_group **order = arena_copy(g->arena, c->groups, c->group_count * sizeof *order);

    qsort(order, c->group_count, sizeof(struct candidate_group *), by_depth);
    for (size_t i = 0; i < c->group_count; i++) {
        struct candidate_group *after = order[i];

        for (size_t a = 0; a < after->ancestor_count; a++) {
            struct candidate_group *before = candidates_group(c, after->ancestors[a]);

            if (before == NULL)
                continue;
            if (after->ended != NULL)
                before->after = after;
            before->gone_on_from = true;
            if (after->wall_ms <= before->wall_ms && !after->begun)
                after->wall_ms = before->wall_ms + 1;
        }
    }
}

/* A savepoint beside the directory of its job: over when that is, or a run that went on from there. */
static void bar_savepoints(struct gather *g, const struct candidates *c)
{
    for (size_t i = 0; i < g->count; i++) {
        struct candidate *k = &g->items[i];
        struct candidate_group *of;

        if (k->kind != CANDIDATE_SNAPSHOT || k->job_id == NULL ||
            !layout_is_savepoint(path_base(k->group->dir)))
            continue;
        of = candidates_group(c, k->job_id);
        if (of != NULL && of->after != NULL)
            k->group->after = of->after;
        else if (of != NULL && of->ended != NULL && of->ended->savepoint_dir == NULL)
            k->group->after = of;
    }
}

/* What a run started from that others went on from is known: that it began says nothing. */
static void drop_begun(struct gather *g)
{
    size_t kept = 0;

    for (size_t i = 0; i < g->count; i++)
        if (g->items[i].kind != CANDIDATE_BEGUN || !g->items[i].group->gone_on_from)
            g->items[kept++] = g->items[i];
    g->count = kept;
}

enum rc candidates_gather(struct fs *fs, const char *dir, bool savepoints, struct arena *arena,
                          struct candidates *out, struct err *err)
{
    struct gather g = {.fs = fs, .arena = arena};
    struct names jobs = {0};
    enum rc rc;

    *out = (struct candidates){0};
    GOTO_IF_ERR(list(&g, dir, err));
    GOTO_IF_ERR(look_into_job(&g, dir, err)); /* it may be a job's own */
    if (savepoints)
        GOTO_IF_ERR(look_at_savepoints(&g, err));
    jobs = g.jobs;
    g.jobs = (struct names){0};
    for (size_t i = 0; i < jobs.count; i++) {
        GOTO_IF_ERR(list(&g, jobs.list[i], err));
        GOTO_IF_ERR(look_into_job(&g, jobs.list[i], err));
    }
    date_groups(&g);
    out->group_count = g.group_count;
    if (g.group_count > 0) {
        qsort(g.groups, g.group_count, sizeof(struct candidate_group *), by_job_id);
        out->groups = arena_copy(arena, g.groups, g.group_count * sizeof *g.groups);
        follow(&g, out);
        bar_savepoints(&g, out);
    }
    drop_begun(&g);
    if (g.count > 1)
        qsort(g.items, g.count, sizeof *g.items, newest_first);
    out->job_count = jobs.count;
    out->count = g.count;
    if (g.count > 0)
        out->items = arena_copy(arena, g.items, g.count * sizeof *g.items);
out:
    mem_free(g.items);
    mem_free(g.groups);
    mem_free(g.checkpoints.list);
    mem_free(g.savepoints.list);
    mem_free(g.jobs.list);
    mem_free(jobs.list);
    return rc;
}
