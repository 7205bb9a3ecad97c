/* export.c - see export.h; the directory is that of a savepoint's attempt (attempt.c), which keeps
 * the order of C2 and C3. */
#include "checkpoint/export.h"

#include "backend/keyed_regroup.h"
#include "checkpoint/layout.h"
#include "checkpoint/savepoint.h"
#include "checkpoint/snapshot_dir.h"
#include "checkpoint/storage_priv.h"

#include <inttypes.h>

#define PIECE_BYTES (1u << 20)

struct export {
    const struct env *env;
    const struct export_options *options;
    struct export_result *result;
    struct arena *arena; /* of the new tree */
    struct checkpoint_metadata meta;
    struct storage_attempt *attempt;
    uint64_t all_bytes;
};

static void count_file(struct export *x, const struct state_file *f)
{
    if (f->scope == FILE_INLINE)
        return;
    x->result->file_count++;
    x->result->bytes += f->size_bytes;
    if (x->options->progress != NULL)
        x->options->progress(x->options->progress_ctx, x->result->bytes, x->all_bytes);
}

static const char *subtask_name(struct export *x, const struct operator_meta *op,
                                const struct subtask_state *s)
{
    return arena_printf(x->arena, "%s (%u/%u)", op->name, s->subtask_index + 1, op->parallelism);
}

/* ---- files as they are ----------------------------------------------------------------------- */

/* A file of one snapshot alone, piece by piece. */
static enum rc copy_stream(struct export *x, struct snapshot_target *target,
                           const struct state_file *f, struct state_file *out, struct err *err)
{
    struct snapshot_stream *stream = NULL;
    struct fs_file *in = NULL;
    uint8_t *piece = mem_alloc(PIECE_BYTES);
    uint64_t at = 0;
    size_t got;
    enum rc rc;

    GOTO_IF_ERR(fs_open_read(x->env->fs, f->resolved_path, &in, err));
    GOTO_IF_ERR(target->ops->stream_open(target, &stream, err));
    do {
        GOTO_IF_ERR(fs_read_at(in, at, piece, PIECE_BYTES, &got, err));
        GOTO_IF_ERR(target->ops->stream_append(stream, bytes_of(piece, got), err));
        at += got;
    } while (got == PIECE_BYTES);
    rc = target->ops->stream_finish(stream, x->arena, out, err);
    stream = NULL;
    if (rc == RC_OK && (out->size_bytes != f->size_bytes || !digest_eq(out->digest, f->digest)))
        rc = err_set(err, RC_CORRUPT,
                     "%s: %" PRIu64 " bytes instead of %" PRIu64 ", or another digest",
                     f->resolved_path, out->size_bytes, f->size_bytes);
out:
    if (stream != NULL)
        target->ops->stream_abort(stream);
    fs_abandon(&in);
    mem_free(piece);
    return rc;
}

static enum rc copy_file(struct export *x, struct snapshot_target *target, struct state_file *f,
                         struct err *err)
{
    const char *local_name = f->local_name;
    struct state_file out;
    struct digest128 named;

    f->newly_written = true;
    if (f->scope == FILE_INLINE)
        return RC_OK;
    if (layout_parse_shared(path_base(f->path), &named))
        RETURN_IF_ERR(target->ops->publish_shared(target, x->arena, f->resolved_path, f->size_bytes,
                                                  f->digest, &out, err));
    else
        RETURN_IF_ERR(copy_stream(x, target, f, &out, err));
    *f = out;
    f->local_name = local_name;
    count_file(x, f);
    return RC_OK;
}

static enum rc copy_subtask(struct export *x, const struct operator_meta *op,
                            struct subtask_state *s, struct err *err)
{
    struct snapshot_target *target = storage_attempt_target(x->attempt, subtask_name(x, op, s));
    enum rc rc = RC_OK;

    for (size_t k = 0; rc == RC_OK && k < s->keyed_count; k++)
        for (size_t i = 0; rc == RC_OK && i < s->keyed[k].file_count; i++)
            rc = copy_file(x, target, &s->keyed[k].files[i], err);
    storage_target_release(target);
    return rc;
}

/* Rows in flight belong to no key group before they arrive. */
static enum rc copy_channels(struct export *x, const struct operator_meta *op,
                             struct subtask_state *s, struct err *err)
{
    struct snapshot_target *target;
    enum rc rc = RC_OK;

