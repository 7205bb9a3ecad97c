/* state_cmd.c - varve state: keys and values of a snapshot, without its job. See verbs.h */
#include "job/cli/verbs.h"

#include "backend/key_codec.h"
#include "checkpoint/assign.h"
#include "checkpoint/flink/flink_newest.h"
#include "checkpoint/state_source.h"
#include "checkpoint/state_types.h"
#include "job/cli/child.h"
#include "job/cli/largest.h"
#include "job/cli/rebase.h"
#include "job/cli/state_look.h"
#include "job/list_items.h"
#include "job/number.h"
#include "job/state_view.h"

#define LARGEST_MAX 100000

/* A state that was asked for. */
struct found {
    const struct operator_meta *op;
    const char *state;
    bool keyed;
};

static bool is_operator(const struct look *l, const struct operator_meta *op)
{
    const char *word = l->operator_word;

    return word == NULL || strcmp(word, op->id) == 0 || strcmp(word, op->name) == 0 ||
           (op->uid[0] != '\0' && strcmp(word, op->uid) == 0);
}

static bool is_name(const struct look *l, const char *name)
{
    return look_wants_name(l, bytes_of_str(name));
}

/* Of an operator as people call it. */
static const char *operator_word(const struct operator_meta *op)
{
    return op->uid[0] != '\0' ? op->uid : op->name;
}

static struct key_group_range groups_of(const struct look *l, const struct operator_meta *op)
{
    uint32_t group = (uint32_t)l->group;

    return l->group < 0 ? (struct key_group_range){0, op->key_group_count - 1}
                        : (struct key_group_range){group, group};
}

/* Of an operator; what is counted shows how far it is, what is printed does that itself. */
static enum rc open_source(struct look *l, const struct operator_meta *op,
                           struct state_source **out, struct err *err)
{
    RETURN_IF_ERR(state_source_open(l->cli->env.fs, op, l->scratch, out, err));
    if (l->count || l->largest >= 0)
        state_source_watch(*out, look_progress, l->meter);
    return RC_OK;
}

/* ---- what there is --------------------------------------------------------------------------- */

static enum rc list_keyed(const struct operator_meta *op, const struct state_desc *d,
                          const struct state_size *size, struct row_writer *w, struct err *err)
{
    struct batch_builder *b = row_writer_rows(w);
    uint32_t c = 0;

    look_put_str(b, &c, operator_word(op));
    look_put_str(b, &c, d->name);
    look_put_str(b, &c, state_kind_words(d->kind));
    look_put_num(b, &c, size->entries);
    batch_append_bool(b, c++, !size->exact);
    look_put_num(b, &c, size->key_bytes);
    look_put_num(b, &c, size->value_bytes);
    look_put_num(b, &c, d->ttl_ms);
    look_put_num(b, &c, op->parallelism);
    look_put_num(b, &c, op->key_group_count);
    look_put_str(b, &c, op->id);
    look_put_str(b, &c, d->key_type);
    look_put_str(b, &c, d->namespace_type);
    look_put_str(b, &c, d->user_key_type);
    look_put_str(b, &c, d->value_type);
    batch_row_end(b, ROW_INSERT);
    return row_writer_next(w, err);
}

/* A list state over all subtasks: listed where it is met first. */
static bool is_first(const struct operator_meta *op, size_t subtask, size_t list)
{
    const char *name = op->subtasks[subtask].lists[list].name;

    for (size_t s = 0; s < subtask; s++)
        for (size_t k = 0; k < op->subtasks[s].list_count; k++)
            if (strcmp(op->subtasks[s].lists[k].name, name) == 0)
                return false;
    return true;
}

static const char *list_words(enum list_mode mode)
{
    return mode == LIST_UNION ? "union list" : mode == LIST_BROADCAST ? "broadcast list" : "list";
}

static enum rc list_list(const struct operator_meta *op, const struct list_state *list,
                         struct row_writer *w, struct err *err)
{
    struct batch_builder *b = row_writer_rows(w);
    uint64_t items = 0, bytes = 0;
    uint32_t c = 0;

