/* storage_restore.c - the files of a restored snapshot come into the job's own directory: see
 * storage.h */
#include "base/arena.h"
#include "checkpoint/layout.h"
#include "checkpoint/storage_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* A file of the restored snapshot; those of one name lie side by side. */
struct adopted {
    const struct operator_meta *op;
    const struct subtask_state *subtask;
    struct state_file *file;
    const char *own; /* where it belongs in this job's directory */
};
struct adoption {
    struct storage *storage;
    struct arena *arena;
    uint64_t checkpoint_id;
    struct adopted *files;
    size_t count, cap;
    size_t *firsts; /* of each name */
    size_t first_count;
};

static enum rc note_adopted(void *ctx, const struct operator_meta *op,
                            const struct subtask_state *subtask, struct state_file *file,
                            struct err *err)
{
    struct adoption *a = ctx;
    char name[LAYOUT_FILE_NAME_MAX + 1], own[FS_PATH_MAX];
    bool log;

    if (file->scope == FILE_INLINE)
        return RC_OK;
    log = layout_is_log(path_base(file->path));
    if (log)
        snprintf(name, sizeof name, "%s", path_base(file->path));
    else
        layout_shared_name(file->digest, name);
    RETURN_IF_ERR(path_join(own, sizeof own,
                            log ? a->storage->taskowned_dir : a->storage->shared_dir, name, err));
    if (a->count == a->cap) {
        a->cap = a->cap == 0 ? 64 : a->cap * 2;
        a->files = mem_realloc(a->files, a->cap * sizeof *a->files);
    }
    a->files[a->count++] =
        (struct adopted){op, subtask, file, arena_strdup(a->arena, own)};
    return RC_OK;
}

static int by_own(const void *a, const void *b)
{
    return strcmp(((const struct adopted *)a)->own, ((const struct adopted *)b)->own);
}

/* One of each name, on any thread. */
static enum rc adopt_file(void *ctx, size_t i, struct err *err)
{
    const struct adoption *a = ctx;
    struct storage *s = a->storage;
    const struct adopted *f = &a->files[a->firsts[i]];
    const char *name = path_base(f->own);
    bool log = layout_is_log(name);
    enum transfer_how how;
    enum rc rc = RC_OK;

    if (strcmp(f->own, f->file->resolved_path) != 0) /* else restored from this very directory */
        rc = (log ? transfer_file : transfer_place)(log ? &s->to_taskowned : &s->to_shared,
                                                    f->file->resolved_path, name,
                                                    f->file->size_bytes, f->file->digest, &how, err);
    if (rc == RC_OK) {
        mutex_lock(&s->mutex);
        rc = shared_registry_restore(s->registry, a->checkpoint_id, name, f->file->size_bytes,
                                     f->file->digest, true, err);
        mutex_unlock(&s->mutex);
    }
    return rc == RC_OK ? RC_OK
                       : err_wrap(err, rc, "operator \"%s\" subtask %" PRIu32, f->op->name,
                                  f->subtask->subtask_index);
}

static enum rc adopt_files(struct adoption *a, struct checkpoint_metadata *m, struct err *err)
{
    enum rc rc;

    GOTO_IF_ERR(metadata_each_file(m, note_adopted, a, err));
    if (a->count > 0)
        qsort(a->files, a->count, sizeof *a->files, by_own);
    a->firsts = mem_calloc(a->count, sizeof *a->firsts);
    for (size_t i = 0; i < a->count; i++)
        if (i == 0 || strcmp(a->files[i].own, a->files[i - 1].own) != 0)
            a->firsts[a->first_count++] = i;
    GOTO_IF_ERR(fan_out_run(a->storage->env.fan, a->first_count, adopt_file, a, err));
    for (size_t i = 0; i < a->count; i++)
        a->files[i].file->resolved_path = a->files[i].own;
out:
    mem_free(a->files);
    mem_free(a->firsts);
    return rc;
}

/* What was linked for a restore that failed half way. Where checkpoints lay here before, one may
 * have the same id: a later open sweeps then. */
static void drop_links(struct storage *s, uint64_t checkpoint_id)
{
    struct err trouble = {0};

    if (checkpoint_id <= s->newest_seen_id)
        return;
    storage_release_uses(s, checkpoint_id, false);
    if (storage_clean(s, NULL, &trouble) != RC_OK)
        log_line(s->env.log, LOG_WARN, "links of a failed restore stay: %s", trouble.msg);
}

enum rc storage_restore(struct storage *s, struct checkpoint_metadata *m, const char *snapshot_dir,
                        bool claim, struct arena *arena, struct err *err)
{
    struct adoption a = {.storage = s, .arena = arena, .checkpoint_id = m->checkpoint_id};

    RETURN_IF_ERR(storage_check_lock(s, true, err));
    if (s->job_dir != NULL) {
        enum rc rc = adopt_files(&a, m, err);

        if (rc != RC_OK) {
            drop_links(s, m->checkpoint_id);
            return err_wrap(err, rc, "take over %s", snapshot_dir);
        }
    }
    mutex_lock(&s->mutex);
    ASSERT(s->restored_id == 0); /* once in the life of a storage */
    s->restored_id = m->checkpoint_id;
    s->restored_claimed = claim;
    s->restored_dir = mem_strdup(snapshot_dir);
    if (m->checkpoint_id > s->floor_id)
        s->floor_id = m->checkpoint_id;
    mutex_unlock(&s->mutex);
    return RC_OK;
}
