/* orphans.c - see orphans.h */
#include "checkpoint/orphans.h"

#include "base/arena.h"
#include "checkpoint/layout.h"
#include "checkpoint/recovery.h"
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
    case ORPHAN_TEMP:
        return "temporary file";
    }
    return "unknown";
}

void orphan_report_release(struct orphan_report *r)
{
    arena_free(r->arena);
    *r = (struct orphan_report){0};
}

/* Growing arrays while scanning; moved into the report's arena at the end. */
struct scan {
    struct fs *fs;
    struct orphan_report *r;
    const char *dir; /* being listed */
    struct orphan *orphans;
    size_t orphan_count, orphan_cap;
    struct orphan_checkpoint *checkpoints;
    size_t checkpoint_count, checkpoint_cap;
    struct digest128 *named; /* by readable _metadata */
    size_t named_count, named_cap;
};

static void add_orphan(struct scan *s, struct orphan orphan)
{
    if (s->orphan_count == s->orphan_cap) {
        s->orphan_cap = s->orphan_cap == 0 ? 16 : s->orphan_cap * 2;
        s->orphans = mem_realloc(s->orphans, s->orphan_cap * sizeof *s->orphans);
    }
    s->orphans[s->orphan_count++] = orphan;
    s->r->orphan_bytes += orphan.size_bytes;
}

static int64_t changed_ms(const struct fs_stat *st)
{
    return st->mtime_wall_ms > st->ctime_wall_ms ? st->mtime_wall_ms : st->ctime_wall_ms;
}

static enum rc list_checkpoint(void *ctx, const char *name, struct err *err UNUSED)
{
    struct scan *s = ctx;
    uint64_t id;

    bool is_checkpoint = layout_parse_checkpoint(name, &id);
    const char *path;
    struct fs_stat st;

    if (layout_is_note_temp(name)) {
        path = arena_printf(s->r->arena, "%s/%s", s->dir, name);
        if (fs_stat(s->fs, path, &st, NULL) == RC_OK)
            add_orphan(s, (struct orphan){ORPHAN_TEMP, path, st.size_bytes, changed_ms(&st)});
        return RC_OK;
    }
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
        .checkpoint_id = id,
        .dir = arena_printf(s->r->arena, "%s/%s", s->dir, name),
        .reason = "",
    };
    return RC_OK;
}

static enum rc add_named(void *ctx, const struct operator_meta *op UNUSED,
                         const struct subtask_state *subtask UNUSED, struct state_file *file,
                         struct err *err UNUSED)
{
    struct scan *s = ctx;

    if (file->scope != FILE_SHARED)
        return RC_OK;
    if (s->named_count == s->named_cap) {
        s->named_cap = s->named_cap == 0 ? 64 : s->named_cap * 2;
        s->named = mem_realloc(s->named, s->named_cap * sizeof *s->named);
    }
    s->named[s->named_count++] = file->digest;
    return RC_OK;
}

struct dir_sum {
    struct fs *fs;
    const char *dir;
    struct arena *arena;
    struct scan *scan;
    bool complete; /* only temporary files are orphans in it */
    uint64_t bytes;
    int64_t changed_wall_ms;
};

static enum rc sum_file(void *ctx, const char *name, struct err *err UNUSED)
{
    struct dir_sum *sum = ctx;
    const char *path = arena_printf(sum->arena, "%s/%s", sum->dir, name);
    struct fs_stat st;

    if (fs_stat(sum->fs, path, &st, NULL) != RC_OK)
        return RC_OK; /* went away meanwhile */
    sum->bytes += st.size_bytes;
    if (changed_ms(&st) > sum->changed_wall_ms)
        sum->changed_wall_ms = changed_ms(&st);
    if (sum->complete && layout_is_temp(name))
        add_orphan(sum->scan, (struct orphan){ORPHAN_TEMP, path, st.size_bytes, changed_ms(&st)});
    return RC_OK;
}

/* A chk-<n>: with _metadata it is a checkpoint, readable or not; without, all of it is an orphan.
 */
static enum rc look_at(struct scan *s, struct orphan_checkpoint *c, bool *complete, struct err *err)
{
    struct dir_sum sum = {.fs = s->fs, .dir = c->dir, .arena = s->r->arena, .scan = s};
    struct err local = {0};
    struct fs_stat st;

    c->meta = ARENA_NEW(s->r->arena, struct checkpoint_metadata);
    c->rc = recovery_read_metadata(s->fs, c->dir, s->r->arena, c->meta, &c->metadata_bytes, &local);
    *complete = c->rc != RC_NOT_FOUND;
    sum.complete = *complete;
    if (fs_stat(s->fs, c->dir, &st, NULL) == RC_OK)
        sum.changed_wall_ms = changed_ms(&st);
    if (fs_list(s->fs, c->dir, sum_file, &sum, NULL) == RC_NOT_FOUND)
        return RC_OK; /* the directory went away meanwhile */
    if (c->rc == RC_OK)
        return metadata_each_file(c->meta, add_named, s, err);
    c->meta = NULL;
    c->reason = arena_strdup(s->r->arena, local.msg);
    if (*complete)
        s->r->unreadable_count++;
    else
        add_orphan(s, (struct orphan){ORPHAN_INCOMPLETE, c->dir, sum.bytes, sum.changed_wall_ms});
    return RC_OK;
}