    for (size_t s = 0; s < op->subtask_count; s++)
        for (size_t k = 0; k < op->subtasks[s].list_count; k++) {
            const struct list_state *l = &op->subtasks[s].lists[k];

            if (strcmp(l->name, list->name) != 0)
                continue;
            items += l->item_count;
            for (size_t i = 0; i < l->item_count; i++)
                bytes += l->items[i].len;
        }
    look_put_str(b, &c, operator_word(op));
    look_put_str(b, &c, list->name);
    look_put_str(b, &c, list_words(list->mode));
    look_put_num(b, &c, items);
    batch_append_bool(b, c++, false);
    look_put_num(b, &c, 0);
    look_put_num(b, &c, bytes);
    batch_append_null(b, c++);
    look_put_num(b, &c, op->parallelism);
    batch_append_null(b, c++);
    look_put_str(b, &c, op->id);
    while (c < LOOK_LIST_COLUMNS) /* types */
        batch_append_null(b, c++);
    batch_row_end(b, ROW_INSERT);
    return row_writer_next(w, err);
}

static enum rc list_operator(struct look *l, const struct operator_meta *op, struct row_writer *w,
                             struct err *err)
{
    struct state_source *source;
    const struct state_desc *states;
    struct state_size *sizes = NULL;
    size_t count;
    enum rc rc;

    RETURN_IF_ERR(open_source(l, op, &source, err));
    GOTO_IF_ERR(state_source_states(source, &states, &count, err));
    sizes = mem_calloc(count, sizeof *sizes);
    GOTO_IF_ERR(state_source_sizes(source, sizes, err));
    for (size_t i = 0; i < count; i++)
        GOTO_IF_ERR(list_keyed(op, &states[i], &sizes[i], w, err));
    for (size_t s = 0; s < op->subtask_count; s++)
        for (size_t k = 0; k < op->subtasks[s].list_count; k++)
            if (is_first(op, s, k))
                GOTO_IF_ERR(list_list(op, &op->subtasks[s].lists[k], w, err));
out:
    mem_free(sizes);
    state_source_close(source);
    return rc;
}

static enum rc list_states(struct look *l, struct err *err)
{
    struct schema schema = look_schema(l->cli->arena, look_list_columns, LOOK_LIST_COLUMNS);
    struct row_writer *w = row_writer_new(&schema, l->format);
    const struct checkpoint_metadata *m = l->snapshot.meta;
    enum rc rc = RC_OK;

    for (size_t i = 0; rc == RC_OK && i < m->operator_count; i++)
        if (is_operator(l, &m->operators[i]))
            rc = list_operator(l, &m->operators[i], w, err);
    if (rc == RC_OK)
        rc = row_writer_finish(w, err);
    row_writer_free(w);
    return rc;
}

/* ---- counting -------------------------------------------------------------------------------- */

static enum rc count_state(struct look *l, const struct operator_meta *op, const char *state,
                           struct state_source *source, struct row_writer *w, struct err *err)
{
    struct look_tally t = {.operator_word = bytes_of_str(operator_word(op)),
                           .state = bytes_of_str(state),
                           .w = w,
                           .per_group = l->per_group,
                           .group = l->group};
    uint32_t prefix_len = keygroup_prefix_len(op->key_group_count);
    struct bytes key, value;

    state_walk_begin(source, state, groups_of(l, op), (struct bytes){0});
    for (;;) {
        RETURN_IF_ERR(state_walk_next(source, &key, &value, err));
        if (key.data == NULL)
            break;
        RETURN_IF_ERR(look_tally_add(&t, prefix_len, key, value, err));
    }
    return look_tally_end(&t, err);
}

static enum rc count_operator(struct look *l, const struct operator_meta *op, struct row_writer *w,
                              struct err *err)
{
    struct state_source *source;
    const struct state_desc *states;
    size_t count;
    enum rc rc;

