/* attempt.c - one checkpoint or savepoint under way (storage.h): its targets, its end.
 *
 * A target is one subtask's door to the attempt. Publishing a shared file: reserve, then link or
 * copy, then say published; the reservation holds until the attempt ends, so nothing that was found
 * present can be deleted before the attempt's _metadata names it.
 */
#include "base/arena.h"
#include "checkpoint/layout.h"
#include "checkpoint/snapshot_dir.h"
#include "checkpoint/storage_priv.h"

#include <inttypes.h>
#include <stdatomic.h>

#define WAIT_STEP_NS (1 * NS_PER_MS)

struct attempt_target {
    struct snapshot_target base;
    struct storage_attempt *attempt;
    char *owner;
    atomic_uint_fast64_t memory_bytes; /* in memory: what this state holds so far */
};

struct snapshot_stream {
    struct attempt_target *target;
    struct buf buffer;
    struct fs_file *file; /* NULL: all of it is still in the buffer */
    char name[LAYOUT_NAME_MAX];
    uint64_t written_bytes; /* in the file */
    struct digest_stream *digest;
};

static struct attempt_target *target_of(struct snapshot_target *t)
{
    return (struct attempt_target *)t;
}

/* ---- life ----------------------------------------------------------------------------------- */

struct storage_attempt *attempt_new_take(struct storage *s, uint64_t checkpoint_id,
                                         enum attempt_place place, char *dir)
{
    struct storage_attempt *a = mem_calloc(1, sizeof *a);

    a->storage = s;
    a->checkpoint_id = checkpoint_id;
    a->place = place;
    a->dir = dir;
    if (place == ATTEMPT_SAVEPOINT)
        transfer_init(&a->to_dir, &s->env, dir);
    mutex_init(&a->mutex);
    mutex_lock(&s->mutex);
    s->attempt_count++;
    if (place == ATTEMPT_CHECKPOINT)
        shared_registry_attempt_begin(s->registry, checkpoint_id);
    mutex_unlock(&s->mutex);
    return a;
}

static void attempt_destroy(struct storage_attempt *a)
{
    struct storage *s = a->storage;

    transfer_release(&a->to_dir);
    mutex_release(&a->mutex);
    mem_free(a->dir);
    mem_free(a);
    mutex_lock(&s->mutex);
    ASSERT(s->attempt_count > 0);
    s->attempt_count--;
    mutex_unlock(&s->mutex);
}

/* The directory of an aborted attempt; its _metadata is gone already. */
static enum rc remove_attempt_dir(struct storage_attempt *a, struct err *err)
{
    enum rc rc = storage_may_delete(a->storage, a->dir, err);

    if (rc == RC_OK)
        rc = snapshot_dir_remove(&a->storage->clean_env, a->dir, err);
    if (rc != RC_OK)
        storage_note_undone(a->storage, a->dir, a->checkpoint_id, false, true);
    return rc;
}

void storage_attempt_free(struct storage_attempt *a)
{
    bool last;

    if (a == NULL)
        return;
    mutex_lock(&a->mutex);
    ASSERT(a->state != ATTEMPT_RUNNING && !a->freed);
    a->freed = true;
    last = a->target_count == 0;
    mutex_unlock(&a->mutex);
    if (last)
        attempt_destroy(a);
}

const char *storage_attempt_dir(const struct storage_attempt *a)
{
    return a->dir;
}

uint64_t storage_attempt_metadata_bytes(const struct storage_attempt *a) NO_THREAD_SAFETY
{
    return a->metadata_bytes; /* set by complete, which the caller has seen return */
}

static bool is_running(struct storage_attempt *a)
{
    bool running;

    mutex_lock(&a->mutex);
    running = a->state == ATTEMPT_RUNNING;
    mutex_unlock(&a->mutex);
    return running;
}

static enum rc check_running(struct storage_attempt *a, struct err *err)
{
    if (is_running(a))
        return storage_check_lock(a->storage, false, err);
    return err_set(err, RC_CANCELLED, "checkpoint %" PRIu64 " was aborted", a->checkpoint_id);
}

/* ---- end ------------------------------------------------------------------------------------ */

/* A _metadata past what its readers take must not be written. Everything large in it is inline
 * content. */
static enum rc check_inline_bytes(const struct checkpoint_metadata *m, struct err *err)
{
    struct metadata_sizes sizes;

    metadata_sizes_of(m, &sizes);
    if (sizes.inline_bytes > METADATA_BYTES_MAX / 2)
        return err_set(err, RC_LIMIT,
                       "checkpoint %" PRIu64 ": %" PRIu64 " bytes of inline state, the limit "
                       "of _metadata is %u",
                       m->checkpoint_id, sizes.inline_bytes, METADATA_BYTES_MAX / 2);
    return RC_OK;
}

