/* discard.c - see discard.h */
#include "checkpoint/discard.h"

#include "base/arena.h"
#include "base/remote_lease.h"
#include "checkpoint/layout.h"
#include "checkpoint/orphans.h"
#include "checkpoint/recovery.h"
#include "checkpoint/snapshot_dir.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A LOCK holds two lines: who, and the directory's path, by which a copy of it is told from the
 * directory itself. Either may be absent. */
static void read_holder(struct fs *fs, const char *path, char who[JOB_DIR_HOLDER_MAX],
                        char dir[FS_PATH_MAX])
{
    struct buf text = {0};
    const uint8_t *end;
    size_t len = 0, at = 0;
    char *lease;

    if (fs_read_all(fs, path, JOB_DIR_HOLDER_MAX + FS_PATH_MAX + LEASE_TEXT_MAX, &text, NULL) ==
        RC_OK) {
        for (; len < text.len && len + 1 < JOB_DIR_HOLDER_MAX && text.data[len] >= 0x20 &&
               text.data[len] < 0x7f;
             len++)
            who[len] = (char)text.data[len];
        end = text.len == 0 ? NULL : memchr(text.data, '\n', text.len);
        at = end == NULL ? text.len : (size_t)(end - text.data) + 1;
    }
    who[len] = '\0';
    lease = strstr(who, LEASE_WORD);
    if (lease != NULL)
        *lease = '\0';
    len = text.len - at;
    if (len > 0 && text.data[text.len - 1] == '\n')
        len--;
    len = len < FS_PATH_MAX ? len : 0;
    if (len > 0)
        memcpy(dir, text.data + at, len);
    dir[len] = '\0';
    buf_release(&text);
}

static enum rc write_holder(struct fs_file *lock, const char *holder, const char *job_dir,
                            struct err *err)
{
    struct buf text = {0};
    enum rc rc;

    buf_printf(&text, "%s\n%s\n", holder, job_dir);
    rc = text.len > FS_LOCK_TEXT_MAX
             ? err_set(err, RC_LIMIT, "%s: too long for a lock", job_dir)
             : fs_lock_say(lock, buf_bytes(&text), err);
    buf_release(&text);
    return rc;
}

enum rc job_dir_lock(struct fs *fs, const char *job_dir, const char *holder, struct fs_file **lock,
                     struct err *err)
{
    char path[FS_PATH_MAX], other[JOB_DIR_HOLDER_MAX], other_dir[FS_PATH_MAX];
    struct err local = {0};
    enum rc rc;

    RETURN_IF_ERR(path_join(path, sizeof path, job_dir, LAYOUT_LOCK, err));
    rc = fs_lock(fs, path, lock, &local);
    if (rc == RC_STATE) {
        read_holder(fs, path, other, other_dir);
        return err_set(err, RC_STATE, "%s: is in use by a running job (%s)", job_dir,
                       other[0] == '\0' ? "who does not say its name" : other);
    }
    if (rc != RC_OK)
        return err_set(err, rc, "%s", local.msg);
    if (holder == NULL)
        return RC_OK;
    rc = write_holder(*lock, holder, job_dir, err);
    if (rc != RC_OK)
        fs_abandon(lock);
    return rc;
}

enum rc job_dir_lock_guest(const struct env *env, const char *job_dir, const char *work,
                           struct fs_file **lock, struct err *err)
{
    char path[FS_PATH_MAX], who[JOB_DIR_HOLDER_MAX], made_as[FS_PATH_MAX], since[WALL_TEXT_MAX];
    char guest[128];
    enum rc rc;

    RETURN_IF_ERR(path_join(path, sizeof path, job_dir, LAYOUT_LOCK, err));
    read_holder(env->fs, path, who, made_as);
    RETURN_IF_ERR(job_dir_lock(env->fs, job_dir, NULL, lock, err));
    if (!fs_lock_can_be_lost(*lock))
        return RC_OK;
    snprintf(guest, sizeof guest, "pid %ld, %s, since %s", (long)getpid(), work,
             wall_text(clock_wall_ms(env->clock), since));
    rc = write_holder(*lock, guest, made_as[0] == '\0' ? job_dir : made_as, err);
    if (rc != RC_OK)
        fs_abandon(lock);
    return rc;
}

