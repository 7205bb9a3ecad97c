/* recovery.c - see recovery.h */
#include "checkpoint/recovery.h"

#include "base/arena.h"
#include "checkpoint/ended.h"
#include "checkpoint/layout.h"

#include <inttypes.h>
#include <stdlib.h>

void recovered_release(struct recovered *r)
{
    arena_free(r->arena);
    *r = (struct recovered){0};
}

/* ---- one snapshot --------------------------------------------------------------------------- */

struct resolve {
    struct arena *arena;
    const char *dir, *shared_dir; /* of _metadata; beside it */
};

static enum rc resolve_file(void *ctx, const struct operator_meta *op UNUSED,
                            const struct subtask_state *subtask UNUSED, struct state_file *file,
                            struct err *err UNUSED)
{
    const struct resolve *r = ctx;

    if (file->scope == FILE_EXCLUSIVE)
        file->resolved_path = arena_printf(r->arena, "%s/%s", r->dir, file->path);
    else if (file->scope == FILE_SHARED)
        file->resolved_path = arena_printf(r->arena, "%s/%s", r->shared_dir,
                                           file->path + strlen(LAYOUT_SHARED_PREFIX));
    return RC_OK;
}

enum rc recovery_read_metadata(struct fs *fs, const char *dir, struct arena *arena,
                               struct checkpoint_metadata *out, uint64_t *metadata_bytes,
                               struct err *err)
{
    char path[FS_PATH_MAX], job_dir[FS_PATH_MAX];
    struct buf file = {0};
    struct resolve resolve = {.arena = arena, .dir = arena_strdup(arena, dir)};
    enum rc rc;

    *metadata_bytes = 0;
    GOTO_IF_ERR(path_join(path, sizeof path, dir, LAYOUT_METADATA, err));
    GOTO_IF_ERR(path_dir(job_dir, sizeof job_dir, dir, err));
    GOTO_IF_ERR(fs_read_all(fs, path, METADATA_BYTES_MAX, &file, err));
    *metadata_bytes = file.len;
    GOTO_IF_ERR(metadata_own_decode(buf_bytes(&file), arena, arena_strdup(arena, path), out, err));
    resolve.shared_dir =
        arena_printf(arena, "%s/%s", strcmp(job_dir, "/") == 0 ? "" : job_dir, LAYOUT_SHARED);
    GOTO_IF_ERR(metadata_each_file(out, resolve_file, &resolve, err));
out:
    buf_release(&file);
    return rc;
}

/* ---- its files ------------------------------------------------------------------------------ */

struct file_check {
    struct fs *fs;
    bool digests;
    struct arena *arena;
    struct recovery_fault *faults;
    size_t count, cap;
};

static void add_fault(struct file_check *c, const struct operator_meta *op,
                      const struct subtask_state *subtask, const struct state_file *file,
                      const char *reason)
{
    if (c->count == c->cap) {
        struct recovery_fault *old = c->faults;

        c->cap = c->cap == 0 ? 8 : c->cap * 2;
        c->faults = ARENA_ARRAY(c->arena, c->cap, struct recovery_fault);
        if (c->count > 0)
            memcpy(c->faults, old, c->count * sizeof *old);
    }
    c->faults[c->count++] = (struct recovery_fault){
        .operator_name = op->name,
        .subtask_index = subtask->subtask_index,
        .path = file->resolved_path,
        .size_bytes = file->size_bytes,
        .reason = reason,
    };
}

static enum rc check_digest(struct file_check *c, const struct operator_meta *op,
                            const struct subtask_state *subtask, const struct state_file *file,
                            struct err *err)
{
    char want[DIGEST_HEX_LEN + 1], is[DIGEST_HEX_LEN + 1];
    struct digest128 found;
    uint64_t size;

    RETURN_IF_ERR(digest_file(c->fs, file->resolved_path, &found, &size, err));
    if (digest_eq(found, file->digest))
        return RC_OK;
    digest_hex(file->digest, want);
    digest_hex(found, is);
    add_fault(c, op, subtask, file,
              arena_printf(c->arena, "digest differs: %s instead of %s", is, want));
    return RC_OK;
}