    RETURN_IF_ERR(open_source(l, op, &source, err));
    GOTO_IF_ERR(state_source_states(source, &states, &count, err));
    for (size_t i = 0; i < count; i++)
        if (is_name(l, states[i].name))
            GOTO_IF_ERR(count_state(l, op, states[i].name, source, w, err));
out:
    state_source_close(source);
    return rc;
}

static enum rc count_states(struct look *l, struct err *err)
{
    struct schema schema = look_schema(l->cli->arena, look_count_columns, LOOK_COUNT_COLUMNS);
    struct row_writer *w = row_writer_new(&schema, l->format);
    const struct checkpoint_metadata *m = l->snapshot.meta;
    enum rc rc = RC_OK;

    for (size_t i = 0; rc == RC_OK && i < m->operator_count; i++)
        if (is_operator(l, &m->operators[i]))
            rc = count_operator(l, &m->operators[i], w, err);
    if (rc == RC_OK)
        rc = row_writer_finish(w, err);
    row_writer_free(w);
    return rc;
}

/* ---- one state ------------------------------------------------------------------------------- */

/* A state to be read. */
struct reading {
    struct look *look;
    const struct operator_meta *op;
    const struct state_desc *desc;
    struct state_source *source;
    struct state_view *view;
    struct row_writer *w;
};

static enum rc print_entry(struct reading *r, struct bytes key, struct bytes value, struct err *err)
{
    RETURN_IF_ERR(state_view_append(r->view, key, value, row_writer_rows(r->w), err));
    return row_writer_next(r->w, err);
}

static enum rc print_walk(struct reading *r, struct bytes prefix, uint64_t *printed,
                          struct err *err)
{
    int64_t limit = r->look->limit;
    struct bytes key, value;

    state_walk_begin(r->source, r->desc->name, groups_of(r->look, r->op), prefix);
    while (limit < 0 || *printed < (uint64_t)limit) {
        RETURN_IF_ERR(state_walk_next(r->source, &key, &value, err));
        if (key.data == NULL)
            return RC_OK;
        RETURN_IF_ERR(print_entry(r, key, value, err));
        ++*printed;
    }
    return RC_OK;
}

static enum rc print_key(struct reading *r, struct err *err)
{
    struct buf prefix = {0};
    struct bytes value;
    uint64_t printed = 0;
    bool whole;
    enum rc rc = state_view_key(r->view, r->look->key, &prefix, &whole, err);

    if (rc == RC_OK && !whole) {
        rc = print_walk(r, buf_bytes(&prefix), &printed, err);
    } else if (rc == RC_OK) {
        rc = state_source_get(r->source, r->desc->name, buf_bytes(&prefix), &value, err);
        printed = value.data != NULL;
        if (rc == RC_OK && value.data != NULL)
            rc = print_entry(r, buf_bytes(&prefix), value, err);
    }
    if (rc == RC_OK && printed == 0)
        cli_say(r->look->cli, "state %s has no entry of that key", r->desc->name);
    buf_release(&prefix);
    return rc;
}

static enum rc print_entries(struct reading *r, struct err *err)
{
    uint64_t printed = 0;

    RETURN_IF_ERR(r->look->key != NULL ? print_key(r, err)
                                       : print_walk(r, (struct bytes){0}, &printed, err));
    return row_writer_finish(r->w, err);
}

/* Length of what an entry's key shares with those of the same key and namespace. */
static uint32_t owner_len(const struct reading *r, struct bytes key, enum key_namespace ns)
{
    uint32_t len = r->desc->kind != STATE_MAP
                       ? 0
                       : key_owner_len(key, keygroup_prefix_len(r->op->key_group_count), ns);

    return len == 0 ? (uint32_t)key.len : len;
}

static enum rc print_largest(struct reading *r, struct largest *top, struct err *err)
{
    enum key_namespace ns;
    struct bytes key, value;
    const struct largest_item *items;
    size_t count;

