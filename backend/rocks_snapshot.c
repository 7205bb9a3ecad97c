/* rocks_snapshot.c - a snapshot of the rocksdb backend: flush the closed epoch, take an image of
 * the database by hard links, hand its files over. After: RocksIncrementalSnapshotStrategy
 * (flink-state-backend-rocksdb).
 *
 *     begin (task)          the epoch is closed; from now on only this snapshot may write to the
 *                           database
 *     take, or write  (a)(b) dirty rows of each state, through the flusher
 *                     (c)   rocks_checkpoint into chk-<n>/; other writes may go on, and another
 *                           snapshot may begin
 *     write           (d)   per file: its digest, unless known; SSTs are shared, MANIFEST and CURRENT
 *                           exclusive. One snapshot at a time
 */
#include "backend/rocks_backend_priv.h"

#include <stdio.h>
#include <stdlib.h>

#define WHOLE_SHARE 2u /* a half */

/* A state that is all in memory and has changed in half of it is written anew and takes its files'
 * place: a run of every row costs less than a run of those and the compactions that follow it. */
static bool is_written_whole(const struct core_state *s, const struct row_cache_stats *stats)
{
    uint64_t live = stats->rows - stats->tombstones;

    return below_of(s)->complete && below_of(s)->written && s->ttl.ttl_ms == 0 && s->cursors == 0 &&
           live >= ROWS_MANY && stats->dirty >= live / WHOLE_SHARE;
}

enum rc rocks_snapshot_begin(struct keyed_backend *backend, uint64_t checkpoint_id,
                             struct keyed_snapshot **out, struct err *err)
{
    struct rocks_backend *b = rocks_of(backend);
    struct rocks_snapshot *s;

    RETURN_IF_ERR(rocks_usable(b, err));
    mutex_lock(&b->mutex);
    ASSERT(!b->epoch_closed);
    b->epoch_closed = true;
    mutex_unlock(&b->mutex);
    s = mem_calloc(1, sizeof *s);
    s->base.backend = backend;
    s->checkpoint_id = checkpoint_id;
    s->now_ms = core_ttl_now(&b->core);
    s->state_count = b->core.state_count;
    s->states = mem_alloc(s->state_count * sizeof *s->states);
    row_group_retire(b->core.rows); /* the last one's, if no batch came since */
    for (size_t i = 0; i < s->state_count; i++) {
        struct row_cache_stats stats;

        s->states[i] = b->core.states[i];
        row_cache_stats(s->states[i]->cache, &stats);
        if (stats.dirty > 0)
            below_of(s->states[i])->written = true;
        s->deltas = s->deltas || below_of(s->states[i])->deltas;
        if (is_written_whole(s->states[i], &stats))
            row_cache_close_whole(s->states[i]->cache);
    }
    row_group_close(b->core.rows);
    b->core.snapshot = &s->base;
    *out = &s->base;
    return RC_OK;
}

static enum rc flush_state(struct rocks_backend *b, struct core_state *s, int64_t now_ms,
                           struct err *err)
{
    struct row_snapshot *rows;
    enum rc rc = RC_OK;

    flusher_begin(b->flusher);
    rows = row_snapshot_new(s->cache, true);
    if (row_snapshot_rows(rows)->rows_max > 0)
        rc = rocks_flush_rows(b, s, row_snapshot_rows(rows), now_ms, err);
    row_snapshot_free(rows);
    flusher_end(b->flusher);
    return rc;
}

static enum rc flush_epoch(struct rocks_backend *b, struct rocks_snapshot *s, struct err *err)
{
    for (size_t i = 0; i < s->state_count; i++)
        RETURN_IF_ERR(flush_state(b, s->states[i], s->now_ms, err));
    row_snapshot_done(b->core.rows);
    return RC_OK;
}

static enum rc image_dir(const struct rocks_backend *b, const struct rocks_snapshot *s,
                         char out[FS_PATH_MAX], struct err *err)
{
    char name[32];

    snprintf(name, sizeof name, "chk-%llu", (unsigned long long)s->checkpoint_id);
    return path_join(out, FS_PATH_MAX, b->local_dir, name, err);
}

/* (a) to (c). */
static enum rc make_image(struct rocks_backend *b, struct rocks_snapshot *s, struct err *err)
{
    char dir[FS_PATH_MAX];
    enum rc rc = flush_epoch(b, s, err);

