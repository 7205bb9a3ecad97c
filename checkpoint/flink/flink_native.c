/* flink_native.c - see flink_native.h */
#include "checkpoint/flink/flink_native.h"

#include "checkpoint/flink/flink_copy.h"
#include "checkpoint/flink/flink_metadata_write.h"
#include "checkpoint/flink/flink_prove.h"

struct origin { /* of a copied stream */
    struct bytes copy; /* its name there */
    const char *path;
};
struct native {
    const struct env *env;
    const struct flink_native_options *options;
    struct flink_native_result *result;
    struct arena *arena;
    struct flink_copy copy;
    struct flink_places *there; /* where the copies lie */
    struct rng rng;             /* ids of handles */
    uint64_t all_bytes;
    size_t origin_count, origin_cap;
    struct origin *origins;
};

/* ---- what can be copied ----------------------------------------------------------------------- */

#define ELSE_CANONICAL "; --to flink-savepoint takes it"
#define ELSE_FLINK "; let Flink take a savepoint"

/* NULL: it can. */
static const char *why_not(const struct flink_subtask *s)
{
    if (s->input_count > 0 || s->output_count > 0)
        return "rows in flight (an unaligned checkpoint), which a savepoint has none of: export an aligned "
               "checkpoint, or let Flink restore it and take a savepoint";
    switch (s->managed_keyed.tag) {
    case FLINK_KEYED_NONE:
    case FLINK_KEYED_INCREMENTAL:
    case FLINK_KEYED_INCREMENTAL_OLD:
        break;
    case FLINK_KEYED_SAVEPOINT:
        return "its keyed state is a canonical savepoint's stream, not files of a database" ELSE_CANONICAL;
    case FLINK_KEYED_GROUPS:
    case FLINK_KEYED_GROUPS_OLD:
        return "its keyed state is a stream (a heap's, or of an old version), not files of a "
               "database" ELSE_CANONICAL;
    default:
        return "its keyed state is a changelog, which a native savepoint has none of; --to "
               "flink-savepoint takes it if nothing was changed since it was materialized, else let Flink "
               "take a savepoint";
    }
    if (s->raw_keyed.tag != FLINK_KEYED_NONE && s->raw_keyed.groups == NULL)
        return "its raw keyed state is no stream of key groups" ELSE_FLINK;
    if (s->raw_keyed.groups != NULL && s->raw_keyed.groups->stream.tag == FLINK_STREAM_GROUPS)
        return "its raw keyed state is a stream inside a stream" ELSE_FLINK;
    if (s->managed.stream.tag == FLINK_STREAM_GROUPS || s->raw.stream.tag == FLINK_STREAM_GROUPS)
        return "its operator state is a stream inside a stream" ELSE_FLINK;
    return NULL;
}

static bool has_file(const struct flink_stream *s)
{
    return s->tag != FLINK_STREAM_NONE && s->tag != FLINK_STREAM_GROUPS;
}

static enum rc check_files(const struct flink_db_file *files, size_t count, struct arena *arena,
                           struct err *err)
{
    for (size_t i = 0; i < count; i++)
        if (!has_file(&files[i].stream))
            return err_set(err, RC_UNSUPPORTED, "%s of its database has no stream",
                           arena_escaped(arena, files[i].local_name, 200));
    return RC_OK;
}

static enum rc check_subtask(const struct flink_subtask *s, struct arena *arena, struct err *err)
{
    const struct flink_incremental *db = s->managed_keyed.incremental;
    const char *reason = why_not(s);

    if (reason != NULL)
        return err_set(err, RC_UNSUPPORTED, "%s", reason);
    if (db == NULL)
        return RC_OK;
    if (!has_file(&db->meta))
        return err_set(err, RC_UNSUPPORTED, "its database has no description");
    RETURN_IF_ERR(check_files(db->shared, db->shared_count, arena, err));
    return check_files(db->private, db->private_count, arena, err);
}

static enum rc wrap_operator(const struct flink_operator *op, uint32_t subtask, enum rc rc,
                             struct err *err)
{
    char id[2 * FLINK_ID_BYTES + 1];
    struct buf word = {0};

    flink_id_hex(op->id, id);
    buf_append_escaped(&word, op->uid.len > 0 ? op->uid : op->name, 200);
    err_wrap(err, rc, "operator %s subtask %u", word.len > 0 ? buf_cstr(&word) : id, subtask);
    buf_release(&word);
    return rc;
}

static enum rc check_forms(const struct flink_metadata *m, struct arena *arena, struct err *err)
{
    for (size_t i = 0; i < m->operator_count; i++)
        for (size_t s = 0; s < m->operators[i].subtask_count; s++) {
            const struct flink_subtask *subtask = &m->operators[i].subtasks[s];
            enum rc rc = check_subtask(subtask, arena, err);

            if (rc != RC_OK)
                return wrap_operator(&m->operators[i], subtask->index, rc, err);
        }
    return RC_OK;
}