/* Names of placed files, all at once (C2). Those that others placed, too: whoever did may have been
 * aborted before this. */
static enum rc sync_names(struct storage_attempt *a, struct err *err)
{
    struct storage *s = a->storage;

    if (!atomic_load(&a->places_files))
        return RC_OK;
    return fs_sync_dir(s->env.fs, a->place == ATTEMPT_SAVEPOINT ? a->dir : s->shared_dir, err);
}

enum rc storage_attempt_complete(struct storage_attempt *a, const struct checkpoint_metadata *m,
                                 struct err *err)
{
    struct storage *s = a->storage;
    struct buf encoded = {0};
    enum rc rc;

    ASSERT(m->checkpoint_id == a->checkpoint_id);
    GOTO_IF_ERR(check_running(a, err));
    GOTO_IF_ERR(check_inline_bytes(m, err));
    metadata_own_encode(m, &encoded);
    if (a->place == ATTEMPT_SAVEPOINT)
        GOTO_IF_ERR(storage_mark_savepoint(s, a->checkpoint_id, err));
    GOTO_IF_ERR(sync_names(a, err));
    GOTO_IF_ERR(storage_check_lock(s, true, err)); /* what is visible counts for whoever restores */
    if (a->place != ATTEMPT_MEMORY) {
        mutex_lock(&a->mutex);
        a->metadata_tried = true;
        mutex_unlock(&a->mutex);
        GOTO_IF_ERR(storage_publish_metadata(s->env.fs, a->dir, buf_bytes(&encoded), err));
    }
    mutex_lock(&a->mutex);
    a->state = ATTEMPT_COMPLETED;
    a->metadata_bytes = encoded.len;
    mutex_unlock(&a->mutex);
    if (a->place == ATTEMPT_CHECKPOINT) {
        mutex_lock(&s->mutex);
        shared_registry_attempt_completed(s->registry, a->checkpoint_id);
        mutex_unlock(&s->mutex);
        if (s->copies != NULL)
            local_copies_completed(s->copies, a->checkpoint_id);
    }
out:
    buf_release(&encoded);
    return rc == RC_OK ? RC_OK
                       : err_wrap(err, rc, "complete checkpoint %" PRIu64, a->checkpoint_id);
}

/* Hide, release, remove: in this order, and the next only after the one before. */
static enum rc discard_attempt(struct storage_attempt *a, bool hide, bool remove, struct err *err)
{
    struct storage *s = a->storage;
    bool reserved = a->place == ATTEMPT_CHECKPOINT;

    if (reserved && s->copies != NULL)
        local_copies_aborted(s->copies, a->checkpoint_id);
    if (hide) {
        enum rc rc = storage_may_delete(s, a->dir, err);

        if (rc == RC_OK)
            rc = snapshot_dir_hide(s->env.fs, a->dir, err);
        if (rc != RC_OK) {
            storage_note_undone(s, a->dir, a->checkpoint_id, reserved, true);
            return rc;
        }
    }
    if (reserved)
        storage_release_uses(s, a->checkpoint_id, true);
    return remove ? remove_attempt_dir(a, err) : RC_OK;
}

enum rc storage_attempt_abort(struct storage_attempt *a, struct err *err)
{
    bool hide, remove;
    enum rc rc;

    mutex_lock(&a->mutex);
    if (a->state != ATTEMPT_RUNNING) {
        mutex_unlock(&a->mutex);
        return RC_OK;
    }
    a->state = ATTEMPT_ABORTED;
    hide = a->metadata_tried;
    remove = a->place != ATTEMPT_MEMORY && a->target_count == 0;
    /* With targets still out the directory stays until the last one is back, unless _metadata may
     * be in it: then the retry removes all at once, which is no worse, since stragglers see
     * RC_CANCELLED. */
    a->dir_left = a->place != ATTEMPT_MEMORY && !remove;
    mutex_unlock(&a->mutex);
    rc = discard_attempt(a, hide, remove, err);
    return rc == RC_OK ? RC_OK : err_wrap(err, rc, "abort checkpoint %" PRIu64, a->checkpoint_id);
}

/* ---- shared files --------------------------------------------------------------------------- */

/* Reserve, and wait out a deletion of that very name. */
static enum rc reserve(struct storage_attempt *a, const char *name, uint64_t size_bytes,
                       struct digest128 digest, enum shared_answer *answer, struct err *err)
{
    struct storage *s = a->storage;

