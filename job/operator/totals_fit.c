/* totals_fit.c - see totals_fit.h */
#include "job/operator/totals_fit.h"

#include "checkpoint/state_types.h"

/* ---- rewriting a row ---------------------------------------------------------------------------- */

/* One field that is taken over: a slot and its null bit. */
struct piece {
    uint32_t from_field, to_field;
    int64_t least, most; /* what the field holds now */
    const char *call;
    struct type type; /* of the call's argument, for the message */
};
struct rewrite {
    uint32_t from_bytes, from_slots, to_slots, to_bytes;
    const uint8_t *template_row;
    uint32_t piece_count;
    struct piece *pieces;
};

static uint8_t *null_byte(uint8_t *row, uint32_t field) { return row + ACC_SIZE_BYTES + (field + 8) / 8; }

static enum rc does_not_fit(const struct piece *p, int64_t value, struct err *err)
{
    struct buf type = {0};
    enum rc rc;

    type_print(p->type, false, &type);
    rc = err_set(err, RC_INVALID, "%s: its state holds %lld, which does not fit %s", p->call, (long long)value, buf_cstr(&type));
    buf_release(&type);
    return rc;
}

static enum rc rewrite_row(const void *ctx, const uint8_t *from, uint8_t *to, struct err *err)
{
    const struct rewrite *w = ctx;

    if (get_be32(from) != w->from_bytes - ACC_SIZE_BYTES)
        return err_set(err, RC_CORRUPT, "a row of %u bytes says that it has %u", w->from_bytes - ACC_SIZE_BYTES, get_be32(from));
    memcpy(to, w->template_row, w->to_bytes);
    for (uint32_t i = 0; i < w->piece_count; i++) {
        const struct piece *p = &w->pieces[i];
        int64_t v = (int64_t)get_le64(from + w->from_slots + 8 * p->from_field);
        uint8_t bit = (uint8_t)(1u << ((p->to_field + 8) % 8));
        bool is_null = (from[ACC_SIZE_BYTES + (p->from_field + 8) / 8] >> ((p->from_field + 8) % 8)) & 1;

        if (!is_null && (v < p->least || v > p->most))
            return does_not_fit(p, v, err);
        put_le64(to + w->to_slots + 8 * p->to_field, (uint64_t)v);
        *null_byte(to, p->to_field) = (uint8_t)((*null_byte(to, p->to_field) & ~bit) | (is_null ? bit : 0));
    }
    return RC_OK;
}

/* ---- what becomes of each call -------------------------------------------------------------------- */

enum fate { FATE_KEPT, FATE_NEW, FATE_OTHER /* the same call over another type */ };
struct name_list {
    size_t count;
    const char **names;
};

struct fit {
    const struct fit_request *r;
    struct arena *arena;
    struct acc_layout layout;
    size_t state_count; /* that will be opened, the row's first */
    struct state_desc *states;
    const struct state_desc *old_row;
    size_t column_count; /* of old_row */
    struct type_column *columns;
    bool *column_taken; /* by a call that is kept, or named already */
    enum fate *fates;   /* by call */
    struct buf refused; /* lines that -n does not help against */
    struct buf other;   /* lines that it does */
    struct name_list kept, fresh, gone; /* calls */
    size_t name_max;                    /* of each list */
};

static void list_name(struct fit *f, struct name_list *list, const char *name)
{
    if (list->names == NULL)
        list->names = ARENA_ARRAY(f->arena, f->name_max, const char *);
    ASSERT(list->count < f->name_max);
    list->names[list->count++] = name;
}

static bool is_of_call(const char *column, const char *call)
{
    size_t len = strlen(call);

    return strncmp(column, call, len) == 0 && (column[len] == '\0' || column[len] == '$');
}

/* Smallest and largest value of an integer's type text; false: another type. */
static bool integer_range(const char *type, int64_t *least, int64_t *most)
{
    static const struct {
        const char *name;
        int64_t least, most;
    } integers[] = {{"TINYINT", INT8_MIN, INT8_MAX},
                    {"SMALLINT", INT16_MIN, INT16_MAX},
                    {"INT", INT32_MIN, INT32_MAX},
                    {"BIGINT", INT64_MIN, INT64_MAX}};

    for (size_t i = 0; i < ARRAY_LEN(integers); i++)
        if (strcmp(integers[i].name, type) == 0) {
            *least = integers[i].least;
            *most = integers[i].most;
            return true;
        }
    return false;
}

