/* file_sink.c - the file sink: rows into part files, parts into view when their checkpoint is
 * complete; see sink.h.
 *
 * Keeps: C7 (committer), C8 (part_file, recovery). Before prepare returns, content and hidden name
 * of every part it hands out are durable; a rename is durable before its part leaves the state.
 * Thread: the task's. After: FileSink, FileWriter, FileWriterBucket, StreamingFileSink (Flink).
 */
#include "sink/bucket.h"
#include "sink/committer.h"
#include "sink/dir_set.h"
#include "sink/part_recovery.h"

#include <stdio.h>

#define OPEN_PARTS_DEFAULT 256
#define NAME_TRIES 1000 /* taken names that are skipped */

struct file_sink {
    struct sink sink;
    struct file_sink_config config; /* strings are ours */
    struct arena *arena;            /* of the above */
    struct rng rng;                 /* for hidden names */
    struct bucket_table buckets;
    struct committer *committer;
    struct dir_set new_names; /* directories with hidden names that are not durable yet */
    uint64_t next_counter;
    struct sink_stats stats;
    bool failed; /* only abort is left */
};

/* ---- parts ----------------------------------------------------------------------------------- */

static enum rc remember_dir(struct file_sink *s, const struct part_record *r, struct err *err)
{
    char dir[FS_PATH_MAX];

    RETURN_IF_ERR(part_dir(r, NULL, dir, err));
    dir_set_add(&s->new_names, dir);
    return RC_OK;
}

/* A new hidden file below `base`, named after this run. */
static enum rc create_part(struct file_sink *s, const char *base, const char *bucket,
                           int64_t now_wall_ms, struct part_file **out, struct err *err)
{
    char name[PART_NAME_MAX], temp_name[PART_NAME_MAX], uuid[UUID_LEN + 1], dir[FS_PATH_MAX];
    struct part_record r = {.base = base,
                            .bucket = bucket,
                            .name = name,
                            .temp_name = temp_name,
                            .created_wall_ms = now_wall_ms,
                            .last_write_wall_ms = now_wall_ms};
    struct err why;
    enum rc rc;

    RETURN_IF_ERR(part_dir(&r, NULL, dir, err));
    if (bucket[0] != '\0')
        RETURN_IF_ERR(fs_mkdirs(s->config.env->fs, dir, err));
    for (int i = 0; i < NAME_TRIES; i++) {
        part_name_make(s->config.uuid, s->config.subtask_index, s->next_counter++, name);
        rng_uuid(&s->rng, uuid);
        part_temp_name_make(name, uuid, temp_name);
        why = (struct err){0};
        rc = part_file_create(s->config.env->fs, &r, out, &why);
        if (rc != RC_EXISTS)
            break;
    }
    if (rc != RC_OK)
        return err_set(err, rc, "%s", why.msg);
    dir_set_add(&s->new_names, dir);
    return RC_OK;
}

/* Close a part: it waits for a checkpoint from here on. */
static enum rc finish_part(struct file_sink *s, struct part_file *part, struct err *err)
{
    struct arena *arena = arena_new(1024);
    struct part_record record;
    enum rc rc = part_file_finish(part, arena, &record, err);

    if (rc == RC_OK)
        committer_add(s->committer, &record);
    arena_free(arena);
    return rc;
}

static enum rc finish_bucket(struct file_sink *s, uint32_t i, struct err *err)
{
    return finish_part(s, bucket_remove(&s->buckets, i), err);
}

/* The open part of a bucket; a new one when there is none or the policy wants the present one
 * closed. */
static enum rc part_for(struct file_sink *s, struct bytes bucket, int64_t now_wall_ms,
                        struct part_file **out, struct err *err)
{
    uint32_t i = bucket_find(&s->buckets, bucket);
    char path[FS_PATH_MAX];

    if (i < s->buckets.count) {
        struct part_age age = part_file_age(s->buckets.list[i].part);

        *out = s->buckets.list[i].part;
        if (!rolling_on_write(&s->config.rolling, &age))
            return RC_OK;
        RETURN_IF_ERR(finish_bucket(s, i, err));
    }
    if (!bucket_path_valid(bucket))
        return err_set(err, RC_INVALID, "\"%.*s\" is no directory below the sink's",
                       (int)(bucket.len > 200 ? 200 : bucket.len), (const char *)bucket.data);
    if (s->buckets.count >= s->config.max_open_parts)
        RETURN_IF_ERR(finish_bucket(s, bucket_idlest(&s->buckets), err));
    if (bucket.len > 0)
        memcpy(path, bucket.data, bucket.len); /* valid: shorter than FS_PATH_MAX */
    path[bucket.len] = '\0';
    RETURN_IF_ERR(create_part(s, s->config.path, path, now_wall_ms, out, err));
    bucket_add(&s->buckets, bucket, *out);
    return RC_OK;
}

