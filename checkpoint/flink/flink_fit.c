/* flink_fit.c - see flink_fit.h */
#include "checkpoint/flink/flink_fit.h"

#include "checkpoint/flink/flink_sql_type.h"

#include <inttypes.h>

/* ---- two serializers ------------------------------------------------------------------------- */

/* Whether number and scale are part of what a value is. */
static bool has_numbers(enum flink_coding coding)
{
    return coding == FLINK_DECIMAL_DATA || coding == FLINK_TIMESTAMP_DATA ||
           coding == FLINK_NULLABLE;
}

bool flink_serializer_same(const struct flink_serializer *a, const struct flink_serializer *b)
{
    a = flink_serializer_bare(a);
    b = flink_serializer_bare(b);
    if (a->coding != b->coding || a->coding == FLINK_OPAQUE || a->flag != b->flag ||
        a->child_count != b->child_count)
        return false;
    if (has_numbers(a->coding) && (a->number != b->number || a->scale != b->scale))
        return false;
    if (a->coding == FLINK_ROW_DATA && a->child_count == 0 && (a->number > 0 || b->number > 0))
        return false; /* fields whose types are not known */
    for (size_t i = 0; i < a->child_count; i++)
        if (!flink_serializer_same(a->children[i], b->children[i]))
            return false;
    return true;
}

/* ---- a part of a state ----------------------------------------------------------------------- */

struct fitting {
    struct arena *arena;
    struct buf *out;
};

static void differs(struct fitting *f, const char *part, const struct flink_serializer *wrote,
                    const char *wanted)
{
    buf_printf(f->out, "\n  %s: Flink wrote ", part);
    if (wrote == NULL)
        buf_append_str(f->out, "nothing of it");
    else
        flink_serializer_print(wrote, f->out);
    buf_printf(f->out, ", the job has %s", wanted);
}

/* The serializer of a type; NULL: Flink has none for it. */
static const struct flink_serializer *serializer_of(struct fitting *f, const char *type)
{
    const struct flink_serializer *s = NULL;
    struct buf bytes = {0};
    struct err err = {0};
    struct reader r;

    if (flink_put_sql_type(type, &bytes, &err) == RC_OK) {
        reader_init(&r, arena_bytes_copy(f->arena, buf_bytes(&bytes)), type);
        if (flink_serializer_read(&r, f->arena, &s, &err) != RC_OK)
            s = NULL;
    }
    buf_release(&bytes);
    return s;
}

static void fit_type(struct fitting *f, const char *part, const struct flink_serializer *wrote,
                     const char *type)
{
    const struct flink_serializer *wanted = serializer_of(f, type);

    if (wrote == NULL || wanted == NULL || !flink_serializer_same(wrote, wanted))
        differs(f, part, wrote, type);
}

static void fit_namespace(struct fitting *f, const struct flink_serializer *wrote,
                          const char *wanted)
{
    enum flink_coding coding = wrote == NULL ? FLINK_VOID_NAMESPACE
                                             : flink_serializer_bare(wrote)->coding;
    bool fits = strcmp(wanted, "VOID") == 0     ? coding == FLINK_VOID_NAMESPACE
                : strcmp(wanted, "BIGINT") == 0 ? coding == FLINK_LONG
                                                : false;

    if (!fits)
        differs(f, "namespace", wrote, wanted);
}

/* The value, its time-to-live taken off. */
static void fit_value(struct fitting *f, const struct flink_serializer *wrote,
                      const struct state_desc *wanted)
{
    bool expires = wrote != NULL && flink_serializer_bare(wrote)->coding == FLINK_TTL;

    if (expires != (wanted->ttl_ms > 0))
        buf_printf(f->out, "\n  time-to-live: Flink wrote it with%s, the job has it with%s",
                   expires ? " one" : "out", wanted->ttl_ms > 0 ? " one" : "out");
    if (expires)
        wrote = flink_serializer_bare(wrote)->children[1];
    fit_type(f, "value", wrote, wanted->value_type);
}

/* One value of each key, whatever makes it. */
static bool is_single(enum flink_keyed_type type)
{
    return type == FLINK_TYPE_VALUE || type == FLINK_TYPE_REDUCING || type == FLINK_TYPE_AGGREGATING;
}

void flink_fit(const struct flink_serializer *key, const struct flink_state *state,
               const struct state_desc *wanted, struct arena *arena, struct buf *out)
{
    struct fitting f = {arena, out};
    bool map = wanted->kind == STATE_MAP;
    bool keyed = state->kind == FLINK_STATE_KEYED || state->kind == FLINK_STATE_KEYED_V2;

    if (!keyed || (map ? state->type != FLINK_TYPE_MAP : !is_single(state->type)) ||
        wanted->kind == STATE_LIST || wanted->kind == STATE_TIMER) {
        buf_printf(out, "\n  kind: Flink wrote %s, the job has %s", flink_state_word(state),
                   map ? "MAP" : wanted->kind == STATE_LIST ? "LIST" : "VALUE");
        return;
    }
    fit_type(&f, "key", key, wanted->key_type);
    fit_namespace(&f, state->namespace, wanted->namespace_type);
    if (map)
        fit_type(&f, "map key", state->user_key, wanted->user_key_type);
    fit_value(&f, map ? state->user_value : state->value, wanted);
}
