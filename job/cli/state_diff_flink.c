/* state_diff_flink.c - varve diff --state on two snapshots that Flink wrote. See state_diff.h */
#include "checkpoint/flink/flink_difference.h"
#include "checkpoint/flink/flink_list_difference.h"
#include "checkpoint/snapshot_read.h"
#include "job/cli/state_diff_priv.h"

#include <inttypes.h>

/* The two, and an operator of theirs. */
struct flink_sides {
    struct comparing *c;
    const struct flink_metadata *metas[2];
    struct flink_places *places[2];
    const char *scratch[2];
    const struct flink_operator *ops[2];
    struct flink_source *sources[2];
};

static const struct flink_operator *find_operator(const struct flink_metadata *m,
                                                  const struct flink_operator *like)
{
    for (size_t i = 0; i < m->operator_count; i++)
        if (memcmp(m->operators[i].id, like->id, FLINK_ID_BYTES) == 0)
            return &m->operators[i];
    return NULL;
}

/* That of the second, where it has one. */
static const struct flink_operator *newer(const struct flink_sides *s)
{
    return s->ops[1] != NULL ? s->ops[1] : s->ops[0];
}

static struct bytes word_of(const struct flink_sides *s, char id[2 * FLINK_ID_BYTES + 1])
{
    const struct flink_operator *op = newer(s);

    flink_id_hex(op->id, id);
    return op->uid.len > 0 ? op->uid : op->name.len > 0 ? op->name : bytes_of_str(id);
}

static const char *shown(const struct flink_sides *s, struct bytes text)
{
    return arena_escaped(s->c->cli->arena, text, 200);
}

/* What neither count nor difference can know, is said. */
static void say_left_out(const struct flink_sides *s, int side)
{
    const struct flink_source *source = s->sources[side];
    char id[2 * FLINK_ID_BYTES + 1];
    const char *op = shown(s, word_of(s, id));
    struct cli *cli = s->c->cli;

    if (flink_source_changes(source) > 0)
        cli_say(cli, "%c: operator %s: %zu changelogs are left out", "AB"[side], op,
                flink_source_changes(source));
    if (flink_source_cut(source) != NULL)
        cli_say(cli, "%c: operator %s: this state and those behind it are left out: %s", "AB"[side],
                op, flink_source_cut(source));
    if (flink_source_unreadable(source) > 0)
        cli_say(cli, "%c: operator %s: raw keyed state of %zu subtasks is left out", "AB"[side], op,
                flink_source_unreadable(source));
}

static void print_types(const struct flink_source_state *s, struct buf *out)
{
    const struct flink_serializer *all[] = {s->key, s->state->namespace, s->state->user_key,
                                            s->state->value};

    buf_append_str(out, flink_state_word(s->state));
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (all[i] != NULL) {
            buf_append_str(out, " ");
            flink_serializer_print(all[i], out);
        }
}

/* Bytes of other types differ although they may mean the same. */
static void say_other_types(const struct flink_sides *s, struct bytes name)
{
    struct buf texts[2] = {{0}, {0}};
    const struct flink_source_state *states[2];

    for (int side = 0; side < 2; side++) {
        states[side] = s->sources[side] == NULL ? NULL : flink_source_find(s->sources[side], name);
        if (states[side] != NULL)
            print_types(states[side], &texts[side]);
    }
    if (states[0] != NULL && states[1] != NULL &&
        !bytes_eq(buf_bytes(&texts[0]), buf_bytes(&texts[1])))
        cli_say(s->c->cli, "state %s: its types have changed from %s to %s", shown(s, name),
                buf_cstr(&texts[0]), buf_cstr(&texts[1]));
    buf_release(&texts[0]);
    buf_release(&texts[1]);
}

static enum rc compare_state(struct flink_sides *s, struct bytes name, struct err *err)
{
    char id[2 * FLINK_ID_BYTES + 1];
    struct bytes word = word_of(s, id);
    struct entry_sum sums[ENTRY_CHANGES];
    enum rc rc;

    say_other_types(s, name);
    rc = flink_difference(s->sources[0], s->sources[1], name, (uint32_t)newer(s)->max_parallelism,
                          sums, err);
    return rc == RC_OK ? diff_put_row(s->c, word, name, sums, id, err)
                       : err_wrap(err, rc, "state %s", shown(s, name));
}

/* The second's states in their order, then what is gone. */
static enum rc compare_states(struct flink_sides *s, struct err *err)
{
    const struct flink_source_state *states[2] = {NULL, NULL};
    size_t counts[2] = {0, 0};
    char id[2 * FLINK_ID_BYTES + 1];

    for (int side = 0; side < 2; side++)
        if (s->sources[side] != NULL)
            counts[side] = flink_source_states(s->sources[side], &states[side]);
    if (counts[0] > 0 && counts[1] > 0)
        RETURN_IF_ERR(diff_check_groups(shown(s, word_of(s, id)),
                                        (uint32_t)s->ops[0]->max_parallelism,
                                        (uint32_t)s->ops[1]->max_parallelism, err));
    for (int side = 1; side >= 0; side--)
        for (size_t i = 0; i < counts[side]; i++) {
            struct bytes name = states[side][i].state->name;

            if (side == 0 && s->sources[1] != NULL && flink_source_find(s->sources[1], name) != NULL)
                continue;
            RETURN_IF_ERR(compare_state(s, name, err));
        }
    return RC_OK;
}

/* ---- state without keys ---------------------------------------------------------------------- */

