/* flink_draft.c - see flink_draft.h. What is guessed is said: a name, or a place in a row. */
#include "checkpoint/flink/flink_draft.h"

#include "checkpoint/flink/flink_convert.h"
#include "checkpoint/flink/flink_fit.h"
#include "checkpoint/flink/flink_source.h"
#include "checkpoint/flink/flink_totals.h"
#include "checkpoint/flink/flink_uid.h"
#include "checkpoint/flink/flink_windows.h"

#include <stdlib.h>
#include <strings.h>

#define DISTINCT_PREFIX "distinctAcc_"
#define TEXT_PREFIX "acc_"

struct draft {
    const struct import_request *r;
    struct arena *arena;
    struct buf *out;
    bool *taken; /* by operator of the job */
    /* of the operator under way */
    const struct flink_operator *from;
    const struct import_operator *to;
    size_t state_count;
    const struct flink_source_state *states;
    bool *mentioned; /* by state of Flink's */
    size_t texts;    /* fields of text that calls have taken */
};

/* ---- YAML ------------------------------------------------------------------------------------ */

/* A key or name; in quotes where YAML might take it for something else. */
static void put_word(struct buf *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789./()*$-";
    static const char *const others[] = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"};
    struct flink_value text = {.kind = FLINK_VALUE_TEXT, .text = bytes_of_str(word)};
    bool quote = word[strspn(word, plain)] != '\0' ||
                 (!(word[0] >= 'a' && word[0] <= 'z') && !(word[0] >= 'A' && word[0] <= 'Z') &&
                  word[0] != '_');

    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        quote = quote || strcasecmp(word, others[i]) == 0;
    if (quote)
        flink_value_json(&text, out); /* YAML's double quotes are JSON's */
    else
        buf_append_str(out, word);
}

static void put_comment(struct buf *out, const char *text)
{
    struct buf shown = {0};

    buf_append_escaped(&shown, bytes_of_str(text), 1000);
    buf_append_str(out, buf_cstr(&shown));
    buf_release(&shown);
}

static const char *shown(const struct draft *d, const struct flink_serializer *s)
{
    struct buf text = {0};
    const char *out;

    if (s == NULL)
        return "not recorded";
    flink_serializer_print(s, &text);
    out = arena_strdup(d->arena, buf_cstr(&text));
    buf_release(&text);
    return out;
}

/* ---- columns --------------------------------------------------------------------------------- */

static bool is_open(const struct flink_serializer *s)
{
    enum flink_coding c = flink_serializer_bare(s)->coding;

    return c != FLINK_SIZED && c != FLINK_OPAQUE && c != FLINK_VOID; /* SQL keeps a place for a map that lies elsewhere */
}

/* The argument of "SUM(v)"; NULL: of a call that is no value of it. */
static const char *argument_of(const struct draft *d, const char *name)
{
    static const char *const calls[] = {"SUM(", "AVG(", "MIN(", "MAX(", "FIRST_VALUE(", "LAST_VALUE("};
    size_t len = strlen(name);

    for (size_t i = 0; i < ARRAY_LEN(calls); i++)
        if (strncmp(name, calls[i], strlen(calls[i])) == 0 && name[len - 1] == ')')
            return arena_strndup(d->arena, name + strlen(calls[i]), len - strlen(calls[i]) - 1);
    return strpbrk(name, "($") == NULL ? name : NULL;
}

static const struct path_leaf *by_name(const struct draft *d, const struct convert_ask *ask,
                                       const struct path_leaf *leaves, size_t count)
{
    const char *name = argument_of(d, ask->name), *last;

    for (size_t i = 0; name != NULL && i < count; i++) {
        last = strrchr(leaves[i].path, '.');
        if (last != NULL && leaves[i].named && strcasecmp(last + 1, name) == 0 &&
            flink_cast_fits(leaves[i].serializer, &ask->type))
            return &leaves[i];
    }
    return NULL;
}

/* Each in its place: out[i] of asks; false: they are not as many, or one does not fit. Texts of totals
 * have states of their own. */
static bool by_place(const struct convert_ask *asks, size_t ask_count,
                     const struct path_leaf *leaves, size_t leaf_count, bool totals,
                     const struct path_leaf **out)
{
    struct cast_type text;
    size_t at = 0;

    (void)cast_type_parse("STRING", &text);
    for (size_t i = 0; i < ask_count; i++) {
        if (asks[i].same_as > 0) {
            out[i] = out[asks[i].same_as - 1];
            continue;
        }
        while (at < leaf_count && (!is_open(leaves[at].serializer) ||
                                   (totals && flink_cast_fits(leaves[at].serializer, &text))))
            at++;
        if (at == leaf_count || !flink_cast_fits(leaves[at].serializer, &asks[i].type))
            return false;
        out[i] = &leaves[at++];
    }
    for (; at < leaf_count; at++)
        if (is_open(leaves[at].serializer) &&
            !(totals && flink_cast_fits(leaves[at].serializer, &text)))
            return false;
    return true;
}