static enum rc check_file(void *ctx, const struct operator_meta *op,
                          const struct subtask_state *subtask, struct state_file *file,
                          struct err *err)
{
    struct file_check *c = ctx;
    struct err local = {0};
    struct fs_stat st;
    enum rc rc;

    if (file->scope == FILE_INLINE)
        return RC_OK; /* proven by metadata_check */
    rc = fs_stat(c->fs, file->resolved_path, &st, &local);
    if (rc == RC_NOT_FOUND) {
        add_fault(c, op, subtask, file, "missing");
        return RC_OK;
    }
    if (rc != RC_OK)
        return err_set(err, rc, "%s", local.msg);
    if (st.type != FS_FILE)
        add_fault(c, op, subtask, file, "not a plain file");
    else if (st.size_bytes != file->size_bytes)
        add_fault(c, op, subtask, file,
                  arena_printf(c->arena, "%" PRIu64 " bytes instead of %" PRIu64, st.size_bytes,
                               file->size_bytes));
    else if (c->digests)
        return check_digest(c, op, subtask, file, err);
    return RC_OK;
}

enum rc recovery_check_files(struct fs *fs, const struct checkpoint_metadata *m, bool digests,
                             struct arena *arena, struct recovery_fault **faults,
                             size_t *fault_count, struct err *err)
{
    struct file_check c = {.fs = fs, .digests = digests, .arena = arena};
    enum rc rc = metadata_each_file(m, check_file, &c, err);

    *faults = c.faults;
    *fault_count = c.count;
    return rc;
}

/* "3 files are missing or damaged:" and one line for each, as many as the message holds. */
static enum rc report_faults(const struct recovered *r, struct err *err)
{
    struct buf text = {0};
    bool all_missing = true;

    for (size_t i = 0; i < r->fault_count; i++)
        all_missing = all_missing && strcmp(r->faults[i].reason, "missing") == 0;
    buf_printf(&text, "%zu of its files %s %s:", r->fault_count, r->fault_count == 1 ? "is" : "are",
               all_missing ? "missing" : "missing or damaged");
    for (size_t i = 0; i < r->fault_count; i++) {
        const struct recovery_fault *f = &r->faults[i];

        if (text.len > ERR_MSG_MAX * 3 / 4) {
            buf_printf(&text, "\n  ... and %zu more; varve inspect %s lists them all",
                       r->fault_count - i, r->dir);
            break;
        }
        buf_printf(&text, "\n  %s (%" PRIu64 " bytes, operator \"%s\" subtask %" PRIu32 "): %s",
                   f->path, f->size_bytes, f->operator_name, f->subtask_index, f->reason);
    }
    err_set(err, RC_CORRUPT, "%s", buf_cstr(&text)); /* the path is right, the snapshot is not */
    buf_release(&text);
    return RC_CORRUPT;
}

/* Reads and proves the snapshot in `dir` into r. */
static enum rc try_snapshot(struct fs *fs, const char *dir, bool digests, struct recovered *r,
                            struct err *err)
{
    enum rc rc;

    r->dir = arena_strdup(r->arena, dir);
    r->fault_count = 0;
    r->meta = ARENA_NEW(r->arena, struct checkpoint_metadata);
    GOTO_IF_ERR(recovery_read_metadata(fs, dir, r->arena, r->meta, &r->metadata_bytes, err));
    GOTO_IF_ERR(
        recovery_check_files(fs, r->meta, digests, r->arena, &r->faults, &r->fault_count, err));
    if (r->fault_count > 0) {
        rc = report_faults(r, err);
        rc = err_wrap(err, rc, "%s", dir);
    }
out:
    if (rc != RC_OK)
        r->meta = NULL;
    return rc;
}

/* ---- ids seen (C9) -------------------------------------------------------------------------- */

static enum rc note_id(void *ctx, const char *name, struct err *err UNUSED)
{
    uint64_t *newest = ctx, id;

