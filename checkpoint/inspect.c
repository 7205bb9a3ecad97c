/* inspect.c - see inspect.h: looks and collects; inspect_text.c and inspect_json.c print. */
#include "checkpoint/inspect.h"

#include "base/arena.h"
#include "checkpoint/inspect_priv.h"
#include "checkpoint/layout.h"
#include "checkpoint/lineage.h"

#include <stdlib.h>

/* ---- words ---------------------------------------------------------------------------------- */

const char *snapshot_status_str(enum snapshot_status s)
{
    static const char *const names[] = {"complete", "damaged", "incomplete"};

    return names[s];
}

const char *snapshot_kind_str(enum checkpoint_kind kind)
{
    static const char *const names[] = {"unknown", "checkpoint", "savepoint", "suspend",
                                        "terminate"};

    return (size_t)kind < ARRAY_LEN(names) ? names[kind] : names[0];
}

const char *state_kind_str(enum state_kind kind)
{
    static const char *const names[] = {"unknown",  "value",       "list", "map",
                                        "reducing", "aggregating", "timer"};

    return (size_t)kind < ARRAY_LEN(names) ? names[kind] : names[0];
}

const char *list_mode_str(enum list_mode mode)
{
    static const char *const names[] = {"unknown", "split", "union", "broadcast"};

    return (size_t)mode < ARRAY_LEN(names) ? names[mode] : names[0];
}

const char *keyed_kind_str(enum keyed_handle_kind kind)
{
    return kind == KEYED_ROCKS ? "rocksdb" : "stream";
}

const char *file_scope_str(enum file_scope scope)
{
    static const char *const names[] = {"inline", "exclusive", "shared"};

    return (size_t)scope < ARRAY_LEN(names) ? names[scope] : "unknown";
}

uint64_t operator_entry_count(const struct operator_meta *op)
{
    uint64_t count = 0;

    for (size_t s = 0; s < op->subtask_count; s++)
        for (size_t k = 0; k < op->subtasks[s].keyed_count; k++)
            count += op->subtasks[s].keyed[k].entry_count;
    return count;
}

void print_escaped(struct bytes b, size_t max, struct buf *out)
{
    buf_append_escaped(out, b, max);
}

/* ---- one snapshot --------------------------------------------------------------------------- */

struct look {
    struct fs *fs;
    struct arena *arena;
    const struct inspect_options *options;
    bool damaged;
};

struct link_sum {
    struct fs *fs;
    uint64_t linked_bytes, single_bytes;
};

static enum rc sum_links(void *ctx, const struct operator_meta *op UNUSED,
                         const struct subtask_state *subtask UNUSED, struct state_file *file,
                         struct err *err UNUSED)
{
    struct link_sum *sum = ctx;
    struct fs_stat st;

    if (file->scope == FILE_INLINE || fs_stat(sum->fs, file->resolved_path, &st, NULL) != RC_OK)
        return RC_OK;
    if (st.link_count > 1)
        sum->linked_bytes += st.size_bytes;
    else
        sum->single_bytes += st.size_bytes;
    return RC_OK;
}

static void damage(struct look *look, struct snapshot_view *v, const char *reason)
{
    v->status = SNAPSHOT_DAMAGED;
    v->reason = reason;
    look->damaged = true;
}

static enum rc look_at_files(struct look *look, struct snapshot_view *v, struct err *err)
{
    struct link_sum links = {.fs = look->fs};
    struct err local = {0};

    metadata_sizes_of(v->meta, &v->sizes);
    if (recovery_check_files(look->fs, v->meta, look->options->digests, look->arena, &v->faults,
                             &v->fault_count, &local) != RC_OK)
        damage(look, v, arena_strdup(look->arena, local.msg));
    else if (v->fault_count > 0)
        damage(look, v,
               arena_printf(look->arena, "%zu of its files missing or damaged", v->fault_count));
    RETURN_IF_ERR(metadata_each_file(v->meta, sum_links, &links, err));
    v->linked_bytes = links.linked_bytes;
    v->single_bytes = links.single_bytes;
    return RC_OK;
}

/* A directory with a _metadata. */
static enum rc look_at_snapshot(struct look *look, const char *dir, struct snapshot_view *v,
                                struct err *err)
{
    struct err local = {0};
    enum rc rc;

    *v = (struct snapshot_view){.dir = arena_strdup(look->arena, dir), .reason = ""};
    if (!layout_parse_checkpoint(path_base(dir), &v->checkpoint_id))
        v->checkpoint_id = 0;
    v->meta = ARENA_NEW(look->arena, struct checkpoint_metadata);
    rc = recovery_read_metadata(look->fs, v->dir, look->arena, v->meta, &v->metadata_bytes, &local);
    if (rc != RC_OK) {
        v->meta = NULL;
        damage(look, v, arena_strdup(look->arena, local.msg));
        return RC_OK;
    }
    v->checkpoint_id = v->meta->checkpoint_id;
    return look_at_files(look, v, err);
}

struct dir_sum {
    struct fs *fs;
    const char *dir;
    struct snapshot_view *view;
};

