/* storage.c - see storage.h: the job's directory, its lock, discard and deletion. Attempts:
 * attempt.c; restored snapshots: storage_restore.c. */
#include "checkpoint/storage.h"

#include "base/arena.h"
#include "checkpoint/discard.h"
#include "checkpoint/layout.h"
#include "checkpoint/orphans.h"
#include "checkpoint/snapshot_dir.h"
#include "checkpoint/storage_priv.h"

#include <inttypes.h>
#include <stdio.h>

#define WRITE_BUFFER_MIN 4096u

enum rc storage_publish_metadata(struct fs *fs, const char *dir, struct bytes meta, struct err *err)
{
    enum rc rc;

    ASSERT(meta.len > 0);
    /* The discard removes a left-over temporary file. */
    rc = fs_publish(fs, dir, LAYOUT_METADATA_TEMP, LAYOUT_METADATA, meta, FS_PUBLISH_NEW, err);
    return rc == RC_OK ? RC_OK : err_wrap(err, rc, "publish %s", dir);
}

/* The mark of the savepoint before goes: one says all. */
enum rc storage_mark_savepoint(struct storage *s, uint64_t checkpoint_id, struct err *err)
{
    char path[FS_PATH_MAX], name[LAYOUT_NAME_MAX];
    struct fs_file *file = NULL;
    struct err local = {0};
    enum rc rc;

    if (s->job_dir == NULL || checkpoint_id <= s->savepoint_mark)
        return RC_OK; /* an older one that took longer */
    layout_savepoint_mark(checkpoint_id, name);
    RETURN_IF_ERR(path_join(path, sizeof path, s->job_dir, name, err));
    rc = fs_create(s->env.fs, path, &file, &local);
    if (rc == RC_OK)
        rc = fs_close(&file, &local);
    if (rc != RC_OK && rc != RC_EXISTS)
        return err_set(err, rc, "%s", local.msg);
    RETURN_IF_ERR(fs_sync_dir(s->env.fs, s->job_dir, err));
    if (s->savepoint_mark != 0) {
        layout_savepoint_mark(s->savepoint_mark, name);
        if (path_join(path, sizeof path, s->job_dir, name, NULL) != RC_OK ||
            fs_unlink(s->env.fs, path, &local) != RC_OK)
            log_line(s->env.log, LOG_DEBUG, "mark of an older savepoint stays path=%s", path);
    }
    s->savepoint_mark = checkpoint_id;
    return RC_OK;
}

/* ---- open ----------------------------------------------------------------------------------- */

/* Names made here are durable before anything in them is (C2). */
static enum rc make_dirs(struct storage *s, const char *dir, struct err *err)
{
    struct fs *fs = s->env.fs;

    RETURN_IF_ERR(fs_mkdirs(fs, s->shared_dir, err));
    RETURN_IF_ERR(fs_mkdirs(fs, s->taskowned_dir, err));
    /* One that was there may have been made, and not synced, by a process that died. */
    RETURN_IF_ERR(fs_sync_dir(fs, s->job_dir, err));
    return fs_sync_dir(fs, dir, err);
}

static enum rc open_storage_dir(struct storage *s, const char *dir, const char *holder,
                                struct err *err)
{
    char path[FS_PATH_MAX];

    RETURN_IF_ERR(layout_job_dir(path, sizeof path, dir, s->job_id, err));
    s->job_dir = mem_strdup(path);
    RETURN_IF_ERR(path_join(path, sizeof path, s->job_dir, LAYOUT_SHARED, err));
    s->shared_dir = mem_strdup(path);
    RETURN_IF_ERR(path_join(path, sizeof path, s->job_dir, LAYOUT_TASKOWNED, err));
    s->taskowned_dir = mem_strdup(path);
    RETURN_IF_ERR(fs_mkdirs(s->env.fs, s->job_dir, err));
    RETURN_IF_ERR(job_dir_lock(s->env.fs, s->job_dir, holder, &s->lock, err));
    transfer_init(&s->to_shared, &s->env, s->shared_dir);
    transfer_init(&s->to_taskowned, &s->env, s->taskowned_dir);
    return make_dirs(s, dir, err);
}

struct registration {
    struct storage *storage;
    uint64_t checkpoint_id;
};

static enum rc register_file(void *ctx, const struct operator_meta *op UNUSED,
                             const struct subtask_state *subtask UNUSED, struct state_file *file,
                             struct err *err)
{
    const struct registration *r = ctx;