    if (s->channel_count == 0)
        return RC_OK;
    target = storage_attempt_target(x->attempt, subtask_name(x, op, s));
    for (size_t i = 0; rc == RC_OK && i < s->channel_count; i++) {
        rc = copy_file(x, target, &s->channels[i].file, err);
        if (x->options->key_group_count > 0)
            s->channels[i].partitioning = "REBALANCE"; /* they lie by the old key groups: dealt out anew */
    }
    storage_target_release(target);
    return rc;
}

/* Logs belong to no key group. */
static enum rc copy_logs(struct export *x, const struct operator_meta *op, struct subtask_state *s,
                         struct err *err)
{
    bool copies = x->attempt->to_dir.copies; /* keyed state written anew is moved in */
    struct snapshot_target *target;
    enum rc rc = RC_OK;

    if (s->log_count == 0)
        return RC_OK;
    x->attempt->to_dir.copies = true;
    target = storage_attempt_target(x->attempt, subtask_name(x, op, s));
    for (size_t i = 0; rc == RC_OK && i < s->log_count; i++) {
        rc = target->ops->publish_log(target, x->arena, &s->logs[i], err);
        count_file(x, &s->logs[i]);
    }
    storage_target_release(target);
    x->attempt->to_dir.copies = copies;
    return rc;
}

/* ---- another number of key groups ------------------------------------------------------------- */

/* All keyed handles of an operator, as the snapshot has them. */
static size_t handles_of(struct export *x, const struct operator_meta *op,
                         struct keyed_handle **out)
{
    size_t count = 0;

    for (size_t s = 0; s < op->subtask_count; s++)
        count += op->subtasks[s].keyed_count;
    *out = ARENA_ARRAY(x->arena, count, struct keyed_handle);
    count = 0;
    for (size_t s = 0; s < op->subtask_count; s++)
        for (size_t k = 0; k < op->subtasks[s].keyed_count; k++)
            (*out)[count++] = op->subtasks[s].keyed[k];
    return count;
}

static enum rc regroup_subtask(struct export *x, const struct operator_meta *op,
                               struct subtask_state *s, const struct regroup *of_operator,
                               struct err *err)
{
    struct regroup r = *of_operator;
    struct snapshot_target *target;
    struct keyed_handle *out = ARENA_NEW(x->arena, struct keyed_handle);
    enum rc rc;

    r.range = keygroup_range_of(s->subtask_index, op->parallelism, r.key_group_count);
    r.name = subtask_name(x, op, s);
    target = storage_attempt_target(x->attempt, r.name);
    rc = keyed_regroup(&r, target, x->arena, out, err);
    storage_target_release(target);
    s->keyed = out;
    s->keyed_count = rc == RC_OK ? 1 : 0;
    for (size_t i = 0; rc == RC_OK && i < out->file_count; i++)
        count_file(x, &out->files[i]);
    return rc;
}

static enum rc regroup_operator(struct export *x, struct operator_meta *op, struct err *err)
{
    struct keyed_handle *handles;
    size_t ended = 0;
    struct regroup r = {
        .env = x->env,
        .key_group_count = x->options->key_group_count,
        .local_dir = arena_printf(x->arena, "%s/regroup", x->options->scratch_dir),
        .checkpoint_id = x->meta.checkpoint_id,
    };

    r.count = handles_of(x, op, &handles);
    r.handles = handles;
    op->key_group_count = r.key_group_count;
    if (r.count == 0)
        return RC_OK;
    for (size_t s = 0; s < op->subtask_count; s++)
        ended += op->subtasks[s].finished;
    if (op->subtask_count != op->parallelism || ended > 0)
        return err_set(err, RC_UNSUPPORTED,
                       "operator \"%s\": of its %u subtasks %zu are in the snapshot, %zu of them "
                       "at their end: those can't take other keys",
                       op->name, op->parallelism, op->subtask_count, ended);
    for (size_t s = 0; s < op->subtask_count; s++)
        RETURN_IF_ERR(regroup_subtask(x, op, &op->subtasks[s], &r, err));
    return RC_OK;
}