    if ((layout_parse_checkpoint(name, &id) || layout_parse_savepoint_mark(name, &id)) &&
        id > *newest)
        *newest = id;
    return RC_OK;
}

enum rc recovery_newest_id(struct fs *fs, const char *job_dir, uint64_t *id, struct err *err)
{
    struct err local = {0};
    enum rc rc;

    *id = 0;
    rc = fs_list(fs, job_dir, note_id, id, &local);
    if (rc == RC_OK || rc == RC_NOT_FOUND)
        return RC_OK;
    return err_set(err, rc, "%s", local.msg);
}

static enum rc fill_newest_id(struct fs *fs, struct recovered *r, struct err *err)
{
    char parent[FS_PATH_MAX];

    RETURN_IF_ERR(path_dir(parent, sizeof parent, r->dir, err));
    RETURN_IF_ERR(recovery_newest_id(fs, parent, &r->newest_seen_id, err));
    if (r->meta->checkpoint_id > r->newest_seen_id)
        r->newest_seen_id = r->meta->checkpoint_id;
    return RC_OK;
}

/* ---- several -------------------------------------------------------------------------------- */

struct candidate {
    const char *dir;
    const char *group; /* the directory of its job; of a savepoint its own */
    uint64_t id;       /* 0: unknown (a savepoint whose _metadata is damaged) */
    int64_t wall_ms;   /* completion; of an unreadable one the time of its _metadata file */
    int64_t group_ms;  /* of the newest readable one of its group; all unreadable: the latest */
    bool has_metadata;
    const struct ended *ended; /* it is the note in its group: nothing older may take its place */
    enum rc rc;         /* of reading its _metadata */
    const char *reason; /* why it cannot be read; NULL */
    const char *job_name;
};
struct candidates {
    struct fs *fs;
    struct arena *arena;
    const struct recovery_options *options;
    const char *dir; /* being listed */
    struct candidate *items;
    size_t count, cap;
    const char **job_dirs; /* found in a root */
    size_t job_count, job_cap;
    bool savepoints; /* list them too */
};

static void add_candidate(struct candidates *c, const char *name, uint64_t id)
{
    const char *dir = arena_printf(c->arena, "%s/%s", strcmp(c->dir, "/") == 0 ? "" : c->dir, name);

    if (c->count == c->cap) {
        c->cap = c->cap == 0 ? 16 : c->cap * 2;
        c->items = mem_realloc(c->items, c->cap * sizeof *c->items);
    }
    c->items[c->count++] =
        (struct candidate){.dir = dir, .group = id == 0 ? dir : c->dir, .id = id};
}

static enum rc list_one(void *ctx, const char *name, struct err *err UNUSED)
{
    struct candidates *c = ctx;
    uint64_t id;

    if (layout_parse_checkpoint(name, &id)) {
        add_candidate(c, name, id);
    } else if (c->savepoints && layout_is_savepoint(name)) {
        add_candidate(c, name, 0);
    } else if (layout_is_job_id(name)) {
        if (c->job_count == c->job_cap) {
            c->job_cap = c->job_cap == 0 ? 16 : c->job_cap * 2;
            c->job_dirs = mem_realloc(c->job_dirs, c->job_cap * sizeof *c->job_dirs);
        }
        c->job_dirs[c->job_count++] =
            arena_printf(c->arena, "%s/%s", strcmp(c->dir, "/") == 0 ? "" : c->dir, name);
    }
    return RC_OK;
}

/* The note of a job's end counts among its checkpoints; one that names a stop's savepoint stands for
 * that. Not readable: it is a candidate all the same, to be refused. */
static enum rc add_end(struct candidates *c, struct err *err)
{
    struct ended *e = ARENA_NEW(c->arena, struct ended);
    struct err local = {0};
    struct candidate *k;
    enum rc rc = ended_read(c->fs, c->dir, c->arena, e, &local);