    if (file->scope != FILE_SHARED && file->scope != FILE_TASKOWNED)
        return RC_OK;
    return shared_registry_restore(r->storage->registry, r->checkpoint_id, path_base(file->path),
                                   file->size_bytes, file->digest, false, err);
}

static enum rc pin_file(void *ctx, const char *name, struct err *err UNUSED)
{
    const struct registration *r = ctx;
    struct storage *s = r->storage;
    struct digest128 digest;
    char path[FS_PATH_MAX];
    struct fs_stat st;
    enum rc known UNUSED;

    if (!layout_parse_shared(name, &digest) ||
        path_join(path, sizeof path, s->shared_dir, name, NULL) != RC_OK ||
        fs_stat(s->env.fs, path, &st, NULL) != RC_OK)
        return RC_OK;
    /* With another length than a readable _metadata says it is that one's, and already held. */
    known = shared_registry_restore(s->registry, r->checkpoint_id, name, st.size_bytes, digest,
                                    false, NULL);
    return RC_OK;
}

/* What earlier runs completed here keeps its files; an unreadable _metadata may name any of them.
 */
static enum rc register_checkpoint(void *ctx, const struct orphan_report *report UNUSED,
                                   const struct orphan_checkpoint *c,
                                   const struct checkpoint_metadata *meta, struct err *err)
{
    struct storage *s = ctx;
    struct registration r = {s, c->checkpoint_id};

    if (meta != NULL)
        return metadata_each_file(meta, register_file, &r, err);
    log_line(s->env.log, LOG_WARN,
             "checkpoint cannot be read: no shared file is deleted dir=%s reason=\"%s\"", c->dir,
             c->reason);
    mutex_lock(&s->mutex);
    s->keeps_logs = true;
    mutex_unlock(&s->mutex);
    return fs_list(s->env.fs, s->shared_dir, pin_file, &r, err);
}

/* Under the lock: nobody else writes here. */
static enum rc take_stock(struct storage *s, struct err *err) NO_THREAD_SAFETY
{
    struct orphan_report report;
    size_t deleted = 0;
    enum rc rc;

    GOTO_IF_ERR(orphans_scan(s->env.fs, s->job_dir, register_checkpoint, s, &report, err));
    s->newest_seen_id = report.newest_seen_id;
    s->floor_id = report.newest_seen_id;
    if (report.unreadable_count == 0 && report.orphan_count > 0) {
        GOTO_IF_ERR(orphans_delete(&s->env, &report, 0, &deleted, err));
        log_line(s->env.log, LOG_INFO, "leftovers removed dir=%s count=%zu bytes=%" PRIu64,
                 s->job_dir, deleted, report.orphan_bytes);
    }
out:
    orphan_report_release(&report);
    return rc;
}

static enum rc check_config(const struct storage_config *c, struct err *err)
{
    if (!layout_is_job_id(c->job_id))
        return err_set(err, RC_INVALID, "job id \"%.64s\" is not %d lower-case hex digits",
                       c->job_id, JOB_ID_LEN);
    if (c->inline_threshold_bytes > STORAGE_INLINE_MAX)
        return err_set(err, RC_LIMIT,
                       "execution.checkpointing.data-inline-threshold: %" PRIu64
                       " bytes, the most are %u",
                       c->inline_threshold_bytes, STORAGE_INLINE_MAX);
    return RC_OK;
}

enum rc storage_open(const struct storage_config *config, struct storage **out, struct err *err)
{
    struct storage *s;
    enum rc rc;

    *out = NULL;
    RETURN_IF_ERR(check_config(config, err));
    s = mem_calloc(1, sizeof *s);
    s->env = *config->env;
    s->clean_env = s->env;
    if (config->deletes_one_by_one)
        s->clean_env.fan = NULL;
    memcpy(s->job_id, config->job_id, sizeof s->job_id);
    s->inline_threshold_bytes = config->inline_threshold_bytes;
    s->write_buffer_bytes = config->write_buffer_bytes < WRITE_BUFFER_MIN
                                ? WRITE_BUFFER_MIN
                                : config->write_buffer_bytes;
    s->memory_state_limit_bytes = config->memory_state_limit_bytes == 0
                                      ? STORAGE_MEMORY_LIMIT_DEFAULT
                                      : config->memory_state_limit_bytes;
    mutex_init(&s->mutex);
    s->registry = shared_registry_new();
    env_rng(&s->env, "savepoint-name", &s->rng);
    if (config->dir != NULL) {
        GOTO_IF_ERR(open_storage_dir(s, config->dir, config->holder, err));
        GOTO_IF_ERR(take_stock(s, err));
    }
    *out = s;
    return RC_OK;
out:
    storage_close(s);
    return err_wrap(err, rc, "open checkpoint directory %s", config->dir);
}