static void put_choice(struct draft *d, const char *indent, const struct path_leaf *leaves, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is_open(leaves[i].serializer)) {
            buf_printf(d->out, "%s#   %s: ", indent, leaves[i].path);
            put_comment(d->out, shown(d, leaves[i].serializer));
            buf_append_u8(d->out, '\n');
        }
}

/* "key:" and its columns, at this indent. */
static void put_columns(struct draft *d, const char *what, const struct convert_ask *asks,
                        size_t count, const struct flink_serializer *s, bool totals)
{
    static const char indent[] = "          ";
    const struct path_leaf *leaves;
    size_t leaf_count = flink_path_leaves(what, s, d->arena, &leaves);
    const struct path_leaf **found = ARENA_ARRAY(d->arena, count + 1, const struct path_leaf *);
    bool placed = by_place(asks, count, leaves, leaf_count, totals, found), all = true;

    if (!placed)
        for (size_t i = 0; i < count; i++)
            found[i] = by_name(d, &asks[i], leaves, leaf_count);
    for (size_t i = 0; i < count; i++)
        all = all && found[i] != NULL;
    buf_printf(d->out, "        %s:%s", what, count == 0 ? " {}" : "");
    if (count == 1 && asks[0].name[0] == '\0') { /* no row */
        buf_printf(d->out, " %s\n", all ? found[0]->path : "");
    } else {
        buf_append_str(d->out, placed && count > 1 ? " # each in its place: see that they mean the same\n" : "\n");
        for (size_t i = 0; i < count; i++) {
            buf_append_str(d->out, indent);
            put_word(d->out, asks[i].name);
            buf_printf(d->out, ":%s%s # ", found[i] == NULL ? "" : " ", found[i] == NULL ? "" : found[i]->path);
            put_comment(d->out, asks[i].type.text);
            buf_append_str(d->out, found[i] == NULL ? ": fill in\n" : "\n");
        }
    }
    if (!all) {
        buf_printf(d->out, "%s# Flink wrote:\n", indent);
        put_choice(d, indent, leaves, leaf_count);
    }
}

/* ---- states ---------------------------------------------------------------------------------- */

static bool is_timer(const struct flink_source_state *s)
{
    return s->state->kind == FLINK_STATE_TIMERS;
}

static bool is_kind(const struct flink_source_state *s, const struct state_desc *wanted)
{
    enum flink_keyed_type t = s->state->type;

    return !is_timer(s) && (wanted->kind == STATE_MAP
                                ? t == FLINK_TYPE_MAP
                                : t == FLINK_TYPE_VALUE || t == FLINK_TYPE_REDUCING || t == FLINK_TYPE_AGGREGATING);
}

static const struct flink_source_state *named(const struct draft *d, const char *name)
{
    for (size_t i = 0; i < d->state_count; i++)
        if (bytes_eq(d->states[i].state->name, bytes_of_str(name)))
            return &d->states[i];
    return NULL;
}

/* Flink numbers the states of distinct calls, and keeps texts in the row of totals. */
static const struct flink_source_state *source_of(const struct draft *d, const struct state_desc *w)
{
    const struct flink_source_state *s = named(d, w->name), *only = NULL;
    size_t before = 0, count = 0;

    if (s != NULL && is_kind(s, w))
        return s;
    if (strncmp(w->name, TEXT_PREFIX, strlen(TEXT_PREFIX)) == 0)
        return source_of(d, &d->to->states[0]);
    for (const struct state_desc *other = d->to->states; other < w; other++)
        before += strncmp(other->name, DISTINCT_PREFIX, strlen(DISTINCT_PREFIX)) == 0;
    if (strncmp(w->name, DISTINCT_PREFIX, strlen(DISTINCT_PREFIX)) == 0)
        return named(d, arena_printf(d->arena, DISTINCT_PREFIX "%zu", before));
    for (size_t i = 0; i < d->state_count; i++)
        if (is_kind(&d->states[i], w)) {
            only = &d->states[i];
            count++;
        }
    return count == 1 ? only : NULL;
}

static const struct flink_serializer *value_of(const struct flink_source_state *s, bool map)
{
    const struct flink_serializer *v = map ? s->state->user_value : s->state->value;

    return v != NULL && flink_serializer_bare(v)->coding == FLINK_TTL
               ? flink_serializer_bare(v)->children[1]
               : v;
}