static enum rc sum_file(void *ctx, const char *name, struct err *err UNUSED)
{
    struct dir_sum *sum = ctx;
    char path[FS_PATH_MAX];
    struct fs_stat st;

    if (path_join(path, sizeof path, sum->dir, name, NULL) == RC_OK &&
        fs_stat(sum->fs, path, &st, NULL) == RC_OK) {
        sum->view->dir_bytes += st.size_bytes;
        if (st.mtime_wall_ms > sum->view->changed_wall_ms)
            sum->view->changed_wall_ms = st.mtime_wall_ms;
    }
    return RC_OK;
}

/* A chk-<n> or savepoint-.. without a _metadata. */
static enum rc look_at_incomplete(struct look *look, const char *dir, struct snapshot_view *v,
                                  struct err *err)
{
    struct dir_sum sum = {.fs = look->fs, .dir = dir, .view = v};
    struct fs_stat st = {0};

    *v = (struct snapshot_view){
        .dir = arena_strdup(look->arena, dir),
        .status = SNAPSHOT_INCOMPLETE,
        .reason = "no _metadata: never completed",
    };
    if (fs_stat(look->fs, dir, &st, NULL) == RC_OK)
        v->changed_wall_ms = st.mtime_wall_ms; /* it may be empty */
    if (!layout_parse_checkpoint(path_base(dir), &v->checkpoint_id))
        v->checkpoint_id = 0;
    return fs_list(look->fs, dir, sum_file, &sum, err);
}

/* ---- a job's directory ---------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
    const struct snapshot_view *x = a, *y = b;

    return (x->checkpoint_id > y->checkpoint_id) - (x->checkpoint_id < y->checkpoint_id);
}

static void name_job(struct look *look, struct job_view_dir *job)
{
    struct run_origin origin;

    job->job_id = layout_is_job_id(path_base(job->dir)) ? path_base(job->dir) : "";
    job->job_name = "";
    if (origin_read(look->fs, job->dir, look->arena, &origin, NULL) == RC_OK) {
        job->job_id = origin.job_id;
        job->job_name = origin.job_name;
        return;
    }
    for (size_t i = 0; i < job->snapshot_count; i++)
        if (job->snapshots[i].meta != NULL) {
            job->job_id = job->snapshots[i].meta->job_id;
            job->job_name = job->snapshots[i].meta->job_name;
        }
}

static enum rc look_at_job(struct look *look, const char *dir, struct job_view_dir *job,
                           struct err *err)
{
    const struct orphan_report *r = &job->orphans;

    *job = (struct job_view_dir){.dir = arena_strdup(look->arena, dir)};
    RETURN_IF_ERR(orphans_scan(look->fs, job->dir, &job->orphans, err));
    job->snapshots =
        ARENA_ARRAY(look->arena, r->checkpoint_count + r->orphan_count, struct snapshot_view);
    for (size_t i = 0; i < r->checkpoint_count; i++)
        RETURN_IF_ERR(look_at_snapshot(look, r->checkpoints[i].dir,
                                       &job->snapshots[job->snapshot_count++], err));
    for (size_t i = 0; i < r->orphan_count; i++) {
        if (r->orphans[i].kind == ORPHAN_INCOMPLETE)
            RETURN_IF_ERR(look_at_incomplete(look, r->orphans[i].path,
                                             &job->snapshots[job->snapshot_count++], err));
        if (r->orphans[i].kind == ORPHAN_SHARED) {
            job->unreferenced_count++;
            job->unreferenced_bytes += r->orphans[i].size_bytes;
        }
    }
    if (job->snapshot_count > 1)
        qsort(job->snapshots, job->snapshot_count, sizeof *job->snapshots, by_id);
    name_job(look, job);
    return RC_OK;
}

/* ---- a root --------------------------------------------------------------------------------- */

struct children {
    struct arena *arena;
    const char *dir;
    const char **jobs, **savepoints;
    size_t job_count, savepoint_count, cap;
    bool is_job; /* holds a chk-<n>, or shared/ */
};

static enum rc sort_child(void *ctx, const char *name, struct err *err UNUSED)
{
    struct children *c = ctx;
    uint64_t id;

    if (layout_parse_checkpoint(name, &id) || strcmp(name, LAYOUT_SHARED) == 0)
        c->is_job = true;
    if (!layout_is_job_id(name) && !layout_is_savepoint(name))
        return RC_OK;
    if (c->job_count == c->cap || c->savepoint_count == c->cap) {
        c->cap = c->cap == 0 ? 16 : c->cap * 2;
        c->jobs = mem_realloc(c->jobs, c->cap * sizeof *c->jobs);
        c->savepoints = mem_realloc(c->savepoints, c->cap * sizeof *c->savepoints);
    }
    if (layout_is_job_id(name))
        c->jobs[c->job_count++] = arena_printf(c->arena, "%s/%s", c->dir, name);
    else
        c->savepoints[c->savepoint_count++] = arena_printf(c->arena, "%s/%s", c->dir, name);
    return RC_OK;
}