static void say_of_list(const struct flink_sides *s, struct bytes name,
                        const struct flink_list_side sides[2])
{
    char id[2 * FLINK_ID_BYTES + 1];
    const char *op = shown(s, word_of(s, id));
    struct cli *cli = s->c->cli;

    for (int side = 0; side < 2; side++) {
        if (sides[side].whole)
            cli_say(cli, "%c: operator %s: state %s is compared as a whole: nobody can tell its "
                    "entries apart", "AB"[side], op, shown(s, name));
        if (sides[side].copies_differ)
            cli_say(cli, "%c: operator %s: state %s: the subtasks' copies are not the same; the "
                    "first is compared", "AB"[side], op, shown(s, name));
    }
    if (sides[0].word != NULL && sides[1].word != NULL && strcmp(sides[0].word, sides[1].word) != 0)
        cli_say(cli, "operator %s: state %s has changed from %s to %s", op, shown(s, name),
                sides[0].word, sides[1].word);
}

static enum rc compare_list(struct flink_sides *s, struct bytes name, struct err *err)
{
    struct flink_list_side sides[2] = {{s->ops[0], s->places[0], NULL, false, false},
                                       {s->ops[1], s->places[1], NULL, false, false}};
    char id[2 * FLINK_ID_BYTES + 1];
    struct bytes word = word_of(s, id);
    struct entry_sum sums[ENTRY_CHANGES];
    enum rc rc = flink_list_difference(s->c->cli->env.fs, sides, name, sums, err);

    if (rc != RC_OK)
        return err_wrap(err, rc, "operator %s: state %s", shown(s, word), shown(s, name));
    say_of_list(s, name, sides);
    return diff_put_row(s->c, word, name, sums, id, err);
}

/* Whether a subtask before this one, or this one before that list, has a list of its name. */
static bool is_known(const struct flink_operator *op, size_t subtask, size_t list,
                     struct bytes name)
{
    for (size_t i = 0; op != NULL && i <= subtask && i < op->subtask_count; i++)
        for (size_t k = 0; k < op->subtasks[i].managed.list_count && (i < subtask || k < list); k++)
            if (bytes_eq(op->subtasks[i].managed.lists[k].name, name))
                return true;
    return false;
}

/* The second's in their order, then what is gone. */
static enum rc compare_lists(struct flink_sides *s, struct err *err)
{
    for (int side = 1; side >= 0; side--) {
        const struct flink_operator *op = s->ops[side];

        for (size_t i = 0; op != NULL && i < op->subtask_count; i++)
            for (size_t k = 0; k < op->subtasks[i].managed.list_count; k++) {
                struct bytes name = op->subtasks[i].managed.lists[k].name;

                if (!is_known(op, i, k, name) &&
                    !(side == 0 && is_known(s->ops[1], SIZE_MAX, 0, name)))
                    RETURN_IF_ERR(compare_list(s, name, err));
            }
    }
    return RC_OK;
}

/* ---- operators ------------------------------------------------------------------------------- */

static enum rc compare_operator(struct flink_sides *s, const struct flink_operator *like,
                                struct err *err)
{
    enum rc rc = RC_OK;

    for (int side = 0; side < 2 && rc == RC_OK; side++) {
        s->ops[side] = find_operator(s->metas[side], like);
        s->sources[side] = NULL;
        if (s->ops[side] == NULL || s->ops[side]->finished)
            continue;
        rc = flink_source_open(s->c->cli->env.fs, s->ops[side], s->places[side], s->scratch[side],
                               &s->sources[side], err);
        if (rc == RC_OK)
            say_left_out(s, side);
    }
    if (rc == RC_OK && (s->sources[0] != NULL || s->sources[1] != NULL)) {
        flink_source_watch(s->sources[s->sources[1] != NULL], diff_show_progress, s->c->meter);
        rc = compare_states(s, err);
    }
    if (rc == RC_OK)
        rc = compare_lists(s, err);
    flink_source_close(s->sources[0]);
    flink_source_close(s->sources[1]);
    return rc;
}

/* An operator whose keys nobody can read does not hide the others; it is an error in the end. */
static enum rc compare_all(struct flink_sides *s, struct err *err)
{
    enum rc unsupported = RC_OK;

    for (int side = 1; side >= 0; side--)
        for (size_t i = 0; i < s->metas[side]->operator_count; i++) {
            const struct flink_operator *op = &s->metas[side]->operators[i];
            struct err why = {0};
            enum rc rc;

            if (side == 0 && find_operator(s->metas[1], op) != NULL)
                continue;
            rc = compare_operator(s, op, &why);
            if (rc != RC_OK && rc != RC_UNSUPPORTED)
                return err_set(err, rc, "%s", why.msg);
            if (rc == RC_UNSUPPORTED && unsupported == RC_OK)
                unsupported = err_set(err, rc, "%s", why.msg);
        }
    return unsupported;
}

enum rc diff_flink(struct comparing *c, const char *const dirs[2], struct err *err)
{
    struct flink_sides s = {.c = c};
    struct arena *arena = c->cli->arena;
    struct fs *fs = c->cli->env.fs;
    enum rc rc, written;

    for (int side = 0; side < 2; side++) {
        struct checkpoint_metadata *m = ARENA_NEW(arena, struct checkpoint_metadata);
        uint64_t bytes;

        RETURN_IF_ERR(snapshot_read(fs, dirs[side], &c->cli->rebase, arena, m, &bytes, err));
        s.metas[side] = m->flink;
        s.places[side] = flink_places_new(fs, m->flink, dirs[side], &c->cli->rebase, arena);
        cli_say(c->cli, "%c  %s", "AB"[side], dirs[side]);
        RETURN_IF_ERR(diff_scratch(c, side, &s.scratch[side], err));
    }
    rc = compare_all(&s, err);
    written = row_writer_finish(c->rows, rc == RC_OK ? err : NULL);
    return rc == RC_OK ? written : rc;
}
