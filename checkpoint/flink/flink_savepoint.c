/* flink_savepoint.c - see flink_savepoint.h; keyed state: flink_savepoint_keyed.c, _regroup.c */
#include "checkpoint/flink/flink_savepoint.h"

#include "checkpoint/flink/flink_copy.h"
#include "checkpoint/flink/flink_lists.h"
#include "checkpoint/flink/flink_metadata_write.h"
#include "checkpoint/flink/flink_savepoint_priv.h"

/* ---- operator state -------------------------------------------------------------------------- */

/* Items one after another, uncompressed. */
static enum rc put_items(struct flink_lists *l, struct flink_operator_state *out,
                         struct flink_file *f, struct err *err)
{
    struct bytes item;

    RETURN_IF_ERR(flink_lists_header(l, &item, err));
    buf_append(&f->buf, item.data, item.len);
    for (size_t i = 0; i < out->list_count; i++)
        for (size_t k = 0; k < out->lists[i].offset_count; k++) {
            int64_t at = (int64_t)(f->written + f->buf.len);

            RETURN_IF_ERR(flink_lists_bytes(l, &out->lists[i], k, &item, err));
            out->lists[i].offsets[k] = at;
            buf_append(&f->buf, item.data, item.len);
            if (f->buf.len >= FLINK_TARGET_BUFFER)
                RETURN_IF_ERR(flink_file_flush(f, f->buf.len, err));
        }
    return RC_OK;
}

static void copy_offsets(struct arena *arena, struct flink_operator_state *s)
{
    s->lists = arena_copy(arena, s->lists, s->list_count * sizeof *s->lists);
    for (size_t i = 0; i < s->list_count; i++)
        s->lists[i].offsets = arena_copy(arena, s->lists[i].offsets,
                                         s->lists[i].offset_count * sizeof(int64_t));
}

static enum rc copy_managed(struct flink_saving *v, const struct flink_operator_state *from,
                            struct flink_operator_state *out, struct err *err)
{
    struct flink_lists *l;
    struct flink_file f = {0};
    enum rc rc;

    RETURN_IF_ERR(flink_lists_open(v->env->fs, v->places, from, &l, err));
    if (flink_lists_compressed(l)) {
        flink_file_init(v->target, &f);
        rc = put_items(l, out, &f, err);
        if (rc == RC_OK)
            rc = flink_file_finish(&f, v->arena, &out->stream, err);
    } else {
        rc = flink_copy_stream(&v->copy, &from->stream, &out->stream, err);
    }
    flink_file_release(&f);
    flink_lists_close(l);
    return rc;
}

static enum rc copy_lists(struct flink_saving *v, const struct flink_operator_state *from,
                          struct flink_operator_state *out, struct err *err)
{
    *out = (struct flink_operator_state){0};
    if (flink_lists_empty(from))
        return RC_OK;
    *out = *from;
    out->tag = FLINK_LISTS;
    copy_offsets(v->arena, out);
    return copy_managed(v, from, out, err);
}

/* ---- operators ------------------------------------------------------------------------------- */

static enum rc copy_subtask(struct flink_saving *v, const struct flink_operator *op,
                            const struct flink_subtask *from, struct flink_subtask *out,
                            struct err *err)
{
    if (from->input_count > 0 || from->output_count > 0)
        return err_set(err, RC_UNSUPPORTED,
                       "rows in flight (an unaligned checkpoint), which a savepoint has none of: export "
                       "an aligned checkpoint, or let Flink restore it and take a savepoint");
    RETURN_IF_ERR(copy_lists(v, &from->managed, &out->managed, err));
    RETURN_IF_ERR(flink_copy_lists(&v->copy, &from->raw, &out->raw, err));
    out->has_managed = out->managed.tag != 0;
    out->has_raw = out->raw.tag != 0;
    out->raw_keyed = (struct flink_keyed){.tag = FLINK_KEYED_NONE};
    if (v->options->key_group_count > 0) {
        out->managed_keyed = (struct flink_keyed){.tag = FLINK_KEYED_NONE};
        return RC_OK;
    }
    return flink_savepoint_keyed(v, op, from, &out->managed_keyed, err);
}

static enum rc copy_operator(struct flink_saving *v, const struct flink_operator *from,
                             struct flink_operator *out, struct err *err)
{
    char id[2 * FLINK_ID_BYTES + 1];
    struct buf word = {0};
    uint32_t subtask = 0;
    enum rc rc;

