/* flink_edit.c - see flink_edit.h */
#include "checkpoint/flink/flink_edit.h"

#include "base/nearest.h"
#include "base/utf8.h"
#include "checkpoint/flink/data_output.h"
#include "checkpoint/flink/flink_uid.h"

#include <stdlib.h>
#include <strings.h>

#define ID_TEXT (2 * FLINK_ID_BYTES + 1)
#define LISTED_MAX 20u    /* operators in a message */
#define NAME_MAX_SHOWN 60u

struct edit {
    const struct flink_metadata *m;
    struct arena *arena;
    struct flink_operator *operators; /* a copy of each */
    const char **by;                  /* what edits it already; NULL: nothing */
    bool *dropped;
};

static bool fits(struct bytes uid)
{
    struct buf b = {0};
    bool fits = data_put_utf(&b, uid);

    buf_release(&b);
    return fits;
}

enum rc flink_rename_parse(const char *text, struct arena *arena, struct flink_rename *out,
                           struct err *err)
{
    const char *at = strchr(text, '=');

    if (at == NULL || at == text || at[1] == '\0')
        return err_set(err, RC_INVALID, "\"%s\" is no OLD=NEW: a uid or id, and the new uid", text);
    if (!utf8_is_valid(bytes_of_str(at + 1)))
        return err_set(err, RC_INVALID, "the new uid of \"%s\" is no UTF-8", text);
    if (!fits(bytes_of_str(at + 1)))
        return err_set(err, RC_LIMIT, "the new uid has more than the 65535 bytes that Flink takes");
    *out = (struct flink_rename){arena_strndup(arena, text, (size_t)(at - text)), at + 1};
    return RC_OK;
}

/* ---- which operator is meant ------------------------------------------------------------------ */

/* Its uid; its name and id where no uid is kept. */
static const char *shown(const struct flink_operator *op, struct arena *arena)
{
    char id[ID_TEXT];

    if (op->uid.len > 0)
        return arena_escaped(arena, op->uid, NAME_MAX_SHOWN);
    flink_id_hex(op->id, id);
    if (op->name.len == 0)
        return arena_strdup(arena, id);
    return arena_printf(arena, "%s (%s)", id, arena_escaped(arena, op->name, NAME_MAX_SHOWN));
}

static enum rc unknown(const struct edit *e, const char *option, const char *word, struct err *err)
{
    const char **uids = ARENA_ARRAY(e->arena, e->m->operator_count + 1, const char *);
    struct buf list = {0};
    const char *near;
    size_t count = 0;

    for (size_t i = 0; i < e->m->operator_count; i++) {
        const struct flink_operator *op = &e->m->operators[i];

        if (op->uid.len > 0)
            uids[count++] = shown(op, e->arena);
        if (i < LISTED_MAX)
            buf_printf(&list, "%s%s", i > 0 ? ", " : "", shown(op, e->arena));
    }
    if (e->m->operator_count > LISTED_MAX)
        buf_printf(&list, " and %zu more", e->m->operator_count - LISTED_MAX);
    near = nearest_of(word, uids, count);
    err_set(err, RC_NOT_FOUND, "%s: there is no operator \"%s\"%s%s%s; there are: %s", option, word,
            near != NULL ? "; did you mean " : "", near != NULL ? near : "",
            near != NULL ? "?" : "", list.len > 0 ? buf_cstr(&list) : "none");
    buf_release(&list);
    return RC_NOT_FOUND;
}

/* A uid goes before a hash, and that before an id: a uid can look like an id. */
static enum rc find(const struct edit *e, const char *option, const char *word, size_t *out,
                    struct err *err)
{
    struct bytes uid = bytes_of_str(word);
    size_t count = e->m->operator_count, by_hash = count, by_id = count;
    uint8_t hash[FLINK_ID_BYTES];
    char id[ID_TEXT];