    if (rc != RC_OK) {
        rocks_break(b, rc, "an earlier flush failed", err);
        return rc;
    }
    RETURN_IF_ERR(image_dir(b, s, dir, err));
    RETURN_IF_ERR(fs_remove_tree(b->core.env->fs, dir, err)); /* of an earlier try under this id */
    RETURN_IF_ERR(rocks_checkpoint(b->db, dir, err));
    /* After the image: a compaction may have gone by a later time than the flush. */
    s->ttl_clock_ms = ttl_clock_seen(&b->core.ttl);
    if (s->ttl_clock_ms == INT64_MIN)
        s->ttl_clock_ms = 0;
    return RC_OK;
}

/* Other writes may enter the database again; this snapshot does not look at rows any more. */
static void release_epoch_locked(struct rocks_backend *b)
{
    b->epoch_closed = false;
    cond_broadcast(&b->flushed);
}

enum rc rocks_take_image(struct rocks_backend *b, struct rocks_snapshot *s, struct err *err)
{
    struct err failed = {0};
    enum rc rc;

    mutex_lock(&b->mutex);
    while (s->image == IMAGE_UNDER_WAY)
        cond_wait(&b->flushed, &b->mutex);
    if (s->image == IMAGE_OPEN) {
        s->image = IMAGE_UNDER_WAY;
        mutex_unlock(&b->mutex);
        rc = make_image(b, s, &failed);
        mutex_lock(&b->mutex);
        s->image = rc == RC_OK ? IMAGE_TAKEN : IMAGE_FAILED;
        s->image_err = failed;
        release_epoch_locked(b);
    }
    rc = s->image == IMAGE_TAKEN ? RC_OK : err_set(err, s->image_err.rc, "%s", s->image_err.msg);
    mutex_unlock(&b->mutex);
    return rc;
}

/* Old rows that nobody reads leave the database in the background. Failing costs only room. */
static void look_for_expired(struct rocks_backend *b, const struct rocks_snapshot *s)
{
    struct err err = {0};
    enum rc rc = RC_OK;

    rocks_expire_begin(b->expire, ttl_clock_seen(&b->core.ttl));
    for (size_t i = 0; rc == RC_OK && i < s->state_count; i++) {
        if (s->states[i]->ttl.ttl_ms != 0)
            rc = rocks_expire_look(b->expire, below_of(s->states[i])->cf,
                                   s->states[i]->ttl.ttl_ms, &err);
    }
    if (rc != RC_OK)
        log_line(b->core.env->log, LOG_WARN, "files not looked at for expired rows error=\"%s\"",
                 err.msg);
    rocks_expire_end(b->expire, ttl_clock_seen(&b->core.ttl));
}

/* ---- files of an image ----------------------------------------------------------------------- */

/* An SST of the image. */
struct sst {
    uint64_t size_bytes;
    struct digest128 digest;
    bool known; /* the digest */
};
struct image {
    struct rocks_backend *backend;
    struct snapshot_target *target;
    const char *dir;
    char **names;
    size_t name_count;
    struct sst *ssts; /* the first sst_count names */
    size_t sst_count;
    struct state_file *files;
    size_t file_count;
    struct mutex mutex; /* several threads fill in what is in the arena */
    struct arena *arena GUARDED_BY(mutex);
};

static bool has_suffix(const char *s, const char *suffix)
{
    size_t n = strlen(s), m = strlen(suffix);

    return n >= m && strcmp(s + n - m, suffix) == 0;
}

static enum rc note_name(void *ctx, const char *name, struct err *err)
{
    struct image *im = ctx;

    (void)err;
    if (strncmp(name, "OPTIONS-", 8) == 0)
        return RC_OK; /* not part of a checkpoint: restores use their own options */
    im->names = mem_realloc(im->names, (im->name_count + 1) * sizeof *im->names);
    im->names[im->name_count++] = mem_strdup(name);
    return RC_OK;
}

static enum rc check_cancelled(const struct image *im, size_t done, struct err *err)
{
    if (!im->target->ops->cancelled(im->target))
        return RC_OK;
    return err_set(err, RC_CANCELLED, "snapshot given up after %zu files", done);
}

/* What is known of each; *fresh: how many have no digest yet. */
static enum rc look_at_ssts(struct image *im, size_t *fresh, struct err *err)
{
    *fresh = 0;
    for (size_t i = 0; i < im->sst_count; i++) {
        struct sst *f = &im->ssts[i];
        char path[FS_PATH_MAX];
        struct fs_stat st;

        RETURN_IF_ERR(path_join(path, sizeof path, im->dir, im->names[i], err));
        RETURN_IF_ERR(fs_stat(im->backend->core.env->fs, path, &st, err));
        f->size_bytes = st.size_bytes;
        f->known =
            incremental_find(im->backend->known, im->names[i], st.size_bytes, &f->digest);
        *fresh += !f->known;
    }
    return RC_OK;
}