    *out = *from;
    out->subtasks = arena_copy(v->arena, from->subtasks, from->subtask_count * sizeof *out->subtasks);
    rc = flink_copy_coordinator(&v->copy, &from->coordinator, &out->coordinator, err);
    for (size_t s = 0; rc == RC_OK && s < from->subtask_count; s++) {
        subtask = from->subtasks[s].index;
        if (!from->subtasks[s].finished)
            rc = copy_subtask(v, from, &from->subtasks[s], &out->subtasks[s], err);
    }
    if (rc == RC_OK && v->options->key_group_count > 0) {
        out->max_parallelism = (int32_t)v->options->key_group_count;
        rc = flink_savepoint_regroup(v, from, out, err);
    }
    if (rc == RC_OK)
        return RC_OK;
    flink_id_hex(from->id, id);
    buf_append_escaped(&word, from->uid.len > 0 ? from->uid : from->name, 200);
    err_wrap(err, rc, "operator %s subtask %u", word.len > 0 ? buf_cstr(&word) : id, subtask);
    buf_release(&word);
    return rc;
}

/* What can't be done is said before anything is written. */
static enum rc check_group_count(const struct flink_metadata *m, uint32_t count, struct err *err)
{
    if (count > FLINK_GROUPS_MAX)
        return err_set(err, RC_INVALID, "max parallelism %u: at most %u", count, FLINK_GROUPS_MAX);
    for (size_t i = 0; count > 0 && i < m->operator_count; i++)
        if (m->operators[i].parallelism > (int32_t)count)
            return err_set(err, RC_INVALID, "max parallelism %u: operator \"%s\" has parallelism %d",
                           count, (const char *)m->operators[i].name.data,
                           m->operators[i].parallelism);
    return RC_OK;
}

static void count_groups(struct flink_saving *v, const struct flink_metadata *m)
{
    for (size_t i = 0; i < m->operator_count; i++)
        for (size_t s = 0; s < m->operators[i].subtask_count; s++)
            v->all_groups += m->operators[i].subtasks[s].managed_keyed.range.count;
}

static enum rc write_all(struct flink_saving *v, const struct flink_metadata *m, struct err *err)
{
    struct flink_metadata out = *m;
    enum rc rc = RC_OK;

    out.operators = ARENA_ARRAY(v->arena, m->operator_count + 1, struct flink_operator);
    for (size_t i = 0; i < m->operator_count && rc == RC_OK; i++)
        rc = copy_operator(v, &m->operators[i], &out.operators[i], err);
    return rc == RC_OK ? flink_saving_publish(v, &out, err) : rc;
}

enum rc flink_saving_publish(struct flink_saving *v, const struct flink_metadata *out,
                             struct err *err)
{
    struct buf encoded = {0};
    enum rc rc = flink_metadata_encode(out, FLINK_PROPERTIES_CANONICAL, &encoded, err);

    if (rc == RC_OK)
        rc = flink_target_publish(v->target, buf_bytes(&encoded), err);
    buf_release(&encoded);
    return rc;
}

enum rc flink_saving_end(struct flink_saving *v, const char *dir, enum rc rc, struct err *err)
{
    if (v->target != NULL) {
        if (rc != RC_OK)
            flink_target_abort(v->target);
        v->result->file_count = flink_target_files(v->target);
        v->result->bytes = flink_target_bytes(v->target);
    }
    flink_target_free(v->target);
    arena_free(v->arena);
    return rc == RC_OK ? RC_OK : err_wrap(err, rc, "export to %s", dir);
}

enum rc flink_savepoint_write(const struct env *env, const struct flink_metadata *m,
                              struct flink_places *places, const char *dir,
                              const struct flink_savepoint_options *options,
                              struct flink_savepoint_result *out, struct err *err)
{
    struct flink_saving v = {
        .env = env, .places = places, .options = options, .result = out, .arena = arena_new(0)};
    enum rc rc;

    *out = (struct flink_savepoint_result){0};
    count_groups(&v, m);
    rc = check_group_count(m, options->key_group_count, err);
    if (rc == RC_OK)
        rc = flink_target_open(env, dir, &v.target, err);
    if (rc == RC_OK) {
        v.copy = (struct flink_copy){env->fs, places, v.target, v.arena};
        rc = write_all(&v, m, err);
    }
    return flink_saving_end(&v, dir, rc, err);
}
