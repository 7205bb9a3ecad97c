/* state_flink.c - varve state on a snapshot that Flink wrote. See state_look.h.
 *
 * The same columns as for varve's own where they mean the same; types are the names of Flink's
 * serializers, kinds are Flink's words. */
#include "checkpoint/flink/flink_key.h"
#include "checkpoint/flink/flink_lists.h"
#include "checkpoint/flink/flink_source.h"
#include "checkpoint/metadata.h"
#include "job/cli/largest.h"
#include "job/cli/state_flink.h"
#include "job/flink_columns.h"

#include <inttypes.h>

/* ---- operators ------------------------------------------------------------------------------- */

static bool is_operator(const struct flink_look *f, const struct flink_operator *op)
{
    const char *word = f->look->operator_word;

    return word == NULL || strcmp(word, flink_op_id(f, op)) == 0 ||
           bytes_eq(op->name, bytes_of_str(word)) ||
           (op->uid.len > 0 && bytes_eq(op->uid, bytes_of_str(word)));
}

static struct key_group_range groups_of(const struct look *l, const struct flink_operator *op)
{
    uint32_t group = (uint32_t)l->group;

    return l->group < 0 ? (struct key_group_range){0, (uint32_t)op->max_parallelism - 1}
                        : (struct key_group_range){group, group};
}

/* What is not shown, is said. */
static void say_left_out(const struct flink_look *f, const struct flink_operator *op,
                         const struct flink_source *s)
{
    if (flink_source_changes(s) > 0)
        cli_say(f->look->cli,
                "operator %s: %zu changelogs are left out: what is shown is as old as the last "
                "materialization",
                flink_shown(f, flink_op_word(f, op)), flink_source_changes(s));
    if (flink_source_cut(s) != NULL)
        cli_say(f->look->cli, "operator %s: this state and those behind it are left out: %s",
                flink_shown(f, flink_op_word(f, op)), flink_source_cut(s));
    if (flink_source_unreadable(s) > 0)
        cli_say(f->look->cli,
                "operator %s: raw keyed state of %zu subtasks is left out: only the operator can "
                "read it",
                flink_shown(f, flink_op_word(f, op)), flink_source_unreadable(s));
}

static enum rc open_source(struct flink_look *f, const struct flink_operator *op,
                           struct flink_source **out, struct err *err)
{
    struct look *l = f->look;

    RETURN_IF_ERR(flink_source_open(l->cli->env.fs, op, f->from.places, l->scratch, out, err));
    say_left_out(f, op, *out);
    if (l->count || l->largest >= 0 || look_lists_states(l))
        flink_source_watch(*out, look_progress, l->meter);
    return RC_OK;
}

/* ---- what there is --------------------------------------------------------------------------- */

static void put_type(const struct flink_look *f, const struct flink_serializer *s,
                     struct batch_builder *b, uint32_t *column)
{
    struct buf text = {0};

    if (s == NULL) {
        batch_append_null(b, (*column)++);
        return;
    }
    flink_serializer_print(s, &text);
    look_put_str(b, column, arena_strdup(f->look->cli->arena, buf_cstr(&text)));
    buf_release(&text);
}

/* What every row of the list begins with. */
static void put_state(const struct flink_look *f, const struct flink_operator *op,
                      struct bytes name, const char *kind, const struct flink_size *size,
                      struct batch_builder *b, uint32_t *c)
{
    look_put_text(b, c, flink_op_word(f, op));
    look_put_text(b, c, name);
    look_put_str(b, c, kind);
    look_put_num(b, c, size->entries);
    batch_append_bool(b, (*c)++, !size->exact);
    look_put_num(b, c, size->key_bytes);
    look_put_num(b, c, size->value_bytes);
    batch_append_null(b, (*c)++); /* a time-to-live is in no snapshot of Flink's */
    look_put_num(b, c, (uint64_t)op->parallelism);
    look_put_num(b, c, (uint64_t)op->max_parallelism);
    look_put_str(b, c, flink_op_id(f, op));
}

