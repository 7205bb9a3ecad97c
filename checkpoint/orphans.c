/* orphans.c - see orphans.h */
#include "checkpoint/orphans.h"

#include "base/arena.h"
#include "checkpoint/flink/flink_files.h"
#include "checkpoint/layout.h"
#include "checkpoint/recovery.h"
#include "checkpoint/snapshot_read.h"
#include "checkpoint/snapshot_dir.h"

#include <inttypes.h>
#include <stdlib.h>

const char *orphan_kind_str(enum orphan_kind kind)
{
    switch (kind) {
    case ORPHAN_INCOMPLETE:
        return "incomplete checkpoint";
    case ORPHAN_SHARED:
        return "unreferenced shared file";
    case ORPHAN_UNNAMED:
        return "unreferenced file";
    case ORPHAN_LOG:
        return "unreferenced log";
    case ORPHAN_TEMP:
        return "temporary file";
    }
    return "unknown";
}

const char *orphan_reason_str(enum orphan_kind kind)
{
    switch (kind) {
    case ORPHAN_INCOMPLETE:
        return "it has no _metadata: it was never completed, or its deletion was cut short";
    case ORPHAN_SHARED:
        return "no checkpoint in this directory names it";
    case ORPHAN_LOG:
        return "no checkpoint in this directory names it: its rows were sent, or came after the "
               "newest one and come again";
    case ORPHAN_UNNAMED:
        return "the _metadata beside it does not name it";
    case ORPHAN_TEMP:
        return "it was being written when its process ended";
    }
    return "";
}

void orphan_report_release(struct orphan_report *r)
{
    shared_files_release(&r->shared);
    arena_free(r->arena);
    *r = (struct orphan_report){0};
}

struct found_log { /* in taskowned/ */
    const char *path;
    uint64_t size_bytes;
    int64_t changed_wall_ms;
    bool named;
};

/* Growing arrays while scanning; moved into the report's arena at the end. */
struct scan {
    struct fs *fs;
    struct orphan_report *r;
    const char *dir; /* being listed */
    struct orphan *orphans;
    size_t orphan_count, orphan_cap;
    struct orphan_checkpoint *checkpoints;
    size_t checkpoint_count, checkpoint_cap;
    struct found_log *logs; /* by path */
    size_t log_count, log_cap;
    struct arena *one; /* of the snapshot at hand */
    bool looks;        /* reads what Flink wrote too */
    const struct rebase *rebase;
    struct flink_files flink; /* Flink's, in shared/ and taskowned/ */
};

static void add_orphan(struct scan *s, enum orphan_kind kind, const char *path,
                       uint64_t size_bytes, int64_t changed_wall_ms)
{
    if (s->orphan_count == s->orphan_cap) {
        s->orphan_cap = s->orphan_cap == 0 ? 16 : s->orphan_cap * 2;
        s->orphans = mem_realloc(s->orphans, s->orphan_cap * sizeof *s->orphans);
    }
    s->orphans[s->orphan_count++] =
        (struct orphan){kind, arena_strdup(s->r->arena, path), size_bytes, changed_wall_ms};
    s->r->orphan_bytes += size_bytes;
}

static enum rc list_checkpoint(void *ctx, const char *name, struct err *err)
{
    struct scan *s = ctx;
    bool is_checkpoint;
    char path[FS_PATH_MAX];
    struct fs_stat st;
    uint64_t id;

    RETURN_IF_ERR(path_join(path, sizeof path, s->dir, name, err));
    if (layout_is_note_temp(name)) {
        if (fs_stat(s->fs, path, &st, NULL) == RC_OK)
            add_orphan(s, ORPHAN_TEMP, path, st.size_bytes, fs_changed_wall_ms(&st));
        return RC_OK;
    }
    is_checkpoint = layout_parse_checkpoint(name, &id);
    if (!is_checkpoint && !layout_parse_savepoint_mark(name, &id))
        return RC_OK;
    if (id > s->r->newest_seen_id)
        s->r->newest_seen_id = id;
    if (!is_checkpoint)
        return RC_OK;
    if (s->checkpoint_count == s->checkpoint_cap) {
        s->checkpoint_cap = s->checkpoint_cap == 0 ? 16 : s->checkpoint_cap * 2;
        s->checkpoints = mem_realloc(s->checkpoints, s->checkpoint_cap * sizeof *s->checkpoints);
    }
    s->checkpoints[s->checkpoint_count++] = (struct orphan_checkpoint){
        .checkpoint_id = id, .dir = arena_strdup(s->r->arena, path), .reason = ""};
    return RC_OK;
}

