/* flink_import.c - see flink_import.h: what goes where. flink_import_write.c does it. */
#include "checkpoint/flink/flink_import_priv.h"

#include "checkpoint/flink/flink_fit.h"
#include "checkpoint/flink/flink_lists.h"
#include "checkpoint/flink/flink_uid.h"
#include "checkpoint/flink/flink_windows.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#define LEFT_MAX 512u /* of one line */
#define TIMERS_PREFIX "_timer_state/"

/* ---- what nobody takes over ------------------------------------------------------------------ */

static const char *word_of(struct flink_import *i, const struct flink_operator *op)
{
    char hex[2 * FLINK_ID_BYTES + 1];

    flink_id_hex(op->id, hex);
    return op->uid.len > 0 ? arena_printf(i->arena, "\"%s\" (id %s)",
                                          flink_c_text(i->arena, op->uid), hex)
                           : arena_printf(i->arena, "%s", hex);
}

static void add_left(struct flink_import *i, bool asked, const char *line)
{
    if (!asked)
        buf_printf(&i->unasked, "\n  %s", line);
    if (i->left_count == i->left_cap) {
        i->left_cap = i->left_cap == 0 ? 16 : 2 * i->left_cap;
        i->left = mem_realloc(i->left, i->left_cap * sizeof *i->left);
    }
    i->left[i->left_count++] = line;
}

/* asked: by the mapping. */
static void leave(struct flink_import *i, const struct flink_operator *op, bool asked,
                  const char *fmt, ...) PRINTF_LIKE(4, 5);
static void leave(struct flink_import *i, const struct flink_operator *op, bool asked,
                  const char *fmt, ...)
{
    char text[LEFT_MAX];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    add_left(i, asked, arena_printf(i->arena, "operator %s: %s", word_of(i, op), text));
}

static bool has_keyed_state(const struct flink_operator *op)
{
    for (size_t s = 0; s < op->subtask_count; s++)
        if (op->subtasks[s].managed_keyed.tag != FLINK_KEYED_NONE ||
            op->subtasks[s].raw_keyed.tag != FLINK_KEYED_NONE)
            return true;
    return false;
}

static bool has_operator_state(const struct flink_operator *op)
{
    for (size_t s = 0; s < op->subtask_count; s++)
        if ((op->subtasks[s].has_managed && op->subtasks[s].managed.list_count > 0) ||
            op->subtasks[s].has_raw)
            return true;
    return false;
}

