/* flink_view.c - see flink_view.h */
#include "checkpoint/flink/flink_view.h"

#include "checkpoint/layout.h"

/* Growing while one operator's subtask is walked. */
struct files {
    struct state_file *items;
    size_t count, cap;
};
struct view {
    struct fs *fs;
    struct arena *arena;
    struct flink_places *places;
    struct checkpoint_metadata *out;
    /* of the subtask at hand */
    const struct flink_subtask *subtask;
    struct files streams, db;
    /* paths that were named already, by hash: open addressing, of a power of two */
    struct seen {
        const char *path;
        uint64_t start;
    } *seen;
    size_t seen_count, seen_cap;
};

static size_t seen_slot(const struct view *v, const char *path, uint64_t start)
{
    size_t i = (size_t)(hash64(bytes_of_str(path)) ^ start * 0x9E3779B97F4A7C15u) &
               (v->seen_cap - 1);

    while (v->seen[i].path != NULL &&
           (v->seen[i].start != start || strcmp(v->seen[i].path, path) != 0))
        i = (i + 1) & (v->seen_cap - 1);
    return i;
}

/* true: these bytes were named before, by another handle of the snapshot. */
static bool was_seen(struct view *v, const char *path, uint64_t start)
{
    size_t i;

    if ((v->seen_count + 1) * 2 > v->seen_cap) {
        struct seen *old = v->seen;
        size_t old_cap = v->seen_cap;

        v->seen_cap = old_cap == 0 ? 256 : old_cap * 2;
        v->seen = mem_calloc(v->seen_cap, sizeof *v->seen);
        for (size_t k = 0; k < old_cap; k++)
            if (old[k].path != NULL)
                v->seen[seen_slot(v, old[k].path, old[k].start)] = old[k];
        mem_free(old);
    }
    i = seen_slot(v, path, start);
    if (v->seen[i].path != NULL)
        return true;
    v->seen[i] = (struct seen){path, start};
    v->seen_count++;
    return false;
}

/* ---- files ---------------------------------------------------------------------------------- */

/* Files are told apart by their own names, so that a copy of them elsewhere has the same ones. */
static struct digest128 identity_of(const char *path, uint64_t start)
{
    struct buf text = {0};
    struct digest128 d;

    buf_append_str(&text, path_base(path));
    buf_append_u8(&text, 0);
    buf_append_be64(&text, start);
    d = digest_of(buf_bytes(&text));
    buf_release(&text);
    return d;
}

static enum file_scope scope_of(const struct flink_stream_use *use)
{
    const struct flink_stream *s = use->stream;

    if (s->tag == FLINK_STREAM_BYTES)
        return FILE_INLINE;
    if (s->tag == FLINK_STREAM_SEGMENT)
        return s->shared ? FILE_SHARED : FILE_EXCLUSIVE;
    return s->tag == FLINK_STREAM_FILE ? FILE_SHARED : FILE_EXCLUSIVE;
}

struct state_file flink_view_file(struct flink_places *places, struct arena *arena,
                                  const struct flink_stream_use *use)
{
    const struct flink_stream *s = use->stream;
    struct state_file f = {
        .local_name = flink_c_text(arena, use->local_name),
        .scope = scope_of(use),
        .no_digest = true,
        .size_bytes = s->size > 0 ? (uint64_t)s->size : 0,
        .at_least = s->size < 0 || s->tag == FLINK_STREAM_SEGMENT ||
                    use->role == FLINK_ROLE_CHANGES,
        .start = s->tag == FLINK_STREAM_SEGMENT ? (uint64_t)s->start : 0,
    };

    if (s->tag == FLINK_STREAM_BYTES) {
        f.inline_bytes = s->data;
        f.digest = digest_of(s->data);
        return f;
    }
    f.path = flink_c_text(arena, s->path);
    f.resolved_path = flink_place(places, s);
    f.digest = identity_of(f.resolved_path, f.start);
    return f;
}

static void add_file(struct files *to, const struct state_file *f)
{
    if (to->count == to->cap) {
        to->cap = to->cap == 0 ? 16 : to->cap * 2;
        to->items = mem_realloc(to->items, to->cap * sizeof *to->items);
    }
    to->items[to->count++] = *f;
}

static struct state_file *take_files(struct view *v, struct files *from, size_t *count)
{
    struct state_file *kept =
        arena_copy(v->arena, from->items, from->count * sizeof *from->items);

    *count = from->count;
    from->count = 0;
    return kept;
}

/* ---- subtasks ------------------------------------------------------------------------------- */

static void end_handle(struct view *v, struct subtask_state *s, const struct flink_keyed *k)
{
    struct keyed_handle *h = &s->keyed[s->keyed_count++];

    *h = (struct keyed_handle){
        .kind = k->incremental != NULL ? KEYED_ROCKS : KEYED_STREAM,
        .range = {k->range.first, k->range.count == 0 ? k->range.first
                                                      : k->range.first + k->range.count - 1},
        .backend_id =
            k->incremental != NULL ? flink_c_text(v->arena, k->incremental->backend_id) : "",
    };
    h->files = take_files(v, &v->db, &h->file_count);
}

/* Handles that hold others (a changelog) and those alike: an upper bound. */
static size_t handles_in(const struct flink_keyed *k)
{
    size_t count = k->tag == FLINK_KEYED_NONE ? 0 : 1;

    for (size_t i = 0; k->changelog != NULL && i < k->changelog->materialized_count; i++)
        count += handles_in(&k->changelog->materialized[i]);
    for (size_t i = 0; k->changelog != NULL && i < k->changelog->change_count; i++)
        count += handles_in(&k->changelog->changes[i]);
    return count;
}