static int by_string(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum rc look_at_any(struct look *look, const char *dir, struct snapshot_view *v,
                           struct err *err)
{
    char path[FS_PATH_MAX];
    struct err local = {0};
    struct fs_stat st;

    RETURN_IF_ERR(path_join(path, sizeof path, dir, LAYOUT_METADATA, err));
    if (fs_stat(look->fs, path, &st, &local) == RC_NOT_FOUND)
        return look_at_incomplete(look, dir, v, err);
    return look_at_snapshot(look, dir, v, err);
}

static enum rc look_at_root(struct look *look, struct children *c, struct inspect_view *view,
                            struct err *err)
{
    view->type = INSPECT_ROOT;
    view->jobs = ARENA_ARRAY(look->arena, c->job_count, struct job_view_dir);
    view->snapshots = ARENA_ARRAY(look->arena, c->savepoint_count, struct snapshot_view);
    if (c->job_count > 0)
        qsort(c->jobs, c->job_count, sizeof *c->jobs, by_string);
    if (c->savepoint_count > 0)
        qsort(c->savepoints, c->savepoint_count, sizeof *c->savepoints, by_string);
    for (size_t i = 0; i < c->job_count; i++)
        RETURN_IF_ERR(look_at_job(look, c->jobs[i], &view->jobs[view->job_count++], err));
    for (size_t i = 0; i < c->savepoint_count; i++)
        RETURN_IF_ERR(
            look_at_any(look, c->savepoints[i], &view->snapshots[view->snapshot_count++], err));
    return RC_OK;
}

/* ---- from a path ---------------------------------------------------------------------------- */

static enum rc look_at_one(struct look *look, const char *dir, struct inspect_view *view,
                           struct err *err)
{
    view->type = INSPECT_SNAPSHOT;
    view->snapshots = ARENA_NEW(look->arena, struct snapshot_view);
    view->snapshot_count = 1;
    RETURN_IF_ERR(look_at_any(look, dir, view->snapshots, err));
    look->damaged = look->damaged || view->snapshots[0].status != SNAPSHOT_COMPLETE;
    return RC_OK;
}

static enum rc look_at_dir(struct look *look, const char *dir, struct inspect_view *view,
                           struct err *err)
{
    struct children c = {.arena = look->arena, .dir = dir};
    char path[FS_PATH_MAX];
    uint64_t id;
    enum rc rc;

    RETURN_IF_ERR(path_join(path, sizeof path, dir, LAYOUT_METADATA, err));
    if (fs_exists(look->fs, path) || layout_parse_checkpoint(path_base(dir), &id) ||
        layout_is_savepoint(path_base(dir)))
        return look_at_one(look, dir, view, err);
    GOTO_IF_ERR(fs_list(look->fs, dir, sort_child, &c, err));
    if (c.is_job) {
        view->type = INSPECT_JOB;
        view->jobs = ARENA_NEW(look->arena, struct job_view_dir);
        view->job_count = 1;
        GOTO_IF_ERR(look_at_job(look, dir, view->jobs, err));
    } else if (c.job_count + c.savepoint_count > 0) {
        GOTO_IF_ERR(look_at_root(look, &c, view, err));
    } else {
        rc = err_set(err, RC_NOT_FOUND,
                     "%s: neither a checkpoint, a savepoint, a job's directory nor a directory of "
                     "those",
                     dir);
    }
out:
    mem_free(c.jobs);
    mem_free(c.savepoints);
    return rc;
}

static enum rc look_at_path(struct look *look, const char *given, struct inspect_view *view,
                            struct err *err)
{
    char text[FS_PATH_MAX], path[FS_PATH_MAX], dir[FS_PATH_MAX];
    struct fs_stat st;

    RETURN_IF_ERR(path_from_uri(text, sizeof text, given, err));
    RETURN_IF_ERR(path_absolute(path, sizeof path, text, err));
    RETURN_IF_ERR(fs_stat(look->fs, path, &st, err));
    view->path = arena_strdup(look->arena, path);
    if (st.type == FS_DIR)
        return look_at_dir(look, view->path, view, err);
    if (st.type != FS_FILE || strcmp(path_base(path), LAYOUT_METADATA) != 0)
        return err_set(err, RC_INVALID, "%s: neither a directory nor a file named _metadata", path);
    RETURN_IF_ERR(path_dir(dir, sizeof dir, path, err));
    return look_at_one(look, dir, view, err);
}

enum rc inspect_path(const struct env *env, const char *path, const struct inspect_options *options,
                     struct buf *out, bool *damaged, struct err *err)
{
    struct look look = {.fs = env->fs, .arena = arena_new(0), .options = options};
    struct inspect_view view = {0};
    enum rc rc;

    GOTO_IF_ERR(look_at_path(&look, path, &view, err));
    if (options->json)
        inspect_print_json(&view, options, out);
    else
        inspect_print_text(&view, options, out);
out:
    *damaged = look.damaged;
    for (size_t i = 0; i < view.job_count; i++)
        orphan_report_release(&view.jobs[i].orphans);
    arena_free(look.arena);
    return rc == RC_OK ? RC_OK : err_wrap(err, rc, "inspect");
}