static enum rc list_keyed(const struct flink_look *f, const struct flink_operator *op,
                          const struct flink_source_state *s, const struct flink_size *size,
                          struct row_writer *w, struct err *err)
{
    const char *kind = flink_keyed_word(s->form, s->state);
    struct batch_builder *b = row_writer_rows(w);
    uint32_t c = 0;

    put_state(f, op, s->state->name, kind, size, b, &c);
    put_type(f, s->key, b, &c);
    put_type(f, s->state->namespace, b, &c);
    put_type(f, s->state->user_key, b, &c);
    put_type(f, s->state->value, b, &c);
    batch_row_end(b, ROW_INSERT);
    return row_writer_next(w, err);
}

static enum rc list_list(struct flink_look *f, const struct flink_operator *op, size_t subtask,
                         const struct flink_list *list, struct row_writer *w, struct err *err)
{
    struct batch_builder *b = row_writer_rows(w);
    struct flink_lists *lists;
    const struct flink_state *s;
    struct flink_size size;
    uint32_t c = 0;

    RETURN_IF_ERR(flink_list_measure(f, op, list->name, &size, err));
    RETURN_IF_ERR(flink_lists_open(f->look->cli->env.fs, f->from.places, &op->subtasks[subtask].managed,
                                   &lists, err));
    s = flink_lists_state(lists, list);
    put_state(f, op, list->name, flink_list_word(list), &size, b, &c);
    batch_append_null(b, c++);
    batch_append_null(b, c++);
    put_type(f, s == NULL ? NULL : s->key, b, &c);
    put_type(f, s == NULL ? NULL : s->value, b, &c);
    flink_lists_close(lists);
    batch_row_end(b, ROW_INSERT);
    return row_writer_next(w, err);
}

static enum rc list_lists(struct flink_look *f, const struct flink_operator *op,
                          struct row_writer *w, struct err *err)
{
    for (size_t s = 0; s < op->subtask_count; s++)
        for (size_t i = 0; i < op->subtasks[s].managed.list_count; i++) {
            const struct flink_list *list = &op->subtasks[s].managed.lists[i];

            if (flink_list_is_first(op, s, list->name))
                RETURN_IF_ERR(list_list(f, op, s, list, w, err));
        }
    return RC_OK;
}

static enum rc list_operator(struct flink_look *f, const struct flink_operator *op,
                             struct row_writer *w, struct err *err)
{
    const struct flink_source_state *states;
    struct flink_source *source;
    struct flink_size *sizes;
    size_t count;
    enum rc rc;

    RETURN_IF_ERR(open_source(f, op, &source, err));
    count = flink_source_states(source, &states);
    sizes = mem_calloc(count + 1, sizeof *sizes);
    GOTO_IF_ERR(flink_source_sizes(source, sizes, err));
    for (size_t i = 0; i < count; i++)
        GOTO_IF_ERR(list_keyed(f, op, &states[i], &sizes[i], w, err));
    rc = list_lists(f, op, w, err);
out:
    mem_free(sizes);
    flink_source_close(source);
    return rc;
}

/* ---- counting -------------------------------------------------------------------------------- */

static enum rc count_state(struct flink_look *f, const struct flink_operator *op,
                           struct bytes state, struct flink_source *source, struct row_writer *w,
                           struct err *err)
{
    struct look_tally t = {.operator_word = flink_op_word(f, op),
                           .state = state,
                           .w = w,
                           .per_group = f->look->per_group,
                           .group = f->look->group};
    uint32_t prefix_len = keygroup_prefix_len((uint32_t)op->max_parallelism);
    struct bytes key, value;

    flink_walk_begin(source, state, groups_of(f->look, op), (struct bytes){0});
    for (;;) {
        RETURN_IF_ERR(flink_walk_next(source, &key, &value, err));
        if (key.data == NULL)
            break;
        RETURN_IF_ERR(look_tally_add(&t, prefix_len, key, value, err));
    }
    return look_tally_end(&t, err);
}