/* The old column of a field that can be taken over; NULL: none. */
static const struct type_column *find_field(const struct fit *f, const struct acc_call *c, uint32_t field)
{
    const struct type_column *old;
    const char *name, *type;
    int64_t least, most;

    acc_field_describe(f->arena, c, field, &name, &type);
    old = type_column_find(f->columns, f->column_count, name);
    if (old == NULL || strcmp(old->type, type) == 0)
        return old;
    return integer_range(old->type, &least, &most) && integer_range(type, &least, &most) ? old : NULL;
}

/* A state of its own that the call has now, had in the snapshot, or both. *known: it had one. */
static bool own_state_fits(const struct fit *f, const char *prefix, const struct acc_call *c, bool *known)
{
    const char *name = acc_state_name(f->arena, prefix, c->call.name);
    const struct state_desc *old = state_desc_find(f->r->old, f->r->old_count, name);
    const struct state_desc *now = state_desc_find(f->states, f->state_count, name);

    *known |= old != NULL;
    return (old == NULL) == (now == NULL) &&
           (old == NULL || (strcmp(old->value_type, now->value_type) == 0 && strcmp(old->user_key_type, now->user_key_type) == 0));
}

static enum fate fate_of(const struct fit *f, const struct acc_call *c)
{
    bool known = false, fits;

    fits = own_state_fits(f, TEXT_STATE_PREFIX, c, &known);
    fits &= own_state_fits(f, DISTINCT_STATE_PREFIX, c, &known);
    for (size_t i = 0; i < f->column_count; i++)
        known |= is_of_call(f->columns[i].name, c->call.name);
    for (uint32_t i = 0; i < c->field_count; i++)
        fits &= find_field(f, c, i) != NULL;
    return !known ? FATE_NEW : fits ? FATE_KEPT : FATE_OTHER;
}

/* Old and new side by side: "was `SUM(v)$low` BIGINT, ...; is `SUM(v)$sum` DOUBLE, ...". */
static void show_other(const struct fit *f, const struct acc_call *c, struct buf *out)
{
    static const char *const prefixes[] = {TEXT_STATE_PREFIX, DISTINCT_STATE_PREFIX};
    struct buf was = {0}, is = {0};

    for (size_t i = 0; i < f->column_count; i++)
        if (is_of_call(f->columns[i].name, c->call.name))
            buf_printf(&was, "%s%s %s", was.len > 0 ? ", " : "", f->columns[i].name, f->columns[i].type);
    for (uint32_t i = 0; i < c->field_count; i++) {
        const char *name, *type;

        acc_field_describe(f->arena, c, i, &name, &type);
        buf_printf(&is, "%s%s %s", is.len > 0 ? ", " : "", name, type);
    }
    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
        const char *name = acc_state_name(f->arena, prefixes[i], c->call.name);
        const struct state_desc *old = state_desc_find(f->r->old, f->r->old_count, name);
        const struct state_desc *now = state_desc_find(f->states, f->state_count, name);

        if (old != NULL)
            buf_printf(&was, "%s%s", was.len > 0 ? ", " : "", old->user_key_type[0] != '\0' ? old->user_key_type : old->value_type);
        if (now != NULL)
            buf_printf(&is, "%s%s", is.len > 0 ? ", " : "", now->user_key_type[0] != '\0' ? now->user_key_type : now->value_type);
    }
    buf_printf(out, "\n  %s over another type: was %s; is %s", c->call.name, buf_cstr(&was), buf_cstr(&is));
    buf_release(&was);
    buf_release(&is);
}

static void judge_call(struct fit *f, uint32_t index)
{
    const struct acc_call *c = &f->layout.calls[index];
    enum fate fate = fate_of(f, c);
    bool retracts = f->layout.rows_offset >= 0;

    f->fates[index] = fate;
    for (size_t i = 0; i < f->column_count; i++)
        f->column_taken[i] |= fate != FATE_NEW && is_of_call(f->columns[i].name, c->call.name);
    if (fate == FATE_KEPT) {
        list_name(f, &f->kept, c->call.name);
        return;
    }
    if (fate == FATE_OTHER)
        show_other(f, c, retracts ? &f->refused : &f->other);
    else if (retracts)
        buf_printf(&f->refused,
                   "\n  %s is new, and cannot start empty here: its input takes rows back, also those that it has not counted",
                   c->call.name);
    list_name(f, &f->fresh, c->call.name);
}