    if (rc == RC_NOT_FOUND)
        return RC_OK;
    if (rc == RC_IO)
        return err_set(err, rc, "%s", local.msg);
    if (rc != RC_OK)
        *e = (struct ended){.checkpoint_id = LAYOUT_CHECKPOINT_ID_MAX}; /* the newest */
    add_candidate(c, "", e->checkpoint_id);
    k = &c->items[c->count - 1];
    k->dir = e->savepoint_dir != NULL ? e->savepoint_dir : c->dir;
    k->group = c->dir;
    k->wall_ms = e->wall_ms;
    k->job_name = e->job_name;
    k->ended = e;
    k->rc = rc;
    if (rc != RC_OK)
        k->reason = arena_strdup(c->arena, local.msg);
    return RC_OK;
}

static enum rc look_at_end(struct candidates *c, struct candidate *k, struct err *err)
{
    struct checkpoint_metadata meta;
    struct err local = {0};
    char path[FS_PATH_MAX];
    struct fs_stat st;
    uint64_t bytes;

    k->has_metadata = true;
    if (k->rc != RC_OK) {
        RETURN_IF_ERR(path_join(path, sizeof path, k->group, LAYOUT_ENDED, err));
        if (fs_stat(c->fs, path, &st, NULL) == RC_OK)
            k->wall_ms = st.mtime_wall_ms;
        return RC_OK;
    }
    if (k->ended->savepoint_dir == NULL)
        return RC_OK;
    k->rc = recovery_read_metadata(c->fs, k->dir, c->arena, &meta, &bytes, &local);
    if (k->rc == RC_IO)
        return err_set(err, RC_IO, "%s", local.msg);
    if (k->rc != RC_OK)
        k->reason = arena_strdup(c->arena, local.msg);
    return RC_OK;
}

/* Fills what ordering needs. A checkpoint without _metadata was never completed and is no candidate
 * (B02). */
static enum rc look_at(struct candidates *c, struct candidate *k, struct err *err)
{
    struct checkpoint_metadata meta;
    struct err local = {0};
    char path[FS_PATH_MAX];
    struct fs_stat st;
    uint64_t bytes;
    enum rc rc;

    if (k->ended != NULL)
        return look_at_end(c, k, err);
    RETURN_IF_ERR(path_join(path, sizeof path, k->dir, LAYOUT_METADATA, err));
    rc = fs_stat(c->fs, path, &st, &local);
    if (rc == RC_NOT_FOUND)
        return RC_OK;
    if (rc != RC_OK)
        return err_set(err, rc, "%s", local.msg);
    k->has_metadata = true;
    k->wall_ms = st.mtime_wall_ms;
    k->rc = recovery_read_metadata(c->fs, k->dir, c->arena, &meta, &bytes, &local);
    if (k->rc == RC_IO)
        return err_set(err, RC_IO, "%s", local.msg);
    if (k->rc == RC_NOT_FOUND) { /* it was deleted meanwhile */
        k->has_metadata = false;
        return RC_OK;
    }
    if (k->rc != RC_OK) {
        k->reason = arena_strdup(c->arena, local.msg);
        return RC_OK;
    }
    k->wall_ms = meta.completed_wall_ms;
    k->id = meta.checkpoint_id;
    k->job_name = meta.job_name;
    return RC_OK;
}

static void date_groups(struct candidates *c)
{
    for (size_t i = 0; i < c->count; i++) {
        struct candidate *k = &c->items[i];
        uint64_t newest_id = 0;
        bool readable = false;

        for (size_t j = 0; j < c->count; j++) {
            const struct candidate *other = &c->items[j];
            bool reads = other->has_metadata && other->rc == RC_OK;

            if (strcmp(other->group, k->group) != 0 || !other->has_metadata || (readable && !reads))
                continue;
            if ((reads && !readable) ||
                (reads ? other->id > newest_id : other->wall_ms > k->group_ms)) {
                k->group_ms = other->wall_ms;
                newest_id = other->id;
            }
            readable = readable || reads;
        }
    }
}

/* The note says that there is nothing to go on with. */
static bool says_over(const struct candidate *k)
{
    return k->ended != NULL && k->rc == RC_OK && k->ended->savepoint_dir == NULL;
}

static int ends_work(const struct candidate *k)
{
    return says_over(k) && k->ended->end == JOB_END_FINISHED;
}