static enum rc count_operator(struct flink_look *f, const struct flink_operator *op,
                              struct row_writer *w, struct err *err)
{
    const struct flink_source_state *states;
    struct flink_source *source;
    size_t count;
    enum rc rc = RC_OK;

    RETURN_IF_ERR(open_source(f, op, &source, err));
    count = flink_source_states(source, &states);
    for (size_t i = 0; i < count && rc == RC_OK; i++)
        if (look_wants_name(f->look, states[i].state->name))
            rc = count_state(f, op, states[i].state->name, source, w, err);
    flink_source_close(source);
    return rc;
}

/* `list_operator` or `count_operator` of all that are asked for. One with keys that nobody can read
 * does not hide the others; it is an error in the end. */
static enum rc each_operator(struct flink_look *f, const struct plain_column *columns,
                             uint32_t column_count,
                             enum rc (*fn)(struct flink_look *f, const struct flink_operator *op,
                                           struct row_writer *w, struct err *err),
                             struct err *err)
{
    struct schema schema = look_schema(f->look->cli->arena, columns, column_count);
    struct row_writer *w = row_writer_new(&schema, f->look->format);
    enum rc rc = RC_OK, unsupported = RC_OK;

    for (size_t i = 0; rc == RC_OK && i < f->from.meta.operator_count; i++) {
        const struct flink_operator *op = &f->from.meta.operators[i];
        struct err why = {0};

        if (!is_operator(f, op) || op->finished)
            continue;
        rc = fn(f, op, w, &why);
        if (rc == RC_OK)
            continue;
        if (rc == RC_UNSUPPORTED) {
            err_set(err, rc, "%s", why.msg); /* the first one is kept */
            unsupported = rc;
            rc = RC_OK;
        } else {
            err_clear(err);
            err_set(err, rc, "%s", why.msg);
        }
    }
    if (rc == RC_OK)
        rc = row_writer_finish(w, unsupported == RC_OK ? err : NULL);
    row_writer_free(w);
    return rc == RC_OK ? unsupported : rc;
}

/* ---- entries of one state -------------------------------------------------------------------- */

struct reading {
    struct flink_look *f;
    const struct flink_operator *op;
    const struct flink_source_state *state;
    struct flink_source *source;
    struct flink_columns *columns;
    struct row_writer *w;
    uint64_t printed;
};

static enum rc print_walk(struct reading *r, struct key_group_range groups, struct bytes prefix,
                          struct err *err)
{
    int64_t limit = r->f->look->limit;
    struct bytes key, value;

    flink_walk_begin(r->source, r->state->state->name, groups, prefix);
    while (limit < 0 || r->printed < (uint64_t)limit) {
        enum rc rc;

        RETURN_IF_ERR(flink_walk_next(r->source, &key, &value, err));
        if (key.data == NULL)
            return RC_OK;
        rc = flink_columns_append(r->columns, key, value, row_writer_rows(r->w), err);
        if (rc != RC_OK)
            return err_wrap(err, rc, "operator %s: state %s: entry %" PRIu64,
                            flink_shown(r->f, flink_op_word(r->f, r->op)),
                            flink_shown(r->f, r->state->state->name), r->printed);
        RETURN_IF_ERR(row_writer_next(r->w, err));
        r->printed++;
    }
    return RC_OK;
}

/* A key whose hash only its own class knows may lie in any key group: all of them are asked. */
static enum rc print_key(struct reading *r, struct err *err)
{
    uint32_t count = (uint32_t)r->op->max_parallelism, group = 0, prefix_len;
    struct buf key = {0}, prefix = {0};
    bool known;
    enum rc rc;