static void leave_operator(struct flink_import *i, const struct flink_operator *op)
{
    bool keyed = has_keyed_state(op), lists = has_operator_state(op),
         coordinator = op->coordinator.tag != FLINK_STREAM_NONE;
    bool asked = import_drops_operator(i, op);

    if (keyed || lists || coordinator)
        leave(i, op, asked, "%s: its%s%s%s%s%s",
              asked ? "as the mapping says" : "no operator of the job has this uid",
              keyed ? " keyed state" : "", keyed && (lists || coordinator) ? "," : "",
              lists ? " operator state" : "", lists && coordinator ? "," : "",
              coordinator ? " coordinator's state" : "");
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* Of a broadcast state its one item is all of it: byte arrays by their numbers, in any order. */
static bool take_numbered(struct flink_import *i, const struct flink_value *map,
                          struct list_state *out)
{
    size_t count = map->part_count / 2;

    out->items = ARENA_ARRAY(i->arena, count, struct bytes);
    for (size_t k = 0; k < count; k++) {
        const struct flink_value *number = &map->parts[2 * k], *item = number + 1;

        if (number->kind != FLINK_VALUE_INTEGER || item->kind != FLINK_VALUE_BYTES ||
            number->integer < 0 || (uint64_t)number->integer >= count ||
            out->items[number->integer].data != NULL)
            return false;
        out->items[number->integer] = arena_bytes_copy(i->arena, item->text);
    }
    out->item_count = count;
    return true;
}

static bool has_windows(const struct import_operator *to)
{
    for (size_t k = 0; k < to->state_count; k++)
        if (strcmp(to->states[k].namespace_type, "BIGINT") == 0)
            return true;
    return false;
}

/* Event time of windows lies in Flink's SQL as varve has it. */
static bool is_watermark(const struct imported *op, const struct flink_list *list,
                         const struct flink_value *v)
{
    return v->kind == FLINK_VALUE_INTEGER && has_windows(op->to) && list->mode == FLINK_UNION &&
           bytes_eq(list->name, bytes_of_str(WINDOW_WATERMARK_LIST));
}

static enum rc take_items(struct flink_import *i, const struct imported *op, struct flink_lists *lists,
                          const struct flink_list *list, struct list_state *out, bool *bytes,
                          struct err *err)
{
    struct flink_value value;
    struct bytes raw;

    *bytes = true;
    if (list->mode == FLINK_BROADCAST && list->offset_count == 1) {
        RETURN_IF_ERR(flink_lists_item(lists, list, 0, i->arena, &raw, &value, err));
        *bytes = value.kind == FLINK_VALUE_MAP && take_numbered(i, &value, out);
        return RC_OK;
    }
    out->items = ARENA_ARRAY(i->arena, list->offset_count, struct bytes);
    for (size_t k = 0; k < list->offset_count && *bytes; k++) {
        RETURN_IF_ERR(flink_lists_item(lists, list, k, i->arena, &raw, &value, err));
        *bytes = value.kind == FLINK_VALUE_BYTES || is_watermark(op, list, &value);
        if (*bytes)
            out->items[out->item_count++] = arena_bytes_copy(
                i->arena, value.kind == FLINK_VALUE_BYTES ? value.text : raw);
    }
    return RC_OK;
}

static enum rc take_lists(struct flink_import *i, struct imported *op,
                          const struct flink_subtask *from, struct subtask_state *to,
                          struct err *err)
{
    static const enum list_mode modes[] = {[FLINK_SPLIT_DISTRIBUTE] = LIST_SPLIT,
                                           [FLINK_UNION] = LIST_UNION,
                                           [FLINK_BROADCAST] = LIST_BROADCAST};
    struct flink_lists *lists;
    enum rc rc = RC_OK;

    if (from->has_raw)
        leave(i, op->from, false, "raw operator state of subtask %" PRIu32, from->index);
    if (!from->has_managed || from->managed.list_count == 0)
        return RC_OK;
    RETURN_IF_ERR(flink_lists_open(i->fs, i->request.snapshot->places, &from->managed, &lists, err));
    to->lists = ARENA_ARRAY(i->arena, from->managed.list_count, struct list_state);
    for (size_t k = 0; rc == RC_OK && k < from->managed.list_count; k++) {
        const struct flink_list *list = &from->managed.lists[k];
        struct list_state *out = &to->lists[to->list_count];
        bool bytes, drop = import_drops_state(op, list->name);

        *out = (struct list_state){.name = flink_c_text(i->arena, list->name),
                                   .mode = modes[list->mode]};
        if (drop) {
            leave(i, op->from, true, "%s state \"%s\" of subtask %" PRIu32 ": as the mapping says",
                  flink_mode_str(list->mode), out->name, from->index);
            continue;
        }
        rc = take_items(i, op, lists, list, out, &bytes, err);
        if (rc == RC_OK && !bytes)
            leave(i, op->from, false, "%s state \"%s\" of subtask %" PRIu32 ": its items are no byte arrays",
                  flink_mode_str(list->mode), out->name, from->index);
        else
            to->list_count++;
    }
    flink_lists_close(lists);
    return rc;
}

/* ---- keyed states ---------------------------------------------------------------------------- */

/* Timers of windows say when their ends come, which the windows say themselves. */
static bool follows_from_windows(const struct flink_state *s, const struct import_operator *to)
{
    return s->kind == FLINK_STATE_TIMERS && has_windows(to) && s->name.len >= strlen(TIMERS_PREFIX) &&
           memcmp(s->name.data, TIMERS_PREFIX, strlen(TIMERS_PREFIX)) == 0;
}

/* False: the job has no state of that name. */
static bool take_state(struct flink_import *i, struct imported *op,
                       const struct flink_source_state *s)
{
    const char *name = flink_c_text(i->arena, s->state->name);
    const struct state_desc *wanted = state_desc_find(op->to->states, op->to->state_count, name);
    size_t before = i->misfits.len, head;
    bool drop;

    if (follows_from_windows(s->state, op->to))
        return true;
    if (import_map_state(i, op, s, &drop))
        return true;
    if (drop)
        leave(i, op->from, true, "%s state \"%s\": as the mapping says", flink_keyed_word(s->form, s->state),
              name);
    if (drop || wanted == NULL)
        return drop;
    buf_printf(&i->misfits, "\n  operator %s: state \"%s\" does not fit:", word_of(i, op->from),
               name);
    head = i->misfits.len;
    flink_fit(s->key, s->state, wanted, i->arena, &i->misfits);
    if (i->misfits.len > head)
        return true;
    i->misfits.len = before;
    op->names[op->state_count] = arena_bytes_copy(i->arena, s->state->name);
    op->narrow[op->state_count].count =
        flink_totals_narrow(wanted, i->arena, &op->narrow[op->state_count].slots);
    op->states[op->state_count++] = *wanted;
    return true;
}

/* A database only says about how many entries there are: it may count what was deleted. */
static enum rc look_for_entry(struct flink_source *source, const struct flink_source_state *s,
                              struct flink_size *size, struct err *err)
{
    struct bytes key, value;
    enum rc rc;

    flink_walk_begin(source, s->state->name, (struct key_group_range){0, UINT32_MAX},
                     (struct bytes){0});
    rc = flink_walk_next(source, &key, &value, err);
    size->entries = rc == RC_OK && key.data == NULL ? 0 : size->entries;
    flink_walk_end(source);
    return rc;
}

/* States of names that the job has none of. One without entries is nobody's loss: Flink writes two
 * of timers for every KeyedProcessFunction, whether it has any or not. */
static enum rc leave_states(struct flink_import *i, struct imported *op,
                            struct flink_source *source, const bool *taken, struct err *err)
{
    const struct flink_source_state *states;
    size_t count = flink_source_states(source, &states);
    struct flink_size *sizes = ARENA_ARRAY(i->arena, count, struct flink_size);

    RETURN_IF_ERR(flink_source_sizes(source, sizes, err));
    for (size_t k = 0; k < count; k++) {
        if (taken[k])
            continue;
        if (sizes[k].entries > 0 && !sizes[k].exact)
            RETURN_IF_ERR(look_for_entry(source, &states[k], &sizes[k], err));
        if (sizes[k].entries > 0)
            leave(i, op->from, false, "%s state \"%s\": operator \"%s\" of the job has none of that name",
                  flink_keyed_word(states[k].form, states[k].state),
                  flink_c_text(i->arena, states[k].state->name), op->to->name);
    }
    return RC_OK;
}

static enum rc refuse(struct flink_import *i, const struct flink_operator *op, const char *why,
                      struct err *err)
{
    return err_set(err, RC_UNSUPPORTED, "operator %s: %s", word_of(i, op), why);
}

static enum rc take_states(struct flink_import *i, struct imported *op,
                           struct flink_source *source, struct err *err)
{
    const struct flink_source_state *states;
    size_t count = flink_source_states(source, &states);
    size_t room = count + (op->mapped == NULL ? 0 : op->mapped->state_count);
    bool *taken = ARENA_ARRAY(i->arena, count, bool), all = true;

    op->states = ARENA_ARRAY(i->arena, room, struct state_desc);
    op->names = ARENA_ARRAY(i->arena, room, struct bytes);
    op->narrow = ARENA_ARRAY(i->arena, room, struct imported_narrow);
    op->converts = ARENA_ARRAY(i->arena, room, const struct flink_convert *);
    if (flink_source_changes(source) > 0)
        return refuse(i, op->from,
                      "it has a changelog, whose changes would be left out: take a canonical "
                      "savepoint of it",
                      err);
    if (flink_source_cut(source) != NULL)
        return refuse(i, op->from, flink_source_cut(source), err);
    for (size_t k = 0; k < count; k++) {
        taken[k] = take_state(i, op, &states[k]);
        all = all && taken[k];
    }
    if (flink_source_unreadable(source) > 0)
        leave(i, op->from, false, "raw keyed state of %zu subtasks", flink_source_unreadable(source));
    return all ? RC_OK : leave_states(i, op, source, taken, err);
}

static enum rc take_keyed(struct flink_import *i, struct imported *op, struct err *err)
{
    struct flink_source *source;
    enum rc rc;

    RETURN_IF_ERR(flink_source_open(i->fs, op->from, i->request.snapshot->places,
                                    i->request.scratch_dir, &source, err));
    rc = take_states(i, op, source, err);
    flink_source_close(source);
    return rc;
}

/* ---- an operator ----------------------------------------------------------------------------- */

/* Without a uid of its own an operator is known by its id, as the way out has it. */
static const struct import_operator *taker_of(struct flink_import *i,
                                              const struct flink_operator *op)
{
    const struct mapped_operator *mapped = import_mapped(i, op);

    if (mapped != NULL)
        return import_mapped_to(i, mapped);
    if (import_drops_operator(i, op))
        return NULL;
    for (size_t k = 0; k < i->request.operator_count; k++) {
        const struct import_operator *to = &i->request.operators[k];
        struct bytes uid = bytes_of_str(to->uid[0] != '\0' ? to->uid : to->id);
        uint8_t id[FLINK_ID_BYTES];

        flink_id_of_uid(uid, id);
        if (memcmp(id, op->id, FLINK_ID_BYTES) == 0)
            return to;
    }
    return NULL;
}

static void add_handle(struct flink_import *i, const struct imported *op, uint32_t index,
                       struct subtask_state *out)
{
    uint32_t groups = (uint32_t)op->from->max_parallelism;
    struct keyed_handle *h = ARENA_NEW(i->arena, struct keyed_handle);

    *h = (struct keyed_handle){
        .kind = KEYED_STREAM,
        .range = keygroup_range_of(index, (uint32_t)op->from->parallelism, groups),
        .key_group_count = groups,
        .backend_id = op->to->id,
        .state_count = op->state_count,
        .states = op->states,
    };
    out->keyed = h;
    out->keyed_count = 1;
}

static enum rc take_subtask(struct flink_import *i, struct imported *op,
                            const struct flink_subtask *from, struct err *err)
{
    struct subtask_state *to = &op->meta->subtasks[from->index];

    if (from->input_count > 0 || from->output_count > 0)
        return refuse(i, op->from,
                      "an unaligned checkpoint with rows in flight, which only Flink's own tasks "
                      "can read: take a savepoint of it",
                      err);
    to->finished = from->finished;
    return take_lists(i, op, from, to, err);
}

static enum rc check_taken_once(struct flink_import *i, const struct imported *op, struct err *err)
{
    for (const struct imported *other = i->operators; other < op; other++)
        if (other->to == op->to)
            return err_set(err, RC_INVALID,
                           "operators %s and %s would both go on as operator \"%s\" of the job",
                           word_of(i, other->from), word_of(i, op->from), op->to->name);
    return RC_OK;
}

/* Keys go into other key groups: into those of a subtask at its end, too. */
static enum rc check_none_ended(struct flink_import *i, const struct flink_operator *op,
                                struct err *err)
{
    size_t ended = 0;

    for (size_t s = 0; s < op->subtask_count; s++)
        ended += op->subtasks[s].finished;
    return ended == 0 ? RC_OK
                      : refuse(i, op, "some of its subtasks are at their end, and can't take other keys",
                               err);
}

static enum rc take_operator(struct flink_import *i, const struct flink_operator *from,
                             const struct import_operator *to, struct err *err)
{
    struct imported *op = &i->operators[i->tree.operator_count];
    struct operator_meta *meta = &i->tree.operators[i->tree.operator_count++];

    *op = (struct imported){
        .from = from, .to = to, .meta = meta, .mapped = import_mapped(i, from)};
    if (op->mapped != NULL) {
        op->mapped_found = ARENA_ARRAY(i->arena, op->mapped->state_count + 1, bool);
        op->drop_found = ARENA_ARRAY(i->arena, op->mapped->drop_count + 1, bool);
    }
    RETURN_IF_ERR(check_taken_once(i, op, err));
    *meta = (struct operator_meta){
        .uid = to->uid,
        .name = to->name,
        .parallelism = (uint32_t)from->parallelism,
        .key_group_count = (uint32_t)from->max_parallelism,
        .finished = from->finished,
    };
    memcpy(meta->id, to->id, sizeof meta->id);
    if (from->coordinator.tag != FLINK_STREAM_NONE)
        leave(i, from, false, "its coordinator's state");
    if (from->finished)
        return RC_OK;
    meta->subtask_count = meta->parallelism;
    meta->subtasks = ARENA_ARRAY(i->arena, meta->subtask_count, struct subtask_state);
    for (uint32_t s = 0; s < meta->parallelism; s++)
        meta->subtasks[s] = (struct subtask_state){.subtask_index = s};
    for (size_t s = 0; s < from->subtask_count; s++)
        RETURN_IF_ERR(take_subtask(i, op, &from->subtasks[s], err));
    if (has_keyed_state(from))
        RETURN_IF_ERR(take_keyed(i, op, err));
    import_check_met(i, op);
    if (op->converted)
        RETURN_IF_ERR(check_none_ended(i, from, err));
    for (uint32_t s = 0; op->state_count > 0 && s < meta->parallelism; s++)
        if (!meta->subtasks[s].finished)
            add_handle(i, op, s, &meta->subtasks[s]);
    return RC_OK;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static enum rc verdict(struct flink_import *i, struct err *err)
{
    import_check_mapping(i);
    if (i->misfits.len > 0)
        return err_set(err, RC_INVALID, "its states are not those of the job:%s",
                       buf_cstr(&i->misfits));
    if (i->unasked.len > 0 && !i->request.allow_non_restored)
        return err_set(err, RC_INVALID,
                       "state that the job does not take over (--allow-non-restored-state drops "
                       "it):%s",
                       buf_cstr(&i->unasked));
    return RC_OK;
}

static enum rc decide(struct flink_import *i, struct err *err)
{
    const struct flink_metadata *m = &i->request.snapshot->meta;

    i->tree = (struct checkpoint_metadata){
        .checkpoint_id = m->checkpoint_id > 0 ? (uint64_t)m->checkpoint_id : 1,
        .kind = CHECKPOINT_SAVEPOINT,
        .job_id = "00000000000000000000000000000000",
        .job_name = "",
        .varve_version = "",
        .rocksdb_version = "",
        .sql = "",
        .operators = ARENA_ARRAY(i->arena, m->operator_count, struct operator_meta),
    };
    i->operators = ARENA_ARRAY(i->arena, m->operator_count, struct imported);
    if (i->request.mapping != NULL) {
        i->operator_found = ARENA_ARRAY(i->arena, i->request.mapping->operator_count + 1, bool);
        i->drop_found = ARENA_ARRAY(i->arena, i->request.mapping->drop_count + 1, bool);
    }
    for (size_t k = 0; k < m->master_count; k++)
        add_left(i, false, arena_printf(i->arena, "state of the hook \"%s\"",
                                 flink_c_text(i->arena, m->masters[k].name)));
    for (size_t k = 0; k < m->operator_count; k++) {
        const struct import_operator *to = taker_of(i, &m->operators[k]);

        if (to == NULL)
            leave_operator(i, &m->operators[k]);
        else
            RETURN_IF_ERR(take_operator(i, &m->operators[k], to, err));
    }
    return verdict(i, err);
}

enum rc flink_import_open(const struct import_request *r, struct flink_import **out,
                          struct err *err)
{
    struct flink_import *i = mem_calloc(1, sizeof *i);
    enum rc rc;

    i->request = *r;
    i->fs = r->env->fs;
    i->arena = arena_new(0);
    rc = decide(i, err);
    if (rc != RC_OK) {
        flink_import_free(i);
        return rc;
    }
    *out = i;
    return RC_OK;
}

void flink_import_free(struct flink_import *i)
{
    if (i == NULL)
        return;
    mem_free(i->left);
    buf_release(&i->unasked);
    buf_release(&i->misfits);
    arena_free(i->arena);
    mem_free(i);
}

const struct checkpoint_metadata *flink_import_tree(const struct flink_import *i)
{
    return &i->tree;
}

const char *const *flink_import_dropped(const struct flink_import *i, size_t *count)
{
    *count = i->left_count;
    return i->left;
}