/* What can't be done is said before anything is written. */
static enum rc check_group_count(const struct checkpoint_metadata *m, uint32_t count,
                                 struct err *err)
{
    if (count > KEY_GROUP_COUNT_MAX)
        return err_set(err, RC_INVALID, "max parallelism %u: at most %u", count, KEY_GROUP_COUNT_MAX);
    for (size_t i = 0; count > 0 && i < m->operator_count; i++)
        if (m->operators[i].parallelism > count)
            return err_set(err, RC_INVALID, "max parallelism %u: operator \"%s\" has parallelism %u",
                           count, m->operators[i].name, m->operators[i].parallelism);
    return RC_OK;
}

static void note_group_count(struct export *x)
{
    for (size_t i = 0; i < x->meta.setting_count; i++)
        if (strcmp(x->meta.settings[i].key, "pipeline.max-parallelism") == 0)
            x->meta.settings[i].value = arena_printf(x->arena, "%u", x->options->key_group_count);
    x->meta.varve_version = VARVE_VERSION;
    x->meta.rocksdb_version = keyed_backend_rocksdb_version();
}

/* ---- all of it ------------------------------------------------------------------------------- */

static enum rc write_all(struct export *x, struct err *err)
{
    struct checkpoint_metadata *m = &x->meta;

    if (m->kind == CHECKPOINT_PERIODIC)
        m->kind = CHECKPOINT_SAVEPOINT;
    for (size_t i = 0; i < m->operator_count; i++) {
        struct operator_meta *op = &m->operators[i];

        for (size_t s = 0; s < op->subtask_count; s++) {
            RETURN_IF_ERR(copy_logs(x, op, &op->subtasks[s], err));
            RETURN_IF_ERR(copy_channels(x, op, &op->subtasks[s], err));
        }
        if (x->options->key_group_count > 0) {
            RETURN_IF_ERR(regroup_operator(x, op, err));
            continue;
        }
        for (size_t s = 0; s < op->subtask_count; s++)
            RETURN_IF_ERR(copy_subtask(x, op, &op->subtasks[s], err));
    }
    if (x->options->key_group_count > 0)
        note_group_count(x);
    RETURN_IF_ERR(metadata_check(m, "export", err));
    return storage_attempt_complete(x->attempt, m, err);
}

/* A savepoint's attempt of a storage without a directory of its own. */
static enum rc export_into(struct export *x, const char *dir, struct err *err)
{
    bool copies = x->options->key_group_count == 0;
    const struct storage_config config = {
        .env = x->env,
        .job_id = x->meta.job_id,
        .inline_threshold_bytes = copies ? 0 : STORAGE_INLINE_DEFAULT, /* copies stay what they are */
    };
    struct storage *storage;
    struct err ignored = {0};
    bool made;
    enum rc rc;

    RETURN_IF_ERR(storage_open(&config, &storage, err));
    rc = snapshot_dir_claim(x->env->fs, dir, &made, err);
    if (rc == RC_OK) {
        x->attempt = attempt_new_take(storage, x->meta.checkpoint_id, ATTEMPT_SAVEPOINT,
                                      mem_strdup(dir));
        x->attempt->to_dir.copies = copies;
        rc = write_all(x, err);
        if (rc != RC_OK && storage_attempt_abort(x->attempt, &ignored) != RC_OK)
            log_line(x->env->log, LOG_WARN, "unfinished export stays dir=%s reason=\"%s\"", dir,
                     ignored.msg);
        storage_attempt_free(x->attempt);
    }
    storage_close(storage);
    return rc;
}

enum rc export_snapshot(const struct env *env, const struct checkpoint_metadata *m, const char *dir,
                        const struct export_options *options, struct export_result *out,
                        struct err *err)
{
    struct export x = {.env = env, .options = options, .result = out, .arena = arena_new(0)};
    struct metadata_sizes sizes;
    enum rc rc;

    *out = (struct export_result){0};
    metadata_copy(x.arena, m, &x.meta);
    metadata_sizes_of(m, &sizes);
    x.all_bytes = sizes.shared_bytes + sizes.exclusive_bytes + sizes.log_bytes;
    rc = check_group_count(m, options->key_group_count, err);
    if (rc == RC_OK)
        rc = export_into(&x, dir, err);
    arena_free(x.arena);
    return rc == RC_OK ? RC_OK : err_wrap(err, rc, "export to %s", dir);
}