/* ---- the contract ---------------------------------------------------------------------------- */

static struct file_sink *self(struct sink *sink)
{
    return (struct file_sink *)sink;
}

/* Every failure but a failed commit leaves parts in doubt: the state they are in is the last
 * checkpoint's to say. */
static enum rc fail(struct file_sink *s, enum rc rc, struct err *err)
{
    s->failed = true;
    return err_wrap(err, rc, "%s", s->config.name);
}

static enum rc check_usable(const struct file_sink *s, struct err *err)
{
    return s->failed ? err_set(err, RC_STATE, "%s: failed before", s->config.name) : RC_OK;
}

static enum rc file_sink_write(struct sink *sink, struct bytes bucket, struct bytes data,
                               uint64_t row_count, int64_t now_wall_ms, struct err *err)
{
    struct file_sink *s = self(sink);
    struct part_file *part;
    enum rc rc;

    RETURN_IF_ERR(check_usable(s, err));
    if (data.len == 0 && row_count == 0)
        return RC_OK;
    rc = part_for(s, bucket, now_wall_ms, &part, err);
    if (rc == RC_OK)
        rc = part_file_append(part, data, row_count, now_wall_ms, err);
    if (rc != RC_OK)
        return fail(s, rc, err);
    s->stats.bytes_written += data.len;
    s->stats.rows_written += row_count;
    return RC_OK;
}

static enum rc file_sink_on_time(struct sink *sink, int64_t now_wall_ms, int64_t *next_wall_ms,
                                 struct err *err)
{
    struct file_sink *s = self(sink);

    *next_wall_ms = INT64_MAX;
    RETURN_IF_ERR(check_usable(s, err));
    for (uint32_t i = s->buckets.count; i-- > 0;) {
        struct part_age age = part_file_age(s->buckets.list[i].part);
        int64_t due_wall_ms = rolling_due_wall_ms(&s->config.rolling, &age);

        if (rolling_on_time(&s->config.rolling, &age, now_wall_ms)) {
            enum rc rc = finish_bucket(s, i, err);

            if (rc != RC_OK)
                return fail(s, rc, err);
        } else if (due_wall_ms < *next_wall_ms) {
            *next_wall_ms = due_wall_ms;
        }
    }
    return RC_OK;
}

/* Close what the policy closes at a barrier, put the rest on disk. */
static enum rc settle_parts(struct file_sink *s, bool end_of_input, struct err *err)
{
    for (uint32_t i = s->buckets.count; i-- > 0;) {
        struct part_age age = part_file_age(s->buckets.list[i].part);

        if (end_of_input || rolling_on_checkpoint(&s->config.rolling, &age))
            RETURN_IF_ERR(finish_bucket(s, i, err));
        else
            RETURN_IF_ERR(part_file_sync(s->buckets.list[i].part, err));
    }
    return dir_set_sync(&s->new_names, s->config.env->fs, err);
}

static void encode_snapshot(struct file_sink *s, struct arena *arena, struct sink_snapshot *out)
{
    size_t waiting = committer_count(s->committer), open = s->buckets.count;
    struct bytes *writer = ARENA_ARRAY(arena, open + 1, struct bytes);
    struct bytes *committables = ARENA_ARRAY(arena, waiting, struct bytes);
    struct sink_item item = {.kind = ITEM_WRITER,
                             .writer = {.base = s->config.path,
                                        .subtask_index = s->config.subtask_index,
                                        .next_counter = s->next_counter}};

    memcpy(item.writer.uuid, s->config.uuid, sizeof item.writer.uuid);
    writer[0] = committable_encode(&item, arena);
    for (size_t i = 0; i < open; i++) {
        item = (struct sink_item){.kind = ITEM_OPEN,
                                  .part = *part_file_record(s->buckets.list[i].part)};
        writer[i + 1] = committable_encode(&item, arena);
    }
    for (size_t i = 0; i < waiting; i++) {
        item = (struct sink_item){.kind = ITEM_PENDING, .part = *committer_at(s->committer, i)};
        committables[i] = committable_encode(&item, arena);
    }
    *out = (struct sink_snapshot){.writer = {open + 1, writer},
                                  .committables = {waiting, committables}};
}

static enum rc file_sink_prepare(struct sink *sink, uint64_t checkpoint_id, bool end_of_input,
                                 int64_t now_wall_ms, struct arena *arena,
                                 struct sink_snapshot *out, struct err *err)
{
    struct file_sink *s = self(sink);
    enum rc rc;