    flink_id_of_uid(uid, hash);
    for (size_t i = 0; i < count; i++) {
        const struct flink_operator *op = &e->m->operators[i];

        if (uid.len > 0 && bytes_eq(op->uid, uid)) {
            *out = i;
            return RC_OK;
        }
        flink_id_hex(op->id, id);
        if (memcmp(op->id, hash, sizeof hash) == 0)
            by_hash = i;
        else if (strcasecmp(id, word) == 0)
            by_id = i;
    }
    *out = by_hash < count ? by_hash : by_id;
    return *out < count ? RC_OK : unknown(e, option, word, err);
}

/* ---- edits ------------------------------------------------------------------------------------ */

static enum rc take(struct edit *e, const char *option, const char *word, size_t *at,
                    struct err *err)
{
    RETURN_IF_ERR(find(e, option, word, at, err));
    if (e->by[*at] != NULL)
        return err_set(err, RC_INVALID, "%s %s: operator %s has %s already", option, word,
                       shown(&e->m->operators[*at], e->arena), e->by[*at]);
    e->by[*at] = option;
    return RC_OK;
}

static enum rc rename_one(struct edit *e, const struct flink_rename *r, struct err *err)
{
    struct flink_operator *op;
    size_t at;

    RETURN_IF_ERR(take(e, "--rename", r->operator, &at, err));
    op = &e->operators[at];
    op->uid = bytes_of_str(arena_strdup(e->arena, r->uid));
    flink_id_of_uid(op->uid, op->id);
    return RC_OK;
}

static int by_id(const void *a, const void *b)
{
    return memcmp((*(const struct flink_operator *const *)a)->id,
                  (*(const struct flink_operator *const *)b)->id, FLINK_ID_BYTES);
}

/* Of what is left. */
static enum rc check_ids(const struct edit *e, const struct flink_metadata *out, struct err *err)
{
    const struct flink_operator **sorted =
        ARENA_ARRAY(e->arena, out->operator_count + 1, const struct flink_operator *);
    char id[ID_TEXT];

    for (size_t i = 0; i < out->operator_count; i++)
        sorted[i] = &out->operators[i];
    qsort(sorted, out->operator_count, sizeof(struct flink_operator *), by_id);
    for (size_t i = 1; i < out->operator_count; i++) {
        const struct flink_operator *named = sorted[i]->uid.len > 0 ? sorted[i] : sorted[i - 1];

        if (by_id(&sorted[i - 1], &sorted[i]) != 0)
            continue;
        flink_id_hex(named->id, id);
        return err_set(err, RC_EXISTS,
                       "--rename: two operators would have id %s, which is that of uid %s", id,
                       shown(named, e->arena));
    }
    return RC_OK;
}

static enum rc edit_all(struct edit *e, const struct flink_edits *edits, struct err *err)
{
    size_t at;

    for (size_t i = 0; i < edits->drop_count; i++) {
        RETURN_IF_ERR(take(e, "--drop", edits->drops[i], &at, err));
        e->dropped[at] = true;
    }
    for (size_t i = 0; i < edits->rename_count; i++)
        RETURN_IF_ERR(rename_one(e, &edits->renames[i], err));
    return RC_OK;
}

enum rc flink_edit(const struct flink_metadata *m, const struct flink_edits *edits,
                   struct arena *arena, struct flink_metadata *out, struct err *err)
{
    struct edit e = {.m = m, .arena = arena};
    size_t left = 0;

    *out = *m;
    if (edits->drop_count + edits->rename_count == 0)
        return RC_OK;
    e.operators = arena_copy(arena, m->operators, m->operator_count * sizeof *m->operators);
    e.by = ARENA_ARRAY(arena, m->operator_count + 1, const char *);
    e.dropped = ARENA_ARRAY(arena, m->operator_count + 1, bool);
    RETURN_IF_ERR(edit_all(&e, edits, err));
    for (size_t i = 0; i < m->operator_count; i++)
        if (!e.dropped[i])
            e.operators[left++] = e.operators[i];
    if (left == 0)
        return err_set(err, RC_INVALID, "--drop: no operator would be left");
    out->operators = e.operators;
    out->operator_count = left;
    if (edits->rename_count == 0)
        return RC_OK;
    return check_ids(&e, out, err);
}