/* Newest first. Jobs by time; within a job ids decide: a clock may have been set back, and an
 * unreadable one has no time. */
static int newest_first(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    if (x->group_ms != y->group_ms)
        return x->group_ms < y->group_ms ? 1 : -1;
    if (strcmp(x->group, y->group) != 0)
        return strcmp(y->group, x->group);
    if (x->id != y->id)
        return x->id < y->id ? 1 : -1;
    /* A finished job needs none of its checkpoints; from that of a cancelled one it may go on, if it
     * is still there. */
    return ends_work(y) - ends_work(x);
}

static enum rc collect(struct candidates *c, const char *dir, struct err *err)
{
    size_t jobs;

    c->dir = dir;
    RETURN_IF_ERR(fs_list(c->fs, dir, list_one, c, err));
    RETURN_IF_ERR(add_end(c, err));
    c->savepoints = false; /* of the root alone */
    jobs = c->job_count;
    for (size_t i = 0; i < jobs; i++) {
        c->dir = c->job_dirs[i];
        RETURN_IF_ERR(fs_list(c->fs, c->job_dirs[i], list_one, c, err));
        RETURN_IF_ERR(add_end(c, err));
        c->job_count = jobs; /* a job has no jobs */
    }
    for (size_t i = 0; i < c->count; i++)
        RETURN_IF_ERR(look_at(c, &c->items[i], err));
    return RC_OK;
}

static void add_skip(struct recovered *r, size_t room, const char *path, const char *reason)
{
    ASSERT(r->skip_count < room);
    r->skips[r->skip_count++] =
        (struct recovery_skip){arena_strdup(r->arena, path), arena_strdup(r->arena, reason)};
}

/* "none of the 3 snapshots in .. can be restored: a: why; b: why" */
static enum rc none_left(const struct recovered *r, const char *dir, bool all_too_new,
                         struct err *err)
{
    struct buf text = {0};
    enum rc rc;

    buf_printf(&text, "none of the %zu snapshots in %s can be restored:", r->skip_count, dir);
    for (size_t i = 0; i < r->skip_count && text.len < ERR_MSG_MAX * 3 / 4; i++)
        buf_printf(&text, "\n  %s", r->skips[i].reason);
    rc = err_set(err, all_too_new ? RC_VERSION : RC_CORRUPT, "%s", buf_cstr(&text));
    buf_release(&text);
    return rc;
}

/* Of which job it is, by a readable one beside it if need be: a directory holds one job. */
static const char *job_of(const struct candidates *c, const struct candidate *k)
{
    const char *name = k->job_name;

    for (size_t i = 0; name == NULL && i < c->count; i++)
        if (strcmp(c->items[i].group, k->group) == 0)
            name = c->items[i].job_name;
    return name;
}

/* One of nobody knows which job may be of the one asked for: to pass it over in silence would start
 * that job from nothing. */
static bool of_that_job(const struct candidates *c, const struct candidate *k)
{
    const char *asked = c->options->job_name, *is = job_of(c, k);

    return asked == NULL || is == NULL || strcmp(is, asked) == 0;
}

/* The chosen one is items[chosen]. What comes after it is older, but for directories in which
 * nothing can be read: their age is a guess. */
static void skip_unknown(const struct candidates *c, size_t chosen, struct recovered *r)
{
    for (size_t i = chosen + 1; c->options->job_name != NULL && i < c->count; i++)
        if (c->items[i].has_metadata && job_of(c, &c->items[i]) == NULL)
            add_skip(r, c->count, c->items[i].dir, c->items[i].reason);
}

/* Its results are committed: from an older checkpoint they would come twice. */
static enum rc refuse_stop(const struct candidate *k, enum rc rc, const char *reason,
                           struct err *err)
{
    if (k->ended->savepoint_dir == NULL)
        return err_set(err, rc,
                       "%s; an older checkpoint could repeat results: name one to start from, or "
                       "delete that file",
                       reason);
    return err_set(err, rc == RC_NOT_FOUND ? RC_STATE : rc,
                   "%s/%s: the job was stopped with savepoint %s, which cannot be restored (%s); "
                   "an older checkpoint would repeat results: name one to start from, or delete "
                   "that file",
                   k->group, LAYOUT_ENDED, k->dir, reason);
}