    RETURN_IF_ERR(key_namespace_parse(r->desc->namespace_type, &ns, err));
    state_walk_begin(r->source, r->desc->name, groups_of(r->look, r->op), (struct bytes){0});
    for (;;) {
        RETURN_IF_ERR(state_walk_next(r->source, &key, &value, err));
        if (key.data == NULL)
            break;
        largest_add(top, bytes_of(key.data, owner_len(r, key, ns)), key.len + value.len);
    }
    count = largest_end(top, &items);
    for (size_t i = 0; i < count; i++) {
        RETURN_IF_ERR(state_view_append_size(r->view, items[i].key, items[i].entries, items[i].bytes,
                                             row_writer_rows(r->w), err));
        RETURN_IF_ERR(row_writer_next(r->w, err));
    }
    return row_writer_finish(r->w, err);
}

static enum rc read_state(struct look *l, const struct found *f, struct err *err)
{
    struct reading r = {.look = l, .op = f->op};
    struct largest *top = NULL;
    const struct state_desc *states;
    size_t count;
    enum rc rc;

    if (l->group >= f->op->key_group_count)
        return err_set(err, RC_INVALID, "--key-group %lld: operator \"%s\" has key groups 0..%u",
                       (long long)l->group, operator_word(f->op), f->op->key_group_count - 1);
    RETURN_IF_ERR(open_source(l, f->op, &r.source, err));
    GOTO_IF_ERR(state_source_states(r.source, &states, &count, err));
    r.desc = state_desc_find(states, count, f->state);
    GOTO_IF_ERR(state_view_new(r.desc, f->op->key_group_count, l->largest >= 0, &r.view, err));
    r.w = row_writer_new(state_view_schema(r.view), l->format);
    if (l->largest < 0) {
        rc = print_entries(&r, err);
    } else {
        top = largest_new((size_t)l->largest);
        rc = print_largest(&r, top, err);
    }
out:
    largest_free(top);
    row_writer_free(r.w);
    state_view_free(r.view);
    state_source_close(r.source);
    return rc;
}

/* ---- lists without keys ---------------------------------------------------------------------- */

static const struct plain_column item_columns[] = {
    {"subtask", TYPE_BIGINT},
    {"item", TYPE_BIGINT},
    {"bytes", TYPE_BIGINT},
    {"means", TYPE_VARCHAR},
    {"content", TYPE_VARCHAR},
};

/* What the item means, if that is known, and its bytes. */
static void append_item(const char *list_name, struct bytes item, struct batch_builder *b,
                        uint32_t *column)
{
    json_t *means = list_item_describe(list_name, item);
    struct buf text = {0};

    if (means == NULL) {
        batch_append_null(b, (*column)++);
    } else {
        json_dump_to(means, false, &text);
        look_put_str(b, column, buf_cstr(&text));
        json_decref(means);
    }
    buf_clear(&text);
    hex_print(item, &text);
    look_put_str(b, column, buf_cstr(&text));
    buf_release(&text);
}

static enum rc print_items(const struct look *l, const struct subtask_state *s, const char *name,
                           uint64_t *printed, struct row_writer *w, struct err *err)
{
    struct batch_builder *b = row_writer_rows(w);

    for (size_t k = 0; k < s->list_count; k++) {
        const struct list_state *list = &s->lists[k];

        for (size_t i = 0; strcmp(list->name, name) == 0 && i < list->item_count; i++) {
            uint32_t c = 0;

            if (l->limit >= 0 && (*printed)++ >= (uint64_t)l->limit)
                return RC_OK;
            look_put_num(b, &c, s->subtask_index);
            look_put_num(b, &c, i);
            look_put_num(b, &c, list->items[i].len);
            append_item(name, list->items[i], b, &c);
            batch_row_end(b, ROW_INSERT);
            RETURN_IF_ERR(row_writer_next(w, err));
        }
    }
    return RC_OK;
}

