/* Keyed state of an operator for another number of key groups. See flink_savepoint.h.
 *
 * Every entry of all its subtasks is read, its key hashed as Java does, its prefix replaced; a sorter
 * brings them into the order of the new groups. */
#include "checkpoint/flink/flink_hash.h"
#include "checkpoint/flink/flink_key.h"
#include "checkpoint/flink/flink_savepoint_priv.h"
#include "checkpoint/flink/flink_sorter.h"

struct regroup {
    struct flink_saving *v;
    const struct flink_operator *from;
    uint32_t count, prefix_len;
    struct flink_sorter *sorter;
    struct arena *arena; /* of one key */
    struct buf key;
    /* states of the operator, as the subtask with most of them describes them */
    struct buf description;
    size_t state_count;
    struct bytes *names; /* in the saving's arena */
};

/* ---- descriptions ---------------------------------------------------------------------------- */

static size_t states_of(const struct flink_parts *p)
{
    size_t count = 0;

    for (size_t i = 0; i < p->count; i++)
        count += flink_reader_states(p->parts[i].reader)->count;
    return count;
}

static const struct flink_state *state_of(const struct flink_parts *p, uint32_t id,
                                          const struct flink_states **of)
{
    for (size_t i = p->count; i-- > 0;)
        if (id >= p->parts[i].first_state) {
            *of = flink_reader_states(p->parts[i].reader);
            return &(*of)->states[id - p->parts[i].first_state];
        }
    return NULL;
}

static enum rc check_cut(const struct flink_parts *p, struct err *err)
{
    for (size_t i = 0; i < p->count; i++)
        if (flink_reader_states(p->parts[i].reader)->cut != NULL)
            return err_set(err, RC_UNSUPPORTED, "%s",
                           flink_reader_states(p->parts[i].reader)->cut);
    return RC_OK;
}

static enum rc describe(struct regroup *r, const struct flink_parts *p, struct err *err)
{
    const struct flink_states *of;

    RETURN_IF_ERR(check_cut(p, err));
    if (p->count == 0 || (r->names != NULL && states_of(p) <= r->state_count))
        return RC_OK;
    r->state_count = states_of(p);
    r->names = ARENA_ARRAY(r->v->arena, r->state_count + 1, struct bytes);
    for (uint32_t i = 0; i < r->state_count; i++)
        r->names[i] = arena_bytes_copy(r->v->arena, state_of(p, i, &of)->name);
    buf_clear(&r->description);
    flink_header_put(p->headers, p->count, &r->description);
    return RC_OK;
}

/* Where each state of a subtask is in the common description. */
static enum rc map_states(const struct regroup *r, const struct flink_parts *p, uint16_t *ids,
                          struct err *err)
{
    const struct flink_states *of;

    for (uint32_t i = 0; i < states_of(p); i++) {
        struct bytes name = state_of(p, i, &of)->name;
        size_t k = 0;

        while (k < r->state_count && !bytes_eq(r->names[k], name))
            k++;
        if (k == r->state_count)
            return err_set(err, RC_UNSUPPORTED,
                           "state \"%s\": no subtask has this and all other states, and their "
                           "descriptions cannot be put together",
                           (const char *)name.data);
        ids[i] = (uint16_t)k;
    }
    return RC_OK;
}

/* ---- entries --------------------------------------------------------------------------------- */

static bool hash_of(const struct flink_serializer *s, const struct flink_key *key, uint32_t *hash)
{
    if (flink_serializer_bare(s)->coding != FLINK_ROW_DATA)
        return flink_hash(s, &key->key, hash);
    return key->key_bytes.len % 8 == 4 && flink_key_row_hash(key, hash); /* its size before it */
}

static enum rc add_entry(struct regroup *r, const struct flink_parts *p,
                         const struct flink_part *part, const uint16_t *ids, struct err *err)
{
    uint32_t old_len = keygroup_prefix_len((uint32_t)r->from->max_parallelism), hash, group;
    const struct flink_states *of;
    const struct flink_state *s = state_of(p, flink_part_state(part), &of);
    struct flink_key key;

    arena_reset(r->arena);
    RETURN_IF_ERR(flink_key_read(of, s, old_len, part->key, r->arena, &key, err));
    if (key.opaque || of->key == NULL || !hash_of(of->key, &key, &hash))
        return err_set(err, RC_UNSUPPORTED,
                       "state \"%s\": the hash of its keys is known to their class alone, so they "
                       "can't go into other key groups",
                       (const char *)s->name.data);
    if (keygroup_of_hash(hash, (uint32_t)r->from->max_parallelism) != key.key_group)
        return err_set(err, RC_UNSUPPORTED,
                       "state \"%s\": a key lies in key group %u, not where its hash puts it: its "
                       "hash is another one",
                       (const char *)s->name.data, key.key_group);
    group = keygroup_of_hash(hash, r->count);
    buf_clear(&r->key);
    buf_reserve(&r->key, r->prefix_len);
    keygroup_put_prefix(r->key.data, r->prefix_len, group);
    r->key.len = r->prefix_len;
    buf_append(&r->key, part->key.data + old_len, part->key.len - old_len);
    return flink_sorter_add(r->sorter, ids[flink_part_state(part)], buf_bytes(&r->key), part->value,
                            err);
}

