/* inspect.c - see inspect.h: looks and collects; inspect_text.c, inspect_json.c and inspect_html.c
 * print. */
#include "checkpoint/inspect.h"

#include "base/arena.h"
#include "checkpoint/flink/flink_files.h"
#include "checkpoint/inspect_priv.h"
#include "checkpoint/layout.h"
#include "checkpoint/lineage.h"
#include "checkpoint/snapshot_list.h"
#include "checkpoint/snapshot_read.h"

#include <stdlib.h>

#define FLUSH_BYTES (64u << 10)
#define TABLE_FAULTS_MAX 1000u /* kept of all snapshots of a table together */

enum rc inspect_flush(struct inspect *in, bool all, struct err *err)
{
    enum rc rc;

    if (in->out.len == 0 || (!all && in->out.len < FLUSH_BYTES))
        return RC_OK;
    rc = in->write(in->write_ctx, buf_bytes(&in->out), err);
    buf_clear(&in->out);
    return rc;
}

bool inspect_is_gone(const struct inspect *in, const struct snapshot_view *v)
{
    char path[FS_PATH_MAX];

    return path_join(path, sizeof path, v->dir, LAYOUT_METADATA, NULL) == RC_OK &&
           !fs_exists(in->env->fs, path);
}

const struct checkpoint_metadata *inspect_reread(struct inspect *in, const struct snapshot_view *v)
{
    struct checkpoint_metadata *meta;
    uint64_t bytes;

    arena_reset(in->one);
    meta = ARENA_NEW(in->one, struct checkpoint_metadata);
    return snapshot_read(in->env->fs, v->dir, in->options->rebase, in->one, meta, &bytes, NULL) ==
                   RC_OK
               ? meta
               : NULL;
}

json_t *inspect_outside(const struct inspect *in, const struct snapshot_view *v,
                        const struct checkpoint_metadata *m)
{
    return in->options->outside != NULL && (in->alone || v == in->newest)
               ? in->options->outside(in->env, m)
               : NULL;
}

/* ---- one snapshot --------------------------------------------------------------------------- */

/* Looking at the files of one. */
struct file_look {
    struct inspect *in;
    struct arena *arena; /* of reasons and faults */
    struct snapshot_view *view;
    struct shared_files *shared; /* NULL: not listed */
    size_t fault_cap;
};

static void add_fault(struct file_look *l, const struct operator_meta *op,
                      const struct subtask_state *subtask, const struct state_file *file,
                      const char *reason)
{
    struct snapshot_view *v = l->view;

    v->fault_count++;
    if (l->in->fault_room == 0)
        return;
    l->in->fault_room--;
    if (v->kept_count == l->fault_cap) {
        struct recovery_fault *old = v->faults;

        l->fault_cap = l->fault_cap == 0 ? 4 : l->fault_cap * 2;
        v->faults = ARENA_ARRAY(l->arena, l->fault_cap, struct recovery_fault);
        if (v->kept_count > 0)
            memcpy(v->faults, old, v->kept_count * sizeof *old);
    }
    v->faults[v->kept_count++] = (struct recovery_fault){
        .operator_name = arena_strdup(l->arena, op->name),
        .subtask_index = subtask->subtask_index,
        .path = arena_strdup(l->arena, file->resolved_path),
        .size_bytes = file->size_bytes,
        .reason = arena_strdup(l->arena, reason),
    };
}

/* What the listing of shared/ says of a file is enough: one look for all its checkpoints. */
static bool is_known_good(const struct file_look *l, const struct shared_file *known,
                          const struct state_file *file)
{
    return known != NULL && known->present && known->size_bytes == file->size_bytes &&
           (!l->in->options->digests || known->proven);
}

static enum rc look_at_file(void *ctx, const struct operator_meta *op,
                            const struct subtask_state *subtask, struct state_file *file,
                            struct err *err)
{
    struct file_look *l = ctx;
    struct shared_file *known = NULL;
    struct digest128 digest;
    const char *reason;
    struct fs_stat st;
    uint64_t size;