/* ---- one snapshot --------------------------------------------------------------------------- */

struct dir_sum {
    struct scan *scan;
    const char *dir;
    bool complete;       /* has a _metadata: only parts of it can be orphans */
    bool flink;
    const char **named;  /* exclusive files of a readable one, sorted; NULL: unreadable */
    size_t named_count;
    uint64_t bytes;
    int64_t changed_wall_ms;
};

static int by_string(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_unnamed(const struct dir_sum *sum, const char *name)
{
    struct digest128 digest;
    uint64_t index;

    bool ours = layout_parse_exclusive(name, &index) || layout_parse_shared(name, &digest) ||
                layout_is_log(name);

    if (sum->named == NULL || !(sum->flink ? flink_is_file_name(name) : ours))
        return false;
    return sum->named_count == 0 ||
           bsearch(&name, sum->named, sum->named_count, sizeof name, by_string) == NULL;
}

static enum rc sum_file(void *ctx, const char *name, const struct fs_stat *st, struct err *err)
{
    struct dir_sum *sum = ctx;
    int64_t changed_wall_ms = fs_changed_wall_ms(st);
    char path[FS_PATH_MAX];

    RETURN_IF_ERR(path_join(path, sizeof path, sum->dir, name, err));
    sum->bytes += st->size_bytes;
    if (changed_wall_ms > sum->changed_wall_ms)
        sum->changed_wall_ms = changed_wall_ms;
    if (sum->complete && layout_is_temp(name))
        add_orphan(sum->scan, ORPHAN_TEMP, path, st->size_bytes, changed_wall_ms);
    else if (is_unnamed(sum, name))
        add_orphan(sum->scan, ORPHAN_UNNAMED, path, st->size_bytes, changed_wall_ms);
    return RC_OK;
}

struct naming {
    struct scan *scan;
    uint32_t user;
    const char **names; /* of exclusive files */
    size_t count, cap;
};

static int by_log_path(const void *a, const void *b)
{
    return strcmp(((const struct found_log *)a)->path, ((const struct found_log *)b)->path);
}

static void note_log(struct scan *s, const char *path)
{
    struct found_log key = {.path = path}, *found = NULL;

    if (s->log_count > 0)
        found = bsearch(&key, s->logs, s->log_count, sizeof key, by_log_path);
    if (found != NULL)
        found->named = true;
}

static enum rc note_file(void *ctx, const struct operator_meta *op UNUSED,
                         const struct subtask_state *subtask UNUSED, struct state_file *file,
                         struct err *err UNUSED)
{
    struct naming *n = ctx;

    if (file->no_digest && file->scope != FILE_INLINE)
        flink_files_note(&n->scan->flink, file->resolved_path);
    else if (file->scope == FILE_SHARED)
        shared_files_use(&n->scan->r->shared, n->user, file->digest, file->size_bytes);
    if (file->scope == FILE_TASKOWNED)
        note_log(n->scan, file->resolved_path);
    if (file->scope != FILE_EXCLUSIVE)
        return RC_OK;
    if (n->count == n->cap) {
        n->cap = n->cap == 0 ? 16 : n->cap * 2;
        n->names = mem_realloc(n->names, n->cap * sizeof *n->names);
    }
    n->names[n->count++] = file->path;
    return RC_OK;
}

/* With _metadata it is a snapshot, readable or not; without, all of it is an orphan. RC_NOT_FOUND:
 * it went away meanwhile. */
static enum rc look_into(struct scan *s, const struct orphan_checkpoint *c, struct naming *named,
                         bool flink, struct err *err)
{
    static const char *const nothing[1];
    struct dir_sum sum = {
        .scan = s, .dir = c->dir, .complete = c->rc != RC_NOT_FOUND, .flink = flink};
    struct err local = {0};
    struct fs_stat st;
    enum rc rc;

    if (c->rc == RC_OK) {
        if (named->count > 0)
            qsort(named->names, named->count, sizeof *named->names, by_string);
        sum.named = named->count > 0 ? named->names : (const char **)nothing;
        sum.named_count = named->count;
    }
    if (fs_stat(s->fs, c->dir, &st, NULL) == RC_OK)
        sum.changed_wall_ms = fs_changed_wall_ms(&st);
    rc = fs_list_stat(s->fs, c->dir, sum_file, &sum, &local);
    if (rc != RC_OK)
        return rc == RC_NOT_FOUND ? rc : err_set(err, rc, "%s", local.msg);
    if (!sum.complete)
        add_orphan(s, ORPHAN_INCOMPLETE, c->dir, sum.bytes, sum.changed_wall_ms);
    return RC_OK;
}

/* Reads it, notes what it names. *keep: it has a _metadata. *meta NULL: unreadable. */
static enum rc look_at(struct scan *s, struct orphan_checkpoint *c, uint32_t user, bool *keep,
                       const struct checkpoint_metadata **meta, struct err *err)
{
    struct naming named = {.scan = s, .user = user};
    struct checkpoint_metadata *m = ARENA_NEW(s->one, struct checkpoint_metadata);
    struct err local = {0};
    enum rc rc = RC_OK;

    *meta = NULL;
    c->rc = s->looks ? snapshot_read(s->fs, c->dir, s->rebase, s->one, m, &c->metadata_bytes, &local)
                     : recovery_read_metadata(s->fs, c->dir, s->one, m, &c->metadata_bytes, &local);
    *keep = c->rc != RC_NOT_FOUND;
    if (c->rc == RC_OK) {
        rc = metadata_each_file(m, note_file, &named, err);
        *meta = m;
        s->r->flink = s->r->flink || m->flink != NULL;
    } else if (*keep) {
        c->reason = arena_strdup(s->r->arena, local.msg);
        s->r->unreadable_count++;
    }
    if (rc == RC_OK)
        rc = look_into(s, c, &named, *meta != NULL && (*meta)->flink != NULL, err);
    if (rc == RC_NOT_FOUND) {
        *keep = false;
        rc = RC_OK;
    }
    mem_free(named.names);
    return rc;
}

/* ---- a directory ---------------------------------------------------------------------------- */

/* Files in shared/ that no snapshot named, once all are read. */
static enum rc sum_shared(struct scan *s, struct err *err)
{
    char name[LAYOUT_NAME_MAX], path[FS_PATH_MAX];
    struct orphan_report *r = s->r;

    for (size_t i = 0; i < r->shared.count; i++) {
        const struct shared_file *f = &r->shared.items[i];

        if (!f->present)
            continue;
        r->shared_file_count++;
        r->shared_bytes += f->size_bytes;
        if (f->user_count > 0)
            continue;
        r->unnamed_count++;
        r->unnamed_bytes += f->size_bytes;
        if (r->unreadable_count > 0)
            continue;
        layout_shared_name(f->digest, name);
        RETURN_IF_ERR(path_join(path, sizeof path, s->dir, name, err));
        add_orphan(s, ORPHAN_SHARED, path, f->size_bytes, f->changed_wall_ms);
    }
    return RC_OK;
}

static enum rc list_log(void *ctx, const char *name, struct err *err)
{
    struct scan *s = ctx;
    char path[FS_PATH_MAX];
    struct fs_stat st;

    RETURN_IF_ERR(path_join(path, sizeof path, s->dir, name, err));
    if ((!layout_is_log(name) && !layout_is_temp(name)) || fs_stat(s->fs, path, &st, NULL) != RC_OK)
        return RC_OK;
    if (layout_is_temp(name)) {
        add_orphan(s, ORPHAN_TEMP, path, st.size_bytes, fs_changed_wall_ms(&st));
        return RC_OK;
    }
    if (s->log_count == s->log_cap) {
        s->log_cap = s->log_cap == 0 ? 16 : s->log_cap * 2;
        s->logs = mem_realloc(s->logs, s->log_cap * sizeof *s->logs);
    }
    s->logs[s->log_count++] = (struct found_log){arena_strdup(s->r->arena, path), st.size_bytes,
                                                 fs_changed_wall_ms(&st), false};
    return RC_OK;
}

static enum rc list_logs(struct scan *s, const char *dir, struct err *err)
{
    struct err local = {0};
    enum rc rc;

    s->dir = dir;
    rc = fs_list(s->fs, dir, list_log, s, &local);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return err_set(err, rc, "%s", local.msg);
    if (s->log_count > 0)
        qsort(s->logs, s->log_count, sizeof *s->logs, by_log_path);
    return RC_OK;
}

/* Once all snapshots are read. */
static void sum_logs(struct scan *s)
{
    for (size_t i = 0; s->r->unreadable_count == 0 && i < s->log_count; i++)
        if (!s->logs[i].named)
            add_orphan(s, ORPHAN_LOG, s->logs[i].path, s->logs[i].size_bytes,
                       s->logs[i].changed_wall_ms);
}

/* The same of what Flink left; in a directory of varve's such names are strangers. */
static void sum_flink(struct scan *s)
{
    struct orphan_report *r = s->r;

    for (size_t i = 0; r->flink && i < s->flink.count; i++) {
        const struct flink_found *f = &s->flink.items[i];

        r->shared_file_count++;
        r->shared_bytes += f->size_bytes;
        if (f->named)
            continue;
        r->unnamed_count++;
        r->unnamed_bytes += f->size_bytes;
        if (r->unreadable_count == 0)
            add_orphan(s, ORPHAN_SHARED, f->path, f->size_bytes, f->changed_wall_ms);
    }
}

static enum rc list_shared_temp(void *ctx, const char *name, struct err *err)
{
    struct scan *s = ctx;
    char path[FS_PATH_MAX];
    struct fs_stat st;

    RETURN_IF_ERR(path_join(path, sizeof path, s->dir, name, err));
    if (layout_is_temp(name) && fs_stat(s->fs, path, &st, NULL) == RC_OK)
        add_orphan(s, ORPHAN_TEMP, path, st.size_bytes, fs_changed_wall_ms(&st));
    return RC_OK;
}

static int by_id(const void *a, const void *b)
{
    const struct orphan_checkpoint *x = a, *y = b;

    return (x->checkpoint_id > y->checkpoint_id) - (x->checkpoint_id < y->checkpoint_id);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct orphan *)a)->path, ((const struct orphan *)b)->path);
}

