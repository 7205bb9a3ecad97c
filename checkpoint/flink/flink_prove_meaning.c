/* flink_prove_meaning.c - see flink_prove_meaning.h */
#include "checkpoint/flink/flink_prove_meaning.h"

#include "checkpoint/flink/flink_hash.h"
#include "checkpoint/flink/flink_key.h"
#include "checkpoint/flink/flink_keyed.h"
#include "checkpoint/flink/flink_lists.h"

#define ROWS_TRIED 4u

/* A stream of keyed state under way. Rows of SQL have a hash of their own bytes; of rows that a program
 * put together itself they have another, which cannot be seen: so the first few decide. */
struct entries {
    struct flink_reader *reader;
    const struct flink_states *states;
    uint32_t key_group_count;
    struct arena *arena; /* of one key */
    unsigned rows_fit;
    bool rows_differ;
};

static const char *shown_name(struct arena *arena, struct bytes name)
{
    return arena_escaped(arena, name, 100);
}

/* false: its hash is its own class's affair. */
static bool group_of(struct entries *e, const struct flink_key *key, uint32_t *group)
{
    bool row = flink_serializer_bare(e->states->key)->coding == FLINK_ROW_DATA;
    uint32_t hash;

    if (row && (e->rows_differ || !flink_key_row_hash(key, &hash)))
        return false;
    if (!row && !flink_hash(e->states->key, &key->key, &hash))
        return false;
    *group = keygroup_of_hash(hash, e->key_group_count);
    if (row && e->rows_fit < ROWS_TRIED) {
        e->rows_differ = *group != key->key_group;
        e->rows_fit++;
        return false;
    }
    return true;
}

static enum rc check_entry(struct entries *e, const struct flink_state *s, struct bytes bytes,
                           struct err *err)
{
    uint32_t prefix_len = keygroup_prefix_len(e->key_group_count), group;
    struct flink_key key;
    enum rc rc;

    arena_reset(e->arena);
    rc = flink_key_read(e->states, s, prefix_len, bytes, e->arena, &key, err);
    if (rc != RC_OK)
        return err_wrap(err, rc, "state \"%s\", key group %u", shown_name(e->arena, s->name),
                        keygroup_get_prefix(bytes.data, prefix_len));
    if (key.opaque || !group_of(e, &key, &group) || group == key.key_group)
        return RC_OK;
    return err_set(err, RC_CORRUPT,
                   "state \"%s\": a key of key group %u lies in key group %u, where Flink would "
                   "never find it",
                   shown_name(e->arena, s->name), group, key.key_group);
}

static enum rc check_entries(struct entries *e, struct err *err)
{
    struct flink_scan *scan = NULL;
    struct bytes key, value;
    enum rc rc;

    if (e->states->count == 0)
        return RC_OK;
    GOTO_IF_ERR(flink_scan_open(e->reader, FLINK_ALL_STATES,
                                (struct key_group_range){0, e->key_group_count - 1},
                                (struct bytes){0}, &scan, err));
    for (;;) {
        GOTO_IF_ERR(flink_scan_next(scan, &key, &value, err));
        if (key.data == NULL)
            break;
        GOTO_IF_ERR(check_entry(e, &e->states->states[flink_scan_state(scan)], key, err));
    }
out:
    flink_scan_close(scan);
    return rc;
}

static enum rc told_all(const struct flink_states *states, struct err *err)
{
    const struct flink_serializer *unknown = flink_states_assumed(states);
    struct buf name = {0};

    if (states->cut != NULL)
        return err_set(err, RC_UNSUPPORTED, "%s", states->cut);
    if (unknown == NULL)
        return RC_OK;
    buf_append_escaped(&name, unknown->snapshot_class, 200);
    err_set(err, RC_UNSUPPORTED, "the serializer %s is not known", buf_cstr(&name));
    buf_release(&name);
    return RC_UNSUPPORTED;
}

static enum rc prove_keyed(struct fs *fs, const struct flink_stream_use *use,
                           struct flink_places *places, struct err *err)
{
    struct flink_keyed_source from = {.fs = fs,
                                      .places = places,
                                      .scratch_dir = "", /* of a database the description alone is read */
                                      .handle = use->keyed,
                                      .raw = use->raw,
                                      .key_group_count = (uint32_t)use->op->max_parallelism};
    struct entries e = {.key_group_count = from.key_group_count};
    enum rc rc;

    RETURN_IF_ERR(flink_reader_open(&from, &e.reader, err));
    e.states = flink_reader_states(e.reader);
    e.arena = arena_new(0);
    rc = flink_reader_form(e.reader) == FLINK_FORM_DATABASE ? RC_OK : check_entries(&e, err);
    if (rc == RC_OK)
        rc = told_all(e.states, err);
    arena_free(e.arena);
    flink_reader_close(e.reader);
    return rc;
}

/* ---- operator state -------------------------------------------------------------------------- */

static enum rc check_list(struct flink_lists *l, const struct flink_list *list, struct arena *arena,
                          struct err *err)
{
    struct flink_value value;
    struct bytes bytes;
    enum rc rc = RC_OK;

    if (flink_lists_state(l, list) == NULL && list->offset_count > 0 &&
        flink_lists_states(l)->cut == NULL)
        return err_set(err, RC_CORRUPT, "list \"%s\" has no description: Flink refuses it",
                       shown_name(arena, list->name));
    for (size_t i = 0; i < list->offset_count && rc == RC_OK; i++) {
        arena_reset(arena);
        rc = flink_lists_item(l, list, i, arena, &bytes, &value, err);
    }
    return rc == RC_OK ? RC_OK
                       : err_wrap(err, rc, "list \"%s\"", shown_name(arena, list->name));
}

static enum rc prove_lists(struct fs *fs, const struct flink_stream_use *use,
                           struct flink_places *places, struct err *err)
{
    struct arena *arena = arena_new(0);
    struct flink_lists *l = NULL;
    enum rc rc;

    GOTO_IF_ERR(flink_lists_open(fs, places, use->lists, &l, err));
    for (size_t i = 0; i < use->lists->list_count; i++)
        GOTO_IF_ERR(check_list(l, &use->lists->lists[i], arena, err));
    rc = told_all(flink_lists_states(l), err);
out:
    flink_lists_close(l);
    arena_free(arena);
    return rc;
}

enum rc flink_prove_meaning(struct fs *fs, const struct flink_stream_use *use,
                            struct flink_places *places, struct err *err)
{
    return use->role == FLINK_ROLE_OPERATOR_STATE ? prove_lists(fs, use, places, err)
                                                  : prove_keyed(fs, use, places, err);
}