static int by_digest(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct digest128));
}

static enum rc look_at_shared(void *ctx, const char *name, struct err *err UNUSED)
{
    struct scan *s = ctx;
    const char *path = arena_printf(s->r->arena, "%s/%s", s->dir, name);
    struct digest128 digest;
    struct fs_stat st;
    bool content = layout_parse_shared(name, &digest);

    if ((!content && !layout_is_temp(name)) || fs_stat(s->fs, path, &st, NULL) != RC_OK)
        return RC_OK;
    if (!content) {
        add_orphan(s, (struct orphan){ORPHAN_TEMP, path, st.size_bytes, changed_ms(&st)});
        return RC_OK;
    }
    s->r->shared_file_count++;
    s->r->shared_bytes += st.size_bytes;
    if (s->named_count == 0 ||
        bsearch(&digest, s->named, s->named_count, sizeof digest, by_digest) == NULL)
        add_orphan(s, (struct orphan){ORPHAN_SHARED, path, st.size_bytes, changed_ms(&st)});
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

static enum rc scan_all(struct scan *s, const char *job_dir, struct err *err)
{
    struct err local = {0};
    size_t kept = 0;
    enum rc rc;

    s->dir = arena_strdup(s->r->arena, job_dir);
    RETURN_IF_ERR(fs_list(s->fs, job_dir, list_checkpoint, s, err));
    if (s->checkpoint_count > 0)
        qsort(s->checkpoints, s->checkpoint_count, sizeof *s->checkpoints, by_id);
    for (size_t i = 0; i < s->checkpoint_count; i++) {
        struct orphan_checkpoint c = s->checkpoints[i];
        bool complete;

        RETURN_IF_ERR(look_at(s, &c, &complete, err));
        if (complete)
            s->checkpoints[kept++] = c;
    }
    s->checkpoint_count = kept;
    if (s->named_count > 0)
        qsort(s->named, s->named_count, sizeof *s->named, by_digest);
    s->dir = arena_printf(s->r->arena, "%s/%s", job_dir, LAYOUT_SHARED);
    rc = fs_list(s->fs, s->dir, look_at_shared, s, &local);
    return rc == RC_OK || rc == RC_NOT_FOUND ? RC_OK : err_set(err, rc, "%s", local.msg);
}

enum rc orphans_scan(struct fs *fs, const char *job_dir, struct orphan_report *out, struct err *err)
{
    struct scan s = {.fs = fs, .r = out};
    struct err local = {0};
    enum rc rc;

    *out = (struct orphan_report){.arena = arena_new(0)};
    rc = ended_read(fs, job_dir, out->arena, &out->ended, &local);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        out->ended_fault = arena_strdup(out->arena, local.msg);
    if (rc != RC_OK)
        out->ended = (struct ended){0};
    GOTO_IF_ERR(scan_all(&s, job_dir, err));
    if (s.orphan_count > 0) {
        qsort(s.orphans, s.orphan_count, sizeof *s.orphans, by_path);
        out->orphans = arena_copy(out->arena, s.orphans, s.orphan_count * sizeof *s.orphans);
        out->orphan_count = s.orphan_count;
    }
    if (s.checkpoint_count > 0) {
        out->checkpoints =
            arena_copy(out->arena, s.checkpoints, s.checkpoint_count * sizeof *s.checkpoints);
        out->checkpoint_count = s.checkpoint_count;
    }
out:
    mem_free(s.orphans);
    mem_free(s.checkpoints);
    mem_free(s.named);
    return rc;
}

enum rc orphans_delete(const struct env *env, const struct orphan_report *r, int64_t min_age_ms,
                       size_t *deleted, struct err *err)
{
    int64_t now_wall_ms = clock_wall_ms(env->clock);

    *deleted = 0;
    for (size_t i = 0; i < r->checkpoint_count; i++)
        if (r->checkpoints[i].meta == NULL)
            return err_set(err, RC_STATE, "nothing is deleted while a _metadata is unreadable: %s",
                           r->checkpoints[i].reason);
    for (size_t i = 0; i < r->orphan_count; i++) {
        const struct orphan *o = &r->orphans[i];
        struct err local = {0};
        enum rc rc;

        if (min_age_ms > 0 && now_wall_ms - o->changed_wall_ms < min_age_ms)
            continue;
        rc = o->kind == ORPHAN_INCOMPLETE ? snapshot_dir_remove(env, o->path, &local)
                                          : fs_unlink(env->fs, o->path, &local);
        if (rc != RC_OK && rc != RC_NOT_FOUND)
            return err_set(err, rc, "%s", local.msg);
        (*deleted)++;
    }
    return RC_OK;
}