static enum rc read_checkpoints(struct scan *s, orphan_visit_fn *visit, void *ctx, struct err *err)
{
    size_t kept = 0;

    s->r->checkpoint_count = s->checkpoint_count;
    for (size_t i = 0; i < s->checkpoint_count; i++) {
        struct orphan_checkpoint *c = &s->checkpoints[kept];
        const struct checkpoint_metadata *meta;
        bool keep;

        *c = s->checkpoints[i];
        arena_reset(s->one);
        RETURN_IF_ERR(look_at(s, c, (uint32_t)kept, &keep, &meta, err));
        kept += keep;
        if (keep && visit != NULL)
            RETURN_IF_ERR(visit(ctx, s->r, c, meta, err));
    }
    s->checkpoint_count = kept;
    return RC_OK;
}

static enum rc scan_job(struct scan *s, const char *job_dir, orphan_visit_fn *visit, void *ctx,
                        struct err *err)
{
    struct err local = {0};
    char shared_dir[FS_PATH_MAX], taskowned_dir[FS_PATH_MAX];
    enum rc rc;

    s->dir = job_dir;
    if (s->looks) /* also where no _metadata can be read: a job of Flink's may be making its first */
        s->r->flink = flink_directory(s->fs, job_dir, s->r->arena, &s->r->flink_why);
    RETURN_IF_ERR(fs_list(s->fs, job_dir, list_checkpoint, s, err));
    if (s->checkpoint_count > 0)
        qsort(s->checkpoints, s->checkpoint_count, sizeof *s->checkpoints, by_id);
    /* Before the checkpoints: what one of a running job comes to name after this is looked up. */
    RETURN_IF_ERR(path_join(shared_dir, sizeof shared_dir, job_dir, LAYOUT_SHARED, err));
    RETURN_IF_ERR(shared_files_list(&s->r->shared, s->fs, shared_dir, err));
    RETURN_IF_ERR(path_join(taskowned_dir, sizeof taskowned_dir, job_dir, LAYOUT_TASKOWNED, err));
    RETURN_IF_ERR(list_logs(s, taskowned_dir, err));
    if (s->looks) {
        RETURN_IF_ERR(flink_files_list(&s->flink, s->fs, shared_dir, s->r->arena, err));
        RETURN_IF_ERR(flink_files_list(&s->flink, s->fs, taskowned_dir, s->r->arena, err));
        flink_files_sort(&s->flink);
    }
    RETURN_IF_ERR(read_checkpoints(s, visit, ctx, err));
    sum_logs(s);
    sum_flink(s);
    s->dir = shared_dir;
    rc = fs_list(s->fs, shared_dir, list_shared_temp, s, &local);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return err_set(err, rc, "%s", local.msg);
    return sum_shared(s, err);
}

