/* flink_import_write.c - see flink_import.h: a savepoint of ours out of what was decided, by a
 * storage without a directory of its own: savepoint.h keeps the order of C2 and C3. */
#include "backend/keyed_stream.h"
#include "checkpoint/flink/flink_import_priv.h"
#include "checkpoint/flink/flink_key.h"
#include "checkpoint/savepoint.h"

#include <inttypes.h>
#include <stdio.h>

struct writing {
    struct flink_import *import;
    const struct imported *op;
    struct flink_source *source;
    struct keyed_stream_writer *stream;
    struct arena *values; /* of one entry */
};

/* What the description says of an entry holds: streams have no checksums, and a job would trust it. */
static enum rc prove_entry(struct writing *w, uint32_t group, const struct state_desc *desc,
                           const struct flink_source_state *s, struct bytes key,
                           struct bytes value, struct err *err)
{
    uint32_t groups = w->op->meta->key_group_count, row_bytes = state_desc_row_bytes(desc), hash,
             home;
    const struct flink_states states = {.key = s->key};
    struct flink_entry entry;
    struct flink_key k;

    arena_reset(w->values);
    RETURN_IF_ERR(flink_key_read(&states, s->state, keygroup_prefix_len(groups), key, w->values, &k,
                                 err));
    RETURN_IF_ERR(flink_entry_read(s->state, value, w->values, &entry, err));
    if (row_bytes > 0 && value.len != row_bytes)
        return err_set(err, RC_CORRUPT, "a value of %zu bytes, those of the job have %" PRIu32,
                       value.len, row_bytes);
    if (!flink_key_row_hash(&k, &hash)) /* what fits has rows for keys */
        return err_set(err, RC_CORRUPT, "a key of %zu bytes is no row", k.key_bytes.len);
    home = keygroup_of_hash(hash, groups);
    if (home != group)
        return err_set(err, RC_CORRUPT,
                       "a key lies in key group %" PRIu32 ", by its hash it belongs into %" PRIu32,
                       group, home);
    return RC_OK;
}

static enum rc write_state(struct writing *w, uint32_t group, uint32_t index, struct err *err)
{
    const struct flink_source_state *s = flink_source_find(w->source, w->op->names[index]);
    const struct state_desc *desc = &w->op->states[index];
    struct bytes key, value;
    enum rc rc = RC_OK;

    flink_walk_begin(w->source, w->op->names[index], (struct key_group_range){group, group},
                     (struct bytes){0});
    for (;;) {
        GOTO_IF_ERR(flink_walk_next(w->source, &key, &value, err));
        if (key.data == NULL)
            break;
        GOTO_IF_ERR(prove_entry(w, group, desc, s, key, value, err));
        GOTO_IF_ERR(keyed_stream_write(w->stream, group, index, key, value, err));
    }
out:
    flink_walk_end(w->source);
    return rc == RC_OK ? RC_OK
                       : err_wrap(err, rc, "operator \"%s\", state \"%s\", key group %" PRIu32,
                                  w->op->to->name, desc->name, group);
}

static enum rc write_handle(struct writing *w, struct snapshot_target *target,
                            struct keyed_handle *h, struct err *err)
{
    RETURN_IF_ERR(keyed_stream_writer_open(target, h->range, h->key_group_count,
                                           (uint32_t)h->state_count, &w->stream, err));
    for (uint32_t group = h->range.first; group <= h->range.last; group++)
        for (uint32_t k = 0; k < h->state_count; k++) {
            enum rc rc = write_state(w, group, k, err);

            if (rc != RC_OK) {
                keyed_stream_abort(w->stream);
                return rc;
            }
        }
    return keyed_stream_finish(w->stream, w->import->arena, h, err);
}

static enum rc write_operator(struct flink_import *i, const struct imported *op,
                              struct storage_attempt *attempt, struct err *err)
{
    struct writing w = {.import = i, .op = op, .values = arena_new(0)};
    enum rc rc = RC_OK;

    GOTO_IF_ERR(flink_source_open(i->fs, op->from, i->request.snapshot->places,
                                  i->request.scratch_dir, &w.source, err));
    for (size_t s = 0; rc == RC_OK && s < op->meta->subtask_count; s++) {
        struct subtask_state *subtask = &op->meta->subtasks[s];
        struct snapshot_target *target;

        if (subtask->keyed_count == 0)
            continue;
        target = storage_attempt_target(attempt, arena_printf(i->arena, "%s (%zu/%" PRIu32 ")",
                                                              op->meta->name, s + 1,
                                                              op->meta->parallelism));
        rc = write_handle(&w, target, &subtask->keyed[0], err);
        storage_target_release(target);
    }
out:
    flink_source_close(w.source);
    arena_free(w.values);
    return rc;
}

static enum rc write_all(struct flink_import *i, struct storage_attempt *attempt, struct err *err)
{
    struct checkpoint_metadata *m = &i->tree;

    for (size_t k = 0; k < m->operator_count; k++)
        if (i->operators[k].state_count > 0)
            RETURN_IF_ERR(write_operator(i, &i->operators[k], attempt, err));
    m->trigger_wall_ms = m->completed_wall_ms = clock_wall_ms(i->request.env->clock);
    m->varve_version = VARVE_VERSION;
    RETURN_IF_ERR(metadata_check(m, "import", err));
    return storage_attempt_complete(attempt, m, err);
}

enum rc flink_import_write(struct flink_import *i, const char *below, char dir[FS_PATH_MAX],
                           struct err *err)
{
    const struct storage_config config = {
        .env = i->request.env,
        .job_id = i->tree.job_id,
        .inline_threshold_bytes = STORAGE_INLINE_DEFAULT,
    };
    struct storage_attempt *attempt;
    struct storage *storage;
    struct err ignored = {0};
    enum rc rc;

    RETURN_IF_ERR(storage_open(&config, &storage, err));
    rc = savepoint_begin(storage, i->tree.checkpoint_id, below, &attempt, err);
    if (rc == RC_OK) {
        snprintf(dir, FS_PATH_MAX, "%s", storage_attempt_dir(attempt));
        rc = write_all(i, attempt, err);
        if (rc != RC_OK && storage_attempt_abort(attempt, &ignored) != RC_OK)
            log_line(i->request.env->log, LOG_WARN, "unfinished import stays dir=%s reason=\"%s\"",
                     dir, ignored.msg);
        storage_attempt_free(attempt);
    }
    storage_close(storage);
    return rc;
}
