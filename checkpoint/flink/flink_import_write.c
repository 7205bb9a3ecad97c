/* flink_import_write.c - see flink_import.h: a savepoint of ours out of what was decided, by a
 * storage without a directory of its own: savepoint.h keeps the order of C2 and C3. */
#include "backend/keyed_stream.h"
#include "checkpoint/flink/flink_import_priv.h"
#include "checkpoint/flink/flink_key.h"
#include "checkpoint/flink/flink_sorter.h"
#include "checkpoint/flink/flink_totals.h"
#include "checkpoint/flink/flink_windows.h"
#include "checkpoint/savepoint.h"

#include <inttypes.h>
#include <stdio.h>

struct writing {
    struct flink_import *import;
    const struct imported *op;
    struct flink_source *source;
    struct keyed_stream_writer *stream;
    struct arena *values; /* of one entry */
    struct buf widened;   /* a row of totals as varve has it */
    struct open_windows windows;
    /* Of an operator with states that are converted: all of its entries, and the next of them. */
    struct flink_sorter *sorter;
    uint16_t index;
    struct bytes key, value;
    struct buf converted_key, converted_value, last_key;
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

static enum rc convert_entry(struct writing *w, uint32_t index, const struct flink_source_state *s,
                             struct bytes key, struct bytes value, bool *none, struct err *err)
{
    const struct flink_states states = {.key = s->key};
    struct flink_entry entry;
    struct flink_key k;

    arena_reset(w->values);
    RETURN_IF_ERR(flink_key_read(&states, s->state,
                                 keygroup_prefix_len(w->op->meta->key_group_count), key, w->values,
                                 &k, err));
    if (k.opaque)
        return err_set(err, RC_UNSUPPORTED, "a key of a class that is not known");
    RETURN_IF_ERR(flink_entry_read(s->state, value, w->values, &entry, err));
    return flink_convert_entry(w->op->converts[index], &k, &entry, &w->converted_key,
                               &w->converted_value, none, err);
}

/* An entry as it is written: its key ends in its window's end. */
static enum rc put_entry(struct writing *w, uint32_t group, uint32_t index, struct bytes key,
                         struct bytes value, struct err *err)
{
    const struct state_desc *d = &w->op->states[index];

    if (d->kind == STATE_VALUE && strcmp(d->namespace_type, "BIGINT") == 0)
        RETURN_IF_ERR(
            open_windows_note(&w->windows, (int64_t)get_be64(key.data + key.len - 8), err));
    return keyed_stream_write(w->stream, group, index, key, value, err);
}

/* The value of an entry that goes on as it is. */
static struct bytes widen(struct writing *w, const struct narrow_slot *slots, size_t count,
                          struct bytes value)
{
    if (count == 0)
        return value;
    buf_clear(&w->widened);
    buf_append(&w->widened, value.data, value.len);
    flink_totals_widen(slots, count, w->widened.data);
    return buf_bytes(&w->widened);
}

/* ---- in order as they are -------------------------------------------------------------------- */

static enum rc write_state(struct writing *w, uint32_t group, uint32_t index, struct err *err)
{
    const struct flink_source_state *s = flink_source_find(w->source, w->op->names[index]);
    const struct state_desc *desc = &w->op->states[index];
    const struct imported_narrow *narrow = &w->op->narrow[index];
    struct bytes key, value;
    enum rc rc = RC_OK;

