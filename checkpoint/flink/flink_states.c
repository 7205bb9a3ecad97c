/* flink_states.c - see flink_states.h */
#include "checkpoint/flink/flink_states.h"

#include "checkpoint/flink/data_input.h"

#define LEAST_STATE_BYTES 14u /* an empty name, kind, no options, no serializers */

const char *flink_state_word(const struct flink_state *s)
{
    static const char *const words[] = {"VALUE",       "LIST", "REDUCING",
                                        "AGGREGATING", "MAP",  "OTHER"};

    switch (s->kind) {
    case FLINK_STATE_OPERATOR:
        return "OPERATOR_LIST";
    case FLINK_STATE_BROADCAST:
        return "BROADCAST";
    case FLINK_STATE_TIMERS:
        return "PRIORITY_QUEUE";
    default:
        return words[s->type];
    }
}

struct bytes flink_state_option(const struct flink_state *s, const char *key)
{
    for (size_t i = 0; i < s->option_count; i++)
        if (bytes_eq(s->options[i].key, bytes_of_str(key)))
            return s->options[i].value;
    return bytes_of_str("");
}

const struct flink_state *flink_state_find(const struct flink_states *s, struct bytes name)
{
    for (size_t i = 0; i < s->count; i++)
        if (bytes_eq(s->states[i].name, name))
            return &s->states[i];
    return NULL;
}

static enum rc read_options(struct reader *r, struct arena *arena, struct flink_state *s,
                            struct err *err)
{
    RETURN_IF_ERR(data_count(r, 4, SIZE_MAX, &s->option_count, "number of options", err));
    s->options = ARENA_ARRAY(arena, s->option_count + 1, struct flink_pair);
    for (size_t i = 0; i < s->option_count; i++) {
        RETURN_IF_ERR(data_utf(r, arena, &s->options[i].key, "option", err));
        RETURN_IF_ERR(data_utf(r, arena, &s->options[i].value, "value of an option", err));
    }
    return RC_OK;
}

static enum rc read_serializers(struct reader *r, struct arena *arena, struct flink_state *s,
                                struct err *err)
{
    const struct flink_serializer *one;
    struct bytes key;
    size_t count;

    RETURN_IF_ERR(data_count(r, 6, SIZE_MAX, &count, "number of serializers", err));
    for (size_t i = 0; i < count; i++) {
        RETURN_IF_ERR(data_utf(r, arena, &key, "name of a serializer", err));
        RETURN_IF_ERR(flink_serializer_record(r, arena, &one, err));
        if (bytes_eq(key, bytes_of_str("NAMESPACE_SERIALIZER")))
            s->namespace = one;
        else if (bytes_eq(key, bytes_of_str("KEY_SERIALIZER")))
            s->key = one;
        else if (bytes_eq(key, bytes_of_str("VALUE_SERIALIZER")))
            s->value = one;
        else if (bytes_eq(key, bytes_of_str("USER_KEY_SERIALIZER")))
            s->user_key = one;
    }
    return RC_OK;
}

static enum flink_keyed_type type_of_word(struct bytes word)
{
    static const char *const words[] = {"VALUE", "LIST", "REDUCING", "AGGREGATING", "MAP"};

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (bytes_eq(word, bytes_of_str(words[i])))
            return (enum flink_keyed_type)i;
    return FLINK_TYPE_OTHER;
}

/* What a list's elements and a map's entries are written with. */
static void note_parts(struct flink_state *s)
{
    const struct flink_serializer *whole;

    if (s->value == NULL)
        return;
    whole = flink_serializer_bare(s->value);
    s->type = type_of_word(flink_state_option(s, "KEYED_STATE_TYPE"));
    if (s->kind == FLINK_STATE_KEYED_V2) {
        s->element = s->user_value = s->value;
        return;
    }
    if (s->type == FLINK_TYPE_LIST && whole->coding == FLINK_LIST) {
        s->element = whole->children[0];
    } else if (s->type == FLINK_TYPE_MAP && whole->coding == FLINK_MAP) {
        s->user_key = whole->children[0];
        s->user_value = whole->children[1];
    }
}

/* Each kind has the serializers that its bytes need. */
static enum rc check_state(struct reader *r, size_t at, const struct flink_state *s,
                           struct err *err)
{
    bool keyed = s->kind == FLINK_STATE_KEYED || s->kind == FLINK_STATE_KEYED_V2;
    const struct flink_serializer *value = s->value == NULL ? NULL : flink_serializer_bare(s->value);
    const char *lacks = NULL;

    if (value == NULL)
        lacks = "a value's serializer";
    else if (keyed && s->namespace == NULL)
        lacks = "a namespace's serializer";
    else if (s->kind == FLINK_STATE_BROADCAST && s->key == NULL)
        lacks = "a key's serializer";
    else if (s->kind == FLINK_STATE_TIMERS && value->coding != FLINK_TIMER &&
             value->coding != FLINK_OPAQUE)
        lacks = "a timer's serializer";
    else if (keyed && s->type == FLINK_TYPE_LIST && s->element == NULL &&
             value->coding != FLINK_OPAQUE)
        lacks = "a list's serializer";
    else if (keyed && s->type == FLINK_TYPE_MAP && s->user_key == NULL &&
             value->coding != FLINK_OPAQUE)
        lacks = "a map's serializer";
    return lacks == NULL ? RC_OK
                         : data_fault(r, at, err, "a %s state lacks %s", flink_state_word(s), lacks);
}

/* Keyed state and operator state have their own kinds, and readers rely on it. */
static bool belongs(bool keyed, int32_t kind)
{
    bool lists = kind == FLINK_STATE_OPERATOR || kind == FLINK_STATE_BROADCAST;

    return kind >= FLINK_STATE_KEYED && kind <= FLINK_STATE_KEYED_V2 && keyed != lists;
}