static enum rc count_bytes(void *ctx, const struct flink_stream_use *use, struct err *err UNUSED)
{
    struct native *n = ctx;

    if (use->stream->size > 0)
        n->all_bytes += (uint64_t)use->stream->size;
    return RC_OK;
}

/* ---- copies ----------------------------------------------------------------------------------- */

static void remember(struct native *n, const struct flink_stream *from,
                     const struct flink_stream *copy)
{
    if (n->origin_count == n->origin_cap) {
        n->origin_cap = n->origin_cap == 0 ? 64 : 2 * n->origin_cap;
        n->origins = mem_realloc(n->origins, n->origin_cap * sizeof *n->origins);
    }
    n->origins[n->origin_count++] =
        (struct origin){copy->path, flink_place(n->copy.places, from)};
    if (n->options->progress != NULL)
        n->options->progress(n->options->progress_ctx, flink_target_bytes(n->copy.target),
                             n->all_bytes);
}

static enum rc copy_stream(struct native *n, const struct flink_stream *from,
                           struct flink_stream *out, struct err *err)
{
    RETURN_IF_ERR(flink_copy_stream(&n->copy, from, out, err));
    remember(n, from, out);
    return RC_OK;
}

static enum rc copy_lists(struct native *n, const struct flink_operator_state *from,
                          struct flink_operator_state *out, struct err *err)
{
    RETURN_IF_ERR(flink_copy_lists(&n->copy, from, out, err));
    if (out->tag != 0)
        remember(n, &from->stream, &out->stream);
    return RC_OK;
}

/* Flink writes a file of a checkpoint once. A segment is not a file; what is short belongs in `_metadata`. */
static bool can_link(const struct native *n, const struct flink_stream *s)
{
    return n->options->link && (s->tag == FLINK_STREAM_FILE || s->tag == FLINK_STREAM_RELATIVE) &&
           s->size > (int64_t)FLINK_INLINE_BYTES;
}

static enum rc link_or_copy(struct native *n, const struct flink_stream *from,
                            struct flink_stream *out, struct err *err)
{
    bool linked = false;

    if (can_link(n, from))
        RETURN_IF_ERR(flink_target_link(n->copy.target, flink_place(n->copy.places, from),
                                        (uint64_t)from->size, n->arena, &linked, out, err));
    if (!linked)
        return copy_stream(n, from, out, err);
    n->result->linked_bytes += (uint64_t)from->size;
    remember(n, from, out);
    return RC_OK;
}

static enum rc copy_files(struct native *n, const struct flink_db_file *from, size_t count,
                          struct flink_incremental *out, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        struct flink_db_file *to = &out->private[out->private_count++];

        to->local_name = from[i].local_name;
        RETURN_IF_ERR(link_or_copy(n, &from[i].stream, &to->stream, err));
        out->checkpointed_size += to->stream.size;
    }
    return RC_OK;
}

static struct bytes new_id(struct native *n)
{
    char id[UUID_LEN + 1];

    rng_uuid(&n->rng, id);
    return bytes_of_str(arena_strdup(n->arena, id));
}

/* All its files are its own, as Flink has it in a native savepoint. */
static enum rc copy_database(struct native *n, const struct flink_keyed *from,
                             struct flink_keyed *out, struct err *err)
{
    const struct flink_incremental *db = from->incremental;
    struct flink_incremental *to = ARENA_NEW(n->arena, struct flink_incremental);

    *to = (struct flink_incremental){.checkpoint_id = db->checkpoint_id,
                                     .backend_id = db->backend_id};
    to->private =
        ARENA_ARRAY(n->arena, db->shared_count + db->private_count + 1, struct flink_db_file);
    RETURN_IF_ERR(copy_stream(n, &db->meta, &to->meta, err));
    to->checkpointed_size = to->meta.size;
    RETURN_IF_ERR(copy_files(n, db->shared, db->shared_count, to, err));
    RETURN_IF_ERR(copy_files(n, db->private, db->private_count, to, err));
    *out = (struct flink_keyed){.tag = FLINK_KEYED_INCREMENTAL,
                                .range = from->range,
                                .handle_id = new_id(n),
                                .incremental = to};
    n->result->databases++;
    return RC_OK;
}

/* Timers of a heap beside the database, and what else only its operator reads. */
static enum rc copy_raw_keyed(struct native *n, const struct flink_keyed *from,
                              struct flink_keyed *out, struct err *err)
{
    const struct flink_stream *s = &from->groups->stream;

    *out = *from;
    if (s->tag == FLINK_STREAM_NONE || s->tag == FLINK_STREAM_EMPTY) {
        *out = (struct flink_keyed){.tag = FLINK_KEYED_NONE};
        return RC_OK;
    }
    out->groups = arena_copy(n->arena, from->groups, sizeof *from->groups);
    if (from->handle_id.len > 0)
        out->handle_id = new_id(n);
    return copy_stream(n, s, &out->groups->stream, err);
}