/* The next field of text in the row of totals. */
static void put_text_call(struct draft *d, const struct flink_serializer *row)
{
    const struct path_leaf *leaves;
    size_t count = flink_path_leaves("value", row, d->arena, &leaves), seen = 0;
    struct cast_type text;

    (void)cast_type_parse("STRING", &text);
    for (size_t i = 0; i < count; i++)
        if (flink_cast_fits(leaves[i].serializer, &text) && seen++ == d->texts) {
            d->texts++;
            buf_printf(d->out, "        value: %s\n", leaves[i].path);
            return;
        }
    buf_append_str(d->out, "        value: # fill in\n");
}

static void put_state(struct draft *d, const struct state_desc *w, const struct flink_source_state *s)
{
    bool map = w->kind == STATE_MAP;
    bool text = strncmp(w->name, TEXT_PREFIX, strlen(TEXT_PREFIX)) == 0;
    const struct convert_ask *asks;
    size_t count;

    buf_append_str(d->out, "      - from: ");
    put_word(d->out, flink_c_text(d->arena, s->state->name));
    buf_append_str(d->out, "\n        to: ");
    put_word(d->out, w->name);
    buf_append_u8(d->out, '\n');
    count = flink_convert_asks(w, w->key_type, false, d->arena, &asks);
    put_columns(d, "key", asks, count, s->key, false);
    if (map) {
        count = flink_convert_asks(w, w->user_key_type, false, d->arena, &asks);
        put_columns(d, "map_key", asks, count, s->state->user_key, false);
    }
    if (text) {
        put_text_call(d, value_of(s, map));
        return;
    }
    count = flink_convert_asks(w, w->value_type, true, d->arena, &asks);
    put_columns(d, "value", asks, count, value_of(s, map), flink_totals_are(w));
}

/* The same types under the same name: no mapping is needed. */
static bool goes_on_as_it_is(struct draft *d, const struct state_desc *w, const struct flink_source_state *s)
{
    struct buf differences = {0};
    bool same = bytes_eq(s->state->name, bytes_of_str(w->name));

    if (same)
        flink_fit(s->key, s->state, w, d->arena, &differences);
    same = same && differences.len == 0;
    buf_release(&differences);
    return same;
}

static void put_states(struct draft *d)
{
    bool any = false;

    for (size_t i = 0; i < d->to->state_count; i++) {
        const struct state_desc *w = &d->to->states[i];
        const struct flink_source_state *s = source_of(d, w);
        bool same = s != NULL && s->key != NULL && goes_on_as_it_is(d, w, s);

        buf_append_str(d->out, same || any ? "" : "    states:\n");
        any = any || !same;
        if (same) {
            buf_append_str(d->out, "    # ");
            put_comment(d->out, w->name);
            buf_append_str(d->out, " goes on as it is: its types are the same\n");
            d->mentioned[s - d->states] = true;
            continue;
        }
        if (s != NULL && s->key != NULL && value_of(s, w->kind == STATE_MAP) != NULL) {
            put_state(d, w, s);
            d->mentioned[s - d->states] = true;
            continue;
        }
        buf_append_str(d->out, "      # - from: # fill in\n      #   to: ");
        put_word(d->out, w->name);
        buf_printf(d->out, "\n      #   # key %s\n      #   # value %s\n", w->key_type, w->value_type);
    }
}

/* What can be dropped without a loss: of a distinct call what it keeps of null, which it does not count, and
 * list states of sources, sinks and windows, which have others in varve. Each name once. */
static void put_drops(struct draft *d)
{
    static const char end[] = "_null_state";
    const char **names = NULL;
    size_t count = 0, cap = 0, nulls = 0;

    for (size_t i = 0; i < d->state_count; i++) {
        struct bytes name = d->states[i].state->name;

        if (!bytes_start_with(name, bytes_of_str(DISTINCT_PREFIX)) || !bytes_end_with(name, bytes_of_str(end)))
            continue;
        buf_append_str(d->out, nulls++ == 0 ? "    drop:\n      - " : "      - ");
        put_word(d->out, flink_c_text(d->arena, name));
        buf_append_str(d->out, "  # null, which no distinct call counts\n");
        d->mentioned[i] = true;
    }
    for (size_t s = 0; s < d->from->subtask_count; s++)
        for (size_t i = 0; d->from->subtasks[s].has_managed && i < d->from->subtasks[s].managed.list_count; i++) {
            const char *name = flink_c_text(d->arena, d->from->subtasks[s].managed.lists[i].name);
            size_t k = 0;

            while (k < count && strcmp(names[k], name) != 0)
                k++;
            if (k < count || strcmp(name, WINDOW_WATERMARK_LIST) == 0) /* which is taken over */
                continue;
            if (count == cap) {
                cap = cap == 0 ? 8 : 2 * cap;
                names = mem_realloc(names, cap * sizeof *names);
            }
            names[count++] = name;
        }
    buf_append_str(d->out, count > 0 && nulls == 0 ? "    drop:\n" : "");
    for (size_t i = 0; i < count; i++) {
        buf_append_str(d->out, "      - ");
        put_word(d->out, names[i]);
        buf_append_str(d->out, "  # without keys: varve's operator has its own\n");
    }
    mem_free(names);
}

