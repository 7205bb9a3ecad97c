/* flink_of_varve.c - see flink_of_varve.h; descriptions: flink_describe.c */
#include "checkpoint/flink/flink_of_varve.h"

#include "checkpoint/flink/flink_describe.h"
#include "checkpoint/flink/flink_metadata_write.h"
#include "checkpoint/flink/flink_savepoint_priv.h"
#include "checkpoint/flink/flink_uid.h"
#include "checkpoint/state_source.h"

struct making {
    struct flink_saving v;
    flink_said_fn *said;
    void *said_ctx;
};

/* ---- keyed state ----------------------------------------------------------------------------- */

/* The key groups of a subtask's handles; count 0: it has none. */
static struct flink_range range_of(const struct subtask_state *s)
{
    struct key_group_range all = {UINT32_MAX, 0};

    for (size_t i = 0; i < s->keyed_count; i++) {
        struct key_group_range r = s->keyed[i].range;

        all.first = r.first < all.first ? r.first : all.first;
        all.last = r.last > all.last ? r.last : all.last;
    }
    return s->keyed_count == 0 ? (struct flink_range){0, 0}
                               : (struct flink_range){all.first, all.last - all.first + 1};
}

/* A map's null has nothing behind it in Flink. */
static struct bytes value_of(const struct state_desc *d, struct bytes value)
{
    if (d->kind == STATE_MAP && value.len > 1 && value.data[0] != 0)
        value.len = 1;
    return value;
}

static enum rc copy_state(struct flink_canonical *c, struct state_source *source, uint32_t group,
                          const struct state_desc *d, uint32_t id, struct err *err)
{
    struct bytes key, value;

    state_walk_begin(source, d->name, (struct key_group_range){group, group}, (struct bytes){0});
    for (;;) {
        RETURN_IF_ERR(state_walk_next(source, &key, &value, err));
        if (key.data == NULL)
            return RC_OK;
        RETURN_IF_ERR(flink_canonical_add(c, id, key, value_of(d, value), true, err));
    }
}

static enum rc copy_entries(struct making *m, struct flink_canonical *c, struct state_source *source,
                            const struct state_desc *states, size_t count, struct err *err)
{
    const struct flink_savepoint_options *options = m->v.options;

    for (uint32_t i = 0; i < c->range.count; i++) {
        for (size_t k = 0; k < count; k++)
            RETURN_IF_ERR(
                copy_state(c, source, c->range.first + i, &states[k], (uint32_t)k, err));
        m->v.done_groups++;
        if (options->progress != NULL)
            options->progress(options->progress_ctx, m->v.done_groups, m->v.all_groups);
    }
    return RC_OK;
}

static enum rc copy_keyed(struct making *m, const struct operator_meta *op,
                          const struct subtask_state *from, struct state_source *source,
                          struct flink_keyed *out, struct err *err)
{
    const struct state_desc *states;
    struct flink_range range = range_of(from);
    struct buf description = {0};
    struct flink_keyed_writing w = {0};
    size_t count;
    enum rc rc = RC_OK;

    *out = (struct flink_keyed){.tag = FLINK_KEYED_NONE};
    GOTO_IF_ERR(state_source_states(source, &states, &count, err));
    if (range.count == 0 || count == 0)
        goto out;
    GOTO_IF_ERR(flink_describe_keyed(states, count, &description, err));
    flink_keyed_begin(&m->v, buf_bytes(&description), range, op->key_group_count, out, &w);
    GOTO_IF_ERR(copy_entries(m, &w.stream, source, states, count, err));
    rc = flink_keyed_end(&m->v, &w, err);
out:
    state_walk_end(source);
    flink_keyed_release(&w);
    buf_release(&description);
    return rc;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void put_items(const struct list_state *from, struct flink_list *out, struct flink_file *f)
{
    bool broadcast = from->mode == LIST_BROADCAST;

    if (broadcast) { /* a map of items by number, in one piece */
        out->offsets[0] = (int64_t)(f->written + f->buf.len);
        buf_append_be32(&f->buf, (uint32_t)from->item_count);
    }
    for (size_t i = 0; i < from->item_count; i++) {
        if (broadcast)
            buf_append_be32(&f->buf, (uint32_t)i);
        else
            out->offsets[i] = (int64_t)(f->written + f->buf.len);
        buf_append_be32(&f->buf, (uint32_t)from->items[i].len);
        buf_append(&f->buf, from->items[i].data, from->items[i].len);
    }
}

static enum rc copy_lists(struct making *m, const struct subtask_state *from,
                          struct flink_operator_state *out, struct err *err)
{
    struct arena *arena = m->v.arena;
    struct flink_file f = {0};
    enum rc rc = RC_OK;