    flink_walk_begin(w->source, w->op->names[index], (struct key_group_range){group, group},
                     (struct bytes){0});
    for (;;) {
        GOTO_IF_ERR(flink_walk_next(w->source, &key, &value, err));
        if (key.data == NULL)
            break;
        GOTO_IF_ERR(prove_entry(w, group, desc, s, key, value, err));
        value = widen(w, narrow->slots, narrow->count, value);
        GOTO_IF_ERR(put_entry(w, group, index, key, value, err));
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

/* ---- in a new order -------------------------------------------------------------------------- */

static enum rc sort_entry(struct writing *w, uint32_t index, const struct flink_source_state *s,
                          struct bytes key, struct bytes value, struct err *err)
{
    const struct state_desc *desc = &w->op->states[index];
    uint32_t prefix = keygroup_prefix_len(w->op->meta->key_group_count);
    bool none = false;

    if (w->op->converts[index] == NULL) {
        RETURN_IF_ERR(prove_entry(w, keygroup_get_prefix(key.data, prefix), desc, s, key, value, err));
        value = widen(w, w->op->narrow[index].slots, w->op->narrow[index].count, value);
        return flink_sorter_add(w->sorter, (uint16_t)index, key, value, err);
    }
    RETURN_IF_ERR(convert_entry(w, index, s, key, value, &none, err));
    return none ? RC_OK
                : flink_sorter_add(w->sorter, (uint16_t)index, buf_bytes(&w->converted_key),
                                   buf_bytes(&w->converted_value), err);
}

static enum rc sort_state(struct writing *w, uint32_t index, struct err *err)
{
    const struct flink_source_state *s = flink_source_find(w->source, w->op->names[index]);
    struct bytes key, value;
    enum rc rc = RC_OK;

    flink_walk_begin(w->source, w->op->names[index],
                     (struct key_group_range){0, w->op->meta->key_group_count - 1},
                     (struct bytes){0});
    for (;;) {
        GOTO_IF_ERR(flink_walk_next(w->source, &key, &value, err));
        if (key.data == NULL)
            break;
        GOTO_IF_ERR(sort_entry(w, index, s, key, value, err));
    }
out:
    flink_walk_end(w->source);
    return rc == RC_OK ? RC_OK
                       : err_wrap(err, rc, "operator \"%s\", state \"%s\"", w->op->to->name,
                                  w->op->states[index].name);
}

static enum rc next_sorted(struct writing *w, struct err *err)
{
    uint16_t before = w->index;
    const struct state_desc *d;
    struct buf text = {0};
    enum rc rc;

    buf_clear(&w->last_key);
    buf_append(&w->last_key, w->key.data, w->key.len);
    RETURN_IF_ERR(flink_sorter_next(w->sorter, &w->index, &w->key, &w->value, err));
    if (w->key.data == NULL || before != w->index || !bytes_eq(w->key, buf_bytes(&w->last_key)))
        return RC_OK;
    d = &w->op->states[w->index];
    if (w->op->converts[w->index] == NULL)
        return err_set(err, RC_CORRUPT, "operator \"%s\", state \"%s\": an entry is there twice",
                       w->op->to->name, d->name);
    flink_convert_print_key(w->op->converts[w->index], w->key, &text);
    rc = err_set(err, RC_INVALID,
                 "operator \"%s\", state \"%s\": two %s of Flink's become one of the job's: %s%.200s",
                 w->op->to->name, d->name, d->kind == STATE_MAP ? "entries of maps" : "keys",
                 d->kind == STATE_MAP ? "a map key below " : "", buf_cstr(&text));
    buf_release(&text);
    return rc;
}

static enum rc sort_operator(struct writing *w, struct err *err)
{
    w->sorter = flink_sorter_new(w->import->fs, w->import->request.scratch_dir,
                                 keygroup_prefix_len(w->op->meta->key_group_count),
                                 FLINK_IMPORT_SORT);
    for (uint32_t k = 0; k < w->op->state_count; k++)
        RETURN_IF_ERR(sort_state(w, k, err));
    RETURN_IF_ERR(flink_sorter_end(w->sorter, err));
    return next_sorted(w, err);
}

static enum rc write_sorted(struct writing *w, struct snapshot_target *target,
                            struct keyed_handle *h, struct err *err)
{
    uint32_t prefix = keygroup_prefix_len(h->key_group_count), group;
    enum rc rc = RC_OK;

    RETURN_IF_ERR(keyed_stream_writer_open(target, h->range, h->key_group_count,
                                           (uint32_t)h->state_count, &w->stream, err));
    while (rc == RC_OK && w->key.data != NULL) {
        group = keygroup_get_prefix(w->key.data, prefix);
        if (group > h->range.last)
            break;
        rc = put_entry(w, group, w->index, w->key, w->value, err);
        if (rc != RC_OK)
            rc = err_wrap(err, rc, "operator \"%s\", state \"%s\"", w->op->to->name,
                          w->op->states[w->index].name);
        else
            rc = next_sorted(w, err);
    }
    if (rc == RC_OK)
        return keyed_stream_finish(w->stream, w->import->arena, h, err);
    keyed_stream_abort(w->stream);
    return rc;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Unless they are known: it was varve's operator that kept them. */
static void put_windows(struct writing *w)
{
    struct operator_meta *meta = w->op->meta;
    struct subtask_state *first = NULL;

    for (size_t s = 0; s < meta->subtask_count; s++) {
        for (size_t k = 0; k < meta->subtasks[s].list_count; k++)
            if (strcmp(meta->subtasks[s].lists[k].name, OPEN_WINDOWS_LIST) == 0)
                return;
        if (first == NULL && !meta->subtasks[s].finished)
            first = &meta->subtasks[s];
    }
    if (first != NULL && w->windows.count > 0)
        open_windows_put(&w->windows, w->import->arena, first);
}

static enum rc write_operator(struct flink_import *i, const struct imported *op,
                              struct storage_attempt *attempt, struct err *err)
{
    struct writing w = {.import = i, .op = op, .values = arena_new(0)};
    enum rc rc = RC_OK;

    GOTO_IF_ERR(flink_source_open(i->fs, op->from, i->request.snapshot->places,
                                  i->request.scratch_dir, &w.source, err));
    if (op->converted)
        GOTO_IF_ERR(sort_operator(&w, err));
    for (size_t s = 0; rc == RC_OK && s < op->meta->subtask_count; s++) {
        struct subtask_state *subtask = &op->meta->subtasks[s];
        struct snapshot_target *target;

        if (subtask->keyed_count == 0)
            continue;
        target = storage_attempt_target(attempt, arena_printf(i->arena, "%s (%zu/%" PRIu32 ")",
                                                              op->meta->name, s + 1,
                                                              op->meta->parallelism));
        rc = (op->converted ? write_sorted : write_handle)(&w, target, &subtask->keyed[0], err);
        storage_target_release(target);
    }
    if (rc == RC_OK)
        put_windows(&w);
out:
    flink_sorter_free(w.sorter);
    flink_source_close(w.source);
    buf_release(&w.converted_key);
    buf_release(&w.converted_value);
    buf_release(&w.last_key);
    buf_release(&w.widened);
    open_windows_release(&w.windows);
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