/* "SUM(v)" of "SUM(v)$low", "MIN(d)" of "MIN(d)$DECIMAL(10, 2)$high". */
static const char *call_of_column(struct arena *a, const char *column)
{
    static const char *const parts[] = {"$low", "$high", "$count", "$sum"};
    size_t len = strlen(column);

    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        size_t n = strlen(parts[i]);

        if (len > n && strcmp(column + len - n, parts[i]) == 0) {
            len -= n;
            break;
        }
    }
    for (size_t i = len; i > 1; i--)
        if (column[i - 1] == '$' && column[i - 2] == ')') {
            len = i - 1;
            break;
        }
    return arena_strndup(a, column, len);
}

static void list_gone(struct fit *f)
{
    for (size_t i = 0; i < f->column_count; i++) {
        const char *call;

        if (f->column_taken[i] || strcmp(f->columns[i].name, ACC_ROWS_FIELD) == 0)
            continue;
        call = call_of_column(f->arena, f->columns[i].name);
        list_name(f, &f->gone, call);
        for (size_t j = i; j < f->column_count; j++)
            f->column_taken[j] |= is_of_call(f->columns[j].name, call);
    }
}

/* ---- the other states ----------------------------------------------------------------------------- */

static bool is_kept_state(const struct fit *f, const struct state_desc *old)
{
    if (old == f->old_row)
        return true;
    for (uint32_t i = 0; i < f->layout.call_count; i++) {
        const char *call = f->layout.calls[i].call.name;

        if (f->fates[i] == FATE_KEPT && (strcmp(old->name, acc_state_name(f->arena, TEXT_STATE_PREFIX, call)) == 0 ||
                                         strcmp(old->name, acc_state_name(f->arena, DISTINCT_STATE_PREFIX, call)) == 0))
            return true;
    }
    return false;
}

static void drop_states(struct fit *f, struct state_fit *out, struct state_change *changes)
{
    for (size_t i = 0; i < f->r->old_count; i++) {
        const struct state_desc *old = &f->r->old[i];
        bool text = strncmp(old->name, TEXT_STATE_PREFIX, strlen(TEXT_STATE_PREFIX)) == 0;

        if (is_kept_state(f, old))
            continue;
        changes[out->change_count++] = (struct state_change){.was = old};
        if (text && state_desc_find(f->states, f->state_count, old->name) == NULL)
            list_name(f, &f->gone, old->name + strlen(TEXT_STATE_PREFIX)); /* others have a column */
    }
}

/* ---- all ------------------------------------------------------------------------------------------ */

static void add_piece(struct fit *f, struct rewrite *w, const struct type_column *from, uint32_t to_field, const char *call,
                      struct type type)
{
    struct piece *p = &w->pieces[w->piece_count++];

    *p = (struct piece){(uint32_t)(from - f->columns), to_field, INT64_MIN, INT64_MAX, call, type};
}

static struct rewrite *plan_rewrite(struct fit *f)
{
    struct rewrite *w = ARENA_NEW(f->arena, struct rewrite);
    const struct acc_layout *l = &f->layout;
    const struct type_column *rows = type_column_find(f->columns, f->column_count, ACC_ROWS_FIELD);

    w->from_bytes = f->old_row->fixed_value_bytes;
    w->from_slots = acc_slots_offset((uint32_t)f->column_count);
    w->to_slots = acc_slots_offset(l->field_count);
    w->to_bytes = l->row_bytes;
    w->template_row = l->template_row;
    w->pieces = ARENA_ARRAY(f->arena, l->field_count + 1, struct piece);
    for (uint32_t i = 0; i < l->call_count; i++) {
        const struct acc_call *c = &l->calls[i];

        for (uint32_t k = 0; f->fates[i] == FATE_KEPT && k < c->field_count; k++) {
            const struct type_column *from = find_field(f, c, k);
            const char *name, *type;

            add_piece(f, w, from, c->field + k, c->call.name, c->arg_type);
            acc_field_describe(f->arena, c, k, &name, &type);
            if (strcmp(from->type, type) != 0)
                integer_range(type, &w->pieces[w->piece_count - 1].least, &w->pieces[w->piece_count - 1].most);
        }
    }
    if (l->rows_offset >= 0)
        add_piece(f, w, rows, l->field_count - 1, "", type_of(TYPE_BIGINT));
    return w;
}