static void scan_begin(struct scan *s, struct fs *fs, struct orphan_report *out)
{
    *out = (struct orphan_report){.arena = arena_new(0)};
    *s = (struct scan){.fs = fs, .r = out, .one = arena_new(0)};
}

static void scan_end(struct scan *s)
{
    struct orphan_report *r = s->r;

    if (s->orphan_count > 0) {
        qsort(s->orphans, s->orphan_count, sizeof *s->orphans, by_path);
        r->orphans = arena_copy(r->arena, s->orphans, s->orphan_count * sizeof *s->orphans);
        r->orphan_count = s->orphan_count;
    }
    r->checkpoint_count = 0;
    if (s->checkpoint_count > 0) {
        r->checkpoints =
            arena_copy(r->arena, s->checkpoints, s->checkpoint_count * sizeof *s->checkpoints);
        r->checkpoint_count = s->checkpoint_count;
    }
    mem_free(s->orphans);
    mem_free(s->checkpoints);
    mem_free(s->logs);
    flink_files_release(&s->flink);
    arena_free(s->one);
}

static enum rc scan_dir(struct scan *s, const char *job_dir, orphan_visit_fn *visit, void *ctx,
                        struct err *err)
{
    struct orphan_report *out = s->r;
    struct err local = {0};
    enum rc rc;