static enum rc read_state(struct reader *r, bool keyed, struct arena *arena, struct flink_state *s,
                          struct err *err)
{
    size_t at = r->pos;
    int32_t kind;

    RETURN_IF_ERR(data_utf(r, arena, &s->name, "name of a state", err));
    RETURN_IF_ERR(data_i32(r, &kind, "kind of a state", err));
    if (!belongs(keyed, kind))
        return data_fault(r, at, err, "a state of kind %d among %s", kind,
                          keyed ? "keyed state" : "operator state");
    s->kind = (enum flink_state_kind)kind;
    RETURN_IF_ERR(read_options(r, arena, s, err));
    RETURN_IF_ERR(read_serializers(r, arena, s, err));
    note_parts(s);
    return check_state(r, at, s, err);
}

static const struct flink_serializer *assumed_in(const struct flink_state *s)
{
    const struct flink_serializer *all[] = {s->namespace, s->key, s->user_key, s->value};
    const struct flink_serializer *found = NULL;

    for (size_t i = 0; i < ARRAY_LEN(all) && found == NULL; i++)
        found = all[i] == NULL ? NULL : flink_serializer_assumed(all[i]);
    return found;
}

const struct flink_serializer *flink_states_assumed(const struct flink_states *s)
{
    const struct flink_serializer *found = s->key == NULL ? NULL : flink_serializer_assumed(s->key);

    for (size_t i = 0; i < s->count && found == NULL; i++)
        found = assumed_in(&s->states[i]);
    return found;
}

/* When bytes at this place make no sense, and a serializer before it may have had a body after all,
 * that is what is wrong. */
static enum rc blame_assumed(const struct flink_states *before, const struct flink_state *s,
                             enum rc rc, struct err *err)
{
    const struct flink_serializer *found = assumed_in(s);
    struct buf name = {0};

    if (found == NULL)
        found = flink_states_assumed(before);
    if (rc != RC_CORRUPT || found == NULL)
        return rc;
    buf_append_escaped(&name, found->snapshot_class, 200);
    err_wrap(err, rc, "behind the unknown serializer %s", buf_cstr(&name));
    buf_release(&name);
    return RC_UNSUPPORTED;
}

static void name_state(const struct flink_state *s, size_t i, enum rc rc, struct err *err)
{
    struct buf name = {0};

    buf_append_escaped(&name, s->name, 100);
    err_wrap(err, rc, "state %zu \"%s\"", i, buf_cstr(&name));
    buf_release(&name);
}

/* i16 n, n states, behind those that are there already. */
static enum rc read_some(struct reader *r, bool keyed, struct arena *arena,
                         struct flink_states *out, struct err *err)
{
    struct flink_state *all;
    size_t at = r->pos, total;
    uint16_t count;

    RETURN_IF_ERR(data_u16(r, &count, "number of states", err));
    total = out->count + count;
    if (count > FLINK_STATES_MAX || (size_t)count * LEAST_STATE_BYTES > reader_left(r))
        return data_fault(r, at, err, "%u states in the %zu bytes left", count, reader_left(r));
    all = ARENA_ARRAY(arena, total + 1, struct flink_state);
    if (out->count > 0)
        memcpy(all, out->states, out->count * sizeof *all);
    out->states = all;
    for (; out->count < total && out->cut == NULL; out->count++) {
        struct flink_state *s = &all[out->count];
        struct err why = {0};
        enum rc rc = read_state(r, keyed, arena, s, &why);

        if (rc == RC_OK)
            continue;
        rc = blame_assumed(out, s, rc, &why);
        name_state(s, out->count, rc, &why);
        if (rc != RC_UNSUPPORTED)
            return err_set(err, rc, "%s", why.msg);
        out->cut = arena_strdup(arena, why.msg);
        return RC_OK;
    }
    return RC_OK;
}

enum rc flink_states_keyed(struct reader *r, struct arena *arena, struct flink_states *out,
                           struct err *err)
{
    size_t at = r->pos;

    *out = (struct flink_states){0};
    RETURN_IF_ERR(data_i32(r, &out->version, "version of a description of keyed state", err));
    if (out->version < 1 || out->version > 6)
        return data_fault(r, at, err, "description of keyed state of version %d", out->version);
    if (out->version < 6)
        return err_set(err, RC_VERSION,
                       "%s: description of keyed state of version %d (before Flink 1.8): 6 is read",
                       r->what, out->version);
    RETURN_IF_ERR(data_bool(r, &out->compressed, "compression", err));
    RETURN_IF_ERR(flink_serializer_record(r, arena, &out->key, err));
    return read_some(r, true, arena, out, err);
}

enum rc flink_states_operator(struct reader *r, struct arena *arena, struct flink_states *out,
                              struct err *err)
{
    size_t at = r->pos, lists;

    *out = (struct flink_states){0};
    RETURN_IF_ERR(data_i32(r, &out->version, "version of a description of operator state", err));
    if (out->version < 1 || out->version > 6)
        return data_fault(r, at, err, "description of operator state of version %d", out->version);
    if (out->version < 5)
        return err_set(err, RC_VERSION,
                       "%s: description of operator state of version %d (before Flink 1.8): 5 and 6 "
                       "are read",
                       r->what, out->version);
    if (out->version >= 6)
        RETURN_IF_ERR(data_bool(r, &out->compressed, "compression", err));
    RETURN_IF_ERR(read_some(r, false, arena, out, err));
    lists = out->count;
    if (out->cut == NULL)
        RETURN_IF_ERR(read_some(r, false, arena, out, err));
    out->broadcast_count = out->count - lists;
    return RC_OK;
}