static void judge_row(struct fit *f)
{
    bool took = type_column_find(f->columns, f->column_count, ACC_ROWS_FIELD) != NULL;
    bool takes = f->layout.rows_offset >= 0;

    state_key_differences(f->old_row, &f->states[0], &f->refused);
    if (took != takes)
        buf_printf(&f->refused, "\n  its input %s, and %s", took ? "took rows back" : "did not take rows back",
                   takes ? "does now" : "does not now");
    if (f->old_row->fixed_value_bytes != acc_slots_offset((uint32_t)f->column_count) + 8 * f->column_count)
        buf_printf(&f->refused, "\n  value: %s in %u bytes", f->old_row->value_type, f->old_row->fixed_value_bytes);
}

static enum rc judge(struct fit *f, struct err *err)
{
    struct buf lines = {0};
    enum rc rc = RC_OK;

    judge_row(f);
    for (uint32_t i = 0; i < f->layout.call_count; i++)
        judge_call(f, i);
    buf_printf(&lines, "\n state \"%s\":", f->old_row->name);
    if (f->refused.len > 0) {
        buf_append(&lines, f->refused.data, f->refused.len);
        rc = state_fit_refuse(f->r, buf_cstr(&lines),
                              f->layout.rows_offset < 0 ? STATE_FIT_START_ANEW
                                                        : "change the query back, or start from nothing: what its input takes "
                                                          "back has to have been counted",
                              err);
    } else if (f->other.len > 0 && !f->r->allow_non_restored) {
        buf_append(&lines, f->other.data, f->other.len);
        rc = state_fit_refuse(f->r, buf_cstr(&lines),
                              "change the query back, or start with -n (--allow-non-restored-state): what is named here then "
                              "starts empty, everything else keeps its state",
                              err);
    }
    buf_release(&lines);
    return rc;
}

static void say_names(const char *what, const struct name_list *list, struct buf *said)
{
    for (size_t i = 0; i < list->count; i++)
        buf_printf(said, "%s%s%s", i > 0 ? ", " : said->len > 0 ? "; " : "", i > 0 ? "" : what, list->names[i]);
}

static const char *say(struct fit *f)
{
    struct buf said = {0};
    const char *text;

    say_names("new, starts empty: ", &f->fresh, &said);
    say_names("gone, dropped: ", &f->gone, &said);
    text = arena_strdup(f->arena, buf_cstr(&said));
    buf_release(&said);
    return text;
}

static enum rc fit_all(struct fit *f, struct state_fit *out, struct err *err)
{
    struct state_change *changes = ARENA_ARRAY(f->arena, f->r->old_count + 1, struct state_change);

    f->column_count = type_columns(f->old_row->value_type, f->arena, &f->columns);
    f->column_taken = ARENA_ARRAY(f->arena, f->column_count + 1, bool);
    f->fates = ARENA_ARRAY(f->arena, f->layout.call_count + 1, enum fate);
    f->name_max = f->layout.call_count + f->column_count + f->r->old_count;
    RETURN_IF_ERR(judge(f, err));
    list_gone(f);
    out->changes = changes;
    if (strcmp(f->old_row->value_type, f->states[0].value_type) != 0 || f->other.len > 0)
        changes[out->change_count++] = (struct state_change){f->old_row, &f->states[0], rewrite_row, plan_rewrite(f)};
    drop_states(f, out, changes);
    *out = (struct state_fit){.change_count = out->change_count,
                              .changes = changes,
                              .said = say(f),
                              .kept_count = f->kept.count,
                              .kept = f->kept.names,
                              .fresh_count = f->fresh.count,
                              .fresh = f->fresh.names,
                              .gone_count = f->gone.count,
                              .gone = f->gone.names};
    return RC_OK;
}

enum rc totals_fit(const struct fit_request *r, const struct totals_config *config,
                   struct state_fit *out, struct err *err)
{
    struct fit f = {.r = r, .arena = r->arena};
    enum rc rc;

    *out = (struct state_fit){.said = ""};
    GOTO_IF_ERR(acc_layout_make(r->arena, config->calls, config->call_count, config->input, config->retracts, &f.layout, err));
    GOTO_IF_ERR(keyed_totals_states(r->arena, config, &f.states, &f.state_count, err));
    f.old_row = state_desc_find(r->old, r->old_count, config->state_name);
    rc = f.old_row != NULL ? fit_all(&f, out, err) /* else it was another operator */
                           : state_fit_same(r, f.states, f.state_count, out, err);
out:
    buf_release(&f.refused);
    buf_release(&f.other);
    return rc;
}