static enum rc add_subtask(struct regroup *r, const struct flink_subtask *from, struct err *err)
{
    const struct flink_savepoint_options *options = r->v->options;
    struct flink_part *next = NULL;
    struct flink_parts p;
    uint16_t *ids = NULL;
    enum rc rc = flink_parts_open(r->v, r->from, from, &p, err);

    if (rc == RC_OK) {
        ids = mem_calloc(states_of(&p) + 1, sizeof *ids);
        rc = map_states(r, &p, ids, err);
    }
    if (rc == RC_OK)
        rc = flink_parts_begin(&p, err);
    while (rc == RC_OK) {
        rc = flink_parts_next(&p, &next, err);
        if (rc != RC_OK || next == NULL)
            break;
        rc = add_entry(r, &p, next, ids, err);
    }
    r->v->done_groups += p.range.count;
    if (options->progress != NULL)
        options->progress(options->progress_ctx, r->v->done_groups, r->v->all_groups);
    mem_free(ids);
    flink_parts_close(&p);
    return rc;
}

/* ---- streams --------------------------------------------------------------------------------- */

struct pending {
    uint16_t state;
    struct bytes key, value;
};

static enum rc write_range(struct regroup *r, struct key_group_range range, struct pending *next,
                           struct flink_keyed *out, struct err *err)
{
    struct flink_range groups = {range.first, range.last - range.first + 1};
    struct flink_keyed_writing w = {0};
    enum rc rc = RC_OK;

    flink_keyed_begin(r->v, buf_bytes(&r->description), groups, r->count, out, &w);
    while (next->key.data != NULL &&
           keygroup_get_prefix(next->key.data, r->prefix_len) <= range.last) {
        GOTO_IF_ERR(flink_canonical_add(&w.stream, next->state, next->key, next->value, true, err));
        GOTO_IF_ERR(flink_sorter_next(r->sorter, &next->state, &next->key, &next->value, err));
    }
    rc = flink_keyed_end(r->v, &w, err);
out:
    flink_keyed_release(&w);
    return rc;
}

static enum rc write_all(struct regroup *r, struct flink_operator *out, struct err *err)
{
    struct pending next = {0};

    RETURN_IF_ERR(flink_sorter_end(r->sorter, err));
    RETURN_IF_ERR(flink_sorter_next(r->sorter, &next.state, &next.key, &next.value, err));
    for (uint32_t i = 0; i < (uint32_t)out->parallelism; i++) { /* ranges ascend with the index */
        struct flink_subtask *s = NULL;

        for (size_t k = 0; k < out->subtask_count; k++)
            s = out->subtasks[k].index == i ? &out->subtasks[k] : s;
        ASSERT(s != NULL);
        RETURN_IF_ERR(write_range(r, keygroup_range_of(i, (uint32_t)out->parallelism, r->count),
                                  &next, &s->managed_keyed, err));
    }
    return RC_OK;
}

/* All subtasks are there, none at its end: those can't take other keys. */
static enum rc check_subtasks(const struct flink_operator *op, struct err *err)
{
    size_t ended = 0;

    for (size_t i = 0; i < op->subtask_count; i++)
        ended += op->subtasks[i].finished;
    if (op->subtask_count == (size_t)op->parallelism && ended == 0)
        return RC_OK;
    return err_set(err, RC_UNSUPPORTED,
                   "of its %d subtasks %zu are in the snapshot, %zu of them at their end: those "
                   "can't take other keys",
                   op->parallelism, op->subtask_count, ended);
}

static enum rc regroup(struct regroup *r, struct flink_operator *out, struct err *err)
{
    for (size_t i = 0; i < r->from->subtask_count; i++) {
        struct flink_parts p;
        enum rc rc = flink_parts_open(r->v, r->from, &r->from->subtasks[i], &p, err);

        if (rc == RC_OK)
            rc = describe(r, &p, err);
        flink_parts_close(&p);
        if (rc != RC_OK)
            return rc;
    }
    if (r->names == NULL)
        return RC_OK;
    RETURN_IF_ERR(check_subtasks(r->from, err));
    for (size_t i = 0; i < r->from->subtask_count; i++)
        RETURN_IF_ERR(add_subtask(r, &r->from->subtasks[i], err));
    return write_all(r, out, err);
}

enum rc flink_savepoint_regroup(struct flink_saving *v, const struct flink_operator *from,
                                struct flink_operator *out, struct err *err)
{
    struct regroup r = {.v = v, .from = from, .count = (uint32_t)out->max_parallelism};
    enum rc rc;

    r.prefix_len = keygroup_prefix_len(r.count);
    r.arena = arena_new(0);
    r.sorter =
        flink_sorter_new(v->env->fs, v->options->scratch_dir, r.prefix_len, FLINK_CANONICAL_SORT);
    rc = regroup(&r, out, err);
    flink_sorter_free(r.sorter);
    buf_release(&r.key);
    buf_release(&r.description);
    arena_free(r.arena);
    return rc;
}
