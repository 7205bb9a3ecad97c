/* snapshot_list.c - see snapshot_list.h */
#include "checkpoint/snapshot_list.h"

#include "checkpoint/layout.h"

#include <stdlib.h>

const char *snapshot_list_type_str(enum snapshot_list_type type)
{
    static const char *const names[] = {"snapshot", "job", "root"};

    return names[type];
}

void look_tell(const struct look_watch *watch, const char *doing, uint64_t done, uint64_t all,
               bool in_bytes)
{
    if (watch->fn != NULL)
        watch->fn(watch->ctx, &(struct look_progress){doing, done, all, in_bytes});
}

/* Growing while directories are listed. */
struct gather {
    struct fs *fs;
    struct arena *arena;
    struct snapshot_list *list;
    const char *dir; /* being listed */
    uint32_t job;    /* its index */
    size_t cap, job_cap;
    bool is_job; /* it holds a chk-<n> or shared/ */
};

static void add_snapshot(struct gather *g, const char *dir, uint64_t id, uint32_t job)
{
    struct snapshot_list *l = g->list;
    char path[FS_PATH_MAX];
    struct fs_stat st;

    if (l->count == g->cap) {
        g->cap = g->cap == 0 ? 16 : g->cap * 2;
        l->items = mem_realloc(l->items, g->cap * sizeof *l->items);
    }
    l->items[l->count++] = (struct listed_snapshot){
        .dir = dir,
        .checkpoint_id = id,
        .job = job,
        /* what cannot be looked at is there: who reads it says why not */
        .complete = path_join(path, sizeof path, dir, LAYOUT_METADATA, NULL) != RC_OK ||
                    fs_stat(g->fs, path, &st, NULL) != RC_NOT_FOUND,
    };
}

static void add_job(struct gather *g, const char *dir)
{
    struct snapshot_list *l = g->list;

    if (l->job_count == g->job_cap) {
        g->job_cap = g->job_cap == 0 ? 16 : g->job_cap * 2;
        l->job_dirs = mem_realloc(l->job_dirs, g->job_cap * sizeof *l->job_dirs);
    }
    l->job_dirs[l->job_count++] = dir;
}

static enum rc sort_in(void *ctx, const char *name, struct err *err UNUSED)
{
    struct gather *g = ctx;
    uint64_t id;

    if (layout_parse_checkpoint(name, &id)) {
        g->is_job = true;
        add_snapshot(g, arena_printf(g->arena, "%s/%s", g->dir, name), id, g->job);
    } else if (strcmp(name, LAYOUT_SHARED) == 0) {
        g->is_job = true;
    }
    return RC_OK;
}

static enum rc sort_root(void *ctx, const char *name, struct err *err UNUSED)
{
    struct gather *g = ctx;

    if (layout_is_job_id(name))
        add_job(g, arena_printf(g->arena, "%s/%s", g->dir, name));
    else if (layout_is_savepoint(name))
        add_snapshot(g, arena_printf(g->arena, "%s/%s", g->dir, name), 0, SNAPSHOT_ALONE);
    return RC_OK;
}

static int by_string(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int by_place(const void *a, const void *b)
{
    const struct listed_snapshot *x = a, *y = b;

    if (x->job != y->job)
        return x->job < y->job ? -1 : 1;
    if (x->checkpoint_id != y->checkpoint_id)
        return x->checkpoint_id < y->checkpoint_id ? -1 : 1;
    return strcmp(x->dir, y->dir);
}

static enum rc gather_root(struct gather *g, struct err *err)
{
    struct snapshot_list *l = g->list;

    RETURN_IF_ERR(fs_list(g->fs, g->dir, sort_root, g, err));
    if (l->job_count > 0)
        qsort(l->job_dirs, l->job_count, sizeof *l->job_dirs, by_string);
    for (size_t i = 0; i < l->job_count; i++) {
        g->dir = l->job_dirs[i];
        g->job = (uint32_t)i;
        RETURN_IF_ERR(fs_list(g->fs, g->dir, sort_in, g, err));
    }
    l->type = LIST_OF_ROOT;
    return RC_OK;
}

static enum rc gather_dir(struct gather *g, struct err *err)
{
    const char *dir = g->list->path;
    char path[FS_PATH_MAX];
    uint64_t id = 0;

    RETURN_IF_ERR(path_join(path, sizeof path, dir, LAYOUT_METADATA, err));
    if (layout_parse_checkpoint(path_base(dir), &id) || layout_is_savepoint(path_base(dir)) ||
        fs_exists(g->fs, path)) {
        add_snapshot(g, dir, id, SNAPSHOT_ALONE);
        return RC_OK;
    }
    g->dir = dir;
    RETURN_IF_ERR(fs_list(g->fs, dir, sort_in, g, err));
    if (g->is_job) {
        g->list->type = LIST_OF_JOB;
        add_job(g, dir);
        return RC_OK;
    }
    RETURN_IF_ERR(gather_root(g, err));
    if (g->list->job_count + g->list->count == 0)
        return err_set(err, RC_NOT_FOUND,
                       "%s: neither a checkpoint, a savepoint, a job's directory nor a directory "
                       "of those",
                       dir);
    return RC_OK;
}

static enum rc gather_path(struct gather *g, const char *given, struct err *err)
{
    char text[FS_PATH_MAX], path[FS_PATH_MAX], dir[FS_PATH_MAX];
    struct fs_stat st;
    uint64_t id = 0;

    RETURN_IF_ERR(path_from_uri(text, sizeof text, given, err));
    RETURN_IF_ERR(path_absolute(path, sizeof path, text, err));
    RETURN_IF_ERR(fs_stat(g->fs, path, &st, err));
    g->list->path = arena_strdup(g->arena, path);
    if (st.type == FS_DIR)
        return gather_dir(g, err);
    if (st.type != FS_FILE || strcmp(path_base(path), LAYOUT_METADATA) != 0)
        return err_set(err, RC_INVALID, "%s: neither a directory nor a file named _metadata", path);
    RETURN_IF_ERR(path_dir(dir, sizeof dir, path, err));
    if (!layout_parse_checkpoint(path_base(dir), &id))
        id = 0;
    add_snapshot(g, arena_strdup(g->arena, dir), id, SNAPSHOT_ALONE);
    return RC_OK;
}

enum rc snapshot_list_make(struct fs *fs, const char *given, struct arena *arena,
                           struct snapshot_list *out, struct err *err)
{
    struct gather g = {.fs = fs, .arena = arena, .list = out};
    struct listed_snapshot *items;
    const char **job_dirs;
    enum rc rc;

    *out = (struct snapshot_list){.type = LIST_OF_ONE};
    rc = gather_path(&g, given, err);
    if (out->count > 1)
        qsort(out->items, out->count, sizeof *out->items, by_place);
    items = out->items; /* grown outside the arena, which would keep every size */
    job_dirs = out->job_dirs;
    out->items = arena_copy(arena, items, out->count * sizeof *items);
    out->job_dirs = arena_copy(arena, job_dirs, out->job_count * sizeof *job_dirs);
    mem_free(items);
    mem_free(job_dirs);
    return rc;
}