    (void)now_wall_ms;
    *out = (struct sink_snapshot){0};
    RETURN_IF_ERR(check_usable(s, err));
    rc = settle_parts(s, end_of_input, err);
    if (rc != RC_OK)
        return fail(s, rc, err);
    committer_prepare(s->committer, checkpoint_id);
    encode_snapshot(s, arena, out);
    return RC_OK;
}

static enum rc file_sink_commit(struct sink *sink, uint64_t checkpoint_id, struct err *err)
{
    struct file_sink *s = self(sink);
    enum rc rc = committer_commit(s->committer, checkpoint_id, &s->stats.finished_parts,
                                  &s->stats.finished_rows, err);

    return rc == RC_OK ? RC_OK : err_wrap(err, rc, "%s", s->config.name);
}

static void file_sink_stats(const struct sink *sink, struct sink_stats *out)
{
    const struct file_sink *s = (const struct file_sink *)sink;

    *out = s->stats;
    out->open_parts = s->buckets.count;
    out->pending_parts = committer_count(s->committer);
}

static void file_sink_abort(struct sink *sink)
{
    struct file_sink *s = self(sink);

    bucket_table_release(&s->buckets);
    committer_free(s->committer);
    dir_set_release(&s->new_names);
    arena_free(s->arena);
    mem_free(s);
}

static enum rc file_sink_close(struct sink *sink, struct err *err)
{
    (void)err;
    file_sink_abort(
        sink); /* what is still open was either put on disk by a checkpoint or is not wanted */
    return RC_OK;
}

static const struct sink_ops file_sink_ops = {
    .write = file_sink_write,
    .on_time = file_sink_on_time,
    .prepare = file_sink_prepare,
    .commit = file_sink_commit,
    .stats = file_sink_stats,
    .abort = file_sink_abort,
    .close = file_sink_close,
};

/* ---- opening --------------------------------------------------------------------------------- */

/* A copy of the config with the path in plain form. */
static enum rc settle_config(const struct file_sink_config *from, struct arena *arena,
                             struct file_sink_config *out, struct err *err)
{
    char path[FS_PATH_MAX];

    RETURN_IF_ERR(path_absolute(path, sizeof path, from->path, err));
    if (!sink_base_valid(bytes_of_str(path)))
        return err_set(err, RC_INVALID, "%s: \"%.200s\" cannot be a sink's directory", from->name,
                       from->path);
    *out = *from;
    out->path = arena_strdup(arena, path);
    out->uuid = arena_strdup(arena, from->uuid);
    out->name = arena_strdup(arena, from->name);
    out->earlier_uuids = NULL; /* for open alone */
    out->earlier_uuid_count = 0;
    if (out->max_open_parts == 0)
        out->max_open_parts = OPEN_PARTS_DEFAULT;
    return RC_OK;
}

/* The bytes of an open part into a new part of this run beside it: the run that wrote it may still
 * be writing. */
static enum rc copy_open_part(struct file_sink *s, const struct part_record *r, struct err *err)
{
    size_t piece_bytes = (size_t)1 << 20;
    uint8_t *piece = mem_alloc(piece_bytes);
    struct part_file *copy = NULL;
    struct fs_file *from = NULL;
    char path[FS_PATH_MAX];
    uint64_t at = 0;
    enum rc rc;

    GOTO_IF_ERR(part_path(r, NULL, true, path, err));
    GOTO_IF_ERR(fs_open_read(s->config.env->fs, path, &from, err));
    GOTO_IF_ERR(create_part(s, r->base, r->bucket, r->created_wall_ms, &copy, err));
    while (at < r->size_bytes) {
        uint64_t left = r->size_bytes - at;
        size_t got;

        GOTO_IF_ERR(fs_read_at(from, at, piece, left < piece_bytes ? (size_t)left : piece_bytes,
                               &got, err));
        if (got == 0)
            break;
        GOTO_IF_ERR(part_file_append(copy, bytes_of(piece, got), 0, r->last_write_wall_ms, err));
        at += got;
    }
    GOTO_IF_ERR(
        part_file_append(copy, (struct bytes){0}, r->row_count, r->last_write_wall_ms, err));
    if (!digest_eq(part_file_record(copy)->digest, r->digest)) {
        rc = err_set(err, RC_CORRUPT, "%s: changed while it was copied", path);
        goto out;
    }
    rc = finish_part(s, copy, err);
    copy = NULL;
out:
    part_file_abandon(copy);
    fs_abandon(&from);
    mem_free(piece);
    return rc;
}