    if (file->scope == FILE_INLINE)
        return RC_OK; /* proven by metadata_check */
    if (file->scope == FILE_SHARED && l->shared != NULL && !file->no_digest)
        known = shared_files_find(l->shared, file->digest);
    if (is_known_good(l, known, file)) {
        *(known->linked ? &l->view->linked_bytes : &l->view->single_bytes) += file->size_bytes;
        return RC_OK;
    }
    RETURN_IF_ERR(snapshot_look_at_file(l->in->env->fs, file, l->in->one, &st, &reason, err));
    if (reason == NULL && l->in->options->digests && !file->no_digest) {
        RETURN_IF_ERR(digest_file(l->in->env->fs, file->resolved_path, &digest, &size, err));
        reason = recovery_digest_fault(digest, file->digest, l->in->one);
    }
    if (st.link_count > 0)
        *(st.link_count > 1 ? &l->view->linked_bytes : &l->view->single_bytes) += st.size_bytes;
    if (known != NULL && l->in->options->digests)
        known->proven = reason == NULL;
    if (reason != NULL)
        add_fault(l, op, subtask, file, reason);
    return RC_OK;
}

static void damage(struct inspect *in, struct snapshot_view *v, const char *reason)
{
    v->status = SNAPSHOT_DAMAGED;
    v->reason = reason;
    in->damaged = true;
}

/* All that a table needs of a readable one. */
static void summarise(struct inspect *in, struct arena *arena, struct shared_files *shared,
                      const struct checkpoint_metadata *meta, struct snapshot_view *v)
{
    struct file_look look = {.in = in, .arena = arena, .view = v, .shared = shared};
    struct err local = {0};

    v->readable = true;
    v->checkpoint_id = meta->checkpoint_id;
    v->kind = meta->kind;
    v->trigger_wall_ms = meta->trigger_wall_ms;
    v->completed_wall_ms = meta->completed_wall_ms;
    metadata_sizes_of(meta, &v->sizes);
    if (metadata_each_file(meta, look_at_file, &look, &local) != RC_OK)
        damage(in, v, arena_strdup(arena, local.msg));
    else if (v->fault_count > 0)
        damage(in, v,
               arena_printf(arena, "%zu of its files missing or damaged", v->fault_count));
}

static enum rc sum_file(void *ctx, const char *name UNUSED, const struct fs_stat *st,
                        struct err *err UNUSED)
{
    struct snapshot_view *v = ctx;

    v->dir_bytes += st->size_bytes;
    if (st->mtime_wall_ms > v->changed_wall_ms)
        v->changed_wall_ms = st->mtime_wall_ms;
    return RC_OK;
}

static void mark_incomplete(struct snapshot_view *v)
{
    v->status = SNAPSHOT_INCOMPLETE;
    v->reason = "no _metadata: never completed";
}

/* A chk-<n> or savepoint-.. without a _metadata. */
static enum rc look_at_incomplete(struct inspect *in, struct snapshot_view *v, struct err *err)
{
    struct fs_stat st;
    const char *why;

    mark_incomplete(v);
    if (flink_snapshot_directory(in->env->fs, v->dir, in->arena, &why))
        v->reason = arena_printf(in->arena, "no _metadata: never completed; by Flink: %s", why);
    if (fs_stat(in->env->fs, v->dir, &st, NULL) == RC_OK)
        v->changed_wall_ms = st.mtime_wall_ms; /* it may be empty */
    return fs_list_stat(in->env->fs, v->dir, sum_file, v, err);
}

/* One that stands alone, or is shown alone. *meta NULL: it has none that can be read. */
static enum rc look_at_snapshot(struct inspect *in, const struct listed_snapshot *item,
                                struct snapshot_view *v, const struct checkpoint_metadata **meta,
                                struct err *err)
{
    struct checkpoint_metadata *m;
    struct err local = {0};

    arena_reset(in->one);
    m = ARENA_NEW(in->one, struct checkpoint_metadata);
    *meta = NULL;
    *v = (struct snapshot_view){
        .dir = item->dir, .checkpoint_id = item->checkpoint_id, .reason = ""};
    if (!item->complete)
        return look_at_incomplete(in, v, err);
    if (snapshot_read(in->env->fs, v->dir, in->options->rebase, in->one, m, &v->metadata_bytes,
                      &local) != RC_OK) {
        damage(in, v, arena_strdup(in->arena, local.msg));
        return RC_OK;
    }
    *meta = m;
    summarise(in, in->arena, NULL, m, v);
    return RC_OK;
}