/* On any thread. */
static enum rc publish_sst(void *ctx, size_t i, struct err *err)
{
    struct image *im = ctx;
    struct sst *f = &im->ssts[i];
    struct arena *own = arena_new(512);
    struct state_file published;
    char path[FS_PATH_MAX];
    enum rc rc;

    GOTO_IF_ERR(check_cancelled(im, i, err));
    GOTO_IF_ERR(path_join(path, sizeof path, im->dir, im->names[i], err));
    if (!f->known)
        GOTO_IF_ERR(digest_file(im->backend->core.env->fs, path, &f->digest, &f->size_bytes, err));
    GOTO_IF_ERR(im->target->ops->publish_shared(im->target, own, path, f->size_bytes, f->digest,
                                                &published, err));
    published.local_name = im->names[i];
    mutex_lock(&im->mutex);
    state_file_copy(im->arena, &published, &im->files[i]);
    mutex_unlock(&im->mutex);
out:
    arena_free(own);
    return rc;
}

/* Files that are digested or sent are so several at a time; for those that are there already a
 * thread costs more than it saves. */
static enum rc publish_ssts(struct image *im, struct err *err)
{
    struct fan_out *fan = im->backend->core.env->fan;
    size_t fresh;

    RETURN_IF_ERR(look_at_ssts(im, &fresh, err));
    RETURN_IF_ERR(
        fan_out_run(fresh > 1 || im->target->far ? fan : NULL, im->sst_count, publish_sst, im, err));
    for (size_t i = 0; i < im->sst_count; i++)
        if (!im->ssts[i].known)
            incremental_add(im->backend->known, im->names[i], im->ssts[i].size_bytes,
                            im->ssts[i].digest);
    im->file_count = im->sst_count;
    return RC_OK;
}

static enum rc publish_small(struct image *im, const char *name, const char *path, struct err *err)
{
    struct fs *fs = im->backend->core.env->fs;
    struct state_file *f = &im->files[im->file_count];
    struct buf content = {0};
    enum rc rc;

    GOTO_IF_ERR(fs_read_all(fs, path, ROCKS_SMALL_FILE_BYTES_MAX, &content, err));
    if (content.len == 0 && has_suffix(name, ".log"))
        goto out; /* an empty log: nothing was ever written to it */
    if (has_suffix(name, ".log")) {
        rc = err_set(err, RC_STATE, "%s: %zu bytes, though the log is off", path, content.len);
        goto out;
    }
    GOTO_IF_ERR(
        im->target->ops->publish_exclusive(im->target, im->arena, buf_bytes(&content), f, err));
    f->local_name = arena_strdup(im->arena, name);
    im->file_count++;
out:
    buf_release(&content);
    return rc;
}

static enum rc publish_smalls(struct image *im, struct err *err)
{
    for (size_t i = im->sst_count; i < im->name_count; i++) {
        char path[FS_PATH_MAX];

        RETURN_IF_ERR(check_cancelled(im, im->file_count, err));
        RETURN_IF_ERR(path_join(path, sizeof path, im->dir, im->names[i], err));
        RETURN_IF_ERR(publish_small(im, im->names[i], path, err));
    }
    return RC_OK;
}

/* SSTs first. */
static int compare_names(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    int rest_x = !has_suffix(x, ".sst"), rest_y = !has_suffix(y, ".sst");

    return rest_x != rest_y ? rest_x - rest_y : strcmp(x, y);
}

/* CURRENT names the MANIFEST of the image: without both nothing opens. */
static enum rc check_image(const struct image *im, struct err *err)
{
    size_t manifests = 0, currents = 0;

    for (size_t i = 0; i < im->name_count; i++) {
        manifests += strncmp(im->names[i], "MANIFEST-", 9) == 0;
        currents += strcmp(im->names[i], "CURRENT") == 0;
    }
    if (manifests != 1 || currents != 1)
        return err_set(err, RC_IO, "%s: %zu MANIFEST and %zu CURRENT files", im->dir, manifests,
                       currents);
    return RC_OK;
}

static enum rc publish_image(struct rocks_backend *b, const char *dir,
                             struct snapshot_target *target, struct arena *arena,
                             struct keyed_handle *out, struct err *err) NO_THREAD_SAFETY
{
    struct image im = {.backend = b, .target = target, .arena = arena, .dir = dir};
    enum rc rc;

