/* state_flink_lists.c - varve state on operator state that Flink wrote. See state_flink.h */
#include "checkpoint/flink/flink_lists.h"
#include "job/cli/state_flink.h"
#include "job/flink_columns.h"

const char *flink_op_id(const struct flink_look *f, const struct flink_operator *op)
{
    char id[2 * FLINK_ID_BYTES + 1];

    flink_id_hex(op->id, id);
    return arena_strdup(f->look->cli->arena, id);
}

struct bytes flink_op_word(const struct flink_look *f, const struct flink_operator *op)
{
    return op->uid.len > 0    ? op->uid
           : op->name.len > 0 ? op->name
                              : bytes_of_str(flink_op_id(f, op));
}

const char *flink_shown(const struct flink_look *f, struct bytes text)
{
    return arena_escaped(f->look->cli->arena, text, 200);
}

const struct flink_list *flink_list_of(const struct flink_subtask *s, struct bytes name)
{
    for (size_t i = 0; i < s->managed.list_count; i++)
        if (bytes_eq(s->managed.lists[i].name, name))
            return &s->managed.lists[i];
    return NULL;
}

bool flink_list_is_first(const struct flink_operator *op, size_t subtask, struct bytes name)
{
    for (size_t s = 0; s < subtask; s++)
        if (flink_list_of(&op->subtasks[s], name) != NULL)
            return false;
    return true;
}

enum rc flink_list_measure(struct flink_look *f, const struct flink_operator *op,
                            struct bytes name, struct flink_size *size, struct err *err)
{
    struct arena *arena = arena_new(0);
    struct flink_lists *lists = NULL;
    enum rc rc = RC_OK;

    *size = (struct flink_size){.exact = true};
    for (size_t s = 0; s < op->subtask_count; s++) {
        const struct flink_list *list = flink_list_of(&op->subtasks[s], name);

        if (list == NULL)
            continue;
        flink_lists_close(lists);
        lists = NULL;
        GOTO_IF_ERR(flink_lists_open(f->look->cli->env.fs, f->from.places, &op->subtasks[s].managed, &lists,
                                     err));
        for (size_t i = 0; i < list->offset_count; i++) {
            struct flink_value value;
            struct bytes bytes;

            arena_reset(arena);
            GOTO_IF_ERR(flink_lists_item(lists, list, i, arena, &bytes, &value, err));
            size->entries += list->mode == FLINK_BROADCAST ? value.part_count / 2 : 1;
            size->value_bytes += bytes.len;
        }
    }
out:
    flink_lists_close(lists);
    arena_free(arena);
    return rc;
}

/* ---- their items ----------------------------------------------------------------------------- */

struct list_reading {
    struct flink_look *f;
    const struct flink_operator *op;
    struct bytes name;
    struct arena *arena, *item;
    struct schema schema;
    struct flink_value_columns *map_key, *value;
    struct row_writer *w;
    uint64_t printed;
};

/* Columns by the serializers of the first subtask that has the list. */
static void plan_list(struct list_reading *r, const struct flink_state *s)
{
    bool broadcast = s != NULL && s->kind == FLINK_STATE_BROADCAST;
    static const char *const names[] = {"subtask", "item"};

    r->schema.rowtime = -1;
    r->schema.fields =
        ARENA_ARRAY(r->arena, 2 * FLINK_VALUE_COLUMNS_MAX + 8, struct schema_field);
    for (size_t i = 0; i < 2; i++)
        r->schema.fields[r->schema.field_count++] =
            (struct schema_field){names[i], type_of(TYPE_BIGINT)};
    if (broadcast)
        r->map_key = flink_value_columns_add(s->key, "map_key", &r->schema, r->arena);
    r->value = flink_value_columns_add(s == NULL ? NULL : s->value, "value", &r->schema, r->arena);
    r->w = row_writer_new(&r->schema, r->f->look->format);
}

static enum rc put_item(struct list_reading *r, const struct flink_subtask *subtask, size_t i,
                        const struct flink_value *key, const struct flink_value *value,
                        struct err *err)
{
    struct batch_builder *b = row_writer_rows(r->w);
    uint32_t c = 0;

    look_put_num(b, &c, subtask->index);
    look_put_num(b, &c, i);
    if (r->map_key != NULL)
        flink_value_columns_put(r->map_key, key, b);
    flink_value_columns_put(r->value, value, b);
    batch_row_end(b, ROW_INSERT);
    r->printed++;
    return row_writer_next(r->w, err);
}

static bool is_enough(const struct list_reading *r)
{
    return r->f->look->limit >= 0 && r->printed >= (uint64_t)r->f->look->limit;
}

static enum rc print_items(struct list_reading *r, struct flink_lists *lists,
                           const struct flink_subtask *subtask, const struct flink_list *list,
                           struct err *err)
{
    for (size_t i = 0; i < list->offset_count && !is_enough(r); i++) {
        struct flink_value value;
        struct bytes bytes;

        arena_reset(r->item);
        RETURN_IF_ERR(flink_lists_item(lists, list, i, r->item, &bytes, &value, err));
        if (r->map_key == NULL) {
            RETURN_IF_ERR(put_item(r, subtask, i, NULL, &value, err));
            continue;
        }
        for (size_t k = 0; k + 1 < value.part_count && !is_enough(r); k += 2)
            RETURN_IF_ERR(
                put_item(r, subtask, k / 2, &value.parts[k], &value.parts[k + 1], err));
    }
    return RC_OK;
}

static enum rc print_list(struct list_reading *r, struct err *err)
{
    for (size_t s = 0; s < r->op->subtask_count && !is_enough(r); s++) {
        const struct flink_subtask *subtask = &r->op->subtasks[s];
        const struct flink_list *list = flink_list_of(subtask, r->name);
        struct flink_lists *lists;
        enum rc rc;

        if (list == NULL)
            continue;
        RETURN_IF_ERR(flink_lists_open(r->f->look->cli->env.fs, r->f->from.places, &subtask->managed,
                                       &lists, err));
        if (r->w == NULL)
            plan_list(r, flink_lists_state(lists, list));
        rc = print_items(r, lists, subtask, list, err);
        flink_lists_close(lists);
        if (rc != RC_OK)
            return err_wrap(err, rc, "operator %s subtask %u: state %s",
                            flink_shown(r->f, flink_op_word(r->f, r->op)), subtask->index,
                            flink_shown(r->f, r->name));
    }
    if (r->w == NULL)
        plan_list(r, NULL); /* --limit 0 */
    return row_writer_finish(r->w, err);
}

enum rc flink_list_print(struct flink_look *f, const struct flink_operator *op, struct bytes name,
                         struct err *err)
{
    struct list_reading r = {
        .f = f, .op = op, .name = name, .arena = arena_new(0), .item = arena_new(0)};
    struct look *l = f->look;
    enum rc rc;

    if (l->key != NULL || l->group >= 0 || l->largest >= 0)
        rc = err_set(err, RC_INVALID, "state %s is a list without keys", flink_shown(f, name));
    else
        rc = print_list(&r, err);
    row_writer_free(r.w);
    if (r.map_key != NULL)
        flink_value_columns_release(r.map_key);
    if (r.value != NULL)
        flink_value_columns_release(r.value);
    arena_free(r.item);
    arena_free(r.arena);
    return rc;
}
