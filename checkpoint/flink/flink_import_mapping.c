/* flink_import_mapping.c - see flink_import.h: what a mapping says of the operators and states of a
 * snapshot, for flink_import.c which decides. */
#include "checkpoint/flink/flink_import_priv.h"

#include "base/nearest.h"
#include "checkpoint/flink/flink_uid.h"

#include <stdarg.h>
#include <stdio.h>

#define LINE_MAX_BYTES 1024u

static void misfit(struct flink_import *i, const struct yaml_node *at, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
static void misfit(struct flink_import *i, const struct yaml_node *at, const char *fmt, ...)
{
    char text[LINE_MAX_BYTES];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    buf_printf(&i->misfits, "\n  %s:%u:%u: %s", i->request.mapping->file, at->line, at->column, text);
}

/* ---- operators ------------------------------------------------------------------------------- */

/* Whether an operator of the snapshot has this uid, or this id as hex digits. */
static bool is_called(const struct flink_operator *op, const char *uid, const char *id)
{
    char hex[2 * FLINK_ID_BYTES + 1];
    uint8_t of_uid[FLINK_ID_BYTES];

    flink_id_hex(op->id, hex);
    if (id != NULL && strcmp(hex, id) == 0)
        return true;
    if (uid == NULL)
        return false;
    flink_id_of_uid(bytes_of_str(uid), of_uid);
    return memcmp(of_uid, op->id, FLINK_ID_BYTES) == 0;
}

const struct mapped_operator *import_mapped(const struct flink_import *i,
                                            const struct flink_operator *op)
{
    const struct flink_mapping *m = i->request.mapping;

    for (size_t k = 0; m != NULL && k < m->operator_count; k++)
        if (is_called(op, m->operators[k].uid, m->operators[k].id)) {
            i->operator_found[k] = true;
            return &m->operators[k];
        }
    return NULL;
}

bool import_drops_operator(struct flink_import *i, const struct flink_operator *op)
{
    const struct flink_mapping *m = i->request.mapping;

    for (size_t k = 0; m != NULL && k < m->drop_count; k++)
        if (is_called(op, m->drops[k].name, m->drops[k].name))
            return i->drop_found[k] = true;
    return false;
}

/* " (did you mean x?)", or nothing, in the import's arena. */
static const char *hint(struct flink_import *i, const char *word, const char *const *names, size_t count)
{
    const char *near = nearest_of(word, names, count);

    return near == NULL ? "" : arena_printf(i->arena, " (did you mean %s?)", near);
}

static const char *handle_of(const struct import_operator *op)
{
    return op->uid[0] != '\0' ? op->uid : op->id;
}

const struct import_operator *import_mapped_to(struct flink_import *i,
                                               const struct mapped_operator *m)
{
    const struct import_operator *all = i->request.operators, *named = NULL;
    const char **uids = ARENA_ARRAY(i->arena, i->request.operator_count + 1, const char *);
    struct buf names = {0};
    size_t count = 0;

    for (size_t k = 0; k < i->request.operator_count; k++)
        uids[k] = handle_of(&all[k]);
    for (size_t k = 0; k < i->request.operator_count; k++)
        if (strcmp(all[k].uid, m->to.name) == 0 || strcmp(all[k].id, m->to.name) == 0)
            return &all[k];
    for (size_t k = 0; k < i->request.operator_count; k++)
        if (strcmp(all[k].name, m->to.name) == 0) {
            named = &all[k];
            count++;
        }
    if (count == 1)
        return named;
    for (size_t k = 0; k < i->request.operator_count; k++)
        buf_printf(&names, "%s%s \"%s\"", k == 0 ? "" : ", ", handle_of(&all[k]), all[k].name);
    misfit(i, m->to.at, "%s operator of the job is called \"%s\"%s: it has %s",
           count == 0 ? "no" : "more than one", m->to.name,
           count == 0 ? hint(i, m->to.name, uids, i->request.operator_count) : "", buf_cstr(&names));
    buf_release(&names);
    return NULL;
}

/* ---- states ---------------------------------------------------------------------------------- */

static bool is_named(struct bytes name, const char *text)
{
    return bytes_eq(name, bytes_of_str(text));
}

static const struct state_desc *wanted_of(struct flink_import *i, const struct imported *op,
                                          const struct mapped_state *m)
{
    const struct state_desc *wanted =
        state_desc_find(op->to->states, op->to->state_count, m->to);
    const char **all = ARENA_ARRAY(i->arena, op->to->state_count + 1, const char *);
    struct buf names = {0};

    if (wanted != NULL)
        return wanted;
    for (size_t k = 0; k < op->to->state_count; k++) {
        all[k] = op->to->states[k].name;
        buf_printf(&names, "%s%s", k == 0 ? "" : ", ", all[k]);
    }
    misfit(i, m->at, "operator \"%s\" of the job has no state \"%s\"%s; it has %s", op->to->name, m->to,
           hint(i, m->to, all, op->to->state_count), op->to->state_count == 0 ? "none" : buf_cstr(&names));
    buf_release(&names);
    return NULL;
}

static void map_state(struct flink_import *i, struct imported *op,
                      const struct flink_source_state *s, const struct mapped_state *m)
{
    const struct state_desc *wanted = wanted_of(i, op, m);
    const struct convert_request r = {
        .file = i->request.mapping->file,
        .mapped = m,
        .key = s->key,
        .state = s->state,
        .wanted = wanted,
        .key_group_count = (uint32_t)op->from->max_parallelism,
    };
    const struct flink_convert *c =
        wanted == NULL ? NULL : flink_convert_make(&r, i->arena, &i->misfits);

    if (c == NULL)
        return;
    op->names[op->state_count] = arena_bytes_copy(i->arena, s->state->name);
    op->converts[op->state_count] = c;
    op->states[op->state_count++] = *wanted;
    op->converted = true;
}

/* A state of the job's that the mapping fills is not filled by one of its name as well. */
static const struct mapped_state *fills(const struct mapped_operator *m, struct bytes name)
{
    for (size_t k = 0; k < m->state_count; k++)
        if (is_named(name, m->states[k].to))
            return &m->states[k];
    return NULL;
}

bool import_drops_state(struct imported *op, struct bytes name)
{
    const struct mapped_operator *m = op->mapped;

    for (size_t k = 0; m != NULL && k < m->drop_count; k++)
        if (is_named(name, m->drops[k].name))
            return op->drop_found[k] = true;
    return false;
}

bool import_map_state(struct flink_import *i, struct imported *op,
                      const struct flink_source_state *s, bool *drop)
{
    const struct mapped_operator *m = op->mapped;
    const struct mapped_state *other;
    bool found = false;

    *drop = import_drops_state(op, s->state->name);
    for (size_t k = 0; m != NULL && k < m->state_count; k++) {
        if (!is_named(s->state->name, m->states[k].from))
            continue;
        op->mapped_found[k] = found = true;
        if (*drop)
            misfit(i, m->states[k].at, "state \"%s\" is to be dropped as well", m->states[k].from);
        else
            map_state(i, op, s, &m->states[k]);
    }
    if (found || *drop || m == NULL)
        return found;
    other = fills(m, s->state->name);
    if (other != NULL)
        misfit(i, other->at, "state \"%s\" of the job comes from \"%s\", but Flink wrote one of that name, "
               "too: map it elsewhere, or drop it", other->to, other->from);
    return other != NULL;
}

/* ---- what nobody met ------------------------------------------------------------------------- */

void import_check_met(struct flink_import *i, const struct imported *op)
{
    for (size_t k = 0; op->mapped != NULL && k < op->mapped->state_count; k++)
        if (!op->mapped_found[k])
            misfit(i, op->mapped->states[k].at, "Flink's operator has no keyed state \"%s\" (varve "
                   "inspect lists them)", op->mapped->states[k].from);
    for (size_t k = 0; op->mapped != NULL && k < op->mapped->drop_count; k++)
        if (!op->drop_found[k])
            misfit(i, op->mapped->drops[k].at, "Flink's operator has no state \"%s\" to drop",
                   op->mapped->drops[k].name);
}

/* The operator of the snapshot that is called so; NULL: none. */
static const struct flink_operator *called(const struct flink_import *i, const char *uid, const char *id)
{
    const struct flink_metadata *meta = &i->request.snapshot->meta;

    for (size_t k = 0; k < meta->operator_count; k++)
        if (is_called(&meta->operators[k], uid, id))
            return &meta->operators[k];
    return NULL;
}

static void check_drop_met(struct flink_import *i, const struct mapped_name *drop)
{
    const struct flink_operator *op = called(i, drop->name, drop->name);
    const struct mapped_operator *mapped = op == NULL ? NULL : import_mapped(i, op);

    if (op == NULL)
        misfit(i, drop->at, "the snapshot has no operator \"%s\" to drop", drop->name);
    else if (mapped != NULL)
        misfit(i, drop->at, "operator \"%s\" is to be dropped, but line %u lets it go on", drop->name,
               mapped->at->line);
    else
        misfit(i, drop->at, "operator \"%s\" is to be dropped already, by its uid or id", drop->name);
}

void import_check_mapping(struct flink_import *i)
{
    const struct flink_mapping *m = i->request.mapping;
    const struct flink_metadata *meta = &i->request.snapshot->meta;
    const char **uids = ARENA_ARRAY(i->arena, meta->operator_count + 1, const char *);

    for (size_t k = 0; k < meta->operator_count; k++)
        uids[k] = flink_c_text(i->arena, meta->operators[k].uid);
    for (size_t k = 0; m != NULL && k < m->operator_count; k++)
        if (!i->operator_found[k] && called(i, m->operators[k].uid, m->operators[k].id) != NULL)
            misfit(i, m->operators[k].at, "this operator stands already in line %u, by its uid or id",
                   import_mapped(i, called(i, m->operators[k].uid, m->operators[k].id))->at->line);
        else if (!i->operator_found[k])
            misfit(i, m->operators[k].at, "the snapshot has no operator of that %s%s (varve inspect lists "
                   "them)", m->operators[k].uid != NULL ? "uid" : "id",
                   m->operators[k].uid != NULL ? hint(i, m->operators[k].uid, uids, meta->operator_count) : "");
    for (size_t k = 0; m != NULL && k < m->drop_count; k++)
        if (!i->drop_found[k])
            check_drop_met(i, &m->drops[k]);
}

const char **flink_import_converted(const struct flink_import *i, struct arena *arena, size_t *count)
{
    const char **lines;
    size_t all = 0;

    for (size_t k = 0; k < i->tree.operator_count; k++)
        for (size_t s = 0; s < i->operators[k].state_count; s++)
            if (i->operators[k].converts[s] != NULL)
                all += flink_convert_columns(i->operators[k].converts[s]);
    lines = ARENA_ARRAY(arena, all + 1, const char *);
    *count = 0;
    for (size_t k = 0; k < i->tree.operator_count; k++) {
        const struct imported *op = &i->operators[k];

        for (size_t s = 0; s < op->state_count; s++)
            for (size_t c = 0;
                 op->converts[s] != NULL && c < flink_convert_columns(op->converts[s]); c++)
                lines[(*count)++] = arena_printf(
                    arena, "operator \"%s\": state \"%s\" comes from \"%s\"; %s", op->to->name,
                    op->states[s].name, flink_c_text(arena, op->names[s]),
                    flink_convert_column(op->converts[s], c, arena));
    }
    return lines;
}
