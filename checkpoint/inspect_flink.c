/* inspect_flink.c - the states of a snapshot that Flink wrote, in each form of the report. */
#include "checkpoint/flink/flink_inventory.h"
#include "checkpoint/flink/flink_json.h"
#include "checkpoint/inspect_priv.h"

#include <inttypes.h>

#define REASONS_SHOWN 8u /* of an operator: its subtasks tend to have the same trouble */

const struct flink_inventory *inspect_flink_states(const struct inspect *in,
                                                   const struct snapshot_view *v,
                                                   const struct flink_metadata *m,
                                                   struct arena *arena)
{
    struct flink_places *places =
        flink_places_new(in->env->fs, m, v->dir, in->options->rebase, arena);
    struct flink_inventory *all = ARENA_ARRAY(arena, m->operator_count + 1, struct flink_inventory);

    for (size_t i = 0; i < m->operator_count; i++)
        flink_inventory_make(in->env->fs, &m->operators[i], places, arena, &all[i]);
    return all;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void put_part(const char *word, const char *type, struct buf *out)
{
    if (type != NULL)
        buf_printf(out, ", %s %s", word, type);
}

/* A line end in it must not begin a line that looks like ours; the rest inspect_append_plain escapes. */
static void put_name(struct bytes name, struct buf *out)
{
    for (size_t i = 0; i < name.len; i++)
        if (name.data[i] == '\n')
            buf_append_str(out, "\\x0a");
        else
            buf_append_u8(out, name.data[i]);
}

void inspect_flink_text(const struct flink_inventory *d, struct buf *out)
{
    for (size_t i = 0; i < d->count; i++) {
        const struct flink_inventory_state *s = &d->states[i];

        buf_append_str(out, "    state ");
        put_name(s->name, out);
        buf_printf(out, ": %s", s->kind);
        if (s->form[0] != '\0')
            buf_printf(out, " (%s)", s->form);
        put_part("key", s->key, out);
        put_part("namespace", s->namespace, out);
        put_part("map key", s->map_key, out);
        put_part("value", s->value, out);
        buf_append_str(out, s->ttl ? ", with a time-to-live\n" : "\n");
    }
    for (size_t i = 0; i < d->undescribed_count && i < REASONS_SHOWN; i++)
        buf_printf(out, "    %s of subtask %" PRIu32 " is not told: %s\n", d->undescribed[i].part,
                   d->undescribed[i].subtask_index, d->undescribed[i].reason);
    if (d->undescribed_count > REASONS_SHOWN)
        buf_printf(out, "    ... nor that of %zu more\n", d->undescribed_count - REASONS_SHOWN);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put(json_t *o, const char *name, json_t *value_take)
{
    ASSERT(value_take != NULL && json_object_set_new(o, name, value_take) == 0);
}

static json_t *text_or_null(const char *s)
{
    return s == NULL ? json_null() : flink_text_json(bytes_of_str(s));
}

void inspect_flink_json(const struct flink_inventory *d, json_t *operator)
{
    json_t *states = json_array(), *undescribed = json_array(), *o;

    for (size_t i = 0; i < d->count; i++) {
        const struct flink_inventory_state *s = &d->states[i];

        o = json_object();
        put(o, "name", flink_text_json(s->name));
        put(o, "kind", text_or_null(s->kind));
        put(o, "form", s->form[0] == '\0' ? json_null() : text_or_null(s->form));
        put(o, "key", text_or_null(s->key));
        put(o, "namespace", text_or_null(s->namespace));
        put(o, "map_key", text_or_null(s->map_key));
        put(o, "value", text_or_null(s->value));
        put(o, "ttl", json_boolean(s->ttl));
        ASSERT(json_array_append_new(states, o) == 0);
    }
    for (size_t i = 0; i < d->undescribed_count; i++) {
        o = json_object();
        put(o, "subtask", json_integer(d->undescribed[i].subtask_index));
        put(o, "part", text_or_null(d->undescribed[i].part));
        put(o, "reason", text_or_null(d->undescribed[i].reason));
        ASSERT(json_array_append_new(undescribed, o) == 0);
    }
    put(operator, "states", states);
    put(operator, "undescribed", undescribed);
}

/* ---- the page -------------------------------------------------------------------------------- */

static void put_code(const char *word, const char *type, struct buf *out)
{
    if (type == NULL)
        return;
    buf_printf(out, ", %s <code>", word);
    html_text(type, out);
    buf_append_str(out, "</code>");
}

void inspect_flink_html(const struct flink_inventory *d, struct arena *arena, struct buf *out)
{
    for (size_t i = 0; i < d->count; i++) {
        const struct flink_inventory_state *s = &d->states[i];

        buf_append_str(out, "<div>state <code>");
        html_text(flink_c_text(arena, s->name), out);
        buf_printf(out, "</code>: %s", s->kind);
        put_code("key", s->key, out);
        put_code("namespace", s->namespace, out);
        put_code("map key", s->map_key, out);
        put_code("value", s->value, out);
        buf_append_str(out, s->ttl ? ", with a time-to-live</div>\n" : "</div>\n");
    }
    for (size_t i = 0; i < d->undescribed_count && i < REASONS_SHOWN; i++) {
        buf_printf(out, "<div class=bad>%s of subtask %" PRIu32 " is not told: ",
                   d->undescribed[i].part, d->undescribed[i].subtask_index);
        html_text(d->undescribed[i].reason, out);
        buf_append_str(out, "</div>\n");
    }
    if (d->undescribed_count > REASONS_SHOWN)
        buf_printf(out, "<div>... nor that of %zu more</div>\n",
                   d->undescribed_count - REASONS_SHOWN);
}