struct fill {
    struct view *v;
    struct operator_meta *op;
    struct subtask_state *at;        /* being filled; NULL: none yet */
    const struct flink_keyed *keyed; /* whose files gather */
};

static void end_keyed(struct fill *f)
{
    if (f->keyed != NULL)
        end_handle(f->v, f->at, f->keyed);
    f->keyed = NULL;
}

static void end_subtask(struct fill *f)
{
    if (f->at == NULL)
        return;
    end_keyed(f);
    f->at->streams = take_files(f->v, &f->v->streams, &f->at->stream_count);
    f->at = NULL;
}

static struct subtask_state *subtask_at(struct fill *f, const struct flink_operator *op,
                                        const struct flink_subtask *s)
{
    return &f->op->subtasks[s == NULL ? 0 : (size_t)(s - op->subtasks)];
}

/* Streams come in the order of the file: a coordinator's counts to its first subtask. */
static enum rc fill_stream(void *ctx, const struct flink_stream_use *use, struct err *err UNUSED)
{
    struct fill *f = ctx;
    struct view *v = f->v;
    struct state_file file;

    if (use->op->subtask_count == 0 || use->stream->tag == FLINK_STREAM_EMPTY)
        return RC_OK;
    f->op = &v->out->operators[use->op - v->out->flink->operators];
    if (f->at != subtask_at(f, use->op, use->subtask)) {
        end_subtask(f);
        f->at = subtask_at(f, use->op, use->subtask);
    }
    if (f->keyed != use->keyed)
        end_keyed(f);
    file = flink_view_file(v->places, v->arena, use);
    if (file.scope != FILE_INLINE && was_seen(v, file.resolved_path, file.start))
        return RC_OK;
    f->keyed = use->keyed;
    add_file(use->keyed != NULL ? &v->db : &v->streams, &file);
    return RC_OK;
}

static void make_operator(struct view *v, const struct flink_operator *from,
                          struct operator_meta *to)
{
    flink_id_hex(from->id, to->id);
    to->uid = flink_c_text(v->arena, from->uid);
    to->name = from->name.len > 0  ? flink_c_text(v->arena, from->name)
               : from->uid.len > 0 ? to->uid
                                   : arena_strdup(v->arena, to->id);
    to->parallelism = from->parallelism < 0 ? 0 : (uint32_t)from->parallelism;
    to->key_group_count = from->max_parallelism < 0 ? 0 : (uint32_t)from->max_parallelism;
    to->finished = from->finished;
    to->subtask_count = from->subtask_count;
    to->subtasks = ARENA_ARRAY(v->arena, from->subtask_count, struct subtask_state);
    for (size_t i = 0; i < from->subtask_count; i++) {
        const struct flink_subtask *s = &from->subtasks[i];

        to->subtasks[i] = (struct subtask_state){
            .subtask_index = s->index,
            .finished = s->finished,
            .keyed = ARENA_ARRAY(v->arena,
                                 handles_in(&s->managed_keyed) + handles_in(&s->raw_keyed),
                                 struct keyed_handle),
        };
    }
}

/* ---- the whole ------------------------------------------------------------------------------ */

static bool ends_with(struct bytes text, const char *end)
{
    return bytes_end_with(text, bytes_of_str(end));
}

/* By the properties; before version 4 there are none, and by the directory's name. */
static enum checkpoint_kind kind_of(const struct flink_metadata *m, const char *dir)
{
    const struct java_value *type =
        m->properties == NULL ? NULL : java_field(m->properties, "checkpointType");
    const struct java_value *action;

    if (type == NULL)
        return layout_is_savepoint(path_base(dir)) ? CHECKPOINT_SAVEPOINT : CHECKPOINT_PERIODIC;
    if (!ends_with(type->class_name, ".SavepointType"))
        return CHECKPOINT_PERIODIC;
    action = java_field(type, "postCheckpointAction");
    if (action != NULL && bytes_eq(action->text, bytes_of_str("SUSPEND")))
        return CHECKPOINT_SUSPEND;
    if (action != NULL && bytes_eq(action->text, bytes_of_str("TERMINATE")))
        return CHECKPOINT_TERMINATE;
    return CHECKPOINT_SAVEPOINT;
}

enum rc flink_view_make(struct fs *fs, const struct flink_metadata *m, const char *dir,
                        const struct rebase *rebase, int64_t written_wall_ms, struct arena *arena,
                        struct checkpoint_metadata *out, struct err *err)
{
    struct view v = {.fs = fs, .arena = arena, .out = out};
    struct fill fill = {.v = &v};
    char above[FS_PATH_MAX];
    enum rc rc;

    *out = (struct checkpoint_metadata){
        .flink = m,
        .checkpoint_id = (uint64_t)m->checkpoint_id,
        .kind = kind_of(m, dir),
        .job_name = "",
        .trigger_wall_ms = written_wall_ms,
        .completed_wall_ms = written_wall_ms,
        .varve_version = "",
        .rocksdb_version = "",
        .sql = "",
        .operator_count = m->operator_count,
        .operators = ARENA_ARRAY(arena, m->operator_count, struct operator_meta),
    };
    GOTO_IF_ERR(path_dir(above, sizeof above, dir, err));
    if (layout_is_job_id(path_base(above)))
        memcpy(out->job_id, path_base(above), sizeof out->job_id);
    for (size_t i = 0; i < m->operator_count; i++)
        make_operator(&v, &m->operators[i], &out->operators[i]);
    v.places = flink_places_new(fs, m, dir, rebase, arena);
    fill.op = out->operators;
    GOTO_IF_ERR(flink_metadata_each_stream(m, fill_stream, &fill, err));
    end_subtask(&fill);
out:
    mem_free(v.streams.items);
    mem_free(v.db.items);
    mem_free(v.seen);
    return rc;
}