static enum rc refuse_over(const struct candidates *c, const struct candidate *k, struct err *err)
{
    const struct ended *e = k->ended;
    bool finished = e->end == JOB_END_FINISHED;

    if (finished && c->options->job_name != NULL)
        return err_set(err, RC_DONE,
                       "job \"%s\" has finished, at checkpoint %" PRIu64
                       " (%s/%s): nothing is left to resume",
                       e->job_name, e->checkpoint_id, k->group, LAYOUT_ENDED);
    return err_set(err, RC_STATE,
                   "%s/%s: job \"%s\" %s at checkpoint %" PRIu64
                   "%s; an older checkpoint would repeat results: name one to start from, start "
                   "it anew, or delete that file",
                   k->group, LAYOUT_ENDED, e->job_name,
                   finished                      ? "finished"
                   : e->end == JOB_END_CANCELED ? "was cancelled"
                                                : "failed",
                   e->checkpoint_id,
                   finished ? "" : ", and its retention had its checkpoints deleted");
}

/* The newest note among the first `count` that the job asked for, or else the one named so, is
 * over; NULL: none. */
static const struct candidate *over_before(const struct candidates *c, size_t count,
                                           const char *job_name)
{
    if (c->options->job_name != NULL)
        job_name = c->options->job_name;
    for (size_t i = 0; i < count && job_name != NULL; i++) {
        const struct candidate *k = &c->items[i];

        if (says_over(k) && strcmp(k->job_name, job_name) == 0)
            return k;
    }
    return NULL;
}

static enum rc nothing_found(const struct candidates *c, const char *dir, struct err *err)
{
    const char *job_name = c->options->job_name;

    for (size_t i = 0; i < c->count; i++) {
        const struct candidate *k = &c->items[i];

        if (says_over(k) && of_that_job(c, k))
            return refuse_over(c, k, err);
    }
    return err_set(err, RC_NOT_FOUND, "%s: holds no completed checkpoint or savepoint%s%s%s", dir,
                   job_name == NULL ? "" : " of job \"", job_name == NULL ? "" : job_name,
                   job_name == NULL ? "" : "\"");
}

static enum rc choose(struct candidates *c, const char *dir, struct recovered *r, struct err *err)
{
    bool all_too_new = true;

    r->skips = ARENA_ARRAY(r->arena, c->count, struct recovery_skip);
    for (size_t i = 0; i < c->count; i++) {
        const struct candidate *k = &c->items[i], *over;
        struct err local = {0};
        enum rc rc = k->rc;

        if (!k->has_metadata || !of_that_job(c, k) || says_over(k))
            continue;
        over = over_before(c, i, job_of(c, k));
        if (over != NULL && r->skip_count > 0)
            break; /* of a later run nothing can be read: that it was over is old news */
        if (over != NULL)
            return refuse_over(c, over, err);
        if (rc == RC_OK)
            rc = try_snapshot(c->fs, k->dir, true, r, &local);
        if (rc == RC_OK) {
            skip_unknown(c, i, r);
            return RC_OK;
        }
        if (rc == RC_IO)
            return err_set(err, rc, "%s", local.msg);
        if (k->ended != NULL)
            return refuse_stop(k, rc, k->reason != NULL ? k->reason : local.msg, err);
        all_too_new = all_too_new && rc == RC_VERSION;
        add_skip(r, c->count, k->dir, k->reason != NULL ? k->reason : local.msg);
    }
    return r->skip_count == 0 ? nothing_found(c, dir, err)
                              : none_left(r, dir, all_too_new, err);
}

static enum rc open_several(const struct env *env, const char *dir,
                            const struct recovery_options *options, struct recovered *r,
                            struct err *err)
{
    struct candidates c = {.fs = env->fs,
                           .arena = r->arena,
                           .options = options,
                           .savepoints = !options->checkpoints_only};
    enum rc rc;