void storage_close(struct storage *s) NO_THREAD_SAFETY
{
    if (s == NULL)
        return;
    ASSERT(s->attempt_count == 0);
    fs_abandon(&s->lock);
    transfer_release(&s->to_shared);
    transfer_release(&s->to_taskowned);
    for (size_t i = 0; i < s->undone_count; i++)
        mem_free(s->undone[i].dir);
    mem_free(s->undone);
    shared_registry_free(s->registry);
    mutex_release(&s->mutex);
    mem_free(s->restored_dir);
    mem_free(s->job_dir);
    mem_free(s->shared_dir);
    mem_free(s->taskowned_dir);
    mem_free(s);
}

const char *storage_job_dir(const struct storage *s)
{
    return s->job_dir;
}
uint64_t storage_newest_seen_id(const struct storage *s)
{
    return s->newest_seen_id;
}
const char *storage_taskowned_dir(const struct storage *s)
{
    return s->taskowned_dir;
}

void storage_keep_copies(struct storage *s, struct local_copies *copies)
{
    s->copies = copies;
}

enum rc storage_check_lock(const struct storage *s, bool confirm, struct err *err)
{
    return s->lock == NULL ? RC_OK : fs_lock_check(s->lock, confirm, err);
}
bool storage_lock_can_be_lost(const struct storage *s)
{
    return s->lock != NULL && fs_lock_can_be_lost(s->lock);
}

enum rc storage_hold(struct storage *s, const char *name, uint64_t size_bytes,
                     struct digest128 digest, uint64_t *hold, struct err *err)
{
    enum rc rc;

    ASSERT(layout_is_log(name));
    mutex_lock(&s->mutex);
    *hold = LAYOUT_CHECKPOINT_ID_MAX + ++s->hold_count; /* no checkpoint's */
    rc = shared_registry_restore(s->registry, *hold, name, size_bytes, digest, true, err);
    mutex_unlock(&s->mutex);
    return rc;
}

/* ---- attempts ------------------------------------------------------------------------------- */

static enum rc check_id_grows(struct storage *s, uint64_t checkpoint_id, struct err *err)
{
    uint64_t floor_id;

    mutex_lock(&s->mutex);
    floor_id = s->floor_id;
    if (checkpoint_id > floor_id)
        s->floor_id = checkpoint_id;
    mutex_unlock(&s->mutex);
    if (checkpoint_id > floor_id)
        return RC_OK;
    return err_set(err, RC_EXISTS,
                   "checkpoint id %" PRIu64 " is not above %" PRIu64
                   ", the highest seen in this directory",
                   checkpoint_id, floor_id);
}

enum rc storage_attempt_begin(struct storage *s, uint64_t checkpoint_id,
                              struct storage_attempt **out, struct err *err)
{
    char dir[FS_PATH_MAX];
    bool tried = false;
    enum rc rc;

    *out = NULL;
    GOTO_IF_ERR(storage_check_lock(s, true, err));
    GOTO_IF_ERR(check_id_grows(s, checkpoint_id, err));
    if (s->job_dir == NULL) {
        *out = attempt_new_take(s, checkpoint_id, ATTEMPT_MEMORY, mem_strdup(""));
        return RC_OK;
    }
    GOTO_IF_ERR(layout_checkpoint_dir(dir, sizeof dir, s->job_dir, checkpoint_id, err));
    rc = fs_mkdir(s->env.fs, dir, err);
    tried = rc != RC_EXISTS; /* a failure may be a lost answer */
    if (rc == RC_OK)
        rc = fs_sync_dir(s->env.fs, s->job_dir, err);
    if (rc != RC_OK)
        goto out;
    *out = attempt_new_take(s, checkpoint_id, ATTEMPT_CHECKPOINT, mem_strdup(dir));
    return RC_OK;
out:
    if (tried)
        storage_remove_empty(s, dir, checkpoint_id);
    return err_wrap(err, rc, "begin checkpoint %" PRIu64, checkpoint_id);
}

/* ---- discard and deletion ------------------------------------------------------------------- */

void storage_note_undone(struct storage *s, const char *dir, uint64_t checkpoint_id, bool release,
                         bool attempt)
{
    mutex_lock(&s->mutex);
    if (s->undone_count == s->undone_cap) {
        s->undone_cap = s->undone_cap == 0 ? 4 : s->undone_cap * 2;
        s->undone = mem_realloc(s->undone, s->undone_cap * sizeof *s->undone);
    }
    s->undone[s->undone_count++] =
        (struct undone){mem_strdup(dir), checkpoint_id, release, attempt};
    mutex_unlock(&s->mutex);
}

