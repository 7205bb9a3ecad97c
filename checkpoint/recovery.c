/* recovery.c - see recovery.h */
#include "checkpoint/recovery.h"

#include "base/arena.h"
#include "base/thread.h"
#include "checkpoint/layout.h"
#include "checkpoint/recovery_priv.h"

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
    const char *dir, *shared_dir, *taskowned_dir; /* of _metadata; beside it */
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
    else if (file->scope == FILE_TASKOWNED)
        file->resolved_path = arena_printf(r->arena, "%s/%s", r->taskowned_dir,
                                           file->path + strlen(LAYOUT_LOG_PREFIX));
    return RC_OK;
}

enum rc recovery_decode_metadata(const char *dir, const char *path, struct bytes file,
                                 struct arena *arena, struct checkpoint_metadata *out,
                                 struct err *err)
{
    char job_dir[FS_PATH_MAX];
    struct resolve resolve = {.arena = arena, .dir = arena_strdup(arena, dir)};

    RETURN_IF_ERR(path_dir(job_dir, sizeof job_dir, dir, err));
    RETURN_IF_ERR(metadata_own_decode(file, arena, arena_strdup(arena, path), out, err));
    if (strcmp(job_dir, "/") == 0)
        job_dir[0] = '\0';
    resolve.shared_dir = arena_printf(arena, "%s/%s", job_dir, LAYOUT_SHARED);
    resolve.taskowned_dir = arena_printf(arena, "%s/%s", job_dir, LAYOUT_TASKOWNED);
    return metadata_each_file(out, resolve_file, &resolve, err);
}

enum rc recovery_read_metadata(struct fs *fs, const char *dir, struct arena *arena,
                               struct checkpoint_metadata *out, uint64_t *metadata_bytes,
                               struct err *err)
{
    char path[FS_PATH_MAX];
    struct buf file = {0};
    enum rc rc;

    *metadata_bytes = 0;
    GOTO_IF_ERR(path_join(path, sizeof path, dir, LAYOUT_METADATA, err));
    GOTO_IF_ERR(fs_read_all(fs, path, METADATA_BYTES_MAX, &file, err));
    *metadata_bytes = file.len;
    rc = recovery_decode_metadata(dir, path, buf_bytes(&file), arena, out, err);
out:
    buf_release(&file);
    return rc;
}

/* ---- its files ------------------------------------------------------------------------------ */

struct file_check {
    struct fs *fs;
    bool digests;
    struct recovery_fault *files; /* with a reason: those that are wrong */
    struct digest128 *wanted;     /* theirs */
    size_t count, cap;
    struct mutex mutex; /* several look at a time */
    struct arena *arena GUARDED_BY(mutex);
};

static enum rc note_file(void *ctx, const struct operator_meta *op,
                         const struct subtask_state *subtask, struct state_file *file,
                         struct err *err UNUSED)
{
    struct file_check *c = ctx;

    if (file->scope == FILE_INLINE)
        return RC_OK; /* proven by metadata_check */
    if (c->count == c->cap) {
        c->cap = c->cap == 0 ? 64 : c->cap * 2;
        c->files = mem_realloc(c->files, c->cap * sizeof *c->files);
        c->wanted = mem_realloc(c->wanted, c->cap * sizeof *c->wanted);
    }
    c->wanted[c->count] = file->digest;
    c->files[c->count++] = (struct recovery_fault){
        .operator_name = op->name,
        .subtask_index = subtask->subtask_index,
        .path = file->resolved_path,
        .size_bytes = file->size_bytes,
    };
    return RC_OK;
}

enum rc recovery_look_at_file(struct fs *fs, const char *path, uint64_t size_bytes,
                              struct arena *arena, struct fs_stat *st, const char **reason,
                              struct err *err)
{
    struct err local = {0};
    enum rc rc = fs_stat(fs, path, st, &local);

    *reason = NULL;
    if (rc == RC_NOT_FOUND) {
        *st = (struct fs_stat){0};
        *reason = "missing";
        return RC_OK;
    }
    if (rc != RC_OK)
        return err_set(err, rc, "%s", local.msg);
    if (st->type != FS_FILE)
        *reason = "not a plain file";
    else if (st->size_bytes != size_bytes)
        *reason = arena_printf(arena, "%" PRIu64 " bytes instead of %" PRIu64, st->size_bytes,
                               size_bytes);
    return RC_OK;
}