static enum rc read_list(struct look *l, const struct found *f, struct err *err)
{
    struct schema schema = look_schema(l->cli->arena, item_columns, ARRAY_LEN(item_columns));
    struct row_writer *w;
    uint64_t printed = 0;
    enum rc rc = RC_OK;

    if (l->key != NULL || l->group >= 0 || l->largest >= 0)
        return err_set(err, RC_INVALID, "state %s is a list without keys", f->state);
    w = row_writer_new(&schema, l->format);
    for (size_t s = 0; rc == RC_OK && s < f->op->subtask_count; s++)
        rc = print_items(l, &f->op->subtasks[s], f->state, &printed, w, err);
    if (rc == RC_OK)
        rc = row_writer_finish(w, err);
    row_writer_free(w);
    return rc;
}

/* ---- which one ------------------------------------------------------------------------------- */

/* All states that were asked for; how many. `out` has room for as many as there are. */
static size_t find_states(const struct look *l, struct found *out)
{
    const struct checkpoint_metadata *m = l->snapshot.meta;
    struct arena *a = l->cli->arena;
    size_t n = 0;

    for (size_t i = 0; i < m->operator_count; i++) {
        const struct operator_meta *op = &m->operators[i];
        struct state_desc *states;
        size_t count;

        if (!is_operator(l, op))
            continue;
        assign_states_of(op, a, &states, &count);
        for (size_t k = 0; k < count; k++)
            if (is_name(l, states[k].name))
                out[n++] = (struct found){op, states[k].name, true};
        for (size_t s = 0; s < op->subtask_count; s++)
            for (size_t k = 0; k < op->subtasks[s].list_count; k++)
                if (is_name(l, op->subtasks[s].lists[k].name) && is_first(op, s, k))
                    out[n++] = (struct found){op, op->subtasks[s].lists[k].name, false};
    }
    return n;
}

static size_t count_all(const struct checkpoint_metadata *m)
{
    size_t n = 0;

    for (size_t i = 0; i < m->operator_count; i++)
        for (size_t s = 0; s < m->operators[i].subtask_count; s++) {
            const struct subtask_state *st = &m->operators[i].subtasks[s];

            n += st->list_count;
            for (size_t k = 0; k < st->keyed_count; k++)
                n += st->keyed[k].state_count;
        }
    return n;
}

/* Whoever names no state means the keyed one, where there is one alone: it is moved to the front. */
static bool is_meant(const struct look *l, struct found *found, size_t count)
{
    size_t keyed = 0, at = 0;

    for (size_t i = 0; i < count; i++)
        if (found[i].keyed) {
            keyed++;
            at = i;
        }
    if (l->name != NULL || keyed != 1)
        return false;
    found[0] = found[at];
    return true;
}

static enum rc read_one(struct look *l, struct err *err)
{
    struct found *found = ARENA_ARRAY(l->cli->arena, count_all(l->snapshot.meta) + 1, struct found);
    size_t count = find_states(l, found);
    struct buf text = {0};
    enum rc rc;

    if (count == 1 || (count > 1 && is_meant(l, found, count)))
        return found->keyed ? read_state(l, found, err) : read_list(l, found, err);
    buf_printf(&text, "%s: %s", l->snapshot.dir,
               count == 0 ? "it has no such state; varve state PATH lists them"
                          : "several states may be meant; say which with --operator and --name:");
    for (size_t i = 0; i < count && i < 20; i++)
        buf_printf(&text, "\n  --operator '%s' --name '%s'", found[i].op->id, found[i].state);
    rc = err_set(err, count == 0 ? RC_NOT_FOUND : RC_INVALID, "%s", buf_cstr(&text));
    buf_release(&text);
    return rc;
}

/* ---- the verb -------------------------------------------------------------------------------- */

static enum rc look_at(struct look *l, struct err *err)
{
    const struct recovery_options options = {0};
    const char *flink_dir = flink_newest(l->cli->env.fs, l->path, l->cli->arena);