void storage_remove_empty(struct storage *s, const char *dir, uint64_t checkpoint_id)
{
    enum rc rc = fs_rmdir(s->env.fs, dir, NULL);

    if (rc != RC_OK && rc != RC_NOT_FOUND)
        storage_note_undone(s, dir, checkpoint_id, false, true);
}

void storage_release_uses(struct storage *s, uint64_t checkpoint_id, bool attempt)
{
    mutex_lock(&s->mutex);
    if (attempt)
        shared_registry_attempt_aborted(s->registry, checkpoint_id);
    else
        shared_registry_checkpoint_dropped(s->registry, checkpoint_id);
    mutex_unlock(&s->mutex);
}

static bool lies_inside(const struct storage *s, const char *dir)
{
    char parent[FS_PATH_MAX];

    return s->job_dir != NULL && path_dir(parent, sizeof parent, dir, NULL) == RC_OK &&
           strcmp(parent, s->job_dir) == 0;
}

enum rc storage_may_delete(const struct storage *s, const char *dir, struct err *err)
{
    return lies_inside(s, dir) ? storage_check_lock(s, true, err) : RC_OK;
}

/* _metadata, uses, files, directory. What does not work is noted for later. */
static enum rc drop_dir(struct storage *s, const char *dir, uint64_t checkpoint_id, bool release,
                        bool attempt, struct err *err)
{
    enum rc rc = storage_may_delete(s, dir, err);

    if (rc == RC_OK)
        rc = snapshot_dir_hide(s->env.fs, dir, err);
    if (rc == RC_OK) {
        if (release)
            storage_release_uses(s, checkpoint_id, attempt);
        release = false;
        rc = snapshot_dir_remove(&s->clean_env, dir, err);
    }
    if (rc != RC_OK)
        storage_note_undone(s, dir, checkpoint_id, release, attempt);
    return rc;
}

/* Of a snapshot in a directory of another job: our uses end; it goes itself only with a claim. */
static enum rc discard_outside(struct storage *s, uint64_t checkpoint_id, const char *dir,
                               bool claimed, struct err *err)
{
    enum rc rc = claimed ? discard_snapshot(&s->env, dir, true, err) : RC_OK;

    storage_release_uses(s, checkpoint_id, false);
    return rc;
}

enum rc storage_checkpoint_discard(struct storage *s, uint64_t checkpoint_id, struct err *err)
{
    const char *restored_dir = NULL;
    char dir[FS_PATH_MAX];
    bool claimed;
    enum rc rc = RC_OK;

    if (s->job_dir == NULL)
        return RC_OK; /* nothing in memory is durable: it takes no snapshot's place */
    mutex_lock(&s->mutex);
    if (checkpoint_id == s->restored_id)
        restored_dir = s->restored_dir; /* until close */
    claimed = s->restored_claimed;
    mutex_unlock(&s->mutex);
    if (restored_dir != NULL && !lies_inside(s, restored_dir)) {
        GOTO_IF_ERR(discard_outside(s, checkpoint_id, restored_dir, claimed, err));
        return RC_OK;
    }
    /* One of this very directory that is the user's keeps its uses, so that its files stay. */
    if (restored_dir != NULL && !claimed)
        return RC_OK;
    if (restored_dir == NULL)
        GOTO_IF_ERR(layout_checkpoint_dir(dir, sizeof dir, s->job_dir, checkpoint_id, err));
    GOTO_IF_ERR(
        drop_dir(s, restored_dir == NULL ? dir : restored_dir, checkpoint_id, true, false, err));
out:
    return rc == RC_OK ? RC_OK : err_wrap(err, rc, "discard checkpoint %" PRIu64, checkpoint_id);
}

/* Each once; what fails again goes back on the list. */
static enum rc retry_undone(struct storage *s, struct err *err)
{
    struct undone *list;
    size_t count;
    enum rc first = RC_OK;

    mutex_lock(&s->mutex);
    list = s->undone;
    count = s->undone_count;
    s->undone = NULL;
    s->undone_count = s->undone_cap = 0;
    mutex_unlock(&s->mutex);
    for (size_t i = 0; i < count; i++) {
        enum rc rc =
            drop_dir(s, list[i].dir, list[i].checkpoint_id, list[i].release, list[i].attempt, err);

        first = first == RC_OK ? rc : first;
        mem_free(list[i].dir);
    }
    mem_free(list);
    return first;
}