    *out = (struct flink_operator_state){0};
    if (from->list_count == 0)
        return RC_OK;
    out->tag = FLINK_LISTS;
    out->list_count = from->list_count;
    out->lists = ARENA_ARRAY(arena, out->list_count, struct flink_list);
    flink_file_init(m->v.target, &f);
    flink_describe_lists(from->lists, from->list_count, &f.buf);
    for (size_t i = 0; i < out->list_count && rc == RC_OK; i++) {
        const struct list_state *l = &from->lists[i];
        size_t count = l->mode == LIST_BROADCAST ? 1 : l->item_count;

        out->lists[i] = (struct flink_list){.name = bytes_of_str(l->name),
                                            .mode = flink_mode_of(l->mode),
                                            .offset_count = count,
                                            .offsets = ARENA_ARRAY(arena, count, int64_t)};
        put_items(l, &out->lists[i], &f);
        if (f.buf.len >= FLINK_TARGET_BUFFER)
            rc = flink_file_flush(&f, f.buf.len, err);
    }
    if (rc == RC_OK)
        rc = flink_file_finish(&f, arena, &out->stream, err);
    flink_file_release(&f);
    return rc;
}

/* What is carried along without anybody in Flink to read it. */
static void say_lists(struct making *m, const struct operator_meta *op)
{
    struct buf text = {0};

    for (size_t s = 0; s < op->subtask_count; s++)
        for (size_t i = 0; i < op->subtasks[s].list_count; i++) {
            const struct list_state *l = &op->subtasks[s].lists[i];

            if (l->item_count > 0 && strstr(buf_cstr(&text), l->name) == NULL)
                buf_printf(&text, "%s%s", text.len == 0 ? "" : ", ", l->name);
        }
    if (text.len > 0 && m->said != NULL)
        m->said(m->said_ctx,
                arena_printf(m->v.arena,
                             "operator %s: %s: carried as byte arrays, which no operator of Flink's "
                             "reads",
                             op->name, buf_cstr(&text)));
    buf_release(&text);
}

/* ---- operators ------------------------------------------------------------------------------- */

static enum rc check_subtask(const struct subtask_state *s, struct err *err)
{
    if (s->channel_count > 0)
        return err_set(err, RC_UNSUPPORTED,
                       "rows in flight (an unaligned checkpoint), which a savepoint has none of: "
                       "export an aligned checkpoint or a savepoint");
    if (s->log_count > 0)
        return err_set(err, RC_UNSUPPORTED,
                       "%zu logs of a write-ahead sink hold rows that are not in its table yet, and "
                       "Flink would not write them: go on with varve, and export when it has",
                       s->log_count);
    return RC_OK;
}

static enum rc copy_subtask(struct making *m, const struct operator_meta *op,
                            const struct subtask_state *from, struct state_source *source,
                            struct flink_subtask *out, struct err *err)
{
    *out = (struct flink_subtask){.index = from->subtask_index, .finished = from->finished};
    RETURN_IF_ERR(check_subtask(from, err));
    RETURN_IF_ERR(copy_lists(m, from, &out->managed, err));
    out->has_managed = out->managed.tag != 0;
    return copy_keyed(m, op, from, source, &out->managed_keyed, err);
}

static void name_operator(struct making *m, const struct operator_meta *from,
                          struct flink_operator *out)
{
    const char *uid = from->uid[0] != '\0' ? from->uid : from->id;

    *out = (struct flink_operator){
        .name = bytes_of_str(from->name),
        .uid = bytes_of_str(uid),
        .parallelism = (int32_t)from->parallelism,
        .max_parallelism = (int32_t)from->key_group_count,
        .finished = from->finished,
        .subtask_count = from->finished ? 0 : from->subtask_count,
        .subtasks = ARENA_ARRAY(m->v.arena, from->subtask_count + 1, struct flink_subtask),
    };
    flink_id_of_uid(out->uid, out->id);
}

static enum rc copy_operator(struct making *m, const struct operator_meta *from,
                             struct flink_operator *out, struct err *err)
{
    struct state_source *source;
    uint32_t subtask = 0;
    enum rc rc;

    name_operator(m, from, out);
    RETURN_IF_ERR(
        state_source_open(m->v.env->fs, from, m->v.options->scratch_dir, &source, err));
    rc = RC_OK;
    for (size_t s = 0; rc == RC_OK && s < out->subtask_count; s++) {
        subtask = from->subtasks[s].subtask_index;
        rc = copy_subtask(m, from, &from->subtasks[s], source, &out->subtasks[s], err);
    }
    state_source_close(source);
    if (rc == RC_OK)
        say_lists(m, from);
    return rc == RC_OK ? RC_OK
                       : err_wrap(err, rc, "operator %s subtask %u",
                                  from->uid[0] != '\0' ? from->uid : from->name, subtask);
}

static enum rc make(struct making *m, const struct checkpoint_metadata *from, struct err *err)
{
    struct flink_metadata out = {.version = FLINK_METADATA_VERSION,
                                 .checkpoint_id = (int64_t)from->checkpoint_id,
                                 .operator_count = from->operator_count};
    enum rc rc = RC_OK;

    out.operators = ARENA_ARRAY(m->v.arena, from->operator_count + 1, struct flink_operator);
    for (size_t i = 0; i < from->operator_count && rc == RC_OK; i++)
        rc = copy_operator(m, &from->operators[i], &out.operators[i], err);
    return rc == RC_OK ? flink_saving_publish(&m->v, &out, err) : rc;
}

enum rc flink_of_varve(const struct env *env, const struct checkpoint_metadata *from,
                       const char *dir, const struct flink_savepoint_options *options,
                       flink_said_fn *said, void *said_ctx, struct flink_savepoint_result *out,
                       struct err *err)
{
    struct making m = {
        .v = {.env = env, .options = options, .result = out, .arena = arena_new(0)},
        .said = said,
        .said_ctx = said_ctx};
    enum rc rc;

    *out = (struct flink_savepoint_result){0};
    for (size_t i = 0; i < from->operator_count; i++)
        for (size_t s = 0; s < from->operators[i].subtask_count; s++)
            m.v.all_groups += range_of(&from->operators[i].subtasks[s]).count;
    rc = flink_target_open(env, dir, &m.v.target, err);
    if (rc == RC_OK)
        rc = make(&m, from, err);
    return flink_saving_end(&m.v, dir, rc, err);
}