const char *recovery_digest_fault(struct digest128 found, struct digest128 want,
                                  struct arena *arena)
{
    char want_hex[DIGEST_HEX_LEN + 1], found_hex[DIGEST_HEX_LEN + 1];

    if (digest_eq(found, want))
        return NULL;
    digest_hex(want, want_hex);
    digest_hex(found, found_hex);
    return arena_printf(arena, "digest differs: %s instead of %s", found_hex, want_hex);
}

/* On any thread. */
static enum rc check_file(void *ctx, size_t i, struct err *err)
{
    struct file_check *c = ctx;
    struct recovery_fault *f = &c->files[i];
    struct arena *own = arena_new(256);
    struct digest128 found;
    const char *reason;
    struct fs_stat st;
    uint64_t size;
    enum rc rc;

    GOTO_IF_ERR(recovery_look_at_file(c->fs, f->path, f->size_bytes, own, &st, &reason, err));
    if (reason == NULL && c->digests) {
        GOTO_IF_ERR(digest_file(c->fs, f->path, &found, &size, err));
        reason = recovery_digest_fault(found, c->wanted[i], own);
    }
    if (reason != NULL) {
        mutex_lock(&c->mutex);
        f->reason = arena_strdup(c->arena, reason);
        mutex_unlock(&c->mutex);
    }
out:
    arena_free(own);
    return rc;
}

/* A look at a local file is over before a thread has begun. */
static bool pays(const struct file_check *c)
{
    return c->digests || (c->count > 0 && path_is_remote(c->files[0].path));
}

enum rc recovery_check_files(const struct env *env, const struct checkpoint_metadata *m,
                             bool digests, struct arena *arena, struct recovery_fault **faults,
                             size_t *fault_count, struct err *err) NO_THREAD_SAFETY
{
    struct file_check c = {.fs = env->fs, .digests = digests, .arena = arena};
    enum rc rc;

    *fault_count = 0;
    mutex_init(&c.mutex);
    GOTO_IF_ERR(metadata_each_file(m, note_file, &c, err));
    GOTO_IF_ERR(fan_out_run(pays(&c) ? env->fan : NULL, c.count, check_file, &c, err));
    *faults = ARENA_ARRAY(arena, c.count, struct recovery_fault);
    for (size_t i = 0; i < c.count; i++)
        if (c.files[i].reason != NULL)
            (*faults)[(*fault_count)++] = c.files[i];
out:
    mutex_release(&c.mutex);
    mem_free(c.files);
    mem_free(c.wanted);
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
enum rc recovery_try(const struct env *env, const char *dir, bool digests, struct recovered *r,
                            struct err *err)
{
    enum rc rc;

    r->dir = arena_strdup(r->arena, dir);
    r->fault_count = 0;
    r->meta = ARENA_NEW(r->arena, struct checkpoint_metadata);
    GOTO_IF_ERR(recovery_read_metadata(env->fs, dir, r->arena, r->meta, &r->metadata_bytes, err));
    GOTO_IF_ERR(
        recovery_check_files(env, r->meta, digests, r->arena, &r->faults, &r->fault_count, err));
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

static enum rc open_several(const struct env *env, const char *dir,
                            const struct recovery_options *options, struct recovered *r,
                            struct err *err)
{
    struct candidates c;

    RETURN_IF_ERR(candidates_gather(env->fs, dir, !options->checkpoints_only, r->arena, &c, err));
    if (c.job_count == 0 && c.count == 0)
        return err_set(err, RC_NOT_FOUND,
                       "%s: neither a checkpoint, a savepoint, a job's directory nor a directory "
                       "of those",
                       dir);
    return recovery_choose(env, dir, &c, options, r, err);
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
        return recovery_try(env, path, options->digests, r, err);
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
    return recovery_try(env, dir, options->digests, r, err);
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

enum rc recovery_newest_of_job(const struct env *env, const char *root,
                               const struct recovery_options *job, struct recovered *out,
                               struct err *err)
{
    struct recovery_options options = *job;
    char dir[FS_PATH_MAX];
    enum rc rc;

    options.digests = options.checkpoints_only = true;
    *out = (struct recovered){.arena = arena_new(0)};
    GOTO_IF_ERR(path_absolute(dir, sizeof dir, root, err));
    GOTO_IF_ERR(open_several(env, dir, &options, out, err));
    GOTO_IF_ERR(fill_newest_id(env->fs, out, err));
out:
    return rc == RC_OK || rc == RC_DONE ? rc
                                        : err_wrap(err, rc, "resume job \"%s\"", job->job_name);
}