    for (;;) {
        enum rc rc;

        mutex_lock(&s->mutex);
        rc = shared_registry_reserve(s->registry, a->checkpoint_id, name, size_bytes, digest,
                                     answer, err);
        mutex_unlock(&s->mutex);
        if (rc != RC_OK || *answer != SHARED_WAIT)
            return rc;
        clock_sleep_ns(s->env.clock, WAIT_STEP_NS);
    }
}

static enum rc publish_reserved(struct storage_attempt *a, const char *local_path, const char *name,
                                uint64_t size_bytes, struct digest128 digest, bool *new_bytes,
                                struct err *err)
{
    struct storage *s = a->storage;
    enum shared_answer answer;
    enum transfer_how how;
    enum rc rc;

    *new_bytes = false;
    atomic_store(&a->places_files, true);
    RETURN_IF_ERR(reserve(a, name, size_bytes, digest, &answer, err));
    if (answer == SHARED_PRESENT)
        return RC_OK;
    rc = storage_check_lock(s, true, err);
    if (rc == RC_OK)
        rc = transfer_place(&s->to_shared, local_path, name, size_bytes, digest, &how, err);
    mutex_lock(&s->mutex);
    if (rc == RC_OK)
        shared_registry_published(s->registry, name);
    else
        shared_registry_publish_failed(s->registry, name);
    mutex_unlock(&s->mutex);
    if (rc == RC_OK)
        *new_bytes = how != TRANSFER_FOUND;
    return rc;
}

static enum rc take_memory(struct attempt_target *t, uint64_t size_bytes, struct err *err)
{
    uint64_t limit = t->attempt->storage->memory_state_limit_bytes;
    uint64_t total = atomic_fetch_add(&t->memory_bytes, size_bytes) + size_bytes;

    if (total <= limit)
        return RC_OK;
    return err_set(err, RC_LIMIT,
                   "state of %s: %" PRIu64 " bytes or more exceed the limit of jobmanager "
                   "checkpoint storage, %" PRIu64
                   " bytes for each state; set execution.checkpointing.dir "
                   "to keep checkpoints in files",
                   t->owner, total, limit);
}

/* The whole local file as inline content. */
static enum rc read_inline(struct attempt_target *t, struct arena *arena, const char *local_path,
                           struct state_file *out, struct err *err)
{
    struct buf content = {0};
    enum rc rc;

    GOTO_IF_ERR(take_memory(t, out->size_bytes, err));
    GOTO_IF_ERR(fs_read_all(t->attempt->storage->env.fs, local_path, (size_t)out->size_bytes,
                            &content, err));
    if (content.len != out->size_bytes || !digest_eq(digest_of(buf_bytes(&content)), out->digest))
        GOTO_IF_ERR(err_set(err, RC_CORRUPT, "%s: changed since its digest was taken", local_path));
    out->inline_bytes = arena_bytes_copy(arena, buf_bytes(&content));
    out->newly_written = true;
out:
    buf_release(&content);
    return rc;
}

static enum rc target_publish_shared(struct snapshot_target *target, struct arena *arena,
                                     const char *local_path, uint64_t size_bytes,
                                     struct digest128 digest, struct state_file *out,
                                     struct err *err)
{
    struct attempt_target *t = target_of(target);
    struct storage_attempt *a = t->attempt;
    char name[LAYOUT_NAME_MAX];
    enum transfer_how how;

    RETURN_IF_ERR(check_running(a, err));
    *out = (struct state_file){.local_name = "", .size_bytes = size_bytes, .digest = digest};
    layout_shared_name(digest, name);
    switch (a->place) {
    case ATTEMPT_MEMORY:
        out->scope = FILE_INLINE;
        return read_inline(t, arena, local_path, out, err);
    case ATTEMPT_SAVEPOINT:
        out->scope = FILE_EXCLUSIVE;
        out->path = arena_strdup(arena, name);
        out->resolved_path = arena_printf(arena, "%s/%s", a->dir, name);
        atomic_store(&a->places_files, true);
        RETURN_IF_ERR(
            transfer_place(&a->to_dir, local_path, name, size_bytes, digest, &how, err));
        out->newly_written = true;
        return RC_OK;
    case ATTEMPT_CHECKPOINT:
        break;
    }
    out->scope = FILE_SHARED;
    out->path = arena_printf(arena, LAYOUT_SHARED_PREFIX "%s", name);
    out->resolved_path = arena_printf(arena, "%s/%s", a->storage->shared_dir, name);
    if (a->storage->copies != NULL)
        local_copies_add(a->storage->copies, a->checkpoint_id, local_path, name);
    return publish_reserved(a, local_path, name, size_bytes, digest, &out->newly_written, err);
}