/* A lock file that is there and that nobody holds. */
static bool lock_is_free(struct fs *fs, const char *path)
{
    bool held;

    return fs_lock_probe(fs, path, &held, NULL) == RC_OK && !held;
}

bool job_dir_is_deserted(struct fs *fs, const char *job_dir)
{
    char path[FS_PATH_MAX], who[JOB_DIR_HOLDER_MAX], made_as[FS_PATH_MAX];

    if (path_join(path, sizeof path, job_dir, LAYOUT_LOCK, NULL) != RC_OK || !fs_exists(fs, path) ||
        !lock_is_free(fs, path))
        return false;
    read_holder(fs, path, who, made_as);
    if (made_as[0] == '\0' || strcmp(made_as, job_dir) == 0)
        return true;
    return path_join(path, sizeof path, made_as, LAYOUT_LOCK, NULL) == RC_OK &&
           (fs_is_absent(fs, path) || lock_is_free(fs, path));
}

enum rc job_dir_probe(struct fs *fs, const char *job_dir, bool *in_use,
                      char holder[JOB_DIR_HOLDER_MAX], struct err *err)
{
    char path[FS_PATH_MAX], who[JOB_DIR_HOLDER_MAX], made_as[FS_PATH_MAX];
    struct err local = {0};
    struct fs_stat st;
    enum rc rc;

    *in_use = false;
    RETURN_IF_ERR(path_join(path, sizeof path, job_dir, LAYOUT_LOCK, err));
    rc = fs_stat(fs, path, &st, &local); /* the probe might make the file */
    if (rc == RC_NOT_FOUND)
        return RC_OK;
    if (rc != RC_OK)
        return err_set(err, rc, "%s", local.msg);
    RETURN_IF_ERR(fs_lock_probe(fs, path, in_use, err));
    if (!*in_use)
        return RC_OK;
    read_holder(fs, path, who, made_as);
    if (holder != NULL)
        memcpy(holder, who, sizeof who);
    return RC_OK;
}

bool job_dir_is_copy(struct fs *fs, const char *job_dir)
{
    char path[FS_PATH_MAX], who[JOB_DIR_HOLDER_MAX], made_as[FS_PATH_MAX];

    if (path_join(path, sizeof path, job_dir, LAYOUT_LOCK, NULL) != RC_OK)
        return false;
    read_holder(fs, path, who, made_as);
    return made_as[0] != '\0' && strcmp(made_as, job_dir) != 0 &&
           path_join(path, sizeof path, made_as, LAYOUT_LOCK, NULL) == RC_OK &&
           !fs_is_absent(fs, path);
}

/* ---- a retained checkpoint's shared files --------------------------------------------------- */

struct shared_names {
    const struct env *env;
    const struct orphan_report *others; /* after the snapshot was hidden */
    const char *shared_dir, *taskowned_dir;
};

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct orphan *)a)->path, ((const struct orphan *)b)->path);
}

/* A file that the discarded snapshot named: gone when the fresh report says that nobody names it.
 */
static enum rc delete_if_orphan(void *ctx, const struct operator_meta *op UNUSED,
                                const struct subtask_state *subtask UNUSED, struct state_file *file,
                                struct err *err)
{
    const struct shared_names *names = ctx;
    char path[FS_PATH_MAX];
    struct orphan key = {.path = path};
    struct err local = {0};
    enum rc rc;