    if (r->state->state->kind == FLINK_STATE_TIMERS)
        return err_set(err, RC_UNSUPPORTED, "--key: timers lie by their time, not by their key");
    prefix_len = keygroup_prefix_len(count);
    GOTO_IF_ERR(
        flink_key_of_text(r->state->key, r->f->look->key, count, &key, &group, &known, err));
    for (uint32_t g = known ? group : 0; g <= (known ? group : count - 1); g++) {
        buf_clear(&prefix);
        buf_reserve(&prefix, prefix_len);
        keygroup_put_prefix(prefix.data, prefix_len, g);
        prefix.len = prefix_len;
        buf_append(&prefix, key.data, key.len);
        GOTO_IF_ERR(print_walk(r, (struct key_group_range){g, g}, buf_bytes(&prefix), err));
    }
    if (r->printed == 0)
        cli_say(r->f->look->cli, "state %s has no entry of that key",
                flink_shown(r->f, r->state->state->name));
out:
    buf_release(&key);
    buf_release(&prefix);
    return rc;
}

static enum rc print_largest(struct reading *r, struct largest *top, struct err *err)
{
    const struct largest_item *items;
    struct bytes key, value;
    size_t count, owner;

    flink_walk_begin(r->source, r->state->state->name, groups_of(r->f->look, r->op),
                     (struct bytes){0});
    for (;;) {
        RETURN_IF_ERR(flink_walk_next(r->source, &key, &value, err));
        if (key.data == NULL)
            break;
        RETURN_IF_ERR(flink_columns_owner(r->columns, key, &owner, err));
        largest_add(top, bytes_of(key.data, owner), key.len + value.len);
    }
    count = largest_end(top, &items);
    for (size_t i = 0; i < count; i++) {
        RETURN_IF_ERR(flink_columns_append_size(r->columns, items[i].key, items[i].entries,
                                                items[i].bytes, row_writer_rows(r->w), err));
        RETURN_IF_ERR(row_writer_next(r->w, err));
    }
    return RC_OK;
}

static enum rc print_state(struct reading *r, struct err *err)
{
    struct look *l = r->f->look;
    struct largest *top;
    enum rc rc;

    if (l->largest >= 0) {
        top = largest_new((size_t)l->largest);
        rc = print_largest(r, top, err);
        largest_free(top);
    } else if (l->key != NULL) {
        rc = print_key(r, err);
    } else {
        rc = print_walk(r, groups_of(l, r->op), (struct bytes){0}, err);
    }
    return rc == RC_OK ? row_writer_finish(r->w, err) : rc;
}

static enum rc read_state(struct flink_look *f, const struct flink_operator *op, struct bytes name,
                          struct err *err)
{
    struct reading r = {.f = f, .op = op};
    enum rc rc;

    if (f->look->group >= op->max_parallelism)
        return err_set(err, RC_INVALID, "--key-group %" PRId64 ": operator %s has key groups 0..%d",
                       f->look->group, flink_shown(f, flink_op_word(f, op)), op->max_parallelism - 1);
    RETURN_IF_ERR(open_source(f, op, &r.source, err));
    r.state = flink_source_find(r.source, name);
    ASSERT(r.state != NULL);
    r.columns =
        flink_columns_new(r.state, (uint32_t)op->max_parallelism, f->look->largest >= 0);
    r.w = row_writer_new(flink_columns_schema(r.columns), f->look->format);
    rc = print_state(&r, err);
    row_writer_free(r.w);
    flink_columns_free(r.columns);
    flink_source_close(r.source);
    return rc;
}

/* ---- which one ------------------------------------------------------------------------------- */

struct found {
    const struct flink_operator *op;
    struct bytes name;
    bool keyed;
};
struct findings {
    struct found *items;
    size_t count, cap, keyed_count, keyed_at;
};

static void add_found(struct findings *all, const struct flink_operator *op, struct bytes name,
                      bool keyed)
{
    if (all->count == all->cap) {
        all->cap = all->cap == 0 ? 16 : 2 * all->cap;
        all->items = mem_realloc(all->items, all->cap * sizeof *all->items);
    }
    all->keyed_count += keyed;
    all->keyed_at = keyed ? all->count : all->keyed_at;
    all->items[all->count++] = (struct found){op, name, keyed};
}