/* An open part whose hidden file is there. */
static enum rc take_over(struct file_sink *s, const struct part_record *r, struct err *err)
{
    struct bytes bucket = bytes_of_str(r->bucket);
    struct part_file *part;

    s->stats.recovered_parts++;
    if (!s->config.remove_leftovers)
        return copy_open_part(s, r, err);
    RETURN_IF_ERR(part_file_resume(s->config.env->fs, r, &part, err));
    if (strcmp(r->base, s->config.path) != 0 || s->buckets.count >= s->config.max_open_parts ||
        bucket_find(&s->buckets, bucket) < s->buckets.count)
        return finish_part(s, part, err); /* new rows go elsewhere */
    bucket_add(&s->buckets, bucket, part);
    return RC_OK;
}

static enum rc put_in_order(struct file_sink *s, const struct part_recovery *r, struct err *err)
{
    struct fs *fs = s->config.env->fs;

    for (size_t i = 0; i < r->writer_count; i++)
        if (r->writers[i].next_counter > s->next_counter)
            s->next_counter = r->writers[i].next_counter;
    for (size_t i = 0; i < r->part_count; i++) {
        const struct recovered_part *p = &r->parts[i];

        if (p->place == PART_LOST)
            continue;
        /* Also of what is in view already: the process that renamed it may have died before it
         * synced the directory. */
        RETURN_IF_ERR(remember_dir(s, &p->record, err));
        if (p->place == PART_FINISHED)
            continue;
        if (p->open) {
            RETURN_IF_ERR(take_over(s, &p->record, err));
        } else {
            RETURN_IF_ERR(part_recovery_cut(fs, &p->record, err));
            RETURN_IF_ERR(part_commit(fs, &p->record, err));
            s->stats.finished_parts++;
            s->stats.finished_rows += p->record.row_count;
        }
    }
    RETURN_IF_ERR(dir_set_sync(&s->new_names, fs, err));
    if (s->config.remove_leftovers)
        RETURN_IF_ERR(part_recovery_sweep(&s->config, r, &s->stats.removed_leftovers, err));
    return RC_OK;
}

/* Earlier deployments as writers of which nothing is restored: whatever they began is left over. */
static void add_earlier(const struct file_sink_config *c, const char *base, struct arena *arena,
                        struct part_recovery *r)
{
    struct writer_record *all =
        ARENA_ARRAY(arena, r->writer_count + c->earlier_uuid_count, struct writer_record);

    if (r->writer_count > 0)
        memcpy(all, r->writers, r->writer_count * sizeof *all);
    for (uint32_t i = 0; i < c->earlier_uuid_count; i++) {
        struct writer_record *w = &all[r->writer_count++];

        *w = (struct writer_record){.base = base, .subtask_index = c->subtask_index};
        snprintf(w->uuid, sizeof w->uuid, "%s", c->earlier_uuids[i]);
    }
    r->writers = all;
}

enum rc file_sink_open(const struct file_sink_config *config, const struct sink_snapshot *restored,
                       struct sink **out, struct err *err)
{
    static const struct sink_snapshot nothing;
    struct arena *scratch = arena_new(0);
    struct file_sink *s = mem_calloc(1, sizeof *s);
    struct part_recovery recovery;
    enum rc rc;

    *out = NULL;
    s->sink.ops = &file_sink_ops;
    s->arena = arena_new(0);
    s->committer = committer_new(config->env);
    env_rng(config->env, "sink-parts", &s->rng);
    GOTO_IF_ERR(settle_config(config, s->arena, &s->config, err));
    GOTO_IF_ERR(part_recovery_look(&s->config, restored == NULL ? &nothing : restored, scratch,
                                   &recovery, err));
    add_earlier(config, s->config.path, scratch, &recovery);
    GOTO_IF_ERR(fs_mkdirs(config->env->fs, s->config.path, err));
    GOTO_IF_ERR(put_in_order(s, &recovery, err));
    s->stats.lost_parts = recovery.lost_parts;
    s->stats.lost_rows = recovery.lost_rows;
out:
    arena_free(scratch);
    if (rc != RC_OK) {
        file_sink_abort(&s->sink);
        return err_wrap(err, rc, "open %s", config->name);
    }
    *out = &s->sink;
    return RC_OK;
}

enum rc file_sink_check_restored(const struct file_sink_config *config,
                                 const struct sink_snapshot *restored, struct err *err)
{
    struct arena *arena = arena_new(0);
    struct file_sink_config settled;
    struct part_recovery recovery;
    enum rc rc = settle_config(config, arena, &settled, err);

    if (rc == RC_OK)
        rc = part_recovery_look(&settled, restored, arena, &recovery, err);
    arena_free(arena);
    return rc;
}