    GOTO_IF_ERR(collect(&c, dir, err));
    if (c.job_count == 0 && c.count == 0)
        GOTO_IF_ERR(err_set(err, RC_NOT_FOUND,
                            "%s: neither a checkpoint, a savepoint, a job's directory nor "
                            "a directory of those",
                            dir));
    date_groups(&c);
    if (c.count > 1)
        qsort(c.items, c.count, sizeof *c.items, newest_first);
    GOTO_IF_ERR(choose(&c, dir, r, err));
out:
    mem_free(c.items);
    mem_free(c.job_dirs);
    return rc;
}

/* ---- from a path ---------------------------------------------------------------------------- */

/* `path` is a directory: a snapshot, an incomplete one, or several. */
static enum rc open_dir(const struct env *env, const char *path,
                        const struct recovery_options *options, struct recovered *r,
                        struct err *err)
{
    char metadata[FS_PATH_MAX];
    struct err local = {0};
    struct fs_stat st;
    uint64_t id;
    enum rc rc;

    RETURN_IF_ERR(path_join(metadata, sizeof metadata, path, LAYOUT_METADATA, err));
    rc = fs_stat(env->fs, metadata, &st, &local);
    if (rc == RC_OK)
        return try_snapshot(env->fs, path, options->digests, r, err);
    if (rc != RC_NOT_FOUND)
        return err_set(err, rc, "%s", local.msg);
    if (layout_parse_checkpoint(path_base(path), &id))
        return err_set(err, RC_NOT_FOUND,
                       "%s: has no _metadata: this checkpoint was never completed", path);
    if (layout_is_savepoint(path_base(path)))
        return err_set(err, RC_NOT_FOUND,
                       "%s: has no _metadata: this savepoint was never completed", path);
    return open_several(env, path, options, r, err);
}

static enum rc open_path(const struct env *env, const char *uri,
                         const struct recovery_options *options, struct recovered *r,
                         struct err *err)
{
    char given[FS_PATH_MAX], path[FS_PATH_MAX], dir[FS_PATH_MAX];
    struct fs_stat st;

    RETURN_IF_ERR(path_from_uri(given, sizeof given, uri, err));
    RETURN_IF_ERR(path_absolute(path, sizeof path, given, err));
    RETURN_IF_ERR(fs_stat(env->fs, path, &st, err));
    if (st.type == FS_DIR)
        return open_dir(env, path, options, r, err);
    if (st.type != FS_FILE || strcmp(path_base(path), LAYOUT_METADATA) != 0)
        return err_set(err, RC_INVALID, "%s: neither a directory nor a file named _metadata", path);
    RETURN_IF_ERR(path_dir(dir, sizeof dir, path, err));
    return try_snapshot(env->fs, dir, options->digests, r, err);
}

enum rc recovery_open(const struct env *env, const char *uri,
                      const struct recovery_options *options, struct recovered *out,
                      struct err *err)
{
    enum rc rc;

    *out = (struct recovered){.arena = arena_new(0)};
    GOTO_IF_ERR(open_path(env, uri, options, out, err));
    GOTO_IF_ERR(fill_newest_id(env->fs, out, err));
out:
    return rc == RC_OK ? RC_OK : err_wrap(err, rc, "restore");
}

enum rc recovery_newest_of_job(const struct env *env, const char *root, const char *job_name,
                               struct recovered *out, struct err *err)
{
    struct recovery_options options = {
        .digests = true, .job_name = job_name, .checkpoints_only = true};
    char dir[FS_PATH_MAX];
    enum rc rc;

    *out = (struct recovered){.arena = arena_new(0)};
    GOTO_IF_ERR(path_absolute(dir, sizeof dir, root, err));
    GOTO_IF_ERR(open_several(env, dir, &options, out, err));
    GOTO_IF_ERR(fill_newest_id(env->fs, out, err));
out:
    return rc == RC_OK || rc == RC_DONE ? rc : err_wrap(err, rc, "resume job \"%s\"", job_name);
}