/* ---- a job's directory ---------------------------------------------------------------------- */

struct job_look {
    struct inspect *in;
    struct job_dir_view *job;
    size_t cap;
};

static struct snapshot_view *add_snapshot(struct job_look *l, const char *dir, uint64_t id)
{
    struct job_dir_view *job = l->job;

    if (job->snapshot_count == l->cap) {
        l->cap = l->cap == 0 ? 16 : l->cap * 2;
        job->snapshots = mem_realloc(job->snapshots, l->cap * sizeof *job->snapshots);
    }
    job->snapshots[job->snapshot_count] =
        (struct snapshot_view){.dir = dir, .checkpoint_id = id, .reason = ""};
    return &job->snapshots[job->snapshot_count++];
}

static enum rc look_at_checkpoint(void *ctx, const struct orphan_report *r,
                                  const struct orphan_checkpoint *c,
                                  const struct checkpoint_metadata *meta, struct err *err UNUSED)
{
    struct job_look *l = ctx;
    struct snapshot_view *v = add_snapshot(l, c->dir, c->checkpoint_id);

    arena_reset(l->in->one); /* the tree is not in it */
    v->metadata_bytes = c->metadata_bytes;
    if (meta == NULL)
        damage(l->in, v, c->reason);
    else
        summarise(l->in, l->in->job_arena, &l->job->orphans.shared, meta, v);
    look_tell(&l->in->options->watch, "checkpoints", l->job->snapshot_count, r->checkpoint_count,
              false);
    return RC_OK;
}

/* Before the incomplete ones come in: views have the numbers of the table's users. */
static void sum_only(struct job_dir_view *job)
{
    const struct shared_files *t = &job->orphans.shared;

    for (size_t i = 0; i < job->snapshot_count; i++) {
        struct snapshot_view *v = &job->snapshots[i];

        v->only_known = v->readable && job->orphans.unreadable_count == 0 && !job->orphans.flink;
        v->only_bytes = v->metadata_bytes + v->sizes.exclusive_bytes;
    }
    for (size_t i = 0; i < t->count; i++)
        if (t->items[i].user_count == 1)
            job->snapshots[t->items[i].first_user].only_bytes += t->items[i].size_bytes;
}

static int by_id(const void *a, const void *b)
{
    const struct snapshot_view *x = a, *y = b;

    return (x->checkpoint_id > y->checkpoint_id) - (x->checkpoint_id < y->checkpoint_id);
}

static void name_job(struct inspect *in, struct job_dir_view *job)
{
    struct checkpoint_metadata *meta = ARENA_NEW(in->job_arena, struct checkpoint_metadata);
    struct run_origin origin;
    uint64_t bytes;

    job->job_id = layout_is_job_id(path_base(job->dir)) ? path_base(job->dir) : "";
    job->job_name = "";
    for (size_t i = job->snapshot_count; i > 0 && job->newest_meta == NULL; i--)
        if (job->snapshots[i - 1].readable &&
            snapshot_read(in->env->fs, job->snapshots[i - 1].dir, in->options->rebase,
                          in->job_arena, meta, &bytes, NULL) == RC_OK) {
            job->newest = &job->snapshots[i - 1];
            job->newest_meta = meta;
            job->job_id = meta->job_id;
            job->job_name = meta->job_name;
        }
    if (origin_read(in->env->fs, job->dir, in->job_arena, &origin, NULL) == RC_OK) {
        job->job_id = origin.job_id;
        job->job_name = origin.job_name;
    }
}

static enum rc look_at_job(struct inspect *in, const char *dir, struct job_dir_view *job,
                           struct err *err)
{
    struct job_look look = {.in = in, .job = job};
    const struct orphan_report *r = &job->orphans;