    if (flink_dir != NULL)
        return look_at_flink(l, flink_dir, err);
    RETURN_IF_ERR(recovery_open(&l->cli->env, l->path, &options, &l->snapshot, err));
    cli_say(l->cli, "%s", l->snapshot.dir);
    if (l->count)
        return count_states(l, err);
    if (look_lists_states(l))
        return list_states(l, err);
    return read_one(l, err);
}

static int look_in_child(struct cli *cli, void *ctx)
{
    struct look *l = ctx;
    struct err err = {0};
    enum rc rc;

    l->meter = meter_new(cli);
    rc = look_at(l, &err);
    meter_free(l->meter);
    recovered_release(&l->snapshot);
    return rc == RC_OK ? EXIT_DONE : cli_fail(cli, &err);
}

static enum rc take_number(const struct args *args, const char *name, int64_t min, int64_t max,
                           int64_t *out, struct err *err)
{
    const struct arg_option *o = args_get(args, name);
    enum rc rc;

    *out = -1;
    if (!o->given)
        return RC_OK;
    rc = number_parse_int(bytes_of_str(o->text), min, max, out, err);
    return rc == RC_OK ? RC_OK : err_wrap(err, rc, "%s", name);
}

static enum rc take_arguments(struct look *l, const struct args *args, struct err *err)
{
    l->path = args->positional[0];
    l->operator_word = args_get(args, "--operator")->text;
    l->name = args_get(args, "--name")->text;
    l->key = args_get(args, "--key")->text;
    l->count = args_get(args, "--count")->given;
    l->per_group = args_get(args, "--per-key-group")->given;
    RETURN_IF_ERR(take_number(args, "--key-group", 0, KEY_GROUP_COUNT_MAX - 1, &l->group, err));
    RETURN_IF_ERR(take_number(args, "--limit", 0, INT64_MAX, &l->limit, err));
    RETURN_IF_ERR(take_number(args, "--largest", 1, LARGEST_MAX, &l->largest, err));
    if ((l->key != NULL) + l->count + (l->largest >= 0) > 1)
        return err_set(err, RC_INVALID, "--key, --count and --largest exclude each other");
    if (l->limit >= 0 && (l->count || l->largest >= 0))
        return err_set(err, RC_INVALID, "--limit goes with entries, not with --count or --largest");
    if (l->key != NULL && l->group >= 0)
        return err_set(err, RC_INVALID, "a --key has its key group: --key-group says it twice");
    if (l->per_group && !l->count)
        return err_set(err, RC_INVALID, "--per-key-group goes with --count");
    return row_format_of(l->cli, args_get(args, "--format")->text, &l->format, err);
}

int verb_state(struct cli *cli, int argc, char **argv)
{
    static const struct arg_option options[] = {
        {.name = "--operator", .value = "UID", .help = "of this operator: its uid, id or name"},
        {.name = "--name", .value = "STATE", .help = "entries of this state"},
        {.name = "--key", .value = "KEY", .help = "only of this key; several columns as a JSON array"},
        {.name = "--key-group", .value = "G", .help = "only of this key group"},
        {.name = "--limit", .value = "N", .help = "stop after N entries"},
        {.name = "--count", .help = "read all, and say how many entries and bytes"},
        {.name = "--per-key-group", .help = "with --count: one line a key group"},
        {.name = "--largest", .value = "N", .help = "the N keys with most bytes"},
        {.name = "--format", .value = "FORMAT", .help = ROW_FORMATS},
        REBASE_OPTION,
    };
    struct look l = {.cli = cli};
    struct args args;
    struct err err = {0};
    int code = cli_begin(cli, options, ARRAY_LEN(options), argc, argv, &args);

    if (code < 0)
        code = cli_expect(cli, &args, 1, 1);
    if (code >= 0)
        return code;
    if (take_arguments(&l, &args, &err) != RC_OK ||
        rebase_parse(cli, &args, &cli->rebase, &err) != RC_OK)
        return cli_fail(cli, &err);
    return cli_in_child_with_scratch(cli, l.path, l.scratch, look_in_child, &l);
}