static enum rc copy_subtask(struct native *n, const struct flink_subtask *from,
                            struct flink_subtask *out, struct err *err)
{
    *out = *from;
    RETURN_IF_ERR(copy_lists(n, &from->managed, &out->managed, err));
    RETURN_IF_ERR(copy_lists(n, &from->raw, &out->raw, err));
    out->has_managed = out->managed.tag != 0;
    out->has_raw = out->raw.tag != 0;
    if (from->managed_keyed.tag != FLINK_KEYED_NONE)
        RETURN_IF_ERR(copy_database(n, &from->managed_keyed, &out->managed_keyed, err));
    if (from->raw_keyed.tag != FLINK_KEYED_NONE)
        RETURN_IF_ERR(copy_raw_keyed(n, &from->raw_keyed, &out->raw_keyed, err));
    return RC_OK;
}

static enum rc copy_operator(struct native *n, const struct flink_operator *from,
                             struct flink_operator *out, struct err *err)
{
    uint32_t subtask = 0;
    enum rc rc;

    *out = *from;
    out->subtasks = ARENA_ARRAY(n->arena, from->subtask_count + 1, struct flink_subtask);
    rc = flink_copy_coordinator(&n->copy, &from->coordinator, &out->coordinator, err);
    for (size_t s = 0; rc == RC_OK && s < from->subtask_count; s++) {
        subtask = from->subtasks[s].index;
        rc = copy_subtask(n, &from->subtasks[s], &out->subtasks[s], err);
    }
    return rc == RC_OK ? RC_OK : wrap_operator(from, subtask, rc, err);
}

/* ---- proof ------------------------------------------------------------------------------------ */

static const char *origin_of(const struct native *n, struct bytes copy)
{
    for (size_t i = 0; i < n->origin_count; i++)
        if (bytes_eq(n->origins[i].copy, copy))
            return n->origins[i].path[0] != '\0' ? n->origins[i].path : "bytes in _metadata";
    return "a coordinator's bytes in _metadata";
}

static enum rc prove(void *ctx, const struct flink_stream_use *use, struct err *err)
{
    struct native *n = ctx;
    struct flink_proof proof;

    flink_prove(n->env->fs, use, n->there, n->arena, &proof);
    if (proof.fault == NULL)
        return RC_OK;
    return wrap_operator(use->op, use->subtask != NULL ? use->subtask->index : 0,
                         err_set(err, RC_CORRUPT, "%s is damaged, says its copy: %s",
                                 origin_of(n, use->stream->path), proof.fault),
                         err);
}

static enum rc write_all(struct native *n, const struct flink_metadata *m, struct err *err)
{
    struct flink_metadata out = *m;
    struct buf encoded = {0};
    enum rc rc = RC_OK;

    out.operators = ARENA_ARRAY(n->arena, m->operator_count + 1, struct flink_operator);
    for (size_t i = 0; i < m->operator_count && rc == RC_OK; i++)
        rc = copy_operator(n, &m->operators[i], &out.operators[i], err);
    if (rc == RC_OK)
        rc = flink_metadata_each_stream(&out, prove, n, err);
    if (rc == RC_OK)
        rc = flink_metadata_encode(&out, FLINK_PROPERTIES_NATIVE, &encoded, err);
    if (rc == RC_OK)
        rc = flink_target_publish(n->copy.target, buf_bytes(&encoded), err);
    buf_release(&encoded);
    return rc;
}

enum rc flink_native_write(const struct env *env, const struct flink_metadata *m,
                           struct flink_places *places, const char *dir,
                           const struct flink_native_options *options,
                           struct flink_native_result *out, struct err *err)
{
    struct native n = {.env = env, .options = options, .result = out, .arena = arena_new(0)};
    struct flink_target *target = NULL;
    enum rc rc;

    *out = (struct flink_native_result){0};
    env_rng(env, "flink-handle", &n.rng);
    rc = check_forms(m, n.arena, err);
    if (rc == RC_OK)
        rc = flink_metadata_each_stream(m, count_bytes, &n, err);
    if (rc == RC_OK)
        rc = flink_target_open(env, dir, &target, err);
    if (rc == RC_OK) {
        n.copy = (struct flink_copy){env->fs, places, target, n.arena};
        n.there = flink_places_new(env->fs, NULL, dir, NULL, n.arena);
        rc = write_all(&n, m, err);
        if (rc != RC_OK)
            flink_target_abort(target);
        out->file_count = flink_target_files(target);
        out->bytes = flink_target_bytes(target);
    }
    flink_target_free(target);
    mem_free(n.origins);
    arena_free(n.arena);
    return rc == RC_OK ? RC_OK : err_wrap(err, rc, "export to %s", dir);
}