static void put_others(struct draft *d)
{
    bool any = false;

    for (size_t i = 0; i < d->state_count; i++) {
        const struct flink_source_state *s = &d->states[i];

        if (d->mentioned[i] || is_timer(s))
            continue;
        buf_printf(d->out, "%s    #   - ", any ? "" : "    # What has entries and is not taken over has to be dropped, by name or with -n:\n    # drop:\n");
        put_word(d->out, flink_c_text(d->arena, s->state->name));
        buf_printf(d->out, "  # %s, key ", flink_keyed_word(s->form, s->state));
        put_comment(d->out, shown(d, s->key));
        buf_append_str(d->out, ", value ");
        put_comment(d->out, shown(d, s->state->value));
        buf_append_u8(d->out, '\n');
        any = true;
    }
}

/* ---- operators ------------------------------------------------------------------------------- */

/* How well they go together: states of the same name and kind, whose keys have as many columns. */
static size_t likeness(struct draft *d, const struct import_operator *to)
{
    const struct convert_ask *asks;
    const struct path_leaf *leaves;
    size_t n = 0;

    for (size_t i = 0; i < to->state_count; i++) {
        const struct flink_source_state *s = named(d, to->states[i].name);

        if (s == NULL || !is_kind(s, &to->states[i]) || s->key == NULL)
            continue;
        n += flink_convert_asks(&to->states[i], to->states[i].key_type, false, d->arena, &asks) ==
             flink_path_leaves("key", s->key, d->arena, &leaves);
    }
    return n;
}

static const struct import_operator *choose(struct draft *d, bool *by_uid)
{
    const struct import_operator *best = NULL, *all = d->r->operators;
    size_t most = 0, same = 0;

    *by_uid = false;
    for (size_t i = 0; i < d->r->operator_count; i++) {
        struct bytes uid = bytes_of_str(all[i].uid[0] != '\0' ? all[i].uid : all[i].id);
        uint8_t id[FLINK_ID_BYTES];
        size_t n;

        flink_id_of_uid(uid, id);
        if (memcmp(id, d->from->id, FLINK_ID_BYTES) == 0) {
            *by_uid = true;
            return &all[i];
        }
        n = d->taken[i] ? 0 : likeness(d, &all[i]);
        same = n > most ? 1 : same + (n == most && n > 0);
        best = n > most ? &all[i] : best;
        most = n > most ? n : most;
    }
    return same == 1 ? best : NULL;
}

static void put_whose(struct draft *d, const char *prefix)
{
    char hex[2 * FLINK_ID_BYTES + 1];

    flink_id_hex(d->from->id, hex);
    buf_append_str(d->out, prefix);
    if (d->from->uid.len > 0) {
        buf_append_str(d->out, "uid: ");
        put_word(d->out, flink_c_text(d->arena, d->from->uid));
    } else {
        buf_append_str(d->out, "id: ");
        put_word(d->out, hex);
    }
    buf_append_str(d->out, "  # ");
    put_comment(d->out, flink_c_text(d->arena, d->from->name));
    buf_append_u8(d->out, '\n');
}

static void draft_operator(struct draft *d)
{
    bool by_uid;

    d->to = choose(d, &by_uid);
    if (d->to == NULL) {
        put_whose(d, "  # - ");
        buf_append_str(d->out, "  #   operator: # fill in, or drop it\n");
    } else {
        d->taken[d->to - d->r->operators] = true;
        put_whose(d, "  - ");
        buf_append_str(d->out, "    operator: ");
        put_word(d->out, d->to->uid[0] != '\0' ? d->to->uid : d->to->id);
        buf_append_str(d->out, "  # ");
        put_comment(d->out, d->to->name);
        buf_append_str(d->out, by_uid ? "\n" : ", by the names of its states\n");
        put_states(d);
        put_drops(d);
    }
    put_others(d);
}