    mutex_init(&im.mutex);
    GOTO_IF_ERR(fs_list(b->core.env->fs, dir, note_name, &im, err));
    GOTO_IF_ERR(check_image(&im, err));
    qsort(im.names, im.name_count, sizeof *im.names, compare_names);
    while (im.sst_count < im.name_count && has_suffix(im.names[im.sst_count], ".sst"))
        im.sst_count++;
    im.ssts = mem_calloc(im.sst_count, sizeof *im.ssts);
    im.files = ARENA_ARRAY(arena, im.name_count, struct state_file);
    incremental_begin(b->known);
    GOTO_IF_ERR(publish_ssts(&im, err));
    GOTO_IF_ERR(publish_smalls(&im, err));
    incremental_end(b->known);
    out->files = im.files;
    out->file_count = im.file_count;
out:
    for (size_t i = 0; i < im.name_count; i++)
        mem_free(im.names[i]);
    mem_free(im.names);
    mem_free(im.ssts);
    mutex_release(&im.mutex);
    return rc;
}

/* (d) */
static enum rc hand_over(struct rocks_backend *b, const struct rocks_snapshot *s,
                         struct snapshot_target *target, struct arena *arena,
                         struct keyed_handle *out, struct err *err)
{
    char dir[FS_PATH_MAX];
    enum rc rc;

    RETURN_IF_ERR(warmup_wait_proven(b->warmup, err));
    RETURN_IF_ERR(image_dir(b, s, dir, err));
    mutex_lock(&b->publish_mutex);
    look_for_expired(b, s);
    rc = publish_image(b, dir, target, arena, out, err);
    mutex_unlock(&b->publish_mutex);
    return rc;
}

static void drop_image(struct rocks_backend *b, const struct rocks_snapshot *s)
{
    char dir[FS_PATH_MAX];
    struct err err = {0};

    if (image_dir(b, s, dir, &err) != RC_OK || fs_remove_tree(b->core.env->fs, dir, &err) != RC_OK)
        log_line(b->core.env->log, LOG_WARN, "local checkpoint not removed error=\"%s\"", err.msg);
}

enum rc rocks_snapshot_write(struct keyed_snapshot *snapshot, struct snapshot_target *target,
                             struct arena *arena, struct keyed_handle *out, struct err *err)
{
    struct rocks_backend *b = rocks_of(snapshot->backend);
    struct rocks_snapshot *s = (struct rocks_snapshot *)snapshot;
    enum rc rc;

    core_write_begins(&b->core);
    *out = (struct keyed_handle){
        .kind = KEYED_ROCKS,
        .range = b->core.range,
        .key_group_count = b->core.key_group_count,
        .backend_id = arena_strdup(arena, b->core.backend_id),
        .state_count = s->state_count,
        .states = core_describe(&b->core, s->state_count, arena),
    };
    GOTO_IF_ERR(rocks_take_image(b, s, err));
    out->ttl_clock_ms = s->ttl_clock_ms;
    GOTO_IF_ERR(hand_over(b, s, target, arena, out, err));
out:
    drop_image(b, s);
    if (rc != RC_OK)
        err_wrap(err, rc, "snapshot of %s", b->core.name);
    core_write_ends(&b->core); /* the last look at the backend: it may be closed now */
    return rc;
}

bool rocks_may_snapshot(struct keyed_backend *backend)
{
    return !rocks_epoch_is_closed(rocks_of(backend));
}

enum rc rocks_snapshot_take(struct keyed_snapshot *snapshot, struct err *err)
{
    struct rocks_backend *b = rocks_of(snapshot->backend);
    enum rc rc;

    core_write_begins(&b->core);
    rc = rocks_take_image(b, (struct rocks_snapshot *)snapshot, err);
    if (rc != RC_OK)
        err_wrap(err, rc, "snapshot of %s", b->core.name);
    core_write_ends(&b->core);
    return rc;
}

/* The newest, whose epoch may still be closed. */
static void give_rows_back(struct rocks_backend *b)
{
    mutex_lock(&b->mutex);
    release_epoch_locked(b); /* when nobody needed it */
    mutex_unlock(&b->mutex);
    row_group_retire(b->core.rows);
    b->core.snapshot = NULL;
}

void rocks_snapshot_free(struct keyed_snapshot *snapshot)
{
    struct rocks_backend *b = rocks_of(snapshot->backend);
    struct rocks_snapshot *s = (struct rocks_snapshot *)snapshot;
    struct err ignored = {0}; /* then the backend is broken and says so */

    /* Deltas that changed since have begun anew: the epoch cannot be taken back. */
    if (s->deltas && s->image == IMAGE_OPEN && !b->closing)
        (void)!rocks_take_image(b, s, &ignored);
    if (s->image == IMAGE_TAKEN)
        drop_image(b, s); /* when it was never written */
    if (b->core.snapshot == snapshot)
        give_rows_back(b);
    mem_free(s->states);
    mem_free(s);
}