/* All states of an operator that were asked for. */
static enum rc find_in(struct flink_look *f, const struct flink_operator *op,
                       struct findings *all, struct err *err)
{
    const struct flink_source_state *states;
    struct flink_source *source;
    size_t count;

    RETURN_IF_ERR(
        flink_source_open(f->look->cli->env.fs, op, f->from.places, f->look->scratch, &source, err));
    count = flink_source_states(source, &states);
    for (size_t i = 0; i < count; i++)
        if (look_wants_name(f->look, states[i].state->name))
            add_found(all, op, arena_bytes_copy(f->look->cli->arena, states[i].state->name), true);
    flink_source_close(source);
    for (size_t s = 0; s < op->subtask_count; s++)
        for (size_t i = 0; i < op->subtasks[s].managed.list_count; i++) {
            struct bytes name = op->subtasks[s].managed.lists[i].name;

            if (look_wants_name(f->look, name) && flink_list_is_first(op, s, name))
                add_found(all, op, name, false);
        }
    return RC_OK;
}

static enum rc say_which(struct flink_look *f, const struct findings *all, struct err *err)
{
    struct buf text = {0};
    enum rc rc;

    buf_printf(&text, "%s: %s", f->dir,
               all->count == 0
                   ? "it has no such state; varve state PATH lists them"
                   : "several states may be meant; say which with --operator and --name:");
    for (size_t i = 0; i < all->count && i < 20; i++)
        buf_printf(&text, "\n  --operator '%s' --name '%s'", flink_op_id(f, all->items[i].op),
                   flink_shown(f, all->items[i].name));
    rc = err_set(err, all->count == 0 ? RC_NOT_FOUND : RC_INVALID, "%s", buf_cstr(&text));
    buf_release(&text);
    return rc;
}

static enum rc read_one(struct flink_look *f, struct err *err)
{
    struct findings all = {0};
    const struct found *meant = NULL;
    struct err passed_over = {0};
    enum rc rc = RC_OK;

    for (size_t i = 0; i < f->from.meta.operator_count && rc == RC_OK; i++) {
        struct err why = {0};

        if (!is_operator(f, &f->from.meta.operators[i]) || f->from.meta.operators[i].finished)
            continue;
        rc = find_in(f, &f->from.meta.operators[i], &all, &why);
        if (rc == RC_UNSUPPORTED)
            err_set(&passed_over, rc, "%s", why.msg);
        if (rc == RC_UNSUPPORTED) /* another one may be meant */
            rc = RC_OK;
        else if (rc != RC_OK)
            err_set(err, rc, "%s", why.msg);
    }
    if (rc == RC_OK && all.count == 0 && passed_over.rc != RC_OK)
        rc = err_set(err, passed_over.rc, "%s", passed_over.msg);
    if (all.count == 1)
        meant = &all.items[0];
    else if (f->look->name == NULL && all.keyed_count == 1)
        meant = &all.items[all.keyed_at]; /* who names none means the keyed one */
    if (rc == RC_OK && meant == NULL)
        rc = say_which(f, &all, err);
    else if (rc == RC_OK)
        rc = meant->keyed ? read_state(f, meant->op, meant->name, err)
                          : flink_list_print(f, meant->op, meant->name, err);
    mem_free(all.items);
    return rc;
}

enum rc look_at_flink(struct look *l, const char *dir, struct err *err)
{
    struct flink_look f = {.look = l, .dir = dir};
    enum rc rc;

    GOTO_IF_ERR(flink_snapshot_open(l->cli->env.fs, dir, &l->cli->rebase, l->cli->arena, &f.from, err));
    cli_say(l->cli, "%s", dir);
    if (l->count)
        rc = each_operator(&f, look_count_columns, LOOK_COUNT_COLUMNS, count_operator, err);
    else if (look_lists_states(l))
        rc = each_operator(&f, look_list_columns, LOOK_LIST_COLUMNS, list_operator, err);
    else
        rc = read_one(&f, err);
out:
    flink_snapshot_release(&f.from);
    return rc;
}
