/* flink_prove_meaning.c - see flink_prove_meaning.h */
#include "checkpoint/flink/flink_prove_meaning.h"

#include "checkpoint/flink/flink_entry_check.h"
#include "checkpoint/flink/flink_keyed.h"
#include "checkpoint/flink/flink_lists.h"

static const char *shown_name(struct arena *arena, struct bytes name)
{
    return arena_escaped(arena, name, 100);
}

static enum rc check_entries(struct flink_reader *r, uint32_t key_group_count, struct err *err)
{
    const struct flink_states *states = flink_reader_states(r);
    struct flink_entry_check *check = flink_entry_check_new(states, key_group_count);
    struct flink_scan *scan = NULL;
    struct bytes key, value;
    enum rc rc = RC_OK;

    if (states->count == 0)
        goto out;
    GOTO_IF_ERR(flink_scan_open(r, FLINK_ALL_STATES,
                                (struct key_group_range){0, key_group_count - 1},
                                (struct bytes){0}, &scan, err));
    for (;;) {
        GOTO_IF_ERR(flink_scan_next(scan, &key, &value, err));
        if (key.data == NULL)
            break;
        if (flink_entry_check(check, &states->states[flink_scan_state(scan)], key, NULL, err) !=
            FLINK_ENTRY_FINE) {
            rc = err->rc;
            break;
        }
    }
out:
    flink_scan_close(scan);
    flink_entry_check_free(check);
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
    struct flink_reader *r;
    enum rc rc = RC_OK;

    RETURN_IF_ERR(flink_reader_open(&from, &r, err));
    if (flink_reader_form(r) != FLINK_FORM_DATABASE)
        rc = check_entries(r, from.key_group_count, err);
    if (rc == RC_OK)
        rc = told_all(flink_reader_states(r), err);
    flink_reader_close(r);
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