    rc = ended_read(s->fs, job_dir, out->arena, &out->ended, &local);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        out->ended_fault = arena_strdup(out->arena, local.msg);
    if (rc != RC_OK)
        out->ended = (struct ended){0};
    rc = scan_job(s, job_dir, visit, ctx, err);
    scan_end(s);
    return rc;
}

enum rc orphans_scan(struct fs *fs, const char *job_dir, orphan_visit_fn *visit, void *ctx,
                     struct orphan_report *out, struct err *err)
{
    struct scan s;

    scan_begin(&s, fs, out);
    return scan_dir(&s, job_dir, visit, ctx, err);
}

enum rc orphans_look(struct fs *fs, const char *job_dir, const struct rebase *rebase,
                     orphan_visit_fn *visit, void *ctx, struct orphan_report *out,
                     struct err *err)
{
    struct scan s;

    scan_begin(&s, fs, out);
    s.looks = true;
    s.rebase = rebase;
    return scan_dir(&s, job_dir, visit, ctx, err);
}

enum rc orphans_look_savepoint(struct fs *fs, const char *dir, const struct rebase *rebase,
                               struct orphan_report *out, struct err *err)
{
    const struct checkpoint_metadata *meta;
    struct orphan_checkpoint c;
    struct scan s;
    bool keep;
    enum rc rc;

    scan_begin(&s, fs, out);
    s.looks = true;
    s.rebase = rebase;
    c = (struct orphan_checkpoint){.dir = arena_strdup(out->arena, dir), .reason = ""};
    out->flink = flink_snapshot_directory(fs, dir, out->arena, &out->flink_why);
    rc = look_at(&s, &c, 0, &keep, &meta, err);
    if (rc == RC_OK && keep) {
        s.checkpoints = mem_calloc(1, sizeof *s.checkpoints);
        s.checkpoints[s.checkpoint_count++] = c;
    }
    scan_end(&s);
    return rc;
}

/* ---- deleting ------------------------------------------------------------------------------- */

bool orphan_is_old(const struct orphan *o, int64_t now_wall_ms, int64_t min_age_ms)
{
    return min_age_ms <= 0 || now_wall_ms - o->changed_wall_ms >= min_age_ms;
}

enum rc orphans_delete(const struct env *env, const struct orphan_report *r, int64_t min_age_ms,
                       size_t *deleted, struct err *err)
{
    int64_t now_wall_ms = clock_wall_ms(env->clock);

    *deleted = 0;
    if (r->flink)
        return err_set(err, RC_UNSUPPORTED,
                       "Flink holds no lock by which to know that its job is gone: nothing is "
                       "deleted in a directory of Flink's, unless --job-is-stopped says that it is");
    for (size_t i = 0; i < r->checkpoint_count; i++)
        if (r->checkpoints[i].rc != RC_OK)
            return err_set(err, RC_STATE, "nothing is deleted while a _metadata is unreadable: %s",
                           r->checkpoints[i].reason);
    for (size_t i = 0; i < r->orphan_count; i++) {
        const struct orphan *o = &r->orphans[i];
        struct err local = {0};
        enum rc rc;

        if (!orphan_is_old(o, now_wall_ms, min_age_ms))
            continue;
        rc = o->kind == ORPHAN_INCOMPLETE ? snapshot_dir_remove(env, o->path, &local)
                                          : fs_unlink(env->fs, o->path, &local);
        if (rc != RC_OK && rc != RC_NOT_FOUND)
            return err_set(err, rc, "%s", local.msg);
        (*deleted)++;
    }
    return RC_OK;
}