    *job = (struct job_dir_view){.dir = dir};
    RETURN_IF_ERR(
        orphans_look(in->env->fs, dir, in->options->rebase, look_at_checkpoint, &look,
                               &job->orphans, err));
    sum_only(job);
    for (size_t i = 0; i < r->orphan_count; i++) {
        struct snapshot_view *v;
        uint64_t id;

        if (r->orphans[i].kind != ORPHAN_INCOMPLETE)
            continue;
        if (!layout_parse_checkpoint(path_base(r->orphans[i].path), &id))
            id = 0;
        v = add_snapshot(&look, r->orphans[i].path, id);
        mark_incomplete(v);
        v->dir_bytes = r->orphans[i].size_bytes;
        v->changed_wall_ms = r->orphans[i].changed_wall_ms;
    }
    if (job->snapshot_count > 1)
        qsort(job->snapshots, job->snapshot_count, sizeof *job->snapshots, by_id);
    name_job(in, job);
    return RC_OK;
}

static enum rc print_job(struct inspect *in, const struct inspect_printer *printer,
                         const struct snapshot_list *l, const char *dir, bool first,
                         struct err *err)
{
    struct job_dir_view job = {0};
    enum rc rc;

    arena_reset(in->job_arena);
    GOTO_IF_ERR(look_at_job(in, dir, &job, err));
    in->newest = job.newest;
    GOTO_IF_ERR(printer->job(in, l, &job, first, err));
    rc = inspect_flush(in, false, err);
out:
    in->newest = NULL;
    orphan_report_release(&job.orphans);
    mem_free(job.snapshots);
    return rc;
}

/* ---- from a path ---------------------------------------------------------------------------- */

static enum rc print_snapshot(struct inspect *in, const struct inspect_printer *printer,
                              const struct snapshot_list *l, const struct listed_snapshot *item,
                              bool first, struct err *err)
{
    const struct checkpoint_metadata *meta;
    struct snapshot_view v;

    RETURN_IF_ERR(look_at_snapshot(in, item, &v, &meta, err));
    if (l->type == LIST_OF_ONE && v.status != SNAPSHOT_COMPLETE)
        in->damaged = true;
    printer->snapshot(in, l, &v, meta, first);
    return inspect_flush(in, false, err);
}

static enum rc print_all(struct inspect *in, const struct inspect_printer *printer,
                         const struct snapshot_list *l, struct err *err)
{
    bool first = true;

    in->alone = l->type == LIST_OF_ONE;
    in->fault_room = in->alone ? SIZE_MAX : TABLE_FAULTS_MAX;
    printer->begin(in, l);
    for (size_t i = 0; i < l->job_count; i++)
        RETURN_IF_ERR(print_job(in, printer, l, l->job_dirs[i], i == 0, err));
    if (l->type == LIST_OF_ROOT)
        printer->snapshots(in, l);
    for (size_t i = 0; i < l->count; i++) {
        if (l->items[i].job != SNAPSHOT_ALONE)
            continue; /* its job shows it */
        RETURN_IF_ERR(print_snapshot(in, printer, l, &l->items[i], first, err));
        first = false;
    }
    printer->end(in, l);
    return inspect_flush(in, true, err);
}

enum rc inspect_path(const struct env *env, const char *path, const struct inspect_options *options,
                     inspect_write_fn *write, void *ctx, bool *damaged, struct err *err)
{
    static const struct inspect_printer *const printers[] = {
        [INSPECT_TEXT] = &inspect_text, [INSPECT_JSON] = &inspect_json,
        [INSPECT_HTML] = &inspect_html};
    struct inspect in = {.env = env,
                         .options = options,
                         .now_wall_ms = clock_wall_ms(env->clock),
                         .arena = arena_new(0),
                         .job_arena = arena_new(0),
                         .one = arena_new(0),
                         .write = write,
                         .write_ctx = ctx};
    struct snapshot_list list;
    enum rc rc;

    GOTO_IF_ERR(snapshot_list_make(env->fs, path, in.arena, &list, err));
    rc = print_all(&in, printers[options->form], &list, err);
out:
    *damaged = in.damaged;
    buf_release(&in.out);
    arena_free(in.one);
    arena_free(in.job_arena);
    arena_free(in.arena);
    return rc == RC_OK ? RC_OK : err_wrap(err, rc, "inspect");
}