    if ((file->scope != FILE_SHARED && file->scope != FILE_TASKOWNED) ||
        names->others->orphan_count == 0)
        return RC_OK;
    RETURN_IF_ERR(path_join(path, sizeof path,
                            file->scope == FILE_SHARED ? names->shared_dir : names->taskowned_dir,
                            path_base(file->path), err));
    if (bsearch(&key, names->others->orphans, names->others->orphan_count, sizeof key, by_path) ==
        NULL)
        return RC_OK;
    rc = fs_unlink(names->env->fs, path, &local); /* named twice: gone already */
    return rc == RC_OK || rc == RC_NOT_FOUND ? RC_OK : err_set(err, rc, "%s", local.msg);
}

static enum rc delete_unnamed(const struct env *env, const struct checkpoint_metadata *meta,
                              const char *job_dir, bool sweep, struct err *err)
{
    struct shared_names names = {.env = env};
    struct orphan_report report;
    char shared_dir[FS_PATH_MAX], taskowned_dir[FS_PATH_MAX];
    size_t deleted;
    enum rc rc;

    GOTO_IF_ERR(orphans_scan(env->fs, job_dir, NULL, NULL, &report, err));
    GOTO_IF_ERR(path_join(shared_dir, sizeof shared_dir, job_dir, LAYOUT_SHARED, err));
    GOTO_IF_ERR(path_join(taskowned_dir, sizeof taskowned_dir, job_dir, LAYOUT_TASKOWNED, err));
    names.others = &report;
    names.shared_dir = shared_dir;
    names.taskowned_dir = taskowned_dir;
    if (report.unreadable_count > 0)
        log_line(env->log, LOG_WARN,
                 "shared files stay: a _metadata beside them is unreadable dir=%s", job_dir);
    else if (sweep)
        GOTO_IF_ERR(orphans_delete(env, &report, 0, &deleted, err));
    else
        GOTO_IF_ERR(metadata_each_file(meta, delete_if_orphan, &names, err));
out:
    orphan_report_release(&report);
    return rc;
}

/* What the claimed directory's dead job had begun to upload. */
static void drop_unfinished(const struct env *env, const char *job_dir)
{
    struct err local = {0};
    size_t dropped;

    if (fs_drop_unfinished(env->fs, job_dir, clock_wall_ms(env->clock), &dropped, &local) != RC_OK)
        log_line(env->log, LOG_WARN, "unfinished uploads stay dir=%s reason=\"%s\"", job_dir,
                 local.msg);
}

static bool names_shared(const struct checkpoint_metadata *meta)
{
    struct metadata_sizes sizes;

    metadata_sizes_of(meta, &sizes);
    return sizes.shared_count + sizes.log_count > 0;
}

enum rc discard_snapshot(const struct env *env, const char *dir, bool sweep, struct err *err)
{
    struct arena *arena = arena_new(0);
    struct checkpoint_metadata meta;
    struct fs_file *lock = NULL;
    char job_dir[FS_PATH_MAX];
    uint64_t bytes, id;
    bool in_job;
    enum rc rc;

    GOTO_IF_ERR(recovery_read_metadata(env->fs, dir, arena, &meta, &bytes, err));
    GOTO_IF_ERR(path_dir(job_dir, sizeof job_dir, dir, err));
    /* A savepoint stands alone; a checkpoint is the business of whoever holds its directory. */
    in_job = layout_parse_checkpoint(path_base(dir), &id) || names_shared(&meta);
    if (in_job)
        GOTO_IF_ERR(job_dir_lock_guest(env, job_dir, "deletion of a snapshot", &lock, err));
    GOTO_IF_ERR(snapshot_dir_hide(env->fs, dir, err));
    if (in_job)
        GOTO_IF_ERR(delete_unnamed(env, &meta, job_dir, sweep, err));
    if (in_job && sweep)
        drop_unfinished(env, job_dir);
    GOTO_IF_ERR(snapshot_dir_remove(env, dir, err));
out:
    fs_abandon(&lock);
    arena_free(arena);
    return rc == RC_OK ? RC_OK : err_wrap(err, rc, "delete snapshot %s", dir);
}