/* ---- exclusive files ------------------------------------------------------------------------ */

static enum rc target_stream_open(struct snapshot_target *target, struct snapshot_stream **out,
                                  struct err *err)
{
    struct snapshot_stream *stream;

    *out = NULL;
    RETURN_IF_ERR(check_running(target_of(target)->attempt, err));
    stream = mem_calloc(1, sizeof *stream);
    stream->target = target_of(target);
    stream->digest = digest_stream_new();
    *out = stream;
    return RC_OK;
}

static void target_stream_abort(struct snapshot_stream *stream)
{
    if (stream == NULL)
        return;
    fs_abandon(&stream->file); /* what was written goes with the attempt's directory */
    buf_release(&stream->buffer);
    digest_stream_free(stream->digest);
    mem_free(stream);
}

static enum rc stream_create_file(struct snapshot_stream *stream, struct err *err)
{
    struct storage_attempt *a = stream->target->attempt;
    char path[FS_PATH_MAX];
    uint64_t index;

    mutex_lock(&a->mutex);
    index = a->next_exclusive++;
    mutex_unlock(&a->mutex);
    layout_exclusive_name(index, stream->name);
    RETURN_IF_ERR(path_join(path, sizeof path, a->dir, stream->name, err));
    return fs_create(a->storage->env.fs, path, &stream->file, err);
}

/* Move the buffer into the file. */
static enum rc stream_spill(struct snapshot_stream *stream, struct err *err)
{
    RETURN_IF_ERR(check_running(stream->target->attempt, err));
    if (stream->file == NULL)
        RETURN_IF_ERR(stream_create_file(stream, err));
    RETURN_IF_ERR(fs_append(stream->file, buf_bytes(&stream->buffer), err));
    stream->written_bytes += stream->buffer.len;
    buf_clear(&stream->buffer);
    return RC_OK;
}

static enum rc target_stream_append(struct snapshot_stream *stream, struct bytes data,
                                    struct err *err)
{
    struct storage_attempt *a = stream->target->attempt;
    const struct storage *s = a->storage;
    uint64_t keep = s->inline_threshold_bytes > s->write_buffer_bytes ? s->inline_threshold_bytes
                                                                      : s->write_buffer_bytes;

    if (a->place == ATTEMPT_MEMORY)
        RETURN_IF_ERR(take_memory(stream->target, data.len, err));
    digest_stream_add(stream->digest, data);
    buf_append(&stream->buffer, data.data, data.len);
    if (a->place != ATTEMPT_MEMORY && stream->buffer.len > keep)
        return stream_spill(stream, err);
    return RC_OK;
}

/* Content, then name (C2). */
static enum rc stream_close_file(struct snapshot_stream *stream, struct err *err)
{
    struct storage_attempt *a = stream->target->attempt;

    RETURN_IF_ERR(stream_spill(stream, err));
    RETURN_IF_ERR(fs_sync(stream->file, err));
    RETURN_IF_ERR(fs_close(&stream->file, err));
    return fs_sync_dir(a->storage->env.fs, a->dir, err);
}

static enum rc target_stream_finish(struct snapshot_stream *stream, struct arena *arena,
                                    struct state_file *out, struct err *err)
{
    struct storage_attempt *a = stream->target->attempt;
    enum rc rc = RC_OK;

    *out = (struct state_file){
        .local_name = "",
        .size_bytes = stream->written_bytes + stream->buffer.len,
        .digest = digest_stream_end(stream->digest),
        .newly_written = true,
    };
    if (stream->file == NULL &&
        (a->place == ATTEMPT_MEMORY || stream->buffer.len <= a->storage->inline_threshold_bytes)) {
        out->scope = FILE_INLINE;
        out->inline_bytes = arena_bytes_copy(arena, buf_bytes(&stream->buffer));
    } else {
        rc = stream_close_file(stream, err);
        out->scope = FILE_EXCLUSIVE;
        out->path = arena_strdup(arena, stream->name);
        out->resolved_path = arena_printf(arena, "%s/%s", a->dir, stream->name);
    }
    if (rc != RC_OK)
        err_wrap(err, rc, "state of %s", stream->target->owner);
    target_stream_abort(stream); /* frees; the file is closed */
    return rc;
}

static enum rc target_publish_exclusive(struct snapshot_target *target, struct arena *arena,
                                        struct bytes content, struct state_file *out,
                                        struct err *err)
{
    struct snapshot_stream *stream;
    enum rc rc;