static void put_asked(struct draft *d, const char *what, const struct state_desc *w,
                      const char *type, bool value)
{
    const struct convert_ask *asks;
    size_t count = flink_convert_asks(w, type, value, d->arena, &asks);

    if (count == 1 && asks[0].name[0] == '\0') { /* no row */
        buf_printf(d->out, "  #       %s: # ", what);
        put_comment(d->out, asks[0].type.text);
        buf_append_u8(d->out, '\n');
        return;
    }
    buf_printf(d->out, "  #       %s:\n", what);
    for (size_t i = 0; i < count; i++) {
        buf_append_str(d->out, "  #         ");
        put_word(d->out, asks[i].name);
        buf_append_str(d->out, ": # ");
        put_comment(d->out, asks[i].type.text);
        buf_append_u8(d->out, '\n');
    }
}

/* What whoever fills in an operator of Flink's above may choose from. */
static void put_untaken(struct draft *d)
{
    bool any = false;

    for (size_t i = 0; i < d->r->operator_count; i++) {
        const struct import_operator *op = &d->r->operators[i];

        if (d->taken[i] || op->state_count == 0)
            continue;
        buf_append_str(d->out, any ? "" : "  # Operators of the job that nothing goes over to yet:\n");
        any = true;
        buf_append_str(d->out, "  #   operator: ");
        put_word(d->out, op->uid[0] != '\0' ? op->uid : op->id);
        buf_append_str(d->out, "  # ");
        put_comment(d->out, op->name);
        buf_append_str(d->out, "\n  #   states:\n");
        for (size_t k = 0; k < op->state_count; k++) {
            const struct state_desc *w = &op->states[k];

            buf_append_str(d->out, "  #     - from:\n  #       to: ");
            put_word(d->out, w->name);
            buf_append_u8(d->out, '\n');
            put_asked(d, "key", w, w->key_type, false);
            if (w->kind == STATE_MAP)
                put_asked(d, "map_key", w, w->user_key_type, false);
            put_asked(d, "value", w, w->value_type, true);
        }
    }
}

static bool has_keyed(const struct flink_operator *op)
{
    for (size_t s = 0; s < op->subtask_count; s++)
        if (op->subtasks[s].managed_keyed.tag != FLINK_KEYED_NONE)
            return true;
    return false;
}

static enum rc draft_one(struct draft *d, struct err *err)
{
    struct flink_source *source;

    RETURN_IF_ERR(flink_source_open(d->r->env->fs, d->from, d->r->snapshot->places,
                                    d->r->scratch_dir, &source, err));
    d->state_count = flink_source_states(source, &d->states);
    d->mentioned = ARENA_ARRAY(d->arena, d->state_count + 1, bool);
    d->texts = 0;
    draft_operator(d);
    flink_source_close(source);
    return RC_OK;
}

static void put_operator_states(struct draft *d, const struct flink_metadata *m)
{
    bool any = false;

    for (size_t i = 0; i < m->operator_count; i++) {
        const struct flink_operator *op = &m->operators[i];
        bool lists = op->coordinator.tag != FLINK_STREAM_NONE;

        for (size_t s = 0; s < op->subtask_count; s++)
            lists = lists || (op->subtasks[s].has_managed && op->subtasks[s].managed.list_count > 0);
        if (!lists || has_keyed(op))
            continue;
        buf_append_str(d->out, any ? "" : "# Sources and sinks begin anew in varve: nobody takes over what Flink's have.\ndrop:\n");
        any = true;
        d->from = op;
        buf_append_str(d->out, "  - ");
        if (op->uid.len > 0) {
            put_word(d->out, flink_c_text(d->arena, op->uid));
        } else {
            char hex[2 * FLINK_ID_BYTES + 1];

            flink_id_hex(op->id, hex);
            put_word(d->out, hex);
        }
        buf_append_str(d->out, "  # ");
        put_comment(d->out, flink_c_text(d->arena, op->name));
        buf_append_u8(d->out, '\n');
    }
}

enum rc flink_draft(const struct import_request *r, struct buf *out, struct err *err)
{
    const struct flink_metadata *m = &r->snapshot->meta;
    struct draft d = {.r = r, .arena = arena_new(0), .out = out};
    enum rc rc = RC_OK;

    d.taken = ARENA_ARRAY(d.arena, r->operator_count + 1, bool);
    buf_append_str(out, "operators:\n");
    for (size_t i = 0; i < m->operator_count && rc == RC_OK; i++) {
        d.from = &m->operators[i];
        if (has_keyed(d.from))
            rc = draft_one(&d, err);
    }
    if (rc == RC_OK) {
        put_untaken(&d);
        put_operator_states(&d, m);
    }
    arena_free(d.arena);
    return rc;
}