/* The next condemned file: from now on, and until settle_delete, a reservation of it waits. false: there is none;
 * *name NULL: it is in use again. */
static bool begin_delete(struct storage *s, const char **name, bool *keep)
{
    bool found;

    mutex_lock(&s->mutex);
    found = shared_registry_take_condemned(s->registry, name, 1) == 1;
    if (found && !shared_registry_begin_delete(s->registry, *name))
        *name = NULL;
    *keep = found && *name != NULL && layout_is_log(*name) && s->keeps_logs;
    mutex_unlock(&s->mutex);
    return found;
}

static void settle_delete(struct storage *s, const char *name, bool gone)
{
    mutex_lock(&s->mutex);
    if (gone)
        shared_registry_finish_delete(s->registry, name);
    else
        shared_registry_cancel_delete(s->registry, name);
    mutex_unlock(&s->mutex);
}

/* A file that begin_delete gave. No lock is held over the unlink, which may be a slow server's: only its
 * own name waits. */
static enum rc delete_begun(struct storage *s, const char *name, bool keep, size_t *deleted,
                            struct err *err)
{
    struct err local = {0};
    char path[FS_PATH_MAX];
    enum rc rc = path_join(path, sizeof path, layout_is_log(name) ? s->taskowned_dir : s->shared_dir,
                           name, &local);

    if (rc == RC_OK && !keep)
        rc = storage_check_lock(s, true, &local);
    if (rc == RC_OK && !keep)
        rc = fs_unlink(s->env.fs, path, &local);
    if (rc == RC_OK)
        (*deleted)++;
    else if (rc == RC_NOT_FOUND)
        rc = RC_OK;
    else
        err_set(err, rc, "%s", local.msg);
    settle_delete(s, name, rc == RC_OK);
    return rc;
}

struct cleaning {
    struct storage *s;
    atomic_size_t deleted;
};

/* Takes condemned files until there are none, on any thread. The first error; the rest is done all
 * the same. */
static enum rc delete_condemned(void *ctx, size_t i UNUSED, struct err *err)
{
    struct cleaning *c = ctx;
    enum rc first = RC_OK;
    const char *name;
    bool keep;

    while (begin_delete(c->s, &name, &keep)) {
        size_t deleted = 0;
        enum rc rc = name == NULL ? RC_OK : delete_begun(c->s, name, keep, &deleted, err);

        first = first == RC_OK ? rc : first;
        atomic_fetch_add(&c->deleted, deleted);
    }
    return first;
}

/* Locally an unlink is over before a thread has begun. */
static size_t deletions_at_once(struct storage *s)
{
    struct shared_registry_stats stats;

    if (s->shared_dir == NULL || !path_is_remote(s->shared_dir))
        return 1;
    storage_shared_stats(s, &stats);
    return stats.condemned == 0 ? 1 : stats.condemned;
}

enum rc storage_clean(struct storage *s, size_t *deleted, struct err *err)
{
    struct cleaning c = {.s = s};
    enum rc first, rc;

    first = retry_undone(s, err);
    mutex_lock(&s->mutex);
    shared_registry_retry(s->registry);
    mutex_unlock(&s->mutex);
    rc = fan_out_all(s->clean_env.fan, deletions_at_once(s), delete_condemned, &c, err);
    first = first == RC_OK ? rc : first;
    if (deleted != NULL)
        *deleted = atomic_load(&c.deleted);
    return first == RC_OK ? RC_OK : err_wrap(err, first, "clean up checkpoints");
}

/* What nobody needs goes at once: a job without checkpoints has nobody who cleans. */
void storage_release_hold(struct storage *s, uint64_t hold, const char *name)
{
    struct err err = {0};
    size_t deleted = 0;
    bool gone, keep;

    mutex_lock(&s->mutex);
    shared_registry_checkpoint_dropped(s->registry, hold);
    gone = shared_registry_begin_delete(s->registry, name);
    keep = s->keeps_logs;
    mutex_unlock(&s->mutex);
    if (gone && delete_begun(s, name, keep, &deleted, &err) != RC_OK) /* tried again by storage_clean */
        log_line(s->env.log, LOG_WARN, "log not deleted yet: %s", err.msg);
}

void storage_shared_stats(struct storage *s, struct shared_registry_stats *out)
{
    mutex_lock(&s->mutex);
    shared_registry_stats(s->registry, out);
    mutex_unlock(&s->mutex);
}