    RETURN_IF_ERR(target_stream_open(target, &stream, err));
    rc = target_stream_append(stream, content, err);
    if (rc == RC_OK)
        return target_stream_finish(stream, arena, out, err);
    target_stream_abort(stream);
    return rc;
}

/* ---- targets -------------------------------------------------------------------------------- */

static bool target_cancelled(struct snapshot_target *target)
{
    return !is_running(target_of(target)->attempt);
}

/* ---- logs ----------------------------------------------------------------------------------- */

/* Its task holds it, so it is known to be there until the attempt's use of it counts. */
static enum rc reserve_log(struct storage_attempt *a, const char *name, const struct state_file *log,
                           struct err *err)
{
    enum shared_answer answer;

    RETURN_IF_ERR(reserve(a, name, log->size_bytes, log->digest, &answer, err));
    if (answer == SHARED_PRESENT)
        return RC_OK;
    mutex_lock(&a->storage->mutex);
    shared_registry_publish_failed(a->storage->registry, name);
    mutex_unlock(&a->storage->mutex);
    return err_set(err, RC_NOT_FOUND, "log %s: nobody holds it", name);
}

static enum rc target_publish_log(struct snapshot_target *target, struct arena *arena,
                                  struct state_file *log, struct err *err)
{
    struct attempt_target *t = target_of(target);
    struct storage_attempt *a = t->attempt;
    const char *name = arena_strdup(arena, path_base(log->resolved_path));
    enum transfer_how how;

    ASSERT(layout_is_log(name));
    RETURN_IF_ERR(check_running(a, err));
    log->local_name = "";
    switch (a->place) {
    case ATTEMPT_MEMORY:
        return err_set(err, RC_UNSUPPORTED,
                       "state of %s: jobmanager checkpoint storage keeps no logs; set "
                       "execution.checkpointing.dir",
                       t->owner);
    case ATTEMPT_SAVEPOINT:
        atomic_store(&a->places_files, true);
        RETURN_IF_ERR(transfer_place(&a->to_dir, log->resolved_path, name, log->size_bytes,
                                     log->digest, &how, err));
        log->scope = FILE_EXCLUSIVE;
        log->path = name;
        log->resolved_path = arena_printf(arena, "%s/%s", a->dir, name);
        log->newly_written = true;
        return RC_OK;
    case ATTEMPT_CHECKPOINT:
        break;
    }
    RETURN_IF_ERR(reserve_log(a, name, log, err));
    log->scope = FILE_TASKOWNED;
    log->path = arena_printf(arena, LAYOUT_LOG_PREFIX "%s", name);
    return RC_OK;
}

static const struct snapshot_target_ops target_ops = {
    .publish_shared = target_publish_shared,
    .publish_exclusive = target_publish_exclusive,
    .stream_open = target_stream_open,
    .stream_append = target_stream_append,
    .stream_finish = target_stream_finish,
    .stream_abort = target_stream_abort,
    .publish_log = target_publish_log,
    .cancelled = target_cancelled,
};

struct snapshot_target *storage_attempt_target(struct storage_attempt *a, const char *owner)
{
    struct attempt_target *t = mem_calloc(1, sizeof *t);

    t->base.ops = &target_ops;
    t->base.far = a->place != ATTEMPT_MEMORY && path_is_remote(a->dir);
    t->attempt = a;
    t->owner = mem_strdup(owner);
    mutex_lock(&a->mutex);
    ASSERT(!a->freed);
    a->target_count++;
    mutex_unlock(&a->mutex);
    return &t->base;
}

/*
 * The last target out of an aborted attempt takes the directory along. It counts until that is
 * done: whoever frees the attempt meanwhile leaves it to this target.
 */
static void drop_target(struct storage_attempt *a)
{
    struct err err = {0};
    bool last;

    mutex_lock(&a->mutex);
    ASSERT(a->target_count > 0);
    if (a->dir_left && a->target_count == 1) {
        a->dir_left = false;
        mutex_unlock(&a->mutex);
        if (remove_attempt_dir(a, &err) != RC_OK)
            log_line(a->storage->env.log, LOG_WARN,
                     "aborted checkpoint not removed yet id=%" PRIu64 " reason=\"%s\"",
                     a->checkpoint_id, err.msg);
        mutex_lock(&a->mutex);
    }
    a->target_count--;
    last = a->freed && a->target_count == 0;
    mutex_unlock(&a->mutex);
    if (last)
        attempt_destroy(a);
}

void storage_target_release(struct snapshot_target *target)
{
    struct attempt_target *t;

    if (target == NULL)
        return;
    t = target_of(target);
    drop_target(t->attempt);
    mem_free(t->owner);
    mem_free(t);
}
